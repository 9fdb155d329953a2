"""One value of every metric, by hand."""

from math import log2

import numpy as np
import pytest
from all_metrics import EVERY

from recsample import Ranks

# Of the relevant items on the ranks 2 and 5 of 10. With a cut-off of 3 where there has to be one.
VALUES = {
    "AUC": (7 / 8 + 5 / 8) / 2,
    "Precision": 1 / 3,
    "Recall": 1 / 2,
    "F1": 2 / 5,
    "F2": 5 / 11,
    "RPrecision": 1 / 2,
    "AP": (1 / 2 + 2 / 5) / 2,
    "AP(relevant)": (1 / 2 + 2 / 5) / 2,
    "AP(hits)": (1 / 2 + 2 / 5) / 2,
    "AP(k)": 1 / 2 / 3,
    "AR": 1 / 2,
    "DCG": 1 / log2(3) + 1 / log2(6),
    "NDCG": (1 / log2(3) + 1 / log2(6)) / (1 + 1 / log2(3)),
    "RR": 1 / 2,
    "HitRate": 1,
    "Accuracy": 0,
    "PercentileRank": (1 / 8 + 3 / 8) / 2,
    "RankScore(5)": (0.5**0.2 + 0.5**0.8) / (1 + 0.5**0.2),
    "RBP(0.8)": 0.2 * (0.8 + 0.8**4),
}


def test_every_metric_has_a_row():
    assert [*map(str, EVERY)] == [*VALUES]


def check_value(metric, value):
    found = (metric @ 3 if metric.needs_cutoff else metric)(Ranks([[2, 5]], 10))
    assert np.allclose(found, value, rtol=1e-14, atol=0)


@pytest.mark.parametrize("metric", EVERY, ids=str)
def test_value(metric):
    check_value(metric, VALUES[str(metric)])
