"""Statistics of a mean over instances."""

from __future__ import annotations

from functools import partial

import numpy as np

from recsample._support.arrays import counted, different_rows, row_blocks, summed
from recsample._support.typing import Floats, Integers

# Of the limits that come without a level of the user's own choice, and as sentences say it.
LEVEL = 0.95
PERCENT = f"{100 * LEVEL:g} %"


def mean_of(values: Floats | Integers, counts: Integers | None = None) -> float:
    """The mean of the values, weighted by `counts`."""
    return float(values.mean() if counts is None else counts @ values / counts.sum())


# Limits of a mean.
#
# The values of a metric lie between two ends. Student's limits do not use them: of 8 users without
# a hit they say 0 to 0, and where few users make up most of a mean they are too narrow. Gaffke's
# count one more value, at its end. With random weights D, uniform over all that add up to 1, the
# upper limit is the quantile of D_1 x_1 + ... + D_n x_n + D_(n+1) end (N. Gaffke, "Three test
# statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable",
# Mathematical Methods of Statistics 14, 2005). Of hits and misses these are the limits of Clopper
# and Pearson; that they hold for all other values is conjectured, and was tested.

# More values than this are grouped.
_GROUPS = 128
# Tilts are between 0 and 1. By what is found of them limits are off by this share of their width.
_LEAST_TILT, _LARGEST_TILT, _ACCURACY = 1e-9, 1 - 1e-12, 1e-8
_STEPS = 60
# Limits by groups are found to this power of a grid of so many numbers.
_ZOOMS, _TRIED = 4, 33
# To be divided by, where there is no spread.
_TINY = 1e-300


def limits_of_mean(
    values: Floats,
    level: float,
    counts: Integers | None = None,
    ends: tuple[float, float] | None = None,
    groups: Integers | None = None,
) -> tuple[float, float]:
    """The limits of a mean over instances, as `limits_of_means` of one row."""
    (low,), (high,), _ = limits_of_means(values[None], level, ends, counts, groups)
    return float(low), float(high)


def limits_of_means(
    rows: Floats,
    level: float,
    ends: tuple[float, float] | None,
    counts: Integers | None = None,
    groups: Integers | None = None,
) -> tuple[Floats, Floats, Floats]:
    """The limits of the means of rows, and the confidence that each mean is above 0.

    `ends` are the lowest and the highest value that there can be, and limits are Gaffke's. If they
    are not known, or values of a row pass them, its limits are Student's, and infinite where all
    values are alike, which tell nothing of a spread. With `counts` each column stands for so many
    instances. The confidence is the level at which a one-sided limit is 0; it is 1/2 where one more
    value at the nearer end could turn the mean. With `groups`, the numbers of those that instances
    belong to, whole groups are what is independent; no other is taken to be larger than these.
    """
    weights = np.ones(rows.shape[1]) if counts is None else counts
    hold = np.zeros(len(rows), bool)
    if ends is not None:
        least, most = (abs(end) * 1e-9 for end in ends)
        hold = (rows.min(axis=1) >= ends[0] - least) & (rows.max(axis=1) <= ends[1] + most)
    low, high, chance = found = np.empty((3, len(rows)))
    if not hold.all():
        found[:, ~hold] = _students(rows[~hold], weights, level)
    if ends is not None and hold.any():
        found[:, hold] = _gaffkes(rows[hold], weights, level, *ends, groups)
    return low, high, chance


def _students(rows, weights, level):
    from scipy import special  # means and variances are asked for without it

    n = weights.sum()
    mean = rows @ weights / n
    alike = np.ptp(rows, axis=1) <= 1e-12 * abs(rows).max(axis=1)
    squares = (rows - mean[:, None]) ** 2 @ weights
    error = np.sqrt(np.where(alike, np.inf, squares) / (n - 1) / n)
    reach = special.stdtrit(n - 1, (1 + level) / 2) * error
    return mean - reach, mean + reach, special.stdtr(n - 1, mean / error)


def _gaffkes(rows, weights, level, lowest, highest, groups):
    low, below = upper_limits(-rows, -lowest, level, weights, groups)
    high, above = upper_limits(rows, highest, level, weights, groups)
    ahead = np.where(rows @ weights > 0, 1 - below, above)
    return np.maximum(-low, lowest), np.minimum(high, highest), ahead


def upper_limits(
    rows: Floats,
    ends: Floats | float,
    level: float,
    counts: Floats | Integers,
    groups: Integers | None = None,
) -> tuple[Floats, Floats]:
    """Gaffke's upper limits of the means of rows, each with a largest value that there can be.

    Also the chance, at most 1/2, that the randomly weighted mean is above 0: a one-sided limit at
    one less that chance is 0. It is 1/2 where the one more value could turn the mean.
    """
    ends = np.broadcast_to(ends, len(rows))
    if groups is not None:
        return _limits_by_groups(rows, ends, level, groups)
    mean, (x, often) = rows @ counts / counts.sum(), _grouped(rows, counts)
    parts = []
    for some in row_blocks(*x.shape):
        weighted = _Weighted(x[some], ends[some], often[some])
        parts.append((mean[some] + weighted.reach(level), weighted.chance_above_0()))
    limits, chances = np.hstack(parts)
    return limits, chances


