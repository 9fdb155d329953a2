"""Read dataframes of any library, through Narwhals, and map ids of any type to numbers."""

from __future__ import annotations

import glob
import sys
import unicodedata
from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.checks import array_of, refuse_first, refuse_missing, shown
from recsample._support.conversions import conversion_of_frame
from recsample._support.errors import InputError, Naming
from recsample._support.extras import extra
from recsample._support.typing import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd


# So many different numbers may be grades, from 0 to 10; and so many rows show that they are more.
_GRADES, _ENOUGH = 11, 1000
# What tells nothing without an entry, so that leaving it out changes nothing.
_OF_A_PAIR = ("user", "item", "score")
_LISTS = list, set, dict, np.ndarray
_DROP = {"pandas": ".dropna", "polars": ".fill_nan(None).drop_nulls"}
# DuckDB must not download extensions unasked.
_AS_INSTALLED = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


def is_frame(value: Any) -> bool:
    """Whether it is a dataframe, eager or lazy, of a library that Narwhals knows."""
    nw = extra("narwhals.stable.v2")
    try:
        return isinstance(nw.from_native(value, pass_through=True), (nw.DataFrame, nw.LazyFrame))
    except nw.exceptions.DuplicateError:  # columns of one name, which `column_names` refuses
        return True


def column_names(frame: Any, name: str = "frame") -> list[str]:
    """The names of the columns of a dataframe; refuse duplicates."""
    if not is_frame(frame):
        raise InputError(name, "must be a dataframe").got(shown(frame))
    nw = extra("narwhals.stable.v2")
    try:
        return nw.from_native(frame).collect_schema().names()
    except nw.exceptions.DuplicateError as error:
        raise InputError(name, f"must have columns of different names: {shown(error)}") from None


def read_columns(
    name: str, frame: Any, wanted: dict[str, str], may_be_empty: bool = False
) -> list[Any]:
    """Columns of a dataframe, by their use; of a lazy frame only these are computed."""
    nw = extra("narwhals.stable.v2")
    table = chosen_columns(name, frame, wanted)
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if not (len(table) or may_be_empty):
        raise InputError(name, "must hold at least one row").got("none")
    first = {use: table[use].head(1).to_list() for use in _OF_A_PAIR if use in wanted}
    lists = [wanted[use] for use, one in first.items() if one and isinstance(one[0], _LISTS)]
    if lists:
        are_dicts = any(one and isinstance(one[0], dict) for one in first.values())
        got = f"{'dictionaries' if are_dicts else 'lists'} in {lists}"
        line = f".explode({lists!r}) makes rows of lists"
        line *= hasattr(frame, "explode") and not are_dicts
        raise InputError(name, "must have one user and one item in each row").got(got, line)
    drop = _DROP.get(table.implementation.value)
    for use, column in wanted.items():
        line, missing = f"{drop}(subset=[{column!r}])", table[use].is_null()
        if table[use].dtype.is_float():
            is_nan = table[use].is_nan()
            if drop == ".dropna" and (is_nan & ~missing).any():  # as Arrow has them
                line = f".loc[lambda rows: rows[{column!r}] == rows[{column!r}]]"
            missing = missing | is_nan
        cure = f"{line} leaves such rows out" * (use in _OF_A_PAIR and drop is not None)
        refuse_missing(name, missing.to_numpy(), f"in column {column!r}, row", cure=cure)
    return [table[use] for use in wanted]


def unclear_columns(
    frame: Any, known: Collection[str], graded: bool
) -> list[tuple[str, float | None]]:
    """The further columns that may tell relevant rows from others, and the lowest of numbers.

    They have two values, or numbers of which some are not above 0, or, where rows may be `graded`,
    few numbers up to 10. Numbers that differ from row to row, such as an index, are none.
    """
    nw = extra("narwhals.stable.v2")
    table = nw.from_native(frame)
    found: list[tuple[str, float | None]] = []
    for column, kind in table.collect_schema().items():
        numeric = kind.is_numeric() or kind == nw.Boolean
        text = kind in (nw.String, nw.Categorical, nw.Enum)
        if column in known or not (numeric or text):
            continue
        one = table.select(nw.col(column).alias("one")).drop_nulls().lazy()
        n_rows = one.select(nw.len()).collect().item()
        n_values = one.head(_ENOUGH).collect()["one"].n_unique()
        differs = n_rows > _GRADES and n_values == min(n_rows, _ENOUGH)
        if n_values <= _GRADES and n_rows > _ENOUGH:
            n_values = one.collect()["one"].n_unique()
        if text:
            found += [(column, None)] * (n_values == 2)
        elif n_rows and not differs:
            ends = one.select(nw.col("one").cast(nw.Float64))
            ends = ends.select(low=nw.col("one").min(), high=nw.col("one").max()).collect()
            low, high = ends["low"].item(), ends["high"].item()
            grades = n_values == 2 or (1 < n_values <= _GRADES and high <= _GRADES - 1)
            found += [(column, low)] * bool(low <= 0 or (graded and grades))
    return found


