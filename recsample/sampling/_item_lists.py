"""Lists of items, one for each user, and what is wrong with their entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recsample._indexing import owners
from recsample._lists import flattened
from recsample._scores import item_sets, keys_of, refuse_shared
from recsample._typing import Integers
from recsample._validation import array_of, whole_numbers


class Lists(NamedTuple):
    """One row per entry of a list, and the length of each user's list."""

    user: Integers
    item: Integers
    length: Integers


def n_users_of(relevant: Any) -> int:
    """Of how many users these are the relevant items, a number for each or a matrix."""
    return relevant.shape[0] if sparse.issparse(relevant) else array_of("relevant", relevant).size


def read_lists(lists: Any, n_users: int | None, name: str = "negatives") -> Lists:
    """Lists of whole numbers, one for each user, entry by entry; of any number of users for None.

    As the argument of this name.
    """
    flat, length, nested = flattened(name, lists)
    if not nested or n_users not in (None, len(length)):
        users = "user" if n_users is None else f"of the {n_users} users"
        raise ValueError(
            f"{name} must hold a list of items for each {users}, "
            f"got {len(length)} {'lists' if nested else 'numbers'}"
        )
    return Lists(owners(length), whole_numbers(name, flat), length)


_SHOWN = {
    "unknown": "items that do not exist",
    "duplicates": "an item twice",
    "relevant": "a relevant item of the user (see drop)",
    "excluded": "an excluded item",
}


def wrong_entries(lists, relevant, exclude, n_items):
    """For each kind of fault, which entries have it."""
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


def refuse_wrong(lists: Lists, kind: str, wrong: NDArray[np.bool_]) -> None:
    """Refuse lists with entries that are wrong in some way."""
    if wrong.any():
        where = int(np.argmax(wrong))
        raise ValueError(
            f"negatives must not hold {_SHOWN[kind]}, got item {lists.item[where]} "
            f"for user {lists.user[where]}"
        )


def as_excluded(exclude):
    """The excluded items as a boolean matrix; without any, an empty matrix must be given."""
    if not sparse.issparse(exclude) or exclude.ndim != 2 or 0 in exclude.shape:
        shape = getattr(exclude, "shape", type(exclude).__name__)
        raise ValueError(f"exclude must be a sparse matrix of shape (users, items), got {shape}")
    return item_sets("exclude", exclude, *exclude.shape)


def candidates_of(exclude, m):
    """The candidates of each user, at least m of them."""
    for user in range(exclude.shape[0]):
        out = exclude.indices[exclude.indptr[user] : exclude.indptr[user + 1]]
        items = np.delete(np.arange(exclude.shape[1]), out)
        if len(items) < m:
            raise ValueError(
                f"exclude must leave at least m={m} items, got {len(items)} for user {user}"
            )
        yield items
