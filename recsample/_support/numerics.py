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
        for i in np.flatnonzero(_few_vary(rows, None, ends)):
            low[i], high[i] = limits_of_mean(rows[i], level, ends=ends)
            sign, end = (1, ends[0]) if mean[i] > 0 else (-1, ends[1])
            chance[i] = 0.5 + sign * (0.5 - _chance_beyond(-sign * np.append(rows[i], end)))
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
    counts = np.broadcast_to(weights, values.shape)
    return _reach(-values, -lowest, level, counts), _reach(values, highest, level, counts)


def _reach(values, highest, level, counts):
    """Distance to the quantile of the randomly weighted mean, with one weight at the upper end."""
    from scipy import optimize

    x, place = np.unique(np.append(values, highest), return_inverse=True)
    counts = summed(place.ravel(), np.append(counts, 1.0), len(x))
    x, counts = x[counts > 0], counts[counts > 0]
    start, end = counts @ x / counts.sum(), x[-1]
    if end - x[0] < 1e-12:
        return 0.0
    mean = start - (highest - start) / (counts.sum() - 1)  # without the highest value
    tail, z = (1 - level) / 2, (x - start) / (end - start)

    # The saddle point of a limit is a root, the limit of a saddle point a mean: that is searched.
    def limit(tilt):
        weights = counts / (1 - tilt * z)
        return weights @ z / weights.sum()

    def excess(tilt):
        share = limit(tilt)
        return _beyond(tilt / (1 - tilt * share) * (z - share), counts) - tail

    most = 1 - 1e-12
    share = limit(optimize.brentq(excess, 1e-9, most)) if excess(most) < 0 else 1.0
    return float(max(0.0, start + share * (end - start) - mean))


def _chance_beyond(values):
    """The chance that the randomly weighted mean is above 0, at most 1/2."""
    x, counts = np.unique(values, return_counts=True)
    if counts @ x >= 0:
        return 0.5
    return float(min(0.5, _above(x, counts))) if x[-1] > 0 else 0.0


def _above(off, counts):
    """P(sum of off x E > 0), E exponential, where the expectation is below 0 (Lugannani, Rice)."""
    from scipy import optimize

    most = 1 / off[-1]
    at = optimize.brentq(lambda s: counts @ (off / (1 - s * off)), 0, most * (1 - 1e-12))
    return _beyond(at * off, counts)


def _beyond(tilted, counts):
    """The chance above, given the values times their saddle point."""
    from scipy import special

    root = np.sqrt(2 * counts @ np.log1p(-tilted))
    if root < 1e-4:
        return 0.5
    scale = np.sqrt(counts @ (tilted / (1 - tilted)) ** 2)
    density = np.exp(-(root**2) / 2) / np.sqrt(2 * np.pi)
    return special.ndtr(-root) + density * (1 / scale - 1 / root)


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
