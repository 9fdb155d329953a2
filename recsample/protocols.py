"""Unusual ways in which libraries draw negatives.

RecBole's "uni" modes draw with replacement, pool the draws of all relevant items of a user, and
rank among what is different: `PooledSampling` knows the law of that. WarpRec draws more items than
it needs, sorts them and keeps the lowest numbers: `lowest_ids` does the same, so that it can be
seen what this leads to.
"""

from dataclasses import dataclass

import numpy as np

from recsample._counts import different_pmf, laws_given_end, row_blocks
from recsample._joint import linear_moments, moments_of
from recsample._typing import Floats, Integers, Rng, Sparse
from recsample._validation import fits_in_memory, generator, positive_int
from recsample.metrics import LinearMetric, Metric, check_metric
from recsample.negatives import as_excluded, candidates_of
from recsample.ranks import Ranks, check_ranks
from recsample.sampling import UniformSampling

__all__ = ["PooledSampling", "lowest_ids"]

# Counts with a smaller chance are left out of expectations.
_NEVER = 1e-25


@dataclass(frozen=True)
class PooledSampling:
    """Draw m times with replacement for each relevant item, and rank among the different items.

    An instance with L relevant items has L m draws, and all relevant items are ranked together
    among the D different items drawn. D is random; but whatever it is, every set of D irrelevant
    items is equally likely. So this is `UniformSampling` without replacement, of a random size:
    given D, its laws and its corrections apply with m = D.

    Parameters
    ----------
    m : int
        Number of draws for each relevant item, at least 1.

    Examples
    --------
    One relevant item and 100 draws leave 98.6 different items of 3,540 on average; ten relevant
    items, 871.3:

    >>> import numpy as np
    >>> from recsample.protocols import PooledSampling
    >>> sampler = PooledSampling(m=100)
    >>> sizes = [sampler.sizes(3540, n_relevant=n) for n in (1, 10)]
    >>> [round(float(p @ np.arange(len(p))), 1) for p in sizes]
    [98.6, 871.3]
    """

    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", positive_int("m", self.m))

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
        Two draws from three items:

        >>> from recsample.protocols import PooledSampling
        >>> PooledSampling(m=2).sizes(3).round(3)
        array([0.   , 0.333, 0.667])
        """
        pool = positive_int("n_irrelevant", n_irrelevant)
        return self._different(pool, pool, positive_int("n_relevant", n_relevant))

    def draw(self, ranks: Ranks, rng: Rng) -> Ranks:
        """Sampled ranks: one evaluation.

        Parameters
        ----------
        ranks : Ranks
            At least one relevant item per instance.
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        Ranks
            With D + L as ``n_items``, one number per instance; ties broken at random.

        Raises
        ------
        ValueError
            For an instance without a relevant or without an irrelevant item.

        Examples
        --------
        >>> import recsample as rs
        >>> sampled = rs.PooledSampling(m=9).draw(rs.Ranks([1, 100], n_items=100), rng=0)
        >>> (sampled.values == [1, sampled.n_items[1]]).all()
        np.True_
        """
        pool, n_relevant = _checked(ranks)
        rng = generator(rng)
        size = np.zeros(len(ranks), np.int64)
        n_draws = self.m * n_relevant
        for k in range(int(n_draws.max())):
            size += (k < n_draws) & (rng.random(len(size)) * pool >= size)
        # The number of different items first, then as many without replacement.
        several = isinstance(ranks.values, tuple)
        values = np.empty(len(ranks), object if several else np.int64)
        for d in np.unique(size):
            which = np.flatnonzero(size == d)
            drawn = UniformSampling(int(d)).draw(_subset(ranks, which), rng).values
            for i, value in zip(which, drawn) if several else ((which, drawn),):
                values[i] = value
        return Ranks(values, size + n_relevant)

    def expect(self, metric: Metric, ranks: Ranks) -> Floats:
        """The expectation of a metric on the sampled ranks, exactly.

        Of the a items that outrank a relevant one, the number s of different ones drawn is itself a
        chain: the next draw is one more with probability (a - s) / N. Its law after L m draws takes
        O(L^2 m^2) operations for each relevant item, or fewer, as rare counts are left out.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            At least one relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For an instance without a relevant item or without an irrelevant one, for a `metric`
            that is none, and for a corrected one, which holds for a single size of the sample.

        Examples
        --------
        Fewer different items than draws, so fewer that can outrank the relevant one:

        >>> import recsample as rs
        >>> ranks = rs.Ranks([100], n_items=1000)
        >>> samplers = rs.PooledSampling(99), rs.UniformSampling(99)
        >>> [sampler.expect(rs.Recall @ 10, ranks).round(3) for sampler in samplers]
        [array([0.538]), array([0.471])]
        """
        pool, n_relevant = _checked(ranks)
        check_metric(metric)
        metric._check_cutoff()
        if isinstance(metric, LinearMetric):
            return UniformSampling(1).expect(metric, ranks)  # which no size of the sample changes
        if not metric.additive:
            return self._moments(metric, ranks)[0]
        mean = np.zeros(len(ranks))
        for n in np.unique(n_relevant):
            which = np.flatnonzero(n_relevant == n)
            mean[which] = self._sums(metric, _subset(ranks, which), int(n))
        return mean

    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of a metric on the sampled ranks, exactly.

        Given the different items drawn that outrank a relevant one, those that outrank the one
        before are as in `UniformSampling` without replacement. So their counts are a Markov chain
        here too. It takes O(L^3 m^2) operations for each different instance, or fewer, as rare
        counts are left out: a few hundredths of a second for ten relevant items of 3,000 and m =
        100, and some tenths where they are tied. AUC and the percentile rank have a closed form.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            At least one relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As for `expect`, and for more draws than the memory holds a joint law of.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.PooledSampling(m=1).variance(rs.AUC, rs.Ranks([1, 3], n_items=5))
        array([0.  , 0.25])
        """
        return self._moments(metric, ranks)[1]

    def std_of_mean(self, metric: Metric, ranks: Ranks) -> float:
        """Standard deviation, over repeated sampling, of the metric's mean over the instances.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            At least one relevant item per instance. Instances are sampled independently.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            For an instance without a relevant or without an irrelevant item.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.PooledSampling(m=1).std_of_mean(rs.AUC, rs.Ranks([3] * 100, n_items=5))
        0.05
        """
        return float(np.sqrt(self.variance(metric, ranks).sum()) / len(ranks))

    def _moments(self, metric, ranks):
        """Mean and variance for every instance."""
        pool, n_relevant = _checked(ranks)
        check_metric(metric)
        metric._check_cutoff()
        if isinstance(metric, LinearMetric):
            kinds, kind = np.unique(np.stack([pool, n_relevant]), axis=1, return_inverse=True)
            noise = np.array([self._noise(*map(int, each)) for each in kinds.T])
            return linear_moments(metric, ranks, noise[kind.reshape(-1)])
        most = int(np.minimum(self.m * n_relevant, pool).max())
        fits_in_memory(64 * (most + 1) ** 2, f"the joint law of {most} sampled items")

        def law(end, pool, n):
            return self._different(end, pool, n, _NEVER)[: pool + 1]

        every = np.full(len(ranks), True)
        return moments_of(metric, ranks, every, lambda n: self._values(metric, n), law, False)

    def _noise(self, pool, n_relevant):
        """The mean of (N - D) / (N - 1) / D, by which the share of an item in the sample varies."""
        size = np.arange(1, self.m * n_relevant + 1)
        return self.sizes(pool, n_relevant)[1:] @ ((pool - size) / max(pool - 1, 1) / size)

    def _sums(self, metric, ranks, n):
        """The means of an additive metric of instances with n relevant items each."""
        values, terms = self._values(metric, n), ranks._terms
        instance, order, rank, ties, group, place = terms
        pool, above = ranks.n_irrelevant[instance], rank - order
        keys, key = np.unique(np.stack([above + ties, pool], 1), axis=0, return_inverse=True)
        key, mean = key.reshape(-1), np.empty(len(order))
        for rows in row_blocks(len(keys), values.shape[1]):
            laws = different_pmf(*keys[rows].T, self.m * n, _NEVER)
            here = (key >= rows.start) & (key < rows.stop)
            mean[here] = (laws @ values.T)[key[here] - rows.start, order[here] - 1]
            for i in np.flatnonzero(here & (ties > 0) & (place == 1)):
                tied = slice(i, i + group[i])
                each = laws_given_end(laws[key[i] - rows.start], above[i], ties[i], group[i])
                mean[tied] = (each * values[order[tied] - 1]).sum(axis=1)
        return np.bincount(instance, mean)

    def _values(self, metric, n):
        """What n relevant items contribute at s = 0, ..., n m, shape (n, n m + 1)."""
        s, order = np.arange(self.m * n + 1), np.arange(1, n + 1)[:, None]
        # A sample of s items, as small as can be: what follows is for metrics that do not know it.
        return metric._term(order + s, order, np.int64(n), n + np.maximum(s, 1)) + np.zeros(s.shape)

    def _different(self, above, pool, n_relevant, least=0.0):
        """P(s = 0, ..., L m) of the different items drawn among the first `above`."""
        return different_pmf(np.array([above]), np.array([pool]), self.m * n_relevant, least)[0]


