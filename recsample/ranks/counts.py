"""Ranks with weights: the distinct ranks of many instances, and how many instances have each.

With one relevant item per instance, a mean over the instances depends only on how often each rank
occurs, so a small table of distinct ranks replaces a hundred million ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import checks
from recsample._support.arrays import counted, different_rows, row_blocks
from recsample._support.errors import InputError
from recsample._support.frames import chosen_names, column_names, count_groups, open_parquet
from recsample._support.numerics import mean_of
from recsample._support.typing import Integers
from recsample._support.values import frozen
from recsample.ranks.base import Ranks, listed, refuse_several
from recsample.ranks.provenance import Drawn, WithDrawn, drawn_of_parts

# Ranks are counted in blocks of about this many, so that temporary arrays stay small.
_BLOCK = 2**20
# What `Ranks` of the different rows take, in bytes a row, while they are made.
_BYTES_OF_ROW = 250


class RankCounts(WithDrawn):
    """The number of instances with each rank, for instances with one relevant item each.

    They replace the `Ranks` of all these instances where it does not matter which instance has
    which rank: in `recsample.report`, `recsample.compare`, `UniformSampling.draw`, `std_of_mean`
    and most of `recsample.inference`. `mean` applies a metric to them.

    Parameters
    ----------
    values, counts : array_like of int, shape (rows,)
        Ranks, 1 is best, and how many instances have them. Equal rows are added up, and rows with
        count 0 are left out.
    n_items, ties : int or array_like of int, shape (rows,)
        As of `Ranks`.

    Attributes
    ----------
    ranks : Ranks
        The different rows, by size of the pool, rank and ties: one instance for each.
    counts : ndarray of int64, shape (rows,)
        How many instances have each of them.
    drawn : Drawn or None
        As of `Ranks`; with the size of the pools where all have one.

    Examples
    --------
    >>> import recsample as rs
    >>> counts = rs.RankCounts([2, 50], [3, 1], n_items=100)
    >>> counts == rs.RankCounts.of(rs.Ranks([2, 2, 50, 2], n_items=100))
    True
    """

    ranks: Ranks
    counts: Integers

    def __init__(
        self, values: ArrayLike, counts: ArrayLike, n_items: ArrayLike, *, ties: ArrayLike = 0
    ) -> None:
        checks.refuse_frame(
            "values", values, "RankCounts.from_frame reads it, or choose one column"
        )
        rank = checks.whole_numbers("values", values)
        if rank.ndim != 1:
            allowed = "must be one-dimensional"
            raise InputError("values", allowed).got(f"an array of shape {rank.shape}")
        columns = (_like(rank, "n_items", n_items, 1), rank, _like(rank, "ties", ties, 0))
        number = _like(rank, "counts", counts, 0)
        some = number > 0
        if not some.any():
            raise InputError("counts", "must hold at least one instance").got("none")
        # As floats: whole numbers would start again from below where their type ends.
        if (total := number.sum(dtype=float)) >= 2**53:
            raise InputError("counts", "must add up to less than 2**53").got(f"{total:.0f}")
        (sizes, rank, tie), number = _added_up([one[some] for one in columns], number[some])
        _check(rank, sizes, tie)
        table = f"a table of {len(rank):,} different ranks"
        checks.check_memory(_BYTES_OF_ROW * len(rank), table, "give fewer ranks")
        one_size = int(sizes[0]) if sizes[0] == sizes[-1] else sizes
        ranks = Ranks(rank, one_size, ties=tie if tie.any() else 0)
        vars(self).update(ranks=ranks, counts=frozen(number))

    def _content(self) -> tuple[Any, ...]:
        return self.ranks, self.counts

    def __len__(self) -> int:
        return int(self.counts.sum())

    def _n_pools(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        what = repr(self.ranks).partition(" ranks, ")[2]
        return f"<RankCounts: {len(self)} instances, {len(self.counts)} different ranks, {what}"

    def __add__(self, other: RankCounts) -> RankCounts:
        """Concatenate the instances of both."""
        if not isinstance(other, RankCounts):
            return NotImplemented
        return RankCounts.concatenate([self, other])

    @classmethod
    def concatenate(cls, parts: Iterable[RankCounts]) -> RankCounts:
        """The instances of several `RankCounts`; ``a + b`` for two of them.

        Parameters
        ----------
        parts : iterable of RankCounts

        Returns
        -------
        RankCounts

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RankCounts.concatenate([rs.RankCounts.of([3, 1], n_items=10)] * 2).counts
        array([2, 2])
        """
        parts = listed(parts, RankCounts)
        columns = [
            (one.ranks.rows.rank, one.counts, one.ranks.sizes, one.ranks.rows.ties) for one in parts
        ]
        rank, counts, sizes, ties = map(np.concatenate, zip(*columns))
        found = cls(rank, counts, sizes, ties=ties)
        return _drawn_as(found, drawn_of_parts([part.drawn for part in parts]))

    @classmethod
    def of(
        cls, ranks: Ranks | ArrayLike, n_items: ArrayLike | None = None, *, ties: ArrayLike = 0
    ) -> RankCounts:
        """Count ranks.

        A column of numbers with one size of the pool and no ties is counted about as fast as by
        `numpy.bincount`.

        Parameters
        ----------
        ranks : Ranks, or array_like of int, shape (instances,)
            With one relevant item per instance.
        n_items, ties : int or array_like of int, shape (instances,), optional
            As of `Ranks`, of a column of numbers only.

        Returns
        -------
        RankCounts

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RankCounts.of([1, 3, 1, 1, 2], n_items=101).counts
        array([3, 1, 1])
        """
        if isinstance(ranks, Ranks):
            if n_items is not None or np.any(ties):
                raise InputError("n_items", "must be left out, and ties: Ranks know their n_items")
            refuse_several(ranks)
            counts = cls.of(ranks.rows.rank, ranks.n_items, ties=ranks.rows.ties)
            return _drawn_as(counts, ranks.drawn)
        checks.refuse_frame("ranks", ranks, "RankCounts.from_frame reads it, or choose one column")
        if n_items is None:
            allowed = "must be given with a column of ranks"
            raise InputError("n_items", allowed, remedy="the sizes of the pools")
        column = checks.numbers("ranks", ranks)
        if column.ndim != 1 or not len(column):
            allowed = "must be one-dimensional with at least one rank"
            raise InputError("ranks", allowed).got(f"an array of shape {column.shape}")
        sizes = checks.whole_numbers("n_items", n_items, lowest=1)
        tied = _like(column, "ties", ties, 0)
        if sizes.ndim == 0 and len(column) >= sizes and not np.any(ties):
            counts = _histogram(column, int(sizes))
            return cls(np.arange(1, len(counts) + 1), counts, n_items)
        rank, sizes = checks.whole_numbers("ranks", column), _like(column, "n_items", sizes, 1)
        blocks = row_blocks(len(rank), 1, _BLOCK)
        return cls.concatenate([cls(rank[i], 1, sizes[i], ties=tied[i]) for i in blocks])

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        n_items: str | int = "n_items",
        *,
        rank: str = "rank",
        ties: str | int | None = None,
        counts: str | None = None,
    ) -> RankCounts:
        """Count the ranks of a table; its own engine groups it, lazily.

        DuckDB reads a path, also where the files are larger than the memory.

        Parameters
        ----------
        frame : dataframe, or path
            Of any library that Narwhals knows, such as pandas, Polars, DuckDB, Dask or PySpark; or
            a Parquet file, a folder of them, or a pattern such as ``"runs/*.parquet"``.
        n_items, rank, ties : str or int, optional
            As of `Ranks.from_frame`, with one relevant item a row.
        counts : str, optional
            The column that says how many instances a row stands for; by default each is one.

        Returns
        -------
        RankCounts

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RankCounts.from_frame(rs.Ranks([3, 1, 3], n_items=101).to_frame()).counts
        array([1, 2])
        """
        with open_parquet(frame) as table:
            if ties is None:
                ties = "ties" if "ties" in column_names(table) else 0
            given: dict[str, Any] = {"rank": rank, "n_items": n_items, "ties": ties}
            wanted = chosen_names(given, {"n_items", "ties"})
            found, number = count_groups("frame", table, wanted, counts)
        given |= found
        return cls(given["rank"], number, given["n_items"], ties=given["ties"])

    def mean(self, function: Callable[[Ranks], ArrayLike]) -> float:
        """The mean over all instances of a metric, or of another function of `Ranks`.

        Parameters
        ----------
        function : callable
            A metric, a correction, or another function of `Ranks` whose value for an
            instance depends on that instance alone.

        Returns
        -------
        float
            As ``function(ranks).mean()`` for the `Ranks` of all instances, up to rounding.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RankCounts([2, 50], [3, 1], n_items=100).mean(rs.Recall @ 10)
        0.75
        """
        if not callable(function):
            allowed = "must be a metric such as rs.AP, or another function of Ranks"
            raise InputError("function", allowed).got(checks.shown(function))
        values = checks.numbers("function", function(self.ranks)).astype(float)
        if values.shape != self.counts.shape:
            allowed = f"must give a number for each of the {len(self.counts)} different ranks"
            raise InputError("function", allowed).got(f"an array of shape {values.shape}")
        return mean_of(values, self.counts)


def _drawn_as(counts: RankCounts, drawn: Drawn | None) -> RankCounts:
    """The counts with what is known of the draws; pool sizes only if all are the same."""
    if drawn is None:
        return counts
    sizes = drawn.n_items
    one = None if sizes is None or np.ptp(sizes) else int(sizes[0])
    return counts.drawn_as(drawn.how, drawn.replace, one)


def _histogram(column, n_items):
    """How often each of the ranks 1, ..., n occurs."""
    what = f"a count for each of {n_items:,} ranks"
    checks.check_memory(48 * n_items, what, "choose a smaller n_items")
    counts = np.zeros(n_items + 1, np.int64)
    for rows in row_blocks(len(column), 1, max(_BLOCK, 4 * n_items)):  # few arrays of counts
        block = column[rows]
        if block.dtype.kind not in "iu":
            block = checks.whole_numbers("ranks", block)
        if block.min() < 1 or block.max() > n_items:
            _check(block, n_items, 0)
        counts += counted(block, n_items + 1)
    return counts[1:]


def _check(rank, sizes, ties):
    """Refuse ranks that no item of such a pool can have."""
    bad = (rank < 1) | (rank > sizes) | (rank + ties > sizes)
    if bad.any():
        where = int(np.argmax(bad))
        size, tie = (np.broadcast_to(one, rank.shape)[where] for one in (sizes, ties))
        among = f"{size} items" + (f" with {tie} ties" if tie else "")
        allowed = "must be at least 1, and with their ties at most n_items"
        raise InputError("ranks", allowed).got(f"rank {rank[where]} among {among}")


def _like(column, name, values, lowest):
    """An array with an entry for each rank of a column; a single number is repeated."""
    return checks.one_or_each(name, values, len(column), f"of {len(column)} ranks", lowest=lowest)


def _added_up(columns, number):
    """The distinct rows of some columns in ascending order, and the sum of numbers for each."""
    rows, which = different_rows(columns)
    total = np.zeros(len(rows[0]), np.int64)
    np.add.at(total, which, number)
    return rows, total
