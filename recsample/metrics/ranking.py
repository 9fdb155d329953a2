"""Ranking metrics: AUC, precision, recall, AP, NDCG, RR and others.

Each is a frozen data class with a `term`, the contribution of one relevant item, and its shape; all
else is in `recsample.metrics.base`. Ready-made instances are at the end of the module. Ranks beyond
the `cutoff` do not count: ``DCG @ 10`` sets it to 10.

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import counted, flattened, owners, row_blocks
from recsample._support.checks import finite_numbers, fraction, one_of, positive_float, shown
from recsample._support.errors import InputError
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Geometric, Linear, Logarithmic, Reciprocal, Shape, Step
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.ranks.ties import law_by_ratios, sums_over


def _short(number):
    """A number as the name of a metric shows it: 5, 0.8."""
    return str(number).removesuffix(".0")


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
    aliases = ("AUROC", "ROCAUC")
    takes_cutoff = False
    form = Linear()

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        # rank - order irrelevant items stand ahead of this relevant one.
        return (1 - (rank - order) / (n_items - n_relevant)) / n_relevant


class _FirstPlaces(Metric):
    """A metric that depends only on which relevant items are in the first k places."""

    needs_cutoff = True
    form = Step(None)


@dataclass(frozen=True, repr=False)
class PrecisionAt(_FirstPlaces):
    """Precision at k: the share of the first k places that hold a relevant item.

    Eq. (3), and eq. (8), 1[r <= k] / k, for one relevant item. Perfect min(L, k) / k, random L / n,
    worst 0 while there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.Precision @ 5)(rs.Ranks([[1, 4, 9]], n_items=20))
    array([0.4])
    """

    cutoff: int | None = None
    name = "Precision"
    aliases = ("P", "Prec")

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return self.within(rank) / self.cutoff


@dataclass(frozen=True, repr=False)
class RecallAt(_FirstPlaces):
    """Recall at k: the share of the relevant items that stand in the first k places.

    Eq. (4), and eq. (9), 1[r <= k], for one relevant item. Perfect min(L, k) / L, random k / n,
    worst 0 while there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.Recall @ 5)(rs.Ranks([[1, 4, 9, 20]], n_items=20))
    array([0.5])
    """

    cutoff: int | None = None
    name = "Recall"
    aliases = ("R", "Rec")

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return self.within(rank) / n_relevant


@dataclass(frozen=True, repr=False)
class FScore(_FirstPlaces):
    """F-score at k: the harmonic mean of precision and recall, recall weighted by beta^2.

    (1 + b^2) P R / (b^2 P + R) with b = beta, which is (1 + b^2) h / (b^2 L + k) with h relevant
    items in the first k places, and 0 without any (C. J. van Rijsbergen, "Information Retrieval",
    2nd edition, 1979). Perfect (1 + b^2) min(L, k) / (b^2 L + k), random
    (1 + b^2) k L / (n (b^2 L + k)), worst 0 while there are k irrelevant items.

    Parameters
    ----------
    beta : float, optional
        How many times as much recall counts as precision, above 0.
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.F1 @ 5)(rs.Ranks([[1, 4, 9]], n_items=20))     # precision 2/5, recall 2/3
    array([0.5])
    """

    beta: float = 1.0
    cutoff: int | None = None
    name = "F"
    examples = (2,)

    def __post_init__(self) -> None:
        vars(self).update(beta=positive_float("beta", self.beta))
        super().__post_init__()

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        # Numerator and denominator over 1 + beta^2, which is too large for a float if beta is.
        weight = 1 / (1 + self.beta * self.beta)
        places: Any = self.cutoff
        return self.within(rank) / (weight * places + (1 - weight) * n_relevant)

    def label(self) -> str:
        return f"F{_short(self.beta)}"


@dataclass(frozen=True, repr=False)
class PrecisionAtRelevant(Metric):
    """R-precision: precision at L, the number of relevant items, where it equals recall.

    Perfect 1, random L / n, worst 0 while there are L irrelevant items. For one relevant item it is
    accuracy. Takes no cut-off. Source: C. D. Manning, P. Raghavan, H. Schuetze, "Introduction to
    Information Retrieval", Cambridge University Press, 2008, section 8.4.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RPrecision(rs.Ranks([[1, 4, 9], [1, 2, 3]], n_items=20))
    array([0.33333333, 1.        ])
    """

    name = "RPrecision"
    aliases = ("RPrec",)
    takes_cutoff = False
    form = Step(None)

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return (rank <= n_relevant) / n_relevant


@dataclass(frozen=True, repr=False)
class AveragePrecision(Metric):
    """Average precision: the precision at each relevant item found, summed and divided.

    Eq. (5), and eqs. (10) and (12), 1[r <= k] / r, for one relevant item. Without a cut-off the
    first three divisors of `over` are the same.

    Perfect 1, random about ln(n) / n for one relevant item (exactly H_n / n), worst 1 / n for one
    relevant item, or 0 with a cut-off. Divided by L, a perfect ranking gets min(L, k) / L only;
    divided by k, min(L, k) / k; divided by the hits, even one hit in the first place gets 1.

    Parameters
    ----------
    over : {"best", "relevant", "hits", "k"}, optional
        Divide by min(L, k), as in the paper, by L, by the number of relevant items in the first k
        places (J. Lamar, "Metrics for Evaluating Recommender Systems", 2024), or by k.
    cutoff : int, optional

    Examples
    --------
    Hits in places 1 and 4, and six relevant items that are not found:

    >>> import recsample as rs
    >>> ranks = rs.Ranks([[1, 4, 10, 11, 12, 13, 14, 15]], n_items=20)
    >>> names = ["AP@5", "AP(relevant)@5", "AP(hits)@5", "AP(k)@5"]
    >>> [round(float(rs.metric(name)(ranks)[0]), 4) for name in names]
    [0.3, 0.1875, 0.75, 0.3]
    """

    over: str = "best"
    cutoff: int | None = None
    name = "AP"
    aliases = ("MAP", "AveragePrecision", "MeanAveragePrecision")
    examples = ("relevant", "hits", "k")

    def __post_init__(self) -> None:
        super().__post_init__()
        if one_of("over", self.over, ("best", "relevant", "hits", "k")) == "k":
            vars(self).update(needs_cutoff=True)

    form = Reciprocal()

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        # "hits" only with one relevant item or no cut-off: then every hit counts.
        divisor = {
            "best": self.best_places(n_relevant),
            "relevant": n_relevant,
            "hits": n_relevant,
            "k": self.cutoff,
        }
        return self.within(rank) * order / (rank * divisor[self.over])

    @property
    def additive(self) -> bool:  # type: ignore[override]
        """Whether it is a sum over the relevant items; False if divided by the number of hits.

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

    def label(self) -> str:
        return self.name if self.over == "best" else f"{self.name}({self.over})"


