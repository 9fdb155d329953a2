"""What a design knows that looks at the first k places only."""

from __future__ import annotations

import numpy as np

from recsample._support.arrays import different_rows, split
from recsample.metrics.base import check_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_relevant
from recsample.sampling.base import Observed, column_of
from recsample.sampling.sequential.positions import cases_of, per_instance, untied


def check_within(metric, k):
    """Refuse a metric that looks beyond the first k places."""
    check_metric(metric)
    if metric.cutoff is None or metric.cutoff > k:
        raise ValueError(f"metric must have a cut-off of at most k={k}, got {metric}")


def best_rank(ranks):
    """The best rank of each instance, 1 where it has no relevant item."""
    rank, best = np.ones(len(ranks), np.int64), ranks.rows.of(ranks.rows.order == 1)
    rank[best.instance] = best.rank
    return rank


def known_up_to(design, ranks, k, **columns):
    """Ranks without ties as far as cut-offs up to k see them: each has at most k items above."""
    rank = np.minimum(ranks.rows.above, k) + ranks.rows.order
    return Observed(design, ranks.sizes, ranks.n_relevant, rank=rank, **columns)


def known_ranks(observed):
    """What was observed, as ranks that metrics with a cut-off can read."""
    n_relevant = observed.n_relevant
    rank = column_of(observed, "rank", (int(n_relevant.sum()),))
    one_each = (n_relevant == 1).all()
    return Ranks(rank if one_each else split(rank, n_relevant), observed.n_items)


def variance_of_weighted(metric, k, ranks, mean_weight):
    """The variance of M times an independent weight with the mean 1 given the order of ties.

    `mean_weight` gives the mean of its square for so many items above in such pools; M is 0 unless
    fewer than k are above.
    """
    check_within(metric, k)
    cases = untied(cases_of(check_one_relevant(ranks)), k)
    (above, pool), of_case = different_rows([cases.above, cases.pool])
    square = metric.of_rank(above + 1, pool + 1) ** 2 * mean_weight(above, pool)
    square = per_instance(cases, square[of_case], len(ranks))
    return np.maximum(square - metric(ranks) ** 2, 0.0)
