"""Columns of files, for the command line: what names something is text, all else numbers.

Nothing is guessed from what stands in a column: 7 and 007 are two users, 1.1 and 1.10 two models.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Collection, Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from recsample._support.checks import as_float, is_missing, shown
from recsample._support.extras import extra
from recsample._support.frames import as_ids, coded, kind_of

if TYPE_CHECKING:
    import pandas as pd


# What columns are for, and what numbers must stand in them.
_IDS = ("user", "item", "model")
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
# How a column is called that is for nothing yet.
_FURTHER = "further column "
_TRUTH = {"true": 1.0, "false": 0.0}


def read_file(
    path: str, wanted: Mapping[str, str | EllipsisType], optional: Collection[str] = ()
) -> pd.DataFrame:
    """Columns of a file, under the names that they have there.

    `wanted` are these names, by what each is for; those that are optional may be missing. The name
    ... of "relevance" stands for all further columns, any of which may say what is relevant. The
    index says in which line or row of the file each row stands.
    """
    from_parquet = path.lower().endswith(".parquet")
    table, chosen = (_from_parquet if from_parquet else _from_text)(path, wanted, optional)
    if not len(table):
        raise ValueError(f"{path} must hold at least one row below the names of its columns")
    pd, columns = extra("pandas"), {}
    for use, name in chosen.items():
        if use.startswith(_FURTHER):
            columns[name] = _numbers_or_text(table[name])
            continue
        convert, called = _as_ids if use in _IDS else _as_numbers, f"{path}, column {name!r}"
        values = convert(use, table[name], called)
        columns[name] = pd.Series(values, table.index, values.dtype)
    return pd.DataFrame(columns)


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
        chosen |= {_FURTHER + name: name for name in others}
    for use, name in chosen.items():
        if names.count(name) != 1:
            or_number = f"be {_COUNT} or " * (use in ("m", "items"))
            raise ValueError(
                f"{use} must {or_number}name one column of {path}, got {name!r} where the "
                f"columns are {shown(names)}"
            )
    if len(set(chosen.values())) < len(chosen):
        got = list(chosen.values())
        raise ValueError(f"the options must name different columns of {path}, got {got}")
    return chosen


def _from_text(path, wanted, optional):
    """The chosen columns as text."""
    rows = _rows_of_text(path)
    names = rows.iloc[0].tolist()
    chosen = _chosen(path, names, wanted, optional)
    rows = rows.iloc[1:, [names.index(name) for name in chosen.values()]]
    return rows.set_axis([*chosen.values()], axis=1), chosen


def _rows_of_text(path):
    """The fields of a file, the first line among them, by the lines on which the rows end."""
    name, pd = path.lower().removesuffix(".gz"), extra("pandas")
    if not (path == "-" or name.endswith((".csv", ".tsv"))):
        raise ValueError(
            "a file must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet, or be - for CSV from the "
            f"standard input, got {path}"
        )
    separator = "\t" if name.endswith(".tsv") else ","
    text = text_of(path).rstrip("\r\n")
    if not text or text[0] in "\r\n":
        raise ValueError(f"{path} must begin with the names of its columns, got none")
    how = {"sep": separator, "header": None, "dtype": object, "skip_blank_lines": False}
    try:
        rows = pd.read_csv(io.StringIO(text, newline=""), na_filter=False, **how)
    except pd.errors.ParserError as error:
        _lines_of(path, text, separator)  # names the line
        raise ValueError(f"{path} must hold rows of fields: {error}") from None
    # pandas fills a short row up with empty fields, and is not strict with quotes.
    if '"' in text or (rows.iloc[:, -1] == "").any():
        lines = _lines_of(path, text, separator)
    else:
        lines = range(1, len(rows) + 1)
    return rows.set_axis(pd.Index(lines, name="line"))


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
        raise ValueError(
            f"{path}, line {line}, must be text in UTF-8, got the byte 0x{given[at]:02x}, "
            "which is none: save the file in UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise _no_table(path, error) from None


def _lines_of(path, text, separator):
    """The line on which each row ends; a row of another number of fields is refused."""
    lines, width = [], 0
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in rows:
            width = width or len(row)
            if len(row) != width:
                raise ValueError(
                    f"{path}, line {rows.line_num}, must have {width} fields, as many as the first "
                    f"line, got {len(row)}"
                )
            lines.append(rows.line_num)
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {rows.line_num}, must be fields between {separator!r}: {error}"
        ) from None
    return lines


def _from_parquet(path, wanted, optional):
    """The chosen columns of a Parquet file, or of a folder of such files."""
    if not os.path.exists(path):  # nor is an address asked, as PyArrow would do
        raise ValueError(f"{path} must be a file that holds a table, got none on this machine")
    pd, arrow, dataset = extra("pandas"), extra("pyarrow"), extra("pyarrow.dataset")
    try:
        source = dataset.dataset(path, format="parquet", partitioning="hive")
        chosen = _chosen(path, source.schema.names, wanted, optional)
        table = source.to_table(columns=[*chosen.values()])
    except (arrow.ArrowException, OSError) as error:
        raise _no_table(path, error) from None
    rows = pd.RangeIndex(len(table), name="row")
    return pd.DataFrame({n: table[n].to_pandas() for n in table.column_names}, rows), chosen


def _no_table(path, error):
    why = getattr(error, "strerror", None) or error
    return ValueError(f"{path} must be a file that holds a table: {why}")


def _numbers_or_text(column):
    """A column as numbers, true and false among them, where all that is not blank are some."""
    try:
        values = column.map(lambda one: _TRUTH.get(str(one).strip().lower(), one))
        return extra("pandas").to_numeric(values.replace("", np.nan)).astype(float)
    except (TypeError, ValueError):
        return column


def _as_ids(use, column, called):
    """Ids as text; whole numbers of a Parquet file become their digits."""
    _refuse(column.isna().to_numpy(), "an id, which is not empty", column, called)
    values = as_ids(called, extra("narwhals.stable.v2").from_native(column, series_only=True))
    kind = kind_of(values)
    if kind == "whole numbers":
        different, which = coded(values)
        values = different.astype(str).astype(object)[which]
    elif kind != "text":
        raise ValueError(f"{called} must have text or whole numbers, got {kind}")
    blank = np.array([not one.strip() for one in values])
    _refuse(blank, "an id, which is not empty", column, called)
    return values


def _as_numbers(use, column, called):
    """Numbers that may stand in a column, as floats unless they are counts."""
    if column.dtype.kind in ("iufb" if use == "relevance" else "iuf"):
        values = column.to_numpy().astype(float)
    elif use == "relevance":
        values = np.array([_TRUTH.get(str(one).strip().lower(), as_float(one)) for one in column])
    else:
        values = np.array([as_float(str(one)) for one in column])
    allowed, holds = _RULES[use]
    wrong = ~holds(values)
    if use == "exact":
        wrong[wrong] = [not is_missing(one) and bool(str(one).strip()) for one in column[wrong]]
    _refuse(wrong, allowed, column, called)
    if use == "score":  # floats would tie different whole numbers that they do not hold
        large = np.abs(values) >= 2**53
        large[large] = [str(one).strip().lstrip("+-").isdecimal() for one in column[large]]
        _refuse(large, "between -2**53 and 2**53 where it is a whole number", column, called)
    return values if use in _FLOATS else values.astype(np.int64)


def _refuse(wrong, allowed, column, called):
    """Refuse the first of a column's values that are wrong, with its place."""
    if wrong.any():
        at = int(np.argmax(wrong))
        place = f"{column.index.name} {column.index[at]}"
        raise ValueError(f"{called}, {place}, must be {allowed}, got {shown(column.iloc[at])}")
