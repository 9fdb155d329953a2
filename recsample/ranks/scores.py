"""Checks of two kinds of arguments: scores of users and items, and sets of items per user.

Every set of items is a canonical boolean CSR matrix, users by items.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from recsample._support.arrays import owners, row_blocks
from recsample._support.checks import numbers, refuse_frame, refuse_masked, shown, whole_numbers
from recsample._support.errors import InputError, Naming

# Scores are formed and compared for about this many at a time (32 MiB of float64). With blocks as
# small as those of the laws, slicing the sets of items would take longer than the comparing.
BLOCK = 2**22


def refuse_masked_scores(scores, known, given, name="scores", path="scores"):
    """Refuse masked scores, of items not to rank; so says `known`, unless something is given."""
    line = f"{path}.data with {{{known}:=scipy.sparse.csr_matrix({path}.mask)}} leaves them out"
    refuse_masked(name, scores, Naming(line) if given is None else "")


def checked_scores(scores, name="scores"):
    """Check scores; return an array (users, items) or a pair of factors."""
    refuse_frame(name, scores, "evaluate reads it")
    if not isinstance(scores, tuple):
        scores = numbers(name, scores)
        if scores.ndim != 2 or not scores.size:
            allowed = "must have shape (users, items), neither of them 0"
            raise InputError(name, allowed).got(scores.shape)
        return scores
    if len(scores) != 2:
        allowed = "must be one array or the pair (user_factors, item_factors)"
        raise InputError(name, allowed).got(f"{len(scores)} arrays")
    users, items = (unrounded(numbers(name, factors)) for factors in scores)
    if users.ndim != 2 or items.ndim != 2 or users.shape[1] != items.shape[1]:
        allowed = "must be a pair of factors of shapes (users, d) and (items, d)"
        raise InputError(name, allowed).got(f"{users.shape} and {items.shape}")
    if not len(users) or not len(items):
        raise InputError(name, "must not be empty").got(f"{len(users)} users, {len(items)} items")
    for which, factors in (("first", users), ("second", items)):
        if factors.dtype.kind in "iu" and users.shape == items.shape and users.shape[1] > 1:
            ordered = np.sort(factors, axis=1)
            if (ordered[:, 1:] > ordered[:, :-1]).all():
                raise InputError(name, "must be a pair of factors").got(
                    f"whole numbers, different in each row, in the {which} array",
                    "the items of lists and their scores go into a dataframe with the columns "
                    "user, item and score; factors are given as floats",
                )
    # Single precision stays what it is, and everything else is a double.
    single = np.result_type(users, items, np.float32) == np.float32
    dtype = np.float32 if single else np.float64
    return users.astype(dtype, copy=False), items.astype(dtype, copy=False)


def unrounded(scores):
    """Return the scores; refuse whole numbers so large that doubles would tie them."""
    if scores.dtype.kind in "iu" and scores.dtype.itemsize == 8 and scores.size:
        largest = max(int(scores.max()), -int(scores.min()))
        if largest > 2**53:
            allowed = "must be numbers that floats hold, up to 2**53 on either side"
            raise InputError("scores", allowed).got(largest)
    return scores


def pair_scores(users, items, user, item):
    """The scores of (user, item) pairs under factors.

    The products of the factors are added one after the other in double precision, so equal factors
    give equal scores in any position, which a matrix product does not guarantee.
    """
    found = np.zeros(len(user))
    if users.shape[1]:
        for rows in row_blocks(len(user), users.shape[1]):
            products = users[user[rows]].astype(np.float64)
            with np.errstate(invalid="ignore", over="ignore"):
                products *= items[item[rows]]
                for column in products.T:  # in order, which other sums do not guarantee
                    found[rows] += column
    return found


def item_sets(name, matrix, n_users, n_items):
    """A canonical boolean CSR matrix of the stored non-zeros; an empty one for None."""
    if matrix is None:
        return sparse.csr_matrix((n_users, n_items), dtype=bool)
    allowed = f"must be a sparse matrix of shape {(n_users, n_items)}"
    if not sparse.issparse(matrix):
        line = f"scipy.sparse.csr_matrix({name}) makes one"
        line *= np.shape(matrix) == (n_users, n_items)
        raise InputError(name, allowed).got(f"a dense {type(matrix).__name__}", line)
    if matrix.shape != (n_users, n_items):
        raise InputError(name, allowed).got(matrix.shape)
    if matrix.format == "csr" and matrix.nnz:  # SciPy does not check what it is built from
        refuse_unknown(name, matrix.indices[: matrix.nnz], n_items)
    known = matrix.format == "csr" and matrix.has_canonical_format
    if known and (matrix.data[: matrix.nnz] > 0).all():
        indices = matrix.indices[: matrix.nnz].copy()
        parts = np.ones(matrix.nnz, bool), indices, matrix.indptr.copy()
        return sparse.csr_matrix(parts, shape=matrix.shape)
    # Entry by entry: those of one pair could add up to 0, in small types even where all are 1.
    entries = matrix.tocoo()
    if np.isnan(entries.data).any():
        raise InputError(name, "must hold an item or not").got("NaN")
    stored = entries.data != 0
    return sets_of(entries.row[stored], entries.col[stored], matrix.shape)


def sets_of(row, column, shape):
    """A canonical boolean CSR matrix from (row, column) pairs, which may have duplicates."""
    found = sparse.csr_matrix((np.ones(len(row), bool), (row, column)), shape=shape, dtype=bool)
    found.sum_duplicates()
    found.sort_indices()
    return found


def without(sets, others):
    """The items of each user's set that are not in the user's other set."""
    found = sparse.csr_matrix(sets > sets.multiply(others))
    found.eliminate_zeros()
    found.sort_indices()
    return found


def pairs_of(sets):
    """The user and the item of each element of the sets, by their numbers."""
    return owners(np.diff(sets.indptr).astype(np.int64)), sets.indices.astype(np.int64)


def keys_of(sets):
    """The elements of the sets as ascending numbers user * n_items + item."""
    user, item = pairs_of(sets)
    return user * sets.shape[1] + item


def relevant_sets(relevant, n_users, n_items):
    """The relevant items as sets, from one number per user or a sparse matrix."""
    if sparse.issparse(relevant):
        if relevant.dtype.kind in "if" and (least := relevant.tocoo().data.min(initial=0)) < 0:
            remedy = "keep those that are relevant, relevant.multiply(relevant > 0)"
            raise InputError("relevant", "must not hold entries below 0").got(f"{least:g}", remedy)
        return item_sets("relevant", relevant, n_users, n_items)
    items = whole_numbers("relevant", relevant)
    if items.shape != (n_users,):
        raise InputError("relevant", f"must hold one item for each of the {n_users} users").got(
            f"an array of shape {items.shape}", "of some users only, give their rows of scores"
        )
    refuse_unknown("relevant", items, n_items, range(n_users))
    parts = np.ones(n_users, bool), items, np.arange(n_users + 1)
    return sparse.csr_matrix(parts, shape=(n_users, n_items))


def refuse_unknown(name, items, n_items, users=None, rows="", called="item "):
    """Refuse a number outside of the range of items; `users` are named in the message."""
    if len(items) and (items.min() < 0 or items.max() >= n_items):
        where = int(np.argmax((items < 0) | (items >= n_items)))
        whose = "" if users is None else f" for user {shown(users[where])}"
        allowed = f"must hold items from 0 to {n_items - 1}{rows}"
        raise InputError(name, allowed).got(f"{called}{items[where]}{whose}")


def refuse_shared(relevant, exclude):
    """Refuse a relevant item that is excluded."""
    both = relevant.multiply(exclude).tocoo()
    if both.nnz:
        got = f"item {both.col[0]} for user {both.row[0]}"
        raise InputError("relevant and exclude", "must not share an item").got(got)
