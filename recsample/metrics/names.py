"""Find metrics by name, including common names of other libraries."""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources

import numpy as np

from recsample._support.checks import shown
from recsample._support.errors import InputError
from recsample.metrics.base import NUMBERED, REGISTERED, Metric, check_usable, lowered, normalized
from recsample.metrics.ranking import AP  # with it, all of the field's metrics register

__all__ = ["every_metric", "metric"]


def metric(name: str) -> Metric:
    """The metric with a given name; the inverse of ``str(metric)``.

    Case does not matter, nor do spaces, hyphens and underscores. The `aliases` of each metric are
    read too: MRR is RR, MAP is AP, Hits and HR are HitRate; and names as other libraries write
    them, such as ndcg_cut_10, recall_at_10, P_5, cosine_mrr@10 or top_10_categorical_accuracy.
    Where only one library writes a name, its definition is taken: map_cut_10 (trec_eval) is
    AP(relevant)@10, and RetrievalMAP@10 (TorchMetrics) is AP(hits)@10. Accuracy@10 is HitRate@10.

    Parameters
    ----------
    name : str
        Such as "AUC", "ndcg@10", "F0.5@10", "AP(relevant)@5", "RankScore(5)" or "P_5".

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        For an unknown name, with the right spelling, or what to take in place of a metric that is
        not here; and a cut-off that is not a whole number above 0.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.metric("hit_rate@3"), rs.metric("Hits@3"), rs.metric("RankScore(5)")
    (HitRate@3, HitRate@3, RankScore(5))
    """
    return _read(name, ("name", "must be that of a metric"))


_FORM = re.compile(r"\s*([^()@]+?)\s*(?:\(([^()]*)\))?\s*(?:@\s*([\w.+-]+))?\s*")
_COSINE = "(?:cosine|cos_sim|dot|euclidean|manhattan)[-_]"  # of sentence-transformers
# What would be read as something else: OGB's values of each instance, accuracy in k places, and F.
_MISREAD = (
    (rf"(?:{_COSINE})?acc(?:uracy)? *@", "HitRate@"),
    (r"f[-_ ]?1?[-_ ]?(?:score|measure)", "F1"),
    (r"f([\d.]+)_(?:cut_|at_)?(\d+)$", r"F\1@\2"),
    (r"(.*)_list$", r"\1"),
)
# Names elsewhere and ours, each tried where the name is still unknown.
_ELSEWHERE = (
    (r"(?:\S*/|(?:both|head|tail)\.\w+\.)(\S+)", r"\1"),  # val/recall@10 of a log; PyKEEN
    (rf"{_COSINE}(.*)", r"\1"),
    (r"acc(?:uracy)?_at_(\d+)", r"HitRate@\1"),
    (r"(?:sparse_)?top_(\d+)_(?:categorical_)?accuracy", r"HitRate@\1"),  # Keras, TFRS
    (r"retrieval_?(?:map|average_?precision) *@ *(\d+)", r"AP(hits)@\1"),  # TorchMetrics
    (r"retrieval_?(.*)", r"\1"),
    (r"map_cut_(\d+)", r"AP(relevant)@\1"),  # trec_eval; who writes map_at_10 means either
    (r"(\w+?)(?:_cut|_at)?_(\d+)", r"\1@\2"),
    (r"rbp(\.\d+)", r"RBP(0\1)"),  # ranx
    (r"(.*)_score", r"\1"),  # scikit-learn
)


def _read(name, wanted):
    """The metric with this name; the error for an unknown one starts with `wanted`."""
    text = str(name).strip()
    for form, ours in _MISREAD:
        text = re.sub(f"^{form}", ours, text, flags=re.IGNORECASE)
    for form, ours in (("", ""), *_ELSEWHERE):
        text = re.sub(f"^{form}$", ours, text, flags=re.IGNORECASE)
        found = _FORM.fullmatch(text)
        base, option, cutoff = found.groups() if found else (text, None, None)
        if (known := _known(base, option)) is not None:
            if cutoff is None:
                return known
            return known @ (int(cutoff) if cutoff.isdecimal() and len(cutoff) < 20 else cutoff)
    asked = normalized(base if option is None else f"{base}({option})")
    raise InputError(*wanted).got(repr(name), _others().get(asked) or _nearest(normalized(base)))


