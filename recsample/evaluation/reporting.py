"""What one run of a sampled evaluation says about the exact metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.checks import (
    is_one_of,
    one_or_each,
    refuse_frame,
    shown,
    true_or_false,
    whole_numbers,
)
from recsample._support.extras import extra
from recsample._support.numerics import LEVEL, PERCENT
from recsample._support.typing import Floats, Integers
from recsample.evaluation.results import Result, said
from recsample.evaluation.saying import Ranked
from recsample.inference.comparison import Comparison, compared
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.inference.ways import ways_to
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics, the_metric
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_names, check_same_ids, rows_of
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Observed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["report"]


_UNPAIRED = (
    "no pair is compared, because RankCounts do not say which ranks belong to the same instance: "
    "Ranks do"
)


def report(
    sampled: Any,
    m: ArrayLike | None = None,
    n_items: ArrayLike | None = None,
    *,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP, AUC),
    replace: bool = False,
    negatives: Literal["uniform"] = "uniform",
    simultaneous: bool = False,
) -> Result:
    """What one run of a sampled evaluation says about the exact metrics.

    Each metric gets an estimate and limits of 95 % confidence, under an assumption on the exact
    ranks (see `recsample.inference.likelihood.limits`; `recsample.inference.coverage` measures how
    often the limits hold): within the best fifth of the list, no rank is more frequent than a
    better one. Where the data contradict that, the limits are those without any assumption, and
    there is no estimate; where not even these exist, the ranks cannot have come about as it is
    said. Metrics that are linear in the rank, such as AUC, need no correction and no assumption.

    Parameters
    ----------
    sampled : Ranks, RankCounts, array_like of int, or mapping of str to these
        Ranks among the drawn items, one per instance; several relevant items or ties as `Ranks`.
        Several recommenders by name, over the same instances in the same order; of `RankCounts`,
        which do not say which ranks belong to the same instance, no pairs are compared.
    m : int or array_like of int, shape (instances,), optional
        How many irrelevant items were drawn for each instance. `Ranks` know it.
    n_items : int or array_like of int, shape (instances,)
        Sizes of the pools that were drawn from, the relevant items included; of `RankCounts`, one
        for each of their rows.
    metrics : sequence of Metric or str, optional
    replace : bool, optional
        Whether items were drawn with replacement.
    negatives : {"uniform"}, optional
        How the items were drawn. From popular negatives nothing can be told of the exact metrics;
        `ImportanceSampling` is the design for them.
    simultaneous : bool, optional
        Whether the limits of the differences hold for all pairs of recommenders at once.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        For ranks that are none, beyond m + 1 or of too few instances, recommenders of different
        instances or in different orders, pools smaller than what was drawn, what a design has
        observed, which needs no correction, and negatives that were not drawn uniformly.

    Examples
    --------
    >>> import recsample as rs
    >>> x = rs.datasets.recorded_ranks()["X"]
    >>> sampled = rs.UniformSampling(m=100).draw(x, rng=0)
    >>> found = rs.report(sampled.values, m=100, n_items=x.n_items, metrics=["Recall@10"])
    >>> found.table.loc["Recall@10", ["low", "high"]].astype(float).round(2).tolist()
    [0.06, 0.12]
    """
    extra("pandas")
    if not is_one_of(negatives, ("uniform",)):
        raise ValueError(
            f"negatives must be 'uniform', got {shown(negatives)}: ranks among items that were "
            "drawn with unequal chances do not tell the exact metrics; draw by ImportanceSampling"
        )
    if n_items is None:
        raise ValueError("n_items must be given: the sizes of the pools that were drawn from")
    chosen, replace = chosen_metrics(metrics), true_or_false("replace", replace)
    refuse_corrections(chosen)
    given = sampled if isinstance(sampled, Mapping) else {"": sampled}
    runs = {name: _ranks_of(one, m) for name, one in given.items()}
    if not runs:
        raise ValueError("sampled must hold at least one recommender, got none")
    check_names("sampled", runs)
    _check_same(runs)
    counted = any(isinstance(run, RankCounts) for run in runs.values())
    return said(
        Sampled(
            runs=runs,
            metrics=tuple(chosen),
            named=given is sampled,
            simultaneous=true_or_false("simultaneous", simultaneous),
            notes=(_UNPAIRED,) if counted and len(runs) > 1 else (),
            n_items=whole_numbers("n_items", n_items, lowest=2),
            replace=replace,
        )
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled(Ranked):
    """Ranks among items that were drawn uniformly from pools of `n_items`."""

    n_items: Integers
    replace: bool
    pair_columns = (*Comparison._fields, "assumption")

    @property
    def pairable(self) -> bool:  # type: ignore[override]
        return all(isinstance(run, Ranks) for run in self.runs.values())

    @property
    def ids(self) -> NDArray[Any]:
        if not self.pairable:
            raise ValueError("this result does not know the values of single users")
        return super().ids

    @cached_property
    def values(self) -> Mapping[tuple[str, Metric], Floats]:
        return {(name, m): m(run) for name, run in self.runs.items() for m in self.metrics}

    @cached_property
    def evidence(self) -> Mapping[str, Evidence]:
        """What each run says under each assumption."""
        return {
            name: Evidence(run, self.n_items, self.replace, self.metrics)
            for name, run in self.runs.items()
        }

    @cached_property
    def rungs(self) -> Mapping[tuple[str, Metric], dict[str, tuple[float, float]]]:
        """The limits under each assumption, NaN if it is contradicted."""
        return {
            (name, metric): {
                a: (np.nan, np.nan) if one.contradicts(metric, a) else one.limits(metric, a, LEVEL)
                for a in ASSUMPTIONS
            }
            for name, one in self.evidence.items()
            for metric in self.metrics
        }

    def part(self, users: Integers) -> Ranked:
        sizes = np.broadcast_to(self.n_items, len(self.first))[users]
        return super().part(users).turned(Sampled, n_items=sizes)

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        if self.named:
            return super().plan(metric, width)
        asked = the_metric(metric)
        if asked not in self.metrics:
            known = list(map(str, self.metrics))
            raise ValueError(f"metric must be one of {known}, got {metric!r}")
        return ways_to(asked, width, self.evidence[""])

    def head(self) -> str:
        return f"{_came(next(iter(self.evidence.values())))}."  # which begins with a number

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        evidence = self.evidence[name]
        used = supported(metric, evidence) or ""
        low, high = self.rungs[name, metric][used] if used else (np.nan, np.nan)
        known = isinstance(metric.shape, Linear) or used == "decreasing"
        value = evidence.estimate(metric) if known else np.nan
        return {
            # An estimate outside of the limits would be one that the data speak against.
            "value": float(np.clip(value, low, high)),
            "low": low,
            "high": high,
            "sampled": evidence.mean(metric),
            "assumption": used,
        }

    @property
    def ladder(self) -> Mapping[tuple[str, str, str], dict[str, float]]:
        return {
            (name, str(metric), assumption): {"low": low, "high": high}
            for (name, metric), rungs in self.rungs.items()
            for assumption, (low, high) in rungs.items()
        }

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        """Under the weaker of the assumptions that the two rest on."""
        both = self.evidence[a], self.evidence[b]
        weaker = supported(metric, *both)
        if weaker is None:
            return dict.fromkeys(Comparison._fields, np.nan) | {"assumption": ""}
        return compared(metric, *both, weaker, level)._asdict() | {"assumption": weaker}

    def sentence(self, name: str, metric: Metric) -> str:
        key = name, metric
        return _sentence(metric, self.rows[key], self.rungs[key], self.evidence[name])


def refuse_corrections(metrics: Sequence[Metric]) -> None:
    """Refuse corrections among metrics: what is drawn is corrected here."""
    for one in metrics:
        if one.sampler is not None:
            raise ValueError(
                "metrics must hold no corrections: each metric must be a metric of exact ranks "
                f"such as AP, got {one}, which reads what {one.sampler} gives"
            )


def _ranks_of(sampled, m):
    """Sampled ranks, checked here so that a message speaks of m and not of a pool."""
    if isinstance(sampled, Observed):
        raise ValueError(
            "sampled must be ranks among uniformly drawn items, got what the design "
            f"{shown(sampled.design)} observes: its estimates need no correction, see Design.of"
        )
    refuse_frame("sampled", sampled, "choose the column of ranks, or see Ranks.from_frame")
    if isinstance(sampled, (Ranks, RankCounts)):
        rows, _ = rows_of(sampled)
        if m is not None:
            drawn = one_or_each("m", m, len(rows), lowest=1)
            other = np.flatnonzero(drawn != rows.n_irrelevant)
            if len(other):
                raise ValueError(
                    f"m must be the number of drawn items, {rows.n_irrelevant[other[0]]} in "
                    f"instance {other[0]} of sampled, got {drawn[other[0]]}"
                )
        return sampled
    if m is None:
        raise ValueError("m must be given with a column of ranks: how many items were drawn")
    if hasattr(sampled, "tolist"):  # whole numbers that a table holds as objects are welcome too
        sampled = sampled.tolist()
    values = whole_numbers("sampled", sampled, lowest=1)
    if values.ndim != 1:
        raise ValueError(
            f"sampled must be one-dimensional, one rank per instance, got shape {values.shape}"
        )
    drawn = one_or_each("m", m, len(values), lowest=1)
    beyond = np.flatnonzero(values > drawn + 1)
    if len(beyond):
        where = beyond[0]
        raise ValueError(
            f"sampled must hold ranks up to m + 1 = {drawn[where] + 1}, got {values[where]} in "
            f"instance {where}"
        )
    if len(values) < 2:
        raise ValueError(f"sampled must hold at least two instances, got {len(values)}")
    return Ranks(values, drawn + 1)


def _check_same(runs):
    """Refuse recommenders that were not evaluated on the same instances."""
    first, *others = runs.items()
    for name, run in others:
        known = isinstance(run, Ranks) and isinstance(first[1], Ranks)
        if len(run) != len(first[1]) or (
            known and not np.array_equal(run.n_relevant, first[1].n_relevant)
        ):
            raise ValueError(
                "sampled must hold recommenders of the same instances, got other instances or "
                f"numbers of relevant items for {name!r} than for {first[0]!r}"
            )
    listed = {repr(name): run for name, run in runs.items() if isinstance(run, Ranks)}
    check_same_ids("sampled", listed)


def _came(evidence):
    """How the ranks came about."""
    sampled = evidence.sampled
    several = (sampled.n_relevant > 1).any()
    instances = f"{evidence.n_instances} instances" + (
        f" with {sampled.n_relevant.sum()} relevant items" if several else ""
    )
    how = "with" if evidence.replace else "without"
    return (
        f"{instances}, each ranked among {_span('m = ', sampled.n_irrelevant)} of "
        f"{_span('', evidence.sizes - sampled.n_relevant)} irrelevant items, said to be drawn "
        f"uniformly {how} replacement"
    )


def _span(name, numbers):
    low, high = numbers.min(), numbers.max()
    return f"{name}{low}" if low == high else f"{name}{low} to {high}"


def _sentence(metric, row, rungs, evidence):
    source = f"the sampled ranks of {_came(evidence)}"
    limits = f"{row['low']:.3f} to {row['high']:.3f}"
    if isinstance(metric.shape, Linear):
        return (
            f"{metric} is {row['value']:.3f} ({PERCENT} limits {limits}), from {source}. It is "
            "linear in the rank, so sampling leaves its expectation as it is, and the limits rest "
            "on no assumption about the ranks."
        )
    uncorrected = f"Uncorrected, among the drawn items only, {metric} is {row['sampled']:.3f}."
    if row["assumption"] == "decreasing":
        free = "{:.3f} to {:.3f}".format(*rungs["none"])
        several = (evidence.sampled.n_relevant > 1).any()
        than = "compared with a random ranking, " if several else ""
        return (
            f"{metric} is estimated at {row['value']:.3f}, with {PERCENT} limits of {limits}, from "
            f"{source}. The limits assume that within the best fifth of the list, {than}no rank "
            "is more frequent than a better one; without that assumption these data say "
            f"{free}. {uncorrected}"
        )
    if row["assumption"] == "none":
        return (
            f"{metric} is between {row['low']:.3f} and {row['high']:.3f} ({PERCENT} limits), from "
            f"{source}. The limits rest on no assumption about the ranks, because the data "
            "contradict the usual one, that within the best fifth of the list no rank is more "
            "frequent than a better one; for the same reason there is no estimate. "
            f"{uncorrected}"
        )
    return (
        f"Nothing can be said of {metric}: whatever the exact ranks are, uniform draws do not "
        f"give {source}. Check the number of drawn items, the sizes of the pools, whether a list "
        "was cut off, and how the items were drawn."
    )
