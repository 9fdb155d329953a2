"""What a study found: finished tables and words, and what all kinds share in computing them.

There is a module for each kind of study: its inputs, what is computed from them, and its sentences.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recsample._support.arrays import row_blocks
from recsample._support.errors import InputError
from recsample._support.numerics import LEVEL, limits_of_mean, mean_of
from recsample._support.typing import Floats, Integers, Rng
from recsample._support.values import Value
from recsample.evaluation.grades import values_of
from recsample.inference.blind import BlindSpot
from recsample.inference.comparison import Comparison, step_down
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import different_ranks, of_each, rows_of
from recsample.ranks.sources import Pile, Standing

Pair = tuple[str, str]
Rows = Mapping[tuple[str, Metric], dict[str, Any]]
Pairs = Mapping[tuple[str, str, Metric], dict[str, Any]]
Rungs = Mapping[tuple[str, Metric, str], dict[str, float]]
# The differences of pairs for a metric, with limits at a level.
Differences = Callable[[Metric, Sequence[Pair], float], Mapping[Pair, dict[str, Any]]]
# Of pairs: what assumes nothing of the ranks, and what rests on the assumption that it names.
IF_COLUMNS = ("if_low", "if_high", "if_probability", "if_ahead")
COLUMNS_OF_PAIRS = (*Comparison._fields, "ahead", *IF_COLUMNS, "assumption")
# So many differences of pairs have limits at once.
AT_ONCE = 2**20
# The share of relevant items with ties, and by how much of its value their order moves a metric,
# from which on ties are spoken of.
_MANY_TIES, _MATTERS = 0.01, 0.01
# From so many instances on, each among so many others, it is said that ranks look odd; of random
# ones with a chance of .001.
_FEW, _SURELY = 20, 0.998


class Tied(NamedTuple):
    """Relevant items that are tied with others, and the metric that their order moves most.

    If they have the `lowest` score, it is that of `pile` of all `ranked` irrelevant items too.
    """

    n: int
    of: int
    pile: int
    ranked: int
    lowest: float
    metric: Metric
    low: float
    high: float


class Look(NamedTuple):
    """What scores and ranks look like: some are none, or count from the other end.

    `better` is the share of other items that are better than held-out ones on average, NaN of few
    instances; it `is_worse` than by chance, or scores `are_orders`, as in `Standing`, that are no
    better. No list is longer than `longest`. Of `n` instances without ties `n_first` have rank 1.
    """

    better: float
    is_worse: bool
    are_orders: bool
    longest: float
    n_first: int
    n: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """What is known of each recommender and metric, and what depends on the kind of study in words.

    `recommenders` are names, "" for one that is not `named`. `counts` says how often what did not
    match, by recommender and in words; `grades` are the different ones of the held-out items.
    `users` are the ids of those whose `values` are known, `groups` the numbers of those that they
    belong to, where limits count groups.
    """

    recommenders: tuple[str, ...]
    metrics: tuple[Metric, ...]
    named: bool
    counts: Mapping[tuple[str, str], int] | None = None
    grades: tuple[float, ...] = ()
    rows: Rows  # values and limits
    users: NDArray[Any] | None = None
    groups: Integers | None = None
    values: Mapping[tuple[str, Metric], Floats] = field(default_factory=dict)
    ladder: Rungs = field(default_factory=dict)  # empty where nothing is assumed
    fit: Mapping[str, dict[str, float]] = field(default_factory=dict)  # of what is stated of draws
    pairs: Pairs = field(default_factory=dict)
    readings: Rows = field(default_factory=dict)  # of what was drawn uniformly
    reading_pairs: Pairs = field(default_factory=dict)
    blind: BlindSpot | None = None  # None where no limits rest on "decreasing"
    ties: Mapping[str, Tied] = field(default_factory=dict)  # of recommenders whose ties matter
    looks: Mapping[str, Look] = field(default_factory=dict)  # of scores and ranks
    has_several: bool = False  # relevant items of one user
    has_values: bool = True  # or else limits only
    # Words: a part of the footnote each, then what is said of each row, and notes.
    page: str  # of the book, which says how such a result is read
    head: str
    lists: str = ""  # how long lists of scores are, where they leave items out
    limits: str
    details: tuple[str, ...] = ()
    sentences: Mapping[tuple[str, Metric], str]
    notes: tuple[str, ...] = ()


class Study(Value):
    """What a kind of study is given: a frozen dataclass of plain fields."""

    def _content(self):
        return tuple(_flat(vars(self)))

    @abstractmethod
    def findings(self) -> Findings:
        """All numbers and words."""

    def part(self, users: Integers) -> Study:
        """The same for some of the users."""
        raise ValueError("this result has nothing to say of segments: see its sentences")

    def plan(self, metric: Metric, width: float, rng: Rng) -> Any:
        """Whom to rank among all items for limits so close, or how many users these take."""
        allowed = (
            "a plan is made from the sampled ranks of one recommender, or from exact values, with "
            "one row for each user and no runs"
        )
        raise InputError("", allowed, remedy="report or evaluate these alone")


def _flat(value):
    """What mappings and tuples hold, also within others."""
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, tuple):
        for one in value:
            yield from _flat(one)
    else:
        yield value


@dataclass(frozen=True, eq=False, kw_only=True)
class RanksStudy(Study):
    """Ranks by the names of recommenders, "" for one that is not `named`.

    `how` says how items were drawn, if they were. `standings` say what scores list and look like;
    ranks that came without scores have none. Where `ties_are_stated`, nothing is said of ties.
    `groups` are the numbers of those that users belong to, where limits count groups.
    """

    ranks: Mapping[str, Any]  # Ranks, or in a report RankCounts
    metrics: tuple[Metric, ...]
    named: bool
    counts: Mapping[tuple[str, str], int] | None = None
    grades: tuple[float, ...] = ()
    groups: Integers | None = None
    how: str = ""
    lists: str = ""
    ties_are_stated: bool = False
    standings: Mapping[str, Standing] = field(default_factory=dict)

    @property
    def first(self) -> Any:
        """Of one recommender: users and pools are those of all."""
        return next(iter(self.ranks.values()))

    @property
    def pairable(self) -> bool:
        """Whether the values of single users are known, so that recommenders can be compared."""
        return isinstance(self.first, Ranks)

    def of_users(self, users: Integers) -> dict[str, Any]:
        """What is replaced in the same study of some of the users."""
        groups = None if self.groups is None else self.groups[users]
        standings = {name: one.of_users(users) for name, one in self.standings.items()}
        return {"ranks": some_of(self.ranks, users), "standings": standings, "groups": groups}

    def different(self, name: str) -> tuple[Ranks, Integers | None]:
        """The different ranks of a recommender and how often each occurs, unless in groups."""
        return (rows_of if self.groups is not None else different_ranks)(self.ranks[name])

    def values(self) -> dict[tuple[str, Metric], Floats]:
        """The value of each metric for each user, if these are known; NaN where it is undefined."""
        found = {}
        for name, ranks in self.ranks.items() if self.pairable else ():
            different, _ = different_ranks(ranks)
            for m in self.metrics:
                found[name, m] = of_each(values_of_users(m, different), different, ranks)
        return found

    def pairs(self, rows: Rows, differences: Differences) -> Pairs:
        """Differences by both recommenders and metric, and who is ahead."""
        both = list(combinations(self.ranks, 2)) if self.pairable else []
        # So narrow a chance of error for each pair of a metric that they all hold at once.
        level = 1 - (1 - LEVEL) / max(1, len(both))
        found: dict[tuple[Metric, Pair], dict[str, Any]] = {}
        for m in self.metrics:
            of_metric: dict[Pair, dict[str, Any]] = {}
            for some in row_blocks(len(both), len(self.first), AT_ONCE):
                of_metric |= differences(m, both[some], level)
            for prefix in ("", "if_"):
                _decide(m, of_metric, prefix, rows)
            for pair, row in of_metric.items():
                found[m, pair] = {c: row[c] for c in COLUMNS_OF_PAIRS if c in row}
        return {(*pair, m): found[m, pair] for pair, m in product(both, self.metrics)}

    def shared(self) -> dict[str, Any]:
        """The findings of all kinds of ranks."""
        first, users = self.first, None
        if self.pairable:
            users = np.arange(len(first)) if first.ids is None else first.ids
        return {
            "recommenders": tuple(self.ranks),
            "metrics": self.metrics,
            "named": self.named,
            "counts": self.counts,
            "grades": self.grades,
            "users": users,
            "groups": self.groups,
            "lists": self.lists,
            "ties": ties_of(self),
            "looks": looks_of(self),
            "has_several": self.pairable and bool((first.n_relevant > 1).any()),
        }


def some_of(by_name: Mapping[str, Any], users: Integers) -> dict[str, Any]:
    """What is known of some of the users, by the names of recommenders."""
    return {name: one[users] for name, one in by_name.items()}


def values_of_users(metric: Metric, ranks: Any) -> Floats:
    """The value of each user, NaN without a warning where it is undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is undefined is counted
        return values_of(metric, ranks)


