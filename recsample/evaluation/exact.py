"""All that there is to rank is ranked: each user has a value, a mean the limits of a mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recsample._support.arrays import row_blocks
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.numerics import LEVEL, PERCENT
from recsample._support.typing import Floats, Integers, Rng
from recsample.evaluation import say
from recsample.evaluation.findings import (
    AT_ONCE,
    Differences,
    Findings,
    Pair,
    RanksStudy,
    Rows,
    mean_of_defined,
    some_of,
    values_of_users,
)
from recsample.evaluation.grades import DIVIDES, ends_with_grades, uses_grades, values_without
from recsample.inference.comparison import Comparison, of_differences, users_for
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class Exact(RanksStudy):
    """Ranks among all that there is to rank.

    `missed` says how many items of each user are never found, as in `Ranked`. With the ranks of the
    `best` case, these items stand in an unknown order, which leaves bounds; unless the catalogue
    `is_known`, it may hold more items than the tables name. If `is_task`, each user's items were
    ranked among candidates of the user's own.
    """

    missed: Mapping[str, Integers] = field(default_factory=dict)
    best: Mapping[str, Ranks] = field(default_factory=dict)
    is_known: bool = True
    is_task: bool = False

    def part(self, users: Integers) -> Exact:
        """The same for some of the users."""
        missed, best = some_of(self.missed, users), some_of(self.best, users)
        return replace(self, missed=missed, best=best, **self.of_users(users))

    def plan(self, metric: Metric, width: float, rng: Rng) -> pd.DataFrame:
        """How many users like these the mean takes, or each difference, whose limits all hold."""
        if self.groups is not None:
            return super().plan(metric, width, rng)
        known = known_of(self, bounds_of(self))
        if metric not in known.ends or any((name, metric) in known.bounded for name in self.ranks):
            raise InputError("metric", "must be one of which users have values").got(metric)
        pairs, (low, high) = [*combinations(self.ranks, 2)], known.ends[metric]
        values = {name: known.bounds[name, metric][0] for name in self.ranks}
        pd, index, ends, rows = extra("pandas"), ["the mean"], (low, high), [*values.values()]
        if pairs:
            index = pd.MultiIndex.from_tuples(pairs, names=["a", "b"])
            ends, rows = (low - high, high - low), [values[a] - values[b] for a, b in pairs]
        defined = [row[~np.isnan(row)] for row in rows]
        level = 1 - (1 - LEVEL) / len(rows)
        users = [users_for(row, ends, width, level) for row in defined]
        return pd.DataFrame({"users": users, "you have": [*map(len, defined)]}, index)

    def findings(self) -> Findings:
        """All numbers and words."""
        known = known_of(self, bounds_of(self))

        def differences_of(users):
            return partial(differences, known.of(users))

        return found(self, known, rows_of(self, known), differences_of, "")


Bounds = Mapping[tuple[str, Metric], tuple[Floats, Floats]]


class Known(NamedTuple):
    """What is known of single users: the lowest and the highest value of each, mostly the same.

    `bounded` are those that are not. Of users for whom a metric is `undefined` both are NaN. `ends`
    are the lowest and the highest value that a metric can have, if it is defined for anyone.
    """

    bounds: Bounds
    bounded: frozenset[tuple[str, Metric]]
    undefined: Mapping[Metric, int]
    ends: Mapping[Metric, tuple[float, float]]
    groups: Integers | None
    rests: dict[str, str]  # what a row names beside one of bounds

    def of(self, users: Any) -> Known:
        """The same of some users, by their numbers or a slice."""
        bounds = {key: (low[users], high[users]) for key, (low, high) in self.bounds.items()}
        groups = None if self.groups is None else self.groups[users]
        return self._replace(bounds=bounds, groups=groups)


def bounds_of(study: Exact) -> Bounds:
    """The lowest and the highest value of each metric for each user."""
    return {(name, m): _bounds(study, name, m) for name in study.ranks for m in study.metrics}


def _bounds(study, name, metric):
    ranks = study.ranks[name]
    if name not in study.missed:
        return (values_of_users(metric, ranks),) * 2
    if name not in study.best:
        return (values_without(metric, ranks, study.missed[name]),) * 2
    worst, best = (values_of_users(metric, one) for one in (ranks, study.best[name]))
    if not study.is_known:
        if isinstance(metric.shape, Linear):  # in a large catalogue whatever is listed is high
            best = np.full(len(best), metric.of_rank(1, 2))
        elif metric.additive:  # and what is not listed may be as far down as one likes
            worst = values_without(metric, ranks, study.missed[name])
    return np.minimum(worst, best), np.maximum(worst, best)


def known_of(study: Exact, bounds: Bounds) -> Known:
    """What is known of single users, from the bounds of each."""
    first, name = study.first, next(iter(study.ranks))
    undefined = {m: int(np.isnan(bounds[name, m][0]).sum()) for m in study.metrics}
    ends = {m: ends_with_grades(m, first) for m, n in undefined.items() if n < len(first)}
    if study.missed:  # of nothing found a metric is 0
        ends = {m: (min(low, 0.0), max(high, 0.0)) for m, (low, high) in ends.items()}
    bounded = frozenset(key for key, (low, high) in bounds.items() if (low < high).any())
    rests = {"assumption": ""} if study.best else {}
    return Known(bounds, bounded, undefined, ends, study.groups, rests)


def rows_of(study: Exact, known: Known) -> dict[tuple[str, Metric], dict[str, Any]]:
    """Values and their limits, or bounds, by recommender and metric."""
    rows: dict[tuple[str, Metric], dict[str, Any]] = {}
    for m in study.metrics:
        names = [name for name in study.ranks if (name, m) not in known.bounded]
        for some in row_blocks(len(names), len(study.first), AT_ONCE):
            values = [known.bounds[name, m][0] for name in names[some]]
            means = _means(known, values, LEVEL, known.ends.get(m))
            for name, of_users, mean in zip(names[some], values, means):
                value = mean_of_defined(of_users)
                rows[name, m] = {"value": value, "low": mean.low, "high": mean.high} | known.rests
    for key in known.bounded:
        low, high = (float(np.nanmean(end)) for end in known.bounds[key])
        rows[key] = {"value": np.nan, "low": low, "high": high, "assumption": "bound"}
    return {key: rows[key] for key in known.bounds}


def differences(
    known: Known, metric: Metric, both: Sequence[Pair], level: float
) -> dict[Pair, dict[str, Any]]:
    """Of the means of pairs, with limits or bounds."""
    bounds = {name: known.bounds[name, metric] for pair in both for name in pair}
    rest = [p for p in both if not any((name, metric) in known.bounded for name in p)]
    apart = [bounds[a][0] - bounds[b][0] for a, b in rest]
    low, high = known.ends.get(metric, (np.nan, np.nan))
    means = _means(known, apart, level, (low - high, high - low))
    found = {pair: mean._asdict() | known.rests for pair, mean in zip(rest, means)}
    for a, b in (pair for pair in both if pair not in found):
        ends = bounds[a][0] - bounds[b][1], bounds[a][1] - bounds[b][0]
        low, high = (float(np.nanmean(end)) for end in ends)
        bound = Comparison(np.nan, low, high, np.nan)._asdict()
        found[a, b] = bound | {"assumption": "bound"}
    return found


def _agreed(study, rows, differences_of):
    """Differences of pairs, and those of users that both recommenders list items of.

    One is ahead if it is so in both.
    """
    pairs = study.pairs(rows, differences_of(slice(None)))
    has_list = {name: one.lengths > 0 for name, one in study.standings.items()}
    if all(has.all() for has in has_list.values()):
        return pairs, []

    def differences_of_both(metric, both, level):
        found = {pair: dict(pairs[(*pair, metric)]) for pair in both}
        for a, b in both:
            users = np.flatnonzero(has_list[a] & has_list[b])
            if len(users) < 2:
                found[a, b] |= Comparison(*[np.nan] * 4)._asdict()
            elif len(users) < len(study.first):
                found[a, b] = differences_of(users)(metric, [(a, b)], level)[a, b]
        return found

    shared = study.pairs(rows, differences_of_both)
    undone = [
        key for key, row in pairs.items() if row["ahead"] not in ("undecided", shared[key]["ahead"])
    ]
    return pairs | {key: pairs[key] | {"ahead": "undecided"} for key in undone}, undone


def _means(known, values, level, ends):
    """Of each array of values the mean and its limits; what is undefined is so in all of them."""
    rows, groups = defined_users(np.array(values), known.groups)
    if not rows.size:
        return [Comparison(*[np.nan] * 4)] * len(rows)
    return of_differences(rows, level, ends, groups)


def defined_users(rows: Floats, groups: Integers | None) -> tuple[Floats, Integers | None]:
    """The columns without NaN, and the groups of these users."""
    is_defined = ~np.isnan(rows).any(axis=0)
    return rows[:, is_defined], None if groups is None else groups[is_defined]


def found(
    study: Exact,
    known: Known,
    rows: Rows,
    differences_of: Callable[[Any], Differences],
    and_runs: str,
) -> Findings:
    """Findings whose limits are for other users, or groups, and runs if this is said."""
    pairs, undone = _agreed(study, rows, differences_of)
    others = ("users" if study.groups is None else "groups") + and_runs
    bounds = known.bounds.items()
    missed = {name: int(n.sum()) for name, n in study.missed.items()}
    return Findings(
        **study.shared(),
        rows=rows,
        pairs=pairs,
        values={key: np.where(low == high, low, np.nan) for key, (low, high) in bounds},
        page="evaluate",
        head=head(study.first, study.is_task) + say.groups_said(study.groups),
        limits=limits(others, bool(known.bounded)),
        details=details(study, known),
        sentences={
            (name, m): sentence(m, row, study.ranks[name], others, missed.get(name, 0))
            for (name, m), row in rows.items()
        },
        notes=(
            *(
                f"{m} is undefined for {n:,} users, without an irrelevant item: they are left out"
                for m, n in known.undefined.items()
                if n
            ),
            *_shared_said(study, known, undone),
        ),
    )


# In words.


def _shared_said(study, known, undone):
    """What is found of the users that all recommenders list items of, and what that undoes."""
    has_lists = np.array([one.lengths > 0 for one in study.standings.values()])
    users = np.flatnonzero(has_lists.all(axis=0))
    if len(has_lists) < 2 or len(users) == len(study.first):
        return
    if not len(users):
        yield "there is no user for whom all recommenders have a list"
    for metric in study.metrics if len(users) else ():
        each = [
            f"{mean_of_defined(known.bounds[name, metric][0][users]):.3f} ({name})"
            for name in study.ranks
            if (name, metric) not in known.bounded
        ]
        if each:
            n = f"{len(users):,} user{'s' * (len(users) > 1)}"
            some = f"{n} for whom all recommenders have a list"
            yield f"of the {some}, {metric} is {say.listing(each)}"
    pairs = [f"{a} - {b} ({metric})" for a, b, metric in undone]
    if pairs:
        yield (
            "undecided, since among the users for whom both have a list the other one is ahead, or "
            f"neither: {say.listing(pairs)}"
        )


def head(ranks: Ranks, is_task: bool) -> str:
    """What was ranked among what."""
    own = "irrelevant candidates of their own beside the relevant ones"
    what = own if is_task else "irrelevant items"
    return f"{say.users_said(ranks)}, each ranked among {say.span(ranks.n_irrelevant)} {what}."


def limits(others: str, has_bounds: bool) -> str:
    """What the limits are."""
    bounds = "; 'between' are bounds for these users" * has_bounds
    return f"{PERCENT} limits are for other {others} like these{bounds}."


def sentence(
    metric: Metric, row: Mapping[str, Any], ranks: Ranks, others: str, n_missed: int
) -> str:
    """A value and its limits, for a paper."""
    users = say.users_said(ranks)
    if row.get("assumption") == "bound":
        return (
            f"{metric} is {say.between(row)}, bounds for these {users}: {n_missed:,} of "
            f"{ranks.n_relevant.sum():,} held-out items stand somewhere behind the lists."
        )
    if np.isnan(row["value"]):
        return f"{metric} is undefined for these {users}."
    said = f" ({PERCENT} limits {say.between(row)}, for other {others} like these)"
    said *= not np.isnan(row["low"])
    n = say.span(ranks.n_irrelevant)
    return f"{metric} is {row['value']:.3f}{said}, over {users}, ranked among {n} irrelevant items."


def details(study: Exact, known: Known) -> tuple[str, ...]:
    """Which grades limits allow for, and where items stand that a list leaves out."""
    ranges: dict[str, list[str]] = {}
    for metric, (low, _) in known.ends.items():
        has_limits = any((name, metric) not in known.bounded for name in study.ranks)
        if not (has_limits and uses_grades(metric, study.grades)):
            continue
        # Other grades would give the metric values beyond its ends.
        parts = [f"above {study.grades[-1]:g}"] * (low > 0 or not DIVIDES[type(metric)])
        parts += [f"below {study.grades[0]:g}"] * (low > 0)
        if parts:
            ranges.setdefault(" or ".join(parts), []).append(str(metric))
    said = [
        f"Limits of {say.listing(names)} take no grade {what} to be possible."
        for what, names in ranges.items()
    ]
    if known.bounded:
        said.append(
            "Held-out items that a list leaves out may stand anywhere behind it; the lower end at "
            "a cut-off is what trec_eval, ranx, RecTools and LensKit print (unlisted='missed')."
        )
    return tuple(said)
