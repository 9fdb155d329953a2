"""What undoes sampling: metrics for sampled ranks that estimate the exact metric.

A corrected metric is a vector x of m + 1 numbers, one for each sampled rank. On a sampled rank r~
it reads x[r~]; over the sampling its mean is

    E[x | r] = sum over s of p(s | r) x_s,

and how close that comes to the exact M(r), on average over the ranks r = 1, ..., n, is its bias.

With L relevant items per instance the metric is a sum of terms f_i(r_i), best item first, and each
term has a vector of its own, for the number s_i of sampled items ahead of the i-th. Nothing is lost
by that: let the relevant items be a uniformly random subset of the pool, and the sampling be
without replacement. Then, among all functions of the vector of sampled ranks, a sum of functions
of one s_i each has the least bias, and the best compromise of eq. (24). Under that prior i - 1 of
the L relevant items are ahead of the i-th, and

    a_i ~ BetaBinomial(N; i, L + 1 - i),  P(a) = C(a + i - 1, a) C(N - a + L - i, N - a) / C(n, L),

is what takes the place of the uniform prior over the ranks. Another prior can be given in its
place; then each term is the best function of its s_i, but their sum need not be the best function
of all.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226, section 5.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from recsample._indexing import different_rows
from recsample._instances import check_ranks
from recsample._interpolation import at_all
from recsample._memory import fits_in_memory
from recsample._nonnegative import nonnegative_least_squares
from recsample._over_ranks import average_errors, normalised_prior
from recsample._ties import mean_over_ties
from recsample._typing import Floats
from recsample._validation import (
    is_one_of,
    positive_float,
    positive_int,
    shown,
    true_or_false,
    whole_numbers,
)
from recsample._value import Value, frozen
from recsample.metrics._checks import check_exact
from recsample.metrics._undefined import warned_of_nan
from recsample.metrics.base import Metric
from recsample.ranks import Ranks
from recsample.sampling._checks import check_law
from recsample.sampling._compressed import (
    Belief,
    Rows,
    compressible,
    given_belief,
    jumps_of,
    places_of,
    polynomials,
    random_belief,
    rows_of,
    term_at,
    uniform_belief,
)
from recsample.sampling.base import Design, HasLaw
from recsample.sampling.pooled import PooledSampling
from recsample.sampling.uniform import UniformSampling

__all__ = [
    "BiasVariance",
    "ConstrainedLeastSquares",
    "Correction",
    "LeastSquaresCorrection",
    "MinimalBias",
    "PooledCorrection",
    "RankEstimate",
    "RegularisationPath",
    "corrected_by_pool",
]


class Correction(Value, Metric):
    """A metric on sampled ranks that estimates a metric on all items.

    The base of `RankEstimate`, `MinimalBias`, `ConstrainedLeastSquares` and `BiasVariance`. It
    reads the observations of one kind of sampler or design, and refuses others: the count among m
    uniform items (one made for draws with replacement reads draws without it too, as in the paper's
    tables), or what a design with a law observes, `HasLaw`.

    Parameters
    ----------
    metric : Metric
        What is estimated.
    sampler : Sampler or Design
        How the observations come about; see `HasLaw`.
    n_items : int
        Size of the pool that they come from.

    Attributes
    ----------
    values : ndarray of float, shape (m + 1,)
        The corrected metric at the observations 0, ..., m, for a sampler the sampled ranks
        1, ..., m + 1, of a single relevant item.

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
    _known: dict[int, Floats]  # the values for several relevant items

    def __init__(self, metric: Metric, sampler: HasLaw, n_items: int) -> None:
        check_exact(metric)
        check_law(sampler)
        vars(self).update(
            metric=metric,
            sampler=sampler,
            n_items=positive_int("n_items", n_items),
            higher_is_better=metric.higher_is_better,
            name=f"{type(self).__name__}({metric})",
            _known={},
        )

    def _content(self) -> tuple[Any, ...]:
        return self.metric, self.sampler, self.n_items

    @cached_property
    def prior(self) -> Floats:
        """The weights of the ranks over which errors are averaged: uniform, if none were given.

        Returns
        -------
        ndarray of float, shape (n_items,)
            With sum 1.

        Raises
        ------
        ValueError
            For more ranks than the memory can hold.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RankEstimate(rs.AP, rs.UniformSampling(m=1), n_items=4).prior
        array([0.25, 0.25, 0.25, 0.25])
        """
        return frozen(normalised_prior(None, self.n_items))

    @property
    def squared_bias(self) -> float:
        """Mean over the prior of (E[x | r] - M(r))^2, the objective of eq. (21).

        Returns
        -------
        float

        Examples
        --------
        Over the ranks 1, 2, 3 the expectation of this estimate is off by 0, 1/6 and 0:

        >>> import recsample as rs
        >>> estimate = rs.RankEstimate(rs.AP, rs.UniformSampling(m=1), n_items=3)
        >>> round(estimate.squared_bias * 108, 9)
        1.0
        """
        return self._errors[1]

    @property
    def mean_variance(self) -> float:
        """Mean over the prior of Var[x | r], the second part of the objective of eq. (24).

        Returns
        -------
        float

        Examples
        --------
        >>> import recsample as rs
        >>> estimate = rs.RankEstimate(rs.AP, rs.UniformSampling(m=1), n_items=3)
        >>> round(estimate.mean_variance * 27, 9)
        1.0
        """
        return self._errors[2]

    @cached_property
    def _errors(self):
        return _errors_of(self.values, self._rows())

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether the metric is a sum over the relevant items; otherwise there must be one only.

        Returns
        -------
        bool

        Examples
        --------
        >>> import recsample as rs
        >>> rs.BiasVariance(rs.AP, rs.UniformSampling(m=1), n_items=3, gamma=0.1).additive
        True
        """
        return self.metric.additive

    def values_of(self, order: int, n_relevant: int) -> Floats:
        """The part of the corrected metric that the `order`-th best relevant item contributes.

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

        Raises
        ------
        ValueError
            If `order` exceeds `n_relevant`, if the metric is no sum over the relevant items, and
            for a pool that is too small.

        Examples
        --------
        The two terms of AUC, 1/2 - a_i / (2 N), are linear, and met exactly:

        >>> import recsample as rs
        >>> estimate = rs.RankEstimate(rs.AUC, rs.UniformSampling(m=2), n_items=6)
        >>> estimate.values_of(1, n_relevant=2)
        array([0.5 , 0.25, 0.  ])
        """
        order, n_relevant = positive_int("order", order), positive_int("n_relevant", n_relevant)
        if order > n_relevant:
            raise ValueError(f"order must be at most n_relevant = {n_relevant}, got {order}")
        if n_relevant == 1:
            return self.values
        if n_relevant not in self._known:
            if not self.additive:
                raise ValueError(
                    f"metric must be a sum over the relevant items where there are several, "
                    f"got {self.metric}"
                )
            if n_relevant >= self.n_items:
                raise ValueError(
                    f"n_relevant must be below n_items = {self.n_items}, got {n_relevant}"
                )
            fits_in_memory(
                32 * n_relevant * (self.sampler.m + 1),
                f"the values for n_relevant={n_relevant} items with m={self.sampler.m}",
                "choose a smaller m",
            )
            self._known[n_relevant] = frozen(self._values_of_all(n_relevant))
        return self._known[n_relevant][order - 1]

    @abstractmethod
    def _values_of_all(self, n_relevant):
        """`values_of` for the orders 1, ..., `n_relevant`, one row each."""

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """What one relevant item contributes at its sampled rank.

        Parameters
        ----------
        rank, order, n_relevant, n_items : ndarray of int
            As of `Metric.term`.

        Returns
        -------
        ndarray of float

        Raises
        ------
        ValueError
            For ranks among other numbers of items than m + L, and for a correction of a design,
            whose observations are no ranks.

        Examples
        --------
        >>> import recsample as rs
        >>> estimate = rs.RankEstimate(rs.AP, rs.UniformSampling(m=2), n_items=5)
        >>> float(estimate.term(2, 1, 1, 3).round(3))
        0.333
        """
        columns = np.broadcast_arrays(rank, order, n_relevant, n_items)
        rank, order, n_relevant, n_items = (np.ravel(column) for column in columns)
        self._check_drawn(n_relevant, n_items)
        values = np.empty(len(rank))
        base = np.int64(order.max(initial=0) + 1)  # the two as one number: sorted in less time
        kinds, kind = np.unique(n_relevant * base + order, return_inverse=True)
        for which, one in enumerate(kinds.tolist()):
            size, i = divmod(one, base)
            mine = kind == which
            values[mine] = self.values_of(i, size)[rank[mine] - i]
        return values.reshape(columns[0].shape)

    def _check_drawn(self, n_relevant, n_items):
        """Refuse other ranks than those among m drawn items and the relevant ones."""
        if isinstance(self.sampler, Design):
            raise ValueError(
                f"{self} reads what {self.sampler} observes, which is no ranking: the estimate is "
                "design.of(correction, observed)"
            )
        m = self.sampler.m
        other = n_items - n_relevant != m
        if other.any():
            first = int(np.argmax(other))
            raise ValueError(
                f"ranks must be sampled ranks with n_items = m + {n_relevant[first]} = "
                f"{m + n_relevant[first]} for {self}, got n_items = {n_items[first]}"
            )

    def _rows(self, order: int = 1, n_relevant: int = 1) -> Rows:
        """Ranks that stand for all of the pool, with the term of the exact metric at each."""
        return rows_of(
            self.sampler,
            self.n_items - n_relevant,
            partial(self._exact, order=order, n_relevant=n_relevant),
            jumps_of(self.metric, order, n_relevant),
            self._belief(order, n_relevant),
        )

    def _belief(self, order: int, n_relevant: int) -> Belief:
        """How likely each number of irrelevant items above is taken to be."""
        return uniform_belief(self.n_items - n_relevant)

    def _exact(self, above, order, n_relevant):
        """The term f_i of the exact metric, where `above` irrelevant items outrank the item."""
        values = term_at(self.metric, above, self.n_items - n_relevant, order, n_relevant)
        return warned_of_nan(self.metric, values)


class RankEstimate(Correction):
    """The metric at an unbiased estimate of the rank, eq. (20).

    With s = r~ - 1 sampled items ahead of the relevant one, r^ = 1 + (n - 1) s / m has mean r under
    both sampling laws. The metric at r^ is still biased unless it is linear in the rank.

    Parameters
    ----------
    metric : Metric
    sampler : UniformSampling
    n_items : int
        Size n of the pool.
    rounding : {"floor", "linear"}, optional
        r^ is rounded down, as in the paper, or the metric is interpolated between the two ranks
        next to it, which keeps AUC unbiased.
    plus_one : bool, optional
        Divide by m + 1 instead of m. That is how the paper's Table 3 was computed; it
        underestimates the rank, so the default is eq. (20) as printed.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RankEstimate(rs.AP, rs.UniformSampling(m=4), n_items=9).values.round(3)
    array([1.   , 0.333, 0.2  , 0.143, 0.111])
    """

    rounding: str
    plus_one: bool

    def __init__(
        self,
        metric: Metric,
        sampler: UniformSampling,
        n_items: int,
        *,
        rounding: Literal["floor", "linear"] = "floor",
        plus_one: bool = False,
    ) -> None:
        super().__init__(metric, sampler, n_items)
        if not isinstance(sampler, UniformSampling):
            raise ValueError(
                "sampler must be UniformSampling for a rank estimate, which scales its counts, "
                f"got {sampler!r}"
            )
        if not is_one_of(rounding, ("floor", "linear")):
            raise ValueError(f"rounding must be 'floor' or 'linear', got {rounding!r}")
        sampler.pmf(Ranks([1], self.n_items))  # refuses a pool that is too small to sample from
        m = sampler.m
        if (self.n_items - 1) * m >= 2**63:
            raise ValueError(
                f"n_items times m must be below 2**63, got n_items={n_items} and m={m}"
            )
        plus_one = true_or_false("plus_one", plus_one)
        options = [f"rounding={rounding}"] * (rounding != "floor") + ["plus_one"] * plus_one
        vars(self).update(
            rounding=rounding,
            plus_one=plus_one,
            name=f"RankEstimate({', '.join([str(metric), *options])})",
        )
        vars(self).update(values=frozen(self._values_of_all(1)[0]))

    def _content(self) -> tuple[Any, ...]:
        return *super()._content(), self.rounding, self.plus_one

    def _values_of_all(self, n_relevant):
        # Whole-number division: a float quotient could fall just below the rank it should reach.
        pool = self.n_items - n_relevant
        denominator = self.sampler.m + self.plus_one
        scaled = pool * np.arange(self.sampler.m + 1, dtype=np.int64)
        whole, rest = np.divmod(scaled, denominator)
        orders = range(1, n_relevant + 1)
        values = np.stack([self._exact(whole, i, n_relevant) for i in orders])
        if self.rounding == "linear":
            beyond = np.minimum(whole + 1, pool)
            following = np.stack([self._exact(beyond, i, n_relevant) for i in orders])
            values = values + rest / denominator * (following - values)
        return values


class LeastSquaresCorrection(Correction):
    """A correction that minimises squared errors averaged over the ranks 1, ..., n.

    The base of `MinimalBias`, `ConstrainedLeastSquares` and `BiasVariance`.

    Parameters
    ----------
    metric : Metric
    sampler : UniformSampling
    n_items : int
    prior : array_like of float, shape (n_items,), or None
        Weights of the ranks; None for uniform ones. With several relevant items None takes them
        for a random subset of the pool, which is a firm belief and often a wrong one; weights are
        those of a = 0, 1, ... irrelevant items above, the same for each relevant item.

    Examples
    --------
    A smaller gamma trades variance for bias:

    >>> import recsample as rs
    >>> one, tenth = (rs.BiasVariance(rs.AP, rs.UniformSampling(20), 100, gamma=g) for g in (1, .1))
    >>> tenth.squared_bias < one.squared_bias, tenth.mean_variance > one.mean_variance
    (True, True)
    """

    _given: bool  # whether a prior was given

    def __init__(
        self, metric: Metric, sampler: HasLaw, n_items: int, prior: ArrayLike | None
    ) -> None:
        super().__init__(metric, sampler, n_items)
        m = sampler.m
        # The laws of few ranks, or of all, and what is solved with them.
        few = compressible(sampler, self.n_items - 1)
        fits_in_memory(
            32 * (m + 1 if few else max(m + 1, self.n_items)) * (m + 1),
            f"the least-squares problem for n_items={self.n_items}, m={m}",
            "choose a smaller m",
        )
        if prior is not None:
            vars(self).update(prior=frozen(normalised_prior(prior, self.n_items)))
        vars(self).update(_given=prior is not None)
        rows = self._rows()
        values = frozen(self.solve(rows.law, rows.target, rows.prior))
        vars(self).update(values=values, _errors=_errors_of(values, rows))

    def _content(self) -> tuple[Any, ...]:
        return *super()._content(), self.prior if self._given else None

    def _belief(self, order: int, n_relevant: int) -> Belief:
        pool = self.n_items - n_relevant
        if self._given:
            return given_belief(normalised_prior(self.prior[: pool + 1], pool + 1))
        return random_belief(pool, n_relevant, order)

    def _values_of_all(self, n_relevant):
        rows = (self._rows(i, n_relevant) for i in range(1, n_relevant + 1))
        return np.stack([self.solve(one.law, one.target, one.prior) for one in rows])

    @abstractmethod
    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        """The values that minimise the squared errors: all that a further correction must say.

        Parameters
        ----------
        law : ndarray of float, shape (rows, m + 1)
            Of the observation at each rank. In a small pool there is a row for every rank, in a
            large one for as many as tell every sum over the ranks of products of two of these
            numbers to rounding; their ranks need not be whole.
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


