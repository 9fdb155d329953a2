"""What one run of a sampled evaluation says about the exact metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import checks
from recsample._support.extras import extra
from recsample.evaluation.results import Result
from recsample.evaluation.saying import Sampled
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_names, check_same_ids, rows_of
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Observed

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
        How the items were drawn: for popular ones `ImportanceSampling` is the design.
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
    if not checks.is_one_of(negatives, ("uniform",)):
        raise ValueError(
            f"negatives must be 'uniform', got {checks.shown(negatives)}: ranks among items that "
            "were drawn with unequal chances do not tell the exact metrics; draw by "
            "ImportanceSampling"
        )
    if n_items is None:
        raise ValueError("n_items must be given: the sizes of the pools that were drawn from")
    chosen, replace = chosen_metrics(metrics), checks.true_or_false("replace", replace)
    refuse_corrections(chosen)
    given = sampled if isinstance(sampled, Mapping) else {"": sampled}
    runs = {name: _ranks_of(one, m) for name, one in given.items()}
    if not runs:
        raise ValueError("sampled must hold at least one recommender, got none")
    check_names("sampled", runs)
    _check_same(runs)
    counted = any(isinstance(run, RankCounts) for run in runs.values())
    ranked = Sampled(
        runs=runs,
        metrics=tuple(chosen),
        named=given is sampled,
        simultaneous=checks.true_or_false("simultaneous", simultaneous),
        notes=(_UNPAIRED,) if counted and len(runs) > 1 else (),
        n_items=checks.whole_numbers("n_items", n_items, lowest=2),
        replace=replace,
    )
    return Result(ranked)


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
            f"{checks.shown(sampled.design)} observes: its estimates need no correction, see "
            "Design.of"
        )
    checks.refuse_frame("sampled", sampled, "choose the column of ranks, or see Ranks.from_frame")
    if isinstance(sampled, (Ranks, RankCounts)):
        rows, _ = rows_of(sampled)
        if m is not None:
            drawn = checks.one_or_each("m", m, len(rows), lowest=1)
            if (drawn != rows.n_irrelevant).any():
                where = int(np.argmax(drawn != rows.n_irrelevant))
                raise ValueError(
                    f"m must be the number of drawn items, {rows.n_irrelevant[where]} in "
                    f"instance {where} of sampled, got {drawn[where]}"
                )
        return sampled
    if m is None:
        raise ValueError("m must be given with a column of ranks: how many items were drawn")
    # Whole numbers that a table holds as objects are welcome too.
    given = sampled.tolist() if hasattr(sampled, "tolist") else sampled
    values = checks.whole_numbers("sampled", given, lowest=1)
    if values.ndim != 1:
        raise ValueError(
            f"sampled must be one-dimensional, one rank per instance, got shape {values.shape}"
        )
    drawn = checks.one_or_each("m", m, len(values), lowest=1)
    if (values > drawn + 1).any():
        where = int(np.argmax(values > drawn + 1))
        raise ValueError(
            f"sampled must hold ranks up to m + 1 = {drawn[where] + 1}, got {values[where]} in "
            f"instance {where}"
        )
    if len(values) < 2:
        raise ValueError(f"sampled must hold at least two instances, got {len(values)}")
    return Ranks(values, drawn + 1)


def _check_same(runs):
    """Refuse recommenders that were not evaluated on the same instances."""
    first, *others = runs
    for name in others:
        both = runs[first], runs[name]
        listed = all(isinstance(run, Ranks) for run in both)
        numbers = [run.n_relevant if listed else len(run) for run in both]
        if not np.array_equal(*numbers):
            raise ValueError(
                "sampled must hold recommenders of the same instances, got other instances or "
                f"numbers of relevant items for {name!r} than for {first!r}"
            )
    listed = {repr(name): run for name, run in runs.items() if isinstance(run, Ranks)}
    check_same_ids("sampled", listed)
