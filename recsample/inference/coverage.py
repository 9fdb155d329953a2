"""How often what this package says of a metric is true, over populations of all kinds.

What a reader may copy into a paper gets its measured reliability here: `populations` of ranks, ten
of which played no part in choosing the methods, are sampled again and again, and `coverage`
counts how often each interval holds the exact mean. `recorded_coverage` is the outcome of the whole
study, made by ``python scripts/record_coverage.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recsample._support.arrays import counted
from recsample._support.checks import every_rank, generator, positive_int, shown
from recsample._support.extras import extra
from recsample._support.frames import table_of
from recsample._support.numerics import LEVEL
from recsample._support.typing import Floats, Integers, Rng
from recsample.corrections.bias_variance import BiasVariance
from recsample.corrections.constrained import ConstrainedLeastSquares
from recsample.corrections.rank_estimate import RankEstimate
from recsample.datasets.recorded import recorded_ranks
from recsample.inference.distribution import best_gamma, plausible_prior
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Population", "coverage", "errors_of_corrections", "populations", "recorded_coverage"]


# Kept aside while the methods were chosen.
_HELD_OUT = {"r^-0.9", "r^-1.5", "half r^-0.9, flat", "half r^-1.8, r^-0.3", "P(x) = (x/n)^0.25"}
_HELD_OUT |= {"two steps", "10 % up to 10, flat", "24 % at 11, far", "all at rank 100", "Y"}


class Population(NamedTuple):
    """A distribution of ranks.

    Parameters
    ----------
    chances : ndarray of float, shape (n_items,)
        Of the ranks 1, ..., n.
    decreasing : bool
        Whether within the best fifth of the list no rank is more frequent than a better one.
    smooth : bool
        Whether the frequencies fall there as a mixture of exponential decays.
    held_out : bool
        Whether it was kept aside while the methods were chosen.

    Examples
    --------
    >>> import recsample as rs
    >>> found = rs.inference.coverage.populations(1000)["r^-0.9"]
    >>> found.decreasing, found.held_out, round(float(found.chances.sum()), 12)
    (True, True, 1.0)
    """

    chances: Floats
    decreasing: bool
    smooth: bool
    held_out: bool


def populations(n_items: int) -> dict[str, Population]:
    """Distributions of ranks of all kinds, over a pool of a given size.

    Power laws; mixtures of steep and flat ones; steps and plateaus; everything at one rank; humps
    that no assumption of this package allows; and, in a pool of their own size, the recorded ranks
    of X, Y and Z on MovieLens.

    Parameters
    ----------
    n_items : int
        At least 1000, at most 10^7; another size is refused with a `ValueError`.

    Returns
    -------
    dict of str to Population

    Examples
    --------
    >>> import recsample as rs
    >>> found = rs.inference.coverage.populations(3541)
    >>> sum(p.held_out for p in found.values()), len(found)
    (10, 26)
    """
    n = every_rank(n_items, 320, "populations")
    if n < 1000:
        raise ValueError(f"n_items must be at least 1000, got {n}")
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


def coverage(
    population: Population | Ranks,
    *,
    m: int = 100,
    n_instances: int = 6000,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP, AUC),
    repetitions: int = 400,
    rng: Rng = 0,
) -> pd.DataFrame:
    """How often limits from one run hold the exact mean, and how wide they are.

    Each repetition draws instances from the population and samples for them anew.

    Parameters
    ----------
    population : Population or Ranks
        Instances are drawn from `Ranks` with replacement, each with its pool, ties and relevant
        items.
    m, n_instances : int, optional
        How many items are drawn for each of how many instances; a `ValueError` where below 1.
    metrics : sequence of Metric or str, optional
    repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by method and metric. The methods: limits under each assumption, be it contradicted
        or not; "report", those that `report` prints. Columns: ``held``, the share of intervals with
        the exact mean over the instances in them; ``held for all``, with the mean over the
        population; ``width``, the median; ``error``, the root of the mean squared error of the
        estimate, also where a report would print none; ``contradicted``, for "report" the share of
        runs that contradict "decreasing".

    Examples
    --------
    >>> import recsample as rs
    >>> flat = rs.inference.coverage.populations(1000)["uniform"]
    >>> few = dict(m=20, n_instances=300, repetitions=5)
    >>> study = rs.inference.coverage.coverage(flat, metrics=["Recall@10"], **few)
    >>> float(study.loc[("decreasing", "Recall@10"), "held"])
    1.0
    """
    if not isinstance(population, (Population, Ranks)):
        raise ValueError(f"population must be a Population or Ranks, got {shown(population)}")
    sizes = positive_int("m", m), positive_int("n_instances", n_instances)
    repetitions = positive_int("repetitions", repetitions)
    return judged(population, *sizes, chosen_metrics(metrics), repetitions, rng, said_of_limits)


def judged(
    population: Population | Ranks,
    m: int,
    n_instances: int,
    metrics: Sequence[Metric],
    repetitions: int,
    rng: Rng,
    said: Callable[[Ranks, Integers, Sequence[Metric]], Iterator[Said]],
) -> pd.DataFrame:
    """How often what is `said` of sampled ranks, and the sizes of their pools, is true."""
    rng, sampler = generator(rng), UniformSampling(m)
    over_all = {metric: mean_over_all(population, metric) for metric in metrics}
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for _ in range(repetitions):
        ranks = instances_of(population, n_instances, rng)
        exact = {metric: float(metric(ranks).mean()) for metric in metrics}
        for one in said(sampler.draw(ranks, rng), ranks.sizes, metrics):
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


def holds(low: float, high: float, exact: float) -> bool:
    """Whether a number is between the limits."""
    # Limits are found to four digits or so, which decides where there is no noise.
    room = 1e-4 * abs(exact) + 1e-9
    return low - room <= exact <= high + room


def instances_of(
    population: Population | Ranks, n_instances: int, rng: np.random.Generator
) -> Ranks:
    """Instances drawn from a population."""
    if isinstance(population, Ranks):
        return population[rng.integers(0, len(population), n_instances)]
    n, cumulated = len(population.chances), np.cumsum(population.chances)
    drawn = np.searchsorted(cumulated, rng.random(n_instances) * cumulated[-1])
    return Ranks(np.minimum(drawn + 1, n), n)


def mean_over_all(population: Population | Ranks, metric: Metric) -> float:
    """The mean of a metric over a population."""
    if isinstance(population, Ranks):
        return float(metric(population).mean())
    n = len(population.chances)
    return float(metric.of_rank(np.arange(1, n + 1), n) @ population.chances)


class Said(NamedTuple):
    """What a method says of a metric, and whether the data contradict "decreasing", if known."""

    metric: Metric
    method: str
    value: float
    low: float
    high: float
    contradicted: float = np.nan


def said_of_limits(sampled: Ranks, sizes: Integers, metrics: Sequence[Metric]) -> Iterator[Said]:
    """By the limits under each assumption, and by a report."""
    evidence = Evidence(sampled, sizes, False, metrics)
    for metric in metrics:
        value = evidence.estimate(metric)
        if isinstance(metric.shape, Linear):
            yield Said(metric, "report", value, *evidence.limits(metric, "none", LEVEL))
            continue
        limits = {a: evidence.limits(metric, a, LEVEL) for a in ASSUMPTIONS}
        for assumption, ends in limits.items():
            yield Said(metric, assumption, value, *ends)
        used = supported(metric, evidence)
        low, high = limits[used] if used else (np.nan, np.nan)
        within = float(np.clip(value, low, high))
        yield Said(metric, "report", within, low, high, used != "decreasing")


def corrections_for(
    metric: Metric, sampler: UniformSampling, n_items: int, n_instances: int
) -> dict[str, BiasVariance]:
    """By name; a linear metric needs none."""
    if isinstance(metric.shape, Linear):
        return {}
    gamma, prior = best_gamma(n_instances), plausible_prior(n_items)
    return {
        "BV 0.1": BiasVariance(metric, sampler, n_items, gamma=0.1),
        "BV 0.01": BiasVariance(metric, sampler, n_items, gamma=0.01),
        "BV, rule": BiasVariance(metric, sampler, n_items, gamma=gamma, prior=prior),
    }


def errors_of_corrections(
    population: Population,
    *,
    m: int = 100,
    n_instances: int = 6000,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP),
) -> pd.DataFrame:
    """How far corrected means are off the mean over the population, exactly, from the law.

    Parameters
    ----------
    population : Population
    m, n_instances : int, optional
        How many items are drawn for each of how many instances; a `ValueError` where below 1, or
        too many for the pool.
    metrics : sequence of Metric or str, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by method and metric. The methods: "sampled", not corrected; "Rank Estimate"; "CLS";
        "BV 0.1" and "BV 0.01", with a uniform prior; "BV, rule", with `plausible_prior` and
        `best_gamma`. Columns ``bias``, ``std`` over instances and samples, and ``error``, the root
        of the sum of their squares.

    Examples
    --------
    >>> import recsample as rs
    >>> steep = rs.inference.coverage.populations(1000)["r^-1.5"]
    >>> table = rs.inference.coverage.errors_of_corrections(steep, m=20, metrics=["AP"])
    >>> table.loc[("BV 0.1", "AP")].round(2).tolist()
    [-0.38, 0.0, 0.38]
    """
    if not isinstance(population, Population):
        raise ValueError(f"population must be a Population, got {shown(population)}")
    n_instances = positive_int("n_instances", n_instances)
    n, sampler = len(population.chances), UniformSampling(m)
    seen = population.chances @ sampler.law(n)
    rows = {}
    for metric in chosen_metrics(metrics):
        corrections: dict[str, Metric] = {
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


def recorded_coverage() -> pd.DataFrame:
    """The outcome of the whole study, as shipped with the package.

    Returns
    -------
    pandas.DataFrame
        One row per population, numbers of items, samples and instances, method and metric, with the
        columns of `coverage`, ``repetitions``, and ``decreasing``, ``smooth`` and ``held_out`` of
        the population. For limits and "report", ``error`` is that of the estimate from a flat start
        alone, the first of the two that a report is made of.

    Examples
    --------
    >>> import recsample as rs
    >>> table = rs.inference.coverage.recorded_coverage()
    >>> "held" in table.columns
    True
    """
    with resources.files("recsample").joinpath("data/recorded_coverage.csv").open("rb") as file:
        return extra("pandas").read_csv(file)
