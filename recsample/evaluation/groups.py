"""Whose a row is: where one person stands as several rows, limits count persons.

The mean stays that of the rows. It is a ratio of two sums over the groups, that of the values of
their rows and that of their sizes. Near the mean c it moves with a group of k rows as with one row
of the value c + k / mean(k) * (x - c), for the mean x of the group. Such values are independent, as
those of rows are not, and the means of the groups where these have equal sizes. One that was not
seen may be as large as the largest, which decides how far apart the ends of the values are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recsample._support import frames
from recsample._support.arrays import counted, summed
from recsample._support.checks import array_of, is_missing, shown
from recsample._support.numerics import limits_of_mean
from recsample._support.typing import Floats, Integers
from recsample.inference.comparison import Comparison, ends_of_difference, of_differences
from recsample.inference.comparison import compared as compared_alone
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.inference.likelihood.strata import Assumption
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.shapes import Linear


def names_of(argument: str, given: Any, ids: NDArray[Any]) -> list[Hashable]:
    """What a table, a mapping, a Series or an array calls each of the users, in their order."""
    found = _names_of(argument, given, ids)
    for name, one in zip(found, ids.tolist()):
        if not isinstance(name, Hashable):
            raise ValueError(f"{argument} must be hashable, such as text, got {shown(name)}")
        if name is None or is_missing(name):
            raise ValueError(f"{argument} must hold every user, got {name} for {shown(one)}")
    return found


def _names_of(argument, given, ids):
    if frames.is_frame(given):
        columns = frames.column_names(given, argument)
        if len(columns) != 2:
            raise ValueError(
                f"{argument} must have two columns, users and {argument}, got {columns}"
            )
        wanted = dict(zip(("user", argument), columns))
        users, names = frames.read_columns(argument, given, wanted)
        given = by_user(argument, frames.as_ids(argument, users).tolist(), names.to_list())
    if frames.is_series(given):
        given = by_user(argument, given.index.tolist(), given.tolist())
    if isinstance(given, Mapping):
        missing = [one for one in ids.tolist() if one not in given]
        if missing:
            raise ValueError(f"{argument} must hold every user, got none for {missing[0]!r}")
        return [given[one] for one in ids.tolist()]
    # As objects, or the numbers of a list with text in it would become text.
    names = array_of(argument, given, None if hasattr(given, "dtype") else object)
    if names.shape != (len(ids),):
        raise ValueError(
            f"{argument} must hold one for each of the {len(ids)} users, got {shown(given)}"
        )
    return names.tolist()


def by_user(argument: str, users: list[Any], names: list[Any]) -> dict[Any, Any]:
    """What each user is called; refuse two names of one."""
    found: dict[Any, Any] = {}
    for one, name in zip(users, names):
        first = found.setdefault(one, name)
        missing = is_missing(first), is_missing(name)
        if missing[0] != missing[1] or not (missing[0] or first == name):
            raise ValueError(f"{argument} must hold each user once, got two for {shown(one)}")
    return found


def column_by_user(held_out: Any, user: str, column: str) -> dict[Any, Any]:
    """The groups in a column of `held_out`."""
    known = frames.column_names(held_out) if frames.is_frame(held_out) else None
    if known is None or column not in known:
        held = "is no dataframe" if known is None else f"has the columns {shown(known)}"
        raise ValueError(
            f"groups must be a column of held_out, or the group by the user, got {shown(column)} "
            f"where held_out {held}"
        )
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
            raise ValueError(f"groups must hold one for each user, got {shown(given)}")
        given = dict(enumerate(names.tolist()))
    return several(numbered(names_of("groups", given, users))[0])


def several(groups: Integers | None) -> Integers | None:
    """The numbers of the groups, None where each has one row; a single one is refused."""
    n = 0 if groups is None else len(np.unique(groups))
    if groups is None or n == len(groups):
        return None
    if n < 2:  # which says nothing of others
        raise ValueError(f"groups must tell at least two apart, got {n}")
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


def limits_of_rows(
    values: Floats, level: float, ends: tuple[float, float], groups: Integers | None
) -> tuple[float, float]:
    """The limits of the mean of values of rows, by groups; NaN without any."""
    sums, sizes = sums_of_groups(values[None], groups)
    if not len(sizes):
        return np.nan, np.nan
    mean, most = float(values.mean()), float(sizes.max())
    # Between the same two ends for every mean, if moved by (most - 1) * mean.
    moved = sums[0] + (most - sizes) * mean
    low, high = limits_of_mean(moved, level, ends=(most * ends[0], most * ends[1]))
    return max(low - (most - 1) * mean, ends[0]), min(high - (most - 1) * mean, ends[1])


def differences_of_rows(
    rows: Floats, level: float, ends: tuple[float, float], groups: Integers | None
) -> list[Comparison]:
    """Comparisons from rows of differences, by groups; without limits where there are none."""
    sums, sizes = sums_of_groups(rows, groups)
    means = rows.mean(axis=1) if rows.size else np.full(len(rows), np.nan)
    if not len(sizes):
        return [Comparison(mean, *[np.nan] * 3) for mean in means.tolist()]
    most = float(sizes.max())
    wide = most * ends[0], most * ends[1]
    moved = of_differences(sums + (most - sizes) * means[:, None], level, wide)
    # A mean is 0 where that of the sums is.
    at_0 = moved if most == 1 else of_differences(sums, level, wide)
    found = []
    for one, zero, mean in zip(moved, at_0, means.tolist()):
        low, high = (end - (most - 1) * mean for end in (one.low, one.high))
        found.append(Comparison(mean, max(low, ends[0]), min(high, ends[1]), zero.probability))
    return found


class GroupedRun(SampledRun):
    """A run of sampled ranks in which each group weighs as one observation.

    However its k rows depend on each other, a sum over them varies at most as much as k times the
    same row, so that each row weighs 1 / k. Where sizes differ, all rows weigh the same, or the
    mean would be another one: the sum of k over that of k**2.
    """

    def __init__(self, groups: Integers, sampled: Any, *how: Any) -> None:
        super().__init__(sampled, *how)
        sizes = np.unique(groups, return_counts=True)[1]
        self.owners, self.how = groups, how
        weight = sizes.sum() / (sizes**2).sum()
        self.weight = float(weight)
        self.strata = [
            one._replace(counts=tuple(weight * each for each in one.counts)) for one in self.strata
        ]
        self.n_instances *= weight

    @cached_property
    def of_rows(self) -> SampledRun:
        """All rows with their full weights, which give the estimates."""
        return SampledRun(self.sampled, *self.how)

    @cached_property
    def of_each(self) -> SampledRun:
        """A random row of each group: these are independent, as simulated runs are."""
        order = np.random.default_rng(0).permutation(len(self.owners))
        rows = np.sort(order[np.unique(self.owners[order], return_index=True)[1]])
        _, replace, *how = self.how
        return SampledRun(self.sampled[rows], self.sizes[rows], replace, *how)

    def estimate(self, metric: Metric) -> float:
        return self.of_rows.estimate(metric)

    def limits(self, metric: Metric, assumption: Assumption, level: float) -> tuple[float, float]:
        if isinstance(metric.shape, Linear):
            ends = ends_of(metric, self.sampled)
            return limits_of_rows(metric(self.sampled), level, ends, self.owners)
        return super().limits(metric, assumption, level)

    def misfit(self, assumption: Assumption) -> float:
        return self.of_each.misfit(assumption)


def compared(
    metric: Metric, a: SampledRun, b: SampledRun, assumption: Assumption, level: float
) -> Comparison:
    """Two runs as `recsample.inference.comparison.compared` has them, or by their groups."""
    if not (isinstance(a, GroupedRun) and isinstance(metric.shape, Linear)):
        return compared_alone(metric, a, b, assumption, level)
    ends = ends_of_difference(metric, a.sampled, b.sampled)
    apart = metric(a.sampled) - metric(b.sampled)
    return differences_of_rows(apart[None], level, ends, a.owners)[0]
