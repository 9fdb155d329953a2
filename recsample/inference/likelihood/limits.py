"""Limits of the mean of an exact metric from one run of sampled ranks.

They are limits of the mean of scores, each of which bounds the metric of its user on average over
the draws, whatever the user's rank is (see `recsample.inference.likelihood.scores`). An assumption
narrows down which populations of ranks have to be bounded:

==============  ==================================================================================
"none"          the ranks may be distributed in any way
"decreasing"    within the best fifth of the list, no rank is more frequent than a better one
==============  ==================================================================================

That "decreasing" is false hardly shows at the best ranks (see `recsample.inference.blind_spot`).
Beyond the best fifth any distribution is allowed; and everywhere, whatever the assumption, where
nine tenths of every pool or more were drawn without replacement. With several relevant items per
instance "frequent" is meant in comparison with a random ranking, for the best of them, the second
best, and so on.

That the mean score bounds the mean metric is a theorem. Limits of the mean score come in three
grades:

==============  ==================================================================================
"measured"      each user's scores are chosen by all others, the limits are Gaffke's; how often
                these hold is recorded by ``scripts/record_coverage.py``
"conjectured"   the first fifth of the users chooses for the others, whose scores are independent;
                that Gaffke's limits hold for these is conjectured
"proved"        the same with limits by betting, which are proved to hold
==============  ==================================================================================

Pools of several sizes share scores if they are alike, see `recsample.inference.likelihood.scores`;
which are alike is seen in those of all users, so the proof is complete for one size only.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import fraction, one_of, true_or_false
from recsample._support.errors import InputError
from recsample._support.numerics import upper_limits
from recsample.inference.likelihood.betting import betting_limit
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.inference.likelihood.scores import chosen_by
from recsample.inference.likelihood.strata import ASSUMPTIONS, Assumption
from recsample.metrics.base import Metric
from recsample.metrics.names import exact_metric
from recsample.ranks.base import Ranks
from recsample.ranks.counts import RankCounts

__all__ = ["Limits", "limits"]

Grade = Literal["measured", "conjectured", "proved"]
# So many of the first instances choose, of the grades that need some who are left out.
_CHOOSE = 0.2


class Limits(NamedTuple):
    """Limits of the mean of a metric; what `limits` returns.

    Parameters
    ----------
    value : float
        An estimate of the mean, which may be outside of the limits.
    low, high : float
        The limits, NaN where the data contradict the assumption.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.Limits(0.08, 0.06, 0.11).high
    0.11
    """

    value: float
    low: float
    high: float


def limits(
    metric: Metric | str,
    sampled: Ranks | RankCounts,
    n_items: ArrayLike,
    *,
    assumption: Assumption = "none",
    level: float = 0.95,
    replace: bool = False,
    grade: Grade = "measured",
) -> Limits:
    """Limits of the mean of an exact metric, from one run of sampled ranks.

    They are those of the mean over all instances like these, with pools and numbers of relevant
    items like these. Instances are independent, the irrelevant items were drawn uniformly and anew
    for each, and how many were drawn does not depend on the rank. The estimate is by the EM
    algorithm, 30 steps from a random order.

    Parameters
    ----------
    metric : Metric or str
        The exact metric; not a correction. A linear one, such as AUC, has no bias from sampling,
        and is its own score.
    sampled : Ranks or RankCounts
        Ranks among the drawn items, ``sampled.n_irrelevant`` for each instance, with any number of
        relevant ones; tied ones count in equal parts for all their possible places.
    n_items : int or array_like of int, shape (instances,)
        Sizes of the pools that were drawn from, the relevant items included.
    assumption : {"none", "decreasing"}, optional
        The assumption on the distribution of the exact ranks, as listed above.
    level : float, optional
        The confidence level.
    replace : bool, optional
        Whether items were drawn with replacement.
    grade : {"measured", "conjectured", "proved"}, optional
        What the limits of the mean score rest on, as listed above. Other grades than "measured"
        need instances in an order that has nothing to do with their ranks.

    Returns
    -------
    Limits

    Raises
    ------
    ValueError
        For anything but a metric and ranks, a metric that is not a sum over the relevant items, too
        small pools, fewer than two instances, `RankCounts`, which have no order, for other grades
        than "measured", and another assumption, grade or level.

    Examples
    --------
    >>> import numpy as np
    >>> import recsample as rs
    >>> rng = np.random.default_rng(0)
    >>> x = rs.Ranks(np.ceil(3_000 ** rng.random(500)).astype(int), 3_000)
    >>> sampled = rs.UniformSampling(m=100).draw(x, rng)
    >>> found = rs.inference.limits(rs.AP, sampled, 3_000)
    >>> proved = rs.inference.limits(rs.AP, sampled, 3_000, grade="proved")
    >>> bool(proved.low < found.low < rs.AP(x).mean() < found.high < proved.high)
    True
    """
    one_of("assumption", assumption, ASSUMPTIONS)
    one_of("grade", grade, ("measured", "conjectured", "proved"))
    metric = exact_metric(metric)
    if grade != "measured" and not isinstance(sampled, Ranks):
        raise InputError("sampled", f"must be Ranks, which have an order, for the grade {grade!r}")
    evidence = SampledRun(sampled, n_items, true_or_false("replace", replace), [metric])
    level = fraction("level", level)
    value = evidence.estimate(metric)
    if evidence.contradicts(metric, assumption):
        return Limits(value, float("nan"), float("nan"))
    if grade == "measured":
        return Limits(value, *evidence.limits(metric, assumption, level))
    return Limits(value, *_with_some_left_out(evidence, metric, assumption, level, grade))


def _with_some_left_out(evidence, metric, assumption, level, grade):
    """Limits from the scores of those that do not choose."""
    first, found = np.arange(max(1, int(_CHOOSE * evidence.n_instances))), []
    for sign in (-1, 1):
        at_hand = evidence.candidates(metric, assumption, sign)
        scores, end = chosen_by(at_hand._replace(value=evidence.of_each(at_hand.value)), first)
        if grade == "proved":
            highest = betting_limit(scores, end, (1 - level) / 2)
        else:
            (highest,), _ = upper_limits(scores[None], end, level, np.ones(len(scores)))
        found.append(sign * highest)
    return np.clip(found, *evidence.ends(metric)).tolist()
