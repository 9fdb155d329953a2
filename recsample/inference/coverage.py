"""How often what this package says of a metric is true, over populations of all kinds.

What a reader may copy into a paper gets its measured reliability here: `populations` of ranks, ten
of which played no part in choosing the methods, are sampled again and again, and `coverage`
counts how often each interval holds the exact mean. `recorded_coverage` is the outcome of the whole
study, made by ``python scripts/record_coverage.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from recsample._support.arrays import counted
from recsample._support.checks import (
    every_rank,
    generator,
    positive_float,
    positive_int,
    shown,
    true_or_false,
)
from recsample._support.extras import extra
from recsample._support.frames import table_of
from recsample._support.numerics import LEVEL, limits_of_mean, standard_error
from recsample._support.typing import Floats, Rng
from recsample.corrections.bias_variance import BiasVariance
from recsample.corrections.constrained import ConstrainedLeastSquares
from recsample.corrections.rank_estimate import RankEstimate
from recsample.datasets.recorded import recorded_ranks
from recsample.inference.bounds import certified_interval
from recsample.inference.comparison import order_probability, paired_comparison
from recsample.inference.distribution import best_gamma, log_spline, plausible_prior
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.inference.likelihood.pairs import compared
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.inference.planning import required_samples, required_samples_from_pilot
from recsample.inference.ways import ways_to
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_same_instances, mean_pool_size
from recsample.sampling.sequential.inverse import InverseSampling
from recsample.sampling.sequential.stopping import EarlyStopping
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Population",
    "coverage",
    "coverage_of_designs",
    "coverage_of_pairs",
    "coverage_of_pilots",
    "coverage_of_plans",
    "errors_of_corrections",
    "populations",
    "recorded_coverage",
]


_REACH = special.ndtri((1 + LEVEL) / 2)


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
        At least 1000, at most 10^7.

    Returns
    -------
    dict of str to Population

    Raises
    ------
    ValueError
        For another pool.

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

    def power(exponent, offset=0.0):
        return _normalised((r + offset) ** -exponent)

    def upto(k):
        return np.where(r <= k, 1 / k, 0.0)

    def at(rank):
        return (r == rank).astype(float)

    def smooth(chances, held_out=False):
        return Population(chances, True, True, held_out)

    def steps(chances, held_out=False):
        return Population(chances, True, False, held_out)

    def humped(chances, held_out=False):
        return Population(chances, False, False, held_out)

    found = {f"r^-{b:g}": smooth(power(b), b in (0.9, 1.5)) for b in (0.3, 0.6, 0.9, 1.2, 1.5, 1.8)}
    found |= {
        "uniform": smooth(flat),
        "all at rank 1": smooth(at(1)),
        "30 % at rank 1, flat": smooth(0.3 * at(1) + 0.7 * flat),
        "30 % r^-1.5, flat": smooth(0.3 * power(1.5) + 0.7 * flat),
        "half r^-0.9, flat": smooth((power(0.9) + flat) / 2, True),
        "half r^-1.8, r^-0.3": smooth((power(1.8) + power(0.3)) / 2, True),
        "(r + 100)^-1.5": smooth(power(1.5, 100)),
        "P(x) = (x/n)^0.25": smooth(np.diff(np.append(0, r / n) ** 0.25), True),
        "steps": steps(
            _normalised(np.where(r <= 0.06 * n, 5.0, 1) * np.where(r <= 0.01 * n, 4, 1))
        ),
        "two steps": steps(
            _normalised(np.where(r <= 20, 30.0, 1) * np.where(r <= 300, 2, 1)), True
        ),
        "40 % up to 50, flat": steps(0.4 * upto(50) + 0.6 * flat),
        "10 % up to 10, flat": steps(0.1 * upto(10) + 0.9 * flat, True),
        "20 % up to 5, far": steps(0.2 * upto(5) + 0.8 * _normalised(np.where(r > n / 2, 1.0, 0))),
        "3 % at 3, far": humped(0.03 * at(3) + 0.97 * at(1000)),
        "24 % at 11, far": humped(0.24 * at(11) + 0.76 * at(1000), True),
        "30 % in 11 to 30, flat": humped(0.3 * (1.5 * upto(30) - 0.5 * upto(10)) + 0.7 * flat),
        "all at rank 100": humped(at(100), True),
    }
    recorded = recorded_ranks()
    if n == round(np.mean(recorded["X"].n_items)):
        for name, ranks in recorded.items():
            drawn = np.minimum(ranks.break_ties("random", 0).rows.rank, n)
            # What is recorded is a sample, which falls but for chance: of a hypothetical law.
            found[name] = Population(counted(drawn - 1, n) / len(ranks), True, False, name == "Y")
    return found


def _normalised(weights):
    return weights / weights.sum()


def coverage(
    population: Population | Ranks,
    *,
    m: int = 100,
    n_instances: int = 6000,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP, AUC),
    repetitions: int = 400,
    others: bool = False,
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
        How many items are drawn for each of how many instances.
    metrics : sequence of Metric or str, optional
    repetitions : int, optional
    others : bool, optional
        Methods that this package does not recommend, too; for one relevant item in equal pools.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by method and metric. The methods: limits under each assumption, be it contradicted
        or not; "report", those that `report` prints. Others: "certified", `certified_interval`;
        "spline", `log_spline` with 1.96 standard errors; and so a corrected mean, ``BiasVariance``
        with gamma = 0.1 ("BV 0.1") or 0.01, or with a plausible prior and `best_gamma` ("BV,
        rule"). Columns: ``held``, the share of intervals with the exact mean over the instances in
        them; ``held for all``, with the mean over the population; ``width``, the median; ``error``,
        the root of the mean squared error of the estimate, also of those that a report would not
        print; ``contradicted``, for "report" the share of runs that contradict "decreasing".

    Raises
    ------
    ValueError
        For numbers that are not whole and positive.

    Examples
    --------
    >>> import recsample as rs
    >>> flat = rs.inference.coverage.populations(1000)["uniform"]
    >>> study = rs.inference.coverage.coverage(
    ...     flat, m=20, n_instances=300, metrics=["Recall@10"], repetitions=5
    ... )
    >>> float(study.loc[("decreasing", "Recall@10"), "held"])
    1.0
    """
    population, n_instances = _checked(population, n_instances)
    rng, chosen, sampler = generator(rng), chosen_metrics(metrics), UniformSampling(m)
    over_all = {metric: _mean_over(population, metric) for metric in chosen}
    others = true_or_false("others", others)
    if others and isinstance(population, Ranks):
        raise ValueError("others must be False for Ranks: they need a Population, got True")
    corrections = _corrections(population, sampler, chosen, n_instances) if others else {}
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for _ in range(positive_int("repetitions", repetitions)):
        ranks = _instances_of(population, n_instances, rng)
        sampled = sampler.draw(ranks, rng)
        said = list(_said(sampled, ranks.sizes, chosen))
        said += _said_by_others(sampled, sampler, corrections)
        exact = {metric: float(metric(ranks).mean()) for metric in chosen}
        for metric, method, value, low, high, *down in said:
            row = (
                _holds(low, high, exact[metric]),
                _holds(low, high, over_all[metric]),
                high - low,
                (value - exact[metric]) ** 2,
                *(down or [np.nan]),
            )
            found.setdefault((method, str(metric)), []).append(row)
    columns = ["held", "held for all", "width", "error", "contradicted"]
    return table_of(
        {key: dict(zip(columns, _summary(rows))) for key, rows in found.items()},
        ["method", "metric"],
    )


