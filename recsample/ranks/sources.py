"""Sources of scores: a dataframe that lists some items, or whole rows of scores.

A source has the scores of the users of a study. An item with the score -inf is not listed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recsample._support.arrays import counted, owners, row_blocks, starts_of, summed
from recsample._support.checks import numbers
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.typing import Floats, Integers, Sparse
from recsample.ranks import order
from recsample.ranks.base import Ranks
from recsample.ranks.graded import Graded, with_grades
from recsample.ranks.predicted import ranked, ranks_from
from recsample.ranks.scores import (
    BLOCK,
    checked_scores,
    keys_of,
    pair_scores,
    pairs_of,
    sets_of,
    unrounded,
)

# By so many times what others differ, the lowest score lies apart.
_APART = 10
# Of up to so many relevant items a user, each is compared with all others.
_FEW = 16


class Study(NamedTuple):
    """The users and their relevant and excluded items. Users are rows, items columns."""

    users: NDArray[Any]  # their ids
    items: NDArray[Any]
    relevant: sparse.csr_matrix
    exclude: sparse.csr_matrix
    n_items: int  # also those that have no column, because no table names them
    grades: Floats | None = None  # of the relevant items, user by user

    @property
    def n_relevant(self) -> Integers:
        return np.diff(self.relevant.indptr).astype(np.int64)

    @property
    def held_out(self) -> tuple[Integers, Integers]:
        """The numbers of user and item of each relevant item, user by user."""
        return pairs_of(self.relevant)

    @property
    def one_each(self) -> bool:
        return bool((self.n_relevant == 1).all())

    @property
    def sizes(self) -> Integers:
        """How many items are ranked for each user."""
        return self.n_items - np.diff(self.exclude.indptr).astype(np.int64)


class Pile(NamedTuple):
    """The lowest of all scores, whether it lies apart, and how many items of each user have it.

    Where a user has it once, it is no pile. It lies apart if the next one is much higher, by ten
    times what all others differ, so that it hardly is a score.
    """

    lowest: float
    is_apart: bool
    sizes: Integers

    @classmethod
    def of(cls, scores: Floats, count: Callable[[NDArray[np.bool_]], Integers]) -> Pile:
        """Of an array of scores, +inf where there is none; `count` counts by user."""
        lowest = scores.min(initial=np.inf)
        at_lowest = scores == lowest
        sizes = count(at_lowest & (lowest < np.inf))
        if sizes.max(initial=0) < 2:
            return cls(float(lowest), False, np.zeros_like(sizes))
        others = scores[~at_lowest & (scores < np.inf)].astype(float)
        least, most = others.min(initial=np.inf), others.max(initial=-np.inf)
        is_apart = bool(least - lowest > _APART * (most - least))
        return cls(float(lowest), is_apart, np.where(sizes > 1, sizes, 0))


class Standing(NamedTuple):
    """Ranks of the relevant items by one source; items that it does not list are tied last.

    `lengths` is the number of listed items of each user, among those that are ranked. `pile` is of
    irrelevant ones, whose scores `are_orders` if those of every user are different whole numbers.
    """

    ranks: Ranks
    lengths: Integers
    pile: Pile = Pile(np.nan, False, np.zeros(0, np.int64))
    are_orders: bool = False

    def of_users(self, users: Integers) -> Standing:
        """The same for some of the users."""
        pile = self.pile._replace(sizes=self.pile.sizes[users])
        return self._replace(ranks=self.ranks[users], lengths=self.lengths[users], pile=pile)

    @property
    def is_short(self) -> bool:
        """Whether some items are not listed."""
        return bool((self.lengths < self.ranks.sizes).any())

    @property
    def better(self) -> Floats:
        """The share of the listed irrelevant items that are better than the listed relevant ones.

        Of each user; ties count half, and it is NaN where one of the two kinds is not listed.
        """
        rows, listed, n_users = self.ranks.rows, ~self.unlisted, len(self.ranks)
        n_listed = counted(rows.instance[listed], n_users)
        above = summed(rows.instance[listed], (rows.above + rows.ties / 2)[listed], n_users)
        n_pairs = n_listed * (self.lengths - n_listed)
        return np.divide(above, n_pairs, out=np.full(n_users, np.nan), where=n_pairs > 0)

    @property
    def unlisted(self) -> NDArray[np.bool_]:
        """Which relevant items are not listed, one entry per row of the ranks."""
        rows = self.ranks.rows
        return rows.rank > self.lengths[rows.instance]

    @property
    def n_unlisted(self) -> Integers:
        """How many relevant items of each user are not listed."""
        return counted(self.ranks.rows.instance[self.unlisted], len(self.ranks))

    def with_unlisted(self, *, last: bool) -> Ranks:
        """The ranks with unlisted relevant items at the very end, or right behind the list.

        With grades, those with the lowest grade come first at the end, the highest behind the list.
        """
        ranks, rows, moved = self.ranks, self.ranks.rows, self.unlisted
        ties = np.where(moved, 0, rows.ties)
        above = rows.above + np.where(moved, rows.ties, 0) * last
        one_each = bool((ranks.n_relevant == 1).all())
        found = ranks_from(above, ties, ranks.n_relevant, ranks.sizes, one_each, ranks.ids)
        if not isinstance(ranks, Graded):
            return found
        worst_first = np.where(moved, ranks.grade, 0) * (1 if last else -1)
        order = np.lexsort((worst_first, rows.order * ~moved, moved, rows.instance))
        place = np.where(moved, found.rows.rank, ranks.places.rows.rank)
        alone = np.where(moved, 0, ranks.places.rows.ties)
        places = Ranks(place, ranks.sizes[rows.instance], ties=alone)
        return Graded(found, ranks.grade[order], places)


class Source(Protocol):
    """The interface of a source of scores."""

    def standing(self, study: Study) -> Standing:
        """Ranks of the relevant items among all items."""

    def of(self, study: Study, user: Integers, item: Integers) -> Floats:
        """Scores of (user, item) pairs, given by numbers; -inf for an item that is not listed."""

    def listed(self, study: Study) -> Sparse:
        """Which ranked items have a score, users by items."""


class Listed:
    """Scores of some items of each user.

    Their pairs are given as ascending numbers user * n_items + item; `in_train` is how many of
    them are excluded from the study, `lengths` how many of the others each user has.
    """

    def __init__(self, key: Integers, score: Floats, study: Study) -> None:
        ranked, in_train = score > -np.inf, _common(keys_of(study.exclude), key)[1]
        ranked[in_train] = False
        self.in_train = len(in_train)
        self.key, self.score = key[ranked], score[ranked]
        self.lengths = counted(self.key // len(study.items), len(study.users))

    def standing(self, study: Study) -> Standing:
        irrelevant = np.ones(len(self.key), bool)
        irrelevant[_common(keys_of(study.relevant), self.key)[1]] = False
        user, score = owners(self.lengths)[irrelevant], self.score[irrelevant]
        own = self.of(study, *study.held_out)
        return _standing(user, score, study, own, study.sizes, self.lengths)

    def of(self, study: Study, user: Integers, item: Integers) -> Floats:
        found = np.full(len(user), -np.inf)
        which, place = _common(user * len(study.items) + item, self.key)
        found[which] = self.score[place]
        return found

    def listed(self, study: Study) -> Sparse:
        return sets_of(*np.divmod(self.key, len(study.items)), study.relevant.shape)


class WholeRows:
    """Scores of all items for each user: an array, a pair of factors, or ``scores(users)``.

    Only the items in `columns` are ranked; None means all.
    """

    def __init__(self, given: Any, name: str = "scores") -> None:
        self._given, self._asked, self._name = given, _scores_users(given), name
        self.columns: NDArray[Any] | None = None
        self.n_users, self.n_items = None, 0  # None if only the object knows its users
        if self._asked:
            self.n_items = self._block(np.zeros(1, np.int64)).shape[1]
        else:
            self._given = checked_scores(given, name)
            pair = isinstance(self._given, tuple)
            self.n_users, self.n_items = map(len, self._given) if pair else self._given.shape

    def standing(self, study: Study) -> Standing:
        parts, lengths, piles, are_orders = [], study.sizes, [], True
        for rows, scores in self._blocks(study):
            relevant, exclude = study.relevant[rows], study.exclude[rows]
            one_each = relevant.indices.astype(np.int64) if study.one_each else relevant
            ids = study.users[rows]
            parts.append(ranked(scores, one_each, exclude, ids=ids, name=self._name))
            if isinstance(scores, tuple):  # under factors hardly any scores are the same
                piles.append(Pile(np.inf, False, np.zeros(len(ids), np.int64)))
                are_orders = False
                continue
            listed = _has_score(scores, exclude)
            lengths[rows] = listed.sum(axis=1)
            listed[relevant.nonzero()] = False
            are_orders = are_orders and _are_orders(scores, listed)
            count = partial(np.sum, axis=1, dtype=np.int64)
            piles.append(Pile.of(np.where(listed, order.strengths_of(scores), np.inf), count))
        ranks = Ranks.concatenate(parts)
        if study.grades is not None:
            ranks = with_grades(ranks, self.of(study, *study.held_out), study.grades)
        lowest = min(one.lowest for one in piles)
        is_apart = any(one.is_apart and one.lowest == lowest for one in piles)
        sizes = np.concatenate([one.sizes * (one.lowest == lowest) for one in piles])
        return Standing(ranks, lengths, Pile(lowest, is_apart, sizes), are_orders)

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

    def listed(self, study: Study) -> Sparse:
        parts = []
        for rows, scores in self._blocks(study):
            if isinstance(scores, tuple):
                scores = np.zeros(study.relevant[rows].shape, bool)
            parts.append(sparse.csr_matrix(_has_score(scores, study.exclude[rows])))
        return sparse.vstack(parts, format="csr")

    def _block(self, users):
        """The scores of users, by numbers: an array (users, items), or a pair of factors."""
        columns = slice(None) if self.columns is None else self.columns
        if isinstance(self._given, tuple) and not self._asked:
            return self._given[0][users], self._given[1][columns]
        if not self._asked:
            return self._given[users][:, columns]
        found = numbers("scores(users)", self._given.scores(users))
        if found.ndim != 2 or len(found) != len(users) or self.n_items not in (0, found.shape[1]):
            items = f"{self.n_items} items, as for user 0" if self.n_items else "items"
            allowed = f"must have shape ({len(users)}, {items})"
            raise InputError("scores(users)", allowed).got(found.shape)
        return found[:, columns]

    def _blocks(self, study):
        """Blocks of users, each with its scores."""
        seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        tqdm = extra("tqdm", "tables").tqdm
        # Under factors no scores are formed here, and the items are looked through once a block.
        factors = isinstance(self._given, tuple) and not self._asked
        blocks = row_blocks(len(study.users), self.n_items, BLOCK * (256 if factors else 1))
        # Where a progress bar can be seen, the environment's TQDM_DISABLE decides.
        unseen = {} if seen else {"disable": True}
        users = study.users.astype(np.int64)
        for rows in tqdm(blocks, desc="users", unit="block", delay=2, leave=False, **unseen):
            yield rows, self._block(users[rows])


def standing_among(source: Source, study: Study, lists: Sparse) -> Standing:
    """Ranks of the relevant items among given irrelevant items of each user."""
    user, item = pairs_of(lists)
    score, own = source.of(study, user, item), source.of(study, *study.held_out)
    scored, n_users = score > -np.inf, len(study.users)
    sizes = np.diff(lists.indptr).astype(np.int64) + study.n_relevant
    lengths = counted(user[scored], n_users) + counted(study.held_out[0][own > -np.inf], n_users)
    return _standing(user[scored], score[scored], study, own, sizes, lengths)


def is_rows(source: Any) -> bool:
    """Whether it has whole rows of scores: an array, factors, or a ``scores`` method."""
    is_array = isinstance(source, (tuple, list)) or hasattr(source, "__array__")
    return is_array or _scores_users(source)


def _scores_users(source):
    return callable(getattr(source, "scores", None)) and not isinstance(source, type)


def _has_score(scores, exclude):
    """Which items are ranked and have a score."""
    some = scores > -np.inf
    some[exclude.nonzero()] = False
    return some


def _standing(user, score, study, own, sizes, lengths):
    """By scores of irrelevant items and the `own` ones of the relevant, see `_ranks_among`."""
    pile = Pile.of(score, lambda which: counted(user[which], len(lengths)))
    ranks = _ranks_among(user, score, study, own, sizes)
    return Standing(ranks, lengths, pile, _all_differ(user, score))


def _are_orders(scores, listed):
    """Whether the listed scores of each row are different whole numbers."""
    return _are_whole(scores[0][listed[0]]) and _all_differ(listed.nonzero()[0], scores[listed])


def _all_differ(user, score):
    """Whether the scores of each user are different whole numbers."""
    # The first user mostly tells already, without an order of all.
    first = score[user == user[:1]]
    if not _are_whole(score) or len(np.unique(first)) < len(first):
        return False
    order = np.lexsort((score, user))
    return not ((np.diff(score[order]) == 0) & (np.diff(user[order]) == 0)).any()


def _are_whole(score):
    return bool((score == np.floor(score)).all())


def _ranks_among(user, score, study, own, sizes):
    """Ranks of the relevant items among irrelevant ones, some of them with a score.

    `own` are the scores of the relevant items, user by user, -inf if not listed, and `sizes` the
    numbers of ranked items of each user. Items without a score are tied behind the others.
    """
    n_relevant = study.n_relevant
    mine, listed = owners(n_relevant), counted(user, len(n_relevant))
    count = _by_comparing if n_relevant.max() <= _FEW else _by_sorting
    above, tied = count(user, order.strength(score), order.strength(own), n_relevant)
    none = own == -np.inf
    above[none] = listed[mine[none]]
    tied[none] = (sizes - n_relevant - listed)[mine[none]]
    best_first = np.lexsort((tied, above, mine))
    above, tied = above[best_first], tied[best_first]
    ranks = ranks_from(above, tied, n_relevant, sizes, study.one_each, study.users)
    return ranks if study.grades is None else with_grades(ranks, own, study.grades)


def _by_comparing(user, strength, own, n_relevant):
    """How many irrelevant items of the user are above each relevant one, and tied with it."""
    counts, first = np.zeros((2, len(own)), np.int64), starts_of(n_relevant)
    for k in range(n_relevant.max()):
        some = np.flatnonzero(n_relevant > k)
        mine = np.full(len(n_relevant), np.nan)
        mine[some] = own[first[some] + k]
        mine = mine[user]
        for count, which in zip(counts, (strength > mine, strength == mine)):
            count[first[some] + k] = counted(user[which], len(n_relevant))[some]
    return counts


def _by_sorting(user, strength, own, n_relevant):
    """The same where users have many relevant items."""
    mine = owners(n_relevant)
    others, relevant = np.zeros(len(user), complex), np.zeros(len(own), complex)
    # NumPy orders complex numbers by their real part, and then by the imaginary one.
    others.real, others.imag, relevant.real, relevant.imag = user, strength, mine, own
    others.sort()
    lower, not_higher = (np.searchsorted(others, relevant, side) for side in ("left", "right"))
    return np.searchsorted(others.real, mine, "right") - not_higher, not_higher - lower


def _common(wanted, keys):
    """The places of what is in both, among what is wanted and among ascending keys."""
    place = np.searchsorted(keys, wanted)
    which = np.flatnonzero(place < len(keys))
    which = which[keys[place[which]] == wanted[which]]
    return which, place[which]