class BiasVariance(LeastSquaresCorrection):
    """The best compromise between squared bias and variance, eqs. (24) to (26).

    Minimises the mean over the prior of (E[x | r] - M(r))^2 + gamma Var[x | r]. In scaled unknowns
    the matrix of eq. (25) has its eigenvalues between gamma and 1, so the solution is accurate to
    about 1e-16 / gamma.

    Parameters
    ----------
    metric : Metric
    sampler : UniformSampling
        Whose law is corrected for.
    n_items : int
        Size n of the pool.
    gamma : float
        The price of variance, at least 1e-10. Below that use `MinimalBias`. At 1 the result is the
        posterior mean of the metric, eq. (26). The paper has 0.1 for its study of 6,040 users and
        3,500 items; no number is right everywhere, and a wrong one leaves a bias that no standard
        error shows. `recsample.inference.best_gamma` suits it to the number of users.
    prior : array_like of float, shape (n_items,), optional
        Weights of the ranks 1, ..., n, not negative, not all 0; they are normalised. By default
        uniform.

    Examples
    --------
    At gamma = 1, by eq. (26): (1 + 1/2 x 1/2) / (3/2) and (1/2 x 1/2 + 1/3) / (3/2).

    >>> import recsample as rs
    >>> rs.BiasVariance(rs.AP, rs.UniformSampling(m=1), n_items=3, gamma=1).values.round(4)
    array([0.8333, 0.3889])
    """

    gamma: float

    def __init__(
        self,
        metric: Metric,
        sampler: HasLaw,
        n_items: int,
        *,
        gamma: float,
        prior: ArrayLike | None = None,
    ) -> None:
        price = positive_float("gamma", gamma)
        if price < 1e-10:
            raise ValueError(
                f"gamma must be at least 1e-10 (for less, use MinimalBias), got {gamma}"
            )
        vars(self).update(gamma=price)
        super().__init__(metric, sampler, n_items, prior)
        vars(self).update(name=f"BiasVariance({metric}, gamma={price:g})")

    def _content(self) -> tuple[Any, ...]:
        return *super()._content(), self.gamma

    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        # In the unknowns of `_whitened`, but the scale comes last: that saves a copy of the law.
        scale = 1 / np.sqrt(_reach(law, prior))
        weighted = np.sqrt(prior)[:, None] * law
        gram = scale[:, None] * (weighted.T @ weighted) * scale
        matrix = (1 - self.gamma) * gram + self.gamma * np.eye(len(scale))
        right = scale * ((prior * target) @ law)
        return scale * linalg.solve(matrix, right, assume_a="pos")


