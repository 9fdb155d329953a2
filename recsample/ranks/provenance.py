"""A record, kept with ranks, of how the items were drawn that they are ranked among."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import repeated
from recsample._support.checks import one_of, one_or_each, true_or_false
from recsample._support.typing import Integers
from recsample._support.values import Value, read_only

__all__ = ["Drawn"]


# At random with equal chances, anew for each instance; one random list for many of them; popular
# items more often; otherwise, or nobody knows. Only of the first do ranks tell the exact metrics.
WAYS = ("uniform", "shared", "popular", "unknown")
Some = TypeVar("Some", bound="WithDrawn")


class Drawn(NamedTuple):
    """How the items were drawn that the relevant ones are ranked among: `Ranks.drawn`.

    Parameters
    ----------
    how : {"uniform", "shared", "popular", "unknown"}
    replace : bool or None
        Whether with replacement; None where that is not known.
    n_items : ndarray of int or None
        The sizes of the pools that were drawn from, the relevant items included, for each instance
        or row of `RankCounts`. None where they are not known.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.UniformSampling(m=5).draw(rs.Ranks([3, 40], n_items=100), rng=0).drawn
    Drawn(how='uniform', replace=False, n_items=array([100, 100]))
    """

    how: str
    replace: bool | None
    n_items: Integers | None


class WithDrawn(Value):
    """Base class of ranks with a record of the draws, which equality ignores."""

    drawn: Drawn | None = None

    def drawn_as(
        self: Some, how: str, replace: bool | None = None, n_items: ArrayLike | None = None
    ) -> Some:
        """The same ranks with a record of how the items were drawn, as `Sampler.draw` makes it.

        Parameters
        ----------
        how : {"uniform", "shared", "popular", "unknown"}
        replace : bool, optional
            Whether with replacement.
        n_items : int or array_like of int, optional
            The sizes of the pools that were drawn from, the relevant items included.

        Returns
        -------
        Ranks or RankCounts
            A copy, with `drawn`.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([2, 1], n_items=3).drawn_as("popular").drawn.how
        'popular'
        """
        if n_items is not None:
            n_items = read_only(one_or_each("n_items", n_items, self._n_pools(), lowest=1).copy())
        known = replace if replace is None else true_or_false("replace", replace)
        return self._with_drawn(Drawn(one_of("how", how, WAYS), known, n_items))

    def _with_drawn(self: Some, drawn: Drawn | None) -> Some:
        found = copy(self)
        vars(found)["drawn"] = drawn
        return found

    def _n_pools(self) -> int:
        """The number of pool sizes in the record."""
        return len(self)  # type: ignore[arg-type]


def drawn_of_some(drawn: Drawn | None, which: Integers) -> Drawn | None:
    """The record for chosen instances."""
    if drawn is None or drawn.n_items is None:
        return drawn
    return drawn._replace(n_items=read_only(drawn.n_items[which]))


def drawn_apart(drawn: Drawn | None, n_relevant: Integers) -> Drawn | None:
    """The record where each relevant item becomes an instance: items of one share their draw."""
    if drawn is None:
        return None
    shared = drawn.how == "uniform" and (n_relevant > 1).any()
    sizes = drawn.n_items
    if sizes is not None:
        sizes = read_only(repeated(sizes - n_relevant + 1, n_relevant))
    return Drawn("shared" if shared else drawn.how, drawn.replace, sizes)


def drawn_of_parts(parts: Sequence[Drawn | None]) -> Drawn | None:
    """The record for concatenated parts: "unknown" if they were drawn in different ways."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    hows, replaces = {part.how for part in known}, {part.replace for part in known}
    sizes = [part.n_items for part in known if part.n_items is not None]
    alike = len(known) == len(parts) and len(hows) == len(replaces) == 1
    return Drawn(
        hows.pop() if alike else "unknown",
        replaces.pop() if alike else None,
        read_only(np.concatenate(sizes)) if len(sizes) == len(parts) else None,
    )