def _summary(rows):
    held, for_all, width, square, *further = np.array(rows, float).T
    means = [column.mean() for column in further]
    return held.mean(), for_all.mean(), np.nanmedian(width), np.sqrt(np.nanmean(square)), *means


def _holds(low, high, exact):
    # Limits are found to four digits or so, which decides where there is no noise.
    room = 1e-4 * abs(exact) + 1e-9
    return low - room <= exact <= high + room


def _checked(population, n_instances):
    if not isinstance(population, (Population, Ranks)):
        raise ValueError(f"population must be a Population or Ranks, got {shown(population)}")
    return population, positive_int("n_instances", n_instances)


def _instances_of(population, n_instances, rng):
    """Instances drawn from a population."""
    if isinstance(population, Ranks):
        return population[rng.integers(0, len(population), n_instances)]
    n, cumulated = len(population.chances), np.cumsum(population.chances)
    drawn = np.searchsorted(cumulated, rng.random(n_instances) * cumulated[-1])
    return Ranks(np.minimum(drawn + 1, n), n)


def _mean_over(population, metric):
    if isinstance(population, Ranks):
        return float(metric(population).mean())
    n = len(population.chances)
    return float(metric.of_rank(np.arange(1, n + 1), n) @ population.chances)


def _said(sampled, sizes, metrics):
    """Metric, method, estimate and limits of the methods of this package."""
    evidence = Evidence(sampled, sizes, False, metrics)
    for metric in metrics:
        value = evidence.estimate(metric)
        if isinstance(metric.shape, Linear):
            yield metric, "report", value, *evidence.limits(metric, "none", LEVEL)
            continue
        limits = {a: evidence.limits(metric, a, LEVEL) for a in ASSUMPTIONS}
        for assumption, (low, high) in limits.items():
            yield metric, assumption, value, low, high
        used = supported(metric, evidence)
        low, high = limits[used] if used else (np.nan, np.nan)
        shown = float(np.clip(value, low, high))
        yield metric, "report", shown, low, high, used != "decreasing"


