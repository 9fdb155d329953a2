"""Checks of given lists of negatives.

`faults` counts wrong entries, and `uniformity` tests whether the lists look like uniform draws,
each from its user's own candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from recsample._support.arrays import counted, row_blocks
from recsample._support.checks import array_of, finite_numbers, positive_int
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.typing import Floats, Sparse
from recsample.ranks.scores import relevant_sets
from recsample.sampling.given_lists import (
    Lists,
    as_excluded,
    read_lists,
    right_entries,
    wrong_entries,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["faults", "uniformity"]


def faults(
    negatives: ArrayLike | Sequence[ArrayLike],
    relevant: ArrayLike | Sparse,
    n_items: int,
    exclude: Sparse | None = None,
) -> pd.DataFrame:
    """Count the wrong entries in each user's list of negatives, by kind of fault.

    Parameters
    ----------
    negatives : array_like of int, shape (users, m), or sequence of sequences of int
        The listed items of each user.
    relevant : array_like of int, shape (users,), or sparse matrix, shape (users, items)
    n_items : int
        Size of the catalogue. Items are numbered from 0.
    exclude : sparse matrix, shape (users, items), optional
        Items that should not be listed, such as the training set.

    Returns
    -------
    pandas.DataFrame
        One row per user, and a column for each kind of fault: "duplicates" (repeated entries),
        "relevant" (relevant items of the user), "excluded" (excluded ones), "unknown" (numbers of
        no item) and "missing" (by how much the list is shorter than the longest). An entry can be
        wrong in several ways.

    Examples
    --------
    >>> from recsample.sampling import list_checks
    >>> found = list_checks.faults([[2, 3, 3], [4, 0]], relevant=[1, 4], n_items=5)
    >>> (found > 0).sum().to_dict()  # how many users are concerned
    {'duplicates': 1, 'relevant': 1, 'excluded': 0, 'unknown': 0, 'missing': 1}
    """
    pd = extra("pandas")
    n_items = positive_int("n_items", n_items)
    n_users = _n_users(relevant)
    lists = read_lists(negatives, n_users)
    found = wrong_entries(lists, relevant_sets(relevant, n_users, n_items), exclude, n_items)
    columns = {kind: counted(lists.user[wrong], n_users) for kind, wrong in found.items()}
    columns["missing"] = lists.length.max() - lists.length
    order = ["duplicates", "relevant", "excluded", "unknown", "missing"]
    return pd.DataFrame(columns, index=pd.RangeIndex(n_users, name="user"))[order]


def _n_users(relevant):
    return relevant.shape[0] if sparse.issparse(relevant) else array_of("relevant", relevant).size


def uniformity(
    negatives: ArrayLike | Sequence[ArrayLike], exclude: Sparse, *, along: ArrayLike | None = None
) -> pd.DataFrame:
    r"""Two tests of whether the lists look like uniform draws from each user's own candidates.

    *Item counts* tests whether some items are listed more often than others. The statistic adds up
    :math:`(O_i - E_i)^2 / V_i` over the items, with the mean :math:`E_i` and variance :math:`V_i`
    of how often an item is in uniform lists. Its mean and its variance are exact; the p-value is
    that of the gamma law with this mean and variance. *Mean item* tests whether the lists favour
    one end of the catalogue. It compares the mean of the listed items' numbers, or of other values
    that the lists may favour, with its exact mean and variance; the p-value is two-sided, by the
    normal law.

    Parameters
    ----------
    negatives : array_like of int, shape (users, m), or sequence of sequences of int
        Each list a draw without replacement from the user's candidates.
    exclude : sparse matrix, shape (users, items)
        The items that could not be drawn: the training set, and usually the relevant items.
    along : array_like of float, shape (items,), optional
        A value of each item for the second test, such as its popularity; by default its number.

    Returns
    -------
    pandas.DataFrame
        Rows "item counts" and "mean item"; columns "observed", "expected", "std", "z" (how many
        standard deviations the first is above the second) and "p-value".

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
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from recsample.sampling import given_lists, list_checks
    >>> nothing = sparse.csr_matrix((50, 100), dtype=bool)
    >>> honest = given_lists.uniform_lists(20, nothing, rng=1)
    >>> bool((list_checks.uniformity(honest, nothing)["p-value"] > 0.05).all())
    True
    >>> lowest = np.sort(honest, axis=1)[:, :10]
    >>> bool((list_checks.uniformity(lowest, nothing)["p-value"] < 1e-9).all())
    True
    """
    pd = extra("pandas")
    exclude = as_excluded(exclude)
    lists = read_lists(negatives, exclude.shape[0])
    no_relevant = sparse.csr_matrix(exclude.shape, dtype=bool)
    right_entries(lists, no_relevant, exclude, exclude.shape[1])  # refuses those that are wrong
    if not len(lists.item):
        raise InputError("negatives", "must list at least one item").got("empty lists only")
    n_items = exclude.shape[1]
    value = np.arange(n_items) if along is None else finite_numbers("along", along)
    if value.shape != (n_items,):
        allowed = f"must hold one value for each of the {n_items} items"
        raise InputError("along", allowed).got(f"an array of shape {value.shape}")
    rows = {
        "item counts": count_statistic(lists, exclude),
        "mean item": mean_statistic(lists, exclude, value.astype(float)),
    }
    names = ["observed", "expected", "std", "z", "p-value"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


class _Draws(NamedTuple):
    """Properties of the draw of each user; an array (users,) each."""

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


def _counts(lists, exclude):
    """How often each item is listed, and the mean and the variance of that under uniform draws."""
    draws = _draws(lists, exclude)
    variance = _over_items(exclude, draws.variance)
    # Counted, since rounding could leave an item that nobody could draw a little variance.
    chances = _over_items(exclude, (draws.variance > 0).astype(np.int64))
    observed, expected = counted(lists.item, exclude.shape[1]), _over_items(exclude, draws.share)
    return observed, expected, np.where(chances > 0, variance, 0.0)


def count_statistic(lists: Lists, exclude: Sparse) -> tuple[float, float, float, float, float]:
    """Observed, expected, std, z and p-value of the sum of squared standardised counts."""
    draws, (count, mean, of_count) = _draws(lists, exclude), _counts(lists, exclude)
    active = of_count > 0
    weight = np.divide(1.0, of_count, out=np.zeros(len(active)), where=active)
    observed = float((weight * (count - mean) ** 2).sum())
    expected = float(active.sum())

    # Sums over the candidates of each user of the weights and of their squares.
    ones, squares = (_over_candidates(exclude, weight**k) for k in (1, 2))
    pool, share = draws.pool, draws.share
    # Were the counts normal, the variance would be twice the sum of their squared correlations.
    normal = _squared_correlations(exclude, draws.covariance, of_count, weight)
    # But a product of two indicators of one list is no product of normal numbers: each list's own
    # part of that sum is taken out, and what it really adds is put in its place.
    one_list = (pool * draws.covariance) ** 2 * ((1 - 2 / pool) * squares + (ones / pool) ** 2)
    spread = (squares - ones**2 / pool) / np.maximum(pool - 1, 1)
    own = (1 - 2 * share) ** 2 * draws.drawn * (1 - share) * spread
    variance = 2 * (normal - one_list.sum()) + own.sum()
    # Where all counts are determined, there is nothing to test.
    if variance <= 1e-9 * expected:
        return observed, expected, 0.0, 0.0, 1.0
    shape, scale = expected**2 / variance, variance / expected
    std, chance = np.sqrt(variance), float(special.gammaincc(shape, observed / scale))
    return observed, expected, std, (observed - expected) / std, chance


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


def mean_statistic(
    lists: Lists, exclude: Sparse, value: Floats
) -> tuple[float, float, float, float, float]:
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
