"""Where the relevant items of each instance stand in a ranking.

An *instance* is one evaluation case: a user, a query, a context. Its relevant items stand at
certain *ranks* (1 is best) among ``n_items`` ranked items. Everything else in this package starts
from these ranks: a metric is a function of them, sampling changes them, a correction undoes that.
"""

from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recsample._scores import outranking, scored_pools
from recsample._typing import Integers, Rng, Sparse
from recsample._validation import generator, shown, whole_numbers

__all__ = ["Ranks", "predicted_ranks"]


class _Terms(NamedTuple):
    """One row per relevant item, instances in order and ranks ascending within an instance."""

    instance: Integers  # to which instance the relevant item belongs, 0-based
    order: Integers  # it is the order-th best ranked relevant item of its instance, 1-based
    rank: Integers  # its best-case rank, 1-based
    ties: Integers  # irrelevant items with its score
    group: Integers  # relevant items with its score, itself included
    place: Integers  # its place among these, 1-based


class Ranks:
    """Where the relevant items of each instance stand in a ranking of n items.

    Parameters
    ----------
    values : array_like of int
        Predicted ranks, 1 is best: shape (instances,) where every instance has one relevant item,
        otherwise one sequence of ranks per instance, of any length, in any order.
    n_items : int or array_like of int
        Size of the ranked pool, the relevant items included: one number, or one per instance.
    ties : int or array_like of int, optional
        How many irrelevant items score exactly the same as the relevant one; `values` is then the
        best case, and ``values + ties`` the worst. One number, or the same shape as `values`.
        Relevant items that share one score stand at consecutive ranks and name the same ties.

    Attributes
    ----------
    n_items : int or ndarray of int, shape (instances,)
        The sizes of the pools as given.

    Raises
    ------
    ValueError
        For a rank below 1 or above `n_items`, a rank that is not a whole number, a rank that an
        instance holds twice, ties that reach beyond the pool or into the next relevant item, and
        lengths that do not match. The message names the instance (0-based) and the value.

    Examples
    --------
    Recommender C of Table 1 in [1]_, five instances with one relevant item each:

    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)
    >>> len(ranks)
    5

    Two instances with two and one relevant items:

    >>> rs.Ranks([[3, 5], [1]], n_items=10).n_relevant
    array([2, 1])

    References
    ----------
    .. [1] W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020,
       section 2. https://doi.org/10.1145/3394486.3403226
    """

    n_items: int | Integers

    def __init__(self, values: ArrayLike, n_items: ArrayLike, *, ties: ArrayLike = 0) -> None:
        flat, self._n_relevant, self._nested = flattened("values", values)
        instance = np.repeat(np.arange(len(self)), self._n_relevant)
        self.n_items, self._sizes = _pool_sizes(n_items, len(self))
        whole = np.isfinite(flat) & (flat == np.floor(flat))
        _refuse(~whole, instance, flat, "values must be whole numbers, got rank {}")
        _refuse(flat < 1, instance, flat, "values must be ranks of at least 1, got rank {}")
        beyond = flat > self._sizes[instance]
        _refuse(beyond, instance, flat, "values must not exceed n_items, got rank {}")
        self._rank = frozen(flat.astype(np.int64))
        self._one_tie = int(whole_numbers("ties", ties, lowest=0)) if np.isscalar(ties) else None
        self._tie = frozen(_ties_like(ties, self._n_relevant, self._nested))
        self._terms = _arranged(self._rank, self._tie, instance, self._n_relevant)
        _check_terms(self._terms, self._sizes)

    def __len__(self) -> int:
        return len(self._n_relevant)

    def __repr__(self) -> str:
        sizes = np.unique(self._sizes)
        items = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        tied = f", {int((self._terms.ties > 0).sum())} tied" if self._terms.ties.any() else ""
        return f"<Ranks: {len(self)} instances, {len(self._terms.rank)} ranks, {items} items{tied}>"

    @property
    def values(self) -> Integers | tuple[Integers, ...]:
        """The ranks as given: array (instances,), or one array per instance.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([5, 1], n_items=10).values
        array([5, 1])
        >>> rs.Ranks([[5, 3], [1]], n_items=10).values
        (array([5, 3]), array([1]))
        """
        return self._as_given(self._rank)

    @property
    def ties(self) -> int | Integers | tuple[Integers, ...]:
        """The ties as given: one number, array (instances,), or one array per instance.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([5, 1], n_items=10).ties
        0
        >>> rs.Ranks([5, 1], n_items=10, ties=[2, 0]).ties
        array([2, 0])
        """
        return self._as_given(self._tie) if self._one_tie is None else self._one_tie

    def _as_given(self, flat):
        if not self._nested:
            return flat
        return tuple(np.split(flat, np.cumsum(self._n_relevant)[:-1]))

    @property
    def n_relevant(self) -> Integers:
        """Number of relevant items of each instance, array of int, shape (instances,).

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([[5, 3], [1]], n_items=10).n_relevant
        array([2, 1])
        """
        return self._n_relevant.copy()

    @property
    def n_irrelevant(self) -> Integers:
        """Number of irrelevant items of each instance, array of int, shape (instances,).

        Examples
        --------
        >>> import recsample as rs
        >>> rs.Ranks([[5, 3], [1]], n_items=10).n_irrelevant
        array([8, 9])
        """
        return self._sizes - self._n_relevant

    def each_alone(self) -> "Ranks":
        """Every relevant item as an instance of its own, ranked among the irrelevant items only.

        That is how an evaluation looks that ranks each held-out item without the others. Instances
        follow in order, best ranked items first: ``np.repeat(np.arange(len(ranks)),
        ranks.n_relevant)`` says from which instance each comes.

        Returns
        -------
        Ranks
            One relevant item per instance, at rank r_i - i + 1 among n - L + 1 items; tied with the
            same irrelevant items.

        Raises
        ------
        ValueError
            If no instance has a relevant item.

        Examples
        --------
        >>> import recsample as rs
        >>> alone = rs.Ranks([[3, 5], [1]], n_items=10).each_alone()
        >>> alone.values, alone.n_items
        (array([3, 4, 1]), array([ 9,  9, 10]))
        """
        instance, order, rank, ties, _, _ = self._terms
        if not len(rank):
            raise ValueError("ranks must hold at least one relevant item, got none")
        return Ranks(rank - order + 1, self.n_irrelevant[instance] + 1, ties=ties)

    def break_ties(
        self, how: Literal["random", "optimistic", "pessimistic"], rng: Rng = None
    ) -> "Ranks":
        """Ranks without ties. Metrics and samplers need no such decision: they average over it.

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
            Where the ranks are given as lists, the best rank of each comes first.

        Raises
        ------
        ValueError
            For another `how`, and an `rng` that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([2, 7], n_items=10, ties=[3, 0])
        >>> ranks.break_ties("optimistic").values, ranks.break_ties("pessimistic").values
        (array([2, 7]), array([5, 7]))
        """
        _, _, rank, ties, group, place = self._terms
        if how == "random":
            ahead = _random_ahead(ties, group, place, generator(rng))
        elif how in ("optimistic", "pessimistic"):
            ahead = ties * (how == "pessimistic")
        else:
            raise ValueError(
                f"how must be 'random', 'optimistic' or 'pessimistic', got {shown(how)}"
            )
        values = rank + ahead
        if self._nested:
            values = np.split(values, np.cumsum(self._n_relevant)[:-1])
        return Ranks(values, self.n_items)


