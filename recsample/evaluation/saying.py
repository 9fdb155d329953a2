"""The third phase of an evaluation: what ranks say, as numbers and in sentences."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recsample._support.checks import shown
from recsample._support.numerics import LEVEL, PERCENT, limits_of_mean
from recsample._support.typing import Floats, Integers
from recsample._support.values import Value
from recsample.inference.comparison import Comparison, compared, paired_comparison
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.inference.ways import ways_to
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.metrics.shapes import Linear
from recsample.ranks.base import Ranks
from recsample.sampling.base import Design

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranked(Value):
    """Recommenders, ranked for the same users: what the second phase hands to the third.

    `runs` are by the names of the recommenders, "" for one that is not `named`; `counts` says how
    often what did not match, by recommender and in words.
    """

    runs: Mapping[str, Any]  # Ranks, or RankCounts
    metrics: tuple[Metric, ...]
    named: bool
    simultaneous: bool
    notes: tuple[str, ...] = ()
    counts: Mapping[tuple[str, str], int] | None = None
    columns_of_pairs: ClassVar[tuple[str, ...]] = Comparison._fields

    def _content(self):
        parts = self.__getstate__().values()
        each = ((*p, *p.values()) if isinstance(p, Mapping) else (p,) for p in parts)
        return tuple(chain.from_iterable(each))

    def __getstate__(self):
        """The fields; what is computed from them is computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

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
    def rows(self) -> Mapping[tuple[str, Metric], dict[str, Any]]:
        """Values and limits by recommender and metric."""
        return {(name, m): self.row(name, m) for name in self.runs for m in self.metrics}

    @cached_property
    def ladder(self) -> Mapping[tuple[str, Metric, str], dict[str, float]]:
        """Limits by recommender, metric and assumption; none where nothing is assumed."""
        return {}

    @property
    def pairs(self) -> Mapping[tuple[str, str, Metric], dict[str, Any]]:
        """Differences by both recommenders and metric."""
        both = list(combinations(self.runs, 2)) if self.pairable else []
        # So narrow a chance of error for each that they all hold at once (Bonferroni).
        level = 1 - (1 - LEVEL) / max(1, len(both)) if self.simultaneous else LEVEL
        return {(*p, m): self.difference(*p, m, level) for p in both for m in self.metrics}

    def turned(self, kind: type[Ranked], **changes: Any) -> Ranked:
        """The same as another kind, of which other things are said."""
        return kind(**self.__getstate__() | changes)

    def part(self, users: Integers, **changes: Any) -> Ranked:
        """The same for some of the users."""
        return replace(self, runs={name: run[users] for name, run in self.runs.items()}, **changes)

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        """See `Result.plan`."""
        raise ValueError("a plan is made for one recommender: report it alone")

    @abstractmethod
    def head(self) -> str:
        """How the numbers came about."""

    @abstractmethod
    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        """A value and its limits."""

    @abstractmethod
    def sentence(self, name: str, metric: Metric) -> str:
        """The same in words."""

    def difference(self, a: str, b: str, metric: Metric, level: float) -> dict[str, Any]:
        """Of two means, and its limits."""
        one, other = self.values[a, metric], self.values[b, metric]
        if len(one) > 1:
            return paired_comparison(None, one, other, level=level)._asdict()
        return Comparison(float(np.mean(one - other)), np.nan, np.nan, np.nan)._asdict()