def _limits_by_groups(rows, ends, level, groups):
    """A mean is t if that of the sums of x - t over the groups is 0: so all t are tried.

    The sum of one more group is that of the largest one, with all of its values at the end.
    """
    which = np.unique(groups, return_inverse=True)[1]
    sizes = summed(which, np.ones(len(which)), int(which.max()) + 1)
    found = []
    for row, end in zip(rows, ends):
        # Many groups are alike where rows are hits.
        different, alike = different_rows([summed(which, row, len(sizes)), sizes])
        chance = partial(_chance_of, *different, counted(alike, len(different[0])), end)
        low, high = row.mean(), end
        for _ in range(_ZOOMS):
            t = np.linspace(low, high, _TRIED)
            inside = int(np.count_nonzero(chance(t) > (1 - level) / 2))
            low, high = t[max(inside - 1, 0)], t[min(inside, _TRIED - 1)]
        found.append((high, chance(np.zeros(1))[0]))
    limits, chances = np.transpose(found)
    return limits, chances


def _chance_of(sums, sizes, often, end, t):
    """The chance that the sums over groups of values less t have a weighted mean above 0."""
    each = sums - np.outer(t, sizes)
    counts = np.broadcast_to(often, each.shape)
    return _Weighted(each, sizes.max() * (end - t), counts).chance_above_0()


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
    x, counts = _grouped(values[None], np.broadcast_to(weights, values.shape))
    down, up = _Weighted(-x, -lowest, counts), _Weighted(x, highest, counts)
    return float(down.reach(level)[0]), float(up.reach(level)[0])


def _grouped(rows, weights):
    """Fewer values of each row, with how many instances each stands for.

    A value is shared among its two neighbours on a grid, so that the mean stays as it is, and the
    spread becomes larger, if anything. In units of the standard deviation from the mean the steps
    of the grid widen as the distance does, d (1 + z^2)^(1/2): the variance grows by at most d^2 / 2
    of itself, or 0.7 % of a million values.
    """
    if rows.shape[1] > _GROUPS and len(rows) == 1:  # so that it does not matter how they are given
        (different, which), weights = np.unique(rows, return_inverse=True), np.ravel(weights)
        rows, weights = different[None], summed(which.ravel(), weights, len(different))
    if rows.shape[1] <= _GROUPS:
        return rows, np.broadcast_to(weights, rows.shape)
    parts = [_on_grid(rows[some], weights) for some in row_blocks(*rows.shape)]
    x, counts = map(np.concatenate, zip(*parts))
    return x, counts


def _on_grid(rows, weights):
    mean = (rows @ weights / weights.sum())[:, None]
    spread = np.sqrt((rows - mean) ** 2 @ weights / weights.sum())[:, None] + _TINY
    ends = np.stack([rows.min(axis=1), rows.max(axis=1)], axis=1)
    first, last = np.arcsinh((ends - mean) / spread).T[:, :, None]
    step = (last - first) / (_GROUPS - 1) + _TINY
    grid = np.clip(mean + spread * np.sinh(first + step * np.arange(_GROUPS)), *ends.T[:, :, None])
    place = ((np.arcsinh((rows - mean) / spread) - first) / step).astype(np.intp)
    place = np.clip(place, 0, _GROUPS - 2) + _GROUPS * np.arange(len(rows))[:, None]
    wide = np.diff(grid, append=np.inf).ravel()
    above = np.clip((rows - grid.ravel()[place]) / (wide[place] + _TINY), 0, 1) * weights
    each = np.broadcast_to(weights, rows.shape)
    both = [summed(place.ravel(), one.ravel(), grid.size) for one in (each, above)]
    in_all, in_next = np.reshape(both, (2, *grid.shape))
    return grid, in_all - in_next + np.roll(in_next, 1, axis=1)


