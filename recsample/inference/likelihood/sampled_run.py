"""Estimates and limits of exact metrics from a run of sampled ranks, under each assumption."""

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
from recsample._support.values import cached
from recsample.inference.likelihood.mixtures import Mixture, extremes, fitted, limit
from recsample.inference.likelihood.plausible import plausible_weights
from recsample.inference.likelihood.strata import (
    ENOUGH,
    Assumption,
    Columns,
    columns_of,
    mixtures_of,
    observed,
    seen_in,
    strata_of,
)
from recsample.inference.likelihood.unlike import Expected, scored
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.names import exact_metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import rows_of
from recsample.ranks.counts import RankCounts

# p-values below which the data contradict an assumption, and the stated draws.
SURPRISE, REFUTED = 0.01, 1e-4
# Simulated runs for a p-value. For the stated draws, which may refute a whole study, more are made,
# unless the p-value is so small already that they would not matter.
_REPETITIONS, _MORE, _CERTAIN = 40, 200, 1e-12
# A fit does not start from weights under which an observed value is expected less than this often.
_RARE = 0.01
# An estimate is a mean of two: the weight of the plausible one, and the ratio of the flat one to it
# from which it counts.
_PLAUSIBLE, _CLEARLY = 2 / 3, 1.1
# So many instances are tested at once, if there are few that are alike.
_TESTED = 200
# Where so much of every pool is drawn, the places are all but known, and no assumption is needed.
_NEARLY_ALL = 0.9


