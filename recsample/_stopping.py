"""Where a random order of the irrelevant items has those that outrank a relevant one.

N items are met in a random order, a of which outrank the relevant item; T is the position of the
first of these, N + 1 if there is none. This module has the law of T, and the functions g of T that
`recsample.sequential.InverseSampling` estimates metrics with.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from recsample._counts import count_pmf
from recsample._ties import orders_of_ties
from recsample._typing import Floats, Integers
from recsample._validation import fits_in_memory
from recsample.metrics import GeometricMetric, LinearMetric, ReciprocalMetric


class Rows(NamedTuple):
    """One row per relevant item, or several where it shares its ties with others."""

    instance: Integers
    order: Integers  # it is the order-th best of its instance, 1-based
    above: Integers  # irrelevant items that outrank it, in the best case
    ties: Integers  # irrelevant items with its score, all orders of them being as likely
    pool: Integers  # all irrelevant items
    n_relevant: Integers
    weight: Floats

    def of(self, rows):
        return Rows(*(column[rows] for column in self))


def check_pool(instances, needed):
    """The number of irrelevant items of each instance, of Ranks or a Scan; at least `needed`."""
    pool = instances.n_irrelevant
    if pool.min() < needed:
        raise ValueError(
            f"n_items must leave at least {needed} irrelevant items to draw, "
            f"got {pool.min()} in instance {np.argmin(pool)}"
        )
    return pool


def rows_of(ranks, best_only=False):
    """The situation of each relevant item, or of the best of each instance only."""
    terms, n_relevant = ranks._terms, ranks.n_relevant
    if best_only:
        terms = type(terms)(*(column[terms.order == 1] for column in terms))
    shared = (terms.group > 1) & (terms.ties > 0)
    alone = [column[~shared] for column in terms]
    instance, order, rank, ties = alone[:4]
    weight = np.ones(len(rank))
    if shared.any():
        more = orders_of_ties(terms, terms.ties + 1, shared)
        instance, order, rank, weight = (
            np.append(old, new) for old, new in zip((instance, order, rank, weight), more)
        )
        ties = np.append(ties, np.zeros(len(rank) - len(ties), np.int64))
    pool = ranks.n_irrelevant
    return Rows(instance, order, rank - order, ties, pool[instance], n_relevant[instance], weight)


def per_instance(rows, values, n_instances):
    """The sum of the values of an instance's rows, weighted."""
    return np.bincount(rows.instance, rows.weight * values, n_instances).astype(float)


def untied(rows, below):
    """A row for every number of items above that the ties can give and that is under `below`."""
    places = np.clip(below - rows.above, 0, rows.ties + 1)
    row = np.repeat(np.arange(len(places)), places)
    ahead = np.arange(len(row)) - np.repeat(np.cumsum(places) - places, places)
    spread = rows.of(row)
    return spread._replace(
        above=spread.above + ahead,
        ties=np.zeros_like(ahead),
        weight=spread.weight / (spread.ties + 1),
    )


def rows_by_pool(rows):
    """The rows of each pool, the largest pools first, and its size."""
    by_pool = np.argsort(-rows.pool, kind="stable")
    starts = np.flatnonzero(np.diff(rows.pool[by_pool], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(by_pool)]):
        yield by_pool[start:end], rows.pool[by_pool[start]]


def survival(rows, last):
    """P(T > t) for t = 0, ..., `last`, in a pool that holds at least so many irrelevant items.

    The mean over ties of a, ..., a + t is a difference, since C(N - a, j) is one of C(N - a, j + 1)
    in a: the sum of C(N - x, j) / C(N, j) over x = a, ..., a + t is, in a pool of N + 1,

        (N + 1) / (j + 1) (C(N + 1 - a, j + 1) - C(N - a - t, j + 1)) / C(N + 1, j + 1).
    """
    fits_in_memory(24 * len(rows.pool) * (last + 1), f"the law of {len(rows.pool)} instances")
    chance = _none_above(rows.above, rows.pool, last)
    tied = np.flatnonzero(rows.ties)
    if len(tied):
        above, ties, pool = rows.above[tied], rows.ties[tied], rows.pool[tied]
        first, behind = (
            _none_above(a, pool + 1, last + 1)[:, 1:] for a in (above, above + ties + 1)
        )
        scale = (pool + 1.0)[:, None] / (np.arange(1, last + 2) * (ties + 1.0)[:, None])
        chance[tied] = scale * (first - behind)
    return chance


