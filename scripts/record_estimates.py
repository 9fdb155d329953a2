"""The errors of estimates: estimates.csv and estimators.csv.

The first is of the estimate that a report prints, by 30 steps of the EM algorithm, beside those
with fewer and more of them, and with 2 sqrt(N) for N users.

The second compares what corrects or estimates on the same six runs of X, Y and Z, in percentage
points. All corrections assume one pool size, the mean one, and gamma = 0.1 where they say no other.
"""

from functools import partial
from itertools import product
from unittest import mock

import numpy as np
from record_populations import RECORDED, chances, drawn
from record_studies import KEPT, Study, over_runs, rms

import recsample as rs
from recsample.inference import limits, plausible_prior, plug_in, rank_distribution
from recsample.inference.likelihood import sampled_run
from recsample.inference.likelihood.mixtures import em_steps
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.ranks.checks import mean_pool_size

METRICS = [rs.Recall @ 1, rs.Recall @ 10, rs.Recall @ 50, rs.NDCG @ 10, rs.AP]
MADE_UP = ["log-normal, 90, 1.8", "(r + 7)^-1.25"]
STEPS = (10, 20, 50, 100)


def cells():
    for kind, names, sizes in [
        ("recorded", RECORDED, [("", 100, 5000), ("", 100, 500), ("", 20, 5000)]),
        ("made up", MADE_UP, [(1000, 20, 1000), (5000, 100, 6000), (30_000, 100, 1000)]),
    ]:
        for (n, m, users), name in product(sizes, names):
            cell = {"kind": kind, "population": name, "n_items": n, "m": m, "n_instances": users}
            yield cell | {"runs": 20, "seed": [sum(map(ord, name)), n or 0, m, users]}


def ranks_of(name, n, users, rng):
    """Users drawn from a population, or always the same of those recorded."""
    if n:
        return drawn(chances(name, n), users, rng)
    recorded = rs.datasets.recorded_ranks()[name[0]]
    return recorded[np.random.default_rng(0).permutation(len(recorded))[:users]]


def errors(rng, kind, population, n_items, m, n_instances, runs):
    """Of the estimate of a report, and of those with other numbers of steps."""
    found = []
    for _ in range(runs):
        ranks = ranks_of(population, n_items, n_instances, rng)
        sampled = rs.UniformSampling(m).draw(ranks, rng)
        run = SampledRun(sampled, ranks.sizes, False, METRICS)
        for metric in METRICS:
            exact = float(metric(ranks).mean())
            row = {"error": run.estimate(metric) - exact}
            numbers = {str(steps): steps for steps in STEPS}
            numbers["2 roots"] = round(2 * np.sqrt(n_instances))
            row |= {name: after(metric, run, steps) - exact for name, steps in numbers.items()}
            found.append({"metric": str(metric), "exact": exact} | row)
    columns = dict.fromkeys([*map(str, STEPS), "2 roots"], rms)
    return over_runs(found, ["metric"], exact="mean", **columns)


def after(metric, run, steps):
    """The estimate after so many steps."""
    with mock.patch.object(sampled_run, "em_steps", partial(em_steps, iterations=steps)):
        other = SampledRun(run.sampled, run.sizes, run.replace, [metric])
        return other.estimate(metric)


def compared(rng, m, runs):
    """The errors of all estimators, by metric and recommender.

    "BV, averaged prior" has the mean of the EM estimates of all runs as its prior, which no study
    with one run can have.
    """
    found, recorded = [], rs.datasets.recorded_ranks()
    n, sampler = mean_pool_size(recorded), rs.UniformSampling(m)
    for name, ranks in recorded.items():
        drawn_runs = [sampler.draw(ranks, rng) for _ in range(runs)]
        learned = [
            {how: rank_distribution(run, sampler, n, how) for how in ("em", "mes")}
            for run in drawn_runs
        ]
        average = np.mean([each["em"] for each in learned], axis=0)
        for metric in [rs.AP, rs.Recall @ 10, rs.NDCG @ 10]:
            exact = metric(ranks).mean()
            corrected = partial(rs.BiasVariance, metric, sampler, n, gamma=0.1)
            fixed = {
                "Sampled": metric,
                "Rank Estimate": rs.RankEstimate(metric, sampler, n),
                "CLS": rs.ConstrainedLeastSquares(metric, sampler, n),
                "BV 0.01": rs.BiasVariance(metric, sampler, n, gamma=0.01),
                "BV, uniform prior": corrected(),
                "BV, prior 1/r": corrected(prior=1 / np.arange(1, n + 1)),
                "BV, plausible prior": corrected(prior=plausible_prior(n)),
                "BV, averaged prior": corrected(prior=average),
            }
            for run, of_run in zip(drawn_runs, learned):
                values = {key: one(run).mean() for key, one in fixed.items()} | {
                    "EM": plug_in(metric, of_run["em"]),
                    "MES": plug_in(metric, of_run["mes"]),
                    "BV, learned prior": corrected(prior=of_run["em"])(run).mean(),
                    "report": limits(metric, run, n).value,
                }
                for key, value in values.items():
                    error = 100 * (value - exact)
                    row = {"metric": str(metric), "recommender": name, "estimator": key}
                    found.append(
                        row | {"exact": 100 * exact, "bias": error, "std": error, "error": error}
                    )
    summary = {"exact": "mean", "bias": "mean", "std": lambda errors: errors.std(ddof=0)}
    return over_runs(found, ["metric", "recommender", "estimator"], **summary)


ESTIMATED = Study(KEPT / "estimates.csv", list(cells()), errors, 6)
COMPARED = Study(KEPT / "estimators.csv", [{"m": 100, "runs": 6, "seed": 2}], compared, 4)
