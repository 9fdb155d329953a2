"""Uniform sampling: the law of the sampled ranks and what follows from it.

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
from functools import partial
from typing import overload

import numpy as np

from recsample._support.arrays import counted, different_rows, repeated, row_blocks, summed
from recsample._support.checks import fits_in_memory, generator, positive_int, true_or_false
from recsample._support.typing import Floats, Rng
from recsample._support.values import kept
from recsample.metrics.base import Metric, warned_of_nan
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.ranks.counts import RankCounts
from recsample.ranks.ties import blocks
from recsample.sampling.base import Sampler, check_readable
from recsample.sampling.joint import moments_of
from recsample.sampling.laws import (
    chance_within,
    check_drawable,
    count_pmf,
    expected_terms,
    linear_moments,
    moments_over_law,
    pmf_blocks,
    targets_of,
)

__all__ = [
    "UniformSampling",
]


# Values of a metric of up to so many numbers are computed once, beyond it as they are needed.
_TABLE = 2**20


@dataclass(frozen=True)
class UniformSampling(Sampler):
    """Draw m irrelevant items per instance, each with the same probability.

    All relevant items of an instance are ranked together against the same m items. To rank each one
    alone against m items of its own, take ``ranks.each_alone()`` in place of the ranks.

    Where relevant items are tied with irrelevant ones, a random order of the tied items is drawn
    first; every method belongs to that two-step experiment.

    Parameters
    ----------
    m : int
        Number of sampled irrelevant items, at least 1.
    replace : bool, optional
        Draw with replacement, as in the analysis of the paper. By default without, as its
        experiments do.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> sampler = rs.UniformSampling(m=99)
    >>> round(float(sampler.expect(rs.AP, ranks).mean()), 3)          # Table 2
    0.326
    >>> sampler.draw(ranks, rng=0).n_items
    100
    """

    m: int
    replace: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", positive_int("m", self.m))
        object.__setattr__(self, "replace", true_or_false("replace", self.replace))

    def law(self, n_items: int) -> Floats:
        """The law of the sampled rank for every rank of a pool, for one relevant item.

        Parameters
        ----------
        n_items : int
            Size of the pool, at least 2, and more than m without replacement.

        Returns
        -------
        ndarray of float, shape (n_items, m + 1)
            Row r - 1, column s holds p(sampled rank = s + 1 | rank = r). Rows sum to 1. It is kept
            for the next call, so it cannot be written to.

        Raises
        ------
        ValueError
            If the pool is too small, or the array too large for the memory.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=2).law(4).round(3)
        array([[1.   , 0.   , 0.   ],
               [0.333, 0.667, 0.   ],
               [0.   , 0.667, 0.333],
               [0.   , 0.   , 1.   ]])
        """
        n_items = positive_int("n_items", n_items)
        self._check_pool(n_items - 1)
        fits_in_memory(
            8 * n_items * (self.m + 1),
            f"the law for n_items={n_items}, m={self.m}",
            "ask for some of the ranks, by pmf",
        )
        return _law(self.m, self.replace, n_items)[0]

    def pmf(self, ranks: Ranks) -> Floats:
        """The law of the sampled rank of each relevant item.

        Parameters
        ----------
        ranks : Ranks
            Under ties the law is the average of the laws of the ranks that a random order of the
            tied items gives.

        Returns
        -------
        ndarray of float, shape (relevant items, m + 1)
            A row for each relevant item, instances in order and best ranks first within an
            instance; for one relevant item per instance, a row for each instance. Column s holds
            p(sampled rank = s + i) of the i-th best.

        Raises
        ------
        ValueError
            If a pool is too small to draw from; the message names the instance. Also for a law that
            the memory cannot hold.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).pmf(rs.Ranks([1, 3], n_items=5))
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        targets, of_row = targets_of(self._checked(ranks))
        n_rows, columns = len(of_row), self.m + 1
        fits_in_memory(
            16 * n_rows * columns,
            f"the law of {n_rows} instances with m={self.m}",
            "ask for some of the ranks at a time",
        )
        laws = (law for _, law in pmf_blocks(targets, self.m, self.replace))
        pmf = np.concatenate([np.empty((0, columns)), *laws])
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

        Raises
        ------
        ValueError
            If a pool is too small to draw from; the message names the instance. Also for a `k`
            below 1.

        Examples
        --------
        One of four irrelevant items is drawn. It comes before both relevant ones, with probability
        1/4, or between them, or after both.

        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).pmf_of_hits(rs.Ranks([[2, 5]], n_items=6), k=2)
        array([[0.  , 0.75, 0.25]])
        """
        k = positive_int("k", k)
        targets, of_row = targets_of(self._checked(ranks))
        most = int(ranks.n_relevant.max())
        fits_in_memory(
            24 * len(ranks) * (most + 2),
            f"the law of the hits of {len(ranks)} instances with up to {most} relevant items",
            "ask for some of the ranks at a time",
        )
        last_place = np.full_like(targets.order, k)
        within = chance_within(targets, last_place, self.m, self.replace)[of_row]
        at_least = np.zeros((len(ranks), most + 2))
        at_least[:, 0] = 1.0
        at_least[ranks.rows.instance, ranks.rows.order] = within
        return np.maximum(at_least[:, :-1] - at_least[:, 1:], 0.0)  # rounding may fall below 0

    @overload
    def draw(self, ranks: Ranks, rng: Rng) -> Ranks: ...
    @overload
    def draw(self, ranks: RankCounts, rng: Rng) -> RankCounts: ...

    def draw(self, ranks: Ranks | RankCounts, rng: Rng) -> Ranks | RankCounts:
        """Sampled ranks: one sampled evaluation, drawn from the law without drawing any items.

        The last relevant item's count is drawn from its law, and each count before it by thinning
        the one after it: of the s drawn items among the first a', those among the first a. How
        many of the instances that `RankCounts` have with one rank get each sampled rank has a
        multinomial distribution, so it takes no longer for more instances.

        Parameters
        ----------
        ranks : Ranks or RankCounts
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        Ranks or RankCounts
            With ``n_items = m + L`` for L relevant items, instances in the same order, ties broken
            at random. Where `ranks` holds lists, the best rank of each comes first. `RankCounts`
            for `RankCounts`.

        Raises
        ------
        ValueError
            If a pool is too small to draw from; the message names the instance. Also for pools of
            more than 10^9 items without replacement, and for an `rng` that is neither a seed nor a
            generator.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=9).draw(rs.Ranks([1, 100], n_items=100), rng=0).values
        array([ 1, 10])
        >>> rs.UniformSampling(m=9).draw(rs.Ranks([[1, 100]], n_items=100), rng=0).values
        (array([ 1, 11]),)
        """
        if isinstance(ranks, RankCounts):
            return self._draw_counts(ranks, generator(rng))
        pool, n_relevant = self._checked(ranks).n_irrelevant, ranks.n_relevant
        if not self.replace:
            check_drawable(pool)
        rng = generator(rng)
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
        return ranks.at(sampled + rows.order, sizes)

    def expect(self, metric: Metric, ranks: Ranks) -> Floats:
        """The expectation of a metric on the sampled ranks, eq. (16), exactly.

        A metric that is a sum over the relevant items needs the law of each of them only. Closed
        forms are used where they exist: linear metrics such as AUC (17), metrics that are a step
        (18), the best item's part of AP and RR (19) with its counterpart without replacement,

            E[1 / (s + 1)] = (N + 1) / ((a + 1)(m + 1)) (1 - C(N - a, m + 1) / C(N + 1, m + 1)),

        and, with replacement, RBP and the rank score through the generating function of s,

            E[z^s] = (1 - (1 - z) a / N)^m.

        Everything else is summed over the law.

        Parameters
        ----------
        metric : Metric
            Also a corrected metric, whose expectation shows how far off it is on average.
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)
            NaN for an instance without relevant item, with a warning.

        Raises
        ------
        ValueError
            If a pool is too small to draw from; the message names the instance. Also for a `metric`
            that is none.

        Examples
        --------
        AUC is a metric that sampling leaves alone:

        >>> import recsample as rs
        >>> rs.UniformSampling(m=10).expect(rs.AUC, rs.Ranks([1, 25], n_items=49))
        array([1. , 0.5])
        >>> rs.UniformSampling(m=10).expect(rs.AUC, rs.Ranks([[1, 26]], n_items=50))
        array([0.75])
        """
        check_readable(metric, self)
        if not metric.additive:
            return self.moments(metric, ranks)[0]
        targets, of_row = targets_of(self._checked(ranks))
        terms = expected_terms(metric, targets, self.m, self.replace)
        rest = np.flatnonzero(np.isnan(terms))
        if len(rest):
            terms[rest] = self._moments_of_terms(metric, targets.of(rest))[0]
        mean = summed(ranks.rows.instance, terms[of_row], len(ranks))
        mean[ranks.n_relevant == 0] = np.nan
        return warned_of_nan(metric, mean)

    def moments(self, metric: Metric, ranks: Ranks) -> tuple[Floats, Floats]:
        """Expectation and variance of a metric on the sampled ranks, from the same joint law.

        The sampled ranks of several relevant items form a Markov chain; mean and variance of their
        sum are passed along it, in O(L m^2) operations for L relevant items, for many instances
        together. Where g of them are tied with irrelevant ones, only the different items sampled
        from the tie matter: O(g m^2) operations more, times the copies of one item that may be
        drawn. How many ties there are makes no difference. Linear metrics such as AUC have a closed
        form.

        Parameters
        ----------
        metric : Metric
            Also a corrected metric.
        ranks : Ranks

        Returns
        -------
        mean : ndarray of float, shape (instances,)
            NaN for an instance without relevant item, with a warning.
        variance : ndarray of float, shape (instances,)
            NaN where the mean is.

        Raises
        ------
        ValueError
            If a pool is too small to draw from; the message names the instance. Also for a `metric`
            that is none, and for ties of several relevant items with an m whose joint law the
            memory cannot hold.

        Examples
        --------
        >>> import recsample as rs
        >>> mean, variance = rs.UniformSampling(m=1).moments(rs.AUC, rs.Ranks([1, 3], n_items=5))
        >>> mean, variance
        (array([1. , 0.5]), array([0.  , 0.25]))
        """
        check_readable(metric, self)
        pool, m = self._checked(ranks).n_irrelevant, self.m
        if isinstance(metric.shape, Linear):
            noise = 1 / m if self.replace else (pool - m) / np.maximum(pool - 1, 1) / m
            mean, variance = linear_moments(metric, ranks, noise)
        else:
            mean, variance = self._summed_moments(metric, ranks)
        return warned_of_nan(metric, mean), variance

    def same_kind(self, other: object) -> bool:
        """Whether the other counts among as many uniform items: with replacement or without.

        Parameters
        ----------
        other : object

        Returns
        -------
        bool

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(99).same_kind(rs.UniformSampling(100))
        False
        """
        return isinstance(other, UniformSampling) and self.m == other.m

    def _checked(self, ranks):
        self._check_pool(check_ranks(ranks).n_irrelevant)
        return ranks

    def _check_pool(self, pool):
        needed = 1 if self.replace else self.m
        if np.min(pool) < needed:
            place = f" in instance {np.argmin(pool)}" if np.ndim(pool) else ""
            raise ValueError(
                f"n_items must leave at least {needed} irrelevant items to draw m={self.m} "
                f"{'with' if self.replace else 'without'} replacement, got {np.min(pool)}{place}"
            )

    def _draw_counts(self, counts, rng):
        """For each rank, how many of its instances get each sampled rank."""
        pool = self._checked(counts.ranks).n_irrelevant
        rows, number = counts.ranks.rows, counts.counts
        if not self.replace:
            check_drawable(pool)
        drawn = np.zeros(self.m + 1, np.int64)
        many = number > self.m  # of a few instances each is drawn for in less time
        which = np.flatnonzero(~many)
        for part in blocks(number[which]):
            each = repeated(which[part], number[which[part]])
            above = rows.above[each] + rng.integers(0, rows.ties[each], endpoint=True)
            drawn += counted(self._count(rng, above, pool[each], self.m), self.m + 1)
        which = np.flatnonzero(many)
        for part in row_blocks(len(which), self.m + 1):
            law = self.pmf(counts.ranks[which[part]])
            drawn += rng.multinomial(number[which[part]], law).sum(axis=0)
        return RankCounts(np.arange(1, self.m + 2), drawn, self.m + 1)

    def _count(self, rng, above, among, drawn):
        """How many of the `drawn` items are above, in a random draw from `among` items."""
        if self.replace:
            return rng.binomial(drawn, np.divide(above, among, where=among > 0, out=0.0 * above))
        return rng.hypergeometric(above, among - above, drawn)

    def _summed_moments(self, metric, ranks):
        """Mean and variance of the metric for every instance, by sums over the law."""
        n_relevant = ranks.n_relevant
        mean, variance = np.full((2, len(ranks)), np.nan)
        one = n_relevant == 1
        if one.any():
            targets, of_row = targets_of(ranks)
            used, of_single = np.unique(of_row[one[ranks.rows.instance]], return_inverse=True)
            moments = self._moments_of_terms(metric, targets.of(used))
            mean[one], variance[one] = (moment[of_single.reshape(-1)] for moment in moments)
        several = n_relevant > 1
        if several.any():

            def law(end, pool, _):
                return count_pmf(end, pool, self.m, self.replace)

            values, n_counts = partial(self._values, metric), self.m + 1
            found = moments_of(metric, ranks, several, values, law, n_counts, self.replace)
            mean[several], variance[several] = found
        return mean, variance

    def _moments_of_terms(self, metric, targets):
        """Mean and variance of each target's part of the metric."""
        kinds, kind = different_rows([targets.order, targets.n_relevant])
        values = partial(self._values, metric, *kinds)
        # The laws of tied items are of all counts.
        if len(kinds[0]) * (self.m + 1) <= _TABLE or targets.ties.any():
            table = values()

            def values(counts):
                return table[:, counts]

        return moments_over_law(values, kind, targets, self.m, self.replace)

    def _values(self, metric, order, n_relevant, counts=slice(None)):
        """What items of the given orders contribute at s = 0, ..., m, shape (orders, m + 1).

        Or at some of these, a slice.
        """
        order, n_relevant = order[:, None], n_relevant[:, None]
        some = range(*counts.indices(self.m + 1))
        fits_in_memory(
            32 * len(order) * len(some),
            f"the table of {metric} with m={self.m}",
            "choose a smaller m",
        )
        rank = order + np.arange(some.start, some.stop)
        return metric.term(rank, order, n_relevant, self.m + n_relevant) + np.zeros(rank.shape)


@kept
def _law(m: int, replace: bool, n_items: int) -> tuple[Floats]:
    law = np.empty((n_items, m + 1))
    above = np.arange(n_items)
    for rows in row_blocks(n_items, m + 1):
        pool = np.full_like(above[rows], n_items - 1)
        law[rows] = count_pmf(above[rows], pool, m, replace)
    return (law,)
