"""How the sampled ranks of several relevant items of one instance hang together.

All relevant items are ranked against the same m sampled items. Let a_1 <= a_2 <= ... be the numbers
of irrelevant items that outrank them, and s_1 <= s_2 <= ... how many of these are sampled. The
sampled items that outrank an item are also among those that outrank the next, so

    s_i given s_(i+1), s_(i+2), ...  is  B(s_(i+1), a_i / a_(i+1)) or H(a_(i+1), a_i, s_(i+1)),

a thinning that knows neither m nor the pool: a Markov chain from the last relevant item to the
first. So a sum over the items has its mean and variance from one walk along the chain.

Relevant items that are tied with irrelevant ones form a block. Without replacement the c sampled
ones among these and the block's relevant items come in a random order, whatever the order of all
the tied items was. With replacement an item that is drawn twice stands in one place twice, so the
orders are gone through one by one.
"""

from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.stats import hypergeom

from recsample._counts import count_pmf
from recsample._ties import ties_ahead


class _Block(NamedTuple):
    """Relevant items of one score."""

    above: int  # irrelevant items that outrank them
    ties: int  # irrelevant items with their score
    before: int  # relevant items that outrank them
    size: int  # how many they are


def blocks_of(terms, part):
    """The blocks of one instance, best first; `part` is the slice of its terms."""
    _, order, rank, ties, group, place = (column[part] for column in terms)
    first = place == 1
    columns = (rank[first] - order[first], ties[first], order[first] - 1, group[first])
    return [_Block(*map(int, row)) for row in zip(*columns)]


def sum_moments(values, blocks, pool, replace):
    """Mean and variance of the sum over i of values[i - 1, s_i], by the law of total variance.

    `values` has a row for each relevant item and a column for s = 0, ..., m. It takes O(L m^2)
    operations, and O(m^3) for each block with ties: with replacement, for each of its orders.
    """
    m = values.shape[1] - 1
    mean, variance, inner = np.zeros(m + 1), np.zeros(m + 1), 0
    for block in blocks:
        mean, variance = _passed_on(mean, variance, inner, block.above, replace)
        mean, variance = _with_block(mean, variance, values, block, replace)
        inner = block.above + block.ties
    law = _law(inner, pool, m, replace)
    total = law @ mean
    return total, law @ (variance + (mean - total) ** 2)


def moments_per_hit(values, blocks, pool, cutoff, replace):
    """Mean and variance of the same sum over the items up to the cut-off, over their number.

    Where nothing stands in the first `cutoff` places the quotient is 0.
    """
    if replace and any(block.ties for block in blocks):
        raise ValueError(
            "ranks must not tie relevant with irrelevant items where draws are with replacement "
            "and a metric divides by its hits; break_ties, or replace=False, helps"
        )
    m = values.shape[1] - 1
    counts = np.arange(m + 1)
    mean, variance, inner = np.zeros(m + 1), np.zeros(m + 1), 0
    outcomes = []  # (probability, mean, variance) of the quotient
    for block in blocks:
        law = _law(block.above, pool, m, replace)
        if block.before:  # the cut-off falls between the last block and this one
            joint = law[:, None] * thinning(inner, block.above, m, replace)
            here = (counts >= cutoff - block.before)[:, None] & (counts <= cutoff - block.before)
            chance = (joint * here).sum(axis=0)
            outcomes.append((chance, mean / block.before, variance / block.before**2))
        mean, variance = _passed_on(mean, variance, inner, block.above, replace)
        inner = block.above + block.ties
        if block.ties:
            outcomes += _cut_within(mean, variance, values, block, pool, cutoff)
        mean, variance = _with_block(mean, variance, values, block, replace)
    n_relevant = len(values)
    chance = _law(inner, pool, m, replace) * (counts <= cutoff - n_relevant)
    outcomes.append((chance, mean / n_relevant, variance / n_relevant**2))
    chance, mean, variance = np.concatenate([np.stack(outcome) for outcome in outcomes], axis=1)
    total = chance @ mean
    spread = chance @ (variance + (mean - total) ** 2)
    return total, spread + max(0.0, 1 - chance.sum()) * total**2


def _law(above, pool, m, replace):
    """P(s = 0, ..., m) of the sampled items that are among the first `above`."""
    return count_pmf(np.array([above]), np.array([pool]), m, replace)[0]


def thinning(above, pool, m, replace):
    """Row e: the law of the count among the first `above` items, given e among the first `pool`."""
    states = np.arange(m + 1)
    if pool == 0:
        return np.eye(m + 1)
    return count_pmf(np.full(m + 1, above), np.full(m + 1, pool), m, replace, draws=states)


