"""Statistics of a mean over instances."""

from __future__ import annotations

import numpy as np

from recsample._support.arrays import summed
from recsample._support.typing import Floats, Integers

# Of the limits that come without a level of the user's own choice, and as sentences say it.
LEVEL = 0.95
PERCENT = f"{100 * LEVEL:g} %"


def mean_of(values: Floats | Integers, counts: Integers | None = None) -> float:
    """The mean of the values, weighted by `counts`."""
    return float(values.mean() if counts is None else counts @ values / counts.sum())


def variance_of(values: Floats, counts: Integers | None = None) -> float:
    """Their variance, with one less than the number of instances in the denominator."""
    if counts is None:
        return float(values.var(ddof=1))
    off = values - mean_of(values, counts)
    return float(counts @ off**2 / (counts.sum() - 1))


# Limits of a mean.
#
# The values of a metric lie between two ends. Where few of them make up the spread, or none do,
# Student's limits are too narrow and reach beyond the ends: of 8 users without a hit they say 0 to
# 0. There a limit counts one more value, at its end. With random weights D, uniform over all that
# add up to 1, the upper limit is the quantile of D_1 x_1 + ... + D_n x_n + D_(n+1) end (N. Gaffke,
# "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
# variable", Mathematical Methods of Statistics 14, 2005). Of hits and misses these are the limits
# of Clopper and Pearson.

# Of so many values, with one more at an end, the spread must be at least for Student's limits.
_FEW = 20


