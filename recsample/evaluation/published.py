"""What the numbers of a paper's table, and nothing else, say about the exact metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import checks
from recsample._support.checks import shown
from recsample._support.extras import extra
from recsample._support.numerics import LEVEL, PERCENT
from recsample.evaluation.reporting import MANY, refuse_corrections
from recsample.evaluation.results import Result
from recsample.evaluation.saying import Ranked, better, usual
from recsample.inference.blind import BlindSpot, blind_spot
from recsample.inference.comparison import Comparison
from recsample.inference.likelihood.evidence import check_additive
from recsample.inference.likelihood.strata import ASSUMPTIONS, Assumption
from recsample.inference.published import Printed, Reading, Study, terms_of
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.names import chosen_metrics, exact_metric
from recsample.metrics.ranking import AveragePrecision
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_names
from recsample.ranks.provenance import one_of_the_ways

__all__ = ["from_published"]


def from_published(
    values: Mapping[str, Any],
    *,
    m: ArrayLike,
    n_items: int | tuple[int, int],
    n_users: int,
    drawn: str | None = None,
    replace: bool | None = None,
    metrics: Sequence[Metric | str] | None = None,
) -> Result:
    """Between which values the exact metrics lie, from the numbers that a paper prints.

    For studies in which one held-out item of each user is ranked among m drawn ones. The limits
    are over all distributions of the exact rank that explain all numbers of a recommender, each
    within its rounding and its sampling error, at 95 % for all numbers and recommenders at once
    (Bonferroni's correction; of hit rates Clopper and Pearson's limits, of other means normal ones,
    with the standard deviation of the same distribution). A whole column of sampled ranks says
    more: see `report`.

    Parameters
    ----------
    values : mapping of str to float or str, or mapping of str to such a mapping
        The numbers by metric, or by recommender and metric, such as ``{"HR@10": "0.670"}``. The
        digits say how a number was rounded: text keeps the zeros at its end, without which a
        number is taken for a rougher one.
    m : int or sequence of int
        How many items were drawn for each user. Where a paper leaves it open (100 candidates may be
        99 drawn ones and the held-out one), all that it may be: the limits then hold for each.
    n_items : int or tuple of int
        The size of the pools, the held-out item included; or of the smallest and of the largest
        pool, between which users may have any.
    n_users : int
        Of the test set.
    drawn : {"uniform"}
        How the items were drawn, see `report`; of other draws such numbers say nothing.
    replace : bool, optional
        Whether items were drawn with replacement; without it, either may be where a tenth of a
        pool or more was drawn.
    metrics : sequence of Metric or str, optional
        What to give limits of; by default the metrics that are printed.

    Returns
    -------
    Result
        Without estimates. Its pairs are decided where the limits of their difference exclude 0, and
        its notes say which further number would decide the others, if it were the most likely one.

    Raises
    ------
    ValueError
        For numbers that no distribution explains, with the few that clash; that are none, or
        beyond what the metric can be; for sizes below 1, and draws that are not uniform.

    Examples
    --------
    >>> import recsample as rs
    >>> found = rs.inference.from_published(
    ...     {"HR@10": 0.67, "NDCG@10": 0.396},
    ...     m=100, n_items=(1_390, 3_690), n_users=6_040, drawn="uniform", metrics=["Recall@10"])
    >>> low, high = found.table.loc["Recall@10", ["low", "high"]]
    >>> bool(0 < low < 0.077 < high)  # the exact Recall@10 of this recommender
    True
    """
    extra("pandas")
    if one_of_the_ways("drawn", drawn) != "uniform":
        raise ValueError(
            f"drawn must be 'uniform' for the numbers of a table, got {drawn!r}: of other draws "
            "they say nothing about the exact metrics"
        )
    checks.refuse_frame("values", values, "see DataFrame.to_dict('index')")
    if not isinstance(values, Mapping) or not values:
        raise ValueError(f"values must be numbers by metric, {{'HR@10': '0.670'}}, got {values!r}")
    named = all(isinstance(one, Mapping) for one in values.values())
    check_names("values", values)
    given: Mapping[str, Any] = values if named else {"": values}
    runs = {name: _numbers(name, one) for name, one in given.items()}
    printed = list(dict.fromkeys(one.metric for run in runs.values() for one in run))
    asked = printed if metrics is None else chosen_metrics(metrics)
    refuse_corrections(asked)
    for one in asked:
        check_additive(one)
    studies = _studies(m, n_items, n_users, replace)
    return Result(Reread(runs=runs, metrics=tuple(asked), named=named, studies=studies))


def _numbers(name, values):
    """The numbers of a recommender, as they were printed; what is missing is left out."""
    of = f"values of {name!r}" if name else "values"
    if not isinstance(values, Mapping):
        raise ValueError(
            f"{of} must be numbers by metric, as those of all other recommenders are, got "
            f"{shown(values)}"
        )
    found = [_number(of, key, one) for key, one in values.items() if not _is_missing(one)]
    if not found:
        raise ValueError(f"{of} must hold at least one number, got none")
    if len({one.metric for one in found}) < len(found):
        raise ValueError(f"{of} must hold each metric once, got {list(values)}")
    return tuple(found)


def _is_missing(value):
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _number(of, name, value):
    """A number, and between which values it was rounded."""
    asked = exact_metric(name)
    check_additive(asked)
    try:
        number = Decimal(str(value).strip())
        half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
    except (InvalidOperation, TypeError, ValueError):
        raise ValueError(f"{of} must be numbers, got {shown(value)} for {name!r}") from None
    low, high = ends_of(asked, Ranks([1], n_items=2**31))
    if not low - float(half) <= number <= high + float(half):
        raise ValueError(
            f"{of} must be from {low:g} to {high:g} for {name!r}, got {number}: of percentages, "
            "divide by 100"
        )
    return Printed(asked, float(number), float(half), str(name))


def _studies(m, n_items, n_users, replace):
    """All that may have been done."""
    several = [checks.positive_int("m", one) for one in np.ravel(m)]
    pools = [checks.positive_int("n_items", one) for one in np.ravel(n_items)]
    if not several:
        raise ValueError("m must hold at least one number of drawn items, got none")
    if len(pools) not in (1, 2) or pools[0] > pools[-1]:
        raise ValueError(
            "n_items must be the size of the pools, or the smallest and the largest, got "
            f"{shown(n_items)}"
        )
    low, high, users = pools[0], pools[-1], checks.positive_int("n_users", n_users)
    if replace is not None:
        checks.true_or_false("replace", replace)
    found = []
    for one in dict.fromkeys(several):
        ways = [replace] if replace is not None else [False, True] if one >= MANY * low else [False]
        if one >= low and True not in ways:
            raise ValueError(f"m must be less than n_items, {low}, without replacement, got {one}")
        found += [Study(one, (low, high), users, way) for way in ways if way or one < low]
    return tuple(found)


@dataclass(frozen=True, eq=False, kw_only=True)
class Reread(Ranked):
    """Printed numbers of recommenders, for which each of several studies may have been made."""

    studies: tuple[Study, ...]
    has_estimates: ClassVar[bool] = False
    columns_of_pairs = (*Comparison._fields, "assumption", "ahead")

    @property
    def pairable(self) -> bool:
        return False  # values of single users are not printed

    @cached_property
    def known(self) -> dict[tuple, Any]:
        """What `once` keeps."""
        return {}

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Those under which the numbers of every recommender are possible."""
        found = self._read(self.runs, sum(map(len, self.runs.values())))
        clashes = [
            [(name, clash) for name in self.runs if (clash := one.clash(name))] for one in found
        ]
        sound = tuple(one for one, clashing in zip(found, clashes) if not clashing)
        if not sound:
            self._refuse(*clashes[0][0])
        return sound

    def _read(self, runs, n_numbers):
        """All that may have been done, with limits for so many numbers at once."""
        # Of one relevant item, AP within the best k is the share of k or of 1.
        of_cut = {n.metric for run in runs.values() for n in run if _is_cut(n.metric)}
        divisors = [{}, {one: replaced(one, over="k") for one in of_cut}][: 1 + bool(of_cut)]
        found = []
        for study, other in product(self.studies, divisors):
            read = {
                name: [n._replace(metric=other.get(n.metric, n.metric)) for n in run]
                for name, run in runs.items()
            }
            found.append(Reading(study, read, self.metrics, (1 - LEVEL) / n_numbers))
        return found

    def _refuse(self, name, numbers):
        of = f"values of {name!r}" if name else "values"
        clashing = ", ".join(map(_as_printed, numbers))
        raise ValueError(
            f"{of} must be possible together for {self._among()}, got {clashing}: look for a "
            "misprint, for another cut-off, m, n_items or draw, or for numbers that are each the "
            "best of many epochs"
        )

    @cached_property
    def ladder(self) -> Mapping[tuple[str, Metric, str], dict[str, float]]:
        return {
            (name, one, a): dict(zip(("low", "high"), self._limits(self.readings, name, one, a)))
            for name, one, a in product(self.runs, self.metrics, ASSUMPTIONS)
        }

    def _limits(self, readings, name, metric, assumption):
        """Limits that hold whichever reading is right; NaN where none explains the numbers."""
        return _hull(one.limits(name, metric, assumption) for one in readings)

    def row(self, name: str, metric: Metric) -> dict[str, Any]:
        assumed = self.ladder[name, metric, "decreasing"]
        used = "none" if np.isnan(assumed["low"]) else "decreasing"
        sampled = [n.value for n in self.runs[name] if self._is_same(n.metric, metric)]
        known = {"sampled": sampled[0] if sampled else np.nan, "assumption": used}
        return {"value": np.nan, **self.ladder[name, metric, used], **known}

    def _is_same(self, one, other):
        """Whether they are of one relevant item, as Recall and the hit rate are."""
        return np.array_equal(*(terms_of(each, self.studies[0].m) for each in (one, other)))

    @cached_property
    def blind(self) -> BlindSpot | None:
        if not any(row["assumption"] == "decreasing" for row in self.rows.values()):
            return None
        spots = [blind_spot(s.pools[1], s.m, s.n_users) for s in self.studies]
        # How often limits from a whole column fail is not recorded of those from its means.
        return max(spots, key=lambda one: one.ranks)._replace(fails=np.nan)

    @cached_property
    def pairs(self) -> Mapping[tuple[str, str, Metric], dict[str, Any]]:
        found = {}
        for (a, b), one in product(combinations(self.runs, 2), self.metrics):
            both = {self.rows[name, one]["assumption"] for name in (a, b)}
            weaker: Assumption = "none" if "none" in both else "decreasing"
            low, high = self._difference(self.readings, a, b, one, weaker)
            sign = 1 if low > 0 else -1 if high < 0 else 0
            ahead = better(one, a, b, sign) if sign else "undecided"
            apart = Comparison(np.nan, low, high, np.nan)._asdict()
            found[a, b, one] = apart | {"assumption": weaker, "ahead": ahead}
        return found

    def _difference(self, readings, a, b, metric, assumption):
        """Limits of a difference, whichever reading is right for both."""
        each = [[one.limits(name, metric, assumption) for name in (a, b)] for one in readings]
        return _hull((a[0] - b[1], a[1] - b[0]) for a, b in each if None not in (a, b))

    def plan(self, metric: Metric | str, width: float) -> Any:
        raise ValueError("a plan is made from a column of sampled ranks, got printed numbers")

    def head(self) -> str:
        n = sum(map(len, self.runs.values()))
        return (
            f"{n} printed number{'s' * (n > 1)} of {self.studies[0].n_users:,} users with one "
            f"held-out item each, ranked among {self._among()}, anew for each user, as stated by "
            "whoever reads the table."
        )

    def _among(self):
        """What was ranked among, as far as it is known."""
        several = " or ".join(dict.fromkeys(f"{one.m:,}" for one in self.studies))
        low, high = (size - 1 for size in self.studies[0].pools)
        pools = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        how = {one.replace: "with" if one.replace else "without" for one in self.studies}
        return (
            f"m = {several} of {pools} irrelevant items, drawn uniformly "
            f"{' or '.join(how.values())} replacement"
        )

    def limits_said(self) -> str:
        return (
            f"{self._usual()} All limits hold at once ({PERCENT}). Numbers that are each the best "
            "of many epochs, and draws of another kind, are not covered."
        )

    def _usual(self):
        found = {row["assumption"] for row in self.rows.values()}
        if "decreasing" not in found:
            return "Limits assume nothing of the ranks."
        blind = f" {self.blind}".rstrip()
        other = " Where the numbers contradict it ('contradicted') limits do not." * (
            "none" in found
        )
        return f"Limits assume that {usual()}; those called 'without' do not.{other}{blind}"

    def sentence(self, name: str, metric: Metric) -> str:
        row, free = self.rows[name, metric], self.ladder[name, metric, "none"]
        limits = "{low:.3f} and {high:.3f}"
        numbers = ", ".join(map(_as_printed, self.runs[name]))
        assumed = (
            "without an assumption about the ranks, because the printed numbers contradict the "
            f"usual one, that {usual()}"
        )
        if row["assumption"] == "decreasing":
            assumed = (
                f"if {usual()}; without that assumption these numbers say between "
                f"{limits.format(**free)}. {self.blind}".rstrip(". ")
            )
        return (
            f"{metric} is between {limits.format(**row)} ({PERCENT} limits, for all "
            f"{self.head()[:-1]}, at once) {assumed}. Printed were {numbers}; that none of them is "
            "the best of many epochs is assumed too."
        )


def _hull(limits):
    """From the lowest to the highest of some limits; NaN where there are none."""
    ends = [one for one in limits if one is not None]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (np.nan,) * 2


def _is_cut(asked):
    return isinstance(asked, AveragePrecision) and asked.cutoff is not None and asked.over == "best"


def _as_printed(number):
    digits = max(0, round(-np.log10(2 * number.half)))
    return f"{number.name} = {number.value:.{digits}f}"
