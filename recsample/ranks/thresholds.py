"""Compare rows of numbers with thresholds: count those above and those near, and list the latter.

A row has thresholds of its own, best first, each with a lower and an upper bound. A number is above
a threshold where it is higher than the upper bound, and near where it is neither above nor below.
The thresholds of all rows are one after the other, and rows with more of them come first.

Where they are few, every number is compared with every bound. Where they are many, the row is
sorted, which serves any number of bounds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec

import numpy as np

from recsample._support.arrays import owners, places_in, repeated, row_blocks, starts_of
from recsample._support.extras import extra
from recsample._support.typing import Integers

# From this many thresholds on, sorting is faster than comparing with each: in NumPy, and compiled.
_MANY, _MANY_COMPILED = 8, 64
# About this many numbers are sorted together, which stay in the cache of a core.
_TOGETHER = 2**17
# Comparisons from which compiled code saves more time than it takes to load, and to load Numba.
_WORTH_LOADING, _WORTH_LOADING_NUMBA = 2**24, 2**31
Kernel = Callable[..., None]


def kernel_for(n_comparisons: int) -> Kernel | None:
    """Compiled code for `compared`, if it is worth it here."""
    worth = _WORTH_LOADING if "numba" in sys.modules else _WORTH_LOADING_NUMBA
    # With NUMBA_DISABLE_JIT the kernel would run in Python, number by number.
    compiles = find_spec("numba") and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
    return compiled_counts() if n_comparisons >= worth and compiles else None


def sorted_from(kernel: Kernel | None) -> int:
    """From how many thresholds on `compared` sorts a row."""
    return _MANY if kernel is None else _MANY_COMPILED


def compared(
    numbers, n_thresholds: Integers, low, high, counts: Integers, kernel: Kernel | None = None
) -> Iterator[tuple[Integers, Integers]]:
    """Count how many numbers are above and how many near each threshold of their row.

    These fill the two rows of `counts`. Where the two bounds of a threshold differ, each number
    that is near is yielded: which threshold, and which column.
    """
    first, row_of, width = starts_of(n_thresholds), owners(n_thresholds), numbers.shape[1]
    many = int(np.count_nonzero(n_thresholds >= sorted_from(kernel)))
    to_compare = [np.arange(0)]
    for rows in row_blocks(many, width, _TOGETHER):
        which = np.flatnonzero((row_of >= rows.start) & (row_of < rows.stop))
        bounds = low[which], high[which]
        counts[:, which], near = _by_sorting(numbers[rows], row_of[which] - rows.start, *bounds)
        to_compare.append(which[near])
    rest = row_of >= many
    if kernel:
        columns = np.empty((len(low), 4), np.int32)  # of numbers that are near: seldom more
        kernel(numbers[many:], first[many:], n_thresholds[many:], low, high, *counts, columns)
        which = np.flatnonzero(rest & (counts[1] > 0) & (low < high))
        few = counts[1, which] <= columns.shape[1]
        times = counts[1, which[few]]
        yield repeated(which[few], times), columns[repeated(which[few], times), places_in(times)]
        to_compare.append(which[~few])
    else:
        for k in range(n_thresholds[many:].max(initial=0)):
            which = first[many:][n_thresholds[many:] > k] + k
            bounds = low[which], high[which]
            yield from _by_comparing(numbers[many : many + len(which)], which, *bounds, counts)
    which = np.concatenate(to_compare)
    for part in row_blocks(len(which), width, numbers.size):
        some = which[part]
        yield from _by_comparing(numbers[row_of[some]], some, low[some], high[some], counts)


def _by_sorting(numbers, row_of, low, high):
    """The counts for thresholds of some rows, and for which of them the rows are to be compared.

    These are the ones with numbers that are near, whose columns the sorted row does not tell.
    Doubles are rounded to single precision, which is sorted in half the time. That keeps their
    order but makes some equal, so what is near then may not be near before.
    """
    rounds = (low < high).any()
    ordered = numbers.astype(np.float32 if rounds else numbers.dtype)
    ordered.sort(axis=1)
    low, high = low.astype(ordered.dtype), high.astype(ordered.dtype)
    ends = np.searchsorted(row_of, np.arange(len(numbers) + 1)).tolist()
    each = [(row, slice(*mine)) for row, *mine in zip(ordered, ends, ends[1:])]
    end = np.concatenate([row.searchsorted(high[mine], "right") for row, mine in each])
    above = numbers.shape[1] - end
    if rounds:  # whether any number is near, which are counted where they are compared
        near = (end > 0) & (ordered[row_of, end - 1] >= low)
        return (above, near), near
    start = np.concatenate([row.searchsorted(low[mine]) for row, mine in each])
    return (above, end - start), np.zeros(len(low), bool)


def _by_comparing(numbers, which, low, high, counts):
    """`compared` by direct comparison, with one threshold per row."""
    above = _bits(np.greater, numbers, high)
    near = _bits(np.greater_equal, numbers, low) ^ above
    counts[:, which] = [np.bitwise_count(bits).sum(axis=1) for bits in (above, near)]
    some = np.flatnonzero((counts[1, which] > 0) & (low < high))
    row, word = np.nonzero(near[some])
    words = near[some[row], word]
    each, column = np.nonzero(np.unpackbits(words[:, None].view(np.uint8), axis=1))
    yield which[some[row[each]]], 64 * word[each] + column


def _bits(comparison, numbers, bounds):
    """Compare each row with its bound; the result has a bit per number, in 64-bit words."""
    n_rows, width = numbers.shape
    found = np.empty((n_rows, -(-width // 64) * 64), bool)
    found[:, width:] = False
    with np.errstate():
        # NumPy fills a larger buffer, of more than a row, with the bound for each number.
        np.setbufsize(256)
        comparison(numbers, bounds[:, None], out=found[:, :width])
    return np.packbits(found.reshape(-1)).view(np.uint64).reshape(n_rows, -1)


@cache
def compiled_counts() -> Kernel:
    """A kernel that counts as `compared` does with fewer passes, compiled by Numba.

    It fills `above` and `near`, and the rows of `columns` with the first columns that are near.
    """
    numba = extra("numba")

    def counts(numbers, first, n_thresholds, low, high, above, near, columns):
        # A function of its own outside would be compiled again in every process.
        def above_and_near(values, lower, upper):
            # Counters of 32 bits: twice as many fit a register.
            n_above = n_reaching = numba.int32(0)
            for j in range(len(values)):
                n_above = numba.int32(n_above + numba.int32(values[j] > upper))
                n_reaching = numba.int32(n_reaching + numba.int32(values[j] >= lower))
            return n_above, n_reaching - n_above

        for row in range(len(first)):
            values = numbers[row]
            for which in range(first[row], first[row] + n_thresholds[row]):
                lower, upper = low[which], high[which]
                above[which], near[which] = above_and_near(values, lower, upper)
                start, found, wanted = 0, 0, min(near[which], columns.shape[1]) * (lower < upper)
                while found < wanted:
                    part = values[start : start + 128]
                    if above_and_near(part, lower, upper)[1]:
                        for j in range(len(part)):
                            if found < wanted and lower <= part[j] <= upper:
                                columns[which, found] = start + j
                                found += 1
                    start += 128

    try:
        return numba.njit(nogil=True, cache=True)(counts)
    except RuntimeError:  # no folder to cache it in
        return numba.njit(nogil=True)(counts)