def _none_above(above, pool, last):
    """C(N - a, t) / C(N, t) for t = 0, ..., `last`."""
    t = np.arange(float(last))
    chance = np.ones((len(above), last + 1))
    left = np.maximum((pool - above)[:, None] - t, 0.0)
    np.cumprod(left / (pool[:, None] - t), axis=1, out=chance[:, 1:])
    return chance


def cost_until(k, above, ties, pool):
    """The mean position of the k-th item above, or all of the pool, averaged over ties."""
    few = np.clip(k - above, 0, ties + 1)  # of the numbers of items above, those below k
    best, worst = above + few + 1.0, above + ties + 1.0
    position = k * (pool + 1.0) * mean_inverse(np.minimum(best, worst), worst)
    share = few / (ties + 1)
    return share * pool + (1 - share) * position


def mean_inverse(first, last):
    """The mean of 1 / x over x = first, ..., last."""
    both = special.digamma(last + 1.0) - special.digamma(first)
    return np.where(first == last, 1 / first, both / (last - first + 1))


def count_chance(s, m, above, pool, log_factorial):
    """P(s of m drawn items are above), from log(0!), log(1!), ..."""
    others, left = above - s, pool - m - above + s
    possible = (others >= 0) & (left >= 0)
    among_others = log_factorial[np.maximum(others, 0)] + log_factorial[np.maximum(left, 0)]
    among_all = log_factorial[above] + log_factorial[pool - above]
    ways = log_factorial[m] - log_factorial[s] - log_factorial[m - s]
    ways = ways + log_factorial[pool - m] - log_factorial[pool]
    return np.where(possible, np.exp(ways + among_all - among_others), 0.0)


def first_above(rng, above, pool):
    """Where the first of `above` items stands in a random order of `pool`; if none, behind all."""
    share = np.where(above == 0, 1.0, rng.beta(1.0, np.maximum(above, 1)))
    return 1 + rng.binomial(pool - above, share)


# How the estimates g(T) are computed. All but the linear one rise with T up to the value at rank 1.


def estimates(metric, position, order, n_relevant, pool):
    """What relevant items of given order add to the estimate of a metric, at any positions."""
    first, last = _ends(metric, order, n_relevant, pool)
    if isinstance(metric, LinearMetric):
        return np.where(position == 1, last, first)
    if isinstance(metric, GeometricMetric):
        return first * _geometric_share(metric.ratio, position, pool)

    if isinstance(metric, ReciprocalMetric):
        share = np.where(order == 1, position / (pool + 1.0), 1 - _lost(order, position, pool))
        return first * share
    lost = _lost(order, position, pool) / order
    for x, weight, _ in zip(*_logarithm_rule(pool)):
        z = order + 1.0 + x
        lost += weight * (x / z) * _lost(z, position, pool)
    return first * (1 - np.log(order + 1.0) * lost)


def estimates_of_square(metric, position, pool):
    """The same for the square of a metric, for one relevant item."""
    one = np.ones_like(position)
    first, last = _ends(metric, one, one, pool)
    if isinstance(metric, LinearMetric):
        variance = (first - last) ** 2 * np.where(position == 2, 1 - 1 / np.maximum(pool, 1), 0.0)
        return np.where(position == 1, last, first) ** 2 - variance
    if isinstance(metric, GeometricMetric):
        return first**2 * _geometric_share(metric.ratio**2, position, pool)
    n = pool + 1.0
    left = n - position
    square = (position - left * (special.digamma(n + 1) - special.digamma(left + 1))) / n
    if isinstance(metric, ReciprocalMetric):
        return first**2 * square
    # The square of 1 / ln(r + 1) is 1 / r^2 + 1 / r and an integral like that of 1 / ln(r + 1).
    logarithmic = square + position / n + (1 / np.log(2) ** 2 - 2)
    for x, weight, slope in zip(*_logarithm_rule(pool)):
        logarithmic -= weight * slope * (x / (2.0 + x)) * _lost(2.0 + x, position, pool)
    return first**2 * np.log(2) ** 2 * logarithmic


