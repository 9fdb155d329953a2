"""What one run of a sampled evaluation says about the exact metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import is_one_of, refuse_frame, shown, true_or_false, whole_numbers
from recsample._support.extras import extra
from recsample._support.frames import table_of
from recsample._support.numerics import LEVEL, PERCENT
from recsample.evaluation.results import Instances, Result, level_of_pairs
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.inference.likelihood.pairs import Difference, compared
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.inference.ways import ways_to
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_names, check_same_ids, rows_of
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Observed

__all__ = [
    "report",
]


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

    Each metric gets an estimate and limits of 95 % confidence, under an assumption on how the exact
    ranks are distributed; `recsample.inference.likelihood.limits` says which there are, and
    `recsample.inference.coverage` measures how often the limits hold.
    By default it is "decreasing": within the best fifth of the list, no rank is more frequent than
    a better one. Where the data contradict that, the limits are those without any assumption, and
    there is no estimate; where not even these exist, the ranks cannot have come about as it is
    said. The sentences name what they rest on. Metrics that are linear in the rank, such as AUC,
    need no correction and no assumption.

    Parameters
    ----------
    sampled : Ranks, RankCounts, array_like of int, or mapping of str to these
        Ranks among the drawn items, one per instance; several relevant items or ties as `Ranks`.
        Of `RankCounts` the pairs of recommenders are left out, since these do not say which ranks
        belong to the same instance.
        Several recommenders by name, over the same instances in the same order; where `Ranks` have
        ids, these are compared.
    m : int or array_like of int, shape (instances,), optional
        How many irrelevant items were drawn for each instance. `Ranks` know it.
    n_items : int or array_like of int, shape (instances,)
        Sizes of the pools that were drawn from, the relevant items included. One number for
        `RankCounts`, or one for each of their rows.
    metrics : sequence of Metric or str, optional
    replace : bool, optional
        Whether items were drawn with replacement.
    negatives : {"uniform"}, optional
        How the items were drawn. From popular negatives nothing can be told of the exact metrics;
        `ImportanceSampling` is the design for them.
    simultaneous : bool, optional
        Whether the limits of the differences hold for all pairs of recommenders at once, by
        Bonferroni's correction.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        For ranks that are none, beyond m + 1 or of too few instances, recommenders of different
        instances or in different orders, pools smaller than what was drawn, an `Observed` of a
        design, whose estimates need no correction, and negatives that were not drawn uniformly.

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
    several = isinstance(sampled, Mapping)
    runs = {
        name: _ranks_of(one, m) for name, one in (sampled if several else {"": sampled}).items()
    }
    if not runs:
        raise ValueError("sampled must hold at least one recommender, got none")
    check_names("sampled", runs)
    _check_same(runs)
    evidence = {name: Evidence(run, n_items, replace, chosen) for name, run in runs.items()}
    rows, ladder, sentences = {}, {}, []
    for name, one in evidence.items():
        for metric in chosen:
            rungs = {a: _rung(one, metric, a) for a in ASSUMPTIONS}
            used = supported(metric, one) or ""
            rows[name, str(metric)] = _row(one, metric, rungs, used)
            for assumption, (low, high) in rungs.items():
                ladder[name, str(metric), assumption] = {"low": low, "high": high}
            said = _sentence(metric, rows[name, str(metric)], rungs, one)
            sentences.append(f"{name}: {said}" if several else said)
    first = next(iter(evidence.values()))
    head, sizes = _head(first), first.sizes
    counted = any(one.counts is not None for one in evidence.values())

    def part(which):
        some = {name: run[which] for name, run in runs.items()}
        options = dict(metrics=chosen, replace=replace, simultaneous=simultaneous)
        return report(some if several else some[""], n_items=sizes[which], **options)

    ids = first.sampled.ids
    instances = (
        None
        if counted
        else Instances(
            np.arange(len(first.sampled)) if ids is None else ids,
            {(name, str(one)): one(run) for name, run in runs.items() for one in chosen},
            part,
        )
    )
    level = level_of_pairs(LEVEL, len(runs), true_or_false("simultaneous", simultaneous))
    return Result(
        head[0].upper() + head[1:] + ".",
        table_of(rows, ["recommender", "metric"], several),
        table_of(ladder, ["recommender", "metric", "assumption"], several),
        _pairs({} if counted else evidence, chosen, level),
        tuple(sentences),
        None if several else _ways(chosen, evidence[""]),
        notes=(_UNPAIRED,) if counted and len(evidence) > 1 else (),
        instances=instances,
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
            drawn = _drawn(m, len(rows))
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
    drawn = _drawn(m, len(values))
    beyond = np.flatnonzero(values > drawn + 1)
    if len(beyond):
        where = beyond[0]
        most = np.broadcast_to(drawn, values.shape)[where] + 1
        raise ValueError(
            f"sampled must hold ranks up to m + 1 = {most}, got {values[where]} in instance {where}"
        )
    if len(values) < 2:
        raise ValueError(f"sampled must hold at least two instances, got {len(values)}")
    return Ranks(values, drawn + 1)


def _drawn(m, n_instances):
    """How many items were drawn for each instance."""
    drawn = whole_numbers("m", m, lowest=1)
    if drawn.shape not in ((), (n_instances,)):
        raise ValueError(
            f"m must be one number or one for each of {n_instances} instances, "
            f"got an array of shape {drawn.shape}"
        )
    return np.broadcast_to(drawn, n_instances)


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


def _rung(evidence, metric, assumption):
    """The limits under an assumption, NaN if it is contradicted."""
    if evidence.contradicts(metric, assumption):
        return np.nan, np.nan
    return evidence.limits(metric, assumption, LEVEL)


def _row(evidence, metric, rungs, used):
    low, high = rungs[used] if used else (np.nan, np.nan)
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


def _head(evidence):
    """How the ranks came about."""
    sampled = evidence.sampled
    several = int(sampled.n_relevant.sum()) if (sampled.n_relevant > 1).any() else 0
    instances = f"{evidence.n_instances} instances"
    instances += f" with {several} relevant items" if several else ""
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
    source = f"the sampled ranks of {_head(evidence)}"
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
        low, high = row["low"], row["high"]
        return (
            f"{metric} is between {low:.3f} and {high:.3f} ({PERCENT} limits), from {source}. The "
            "limits rest on no assumption about the ranks, because the data contradict the usual "
            "one, that within the best fifth of the list no rank is more frequent than a better "
            f"one; for the same reason there is no estimate. {uncorrected}"
        )
    return (
        f"Nothing can be said of {metric}: whatever the exact ranks are, uniform draws do not "
        f"give {source}. Check the number of drawn items, the sizes of the pools, whether a list "
        "was cut off, and how the items were drawn."
    )


def _pairs(evidence, metrics, level):
    """Every pair under the weaker of the assumptions that the two rest on."""
    pd = extra("pandas")
    found = {}
    for a, b in combinations(evidence, 2):
        for metric in metrics:
            both = evidence[a], evidence[b]
            weaker = supported(metric, *both)
            one = Difference(np.nan, np.nan, np.nan, np.nan)
            if weaker:
                one = compared(metric, *both, weaker, level)
            found[a, b, str(metric)] = one._asdict() | {"assumption": weaker or ""}
    if not found:
        return pd.DataFrame(columns=[*Difference._fields, "assumption"])
    return table_of(found, ["a", "b", "metric"])


def _ways(metrics, evidence):
    known = {str(metric): metric for metric in metrics}

    def plan(metric, width):
        name = str(metric) if isinstance(metric, Metric) else str(chosen_metrics([metric])[0])
        if name not in known:
            raise ValueError(f"metric must be one of {list(known)}, got {metric!r}")
        return ways_to(known[name], width, evidence)

    return plan
