"""The metrics that use the grades of relevant items.

The gain of an item is its grade, as `recsample.metrics.graded` has it by default.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recsample._support.arrays import summed
from recsample._support.errors import InputError, Naming
from recsample._support.typing import Floats
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.ranking import DCG, DiscountedGain, NormalizedDCG
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.graded import Graded

# The metrics that use grades, and whether they divide by the best value that a user's grades allow.
# A subclass is none of them: it may have another discount.
DIVIDES = {DiscountedGain: False, NormalizedDCG: True}


def uses_grades(metric: Metric, grades: Sequence[float] | Floats) -> bool:
    """Whether such grades give a metric other values than relevance without grades."""
    if type(metric) not in DIVIDES:
        return False
    if DIVIDES[type(metric)]:
        return len(np.unique(grades)) > 1
    return bool(np.any(np.not_equal(grades, 1)))


def terms(metric: Metric, ranks: Graded) -> Floats:
    """What each relevant item adds to a metric that uses grades, in expectation over ties."""
    rows, dcg = ranks.rows, DCG(cutoff=metric.cutoff)
    found = ranks.grade * dcg(ranks.places)
    if DIVIDES[type(metric)]:
        ideal = ranks.grade[np.lexsort((-ranks.grade, rows.instance))]
        ideal = ideal * dcg(Ranks(rows.order, ranks.sizes[rows.instance]))
        found = found / summed(rows.instance, ideal, len(ranks))[rows.instance]
    return found


def values_of(metric: Metric, ranks: Ranks) -> Floats:
    """The metric of each user, by grades where there are some and it uses them."""
    if isinstance(ranks, Graded) and uses_grades(metric, ranks.grade):
        return summed(ranks.rows.instance, terms(metric, ranks), len(ranks))
    return metric(ranks)


def values_without(metric, ranks, missed):
    """The same where the last `missed` relevant items of each user are never found."""
    if not metric.additive:
        assert metric.cutoff is not None  # see `check_found`: beyond it nothing is found
        rows = ranks.rows
        beyond = np.where(_is_last(ranks, missed), rows.rank + metric.cutoff, rows.rank)
        return metric(ranks.at(beyond, ranks.sizes + metric.cutoff))
    rows, n_relevant = ranks.rows, ranks.n_relevant
    owner = rows.instance
    if isinstance(ranks, Graded) and uses_grades(metric, ranks.grade):
        term = terms(metric, ranks)
    else:
        term = metric.term(rows.rank, rows.order, n_relevant[owner], ranks.sizes[owner])
    out = np.where(_is_last(ranks, missed), term, 0.0)
    return values_of(metric, ranks) - summed(owner, out, len(ranks))


def _is_last(ranks, missed):
    rows = ranks.rows
    return rows.order > (ranks.n_relevant - missed)[rows.instance]


def check_found(metrics: Sequence[Metric]) -> None:
    """Refuse metrics that have no value where a relevant item is never found."""
    for one in metrics:
        at_a_cutoff = one.additive or one.cutoff is not None
        if isinstance(one.shape, Linear) or not (one.higher_is_better and at_a_cutoff):
            allowed = "must be 0 for an item that is never found where {unlisted: is 'missed'}"
            remedy = Naming("leave it out, or take {unlisted:='below'} or {unlisted:='open'}")
            got = f"{one}, which needs its rank"
            raise InputError("metrics", Naming(allowed)).got(got, remedy)


def ends_with_grades(metric: Metric, ranks: Ranks) -> tuple[float, float]:
    """A lowest and a highest value for users whose relevant items have any of these grades."""
    low, high = ends_of(metric, ranks)
    if not (isinstance(ranks, Graded) and uses_grades(metric, ranks.grade)):
        return low, high
    least, most = float(ranks.grade.min()), float(ranks.grade.max())
    if DIVIDES[type(metric)]:
        return low * least / most, high
    return low * least, high * most
