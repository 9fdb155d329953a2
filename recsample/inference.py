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

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import fsum
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._counts import count_pmf
from recsample._joint import thinning
from recsample._typing import Floats, Integers, Rng
from recsample._validation import (
    finite_numbers,
    generator,
    positive_int,
    share,
    whole_numbers,
)
from recsample.corrections import Correction
from recsample.estimation import (
    check_uniform,
    em_of_counts,
    expectation_maximisation,
    sampled_counts,
)
from recsample.metrics import (
    Metric,
    check_metric,
    check_recommenders,
    metrics_of,
    standard_error,
)
from recsample.ranks import Ranks, check_ranks, predicted_ranks
from recsample.sampling import UniformSampling

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BreakEven",
    "Comparison",
    "RequiredSamples",
    "StandardErrors",
    "bootstrap_order",
    "break_even",
    "compare_pairs",
    "order_probability",
    "paired_comparison",
    "required_samples",
    "required_samples_from_pilot",
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
    metric: Metric, sampled: Ranks, sampler: UniformSampling, n_items: int
) -> StandardErrors:
    """The standard error of a sampled or corrected mean from one run, and what it is made of.

    The total is ``s / sqrt(|D|)``, with s the standard deviation over the instances. The part of
    the sampling is the mean variance of the metric given the rank. One run samples each instance
    once and so shows no such variance; it is taken under the EM estimate of the distribution of
    ranks. Where the exact ranks had ties, their random order counts as part of the instance.

    Parameters
    ----------
    metric : Metric
        A metric of sampled ranks, also a corrected one.
    sampled : Ranks
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
    total = standard_error(_values(metric, sampled))
    distribution = expectation_maximisation(sampled, sampler, n_items)
    variance = sampler.variance(metric, Ranks(np.arange(1, n_items + 1), n_items))
    sampling = float(np.sqrt(distribution @ variance / len(sampled)))
    return StandardErrors(total, sampling, float(np.sqrt(max(0.0, total**2 - sampling**2))))


class Comparison(NamedTuple):
    """Two recommenders compared on the same instances.

    Parameters
    ----------
    difference : float
        Mean of A minus mean of B.
    standard_error : float
        Of the difference, over other instances, sampled anew.
    probability : float
        That the expected difference is above 0, by the normal approximation and a flat prior.

    Examples
    --------
    >>> import recsample as rs
    >>> low, high = rs.inference.Comparison(0.02, 0.01, 0.977).interval()
    >>> round(low, 4), round(high, 4)
    (0.0004, 0.0396)
    """

    difference: float
    standard_error: float
    probability: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval of the difference.

        Parameters
        ----------
        level : float, optional
            Between 0 and 1, both excluded.

        Returns
        -------
        tuple of float

        Raises
        ------
        ValueError
            For a level outside its limits.

        Examples
        --------
        >>> import recsample as rs
        >>> low, high = rs.inference.Comparison(0.02, 0.01, 0.977).interval(0.5)
        >>> round(low, 4), round(high, 4)
        (0.0133, 0.0267)
        """
        reach = special.ndtri(0.5 + share("level", level) / 2) * self.standard_error
        return float(self.difference - reach), float(self.difference + reach)


def paired_comparison(metric: Metric, ranks_a: Ranks, ranks_b: Ranks) -> Comparison:
    """Compare two recommenders on the same instances, instance by instance.

    Works for exact and for sampled ranks, on the same negatives or on different ones: what the two
    have in common cancels in the differences.

    Parameters
    ----------
    metric : Metric
        Also a corrected metric.
    ranks_a, ranks_b : Ranks
        The ranks of the two recommenders, the same instances in the same order, at least two. The
        pools of an instance may differ, as where each recommender leaves out other items.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For different numbers of instances, fewer than two, and values that are undefined.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([1, 2, 1, 4], n_items=10), rs.Ranks([2, 4, 1, 5], n_items=10)
    >>> found = rs.inference.paired_comparison(rs.AP, a, b)
    >>> found.difference, round(found.probability, 3)
    (0.2, 0.961)
    """
    differences = _differences(metric, ranks_a, ranks_b)
    mean, error = float(differences.mean()), standard_error(differences)
    return Comparison(mean, error, _normal_probability(mean, error))


