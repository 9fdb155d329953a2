"""Interactions of users with items, one item of each user held out: your own, or synthetic."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recsample._support import checks
from recsample._support.arrays import row_blocks
from recsample._support.errors import InputError
from recsample._support.frames import as_ids, as_times, is_frame, read_columns
from recsample._support.typing import Integers, Rng
from recsample._support.values import Value, frozen, read_only

__all__ = ["Interactions", "make_interactions"]


class Interactions(Value):
    """Which users interacted with which items, with one item held out for each user.

    Made by `load_movielens`, `make_interactions`, `from_frame` and `from_pairs`.

    Parameters
    ----------
    train : scipy.sparse.csr_matrix of bool, shape (n_users, n_items)
        The training events.
    held_out : ndarray of int, shape (n_users,)
        The index of each user's held-out item, which is not a training event of that user.
    user_ids, item_ids : ndarray, shapes (n_users,) and (n_items,)
        The ids in the source, for each row and each column of `train`.

    Examples
    --------
    >>> from recsample.datasets.interactions import Interactions
    >>> data = Interactions.from_pairs([0, 0, 1], [0, 1, 2], held_out=[1, 0])
    >>> data.train.toarray().astype(int)
    array([[1, 0, 0],
           [0, 0, 1]])
    """

    train: sparse.csr_matrix
    held_out: Integers
    user_ids: NDArray[Any]
    item_ids: NDArray[Any]

    def __init__(
        self,
        train: sparse.csr_matrix,
        held_out: Integers,
        user_ids: NDArray[Any],
        item_ids: NDArray[Any],
    ) -> None:
        if not isinstance(train, sparse.csr_matrix):
            raise InputError("train", "must be a csr_matrix").got(type(train).__name__)
        given = {"held_out": held_out, "user_ids": user_ids, "item_ids": item_ids}
        n_users, n_items = train.shape
        for (name, values), size in zip(given.items(), (n_users, n_users, n_items)):
            if (shape := np.shape(values)) != (size,):
                raise InputError(name, f"must have shape {(size,)} to fit train").got(shape)
        items = checks.whole_numbers("held_out", held_out, lowest=0)
        wrong = items >= n_items
        if not wrong.any():
            wrong = np.asarray(train[np.arange(n_users), items] != 0).ravel()
        allowed = f"must be items below {n_items} without a training event of the user"
        checks.refuse_first(wrong, "held_out", allowed, "item {} for user {at}", items)
        arrays = {name: frozen(np.asarray(values)) for name, values in given.items()}
        train = train.copy()
        for part in (train.data, train.indices, train.indptr):
            read_only(part)
        vars(self).update(train=train, **arrays)

    def _content(self):
        return self.train, self.held_out, self.user_ids, self.item_ids

    @property
    def n_users(self) -> int:
        """Number of users.

        Examples
        --------
        >>> from recsample.datasets.interactions import Interactions
        >>> Interactions.from_pairs([0, 0, 1], [0, 1, 2], held_out=[1, 0]).n_users
        2
        """
        return self.train.shape[0]

    @property
    def n_items(self) -> int:
        """Number of items.

        Examples
        --------
        >>> from recsample.datasets.interactions import Interactions
        >>> Interactions.from_pairs([0, 0, 1], [0, 1, 2], held_out=[1, 0]).n_items
        3
        """
        return self.train.shape[1]

    def __repr__(self) -> str:
        users_and_items = f"{self.n_users} users, {self.n_items} items"
        return f"<Interactions: {users_and_items}, {self.train.nnz} training events>"

    @classmethod
    def from_pairs(
        cls, users: ArrayLike, items: ArrayLike, held_out: ArrayLike | Mapping[Any, Any]
    ) -> Interactions:
        """Interactions from one (user, item) pair per event.

        Users and items are numbered in ascending order of their ids, so ids 0, 1, 2, ... do not
        change. A pair that occurs several times counts once.

        Parameters
        ----------
        users, items : array_like of int or str, shape (events,)
            The user's and the item's id of each event.
        held_out : array_like of int or str, shape (users,), or mapping
            The id of each user's held-out item, in ascending order of the user ids, or as a mapping
            from user id to item id (a pandas Series counts as an array). A held-out pair is not a
            training event; an item that occurs nowhere else is an item too.

        Returns
        -------
        Interactions

        Examples
        --------
        >>> from recsample.datasets.interactions import Interactions
        >>> users, items = ["ann", "ann", "bob", "bob"], [10, 20, 10, 40]
        >>> data = Interactions.from_pairs(users, items, held_out={"ann": 20, "bob": 30})
        >>> data.held_out, data.item_ids
        (array([1, 2]), array([10, 20, 30, 40]))
        """
        users, items = _ids("users", users), _ids("items", items)
        if users.shape != items.shape:
            got = f"{len(users)} users and {len(items)} items"
            raise InputError("users and items", "must have one entry per event each").got(got)
        if not users.size:
            raise InputError("users", "must hold at least one event").got("none")
        user_ids, user = np.unique(users, return_inverse=True)
        held_out = _held_out_ids(held_out, user_ids)
        if held_out.dtype.kind != items.dtype.kind:
            raise InputError("held_out", "must hold ids like those in items").got(
                f"{held_out[0]!r} where items has {items[0]!r}"
            )
        item_ids, item = np.unique(np.concatenate([items, held_out]), return_inverse=True)
        item, held_out = item[: len(items)], item[len(items) :]
        trained = item != held_out[user]
        train = sparse.csr_matrix(
            (np.ones(trained.sum(), bool), (user[trained], item[trained])),
            shape=(len(user_ids), len(item_ids)),
        )
        return cls(train, held_out, user_ids, item_ids)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str = "user",
        item: str = "item",
        time: str | None = None,
        held_out: Any = None,
    ) -> Interactions:
        """Interactions from a dataframe of any library, one row per event.

        Users and items are numbered as by `from_pairs`. One of `time` and `held_out` defines
        what is held out.

        Parameters
        ----------
        frame : dataframe
            Of pandas, Polars, PyArrow or another library that Narwhals reads, eager or lazy.
        user, item : str, optional
            Names of the columns of ids, whole numbers or text.
        time : str, optional
            Name of a column of numbers or dates. The last event of each user is held out, and
            earlier events with the same item are removed; who has no other item is refused. Of
            several at the same time the last row counts, and a warning says how often.
        held_out : dataframe, mapping or array_like, optional
            The held-out item of each user instead: a dataframe with columns `user` and `item`, or
            as for `from_pairs`.

        Returns
        -------
        Interactions

        Examples
        --------
        >>> import pandas as pd
        >>> from recsample.datasets.interactions import Interactions
        >>> users, items = ["ann", "ann", "bob", "bob"], ["tea", "oil", "tea", "rye"]
        >>> events = pd.DataFrame({"user": users, "item": items, "day": [2, 1, 1, 5]})
        >>> data = Interactions.from_frame(events, time="day")
        >>> data.item_ids[data.held_out].tolist()
        ['tea', 'rye']

        To read ids that sometimes look like numbers, such as those of Amazon, use ``dtype=str``.
        """
        if (time is None) == (held_out is None):
            got = "none" if time is None else "both"
            raise InputError("time", "or held_out must be given, one of them").got(got)
        if time is None:
            users, items = _ids_in("frame", frame, user, item)
            if is_frame(held_out):
                whose, which = _ids_in("held_out", held_out, user, item)
                held_out = dict(zip(whose.tolist(), which.tolist()))
                if len(held_out) < len(whose):
                    got = f"{len(whose)} rows for {len(held_out)} users"
                    raise InputError("held_out", "must hold one item for each user").got(got)
            return cls.from_pairs(users, items, held_out)
        wanted = {"user": user, "item": item, "time": time}
        *ids, times = read_columns("frame", frame, wanted)
        users, items = (as_ids("frame", column) for column in ids)
        user_of, times = np.unique(users, return_inverse=True)[1], as_times("frame", times)
        last = last_events(user_of, times)
        data = cls.from_pairs(users, items, items[last])
        single = data.user_ids[np.diff(data.train.indptr) == 0]
        if len(single):
            more = f" and of {len(single) - 1:,} more" if len(single) > 1 else ""
            allowed = "must hold at least two different items of each user, one of them to train on"
            raise InputError("frame", allowed).got(
                f"one of {checks.shown(single[0])}{more}", "take users with a single item out first"
            )
        at_last = (times == times[last][user_of]) & (items != items[last][user_of])
        if at_last.any():
            n = len(np.unique(user_of[at_last]))
            warnings.warn(
                f"{n:,} of {len(last):,} users have different items at their last time, and the "
                "order of the rows says which of them is held out: give finer times, or held_out",
                stacklevel=2,
            )
        return data


def make_interactions(
    n_users: int = 6040, n_items: int = 3706, n_events: int = 1_000_209, *, rng: Rng = 0
) -> Interactions:
    r"""Synthetic interactions similar to MovieLens-1M.

    A few items are very popular, a few users very active; tastes follow broad directions (which
    matrix factorisation finds) and narrow niches (which an item's nearest neighbours find). At full
    size Z is ahead of Y ahead of X on Recall@10, as on MovieLens, and the reverse on AUC.

    Parameters
    ----------
    n_users, n_items : int, optional
        At least 40 items.
    n_events : int, optional
        The held-out ones included: from 20 to ``n_items // 2`` per user, which no user exceeds.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    Interactions
        With ``n_events - n_users`` training events. The ids are the indices.

    Notes
    -----
    The utility of item :math:`i` for user :math:`u` is

    .. math:: 2 b_i + 1.25 \, p_u^\top q_i / \sqrt{8} + 2.2 \, w_{u, g(i)} + \varepsilon_{ui}

    with standard normal popularity :math:`b_i`, tastes :math:`p_u, q_i` in 8 dimensions and liking
    :math:`w_{ug}` for each niche :math:`g` of about 10 items, and standard Gumbel noise. The user
    takes the :math:`n_u` items of highest utility, as if drawn one after the other, not replaced,
    in proportion to :math:`\exp` of the utility without noise. One of them, picked uniformly, is
    held out. The :math:`n_u` are 20 plus a log-normal variable with :math:`\sigma = 1.5`, cut off
    at half of the items and scaled to give `n_events` in all.

    Examples
    --------
    >>> from recsample.datasets.interactions import make_interactions
    >>> make_interactions(n_users=600, n_items=400, n_events=30_000, rng=0)
    <Interactions: 600 users, 400 items, 29400 training events>
    """
    n_users = checks.positive_int("n_users", n_users)
    n_items = checks.positive_int("n_items", n_items)
    n_events = checks.positive_int("n_events", n_events)
    if n_items < 40:
        raise InputError("n_items", "must be at least 40").got(n_items)
    most = n_items // 2
    if not 20 * n_users <= n_events <= most * n_users:
        raise InputError(
            "n_events",
            f"must be from 20 to n_items // 2 = {most} per user, that is from {20 * n_users} to "
            f"{most * n_users}",
        ).got(n_events)
    rng = checks.generator(rng)
    n_taken = _activity(n_users, n_events, most, rng)
    popularity = 2.5 * rng.standard_normal(n_items)
    directions = rng.standard_normal((n_items, 8)) * 1.5 / np.sqrt(8)
    n_niches = n_items // 10
    niche = rng.integers(n_niches, size=n_items)

    taken, held_out = [], []
    for rows in row_blocks(n_users, n_items, 2**20):
        n_block = rows.stop - rows.start
        utility = popularity + rng.standard_normal((n_block, 8)) @ directions.T
        utility += 2.5 * rng.standard_normal((n_block, n_niches))[:, niche]
        utility += rng.gumbel(size=utility.shape)
        for row, n in zip(utility, n_taken[rows]):
            items = np.sort(np.argpartition(-row, n - 1)[:n])
            held_out.append(items[rng.integers(n)])
            taken.append(items[items != held_out[-1]])
    indptr = np.append(0, np.cumsum(n_taken - 1))
    train = sparse.csr_matrix(
        (np.ones(indptr[-1], bool), np.concatenate(taken), indptr), shape=(n_users, n_items)
    )
    return Interactions(train, np.array(held_out), np.arange(n_users), np.arange(n_items))


def _activity(n_users, n_events, most, rng):
    """Log-normal numbers of events, at least 20 and at most `most` each, n_events in all."""
    from scipy import optimize  # takes a quarter of a second, and nothing else here needs it

    activity = np.exp(1.5 * rng.standard_normal(n_users))

    def per_user(scale):
        return np.minimum(most, 20 + scale * activity)

    scale = optimize.brentq(lambda s: per_user(s).sum() - n_events, 0, most / activity.min())
    # Rounding the running total keeps the sum, and leaves no user below 20 or above `most`.
    return np.diff(np.floor(np.cumsum(per_user(scale)) + 0.5), prepend=0).astype(int)


def _ids(name: str, values: Any) -> NDArray[Any]:
    """One-dimensional ids: int64, or an array of strings."""
    # As objects, or numbers among strings would become strings.
    array = checks.array_of(name, values, None if hasattr(values, "dtype") else object)
    if array.ndim != 1:
        raise InputError(name, "must be one-dimensional").got(f"an array of shape {array.shape}")
    if array.dtype.kind == "O":
        if len({isinstance(value, str) for value in array}) == 2:
            raise InputError(name, "must be all whole numbers or all strings").got("both")
        array = np.array(array.tolist())
    return array if array.dtype.kind == "U" else checks.whole_numbers(name, array)


def _held_out_ids(held_out: Any, user_ids: NDArray[Any]) -> NDArray[Any]:
    """The held-out item id of each user, in the order of user_ids."""
    if isinstance(held_out, Mapping):
        known = dict.fromkeys(user_ids.tolist())
        if unknown := [user for user in held_out if user not in known]:
            allowed = "must name users that occur in users"
            raise InputError("held_out", allowed).got(f"{unknown[0]!r}")
        if missing := [user for user in known if user not in held_out]:
            allowed = "must hold an item for every user"
            raise InputError("held_out", allowed).got(f"none for {missing[0]!r}")
        held_out = [held_out[user] for user in known]
    found, n = _ids("held_out", held_out), len(user_ids)
    if len(found) != n:
        allowed = f"must hold one item for each of the {n} users"
        raise InputError("held_out", allowed).got(len(found))
    return found


def _ids_in(name, frame, user, item):
    """The ids of users and items in a dataframe."""
    columns = read_columns(name, frame, {"user": user, "item": item})
    return tuple(as_ids(name, column) for column in columns)


def last_events(user, time):
    """The row of each user's last event, users in ascending order."""
    # lexsort is stable: of equal times, the last row comes last.
    in_time = np.lexsort((time, user))
    return in_time[np.flatnonzero(np.diff(user[in_time], append=-1))]
