"""What a ranking is worth: one number per instance, computed from the ranks of its relevant items.

Every metric here is a sum over the relevant items of an instance, best ranked first,

    M(R) = sum over i of f_i(r_i),        r_1 < r_2 < ... < r_L,

where ``f_i`` knows only the rank ``r_i``, the order ``i``, the number of relevant items ``L`` and
the size of the pool ``n``. A metric is that function ``f_i``; everything else follows from it. (One
definition found in the field, ``AP(hits)`` with a cut-off, is no such sum, and is treated apart.)

As functions of a single rank, most metrics have one of four forms, and with it a closed form for
what sampling makes of them: `LinearMetric`, `StepMetric`, `ReciprocalMetric`, `GeometricMetric`.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._ties import blocks, orders_of_ties, ties_ahead
from recsample._typing import Floats
from recsample._validation import (
    fits_in_memory,
    positive_float,
    positive_int,
    share,
    shown,
    true_or_false,
    whole_numbers,
)
from recsample.ranks import Ranks, check_ranks, flattened

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AP",
    "AR",
    "AUC",
    "DCG",
    "F1",
    "FScore",
    "NDCG",
    "RBP",
    "RR",
    "Accuracy",
    "AreaUnderCurve",
    "AveragePrecision",
    "AverageRecallAt",
    "DiscountedGain",
    "GeometricMetric",
    "HitRate",
    "HitRatioAt",
    "LinearMetric",
    "Metric",
    "NormalizedDCG",
    "PercentileRank",
    "PercentileRankMetric",
    "Precision",
    "PrecisionAt",
    "PrecisionAtRelevant",
    "RPrecision",
    "RankScore",
    "Recall",
    "RecallAt",
    "ReciprocalMetric",
    "ReciprocalRank",
    "StepMetric",
    "TopOneAccuracy",
    "at_mean_rank",
    "compare",
    "expected_percentile_rank",
    "metric",
]


def _short(number):
    """A number as the name of a metric shows it: 5, 0.8."""
    return str(number).removesuffix(".0")


class Metric(ABC):
    """A function of `Ranks`: one value per instance.

    Use the ready-made metrics `AUC`, `AP`, `NDCG`, ... and cut them off with ``@``: only ranks up
    to the cut-off count. These metrics are values: they compare equal by definition, hash, and
    print the name that `metric` parses.

    Examples
    --------
    >>> from recsample import NDCG, Ranks
    >>> (NDCG @ 10)(Ranks([1, 3, 11], n_items=100))
    array([1. , 0.5, 0. ])
    >>> NDCG @ 10
    NDCG@10
    """

    cutoff: int | None = None
    name: str
    takes_cutoff: bool = True
    needs_cutoff: bool = False
    higher_is_better: bool = True
    additive: bool = True  # a sum over the relevant items; see the head of this module

    @abstractmethod
    def _term(self, rank, order, n_relevant, n_items):
        """f_i(r_i): the part of the metric that the `order`-th best relevant item contributes."""

    def __call__(self, ranks: Ranks) -> Floats:
        """The metric of every instance, in expectation over a random order of tied items.

        Parameters
        ----------
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)
            NaN where the metric is undefined: for an instance without relevant item, and for AUC
            and percentile rank without irrelevant item. A warning says for how many instances.

        Raises
        ------
        ValueError
            For anything but `Ranks`, and for a metric that needs a cut-off and has none.
        """
        self._check_cutoff()
        check_ranks(ranks)
        values = self._mean_over_ties(ranks)
        values[ranks._n_relevant == 0] = np.nan
        return warned_of_nan(self, values)

    def _mean_over_ties(self, ranks):
        terms, sizes, n_relevant = ranks._terms, ranks._sizes, ranks._n_relevant
        places = terms.ties + 1
        if self.cutoff is not None:  # beyond it nothing counts; one place keeps the item itself
            places = np.clip(self.cutoff + 1 - terms.rank, 1, places)
        most = np.max(places, initial=1)
        fits_in_memory(100 * most, f"the average over {most} places of a tied item")
        values = np.zeros(len(ranks))
        for part in blocks(places):
            instance, order, rank, weight = orders_of_ties(terms, places, part)
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = self._term(rank, order, n_relevant[instance], sizes[instance])
            values += np.bincount(instance, weight * gain, minlength=len(ranks))
        return values

    @overload
    def of_rank(self, r: int | np.integer, n_items: ArrayLike) -> float: ...
    @overload
    def of_rank(self, r: Sequence[int] | NDArray[Any], n_items: ArrayLike) -> Floats: ...

    def of_rank(self, r: ArrayLike, n_items: ArrayLike) -> float | Floats:
        """The metric as a function of a single rank, for one relevant item (eqs. 7 to 13).

        Parameters
        ----------
        r : int or array_like of int
            Rank of the only relevant item, between 1 and `n_items`.
        n_items : int or array_like of int
            Size of the ranked pool.

        Returns
        -------
        float or ndarray of float, shape of `r`

        Raises
        ------
        ValueError
            For a rank that is not a whole number from 1 to `n_items`, and for a metric that needs a
            cut-off and has none.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.AP.of_rank([1, 2, 4], n_items=100)
        array([1.  , 0.5 , 0.25])
        >>> rs.AUC.of_rank(100, n_items=10_000)
        0.9900990099009901
        """
        self._check_cutoff()
        r = whole_numbers("r", r, lowest=1)
        n_items = whole_numbers("n_items", n_items, lowest=1)
        if n_items.ndim and n_items.shape != r.shape:
            raise ValueError(
                f"n_items must be one number or have the shape of r, {r.shape}, got {n_items.shape}"
            )
        beyond = r > n_items
        if beyond.any():
            rank, size = (np.broadcast_to(x, beyond.shape)[beyond][0] for x in (r, n_items))
            raise ValueError(f"r must not exceed n_items = {size}, got {rank}")
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self._term(r, np.int64(1), np.int64(1), n_items) + np.zeros(r.shape)
        values = warned_of_nan(self, values)
        return values if values.ndim else float(values)

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            object.__setattr__(self, "cutoff", positive_int("cutoff", self.cutoff))

    def __matmul__(self, cutoff: int) -> Metric:
        """``M @ k``: the metric that looks at the first `k` ranks only."""
        if not self.takes_cutoff:
            raise ValueError(f"{self} takes no cut-off, got @ {cutoff!r}")
        cutoff = positive_int("cutoff", cutoff)
        # This class is no dataclass, but every metric that takes a cut-off is.
        return dataclasses.replace(self, cutoff=cutoff)  # type: ignore[type-var]

    def _check_cutoff(self):
        if self.needs_cutoff and self.cutoff is None:
            raise ValueError(f"{self.name} needs a cut-off: write {self.name} @ 10")

    def _label(self):
        """The name without the cut-off."""
        return self.name

    def __str__(self) -> str:
        return self._label() if self.cutoff is None else f"{self._label()}@{self.cutoff}"

    __repr__ = __str__

    def _within(self, rank):
        return True if self.cutoff is None else rank <= self.cutoff

    def _best_places(self, n_relevant):
        """How many relevant items a perfect ranking shows: min(|R|, k) of eqs. (5) and (6)."""
        return n_relevant if self.cutoff is None else np.minimum(n_relevant, self.cutoff)


class LinearMetric(Metric):
    """A metric that is a linear function of the rank, for one relevant item.

    Its expectation under sampling is the metric itself, eq. (17).

    Examples
    --------
    >>> import recsample as rs
    >>> isinstance(rs.AUC, rs.metrics.LinearMetric)
    True
    """

    takes_cutoff = False


class StepMetric(Metric):
    """A metric that is constant up to its cut-off and 0 beyond it, for one relevant item.

    Its expectation under sampling is a value of the distribution function, eq. (18).

    Examples
    --------
    >>> import recsample as rs
    >>> isinstance(rs.Recall @ 10, rs.metrics.StepMetric)
    True
    """

    needs_cutoff = True

    def _last_place(self, n_relevant):
        """The last place where a relevant item counts."""
        return self.cutoff


class ReciprocalMetric(Metric):
    """A metric that is 1 / r for one relevant item, as long as it has no cut-off.

    Its expectation under sampling is eq. (19), and a counterpart without replacement.

    Examples
    --------
    >>> import recsample as rs
    >>> isinstance(rs.AP, rs.metrics.ReciprocalMetric)
    True
    """


class GeometricMetric(Metric):
    """A metric that falls by the same `ratio` from place to place, as long as it has no cut-off.

    Its expectation under sampling is a value of the generating function of the sampled rank.

    Attributes
    ----------
    ratio : float
        Between 0 and 1.

    Examples
    --------
    >>> import recsample as rs
    >>> isinstance(rs.RBP(0.8), rs.metrics.GeometricMetric)
    True
    """

    @property
    @abstractmethod
    def ratio(self) -> float:
        """What one place costs: the value on a rank over that on the rank before.

        Returns
        -------
        float

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RBP(0.8).ratio
        0.8
        """


@dataclass(frozen=True, repr=False)
class AreaUnderCurve(LinearMetric):
    """Area under the ROC curve: the chance that a relevant item outranks an irrelevant one.

    Eq. (2), and eq. (7), (n - r) / (n - 1), for one relevant item. Perfect 1, random 1/2, worst 0.
    Undefined without irrelevant items. Takes no cut-off.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.AUC(rs.Ranks([1, 50, 99], n_items=99))
    array([1. , 0.5, 0. ])
    """

    name = "AUC"

    def _term(self, rank, order, n_relevant, n_items):
        # rank - order irrelevant items stand ahead of this relevant one.
        return (1 - (rank - order) / (n_items - n_relevant)) / n_relevant


@dataclass(frozen=True, repr=False)
class PrecisionAt(StepMetric):
    """Precision at k: the share of the first k places that hold a relevant item.

    Eq. (3), and eq. (8), 1[r <= k] / k, for one relevant item. Perfect min(L, k) / k, random L / n,
    worst 0 while there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional
        The k; ``Precision @ 5`` sets it to 5.

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.Precision @ 5)(rs.Ranks([[1, 4, 9]], n_items=20))
    array([0.4])
    """

    cutoff: int | None = None
    name = "Precision"

    def _term(self, rank, order, n_relevant, n_items):
        return self._within(rank) / self.cutoff


@dataclass(frozen=True, repr=False)
class RecallAt(StepMetric):
    """Recall at k: the share of the relevant items that stand in the first k places.

    Eq. (4), and eq. (9), 1[r <= k], for one relevant item. Perfect min(L, k) / L, random k / n,
    worst 0 while there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional
        The k; ``Recall @ 5`` sets it to 5.

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.Recall @ 5)(rs.Ranks([[1, 4, 9, 20]], n_items=20))
    array([0.5])
    """

    cutoff: int | None = None
    name = "Recall"

    def _term(self, rank, order, n_relevant, n_items):
        return self._within(rank) / n_relevant


@dataclass(frozen=True, repr=False)
class FScore(StepMetric):
    """F-score at k: the harmonic mean of precision and recall, recall weighted by beta^2.

    (1 + b^2) P R / (b^2 P + R) with b = beta, which is (1 + b^2) h / (b^2 L + k) with h relevant
    items in the first k places, and 0 without any [1]_. Perfect (1 + b^2) min(L, k) / (b^2 L + k),
    random (1 + b^2) k L / (n (b^2 L + k)), worst 0 while there are k irrelevant items.

    Parameters
    ----------
    beta : float, optional
        How many times as much recall counts as precision, above 0.
    cutoff : int, optional
        The k; ``F1 @ 5`` sets it to 5.

    Examples
    --------
    Precision 2/5 and recall 2/3:

    >>> import recsample as rs
    >>> (rs.F1 @ 5)(rs.Ranks([[1, 4, 9]], n_items=20))
    array([0.5])
    >>> rs.metrics.FScore(2) @ 5
    F2@5

    References
    ----------
    .. [1] C. J. van Rijsbergen, "Information Retrieval", 2nd edition, Butterworths, 1979.
    """

    beta: float = 1.0
    cutoff: int | None = None
    name = "F"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", positive_float("beta", self.beta))

    def _term(self, rank, order, n_relevant, n_items):
        # Numerator and denominator over 1 + beta^2, which is too large for a float if beta is.
        weight = 1 / (1 + self.beta * self.beta)
        return self._within(rank) / (weight * self.cutoff + (1 - weight) * n_relevant)

    def _label(self):
        return f"F{_short(self.beta)}"


@dataclass(frozen=True, repr=False)
class PrecisionAtRelevant(StepMetric):
    """R-precision: precision at L, the number of relevant items, where it equals recall [1]_.

    Perfect 1, random L / n, worst 0 while there are L irrelevant items. For one relevant item it is
    accuracy. Takes no cut-off.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RPrecision(rs.Ranks([[1, 4, 9], [1, 2, 3]], n_items=20))
    array([0.33333333, 1.        ])

    References
    ----------
    .. [1] C. D. Manning, P. Raghavan, H. Schuetze, "Introduction to Information Retrieval",
       Cambridge University Press, 2008, section 8.4.
    """

    name = "RPrecision"
    takes_cutoff = False
    needs_cutoff = False

    def _last_place(self, n_relevant):
        return n_relevant

    def _term(self, rank, order, n_relevant, n_items):
        return (rank <= n_relevant) / n_relevant


@dataclass(frozen=True, repr=False)
class AveragePrecision(ReciprocalMetric):
    """Average precision: the precision at every relevant item that is found, summed and divided.

    Eq. (5), and eqs. (10) and (12), 1[r <= k] / r, for one relevant item. The paper divides by
    min(L, k), the best number of hits there can be; others divide otherwise. Without a cut-off the
    first three are the same.

    Perfect 1, random about ln(n) / n for one relevant item (exactly H_n / n), worst 1 / n for one
    relevant item, or 0 with a cut-off. Divided by L, a perfect ranking gets min(L, k) / L only;
    divided by k, min(L, k) / k; divided by the hits, even one hit in the first place gets 1.

    Parameters
    ----------
    over : {"best", "relevant", "hits", "k"}, optional
        Divide by min(L, k), by L, by the number of relevant items in the first k places [1]_, or by
        k. By default as in the paper.
    cutoff : int, optional
        Ranks beyond it do not count; ``AP @ 10`` sets it to 10.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.AP(rs.Ranks([[1, 4]], n_items=10))     # (1/1 + 2/4) / 2
    array([0.75])

    Hits in places 1 and 4, and six relevant items that are not found:

    >>> ranks = rs.Ranks([[1, 4, 10, 11, 12, 13, 14, 15]], n_items=20)
    >>> names = ["AP@5", "AP(relevant)@5", "AP(hits)@5", "AP(k)@5"]
    >>> [round(float(rs.metric(name)(ranks)[0]), 4) for name in names]
    [0.3, 0.1875, 0.75, 0.3]

    References
    ----------
    .. [1] J. Lamar, "Metrics for Evaluating Recommender Systems", 2024.
    """

    over: str = "best"
    cutoff: int | None = None
    name = "AP"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in ("best", "relevant", "hits", "k"):
            raise ValueError(
                f"over must be 'best', 'relevant', 'hits' or 'k', got {shown(self.over)}"
            )
        if self.over == "k":
            object.__setattr__(self, "needs_cutoff", True)

    def _term(self, rank, order, n_relevant, n_items):
        # "hits" gets here with one relevant item or no cut-off: then every hit counts.
        divisor = {
            "best": self._best_places(n_relevant),
            "relevant": n_relevant,
            "hits": n_relevant,
            "k": self.cutoff,
        }
        return self._within(rank) * order / (rank * divisor[self.over])

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether it is a sum over the relevant items: not where the number of hits divides it.

        Returns
        -------
        bool

        Examples
        --------
        >>> import recsample as rs
        >>> (rs.AP @ 5).additive, rs.metric("AP(hits)@5").additive
        (True, False)
        """
        return self.over != "hits" or self.cutoff is None

    def _mean_over_ties(self, ranks):
        if self.additive:
            return super()._mean_over_ties(ranks)
        return _mean_over_hits(ranks, self.cutoff)

    def _label(self):
        return self.name if self.over == "best" else f"{self.name}({self.over})"


