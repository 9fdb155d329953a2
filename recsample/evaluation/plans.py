"""How many users it takes for limits of a width, by what a result knows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from recsample._support.extras import extra
from recsample._support.numerics import LEVEL
from recsample._support.typing import Rng
from recsample.evaluation.infer import Audited, Exact, Inferred, Sampled
from recsample.inference.audit import AuditPlan, plan_audit
from recsample.inference.comparison import users_for
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.ranks.base import Ranks

if TYPE_CHECKING:
    import pandas as pd


def plan_of(
    found: Inferred, metric: Metric | str, width: float, rng: Rng
) -> AuditPlan | pd.DataFrame:
    """An audit of sampled ranks, or how many users differences of exact values take."""
    if (asked := the_metric(metric)) not in found.metrics:
        raise ValueError(f"metric must be one of {[*map(str, found.metrics)]}, got {metric!r}")
    if found.groups is None and isinstance(found, Exact) and found.n_runs is None:
        return _of_exact(found, asked, width)
    if found.groups is not None or not isinstance(found, Sampled) or len(found.runs) > 1:
        raise ValueError(
            "a plan is made from the sampled ranks of one recommender, or from exact values, with "
            "one row for each user and no runs: report or evaluate these alone"
        )
    exact = None
    if isinstance(found, Audited):
        if found.chances is not None:
            raise ValueError("a plan goes on from users chosen at random, got other chances")
        exact = found.audited, next(iter(found.exact.values()))
    return plan_audit(
        asked, width, found.first, found.n_items, rng, exact=exact, replace=found.replace
    )


def plan_of_ranks(ranks: Ranks | Mapping[str, Ranks], metric: str, *how: Any) -> Any:
    """The same of exact ranks, of several recommenders by name."""
    runs = ranks if isinstance(ranks, Mapping) else {"": ranks}
    metrics = (the_metric(metric),)
    return plan_of(Exact(runs=runs, metrics=metrics, named=len(runs) > 1), metric, *how)


def _of_exact(found, metric, width):
    """How many users like these the mean takes, or each difference, of which all limits hold."""
    if metric not in found.ends or any((name, metric) in found.bounded for name in found.runs):
        raise ValueError(f"metric must be one of which users have values, got {metric}")
    pd, pairs, (low, high) = extra("pandas"), [*combinations(found.runs, 2)], found.ends[metric]
    values = {name: found.values[name, metric] for name in found.runs}
    rows, ends, index = [*values.values()], (low, high), ["the mean"]
    if pairs:
        rows, ends = [values[a] - values[b] for a, b in pairs], (low - high, high - low)
        index = pd.MultiIndex.from_tuples(pairs, names=["a", "b"])
    known = [row[~np.isnan(row)] for row in rows]
    users = [users_for(row, ends, width, 1 - (1 - LEVEL) / len(rows)) for row in known]
    return pd.DataFrame({"users": users, "you have": [*map(len, known)]}, index)