def told_apart(frame: Any, columns: Mapping[str, str]) -> str:
    """Which further column tells rows of a pair of user and item apart, such as that of seeds.

    Under each of its few values every user has rows.
    """
    nw = extra("narwhals.stable.v2")
    user, item = columns["user"], columns["item"]
    table = nw.from_native(frame).lazy().collect()
    for one in [one for one in table.columns if one not in columns.values()]:
        of_user, n = len(table.select(user, one).unique()), table[one].n_unique()
        is_full = of_user == n * table[user].n_unique() and n < len(table) / 2
        if is_full and len(table.select(user, item, one).unique()) == len(table):
            told = "column {0!r} tells them apart: {run:={0!r}} if it names runs of a recommender, "
            return Naming(told + "{model:={0!r}} if it names recommenders", one)
    return ""


def chosen_names(given: dict[str, Any], numbers: Collection[str]) -> dict[str, str]:
    """The arguments that name a column; those that may be numbers, and are, are left out."""
    return {
        use: column
        for use, column in given.items()
        if isinstance(column, str) or use not in numbers
    }


def chosen_columns(name: str, frame: Any, wanted: dict[str, str]) -> Any:
    """Columns of a dataframe, renamed by their use; a lazy frame stays lazy."""
    known, nw = column_names(frame, name), extra("narwhals.stable.v2")
    more = f" and {len(known) - 10:,} more" * (len(known) > 10)
    for use, column in wanted.items():
        if not isinstance(column, Hashable) or column not in set(known):
            line = conversion_of_frame(frame, known, wanted)
            everywhere = " in all tables" * (use in ("user", "item") and name != "frame")
            other = f" (another one{everywhere}: {use}=...)" * (not line)
            got = f"the columns {shown(known[:10])}{more}"
            raise InputError(name, f"must have the column {shown(column)}{other}").got(got, line)
    if len(set(wanted.values())) < len(wanted):
        raise InputError(name, f"must have a column for each of {list(wanted)}").got(wanted)
    table = nw.from_native(frame)
    return table.select(nw.col(column).alias(use) for use, column in wanted.items())


