"""How often what this package says of a metric is true, over populations of all kinds.

Whatever a reader may copy into a paper has its measured reliability here: `populations` of ranks,
a third of which played no part in choosing the methods, are sampled again and again, and `coverage`
counts how often each interval holds the exact mean. `recorded_coverage` is the outcome of the whole
study, made by ``python scripts/record_coverage.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from recsample._extras import extra
from recsample._indexing import counted
from recsample._statistics import standard_error
from recsample._tables import table_of
from recsample._typing import Floats, Rng
from recsample._validation import generator, positive_int
from recsample.corrections import BiasVariance
from recsample.datasets import recorded_ranks
from recsample.inference._evidence import Evidence
from recsample.inference._strata import ASSUMPTIONS
from recsample.inference.bounds import certified_interval
from recsample.inference.distribution import best_gamma, log_spline, plausible_prior
from recsample.metrics._chosen import chosen_metrics
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Linear
from recsample.ranks import Ranks
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Population", "coverage", "populations", "recorded_coverage"]

_LEVEL = 0.95


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
        At least 1000.

    Returns
    -------
    dict of str to Population

    Raises
    ------
    ValueError
        For a smaller pool.

    Examples
    --------
    >>> import recsample as rs
    >>> found = rs.inference.coverage.populations(3541)
    >>> sum(p.held_out for p in found.values()), len(found)
    (9, 26)
    """
    n = positive_int("n_items", n_items)
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
        "20 % up to 5, far": steps(0.2 * upto(5) + 0.8 * np.where(r > n / 2, 2 / n, 0.0)),
        "3 % at 3, far": humped(0.03 * at(3) + 0.97 * at(1000)),
        "24 % at 11, far": humped(0.24 * at(11) + 0.76 * at(1000), True),
        "30 % in 11 to 30, flat": humped(0.3 * (1.5 * upto(30) - 0.5 * upto(10)) + 0.7 * flat),
        "all at rank 100": humped(at(100), True),
    }
    recorded = recorded_ranks()
    if n == round(np.mean(recorded["X"].n_items)):
        for name, ranks in recorded.items():
            drawn = np.minimum(ranks.break_ties("random", 0).rows.rank, n)
            # What is recorded is a sample, and falls but for chance: the assumption is a hypothesis.
            found[name] = Population(counted(drawn - 1, n) / len(ranks), True, False, name == "Y")
    return found


def _normalised(weights):
    return weights / weights.sum()


def coverage(
    population: Population,
    *,
    m: int = 100,
    n_instances: int = 6000,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP, AUC),
    repetitions: int = 400,
    rng: Rng = 0,
) -> pd.DataFrame:
    """How often intervals from one run hold the exact mean, and how wide they are.

    Each repetition draws instances from the population and samples for them anew.

    Parameters
    ----------
    population : Population
    m, n_instances : int, optional
        How many items are drawn for each of how many instances.
    metrics : sequence of Metric or str, optional
    repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Indexed by method and metric. The methods: `limits` under each assumption; "report", the
        limits that `report` would print; "certified", `certified_interval`; "spline"; and a
        corrected mean with 1.96 standard errors, ``BiasVariance`` with gamma = 0.1, and with a
        plausible prior and `best_gamma`. Columns: ``held``, the share of intervals with the exact
        mean over the instances in them; ``held for all``, with the mean over the population;
        ``width``, the median; ``error``, the root of the mean squared error of the estimate.

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
    >>> study.loc[("decreasing", "Recall@10"), "held"]
    np.float64(1.0)
    """
    rng, chosen = generator(rng), chosen_metrics(metrics)
    n = len(population.chances)
    sampler, cumulated = UniformSampling(m), np.cumsum(population.chances)
    every = np.arange(1, n + 1)
    over_all = {metric: float(metric.of_rank(every, n) @ population.chances) for metric in chosen}
    corrections = {metric: _corrections(metric, sampler, n, n_instances) for metric in chosen}
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for _ in range(positive_int("repetitions", repetitions)):
        drawn = np.searchsorted(cumulated, rng.random(n_instances) * cumulated[-1])
        ranks = Ranks(np.minimum(drawn + 1, n), n)
        sampled = sampler.draw(ranks, rng)
        for metric, method, value, low, high in _said(sampled, sampler, n, chosen, corrections):
            exact = float(metric(ranks).mean())
            # Limits are found to four digits or so; where there is no noise that may decide.
            room = 1e-4 * abs(exact) + 1e-9
            row = (
                low - room <= exact <= high + room,
                low - room <= over_all[metric] <= high + room,
                high - low,
                (value - exact) ** 2,
            )
            found.setdefault((method, str(metric)), []).append(row)
    rows = {}
    for key, values in found.items():
        held, held_for_all, width, square = np.array(values, float).T
        rows[key] = {
            "held": held.mean(),
            "held for all": held_for_all.mean(),
            "width": np.median(width),
            "error": np.sqrt(square.mean()),
        }
    return table_of(rows, ["method", "metric"])


def _corrections(metric, sampler, n, n_instances):
    if isinstance(metric.shape, Linear):
        return {}
    gamma = best_gamma(n_instances, 50)
    return {
        "BV 0.1": BiasVariance(metric, sampler, n, gamma=0.1),
        "BV, best gamma": BiasVariance(metric, sampler, n, gamma=gamma, prior=plausible_prior(n)),
    }


def _said(sampled, sampler, n, metrics, corrections):
    """Metric, method, estimate and limits of every method."""
    evidence = Evidence(sampled, n, sampler.replace, metrics)
    spline = log_spline(sampled, sampler, n)
    reach = special.ndtri((1 + _LEVEL) / 2)
    for metric in metrics:
        value = evidence.estimate(metric)
        limits = {a: evidence.limits(metric, a, _LEVEL) for a in ASSUMPTIONS}
        if isinstance(metric.shape, Linear):
            yield metric, "report", value, *limits["none"]
            continue
        for assumption, (low, high) in limits.items():
            yield metric, assumption, value, low, high
        rungs = ("decreasing", "none")
        used = next((a for a in rungs if not evidence.contradicts(metric, a)), None)
        low, high = limits[used] if used else (np.nan, np.nan)
        yield metric, "report", float(np.clip(value, low, high)), low, high
        mean, error = spline.mean(metric)
        yield metric, "spline", mean, mean - reach * error, mean + reach * error
        for name, correction in corrections[metric].items():
            values = correction(sampled)
            mean, error = values.mean(), standard_error(values)
            yield metric, name, mean, mean - reach * error, mean + reach * error
        low, high = certified_interval(metric, sampled, sampler, n, level=_LEVEL)
        yield metric, "certified", (low + high) / 2, low, high


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
    with resources.files("recsample").joinpath("data/recorded_coverage.csv").open() as file:
        return extra("pandas").read_csv(file)
