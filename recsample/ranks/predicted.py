"""Ranks of the relevant items under given scores, with ties counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._support.arrays import places_in
from recsample._support.typing import Sparse
from recsample.ranks.base import Ranks
from recsample.ranks.standings import scored_pools, standings

__all__ = ["predicted_ranks"]


def predicted_ranks(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike | Sparse,
    exclude: Sparse | None = None,
    *,
    working_memory: float = 256,
) -> Ranks:
    """Ranks of the relevant items under given scores, with ties counted.

    Irrelevant items with exactly the score of the relevant one are its ties, so that no metric
    depends on the order of the items.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
        A score per user and item, higher is better. A pair ``(user_factors, item_factors)`` of
        shapes (users, d) and (items, d) stands for the product ``user_factors @ item_factors.T``,
        which is formed for some users and items at a time and never as a whole.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant item of each user (0-based), or the non-zeros of a matrix.
    exclude : sparse matrix, shape (users, items), optional
        Items that are not ranked for the user, such as the training set.
    working_memory : float, default 256
        In MiB, what may be used beside the arguments, the result, and copies of factors that are
        not float32 or float64 and of sets that are not CSR. It changes the speed, never a rank.

    Returns
    -------
    Ranks
        With the size of each user's own pool as ``n_items``.

    Raises
    ------
    ValueError
        For shapes that do not fit, a score that is NaN, an item that does not exist, and a relevant
        item that is excluded; the message names the user. For a `working_memory` too small for one
        user, and for more ranks than half of the machine's memory holds.

    Notes
    -----
    Under factors, the score of a user and an item is the sum of the products of their factors,
    added one after the other in double precision. Items with the same factors therefore have the
    same score. Where the matrix product, in the precision of the factors, differs from the relevant
    item's score by more than its rounding can explain (N. J. Higham, "Accuracy and Stability of
    Numerical Algorithms", SIAM 2002, section 3.1), it decides; the few items that are closer are
    scored one by one. So the ranks do not depend on tiles, threads, or the linear algebra library.

    The extra ``fast`` gives the same ranks sooner: Numba compiles the counting, and threadpoolctl
    lets some users be ranked on each of the threads that NumPy's linear algebra may use.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.predicted_ranks([[.9, .5, .1, .5], [.2, .7, .1, .0]], relevant=[1, 3])
    >>> ranks.values, ranks.ties
    (array([2, 4]), array([1, 0]))
    """
    return ranked(scores, relevant, exclude, working_memory)


def ranked(scores, relevant, exclude, working_memory=256.0, ids=None, name="scores"):
    """`predicted_ranks` for users with ids; `name` is that of the argument with the scores."""
    one_each = not sparse.issparse(relevant)
    source, relevant, exclude = scored_pools(scores, relevant, exclude)
    source.ids, source.name = ids, name
    above, ties = standings(source, relevant, exclude, working_memory)
    n_relevant = np.diff(relevant.indptr).astype(np.int64)
    sizes = relevant.shape[1] - np.diff(exclude.indptr)
    return ranks_from(above, ties, n_relevant, sizes, one_each, ids)


def ranks_from(above, ties, n_relevant, sizes, one_each, ids=None):
    """`Ranks` from the numbers of items above and tied, user by user and best item first."""
    rank = 1 + above + places_in(n_relevant)
    return Ranks._of(rank, ties, n_relevant, not one_each, sizes, ids)
