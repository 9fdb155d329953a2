"""End of section 5.2: the least bias among corrections that never reward a worse sampled rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import true_or_false
from recsample._support.numerics import nonnegative_least_squares
from recsample._support.typing import Floats
from recsample.corrections.base import LeastSquaresCorrection, reach_of
from recsample.metrics.base import Metric
from recsample.sampling.base import HasLaw


class ConstrainedLeastSquares(LeastSquaresCorrection):
    """The least biased correction that never rewards a worse sampled rank (CLS in the paper).

    Minimises the mean over the prior of (E[x | r] - M(r))^2, eq. (21), subject to
    x_1 >= x_2 >= ... >= x_(m+1) (reversed for a metric where lower is better), and to x >= 0 if
    `nonnegative`.

    In the decrements of x this is a non-negative least-squares problem, whose columns are
    distribution functions of the sampled rank: a monotone correction is a mixture of sampled
    Recall@j curves. The active-set method of Lawson and Hanson [1]_ ends at the optimum.

    Where the metric can be met without bias, as AUC can, the optimum is flat: E[x | r] is right to
    rounding, x itself to one or two digits. With a prior on fewer than m + 1 ranks there may be
    several optima, of which one is returned.

    Parameters
    ----------
    metric : Metric or str
    sampler : UniformSampling
    n_items : int
    nonnegative : bool, optional
        Require x >= 0 too, as the published numbers of Table 3 do.
    prior : array_like of float, shape (n_items,), optional
        As of `BiasVariance`.

    Examples
    --------
    With m = 1 it is the least-squares line through (1, 1), (2, 1/2), (3, 1/3), at ranks 1 and 3:

    >>> import recsample as rs
    >>> rs.ConstrainedLeastSquares(rs.AP, rs.UniformSampling(m=1), n_items=3).values.round(4)
    array([0.9444, 0.2778])

    References
    ----------
    .. [1] C. Lawson, R. Hanson, "Solving Least Squares Problems", Prentice-Hall 1974, chapter 23.
    """

    nonnegative: bool

    def __init__(
        self,
        metric: Metric | str,
        sampler: HasLaw,
        n_items: int,
        *,
        nonnegative: bool = True,
        prior: ArrayLike | None = None,
    ) -> None:
        nonnegative = true_or_false("nonnegative", nonnegative)
        super().__init__(metric, sampler, n_items, prior, {"nonnegative": nonnegative})
        if not nonnegative:
            vars(self).update(name=f"ConstrainedLeastSquares({self.metric}, nonnegative=False)")

    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        from scipy import linalg

        reach_of(law, prior)  # refuses a prior that does not determine all values
        root = np.sqrt(prior)
        # A and b of eq. (23); orthogonal rotations leave |A x - b|, eq. (21), as it is.
        reduced = linalg.qr(np.column_stack([root[:, None] * law, root * target]), mode="r")[0]
        matrix, right = reduced[: law.shape[1], :-1], reduced[: law.shape[1], -1]
        # For a metric that falls with the rank: x_s = d_s + d_(s+1) + ... + d_(m+1), all but the
        # last d at least 0. One that rises is the mirror image.
        order = slice(None, None, 1 if self.higher_is_better else -1)
        steps = np.cumsum(matrix[:, order], axis=1)
        decrements = self._nonnegative_solution(steps, right)
        return np.cumsum(decrements[::-1])[::-1][order]

    def _nonnegative_solution(self, steps, right):
        from scipy import linalg

        if self.nonnegative:
            return nonnegative_least_squares(steps, right)
        # The last unknown is free: project it out, solve for the others, and put it back.
        level = steps[:, -1] / linalg.norm(steps[:, -1])
        others = steps[:, :-1] - np.outer(level, level @ steps[:, :-1])
        decrements = nonnegative_least_squares(others, right - level * (level @ right))
        free = level @ (right - steps[:, :-1] @ decrements) / linalg.norm(steps[:, -1])
        return np.append(decrements, free)
