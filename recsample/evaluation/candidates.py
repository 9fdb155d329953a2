"""Lists of candidates, as sampled studies leave them, told from lists of a recommender's best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from recsample._support.arrays import repeated
from recsample._support.typing import Integers
from recsample.ranks.predicted import Listed, Study
from recsample.ranks.scores import keys_of, sets_of

# Lists of the best that hold so many held-out items this seldom are refused.
_SURPRISE = 1e-3
# Of so many held-out items none is missed: with Recall at .99 in one of 20 tables; fewer than the
# last say nothing.
_MANY, _SOME = 300, 20
# Of the best items there are lists that miss so few, for small tasks.
_BELIEVED = 0.02
_HINT = 0.05
# Of so many users the lists are compared.
_SAMPLED = 200


class Doubt(NamedTuple):
    """Why lists look like lists of candidates, and whether beyond doubt."""

    why: str
    certain: bool


class _Hits(NamedTuple):
    """Where the held-out items stand in the lists of those users who have one."""

    n_relevant: Integers  # of each user
    length: Integers  # of the list of each held-out item's user
    pool: Integers  # and from how many items it is
    position: Integers  # in the list; beyond its end for a miss
    ties: Integers

    @property
    def missed(self):
        return self.position > self.length


def doubts(sources: Mapping[str, Listed], study: Study) -> dict[str, Doubt]:
    """By recommender, why its lists look like lists of candidates."""
    short = {name: one for name, one in sources.items() if is_short(one, study)}
    found = {name: _hits(one, study) for name, one in short.items()}
    found = {
        name: hits
        for name, hits in found.items()
        if hits is not None and _telling(hits, short[name], study)
    }
    said = {name: why for name, hits in found.items() if (why := _doubt(hits, short[name], study))}
    if len(short) > 1 and len(found) == len(short) and _same_lists(short, found):
        said |= dict.fromkeys(short, Doubt("all recommenders list the same items", True))
    return said


def is_short(source: Listed, study: Study) -> bool:
    """Whether some user's list holds fewer items than are ranked."""
    return bool((source.lengths < study.sizes).any())


def pools_of(source: Listed, study: Study) -> tuple[NDArray[Any], Integers]:
    """Which items its lists hold at all, and how many of these each user could have.

    Lists are short of these only: others, the recommender may not know.
    """
    known = np.zeros(len(study.items), bool)
    known[source.key % len(study.items)] = True
    in_train = np.asarray(study.exclude[:, known].sum(axis=1)).ravel()
    return known, (known.sum() - in_train).astype(np.int64)


def _hits(source, study):
    """Where held-out items stand, None where no list holds an item."""
    user = study.held_out[0]
    has = source.lengths > 0
    mine = has[user]
    if not mine.any():
        return None
    pool = pools_of(source, study)[1]
    ranks = source.ranks(study)
    position = np.concatenate([np.atleast_1d(one) for one in ranks.values]).astype(np.int64)
    ties = np.concatenate([np.atleast_1d(one) for one in ranks.ties]).astype(np.int64)
    return _Hits(
        study.n_relevant[has],
        source.lengths[user][mine],
        pool[user][mine],
        position[mine],
        ties[mine],
    )


def _telling(hits, source, study):
    """Whether lists are such that something is missed: not all that is new to each user."""
    if hits.missed.all():
        return False
    share = hits.length / hits.pool
    others = hits.length - repeated(hits.n_relevant, hits.n_relevant)
    alike = max(np.unique(one, return_counts=True)[1].max() for one in (hits.length, others))
    most = 0.75 if alike >= 0.9 * len(share) else 0.5
    if (share >= most).mean() <= 0.1:
        return True
    # One list for everybody: what else there is, nobody lists but those who have it held out.
    relevant, n_items = keys_of(study.relevant), len(study.items)
    by_others = np.setdiff1d(source.key, relevant) % n_items
    mine = np.intersect1d(source.key, relevant) % n_items
    return bool((~np.isin(mine, by_others)).mean() > 0.2)


def _doubt(hits, source, study):
    if not _unrelated(source, study):
        return None
    missed, n = int(hits.missed.sum()), len(hits.position)
    too_few = "more held-out items stand in its lists than lists of the best could hold"
    p = few_misses(hits)
    if p < _SURPRISE and not 0 < missed <= _BELIEVED * n:
        return Doubt(too_few, True)
    # The rest is of lists that hold all held-out items, which so short ones would not by chance.
    if missed or n < _SOME or np.log(hits.length / hits.pool).sum() > np.log(_SURPRISE):
        return None
    if _one_more(hits, source):
        return Doubt("its lists hold every held-out item and a fixed number of others", True)
    why = "its lists hold every held-out item, and any two have as much in common"
    return Doubt(why, n >= _MANY or p < _HINT)


