"""Count the candidates that score higher than each relevant item, and those that score the same.

Scores are compared tile by tile, some users by some items, small enough for the cache of a core.
Under factors the score of an item is that of `pair_scores`. A tile of the matrix product differs
from these scores by its rounding, which has a bound. Most items differ from the relevant one by
more than the bound, and the few others are scored one by one. So the counts are the same for tiles
of any size, for any number of threads, and for any library that multiplies matrices.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recsample._support.arrays import counted, owners, places_in, repeated, row_blocks, starts_of
from recsample._support.checks import check_memory, positive_float, refuse_first
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Integers
from recsample.ranks import order
from recsample.ranks.scores import (
    checked_scores,
    item_sets,
    pair_scores,
    refuse_masked_scores,
    refuse_shared,
    relevant_sets,
)
from recsample.ranks.threads import number_of_threads, on_threads
from recsample.ranks.thresholds import compared, kernel_for, sorted_from

# A tile of about this many scores, with what is made of it, stays in the last cache. All items of a
# user are in one tile where they are few; otherwise a tile is much wider than the factors are many,
# and not a power of 2 wide, which caches do not like.
TILE = 2**20
_FEW_ITEMS, _WIDTH = 4096, 2000
# From this many comparisons on, several threads pay off.
_WORTH_THREADS = 2**22
# Bytes for each score of a tile at the most: where every single one has to be looked at.
_BYTES = 64
# Bytes for each item of a block of users that is relevant or left out.
_BYTES_LEFT_OUT = 48
# Bytes for each relevant item, in total, with its `Ranks`.
_BYTES_RANK = 300


class Given:
    """The scores of an array, which are compared as they are."""

    ids: NDArray[Any] | None = None  # of the users in a message; None for their numbers
    name = "scores"  # of the argument in a message

    def __init__(self, scores: NDArray[Any]) -> None:
        self.shape = scores.shape
        self._strengths = order.strengths_of(scores)
        # A double holds them all now.
        self._dtype = np.result_type(self._strengths.dtype, np.float32)

    def of(self, user: Integers, item: Integers) -> NDArray[Any]:
        """The strengths of pairs of a user and an item."""
        return self._strengths[user, item].astype(self._dtype)

    def around(self, user: Integers, strength: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Bounds outside of which an entry of a tile is certainly above or below a strength."""
        return strength, strength

    def rows(self, users: Integers) -> Callable[[slice], NDArray[Any]]:
        """A function that returns the tile of these users and a slice of items.

        The caller may write to the tile; the next one may overwrite it.
        """

        def tile(items):
            found = self._tile(users, items)
            whose = users if self.ids is None else self.ids[users]
            order.refuse_nan(found, whose[:, None], np.arange(items.start, items.stop), self.name)
            return found

        return tile

    def _tile(self, users, items):
        found = self._strengths[:, items][users].astype(self._dtype, copy=False)
        return np.ascontiguousarray(found)


class Pairwise(Given):
    """Scores under factors, each computed separately, for products of unknown rounding."""

    def __init__(self, users: NDArray[Any], items: NDArray[Any]) -> None:
        self.shape = len(users), len(items)
        self._users, self._items = users, items

    def of(self, user: Integers, item: Integers) -> Floats:
        return order.strength(pair_scores(self._users, self._items, user, item))

    def _tile(self, users, items):
        item = np.arange(items.start, items.stop)
        pairs = repeated(users, np.full(len(users), len(item))), np.tile(item, len(users))
        return self.of(*pairs).reshape(len(users), len(item))


