"""The cut-offs K of which exact Recall@K a sampled metric is the mean: where the weights are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks

if TYPE_CHECKING:
    from recsample.sampling.uniform import UniformSampling

# The shares of the weights of cut-offs up to the lowest, the middle and the highest one.
_SHARES = 0.05, 0.5, 0.95


def falls(metric: Metric, m: int) -> bool:
    """Whether a metric of one relevant item never rises with its rank among m others."""
    at_rank = metric.of_rank(np.arange(1, m + 2), m + 1)
    return bool((np.diff(at_rank) <= 0).all() and at_rank[0] > at_rank[-1])


def cutoffs_of(sampler: UniformSampling, metric: Metric, n_items: int) -> list[int]:
    """The cut-offs K up to which shares of the weights are, found by halving.

    The weights up to K add up to E[M | 1] - E[M | K + 1].
    """
    first, last = sampler.expect(metric, Ranks([1, n_items], n_items))
    wanted = first - np.array(_SHARES) * (first - last)
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), n_items - 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        reached = sampler.expect(metric, Ranks(middle + 1, n_items)) <= wanted
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high.tolist()