def _unrelated(source, study):
    """Whether the lists of any two users overlap as little or much as independent draws do.

    Let a list hold each item that is new to the user with a chance of its own, times the length of
    the list. Two lists then have in common what these chances say, give or take a variance that
    follows from them. Lists of a recommender are alike for users who are, and vary far more.
    """
    n_users, n_items = study.relevant.shape
    user, item = np.divmod(np.setdiff1d(source.key, keys_of(study.relevant)), n_items)
    some = np.linspace(0, n_users - 1, min(n_users, _SAMPLED)).astype(np.int64)
    lists = sets_of(user, item, study.relevant.shape)[some].astype(float)
    own = (study.exclude + study.relevant)[some].astype(float)
    length = np.asarray(lists.sum(axis=1)).ravel()
    length /= max(1.0, length.mean())
    new = length.sum() - own.T @ length
    chance = np.asarray(lists.sum(axis=0)).ravel() / np.maximum(new, 1)
    # What a list holds beyond its chances, length x chance of what is new, in two sparse parts.
    held = lists + own.multiply(np.outer(length, chance)).tocsr()
    across = np.outer(length, held @ chance)
    both = np.outer(length, length) * (chance @ chance)
    common = (held @ held.T).toarray() - across - across.T + both
    first, second = np.triu_indices(len(some), 1)
    if not len(first):
        return True
    square, cube, fourth = (np.sum(chance**power) for power in (2, 3, 4))
    a, b = length[first], length[second]
    expected = a * b * (square - (a + b) * cube + a * b * fourth)
    return bool(common[first, second].var() <= 1.5 * expected.mean() + 0.01)


def few_misses(hits: _Hits) -> float:
    r"""How likely lists of the best have so few misses, after hits so far down (a p-value).

    Compared with a random ranking, a recommender is better at the top than further down. Let
    :math:`S(r)` be the share of held-out items behind rank r, :math:`1 - r / n` that of a random
    ranking, and :math:`t(r) = -\log(1 - r / n)`. Then :math:`\log S` is convex in t: for rankings
    at random it is :math:`-t`, for ranks that decay geometrically or by a power of the rank, and
    for scores that are normal among relevant and irrelevant items it bends upwards, and so it does
    for mixtures of these. With a list of k items and :math:`a < b < k`,

    .. math:: \frac{S(k)}{S(b)} \ge \Big(\frac{S(b)}{S(a)}\Big)^\rho, \qquad
        \rho = \frac{t(k) - t(b)}{t(b) - t(a)} .

    Candidates break it: held-out items stand all over the list, and none behind its end. Tested by
    the signed root of the likelihood ratio of two binomial laws, for b = k / 2 and k / 4 and a half
    of it, the smaller p-value doubled. Lists with many ties do not say how far down an item stands.
    """
    tied = hits.ties > hits.length / 10
    if tied[~hits.missed].mean() > 0.1:
        return 1.0
    place = (hits.position + np.minimum(hits.ties, hits.length) / 2) / hits.length
    place[hits.missed] = np.inf
    share = (hits.length / hits.pool).max()  # of the list that leaves the most to chance
    if share >= 1 or hits.length.min() < 8:
        return 1.0
    p = [
        _p_value(place, a, 2 * a, -np.log1p(-share * np.array([a, 2 * a, 1])))
        for a in (1 / 8, 1 / 4)
    ]
    return 2 * min(p)


def _p_value(place, a, b, t):
    """Of misses too few, given how many held-out items stand behind a and b."""
    after_a, after_b, missed = (int((place > end).sum()) for end in (a, b, 1))
    rho = (t[2] - t[1]) / (t[1] - t[0])
    if not after_b or missed / after_b >= (after_b / after_a) ** rho:
        return 1.0

    def minus(log_share, log_missed):
        """The log-likelihood, times -1."""
        return -(
            after_b * log_share
            + special.xlog1py(after_a - after_b, -np.exp(log_share))
            + (missed * log_missed if missed else 0)
            + special.xlog1py(after_b - missed, -np.exp(log_missed))
        )

    free = minus(np.log(after_b / after_a), np.log(missed / after_b) if missed else -np.inf)
    bounds = (np.log(1e-9), -1e-12)
    bound = optimize.minimize_scalar(lambda x: minus(x, rho * x), bounds=bounds, method="bounded")
    return float(special.ndtr(-np.sqrt(max(0.0, 2 * (bound.fun - free)))))


def _one_more(hits, source):
    """Whether lists are so many irrelevant items each, beside all relevant ones."""
    others = np.unique(source.lengths[source.lengths > 0] - hits.n_relevant)
    if len(others) > 1:
        return False
    # As many of the best as somebody asks for are 10 or 50, hardly 11 or 51.
    several = len(np.unique(hits.n_relevant)) > 1
    return bool(several or (others[0] % 10 == 0 and (hits.length % 5 != 0).all()))


def _same_lists(short, found):
    """Whether different recommenders list the same items, nearly all held-out ones among them."""
    first, *others = short.values()
    if not all(np.array_equal(first.key, other.key) for other in others):
        return False
    hits, *rest = found.values()
    if all(np.array_equal(hits.position, one.position) for one in rest):
        return False  # one recommender under two names
    missed, n = hits.missed.sum(), len(hits.position)
    left = 1 - (hits.length / hits.pool).mean()
    return bool(missed <= 0.02 * n and special.bdtr(missed, n, left) < _SURPRISE)
