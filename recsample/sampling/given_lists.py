"""Ranks among given lists of negatives, such as published ones.

Many studies rank the held-out item among a published list of negatives instead of drawing anew.
`given_ranks` turns scores and such lists into sampled ranks; `uniform_lists` draws lists.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recsample._support import checks
from recsample._support.arrays import counted, flattened, owners, repeated, split
from recsample._support.errors import InputError
from recsample._support.typing import Integers, Rng, Sparse
from recsample.ranks.base import Ranks
from recsample.ranks.order import refuse_nan
from recsample.ranks.predicted import predicted_ranks
from recsample.ranks.scores import (
    checked_scores,
    item_sets,
    keys_of,
    pair_scores,
    refuse_shared,
    relevant_sets,
)

__all__ = ["given_ranks", "uniform_lists"]


# What `given_ranks` may leave out on request; an item that does not exist is always an error.
_DROPPABLE = ("duplicates", "relevant", "excluded")


def given_ranks(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike | Sparse,
    negatives: ArrayLike | Sequence[ArrayLike],
    exclude: Sparse | None = None,
    *,
    drop: Collection[str] = (),
) -> Ranks:
    """Ranks of the relevant items among given negatives, with ties counted.

    All relevant items of a user are ranked in one list with the user's negatives. If only the
    listed items have scores, `predicted_ranks` does the same: give it these scores as an array with
    the relevant item in the first column, and ``relevant=np.zeros(n_users, int)``.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
        As `predicted_ranks` takes them. Only those of relevant and listed items are looked at.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, items)
        As `predicted_ranks` takes them.
    negatives : array_like of int, shape (users, m), or sequence of sequences of int
        The listed items of each user, in any order. Lists may differ in length.
    exclude : sparse matrix, shape (users, items), optional
        Items that should not be listed, such as the training set.
    drop : collection of {"duplicates", "relevant", "excluded"}, optional
        Which wrong entries to leave out, where others are refused: all but the first of several
        equal ones, relevant items of the user, excluded items. The list becomes shorter by as much,
        but must not become empty.
        `recsample.sampling.list_checks.faults` counts them.

    Returns
    -------
    Ranks
        With the length of the list plus the relevant items as ``n_items``, one number per user.

    Examples
    --------
    The second user's list holds the held-out item itself:

    >>> import recsample as rs
    >>> scores = [[.9, .5, .1, .5, .3], [.2, .7, .1, .0, .4]]
    >>> ranks = rs.given_ranks(scores, [1, 4], [[0, 3], [4, 2]], drop=["relevant"])
    >>> ranks.values, ranks.ties, ranks.n_items
    (array([2, 1]), array([1, 0]), array([3, 2]))
    """
    checked = checked_scores(scores)
    n_users, n_items = map(len, checked) if isinstance(checked, tuple) else checked.shape
    sets = relevant_sets(relevant, n_users, n_items)
    kinds = np.iterable(drop) and isinstance(drop, Collection) and not isinstance(drop, str)
    if not kinds or not all(checks.is_one_of(kind, _DROPPABLE) for kind in drop):
        raise InputError("drop", f"must hold kinds of {list(_DROPPABLE)}").got(checks.shown(drop))
    lists = read_lists(negatives, n_users)
    right = right_entries(lists, sets, exclude, n_items, drop)
    user, item = lists.user[right], lists.item[right]
    length = counted(user, n_users)
    allowed, got = "must hold an item for every user", "none for user {at}"
    checks.refuse_first(length == 0, "negatives", allowed, got)

    # One row per user: the relevant items, then the negatives, then nothing.
    n_relevant = np.diff(sets.indptr)
    width = n_relevant + length
    filled = np.arange(width.max()) < width[:, None]
    is_relevant = np.arange(width.max()) < n_relevant[:, None]
    candidates = np.zeros(filled.shape, np.int64)
    candidates[is_relevant] = sets.indices
    candidates[filled & ~is_relevant] = item
    chosen = _scores_of(checked, candidates)
    chosen[~filled] = 0.0
    refuse_nan(chosen, np.arange(n_users)[:, None], candidates)
    one_each = not sparse.issparse(relevant)
    return predicted_ranks(
        chosen,
        np.zeros(n_users, np.int64) if one_each else sparse.csr_matrix(is_relevant),
        exclude=sparse.csr_matrix(~filled),
    )


def uniform_lists(m: int, exclude: Sparse, rng: Rng) -> Integers:
    """Draw lists of negatives: uniform draws from each user's candidates.

    Parameters
    ----------
    m : int
        Length of each list; every user needs so many candidates.
    exclude : sparse matrix, shape (users, items)
        The items that are not drawn: the training set and the relevant items.
    rng : int or numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (users, m)
        Without repetition within a user, in random order.

    Examples
    --------
    >>> from scipy import sparse
    >>> import recsample as rs
    >>> exclude = sparse.csr_matrix([[1, 1, 0, 0], [0, 0, 1, 1]])
    >>> rs.uniform_lists(2, exclude, rng=0).tolist()
    [[2, 3], [1, 0]]
    """
    m, exclude = checks.positive_int("m", m), as_excluded(exclude)
    n_users, n_items = exclude.shape
    instead = "choose a smaller m, or exclude for fewer users at a time"
    checks.check_memory(16 * n_users * m, f"lists of m={m} items for {n_users} users", instead)
    left = n_items - np.diff(exclude.indptr)
    allowed, got = f"must leave at least m={m} items", "{} for user {at}"
    checks.refuse_first(left < m, "exclude", allowed, got, left)
    rng, every = checks.generator(rng), np.arange(n_items)
    candidates = (np.delete(every, excluded) for excluded in split(exclude.indices, n_items - left))
    return np.stack([rng.choice(items, m, replace=False) for items in candidates])


def _scores_of(scores, candidates):
    """The scores of each user's candidates; under factors, only these are computed."""
    if not isinstance(scores, tuple):
        return np.take_along_axis(scores, candidates, axis=1)
    n_users, width = candidates.shape
    user = repeated(np.arange(n_users), np.full(n_users, width))
    return pair_scores(*scores, user, candidates.ravel()).reshape(n_users, width)


