"""Laws of the number of sampled items that outrank a target, and sums over these laws.

Of N items, a outrank the target and m are drawn. The count s of drawn items that outrank it is
binomial, B(m, a / N), or hypergeometric, H(N, a, m).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from recsample._support.arrays import different_rows, row_blocks
from recsample._support.checks import check_memory, refuse_first
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Integers
from recsample._support.values import frozen
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Geometric, Linear, Reciprocal, Step
from recsample.ranks.base import Ranks
from recsample.ranks.ties import WITHOUT_AVERAGES, law_by_ratios, ties_ahead

# So many items at both ends of a pool are taken one by one where others are passed over.
_ENDS = 64
# Counts matter whose chance is not below exp(-46).
_FAR = 46
# The way out where a law is too large for the memory.
_LESS = "choose a smaller m"
# So many draws are followed one by one, and so many nodes are found, which takes seconds.
_DRAWS, _MOST_NODES = 10**5, 2000
# Values of a metric of up to so many numbers are computed once, beyond it as they are needed.
_TABLE = 2**20
# From here on Stirling's series is used.
_SERIES = 16


def check_drawable(pool):
    """Refuse pools from which NumPy cannot draw hypergeometric numbers."""
    allowed = "must be at most 1,000,000,000 to draw without replacement"
    refuse_first(pool >= 10**9, "n_items", allowed, "{} in instance {at}", pool + 1)


def likely_counts(above, pool, m, replace):
    """Blocks of targets, as arrays of rows, each with the slice of the counts that matter to them.

    All others have a chance below 1e-19. Targets are taken in the order of their means, so
    that much the same counts matter to those of a block.
    """
    first, end = _within_reach(above, pool, m, replace)
    in_order = np.argsort(above / pool, kind="stable")
    while len(in_order):
        rows = in_order[:128]
        low, high = np.minimum.accumulate(first[rows]), np.maximum.accumulate(end[rows])
        widest = np.maximum.accumulate(end[rows] - first[rows])
        apart = high - low > 2 * widest + 1000
        size = int(apart.argmax()) if apart.any() else len(rows)
        yield rows[:size], slice(low[size - 1], high[size - 1])
        in_order = in_order[size:]


def _within_reach(above, pool, m, replace):
    """The first of the counts that matter, and the end; the others have a chance below 1e-19.

    By Bernstein's inequality: a count is distributed like a sum of independent indicators, the
    hypergeometric one too, since its generating function has real zeros only.
    """
    mean = m * (above / pool)
    variance = mean * (1 - above / pool)
    if not replace:
        variance *= (pool - m) / np.maximum(pool - 1, 1)
    reach = np.sqrt(2 * _FAR * variance) + _FAR * 2 / 3
    first = np.maximum(np.floor(mean - reach), 0).astype(np.int64)
    return first, np.minimum(np.ceil(mean + reach), m).astype(np.int64) + 1


def count_pmf(above, pool, m, replace, draws=None, counts=None):
    """P(s = 0, ..., m) for each target, shape (targets, m + 1).

    With replacement `above` may be real. Where `draws` is given, fewer than m items are drawn for
    a target: row i is the law for draws[i] of them. `counts` is a slice of those that matter, see
    `likely_counts`; the others are left out.

    Neighbouring probabilities have a simple ratio. No step subtracts or overflows: near the mode
    the relative error is a few units in the last place per step, where formulas through log-gamma
    lose it all for large pools.
    """
    first, end, _ = (counts or slice(None)).indices(m + 1)
    what = f"the law of {len(above)} ranks with m={m}"
    check_memory(64 * len(above) * (end - first), what, _LESS)
    drawn = m if draws is None else draws[:, None].astype(float)
    return _by_ratios(above[:, None], pool[:, None], drawn, replace, first, end)


def law_blocks(
    above: Integers, pool: Integers, m: int, replace: bool
) -> Iterator[tuple[slice, Floats]]:
    """Slices of targets, with the law of each."""
    for rows in row_blocks(len(above), m + 1):
        yield rows, count_pmf(above[rows], pool[rows], m, replace)


def _by_ratios(above, pool, drawn, replace, first, end):
    """P(s = first, ..., end - 1), in proportion to their ratios; columns of the targets."""
    s = np.arange(first + 1.0, end)
    a, rest = above.astype(float), (pool - above).astype(float)
    left = np.maximum(drawn - s + 1, 0.0)  # to draw after s - 1 of them
    with np.errstate(divide="ignore", invalid="ignore"):
        if replace:
            ratio = left / s * (a / rest)  # p(s) / p(s - 1)
            if not rest.all():
                ratio[(a == 0) | (left == 0)] = 0.0
        else:
            missed = rest - drawn + s  # in the pool's rest if s are drawn above, and one more
            ratio = a - s + 1
            # In place from here on: new arrays take up to half as long again.
            np.maximum(ratio, 0.0, out=ratio)
            ratio /= s
            ratio *= left / missed
            if missed[:, :1].min(initial=1.0) <= 0:
                ratio[missed <= 0] = np.inf  # s - 1 is below the smallest possible count
        return law_by_ratios(ratio)


# Items with the same score are in a random order, so the law of a tied item is a mixture: of the
# laws of all numbers of items that may be above it, each by its chance.


def tied_laws(above, ties, group, pool, m, replace):
    """The laws of all `group` relevant items that are tied with the same `ties` irrelevant ones.

    Shape (group, m + 1). With x of the ties ahead, the j-th of g relevant items has the law
    p(s | a + x), and the chance of x is in proportion to C(x + j - 1, x) C(t - x + g - j, t - x).

    With replacement few x stand for all, by Gauss quadrature: p(s | a) is a polynomial of degree m
    in a, so (m + 1) / 2 nodes give its mean exactly, and g / 2 more with these chances, which are
    polynomials of degree g - 1. Fewer do for large m: on the ellipse around the points where
    |p| + |1 - p| = cosh(u) no p(s | a) exceeds cosh(u)^m, so the error of K nodes is of the order
    of min over u of exp(m u^2 / 2 - 2 K u) = exp(-2 K^2 / m). Fewer still do for few ties: if the
    points are spread over a share h = t / N of the pool, the ellipse around them with half axes
    h cosh(u) / 2 and h sinh(u) / 2 has no point farther than h exp(u) / 4 from all between them, so
    no p(s | a) exceeds exp(m h exp(u) / 2) there, and the error is of the order of
    (e m h / 4 K)^2K.
    """
    if not replace:
        end = count_pmf(np.array([above + ties]), np.array([pool]), m, False)[0]
        return laws_given_end(end, above, ties, group)
    check_memory(8 * group * (m + 1), f"the law with m={m}", _LESS)
    # The error is exp(-40) = 4e-18.
    enough = min(m // 2 + 1, int(4.5 * np.sqrt(m)) + 2, _enough_for_few(m * ties / pool))
    n_nodes = enough + group // 2
    if min(ties + 1, n_nodes) > _MOST_NODES:
        allowed = "must be smaller to average over ties"
        raise InputError("m", allowed).got(f"m={m}", WITHOUT_AVERAGES)
    ahead, weight = gauss_on_points(ties + 1, n_nodes)
    weights = weight[None]
    if group > 1:
        i = np.arange(1.0, group)[:, None]
        before, behind = (  # logarithms of the two factors, less a constant
            np.cumsum(np.vstack([0 * x, np.log((x + i) / (ties + i))]), axis=0)
            for x in (ahead, ties - ahead)
        )
        chance = before + behind[::-1]
        weights = weight * np.exp(chance - chance.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
    laws = np.zeros((group, m + 1))
    for rows, law in law_blocks(above + ahead, np.full(len(ahead), pool), m, True):
        laws += weights[:, rows] @ law
    return laws


def _enough_for_few(drawn):
    """The nodes K with (e x / 4 K)^2K = exp(-40), for x tied items in an average sample."""

    def enough(nodes):
        return drawn == 0 or nodes * math.log(4 * nodes / (math.e * drawn)) > 20

    # 20 + 2 drawn nodes always are enough, since log(8 / e) > 1.
    return 1 + bisect_left(range(1, 21 + 2 * math.ceil(drawn)), True, key=enough)


def laws_given_end(end, above, ties, group):
    """The laws of a group where different items are drawn, from that of their number to its end.

    With b of them above the group and c in it, the relevant items are in a random order with the c.
    Counts with a chance below 1e-20 are left out.
    """
    m = len(end) - 1
    drawn = np.flatnonzero(end > 1e-20)
    possible = slice(max(int(drawn[0] - ties), 0), min(int(drawn[-1]), int(above)) + 1)
    split = np.full_like(drawn, above), np.full_like(drawn, above + ties)
    joint = end[drawn, None] * count_pmf(*split, m, False, draws=drawn, counts=possible)
    row, column = np.nonzero(joint > 1e-20)
    before = column + possible.start
    inside = drawn[row] - before
    first, least = before.min(), inside.min()
    table = np.zeros((before.max() + 1 - first, inside.max() + 1 - least))
    table[before - first, inside - least] = joint[row, column]
    laws = np.zeros((group, m + 1))
    for law, j in zip(laws, range(1, group + 1)):
        found = table @ ties_ahead(np.arange(least, least + table.shape[1]), group, j)
        for b, ahead in enumerate(found, first):
            law[b : b + len(ahead)] += ahead[: m + 1 - b]
    return laws / laws.sum(axis=1, keepdims=True)


def mean_law_without(above, ties, pool, m):
    """The mean of the hypergeometric laws of a, ..., a + t: for all t the time of two laws.

    C(a, s) C(N - a, m - s) counts the subsets of size m + 1 of {0, ..., N} whose (s + 1)-th
    smallest element is a. Summed over a this telescopes to the law of one more draw from one more
    item:

        sum over a < A of p(s | a) = (N + 1) / (m + 1) P(H(N + 1, A, m + 1) > s).

    The mean over t + 1 laws is a difference of two such sums, of which one is 0 for a = 0. It costs
    digits where t is small (see `_loses_digits`).
    """
    difference = _exceeds(above + ties + 1, pool + 1, m + 1)
    if above.any():
        difference -= _exceeds(above, pool + 1, m + 1)
    difference = np.maximum(difference, 0.0)  # rounding may fall below 0
    return difference / difference.sum(axis=1, keepdims=True)


def _loses_digits(above, ties, pool, m):
    """Where the difference of `mean_law_without` would cost more than two digits."""
    return (above > 0) & ((pool + 1) / (ties + 1) > 100 * (m + 1))


def _exceeds(above, pool, m):
    """P(H(N, a, m) > s) for s = 0, ..., m - 1."""
    upper = np.cumsum(count_pmf(above, pool, m, False)[:, ::-1], axis=1)[:, ::-1]
    return upper[:, 1:]


def different_pmf(above, pool, n_draws):
    """P(s = 0, ..., n_draws) of the different items that are drawn among the first `above`.

    Draws are with replacement. With s of them drawn, the next draw is one more with probability
    (a - s) / N: the classical occupancy law.
    """
    if n_draws > _DRAWS:
        raise InputError(
            "m",
            f"must leave at most {_DRAWS:,} draws for the number of different items, whose law "
            "is built draw by draw",
        ).got(f"{n_draws} draws", _LESS)
    check_memory(8 * len(above) * (n_draws + 1), f"the law of {n_draws} draws", _LESS)
    law = np.zeros((len(above), n_draws + 1))
    law[:, 0] = 1.0
    for rows in row_blocks(len(above), 1, 16):  # a few with much the same counts
        a, n = (column[rows, None] for column in (above, pool))
        s = np.arange(min(n_draws, int(a.max())) + 1)
        more, same = np.maximum(a - s, 0) / n, np.minimum(n - a + s, n) / n
        part = law[rows, : len(s)]
        for k in range(1, n_draws + 1):
            some = min(k, len(s) - 1)  # of the counts that are possible so far, the next one too
            up = part[:, :some] * more[:, :some]
            part[:, : some + 1] *= same[:, : some + 1]
            part[:, 1 : some + 1] += up
    return law


@lru_cache(maxsize=4096)  # the same ties occur again and again
def gauss_on_points(n_points, n_nodes):
    """Nodes and weights of the Gauss rule for the uniform distribution on 0, ..., n_points - 1.

    From the recurrence of the discrete Legendre (Gram) polynomials, by Golub and Welsch.
    """
    if n_nodes >= n_points:
        nodes, weights = np.arange(n_points, dtype=float), np.full(n_points, 1.0 / n_points)
    else:
        from scipy import linalg  # only ties and large pools need it

        k = np.arange(1.0, n_nodes)
        off = np.sqrt(k**2 * (float(n_points) ** 2 - k**2) / (4 * (4 * k**2 - 1)))
        nodes, vectors = linalg.eigh_tridiagonal(np.full(n_nodes, (n_points - 1) / 2), off)
        nodes, weights = np.clip(nodes, 0, n_points - 1), vectors[0] ** 2
    return frozen(nodes), frozen(weights)


def inverse_rank_with(p, m):
    """Eq. (19): E[1 / (s + 1)] for s ~ B(m, p), with its limit 1 at p = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = -np.expm1((m + 1) * np.log1p(-p)) / (p * (m + 1))
    return np.where(p == 0, 1.0, mean)


