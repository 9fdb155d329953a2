"""Negatives that somebody else chose: a list of items for each user, against which to rank.

Many studies rank the held-out item among a published list of negatives instead of drawing anew.
`given_ranks` turns scores and such lists into sampled ranks. Before their numbers are trusted, two
questions can be put to the lists: `faults` counts what should not be in them, and `uniformity`
tests whether they look like uniform draws, each from its user's own candidates. Negatives drawn
properly come from `uniform_lists`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from recsample._counts import row_blocks
from recsample._scores import checked_scores, item_sets, refuse_shared, relevant_sets
from recsample._typing import Floats, Integers, Rng, Sparse
from recsample._validation import finite_numbers, generator, positive_int, whole_numbers
from recsample.ranks import Ranks, flattened, predicted_ranks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["faults", "given_ranks", "item_counts", "uniform_lists", "uniformity"]

# What `given_ranks` may leave out on request; an item that does not exist is always an error.
_DROPPABLE = ("duplicates", "relevant", "excluded")


def given_ranks(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike | Sparse,
    negatives: ArrayLike | Sequence[ArrayLike],
    exclude: Sparse | None = None,
    *,
    drop: Collection[str] = (),
) -> Ranks:
    """Ranks of the relevant items among given negatives, with ties counted.

    All relevant items of a user are ranked together against the user's list. Where only the listed
    items have been scored, `predicted_ranks` does the same: give it these scores as an array with
    the relevant item in the first column, and ``relevant=np.zeros(n_users, int)``.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
        As `predicted_ranks` takes them. Only the scores of relevant and listed items are looked at,
        and only these products are formed of a pair of factors.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant item of each user, or a matrix whose stored non-zeros are the relevant items.
    negatives : array_like of int, shape (users, m), or sequence of sequences of int
        The listed items of each user, in any order. Lists may differ in length.
    exclude : sparse matrix, shape (users, items), optional
        Items that should not be listed, such as the training set.
    drop : collection of {"duplicates", "relevant", "excluded"}, optional
        Which wrong entries to leave out: all but the first of several equal ones, relevant items of
        the user, excluded items. The list becomes shorter by as much.

    Returns
    -------
    Ranks
        With the length of the list plus the relevant items as ``n_items``, one number per user.

    Raises
    ------
    ValueError
        For a list with an entry that is wrong and not in `drop`, with an item that does not exist
        or with nothing left; for a score that is NaN, and shapes that do not fit. The message
        names the user.

    See Also
    --------
    faults : How many entries of each list are wrong, and in what way.

    Examples
    --------
    The second user's list holds the held-out item itself:

    >>> import recsample as rs
    >>> scores = [[.9, .5, .1, .5, .3], [.2, .7, .1, .0, .4]]
    >>> ranks = rs.given_ranks(scores, [1, 4], [[0, 3], [4, 2]], drop=["relevant"])
    >>> ranks.values, ranks.ties, ranks.n_items
    (array([2, 1]), array([1, 0]), array([3, 2]))
    """
    pick, n_users, n_items = _picked_scores(scores)
    sets = relevant_sets(relevant, n_users, n_items)
    kinds = isinstance(drop, Collection) and not isinstance(drop, str)
    if not kinds or any(kind not in _DROPPABLE for kind in drop):
        raise ValueError(f"drop must hold kinds of {list(_DROPPABLE)}, got {drop!r}")
    lists = _lists(negatives, n_users)
    kept = np.ones(len(lists.item), bool)
    for kind, wrong in _wrong(lists, sets, exclude, n_items).items():
        if kind in drop:
            kept &= ~wrong
        elif wrong.any():
            where = int(np.argmax(wrong))
            raise ValueError(
                f"negatives must not hold {_SHOWN[kind]}, got item {lists.item[where]} "
                f"for user {lists.user[where]}"
            )
    user, item = lists.user[kept], lists.item[kept]
    length = np.bincount(user, minlength=n_users)
    if not length.all():
        raise ValueError(
            f"negatives must hold an item for every user, got none for user {np.argmin(length)}"
        )

    # One row per user: the relevant items, then the negatives, then nothing.
    n_relevant = np.diff(sets.indptr)
    width = n_relevant + length
    filled = np.arange(width.max()) < width[:, None]
    is_relevant = np.arange(width.max()) < n_relevant[:, None]
    candidates = np.zeros(filled.shape, np.int64)
    candidates[is_relevant] = sets.indices
    candidates[filled & ~is_relevant] = item
    chosen = pick(candidates)
    nan = np.isnan(chosen) & filled
    if nan.any():
        where, place = np.argwhere(nan)[0]
        raise ValueError(
            f"scores must not be NaN, got NaN for user {where}, item {candidates[where, place]}"
        )
    chosen[~filled] = 0.0
    one_each = not sparse.issparse(relevant)
    return predicted_ranks(
        chosen,
        np.zeros(n_users, np.int64) if one_each else sparse.csr_matrix(is_relevant),
        exclude=sparse.csr_matrix(~filled),
    )


def faults(
    negatives: ArrayLike | Sequence[ArrayLike],
    relevant: ArrayLike | Sparse,
    n_items: int,
    exclude: Sparse | None = None,
) -> pd.DataFrame:
    """How many entries of each user's list of negatives are wrong, and in what way.

    Parameters
    ----------
    negatives : array_like of int, shape (users, m), or sequence of sequences of int
        The listed items of each user.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant items.
    n_items : int
        Size of the catalogue. Items are numbered from 0.
    exclude : sparse matrix, shape (users, items), optional
        Items that should not be listed, such as the training set.

    Returns
    -------
    pandas.DataFrame
        One row per user, and a column for each kind of fault: "duplicates" (entries that stand in
        the list already), "relevant" (relevant items of the user), "excluded" (excluded ones),
        "unknown" (numbers that are no item's) and "missing" (by how much the list is shorter than
        the longest). An entry can be wrong in several ways.

    Raises
    ------
    ValueError
        For what is not a list per user, and shapes that do not fit.

    Examples
    --------
    How many users are concerned:

    >>> from recsample import negatives
    >>> found = negatives.faults([[2, 3, 3], [4, 0]], relevant=[1, 4], n_items=5)
    >>> (found > 0).sum()
    duplicates    1
    relevant      1
    excluded      0
    unknown       0
    missing       1
    dtype: int64
    """
    import pandas as pd

    n_items = positive_int("n_items", n_items)
    n_users = _n_users(relevant)
    lists = _lists(negatives, n_users)
    found = _wrong(lists, relevant_sets(relevant, n_users, n_items), exclude, n_items)
    columns = {
        kind: np.bincount(lists.user[wrong], minlength=n_users) for kind, wrong in found.items()
    }
    columns["missing"] = lists.length.max() - lists.length
    order = [*_DROPPABLE, "unknown", "missing"]
    return pd.DataFrame(columns, index=pd.RangeIndex(n_users, name="user"))[order]


def item_counts(negatives: ArrayLike | Sequence[ArrayLike], exclude: Sparse) -> pd.DataFrame:
    """How often each item is listed, and how often it would be if the lists were uniform draws.

    A user's list is taken for a draw without replacement from the user's candidates, which are all
    items but the excluded ones, and the lists of different users for independent. With m of N
    candidates drawn, each is listed with probability m / N.

    Parameters
    ----------
    negatives : array_like of int, shape (users, m), or sequence of sequences of int
        The listed items of each user.
    exclude : sparse matrix, shape (users, items)
        The items that could not be drawn, such as the training set. It must hold the relevant items
        too, if these could not be drawn.

    Returns
    -------
    pandas.DataFrame
        One row per item, with the columns "observed", "expected" and "std".

    Raises
    ------
    ValueError
        For a list with an item twice, or with one that is no candidate; the message names the user.

    Examples
    --------
    >>> from scipy import sparse
    >>> from recsample import negatives
    >>> nothing = sparse.csr_matrix((2, 4), dtype=bool)
    >>> counts = negatives.item_counts([[0, 1], [0, 2]], exclude=nothing)
    >>> counts["observed"].tolist(), counts["expected"].tolist()
    ([2, 1, 1, 0], [1.0, 1.0, 1.0, 1.0])
    """
    import pandas as pd

    lists, exclude = _drawn_lists(negatives, exclude)
    counts = _counts(lists, exclude)
    columns = {"observed": counts.observed, "expected": counts.expected}
    return pd.DataFrame(
        columns | {"std": np.sqrt(counts.variance)},
        index=pd.RangeIndex(exclude.shape[1], name="item"),
    )


def uniformity(
    negatives: ArrayLike | Sequence[ArrayLike],
    exclude: Sparse,
    *,
    along: ArrayLike | None = None,
) -> pd.DataFrame:
    r"""Two tests of whether the lists look like uniform draws from each user's own candidates.

    *Item counts* asks whether some items are listed more often than others. The statistic adds up
    :math:`(O_i - E_i)^2 / V_i` over the items, with the mean :math:`E_i` and variance :math:`V_i`
    of `item_counts`. Its mean and its variance are exact; the p-value is that of the gamma law with
    this mean and variance, the chance of so large a statistic. *Mean item* asks whether the lists
    lean towards one end of the catalogue. It compares the mean of the listed items' numbers, or of
    other values along which the lists may lean, with its exact mean and variance; the p-value is
    two-sided, by the normal law.

    Parameters
    ----------
    negatives : array_like of int, shape (users, m), or sequence of sequences of int
        The listed items of each user.
    exclude : sparse matrix, shape (users, items)
        The items that could not be drawn, such as the training set. It must hold the relevant items
        too, if these could not be drawn.
    along : array_like of float, shape (items,), optional
        A value of each item for the second test, such as its popularity; by default its number.

    Returns
    -------
    pandas.DataFrame
        Rows "item counts" and "mean item"; columns "observed", "expected", "std", "z" (how many
        standard deviations the first is above the second) and "p-value".

    Raises
    ------
    ValueError
        For a list with an item twice, or with one that is no candidate (the message names the
        user), and an `along` that does not fit.

    Notes
    -----
    With :math:`m` of :math:`N` candidates drawn, :math:`p = m / N` and :math:`v = p (1 - p)`, two
    candidates have covariance :math:`-v / (N - 1)` within a list. Summed over the users this gives
    the covariance :math:`V` of the counts. With :math:`d_i = 1 / V_i` and sums over a user's
    candidates, the variance of the statistic is

    .. math:: 2 \sum_{ij} \frac{V_{ij}^2}{V_i V_j}
              - 2 \sum_u w^2 \Bigl( (1 - \tfrac{2}{N}) \sum_i d_i^2
                                    + \tfrac{1}{N^2} \bigl( \sum_i d_i \bigr)^2 \Bigr)
              + \sum_u (1 - 2 p)^2 \, m (1 - p) \, S^2(d) ,

    where :math:`w = v N / (N - 1)` and :math:`S^2(d)` is the sample variance of the :math:`d_i`.
    The first line is what a normal law would give; the other terms account for the users' lists
    not being normal.

    Examples
    --------
    An honest sampler, and one that keeps the ten lowest of twenty items:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from recsample import negatives
    >>> nothing = sparse.csr_matrix((50, 100), dtype=bool)
    >>> honest = negatives.uniform_lists(20, nothing, rng=1)
    >>> bool((negatives.uniformity(honest, nothing)["p-value"] > 0.05).all())
    True
    >>> lowest = np.sort(honest, axis=1)[:, :10]
    >>> bool((negatives.uniformity(lowest, nothing)["p-value"] < 1e-9).all())
    True
    """
    import pandas as pd

    lists, exclude = _drawn_lists(negatives, exclude)
    n_items = exclude.shape[1]
    value = np.arange(n_items) if along is None else finite_numbers("along", along)
    if value.shape != (n_items,):
        raise ValueError(
            f"along must hold one value for each of the {n_items} items, "
            f"got an array of shape {value.shape}"
        )
    rows = {
        "item counts": _count_statistic(lists, exclude),
        "mean item": _mean_statistic(lists, exclude, value.astype(float)),
    }
    names = ["observed", "expected", "std", "z", "p-value"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


def uniform_lists(m: int, exclude: Sparse, rng: Rng) -> Integers:
    """Lists of negatives as they should be: uniform draws from each user's candidates.

    Parameters
    ----------
    m : int
        Length of each list.
    exclude : sparse matrix, shape (users, items)
        The items that are not drawn: the training set and the relevant items.
    rng : int or numpy.random.Generator
        A seed, or a generator that is advanced.

    Returns
    -------
    ndarray of int, shape (users, m)
        Without repetition within a user, in random order.

    Raises
    ------
    ValueError
        If a user has fewer than m candidates; the message names the user.

    Examples
    --------
    >>> from scipy import sparse
    >>> from recsample import negatives
    >>> exclude = sparse.csr_matrix([[1, 1, 0, 0], [0, 0, 1, 1]])
    >>> negatives.uniform_lists(2, exclude, rng=0).tolist()
    [[2, 3], [1, 0]]
    """
    m, exclude, rng = positive_int("m", m), as_excluded(exclude), generator(rng)
    candidates = candidates_of(exclude, m)
    return np.stack([rng.choice(items, m, replace=False) for items in candidates])


class _Lists(NamedTuple):
    """One row per entry of a list, and the length of each user's list."""

    user: Integers
    item: Integers
    length: Integers