def count_groups(
    name: str, frame: Any, wanted: dict[str, str], counts: str | None
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """The distinct rows of some columns and their counts, grouped by the frame's own engine.

    With `counts` the sum of that column for each of them.
    """
    nw = extra("narwhals.stable.v2")
    columns = wanted | ({} if counts is None else {"counts": counts})
    table = chosen_columns(name, frame, columns)
    for use, kind in table.collect_schema().items():
        # Objects of pandas may be numbers, which is seen later.
        objects = use != "counts" and isinstance(kind, (nw.Unknown, nw.Object, nw.Categorical))
        if not kind.is_numeric() and not objects:
            where = f"column {columns[use]!r}"
            raise InputError(use, "must be a column of numbers").got(f"{kind} in {where}")
    sums = [nw.len().alias("rows")]
    if counts is not None:
        given = nw.col("counts")
        wrong = ~((given >= 0) & (given < 2.0**53) & (given % 1 == 0)).fill_null(False)
        bad = table.filter(wrong).head(1).select("counts").lazy().collect()["counts"].to_list()
        if bad:
            allowed = "must be whole numbers of at least 0 below 2**53"
            raise InputError("counts", allowed).got(f"{shown(bad[0])} in column {counts!r}")
        # Summed as floats, which are exact below 2**53, and beyond it never come back below it.
        table = table.with_columns(given.cast(nw.Float64).alias("number"))
        sums += [nw.col("number").sum()]
    try:
        groups = table.group_by(list(wanted)).agg(*sums)
    except TypeError:  # objects of pandas, such as lists
        raise InputError(name, f"must have numbers in {list(wanted.values())}") from None
    if isinstance(groups, nw.LazyFrame):
        groups = groups.collect()
    if not len(groups):
        raise InputError(name, "must hold at least one row").got("none")
    for use, column in wanted.items():
        missing = groups.filter(nw.col(use).is_null())["rows"].sum()
        if missing:
            got = f"{missing:,} in column {column!r}"
            raise InputError(name, "must not have missing values").got(got)
    found = {use: groups[use].to_numpy() for use in wanted}
    if counts is None:
        return found, groups["rows"].to_numpy()
    if (total := groups["number"].sum()) >= 2**53:
        got = f"{total:.0f} in column {counts!r}"
        raise InputError("counts", "must add up to less than 2**53").got(got)
    return found, groups["number"].to_numpy().astype(np.int64)


@contextmanager
def open_parquet(frame: Any) -> Iterator[Any]:
    """Open the Parquet files at a path with DuckDB; return any other frame as it is.

    What is read from the files dies with the connection, so it stays open for the caller.
    """
    if not isinstance(frame, (str, PathLike)):
        yield frame
        return
    duckdb = extra("duckdb")
    # Files are found here: for an internet address DuckDB would download an extension.
    path, here = fspath(frame), glob.escape(fspath(frame))
    pattern = str(Path(here) / "**" / "*.parquet") if Path(path).is_dir() else path
    files = [path] if Path(path).is_file() else glob.glob(pattern, recursive=True)
    if not files:
        raise FileNotFoundError(
            "frame must be a path of Parquet files on this machine, a file, a folder or a pattern, "
            f"got {path} with none of them"
        )
    with duckdb.connect(config=_AS_INSTALLED) as connection:
        try:
            yield connection.read_parquet([glob.escape(file) for file in files])
        except duckdb.Error as error:
            allowed = "must be a path of Parquet files that DuckDB can read"
            raise InputError("frame", allowed).got(path, shown(error.args[0])) from error


def _numbers_in(name, allowed, series):
    """A column of numbers as an array, also of types that Narwhals does not know."""
    nw = extra("narwhals.stable.v2")
    if series.dtype in (nw.Unknown, nw.Object):  # sparse, of the other byte order, or of objects
        values = np.asarray(series.to_numpy())
        values = array_of(name, values.tolist()) if values.dtype == object else values
        if values.dtype.kind in "iuf":
            return values.astype(values.dtype.newbyteorder("="))
    if not series.dtype.is_numeric():
        raise InputError(name, allowed).got(f"{series.dtype}, such as {shown(series[0])}")
    return (series if series.dtype.is_integer() else series.cast(nw.Float64)).to_numpy()


def as_scores(name: str, series: Any) -> Floats:
    """A column of scores as floats; -inf is allowed."""
    values = _numbers_in(name, "must have scores that are numbers", series)
    if values.dtype.kind in "iuO" and (
        (largest := max(int(values.max()), -int(values.min()))) > 2**53
    ):
        # Beyond it different whole numbers would be tied.
        allowed = "must have scores that floats hold, up to 2**53 on either side"
        raise InputError(name, allowed).got(largest)
    values = values.astype(float)
    return _refuse_row(name, "must have scores that are numbers or -inf", values, values == np.inf)


def as_grades(name: str, series: Any) -> Floats:
    """A column of relevance grades as floats, from numbers or booleans."""
    nw = extra("narwhals.stable.v2")
    allowed = "must say by numbers, or by true and false, what is relevant"
    series = series.cast(nw.Float64) if series.dtype == nw.Boolean else series
    values = _numbers_in(name, allowed, series).astype(float)
    return _refuse_row(name, allowed, values, ~np.isfinite(values))


def as_times(name: str, series: Any) -> NDArray[Any]:
    """A column of numbers or dates as numbers that sort in the same order."""
    nw = extra("narwhals.stable.v2")
    if isinstance(series.dtype, (nw.Date, nw.Datetime)):
        fine = getattr(series.dtype, "time_unit", "us") == "ns"
        return series.dt.timestamp("ns" if fine else "us").to_numpy()
    allowed = "must have times that are numbers or dates"
    return _numbers_in(name, allowed, series)  # nanoseconds as floats would lose their order


def _refuse_row(name, allowed, values, bad):
    """Return the values; if some are bad, raise an InputError that names the first."""
    refuse_first(bad, name, allowed, "{} in row {at}", values)
    return values


def as_ids(name: str, series: Any) -> NDArray[Any]:
    """A column of ids as int64, or as objects of one kind such as strings."""
    nw = extra("narwhals.stable.v2")
    wide = series.dtype in (nw.Int128, nw.UInt128)  # which NumPy does not have
    values = np.asarray(None) if wide else series.to_numpy()
    if values.dtype.kind == "M" or values.ndim != 1:  # dates, with a zone or without; structures
        values = np.fromiter(series.to_list(), object)
    return check_ids(name, values)


def check_ids(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """An array of ids as int64 or objects; mixed kinds and inexact numbers are refused."""
    if values.dtype.kind in "SU":
        values = values.astype(object)
    # By types: there are few, and millions of ids.
    if values.dtype == object and len(kinds := set(map(_kind, set(map(type, values))))) > 1:
        raise InputError(name, "must have ids of one kind").got(" and ".join(sorted(kinds)))
    if values.dtype == object and kinds != {"whole numbers"}:
        return values
    kind = values.dtype.kind
    if kind not in "iufO":
        raise InputError(name, "must have ids that tell users and items apart").got(values.dtype)
    if kind == "i":
        return values.astype(np.int64)
    if kind != "f":  # hashes may be beyond 2**63
        fits = ((values >= -(2**63)) & (values < 2**63)).all()
        return values.astype(np.int64 if fits else object)
    # Floats hold every whole number up to their precision only: beyond it, two ids may be one.
    bits = np.finfo(values.dtype).nmant + 1
    broken = (abs(values) >= 2**bits) | (values != np.floor(values))
    most = f" below 2**{bits}" if (abs(values[broken][:1]) >= 2**bits).any() else ""
    _refuse_row(name, f"must have whole numbers{most} as ids", values, broken)
    return values.astype(np.int64)


def normalised(text: str) -> str:
    """An id without differences that files and floats make: case, white space, a trailing .0."""
    return unicodedata.normalize("NFKC", text).strip().casefold().removesuffix(".0")


def kind_of(ids: NDArray[Any]) -> str:
    """The kind of the ids, in words for a message."""
    return "whole numbers" if ids.dtype != object else _kind(type(ids[0]))


def _kind(of):
    if issubclass(of, str):
        return "text"
    whole = issubclass(of, (int, np.integer)) and not issubclass(of, (bool, np.bool_))
    return "whole numbers" if whole else of.__name__


class Coded(NamedTuple):
    """A column of ids: the distinct ids, and the number of each row's id among them."""

    ids: NDArray[Any]
    which: Integers


def coded(ids: NDArray[Any]) -> Coded:
    """Code a column of ids, the distinct ids in order of first appearance."""
    try:
        which, different = extra("pandas").factorize(ids)
    except TypeError:
        allowed = "hashable, such as numbers or text"
        raise InputError("ids", f"must be {allowed}").got(shown(ids[0])) from None
    return Coded(different, which.astype(np.int64))


def union(*parts: NDArray[Any]) -> pd.Index:
    """The distinct ids of several columns, in ascending order where they can be sorted."""
    pd = extra("pandas")
    index = pd.Index(pd.unique(np.concatenate(parts)))
    try:
        return index.sort_values()
    except TypeError:
        return index


def codes_in(index: pd.Index, column: Coded) -> Integers:
    """The position of each row's id in an index, -1 where it is missing."""
    return index.get_indexer(column.ids).astype(np.int64)[column.which]


# Columns that name their entries by an index of pandas.


def is_series(value: Any) -> bool:
    """Whether it is a pandas Series, which is matched by its index."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series)


def labels_of(name: str, values: Any) -> pd.Index | None:
    """The index of a pandas Series, refusing duplicate labels; None for an array or a list."""
    if not is_series(values):
        return None
    index = values.index
    twice = index[index.duplicated()]
    if len(twice):
        allowed = "must have an index without repeated labels"
        raise InputError(name, allowed).got(f"{shown(twice[0])} twice")
    return index


def aligned(name: str, values: Any, labels: ArrayLike | None) -> Any:
    """A Series reordered to `labels` by its index; an array or a list as it is.

    Without `labels`, an index has to say the same as the position: 0, 1, 2 and so on.
    """
    index = labels_of(name, values)
    if index is None:
        return values
    pd = extra("pandas")
    if labels is None:
        numbered = pd.RangeIndex(len(index))
        if not index.equals(numbered):
            other = index[index != numbered][0]
            allowed = "must have the index 0, 1, 2, ... beside what is matched by position"
            raise InputError(name, allowed).got(f"the label {shown(other)}")
        return values
    wanted = pd.Index(labels)
    alone = index.difference(wanted, sort=False).append(wanted.difference(index, sort=False))
    if len(alone):
        allowed = "must have the same labels in its index as what it is matched with"
        raise InputError(name, allowed).got(f"{shown(alone[0])} in only one of them")
    return values.iloc[index.get_indexer(wanted)]


# Tidy tables from rows with several keys.


def table_of(rows, names, several=True):
    """A pandas table from rows (dictionaries by column), indexed by their keys (tuples).

    Where there are not several recommenders, the first level, their names, is left out.
    """
    pd = extra("pandas")
    table = pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=names))
    return table if several else table.droplevel(0)
