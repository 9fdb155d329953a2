"""What a run of sampled ranks says under each assumption, computed once for all metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._support.arrays import summed
from recsample._support.checks import one_or_each
from recsample._support.numerics import limits_of_mean, mean_of
from recsample._support.typing import Floats
from recsample.inference.likelihood.mixtures import Mixture, extremes, fitted, limit
from recsample.inference.likelihood.strata import (
    Assumption,
    Columns,
    columns_of,
    mixtures_of,
    strata_of,
)
from recsample.metrics.base import Metric
from recsample.metrics.names import exact_metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import rows_of
from recsample.ranks.counts import RankCounts

# Of a test whether data contradict an assumption: so many simulated runs, and so small a chance.
_REPETITIONS, _SURPRISE = 40, 0.01
# Expected counts below this, of what was observed, are no place to begin a fit from.
_RARE = 0.01


Found = TypeVar("Found")


def _once(method: Callable[..., Found]) -> Callable[..., Found]:
    """Keep what a method has found for its arguments, as long as its object lives."""

    @wraps(method)
    def found(self, *given):
        key = method.__name__, *given
        if key not in self.known:
            self.known[key] = method(self, *given)
        return self.known[key]

    return found


class Evidence:
    """The strata of a run, and their fits in each class.

    Of `RankCounts`, `sampled` are the different ranks, and `counts` says how many instances each of
    them stands for; of `Ranks` it is None.
    """

    def __init__(
        self,
        sampled: Ranks | RankCounts,
        n_items: ArrayLike,
        replace: bool,
        metrics: Sequence[Metric],
    ) -> None:
        self.sampled, self.counts = rows_of(sampled, "sampled")
        self.replace, self.n_instances = replace, len(sampled)
        self.sizes = _checked_sizes(self.sampled, n_items, replace, self.n_instances)
        for metric in metrics:
            _check_additive(metric)
        self.cutoffs = tuple({metric.cutoff for metric in metrics if metric.cutoff is not None})
        self.strata = strata_of(self.sampled, self.sizes, replace, self.counts)
        self.known: dict[tuple, Any] = {}

    @_once
    def columns(self, assumption: Assumption) -> list[Columns]:
        """The extreme distributions of each stratum."""
        return [columns_of(s, assumption, self.replace, self.cutoffs) for s in self.strata]

    @_once
    def mixtures(self, metric: Metric, assumption: Assumption) -> list[Mixture]:
        """What was observed of each stratum, with the metric of each column."""
        return mixtures_of(self.strata, self.columns(assumption), metric, self.n_instances)

    @_once
    def best(self, assumption: Assumption) -> list[Floats]:
        """The weights of each stratum that fit best; the metric plays no part in them."""
        return [
            fitted(_without_metric(s.counts, c))
            for s, c in zip(self.strata, self.columns(assumption))
        ]

    @cached_property
    def smoothed(self) -> list[Floats]:
        """Weights of smooth distributions, found by the EM algorithm from equal ones.

        It is stopped long before it converges, after 2 sqrt(N) steps for N relevant items: that it
        starts from a flat distribution and goes on for longer where there are more data is what
        makes its estimates the least wrong ones.
        """
        steps = round(2 * np.sqrt(sum(sum(c.sum() for c in s.counts) for s in self.strata)))
        found = []
        for stratum, column in zip(self.strata, self.columns("smooth")):
            group = _without_metric(stratum.counts, column)
            weights = np.full(group.law.shape[1], 1 / group.law.shape[1])
            for _ in range(steps):
                weights = weights * (group.law.T @ (group.counts / (group.law @ weights)))
                weights /= weights.sum()
            found.append(weights)
        return found

    def mean(self, metric: Metric) -> float:
        """The mean of the metric as it is among the sampled items."""
        return mean_of(metric(self.sampled), self.counts)

    def estimate(self, metric: Metric) -> float:
        """The mean of the metric: unbiased for a linear one, else under the smoothed weights."""
        if isinstance(metric.shape, Linear):
            return self.mean(metric)
        both = zip(self.mixtures(metric, "smooth"), self.smoothed)
        return float(sum(one.share * (one.mean @ weights) for one, weights in both))

    def limits(self, metric: Metric, assumption: Assumption, level: float) -> tuple[float, float]:
        """Between which numbers the mean of the metric lies."""
        if isinstance(metric.shape, Linear):
            return limits_of_mean(metric(self.sampled), level, self.counts)
        mixtures, best = self.mixtures(metric, assumption), self.best(assumption)
        # Items of one instance vary together, so that what is observed tells that much less.
        reach = float(special.chdtri(1, 1 - level)) * self.clustering(metric)
        low, high = (limit(extremes(mixtures, best, s, reach), s, reach) for s in (-1, 1))
        # Not the users' own luck: what the metric can be at all.
        least, most = (sum(g.share * f(g.mean) for g in mixtures) for f in (np.min, np.max))
        return float(max(low, least)) + 0.0, float(min(high, most))

    def clustering(self, metric: Metric) -> float:
        """By how much relevant items of one instance vary together: 1 if they do not."""
        if (self.sampled.n_relevant == 1).all():
            return 1.0
        return clustering(self.deviations(metric))

    def deviations(self, metric: Metric) -> tuple[Floats, Floats]:
        """How far what the items of each instance add is off its mean, and the sum of squares.

        What a relevant item adds is taken as its mean given the sampled rank.
        """
        rows = self.sampled.rows
        m = self.sampled.n_irrelevant[rows.instance]
        off = np.zeros(len(rows.rank))
        for stratum, column, group, weights in zip(
            self.strata, self.columns("smooth"), self.mixtures(metric, "smooth"), self.smoothed
        ):
            expected = np.maximum(column.law @ weights, 1e-300)
            given = column.law @ (weights * group.mean) / expected
            start = 0
            for one in stratum.n_draws:
                mine = stratum.rows[m[stratum.rows] == one]
                off[mine] = given[start + rows.above[mine] + rows.ties[mine] // 2]
                start += one + 1
            off[stratum.rows] -= off[stratum.rows].mean()
        n = len(self.sampled)
        return summed(rows.instance, off, n), summed(rows.instance, off**2, n)

    def contradicts(self, metric: Metric, assumption: Assumption) -> bool:
        """Whether the data contradict an assumption; a linear metric does not rest on any.

        What contradicts every distribution contradicts each class of them.
        """
        if isinstance(metric.shape, Linear):
            return False
        return any(self.misfit(one) < _SURPRISE for one in {"none", assumption})

    @_once
    def misfit(self, assumption: Assumption) -> float:
        """The chance of data that fit as badly as these, if the assumption were true.

        Simulated from the best fit of the class. The misfit is measured against the best fit
        without any assumption; where there is none, against the observed counts themselves.
        """
        of_class = zip(self.columns(assumption), self.best(assumption))
        without = zip(self.columns("none"), self.best("none"))
        each = list(zip(self.strata, of_class, without))
        observed = sum(_misfit(s.counts, fit, free, assumption) for s, fit, free in each)
        cells = sum(sum((c > 0).sum() for c in s.counts) for s in self.strata)
        if observed < (cells if assumption == "none" else len(self.strata)):
            return 1.0  # what chance alone brings about
        again: list[list[float]] = []
        rng, above = np.random.default_rng(0), 0
        for _ in range(max(4, -(-_REPETITIONS // len(self.strata)))):
            again.append(
                [_misfit(_drawn(s, *fit, rng), fit, free, assumption) for s, fit, free in each]
            )
            # So large a misfit would be no surprise: the rest need not be simulated.
            above += sum(again[-1]) >= observed
            if above == 2:
                return 1.0
        mean, variance = np.mean(again, axis=0).sum(), np.var(again, axis=0, ddof=1).sum()
        if observed <= mean:
            return 1.0
        # Sums of squares, so much like a gamma distribution with this mean and variance.
        variance = max(variance, 1e-6)
        return float(special.gammaincc(mean**2 / variance, observed * mean / variance))


def supported(metric: Metric, *runs: Evidence) -> Assumption | None:
    """The strongest assumption to rest on: "decreasing", or else "none", if no run contradicts it.

    A linear metric needs none.
    """
    if isinstance(metric.shape, Linear):
        return "none"
    rungs: tuple[Assumption, ...] = ("decreasing", "none")
    return next((a for a in rungs if not any(run.contradicts(metric, a) for run in runs)), None)


def _without_metric(counts, column):
    """A group to be fitted, whatever the metric is."""
    joined = np.concatenate(counts)
    seen = joined > 0
    nothing = np.zeros(column.law.shape[1])
    return Mixture(np.maximum(column.law[seen], 1e-300), joined[seen], nothing, nothing, 1.0)


def _drawn(stratum, column, weights, rng):
    """The counts of another run, if the weights were true."""
    ends = np.cumsum([m + 1 for m in stratum.n_draws])[:-1]
    laws = [p / p.sum() for p in np.split(column.law @ weights, ends)]
    return [
        rng.multinomial(round(counts.sum()), p).astype(float)
        for counts, p in zip(stratum.counts, laws)
    ]


def _misfit(counts, of_class, free, assumption):
    """Twice what the log-likelihood loses by an assumption.

    Both classes come as their columns, and the weights that fit best what was observed.
    """
    value = _highest_likelihood(counts, *of_class)
    if assumption == "none":
        seen = [c[c > 0] for c in counts]
        return 2 * (sum(float(c @ np.log(c / c.sum())) for c in seen) - value)
    return 2 * (_highest_likelihood(counts, *free) - value)


def _highest_likelihood(counts, column, weights):
    """Of these counts, found from the weights given, unless they all but exclude an observation."""
    group = _without_metric(counts, column)
    near = (group.law @ weights).min() * group.counts.sum() > _RARE
    return float(group.counts @ np.log(group.law @ fitted(group, start=weights if near else None)))


def clustering(*deviations: tuple[Floats, Floats]) -> float:
    """The variance of sums over instances, over that of independent parts; at least 1."""
    together = np.sum([off for off, _ in deviations], axis=0)
    apart = np.sum([squares for _, squares in deviations])
    return max(1.0, float((together**2).sum() / apart)) if apart > 0 else 1.0


def _checked_sizes(sampled, n_items, replace, n_instances):
    """The size of the pool of each instance, large enough for what was drawn from it."""
    sizes = one_or_each("n_items", n_items, len(sampled), lowest=2)
    if n_instances < 2:
        raise ValueError(f"sampled must hold at least two instances, got {n_instances}")
    if not (sampled.n_relevant.all() and sampled.n_irrelevant.all()):
        raise ValueError("sampled must hold relevant and drawn irrelevant items in every instance")
    needed = sampled.n_relevant + (1 if replace else sampled.n_irrelevant)
    short = np.flatnonzero(sizes < needed)
    if len(short):
        raise ValueError(
            f"n_items must be at least {needed[short[0]]}, what was drawn and the relevant items, "
            f"got {sizes[short[0]]} in instance {short[0]}"
        )
    return sizes


def _check_additive(metric):
    """Refuse a correction, and a metric that is no sum over the relevant items."""
    if not exact_metric(metric).additive:
        raise ValueError(f"metric must be a sum over the relevant items, got {metric}")
