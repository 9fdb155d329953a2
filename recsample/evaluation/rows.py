"""How the rows of a report are matched, and whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from recsample._support import frames
from recsample._support.checks import shown
from recsample._support.errors import InputError, Naming
from recsample._support.typing import Integers
from recsample.evaluation.groups import by_user, names_of, numbered, several
from recsample.ranks.base import Ranks
from recsample.ranks.counts import RankCounts


class Matching(NamedTuple):
    """Under which labels rows are matched, None for positions; and the numbers of their groups."""

    labels: Any
    groups: Integers | None = None

    def aligned(self, argument: str, given: Any) -> Any:
        """What is given for each row, in the order of the labels."""
        if frames.is_series(given) and given.index.has_duplicates:
            if self.labels is not None and np.array_equal(given.index, self.labels):
                return given.to_numpy()  # labels that repeat tell no order
        return frames.aligned(argument, given, self.labels)


def matching_of(given: Mapping[str, Any], groups: Any) -> Matching:
    """How rows are read; several of a user are refused where they are not in one of the groups."""
    labels = _labels(given)
    if groups is None:
        if labels is not None:
            _refuse_several(labels, given)
        return Matching(labels)
    if any(isinstance(run, RankCounts) for run in given.values()):
        allowed = "must come with Ranks"
        raise InputError("groups", allowed, remedy="RankCounts do not say whose a rank is")
    n = len(next(iter(given.values())))
    ids = np.arange(n) if labels is None else np.asarray(labels)
    names = names_of("groups", groups, ids)
    by_user("groups", ids.tolist(), names)
    return Matching(labels, several(numbered(names)[0]))


def _refuse_several(labels, given):
    (user, n), *_ = Counter(np.asarray(labels).tolist()).most_common(1)
    if n > 1:
        got, column = f"{n} for {shown(user)}", given.get("")  # of one that is not named
        remedy = (
            "give relevant items that were ranked together as one list of rs.Ranks, and rows that "
            "each had draws of their own with {groups:=}, which says whose they are"
        )
        if frames.is_series(column):
            twice, values = column.index.duplicated(), column.groupby(level=0).nunique()
            # Sampled ranks of several draws, or items, hardly are all the same.
            if 1 < twice.sum() < len(column) / 2 and (values == 1).all():
                got += ", and all that repeat have the same rank, as copies have"
                remedy = "sampled[~sampled.index.duplicated()] leaves copies out"
        raise InputError("sampled", "must have one row for each user").got(got, Naming(remedy))


def _refuse_other_users(given):
    """Refuse columns of different users; those that are in all of them can be compared."""
    users = {name: set(run.index) for name, run in given.items()}
    several, all_of = set.intersection(*users.values()), set.union(*users.values())
    if len(several) < len(all_of):
        alone = min(all_of - several, key=str)
        name = next(name for name, mine in users.items() if alone not in mine)
        line = "pandas.DataFrame(sampled).dropna().to_dict('series') takes those of all"
        line *= len(several) > 1 and all(run.index.is_unique for run in given.values())
        allowed = "must have the same users for each recommender"
        raise InputError("sampled", allowed).got(f"{shown(alone)} not in {name!r}", line)


def _labels(given):
    """By what rows are matched: names that all recommenders have; None for their positions."""
    names = [
        run.index if frames.is_series(run) else run.ids if isinstance(run, Ranks) else None
        for run in given.values()
    ]
    if any(one is None for one in names):
        for run in given.values():
            frames.labels_of("sampled", run)  # beside positions they must not repeat
        return None
    first = names[0]
    if all(map(frames.is_series, given.values())):
        _refuse_other_users(given)
    repeat = len(set(np.asarray(first).tolist())) < len(first)
    if repeat and not all(np.array_equal(first, one) for one in names):
        raise InputError(
            "sampled",
            "must have the same index in the same order for each recommender where users have "
            "several rows",
        ).got("other ones")
    return first
