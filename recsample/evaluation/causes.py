"""What probably went wrong where sampled ranks do not fit how they are said to have come about."""

from __future__ import annotations

import numpy as np

from recsample._support.arrays import summed
from recsample.ranks.base import Ranks
from recsample.ranks.checks import rows_of
from recsample.ranks.counts import RankCounts

__all__: list[str] = []

# So many ranks show a pattern, so large a share of them stands where it does not belong, and so
# many next to the last that there is.
_MANY, _PILE, _END = 50, 0.1, 6


def likely_cause(run: Ranks | RankCounts) -> str:
    """In words, or nothing where ranks of one relevant item each show no known pattern."""
    sampled, times = rows_of(run)
    times = np.broadcast_to(1 if times is None else times, len(sampled))
    n, m = times.sum(), sampled.n_irrelevant
    if (sampled.n_relevant != 1).any() or np.ptp(m) or n < _MANY:
        return ""
    last = int(m[0]) + 1
    counts = summed(sampled.rows.rank - 1, times, last)
    highest = int(np.flatnonzero(counts)[-1]) + 1
    before = np.flatnonzero(counts[: highest - 1])
    second = int(before[-1]) + 1 if len(before) else highest
    piled = counts[highest - 1] >= _PILE * n
    if highest == last and piled and second < last - max(2, last // 20):
        return f"Likely: ranks beyond {second} were set to m + 1 = {last}, as misses of a list are."
    if highest < last and piled and counts[highest - 1] > 2 * counts[max(0, highest - 2)]:
        return f"Likely: ranks were clipped at {highest}."
    if counts[0] == 0 and counts[1] > 0:
        return "Likely: ranks are too large by one, since nobody stands on rank 1."
    # Ranks of uniform draws grow rare before they end.
    at_the_end = counts[:highest][-max(3, highest // 30) :].sum()
    if highest <= 0.9 * last and at_the_end >= _END:
        return f"Likely: m is {highest - 1} and not {last - 1}, since no rank is above {highest}."
    return ""
