"""Closed forms for what sampling makes of a metric, chosen by the shape of the metric.

What has none here is summed over the law of the sampled rank.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike

from recsample._indexing import starts_of, summed
from recsample._typing import Floats
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Geometric, Linear, Reciprocal, Shape, Step
from recsample.ranks import Ranks
from recsample.sampling._counts import inverse_rank_with, inverse_rank_without
from recsample.sampling._targets import Targets, chance_within


def name_of_closed_form(metric: Metric) -> str:
    """The equation of a metric's expectation under uniform sampling; empty for a sum."""
    known = {Linear: "(17)", Step: "(18)", Reciprocal: "(19)", Geometric: "E[z^s]"}
    return known.get(type(metric.shape), "")


def expected_terms(metric: Metric, targets: Targets, m: int, replace: bool) -> Floats:
    """The expectation of each target's term, NaN for targets that have no closed form."""
    if not len(targets.pool):
        return np.empty(0)
    order, n_relevant = targets.order, targets.n_relevant
    first, last = (metric.term(order + s, order, n_relevant, m + n_relevant) for s in (0, m))
    ends = first + np.zeros(len(order)), last + np.zeros(len(order))
    return _expected(metric.shape, *ends, targets, m, replace)


@singledispatch
def _expected(shape: Shape, first, last, targets, m, replace):
    """The same, given the terms at the counts 0 and m."""
    return np.full(len(first), np.nan)


@_expected.register
def _(shape: Linear, first, last, targets, m, replace):
    return first + (last - first) * (targets.mean_above / targets.pool)


@_expected.register
def _(shape: Step, first, last, targets, m, replace):
    return first * chance_within(targets, shape.last_places(targets.n_relevant), m, replace)


@_expected.register
def _(shape: Geometric, first, last, targets, m, replace):
    if not replace:  # the generating function of the hypergeometric law is the sum itself
        return np.full(len(first), np.nan)
    share = targets.above / targets.pool
    return np.where(
        targets.ties == 0, first * np.exp(m * np.log1p(-(1 - shape.ratio) * share)), np.nan
    )


@_expected.register
def _(shape: Reciprocal, first, last, targets, m, replace):
    mean = np.full(len(first), np.nan)
    best = np.flatnonzero((targets.ties == 0) & (targets.order == 1))
    above, pool = targets.above[best], targets.pool[best]
    inverse = (
        inverse_rank_with(above / pool, m) if replace else inverse_rank_without(above, pool, m)
    )
    mean[best] = first[best] * inverse
    return mean


def linear_moments(metric: Metric, ranks: Ranks, noise: ArrayLike) -> tuple[Floats, Floats]:
    """Mean and variance of each instance of a metric of linear shape.

    It is linear in the shares q_i = s_i / m of the sample that outrank the i-th relevant item.
    With x_i tied items ahead, q_i has the mean p_i = (a_i + x_i) / N, and for i before j

        Cov(q_i, q_j) = noise E[p_i (1 - p_j)] + (1 - noise) Cov(p_i, p_j),

    where `noise` is 1 / m with replacement and (N - m) / (N - 1) / m without. The u-th and the v-th
    of g relevant items among t tied ones have the mean u t / (g + 1), and

        Cov(x_u, x_v) = u (g + 1 - v) t (t + g + 1) / ((g + 1)^2 (g + 2)).
    """
    n_relevant, pool = ranks.n_relevant, ranks.n_irrelevant
    instance, order, rank, ties, group, place = ranks.rows
    sizes = n_relevant[instance]
    first, last = (metric.term(order + s, order, sizes, 1 + sizes) for s in (0, 1))
    p = (rank - order + ties * (place / (group + 1))) / pool[instance]
    spread = ties * (ties + group + 1.0) / ((group + 1.0) ** 2 * (group + 2)) / pool[instance] ** 2
    mean = summed(instance, first + (last - first) * p, len(ranks))
    noise = np.broadcast_to(noise, len(ranks))
    variance, shares, places = np.zeros((3, len(ranks)))
    start = starts_of(n_relevant)
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