def _corrections(population, sampler, metrics, n_instances):
    """By metric and name, for the methods that need them."""
    n, gamma = len(population.chances), best_gamma(n_instances)
    return {
        metric: {
            "BV 0.1": BiasVariance(metric, sampler, n, gamma=0.1),
            "BV 0.01": BiasVariance(metric, sampler, n, gamma=0.01),
            "BV, rule": BiasVariance(metric, sampler, n, gamma=gamma, prior=plausible_prior(n)),
        }
        for metric in metrics
        if not isinstance(metric.shape, Linear)
    }


def _said_by_others(sampled, sampler, corrections):
    if not corrections:
        return
    n = next(iter(next(iter(corrections.values())).values())).n_items
    spline = log_spline(sampled, sampler, n)
    for metric, by_name in corrections.items():
        yield metric, "spline", *_interval(*spline.mean(metric))
        for name, correction in by_name.items():
            values = correction(sampled)
            yield metric, name, *_interval(values.mean(), standard_error(values))
        low, high = certified_interval(metric, sampled, sampler, n, level=LEVEL)
        yield metric, "certified", (low + high) / 2, low, high


def _interval(mean, error):
    return mean, mean - _REACH * error, mean + _REACH * error


def coverage_of_pairs(
    a: Ranks,
    b: Ranks,
    *,
    m: int = 100,
    n_instances: int = 6000,
    metrics: Sequence[Metric | str] = (Recall @ 10, AP, AUC),
    repetitions: int = 400,
    rng: Rng = 0,
) -> pd.DataFrame:
    """How often what is said of the difference of two recommenders is true.

    Each repetition draws instances with replacement, the same for both, and samples for each
    recommender by itself.

    Parameters
    ----------
    a, b : Ranks
        One relevant item per instance.
    m, n_instances : int, optional
    metrics : sequence of Metric or str, optional
    repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by method and metric. The methods: "report", the pairs of `report`; "design",
        `paired_comparison` of what `InverseSampling` observes, or `EarlyStopping` for a metric with
        a cut-off; and, not recommended, the paired interval of a corrected metric, with 1.96
        standard errors, for gamma = 0.1 and 0.01. Columns: ``held``, the share of intervals with
        the exact difference in them; ``width``, the median; ``decided``, the share of runs in which
        0 is not in the interval; ``right``, in which its sign is right, of those decided.

    Raises
    ------
    ValueError
        For numbers that are not whole and positive.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks(range(1, 301), n_items=1000), rs.Ranks(range(300, 600), n_items=1000)
    >>> study = rs.inference.coverage.coverage_of_pairs(
    ...     a, b, m=20, n_instances=300, metrics=["AUC"], repetitions=5
    ... )
    >>> float(study.loc[("report", "AUC"), "right"])
    1.0
    """
    check_same_instances(a, b, ("a", "b"))
    n_instances = positive_int("n_instances", n_instances)
    rng, chosen, sampler = generator(rng), chosen_metrics(metrics), UniformSampling(m)
    n = mean_pool_size({"a": a, "b": b})
    biased = {
        (metric, gamma): BiasVariance(metric, sampler, n, gamma=gamma)
        for metric in chosen
        if not isinstance(metric.shape, Linear)
        for gamma in (0.1, 0.01)
    }
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for _ in range(positive_int("repetitions", repetitions)):
        drawn = rng.integers(0, len(a), n_instances)
        exact = {metric: (metric(a[drawn]) - metric(b[drawn])).mean() for metric in chosen}
        runs = [sampler.draw(ranks[drawn], rng) for ranks in (a, b)]
        of_a, of_b = (Evidence(run, r.sizes[drawn], False, chosen) for run, r in zip(runs, (a, b)))
        said = []
        for metric in chosen:
            one = compared(metric, of_a, of_b, supported(metric, of_a, of_b) or "none", LEVEL)
            said.append((metric, "report", one.low, one.high))
            if not isinstance(metric.shape, Linear):
                design = _design_for(metric)
                observed = [design.draw(ranks[drawn], rng) for ranks in (a, b)]
                unbiased = paired_comparison(metric, *observed, level=LEVEL)
                said.append((metric, "design", unbiased.low, unbiased.high))
        for (metric, gamma), correction in biased.items():
            differences = correction(runs[0]) - correction(runs[1])
            interval = _interval(differences.mean(), standard_error(differences))
            said.append((metric, f"BV {gamma:g}, paired", *interval[1:]))
        for metric, method, low, high in said:
            sign = np.sign(low) if low * high > 0 else 0.0
            row = _holds(low, high, exact[metric]), high - low, sign, sign * exact[metric] > 0
            found.setdefault((method, str(metric)), []).append(row)
    rows = {}
    for key, values in found.items():
        held, width, sign, right = np.array(values, float).T
        decided = sign != 0
        rows[key] = {
            "held": held.mean(),
            "width": np.median(width),
            "decided": decided.mean(),
            "right": right[decided].mean() if decided.any() else np.nan,
        }
    return table_of(rows, ["method", "metric"])


