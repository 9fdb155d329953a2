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

# The EM algorithm is stopped early, before it fits the noise.
EM_ITERATIONS = 30


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


def em(
    counts: Floats, law: Floats, start: Floats, iterations: int = EM_ITERATIONS
) -> tuple[Floats, list[Floats]]:
    """The EM algorithm on the counts of a run, or on a column for each of several runs.

    Returns the weights of the rows of the law, and for each iteration the vector whose product with
    the law is what the weights were multiplied with.
    """
    share, p, ratios = counts / counts.sum(axis=0), start, []
    for _ in range(iterations):
        expected = law.T @ p
        ratios.append(np.divide(share, expected, out=np.zeros_like(share), where=share > 0))
        p = p * (law @ ratios[-1])
    return p, ratios
