"""The lines that convert what people have into what is read: the ends of refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np

from recsample._support.checks import is_sparse

_SEVERAL = list, tuple, set, np.ndarray


def _of(inside, given):
    """Whether it is a collection of such things."""
    some = given.values() if isinstance(given, Mapping) else given
    return isinstance(given, (Mapping, *_SEVERAL)) and all(isinstance(one, inside) for one in some)


def _has(given, *names):
    return all(hasattr(given, name) for name in names)


def _is_0_or_1(given):
    return isinstance(given, np.ndarray) and given.ndim == 2 and np.isin(given, (0, 1)).all()


_BY_USER = ".explode() has the users as its index"
# The first that fits counts; {0} is the name of the argument.
_LINES: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (lambda x: isinstance(x, (str, PathLike)), "read the file first, as by pandas.read_csv"),
    (lambda x: is_sparse(getattr(x, "train", None)), "give {0}=data.{0} of it"),  # Interactions
    (
        is_sparse,
        "{0}.toarray() scores what is not stored by 0; a dataframe of {0}.tocoo(), with its row, "
        "col and data as user, item and score, does not list it",
    ),
    (
        lambda x: _has(x, "user_factors", "item_factors"),
        "give (model.user_factors, model.item_factors)",
    ),
    (lambda x: _has(x, "user_embeddings", "item_embeddings"), "give the pair of its embeddings"),
    (
        lambda x: _has(x, "keys") and {"user", "item"} <= {*x.keys()},
        "pandas.DataFrame({0}) makes a dataframe",
    ),
    (lambda x: _has(x, "reset_index"), ".reset_index() makes a dataframe of it"),
    (lambda x: isinstance(x, Iterator), "numpy.stack([*{0}]) makes an array"),
    (
        lambda x: isinstance(x, Mapping) and _of(Mapping, x),
        "pandas.DataFrame([(u, i, v) for u, row in {0}.items() for i, v in row.items()], "
        "columns=['user', 'item', 'score']) makes a dataframe",
    ),
    (lambda x: isinstance(x, Mapping) and _of(_SEVERAL, x), f"pandas.Series({{0}}){_BY_USER}"),
    (lambda x: isinstance(x, Mapping), "pandas.Series({0}) has the users as its index"),
    (_is_0_or_1, "scipy.sparse.csr_matrix({0}) makes a sparse matrix"),
    (
        lambda x: _of(_SEVERAL, x) and {*map(len, x)} == {2},
        "pandas.DataFrame([*{0}], columns=['user', 'item']) makes a dataframe of pairs, and of "
        f"lists of items pandas.Series([*{{0}}]){_BY_USER}",
    ),
    (lambda x: _of(_SEVERAL, x), f"pandas.Series([*{{0}}]){_BY_USER}"),
    (
        lambda x: _has(x, "recommend"),
        "its lists go into a dataframe with the columns user, item and score",
    ),
    (
        lambda x: callable(x) or _has(x, "predict"),
        "wrap it in an object whose method scores(users) returns an array, users by items",
    ),
)


def conversion(name: str, given: Any) -> str:
    """What makes of a thing what `name` must be, as the end of a sentence; else nothing."""
    return next((f": {line.format(name)}" for fits, line in _LINES if fits(given)), "")


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
        return f": pairs are made of a table of users by items by {line}"
    return ": .reset_index() makes one of the index" if {*index} & {*wanted.values()} else ""