def mean_of_defined(values: Floats) -> float:
    """The mean of those that are not NaN, NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else np.nan


def rungs(
    names: Iterable[str],
    metrics: Sequence[Metric],
    limits: Callable[[str, Metric, Any], tuple[float, float]],
) -> Rungs:
    """Limits by recommender, metric and assumption."""
    keys = product(names, metrics, ASSUMPTIONS)
    return {key: dict(zip(("low", "high"), limits(*key))) for key in keys}


def free_and_narrow(ladder: Rungs, name: str, metric: Metric, used: str) -> dict[str, float]:
    """The limits without an assumption, and those under the one that is used, NaN without one."""
    free = ladder[name, metric, "none"]
    narrow = ladder[name, metric, used] if used == "decreasing" else dict.fromkeys(free, np.nan)
    return free | {f"if_{end}": value for end, value in narrow.items()}


def _decide(metric, pairs, prefix, rows):
    """Say of all pairs who is ahead, by Holm's test."""
    known = {pair: row for pair, row in pairs.items() if f"{prefix}low" in row}
    chances = np.array([row[f"{prefix}probability"] for row in known.values()])
    rejected = step_down(2 * np.minimum(chances, 1 - chances), 1 - LEVEL)
    for ((a, b), row), is_rejected in zip(known.items(), rejected):
        apart = rows[a, metric]["value"] - rows[b, metric]["value"]
        row |= _decided(a, b, metric, row, prefix, is_rejected, apart)


