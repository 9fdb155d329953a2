"""Drawing negatives one by one until enough is known: metrics without bias, without ranking all.

The N irrelevant items of an instance are met in a random order of its own, and a of them outrank
the relevant item. How many are looked at depends on what has been seen:

- `InverseSampling` stops at the first one that outranks the relevant item,
- `EarlyStopping` at the k-th, after which no metric with a cut-off up to k can change,
- `TwoPhase` gives up some of the instances after m0 items and lets the others stand for them.

None of them has a bias. They work on `Ranks`, where expectations are exact and nothing is scored,
and on a `Scan` of real scores, with any number of relevant items per instance (variances are for
one). `recsample.doubling` has a design that needs a correction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._counts import check_drawable, count_pmf, row_blocks
from recsample._stopping import (
    check_pool,
    cost_until,
    count_chance,
    estimates,
    estimates_by_pool,
    estimates_of_square,
    first_above,
    mean_inverse,
    per_instance,
    rows_by_pool,
    rows_of,
    survival,
    untied,
)
from recsample._typing import Floats, Integers, Rng
from recsample._validation import (
    finite_numbers,
    generator,
    positive_int,
    shown,
    whole_numbers,
)
from recsample.metrics import (
    DiscountedGain,
    GeometricMetric,
    LinearMetric,
    Metric,
    NormalizedDCG,
    ReciprocalMetric,
    check_metric,
    warned_of_nan,
)
from recsample.ranks import Ranks, check_one_relevant, check_ranks, flattened
from recsample.scanning import Scan, check_new

__all__ = [
    "EarlyStopping",
    "InverseSampling",
    "SequentialSampling",
    "TwoPhase",
    "TwoPhaseSample",
]


class SequentialSampling(ABC):
    """What the sequential samplers have in common.

    Instances are sampled independently. Where relevant items are tied with irrelevant ones, a
    random order of the tied items is drawn first; every method belongs to that two-step experiment.

    Examples
    --------
    >>> import recsample as rs
    >>> issubclass(rs.InverseSampling, rs.sequential.SequentialSampling)
    True
    """

    @abstractmethod
    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of `estimate`, exactly.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Examples
        --------
        >>> import recsample as rs
        >>> rs.InverseSampling().variance(rs.AP, rs.Ranks([1, 2], n_items=4))
        array([0.        , 0.04166667])
        """

    def std_of_mean(self, metric: Metric, ranks: Ranks) -> float:
        """Standard deviation, over repeated sampling, of the mean of `estimate`.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            As for `variance`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([2] * 600, n_items=4)
        >>> round(rs.InverseSampling().std_of_mean(rs.AP, ranks), 6)         # sqrt(1/24/600)
        0.008333
        """
        return float(np.sqrt(self.variance(metric, ranks).sum()) / len(ranks))


