"""How often limits hold the exact mean of a metric, over populations of ranks of all kinds.

Each of the `populations`, ten of which played no part in choosing the methods, is sampled again
and again. record_coverage.py records the outcome.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recsample._support.arrays import counted
from recsample._support.frames import table_of
from recsample._support.numerics import LEVEL
from recsample._support.typing import Floats
from recsample.corrections.bias_variance import BiasVariance
from recsample.corrections.constrained import ConstrainedLeastSquares
from recsample.corrections.rank_estimate import RankEstimate
from recsample.datasets.recorded import recorded_ranks
from recsample.inference.distribution import best_gamma, plausible_prior
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.sampling.uniform import UniformSampling

# Kept aside while the methods were chosen.
_HELD_OUT = {"r^-0.9", "r^-1.5", "half r^-0.9, flat", "half r^-1.8, r^-0.3", "P(x) = (x/n)^0.25"}
_HELD_OUT |= {"two steps", "10 % up to 10, flat", "24 % at 11, far", "all at rank 100", "Y"}


class Population(NamedTuple):
    """A distribution of ranks."""

    chances: Floats  # of the ranks 1, ..., n
    decreasing: bool  # within the best fifth no rank is more frequent than a better one
    smooth: bool  # there the frequencies fall as a mixture of exponential decays
    held_out: bool  # kept aside while the methods were chosen


def populations(n):
    """Distributions of ranks of all kinds in a pool of n items, of which there are at least 1000.

    Power laws; mixtures of steep and flat ones; steps and plateaus; everything at one rank; humps
    that no assumption of this package allows; and, in a pool of their own size, the recorded ranks
    of X, Y and Z on MovieLens.
    """
    r = np.arange(1.0, n + 1)
    flat = np.full(n, 1 / n)

    def over(weights):
        return weights / weights.sum()

    def power(exponent, offset=0.0):
        return over((r + offset) ** -exponent)

    def upto(k):
        return np.where(r <= k, 1 / k, 0.0)

    def at(rank):
        return (r == rank).astype(float)

    smooth = {f"r^-{b:g}": power(b) for b in (0.3, 0.6, 0.9, 1.2, 1.5, 1.8)} | {
        "uniform": flat,
        "all at rank 1": at(1),
        "30 % at rank 1, flat": 0.3 * at(1) + 0.7 * flat,
        "30 % r^-1.5, flat": 0.3 * power(1.5) + 0.7 * flat,
        "half r^-0.9, flat": (power(0.9) + flat) / 2,
        "half r^-1.8, r^-0.3": (power(1.8) + power(0.3)) / 2,
        "(r + 100)^-1.5": power(1.5, 100),
        "P(x) = (x/n)^0.25": np.diff(np.append(0, r / n) ** 0.25),
    }
    falling = {
        "steps": over(np.where(r <= 0.06 * n, 5.0, 1) * np.where(r <= 0.01 * n, 4, 1)),
        "two steps": over(np.where(r <= 20, 30.0, 1) * np.where(r <= 300, 2, 1)),
        "40 % up to 50, flat": 0.4 * upto(50) + 0.6 * flat,
        "10 % up to 10, flat": 0.1 * upto(10) + 0.9 * flat,
        "20 % up to 5, far": 0.2 * upto(5) + 0.8 * over(np.where(r > n / 2, 1.0, 0)),
    }
    humped = {
        "3 % at 3, far": 0.03 * at(3) + 0.97 * at(1000),
        "24 % at 11, far": 0.24 * at(11) + 0.76 * at(1000),
        "30 % in 11 to 30, flat": 0.3 * (1.5 * upto(30) - 0.5 * upto(10)) + 0.7 * flat,
        "all at rank 100": at(100),
    }
    found, recorded = [(humped, False, False)], recorded_ranks()
    if n == round(np.mean(recorded["X"].n_items)):
        # What is recorded is a sample, which falls but for chance: of a hypothetical law.
        drawn = {k: one.break_ties("random", 0).rows.rank for k, one in recorded.items()}
        shares = {k: counted(np.minimum(d, n) - 1, n) / len(d) for k, d in drawn.items()}
        found.append((shares, True, False))
    return {
        name: Population(chances, decreasing, decays, name in _HELD_OUT)
        for kind, decreasing, decays in [(smooth, True, True), (falling, True, False), *found]
        for name, chances in kind.items()
    }


METRICS = [Recall @ 10, NDCG @ 10, AP, AUC]


def coverage(
    population, *, m=100, n_instances=6000, metrics=METRICS, repetitions=400, rng=0, intervals=None
):
    """How often limits from one run hold the exact mean, and how wide they are.

    Each repetition draws instances from a `Population`, or from `Ranks` with replacement, each with
    its pool, ties and relevant items, and samples for them anew. Indexed by method and metric. The
    methods: limits under each assumption, be it contradicted or not; "report", those that `report`
    prints. Columns: "held", the share of intervals with the exact mean over the instances in them;
    "held for all", with the mean over the population; "width", the median; "error", the root of the
    mean squared error of the estimate, also where a report would print none; "contradicted", for
    "report" the share of runs that contradict "decreasing".

    Another generator of `intervals` than `intervals_of_limits` has methods of its own.
    """
    intervals, metrics = intervals or intervals_of_limits, chosen_metrics(metrics)
    rng, sampler = np.random.default_rng(rng), UniformSampling(m)
    over_all = {metric: mean_over_all(population, metric) for metric in metrics}
    found = {}
    for _ in range(repetitions):
        ranks = instances_of(population, n_instances, rng)
        exact = {metric: float(metric(ranks).mean()) for metric in metrics}
        for one in intervals(sampler.draw(ranks, rng), ranks.sizes, metrics):
            found.setdefault((one.method, str(one.metric)), []).append(
                (
                    holds(one.low, one.high, exact[one.metric]),
                    holds(one.low, one.high, over_all[one.metric]),
                    one.high - one.low,
                    (one.value - exact[one.metric]) ** 2,
                    one.contradicted,
                )
            )
    rows = {}
    for key, values in found.items():
        held, for_all, width, square, contradicted = np.array(values, float).T
        rows[key] = {
            "held": held.mean(),
            "held for all": for_all.mean(),
            "width": np.nanmedian(width),
            "error": np.sqrt(np.nanmean(square)),
            "contradicted": contradicted.mean(),
        }
    return table_of(rows, ["method", "metric"])


def holds(low, high, exact):
    """Whether a number is between the limits."""
    # Limits are found to four digits or so, which decides where there is no noise.
    room = 1e-4 * abs(exact) + 1e-9
    return low - room <= exact <= high + room


def instances_of(population, n_instances, rng):
    """Instances drawn from a population."""
    if isinstance(population, Ranks):
        return population[rng.integers(0, len(population), n_instances)]
    n, cumulated = len(population.chances), np.cumsum(population.chances)
    drawn = np.searchsorted(cumulated, rng.random(n_instances) * cumulated[-1])
    return Ranks(np.minimum(drawn + 1, n), n)


def mean_over_all(population, metric):
    """The mean of a metric over a population."""
    if isinstance(population, Ranks):
        return float(metric(population).mean())
    n = len(population.chances)
    return float(metric.of_rank(np.arange(1, n + 1), n) @ population.chances)


class Interval(NamedTuple):
    """Limits by a method, and whether the data contradict "decreasing", if known."""

    metric: Metric
    method: str
    value: float
    low: float
    high: float
    contradicted: float = np.nan


def intervals_of_limits(sampled, sizes, metrics):
    """By the limits under each assumption, and by a report."""
    evidence = SampledRun(sampled, sizes, False, metrics)
    for metric in metrics:
        value = evidence.estimate(metric)
        if isinstance(metric.shape, Linear):
            yield Interval(metric, "report", value, *evidence.limits(metric, "none", LEVEL))
            continue
        limits = {a: evidence.limits(metric, a, LEVEL) for a in ASSUMPTIONS}
        for assumption, ends in limits.items():
            yield Interval(metric, assumption, value, *ends)
        used = supported(metric, evidence)
        low, high = limits[used] if used else (np.nan, np.nan)
        within = float(np.clip(value, low, high))
        yield Interval(metric, "report", within, low, high, used != "decreasing")


def corrections_for(metric, sampler, n_items, n_instances):
    """By name; a linear metric needs none."""
    if isinstance(metric.shape, Linear):
        return {}
    gamma, prior = best_gamma(n_instances), plausible_prior(n_items)
    return {
        "BV 0.1": BiasVariance(metric, sampler, n_items, gamma=0.1),
        "BV 0.01": BiasVariance(metric, sampler, n_items, gamma=0.01),
        "BV, rule": BiasVariance(metric, sampler, n_items, gamma=gamma, prior=prior),
    }


def errors_of_corrections(population, *, m=100, n_instances=6000, metrics=METRICS[:3]):
    """How far corrected means are off the mean over the population, exactly, from the law.

    Indexed by method and metric. The methods: "sampled", not corrected; "Rank Estimate"; "CLS";
    "BV 0.1" and "BV 0.01", with a uniform prior; "BV, rule", with `plausible_prior` and
    `best_gamma`. Columns "bias", "std" over instances and samples, and "error", the root of the sum
    of their squares.
    """
    n, sampler = len(population.chances), UniformSampling(m)
    seen = population.chances @ sampler.law(n)
    rows = {}
    for metric in chosen_metrics(metrics):
        corrections = {
            "sampled": metric,
            "Rank Estimate": RankEstimate(metric, sampler, n),
            "CLS": ConstrainedLeastSquares(metric, sampler, n),
            **corrections_for(metric, sampler, n, n_instances),
        }
        exact = mean_over_all(population, metric)
        for name, correction in corrections.items():
            values = correction.of_rank(np.arange(1, m + 2), m + 1)
            mean = seen @ values
            variance = np.maximum(seen @ values**2 - mean**2, 0.0) / n_instances
            bias, std = mean - exact, np.sqrt(variance)
            rows[name, str(metric)] = {"bias": bias, "std": std, "error": np.hypot(bias, std)}
    return table_of(rows, ["method", "metric"])
