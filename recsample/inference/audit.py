"""An audit: sampled ranks of all users, and exact ranks of a few who were chosen by chance.

Nothing is assumed of the ranks, nor of how items were drawn. The exact metric is predicted from the
sampled ranks, and the audited users show the error of the predictions: the regression estimator
of survey sampling (Sarndal, Swensson and Wretman, 1992), or prediction-powered inference
(Angelopoulos, Duchi, Zrnic, 2023, https://arxiv.org/abs/2311.01453). Each audited user is predicted
from all others, so the estimate has no bias. The limits are Gaffke's for the mean of bounded
values, which never have width 0. For hits that nothing predicts they hold; for other values that is
conjectured, and ``scripts/record_audits.py`` measured it and found no exception.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._support import checks
from recsample._support.errors import InputError, Naming
from recsample._support.extras import extra
from recsample._support.frames import aligned, labels_of
from recsample._support.numerics import LEVEL, gaffke_reach
from recsample._support.typing import Floats, Integers, Rng
from recsample.inference.comparison import (
    Comparison,
    defined_values,
    ends_of_difference,
    normal_probability,
)
from recsample.inference.likelihood.sampled_run import checked_sizes
from recsample.metrics.base import Metric, ends_of
from recsample.metrics.names import the_metric
from recsample.metrics.ranking import AP, AUC, Recall
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks

__all__ = ["AuditPlan", "plan_audit"]


# The one-sided confidence level of a plan for the variance of the unknown values.
_CONFIDENCE = 0.92
# The penalty of the ridge regression, for features of spread 1. With 0.3 the error over 100 users
# is larger by one in a hundred, with 300 users the same. Few users say nothing of slopes, which
# then widen the limits: so the penalty grows by the square of this number over that of users.
_RIDGE, _FEW = 3.0, 100


class AuditPlan(NamedTuple):
    """The users to rank among all items; what `plan_audit` returns.

    Parameters
    ----------
    users : ndarray of int
        Their places in the column, in random order.
    chances : ndarray of float, shape (instances,)
        The probability of each user of the column to be among them.
    first : int
        How many of `users`, from the beginning, to rank before planning again with their ranks: so
        few are enough if all users are alike. With `exact`, the number already ranked.

    Examples
    --------
    >>> import numpy as np
    >>> import recsample as rs
    >>> print(rs.inference.AuditPlan(np.array([2, 5]), np.full(8, 0.25), first=1))
    Rank all items of 2 users (`users`): you have 8.
    Plan again when the first 1 of them are ranked (`exact`).
    """

    users: Integers
    chances: Floats
    first: int

    def __str__(self) -> str:
        planned, n_users = len(self.users), len(self.chances)
        text = f"Rank all items of {planned:,} users (`users`): you have {n_users:,}."
        if self.first < planned:
            text += f"\nPlan again when the first {self.first:,} of them are ranked (`exact`)."
        return text


def plan_audit(
    metric: Metric | str,
    width: float,
    sampled: Ranks,
    n_items: ArrayLike,
    rng: Rng,
    *,
    exact: Any = None,
    replace: bool = False,
) -> AuditPlan:
    """Choose users to rank among all items, enough for limits of a given width.

    Without exact ranks the plan assumes the largest possible variance, which often takes several
    times too many users. So rank the `first` of them, and plan again with their ranks as `exact`:
    more users are drawn, and `report` takes the ranks of all of them.

    Parameters
    ----------
    metric : Metric or str
    width : float
        The upper limit of the mean over all users of the column minus the lower one.
    sampled : Ranks
        The sampled ranks of all users.
    n_items : int or array_like of int, shape (instances,)
        Sizes of the pools that were drawn from, the relevant items included.
    rng : int or numpy.random.Generator
    exact : optional
        Exact ranks of a first audit, as in `report`; its users were all equally likely.
    replace : bool, optional
        Whether items were drawn with replacement.

    Returns
    -------
    AuditPlan
        The users of the first audit are among them.

    Examples
    --------
    >>> import recsample as rs
    >>> x = rs.datasets.recorded_ranks()["X"]
    >>> goal = rs.Recall @ 10, 0.05, rs.UniformSampling(m=100).draw(x, rng=0), x.n_items
    >>> plan = rs.inference.plan_audit(*goal, rng=0)
    >>> first = plan.users[: plan.first]
    >>> again = rs.inference.plan_audit(*goal, rng=0, exact=(first, x[first]))
    >>> len(plan.users) > 2 * len(again.users) > 2 * len(first)
    True
    """
    metric, rng = the_metric(metric), checks.generator(rng)
    width = checks.positive_float("width", width)
    n_users = len(check_ranks(sampled, "sampled"))
    sizes = checked_sizes(sampled, n_items, replace)
    if exact is None:
        first = np.arange(0)
        lowest, highest = _ends(metric, sampled, sizes, replace)
        ends = lowest.min(), highest.max()
        values, shares, known = np.array(ends), np.array([0.5, 0.5]), np.zeros(2)
    else:
        first, ranks = exact_ranks(exact, sampled, sizes, replace)
        if len(first) == n_users:
            return AuditPlan(first, np.ones(n_users), n_users)
        audit = Audit(sampled, ranks, first, sizes, replace)
        values, ends = audit.residuals(metric)
        known = np.append(np.ones(len(first)), 0.0)
        values, shares = _with_more_spread(values, ends)

    def wide(users):
        # Known users count as they are; the others may vary more.
        down_and_up = gaffke_reach(values, *ends, weights=known + (users - len(first)) * shares)
        return np.sqrt(1 - users / n_users) * sum(down_and_up) > width

    fewest = min(max(2, len(first)), n_users)
    number = fewest
    if wide(fewest):  # a few more users, of whom less is known, can make it wider at first
        more = range(fewest + 1, n_users)
        number += 1 + bisect_left(more, True, key=lambda users: not wide(users))
    rest = np.setdiff1d(np.arange(n_users), first)
    users = np.append(first, rng.choice(rest, number - len(first), replace=False))
    at_first = len(first) or int(min(_fewest_users(width, ends), number))
    return AuditPlan(users, np.full(n_users, number / n_users), at_first)


def _fewest_users(width, ends):
    """The least number of users for this width: enough if all values are at the same end."""
    tail = (1 - LEVEL) / 2
    share = width / max(ends[1] - ends[0], width)
    return max(2.0, np.ceil(np.log(tail) / np.log1p(-min(share, 1 - tail))))


def _with_more_spread(values, ends):
    """The values and their shares, with the share at the further end that may have been missed."""
    far = max(ends, key=abs)
    mean = (values**2).mean()
    likely = (
        mean + gaffke_reach(values**2, 0.0, far**2, 2 * _CONFIDENCE - 1)[1]
    )  # a level has two sides
    # A share x at the end has the mean square (1 - x) mean + x far**2; the variance is largest at
    # x = (1 - mean / far**2) / 2 and falls beyond. A few known values may pass the ends of others.
    room = max(0.0, far**2 - mean)
    missed = min((likely - mean) / max(room, 1e-12), room / max(2 * far**2, 1e-12))
    shares = np.append(np.full(len(values), (1 - missed) / len(values)), missed)
    return np.append(values, far), shares


class Audit(NamedTuple):
    """Sampled ranks of all users of a recommender, and the exact ranks of those at `users`.

    `chances` are the probabilities with which each user was chosen, independently; None means a
    random choice of a fixed number.
    """

    sampled: Ranks
    exact: Ranks
    users: Integers
    sizes: Integers
    replace: bool
    chances: Floats | None = None

    def mean(self, metric: Metric, level: float = LEVEL) -> AuditedMean:
        """Estimate and limits of the mean of the exact metric."""
        ends = ends_of(metric, self.exact)
        return audited_mean(*self._known(metric), ends, self.chances, level)

    def difference(self, other: Audit, metric: Metric, level: float) -> AuditedMean:
        """Estimate and limits of the difference from another recommender on the same users."""
        y, features, low, high = self._known(metric)
        y_other, of_other, low_other, high_other = other._known(metric)
        both = np.hstack([features, of_other])
        ends = ends_of_difference(metric, self.exact, other.exact)
        return audited_mean(
            y - y_other, both, low - high_other, high - low_other, ends, self.chances, level
        )

    def residuals(self, metric: Metric) -> tuple[Floats, tuple[float, float]]:
        """The prediction errors of audited users less their mean, and the range of the others'."""
        y, features, lowest, highest = self._known(metric)
        known = ~np.isnan(y)
        chance = np.full(len(y), known.mean())  # a first audit is a random choice
        predicted, others = _predicted(y[known], features, known, chance, True)
        ends = (lowest[~known] - others).min(), (highest[~known] - others).max()
        off = y[known] - predicted
        mean = float(off.mean())
        return off - mean, (ends[0] - mean, ends[1] - mean)

    def _known(self, metric: Metric) -> tuple[Floats, Floats, Floats, Floats]:
        """Exact values (NaN if unknown), the features that predict them, and their bounds."""
        values = np.full(len(self.sampled), np.nan)
        values[self.users] = defined_values(metric, self.exact)
        # The metric itself and three of other shapes: the best of five choices that were tried.
        used = dict.fromkeys((metric, Recall @ 1, AUC, AP))
        features = np.column_stack([one(self.sampled) for one in used])
        return values, features, *_ends(metric, self.sampled, self.sizes, self.replace)


