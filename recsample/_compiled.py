"""What is compiled, where Numba is installed: the same counts as NumPy's, with fewer passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from recsample._extras import extra


@cache
def compiled_passes() -> Callable[..., None]:
    """`passes` of `recsample._ranking`, compiled, on all cores."""
    numba = extra("numba")

    def passes(tile, first, n_thresholds, low, high, above, below):
        for row in numba.prange(len(first)):
            scores = tile[row]
            for which in range(first[row], first[row] + n_thresholds[row]):
                lower, upper = low[which], high[which]
                # Counters of 32 bits: twice as many fit a register.
                n_above = n_below = numba.int32(0)
                for j in range(len(scores)):
                    n_above = numba.int32(n_above + numba.int32(scores[j] > upper))
                    n_below = numba.int32(n_below + numba.int32(scores[j] < lower))
                above[which], below[which] = n_above, n_below

    try:
        return numba.njit(parallel=True, cache=True)(passes)
    except RuntimeError:  # nowhere to keep it
        return numba.njit(parallel=True)(passes)
