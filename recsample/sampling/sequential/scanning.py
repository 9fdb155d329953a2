"""Scan real scores in a random order of the items, without storing the order or the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._support.arrays import owners, places_in, repeated, row_blocks, split
from recsample._support.checks import numbers, positive_int, shown, whole_numbers
from recsample._support.errors import InputError
from recsample._support.typing import Integers, Sparse
from recsample.ranks import order
from recsample.ranks.base import Ranks
from recsample.ranks.scores import item_sets, refuse_shared, relevant_sets

__all__ = ["Scan", "item_at"]


Score = Callable[[Integers, Integers], ArrayLike]


class Scan:
    """Real scores, scanned block by block in a random order of the items for each user.

    Give it to the ``scan`` method of a design where ranks are not known. Each user's items are
    scanned in the order of `item_at`, without those in `exclude` and the relevant ones. It stores a
    few numbers per relevant item, a copy of `exclude`, and the scores of one block of items.

    Parameters
    ----------
    score : callable
        ``score(users, items)`` returns the scores, higher is better, where `users` has shape
        (u, 1), `items` has shape (u, w), and the scores shape (u, w). The score of an item must not
        depend on what is scored with it.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, n_items)
        As `predicted_ranks` takes them, at least one for each user.
    n_items : int
    exclude : sparse matrix, shape (users, n_items), optional
        Items that are not ranked, such as the training set.
    seed : int, optional
        Of the random orders; every seed and user has its own.
    block : int, optional
        How many items are scored at once for each user.

    Attributes
    ----------
    n_relevant, n_irrelevant, scored : ndarray of int, shape (users,)
        Relevant items of each user, irrelevant ones in the user's pool, and how many of these have
        been scanned. Up to a block more have been scored.

    Examples
    --------
    >>> import numpy as np
    >>> import recsample as rs
    >>> table = np.array([[0.9, 0.5, 0.1, 0.4, 0.8], [0.2, 0.7, 0.1, 0.0, 0.3]])
    >>> scan = rs.sampling.Scan(lambda u, i: table[u, i], relevant=[1, 1], n_items=5)
    >>> scan.advance(4)
    >>> scan.above, scan.scored
    (array([2, 0]), array([4, 4]))
    """

    n_relevant: Integers
    n_irrelevant: Integers
    scored: Integers

    def __init__(
        self,
        score: Score,
        relevant: ArrayLike | Sparse,
        n_items: int,
        *,
        exclude: Sparse | None = None,
        seed: int = 0,
        block: int = 64,
    ) -> None:
        if not callable(score):
            raise InputError("score", "must be a function of users and items").got(shown(score))
        self._score, self._n_items = score, positive_int("n_items", n_items)
        self._seed = _checked_seed(seed)
        self._block = min(positive_int("block", block), self._n_items)
        self._nested = sparse.issparse(relevant)
        given: Any = relevant if self._nested else whole_numbers("relevant", relevant)
        n_users = given.shape[0] if given.ndim else 0
        sets = relevant_sets(given, n_users, self._n_items)
        self.n_relevant = np.diff(sets.indptr).astype(np.int64)
        if not n_users or not self.n_relevant.all():
            got = f"none for user {np.argmin(self.n_relevant)}" if n_users else "no user"
            raise InputError("relevant", "must hold at least one item for each user").got(got)
        exclude = item_sets("exclude", exclude, n_users, self._n_items)
        refuse_shared(sets, exclude)
        skipped = sets + exclude
        skipped.sort_indices()
        self._skipped = owners(np.diff(skipped.indptr)) * self._n_items + skipped.indices
        self.n_irrelevant = self._n_items - np.diff(skipped.indptr).astype(np.int64)
        self.scored = np.zeros(n_users, np.int64)
        self._next = np.zeros(n_users, np.int64)  # place in the order of all items

        # The relevant items in one array, user by user and best item first.
        user, item = owners(np.diff(sets.indptr)), sets.indices.astype(np.int64)
        mine = self._scores(user[:, None], item[:, None])
        order.refuse_nan(mine, user[:, None], item[:, None])
        mine, number = mine[:, 0], _tie_number(user, item, self._seed)
        best_first = np.lexsort((number, mine, -user))[::-1]
        self._mine, self._number = mine[best_first], number[best_first]
        self._best = sets.indptr[:-1].astype(np.int64)
        self._above, self._first = np.zeros((2, len(item)), np.int64)

    @property
    def above(self) -> Integers:
        """The number of scanned items that outrank each relevant item; ties in a random order.

        Shape (relevant items,): user by user, best item first.

        Examples
        --------
        >>> import recsample as rs
        >>> from scipy import sparse
        >>> relevant = sparse.csr_matrix([[0, 0, 1, 0, 1], [1, 0, 0, 0, 0]])
        >>> scan = rs.sampling.Scan(lambda users, items: items, relevant, n_items=5)
        >>> scan.advance(5)
        >>> scan.above
        array([0, 1, 4])
        """
        return self._above.copy()

    @property
    def first(self) -> Integers:
        """The position of the first scanned item that outranks each relevant item.

        It is ``scored + 1`` as long as there is none. In the form of `above`.

        Examples
        --------
        >>> import recsample as rs
        >>> scan = rs.sampling.Scan(lambda users, items: items, [9, 0], n_items=10)
        >>> scan.advance(9)
        >>> scan.first
        array([10,  1])
        """
        none_yet = repeated(self.scored + 1, self.n_relevant)
        return np.where(self._above == 0, none_yet, self._first)

    @property
    def ranks(self) -> Ranks:
        """The ranks of the relevant items as if all items not yet scanned were below them.

        Examples
        --------
        >>> import recsample as rs
        >>> scan = rs.sampling.Scan(lambda users, items: items, [9, 0], n_items=10)
        >>> scan.advance(4)
        >>> scan.ranks.values
        array([1, 5])
        """
        rank = self._above + 1 + places_in(self.n_relevant)
        values = split(rank, self.n_relevant) if self._nested else rank
        return Ranks(values, self.n_irrelevant + self.n_relevant)

    def advance(self, scored: ArrayLike, above: int | None = None) -> None:
        """Scan further items of each user.

        Parameters
        ----------
        scored : int or array_like of int, shape (users,)
            Scan until this many irrelevant items of the user have been scanned in total, or all.
        above : int, optional
            Or stop exactly where this many outrank the best relevant item.

        Examples
        --------
        >>> import recsample as rs
        >>> scan = rs.sampling.Scan(lambda users, items: items, [0, 8], n_items=10)
        >>> scan.advance(9, above=1)
        >>> scan.above
        array([1, 1])
        """
        most = np.minimum(whole_numbers("scored", scored, lowest=0), self.n_irrelevant)
        enough = self._n_items if above is None else positive_int("above", above)
        while True:
            active = np.flatnonzero((self.scored < most) & (self._above[self._best] < enough))
            if not len(active):
                return
            for rows in row_blocks(len(active), self._block):
                self._look(active[rows], most[active[rows]], enough)

    def _look(self, users, most, enough):
        """Score the next block of items of some users, and stop each user at the right item."""
        place = self._next[users, None] + np.arange(self._block)
        row, items = users[:, None], np.minimum(place, self._n_items - 1)
        items = item_at(items, row, self._n_items, seed=self._seed)
        pool = (place < self._n_items) & ~self._is_skipped(row, items)
        scores = self._scores(row, items)
        order.refuse_nan(np.where(pool, scores, 0.0), row, items)
        outranks = self._outranks(self._best[users], users, items, scores) & pool
        scored = self.scored[users, None] + np.cumsum(pool, axis=1)
        above = self._above[self._best[users], None] + np.cumsum(outranks, axis=1)
        over = (scored >= most[:, None]) | (above >= enough)
        last = np.where(over.any(axis=1), over.argmax(axis=1), self._block - 1)
        looked_at = pool & (np.arange(self._block) <= last[:, None])
        for worse in range(self.n_relevant[users].max()):
            rows = np.flatnonzero(self.n_relevant[users] > worse)
            mine = self._best[users[rows]] + worse
            if worse:
                outranks = self._outranks(mine, users[rows], items[rows], scores[rows])
            outranks &= looked_at[rows]
            new = np.flatnonzero((self._above[mine] == 0) & outranks.any(axis=1))
            self._first[mine[new]] = scored[rows[new], outranks[new].argmax(axis=1)]
            self._above[mine] += outranks.sum(axis=1)
        self.scored[users] = scored[np.arange(len(users)), last]
        self._next[users] += last + 1

    def _outranks(self, mine, users, items, scores):
        """Which items of a block outrank one relevant item of each user."""
        outranks = scores > self._mine[mine, None]
        same = scores == self._mine[mine, None]
        tied = np.flatnonzero(same.any(axis=1))
        if len(tied):  # each item has a number of its own, and a higher one breaks the tie
            numbered = _tie_number(users[tied, None], items[tied], self._seed)
            outranks[tied] |= same[tied] & (numbered > self._number[mine[tied], None])
        return outranks

    def _scores(self, users, items):
        scores = numbers("scores", self._score(users, items))
        if scores.shape != items.shape:
            allowed = f"must have the shape of items, {items.shape}"
            raise InputError("scores", allowed).got(scores.shape)
        return order.strength(scores)

    def _is_skipped(self, users, items):
        pairs = users * self._n_items + items
        place = np.searchsorted(self._skipped, pairs)
        return self._skipped[np.minimum(place, len(self._skipped) - 1)] == pairs


def _checked_seed(seed):
    number = whole_numbers("seed", seed)
    if number.ndim:
        raise InputError("seed", "must be a whole number").got(shown(seed))
    return int(number)


def check_scan(scan: Any) -> Scan:
    """Return ``scan``; raise an InputError if it is not a `Scan`."""
    if not isinstance(scan, Scan):
        raise InputError("scan", "must be a Scan").got(shown(scan))
    return scan


def item_at(place: ArrayLike, user: ArrayLike, n_items: int, *, seed: int = 0) -> Integers:
    """The item at any place of a user's random order of all items, computed directly.

    The item numbers are permuted by a Feistel network [1]_, whose rounds add a hash of one half of
    the number, the user and the seed to the other half. The halves are the row and the column in a
    table that is just large enough; a number outside the catalogue is permuted again.

    Parameters
    ----------
    place, user : array_like of int
        Broadcast against each other. Places are from 0 to n_items - 1.
    n_items : int
    seed : int, optional

    Returns
    -------
    ndarray of int
        From 0 to n_items - 1, each once for every user and seed.

    Examples
    --------
    >>> import numpy as np
    >>> from recsample.sampling.sequential.scanning import item_at
    >>> item_at(np.arange(5), 0, n_items=5), item_at(np.arange(5), 1, n_items=5)
    (array([1, 2, 3, 0, 4]), array([4, 3, 0, 2, 1]))

    References
    ----------
    .. [1] J. Black, P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002.
    """
    n_items = positive_int("n_items", n_items)
    place = whole_numbers("place", place, lowest=0)
    if (place >= n_items).any():
        raise InputError("place", f"must be below n_items={n_items}").got(place.max())
    key = _key(whole_numbers("user", user), _checked_seed(seed))
    shape = np.broadcast_shapes(place.shape, key.shape)
    items = np.broadcast_to(place, shape).astype(np.uint64).reshape(-1)
    whose = np.broadcast_to(np.arange(key.size).reshape(key.shape), shape).reshape(-1)
    rounds = np.arange(_ROUNDS + 1, dtype=np.uint64)[:, None]
    rows = np.uint64(np.ceil(np.sqrt(n_items)))
    columns = np.uint64(-(-n_items // int(rows)))
    for block in row_blocks(items.size, 1, _BLOCK):
        users, mine = np.unique(whose[block], return_inverse=True)
        of_round = _mixed(rounds + key.reshape(-1)[users])
        # The rounds may give even permutations only: half of the users have two places exchanged.
        if n_items > 1:
            items[block] ^= (items[block] < 2) * (of_round[_ROUNDS, mine] & np.uint64(1))
        outside = np.arange(block.start, block.stop)
        while len(outside):
            row, column = items[outside] // columns, _rest(items[outside], columns)
            user = mine[outside - block.start]
            for i in range(0, _ROUNDS, 2):
                row = _rest(row + _mixed(of_round[i].take(user) + column), rows)
                column = _rest(column + _mixed(of_round[i + 1].take(user) + row), columns)
            items[outside] = row * columns + column
            outside = outside[items[outside] >= n_items]
    return items.reshape(shape).astype(np.int64)


# With 8, orders of six items differ in their frequency by a third; with 16 by 1 %.
_ROUNDS = 16
# So many places at once are permuted, which a processor's cache holds.
_BLOCK = 2**14


def _rest(x, divisor):
    """The remainder of a division, in a third of the time of NumPy's ``%``."""
    return x - x // divisor * divisor


def _mixed(x):
    """A hash of 64 bits: the finaliser of SplitMix64, by Steele, Lea and Flood (OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _key(user, seed):
    """64 bits for each user under a seed."""
    # Arrays, since a lone number would warn where it wraps around.
    start = _mixed(np.asarray([seed % 2**64], np.uint64))
    return _mixed(start + np.uint64(0x9E3779B97F4A7C15) * np.asarray(user).astype(np.uint64))


def _tie_number(user, item, seed):
    """A number for each user and item, unrelated to the order of the items."""
    return _mixed(_mixed(~_key(user, seed)) + item.astype(np.uint64))
