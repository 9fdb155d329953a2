"""What probably went wrong where ranks are not such as their makers meant."""

from __future__ import annotations

import numpy as np

from recsample._support.arrays import summed
from recsample._support.typing import Floats, Integers
from recsample.ranks.base import Ranks
from recsample.ranks.checks import rows_of
from recsample.ranks.counts import RankCounts

__all__: list[str] = []

# So many ranks show a pattern, and so many where they do not belong, such a share of them at least.
_MANY, _PILE = 50, (6, 0.02)
# So many ranks next to the best mean that by chance the best is not empty.
_NEXT = 7
# By so many standard deviations lower than in random order: 1 of 10,000 studies.
_UPSIDE_DOWN = -3.72


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
    least, share = _PILE
    piled = counts[highest - 1] >= max(least, share * n)
    if highest == last and piled and second < last - max(2, last // 20):
        return f"Likely: ranks beyond {second} were set to m + 1 = {last}, as misses of a list are."
    if highest < last and piled and counts[highest - 1] > 2 * counts[max(0, highest - 2)]:
        return f"Likely: ranks were clipped at {highest}."
    if counts[0] == 0 and counts[1:4].mean() >= _NEXT:
        return "Likely: ranks are too large by one, since nobody stands on rank 1."
    # Ranks of uniform draws grow rare before they end, over half of what chance moves them.
    spread = np.sqrt(highest * (last - highest) / last)
    at_the_end = counts[:highest][-max(1, int(spread / 2)) :].sum()
    if highest <= last - max(0.1 * last, 2 * spread) and at_the_end >= least:
        return f"Likely: m is {highest - 1} and not {last - 1}, since no rank is above {highest}."
    return ""


def is_upside_down(run: Ranks | RankCounts, lengths: Integers | None = None) -> bool:
    """Whether relevant items, within lists of so many items if they are, are far below a middle."""
    ranks, times = rows_of(run)
    rows = ranks.rows
    length = (ranks.sizes if lengths is None else lengths)[rows.instance]
    listed = rows.rank <= length
    weights = 1 if times is None else times[rows.instance[listed]]
    middle = rows.rank[listed] - 1 + np.minimum(rows.ties, length - rows.rank)[listed] / 2
    return bool(at_the_top(length[listed] - 1 - middle, length[listed], weights) < _UPSIDE_DOWN)


def at_the_top(place: Floats, length: Integers, weights: Integers | int = 1) -> float:
    """By how many standard deviations places, counted from 0 at the low end, are high."""
    off = (weights * (place - (length - 1) / 2)).sum()
    return float(off / np.sqrt(max(1, (weights * (length**2 - 1) / 12).sum())))
