"""Columns of files, for the command line: what names something is text, all else numbers.

Nothing is guessed from what stands in a column: 7 and 007 are two users, 1.1 and 1.10 two models.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recsample._support.checks import as_float, is_missing, shown
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.frames import as_ids, coded, kind_of

if TYPE_CHECKING:
    import pandas as pd


# What columns are for, and what numbers must stand in them. "rank A" is for the ranks of A.
_IDS = ("user", "item", "model", "groups", "run")
_CALLED = ("user", "item", "model", "score")
_FLOATS = ("score", "relevance", "exact", "chosen")
_COUNT = "a whole number from 1 to 2**53 - 1"


def _whole(values, lowest=1):
    return (values >= lowest) & (values < 2**53) & (values == np.floor(values))


_RULES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("rank", "m", "items"), (_COUNT, _whole)),
    "exact": (f"{_COUNT}, or blank", _whole),
    "ties": ("a whole number from 0 to 2**53 - 1", lambda values: _whole(values, 0)),
    "score": ("a number or -inf", lambda values: values < np.inf),  # nor NaN
    "relevance": ("a number, or true or false", lambda values: ~np.isnan(values)),
    "chosen": ("a number", lambda values: ~np.isnan(values)),
}
# What stands between the fields of a line; in other files, whose columns must be named, blanks.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".inter": "\t", ".negative": "\t"}
# How a column is called that is for nothing yet.
FURTHER = "further column "
_TRUTH = {"true": 1.0, "false": 0.0}


def read_file(
    path: str,
    wanted: Mapping[str, str | EllipsisType],
    optional: Collection[str] = (),
    header: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Columns of a file, as `read_columns` has them, called by what they are for.

    Relevance and further columns keep the names that they have in the file.
    """
    pd, found = extra("pandas"), read_columns(path, wanted, optional, header)
    table = {}
    for use, column in found.by_use.items():
        name = use if use in _CALLED else found.names[use]
        name += " of the file" * (name in table)  # as another column is called here
        table[name] = pd.Series(column, dtype=column.dtype)
    return pd.DataFrame(table)


class Columns(NamedTuple):
    """Columns by what they are for, their names, and where each row stands in the file."""

    by_use: dict[str, NDArray[Any]]
    names: dict[str, str]
    place: str  # "line" or "row"
    numbers: Sequence[int]


def read_columns(
    path: str,
    wanted: Mapping[str, str | EllipsisType],
    optional: Collection[str] = (),
    header: Sequence[str] | None = None,
) -> Columns:
    """Columns of a file.

    `wanted` are their names, by what each is for; those that are optional may be missing. The name
    ... of "relevance" stands for all further columns, any of which may say what is relevant. Text
    without a line of names has those of `header`.
    """
    if path.lower().endswith(".parquet"):
        found = _from_parquet(path, wanted, optional)
    else:
        found = _from_text(path, wanted, optional, header)
    if not len(found.numbers):
        raise InputError("", f"{path} must hold at least one row below the names of its columns")
    for use, column in found.by_use.items():
        called = f"{path}, column {found.names[use]!r}"
        if use.startswith(FURTHER):
            found.by_use[use] = _numbers_or_text(column)
        else:
            convert = _as_ids if use in _IDS else _as_numbers
            found.by_use[use] = convert(use, column, called, found)
    return found


def as_count(text: str) -> int | None:
    """The number that a text is, where it is one that may stand for a column of them."""
    number = as_float(text)
    return int(number) if 1 <= number < 2**53 and number.is_integer() else None


def _chosen(path, names, wanted, optional):
    """Which of the columns of a file are wanted."""
    chosen = {u: name for u, name in wanted.items() if u not in optional or name in names}
    if chosen.get("relevance") is ...:
        del chosen["relevance"]
        others = [name for name in names if name not in chosen.values()]
        chosen |= {FURTHER + name: name for name in others}
    for use, name in chosen.items():
        if names.count(name) != 1:
            or_number = f"be {_COUNT} or " * (use in ("m", "items"))
            raise InputError(
                f"{use.partition(' ')[0]}", f"must {or_number}name one column of {path}"
            ).got(f"{name!r} where the columns are {shown(names)}")
    if len(set(chosen.values())) < len(chosen):
        got = list(chosen.values())
        raise InputError("", f"the options must name different columns of {path}").got(got)
    return chosen


def _from_text(path, wanted, optional, header):
    """The chosen columns as text."""
    names, fields, lines = _fields_of(path, wanted, header)
    chosen = _chosen(path, names, wanted, optional)
    if header is not None and {*chosen.values()} & {*fields[0]}:
        allowed = f"must be left out of {path}, which begins with names"
        raise InputError("columns", allowed).got(f"{header} above {fields[0].tolist()}")
    by_use = {use: fields[:, names.index(name)] for use, name in chosen.items()}
    return Columns(by_use, chosen, "line", lines)


def _fields_of(path, wanted, header):
    """The names of the columns of text, the fields of its rows, and the lines on which they end."""
    ending = os.path.splitext(path.lower().removesuffix(".gz"))[1]
    separator = "," if path == "-" else _SEPARATORS.get(ending)
    if separator is None and header is None:
        raise InputError(
            "",
            "a file must end in .csv, .tsv, .inter, .negative or .parquet, text also in .csv.gz "
            "and so on, be - for CSV from the standard input, or have columns named by --columns",
        ).got(path)
    text = text_of(path).rstrip("\r\n")
    if text.startswith("(") and separator == "\t":
        return _lists_of(path, text, wanted)
    if not text or text[0] in "\r\n":
        raise InputError("", f"{path} must begin with the names of its columns").got("none")
    fields, lines, names, width = [], [], header, len(header or ())
    for row, line in _rows_of(path, text, separator):
        if names is None:
            # RecBole writes user_id:token.
            names = [one.partition(":")[0] for one in row] if ending == ".inter" else row
            width = len(names)
            continue
        if len(row) != width:
            as_many = "as --columns names" if header else "as the first line"
            allowed = f"{path}, line {line}, must have {width} fields, as many {as_many}"
            raise InputError("", allowed).got(len(row))
        fields += row
        lines.append(line)
    return names, np.array(fields, object).reshape(-1, width), lines


