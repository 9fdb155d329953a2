"""What sampling does to ranks: the law of the sampled ranks and what follows from it.

A sampled evaluation ranks the relevant items of an instance among m sampled irrelevant ones. Of the
N = n - L irrelevant items, a = r - i outrank the i-th best of L relevant ones, whose rank is r, so
the number s of sampled items that do is

    binomial, s ~ B(m, a / N)                 drawing with replacement (section 4.3), or
    hypergeometric, s ~ H(N, a, m)            drawing without replacement,

and its sampled rank is s + i. The paper has one relevant item, with i = L = 1.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import special

from recsample._counts import (
    average_with,
    average_without,
    check_drawable,
    count_pmf,
    inverse_rank_with,
    inverse_rank_without,
    laws_in_group,
    likely_counts,
    row_blocks,
)
from recsample._joint import linear_moments, moments_of
from recsample._typing import Floats, Integers, Rng
from recsample._validation import fits_in_memory, generator, positive_int, true_or_false
from recsample.metrics import (
    GeometricMetric,
    LinearMetric,
    Metric,
    ReciprocalMetric,
    StepMetric,
    check_metric,
    warned_of_nan,
)
from recsample.ranks import Ranks, check_ranks

__all__ = ["UniformSampling"]


class _Targets(NamedTuple):
    """The different situations of a relevant item; an array each."""

    pool: Integers  # all irrelevant items
    n_relevant: Integers  # relevant items of its instance
    order: Integers  # it is the order-th best of these, 1-based
    above: Integers  # irrelevant items that outrank it, in the best case
    ties: Integers  # irrelevant items with its score
    group: Integers  # relevant items with its score, itself included
    place: Integers  # its place among these, 1-based

    def of(self, rows):
        return _Targets(*(column[rows] for column in self))


@dataclass(frozen=True)
class UniformSampling:
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
            Row r - 1, column s holds p(sampled rank = s + 1 | rank = r). Rows sum to 1.

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
        fits_in_memory(8 * n_items * (self.m + 1), f"the law for n_items={n_items}, m={self.m}")
        law = np.empty((n_items, self.m + 1))
        above = np.arange(n_items)
        for rows in row_blocks(n_items, self.m + 1):
            pool = np.full_like(above[rows], n_items - 1)
            law[rows] = count_pmf(above[rows], pool, self.m, self.replace)
        return law

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
        targets, of_term = self._targets(ranks)
        n_terms, columns = len(of_term), self.m + 1
        fits_in_memory(16 * n_terms * columns, f"the law of {n_terms} instances with m={self.m}")
        pmf = [np.empty((0, columns)), *(law for _, law in self._pmf_blocks(targets))]
        return np.concatenate(pmf)[of_term]

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
        targets, of_term = self._targets(ranks)
        within = self._reaches(targets, k)[of_term]
        instance, order = ranks._terms[:2]
        at_least = np.zeros((len(ranks), int(ranks.n_relevant.max()) + 2))
        at_least[:, 0] = 1.0
        at_least[instance, order] = within
        return np.maximum(at_least[:, :-1] - at_least[:, 1:], 0.0)  # rounding may fall below 0

    def draw(self, ranks: Ranks, rng: Rng) -> Ranks:
        """Sampled ranks: one sampled evaluation, drawn from the law without drawing any items.

        The last relevant item's count is drawn from its law, and each count before it by thinning
        the one after it: of the s drawn items among the first a', those among the first a.

        Parameters
        ----------
        ranks : Ranks
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        Ranks
            With ``n_items = m + L`` for L relevant items, instances in the same order, ties broken
            at random. Where `ranks` holds lists, the best rank of each comes first.

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
        self._check_instances(ranks)
        rng = generator(rng)
        pool, n_relevant = ranks.n_irrelevant, ranks.n_relevant
        if not self.replace:
            check_drawable(pool)
        untied = ranks.break_ties("random", rng)
        order = untied._terms.order
        above = untied._terms.rank - order
        sampled = np.empty_like(above)
        last = np.cumsum(n_relevant) - 1  # the row of each instance's last relevant item
        for back in range(int(n_relevant.max())):
            reached = n_relevant > back
            row = last[reached] - back
            if back:
                sampled[row] = self._count(rng, above[row], above[row + 1], sampled[row + 1])
            else:
                sampled[row] = self._count(rng, above[row], pool[reached], self.m)
        values = sampled + order
        if ranks._nested:
            values = np.split(values, last[:-1] + 1)
        return Ranks(values, self.m + (n_relevant if np.ptp(n_relevant) else int(n_relevant[0])))

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
        check_metric(metric)
        metric._check_cutoff()
        targets, of_term = self._targets(ranks)
        n_relevant = ranks.n_relevant
        if metric.additive:
            values = self._means(metric, targets)[of_term]
            mean = np.bincount(ranks._terms.instance, values, minlength=len(ranks)).astype(float)
            mean[n_relevant == 0] = np.nan
        else:
            mean = self._instance_moments(metric, ranks)[0]
        return warned_of_nan(metric, mean)

    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of a metric on the sampled ranks, exactly: the second of its `moments`.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)
            NaN for an instance without relevant item, with a warning.

        Raises
        ------
        ValueError
            If a pool is too small to draw from; the message names the instance. Also for a `metric`
            that is none, and for an m whose joint law the memory cannot hold.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).variance(rs.AUC, rs.Ranks([1, 3], n_items=5))
        array([0.  , 0.25])
        """
        check_metric(metric)
        metric._check_cutoff()
        self._check_instances(ranks)
        return warned_of_nan(metric, self._instance_moments(metric, ranks)[1])

    def moments(self, metric: Metric, ranks: Ranks) -> tuple[Floats, Floats]:
        """Expectation and variance of a metric on the sampled ranks, from the same joint law.

        The sampled ranks of several relevant items form a Markov chain; mean and variance of their
        sum are passed along it, in O(L m^2) operations for L relevant items. Where g of them are
        tied with irrelevant ones, only the different items sampled from the tie matter: O(g m^2)
        operations more, times the copies of one item that may be drawn. How many ties there are
        makes no difference. Linear metrics such as AUC have a closed form.

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
            that is none, and for an m whose joint law the memory cannot hold.

        Examples
        --------
        >>> import recsample as rs
        >>> mean, variance = rs.UniformSampling(m=1).moments(rs.AUC, rs.Ranks([1, 3], n_items=5))
        >>> mean, variance
        (array([1. , 0.5]), array([0.  , 0.25]))
        """
        check_metric(metric)
        metric._check_cutoff()
        self._check_instances(ranks)
        mean, variance = self._instance_moments(metric, ranks)
        return warned_of_nan(metric, mean), variance

    def std_of_mean(self, metric: Metric, ranks: Ranks) -> float:
        """Standard deviation, over repeated sampling, of the metric's mean over the instances.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            Instances are sampled independently.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If a pool is too small to draw from; the message names the instance. Also for a `metric`
            that is none.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).std_of_mean(rs.AUC, rs.Ranks([3] * 100, n_items=5))
        0.05
        """
        return float(np.sqrt(self.variance(metric, ranks).sum()) / len(ranks))

    def _targets(self, ranks):
        """The different situations, and which of them each relevant item is in."""
        self._check_instances(ranks)
        instance, order, rank, ties, group, place = ranks._terms
        if not len(rank):
            return _Targets(*(rank for _ in _Targets._fields)), rank
        # Without ties it does not matter which of equal items one is.
        group, place = np.where(ties > 0, (group, place), 1)
        pool, n_relevant = ranks.n_irrelevant[instance], ranks.n_relevant[instance]
        columns = np.stack([pool, n_relevant, order, rank - order, ties, group, place], 1)
        rows, of_term = np.unique(columns, axis=0, return_inverse=True)
        return _Targets(*rows.T), of_term.reshape(-1)

    def _check_instances(self, ranks):
        check_ranks(ranks)
        self._check_pool(ranks.n_irrelevant)

    def _check_pool(self, pool):
        needed = 1 if self.replace else self.m
        if np.min(pool) < needed:
            place = f" in instance {np.argmin(pool)}" if np.ndim(pool) else ""
            raise ValueError(
                f"n_items must leave at least {needed} irrelevant items to draw m={self.m} "
                f"{'with' if self.replace else 'without'} replacement, got {np.min(pool)}{place}"
            )

    def _count(self, rng, above, pool, drawn):
        """How many of the `drawn` items are above, in a random draw from the pool."""
        if self.replace:
            return rng.binomial(drawn, np.divide(above, pool, where=pool > 0, out=0.0 * above))
        return rng.hypergeometric(above, pool - above, drawn)

    def _pmf_blocks(self, targets):
        """Slices of the targets, with the law of each."""
        for rows in row_blocks(len(targets.pool), self.m + 1):
            part = targets.of(rows)
            pmf = count_pmf(part.above, part.pool, self.m, self.replace)
            alone = np.flatnonzero((part.ties > 0) & (part.group == 1))
            average = average_with if self.replace else average_without
            if len(alone):
                tied = part.of(alone)
                pmf[alone] = average(tied.above, tied.ties, tied.pool, self.m)
            known = {}
            for i in np.flatnonzero((part.ties > 0) & (part.group > 1)):
                key = part.above[i], part.ties[i], part.group[i], part.pool[i]
                if key not in known:
                    known[key] = laws_in_group(*key, self.m, self.replace)
                pmf[i] = known[key][part.place[i] - 1]
            yield rows, pmf

    def _likely_blocks(self, targets):
        """Rows of the targets, the counts that matter to them, and a function that makes their law.

        That is the law up to rounding, where `_pmf_blocks` has every digit of the smallest chance.
        """
        untied, tied = np.flatnonzero(targets.ties == 0), np.flatnonzero(targets.ties)
        alone = targets.of(untied)
        for rows, counts in likely_counts(alone.above, alone.pool, self.m, self.replace):
            part = alone.of(rows)
            law = partial(count_pmf, part.above, part.pool, self.m, self.replace, counts=counts)
            yield untied[rows], counts, law
        for rows, pmf in self._pmf_blocks(targets.of(tied)):
            yield tied[rows], slice(None), lambda pmf=pmf: pmf

    def _moments(self, metric, targets):
        """Mean and variance of each target's part of the metric, by the sum (16) over the law."""
        fits_in_memory(64 * (self.m + 1), f"the law of one instance with m={self.m}")
        kinds = np.stack([targets.order, targets.n_relevant], 1)
        kinds, kind = np.unique(kinds, axis=0, return_inverse=True)
        values, kind = self._values(metric, *kinds.T), kind.reshape(-1)
        mean, variance = np.empty(len(targets.pool)), np.zeros(len(targets.pool))
        for rows, counts, law in self._likely_blocks(targets):
            value = values[:, counts][kind[rows] if len(values) > 1 else [0]]
            if (value == value[0, 0]).all():  # beyond a cut-off
                mean[rows] = value[0, 0]
                continue
            pmf = law()
            mean[rows] = (pmf * value).sum(axis=1)
            variance[rows] = (pmf * (value - mean[rows, None]) ** 2).sum(axis=1)
        return mean, variance

    def _values(self, metric, order, n_relevant):
        """What items of the given orders contribute at s = 0, ..., m, shape (orders, m + 1)."""
        order, n_relevant = order[:, None], n_relevant[:, None]
        fits_in_memory(32 * len(order) * (self.m + 1), f"the values of {metric} with m={self.m}")
        rank = order + np.arange(self.m + 1)
        return metric._term(rank, order, n_relevant, self.m + n_relevant) + np.zeros(rank.shape)

    def _instance_moments(self, metric, ranks):
        """Mean and variance of the metric for every instance."""
        if isinstance(metric, LinearMetric):
            return self._linear_moments(metric, ranks)
        n_relevant = ranks.n_relevant
        mean, variance = np.full((2, len(ranks)), np.nan)
        one = n_relevant == 1
        if one.any():
            targets, of_term = self._targets(ranks)
            single = one[ranks._terms.instance]
            rows, of_single = np.unique(of_term[single], return_inverse=True)
            moments = self._moments(metric, targets.of(rows))
            mean[one], variance[one] = (moment[of_single.reshape(-1)] for moment in moments)
        several = n_relevant > 1
        if several.any():
            fits_in_memory(64 * (self.m + 1) ** 2, f"the joint law of ranks with m={self.m}")

            def values(n):
                order = np.arange(1, n + 1)
                return self._values(metric, order, np.full_like(order, n))

            def law(end, pool, _):
                return count_pmf(np.array([end]), np.array([pool]), self.m, self.replace)[0]

            found = moments_of(metric, ranks, several, values, law, self.replace)
            mean[several], variance[several] = found
        return mean, variance

    def _linear_moments(self, metric, ranks):
        """Mean and variance of a metric that is linear in the counts."""
        pool, m = ranks.n_irrelevant, self.m
        noise = 1 / m if self.replace else (pool - m) / np.maximum(pool - 1, 1) / m
        return linear_moments(metric, ranks, noise)

    def _means(self, metric, targets):
        """The expectation of each target's part of the metric."""
        mean = self._closed_form(metric, targets)
        rest = np.flatnonzero(np.isnan(mean))
        if len(rest):
            mean[rest] = self._moments(metric, targets.of(rest))[0]
        return mean

    def _closed_form(self, metric, targets):
        """Eqs. (17) to (19), NaN for targets that have no closed form."""
        pool, n_relevant, order, above, ties, *_ = targets
        mean = np.full(len(pool), np.nan)
        if not len(pool):
            return mean
        first, last = (
            metric._term(order + s, order, n_relevant, self.m + n_relevant) for s in (0, self.m)
        )
        if isinstance(metric, LinearMetric):
            # In a random order the j-th of g relevant items has t j / (g + 1) of t others ahead.
            ahead = above + ties * targets.place / (targets.group + 1)
            return first + (last - first) * (ahead / pool)
        if isinstance(metric, StepMetric):
            return first * self._reaches(targets, metric._last_place(n_relevant))
        if metric.cutoff is not None:
            return mean
        if isinstance(metric, GeometricMetric) and self.replace:
            # The generating function of the binomial law; that of the other is the sum itself.
            closed = first * np.exp(self.m * np.log1p(-(1 - metric.ratio) * above / pool))
            return np.where(ties == 0, closed, mean)
        if isinstance(metric, ReciprocalMetric):
            best = np.flatnonzero((ties == 0) & (order == 1))
            if self.replace:
                mean[best] = first[best] * inverse_rank_with(above[best] / pool[best], self.m)
                return mean
            for part in row_blocks(len(best), self.m + 1):
                rows = best[part]
                inverse = inverse_rank_without(above[rows], pool[rows], self.m)
                mean[rows] = first[rows] * inverse
        return mean

    def _reaches(self, targets, last_place):
        """Eq. (18): the probability that the sampled rank is at most `last_place`."""
        pool, _, order, above, ties, *_ = targets
        k = np.broadcast_to(last_place, order.shape) - order + 1  # s must be below it
        if self.replace and not ties.any():
            # As an incomplete beta function; bdtr keeps only 10 digits at m = 10^5.
            inside = np.clip(k, 1, self.m)
            below = special.betaincc(inside, self.m - inside + 1, above / pool)
            return np.where(k < 1, 0.0, np.where(k > self.m, 1.0, below))
        if k.min(initial=self.m + 1) > self.m:
            return np.ones(len(pool))
        within = np.empty(len(pool))
        for rows, counts, law in self._likely_blocks(targets):
            inside = np.arange(*counts.indices(self.m + 1)) < k[rows, None]
            within[rows] = (law() * inside).sum(axis=1) if inside.any() else 0.0
        return within
