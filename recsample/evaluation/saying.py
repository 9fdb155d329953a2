"""The third phase of an evaluation: what ranks say, as numbers and in sentences."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recsample._support.arrays import summed
from recsample._support.checks import refuse_first, shown
from recsample._support.extras import extra
from recsample._support.numerics import LEVEL, PERCENT, limits_of_mean, mean_of
from recsample._support.typing import Floats, Integers
from recsample._support.values import Value
from recsample.evaluation.causes import is_upside_down, likely_cause
from recsample.evaluation.grades import grades_said, span_of, terms, uses_grades, values_of
from recsample.inference.audit import Audit
from recsample.inference.blind import BlindSpot, blind_spot
from recsample.inference.comparison import Comparison, compared, of_differences, step_down
from recsample.inference.likelihood.evidence import REFUTED, SURPRISE, Evidence, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.inference.planning import users_to_rank
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.metrics.ranking import AveragePrecision
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.ranks.graded import Graded
from recsample.sampling.base import Design

if TYPE_CHECKING:
    import pandas as pd


def usual(several: bool = False) -> str:
    """The usual assumption, of one relevant item or of several for some user."""
    random = " compared with a random ranking," if several else ""
    return f"within the best fifth of the list,{random} no rank is more frequent than a better one"


def better(metric: Metric, a: str, b: str, sign: int) -> str:
    """The better of two recommenders, where the metric of the first less the second has a sign."""
    return a if (sign > 0) == metric.higher_is_better else b


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranked(Value):
    """Recommenders, ranked for the same users: what the second phase hands to the third.

    `runs` are by the names of the recommenders, "" for one that is not `named`; `counts` says how
    often what did not match, by recommender and in words; `grades` are the different ones of the
    held-out items, where these say more than that an item is relevant.
    """

    runs: Mapping[str, Any]  # Ranks, or RankCounts
    metrics: tuple[Metric, ...]
    named: bool
    notes: tuple[str, ...] = ()
    counts: Mapping[tuple[str, str], int] | None = None
    grades: tuple[float, ...] = ()
    columns_of_pairs: ClassVar[tuple[str, ...]] = (*Comparison._fields, "ahead")
    has_estimates: ClassVar[bool] = True
    # Whether the value of each user is one that the metric can have, not their mean only.
    bounded: ClassVar[bool] = True

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
        """The value of each metric for each user."""
        return {
            (name, m): _defined(m, run) for name, run in self.runs.items() for m in self.metrics
        }

    @cached_property
    def span(self) -> Mapping[Metric, tuple[float, float]]:
        """The lowest and the highest value that each metric can have."""
        return {m: span_of(m, self.first) for m in self.metrics}

    @cached_property
    def rows(self) -> Mapping[tuple[str, Metric], dict[str, Any]]:
        """Values and limits by recommender and metric."""
        return {(name, m): self.row(name, m) for name in self.runs for m in self.metrics}

    @property
    def ladder(self) -> Mapping[tuple[str, Metric, str], dict[str, float]]:
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
    def pairs(self) -> Mapping[tuple[str, str, Metric], dict[str, Any]]:
        """Differences by both recommenders and metric."""
        both = list(combinations(self.runs, 2)) if self.pairable else []
        # So narrow a chance of error for each pair of a metric that they all hold at once.
        level = 1 - (1 - LEVEL) / max(1, len(both))
        found = {(*p, m): self.difference(*p, m, level) for p in both for m in self.metrics}
        for metric in self.metrics:
            ahead = np.array([found[(*p, metric)]["probability"] for p in both])
            rejected = step_down(2 * np.minimum(ahead, 1 - ahead), 1 - LEVEL)
            for pair, is_rejected in zip(both, rejected):
                one = found[(*pair, metric)]
                found[(*pair, metric)] = one | self._decided(*pair, metric, one, is_rejected)
        return found

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Pairs whose limits exclude 0, on another side than their values or chances say."""
        return tuple(
            f"{a} - {b}, {metric}: undecided, since the limits of the difference exclude 0 and the "
            "values, the difference or its probability are on the other side of it"
            for (a, b, metric), one in self.pairs.items()
            if one["ahead"] == "undecided" and (one["low"] > 0 or one["high"] < 0)
        )

    def _decided(self, a, b, metric, compared, is_rejected):
        """Who is ahead, if 0 is rejected and no other number says the opposite."""
        low, high, chance = (compared[what] for what in ("low", "high", "probability"))
        sign = np.sign(chance - 0.5) if is_rejected else 1 if low > 0 else -1 if high < 0 else 0
        apart = self.rows[a, metric]["value"] - self.rows[b, metric]["value"]
        if sign == 0 or any(sign * x < 0 for x in (apart, compared["difference"], chance - 0.5)):
            return {"ahead": "undecided"}
        end = {"low": max(low, 0.0)} if sign > 0 else {"high": min(high, 0.0)}
        return end | {"ahead": better(metric, a, b, sign)}

    def turned(self, kind: type[Ranked], **changes: Any) -> Ranked:
        """The same as another kind, of which other things are said."""
        return kind(**self.__getstate__() | changes)

    def noted(self, note: str) -> Ranked:
        """The same with one more note."""
        return replace(self, notes=(*self.notes, note))

    def part(self, users: Integers, **changes: Any) -> Ranked:
        """The same for some of the users."""
        return replace(self, runs={name: run[users] for name, run in self.runs.items()}, **changes)

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        """See `Result.plan`."""
        raise ValueError("a plan is made for one recommender: report it alone")

    @property
    def alarms(self) -> tuple[str, ...]:
        """Of recommenders whose ranks hardly come from draws as they are stated."""
        return ()

    @property
    def divisors(self) -> tuple[str, ...]:
        """What average precision is divided by, where libraries differ."""
        several = np.max(getattr(self.first, "n_relevant", 1)) > 1  # of one item all are 1
        return tuple(
            f"{m} is divided by min(L, {m.cutoff}), for a user's L relevant items: others divide "
            f"by L, AP(relevant)@{m.cutoff}, or by the hits, AP(hits)@{m.cutoff}"
            for m in self.metrics
            if isinstance(m, AveragePrecision) and m.cutoff and m.over == "best" and several
        )

    def grades_said(self, *metrics: Metric) -> str:
        """What metrics make of the grades."""
        return grades_said(metrics, self.grades)

    @abstractmethod
    def head(self) -> str:
        """How the numbers came about."""

    def limits_said(self) -> str:
        """Of what limits are, and what they rest on."""
        return f"Limits ({PERCENT}) are for other users like these."

    @abstractmethod
    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        """A value and its limits."""

    @abstractmethod
    def sentence(self, name: str, metric: Metric) -> str:
        """The same in words."""

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        """Of two means, and its limits."""
        differences = self.values[a, metric] - self.values[b, metric]
        if len(differences) < 2:
            return Comparison(float(differences.mean()), np.nan, np.nan, np.nan)._asdict()
        low, high = self.span[metric]
        least, most = low - high, high - low
        found = of_differences(differences, level, (least, most) if self.bounded else None)
        return found._replace(low=max(found.low, least), high=min(found.high, most))._asdict()