def estimates_by_pool(metric, rows):
    """`estimates` at the positions 1, ..., N + 1: the rows of one kind in one pool, N, and these.

    For 1 / log2(r + 1) the steps from g(T) to g(T + 1) are C(N, T) D(N, T), where the D(N, t) are
    differences and so D(N, t) = D(N + 1, t) + D(N + 1, t + 1): a pool follows from the next larger
    one by a sum of positive numbers, and only a large gap is worth an integration.
    """
    kinds, kind = np.unique(np.stack([rows.order, rows.n_relevant]), axis=1, return_inverse=True)
    for i, (order, n_relevant) in enumerate(kinds.T):
        mine = np.flatnonzero(kind.reshape(-1) == i)
        steps = None
        for same, pool in rows_by_pool(rows.of(mine)):
            first, last = _ends(metric, order, n_relevant, pool)
            if isinstance(metric, LinearMetric):
                values = np.append(last, np.full(pool, first))
            elif isinstance(metric, GeometricMetric):
                above = np.array([pool * (1 - metric.ratio)])
                values = first * np.cumsum(count_pmf(above, np.array([pool]), pool, True))
            elif isinstance(metric, ReciprocalMetric):
                values = first * (1 - _lost_along(order, pool))
            else:
                if steps is None or len(steps) - pool > 25:
                    steps = _logarithmic_steps(order, pool)
                while len(steps) > pool + 1:
                    t, n = np.arange(1.0, len(steps)), len(steps) - 1
                    steps = steps[:-1] * ((n + 1 - t) / n) + steps[1:] * (t / n)
                values = first * np.cumsum(steps)
            yield mine[same], pool, values


def _logarithmic_steps(order, pool):
    x, weight, _ = _logarithm_rule(pool)
    z = order + 1.0 + x
    lost = _lost_along(order, pool) / order + (weight * (x / z)) @ _lost_along(z[:, None], pool)
    return np.diff(1 - np.log(order + 1.0) * lost, prepend=0.0)


def _lost_along(x, pool):
    """`_lost` for T = 1, ..., N + 1."""
    left = pool - np.arange(pool + 1.0)
    return np.cumprod(left / (left + x), axis=-1)


def _ends(metric, order, n_relevant, pool):
    """What relevant items of given order contribute on their best and on their worst rank."""
    n_items = pool + n_relevant
    with np.errstate(divide="ignore", invalid="ignore"):  # AUC of a pool without irrelevant items
        return [metric._term(order + a, order, n_relevant, n_items) for a in (0, pool)]


def _lost(x, position, pool):
    """The product over t < T of (N - t) / (N - t + x): 1 - this estimates x / (x + a)."""
    left = pool - position + 1.0
    lost = np.exp(_log_rising(left, position) - _log_rising(left + x, position))
    return np.where(x == 1, left / (pool + 1.0), lost)


def _geometric_share(ratio, position, pool):
    """P(B < T) for B ~ B(N, 1 - z)."""
    left = np.maximum(pool - position + 1.0, 0.5)
    return np.where(position > pool, 1.0, special.betainc(left, position, ratio))


def _log_rising(x, steps):
    """log of x (x + 1) ... (x + steps - 1), for large x without cancellation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        near = special.gammaln(x + steps) - special.gammaln(x)
    x = np.maximum(x, 16.0)
    y = x + steps
    far = steps * np.log(y) + (x - 0.5) * np.log1p(steps / x) - steps + _tail(y) - _tail(x)
    return np.where(x > 16, far, near)


def _tail(x):
    """log Gamma(x) less the first terms of Stirling's series, for x >= 16."""
    z = 1 / x**2
    return (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x


def _logarithm_rule(pool):
    """Points x and weights w with 1 / ln(z) = 1 / (z - 1) + sum of w x / (z + x), for z >= 2.

    The sum stands for the integral of 1 / ((z + x) (ln(x)^2 + pi^2)) over x > 0, by the trapezoidal
    rule in v = ln(x). What it is applied to falls like exp(-|v|), on the right from v = ln(N) on,
    and has its next poles at v = i pi: the error is about exp(-2 pi^2 / 0.5) = 7e-18. For 1 / ln^2
    the weights are multiplied by 2 v / (v^2 + pi^2).
    """
    last = (np.log(max(np.max(pool), 1)) + 36) / 0.5
    v = 0.5 * np.arange(-72, last)
    square = v**2 + np.pi**2
    return np.exp(v), 0.5 / square, 2 * v / square
