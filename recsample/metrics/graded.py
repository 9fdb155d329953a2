"""Metrics for graded relevance, such as stars: cumulative gain, DCG and NDCG.

The functions take the grades of the recommended items in the order of the list, for one list or
for many. With the grades 0 and 1, NDCG is that of `recsample.NDCG`.

Reference: K. Järvelin, J. Kekäläinen, "Cumulated Gain-Based Evaluation of IR Techniques", ACM
TOIS 20(4), 2002, https://doi.org/10.1145/582415.582418.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recsample._support import checks
from recsample._support.arrays import counted, owners, places_in, repeated, summed
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Integers
from recsample.metrics.base import warned_of_nan
from recsample.metrics.ranking import NDCG

__all__ = ["cg", "dcg", "ndcg"]


Grades = Sequence[float] | Sequence[Sequence[float]] | Sequence[NDArray[Any]] | NDArray[Any]
Gain = Literal["linear", "exponential"]


def cg(grades: Grades, k: int | None = None, *, lowest: float = 0) -> float | Floats:
    """Cumulative gain: the sum of the first k grades, in any order.

    Between 0 and k times the highest grade; with grades from 0 up, worst 0.

    Parameters
    ----------
    grades : array_like of float, or sequence of array_likes
        Of the recommended items, best place first: one list, or one per instance, of any lengths.
    k : int, optional
        How many places count; None for all.
    lowest : float, optional
        The lowest grade of the scale, at least 0. A list shorter than `k` is filled up with it.

    Returns
    -------
    float, or ndarray of float, shape (instances,)

    Examples
    --------
    >>> from recsample.metrics.graded import cg
    >>> cg([3, 2, 0, 1])
    6.0
    >>> cg([[3, 2, 0, 1], [0, 2]], k=3)
    array([5., 2.])
    """
    k = k if k is None else checks.positive_int("k", k)
    lowest = checks.nonnegative_float("lowest", lowest)
    lists = _read("grades", grades, "linear", lowest)
    return _one_or_all(_sums(_first(lists, k, lowest), "linear", discounted=False), lists)


def dcg(
    grades: Grades, k: int | None = None, *, gain: Gain = "linear", lowest: float = 0
) -> float | Floats:
    r"""Discounted cumulative gain: the sum of the first k gains, each divided by a logarithm.

    .. math:: \mathrm{DCG} = \sum_{i=1}^k \frac{\mathrm{gain}(\mathrm{grade}_i)}{\log_2(i + 1)}

    The linear gain is the grade itself; the exponential one is :math:`2^{\mathrm{grade}} - 1`
    (C. Burges et al., "Learning to Rank using Gradient Descent", ICML 2005). Perfect is the
    descending order of the grades, worst the ascending one; random, the mean gain times the sum of
    :math:`1 / \log_2(i + 1)`.

    Parameters
    ----------
    grades : array_like of float, or sequence of array_likes
    k : int, optional
        As of `cg`, and so is `lowest`.
    gain : {"linear", "exponential"}, optional
    lowest : float, optional

    Returns
    -------
    float, or ndarray of float, shape (instances,)

    Examples
    --------
    >>> from recsample.metrics.graded import dcg
    >>> dcg([3, 0, 2])                               # 3/1 + 2/2
    4.0
    >>> dcg([3, 0, 2], gain="exponential")           # 7/1 + 3/2
    8.5
    >>> dcg([3], k=3, lowest=1)                      # 3/1 + 1/log2(3) + 1/2
    4.130929753571458
    """
    k = k if k is None else checks.positive_int("k", k)
    lowest = checks.nonnegative_float("lowest", lowest)
    lists = _read("grades", grades, gain, lowest)
    return _one_or_all(_sums(_first(lists, k, lowest), gain), lists)


def ndcg(
    grades: Grades,
    k: int | None = None,
    *,
    gain: Gain = "linear",
    judged: Grades | None = None,
    lowest: float = 0,
) -> float | Floats:
    r"""Normalised discounted cumulative gain: `dcg` divided by that of the ideal list.

    The ideal list holds the `judged` grades in descending order, cut off at k like the list itself.
    Perfect 1; random, for a random order of all judged items, the mean gain times the sum of
    :math:`1 / \log_2(i + 1)` over the DCG of the ideal; worst 0 where `lowest` is 0 and k items
    have that grade.

    Parameters
    ----------
    grades : array_like of float, or sequence of array_likes
    k : int, optional
    gain : {"linear", "exponential"}, optional
        All three as of `dcg`.
    judged : array_like of float, or sequence of array_likes, optional
        The grades of all items that could have been recommended, in any order; items of the lowest
        grade may be left out. None takes those of the list itself, so that a list that misses the
        best items loses nothing.
    lowest : float, optional
        The lowest grade of the scale. A list shorter than `k`, or without `k` than `judged`, is
        filled up with it, and so is the ideal list.

    Returns
    -------
    float, or ndarray of float, shape (instances,)
        NaN, with a warning, where the ideal DCG is 0: no item has a grade above 0.

    Examples
    --------
    Two users; the list of the second misses an item of grade 3:

    >>> from recsample.metrics.graded import ndcg
    >>> ndcg([[3, 0, 2], [0, 2]], k=2, judged=[[3, 2, 0], [3, 2, 0]]).round(4)
    array([0.7039, 0.2961])
    """
    k = k if k is None else checks.positive_int("k", k)
    lowest = checks.nonnegative_float("lowest", lowest)
    listed = ideal = _read("grades", grades, gain, lowest)
    if judged is not None:
        ideal = _read("judged", judged, gain, lowest)
        _check_judged(listed, ideal, lowest)
    places = np.maximum(listed.length, ideal.length) if k is None else k
    ideal = ideal._replace(grade=ideal.grade[np.lexsort((-ideal.grade, ideal.instance))])
    best = _sums(_first(ideal, places, lowest), gain)
    values = np.full(len(best), np.nan)
    np.divide(_sums(_first(listed, places, lowest), gain), best, out=values, where=best > 0)
    return _one_or_all(warned_of_nan(NDCG if k is None else NDCG @ k, values), listed)


class _Lists(NamedTuple):
    """The grades of several lists, concatenated."""

    name: str  # of the argument that they came in
    several: bool  # whether they came as a list of lists
    grade: Floats
    length: Integers  # of each list

    @property
    def instance(self) -> Integers:
        """The list of each grade, 0-based."""
        return owners(self.length)

    @property
    def place(self) -> Integers:
        """The place of each grade in its list, 1-based."""
        return 1 + places_in(self.length)

    def where(self, instance):
        """The list, for error messages."""
        return f" in instance {instance}" if self.several else ""


def _read(name, values, gain, lowest):
    """Check an argument, and return its lists."""
    checks.one_of("gain", gain, ("linear", "exponential"))
    if hasattr(values, "__array__"):
        values = checks.array_of(name, values)
    elif not isinstance(values, Sequence):  # a set has no order
        raise InputError(name, "must be a list of grades").got(checks.shown(values))
    several = np.iterable(values) and {np.iterable(v) for v in values} == {True}
    arrays = [checks.numbers(name, v) for v in (values if several else [values])]
    if any(array.ndim != 1 for array in arrays):
        got = checks.shown(values)
        raise InputError(name, "must be a list of grades or a list of such lists").got(got)
    length = np.array([len(array) for array in arrays], np.int64)
    lists = _Lists(name, several, np.concatenate(arrays, dtype=np.float64), length)
    if not length.all():
        where = lists.where(int(np.argmin(length)))
        raise InputError(name, "must hold at least one grade").got(f"none{where}")
    highest = 1024 if gain == "exponential" else np.inf
    bad = ~((lists.grade >= lowest) & (lists.grade < highest))
    if bad.any():
        at = int(np.argmax(bad))
        allowed = f"must be finite numbers of at least {str(lowest).removesuffix('.0')}"
        allowed += " and below 1024, where 2^grade overflows" * (gain == "exponential")
        where = f"(at position {lists.place[at] - 1}){lists.where(lists.instance[at])}"
        raise InputError(name, allowed).got(f"{lists.grade[at]} {where}")
    return lists


def _first(lists, places, lowest):
    """The lists cut off at `places`, or padded to it; unchanged for None."""
    if places is None:
        return lists
    shorter = np.minimum(lists.length, places)
    # A lowest grade of 0 adds nothing to the sum.
    length = shorter if lowest == 0 else np.full_like(shorter, places)
    what = f"filling up to {np.max(places)} places"
    checks.check_memory(40 * length.sum(dtype=float), what, "choose a smaller cut-off")
    first = lists._replace(grade=np.full(length.sum(), lowest), length=length)
    within = lists.place <= repeated(shorter, lists.length)
    first.grade[first.place <= shorter[first.instance]] = lists.grade[within]
    return first


def _sums(lists, gain, discounted=True):
    """The sum of the gains of each list."""
    gains = lists.grade if gain == "linear" else np.exp2(lists.grade) - 1
    if discounted:
        gains = gains / np.log2(lists.place + 1.0)
    sums = summed(lists.instance, gains, len(lists.length))
    if np.isinf(sums).any():
        where = lists.where(int(np.argmax(np.isinf(sums))))
        raise InputError(f"{lists.name}", "must have a finite sum of gains").got(f"inf{where}")
    return sums


def _check_judged(listed, judged, lowest):
    """Refuse judged grades that lack a grade of the list: NDCG could exceed 1."""
    if (judged.several, len(judged.length)) != (listed.several, len(listed.length)):
        shapes = [f"{len(x.length)} lists" if x.several else "one list" for x in (judged, listed)]
        allowed = "must hold one list for each list of grades"
        raise InputError("judged", allowed).got("{} for {}".format(*shapes))
    grade, kind = np.unique(np.concatenate([listed.grade, judged.grade]), return_inverse=True)
    instance = np.concatenate([listed.instance, judged.instance])
    # One number for each grade of each instance: numpy is slow to find equal rows of two.
    pair, which = np.unique(instance * len(grade) + kind, return_inverse=True)
    in_both = np.split(which, [len(listed.grade)])
    needed, held = (counted(some, len(pair)) for some in in_both)
    lacking = (needed > held) & (grade[pair % len(grade)] > lowest)
    if lacking.any():
        at = int(np.argmax(lacking))
        instance, kind = divmod(pair[at], len(grade))
        raise InputError("judged", "must hold all grades of the list above the lowest").got(
            f"grade {grade[kind]} {needed[at]} times in grades and {held[at]} times in judged"
            f"{listed.where(instance)}"
        )


def _one_or_all(values, lists):
    return values if lists.several else float(values[0])
