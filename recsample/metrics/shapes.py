"""Shapes: the forms that metrics have as functions of a rank, by which closed forms are chosen.

With everything but the rank held fixed, most metrics are one of a few simple functions, whose
expectations under sampling have closed forms: `recsample.sampling` looks them up by the shape that
a metric declares, `Metric.shape`.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recsample._support.checks import check_memory
from recsample._support.typing import Floats, Integers
from recsample.ranks.ties import WITHOUT_AVERAGES

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


def has_shape(shape: Shape, value: Callable[[Integers], Floats], rank: Integers, last: int) -> bool:
    """Whether ``value(r)`` has this shape on the ascending ranks r, with a step at `last`."""
    values = value(rank)
    known = np.isfinite(values)  # a metric may be undefined, for a single item, say
    values, rank = values[known], rank[known]
    if len(rank) < 2:
        return True
    r = rank.astype(float)
    match shape:
        case Linear():
            form = values[0] + (r - r[0]) * ((values[-1] - values[0]) / (r[-1] - r[0]))
            return bool(abs(values - form).max() <= _ROUNDING * abs(values).max())
        case Step():
            form = np.where(rank <= last, values[0], 0.0)
        case Reciprocal():
            form = values[0] * r[0] / r
        case Logarithmic():
            form = values[0] * np.log(r[0] + 1) / np.log(r + 1)
        case Geometric(ratio):
            form = values[0] * ratio ** (r - r[0])
        case _:
            return True
    # In absolute terms only what is too small for all its digits.
    return np.allclose(values, form, rtol=_ROUNDING, atol=1e-290)


def mean_by_shape(
    shape: Shape, value: Callable[[Integers], Floats], rank: Integers, ties: Integers
) -> Floats | None:
    """The mean of ``value(r)`` over r = rank, ..., rank + ties of each tied item.

    For most shapes it follows from the value on the first of these ranks, which is fast where most
    items have one score. None for others, and where the ranks are too far apart for that.
    """
    match shape:
        case Linear():
            return (value(rank) + value(rank + ties)) / 2
        case Geometric(ratio) if 0 < ratio < 1:
            log = np.log(ratio)
            return value(rank) * (np.expm1((ties + 1) * log) / ((ties + 1) * np.expm1(log)))
        case Reciprocal():
            return _in_proportion(lambda r: 1.0 / r, value, rank, ties)
        case Logarithmic():
            return _in_proportion(lambda r: 1.0 / np.log(r + 1.0), value, rank, ties)
    return None


def _in_proportion(factor, value, rank, ties):
    """The mean of a multiple of `factor`, which is computed once for each rank."""
    first, end = rank.min(), (rank + ties).max() + 1
    if end - first > (ties + 1).sum():
        return None
    check_memory(
        24 * (end - first), f"the average over {end - first} ranks of tied items", WITHOUT_AVERAGES
    )
    factors = factor(np.arange(first, end))
    start = (rank - first).astype(np.intp, copy=False)
    # Every second sum is that between the end of an item and the start of the next one, which is
    # short where they are in order.
    order, sums = np.argsort(start), np.empty(len(start))
    ends = np.column_stack([start, start + ties + 1])[order].ravel().astype(np.intp, copy=False)
    sums[order] = np.add.reduceat(np.append(factors, 0.0), ends)[::2]
    return value(rank) * (sums / ((ties + 1) * factors[start]))
