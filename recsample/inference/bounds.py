"""What sampled ranks can say about a metric at all, whatever the distribution of the ranks is.

Many distributions p of the ranks have the same law q = A^T p of the sampled ranks, and with it the
same sampled evaluation, even over infinitely many instances. The mean of a metric under them fills
an interval: `sharp_bounds`. From one run, q is known only within a confidence band, and the
interval is wider: `certified_interval`. Any estimate that is more precise owes that to an
assumption on p; `falling` is a weak one, that no rank is more frequent than a better one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, ndimage, optimize, special

from recsample._support import checks
from recsample._support.arrays import row_blocks
from recsample.inference.distribution import check_uniform, sampled_counts
from recsample.metrics.base import Metric
from recsample.metrics.names import exact_metric
from recsample.ranks.base import Ranks
from recsample.ranks.counts import RankCounts
from recsample.sampling.large_pools import jumps_of, law_at, means_up_to, net_of, term_at
from recsample.sampling.uniform import UniformSampling

__all__ = ["Interval", "certified_interval", "sharp_bounds"]


class Interval(NamedTuple):
    """The smallest and the largest value that the mean of a metric can have.

    Parameters
    ----------
    low : float
    high : float

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.Interval(0.1, 0.3).high
    0.3
    """

    low: float
    high: float


def sharp_bounds(
    metric: Metric | str,
    sampled_law: ArrayLike,
    sampler: UniformSampling,
    n_items: int,
    *,
    falling: bool = False,
) -> Interval:
    """All values that the mean of a metric can have where the law of the sampled ranks is known.

    Parameters
    ----------
    metric : Metric or str
    sampled_law : array_like of float, shape (m + 1,)
        Probabilities of the sampled ranks 1, ..., m + 1, such as the mean of ``sampler.pmf(ranks)``
        over the instances. A histogram from one run is in general the law of no distribution of the
        ranks: for that `certified_interval` is made.
    sampler : UniformSampling
    n_items : int
        Size n of the pool that was sampled from.
    falling : bool, optional
        Allow only distributions with p(1) >= p(2) >= ... >= p(n).

    Returns
    -------
    Interval
        By linear programming over the distributions of the ranks. Each end comes from a feasible
        point of the dual program, so that rounding can only widen the interval. Of a large pool not
        all ranks are looked at: a bound of what may lie between widens the interval a little more.
        For m above about 25 some of the m + 1 conditions are lost in rounding (at m = 100 about 60
        are left), and the others are asked for to 1e-6.

    Raises
    ------
    ValueError
        For probabilities of another shape, that are negative or do not sum to 1, and where no
        distribution of the ranks has this law.

    Examples
    --------
    Three items, one sampled. Half of the sampled ranks are 1: all ranks may be 2, or half of them 1
    and the others 3.

    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=1)
    >>> low, high = rs.inference.sharp_bounds(rs.Recall @ 1, [0.5, 0.5], sampler, n_items=3)
    >>> round(low, 9), round(high, 9)
    (0.0, 0.5)
    """
    check_uniform(sampler)
    q = checks.finite_numbers("sampled_law", sampled_law, lowest=0.0)
    if q.shape != (sampler.m + 1,) or abs(q.sum() - 1) > 1e-9:
        raise ValueError(
            f"sampled_law must be {sampler.m + 1} probabilities with sum 1, "
            f"got shape {q.shape} with sum {q.sum()}"
        )
    law, values, net = _law_and_values(metric, sampler, n_items, falling)
    # The columns of the law are nearly dependent. Along its well determined directions the
    # conditions are orthonormal; the others would say no more than rounding errors do.
    # An orthogonal reduction to m + 1 rows first, so that the decomposition is small.
    triangle = linalg.qr(law, mode="r", check_finite=False)[0][: len(q)]
    _, singular, right = linalg.svd(triangle, full_matrices=False)
    kept = singular > 1e-8 * singular[0]
    along = right[kept] / singular[kept, None]
    rows, reached = along @ law.T, along @ q
    # Where some are lost the program is ill-conditioned, and cannot be solved without some room.
    room = 0.0 if kept.all() else 1e-6
    return _extremes(values, rows, reached - room, reached + room, falling, net)


def certified_interval(
    metric: Metric | str,
    sampled: Ranks | RankCounts,
    sampler: UniformSampling,
    n_items: int,
    *,
    level: float = 0.95,
    falling: bool = False,
) -> Interval:
    """An interval that holds the exact metric with at least the given probability.

    For each s the number of instances with at most s sampled items ahead is a sum of independent
    yes-or-no outcomes, one per instance. Its mean lies within the exact limits of Clopper and
    Pearson for the binomial law, which hold for unequal probabilities too (Hoeffding, 1956 [1]_).
    His theorem needs a count that is at least one above its mean; limits at 2.5 % or less lie that
    far out, but for a count of one, where the risk can exceed the nominal by less than its square.
    They are taken at (1 - level) / m for each s < m, so that all hold at once; the interval is from
    the smallest to the largest mean of the metric over all distributions that keep to them. For m
    above 100 some of the larger s are left out: it takes less time, and fewer limits have to hold.

    Parameters
    ----------
    metric : Metric or str
    sampled : Ranks or RankCounts
        One sampled evaluation, one relevant item per instance, ``n_items = m + 1``.
    sampler : UniformSampling
    n_items : int
        Size n of the pool that was sampled from, for every instance.
    level : float, optional
        Between 0 and 1, both excluded. The probability is over the sampling; the instances are
        taken as they are.
    falling : bool, optional
        Allow only distributions with p(1) >= p(2) >= ... >= p(n). That can be assumed of a
        distribution that the ranks are drawn from, hardly of the ranks of finitely many instances;
        so the interval is then for the mean under it, over the drawing of the instances too.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        For ranks that are not sampled ranks of this sampler, a level outside its limits, and where
        no distribution, or no falling one, keeps to all limits.

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=20)
    >>> ranks = rs.Ranks(range(1, 301), n_items=300)
    >>> sampled = sampler.draw(ranks, rng=0)
    >>> low, high = rs.inference.certified_interval(rs.AUC, sampled, sampler, n_items=300)
    >>> low < 0.5 < high
    True

    References
    ----------
    .. [1] W. Hoeffding, "On the distribution of the number of successes in independent trials",
       Annals of Mathematical Statistics 27(3), 1956.
    """
    level = checks.share("level", level)
    counts = sampled_counts(sampled, sampler)
    n_instances = counts.sum()
    few = _spread(sampler.m, 200)  # of the s; up to m = 100, all
    hits = np.cumsum(counts)[few]  # instances with at most s sampled items ahead
    misses = n_instances - hits
    # All of them hold at once, and each end has half of the risk (Bonferroni).
    risk = (1 - level) / (2 * len(few))
    # Clopper and Pearson's limits are quantiles of beta laws.
    low = special.betaincinv(np.maximum(hits, 1), misses + 1, risk) * (hits > 0)
    high = 1 - special.betaincinv(np.maximum(misses, 1), hits + 1, risk) * (misses > 0)
    law, values, net = _law_and_values(metric, sampler, n_items, falling)
    # The limits are for the chance of at most s items ahead: cumulated laws.
    upto = [np.cumsum(law[part], axis=1)[:, few] for part in row_blocks(len(law), sampler.m + 1)]
    return _extremes(values, np.concatenate(upto).T, low, high, falling, net)


def _law_and_values(metric, sampler, n_items, falling):
    """The law of the sampled rank and the metric for every rank, or for a net of them.

    A falling distribution is a mixture of the uniform ones on the ranks 1, ..., r: with
    `falling`, for each of these instead.
    """
    metric = exact_metric(metric)
    pool = checks.positive_int("n_items", n_items) - 1
    whole = checks.true_or_false("falling", falling)
    jumps = jumps_of(metric, 1, 1)
    # A net has more places than there are deviations of what is observed, which are not that many.
    _bounds_fit(min(pool, int(np.sqrt(sampler.m))), sampler.m)
    net = net_of(sampler, pool, jumps, whole)
    _bounds_fit(len(net.above), sampler.m)
    if len(net.start) > 1:

        def target(above):
            return term_at(metric, above, pool)

        if whole:
            return *means_up_to(sampler, net.above, pool, target, jumps), net
        return law_at(sampler, net.above, pool), target(net.above), net
    law = sampler.law(n_items)
    values = metric.of_rank(np.arange(1, n_items + 1), n_items)
    if whole:
        size = np.arange(1.0, n_items + 1)
        return np.cumsum(law, axis=0) / size[:, None], np.cumsum(values) / size, net
    return law, values, net


def _bounds_fit(n_ranks, m):
    checks.fits_in_memory(
        32 * n_ranks * (m + 1), f"the bounds at {n_ranks} ranks with m={m}", "choose a smaller m"
    )


def _extremes(values, rows, low, high, falling, net):
    """The extremes of values @ p over distributions p with low <= rows @ p <= high."""
    smallest, minus_largest = (
        _minimum(sign * values, rows, low, high, falling, net) for sign in (1, -1)
    )
    return Interval(smallest, -minus_largest)


def _minimum(values, rows, low, high, falling, net):
    """The smaller of the two, from the dual program.

    For any multipliers y, values @ p = (values - y @ rows) @ p + y @ (rows @ p) is at least the
    smallest entry of the first bracket plus the smallest value of the second part. The solver's
    multipliers give the largest such bound, up to rounding, which can only lower it. Where not all
    ranks are looked at, the entries between them are bounded by `Net.lowest`.

    Close ranks have nearly the same law, so the program is solved on a part of the ranks; to it are
    added some of those at which the multipliers found make the first bracket smaller, until there
    are none. The interior-point method tells programs without a solution from others; the simplex
    method can give up on them.
    """
    k, n = rows.shape
    used = _spread(n, 4 * k)
    while True:
        # The unknowns are p and t = rows @ p, so that the limits on t need one row each, not two.
        size = len(used)
        lowest, highest = np.append(np.zeros(size), low), np.append(np.full(size, np.inf), high)
        programme = {
            "c": np.append(values[used], np.zeros(k)),
            "A_eq": np.block([[rows[:, used], -np.eye(k)], [np.ones(size), np.zeros(k)]]),
            "b_eq": np.append(np.zeros(k), 1.0),
            "bounds": np.column_stack([lowest, highest]),
        }
        found = optimize.linprog(**programme, method="highs-ipm")
        if found.status:  # what one cannot finish for rounding, the other can
            found = optimize.linprog(**programme, method="highs-ds")
        if found.status == 0:
            y = found.eqlin.marginals[:-1]
            rest = values - y @ rows
            missed = np.flatnonzero(rest < rest[used].min() - 1e-7)
            if not len(missed):
                bound = net.lowest(rest) + y @ np.where(y > 0, low, high)
                return float(max(bound, values.min()))
            used = np.union1d(used, _some(missed, rest, 2 * k))
        elif size < n:  # too few of the ranks
            used = _spread(n, 4 * size)
        else:
            raise ValueError(
                f"no {'falling ' if falling else ''}distribution of the ranks was found that "
                "has such a law of the sampled ranks"
            )


def _some(missed, rest, number):
    """About that many of the ranks missed, and the bottom of each dip with its neighbours."""
    bottoms = missed[(rest == ndimage.minimum_filter1d(rest, 3))[missed]]
    beside = np.concatenate([bottoms - 1, bottoms, bottoms + 1]).clip(0, len(rest) - 1)
    return np.append(missed[:: max(1, len(missed) // number)], beside)


def _spread(n, number):
    """At most that many of the indices 0, ..., n - 1, closest at the start; all for 2 n."""
    return np.unique((np.linspace(0, 1, number) ** 2 * (n - 1)).round().astype(int))
