"""What a run of sampled ranks says under each assumption, computed once for all metrics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._support.arrays import summed
from recsample._support.checks import one_or_each, refuse_first
from recsample._support.numerics import limits_of_mean, mean_of
from recsample._support.typing import Floats, Integers
from recsample._support.values import once
from recsample.inference.likelihood.mixtures import Mixture, extremes, fitted, limit
from recsample.inference.likelihood.plausible import plausible_weights
from recsample.inference.likelihood.strata import (
    Assumption,
    Columns,
    columns_of,
    mixtures_of,
    observed,
    strata_of,
)
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.names import exact_metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import rows_of
from recsample.ranks.counts import RankCounts

# Of a test whether data contradict an assumption: so many simulated runs, and so small a chance.
_REPETITIONS, SURPRISE = 40, 0.01
# Where a surprise is what refutes a study, it is found from more of them.
_MORE = 200
# So small a chance refutes what is stated of the draws, and with it all that would rest on it.
REFUTED = 1e-4
# So small that more simulated runs would not change what it means.
_CERTAIN = 1e-12
# Expected counts below this, of what was observed, are no place to begin a fit from.
_RARE = 0.01
# How much of an estimate is what is plausible, and how many times it must be passed for that.
_PLAUSIBLE, _CLEARLY = 2 / 3, 1.1
# Where so much of every pool is drawn, the places are all but known, and no assumption is needed.
_NEARLY_ALL = 0.9


class Evidence:
    """The strata of a run, and their fits in each class.

    Of `RankCounts`, `sampled` are the different ranks, and `counts` says how many instances each of
    them stands for; of `Ranks` it is None. It is one of `n_columns` that are tested together.
    """

    def __init__(
        self,
        sampled: Ranks | RankCounts,
        n_items: ArrayLike,
        replace: bool,
        metrics: Sequence[Metric],
        n_columns: int = 1,
    ) -> None:
        self.sampled, self.counts = rows_of(sampled, "sampled")
        self.replace, self.n_instances, self.n_columns = replace, len(sampled), n_columns
        if self.n_instances < 2:
            raise ValueError(f"sampled must hold at least two instances, got {self.n_instances}")
        self.sizes = checked_sizes(self.sampled, n_items, replace)
        for metric in metrics:
            check_additive(metric)
        self.cutoffs = tuple({metric.cutoff for metric in metrics if metric.cutoff is not None})
        self.strata = strata_of(self.sampled, self.sizes, replace, self.counts)
        drawn = min(min(s.n_draws) / s.pool for s in self.strata)
        self.is_nearly_all = not replace and drawn >= _NEARLY_ALL
        self.known: dict[tuple, Any] = {}

    @once
    def columns(self, assumption: Assumption) -> list[Columns]:
        """The extreme distributions of each stratum; all there are, where nearly all is drawn."""
        used: Assumption = "none" if self.is_nearly_all else assumption
        return [columns_of(s, used, self.replace, self.cutoffs) for s in self.strata]

    @once
    def mixtures(self, metric: Metric, assumption: Assumption) -> list[Mixture]:
        """What was observed of each stratum, with the metric of each column."""
        return mixtures_of(self.strata, self.columns(assumption), metric, self.n_instances)

    @once
    def best(self, assumption: Assumption) -> list[Floats]:
        """The weights of each stratum that fit best; the metric plays no part in them."""
        both = zip(self.strata, self.columns(assumption))
        return [fitted(*observed(stratum.counts, column)) for stratum, column in both]

    @cached_property
    def smoothed(self) -> list[Floats]:
        """Weights of smooth distributions, found by the EM algorithm from equal ones.

        It is stopped long before it converges, after 2 sqrt(N) steps for N relevant items: that it
        starts from a flat distribution and goes on for longer where there are more data is what
        makes its estimates less wrong than those of the best fit, but where nearly all is drawn.
        """
        if self.is_nearly_all:
            return self.best("none")
        flat = [np.full(c.law.shape[1], 1 / c.law.shape[1]) for c in self.columns("smooth")]
        return self._climbed("smooth", flat, 2)

    @cached_property
    def plausible(self) -> list[Floats]:
        """Weights of decreasing distributions, found by a few steps from what is plausible."""
        start = [plausible_weights(s, self.replace, self.cutoffs) for s in self.strata]
        # Nothing is left out that might have been observed.
        start = [(1 - 1e-6) * w + 1e-6 / len(w) for w in start]
        return self._climbed("decreasing", start, 0.25)

    def _climbed(self, assumption, start, pace):
        """Weights after so many times sqrt(N) steps of the EM algorithm, for N relevant items."""
        steps = round(pace * np.sqrt(sum(sum(c.sum() for c in s.counts) for s in self.strata)))
        found = []
        for stratum, column, weights in zip(self.strata, self.columns(assumption), start):
            law, counts = observed(stratum.counts, column)
            for _ in range(steps):
                weights = weights * (law.T @ (counts / (law @ weights)))
                weights /= weights.sum()
            found.append(weights)
        return found

    def mean(self, metric: Metric) -> float:
        """The mean of the metric as it is among the sampled items."""
        return mean_of(metric(self.sampled), self.counts)

    def estimate(self, metric: Metric) -> float:
        """The mean of the metric: unbiased for a linear one, else a mean of two estimates.

        The one lets the data speak, from a flat start; the other begins with what is plausible.
        Where the first is clearly higher it is mostly too high, and the estimate is a harmonic mean
        with 1.1 times the other, which counts twice; elsewhere it is the first. It may be outside
        of limits: whoever prints it prints the nearest of them instead. Where nearly all is drawn
        it is that of the best fit.
        """
        if isinstance(metric.shape, Linear):
            return self.mean(metric)
        if self.is_nearly_all:
            fits = zip(self.mixtures(metric, "none"), self.best("none"))
            return float(sum(one.share * (one.mean @ weights) for one, weights in fits))
        # Both are measured from the worst value that there can be, so that their ratio means
        # something, and a metric of which less is better is turned round.
        sign = 1 if metric.higher_is_better else -1
        both = self.mixtures(metric, "smooth"), self.mixtures(metric, "decreasing")
        flat, likely = (
            sum(one.share * (sign * one.mean @ weights) for one, weights in zip(*found))
            for found in zip(both, (self.smoothed, self.plausible))
        )
        worst = min(sum(one.share * (sign * one.mean).min() for one in found) for found in both)
        above = flat - worst
        lower = min(above, _CLEARLY * (likely - worst))
        together = _PLAUSIBLE * above + (1 - _PLAUSIBLE) * lower
        return float(sign * (worst + (above * lower / together if together > 0 else 0.0)))

    def limits(self, metric: Metric, assumption: Assumption, level: float) -> tuple[float, float]:
        """Between which numbers the mean of the metric lies."""
        if isinstance(metric.shape, Linear):
            ends = ends_of(metric, self.sampled)
            return limits_of_mean(metric(self.sampled), level, self.counts, ends)
        mixtures, best = self.mixtures(metric, assumption), self.best(assumption)
        # Items of one instance vary together, so that what is observed tells that much less.
        reach = float(special.chdtri(1, 1 - level)) * self.clustering(metric)
        low, high = (limit(extremes(mixtures, best, s, reach), s, reach) for s in (-1, 1))
        # Without the users' own luck: what the metric can be at all.
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
        """Whether the data contradict an assumption, or the draws that every metric rests on."""
        if self.fit < REFUTED:
            return True
        if isinstance(metric.shape, Linear) or assumption == "none":
            return False
        return self.misfit(assumption) < SURPRISE

    @property
    def fit(self) -> float:
        """The chance that any column of the study fits the stated draws as badly as this one."""
        return float(np.minimum(1.0, self.misfit("none") * self.n_columns))

    @once
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
        rng, above, chance = np.random.default_rng(0), 0, 1.0
        for repetitions in (_REPETITIONS, _MORE) if assumption == "none" else (_REPETITIONS,):
            while len(again) < max(4, -(-repetitions // len(self.strata))):
                again.append(
                    [_misfit(_drawn(s, *fit, rng), fit, free, assumption) for s, fit, free in each]
                )
                # So large a misfit would be no surprise: the rest need not be simulated.
                above += sum(again[-1]) >= observed
                if above == 2:
                    return 1.0
            orders = [s.order if assumption == "none" else 0 for s in self.strata]
            chance = _tail(observed, np.array(again), orders)
            if not _CERTAIN < chance < SURPRISE:
                break
        return chance


def _tail(observed, again, orders):
    """The chance of so large a sum of misfits, from simulated ones of each stratum.

    The items of a user may depend on each other in any way, so those of different orders add up as
    if they always were large together.
    """
    # Strata of the same order are of different users, whose misfits are independent.
    mean, each = again.mean(axis=0).sum(), again.var(axis=0, ddof=1)
    if observed <= mean:
        return 1.0
    spread = np.sqrt(summed(np.array(orders), each, max(orders) + 1)).sum()
    # Sums of squares, so much like a gamma distribution with this mean and variance.
    variance = max(spread**2, 1e-6)
    return float(special.gammaincc(mean**2 / variance, observed * mean / variance))


def supported(metric: Metric, *runs: Evidence) -> Assumption | None:
    """The strongest assumption to rest on: "decreasing", or else "none", if no run contradicts it.

    A linear metric needs none.
    """
    linear = isinstance(metric.shape, Linear)
    rungs: tuple[Assumption, ...] = ("none",) if linear else ("decreasing", "none")
    return next((a for a in rungs if not any(run.contradicts(metric, a) for run in runs)), None)


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
    law, seen = observed(counts, column)
    near = (law @ weights).min() * seen.sum() > _RARE
    best = fitted(law, seen, start=weights if near else None)
    return float(seen @ np.log(law @ best))


def clustering(*deviations: tuple[Floats, Floats]) -> float:
    """The variance of sums over instances, over that of independent parts; at least 1."""
    together = np.sum([off for off, _ in deviations], axis=0)
    apart = np.sum([squares for _, squares in deviations])
    return max(1.0, float((together**2).sum() / apart)) if apart > 0 else 1.0


def checked_sizes(sampled: Ranks, n_items: ArrayLike, replace: bool) -> Integers:
    """The size of the pool of each instance, large enough for what was drawn from it."""
    sizes = one_or_each("n_items", n_items, len(sampled), lowest=2)
    if not (sampled.n_relevant.all() and sampled.n_irrelevant.all()):
        raise ValueError("sampled must hold relevant and drawn irrelevant items in every instance")
    needed = sampled.n_relevant + (1 if replace else sampled.n_irrelevant)
    message = "n_items must be at least {}, what was drawn and the relevant items, got {} in "
    refuse_first(sizes < needed, message + "instance {at}", needed, sizes)
    return sizes


def check_additive(metric):
    """Refuse a correction, and a metric that is no sum over the relevant items."""
    if not exact_metric(metric).additive:
        raise ValueError(f"metric must be a sum over the relevant items, got {metric}")
