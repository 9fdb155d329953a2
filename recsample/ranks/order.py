"""Which of two items outranks the other: the one place that compares scores.

Every score has a *strength*. An item of higher strength is above another, and one of the same
strength is tied with it. All of this package compares strengths: of arrays, factors, tables and
lists, in a scan, and in the expression that an engine computes. So for another order, such as one
in which scores tie that agree in two decimals, only `strength` changes.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.errors import InputError

# The strength of what is not ranked, or has no score: below all others, and tied with each other.
UNRANKED = -np.inf
Scores = TypeVar("Scores")


def strength(scores: Scores) -> Scores:
    """The values that are compared, higher is better: the scores themselves.

    They are an array, or a column as an expression of Narwhals, so only what both have can be
    used, such as ``-scores`` or ``scores.round(2)``. NaN has to stay NaN.
    """
    return scores


def is_the_score() -> bool:
    """Whether the strength is the score itself, so that a bound of one is a bound of the other."""
    some = np.zeros(1)
    return strength(some) is some


def strengths_of(scores: NDArray) -> NDArray:
    """The strengths of an array, replaced by their order where doubles cannot hold them."""
    found = strength(scores)
    whole, limit = found.dtype.kind in "iu", 2**53
    if whole and (found.dtype.itemsize < 8 or (found.min() >= -limit and found.max() <= limit)):
        return found
    if not whole and np.can_cast(found.dtype, np.float64):
        return found
    places = np.unique(found, return_inverse=True)[1].reshape(found.shape).astype(np.float64)
    places[np.isnan(found)] = np.nan
    return places


def refuse_nan(scores: NDArray, user: ArrayLike, item: ArrayLike, name: str = "scores") -> None:
    """Refuse NaN and +inf, which is an overflow; the message names `user` and `item`."""
    bad = ~(scores < np.inf)
    if bad.any():
        users, items = (np.broadcast_to(one, bad.shape)[bad] for one in (user, item))
        first = int(np.argmin(users))
        got = "NaN" if np.isnan(scores[bad][first]) else "inf (float16 ends at 65,504)"
        allowed = "must be finite, or -inf for an item that is not listed"
        raise InputError(name, allowed).got(f"{got} for user {users[first]}, item {items[first]}")