def _random_ahead(ties, group, place, rng):
    """How many of its ties are ahead of each relevant item in a random order."""
    ahead = np.zeros_like(ties)
    if not ties.any():
        return ahead
    alone = group == 1
    ahead[alone] = rng.integers(0, ties[alone], endpoint=True)
    for start in np.flatnonzero(~alone & (place == 1)):
        size = group[start]
        places = np.sort(rng.choice(size + ties[start], size, replace=False))
        ahead[start : start + size] = places - np.arange(size)
    return ahead


def predicted_ranks(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike | Sparse,
    exclude: Sparse | None = None,
) -> Ranks:
    """Ranks of the relevant items under given scores, with ties counted.

    An item outranks another where its score is higher. Irrelevant items with exactly the score of
    the relevant one are counted as its ties, so that no metric depends on the order of the items.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
        A score per user and item, higher is better. A pair ``(user_factors, item_factors)`` of
        shapes (users, d) and (items, d) stands for the product ``user_factors @ item_factors.T``,
        which is formed for a block of users at a time and never as a whole.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant item of each user (0-based), or a matrix whose stored non-zeros are the
        relevant items.
    exclude : sparse matrix, shape (users, items), optional
        Items that are not ranked for the user, such as the training set. They count neither as
        better items nor in the size of the pool.

    Returns
    -------
    Ranks
        With the size of each user's own pool as ``n_items``.

    Raises
    ------
    ValueError
        For shapes that do not fit, a score that is NaN, an item that does not exist, and a
        relevant item that is excluded; the message names the user.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.predicted_ranks([[.9, .5, .1, .5], [.2, .7, .1, .0]], relevant=[1, 3])
    >>> ranks.values, ranks.ties
    (array([2, 4]), array([1, 0]))
    """
    one_each = not sparse.issparse(relevant)
    count = _count_one if one_each else _count_many
    relevant, exclude, blocks = scored_pools(scores, relevant, exclude)
    counted = [count(block, relevant[rows], exclude[rows]) for rows, block in blocks]
    rank, tied = (np.concatenate(parts) for parts in zip(*counted))
    sizes = relevant.shape[1] - np.diff(exclude.indptr)
    if one_each:
        return Ranks(rank, sizes, ties=tied)
    ends = relevant.indptr[1:-1]
    return Ranks(np.split(rank, ends), sizes, ties=np.split(tied, ends))


