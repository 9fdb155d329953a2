"""The random order of items with the same score: the possible ranks and their probabilities.

A metric of tied ranks is its mean over that order. Of g relevant and t irrelevant items with one
score, any g of the g + t places that they share are as likely to hold the relevant ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from recsample._support.arrays import BLOCK
from recsample._support.checks import check_memory
from recsample._support.typing import Floats, Integers
from recsample.ranks.base import Rows

# What can be done where there are too many ties for an average over them.
WITHOUT_AVERAGES = "break the ties of ranks at random, by break_ties, or cut the metric off"
# Chances below exp(-40) are left out.
_NOTHING = 40
# How much a recurrence may multiply rounding errors.
_LOST = 20


def mean_rank(rows: Rows) -> Floats:
    """The mean rank of each relevant item: the j-th of g has t j / (g + 1) of its ties ahead."""
    return rows.rank + rows.ties * rows.place / (rows.group + 1)


def laws_of_ties(rows: Rows) -> Iterator[tuple[Integers, Floats]]:
    """Blocks of rows, with the probabilities that 0, 1, ... of the ties are ahead of each."""
    most = int(rows.ties.max(initial=0)) + 1
    check_memory(100 * most, f"the average over {most} places of a tied item", WITHOUT_AVERAGES)
    for some in padded(rows.ties + 1):
        yield some, ties_ahead(rows.ties[some], rows.group[some], rows.place[some])


def mean_by_law(gain: Callable[..., Floats], rows: Rows, last: Integers) -> Floats:
    """What each relevant item adds on average, whatever it adds at each of its places.

    ``gain(instance, order, rank)`` is what it adds; beyond the `last` rank, nothing.
    """
    means, which = np.zeros(len(last)), np.flatnonzero(rows.rank <= last)
    rows, last = rows.of(which), last[which]
    # An item that shares its ties with no other is as likely on each place: only some matter.
    ties = np.where(rows.group > 1, rows.ties, np.minimum(rows.ties, last - rows.rank))
    chance = (ties + 1) / (rows.ties + 1)
    for some, law in laws_of_ties(rows._replace(ties=ties)):
        instance, order, rank = (one[some, None] for one in rows[:3])
        rank = rank + np.minimum(np.arange(law.shape[1]), ties[some, None])
        gains = gain(instance, order, rank)
        means[which[some]] = chance[some] * (law * gains).sum(axis=1)
    return means


def ties_ahead(t: Any, g: Any, j: Any) -> Floats:
    """The probabilities that x = 0, ..., t irrelevant items are ahead of the j-th of g relevant.

    They are C(x + j - 1, x) C(t - x + g - j, t - x) / C(t + g, t). For several t, g and j there is
    a row each, filled up with 0.
    """
    t, g, j = (np.asarray(one)[..., None] for one in (t, g, j))
    x = np.arange(1.0, t.max() + 1)
    left = np.maximum(t - x + 1, 0)
    return law_by_ratios((x + j - 1) / x * (left / np.maximum(left + g - j, 1)))


def law_by_ratios(ratio: Floats) -> Floats:
    """The probabilities of 0, 1, ..., given each over the one before, in the last axis.

    They are built from the mode outwards and then normalised. Through log-gamma, large ties would
    cost half the digits.
    """
    law = np.ones((*ratio.shape[:-1], ratio.shape[-1] + 1))
    law[..., 1:] *= np.cumprod(np.minimum(ratio, 1), axis=-1)
    law[..., :-1] *= np.cumprod(1 / np.maximum(ratio, 1)[..., ::-1], axis=-1)[..., ::-1]
    return law / law.sum(axis=-1, keepdims=True)


# Sums over many places, in a time that does not grow with their number.


def sums_over(weight: Callable[[Floats], Floats], first: Integers, number: Integers) -> Floats:
    """The sums of w(r) and of (r - first) w(r) over r = first, ..., first + number - 1.

    The weight is one of `recsample.metrics.shapes` that changes slowly, and loses no digit. Places
    are in blocks whose lengths are an eighth of their distance from the top, in which a Gauss rule
    of five places sums such weights to 1e-15. All blocks are summed once, and of each range only
    the parts of a block at both of its ends. A difference of sums from the top on is taken over a
    ninth of its range or more, so that no digit is lost.
    """
    end = first + number
    cuts = [1]
    while cuts[-1] <= end.max(initial=1):
        cuts.append(cuts[-1] + max(5, cuts[-1] // 8))
    cut = np.array(cuts, np.int64)
    start, stop = np.searchsorted(cut, first), np.searchsorted(cut, end, side="right") - 1
    inside = stop < start  # one block holds all of the range
    head = np.where(inside, end, cut[start])
    tail = np.where(inside, end, cut[stop])
    origin, whole = np.zeros((2, len(cut) - 1)), _rule(weight, cut[:-1], np.diff(cut), 0)
    to_cut = np.cumsum(np.column_stack([origin[:, :1], whole]), axis=1)
    between = np.where(inside, 0.0, to_cut[:, stop] - to_cut[:, start])
    between[1] -= first * between[0]
    parts = _rule(weight, first, head - first, first), _rule(weight, tail, end - tail, first)
    return between + parts[0] + parts[1]


def _rule(weight, start, number, origin):
    """Both sums over the places of a part of a block, by five of them."""
    offset, share = five_places(number)
    place = start + (number - 1) / 2 + offset
    weighted = share * weight(place)
    return np.stack([weighted.sum(axis=0), ((place - origin) * weighted).sum(axis=0)])


def five_places(number: Integers) -> tuple[Floats, Floats]:
    """Five places by their distance from the middle of so many, and a weight for each.

    Weighted, they add up to the sum over all places for polynomials up to degree 9: the Gauss rule
    of the Gram polynomials, p_(k+1)(x) = x p_k(x) - b_k p_(k-1)(x), whose fifth has the zeros 0 and
    plus and minus the roots of two numbers. Of up to five places they are these.
    """
    k, n = np.arange(1.0, 5)[:, None], np.asarray(number, float)
    b = k**2 * np.maximum(n**2 - k**2, 0) / (4 * (4 * k**2 - 1))
    total, product = b.sum(axis=0), b[0] * b[2] + (b[0] + b[1]) * b[3]
    root = np.sqrt(np.maximum(total**2 - 4 * product, 0))
    outer = (total + root) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(outer > 0, product / outer, 0)
        # The second moment is b_1, the fourth b_1 (b_1 + b_2).
        far = np.where(outer > 0, b[0] * (b[0] + b[1] - inner) / (2 * outer * root), 0)
        near = np.where(inner > 0, b[0] * (outer - b[0] - b[1]) / (2 * inner * root), 0)
    distance = np.sqrt([outer, inner, 0 * n, inner, outer]) * np.array([-1, -1, 0, 1, 1])[:, None]
    return distance, n * np.stack([far, near, 1 - 2 * (far + near), near, far])


def first_of(
    first: Integers, group: Integers, ties: Integers, number: Integers
) -> tuple[Floats, Floats]:
    """The means of 1 / R and of 1, where the best of the g relevant items has the rank R.

    Both are taken over the `number` places from `first` on only. Of e_g, the mean of 1 / R, and
    h_g, that of 1,

        e_g = g / ((g - 1) (t + g)) ((first + t + g - 1) e_(g - 1) - h_(g - 1)),

    because the chance of x ties ahead is that of one relevant item less, times
    g (t + g - 1 - x) / ((g - 1) (t + g)). Where these steps would multiply rounding errors, the
    chances are short of places before they vanish, and are summed.
    """
    number = np.minimum(number, ties + 1)
    inverse = sums_over(lambda r: 1 / r, first, number)[0] / (ties + 1)
    hit = number / (ties + 1)
    by_group = np.argsort(-group, kind="stable")
    for g in range(2, int(group.max(initial=1)) + 1):
        some = by_group[: np.count_nonzero(group >= g)]
        t = ties[some]
        inverse[some] = (first[some] + t + g - 1) * inverse[some] - hit[some]
        inverse[some] *= g / ((g - 1) * (t + g))
        hit[some] += (1 - hit[some]) * (number[some] / (t + g))
    lost = np.minimum(
        (group - 1) * np.log1p((first - 1) / (ties + 2)),
        (first - 1) * np.log1p((group - 1) / (ties + 2)),
    )
    some = np.flatnonzero(lost > np.log(_LOST))
    reach = np.minimum(number[some], _NOTHING * (ties + group)[some] // group[some] + 1)
    for part in padded(reach):
        mine = some[part]
        f, g, t, n = (one[mine, None] for one in (first, group, ties, number))
        x = np.arange(int(reach[part].max()))
        left = np.maximum(t - x[1:] + 1, 0)
        ratio = left / np.maximum(left + g - 1, 1)
        law = np.cumprod(np.hstack([g / (t + g), ratio]), axis=1)
        inverse[mine] = (law * (x < n) / (f + x)).sum(axis=1)
    return inverse, hit


def padded(sizes):
    """Blocks of rows of much the same size, so that a table of them has few empty places."""
    in_order = np.argsort(sizes, kind="stable")
    while len(in_order):
        n_left = max(0, len(in_order) - max(1, BLOCK // max(1, int(sizes[in_order[-1]]))))
        in_order, some = np.split(in_order, [n_left])
        yield some