@dataclass(frozen=True, repr=False)
class AverageRecallAt(StepMetric):
    """Average recall at k, known as MAR: the mean recall over the places of the hits.

    With h hits in the first k places it is (1 + 2 + ... + h) / (h L) = (h + 1) / (2 L), and 0
    without a hit [1]_: the mean of Recall@k and HitRate@k / L, so it says nothing that these do not
    say. Even perfect rankings get (k + 1) / (2 L) only, where L >= k, or (L + 1) / (2 L). Random
    (L k / n + P(h > 0)) / (2 L), worst 0 while there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional
        The k; ``AR @ 5`` sets it to 5.

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.AR @ 5)(rs.Ranks([[1, 4, 9], [1, 2, 3]], n_items=20))
    array([0.5       , 0.66666667])

    References
    ----------
    .. [1] J. Lamar, "Metrics for Evaluating Recommender Systems", 2024.
    """

    cutoff: int | None = None
    name = "AR"

    def _term(self, rank, order, n_relevant, n_items):
        return self._within(rank) * (1.0 + (order == 1)) / (2 * n_relevant)


@dataclass(frozen=True, repr=False)
class DiscountedGain(Metric):
    """Discounted cumulative gain (DCG): the sum of 1 / log2(r + 1) over the relevant items.

    The numerator of eq. (6); for grades of relevance see `recsample.graded`. Perfect, the same sum
    over the ranks 1, ..., min(L, k), which exceeds 1 for several relevant items; random, for one of
    them, the mean over the ranks; worst, for one, 1 / log2(n + 1), or 0 with a cut-off.

    Parameters
    ----------
    cutoff : int, optional
        Ranks beyond it do not count; ``DCG @ 10`` sets it to 10.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.DCG(rs.Ranks([[1, 3], [3, 7]], n_items=10))
    array([1.5       , 0.83333333])
    """

    cutoff: int | None = None
    name = "DCG"

    def _term(self, rank, order, n_relevant, n_items):
        return self._within(rank) * _discount(rank)


