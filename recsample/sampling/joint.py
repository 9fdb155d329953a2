"""How the sampled ranks of several relevant items of one instance depend on each other.

All relevant items are ranked against the same m sampled items. Let a_1 <= a_2 <= ... be the numbers
of irrelevant items that outrank them, and s_1 <= s_2 <= ... how many of these are sampled. The
sampled items that outrank an item are also among those that outrank the next, so

    s_i given s_(i+1), s_(i+2), ...  is  B(s_(i+1), a_i / a_(i+1)) or H(a_(i+1), a_i, s_(i+1)),

a thinning that knows neither m nor the pool: a Markov chain from the last relevant item to the
first. So a sum over the items has its mean and variance from one walk along the chain, from the
first item to the last, with the moments of the items so far given the count s so far. Many
instances take the walk together, on arrays with a row for each.

Relevant items that are tied with irrelevant ones form a group. Only the tied items that are sampled
matter, and x different ones are in a random order with the group's relevant items: of x + j places
that hold j of the relevant items, the last holds one with probability j / (x + j). Otherwise it
holds a sampled item, with all its copies if draws are with replacement, and the walk goes on with
the places before it.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from recsample._support.arrays import row_blocks
from recsample._support.checks import fits_in_memory
from recsample._support.typing import Integers
from recsample.sampling.laws import check_draws, count_pmf

# Counts, and numbers of copies of one item, with a smaller chance are left out. Corrected values of
# such counts may be large, but not that large.
_NEVER = 1e-40
# Instances walk together whose moments are about this many numbers: 8 MiB, and a few copies.
_TOGETHER = 2**20


class Group(NamedTuple):
    """Relevant items of one score: of one instance or, as arrays, of each of several."""

    above: int | Integers  # irrelevant items that outrank them
    ties: int | Integers  # irrelevant items with their score
    before: int | Integers  # relevant items that outrank them
    size: int | Integers  # how many they are

    @property
    def end(self):
        """Irrelevant items down to the last one with their score."""
        return self.above + self.ties

    def of(self, which):
        return Group(*(column[which] for column in self))


def moments_of(metric, ranks, which, values, law, n_counts, replace):
    """Means and variances of the instances in the mask `which`, each different one walked once.

    `values(order, n)` are what relevant items contribute, the i-th best of n each, and
    `law(end, pool, n)` the laws of the sampled items among the first `end`: both with a column for
    each of `n_counts` counts.
    """
    check_draws(n_counts - 1, "several relevant items")
    first = ranks.rows.of(ranks.rows.place == 1)
    table = np.stack([first.above, first.ties, first.order - 1, first.group], axis=1)
    if first.ties[np.asarray(which)[first.instance]].any():
        what = f"the joint law of ties with up to {n_counts - 1} sampled items"
        fits_in_memory(64 * n_counts**2, what, "choose a smaller m")
    start = np.searchsorted(first.instance, np.arange(len(ranks) + 1))
    n_groups, pool, n = np.diff(start), ranks.n_irrelevant, ranks.n_relevant
    same: dict[tuple, int] = {}  # the first instance with the same groups
    like = [
        same.setdefault((table[start[i] : start[i + 1]].tobytes(), pool[i]), i)
        for i in np.flatnonzero(which).tolist()
    ]
    walks = np.array(list(same.values()))
    walks = walks[np.argsort(-n_groups[walks], kind="stable")]
    cutoff = None
    if not metric.additive:  # AP(hits): the sum of the precisions, over the hits
        cutoff, values = metric.cutoff, partial(_precisions, n_counts)
    found = np.empty((2, len(ranks)))
    for part in row_blocks(len(walks), 2 * n_counts, _TOGETHER):
        i = walks[part]
        last, length = start[i + 1] - 1, n_groups[i]
        # From the last groups to the first, which come sooner for the instances behind.
        groups = [Group(*table[last[length > back] - back].T) for back in range(length[0])]
        counts = law(groups[0].end, pool[i], n[i])
        found[:, i] = joint_moments(values, n[i], groups, counts, replace, cutoff)
    return found[:, like]


def _precisions(n_counts, order, _):
    """The precision at the i-th of the relevant items, behind s = 0, 1, ... irrelevant ones."""
    return order[:, None] / (order[:, None] + np.arange(n_counts))


def joint_moments(values, n_relevant, groups, law, replace, cutoff=None):
    """Mean and variance of each instance's sum of the values of its items at their counts.

    `groups` are the last ones of all instances, then those before them of the first instances, and
    so on; `law` is that of the sampled items down to the end of the last. With a `cutoff` the sum
    is over the items in the first `cutoff` places, and over their number; 0 where none are.
    """
    share = law @ np.arange(law.shape[1]) / np.maximum(groups[0].end, 1)
    centre = np.zeros(len(law))

    def centred(which, order, mean_above, n_counts):
        """Values less those at the mean counts: where a metric hardly varies, nothing cancels."""
        value = values(order, n_relevant[which])[:, :n_counts]
        if not cutoff:
            middle = np.rint(share[which] * mean_above).astype(np.intp)[:, None]
            value = value - (least := np.take_along_axis(value, middle, axis=1))
            np.add.at(centre, which, least[:, 0])
        return value

    # One column per count s: mean and mean square of the sum so far, given s so far. With a cut-off
    # also those of the quotient. Before the first item s is 0 and the sum is 0.
    state = np.zeros((len(law), 4 if cutoff else 2, 1))
    before = groups[0].of(slice(0))
    for group, most in zip(reversed(groups), reversed(_largest_counts(groups, law, replace))):
        # Given s above the group, the count of the group before has the law of a thinning.
        on, passed = len(before.above), np.zeros((*state.shape[:2], most + 1))
        passed[:on] = _thinned(state[:on], before.end, group.above[:on], most, replace)
        state = passed
        alone = np.flatnonzero(group.ties == 0)
        order = group.before[alone] + 1
        value = centred(alone, order, group.above[alone], most + 1)
        state[alone] = _with_item(state[alone], value, order[:, None], cutoff)
        for i in np.flatnonzero(group.ties).tolist():
            tied = Group(*(int(column[i]) for column in group))
            place = np.arange(1, tied.size + 1)
            mean_above = tied.above + tied.ties * place / (tied.size + 1)
            value = centred(np.full(tied.size, i), tied.before + place, mean_above, most + 1)
            state[i] = _with_group(state[i], value, tied, replace, cutoff)
        before = group
    mean, square = np.einsum("iks,is->ki", state[:, -2:], law[:, : most + 1])
    return centre + mean, np.maximum(square - mean**2, 0.0)  # no longer given s at the end


def _largest_counts(groups, law, replace):
    """The largest count down to the end of the groups that is worth a column, the last first."""
    most = np.flatnonzero((law > _NEVER).any(axis=0))[-1]
    found = [most]
    for outer, group in zip(groups, groups[1:]):
        end, outer_end = group.end, outer.end[: len(group.end)]
        if (end < outer_end).all():
            drawn = np.full_like(end, most) if replace else np.minimum(most, outer_end)
            laws = count_pmf(end, outer_end, most, replace, draws=drawn)
            most = np.flatnonzero((laws > _NEVER).any(axis=0))[-1]
        found.append(most)
    return found


def _thinned(state, above, pool, most, replace):
    """Means given the count e = 0, ..., `most` among the first `pool`, from those given s `above`.

    Shape (instances, moments, counts), as `state`. The law of s for e items follows from that for
    e - 1 of them: the e-th is above with probability (a - s) / (N - e + 1), or a / N if items come
    back. Nothing is subtracted, so that small chances keep their digits.
    """
    found = np.empty((*state.shape[:2], most + 1))
    # In the order of their shares instances have much the same counts.
    in_order = np.argsort(above / np.maximum(pool, 1), kind="stable")
    for block in row_blocks(len(state), state.shape[2]):
        which = in_order[block]
        a, n = above[which].astype(float), np.maximum(pool[which], 1.0)
        given = np.ascontiguousarray(state[which].T)  # shape (counts, moments, instances)
        s = np.arange(float(len(given)))[:, None]
        up, stay = (a / n, (n - a) / n) if replace else (a - s, n - a + 1 + s)
        law = np.zeros((len(given), len(which)))
        law[0] = 1.0
        low, high = 0, 1
        rows = np.empty((most + 1, *given.shape[1:]))
        rows[0] = given[0]
        for e in range(1, most + 1):
            now = law[low:high]
            if replace:
                moved = now * up
                now *= stay
            else:
                now /= np.maximum(n - (e - 1), 1.0)
                moved = now * up[low:high]
                now *= stay[low:high] - e
            high = min(high + 1, len(given))
            law[low + 1 : high] += moved[: high - low - 1]
            if e % 16 == 0:
                likely = low + np.flatnonzero((law[low:high] > _NEVER).any(axis=1))
                if not len(likely):
                    rows[e:] = 0.0
                    break
                law[likely[-1] + 1 : high] = 0.0
                low, high = likely[0], likely[-1] + 1
            rows[e] = np.einsum("si,ski->ki", law[low:high], given[low:high])
        found[which] = rows.T
    return found


def thinning(above, pool, m, replace):
    """Row e: the law of the count among the first `above` items, given e among the first `pool`.

    For e = 0, ..., m, and counts up to m.
    """
    if pool == above:
        return np.eye(m + 1)
    drawn, above, pool = np.arange(m + 1), np.full(m + 1, above), np.full(m + 1, pool)
    return count_pmf(above, pool, m, replace, draws=drawn)


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
            added = _with_item(states[j - 1], values[j - 1], order, cutoff)
            states[j] = (j * added + x * states[j]) / (x + j)
        total += chance * states[-1]
    return total


def _with_item(state, value, order, cutoff):
    """Moments with one more item, the `order`-th best, at the same count."""
    moments = state.copy()
    first, second = moments[..., 0, :], moments[..., 1, :]
    second += value * (2 * first + value)
    first += value
    if cutoff:  # while all places are within the cut-off, all items are hits
        hits = order + np.arange(value.shape[-1]) <= cutoff
        for power in (1, 2):
            quotient = moments[..., 1 + power, :]
            np.copyto(quotient, moments[..., power - 1, :] / order**power, where=hits)
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
    if not replace:
        for chance in thinning(group.ties, group.end, m, False).T[: group.ties + 1]:
            yield chance, np.ones((m + 1, 1))
    else:
        s, k = np.arange(m + 1)[:, None], np.arange(1, m + 1)
        with np.errstate(divide="ignore"):
            ways = np.cumsum(np.log(np.maximum(s - k + 1, 0) / (k * group.end)), axis=1)
        most = max(1, np.count_nonzero(ways[m] > np.log(_NEVER)))
        ways = ways[:, :most][:, ::-1]
        # Logarithms of the chances: of x = 0 different ones, all s draws are of the items above.
        chance = np.zeros(m + 1)
        with np.errstate(divide="ignore"):
            chance[1:] = k * np.log(group.above / group.end)
        yield np.exp(chance), None
        for x in range(1, min(group.ties, m) + 1):
            before = sliding_window_view(np.append(np.full(most, -np.inf), chance), most)[:-1]
            parts = before + ways + np.log((group.ties - x + 1) / x)
            # The sum of the parts relative to the largest, which is 0 where all are.
            most_likely = np.maximum(parts.max(axis=1), -1e300)
            share = np.exp(parts - most_likely[:, None])
            total = share.sum(axis=1)
            with np.errstate(divide="ignore"):
                chance = most_likely + np.log(total)
            yield np.exp(chance), share / np.maximum(total, 1.0)[:, None]
