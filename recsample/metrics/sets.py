"""Metrics of sets of recommended items, without order: precision, recall, F-score and coverage.

`precision`, `recall` and `f_score` compare the recommended and the relevant items of one user; for
the first k items of a ranking they are ``Precision @ k`` and so on of `recsample.metrics`. The two
coverages are of what was recommended to all users, relevant or not.

Reference: C. Manning, P. Raghavan, H. Schütze, "Introduction to Information Retrieval", Cambridge
University Press 2008, section 8.3.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from recsample._support import checks
from recsample._support.errors import InputError


def precision(recommended: Iterable[Hashable], relevant: Iterable[Hashable]) -> float:
    """Precision: the share of the recommended items that are relevant.

    Perfect min(L, k) / k for k recommended and L relevant among n items, random L / n, worst 0
    while there are k irrelevant items.

    Parameters
    ----------
    recommended, relevant : collection of hashable items
        The items of one user, in any order. A relevant one that is listed twice counts once, a
        recommended one is refused.

    Returns
    -------
    float
        NaN, with a warning, where nothing was recommended.

    Examples
    --------
    >>> from recsample.metrics.sets import precision
    >>> precision(recommended=range(10), relevant=range(5, 25))     # 5 / 10
    0.5
    """
    chosen, wanted = _recommended("recommended", recommended), _counts("relevant", relevant).keys()
    if not chosen:
        return _undefined("precision", "no recommended item")
    return len(chosen & wanted) / len(chosen)


def recall(recommended: Iterable[Hashable], relevant: Iterable[Hashable]) -> float:
    """Recall: the share of the relevant items that are recommended.

    Perfect min(L, k) / L for k recommended and L relevant among n items, random k / n, worst 0
    while there are k irrelevant items.

    Parameters
    ----------
    recommended, relevant : collection of hashable items
        As of `precision`.

    Returns
    -------
    float
        NaN, with a warning, where nothing is relevant.

    Examples
    --------
    >>> from recsample.metrics.sets import recall
    >>> recall(recommended=range(5), relevant=range(2, 22))     # 3 / 20
    0.15
    """
    chosen, wanted = _recommended("recommended", recommended), _counts("relevant", relevant).keys()
    if not wanted:
        return _undefined("recall", "no relevant item")
    return len(chosen & wanted) / len(wanted)


def f_score(
    recommended: Iterable[Hashable], relevant: Iterable[Hashable], beta: float = 1
) -> float:
    r"""F-score: the weighted harmonic mean of precision P and recall R.

    .. math::

        F_\beta = \frac{(1 + \beta^2) \, P R}{\beta^2 P + R}
                = \frac{(1 + \beta^2) \, \text{hits}}
                       {\beta^2 \, |\text{relevant}| + |\text{recommended}|}

    The second form also holds without a hit. Perfect with min(L, k) hits of k recommended and L
    relevant among n items, random with kL / n hits, worst 0 while there are k irrelevant items.

    Parameters
    ----------
    recommended, relevant : collection of hashable items
        As of `precision`.
    beta : float, optional
        How many times as much recall counts as precision, above 0.

    Returns
    -------
    float
        NaN, with a warning, where nothing was recommended and nothing is relevant.

    Examples
    --------
    >>> from recsample.metrics.sets import f_score
    >>> f_score(recommended=range(10), relevant=range(5, 25))     # precision 5/10, recall 5/20
    0.3333333333333333
    """
    chosen, wanted = _recommended("recommended", recommended), _counts("relevant", relevant).keys()
    beta = checks.positive_float("beta", beta)
    if not chosen and not wanted:
        return _undefined("F-score", "no recommended and no relevant item")
    hits = len(chosen & wanted)
    if not hits:
        return 0.0
    weight = 1 / (1 + beta * beta)
    return hits / (weight * len(chosen) + (1 - weight) * len(wanted))


def user_coverage(recommended: Iterable[Iterable[Hashable]]) -> float:
    """User coverage: the share of users who get at least one recommendation.

    Between 0 and 1, whatever is relevant: a random recommender covers every user.

    Parameters
    ----------
    recommended : sequence of collections of hashable items
        The recommended items of each user, an empty collection where there are none.

    Returns
    -------
    float

    Examples
    --------
    >>> from recsample.metrics.sets import user_coverage
    >>> user_coverage([["a", "b"], [], ["a"], ["c"]])
    0.75
    """
    return float(np.mean([len(items) > 0 for items in _by_user(recommended)]))


def item_coverage(recommended: Iterable[Iterable[Hashable]], n_items: int) -> float:
    """Item coverage: the share of the catalogue that is recommended to at least one user.

    Between 0 and 1, whatever is relevant: k random items for each of U users cover
    1 - (1 - k / n)^U of n items on average, usually more than a good recommender does.

    Parameters
    ----------
    recommended : sequence of collections of hashable items
        As of `user_coverage`.
    n_items : int
        Number of items that could be recommended.

    Returns
    -------
    float

    Examples
    --------
    >>> from recsample.metrics.sets import item_coverage
    >>> item_coverage([["a", "b"], [], ["a"], ["c"]], n_items=12)
    0.25
    """
    n_items = checks.positive_int("n_items", n_items)
    covered = len(set().union(*_by_user(recommended)))
    if covered > n_items:
        allowed = f"must be at least the number of different recommended items, {covered}"
        raise InputError("n_items", allowed).got(n_items)
    return covered / n_items


def _by_user(recommended):
    """The set of recommended items of each user."""
    if isinstance(recommended, (str, bytes, Mapping)) or not np.iterable(recommended):
        allowed = "must be one collection of items per user"
        raise InputError("recommended", allowed).got(checks.shown(recommended))
    users = [_recommended(f"recommended[{user}]", items) for user, items in enumerate(recommended)]
    if not users:
        raise InputError("recommended", "must hold at least one user").got("none")
    return users


def _recommended(name, items):
    """The set of recommended items; refuse duplicates."""
    counts = _counts(name, items)
    for item, count in counts.most_common(1):
        if count > 1:
            allowed = "must hold every item once"
            raise InputError(name, allowed).got(f"{checks.shown(item)} {count} times")
    return counts.keys()


def _counts(name, items):
    """Count how often each item is listed."""
    # Iterating over a sparse matrix gives its rows, which are hashable but no items.
    checks.refuse_masked(name, items)
    checks.refuse_frame(name, items, "choose the column of items")
    if isinstance(items, (str, bytes)) or checks.is_sparse(items) or not np.iterable(items):
        raise InputError(name, "must be a collection of items").got(checks.shown(items))
    items = items.tolist() if hasattr(items, "tolist") else list(items)
    try:
        counts = Counter(items)
    except TypeError:
        raise InputError(name, "must hold hashable items").got(checks.shown(items)) from None
    # NaN is not even equal to itself, so it would never be found among the relevant items.
    if any(one is not None and checks.is_missing(one) for one in counts):
        raise InputError(name, "must not have missing values").got(checks.shown(items))
    return counts


def _undefined(name, reason):
    warnings.warn(f"{name} is undefined ({reason}): nan", stacklevel=3)
    return float("nan")