def _decided(a, b, metric, row, prefix, is_rejected, apart):
    """Who is ahead, if 0 is rejected and no other number says the opposite."""
    low, high, chance = (row[prefix + what] for what in ("low", "high", "probability"))
    if prefix and np.isnan(low):
        return {f"{prefix}ahead": None}
    sign = np.sign(chance - 0.5) if is_rejected else 1 if low > 0 else -1 if high < 0 else 0
    if sign == 0 or disagrees(sign, row, prefix, apart):
        return {f"{prefix}ahead": "undecided"}
    end = {"low": max(low, 0.0)} if sign > 0 else {"high": min(high, 0.0)}
    decided = end | {"ahead": better(metric, a, b, sign)}
    return {prefix + what: value for what, value in decided.items()}


def disagrees(sign: float, row: Mapping[str, Any], prefix: str, apart: float) -> bool:
    """Whether the values, the difference or its probability are on the other side of 0."""
    return any(sign * x < 0 for x in (apart, row["difference"], row[f"{prefix}probability"] - 0.5))


def better(metric: Metric, a: str, b: str, sign: int) -> str:
    """The better of two recommenders, where the metric of the first less the second has a sign."""
    return a if (sign > 0) == metric.higher_is_better else b


# Ties.


def ties_of(study: RanksStudy) -> dict[str, Tied]:
    """Of each recommender with ties that matter; not of items that are stated to be tied."""
    if study.ties_are_stated or not study.pairable:
        return {}
    none = Pile(np.nan, False, np.zeros(1, np.int64))
    piles = {name: one.pile for name, one in study.standings.items()}
    found = {
        name: _tied(ranks, study.metrics, *piles.get(name, none))
        for name, ranks in study.ranks.items()
    }
    return {name: tied for name, tied in found.items() if tied is not None}