def _rows_of(path, text, separator):
    """The fields of each row, and the line on which it ends; without a separator between blanks."""
    if separator is None:
        yield from ((line.split(), k) for k, line in enumerate(text.splitlines(), 1))
        return
    found = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        yield from ((row, found.line_num) for row in found)
    except csv.Error as error:
        allowed = f"must be fields between {separator!r}: {error}"
        raise InputError("", f"{path}, line {found.line_num}, {allowed}") from None


def _lists_of(path, text, wanted):
    """Lists as NCF and Elliot publish them, (user,item) or (user,) and then items, as pairs."""
    fields, lines, users = [], [], set()
    for k, line in enumerate(text.splitlines(), 1):
        found = re.fullmatch(r"\(([^,()]+),[^()]*\)\t(.+)", line)
        user = found[1].strip() if found else None
        if user is None or user in users:  # whose two lists would become one
            raise InputError(
                "",
                f"{path}, line {k}, must begin with (user,item) or (user,), of each user once, and "
                "then list items between tabs",
            ).got(shown(line))
        users.add(user)
        items = found[2].split("\t")
        fields += [(user, one) for one in items]
        lines += [k] * len(items)
    return [wanted.get(use, use) for use in ("user", "item")], np.array(fields, object), lines


def text_of(path: str) -> str:
    """What stands in a file, or comes from the standard input."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as file:
                data = file.read()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        given, at = error.object, error.start  # without a byte order mark
        line = given.count(b"\n", 0, at) + 1
        raise InputError("", f"{path}, line {line}, must be text in UTF-8").got(
            f"the byte 0x{given[at]:02x}, which is none", "save the file in UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise _no_table(path, error) from None


def _from_parquet(path, wanted, optional):
    """The chosen columns of a Parquet file, or of a folder of such files."""
    if not os.path.exists(path):  # nor is an address asked, as PyArrow would do
        allowed = f"{path} must be a file that holds a table"
        raise InputError("", allowed).got("none on this machine")
    arrow, dataset = extra("pyarrow"), extra("pyarrow.dataset")
    try:
        source = dataset.dataset(path, format="parquet", partitioning="hive")
        chosen = _chosen(path, source.schema.names, wanted, optional)
        table = source.to_table(columns=[*chosen.values()])
    except (arrow.ArrowException, OSError) as error:
        raise _no_table(path, error) from None
    by_use = {use: table[name].to_pandas() for use, name in chosen.items()}
    return Columns(by_use, chosen, "row", range(len(table)))


def _no_table(path, error):
    why = getattr(error, "strerror", None) or error
    return InputError("", f"{path} must be a file that holds a table: {why}")


def _numbers_or_text(values):
    """A column as numbers, true and false among them, where all that is not blank are some."""
    pd = extra("pandas")
    column = pd.Series(values)
    try:
        truth = column.map(lambda one: _TRUTH.get(str(one).strip().lower(), one))
        return pd.to_numeric(truth.replace("", np.nan)).astype(float).to_numpy()
    except (TypeError, ValueError):
        return column.to_numpy()


def _as_ids(use, values, called, found):
    """Ids as text; whole numbers of a Parquet file become their digits."""
    column = np.asarray(values)
    if found.place == "row":  # of a Parquet file, where ids may be missing
        _refuse(values.isna().to_numpy(), "an id, which is not empty", column, called, found)
        values = as_ids(called, extra("narwhals.stable.v2").from_native(values, series_only=True))
    kind = kind_of(values)
    if kind == "whole numbers":
        different, which = coded(values)
        values = different.astype(str).astype(object)[which]
    elif kind != "text":
        raise InputError("", f"{called} must have text or whole numbers").got(kind)
    blank = np.array([not one.strip() for one in values])
    _refuse(blank, "an id, which is not empty", column, called, found)
    return values


def _as_numbers(use, values, called, found):
    """Numbers that may stand in a column, as floats unless they are counts."""
    column = np.asarray(values)
    if column.dtype.kind in ("iufb" if use == "relevance" else "iuf"):
        values = column.astype(float)
    elif use == "relevance":
        values = np.array([_TRUTH.get(str(one).strip().lower(), as_float(one)) for one in column])
    else:
        values = np.array([as_float(str(one)) for one in column])
    allowed, holds = _RULES[use.partition(" ")[0]]
    wrong = ~holds(values)
    if use == "exact":
        wrong[wrong] = [not is_missing(one) and bool(str(one).strip()) for one in column[wrong]]
    _refuse(wrong, allowed, column, called, found)
    if use == "score":  # floats would tie different whole numbers that they do not hold
        large = np.abs(values) >= 2**53
        large[large] = [str(one).strip().lstrip("+-").isdecimal() for one in column[large]]
        allowed = "between -2**53 and 2**53 where it is a whole number"
        _refuse(large, allowed, column, called, found)
    return values if use in _FLOATS else values.astype(np.int64)


def _refuse(wrong, allowed, column, called, found):
    """Refuse the first of a column's values that are wrong, with its place."""
    if wrong.any():
        at = int(np.argmax(wrong))
        place = f"{found.place} {found.numbers[at]}"
        raise InputError("", f"{called}, {place}, must be {allowed}").got(shown(column[at]))
