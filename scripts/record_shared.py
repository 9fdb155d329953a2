"""Measure how often limits hold where users share negatives, and record it.

    python scripts/record_shared.py [POPULATION ...]

Writes book/data/shared_lists.csv; with names of populations it replaces their rows alone. Takes ten
minutes on one core. In each run half of the users of a population are drawn, and then the lists;
exact is the mean over these users ("held"), and over the whole population ("held for all").
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import recsample as rs
from recsample._support.numerics import LEVEL
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.metrics.names import chosen_metrics

FILE = Path(__file__).parents[1] / "book" / "data" / "shared_lists.csv"
METRICS = chosen_metrics(["Recall@10", "AP", "AUC"])
RUNS = 500
# Users of the population and items. The method was chosen by populations like the first; the
# others had no part in that.
SIZES = {
    "many users": (40_000, 2000),
    "groups": (4000, 3000),
    "popularity": (6000, 1500),
    "own tastes": (2000, 3541),
}
# How the lists are shared: their number, and m.
DESIGNS = [(1, 100), (5, 100), (20, 20), (50, 100)]


def scores_of(name, n_users, n_items, rng):
    """Some users' scores at a time, and by how much these decide what is held out."""
    popular, items = rng.normal(size=n_items), rng.normal(size=(n_items, 16)) / 4
    groups = rng.normal(size=(8, n_items))
    for start in range(0, n_users, 1000):
        n = min(1000, n_users - start)
        users = rng.normal(size=(n, 16))
        if name == "many users":
            yield np.sqrt(0.1) * popular + np.sqrt(0.9) * users @ items.T, 1.5
        elif name == "groups":
            yield groups[rng.integers(8, size=n)] + 0.5 * rng.normal(size=(n, n_items)), 2.0
        elif name == "popularity":
            yield 0.6 * rng.normal(size=(n, n_items)) - np.log(np.arange(1, n_items + 1)), 1.0
        else:
            yield rng.normal(size=(n, n_items)), 2.5


def population(name):
    """Which items are above each user's own, shape (items, users), and these own items."""
    n_users, n_items = SIZES[name]
    above, own = [], []
    rng = np.random.default_rng(sum(name.encode()))
    for scores, sharpness in scores_of(name, n_users, n_items, rng):
        held_out = np.argmax(sharpness * scores + rng.gumbel(size=scores.shape), axis=1)
        mine = np.take_along_axis(scores, held_out[:, None], axis=1)
        above.append((scores > mine).T)
        own.append(held_out)
    return np.concatenate(above, axis=1), np.concatenate(own)


def lists_of_items(above, own, users, n_lists, m, rng):
    """Sampled ranks, the number of each user's list, and of the last list what its items say.

    A list may hold the own item of a user, who is then ranked among the others.
    """
    n_users, batches = len(users), np.arange(len(users)) * n_lists // len(users)
    rank, size = np.ones(n_users, np.int64), np.full(n_users, m + 1)
    for number in range(n_lists):
        mine, drawn = batches == number, rng.choice(len(above), m, replace=False)
        higher, others = above[np.ix_(drawn, users[mine])], drawn[:, None] != own[users[mine]]
        rank[mine] += higher.sum(axis=0)
        size[mine] -= (~others).sum(axis=0)
    weight = others / (n_users * (size[mine] - 1))
    mean = (weight * ~higher).sum()
    return rs.Ranks(rank, size), batches, mean + m * (weight * (~higher - mean)).sum(axis=1)


def rows_of_run(sampled, n_items, truths, shared):
    """Whether the limits of each metric hold for these users and for all, and where they are."""
    known = len(shared) > 1  # what items say, which is of use for AUC
    given = dict(zip(("batches", "items"), shared))
    evidence = Evidence(sampled, n_items, False, METRICS, **given)
    for metric in METRICS[-1:] if known else METRICS:
        rests_on = supported(metric, evidence)
        low, high = np.nan, np.nan
        if rests_on is not None:
            low, high = evidence.limits(metric, rests_on, LEVEL)
        these, of_all = truths[metric]
        yield str(metric), low <= these <= high, low <= of_all <= high, rests_on is None, low, high