@dataclass(frozen=True, repr=False)
class AverageRecallAt(_FirstPlaces):
    """Average recall at k, known as MAR: the mean recall over the places of the hits.

    With h hits in the first k places it is (1 + 2 + ... + h) / (h L) = (h + 1) / (2 L), and 0
    without a hit (J. Lamar, as for AP): the mean of Recall@k and HitRate@k / L, so it says nothing
    new. Perfect (min(L, k) + 1) / (2 L) only, random (L k / n + P(h > 0)) / (2 L), worst 0 while
    there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.AR @ 5)(rs.Ranks([[1, 4, 9], [1, 2, 3]], n_items=20))
    array([0.5       , 0.66666667])
    """

    cutoff: int | None = None
    name = "AR"
    aliases = ("MAR",)

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return self.within(rank) * (1.0 + (order == 1)) / (2 * n_relevant)


@dataclass(frozen=True, repr=False)
class DiscountedGain(Metric):
    """Discounted cumulative gain (DCG): the sum of 1 / log2(r + 1) over the relevant items.

    The numerator of eq. (6); for grades of relevance see `recsample.metrics.graded`. Perfect, the
    same sum over the ranks 1, ..., min(L, k), which exceeds 1 for several relevant items; random,
    for one of them, the mean over the ranks; worst, for one, 1 / log2(n + 1), or 0 with a cut-off.

    Parameters
    ----------
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> rs.DCG(rs.Ranks([[1, 3], [3, 7]], n_items=10))
    array([1.5       , 0.83333333])
    """

    cutoff: int | None = None
    name = "DCG"

    form = Logarithmic()

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return self.within(rank) * _discount(rank)


@dataclass(frozen=True, repr=False)
class NormalizedDCG(Metric):
    """Normalised discounted cumulative gain: DCG divided by that of a perfect ranking.

    Eq. (6), and eqs. (11) and (13), 1[r <= k] / log2(r + 1), for one relevant item. Perfect 1,
    random the mean of that over the ranks 1, ..., n, worst 1 / log2(n + 1) for one relevant item,
    or 0 with a cut-off.

    Parameters
    ----------
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> rs.NDCG(rs.Ranks([1, 3, 7], n_items=10))
    array([1.        , 0.5       , 0.33333333])
    """

    cutoff: int | None = None
    name = "NDCG"
    aliases = ("N", "NormalizedDCG", "nDCGRendle2020")

    form = Logarithmic()

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        ideal = _cumulative(_discount, self.best_places(n_relevant))
        return self.within(rank) * _discount(rank) / ideal