@dataclass(frozen=True)
class InverseSampling(SequentialSampling):
    """Draw irrelevant items until the first one that outranks the relevant item.

    T is its position among the drawn items, and N + 1 if none of all N outranks the relevant item:
    P(T > t) = C(N - a, t) / C(N, t). Every function f of the rank has exactly one estimate g(T)
    without bias, because the N + 1 ranks and the N + 1 values of T make a triangular system. It is
    of use where the differences of f do not grow: for

    ==================  ============================================================
    1 / r               g(T) = T / (N + 1)
    z^(r - 1)           g(T) = P(B < T), B binomial with N draws of probability 1 - z
    1 - (r - 1) / N     g(T) = 1 if T > 1, else 0
    1 / log2(r + 1)     a mixture of the estimates of 1 / (r + x), x >= 0
    ==================  ============================================================

    that is for AP, RR, RBP, rank score, AUC, percentile rank, DCG and NDCG, all without a cut-off.
    (With one, g is huge: use `EarlyStopping` or `TwoPhase`.) With several relevant items the
    drawing goes on until the best of them is outranked, each has its own T, and the estimates of
    their parts of the metric add up.

    The assumption: the items are met in a uniformly random order, drawn for each instance anew.

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
    >>> rs.AP(ranks).round(3)
    array([0.005, 0.5  , 0.001, 0.   , 0.001])
    >>> sampler.estimate(rs.AP, ranks, rng=0).round(3)
    array([0.004, 0.022, 0.002, 0.   , 0.   ])
    >>> sampler.expect(rs.AP, ranks).round(3)
    array([0.005, 0.5  , 0.001, 0.   , 0.001])
    >>> sampler.cost(ranks).astype(int)
    array([  47, 5000,   13,    1,    6])
    """

    cap: int | None = None

    def __post_init__(self) -> None:
        if self.cap is not None:
            object.__setattr__(self, "cap", positive_int("cap", self.cap))

    def draw(self, ranks: Ranks, rng: Rng) -> Integers | tuple[Integers, ...]:
        """The positions T at which the relevant items are outranked, drawn from their law.

        The number of items before T is beta-binomial. With several relevant items, the worst is
        outranked first; that item also outranks the next better one with probability a / a', or
        else the drawing goes on among the remaining items.

        Parameters
        ----------
        ranks : Ranks
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        ndarray of int, shape (instances,), or tuple of them
            In the form of ``ranks.values``; the position of the best relevant item first.

        Raises
        ------
        ValueError
            For anything but `Ranks`, and an `rng` that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.InverseSampling().draw(rs.Ranks([1, 2, 100], n_items=100), rng=0)
        array([100,  70,   1])
        """
        check_ranks(ranks)
        rng = generator(rng)
        terms, n_relevant = ranks.break_ties("random", rng)._terms, ranks.n_relevant
        above, pool = terms.rank - terms.order, ranks.n_irrelevant
        position = np.zeros_like(above)
        last = np.cumsum(n_relevant) - 1
        for back in range(int(n_relevant.max())):
            reached = n_relevant > back
            row = last[reached] - back
            if back == 0:
                position[row] = first_above(rng, above[row], pool[reached])
                continue
            worse = position[row + 1]
            also = rng.random(len(row)) * above[row + 1] < above[row]
            further = worse + first_above(
                rng, np.where(also, 1, above[row]), np.maximum(pool[reached] - worse, also)
            )
            # Beyond N + 1 there is nothing: the next worse item has not been outranked either.
            position[row] = np.where(also, worse, np.minimum(further, pool[reached] + 1))
        position = np.minimum(position, self._last(pool)[terms.instance] + 1)
        return np.split(position, last[:-1] + 1) if ranks._nested else position  # type: ignore

    def scan(self, scan: Scan) -> Integers | tuple[Integers, ...]:
        """The positions T in a scan of real scores.

        Parameters
        ----------
        scan : Scan
            It is advanced as far as needed. One that has been advanced already gives the same T.

        Returns
        -------
        ndarray of int, shape (users,), or tuple of them
            As for `draw`: a tuple where the scan was given a matrix of relevant items.

        Examples
        --------
        Item i has the score i, and item 8 is relevant to everyone:

        >>> import recsample as rs
        >>> scan = rs.scanning.Scan(lambda users, items: items, [8] * 3, n_items=10)
        >>> positions = rs.InverseSampling().scan(scan)
        >>> bool((positions == scan.scored).all())
        True
        """
        last = self._last(scan.n_irrelevant)
        scan.advance(last, 1)
        first = scan.first
        if isinstance(first, tuple):
            return tuple(np.minimum(each, end + 1) for each, end in zip(first, last))
        return np.minimum(first, last + 1)

    def of_position(self, metric: Metric, positions: ArrayLike, n_items: ArrayLike) -> Floats:
        """The estimate g(T) of a metric, given where the drawing ended.

        Parameters
        ----------
        metric : Metric
        positions : array_like of int
            One T per instance, shape (instances,), or one sequence per instance, with the T of each
            of its relevant items in any order. From 1 to N + 1, where N is the number of irrelevant
            items.
        n_items : int or array_like of int
            Size of the pool, the relevant items included: one number, or one per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For a metric that this design does not estimate, and a position outside the pool.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.InverseSampling().of_position(rs.AP, [1, 2, 4], n_items=4)
        array([0.25, 0.5 , 1.  ])
        """
        _check_estimable(metric)
        flat, lengths, _ = flattened("positions", positions)
        instance = np.repeat(np.arange(len(lengths)), lengths)
        flat = whole_numbers("positions", flat, lowest=1)
        pool = Ranks(np.ones(len(lengths), int), n_items)._sizes - lengths
        beyond = flat > pool[instance] + 1
        if beyond.any():
            where = int(np.argmax(beyond))
            raise ValueError(
                f"positions must be at most {pool[instance[where]] + 1}, the number of irrelevant "
                f"items plus 1, got {flat[where]} in instance {instance[where]}"
            )
        flat = flat[np.lexsort((-flat, instance))]
        order = 1 + np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        gain = estimates(metric, flat, order, lengths[instance], pool[instance])
        values: Floats = np.bincount(instance, gain, len(lengths)).astype(float)
        values[lengths == 0] = np.nan
        return warned_of_nan(metric, values)

    def estimate(self, metric: Metric, ranks: Ranks, rng: Rng) -> Floats:
        """One estimate per instance, without bias if there is no cap: `draw`, then `of_position`.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
        rng : int or numpy.random.Generator

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As for `draw` and `of_position`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 100], n_items=100)
        >>> rs.InverseSampling().estimate(rs.AP, ranks, rng=0)
        array([1.  , 0.7 , 0.01])
        """
        return self.of_position(metric, self.draw(ranks, rng), ranks.n_items)

    def estimated_variance(
        self, metric: Metric, positions: ArrayLike, n_items: ArrayLike
    ) -> Floats:
        """An estimate of the variance of `estimate`, from the same single run.

        g(T)^2 minus the estimate of f^2: without bias if there is no cap, since E[g^2] - f^2 is the
        variance. For one instance it may be negative; the sum over many is of use. For AP it is

            (T / n)^2 - (T - (n - T) (1 / (n - T + 1) + ... + 1 / n)) / n.

        The sum is as uncertain as the estimate, and small where that is small: both come from the
        few instances that were scanned far. An interval of 1.96 standard errors around the mean AP
        needs about a thousand instances to hold the exact value as often as it says; with a hundred
        it does so in some 90 % of the runs, and lies too low in nearly all of the others.

        Parameters
        ----------
        metric : Metric
        positions : array_like of int, shape (instances,)
            One T per instance, for one relevant item.
        n_items : int or array_like of int

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As for `of_position`, and for several relevant items.

        Examples
        --------
        Rank 2 of 4: T is 1, 2 or 3 with the same probability, and T / 4 has the variance 1/24.

        >>> import recsample as rs
        >>> found = rs.InverseSampling().estimated_variance(rs.AP, [1, 2, 3], n_items=4)
        >>> round(24 * float(found.mean()), 12)
        1.0
        """
        estimate = self.of_position(metric, positions, n_items)
        flat, _, nested = flattened("positions", positions)
        if nested:
            raise ValueError("positions must be one number per instance, got lists")
        n = Ranks(np.ones(len(flat), int), n_items)._sizes
        return estimate**2 - estimates_of_square(metric, flat, n - 1)

    def expect(self, metric: Metric, ranks: Ranks) -> Floats:
        """The expectation of `estimate`: the exact metric, or what the cap leaves of it.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For a metric that this design does not estimate, and anything but `Ranks`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 10], n_items=100)
        >>> rs.InverseSampling().expect(rs.AP, ranks)
        array([1. , 0.1])
        >>> rs.InverseSampling(cap=49).expect(rs.AP, ranks).round(4)
        array([0.5   , 0.0999])
        """
        _check_estimable(metric)
        check_ranks(ranks)
        if self.cap is None:
            return metric(ranks)
        rows = rows_of(ranks)
        mean = per_instance(rows, self._moments(metric, rows)[0], len(ranks))
        mean[ranks.n_relevant == 0] = np.nan
        return warned_of_nan(metric, mean)

    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of `estimate`, by summing over the law of T.

        Parameters
        ----------
        metric : Metric
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, and as for `expect`.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.InverseSampling().variance(rs.AP, rs.Ranks([1, 2], n_items=4))
        array([0.        , 0.04166667])
        """
        _check_estimable(metric)
        rows = rows_of(check_one_relevant(ranks))
        if self.cap is None and isinstance(metric, ReciprocalMetric):
            return _variance_of_position(rows)
        mean, square = self._moments(metric, rows)
        return np.maximum(square - mean**2, 0.0)

    def cost(self, ranks: Ranks) -> Floats:
        """The expected number of irrelevant items that are drawn, (N + 1) / (a + 1) without a cap.

        Where nothing outranks the relevant item it is all N.

        Parameters
        ----------
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For anything but `Ranks`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 10, 100], n_items=100)
        >>> rs.InverseSampling().cost(ranks)
        array([99., 50., 10.,  1.])
        >>> rs.InverseSampling(cap=20).cost(ranks).round(2)
        array([20.  , 18.08,  9.05,  1.  ])
        """
        rows = rows_of(check_ranks(ranks), best_only=True)
        if self.cap is None:
            each = cost_until(1, rows.above, rows.ties, rows.pool)
        else:
            each = np.empty(len(rows.pool))
            for same, pool in rows_by_pool(rows):
                last = int(self._last(pool))
                for part in row_blocks(len(same), last + 1):
                    each[same[part]] = survival(rows.of(same[part]), last)[:, :last].sum(axis=1)
        return per_instance(rows, each, len(ranks))

    def _last(self, pool):
        """How many items are drawn at most."""
        return pool if self.cap is None else np.minimum(pool, self.cap)

    def _moments(self, metric, rows):
        """E[g(T)] and E[g(T)^2]: the sums of their steps from T to T + 1 times P(T > t)."""
        moments = np.empty((2, len(rows.pool)))
        for same, pool, values in estimates_by_pool(metric, rows):
            last = int(self._last(pool))
            values = values[: last + 1]
            steps = np.diff([values, values**2], prepend=0.0)
            for part in row_blocks(len(same), last + 1):
                moments[:, same[part]] = steps @ survival(rows.of(same[part]), last).T
        return moments


@dataclass(frozen=True)
class EarlyStopping(SequentialSampling):
    """Draw irrelevant items until `k` of them outrank the best relevant item, or none is left.

    In the first case no relevant item is among the first k; in the second all ranks are known. So
    every metric with a cut-off of at most k is exact, whatever the order of the items.

    Parameters
    ----------
    k : int
        At least the cut-off of the metrics.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> rs.EarlyStopping(10).estimate(rs.Recall @ 10, ranks, rng=0)
    array([0., 1., 0., 0., 0.])
    >>> rs.EarlyStopping(10).cost(ranks).round(1)
    array([ 471.7, 9999. ,  134.6,   18.7,   64.6])
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_int("k", self.k))

    def draw(self, ranks: Ranks, rng: Rng) -> Ranks:
        """What is known of the ranks when the drawing ends; random only in the order of ties.

        Parameters
        ----------
        ranks : Ranks
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        Ranks
            Without ties. Rank k + 1 stands for all ranks beyond k, with several relevant items
            k + i for the i-th best of them.

        Raises
        ------
        ValueError
            For anything but `Ranks`, and an `rng` that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 3, 50], n_items=100, ties=[0, 4, 0])
        >>> rs.EarlyStopping(5).draw(ranks, rng=0).values
        array([1, 6, 6])
        """
        return _known_ranks(check_ranks(ranks).break_ties("random", generator(rng)), self.k)

    def scan(self, scan: Scan) -> Ranks:
        """Ranks from a scan of real scores, exact as far as metrics with a cut-off see them.

        Parameters
        ----------
        scan : Scan
            It is advanced as far as needed, from wherever it is.

        Returns
        -------
        Ranks
            As for `draw`.

        Examples
        --------
        Item i has the score i, so items 8 and 3 are on ranks 2 and 7:

        >>> import recsample as rs
        >>> scan = rs.scanning.Scan(lambda users, items: items, [8, 3], n_items=10)
        >>> rs.EarlyStopping(3).scan(scan).values
        array([2, 4])
        """
        scan.advance(scan.n_irrelevant, self.k)
        return _known_ranks(scan.ranks, self.k)

    def estimate(self, metric: Metric, ranks: Ranks, rng: Rng) -> Floats:
        """The metric of what `draw` gives, which is its exact value.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks
        rng : int or numpy.random.Generator

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For a metric that needs more than the first k places, and anything but `Ranks`.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.EarlyStopping(10).estimate(rs.NDCG @ 10, rs.Ranks([1, 3, 50], n_items=100), rng=0)
        array([1. , 0.5, 0. ])
        """
        _check_within(metric, self.k)
        return metric(self.draw(ranks, rng))

    def expect(self, metric: Metric, ranks: Ranks) -> Floats:
        """The expectation of `estimate`: the metric itself.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As for `estimate`.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.EarlyStopping(10).expect(rs.NDCG @ 10, rs.Ranks([1, 3, 50], n_items=100))
        array([1. , 0.5, 0. ])
        """
        _check_within(metric, self.k)
        return metric(check_ranks(ranks))

    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of `estimate`: 0, but for what the order of tied items does.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, and as for `estimate`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 1], n_items=100, ties=[0, 19])
        >>> rs.EarlyStopping(10).variance(rs.Recall @ 10, ranks)
        array([0.  , 0.25])
        """
        return _variance_of_weighted(metric, self.k, ranks, lambda rows: 1.0)

    def cost(self, ranks: Ranks) -> Floats:
        """The expected number of irrelevant items that are drawn.

        The mean position of the k-th of a items in a random order of N, k (N + 1) / (a + 1), or all
        N where fewer than k outrank the best relevant item.

        Parameters
        ----------
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For anything but `Ranks`.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.EarlyStopping(10).cost(rs.Ranks([1, 10, 11, 100], n_items=100)).round(2)
        array([99.  , 99.  , 90.91, 10.  ])
        """
        rows = rows_of(check_ranks(ranks), best_only=True)
        each = cost_until(self.k, rows.above, rows.ties, rows.pool)
        return per_instance(rows, each, len(ranks))


class TwoPhaseSample(NamedTuple):
    """What is known after the two phases.

    Parameters
    ----------
    ranks : Ranks
        Exact up to rank k where `weight` is above 0.
    weight : ndarray of float, shape (instances,)
        For how many instances each one stands: 0 where the second phase was left out.

    Examples
    --------
    >>> import recsample as rs
    >>> sample = rs.TwoPhase(5, k=1, probability=0.5).draw(rs.Ranks([1] * 4, n_items=9), rng=0)
    >>> sample.weight
    array([0., 2., 2., 2.])
    """

    ranks: Ranks
    weight: Floats


@dataclass(frozen=True)
class TwoPhase(SequentialSampling):
    """Draw `m0` irrelevant items, then go on to exactness for some of the open instances only.

    Both phases stop when `k` items outrank the best relevant item: it is beyond rank k then, and a
    metric with a cut-off up to k is 0. Where s < k do after `m0` items, the instance is finished
    with the probability pi(s), as in `EarlyStopping`, and its metric M counts as M / pi(s);
    otherwise it counts as 0. This is the estimate of Horvitz and Thompson [1]_: its mean is M.

    The assumption: the items are met in a uniformly random order, and pi is fixed beforehand as a
    function of s alone.

    Parameters
    ----------
    m0 : int
        Items in the first phase.
    k : int
        At least the cut-off of the metrics.
    probability : float or sequence of float, shape (k,)
        The pi(s) for s = 0, ..., k - 1, above 0 and at most 1; one number for all s.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> sampler = rs.TwoPhase(100, k=10, probability=0.5)
    >>> sampler.estimate(rs.Recall @ 10, ranks, rng=1)
    array([0., 2., 0., 0., 0.])
    >>> sampler.expect(rs.Recall @ 10, ranks)
    array([0., 1., 0., 0., 0.])
    >>> sampler.cost(ranks).round(1)
    array([ 285.8, 5049.5,  115.6,   18.7,   64.4])

    References
    ----------
    .. [1] D. Horvitz, D. Thompson, "A Generalization of Sampling Without Replacement From a Finite
       Universe", Journal of the American Statistical Association 47(260), 1952.
    """

    m0: int
    k: int
    probability: float | Sequence[float] | Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "m0", positive_int("m0", self.m0))
        object.__setattr__(self, "k", positive_int("k", self.k))
        chances = finite_numbers("probability", self.probability)
        if chances.shape not in ((), (self.k,)):
            raise ValueError(
                f"probability must be one number or one for each s = 0, ..., k - 1, shape "
                f"({self.k},), got shape {chances.shape}"
            )
        if not ((chances > 0) & (chances <= 1)).all():
            raise ValueError(
                f"probability must be above 0 and at most 1, got {shown(self.probability)}"
            )
        object.__setattr__(
            self, "probability", tuple(chances.tolist()) if chances.ndim else chances.item()
        )

    @property
    def _chances(self):
        return np.broadcast_to(np.asarray(self.probability, float), (self.k,))

    def draw(self, ranks: Ranks, rng: Rng) -> TwoPhaseSample:
        """Which instances are finished, drawn from the law of the first phase.

        Parameters
        ----------
        ranks : Ranks
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        TwoPhaseSample
            With ties broken at random.

        Raises
        ------
        ValueError
            If a pool holds fewer than m0 irrelevant items, for anything but `Ranks`, and an `rng`
            that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 3, 90], n_items=100)
        >>> rs.TwoPhase(20, k=2, probability=0.25).draw(ranks, rng=0).weight
        array([0., 0., 0., 1.])
        """
        pool = check_pool(check_ranks(ranks), self.m0)
        rng = generator(rng)
        ordered = ranks.break_ties("random", rng)
        above = _best_rank(ordered) - 1
        check_drawable(pool)
        count = rng.hypergeometric(above, pool - above, self.m0)
        return TwoPhaseSample(ordered, self._weight(count, rng.random(len(pool))))

    def scan(self, scan: Scan, rng: Rng) -> TwoPhaseSample:
        """Both phases in a scan of real scores.

        Parameters
        ----------
        scan : Scan
            A new one. It is advanced as far as needed.
        rng : int or numpy.random.Generator
            Decides which instances are finished.

        Returns
        -------
        TwoPhaseSample
            Rank k + 1 stands for all ranks beyond k, as in `EarlyStopping`.

        Raises
        ------
        ValueError
            If a pool holds fewer than m0 irrelevant items, for a scan that has been advanced
            already, and an `rng` that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> scan = rs.scanning.Scan(lambda users, items: items, [8, 3], n_items=10)
        >>> sample = rs.TwoPhase(4, k=3, probability=1).scan(scan, rng=0)
        >>> sample.ranks.values, sample.weight
        (array([2, 4]), array([1., 1.]))
        """
        rng = generator(rng)
        check_pool(check_new(scan), self.m0)
        scan.advance(self.m0, self.k)
        weight = self._weight(_best_rank(scan.ranks) - 1, rng.random(len(scan.scored)))
        scan.advance(np.where(weight > 0, scan.n_irrelevant, 0), self.k)
        return TwoPhaseSample(_known_ranks(scan.ranks, self.k), weight)

    def of_sample(self, metric: Metric, sample: TwoPhaseSample) -> Floats:
        """The estimate of a metric, given what the two phases found.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        sample : TwoPhaseSample

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For a metric that needs more than the first k places.

        Examples
        --------
        >>> import recsample as rs
        >>> design = rs.TwoPhase(20, k=2, probability=0.25)
        >>> sample = design.draw(rs.Ranks([1, 2, 3, 90], n_items=100), rng=0)
        >>> design.of_sample(rs.Recall @ 2, sample)
        array([0., 0., 0., 0.])
        """
        _check_within(metric, self.k)
        return sample.weight * metric(sample.ranks)

    def estimate(self, metric: Metric, ranks: Ranks, rng: Rng) -> Floats:
        """One estimate per instance, without bias: `draw`, then `of_sample`.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks
        rng : int or numpy.random.Generator

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As for `draw` and `of_sample`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 3, 90], n_items=100)
        >>> rs.TwoPhase(20, k=3, probability=0.5).estimate(rs.AP @ 3, ranks, rng=1)
        array([2., 1., 0., 0.])
        """
        return self.of_sample(metric, self.draw(ranks, rng))

    def expect(self, metric: Metric, ranks: Ranks) -> Floats:
        """The expectation of `estimate`: the metric itself.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As for `estimate`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 3, 90], n_items=100)
        >>> rs.TwoPhase(20, k=3, probability=0.5).expect(rs.AP @ 3, ranks)
        array([1.        , 0.5       , 0.33333333, 0.        ])
        """
        _check_within(metric, self.k)
        check_pool(check_ranks(ranks), self.m0)
        return metric(ranks)

    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of `estimate`: M^2 (E[1 / pi(s)] - 1), and what the order of ties adds.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, and as for `estimate`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 3, 90], n_items=100)
        >>> rs.TwoPhase(20, k=3, probability=0.25).variance(rs.Recall @ 3, ranks)
        array([3., 3., 3., 0.])
        """
        check_pool(check_ranks(ranks), self.m0)
        inverse = np.append(1 / self._chances, 1.0)
        return _variance_of_weighted(
            metric,
            self.k,
            ranks,
            lambda rows: self._law_up_to_k(rows.above, rows.pool) @ inverse,
        )

    def cost(self, ranks: Ranks) -> Floats:
        """The expected number of irrelevant items that are drawn.

        Parameters
        ----------
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            If a pool holds fewer than m0 irrelevant items, and for anything but `Ranks`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 3, 90], n_items=100)
        >>> rs.TwoPhase(20, k=3, probability=0.5).cost(ranks).round(2)
        array([59.5 , 59.5 , 59.5 ,  3.33])
        """
        check_pool(check_ranks(ranks), self.m0)
        rows = rows_of(ranks, best_only=True)
        cost = cost_until(self.k, rows.above, rows.ties, rows.pool)
        log_factorial = special.gammaln(1.0 + np.arange(1 + ranks.n_irrelevant.max()))
        cost -= self._saved(rows.above, rows.pool, log_factorial) * (rows.ties == 0)
        tied = np.flatnonzero(rows.ties)
        for same, pool in rows_by_pool(rows.of(tied)):
            first, behind = rows.above[tied[same]], (rows.above + rows.ties)[tied[same]] + 1
            each = np.arange(first.min(), behind.max())
            total = np.append(0.0, np.cumsum(self._saved(each, pool, log_factorial)))
            mean = (total[behind - each[0]] - total[first - each[0]]) / (behind - first)
            cost[tied[same]] -= mean
        return per_instance(rows, cost, len(ranks))

    def _saved(self, above, pool, log_factorial):
        """How many items fewer are drawn on average than with pi(s) = 1."""
        rest, saved = pool - self.m0, np.zeros(len(above))
        for s, chance in enumerate(self._chances[: self.m0 + 1]):
            to_go = (self.k - s) * ((rest + 1) / np.maximum(above - s + 1, 1))
            to_go = np.where(above < self.k, rest, to_go)
            saved += (1 - chance) * to_go * count_chance(s, self.m0, above, pool, log_factorial)
        return saved

    def _weight(self, count, uniform):
        chance = np.append(self._chances, 1.0)[np.minimum(count, self.k)]
        return np.where(uniform < chance, 1 / chance, 0.0)

    def _law_up_to_k(self, above, pool):
        """P(s = 0), ..., P(s = k - 1), P(s >= k) after m0 items."""
        law = np.zeros((len(above), self.k + 1))
        for part in row_blocks(len(above), self.m0 + 1):
            pmf = count_pmf(above[part], pool[part], self.m0, False)
            kept = pmf[:, : self.k]
            law[part, : kept.shape[1]] = kept
            law[part, self.k] = pmf[:, self.k :].sum(axis=1)
        return law