class ConstrainedLeastSquares(LeastSquaresCorrection):
    """The least biased correction that never rewards a worse sampled rank (CLS in the paper).

    Minimises the mean over the prior of (E[x | r] - M(r))^2, eq. (21), subject to
    x_1 >= x_2 >= ... >= x_(m+1) (reversed for a metric where lower is better), and to x >= 0 if
    `nonnegative`.

    This is not an isotonic regression: the law is not diagonal, so pooling adjacent violators of an
    unconstrained solution does not solve it. Written in the decrements of x it is a non-negative
    least-squares problem whose columns are distribution functions of the sampled rank: a monotone
    correction is a mixture of sampled Recall@j curves. An orthogonal reduction leaves m + 1 rows;
    the active-set method of Lawson and Hanson [1]_ then ends at the optimum.

    Where the metric can be met without bias, as AUC can, the optimum is flat: E[x | r] is right to
    rounding, x itself to one or two digits. With a prior on fewer than m + 1 ranks there may be
    several optima, of which one is returned.

    Parameters
    ----------
    metric : Metric
    sampler : UniformSampling
    n_items : int
        Size n of the pool.
    nonnegative : bool, optional
        Require x >= 0 too, as the paper's Table 3 did without saying so.
    prior : array_like of float, shape (n_items,), optional
        Weights of the ranks; by default uniform.

    Examples
    --------
    With m = 1 it is the least-squares line through (1, 1), (2, 1/2), (3, 1/3), at ranks 1 and 3:

    >>> import recsample as rs
    >>> rs.ConstrainedLeastSquares(rs.AP, rs.UniformSampling(m=1), n_items=3).values.round(4)
    array([0.9444, 0.2778])

    References
    ----------
    .. [1] C. Lawson, R. Hanson, "Solving Least Squares Problems", Prentice-Hall 1974, chapter 23.
    """

    nonnegative: bool

    def __init__(
        self,
        metric: Metric,
        sampler: HasLaw,
        n_items: int,
        *,
        nonnegative: bool = True,
        prior: ArrayLike | None = None,
    ) -> None:
        vars(self).update(nonnegative=true_or_false("nonnegative", nonnegative))
        super().__init__(metric, sampler, n_items, prior)
        if not self.nonnegative:
            vars(self).update(name=f"ConstrainedLeastSquares({metric}, nonnegative=False)")

    def _content(self) -> tuple[Any, ...]:
        return *super()._content(), self.nonnegative

    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        _reach(law, prior)
        root = np.sqrt(prior)
        reduced = linalg.qr(np.column_stack([root[:, None] * law, root * target]), mode="r")[0]
        matrix, right = reduced[: law.shape[1], :-1], reduced[: law.shape[1], -1]
        # For a metric that falls with the rank: x_s = d_s + d_(s+1) + ... + d_(m+1), all but the
        # last d at least 0. One that rises is the mirror image.
        if not self.higher_is_better:
            matrix = matrix[:, ::-1]
        steps = np.cumsum(matrix, axis=1)
        decrements = self._nonnegative_solution(steps, right)
        values = np.cumsum(decrements[::-1])[::-1]
        return values if self.higher_is_better else values[::-1]

    def _nonnegative_solution(self, steps, right):
        if self.nonnegative:
            return nonnegative_least_squares(steps, right)
        # The last unknown is free: project it out, solve for the others, and put it back.
        level = steps[:, -1] / linalg.norm(steps[:, -1])
        others = steps[:, :-1] - np.outer(level, level @ steps[:, :-1])
        decrements = nonnegative_least_squares(others, right - level * (level @ right))
        free = level @ (right - steps[:, :-1] @ decrements) / linalg.norm(steps[:, -1])
        return np.append(decrements, free)