def lowest_ids(m: int, exclude: Sparse, rng: Rng) -> Integers:
    """Lists of negatives from a sampler with a mistake: it keeps the lowest item numbers.

    For each user 2 m items are drawn with replacement, excluded ones are left out, the rest is
    sorted and made unique, and the first m are kept. Where fewer are left, further candidates are
    drawn one by one.

    Parameters
    ----------
    m : int
        Length of each list.
    exclude : sparse matrix, shape (users, items)
        The items that are not drawn: the training set and the relevant items.
    rng : int or numpy.random.Generator
        A seed, or a generator that is advanced.

    Returns
    -------
    ndarray of int, shape (users, m)
        Without repetition within a user.

    Raises
    ------
    ValueError
        If a user has fewer than m candidates; the message names the user.

    Examples
    --------
    The upper half of the items is hardly ever listed:

    >>> from scipy import sparse
    >>> from recsample import protocols
    >>> lists = protocols.lowest_ids(10, sparse.csr_matrix((100, 1000)), rng=0)
    >>> round(float((lists >= 500).mean()), 2)
    0.1
    """
    m, exclude, rng = positive_int("m", m), as_excluded(exclude), generator(rng)
    lists = np.empty((exclude.shape[0], m), np.int64)
    for row, candidates in zip(lists, candidates_of(exclude, m)):
        drawn = np.unique(rng.integers(exclude.shape[1], size=2 * m))
        kept = np.intersect1d(drawn, candidates, assume_unique=True)[:m]
        others = np.setdiff1d(candidates, kept, assume_unique=True)
        row[:] = np.append(kept, rng.choice(others, m - len(kept), replace=False))
    return lists


def _checked(ranks):
    """The numbers of irrelevant and of relevant items, none of them 0."""
    check_ranks(ranks)
    for name, number in (("relevant", ranks.n_relevant), ("irrelevant", ranks.n_irrelevant)):
        if (number == 0).any():
            raise ValueError(
                f"ranks must have {name} items in every instance, "
                f"got none in instance {np.argmin(number)}"
            )
    return ranks.n_irrelevant, ranks.n_relevant


def _subset(ranks, which):
    """The Ranks of some of the instances."""
    values, n_items, ties = (
        _taken(given, which) for given in (ranks.values, ranks.n_items, ranks.ties)
    )
    return Ranks(values, n_items, ties=ties)


def _taken(given, which):
    if isinstance(given, tuple):
        return [given[i] for i in which]
    return given[which] if isinstance(given, np.ndarray) else given
