"""The methods of this package compared on recommenders: what each costs, and how far it is off.

They go beyond the paper: over the metrics of the field, what a method costs, and estimates of the
rank distribution. The data are tidy pandas DataFrames; `recsample.plotting` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from recsample._support.checks import generator, positive_int
from recsample._support.extras import extra
from recsample._support.frames import table_of
from recsample._support.typing import Rng
from recsample.corrections.bias_variance import BiasVariance
from recsample.corrections.constrained import ConstrainedLeastSquares
from recsample.corrections.rank_estimate import RankEstimate
from recsample.experiments.runs import (
    checked_samples,
    given_or_recorded,
    largest_sample,
    mean_and_std,
    values_of_estimators,
)
from recsample.inference.distribution import plausible_prior, plug_in, rank_distribution
from recsample.inference.likelihood.evidence import Evidence
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, NDCG, Recall
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_recommenders, mean_over, mean_pool_size
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Sampler, check_law, check_sampler
from recsample.sampling.consistency import CATALOGUE
from recsample.sampling.sequential.doubling import DoublingSampling
from recsample.sampling.sequential.inverse import InverseSampling
from recsample.sampling.sequential.stopping import EarlyStopping
from recsample.sampling.sequential.two_phase import TwoPhase
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd


_METRICS: tuple[Metric, ...] = (AP, Recall @ 10, NDCG @ 10)
_METHODS: dict[str, Literal["em", "mes", "spline"]] = {"EM": "em", "MES": "mes", "spline": "spline"}
_FEW = 100  # with more sampled items some methods take seconds for each recommender


def under_sampling(
    ranks: Mapping[str, Ranks | RankCounts],
    sampler: Sampler,
    metrics: Sequence[Metric | str] = CATALOGUE,
    *,
    gamma: float = 0.1,
) -> pd.DataFrame:
    """Each metric of each recommender: exact, and the expectation sampled and corrected.

    Parameters
    ----------
    ranks : mapping of str to Ranks or RankCounts
    sampler : Sampler
    metrics : sequence of Metric or str, optional
    gamma : float, optional
        Of the correction, `BiasVariance` for the mean size of the pools.

    Returns
    -------
    pandas.DataFrame
        One row per metric. Columns: pairs of recommender and "exact", "sampled", "corrected". The
        last is NaN for several relevant items and a metric that is no sum over them.

    Raises
    ------
    ValueError
        For no recommender or metric, pools too small to sample from, and as `BiasVariance`.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.experiments.toy_ranks()
    >>> table = rs.inference.studies.under_sampling(ranks, rs.UniformSampling(m=99), [rs.AP])
    >>> table["C"].round(3)
        exact  sampled  corrected
    AP  0.101    0.326      0.021
    """
    pd = extra("pandas")
    check_recommenders(ranks, counted=True)
    with_law = check_law(check_sampler(sampler))
    n_items = mean_pool_size(ranks)
    rows: dict[str, dict[tuple[str, str], float]] = {}
    for one in chosen_metrics(metrics):
        corrected = BiasVariance(one, with_law, n_items, gamma=gamma)
        row = rows[str(one)] = {}
        for name, r in ranks.items():
            row[name, "exact"] = mean_over(one, r)
            row[name, "sampled"] = mean_over(partial(sampler.expect, one), r)
            possible = one.additive or isinstance(r, RankCounts) or (r.n_relevant == 1).all()
            row[name, "corrected"] = (
                mean_over(partial(sampler.expect, corrected), r) if possible else np.nan
            )
    return pd.DataFrame.from_dict(rows, orient="index")


def error_against_cost(
    ranks: Mapping[str, Ranks] | None = None,
    *,
    samples: Sequence[int] = (50, 100, 200, 600),
    most: int = 800,
    repetitions: int = 4,
    rng: Rng = 0,
) -> pd.DataFrame:
    """What the methods of this package cost, and how far their means over the users are off.

    Methods that learn the distribution of the ranks from a run (EM, MES, spline, the estimate of a
    report, and BV with the EM estimate as prior) are run a few times; all others are exact,
    from the laws. The corrections know the law of their sampler and assume one pool size for all
    users. The two phases use m0 = 100, and pi(s) = c 0.7^s for several c; the caps of inverse
    sampling are 100, 300 and 900.

    Parameters
    ----------
    ranks : dict of str to Ranks, default the recorded ranks of X, Y and Z
    samples : sequence of int, optional
        Numbers m of sampled items where m is fixed. CLS, MES and BV with a learned prior are left
        out above 100, where they take seconds.
    most : int, optional
        The largest sample of the doubling design, which begins with 50 items.
    repetitions : int, optional
        Number of runs, for each recommender and m, of the methods that learn from a run.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Columns "cost", the expected number of irrelevant items scored per user, and in percentage
        points "bias", "std" (over the sampling) and "error", the root of the sum of their squares.
        Indexed by metric (AP, Recall@10, NDCG@10), method, recommender and setting (m, c or cap).

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"Y": rs.Ranks([1, 4, 40] * 50, n_items=201)}
    >>> table = rs.inference.studies.error_against_cost(ranks, samples=[50], most=200)
    >>> table.loc[("AP", "inverse sampling", "Y")].round(2).values.tolist()
    [[85.09, 0.0, 0.91, 0.91]]
    """
    ranks, rng = given_or_recorded(ranks), generator(rng)
    repetitions = positive_int("repetitions", repetitions)
    samples, most = checked_samples(samples), positive_int("most", most)
    n_items = mean_pool_size(ranks)
    exact = {(M, name): M(r).mean() for M in _METRICS for name, r in ranks.items()}
    settings: dict[str, dict] = {f"BV {gamma:g}": {"gamma": gamma} for gamma in (0.1, 0.01)}
    settings["BV, plausible prior"] = {"gamma": 0.1, "prior": plausible_prior(n_items)}
    rows: dict[tuple, dict[str, float]] = {}
    for m in samples:
        sampler = UniformSampling(m)
        few = m <= _FEW
        methods = [name for name in _METHODS if few or name != "MES"]
        targets = {M: _fixed(M, sampler, n_items, settings, few) for M in _METRICS}
        rows |= _errors_of_law(ranks, targets, sampler, exact, dict.fromkeys(ranks, m))
        for name, r in ranks.items():
            runs = [sampler.draw(r, rng) for _ in range(repetitions)]
            learned = _distributions(runs, sampler, n_items, methods)
            for M in _METRICS:
                means = _learned(M, runs, learned, n_items)
                if few:
                    means["BV, learned prior"] = _with_priors(
                        M, runs, learned["EM"], sampler, n_items
                    )
                for method, found in means.items():
                    error = np.array(found) - exact[M, name]
                    rows[str(M), method, name, m] = _error_row(m, error.mean(), error.std())
    doubling = DoublingSampling(min(50, most), most)
    targets = {
        M: {"BV 0.1, doubling": BiasVariance(M, doubling, n_items, gamma=0.1)} for M in _METRICS
    }
    costs = {name: doubling.cost(r).mean() for name, r in ranks.items()}
    rows |= _errors_of_law(ranks, targets, doubling, exact, costs)
    rows |= _errors_of_design(ranks, [AP], "inverse sampling", InverseSampling(), exact)
    for cap in (100, 300, 900):
        capped = InverseSampling(cap)
        rows |= _errors_of_design(ranks, [AP], "inverse sampling, cap", capped, exact, cap)
    for c in (0.25, 0.5, 0.75, 1.0):
        phases = TwoPhase(min(100, largest_sample(ranks)), 10, c * 0.7 ** np.arange(10.0))
        rows |= _errors_of_design(ranks, _METRICS[1:], "two phases", phases, exact, c)
    rows |= _errors_of_design(ranks, _METRICS[1:], "early stopping", EarlyStopping(10), exact)
    for metric, name in exact:
        cost = ranks[name].n_irrelevant.mean()
        rows[str(metric), "rank everything", name, 0] = _error_row(cost, 0.0, 0.0)
    return table_of(rows, ["metric", "method", "recommender", "setting"]).sort_index()


def _fixed(metric, sampler, n_items, settings, slow=True):
    """The estimators that are metrics of sampled ranks: nothing in them is learned from a run."""
    found = {"Sampled": metric, "Rank Estimate": RankEstimate(metric, sampler, n_items)}
    if slow:
        found["CLS"] = ConstrainedLeastSquares(metric, sampler, n_items)
    return found | {
        name: BiasVariance(metric, sampler, n_items, **given) for name, given in settings.items()
    }


def _distributions(runs, sampler, n_items, methods):
    """The distribution of the ranks as each method finds it after each run."""
    return {
        name: [rank_distribution(run, sampler, n_items, _METHODS[name]) for run in runs]
        for name in methods
    }


def _learned(metric, runs, distributions, n_items):
    """What the distributions say after each run, and what `recsample.inference.limits` does."""
    found = {name: [plug_in(metric, p) for p in given] for name, given in distributions.items()}
    reported = [Evidence(run, n_items, False, [metric]).estimate(metric) for run in runs]
    return found | {"report": reported}


def _with_priors(metric, runs, priors, sampler, n_items):
    """BV after each run, with a prior for each."""
    return [
        BiasVariance(metric, sampler, n_items, gamma=0.1, prior=prior)(run).mean()
        for run, prior in zip(runs, priors)
    ]


def _errors_of_law(ranks, targets, sampler, exact, costs):
    """The errors of estimators that are functions of an observation."""
    keys, values = values_of_estimators(targets, sampler)
    rows = {}
    for name, r in ranks.items():
        means, stds = mean_and_std(values, sampler.pmf(r))
        for (metric, method), mean, std in zip(keys, means, stds):
            row = _error_row(costs[name], mean - exact[metric, name], std)
            rows[str(metric), method, name, sampler.m] = row
    return rows


def _errors_of_design(ranks, metrics, method, design, exact, setting=0):
    """The errors of a sequential design, which knows its expectation, variance and cost."""
    rows = {}
    for name, r in ranks.items():
        cost = design.cost(r).mean()
        for metric in metrics:
            bias = design.expect(metric, r).mean() - exact[metric, name]
            std = design.std_of_mean(metric, r)
            rows[str(metric), method, name, setting] = _error_row(cost, bias, std)
    return rows


def _error_row(cost, bias, std):
    error = np.hypot(bias, std)
    percent = {"bias": bias, "std": std, "error": error}
    return {"cost": float(cost), **{key: 100 * float(x) for key, x in percent.items()}}


def comparison_of_estimators(
    ranks: Mapping[str, Ranks] | None = None, *, m: int = 100, repetitions: int = 20, rng: Rng = 0
) -> pd.DataFrame:
    """Corrections and estimates of the rank distribution on the same runs of sampled ranks.

    Each estimate uses the sampled ranks of one run alone, but for "BV, averaged prior": there the
    EM estimates of all runs are averaged first, which no study with one run can do. "report" is the
    estimate of `recsample.inference.limits`. All BV have gamma = 0.1. The others assume one pool
    size for all users, the mean one.

    Parameters
    ----------
    ranks : dict of str to Ranks, default the recorded ranks of X, Y and Z
    m, repetitions : int, optional
        Number of items sampled without replacement, and number of runs for each recommender.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        Columns "exact", "bias", "std" (over the runs) and "error", the root of the mean squared
        error, in percentage points. Indexed by metric (AP, Recall@10, NDCG@10), recommender and
        estimator.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"Y": rs.Ranks([1, 4, 40] * 50, n_items=201)}
    >>> table = rs.inference.studies.comparison_of_estimators(ranks, m=10, repetitions=3)
    >>> table.xs("AP")["exact"].round(1).unique()
    array([42.5])
    """
    ranks, rng = given_or_recorded(ranks), generator(rng)
    repetitions = positive_int("repetitions", repetitions)
    n_items, sampler = mean_pool_size(ranks), UniformSampling(m)
    priors = {
        "uniform prior": None,
        "prior 1/r": 1 / np.arange(1, n_items + 1),
        "plausible prior": plausible_prior(n_items),
    }
    settings = {f"BV, {name}": {"gamma": 0.1, "prior": p} for name, p in priors.items()}
    fixed = {M: _fixed(M, sampler, n_items, settings) for M in _METRICS}
    rows = {}
    for name, r in ranks.items():
        runs = [sampler.draw(r, rng) for _ in range(repetitions)]
        learned = _distributions(runs, sampler, n_items, _METHODS)
        of_run, of_all = learned["EM"], np.mean(learned["EM"], axis=0)
        for M, estimators in fixed.items():
            found = {key: [one(run).mean() for run in runs] for key, one in estimators.items()}
            found["BV, learned prior"] = _with_priors(M, runs, of_run, sampler, n_items)
            shared = BiasVariance(M, sampler, n_items, gamma=0.1, prior=of_all)
            found["BV, averaged prior"] = [shared(run).mean() for run in runs]
            found |= _learned(M, runs, learned, n_items)
            exact = M(r).mean()
            for estimator, means in found.items():
                error = np.array(means) - exact
                row = exact, error.mean(), error.std(), np.sqrt((error**2).mean())
                percent = [100 * float(x) for x in row]
                rows[str(M), name, estimator] = dict(
                    zip(["exact", "bias", "std", "error"], percent)
                )
    return table_of(rows, ["metric", "recommender", "estimator"])
