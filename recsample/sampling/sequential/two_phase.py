"""Two phases: draw a few items for all instances, and go on to exactness for some of them only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recsample._support.arrays import row_blocks
from recsample._support.checks import finite_numbers, generator, positive_int, shown
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.sampling.base import Design, Observed, check_observed, column_of
from recsample.sampling.laws import check_drawable, count_pmf, log_missed
from recsample.sampling.sequential import positions, stopping
from recsample.sampling.sequential.scanning import Scan, check_new


@dataclass(frozen=True)
class TwoPhase(Design):
    """Draw `m0` irrelevant items, then go on to exactness for some of the open instances only.

    Both phases stop when `k` items outrank the best relevant item: it is beyond rank k then, and a
    metric with a cut-off up to k is 0. Where s < k do after `m0` items, the instance is finished
    with the probability pi(s), as in `EarlyStopping`, and its metric M counts as M / pi(s);
    otherwise it counts as 0. This is the estimate of Horvitz and Thompson [1]_: its mean is M, its
    variance M^2 (E[1 / pi(s)] - 1), and what the order of ties adds; `variance` is for one relevant
    item per instance.

    The assumption: the items are met in a uniformly random order, and pi is fixed beforehand as a
    function of s alone. Pools hold at least `m0` irrelevant items, and a `Scan` is a new one.

    What is observed: "rank" for each relevant item, as by `EarlyStopping`, and "weight" for each
    instance, 1 / pi(s) where it was finished, 1 where it was decided in the first phase, else 0.

    Parameters
    ----------
    m0 : int
        Items in the first phase.
    k : int
        At least the cut-off of the metrics.
    probability : float or sequence of float, shape (k,)
        The pi(s) for s = 0, ..., k - 1, above 0 and at most 1; one number for all s.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> sampler = rs.TwoPhase(100, k=10, probability=0.5)
    >>> sampler.estimate(rs.Recall @ 10, ranks, rng=1)
    array([0., 2., 0., 0., 0.])
    >>> sampler.draw(ranks, rng=1)["weight"]
    array([2., 2., 2., 1., 1.])
    >>> sampler.variance(rs.Recall @ 10, ranks)
    array([0., 1., 0., 0., 0.])
    >>> sampler.cost(ranks).round(1)
    array([ 285.8, 5049.5,  115.6,   18.7,   64.4])

    References
    ----------
    .. [1] D. Horvitz, D. Thompson, "A Generalization of Sampling Without Replacement From a Finite
       Universe", Journal of the American Statistical Association 47(260), 1952.
    """

    m0: int
    k: int
    probability: float | Sequence[float] | Floats

    def __post_init__(self) -> None:
        vars(self).update(m0=positive_int("m0", self.m0), k=positive_int("k", self.k))
        chances = finite_numbers("probability", self.probability)
        if chances.shape not in ((), (self.k,)):
            raise ValueError(
                f"probability must be one number or one for each s = 0, ..., k - 1, shape "
                f"({self.k},), got shape {chances.shape}"
            )
        if not ((chances > 0) & (chances <= 1)).all():
            raise ValueError(
                f"probability must be above 0 and at most 1, got {shown(self.probability)}"
            )
        given = chances.tolist()
        vars(self).update(probability=tuple(given) if chances.ndim else given)

    @property
    def _chances(self):
        return np.broadcast_to(np.asarray(self.probability, float), (self.k,))

    def draw(self, ranks: Ranks, rng: Rng) -> Observed:
        pool = positions.check_pool(check_ranks(ranks), self.m0)
        rng = generator(rng)
        ordered = ranks.break_ties("random", rng)
        above = stopping.best_rank(ordered) - 1
        check_drawable(pool)
        count = rng.hypergeometric(above, pool - above, self.m0)
        weight = self._weight(count, rng.random(len(pool)))
        return stopping.known_up_to(self, ordered, self.k, weight=weight)

    def scan(self, scan: Scan, rng: Rng = None) -> Observed:
        rng = generator(rng)
        positions.check_pool(check_new(scan), self.m0)
        scan.advance(self.m0, self.k)
        weight = self._weight(stopping.best_rank(scan.ranks) - 1, rng.random(len(scan.scored)))
        scan.advance(np.where(weight > 0, scan.n_irrelevant, 0), self.k)
        return stopping.known_up_to(self, scan.ranks, self.k, weight=weight)

    def of(self, metric: Metric | str, observed: Observed) -> Floats:
        metric = stopping.within(metric, self.k)
        weight = column_of(check_observed(observed, self), "weight", (len(observed),))
        return weight * metric(stopping.known_ranks(observed))

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        metric = stopping.within(metric, self.k)
        positions.check_pool(check_ranks(ranks), self.m0)
        return metric(ranks)

    def variance(self, metric: Metric | str, ranks: Ranks) -> Floats:
        positions.check_pool(check_ranks(ranks), self.m0)

        def mean_inverse(above, pool):
            return self._law_below_k(above, pool) @ (1 / self._chances)

        return stopping.variance_of_weighted(metric, self.k, ranks, mean_inverse)

    def cost(self, ranks: Ranks) -> Floats:
        positions.check_pool(check_ranks(ranks), self.m0)
        cases = positions.cases_of(ranks, best_only=True)
        cost = positions.cost_until(self.k, cases.above, cases.ties, cases.pool)
        cost -= positions.mean_over_ties(self._saved, cases, max(64, self.k))
        return positions.per_instance(cases, cost, len(ranks))

    def _saved(self, above, pool):
        """How many items fewer are drawn on average than with pi(s) = 1."""
        rest, saved = pool - self.m0, np.zeros(len(above))
        ways = np.zeros(len(above))  # log of C(m, s) a (a - 1) ... / N / (N - 1) ...
        for s, chance in enumerate(self._chances[: self.m0 + 1]):
            # Until the (k - s)-th of a - s items in a random order of the rest, or to its end.
            to_go = (self.k - s) * ((rest + 1) / np.maximum(above - s + 1, 1))
            to_go = np.where(above < self.k, rest, to_go)
            # P(s above among the first m0): s of them found, and no other.
            others = np.maximum(above - s, 0.0)
            found = np.exp(ways + log_missed(others, self.m0 - s, pool - s))
            saved += (1 - chance) * to_go * found
            with np.errstate(divide="ignore"):
                ways += np.log(others * ((self.m0 - s) / (s + 1)) / np.maximum(pool - s, 1))
        return saved

    def _weight(self, count, uniform):
        chance = np.append(self._chances, 1.0)[np.minimum(count, self.k)]
        return np.where(uniform < chance, 1 / chance, 0.0)

    def _law_below_k(self, above, pool):
        """P(s = 0), ..., P(s = k - 1) after m0 items, where fewer than k are above."""
        law = np.empty((len(above), self.k))
        for part in row_blocks(len(above), self.k):
            # The items above are as good a sample, of which so many are among the first m0.
            first = np.full_like(above[part], self.m0)
            law[part] = count_pmf(first, pool[part], self.k - 1, False, draws=above[part])
        return law
