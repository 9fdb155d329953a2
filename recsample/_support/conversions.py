"""The lines that convert what people have into what is read: the ends of refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np

from recsample._support.checks import is_sparse

_SEVERAL = list, tuple, set, np.ndarray


def _of(inside: Any, kinds: Any) -> Callable[[Any], bool]:
    """A collection of such things."""

    def fits(given):
        some = given.values() if isinstance(given, Mapping) else given
        is_some = isinstance(given, kinds) and getattr(given, "ndim", 1)
        return is_some and all(isinstance(one, inside) for one in some)

    return fits


_BY_USER = ".explode() has the users as its index"
_LISTS = _of(_SEVERAL, _SEVERAL)
# A type, the names of attributes, or what tells; the first that fits counts. {0} is the argument.
_LINES: tuple[tuple[Any, str], ...] = (
    ((str, PathLike), "read the file first, as by pandas.read_csv"),
    (lambda x: is_sparse(getattr(x, "train", None)), "give {0}=data.{0} of it"),  # Interactions
    (is_sparse, "a dataframe of the row, col and data of {0}.tocoo() lists what is stored"),
    ("user_factors item_factors", "give (model.user_factors, model.item_factors)"),
    ("user_embeddings item_embeddings", "give the pair of its embeddings"),
    ("reset_index", ".reset_index() makes a dataframe of it"),
    (Iterator, "numpy.stack([*{0}]) makes an array"),
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
    (
        lambda x: _LISTS(x) and {*map(len, x)} == {2},
        "pandas.DataFrame([*{0}], columns=['user', 'item']) makes a dataframe of pairs, and of "
        f"lists of items pandas.Series([*{{0}}]){_BY_USER}",
    ),
    (
        lambda x: isinstance(x, np.ndarray) and x.ndim == 2 and np.isin(x, (0, 1)).all(),
        "scipy.sparse.csr_matrix({0}) makes a sparse matrix",
    ),
    (_LISTS, f"pandas.Series([*{{0}}]){_BY_USER}"),
    ("recommend", "its lists go into a dataframe with the columns user, item and score"),
    (
        lambda x: callable(x) or hasattr(x, "predict"),
        "wrap it in an object whose method scores(users) returns an array, users by items",
    ),
)


def _fits(wanted, given):
    if isinstance(wanted, str):
        return all(hasattr(given, name) for name in wanted.split())
    return isinstance(given, wanted) if isinstance(wanted, (type, tuple)) else wanted(given)


def conversion(name: str, given: Any) -> str:
    """What makes of a thing what `name` must be, as the end of a sentence; else nothing."""
    return next((line.format(name) for one, line in _LINES if _fits(one, given)), "")


def conversion_of_frame(frame: Any, known: Collection[str], wanted: Mapping[str, str]) -> str:
    """The same of a dataframe that lacks a wanted column."""
    index = getattr(getattr(frame, "index", None), "names", ())
    if {"user", "item", "score"} <= {*wanted} and len(known) > 3:
        user, item, score = (wanted[use] for use in ("user", "item", "score"))
        rows, columns = (item, user) if item in index else (user, item)
        line = f".rename_axis(index={rows!r}, columns={columns!r}).stack().rename({score!r})"
        line += ".reset_index()"
        if user in known:
            line = f".melt({user!r}, var_name={item!r}, value_name={score!r})"
        if hasattr(frame, "unpivot"):  # as polars calls it
            line = f".unpivot(index={user!r}, variable_name={item!r}, value_name={score!r})"
        return f"pairs are made of a table of users by items by {line}"
    return ".reset_index() makes one of the index" if {*index} & {*wanted.values()} else ""