def _ends(metric, sampled, sizes, replace):
    """The lowest and the highest value of each user that is possible given the sampled ranks."""
    several, cuts = (sampled.n_relevant != 1).any(), np.cumsum(sampled.n_relevant)[:-1]
    ranks = [above + sampled.rows.order for above in _possible(sampled, sizes, replace)]
    values = [metric(Ranks(np.split(one, cuts) if several else one, sizes)) for one in ranks]
    return np.minimum(*values), np.maximum(*values)


def _possible(sampled, sizes, replace):
    """The least and the largest number of irrelevant items that can be above each relevant one."""
    rows, m = sampled.rows, sampled.n_irrelevant
    pool, most = sizes - sampled.n_relevant, rows.above + rows.ties
    if replace:  # one item can have been drawn again and again
        return np.minimum(rows.above, 1), pool[rows.instance] - (most < m[rows.instance])
    return rows.above, most + (pool - m)[rows.instance]


def exact_ranks(
    exact: Any, sampled: Ranks, sizes: Integers, replace: bool
) -> tuple[Integers, Ranks]:
    """Read and check `exact`: the numbers of the audited instances, and their exact ranks.

    A Series is matched by the ids of the instances of `sampled`, or their numbers.
    """
    if isinstance(exact, tuple) and len(exact) == 2 and isinstance(exact[1], Ranks):
        users, ranks = checks.whole_numbers("exact", list(exact[0]), lowest=0), exact[1]
        _check_users(users, len(ranks), len(sampled))
    else:
        values, names = checks.numbers("exact", exact).astype(float), labels_of("exact", exact)
        if names is None and values.shape != (len(sampled),):
            allowed = f"must hold a rank or NaN for each of the {len(sampled)} instances of sampled"
            remedy = "name few by the index of a Series, or give (numbers of the instances, Ranks)"
            raise InputError("exact", allowed).got(f"shape {values.shape}", remedy)
        known = np.flatnonzero(~np.isnan(values))
        users = known if names is None else _numbers_of(names[known], sampled)
        _check_users(users, len(users), len(sampled))
        ranks = Ranks(values[known], sizes[users])
    _check_possible(users, ranks, sampled[users], sizes[users], replace)
    order = np.argsort(users)
    return users[order], ranks[order]


