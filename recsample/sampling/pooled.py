"""What RecBole's "uni" modes draw: with replacement, and pooled over a user's relevant items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recsample._support.arrays import different_rows, row_blocks, summed
from recsample._support.checks import generator, positive_int, refuse_first
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Drawable, Sampler
from recsample.sampling.joint import moments_of
from recsample.sampling.laws import check_draws, different_pmf, laws_given_end, linear_moments
from recsample.sampling.uniform import UniformSampling

# Counts with a smaller chance are left out of expectations.
_NEVER = 1e-25


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
    operations for each relevant item and a variance O(L^3 m^2) for each different instance, or
    fewer, as rare counts are left out; for AUC and the percentile rank there is a closed form.

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
        check_draws(int(n_draws.max()), "the number of different items")
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
        """How many instances of each rank get each number of different items, then their ranks."""
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
        metric, ranks = self._asked(metric, ranks)
        if isinstance(metric.shape, Linear) and metric.sampler is None:
            return UniformSampling(1).expect(metric, ranks)  # which no size of the sample changes
        if metric.sampler is not None or not metric.additive:
            return self.moments(metric, ranks)[0]
        mean = np.zeros(len(ranks))
        for n in np.unique(ranks.n_relevant):
            which = ranks.n_relevant == n
            mean[which] = self._sums(metric, ranks[which], int(n))
        return mean

    def moments(self, metric: Metric | str, ranks: Ranks) -> tuple[Floats, Floats]:
        metric, ranks = self._asked(metric, ranks)
        pool, n_relevant = ranks.n_irrelevant, ranks.n_relevant
        if metric.sampler is not None:
            return self._moments_by_size(metric, ranks)
        if isinstance(metric.shape, Linear):
            return linear_moments(metric, ranks, self._noise(pool, n_relevant))
        # Given the different items drawn that outrank a relevant one, those that outrank the one
        # before are as without replacement: their counts are a Markov chain here too.
        most = int(np.minimum(self.m * n_relevant, pool).max())

        def law(end, pool, n):
            laws = np.zeros((len(end), most + 1))
            for k in np.unique(n).tolist():
                which = np.flatnonzero(n == k)
                some = different_pmf(end[which], pool[which], self.m * k, _NEVER)[:, : most + 1]
                laws[which, : some.shape[1]] = some
            return laws

        def values(order, n):
            return self._values(metric, order, n, most)

        every = np.full(len(ranks), True)
        mean, variance = moments_of(metric, ranks, every, values, law, most + 1, False)
        return mean, variance

    def _checked(self, ranks):
        """``ranks``; an instance without a relevant or without an irrelevant item is refused."""
        check_ranks(ranks)
        for name, number in (("relevant", ranks.n_relevant), ("irrelevant", ranks.n_irrelevant)):
            message = f"ranks must have {name} items in every instance, got none in instance {{at}}"
            refuse_first(number == 0, message)
        return ranks

    def _moments_by_size(self, metric, ranks):
        """Those of a correction, which knows the size D: given each D, and then over its law."""
        kinds, kind = different_rows([ranks.n_irrelevant, ranks.n_relevant])
        mean, variance = np.zeros(len(ranks)), np.zeros(len(ranks))
        for i, (pool, n) in enumerate(np.transpose(kinds).tolist()):
            which = kind == i
            law, some, seen = self.sizes(pool, n), ranks[which], 0.0
            for d in np.flatnonzero(law > _NEVER).tolist():
                # One size after the other, so that no two are kept: West's running mean.
                of_size, within = UniformSampling(d).moments(metric.of_size(d), some)
                seen += law[d]
                off = of_size - mean[which]
                mean[which] += off * (law[d] / seen)
                variance[which] += law[d] * (within + off * (of_size - mean[which]))
        return mean, variance

    def _noise(self, pool, n_relevant):
        """The mean of (N - D) / (N - 1) / D, by which the share of an item in the sample varies."""
        kinds, kind = different_rows([pool, n_relevant])
        noise = np.empty(len(kinds[0]))
        for i, (n, k) in enumerate(np.transpose(kinds).tolist()):
            size = np.arange(1, self.m * k + 1)
            noise[i] = self.sizes(n, k)[1:] @ ((n - size) / max(n - 1, 1) / size)
        return noise[kind]

    def _sums(self, metric, ranks, n):
        """The means of an additive metric of instances with n relevant items each."""
        values = self._values(metric, np.arange(1, n + 1), np.full(n, n), self.m * n)
        instance, order, rank, ties, group, place = ranks.rows
        pool, above = ranks.n_irrelevant[instance], rank - order
        (ends, pools), key = different_rows([above + ties, pool])
        mean = np.empty(len(order))
        for rows in row_blocks(len(ends), values.shape[1]):
            laws = different_pmf(ends[rows], pools[rows], self.m * n, _NEVER)
            here = (key >= rows.start) & (key < rows.stop)
            mean[here] = (laws @ values.T)[key[here] - rows.start, order[here] - 1]
            for i in np.flatnonzero(here & (ties > 0) & (place == 1)):
                tied = slice(i, i + group[i])
                each = laws_given_end(laws[key[i] - rows.start], above[i], ties[i], group[i])
                mean[tied] = (each * values[order[tied] - 1]).sum(axis=1)
        return summed(instance, mean, len(ranks))

    def _values(self, metric, order, n, most):
        """What items of the given orders, of n each, contribute at s = 0, ..., `most`."""
        check_draws(most, "the number of different items")
        s, order, n = np.arange(most + 1), order[:, None], n[:, None]
        # How many items there are is random, and what follows does without it.
        few, many = (
            metric.term(order + s, order, n, n + size) + np.zeros(s.shape)
            for size in (np.maximum(s, 1), most + 1)
        )
        if not np.allclose(few, many, rtol=1e-9, atol=0, equal_nan=True):
            raise ValueError(
                "metric must be linear, or the same at a rank whatever the number of items, which "
                f"is random in pooled draws; {metric} is not"
            )
        return few
