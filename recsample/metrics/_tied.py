"""The mean of a metric over consecutive ranks, as a relevant item has them that ties with others.

For most shapes it follows from the value on the first of these ranks, without a look at each. That
is what makes the metrics of a recommender fast that scores most items alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np

from recsample._memory import fits_in_memory
from recsample._ties import WITHOUT_AVERAGES
from recsample._typing import Floats, Integers
from recsample.metrics.shapes import Geometric, Linear, Logarithmic, Reciprocal, Shape


@singledispatch
def mean_by_shape(
    shape: Shape, value: Callable[[Integers], Floats], rank: Integers, ties: Integers
) -> Floats | None:
    """The mean of ``value(r)`` over r = rank, ..., rank + ties of each item.

    None where the shape says nothing of it, or the ranks are so far apart that it is no gain.
    """
    return None


@mean_by_shape.register
def _(shape: Linear, value, rank, ties):
    return (value(rank) + value(rank + ties)) / 2


@mean_by_shape.register
def _(shape: Geometric, value, rank, ties):
    if not 0 < shape.ratio < 1:
        return None
    log = np.log(shape.ratio)
    return value(rank) * (np.expm1((ties + 1) * log) / ((ties + 1) * np.expm1(log)))


@mean_by_shape.register
def _(shape: Reciprocal, value, rank, ties):
    return _in_proportion(lambda r: 1.0 / r, value, rank, ties)


@mean_by_shape.register
def _(shape: Logarithmic, value, rank, ties):
    return _in_proportion(lambda r: 1.0 / np.log(r + 1.0), value, rank, ties)


def _in_proportion(factor, value, rank, ties):
    """The mean of a multiple of `factor`, which is the same for all and so needed once a rank."""
    first, end = rank.min(), (rank + ties).max() + 1
    if end - first > (ties + 1).sum():
        return None
    fits_in_memory(
        24 * (end - first),
        f"the average over {end - first} ranks of tied items",
        WITHOUT_AVERAGES,
    )
    factors = factor(np.arange(first, end))
    start = (rank - first).astype(np.intp, copy=False)
    # Every second sum leads from the end of an item to the start of the next one, which is not far
    # where they are in order.
    order, sums = np.argsort(start), np.empty(len(start))
    ends = np.column_stack([start, start + ties + 1])[order].ravel().astype(np.intp, copy=False)
    sums[order] = np.add.reduceat(np.append(factors, 0.0), ends)[::2]
    return value(rank) * (sums / ((ties + 1) * factors[start]))