@dataclass(frozen=True, repr=False)
class NormalizedDCG(Metric):
    """Normalised discounted cumulative gain: inverse logarithms of the ranks, over the best case.

    Eq. (6), and eqs. (11) and (13), 1[r <= k] / log2(r + 1), for one relevant item. Perfect 1,
    random the mean of that over the ranks 1, ..., n, worst 1 / log2(n + 1) for one relevant item,
    or 0 with a cut-off.

    Parameters
    ----------
    cutoff : int, optional
        Ranks beyond it do not count; ``NDCG @ 10`` sets it to 10.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.NDCG(rs.Ranks([1, 3, 7], n_items=10))
    array([1.        , 0.5       , 0.33333333])
    """

    cutoff: int | None = None
    name = "NDCG"

    def _term(self, rank, order, n_relevant, n_items):
        ideal = _cumulative(_discount, self._best_places(n_relevant))
        return self._within(rank) * _discount(rank) / ideal


@dataclass(frozen=True, repr=False)
class ReciprocalRank(ReciprocalMetric):
    """Reciprocal rank of the best ranked relevant item. The mean over instances is known as MRR.

    For one relevant item it is average precision (section 3.1 of the paper). Perfect 1, random
    H_n / n for one relevant item, worst 1 / (n - L + 1), or 0 with a cut-off.

    Parameters
    ----------
    cutoff : int, optional
        Ranks beyond it do not count; ``RR @ 10`` sets it to 10.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RR(rs.Ranks([[2, 3], [2, 9]], n_items=10))
    array([0.5, 0.5])
    """

    cutoff: int | None = None
    name = "RR"

    def _term(self, rank, order, n_relevant, n_items):
        return self._within(rank) * (order == 1) / rank


