"""Whose a row is: where one person stands as several rows, limits count persons.

The mean stays that of the rows. It is t where the sums of x - t over the groups, which are
independent as rows are not, have the mean 0; so each limit is found by testing these sums. A group
that was not seen is taken to be no larger than the largest one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recsample._support import frames
from recsample._support.arrays import counted, summed
from recsample._support.checks import array_of, is_missing, shown
from recsample._support.errors import InputError, Naming
from recsample._support.typing import Floats, Integers


def names_of(argument: str, given: Any, ids: NDArray[Any]) -> list[Hashable]:
    """What a table, a mapping, a Series or an array calls each of the users, in their order."""
    found = _names_of(argument, given, ids)
    for name, one in zip(found, ids.tolist()):
        if not isinstance(name, Hashable):
            raise InputError(argument, "must be hashable, such as text").got(shown(name))
        if is_missing(name):
            raise InputError(argument, "must hold every user").got(f"{name} for {shown(one)}")
    return found


def _names_of(argument, given, ids):
    if frames.is_frame(given):
        columns = frames.column_names(given, argument)
        if len(columns) != 2:
            raise InputError(argument, f"must have two columns, users and {argument}").got(columns)
        wanted = dict(zip(("user", argument), columns))
        users, names = frames.read_columns(argument, given, wanted)
        given = by_user(argument, frames.as_ids(argument, users).tolist(), names.to_list())
    if frames.is_series(given):
        given = by_user(argument, given.index.tolist(), given.tolist())
    if isinstance(given, Mapping):
        missing = [one for one in ids.tolist() if one not in given]
        if missing:
            raise InputError(argument, "must hold every user").got(f"none for {missing[0]!r}")
        return [given[one] for one in ids.tolist()]
    # As objects, or the numbers of a list with text in it would become text.
    names = array_of(argument, given, None if hasattr(given, "dtype") else object)
    if names.shape != (len(ids),):
        allowed = f"must hold one for each of the {len(ids)} users"
        raise InputError(argument, allowed).got(shown(given))
    return names.tolist()


def by_user(argument: str, users: list[Any], names: list[Any]) -> dict[Any, Any]:
    """What each user is called; refuse two names of one."""
    found: dict[Any, Any] = {}
    for one, name in zip(users, names):
        first = found.setdefault(one, name)
        missing = is_missing(first), is_missing(name)
        if missing[0] != missing[1] or not (missing[0] or first == name):
            raise InputError(argument, "must hold each user once").got(f"two for {shown(one)}")
    return found


def column_by_user(held_out: Any, user: str, column: str) -> dict[Any, Any]:
    """The groups in a column of `held_out`."""
    known = frames.column_names(held_out) if frames.is_frame(held_out) else None
    if known is None or column not in known:
        held = "is no dataframe" if known is None else f"has the columns {shown(known)}"
        raise InputError(
            "groups", Naming("must be a column of {held_out}, or the group by the user")
        ).got(Naming("{} where {held_out} {}", shown(column), held))
    users, names = frames.read_columns("groups", held_out, {"user": user, "groups": column})
    return by_user("groups", frames.as_ids("held_out", users).tolist(), names.to_list())


def numbered(names: Iterable[Hashable]) -> tuple[Integers, NDArray[Any]]:
    """The number of each name among the different ones, and these."""
    number: dict[Any, int] = {}
    which = [number.setdefault(name, len(number)) for name in names]
    different = np.empty(len(number), object)
    different[:] = [*number]
    return np.array(which, np.int64), different


def group_numbers(given: Any, users: NDArray[Any]) -> Integers | None:
    """The number of the group of each user; None where each has one of its own.

    An array is one by the numbers of users, of whom some may be left out.
    """
    if not (isinstance(given, Mapping) or frames.is_series(given) or frames.is_frame(given)):
        names = array_of("groups", given, object)
        if names.ndim != 1:
            raise InputError("groups", "must hold one for each user").got(shown(given))
        given = dict(enumerate(names.tolist()))
    return several(numbered(names_of("groups", given, users))[0])


def several(groups: Integers | None) -> Integers | None:
    """The numbers of the groups, None where each has one row; a single one is refused."""
    n = 0 if groups is None else len(np.unique(groups))
    if groups is None or n == len(groups):
        return None
    if n < 2:  # which says nothing of others
        raise InputError("groups", "must tell at least two apart").got(n)
    return groups


def sums_of_groups(rows: Floats, groups: Integers | None) -> tuple[Floats, Floats]:
    """For each row of values the sums over the groups, and the sizes of these.

    Both are divided by the mean size. Without groups each value is one of its own.
    """
    if groups is None:
        return rows, np.ones(rows.shape[1])
    groups = np.unique(groups, return_inverse=True)[1]  # there may be none left of some
    sizes = counted(groups, groups.max(initial=-1) + 1)
    sums = [summed(groups, row, len(sizes)) for row in rows]
    return np.array(sums).reshape(len(rows), -1) / sizes.mean(), sizes / sizes.mean()
