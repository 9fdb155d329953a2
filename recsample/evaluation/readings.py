"""What a mean among uniformly drawn items reads: exact Recall@K, averaged over known cut-offs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recsample._support.numerics import LEVEL, limits_of_mean, mean_of
from recsample._support.typing import Floats, Integers
from recsample._support.values import cached_arrays
from recsample.evaluation.findings import Pair, Pairs, Rows
from recsample.inference.comparison import Comparison, of_differences
from recsample.inference.published import terms_of
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import of_each, rows_of
from recsample.sampling.cutoffs import cutoffs_of, falls
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    from recsample.evaluation.sampled import Sampled, Uncorrected

COLUMNS = ("value", "low", "high", "cutoff_low", "cutoff", "cutoff_high")
COLUMNS_OF_PAIRS = (*Comparison._fields, "ahead")


def readings_of(
    study: Sampled | Uncorrected, names: Iterable[str], has_limits: bool = True
) -> tuple[Rows, Pairs]:
    """Readings of recommenders and of their pairs; none where users have several relevant items.

    Of draws that users share there are no limits.
    """
    runs = {name: rows_of(study.ranks[name]) for name in names}
    if not runs or any((ranks.n_relevant != 1).any() for ranks, _ in runs.values()):
        return {}, {}
    drawn = {name: ranks.n_irrelevant for name, (ranks, _) in runs.items()}
    n_items = np.asarray(study.n_items)
    if not study.replace and all((n_items - 1 == m).all() for m in drawn.values()):
        return {}, {}  # all items were ranked
    ends = {int(end(m)) for m in drawn.values() for end in (np.min, np.max)}
    metrics = tuple(one for one in study.metrics if all(falls(one, m) for m in ends))
    different = {name: study.different(name) for name in runs}
    each, rows = {}, {}
    for name, (ranks, counts) in different.items():
        m = drawn[name]
        pools = pools_of(m, np.broadcast_to(n_items, len(m)))
        for metric in metrics:
            each[name, metric] = values = _of_users(metric, ranks)
            limits = (np.nan, np.nan)
            if has_limits:
                limits = limits_of_mean(values, LEVEL, counts, (0.0, 1.0), study.groups)
            cutoffs = cutoffs_over(metric, pools, study.replace)
            row = mean_of(values, counts), *limits, *cutoffs
            rows[name, metric] = dict(zip(COLUMNS, row))
    # Means over other cut-offs are no means to compare.
    alike = all(np.array_equal(m, next(iter(drawn.values()))) for m in drawn.values())
    if not (alike and has_limits):
        return rows, {}
    part = replace(study, ranks={name: study.ranks[name] for name in runs}, metrics=metrics)
    return rows, part.pairs(rows, partial(_differences, part, different, each))


def _of_users(metric, ranks):
    """The metric of each user, from 0 at the last rank to 1 at the first."""
    m = ranks.n_irrelevant
    first, last = (metric.of_rank(rank, m + 1) for rank in (np.ones_like(m), m + 1))
    return (metric(ranks) - last) / (first - last)


def _differences(
    study: Sampled | Uncorrected,
    different: Mapping[str, tuple[Ranks, Integers | None]],
    values: Mapping[tuple[str, Metric], Floats],
    metric: Metric,
    both: Sequence[Pair],
    level: float,
) -> dict[Pair, dict[str, Any]]:
    each = {
        name: of_each(values[name, metric], different[name][0], study.ranks[name])
        for name in {name for pair in both for name in pair}
    }
    apart = np.array([each[a] - each[b] for a, b in both])
    found = of_differences(apart, level, (-1.0, 1.0), study.groups) if len(both) else []
    return {pair: one._asdict() for pair, one in zip(both, found)}


def pools_of(drawn: Integers, sizes: Integers) -> list[tuple[int, int]]:
    """The different numbers of drawn items, each with its smallest and largest pool."""
    found = []
    several = np.unique(drawn) if np.ptp(drawn) else drawn[:1]
    for m in several:
        of_m = sizes if len(several) == 1 else sizes[drawn == m]
        found += [(int(m), int(n)) for n in {of_m.min(), of_m.max()}]
    return found


def cutoffs_over(
    metric: Metric, pools: Iterable[tuple[int, int]], with_replacement: bool
) -> tuple[float, float, float]:
    """The cut-offs of all pools: the lowest of those for 5 %, and the highest of those for 95 %.

    Between them is the one for 50 %, NaN where pools, or numbers of draws, differ.
    """
    found = [_known_cutoffs(UniformSampling(m, with_replacement), metric, n)[0] for m, n in pools]
    low, middle, high = np.array(found, float).T
    return low.min(), middle[0] if len(found) == 1 else np.nan, high.max()


@cached_arrays
def _known_cutoffs(sampler, metric, n_items):
    """The same for all recommenders of a study, so they are found once."""
    return (np.array(cutoffs_of(sampler, metric, n_items)),)


def reading_of_mean(metric: Metric, m: int, mean: float) -> float:
    """The reading of a mean of the metric among m drawn items."""
    first, *_, last = terms_of(metric, m)
    return float((mean - last) / (first - last))
