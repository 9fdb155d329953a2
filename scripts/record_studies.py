"""Compare what corrects or estimates: book/data/error_against_cost.csv and estimators.csv.

    python scripts/record_studies.py

Takes about a minute. The first file has what each method costs per user and how far its mean over
the users of X is off; the second the errors of corrections and estimates that read the same six
runs of X, Y and Z. All corrections assume one pool size, the mean one, and gamma = 0.1 where they
say no other. Errors are in percentage points.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import recsample as rs
from recsample.inference import limits, plausible_prior, plug_in, rank_distribution

FOLDER = Path(__file__).parents[1] / "book" / "data"
METRICS = [rs.AP, rs.Recall @ 10, rs.NDCG @ 10]


def main():
    ranks = rs.datasets.recorded_ranks()
    tables = {
        "error_against_cost": error_against_cost({"X": ranks["X"]}, samples=[50, 100]),
        "estimators": compared_estimators(ranks, m=100, repetitions=6, rng=2),
    }
    for name, table in tables.items():
        table.round(4).to_csv(FOLDER / f"{name}.csv")


def error_against_cost(ranks, samples, repetitions=2, rng=0):
    """Cost per user, bias, std and error by metric, method, recommender and setting.

    The setting is m, or the cap of inverse sampling. What learns from a run is run `repetitions`
    times; all else is exact, from the laws.
    """
    rng, rows = np.random.default_rng(rng), {}
    n_items = mean_pool(ranks)
    for name, r in ranks.items():
        for m in samples:
            sampler = rs.UniformSampling(m)
            runs = [sampler.draw(r, rng) for _ in range(repetitions)]
            priors = learned_priors(runs, sampler, n_items)
            for M in METRICS:
                for method, estimator in fixed_estimators(M, sampler, n_items).items():
                    rows[str(M), method, name, m] = by_law(M, estimator, sampler, r, m)
                for method, means in learned_means(M, runs, priors, sampler, n_items).items():
                    error = np.array(means) - M(r).mean()
                    rows[str(M), method, name, m] = row(m, error.mean(), error.std())
        designs = [("inverse sampling", rs.InverseSampling(), 0)]
        designs += [("inverse sampling, cap", rs.InverseSampling(c), c) for c in (100, 300, 900)]
        designs = [(rs.AP, *design) for design in designs]
        designs += [(M, "early stopping", rs.EarlyStopping(10), 0) for M in METRICS[1:]]
        for M, method, design, setting in designs:
            rows[str(M), method, name, setting] = by_law(M, M, design, r, design.cost(r).mean())
    return indexed(rows, ["metric", "method", "recommender", "setting"]).sort_index()


def compared_estimators(ranks, m, repetitions, rng):
    """Exact value, bias, std and error over the runs by metric, recommender and estimator.

    "BV, averaged prior" has the mean of the EM estimates of all runs as its prior, which no study
    with one run can have.
    """
    rng, rows = np.random.default_rng(rng), {}
    n_items, sampler = mean_pool(ranks), rs.UniformSampling(m)
    for name, r in ranks.items():
        runs = [sampler.draw(r, rng) for _ in range(repetitions)]
        priors = learned_priors(runs, sampler, n_items)
        for M in METRICS:
            fixed = fixed_estimators(M, sampler, n_items)
            average = np.mean(priors["EM"], axis=0)
            fixed["BV, averaged prior"] = corrected(M, sampler, n_items, average)
            found = {key: [one(run).mean() for run in runs] for key, one in fixed.items()}
            exact = M(r).mean()
            for key, means in (found | learned_means(M, runs, priors, sampler, n_items)).items():
                error = np.array(means) - exact
                numbers = exact, error.mean(), error.std(), np.sqrt((error**2).mean())
                percent = 100 * np.array(numbers)
                rows[str(M), name, key] = dict(zip(["exact", "bias", "std", "error"], percent))
    return indexed(rows, ["metric", "recommender", "estimator"])


def fixed_estimators(metric, sampler, n_items):
    """The estimators that are metrics of sampled ranks: nothing in them is learned from a run."""
    return {
        "Sampled": metric,
        "Rank Estimate": rs.RankEstimate(metric, sampler, n_items),
        "CLS": rs.ConstrainedLeastSquares(metric, sampler, n_items),
        "BV 0.01": rs.BiasVariance(metric, sampler, n_items, gamma=0.01),
        "BV, uniform prior": corrected(metric, sampler, n_items, None),
        "BV, prior 1/r": corrected(metric, sampler, n_items, 1 / np.arange(1, n_items + 1)),
        "BV, plausible prior": corrected(metric, sampler, n_items, plausible_prior(n_items)),
    }


def corrected(metric, sampler, n_items, prior):
    return rs.BiasVariance(metric, sampler, n_items, gamma=0.1, prior=prior)


def learned_priors(runs, sampler, n_items):
    """The distribution of the ranks as each method estimates it after each run."""
    methods = {"EM": "em", "MES": "mes"}
    return {
        name: [rank_distribution(run, sampler, n_items, method) for run in runs]
        for name, method in methods.items()
    }


def learned_means(metric, runs, priors, sampler, n_items):
    """What the distributions say of the mean after each run, and what a report estimates."""
    found = {name: [plug_in(metric, p) for p in given] for name, given in priors.items()}
    found["BV, learned prior"] = [
        corrected(metric, sampler, n_items, prior)(run).mean()
        for run, prior in zip(runs, priors["EM"])
    ]
    return found | {"report": [limits(metric, run, n_items).value for run in runs]}


def by_law(metric, estimator, sampler, ranks, cost):
    bias = sampler.expect(estimator, ranks).mean() - metric(ranks).mean()
    return row(cost, bias, sampler.std_of_mean(estimator, ranks))


def row(cost, bias, std):
    error = np.hypot(bias, std)
    return {"cost": cost, "bias": 100 * bias, "std": 100 * std, "error": 100 * error}


def mean_pool(ranks):
    return round(float(np.mean([r.n_items for r in ranks.values()])))


def indexed(rows, names):
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=names)
    return table


if __name__ == "__main__":
    main()
