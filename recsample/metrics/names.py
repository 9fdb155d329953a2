"""Metrics by their names: those that they print, and those in use elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from recsample._support.checks import shown
from recsample.metrics.base import Metric
from recsample.metrics.ranking import (
    AP,
    AR,
    AUC,
    DCG,
    F1,
    NDCG,
    RBP,
    RR,
    Accuracy,
    AveragePrecision,
    FScore,
    HitRate,
    PercentileRank,
    Precision,
    RankScore,
    Recall,
    RPrecision,
)

__all__ = [
    "metric",
]


_BY_NAME = {
    str(m).lower(): m
    for m in (
        *(AUC, Precision, Recall, F1, RPrecision, AP, AR, DCG, NDCG, RR, HitRate, Accuracy),
        PercentileRank,
    )
}
_WITH_ARGUMENT = {"ap": AveragePrecision, "f": FScore, "rankscore": RankScore, "rbp": RBP}
# What other libraries call them.
_ALIASES = {
    "acc": "accuracy",
    "hit": "hitrate",
    "hitratio": "hitrate",
    "hits": "hitrate",
    "hr": "hitrate",
    "success": "hitrate",
    "map": "ap",
    "mar": "ar",
    "mpr": "percentilerank",
    "mrr": "rr",
    "p": "precision",
    "r": "recall",
    "rprec": "rprecision",
}


def metric(name: str) -> Metric:
    """The metric of a given name, as ``str`` of a metric prints it.

    Case does not matter, nor do spaces, hyphens and underscores. Names in use elsewhere are
    understood too: MRR is RR, MAP is AP, MAR is AR, P is Precision, R is Recall, and Hits, Hit, HR,
    HitRatio and Success are HitRate.

    Parameters
    ----------
    name : str
        Such as "AUC", "ndcg@10", "F0.5@10", "AP(relevant)@5" or "RankScore(5)".

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        For a name that is not known, where the message lists the nearest ones, and for a cut-off
        that is not a whole number of at least 1.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.metric("ndcg@10")
    NDCG@10
    >>> rs.metric("RankScore(5)") == rs.RankScore(5)
    True
    >>> rs.metric("hit_rate@3"), rs.metric("Hits@3")
    (HitRate@3, HitRate@3)
    """
    found = re.fullmatch(r"\s*([^()@]+?)\s*(?:\(([^()]*)\))?\s*(?:@\s*([\w.+-]+))?\s*", str(name))
    parts: tuple[Any, ...] = found.groups() if found else (str(name), None, None)
    base, argument, cutoff = parts
    spelt = re.sub(r"[\s_-]", "", base.lower())
    spelt = _ALIASES.get(spelt, spelt)
    beta = re.fullmatch(r"f(\d.*|\.\d+)", base.lower())
    if spelt in _WITH_ARGUMENT and argument:
        known: Metric = _WITH_ARGUMENT[spelt](argument.strip().lower())
    elif beta and argument is None:
        known = FScore(beta[1])  # type: ignore[arg-type]  # a number is read off the text
    elif spelt in _BY_NAME and argument is None:
        known = _BY_NAME[spelt]
    else:
        raise ValueError(
            f"name must be that of a metric, got {name!r}; nearest: {', '.join(_nearest(spelt))}"
        )
    if cutoff is None:
        return known
    return known @ (int(cutoff) if cutoff.isdecimal() and len(cutoff) < 20 else cutoff)


def _nearest(name):
    """The names of metrics that look most like `name`, or all of them."""
    names = [str(m) for m in _BY_NAME.values()] + ["RankScore(5)", "RBP(0.8)"]
    spelt = {n.lower(): n for n in names}
    return [spelt[n] for n in get_close_matches(name, spelt, n=3, cutoff=0.3)] or names


# A list of metrics that a function is given, by themselves or by their names.


def chosen_metrics(metrics: Sequence[Metric | str]) -> list[Metric]:
    """The different metrics, with their names read; refuses what is not a list of at least one."""
    if isinstance(metrics, (str, Metric)) or not np.iterable(metrics):
        raise ValueError(f"metrics must be a list of metrics, got {shown(metrics)}")
    found = [one if isinstance(one, Metric) else metric(one) for one in metrics]
    if not found:
        raise ValueError("metrics must hold at least one metric, got none")
    for one in found:
        one.check_cutoff()
    return list(dict.fromkeys(found))
