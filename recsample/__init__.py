"""Metrics for item recommendation: exact, sampled and corrected."""

from recsample import (
    corrections,
    datasets,
    experiments,
    metrics,
    plotting,
    ranks,
    recommenders,
    sampling,
)
from recsample.corrections import BiasVariance, ConstrainedLeastSquares, MinimalBias, RankEstimate
from recsample.metrics import (
    AP,
    AUC,
    NDCG,
    RR,
    Accuracy,
    HitRate,
    PercentileRank,
    Precision,
    RankScore,
    Recall,
    compare,
    metric,
)
from recsample.ranks import Ranks, predicted_ranks
from recsample.sampling import UniformSampling

__all__ = [
    "AP",
    "AUC",
    "Accuracy",
    "BiasVariance",
    "ConstrainedLeastSquares",
    "HitRate",
    "MinimalBias",
    "NDCG",
    "PercentileRank",
    "Precision",
    "RR",
    "RankEstimate",
    "RankScore",
    "Ranks",
    "Recall",
    "UniformSampling",
    "compare",
    "corrections",
    "datasets",
    "experiments",
    "metric",
    "metrics",
    "plotting",
    "predicted_ranks",
    "ranks",
    "recommenders",
    "sampling",
]