class RegularisationPath(NamedTuple):
    """What each further direction of the least-squares problem buys, and what it costs.

    Entry k - 1 of each array belongs to the k-th direction, from the best determined one on, or to
    the solution with the first k of them.

    Parameters
    ----------
    singular_value : ndarray of float, shape (directions,)
        How well the direction is determined, at most 1.
    squared_bias : ndarray of float, shape (directions,)
        Mean over the prior of the squared bias of the solution.
    mean_variance : ndarray of float, shape (directions,)
        Mean over the prior of the variance of the solution.
    largest_value : ndarray of float, shape (directions,)
        The largest absolute value in the solution.

    Examples
    --------
    >>> import recsample as rs
    >>> path = rs.MinimalBias(rs.AP, rs.UniformSampling(m=4), n_items=20).path
    >>> bool((path.squared_bias[1:] <= path.squared_bias[:-1]).all())
    True
    """

    singular_value: Floats
    squared_bias: Floats
    mean_variance: Floats
    largest_value: Floats


class MinimalBias(LeastSquaresCorrection):
    """The least biased correction that double precision can state, eq. (21).

    The exact minimiser, eq. (22), is of no use beyond small m: its values alternate in sign and
    grow like the inverse of the smallest singular value of the problem (10^27 at m = 100). They
    cannot be found by solving eq. (22) in floating point, and if they were given, no sum over the
    law could be evaluated with them. So the problem is solved along its well determined directions
    only: those whose singular value, in the scaling where the largest is 1, is at least 1.5e-8, the
    square root of the machine precision. `squared_bias` against `optimal_squared_bias` shows what
    that costs. Where m is so small that no direction is left out, the result is eq. (22).

    Even so the values reach 10^5 at m = 100, and with them the standard deviation of the estimate:
    `path` shows bias and variance direction by direction. For estimates use `BiasVariance`.

    Parameters
    ----------
    metric : Metric
    sampler : UniformSampling
    n_items : int
        Size n of the pool.
    prior : array_like of float, shape (n_items,), optional
        Weights of the ranks; by default uniform.

    Examples
    --------
    With m = 1 it is the least-squares line through (1, 1), (2, 1/2), (3, 1/3), at ranks 1 and 3:

    >>> import recsample as rs
    >>> best = rs.MinimalBias(rs.AP, rs.UniformSampling(m=1), n_items=3)
    >>> best.values.round(4), best.directions
    (array([0.9444, 0.2778]), 2)
    """

    def __init__(
        self,
        metric: Metric,
        sampler: HasLaw,
        n_items: int,
        *,
        prior: ArrayLike | None = None,
    ) -> None:
        super().__init__(metric, sampler, n_items, prior)

    def solve(self, law: Floats, target: Floats, prior: Floats) -> Floats:
        return self._along_directions(law, target, prior)[0]

    @cached_property
    def path(self) -> RegularisationPath:
        """Bias, variance and size of the solution with 1, 2, ..., `directions` directions.

        For one relevant item.

        Examples
        --------
        The first solution of the example above is a constant, the mean 11/18 of 1, 1/2 and 1/3, the
        second the line:

        >>> import recsample as rs
        >>> path = rs.MinimalBias(rs.AP, rs.UniformSampling(m=1), n_items=3).path
        >>> path.largest_value.round(4), path.squared_bias.round(4)
        (array([0.6111, 0.9444]), array([0.0802, 0.0062]))
        """
        rows = self._rows()
        path = self._along_directions(rows.law, rows.target, rows.prior)[1]
        return path._replace(squared_bias=path.squared_bias + rows.missed)

    def _along_directions(self, law, target, prior):
        """The solution along the well determined directions, and the path that leads to it."""
        reach, white = _whitened(law, prior)
        right = np.sqrt(prior) * target
        # An orthogonal reduction to m + 2 rows first, so that the decomposition is small.
        reduced = linalg.qr(np.column_stack([white, right]), mode="r")[0]
        left, singular, directions = linalg.svd(reduced[:, :-1], full_matrices=False)
        kept = singular >= np.sqrt(np.finfo(float).eps)
        singular, directions = singular[kept], directions[kept]
        along = left.T[kept] @ reduced[:, -1]
        solutions = np.cumsum((along / singular)[:, None] * directions, axis=0) / np.sqrt(reach)
        missed = right @ right - np.cumsum(along**2)
        path = RegularisationPath(
            singular,
            np.maximum(missed, 0.0),
            np.cumsum(along**2 * (1 / singular**2 - 1)),
            np.abs(solutions).max(axis=1),
        )
        return solutions[-1], path

    @property
    def directions(self) -> int:
        """How many of the m + 1 directions are kept.

        Returns
        -------
        int

        Examples
        --------
        >>> import recsample as rs
        >>> rs.MinimalBias(rs.AP, rs.UniformSampling(m=4), n_items=20).directions
        5
        """
        return len(self.path.singular_value)

    @cached_property
    def optimal_squared_bias(self) -> float:
        """The minimum of eq. (21), found without forming its minimiser.

        E[x | r] is a polynomial of degree at most m in r, and every such polynomial is the
        expectation of some x. So the minimum is the distance of M from these polynomials, and
        orthogonal polynomials, built one by one against all before, give it stably.

        Examples
        --------
        The least-squares line of the example above is off by 1/18, -1/9 and 1/18:

        >>> import recsample as rs
        >>> best = rs.MinimalBias(rs.AP, rs.UniformSampling(m=1), n_items=3)
        >>> round(best.optimal_squared_bias * 162, 9)
        1.0
        """
        n_items, m = self.n_items, min(self.sampler.m, self.n_items - 1)
        belief, jumps = self._belief(1, 1), jumps_of(self.metric, 1, 1)
        few = compressible(self.sampler, n_items - 1) and not self._given and jumps is not None
        if few:
            above, prior, target, _ = places_of(
                n_items - 1,
                polynomials(m),
                partial(self._exact, order=1, n_relevant=1),
                jumps,
                belief,
            )
        else:
            fits_in_memory(
                8 * (m + 1) * n_items,
                f"the polynomials up to degree m={m} of n_items={n_items} ranks",
                "choose a smaller m, or leave out the prior",
            )
            above, prior = np.arange(float(n_items)), self.prior
            target = self._exact(np.arange(n_items), 1, 1)
        root = np.sqrt(prior)
        rest = root * target
        place = 2 * above / max(n_items - 1, 1) - 1
        basis = np.empty((m + 1, len(above)))
        column = root
        for k in range(len(basis)):
            for _ in range(2):  # once more, against rounding
                column = column - basis[:k].T @ (basis[:k] @ column)
            length = linalg.norm(column)
            if length < 1e-13:  # the prior has no more than k ranks
                break
            basis[k] = column / length
            rest = rest - basis[k] * (basis[k] @ rest)
            column = place * basis[k]
        return float(rest @ rest)


