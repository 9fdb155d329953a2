"""How sure a sampled evaluation is of its value, and of the order of two recommenders.

A mean over ``|D|`` sampled instances varies for two reasons: other negatives could have been drawn,
and other instances could have been evaluated. The variance of the values over the instances,
divided by ``|D|``, holds both, whatever the metric:

    total^2 = sampling^2 + users^2.

Two recommenders are compared on the same instances, so their differences count, instance by
instance. All statements are about the expectation of the metric that is given: for a metric of
sampled ranks that is not the exact metric, which a corrected metric comes closer to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._support import checks
from recsample._support.arrays import different_rows
from recsample._support.frames import table_of
from recsample._support.numerics import limits_of_mean, mean_of, probability_above_0, standard_error
from recsample._support.typing import Floats, Rng
from recsample.corrections.base import Correction
from recsample.inference.distribution import check_uniform, expectation_maximisation, sampled_counts
from recsample.inference.likelihood.evidence import Evidence, clustering, supported, with_one_more
from recsample.inference.likelihood.mixtures import extremes, limit
from recsample.inference.likelihood.strata import Assumption
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.names import chosen_metrics, the_metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import (
    check_as_many,
    check_one_kind,
    check_pairable,
    check_recommenders,
    check_same_instances,
    rows_of,
)
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Observed, check_readable
from recsample.sampling.joint import thinning
from recsample.sampling.laws import count_pmf
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Comparison",
    "StandardErrors",
    "bootstrap_order",
    "compare_pairs",
    "order_probability",
    "paired_comparison",
    "shared_covariance",
    "standard_errors",
]


class StandardErrors(NamedTuple):
    """The standard error of a mean over sampled instances, and its two parts.

    Parameters
    ----------
    total : float
        Over other instances, sampled anew.
    sampling : float
        Over other samples for the same instances.
    users : float
        Over other instances, as if each were evaluated without sampling noise.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.StandardErrors(0.05, 0.03, 0.04).users
    0.04
    """

    total: float
    sampling: float
    users: float


def standard_errors(
    metric: Metric | str, sampled: Ranks | RankCounts, sampler: UniformSampling, n_items: int
) -> StandardErrors:
    """The standard error of a sampled or corrected mean from one run, and what it is made of.

    The total is ``s / sqrt(|D|)``, with s the standard deviation over the instances. The part of
    the sampling is the mean variance of the metric given the rank, under the EM estimate of the
    distribution of ranks: one run, which samples each instance once, shows no such variance. Where
    the exact ranks had ties, their random order counts as part of the instance.

    Parameters
    ----------
    metric : Metric or str
        A metric of sampled ranks, also a corrected one.
    sampled : Ranks or RankCounts
        One sampled evaluation of at least two instances, one relevant item each.
    sampler : UniformSampling
    n_items : int
        Size n of the pool that was sampled from.

    Returns
    -------
    StandardErrors
        Where noise makes the sampling part exceed the total, the part of the users is 0.

    Raises
    ------
    ValueError
        For fewer than two instances, and ranks that are not sampled ranks of this sampler.

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=99)
    >>> sampled = sampler.draw(rs.Ranks([500] * 2000, n_items=1000), rng=0)
    >>> errors = rs.inference.standard_errors(rs.AUC, sampled, sampler, n_items=1000)
    >>> errors.sampling < errors.total < 0.0013
    True
    """
    sampled_counts(sampled, sampler)  # refuses what is not a run of this sampler
    metric = check_readable(metric, sampler)
    rows, counts = rows_of(sampled)
    total = standard_error(defined_values(metric, rows), counts)
    distribution = expectation_maximisation(sampled, sampler, n_items)
    # Given the rank a value varies by the draws alone; the ranks are known by their distribution.
    variance = sampler.variance(metric, Ranks(np.arange(1, n_items + 1), n_items))
    sampling = float(np.sqrt(distribution @ variance / len(sampled)))
    return StandardErrors(total, sampling, float(np.sqrt(max(0.0, total**2 - sampling**2))))


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
# Up to this distance it is told how sure an order is: a probability of 1 - 2e-8.
_FAR = 30.0
# Of a bootstrap: with 1,000 instances these take a minute or two.
_MOST_REPETITIONS = 10**7
# Exact ranks, what a design has observed, or the values themselves.
Evaluated = Ranks | Observed | ArrayLike


def paired_comparison(
    metric: Metric | str | None, a: Evaluated, b: Evaluated, *, level: float = 0.95
) -> Comparison:
    """Compare two recommenders on the same instances, instance by instance.

    What the two have in common cancels in the differences. Their mean is taken to be normal, with
    the spread of the differences: for other instances like these, and sampling anew where ranks are
    sampled or observed. A corrected metric has a bias that does not cancel. Its interval is that of
    the difference of the *exact* means: the strict bounds of `recsample.inference.limits`, for a
    difference, under the assumption "decreasing", or none where the data contradict it.

    Parameters
    ----------
    metric : Metric, str or None
        Also a corrected metric. None for values.
    a, b : Ranks, Observed, or array_like of float, shape (instances,)
        The ranks of the two recommenders, exact or sampled; what a design has observed of them; or
        a value per instance. The same instances in the same order, at least two. Pools may differ,
        as where each recommender leaves out other items.
    level : float, optional
        How often the limits are to hold.

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
    (0.2, 0.13, 0.27, 1.0)
    """
    level = checks.share("level", level)
    differences = differences_of(metric, a, b)
    if isinstance(metric, Correction):
        exact = _of_exact_means(metric, a, b, level)
        return exact._replace(difference=float(differences.mean()))
    standard_error(differences)  # refuses fewer than two
    if metric is None or not (isinstance(a, Ranks) and isinstance(b, Ranks)):
        return of_differences(differences, level, None)
    return of_differences(differences, level, ends_of_difference(the_metric(metric), a, b))


def _of_exact_means(correction, a, b, level):
    replace = check_uniform(correction.sampler).replace
    metric, n_items = correction.metric, correction.n_items
    runs = [Evidence(ranks, n_items, replace, [metric], 2) for ranks in (a, b)]
    assumption = supported(metric, *runs)
    return compared(metric, *runs, assumption, level) if assumption else _UNKNOWN


def compared(
    metric: Metric, a: Evidence, b: Evidence, assumption: Assumption, level: float
) -> Comparison:
    """The exact means of two recommenders compared, as far as sampled ranks tell them."""
    if isinstance(metric.shape, Linear):
        return _of_linear(metric, a, b, level)
    if a.is_few_lists:  # what is bounded for each does not tell how they go together
        (low_a, high_a), (low_b, high_b) = (
            one.limits(metric, "none", (1 + level) / 2) for one in (a, b)
        )
        return Comparison(np.nan, low_a - high_b, high_a - low_b, np.nan)
    # A difference is one more mean over strata, those of B with the sign turned.
    mixtures = a.mixtures(metric, assumption) + [
        one._replace(mean=-one.mean) for one in b.mixtures(metric, assumption)
    ]
    best = a.best(assumption) + b.best(assumption)
    # What the users and the drawn items have in common makes a difference more certain, if it makes
    # any; only where the two vary against each other are the limits too narrow without a factor.
    (off_a, squares_a), (off_b, squares_b) = a.deviations(metric), b.deviations(metric)
    factor = clustering((off_a, squares_a), (-off_b, squares_b))
    quantile = a.quantile(level)
    paths = {s: extremes(mixtures, best, s, max(quantile, _FAR) * factor) for s in (-1, 1)}
    low, high = (limit(paths[s], s, quantile * factor) for s in (-1, 1))
    # The p-value is that of the level at which one end of the limits is 0.
    ahead = 1 if paths[1][0].mean > 0 else -1
    z = np.sqrt(_distance_to_0(paths[-ahead], -ahead, factor))
    estimate = np.nan if assumption == "none" else a.estimate(metric) - b.estimate(metric)
    # The smoothed estimates are less often wrong than the best fits, which the limits are about.
    estimate = float(np.clip(estimate, low, high))
    return Comparison(estimate, low, high, a.probability(ahead * z))


def _of_linear(metric, a, b, level):
    differences, items = metric(a.sampled) - metric(b.sampled), a.items_of(metric)
    ends = ends_of_difference(metric, a.sampled, b.sampled)
    if a.batches is None:
        return of_differences(differences, level, ends)
    if items is not None:
        items = items - b.items_of(metric)
    low, high = a.limits_of(differences, level, ends, items)
    mean, sure = float(differences.mean()), np.nan
    if not a.is_few_lists:
        ahead, m = 1 if mean > 0 else -1, int(a.sampled.n_irrelevant.min())
        near, error = with_one_more(differences, a.batches, m, ends)[ahead < 0]
        sure = a.probability(ahead * max(0.0, ahead * near / max(error, 1e-12)))
    return Comparison(mean, low, high, sure)


def of_differences(
    differences: Floats, level: float, ends: tuple[float, float] | None
) -> Comparison:
    """A comparison by differences of at least two instances, which lie between ends, if known."""
    limits = limits_of_mean(differences, level, ends=ends)
    return Comparison(float(differences.mean()), *limits, probability_above_0(differences, ends))


def ends_of_difference(metric: Metric, a: Ranks, b: Ranks) -> tuple[float, float]:
    """The lowest and the highest difference of a metric in pools like these."""
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


def _distance_to_0(path, sign, factor):
    """The smallest distance at which a difference of 0 is within the limits."""
    low, high = 0.0, _FAR
    if sign * limit(path, sign, high * factor) < 0:
        return high
    while high - low > 1e-3:
        middle = (low + high) / 2
        outside = sign * limit(path, sign, middle * factor) < 0
        low, high = (middle, high) if outside else (low, middle)
    return high


def bootstrap_order(
    metric: Metric | str, ranks_a: Ranks, ranks_b: Ranks, rng: Rng, *, repetitions: int = 2000
) -> float:
    """The share of bootstrap samples of the instances in which A's mean is above B's.

    A check of `paired_comparison`, which refuses the same, without a normal approximation. Equal
    means count half.

    Parameters
    ----------
    metric : Metric or str
    ranks_a, ranks_b : Ranks
        The same instances in the same order, at least two.
    rng : int or numpy.random.Generator
    repetitions : int, optional
        At most ten millions. The share is known to 1 / sqrt(repetitions), with 95 % confidence.

    Returns
    -------
    float

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([1, 2, 1, 4] * 9, n_items=10), rs.Ranks([2, 3, 2, 5] * 9, n_items=10)
    >>> rs.inference.bootstrap_order(rs.AP, a, b, rng=0)
    1.0
    """
    differences = differences_of(metric, ranks_a, ranks_b, ("ranks_a", "ranks_b"))
    rng = checks.generator(rng)
    if (repetitions := checks.positive_int("repetitions", repetitions)) > _MOST_REPETITIONS:
        raise ValueError(
            f"repetitions must be at most {_MOST_REPETITIONS:,}, got {repetitions:,}: from a "
            "million on the share is known to 0.001, and more take hours"
        )
    ahead = 0.0
    for _ in range(repetitions):
        mean = differences[rng.integers(0, len(differences), len(differences))].mean()
        ahead += 1.0 if mean > 0 else 0.5 * (mean == 0)
    return float(ahead / repetitions)


def compare_pairs(
    ranks: Mapping[str, Ranks], metrics: Sequence[Metric | str], *, level: float = 0.95
) -> pd.DataFrame:
    """For each pair of recommenders and each metric: difference, limits and probability.

    Parameters
    ----------
    ranks : mapping of str to Ranks
        At least two recommenders, over the same instances in the same order.
    metrics : sequence of Metric or str
    level : float, optional
        How often the limits are to hold, each by itself.

    Returns
    -------
    pandas.DataFrame
        Indexed by (a, b, metric), with the columns of `Comparison`.

    Raises
    ------
    ValueError
        For fewer than two recommenders, no metric, and as `paired_comparison`.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"A": rs.Ranks([1, 2, 1, 4] * 9, 10), "B": rs.Ranks([2, 4, 1, 5] * 9, 10)}
    >>> table = rs.inference.compare_pairs(ranks, ["AP", "recall@1"])
    >>> table.loc[("A", "B", "AP"), "probability"].round(2).item()
    1.0
    """
    for name, one in check_recommenders(ranks, counted=True).items():
        check_pairable(one, f"ranks of {name!r}")
    check_one_kind(ranks)
    if len(ranks) < 2:
        raise ValueError(f"ranks must hold at least two recommenders, got {len(ranks)}")
    rows = {
        (*pair, str(one)): paired_comparison(
            one, *(ranks[name] for name in pair), level=level
        )._asdict()
        for pair in combinations(ranks, 2)
        for one in chosen_metrics(metrics)
    }
    return table_of(rows, ["a", "b", "metric"])


def order_probability(
    metric: Metric | str,
    ranks_a: Ranks | RankCounts,
    ranks_b: Ranks | RankCounts,
    sampler: UniformSampling,
    *,
    overlap: ArrayLike | None = None,
) -> float:
    """The probability that a sampled evaluation puts two recommenders in their exact order.

    By the normal approximation of the difference of the two means, whose mean and variance over the
    sampling are exact. Equal sampled means count half, as if a coin decided: few instances with few
    samples often have equal means, and are then in strict order less often.

    Parameters
    ----------
    metric : Metric or str
        A metric, or a corrected one, whose exact order is that of the metric it corrects.
    ranks_a, ranks_b : Ranks or RankCounts
        The exact ranks, the same instances in the same order, with any number of relevant items and
        ties. Without an overlap the pools of an instance may differ.
    sampler : UniformSampling
    overlap : array_like of int, shape (instances,), optional
        By default each recommender has negatives of its own. If both are ranked against the same
        ones: how many irrelevant items outrank the relevant one for both, as in
        `shared_covariance`, which needs `Ranks` of one relevant item and no ties.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For different numbers of instances, means that are exactly equal or undefined, a pool too
        small to draw from, an overlap that does not fit the ranks, and another kind of sampler.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([100] * 50, n_items=1000), rs.Ranks([200] * 50, n_items=1000)
    >>> round(rs.inference.order_probability(rs.AUC, a, b, rs.UniformSampling(m=1)), 4)
    0.9221
    """
    check_uniform(sampler)
    metric = the_metric(metric)
    sign = exact_order(metric, ranks_a, ranks_b)
    mean, variance = difference_moments(metric, ranks_a, ranks_b, sampler)
    if overlap is not None:
        both = check_same_instances(ranks_a, ranks_b)
        covariance = shared_covariance(metric, *both, sampler, overlap)
        variance = max(0.0, variance - 2 * covariance.sum() / len(ranks_a) ** 2)
    return normal_probability(sign * mean, np.sqrt(variance))


def shared_covariance(
    metric: Metric | str,
    ranks_a: Ranks,
    ranks_b: Ranks,
    sampler: UniformSampling,
    overlap: ArrayLike,
) -> Floats:
    """The covariance of a metric of two recommenders that are ranked against the same negatives.

    Given how many of the sampled items outrank A's item, those that outrank B's are two independent
    counts: among these, and among the other sampled items. With replacement, for AUC, this is (c /
    N - p_a p_b) / m, where c items outrank both, and p_a and p_b are the shares that outrank each.
    It takes O(m^3) operations for every different case of (N, a, b, c).

    Parameters
    ----------
    metric : Metric or str
        A metric of sampled ranks, also a corrected one.
    ranks_a, ranks_b : Ranks
        The exact ranks, one relevant item per instance, without ties.
    sampler : UniformSampling
    overlap : array_like of int, shape (instances,)
        How many irrelevant items outrank the relevant one for both recommenders.

    Returns
    -------
    ndarray of float, shape (instances,)

    Raises
    ------
    ValueError
        For several relevant items, ties, pools that differ, an overlap that is impossible, and
        another kind of sampler.

    Examples
    --------
    One sampled item, and the same items outrank both: the variance of one of them.

    >>> import recsample as rs
    >>> ranks, sampler = rs.Ranks([3], n_items=5), rs.UniformSampling(m=1)
    >>> rs.inference.shared_covariance(rs.AUC, ranks, ranks, sampler, overlap=[2])
    array([0.25])
    """
    check_uniform(sampler)
    metric = check_readable(metric, sampler)
    check_same_instances(ranks_a, ranks_b)
    for ranks in (ranks_a, ranks_b):
        if (ranks.n_relevant != 1).any() or ranks.rows.ties.any():
            raise ValueError(
                f"ranks must hold one relevant item per instance and no ties, got {ranks}"
            )
    pool, a, b = ranks_a.n_irrelevant, ranks_a.rows.rank - 1, ranks_b.rows.rank - 1
    if not np.array_equal(pool, ranks_b.n_irrelevant):
        raise ValueError("ranks_a and ranks_b must have pools of the same size")
    both = checks.whole_numbers("overlap", overlap, lowest=0)
    if both.shape != a.shape:
        raise ValueError(f"overlap must have shape {a.shape}, got {both.shape}")
    least, most = np.maximum(a + b - pool, 0), np.minimum(a, b)
    message = "overlap must lie between {} and {}, got {} in instance {at}"
    checks.refuse_first((both < least) | (both > most), message, least, most, both)
    m = sampler.m
    checks.fits_in_memory(
        64 * (m + 1) ** 2, f"the joint law of two ranks with m={m}", "choose a smaller m"
    )
    values = metric.of_rank(np.arange(1, m + 2), m + 1)
    place = np.arange(m + 1)[:, None] + np.arange(m + 1)
    b_values = np.where(place <= m, values[np.minimum(place, m)], 0.0)  # by the two counts
    cases, of_instance = different_rows([pool, a, b, both])
    covariance = np.empty(len(cases[0]))
    for i, (n, above_a, above_b, shared) in enumerate(np.transpose(cases).tolist()):
        # A's count s splits into those drawn among what outranks both, and the rest; B's others
        # come from the m - s draws that do not outrank A.
        law = count_pmf(np.array([above_a]), np.array([n]), m, sampler.replace)[0]
        among = thinning(shared, above_a, m, sampler.replace)
        others = thinning(above_b - shared, n - above_a, m, sampler.replace)[::-1]
        mean_b = ((among @ b_values) * others).sum(axis=1)  # of B's value, given A's count
        covariance[i] = law @ ((values - law @ values) * (mean_b - law @ mean_b))
    return covariance[of_instance]


# Which of two recommenders is ahead: exactly, and with what probability.


def exact_order(metric, ranks_a, ranks_b):
    """1 where A is exactly above B, -1 where it is below."""
    exact = metric.metric if isinstance(metric, Correction) else metric
    named = {"ranks_a": ranks_a, "ranks_b": ranks_b}
    counted = [rows_of(ranks, name)[1] is not None for name, ranks in named.items()]  # checks both
    if any(counted):
        check_as_many(ranks_a, ranks_b)  # counts do not say which instances they are
    else:
        check_same_instances(ranks_a, ranks_b)
    # Summed without rounding, so that equal means are found equal in whatever order.
    gap = fsum([*_parts_of_sum(exact, ranks_a), *(-x for x in _parts_of_sum(exact, ranks_b))])
    if gap == 0:
        raise ValueError(f"ranks_a and ranks_b must differ in their mean {exact}, got the same")
    return 1 if gap > 0 else -1


def difference_moments(metric, ranks_a, ranks_b, sampler):
    """Mean and variance of the difference of two means, on negatives of their own."""
    (rows_a, counts_a), (rows_b, counts_b) = rows_of(ranks_a), rows_of(ranks_b)
    (mean_a, variance_a), (mean_b, variance_b) = (
        sampler.moments(metric, rows) for rows in (rows_a, rows_b)
    )
    size = len(ranks_a)
    if counts_a is None and counts_b is None:
        return (mean_a - mean_b).sum() / size, (variance_a + variance_b).sum() / size**2
    mean = mean_of(mean_a, counts_a) - mean_of(mean_b, counts_b)
    variance = mean_of(variance_a, counts_a) + mean_of(variance_b, counts_b)
    return mean, variance / size


def _parts_of_sum(metric, ranks):
    """Numbers whose sum is that of the metric over the instances, without any rounding."""
    rows, counts = rows_of(ranks)
    values = defined_values(metric, rows)
    if counts is None:
        return values
    # A count times a value is the sum of two floats: the rounded product, and by how much it is
    # off, from halves of the digits of both factors (Dekker, 1971).
    counts = counts.astype(float)
    product = counts * values
    (high, low), (upper, lower) = map(_halves, (counts, values))
    off = low * lower - (((product - high * upper) - low * upper) - high * lower)
    return np.concatenate([product, off])


def _halves(numbers):
    """Two floats of half as many digits, with the numbers as their sum (Veltkamp)."""
    scaled = (2.0**27 + 1) * numbers
    high = scaled - (scaled - numbers)
    return high, numbers - high


def normal_probability(mean, error):
    """P(Normal(mean, error) > 0); 1/2 where there is neither difference nor noise."""
    if error == 0:
        return float(0.5 + 0.5 * np.sign(mean))
    return float(special.ndtr(mean / error))


def defined_values(metric, ranks):
    """The metric of every instance; one that is undefined is refused."""
    metric = the_metric(metric)
    values = metric(ranks)
    message = f"{metric} must be defined for every instance, got nan in instance {{at}}"
    checks.refuse_first(np.isnan(values), message)
    return values


def differences_of(metric, a, b, names=("a", "b")):
    """The metric of A minus that of B, instance by instance; of ranks, observations or values."""
    metric = None if metric is None else the_metric(metric)
    values = [_values_of(name, metric, one) for name, one in zip(names, (a, b))]
    check_as_many(*values)
    if isinstance(a, Ranks) and isinstance(b, Ranks):
        check_same_instances(a, b, names)
        check_one_kind(dict(zip(names, (a, b))))
    return values[0] - values[1]


def _values_of(name, metric, evaluated):
    check_pairable(evaluated, name)
    if isinstance(evaluated, Observed):
        return evaluated.design.of(metric, evaluated)
    if isinstance(evaluated, Ranks):
        return defined_values(metric, evaluated)
    if metric is not None:
        raise ValueError(
            f"{name} must be Ranks or Observed for a metric, and metric None for values of its "
            f"own, got {checks.shown(evaluated)} for {metric}"
        )
    values = checks.finite_numbers(name, evaluated)
    if values.ndim != 1:
        raise ValueError(f"{name} must hold one value per instance, got shape {values.shape}")
    return values
