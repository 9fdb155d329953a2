"""Limits of a mean from one run, by its likelihood, under an assumption that has a name.

Many distributions of the exact ranks fit a run of sampled ranks nearly as well as the best one
does. The limits are the smallest and the largest mean of the metric under all of these within a
class: "one-at-a-time strict bounds" (see `limits`), here with the likelihood as the measure of fit.
Twice the loss of log-likelihood may be as large as the quantile of chi-square with one degree of
freedom, since one number is bounded at a time. There are classes in which that is not enough;
how often the limits hold is measured by ``scripts/record_coverage.py``.

==============  ==================================================================================
"none"          the ranks may be distributed in any way
"decreasing"    within the best fifth of the list, no rank is more frequent than a better one
"smooth"        within the best fifth of the list, the frequency of the ranks falls as a mixture of
                exponential decays, as every power law does
==============  ==================================================================================

That "decreasing" is false hardly shows at the best ranks (see `recsample.inference.blind_spot`).

Beyond the best fifth any distribution is allowed; and everywhere, whatever the assumption, where
nine tenths of every pool or more were drawn without replacement. With several relevant items per
instance "frequent" is meant in comparison with a random ranking, for the best of them, the second
best, and so on: no item need be placed at random for that, only not worse than at random.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from recsample._support.checks import fraction, one_of, true_or_false
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.inference.likelihood.strata import ASSUMPTIONS, Assumption
from recsample.metrics.base import Metric
from recsample.metrics.names import exact_metric
from recsample.ranks.base import Ranks
from recsample.ranks.counts import RankCounts

__all__ = ["Limits", "limits"]


class Limits(NamedTuple):
    """Limits of the mean of a metric; what `limits` returns.

    Parameters
    ----------
    value : float
        An estimate of the mean; where it is outside of the limits, the nearest of them.
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
    assumption: Assumption = "decreasing",
    level: float = 0.95,
    replace: bool = False,
) -> Limits:
    """Limits of the mean of an exact metric, from one run of sampled ranks.

    These are one-at-a-time [2]_ strict bounds [1]_ by the likelihood; [3]_ says in which classes
    the quantile of chi-square is not enough. They are meant for the mean over these instances, and
    for that over all instances like these, and are not proved to hold. They assume that the
    irrelevant items were drawn uniformly and independently for each instance, and that the number
    of drawn items does not depend on the rank. Instances are sorted into strata of about equal
    pools and numbers of relevant items, whose ranks may be distributed differently. Those that are
    like less than 30 have one mean of scores instead, each of which bounds its metric on average.

    Parameters
    ----------
    metric : Metric or str
        The exact metric; not a correction. A linear one, such as AUC, has no bias from sampling,
        and the limits of a mean.
    sampled : Ranks or RankCounts
        Ranks among the drawn items, ``sampled.n_irrelevant`` for each instance, with any number of
        relevant ones; tied ones count in equal parts for all their possible places.
    n_items : int or array_like of int, shape (instances,)
        Sizes of the pools that were drawn from, the relevant items included.
    assumption : {"none", "decreasing", "smooth"}, optional
        The assumption on the distribution of the exact ranks, as listed above.
    level : float, optional
        The confidence level.
    replace : bool, optional
        Whether items were drawn with replacement.

    Returns
    -------
    Limits

    Raises
    ------
    ValueError
        For anything but a metric and ranks, a metric that is not a sum over the relevant items, too
        small pools, fewer than two instances, and another assumption or level.

    Examples
    --------
    >>> import recsample as rs
    >>> x = rs.datasets.recorded_ranks()["X"]
    >>> sampled = rs.UniformSampling(m=100).draw(x, rng=0)
    >>> found = rs.inference.limits(rs.Recall @ 10, sampled, x.n_items)
    >>> round(found.low, 2), round(found.high, 2)
    (0.06, 0.12)

    References
    ----------
    .. [1] P. B. Stark, "Inference in Infinite-Dimensional Inverse Problems: Discretization and
       Duality", Journal of Geophysical Research 97, 1992.
    .. [2] M. Stanley, P. Patil, M. Kuusela, "Uncertainty Quantification for Wide-Bin Unfolding:
       One-at-a-Time Strict Bounds and Prior-Optimized Confidence Intervals", arXiv 2111.01091,
       2022.
    .. [3] P. Batlle, P. Patil, M. Stanley, H. Owhadi, M. Kuusela, "Optimization-Based
       Frequentist Confidence Intervals for Functionals in Constrained Inverse Problems", arXiv
       2310.02461, 2023.
    """
    one_of("assumption", assumption, ASSUMPTIONS)
    metric = exact_metric(metric)
    evidence = SampledRun(sampled, n_items, true_or_false("replace", replace), [metric])
    level = fraction("level", level)
    value = evidence.estimate(metric)
    if evidence.contradicts(metric, assumption):
        return Limits(value, float("nan"), float("nan"))
    low, high = evidence.limits(metric, assumption, level)
    return Limits(min(max(value, low), high), low, high)