@dataclass(frozen=True, repr=False)
class HitRatioAt(StepMetric):
    """Hit ratio at k: 1 where at least one relevant item stands in the first k places, else 0.

    For one relevant item it is recall (section 3.1 of the paper). Perfect 1, random k / n for one
    relevant item, worst 0 while there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional
        The k; ``HitRate @ 5`` sets it to 5.

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.HitRate @ 3)(rs.Ranks([[2, 3], [4, 9]], n_items=10))
    array([1., 0.])
    """

    cutoff: int | None = None
    name = "HitRate"

    def _term(self, rank, order, n_relevant, n_items):
        return 1.0 * (self._within(rank) & (order == 1))


@dataclass(frozen=True, repr=False)
class TopOneAccuracy(StepMetric):
    """Accuracy: 1 where the first place holds a relevant item, else 0.

    The same as recall at 1 for one relevant item, and always as precision at 1 (section 3.1 of the
    paper). Perfect 1, random L / n, worst 0.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.Accuracy(rs.Ranks([1, 2], n_items=10))
    array([1., 0.])
    """

    name = "Accuracy"
    takes_cutoff = False
    needs_cutoff = False

    def _last_place(self, n_relevant):
        return 1

    def _term(self, rank, order, n_relevant, n_items):
        return 1.0 * (rank == 1)


