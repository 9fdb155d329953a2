"""Popularity sampling: what popular negatives do to a rank.

Item j of the candidates is drawn with probability q_j, in proportion to its weight. Then the number
s of drawn items that outrank the relevant one no longer depends on how many candidates do, but on
which ones: with replacement

    s ~ B(m, Q),    Q = the sum of q_j over the items above,

while the rank alone would ask for B(m, a / N), a of the N candidates being above. So the methods
here take `RankedItems`, which name the items above, where `UniformSampling` takes `Ranks`.
"""

from __future__ import annotations

import numpy as np
from scipy import fft, sparse, special

from recsample._support.arrays import row_blocks
from recsample._support.checks import generator
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.sampling.base import Sampler
from recsample.sampling.laws import average_with, check_laws, law_blocks
from recsample.sampling.weighted import WeightedDraws, count_in, random_place

__all__ = ["PopularitySampling"]


class PopularitySampling(WeightedDraws, Sampler):
    """Draw m candidates per instance with probabilities in proportion to given weights.

    With replacement every draw is of item j with probability q_j, its share of the weight of all
    candidates. Without, the first draw is the same, and each further one is in proportion to the
    weights of the items that are left: ``rng.choice(candidates, m, replace=False, p=q)`` in NumPy.

    Without replacement tied items stand in a random order. With replacement the place of the
    relevant item among its t ties is drawn first, and each drawn tied item stands above it with
    the chance u / t that u of them do. For equal weights this is what `UniformSampling` does.

    All methods take `RankedItems`, and refuse instances with too few candidates of positive weight.
    Corrections are made for uniform sampling and refused too: `ImportanceSampling` estimates what
    they would give there.

    Parameters
    ----------
    m : int
        Number of drawn items, at least 1.
    weights : array_like of float, shape (items,)
        One weight per item, such as its number of training events; not negative, not all 0.
        An item of weight 0 is never drawn.
    replace : bool, optional
        Draw with replacement. By default without.

    Raises
    ------
    ValueError
        For a weight that is negative or not finite, or positive and below 1e-300 of the largest,
        and for weights that are all 0. By all methods if the weights do not fit the items, and by
        `pmf` for a law that the memory cannot hold.

    Examples
    --------
    Two of four items are three times as popular as the others. The relevant item, item 3, is on
    rank 2 in both instances, but the item above it is a popular one in the first only:

    >>> import recsample as rs
    >>> scores = [[.9, .1, .2, .5], [.1, .2, .9, .5]]
    >>> ranked = rs.ranked_items(scores, relevant=[3, 3])
    >>> sampler = rs.PopularitySampling(m=1, weights=[3, 3, 1, 1])
    >>> sampler.expect(rs.AUC, ranked).round(3), rs.AUC(ranked).round(3)
    (array([0.571, 0.857]), array([0.667, 0.667]))
    """

    def pmf(self, ranks: Ranks) -> Floats:
        """The law of each instance's sampled rank, given which items outrank the relevant one.

        With replacement it is binomial. Without, it is an integral, taken to about 12 digits after
        the point. The work grows with the number of different weights times m^1.5: with 3,706 items
        of 941 different weights and m = 100 an instance takes about 25 ms.

        Parameters
        ----------
        ranks : RankedItems

        Returns
        -------
        ndarray of float, shape (instances, m + 1)
            Column s holds p(sampled rank = s + 1).

        Examples
        --------
        The one item above has half of the weight of the three candidates:

        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]], relevant=[3])
        >>> rs.PopularitySampling(2, [2, 1, 1, 7], replace=True).pmf(ranked)
        array([[0.25, 0.5 , 0.25]])
        >>> rs.PopularitySampling(2, [2, 1, 1, 7]).pmf(ranked).round(4)
        array([[0.1667, 0.8333, 0.    ]])
        """
        return self._law(self._checked(ranks))

    def draw(self, ranks: Ranks, rng: Rng) -> Ranks:
        ranked, rng = self._checked(ranks), generator(rng)
        if self.replace:
            above, tied = self._shares(ranked)
            share = np.minimum(above + random_place(ranked, rng) * tied, 1)
            count = rng.binomial(self.m, share)
        else:
            items = self.draw_items(ranked, rng)
            count = count_in(ranked.above, items).sum(axis=1)
            count += rng.integers(0, count_in(ranked.tied, items).sum(axis=1), endpoint=True)
        return ranked.at(1 + count, self.m + 1).drawn_as("popular", self.replace, ranked.sizes)

    def moments(self, metric: Metric | str, ranks: Ranks) -> tuple[Floats, Floats]:
        metric, ranked = self._asked(metric, ranks)
        values, pmf = metric.of_rank(np.arange(1, self.m + 2), self.m + 1), self._law(ranked)
        mean = pmf @ values
        return mean, (pmf * (values - mean[:, None]) ** 2).sum(axis=1)

    def _shares(self, ranked):
        """The shares Q of the weight that the items above, and those tied, have."""
        total = self._total(ranked)
        return tuple(np.minimum(x @ self._relative / total, 1) for x in (ranked.above, ranked.tied))

    def _law(self, ranked):
        check_laws(len(ranked), self.m, 16)
        return self._law_with(ranked) if self.replace else self._law_without(ranked)

    def _law_with(self, ranked):
        above, tied = self._shares(ranked)
        pmf = np.zeros((len(ranked), self.m + 1))
        for rows, counts, law in law_blocks(above, np.ones_like(above), self.m, True):
            pmf[rows, counts] = law
        some = np.flatnonzero(tied)
        if len(some):
            # In units of the mean weight of a tied item, the law is that of u more items above.
            ties = ranked.rows.ties[some]
            unit = ties / tied[some]
            pool = np.maximum(unit, above[some] * unit + ties)  # equal up to rounding, or larger
            pmf[some] = average_with(above[some] * unit, ties, pool, self.m)
        return pmf

    def _law_without(self, ranked):
        weights, kind = np.unique(self._relative, return_inverse=True)
        # One row per item, with 1 in the column of its weight; those of weight 0 are never drawn.
        of_item = np.ones(len(kind)), (np.arange(len(kind)), kind)
        kinds = sparse.csr_matrix(of_item, shape=(len(kind), len(weights)))[:, weights > 0]
        weights = weights[weights > 0]
        pmf = np.empty((len(ranked), self.m + 1))
        tied = np.diff(ranked.tied.indptr) > 0
        for some in (np.flatnonzero(tied), np.flatnonzero(~tied)):
            length = 16 * len(weights) + 64 * self.m
            for rows in row_blocks(len(some), length, BLOCK):
                part = some[rows]
                above, level, outside = (
                    (x[part].astype(float) @ kinds).toarray()
                    for x in (ranked.above, ranked.tied, ranked.excluded)
                )
                below = np.asarray(kinds.sum(axis=0)) - outside - above - level
                pmf[part] = first_rings(above, level, below, weights, self.m)
        return pmf


