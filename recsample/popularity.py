"""What popular negatives do to a rank, and the weights that undo it.

Item j of the candidates is drawn with probability q_j, in proportion to its weight. Then the number
s of drawn items that outrank the relevant one no longer depends on how many candidates do, but on
which ones: with replacement

    s ~ B(m, Q),    Q = the sum of q_j over the items above,

while the rank alone would ask for B(m, a / N), a of the N candidates being above. So the methods
here take `RankedItems`, which name the items above, where `UniformSampling` takes `Ranks`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse, special

from recsample import _rings
from recsample._counts import average_with, count_pmf, gauss_on_points, row_blocks
from recsample._scores import item_sets, outranking, relevant_sets, scored_pools
from recsample._typing import Floats, Integers, Rng, Sparse
from recsample._validation import (
    finite_numbers,
    fits_in_memory,
    generator,
    positive_int,
    true_or_false,
)
from recsample.metrics import LinearMetric, Metric, check_metric
from recsample.ranks import Ranks, frozen

__all__ = ["PopularitySampling", "RankedItems", "ranked_items"]

# A positive weight below this share of the largest would overflow where one divides by it.
_LOWEST = 1e-300


class RankedItems:
    """Which items outrank the relevant one, for each instance: `Ranks` that know their items.

    Usually made from scores, by `ranked_items`.

    Parameters
    ----------
    above : sparse matrix, shape (instances, items)
        Its stored non-zeros are the candidates that outrank the relevant item.
    relevant : array_like of int, shape (instances,)
        The relevant item of each instance, 0-based.
    exclude : sparse matrix, shape (instances, items), optional
        Items that are not ranked, such as the training set. All others but the relevant one are
        the candidates from which negatives are drawn.
    tied : sparse matrix, shape (instances, items), optional
        The candidates with exactly the score of the relevant item.

    Attributes
    ----------
    above, tied : csr_matrix of bool, shape (instances, items)
        As given.
    excluded : csr_matrix of bool, shape (instances, items)
        What is no candidate: `exclude` and the relevant items.
    ranks : Ranks
        The ranks, with their ties.

    Raises
    ------
    ValueError
        For shapes that do not fit, an item that does not exist, and an item in two of the sets;
        the message names the user, which is the instance.

    Examples
    --------
    The relevant item is item 3, and of the other three items the first outranks it:

    >>> import recsample as rs
    >>> from scipy import sparse
    >>> ranked = rs.RankedItems(sparse.csr_matrix([[1, 0, 0, 0]]), relevant=[3])
    >>> ranked.ranks.values
    array([2])
    """

    def __init__(
        self,
        above: Sparse,
        relevant: ArrayLike,
        exclude: Sparse | None = None,
        *,
        tied: Sparse | None = None,
    ) -> None:
        if not sparse.issparse(above) or above.ndim != 2 or not all(above.shape):
            raise ValueError(
                "above must be a sparse matrix of shape (instances, items), "
                f"got {getattr(above, 'shape', type(above).__name__)}"
            )
        shape = above.shape
        self.above = item_sets("above", above, *shape)
        self.tied = item_sets("tied", tied, *shape)
        _refuse_several(relevant)
        left_out, own = item_sets("exclude", exclude, *shape), relevant_sets(relevant, *shape)
        self.excluded = left_out + own
        sets = [one.astype(np.int8) for one in (self.above, self.tied, left_out, own)]
        shared = sum(sets[1:], sets[0]).tocoo()
        twice = shared.data > 1
        if twice.any():
            raise ValueError(
                "above, tied, relevant and exclude must not share an item, "
                f"got item {shared.col[twice][0]} twice in instance {shared.row[twice][0]}"
            )
        n_above, n_tied, n_excluded = (
            np.diff(one.indptr) for one in (self.above, self.tied, self.excluded)
        )
        self.ranks = Ranks(1 + n_above, 1 + shape[1] - n_excluded, ties=n_tied)

    def __len__(self) -> int:
        return len(self.ranks)

    def __repr__(self) -> str:
        return f"<RankedItems: {len(self)} instances, {self.above.shape[1]} items>"


def ranked_items(
    scores: ArrayLike | tuple[ArrayLike, ArrayLike],
    relevant: ArrayLike,
    exclude: Sparse | None = None,
) -> RankedItems:
    """Which items outrank the relevant one under given scores.

    As `predicted_ranks`, for one relevant item per user, but with the items and not only how many
    they are.

    Parameters
    ----------
    scores : array_like of float, shape (users, items), or pair of arrays
        A score per user and item, higher is better, or the factors (user_factors, item_factors).
    relevant : array_like of int, shape (users,)
        The relevant item of each user, 0-based.
    exclude : sparse matrix, shape (users, items), optional
        Items that are not ranked for the user, such as the training set.

    Returns
    -------
    RankedItems

    Raises
    ------
    ValueError
        As `predicted_ranks`, and for a sparse matrix as `relevant`: popularity sampling is for one
        relevant item. Give each relevant item of a user a row of its own, with the others in
        `exclude`.

    Examples
    --------
    >>> import recsample as rs
    >>> ranked = rs.ranked_items([[.9, .5, .1, .5], [.2, .7, .1, .0]], relevant=[1, 3])
    >>> ranked.above.toarray().astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 1, 0]])
    >>> ranked.ranks.values, ranked.ranks.ties
    (array([2, 4]), array([1, 0]))
    """
    _refuse_several(relevant)
    own, left_out, blocks = scored_pools(scores, relevant, exclude)
    above, tied = [], []
    for rows, block in blocks:
        higher, same = outranking(block, own[rows], left_out[rows])
        above.append(sparse.csr_matrix(higher))
        tied.append(sparse.csr_matrix(same))
    return RankedItems(
        sparse.vstack(above, format="csr"),
        own.indices,
        left_out,
        tied=sparse.vstack(tied, format="csr"),
    )


class PopularitySampling:
    """Draw m candidates per instance with probabilities in proportion to given weights.

    With replacement every draw is of item j with probability q_j, its share of the weight of all
    candidates. Without, the first draw is the same, and each further one is in proportion to the
    weights of the items that are left: ``rng.choice(candidates, m, replace=False, p=q)`` in NumPy.

    Without replacement tied items stand in a random order. With replacement the place of the
    relevant item among its t ties is drawn first, and each drawn tied item stands above it with
    the chance u / t that u of them do. For equal weights this is what `UniformSampling` does.

    Parameters
    ----------
    m : int
        Number of drawn items, at least 1.
    weights : array_like of float, shape (items,)
        One weight per item, such as its number of training events; not negative, not all 0.
        An item of weight 0 is never drawn.
    replace : bool, optional
        Draw with replacement. By default without.

    Attributes
    ----------
    m : int
    weights : ndarray of float, shape (items,)
    replace : bool

    Raises
    ------
    ValueError
        For a weight that is negative or not finite, or positive and below 1e-300 of the largest,
        and for weights that are all 0.

    Examples
    --------
    Two of four items are three times as popular as the others. The relevant item, item 3, is on
    rank 2 in both instances, but the item above it is a popular one in the first only:

    >>> import recsample as rs
    >>> scores = [[.9, .1, .2, .5], [.1, .2, .9, .5]]
    >>> ranked = rs.ranked_items(scores, relevant=[3, 3])
    >>> sampler = rs.PopularitySampling(m=1, weights=[3, 3, 1, 1])
    >>> sampler.expect(rs.AUC, ranked).round(3), rs.AUC(ranked.ranks).round(3)
    (array([0.571, 0.857]), array([0.667, 0.667]))
    """

    def __init__(self, m: int, weights: ArrayLike, replace: bool = False) -> None:
        self.m = positive_int("m", m)
        self.replace = true_or_false("replace", replace)
        self.weights: Floats = frozen(finite_numbers("weights", weights, lowest=0))
        if self.weights.ndim != 1 or not self.weights.size:
            raise ValueError(
                f"weights must hold one number per item, got shape {self.weights.shape}"
            )
        if not self.weights.any():
            raise ValueError("weights must hold a weight above 0, got only zeros")
        # Only their ratios count; with the largest as 1 no sum overflows.
        self._relative = self.weights / self.weights.max()
        tiny = (self.weights > 0) & (self._relative < _LOWEST)
        if tiny.any():
            raise ValueError(
                f"weights must be 0 or at least {_LOWEST} of the largest, {self.weights.max()}, "
                f"got {self.weights[tiny][0]} (at position {np.argmax(tiny)})"
            )

    def __repr__(self) -> str:
        return (
            f"PopularitySampling(m={self.m}, weights of {len(self.weights)} items, "
            f"replace={self.replace})"
        )

    def pmf(self, ranked: RankedItems) -> Floats:
        """The law of each instance's sampled rank, given which items outrank the relevant one.

        With replacement it is binomial. Without, give each candidate a clock that rings after an
        exponential time with its weight as the rate; the sample is the first m to ring. At time t
        the clocks that have rung above and below the relevant item are independent sums of
        independent indicators, and the law is an integral over the time of the m-th ring. It is
        taken by the trapezoidal rule in log t, to about 12 digits after the point. The work grows
        with the number of different weights times m^1.5: with 3,706 items of 941 different weights
        and m = 100 an instance takes about 25 ms.

        Parameters
        ----------
        ranked : RankedItems

        Returns
        -------
        ndarray of float, shape (instances, m + 1)
            Column s holds p(sampled rank = s + 1).

        Raises
        ------
        ValueError
            If the weights do not fit the items, if an instance has too few candidates of positive
            weight (the message names it), or for a law that the memory cannot hold.

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
        self._check(ranked)
        fits_in_memory(
            16 * len(ranked) * (self.m + 1), f"the law of {len(ranked)} instances with m={self.m}"
        )
        return self._law_with(ranked) if self.replace else self._law_without(ranked)

    def draw(self, ranked: RankedItems, rng: Rng) -> Ranks:
        """Sampled ranks: one sampled evaluation.

        Parameters
        ----------
        ranked : RankedItems
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        Ranks
            With ``n_items = m + 1``, instances in the same order, ties broken at random.

        Raises
        ------
        ValueError
            As `pmf`, and for an `rng` that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]], relevant=[3])
        >>> rs.PopularitySampling(3, [5, 1, 1, 1]).draw(ranked, rng=0).values
        array([2])
        """
        rng = generator(rng)
        if self.replace:
            above, tied = self._shares(ranked)
            place = _random_place(ranked, rng)
            return Ranks(1 + rng.binomial(self.m, np.minimum(above + place * tied, 1)), self.m + 1)
        items = self.draw_items(ranked, rng)
        count = _count_in(ranked.above, items).sum(axis=1)
        count += rng.integers(0, _count_in(ranked.tied, items).sum(axis=1), endpoint=True)
        return Ranks(1 + count, self.m + 1)

    def draw_items(self, ranked: RankedItems, rng: Rng) -> Integers:
        """The drawn items themselves, in the order of their drawing.

        Parameters
        ----------
        ranked : RankedItems
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        ndarray of int, shape (instances, m)

        Raises
        ------
        ValueError
            As `draw`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]], relevant=[3])
        >>> sorted(rs.PopularitySampling(3, [5, 1, 1, 1]).draw_items(ranked, rng=0)[0].tolist())
        [0, 1, 2]
        """
        self._check(ranked)
        rng = generator(rng)
        n_items = len(self.weights)
        items = np.empty((len(ranked), self.m), np.int64)
        for rows in row_blocks(len(ranked), n_items):
            outside = ranked.excluded[rows].nonzero()
            weights = np.tile(self._relative, (rows.stop - rows.start, 1))
            weights[outside] = 0.0
            if self.replace:
                ends = np.cumsum(weights, axis=1)
                aim = rng.random((len(ends), self.m)) * ends[:, -1:]
                for row, (end, at) in enumerate(zip(ends, aim), start=rows.start):
                    items[row] = np.searchsorted(end, at, side="right")
            else:
                with np.errstate(divide="ignore"):
                    clocks = rng.standard_exponential(weights.shape) / weights
                first = np.argpartition(clocks, self.m - 1, axis=1)[:, : self.m]
                order = np.argsort(np.take_along_axis(clocks, first, axis=1), axis=1)
                items[rows] = np.take_along_axis(first, order, axis=1)
        return items

    def expect(self, metric: Metric, ranked: RankedItems) -> Floats:
        """The expectation of a metric on the sampled ranks, by summing over their law.

        Parameters
        ----------
        metric : Metric
        ranked : RankedItems

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As `pmf`, and for a `metric` that is none.

        Examples
        --------
        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]], relevant=[3])
        >>> rs.PopularitySampling(2, [2, 1, 1, 7], replace=True).expect(rs.AUC, ranked)
        array([0.5])
        """
        return self._moments(metric, ranked)[0]

    def variance(self, metric: Metric, ranked: RankedItems) -> Floats:
        """The variance of a metric on the sampled ranks, by summing over their law.

        Parameters
        ----------
        metric : Metric
        ranked : RankedItems

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As `expect`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]], relevant=[3])
        >>> rs.PopularitySampling(2, [2, 1, 1, 7], replace=True).variance(rs.AUC, ranked)
        array([0.125])
        """
        return self._moments(metric, ranked)[1]

    def std_of_mean(self, metric: Metric, ranked: RankedItems) -> float:
        """Standard deviation, over repeated sampling, of the metric's mean over the instances.

        Parameters
        ----------
        metric : Metric
        ranked : RankedItems
            Instances are sampled independently.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            As `expect`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]] * 50, relevant=[3] * 50)
        >>> rs.PopularitySampling(2, [2, 1, 1, 7], replace=True).std_of_mean(rs.AUC, ranked)
        0.05
        """
        return float(np.sqrt(self.variance(metric, ranked).sum()) / len(ranked))

    def estimate(self, metric: Metric, ranked: RankedItems, rng: Rng) -> Floats:
        """What uniform sampling would give on average, estimated from drawn items without bias.

        Each draw gets a weight w whose expectation, given the draws before it, is p = a / N, the
        share of the candidates above. With replacement it is that of Hansen and Hurwitz [1]_,

            w = 1[above] / (N q_j),

        and without it is that of Des Raj [2]_, 1 / N of

            1[above] (1 - q_1 - ... - q_(k - 1)) / q_k + (how many of the k - 1 before are above),

        the q in the order of drawing. The metric at the sampled ranks is a vector x_0, ..., x_m.
        The estimate is the average of x_s over all ways to count each draw with weight w as above
        with "probability" w, which may exceed 1: the blossom [3]_ of the polynomial

            sum over s of C(m, s) p^s (1 - p)^(m - s) x_s

        at w_1, ..., w_m. It is of degree 1 in each w, so its expectation is the polynomial at p:
        exactly ``UniformSampling(m, replace=True).expect(metric, ranked.ranks)``. For AUC that is
        the exact metric, and the estimate is 1 minus the mean of the weights. A correction made
        for uniform sampling with replacement keeps its expectation. A tied item counts half for
        linear metrics, and for others as far as a random place among the ties says.

        Parameters
        ----------
        metric : Metric
            Also a corrected metric.
        ranked : RankedItems
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        ndarray of float, shape (instances,)
            One estimate per instance. Single ones may lie outside the range of the metric.

        Raises
        ------
        ValueError
            As `draw`; for a `metric` that is none; and if an item that outranks the relevant one,
            or ties with it, has weight 0 and so is never seen. The message names both.

        Examples
        --------
        The exact AUC is 2/3. Half of the time the item above is drawn, and the estimate is
        1 - 1 / (3 * 0.5) = 1/3; otherwise it is 1. The mean of the two is 2/3 again.

        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]] * 4, relevant=[3] * 4)
        >>> rs.PopularitySampling(1, [2, 1, 1, 7]).estimate(rs.AUC, ranked, rng=1).round(3)
        array([1.   , 0.333, 0.333, 1.   ])

        References
        ----------
        .. [1] M. H. Hansen, W. N. Hurwitz, "On the Theory of Sampling from Finite Populations",
           Annals of Mathematical Statistics 14(4), 1943.
        .. [2] D. Raj, "Some Estimators in Sampling with Varying Probabilities without
           Replacement", Journal of the American Statistical Association 51(274), 1956.
        .. [3] Lyle Ramshaw, "Blossoms are Polar Forms", Computer Aided Geometric Design 6(4), 1989.
        """
        x = self._values(metric)
        rng = generator(rng)
        items = self.draw_items(ranked, rng)
        self._check_seen(ranked)
        linear = isinstance(metric, LinearMetric)
        place = 0.5 if linear else _random_place(ranked, rng)[:, None]
        weights = self._unbiased_weights(ranked, items, place)
        estimate = np.empty(len(ranked))
        for rows in row_blocks(len(ranked), self.m + 1):
            # De Casteljau's algorithm with another argument in each step.
            level = np.tile(x, (rows.stop - rows.start, 1))
            for w in weights[rows].T:
                level = level[:, :-1] + w[:, None] * np.diff(level, axis=1)
            estimate[rows] = level[:, 0]
        return estimate

    def variance_of_estimate(self, metric: Metric, ranked: RankedItems) -> Floats:
        """The variance of `estimate`, exactly, for draws with replacement.

        It depends on two numbers, p and the variance of a single weight, through their ratio

            g = Var[w] / (p (1 - p)),

        which is 1 for uniform sampling. Split x_s into parts of degree 1, 2, ..., m that are
        uncorrelated under the binomial law with p (Krawtchouk polynomials). The variance of the
        estimate is the sum of their variances, that of degree k multiplied by g^k.

        Parameters
        ----------
        metric : Metric
        ranked : RankedItems

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As `estimate`, and for a sampler without replacement.

        Examples
        --------
        Half of the time the weight is 1 / (3 * 0.5), otherwise 0, and there are two draws:

        >>> import recsample as rs
        >>> ranked = rs.ranked_items([[.9, .1, .2, .5]], relevant=[3])
        >>> sampler = rs.PopularitySampling(2, [2, 1, 1, 7], replace=True)
        >>> sampler.variance_of_estimate(rs.AUC, ranked).round(6)
        array([0.055556])
        """
        x = self._values(metric)
        if not self.replace:
            raise ValueError("replace must be True for the variance of an estimate, got False")
        self._check(ranked)
        self._check_seen(ranked)
        fits_in_memory(64 * (self.m + 1) ** 2, f"the polynomials for m={self.m}")
        n_above, ties, pool = _counts(ranked)
        seen = self._relative > 0
        inverse = np.divide(1.0, self._relative, out=np.zeros(len(seen)), where=seen)
        scale = self._total(ranked) / pool.astype(float) ** 2
        square_above, square_tied = (
            scale * (items @ inverse) for items in (ranked.above, ranked.tied)
        )
        if isinstance(metric, LinearMetric):
            squares = square_above + square_tied / 4
            single = np.maximum(squares - ((n_above + ties / 2) / pool) ** 2, 0.0)
            return (x[-1] - x[0]) ** 2 * single / self.m
        differences = _differences(x)
        variance = np.empty(len(ranked))
        for i, (a, t, n) in enumerate(zip(n_above, ties, pool)):
            # The place among the ties is drawn once and shared by all draws.
            place, chance = gauss_on_points(t + 1, self.m + 1)
            squares = square_above[i] + (place / max(t, 1)) ** 2 * square_tied[i]
            each = zip((a + place) / n, squares)
            means, variances = np.transpose([_moments_of_estimate(differences, *p) for p in each])
            variance[i] = chance @ (variances + (means - chance @ means) ** 2)
        return variance

    def _values(self, metric):
        """The metric at the m + 1 sampled ranks."""
        check_metric(metric)
        return metric.of_rank(np.arange(1, self.m + 2), self.m + 1)

    def _moments(self, metric, ranked):
        """Mean and variance of the metric for every instance."""
        values, pmf = self._values(metric), self.pmf(ranked)
        mean = pmf @ values
        return mean, (pmf * (values - mean[:, None]) ** 2).sum(axis=1)

    def _check(self, ranked):
        """Refuse what cannot be drawn from."""
        if not isinstance(ranked, RankedItems):
            raise ValueError(f"ranked must be RankedItems, got {type(ranked).__name__}")
        if ranked.above.shape[1] != len(self.weights):
            raise ValueError(
                f"weights must hold one number for each of the {ranked.above.shape[1]} items, "
                f"got {len(self.weights)}"
            )
        positive = self._relative > 0
        drawable = positive.sum() - ranked.excluded @ positive.astype(np.int64)
        needed = 1 if self.replace else self.m
        if drawable.min() < needed:
            raise ValueError(
                f"weights must leave at least {needed} candidates with a weight above 0 to draw "
                f"m={self.m} {'with' if self.replace else 'without'} replacement, "
                f"got {drawable.min()} in instance {np.argmin(drawable)}"
            )

    def _check_seen(self, ranked):
        """Refuse items that count but are never drawn."""
        unseen = (ranked.above + ranked.tied).tocoo()
        zero = self._relative[unseen.col] == 0
        if zero.any():
            raise ValueError(
                "weights must be above 0 for every item that outranks the relevant one or ties "
                f"with it, got 0 for item {unseen.col[zero][0]} in instance {unseen.row[zero][0]}"
            )

    def _total(self, ranked):
        """The weight of all candidates of each instance, added up without subtractions."""
        n_items = len(self._relative)
        blocks = (ranked.excluded[rows].toarray() for rows in row_blocks(len(ranked), n_items))
        return np.concatenate([(~block).astype(float) @ self._relative for block in blocks])

    def _shares(self, ranked):
        """The shares Q of the weight that the items above, and those tied, have."""
        self._check(ranked)
        total = self._total(ranked)
        return tuple(np.minimum(x @ self._relative / total, 1) for x in (ranked.above, ranked.tied))

    def _law_with(self, ranked):
        above, tied = self._shares(ranked)
        pmf = np.concatenate(
            [
                count_pmf(above[rows], np.ones_like(above[rows]), self.m, True)
                for rows in row_blocks(len(ranked), self.m + 1)
            ]
        )
        some = np.flatnonzero(tied)
        if len(some):
            # In units of the mean weight of a tied item, the law is that of u more items above.
            ties = _counts(ranked)[1][some]
            unit = ties / tied[some]
            pool = np.maximum(unit, above[some] * unit + ties)  # equal up to rounding, or larger
            pmf[some] = average_with(above[some] * unit, ties, pool, self.m)
        return pmf

    def _law_without(self, ranked):
        weights, kind = np.unique(self._relative, return_inverse=True)
        kinds = sparse.csr_matrix(
            (np.ones(len(kind)), (np.arange(len(kind)), kind)), shape=(len(kind), len(weights))
        )[:, weights > 0]
        weights = weights[weights > 0]
        pmf = np.empty((len(ranked), self.m + 1))
        tied = np.diff(ranked.tied.indptr) > 0
        for some in (np.flatnonzero(tied), np.flatnonzero(~tied)):
            length = 16 * len(weights) + 64 * self.m
            for rows in row_blocks(len(some), length, _rings.BLOCK):
                part = some[rows]
                above, level, outside = (
                    (x[part].astype(float) @ kinds).toarray()
                    for x in (ranked.above, ranked.tied, ranked.excluded)
                )
                below = np.asarray(kinds.sum(axis=0)) - outside - above - level
                pmf[part] = _rings.first_rings(above, level, below, weights, self.m)
        return pmf

    def _unbiased_weights(self, ranked, items, place):
        """One number per draw whose mean, given the draws before it, is a / N."""
        counted = _count_in(ranked.above, items) + place * _count_in(ranked.tied, items)
        share = self._relative[items] / self._total(ranked)[:, None]
        pool = ranked.ranks.n_irrelevant[:, None]
        if self.replace:
            return counted / share / pool
        share_before = np.cumsum(share, axis=1) - share
        counted_before = np.cumsum(counted, axis=1) - counted
        return (counted_before + counted * (1 - share_before) / share) / pool


