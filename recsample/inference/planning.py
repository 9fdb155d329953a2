"""How many samples a comparison needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from recsample._support.checks import fits_in_memory, generator, positive_int, share
from recsample._support.typing import Rng
from recsample.corrections.base import Correction
from recsample.inference.comparison import difference_moments, exact_order, normal_probability
from recsample.inference.distribution import em, sampled_counts
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_same_instances, rows_of
from recsample.ranks.counts import RankCounts
from recsample.sampling.uniform import UniformSampling

__all__ = ["RequiredSamples", "required_samples", "required_samples_from_pilot"]


# So many samples are tried at most. A pilot takes half a minute for so many products of its ranks,
# its counts, and its repetitions and some more, which stand for the numbers of samples it tries.
_MOST_SAMPLES, _MOST_PRODUCTS, _TRIED = 10**7, 2**30, 20


def required_samples(
    metric: Metric | str | Callable[[UniformSampling], Metric],
    ranks_a: Ranks | RankCounts,
    ranks_b: Ranks | RankCounts,
    *,
    probability: float = 0.95,
    replace: bool = False,
    largest: int | None = None,
) -> int:
    """From how many samples on two recommenders are in their exact order, as a search finds it.

    The smallest m with the probability of `order_probability`, each recommender with negatives of
    its own, as high as asked for at m and at all larger numbers that are tried. Shared negatives
    need fewer as a rule. In pools of up to 200 irrelevant items all numbers are tried; in larger
    ones a grid with three points per doubling, and more near the size of the pool, where little
    noise is left and the probability changes fast. Between two of its points the number is found by
    bisection, so that a short dip can be missed. It takes seconds for thousands of instances.

    Parameters
    ----------
    metric : Metric, str or callable
        A metric; or a function that makes a corrected metric for a sampler, such as
        ``lambda sampler: BiasVariance(AP, sampler, n_items, gamma=0.1)``.
    ranks_a, ranks_b : Ranks or RankCounts
        The exact ranks of the two recommenders, the same instances in the same order.
    probability : float, optional
        Between 0 and 1, both excluded.
    replace : bool, optional
        Sample with replacement.
    largest : int, optional
        Look no further. By default the size of the smallest pool of irrelevant items, and never
        beyond 10^7.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        As `order_probability`, and if even the largest number does not reach the probability.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks([100] * 50, n_items=1000), rs.Ranks([120] * 50, n_items=1000)
    >>> rs.inference.required_samples(rs.AUC, a, b)
    26
    """
    wanted = share("probability", probability)
    sign = exact_order(_made(metric, UniformSampling(1, replace)), ranks_a, ranks_b)
    pool = min(int(rows_of(ranks)[0].n_irrelevant.min()) for ranks in (ranks_a, ranks_b))
    last = _last(largest, pool)

    def chance(m):
        sampler = UniformSampling(m, replace)
        mean, variance = difference_moments(_made(metric, sampler), ranks_a, ranks_b, sampler)
        return normal_probability(sign * mean, np.sqrt(variance))

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
        The estimate, which is too small about as often as not.
    low, high : int
        The central 90 % of the bootstrap over the pilot's instances; the largest number that was
        looked at where it is not reached. The upper end is the plan that is seldom too small.

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
    metric: Metric | str | Callable[[UniformSampling], Metric],
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
    in a bootstrap over the pilot's instances, with what each of its samples needs for the order
    that the pilot found. So of two recommenders that the pilot cannot tell apart all items are to
    be ranked, by the upper end: plan with that. How often it is enough is recorded by
    `recsample.inference.coverage`.

    Parameters
    ----------
    metric : Metric, str or callable
        As in `required_samples`.
    sampled_a, sampled_b : Ranks
        The pilot's sampled ranks, the same instances in the same order.
    sampler : UniformSampling
        The pilot's; the study samples with or without replacement as the pilot did.
    n_items : int
        Size n of the pool.
    rng : int or numpy.random.Generator
    probability : float, optional
        Between 0 and 1, both excluded.
    largest : int, optional
        Look no further. By default n_items - 1, and never beyond 10^7.
    repetitions : int, optional
        Bootstrap samples.

    Returns
    -------
    RequiredSamples

    Raises
    ------
    ValueError
        For ranks that are not sampled ranks of this sampler, different numbers of instances, a pool
        that is too small, and more repetitions than the memory holds.

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=50)
    >>> a, b = (sampler.draw(rs.Ranks([r] * 400, n_items=500), rng=r) for r in (30, 60))
    >>> rs.inference.required_samples_from_pilot(rs.AUC, a, b, sampler, 500, rng=0).samples < 10
    True
    """
    check_same_instances(sampled_a, sampled_b, ("sampled_a", "sampled_b"))
    for pilot in (sampled_a, sampled_b):
        sampled_counts(pilot, sampler)  # refuses what is not a run of this sampler
    n_items = positive_int("n_items", n_items)
    wanted, last = share("probability", probability), _last(largest, n_items - 1)
    rng, n_instances = generator(rng), len(sampled_a)

    @cache  # every bootstrap sample asks for much the same numbers of samples
    def by_rank(m):
        """The exact metric at every rank, and the moments of the sampled one."""
        trial = UniformSampling(m, sampler.replace)
        one = _made(metric, trial)
        exact = one.metric if isinstance(one, Correction) else one
        return exact(every), *trial.moments(one, every)

    def needed(p_a, p_b):
        """The number of samples for the pilot's order, if these are the laws of the ranks."""

        def chance(m):
            exact, mean, variance = by_rank(m)
            sign = np.sign((found_a[0] - found_b[0]) @ exact)
            # Each has negatives of its own, so the variances add up.
            error = np.sqrt((p_a + p_b) @ variance / n_instances)
            # A sampled metric that is the same at every rank has no lead, not even by rounding.
            lead = (p_a - p_b) @ (mean - mean[0])
            return normal_probability(sign * lead, error)

        samples = _smallest(chance, wanted, last, n_items - 1)
        return last if samples is None else samples

    repetitions = positive_int("repetitions", repetitions)
    most = _MOST_PRODUCTS // ((sampler.m + 1) * n_items) - _TRIED
    if most < 1:
        raise ValueError(
            f"n_items must be at most {_MOST_PRODUCTS // ((sampler.m + 1) * (_TRIED + 1)):,} with "
            f"m={sampler.m}, got {n_items}"
        )
    if repetitions > most:
        raise ValueError(
            f"repetitions must be at most {most:,} with m={sampler.m} and n_items={n_items}, "
            f"got {repetitions}"
        )
    fits_in_memory(
        8 * repetitions * (n_instances + 4 * n_items),
        f"the estimates of repetitions={repetitions}",
        "choose fewer repetitions",
    )
    every = Ranks(np.arange(1, n_items + 1), n_items)
    # The pilot itself, then bootstrap samples of its instances, the same for both recommenders.
    again = [rng.integers(0, n_instances, n_instances) for _ in range(repetitions)]
    draws = [np.arange(n_instances), *again]
    law = sampler.law(n_items)

    def learned(pilot):
        counts = np.array([sampled_counts(pilot[drawn], sampler) for drawn in draws]).T
        # What no sample has seen adds nothing to any likelihood.
        seen = counts.any(axis=1)
        start = np.full((n_items, len(draws)), 1 / n_items)
        return em(counts[seen], law[:, seen], start)[0].T

    found_a, found_b = learned(sampled_a), learned(sampled_b)
    samples, *others = map(needed, found_a, found_b)
    low, high = np.quantile(others, [0.05, 0.95], method="nearest")
    return RequiredSamples(samples, int(low), int(high))


