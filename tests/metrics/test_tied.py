"""A metric of tied ranks by its shape, against the mean of its values on each of them."""

import numpy as np
import pytest

import recsample as rs
from recsample.metrics.shapes import mean_by_shape

METRICS = [rs.AUC, rs.PercentileRank, rs.AP, rs.RR, rs.DCG, rs.NDCG, rs.RBP(0.8), rs.RBP(0.999)]


def tied_ranks(users=200, n_items=400):
    rng = np.random.default_rng(0)
    rank = rng.integers(1, n_items + 1, users)
    ties = rng.integers(0, n_items - rank + 1)
    ties[rng.random(users) < 0.3] = 0
    return rs.Ranks(rank, n_items + rng.integers(0, 9, users), ties=ties)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_it_is_the_mean_of_the_values_on_all_ranks(metric):
    ranks = tied_ranks()
    rows = zip(ranks.values, ranks.ties, ranks.sizes)
    wanted = [metric.of_rank(np.arange(r, r + t + 1), int(n)).mean() for r, t, n in rows]
    assert type(metric.shape) is not rs.metrics.shapes.Shape
    assert np.allclose(metric(ranks), wanted, rtol=1e-12, atol=0)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_several_items_agree_with_the_sum_over_all_their_orders(metric, monkeypatch):
    ranks = rs.Ranks([[2, 30, 77], [5], [1, 200]], 300, ties=[[4, 0, 100], [295], [9, 100]])
    by_shape = metric(ranks)
    monkeypatch.setattr("recsample.metrics.base.mean_by_shape", lambda *_: None)
    assert np.allclose(by_shape, metric(ranks), rtol=1e-12, atol=0)


def test_far_apart_ranks_are_summed_one_by_one():
    ranks = rs.Ranks([3, 10**9], 2 * 10**9, ties=[1, 2])
    tail = 1 / np.array([1e9, 1e9 + 1, 1e9 + 2])
    assert np.allclose(rs.AP(ranks), [(1 / 3 + 1 / 4) / 2, tail.mean()], rtol=1e-14, atol=0)


def test_a_shape_of_which_nothing_is_known_says_nothing():
    ones = np.ones(1, np.int64)
    assert mean_by_shape((rs.AP @ 10).shape, lambda r: 1.0 / r, ones, ones) is None