class _Weighted:
    """The randomly weighted means of rows with one more value at an end.

    The chance to be above a mean is approximated at its saddle point (O. E. Barndorff-Nielsen,
    1986). To find that is a search, but a saddle point determines the mean. So what is searched is
    the saddle point, here `tilt`, as a share of its largest value.
    """

    def __init__(self, rows, end, counts):
        one = np.ones((len(rows), 1))
        x, self.counts = np.hstack([rows, one * np.reshape(end, (-1, 1))]), np.hstack([counts, one])
        self.n, self.end = self.counts.sum(axis=1), end
        self.start = (self.counts * x).sum(axis=1) / self.n
        self.room = x.max(axis=1) - self.start
        self.varies = self.room > 1e-12 * abs(x).max(axis=1)
        # From 0 at the mean to 1 at the largest value.
        self.z = (x - self.start[:, None]) / np.where(self.varies, self.room, 1)[:, None]
        self.square = np.maximum((self.counts * self.z**2).sum(axis=1), _TINY)

    def reach(self, level):
        """From the mean of each row to its upper limit at a two-sided level."""
        from scipy import special

        wanted, which = special.ndtri((1 + level) / 2), np.flatnonzero(self.varies)
        near = wanted / np.sqrt(self.square[which])
        tilt = _tilt(lambda t, i: self._at(t, i)[1] - wanted, near, which)
        share = np.zeros(len(self.z))
        share[which] = self._at(tilt, which)[0]
        # The mean is without the value at the end.
        return np.maximum(0.0, share * self.room + (self.end - self.start) / (self.n - 1))

    def chance_above_0(self):
        """The chance that the weighted mean of each row is above 0, at most 1/2."""
        from scipy import special

        found = np.where(self.start < 0, 0.0, 0.5)
        share = np.where(self.varies, -self.start / (self.room + _TINY), 0)
        unit = self.n / np.sqrt(self.square)  # the quantile is about so many times the share
        found[share * unit < 1e-4] = 0.5
        which = np.flatnonzero((share * unit >= 1e-4) & (share < 1))
        near = share[which] * unit[which] / np.sqrt(self.square[which])
        tilt = _tilt(lambda t, i: (self._at(t, i)[0] - share[i]) * unit[i], near, which)
        found[which] = np.minimum(0.5, special.ndtr(-self._at(tilt, which)[1]))
        return found

    def _at(self, tilt, which):
        """The means, as shares of the room, and the normal quantiles of the chances to be below."""
        counts, n, z = self.counts[which], self.n[which], self.z[which]
        lost = -tilt[:, None] * z
        more = -(counts * lost / (1 + lost)).sum(axis=1) / n  # than 1, of 1 / (1 + lost)
        square = 2 * (n * np.log1p(more) + (counts * np.log1p(lost)).sum(axis=1))
        root = np.sqrt(np.maximum(square, 1e-8))  # the rest is rounding
        scale = np.sqrt((counts * (1 / (1 + lost) / (1 + more)[:, None] - 1) ** 2).sum(axis=1))
        skew = np.where(root > 1e-4, np.log(np.maximum(scale, 1e-9) / root) / root, 0)
        return more / (1 + more) / tilt, root + skew


def _tilt(function, near, which):
    """Where a rising function(tilt, which) is 0, for each of the rows; an end if it is nowhere."""
    low, high = np.clip([near / 2, 2 * near], _LEAST_TILT, _LARGEST_TILT)
    low = np.where(function(low, which) < 0, low, _LEAST_TILT)
    high = np.where(function(high, which) > 0, high, _LARGEST_TILT)
    at_low, at_high = function(low, which), function(high, which)
    found, inside = np.where(at_low < 0, high, low), (at_low < 0) & (at_high > 0)
    low, high, at_low, at_high, which = (x[inside] for x in (low, high, at_low, at_high, which))
    best, off, was_low = low, -at_low, None
    for step in range(_STEPS):  # false positions (Illinois), and bisections
        share = 0.5 if step % 6 == 1 else at_low / (at_low - at_high)
        tilt = low + share * (high - low)
        at = function(tilt, which)
        best, off = np.where(abs(at) < off, tilt, best), np.minimum(off, abs(at))
        if (np.minimum(off, high / low - 1) < _ACCURACY).all():
            break
        is_low = at < 0
        # An end that stays again counts half, so that it does not stay for good.
        less = np.where(is_low == was_low, 0.5, 1)
        low, high = np.where(is_low, tilt, low), np.where(is_low, high, tilt)
        at_low, at_high = np.where(is_low, at, at_low * less), np.where(is_low, at_high * less, at)
        was_low = is_low
    found[inside] = best
    return found


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
            found = optimize.nnls(rows, wanted, maxiter=30 * n)[0]
        except (RuntimeError, linalg.LinAlgError):  # too many iterations, or in SciPy 1.14
            continue
        # At the solution no change of an unknown lowers the error. SciPy 1.15 may end before.
        slope = rows.T @ (wanted - rows @ found)
        flat = 1e-6 * linalg.norm(rows, axis=0) * linalg.norm(wanted)
        if (np.where(found > 0, abs(slope), slope) > flat).any():
            other = optimize.lsq_linear(rows, wanted, (0, np.inf), method="bvls", tol=1e-15).x
            errors = [linalg.norm(rows @ one - wanted) for one in (found, other)]
            found = found if errors[0] <= errors[1] else np.maximum(other, 0)
        return found / scale
    raise RuntimeError(f"the search for a non-negative solution of {n} unknowns did not end")