def _n_users(relevant: Any) -> int:
    return relevant.shape[0] if sparse.issparse(relevant) else np.size(relevant)


def _lists(negatives: Any, n_users: int) -> _Lists:
    flat, length, nested = flattened("negatives", negatives)
    if not nested or len(length) != n_users:
        raise ValueError(
            f"negatives must hold a list of items for each of the {n_users} users, "
            f"got {len(length)} {'lists' if nested else 'numbers'}"
        )
    return _Lists(np.repeat(np.arange(n_users), length), whole_numbers("negatives", flat), length)


_SHOWN = {
    "unknown": "items that do not exist",
    "duplicates": "an item twice",
    "relevant": "a relevant item of the user (see drop)",
    "excluded": "an excluded item",
}


def _wrong(lists, relevant, exclude, n_items):
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
        "relevant": np.isin(pair, _pairs(relevant)),
        "excluded": np.isin(pair, _pairs(exclude)),
    }


def _pairs(sets):
    """The stored elements of a matrix as numbers user * n_items + item."""
    rows = np.repeat(np.arange(sets.shape[0]), np.diff(sets.indptr))
    return rows * sets.shape[1] + sets.indices


def _picked_scores(scores):
    """A function from candidates (users, width) to their scores, and the numbers of both."""
    scores = checked_scores(scores)
    if not isinstance(scores, tuple):

        def entries(candidates):
            return np.take_along_axis(scores, candidates, axis=1).astype(float)

        return entries, *scores.shape
    users, items = scores

    def products(candidates):
        chosen = np.empty(candidates.shape)
        for rows in row_blocks(len(chosen), candidates.shape[1] * max(1, users.shape[1])):
            # A matrix product may round the scores of equal items differently and lose a tie.
            chosen[rows] = (users[rows, None] * items[candidates[rows]]).sum(axis=2)
        return chosen

    return products, len(users), len(items)