class Exact(Ranked):
    """All items are ranked: each user has a value, and means have Student's limits."""

    def head(self) -> str:
        pool = _span(self.first.n_irrelevant)
        return f"{_users(self.first)}, each ranked among {pool} irrelevant items."

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        values = self.values[name, metric]
        low, high = limits_of_mean(values, LEVEL) if len(values) > 1 else (np.nan, np.nan)
        return {"value": float(values.mean()), "low": low, "high": high}

    def sentence(self, name: str, metric: Metric) -> str:
        row, head = self.rows[name, metric], self.head()
        return (
            f"{metric} is {row['value']:.3f} ({PERCENT} limits {row['low']:.3f} to "
            f"{row['high']:.3f}, for other users like these), over {head[0].lower() + head[1:]}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimated(Exact):
    """A design estimates each user's value without bias, after scoring so many items as `costs`."""

    design: Design
    estimates: Mapping[tuple[str, Metric], Floats]
    costs: Mapping[str, Floats]

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
class Uncorrected(Ranked):
    """Ranks among listed items that say nothing of the others, and why."""

    why: str

    @property
    def pairs(self) -> Mapping[tuple[str, str, Metric], dict[str, Any]]:
        return {}

    def part(self, users: Integers, **changes: Any) -> Ranked:
        raise ValueError("this result has nothing to say of segments: see its sentences")

    def head(self) -> str:
        return (
            f"{_users(self.first)}, each ranked among {_span(self.first.n_irrelevant)} listed "
            f"items. Nothing can be said of the metrics among all items: {self.why}."
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        sampled = float(self.values[name, metric].mean())
        unknown = dict.fromkeys(("value", "low", "high"), np.nan)
        return unknown | {"sampled": sampled, "assumption": ""}

    def sentence(self, name: str, metric: Metric) -> str:
        return (
            f"{metric} is {self.rows[name, metric]['sampled']:.3f} among the listed items. "
            f"Nothing can be said of it among all items: {self.why}."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampled(Ranked):
    """Ranks among items that were drawn uniformly from pools of `n_items`."""

    n_items: Integers
    replace: bool
    columns_of_pairs = (*Comparison._fields, "assumption")

    @cached_property
    def values(self) -> Mapping[tuple[str, Metric], Floats]:
        return {(name, m): m(run) for name, run in self.runs.items() for m in self.metrics}

    @cached_property
    def evidence(self) -> Mapping[str, Evidence]:
        """What each run says under each assumption."""
        return {
            name: Evidence(run, self.n_items, self.replace, self.metrics)
            for name, run in self.runs.items()
        }

    @cached_property
    def ladder(self) -> Mapping[tuple[str, Metric, str], dict[str, float]]:
        rungs: dict[tuple[str, Metric, str], dict[str, float]] = {}
        for (name, one), metric, a in product(self.evidence.items(), self.metrics, ASSUMPTIONS):
            contradicted = one.contradicts(metric, a)
            low, high = (np.nan, np.nan) if contradicted else one.limits(metric, a, LEVEL)
            rungs[name, metric, a] = {"low": low, "high": high}
        return rungs

    def part(self, users: Integers, **changes: Any) -> Ranked:
        sizes = np.broadcast_to(self.n_items, len(self.first))[users]
        return super().part(users, n_items=sizes)

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        if self.named:
            return super().plan(metric, width)
        asked = the_metric(metric)
        if asked not in self.metrics:
            known = list(map(str, self.metrics))
            raise ValueError(f"metric must be one of {known}, got {metric!r}")
        return ways_to(asked, width, self.evidence[""])

    def head(self) -> str:
        return f"{_came(next(iter(self.evidence.values())))}."  # which begins with a number

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        evidence = self.evidence[name]
        used = supported(metric, evidence) or ""
        limits = self.ladder.get((name, metric, used), {"low": np.nan, "high": np.nan})
        known = isinstance(metric.shape, Linear) or used == "decreasing"
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
        row, evidence = self.rows[name, metric], self.evidence[name]
        source, limits = f"the sampled ranks of {_came(evidence)}", "{low:.3f} to {high:.3f}"
        said, usual = limits.format(**row), "within the best fifth of the list"
        uncorrected = f"Uncorrected, among the drawn items only, {metric} is {row['sampled']:.3f}."
        if isinstance(metric.shape, Linear):
            return (
                f"{metric} is {row['value']:.3f} ({PERCENT} limits {said}), from {source}. It is "
                "linear in the rank, so sampling leaves its expectation as it is, and the limits "
                "rest on no assumption about the ranks."
            )
        if row["assumption"] == "decreasing":
            several = (evidence.sampled.n_relevant > 1).any()
            random = "compared with a random ranking, " if several else ""
            free = limits.format(**self.ladder[name, metric, "none"])
            return (
                f"{metric} is estimated at {row['value']:.3f}, with {PERCENT} limits of {said}, "
                f"from {source}. The limits assume that {usual}, {random}no rank is more frequent "
                f"than a better one; without that assumption these data say {free}. {uncorrected}"
            )
        if row["assumption"] == "none":
            return (
                f"{metric} is between {row['low']:.3f} and {row['high']:.3f} ({PERCENT} limits), "
                f"from {source}. The limits rest on no assumption about the ranks, because the "
                f"data contradict the usual one, that {usual} no rank is more frequent than a "
                f"better one; for the same reason there is no estimate. {uncorrected}"
            )
        return (
            f"Nothing can be said of {metric}: whatever the exact ranks are, uniform draws do not "
            f"give {source}. Check the number of drawn items, the sizes of the pools, whether a "
            "list was cut off, and how the items were drawn."
        )


def _span(numbers: Integers, form: str = ",") -> str:
    """The smallest and the largest of them."""
    low, high = f"{numbers.min():{form}}", f"{numbers.max():{form}}"
    return low if low == high else f"{low} to {high}"


def _came(evidence):
    """How the ranks came about."""
    sampled, how = evidence.sampled, "with" if evidence.replace else "without"
    several = (sampled.n_relevant > 1).any()
    items = f" with {sampled.n_relevant.sum()} relevant items" if several else ""
    return (
        f"{evidence.n_instances} instances{items}, each ranked among "
        f"m = {_span(sampled.n_irrelevant, '')} of "
        f"{_span(evidence.sizes - sampled.n_relevant, '')} irrelevant items, said to be drawn "
        f"uniformly {how} replacement"
    )


def _users(ranks):
    several = int(ranks.n_relevant.sum())
    items = f" with {several:,} held-out items" if several > len(ranks) else ""
    return f"{len(ranks):,} users{items}"


def _defined(metric, ranks):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is undefined is refused here
        values = metric(ranks)
    if np.isnan(values).any():
        where = int(np.argmax(np.isnan(values)))
        raise ValueError(
            f"{metric} is undefined for user {shown(ranks.ids[where])}, for whom "
            f"{ranks.n_irrelevant[where]} irrelevant items are ranked"
        )
    return values
