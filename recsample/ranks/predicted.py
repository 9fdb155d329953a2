"""Where scores come from: a dataframe that lists some items, or whole rows of scores.

A source knows the scores of the users of a study by two methods: `ranks`, among all items that are
ranked, and `of`, of single pairs of a user and an item.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recsample._support.arrays import (
    counted,
    owners,
    places_in,
    row_blocks,
    split,
)
from recsample._support.checks import (
    numbers,
    shown,
)
from recsample._support.extras import extra
from recsample._support.typing import Floats, Integers, Sparse
from recsample.ranks.base import Ranks
from recsample.ranks.scores import BLOCK, checked_scores, keys_of, pair_scores
from recsample.ranks.standings import scored_pools, standings

if TYPE_CHECKING:
    pass

__all__ = [
    "predicted_ranks",
]


def predicted_ranks(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike | Sparse,
    exclude: Sparse | None = None,
    *,
    working_memory: float = 256,
) -> Ranks:
    """Ranks of the relevant items under given scores, with ties counted.

    An item outranks another where its score is higher. Irrelevant items with exactly the score of
    the relevant one are counted as its ties, so that no metric depends on the order of the items.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
        A score per user and item, higher is better. A pair ``(user_factors, item_factors)`` of
        shapes (users, d) and (items, d) stands for the product ``user_factors @ item_factors.T``,
        which is formed for some users and items at a time and never as a whole.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant item of each user (0-based), or a matrix whose stored non-zeros are the
        relevant items.
    exclude : sparse matrix, shape (users, items), optional
        Items that are not ranked for the user, such as the training set. They count neither as
        better items nor in the size of the pool.
    working_memory : float, default 256
        How much memory may be used beside the arguments and the result, in MiB. It changes the
        speed, and never a rank. Copies that other kinds of numbers or of sparse matrices need come
        on top: of factors that are not float32 or float64, and of sets that are not CSR.

    Returns
    -------
    Ranks
        With the size of each user's own pool as ``n_items``.

    Raises
    ------
    ValueError
        For shapes that do not fit, a score that is NaN, an item that does not exist, and a
        relevant item that is excluded; the message names the user. For a `working_memory` that
        one user does not fit in, and for more ranks than half of the machine's memory holds.

    Notes
    -----
    Under factors, the score of a user and an item is the sum of the products of their factors,
    added one after the other in double precision. Items with the same factors therefore have the
    same score, wherever they stand. The matrix product is formed in the precision of the factors.
    Where it differs from the relevant item's score by more than its rounding can explain ([1]_,
    section 3.1), it decides; the few items that are closer are scored one by one. So the ranks do
    not depend on how many users or items are looked at at a time, on the number of threads, or on
    the library that multiplies matrices.

    The extra ``fast`` makes large evaluations faster, with the same ranks: it brings
    Numba, which compiles the counting, and threadpoolctl, with which some users are ranked on each
    of the threads that NumPy's linear algebra may use. Without it only the product uses them.

    References
    ----------
    .. [1] N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, SIAM 2002.
       https://doi.org/10.1137/1.9780898718027

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.predicted_ranks([[.9, .5, .1, .5], [.2, .7, .1, .0]], relevant=[1, 3])
    >>> ranks.values, ranks.ties
    (array([2, 4]), array([1, 0]))
    """
    one_each = not sparse.issparse(relevant)
    source, relevant, exclude = scored_pools(scores, relevant, exclude)
    above, ties = standings(source, relevant, exclude, working_memory)
    n_relevant = np.diff(relevant.indptr).astype(np.int64)
    rank = 1 + above + places_in(n_relevant)
    sizes = relevant.shape[1] - np.diff(exclude.indptr)
    if one_each:
        return Ranks(rank, sizes, ties=ties)
    return Ranks(split(rank, n_relevant), sizes, ties=split(ties, n_relevant))


class Study(NamedTuple):
    """Who is evaluated on what. Users are rows, items columns."""

    users: NDArray[Any]  # their ids
    items: NDArray[Any]
    relevant: sparse.csr_matrix
    exclude: sparse.csr_matrix

    @property
    def n_relevant(self) -> Integers:
        return np.diff(self.relevant.indptr).astype(np.int64)

    @property
    def held_out(self) -> tuple[Integers, Integers]:
        """The user and the item, by their numbers, of each relevant item, user by user."""
        return owners(self.n_relevant), self.relevant.indices.astype(np.int64)

    @property
    def one_each(self) -> bool:
        return bool((self.n_relevant == 1).all())

    @property
    def sizes(self) -> Integers:
        """How many items are ranked for each user."""
        return len(self.items) - np.diff(self.exclude.indptr).astype(np.int64)


class Source(Protocol):
    """Scores of the users of a study, wherever they come from."""

    def ranks(self, study: Study) -> Ranks: ...

    def of(self, user: Integers, item: Integers) -> Floats:
        """Scores of pairs, by the numbers of row and column; -inf where there is none."""

    @property
    def lowest(self) -> int:
        """How many scores are -inf: the way to say that there is none."""


class Listed:
    """Scores of some items of each user; all others are tied below them.

    Parameters
    ----------
    key : ndarray of int, shape (pairs,)
        Pairs of a user and an item as numbers user * n_items + item, ascending, each once.
    score : ndarray of float, shape (pairs,)
    study : Study

    Attributes
    ----------
    in_train, lowest : int
        How many of the pairs are excluded from the study, and have the score -inf.
    lengths : ndarray of int, shape (users,)
        How many of the items that are ranked for a user are listed.
    """

    def __init__(self, key: Integers, score: Floats, study: Study) -> None:
        in_train, known = np.isin(key, keys_of(study.exclude)), score > -np.inf
        self.in_train, self.lowest = int(in_train.sum()), int((~known).sum())
        ranked = known & ~in_train
        self.key, self.score, self.n_items = key[ranked], score[ranked], len(study.items)
        self.lengths = counted(self.key // self.n_items, len(study.users))

    def of(self, user: Integers, item: Integers) -> Floats:
        key = user * self.n_items + item
        if not len(self.key):
            return np.full(len(key), -np.inf)
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[place] == key, self.score[place], -np.inf)

    def ranks(self, study: Study) -> Ranks:
        irrelevant = ~np.isin(self.key, keys_of(study.relevant))
        user, score = self.key[irrelevant] // self.n_items, self.score[irrelevant]
        return ranks_among(user, score, study, self.of(*study.held_out), study.sizes)


def ranks_among(user: Integers, score: Floats, study: Study, own: Floats, sizes: Integers) -> Ranks:
    """Ranks of the relevant items of a study among irrelevant ones with scores, and ones without.

    Parameters
    ----------
    user, score
        Of the irrelevant items that have one.
    own : ndarray of float, shape (relevant items,)
        Scores of the relevant items, user by user; -inf for none.
    sizes : ndarray of int, shape (users,)
        How many items are ranked for each user, relevant ones included.
    """
    n_relevant = study.n_relevant
    mine, listed = owners(n_relevant), counted(user, len(n_relevant))
    if study.one_each:
        above, tied = _beside_one(user, score, own)
    else:
        above, tied = _beside_several(user, score, own, mine)
    none = own == -np.inf
    above[none] = listed[mine[none]]
    tied[none] = (sizes - n_relevant - listed)[mine[none]]
    order = np.lexsort((-own, mine))
    above, tied = above[order], tied[order]
    rank = 1 + above + places_in(n_relevant)
    if study.one_each:
        return Ranks(rank, sizes, ties=tied, ids=study.users)
    lists = split(rank, n_relevant), split(tied, n_relevant)
    return Ranks(lists[0], sizes, ties=lists[1], ids=study.users)


def _beside_one(user, score, own):
    """How many irrelevant items of the user score higher than the relevant one, and the same."""
    other = own[user]
    return counted(user[score > other], len(own)), counted(user[score == other], len(own))


def _beside_several(user, score, own, mine):
    """The same for each of several relevant items, of the users `mine`."""
    different, level = np.unique(np.concatenate([score, own]), return_inverse=True)
    # Users one after the other, and within each by ascending score.
    steps = len(different) + 1
    of_others = np.sort(user * steps + level[: len(score)])
    of_own = mine * steps + level[len(score) :]
    not_higher = np.searchsorted(of_others, of_own, side="right")
    above = np.searchsorted(of_others, (mine + 1) * steps) - not_higher
    return above, not_higher - np.searchsorted(of_others, of_own, side="left")


class Rows:
    """Scores of all items for each user: an array, a pair of factors, or ``scores(users)``.

    Parameters
    ----------
    block : callable
        From the numbers of some users to their scores, shape (users, items), or to such a pair.
    n_items : int
    user : ndarray of int
        The number of each user of the study.
    """

    def __init__(self, block: Callable[[Integers], Any], n_items: int, user: Integers) -> None:
        self.block, self.n_items, self.user = block, n_items, user
        self.lowest = 0

    def ranks(self, study: Study) -> Ranks:
        self.lowest, parts = 0, []
        for rows in self._blocks():
            relevant = study.relevant[rows]
            one_each = relevant.indices.astype(np.int64) if study.one_each else relevant
            scores = self.block(self.user[rows])
            if not isinstance(scores, tuple):
                self.lowest += int((scores == -np.inf).sum())
            parts.append(predicted_ranks(scores, one_each, study.exclude[rows]))
        found = Ranks.concatenate(parts)
        return Ranks(found.values, found.n_items, ties=found.ties, ids=study.users)

    def of(self, user: Integers, item: Integers) -> Floats:
        found = np.empty(len(user))
        for rows in self._blocks():
            mine = (user >= rows.start) & (user < rows.stop)
            scores = self.block(self.user[rows])
            if isinstance(scores, tuple):
                users, items = scores
                found[mine] = pair_scores(users, items, user[mine] - rows.start, item[mine])
            else:
                found[mine] = scores[user[mine] - rows.start, item[mine]]
        if np.isnan(found).any():
            where = int(np.argmax(np.isnan(found)))
            raise ValueError(
                f"scores must not be NaN, got NaN for user {self.user[user[where]]}, "
                f"item {item[where]}"
            )
        return found

    def _blocks(self):
        seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        tqdm = extra("tqdm", "tables").tqdm
        # Under factors no scores are formed here, and the items are looked through once a block.
        factors = isinstance(self.block(self.user[:1]), tuple)
        blocks = row_blocks(len(self.user), self.n_items, BLOCK * (256 if factors else 1))
        # Where it could be seen, the reader's own TQDM_DISABLE decides.
        unseen = {} if seen else {"disable": True}
        return tqdm(blocks, desc="users", unit="block", delay=2, leave=False, **unseen)


def is_rows(source: Any) -> bool:
    """Whether it is a source of whole rows of scores."""
    return (
        isinstance(source, (tuple, list)) or hasattr(source, "__array__") or _scores_users(source)
    )


def _scores_users(source):
    return callable(getattr(source, "scores", None)) and not isinstance(source, type)


def rows_of(source: Any) -> tuple[Callable[[Integers], Any], int | None, int]:
    """The scores of users by their numbers, and how many users (if known) and items there are."""
    if _scores_users(source):

        def predicted(users, n_items=None):
            found = numbers("scores(users)", source.scores(users))
            if found.ndim != 2 or len(found) != len(users) or n_items not in (None, found.shape[1]):
                items = "items" if n_items is None else f"{n_items} items, as for user 0"
                raise ValueError(
                    f"scores(users) must have shape ({len(users)}, {items}), got {found.shape}"
                )
            return found

        n_items = predicted(np.zeros(1, np.int64)).shape[1]
        return partial(predicted, n_items=n_items), None, n_items
    checked = checked_scores(_plain(source))
    if isinstance(checked, tuple):
        users, items = checked
        return (lambda which: (users[which], items)), len(users), len(items)
    return (lambda which: checked[which]), *checked.shape


def _plain(source):
    if sparse.issparse(source):
        raise ValueError(
            "scores must be an array, a pair of factors, a dataframe or an object with "
            f"scores(users), got a sparse matrix: {shown(source)}; an item without a stored entry "
            "may have the score 0 or none, which a dataframe says"
        )
    return source