def inverse_rank_without(above, pool, m):
    """E[1 / (s + 1)] for s ~ H(N, a, m), the counterpart of eq. (19) without replacement.

    (N + 1) / ((a + 1)(m + 1)) (1 - C(N - a, m + 1) / C(N + 1, m + 1)).
    """
    # The quotient is the chance that m + 1 of N + 1 miss a + 1 items.
    missed = log_missed(above + 1.0, m + 1.0, pool + 1.0)
    return -np.expm1(missed) * (pool + 1) / ((above + 1.0) * (m + 1))


def log_missed(above, drawn, pool):
    """log of C(N - a, t) / C(N, t): the chance that none of a items is among t of N that are drawn.

    Between the ends of the pool the numbers need not be whole.
    """
    left = pool - above - drawn + 1
    log = log_lost(np.maximum(left, 1.0), above, np.minimum(drawn, pool))
    return np.where(left <= 0, -np.inf, log)


def log_lost(left, x, steps):
    """log of the product over j < `steps` of (left + j) / (left + j + x).

    Of four gamma functions, by Stirling's series with y log y put together so that all that is
    added is of the size of the result: without that, large numbers would lose half of the digits.
    Where the series does not hold yet, up to 16 factors are taken as they are.
    """
    left, x, steps = np.broadcast_arrays(*(np.asarray(each, float) for each in (left, x, steps)))
    first = np.where(left < _SERIES, np.minimum(steps, _SERIES), 0.0)
    log = np.zeros(left.shape)
    few = np.nonzero((first > 0) & (x > 0))
    if len(few[0]):
        low = left[few][:, None] + np.arange(_SERIES)
        with np.errstate(divide="ignore"):
            factors = np.log(low / (low + x[few][:, None]))
        log[few] = np.where(np.arange(_SERIES) < first[few][:, None], factors, 0.0).sum(axis=1)
    low, steps = np.maximum(left + first, 1.0), steps - first
    up, over = low + steps, low + x
    both = up + x
    log += (low - 0.5) * np.log1p((x / low) * (steps / both))
    log -= steps * np.log1p(x / up) + x * np.log1p(steps / over)
    return log + (_tail(up) - _tail(low)) - (_tail(both) - _tail(over))


