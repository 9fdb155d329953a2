"""The lines that convert what people have into what is read: the ends of refusals.

A line is named only where the facts leave one cause, and tests/test_cures.py follows each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from recsample._support.checks import array_of, is_sparse

_SEVERAL = list, tuple, set, np.ndarray


def _of(inside: Any, kinds: Any) -> Callable[[Any], bool]:
    """A collection of such things."""

    def fits(given):
        some = given.values() if isinstance(given, Mapping) else given
        is_some = isinstance(given, kinds) and getattr(given, "ndim", 1)
        return is_some and all(isinstance(one, inside) for one in some)

    return fits


_BY_USER = ".explode().dropna() has the users as its index"
_LISTS = _of(_SEVERAL, _SEVERAL)


def _are_items(rows):
    """Whether lists hold different items each; those of two may be pairs."""
    several = any(isinstance(one, _SEVERAL) for row in rows for one in row)
    return not several and {*map(len, rows)} != {2} and all(len({*row}) == len(row) for row in rows)


def _is_matrix(given):
    """Whether there are counts or grades of users by items: too small for ids, and repeated."""
    array = array_of("", given) if _LISTS(given) else np.zeros(0)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or not array.size:
        return False
    few = array.min() >= 0 and array.max() < array.shape[1]
    return np.isin(array, (0, 1)).all() or (few and not _are_items(array.tolist()))


# A type, the names of attributes, or what tells; the first that fits counts. {0} is the argument.
_LINES: tuple[tuple[Any, str], ...] = (
    (lambda x: str(x).endswith(".csv"), "pandas.read_csv({0}) reads it"),
    (
        is_sparse,
        "pandas.DataFrame(dict(user={0}.tocoo().row, item={0}.tocoo().col, "
        "score={0}.tocoo().data)) lists what is stored",
    ),
    ("user_factors item_factors", "({0}.user_factors, {0}.item_factors) are its factors"),
    (
        lambda x: {"user", "item"} <= {*getattr(getattr(x, "index", None), "names", ())},
        "{0}.rename('score').reset_index() makes a dataframe of it",
    ),
    (
        _of(Mapping, Mapping),
        "pandas.DataFrame([(u, i, v) for u, row in {0}.items() for i, v in row.items()], "
        "columns=['user', 'item', 'score']) makes a dataframe",
    ),
    (
        lambda x: isinstance(x, Mapping) and {"user", "item"} <= {*x},
        "pandas.DataFrame({0}) makes a dataframe",
    ),
    (_of(_SEVERAL, Mapping), f"pandas.Series({{0}}){_BY_USER}"),
    (Mapping, "pandas.Series({0}) has the users as its index"),
    (_is_matrix, "scipy.sparse.csr_matrix({0}) makes a sparse matrix"),
    (lambda x: _LISTS(x) and _are_items(x), f"pandas.Series([*{{0}}]){_BY_USER}"),
)


def _fits(wanted, given):
    if isinstance(wanted, str):
        return all(hasattr(given, name) for name in wanted.split())
    return isinstance(given, wanted) if isinstance(wanted, type) else wanted(given)


def conversion(name: str, given: Any) -> str:
    """What makes of a thing what `name` must be, as the end of a sentence; else nothing."""
    if hasattr(given, name) and is_sparse(getattr(given, "train", None)):  # Interactions
        return f"{name}.{name} is that part of it"
    return next((line.replace("{0}", name) for one, line in _LINES if _fits(one, given)), "")


# A column of these names has ranks, of which low ones are good.
RANKS = {"rank", "position", "place"}
# What makes lists of the text of several, by what is between them.
_SPLITS = {",": ".str.split(',')", " ": ".str.split()"}


def conversion_of_frame(frame: Any, known: Collection[str], wanted: Mapping[str, str]) -> str:
    """The same of a dataframe of pandas that lacks a wanted column, or of Polars with ranks."""
    lacks, library = {*wanted.values()} - {*known}, type(frame).__module__.partition(".")[0]
    user, item, score = (wanted.get(use, "") for use in ("user", "item", "score"))
    ranks = [one for one in known if str(one).lower() in RANKS]
    if ranks and score and lacks == {score} and library in ("pandas", "polars"):
        line = f".with_columns((-polars.col({ranks[0]!r})).alias({score!r}))"
        if library == "pandas":
            line = f".assign({score}=lambda t: -t[{ranks[0]!r}])" * score.isidentifier()
        return line and f"{line} makes scores of ranks"
    if library != "pandas":
        return ""
    indexed = lacks & {*frame.index.names}
    if indexed and (indexed == lacks or len(indexed) > 1):
        return ".reset_index() makes one of the index"
    if item in lacks:
        return _of_wide(frame, user, item, score) if score else ""
    if lacks != {score} or not f"{score}{item}".isidentifier() or not frame[user].is_unique:
        return ""
    items, split = [*frame[item]], ""
    if all(isinstance(one, str) and "[" not in one for one in items):
        between = next((mark for mark in _SPLITS if all(mark in one for one in items)), None)
        if between is None:
            return ""
        split = f".assign({item}=lambda t: t[{item!r}]{_SPLITS[between]})"
    elif not _of(_SEVERAL, list)(items):
        return ""
    order = f".assign({score}=lambda t: -t.groupby({user!r}).cumcount())"
    return f"of lists, best first, {split}.explode({item!r}){order} makes pairs"


def _of_wide(frame, user, item, score):
    """Of users by items, where something names them, or columns that are no text."""
    rows, columns = (item, user) if frame.index.name == item else (user, item)
    line = f".rename_axis(index={rows!r}, columns={columns!r}).stack().rename({score!r})"
    line += ".reset_index()"
    named = {frame.index.name, frame.columns.name} & {user, item}
    if user in frame:
        named = frame[user].is_unique
        line = f".melt({user!r}, var_name={item!r}, value_name={score!r})"
    if frame.shape[1] < 4 or not (named or not all(isinstance(one, str) for one in frame)):
        return ""
    return f"pairs are made of a table of users by items by {line}.dropna()"
