"""Sampled ranks sorted into strata, each with one distribution of the exact ranks.

A stratum holds relevant items of instances with about equal pools and numbers of relevant items,
which have the same order there: the best, the second best ... Of a pool of N irrelevant items, a
outrank the relevant one, and s of the m drawn ones do, s ~ H(N, a, m) or B(m, a / N). How a is
distributed in a stratum is unknown; an assumption names the class of distributions:

    none        any distribution,
    decreasing  compared with a random ranking, no place is more frequent than a better one,

the latter within the best fifth of the list; beyond it, any distribution. In a random ranking the
i-th best of L relevant items has BetaBinomial(N; i, L + 1 - i) items above it; for L = 1 all places
are as likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from recsample._support.arrays import counted, different_rows, owners, places_in, summed
from recsample._support.checks import check_memory
from recsample._support.errors import Naming
from recsample._support.numerics import mean_of
from recsample._support.typing import Floats, Integers
from recsample._support.values import cached_arrays
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.sampling.large_pools import jumps_of, random_belief, sums_in_steps, term_at
from recsample.sampling.uniform import UniformSampling

Assumption = Literal["none", "decreasing"]
ASSUMPTIONS: tuple[Assumption, ...] = ("none", "decreasing")
# The share of the list that the assumptions are about.
HEAD = 0.2
# Pools, and numbers of relevant items, up to this ratio are alike: for an estimate the metric is
# taken at their mean, which differs little from its mean in so narrow a bin.
_RATIO = 1.4
# Places are combined in steps: of one place at the head of the list, of some 3 % behind it,
# and nowhere of more than a third of the standard deviation of the observed count. In the arcsine
# of the root of the share of the list that deviation is the same everywhere; where nearly all items
# are drawn it is less than a place.
_ONE_BY_ONE, _STEPS, _PER_DEVIATION = 60, 300, 3


class Stratum(NamedTuple):
    """Relevant items with the same distribution of exact ranks."""

    pool: int  # irrelevant items of each instance, about
    n_relevant: int  # relevant items of each instance, about
    order: int  # they are the order-th best of these
    n_draws: tuple[int, ...]  # the different numbers of drawn items
    counts: tuple[Floats, ...]  # for each, of how many items s = 0, ..., m drawn ones are above


def strata_of(
    sampled: Ranks, sizes: Integers, replace: bool, counts: Integers | None = None, fewest: int = 1
) -> list[Stratum]:
    """Sort all relevant items into strata; `sizes` are the pools that were drawn from.

    With `counts` each row represents so many instances with one relevant item. Instances that are
    not alike share a stratum only if there are less than `fewest` that are.
    """
    rows, n_relevant = sampled.rows, sampled.n_relevant
    # Refuse what is too large even with the fewest columns, before any work.
    _law_fits(_STEPS, int(sampled.n_irrelevant.max()), int(sizes.max()))
    pool = sizes - n_relevant
    many = np.ones(len(sampled), np.int64) if counts is None else counts
    bins = _bins(pool, many, fewest), _bins(n_relevant, many, fewest)
    kind = different_rows(bins)[1]
    (_, orders), number = different_rows([kind[rows.instance], rows.order])
    in_order = np.argsort(number, kind="stable")
    ends = np.cumsum(counted(number, len(orders)))
    found = []
    for which, order in zip(np.split(in_order, ends[:-1]), orders):
        instance = rows.instance[which]
        m = sampled.n_irrelevant[instance]
        n_draws = np.unique(m)
        seen = []
        for one in n_draws:
            mine = which[m == one]
            seen.append(_counts(rows.above[mine], rows.ties[mine], many[rows.instance[mine]], one))
        # Without replacement no more can be drawn than there are.
        weights = None if counts is None else counts[instance]
        # Rounding must not exceed the largest pool, which may be close to 2^53.
        mean = min(round(mean_of(pool[instance], weights)), int(pool[instance].max()))
        typical = max(mean, 1 if replace else int(n_draws[-1]))
        relevant = max(round(mean_of(n_relevant[instance], weights)), int(order))
        draws = tuple(n_draws.tolist())
        found.append(Stratum(typical, relevant, int(order), draws, tuple(seen)))
    return found


def _bins(values, many, fewest):
    """Number the values by bins: of values that are alike, or of less than `fewest` instances."""
    (different,), which = different_rows([values])
    count = summed(which, many, len(different))
    bins, first, held = np.zeros(len(different), np.int64), different[0], 0
    for i, (value, n) in enumerate(zip(different, count)):
        apart = value > first * _RATIO and held >= fewest
        if i and apart:
            bins[i:] += 1
            first, held = value, 0
        held += n
    return bins[which]


def _counts(above, ties, many, m):
    """The number of items with s = 0, ..., m above; a tied one is split over its places."""
    row = owners(ties + 1)
    s = above[row] + places_in(ties + 1)
    return summed(s, many[row] / (ties[row] + 1), m + 1)


class Columns(NamedTuple):
    """The extreme distributions of a class in one stratum: those of the head, then the tail."""

    law: Floats  # shape (observations, columns), for each number of draws in turn
    head: Floats  # shape (columns of the head, steps): the weights of the steps
    steps: Integers  # the last place a of each step
    tail: Integers  # the single places of the tail
    mass: Floats  # shape (steps,): in a random order


def columns_of(
    stratum: Stratum,
    assumption: Assumption | Literal["steps"],
    replace: bool,
    cutoffs: Sequence[int],
) -> Columns:
    """The extreme distributions of the class that an assumption names.

    Or all steps of places, within which any place is as likely as in a random order.
    """
    kind = stratum.pool, stratum.n_relevant, stratum.order, stratum.n_draws
    return _columns_of(*kind, assumption, replace, tuple(sorted(cutoffs)))


@cached_arrays
def _columns_of(pool, n_relevant, order, n_draws, assumption, replace, cutoffs):
    steps = _steps(pool, order, n_draws, replace, cutoffs)
    behind = int(np.ceil(HEAD * (pool + 1)))
    tail = np.append(behind, steps[steps > behind])
    belief = random_belief(pool, n_relevant, order)
    mass = sums_in_steps(steps, pool, np.zeros_like, [], belief)[0]
    if assumption == "none":
        head, tail = np.empty((0, len(steps))), steps
    elif assumption == "steps":
        head, tail = np.eye(len(steps)), steps[:0]
    else:
        used = steps[steps < behind]
        head = np.tril(np.ones((len(used), len(steps)))) * mass
        head = head[head.sum(axis=1) > 0]
        head /= head.sum(axis=1, keepdims=True)
    laws = [_law_of(pool, m, replace, head, steps, tail) for m in n_draws]
    return Columns(np.concatenate(laws), head, steps, tail, mass)


def _steps(last, order, n_draws, replace, cutoffs):
    """The last places of steps of places, from 0 to the pool: fine at the head and at cut-offs."""
    first = np.arange(min(last + 1, _ONE_BY_ONE))
    further = np.round(np.geomspace(1, last + 1, _STEPS)).astype(np.int64) - 1
    m = max(n_draws)
    left = 1.0 if replace else max(last - m, 1) / last  # without it, the draws vary less
    n_arcs = int(np.ceil(np.pi * _PER_DEVIATION * np.sqrt(m / left))) + 1
    arcs = np.round(last * np.sin(np.linspace(0, np.pi / 2, n_arcs)) ** 2).astype(np.int64)
    cut = np.array([k - order + d for k in cutoffs for d in (-1, 0, 1)], np.int64)
    steps = np.unique(np.concatenate([first, further, arcs, cut]))
    return steps[(steps >= 0) & (steps <= last)]


def _law_of(pool, m, replace, head, steps, tail):
    """The law of the count of m draws under each column, shape (m + 1, columns)."""
    sampler = UniformSampling(m, replace)
    n_items = pool + 1
    _law_fits(len(steps) + len(head) + len(tail), m, n_items)
    parts = []
    if len(head):
        start = np.append(0, steps[:-1] + 1)
        parts.append(head @ sampler.pmf(Ranks(start + 1, n_items, ties=steps - start)))
    if len(tail):
        parts.append(sampler.pmf(Ranks(tail + 1, n_items)))
    return np.concatenate(parts).T


def _law_fits(n_columns, m, n_items):
    what = Naming("the law of what is drawn with {n_items:={}}, {m:={}}", n_items, m)
    check_memory(24 * n_columns * (m + 1), what, "choose a smaller m")


def observed(counts: Sequence[Floats], column: Columns) -> tuple[Floats, Floats]:
    """The law under each column of the values observed at least once, and their counts."""
    in_turn = np.concatenate(counts)
    seen = in_turn > 0
    return np.maximum(column.law[seen], 1e-300), in_turn[seen]


def moments_of(stratum: Stratum, column: Columns, metric: Metric) -> tuple[Floats, Floats]:
    """The mean of the metric's term under each column, and that of its square."""
    pool, n, order = stratum.pool, stratum.n_relevant, stratum.order
    term = partial(term_at, metric, pool=pool, order=order, n_relevant=n)
    tail = term(column.tail)
    if not len(column.head):
        return tail, tail**2
    # Within a step, weighted as in a random ranking.
    belief, jumps = random_belief(pool, n, order), jumps_of(metric, order, n)
    mass, *totals = sums_in_steps(column.steps, pool, term, jumps, belief)
    steps = (np.divide(total, mass, out=np.zeros_like(mass), where=mass > 0) for total in totals)
    mean, square = (
        np.concatenate([column.head @ step, at]) for step, at in zip(steps, (tail, tail**2))
    )
    return mean, square