@dataclass(frozen=True, repr=False)
class PooledCorrection(Metric):
    """A correction for `PooledSampling`, for each number of different items by itself.

    Given their number D, the different items are drawn without replacement (see `PooledSampling`),
    so what corrects `UniformSampling` with m = D corrects them. As the law of D does not depend on
    the rank, whatever bias a correction has given each D it has on average as well.
    Each D that occurs is solved once. In a run of 6,040 users with 100 draws from 3,540 items these
    are 8 numbers for one relevant item, and about 70 for ten.

    Parameters
    ----------
    make : callable
        From a sampler, `UniformSampling` of some size, to a `Correction` for it.
    sampler : PooledSampling
        Whose sampled ranks are read; ``n_items`` of these says how many different items there were.

    Attributes
    ----------
    metric : Metric
        What is estimated.
    n_items : int
        Size of the pool that the items come from.

    Examples
    --------
    >>> import recsample as rs
    >>> pooled = rs.PooledSampling(m=9)
    >>> corrected = rs.corrections.PooledCorrection(
    ...     lambda drawn: rs.MinimalBias(rs.AUC, drawn, n_items=50), pooled
    ... )
    >>> ranks = rs.Ranks([5, 30], n_items=50)
    >>> corrected(pooled.draw(ranks, rng=0)).round(3)
    array([0.889, 0.667])
    >>> pooled.expect(corrected, ranks).round(12) == rs.AUC(ranks).round(12)
    array([ True,  True])
    """

    make: Callable[[UniformSampling], Correction]
    sampler: PooledSampling = field()
    metric: Metric = field(init=False, compare=False)
    n_items: int = field(init=False, compare=False)
    _known: dict[int, Correction] = field(init=False, compare=False, default_factory=dict)
    takes_cutoff = False

    def __post_init__(self) -> None:
        if not isinstance(self.sampler, PooledSampling):
            raise ValueError(f"sampler must be PooledSampling, got {shown(self.sampler)}")
        _check_make(self.make, "a sampler")
        one = self.of_size(1)
        vars(self).update(
            name=f"PooledCorrection({one})",
            metric=one.metric,
            n_items=one.n_items,
            higher_is_better=one.higher_is_better,
            additive=one.additive,
        )

    def of_size(self, size: int) -> Correction:
        """The correction where so many different items were drawn.

        Parameters
        ----------
        size : int
            At least 1.

        Returns
        -------
        Correction

        Raises
        ------
        ValueError
            Where `make` gives something else than a correction for uniform draws of that size.

        Examples
        --------
        >>> import recsample as rs
        >>> corrected = rs.corrections.PooledCorrection(
        ...     lambda drawn: rs.RankEstimate(rs.AP, drawn, n_items=9), rs.PooledSampling(m=9)
        ... )
        >>> corrected.of_size(2).values
        array([1.        , 0.2       , 0.11111111])
        """
        if size not in self._known:
            drawn = UniformSampling(size)
            made = self.make(drawn)
            if not isinstance(made, Correction) or not made.sampler.same_kind(drawn):
                raise ValueError(f"make must give a correction for {drawn}, got {shown(made)}")
            self._known[size] = made
        return self._known[size]

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        columns = np.broadcast_arrays(rank, order, n_relevant, n_items)
        flat = np.stack([np.ravel(column) for column in columns])
        size, most = flat[3] - flat[2], self.sampler.m * flat[2]
        beyond = (size < 1) | (size > most)
        if beyond.any():
            first = int(np.argmax(beyond))
            raise ValueError(
                f"ranks must be among 1 to {most[first]} drawn items for {self}, got {size[first]}"
            )
        values = np.empty(len(size))
        for one in np.unique(size).tolist():
            mine = size == one
            values[mine] = self.of_size(one).term(*flat[:, mine])
        return values.reshape(columns[0].shape)


