"""How the rows of a report are read, where a user has several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support import frames
from recsample._support.arrays import counted, split, starts_of
from recsample._support.checks import one_or_each, refuse_first, shown
from recsample._support.extras import extra
from recsample._support.typing import Integers
from recsample.evaluation.groups import names_of, numbered, several
from recsample.evaluation.options import ROWS, check_word, with_meanings
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_relevant
from recsample.ranks.counts import RankCounts


class Users(NamedTuple):
    """Who has the rows of a report: the number of the user of each, and the names of the users."""

    which: Integers
    names: NDArray[Any]

    @property
    def n_rows(self) -> Integers:
        """Of each user."""
        return counted(self.which, len(self.names))

    def each(self, argument: str, given: ArrayLike) -> Any:
        """What is stated of each row, once for each user; one number for all stays one."""
        values = one_or_each(argument, given, len(self.which), lowest=0)
        found = values[np.unique(self.which, return_index=True)[1]]
        wrong = f"{argument} must be the same in all rows of a user, got {{}} and {{}} for {{!r}}"
        first, user = found[self.which], self.names[self.which]
        refuse_first(values != first, wrong, first, values, user)
        return found if np.ndim(given) else given

    def in_lists(self, ranks: Integers, m: ArrayLike) -> Ranks:
        """Ranks of which those of a user stand in one list."""
        length = self.each("m", m) + self.n_rows
        most, user = length[self.which], self.names[self.which]
        beyond = "sampled must hold ranks up to m and the rows of the user, {}, got {} for {!r}"
        refuse_first(ranks > most, beyond, most, ranks, user)
        order = np.lexsort((ranks, self.which))
        ranks, user = ranks[order], user[order]
        again = (ranks[1:] == ranks[:-1]) & (np.diff(self.which[order]) == 0)
        refuse_first(
            again,
            "sampled must hold each rank once in one list, got {} twice for {!r}: rows='apart' is "
            "for items that were ranked among draws of their own, 'repeated' for draws for one",
            ranks[1:],
            user[1:],
        )
        return Ranks(split(ranks, self.n_rows), length, ids=self.names.tolist())

    def added_up(self, ranks: Ranks) -> Ranks:
        """Ranks of one item of each user, among all that was drawn for it."""
        check_one_relevant(ranks, "sampled")
        order, starts = np.argsort(self.which, kind="stable"), starts_of(self.n_rows)
        columns = ranks.rows.above, ranks.rows.ties, ranks.n_irrelevant
        above, ties, drawn = (np.add.reduceat(column[order], starts) for column in columns)
        return Ranks(above + 1, drawn + 1, ties=ties, ids=self.names.tolist())


class Reading(NamedTuple):
    """How the rows of a report are read: under which labels, whose they are, and in what sense.

    `labels` are None for positions, and `users` where each has one row; `groups` are the numbers of
    those that rows belong to.
    """

    labels: Any
    users: Users | None = None
    groups: Integers | None = None
    rows: str | None = None

    def aligned(self, argument: str, given: Any) -> Any:
        """What is given for each row, in the order of the labels."""
        if frames.is_series(given) and self.users is not None:
            if np.array_equal(given.index, self.labels):
                return given.to_numpy()  # labels that repeat tell no order
        return frames.aligned(argument, given, self.labels)

    def of_instances(self) -> Integers | None:
        """The numbers of the groups of what counts as one instance; None where none has several."""
        groups = self.groups
        if groups is not None and self.users is not None and self.rows in ("one list", "repeated"):
            groups = self.users.each("groups", groups)
        return several(groups)


def reading_of(given: Mapping[str, Any], rows: Any, groups: Any) -> Reading:
    """How rows are read."""
    check_word("rows", rows, ROWS, or_none=True)
    labels = _labels(given)
    ids = np.arange(len(next(iter(given.values())))) if labels is None else np.asarray(labels)
    repeated = labels is not None and _repeat(labels)
    if groups is None and not repeated:
        if rows is not None and labels is None:
            raise ValueError(
                "rows must come with groups, or with an index that names the users, got "
                f"{rows!r} without"
            )
        return Reading(labels)
    own = Users(*numbered(ids.tolist()))
    if any(isinstance(run, RankCounts) for run in given.values()):
        raise ValueError("groups must come with Ranks: RankCounts do not say whose a rank is")
    whose = own if groups is None else Users(*numbered(names_of("groups", groups, ids)))
    users = own if repeated else whose
    # `Ranks` hold together what is in one list, and a row of a user with a name is this user's.
    lists = all(isinstance(run, Ranks) for run in given.values())
    named = lists or not (labels is None or isinstance(labels, extra("pandas").RangeIndex))
    if repeated or not named:
        check_several(rows, users.names[users.which].tolist())
    return Reading(labels, users, whose.which, rows)


def check_several(rows: str | None, users: list[Any]) -> None:
    """Refuse several rows of a user of which nothing is said."""
    (user, n), *_ = Counter(users).most_common(1)
    if rows is None and n > 1:
        raise ValueError(
            f"rows must say what several rows of a user are, {with_meanings(ROWS)}, got None for "
            f"the {n} rows of {shown(user)}"
        )


def _labels(given):
    """By what rows are matched: names that all recommenders have; None for their positions."""
    names = [
        run.index if frames.is_series(run) else getattr(run, "ids", None) for run in given.values()
    ]
    if any(one is None for one in names):
        for run in given.values():
            frames.labels_of("sampled", run)  # beside positions they must not repeat
        return None
    first = names[0]
    if _repeat(first) and not all(np.array_equal(first, one) for one in names):
        raise ValueError(
            "sampled must have the same index in the same order for each recommender where users "
            "have several rows, got other ones: sort them alike"
        )
    return first


def _repeat(labels):
    return len(set(np.asarray(labels).tolist())) < len(labels)
