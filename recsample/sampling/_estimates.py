"""Functions of the position T of the first item above, by which metrics are estimated.

With N irrelevant items, a of which outrank the relevant one, T is the position of the first of
these in a random order, N + 1 if there is none. A metric of a simple shape has one function g of T
with the metric as its expectation. All but the linear one rise with T up to the value at rank 1.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from recsample._indexing import different_rows
from recsample.metrics._checks import check_metric
from recsample.metrics.shapes import Geometric, Linear, Logarithmic, Reciprocal
from recsample.sampling._counts import count_pmf, log_lost
from recsample.sampling._positions import cases_by_pool


def check_estimable(metric):
    """Refuse a metric of a shape that has no useful estimate."""
    if not isinstance(check_metric(metric).shape, (Linear, Reciprocal, Geometric, Logarithmic)):
        raise ValueError(
            "metric must be AP, RR, NDCG, DCG, RBP, RankScore, AUC or PercentileRank without a "
            f"cut-off for inverse sampling, got {metric}; for a cut-off use EarlyStopping, TwoPhase"
        )


def estimates(metric, position, order, n_relevant, pool):
    """What relevant items of given order add to the estimate of a metric, at any positions."""
    first, last = _ends(metric, order, n_relevant, pool)
    match metric.shape:
        case Linear():
            return np.where(position == 1, last, first)
        case Geometric(ratio):
            return first * _geometric_share(ratio, position, pool)
        case Reciprocal():
            exact = position / (pool + 1.0)  # of order 1
            return first * np.where(order == 1, exact, 1 - _lost(order, position, pool))
    # Logarithmic: an integral over the estimates of 1 / (r + x).
    lost = _lost(order, position, pool) / order
    for x, weight, _ in zip(*_logarithm_rule(pool)):
        z = order + 1.0 + x
        lost += weight * (x / z) * _lost(z, position, pool)
    return first * (1 - np.log(order + 1.0) * lost)


def estimates_of_square(metric, position, pool):
    """The same for the square of a metric, for one relevant item."""
    one = np.ones_like(position)
    first, last = _ends(metric, one, one, pool)
    match metric.shape:
        case Linear():
            apart = np.where(position == 2, 1 - 1 / np.maximum(pool, 1), 0.0)
            return np.where(position == 1, last, first) ** 2 - (first - last) ** 2 * apart
        case Geometric(ratio):
            return first**2 * _geometric_share(ratio**2, position, pool)
    n = pool + 1.0
    left = n - position
    square = (position - left * (special.digamma(n + 1) - special.digamma(left + 1))) / n
    if metric.shape == Reciprocal():
        return first**2 * square
    # The square of 1 / ln(r + 1) is 1 / r^2 + 1 / r and an integral like that of 1 / ln(r + 1).
    logarithmic = square + position / n + (1 / np.log(2) ** 2 - 2)
    for x, weight, slope in zip(*_logarithm_rule(pool)):
        logarithmic -= weight * slope * (x / (2.0 + x)) * _lost(2.0 + x, position, pool)
    return first**2 * np.log(2) ** 2 * logarithmic


def estimates_by_pool(metric, cases):
    """`estimates` at the positions 1, ..., N + 1: the cases of one kind in one pool, N, and these.

    For 1 / log2(r + 1) the steps from g(T) to g(T + 1) are C(N, T) D(N, T), where the D(N, t) are
    differences and so D(N, t) = D(N + 1, t) + D(N + 1, t + 1): a pool follows from the next larger
    one by a sum of positive numbers, and only a large gap is worth an integration.
    """
    kinds, kind = different_rows([cases.order, cases.n_relevant])
    for i, (order, n_relevant) in enumerate(zip(*kinds)):
        mine = np.flatnonzero(kind == i)
        steps = None
        for same, pool in cases_by_pool(cases.of(mine)):
            first, last = _ends(metric, order, n_relevant, pool)
            match metric.shape:
                case Linear():
                    values = np.append(last, np.full(pool, first))
                case Geometric(ratio):
                    above = np.array([pool * (1 - ratio)])
                    values = first * np.cumsum(count_pmf(above, np.array([pool]), pool, True))
                case Reciprocal():
                    values = first * (1 - _lost_along(order, pool))
                case _:
                    if steps is None or len(steps) - pool > 25:
                        steps = _logarithmic_steps(order, pool)
                    while len(steps) > pool + 1:
                        steps = _steps_of_smaller_pool(steps)
                    values = first * np.cumsum(steps)
            yield mine[same], pool, values


def where_estimates_rise(metric, pool):
    """Positions between which the estimates of a metric are smooth in a large pool.

    But for geometric metrics it is everywhere but at the ends; those rise like a normal law.
    """
    if not isinstance(metric.shape, Geometric):
        return []
    ratio = metric.shape.ratio
    edges = pool * (1 - ratio) + np.sqrt(pool * ratio * (1 - ratio)) * np.arange(-12, 12.5, 0.5)
    return np.round(edges).astype(np.int64)


def _steps_of_smaller_pool(steps):
    """The steps for N - 1 irrelevant items from those for N, as a mean of neighbours."""
    t, n = np.arange(1.0, len(steps)), len(steps) - 1
    return steps[:-1] * ((n + 1 - t) / n) + steps[1:] * (t / n)


def _logarithmic_steps(order, pool):
    """The steps from g(T - 1) to g(T) for 1 / log2(r + 1), by the rule for the integral."""
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
        return [metric.term(order + a, order, n_relevant, n_items) for a in (0, pool)]


def _lost(x, position, pool):
    """The product over t < T of (N - t) / (N - t + x): 1 - this estimates x / (x + a)."""
    return np.exp(log_lost(pool - position + 1.0, x, position))


def _geometric_share(ratio, position, pool):
    """P(B < T) for B ~ B(N, 1 - z)."""
    left = np.maximum(pool - position + 1.0, 0.5)
    return np.where(position > pool, 1.0, special.betainc(left, position, ratio))


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
