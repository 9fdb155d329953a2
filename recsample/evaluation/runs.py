"""Recommenders that were trained several times: one row each, whose limits count users and runs.

A value is that of a user under a run, each a random draw: two crossed random effects. The variance
of the means of users says what other users would change, that of the means of runs what other runs
would. Each of the two has the interaction of users and runs in it, so that limits as far off as the
hypotenuse of both reaches are somewhat too wide, and hold for two runs already. Two recommenders
whose runs have the same names are compared run by run; other runs vary independently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from recsample._support import frames
from recsample._support.checks import shown
from recsample._support.errors import InputError
from recsample._support.numerics import LEVEL
from recsample._support.typing import Floats, Integers
from recsample.evaluation import exact, say
from recsample.evaluation.exact import Exact
from recsample.evaluation.findings import Findings, Study, looks_of, ties_of
from recsample.evaluation.groups import sums_of_groups
from recsample.evaluation.match import parts_by, recommenders
from recsample.inference.audit import AuditedMean
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
            raise InputError(
                "scores",
                "must be a mapping of runs for each recommender, or dataframes with a column "
                "that run names",
            ).got(f"{shown(one)} and run={run!r}")
        of[name] = {key: f"{name}, {run} {key}" if name else f"{run} {key}" for key in parts}
        twice = [called for called in of[name].values() if called in found]
        if twice:
            allowed = "must have names that tell runs apart"
            raise InputError("scores", allowed).got(f"two {twice[0]!r}")
        found |= {of[name][key]: part for key, part in parts.items()}
    return Runs(found, of, named)


@dataclass(frozen=True, eq=False, kw_only=True)
class OverRuns(Study):
    """Recommenders by the means over their runs; `each` are all runs, `of` their names."""

    each: Exact
    of: Mapping[str, Mapping[str, str]]
    named: bool

    def part(self, users: Integers) -> OverRuns:
        """The same for some of the users."""
        return replace(self, each=self.each.part(users))

    def findings(self) -> Findings:
        """All numbers and words."""
        study, bounds = _of_first_runs(self), exact.bounds_of(self.each)
        tables = {
            (name, m): {run: bounds[called, m][0] for run, called in of.items()}
            for name, of in self.of.items()
            for m in study.metrics
        }
        means = {key: np.mean([*table.values()], axis=0) for key, table in tables.items()}
        known = exact.known_of(study, {key: (mean, mean) for key, mean in means.items()})
        plain = exact.rows_of(study, known)
        rows = {key: _row(known, key[1], row, tables[key]) for key, row in plain.items()}
        n_runs = [len(of) for of in self.of.values()]
        several = max(n_runs) > 1

        def differences_of(users):
            some = {
                key: {run: values[users] for run, values in table.items()}
                for key, table in tables.items()
            }
            return partial(_differences, known.of(users), some)

        found = exact.found(study, known, rows, differences_of, " and runs" * several)
        over = f" Values are means over {say.span(n_runs)} run{'s' * several}."
        return replace(
            found, head=found.head + over, ties=ties_of(self.each), looks=looks_of(self.each)
        )


def _of_first_runs(study):
    """The first run of each recommender, whose users and pools are those of all."""
    each, first = study.each, {name: next(iter(of.values())) for name, of in study.of.items()}
    standings = {
        name: each.standings[first[name]]._replace(
            lengths=np.min([each.standings[run].lengths for run in of.values()], axis=0)
        )
        for name, of in study.of.items()
    }
    single = sum(len(of) < 2 for of in study.of.values())
    told = {("", "recommenders with a single run, whose limits count users only"): single}
    return replace(
        each,
        ranks={name: each.ranks[run] for name, run in first.items()},
        standings=standings,
        named=study.named,
        counts=dict(each.counts or {}) | told,
        ties_are_stated=True,  # of ties each run is spoken of
    )


def _row(known, metric, row, table):
    spread = _spread(known, np.array([*table.values()]))
    ends = known.ends.get(metric, (np.nan, np.nan))
    low, high = _widened(row["value"], row, spread.reach(LEVEL), ends)
    return row | {"low": low, "high": high} | spread.shares


def _differences(known, tables, metric, both, level):
    found = exact.differences(known, metric, both, level)
    least, most = known.ends.get(metric, (np.nan, np.nan))
    for (a, b), row in found.items():
        runs_a, runs_b = tables[a, metric], tables[b, metric]
        if runs_a.keys() == runs_b.keys():  # such as folds, which both have
            apart = [np.array([values - runs_b[run] for run, values in runs_a.items()])]
        else:
            apart = [np.array([*runs.values()]) for runs in (runs_a, runs_b)]
        reach = np.hypot.reduce([_spread(known, one).reach(level) for one in apart])
        if reach != 0:
            value = row["difference"]
            low, high = _widened(value, row, reach, (least - most, most - least))
            as_audited = AuditedMean(value, low, high, np.nan, np.nan)
            found[a, b] = row | as_audited.compared(level)._asdict()
    return found


def _spread(known, table):
    return spread_of(*exact.defined_users(table, known.groups))


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
    left = off - sizes * of_run[:, None] - of_user  # the mean over all is 0
    both = (left**2).sum() / ((n_runs - 1) * (n_users - 1))
    users, runs = of_user.var(ddof=1) / n_users, of_run.var(ddof=1) / n_runs
    return Spread(float(users), float(runs), float(both / off.size), n_runs)


def _widened(value, limits, reach, ends):
    """Limits that are further off by what other runs would change."""
    low = value - np.hypot(value - limits["low"], reach)
    high = value + np.hypot(limits["high"] - value, reach)
    return float(max(low, ends[0])), float(min(high, ends[1]))