def _numbers_of(names, sampled):
    """The numbers of the instances with these names."""
    ids = np.arange(len(sampled)) if sampled.ids is None else sampled.ids
    found = extra("pandas").Index(ids).get_indexer(names)
    if (found < 0).any():
        raise InputError("exact", "must name instances of sampled").got(
            checks.shown(names[found < 0][0]), "a Series is matched by its index"
        )
    return found.astype(np.int64)


def _check_users(users, n_ranks, n_users):
    """Refuse numbers that are out of range or repeated, and fewer than two."""
    if len(users) != n_ranks:
        allowed = f"must hold a rank for each of {len(users)} instances"
        raise InputError("exact", allowed).got(n_ranks)
    if len(np.unique(users)) < max(2, n_ranks):
        allowed = "must hold ranks of at least two instances, each named once"
        raise InputError("exact", allowed).got(checks.shown(users.tolist()))
    if users.max() >= n_users:
        raise InputError("exact", f"must be of instances below {n_users}").got(users.max())


def _check_possible(users, exact, sampled, sizes, replace):
    """Refuse exact ranks that are impossible given the sampled ones."""
    for what, given, wanted in (
        ("n_items", exact.sizes, sizes),
        ("relevant items", exact.n_relevant, sampled.n_relevant),
    ):
        allowed = f"must have the {what} of sampled, {{0}} in instance {{1}}"
        checks.refuse_first(given != wanted, "exact", allowed, "{2}", wanted, users, given)
    one, drawn = exact.rows, sampled.rows
    least, most = _possible(sampled, sizes, replace)
    allowed = (
        "must hold ranks that are possible beside sampled: rank {0} among the drawn items allows "
        "{1} to {2} among all"
    )
    remedy = "" if replace else Naming("state {replace:=True} if items could be drawn twice")
    wrong = (one.above + one.ties < least) | (one.above > most)
    ends, got = (least + one.order, most + one.order), "{3} in instance {4}"
    columns = drawn.rank, *ends, one.rank, users[one.instance]
    checks.refuse_first(wrong, "exact", allowed, got, *columns, remedy=remedy)


