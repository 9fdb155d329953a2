"""Uniform sampling: the law of the sampled ranks, draws, and expectations of metrics.

A sampled evaluation ranks the relevant items of an instance among m sampled irrelevant ones. Of the
N = n - L irrelevant items, a = r - i outrank the i-th best of L relevant ones, whose rank is r, so
the number s of sampled items that do is

    binomial, s ~ B(m, a / N)                 drawing with replacement (section 4.3), or
    hypergeometric, s ~ H(N, a, m)            drawing without replacement,

and its sampled rank is s + i. The paper has one relevant item, with i = L = 1.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import checks
from recsample._support.arrays import counted, repeated, row_blocks, summed
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Rng
from recsample._support.values import cached_arrays
from recsample.metrics.base import Metric, warned_of_nan
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.ranks.counts import RankCounts
from recsample.sampling import laws
from recsample.sampling.base import Drawable, Sampler, check_one_at_most, check_readable
from recsample.sampling.cutoffs import cutoffs_of, falls

# The way out where the laws of all ranks are too large for the memory.
_SOME = "ask for some of the ranks at a time"
# So many instances at most are drawn for at a time.
_DRAWN = 2**22


class EffectiveCutoffs(NamedTuple):
    """Of which exact Recall@K a sampled metric is the mean; see `effective_cutoffs`.

    Parameters
    ----------
    weights : ndarray of float, shape (n_items - 1,)
        Of Recall@K for K = 1, ..., n_items - 1. They may add up to less than 1.
    at_last : float
        The expectation at the last rank.
    low, median, high : int
        The cut-offs up to which 5 %, 50 % and 95 % of the weights are.

    Examples
    --------
    >>> import recsample as rs
    >>> found = rs.UniformSampling(m=100).effective_cutoffs(rs.Recall @ 10, n_items=3_541)
    >>> found.low, found.median, found.high
    (198, 341, 535)
    """

    weights: Floats
    at_last: float
    low: int
    median: int
    high: int

    def reading(self, value: ArrayLike) -> Floats:
        """The mean of exact Recall@K that a mean of the sampled metric estimates without bias.

        Parameters
        ----------
        value : array_like of float

        Returns
        -------
        ndarray of float, shape of `value`

        Examples
        --------
        >>> import recsample as rs
        >>> cutoffs = rs.UniformSampling(m=2).effective_cutoffs(rs.NDCG @ 1, n_items=4)
        >>> cutoffs.weights.round(2), cutoffs.reading([0.5]).round(2)
        (array([0.67, 0.33, 0.  ]), array([0.5]))
        """
        return (np.asarray(value, float) - self.at_last) / self.weights.sum()


@dataclass(frozen=True)
class UniformSampling(Sampler):
    """Draw m irrelevant items per instance, each with the same probability.

    All relevant items of an instance are ranked in one list with the same m items. To rank each one
    separately among m items of its own, use ``ranks.each_alone()`` in place of the ranks.

    Where relevant items are tied with irrelevant ones, a random order of the tied items is drawn
    first. Ranks are drawn from their law, without drawing any items; `RankCounts` take no longer
    for more instances.

    Expectations are eq. (16), exactly. Closed forms are used where they exist: (17) for linear
    metrics such as AUC, (18) for steps, (19) for the best item's part of AP and RR, and with
    replacement the generating function for RBP and the rank score; all else is summed over the law.
    Variances are of one relevant item per instance.

    Parameters
    ----------
    m : int
        Number of sampled irrelevant items, at least 1.
    replace : bool, optional
        Draw with replacement, as in the analysis of the paper. By default without, as its
        experiments do. Copies of an item that is tied with the relevant one all stand on the
        same side of it: tied items are put in order before any is drawn.

    Raises
    ------
    ValueError
        In all methods for pools too small to draw from, in those that return a law for one that
        does not fit into the memory, and in `draw` without replacement for pools of more than 10^9
        items.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> sampler = rs.UniformSampling(m=99)
    >>> round(float(sampler.expect(rs.AP, ranks).mean()), 3)          # Table 2
    0.326
    """

    m: int
    replace: bool = False

    def __post_init__(self) -> None:
        replace = checks.true_or_false("replace", self.replace)
        vars(self).update(m=checks.positive_int("m", self.m), replace=replace)

    def law(self, n_items: int) -> Floats:
        """The law of the sampled rank for every rank of a pool, for one relevant item.

        Parameters
        ----------
        n_items : int
            Size of the pool, at least 2, and more than m without replacement.

        Returns
        -------
        ndarray of float, shape (n_items, m + 1)
            Row r - 1, column s holds p(sampled rank = s + 1 | rank = r). Rows sum to 1. It is
            cached, so it is read-only.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=2).law(4).round(3)
        array([[1.   , 0.   , 0.   ],
               [0.333, 0.667, 0.   ],
               [0.   , 0.667, 0.333],
               [0.   , 0.   , 1.   ]])
        """
        n_items = checks.positive_int("n_items", n_items)
        self._check_pool(n_items - 1)
        what = f"the law for n_items={n_items}, m={self.m}"
        checks.check_memory(8 * n_items * (self.m + 1), what, "ask for some of the ranks, by pmf")
        return _law(self.m, self.replace, n_items)[0]

    def pmf(self, ranks: Ranks) -> Floats:
        """The law of the sampled rank of each relevant item.

        Parameters
        ----------
        ranks : Ranks
            Under ties the law is the mean over the random orders of the tied items.

        Returns
        -------
        ndarray of float, shape (relevant items, m + 1)
            A row for each relevant item, instances in order, the best of each first. Column s holds
            p(sampled rank = s + i) of the i-th best.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).pmf(rs.Ranks([1, 3], n_items=5))
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        targets, of_row = laws.targets_of(self._checked(ranks))
        what = f"the law of {len(of_row)} instances with m={self.m}"
        checks.check_memory(16 * len(of_row) * (self.m + 1), what, _SOME)
        parts = (law for _, law in laws.pmf_blocks(targets, self.m, self.replace))
        pmf = np.concatenate([np.empty((0, self.m + 1)), *parts])
        return pmf if np.array_equal(of_row, np.arange(len(pmf))) else pmf[of_row]

    def pmf_of_hits(self, ranks: Ranks, k: int) -> Floats:
        """The law of the number of relevant items in the first k places of the sampled ranking.

        At least t of them are there where the t-th best is: P(hits >= t) = P(s_t <= k - t).

        Parameters
        ----------
        ranks : Ranks
        k : int
            At least 1.

        Returns
        -------
        ndarray of float, shape (instances, max(relevant items) + 1)
            Column h holds P(hits = h).

        Examples
        --------
        One of four irrelevant items is drawn. It comes before both relevant ones, with probability
        1/4, or between them, or after both.

        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).pmf_of_hits(rs.Ranks([[2, 5]], n_items=6), k=2)
        array([[0.  , 0.75, 0.25]])
        """
        k = checks.positive_int("k", k)
        targets, of_row = laws.targets_of(self._checked(ranks))
        most = int(ranks.n_relevant.max())
        what = f"the law of the hits of {len(ranks)} instances with up to {most} relevant items"
        checks.check_memory(24 * len(ranks) * (most + 2), what, _SOME)
        last_place = np.full_like(targets.order, k)
        within = laws.chance_within(targets, last_place, self.m, self.replace)[of_row]
        at_least = np.zeros((len(ranks), most + 2))
        at_least[:, 0] = 1.0
        at_least[ranks.rows.instance, ranks.rows.order] = within
        return np.maximum(at_least[:, :-1] - at_least[:, 1:], 0.0)  # rounding may fall below 0

    def draw(self, ranks: Drawable, rng: Rng) -> Drawable:
        if isinstance(ranks, RankCounts):
            return self._draw_counts(ranks, checks.generator(rng))
        pool, n_relevant = self._checked(ranks).n_irrelevant, ranks.n_relevant
        if not self.replace:
            laws.check_drawable(pool)
        rng = checks.generator(rng)
        rows = ranks.break_ties("random", rng).rows
        sampled = np.empty_like(rows.above)
        last = np.cumsum(n_relevant) - 1  # the row of each instance's last relevant item
        for back in range(int(n_relevant.max())):
            reached = n_relevant > back
            row = last[reached] - back
            # The last item's count is out of m drawn from the pool, any other's out of the count of
            # the item after it.
            among = rows.above[row + 1] if back else pool[reached]
            drawn = sampled[row + 1] if back else self.m
            sampled[row] = self._count(rng, rows.above[row], among, drawn)
        sizes = self.m + (n_relevant if np.ptp(n_relevant) else int(n_relevant[0]))
        return ranks.at(sampled + rows.order, sizes).drawn_as("uniform", self.replace, ranks.sizes)

    def effective_cutoffs(self, metric: Metric | str, n_items: int) -> EffectiveCutoffs:
        """Of which exact Recall@K the expectation of a sampled metric is the weighted mean.

        Let the metric never rise with the rank. Then its expectation E[M | r] falls with the exact
        rank r, and is a sum of steps, so that for one relevant item and over any users

            E[M] = E[M | n] + sum over K of w_K Recall@K,   w_K = E[M | K] - E[M | K + 1] >= 0.

        No assumption is made of the ranks. (D. Li et al., "On Sampling Top-K Recommendation
        Evaluation", KDD 2020, approximate it by a single K.) It holds in every pool of `n_items`,
        with ties in a random order, and for each of several relevant items that are ranked alone.

        Parameters
        ----------
        metric : Metric or str
            One whose value among m + 1 items never rises with the rank.
        n_items : int
            Size of the pool, the relevant item included: at most 10^7.

        Returns
        -------
        EffectiveCutoffs

        Examples
        --------
        A sampled Recall@10 among 100 of 3,541 items is a mean of exact Recall@K, mostly from K =
        198 to 535:

        >>> import numpy as np
        >>> import recsample as rs
        >>> x = rs.Ranks([3, 250, 1_200], n_items=3_541)
        >>> sampler = rs.UniformSampling(m=100)
        >>> found = sampler.effective_cutoffs("Recall@10", 3_541)
        >>> recall = (x.values <= np.arange(1, 3_541)[:, None]).mean(axis=1)
        >>> mean = found.at_last + found.weights @ recall
        >>> bool(abs(mean - sampler.expect("Recall@10", x).mean()) < 1e-12)
        True
        """
        metric = check_readable(metric, self)
        n_items = checks.check_n_items(n_items, 48, "the cut-offs")
        self._check_pool(n_items - 1)
        if not falls(metric, self.m):
            raise InputError(
                "metric",
                f"must fall with the rank among m + 1 = {self.m + 1} items, or stay as it is, "
                "for its expectation to be a mean of exact Recall@K",
            ).got(metric)
        expected = self.expect(metric, Ranks(np.arange(1, n_items + 1), n_items))
        weights = np.maximum(-np.diff(expected), 0.0) + 0.0  # rounding may fall below 0, to -0 too
        return EffectiveCutoffs(weights, float(expected[-1]), *cutoffs_of(self, metric, n_items))

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        metric, ranks = check_readable(metric, self), self._checked(ranks)
        if not metric.additive:
            check_one_at_most(ranks, f"the expectation of {metric}")
            return self.moments(metric, ranks)[0]
        targets, of_row = laws.targets_of(ranks)
        terms = laws.expected_terms(metric, targets, self.m, self.replace)
        mean = summed(ranks.rows.instance, terms[of_row], len(ranks))
        mean[ranks.n_relevant == 0] = np.nan
        return warned_of_nan(metric, mean)

    def moments(self, metric: Metric | str, ranks: Ranks) -> tuple[Floats, Floats]:
        metric, ranks = check_readable(metric, self), self._checked(ranks)
        check_one_at_most(ranks, "a variance")
        one, m = ranks.n_relevant == 1, self.m
        if isinstance(metric.shape, Linear):
            pool = ranks.n_irrelevant[one]
            noise = 1 / m if self.replace else (pool - m) / np.maximum(pool - 1, 1) / m
            found = laws.linear_moments(metric, ranks, noise)
        else:
            targets, of_row = laws.targets_of(ranks)
            first, second = laws.moments_over_law(metric, targets, m, self.replace)
            found = first[of_row], second[of_row]
        mean, variance = np.full((2, len(ranks)), np.nan)
        mean[one], variance[one] = found
        return warned_of_nan(metric, mean), variance

    def same_kind(self, other: object) -> bool:
        # A count among as many uniform items is read alike, with replacement or without.
        return isinstance(other, UniformSampling) and self.m == other.m

    def _checked(self, ranks):
        self._check_pool(check_ranks(ranks).n_irrelevant)
        return ranks

    def _check_pool(self, pool):
        needed = 1 if self.replace else self.m
        allowed = f"must leave at least {needed} irrelevant items to draw m={self.m} "
        allowed += f"{'with' if self.replace else 'without'} replacement"
        got = "{} in instance {at}" if np.ndim(pool) else "{}"
        checks.refuse_first(np.asarray(pool < needed), "n_items", allowed, got, pool)

    def _draw_counts(self, counts, rng):
        """Draw, for each rank, how many of its instances get each sampled rank."""
        pool = self._checked(counts.ranks).n_irrelevant
        rows, number = counts.ranks.rows, counts.counts
        if not self.replace:
            laws.check_drawable(pool)
        drawn = np.zeros(self.m + 1, np.int64)
        many = number > self.m  # for few instances, one draw for each takes less time
        which = np.flatnonzero(~many)
        for part in row_blocks(len(which), self.m, _DRAWN):
            each = repeated(which[part], number[which[part]])
            above = rows.above[each] + rng.integers(0, rows.ties[each], endpoint=True)
            drawn += counted(self._count(rng, above, pool[each], self.m), self.m + 1)
        which = np.flatnonzero(many)
        for part in row_blocks(len(which), self.m + 1):
            law = self.pmf(counts.ranks[which[part]])
            drawn += rng.multinomial(number[which[part]], law).sum(axis=0)
        found = RankCounts(np.arange(1, self.m + 2), drawn, self.m + 1)
        sizes = counts.ranks.n_items  # one number where all pools have one size
        return found.drawn_as("uniform", self.replace, sizes if isinstance(sizes, int) else None)

    def _count(self, rng, above, among, drawn):
        """Draw how many of `drawn` items are above, where `above` of `among` items are."""
        if self.replace:
            return rng.binomial(drawn, np.divide(above, among, where=among > 0, out=0.0 * above))
        return rng.hypergeometric(above, among - above, drawn)


@cached_arrays
def _law(m: int, replace: bool, n_items: int) -> tuple[Floats]:
    law, above = np.zeros((n_items, m + 1)), np.arange(n_items)
    for rows, part in laws.law_blocks(above, np.full_like(above, n_items - 1), m, replace):
        law[rows] = part
    return (law,)
