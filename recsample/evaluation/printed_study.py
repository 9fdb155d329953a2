"""Printed numbers of recommenders, for which each of several studies may have been made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from recsample._support.numerics import LEVEL, PERCENT
from recsample.evaluation import say
from recsample.evaluation.findings import (
    COLUMNS_OF_PAIRS,
    Findings,
    Study,
    better,
    free_and_narrow,
    rungs,
)
from recsample.evaluation.printed import called
from recsample.inference.blind import BlindSpot, blind_spot
from recsample.inference.published import Printed, PrintedStudy, Reading, terms_of
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AveragePrecision


@dataclass(frozen=True, eq=False, kw_only=True)
class PrintedNumbers(Study):
    """Numbers by recommender, "" for one that is not `named`; `studies` are all that may be."""

    numbers: Mapping[str, Sequence[Printed]]
    metrics: tuple[Metric, ...]
    named: bool
    counts: Mapping[tuple[str, str], int]
    studies: tuple[PrintedStudy, ...]

    def findings(self) -> Findings:
        """All numbers and words; numbers that no study explains are refused."""
        readings = _possible(self)
        ladder = rungs(
            self.numbers,
            self.metrics,
            lambda *which: _hull(reading.limits(*which) for reading in readings),
        )
        rows = {
            (name, m): _row(numbers, m, ladder, name, self.studies[0].m)
            for name, numbers in self.numbers.items()
            for m in self.metrics
        }
        blind = _blind(self.studies, rows)
        n = sum(map(len, self.numbers.values()))
        n_users, draws = self.studies[0].n_users, draws_of(self.studies)
        return Findings(
            recommenders=tuple(self.numbers),
            metrics=self.metrics,
            named=self.named,
            counts=self.counts,
            rows=rows,
            ladder=ladder,
            pairs=_pairs(readings, rows),
            blind=blind,
            has_values=False,
            page="audit",
            head=head(n, n_users, draws),
            limits=limits(blind),
            details=details([*rows.values()], blind),
            sentences={
                (name, m): sentence(m, row, n, n_users, draws) for (name, m), row in rows.items()
            },
        )


def _possible(study):
    """The readings under which the numbers of every recommender are possible."""
    readings = _readings(study)
    clashes = [
        [(name, clash) for name in study.numbers if (clash := reading.clash(name))]
        for reading in readings
    ]
    possible = [reading for reading, clashing in zip(readings, clashes) if not clashing]
    if not possible:
        name, clash = clashes[0][0]
        raise ValueError(
            f"{called(name)} must be possible together for {_among(study.studies)}, got "
            f"{', '.join(map(_as_written, clash))}: look for a misprint, for another cut-off, m, "
            "n_items or draw, or for numbers that are each the best of many epochs"
        )
    return possible


def _readings(study):
    """All that may have been done, with limits for all numbers at once."""
    n_numbers = sum(map(len, study.numbers.values()))
    # Of one relevant item, AP within the best k is the share of k or of 1.
    printed = {number.metric for numbers in study.numbers.values() for number in numbers}
    by_k = {metric: replace(metric, over="k") for metric in printed if _is_cut(metric)}
    found = []
    for design, other in product(study.studies, [{}, by_k] if by_k else [{}]):
        numbers = {
            name: [n._replace(metric=other.get(n.metric, n.metric)) for n in of]
            for name, of in study.numbers.items()
        }
        found.append(Reading(design, numbers, study.metrics, (1 - LEVEL) / n_numbers))
    return found


def _is_cut(metric):
    is_ap = isinstance(metric, AveragePrecision)
    return is_ap and metric.cutoff is not None and metric.over == "best"


def _hull(limits):
    """From the lowest to the highest of some limits; NaN where there are none."""
    ends = [pair for pair in limits if pair is not None]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (np.nan,) * 2


def _row(numbers, metric, ladder, name, m):
    is_possible = not np.isnan(ladder[name, metric, "decreasing"]["low"])
    used = "decreasing" if is_possible else "contradicted"
    # Recall and the hit rate of one relevant item are one.
    terms = terms_of(metric, m)
    same = [n.value for n in numbers if np.array_equal(terms_of(n.metric, m), terms)]
    limits = free_and_narrow(ladder, name, metric, used)
    sampled = same[0] if same else np.nan
    return {"value": np.nan, **limits, "assumption": used, "sampled": sampled}


def _pairs(readings, rows):
    """Differences under the same reading, decided where their limits exclude 0."""
    names = dict.fromkeys(name for name, _ in rows)
    metrics = dict.fromkeys(metric for _, metric in rows)
    both = product(combinations(names, 2), metrics)
    return {(a, b, m): _difference(readings, rows, a, b, m) for (a, b), m in both}


def _difference(readings, rows, a, b, metric):
    rest = {rows[name, metric]["assumption"] for name in (a, b)}
    used = "" if "contradicted" in rest else "decreasing"
    found: dict[str, Any] = {"assumption": used or "none", "difference": np.nan}
    for prefix, assumed in {"": "none", "if_": used}.items():
        known = readings if assumed else []
        each = [[reading.limits(name, metric, assumed) for name in (a, b)] for reading in known]
        low, high = _hull((a[0] - b[1], a[1] - b[0]) for a, b in each if a and b)
        sign = 1 if low > 0 else -1 if high < 0 else 0
        ahead = better(metric, a, b, sign) if sign else "undecided" if assumed else None
        apart = {"low": low, "high": high, "probability": np.nan, "ahead": ahead}
        found |= {prefix + what: value for what, value in apart.items()}
    return {column: found[column] for column in COLUMNS_OF_PAIRS}


def _blind(studies, rows):
    if not any(row["assumption"] == "decreasing" for row in rows.values()):
        return None
    spots = [blind_spot(study.pools[1], study.m, study.n_users) for study in studies]
    # How often limits from a whole column fail is not recorded of those from its means.
    return max(spots, key=lambda spot: spot.ranks)._replace(fails=np.nan)


# In words.


def head(n_numbers: int, n_users: int, draws: str) -> str:
    """What was ranked among what."""
    return f"{n_numbers} printed number{'s' * (n_numbers > 1)}, {n_users:,} users: {draws}."


def limits(blind: BlindSpot | None) -> str:
    """What the limits are."""
    return f"{PERCENT} limits hold at once{say.narrow_said(blind)}."


def sentence(
    metric: Metric, row: Mapping[str, Any], n_numbers: int, n_users: int, draws: str
) -> str:
    """Limits, for a paper."""
    narrow, at_once = "", f"{n_numbers} number{'s' * (n_numbers > 1)} at once"
    if row["assumption"] == "decreasing":
        narrow = f"; {say.between(row, 'if_')} if {say.FALLING}"
    return (
        f"{metric} is {say.between(row)} ({PERCENT} limits, {at_once}{narrow}), from "
        f"{n_users:,} users, {draws}."
    )


def details(rows: Sequence[Mapping[str, Any]], blind: BlindSpot | None) -> tuple[str, ...]:
    """What else limits rest on, and what they do not cover."""
    single = (
        "Each user has one held-out item. Numbers that are each the best of many epochs are not "
        "covered."
    )
    return (*say.draws_said(rows, stated=True, against_random=False), str(blind or ""), single)


def draws_of(studies: Sequence[PrintedStudy]) -> str:
    """What was drawn, as far as it is known."""
    several = " or ".join(dict.fromkeys(f"{study.m:,}" for study in studies))
    return f"m = {several} of {say.span(np.array(studies[0].pools) - 1)} irrelevant items"


def _among(studies):
    how = " or ".join(dict.fromkeys(say.how_replaced(study.replace) for study in studies))
    return f"{draws_of(studies)}, drawn uniformly {how} replacement"


def _as_written(number):
    """A number of a table with its name, as it was printed."""
    digits = max(0, round(-np.log10(2 * number.half)))
    return f"{number.name} = {number.value:.{digits}f}"