# Lists of items, one for each user, and what is wrong with their entries.


class Lists(NamedTuple):
    """One row per entry of a list, and the length of each user's list."""

    user: Integers
    item: Integers
    length: Integers


def read_lists(negatives: Any, n_users: int) -> Lists:
    """Read lists of whole numbers, one for each user."""
    flat, length, nested = flattened("negatives", negatives)
    if not nested or len(length) != n_users:
        raise InputError(
            "negatives", f"must hold a list of items for each of the {n_users} users"
        ).got(f"{len(length)} {'lists' if nested else 'numbers'}")
    return Lists(owners(length), checks.whole_numbers("negatives", flat), length)


_SHOWN = {
    "unknown": "items that do not exist",
    "duplicates": "an item twice",
    "relevant": "a relevant item of the user (see drop)",
    "excluded": "an excluded item",
}


def wrong_entries(lists, relevant, exclude, n_items):
    """For each kind of fault, the entries that have it, as a mask."""
    user, item, _ = lists
    unknown = (item < 0) | (item >= n_items)
    pair = np.where(unknown, -1, user * n_items + item)
    exclude = item_sets("exclude", exclude, *relevant.shape)
    refuse_shared(relevant, exclude)
    # lexsort is stable: of several equal entries of a user the first stays first, and is no fault.
    order = np.lexsort((item, user))
    same = (np.diff(user[order]) == 0) & (np.diff(item[order]) == 0)
    duplicate = np.zeros(len(item), bool)
    duplicate[order[1:][same]] = True
    return {
        "unknown": unknown,
        "duplicates": duplicate,
        "relevant": np.isin(pair, keys_of(relevant)),
        "excluded": np.isin(pair, keys_of(exclude)),
    }


def right_entries(
    lists: Lists, relevant: Any, exclude: Any, n_items: int, drop: Collection[str] = ()
) -> NDArray[np.bool_]:
    """The mask of correct entries; refuse wrong ones of a kind that is not in `drop`."""
    right = np.ones(len(lists.item), bool)
    for kind, wrong in wrong_entries(lists, relevant, exclude, n_items).items():
        if kind not in drop:
            allowed, got = f"must not hold {_SHOWN[kind]}", "item {} for user {}"
            checks.refuse_first(wrong, "negatives", allowed, got, lists.item, lists.user)
        right &= ~wrong
    return right


def as_excluded(exclude):
    """The excluded items as a boolean matrix; None is refused."""
    if not sparse.issparse(exclude) or exclude.ndim != 2 or 0 in exclude.shape:
        shape = getattr(exclude, "shape", type(exclude).__name__)
        raise InputError("exclude", "must be a sparse matrix of shape (users, items)").got(shape)
    return item_sets("exclude", exclude, *exclude.shape)
