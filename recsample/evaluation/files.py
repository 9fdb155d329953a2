"""Columns of files, for the command line: what names something is text, all else numbers.

Nothing is guessed from what stands in a column: 7 and 007 are two users, 1.1 and 1.10 two models.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recsample._support.checks import as_float, shown
from recsample._support.extras import extra
from recsample._support.frames import as_grades, as_ids, as_scores, kind_of, read_columns

if TYPE_CHECKING:
    import pandas as pd


# What columns are for, by the options that name them, and what numbers must stand in them.
_IDS = ("user", "item", "model", "batches")
_FLOATS = ("score", "relevance", "exact", "chosen")
_COUNT = "a whole number from 1 to 2**53 - 1"


def _whole(values, lowest=1):
    return (values >= lowest) & (values < 2**53) & (values == np.floor(values))


_RULES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("rank", "m", "items"), (_COUNT, _whole)),
    "ties": ("a whole number from 0 to 2**53 - 1", lambda values: _whole(values, 0)),
    "score": ("a number or -inf", lambda values: values < np.inf),  # nor NaN
    "relevance": ("a number, or true or false", lambda values: ~np.isnan(values)),
    "chosen": ("a number above 0 and at most 1", lambda values: (values > 0) & (values <= 1)),
    "exact": (f"{_COUNT}, or blank", _whole),
}
_PRINTED = "printed "  # before the name of a metric: what stands there is kept as text
_TRUTH = {"true": 1.0, "false": 0.0}
# Rows of text are turned into columns this many at a time, which stay in the cache of a core.
_BLOCK = 300


def read_file(path: str, wanted: Mapping[str, str], optional: Collection[str] = ()) -> pd.DataFrame:
    """Columns of a file, by what each is for; those that are optional may be missing.

    The index says in which line or row of the file each row stands.
    """
    readers = {".csv": _from_text, ".tsv": _from_text, ".parquet": _from_parquet}
    kind = Path(path).suffix.lower()
    if kind not in readers:
        raise ValueError(f"a file must end in .csv, .tsv or .parquet, unpacked, got {path}")
    if not os.path.exists(path):  # nor is an address asked, as pandas and PyArrow would do
        raise ValueError(f"{path} must be a file that holds a table, got none on this machine")
    try:
        blocks = list(readers[kind](path, wanted, optional))
    except OSError as error:
        why = error.strerror or error
        raise ValueError(f"{path} must be a file that holds a table: {why}") from None
    if not blocks:
        raise ValueError(f"{path} must hold at least one row below the names of its columns")
    columns = {use: np.concatenate([block[use] for block in blocks]) for use in blocks[0]}
    pd = extra("pandas")
    table = pd.DataFrame({use: pd.Series(one, dtype=one.dtype) for use, one in columns.items()})
    return table.set_index("row" if kind == ".parquet" else "line")


def read_printed(path: str) -> dict[str, dict[str, str]]:
    """A table of numbers as text: recommenders in the first column, a metric in each other one."""
    of, *metrics = names_in(path) or [""]
    if not metrics:
        raise ValueError(
            f"{path} must begin with the names of its columns, recommenders and metrics, got none"
        )
    table = read_file(path, {"model": of, **{f"{_PRINTED}{one}": one for one in metrics}})
    if table["model"].duplicated().any():
        again = table["model"][table["model"].duplicated()].iloc[0]
        raise ValueError(f"{path} must hold each recommender once, got {again!r} again")
    rows = table.drop(columns="model").to_numpy()
    return {name: dict(zip(metrics, row)) for name, row in zip(table["model"], rows)}


def names_in(path: str) -> list[str]:
    """The names of the columns of a file, where it has any that can be read."""
    if Path(path).suffix.lower() == ".parquet":
        return extra("pyarrow.parquet").read_schema(path).names if os.path.isfile(path) else []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            separator = "\t" if Path(path).suffix.lower() == ".tsv" else ","
            return next(csv.reader(file, delimiter=separator), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []  # which `read_file` says


def as_count(text: str) -> int | None:
    """The number that a text is, where it is one that may stand for a column of them."""
    number = as_float(text)
    return int(number) if 1 <= number < 2**53 and number.is_integer() else None


def _chosen(path, names, wanted, optional):
    """Which of the columns of a file are wanted."""
    chosen = {u: name for u, name in wanted.items() if u not in optional or name in names}
    for use, name in chosen.items():
        if names.count(name) != 1:
            or_number = f"be {_COUNT} or " * (use in ("m", "items"))
            raise ValueError(
                f"--{use} must {or_number}name one column of {path}, got {name!r} where the "
                f"columns are {shown(names)}"
            )
    if len(set(chosen.values())) < len(chosen):
        raise ValueError(f"options must name different columns of {path}, got {chosen}")
    return chosen


def _from_text(path, wanted, optional) -> Iterator[dict[str, NDArray]]:
    """The columns of some rows at a time, and the lines on which these end."""
    separator = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator, strict=True)
        try:
            names = next(rows, [])
            if not names:
                raise ValueError(f"{path} must begin with the names of its columns, got none")
            chosen = _chosen(path, names, wanted, optional)
            full = _full(path, rows, len(names))
            while block := list(islice(full, _BLOCK)):
                lines, *columns = zip(*block)
                yield {"line": np.array(lines)} | {
                    use: _of_texts(
                        use, columns[names.index(name)], f"{path}, column {name!r}, line", lines
                    )
                    for use, name in chosen.items()
                }
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} must be text in UTF-8, got the byte 0x{error.object[error.start]:02x}, "
                "which is none: save the file in UTF-8"
            ) from None
        except csv.Error as error:
            raise ValueError(
                f"{path}, line {rows.line_num}, must be fields between {separator!r}: {error}"
            ) from None


def _full(path, rows, width):
    """The line on which each row ends and its fields, as many as there are names."""
    for row in rows:
        line = rows.line_num
        if not row and not any(rows):
            return  # nothing but empty lines at the end
        if len(row) != width:
            raise ValueError(
                f"{path}, line {line}, must have {width} fields, as many as the first line, "
                f"got {len(row)}"
            )
        yield line, *row


def _of_texts(use, texts, name, lines):
    """The values of a column of texts."""
    if use.startswith(_PRINTED):
        return np.array(texts, object)
    if use in _IDS:
        values = np.array(list(map(sys.intern, texts)), object)  # each id once in memory
    elif use == "relevance":
        values = np.array([_TRUTH.get(one.strip().lower(), as_float(one)) for one in texts])
    else:
        values = np.array(list(map(as_float, texts)))
    if use == "score":  # floats would tie different whole numbers that they do not hold
        large = np.abs(values) > 2**53
        large[large] = [texts[i].strip().lstrip("+-").isdecimal() for i in np.flatnonzero(large)]
        most = "at most 2**53 on either side where scores are whole numbers"
        _refuse(large, most, texts, name, lines)
    return _checked(use, values, texts, name, lines)


def _from_parquet(path, wanted, optional) -> Iterator[dict[str, NDArray]]:
    """The same of a Parquet file, all rows at once."""
    arrow, dataset = extra("pyarrow"), extra("pyarrow.dataset")
    try:
        table = dataset.dataset(path, format="parquet", partitioning="hive")
        chosen = _chosen(path, table.schema.names, wanted, optional)
        table = table.to_table(columns=list(chosen.values()))
        if "exact" in chosen:  # of which most may be empty
            place = table.schema.names.index(chosen["exact"])
            filled = table[place].cast("float64").fill_null(np.nan)
            table = table.set_column(place, chosen["exact"], filled)
    except arrow.ArrowException as error:
        raise ValueError(f"{path} must be a file that holds a table: {error}") from None
    columns = zip(chosen.items(), read_columns(path, table, chosen))
    yield {"row": np.arange(len(table))} | {
        use: _of_series(use, column, f"{path}, column {name!r}") for (use, name), column in columns
    }


def _of_series(use, column, name):
    """The values of a column of a Parquet file; whole numbers that are ids become digits."""
    if use in _IDS:
        values = as_ids(name, column)
        if (kind := kind_of(values)) == "whole numbers":
            different, which = np.unique(values, return_inverse=True)
            values = different.astype(str).astype(object)[which]
        elif kind != "text":
            raise ValueError(f"{name} must have text or whole numbers, got {kind}")
    elif use == "relevance":
        values = as_grades(name, column)
    elif not column.dtype.is_numeric():
        raise ValueError(f"{name} must have numbers, got {column.dtype}")
    else:
        values = as_scores(name, column) if use == "score" else column.to_numpy().astype(float)
    return _checked(use, values, values, f"{name}, row", range(len(values)))


def _checked(use, values, given, name, places):
    """The values of a column, none of which may not stand there."""
    if use in _IDS:
        blank = {one for one in set(values) if not one.strip()}
        wrong = np.array([one in blank for one in values]) if blank else np.zeros(len(values), bool)
        _refuse(wrong, "an id, which is not empty", given, name, places)
        return values
    allowed, holds = _RULES[use]
    wrong = ~holds(values)
    if use == "exact":
        wrong &= [bool(str(one).strip()) and one == one for one in given]
    _refuse(wrong, allowed, given, name, places)
    return values if use in _FLOATS else values.astype(np.int64)


def _refuse(wrong, allowed, given, name, places):
    """Refuse the first of a column's values that are wrong, with its place."""
    if wrong.any():
        where = int(np.argmax(wrong))
        raise ValueError(f"{name} {places[where]}, must be {allowed}, got {shown(given[where])}")