def studied(draws, n_users, n_items, described, rng):
    """The rows of a design, over all runs; `draws` gives what is seen of some users, and exact."""
    found, exact = {}, {}
    for _ in range(RUNS):
        users = rng.permutation(n_users)[: n_users // 2]
        for stated, truths, sampled, *shared in draws(users):
            exact |= {str(metric): of_all for metric, (_, of_all) in truths.items()}
            for metric, *row in rows_of_run(sampled, n_items, truths, shared):
                found.setdefault((stated, metric), []).append(row)
    for (stated, metric), rows in found.items():
        held, held_for_all, without, low, high = np.array(rows, float).T
        yield described | {
            "users": n_users // 2,
            "items": n_items,
            "stated": stated,
            "metric": metric,
            "exact": exact[metric],
            "held": held.mean(),
            "held for all": held_for_all.mean(),
            "without limits": without.mean(),
            "low": np.nanmean(low),
            "high": np.nanmean(high),
            "width": np.nanmedian(high - low),
        }


def rows_of_population(name):
    above, own = population(name)
    n_items, rng = len(above), np.random.default_rng(7)
    ranks = rs.Ranks(above.sum(axis=0) + 1, n_items)
    exact = {metric: metric(ranks) for metric in METRICS}
    for n_lists, m in DESIGNS:

        def draws(users, n_lists=n_lists, m=m):
            truths = {metric: (one[users].mean(), one.mean()) for metric, one in exact.items()}
            sampled, batches, items = lists_of_items(above, own, users, n_lists, m, rng)
            yield "shared", truths, sampled, batches
            if n_lists == 1:
                yield "shared, items known", truths, sampled, batches, items
                yield "uniform", truths, sampled

        described = {"population": name, "lists": n_lists, "m": m}
        yield from studied(draws, len(own), n_items, described, rng)
    if name in ("groups", "popularity"):
        yield from rows_of_batches(name, above, own)


def rows_of_batches(name, above, own, size=50):
    """Users of a batch, formed at random, are ranked among each other's held-out items.

    Exact is the ranking among the held-out items of these users, for whom it is said alone; the
    same item is tied.
    """
    n_users = len(own) // 2 // size * size

    def draws(users):
        mine = own[users[:n_users]]
        n_above = np.bincount(mine, minlength=len(above)) @ above[:, users[:n_users]]
        tied = np.bincount(mine)[mine] - 1
        ranks = rs.Ranks(n_above + 1, n_users, ties=tied)
        truths = {metric: (metric(ranks).mean(),) * 2 for metric in METRICS}
        batches = users[:n_users].reshape(-1, size)
        higher = above[own[batches][:, :, None], batches[:, None, :]].sum(axis=1)
        same = (own[batches][:, :, None] == own[batches][:, None, :]).sum(axis=1) - 1
        sampled = rs.Ranks(higher.ravel() + 1, size, ties=same.ravel())
        yield "in-batch", truths, sampled, np.arange(n_users) // size

    described = {"population": name, "lists": n_users // size, "m": size - 1}
    yield from studied(draws, len(own), n_users, described, np.random.default_rng(8))


def main():
    names = sys.argv[1:] or list(SIZES)
    tables = dict(list(pd.read_csv(FILE).groupby("population"))) if FILE.exists() else {}
    for name in names:
        tables[name] = pd.DataFrame(rows_of_population(name))
        table = pd.concat([tables[name] for name in SIZES if name in tables])
        table.to_csv(FILE, index=False, float_format="%.4f", lineterminator="\n")
        print(f"{name} done", flush=True)


if __name__ == "__main__":
    main()