class AuditedMean(NamedTuple):
    """The mean over all users: estimate, limits, and limits for other users like these."""

    value: float
    low: float
    high: float
    low_for_others: float
    high_for_others: float

    def compared(self, level: float) -> Comparison:
        """A difference as a `Comparison`, with the confidence that it is above 0."""
        reach = self.value - self.low if self.value > 0 else self.high - self.value
        error = reach / special.ndtri((1 + level) / 2)
        chance = normal_probability(self.value, error)
        return Comparison(self.value, self.low, self.high, chance)


def audited_mean(
    exact: Floats,
    features: Floats,
    lowest: Floats,
    highest: Floats,
    ends: tuple[float, float],
    chances: Floats | None = None,
    level: float = LEVEL,
) -> AuditedMean:
    """The mean of values that are mostly unknown (NaN), but predicted from `features`.

    Each value lies between `lowest` and `highest`, and those of other users between the two `ends`.
    The known values were chosen at random, as in `Audit`.
    """
    known, n_users = ~np.isnan(exact), len(exact)
    y, n_known = exact[known], int(known.sum())
    chance = np.full(n_users, n_known / n_users) if chances is None else chances
    predicted, others = _predicted(y, features, known, chance, chances is None)
    off = y - predicted
    # A known user represents 1 / chance - 1 others with the same prediction error: the expectation
    # over the choice is the mean, whatever the predictions are (Horvitz and Thompson).
    value = float(y.sum() + others.sum() + off @ (1 / chance[known] - 1)) / n_users
    # The weight of a user, relative to the audited ones.
    weight = n_known / (n_users * chance)
    down = up = 0.0
    if n_known < n_users:
        left = weight * np.sqrt(1 - chance)  # the correction for a finite population
        below, above = (left[~known] * (end[~known] - others) for end in (lowest, highest))
        down, up = gaffke_reach(left[known] * off, below.min(), above.max(), level)
    # The mean is within what the sampled ranks leave possible for the others, too.
    surely = [(y.sum() + end[~known].sum()) / n_users for end in (lowest, highest)]
    # For other users the spread of the values themselves is added, as if all these were audited.
    reach = np.sqrt(n_known / n_users) * np.array(gaffke_reach(y, *ends, level, weight[known]))
    return AuditedMean(
        value,
        float(max(value - down, surely[0])),
        float(min(value + up, surely[1])),
        float(max(value - np.hypot(down, reach[0]), ends[0])),
        float(min(value + np.hypot(up, reach[1]), ends[1])),
    )


