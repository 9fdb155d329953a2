"""The distribution of the ranks, estimated from sampled ranks.

Let the ranks of the instances be draws from a distribution p(r). Then the sampled ranks follow
q = A^T p, with the law A of the sampling, and p is to be found from their histogram h. This is
ill-posed: ranks closer than about n / m are hardly distinguishable, and h is noisy. Each method
regularises in its own way: `expectation_maximisation` by stopping early, `maximum_entropy` by the
flattest distribution that fits. The mean of a metric under p estimates the metric (`plug_in`), and
p can be the ``prior`` of a correction of the same run.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy

from recsample._support import checks
from recsample._support.arrays import counted, summed
from recsample._support.errors import InputError
from recsample._support.typing import Floats
from recsample.inference.likelihood.mixtures import EM_ITERATIONS, em_steps
from recsample.metrics.base import Metric
from recsample.metrics.names import exact_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_relevant, rows_of
from recsample.ranks.counts import RankCounts
from recsample.sampling.large_pools import pool_of
from recsample.sampling.uniform import UniformSampling

__all__ = ["best_gamma", "plausible_prior", "plug_in", "rank_distribution"]


def sampled_counts(sampled: Ranks | RankCounts, sampler: UniformSampling) -> Floats:
    """The number of instances with each sampled rank, shape (m + 1,): the data of estimates."""
    check_uniform(sampler)
    sampled, counts = rows_of(sampled, "sampled")
    check_one_relevant(sampled, "sampled")
    ties, m = sampled.rows.ties, sampled.n_irrelevant
    got, remedy = "{} in instance {at}", "; break_ties draws an order"
    checks.refuse_first(ties > 0, "sampled", "must have no ties", got, ties, remedy=remedy)
    allowed, got = "must have n_items = m + 1 = {0}", "{1} in instance {at}"
    checks.refuse_first(m != sampler.m, "sampled", allowed, got, sampler.m + 1, m + 1)
    if counts is not None:
        return summed(sampled.rows.rank - 1, counts, sampler.m + 1)
    return counted(sampled.rows.rank - 1, sampler.m + 1).astype(float)


def check_uniform(sampler: Any) -> UniformSampling:
    """Return ``sampler``; raise an InputError if it is not `UniformSampling`."""
    if not isinstance(sampler, UniformSampling):
        allowed = "must be UniformSampling, such as UniformSampling(100)"
        raise InputError("sampler", allowed).got(checks.shown(sampler))
    return sampler


def rank_distribution(
    sampled: Ranks | RankCounts,
    sampler: UniformSampling,
    n_items: int,
    method: Literal["em", "mes"] = "em",
) -> Floats:
    """The distribution of the ranks, estimated from one run of sampled ranks.

    Parameters
    ----------
    sampled : Ranks or RankCounts
        One sampled evaluation without ties, one relevant item per instance, ``n_items = m + 1``.
    sampler : UniformSampling
    n_items : int
        Size n of the pool that was sampled from, at most 10^7.
    method : {"em", "mes"}, optional
        30 iterations of the EM algorithm from a uniform start, or the distribution with the best
        balance of entropy and fit.

    Returns
    -------
    ndarray of float, shape (n_items,)
        Probabilities of the ranks 1, ..., n.

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=99)
    >>> sampled = sampler.draw(rs.Ranks([50] * 1000, n_items=10_000), rng=0)
    >>> p = rs.inference.rank_distribution(sampled, sampler, 10_000)
    >>> p.shape, bool(p[:200].sum() > 0.9)
    ((10000,), True)
    """
    if checks.one_of("method", method, ("em", "mes")) == "em":
        return expectation_maximisation(sampled, sampler, n_items)
    return maximum_entropy(sampled, sampler, n_items)


def expectation_maximisation(
    sampled: Ranks | RankCounts,
    sampler: UniformSampling,
    n_items: int,
    *,
    iterations: int = EM_ITERATIONS,
) -> Floats:
    """The EM estimate of the distribution of the ranks, from a uniform start.

    Every iteration multiplies p(r) by the mean, over h, of p(s | r) / q(s), which raises the
    likelihood. The maximum itself is a distribution on a few ranks that fits the noise, so the
    number of iterations is the regulariser. For a large pool the computation uses some ranks only.
    """
    counts = sampled_counts(sampled, sampler)
    pool = _pool(sampler, n_items, iterations + 1)
    p, ratios = em_steps(counts, pool.law, pool.weight, iterations)
    if len(p) < n_items:
        # From a uniform start p is the product of its factors, each smooth in the rank: so it can
        # be interpolated between the ranks used.
        factors = np.stack(ratios, axis=1)
        p = pool.at_all(lambda law: law @ factors, lambda f: np.maximum(f, 0.0).prod(axis=1))
    return p / p.sum()


def _pool(sampler, n_items, factors):
    """The ranks of a large pool that are used, for products of `factors` laws."""
    return pool_of(sampler, checks.check_n_items(n_items, 32, "a distribution"), factors)


def maximum_entropy(
    sampled: Ranks | RankCounts, sampler: UniformSampling, n_items: int, *, weight: float = 30.0
) -> Floats:
    """The distribution of the ranks with the best balance of entropy and fit.

    Maximises `weight` times the entropy of p minus chi^2 / 2, where chi^2 is the sum over s of
    ``|D| (h_s - q_s)^2 / v_s`` for ``|D|`` instances, with v_s the law of the sampled ranks under
    the EM estimate (the histogram itself would pull the fit towards cells that are small by
    chance). The solution is p(r) proportional to exp(sum over s of lambda_s p(s | r)), and lambda
    maximises a concave function of m + 1 variables, by Newton's method.
    """
    counts = sampled_counts(sampled, sampler)
    pool = _pool(sampler, n_items, EM_ITERATIONS + 1)
    # Expected shares of the cells, at least a thousandth of an instance: none may be 0.
    estimate, _ = em_steps(counts, pool.law, pool.weight)
    expected = np.maximum(estimate @ pool.law, 1e-3 / counts.sum())
    ridge = weight * expected / counts.sum()
    multipliers = _most_entropy(pool.law, counts / counts.sum(), ridge, np.log(pool.weight))
    return scipy.special.softmax(pool.at_all(lambda law: law @ multipliers, np.asarray))


def _most_entropy(law, aim, ridge, log_weight):
    """The multipliers x of the distribution softmax(law @ x + log_weight) with the best balance.

    It balances the entropy, relative to the weights of the rows, and the squared differences of
    ``law.T @ p`` and the aim, over twice the ridge: a concave dual, maximised by Newton's method.
    """

    def dual(x):
        return x @ (aim - ridge * x / 2) - scipy.special.logsumexp(law @ x + log_weight)

    x = np.zeros(len(aim))
    for _ in range(200):
        p = scipy.special.softmax(law @ x + log_weight)
        mean = p @ law
        gradient = aim - mean - ridge * x
        # The covariance of the law's rows under p, and the ridge of the fit: positive definite.
        rows = law * np.sqrt(p)[:, None]
        curvature = rows.T @ rows - np.outer(mean, mean) + np.diag(ridge)
        step = scipy.linalg.solve(curvature, gradient, assume_a="pos")
        gain = gradient @ step
        if gain < 1e-13:
            return x
        # Halved until the dual rises as its slope promises, up to rounding.
        value = dual(x)
        while dual(x + step) < value + 1e-4 * gain - 1e-14:
            step, gain = step / 2, gain / 2
        x = x + step
    raise RuntimeError("the distribution of most entropy was not found in 200 steps")


def plug_in(metric: Metric | str, distribution: Floats) -> float:
    """The mean of a metric under a distribution of the ranks.

    Parameters
    ----------
    metric : Metric or str
    distribution : array_like of float, shape (n_items,)
        Probabilities of the ranks 1, ..., n, with sum 1.

    Returns
    -------
    float

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.plug_in(rs.AP, [0.5, 0.5, 0.0, 0.0])
    0.75
    """
    p = checks.finite_numbers("distribution", distribution, lowest=0.0)
    if p.ndim != 1 or abs(p.sum() - 1) > 1e-9:
        allowed = "must be an array of probabilities with sum 1"
        raise InputError("distribution", allowed).got(f"shape {p.shape} with sum {p.sum()}")
    return float(p @ exact_metric(metric).of_rank(np.arange(1, len(p) + 1), len(p)))


def plausible_prior(n_items: int) -> Floats:
    """A prior for the ranks: the mean of a family of plausible rank distributions.

    The members are p(r) proportional to (r - 1 + d)^-beta: power laws with beta = 0, 0.1, ..., 1,
    from a random recommender to one whose ranks are evenly spread on a logarithmic scale, that
    level off above a rank of about d = 1, 10 or 100; else the very first ranks would have far more
    relevant items than recommenders have.

    Parameters
    ----------
    n_items : int
        Size n of the pool, from 1 to 10^7; another one is refused with a `ValueError`.

    Returns
    -------
    ndarray of float, shape (n_items,)

    Examples
    --------
    >>> import recsample as rs
    >>> prior = rs.inference.plausible_prior(1000)
    >>> corrected = rs.BiasVariance(rs.AP, rs.UniformSampling(m=99), 1000, gamma=0.1, prior=prior)
    """
    n_items = checks.check_n_items(n_items, 40, "a plausible prior")
    ahead = np.arange(n_items)
    prior = np.zeros(len(ahead))
    for level in (1.0, 10.0, 100.0):
        for power in np.linspace(0, 1, 11):
            member = (ahead + level) ** -power
            prior += member / member.sum()
    return prior / prior.sum()


def best_gamma(n_instances: int, concentration: float = 10.0) -> float:
    """The gamma of `BiasVariance` that suits the size of a study.

    Let the ranks of ``|D|`` instances be draws from an unknown p, a draw from the Dirichlet law
    with mean p0 and concentration c. Among all values that can be averaged over the instances, the
    bias-variance ones with prior p0 and ``gamma = (c + 1) / (c + |D|)`` have the least expected
    squared error. One instance has gamma = 1, the posterior mean. In a large study the variance
    averages out and the bias remains. With c near 0 the prior counts for almost nothing; a large c
    is a strong belief in p0. The default is a choice: with `plausible_prior`, of 0, 10, 50 and 200
    it has the smallest median error over the populations of ``scripts/record_coverage.py`` that
    were not held out, averaged over 300 and 6,000 instances (for 6,000 only, 50 has it); its mean
    error is hardly larger than that of 0.

    Parameters
    ----------
    n_instances : int
        ``|D|``, at least 1.
    concentration : float, optional
        The number c, at least 0. Less is refused with a `ValueError`, as is no instance.

    Returns
    -------
    float
        Above 0, at most 1.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.best_gamma(1), rs.inference.best_gamma(1090)
    (1.0, 0.01)
    """
    n_instances = checks.positive_int("n_instances", n_instances)
    c = checks.nonnegative_float("concentration", concentration)
    return (c + 1) / (c + n_instances)
