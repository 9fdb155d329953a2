"""Rows of arrays: repeated, counted and taken in blocks, whatever the size of an index.

Where an index has 32 bits, as in a browser, NumPy repeats and counts by arrays of that type only,
while ranks are 64 bits everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._typing import Floats, Integers

# Blocks hold about this many numbers: half a MiB of float64, so that what is made of them on the
# way stays in the cache of a core. Larger blocks take two to four times longer.
BLOCK = 2**16


def repeated(values: ArrayLike, times: Integers) -> NDArray[Any]:
    """Each of the values as often as `times` says."""
    return np.repeat(values, np.asarray(times).astype(np.intp, copy=False))


def counted(which: Integers, n: int) -> Integers:
    """How often each of 0, ..., n - 1 occurs."""
    return np.bincount(which.astype(np.intp, copy=False), minlength=n).astype(np.int64, copy=False)


def summed(which: Integers, weights: ArrayLike, n: int) -> Floats:
    """The sum of the weights of each of 0, ..., n - 1."""
    # Without any weight NumPy would count, in whole numbers.
    return np.bincount(which.astype(np.intp, copy=False), weights, n).astype(float, copy=False)


def starts_of(lengths: Integers) -> Integers:
    """Where each of several lists begins that stand one after the other."""
    return np.cumsum(lengths, dtype=np.int64) - lengths


def places_in(lengths: Integers) -> Integers:
    """0, 1, 2, ... within each of several lists that stand one after the other."""
    return np.arange(lengths.sum(), dtype=np.int64) - repeated(starts_of(lengths), lengths)


def owners(lengths: Integers) -> Integers:
    """To which of several lists each entry belongs."""
    return repeated(np.arange(len(lengths), dtype=np.int64), lengths)


def different_rows(columns: Sequence[Integers]) -> tuple[list[Integers], Integers]:
    """The different rows of a table, in order and by columns, and which of them each row is.

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
    """Slices of consecutive rows that hold about a block of numbers each."""
    step = max(1, (block or BLOCK) // row_length)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
