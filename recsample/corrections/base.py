"""Corrections: metrics for sampled ranks that estimate the exact metric, section 5 of the paper.

A corrected metric is a vector x of m + 1 numbers, one for each sampled rank. On a sampled rank r~
it is x[r~]; its mean over the sampling,

    E[x | r] = sum over s of p(s | r) x_s,

should be close to the exact M(r), on average over the ranks r = 1, ..., n.

With L relevant items per instance the metric is a sum of terms f_i(r_i), best item first, and each
term has a vector of its own, for the number s_i of sampled items ahead of the i-th. This form costs
nothing: if the relevant items are a uniformly random subset of the pool and the sampling is without
replacement, then among all functions of the vector of sampled ranks a sum of functions of one s_i
each has the least bias, and the best compromise of eq. (24). There

    a_i ~ BetaBinomial(N; i, L + 1 - i),  P(a) = C(a + i - 1, a) C(N - a + L - i, N - a) / C(n, L),

irrelevant items are ahead of the i-th, which takes the place of the uniform prior over the ranks.
Under another prior each term is the best function of its s_i, but their sum need not be.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import counted
from recsample._support.checks import check_memory, finite_numbers, positive_int, refuse_first
from recsample._support.errors import InputError
from recsample._support.typing import Floats
from recsample._support.values import Value, frozen
from recsample.metrics.base import Metric, warned_of_nan
from recsample.metrics.names import exact_metric
from recsample.sampling import large_pools
from recsample.sampling.base import HasLaw, check_law

__all__ = ["Correction", "LeastSquaresCorrection"]


class Correction(Value, Metric):
    """A metric on sampled ranks that estimates a metric on all items.

    The base of `RankEstimate`, `MinimalBias`, `ConstrainedLeastSquares` and `BiasVariance`. It
    reads sampled ranks of one m, and refuses others. One made for draws with replacement reads
    draws without it too, as in the paper's tables.

    Parameters
    ----------
    metric : Metric or str
        What is estimated.
    sampler : Sampler
        One whose observations have a law given the rank, see `HasLaw`.
    n_items : int
        Size of the pool.
    own : dict of str to Any, optional
        Attributes that a subclass adds; they count for equality.

    Attributes
    ----------
    values : ndarray of float, shape (m + 1,)
        The corrected metric at the sampled ranks 1, ..., m + 1 of a single relevant item.

    Examples
    --------
    >>> import recsample as rs
    >>> issubclass(rs.BiasVariance, rs.corrections.Correction)
    True
    """

    metric: Metric
    sampler: Any
    n_items: int
    values: Floats
    takes_cutoff = False
    _own: tuple[Any, ...]  # the values of `own`
    _solved: dict[int, Floats]  # a cache of solutions, by the number of relevant items

    def __init__(
        self, metric: Metric | str, sampler: HasLaw, n_items: int, own: dict[str, Any] | None = None
    ) -> None:
        own = own or {}
        metric = exact_metric(metric)
        check_law(sampler)
        vars(self).update(
            metric=metric,
            sampler=sampler,
            n_items=positive_int("n_items", n_items),
            higher_is_better=metric.higher_is_better,
            additive=metric.additive,
            name=f"{type(self).__name__}({metric})",
            _own=tuple(own.values()),
            _solved={},
            **own,
        )

    def _content(self) -> tuple[Any, ...]:
        return self.metric, self.sampler, self.n_items, *self._own

    @cached_property
    def prior(self) -> Floats:
        """The weights, with sum 1, by which errors are averaged over the ranks; uniform by default.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RankEstimate(rs.AP, rs.UniformSampling(m=1), n_items=4).prior
        array([0.25, 0.25, 0.25, 0.25])
        """
        return frozen(normalised_prior(None, self.n_items))

    @property
    def squared_bias(self) -> float:
        """The mean over the prior of (E[x | r] - M(r))^2, the objective of eq. (21).

        Examples
        --------
        At the ranks 1, 2, 3 this estimate is off by 0, 1/6 and 0 on average:

        >>> import recsample as rs
        >>> estimate = rs.RankEstimate(rs.AP, rs.UniformSampling(m=1), n_items=3)
        >>> round(estimate.squared_bias * 108, 9)
        1.0
        """
        return self._errors[0]

    @property
    def mean_variance(self) -> float:
        """The mean over the prior of Var[x | r], the second part of the objective of eq. (24).

        Examples
        --------
        >>> import recsample as rs
        >>> estimate = rs.RankEstimate(rs.AP, rs.UniformSampling(m=1), n_items=3)
        >>> round(estimate.mean_variance * 27, 9)
        1.0
        """
        return self._errors[1]

    @cached_property
    def _errors(self):
        return _errors_of(self.values, *self._rows())

    def values_of(self, order: int, n_relevant: int) -> Floats:
        """The contribution of the `order`-th best relevant item to the corrected metric.

        Parameters
        ----------
        order : int
            Between 1 and `n_relevant`.
        n_relevant : int
            Number of relevant items in the instance, L.

        Returns
        -------
        ndarray of float, shape (m + 1,)
            Entry s is for s sampled irrelevant items ahead of it, which is sampled rank s + order.

        Examples
        --------
        The two terms of AUC, 1/2 - a_i / (2 N), are linear:

        >>> import recsample as rs
        >>> estimate = rs.RankEstimate(rs.AUC, rs.UniformSampling(m=2), n_items=6)
        >>> estimate.values_of(1, n_relevant=2)
        array([0.5 , 0.25, 0.  ])
        """
        order, n_relevant = positive_int("order", order), positive_int("n_relevant", n_relevant)
        if order > n_relevant:
            raise InputError("order", f"must be at most n_relevant = {n_relevant}").got(order)
        return self.values if n_relevant == 1 else self._values_by_order(n_relevant)[order - 1]

    def _values_by_order(self, n_relevant):
        """`values_of` for the orders 1, ..., `n_relevant`, one row each, cached."""
        if n_relevant == 1:
            return self.values[None]
        if n_relevant not in self._solved:
            if not self.additive:
                allowed = "must be a sum over the relevant items where there are several"
                raise InputError("metric", allowed).got(self.metric)
            if n_relevant >= self.n_items:
                allowed = f"must be below n_items = {self.n_items}"
                raise InputError("n_relevant", allowed).got(n_relevant)
            m = self.sampler.m
            what = f"the values for n_relevant={n_relevant} items with m={m}"
            check_memory(32 * n_relevant * (m + 1), what, "choose a smaller m")
            self._solved[n_relevant] = frozen(self._values_of_all(n_relevant))
        return self._solved[n_relevant]

    @abstractmethod
    def _values_of_all(self, n_relevant):
        """`values_of` for the orders 1, ..., `n_relevant`, computed."""

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        columns = np.broadcast_arrays(rank, order, n_relevant, n_items)
        rank, order, n_relevant, n_items = (np.ravel(column) for column in columns)
        wanted = n_relevant + self.sampler.m
        allowed, got = "must be sampled ranks with n_items = m + {0} = {1} for {2}", "n_items = {3}"
        found = n_relevant, wanted, str(self), n_items
        refuse_first(n_items != wanted, "ranks", allowed, got, *found)
        values = np.empty(len(rank))
        for size in np.flatnonzero(counted(n_relevant, 0)).tolist():
            mine = n_relevant == size
            # The i-th best relevant item is behind i - 1 others, and s = r~ - i drawn ones.
            i, ahead = order[mine], rank[mine] - order[mine]
            values[mine] = self._values_by_order(size)[i - 1, ahead]
        return values.reshape(columns[0].shape)

    def _rows(self, order: int = 1, n_relevant: int = 1) -> tuple[Floats, large_pools.Places]:
        """Ranks that represent all of the pool: the law at each, and the exact term."""
        return large_pools.compressed(
            self.sampler,
            self.n_items - n_relevant,
            partial(self._exact, order=order, n_relevant=n_relevant),
            large_pools.jumps_of(self.metric, order, n_relevant),
            self._belief(order, n_relevant),
        )

    def _belief(self, order: int, n_relevant: int) -> large_pools.Belief:
        """The prior weights of the numbers of irrelevant items above."""
        return large_pools.uniform_belief(self.n_items - n_relevant)

    def _exact(self, above, order, n_relevant):
        """The term f_i of the exact metric, where `above` irrelevant items outrank the item."""
        values = large_pools.term_at(
            self.metric, above, self.n_items - n_relevant, order, n_relevant
        )
        return warned_of_nan(self.metric, values)


class LeastSquaresCorrection(Correction):
    """Base class of corrections that minimise squared errors averaged over the ranks 1, ..., n.

    Parameters
    ----------
    metric : Metric or str
    sampler : UniformSampling
    n_items : int
    prior : array_like of float, shape (n_items,), or None
        Weights of the ranks; None for uniform ones. With several relevant items, None assumes that
        these are a random subset of the pool, which is often wrong; weights are those of
        a = 0, 1, ... irrelevant items above, the same for each relevant item.
    own : dict of str to Any, optional
        As of `Correction`.

    Examples
    --------
    >>> import recsample as rs
    >>> one, tenth = (rs.BiasVariance(rs.AP, rs.UniformSampling(20), 100, gamma=g) for g in (1, .1))
    >>> tenth.squared_bias < one.squared_bias, tenth.mean_variance > one.mean_variance
    (True, True)
    """

    _given: bool  # whether a prior was given

    def __init__(
        self,
        metric: Metric | str,
        sampler: HasLaw,
        n_items: int,
        prior: ArrayLike | None,
        own: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(metric, sampler, n_items, own)
        if not large_pools.compressible(sampler, self.n_items - 1):
            what = f"the least-squares problem for n_items={self.n_items}, m={sampler.m}"
            check_memory(32 * self.n_items * (sampler.m + 1), what, "choose a smaller m")
        if prior is not None:
            vars(self).update(prior=frozen(normalised_prior(prior, self.n_items)))
        vars(self).update(_given=prior is not None)
        law, rows = self._rows()
        values = frozen(self.solve(law, rows.target, rows.weight))
        vars(self).update(values=values, _errors=_errors_of(values, law, rows))

    def _content(self) -> tuple[Any, ...]:
        return *super()._content(), self.prior if self._given else None

    def _belief(self, order: int, n_relevant: int) -> large_pools.Belief:
        pool = self.n_items - n_relevant
        if self._given:
            return large_pools.given_belief(normalised_prior(self.prior[: pool + 1], pool + 1))
        return large_pools.random_belief(pool, n_relevant, order)

    def _values_of_all(self, n_relevant):
        problems = (self._rows(i, n_relevant) for i in range(1, n_relevant + 1))
        return np.stack([self.solve(law, rows.target, rows.weight) for law, rows in problems])

    @abstractmethod
    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        """The values that minimise the squared errors; a subclass only has to define this.

        Parameters
        ----------
        law : ndarray of float, shape (rows, m + 1)
            The law of the observation at each rank. A large pool has rows for a few places, not
            all of them whole ranks, with weights that give sums over all ranks up to rounding.
        target : ndarray of float, shape (rows,)
            The exact metric at each rank.
        prior : ndarray of float, shape (rows,)
            The weights of the ranks, with sum 1.

        Returns
        -------
        ndarray of float, shape (m + 1,)

        Examples
        --------
        >>> import numpy as np
        >>> import recsample as rs
        >>> law = rs.UniformSampling(m=1).law(3)
        >>> corrected = rs.BiasVariance(rs.AP, rs.UniformSampling(m=1), n_items=3, gamma=1)
        >>> corrected.solve(law, 1 / np.arange(1.0, 4), np.full(3, 1 / 3)).round(4)
        array([0.8333, 0.3889])
        """


def _errors_of(values, law, rows):
    """Squared bias and variance, averaged over all ranks."""
    _, squared_bias, variance = average_errors(values, law, rows.target, rows.weight)
    return float(squared_bias) + rows.missed, float(variance)


def reach_of(law, prior):
    """The probability of each sampled rank; refuse a prior under which one is 0."""
    reach = prior @ law  # c of eq. (25)
    allowed, got = "must give every sampled rank a positive probability", "none for sampled rank {}"
    refuse_first(reach < 1e-290, "prior", allowed, got, np.arange(1, len(reach) + 1))
    return reach


# Averages over the ranks of a pool, with a weight for each.


def average_errors(
    values: Floats, law: Floats, target: Floats, prior: Floats
) -> tuple[Floats, Floats, Floats]:
    """Bias, squared bias and variance of an estimator with these values, averaged over the ranks.

    `values` may have a column for each of several estimators; `target` then needs one column.
    """
    mean = law @ values  # E[x | r]
    bias = mean - target
    # The mean over the ranks of Var[x | r] = E[x^2 | r] - E[x | r]^2.
    variance = (prior @ law) @ values**2 - prior @ mean**2
    return prior @ bias, prior @ bias**2, variance


def normalised_prior(prior: ArrayLike | None, n_items: int) -> Floats:
    """The weights of the ranks 1, ..., n, with sum 1; uniform for None."""
    if prior is None:
        what = f"a prior of n_items={n_items} ranks"
        check_memory(16 * n_items, what, "choose a smaller n_items")
        return np.full(n_items, 1.0 / n_items)
    weights = finite_numbers("prior", prior, lowest=0)
    if weights.shape != (n_items,):
        allowed = f"must have shape ({n_items},), one weight a rank"
        raise InputError("prior", allowed).got(weights.shape)
    if not weights.any():
        raise InputError("prior", "must hold a weight above 0").got("only zeros")
    weights = weights / weights.max()  # whose sum cannot overflow
    return weights / weights.sum()