def _tail(x):
    """log Gamma(x) less the first terms of Stirling's series, for x >= 16."""
    z = 1 / x**2
    return (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x


# The different situations of relevant items in a uniform sample, and the law of each one's
# count.
#
# Many relevant items are in the same situation: as many irrelevant items above, in a pool of the
# same size. What is expensive is done once for each situation.


class Targets(NamedTuple):
    """The distinct situations of relevant items; an array each."""

    pool: Integers  # all irrelevant items
    n_relevant: Integers  # relevant items of its instance
    order: Integers  # it is the order-th best of these, 1-based
    above: Integers  # irrelevant items that outrank it, in the best case
    ties: Integers  # irrelevant items with its score
    group: Integers  # relevant items with its score, itself included
    place: Integers  # its place among these, 1-based

    def of(self, which: Any) -> Targets:
        return Targets(*(column[which] for column in self))


def targets_of(ranks: Ranks) -> tuple[Targets, Integers]:
    """The distinct situations, and the number of the one that each relevant item is in."""
    instance, order, rank, ties, group, place = ranks.rows
    pool, n_relevant = ranks.n_irrelevant[instance], ranks.n_relevant[instance]
    columns = pool, n_relevant, order, rank - order, ties, group, place
    different, of_row = different_rows(columns)
    return Targets(*different), of_row


def pmf_blocks(targets: Targets, m: int, replace: bool) -> Iterator[tuple[slice, Floats]]:
    """Slices of the targets, with the law of each."""
    for rows, pmf in law_blocks(targets.above, targets.pool, m, replace):
        part = targets.of(rows)
        tied = part.ties > 0
        if not replace:  # a mean of equal weights has a shorter way
            few = _loses_digits(part.above, part.ties, part.pool, m)
            at = np.flatnonzero(tied & (part.group == 1) & ~few)
            if len(at):
                single = part.of(at)
                pmf[at] = mean_law_without(single.above, single.ties, single.pool, m)
                tied[at] = False
        known: dict[tuple, Floats] = {}
        for i in np.flatnonzero(tied):
            key = part.above[i], part.ties[i], part.group[i], part.pool[i]
            if key not in known:
                known[key] = tied_laws(*key, m, replace)
            pmf[i] = known[key][part.place[i] - 1]
        yield rows, pmf


def likely_blocks(
    targets: Targets, m: int, replace: bool
) -> Iterator[tuple[Integers, slice, Callable[[], Floats]]]:
    """Rows of the targets, the counts that matter to them, and a function that makes their law.

    That is the law up to rounding, where `pmf_blocks` has every digit of the smallest chance.
    """
    untied, tied = np.flatnonzero(targets.ties == 0), np.flatnonzero(targets.ties)
    some = targets.of(untied)
    for rows, counts in likely_counts(some.above, some.pool, m, replace):
        part = some.of(rows)
        law = partial(count_pmf, part.above, part.pool, m, replace, counts=counts)
        yield untied[rows], counts, law
    for rows, pmf in pmf_blocks(targets.of(tied), m, replace):
        yield tied[rows], slice(None), partial(np.asarray, pmf)


def terms_at(
    metric: Metric, order: Integers, n_relevant: Integers, m: int, counts: slice = slice(None)
) -> Floats:
    """What items of the given orders contribute at s = 0, ..., m, shape (orders, m + 1).

    Or at some of these, a slice.
    """
    order, n_relevant = order[:, None], n_relevant[:, None]
    some = range(*counts.indices(m + 1))
    check_memory(32 * len(order) * len(some), f"the table of {metric} with m={m}", _LESS)
    rank = order + np.arange(some.start, some.stop)
    return metric.term(rank, order, n_relevant, m + n_relevant) + np.zeros(rank.shape)


def moments_over_law(
    metric: Metric, targets: Targets, m: int, replace: bool
) -> tuple[Floats, Floats]:
    """Mean and variance of each target's part of the metric, by the sum (16) over its law."""
    # A part is the same function of the count for all that are the i-th best of as many.
    key = targets.n_relevant * (targets.order.max() + 1) + targets.order
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    terms = partial(terms_at, metric, targets.order[first], targets.n_relevant[first], m)
    # The laws of tied items are of all counts, others of those only that matter.
    table = terms() if len(first) * (m + 1) <= _TABLE or targets.ties.any() else None
    mean, variance = np.empty(len(key)), np.zeros(len(key))
    for rows, counts, law in likely_blocks(targets, m, replace):
        value = terms(counts) if table is None else table[:, counts]
        value = value[kind[rows] if len(value) > 1 else [0]]
        if (value == value[0, 0]).all():  # beyond a cut-off
            mean[rows] = value[0, 0]
            continue
        pmf = law()
        mean[rows] = (pmf * value).sum(axis=1)
        variance[rows] = (pmf * (value - mean[rows, None]) ** 2).sum(axis=1)
    return mean, variance


def chance_within(targets: Targets, last_place: Integers, m: int, replace: bool) -> Floats:
    """Eq. (18): the probability that the sampled rank is at most `last_place`."""
    k = last_place - targets.order + 1  # the count must be below it
    if replace and not targets.ties.any():
        from scipy import special  # in NumPy it would be the sum, in more time and memory

        # As an incomplete beta function; bdtr keeps only 10 digits at m = 10^5.
        inside = np.clip(k, 1, m)
        below = special.betaincc(inside, m - inside + 1, targets.above / targets.pool)
        return np.where(k < 1, 0.0, np.where(k > m, 1.0, below))
    if k.min(initial=m + 1) > m:
        return np.ones(len(targets.pool))
    within = np.empty(len(targets.pool))
    for rows, counts, law in likely_blocks(targets, m, replace):
        inside = np.arange(*counts.indices(m + 1)) < k[rows, None]
        within[rows] = (law() * inside).sum(axis=1) if inside.any() else 0.0
    return within


# Closed forms for what sampling makes of a metric, chosen by the shape of the metric.
#
# What has none here is summed over the law of the sampled rank.
#
# Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
# KDD 2020, https://doi.org/10.1145/3394486.3403226.


def expected_terms(metric: Metric, targets: Targets, m: int, replace: bool) -> Floats:
    """The expectation of each target's part of the metric."""
    order, n_relevant = targets.order, targets.n_relevant
    first, last = (metric.term(order + s, order, n_relevant, m + n_relevant) for s in (0, m))
    ends = first + np.zeros(len(order)), last + np.zeros(len(order))
    means = _in_closed_form(metric.shape, *ends, targets, m, replace)
    rest = np.flatnonzero(np.isnan(means))
    if len(rest):
        means[rest] = moments_over_law(metric, targets.of(rest), m, replace)[0]
    return means


def _in_closed_form(shape, first, last, targets, m, replace):
    """`expected_terms`, given the parts at the counts 0 and m; NaN without a closed form."""
    mean, share = np.full(len(first), np.nan), targets.above / targets.pool
    untied = targets.ties == 0
    match shape:
        case Linear():
            ahead = targets.ties * targets.place / (targets.group + 1)  # in a random order
            mean = first + (last - first) * ((targets.above + ahead) / targets.pool)
        case Step():
            last_place = shape.last_places(targets.n_relevant)
            mean = first * chance_within(targets, last_place, m, replace)
        case Geometric() if replace:  # without, the generating function is the sum itself
            # E[z^s] = (1 - (1 - z) a / N)^m
            mean[untied] = (first * np.exp(m * np.log1p((shape.ratio - 1) * share)))[untied]
        case Reciprocal():
            best = np.flatnonzero(untied & (targets.order == 1))
            if replace:
                inverse = inverse_rank_with(share[best], m)
            else:
                inverse = inverse_rank_without(targets.above[best], targets.pool[best], m)
            mean[best] = first[best] * inverse
    return mean


def linear_moments(metric: Metric, ranks: Ranks, noise: Floats | float) -> tuple[Floats, Floats]:
    """Mean and variance of a metric of linear shape, for each of the relevant items, one each.

    It is linear in the share q of the sample that outranks the item. With x of t tied items ahead,
    q has the mean p = (a + x) / N and the variance `noise` p (1 - p), where `noise` is 1 / m with
    replacement and (N - m) / (N - 1) / m without; x has the mean t / 2 and the variance
    t (t + 2) / 12.
    """
    rows, pool = ranks.rows, ranks.n_irrelevant[ranks.rows.instance]
    one = np.ones_like(pool)
    first, last = (metric.term(1 + s, one, one, 2) for s in (0, 1))
    p = (rows.above + rows.ties / 2) / pool
    places = rows.ties * (rows.ties + 2.0) / 12 / pool**2
    variance = noise * p * (1 - p) + (1 - noise) * places
    return first + (last - first) * p, (last - first) ** 2 * variance
