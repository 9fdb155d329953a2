"""How the sampled ranks of several relevant items of one instance hang together.

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

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

from recsample._counts import count_pmf

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


def groups_of(terms, part):
    """The groups of one instance, best first; `part` is the slice of its terms."""
    _, order, rank, ties, group, place = (column[part] for column in terms)
    first = place == 1
    columns = (rank[first] - order[first], ties[first], order[first] - 1, group[first])
    return [Group(*map(int, row)) for row in zip(*columns)]


def moments_of(metric, ranks, which, values, law, replace):
    """Means and variances of the instances in the mask `which`, each different one walked once.

    `values(n)` are what n relevant items contribute, shape (n, counts); `law(end, pool, n)` is that
    of the sampled items among the first `end`.
    """
    n_relevant, ends, known, found = ranks.n_relevant, np.cumsum(ranks.n_relevant), {}, []
    for i in np.flatnonzero(which):
        n, pool = int(n_relevant[i]), int(ranks.n_irrelevant[i])
        groups = groups_of(ranks._terms, slice(ends[i] - n, ends[i]))
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
    inner = 0
    centre = np.zeros(len(values)) if cutoff else _middle(values, groups, law)
    values = values - centre[:, None]  # where a metric hardly varies, nothing cancels
    # Mean and mean square of the sum, and of the quotient, given the count.
    state = np.zeros((4 if cutoff else 2, 1))
    for group, most in zip(groups, _largest_counts(groups, law, replace)):
        state = state @ thinning(inner, group.above, most, replace, state.shape[1] - 1).T
        state = _with_group(state, values[:, : most + 1], group, replace, cutoff)
        inner = group.end
    mean, square = state[-2:] @ law[: most + 1]
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
    states = np.stack([state] * (group.size + 1))  # with 0, 1, ... of the group's relevant items
    total = np.zeros_like(state)
    for x, (chance, copies) in enumerate(_sampled_ties(group, m, replace)):
        if x:
            states = _passed_on(states, copies)
        for j, order in enumerate(orders, 1):
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
    """Moments given the counts without one item, as moments given those with it."""
    most = copies.shape[1]
    states = np.concatenate([np.zeros((*states.shape[:-1], most)), states], axis=-1)
    windows = sliding_window_view(states, most, axis=-1)[..., :-1, :]  # s - most, ..., s - 1
    return np.einsum("jisk,sk->jis", windows, copies)


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


def linear_moments(metric, ranks, noise):
    """Mean and variance of a metric that is linear in the shares q_i = s_i / m of the sample.

    With x_i tied items ahead, q_i has the mean p_i = (a_i + x_i) / N, and for i before j

        Cov(q_i, q_j) = noise E[p_i (1 - p_j)] + (1 - noise) Cov(p_i, p_j),

    where `noise` is 1 / m with replacement and (N - m) / (N - 1) / m without. The u-th and the v-th
    of g relevant items among t tied ones have the mean u t / (g + 1), and

        Cov(x_u, x_v) = u (g + 1 - v) t (t + g + 1) / ((g + 1)^2 (g + 2)).
    """
    n_relevant, pool = ranks.n_relevant, ranks.n_irrelevant
    instance, order, rank, ties, group, place = ranks._terms
    sizes = n_relevant[instance]
    first, last = (metric._term(order + s, order, sizes, 1 + sizes) for s in (0, 1))
    p = (rank - order + ties * (place / (group + 1))) / pool[instance]
    spread = ties * (ties + group + 1.0) / ((group + 1.0) ** 2 * (group + 2)) / pool[instance] ** 2
    mean = np.bincount(instance, first + (last - first) * p, minlength=len(ranks)).astype(float)
    noise = np.broadcast_to(noise, len(ranks))
    variance, shares, places = np.zeros((3, len(ranks)))
    start = np.cumsum(n_relevant) - n_relevant
    for i in range(int(n_relevant.max(initial=0))):
        which = np.flatnonzero(n_relevant > i)
        row = start[which] + i
        slope = (last - first)[row]
        places[which[place[row] == 1]] = 0.0
        # With each item before it twice, with itself once
        apart = slope * (2 * shares[which] + slope * p[row]) * (1 - p[row])
        tied = slope * (2 * places[which] + slope * place[row]) * (group[row] + 1 - place[row])
        each = noise[which]
        variance[which] += each * apart + (1 - each) * tied * spread[row]
        shares[which] += slope * p[row]
        places[which] += slope * place[row]
    mean[n_relevant == 0] = variance[n_relevant == 0] = np.nan
    return mean, variance
