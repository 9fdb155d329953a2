"""Recommenders that were trained several times: one row each, whose limits count users and runs.

A value is that of a user under a run, each a random draw: two crossed random effects. The variance
of the means of users says what other users would change, that of the means of runs what other runs
would. Each of the two has the interaction of users and runs in it, so that limits as far off as the
hypotenuse of both reaches are somewhat too wide, and hold for two runs already. Two recommenders
whose runs have the same names are compared run by run; other runs vary independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from recsample._support import frames
from recsample._support.checks import shown
from recsample._support.numerics import LEVEL
from recsample._support.typing import Floats, Integers
from recsample.evaluation.groups import sums_of_groups
from recsample.evaluation.infer import Exact, Inferred, Tied
from recsample.evaluation.match import parts_by, recommenders
from recsample.inference.audit import AuditedMean
from recsample.metrics.base import Metric
from recsample.ranks.checks import check_names


class Runs(NamedTuple):
    """The scores of each run, under a name of its own, and these names by recommender and run."""

    scores: Mapping[str, Any]
    of: Mapping[str, Mapping[str, str]]
    named: bool


def runs_of(scores: Any, model: str, run: str) -> Runs:
    """Take recommenders apart into runs: by a column of dataframes, or as mappings name them."""
    given, named = recommenders(scores, model)
    found: dict[str, Any] = {}
    of: dict[str, dict[str, str]] = {}
    for name, one in given.items():
        if isinstance(one, Mapping):
            check_names("scores", one)
            parts = {str(key): part for key, part in one.items()}
        elif frames.is_frame(one):
            parts = parts_by(one, run, "run", "runs")
        else:
            raise ValueError(
                "scores must be a mapping of runs for each recommender, or dataframes with a "
                f"column that run names, got {shown(one)} and run={run!r}"
            )
        of[name] = {key: f"{name}, {run} {key}" if name else f"{run} {key}" for key in parts}
        twice = [called for called in of[name].values() if called in found]
        if twice:
            raise ValueError(f"scores must have names that tell runs apart, got two {twice[0]!r}")
        found |= {of[name][key]: part for key, part in parts.items()}
    return Runs(found, of, named)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactRuns(Exact):
    """Recommenders by the means over their runs; `each` are all runs, `of` their names.

    In `runs` is the first of each recommender.
    """

    each: Exact
    of: Mapping[str, Mapping[str, str]]

    @cached_property
    def bounds(self) -> Mapping[tuple[str, Metric], tuple[Floats, Floats]]:
        found = {(n, m): self._of(n, m).mean(axis=0) for n in self.runs for m in self.metrics}
        return {key: (one, one) for key, one in found.items()}

    @property
    def n_runs(self) -> Integers:
        return np.array([len(of) for of in self.of.values()])

    @property
    def others(self) -> str:
        return super().others + " and runs" * bool(self.n_runs.max() > 1)

    @cached_property
    def tied(self) -> Mapping[str, Tied]:
        return self.each.tied

    def part(self, users: Integers, **changes: Any) -> Inferred:
        return super().part(users, each=self.each.part(users), **changes)

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        found, spread = super().row(name, metric), self._spread(self._of(name, metric))
        ends = self.ends.get(metric, (np.nan, np.nan))
        low, high = _widened(found["value"], found, spread.reach(LEVEL), ends)
        return found | {"low": low, "high": high} | spread.shares

    def differences(
        self, metric: Metric, both: Sequence[tuple[str, str]], level: float
    ) -> Mapping[tuple[str, str], dict[str, Any]]:
        found = dict(super().differences(metric, both, level))
        least, most = self.ends.get(metric, (np.nan, np.nan))
        for (a, b), one in found.items():
            alike = self.of[a].keys() == self.of[b].keys()  # such as folds, which both have
            tables = [self._of(name, metric, self.of[a] if alike else ()) for name in (a, b)]
            if alike:
                tables = [tables[0] - tables[1]]
            reach = np.hypot.reduce([self._spread(t).reach(level) for t in tables])
            if reach != 0:
                apart = one["difference"]
                low, high = _widened(apart, one, reach, (least - most, most - least))
                as_audited = AuditedMean(apart, low, high, np.nan, np.nan)
                found[a, b] = one | as_audited.compared(level)._asdict()
        return found

    def _of(self, name, metric, order=()):
        """A row of values for each run of a recommender, in the order of these names of runs."""
        of = self.of[name]
        return np.array([self.each.values[of[run], metric] for run in order or of])

    def _spread(self, table):
        known = ~np.isnan(table).any(axis=0)
        groups = None if self.groups is None else self.groups[known]
        return spread_of(table[:, known], groups)


class Spread(NamedTuple):
    """Variances of a mean, by what would be other ones."""

    users: float
    runs: float
    both: float  # of what a run changes for a user alone, which is in the other two as well
    n_runs: int

    def reach(self, level: float) -> float:
        """How far other runs would move the mean, by Student's t; 0 of a single run."""
        if self.n_runs < 2:
            return 0.0
        return float(special.stdtrit(self.n_runs - 1, (1 + level) / 2) * np.sqrt(self.runs))

    @property
    def shares(self) -> dict[str, float]:
        """The shares of the variance of the mean; NaN of fewer than three runs, or without any.

        Two runs say less of their variance than their limits, which Student's t makes wide.
        """
        runs = max(0.0, self.runs - self.both)
        total = self.users + runs
        found = runs / total if total > 0 and self.n_runs > 2 else np.nan
        return {"from_users": 1 - found, "from_runs": found}


def spread_of(table: Floats, groups: Integers | None) -> Spread:
    """Of the mean of a table with a row of values for each run, whose columns are of groups."""
    sums, sizes = sums_of_groups(table, groups)
    off = sums - sizes * table.mean()
    n_runs, n_users = off.shape
    if n_runs < 2 or n_users < 2:
        return Spread(np.nan, np.nan, np.nan, n_runs)
    of_run, of_user = off.mean(axis=1), off.mean(axis=0)
    left = off - of_run[:, None] - of_user  # the mean over all is 0
    both = (left**2).sum() / ((n_runs - 1) * (n_users - 1))
    users, runs = of_user.var(ddof=1) / n_users, of_run.var(ddof=1) / n_runs
    return Spread(float(users), float(runs), float(both / off.size), n_runs)


def _widened(value, limits, reach, ends):
    """Limits that are further off by what other runs would change."""
    low = value - np.hypot(value - limits["low"], reach)
    high = value + np.hypot(limits["high"] - value, reach)
    return float(max(low, ends[0])), float(min(high, ends[1]))


def over_runs(found: Exact, runs: Runs) -> ExactRuns:
    """What the runs say of recommenders, from what each of them says alone."""
    first = {name: found.runs[next(iter(of.values()))] for name, of in runs.of.items()}
    single = sum(len(of) < 2 for of in runs.of.values())
    told = {("", "recommenders with a single run, whose limits count users only"): single}
    about = found.__getstate__() | {
        "runs": first,
        "named": runs.named,
        "counts": dict(found.counts or {}) | told,
    }
    return ExactRuns(each=found, of=runs.of, **about)
