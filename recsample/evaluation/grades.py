"""The metrics that use the grades of relevant items.

The gain of an item is its grade, as `recsample.metrics.graded` has it by default.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recsample._support.arrays import summed
from recsample._support.typing import Floats
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.ranking import DCG, DiscountedGain, NormalizedDCG
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


def span_of(metric: Metric, ranks: Ranks) -> tuple[float, float]:
    """A lowest and a highest value for users whose relevant items have any of these grades."""
    low, high = ends_of(metric, ranks)
    if not (isinstance(ranks, Graded) and uses_grades(metric, ranks.grade)):
        return low, high
    least, most = float(ranks.grade.min()), float(ranks.grade.max())
    if DIVIDES[type(metric)]:
        return low * least / most, high
    return low * least, high * most


def grades_said(metrics: Sequence[Metric], grades: Sequence[float]) -> str:
    """What metrics make of several grades, or of one that is a gain."""
    used = [str(m) for m in metrics if uses_grades(m, grades)]
    other = [str(m) for m in metrics if str(m) not in used]
    said = []
    if used:
        ends = " to ".join(dict.fromkeys(f"{grade:g}" for grade in (grades[0], grades[-1])))
        said.append(f"Gains in {_listing(used)} are linear, the grades themselves ({ends}).")
    if other and len(grades) > 1:
        said.append(f"In {_listing(other)} every grade above 0 counts alike.")
    return " ".join(said)


def _listing(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
