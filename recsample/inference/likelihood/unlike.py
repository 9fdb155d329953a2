"""Limits of a mean over users who are not alike, of whom there are too few for fits of their own.

What is seen of a relevant item, s of m drawn items above it, is replaced by a score H(s) that is in
the mean no less than the term of the metric, whatever distribution of its class the rank has:

    sum over s of H(s) p(s | column) >= mean of the term under the column, for every column.

So the mean score bounds the mean metric, and users with any pools and numbers of relevant items
have scores of their own and one mean. For lower limits signs are reversed. (These are affine limits
as in D. L. Donoho, "Statistical estimation and optimal recovery", Annals of Statistics 22, 1994.)
Which scores are close is seen from what is expected of all: of n instances with counts n p, the
largest likelihood plus ``tilt * mean`` has the weights w, q = B w, and for every column

    sum over s of p(s | column) n p(s) / q(s) + tilt * mean <= largest = that of the columns in use,

so H(s) = (largest - n p(s) / q(s)) / tilt. What is expected need not be true: then the limits are
wider, and hold as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recsample._support.arrays import summed
from recsample._support.typing import Floats
from recsample.inference.likelihood.mixtures import Mixture, fitted
from recsample.inference.likelihood.strata import Stratum, seen_in
from recsample.ranks.base import Ranks

# The loss of twice the log-likelihood at which scores are closest: that of limits at 95 %.
_FALL = 3.84
# So far from the largest likelihood scores hold as well, and are hardly less close.
_CLOSE = 0.1
# Scores are split between so many levels, which leaves their mean as it is.
_LEVELS = 65


class Expected(NamedTuple):
    """A stratum, what its columns are, and what is expected to be seen."""

    stratum: Stratum
    law: Floats  # shape (observations, columns)
    mean: Floats  # shape (columns,): of the metric's term
    seen: Floats  # shape (observations,): the probability of each, for each number of draws
    variance: float  # of the term


def scores_of(one: Expected, tilt: float, n_instances: float) -> Floats:
    """The scores of all observations; with a negative tilt in the mean no more than the term."""
    # Far behind a cut-off there is nothing to bound.
    if not np.ptp(one.mean):
        return np.full(len(one.seen), one.mean[0])
    found = []
    ends = np.cumsum([m + 1 for m in one.stratum.n_draws])[:-1]
    for law, seen in zip(np.split(one.law, ends), np.split(one.seen, ends)):
        law, counts = np.maximum(law, 1e-300), n_instances * seen
        weights = fitted(law, counts, tilt * one.mean, close=_CLOSE)
        ratio = counts / (law @ weights)
        found.append(((law.T @ ratio + tilt * one.mean).max() - ratio) / tilt)
    return np.concatenate(found)


def scored(
    strata: Sequence[Expected], sampled: Ranks, often: Floats, sign: int, n_all: float
) -> tuple[Mixture, Floats]:
    """The scores of users as a `Mixture`, and the weights that fit them best.

    In the mean they are above the metric, or below it if the sign is negative. `often` says as how
    many each instance counts. The tilt is about that at which twice the log-likelihood falls by
    `_FALL`. Each stratum has the items of one order of its users; the scores of a user's items add
    up, however dependent they are.
    """
    rows = sampled.rows
    users = np.unique(rows.instance[np.concatenate([one.stratum.rows for one in strata])])
    n = float(often[users].sum())
    variance = sum(sum(map(np.sum, one.stratum.counts)) * one.variance for one in strata)
    tilt = sign * n * np.sqrt(_FALL / max(variance, 1e-9))
    score = [scores_of(one, tilt, n) for one in strata]
    of_row = np.zeros(len(rows.rank))
    least, most = np.zeros((2, len(rows.rank)))
    for one, x in zip(strata, score):
        which = one.stratum.rows
        of_row[which] = x[seen_in(one.stratum, sampled)]
        least[which], most[which] = x.min(), x.max()
    of_user, least, most = (
        summed(rows.instance, x, len(sampled))[users] for x in (of_row, least, most)
    )
    return _group(of_user, often[users], (least.min(), most.max()), n / n_all)


def _group(scores, counts, ends, share):
    """Scores as a `Mixture`: any distribution between the ends is possible."""
    level = np.linspace(*ends, _LEVELS)
    place = (scores - ends[0]) / max(ends[1] - ends[0], 1e-300) * (_LEVELS - 1)
    lower = np.clip(place.astype(np.int64), 0, _LEVELS - 2)
    upper = counts * np.clip(place - lower, 0, 1)
    at = summed(lower, counts - upper, _LEVELS) + summed(lower + 1, upper, _LEVELS)
    seen = at > 0
    law = np.maximum(np.eye(_LEVELS)[seen], 1e-300)
    return Mixture(law, at[seen], level, level**2, share), at / at.sum()