def _smallest(chance, wanted, last, pool):
    """The smallest m from which on chance(m) >= wanted, up to the last; None if it is not there."""
    enough, short = None, 0
    # Downwards: the chance may fall again near the pool, and the first crossing not be the last.
    for m in _tried(last, pool):
        if chance(m) < wanted:
            short = m
            break
        enough = m
    if enough is None:
        return None
    between = range(short + 1, enough)
    return short + 1 + bisect_left(between, True, key=lambda m: chance(m) >= wanted)


def _tried(last, pool):
    """Numbers of samples from the last down to 1; closer where nearly the whole pool is sampled."""
    if pool <= 200:
        return range(last, 0, -1)
    upwards = np.geomspace(1, last, 2 + int(3 * np.log2(last))).round().astype(int)
    # With all items but one, two, four ... the noise is nearly gone, and the chance changes fast.
    nearly_all = pool - 2 ** np.arange(int(np.log2(pool)) - 1)
    return np.union1d(upwards, nearly_all[nearly_all < last])[::-1].tolist()


def _made(metric, sampler):
    if isinstance(metric, Correction):
        raise ValueError(
            "metric must be a metric or a function that makes a correction for a sampler, "
            f"got {metric} for m = {metric.sampler.m} only"
        )
    named = isinstance(metric, Metric) or not callable(metric)
    return the_metric(metric if named else metric(sampler))


def _last(largest, pool):
    most = min(pool, _MOST_SAMPLES)
    last = most if largest is None else positive_int("largest", largest)
    if last > most:
        whose = "the irrelevant items, " if most == pool else ""
        raise ValueError(f"largest must be at most {most}, {whose}got {largest}")
    return last