def coverage_of_designs(
    population: Population | Ranks,
    *,
    n_instances: int = 1000,
    repetitions: int = 400,
    rng: Rng = 0,
) -> pd.DataFrame:
    """How often the interval of a design without bias, from one run of it, holds the exact AP.

    Parameters
    ----------
    population : Population or Ranks
        One relevant item per instance.
    n_instances : int, optional
    repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        One row per method: the mean of `InverseSampling` with 1.96 standard errors, from
        `InverseSampling.estimated_variance` ("one run"), or by Student's t from the spread of the
        estimates ("Student"). Columns ``held``, for the mean over the instances; ``held for all``,
        over the population; ``width``.

    Raises
    ------
    ValueError
        For numbers that are not whole and positive.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.datasets.recorded_ranks()["Y"]
    >>> study = rs.inference.coverage.coverage_of_designs(ranks, repetitions=20)
    >>> bool(study.loc["Student", "held"] > 0.7)
    True
    """
    population, n_instances = _checked(population, n_instances)
    rng, design = generator(rng), InverseSampling()
    over_all = _mean_over(population, AP)
    found: dict[str, list[tuple[float, ...]]] = {"one run": [], "Student": []}
    for _ in range(positive_int("repetitions", repetitions)):
        ranks = _instances_of(population, n_instances, rng)
        exact, observed = float(AP(ranks).mean()), design.draw(ranks, rng)
        values = design.of(AP, observed)
        variance = design.estimated_variance(AP, observed).sum() / n_instances**2
        _, *one_run = _interval(values.mean(), np.sqrt(max(0.0, variance)))
        for method, (low, high) in (
            ("one run", one_run),
            ("Student", limits_of_mean(values, LEVEL)),
        ):
            row = _holds(low, high, exact), _holds(low, high, over_all), high - low, 0.0
            found[method].append(row)
    columns = ["held", "held for all", "width"]
    pd = extra("pandas")
    return pd.DataFrame({k: dict(zip(columns, _summary(v))) for k, v in found.items()}).T


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
        How many items are drawn for each of how many instances.
    metrics : sequence of Metric or str, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by method and metric. The methods: "sampled", not corrected; "Rank Estimate"; "CLS";
        "BV 0.1" and "BV 0.01", with a uniform prior; "BV, rule", with `plausible_prior` and
        `best_gamma`. Columns ``bias``, ``std`` over instances and samples, and ``error``, the root
        of the sum of their squares.

    Raises
    ------
    ValueError
        For numbers that are not whole and positive, and too many samples for the pool.

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
        corrections = {
            "sampled": metric,
            "Rank Estimate": RankEstimate(metric, sampler, n),
            "CLS": ConstrainedLeastSquares(metric, sampler, n),
            **_corrections(population, sampler, [metric], n_instances).get(metric, {}),
        }
        exact = _mean_over(population, metric)
        for name, correction in corrections.items():
            values = correction.of_rank(np.arange(1, m + 2), m + 1)
            mean = seen @ values
            variance = max(0.0, seen @ values**2 - mean**2) / n_instances
            bias, std = mean - exact, np.sqrt(variance)
            rows[name, str(metric)] = {"bias": bias, "std": std, "error": np.hypot(bias, std)}
    return table_of(rows, ["method", "metric"])


