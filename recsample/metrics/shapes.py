"""Shapes: the forms that metrics have as functions of a rank, by which closed forms are chosen.

With everything but the rank held fixed, most metrics are one of a few simple functions, whose
expectations under sampling and over the orders of ties have closed forms. These are looked up by
the form that a metric declares, `Metric.form`.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recsample._support.arrays import repeated
from recsample._support.typing import Floats, Integers
from recsample.ranks import ties

__all__ = ["Geometric", "Linear", "Logarithmic", "Reciprocal", "Shape", "Step"]


@dataclass(frozen=True)
class Shape:
    """No known form: expectations are computed as sums over a law.

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.AP @ 10).shape
    Shape()
    """


@dataclass(frozen=True)
class Linear(Shape):
    """A linear function of the rank, such as AUC. Sampling keeps its expectation, eq. (17).

    Its values at the top and at the bottom are the same in lists of any length (unlike the rank
    itself).

    Examples
    --------
    >>> import recsample as rs
    >>> rs.AUC.shape
    Linear()
    """


@dataclass(frozen=True)
class Step(Shape):
    """Constant up to a last place, 0 beyond it: its expectation is a probability, eq. (18).

    Parameters
    ----------
    last_place : int or None
        None for the number of relevant items.

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.Recall @ 10).shape, rs.RPrecision.shape
    (Step(last_place=10), Step(last_place=None))
    """

    last_place: int | None

    def last_places(self, n_relevant: Integers) -> Integers:
        """The last place that counts, for instances with given numbers of relevant items.

        Parameters
        ----------
        n_relevant : ndarray of int

        Returns
        -------
        ndarray of int, shape of `n_relevant`

        Examples
        --------
        >>> import numpy as np
        >>> import recsample as rs
        >>> rs.RPrecision.shape.last_places(np.array([1, 5]))
        array([1, 5])
        """
        return n_relevant if self.last_place is None else np.full_like(n_relevant, self.last_place)


@dataclass(frozen=True)
class Reciprocal(Shape):
    """Proportional to 1 / r, such as AP and RR: eq. (19), and its analogue without replacement.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.AP.shape
    Reciprocal()
    """


@dataclass(frozen=True)
class Geometric(Shape):
    """A geometric sequence: its expectation is a value of the generating function.

    Parameters
    ----------
    ratio : float
        The value on a rank over that on the rank before, between 0 and 1.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RBP(0.8).shape
    Geometric(ratio=0.8)
    """

    ratio: float


@dataclass(frozen=True)
class Logarithmic(Shape):
    """Proportional to 1 / log(r + 1), such as DCG and NDCG.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.NDCG.shape
    Logarithmic()
    """


# Whether a metric has the shape that it declares: a closed form that is chosen by a wrong shape
# gives wrong numbers and no error, so a few values are checked before a metric is used.

# How much values may differ that are computed by two formulas.
_ROUNDING = 1e-9
# And how much from a line, in parts of the largest.
_LOST = 1e-13


def has_shape(shape: Shape, value: Callable[[Integers], Floats], rank: Integers, last: int) -> bool:
    """Whether ``value(r)`` has this shape on ascending ranks up to the last, and then is 0."""
    values = value(rank)
    known = np.isfinite(values)  # a metric may be undefined, for a single item, say
    if values[known & (rank > last)].any():
        return False
    known &= rank <= last
    values, rank = values[known], rank[known]
    if len(rank) < 2:
        return True
    r = rank.astype(float)
    if isinstance(shape, Linear):
        form = values[0] + (r - r[0]) * ((values[-1] - values[0]) / (r[-1] - r[0]))
        return bool(abs(values - form).max() <= _ROUNDING * abs(values).max())
    # In absolute terms only what is too small for all its digits.
    return np.allclose(values, values[0] * _weight(shape, r, r[0]), rtol=_ROUNDING, atol=1e-290)


def _weight(shape, place, first):
    """The weight of a place over that of a first one: values on all ranks are multiples of it."""
    match shape:
        case Reciprocal():
            return first / place
        case Geometric(ratio):
            return ratio ** (place - first)
        case Logarithmic():
            return np.log(first + 1.0) / np.log(place + 1.0)
    return np.ones(np.shape(place))


# Means over the orders of ties.


def mean_over_ties(shape, gain, rows, last):
    """What tied items add on average; all of a group of them on its first row.

    ``gain(instance, order, rank)`` is what an item adds on a rank; beyond the `last` rank, nothing.

    By the shape, the j-th of g relevant items adds c_j w(r) on rank r. Of the g + t places that
    they share with t irrelevant items, each holds a relevant one with the chance g / (g + t), and
    then its mean j is 1 + p (g - 1) / (g + t - 1), where p places of them are better. So where the
    c_j are in arithmetic progression, the mean of all that they add follows from the sums of w(r)
    and of p w(r). Where all but c_1 are, as of RR, the law of the best item's rank gives the rest.
    All else is averaged place by place.

    Reference: F. McSherry, M. Najork, "Computing Information Retrieval Performance Measures
    Efficiently in the Presence of Tied Scores", ECIR 2008.
    """
    if type(shape) in (Shape, Linear):
        return ties.mean_by_law(gain, rows, last)
    head = np.flatnonzero(rows.place == 1)
    best = rows.of(head)
    group, n_places = best.group, best.group + best.ties
    number = np.clip(last[head] + 1 - best.rank, 0, n_places)

    # The line through c_2, ..., c_g, or through both of two, and what is off it.
    value = gain(rows.instance, rows.order, repeated(best.rank, group))
    start, end = head + (group > 2), head + group - 1
    step = (value[end] - value[start]) / np.maximum(end - start, 1)
    line = value[end] - (group - 1) * step
    off = value - repeated(line, group) - (rows.place - 1) * repeated(step, group)
    off[abs(off) <= _LOST * repeated(np.maximum.reduceat(abs(value), head), group)] = 0.0
    alone, off[head] = off[head], 0.0

    sums, sums_of_places = _sums(shape, best.rank, number)
    mean = line * sums + step * ((group - 1) / (n_places - 1)) * sums_of_places
    mean *= group / n_places
    some = np.flatnonzero(alone)
    inverse, hit = ties.means_of_best(best.of(some), number[some])
    of_best = {Step: hit, Reciprocal: best.rank[some] * inverse}.get(type(shape), np.nan)
    mean[some] += alone[some] * of_best
    unknown = np.isnan(mean) | np.logical_or.reduceat(off != 0, head)
    unknown |= (step != 0) & isinstance(shape, Geometric)
    means = np.zeros(len(rows.rank))
    means[head[~unknown]] = mean[~unknown]
    by_law = np.flatnonzero(repeated(unknown, group) & (value != 0))
    means[by_law] = ties.mean_by_law(gain, rows.of(by_law), last[by_law])
    return means


def _sums(shape, first, number):
    """The sums of w(r) and of (r - first) w(r) over so many places r, where w(first) is 1.

    Of a geometric sequence only the first is computed.
    """
    match shape:
        case Step():
            return number, number * (number - 1) / 2
        case Geometric(ratio):
            with np.errstate(divide="ignore", invalid="ignore"):
                log = np.log(ratio)
                sums = np.expm1(number * log) / np.expm1(log) if ratio < 1 else 1.0 * number
            return sums, np.zeros(len(first))
    sums = ties.sums_over(lambda place: _weight(shape, place, 1.0), first, number)
    return sums / _weight(shape, first, 1.0)
