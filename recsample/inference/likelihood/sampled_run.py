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
from recsample._support.errors import InputError
from recsample._support.numerics import mean_of, upper_limits
from recsample._support.typing import Floats, Integers
from recsample._support.values import cached
from recsample.inference.likelihood.mixtures import em_steps, fitted
from recsample.inference.likelihood.scores import Scores, cells_of, mixed, scores_of
from recsample.inference.likelihood.strata import (
    Assumption,
    Columns,
    columns_of,
    moments_of,
    observed,
    strata_of,
)
from recsample.metrics.base import Metric, ends_in, ends_of
from recsample.metrics.names import exact_metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import different_ranks, of_each, rows_of
from recsample.ranks.counts import RankCounts
from recsample.sampling.uniform import UniformSampling

# p-values below which the data contradict an assumption, and the stated draws.
SURPRISE, REFUTED = 0.01, 1e-4
# Simulated runs for a p-value. For the stated draws, which may refute a whole study, more are made,
# unless the p-value is so small already that they would not matter.
_REPETITIONS, _MORE, _CERTAIN = 40, 200, 1e-12
# A fit does not start from weights under which an observed value is expected less than this often.
_RARE = 0.01
# So many instances at least are put together for an estimate, and for a test.
_ENOUGH, _TESTED = 30, 200
# So many numbers of draws have laws of their own. Of more, those up to a ratio share one.
_DRAWS, _FEWER = 20, 1.15
# Where so much of every pool is drawn, the places are all but known, and no assumption is needed.
_NEARLY_ALL = 0.9


class SampledRun:
    """A run of sampled ranks: its strata, and how each class of distributions fits them.

    For `RankCounts`, `sampled` holds the distinct ranks, and `counts` how many instances have each;
    for `Ranks` it is None. `n_columns` is the number of recommenders of the study, by which
    p-values of the draws are corrected. `groups` are the numbers of those that instances belong to,
    of which whole ones are independent.
    """

    def __init__(
        self,
        sampled: Ranks | RankCounts,
        n_items: ArrayLike,
        replace: bool,
        metrics: Sequence[Metric],
        n_columns: int = 1,
        groups: Integers | None = None,
    ) -> None:
        self.sampled, self.counts = rows_of(sampled, "sampled")
        self.replace, self.n_instances, self.n_columns = replace, len(sampled), n_columns
        self.groups, self.metrics = groups, metrics
        if self.n_instances < 2:
            raise InputError("sampled", "must hold at least two instances").got(self.n_instances)
        self.sizes = checked_sizes(self.sampled, n_items, replace)
        # Of one relevant item among as many drawn ones each, only how often a rank occurs matters.
        self.different, self.often, sizes = self.sampled, self.counts, self.sizes
        if groups is None and np.ptp(sizes) == 0:
            self.different, self.often = different_ranks(sampled)
            sizes = sizes[: len(self.different)]
        for metric in metrics:
            check_additive(metric)
        self.cutoffs = tuple({metric.cutoff for metric in metrics if metric.cutoff is not None})
        self.different_sizes = sizes
        self.pools = sizes - self.different.n_relevant  # irrelevant items in each
        self.thinned = thinned(self.different) if self.often is None else self.different
        about = self.thinned, sizes, replace, self.often
        self.strata = strata_of(*about, fewest=_ENOUGH)
        # What contradicts an assumption is seen in the shares of the pools, so that more can be put
        # together for a test than for a metric.
        self.tested_strata = strata_of(*about, fewest=_TESTED)
        drawn = float((self.different.n_irrelevant / self.pools).min())
        self.is_nearly_all = not replace and drawn >= _NEARLY_ALL
        self.known: dict[tuple, Any] = {}

    @cached
    def bounds(self, metric: Metric, assumption: Assumption, sign: int) -> tuple[Floats, float]:
        """Scores of `different` whose mean is in expectation no less than that of the metric.

        And the largest that there can be. With a negative sign they are no less than its negative.
        """
        often = np.ones(len(self.different)) if self.often is None else self.often
        return mixed(self.candidates(metric, assumption, sign), often, self.groups)

    @cached
    def candidates(self, metric: Metric, assumption: Assumption, sign: int) -> Scores:
        """All scores of `different` that are at hand; a linear metric is its own."""
        if isinstance(metric.shape, Linear):
            end = max(sign * one for one in ends_of(metric, self.different))
            return Scores(sign * metric(self.different)[:, None], np.array([end]))
        cells = cells_of(self.thinned, self.different_sizes, metric)
        used: Assumption = "none" if self.is_nearly_all else assumption
        n = self.n_instances if self.groups is None else len(np.unique(self.groups))
        return scores_of(metric, cells, self.thinned, self.replace, used, sign, n)

    def of_each(self, values: Floats) -> Floats:
        """What `different` have, for each of the instances of `sampled`."""
        return of_each(values, self.different, self.sampled)

    def ends(self, metric: Metric) -> tuple[float, float]:
        """The lowest and the highest exact value that there can be."""
        return ends_in(metric, self.different.n_relevant, self.different_sizes)

    def limits(self, metric: Metric, assumption: Assumption, level: float) -> tuple[float, float]:
        """The limits of the mean of the metric under an assumption."""
        often = np.ones(len(self.different)) if self.often is None else self.often
        found = []
        for sign in (-1, 1):
            scores, end = self.bounds(metric, assumption, sign)
            (highest,), _ = upper_limits(scores[None], end, level, often, self.groups)
            found.append(sign * highest)
        # No mean is beyond the values that the metric can have.
        least, most = self.ends(metric)
        low, high = np.clip(found, least, most)
        return float(low) + 0.0, float(high)

    @cached_property
    def weights(self) -> list[Floats]:
        """The distribution of the places in each stratum, by the EM algorithm.

        From a uniform distribution; of several relevant items, from a random order.
        """
        found = []
        for stratum in self.strata:
            column = self._steps_of(stratum)
            law, counts = observed(stratum.counts, column)
            weights, _ = em_steps(counts, law.T, column.mass / column.mass.sum())
            found.append(weights / weights.sum())
        return found

    def _steps_of(self, stratum):
        return columns_of(stratum, "steps", self.replace, self.cutoffs)

    def mean(self, metric: Metric) -> float:
        """The mean of the uncorrected metric, among the sampled items."""
        return mean_of(metric(self.different), self.often)

    def estimate(self, metric: Metric) -> float:
        """An estimate of the mean: unbiased for a linear metric, else by the EM algorithm.

        It may be outside of the limits.
        """
        if isinstance(metric.shape, Linear):
            return self.mean(metric)
        total = 0.0
        for stratum, weights in zip(self.strata, self.weights):
            value, _ = moments_of(stratum, self._steps_of(stratum), metric)
            total += sum(counts.sum() for counts in stratum.counts) * float(value @ weights)
        return total / self.n_instances

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
    def tested(self, assumption: Assumption) -> list[tuple[Columns, Floats]]:
        """The columns and the best fitting weights of each stratum that is tested."""
        used: Assumption = "none" if self.is_nearly_all else assumption
        about = used, self.replace, self.cutoffs
        each = [(stratum.counts, columns_of(stratum, *about)) for stratum in self.tested_strata]
        return [(column, fitted(*observed(counts, column))) for counts, column in each]

    @cached_property
    def of_each_group(self) -> SampledRun:
        """A random row of each group: these are independent, as simulated runs are."""
        assert self.groups is not None
        order = np.random.default_rng(0).permutation(len(self.groups))
        rows = np.sort(order[np.unique(self.groups[order], return_index=True)[1]])
        about = self.sampled[rows], self.sizes[rows], self.replace, self.metrics
        return SampledRun(*about, self.n_columns)

    @cached
    def misfit(self, assumption: Assumption) -> float:
        """The p-value of an assumption; for "none", that of the stated draws.

        It is found by runs simulated from the best fit of the class. The statistic is the
        likelihood ratio against the best fit without any assumption; for "none", against the
        observed counts themselves.
        """
        if self.groups is not None:
            return self.of_each_group.misfit(assumption)
        strata = self.tested_strata
        each = list(zip(strata, self.tested(assumption), self.tested("none")))
        observed = sum(_ratio(s.counts, fit, free, assumption) for s, fit, free in each)
        cells = sum(sum((c > 0).sum() for c in s.counts) for s in strata)
        if observed < (cells if assumption == "none" else len(strata)):
            return 1.0  # no more than expected by chance
        simulated: list[list[float]] = []
        rng, larger, chance = np.random.default_rng(0), 0, 1.0
        for repetitions in (_REPETITIONS, _MORE) if assumption == "none" else (_REPETITIONS,):
            while len(simulated) < repetitions:
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


