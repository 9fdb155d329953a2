"""Comparisons of two recommenders: limits of a difference, and the probability of an order.

They are compared on the same instances, by their differences on each instance. A mean over sampled
instances varies because other negatives could have been drawn, and because other instances could
have been evaluated; the variance of the differences includes both. All statements are about the
expectation of the given metric: for a metric of sampled ranks that differs from the exact metric,
to which a corrected metric comes closer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._support import checks
from recsample._support.arrays import places_in, split
from recsample._support.errors import InputError
from recsample._support.numerics import gaffke_reach, limits_of_means, mean_of, upper_limits
from recsample._support.typing import Floats, Integers
from recsample.corrections.base import Correction
from recsample.inference.distribution import check_uniform
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.likelihood.strata import Assumption
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.names import the_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import (
    check_as_many,
    check_one_kind,
    check_pairable,
    check_same_instances,
    rows_of,
)
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Observed
from recsample.sampling.uniform import UniformSampling

__all__ = ["Comparison", "order_probability", "paired_comparison"]


class Comparison(NamedTuple):
    """Two recommenders compared on the same instances; what `paired_comparison` returns.

    Parameters
    ----------
    difference : float
        Mean of A minus mean of B.
    low, high : float
        Its limits.
    probability : float
        One minus the one-sided p-value of "A's mean is not above B's": the level at which a
        one-sided limit of the difference is 0.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.Comparison(0.02, 0.001, 0.039, 0.98).difference
    0.02
    """

    difference: float
    low: float
    high: float
    probability: float


_UNKNOWN = Comparison(np.nan, np.nan, np.nan, np.nan)
# Exact ranks, what a design has observed, or the values themselves.
Evaluated = Ranks | Observed | ArrayLike


def paired_comparison(
    metric: Metric | str | None, a: Evaluated, b: Evaluated, *, level: float = 0.95
) -> Comparison:
    """Compare two recommenders on the same instances, by their difference on each instance.

    What the two have in common cancels in the differences. The limits of their mean are for other
    instances like these, and for new draws where ranks are sampled or observed: Gaffke's, which
    count one more difference, the largest that a metric can have, or Student's for values of your
    own, whose range is not known, and for estimates of a design that pass the range of the metric.
    A corrected metric has a bias that does not cancel. Its interval is that of the difference of
    the *exact* means, by scores as in `recsample.inference.limits`, under the assumption
    "decreasing", or none where the data contradict it.

    Parameters
    ----------
    metric : Metric, str or None
        Also a corrected metric. None for values.
    a, b : Ranks, Observed, or array_like of float, shape (instances,)
        The ranks of the two recommenders, exact or sampled; observations of a design; or a value
        per instance. The same instances in the same order, at least two. Pools may differ, for
        example where each recommender leaves out other items.
    level : float, optional
        The confidence level of the limits.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For different instances, fewer than two, values that are undefined, ranks among clearly
        different numbers of items (twice as many; of drawn ones, a quarter more), and a correction
        for another sampler than `UniformSampling`.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([1, 2, 1, 4] * 9, n_items=10), rs.Ranks([2, 4, 1, 5] * 9, n_items=10)
    >>> found = rs.inference.paired_comparison(rs.AP, a, b)
    >>> found.difference, round(found.low, 2), round(found.high, 2), round(found.probability, 2)
    (0.2, 0.08, 0.29, 1.0)
    """
    level = checks.fraction("level", level)
    differences = _differences(metric, a, b)
    if isinstance(metric, Correction):
        exact = _of_exact_means(metric, a, b, level)
        return exact._replace(difference=float(differences.mean()))
    if len(differences) < 2:
        raise InputError("a and b", "must hold at least two instances").got(len(differences))
    ends = None
    if metric is not None:
        ends = ends_of_difference(the_metric(metric), _pools_of(a), _pools_of(b))
    return of_differences(differences[None], level, ends)[0]


def _pools_of(evaluated):
    """Ranks in the same pools, with as many relevant items."""
    if isinstance(evaluated, Ranks):
        return evaluated
    n = evaluated.n_relevant
    return Ranks(split(1 + places_in(n), n), evaluated.n_items)


def _of_exact_means(correction, a, b, level):
    metric, replace = correction.metric, check_uniform(correction.sampler).replace
    runs = [SampledRun(ranks, correction.n_items, replace, [metric], 2) for ranks in (a, b)]
    assumption = supported(metric, *runs)
    return compared(metric, [(runs[0], runs[1])], assumption, level)[0] if assumption else _UNKNOWN


def compared(
    metric: Metric,
    pairs: Sequence[tuple[SampledRun, SampledRun]],
    assumption: Assumption,
    level: float,
) -> list[Comparison]:
    """Compare the exact means of pairs of recommenders from sampled ranks of the same instances.

    An upper score of A less a lower one of B bounds their difference for each instance, with what
    the two have in common. The estimate is the difference of the two, which may be outside.
    """
    ends, p_values = {}, {}
    counts = np.ones(len(pairs[0][0].sampled))
    for sign in (-1, 1):
        rows, most = [], []
        for a, b in pairs:
            (upper, highest), (lower, lowest) = (
                one.bounds(metric, assumption, which) for one, which in ((a, sign), (b, -sign))
            )
            rows.append(a.of_each(upper) + b.of_each(lower))
            most.append(highest + lowest)
        about = np.array(rows), np.array(most), level, counts, pairs[0][0].groups
        reached, p_values[sign] = upper_limits(*about)
        ends[sign] = sign * reached
    found = []
    for i, (a, b) in enumerate(pairs):
        (low_a, high_a), (low_b, high_b) = a.ends(metric), b.ends(metric)
        low, high = np.clip((ends[-1][i], ends[1][i]), low_a - high_b, high_a - low_b)
        # At most one of the two p-values is below 1/2: the mean of lower scores is below the other.
        below, above = p_values[-1][i], p_values[1][i]
        chance = 1 - below if below < 0.5 else above
        difference = a.estimate(metric) - b.estimate(metric)
        found.append(Comparison(difference, *map(float, (low, high, chance))))
    return found


def of_differences(
    rows: Floats, level: float, ends: tuple[float, float] | None, groups: Integers | None = None
) -> list[Comparison]:
    """Comparisons from rows of differences of at least two instances, with their range if known."""
    found = rows.mean(axis=1), *limits_of_means(rows, level, ends, groups=groups)
    return [Comparison(*one) for one in np.transpose(found).tolist()]


def users_for(values: Floats, ends: tuple[float, float], width: float, level: float) -> int:
    """The fewest users of whose mean limits are so close, if they vary as these values do."""
    width, most = checks.positive_float("width", width), 2

    def is_close(users):
        return sum(gaffke_reach(values, *ends, level, weights=users / len(values))) <= width

    while not is_close(most):
        most *= 2
        if most > 2**53:
            raise InputError("width", "must be one that fewer than 2**53 users reach").got(width)
    return bisect_left(range(most), True, lo=most // 2, key=is_close)


def ends_of_difference(metric: Metric, a: Ranks, b: Ranks) -> tuple[float, float]:
    """The lowest and the highest difference of a metric in pools of these sizes."""
    (low_a, high_a), (low_b, high_b) = ends_of(metric, a), ends_of(metric, b)
    return low_a - high_b, high_a - low_b


def step_down(p_values: Floats, size: float) -> np.ndarray:
    """Which hypotheses are rejected, with a chance of at most `size` that one of these is true.

    S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
    Statistics 6, 1979: the smallest p-value counts as often as there are hypotheses, the next once
    less, up to the first that is too large. NaN is never rejected.
    """
    order, rejected = np.argsort(p_values), np.zeros(len(p_values), bool)
    holds = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1) <= size
    rejected[order] = np.logical_and.accumulate(holds)
    return rejected


def order_probability(
    metric: Metric | str,
    ranks_a: Ranks | RankCounts,
    ranks_b: Ranks | RankCounts,
    sampler: UniformSampling,
) -> float:
    """The probability that a sampled evaluation puts two recommenders in their exact order.

    It uses the normal approximation of the difference of the two means, whose mean and variance
    over the sampling are exact. Equal sampled means count half: few instances with few samples
    often have equal means, and are then in strict order less often.

    Parameters
    ----------
    metric : Metric or str
        A metric, or a corrected one, whose exact order is that of the metric it corrects.
    ranks_a, ranks_b : Ranks or RankCounts
        The exact ranks, the same instances in the same order, with any number of relevant items and
        ties. The pools of an instance may differ.
    sampler : UniformSampling
        Each recommender is sampled independently.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For different numbers of instances, means that are exactly equal or undefined, a pool too
        small to draw from, and another kind of sampler.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([100] * 50, n_items=1000), rs.Ranks([200] * 50, n_items=1000)
    >>> round(rs.inference.order_probability(rs.AUC, a, b, rs.UniformSampling(m=1)), 4)
    0.9221
    """
    check_uniform(sampler)
    metric = the_metric(metric)
    runs = rows_of(ranks_a, "ranks_a"), rows_of(ranks_b, "ranks_b")
    if any(counts is not None for _, counts in runs):
        check_as_many(ranks_a, ranks_b)  # counts do not say which instances they are
    else:
        check_same_instances(ranks_a, ranks_b)
    exact = metric.metric if isinstance(metric, Correction) else metric
    sum_a, sum_b = (_exact_sum(exact, *run) for run in runs)
    if sum_a == sum_b:
        allowed = f"must differ in their mean {exact}"
        raise InputError("ranks_a and ranks_b", allowed).got("the same")
    (mean_a, variance_a), (mean_b, variance_b) = (
        [mean_of(one, counts) for one in sampler.moments(metric, rows)] for rows, counts in runs
    )
    mean = mean_a - mean_b if sum_a > sum_b else mean_b - mean_a
    return normal_probability(mean, np.sqrt((variance_a + variance_b) / len(ranks_a)))


def _exact_sum(metric, rows, counts):
    """The sum of a metric over the instances, without rounding, so that equal means are equal."""
    values = defined_values(metric, rows)
    if counts is None:
        values, counts = np.unique(values, return_counts=True)
    return sum(Fraction(value) * n for value, n in zip(values.tolist(), counts.tolist()))


def normal_probability(mean, error):
    """P(Normal(mean, error) > 0); 1/2 where there is neither difference nor noise."""
    if error == 0:
        return float(0.5 + 0.5 * np.sign(mean))
    return float(special.ndtr(mean / error))


def defined_values(metric, ranks):
    """The metric of every instance; refuse undefined values."""
    metric = the_metric(metric)
    values = metric(ranks)
    allowed, got = "must be defined for every instance", f"{metric}, nan in instance {{at}}"
    checks.refuse_first(np.isnan(values), "metric", allowed, got)
    return values


def _differences(metric, a, b):
    """The metric of A minus that of B for each instance, from ranks, observations or values."""
    metric = None if metric is None else the_metric(metric)
    values = _values_of("a", metric, a), _values_of("b", metric, b)
    check_as_many(*values, ("a", "b"))
    if isinstance(a, Ranks) and isinstance(b, Ranks):
        check_same_instances(a, b, ("a", "b"))
        check_one_kind({"a": a, "b": b})
    return values[0] - values[1]


def _values_of(name, metric, evaluated):
    check_pairable(evaluated, name)
    if isinstance(evaluated, Observed):
        return evaluated.design.of(metric, evaluated)
    if isinstance(evaluated, Ranks):
        return defined_values(metric, evaluated)
    if metric is not None:
        allowed = "must be Ranks or Observed for a metric, and metric None for values of its own"
        raise InputError(name, allowed).got(f"{checks.shown(evaluated)} for {metric}")
    values = checks.finite_numbers(name, evaluated)
    if values.ndim != 1:
        raise InputError(name, "must hold one value per instance").got(f"shape {values.shape}")
    return values
