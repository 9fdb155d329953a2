"""Weighted popularity: metrics from popular negatives without the bias that these bring.

Popular items are drawn more often than others, and count less in return: each draw gets a weight w
whose expectation, given the draws before it, is p = a / N, the share of the candidates that outrank
the relevant item. With replacement it is that of Hansen and Hurwitz [1]_,

    w = 1[above] / (N q_j),

and without it is that of Des Raj [2]_, 1 / N of

    1[above] (1 - q_1 - ... - q_(k - 1)) / q_k + (how many of the k - 1 before are above),

the q in the order of drawing. A metric at the sampled ranks of m uniform draws is a vector
x_0, ..., x_m. The estimate is the average of x_s over all ways to count each draw with weight w as
above with "probability" w, which may exceed 1: the blossom [3]_ of the polynomial

    sum over s of C(m, s) p^s (1 - p)^(m - s) x_s

at w_1, ..., w_m. It is of degree 1 in each w, so its expectation is the polynomial at p: what
uniform sampling with replacement gives on average.

References
----------
.. [1] M. H. Hansen, W. N. Hurwitz, "On the Theory of Sampling from Finite Populations",
   Annals of Mathematical Statistics 14(4), 1943.
.. [2] D. Raj, "Some Estimators in Sampling with Varying Probabilities without
   Replacement", Journal of the American Statistical Association 51(274), 1956.
.. [3] Lyle Ramshaw, "Blossoms are Polar Forms", Computer Aided Geometric Design 6(4), 1989.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, special

from recsample._support.arrays import row_blocks
from recsample._support.checks import fits_in_memory, generator, refuse_first
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.sampling.base import Design, Observed, check_observed, check_readable, column_of
from recsample.sampling.laws import count_pmf, gauss_on_points
from recsample.sampling.uniform import UniformSampling
from recsample.sampling.weighted import WeightedDraws, count_in, random_place


class ImportanceSampling(WeightedDraws, Design):
    """Draw m candidates per instance with given weights, and weight what is drawn inversely.

    Items are drawn as by `PopularitySampling`. The estimate has the expectation that the metric has
    under ``UniformSampling(m, replace=True)``, whatever the weights are. For AUC that is the exact
    metric, and the estimate is 1 minus the mean of the weights of the draws. A correction made for
    uniform sampling keeps its expectation too. The price is variance: a rare item above counts
    much, and where popularities differ as in MovieLens, AP's spread grows by a large factor.

    A tied item counts half for linear metrics, and for others as far as a random place among the
    ties says.

    All methods take `RankedItems`, as those of `PopularitySampling`. An item that outranks the
    relevant one, or ties with it, must have a weight above 0, or it would never be seen. The cost
    is m for each instance. `variance` is exact, for draws with replacement only: without, no closed
    form is known, and a `ValueError` says so.

    What is observed: "above" and "tied", the weights of the draws, shape (instances, m), as far as
    the drawn items outrank the relevant one or tie with it; and "place", the share of its ties that
    stand above the relevant item.

    Parameters
    ----------
    m : int
    weights : array_like of float, shape (items,)
    replace : bool, optional
        These, and what is refused, as of `PopularitySampling`.

    Examples
    --------
    The exact AUC is 2/3. Half of the time the item above is drawn, and the estimate is
    1 - 1 / (3 * 0.5) = 1/3; otherwise it is 1. The mean of the two is 2/3 again.

    >>> import recsample as rs
    >>> ranked = rs.ranked_items([[.9, .1, .2, .5]] * 4, relevant=[3] * 4)
    >>> design = rs.ImportanceSampling(1, [2, 1, 1, 7])
    >>> design.estimate(rs.AUC, ranked, rng=1).round(3)
    array([1.   , 0.333, 0.333, 1.   ])
    """

    def draw(self, ranks: Ranks, rng: Rng) -> Observed:
        ranked, rng = self._checked(ranks), generator(rng)
        items = self.draw_items(ranked, rng)
        self._check_seen(ranked)
        above, tied = (
            self._unbiased_weights(ranked, items, count_in(which, items))
            for which in (ranked.above, ranked.tied)
        )
        place = random_place(ranked, rng)
        return Observed(self, ranked.sizes, above=above, tied=tied, place=place)

    def of(self, metric: Metric | str, observed: Observed) -> Floats:
        metric, x = self._read(metric)
        observed = check_observed(observed, self)
        shape = len(observed), self.m
        above, tied = (column_of(observed, name, shape) for name in ("above", "tied"))
        place = column_of(observed, "place", shape[:1])[:, None]
        weights = above + (0.5 if isinstance(metric.shape, Linear) else place) * tied
        estimate = np.empty(len(observed))
        for rows in row_blocks(len(observed), self.m + 1):
            # De Casteljau's algorithm with another argument in each step.
            level = np.tile(x, (rows.stop - rows.start, 1))
            for w in weights[rows].T:
                level = level[:, :-1] + w[:, None] * np.diff(level, axis=1)
            estimate[rows] = level[:, 0]
        return estimate

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        self._check_seen(self._checked(ranks))
        return self._uniform.expect(metric, ranks)

    def variance(self, metric: Metric | str, ranks: Ranks) -> Floats:
        metric, x = self._read(metric)
        if not self.replace:
            raise ValueError("replace must be True for the variance of an estimate, got False")
        ranked = self._checked(ranks)
        self._check_seen(ranked)
        fits_in_memory(
            64 * (self.m + 1) ** 2, f"the polynomials for m={self.m}", "choose a smaller m"
        )
        n_above, ties, pool = ranked.rows.above, ranked.rows.ties, ranked.n_irrelevant
        seen = self._relative > 0
        inverse = np.divide(1.0, self._relative, out=np.zeros(len(seen)), where=seen)
        scale = self._total(ranked) / pool.astype(float) ** 2
        square_above, square_tied = (
            scale * (items @ inverse) for items in (ranked.above, ranked.tied)
        )
        if isinstance(metric.shape, Linear):
            squares = square_above + square_tied / 4
            single = np.maximum(squares - ((n_above + ties / 2) / pool) ** 2, 0.0)
            return (x[-1] - x[0]) ** 2 * single / self.m
        differences = _differences(x)
        variance = np.empty(len(ranked))
        for i, (a, t, n) in enumerate(zip(n_above, ties, pool)):
            # The place among the ties is drawn once and shared by all draws.
            place, chance = gauss_on_points(t + 1, self.m + 1)
            squares = square_above[i] + (place / max(t, 1)) ** 2 * square_tied[i]
            each = zip((a + place) / n, squares)
            means, variances = np.transpose([_moments_of_estimate(differences, *p) for p in each])
            variance[i] = chance @ (variances + (means - chance @ means) ** 2)
        return variance

    def cost(self, ranks: Ranks) -> Floats:
        return np.full(len(self._checked(ranks)), float(self.m))

    @property
    def _uniform(self):
        """The sampling that the estimate has the expectation of."""
        return UniformSampling(self.m, replace=True)

    def _read(self, metric: Metric | str) -> tuple[Metric, Floats]:
        """The metric, and its values at the m + 1 sampled ranks."""
        metric = check_readable(metric, self._uniform)
        return metric, metric.of_rank(np.arange(1, self.m + 2), self.m + 1)

    def _check_seen(self, ranked):
        """Refuse items that count but are never drawn."""
        unseen = (ranked.above + ranked.tied).tocoo()
        message = (
            "weights must be above 0 for every item that outranks the relevant one or ties "
            "with it, got 0 for item {} in instance {}"
        )
        refuse_first(self._relative[unseen.col] == 0, message, unseen.col, unseen.row)

    def _unbiased_weights(self, ranked, items, counted):
        """One number per draw; of the items above, its mean given the draws before it is a / N."""
        share = self._relative[items] / self._total(ranked)[:, None]
        pool = ranked.n_irrelevant[:, None]
        if self.replace:
            return counted / share / pool
        share_before = np.cumsum(share, axis=1) - share
        counted_before = np.cumsum(counted, axis=1) - counted
        return (counted_before + counted * (1 - share_before) / share) / pool


def _differences(x):
    """Row k: the k-th differences of x, then zeros."""
    table = np.zeros((len(x), len(x)))
    for k in range(len(x)):
        table[k, : len(x) - k] = np.diff(x, n=k)
    return table


def _moments_of_estimate(differences, p, square):
    """Mean and variance of the blossom of x at m independent weights of mean p and mean square.

    As a function of degree 1 in each weight it is the sum, over all sets of k draws, of
    g_k times the product of w - p over the set, with g_k the mean of the k-th differences of x
    under B(m - k, p). These are uncorrelated, so the variance is the sum of C(m, k) Var[w]^k g_k^2.

    Rounding spoils g_k by 2^k; where C(m, k) (4 p (1 - p))^k is large, g_k^2 C(m, k)
    (p (1 - p))^k comes from the Krawtchouk polynomials instead, which spoil nothing.
    """
    m = len(differences) - 1
    k = np.arange(m + 1)
    laws = count_pmf(np.full(m + 1, p), np.ones(m + 1), m, True, draws=m - k)
    g = (laws * differences).sum(axis=1)
    variance = max(square - p**2, 0.0)
    binomial = p * (1 - p)
    log_ways = special.gammaln(m + 1) - special.gammaln(k + 1) - special.gammaln(m - k + 1)
    parts = np.exp(log_ways + special.xlogy(k, variance)) * g**2
    spoilt = log_ways + special.xlogy(k, 4 * binomial) > 0
    if spoilt.any() and binomial > 0:
        # The Krawtchouk polynomials at s = 0, ..., m: the eigenvectors of their recursion, whose
        # first row is the root of the binomial law. x has the components <x, polynomial k>.
        off_diagonal = np.sqrt(k[1:] * (m - k[1:] + 1) * binomial)
        polynomials = linalg.eigh_tridiagonal(p * (m - k) + k * (1 - p), off_diagonal)[1]
        components = polynomials @ (polynomials[0] * differences[0])
        parts[spoilt] = ((variance / binomial) ** k * components**2)[spoilt]
    return g[0], parts[1:].sum()