def corrected_by_pool(
    make: Callable[[int], Correction], sampled: Ranks, n_items: ArrayLike
) -> Floats:
    """A corrected metric where every instance has a pool of its own size.

    The values of a correction depend on n smoothly, so they are not solved for each n: a polynomial
    in log n through some tens of solutions meets all others. More of these are taken until three in
    a row are met to 1e-10 of the largest value. From 1,000 to a million items and at m = 100 that
    takes about 30 solutions of `BiasVariance`, however many sizes there are, and the values are
    those of a solution each to 1e-9, or to what its condition permits where that is less: about
    1e-16 / gamma. Where values have kinks or jumps, as `ConstrainedLeastSquares` has where another
    constraint begins to bind, and `MinimalBias` where another direction is left out, the sizes
    around these are solved one by one; for `MinimalBias` these are nearly all.

    Parameters
    ----------
    make : callable
        From the size of a pool, an int, to a `Correction` for it: always the same but for
        ``n_items``.
    sampled : Ranks
        Ranks among m drawn items.
    n_items : int or array_like of int, shape (instances,)
        Sizes of the pools that were drawn from, the relevant items included.

    Returns
    -------
    ndarray of float, shape (instances,)
        NaN, with a warning, for an instance without relevant item.

    Raises
    ------
    ValueError
        For what is no `Ranks` among m drawn items, other numbers of sizes than of instances, a size
        for which there is no correction, a `make` that gives something else, and values of more
        sizes than the memory holds.

    Examples
    --------
    Users have seen different numbers of items, so what a sampled rank is worth differs as well:

    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=4)
    >>> make = lambda n_items: rs.BiasVariance(rs.AP, sampler, n_items, gamma=0.1)
    >>> sampled = rs.Ranks([1, 1, 2], n_items=5)
    >>> rs.corrections.corrected_by_pool(make, sampled, [20, 200, 200]).round(3)
    array([ 0.723,  0.186, -0.07 ])
    """
    _check_make(make, "the size of a pool")
    n_relevant = check_ranks(sampled, "sampled").n_relevant
    sizes = whole_numbers("n_items", n_items, lowest=1)
    if sizes.ndim and sizes.shape != (len(sampled),):
        raise ValueError(
            f"n_items must be one number or one for each of {len(sampled)} instances, "
            f"got an array of shape {sizes.shape}"
        )
    sizes = np.broadcast_to(sizes, len(sampled))
    values = np.full(len(sampled), np.nan)
    make = cache(make)  # some are asked for by each number of relevant items
    one, some = _made(make, int(sizes[0])), n_relevant > 0
    one._check_drawn(n_relevant[some], sampled.sizes[some])
    for size in np.unique(n_relevant[some]).tolist():
        mine = np.flatnonzero(n_relevant == size)
        (pools,), which = different_rows([sizes[mine]])
        fits_in_memory(
            16 * len(pools) * size * (one.sampler.m + 1),
            f"the values for {len(pools)} pools with m={one.sampler.m} and {size} relevant items",
            "give fewer instances at a time",
        )
        table = at_all(partial(_parts_of, make, one, size), pools)
        gain = partial(_looked_up, table, which)
        values[mine] = mean_over_ties(gain, sampled[mine])
    return warned_of_nan(one, values)