def as_excluded(exclude):
    """The excluded items as a boolean matrix; without any, an empty matrix must be given."""
    if not sparse.issparse(exclude) or 0 in exclude.shape:
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


def _drawn_lists(negatives, exclude):
    """The lists and the excluded items, where the lists can be draws from what is not excluded."""
    exclude = as_excluded(exclude)
    lists = _lists(negatives, exclude.shape[0])
    none = sparse.csr_matrix(exclude.shape, dtype=bool)
    for kind, wrong in _wrong(lists, none, exclude, exclude.shape[1]).items():
        if wrong.any():
            where = int(np.argmax(wrong))
            raise ValueError(
                f"negatives must not hold {_SHOWN[kind]}, got item {lists.item[where]} "
                f"for user {lists.user[where]}"
            )
    return lists, exclude


class _Draws(NamedTuple):
    """What the draw of each user is like; an array (users,) each."""

    pool: Floats  # N, the number of candidates
    drawn: Floats  # m
    share: Floats  # p = m / N
    variance: Floats  # v = p (1 - p), of one candidate's indicator
    covariance: Floats  # v / (N - 1), minus that of two of them


def _draws(lists, exclude):
    # A user without candidates has no list: any pool does.
    pool = np.maximum(exclude.shape[1] - np.diff(exclude.indptr), 1).astype(float)
    share = lists.length / pool
    variance = share * (1 - share)
    covariance = variance / np.maximum(pool - 1, 1)
    return _Draws(pool, lists.length.astype(float), share, variance, covariance)