def coverage_of_pilots(
    a: Ranks,
    b: Ranks,
    *,
    m: int = 100,
    n_instances: int = 1000,
    metrics: Sequence[Metric | str] = (Recall @ 10, AP, AUC),
    repetitions: int = 100,
    rng: Rng = 0,
) -> pd.DataFrame:
    """How often `required_samples_from_pilot` is right.

    Each repetition draws instances with replacement, the same for both recommenders, and samples
    for each by itself.

    Parameters
    ----------
    a, b : Ranks
        One relevant item per instance.
    m, n_instances : int, optional
        Of the pilot.
    metrics : sequence of Metric or str, optional
    repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by metric, over the runs in which the exact means differ: else there is no order to
        plan for. Columns: ``needed``, the median over the runs of `required_samples`,
        which knows the exact ranks; ``planned``, the median of what the pilot says; ``held``, the
        share of runs in which the interval of the pilot, of 90 %, holds what is needed; ``enough``,
        in which as many samples as planned have the order with the probability asked for, .95.

    Raises
    ------
    ValueError
        For numbers that are not whole and positive, and recommenders that never differ.

    Examples
    --------
    >>> import recsample as rs
    >>> a, b = rs.Ranks(range(1, 301), n_items=1000), rs.Ranks(range(150, 450), n_items=1000)
    >>> study = rs.inference.coverage.coverage_of_pilots(
    ...     a, b, m=20, n_instances=300, metrics=["AUC"], repetitions=3
    ... )
    >>> float(study.loc["AUC", "enough"])
    1.0
    """
    check_same_instances(a, b, ("a", "b"))
    n_instances = positive_int("n_instances", n_instances)
    rng, chosen, sampler = generator(rng), chosen_metrics(metrics), UniformSampling(m)
    n = mean_pool_size({"a": a, "b": b})
    found: dict[str, list[tuple[float, ...]]] = {str(metric): [] for metric in chosen}
    for _ in range(positive_int("repetitions", repetitions)):
        drawn = rng.integers(0, len(a), n_instances)
        ranks = a[drawn], b[drawn]
        pilot_a, pilot_b = (sampler.draw(one, rng) for one in ranks)
        for metric in chosen:
            if metric(ranks[0]).mean() == metric(ranks[1]).mean():
                continue
            said = required_samples_from_pilot(
                metric, pilot_a, pilot_b, sampler, n, rng, repetitions=50
            )
            most = int(min(one.n_irrelevant.min() for one in ranks))
            needed = _required(metric, *ranks, most)
            planned = min(said.samples, most)
            reached = order_probability(metric, *ranks, UniformSampling(planned))
            row = needed, planned, said.low <= needed <= said.high, reached >= LEVEL
            found[str(metric)].append(row)
    rows = {}
    for name, values in found.items():
        if not values:
            raise ValueError(f"a and b must differ in their mean {name}, got the same in every run")
        needed, planned, held, enough = np.array(values, float).T
        rows[name] = {
            "needed": np.median(needed),
            "planned": np.median(planned),
            "held": held.mean(),
            "enough": enough.mean(),
        }
    return extra("pandas").DataFrame.from_dict(rows, orient="index")


