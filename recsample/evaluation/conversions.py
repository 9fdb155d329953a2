"""The lines that convert what people have into what is read: the ends of refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda given: all(hasattr(given, name) for name in names)


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, kinds)


def _of(kind: type, inside: type | tuple[type, ...]) -> Callable[[Any], bool]:
    """A collection of such things."""

    def fits(given):
        some = given.values() if isinstance(given, Mapping) else given
        return isinstance(given, kind) and all(isinstance(one, inside) for one in some)

    return fits


_SEVERAL = list, tuple, set, np.ndarray
# The first that fits counts; {} is the name of the argument.
_LINES: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (_is(str, PathLike), "read the file first, as by pandas.read_csv"),
    (_has("user_factors", "item_factors"), "give (model.user_factors, model.item_factors)"),
    (_has("user_embeddings", "item_embeddings"), "give the pair of its embeddings"),
    (_has("reset_index"), ".reset_index() makes a dataframe of it"),
    (_is(Iterator), "numpy.stack([*{}]) makes an array"),
    (
        _of(Mapping, Mapping),
        "pandas.DataFrame([(u, i, v) for u, row in {}.items() for i, v in row.items()], "
        "columns=['user', 'item', 'score']) makes a dataframe",
    ),
    (_of(Mapping, _SEVERAL), "pandas.Series({}).explode() has the users as its index"),
    (_of(list, _SEVERAL), "pandas.Series({}).explode() has the users as its index"),
    (_is(np.ndarray), "scipy.sparse.csr_matrix({}) makes a sparse matrix"),
    (_has("recommend"), "its lists go into a dataframe with the columns user, item and score"),
    (
        lambda given: callable(given) or hasattr(given, "predict"),
        "wrap it in an object whose method scores(users) returns an array, users by items",
    ),
)


def conversion(name: str, given: Any) -> str:
    """What makes of a thing what `name` must be, as the end of a sentence; else nothing."""
    if sparse.issparse(getattr(given, "train", None)):  # Interactions
        return f": give {name}=data.{name} of it"
    return next((f": {line.format(name)}" for fits, line in _LINES if fits(given)), "")
