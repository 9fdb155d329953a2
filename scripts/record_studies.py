"""Compare what corrects or estimates: book/data/estimators.csv.

    python scripts/record_studies.py

Takes about half a minute. The file has the errors of corrections and estimates that read the same
six runs of X, Y and Z, in percentage points. All corrections assume one pool size, the mean one,
and gamma = 0.1 where they say no other.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import recsample as rs
from recsample.inference import limits, plausible_prior, plug_in, rank_distribution

FOLDER = Path(__file__).parents[1] / "book" / "data"
METRICS = [rs.AP, rs.Recall @ 10, rs.NDCG @ 10]


def main():
    table = compared_estimators(rs.datasets.recorded_ranks(), m=100, repetitions=6, rng=2)
    table.round(4).to_csv(FOLDER / "estimators.csv")


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
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["metric", "recommender", "estimator"])
    return table


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


def mean_pool(ranks):
    return round(float(np.mean([r.n_items for r in ranks.values()])))


if __name__ == "__main__":
    main()
