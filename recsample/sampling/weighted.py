"""Draws of items with given weights, and which of them outrank the relevant item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import row_blocks
from recsample._support.checks import (
    finite_numbers,
    fits_in_memory,
    generator,
    positive_int,
    refuse_first,
    true_or_false,
)
from recsample._support.typing import Floats, Integers, Rng
from recsample._support.values import Value, frozen
from recsample.ranks.base import Ranks

# A positive weight below this share of the largest would overflow where one divides by it.
_LOWEST = 1e-300


class WeightedDraws(Value):
    """m draws per instance with probabilities in proportion to given weights."""

    m: int
    weights: Floats
    replace: bool
    _relative: Floats  # only their ratios count; with the largest as 1 no sum overflows

    def __init__(self, m: int, weights: ArrayLike, replace: bool = False) -> None:
        given = frozen(finite_numbers("weights", weights, lowest=0))
        if given.ndim != 1 or not given.size:
            raise ValueError(f"weights must hold one number per item, got shape {given.shape}")
        if not given.any():
            raise ValueError("weights must hold a weight above 0, got only zeros")
        relative = given / given.max()
        tiny = (given > 0) & (relative < _LOWEST)
        message = f"weights must be 0 or at least {_LOWEST} of the largest, {given.max()}, "
        refuse_first(tiny, message + "got {} (at position {at})", given)
        vars(self).update(
            m=positive_int("m", m),
            weights=given,
            replace=true_or_false("replace", replace),
            _relative=frozen(relative),
        )

    def _content(self) -> tuple[Any, ...]:
        return self.m, self.weights, self.replace

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(m={self.m}, weights of {len(self.weights)} items, "
            f"replace={self.replace})"
        )

    def draw_items(self, ranks: Ranks, rng: Rng) -> Integers:
        """The drawn items themselves, in the order of their drawing.

        Parameters
        ----------
        ranks : RankedItems
        rng : int or numpy.random.Generator

        Returns
        -------
        ndarray of int, shape (instances, m)

        Examples
        --------
        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]], relevant=[3])
        >>> sorted(rs.PopularitySampling(3, [5, 1, 1, 1]).draw_items(ranked, rng=0)[0].tolist())
        [0, 1, 2]
        """
        ranked = self._checked(ranks)
        rng = generator(rng)
        n_items = len(self.weights)
        fits_in_memory(
            64 * len(ranked) * self.m,
            f"what is drawn for {len(ranked)} instances with m={self.m}",
            "choose a smaller m, or draw for some of the ranks at a time",
        )
        items = np.empty((len(ranked), self.m), np.int64)
        for rows in row_blocks(len(ranked), n_items):
            outside = ranked.excluded[rows].nonzero()
            weights = np.tile(self._relative, (rows.stop - rows.start, 1))
            weights[outside] = 0.0
            if self.replace:
                ends = np.cumsum(weights, axis=1)
                aim = rng.random((len(ends), self.m)) * ends[:, -1:]
                for row, (end, at) in enumerate(zip(ends, aim), start=rows.start):
                    items[row] = np.searchsorted(end, at, side="right")
            else:
                with np.errstate(divide="ignore"):
                    clocks = rng.standard_exponential(weights.shape) / weights
                first = np.argpartition(clocks, self.m - 1, axis=1)[:, : self.m]
                order = np.argsort(np.take_along_axis(clocks, first, axis=1), axis=1)
                items[rows] = np.take_along_axis(first, order, axis=1)
        return items

    def _checked(self, ranks):
        """``ranks``; what cannot be drawn from is refused."""
        ranked = check_ranked(ranks)
        if ranked.above.shape[1] != len(self.weights):
            raise ValueError(
                f"weights must hold one number for each of the {ranked.above.shape[1]} items, "
                f"got {len(self.weights)}"
            )
        positive = self._relative > 0
        drawable = positive.sum() - ranked.excluded @ positive.astype(np.int64)
        needed = 1 if self.replace else self.m
        message = (
            f"weights must leave at least {needed} candidates with a weight above 0 to draw "
            f"m={self.m} {'with' if self.replace else 'without'} replacement, "
        )
        refuse_first(drawable < needed, message + "got {} in instance {at}", drawable)
        return ranked

    def _total(self, ranked):
        """The weight of all candidates of each instance, added up without subtractions."""
        n_items = len(self._relative)
        blocks = (ranked.excluded[rows].toarray() for rows in row_blocks(len(ranked), n_items))
        return np.concatenate([(~block).astype(float) @ self._relative for block in blocks])


def check_ranked(ranks: Any) -> Any:
    """``ranks``; those that do not know which items are above are refused."""
    if not hasattr(ranks, "excluded"):
        raise ValueError(
            "ranks must be RankedItems, which know which items outrank the relevant one (see "
            f"ranked_items), got {type(ranks).__name__}"
        )
    return ranks


def count_in(sets, items):
    """Which of each instance's items are in its set, as 0 and 1."""
    inside = np.empty(items.shape, np.int64)
    for rows in row_blocks(len(items), sets.shape[1]):
        inside[rows] = np.take_along_axis(sets[rows].toarray(), items[rows], axis=1)
    return inside


def random_place(ranked, rng):
    """The share of its ties that stand above the relevant item, in a random order."""
    ties = ranked.rows.ties
    return rng.integers(0, ties, endpoint=True) / np.maximum(ties, 1)
