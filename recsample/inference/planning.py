"""How many samples a comparison needs, and whether sampling saves any time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import finite_numbers, fits_in_memory, generator, positive_int, share
from recsample._support.typing import Floats, Integers, Rng
from recsample.corrections.base import Correction
from recsample.inference.comparison import difference_moments, exact_order, normal_probability
from recsample.inference.distribution import em, sampled_counts
from recsample.metrics.base import Metric, check_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_same_instances, rows_of
from recsample.ranks.counts import RankCounts
from recsample.ranks.predicted import predicted_ranks
from recsample.sampling.uniform import UniformSampling

__all__ = [
    "BreakEven",
    "RequiredSamples",
    "break_even",
    "required_samples",
    "required_samples_from_pilot",
]


# So many samples are tried at most. A pilot takes half a minute for so many products of its ranks,
# its counts, and its repetitions and some more, which stand for the numbers of samples it tries.
_MOST_SAMPLES, _MOST_PRODUCTS, _TRIED = 10**7, 2**30, 20


def required_samples(
    metric: Metric | Callable[[UniformSampling], Metric],
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
    need fewer as a rule. In pools of up to 200 irrelevant items all numbers are tried. In larger
    ones it is a grid with three points per doubling, and more near the size of the pool, where
    little noise is left and the probability changes fast; between two of its points the number is
    found by bisection, so that a short dip can be missed. It takes seconds for thousands of
    instances: every number that is tried needs the law of every rank.

    Parameters
    ----------
    metric : Metric or callable
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
    have a wide interval. How often the planned number is enough is measured by
    `recsample.inference.coverage`.

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
    known: dict[int, tuple[Floats, Floats, Floats]] = {}

    def by_rank(m):
        """The exact metric at every rank, and the moments of the sampled one."""
        if m not in known:
            trial = UniformSampling(m, sampler.replace)
            one = _made(metric, trial)
            exact = one.metric if isinstance(one, Correction) else one
            known[m] = exact(every), *trial.moments(one, every)
        return known[m]

    def needed(p_a, p_b):
        """The number of samples, if these are the distributions of the ranks."""

        def chance(m):
            exact, mean, variance = by_rank(m)
            sign = np.sign((p_a - p_b) @ exact)
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
    draws = [np.arange(n_instances)]
    for _ in range(repetitions):
        draws.append(rng.integers(0, n_instances, n_instances))
    law = sampler.law(n_items)

    def learned(pilot):
        counts = np.array([sampled_counts(pilot[drawn], sampler) for drawn in draws]).T
        seen = counts.any(axis=1)
        start = np.full((n_items, len(draws)), 1 / n_items)
        return em(counts[seen], law[:, seen], start)[0].T

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
    for m in _tried(last, pool):  # downwards
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
    most = min(pool, _MOST_SAMPLES)
    last = most if largest is None else positive_int("largest", largest)
    if last > most:
        whose = "the irrelevant items, " if most == pool else ""
        raise ValueError(f"largest must be at most {most}, {whose}got {largest}")
    return last
