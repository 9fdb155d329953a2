"""The random order of items with the same score: the possible ranks and their probabilities.

A metric of tied ranks is its mean over that order.
"""

from __future__ import annotations

import numpy as np

from recsample._support.arrays import BLOCK, different_rows, repeated, starts_of, summed
from recsample._support.checks import check_memory

# What can be done where there are too many ties for an average over them.
WITHOUT_AVERAGES = "break the ties of ranks at random, by break_ties, or cut the metric off"


def mean_over_ties(gain, ranks, cutoff=None):
    """The sum over the relevant items of an instance, averaged over the random order of ties.

    ``gain(instance, order, rank)`` is what each relevant item adds; beyond the cut-off, nothing.
    """
    rows = ranks.rows
    places = rows.ties + 1
    if cutoff is not None:  # one place keeps the item itself
        places = np.clip(cutoff + 1 - rows.rank, 1, places)
    most = np.max(places, initial=1)
    check_memory(100 * most, f"the average over {most} places of a tied item", WITHOUT_AVERAGES)
    values = np.zeros(len(ranks))
    for part in blocks(places):
        instance, order, rank, weight = orders_of_ties(rows.of(part), places[part])
        first, stop = instance[0], instance[-1] + 1  # the rows are in order of the instances
        each = weight * gain(instance, order, rank)
        values[first:stop] += summed(instance - first, each, stop - first)
    return values


def blocks(sizes):
    """Slices of consecutive rows whose sizes add up to about a block each."""
    ends = np.cumsum(sizes)
    total = ends[-1] if len(ends) else 0
    if 0 < total <= BLOCK:  # as nearly always
        return [slice(0, len(sizes))]
    starts = np.searchsorted(ends, np.arange(0, total, BLOCK), side="left")
    bounds = np.unique(np.append(starts, len(sizes)))
    return [slice(a, b) for a, b in zip(bounds[:-1], bounds[1:])]


def orders_of_ties(rows, places):
    """The best `places` ranks of each relevant item among its ties, with their probabilities.

    In a random order of g relevant and t irrelevant items the j-th relevant one has x irrelevant
    items ahead with probability C(x + j - 1, x) C(t - x + g - j, t - x) / C(t + g, t).
    """
    instance, order, rank, ties, group, place = rows
    if not ties.any():
        return instance, order, rank, 1.0
    spread = [repeated(x, places) for x in (instance, order, rank - starts_of(places))]
    spread[2] += np.arange(len(spread[2]), dtype=spread[2].dtype)
    weight = repeated(1.0 / (ties + 1), places)
    shared = (group > 1) & (ties > 0)
    if shared.any():
        kinds, which = different_rows([ties[shared], group[shared], place[shared]])
        laws = [ties_ahead(*kind) for kind in np.transpose(kinds)]
        best = [laws[i][:count] for i, count in zip(which, places[shared])]
        weight[repeated(shared, places)] = np.concatenate(best)
    return *spread, weight


def ties_ahead(t, g, j):
    """The probabilities above for x = 0, ..., t; for several t, a row each, filled up with 0.

    Each is a simple multiple of the one before, so the law is built from its mode outwards and then
    normalised. Through log-gamma, large ties would cost half the digits.
    """
    t = np.asarray(t)[..., None]
    x = np.arange(1.0, t.max() + 1)
    left = np.maximum(t - x + 1, 0)
    ratio = (x + j - 1) / x * (left / np.maximum(left + g - j, 1))
    law = np.ones((*t.shape[:-1], len(x) + 1))
    law[..., 1:] *= np.cumprod(np.minimum(ratio, 1), axis=-1)
    law[..., :-1] *= np.cumprod(1 / np.maximum(ratio, 1)[..., ::-1], axis=-1)[..., ::-1]
    return law / law.sum(axis=-1, keepdims=True)
