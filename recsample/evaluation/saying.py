"""The third phase of an evaluation: what ranks say, as numbers and in sentences.

Where all items are ranked it stands here; what ranks among drawn items say is in `reporting`.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recsample._support.checks import shown
from recsample._support.numerics import LEVEL, PERCENT, limits_of_mean
from recsample._support.typing import Floats, Integers
from recsample._support.values import Value
from recsample.inference.comparison import Comparison, paired_comparison
from recsample.metrics.base import Metric
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
    pair_columns: ClassVar[tuple[str, ...]] = Comparison._fields
    pairable = True

    def _content(self):
        return tuple(
            part
            for one in self.__getstate__().values()
            for part in ((*one, *one.values()) if isinstance(one, Mapping) else (one,))
        )

    def __getstate__(self):
        """The fields; what is computed from them is computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def first(self) -> Any:
        """Of one recommender: users and pools are those of all."""
        return next(iter(self.runs.values()))

    @property
    def ids(self) -> NDArray[Any]:
        """The users."""
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

    def turned(self, kind: type[Ranked], **changes: Any) -> Ranked:
        """The same as another kind, of which other things are said."""
        return kind(**self.__getstate__() | changes)

    def part(self, users: Integers) -> Ranked:
        """The same for some of the users."""
        return replace(self, runs={name: run[users] for name, run in self.runs.items()})

    @property
    def ladder(self) -> Mapping[tuple[str, str, str], dict[str, float]]:
        """The limits by recommender, metric and assumption; none where nothing is assumed."""
        return {}

    @property
    def pairs(self) -> Mapping[tuple[str, str, str], dict[str, Any]]:
        """The differences by both recommenders and metric."""
        both = list(combinations(self.runs, 2)) if self.pairable else []
        # So narrow a chance of error for each that they all hold at once (Bonferroni).
        level = 1 - (1 - LEVEL) / max(1, len(both)) if self.simultaneous else LEVEL
        return {(*p, str(m)): self.difference(*p, m, level) for p in both for m in self.metrics}

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
        pool = span(self.first.n_irrelevant)
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

    def part(self, users: Integers) -> Ranked:
        estimates = {key: one[users] for key, one in self.estimates.items()}
        costs = {name: one[users] for name, one in self.costs.items()}
        return super().part(users).turned(Estimated, estimates=estimates, costs=costs)

    def head(self) -> str:
        return (
            f"{_users(self.first)}, estimated without bias by {self.design}, which on average "
            f"scores {np.mean(list(self.costs.values())):.0f} of {span(self.first.n_irrelevant)} "
            "irrelevant items."
        )

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        return super().row(name, metric) | {"scored": float(self.costs[name].mean())}


@dataclass(frozen=True, eq=False, kw_only=True)
class Uncorrected(Ranked):
    """Ranks among listed items that say nothing of the others, and why."""

    why: str
    pairable = False

    def part(self, users: Integers) -> Ranked:
        raise ValueError("this result has nothing to say of segments: see its sentences")

    def head(self) -> str:
        return (
            f"{_users(self.first)}, each ranked among {span(self.first.n_irrelevant)} listed "
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


def span(numbers: Integers) -> str:
    """The smallest and the largest of them."""
    low, high = numbers.min(), numbers.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _users(ranks):
    several = int(ranks.n_relevant.sum())
    return f"{len(ranks):,} users" + (
        f" with {several:,} held-out items" if several > len(ranks) else ""
    )


def _defined(metric, ranks):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is undefined is refused here
        values = metric(ranks)
    undefined = np.flatnonzero(np.isnan(values))
    if len(undefined):
        raise ValueError(
            f"{metric} is undefined for user {shown(ranks.ids[undefined[0]])}, for whom "
            f"{ranks.n_irrelevant[undefined[0]]} irrelevant items are ranked"
        )
    return values