def _passed_on(mean, variance, above, pool, replace):
    """Moments given the count among the first `above` items, as moments given that of `pool`."""
    if above == pool or not mean.any():
        return mean, variance
    law = thinning(above, pool, len(mean) - 1, replace)
    outer = law @ mean
    return outer, law @ variance + (law * (mean - outer[:, None]) ** 2).sum(axis=1)


def _with_block(mean, variance, values, block, replace):
    """Moments given the count above a block, with the block's items, given that at its end."""
    if not block.ties:
        return mean + values[block.before], variance
    m = len(mean) - 1
    above, among = _splits(m)
    items = values[block.before :][: block.size]
    block_mean, block_variance = _block_moments(items, block.ties, replace)
    # Row e, column s: s of the e sampled items down to the end of the block are above it.
    law = thinning(block.above, block.above + block.ties, m, replace)
    within = mean[None, :] + block_mean[above, among]
    outer = (law * within).sum(axis=1)
    spread = variance[None, :] + block_variance[above, among] + (within - outer[:, None]) ** 2
    return outer, (law * spread).sum(axis=1)


def _splits(m):
    """For row e and column s: s, and e - s, the rest (0 where s > e, which no law allows)."""
    above = np.broadcast_to(np.arange(m + 1), (m + 1, m + 1))
    return above, np.maximum(above.T - above, 0)


def _block_moments(values, ties, replace):
    """Mean and variance of the sum over a block's items, by row s above and column c among it."""
    m, size = values.shape[1] - 1, len(values)
    if not replace:
        mean, square = _raw_moments(values, [_random_place(m, j) for j in range(1, size + 1)])
    else:
        n_orders = comb(ties + size, size)
        if n_orders > 10_000:
            raise ValueError(
                f"ranks must not tie {size} relevant with {ties} irrelevant items where draws are "
                f"with replacement: the variance goes through their {n_orders} orders, and 10000 "
                "is the limit; break_ties, or replace=False, helps"
            )
        mean, square = np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1))
        for ahead in combinations_with_replacement(range(ties + 1), size):
            outer = (*ahead[1:], ties)
            laws = [thinning(x, pool, m, True).T for x, pool in zip(ahead, outer)]
            parts = _raw_moments(values, laws)
            mean, square = mean + parts[0] / n_orders, square + parts[1] / n_orders
    return mean, np.maximum(square - mean**2, 0.0)


def _raw_moments(values, laws):
    """First and second moment of the sum over a block's items, by row s above and column c among.

    Column c of laws[j - 1] is the law of the count ahead of the j-th item and in the block, given
    the count c ahead of the next item, or in the whole block for the last one.
    """
    m = values.shape[1] - 1
    place = np.arange(m + 1)[:, None] + np.arange(m + 1)
    mean, square = np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1))
    for value, law in zip(values, laws):
        # Counts beyond m do not come about.
        here = np.where(place <= m, value[np.minimum(place, m)], 0.0)
        square = (here**2 + 2 * here * mean + square) @ law
        mean = (here + mean) @ law
    return mean, square


@lru_cache(maxsize=64)
def _random_place(m, j):
    """Column c: how many of c irrelevant items are ahead of the last of j in a random order.

    The items before it are in a random order with these.
    """
    law = np.zeros((m + 1, m + 1))
    for c in range(m + 1):
        law[: c + 1, c] = ties_ahead(c, j, j)
    return law


def _cut_within(mean, variance, values, block, pool, cutoff):
    """The outcomes where the cut-off falls inside a block with ties, without replacement."""
    m = len(mean) - 1
    law = _law(block.above + block.ties, pool, m, False)
    joint = law[:, None] * thinning(block.above, block.above + block.ties, m, False)
    end, above = np.nonzero(joint)
    among, places = end - above, cutoff - block.before - above
    inside = (places > 0) & (places < block.size + among)
    end, above, among, places = (column[inside] for column in (end, above, among, places))
    outcomes = []
    for hits in range(block.size + 1):
        found_mean, found_variance = _block_moments(values[block.before :][:hits], 0, False)
        chance = hypergeom.pmf(hits, block.size + among, block.size, places)
        others = np.clip(places - hits, 0, among)
        divisor = max(block.before + hits, 1)  # without a hit there is nothing to divide
        outcomes.append(
            (
                joint[end, above] * chance,
                (mean[above] + found_mean[above, others]) / divisor,
                (variance[above] + found_variance[above, others]) / divisor**2,
            )
        )
    return outcomes
