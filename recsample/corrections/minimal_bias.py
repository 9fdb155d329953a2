"""Section 5.2 of the paper: the corrected metric with the least squared bias."""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import check_memory
from recsample._support.typing import Floats
from recsample.corrections.base import LeastSquaresCorrection, reach_of
from recsample.metrics.base import Metric
from recsample.sampling import large_pools
from recsample.sampling.base import HasLaw


class RegularisationPath(NamedTuple):
    """Bias and variance of solutions along more and more directions of the least-squares problem.

    Entry k - 1 of each array belongs to the k-th direction, from the best determined one on, or to
    the solution with the first k of them.

    Parameters
    ----------
    singular_value : ndarray of float, shape (directions,)
        How well the direction is determined, at most 1.
    squared_bias, mean_variance : ndarray of float, shape (directions,)
        Means over the prior of the squared bias and the variance of the solution.
    largest_value : ndarray of float, shape (directions,)
        The largest absolute value in the solution.

    Examples
    --------
    >>> import recsample as rs
    >>> path = rs.MinimalBias(rs.AP, rs.UniformSampling(m=4), n_items=20).path
    >>> bool((path.squared_bias[1:] <= path.squared_bias[:-1]).all())
    True
    """

    singular_value: Floats
    squared_bias: Floats
    mean_variance: Floats
    largest_value: Floats


class MinimalBias(LeastSquaresCorrection):
    """The least biased correction that double precision can represent, eq. (21).

    The values of the exact minimiser, eq. (22), alternate in sign and grow like the inverse of the
    smallest singular value of the problem (10^27 at m = 100), too large for floating point. So the
    problem is solved along the directions with a singular value of at least 1.5e-8 of the largest,
    the square root of the machine precision; for small m these are all. The difference of
    `squared_bias` and `optimal_squared_bias` is the bias that the others would remove.

    Even so the values reach 10^5 at m = 100, and with them the standard deviation of the estimate.
    For estimates use `BiasVariance`.

    Parameters
    ----------
    metric : Metric or str
    sampler : UniformSampling
    n_items : int
    prior : array_like of float, shape (n_items,), optional
        As of `BiasVariance`.

    Examples
    --------
    With m = 1 it is the least-squares line through (1, 1), (2, 1/2), (3, 1/3), at ranks 1 and 3:

    >>> import recsample as rs
    >>> best = rs.MinimalBias(rs.AP, rs.UniformSampling(m=1), n_items=3)
    >>> best.values.round(4), best.directions
    (array([0.9444, 0.2778]), 2)
    """

    def __init__(
        self, metric: Metric | str, sampler: HasLaw, n_items: int, *, prior: ArrayLike | None = None
    ) -> None:
        super().__init__(metric, sampler, n_items, prior)

    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        return self._along_directions(law, target, prior)[0]

    @cached_property
    def path(self) -> RegularisationPath:
        """Bias, variance and size of the solution with 1, 2, ..., `directions` directions.

        Examples
        --------
        First the constant 11/18, the mean of 1, 1/2 and 1/3, then the line of the example above:

        >>> import recsample as rs
        >>> path = rs.MinimalBias(rs.AP, rs.UniformSampling(m=1), n_items=3).path
        >>> path.largest_value.round(4), path.squared_bias.round(4)
        (array([0.6111, 0.9444]), array([0.0802, 0.0062]))
        """
        law, rows = self._rows()
        path = self._along_directions(law, rows.target, rows.weight)[1]
        return path._replace(squared_bias=path.squared_bias + rows.missed)

    def _along_directions(self, law, target, prior):
        """The solution along the well determined directions, and the path to it."""

        from scipy import linalg

        # A of eq. (23) in the unknowns y_s = sqrt(c_s) x_s: there the singular values lie between
        # 0 and 1, whatever the prior, and the variance term of eq. (24) becomes gamma |y|^2.
        root, scale = np.sqrt(prior), np.sqrt(reach_of(law, prior))
        white, right = root[:, None] * law / scale, root * target
        # An orthogonal reduction to m + 2 rows first, so that the decomposition is small.
        reduced = linalg.qr(np.column_stack([white, right]), mode="r")[0]
        left, singular, directions = linalg.svd(reduced[:, :-1], full_matrices=False)
        well = singular >= np.sqrt(np.finfo(float).eps)
        singular, directions = singular[well], directions[well]
        along = left.T[well] @ reduced[:, -1]
        # Eq. (22), direction by direction.
        solutions = np.cumsum((along / singular)[:, None] * directions, axis=0) / scale
        missed = right @ right - np.cumsum(along**2)
        path = RegularisationPath(
            singular,
            np.maximum(missed, 0.0),
            np.cumsum(along**2 * (1 / singular**2 - 1)),
            np.abs(solutions).max(axis=1),
        )
        return solutions[-1], path

    @property
    def directions(self) -> int:
        """The number of directions, of m + 1, along which the problem is solved.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.MinimalBias(rs.AP, rs.UniformSampling(m=4), n_items=20).directions
        5
        """
        return len(self.path.singular_value)

    @cached_property
    def optimal_squared_bias(self) -> float:
        """The minimum of eq. (21), computed without its minimiser.

        The expectations E[x | r] are the polynomials of degree at most m in r. So the minimum is
        the distance of M from these, which orthogonal polynomials give stably.

        Examples
        --------
        The line of the example above is off by 1/18, -1/9 and 1/18:

        >>> import recsample as rs
        >>> best = rs.MinimalBias(rs.AP, rs.UniformSampling(m=1), n_items=3)
        >>> round(best.optimal_squared_bias * 162, 9)
        1.0
        """
        n_items, m = self.n_items, min(self.sampler.m, self.n_items - 1)
        exact = partial(self._exact, order=1, n_relevant=1)
        jumps = large_pools.jumps_of(self.metric, 1, 1)
        few = large_pools.compressible(self.sampler, n_items - 1) and not self._given
        if few and jumps is not None:
            belief = self._belief(1, 1)
            above, prior, target, _ = large_pools.places_of(
                n_items - 1, large_pools.polynomials(m), exact, jumps, belief
            )
        else:
            what = f"the polynomials up to degree m={m} of n_items={n_items} ranks"
            instead = "choose a smaller m, or leave out the prior"
            check_memory(8 * (m + 1) * n_items, what, instead)
            above, prior = np.arange(float(n_items)), self.prior
            target = exact(np.arange(n_items))
        root = np.sqrt(prior)
        rest = root * target
        # What is left of M when it is projected on all of them is the minimum of eq. (21).
        place = 2 * above / max(n_items - 1, 1) - 1
        for polynomial in large_pools.orthogonal_polynomials(place, root, m + 1)[0]:
            rest = rest - polynomial * (polynomial @ rest)
        return float(rest @ rest)
