"""What would bring limits as close to each other as is wished, and what it costs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import optimize, special

from recsample._support.checks import positive_float
from recsample._support.extras import extra
from recsample._support.numerics import LEVEL, mean_of, variance_of
from recsample._support.typing import Floats, Integers
from recsample.inference.audit import fewest_users
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.inference.likelihood.mixtures import extremes, fitted, limit
from recsample.inference.likelihood.strata import (
    Assumption,
    Stratum,
    columns_of,
    law_of,
    mixtures_of,
)
from recsample.metrics.base import Metric, values_at_ends
from recsample.metrics.shapes import Linear, Shape, Step
from recsample.ranks.base import Ranks
from recsample.sampling.sequential.inverse import InverseSampling
from recsample.sampling.sequential.stopping import EarlyStopping

if TYPE_CHECKING:
    import pandas as pd


# Limits from twice as many samples take four times as long: with so many, some three seconds.
_MOST_SAMPLES = 2000
_DISTANCE = float(special.chdtri(1, 1 - LEVEL))
# Of a limit on one side that is right in 9 studies of 10; and how nearly it is found.
_ONE_SIDED, _NEAR = float(special.chdtri(1, 0.2)), 0.01
# By the luck of their counts, limits from more samples are up to a tenth wider in 9 studies of 10.
_LUCK = 1.1


def ways_to(metric: Metric, width: float, evidence: Evidence) -> pd.DataFrame:
    """One row per way; see `Result.plan`."""
    width = positive_float("width", width)
    study = _Study(metric, evidence)
    rows = {}
    # Of exact values only the users' own spread is left.
    needed = _users_for(study, width)
    if not needed < 2**53:
        raise ValueError(f"width must be one that fewer than 2**53 users reach, got {width}")
    users = max(2, int(np.ceil(needed)))
    first = int(min(fewest_users(width, study.ends), users))
    reached = study.width_of(study.between, users)
    rows["rank all items"] = _row(f"first {first}", users, study.pool, reached)
    rows["ten times the users"] = _ten_times(study)
    if study.width_of(study.between, study.n_users) <= width:
        rows |= _more_samples(study, width)
        rows |= _until_enough_is_known(study, width)
    columns = ["setting", "users", "scored", "width"]
    return extra("pandas").DataFrame.from_dict(rows, orient="index", columns=columns)


def _users_for(study, width):
    """How many are enough, in 9 studies of 10, for limits from the variance among themselves.

    Of values x between 0 and 1 with mean c, x^2 <= x, so (x - c)^2 <= (x - c)(1 - 2c) + c(1 - c):
    the variance v of N users has itself a variance of at most v (1 - 4v) / N, as of hits and
    misses; of values in a span R, of v (R^2 - 4v) / N. What data allow of other top-heavy metrics
    is so far off that this luck is small.
    """
    of_one = float(4 * _DISTANCE) / width / width  # a square may be 0, or too large
    luck = 0.0
    if isinstance(study.metric.shape, (Linear, Step)):
        span = study.ends[1] - study.ends[0]
        luck = np.sqrt(_ONE_SIDED * of_one * max(0.0, span**2 - 4 * study.between))
    # Student's quantile, and a variance over N - 1, are as this many users fewer.
    return of_one * study.between + luck + (_DISTANCE + 3) / 2


def _row(setting, users, scored, width):
    return {"setting": setting, "users": users, "scored": float(scored), "width": float(width)}


class _Places(NamedTuple):
    """How many irrelevant items are above the relevant ones of a stratum, as estimated."""

    stratum: Stratum
    above: Integers
    chance: Floats
    share: float  # of the instances


class _Study:
    """A run as it is estimated to be, for planning another one."""

    def __init__(self, metric: Metric, evidence: Evidence) -> None:
        self.metric, self.evidence = metric, evidence
        self.n_users = evidence.n_instances
        self.pool = mean_of(evidence.sizes - evidence.sampled.n_relevant, evidence.counts)
        self.n_draws = max(max(stratum.n_draws) for stratum in evidence.strata)
        self.factor = evidence.clustering(metric)
        # Where the data contradict more, limits of another study like this will not assume it.
        self.assumption: Assumption = supported(metric, evidence) or "none"
        mixtures = evidence.mixtures(metric, "smooth")
        low, high = (sum(o.share * f(o.mean) for o in mixtures) for f in (np.min, np.max))
        self.ends = float(low), float(high)
        self.places = []
        for stratum, column, weights, mixture in zip(
            evidence.strata, evidence.columns("smooth"), evidence.smoothed, mixtures
        ):
            n_head = len(column.head)
            above = np.concatenate([column.steps, column.tail])
            chance = np.concatenate([weights[:n_head] @ column.head, weights[n_head:]])
            self.places.append(_Places(stratum, above, chance, mixture.share))
        # Of the exact metric, over users: items of one user vary together.
        self.between = self.factor * self._largest_variance()

    @cached_property
    def fits(self) -> list[Any]:
        """Assumptions, and distributions of the ranks that a plan allows for.

        Under the one with the largest mean that the data allow most is at stake at a cut-off, and
        limits come closer most slowly.
        """
        evidence, sign = self.evidence, 1 if self.metric.higher_is_better else -1
        assumed, best = self.assumption, evidence.best(self.assumption)
        mixtures = evidence.mixtures(self.metric, assumed)
        furthest = extremes(mixtures, best, sign, _ONE_SIDED * self.factor)[-1].weights
        return [("smooth", evidence.smoothed), (assumed, best), (assumed, furthest)]

    def _largest_variance(self) -> float:
        """The largest variance that the data allow, so that a plan is seldom too small.

        The variance is concave in the distribution, and the least mean square distance to any
        number. So its upper limit is the least one of those of such distances. What is linear in
        the rank varies among the drawn items as it does exactly, and by the draws.
        """
        if isinstance(self.metric.shape, Linear):
            return max(0.0, self._largest_observed() - _sampling_variance(self, self.n_draws))
        mixtures = self.evidence.mixtures(self.metric, self.assumption)
        best, reach = self.evidence.best(self.assumption), _ONE_SIDED * self.factor

        def furthest(centre):
            off = [
                one._replace(mean=one.square - 2 * centre * one.mean + centre**2)
                for one in mixtures
            ]
            path = extremes(off, best, 1, reach)
            roots = np.maximum.accumulate(np.sqrt([point.distance for point in path]))
            return float(np.interp(np.sqrt(reach), roots, [point.mean for point in path]))

        ends = [f(float(f(one.mean)) for one in mixtures) for f in (min, max)]
        near = {"xatol": _NEAR * (ends[1] - ends[0])}
        found = optimize.minimize_scalar(furthest, bounds=ends, method="bounded", options=near)
        return max(0.0, float(found.fun))

    def _largest_observed(self):
        """The upper limit of the variance of a metric among the drawn items."""
        values, counts = self.metric(self.evidence.sampled), self.evidence.counts
        off = (values - mean_of(values, counts)) ** 2
        return mean_of(off, counts) + np.sqrt(_ONE_SIDED * variance_of(off, counts) / self.n_users)

    def width_of(self, variance: float, users: int) -> float:
        """Of the limits of a mean over users with this variance."""
        return 2 * np.sqrt(_DISTANCE * variance / users)

    def mean_over_places(self, values: Any) -> float:
        """The mean over users of a function of a stratum and of its places, of their best items."""
        best = [p for p in self.places if p.stratum.order == 1]
        return sum(p.share * float(p.chance @ values(p)) for p in best)


def _more_samples(study, width):
    """The smallest number of samples, by doubling it, with which the limits are close enough.

    Not more than a quarter of the pool: beyond that it is cheaper to rank all items. And not more
    than limits can be planned for within seconds, but for a linear metric.
    """
    most, luck = min(stratum.pool for stratum in study.evidence.strata) // 4, 1.0
    if not isinstance(study.metric.shape, Linear):
        most, luck = min(most, _MOST_SAMPLES), _LUCK
    m = 2 * study.n_draws
    while m <= most:
        reached = _width_with(study, m, study.n_users)
        if luck * reached <= width:
            return {"more samples": _row(f"m = {m}", study.n_users, m, reached)}
        m *= 2
    return {}


def _ten_times(study):
    """What the same study of more users gives: hardly more, where it is the samples that lack."""
    m, users = study.n_draws, 10 * study.n_users
    return _row(f"m = {m}", users, m, _width_with(study, m, users))


def _width_with(study, m, users):
    """Of the limits from so many users with m samples each, if the counts are as expected."""
    if isinstance(study.metric.shape, Linear):
        return study.width_of(study.between + _sampling_variance(study, m), users)
    return max(_width_if(study, m, users, *fit) for fit in study.fits)


def _width_if(study, m, users, assumption, weights_of):
    """The width with the counts that are expected of one of the fits."""
    metric, evidence, strata = study.metric, study.evidence, []
    for stratum, column, weights in zip(evidence.strata, evidence.columns(assumption), weights_of):
        one = stratum._replace(n_draws=(m,))
        law = law_of(stratum.pool, m, evidence.replace, column.head, column.steps, column.tail)
        n_items = sum(counts.sum() for counts in stratum.counts) * users / study.n_users
        expected = n_items * (law @ weights)
        expected[expected < 0.01] = 0.0  # what hardly occurs decides nothing
        strata.append(one._replace(counts=(expected,)))
    columns = [columns_of(s, study.assumption, evidence.replace, evidence.cutoffs) for s in strata]
    mixtures = mixtures_of(strata, columns, metric, users)
    best = [fitted(one.law, one.counts) for one in mixtures]
    reach = _DISTANCE * study.factor
    low, high = (limit(extremes(mixtures, best, s, reach), s, reach) for s in (-1, 1))
    return high - low


def _sampling_variance(study, m):
    """The variance of a linear metric from m samples, by that of the share of them above."""
    first, last = values_at_ends(study.metric)

    def variance(p):
        share = p.above / p.stratum.pool
        left = 1.0 if study.evidence.replace else (p.stratum.pool - m) / max(p.stratum.pool - 1, 1)
        return (first - last) ** 2 * share * (1 - share) * left / m

    return study.mean_over_places(variance)


def _until_enough_is_known(study, width):
    """Designs without bias: exact at a cut-off, or inverse sampling."""
    metric = study.metric
    if metric.cutoff is not None or isinstance(metric.shape, Step):
        k = metric.cutoff or 1
        design, between = EarlyStopping(k), study.between
    elif metric.shape == Shape() or any(s.n_relevant > 1 for s in study.evidence.strata):
        return {}
    else:
        design = InverseSampling()
        within = study.mean_over_places(lambda p: design.variance(metric, _ranks(p)))
        between = study.between + within
    reached = study.width_of(between, study.n_users)
    if reached > width:
        return {}
    cost = study.mean_over_places(lambda p: design.cost(_ranks(p)))
    return {"draw until enough is known": _row(str(design), study.n_users, cost, reached)}


def _ranks(places):
    return Ranks(places.above + 1, places.stratum.pool + 1)