def _over_items(exclude, per_user):
    """For each item, the sum of a number over the users who have it as a candidate."""
    return per_user.sum() - exclude.T @ per_user


def _over_candidates(exclude, per_item):
    """For each user, the sum of a number over the candidates."""
    return per_item.sum() - exclude @ per_item


class _Counts(NamedTuple):
    observed: Integers
    expected: Floats
    variance: Floats


def _counts(lists, exclude):
    draws = _draws(lists, exclude)
    observed = np.bincount(lists.item, minlength=exclude.shape[1])
    variance = _over_items(exclude, draws.variance)
    # Counted, since rounding could leave an item that nobody could draw a little variance.
    chances = _over_items(exclude, (draws.variance > 0).astype(np.int64))
    return _Counts(
        observed, _over_items(exclude, draws.share), np.where(chances > 0, variance, 0.0)
    )


def _count_statistic(lists, exclude):
    """Observed, expected, std, z and p-value of the sum of squared standardised counts."""
    draws, counts = _draws(lists, exclude), _counts(lists, exclude)
    active = counts.variance > 0
    weight = np.divide(1.0, counts.variance, out=np.zeros(len(active)), where=active)
    observed = float((weight * (counts.observed - counts.expected) ** 2).sum())
    expected = float(active.sum())

    ones, squares = (_over_candidates(exclude, weight**k) for k in (1, 2))
    pool, share = draws.pool, draws.share
    one_list = (pool * draws.covariance) ** 2 * ((1 - 2 / pool) * squares + (ones / pool) ** 2)
    spread = (squares - ones**2 / pool) / np.maximum(pool - 1, 1)
    own = (1 - 2 * share) ** 2 * draws.drawn * (1 - share) * spread
    normal = _squared_correlations(exclude, draws.covariance, counts.variance, weight)
    variance = 2 * (normal - one_list.sum()) + own.sum()
    # Lists of which each item must be in as many as it is leave nothing to test.
    if variance <= 1e-9 * expected:
        return observed, expected, 0.0, 0.0, 1.0
    shape, scale = expected**2 / variance, variance / expected
    z = (observed - expected) / np.sqrt(variance)
    return (
        observed,
        expected,
        np.sqrt(variance),
        z,
        float(special.gammaincc(shape, observed / scale)),
    )


