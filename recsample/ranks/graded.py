"""Ranks of relevant items that have grades, and may share a score though their grades differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from recsample._support.arrays import counted, entries_of
from recsample._support.typing import Floats
from recsample._support.values import read_only
from recsample.ranks import order
from recsample.ranks.base import Ranks


class Graded(Ranks):
    """Ranks with the `grade` of each row, and where it may stand: `places`, an instance for each.

    Items with one score are each as likely in any place that these share, so that the mean over
    their orders is the sum over items as if each stood alone among ties.
    """

    grade: Floats
    places: Ranks

    def __init__(self, ranks: Ranks, grade: Floats, places: Ranks) -> None:
        vars(self).update(vars(ranks), grade=read_only(grade), places=places)

    def _content(self) -> tuple[Any, ...]:
        return (*super()._content(), self.grade, self.places)

    def __getitem__(self, users: Any) -> Graded:
        which = entries_of(self.n_relevant, self._numbers(users))
        return Graded(super().__getitem__(users), self.grade[which], self.places[which])


def with_grades(ranks: Ranks, scores: Floats, grades: Floats) -> Graded:
    """The ranks with the grades of the relevant items, which stand user by user."""
    rows = ranks.rows
    keys = np.stack([-order.strength(scores), rows.instance])
    best_first = np.lexsort(keys)
    keys = keys[:, best_first]
    starts = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
    group = np.cumsum(starts) - 1
    ties = rows.ties + counted(group, starts.sum())[group] - 1
    places = Ranks(rows.rank[starts][group], ranks.sizes[rows.instance], ties=ties)
    return Graded(ranks, grades[best_first], places)