def limits_of_mean(
    values: Floats,
    level: float,
    counts: Integers | None = None,
    ends: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """The limits of a mean over instances: Student's, or Gaffke's where few values vary.

    With `counts` each value is that of so many instances. `ends` are the lowest and the highest
    value that there can be; if they are not known, or values pass them, limits are Student's, and
    infinite where all values are alike, which tell nothing of a spread.
    """
    from scipy import special  # means and variances are asked for without it

    n = len(values) if counts is None else int(counts.sum())
    mean, std = mean_of(values, counts), np.sqrt(variance_of(values, counts))
    if ends is not None and _few_vary(values, counts, ends):
        down, up = gaffke_reach(values, *ends, level, 1.0 if counts is None else counts)
        return max(mean - down, ends[0]), min(mean + up, ends[1])
    if _alike(values):
        return -np.inf, np.inf
    reach = special.stdtrit(n - 1, (1 + level) / 2) * std / np.sqrt(n)
    low, high = float(mean - reach), float(mean + reach)
    if ends is None or not _hold(ends, values):
        return low, high
    return max(low, ends[0]), min(high, ends[1])


def _alike(values):
    """Whether values are equal up to rounding, those of each row."""
    return np.ptp(values, axis=-1) <= 1e-12 * abs(values).max(axis=-1)


def _hold(ends, values):
    """Whether all values lie between the ends, up to rounding, those of each row."""
    least, most = (abs(end) * 1e-9 for end in ends)
    return (values.min(axis=-1) >= ends[0] - least) & (values.max(axis=-1) <= ends[1] + most)


def _few_vary(values, counts, ends):
    """Whether so few values, of each row, make up the variance that Student's limits do not hold.

    Of k values that are off the mean by as much, and others that are on it, k make it up.
    """
    weights = np.ones(values.shape[-1]) if counts is None else counts
    mean = values @ weights / weights.sum()
    squares = (values - mean[..., None]) ** 2
    total, few = squares @ weights, _FEW * (squares**2 @ weights)
    room = np.maximum((ends[0] - mean) ** 2, (ends[1] - mean) ** 2)
    return _hold(ends, values) & ((total**2 <= few) | (4 * total <= room))


def students(
    rows: Floats, level: float, ends: tuple[float, float] | None
) -> tuple[Floats, Floats, Floats]:
    """The limits of the means of rows by `limits_of_mean`, and the confidence that each is above 0.

    The confidence is that of the limits, and 1/2 where one more value at the nearer end could turn
    the mean. Many rows take little more time than one.
    """
    from scipy import special

    n, mean, alike = rows.shape[1], rows.mean(axis=1), _alike(rows)
    error = np.where(alike, np.inf, rows.std(axis=1, ddof=1) / np.sqrt(n))
    reach = special.stdtrit(n - 1, (1 + level) / 2) * error
    low, high, chance = mean - reach, mean + reach, special.stdtr(n - 1, mean / error)
    if ends is not None:
        low, high = (np.where(_hold(ends, rows), np.clip(x, *ends), x) for x in (low, high))
        few = np.flatnonzero(_few_vary(rows, None, ends))
        if len(few):
            x, center = rows[few], mean[few]
            low[few] = np.maximum(center - _reach(-x, -ends[0], level), ends[0])
            high[few] = np.minimum(center + _reach(x, ends[1], level), ends[1])
            sign = np.where(center > 0, 1.0, -1.0)
            nearer = np.where(center > 0, ends[0], ends[1])
            off = -sign[:, None] * np.column_stack([x, nearer])
            chance[few] = 0.5 + sign * (0.5 - _chance_above(off))
    return low, high, chance


def gaffke_reach(
    values: Floats,
    lowest: float,
    highest: float,
    level: float = LEVEL,
    weights: Floats | Integers | float = 1.0,
) -> tuple[float, float]:
    """How far Gaffke's limits of the mean lie below and above the mean of values within a range.

    Each value is that of as many users as `weights` says.
    """
    x, place = np.unique(values, return_inverse=True)
    counts = summed(place.ravel(), np.broadcast_to(weights, values.shape), len(x))
    x, counts = x[None, counts > 0], counts[counts > 0]
    down, up = _reach(-x, -lowest, level, counts), _reach(x, highest, level, counts)
    return float(down[0]), float(up[0])


def _reach(rows, highest, level, counts=None):
    """From the mean of each row to the quantile of its random mean with a weight at the upper end.

    Each column stands for as many values as `counts` says.
    """
    counts = np.append(np.ones(rows.shape[1]) if counts is None else counts, 1.0)
    x = np.column_stack([rows, np.full(len(rows), highest)])
    start, end, n = x @ counts / counts.sum(), x.max(axis=1), counts.sum()
    room, found = end - start, np.zeros(len(x))
    vary = np.flatnonzero(end - x.min(axis=1) >= 1e-12)
    tail, z = (1 - level) / 2, (x[vary] - start[vary, None]) / room[vary, None]

    # The saddle point of a limit is a root, the limit of a saddle point a mean: that is searched.
    def limit(tilt, which):
        weights = counts / (1 - tilt[:, None] * z[which])
        return (weights * z[which]).sum(axis=1) / weights.sum(axis=1)

    def excess(tilt, which):
        share = limit(tilt, which)
        off = z[which] - share[:, None]
        return _beyond((tilt / (1 - tilt * share))[:, None] * off, counts) - tail

    which, most = np.arange(len(vary)), np.full(len(vary), 1 - 1e-12)
    inside = which[excess(most, which) < 0]
    share = np.ones(len(vary))
    share[inside] = limit(_root(excess, 1e-9, most[inside], inside), inside)
    found[vary] = share * room[vary]
    return np.maximum(0.0, found + (highest - start) / (n - 1))  # the mean is without the highest


def _chance_above(off):
    """The chance that the randomly weighted mean of a row is above 0, at most 1/2."""
    most = off.max(axis=1)
    found = np.where(off.sum(axis=1) < 0, 0.0, 0.5)
    some = np.flatnonzero((found == 0) & (most > 0))
    off, most = off[some], most[some]

    def excess(at, which):
        return (off[which] / (1 - at[:, None] * off[which])).sum(axis=1)

    at = _root(excess, 0.0, (1 - 1e-12) / most, np.arange(len(some)))
    found[some] = np.minimum(0.5, _beyond(at[:, None] * off, np.ones(off.shape[1])))
    return found


def _root(function, low, high, which):
    """Where ``function(x, which)`` is 0, for each of the rows."""
    if not len(which):
        return high
    try:
        from scipy.optimize import elementwise
    except ImportError:  # SciPy 1.14, which browsers have
        from scipy.optimize import brentq

        ends = zip(high, which[:, None])
        one = [brentq(lambda x, i: function(np.array([x]), i)[0], low, h, (i,)) for h, i in ends]
        return np.array(one)
    return elementwise.find_root(function, (np.full(len(which), low), high), args=(which,)).x


def _beyond(tilted, counts):
    """The chances above, given the values times their saddle points (Lugannani, Rice)."""
    from scipy import special

    root = np.sqrt(np.maximum(2 * (np.log1p(-tilted) @ counts), 0))
    scale = np.sqrt((tilted / (1 - tilted)) ** 2 @ counts)
    density = np.exp(-(root**2) / 2) / np.sqrt(2 * np.pi)
    near = root < 1e-4
    inverse = 1 / np.where(near, 1, scale) - 1 / np.where(near, 1, root)
    return np.where(near, 0.5, special.ndtr(-root) + density * inverse)


# Least squares with unknowns that must not be negative.


def nonnegative_least_squares(matrix: Floats, right: Floats) -> Floats:
    """The solution of ``matrix @ x = right`` over x >= 0 with the smallest squared error.

    Where the right side is met but for rounding, as the terms of many relevant items are, there is
    nothing left to decide which unknowns are 0, and the search may go round in circles. Then it is
    tried with columns of length 1, and after that with a penalty so small that it changes no digit
    that is determined.
    """
    from scipy import linalg, optimize

    n = matrix.shape[1]
    for penalty in (None, 0.0, 1e-8, 1e-7, 1e-6, 1e-5):
        rows, wanted, scale = matrix, right, 1.0
        if penalty is not None:
            scale = np.maximum(linalg.norm(matrix, axis=0), np.finfo(float).tiny)
            rows = matrix / scale
        if penalty:
            rows = np.vstack([rows, penalty * np.eye(n)])
            wanted = np.append(right, np.zeros(n))
        try:
            return optimize.nnls(rows, wanted, maxiter=30 * n)[0] / scale
        except RuntimeError:  # too many iterations
            continue
    raise RuntimeError(f"the search for a non-negative solution of {n} unknowns did not end")
