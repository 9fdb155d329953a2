"""Ranks of the relevant items of each instance.

An *instance* is one evaluation case: a user, a query, a context. Its relevant items have *ranks*
(1 is best) among ``n_items`` ranked items. A metric is a function of these ranks, sampling changes
them, and a correction estimates the metric from the changed ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support import checks
from recsample._support.arrays import counted, entries_of, flattened, owners, places_in, split
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.frames import as_ids, chosen_names, coded, column_names, read_columns
from recsample._support.typing import Integers, Rng
from recsample._support.values import frozen, read_only
from recsample.ranks.provenance import WithDrawn, drawn_apart, drawn_of_parts, drawn_of_some

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Ranks", "Rows"]


# What ranks are that are no whole numbers, and what missing ones.
OTHER_RANKS = (
    "where items are tied, rs.Ranks takes the first of their places, and ties= how many share them"
)
NOT_RANKED = "an item that was not found has the last rank, a user who was not ranked has no row"


class Rows(NamedTuple):
    """The table behind `Ranks.rows`: one row per relevant item, for metrics and samplers.

    Instances stand in order, and within an instance the best ranked item comes first.

    Parameters
    ----------
    instance, order, rank : ndarray of int, shape (relevant items,)
        The instance of the relevant item, 0-based; its order among the relevant items there and
        its rank, both 1-based, with ties in the best case.
    ties, group, place : ndarray of int, shape (relevant items,)
        How many irrelevant items have its score; how many relevant ones, itself included; its
        place among these, 1-based.

    Examples
    --------
    >>> import recsample as rs
    >>> rows = rs.Ranks([[5, 3], [1]], n_items=10).rows
    >>> rows.instance, rows.order, rows.rank
    (array([0, 0, 1]), array([1, 2, 1]), array([3, 5, 1]))
    """

    instance: Integers
    order: Integers
    rank: Integers
    ties: Integers
    group: Integers
    place: Integers

    @property
    def above(self) -> Integers:
        """How many irrelevant items outrank each relevant one, in the best case.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([[5, 3], [1]], n_items=10).rows.above
        array([2, 3, 0])
        """
        return self.rank - self.order

    def of(self, which: Any) -> Rows:
        """The chosen rows.

        Parameters
        ----------
        which : slice, or array of bool or int

        Returns
        -------
        Rows

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([[5, 3], [1]], n_items=10).rows.of([0, 2]).rank
        array([3, 1])
        """
        return Rows(*(column[which] for column in self))


class Ranks(WithDrawn):
    """The ranks of the relevant items of each instance in a ranking of n items.

    Parameters
    ----------
    values : array_like of int
        Ranks, 1 is best: shape (instances,) where every instance has one relevant item, otherwise
        one sequence of ranks per instance, of any length, in any order.
    n_items : int or array_like of int
        Size of the ranked pool, the relevant items included: one number, or one per instance.
    ties : int or array_like of int, optional
        How many irrelevant items score exactly the same as the relevant one; `values` is then the
        best case, and ``values + ties`` the worst. One number, or the shape of `values`. Relevant
        items that share one score have consecutive ranks and the same ties.
    ids : array_like, optional
        The name of each instance, such as the user's id: numbers or strings, shape (instances,).

    Attributes
    ----------
    n_items, ids
        As given.
    sizes, n_relevant, n_irrelevant : ndarray of int, shape (instances,)
        Number of ranked, of relevant and of irrelevant items of each instance.
    rows : Rows
        One row per relevant item, best ranked first: what metrics and samplers read.
    drawn : Drawn or None
        How the items were drawn that these are ranked among; None where that is not recorded.

    Raises
    ------
    ValueError
        For a rank that is not a whole number from 1 to `n_items`, or that an instance has twice,
        ties that reach beyond the pool or into the next relevant item, and lengths that do not
        match. The message names the instance (0-based) and the value.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.Ranks([212, 2, 743], n_items=10_000)[1:] == rs.Ranks([2, 743], n_items=10_000)
    True
    >>> rs.Ranks([[3, 5], [1]], n_items=10).n_irrelevant
    array([8, 9])
    """

    n_items: int | Integers
    ids: NDArray[Any] | None
    sizes: Integers
    n_relevant: Integers
    n_irrelevant: Integers
    rows: Rows
    _rank: Integers  # as given, flat
    _tie: Integers
    _one_tie: int | None
    _nested: bool

    def __init__(
        self,
        values: ArrayLike,
        n_items: ArrayLike,
        *,
        ties: ArrayLike = 0,
        ids: ArrayLike | None = None,
    ) -> None:
        if isinstance(values, Ranks):
            raise InputError("values", "must be ranks, which are numbers").got(values)
        checks.refuse_frame("values", values, "Ranks.from_frame reads it, or choose one column")
        flat, n_relevant, nested = flattened("values", values, NOT_RANKED)
        if flat.dtype.kind == "f":
            whole = np.isfinite(flat) & (flat == np.floor(flat))
            of_one, columns = "rank {} in instance {}", (flat, owners(n_relevant))
            allowed = "must be whole numbers"
            checks.refuse_first(~whole, "values", allowed, of_one, *columns, remedy=OTHER_RANKS)
        tie = _ties_like(ties, n_relevant, nested)
        one_tie = int(checks.whole_numbers("ties", ties, lowest=0)) if np.isscalar(ties) else None
        self._fill(flat, tie, n_relevant, nested, n_items, ids, one_tie)

    @classmethod
    def _of(cls, *columns: Any) -> Ranks:
        """From whole numbers for all instances, one after the other, as `_fill` takes them."""
        found = cls.__new__(cls)
        found._fill(*columns)
        return found

    def _fill(self, flat, tie, n_relevant, nested, n_items, ids=None, one_tie=None):
        """Set the attributes, and check them against each other."""
        instance = owners(n_relevant)
        each = f"of the {len(n_relevant)} instances"
        sizes = checks.one_or_each("n_items", n_items, len(n_relevant), each, lowest=1)
        low, of_one = "must be ranks of at least 1", ("rank {} in instance {}", flat, instance)
        checks.refuse_first(flat < 1, "values", low, *of_one)
        # One number for all where it is, which takes the memory of one.
        alike = np.ndim(n_items) == 0 and not nested
        beyond = flat > (sizes[:1] if alike else sizes[instance])
        checks.refuse_first(beyond, "values", "must not exceed n_items", *of_one)
        rank = flat.astype(np.int64)
        rows = _sorted_rows(rank, tie, n_relevant, instance)
        n_irrelevant = sizes[:1] - n_relevant[:1] if alike else sizes - n_relevant
        _check_rows(rows, sizes)
        vars(self).update(
            n_items=int(sizes[0]) if np.ndim(n_items) == 0 else read_only(sizes),
            ids=_names(ids, len(n_relevant)),
            sizes=read_only(sizes),
            n_relevant=read_only(n_relevant),
            n_irrelevant=np.broadcast_to(read_only(n_irrelevant), sizes.shape),
            rows=rows,
            _rank=read_only(rank),
            _tie=read_only(tie),
            _one_tie=one_tie,
            _nested=nested,
        )

    def _content(self) -> tuple[Any, ...]:
        return self._rank, self.n_relevant, self.sizes, self._tie, self.ids

    def __len__(self) -> int:
        return len(self.n_relevant)

    def __repr__(self) -> str:
        sizes = np.unique(self.sizes)
        items = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        tied = f", {int((self.rows.ties > 0).sum())} tied" if self.rows.ties.any() else ""
        return f"<Ranks: {len(self)} instances, {len(self._rank)} ranks, {items} items{tied}>"

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        """Raise a ValueError: NumPy would index forever, since ``ranks[0]`` are `Ranks` again."""
        raise ValueError("Ranks are no array of numbers, as their values are")

    def __getitem__(self, users: Any) -> Ranks:
        """The Ranks of chosen instances, by a number, a slice, a mask, or a list of numbers."""
        which = self._numbers(users)
        entries = entries_of(self.n_relevant, which)
        columns = self._rank[entries], self._tie[entries], self.n_relevant[which], self._nested
        n_items = self.n_items if isinstance(self.n_items, int) else self.n_items[which]
        ids = None if self.ids is None else self.ids[which]
        found = Ranks._of(*columns, n_items, ids, self._one_tie)
        return found if self.drawn is None else found._with_drawn(drawn_of_some(self.drawn, which))

    def _numbers(self, users):
        """The numbers of the chosen instances; refuse an empty choice."""
        checks.refuse_masked("users", users)
        if getattr(getattr(users, "dtype", None), "kind", "") == "u":
            users = checks.whole_numbers("users", users)  # which NumPy would let wrap around
        allowed = "must be a number, a slice, or a list of numbers or of True and False"
        try:
            which = np.atleast_1d(np.arange(len(self))[users])
        except (IndexError, TypeError, ValueError, OverflowError):
            # An IndexError, by which Python ends a loop over the instances.
            got = f"of {len(self)} instances, got {checks.shown(users)}"
            raise IndexError(f"users {allowed}, {got}") from None
        if which.ndim != 1:
            raise InputError("users", allowed).got(f"an index of shape {which.shape}")
        if not len(which):
            raise InputError("users", "must choose at least one instance").got("none")
        return which

    @property
    def values(self) -> Integers | tuple[Integers, ...]:
        """The ranks as given: array (instances,), or one array per instance.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([[5, 3], [1]], n_items=10).values
        (array([5, 3]), array([1]))
        """
        return _as_given(self._rank, self.n_relevant, self._nested)

    @property
    def ties(self) -> int | Integers | tuple[Integers, ...]:
        """The ties as given: one number, array (instances,), or one array per instance.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([5, 1], n_items=10, ties=[2, 0]).ties
        array([2, 0])
        """
        if self._one_tie is not None:
            return self._one_tie
        return _as_given(self._tie, self.n_relevant, self._nested)

    @classmethod
    def concatenate(cls, parts: Iterable[Ranks]) -> Ranks:
        """The instances of several `Ranks`, one after the other.

        Parameters
        ----------
        parts : iterable of Ranks
            At least one; all with names of the instances, or none.

        Returns
        -------
        Ranks

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks.concatenate([rs.Ranks([3, 1], n_items=10), rs.Ranks([7], n_items=20)]).values
        array([3, 1, 7])
        """
        parts = listed(parts, Ranks)
        named = [part.ids for part in parts if part.ids is not None]
        if named and len(named) < len(parts):
            allowed = "must all have ids or none"
            raise InputError("parts", allowed).got(f"{len(named)} of {len(parts)}")
        rank, tie, lengths, sizes = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("_rank", "_tie", "n_relevant", "sizes")
        )
        nested, ids = any(part._nested for part in parts), _all_names(named) if named else None
        found = Ranks._of(rank, tie, lengths, nested, sizes, ids)
        return found._with_drawn(drawn_of_parts([part.drawn for part in parts]))

    def to_frame(self) -> pd.DataFrame:
        """The ranks as a table: one row per relevant item, best ranked first in each instance.

        Returns
        -------
        pandas.DataFrame
            Columns "user" (the name of the instance, or its number, 0-based), "rank", "n_items" and
            "ties".

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([5], n_items=10, ids=["ann"]).to_frame()
          user  rank  n_items  ties
        0  ann     5       10     0
        """
        rows, sizes = self.rows, self.sizes[self.rows.instance]
        names = np.arange(len(self)) if self.ids is None else self.ids
        columns = {"user": names[rows.instance], "rank": rows.rank, "n_items": sizes}
        return extra("pandas").DataFrame(columns | {"ties": rows.ties})

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        n_items: str | ArrayLike = "n_items",
        *,
        user: str | None = "user",
        rank: str = "rank",
        ties: str | int | None = None,
    ) -> Ranks:
        """Ranks from a table of one row per relevant item, as `to_frame` makes it.

        Parameters
        ----------
        frame : dataframe
            Of any library that Narwhals knows.
        n_items : str or int, optional
            The column with the sizes of the pools, or one size for all.
        user : str or None, optional
            The column with the names of the instances; None for an instance in each row.
        rank : str, optional
        ties : str or int, optional
            The column with the numbers of tied irrelevant items, or one number for all; by default
            the column "ties" if there is one, else 0.

        Returns
        -------
        Ranks
            Instances in the order in which they first come, with their names as ``ids``.

        Examples
        --------
        >>> import recsample as rs
        >>> table = rs.Ranks([[3, 5], [1]], n_items=10, ids=["ann", "bob"]).to_frame()
        >>> rs.Ranks.from_frame(table).values
        (array([3, 5]), array([1]))
        """
        if ties is None:
            ties = "ties" if "ties" in column_names(frame) else 0
        given: dict[str, Any] = {"user": user, "rank": rank, "n_items": n_items, "ties": ties}
        wanted = chosen_names(given, {"n_items", "ties"} | ({"user"} if user is None else set()))
        found = dict(zip(wanted, read_columns("frame", frame, wanted)))
        given |= {
            use: checks.whole_numbers(use, found[use].to_numpy()) for use in wanted if use != "user"
        }
        if user is None:
            return cls(given["rank"], given["n_items"], ties=given["ties"])
        ids, which = coded(as_ids("frame", found["user"]))
        lengths, by_instance = counted(which, len(ids)), np.argsort(which, kind="stable")
        nested = bool((lengths > 1).any())
        for use in {"rank", "ties"} & {*wanted}:
            given[use] = _as_given(given[use][by_instance], lengths, nested)
        if "n_items" in wanted:
            given["n_items"] = _size_of_each(given["n_items"], which, ids)
        if all(isinstance(one, str) for one in ids):
            ids = ids.astype(str)
        return cls(given["rank"], given["n_items"], ties=given["ties"], ids=ids)

    def each_alone(self) -> Ranks:
        """Make each relevant item an instance of its own, ranked among the irrelevant items only.

        The i-th best of L relevant items gets the rank r_i - i + 1 among n - L + 1 items, and
        keeps its ties with irrelevant ones.

        Returns
        -------
        Ranks
            One relevant item per instance, as in `rows`, with the name of its instance.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([[3, 5], [1]], n_items=10).each_alone().values
        array([3, 4, 1])
        """
        instance = self.rows.instance
        if not len(instance):
            raise InputError("ranks", "must hold at least one relevant item").got("none")
        found = Ranks(
            self.rows.above + 1,
            self.n_irrelevant[instance] + 1,
            ties=self.rows.ties,
            ids=None if self.ids is None else self.ids[instance],
        )
        return found._with_drawn(drawn_apart(self.drawn, self.n_relevant))

    def at(self, rank: ArrayLike, n_items: ArrayLike) -> Ranks:
        """The same instances with other ranks, without ties.

        Parameters
        ----------
        rank : array_like of int, shape (relevant items,), as in `rows`
        n_items : int or array_like of int

        Returns
        -------
        Ranks
            In lists if these ranks are in lists, best first.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([[5, 3], [1]], n_items=10).at([1, 2, 4], n_items=5).values
        (array([1, 2]), array([4]))
        """
        flat = checks.whole_numbers("rank", rank)
        if flat.shape != self._rank.shape:
            allowed = f"must hold one number for each of the {len(self._rank)} relevant items"
            raise InputError("rank", allowed).got(f"an array of shape {flat.shape}")
        tie = np.zeros(len(flat), np.int64)
        return Ranks._of(flat, tie, self.n_relevant, self._nested, n_items, self.ids, 0)

    def break_ties(
        self, how: Literal["random", "optimistic", "pessimistic"], rng: Rng = None
    ) -> Ranks:
        """Ranks without ties. Metrics and samplers average over ties, and do not need this.

        Parameters
        ----------
        how : {"random", "optimistic", "pessimistic"}
            Draw one random order of the tied items, or rank the relevant ones before, or behind all
            irrelevant ones with their score.
        rng : int or numpy.random.Generator, optional
            For "random": a seed, or a generator that is advanced.

        Returns
        -------
        Ranks
            In lists if these ranks are in lists, best first.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([2, 7], n_items=10, ties=[3, 0]).break_ties("pessimistic").values
        array([5, 7])
        """
        if checks.one_of("how", how, ("random", "optimistic", "pessimistic")) == "random":
            ahead = _random_ahead(self.rows, checks.generator(rng))
        else:
            ahead = self.rows.ties * (how == "pessimistic")
        return self.at(self.rows.rank + ahead, self.n_items)._with_drawn(self.drawn)


def _random_ahead(rows, rng):
    """How many of the tied items precede each relevant item in a random order."""
    ahead = np.zeros_like(rows.ties)
    if not rows.ties.any():
        return ahead
    single = rows.group == 1
    ahead[single] = rng.integers(0, rows.ties[single], endpoint=True)
    for start in np.flatnonzero(~single & (rows.place == 1)):
        size = rows.group[start]
        places = np.sort(rng.choice(size + rows.ties[start], size, replace=False))
        ahead[start : start + size] = places - np.arange(size)
    return ahead


def _ties_like(ties, n_relevant, nested):
    """The ties of each relevant item, flat."""
    if np.isscalar(ties):
        return np.broadcast_to(checks.whole_numbers("ties", ties, lowest=0), n_relevant.sum())
    flat, lengths, in_lists = flattened("ties", ties)
    if in_lists != nested or len(lengths) != len(n_relevant):
        got = f"{len(lengths)} {'lists' if in_lists else 'numbers'} for {len(n_relevant)} instances"
        raise InputError("ties", "must be one number or have the shape of values").got(got)
    allowed, got = "must have the lengths of values", "length {} in instance {at}"
    checks.refuse_first(lengths != n_relevant, "ties", allowed, got, lengths)
    return checks.whole_numbers("ties", flat, lowest=0)


def _names(ids, n_instances):
    """The names of the instances, as an array that cannot be written to."""
    if ids is None:
        return None
    names = checks.array_of("ids", ids)
    if names.shape != (n_instances,):
        allowed = f"must hold one name for each of the {n_instances} instances"
        raise InputError("ids", allowed).got(f"an array of shape {names.shape}")
    if not hasattr(ids, "dtype") and names.tolist() != list(ids):  # 1 is not "1", as NumPy has it
        names = np.array(list(ids), object)
    return frozen(names)


def _all_names(parts):
    """The concatenated names of several parts; objects if their types differ."""
    several = len({names.dtype.kind for names in parts}) > 1
    return np.concatenate([names.astype(object) for names in parts] if several else parts)


def _size_of_each(sizes, which, ids):
    """The size of the pool of each instance, from that of each row."""
    found = np.empty(len(ids), np.int64)
    found[which] = sizes
    other = found[which] != sizes
    if other.any():
        where = int(np.argmax(other))
        got = f"{sizes[where]} and {found[which[where]]} for {checks.shown(ids[which[where]])}"
        raise InputError("n_items", "must be one number for each instance").got(got)
    return found


def refuse_several(ranks: Ranks, name: str = "ranks") -> None:
    """Refuse instances without exactly one relevant item."""
    allowed, got = "must hold one relevant item per instance", "{} in instance {at}"
    checks.refuse_first(ranks.n_relevant != 1, name, allowed, got, ranks.n_relevant)


def listed(parts: Any, kind: type) -> list[Any]:
    """Return the parts as a list; refuse any that is not of this class."""
    found = list(parts) if isinstance(parts, Iterable) and np.iterable(parts) else []
    if not found or not all(isinstance(part, kind) for part in found):
        raise InputError("parts", f"must be a list of {kind.__name__}").got(checks.shown(parts))
    return found


def _as_given(flat, lengths, nested):
    """Flat numbers in the form of the input: one array, or an array for each instance."""
    return tuple(split(flat, lengths)) if nested else flat


def _sorted_rows(rank, ties, n_relevant, instance):
    """Rows by ascending rank within each instance, with the groups that share a score."""
    if (n_relevant == 1).all():  # nothing to sort, nor to group
        one = np.broadcast_to(np.int64(1), len(rank))
        return Rows(read_only(instance), one, read_only(rank), read_only(ties), one, one)
    if ((instance[1:] == instance[:-1]) & (rank[1:] < rank[:-1])).any():
        by_rank = np.lexsort((rank, instance))
        rank, ties = rank[by_rank], ties[by_rank]
    # Consecutive ranks with the same ties are one group: as two, their ties would overlap.
    starts, next_to = np.ones(len(rank), bool), rank[1:] == rank[:-1] + 1
    alike = (instance[1:] == instance[:-1]) & (ties[1:] == ties[:-1]) & (ties[1:] > 0)
    starts[1:] = ~(alike & next_to)
    number = np.cumsum(starts) - 1
    sizes = counted(number, int(starts.sum()))
    order, place = 1 + places_in(n_relevant), 1 + places_in(sizes)
    return Rows(*map(read_only, (instance, order, rank, ties, sizes[number], place)))


def _check_rows(rows, sizes):
    instance, rank = rows.instance, rows.rank
    same = instance[1:] == instance[:-1]
    if several := bool(same.any()):
        twice, got = same & (rank[1:] == rank[:-1]), "rank {} twice in instance {}"
        allowed = "must not hold a rank twice"
        checks.refuse_first(twice, "values", allowed, got, rank[1:], instance[1:])
    if not rows.ties.any():
        return
    # The worst case of a group: all its ties ahead of all its relevant items.
    last = rank + rows.ties + rows.group - rows.place
    allowed, got = "must not exceed n_items", "a worst rank of {} in instance {}"
    checks.refuse_first(last > sizes[instance], "values + ties", allowed, got, last, instance)
    if several:
        overlap = same & (rows.place[1:] == 1) & (last[:-1] >= rank[1:])
        allowed = "must not reach the next relevant item unless both name the same ties"
        got = "rank {} inside them in instance {}"
        checks.refuse_first(overlap, "ties", allowed, got, rank[1:], instance[1:])
