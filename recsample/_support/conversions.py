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
    return isinstance(given, (Mapping, list)) and all(isinstance(one, inside) for one in some)


def _has(given, *names):
    return all(hasattr(given, name) for name in names)


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
    (lambda x: _has(x, "reset_index"), ".reset_index() makes a dataframe of it"),
    (lambda x: isinstance(x, Iterator), "numpy.stack([*{0}]) makes an array"),
    (
        lambda x: isinstance(x, Mapping) and _of(Mapping, x),
        "pandas.DataFrame([(u, i, v) for u, row in {0}.items() for i, v in row.items()], "
        "columns=['user', 'item', 'score']) makes a dataframe",
    ),
    (lambda x: _of(_SEVERAL, x), "pandas.Series({0}).explode() has the users as its index"),
    (lambda x: isinstance(x, np.ndarray), "scipy.sparse.csr_matrix({0}) makes a sparse matrix"),
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
    if {*wanted.values()} & {*getattr(getattr(frame, "index", None), "names", ())}:
        return ": .reset_index() makes one of the index"
    if not ({"user", "item", "score"} <= {*wanted} and len(known) > 3):
        return ""
    line = ".rename_axis(index={user!r}, columns={item!r}).stack().rename({score!r}).reset_index()"
    if wanted["user"] in known:
        line = ".melt({user!r}, var_name={item!r}, value_name={score!r})"
    wide = "of a table with a row for each user and a column for each item"
    return f": {wide} {line.format(**wanted)} makes pairs"