def _check_make(make, source):
    """Refuse what makes no corrections: metrics and classes can be called as well."""
    if not callable(make) or isinstance(make, (Metric, type)):
        raise ValueError(
            f"make must be a function from {source} to a correction, got {shown(make)}: "
            "lambda given: BiasVariance(..., given, ...) is one"
        )


def _made(make, n_items):
    """The correction for a pool of this size."""
    made = make(n_items)
    if not isinstance(made, Correction) or made.n_items != n_items:
        raise ValueError(
            f"make must give a correction for a pool of n_items={n_items}, got {shown(made)}"
        )
    return made


def _parts_of(make, first, n_relevant, n_items):
    """What each of the relevant items contributes in a pool of this size, shape (L, m + 1)."""
    made = _made(make, n_items)
    if (made.metric, made.sampler) != (first.metric, first.sampler):
        raise ValueError(
            f"make must give corrections of one metric and sampler, got {first} for "
            f"{first.sampler} and {made} for {made.sampler}"
        )
    return np.stack([made.values_of(i, n_relevant) for i in range(1, n_relevant + 1)])


def _looked_up(table, which, instance, order, rank):
    return table[which[instance], order - 1, rank - order]


def _errors_of(values, rows):
    """Bias, squared bias and variance, averaged over all ranks."""
    bias, squared_bias, variance = average_errors(values, rows.law, rows.target, rows.prior)
    return float(bias), float(squared_bias) + rows.missed, float(variance)


def _whitened(law, prior):
    """c_s = sum of p(r) p(s | r), and the matrix sqrt(p(r)) p(s | r) / sqrt(c_s).

    In the unknowns y_s = sqrt(c_s) x_s the singular values lie between 0 and 1, whatever the
    prior, and the variance term of eq. (24) becomes gamma |y|^2.
    """
    reach = _reach(law, prior)
    return reach, np.sqrt(prior)[:, None] * law / np.sqrt(reach)


def _reach(law, prior):
    """The probability of each sampled rank; refuses a prior that leaves the value of one open."""
    reach = prior @ law
    if reach.min() < 1e-290:
        unseen = int(np.argmin(reach)) + 1
        raise ValueError(
            "prior must give every sampled rank a positive probability, "
            f"got none for sampled rank {unseen}"
        )
    return reach