def bootstrap_order(
    metric: Metric, ranks_a: Ranks, ranks_b: Ranks, rng: Rng, *, repetitions: int = 2000
) -> float:
    """The share of bootstrap samples of the instances in which A's mean is above B's.

    A check of `paired_comparison` that needs no normal approximation. Equal means count half.

    Parameters
    ----------
    metric : Metric
    ranks_a, ranks_b : Ranks
        The ranks of the two recommenders, the same instances in the same order, at least two.
    rng : int or numpy.random.Generator
        A seed, or a generator that is advanced.
    repetitions : int, optional

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `paired_comparison`.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([1, 2, 1, 4] * 9, n_items=10), rs.Ranks([2, 3, 2, 5] * 9, n_items=10)
    >>> rs.inference.bootstrap_order(rs.AP, a, b, rng=0)
    1.0
    """
    differences, rng = _differences(metric, ranks_a, ranks_b), generator(rng)
    means = np.empty(positive_int("repetitions", repetitions))
    for i in range(len(means)):
        means[i] = differences[rng.integers(0, len(differences), len(differences))].mean()
    return float(((means > 0) + 0.5 * (means == 0)).mean())


def compare_pairs(ranks: Mapping[str, Ranks], metrics: Sequence[Metric | str]) -> pd.DataFrame:
    """For each pair of recommenders and each metric: difference, standard error and probability.

    Parameters
    ----------
    ranks : mapping of str to Ranks
        At least two recommenders, over the same instances in the same order.
    metrics : sequence of Metric or str

    Returns
    -------
    pandas.DataFrame
        Indexed by (metric, first, second), with the columns of `Comparison`; `probability` is that
        of the first being above the second.

    Raises
    ------
    ValueError
        For fewer than two recommenders, for what is not a list of at least one metric, and as
        `paired_comparison`.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"A": rs.Ranks([1, 2, 1, 4], 10), "B": rs.Ranks([2, 4, 1, 5], 10)}
    >>> table = rs.inference.compare_pairs(ranks, ["AP", "recall@1"])
    >>> table.loc[("AP", "A", "B"), "probability"].round(3).item()
    0.961
    """
    import pandas as pd

    check_recommenders(ranks)
    if len(ranks) < 2:
        raise ValueError(f"ranks must hold at least two recommenders, got {len(ranks)}")
    rows = {
        (str(one), *pair): paired_comparison(one, *(ranks[name] for name in pair))
        for one in metrics_of(metrics)
        for pair in combinations(ranks, 2)
    }
    table = pd.DataFrame(list(rows.values()), columns=list(Comparison._fields))
    table.index = pd.MultiIndex.from_tuples(list(rows), names=["metric", "first", "second"])
    return table


