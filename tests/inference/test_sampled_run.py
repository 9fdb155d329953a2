"""What a run says under an assumption: how sums over users vary, and what contradicts it."""

import numpy as np
import pytest
from thorough import thorough

import recsample as rs
from recsample.inference import limits
from recsample.inference.comparison import compared
from recsample.inference.likelihood.sampled_run import SampledRun


@pytest.mark.parametrize(
    ("users", "vary"), [([[5, 200], [20, 25]], "against"), ([[5, 25], [20, 200]], "together")]
)
def test_items_of_a_user_that_vary_against_each_other_make_no_limits_closer(users, vary):
    ranks = rs.Ranks([users[i % 2] for i in range(300)], n_items=202)
    evidence = SampledRun(rs.UniformSampling(50).draw(ranks, rng=0), 202, False, [rs.NDCG])
    off, squares = evidence.deviations(rs.NDCG)
    share = (off**2).sum() / squares.sum()
    if vary == "against":
        assert share < 0.9
        assert evidence.clustering(rs.NDCG) == 1
    else:
        assert evidence.clustering(rs.NDCG) == share > 1.1


def test_items_of_a_user_that_go_together_count_as_one():
    """Both are hits or none is, and everything is ranked: limits are those of a binomial share."""
    hits = np.random.default_rng(0).random(2000) < 0.3
    ranks, metric = rs.Ranks([[1, 2] if hit else [60, 61] for hit in hits], 100), rs.Recall @ 5
    found = limits(metric, ranks, 100)
    reach = 1.96 * np.sqrt(hits.mean() * (1 - hits.mean()) / 2000)
    ends = hits.mean() - reach, hits.mean() + reach
    assert (found.low, found.high) == pytest.approx(ends, abs=0.1 * reach)


def test_a_difference_of_recommenders_that_vary_against_each_other():
    """Where one has a hit the other has none, and everything is ranked: it is 1 or -1."""
    hits = np.arange(2000) % 2 == 0
    a, b = (
        SampledRun(rs.Ranks(np.where(one, 1, 60), 100), 100, False, [rs.Recall @ 5])
        for one in (hits, ~hits)
    )
    found = compared(rs.Recall @ 5, a, b, "none", 0.95)
    reach = 1.96 / np.sqrt(2000)
    assert (found.low, found.high) == pytest.approx((-reach, reach), abs=0.1 * reach)
    alike = compared(rs.Recall @ 5, a, a, "none", 0.95)  # no wider than of independent ones
    assert alike.high - alike.low < 1.5 * reach


def hump(seed):
    """A few users, with a weak hump behind the head of the list."""
    rng, n = np.random.default_rng(seed), 60
    chances = np.ones(n)
    chances[8:12] *= rng.uniform(2, 6)
    ranks = rs.Ranks(rng.choice(np.arange(1, n + 1), 150, p=chances / chances.sum()), n)
    return rs.UniformSampling(15).draw(ranks, rng), n


def highest_likelihoods(law, runs, steps=1000):
    """Of the mixtures of the columns, for the counts of each run, by the EM algorithm."""
    weights = np.full((law.shape[1], len(runs)), 1 / law.shape[1])
    for _ in range(steps):
        weights *= law.T @ (runs.T / (law @ weights)) / runs.sum(axis=1)
    return (runs.T * np.log(law @ weights)).sum(axis=0), weights


@pytest.mark.parametrize("seed", [thorough(14), 85])
def test_one_surprise_among_the_simulated_runs_does_not_end_the_test(seed):
    """One of forty simulated runs fits as badly as the data do, and the chance is 1 to 3 %."""
    sampled, n = hump(seed)
    evidence = SampledRun(sampled, n, False, [rs.AP])
    (counts,) = evidence.strata[0].counts
    falling, free = (evidence.columns(one)[0].law for one in ("decreasing", "none"))
    _, weights = highest_likelihoods(falling, counts[None])
    law = falling @ weights[:, 0]
    runs = np.random.default_rng(1).multinomial(len(sampled), law / law.sum(), 200)
    runs = np.concatenate([counts[None], runs])
    misfit = 2 * (highest_likelihoods(free, runs)[0] - highest_likelihoods(falling, runs)[0])
    chance = evidence.misfit("decreasing")
    assert chance == pytest.approx((misfit[1:] >= misfit[0]).mean(), abs=0.03)
    assert np.isnan(limits(rs.AP, sampled, n).low) == (chance < 0.01) == (seed == 85)


@pytest.mark.parametrize("m", [5, 15])
@pytest.mark.parametrize("metric", [rs.Recall @ 3, rs.AP, rs.NDCG], ids=str)
def test_limits_are_means_that_the_metric_can_have(metric, m):
    """Two users tell so little that what their luck may be leads beyond them."""
    worst, best = metric.of_rank([20, 1], 20)
    for ranks in ([2, 3], [1, 1], [1, 20]):
        sampled = rs.UniformSampling(m).draw(rs.Ranks(ranks, 20), rng=1)
        found = limits(metric, sampled, 20)
        assert worst <= found.low <= found.value <= found.high <= best
        if ranks == [2, 3] and metric == rs.Recall @ 3 and m == 5:
            assert (found.low, found.high) == (0, 1)