def _check_estimable(metric):
    check_metric(metric)
    known = LinearMetric, ReciprocalMetric, GeometricMetric, DiscountedGain, NormalizedDCG
    if not isinstance(metric, known) or metric.cutoff is not None:
        raise ValueError(
            "metric must be AP, RR, NDCG, DCG, RBP, RankScore, AUC or PercentileRank without a "
            f"cut-off for inverse sampling, got {metric}; for a cut-off use EarlyStopping, TwoPhase"
        )


def _check_within(metric, k):
    check_metric(metric)
    if metric.cutoff is None or metric.cutoff > k:
        raise ValueError(f"metric must have a cut-off of at most k={k}, got {metric}")


def _best_rank(ranks):
    """The best rank of each instance, 1 where it has no relevant item."""
    terms, rank = ranks._terms, np.ones(len(ranks), np.int64)
    best = terms.order == 1
    rank[terms.instance[best]] = terms.rank[best]
    return rank


def _known_ranks(ranks, k):
    """Ranks without ties as far as cut-offs up to k see them: each has at most k items above."""
    terms = ranks._terms
    values = np.minimum(terms.rank - terms.order, k) + terms.order
    return Ranks(
        np.split(values, np.cumsum(ranks.n_relevant)[:-1]) if ranks._nested else values,
        ranks.n_items,
    )


def _variance_of_weighted(metric, k, ranks, mean_weight):
    """The variance of M times an independent weight with the mean 1 given the order of ties.

    `mean_weight` gives the mean of its square; M is 0 unless fewer than k are above.
    """
    _check_within(metric, k)
    rows = untied(rows_of(check_one_relevant(ranks)), k)
    value = metric.of_rank(rows.above + 1, rows.pool + 1)
    square = per_instance(rows, value**2 * mean_weight(rows), len(ranks))
    return np.maximum(square - metric(ranks) ** 2, 0.0)


def _variance_of_position(rows):
    """Var[T / n], by E[T (T + 1)] = 2 (N + 1) (N + 2) / ((a + 1) (a + 2)), averaged over ties."""
    n, best, worst = rows.pool + 1.0, rows.above + 1.0, rows.above + rows.ties + 1.0
    mean = mean_inverse(best, worst)
    square = 2 * ((n + 1) / n) / (best * (worst + 1)) - mean / n
    return np.maximum(square - mean**2, 0.0)
