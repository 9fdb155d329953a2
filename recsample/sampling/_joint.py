"""How the sampled ranks of several relevant items of one instance depend on each other.

All relevant items are ranked against the same m sampled items. Let a_1 <= a_2 <= ... be the numbers
of irrelevant items that outrank them, and s_1 <= s_2 <= ... how many of these are sampled. The
sampled items that outrank an item are also among those that outrank the next, so

    s_i given s_(i+1), s_(i+2), ...  is  B(s_(i+1), a_i / a_(i+1)) or H(a_(i+1), a_i, s_(i+1)),

a thinning that knows neither m nor the pool: a Markov chain from the last relevant item to the
first. So a sum over the items has its mean and variance from one walk along the chain, from the
first item to the last, with the moments of the items so far given the count s so far.

Relevant items that are tied with irrelevant ones form a group. Only the tied items that are sampled
matter, and x different ones are in a random order with the group's relevant items: of x + j places
that hold j of the relevant items, the last holds one with probability j / (x + j). Otherwise it
holds a sampled item, with all its copies if draws are with replacement, and the walk goes on with
the places before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

from recsample.sampling._counts import count_pmf

# Counts, and numbers of copies of one item, with a smaller chance are left out. Corrected values of
# such counts may be large, but not that large.
_NEVER = 1e-40


class Group(NamedTuple):
    """Relevant items of one score."""

    above: int  # irrelevant items that outrank them
    ties: int  # irrelevant items with their score
    before: int  # relevant items that outrank them
    size: int  # how many they are

    @property
    def end(self):
        """Irrelevant items down to the last one with their score."""
        return self.above + self.ties


def groups_of(rows):
    """The groups of one instance, best first, from the rows of its relevant items."""
    first = rows.of(rows.place == 1)
    columns = (first.above, first.ties, first.order - 1, first.group)
    return [Group(*map(int, row)) for row in zip(*columns)]


def moments_of(metric, ranks, which, values, law, replace):
    """Means and variances of the instances in the mask `which`, each different one walked once.

    `values(n)` are what n relevant items contribute, shape (n, counts); `law(end, pool, n)` is that
    of the sampled items among the first `end`.
    """
    n_relevant, ends, known, found = ranks.n_relevant, np.cumsum(ranks.n_relevant), {}, []
    for i in np.flatnonzero(which):
        n, pool = int(n_relevant[i]), int(ranks.n_irrelevant[i])
        groups = groups_of(ranks.rows.of(slice(ends[i] - n, ends[i])))
        key = (*groups, n, pool)
        if key not in known:
            counts, cutoff = law(groups[-1].end, pool, n), None
            given = values(n)[:, : len(counts)]
            if not metric.additive:  # AP(hits): the sum of the precisions, over the hits
                order = np.arange(1, n + 1)[:, None]
                given, cutoff = order / (order + np.arange(len(counts))), metric.cutoff
            known[key] = joint_moments(given, groups, counts, replace, cutoff)
        found.append(known[key])
    return np.array(found).reshape(-1, 2).T


def joint_moments(values, groups, law, replace, cutoff=None):
    """Mean and variance of the sum over i of values[i - 1, s_i].

    `values` has a row for each relevant item and a column for s = 0, ..., m; `law` is that of the
    sampled items down to the end of the last group. With a `cutoff` the sum is over the items in
    the first `cutoff` places, and over their number; 0 where none are.
    """
    centre = np.zeros(len(values)) if cutoff else _middle(values, groups, law)
    values = values - centre[:, None]  # where a metric hardly varies, nothing cancels
    # One column per count s: mean and mean square of the sum so far, given s so far. With a cut-off
    # also those of the quotient. Before the first item s is 0 and the sum is 0.
    state = np.zeros((4 if cutoff else 2, 1))
    reached = 0  # irrelevant items down to where the walk has come
    for group, most in zip(groups, _largest_counts(groups, law, replace)):
        # Given s above the group, the count of the group before has the law of a thinning.
        state = state @ thinning(reached, group.above, most, replace, state.shape[1] - 1).T
        state = _with_group(state, values[:, : most + 1], group, replace, cutoff)
        reached = group.end
    mean, square = state[-2:] @ law[: most + 1]  # no longer given s at the end
    return centre.sum() + mean, max(square - mean**2, 0.0)


def _middle(values, groups, law):
    """The value of each item at its mean count, rounded."""
    counted = law @ np.arange(len(law)) / max(groups[-1].end, 1)  # of each item down to the end
    above = [g.above + g.ties * j / (g.size + 1) for g in groups for j in range(1, g.size + 1)]
    middle = np.rint(counted * np.array(above)).astype(int)
    return np.take_along_axis(values, middle[:, None], 1)[:, 0]


def _largest_counts(groups, law, replace):
    """The largest count down to the end of each group that is worth a column."""
    found, most = [], np.flatnonzero(law > _NEVER)[-1]
    for group, outer in zip(reversed(groups), [groups[-1], *reversed(groups)]):
        if group.end < outer.end:
            pair, drawn = np.array([[group.end], [outer.end]]), np.array([most])
            law = count_pmf(*pair, most, replace, draws=drawn)[0]
            most = np.flatnonzero(law > _NEVER)[-1]
        found.append(most)
    return found[::-1]


def thinning(above, pool, m, replace, most=None):
    """Row e: the law of the count among the first `above` items, given e among the first `pool`.

    For e = 0, ..., m, and counts up to m, or to `most` where no larger ones come about.
    """
    most = m if most is None else most
    if pool == above:
        return np.eye(m + 1, most + 1)
    drawn, above, pool = np.arange(m + 1), np.full(m + 1, above), np.full(m + 1, pool)
    return count_pmf(above, pool, most, replace, draws=drawn)


def _with_group(state, values, group, replace, cutoff):
    """Moments given the count above a group, with the group's items, given that at its end."""
    m = values.shape[1] - 1
    orders = range(group.before + 1, group.before + group.size + 1)
    # states[j]: with the first j of the group's relevant items, and x of its ties, behind the walk.
    states = np.stack([state] * (group.size + 1))
    total = np.zeros_like(state)
    for x, (chance, copies) in enumerate(_sampled_ties(group, m, replace)):
        if x:  # the last of x + j places holds a sampled tied item
            states = _passed_on(states, copies)
        for j, order in enumerate(orders, 1):  # or the j-th relevant one, with chance j / (x + j)
            added = _with_item(states[j - 1], values[order - 1], order, cutoff)
            states[j] = (j * added + x * states[j]) / (x + j)
        total += chance * states[-1]
    return total