def _predicted(y, features, known, chance, at_random):
    """Ridge predictions: of each known value without that value, and of the unknown ones.

    How much they use the features depends on the number of users and on the features only, not on
    what it makes of the limits. Of a fixed number of users a constant that is added to all
    predictions changes neither estimate nor limits. So there is none: if it were fitted, each user
    would be predicted by all others to be on the other side of the mean.
    """
    spread = features.std(axis=0)
    varied = spread > 0
    scaled = (features - features.mean(axis=0))[:, varied] / spread[varied]
    columns = np.column_stack([np.ones(len(features)), scaled])
    seen, weights = columns[known], chance.mean() / chance[known]
    each = np.append(0.0, np.ones(int(varied.sum())))
    # Of the users that a regression is made from: one less than there are, and all.
    few, more = (
        np.diag(1e-9 + (_RIDGE + (_FEW / max(n, 1)) ** 2) * each) for n in (len(y) - 1, len(y))
    )
    # The sums of a regression without one user are those over all but for one product.
    products = weights[:, None, None] * seen[:, :, None] * seen[:, None, :]
    right = (weights * y)[:, None] * seen
    without = np.linalg.solve(
        products.sum(axis=0) - products + few, (right.sum(axis=0) - right)[..., None]
    )[..., 0]
    # So that there is no bias: of a fixed number of audited users the mean of these regressions
    # predicts the unknown values, of a random number the regression on all of them.
    if at_random:
        without[:, 0] = 0.0
        used = without.mean(axis=0)
    else:
        used = np.linalg.solve(products.sum(axis=0) + more, right.sum(axis=0))
    return (seen * without).sum(axis=1), columns[~known] @ used


def chances_of(chosen: Any, sampled: Ranks, users: Integers) -> Floats | None:
    """Read and check `chosen`: the chances of the users to be audited, None if all are equal."""
    if checks.is_one_of(chosen, ("random",)):
        _check_random(sampled, users)
        return None
    if isinstance(chosen, str):
        allowed = "must be 'random' or each instance's chance to be audited"
        raise InputError("chosen", allowed).got(f"{chosen!r}")
    chances = checks.finite_numbers("chosen", aligned("chosen", chosen, sampled.ids))
    if chances.shape != (len(sampled),):
        allowed = f"must be 'random' or a chance for each of the {len(sampled)} instances"
        raise InputError("chosen", allowed).got(f"shape {chances.shape}")
    left_out = np.ones(len(sampled), bool)
    left_out[users] = False
    checks.refuse_first(
        (chances <= 0) | (chances > 1) | (left_out & (chances == 1)),
        "chosen",
        "must hold chances above 0 and at most 1, and 1 only of who was audited",
        "{:g} for instance {at}",
        chances,
    )
    # Six standard deviations off they are not the chances of independent draws.
    expected, spread = chances.sum(), np.sqrt((chances * (1 - chances)).sum())
    if abs(len(users) - expected) > 6 * spread + 1:
        raise InputError(
            "chosen",
            f"must hold the chances with which exact came about: they audit {expected:.0f} "
            "instances on average",
        ).got(len(users))
    return None if np.ptp(chances) == 0 else chances


def _check_random(sampled, users):
    """Refuse a choice that depends on the sampled ranks; false alarms once in a million."""
    for metric in (Recall @ 1, AUC):
        values = metric(sampled)
        down, up = gaffke_reach(values[users], values.min(), values.max(), 1 - 1e-6)
        mean = values[users].mean()
        if not mean - down <= values.mean() <= mean + up:
            raise InputError("chosen", "must be each instance's chance").got(
                f"'random' though {metric} of sampled is {mean:.3f} for those in exact and "
                f"{values.mean():.3f} for all",
                "an audit by sampled rank needs its chances",
            )
