"""Two phases against enumeration and simulation."""

from fractions import Fraction
from math import comb, perm

import numpy as np
import pytest
from enumeration import orders, position
from scipy import stats

import recsample as rs
from recsample import AP, NDCG, RR, EarlyStopping, Ranks, Recall, TwoPhase

CUT = [Recall @ 3, NDCG @ 3, AP @ 3, RR @ 2, rs.HitRate @ 1, rs.Precision @ 3]


@pytest.mark.parametrize("chances", [0.3, [1.0, 0.5, 0.2], [0.2, 0.7, 1.0]], ids=str)
@pytest.mark.parametrize("m0", [1, 2, 4, 6])
def test_two_phases_by_enumeration(chances, m0):
    n, k = 7, 3
    sampler, ranks = TwoPhase(m0, k, chances), Ranks(range(1, n + 1), n)
    chance = np.append(np.broadcast_to(chances, k), 1.0)
    for metric in CUT:
        exact = metric.of_rank(range(1, n + 1), n)
        variance, cost = np.zeros(n), np.zeros(n)
        for a in range(n):
            every = orders(n - 1, a)
            for order in every:
                s = min(sum(order[:m0]), k)
                end = min(position(order, k), n - 1)
                cost[a] += (chance[s] * end + (1 - chance[s]) * min(end, m0)) / len(every)
                variance[a] += exact[a] ** 2 * (1 / chance[s] - 1) / len(every)
        assert sampler.cost(ranks) == pytest.approx(cost)
        assert sampler.variance(metric, ranks) == pytest.approx(variance)
        assert sampler.expect(metric, ranks).tolist() == exact.tolist()


def test_two_phases_under_ties():
    n, k = 30, 3
    sampler, untied = TwoPhase(4, k, [0.9, 0.5, 0.2]), Ranks(range(2, 13), n)
    tied = Ranks([2], n, ties=[10])
    assert sampler.cost(tied) == pytest.approx([sampler.cost(untied).mean()])
    metric = AP @ 3
    square = sampler.variance(metric, untied) + metric(untied) ** 2
    variance = square.mean() - metric(untied).mean() ** 2
    assert sampler.variance(metric, tied) == pytest.approx([variance])


@pytest.mark.parametrize("n", [10**6, 10**9, 2**53 - 1])
def test_cost_in_a_huge_pool(n):
    """What is not drawn, from the hypergeometric law in exact fractions; also under ties."""
    m0, k, chance = 30, 3, 0.5

    def saved(above):
        law = [
            Fraction(comb(m0, s) * perm(above, s) * perm(n - 1 - above, m0 - s), perm(n - 1, m0))
            for s in range(k)
        ]
        to_go = [Fraction((k - s) * (n - m0), above - s + 1) for s in range(k)]
        return (1 - chance) * float(sum(p * left for p, left in zip(law, to_go)))

    sampler, all_of_it = TwoPhase(m0, k, chance), EarlyStopping(k)
    ranks = Ranks([10, 1000, n // 100, n // 2], n)
    found = all_of_it.cost(ranks) - sampler.cost(ranks)
    assert found == pytest.approx([saved(r - 1) for r in ranks.values.tolist()], rel=1e-9)
    tied = Ranks([50], n, ties=[300])
    found = all_of_it.cost(tied) - sampler.cost(tied)
    assert found == pytest.approx(np.mean([saved(49 + x) for x in range(301)]), rel=1e-11)


def test_variance_from_the_law_of_the_first_phase():
    """Against scipy's law, with many ties and as many first places as items in the first phase."""
    n, m0, k = 400, 40, 60
    chances = np.linspace(0.9, 0.1, k)
    sampler, metric = TwoPhase(m0, k, chances), NDCG @ 50
    ranks = Ranks([1, 7, 60, 61, 1, 20, 300], n, ties=[0, 0, 0, 0, 399, 30, 9])
    found = sampler.variance(metric, ranks)
    for value, rank, ties in zip(found, ranks.values, ranks.ties):
        above = np.arange(rank - 1, rank + ties)
        law = stats.hypergeom.pmf(np.arange(k), n - 1, above[:, None], m0)
        exact = metric.of_rank(above + 1, n)
        expected = (exact**2 * (law @ (1 / chances))).mean() - exact.mean() ** 2
        assert value == pytest.approx(expected, abs=1e-12)


def test_two_phases_by_simulation():
    ranks = Ranks(np.tile([[2, 3, 9], [1, 8, 9], [4, 5, 6]], (20_000, 1)), n_items=30)
    sampler = TwoPhase(10, 3, [0.5, 0.3, 0.2])
    for metric in (NDCG @ 3, Recall @ 3):
        found = sampler.estimate(metric, ranks, rng=4)
        for i in range(3):
            error = found[i::3].std() / np.sqrt(20_000)
            assert abs(found[i::3].mean() - metric(ranks)[i]) <= 4 * error


def test_full_second_phase_is_early_stopping():
    for recorded in rs.datasets.recorded_ranks().values():
        ranks, sampler = recorded[::10], TwoPhase(100, 10, 1.0)
        np.testing.assert_allclose(
            sampler.cost(ranks), EarlyStopping(10).cost(ranks), rtol=1e-6, equal_nan=False
        )
    assert sampler.std_of_mean(Recall @ 10, ranks) < 1e-3


@pytest.mark.thorough
def test_figures_of_two_phases_on_movielens():
    sampler = TwoPhase(100, 10, 0.7 ** np.arange(10))
    for ranks in rs.datasets.recorded_ranks().values():
        assert 590 < sampler.cost(ranks).mean() < 640
        assert 0.0007 < sampler.std_of_mean(Recall @ 10, ranks) < 0.0009


def test_pools_too_large_to_draw_from():
    with pytest.raises(ValueError, match=r"n_items must be at most 1,000,000,000 .* in instance 1"):
        TwoPhase(10, k=3, probability=0.5).draw(Ranks([1, 1], [50, 2 * 10**9]), 0)


RANKS = Ranks([1, 2], 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TwoPhase(0, 3, 0.5), "m0 must be a whole number of at least 1, got 0"),
        (lambda: TwoPhase(5, 3, 0.0), "probability must be above 0 and at most 1, got 0.0"),
        (lambda: TwoPhase(5, 3, 1.5), "probability must be above 0 and at most 1, got 1.5"),
        (lambda: TwoPhase(5, 3, [1, 0.5]), r"shape \(3,\), got shape \(2,\)"),
        (lambda: TwoPhase(5, 3, 0.5).cost(RANKS), "at least 5 irrelevant .* got 4 in instance 0"),
        (lambda: TwoPhase(2, 3, 0.5).expect(NDCG, RANKS), "cut-off of at most k=3, got NDCG"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
