"""Limits of exact metrics from the sampled metrics that a paper prints.

A printed number is the mean of a sampled metric over N users, up to rounding and sampling error.
Its expectation is linear in the distribution of the exact rank, and so is an exact metric: its
limits are a linear programme, apart from the sampling error. A hit rate is a share of N
users, whose limits are exact (Clopper and Pearson). Of other means the standard deviation is not
printed; it is the root of the variance v under the distribution that explains the numbers, bounded
by tangents, x / 2 + v / 2x for any x > 0: too wide by less than a thousandth where it counts, never
too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy

from recsample._support.typing import Floats
from recsample._support.values import cached
from recsample.inference.likelihood.strata import Assumption, Stratum, columns_of, moments_of
from recsample.metrics.base import Metric

# So many sizes represent a range of pools, by equal factors: others are nearly their mixtures.
_POOLS = 4
# Rounds of adding tangents, and by which factor a standard deviation may be overestimated.
_ROUNDS, _CLOSE = 20, 1e-3
# The solver's weights may violate a limit by so much.
_ROUNDED = 1e-7


class Printed(NamedTuple):
    """A printed value of a sampled metric, with half a unit of its last digit."""

    metric: Metric
    value: float
    half: float
    name: str = ""  # by which the metric was called

    @property
    def low(self) -> float:
        """The least value that is rounded to it."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The largest value that is rounded to it."""
        return self.value + self.half


class PrintedStudy(NamedTuple):
    """The design of a study: m items drawn from pools between two sizes, one item per user."""

    m: int
    pools: tuple[int, int]  # relevant items included
    n_users: int
    replace: bool
    uniform: bool = True


class Laws(NamedTuple):
    """The extreme distributions of the exact rank in a class, and the metrics under them."""

    sampled: Floats  # shape (m + 1, columns): the law of the count of draws above
    exact: dict[Metric, Floats]  # by metric, shape (columns,)


def laws_of(study: PrintedStudy, assumption: Assumption, metrics: Sequence[Metric]) -> Laws:
    """The extreme distributions of a class, for pools of every size in the range.

    Of draws that are not uniform, nothing is known but that a rank among all items is no better:
    the metrics are then those of the sampled rank, upper limits of the exact ones.
    """
    if not study.uniform:
        law = np.eye(study.m + 1)
        return Laws(law, {one: terms_of(one, study.m) for one in metrics})
    cutoffs = tuple({one.cutoff for one in metrics if one.cutoff is not None})
    parts = []
    for size in np.unique(np.geomspace(*study.pools, _POOLS).round().astype(np.int64)):
        stratum = Stratum(int(size) - 1, 1, 1, (study.m,), ())
        columns = columns_of(stratum, assumption, study.replace, cutoffs)
        found = [moments_of(stratum, columns, one)[0] for one in metrics]
        parts.append((columns.law, *found))
    law, *means = (np.concatenate(part, axis=-1) for part in zip(*parts))
    return Laws(law, dict(zip(metrics, means)))


class _Row(NamedTuple):
    """A printed number as a condition on the weights of the columns."""

    mean: Floats
    square: Floats  # the mean of the squared distance from the number
    low: float
    high: float
    scale: float = 0.0  # of the standard deviation; 0 where `low` and `high` allow for chance
    least_root: float = 1.0  # the least standard deviation that counts
    first_root: float = 1.0  # and one that there may be


class Programme:
    """The weights of columns compatible with every number, each at a level of 1 - error."""

    def __init__(
        self, numbers: Sequence[Printed], laws: Laws, study: PrintedStudy, error: float
    ) -> None:
        self.rows = [_row(one, laws.sampled, study, error) for one in numbers]
        # Standard deviations with a tangent; each is useful for any further goal.
        self.touched = [[one.first_root] for one in self.rows]

    def least(self, goal: Floats) -> float | None:
        """The least value of a mean over the columns; None if no weights are compatible."""
        for _ in range(_ROUNDS):
            rows, limits = zip(*chain.from_iterable(map(_planes, self.rows, self.touched)))
            found = _solved(goal, np.array(rows), limits)
            if found.status:
                return None
            if not self._touch(found.x):
                break
        return float(found.fun)

    def _touch(self, weights):
        """Add tangents where those so far are too wide; False if there are none to add."""
        before = sum(map(len, self.touched))
        for row, touched in zip(self.rows, self.touched):
            # Near 0, where it does not count beside the rounding, a tangent is all but vertical.
            root = max(float(row.square @ weights), row.least_root**2) ** 0.5
            if row.scale and min(x / 2 + root**2 / (2 * x) for x in touched) > (1 + _CLOSE) * root:
                touched.append(root)
        return sum(map(len, self.touched)) > before


