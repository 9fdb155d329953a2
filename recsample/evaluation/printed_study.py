"""Printed numbers of recommenders, for which each of several studies may have been made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from recsample._support.errors import InputError, Naming
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
from recsample.evaluation.readings import COLUMNS, cutoffs_over, reading_of_mean
from recsample.evaluation.readings import COLUMNS_OF_PAIRS as COLUMNS_OF_PAIRS_READ
from recsample.evaluation.sampled import POOL, bound, is_of_rank_alone, why_not
from recsample.inference.blind import BlindSpot, blind_spot
from recsample.inference.published import Explanation, Printed, PrintedStudy, terms_of
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AveragePrecision
from recsample.sampling.cutoffs import falls


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(Study):
    """Numbers by recommender, "" for one that is not `named`; `studies` are all that may be."""

    numbers: Mapping[str, Sequence[Printed]]
    metrics: tuple[Metric, ...]
    named: bool
    counts: Mapping[tuple[str, str], int]
    studies: tuple[PrintedStudy, ...]

    @property
    def n_numbers(self) -> int:
        """How many numbers there are, of all recommenders."""
        return sum(map(len, self.numbers.values()))

    def shared(self) -> dict[str, Any]:
        """The findings of all tables."""
        return {
            "recommenders": tuple(self.numbers),
            "metrics": self.metrics,
            "named": self.named,
            "counts": self.counts,
            "has_values": False,
            "page": "reread",
        }


class PrintedNumbers(Table):
    """Numbers among items that were drawn uniformly."""

    def findings(self) -> Findings:
        """All numbers and words; numbers that no study explains are refused."""
        possible = possible_of(self)
        ladder = rungs(
            self.numbers, self.metrics, lambda *which: _hull(one.limits(*which) for one in possible)
        )
        rows = {
            (name, m): _row(numbers, m, ladder, name, self.studies[0].m)
            for name, numbers in self.numbers.items()
            for m in self.metrics
        }
        blind = _blind(self.studies, rows)
        by_study = _readings(possible, rows)
        read = _whichever(by_study)
        n, n_users, draws = self.n_numbers, self.studies[0].n_users, draws_of(self.studies)
        return Findings(
            **self.shared(),
            rows=rows,
            ladder=ladder,
            pairs=_pairs(possible, rows),
            readings=read,
            reading_pairs=_read_pairs(by_study, read),
            blind=blind,
            head=head(n, n_users, draws),
            limits=f"{PERCENT} limits hold at once{say.narrow_said(blind)}.",
            details=details([*rows.values()], blind),
            sentences={
                (name, m): sentence(m, row, n, n_users, draws) for (name, m), row in rows.items()
            },
        )


def possible_of(study: Table) -> list[Explanation]:
    """The explanations under which the numbers of every recommender are possible."""
    explanations = _all_of(study)
    clashes = [
        [(name, clash) for name in study.numbers if (clash := one.clash(name))]
        for one in explanations
    ]
    possible = [one for one, clashing in zip(explanations, clashes) if not clashing]
    if not possible:
        name, clash = clashes[0][0]
        same = "the same users with one relevant item each"
        of = _among(study.studies) if explanations[0].of_same_users(clash) else same
        allowed = f"must be possible together for {of}"
        remedy = (
            "look for a misprint, for several relevant items of a user, which are not read here, "
            "for another cut-off, {m}, {n_items} or draw, or for numbers that are each the best of "
            "many epochs"
        )
        got = ", ".join(map(_as_written, clash))
        raise InputError(called(name), allowed).got(got, Naming(remedy))
    return possible


def _all_of(study):
    """All that may have been done, with limits for all numbers at once."""
    # Of one relevant item, AP within the best k is the share of k or of 1.
    printed = {number.metric for numbers in study.numbers.values() for number in numbers}
    by_k = {metric: replace(metric, over="k") for metric in printed if _is_cut(metric)}
    found = []
    for design, other in product(study.studies, [{}, by_k] if by_k else [{}]):
        numbers = {
            name: [n._replace(metric=other.get(n.metric, n.metric)) for n in of]
            for name, of in study.numbers.items()
        }
        found.append(Explanation(design, numbers, study.metrics, (1 - LEVEL) / study.n_numbers))
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
    limits = free_and_narrow(ladder, name, metric, used)
    sampled = _sampled(numbers, metric, m)
    return {"value": np.nan, **limits, "assumption": used, "sampled": sampled}


def _sampled(numbers, metric, m):
    """The printed value of a metric; Recall and the hit rate of one relevant item are one."""
    terms = terms_of(metric, m)
    same = [n.value for n in numbers if np.array_equal(terms_of(n.metric, m), terms)]
    return same[0] if same else np.nan


def _readings(possible, rows):
    """By study that may have been made: what the numbers read of exact Recall@K."""
    read = [key for key, row in rows.items() if not np.isnan(row["sampled"])]
    read = [key for key in read if all(falls(key[1], one.study.m) for one in possible)]
    return [{key: _reading(one, *key, rows[key]["sampled"]) for key in read} for one in possible]


def _reading(one, name, metric, mean):
    m, sizes, replaced = one.study.m, np.array(one.study.pools), one.study.replace
    ends = one.limits_as_sampled(name, metric)
    value, *limits = (reading_of_mean(metric, m, x) for x in (mean, *ends))
    cutoffs = cutoffs_over(metric, [(m, n) for n in {*sizes}], replaced)
    return dict(zip(COLUMNS, (value, *np.clip(limits, 0.0, 1.0).tolist(), *cutoffs)))


def _whichever(each):
    """One row for what several studies read: what differs is not named, limits hold for all."""
    found = {}
    for key in each[0]:
        of_each = {column: np.array([rows[key][column] for rows in each]) for column in COLUMNS}
        row = {column: x[0] if np.ptp(x) == 0 else np.nan for column, x in of_each.items()}
        row |= {column: of_each[column].min() for column in ("low", "cutoff_low")}
        row |= {column: of_each[column].max() for column in ("high", "cutoff_high")}
        found[key] = {column: float(x) for column, x in row.items()}
    return found


def _read_pairs(each, rows):
    """Differences of readings by each study; decided where the limits of all exclude 0."""
    found = {}
    for (a, m), (b, other) in combinations(rows, 2):
        if m == other:
            both = [(one[a, m], one[b, m]) for one in each]
            low, high = _hull((x["low"] - y["high"], x["high"] - y["low"]) for x, y in both)
            apart = rows[a, m]["value"] - rows[b, m]["value"], low, high, np.nan
            found[a, b, m] = dict(zip(COLUMNS_OF_PAIRS_READ, (*apart, _ahead(m, a, b, low, high))))
    return found


def _ahead(metric, a, b, low, high):
    sign = 1 if low > 0 else -1 if high < 0 else 0
    return better(metric, a, b, sign) if sign else "undecided"


def _pairs(possible, rows):
    """Differences under the same explanation, decided where their limits exclude 0."""
    names = dict.fromkeys(name for name, _ in rows)
    metrics = dict.fromkeys(metric for _, metric in rows)
    both = product(combinations(names, 2), metrics)
    return {(a, b, m): _difference(possible, rows, a, b, m) for (a, b), m in both}


def _difference(possible, rows, a, b, metric):
    rest = {rows[name, metric]["assumption"] for name in (a, b)}
    used = "" if "contradicted" in rest else "decreasing"
    found: dict[str, Any] = {"assumption": used or "none", "difference": np.nan}
    for prefix, assumed in {"": "none", "if_": used}.items():
        known = possible if assumed else []
        each = [[one.limits(name, metric, assumed) for name in (a, b)] for one in known]
        low, high = _hull((a[0] - b[1], a[1] - b[0]) for a, b in each if a and b)
        ahead = _ahead(metric, a, b, low, high) if assumed else None
        apart = {"low": low, "high": high, "probability": np.nan, "ahead": ahead}
        found |= {prefix + what: value for what, value in apart.items()}
    return {column: found[column] for column in COLUMNS_OF_PAIRS}


def _blind(studies, rows):
    if not any(row["assumption"] == "decreasing" for row in rows.values()):
        return None
    spots = [blind_spot(study.pools[1], study.m, study.n_users) for study in studies]
    # How often limits from a whole column fail is not recorded of those from its means.
    return max(spots, key=lambda spot: spot.ranks)._replace(fails=np.nan)


# Drawn in another way.


@dataclass(frozen=True, eq=False, kw_only=True)
class PrintedBounds(Table):
    """The same of numbers among items that were `drawn` in another way."""

    drawn: str

    def findings(self) -> Findings:
        """All numbers and words; numbers that clash are refused."""
        possible, m = possible_of(self), self.studies[0].m
        of_pool = "it depends on the size of the pool"
        unbounded = {x: of_pool * (not is_of_rank_alone(x, m + 1)) for x in self.metrics}
        rows: dict[tuple[str, Metric], dict[str, Any]] = {}
        for name, metric in product(self.numbers, self.metrics):
            known = [] if unbounded[metric] else possible
            _, high = _hull(one.limits(name, metric, "none") for one in known)
            ends = {"value": np.nan, "low": 0 * high, "high": high, "assumption": ""}
            rows[name, metric] = ends | {"sampled": _sampled(self.numbers[name], metric, m)}
        why, among = why_not(self.drawn), f"m = {_either(self.studies)} drawn items"
        return Findings(
            **self.shared(),
            rows=rows,
            head=head(self.n_numbers, self.studies[0].n_users, among),
            limits=f"{PERCENT} limits hold at once for any draw of different items: {why}.",
            details=(POOL, SINGLE),
            sentences={
                (a, x): bound(x, row, unbounded[x], why, among) for (a, x), row in rows.items()
            },
        )


# In words.

SINGLE = (
    "Numbers of several relevant items per user, and numbers that are each the best of many "
    "epochs, are not covered."
)


def head(n_numbers: int, n_users: int, draws: str) -> str:
    """What was ranked among what."""
    numbers = f"{n_numbers} printed number{'s' * (n_numbers > 1)}"
    return f"{numbers}, {n_users:,} users with one relevant item each: {draws}."


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
    return (*say.draws_said(rows, stated=True, against_random=False), str(blind or ""), SINGLE)


def draws_of(studies: Sequence[PrintedStudy]) -> str:
    """What was drawn, as far as it is known."""
    return f"m = {_either(studies)} of {say.span(np.array(studies[0].pools) - 1)} irrelevant items"


def _either(studies):
    """How many items were drawn, or may have been."""
    return " or ".join(dict.fromkeys(f"{study.m:,}" for study in studies))


def _among(studies):
    if not studies[0].uniform:
        return f"m = {_either(studies)} different items, however these were drawn"
    how = " or ".join(dict.fromkeys(say.how_replaced(study.replace) for study in studies))
    return f"{draws_of(studies)}, drawn uniformly {how} replacement"


def _as_written(number):
    """A number of a table with its name, as it was printed."""
    digits = max(0, round(-np.log10(2 * number.half)))
    return f"{number.name} = {number.value:.{digits}f}"