# The law of a sample without replacement and with weights, through clocks.
#
# Draw m items one after the other, each in proportion to the weights of those that are left. How
# many of them are above the relevant item? Each draw depends on all the draws before it. But
# give each candidate a clock that rings once, after an exponential time with its weight as the
# rate: then the first m clocks to ring are such a sample, and *at a fixed time* the clocks are
# independent. So the law is that of independent indicators at time t, integrated over the time t
# of the m-th ring.
#
# `first_rings` takes that integral; the functions below it supply its parts.


# Instances are taken together that have about this many numbers (32 MiB of float64), since each
# takes the same steps through time.
BLOCK = 2**22
# At most so many steps through time are taken at once, and only as long as they have so few numbers
# together: a step that comes later needs a larger transform.
_STEPS, _AT_ONCE = 16, 2**15
# Chances below exp(-36) = 2e-16 are left out.
_NEGLIGIBLE = 36.0


def first_rings(above, tied, below, weights, m):
    """The law of how many above the relevant item are among the first m clocks to ring.

    The arrays count, for each instance, the candidates of each weight: shape (instances, weights).

    At time t each clock of weight w has rung with probability p = 1 - exp(-w t), independently. So
    the numbers of rung clocks above, tied and below are independent, with generating functions
    G(z) = product of (1 - p + p z). The m-th ring takes (i, k, m - i - k) from one below it in one
    coordinate, at a rate that has a generating function too, z G(z) times the sum of
    w exp(-w t) / (1 - p + p z). The coefficients come from values on the unit circle, the integral
    over t from the trapezoidal rule in log t, which for such smooth integrands with both ends at 0
    is exact up to an error that falls like exp(-constant / step).
    """
    total = above + tied + below
    step = min(0.15, 0.3 / np.sqrt(1 + m / 4))
    # Sooner than the first time no m clocks have rung, later than the last no m are left to ring.
    first = np.log(m * np.exp(-1 - _NEGLIGIBLE / m) / (total @ weights).max())
    last = np.log((_NEGLIGIBLE + np.log(total.sum(axis=1).max())) / weights.min())
    times = np.exp(np.arange(first, last + step, step))
    rung, active = _when_active(total, weights, times, m)
    most = min(m, int(tied.sum(axis=1).max()))
    # More rings than this have a negligible chance, by Bernstein's inequality.
    reach = np.where(active, rung, 0.0).max(axis=0)
    reach = reach + np.sqrt(2 * _NEGLIGIBLE * reach) + _NEGLIGIBLE
    reach = np.minimum(reach, total.sum(axis=1).max()).astype(np.int64)
    sizes = 2 * (np.maximum(reach, m) // 2) + 3  # odd: no point at -1, where a factor may be 0
    change = np.zeros((len(above), m + 2))
    for part in _together(np.flatnonzero(active.any(axis=0)), sizes * max(above.shape)):
        size, on = sizes[part].max(), active[:, part].any(axis=1)
        both, point = _on_the_circle(weights, times[part], size)
        (p_above, f_above), (p_tied, f_tied), (p_below, f_below) = (
            _laws_and_rates(group[on], both, point, size, m) for group in (above, tied, below)
        )
        width = np.where(active[on][:, part].T, step * times[part, None], 0.0)
        for k in range(most + 1):
            # The m-th clock rings now, after which i above, k tied and m - k - i below have rung.
            # It is one of the first, the second or the third kind.
            up, rest = slice(0, m - k + 1), slice(m - k, None, -1)
            p_t, f_t = p_tied[..., [k]], f_tied[..., [k]]
            now_above = f_above[..., up] * p_t * p_below[..., rest]
            now_tied = p_above[..., up] * f_t * p_below[..., rest]
            now_below = p_above[..., up] * p_t * f_below[..., rest]
            density = now_above + now_tied + now_below
            # In a random order 0, 1, ..., k of the k tied ones are above, each as likely: counts of
            # i, ..., i + k get a share each, as an increase at i and a decrease at i + k + 1.
            share = np.einsum("tis,ti->is", density, width) / (k + 1)
            change[on, : m - k + 1] += share
            change[on, k + 1 :] -= share
    law = np.maximum(np.cumsum(change[:, :-1], axis=1), 0.0)
    return law / law.sum(axis=1, keepdims=True)


def _together(which, numbers):
    """Parts of the steps through time that are taken at once, of about `_AT_ONCE` numbers each."""
    while len(which):
        few = max(1, min(_AT_ONCE // int(numbers[which[0]]), _STEPS))
        yield which[:few]
        which = which[few:]


def _on_the_circle(weights, times, size):
    """Each weight at half of the points z: log(1 - p + p z) and w exp(-w t) / (1 - p + p z)."""
    point = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    passed = times[:, None] * weights
    factor = 1 - np.expm1(-passed)[..., None] * (point - 1)
    rate = (weights * np.exp(-passed))[..., None] / factor
    return np.concatenate([np.log(factor), rate], axis=-1), point


def _laws_and_rates(counts, both, point, size, m):
    """P(i clocks of a group have rung), and the rate at which the i-th rings, for i = 0, ..., m.

    Shape (times, instances, m + 1), as that of the clocks at the points is (times, weights, ...).
    """
    if not counts.any():
        law = np.zeros((len(both), len(counts), m + 1))
        law[..., 0] = 1
        return law, np.zeros_like(law)
    # A product of real and complex numbers would make the real ones complex first.
    sums = (counts @ both.view(float)).view(complex)
    log, rate = np.split(sums, 2, axis=-1)
    law = np.exp(log)
    return tuple(fft.irfft(x, size)[..., : m + 1] for x in (law, law * rate * point))


def _when_active(total, weights, times, m):
    """The mean number of rung clocks, and whether the m-th may ring about then: not negligibly.

    By Chernoff's bounds: P(X >= c) <= exp(-(x - c + c log(c / x))) for X with mean x < c, a sum of
    independent indicators, and the same for P(X <= c) with x > c.
    """
    left = total @ np.exp(-np.outer(weights, times))
    rung = total @ -np.expm1(-np.outer(weights, times))
    number = total.sum(axis=1)[:, None]

    def exponent(mean, c):
        return mean - c + special.xlogy(c, c) - special.xlogy(c, mean)

    too_early = (rung < m) & (exponent(rung, m) > _NEGLIGIBLE)
    too_late = (rung > m - 1) & (exponent(rung, m - 1) > _NEGLIGIBLE)
    more = number - m + 1  # so many have not rung while fewer than m have
    too_late |= (left < more) & (exponent(left, more) > _NEGLIGIBLE)
    return rung, ~(too_early | too_late)
