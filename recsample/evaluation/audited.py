"""Exact ranks of some users beside the sampled ranks of all, however items were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from recsample._support.errors import InputError
from recsample._support.numerics import PERCENT
from recsample._support.typing import Floats, Integers, Rng
from recsample.evaluation import say
from recsample.evaluation.findings import Findings, Study, some_of
from recsample.evaluation.readings import readings_of
from recsample.evaluation.sampled import Sampled
from recsample.inference.audit import Audit, AuditPlan
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited(Study):
    """Sampled ranks of all users, drawn in any way, and the exact ranks of those `audited`.

    `chances` says how likely each user was to be audited; without them the choice was random.
    """

    sampled: Sampled
    exact: Mapping[str, Ranks]
    audited: Integers
    chances: Floats | None

    def part(self, users: Integers) -> Audited:
        """The same for some of the users."""
        inside = np.isin(self.audited, users)
        if inside.sum() < 2:
            allowed = "must hold at least two audited users each"
            raise InputError("segments", allowed).got(f"{inside.sum()} among {len(users)} users")
        return Audited(
            sampled=self.sampled.part(users),
            exact=some_of(self.exact, np.flatnonzero(inside)),
            audited=np.searchsorted(users, self.audited[inside]),
            chances=None if self.chances is None else self.chances[users],
        )

    def plan(self, metric: Metric, width: float, rng: Rng) -> AuditPlan:
        """An audit that goes on from this one."""
        if self.chances is not None:
            raise InputError("", "a plan goes on from users chosen at random").got("other chances")
        exact = self.audited, next(iter(self.exact.values()))
        return self.sampled.plan(metric, width, rng, exact)

    def findings(self) -> Findings:
        """All numbers and words."""
        study, first = self.sampled, self.sampled.first
        about = self.audited, study.sizes, study.replace, self.chances
        audits = {name: Audit(r, self.exact[name], *about) for name, r in study.ranks.items()}
        values = study.values()
        rows = {key: _row(audits[key[0]], key[1], x) for key, x in values.items()}

        pairs = study.pairs(rows, partial(_differences, audits))
        readings, reading_pairs = readings_of(study, study.ranks if study.how == "uniform" else ())
        how = "at random" if self.chances is None else "with stated chances"
        chosen = f"exact ranks of {len(self.audited):,} chosen {how}"
        pools = say.span(study.n_items - first.n_relevant)
        return Findings(
            **study.shared(),
            rows=rows,
            values=values,
            pairs=pairs,
            readings=readings,
            reading_pairs=reading_pairs,
            page="audit",
            head=head(first, pools, len(self.audited)),
            limits=f"{PERCENT} limits are for the mean over these users, by {chosen}.",
            details=details(bool(pairs)),
            sentences={
                (name, m): sentence(m, row, first, pools, chosen) for (name, m), row in rows.items()
            },
        )


def _row(audit, metric, sampled):
    mean = audit.mean(metric)
    return mean._asdict() | {"assumption": "audit", "sampled": float(sampled.mean())}


def _differences(audits, metric, both, level):
    means = {(a, b): audits[a].difference(audits[b], metric, level) for a, b in both}
    rest = {"assumption": "audit"}
    return {pair: mean.compared(level)._asdict() | rest for pair, mean in means.items()}


# In words.


def head(ranks: Ranks, pools: str, n_audited: int) -> str:
    """What was ranked among what."""
    return (
        f"{say.users_said(ranks)}: m = {say.span(ranks.n_irrelevant)} of {pools} irrelevant items "
        f"drawn for each, all ranked for {n_audited:,}."
    )


def sentence(metric: Metric, row: Mapping[str, Any], ranks: Ranks, pools: str, chosen: str) -> str:
    """A value and its limits, for a paper."""
    low, high = row["low_for_others"], row["high_for_others"]
    others = f", {low:.3f} to {high:.3f} for others" * (not np.isnan(low))
    return (
        f"{metric} is {row['value']:.3f} ({PERCENT} limits {say.between(row)} for these "
        f"{len(ranks):,} users{others}), from m = {say.span(ranks.n_irrelevant)} of "
        f"{pools} items and {chosen}."
    )


def details(has_pairs: bool) -> tuple[str, ...]:
    """What is assumed, and what a difference is."""
    nothing = (
        "They were chosen as wholes; nothing is assumed of the ranks, nor of how items were drawn."
    )
    own = "A difference is predicted for itself, and need not be that of the two values."
    return (nothing, *[own] * has_pairs)
