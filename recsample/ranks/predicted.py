"""Where scores come from: a dataframe that lists some items, or whole rows of scores.

A source knows the scores of the users of a study by two methods: `standing` says where the relevant
items stand, and `of` gives the scores of single pairs of a user and an item.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recsample._support.arrays import counted, owners, places_in, row_blocks, split, summed
from recsample._support.checks import numbers, shown
from recsample._support.extras import extra
from recsample._support.typing import Floats, Integers, Sparse
from recsample.ranks import order
from recsample.ranks.base import Ranks
from recsample.ranks.graded import with_grades
from recsample.ranks.scores import BLOCK, checked_scores, keys_of, pair_scores, pairs_of, unrounded
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
    return _ranked(scores, relevant, exclude, working_memory)


def _ranked(scores, relevant, exclude, working_memory=256.0, ids=None, name="scores"):
    """`predicted_ranks` of users with these ids, by scores of this name."""
    one_each = not sparse.issparse(relevant)
    source, relevant, exclude = scored_pools(scores, relevant, exclude)
    source.ids, source.name = ids, name
    above, ties = standings(source, relevant, exclude, working_memory)
    n_relevant = np.diff(relevant.indptr).astype(np.int64)
    sizes = relevant.shape[1] - np.diff(exclude.indptr)
    return _ranks(above, ties, n_relevant, sizes, one_each, ids)


class Study(NamedTuple):
    """Who is evaluated on what. Users are rows, items columns."""

    users: NDArray[Any]  # their ids
    items: NDArray[Any]
    relevant: sparse.csr_matrix
    exclude: sparse.csr_matrix
    grades: Floats | None = None  # of the relevant items, user by user

    @property
    def n_relevant(self) -> Integers:
        return np.diff(self.relevant.indptr).astype(np.int64)

    @property
    def held_out(self) -> tuple[Integers, Integers]:
        """The user and the item, by their numbers, of each relevant item, user by user."""
        return pairs_of(self.relevant)

    @property
    def one_each(self) -> bool:
        return bool((self.n_relevant == 1).all())

    @property
    def sizes(self) -> Integers:
        """How many items are ranked for each user."""
        return len(self.items) - np.diff(self.exclude.indptr).astype(np.int64)


class Standing(NamedTuple):
    """Where the relevant items stand by one source, and what it does not say.

    The score -inf is the way to say that there is none: so many scores are such as `lowest` says.
    Where these are of a list, it holds so many items of each user as `reach` says; what it leaves
    out is tied behind it. Where relevant items that are left out may stand anywhere there, `ends`
    are the ranks with these at the very end and right behind the list, also in the worst and the
    best order of their grades, and so many are they for each user as `left_out` says.
    """

    ranks: Ranks
    lowest: int = 0
    reach: Integers | None = None
    ends: tuple[Ranks, ...] = ()
    left_out: Integers | None = None


class Source(Protocol):
    """Scores of the users of a study, wherever they come from."""

    def standing(self, study: Study, lists: Sparse | None = None) -> Standing:
        """Among all items, with the grades; or among these of each user, without."""

    def of(self, study: Study, user: Integers, item: Integers) -> Floats:
        """Scores of pairs, by the numbers of row and column; -inf where there is none."""


class Listed:
    """Scores of some items of each user; all others are tied below them.

    They come with their pairs of a user and an item as numbers user * n_items + item, ascending.
    `in_train` of them are excluded from the study, and `lowest` of the others have the score -inf;
    of the items that are ranked for a user, so many are listed as `lengths` says, and `whole` says
    whether all are, with whatever score, or known to be below where scores are `complete`.
    """

    def __init__(self, key: Integers, score: Floats, study: Study, complete: bool) -> None:
        in_train, known = np.isin(key, keys_of(study.exclude)), score > -np.inf
        self.in_train, self.lowest = int(in_train.sum()), int((~known & ~in_train).sum())
        ranked, n_users = known & ~in_train, len(study.users)
        self.key, self.score = key[ranked], score[ranked]
        self.lengths = counted(self.key // len(study.items), n_users)
        n_listed = counted(key[~in_train] // len(study.items), n_users)
        self.complete, self.whole = complete, complete | (n_listed == study.sizes)

    def ranks(self, study: Study) -> Ranks:
        """With what a list leaves out tied behind it."""
        return ranks_among(*self._ranked(study))

    def standing(self, study: Study, lists: Sparse | None = None) -> Standing:
        if lists is not None:
            return _among(self, study, lists, self.complete)
        found = _standing(self.whole, *self._ranked(study))
        return found._replace(lowest=self.lowest, reach=self.lengths)

    def _ranked(self, study):
        """What `ranks_among` takes."""
        irrelevant = ~np.isin(self.key, keys_of(study.relevant))
        user, score = self.key[irrelevant] // len(study.items), self.score[irrelevant]
        return user, score, study, self.of(study, *study.held_out), study.sizes

    def of(self, study: Study, user: Integers, item: Integers) -> Floats:
        key = user * len(study.items) + item
        if not len(self.key):
            return np.full(len(key), -np.inf)
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[place] == key, self.score[place], -np.inf)


def ranks_among(
    user: Integers,
    score: Floats,
    study: Study,
    own: Floats,
    sizes: Integers,
    places: Floats | None = None,
) -> Ranks:
    """Ranks of the relevant items among irrelevant ones with a score and a user, and all others.

    The relevant items' `own` scores stand user by user, -inf for none; of each user so many items
    are ranked as `sizes` says. Items without a score are tied, unless `places` says for each user
    where the relevant ones among them stand: before the others, 0, in the best order of their
    grades, or behind, 1, in the worst.
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
    place = np.full(len(own), np.nan) if places is None else places[mine]
    put = none & ~np.isnan(place)
    above[put] += (tied[put] * place[put]).astype(np.int64)
    tied[put] = 0
    best_first = np.lexsort((tied, above, mine))
    above, tied = above[best_first], tied[best_first]
    ranks = _ranks(above, tied, n_relevant, sizes, study.one_each, study.users)
    if study.grades is None:
        return ranks
    return with_grades(ranks, own, study.grades, np.where(put, (2 * place - 1) * study.grades, 0))


