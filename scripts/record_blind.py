"""What the test of "decreasing" cannot see: recsample/data/recorded_blind.csv.

Takes some half an hour on two cores.

"ranks": nobody is on the ranks 1 to b, and beyond them ranks are log-uniform (P(r) as 1 / r). How
large b may be until half of the runs contradict "decreasing", in units of n / m. Found by
stochastic approximation (H. Robbins, S. Monro, 1951) in 60 runs, with averages of the second half
(B. T. Polyak, A. B. Juditsky, 1992). Where not even half of the best fifth is seen, all of it.

"fails": the share of runs whose printed limits under "decreasing" do not hold the exact mean, for
the worst population and metric, in 100 runs. Which they are is found in runs of their own.

For m = 1000, which takes long, there are half as many runs, or fewer.
"""

from itertools import product

import numpy as np
import pandas as pd
from record_populations import holds
from record_studies import ROOT, Study

import recsample as rs
from recsample._support.numerics import LEVEL
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.likelihood.strata import HEAD
from recsample.metrics.names import chosen_metrics

METRICS = chosen_metrics(["Recall@10", "NDCG@10", "AP"])


def log_uniform(n, b, users, rng):
    """Ranks from b + 1 on, as often as 1 / r."""
    ranks = (b + 1) * ((n + 1) / (b + 1)) ** rng.random(users)
    return np.minimum(ranks.astype(np.int64), n)


def some(share, first, last, far=None):
    """So many on ranks from first to last, and the others at the rank far, or anywhere."""

    def draw(n, users, rng):
        others = rng.integers(1, n + 1, users) if far is None else far
        return np.where(rng.random(users) < share, rng.integers(first, last + 1, users), others)

    return draw


POPULATIONS = {
    "log-normal, median 148": lambda n, users, rng: 148 * np.exp(rng.standard_normal(users)),
    "log-normal, median n / 160": lambda n, users, rng: (
        n / 160 * np.exp(rng.standard_normal(users))
    ),
    "nobody on 1 to 5": lambda n, users, rng: log_uniform(n, 5, users, rng),
    "nobody on 1 to 20": lambda n, users, rng: log_uniform(n, 20, users, rng),
    "12 % in 11 to 40, flat": some(0.12, 11, 40),
    "hump near 0.1 n": lambda n, users, rng: n * (0.1 + 0.03 * rng.standard_normal(users)),
    "3 % at 3, far": some(0.03, 3, 3, 1000),
    "24 % at 11, far": some(0.24, 11, 11, 1000),
    "30 % in 11 to 30, flat": some(0.3, 11, 30),
    "all at rank 100": some(1.0, 100, 100),
}


def run_of(ranks, n, m, rng):
    """What a report knows of ranks among n items, m of them drawn."""
    above = rng.hypergeometric(ranks - 1, n - ranks, m)
    return SampledRun(rs.Ranks(above + 1, m + 1), n, False, METRICS)


def is_refuted(evidence):
    """Whether a run contradicts "decreasing"."""
    counts = evidence.tested_strata[0].counts[0]
    seen = counts > 0
    fits = [evidence.tested(one)[0] for one in ("none", "decreasing")]
    free, falling = (counts[seen] @ np.log(column.law[seen] @ weights) for column, weights in fits)
    # Chance alone brings about some 10: so far beyond that no test by simulation is needed.
    return 2 * (free - falling) > 200 or supported(METRICS[0], evidence) != "decreasing"


def largest_unseen(n, m, users, rng):
    """b of the module's docstring, in units of n / m."""
    runs, most = 60 if m < 1000 else 30, np.log(HEAD * m / 2)
    at, path = min(np.log(0.3), most), []
    for i in range(1, runs + 1):
        b = round(np.exp(at) * n / m)
        seen = is_refuted(run_of(log_uniform(n, b, users, rng), n, m, rng))
        at = min(at + 2 * i**-0.7 * (-0.5 if seen else 0.5), most)
        path.append(at)
    found = np.exp(np.mean(path[runs // 2 :]))
    return HEAD * m if found > 0.9 * HEAD * m / 2 else found


def failures(draw, n, m, users, runs, rng):
    """How often the limits of each metric are those of "decreasing", and false."""
    failed = np.zeros(len(METRICS))
    for _ in range(runs):
        ranks = np.clip(np.round(draw(n, users, rng)).astype(np.int64), 1, n)
        evidence = run_of(ranks, n, m, rng)
        if is_refuted(evidence):
            continue
        for i, metric in enumerate(METRICS):
            exact = float(metric.of_rank(ranks, n).mean())
            failed[i] += not holds(*evidence.limits(metric, "decreasing", LEVEL), exact)
    return failed / runs


def worst(n, m, users, rng):
    """The name of the worst population, and the share of false limits."""
    found = {}
    for name, draw in POPULATIONS.items():
        found[name] = failures(draw, n, m, users, 3, rng).max()
        if found[name] > 0:
            found[name] = failures(draw, n, m, users, 8, rng).max()
        if found[name] == 1:
            break
    name = max(found, key=found.get)
    return name, failures(POPULATIONS[name], n, m, users, 100 if m < 1000 else 40, rng).max()


def measure(rng, part, n_items, m, n_instances):
    """The row of a cell."""
    if part == "ranks":
        name, value = "log-uniform", largest_unseen(n_items, m, n_instances, rng)
    else:
        name, value = worst(n_items, m, n_instances, rng)
    return pd.DataFrame(
        {"population": [name], "value": [round(value, 3 if part == "ranks" else 2)]}
    )


def cells():
    for m, users in product((10, 30, 100, 300, 1000), (100, 1000, 10_000, 100_000)):
        yield cell("ranks", 1000 * m, m, users) | {"seed": [1000 * m, m, users]}
    for ratio, m, users in product(
        (10, 30, 100, 1000), (10, 100, 1000), (100, 1000, 10_000, 100_000)
    ):
        yield cell("fails", ratio * m, m, users) | {"seed": [m, ratio * m, users]}


def cell(part, n_items, m, users):
    return {"part": part, "n_items": n_items, "m": m, "n_instances": users}


STUDY = Study(ROOT / "recsample/data/recorded_blind.csv", list(cells()), measure, 3)
