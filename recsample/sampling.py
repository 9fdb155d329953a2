"""What sampling does to a rank: the law of the sampled rank and what follows from it.

A sampled evaluation ranks the relevant item among m sampled irrelevant ones. Of the N = n - 1
irrelevant items a = r - 1 outrank it, so the number s of sampled items that do is

    binomial, s ~ B(m, a / N)                 drawing with replacement (section 4.3), or
    hypergeometric, s ~ H(N, a, m)            drawing without replacement,

and the sampled rank is s + 1.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, special

from recsample._typing import Floats, Integers, Rng
from recsample._validation import fits_in_memory, generator, positive_int, true_or_false
from recsample.metrics import (
    GeometricMetric,
    LinearMetric,
    Metric,
    ReciprocalMetric,
    StepMetric,
    check_metric,
)
from recsample.ranks import Ranks

__all__ = ["UniformSampling"]

# The law is formed for about this many numbers at a time (32 MiB of float64).
_BLOCK = 2**22


class _Targets(NamedTuple):
    """The different situations of a relevant item, and which instance is in which."""

    above: Integers  # irrelevant items that outrank it, in the best case
    ties: Integers  # irrelevant items with its score
    pool: Integers  # all irrelevant items
    of_instance: Integers  # row of each instance in the arrays above


@dataclass(frozen=True)
class UniformSampling:
    """Draw m irrelevant items per instance, each with the same probability.

    Where the relevant item is tied, a random order of the tied items is drawn first; every method
    belongs to that two-step experiment.

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
        """The law of the sampled rank for every rank of a pool.

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
        for rows in _blocks(n_items, self.m + 1):
            law[rows] = _pmf(
                above[rows], np.full_like(above[rows], n_items - 1), self.m, self.replace
            )
        return law

    def pmf(self, ranks: Ranks) -> Floats:
        """The law of each instance's sampled rank.

        Parameters
        ----------
        ranks : Ranks
            One relevant item per instance. Under ties the law is the average of the laws of the
            ranks that a random order of the tied items gives.

        Returns
        -------
        ndarray of float, shape (instances, m + 1)
            Column s holds p(sampled rank = s + 1).

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, or a pool is too small to draw from;
            the message names the instance. Also for a law that the memory cannot hold.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).pmf(rs.Ranks([1, 3], n_items=5))
        array([[1. , 0. ],
               [0.5, 0.5]])
        """
        targets = self._targets(ranks)
        fits_in_memory(
            16 * len(ranks) * (self.m + 1), f"the law of {len(ranks)} instances with m={self.m}"
        )
        pmf = np.concatenate([p for _, p in self._pmf_blocks(targets)])
        return pmf[targets.of_instance]

    def draw(self, ranks: Ranks, rng: Rng) -> Ranks:
        """Sampled ranks: one sampled evaluation, drawn from the law without drawing any items.

        Parameters
        ----------
        ranks : Ranks
            One relevant item per instance.
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        Ranks
            With ``n_items = m + 1``, instances in the same order, ties broken at random.

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, or a pool is too small to draw from;
            the message names the instance. Also for pools of more than 10^9 items
            without replacement, and for an `rng` that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=9).draw(rs.Ranks([1, 100], n_items=100), rng=0).values
        array([ 1, 10])
        """
        above, ties, pool = _one_relevant_item(ranks)
        self._check_pool(pool)
        rng = generator(rng)
        if ties.any():
            above = above + rng.integers(0, ties, endpoint=True)
        if self.replace:
            sampled = rng.binomial(self.m, above / pool)
        elif pool.max() < 10**9:
            sampled = rng.hypergeometric(above, pool - above, self.m)
        else:
            raise ValueError(
                "n_items must be at most 1,000,000,000 to draw without replacement, "
                f"got {pool.max() + 1}; replace=True has no such limit"
            )
        return Ranks(sampled + 1, self.m + 1)

    def expect(self, metric: Metric, ranks: Ranks) -> Floats:
        """The expectation of a metric on the sampled ranks, eq. (16), exactly.

        Closed forms are used where they exist: linear metrics such as AUC (17), metrics that are a
        step (18), AP and RR (19) with its counterpart without replacement,

            E[1 / (s + 1)] = (N + 1) / ((a + 1)(m + 1)) (1 - C(N - a, m + 1) / C(N + 1, m + 1)),

        and, with replacement, RBP and the rank score through the generating function of s,

            E[z^s] = (1 - (1 - z) a / N)^m.

        Everything else is summed over the law.

        Parameters
        ----------
        metric : Metric
            Also a corrected metric, whose expectation shows how far off it is on average.
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, or a pool is too small to draw from;
            the message names the instance. Also for a `metric` that is none.

        Examples
        --------
        AUC is a metric that sampling leaves alone:

        >>> import recsample as rs
        >>> rs.UniformSampling(m=10).expect(rs.AUC, rs.Ranks([1, 25], n_items=49))
        array([1. , 0.5])
        """
        check_metric(metric)
        targets = self._targets(ranks)
        closed = self._closed_form(metric, targets)
        if closed is None:
            return self._moments(metric, targets)[0][targets.of_instance]
        return closed[targets.of_instance]

    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of a metric on the sampled ranks, by summing over their law.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, or a pool is too small to draw from;
            the message names the instance. Also for a `metric` that is none.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).variance(rs.AUC, rs.Ranks([1, 3], n_items=5))
        array([0.  , 0.25])
        """
        check_metric(metric)
        targets = self._targets(ranks)
        return self._moments(metric, targets)[1][targets.of_instance]

    def std_of_mean(self, metric: Metric, ranks: Ranks) -> float:
        """Standard deviation, over repeated sampling, of the metric's mean over the instances.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            One relevant item per instance. Instances are sampled independently.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, or a pool is too small to draw from;
            the message names the instance. Also for a `metric` that is none.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(m=1).std_of_mean(rs.AUC, rs.Ranks([3] * 100, n_items=5))
        0.05
        """
        return float(np.sqrt(self.variance(metric, ranks).sum()) / len(ranks))

    def _targets(self, ranks):
        above, ties, pool = _one_relevant_item(ranks)
        self._check_pool(pool)
        rows, of_instance = np.unique(np.stack([pool, above, ties], 1), axis=0, return_inverse=True)
        return _Targets(rows[:, 1], rows[:, 2], rows[:, 0], of_instance.reshape(-1))

    def _check_pool(self, pool):
        needed = 1 if self.replace else self.m
        if np.min(pool) < needed:
            place = f" in instance {np.argmin(pool)}" if np.ndim(pool) else ""
            raise ValueError(
                f"n_items must leave at least {needed} irrelevant items to draw m={self.m} "
                f"{'with' if self.replace else 'without'} replacement, got {np.min(pool)}{place}"
            )

    def _pmf_blocks(self, targets):
        """Slices of the targets, with the law of each."""
        for rows in _blocks(len(targets.pool), self.m + 1):
            above, ties, pool = (column[rows] for column in targets[:3])
            pmf = _pmf(above, pool, self.m, self.replace)
            tied = np.flatnonzero(ties)
            average = _average_with if self.replace else _average_without
            if len(tied):
                pmf[tied] = average(above[tied], ties[tied], pool[tied], self.m)
            yield rows, pmf

    def _moments(self, metric, targets):
        """Mean and variance of the metric for every target, by the sum (16) over the law."""
        fits_in_memory(64 * (self.m + 1), f"the law of one instance with m={self.m}")
        values = metric.of_rank(np.arange(1, self.m + 2), self.m + 1)
        mean, variance = np.empty(len(targets.pool)), np.empty(len(targets.pool))
        for rows, pmf in self._pmf_blocks(targets):
            mean[rows] = pmf @ values
            variance[rows] = (pmf * (values - mean[rows, None]) ** 2).sum(axis=1)
        return mean, variance

    def _closed_form(self, metric, targets):
        """Eqs. (17) to (19), or None where a metric has no closed form."""
        above, ties, pool, _ = targets
        if isinstance(metric, LinearMetric):
            first, last = metric.of_rank([1, self.m + 1], self.m + 1)
            return first + (last - first) * ((above + ties / 2) / pool)
        if isinstance(metric, StepMetric):
            return self._expect_step(metric, targets)
        if metric.cutoff is not None or ties.any():
            return None
        if isinstance(metric, GeometricMetric) and self.replace:
            # The generating function of the binomial law; that of the other is the sum itself.
            first = metric.of_rank(1, self.m + 1)
            return first * np.exp(self.m * np.log1p(-(1 - metric.ratio) * above / pool))
        if isinstance(metric, ReciprocalMetric):
            if self.replace:
                return _inverse_rank_with(above / pool, self.m)
            mean = np.empty(len(pool))
            for rows in _blocks(len(pool), self.m + 1):
                mean[rows] = _inverse_rank_without(above[rows], pool[rows], self.m)
            return mean
        return None

    def _expect_step(self, metric, targets):
        """Eq. (18): the metric's height times P(s < k)."""
        above, ties, pool, _ = targets
        height = metric.of_rank(1, self.m + 1)
        k = 1 if metric.cutoff is None else metric.cutoff
        if k > self.m:
            return np.full(len(pool), height)
        if self.replace and not ties.any():
            # P(s < k) as an incomplete beta function; bdtr keeps only 10 digits at m = 10^5.
            return height * special.betaincc(k, self.m - k + 1, above / pool)
        below = np.empty(len(pool))
        for rows, pmf in self._pmf_blocks(targets):
            below[rows] = pmf[:, :k].sum(axis=1)
        return height * below


