"""What is compiled, where Numba is installed: the same counts as NumPy's, with fewer passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from recsample._extras import extra


@cache
def compiled_counts() -> Callable[..., None]:
    """Counts as `compared` of `recsample._thresholds` does, compiled.

    Into `above` and `near`, and the columns of the first that are near into the rows of `columns`.
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
    except RuntimeError:  # nowhere to keep it
        return numba.njit(nogil=True)(counts)