@dataclass(frozen=True, repr=False)
class RankScore(GeometricMetric):
    """Rank score: each hit counts half as much every `half_life` places, over the best possible.

    sum over the relevant items of 2^(-(r - 1) / half_life), divided by its value for the ranks
    1, ..., L [1]_. Perfect 1; for one relevant item random the mean of 2^(-(r - 1) / half_life)
    over the ranks 1, ..., n, and worst 2^(-(n - 1) / half_life).

    Parameters
    ----------
    half_life : float
        Ranks after which the weight of a hit has halved, above 0.
    cutoff : int, optional
        Ranks beyond it do not count; ``RankScore(5) @ 10`` sets it to 10.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RankScore(5)(rs.Ranks([1, 6, 11], n_items=20))
    array([1.  , 0.5 , 0.25])

    References
    ----------
    .. [1] J. Breese, D. Heckerman, C. Kadie, "Empirical Analysis of Predictive Algorithms for
       Collaborative Filtering", UAI 1998.
    """

    half_life: float
    cutoff: int | None = None
    name = "RankScore"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "half_life", positive_float("half_life", self.half_life))

    @property
    def ratio(self) -> float:
        """What one place costs, 2^(-1 / half_life).

        Returns
        -------
        float

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RankScore(1).ratio
        0.5
        """
        return 2 ** (-1 / self.half_life)

    def _weight(self, place):
        return np.exp2(-(place - 1.0) / self.half_life)

    def _term(self, rank, order, n_relevant, n_items):
        ideal = _cumulative(self._weight, self._best_places(n_relevant))
        return self._within(rank) * self._weight(rank) / ideal

    def _label(self):
        return f"{self.name}({_short(self.half_life)})"


@dataclass(frozen=True, repr=False)
class RBP(GeometricMetric):
    """Rank-biased precision: what a reader finds who goes on to the next place with `persistence`.

    (1 - p) times the sum of p^(r - 1) over the relevant items [1]_. Perfect 1 - p^L, random
    (1 - p^n) L / n, worst p^(n - L) (1 - p^L).

    Parameters
    ----------
    persistence : float
        The probability p, between 0 and 1, both excluded.
    cutoff : int, optional
        Ranks beyond it do not count; ``RBP(0.8) @ 10`` sets it to 10.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RBP(0.5)(rs.Ranks([[1], [2], [1, 2]], n_items=20))
    array([0.5 , 0.25, 0.75])

    References
    ----------
    .. [1] A. Moffat, J. Zobel, "Rank-Biased Precision for Measurement of Retrieval Effectiveness",
       ACM Transactions on Information Systems 27(1), 2008.
    """

    persistence: float
    cutoff: int | None = None
    name = "RBP"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "persistence", share("persistence", self.persistence))

    @property
    def ratio(self) -> float:
        """What one place costs: the persistence.

        Returns
        -------
        float

        Examples
        --------
        >>> import recsample as rs
        >>> rs.RBP(0.5).ratio
        0.5
        """
        return self.persistence

    def _term(self, rank, order, n_relevant, n_items):
        return self._within(rank) * (1 - self.persistence) * self.persistence ** (rank - 1.0)

    def _label(self):
        return f"{self.name}({_short(self.persistence)})"


@dataclass(frozen=True, repr=False)
class PercentileRankMetric(LinearMetric):
    """Percentile rank: the share of irrelevant items that outrank a relevant one. Lower is better.

    (r - 1) / (n - 1) for one relevant item [1]_, so 1 - AUC; the mean over several. Perfect 0,
    random 1/2, worst 1. Undefined without irrelevant items. Takes no cut-off.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.PercentileRank(rs.Ranks([1, 50, 99], n_items=99))
    array([0. , 0.5, 1. ])

    References
    ----------
    .. [1] Y. Hu, Y. Koren, C. Volinsky, "Collaborative Filtering for Implicit Feedback Datasets",
       ICDM 2008.
    """

    name = "PercentileRank"
    higher_is_better = False

    def _term(self, rank, order, n_relevant, n_items):
        return (rank - order) / (n_items - n_relevant) / n_relevant


