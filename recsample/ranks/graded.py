"""Ranks of relevant items with grades; items with different grades may have the same score."""

from __future__ import annotations

from typing import Any

import numpy as np

from recsample._support.arrays import counted, entries_of
from recsample._support.typing import Floats
from recsample._support.values import read_only
from recsample.ranks import order
from recsample.ranks.base import Ranks


class Graded(Ranks):
    """Ranks with the `grade` of each row, and its possible ranks: `places`, an instance per row.

    Each of several items with one score is equally likely at each of their shared ranks, so the
    mean over their orders is a sum over items, each with all others as its ties.
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
    """The ranks with the grades of the relevant items; scores and grades are user by user."""
    rows = ranks.rows
    keys = np.stack([-order.strength(scores), rows.instance])
    best_first = np.lexsort(keys)
    keys = keys[:, best_first]
    starts = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))
    group = np.cumsum(starts) - 1
    ties = rows.ties + counted(group, starts.sum())[group] - 1
    places = Ranks(rows.rank[starts][group], ranks.sizes[rows.instance], ties=ties)
    return Graded(ranks, grades[best_first], places)
