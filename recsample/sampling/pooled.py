"""Draws as in RecBole's "uni" modes: with replacement, pooled over a user's relevant items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recsample._support.arrays import different_rows, row_blocks, summed
from recsample._support.checks import generator, positive_int, refuse_first
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Drawable, Sampler, check_one_at_most, check_readable
from recsample.sampling.laws import different_pmf, laws_given_end, linear_moments, targets_of
from recsample.sampling.uniform import UniformSampling


@dataclass(frozen=True)
class PooledSampling(Sampler):
    """Draw m times with replacement for each relevant item, and rank among the different items.

    An instance with L relevant items has L m draws, and all relevant items are ranked together
    among the D different items drawn. D is random; but whatever it is, every set of D irrelevant
    items is equally likely: to exchange two items in every list of draws leaves the probability of
    the list as it is, and takes each set of D items to each other one. So this is `UniformSampling`
    without replacement, of a random size: given D, its laws apply with m = D.
    Sampled ranks have D + L as ``n_items``, one number per instance.

    Every instance must have a relevant and an irrelevant item. An expectation takes O(L^2 m^2)
    operations for each relevant item and a variance O(L^3 m^2) for each different instance; for AUC
    and the percentile rank there is a closed form.

    Parameters
    ----------
    m : int
        Number of draws for each relevant item, at least 1.

    Examples
    --------
    One relevant item and 100 draws leave 98.6 different items of 3,540 on average; ten relevant
    items, 871.3:

    >>> from recsample.sampling import PooledSampling
    >>> sampler = PooledSampling(m=100)
    >>> sizes = [sampler.sizes(3540, n_relevant=n) for n in (1, 10)]
    >>> [round(float(p @ range(len(p))), 1) for p in sizes]
    [98.6, 871.3]
    """

    m: int

    def __post_init__(self) -> None:
        vars(self).update(m=positive_int("m", self.m))

    def sizes(self, n_irrelevant: int, n_relevant: int = 1) -> Floats:
        """The law of the number D of different items drawn.

        The next draw is new with probability 1 - d / N after d different ones, hence

            P(D = d after k draws) = P(d after k - 1) d / N + P(d - 1 after k - 1) (N - d + 1) / N.

        Parameters
        ----------
        n_irrelevant : int
            The number N of irrelevant items.
        n_relevant : int, optional
            The number L of relevant items.

        Returns
        -------
        ndarray of float, shape (L m + 1,)
            P(D = d) for d = 0, ..., L m.

        Examples
        --------
        >>> from recsample.sampling import PooledSampling
        >>> PooledSampling(m=2).sizes(3).round(3)  # two draws from three items
        array([0.   , 0.333, 0.667])
        """
        pool = positive_int("n_irrelevant", n_irrelevant)
        every = np.array([pool])
        return different_pmf(every, every, self.m * positive_int("n_relevant", n_relevant))[0]

    def draw(self, ranks: Drawable, rng: Rng) -> Drawable:
        if isinstance(ranks, RankCounts):
            return self._draw_counts(ranks, generator(rng))
        pool, n_relevant = self._checked(ranks).n_irrelevant, ranks.n_relevant
        rng = generator(rng)
        size = np.zeros(len(ranks), np.int64)
        n_draws = self.m * n_relevant
        for k in range(int(n_draws.max())):
            size += (k < n_draws) & (rng.random(len(size)) * pool >= size)
        # The number of different items first, then as many without replacement.
        instance = ranks.rows.instance
        sampled = np.empty_like(instance)
        for d in np.unique(size):
            drawn = UniformSampling(int(d)).draw(ranks[size == d], rng)
            sampled[size[instance] == d] = drawn.rows.rank
        # Whatever the number of different items, they are a set without replacement.
        return ranks.at(sampled, size + n_relevant).drawn_as("uniform", False, ranks.sizes)

    def _draw_counts(self, counts, rng):
        """Draw the number of different items for the instances of each rank, then their ranks."""
        pool = self._checked(counts.ranks).n_irrelevant
        parts = []
        for size in np.unique(pool).tolist():
            law, which = self.sizes(size), np.flatnonzero(pool == size)
            law = law / law.sum()
            for rows in row_blocks(len(which), len(law), 2**22):
                some = counts.ranks.rows.of(which[rows])
                number = rng.multinomial(counts.counts[which[rows]], law)
                for d in np.flatnonzero(number.any(axis=0)).tolist():
                    given = RankCounts(some.rank, number[:, d], size + 1, ties=some.ties)
                    parts.append(UniformSampling(d).draw(given, rng))
        return RankCounts.concatenate(parts)

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        metric, ranks = check_readable(metric, self), self._checked(ranks)
        if isinstance(metric.shape, Linear):
            return UniformSampling(1).expect(metric, ranks)  # which no size of the sample changes
        if not metric.additive:
            check_one_at_most(ranks, f"the expectation of {metric}")
            return self.moments(metric, ranks)[0]
        mean = np.zeros(len(ranks))
        for n in np.unique(ranks.n_relevant).tolist():
            which = ranks.n_relevant == n
            some = ranks[which]
            each = self._term_moments(metric, some, n)[0]
            mean[which] = summed(some.rows.instance, each, len(some))
        return mean

    def moments(self, metric: Metric | str, ranks: Ranks) -> tuple[Floats, Floats]:
        metric, ranks = check_readable(metric, self), self._checked(ranks)
        check_one_at_most(ranks, "a variance")
        if not isinstance(metric.shape, Linear):
            return self._term_moments(metric, ranks, 1)
        (pool,), kind = different_rows([ranks.n_irrelevant])
        # The mean of (N - D) / (N - 1) / D, by which the share of an item in the sample varies.
        size = np.arange(1, self.m + 1)
        share = (pool[:, None] - size) / np.maximum(pool[:, None] - 1, 1) / size
        noise = (different_pmf(pool, pool, self.m)[:, 1:] * share).sum(axis=1)
        return linear_moments(metric, ranks, noise[kind])

    def _checked(self, ranks):
        """Return ``ranks``; refuse instances without a relevant or without an irrelevant item."""
        check_ranks(ranks)
        for name, number in (("relevant", ranks.n_relevant), ("irrelevant", ranks.n_irrelevant)):
            allowed, got = f"must have {name} items in every instance", "none in instance {at}"
            refuse_first(number == 0, "ranks", allowed, got)
        return ranks

    def _term_moments(self, metric, ranks, n):
        """Mean and variance of each relevant item's contribution, with n of them per instance."""
        values = self._values(metric, n)
        targets, of_row = targets_of(ranks)
        mean, variance = np.empty((2, len(targets.pool)))
        by_end = np.lexsort((targets.above + targets.ties, targets.pool))  # a group has one end
        for block in row_blocks(len(by_end), values.shape[1]):
            rows = by_end[block]
            part = targets.of(rows)
            ends, of_end = different_rows([part.above + part.ties, part.pool])
            pmf = different_pmf(*ends, self.m * n)[of_end]
            known: dict[tuple, Floats] = {}
            for i in np.flatnonzero(part.ties):
                key = part.above[i], part.ties[i], part.group[i], of_end[i]
                if key not in known:
                    known[key] = laws_given_end(pmf[i], *key[:3])
                pmf[i] = known[key][part.place[i] - 1]
            value = values[part.order - 1]
            mean[rows] = (pmf * value).sum(axis=1)
            variance[rows] = (pmf * (value - mean[rows, None]) ** 2).sum(axis=1)
        return mean[of_row], variance[of_row]

    def _values(self, metric, n):
        """The contribution of the i-th best of n items at s = 0, ..., n m different items above."""
        most = self.m * n
        s, order = np.arange(most + 1), np.arange(1, n + 1)[:, None]
        # The number of items is random, and the formulas below do not use it.
        few, many = (
            metric.term(order + s, order, np.full_like(order, n), n + size) + np.zeros(s.shape)
            for size in (np.maximum(s, 1), most + 1)
        )
        if not np.allclose(few, many, rtol=1e-9, atol=0, equal_nan=True):
            allowed = "must be linear, or the same at a rank whatever the number of items, which "
            raise InputError("metric", f"{allowed}is random in pooled draws").got(metric)
        return few
