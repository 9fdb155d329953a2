"""Every metric of the package, with and without a cut-off."""

from recsample.metrics import (
    AP,
    AR,
    AUC,
    DCG,
    F1,
    NDCG,
    RBP,
    RR,
    Accuracy,
    AveragePrecision,
    FScore,
    HitRate,
    PercentileRank,
    Precision,
    RankScore,
    Recall,
    RPrecision,
)

CUT_OFF = [
    *(Precision, Recall, F1, FScore(2), AP, NDCG, DCG, RR, HitRate, AR, RankScore(5), RBP(0.8)),
    *(AveragePrecision(over) for over in ("relevant", "hits", "k")),
]
UNCUT = [
    *(AUC, AP, NDCG, DCG, RR, Accuracy, RPrecision, PercentileRank, RankScore(5), RBP(0.8)),
    *(AveragePrecision(over) for over in ("relevant", "hits")),
]
ALL = UNCUT + [M @ 4 for M in CUT_OFF]