#: The ready-made `AreaUnderCurve`.
AUC = AreaUnderCurve()
#: The ready-made `PrecisionAt`.
Precision = PrecisionAt()
#: The ready-made `RecallAt`.
Recall = RecallAt()
#: The ready-made `FScore`, with precision and recall of equal weight.
F1 = FScore()
#: The ready-made `PrecisionAtRelevant`.
RPrecision = PrecisionAtRelevant()
#: The ready-made `AveragePrecision`, as in the paper.
AP = AveragePrecision()
#: The ready-made `AverageRecallAt`.
AR = AverageRecallAt()
#: The ready-made `DiscountedGain`.
DCG = DiscountedGain()
#: The ready-made `NormalizedDCG`.
NDCG = NormalizedDCG()
#: The ready-made `ReciprocalRank`.
RR = ReciprocalRank()
#: The ready-made `HitRatioAt`.
HitRate = HitRatioAt()
#: The ready-made `TopOneAccuracy`.
Accuracy = TopOneAccuracy()
#: The ready-made `PercentileRankMetric`.
PercentileRank = PercentileRankMetric()

_BY_NAME = {
    str(m).lower(): m
    for m in (
        *(AUC, Precision, Recall, F1, RPrecision, AP, AR, DCG, NDCG, RR, HitRate, Accuracy),
        PercentileRank,
    )
}
_WITH_ARGUMENT = {"ap": AveragePrecision, "f": FScore, "rankscore": RankScore, "rbp": RBP}
# What other libraries call them.
_ALIASES = {
    "acc": "accuracy",
    "hit": "hitrate",
    "hitratio": "hitrate",
    "hits": "hitrate",
    "hr": "hitrate",
    "success": "hitrate",
    "map": "ap",
    "mar": "ar",
    "mpr": "percentilerank",
    "mrr": "rr",
    "p": "precision",
    "r": "recall",
    "rprec": "rprecision",
}


def metric(name: str) -> Metric:
    """The metric of a given name, as ``str`` of a metric prints it.

    Case does not matter, nor do spaces, hyphens and underscores. Names in use elsewhere are
    understood too: MRR is RR, MAP is AP, MAR is AR, P is Precision, R is Recall, and Hits, Hit, HR,
    HitRatio and Success are HitRate.

    Parameters
    ----------
    name : str
        Such as "AUC", "ndcg@10", "F0.5@10", "AP(relevant)@5" or "RankScore(5)".

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        For a name that is not known, where the message lists the nearest ones, and for a cut-off
        that is not a whole number of at least 1.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.metric("ndcg@10")
    NDCG@10
    >>> rs.metric("RankScore(5)") == rs.RankScore(5)
    True
    >>> rs.metric("hit_rate@3"), rs.metric("Hits@3")
    (HitRate@3, HitRate@3)
    """
    found = re.fullmatch(r"\s*([^()@]+?)\s*(?:\(([^()]*)\))?\s*(?:@\s*([\w.+-]+))?\s*", str(name))
    parts: tuple[Any, ...] = found.groups() if found else (str(name), None, None)
    base, argument, cutoff = parts
    spelt = re.sub(r"[\s_-]", "", base.lower())
    spelt = _ALIASES.get(spelt, spelt)
    beta = re.fullmatch(r"f(\d.*|\.\d+)", base.lower())
    if spelt in _WITH_ARGUMENT and argument:
        known: Metric = _WITH_ARGUMENT[spelt](argument.strip().lower())
    elif beta and argument is None:
        known = FScore(beta[1])  # type: ignore[arg-type]  # a number is read off the text
    elif spelt in _BY_NAME and argument is None:
        known = _BY_NAME[spelt]
    else:
        raise ValueError(
            f"name must be that of a metric, got {name!r}; nearest: {', '.join(_nearest(spelt))}"
        )
    if cutoff is None:
        return known
    return known @ (int(cutoff) if cutoff.isdecimal() else cutoff)


def _nearest(name):
    """The names of metrics that look most like `name`, or all of them."""
    names = [str(m) for m in _BY_NAME.values()] + ["RankScore(5)", "RBP(0.8)"]
    spelt = {n.lower(): n for n in names}
    return [spelt[n] for n in get_close_matches(name, spelt, n=3, cutoff=0.3)] or names


