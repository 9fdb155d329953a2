"""The third phase of an evaluation: which kind of study ranks of scores are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recsample._support.typing import Integers
from recsample.evaluation.exact import Exact
from recsample.evaluation.findings import Study
from recsample.evaluation.rank import Ranked, lists_said
from recsample.evaluation.runs import OverRuns, Runs
from recsample.evaluation.sampled import Sampled, Uncorrected
from recsample.metrics.base import Metric

# What items are that scores do not list, in a word or two.
_NOT_LISTED = {
    "missed": "never found",
    "below": "tied behind",
    "open": "somewhere behind",
    "out": "not ranked",
}


def infer(
    ranked: Ranked,
    metrics: Sequence[Metric],
    drawn: str | None,
    has_train: bool,
    groups: Integers | None,
    runs: Runs | None,
) -> Study:
    """The kind of study, by what was drawn, whose the ranks are, and what are runs of what."""
    about: dict[str, Any] = {
        "ranks": ranked.runs,
        "metrics": tuple(metrics),
        "named": ranked.named,
        "counts": ranked.counts,
        "grades": ranked.grades,
        "lists": _said(ranked.lists),
        "ties_are_stated": ranked.lists is not None and ranked.lists.unlisted == "below",
        "standings": ranked.standings,
        "groups": groups,
    }
    if (known := ranked.first.drawn) is not None:
        if known.how == "uniform":
            return Sampled(n_items=ranked.pools, replace=bool(known.replace), stated=False, **about)
        drawn = known.how
    if drawn in (None, "all"):
        about |= {"missed": ranked.missed, "best": ranked.best, "is_known": ranked.is_known}
        study = Exact(is_task=drawn == "all", **about)
        return study if runs is None else OverRuns(each=study, of=runs.of, named=runs.named)
    if drawn != "uniform" or not ranked.looks_uniform:
        repeats = known is not None and known.replace is not False
        return Uncorrected(how=drawn, replace=repeats, has_train=has_train, **about)
    return Sampled(n_items=ranked.pools, replace=False, stated=True, **about)


def _said(lists):
    """How long lists of scores are, and what is not listed, in words."""
    if lists is None:
        return ""
    behind = _NOT_LISTED.get(lists.unlisted or "", "")
    return f"Scores are {lists_said(lists)}; what is not listed is {behind}."
