"""Two recommenders on the same instances, from sampled ranks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from recsample._support.numerics import limits_of_mean, probability_above_0
from recsample.inference.likelihood.evidence import Evidence, clustering
from recsample.inference.likelihood.mixtures import extremes, limit
from recsample.inference.likelihood.strata import Assumption
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Linear

# Up to this distance it is told how sure an order is: a probability of 1 - 2e-8.
_FAR = 30.0


class Difference(NamedTuple):
    """Of the exact means of two recommenders, as far as sampled ranks tell it."""

    difference: float
    low: float
    high: float
    probability: float  # that the first mean is larger


def compared(
    metric: Metric, a: Evidence, b: Evidence, assumption: Assumption, level: float
) -> Difference:
    """The difference of two means, its limits, and the probability that the first is larger."""
    if isinstance(metric.shape, Linear):
        differences = metric(a.sampled) - metric(b.sampled)
        mean, limits = differences.mean(), limits_of_mean(differences, level)
        return Difference(float(mean), *limits, probability_above_0(differences))
    groups = a.groups(metric, assumption) + [
        g._replace(mean=-g.mean) for g in b.groups(metric, assumption)
    ]
    best = a.best(assumption) + b.best(assumption)
    # What the users and the drawn items have in common makes a difference more certain, if it makes
    # any; only where the two vary against each other are the limits too narrow without a factor.
    (off_a, squares_a), (off_b, squares_b) = a.deviations(metric), b.deviations(metric)
    factor = clustering((off_a, squares_a), (-off_b, squares_b))
    quantile = float(special.chdtri(1, 1 - level))
    estimate = a.estimate(metric) - b.estimate(metric)
    paths = {s: extremes(groups, best, s, max(quantile, _FAR) * factor) for s in (-1, 1)}
    low, high = (limit(paths[s], s, quantile * factor) for s in (-1, 1))
    ahead = 1 if paths[1][0].mean > 0 else -1
    z = np.sqrt(_distance_to_0(paths[-ahead], -ahead, factor))
    if assumption == "none":
        estimate = np.nan
    return Difference(estimate, float(low), float(high), float(special.ndtr(ahead * z)))


def _distance_to_0(path, sign, factor):
    """The smallest distance at which a difference of 0 is within the limits."""
    low, high = 0.0, _FAR
    if sign * limit(path, sign, high * factor) < 0:
        return high
    while high - low > 1e-3:
        middle = (low + high) / 2
        if sign * limit(path, sign, middle * factor) < 0:
            low = middle
        else:
            high = middle
    return high
