"""The different situations of relevant items in a uniform sample, and the law of each one's count.

Many relevant items are in the same situation: as many irrelevant items above, in a pool of the same
size. What is expensive is done once for each situation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from recsample._indexing import different_rows, row_blocks
from recsample._typing import Floats, Integers
from recsample.ranks import Ranks
from recsample.sampling._counts import (
    average_with,
    average_without,
    count_pmf,
    laws_in_group,
    likely_counts,
)


class Targets(NamedTuple):
    """The different situations of a relevant item; an array each."""

    pool: Integers  # all irrelevant items
    n_relevant: Integers  # relevant items of its instance
    order: Integers  # it is the order-th best of these, 1-based
    above: Integers  # irrelevant items that outrank it, in the best case
    ties: Integers  # irrelevant items with its score
    group: Integers  # relevant items with its score, itself included
    place: Integers  # its place among these, 1-based

    def of(self, which: Any) -> Targets:
        return Targets(*(column[which] for column in self))

    @property
    def mean_above(self) -> Floats:
        """In a random order the j-th of g relevant items has t j / (g + 1) of t others ahead."""
        return self.above + self.ties * self.place / (self.group + 1)


def targets_of(ranks: Ranks) -> tuple[Targets, Integers]:
    """The different situations, and which of them each relevant item is in."""
    instance, order, rank, ties, group, place = ranks.rows
    if not len(rank):
        return Targets(*(rank for _ in Targets._fields)), rank
    # Without ties it does not matter which of equal items one is.
    group, place = np.where(ties > 0, (group, place), 1)
    pool, n_relevant = ranks.n_irrelevant[instance], ranks.n_relevant[instance]
    columns = pool, n_relevant, order, rank - order, ties, group, place
    different, of_row = different_rows(columns)
    return Targets(*different), of_row


def pmf_blocks(targets: Targets, m: int, replace: bool) -> Iterator[tuple[slice, Floats]]:
    """Slices of the targets, with the law of each."""
    average = average_with if replace else average_without
    for rows in row_blocks(len(targets.pool), m + 1):
        part = targets.of(rows)
        pmf = count_pmf(part.above, part.pool, m, replace)
        alone = np.flatnonzero((part.ties > 0) & (part.group == 1))
        if len(alone):
            tied = part.of(alone)
            pmf[alone] = average(tied.above, tied.ties, tied.pool, m)
        known: dict[tuple, Floats] = {}
        for i in np.flatnonzero((part.ties > 0) & (part.group > 1)):
            key = part.above[i], part.ties[i], part.group[i], part.pool[i]
            if key not in known:
                known[key] = laws_in_group(*key, m, replace)
            pmf[i] = known[key][part.place[i] - 1]
        yield rows, pmf


def likely_blocks(
    targets: Targets, m: int, replace: bool
) -> Iterator[tuple[Integers, slice, Callable[[], Floats]]]:
    """Rows of the targets, the counts that matter to them, and a function that makes their law.

    That is the law up to rounding, where `pmf_blocks` has every digit of the smallest chance.
    """
    untied, tied = np.flatnonzero(targets.ties == 0), np.flatnonzero(targets.ties)
    alone = targets.of(untied)
    for rows, counts in likely_counts(alone.above, alone.pool, m, replace):
        part = alone.of(rows)
        law = partial(count_pmf, part.above, part.pool, m, replace, counts=counts)
        yield untied[rows], counts, law
    for rows, pmf in pmf_blocks(targets.of(tied), m, replace):
        yield tied[rows], slice(None), partial(np.asarray, pmf)


def moments_over_law(
    values: Callable[[slice], Floats], kind: Integers, targets: Targets, m: int, replace: bool
) -> tuple[Floats, Floats]:
    """Mean and variance of ``values(all)[kind, s]`` for each target, by the sum (16) over its law.

    `values` is asked for those counts s only that matter.
    """
    mean, variance = np.empty(len(targets.pool)), np.zeros(len(targets.pool))
    for rows, counts, law in likely_blocks(targets, m, replace):
        value = values(counts)
        value = value[kind[rows] if len(value) > 1 else [0]]
        if (value == value[0, 0]).all():  # beyond a cut-off
            mean[rows] = value[0, 0]
            continue
        pmf = law()
        mean[rows] = (pmf * value).sum(axis=1)
        variance[rows] = (pmf * (value - mean[rows, None]) ** 2).sum(axis=1)
    return mean, variance


def chance_within(targets: Targets, last_place: Integers, m: int, replace: bool) -> Floats:
    """Eq. (18): the probability that the sampled rank is at most `last_place`."""
    k = last_place - targets.order + 1  # the count must be below it
    if replace and not targets.ties.any():
        # As an incomplete beta function; bdtr keeps only 10 digits at m = 10^5.
        inside = np.clip(k, 1, m)
        below = special.betaincc(inside, m - inside + 1, targets.above / targets.pool)
        return np.where(k < 1, 0.0, np.where(k > m, 1.0, below))
    if k.min(initial=m + 1) > m:
        return np.ones(len(targets.pool))
    within = np.empty(len(targets.pool))
    for rows, counts, law in likely_blocks(targets, m, replace):
        inside = np.arange(*counts.indices(m + 1)) < k[rows, None]
        within[rows] = (law() * inside).sum(axis=1) if inside.any() else 0.0
    return within