class Product(Pairwise):
    """Scores under factors, mostly compared by tiles of the matrix product, in some precision."""

    def __init__(self, users: NDArray[Any], items: NDArray[Any], dtype: Any) -> None:
        super().__init__(users, items)
        self._of_thread, self._dtype = threading.local(), np.dtype(dtype)
        if items.size <= 2**19:  # where the items stand side by side, products are faster
            self._items = np.asfortranarray(items)
        limits, length = np.finfo(dtype), users.shape[1] + 2
        # A sum of d products is off by at most d / (1 - d u) units of rounding u of the product of
        # both norms, in any order, and so are the scores in double precision. Two more are for the
        # bounds themselves.
        unit = limits.eps / 2
        self._rounding = 1.01 * length * (unit + np.finfo(np.float64).eps / 2)
        squares = [np.einsum("ij,ij->i", one, one, dtype=dtype) for one in (users, items)]
        # Beyond these limits squares and products overflow, or lose digits near 0.
        least = limits.smallest_normal**0.8
        self.bounded = bool(
            squares[0].max() < 1 / least and least < squares[1].max() < 1 / least
        ) and (length * unit < 0.005)
        self._item_norm = np.sqrt(np.float64(squares[1].max()))
        self._user_norms = np.sqrt(squares[0].astype(np.float64) + least) * users.any(axis=1)

    def around(self, user: Integers, strength: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
        dtype, slack = self._dtype.type, self._rounding * self._item_norm * self._user_norms[user]
        low, high = (strength - slack).astype(dtype), (strength + slack).astype(dtype)
        # The scores of users whose factors are all 0 are 0, and not rounded.
        exact = slack == 0
        low[~exact] = np.nextafter(low[~exact], dtype(-np.inf))
        high[~exact] = np.nextafter(high[~exact], dtype(np.inf))
        return low, high

    def rows(self, users: Integers) -> Callable[[slice], NDArray[Any]]:
        mine = self._users[users].astype(self._dtype, copy=False)

        def tile(items):
            theirs = self._items[items].astype(self._dtype, copy=False).T
            size = len(mine) * theirs.shape[1]
            # The memory of the last tile is used again, because to get more takes long.
            room = getattr(self._of_thread, "room", mine[:0, 0])
            if len(room) < size:
                self._of_thread.room = room = np.empty(size, mine.dtype)
            return np.matmul(mine, theirs, out=room[:size].reshape(len(mine), -1))

        return tile


def scored_pools(scores, relevant, exclude):
    """Check scores, relevant and excluded items against each other."""
    refuse_masked_scores(scores, "exclude", exclude)
    scores = checked_scores(scores)
    factors = isinstance(scores, tuple)
    n_users, n_items = map(len, scores) if factors else scores.shape
    exclude = item_sets("exclude", exclude, n_users, n_items)
    relevant = relevant_sets(relevant, n_users, n_items)
    source: Any = _of_factors(*scores, relevant.nnz) if factors else Given(scores)
    refuse_shared(relevant, exclude)
    allowed, got = "must leave an item to rank", "0 items left for user {at}"
    refuse_first(np.diff(exclude.indptr) == n_items, "exclude", allowed, got)
    return source, relevant, exclude


def _of_factors(users, items, n_relevant):
    """Scores under factors, in the precision in which the ranks are found sooner."""
    # In doubles hardly a number is near another one. That saves more than the product takes where
    # rows are sorted, and so do not tell in which columns numbers are near.
    many = sorted_from(kernel_for(n_relevant * len(items))) * len(users)
    source = Product(users, items, users.dtype if n_relevant < many else np.float64)
    # A rounded product bounds scores, and so strengths only where these are the scores.
    return source if source.bounded and order.is_the_score() else Pairwise(users, items)


def standings(
    source: Given, relevant: sparse.csr_matrix, exclude: sparse.csr_matrix, working_memory: float
) -> tuple[Integers, Integers]:
    """The numbers of irrelevant items above each relevant one, and tied with it.

    Flat arrays, user by user, with the best relevant item of each first.
    """
    what, instead = f"ranking {relevant.nnz} relevant items", "rank fewer users at a time"
    check_memory(_BYTES_RANK * relevant.nnz, what, instead)
    n_users, n_items = source.shape
    n_threads, numbers, n_left_out = _limits(relevant, exclude, working_memory)
    lengths = np.diff(relevant.indptr).astype(np.int64)
    user = owners(lengths)
    own = source.of(user, relevant.indices)
    if (lengths > 1).any():
        own = _best_first(own, user, n_users)
    # Relevant items of one user that are tied are neighbours, and are compared only once.
    new = np.ones(len(own), bool)
    new[1:] = (user[1:] != user[:-1]) | (own[1:] != own[:-1])
    number, own, user = np.cumsum(new) - 1, own[new], user[new]
    low, high = source.around(user, own)
    above, ties = np.zeros((2, len(own)), np.int64)
    lengths = counted(user, n_users)
    starts = starts_of(lengths)
    kernel = kernel_for(len(own) * n_items)
    height, width = _shape(-(-n_users // n_threads), n_items, numbers)
    ends = relevant.indptr.astype(np.int64) + exclude.indptr

    def count(rows):
        # Users with more relevant items come first, as they are compared.
        by_length = np.argsort(-lengths[rows], kind="stable")
        n_own = lengths[rows][by_length]
        mine = repeated(starts[rows][by_length], n_own) + places_in(n_own)
        tile_of = source.rows(rows.start + by_length)

        def near():
            """Pairs of a relevant item and another one that the tile cannot order."""
            for items, left_out in _left_out(rows, by_length, width, relevant, exclude):
                tile, found = tile_of(items), np.zeros((2, len(mine)), np.int64)
                tile.reshape(-1)[left_out] = order.UNRANKED
                bounds = low[mine], high[mine]
                for which, column in compared(tile, n_own, *bounds, found, kernel):
                    for some in row_blocks(len(which), 1, numbers // 8):
                        yield mine[which[some]], items.start + column[some]
                above[mine] += found[0]
                ties[mine] += np.where(low[mine] == high[mine], found[1], 0)

        for which, item in _in_batches(near(), numbers // 8):
            strength = source.of(user[which], item)
            # Numbers of the same type are added in a tenth of the time that others take.
            np.add.at(above, which, (strength > own[which]).astype(np.int64))
            np.add.at(ties, which, (strength == own[which]).astype(np.int64))

    on_threads(n_threads, count, _row_blocks(ends, height, n_left_out))
    # In tiles, what is left out has the lowest strength, too. A relevant item of that strength is
    # tied with every irrelevant one that is not above.
    lowest = own == order.UNRANKED
    others = n_items - np.diff(ends)[user[lowest]]
    ties[lowest] = others - above[lowest]
    return above[number], ties[number]


def _best_first(own, user, n_users):
    """The strengths of each user in descending order, user by user."""
    best_first = np.argsort(-own)
    # From a row to columns is a stable sort by column, in one pass.
    in_order = own[best_first], user[best_first], [0, len(own)]
    return sparse.csr_matrix(in_order, shape=(1, n_users)).tocsc().data


def _in_batches(pairs, many):
    """Concatenate pairs of arrays until a batch has more than `many` entries."""
    waiting, n = [], 0
    for pair in pairs:
        waiting.append(pair)
        n += len(pair[0]) + 20  # two arrays take as much memory as some 20 entries
        if n > many:
            yield map(np.concatenate, zip(*waiting))
            waiting, n = [], 0
    if waiting:
        yield map(np.concatenate, zip(*waiting))


def _limits(relevant, exclude, working_memory):
    """The number of threads, and for each the numbers of scores and of stored items."""
    half = positive_float("working_memory", working_memory) * 2**20 / 2
    most = int((np.diff(relevant.indptr) + np.diff(exclude.indptr)).max())
    if _BYTES_LEFT_OUT * most > half:
        raise InputError(
            "working_memory",
            f"must be at least {ceil(2 * _BYTES_LEFT_OUT * most / 2**20)} (MiB) for a user with "
            f"{most} relevant and excluded items",
        ).got(working_memory)
    n_threads = 1
    if relevant.nnz * relevant.shape[1] >= _WORTH_THREADS:
        n_threads = max(1, min(number_of_threads(), int(half // (_BYTES_LEFT_OUT * most))))
    each = half / n_threads
    n_left_out = min(int(each // _BYTES_LEFT_OUT), relevant.nnz + exclude.nnz)
    return n_threads, max(1, min(TILE, int(each // _BYTES))), n_left_out


def _shape(n_users, n_items, numbers):
    """Height and width of tiles."""
    width = min(n_items if n_items <= _FEW_ITEMS else _WIDTH, numbers)
    height = min(n_users, numbers // width)
    return height, min(n_items, max(width, numbers // height))


def _row_blocks(indptr, height, most):
    """Slices of at most `height` users with at most `most` stored items."""
    start, end = 0, len(indptr) - 1
    while start < end:
        within = int(np.searchsorted(indptr, indptr[start] + most, side="right")) - 1
        stop = max(start + 1, min(start + height, within))
        yield slice(start, stop)
        start = stop


def _left_out(rows, order, width, *several_sets):
    """Slices of items, and the flat positions of the sets' items in the tile of each slice.

    The rows are those of a slice of users, in another order.
    """
    place, n_items = np.empty_like(order), several_sets[0].shape[1]
    place[order] = np.arange(len(order))
    row, item = [], []
    for sets in several_sets:
        ends = sets.indptr[rows.start : rows.stop + 1]
        row.append(repeated(place, np.diff(ends)))
        item.append(sets.indices[ends[0] : ends[-1]])
    row, item = np.concatenate(row), np.concatenate(item)
    if width >= n_items:
        yield slice(0, n_items), row * n_items + item
        return
    n_tiles = -(-n_items // width)
    tile = (item // width).astype(np.min_scalar_type(n_tiles))
    by_tile = np.argsort(tile, kind="stable")
    ends = np.cumsum(counted(tile, n_tiles))
    for start, first, last in zip(range(0, n_items, width), [0, *ends], ends):
        inside, stop = by_tile[first:last], min(start + width, n_items)
        yield slice(start, stop), row[inside] * (stop - start) + item[inside] - start
