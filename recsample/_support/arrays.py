"""Helpers for arrays: repeat, count and split rows, on platforms with 32-bit indices too.

Where an index has 32 bits, as in a browser, NumPy repeats and counts by arrays of that type only,
while ranks are 64 bits everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.checks import array_of, is_sparse, missing_in, refuse_missing, shown
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Integers

# Blocks hold about this many numbers: half a MiB of float64, so that what is made of them on the
# way stays in the cache of a core. Larger blocks take two to four times longer.
BLOCK = 2**16


def repeated(values: ArrayLike, times: Integers) -> NDArray[Any]:
    """Repeat each value `times` times."""
    return np.repeat(values, np.asarray(times).astype(np.intp, copy=False))


def counted(which: Integers, n: int) -> Integers:
    """Count how often each of 0, ..., n - 1 occurs."""
    return np.bincount(which.astype(np.intp, copy=False), minlength=n).astype(np.int64, copy=False)


def summed(which: Integers, weights: ArrayLike, n: int) -> Floats:
    """The sum of the weights of each of 0, ..., n - 1."""
    # Without any weight NumPy would count, in whole numbers.
    return np.bincount(which.astype(np.intp, copy=False), weights, n).astype(float, copy=False)


def starts_of(lengths: Integers) -> Integers:
    """The start of each list, where several lists of these lengths are concatenated.

    As indices, since `reduceat` takes no other where these have 32 bits.
    """
    return (np.cumsum(lengths, dtype=np.int64) - lengths).astype(np.intp)


def places_in(lengths: Integers) -> Integers:
    """The position of each entry within its list, where several lists are concatenated."""
    return np.arange(lengths.sum(), dtype=np.int64) - repeated(starts_of(lengths), lengths)


def owners(lengths: Integers) -> Integers:
    """The number of the list that each entry of concatenated lists belongs to."""
    number = np.arange(len(lengths), dtype=np.int64)
    return number if (lengths == 1).all() else repeated(number, lengths)


def entries_of(lengths: Integers, which: Any) -> Integers:
    """The positions of the entries of chosen lists, where several lists are concatenated."""
    return repeated(starts_of(lengths)[which], lengths[which]) + places_in(lengths[which])


def different_rows(columns: Sequence[NDArray[Any]]) -> tuple[list[NDArray[Any]], Integers]:
    """The distinct rows of a table, sorted, as columns; and the number of each row among them.

    As `numpy.unique` along an axis has it, which takes ten times longer.
    """
    varied = [column for column in columns if (column != column[:1]).any()]
    order = np.lexsort(varied[::-1]) if varied else np.arange(len(columns[0]))
    new = np.zeros(len(order), bool)
    new[:1] = True
    for column in varied:
        in_order = column[order]
        new[1:] |= in_order[1:] != in_order[:-1]
    which = np.empty(len(order), np.int64)
    which[order] = np.cumsum(new) - 1
    return [column[order[new]] for column in columns], which


def row_blocks(n_rows: int, row_length: int, block: int | None = None) -> list[slice]:
    """Slices of consecutive rows with about a block of numbers each."""
    step = max(1, (block or BLOCK) // row_length)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


# Lists of different lengths, one for each instance, as one array of numbers.


# Whether it is a list, where the type of a value tells.
_IS_LIST = {int: False, float: False, np.int64: False, np.float64: False, list: True, tuple: True}


def flattened(name: str, values: Any, cure: str = "") -> tuple[NDArray[Any], Integers, bool]:
    """All numbers of `values` in one array, the length of each instance, and whether nested.

    The cure is for missing ones.
    """
    is_array = isinstance(values, Collection) or hasattr(values, "__array__")
    if isinstance(values, (str, bytes)) or is_sparse(values) or not is_array:
        raise InputError(name, "must be an array of numbers").got(shown(values))
    if hasattr(values, "dtype") or hasattr(values, "__array__"):  # a table has the second only
        values = array_of(name, values, cure=cure)
        if values.ndim == 0 or values.ndim > 2:
            allowed = "must be an array of numbers"
            raise InputError(name, allowed).got(f"one of shape {values.shape}")
    if len(values) == 0:
        raise InputError(name, "must hold at least one instance").got("none")
    nested = _is_nested(name, values)
    # Of numbers all lengths are 1, which takes the memory of one number.
    one = np.broadcast_to(np.int64(1), len(values))
    lengths = np.array([len(v) for v in values], np.int64) if nested else one
    flat = np.asarray(_joined(name, values) if nested else _plain(values))
    if flat.dtype.kind in "fO" and flat.ndim == 1:
        refuse_missing(name, missing_in(flat), "in instance", owners(lengths), cure)
    if not lengths.any():
        flat = flat.astype(np.int64)
    if flat.dtype.kind not in "iuf" or flat.ndim != 1:
        raise InputError(name, "must be numbers").got(f"an array of type {flat.dtype}")
    return flat, lengths, nested


def split(flat: NDArray[Any], lengths: Integers) -> list[NDArray[Any]]:
    """The inverse of `flattened`: an array for each instance."""
    ends = np.cumsum(lengths).tolist()
    # Five times as fast as np.split, which cares for every kind of axis.
    return [flat[start:stop] for start, stop in zip([0, *ends], ends)]


def _is_nested(name, values):
    """Whether each entry is a list."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values.ndim == 2
    kinds = _kinds(values)
    if len(kinds) == 2:
        raise InputError(name, "must be all numbers or all lists").got("a mixture of both")
    return kinds == {True}


def _joined(name, lists):
    """All entries of the lists, one after the other."""
    if all(isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype == lists[0].dtype for v in lists):
        return np.concatenate(lists)
    entries = list(chain.from_iterable(lists))
    if True in _kinds(entries):
        raise InputError(name, "must hold numbers or lists of numbers").got("lists of lists")
    return entries


def _plain(values):
    """An object array as a list, so that NumPy infers the type of its numbers."""
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values


def _kinds(values):
    """Which kinds of entries the values have: True for lists, False for numbers."""
    types = {*map(type, values)}
    if types == {np.ndarray}:
        return {v.ndim > 0 for v in values}
    if types <= _IS_LIST.keys():  # ten times as fast as to ask each of them
        return {_IS_LIST[one] for one in types}
    return {_is_list(v) for v in values}


def _is_list(value):
    if isinstance(value, (str, bytes)):
        return False
    return hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
