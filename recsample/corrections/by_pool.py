"""A correction for each size of pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import different_rows
from recsample._support.checks import fits_in_memory, one_or_each, refuse_first, shown
from recsample._support.typing import Floats
from recsample.corrections.base import Correction, check_drawn
from recsample.corrections.interpolation import at_all
from recsample.metrics.base import Metric, warned_of_nan
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.ranks.ties import mean_over_ties
from recsample.sampling.pooled import PooledSampling
from recsample.sampling.uniform import UniformSampling


@dataclass(frozen=True, repr=False)
class PooledCorrection(Metric):
    """A correction for `PooledSampling`, for each number of different items by itself.

    Given their number D, the different items are drawn without replacement (see `PooledSampling`),
    so what corrects `UniformSampling` with m = D corrects them. As the law of D does not depend on
    the rank, whatever bias a correction has given each D it has on average as well. Each D that
    occurs is solved once: in a run of 6,040 users with 100 draws from 3,540 items 8 numbers for one
    relevant item, and about 70 for ten. `metric` and `n_items`, the size of the pool, are those of
    the corrections.

    Parameters
    ----------
    make : callable
        From a sampler, `UniformSampling` of some size, to a `Correction` for it.
    sampler : PooledSampling
        Whose sampled ranks are read; ``n_items`` of these says how many different items there were.

    Examples
    --------
    >>> import recsample as rs
    >>> pooled = rs.PooledSampling(m=9)
    >>> corrected = rs.corrections.PooledCorrection(
    ...     lambda drawn: rs.MinimalBias(rs.AUC, drawn, n_items=50), pooled
    ... )
    >>> ranks = rs.Ranks([5, 30], n_items=50)
    >>> corrected(pooled.draw(ranks, rng=0)).round(3)
    array([0.889, 0.667])
    >>> pooled.expect(corrected, ranks).round(12) == rs.AUC(ranks).round(12)
    array([ True,  True])
    """

    make: Callable[[UniformSampling], Correction]
    sampler: PooledSampling = field()
    metric: Metric = field(init=False, compare=False)
    n_items: int = field(init=False, compare=False)
    _known: dict[int, Correction] = field(init=False, compare=False, default_factory=dict)
    takes_cutoff = False

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, PooledSampling):
            raise ValueError(f"sampler must be PooledSampling, got {shown(self.sampler)}")
        _check_make(self.make, "a sampler")
        one = self.of_size(1)
        vars(self).update(
            name=f"PooledCorrection({one})",
            metric=one.metric,
            n_items=one.n_items,
            higher_is_better=one.higher_is_better,
            additive=one.additive,
        )

    def of_size(self, size: int) -> Correction:
        """The correction where so many different items were drawn.

        Parameters
        ----------
        size : int
            At least 1.

        Returns
        -------
        Correction

        Raises
        ------
        ValueError
            Where `make` gives something else than a correction for uniform draws of that size.

        Examples
        --------
        >>> import recsample as rs
        >>> corrected = rs.corrections.PooledCorrection(
        ...     lambda drawn: rs.RankEstimate(rs.AP, drawn, n_items=9), rs.PooledSampling(m=9)
        ... )
        >>> corrected.of_size(2).values
        array([1.        , 0.2       , 0.11111111])
        """
        if size not in self._known:
            drawn = UniformSampling(size)
            made = self.make(drawn)
            if not isinstance(made, Correction) or not made.sampler.same_kind(drawn):
                raise ValueError(f"make must give a correction for {drawn}, got {shown(made)}")
            self._known[size] = made
        return self._known[size]

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        columns = np.broadcast_arrays(rank, order, n_relevant, n_items)
        flat = np.stack([np.ravel(column) for column in columns])
        size, most = flat[3] - flat[2], self.sampler.m * flat[2]
        message = "ranks must be among 1 to {} drawn items for {}, got {}"
        refuse_first((size < 1) | (size > most), message, most, str(self), size)
        values = np.empty(len(size))
        for one in np.unique(size).tolist():
            mine = size == one
            values[mine] = self.of_size(one).term(*flat[:, mine])
        return values.reshape(columns[0].shape)


def corrected_by_pool(
    make: Callable[[int], Correction], sampled: Ranks, n_items: ArrayLike
) -> Floats:
    """A corrected metric where every instance has a pool of its own size.

    The values of a correction depend on n smoothly, so they are not solved for each n: a polynomial
    in log n through some tens of solutions meets all others. More of these are taken until three in
    a row are met to 1e-10 of the largest value. From 1,000 to a million items and at m = 100 that
    takes about 30 solutions of `BiasVariance`, however many sizes there are, and the values are
    right to 1e-9, or to about 1e-16 / gamma where that is more. Around kinks and jumps, as where
    another constraint of `ConstrainedLeastSquares` begins to bind, the sizes are solved one by one;
    for `MinimalBias`, which jumps where another direction is left out, these are nearly all.

    Parameters
    ----------
    make : callable
        From the size of a pool, an int, to a `Correction` for it: always the same but for
        ``n_items``.
    sampled : Ranks
        Ranks among m drawn items.
    n_items : int or array_like of int, shape (instances,)
        Sizes of the pools that were drawn from, the relevant items included.

    Returns
    -------
    ndarray of float, shape (instances,)
        NaN, with a warning, for an instance without relevant item.

    Raises
    ------
    ValueError
        For what is no `Ranks` among m drawn items, sizes that do not fit the instances or have no
        correction, a `make` that gives something else, and more sizes than the memory holds.

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=4)
    >>> make = lambda n_items: rs.BiasVariance(rs.AP, sampler, n_items, gamma=0.1)
    >>> sampled = rs.Ranks([1, 1, 2], n_items=5)
    >>> rs.corrections.corrected_by_pool(make, sampled, [20, 200, 200]).round(3)
    array([ 0.723,  0.186, -0.07 ])
    """
    _check_make(make, "the size of a pool")
    n_relevant = check_ranks(sampled, "sampled").n_relevant
    sizes = one_or_each("n_items", n_items, len(sampled), lowest=1)
    values = np.full(len(sampled), np.nan)
    make = cache(make)  # some are asked for by each number of relevant items
    one, some = _made(make, int(sizes[0])), n_relevant > 0
    check_drawn(one, n_relevant[some], sampled.sizes[some])
    for size in np.unique(n_relevant[some]).tolist():
        mine = np.flatnonzero(n_relevant == size)
        (pools,), which = different_rows([sizes[mine]])
        fits_in_memory(
            16 * len(pools) * size * (one.sampler.m + 1),
            f"the values for {len(pools)} pools with m={one.sampler.m} and {size} relevant items",
            "give fewer instances at a time",
        )
        table = at_all(partial(_parts_of, make, one, size), pools)
        gain = partial(_looked_up, table, which)
        values[mine] = mean_over_ties(gain, sampled[mine])
    return warned_of_nan(one, values)


def _check_make(make, source):
    """Refuse what makes no corrections: metrics and classes can be called as well."""
    if not callable(make) or isinstance(make, (Metric, type)):
        raise ValueError(
            f"make must be a function from {source} to a correction, got {shown(make)}: "
            "lambda given: BiasVariance(..., given, ...) is one"
        )


def _made(make, n_items):
    """The correction for a pool of this size."""
    made = make(n_items)
    if not isinstance(made, Correction) or made.n_items != n_items:
        raise ValueError(
            f"make must give a correction for a pool of n_items={n_items}, got {shown(made)}"
        )
    return made


def _parts_of(make, first, n_relevant, n_items):
    """What each of the relevant items contributes in a pool of this size, shape (L, m + 1)."""
    made = _made(make, n_items)
    if (made.metric, made.sampler) != (first.metric, first.sampler):
        raise ValueError(
            f"make must give corrections of one metric and sampler, got {first} for "
            f"{first.sampler} and {made} for {made.sampler}"
        )
    return np.stack([made.values_of(i, n_relevant) for i in range(1, n_relevant + 1)])


def _looked_up(table, which, instance, order, rank):
    return table[which[instance], order - 1, rank - order]