def expected_percentile_rank(ranks: Ranks, consumption: ArrayLike | None = None) -> float:
    """The mean percentile rank of the consumed items, weighted by how much of each was consumed.

    Eq. (8) of Hu, Koren and Volinsky [1]_: the percentile rank of an item, (r - 1) / (n - 1), is 0
    at the head of the list and 1 at its end. Perfect about 0, random 1/2, worst about 1. For one
    relevant item per instance and equal weights it is the mean of `PercentileRank`, which counts
    only the irrelevant items ahead and so does not charge a relevant item for another.

    Parameters
    ----------
    ranks : Ranks
        The consumed items of each user. Tied items count at the middle of their ties.
    consumption : array_like of float, optional
        One number per relevant item, in the shape of ``ranks.values``, not negative: what the user
        consumed in the test period. By default equal.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If there is no relevant item, the lengths do not match, a number is negative or not finite,
        all are 0, or a pool holds one item only.

    Examples
    --------
    One user watched the item in place 1 for three hours, another the last of 101 for one:

    >>> import recsample as rs
    >>> rs.metrics.expected_percentile_rank(rs.Ranks([1, 101], n_items=101), [3, 1])
    0.25

    References
    ----------
    .. [1] Y. Hu, Y. Koren, C. Volinsky, "Collaborative Filtering for Implicit Feedback Datasets",
       ICDM 2008.
    """
    check_ranks(ranks)
    instance, _, rank, ties, group, place = ranks._terms
    if not len(rank):
        raise ValueError("ranks must hold at least one relevant item, got none")
    size = ranks._sizes[instance]
    if (size == 1).any():
        raise ValueError("n_items must be at least 2 for a percentile rank, got 1")
    # Tied items, relevant or not, have the middle of their places on average.
    middle = rank - place + 1 + (group + ties - 1) / 2
    weight = np.ones(len(rank)) if consumption is None else _weights(consumption, ranks)
    return float(weight @ ((middle - 1) / (size - 1)) / weight.sum())