def _solved(goal, rows, limits):
    """The linear programme for the least mean; its status is 0 if there is a solution."""
    # Presolving takes longer than solving.
    plain, one = {"presolve": False}, np.ones((1, len(goal)))
    for method in ("highs", "highs-ipm"):  # where one fails for rounding, the other does not
        found = scipy.optimize.linprog(goal, rows, limits, one, [1], method=method, options=plain)
        if found.status in (0, 2):
            return found
    # Rounding may hide that there are none. By how much must all weights violate a limit?
    missing, ones = np.append(0 * goal, 1.0), np.append(np.ones_like(goal), 0.0)
    beyond = np.c_[rows, -np.ones(len(rows))]
    least = scipy.optimize.linprog(missing, beyond, limits, ones[None], [1], method="highs")
    if least.status or least.fun < 1e-7:
        raise RuntimeError(f"the bounds of printed numbers were not found: {found.message}")
    return found


def _row(number, law, study, error):
    m, n = study.m, study.n_users
    term = terms_of(number.metric, m)
    most = term.max()
    if set(np.unique(term)) <= {0.0, most}:  # hits, or as many times the same
        low, high = _share_limits(number.low / most, number.high / most, n, error)
        return _Row(term @ law, term @ law, most * low, most * high)
    scale = -scipy.special.ndtri(error / 2) / np.sqrt(n)
    square, least = (term - number.value) ** 2 @ law, number.half / (10 * scale)
    first = max(number.value * (most - number.value), 4 * least**2) ** 0.5 / 2
    return _Row(term @ law, square, number.low, number.high, scale, least, first)


def _share_limits(low, high, n, error):
    """Clopper and Pearson's limits of a share of n users that was rounded."""
    fewest, most = np.ceil(n * low - 1e-9), np.floor(n * high + 1e-9)
    if fewest > most:  # no share of n users is rounded to it
        fewest = most = n * (low + high) / 2
    fewest, most = np.clip([fewest, most], 0, n)
    lower = scipy.special.betaincinv(fewest, n - fewest + 1, error / 2) if fewest > 0 else 0.0
    upper = scipy.special.betainccinv(most + 1, n - most, error / 2) if most < n else 1.0
    return float(lower), float(upper)


def _planes(row, touched):
    """The conditions of a number, as rows and their upper limits."""
    if not row.scale:
        return [(row.mean, row.high), (-row.mean, -row.low)]
    found = []
    for x in touched:
        slope, room = row.scale / (2 * x) * row.square, row.scale * x / 2
        found += [(row.mean - slope, row.high + room), (-row.mean - slope, room - row.low)]
    return found


class Explanation:
    """The numbers of a table under one study, each with limits at a level of 1 - error.

    `numbers` are those of each recommender, `metrics` the exact metrics to find limits of.
    """

    def __init__(
        self,
        study: PrintedStudy,
        numbers: Mapping[str, Sequence[Printed]],
        metrics: Sequence[Metric],
        error: float,
    ) -> None:
        self.study, self.numbers, self.metrics, self.error = study, numbers, metrics, error
        self.known: dict[tuple, Any] = {}

    @cached
    def laws(self, assumption: Assumption) -> Laws:
        """The extreme distributions of a class."""
        return laws_of(self.study, assumption, self.metrics)

    @cached
    def programme(self, name: str, assumption: Assumption) -> Programme:
        """The linear programme for a recommender's numbers."""
        return Programme(self.numbers[name], self.laws(assumption), self.study, self.error)

    @cached
    def limits(
        self, name: str, metric: Metric, assumption: Assumption
    ) -> tuple[float, float] | None:
        """The limits of an exact metric; None if the numbers contradict the assumption."""
        return self._ends(name, assumption, self.laws(assumption).exact[metric])

    @cached
    def limits_as_sampled(self, name: str, metric: Metric) -> tuple[float, float] | None:
        """The limits of the mean among the drawn items."""
        return self._ends(name, "none", terms_of(metric, self.study.m) @ self.laws("none").sampled)

    def _ends(self, name, assumption, goal):
        programme = self.programme(name, assumption)
        low, below = programme.least(goal), programme.least(-goal)
        if low is None or below is None:
            return None
        return max(low - _ROUNDED, float(goal.min())), min(_ROUNDED - below, float(goal.max()))

    def of_same_users(self, numbers: Sequence[Printed]) -> bool:
        """Whether some ranks among the drawn items have all these means, up to rounding."""
        terms = np.array([terms_of(one.metric, self.study.m) for one in numbers])
        limits = [*(one.high for one in numbers), *(-one.low for one in numbers)]
        return bool(_solved(0 * terms[0], np.concatenate([terms, -terms]), limits).status == 0)

    def clash(self, name: str) -> list[Printed]:
        """A minimal set of numbers that no distribution can explain at once."""
        laws = self.laws("none")

        def is_possible(some):
            least = Programme(some, laws, self.study, self.error).least
            return self.of_same_users(some) and least(0 * laws.sampled[0]) == 0

        needed = list(self.numbers[name])
        if is_possible(needed):
            return []
        for one in self.numbers[name]:
            rest = [other for other in needed if other is not one]
            needed = rest if rest and not is_possible(rest) else needed
        return needed


def terms_of(metric: Metric, m: int) -> Floats:
    """The metric of one relevant item with s = 0, ..., m of m others above it."""
    return np.asarray(metric.of_rank(np.arange(1, m + 2), m + 1), float)