def _one_relevant_item(ranks):
    if not isinstance(ranks, Ranks):
        raise ValueError(f"ranks must be Ranks, got {type(ranks).__name__}")
    several = np.flatnonzero(ranks.n_relevant != 1)
    if len(several):
        raise ValueError(
            "ranks must hold one relevant item per instance, "
            f"got {ranks.n_relevant[several[0]]} in instance {several[0]}"
        )
    terms = ranks._terms
    return terms.rank - 1, terms.ties, ranks.n_irrelevant


def _blocks(n_rows, row_length):
    step = max(1, _BLOCK // row_length)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _pmf(above, pool, m, replace):
    """P(s = 0, ..., m) for each target, shape (targets, m + 1).

    With replacement `above` may be real.

    Neighbouring probabilities have a simple ratio, so the law is built from its mode outwards and
    then normalised. No step subtracts or overflows: near the mode the relative error is a few units
    in the last place per step, where formulas through log-gamma lose it all for large pools.
    """
    fits_in_memory(64 * len(above) * (m + 1), f"the law of {len(above)} ranks with m={m}")
    s = np.arange(1.0, m + 1)
    a, rest = above[:, None].astype(float), (pool - above)[:, None].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        if replace:
            ratio = (m - s + 1) / s * (a / rest)  # p(s) / p(s - 1)
            ratio[a[:, 0] == 0] = 0.0
        else:
            ratio = (a - s + 1) / s * ((m - s + 1) / (rest - m + s))
            ratio[a < s] = 0.0  # more than there are
            ratio[rest - m + s <= 0] = np.inf  # s - 1 is below the smallest possible count
        rising = ratio >= 1.0
        up = np.cumprod(np.where(rising, 1.0, ratio), axis=1)
        down = np.cumprod(np.where(rising, 1.0 / ratio, 1.0)[:, ::-1], axis=1)[:, ::-1]
    pmf = np.ones((len(above), m + 1))
    pmf[:, 1:] *= up
    pmf[:, :-1] *= down
    return pmf / pmf.sum(axis=1, keepdims=True)


def _average_without(above, ties, pool, m):
    """The mean of the hypergeometric laws of a, ..., a + t.

    C(a, s) C(N - a, m - s) counts the subsets of size m + 1 of {0, ..., N} whose (s + 1)-th
    smallest element is a. Summed over a this telescopes to the law of one more draw from one more
    item:

        sum over a < A of p(s | a) = (N + 1) / (m + 1) P(H(N + 1, A, m + 1) > s).

    The mean over t + 1 laws is a difference of two such sums. Where t is so small that the
    difference would cost more than two digits, the laws themselves are averaged.
    """
    pmf = np.empty((len(above), m + 1))
    few = (pool + 1) > 100 * (m + 1) * (ties + 1)
    for i in np.flatnonzero(few):
        each = above[i] + np.arange(ties[i] + 1)
        pmf[i] = _weighted(np.full(len(each), 1.0 / len(each)), each, pool[i], m, False)
    above, ties, pool = above[~few], ties[~few], pool[~few]
    difference = _exceeds(above + ties + 1, pool + 1, m + 1) - _exceeds(above, pool + 1, m + 1)
    difference = np.maximum(difference, 0.0)  # rounding may fall below 0
    pmf[~few] = difference / difference.sum(axis=1, keepdims=True)
    return pmf


def _exceeds(above, pool, m):
    """P(H(N, a, m) > s) for s = 0, ..., m - 1."""
    upper = np.cumsum(_pmf(above, pool, m, False)[:, ::-1], axis=1)[:, ::-1]
    return upper[:, 1:]


def _average_with(above, ties, pool, m):
    """The mean of the binomial laws of a, ..., a + t.

    p(s | a) is a polynomial of degree m in a, so Gauss quadrature for the uniform weight on the t +
    1 points, with at least (m + 1) / 2 nodes, gives the mean exactly. Fewer do for large m: on the
    ellipse around the points where |p| + |1 - p| = cosh(u) no p(s | a) exceeds cosh(u)^m, so the
    error of K nodes is of the order of min over u of exp(m u^2 / 2 - 2 K u) = exp(-2 K^2 / m).
    """
    enough = min(m // 2 + 1, int(4.5 * np.sqrt(m)) + 2)  # exp(-40) = 4e-18
    pmf = np.empty((len(above), m + 1))
    for i, (a, t, n) in enumerate(zip(above, ties, pool)):
        nodes, weights = _gauss_on_points(t + 1, enough)
        pmf[i] = _weighted(weights, a + nodes, n, m, True)
    return pmf


def _weighted(weights, above, pool, m, replace):
    """The weighted sum of the laws of several numbers of items above, formed in blocks."""
    total = np.zeros(m + 1)
    for part in _blocks(len(above), m + 1):
        total += weights[part] @ _pmf(above[part], np.full_like(above[part], pool), m, replace)
    return total


def _gauss_on_points(n_points, n_nodes):
    """Nodes and weights of the Gauss rule for the uniform distribution on 0, ..., n_points - 1.

    From the recurrence of the discrete Legendre (Gram) polynomials, by Golub and Welsch.
    """
    if n_nodes >= n_points:
        return np.arange(n_points, dtype=float), np.full(n_points, 1.0 / n_points)
    k = np.arange(1.0, n_nodes)
    off = np.sqrt(k**2 * (float(n_points) ** 2 - k**2) / (4 * (4 * k**2 - 1)))
    nodes, vectors = linalg.eigh_tridiagonal(np.full(n_nodes, (n_points - 1) / 2), off)
    return np.clip(nodes, 0, n_points - 1), vectors[0] ** 2


def _inverse_rank_with(p, m):
    """Eq. (19): E[1 / (s + 1)] for s ~ B(m, p), with its limit 1 at p = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = -np.expm1((m + 1) * np.log1p(-p)) / (p * (m + 1))
    return np.where(p == 0, 1.0, mean)


def _inverse_rank_without(above, pool, m):
    """E[1 / (s + 1)] for s ~ H(N, a, m); see `UniformSampling.expect`."""
    fits_in_memory(64 * len(above) * (m + 1), f"the chances of {len(above)} ranks with m={m}")
    j = np.arange(m + 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # log of C(N - a, m + 1) / C(N + 1, m + 1), the chance that m + 1 of N + 1 miss a + 1 items
        share = (above[:, None] + 1.0) / (pool[:, None] + 1.0 - j)
        missed = np.where(share >= 1, -np.inf, np.log1p(-np.minimum(share, 1))).sum(axis=1)
    return -np.expm1(missed) * (pool + 1) / ((above + 1.0) * (m + 1))
