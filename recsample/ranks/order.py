"""Who outranks whom: said here, and nowhere else.

Every score has a *strength*. An item of higher strength is above another, and one of the same
strength is tied with it. All of this package compares strengths alone: of arrays, factors, tables
and lists, in a scan, and in the expression that an engine computes. So for another order, such as
one in which scores tie that agree in two decimals, `strength` changes and nothing else.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The strength of what is not ranked, or has no score: below all others, and tied with its like.
UNRANKED = -np.inf
Scores = TypeVar("Scores")


def strength(scores: Scores) -> Scores:
    """What decides between scores, higher is better: they themselves.

    They are an array, or a column as an expression of Narwhals. So it takes what both have, such as
    ``-scores`` or ``scores.round(2)``. NaN has to stay NaN.
    """
    return scores


def is_the_score() -> bool:
    """Whether scores are compared as they are: then what bounds a score bounds its strength."""
    some = np.zeros(1)
    return strength(some) is some


def strengths_of(scores: NDArray) -> NDArray:
    """Strengths of an array that doubles hold, or where no double does, others in their order."""
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
    """Refuse NaN, which is neither above nor tied; `user` and `item` say whose each score is."""
    nan = np.isnan(scores)
    if nan.any():
        users, items = (np.broadcast_to(one, nan.shape)[nan] for one in (user, item))
        first = int(np.argmin(users))
        raise ValueError(
            f"{name} must not be NaN, got NaN for user {users[first]}, item {items[first]}"
        )
