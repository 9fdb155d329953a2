"""Columns of files, for the command line: what names something is text, all else numbers.

Nothing is guessed from what stands in a column: 7 and 007 are two users, 1.1 and 1.10 two models.
"""

from __future__ import annotations

import csv
import os
from array import array
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recsample._support.checks import as_float, shown
from recsample._support.extras import extra
from recsample._support.frames import as_ids, as_scores, kind_of, read_columns

if TYPE_CHECKING:
    import pandas as pd


# What columns are for, by the options that name them, and what must stand in them.
_TEXT = "an id, which is not empty"
_COUNT = "a whole number from 1 to 2**53 - 1"
_ALLOWED = {
    "user": _TEXT,
    "item": _TEXT,
    "model": _TEXT,
    "score": "a number or -inf",
    "rank": _COUNT,
    "m": _COUNT,
    "items": _COUNT,
    "ties": "a whole number from 0 to 2**53 - 1",
}
# Rows are looked at in blocks of this many.
_BLOCK = 1000


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
        columns, places = readers[kind](path, wanted, optional)
    except OSError as error:
        why = error.strerror or error
        raise ValueError(f"{path} must be a file that holds a table: {why}") from None
    pd = extra("pandas")
    what = "row" if kind == ".parquet" else "line"
    table = pd.DataFrame({use: pd.Series(one, dtype=one.dtype) for use, one in columns.items()})
    return table.set_axis(pd.Index(places, name=what))


def as_count(text: str) -> int | None:
    """The number that a text is, where it is one that may stand for a column of them."""
    number = np.array([as_float(text)])
    return None if _wrong("m", number)[0] else int(number[0])


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


def _wrong(use, values):
    """Where the values of a column are not what may stand there."""
    if _ALLOWED[use] == _TEXT:
        blank = {one for one in set(values) if not one.strip()}
        return np.array([one in blank for one in values]) if blank else np.zeros(len(values), bool)
    if use == "score":
        return ~(values < np.inf)  # nor NaN
    return ~((values >= (use != "ties")) & (values < 2**53) & (values == np.floor(values)))


def _from_text(path, wanted, optional):
    separator = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    known: dict[str, str] = {}  # each id once, however many rows have it
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator, strict=True)
        try:
            names = next(rows, [])
            if not names:
                raise ValueError(f"{path} must begin with the names of its columns, got none")
            chosen = _chosen(path, names, wanted, optional)
            parts: dict[str, list[NDArray[Any]]] = {use: [] for use in chosen}
            places = array("q")
            full = _full(path, rows, len(names))
            while block := list(islice(full, _BLOCK)):
                lines = [line for line, _ in block]
                places.extend(lines)
                for use, name in chosen.items():
                    place = names.index(name)
                    texts = [row[place] for _, row in block]
                    if _ALLOWED[use] == _TEXT:
                        values = np.array([known.setdefault(one, one) for one in texts], object)
                    else:
                        values = np.array([as_float(one) for one in texts])
                    name = f"{path}, column {name!r}, line"
                    if use == "score":
                        _refuse_beyond_floats(values, texts, name, lines)
                    parts[use].append(_checked(use, values, texts, name, lines))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} must be text in UTF-8, got the byte 0x{error.object[error.start]:02x}, "
                "which is none: save the file in UTF-8"
            ) from None
        except csv.Error as error:
            raise ValueError(
                f"{path}, line {rows.line_num}, must be fields between {separator!r}: {error}"
            ) from None
    if not places:
        raise ValueError(f"{path} must hold at least one row below the names of its columns")
    return {use: np.concatenate(blocks) for use, blocks in parts.items()}, np.array(places)


def _refuse_beyond_floats(scores, texts, name, lines):
    """Refuse whole numbers that floats do not hold, of which different ones would be tied."""
    for where in np.flatnonzero(np.abs(scores) > 2**53):
        if texts[where].strip().lstrip("+-").isdecimal():
            raise ValueError(
                f"{name} {lines[where]}, must be at most 2**53 on either side where scores are "
                f"whole numbers, got {shown(texts[where])}"
            )


def _full(path, rows, width) -> Iterator[tuple[int, list[str]]]:
    """The rows and the lines on which they end, each with as many fields as there are names."""
    for row in rows:
        line = rows.line_num
        if not row and not any(rows):
            return  # nothing but empty lines at the end
        if len(row) != width:
            raise ValueError(
                f"{path}, line {line}, must have {width} fields, as many as the first line, "
                f"got {len(row)}"
            )
        yield line, row


def _from_parquet(path, wanted, optional):
    arrow, dataset = extra("pyarrow"), extra("pyarrow.dataset")
    try:
        table = dataset.dataset(path, format="parquet", partitioning="hive")
        chosen = _chosen(path, table.schema.names, wanted, optional)
        table = table.to_table(columns=list(chosen.values()))
    except arrow.ArrowException as error:
        raise ValueError(f"{path} must be a file that holds a table: {error}") from None
    columns = dict(zip(chosen, read_columns(path, table, chosen)))
    return {
        use: _values(use, f"{path}, column {chosen[use]!r}", column)
        for use, column in columns.items()
    }, range(len(table))


def _values(use, name, column):
    """A column of a Parquet file; whole numbers that are ids are read as their digits."""
    if _ALLOWED[use] == _TEXT:
        values = as_ids(name, column)
        if (kind := kind_of(values)) == "whole numbers":
            different, which = np.unique(values, return_inverse=True)
            values = different.astype(str).astype(object)[which]
        elif kind != "text":
            raise ValueError(f"{name} must have text or whole numbers, got {kind}")
    elif not column.dtype.is_numeric():
        raise ValueError(f"{name} must have numbers, got {column.dtype}")
    else:
        values = as_scores(name, column) if use == "score" else column.to_numpy().astype(float)
    return _checked(use, values, values, f"{name}, row", range(len(values)))


def _checked(use, values, given, name, places):
    """The values of a column; the first that may not stand there is refused with its place."""
    wrong = _wrong(use, values)
    if wrong.any():
        where = int(np.argmax(wrong))
        raise ValueError(
            f"{name} {places[where]}, must be {_ALLOWED[use]}, got {shown(given[where])}"
        )
    return values.astype(np.int64) if _ALLOWED[use].startswith("a whole") else values
