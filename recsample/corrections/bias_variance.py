"""Section 5.3 of the paper: a trade-off of bias and variance, with gamma the price of variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import positive_float
from recsample._support.errors import InputError
from recsample._support.typing import Floats
from recsample.corrections.base import LeastSquaresCorrection, reach_of
from recsample.metrics.base import Metric
from recsample.sampling.base import HasLaw


class BiasVariance(LeastSquaresCorrection):
    """The best compromise between squared bias and variance, eqs. (24) to (26).

    Minimises the mean over the prior of (E[x | r] - M(r))^2 + gamma Var[x | r]. The solution is
    accurate to about 1e-16 / gamma.

    Parameters
    ----------
    metric : Metric or str
    sampler : UniformSampling
    n_items : int
        Size n of the pool.
    gamma : float
        The price of variance, at least 1e-10; for less use `MinimalBias`. At 1 the result is the
        posterior mean of the metric, eq. (26). The paper has 0.1 for its 6,040 users and 3,500
        items. A wrong one leaves a bias that no standard error shows;
        `recsample.inference.best_gamma` suits it to the number of users.
    prior : array_like of float, shape (n_items,), optional
        Weights of the ranks, at least 0, under which every sampled rank is possible. By default
        uniform.

    Examples
    --------
    At gamma = 1, by eq. (26): (1 + 1/2 x 1/2) / (3/2) and (1/2 x 1/2 + 1/3) / (3/2).

    >>> import recsample as rs
    >>> rs.BiasVariance(rs.AP, rs.UniformSampling(m=1), n_items=3, gamma=1).values.round(4)
    array([0.8333, 0.3889])
    """

    gamma: float

    def __init__(
        self,
        metric: Metric | str,
        sampler: HasLaw,
        n_items: int,
        *,
        gamma: float,
        prior: ArrayLike | None = None,
    ) -> None:
        price = positive_float("gamma", gamma)
        if price < 1e-10:
            allowed = "must be at least 1e-10 (for less, use MinimalBias)"
            raise InputError("gamma", allowed).got(gamma)
        super().__init__(metric, sampler, n_items, prior, {"gamma": price})
        vars(self).update(name=f"BiasVariance({self.metric}, gamma={price:g})")

    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        # In the unknowns sqrt(c_s) x_s, where diag(c) is the unit matrix and the eigenvalues lie
        # between gamma and 1.
        from scipy import linalg

        scale = 1 / np.sqrt(reach_of(law, prior))
        root = np.sqrt(prior)
        scaled = root[:, None] * law  # A of eq. (23)
        scaled *= scale  # in place, which saves a copy of the law
        # With B = `scaled` the solution of eq. (25), or (26) at gamma = 1, is
        #     ((1 - gamma) B'B + gamma I)^-1 B'b = B' ((1 - gamma) B B' + gamma I)^-1 b.
        rows, columns = scaled.shape
        wide = rows < columns
        # The upper triangle, which is all that is read; NumPy in a browser takes ten times as long.
        matrix = linalg.blas.dsyrk(1 - self.gamma, scaled.T, trans=wide)
        matrix[np.diag_indices_from(matrix)] += self.gamma
        exact = root * target
        if wide:
            return scale * (linalg.solve(matrix, exact, assume_a="pos") @ scaled)
        return scale * linalg.solve(matrix, exact @ scaled, assume_a="pos")
