"""The third phase of an evaluation: values, limits and differences, from ranks.

There is a class for each kind of ranks. Each computes the same plain tables, by recommender, metric
and what else, and no words.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.arrays import row_blocks
from recsample._support.numerics import LEVEL, limits_of_mean, mean_of
from recsample._support.typing import Floats, Integers
from recsample._support.values import Value
from recsample.evaluation.grades import ends_with_grades, values_of, values_without
from recsample.evaluation.options import REPORTED
from recsample.inference.audit import Audit
from recsample.inference.blind import BlindSpot, blind_spot
from recsample.inference.comparison import Comparison, compared, of_differences, step_down
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.inference.published import Printed, PrintedStudy, Reading, terms_of
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AveragePrecision
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks

if TYPE_CHECKING:
    from recsample.evaluation.rank import Lists

Rows = Mapping[tuple[str, Metric], dict[str, Any]]
Pairs = Mapping[tuple[str, str, Metric], dict[str, Any]]
Rungs = Mapping[tuple[str, Metric, str], dict[str, float]]
# The share of relevant items with ties, and by how much of its value their order moves a metric,
# from which on ties are spoken of.
_MANY_TIES, _MATTERS = 0.01, 0.01
# So many differences of pairs have limits at once.
_AT_ONCE = 2**20
# Of pairs: what assumes nothing of the ranks, and what rests on the assumption that it names.
_IF = ("if_low", "if_high", "if_probability", "if_ahead")
COLUMNS_OF_PAIRS = (*Comparison._fields, "ahead", *_IF, "assumption")


@dataclass(frozen=True, eq=False, kw_only=True)
class Inferred(Value):
    """What ranks of recommenders say of metrics.

    `runs` are by the names of the recommenders, "" for one that is not `named`; `counts` says how
    often what did not match, by recommender and in words; `grades` are the different ones of the
    held-out items; `lists` says how long lists of scores are, where they leave items out. `groups`
    are the numbers of those that users belong to, where limits count groups.
    """

    runs: Mapping[str, Any]  # Ranks, RankCounts, or printed numbers
    metrics: tuple[Metric, ...]
    named: bool
    counts: Mapping[tuple[str, str], int] | None = None
    grades: tuple[float, ...] = ()
    lists: Lists | None = None
    lowest: Mapping[str, tuple[float, bool]] = field(default_factory=dict)
    piles: Mapping[str, Integers] = field(default_factory=dict)
    groups: Integers | None = None

    def _content(self):
        parts = self.__getstate__().values()
        each = ((*p, *p.values()) if isinstance(p, Mapping) else (p,) for p in parts)
        return tuple(chain.from_iterable(each))

    def __getstate__(self):
        """The fields; what is computed from them is computed again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def first(self) -> Any:
        """Of one recommender: users and pools are those of all."""
        return next(iter(self.runs.values()))

    @property
    def pairable(self) -> bool:
        """Whether the values of single users are known, so that recommenders can be compared."""
        return all(isinstance(run, Ranks) for run in self.runs.values())

    @property
    def ids(self) -> NDArray[Any]:
        """The users."""
        if not self.pairable:
            raise ValueError("this result does not know the values of single users")
        return np.arange(len(self.first)) if self.first.ids is None else self.first.ids

    @cached_property
    def values(self) -> Mapping[tuple[str, Metric], Floats]:
        """The value of each metric for each user; NaN where it is undefined, or not known."""
        return {(n, m): _values(m, run) for n, run in self.runs.items() for m in self.metrics}

    @cached_property
    def rows(self) -> Rows:
        """Values and limits by recommender and metric."""
        return {(name, m): self.row(name, m) for name in self.runs for m in self.metrics}

    @property
    def ladder(self) -> Rungs:
        """Limits by recommender, metric and assumption; none where nothing is assumed."""
        return {}

    @property
    def fit(self) -> Mapping[str, dict[str, float]]:
        """How well what was stated of the draws fits, by recommender; none where none were made."""
        return {}

    @property
    def blind(self) -> BlindSpot | None:
        """What the limits cannot see; None where none rest on "decreasing"."""
        return None

    @cached_property
    def pairs(self) -> Pairs:
        """Differences by both recommenders and metric."""
        both = list(combinations(self.runs, 2)) if self.pairable else []
        # So narrow a chance of error for each pair of a metric that they all hold at once.
        level = 1 - (1 - LEVEL) / max(1, len(both))
        of = {m: self.differences(m, both, level) for m in self.metrics}
        for metric, prefix in product(self.metrics, ("", "if_")):
            known = {pair: one for pair, one in of[metric].items() if f"{prefix}low" in one}
            ahead = np.array([one[f"{prefix}probability"] for one in known.values()])
            rejected = step_down(2 * np.minimum(ahead, 1 - ahead), 1 - LEVEL)
            for (pair, one), is_rejected in zip(known.items(), rejected):
                one |= self._decided(*pair, metric, one, prefix, is_rejected)
        every = {(*p, m): of[m][p] for p in both for m in self.metrics}
        return {
            key: {c: one[c] for c in COLUMNS_OF_PAIRS if c in one} for key, one in every.items()
        }

    @cached_property
    def tied(self) -> Mapping[str, Tied]:
        """Of each recommender with ties that matter; not of items that are stated to be tied."""
        zero = np.zeros(1, np.int64)
        stated = self.lists is not None and self.lists.unlisted == "below"
        runs = {name: run for name, run in self.runs.items() if isinstance(run, Ranks)}
        found = {
            name: _tied(run, self.metrics, self.piles.get(name, zero), self.lowest.get(name))
            for name, run in runs.items()
            if not stated
        }
        return {name: one for name, one in found.items() if one is not None}

    def _decided(self, a, b, metric, found, prefix, is_rejected):
        """Who is ahead, if 0 is rejected and no other number says the opposite."""
        low, high, chance = (found[prefix + what] for what in ("low", "high", "probability"))
        if prefix and np.isnan(low):
            return {f"{prefix}ahead": None}
        sign = np.sign(chance - 0.5) if is_rejected else 1 if low > 0 else -1 if high < 0 else 0
        apart = self.rows[a, metric]["value"] - self.rows[b, metric]["value"]
        if sign == 0 or any(sign * x < 0 for x in (apart, found["difference"], chance - 0.5)):
            return {f"{prefix}ahead": "undecided"}
        end = {"low": max(low, 0.0)} if sign > 0 else {"high": min(high, 0.0)}
        decided = end | {"ahead": better(metric, a, b, sign)}
        return {prefix + what: value for what, value in decided.items()}

    def part(self, users: Integers, **changes: Any) -> Inferred:
        """The same for some of the users."""
        some = {"runs": _of_users(self.runs, users), "piles": _of_users(self.piles, users)}
        groups = None if self.groups is None else self.groups[users]
        return replace(self, groups=groups, **some, **changes)

    def differences(
        self, metric: Metric, both: Sequence[tuple[str, str]], level: float
    ) -> Mapping[tuple[str, str], dict[str, Any]]:
        """Of the means of all pairs, and their limits."""
        return {(a, b): self.difference(a, b, metric, level) for a, b in both}

    @abstractmethod
    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        """A value and its limits."""

    @abstractmethod
    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        """Of two means, and its limits."""