@lru_cache
def _others():
    """What to take for a metric that is not here, or why not, by its normalized names."""
    table = resources.files("recsample").joinpath("data/other_metrics.csv")
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    return {name: row["instead"] for row in rows for name in row["names"].split()}


def _nearest(name):
    """Of a misspelt name the metrics, of any other one all: similar names mean other things."""
    labels = {type(one): one.label() for one in reversed(every_metric())}
    # One more letter in front, or at two letters, is no slip but another metric: gAUC, ERR.
    similar = [one for one in REGISTERED if name[:1] == one[0] and (len(one) > 2 or one == name)]
    near = [labels[REGISTERED[one]] for one in get_close_matches(name, similar, cutoff=0.72)]
    found = ", ".join(dict.fromkeys(near or reversed(labels.values())))
    return f"; nearest: {found}" if near else f"; there are {found}"


def _known(base, option):
    """The metric for a name and an option, without cut-off; None if unknown."""
    cls, number = REGISTERED.get(normalized(base)), NUMBERED.fullmatch(lowered(base))
    if cls is None or (number and option is not None):
        return None
    if number:
        return cls(number[1])
    options, needed = _options_of(cls)
    if option is not None:
        return cls(option.strip().lower()) if option and options else None
    # F needs its number.
    return None if needed or NUMBERED.fullmatch(cls().label().lower()) else cls()


@lru_cache
def _options_of(cls):
    """The options of a class except the cut-off, and those without a default."""
    options = [p for p in inspect.signature(cls).parameters.values() if p.name != "cutoff"]
    return options, [p for p in options if p.default is p.empty]


def every_metric() -> list[Metric]:
    """All named metrics, without cut-off, including your own.

    Returns
    -------
    list of Metric
        Each with its default options, if it has defaults, and with those in its `examples`.

    Examples
    --------
    >>> import recsample as rs
    >>> [str(m) for m in rs.metrics.every_metric()][:5]
    ['AUC', 'Precision', 'Recall', 'F1', 'F2']
    """
    classes = [cls for cls in dict.fromkeys(REGISTERED.values()) if not inspect.isabstract(cls)]
    ready = ([] if _options_of(cls)[1] else [cls()] for cls in classes)
    return [m for cls, one in zip(classes, ready) for m in (*one, *map(cls, cls.examples))]


# Metrics as arguments: a metric, or its name.

_ONE = "metric", f"must be a Metric such as {AP} or Recall @ 10, or the name of one"
_SEVERAL = "metrics", f"must hold metrics such as {AP} or Recall @ 10, or their names"


def the_metric(metric: Metric | str, wanted: tuple[str, str] = _ONE) -> Metric:
    """Return the metric that an argument is or names; refuse a missing cut-off."""
    if isinstance(metric, str):
        metric = _read(metric, wanted)
    if not isinstance(metric, Metric):
        raise InputError(*wanted).got(shown(metric))
    check_usable(metric)
    return metric


def exact_metric(metric: Metric | str) -> Metric:
    """Return the metric that an argument is or names; refuse corrections, for sampled ranks."""
    found = the_metric(metric)
    if found.sampler is not None:
        allowed = "must be a metric of exact ranks such as AP"
        raise InputError("metric", allowed).got(f"{found}, which reads what {found.sampler} gives")
    return found


def chosen_metrics(metrics: Sequence[Metric | str]) -> list[Metric]:
    """Return the distinct metrics in a list argument; refuse an empty list."""
    if isinstance(metrics, (str, Metric)) or not np.iterable(metrics):
        raise InputError("metrics", "must be a list of metrics").got(shown(metrics))
    found = [the_metric(one, _SEVERAL) for one in metrics]
    if not found:
        raise InputError("metrics", "must hold at least one metric").got("none")
    try:
        return list(dict.fromkeys(found))
    except TypeError as error:
        allowed = "must hold metrics that are frozen and hold no lists"
        raise InputError("metrics", allowed).got(error) from None
