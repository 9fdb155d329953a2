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
# How much a recurrence may multiply rounding errors.
_LOST = 20


def mean_rank(rows: Rows) -> Floats:
    """The mean rank of each relevant item: the j-th of g has t j / (g + 1) of its ties ahead."""
    return rows.rank + rows.ties * rows.place / (rows.group + 1)


def laws_of_ties(rows: Rows) -> Iterator[tuple[Integers, Floats]]:
    """Blocks of rows, with the probabilities that 0, 1, ... of the ties are ahead of each."""
    most = int(rows.ties.max(initial=0)) + 1
    check_memory(100 * most, f"the average over {most} places of a tied item", WITHOUT_AVERAGES)
    in_order = np.argsort(rows.ties, kind="stable")  # so that a block has few empty places
    while len(in_order):
        n_left = max(0, len(in_order) - max(1, BLOCK // (int(rows.ties[in_order[-1]]) + 1)))
        in_order, some = np.split(in_order, [n_left])
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

    They are built from the mode outwards, and then normalised. Through log-gamma, large ties would
    cost half the digits. The ratios are overwritten.
    """
    # Up to the mode ratios are above 1, from there on below: each side is the product of those
    # between it and the mode, so nothing overflows.
    law = np.ones((*ratio.shape[:-1], ratio.shape[-1] + 1))
    np.cumprod(np.minimum(ratio, 1), axis=-1, out=law[..., 1:])
    # In place: new arrays take up to half as long again.
    np.divide(1, np.maximum(ratio, 1, out=ratio), out=ratio)
    law[..., :-1] *= np.cumprod(ratio[..., ::-1], axis=-1)[..., ::-1]
    law /= law.sum(axis=-1, keepdims=True)
    return law


# Sums over many places, in a time that does not grow with their number.


def sums_over(weight: Callable[[Floats], Floats], first: Integers, number: Integers) -> Floats:
    """The sums of w(r) and of (r - first) w(r) over r = first, ..., first + number - 1.

    The weight changes slowly, as 1 / r and 1 / log(r + 1) do. Places are in blocks whose lengths
    are a sixteenth of their distance from the top, in which a Gauss rule of four places has errors
    of 1e-14. All blocks are summed once, and of each range only its parts of a block at both ends.
    What lies between is a difference of sums from the top on, which costs a digit, as it is at
    least a seventeenth of the last place.
    """
    end, cuts = first + number, [1]
    while cuts[-1] < end.max(initial=1):
        cuts.append(cuts[-1] + max(4, cuts[-1] // 16))
    cut = np.array(cuts, np.int64)
    blocks = _by_four(weight, cut[:-1], np.diff(cut), 0)
    from_top = np.cumsum(np.hstack([np.zeros((2, 1)), blocks]), axis=1)
    start, stop = np.searchsorted(cut, first), np.searchsorted(cut, end, side="right") - 1
    between = from_top[:, np.maximum(start, stop)] - from_top[:, start]
    between[1] -= first * between[0]
    head = np.minimum(cut[start], end)  # all of a range without a cut
    tail = np.maximum(cut[stop], head)
    parts = _by_four(weight, first, head - first, first), _by_four(weight, tail, end - tail, first)
    return between + parts[0] + parts[1]


def _by_four(weight, start, number, origin):
    """Both sums over a part of a block, by four places, which are all that there are of up to four.

    The Gauss rule of the Gram polynomials p_(k+1)(x) = x p_k(x) - b_k p_(k-1)(x): the squares of
    the zeros of p_4 have the sum b_1 + b_2 + b_3 and the product b_1 b_3.
    """
    k, n = np.arange(1.0, 4)[:, None], np.asarray(number, float)
    b = k**2 * np.maximum(n**2 - k**2, 0) / (4 * (4 * k**2 - 1))
    total = b.sum(axis=0)
    root = np.sqrt(np.maximum(total**2 - 4 * b[0] * b[2], 1e-300))
    outer, inner = (total + root) / 2, np.maximum(total - root, 0) / 2
    far = (b[0] - inner) / (2 * root)  # so that the mean square is b_1
    offset = np.sqrt([outer, inner, inner, outer]) * np.array([-1, -1, 1, 1])[:, None]
    place = start + (number - 1) / 2 + offset
    weighted = n * np.stack([far, 0.5 - far, 0.5 - far, far]) * weight(place)
    return np.stack([weighted.sum(axis=0), ((place - origin) * weighted).sum(axis=0)])


def means_of_best(rows: Rows, number: Integers) -> tuple[Floats, Floats]:
    """The means of 1 / R and of 1, where R is the rank of the best relevant item of a group.

    Both are taken over the first `number` places of the group, of which `rows` have the best item.
    Of e_g, the mean of 1 / R, and h_g, that of 1,

        e_g = g / ((g - 1) (t + g)) ((r + t + g - 1) e_(g - 1) - h_(g - 1)),

    with the first rank r, because the chance of x ties ahead is that of one relevant item less,
    times g (t + g - 1 - x) / ((g - 1) (t + g)). Where these steps would multiply rounding errors,
    e_g is NaN: there are less than g r / 3 ties for such a rank.
    """
    first, group, ties = rows.rank, rows.group, rows.ties
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
    inverse[lost > np.log(_LOST)] = np.nan
    return inverse, hit