def order_probability(
    metric: Metric,
    ranks_a: Ranks,
    ranks_b: Ranks,
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
    metric : Metric
        A metric, or a corrected one, whose exact order is that of the metric it corrects.
    ranks_a, ranks_b : Ranks
        The exact ranks of the two recommenders, the same instances in the same order. Of any number
        of relevant items, with or without ties. Without an overlap the pools of an instance may
        differ, as where each recommender leaves out other items.
    sampler : UniformSampling
    overlap : array_like of int, shape (instances,), optional
        By default each recommender has negatives of its own. If both are ranked against the same
        ones: how many irrelevant items outrank the relevant one for both recommenders. This needs
        one relevant item per instance and no ties, see `shared_covariance`.

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
    >>> round(rs.inference.order_probability(rs.AUC, a, b, rs.UniformSampling(m=10)), 4)
    1.0
    >>> round(rs.inference.order_probability(rs.AUC, a, b, rs.UniformSampling(m=1)), 4)
    0.9221
    """
    check_uniform(sampler)
    sign = _exact_order(metric, ranks_a, ranks_b)
    mean, variance = _difference_moments(metric, ranks_a, ranks_b, sampler)
    if overlap is not None:
        covariance = shared_covariance(metric, ranks_a, ranks_b, sampler, overlap)
        variance = max(0.0, variance - 2 * covariance.sum() / len(ranks_a) ** 2)
    return _normal_probability(sign * mean, np.sqrt(variance))


def _exact_order(metric, ranks_a, ranks_b):
    """1 where A is exactly above B, -1 where it is below."""
    exact = metric.metric if isinstance(metric, Correction) else metric
    _check_same_instances(ranks_a, ranks_b)
    gap = fsum([*_values(exact, ranks_a), *-_values(exact, ranks_b)])  # 0 in whatever order
    if gap == 0:
        raise ValueError(f"ranks_a and ranks_b must differ in their mean {exact}, got the same")
    return 1 if gap > 0 else -1


def _difference_moments(metric, ranks_a, ranks_b, sampler):
    """Mean and variance of the difference of two means, on negatives of their own."""
    (mean_a, variance_a), (mean_b, variance_b) = (
        sampler.moments(metric, ranks) for ranks in (ranks_a, ranks_b)
    )
    size = len(ranks_a)
    return (mean_a - mean_b).sum() / size, (variance_a + variance_b).sum() / size**2


def shared_covariance(
    metric: Metric, ranks_a: Ranks, ranks_b: Ranks, sampler: UniformSampling, overlap: ArrayLike
) -> Floats:
    """The covariance of a metric of two recommenders that are ranked against the same negatives.

    Given how many of the sampled items outrank A's item, those that outrank B's are two independent
    counts: among these, and among the other sampled items. With replacement, for AUC, this is
    (c / N - p_a p_b) / m, where c items outrank both, and p_a and p_b are the shares that outrank
    each. It takes O(m^3) operations for every different case of (N, a, b, c).

    Parameters
    ----------
    metric : Metric
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
    _check_same_instances(ranks_a, ranks_b)
    for ranks in (ranks_a, ranks_b):
        if (ranks.n_relevant != 1).any() or ranks._terms.ties.any():
            raise ValueError(
                f"ranks must hold one relevant item per instance and no ties, got {ranks}"
            )
    pool, a, b = ranks_a.n_irrelevant, ranks_a._terms.rank - 1, ranks_b._terms.rank - 1
    if not np.array_equal(pool, ranks_b.n_irrelevant):
        raise ValueError("ranks_a and ranks_b must have pools of the same size")
    both = whole_numbers("overlap", overlap, lowest=0)
    if both.shape != a.shape:
        raise ValueError(f"overlap must have shape {a.shape}, got {both.shape}")
    wrong = (both > np.minimum(a, b)) | (a + b - both > pool)
    if wrong.any():
        where = int(np.argmax(wrong))
        raise ValueError(
            f"overlap must lie between {max(0, a[where] + b[where] - pool[where])} and "
            f"{min(a[where], b[where])}, got {both[where]} in instance {where}"
        )
    m = sampler.m
    values = metric.of_rank(np.arange(1, m + 2), m + 1)
    place = np.arange(m + 1)[:, None] + np.arange(m + 1)
    b_values = np.where(place <= m, values[np.minimum(place, m)], 0.0)  # by the two counts
    cases, of_instance = np.unique(np.stack([pool, a, b, both], 1), axis=0, return_inverse=True)
    covariance = np.empty(len(cases))
    for i, (n, above_a, above_b, shared) in enumerate(cases.tolist()):
        law = count_pmf(np.array([above_a]), np.array([n]), m, sampler.replace)[0]
        among = thinning(shared, above_a, m, sampler.replace)
        others = thinning(above_b - shared, n - above_a, m, sampler.replace)[::-1]
        mean_b = ((among @ b_values) * others).sum(axis=1)  # of B's value, given A's count
        covariance[i] = law @ ((values - law @ values) * (mean_b - law @ mean_b))
    return covariance[of_instance.reshape(-1)]


def required_samples(
    metric: Metric | Callable[[UniformSampling], Metric],
    ranks_a: Ranks,
    ranks_b: Ranks,
    *,
    probability: float = 0.95,
    replace: bool = False,
    largest: int | None = None,
) -> int:
    """From how many samples on two recommenders are in their exact order, as a search finds it.

    The smallest m with the probability of `order_probability`, each recommender with negatives of
    its own, as high as asked for at m and at all larger numbers that are tried. Shared negatives
    need fewer as a rule. In pools of up to 200 irrelevant items all numbers are tried. In larger
    ones it is a grid with three points per doubling, and more near the size of the pool, where
    little noise is left and the probability changes fast; between two of its points the number is
    found by bisection, so that a short dip can be missed. It takes seconds for thousands of
    instances: every number that is tried needs the law of every rank.

    Parameters
    ----------
    metric : Metric or callable
        A metric; or a function that makes a corrected metric for a sampler, such as
        ``lambda sampler: BiasVariance(AP, sampler, n_items)``.
    ranks_a, ranks_b : Ranks
        The exact ranks of the two recommenders, the same instances in the same order.
    probability : float, optional
        Between 0 and 1, both excluded.
    replace : bool, optional
        Sample with replacement.
    largest : int, optional
        Look no further. By default the size of the smallest pool of irrelevant items.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        As `order_probability`, and if even the largest number of samples does not reach the
        probability.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([100] * 50, n_items=1000), rs.Ranks([120] * 50, n_items=1000)
    >>> rs.inference.required_samples(rs.AUC, a, b)
    26
    """
    wanted = share("probability", probability)
    sign = _exact_order(_made(metric, UniformSampling(1, replace)), ranks_a, ranks_b)
    pool = int(min(ranks_a.n_irrelevant.min(), ranks_b.n_irrelevant.min()))
    last = _last(largest, pool)

    def chance(m):
        sampler = UniformSampling(m, replace)
        mean, variance = _difference_moments(_made(metric, sampler), ranks_a, ranks_b, sampler)
        return _normal_probability(sign * mean, np.sqrt(variance))

    samples = _smallest(chance, wanted, last, pool)
    if samples is None:
        raise ValueError(
            f"probability must be reached by {last} samples, got {chance(last):.3f} there where "
            f"{wanted} is asked for"
        )
    return samples


class RequiredSamples(NamedTuple):
    """A number of samples, estimated from a pilot run.

    Parameters
    ----------
    samples : int
        The estimate.
    low, high : int
        The central 90 % of the bootstrap over the pilot's instances; the largest number that was
        looked at where it is not reached.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.RequiredSamples(200, 120, 410).high
    410
    """

    samples: int
    low: int
    high: int


def required_samples_from_pilot(
    metric: Metric | Callable[[UniformSampling], Metric],
    sampled_a: Ranks,
    sampled_b: Ranks,
    sampler: UniformSampling,
    n_items: int,
    rng: Rng,
    *,
    probability: float = 0.95,
    largest: int | None = None,
    repetitions: int = 100,
) -> RequiredSamples:
    """`required_samples`, planned from a sampled pilot run of the two recommenders.

    The distributions of the ranks are estimated by EM, and the study that is planned has as many
    instances as the pilot, with ranks drawn from them once and for all, and negatives of its own
    for each recommender: shared ones need fewer as a rule. How far the answer can be trusted shows
    in a bootstrap over the pilot's instances: two recommenders that the pilot cannot tell apart
    have a wide interval.

    Parameters
    ----------
    metric : Metric or callable
        A metric; or a function that makes a corrected metric for a sampler.
    sampled_a, sampled_b : Ranks
        The pilot's sampled ranks, the same instances in the same order.
    sampler : UniformSampling
        The pilot's; the study samples with or without replacement as the pilot did.
    n_items : int
        Size n of the pool.
    rng : int or numpy.random.Generator
        A seed, or a generator that is advanced.
    probability : float, optional
        Between 0 and 1, both excluded.
    largest : int, optional
        Look no further. By default, n_items - 1.
    repetitions : int, optional
        Bootstrap samples.

    Returns
    -------
    RequiredSamples

    Raises
    ------
    ValueError
        For ranks that are not sampled ranks of this sampler, different numbers of instances, and a
        pool that is too small.

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=50)
    >>> a, b = (sampler.draw(rs.Ranks([r] * 400, n_items=500), rng=r) for r in (30, 60))
    >>> rs.inference.required_samples_from_pilot(rs.AUC, a, b, sampler, 500, rng=0).samples < 10
    True
    """
    _check_same_instances(sampled_a, sampled_b)
    for pilot in (sampled_a, sampled_b):
        sampled_counts(pilot, sampler)  # refuses what is not a run of this sampler
    n_items = positive_int("n_items", n_items)
    wanted, last = share("probability", probability), _last(largest, n_items - 1)
    rng, n_instances = generator(rng), len(sampled_a)
    every = Ranks(np.arange(1, n_items + 1), n_items)
    known: dict[int, tuple[Floats, Floats, Floats]] = {}

    def by_rank(m):
        if m not in known:
            trial = UniformSampling(m, sampler.replace)
            one = _made(metric, trial)
            exact = one.metric if isinstance(one, Correction) else one
            known[m] = exact(every), *trial.moments(one, every)
        return known[m]

    def needed(p_a, p_b):
        def chance(m):
            exact, mean, variance = by_rank(m)
            sign = np.sign((p_a - p_b) @ exact)
            error = np.sqrt((p_a + p_b) @ variance / n_instances)
            return _normal_probability(sign * ((p_a - p_b) @ mean), error)

        samples = _smallest(chance, wanted, last, n_items - 1)
        return last if samples is None else samples

    draws = [np.arange(n_instances)]  # the pilot itself, then its bootstrap samples
    for _ in range(positive_int("repetitions", repetitions)):
        draws.append(rng.integers(0, n_instances, n_instances))
    law = sampler.law(n_items)

    def learned(pilot):
        runs = (Ranks(pilot._terms.rank[rows], sampler.m + 1) for rows in draws)
        return em_of_counts(np.stack([sampled_counts(run, sampler) for run in runs], 1), law).T

    samples, *again = map(needed, learned(sampled_a), learned(sampled_b))
    low, high = np.quantile(again, [0.05, 0.95], method="nearest")
    return RequiredSamples(samples, int(low), int(high))


class BreakEven(NamedTuple):
    """Where sampling stops being faster than ranking everything, on this machine.

    Parameters
    ----------
    samples : int or None
        About the number of samples from which on sampling takes longer; None where it never does.
    everything : float
        Seconds to score and rank all items.
    m : ndarray of int, shape (trials,)
        Numbers of samples that were tried.
    sampled : ndarray of float, shape (trials,)
        Seconds to draw, score and rank that many items per user.

    Examples
    --------
    >>> import numpy as np
    >>> import recsample as rs
    >>> measured = rs.inference.BreakEven(20, 0.3, np.array([1, 32]), np.array([0.05, 0.45]))
    >>> measured.samples
    20
    """

    samples: int | None
    everything: float
    m: Integers
    sampled: Floats


def break_even(
    user_factors: ArrayLike, item_factors: ArrayLike, rng: Rng, *, repetitions: int = 3
) -> BreakEven:
    """Measure from how many samples on sampling is no faster than ranking everything.

    The scores are inner products of factors. All items of a user come from a matrix product, which
    computers do fast; sampled ones are picked out one by one. The numbers tried are 1, 2, 4, ...;
    between two of them the time is taken for a straight line. Each time is the best of several.

    Parameters
    ----------
    user_factors : array_like of float, shape (users, d)
    item_factors : array_like of float, shape (items, d)
    rng : int or numpy.random.Generator
        A seed, or a generator that is advanced; for the relevant and the sampled items.
    repetitions : int, optional
        How often each time is measured.

    Returns
    -------
    BreakEven
        Different at every call: it is a measurement.

    Raises
    ------
    ValueError
        For factors that are not finite or do not fit, and fewer than two items.

    Examples
    --------
    >>> import numpy as np
    >>> import recsample as rs
    >>> factors = np.random.default_rng(0).normal(size=(200, 8))
    >>> found = rs.inference.break_even(factors, factors, rng=0)
    >>> found.m[:4], found.everything > 0
    (array([1, 2, 4, 8]), True)
    """
    users = finite_numbers("user_factors", user_factors)
    items = finite_numbers("item_factors", item_factors)
    if users.ndim != 2 or items.ndim != 2 or users.shape[1] != items.shape[1] or len(items) < 2:
        raise ValueError(
            "user_factors and item_factors must have shapes (users, d) and (items, d) with at "
            f"least two items, got {users.shape} and {items.shape}"
        )
    rng, repetitions = generator(rng), positive_int("repetitions", repetitions)
    relevant = rng.integers(0, len(items), len(users))

    def seconds(work):
        times = []
        for _ in range(repetitions):
            start = perf_counter()
            work()
            times.append(perf_counter() - start)
        return min(times)

    def sample(m):
        # The relevant item's index is skipped, so that only irrelevant ones are drawn.
        drawn = rng.integers(0, len(items) - 1, (len(users), m))
        drawn += drawn >= relevant[:, None]
        own = np.einsum("ud,ud->u", users, items[relevant])
        step = max(1, 2**22 // (m * items.shape[1]))  # picked factors are held for a few users
        for start in range(0, len(users), step):
            rows = slice(start, start + step)
            scores = np.einsum("ud,umd->um", users[rows], items[drawn[rows]])
            (scores > own[rows, None]).sum(axis=1)

    everything = seconds(lambda: predicted_ranks((users, items), relevant))
    tried, times = [1], [seconds(lambda: sample(1))]
    while times[-1] < everything and tried[-1] < len(items) - 1:
        tried.append(min(2 * tried[-1], len(items) - 1))
        times.append(seconds(lambda: sample(tried[-1])))
    samples = None
    if times[-1] >= everything:
        samples = int(np.ceil(np.interp(everything, times[-2:], tried[-2:])))
    return BreakEven(samples, everything, np.array(tried), np.array(times))


def _smallest(chance, wanted, last, pool):
    """The smallest m from which on chance(m) >= wanted, up to the last; None if it is not there."""
    enough, short = None, 0
    for m in _tried(last, pool):
        if chance(m) < wanted:
            short = m
            break
        enough = m
    if enough is None:
        return None
    while enough - short > 1:
        middle = (short + enough) // 2
        if chance(middle) < wanted:
            short = middle
        else:
            enough = middle
    return enough


def _tried(last, pool):
    """Numbers of samples from the last down to 1; closer where nearly the whole pool is sampled."""
    if pool <= 200:
        return range(last, 0, -1)
    upwards = np.geomspace(1, last, 2 + int(3 * np.log2(last))).round().astype(int)
    nearly_all = pool - 2 ** np.arange(int(np.log2(pool)) - 1)
    return np.union1d(upwards, nearly_all[nearly_all < last])[::-1].tolist()


def _made(metric, sampler):
    if isinstance(metric, Correction):
        raise ValueError(
            "metric must be a metric or a function that makes a correction for a sampler, "
            f"got {metric} for m = {metric.sampler.m} only"
        )
    made = metric if isinstance(metric, Metric) or not callable(metric) else metric(sampler)
    check_metric(made)
    return made


def _last(largest, pool):
    last = pool if largest is None else positive_int("largest", largest)
    if last > pool:
        raise ValueError(f"largest must be at most {pool}, the irrelevant items, got {largest}")
    return last


def _normal_probability(mean, error):
    """P(Normal(mean, error) > 0); 1/2 where there is neither difference nor noise."""
    if error == 0:
        return float(0.5 + 0.5 * np.sign(mean))
    return float(special.ndtr(mean / error))


def _values(metric, ranks):
    check_metric(metric)
    values = metric(ranks)
    if np.isnan(values).any():
        raise ValueError(
            f"{metric} must be defined for every instance, got nan in instance "
            f"{int(np.argmax(np.isnan(values)))}"
        )
    return values


def _differences(metric, ranks_a, ranks_b):
    _check_same_instances(ranks_a, ranks_b)
    return _values(metric, ranks_a) - _values(metric, ranks_b)


def _check_same_instances(ranks_a, ranks_b):
    for ranks in (ranks_a, ranks_b):
        check_ranks(ranks)
    if len(ranks_a) != len(ranks_b):
        raise ValueError(
            f"both recommenders must have the same instances, got {len(ranks_a)} and {len(ranks_b)}"
        )
