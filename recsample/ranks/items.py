"""Ranks that know which items outrank the relevant one, for draws with unequal chances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._support.arrays import owners, row_blocks
from recsample._support.checks import fits_in_memory
from recsample._support.typing import Integers, Sparse
from recsample._support.values import frozen, sealed
from recsample.ranks.base import Ranks
from recsample.ranks.scores import item_sets, relevant_sets
from recsample.ranks.standings import least_memory, outranking, scored_pools, standings

# MiB for scores while the items are counted, as by default for `predicted_ranks`.
_WORKING_MEMORY = 256


class RankedItems(Ranks):
    """Which items outrank the relevant one, for each instance: `Ranks` that know their items.

    With one relevant item per instance, usually made by `ranked_items`.

    Parameters
    ----------
    above : sparse matrix, shape (instances, items)
        Its stored non-zeros are the candidates that outrank the relevant item.
    relevant : array_like of int, shape (instances,)
        The relevant item of each instance, 0-based.
    exclude : sparse matrix, shape (instances, items), optional
        Not ranked. All others but the relevant one are candidates: negatives are drawn from them.
    tied : sparse matrix, shape (instances, items), optional
        The candidates with exactly the score of the relevant item.
    ids : array_like, optional
        As of `Ranks`.

    Attributes
    ----------
    above, tied, relevant
        As given, the sets as csr_matrix of bool.
    excluded : csr_matrix of bool, shape (instances, items)
        What is no candidate: `exclude` and the relevant items.

    Raises
    ------
    ValueError
        For shapes that do not fit, an item that does not exist or is in two of the sets; the
        message names the user, which is the instance.

    Examples
    --------
    >>> import recsample as rs
    >>> from scipy import sparse
    >>> ranked = rs.RankedItems(sparse.csr_matrix([[1, 0, 0, 0]]), relevant=[3])
    >>> ranked.values
    array([2])
    """

    above: sparse.csr_matrix
    tied: sparse.csr_matrix
    excluded: sparse.csr_matrix
    relevant: Integers

    def __init__(
        self,
        above: Sparse,
        relevant: ArrayLike,
        exclude: Sparse | None = None,
        *,
        tied: Sparse | None = None,
        ids: ArrayLike | None = None,
    ) -> None:
        if not sparse.issparse(above) or above.ndim != 2 or not all(above.shape):
            raise ValueError(
                "above must be a sparse matrix of shape (instances, items), "
                f"got {getattr(above, 'shape', type(above).__name__)}"
            )
        shape = above.shape
        above, tied = item_sets("above", above, *shape), item_sets("tied", tied, *shape)
        _refuse_several(relevant)
        left_out, own = item_sets("exclude", exclude, *shape), relevant_sets(relevant, *shape)
        _refuse_twice(above, tied, own, left_out)
        self._set(above, tied, left_out + own, own.indices, ids)

    def _set(self, above, tied, excluded, relevant, ids=None):
        """Take over sets that are known to fit each other, and are nobody else's."""
        n_above, n_tied, n_excluded = (np.diff(one.indptr) for one in (above, tied, excluded))
        super().__init__(1 + n_above, 1 + above.shape[1] - n_excluded, ties=n_tied, ids=ids)
        above, tied, excluded = map(sealed, (above, tied, excluded))
        vars(self).update(above=above, tied=tied, excluded=excluded, relevant=frozen(relevant))

    def _content(self) -> tuple[Any, ...]:
        return self.above, self.tied, self.excluded, self.relevant, self.ids

    def __repr__(self) -> str:
        return f"<RankedItems: {len(self)} instances, {self.above.shape[1]} items>"

    def __getitem__(self, users: Any) -> RankedItems:
        which = self._numbers(users)
        ids = None if self.ids is None else self.ids[which]
        sets = self.above[which], self.tied[which], self.excluded[which]
        return _made(*sets, self.relevant[which], ids)


def ranked_items(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike,
    exclude: Sparse | None = None,
) -> RankedItems:
    """Which items outrank the relevant one under given scores.

    As `predicted_ranks`, for one relevant item per user, but with the items: five bytes for each,
    which are counted first.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
    relevant : array_like of int, shape (users,)
    exclude : sparse matrix, shape (users, items), optional

    Returns
    -------
    RankedItems

    Raises
    ------
    ValueError
        As `predicted_ranks`, for items that the memory cannot hold, and for a sparse `relevant`:
        give each relevant item of a user a row of its own, with the others in `exclude`.

    Examples
    --------
    >>> import recsample as rs
    >>> ranked = rs.ranked_items([[.9, .5, .1, .5], [.2, .7, .1, .0]], relevant=[1, 3])
    >>> ranked.above.toarray().astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 1, 0]])
    >>> ranked.values, ranked.ties
    (array([2, 4]), array([1, 0]))
    """
    _refuse_several(relevant)
    source, own, left_out = scored_pools(scores, relevant, exclude)
    memory = max(_WORKING_MEMORY, least_memory(own, left_out))
    sizes = standings(source, own, left_out, memory)
    # Room for all of them, before the first one is found.
    n_found, n_items = int(np.sum(sizes)), own.shape[1]
    number = np.int32 if max(n_found, n_items) < 2**31 else np.int64
    fits_in_memory(
        n_found * (np.dtype(number).itemsize + 1.0),
        f"ranking with the {n_found} items that outrank the relevant ones or tie with them",
        "rank some of the users at a time",
    )
    above, tied = (_room(each, n_items, number) for each in sizes)
    for users, higher, same in outranking(source, own, left_out):
        for sets, found in ((above, higher), (tied, same)):
            ends = sets.indptr[users.start : users.stop + 1].tolist()
            for items, first, end in zip(found, ends, ends[1:]):
                sets.indices[first:end] = np.flatnonzero(items)
    return _made(above, tied, left_out + own, own.indices)


def _room(sizes, n_items, number):
    """Sets of the given sizes, whose items are still to be written."""
    ends = np.append(0, np.cumsum(sizes)).astype(number)
    parts = np.ones(ends[-1], bool), np.zeros(ends[-1], number), ends
    return sparse.csr_matrix(parts, shape=(len(sizes), n_items))


def _made(above, tied, excluded, relevant, ids=None):
    """`RankedItems` without the checks of what comes from outside."""
    items = RankedItems.__new__(RankedItems)
    items._set(above, tied, excluded, relevant, ids)
    return items


def _refuse_twice(*several_sets):
    """Refuse an item that is in two of the sets of an instance."""
    n_instances, n_items = several_sets[0].shape
    for rows in row_blocks(n_instances, n_items):
        times = np.zeros((rows.stop - rows.start, n_items), np.int8)
        for sets in several_sets:
            part = sets[rows]
            times[owners(np.diff(part.indptr)), part.indices] += 1
        if times.max() > 1:
            row, item = np.argwhere(times > 1)[0]
            raise ValueError(
                "above, tied, relevant and exclude must not share an item, "
                f"got item {item} twice in instance {rows.start + row}"
            )


def _refuse_several(relevant):
    if sparse.issparse(relevant):
        raise ValueError(
            "relevant must hold one item for each user, got a sparse matrix: popularity sampling "
            "is for one relevant item. Give each relevant item a row of its own, with the user's "
            "others in exclude"
        )