@dataclass(frozen=True, repr=False)
class ReciprocalRank(Metric):
    """Reciprocal rank of the best ranked relevant item. The mean over instances is known as MRR.

    For one relevant item it is average precision (section 3.1 of the paper). Perfect 1, random
    H_n / n for one relevant item, worst 1 / (n - L + 1), or 0 with a cut-off.

    Parameters
    ----------
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RR(rs.Ranks([[2, 3], [2, 9]], n_items=10))
    array([0.5, 0.5])
    """

    cutoff: int | None = None
    name = "RR"
    aliases = ("MRR", "RecipRank", "ReciprocalRank", "MeanReciprocalRank")

    form = Reciprocal()

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return self.within(rank) * (order == 1) / rank


@dataclass(frozen=True, repr=False)
class HitRatioAt(_FirstPlaces):
    """Hit ratio at k: 1 where at least one relevant item stands in the first k places, else 0.

    For one relevant item it is recall (section 3.1 of the paper). Perfect 1, random k / n for one
    relevant item, worst 0 while there are k irrelevant items.

    Parameters
    ----------
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> (rs.HitRate @ 3)(rs.Ranks([[2, 3], [4, 9]], n_items=10))
    array([1., 0.])
    """

    cutoff: int | None = None
    name = "HitRate"
    aliases = ("Hit", "HitRatio", "Hits", "H", "HR", "Success")

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return 1.0 * (self.within(rank) & (order == 1))


@dataclass(frozen=True, repr=False)
class TopOneAccuracy(Metric):
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
    aliases = ("Acc",)
    takes_cutoff = False
    form = Step(1)

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return 1.0 * (rank == 1)


@dataclass(frozen=True, repr=False)
class PercentileRankMetric(Metric):
    """Percentile rank: the share of irrelevant items that outrank a relevant one. Lower is better.

    (r - 1) / (n - 1) for one relevant item, so 1 - AUC; the mean over several. Perfect 0,
    random 1/2, worst 1. Undefined without irrelevant items. Takes no cut-off. Source: Hu, Koren and
    Volinsky, as for `expected_percentile_rank`.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.PercentileRank(rs.Ranks([1, 50, 99], n_items=99))
    array([0. , 0.5, 1. ])
    """

    name = "PercentileRank"
    aliases = ("MPR",)
    takes_cutoff = False
    higher_is_better = False
    form = Linear()

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return (rank - order) / (n_items - n_relevant) / n_relevant


@dataclass(frozen=True, repr=False)
class RankScore(Metric):
    """Rank score: the weight of a hit halves every `half_life` places; normalised to 1.

    The sum over the relevant items of 2^(-(r - 1) / half_life), divided by its value for the ranks
    1, ..., L. Perfect 1; for one relevant item random the mean of 2^(-(r - 1) / half_life) over the
    ranks 1, ..., n, and worst 2^(-(n - 1) / half_life). Source: J. Breese, D. Heckerman, C. Kadie,
    "Empirical Analysis of Predictive Algorithms for Collaborative Filtering", UAI 1998.

    Parameters
    ----------
    half_life : float
        Ranks after which the weight of a hit has halved, above 0.
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RankScore(5)(rs.Ranks([1, 6, 11], n_items=20))
    array([1.  , 0.5 , 0.25])
    """

    half_life: float
    cutoff: int | None = None
    name = "RankScore"
    examples = (5,)

    def __post_init__(self) -> None:
        vars(self).update(half_life=positive_float("half_life", self.half_life))
        super().__post_init__()

    def _weight(self, place):
        return np.exp2(-(place - 1.0) / self.half_life)

    @property
    def form(self) -> Shape:
        return Geometric(2 ** (-1 / self.half_life))

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        ideal = _cumulative(self._weight, self.best_places(n_relevant))
        return self.within(rank) * self._weight(rank) / ideal

    def label(self) -> str:
        return f"{self.name}({_short(self.half_life)})"


@dataclass(frozen=True, repr=False)
class RBP(Metric):
    """Rank-biased precision, for readers who go on to the next place with a fixed probability.

    (1 - p) times the sum of p^(r - 1) over the relevant items. Perfect 1 - p^L, random
    (1 - p^n) L / n, worst p^(n - L) (1 - p^L). Source: A. Moffat, J. Zobel, "Rank-Biased Precision
    for Measurement of Retrieval Effectiveness", ACM TOIS 27(1), 2008.

    Parameters
    ----------
    persistence : float
        The probability p, between 0 and 1, both excluded.
    cutoff : int, optional

    Examples
    --------
    >>> import recsample as rs
    >>> rs.RBP(0.5)(rs.Ranks([[1], [2], [1, 2]], n_items=20))
    array([0.5 , 0.25, 0.75])
    """

    persistence: float
    cutoff: int | None = None
    name = "RBP"
    examples = (0.8,)

    def __post_init__(self) -> None:
        vars(self).update(persistence=fraction("persistence", self.persistence))
        super().__post_init__()

    @property
    def form(self) -> Shape:
        return Geometric(self.persistence)

    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        return self.within(rank) * (1 - self.persistence) * self.persistence ** (rank - 1.0)

    def label(self) -> str:
        return f"{self.name}({_short(self.persistence)})"


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


