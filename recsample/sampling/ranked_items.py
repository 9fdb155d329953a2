"""Ranks that know which items outrank the relevant one, for draws with unequal chances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._ranking import outranking, scored_pools
from recsample._scores import item_sets, relevant_sets
from recsample._typing import Integers, Sparse
from recsample._value import frozen, frozen_sparse
from recsample.ranks import Ranks

__all__ = ["RankedItems", "ranked_items"]


class RankedItems(Ranks):
    """Which items outrank the relevant one, for each instance: `Ranks` that know their items.

    They are `Ranks` with one relevant item per instance, and of use wherever these are.

    Usually made from scores, by `ranked_items`.

    Parameters
    ----------
    above : sparse matrix, shape (instances, items)
        Its stored non-zeros are the candidates that outrank the relevant item.
    relevant : array_like of int, shape (instances,)
        The relevant item of each instance, 0-based.
    exclude : sparse matrix, shape (instances, items), optional
        Items that are not ranked, such as the training set. All others but the relevant one are
        the candidates from which negatives are drawn.
    tied : sparse matrix, shape (instances, items), optional
        The candidates with exactly the score of the relevant item.
    ids : array_like, optional
        As of `Ranks`.

    Attributes
    ----------
    above, tied : csr_matrix of bool, shape (instances, items)
        As given.
    excluded : csr_matrix of bool, shape (instances, items)
        What is no candidate: `exclude` and the relevant items.
    relevant : ndarray of int, shape (instances,)
        As given.

    Raises
    ------
    ValueError
        For shapes that do not fit, an item that does not exist, and an item in two of the sets;
        the message names the user, which is the instance.

    Examples
    --------
    The relevant item is item 3, and of the other three items the first outranks it:

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
        sets = [one.astype(np.int8) for one in (above, tied, left_out, own)]
        shared = sum(sets[1:], sets[0]).tocoo()
        twice = shared.data > 1
        if twice.any():
            raise ValueError(
                "above, tied, relevant and exclude must not share an item, "
                f"got item {shared.col[twice][0]} twice in instance {shared.row[twice][0]}"
            )
        excluded = left_out + own
        n_above, n_tied, n_excluded = (np.diff(one.indptr) for one in (above, tied, excluded))
        super().__init__(1 + n_above, 1 + shape[1] - n_excluded, ties=n_tied, ids=ids)
        vars(self).update(
            above=frozen_sparse(above),
            tied=frozen_sparse(tied),
            excluded=frozen_sparse(excluded),
            relevant=frozen(own.indices),
        )

    def _content(self) -> tuple[Any, ...]:
        return self.above, self.tied, self.excluded, self.relevant, self.ids

    def __repr__(self) -> str:
        return f"<RankedItems: {len(self)} instances, {self.above.shape[1]} items>"

    def __getitem__(self, users: Any) -> RankedItems:
        which = self._numbers(users)
        relevant, excluded = self.relevant[which], self.excluded[which].tolil()
        excluded[np.arange(len(which)), relevant] = False
        return RankedItems(
            self.above[which],
            relevant,
            excluded.tocsr(),
            tied=self.tied[which],
            ids=None if self.ids is None else self.ids[which],
        )


def ranked_items(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike,
    exclude: Sparse | None = None,
) -> RankedItems:
    """Which items outrank the relevant one under given scores.

    As `predicted_ranks`, for one relevant item per user, but with the items and not only how many
    they are.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
        A score per user and item, higher is better, or the factors (user_factors, item_factors).
    relevant : array_like of int, shape (users,)
        The relevant item of each user, 0-based.
    exclude : sparse matrix, shape (users, items), optional
        Items that are not ranked for the user, such as the training set.

    Returns
    -------
    RankedItems

    Raises
    ------
    ValueError
        As `predicted_ranks`, and for a sparse matrix as `relevant`: popularity sampling is for one
        relevant item. Give each relevant item of a user a row of its own, with the others in
        `exclude`.

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
    above, tied = [], []
    for higher, same in outranking(source, own, left_out):
        above.append(sparse.csr_matrix(higher))
        tied.append(sparse.csr_matrix(same))
    return RankedItems(
        sparse.vstack(above, format="csr"),
        own.indices,
        left_out,
        tied=sparse.vstack(tied, format="csr"),
    )


def _refuse_several(relevant):
    if sparse.issparse(relevant):
        raise ValueError(
            "relevant must hold one item for each user, got a sparse matrix: popularity sampling "
            "is for one relevant item. Give each relevant item a row of its own, with the user's "
            "others in exclude"
        )