class Exact(Ranked):
    """All items are ranked: each user has a value, and a mean has the limits of a mean."""

    def head(self) -> str:
        pool = _span(self.first.n_irrelevant)
        return f"{_users(self.first)}, each ranked among {pool} irrelevant items."

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        values, (least, most) = self.values[name, metric], self.span[metric]
        found = {"value": float(values.mean()), "low": np.nan, "high": np.nan}
        if len(values) < 2:
            return found
        low, high = limits_of_mean(values, LEVEL, ends=(least, most) if self.bounded else None)
        return found | {"low": max(low, least), "high": min(high, most)}

    def sentence(self, name: str, metric: Metric) -> str:
        row = self.rows[name, metric]
        return (
            f"{metric} is {row['value']:.3f} ({PERCENT} limits {_between(row)}, for other users "
            f"like these), over {self.head()}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimated(Exact):
    """A design estimates each user's value without bias, after scoring so many items as `costs`."""

    design: Design
    estimates: Mapping[tuple[str, Metric], Floats]
    costs: Mapping[str, Floats]
    bounded: ClassVar[bool] = False

    @property
    def values(self) -> Mapping[tuple[str, Metric], Floats]:
        return self.estimates

    def part(self, users: Integers, **changes: Any) -> Ranked:
        estimates = {key: one[users] for key, one in self.estimates.items()}
        costs = {name: one[users] for name, one in self.costs.items()}
        return super().part(users, estimates=estimates, costs=costs)

    def head(self) -> str:
        return (
            f"{_users(self.first)}, estimated without bias by {self.design}, which on average "
            f"scores {np.mean(list(self.costs.values())):.0f} of {_span(self.first.n_irrelevant)} "
            "irrelevant items."
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        return super().row(name, metric) | {"scored": float(self.costs[name].mean())}


@dataclass(frozen=True, eq=False, kw_only=True)
class Bounded(Exact):
    """Lists of the best leave out relevant items, which stand somewhere behind them.

    Of each such recommender, `ends` are the ranks with these items at the very end and right behind
    the list, and `left_out` how many they are for each user. Where nobody has `stated` the
    catalogue, it may be larger than all that occurs.
    """

    ends: Mapping[str, tuple[Ranks, Ranks]]
    left_out: Mapping[str, Integers]
    stated: bool
    columns_of_pairs = (*Comparison._fields, "assumption")

    @cached_property
    def bounds(self) -> Mapping[tuple[str, Metric], tuple[Floats, Floats]]:
        """The lowest and the highest value of each metric for each user."""
        return {
            (name, m): self._bounds(name, run, m)
            for name, run in self.runs.items()
            for m in self.metrics
        }

    def _bounds(self, name, run, metric):
        last, first = self.ends.get(name, (run, run))
        worst, best = _defined(metric, last), _defined(metric, first)
        if name in self.ends and not self.stated:
            if isinstance(metric.shape, Linear):  # in a large catalogue whatever is listed is high
                best = np.full(len(best), metric.of_rank(1, 2))
            elif metric.additive:  # and what is not listed may be as far down as one likes
                worst = worst - self._behind(name, metric, last)
        return np.minimum(worst, best), np.maximum(worst, best)

    def _behind(self, name, metric, last):
        """What the items that are left out add to the metric of each user, at the very end."""
        rows, n_relevant = last.rows, last.n_relevant
        owner = rows.instance
        out = rows.order > (n_relevant - self.left_out[name])[owner]
        is_graded = isinstance(last, Graded) and uses_grades(metric, last.grade)
        each = rows.rank, rows.order, n_relevant[owner], last.sizes[owner]
        term = terms(metric, last) if is_graded else metric.term(*each)
        return summed(owner, np.where(out, term, 0.0), len(last))

    @cached_property
    def values(self) -> Mapping[tuple[str, Metric], Floats]:
        return {key: np.where(low == high, low, np.nan) for key, (low, high) in self.bounds.items()}

    def part(self, users: Integers, **changes: Any) -> Ranked:
        ends = {name: (last[users], first[users]) for name, (last, first) in self.ends.items()}
        left_out = {name: n[users] for name, n in self.left_out.items()}
        return super().part(users, ends=ends, left_out=left_out)

    def limits_said(self) -> str:
        if all(row["assumption"] == "" for row in self.rows.values()):
            return super().limits_said()
        return (
            f"{super().limits_said()} What is 'between' two numbers is bounded for these users: "
            "held-out items that a list leaves out may stand anywhere behind it (if they are below "
            "all others: complete=True)."
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        if not np.isnan(self.values[name, metric]).any():
            return super().row(name, metric) | {"assumption": ""}
        low, high = (float(end.mean()) for end in self.bounds[name, metric])
        return {"value": np.nan, "low": low, "high": high, "assumption": "bound"}

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        if all(self.rows[name, metric]["assumption"] == "" for name in (a, b)):
            return super().difference(a, b, metric, level) | {"assumption": ""}
        (low_a, high_a), (low_b, high_b) = (self.bounds[name, metric] for name in (a, b))
        low, high = float((low_a - high_b).mean()), float((high_a - low_b).mean())
        return Comparison(np.nan, low, high, np.nan)._asdict() | {"assumption": "bound"}

    def sentence(self, name: str, metric: Metric) -> str:
        row = self.rows[name, metric]
        if row["assumption"] == "":
            return super().sentence(name, metric)
        total, out = self.runs[name].n_relevant.sum(), self.left_out[name].sum()
        return (
            f"{metric} is between {row['low']:.3f} and {row['high']:.3f} for these "
            f"{_users(self.first)}: {out:,} of {total:,} held-out items are not in the lists, and "
            "stand somewhere behind them."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Uncorrected(Ranked):
    """Ranks among listed items that say nothing of the others, and why."""

    why: str

    @property
    def pairs(self) -> Mapping[tuple[str, str, Metric], dict[str, Any]]:
        return {}

    def part(self, users: Integers, **changes: Any) -> Ranked:
        raise ValueError("this result has nothing to say of segments: see its sentences")

    def head(self) -> str:
        listed = f"each ranked among {_span(self.first.n_irrelevant)} listed items"
        return f"{_users(self.first)}, {listed}. {self._nothing('the metrics')}"

    def _nothing(self, what):
        # The way out where scores are there, and listed items say nothing.
        exactly = "The same call without negatives gives the exact metrics, from the same scores."
        return f"Nothing can be said of {what} among all items: {self.why}. {exactly}"

    def limits_said(self) -> str:
        return ""

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        sampled = float(self.values[name, metric].mean())
        unknown = dict.fromkeys(("value", "low", "high"), np.nan)
        return unknown | {"sampled": sampled, "assumption": ""}

    def sentence(self, name: str, metric: Metric) -> str:
        sampled = self.rows[name, metric]["sampled"]
        return f"{metric} is {sampled:.3f} among the listed items. {self._nothing('it')}"


_UPSIDE_DOWN = (
    "Ranks are worse than those of 9,999 of 10,000 random orders: the best one is rank 1, and the "
    "worst m + 1."
)
# What limits rest on, by the word that stands for it in a table.
_RESTS = {
    "decreasing": "Limits ({level}) assume that {usual}; those called 'without' do not. {blind}",
    "not needed": "Limits ({level}) of metrics linear in the rank ('not needed') assume nothing.",
    "contradicted": (
        "Where the data contradict that {usual} ('contradicted'), limits ({level}) assume nothing, "
        "and there is no corrected value."
    ),
    "refuted": (
        "Ranks that such draws give in fewer than 1 of 10,000 studies ('refuted') have no "
        "corrected value."
    ),
}


def rests_on(row: Mapping[str, Any]) -> str:
    """What the limits of a row rest on, in a word or two."""
    if row["assumption"] != "none":
        return row["assumption"] or "refuted"
    return "contradicted" if np.isnan(row["value"]) else "not needed"


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled(Ranked):
    """Ranks among items that were drawn uniformly from pools of `n_items`."""

    n_items: Integers
    replace: bool
    stated: bool  # by whoever asks, and not known to this package
    batches: Any = None  # the number of each instance's list, where they share lists
    items: Mapping[str, Floats] = field(default_factory=dict)  # as of `Evidence`, if known
    columns_of_pairs = (*Comparison._fields, "assumption", "ahead")

    @cached_property
    def values(self) -> Mapping[tuple[str, Metric], Floats]:
        return {(name, m): m(run) for name, run in self.runs.items() for m in self.metrics}

    @cached_property
    def evidence(self) -> Mapping[str, Evidence]:
        """What each run says under each assumption."""
        how, n = (self.n_items, self.replace, self.metrics), len(self.runs)
        if self.batches is not None:
            raise ValueError("drawn must not be 'shared': audit some users, whatever the draws are")
        return {name: Evidence(run, *how, n) for name, run in self.runs.items()}

    @cached_property
    def fit(self) -> Mapping[str, dict[str, float]]:
        return {
            name: {"p_value": one.misfit("none"), "p_corrected": one.fit}
            for name, one in self.evidence.items()
        }

    @cached_property
    def ladder(self) -> Mapping[tuple[str, Metric, str], dict[str, float]]:
        rungs: dict[tuple[str, Metric, str], dict[str, float]] = {}
        for (name, one), metric, a in product(self.evidence.items(), self.metrics, ASSUMPTIONS):
            none = one.contradicts(metric, a)
            ends = (np.nan, np.nan) if none else one.limits(metric, a, LEVEL)
            rungs[name, metric, a] = dict(zip(("low", "high"), ends))
        return rungs

    @cached_property
    def blind(self) -> BlindSpot | None:
        if not any(row["assumption"] == "decreasing" for row in self.rows.values()):
            return None
        one = next(iter(self.evidence.values()))
        n, m = (mean_of(size, one.counts) for size in (one.sizes, one.sampled.n_irrelevant))
        return blind_spot(round(n), round(m), one.n_instances)

    def part(self, users: Integers, **changes: Any) -> Ranked:
        sizes = np.broadcast_to(self.n_items, len(self.first))[users]
        return super().part(users, n_items=sizes, **changes)

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        if self.named:
            return super().plan(metric, width)
        if (asked := the_metric(metric)) not in self.metrics:
            raise ValueError(f"metric must be one of {[*map(str, self.metrics)]}, got {metric!r}")
        found = users_to_rank(asked, width, self.evidence[""])
        rows = {"these users": found.these, "others like these": found.others}
        return extra("pandas").DataFrame({"users": rows})

    def head(self) -> str:
        return f"{self._came(next(iter(self.runs)))}."  # which begins with a number

    def limits_said(self) -> str:
        assumed = usual(any(map(_has_several, self.evidence.values())))
        found = {rests_on(row) for row in self.rows.values()}
        return " ".join(
            said.format(level=PERCENT, usual=assumed, blind=self.blind).rstrip()
            for word, said in _RESTS.items()
            if word in found
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        evidence = self.evidence[name]
        used = supported(metric, evidence) or ""
        limits = self.ladder.get((name, metric, used), {"low": np.nan, "high": np.nan})
        known = used == "decreasing" or (used and isinstance(metric.shape, Linear))
        value = evidence.estimate(metric) if known else np.nan
        # An estimate outside of the limits would be one that the data speak against.
        within = float(np.clip(value, limits["low"], limits["high"]))
        return {"value": within, **limits, "sampled": evidence.mean(metric), "assumption": used}

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        """Under the weaker of the assumptions that the two rest on."""
        both = self.evidence[a], self.evidence[b]
        weaker = supported(metric, *both)
        if weaker is None:
            return dict.fromkeys(Comparison._fields, np.nan) | {"assumption": ""}
        return compared(metric, *both, weaker, level)._asdict() | {"assumption": weaker}

    def sentence(self, name: str, metric: Metric) -> str:
        # Marked where the draws are a surprise, though not refuted.
        is_marked = self.rows[name, metric]["assumption"] and self._surprises(name)
        return self._said(name, metric) + f" {self._surprise(name)}" * bool(is_marked)

    def _surprises(self, name):
        return name in self.fit and self.fit[name]["p_corrected"] < SURPRISE

    def _surprise(self, name):
        """How rare such ranks are, and what that may come from."""
        chance = self.fit[name]["p_corrected"]
        rare = f"1 of {int(1 / max(chance, REFUTED)):,} studies"
        exactly = f" (p = {chance:.2g})" if chance >= REFUTED else ""
        other = "m, the pool sizes, a cut-off or the draws differ from what was stated"
        if not self.stated:
            other = "ranks were changed, or users left out (complete scores need no sampler=)"
        said = (
            f"Ranks like these come from such draws in fewer than {rare}{exactly}: either this "
            f"is that study, or {other}."
        )
        return f"{said} {self._cause(name)}".rstrip()

    def _cause(self, name):
        """What probably went wrong; where this package drew the items it knows m and the draws."""
        return likely_cause(self.runs[name]) if self.stated else ""

    @property
    def alarms(self) -> tuple[str, ...]:
        said = {name: self._alarm(name) for name in self.runs}
        return tuple(f"{name}: " * self.named + alarm for name, alarm in said.items() if alarm)

    def _alarm(self, name):
        if self._surprises(name):
            return self._surprise(name)
        if self.fit and (cause := self._cause(name)):
            return f"{cause} All that is said assumes that it is not so."
        return _UPSIDE_DOWN if self.stated and is_upside_down(self.runs[name]) else ""

    def _said(self, name, metric):
        row, evidence = self.rows[name, metric], self.evidence[name]
        source, said = f"the sampled ranks of {self._came(name)}", _between(row)
        assumed, uncorrected = usual(_has_several(evidence)), _uncorrected(metric, row)
        if isinstance(metric.shape, Linear) and row["assumption"]:
            return (
                f"{metric} is {row['value']:.3f} ({PERCENT} limits {said}), from {source}. It is "
                "linear in the rank, so sampling leaves its expectation as it is, and the limits "
                "rest on no assumption about the ranks."
            )
        if row["assumption"] == "decreasing":
            free = _between(self.ladder[name, metric, "none"])
            unseen = f"{self.blind} ".lstrip()
            return (
                f"{metric} is estimated at {row['value']:.3f}, with {PERCENT} limits of {said}, "
                f"from {source}. The limits assume that {assumed}; without that assumption these "
                f"data say {free}. {unseen}{uncorrected}"
            )
        if row["assumption"] == "none":
            return (
                f"{metric} is between {row['low']:.3f} and {row['high']:.3f} ({PERCENT} limits), "
                f"from {source}. The limits rest on no assumption about the ranks, because the "
                f"data contradict the usual one, that {assumed}; for the same reason there is no "
                f"estimate. {uncorrected}"
            )
        return f"No estimate of {metric} from {source}. {self._surprise(name)} {uncorrected}"

    def _came(self, name):
        """How the ranks came about."""
        evidence = self.evidence[name]
        sampled, how = evidence.sampled, "with" if evidence.replace else "without"
        n_items = f" with {sampled.n_relevant.sum()} relevant items"
        items = n_items if _has_several(evidence) else ""
        word = ", as stated by whoever made this report" if self.stated else " by recsample"
        return (
            f"{evidence.n_instances} instances{items}, each ranked among "
            f"m = {_span(sampled.n_irrelevant, '')} of "
            f"{_span(evidence.sizes - sampled.n_relevant, '')} irrelevant items, drawn "
            f"uniformly {how} replacement{self.for_whom()}{word}"
        )

    def for_whom(self) -> str:
        """For whom lists were drawn, if not for each instance."""
        return ""


# What tells more than lists that users share.
_OWN_LISTS = (
    "items drawn anew for each user, lists for five equal batches of users or more, or exact ranks "
    "of some users chosen at random"
)


class Shared(Sampled):
    """Ranks among lists that instances share."""

    @property
    def is_few(self) -> bool:
        """Whether there are too few lists to see how much they differ."""
        return next(iter(self.evidence.values())).is_few_lists

    @cached_property
    def ladder(self) -> Mapping[tuple[str, Metric, str], dict[str, float]]:
        return {} if self.is_few else super().ladder

    def part(self, users: Integers, **changes: Any) -> Ranked:
        batches = np.unique(self.batches[users], return_inverse=True)[1]
        return super().part(users, batches=batches, items={})

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        raise ValueError("a plan is made from items drawn anew for each user, got shared lists")

    def for_whom(self) -> str:
        n = int(np.max(self.batches)) + 1
        return ", one list for all" if n == 1 else f" for each of {n} batches"

    def limits_said(self) -> str:
        if not self.is_few:
            return f"{super().limits_said()} {_BY_BATCHES}"
        over = "the listed items" if self.items else "as many items as a list has"
        return (
            f"Limits ({PERCENT}) assume nothing of the ranks and hold whatever users have in "
            f"common; those of metrics linear in the rank are of a mean over {over}. Narrower "
            f"ones take {_OWN_LISTS}."
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        if not self.is_few:
            return super().row(name, metric)
        evidence = self.evidence[name]
        sampled, linear = evidence.mean(metric), isinstance(metric.shape, Linear)
        low, high = evidence.limits(metric, "none", LEVEL)
        found = {"value": sampled if linear else np.nan, "low": low, "high": high}
        return found | {"sampled": sampled, "assumption": "none"}

    def sentence(self, name: str, metric: Metric) -> str:
        if not self.is_few:
            return f"{super().sentence(name, metric)} {_BY_BATCHES}"
        row, source = self.rows[name, metric], f"the sampled ranks of {self._came(name)}"
        if isinstance(metric.shape, Linear):
            m = _span(self.evidence[name].sampled.n_irrelevant, "")
            over = f"the {len(self.items[name])} listed items" if self.items else f"{m} items"
            return (
                f"{metric} is {row['value']:.3f} ({PERCENT} limits {_between(row)}), from "
                f"{source}. It is linear in the rank, so sampling leaves its expectation as it is. "
                f"The limits are those of a mean over {over} drawn uniformly, however many users "
                "share them, and rest on no assumption about the ranks."
            )
        return (
            f"{metric} is between {row['low']:.3f} and {row['high']:.3f} ({PERCENT} limits, for "
            f"these users), from {source}. The limits hold whatever users have in common and rest "
            "on no assumption about the ranks; they are wide, and there is no estimate, because a "
            f"list that users share is one draw. More is told by {_OWN_LISTS}. "
            f"{_uncorrected(metric, row)}"
        )


_BY_BATCHES = (
    "All limits are by batches, whose lists were drawn uniformly and independently of each other."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited(Sampled):
    """Exact ranks of some users beside the sampled ranks of all, however items were drawn.

    `chances` says how likely each user was to be audited; without them the choice was random.
    """

    exact: Mapping[str, Ranks]
    audited: Integers
    chances: Floats | None
    fit: ClassVar[Mapping[str, Any]] = {}  # of the draws nothing is assumed
    ladder: ClassVar[Mapping[tuple[str, Metric, str], dict[str, float]]] = {}

    @cached_property
    def audits(self) -> Mapping[str, Audit]:
        """Of each recommender."""
        sizes = np.broadcast_to(self.n_items, len(self.first))
        return {
            name: Audit(run, self.exact[name], self.audited, sizes, self.replace, self.chances)
            for name, run in self.runs.items()
        }

    def part(self, users: Integers, **changes: Any) -> Ranked:
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

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        raise ValueError("a plan of an audit is made by rs.inference.plan_audit")

    def head(self) -> str:
        return (
            f"{_users(self.first)}, each ranked among {_span(self.first.n_irrelevant)} drawn "
            f"items, and {len(self.audited):,} of them among all "
            f"{_span(self.n_items - self.first.n_relevant)} irrelevant items."
        )

    def limits_said(self) -> str:
        return f"Limits ({PERCENT}) are for the mean over these users. They {self._assume()}"

    def _assume(self):
        how = "at random" if self.chances is None else "each with the chance stated"
        return (
            f"assume that the {len(self.audited):,} audited users were chosen {how}, as wholes and "
            "independently of everything else, and nothing about the ranks, nor about how items "
            "were drawn."
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        found = self.audits[name].mean(metric)
        known = {"sampled": float(self.values[name, metric].mean()), "assumption": "audit"}
        others = {"low_for_others": found.low_for_others, "high_for_others": found.high_for_others}
        return {"value": found.value, "low": found.low, "high": found.high} | known | others

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        found = self.audits[a].difference(self.audits[b], metric, level)
        return found.compared(level)._asdict() | {"assumption": "audit"}

    def sentence(self, name: str, metric: Metric) -> str:
        row = self.rows[name, metric]
        return (
            f"{metric} is estimated at {row['value']:.3f}, with {PERCENT} limits of "
            f"{_between(row)} for these {len(self.first):,} users, and of "
            f"{row['low_for_others']:.3f} to {row['high_for_others']:.3f} for other users like "
            f"these, from the sampled ranks of all and the exact ranks of {len(self.audited):,}. "
            f"The limits {self._assume()} {_uncorrected(metric, row)}"
        )


def _has_several(evidence):
    return bool((evidence.sampled.n_relevant > 1).any())


def _between(row):
    return f"{row['low']:.3f} to {row['high']:.3f}"


def _uncorrected(metric, row):
    return f"Uncorrected, among the drawn items only, {metric} is {row['sampled']:.3f}."


def _span(numbers: Integers, form: str = ",") -> str:
    """The smallest and the largest of them."""
    low, high = f"{numbers.min():{form}}", f"{numbers.max():{form}}"
    return low if low == high else f"{low} to {high}"


def _users(ranks):
    several = int(ranks.n_relevant.sum())
    items = f" with {several:,} held-out items" if several > len(ranks) else ""
    return f"{len(ranks):,} user{'s' * (len(ranks) > 1)}{items}"


def _defined(metric, ranks):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is undefined is refused here
        values = values_of(metric, ranks)
    said = f"{metric} is undefined for user {{}}, for whom {{}} irrelevant items are ranked"
    if np.isnan(values).any():
        refuse_first(np.isnan(values), said, [*map(shown, ranks.ids)], ranks.n_irrelevant)
    return values
