"""Numbers in rows against thresholds: how many are above, how many are near, and which those are.

A row has thresholds of its own, best first, each with a lower and an upper bound. A number is above
a threshold where it is higher than the upper bound, and near where it is neither above nor below.
The thresholds of all rows are one after the other, and rows with more of them come first.

Where they are few, every number is compared with every bound. Where they are many, numbers and
bounds go into buckets first, by a function that never decreases. So the numbers of a higher bucket
are above and those of a lower one below, and only those of the same are compared.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recsample._compiled import compiled_counts
from recsample._indexing import counted, owners, places_in, repeated, row_blocks, starts_of
from recsample._typing import Integers

# From this many thresholds on, buckets are faster than comparing with each. Of their rows so many
# numbers at a time, which stay in the cache with what is made of them.
_MANY, _BLOCK = 12, 2**16
# Where more than this part of a row is in the bucket of a threshold, comparing all is as fast.
_CROWDED = 1 / 64

# Comparisons from which compiled code saves more time than it takes to load, and to load Numba.
_WORTH_LOADING, _WORTH_LOADING_NUMBA = 2**24, 2**31

Note = Callable[[Integers, Integers], None]


def comparison(n_comparisons: int) -> Callable[..., tuple[Integers, Integers]]:
    """`compared` or `compared_by`, compiled if that is worth it here."""
    worth = _WORTH_LOADING if "numba" in sys.modules else _WORTH_LOADING_NUMBA
    if n_comparisons >= worth and _compiles():
        return partial(compared_by, compiled_counts())
    return compared


def _compiles():
    """Whether Numba is there, and not told to leave it to Python, number by number."""
    return find_spec("numba") and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def compared(
    numbers: NDArray[Any], n_thresholds: Integers, low: NDArray[Any], high: NDArray[Any], note: Note
) -> tuple[Integers, Integers]:
    """How many numbers are above and how many near each threshold of their row.

    Which ones are near is said to `note`, as numbers of thresholds and columns, if the bounds
    differ.
    """
    first, counts = starts_of(n_thresholds), np.zeros((2, len(low)), np.int64)
    for k in range(n_thresholds.max(initial=0)):
        n_rows = int(np.count_nonzero(n_thresholds > k))
        which = first[:n_rows] + k
        counts[:, which] = _by_comparing(numbers[:n_rows], low, high, which, note)
    return counts[0], counts[1]


def compared_by(kernel, numbers, n_thresholds, low, high, note):
    """`compared`, by a compiled kernel."""
    above, near = np.zeros((2, len(low)), np.int64)
    columns = np.empty((len(low), 4), np.int32)  # of those that are near: seldom there are more
    kernel(numbers, starts_of(n_thresholds), n_thresholds, low, high, above, near, columns)
    which = np.flatnonzero((near > 0) & (low < high))
    n_near = near[which]
    few = n_near <= columns.shape[1]
    times = n_near[few]
    note(repeated(which[few], times), columns[repeated(which[few], times), places_in(times)])
    more, row_of = which[~few], owners(n_thresholds)
    for part in row_blocks(len(more), numbers.shape[1], numbers.size):
        _by_comparing(numbers[row_of[more[part]]], low, high, more[part], note)
    return above, near


def _by_comparing(numbers, low, high, which, note):
    """Counts with one threshold for each row."""
    low, high = low[which], high[which]
    above = _bits(np.greater, numbers, high)
    near = _bits(np.greater_equal, numbers, low) ^ above
    n_above, n_near = (np.bitwise_count(bits).sum(axis=1) for bits in (above, near))
    some = np.flatnonzero((n_near > 0) & (low < high))
    row, word = np.nonzero(near[some])
    words = near[some[row], word]
    each, column = np.nonzero(np.unpackbits(words[:, None].view(np.uint8), axis=1))
    note(which[some[row[each]]], 64 * word[each] + column)
    return n_above, n_near


def _bits(comparison, numbers, bounds):
    """Each row compared with its bound, in a bit for each number, as whole words."""
    n_rows, width = numbers.shape
    found = np.empty((n_rows, -(-width // 64) * 64), bool)
    found[:, width:] = False
    with np.errstate():
        # A larger buffer holds more than a row, and is filled with the bound for each number.
        np.setbufsize(256)
        comparison(numbers, bounds[:, None], out=found[:, :width])
    return np.packbits(found.reshape(-1)).view(np.uint64).reshape(n_rows, -1)


def _by_buckets(numbers, n_thresholds, low, high, which, note):
    """Counts with many thresholds for each row."""
    n_rows, width = numbers.shape
    row_of, n_buckets = owners(n_thresholds), 8 + width // 4
    lowest, scale = _scale(n_thresholds, low, high, n_buckets)

    def bucket(x, row):
        with np.errstate(over="ignore"):
            place = x - lowest[row]
            place *= scale[row]
        np.clip(place, 0, n_buckets - 1, out=place)
        place = place.astype(np.int32)
        place += (n_buckets * row).astype(np.int32)
        return place.astype(np.intp)

    places = bucket(numbers, np.arange(n_rows)[:, None]).ravel()
    first, last = bucket(low, row_of), bucket(high, row_of)
    size = counted(places, n_rows * n_buckets)
    up_to = np.cumsum(size)
    above, near = (row_of + 1) * width - up_to[last], np.zeros(len(low), np.int64)
    n_buckets_of = last - first + 1
    owner = np.full(len(size), -1, np.int32)
    owner[(repeated(first, n_buckets_of) + places_in(n_buckets_of))[::-1]] = owners(n_buckets_of)[
        ::-1
    ]
    place = np.flatnonzero((owner >= 0)[places])
    of_place = places[place]
    at = owner[of_place]
    while len(place):
        number = numbers.reshape(-1)[place]
        higher = number > high[at]
        is_near = (number >= low[at]) & ~higher
        above += counted(at[higher], len(low))
        near += counted(at[is_near], len(low))
        note(which[at[is_near]], place[is_near] - row_of[at[is_near]] * width)
        at = at + 1
        more = np.flatnonzero(
            (at < len(low)) & (first.take(at, mode="clip") <= of_place)
            & (of_place <= last.take(at, mode="clip"))
        )
        at, place, of_place = at[more], place[more], of_place[more]
    return above, near


def _scale(n_thresholds, low, high, n_buckets):
    """For each row the number where buckets begin, and how many of them there are to 1.

    A few are left on both sides of the thresholds. They are not narrower than rounding allows.
    """
    limits, first = np.finfo(low.dtype), starts_of(n_thresholds)
    bottom = np.maximum(low[first + n_thresholds - 1], -limits.max / 4)
    top = np.minimum(high[first], limits.max / 4)
    least = np.maximum(4 * limits.eps * np.maximum(abs(bottom), abs(top)), limits.smallest_normal)
    step = np.maximum((top - bottom) / (n_buckets - 4), least)
    return bottom - 2 * step, 1 / step