def _count_one(scores, relevant, exclude):
    """Best-case ranks and tied irrelevant items where every user has one relevant item."""
    higher, same = outranking(scores, relevant, exclude)
    return 1 + higher.sum(axis=1), same.sum(axis=1)


def _count_many(scores, relevant, exclude):
    """The same for any number of relevant items, flat, best first within each user."""
    ranks, ties = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for user, row in enumerate(scores):
        items = relevant.indices[relevant.indptr[user] : relevant.indptr[user + 1]]
        mine = np.sort(row[items])[::-1]
        excluded = exclude.indices[exclude.indptr[user] : exclude.indptr[user + 1]]
        rest = np.sort(np.delete(row, np.concatenate([items, excluded])))
        not_higher = np.searchsorted(rest, mine, side="right")
        lower = np.searchsorted(rest, mine, side="left")
        ranks.append(1 + len(rest) - not_higher + np.arange(len(mine)))
        ties.append(not_higher - lower)
    return np.concatenate(ranks), np.concatenate(ties)


def flattened(name, values):
    """All numbers of `values` in one array, how many each instance has, and whether in lists."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise ValueError(f"{name} must be an array of numbers, got {values!r}")
    if not hasattr(values, "dtype") and not hasattr(values, "__array__"):  # a table has the second
        kinds = {_is_list(v) for v in values}
        if len(kinds) == 2:
            raise ValueError(f"{name} must be all numbers or all lists, got a mixture of both")
        nested = kinds == {True}
    else:
        values = np.asarray(values)
        if values.ndim == 0 or values.ndim > 2:
            raise ValueError(f"{name} must be an array of numbers, got one of shape {values.shape}")
        nested = values.ndim == 2 or values.dtype == object
    if len(values) == 0:
        raise ValueError(f"{name} must hold at least one instance, got none")
    lengths = np.array([len(v) for v in values]) if nested else np.ones(len(values), dtype=np.int64)
    if nested and _are_like_arrays(values):
        values = np.concatenate(values)
    elif nested:
        values = list(chain.from_iterable(values))
        if any(_is_list(v) for v in values):
            raise ValueError(f"{name} must hold numbers or lists of numbers, got lists of lists")
    flat = np.array(values)
    if lengths.sum() == 0:
        flat = flat.astype(np.int64)
    if flat.dtype.kind not in "iuf" or flat.ndim != 1:
        raise ValueError(f"{name} must be numbers, got an array of type {flat.dtype}")
    return flat, lengths, nested


def _are_like_arrays(values):
    """Whether these are one-dimensional arrays of one type, which can be joined as a whole."""
    return all(
        isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype == values[0].dtype for v in values
    )


def _is_list(value):
    if isinstance(value, (str, bytes)):
        return False
    return hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0


def _pool_sizes(n_items, n_instances):
    sizes = whole_numbers("n_items", n_items, lowest=1)
    if sizes.ndim == 0:
        return int(sizes), np.full(n_instances, sizes)
    if sizes.shape != (n_instances,):
        raise ValueError(
            f"n_items must be one number or one for each of the {n_instances} instances, "
            f"got an array of shape {sizes.shape}"
        )
    return frozen(sizes), sizes


def _ties_like(ties, n_relevant, nested):
    """The ties of each relevant item, flat."""
    if np.isscalar(ties):
        return np.full(n_relevant.sum(), ties, dtype=np.int64)
    flat, lengths, ties_nested = flattened("ties", ties)
    if ties_nested != nested or len(lengths) != len(n_relevant):
        raise ValueError(
            "ties must be one number or have the shape of values, got "
            f"{len(lengths)} {'lists' if ties_nested else 'numbers'} "
            f"for {len(n_relevant)} instances"
        )
    which = np.arange(len(lengths))
    _refuse(
        lengths != n_relevant, which, lengths, "ties must have the lengths of values, got length {}"
    )
    return whole_numbers("ties", flat, lowest=0)


def _arranged(rank, ties, instance, n_relevant):
    """The terms by ascending rank within each instance, with groups of equal score found."""
    by_rank = np.lexsort((rank, instance))
    rank, ties = rank[by_rank], ties[by_rank]
    order = 1 + np.arange(len(rank)) - np.repeat(np.cumsum(n_relevant) - n_relevant, n_relevant)
    # Consecutive ranks with the same ties can only be one group: apart, their ties would overlap.
    starts = np.ones(len(rank), bool)
    starts[1:] = (
        (instance[1:] != instance[:-1])
        | (ties[1:] == 0)
        | (ties[1:] != ties[:-1])
        | (rank[1:] != rank[:-1] + 1)
    )
    group_of = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    group = np.bincount(group_of)[group_of] if len(rank) else np.empty(0, np.int64)
    place = 1 + np.arange(len(rank)) - first[group_of] if len(rank) else np.empty(0, np.int64)
    return _Terms(instance, order, rank, ties, group, place)


def _check_terms(terms, sizes):
    instance, _, rank, ties, group, place = terms
    same = instance[1:] == instance[:-1]
    twice = same & (rank[1:] == rank[:-1])
    _refuse(twice, instance[1:], rank[1:], "values must not hold a rank twice, got rank {} twice")
    # The worst case of a group: all its ties ahead of all its relevant items.
    last = rank + ties + group - place
    beyond = last > sizes[instance]
    _refuse(beyond, instance, last, "values + ties must not exceed n_items, got a worst rank of {}")
    overlap = same & (place[1:] == 1) & (last[:-1] >= rank[1:])
    _refuse(
        overlap,
        instance[1:],
        rank[1:],
        "ties must not reach the next relevant item unless both name the same ties, "
        "got rank {} inside them",
    )


def _refuse(bad, instance, value, message):
    if np.any(bad):
        where = int(np.argmax(bad))
        raise ValueError(message.format(value[where]) + f" in instance {instance[where]}")


def check_ranks(ranks: Any, name: str = "ranks") -> Ranks:
    """``ranks``; what is not `Ranks` is refused."""
    if not isinstance(ranks, Ranks):
        raise ValueError(f"{name} must be Ranks, got {type(ranks).__name__}")
    return ranks


def check_one_relevant(ranks: Any, name: str = "ranks") -> Ranks:
    """``ranks``; what has not exactly one relevant item per instance is refused."""
    several = np.flatnonzero(check_ranks(ranks, name).n_relevant != 1)
    if len(several):
        raise ValueError(
            f"{name} must hold one relevant item per instance, "
            f"got {ranks.n_relevant[several[0]]} in instance {several[0]}"
        )
    return ranks


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array
