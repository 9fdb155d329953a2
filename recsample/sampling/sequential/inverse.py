"""Inverse sampling: draw until an item outranks the relevant one, and metrics have no bias.

The N irrelevant items of an instance are drawn in a random order, and a of them outrank the
relevant item. The position of the first of these contains information about a.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from recsample._support.arrays import different_rows, owners, places_in, row_blocks, summed
from recsample._support.checks import generator, positive_int, refuse_first, whole_numbers
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric, warned_of_nan
from recsample.metrics.names import the_metric
from recsample.metrics.shapes import Geometric, Linear, Logarithmic, Reciprocal
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_relevant, check_ranks
from recsample.sampling.base import Design, Observed, check_observed, column_of
from recsample.sampling.laws import log_lost, log_missed
from recsample.sampling.sequential import positions
from recsample.sampling.sequential.scanning import Scan, check_scan

__all__ = ["InverseSampling"]

_BLOCK = 2**13  # numbers at a time, which fit into the cache of a core


@dataclass(frozen=True)
class InverseSampling(Design):
    """Draw irrelevant items until the first one that outranks the relevant item.

    T is its position among the drawn items, and N + 1 if none of all N outranks the relevant item:
    P(T > t) = C(N - a, t) / C(N, t). Every function f of the rank has exactly one estimate g(T)
    without bias, because the N + 1 ranks and the N + 1 values of T make a triangular system. It is
    useful where the differences of f do not grow: for

    ==================  ============================================================
    1 / r               g(T) = T / (N + 1)
    z^(r - 1)           g(T) = P(B < T), B binomial with N draws of probability 1 - z
    1 - (r - 1) / N     g(T) = 1 if T > 1, else 0
    1 / log2(r + 1)     a mixture of the estimates of 1 / (r + x), x >= 0
    ==================  ============================================================

    that is for AP, RR, RBP, rank score, AUC, percentile rank, DCG and NDCG, all without a cut-off.
    (With one, g is huge: use `EarlyStopping`.) With several relevant items the
    drawing goes on until the best of them is outranked, each has its own T, and the estimates of
    their parts of the metric add up; `variance` is for one relevant item per instance. `cost` is
    (N + 1) / (a + 1) without a cap, all N where nothing outranks the relevant item.

    Items are drawn in a uniformly random order, independent for each instance. The observation is
    "position", T, for each relevant item, from 1 to N + 1, the best of an instance first.

    Parameters
    ----------
    cap : int, optional
        Draw at most this many items. An instance where none of them outranks the relevant item is
        treated as if the next one did, T = cap + 1, which is too early: the estimates fall short.
        `expect` shows by how much. By default there is no cap, and no bias.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> sampler = rs.InverseSampling()
    >>> sampler.estimate(rs.AP, ranks, rng=0).round(3)
    array([0.004, 0.022, 0.002, 0.   , 0.   ])
    >>> sampler.expect(rs.AP, ranks).round(3)    # as rs.AP(ranks)
    array([0.005, 0.5  , 0.001, 0.   , 0.001])
    >>> rs.InverseSampling(cap=49).expect(rs.AP, ranks).round(3)
    array([0.003, 0.005, 0.001, 0.   , 0.001])
    >>> sampler.cost(ranks).astype(int)
    array([  47, 5000,   13,    1,    6])
    """

    cap: int | None = None

    def __post_init__(self) -> None:
        if self.cap is not None:
            vars(self).update(cap=positive_int("cap", self.cap))

    def draw(self, ranks: Ranks, rng: Rng) -> Observed:
        check_ranks(ranks)
        rng = generator(rng)
        rows, n_relevant = ranks.break_ties("random", rng).rows, ranks.n_relevant
        above, pool = rows.above, ranks.n_irrelevant
        position = np.zeros_like(above)
        last = np.cumsum(n_relevant) - 1  # the row of each instance's worst relevant item
        # The worst is outranked first; the item that does so also outranks the next better one with
        # the probability a / a', or else the drawing goes on among the remaining items.
        for back in range(int(n_relevant.max())):
            reached = n_relevant > back
            row = last[reached] - back
            if back == 0:
                position[row] = positions.first_above(rng, above[row], pool[reached])
                continue
            worse = position[row + 1]
            also = rng.random(len(row)) * above[row + 1] < above[row]
            left = np.maximum(pool[reached] - worse, also)
            further = worse + positions.first_above(rng, np.where(also, 1, above[row]), left)
            # Beyond N + 1 there is nothing: the next worse item has not been outranked either.
            position[row] = np.where(also, worse, np.minimum(further, pool[reached] + 1))
        return self._observed(position, ranks.sizes, n_relevant)

    def scan(self, scan: Scan) -> Observed:
        check_scan(scan).advance(self._last(scan.n_irrelevant), 1)
        sizes = scan.n_irrelevant + scan.n_relevant
        return self._observed(scan.first, sizes, scan.n_relevant)

    def of(self, metric: Metric | str, observed: Observed) -> Floats:
        metric = estimable(metric)
        position, instance = self._positions(observed)
        n_relevant, pool = observed.n_relevant, observed.n_items - observed.n_relevant
        position = position[np.lexsort((-position, instance))]
        order = 1 + places_in(n_relevant)
        gain = estimates(metric, position, order, n_relevant[instance], pool[instance])
        values = summed(instance, gain, len(observed))
        values[n_relevant == 0] = np.nan
        return warned_of_nan(metric, values)

    def estimated_variance(self, metric: Metric | str, observed: Observed) -> Floats:
        """An estimate of the variance of `estimate`, from the same single run.

        It is g(T)^2 minus the estimate of f^2, and has no bias if there is no cap. For one instance
        it may be negative; use the sum over many. For AP it is

            (T / n)^2 - (T - (n - T) (1 / (n - T + 1) + ... + 1 / n)) / n.

        The sum is as uncertain as the estimate: an interval of 1.96 standard errors around the mean
        AP needs about a thousand instances to have its nominal coverage.

        Parameters
        ----------
        metric : Metric or str
        observed : Observed
            Of one relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Examples
        --------
        Rank 2 of 4: T is 1, 2 or 3 with the same probability, and T / 4 has the variance 1/24.

        >>> import recsample as rs
        >>> design = rs.InverseSampling()
        >>> observed = rs.Observed(design, n_items=4, position=[1, 2, 3])
        >>> round(24 * float(design.estimated_variance(rs.AP, observed).mean()), 12)
        1.0
        """
        metric = estimable(metric)
        estimate = self.of(metric, observed)
        if (observed.n_relevant != 1).any():
            raise InputError("observed", "must be of one relevant item per instance").got("several")
        square = estimates_of_square(metric, observed["position"], observed.n_items - 1)
        return estimate**2 - square

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        metric = estimable(metric)
        check_ranks(ranks)
        if self.cap is None:
            return metric(ranks)
        cases = positions.cases_of(ranks)
        mean = positions.per_instance(cases, self._moments(metric, cases)[0], len(ranks))
        mean[ranks.n_relevant == 0] = np.nan
        return warned_of_nan(metric, mean)

    def variance(self, metric: Metric | str, ranks: Ranks) -> Floats:
        metric = estimable(metric)
        cases = positions.cases_of(check_one_relevant(ranks))
        if self.cap is None and metric.shape == Reciprocal():
            first = metric.of_rank(np.ones(len(ranks), np.int64), ranks.sizes)
            return first**2 * _variance_of_position(cases)
        mean, square = self._moments(metric, cases)
        return np.maximum(square - mean**2, 0.0)

    def cost(self, ranks: Ranks) -> Floats:
        cases = positions.cases_of(check_ranks(ranks), best_only=True)
        if self.cap is None:
            each = positions.cost_until(1, cases.above, cases.ties, cases.pool)
        else:
            each = positions.mean_over_ties(self._cost, cases)
        return positions.per_instance(cases, each, len(ranks))

    def _last(self, pool):
        """The largest number of items drawn."""
        return pool if self.cap is None else np.minimum(pool, self.cap)

    def _cost(self, above, pool):
        """The sum of P(T > t) over all t below the last."""
        last = self._last(pool)
        # The sum over all t is (N + 1) / (a + 1); from t on it is P(T > t) times the same for the
        # N - t items that are left.
        still = log_missed(above, last, pool)
        return (last * np.exp(still) - (pool + 1.0) * np.expm1(still)) / (above + 1)

    def _moments(self, metric, cases):
        """E[g(T)] and E[g(T)^2], for all numbers of items above in pools of one size at a time."""
        moments = np.empty((2, len(cases.pool)))
        kinds, kind = different_rows([cases.pool, cases.order, cases.n_relevant])
        for one in range(len(kinds[0])):
            some = np.flatnonzero(kind == one)
            mean = partial(self._moments_at, metric, *(column[one] for column in kinds))
            moments[:, some] = positions.mean_over_ties(mean, cases.of(some))
        return moments

    def _moments_at(self, metric, pool, order, n_relevant, above, _):
        """`_moments` for numbers of items above in a pool."""
        sums = partial(self._sums_at, metric, pool, order, n_relevant)
        return positions.interpolated(sums, above, pool)

    def _sums_at(self, metric, pool, order, n_relevant, above):
        """The same as sums over few positions."""
        last = int(self._last(pool))
        edges = where_estimates_rise(metric, pool)
        position, weight = positions.places_between(1, last + 1, pool + 1, edges=edges)
        values = estimates(metric, np.append(position, last + 1), order, n_relevant, pool)
        powers, moments = np.stack([values, values**2]), np.empty((2, len(above)))
        for part in row_blocks(len(above), len(values)):
            a = above[part, None]
            # P(T = t) = P(T > t - 1) a / (N - t + 1); what is beyond the last has its estimate.
            chance = np.exp(log_missed(a, position - 1, pool)) * (a / (pool - position + 1))
            beyond = np.exp(log_missed(a, last, pool))
            moments[:, part] = powers @ np.hstack([chance * weight, beyond]).T
        return moments

    def _observed(self, position, n_items, n_relevant):
        """The observation, where drawing ends at the cap."""
        last = self._last(n_items - n_relevant)[owners(n_relevant)]
        return Observed(self, n_items, n_relevant, position=np.minimum(position, last + 1))

    def _positions(self, observed):
        """The positions T, checked, and the instance of each."""
        n_relevant = check_observed(observed, self).n_relevant
        instance = owners(n_relevant)
        column = column_of(observed, "position", instance.shape)
        position = whole_numbers("position", column, lowest=1)
        last = (observed.n_items - n_relevant + 1)[instance]
        allowed = "must be at most {0}, the number of irrelevant items plus 1"
        got, columns = "{1} in instance {2}", (last, position, instance)
        refuse_first(position > last, "position", allowed, got, *columns)
        return position, instance


def _variance_of_position(cases):
    """Var[T / n], by E[T (T + 1)] = 2 (N + 1) (N + 2) / ((a + 1) (a + 2)), averaged over ties."""
    n, best = cases.pool + 1.0, cases.above + 1.0
    worst = best + cases.ties
    mean = positions.mean_inverse(best, worst)
    square = 2 * ((n + 1) / n) / (best * (worst + 1)) - mean / n
    return np.maximum(square - mean**2, 0.0)


# Functions of the position T of the first item above, by which metrics are estimated.
#
# With N irrelevant items, a of which outrank the relevant one, T is the position of the first of
# these in a random order, N + 1 if there is none. A metric of a simple shape has one function g
# of T with the metric as its expectation. All but the linear one rise with T up to the value at
# rank 1.


def estimable(metric: Metric | str) -> Metric:
    """Return the metric (or that with this name); refuse a shape without a useful estimate."""
    metric = the_metric(metric)
    if not isinstance(metric.shape, (Linear, Reciprocal, Geometric, Logarithmic)):
        raise InputError(
            "metric",
            "must be AP, RR, NDCG, DCG, RBP, RankScore, AUC or PercentileRank without a cut-off "
            "for inverse sampling",
        ).got(metric, "; for a cut-off use EarlyStopping")
    return metric


def estimates(metric, position, order, n_relevant, pool):
    """The contributions of relevant items of given order to the estimate, at any positions."""
    first, last = _ends(metric, order, n_relevant, pool)
    match metric.shape:
        case Linear():
            # The first item drawn is above with the probability a / N.
            return np.where(position == 1, last, first)
        case Geometric(ratio):
            return first * _geometric_share(ratio, position, pool)
        case Reciprocal():
            # Of what the best rank is worth i / (i + a) is left, in short T / (N + 1) for i = 1.
            exact = position / (pool + 1.0)
            return first * np.where(order == 1, exact, 1 - _lost(order, position, pool))
    # Logarithmic: an integral over the estimates of 1 / (r + x).
    order, position, pool = np.broadcast_arrays(order, position, pool)
    lost, (x, weight) = _lost(order, position, pool) / order, _logarithm_rule(pool + order)
    for part in row_blocks(len(lost), len(x), _BLOCK):
        z = order[part] + 1.0 + x[:, None]
        lost[part] += weight @ (x[:, None] / z * _lost(z, position[part], pool[part]))
    return first * (1 - np.log(order + 1.0) * lost)


def estimates_of_square(metric, position, pool):
    """The estimates of the square of a metric, for one relevant item."""
    one = np.ones_like(position)
    first, last = _ends(metric, one, one, pool)
    match metric.shape:
        case Linear():
            # f is a mean of both ends, and its square below that of their squares by (a / N)
            # (1 - a / N) times the squared difference: P(T = 2) is that times N / (N - 1).
            apart = np.where(position == 2, 1 - 1 / np.maximum(pool, 1), 0.0)
            return np.where(position == 1, last, first) ** 2 - (first - last) ** 2 * apart
        case Geometric(ratio):
            return first**2 * _geometric_share(ratio**2, position, pool)
    n = pool + 1.0
    left = n - position
    square = (position - left * (special.digamma(n + 1) - special.digamma(left + 1))) / n
    if metric.shape == Reciprocal():
        return first**2 * square
    # The square of 1 / ln(r + 1) is 1 / r^2 + 1 / r and an integral like that of 1 / ln(r + 1).
    logarithmic = square + position / n + (1 / np.log(2) ** 2 - 2)
    for x, weight in zip(*_logarithm_rule(n, squared=True)):
        logarithmic -= weight * (x / (2.0 + x)) * _lost(2.0 + x, position, pool)
    return first**2 * np.log(2) ** 2 * logarithmic


def where_estimates_rise(metric, pool):
    """Positions between which the estimates of a metric are smooth in a large pool.

    But for geometric metrics it is everywhere but at the ends; those rise like a normal law.
    """
    if not isinstance(metric.shape, Geometric):
        return []
    ratio = metric.shape.ratio
    edges = pool * (1 - ratio) + np.sqrt(pool * ratio * (1 - ratio)) * np.arange(-12, 12.5, 0.5)
    return np.round(edges).astype(np.int64)


def _ends(metric, order, n_relevant, pool):
    """The contributions of relevant items of given order at their best and worst ranks."""
    n_items = pool + n_relevant
    with np.errstate(divide="ignore", invalid="ignore"):  # AUC of a pool without irrelevant items
        return [metric.term(order + a, order, n_relevant, n_items) for a in (0, pool)]


def _lost(x, position, pool):
    """The product over t < T of (N - t) / (N - t + x): 1 - this estimates x / (x + a)."""
    return np.exp(log_lost(pool - position + 1.0, x, position))


def _geometric_share(ratio, position, pool):
    """P(B < T) for B ~ B(N, 1 - z)."""
    left = np.maximum(pool - position + 1.0, 0.5)
    return np.where(position > pool, 1.0, special.betainc(left, position, ratio))


def _logarithm_rule(largest, squared=False):
    """Points x and weights w with 1 / ln(z) = 1 / (z - 1) + sum of w x / (z + x), for z >= 2.

    The sum stands for the integral of 1 / ((z + x) (ln(x)^2 + pi^2)) over x > 0, by the trapezoidal
    rule in v = ln(x). What it is applied to falls like exp(-|v|), on the right from v = ln(N) on,
    for the `largest` N, so that it ends where that is exp(-36). It has its next poles at v = i pi:
    the error is about exp(-2 pi^2 / 0.5) = 7e-18. For 1 / ln^2 the weights are multiplied by
    2 v / (v^2 + pi^2).
    """
    v = np.arange(-72, np.ceil(2 * np.log(np.max(largest, initial=1))) + 73) / 2
    square = v**2 + np.pi**2
    return np.exp(v), v / square**2 if squared else 0.5 / square