def _standing(whole, *ranked):
    """Of what `ranks_among` takes; for users who are `whole` nothing is left out."""
    _, _, study, own, _ = ranked
    owner = study.held_out[0]
    left_out = owner[(own == -np.inf) & ~whole[owner]]
    found = Standing(ranks_among(*ranked))
    if not len(left_out):
        return found
    places = (np.where(whole, np.nan, place) for place in (1.0, 0.0))
    ends = tuple(ranks_among(*ranked, place) for place in places)
    return found._replace(ends=ends, left_out=counted(left_out, len(study.users)))


def _among(source, study, lists, complete):
    """The standing among listed items."""
    study = study._replace(grades=None)
    user, item = pairs_of(lists)
    score, own = source.of(study, user, item), source.of(study, *study.held_out)
    scored, sizes = score > -np.inf, np.diff(lists.indptr).astype(np.int64) + study.n_relevant
    whole = np.full(len(study.users), complete)
    found = _standing(whole, user[scored], score[scored], study, own, sizes)
    return found._replace(lowest=(~scored).sum() + (own == -np.inf).sum())


def by_item(source: Source, study: Study, lists: Sparse) -> Floats:
    """How each listed item takes the mean over users of the share of relevant items above it.

    Tied ones count half.
    """
    (user, item), lengths = pairs_of(lists), np.diff(lists.indptr)
    score, own = source.of(study, user, item), source.of(study, *study.held_out)
    above, tied = _beside_several(owners(study.n_relevant), own, score, user)
    below = (above + tied / 2) / study.n_relevant[user]
    weight = 1 / (len(lengths) * lengths[user].astype(np.int64))
    mean, (items, used) = weight @ below, np.unique(item, return_inverse=True)
    return mean + len(items) * summed(used, weight * (below - mean), len(items))


def _ranks(above, ties, n_relevant, sizes, one_each, ids=None):
    """From what is above each relevant item and tied with it, user by user and best first."""
    rank = 1 + above + places_in(n_relevant)
    if one_each:
        return Ranks(rank, sizes, ties=ties, ids=ids)
    return Ranks(split(rank, n_relevant), sizes, ties=split(ties, n_relevant), ids=ids)


def _beside_one(user, score, own):
    """How many irrelevant items of the user are above the relevant one, and tied with it."""
    strength, mine = order.strength(score), order.strength(own)[user]
    return tuple(counted(user[which], len(own)) for which in (strength > mine, strength == mine))


def _beside_several(user, score, own, mine):
    """The same for each of several relevant items, of the users `mine`."""
    strengths = order.strength(np.concatenate([score, own]))
    different, level = np.unique(strengths, return_inverse=True)
    # Users one after the other, and within each by ascending strength.
    steps = len(different) + 1
    of_others = np.sort(user * steps + level[: len(score)])
    of_own = mine * steps + level[len(score) :]
    not_higher = np.searchsorted(of_others, of_own, side="right")
    above = np.searchsorted(of_others, (mine + 1) * steps) - not_higher
    return above, not_higher - np.searchsorted(of_others, of_own, side="left")