def _squared_correlations(exclude, covariance, variance, weight):
    """The sum of V_ij^2 / (V_i V_j) over all pairs of items, a block of rows at a time."""
    n_items = exclude.shape[1]
    # V_ij = -sum of the covariances of the users who have both: all, but those who lack i or j.
    lacking = exclude.T @ covariance
    columns = exclude.T.tocsr().astype(float)
    weighted = sparse.diags(covariance) @ exclude.astype(float)
    total = 0.0
    for rows in row_blocks(n_items, n_items):
        block = (columns[rows] @ weighted).toarray()
        block += covariance.sum() - lacking[rows, None] - lacking
        block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = variance[rows]
        total += float(weight[rows] @ block**2 @ weight)
    return total


def _mean_statistic(lists, exclude, value):
    """The same of the mean value of the listed items."""
    draws = _draws(lists, exclude)
    centre = value.mean()
    value = value - centre  # for the accuracy of the variances
    ones, squares = (_over_candidates(exclude, value**k) for k in (1, 2))
    spread = (squares - ones**2 / draws.pool) / np.maximum(draws.pool - 1, 1)
    variance = (draws.drawn * (1 - draws.share) * np.maximum(spread, 0)).sum()
    n = len(lists.item)
    observed, expected = value[lists.item].sum() / n, (draws.share * ones).sum() / n
    std = np.sqrt(variance) / n
    if std <= 1e-12 * np.abs(value).max(initial=0):
        return centre + observed, centre + expected, 0.0, 0.0, 1.0
    z = (observed - expected) / std
    return centre + observed, centre + expected, std, z, 2 * float(special.ndtr(-abs(z)))