class Tied(NamedTuple):
    """Relevant items that are tied with others, and the metric that their order moves most.

    If they have the lowest score, it is that of `pile` of all `ranked` irrelevant items too.
    """

    n: int
    of: int
    pile: int
    ranked: int
    metric: Metric
    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Exact(Inferred):
    """All that there is to rank is ranked: each user has a value, a mean the limits of a mean.

    `missed` says how many items of each user are never found, as in `Ranked`. With the ranks of the
    `best` case, these items stand in an unknown order, which leaves bounds; unless the catalogue
    `is_known`, it may hold more items than the tables name. If `is_task`, each user's items were
    ranked among candidates of the user's own.
    """

    missed: Mapping[str, Integers] = field(default_factory=dict)
    best: Mapping[str, Ranks] = field(default_factory=dict)
    is_known: bool = True
    is_task: bool = False

    @property
    def n_runs(self) -> Integers | None:
        """How many runs of each recommender a value is the mean of; None where there are none."""
        return None

    @property
    def others(self) -> str:
        """Of what limits are for others."""
        return "users" if self.groups is None else "groups"

    @cached_property
    def bounds(self) -> Mapping[tuple[str, Metric], tuple[Floats, Floats]]:
        """The lowest and the highest value of each metric for each user."""
        return {(n, m): self._bounds(n, m) for n in self.runs for m in self.metrics}

    def _bounds(self, name, metric):
        run = self.runs[name]
        if name not in self.missed:
            return (_values(metric, run),) * 2
        if name not in self.best:
            return (values_without(metric, run, self.missed[name]),) * 2
        worst, best = _values(metric, run), _values(metric, self.best[name])
        if not self.is_known:
            if isinstance(metric.shape, Linear):  # in a large catalogue whatever is listed is high
                best = np.full(len(best), metric.of_rank(1, 2))
            elif metric.additive:  # and what is not listed may be as far down as one likes
                worst = values_without(metric, run, self.missed[name])
        return np.minimum(worst, best), np.maximum(worst, best)

    @cached_property
    def values(self) -> Mapping[tuple[str, Metric], Floats]:
        return {key: np.where(low == high, low, np.nan) for key, (low, high) in self.bounds.items()}

    @cached_property
    def undefined(self) -> Mapping[Metric, int]:
        """For how many users each metric is undefined, by any recommender."""
        lows = {m: self.bounds[next(iter(self.runs)), m][0] for m in self.metrics}
        return {m: int(np.isnan(low).sum()) for m, low in lows.items()}

    @cached_property
    def bounded(self) -> Collection[tuple[str, Metric]]:
        """Where there are bounds in place of a value."""
        return {key for key, (low, high) in self.bounds.items() if (low < high).any()}

    @cached_property
    def ends(self) -> Mapping[Metric, tuple[float, float]]:
        """The lowest and the highest value that each metric can have."""
        defined = [m for m in self.metrics if self.undefined[m] < len(self.first)]
        found = {m: ends_with_grades(m, self.first) for m in defined}
        if self.missed:  # of nothing found a metric is 0
            found = {m: (min(low, 0.0), max(high, 0.0)) for m, (low, high) in found.items()}
        return found

    def part(self, users: Integers, **changes: Any) -> Inferred:
        some = {what: _of_users(getattr(self, what), users) for what in ("missed", "best")}
        return super().part(users, lists=None, **some, **changes)

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        rests = {"assumption": ""} if self.best else {}
        if (name, metric) in self.bounded:
            low, high = (float(np.nanmean(end)) for end in self.bounds[name, metric])
            return {"value": np.nan, "low": low, "high": high, "assumption": "bound"}
        known = ~np.isnan(self.values[name, metric])
        values = self.values[name, metric][known]
        if not len(values):
            return dict.fromkeys(("value", "low", "high"), np.nan) | rests
        groups = None if self.groups is None else self.groups[known]
        low, high = limits_of_mean(values, LEVEL, ends=self.ends[metric], groups=groups)
        return {"value": float(values.mean()), "low": low, "high": high} | rests

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        (low_a, high_a), (low_b, high_b) = (self.bounds[name, metric] for name in (a, b))
        low, high = (float(np.nanmean(end)) for end in (low_a - high_b, high_a - low_b))
        return Comparison(np.nan, low, high, np.nan)._asdict() | {"assumption": "bound"}

    def differences(
        self, metric: Metric, both: Sequence[tuple[str, str]], level: float
    ) -> Mapping[tuple[str, str], dict[str, Any]]:
        rests = {"assumption": ""} if self.best else {}
        values = {name: self.values[name, metric] for name in self.runs}
        bounded = [p for p in both if any((name, metric) in self.bounded for name in p)]
        found = {p: self.difference(*p, metric, level) for p in bounded}
        rest = [p for p in both if p not in found]
        for some in row_blocks(len(rest), len(self.first), _AT_ONCE):
            rows = np.array([values[a] - values[b] for a, b in rest[some]])
            known = ~np.isnan(rows).any(axis=0)  # what is undefined is so for all
            groups = None if self.groups is None else self.groups[known]
            low, high = self.ends.get(metric, (np.nan, np.nan))
            ends = low - high, high - low
            if known.any():
                each = of_differences(rows[:, known], level, ends, groups)
            else:
                each = [Comparison(*[np.nan] * 4)] * len(rows)
            found |= {p: one._asdict() | rests for p, one in zip(rest[some], each)}
        return {p: found[p] for p in both}