def _refuse_several(relevant):
    if sparse.issparse(relevant):
        raise ValueError(
            "relevant must hold one item for each user, got a sparse matrix: popularity sampling "
            "is for one relevant item. Give each relevant item a row of its own, with the user's "
            "others in exclude"
        )


def _counts(ranked):
    """How many items are above, how many tied, and how many candidates there are."""
    return np.diff(ranked.above.indptr), np.diff(ranked.tied.indptr), ranked.ranks.n_irrelevant


def _count_in(sets, items):
    """Which of each instance's items are in its set, as 0 and 1."""
    inside = np.empty(items.shape, np.int64)
    for rows in row_blocks(len(items), sets.shape[1]):
        inside[rows] = np.take_along_axis(sets[rows].toarray(), items[rows], axis=1)
    return inside


def _random_place(ranked, rng):
    """The share of its ties that stand above the relevant item, in a random order."""
    ties = _counts(ranked)[1]
    return rng.integers(0, ties, endpoint=True) / np.maximum(ties, 1)


def _differences(x):
    """Row k: the k-th differences of x, then zeros."""
    table = np.zeros((len(x), len(x)))
    for k in range(len(x)):
        table[k, : len(x) - k] = np.diff(x, n=k)
    return table


def _moments_of_estimate(differences, p, square):
    """Mean and variance of the blossom of x at m independent weights of mean p and mean square.

    As a function of degree 1 in each weight it is the sum, over all sets of k draws, of
    g_k times the product of w - p over the set, with g_k the mean of the k-th differences of x
    under B(m - k, p). These are uncorrelated, so the variance is the sum of C(m, k) Var[w]^k g_k^2.

    Rounding spoils g_k by 2^k; where C(m, k) (4 p (1 - p))^k is large, g_k^2 C(m, k)
    (p (1 - p))^k comes from the Krawtchouk polynomials instead, which spoil nothing.
    """
    m = len(differences) - 1
    k = np.arange(m + 1)
    laws = count_pmf(np.full(m + 1, p), np.ones(m + 1), m, True, draws=m - k)
    g = (laws * differences).sum(axis=1)
    variance = max(square - p**2, 0.0)
    binomial = p * (1 - p)
    log_ways = special.gammaln(m + 1) - special.gammaln(k + 1) - special.gammaln(m - k + 1)
    parts = np.exp(log_ways + special.xlogy(k, variance)) * g**2
    spoilt = log_ways + special.xlogy(k, 4 * binomial) > 0
    if spoilt.any() and binomial > 0:
        off = np.sqrt(k[1:] * (m - k[1:] + 1) * binomial)
        vectors = linalg.eigh_tridiagonal(p * (m - k) + k * (1 - p), off)[1]
        components = vectors @ (vectors[0] * differences[0])
        parts[spoilt] = ((variance / binomial) ** k * components**2)[spoilt]
    return g[0], parts[1:].sum()