def expected_percentile_rank(ranks: Ranks, consumption: ArrayLike | None = None) -> float:
    """The mean percentile rank of the consumed items, weighted by how much of each was consumed.

    Eq. (8) of Y. Hu, Y. Koren, C. Volinsky, "Collaborative Filtering for Implicit Feedback
    Datasets", ICDM 2008: the percentile rank of an item is (r - 1) / (n - 1). Random 1/2; of L of n
    items perfect (L - 1) / 2 / (n - 1), and worst as far from 1. For one relevant item per instance
    and equal weights it is the mean of `PercentileRank`.

    Parameters
    ----------
    ranks : Ranks
        The consumed items of each user. Tied items count at the middle of their ties.
    consumption : array_like of float, optional
        How much the user consumed of each item, in the shape of ``ranks.values``; by default equal.

    Returns
    -------
    float

    Examples
    --------
    One user watched the item in place 1 for three hours, another the last of 101 for one:

    >>> import recsample as rs
    >>> rs.metrics.expected_percentile_rank(rs.Ranks([1, 101], n_items=101), [3, 1])
    0.25
    """
    check_ranks(ranks)
    instance, _, rank, ties, group, place = ranks.rows
    if not len(rank):
        raise InputError("ranks", "must hold at least one relevant item").got("none")
    size = ranks.sizes[instance]
    if (size == 1).any():
        raise InputError("n_items", "must be at least 2 for a percentile rank").got("1")
    # Tied items, relevant or not, have the middle of their places on average.
    middle = rank - place + 1 + (group + ties - 1) / 2
    weight = np.ones(len(rank)) if consumption is None else _weights(consumption, ranks)
    return float(weight @ ((middle - 1) / (size - 1)) / weight.sum())


def _weights(consumption, ranks):
    """One weight per relevant item, in the order of the rows of `ranks`."""
    weight, lengths, nested = flattened("consumption", consumption)
    given, expected, lists = flattened("values", ranks.values)
    if nested != lists or not np.array_equal(lengths, expected):
        allowed = "must hold one number per relevant item, in the shape of ranks.values"
        raise InputError("consumption", allowed).got(shown(consumption))
    weight = finite_numbers("consumption", weight, lowest=0)
    if not weight.any():
        raise InputError("consumption", "must not be 0 throughout")
    return weight[np.lexsort((given, owners(lengths)))]


def _mean_over_hits(ranks, cutoff):
    """AP(hits)@k: the precision at the hits in the first k places over their number h.

    h varies where a group of tied items reaches across the cut-off. Its q places up to k hold j of
    its g relevant items with a hypergeometric probability, and given j any j of the q places do.
    """
    rows = ranks.rows
    last = rows.rank - rows.place + rows.group + rows.ties
    surely = counted(rows.instance[last <= cutoff], len(ranks))
    total = cutoff * AveragePrecision("k", cutoff)._mean_over_ties(ranks)
    values = np.divide(total, surely, out=np.zeros(len(ranks)), where=surely > 0)
    across = rows.of((rows.rank <= cutoff) & (last > cutoff) & (rows.place == 1))
    most = int(np.minimum(across.group, cutoff).max(initial=0))
    for part in row_blocks(len(across.rank), most + 1):
        instance, order, first, t, g, _ = (column[part, None] for column in across)
        q, before, hits = cutoff + 1 - first, order - 1, np.arange(most + 1)
        # C(q, j) C(g + t - q, g - j), each over the one before.
        left = t - q + hits[1:]
        ratio = np.maximum(q - hits[:-1], 0) * np.maximum(g - hits[:-1], 0) / hits[1:]
        chance = law_by_ratios(np.where(left > 0, ratio / np.maximum(left, 1), np.inf))
        inverse, later = (one[:, None] for one in sums_over(lambda r: 1 / r, first[:, 0], q[:, 0]))
        found = (before + 1) * inverse + (hits - 1) / np.maximum(q - 1, 1) * later
        found *= hits / q
        known = total[instance] - (chance * found).sum(axis=1, keepdims=True)
        mean = np.where(before + hits > 0, known + found, 0) / np.maximum(before + hits, 1)
        values[instance[:, 0]] = (chance * mean).sum(axis=1)
    return values


def _discount(place):
    return 1 / np.log2(place + 1.0)


def _cumulative(weight, places):
    """weight(1) + ... + weight(places), for an array of numbers of places."""
    sums = np.append(0.0, np.cumsum(weight(np.arange(1.0, np.max(places, initial=0) + 1))))
    return sums[places]