@dataclass(frozen=True, eq=False, kw_only=True)
class Uncorrected(Inferred):
    """Ranks among drawn items that say nothing of the others.

    Where they are said to be `drawn` uniformly, they do not look like it.
    """

    drawn: str
    has_train: bool

    @property
    def pairs(self) -> Pairs:
        return {}

    def part(self, users: Integers, **changes: Any) -> Inferred:
        raise ValueError("this result has nothing to say of segments: see its sentences")

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        values = _defined(self.values[name, metric])
        sampled = float(values.mean()) if len(values) else np.nan
        unknown = dict.fromkeys(("value", "low", "high"), np.nan)
        return unknown | {"sampled": sampled, "assumption": ""}

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled(Inferred):
    """Ranks among items that were drawn uniformly from pools of `n_items`."""

    n_items: Integers
    replace: bool
    stated: bool  # by whoever asks, and not known to this package

    @cached_property
    def evidence(self) -> Mapping[str, SampledRun]:
        """What each run says under each assumption."""
        how = self.n_items, self.replace, self.metrics, len(self.runs), self.groups
        return {name: SampledRun(run, *how) for name, run in self.runs.items()}

    @cached_property
    def fit(self) -> Mapping[str, dict[str, float]]:
        return {
            name: {"p_value": one.misfit("none"), "p_corrected": one.fit}
            for name, one in self.evidence.items()
        }

    @cached_property
    def ladder(self) -> Rungs:
        def limits(name, metric, assumption):
            one = self.evidence[name]
            none = one.contradicts(metric, assumption)
            return (np.nan, np.nan) if none else one.limits(metric, assumption, LEVEL)

        return _rungs(self, limits)

    @cached_property
    def blind(self) -> BlindSpot | None:
        if not any(row["assumption"] == "decreasing" for row in self.rows.values()):
            return None
        one = next(iter(self.evidence.values()))
        n, m = (mean_of(size, one.counts) for size in (one.sizes, one.sampled.n_irrelevant))
        return blind_spot(round(n), round(m), round(one.n_instances))

    def part(self, users: Integers, **changes: Any) -> Inferred:
        sizes = np.broadcast_to(self.n_items, len(self.first))[users]
        return super().part(users, n_items=sizes, **changes)

    def assumed(self, metric: Metric, *names: str) -> str:
        """The strongest assumption that the ranks of none of these recommenders contradict.

        "" where the ranks can hardly come from such draws.
        """
        return supported(metric, *(self.evidence[name] for name in names)) or ""

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        evidence, used = self.evidence[name], self.assumed(metric, name)
        free, narrow = _both(self.ladder, name, metric, used)
        if used == "none" and not (isinstance(metric.shape, Linear) or evidence.is_nearly_all):
            used = "contradicted"
        value = evidence.estimate(metric) if used else np.nan
        rests = {"assumption": used, "sampled": evidence.mean(metric)}
        return {"value": value, **free, **narrow} | rests

    def differences(
        self, metric: Metric, both: Sequence[tuple[str, str]], level: float
    ) -> Mapping[tuple[str, str], dict[str, Any]]:
        unknown, found = Comparison(*[np.nan] * 4), {}
        used = {pair: self.assumed(metric, *pair) for pair in both}
        free = self._compared(metric, [p for p in both if used[p]], "none", level)
        falling = [p for p in both if used[p] == "decreasing"]
        narrow = self._compared(metric, falling, "decreasing", level)
        for pair in both:
            _, *ends = narrow.get(pair, unknown)
            found[pair] = free.get(pair, unknown)._asdict() | dict(zip(_IF, ends))
            found[pair]["assumption"] = used[pair]
        return found

    def _compared(self, metric, pairs, assumption, level):
        found = {}
        for some in row_blocks(len(pairs), len(self.first), _AT_ONCE):
            runs = [(self.evidence[a], self.evidence[b]) for a, b in pairs[some]]
            found |= zip(pairs[some], compared(metric, runs, assumption, level))
        return found

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        return self.differences(metric, [(a, b)], level)[a, b]


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited(Sampled):
    """Exact ranks of some users beside the sampled ranks of all, however items were drawn.

    `chances` says how likely each user was to be audited; without them the choice was random.
    """

    exact: Mapping[str, Ranks]
    audited: Integers
    chances: Floats | None
    fit: ClassVar[Mapping[str, Any]] = {}  # of the draws nothing is assumed
    ladder: ClassVar[Rungs] = {}

    @cached_property
    def audits(self) -> Mapping[str, Audit]:
        """Of each recommender."""
        sizes = np.broadcast_to(self.n_items, len(self.first))
        return {
            name: Audit(run, self.exact[name], self.audited, sizes, self.replace, self.chances)
            for name, run in self.runs.items()
        }

    def part(self, users: Integers, **changes: Any) -> Inferred:
        inside = np.isin(self.audited, users)
        if inside.sum() < 2:
            raise ValueError(
                "segments must hold at least two audited users each, got "
                f"{inside.sum()} among {len(users)} users"
            )
        return super().part(
            users,
            exact={name: ranks[np.flatnonzero(inside)] for name, ranks in self.exact.items()},
            audited=np.searchsorted(users, self.audited[inside]),
            chances=None if self.chances is None else self.chances[users],
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        found = self.audits[name].mean(metric)
        sampled = float(self.values[name, metric].mean())
        return found._asdict() | {"assumption": "audit", "sampled": sampled}

    def differences(
        self, metric: Metric, both: Sequence[tuple[str, str]], level: float
    ) -> Mapping[tuple[str, str], dict[str, Any]]:
        found = {}
        for a, b in both:
            one = self.audits[a].difference(self.audits[b], metric, level)
            found[a, b] = one.compared(level)._asdict() | {"assumption": "audit"}
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Reread(Inferred):
    """Printed numbers of recommenders, for which each of several studies may have been made."""

    studies: tuple[PrintedStudy, ...]
    stated: ClassVar[bool] = True

    @property
    def pairable(self) -> bool:
        return False  # values of single users are not printed

    @cached_property
    def every_reading(self) -> Sequence[Reading]:
        """All that may have been done, with limits for all numbers at once."""
        n_numbers = sum(map(len, self.runs.values()))
        # Of one relevant item, AP within the best k is the share of k or of 1.
        of_cut = {n.metric for run in self.runs.values() for n in run if _is_cut(n.metric)}
        divisors = [{}, {one: replace(one, over="k") for one in of_cut}][: 1 + bool(of_cut)]
        found = []
        for study, other in product(self.studies, divisors):
            read = {
                name: [n._replace(metric=other.get(n.metric, n.metric)) for n in run]
                for name, run in self.runs.items()
            }
            found.append(Reading(study, read, self.metrics, (1 - LEVEL) / n_numbers))
        return found

    @cached_property
    def clashes(self) -> Sequence[list[tuple[str, list[Printed]]]]:
        """Under each reading, the recommenders with numbers that cannot all be, and these."""
        return [
            [(name, clash) for name in self.runs if (clash := one.clash(name))]
            for one in self.every_reading
        ]

    @cached_property
    def readings(self) -> Sequence[Reading]:
        """Those under which the numbers of every recommender are possible."""
        return [one for one, clashing in zip(self.every_reading, self.clashes) if not clashing]

    @cached_property
    def ladder(self) -> Rungs:
        return _rungs(self, lambda *which: _hull(one.limits(*which) for one in self.readings))

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        assumed = self.ladder[name, metric, "decreasing"]
        used = "contradicted" if np.isnan(assumed["low"]) else "decreasing"
        m = self.studies[0].m  # Recall and the hit rate of one relevant item are one
        same = [
            n.value
            for n in self.runs[name]
            if np.array_equal(terms_of(n.metric, m), terms_of(metric, m))
        ]
        free, narrow = _both(self.ladder, name, metric, used)
        known = {"assumption": used, "sampled": same[0] if same else np.nan}
        return {"value": np.nan, **free, **narrow} | known

    @cached_property
    def blind(self) -> BlindSpot | None:
        if not any(row["assumption"] == "decreasing" for row in self.rows.values()):
            return None
        spots = [blind_spot(s.pools[1], s.m, s.n_users) for s in self.studies]
        # How often limits from a whole column fail is not recorded of those from its means.
        return max(spots, key=lambda one: one.ranks)._replace(fails=np.nan)

    @cached_property
    def pairs(self) -> Pairs:
        both = product(combinations(self.runs, 2), self.metrics)
        return {(a, b, one): self.difference(a, b, one, LEVEL) for (a, b), one in both}

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        rest = {self.rows[name, metric]["assumption"] for name in (a, b)}
        used = "" if "contradicted" in rest else "decreasing"
        found: dict[str, Any] = {"assumption": used or "none", "difference": np.nan}
        for prefix, assumed in {"": "none", "if_": used}.items():
            readings = self.readings if assumed else []
            each = [[one.limits(name, metric, assumed) for name in (a, b)] for one in readings]
            low, high = _hull((a[0] - b[1], a[1] - b[0]) for a, b in each if a and b)
            sign = 1 if low > 0 else -1 if high < 0 else 0
            ahead = better(metric, a, b, sign) if sign else "undecided" if assumed else None
            apart = {"low": low, "high": high, "probability": np.nan, "ahead": ahead}
            found |= {prefix + what: value for what, value in apart.items()}
        return {column: found[column] for column in COLUMNS_OF_PAIRS}


def infer(ranked, metrics, drawn, has_train, groups):
    """What ranks of scores say, by what was drawn, and whose they are."""
    shared = ("runs", "named", "counts", "grades", "lists", "lowest", "piles")
    about: dict[str, Any] = {what: getattr(ranked, what) for what in shared}
    about |= {"metrics": tuple(metrics), "groups": groups}
    if (known := ranked.first.drawn) is not None:
        if known.how == "uniform":
            return Sampled(n_items=ranked.pools, replace=bool(known.replace), stated=False, **about)
        drawn = known.how if known.how in REPORTED else "unknown"
    if drawn in (None, "all"):
        about |= {what: getattr(ranked, what) for what in ("missed", "best", "is_known")}
        return Exact(is_task=drawn == "all", **about)
    if drawn != "uniform" or not ranked.looks_uniform:
        return Uncorrected(drawn=drawn, has_train=has_train, **about)
    return Sampled(n_items=ranked.pools, replace=False, stated=True, **about)


def better(metric: Metric, a: str, b: str, sign: int) -> str:
    """The better of two recommenders, where the metric of the first less the second has a sign."""
    return a if (sign > 0) == metric.higher_is_better else b


def _rungs(found, limits):
    """Limits by recommender, metric and assumption."""
    rungs = {}
    for name, metric, assumption in product(found.runs, found.metrics, ASSUMPTIONS):
        low, high = limits(name, metric, assumption)
        rungs[name, metric, assumption] = {"low": low, "high": high}
    return rungs


def _both(ladder, name, metric, used):
    """The limits without an assumption, and those under the one that is used, NaN without one."""
    free = ladder[name, metric, "none"]
    narrow = ladder[name, metric, used] if used == "decreasing" else dict.fromkeys(free, np.nan)
    return free, {f"if_{end}": value for end, value in narrow.items()}


def _tied(ranks, metrics, pile, lowest):
    """Ties at the lowest score, or all, where so many items have some that these can matter."""
    pile = np.broadcast_to(pile, len(ranks))
    rows, ties, n_ranked = ranks.rows, ranks.rows.ties, int(ranks.n_irrelevant.sum())
    at_lowest = np.where(rows.above == (ranks.n_irrelevant - pile)[rows.instance], ties, 0)
    last = rows.rank[np.cumsum(ranks.n_relevant) - 1]
    # What the lowest score stands for may be no items to rank.
    fewer = ranks.at(rows.rank, np.maximum(last, ranks.sizes - pile))
    for n_pile, some, ends in ((int(pile.sum()), at_lowest, [fewer]), (0, ties, [])):
        n = int(np.count_nonzero(some))
        if n < _MANY_TIES * len(ties) and n_pile < _MANY_TIES * n_ranked:
            continue
        ends += [ranks.at(rows.rank + t, ranks.sizes) for t in (0, some)]
        values = {m: [_defined(_values(m, one)) for one in ends] for m in metrics}
        moved = {
            m: sorted(float(one.mean()) for one in each)
            for m, each in values.items()
            if all(map(len, each))
        }
        most = max(moved, key=lambda m: moved[m][-1] - moved[m][0], default=None)
        low, *_, high = moved.get(most, [np.nan, np.nan])
        is_apart = n_pile > 0 and lowest[1]  # whatever it moves, it hardly is a score
        if most and (is_apart or high - low >= _MATTERS * high):
            return Tied(n, len(ties), n_pile, n_ranked, most, low, high)
    return None


def _values(metric: Metric, ranks: Any) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is undefined is counted
        return values_of(metric, ranks)


def _defined(values: ArrayLike) -> Floats:
    found = np.asarray(values)
    return found[~np.isnan(found)]


def _of_users(by_name, users):
    return {name: one[users] for name, one in by_name.items()}


def _hull(limits):
    """From the lowest to the highest of some limits; NaN where there are none."""
    ends = [one for one in limits if one is not None]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (np.nan,) * 2


def _is_cut(asked):
    return isinstance(asked, AveragePrecision) and asked.cutoff is not None and asked.over == "best"
