"""How many users to rank among all items, for limits of a given width."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np
import scipy

from recsample._support.checks import positive_float
from recsample._support.numerics import LEVEL, mean_of
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Linear, Step

_DISTANCE = float(scipy.special.chdtri(1, 1 - LEVEL))
# For limits each of which holds in 9 studies of 10.
_BOTH_SIDES = 0.8
_ONE_SIDED = float(scipy.special.chdtri(1, 1 - _BOTH_SIDES))
# Of so many users one more value does not count.
_MANY = 10**6


class UsersToRank(NamedTuple):
    """How many users to rank among all items for a width of the limits of their mean."""

    these: int  # chosen at random from the users of the study, for the mean over all of these
    others: int  # for the mean over all users like these
    n_users: int  # of the study


def users_to_rank(metric: Metric, width: float, evidence: SampledRun) -> UsersToRank:
    """How many users are enough in 9 studies of 10, from the sampled ranks of one study.

    Of values x between 0 and 1 with mean c, x^2 <= x, so (x - c)^2 <= (x - c)(1 - 2c) + c(1 - c):
    the variance v of N users has itself a variance of at most v (1 - 4v) / N, as for hits and
    misses; for values in a range R, of v (R^2 - 4v) / N. For other top-heavy metrics the upper
    limit of the variance is so far off that this term is small. Limits of few users are wider, by
    one more value at an end: widest if all that varies lies there.
    """
    width = positive_float("width", width)
    variance = _largest_variance(metric, evidence)
    of_one = float(4 * _DISTANCE) / width / width  # a square may be 0, or too large
    luck, ends = 0.0, evidence.ends(metric)
    square = (ends[1] - ends[0]) ** 2
    if isinstance(metric.shape, (Linear, Step)):
        luck = np.sqrt(_ONE_SIDED * of_one * max(0.0, square - 4 * variance))
    # Student's quantile, and a variance over N - 1, are as this many users fewer.
    needed = of_one * variance + luck + (_DISTANCE + 3) / 2
    if not needed < 2**53:
        raise ValueError(f"width must be one that fewer than 2**53 users reach, got {width}")
    # The values at the two ends that vary as much have the limits of Clopper and Pearson.
    share = (1 - np.sqrt(max(0.0, 1 - 4 * (variance + luck / of_one) / square))) / 2

    def is_close(users):
        hits, tail = share * users, (1 - LEVEL) / 2
        low = scipy.special.betaincinv(hits, users - hits + 1, tail) if hits else 0.0
        high = scipy.special.betainccinv(hits + 1, users - hits, tail)
        return np.sqrt(square) * (high - low) <= width

    others = most = max(2, int(np.ceil(needed)))
    while most < _MANY and not is_close(most):
        most *= 2
    others += bisect_left(range(others, most), True, key=is_close)
    # Without replacement the variance of a mean is v / n - v / N, and 0 where all N are ranked.
    n_users = evidence.n_instances
    these = int(np.ceil(1 / (1 / others + 1 / n_users)))
    return UsersToRank(min(max(2, these), n_users), others, n_users)


def _largest_variance(metric, evidence):
    """The largest variance of the exact values that the data allow.

    That of values between l and h with mean c is at most (h - c)(c - l) (R. Bhatia, C. Davis, "A
    Better Bound on the Variance", American Mathematical Monthly 107, 2000), so it is largest where
    c, within its limits, is nearest to the middle. A linear metric among sampled items is the exact
    one and an error of mean 0, so that it varies by more.
    """
    if isinstance(metric.shape, Linear):
        mean = evidence.mean(metric)
        return mean_of((metric(evidence.different) - mean) ** 2, evidence.often)
    # If the data contradict an assumption, limits of a similar study will not assume it.
    assumption = supported(metric, evidence) or "none"
    least, most = evidence.ends(metric)
    mean = np.clip((least + most) / 2, *evidence.limits(metric, assumption, _BOTH_SIDES))
    return float((most - mean) * (mean - least))
