"""Positions, in a random order of the irrelevant items, of those that outrank a relevant one.

N items are drawn in a random order, a of which outrank the relevant item; T is the position of the
first of these, N + 1 if there is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from recsample._support.arrays import different_rows, owners, places_in, repeated, starts_of, summed
from recsample._support.typing import Floats, Integers
from recsample.ranks.ties import laws_of_ties
from recsample.sampling.laws import gauss_on_points

# So many places at both ends are taken one by one, and so many nodes stand for those between a
# power of two and the next.
_WHOLE, _NODES = 32, 16
# What is asked of more numbers of items above is interpolated beyond the first.
_MANY, _SINGLE, _KNOTS = 2_000, 128, 400


class Cases(NamedTuple):
    """One row per relevant item, or several where it shares its ties with others."""

    instance: Integers
    order: Integers  # it is the order-th best of its instance, 1-based
    above: Integers  # irrelevant items that outrank it, in the best case
    ties: Integers  # irrelevant items with its score, all orders of them being as likely
    pool: Integers  # all irrelevant items
    n_relevant: Integers
    weight: Floats

    def of(self, which):
        return Cases(*(column[which] for column in self))


def cases_of(ranks, best_only=False):
    """The situation of each relevant item, or of the best of each instance only."""
    rows = ranks.rows.of(ranks.rows.order == 1) if best_only else ranks.rows
    shared = (rows.group > 1) & (rows.ties > 0)
    parts = [(rows.of(~shared), np.ones(len(rows.rank) - np.count_nonzero(shared)))]
    tied = rows.of(shared)
    for some, law in laws_of_ties(tied):  # a case for each number of tied items that may be ahead
        row, ahead = np.nonzero(law)
        case = tied.of(some[row])
        case = case._replace(rank=case.rank + ahead, ties=np.zeros_like(ahead))
        parts.append((case, law[row, ahead]))
    instance, order, rank, ties, _, _ = map(np.concatenate, zip(*(case for case, _ in parts)))
    weight = np.concatenate([weight for _, weight in parts])
    pool, n_relevant = ranks.n_irrelevant[instance], ranks.n_relevant[instance]
    return Cases(instance, order, rank - order, ties, pool, n_relevant, weight)


def per_instance(cases, values, n_instances):
    """The sum of the values of an instance's cases, weighted."""
    return summed(cases.instance, cases.weight * values, n_instances)


def untied(cases, below):
    """A case for each possible number of items above, under ties, that is less than `below`."""
    places = np.clip(below - cases.above, 0, cases.ties + 1)
    spread, ahead = cases.of(owners(places)), places_in(places)
    return spread._replace(
        above=spread.above + ahead,
        ties=np.zeros_like(ahead),
        weight=spread.weight / (spread.ties + 1),
    )


def places_between(first, end, last, edges=()):
    """Places and weights for sums over first, ..., end - 1, out of 0, ..., last.

    For functions that change fast near both ends of these only, and at the edges. The first and the
    last are taken one by one, the others by Gauss rules of blocks that are as long as they are far
    from the ends.
    """
    powers = 2 ** np.arange(_WHOLE.bit_length(), int(last).bit_length(), dtype=np.int64)
    near = np.concatenate([np.arange(_WHOLE + 1), powers])
    cuts = np.concatenate([near, last + 1 - near, np.asarray(edges, np.int64)])
    cuts = np.unique(np.append(np.clip(cuts, first, end), [first, end]))
    places, weights = [], []
    for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist()):
        nodes, share = gauss_on_points(stop - start, _NODES)
        places.append(start + nodes)
        weights.append((stop - start) * share)
    return np.concatenate([[], *places]), np.concatenate([[], *weights])  # there may be none


def interpolated(function, above, pool):
    """A function at many numbers of items above, by a spline through its values at few.

    It changes fast at the first ones, which are computed, and near the end of the pool. The error
    is below 1e-11 of the largest value.
    """
    if len(above) <= _MANY:
        return function(above)
    from scipy.interpolate import make_interp_spline

    is_first = above < _SINGLE
    far = np.geomspace(_SINGLE - 8, pool + 1, _KNOTS) - 1  # so that it does not end at the first
    last = pool + 1 - np.geomspace(1, pool / 4, _KNOTS // 4)
    at = np.unique(np.round(np.concatenate([far, last])))
    smooth = make_interp_spline(np.log1p(at), function(at), k=5, axis=1)
    found = smooth(np.log1p(above))
    found[:, is_first] = function(above[is_first])
    return found


def mean_over_ties(function, cases):
    """The mean of a function over the numbers of items above that are possible under ties.

    It is given such numbers, which need not be whole beyond the first and the last few, and pools;
    what it returns has a last axis for these.
    """
    tied = np.flatnonzero(cases.ties)
    if not len(tied):
        return function(cases.above.astype(float), cases.pool)
    above, weight = cases.above.astype(float), np.ones(len(cases.above))
    rules = [
        places_between(a, a + t + 1, n)
        for a, t, n in zip(*(x[tied].tolist() for x in (cases.above, cases.ties, cases.pool)))
    ]
    sizes = np.ones(len(above), np.int64)
    sizes[tied] = [len(places) for places, _ in rules]
    above, of_case = repeated(above, sizes), owners(sizes)
    weight = repeated(1.0 / (cases.ties + 1), sizes)
    spread = cases.ties[of_case] > 0
    above[spread] = np.concatenate([places for places, _ in rules])
    weight[spread] *= np.concatenate([weights for _, weights in rules])
    (above, pool), which = different_rows([above, cases.pool[of_case]])
    values = weight * function(above, pool)[..., which]
    return np.add.reduceat(values, starts_of(sizes), axis=-1)


def cost_until(k, above, ties, pool):
    """The mean position of the k-th item above, or all of the pool, averaged over ties."""
    few = np.clip(k - above, 0, ties + 1)  # of the numbers of items above, those below k
    best, worst = above + few + 1.0, above + ties + 1.0
    position = k * (pool + 1.0) * mean_inverse(np.minimum(best, worst), worst)
    share = few / (ties + 1)
    return share * pool + (1 - share) * position


def mean_inverse(first, last):
    """The mean of 1 / x over x = first, ..., last."""
    # Of the harmonic numbers: 1 / first + ... + 1 / last.
    both = special.digamma(last + 1.0) - special.digamma(first)
    return np.where(first == last, 1 / first, both / (last - first + 1))


def first_above(rng, above, pool):
    """Draw the position of the first of `above` items in a random order of `pool` items."""
    # Given the smallest of a uniform numbers, each item that is not above is before it by chance.
    share = np.where(above == 0, 1.0, rng.beta(1.0, np.maximum(above, 1)))
    return 1 + rng.binomial(pool - above, share)
