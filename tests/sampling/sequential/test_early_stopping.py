"""Early stopping against enumeration: exact up to its cut-off, and what that costs."""

import numpy as np
import pytest
from enumeration import mean, orders, position

import recsample as rs
from recsample import AP, NDCG, RR, EarlyStopping, Ranks, Recall

CUT = [Recall @ 3, NDCG @ 3, AP @ 3, RR @ 2, rs.HitRate @ 1, rs.Precision @ 3]


@pytest.mark.parametrize("k", [1, 3, 6, 7])
def test_cost_of_early_stopping_by_enumeration(k):
    n = 7
    cost = [mean([min(position(o, k), n - 1) for o in orders(n - 1, a)]) for a in range(n)]
    assert EarlyStopping(k).cost(Ranks(range(1, n + 1), n)) == pytest.approx(cost)
    tied = EarlyStopping(k).cost(Ranks([2], n, ties=[3]))
    assert tied == pytest.approx([mean(cost[1:5])])


@pytest.mark.parametrize("k", [1, 2, 5])
def test_only_the_best_relevant_item_says_when_to_stop(k):
    n_irrelevant = 5
    cost = [mean([min(position(o, k), n_irrelevant) for o in orders(5, a)]) for a in range(6)]
    found = EarlyStopping(k).cost(Ranks([[3, 6], [1, 7], [6, 7]], 7))
    assert found == pytest.approx([cost[2], cost[0], cost[5]])
    # Two relevant and two irrelevant items share the places 2 to 5, in all their orders.
    above = [1 + order.index(True) for order in orders(4, 2)]
    tied = EarlyStopping(k).cost(Ranks([[2, 3]], 7, ties=[[2, 2]]))
    assert tied == pytest.approx([mean([cost[a] for a in above])])


def test_what_early_stopping_draws():
    drawn = EarlyStopping(4).draw(Ranks([2] * 60_000, 9, ties=5), rng=1)
    counts = np.bincount(drawn["rank"], minlength=6)  # ranks 2 to 7; 5 to 7 look the same
    assert counts[:2].tolist() == [0, 0] and counts.sum() == 60_000
    assert (np.abs(counts[2:] - [10_000, 10_000, 10_000, 30_000]) < 600).all()
    several = EarlyStopping(2).draw(Ranks([[7, 1], [3], [5, 9], []], n_items=9), rng=0)
    assert several["rank"].tolist() == [*[1, 4], *[3], *[3, 4]]
    assert several.n_relevant.tolist() == [2, 1, 2, 0] and (several.n_items == 9).all()


@pytest.mark.parametrize("metric", CUT, ids=str)
def test_early_stopping_is_exact(metric):
    ranks = Ranks([[1, 4], [2, 3, 9], [10]], n_items=12)
    sampler = EarlyStopping(3)
    assert sampler.estimate(metric, ranks, 0).tolist() == metric(ranks).tolist()
    assert sampler.expect(metric, ranks).tolist() == metric(ranks).tolist()
    one = Ranks([1, 3, 4], 12, ties=[0, 1, 0])
    values = metric.of_rank([3, 4], 12)
    assert sampler.variance(metric, one) == pytest.approx([0, values.var(), 0])
    assert not EarlyStopping(3).variance(metric, Ranks(range(1, 13), 12)).any()


def test_early_stopping_takes_a_fifth_of_the_catalogue():
    for ranks in rs.datasets.recorded_ranks().values():
        share = EarlyStopping(10).cost(ranks).mean() / ranks.n_irrelevant.mean()
        assert 0.19 < share < 0.203


def test_instances_without_relevant_items_cost_nothing():
    cost = EarlyStopping(2).cost(Ranks([[], []], 9))
    assert cost.tolist() == [0.0, 0.0] and cost.dtype == float
    assert EarlyStopping(3).cost(Ranks([1], 1)).tolist() == [0.0]


RANKS = Ranks([1, 2], 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EarlyStopping(0), "k must be a whole number of at least 1, got 0"),
        (lambda: EarlyStopping(3).expect(AP, RANKS), "cut-off of at most k=3, got AP"),
        (lambda: EarlyStopping(3).expect(AP @ 4, RANKS), "cut-off of at most k=3, got AP@4"),
        (lambda: EarlyStopping(3).cost(5), "ranks must be Ranks, got int"),
        (lambda: EarlyStopping(3).draw(5, 0), "ranks must be Ranks, got int"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
