"""A run of uniform sampling, as counts of the sampled ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from recsample._indexing import counted, summed
from recsample._instances import check_one_relevant, rows_of
from recsample._typing import Floats
from recsample._validation import shown
from recsample.counts import RankCounts
from recsample.ranks import Ranks
from recsample.sampling.uniform import UniformSampling


def sampled_counts(sampled: Ranks | RankCounts, sampler: UniformSampling) -> Floats:
    """How many instances have each sampled rank, shape (m + 1,): all that estimates look at."""
    check_uniform(sampler)
    sampled, counts = rows_of(sampled, "sampled")
    check_one_relevant(sampled, "sampled")
    if sampled.rows.ties.any():
        where = int(np.argmax(sampled.rows.ties > 0))
        raise ValueError(
            f"sampled must have no ties, got {sampled.rows.ties[where]} in instance {where}; "
            "break_ties draws an order"
        )
    other = np.flatnonzero(sampled.n_irrelevant != sampler.m)
    if len(other):
        raise ValueError(
            f"sampled must have n_items = m + 1 = {sampler.m + 1}, "
            f"got {sampled.n_irrelevant[other[0]] + 1} in instance {other[0]}"
        )
    if counts is not None:
        return summed(sampled.rows.rank - 1, counts, sampler.m + 1)
    return counted(sampled.rows.rank - 1, sampler.m + 1).astype(float)


def check_uniform(sampler: Any) -> UniformSampling:
    """``sampler``; other samplers' observations have other laws, and are refused."""
    if not isinstance(sampler, UniformSampling):
        raise ValueError(
            f"sampler must be UniformSampling, such as UniformSampling(100), got {shown(sampler)}"
        )
    return sampler


def em_of_counts(counts: Floats, law: Floats, iterations: int = 30) -> Floats:
    """The EM estimate for several runs at once: a column of counts, a column of the result."""
    seen = counts.any(axis=1)
    law, share = law[:, seen], counts[seen] / counts.sum(axis=0)
    p = np.full((len(law), counts.shape[1]), 1 / len(law))
    for _ in range(iterations):
        expected = law.T @ p
        p *= law @ np.divide(share, expected, out=np.zeros_like(share), where=share > 0)
    return p / p.sum(axis=0)
