"""What the numbers of a paper's table, and nothing else, say about the exact metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import checks
from recsample._support.checks import shown
from recsample._support.errors import InputError, Naming
from recsample._support.extras import extra
from recsample.evaluation.options import REPORTED, check_word
from recsample.evaluation.printed import called, metric_name, read_printed
from recsample.evaluation.printed_study import PrintedBounds, PrintedNumbers
from recsample.evaluation.reporting import MANY, check_different, refuse_corrections
from recsample.evaluation.results import Result, recorded
from recsample.inference.likelihood.sampled_run import check_additive
from recsample.inference.published import Printed, PrintedStudy
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.names import chosen_metrics, exact_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_published"]


@recorded
def from_published(
    values: Mapping[str, Any] | str | pd.DataFrame,
    *,
    m: ArrayLike,
    n_items: int | tuple[int, int],
    n_users: int,
    drawn: str | None = None,
    replace: bool | None = None,
    metrics: Sequence[Metric | str] | None = None,
) -> Result:
    """Between which values the exact metrics lie, from the numbers that a paper prints.

    For studies in which one held-out item of each user is ranked among m drawn ones; a table seldom
    tells whether users had several, and only what one item rules out is refused, such as a
    Recall@10 unlike HR@10. The limits are over all distributions of the exact rank that explain all
    numbers of a recommender, each within its rounding and its sampling error, at 95 % for all
    numbers and recommenders at once (Bonferroni's correction; of hit rates Clopper and Pearson's
    limits, of other means normal ones, with the standard deviation of the same distribution). A
    whole column of sampled ranks says more: see `report`.

    Parameters
    ----------
    values : mapping of str to float or str, mapping of str to such a mapping, str or dataframe
        The numbers by metric, or by recommender and metric, such as ``{"HR@10": "0.670"}``; or a
        table of them with metrics as columns or as rows, as text (CSV, Markdown, or copied out of
        a PDF) or as a dataframe. The digits say how a number was rounded: text keeps the zeros at
        its end, without which a number is taken for a rougher one. Bold, marks of significance,
        67.0%, and - for a missing number are read as printed; what stands behind ± or in brackets
        is counted and not used. Lines and columns such as Improv., p-value, #Params and one data
        set are left out, which the notes say: a recommender of such a name needs another one.
    m : int or sequence of int
        How many items were drawn for each user. Where a paper leaves it open (100 candidates may be
        99 drawn ones and the held-out one), all that it may be: the limits then hold for each.
    n_items : int or tuple of int
        The size of the pools, the held-out item included; or of the smallest and of the largest
        pool, between which users may have any.
    n_users : int
        Of the test set.
    drawn : {"uniform", "popular", "unknown"}
        How the items were drawn, see `report`; numbers among others give upper limits only.
    replace : bool, optional
        Whether an item could be drawn twice for a user; without it, either may be where a tenth of
        a pool or more was drawn. Of other draws than uniform ones it has to be False.
    metrics : sequence of Metric or str, optional
        What to give limits of; by default the metrics that are printed.

    Returns
    -------
    Result
        Without estimates. Its pairs are decided where the limits of their difference exclude 0.

    Raises
    ------
    ValueError
        For numbers that no distribution explains, with the few that clash; that are none, or
        beyond what the metric can be; for sizes below 1, and repeated items in draws that are not
        uniform.

    Examples
    --------
    >>> import recsample as rs
    >>> found = rs.from_published(
    ...     {"HR@10": 0.67, "NDCG@10": 0.396},
    ...     m=100, n_items=(1_390, 3_690), n_users=6_040, drawn="uniform", metrics=["Recall@10"])
    >>> low, high = found.table.loc["Recall@10", ["if_low", "if_high"]]
    >>> bool(0 < low < 0.077 < high)  # the exact Recall@10 of this recommender
    True
    """
    extra("pandas")
    drawn = str(check_word("drawn", drawn, REPORTED))
    if drawn != "uniform":
        check_different(drawn, replace)
    given, named, left_out = read_printed(values)
    numbers = {name: _numbers(called(name), cells) for name, cells in given.items()}
    check_names("values", numbers)
    printed = list(dict.fromkeys(number.metric for of in numbers.values() for number in of))
    asked = printed if metrics is None else chosen_metrics(metrics)
    refuse_corrections(asked)
    for metric in asked:
        check_additive(metric)
    others = sum(cell.has_other for cells in given.values() for cell in cells.values())
    aside = "lines and columns that hold no metric of a recommender, left out"
    about: dict[str, Any] = {
        "numbers": numbers,
        "metrics": tuple(asked),
        "named": named,
        "counts": {
            ("", "numbers behind others in a cell, such as their errors, not used"): others,
            ("", f"{aside} ({', '.join(left_out)})" if left_out else aside): len(left_out),
        },
        "studies": _studies(m, n_items, n_users, replace, drawn == "uniform"),
    }
    bounds = drawn != "uniform"
    study = PrintedBounds(drawn=drawn, **about) if bounds else PrintedNumbers(**about)
    return Result(study, study.findings(), {})


def _numbers(of, cells):
    """The numbers of a recommender, as they were printed."""
    found = tuple(_number(of, name, cell) for name, cell in cells.items())
    if len({one.metric for one in found}) < len(found):
        raise InputError(of, "must hold each metric once").got([*cells])
    return found


def _number(of, name, cell):
    """A number, and between which values it was rounded."""
    asked = exact_metric(metric_name(name))
    check_additive(asked)
    low, high = ends_of(asked, Ranks([1], n_items=2**31))
    if not low - float(cell.half) <= cell.number <= high + float(cell.half):
        remedy = "of percentages write 67.0%, or HR@10 (%) as the name of the metric"
        if cell.number <= 1:
            remedy = "a user has one relevant item, and tables of several are not read"
        allowed = f"must be from {low:g} to {high:g} for {name!r}"
        raise InputError(of, allowed).got(cell.number, remedy)
    return Printed(asked, float(cell.number), float(cell.half), metric_name(name))


def _studies(m, n_items, n_users, replace, uniform):
    """All that may have been done."""
    several = [checks.positive_int("m", one) for one in np.ravel(m)]
    pools = [checks.positive_int("n_items", one) for one in np.ravel(n_items)]
    if not several:
        raise InputError("m", "must hold at least one number of drawn items").got("none")
    if len(pools) not in (1, 2) or pools[0] > pools[-1]:
        allowed = "must be the size of the pools, or the smallest and the largest"
        raise InputError("n_items", allowed).got(shown(n_items))
    low, high, users = pools[0], pools[-1], checks.positive_int("n_users", n_users)
    if replace is not None:
        checks.true_or_false("replace", replace)
    if replace is False and max(several) >= low:
        allowed = Naming("must be less than {n_items}, {}, without replacement", low)
        raise InputError("m", allowed).got(max(several))
    return tuple(
        PrintedStudy(one, (low, high), users, way, uniform)
        for one in dict.fromkeys(several)
        for way in ([False, True][: 1 + (one >= MANY * low)] if replace is None else [replace])
        if way or one < low
    )