def _with_item(state, value, order, cutoff):
    """Moments with one more item, the `order`-th best, at the same count."""
    moments = state.copy()
    moments[0] += value
    moments[1] += value * (state[0] + moments[0])
    if cutoff:  # while all places are within the cut-off, all items are hits
        hits = order + np.arange(len(value)) <= cutoff
        moments[2:, hits] = moments[:2, hits] / [[order], [order**2]]
    return moments


def _passed_on(states, copies):
    """Moments given the counts without one item, as moments given those with it.

    With the item's k copies the count is s, without them s - k: the moments at s are those at
    s - most, ..., s - 1, weighted with the chances of k = most, ..., 1 copies.
    """
    most = copies.shape[1]
    none_below_0 = np.zeros((*states.shape[:-1], most))
    padded = np.concatenate([none_below_0, states], axis=-1)
    without = sliding_window_view(padded, most, axis=-1)[..., :-1, :]
    return np.einsum("jisk,sk->jis", without, copies)


def _sampled_ties(group, m, replace):
    """For x = 0, 1, ... how likely the sample has x different ones of the ties, given s to the end.

    And the law of the number of copies of one of these x, shape (m + 1, most): row s, and k = most,
    ..., 2, 1. With replacement k of s draws are of one item, and the others have x - 1 different
    ones of the ties, so the chances p_x(s) have

        p_x(s) = (t - x + 1) / x  sum over k of C(s, k) / n^k p_(x - 1)(s - k),    n = a + t,

    and the parts of this sum are the law. Logarithms, as the chances of some x are too small.
    """
    if not group.ties:
        yield np.ones(m + 1), None
    elif not replace:
        for chance in thinning(group.ties, group.end, m, False).T[: group.ties + 1]:
            yield chance, np.ones((m + 1, 1))
    else:
        s, k = np.arange(m + 1)[:, None], np.arange(1, m + 1)
        with np.errstate(divide="ignore"):
            ways = np.cumsum(np.log(np.maximum(s - k + 1, 0) / (k * group.end)), axis=1)
        most = max(1, np.count_nonzero(ways[m] > np.log(_NEVER)))
        ways = ways[:, :most][:, ::-1]
        chance = special.xlogy(np.arange(m + 1), group.above / group.end)
        yield np.exp(chance), None
        for x in range(1, min(group.ties, m) + 1):
            before = sliding_window_view(np.append(np.full(most, -np.inf), chance), most)[:-1]
            parts = before + ways + np.log((group.ties - x + 1) / x)
            chance = special.logsumexp(parts, axis=1)
            yield np.exp(chance), np.exp(parts - np.maximum(chance, -1e300)[:, None])