class WholeRows:
    """Scores of all items for each user: an array, a pair of factors, or ``scores(users)``."""

    def __init__(self, given: Any, name: str = "scores") -> None:
        self._given, self._asked, self._name = given, _scores_users(given), name
        self.n_users, self.n_items = None, 0  # None for users whom only the object knows
        if self._asked:
            self.n_items = self._block(np.zeros(1, np.int64)).shape[1]
        elif sparse.issparse(given):
            raise ValueError(
                "scores must be an array, a pair of factors, a dataframe or an object with "
                f"scores(users), got a sparse matrix: {shown(given)}; an item without a stored "
                "entry may have the score 0 or none, which a dataframe says"
            )
        else:
            self._given = checked_scores(given)
            pair = isinstance(self._given, tuple)
            self.n_users, self.n_items = map(len, self._given) if pair else self._given.shape

    def standing(self, study: Study, lists: Sparse | None = None) -> Standing:
        if lists is not None:
            return _among(self, study, lists, complete=True)
        parts, lowest = [], 0
        for rows, scores in self._blocks(study):
            relevant, exclude = study.relevant[rows], study.exclude[rows]
            one_each = relevant.indices.astype(np.int64) if study.one_each else relevant
            if not isinstance(scores, tuple):
                last = scores == -np.inf
                lowest += int(last.sum()) - int(last[exclude.nonzero()].sum())
            ids = study.users[rows]
            parts.append(_ranked(scores, one_each, exclude, ids=ids, name=self._name))
        ranks = Ranks.concatenate(parts)
        if study.grades is not None:
            ranks = with_grades(ranks, self.of(study, *study.held_out), study.grades)
        return Standing(ranks, lowest)

    def of(self, study: Study, user: Integers, item: Integers) -> Floats:
        found = np.empty(len(user))
        for rows, scores in self._blocks(study):
            mine = (user >= rows.start) & (user < rows.stop)
            row, column = user[mine] - rows.start, item[mine]
            if isinstance(scores, tuple):
                users, items = scores
                found[mine] = pair_scores(users, items, row, column)
            else:
                found[mine] = unrounded(scores[row, column])
        order.refuse_nan(found, study.users[user], item, self._name)
        return found

    @property
    def numbered_from(self) -> int | None:
        """0 or 1, where an array has all numbers from there on, each once, for every user."""
        if self._asked or isinstance(self._given, tuple):
            return None
        first = self._given[0].min()
        numbers = np.arange(self.n_items) + first
        blocks = row_blocks(len(self._given), self.n_items, BLOCK)
        if first in (0, 1) and all(
            (np.sort(self._given[rows], axis=1) == numbers).all() for rows in blocks
        ):
            return int(first)
        return None

    def _block(self, users):
        """The scores of users by their numbers, shape (users, items), or a pair of factors."""
        if isinstance(self._given, tuple) and not self._asked:
            return self._given[0][users], self._given[1]
        if not self._asked:
            return self._given[users]
        found = numbers("scores(users)", self._given.scores(users))
        if found.ndim != 2 or len(found) != len(users) or self.n_items not in (0, found.shape[1]):
            items = f"{self.n_items} items, as for user 0" if self.n_items else "items"
            raise ValueError(
                f"scores(users) must have shape ({len(users)}, {items}), got {found.shape}"
            )
        return found

    def _blocks(self, study):
        """Some users of a study at a time, with their scores."""
        seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        tqdm = extra("tqdm", "tables").tqdm
        # Under factors no scores are formed here, and the items are looked through once a block.
        factors = isinstance(self._given, tuple) and not self._asked
        blocks = row_blocks(len(study.users), self.n_items, BLOCK * (256 if factors else 1))
        # Where it could be seen, the reader's own TQDM_DISABLE decides.
        unseen = {} if seen else {"disable": True}
        users = study.users.astype(np.int64)
        for rows in tqdm(blocks, desc="users", unit="block", delay=2, leave=False, **unseen):
            yield rows, self._block(users[rows])


def is_rows(source: Any) -> bool:
    """Whether it is a source of whole rows of scores."""
    is_array = isinstance(source, (tuple, list)) or hasattr(source, "__array__")
    return is_array or _scores_users(source)


def _scores_users(source):
    return callable(getattr(source, "scores", None)) and not isinstance(source, type)