def _required(metric, a, b, most):
    """The number of samples that exact ranks ask for; all if none is enough."""
    try:
        return required_samples(metric, a, b, probability=LEVEL)
    except ValueError:
        return most


def coverage_of_plans(
    population: Population | Ranks,
    *,
    m: int = 100,
    n_instances: int = 2000,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP),
    share: float = 0.7,
    repetitions: int = 20,
    rng: Rng = 0,
) -> pd.DataFrame:
    """Whether `Result.plan` leads where it says: each way is gone, and the limits are measured.

    Parameters
    ----------
    population : Population or Ranks
    m, n_instances : int, optional
        Of the run from which is planned.
    metrics : sequence of Metric or str, optional
    share : float, optional
        The width asked for, as a share of that of the run.
    repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by way and metric. Columns: ``offered``, the share of runs whose plan has this way;
        ``width``, the mean over them of the width that is reached, over the width asked for;
        ``reached``, the share in which it is at most a tenth above that; ``held``, in which the
        limits hold the mean over the population.

    Raises
    ------
    ValueError
        For numbers that are not whole and positive.

    Examples
    --------
    >>> import recsample as rs
    >>> flat = rs.inference.coverage.populations(1000)["uniform"]
    >>> study = rs.inference.coverage.coverage_of_plans(
    ...     flat, m=20, n_instances=300, metrics=["Recall@10"], repetitions=2
    ... )
    >>> float(study.loc[("rank all items", "Recall@10"), "offered"])
    1.0
    """
    population, n_instances = _checked(population, n_instances)
    share = positive_float("share", share)
    rng, chosen = generator(rng), chosen_metrics(metrics)
    over_all = {metric: _mean_over(population, metric) for metric in chosen}
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for _ in range(positive_int("repetitions", repetitions)):
        ranks = _instances_of(population, n_instances, rng)
        sampled = UniformSampling(m).draw(ranks, rng)
        for metric in chosen:
            evidence = Evidence(sampled, ranks.sizes, False, [metric])
            low, high = evidence.limits(metric, "decreasing", LEVEL)
            width = share * (high - low)
            for way, row in ways_to(metric, width, evidence).iterrows():
                again = _instances_of(population, int(row["users"]), rng)
                low, high = _gone(str(way), row["setting"], metric, again, rng)
                ratio = (high - low) / width
                held = _holds(low, high, over_all[metric])
                found.setdefault((str(way), str(metric)), []).append((ratio, ratio <= 1.1, held))
    rows = {}
    for key, values in found.items():
        ratio, reached, held = np.array(values, float).T
        rows[key] = {
            "offered": len(ratio) / repetitions,
            "width": ratio.mean(),
            "reached": reached.mean(),
            "held": held.mean(),
        }
    return table_of(rows, ["way", "metric"])


def _gone(way, setting, metric, ranks, rng):
    """The limits from a study as a plan has it."""
    if way == "rank all items":
        return limits_of_mean(metric(ranks), LEVEL)
    if way == "more samples":
        sampled = UniformSampling(int(setting.removeprefix("m = "))).draw(ranks, rng)
        return Evidence(sampled, ranks.sizes, False, [metric]).limits(metric, "decreasing", LEVEL)
    design = _design_for(metric)
    return limits_of_mean(design.of(metric, design.draw(ranks, rng)), LEVEL)


def _design_for(metric):
    """The design that draws until enough is known of a metric."""
    return InverseSampling() if metric.cutoff is None else EarlyStopping(metric.cutoff)


def recorded_coverage() -> pd.DataFrame:
    """The outcome of the whole study, as shipped with the package.

    Returns
    -------
    pandas.DataFrame
        One row per population, numbers of items, samples and instances, method and metric, with the
        columns of `coverage`, ``repetitions``, and ``decreasing``, ``smooth`` and ``held_out`` of
        the population.

    Examples
    --------
    >>> import recsample as rs
    >>> table = rs.inference.coverage.recorded_coverage()
    >>> "held" in table.columns
    True
    """
    with resources.files("recsample").joinpath("data/recorded_coverage.csv").open("rb") as file:
        return extra("pandas").read_csv(file)