def _weights(consumption, ranks):
    """One weight per relevant item, in the order of the terms of `ranks`."""
    weight, lengths, nested = flattened("consumption", consumption)
    if nested != ranks._nested or not np.array_equal(lengths, ranks._n_relevant):
        raise ValueError(
            "consumption must hold one number per relevant item, in the shape of ranks.values, "
            f"got {shown(consumption)}"
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        where = int(np.argmax(bad))
        raise ValueError(
            f"consumption must be finite numbers of at least 0, got {weight[where]} "
            f"(at position {where})"
        )
    if not weight.any():
        raise ValueError("consumption must not be 0 throughout")
    instance = np.repeat(np.arange(len(lengths)), lengths)
    return weight[np.lexsort((ranks._rank, instance))]


def at_mean_rank(metric: Metric, ranks: Ranks) -> Floats:
    """The metric at the mean rank that tied items have in a random order.

    Some libraries report this under ties. Unless the metric is linear in the rank, as AUC is, it is
    not the mean of the metric, which ``metric(ranks)`` gives: a constant scorer over 101 items has
    a mean rank of 51, whose reciprocal is .0196, and a mean reciprocal rank of .0515.

    Parameters
    ----------
    metric : Metric
    ranks : Ranks
        The j-th of g relevant items that are tied with t irrelevant ones has t j / (g + 1) of them
        ahead on average.

    Returns
    -------
    ndarray of float, shape (instances,)
        NaN where the metric is undefined, with a warning.

    Raises
    ------
    ValueError
        For anything but a metric and `Ranks`, and for a metric that is no sum over the relevant
        items.

    Examples
    --------
    >>> import recsample as rs
    >>> constant = rs.Ranks([1], n_items=101, ties=100)
    >>> rs.metrics.at_mean_rank(rs.RR, constant).round(4), rs.RR(constant).round(4)
    (array([0.0196]), array([0.0515]))
    """
    check_metric(metric)
    metric._check_cutoff()
    check_ranks(ranks)
    if not metric.additive:
        raise ValueError(f"metric must be a sum over the relevant items, got {metric}")
    instance, order, rank, ties, group, place = ranks._terms
    mean_rank = rank + ties * place / (group + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = metric._term(mean_rank, order, ranks.n_relevant[instance], ranks._sizes[instance])
    values = np.bincount(instance, gain, minlength=len(ranks)).astype(np.float64)
    values[ranks._n_relevant == 0] = np.nan
    return warned_of_nan(metric, values)


def compare(
    ranks: Mapping[str, Ranks], metrics: Sequence[Metric | str], *, errors: bool = False
) -> pd.DataFrame:
    """Recommenders by metrics: the mean of each metric over the instances of each recommender.

    A single instance for which a metric is undefined, such as one without a relevant item, makes
    the mean NaN, and a warning says so.

    Parameters
    ----------
    ranks : mapping of str to Ranks
        The predicted ranks of each recommender, over the same instances in the same order.
    metrics : sequence of Metric or str
    errors : bool, optional
        Add the standard error of each mean, over other instances like these: the standard deviation
        of the metric over the instances, divided by the square root of their number. Two such
        errors say little about a difference on the same instances: that, and the probability of
        each pair's order, are in `inference.compare_pairs`.

    Returns
    -------
    pandas.DataFrame
        One row per recommender, one column per metric. With `errors` two, (metric, "mean") and
        (metric, "standard error").

    Raises
    ------
    ValueError
        If there is nothing to compare, or the recommenders have different numbers of instances. For
        standard errors of fewer than two instances.

    Examples
    --------
    >>> import recsample as rs
    >>> a = rs.Ranks([100] * 5, n_items=10_000)
    >>> b = rs.Ranks([40, 40, 8437, 9266, 4482], n_items=10_000)
    >>> rs.compare({"A": a, "B": b}, [rs.AUC, "recall@50"]).round(3)
         AUC  Recall@50
    A  0.990        0.0
    B  0.555        0.4
    >>> rs.compare({"B": b}, [rs.AUC], errors=True).loc["B", "AUC"].round(3).to_dict()
    {'mean': 0.555, 'standard error': 0.197}
    """
    import pandas as pd

    check_recommenders(ranks)
    chosen = metrics_of(metrics)
    lengths = {name: len(r) for name, r in ranks.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"ranks must have the same number of instances, got {lengths}")
    names = [str(m) for m in chosen]
    values = [[m(r) for m in chosen] for r in ranks.values()]
    if not true_or_false("errors", errors):
        return pd.DataFrame([[v.mean() for v in row] for row in values], list(ranks), names)
    rows = [[x for v in row for x in (v.mean(), standard_error(v))] for row in values]
    columns = pd.MultiIndex.from_product([names, ["mean", "standard error"]])
    return pd.DataFrame(rows, list(ranks), columns)


def standard_error(values: Floats) -> float:
    """The standard error of the mean of the values of at least two instances."""
    if len(values) < 2:
        raise ValueError(
            f"ranks must hold at least two instances for a standard error, got {len(values)}"
        )
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def check_recommenders(ranks: object) -> None:
    """Refuse what does not map at least one name to `Ranks`."""
    if not isinstance(ranks, Mapping) or not all(isinstance(r, Ranks) for r in ranks.values()):
        raise ValueError(f"ranks must map the names of recommenders to Ranks, got {shown(ranks)}")
    if not ranks:
        raise ValueError("ranks must hold at least one recommender, got none")


def metrics_of(metrics: Sequence[Metric | str]) -> list[Metric]:
    """The different metrics, with their names read; refuses what is not a list of at least one."""
    if isinstance(metrics, (str, Metric)) or not hasattr(metrics, "__iter__"):
        raise ValueError(f"metrics must be a list of metrics, got {metrics!r}")
    found = [one if isinstance(one, Metric) else metric(one) for one in metrics]
    if not found:
        raise ValueError("metrics must hold at least one metric, got none")
    return list(dict.fromkeys(found))


def mean_pool_size(ranks: Mapping[str, Ranks]) -> int:
    """The mean pool size of recommenders, rounded: the one n that a correction for all assumes."""
    return round(float(np.mean([np.mean(r.n_items) for r in ranks.values()])))


def check_metric(metric: object) -> None:
    """Refuse what is not a metric."""
    if not isinstance(metric, Metric):
        raise ValueError(f"metric must be a Metric such as AP or Recall @ 10, got {metric!r}")


def _mean_over_hits(ranks, cutoff):
    """AP(hits)@k: the precision at the hits in the first k places over their number h.

    h varies where a group of tied items reaches across the cut-off. Its q places up to k hold j of
    its g relevant items with a hypergeometric probability, and given j any j of the q places do.
    """
    from scipy.stats import hypergeom

    instance, order, rank, ties, group, place = ranks._terms
    first = rank - place + 1
    last = first + group + ties - 1
    surely = np.bincount(instance[last <= cutoff], minlength=len(ranks))
    summed = cutoff * AveragePrecision("k", cutoff)._mean_over_ties(ranks)
    values = np.divide(summed, surely, out=np.zeros(len(ranks)), where=surely > 0)
    for i in np.flatnonzero((first <= cutoff) & (last > cutoff) & (place == 1)):
        t, g, q, before = ties[i], group[i], cutoff + 1 - first[i], order[i] - 1
        hits = np.arange(max(0, q - t), min(g, q) + 1)
        chance = hypergeom.pmf(hits, g + t, g, q)
        found = np.zeros(len(hits))  # the sum of precisions of j hits in the group
        for row, j in enumerate(hits):
            for which in range(1, j + 1):
                ahead = np.arange(q - j + 1)
                precision = (before + which) / (first[i] + which - 1 + ahead)
                found[row] += ties_ahead(q - j, j, which) @ precision
        known = summed[instance[i]] - chance @ found
        some = before + hits > 0
        values[instance[i]] = chance[some] @ ((known + found) / np.maximum(before + hits, 1))[some]
    return values


def _discount(place):
    return 1 / np.log2(place + 1.0)


def _cumulative(weight, places):
    """weight(1) + ... + weight(places), for an array of numbers of places."""
    sums = np.append(0.0, np.cumsum(weight(np.arange(1.0, np.max(places, initial=0) + 1))))
    return sums[places]


def warned_of_nan(metric: Metric, values: Floats) -> Floats:
    """The values; a warning says for how many instances they are undefined."""
    undefined = int(np.isnan(values).sum())
    if undefined:
        warnings.warn(
            f"{metric} is undefined for {undefined} of {values.size} instances (no relevant item"
            + (", or no irrelevant one): nan" if not metric.takes_cutoff else "): nan"),
            stacklevel=3,
        )
    return values