def _tied(ranks, metrics, score, is_apart, pile):
    """Ties at the lowest score, or all, where so many items have some that these can matter."""
    pile = np.broadcast_to(pile, len(ranks))
    rows, ties, n_ranked = ranks.rows, ranks.rows.ties, int(ranks.n_irrelevant.sum())
    if not (ties.any() or pile.any()):
        return None
    at_lowest = np.where(rows.above == (ranks.n_irrelevant - pile)[rows.instance], ties, 0)
    last = rows.rank[np.cumsum(ranks.n_relevant) - 1]
    # What the lowest score stands for may be no items to rank.
    fewer = ranks.at(rows.rank, np.maximum(last, ranks.sizes - pile))
    for n_pile, some, ends in ((int(pile.sum()), at_lowest, [fewer]), (0, ties, [])):
        n = int(np.count_nonzero(some))
        if n < _MANY_TIES * len(ties) and n_pile < _MANY_TIES * n_ranked:
            continue
        ends += [ranks.at(rows.rank + t, ranks.sizes) for t in (0, some)]
        means = {m: [mean_of_defined(values_of_users(m, end)) for end in ends] for m in metrics}
        moved = {m: sorted(each) for m, each in means.items() if not np.isnan(each).any()}
        most = max(moved, key=lambda m: moved[m][-1] - moved[m][0], default=None)
        low, *_, high = moved.get(most, [np.nan, np.nan])
        # Whatever a pile that lies apart moves, its score hardly is one.
        if most and ((n_pile > 0 and is_apart) or high - low >= _MATTERS * high):
            return Tied(n, len(ties), n_pile, n_ranked, score, most, low, high)
    return None


# What scores and ranks look like.


def looks_of(study: RanksStudy) -> dict[str, Look]:
    """Of each recommender."""
    return {name: _look(study, name) for name in study.ranks}


def _look(study, name):
    if standing := study.standings.get(name):
        ranks, counts = standing.ranks, None
    else:
        ranks, counts = study.different(name)
        standing = Standing(ranks, ranks.sizes)
    counts = np.ones(len(ranks), np.int64) if counts is None else counts
    longest = int(standing.lengths.max()) if standing.is_short else np.inf
    n_first, others = 0, ranks.n_irrelevant.min()
    if not (study.standings or ranks.rows.ties.any()) and others >= _FEW:
        n_first = int(counts[ranks.rows.instance] @ (ranks.rows.rank == 1))
    return Look(*_better(study, standing, counts), longest, n_first, int(counts.sum()))


def _better(study, standing, counts):
    """The mean, whether it is surely more than by chance, and orders that are no less than that."""
    better = standing.better
    known = ~np.isnan(better)
    if counts[known].sum() < _FEW or study.how in ("popular", "unknown"):
        return np.nan, False, False
    groups = None if study.groups is None else study.groups[known]
    better, counts = better[known], counts[known]
    mean = mean_of(better, counts)
    if mean <= 0.5 and not standing.are_orders:
        return mean, False, False
    low, high = limits_of_mean(better, _SURELY, counts, (0.0, 1.0), groups)
    # A list of the best items says too little of how far these are from chance.
    may_be_orders = standing.are_orders and not standing.is_short
    return mean, low > 0.5, may_be_orders and low <= 0.5 < high
