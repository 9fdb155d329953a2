"""Compare rows of numbers with thresholds: count those above and those near, and list the latter.

A row has thresholds of its own, best first, each with a lower and an upper bound. A number is above
a threshold where it is higher than the upper bound, and near where it is neither above nor below.
The thresholds of all rows are one after the other, and rows with more of them come first.

Where they are few, every number is compared with every bound. Where they are many, numbers and
bounds go into buckets first, by a function that never decreases. So the numbers of a higher bucket
are above and those of a lower one below, and only those of the same bucket are compared. Where most
numbers are in the buckets of bounds, the row is sorted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec

import numpy as np

from recsample._support.arrays import counted, owners, places_in, repeated, row_blocks, starts_of
from recsample._support.extras import extra
from recsample._support.typing import Integers

# From this many thresholds on, buckets are faster than comparing with each: in NumPy, and compiled.
_MANY, _MANY_COMPILED = 16, 160
# Where more than this part of a row is in the buckets of thresholds, comparing all is as fast, or
# from so many thresholds on sorting the row.
_CROWDED, _SORTED = 1 / 8, 64
# Comparisons from which compiled code saves more time than it takes to load, and to load Numba.
_WORTH_LOADING, _WORTH_LOADING_NUMBA = 2**24, 2**31
Pairs = Iterator[tuple[Integers, Integers]]


def fastest(n_comparisons: int) -> Callable[..., Pairs]:
    """`compared` or `compared_by`, compiled if that is worth it here."""
    worth = _WORTH_LOADING if "numba" in sys.modules else _WORTH_LOADING_NUMBA
    # With NUMBA_DISABLE_JIT the kernel would run in Python, number by number.
    compiles = find_spec("numba") and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
    if n_comparisons >= worth and compiles:
        return partial(compared_by, compiled_counts())
    return compared


def compared(numbers, n_thresholds: Integers, low, high, counts: Integers) -> Pairs:
    """Count how many numbers are above and how many near each threshold of their row.

    These fill the two rows of `counts`. Where the two bounds of a threshold differ, each number
    that is near is yielded: which threshold, and which column.
    """
    first = starts_of(n_thresholds)
    many = int(np.count_nonzero(n_thresholds >= _MANY))
    if many:
        done = slice(0, int(n_thresholds[:many].sum()))
        crowded = yield from _by_buckets(
            numbers[:many], n_thresholds[:many], low[done], high[done], counts[:, done]
        )
        to_sort = n_thresholds[crowded] >= _SORTED
        for row in crowded[to_sort]:
            which = first[row] + np.arange(n_thresholds[row])
            yield from _by_sorting(numbers[row], which, low[which], high[which], counts)
        rows = np.concatenate([crowded[~to_sort], np.arange(many, len(numbers))])
        numbers, first, n_thresholds = numbers[rows], first[rows], n_thresholds[rows]
    for k in range(n_thresholds.max(initial=0)):
        n_rows = int(np.count_nonzero(n_thresholds > k))
        which = first[:n_rows] + k
        yield from _by_comparing(numbers[:n_rows], which, low[which], high[which], counts)


def compared_by(kernel, numbers, n_thresholds, low, high, counts):
    """`compared`, by a compiled kernel."""
    first, (above, near) = starts_of(n_thresholds), counts
    many = int(np.count_nonzero(n_thresholds >= _MANY_COMPILED))
    done = int(n_thresholds[:many].sum())
    if many:
        some = numbers[:many], n_thresholds[:many], low[:done], high[:done]
        yield from compared(*some, counts[:, :done])
    columns = np.empty((len(low), 4), np.int32)  # of numbers that are near: seldom more than four
    kernel(numbers[many:], first[many:], n_thresholds[many:], low, high, above, near, columns)
    which = done + np.flatnonzero((near[done:] > 0) & (low[done:] < high[done:]))
    few = near[which] <= columns.shape[1]
    times = near[which[few]]
    yield repeated(which[few], times), columns[repeated(which[few], times), places_in(times)]
    more, row_of = which[~few], owners(n_thresholds)
    for part in row_blocks(len(more), numbers.shape[1], numbers.size):
        some = more[part]
        yield from _by_comparing(numbers[row_of[some]], some, low[some], high[some], counts)


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


def _by_sorting(numbers, which, low, high, counts):
    """`compared` by sorting, with many thresholds for one row."""
    order = np.argsort(numbers)
    ordered = numbers[order]
    start = np.searchsorted(ordered, low, side="left")
    end = np.searchsorted(ordered, high, side="right")
    counts[:, which] = len(numbers) - end, end - start
    times = np.where(low < high, end - start, 0)
    # All numbers may be near to each of the thresholds.
    for part in row_blocks(len(which), max(1, int(times.max())), len(numbers)):
        each = times[part]
        yield repeated(which[part], each), order[repeated(start[part], each) + places_in(each)]


def _by_buckets(numbers, n_thresholds, low, high, counts):
    """`compared` by buckets, with many thresholds per row; returns the rows left to count."""
    n_rows, width = numbers.shape
    row_of, which = owners(n_thresholds), np.arange(len(low))
    n_buckets = 8 + width // 4 + min(16 * int(n_thresholds[0]), width // 2)
    bucket = _buckets(n_thresholds, low, high, n_buckets)
    buckets = bucket(numbers, np.arange(n_rows)[:, None]).ravel()
    first, last = bucket(low, row_of), bucket(high, row_of)
    size = counted(buckets, n_rows * n_buckets)
    counts[0] = (row_of + 1) * width - np.cumsum(size)[last]

    # The best threshold that each bucket is the first or the last of: assigned last, it stays.
    best = np.full(len(size), -1, np.int32)
    best[last[::-1]] = which[::-1]
    best[first[::-1]] = which[::-1]
    mixed = (best >= 0).reshape(n_rows, n_buckets)
    crowded = (mixed * size.reshape(n_rows, n_buckets)).sum(axis=1) > _CROWDED * width
    crowded[row_of[last > first + 1]] = True
    mixed[crowded] = False
    place = np.flatnonzero(mixed.ravel()[buckets])
    inside = buckets[place]
    at = best[inside]
    while len(place):  # then at the next threshold of the same bucket, and so on
        number = numbers.reshape(-1)[place]
        is_above = number > high[at]
        is_near = (number >= low[at]) & ~is_above
        counts += [counted(at[which], len(low)) for which in (is_above, is_near)]
        is_near &= (low < high)[at]
        yield at[is_near], place[is_near] % width
        at = at + 1
        more = at < len(low)
        more[more] = (first[at[more]] <= inside[more]) & (inside[more] <= last[at[more]])
        at, place, inside = at[more], place[more], inside[more]
    return np.flatnonzero(crowded)


def _buckets(n_thresholds, low, high, n_buckets):
    """A function that finds the bucket of a number in a row.

    Buckets are equally wide, with a few beyond the thresholds on both sides.
    """
    limits, first = np.finfo(low.dtype), starts_of(n_thresholds)
    ends = low[first + n_thresholds - 1], high[first]
    bottom, top = np.clip(ends, -limits.max / 4, limits.max / 4)
    # Narrower than rounding allows, they would not lie on both sides.
    least = np.maximum(4 * limits.eps * np.maximum(abs(bottom), abs(top)), limits.smallest_normal)
    width = np.maximum((top - bottom) / (n_buckets - 4), least)
    start, per_unit = bottom - 2 * width, 1 / width

    def bucket(number, row):
        with np.errstate(over="ignore"):
            found = number - start[row]
            found *= per_unit[row]
        np.clip(found, 0, n_buckets - 1, out=found)
        found = found.astype(np.int32)
        found += (n_buckets * row).astype(np.int32)
        return found.astype(np.intp)

    return bucket


@cache
def compiled_counts() -> Callable[..., None]:
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
