"""The mixture of distributions that fits the counts of a run best.

The sampled ranks of a group of instances have the law B w, where the columns of B are the laws
under the extreme distributions of a class (all ranks the same, all distributions that are uniform
up to some rank ...), and w are weights with sum 1. So the fit of all members of the class is a
convex problem in w, with or without a tilt along the mean of a metric: to maximise

    sum over the observations of count * log(B w) + tilt @ w.

The maximum is found by the constrained Newton method for mixtures (Y. Wang, "On fast computation of
the non-parametric maximum likelihood estimate of a mixing distribution", Journal of the Royal
Statistical Society B 69(2), 2007): the logarithm is replaced by its quadratic approximation, and
that is non-negative least squares in the few columns that matter.
"""

from __future__ import annotations

import math

import numpy as np

from recsample._support.numerics import nonnegative_least_squares
from recsample._support.typing import Floats

# The EM algorithm is stopped early, before it fits the noise.
EM_ITERATIONS = 30
# The log-likelihood is found to about this much.
_GAP = 1e-3
# If rounding prevents that, to this share of the maximum.
_ROUNDING = 1e-4


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
    weights = on_few_columns(law) if start is None else start
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


def em_steps(
    counts: Floats, law: Floats, p: Floats, iterations: int = EM_ITERATIONS
) -> tuple[Floats, list[Floats]]:
    """The EM algorithm from the weights p of the rows of the law on.

    Returns the new weights, and for each iteration the vector whose product with the law is the
    factor of the weights.
    """
    share, ratios = counts / counts.sum(), []
    for _ in range(iterations):
        # Both steps in one: observed over expected shares, averaged by the law of each row.
        expected = law.T @ p
        ratios.append(np.divide(share, expected, out=np.zeros_like(share), where=share > 0))
        p = p * (law @ ratios[-1])
    return p, ratios


def on_few_columns(law: Floats) -> Floats:
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
