"""The range of the mean of a metric over all mixtures that fit the counts of a run.

The sampled ranks of a group of instances have the law B w, where the columns of B are the laws
under the extreme distributions of a class (all ranks the same, all distributions that are uniform
up to some rank ...), and w are weights with sum 1. The mean of the metric is b @ w. So the fit of
all members of the class, and the extremes of the mean among those that fit nearly as well as the
best, are convex problems in w. Both maximise

    sum over the observations of count * log(B w) + tilt @ w,

the extremes with a tilt along b. The maximum is found by the constrained Newton method for mixtures
(Y. Wang, "On fast computation of the non-parametric maximum likelihood estimate of a mixing
distribution", Journal of the Royal Statistical Society B 69(2), 2007): the logarithm is replaced by
its quadratic approximation, and that is non-negative least squares in the few columns that matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recsample._support.numerics import nonnegative_least_squares
from recsample._support.typing import Floats

# The log-likelihood is found to about this much; limits are where it has fallen by some two.
_GAP = 1e-3
# If rounding prevents that, to this share of the maximum.
_ROUNDING = 1e-4


class Mixture(NamedTuple):
    """The observations of a stratum, whose law is a mixture of columns."""

    law: Floats  # shape (observations, columns): only values observed at least once
    counts: Floats  # shape (observations,)
    mean: Floats  # shape (columns,): of the contribution to the metric
    square: Floats  # shape (columns,): the mean of its square
    share: float  # of the instances


def fitted(
    law: Floats,
    counts: Floats,
    tilt: Floats | None = None,
    start: Floats | None = None,
    close: float = _GAP,
) -> Floats:
    """The weights that maximise the log-likelihood plus ``tilt @ weights``, up to `close`."""
    n = law.shape[1]
    tilt = np.zeros(n) if tilt is None else tilt - tilt.min()
    weights = _spread(law) if start is None else start
    root, most = np.sqrt(counts), tilt.max()
    expected = law @ weights
    for _ in range(500):
        slope = law.T @ (counts / expected) + tilt
        mean_slope = slope @ weights
        gap = slope.max() - mean_slope
        if gap < max(close, 1e-6 * most):
            return weights
        step = _newton(law, root, tilt, weights, expected, slope, mean_slope) - weights
        # No observation may become almost impossible in one step, which could not be undone.
        change, along = law @ step, tilt @ step
        promised, size = slope @ step, 0.99 / max(0.99, float((-change / expected).max()))
        while size > 1e-12 and (
            counts @ np.log1p(size * change / expected) + size * along < 0.1 * size * promised
        ):
            size /= 2
        if size <= 1e-12 or promised < 1e-6 * _GAP:  # rounding leaves no better point
            # The logarithm is self-concordant: so near, a maximum is no higher than is promised.
            if gap < _ROUNDING * (counts.sum() + most) or abs(promised) < _GAP:
                return weights
            break
        weights = weights + size * step
        weights[weights <= 1e-14] = 0.0
        weights /= weights.sum()
        expected = law @ weights
    raise RuntimeError(f"the fit of {n} columns to {len(counts)} counts did not converge")


def _spread(law):
    """Equal weights, on few columns if these make no observation much rarer than all columns do.

    The time of a step grows with the square of the number of columns that have weight.
    """
    n = law.shape[1]
    few = np.unique(np.linspace(0, n - 1, 2 * math.isqrt(n) + 1).round().astype(np.intp))
    if (law[:, few].mean(axis=1) <= 0.1 * law.mean(axis=1)).any():
        return np.full(n, 1.0 / n)
    weights = np.zeros(n)
    weights[few] = 1.0 / len(few)
    return weights


def _newton(law, root, tilt, weights, expected, slope, mean_slope):
    """The maximiser of the quadratic approximation in the columns that matter.

    `root` are the square roots of the counts.
    """
    # The columns in use, and the peaks of the slope: those between cannot do better.
    useful = slope > mean_slope
    useful[:-1] &= slope[:-1] >= slope[1:]
    useful[1:] &= slope[1:] >= slope[:-1]
    some = np.flatnonzero(useful | (weights > 0))
    # For weights with sum 1, subtract from every row its right side: the problem becomes to find
    # the point of a polytope that is nearest to 0, without a penalty on the sum.
    rows = np.empty((len(root) + 2, len(some)))
    np.multiply(law[:, some], (root / expected)[:, None], out=rows[:-2])
    rows[:-2] -= 2 * root[:, None]
    # The tilt, from its mean on, as one more square, flat enough to be linear near these weights.
    off = tilt[some] - tilt @ weights
    flat = 0.1 / max(np.abs(off).max(), 1e-6)
    rows[-2] = flat * off - 1 / flat
    rows[-1] = 1 / flat + root.max()
    right = np.zeros(len(rows))
    right[-1] = rows[-1, 0]
    found = nonnegative_least_squares(rows, right)
    new = np.zeros(len(weights))
    new[some] = found / found.sum()
    return new


class Point(NamedTuple):
    """A member of the class with an extreme mean among all that fit as well as it does."""

    mean: float
    distance: float  # twice the loss of log-likelihood against the best fit
    own: float  # the mean over these instances, as expected from what was observed of each
    noise: float  # and its variance
    weights: Sequence[Floats]  # of the columns of each stratum


def extremes(
    groups: Sequence[Mixture], best: Sequence[Floats], sign: int, distance: float
) -> list[Point]:
    """Points from the best fit to the one with the largest (or smallest) mean at a distance.

    Groups are independent, so one tilt along the mean is used for all, and the distances add up.
    """
    best_value = sum(_log_likelihood(g, w) for g, w in zip(groups, best))

    def point(weights):
        loss = best_value - sum(_log_likelihood(g, w) for g, w in zip(groups, weights))
        mean = sum(g.share * (g.mean @ w) for g, w in zip(groups, weights))
        own, noise = np.sum([_own(g, w) for g, w in zip(groups, weights)], axis=0)
        return Point(float(mean), float(max(0.0, 2 * loss)), float(own), float(noise), weights)

    def tilted(size, start):
        tilts = [sign * size * g.share * g.mean for g in groups]
        return [fitted(g.law, g.counts, *two) for g, *two in zip(groups, tilts, start)]

    path, weights = [point(best)], list(best)
    width = max(abs(g.share) * np.ptp(g.mean) for g in groups)
    if width == 0:
        return path
    # The root of the distance grows like the tilt, at first: this leads to the next of some four
    # steps, the last of which is at the distance or not far beyond.
    root = np.sqrt(distance)
    low, low_root, size = 0.0, 0.0, 1.0 / width
    while low_root < root and low * width < 1e4 * max(distance, 1.0):
        new = tilted(size, weights)
        reached = point(new)
        new_root, aim = np.sqrt(reached.distance), low_root + root / 4
        if new_root > low_root + root / 2 and size - low > 1e-4 * size:
            size = low + (size - low) * max((aim - low_root) / (new_root - low_root), 0.1)
            continue
        path.append(reached)
        weights, low, low_root = new, size, new_root
        size *= min(max((low_root + root / 3) / max(low_root, 0.01 * root), 1.4), 100.0)
    return path


def _own(group, weights):
    """The mean over the instances of a group given their observations, and its variance."""
    joint = group.law * weights
    given = joint / joint.sum(axis=1, keepdims=True)
    mean, square = given @ group.mean, given @ group.square
    share = group.share / group.counts.sum()
    spread = np.maximum(square - mean**2, 0.0)
    return share * (group.counts @ mean), share**2 * (group.counts @ spread)


def limit(path: Sequence[Point], sign: int, distance: float) -> float:
    """The largest (or smallest) mean within a distance: of a member, and over the instances.

    The latter differs from its expectation under a member by a random amount, for which the rest
    of the distance is used.
    """
    mean, spent, own, noise = np.transpose([point[:4] for point in path])
    roots = np.maximum.accumulate(np.sqrt(spent))
    # Mixtures of two members are in the class too.
    fine = np.linspace(0.0, min(np.sqrt(distance), roots[-1]), 33)
    mean, own, noise = (np.interp(fine, roots, y) for y in (mean, own, noise))
    over_these = sign * own + np.sqrt(np.maximum(distance - fine**2, 0.0) * noise)
    return float(sign * max((sign * mean).max(), over_these.max()))


def _log_likelihood(group, weights):
    return group.counts @ np.log(group.law @ weights)