class SampledRun:
    """A run of sampled ranks: its strata, and how each class of distributions fits them.

    For `RankCounts`, `sampled` holds the distinct ranks, and `counts` how many instances have each;
    for `Ranks` it is None. `n_columns` is the number of recommenders of the study, by which
    p-values of the draws are corrected.
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
        self.weight = 1.0  # as how many instances each counts, where they depend on each other
        if self.n_instances < 2:
            raise ValueError(f"sampled must hold at least two instances, got {self.n_instances}")
        self.sizes = checked_sizes(self.sampled, n_items, replace)
        # Of one relevant item among as many drawn ones each, only how often a rank occurs matters.
        self.different, self.often, sizes = self.sampled, self.counts, self.sizes
        if self.counts is None and _is_column(self.sampled) and np.ptp(sizes) == 0:
            among = int(self.sampled.sizes[0])
            self.different, self.often = rows_of(RankCounts.of(self.sampled.rows.rank, among))
            sizes = sizes[: len(self.different)]
        for metric in metrics:
            check_additive(metric)
        self.cutoffs = tuple({metric.cutoff for metric in metrics if metric.cutoff is not None})
        self.pools = sizes - self.different.n_relevant  # irrelevant items in each
        about = self.different, sizes, replace, self.often
        self.strata = strata_of(*about)
        drawn = min(min(s.n_draws) / s.pool for s in self.strata)
        self.is_nearly_all = not replace and drawn >= _NEARLY_ALL
        # Strata of few instances, unlike the others: a fit of each would only repeat what was seen.
        several = max(s.n_instances for s in self.strata) < self.n_instances
        several = several and not self.is_nearly_all
        self.few = [several and s.n_instances < ENOUGH for s in self.strata]
        # What contradicts an assumption is seen in the shares of the pools, so that the few can be
        # put together for a test, though not for a metric.
        self.merged = strata_of(*about, fewest=_TESTED) if any(self.few) else self.strata
        self.known: dict[tuple, Any] = {}

    @cached
    def columns(self, assumption: Assumption) -> list[Columns]:
        """The extreme distributions of each stratum in the class that an assumption names."""
        # Smooth ones are for fits, of which there are none of few instances.
        of_few: Assumption = "decreasing" if assumption == "smooth" else assumption
        return [
            self._columns_of(s, of_few if few else assumption)
            for s, few in zip(self.strata, self.few)
        ]

    def _columns_of(self, stratum, assumption):
        used = "none" if self.is_nearly_all else assumption
        return columns_of(stratum, used, self.replace, self.cutoffs)

    @cached
    def mixtures(self, metric: Metric, assumption: Assumption) -> list[Mixture]:
        """The observations of each stratum, with the metric under each column."""
        return mixtures_of(self.strata, self.columns(assumption), metric, self.n_instances)

    def best(self, assumption: Assumption) -> list[Floats]:
        """The best fitting weights of each stratum, which do not depend on the metric."""
        return [self._best(assumption, i) for i in range(len(self.strata))]

    @cached
    def _best(self, assumption, i):
        return _fit_of(self.strata[i], self.columns(assumption)[i])

    @cached
    def tested(self, assumption: Assumption) -> list[tuple[Columns, Floats]]:
        """The columns and the best fitting weights of each stratum that is tested."""
        if self.merged is self.strata:
            return list(zip(self.columns(assumption), self.best(assumption)))
        columns = [self._columns_of(s, assumption) for s in self.merged]
        return [(c, _fit_of(s, c)) for s, c in zip(self.merged, columns)]

    @cached_property
    def smoothed(self) -> list[Floats]:
        """Weights of smooth distributions, found by the EM algorithm from equal ones.

        It is stopped long before it converges, after 2 sqrt(N) steps for N relevant items. The flat
        start, and more steps where there are more data, make its estimates better than those of the
        best fit, except where nearly all is drawn. Strata of few instances have the plausible ones.
        """
        if self.is_nearly_all:
            return self.best("none")
        flat = [
            self.plausible[i] if few else _equal(c)
            for i, (c, few) in enumerate(zip(self.columns("smooth"), self.few))
        ]
        return self._em_fit("smooth", flat, 2)

    @cached_property
    def without(self) -> list[Floats]:
        """Weights of any distributions, found by as many steps of the EM algorithm."""
        return self._em_fit("none", [_equal(one) for one in self.columns("none")], 2)

    def disagreement(self, metric: Metric, limits: tuple[float, float]) -> float:
        """The estimate by EM without an assumption, if it is outside of limits that make one.

        NaN if it is not, and where strata have too few instances for fits of their own.
        """
        if any(self.few) or self.is_nearly_all or isinstance(metric.shape, Linear):
            return np.nan
        fits = zip(self.mixtures(metric, "none"), self.without)
        found = float(sum(one.share * (one.mean @ weights) for one, weights in fits))
        return np.nan if limits[0] <= found <= limits[1] else found

    @cached_property
    def plausible(self) -> list[Floats]:
        """Weights of decreasing distributions, after a few EM steps from plausible ones.

        Strata of few instances have the same plausible ones, which explain all of them.
        """
        how = self.replace, self.cutoffs
        of_few = [s for s, few in zip(self.strata, self.few) if few]
        shared = iter(plausible_weights(of_few, *how) if of_few else ())
        start = [
            next(shared) if few else plausible_weights([s], *how)[0]
            for s, few in zip(self.strata, self.few)
        ]
        # With weights of 0 an observation might be impossible.
        start = [(1 - 1e-6) * w + 1e-6 / len(w) for w in start]
        return self._em_fit("decreasing", start, 0.25)

    def _em_fit(self, assumption, start, pace):
        """Weights after pace * sqrt(N) steps of the EM algorithm, for N relevant items."""
        steps = round(pace * np.sqrt(sum(sum(c.sum() for c in s.counts) for s in self.strata)))
        found = []
        each = zip(self.strata, self.columns(assumption), start, self.few)
        for stratum, column, weights, few in each:
            law, counts = observed(stratum.counts, column)
            for _ in range(0 if few else steps):
                weights = weights * (law.T @ (counts / (law @ weights)))
                weights /= weights.sum()
            found.append(weights)
        return found

    def mean(self, metric: Metric) -> float:
        """The mean of the uncorrected metric, among the sampled items."""
        return mean_of(metric(self.different), self.often)

    def estimate(self, metric: Metric) -> float:
        """An estimate of the mean: unbiased for a linear metric, else made of two estimates.

        One is by the EM algorithm from a flat start, the other from plausible distributions. Where
        the first is clearly higher it is mostly too high, and the estimate is the harmonic mean
        with 1.1 times the other, which counts twice; elsewhere it is the first. Where nearly all is
        drawn it is that of the best fit. It may be outside of the limits: then print the nearest.
        """
        if isinstance(metric.shape, Linear):
            return self.mean(metric)
        if self.is_nearly_all:
            fits = zip(self.mixtures(metric, "none"), self.best("none"))
            return float(sum(one.share * (one.mean @ weights) for one, weights in fits))
        # Measured from the worst value that there can be, so that their ratio means something. The
        # sign makes more better.
        sign = 1 if metric.higher_is_better else -1
        both = self.mixtures(metric, "smooth"), self.mixtures(metric, "decreasing")
        flat, likely = (
            sum(one.share * (sign * one.mean @ weights) for one, weights in zip(*found))
            for found in zip(both, (self.smoothed, self.plausible))
        )
        worst = min(sum(one.share * (sign * one.mean).min() for one in found) for found in both)
        above = flat - worst
        lower = min(above, _CLEARLY * (likely - worst))
        weighted = _PLAUSIBLE * above + (1 - _PLAUSIBLE) * lower
        return float(sign * (worst + (above * lower / weighted if weighted > 0 else 0.0)))

    def limits(self, metric: Metric, assumption: Assumption, level: float) -> tuple[float, float]:
        """The limits of the mean of the metric under an assumption."""
        if isinstance(metric.shape, Linear):
            ends = ends_of(metric, self.different)
            return limits_of_mean(metric(self.different), level, self.often, ends)
        # Items of one instance are correlated, so that their counts tell less: a design effect.
        reach = float(special.chdtri(1, 1 - level)) * self.clustering(metric)
        low, high = (
            limit(extremes(*self.groups(metric, assumption, s), s, reach), s, reach)
            for s in (-1, 1)
        )
        mixtures = self.mixtures(metric, assumption)
        # Limits for these instances may lie beyond any mean that the metric can have.
        least, most = (sum(g.share * f(g.mean) for g in mixtures) for f in (np.min, np.max))
        return float(max(low, least)) + 0.0, float(min(high, most))

    @cached
    def groups(
        self, metric: Metric, assumption: Assumption, sign: int
    ) -> tuple[list[Mixture], list[Floats]]:
        """What bounds the mean from above (or below, by the sign), and the best fits of it.

        Strata of few instances are replaced by the scores of these (see `unlike`).
        """
        many = [i for i, few in enumerate(self.few) if not few]
        mixtures = [self.mixtures(metric, assumption)[i] for i in many]
        best = [self._best(assumption, i) for i in many]
        if any(self.few):
            mixture, weights = self._scored(metric, assumption, sign)
            mixtures, best = [*mixtures, mixture], [*best, weights]
        return mixtures, best

    def _scored(self, metric, assumption, sign):
        """The scores of all instances in strata of few."""
        each = zip(
            self.strata,
            self.columns(assumption),
            self.mixtures(metric, assumption),
            self.columns("decreasing"),
            self.mixtures(metric, "decreasing"),
            self.plausible,
            self.few,
        )
        expected = [
            Expected(s, c.law, x.mean, d.law @ w, y.square @ w - (y.mean @ w) ** 2)
            for s, c, x, d, y, w, few in each
            if few
        ]
        often = self.often if self.often is not None else np.ones(len(self.different))
        return scored(expected, self.different, self.weight * often, sign, self.n_instances)

    def clustering(self, metric: Metric) -> float:
        """The design effect of several relevant items per instance; 1 if they are independent."""
        if (self.different.n_relevant == 1).all():
            return 1.0
        return clustering(self.deviations(metric))

    def deviations(self, metric: Metric) -> tuple[Floats, Floats]:
        """For each instance the sum of its items' deviations from their mean, and of the squares.

        The contribution of a relevant item is replaced by its mean given the sampled rank.
        """
        rows = self.different.rows
        off = np.zeros(len(rows.rank))
        for stratum, column, group, weights in zip(
            self.strata, self.columns("smooth"), self.mixtures(metric, "smooth"), self.smoothed
        ):
            expected = np.maximum(column.law @ weights, 1e-300)
            given = column.law @ (weights * group.mean) / expected
            off[stratum.rows] = given[seen_in(stratum, self.different)]
            often = None if self.often is None else self.often[stratum.rows]
            off[stratum.rows] -= mean_of(off[stratum.rows], often)
        if self.different is not self.sampled:  # a row for each of the ranks, in ascending order
            off = off[np.searchsorted(rows.rank, self.sampled.rows.rank)]
            return off, off**2
        n = len(self.sampled)
        return summed(rows.instance, off, n), summed(rows.instance, off**2, n)

    def contradicts(self, metric: Metric, assumption: Assumption) -> bool:
        """Whether the data contradict an assumption, or the stated draws."""
        if self.fit < REFUTED:
            return True
        if isinstance(metric.shape, Linear) or assumption == "none":
            return False
        return self.misfit(assumption) < SURPRISE

    @property
    def fit(self) -> float:
        """The p-value of the stated draws, corrected for all recommenders of the study."""
        return float(np.minimum(1.0, self.misfit("none") * self.n_columns))

    @cached
    def misfit(self, assumption: Assumption) -> float:
        """The p-value of an assumption; for "none", that of the stated draws.

        It is found by runs simulated from the best fit of the class. The statistic is the
        likelihood ratio against the best fit without any assumption; for "none", against the
        observed counts themselves.
        """
        strata = self.merged
        each = list(zip(strata, self.tested(assumption), self.tested("none")))
        observed = sum(_ratio(s.counts, fit, free, assumption) for s, fit, free in each)
        cells = sum(sum((c > 0).sum() for c in s.counts) for s in strata)
        if observed < (cells if assumption == "none" else len(strata)):
            return 1.0  # no more than expected by chance
        simulated: list[list[float]] = []
        rng, larger, chance = np.random.default_rng(0), 0, 1.0
        for repetitions in (_REPETITIONS, _MORE) if assumption == "none" else (_REPETITIONS,):
            while len(simulated) < max(4, -(-repetitions // len(strata))):
                simulated.append(
                    [_ratio(_drawn(s, *fit, rng), fit, free, assumption) for s, fit, free in each]
                )
                # So large a statistic would be no surprise: the rest need not be simulated.
                larger += sum(simulated[-1]) >= observed
                if larger == 2:
                    return 1.0
            orders = [s.order if assumption == "none" else 0 for s in strata]
            chance = _tail(observed, np.array(simulated), orders)
            if not _CERTAIN < chance < SURPRISE:
                break
        return chance


def _fit_of(stratum, columns):
    return fitted(*observed(stratum.counts, columns))


def _equal(columns):
    """Equal weights of all columns."""
    return np.full(columns.law.shape[1], 1 / columns.law.shape[1])


def _is_column(ranks):
    """Whether `Ranks` are no more than a column among as many items, without ties."""
    one_each = (ranks.n_relevant == 1).all() and not ranks.rows.ties.any()
    return one_each and np.ptp(ranks.sizes) == 0


def _tail(observed, simulated, orders):
    """The chance of so large a sum of statistics, from simulated ones of each stratum.

    The items of a user may depend on each other in any way, so the standard deviations of different
    orders add up, as of what is perfectly correlated.
    """
    # Strata of the same order are of different users, whose statistics are independent.
    mean, each = simulated.mean(axis=0).sum(), simulated.var(axis=0, ddof=1)
    if observed <= mean:
        return 1.0
    spread = np.sqrt(summed(np.array(orders), each, max(orders) + 1)).sum()
    # Sums of squares, so much like a gamma distribution with this mean and variance.
    variance = max(spread**2, 1e-6)
    return float(special.gammaincc(mean**2 / variance, observed * mean / variance))


def supported(metric: Metric, *runs: SampledRun) -> Assumption | None:
    """The strongest assumption that no run contradicts, "decreasing" or "none"; None without one.

    A linear metric needs none, and none is made where nearly all items were drawn.
    """
    needless = isinstance(metric.shape, Linear) or all(run.is_nearly_all for run in runs)
    tried: tuple[Assumption, ...] = ("none",) if needless else ("decreasing", "none")
    return next((a for a in tried if not any(run.contradicts(metric, a) for run in runs)), None)


def _drawn(stratum, column, weights, rng):
    """Simulated counts of another run, under these weights."""
    ends = np.cumsum([m + 1 for m in stratum.n_draws])[:-1]
    laws = [p / p.sum() for p in np.split(column.law @ weights, ends)]
    return [
        rng.multinomial(round(counts.sum()), p).astype(float)
        for counts, p in zip(stratum.counts, laws)
    ]


def _ratio(counts, of_class, free, assumption):
    """Twice the loss of log-likelihood by an assumption.

    Both classes are given as columns, with the weights that fit the observed counts best.
    """
    value = _highest_likelihood(counts, *of_class)
    if assumption == "none":
        seen = [c[c > 0] for c in counts]
        return 2 * (sum(float(c @ np.log(c / c.sum())) for c in seen) - value)
    return 2 * (_highest_likelihood(counts, *free) - value)


def _highest_likelihood(counts, column, weights):
    """The highest log-likelihood of these counts; the weights are the start if they fit at all."""
    law, seen = observed(counts, column)
    near = (law @ weights).min() * seen.sum() > _RARE
    best = fitted(law, seen, start=weights if near else None)
    return float(seen @ np.log(law @ best))


def clustering(*deviations: tuple[Floats, Floats]) -> float:
    """The variance of sums over instances, relative to independent items; at least 1."""
    sums = np.sum([off for off, _ in deviations], axis=0)
    independent = np.sum([squares for _, squares in deviations])
    return max(1.0, float((sums**2).sum() / independent)) if independent > 0 else 1.0


def checked_sizes(sampled: Ranks, n_items: ArrayLike, replace: bool) -> Integers:
    """The pool size of each instance; refuse one too small for the items drawn from it."""
    sizes = one_or_each("n_items", n_items, len(sampled), lowest=2)
    if not (sampled.n_relevant.all() and sampled.n_irrelevant.all()):
        raise ValueError("sampled must hold relevant and drawn irrelevant items in every instance")
    needed = sampled.n_relevant + 1 if replace else sampled.sizes
    message = "n_items must be at least {}, what was drawn and the relevant items, got {} in "
    refuse_first(sizes < needed, message + "instance {at}", needed, sizes)
    return sizes


def check_additive(metric):
    """Refuse a correction, and a metric that is not a sum over the relevant items."""
    if not exact_metric(metric).additive:
        raise ValueError(f"metric must be a sum over the relevant items, got {metric}")