def thinned(sampled: Ranks) -> Ranks:
    """The same ranks among fewer of the drawn items where the numbers of draws are many.

    Each number has a law of its own, of as many values. Of more than `_DRAWS` different ones those
    up to a ratio become the fewest of them, by a uniform choice among what was drawn.
    """
    m = sampled.n_irrelevant
    different = np.unique(m)
    if len(different) <= _DRAWS:
        return sampled
    edges = different[0] * _FEWER ** np.arange(2 + np.log(m.max() / different[0]) / np.log(_FEWER))
    bins = np.searchsorted(edges, m, side="right")
    rng, above, fewest = np.random.default_rng(0), sampled.rows.above.copy(), m.copy()
    for one in np.unique(bins):
        mine = bins == one
        fewest[mine] = few = int(m[mine].min())
        some = UniformSampling(few).draw(sampled[mine], rng)
        above[mine[sampled.rows.instance]] = some.rows.above
    return sampled.at(above + sampled.rows.order, fewest + sampled.n_relevant)


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


def checked_sizes(sampled: Ranks, n_items: ArrayLike, replace: bool) -> Integers:
    """The pool size of each instance; refuse one too small for the items drawn from it."""
    sizes = one_or_each("n_items", n_items, len(sampled), lowest=2)
    if not (sampled.n_relevant.all() and sampled.n_irrelevant.all()):
        raise InputError(
            "sampled", "must hold relevant and drawn irrelevant items in every instance"
        )
    needed = sampled.n_relevant + 1 if replace else sampled.sizes
    allowed = "must be at least {0}, what was drawn and the relevant items"
    refuse_first(sizes < needed, "n_items", allowed, "{1} in instance {at}", needed, sizes)
    return sizes


def check_additive(metric):
    """Refuse a correction, and a metric that is not a sum over the relevant items."""
    if not exact_metric(metric).additive:
        raise InputError("metric", "must be a sum over the relevant items").got(metric)
