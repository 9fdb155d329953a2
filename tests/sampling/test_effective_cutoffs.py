"""A sampled metric is a mean of exact Recall@K: against enumeration of all draws."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

import recsample as rs
from recsample import AP, AUC, NDCG, RR, PercentileRank, Precision, Ranks, Recall, UniformSampling

METRICS = [AUC, AP, NDCG, RR @ 2, Recall @ 1, Recall @ 2, Precision @ 2, NDCG @ 2]


def mean_over_draws(metric, above, pool, m, replace):
    """The mean of a metric over all draws, where so many items are above the relevant one."""
    draws = list(product(range(pool), repeat=m) if replace else combinations(range(pool), m))
    ranks = [1 + sum(item < above for item in draw) for draw in draws]
    return np.mean(metric.of_rank(np.array(ranks), m + 1))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_weights_of_cutoffs_are_steps_of_the_mean_over_all_draws(metric, replace):
    n, m = 7, 3
    found = UniformSampling(m, replace).effective_cutoffs(metric, n)
    means = [mean_over_draws(metric, above, n - 1, m, replace) for above in range(n)]
    np.testing.assert_allclose(found.weights, -np.diff(means), atol=1e-13)
    assert found.at_last == pytest.approx(means[-1], abs=1e-13)
    assert found.weights.shape == (n - 1,) and (found.weights >= 0).all()


def test_weights_of_sampled_recall_by_hand():
    """Two of four: on ranks 1 and 5 all is decided, and each item on the way costs a draw."""
    # P(neither of the a above is drawn) is 1, 1/2, 1/6, 0, 0 for a = 0, ..., 4.
    steps = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6), Fraction(0)]
    found = UniformSampling(2).effective_cutoffs(Recall @ 1, 5)
    np.testing.assert_allclose(found.weights, [float(step) for step in steps], atol=1e-15)
    assert (found.low, found.median, found.high) == (1, 1, 3)


@cache
def users_of(kind):
    """Users, and the means of their exact recall by cut-off."""
    rng, n = np.random.default_rng(0), 60
    values = rng.integers(1, n + 1, 40)
    ranks = {
        "one": Ranks(values, n),
        "tied": Ranks(values, n, ties=rng.integers(0, n + 1 - values)),
        "alone": Ranks([np.sort(rng.choice(n + 2, 3, False) + 1) for _ in range(40)], n + 2),
    }[kind]
    ranks = ranks.each_alone() if kind == "alone" else ranks
    return ranks, [(Recall @ k)(ranks).mean() for k in range(1, n)]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("kind", ["one", "tied", "alone"])
def test_the_mean_of_recall_is_the_expectation_for_any_users(metric, replace, kind):
    ranks, recall = users_of(kind)
    sampler = UniformSampling(10, replace)
    found = sampler.effective_cutoffs(metric, 60)
    expected = sampler.expect(metric, ranks).mean()
    assert found.at_last + found.weights @ recall == pytest.approx(expected, abs=1e-12)
    assert found.reading(expected) == pytest.approx(np.average(recall, weights=found.weights))


def test_cutoffs_hold_their_shares_of_the_weights():
    found = UniformSampling(100).effective_cutoffs(NDCG @ 10, 3541)
    shares = found.weights / found.weights.sum()
    for cutoff, share in zip((found.low, found.median, found.high), (0.05, 0.5, 0.95)):
        assert shares[: cutoff - 1].sum() < share <= shares[:cutoff].sum()


def test_a_single_cutoff_is_another_number():
    """The AP of X is far from its Recall at the median cut-off."""
    x = rs.datasets.recorded_ranks()["X"]
    x, sampler = Ranks(np.minimum(x.values, 3541), 3541), UniformSampling(100)
    found = sampler.effective_cutoffs(AP, 3541)
    reading = found.reading(sampler.expect(AP, x).mean())
    assert reading == pytest.approx(0.317, abs=0.002)
    assert (Recall @ found.median)(x).mean() == pytest.approx(0.267, abs=0.002)


@pytest.mark.parametrize("metric", [PercentileRank, Recall @ 11, Recall @ 50], ids=str)
def test_metrics_that_rise_or_stay_are_refused(metric):
    message = f"metric must fall with the rank among m . 1 = 11 items.*, got {metric}$"
    with pytest.raises(ValueError, match=message):
        UniformSampling(10).effective_cutoffs(metric, 100)


def test_a_correction_that_rises_somewhere_is_refused():
    sampler = UniformSampling(10)
    correction = rs.MinimalBias(AP, sampler, 100)
    assert (np.diff(correction.values) > 0).any()
    with pytest.raises(ValueError, match="metric must fall"):
        sampler.effective_cutoffs(correction, 100)


@pytest.mark.parametrize(
    ("n_items", "message"),
    [
        (10, "n_items must leave at least 10 irrelevant items"),
        (10**8, "n_items must be at most 10,000,000 for the cut-offs"),
        (2.5, "n_items must be"),
    ],
)
def test_pools_that_are_refused(n_items, message):
    with pytest.raises(ValueError, match=message):
        UniformSampling(10).effective_cutoffs(AP, n_items)
