"""Ranks among items that were drawn: uniformly, or so that they only bound the ranks among all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from recsample._support.numerics import LEVEL, PERCENT, limits_of_mean, mean_of
from recsample._support.typing import Integers, Rng
from recsample.evaluation import say
from recsample.evaluation.findings import (
    IF_COLUMNS,
    Findings,
    RanksStudy,
    free_and_narrow,
    mean_of_defined,
    rungs,
    values_of_users,
)
from recsample.evaluation.grades import ends_with_grades
from recsample.evaluation.options import DRAWN
from recsample.evaluation.readings import readings_of
from recsample.inference.audit import AuditPlan, plan_audit
from recsample.inference.blind import BlindSpot, blind_spot
from recsample.inference.comparison import Comparison, compared
from recsample.inference.likelihood.sampled_run import REFUTED, SURPRISE, SampledRun, supported
from recsample.metrics.base import Metric
from recsample.metrics.ranking import Recall
from recsample.metrics.shapes import Linear
from recsample.ranks.checks import rows_of

_UNKNOWN = Comparison(*[np.nan] * 4)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled(RanksStudy):
    """Ranks among items that were drawn uniformly from pools of `n_items`.

    So it is `stated` by whoever asks, or known to this package. Beside an audit items may have been
    drawn otherwise, which `how` says.
    """

    how: str = "uniform"
    n_items: Integers
    replace: bool
    stated: bool

    @property
    def sizes(self) -> Integers:
        """The size of the pool of each user."""
        return np.broadcast_to(self.n_items, len(self.first))

    def part(self, users: Integers) -> Sampled:
        """The same for some of the users."""
        return replace(self, n_items=self.sizes[users], **self.of_users(users))

    def plan(self, metric: Metric, width: float, rng: Rng, exact: Any = None) -> AuditPlan:
        """An audit, which may go on from `exact` ranks."""
        if len(self.ranks) > 1 or self.groups is not None:
            return super().plan(metric, width, rng)
        about = metric, width, self.first, self.n_items, rng
        return plan_audit(*about, exact=exact, replace=self.replace)

    def evidence(self) -> dict[str, SampledRun]:
        """What the ranks of each recommender say under each assumption."""
        about = self.n_items, self.replace, self.metrics, len(self.ranks), self.groups
        return {name: SampledRun(ranks, *about) for name, ranks in self.ranks.items()}

    def findings(self) -> Findings:
        """All numbers and words."""
        evidence, metrics = self.evidence(), self.metrics
        fit = {
            name: {"p_value": run.misfit("none"), "p_corrected": run.fit}
            for name, run in evidence.items()
        }
        ladder = rungs(evidence, metrics, lambda name, *which: _limits(evidence[name], *which))
        rows = {(a, m): _row(run, m, ladder, a) for a, run in evidence.items() for m in metrics}
        first = next(iter(evidence.values()))
        blind = _blind(first, rows)
        several = any(map(_has_several, evidence.values()))
        plausible = [name for name, run in evidence.items() if run.fit >= REFUTED]
        readings, reading_pairs = readings_of(self, plausible)
        said = alarms(fit, self.stated, self.named)
        return Findings(
            **self.shared(),
            rows=rows,
            values=self.values(),
            ladder=ladder,
            fit=fit,
            pairs=self.pairs(rows, partial(_differences, evidence)),
            readings=readings,
            reading_pairs=reading_pairs,
            blind=blind,
            page="report",
            head=head(first) + say.groups_said(self.groups),
            limits=limits(blind),
            details=(*details([*rows.values()], self.stated, several, blind), *said),
            sentences={
                (a, m): sentence(m, row, source(evidence[a]), blind, fit[a]["p_corrected"])
                for (a, m), row in rows.items()
            },
            notes=(*_unpaired(self), *said),
        )


def _limits(run, metric, assumption):
    if run.contradicts(metric, assumption):
        return np.nan, np.nan
    return run.limits(metric, assumption, LEVEL)


def _row(run, metric, ladder, name):
    """An estimate and its limits, by the strongest assumption that the ranks do not contradict.

    There are none of either where the ranks can hardly come from such draws.
    """
    used: str = supported(metric, run) or ""
    limits = free_and_narrow(ladder, name, metric, used)
    value = run.estimate(metric) if used else np.nan
    if used == "none" and not (isinstance(metric.shape, Linear) or run.is_nearly_all):
        used = "contradicted"
    return {"value": value, **limits, "assumption": used, "sampled": run.mean(metric)}


def _blind(run, rows):
    if not any(row["assumption"] == "decreasing" for row in rows.values()):
        return None
    n, m = (mean_of(size, run.counts) for size in (run.sizes, run.sampled.n_irrelevant))
    return blind_spot(round(n), round(m), round(run.n_instances))


def _differences(evidence, metric, both, level):
    """Of the exact means of pairs of recommenders."""
    used = {(a, b): supported(metric, evidence[a], evidence[b]) for a, b in both}
    free = _compared(evidence, metric, [p for p in both if used[p]], "none", level)
    falling = [p for p in both if used[p] == "decreasing"]
    narrow = _compared(evidence, metric, falling, "decreasing", level)
    found = {}
    for pair in both:
        _, *limits = narrow.get(pair, _UNKNOWN)
        found[pair] = free.get(pair, _UNKNOWN)._asdict() | dict(zip(IF_COLUMNS, limits))
        found[pair]["assumption"] = used[pair] or ""
    return found


def _compared(evidence, metric, pairs, assumption, level):
    each = [(evidence[a], evidence[b]) for a, b in pairs]
    return dict(zip(pairs, compared(metric, each, assumption, level) if pairs else ()))


# In words.


def head(run: SampledRun) -> str:
    """What was ranked among what."""
    n_items = np.sum(run.different.n_relevant)
    items = f" with {n_items:,} relevant items" * _has_several(run)
    how = say.how_replaced(run.replace)
    return f"{run.n_instances:,} instances{items}: {_drawn(run)}, drawn {how} replacement."


def limits(blind: BlindSpot | None) -> str:
    """What the limits are."""
    return f"{PERCENT} limits assume nothing{say.narrow_said(blind)}."


_FREE = "without assumptions about the ranks"


def source(run: SampledRun) -> str:
    """What a sentence rests on."""
    return f"{run.n_instances:,} instances, {_drawn(run)}"


def sentence(
    metric: Metric, row: Mapping[str, Any], source: str, blind: BlindSpot | None, chance: float
) -> str:
    """An estimate and its limits, for a paper; `chance` is that of ranks that fit as badly."""
    word = say.rests_on(row)
    if word == "refuted":
        return f"{metric} has no estimate ({source}): {_rare(chance)}."
    value = f"The estimated {metric} is {row['value']:.3f}"
    limits = f"{PERCENT} limits {say.between(row)}"
    # Within these ranks the data do not show whether the assumption is true.
    is_seen = metric.cutoff is None or blind is None or metric.cutoff > blind.ranks
    if word == "contradicted":
        limits += f", {_FREE}; the data contradict that {say.FALLING}"
    elif word == "decreasing" and is_seen:
        limits += f"; {say.between(row, 'if_')} if {say.FALLING}"
    else:
        limits += f", {_FREE}"
    return f"{value} ({limits}; {source})."


def details(
    rows: Sequence[Mapping[str, Any]], stated: bool, several: bool, blind: BlindSpot | None
) -> tuple[str, ...]:
    """What else limits rest on, and what they do not cover."""
    said = [*say.draws_said(rows, stated, against_random=several)]
    if any(say.rests_on(row) != "not needed" for row in rows):
        said.append("Estimates are by the EM algorithm, and may be outside of the limits.")
    return (*said, str(blind or ""))


def alarms(fit: Mapping[str, Mapping[str, float]], stated: bool, named: bool) -> tuple[str, ...]:
    """What is said of recommenders whose ranks hardly come from the stated draws."""
    other = "what was stated of m, pools and draws is not so"
    if not stated:
        other = "ranks were changed, or users left out"
    said = []
    for name, row in fit.items():
        chance = row["p_corrected"]
        if chance < SURPRISE:
            rare = _rare(chance) + f" (p = {chance:.2g})" * (chance >= REFUTED)
            rare = f"{name}: {rare}" if named else rare.capitalize()
            said.append(f"{rare}: either this is that study, or {other}.")
    return tuple(said)


def _rare(chance):
    """How rare ranks like these are."""
    n = int(1 / max(chance, REFUTED))
    return f"ranks like these come from such draws in fewer than 1 of {n:,} studies"


def _unpaired(study):
    """Why no pair is compared."""
    if not study.pairable and len(study.ranks) > 1:
        yield (
            "no pair is compared, because RankCounts do not say which ranks belong to the same "
            "instance: Ranks do"
        )


def _drawn(run):
    return f"m = {say.span(run.different.n_irrelevant)} of {say.span(run.pools)} irrelevant items"


def _has_several(run):
    return bool((run.different.n_relevant > 1).any())


# Drawn in another way.

POOL = "All items are those of the pool that was drawn from, and none was drawn twice for a user."


@dataclass(frozen=True, eq=False, kw_only=True)
class Uncorrected(RanksStudy):
    """Ranks among drawn items, of which the ranks among all are only known to be no better.

    Where `how` says uniformly, they do not look like it. If one may be drawn twice, with `replace`,
    a rank among them may be worse than among all.
    """

    how: str
    replace: bool = False
    has_train: bool = True
    n_items: Integers | None = None  # of each pool, where it is stated

    def part(self, users: Integers) -> Uncorrected:
        """The same for some of the users."""
        sizes = self.n_items
        if sizes is not None:
            sizes = np.broadcast_to(sizes, len(self.first))[users]
        return replace(self, n_items=sizes, **self.of_users(users))

    def plan(self, metric: Metric, width: float, rng: Rng) -> AuditPlan:
        """An audit, for which it does not matter how items were drawn."""
        if self.n_items is None or len(self.ranks) > 1 or self.groups is not None:
            return super().plan(metric, width, rng)
        return plan_audit(metric, width, self.first, self.n_items, rng, replace=self.replace)

    def findings(self) -> Findings:
        """All numbers and words."""
        first, _ = rows_of(self.first)
        why, among = why_not(self.how), f"{say.span(first.n_irrelevant)} drawn items"
        unbounded = {m: _why_unbounded(self, m, first) for m in self.metrics}
        values = {
            (a, m): values_of_users(m, rows_of(one)[0])
            for a, one in self.ranks.items()
            for m in self.metrics
        }
        rows = {
            (a, m): _bound(self, m, self.ranks[a], of_users, not unbounded[m])
            for (a, m), of_users in values.items()
        }
        has_bounds = not all(unbounded.values())
        train = "If training items could not be drawn, give them as train=."
        exact = "Exact ranks of some users chosen at random, given to report, would tell more."
        is_unlikely = self.how == "uniform" and not self.has_train
        is_known = self.how == "shared" and self.n_items is not None
        users = say.users_said(first) if self.pairable else f"{len(self.first):,} users"
        limits = (
            f"{PERCENT} limits hold for any draw of different items" if has_bounds else "No limits"
        )
        return Findings(
            **self.shared(),
            rows=rows,
            values=values if self.pairable else {},
            readings=readings_of(self, self.ranks, has_limits=False)[0] if is_known else {},
            page="traps",
            head=f"{users}, each ranked among {among}.",
            limits=f"{limits}: {why}.",
            details=(*[POOL] * has_bounds, exact, *[train] * is_unlikely),
            sentences={
                (a, m): bound(m, row, unbounded[m], why, among) for (a, m), row in rows.items()
            },
        )


def _why_unbounded(study, metric, among):
    """Why ranks among drawn items give no limits of a metric, "" where they do."""
    if study.replace:
        return "an item may have been drawn twice"
    if study.how == "shared" and not isinstance(metric, type(Recall)):
        return "each item was ranked alone"
    if (among.n_relevant > 1).any() and not metric.additive:
        return "it may rise where one of several items ranks worse"
    if study.n_items is None and not is_of_rank_alone(metric, int(among.sizes.max())):
        return "it depends on the size of the pool, n_items"
    return ""


def _bound(study, metric, ranks, values, has_limits):
    """A metric among drawn items, and limits of it among all.

    No rank is better among all, nor worse by more than there are further items.
    """
    among, counts = rows_of(ranks)
    mean = mean_of(values, counts) if counts is not None else mean_of_defined(values)
    row = {"value": np.nan, "low": np.nan, "high": np.nan, "sampled": mean, "assumption": ""}
    if not has_limits:
        return row
    most, least, pool = values, np.zeros(len(values)), among
    if study.n_items is not None:
        sizes, places = np.broadcast_to(study.n_items, len(among)), among.rows
        further = (sizes - among.sizes)[places.instance]
        pool = among.at(places.rank, sizes)
        worst = among.at(places.rank + places.ties + further, sizes)
        ends = [values_of_users(metric, one) for one in (pool, worst)]
        least, most = np.minimum(*ends), np.maximum(*ends)
    lowest, highest = ends_with_grades(metric, pool)
    about = LEVEL, counts, (min(lowest, 0.0), highest), study.groups
    low, _ = limits_of_mean(least, *about)
    _, high = limits_of_mean(most, *about)
    return row | {"low": low, "high": high}


def is_of_rank_alone(metric: Metric, most: int) -> bool:
    """Whether a metric falls with the rank, and does not depend on the number of items."""
    rank = np.arange(1, most + 1)
    few, many = metric.of_rank(rank, most), metric.of_rank(rank, 10**9)
    return bool((np.diff(few) <= 0).all() and np.array_equal(few, many))


def bound(metric: Metric, row: Mapping[str, Any], unbounded: str, why: str, among: str) -> str:
    """Limits for a paper, or why there are none."""
    known = "" if np.isnan(row["sampled"]) else f" Among {among} it is {row['sampled']:.3f}."
    if unbounded:
        return f"Nothing is known of {metric} among all items, because {unbounded}.{known}"
    if row["low"] > 0:
        limits = f"{say.between(row)} ({PERCENT} limits)"
        return f"{metric} among all items is {limits}, however these were drawn: {why}.{known}"
    return (
        f"{metric} among all items is at most {row['high']:.3f} (upper {PERCENT} limit), since no "
        f"rank is better among more items. How much less it is is not known: {why}.{known}"
    )


def why_not(drawn: str) -> str:
    """Why there are no lower limits of what is ranked among all items."""
    if drawn == "shared":
        return "draws are shared"
    if drawn != "uniform":
        return f"items were drawn {drawn!r} ({DRAWN[drawn]})"
    return "the lists do not look like uniform draws from items new to the user (p < .0001)"
