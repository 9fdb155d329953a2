"""What a ranking is worth: one number per instance, computed from the ranks of its relevant items.

Every metric here is a sum over the relevant items of an instance, best ranked first,

    M(R) = sum over i of f_i(r_i),        r_1 < r_2 < ... < r_L,

where ``f_i`` knows only the rank ``r_i``, the order ``i``, the number of relevant items ``L`` and
the size of the pool ``n``. A metric is that function ``f_i``; everything else follows from it.

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

from recsample._typing import Floats
from recsample._validation import (
    fits_in_memory,
    positive_float,
    positive_int,
    shown,
    whole_numbers,
)
from recsample.ranks import Ranks

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AP",
    "AUC",
    "NDCG",
    "RR",
    "Accuracy",
    "AreaUnderCurve",
    "AveragePrecision",
    "HitRate",
    "HitRatioAt",
    "Metric",
    "NormalizedDCG",
    "PercentileRank",
    "PercentileRankMetric",
    "Precision",
    "PrecisionAt",
    "RankScore",
    "Recall",
    "RecallAt",
    "ReciprocalRank",
    "StepMetric",
    "TopOneAccuracy",
    "compare",
    "metric",
]

# Ties are averaged over in blocks of about this many positions (32 MiB of float64).
_BLOCK = 2**22


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
        if not isinstance(ranks, Ranks):
            raise ValueError(f"ranks must be Ranks, got {type(ranks).__name__}")
        terms, pool, n_relevant = ranks._terms, ranks._pool, ranks._n_relevant
        places = terms.ties + 1
        if self.cutoff is not None:  # beyond it nothing counts; one place keeps the item itself
            places = np.clip(self.cutoff + 1 - terms.rank, 1, places)
        most = np.max(places, initial=1)
        fits_in_memory(100 * most, f"the average over {most} places of a tied item")
        values = np.zeros(len(ranks))
        for part in _blocks(places):
            instance, order, rank, weight = _orders_of_ties(terms, places, part)
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = self._term(rank, order, n_relevant[instance], pool[instance])
            values += np.bincount(instance, weight * gain, minlength=len(ranks))
        values[n_relevant == 0] = np.nan
        return _warned(self, values)

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
        values = _warned(self, values)
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

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    __repr__ = __str__

    def _within(self, rank):
        return True if self.cutoff is None else rank <= self.cutoff

    def _best_places(self, n_relevant):
        """How many relevant items a perfect ranking shows: min(|R|, k) of eqs. (5) and (6)."""
        return n_relevant if self.cutoff is None else np.minimum(n_relevant, self.cutoff)


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


@dataclass(frozen=True, repr=False)
class AreaUnderCurve(Metric):
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
    takes_cutoff = False

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
class AveragePrecision(Metric):
    """Average precision: the precision at every relevant item, averaged.

    Eq. (5), and eqs. (10) and (12), 1[r <= k] / r, for one relevant item; the average is over
    min(L, k) items. Perfect 1, random about ln(n) / n for one relevant item (exactly H_n / n),
    worst 1 / n for one relevant item, or 0 with a cut-off.

    Parameters
    ----------
    cutoff : int, optional
        Ranks beyond it do not count; ``AP @ 10`` sets it to 10.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.AP(rs.Ranks([[1, 4]], n_items=10))     # (1/1 + 2/4) / 2
    array([0.75])
    """

    cutoff: int | None = None
    name = "AP"

    def _term(self, rank, order, n_relevant, n_items):
        return self._within(rank) * order / (rank * self._best_places(n_relevant))


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
        ideal = _cumulative(lambda place: 1 / np.log2(place + 1), self._best_places(n_relevant))
        return self._within(rank) / np.log2(rank + 1.0) / ideal


@dataclass(frozen=True, repr=False)
class ReciprocalRank(Metric):
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

    def _term(self, rank, order, n_relevant, n_items):
        return 1.0 * (rank == 1)


@dataclass(frozen=True, repr=False)
class RankScore(Metric):
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

    def _term(self, rank, order, n_relevant, n_items):
        def weight(place):
            return np.exp2(-(place - 1.0) / self.half_life)

        return (
            self._within(rank) * weight(rank) / _cumulative(weight, self._best_places(n_relevant))
        )

    def __str__(self) -> str:
        name = f"{self.name}({str(self.half_life).removesuffix('.0')})"
        return name if self.cutoff is None else f"{name}@{self.cutoff}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class PercentileRankMetric(Metric):
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
    takes_cutoff = False
    higher_is_better = False

    def _term(self, rank, order, n_relevant, n_items):
        return (rank - order) / (n_items - n_relevant) / n_relevant


#: The ready-made `AreaUnderCurve`.
AUC = AreaUnderCurve()
#: The ready-made `PrecisionAt`.
Precision = PrecisionAt()
#: The ready-made `RecallAt`.
Recall = RecallAt()
#: The ready-made `AveragePrecision`.
AP = AveragePrecision()
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
    m.name.lower(): m
    for m in (AUC, Precision, Recall, AP, NDCG, RR, HitRate, Accuracy, PercentileRank)
}


def metric(name: str) -> Metric:
    """The metric of a given name, as ``str`` of a metric prints it. Case does not matter.

    Parameters
    ----------
    name : str
        Such as "AUC", "ndcg@10" or "RankScore(5)".

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        For a name that is not known; the message lists the nearest ones.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.metric("ndcg@10")
    NDCG@10
    >>> rs.metric("RankScore(5)") == rs.RankScore(5)
    True
    """
    found = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\w+))?\s*", str(name))
    parts: tuple[Any, ...] = found.groups() if found else (str(name), None, None)
    base, argument, cutoff = parts
    if base.lower() == "rankscore" and argument:
        known: Metric = RankScore(argument)
    elif base.lower() in _BY_NAME and argument is None:
        known = _BY_NAME[base.lower()]
    else:
        names = [str(m) for m in _BY_NAME.values()] + ["RankScore(5)"]
        spelt = {n.lower(): n for n in names}
        near = [spelt[n] for n in get_close_matches(base.lower(), spelt, n=3, cutoff=0.3)]
        raise ValueError(
            f"name must be that of a metric, got {name!r}; nearest: {', '.join(near or names)}"
        )
    if cutoff is None:
        return known
    return known @ (int(cutoff) if cutoff.isdecimal() else cutoff)


def compare(ranks: Mapping[str, Ranks], metrics: Sequence[Metric | str]) -> pd.DataFrame:
    """Recommenders by metrics: the mean of each metric over the instances of each recommender.

    Parameters
    ----------
    ranks : mapping of str to Ranks
        The predicted ranks of each recommender, over the same instances in the same order.
    metrics : sequence of Metric or str

    Returns
    -------
    pandas.DataFrame
        One row per recommender, one column per metric.

    Raises
    ------
    ValueError
        If there is nothing to compare, or the recommenders have different numbers of instances.

    Examples
    --------
    >>> import recsample as rs
    >>> a = rs.Ranks([100] * 5, n_items=10_000)
    >>> b = rs.Ranks([40, 40, 8437, 9266, 4482], n_items=10_000)
    >>> rs.compare({"A": a, "B": b}, [rs.AUC, "recall@50"]).round(3)
         AUC  Recall@50
    A  0.990        0.0
    B  0.555        0.4
    """
    import pandas as pd

    check_recommenders(ranks)
    if isinstance(metrics, (str, Metric)) or not hasattr(metrics, "__iter__"):
        raise ValueError(f"metrics must be a list of metrics, got {metrics!r}")
    chosen = [m if isinstance(m, Metric) else metric(m) for m in metrics]
    if not chosen:
        raise ValueError("metrics must hold at least one metric, got none")
    lengths = {name: len(r) for name, r in ranks.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"ranks must have the same number of instances, got {lengths}")
    return pd.DataFrame(
        [[m(r).mean() for m in chosen] for r in ranks.values()],
        index=list(ranks),
        columns=[str(m) for m in chosen],
    )


def check_recommenders(ranks: object) -> None:
    """Refuse what does not map at least one name to `Ranks`."""
    if not isinstance(ranks, Mapping) or not all(isinstance(r, Ranks) for r in ranks.values()):
        raise ValueError(f"ranks must map the names of recommenders to Ranks, got {shown(ranks)}")
    if not ranks:
        raise ValueError("ranks must hold at least one recommender, got none")


def check_metric(metric: object) -> None:
    """Refuse what is not a metric."""
    if not isinstance(metric, Metric):
        raise ValueError(f"metric must be a Metric such as AP or Recall @ 10, got {metric!r}")


def _blocks(sizes):
    """Slices of consecutive rows whose sizes add up to about a block each."""
    ends = np.cumsum(sizes)
    starts = np.searchsorted(ends, np.arange(0, ends[-1] if len(ends) else 0, _BLOCK), side="left")
    bounds = np.unique(np.append(starts, len(sizes)))
    return [slice(a, b) for a, b in zip(bounds[:-1], bounds[1:])]


def _orders_of_ties(terms, places, part):
    """The best `places` ranks of each relevant item among its ties, with their probabilities.

    In a random order of g relevant and t irrelevant items the j-th relevant one has x irrelevant
    items ahead with probability C(x + j - 1, x) C(t - x + g - j, t - x) / C(t + g, t).
    """
    instance, order, rank, ties, group, place = (column[part] for column in terms)
    places = places[part]
    if not ties.any():
        return instance, order, rank, 1.0
    row = np.repeat(np.arange(len(ties)), places)
    ahead = np.arange(len(row)) - np.repeat(np.cumsum(places) - places, places)
    weight = 1.0 / (ties[row] + 1)
    shared = (group > 1) & (ties > 0)
    if shared.any():
        kinds = np.stack([ties[shared], group[shared], place[shared]], 1)
        kinds, which = np.unique(kinds, axis=0, return_inverse=True)
        laws = [_ties_ahead(*kind) for kind in kinds]
        kept = zip(which.reshape(-1), places[shared])
        weight[shared[row]] = np.concatenate([laws[i][:count] for i, count in kept])
    return instance[row], order[row], rank[row] + ahead, weight


def _ties_ahead(t, g, j):
    """The probabilities above for x = 0, ..., t.

    Each is a simple multiple of the one before, so the law is built from its mode outwards and then
    normalised. Through log-gamma, large ties would cost half the digits.
    """
    x = np.arange(1.0, t + 1)
    ratio = (x + j - 1) / x * ((t - x + 1) / (t - x + 1 + g - j))
    rising = ratio >= 1.0
    law = np.ones(t + 1)
    law[1:] *= np.cumprod(np.where(rising, 1.0, ratio))
    law[:-1] *= np.cumprod(np.where(rising, 1.0 / ratio, 1.0)[::-1])[::-1]
    return law / law.sum()


def _cumulative(weight, places):
    """weight(1) + ... + weight(places), for an array of numbers of places."""
    sums = np.append(0.0, np.cumsum(weight(np.arange(1.0, np.max(places, initial=0) + 1))))
    return sums[places]


def _warned(metric, values):
    undefined = int(np.isnan(values).sum())
    if undefined:
        warnings.warn(
            f"{metric} is undefined for {undefined} of {values.size} instances (no relevant item"
            + (", or no irrelevant one): nan" if not metric.takes_cutoff else "): nan"),
            stacklevel=3,
        )
    return values
