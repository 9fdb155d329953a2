"""Plausible distributions of the exact ranks, weighted by the sampled ranks.

Many distributions explain a run, and most of them do not resemble any recommender. Here are 10,000
plausible ones: mixtures of two out of power laws (r + c)^-b, constants up to some rank, and
constants between two ranks behind the best fifth of the list, spread evenly over their parameters.
None of them is true, so their likelihood is tempered: raised to such a power that no fewer than
fifteen of them share the weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from recsample._support.arrays import repeated, summed
from recsample._support.typing import Floats, Integers
from recsample._support.values import cached_arrays
from recsample.inference.likelihood.strata import Stratum, columns_of
from recsample.sampling.large_pools import random_belief, sums_in_steps

_NUMBER, _SHARING = 10_000, 15
# For several strata, in which distributions differ, fewer will do; as none fits all of them,
# relatively more share the weight.
_OF_SEVERAL = 1_000, 20
# How often a part is a power law with c = 0, one with c > 0, flat, constant in the head, or behind.
_CHANCES = 0.2, 0.4, 0.2, 0.1, 0.1
# The root of x^4 = x + 1, whose powers spread points evenly over a cube (Roberts' sequence).
_ROOT = 1.2207440846057596


class _Mixtures(NamedTuple):
    parts: Floats  # shape (parts, columns): as weights of the decreasing columns
    first: Integers  # shape (mixtures,)
    second: Integers
    share: Floats  # of the first
    groups: Integers  # where each group of counts begins
    log_law: Floats  # shape (mixtures, groups)


def plausible_weights(
    strata: Sequence[Stratum], replace: bool, cutoffs: Sequence[int]
) -> list[Floats]:
    """The weights of the decreasing columns in the mean of the plausible distributions.

    The distributions are weighted by what is seen in all of these strata.
    """
    number, sharing = (_NUMBER, _SHARING) if len(strata) == 1 else _OF_SEVERAL
    how = replace, tuple(sorted(cutoffs)), number
    found = [_mixtures(s.pool, s.n_relevant, s.order, s.n_draws, *how) for s in strata]
    chance = _tempered(
        sum(
            one.log_law @ np.add.reduceat(np.concatenate(s.counts), one.groups)
            for s, one in zip(strata, found)
        ),
        sharing,
    )
    return [
        (
            summed(one.first, chance * one.share, len(one.parts))
            + summed(one.second, chance * (1 - one.share), len(one.parts))
        )
        @ one.parts
        for one in found
    ]


def _tempered(log_likelihood, sharing):
    """The likelihood to the largest power up to 1 at which enough members share the weight."""
    off, low, high = log_likelihood - log_likelihood.max(), 1e-4, 1.0
    for _ in range(20):
        power = np.sqrt(low * high)
        weight = np.exp(power * off)
        shared = weight.sum() ** 2 > sharing * (weight**2).sum()
        low, high = (power, high) if shared else (low, power)
    weight = np.exp(low * off)
    return weight / weight.sum()


@cached_arrays
def _mixtures(pool, n_relevant, order, n_draws, replace, cutoffs, number):
    stratum = Stratum(pool, n_relevant, order, n_draws, (), np.empty(0, np.int64))
    column = columns_of(stratum, "decreasing", replace, cutoffs)
    parts, chance = _parts(column, pool, n_relevant, order)
    # Counts are grouped within half their standard deviation.
    ends = np.cumsum([m + 1 for m in n_draws])
    edges = [np.arange(int(4 * np.sqrt(m)) + 1) ** 2 / 16 for m in n_draws]
    groups = np.concatenate(
        [end - m - 1 + np.unique(e.round()) for end, m, e in zip(ends, n_draws, edges)]
    ).astype(np.intp)  # reduceat takes no other where an index has 32 bits
    law = parts @ np.add.reduceat(column.law, groups, axis=0).T
    points = (0.5 + np.outer(np.arange(1, number + 1), _ROOT ** -np.arange(1.0, 4))) % 1
    first, second = np.searchsorted(np.cumsum(chance)[:-1] / chance.sum(), points[:, :2]).T
    share = np.sin(np.pi / 2 * points[:, 2]) ** 2  # often nearly 0 or 1
    mixed = share[:, None] * law[first] + (1 - share)[:, None] * law[second]
    return _Mixtures(parts, first, second, share, groups, np.log(np.maximum(mixed, 1e-300)))


def _parts(column, pool, n_relevant, order):
    """The parts of the mixtures, as weights of the columns, and how often each is chosen."""
    steps, behind = column.steps, column.tail[0]
    start, in_head = np.append(0, steps[:-1] + 1), steps < behind
    density, chance = _densities(start, steps + 1, pool + 1, float(behind))
    # Of so many items of an instance, each with such a rank, this one is the order-th best.
    share = np.cumsum(density * (steps + 1 - start), axis=1)
    below = np.vstack([share / np.maximum(share[:, -1:], 1e-300), (steps + 1) / (pool + 1)])
    of_order = special.betainc(order, n_relevant + 1 - order, np.minimum(below, 1.0))
    *of_order, in_random = np.diff(of_order, axis=1, prepend=0.0)
    fall = np.array(of_order)[:, in_head] / np.maximum(in_random[in_head], 1e-300)
    # Compared with a random ranking they fall, but for rounding, so they are mixtures of constants.
    fall = np.maximum.accumulate(fall[:, ::-1], axis=1)[:, ::-1]
    fall = -np.diff(fall, axis=1, append=0.0)
    belief = random_belief(pool, n_relevant, order)
    mass = np.cumsum(sums_in_steps(steps, pool, np.zeros_like, [], belief)[0][in_head])
    n_head = len(column.head)
    parts = np.zeros((len(density), column.law.shape[1]))
    parts[:, :n_head] = (fall * mass)[:, len(mass) - n_head :]
    at = n_head + np.searchsorted(column.tail, steps[~in_head])
    parts[:, at] = np.array(of_order)[:, ~in_head]
    total = parts.sum(axis=1)
    return parts[total > 0] / total[total > 0, None], chance[total > 0]


def _densities(start, end, size, behind):
    """The densities of the parts in steps of places from `start` to `end`, and their frequency."""
    offset = np.append(0, np.geomspace(0.3, max(size / 20, 0.3), 14))
    exponent = np.linspace(0.2, 3, 15)
    rank = (start + end + 1) / 2
    power = (rank + offset[:, None])[:, None] ** -exponent[:, None]
    upto = np.unique(np.geomspace(1, max(size / 5, 1), 20).round())
    edges = behind * np.array([1, 1.25, 1.5, 2, 2.5, 3.5, 5])
    between = [(0.0, size), *((0.0, k) for k in upto), *zip(edges[:-1], edges[1:])]
    low, high = np.array(between).T[:, :, None]
    within = np.maximum(np.minimum(high, end) - np.maximum(low, start), 0.0)
    n_parts = 15, 14 * 15, 1, len(upto), 6
    chance = repeated(np.divide(_CHANCES, n_parts), np.array(n_parts))
    return np.concatenate([power.reshape(-1, len(rank)), within / (end - start)]), chance
