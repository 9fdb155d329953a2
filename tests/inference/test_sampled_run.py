"""What a run says under an assumption: users are the units, and what contradicts it."""

import numpy as np
import pytest
from scipy import stats
from thorough import thorough

import recsample as rs
from recsample.inference import limits
from recsample.inference.comparison import compared
from recsample.inference.likelihood.sampled_run import SURPRISE, SampledRun, _tail, thinned


def test_items_of_a_user_that_vary_against_each_other_make_limits_closer():
    """One of two is a hit for each user, and everything is ranked: all users have the value 1/2."""
    ranks = rs.Ranks([[1, 60], [2, 61]] * 1000, 100)
    found = limits(rs.Recall @ 5, ranks, 100)
    # Limits of equal values, with one more at an end.
    reach = (1 - 0.025 ** (1 / 2000)) / 2
    assert (found.low, found.high) == pytest.approx((0.5 - reach, 0.5 + reach), abs=reach)


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
    found, alike = compared(rs.Recall @ 5, [(a, b), (a, a)], "none", 0.95)
    reach = 1.96 / np.sqrt(2000)
    assert (found.low, found.high) == pytest.approx((-reach, reach), abs=0.1 * reach)
    # What they have in common cancels.
    assert alike.difference == 0 and alike.high - alike.low < 0.2 * reach


def test_few_of_many_numbers_of_draws_are_as_if_as_many_had_been_drawn():
    rng, m = np.random.default_rng(0), np.tile(np.arange(30, 60), 2_000)
    first = rng.integers(5, 9, len(m))
    ranks = rs.Ranks(np.column_stack([first, first + 20]), n_items=102)
    drawn = np.empty((len(m), 2), int)
    for one in np.unique(m):
        some = rs.UniformSampling(int(one)).draw(ranks[m == one], rng)
        drawn[m == one] = np.array(some.values)
    sampled = rs.Ranks(drawn, n_items=m + 2)
    fewer = thinned(sampled)
    assert np.array_equal(fewer.n_relevant, sampled.n_relevant)
    assert np.unique(fewer.n_irrelevant).tolist() == [30, 35, 40, 46, 53]
    assert (m < 1.15 * fewer.n_irrelevant + 1).all()
    assert np.array_equal(thinned(sampled).rows.above, fewer.rows.above)
    for size in np.unique(fewer.n_irrelevant):
        some = (fewer.n_irrelevant == size) & (first == 6)
        for order, rank in [(0, 6), (1, 26)]:
            above = fewer[some].rows.above.reshape(-1, 2)[:, order]
            law = stats.hypergeom(100, rank - 1 - order, size)
            expected = len(above) * law.pmf(np.arange(size + 1))
            seen = np.bincount(above, minlength=size + 1)
            assert (abs(seen - expected) < 4.5 * np.sqrt(expected) + 3).all()
    few = sampled[m < 50]
    assert thinned(few) is few


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
    (counts,) = evidence.tested_strata[0].counts
    falling, free = (evidence.tested(one)[0][0].law for one in ("decreasing", "none"))
    _, weights = highest_likelihoods(falling, counts[None])
    law = falling @ weights[:, 0]
    runs = np.random.default_rng(1).multinomial(len(sampled), law / law.sum(), 200)
    runs = np.concatenate([counts[None], runs])
    misfit = 2 * (highest_likelihoods(free, runs)[0] - highest_likelihoods(falling, runs)[0])
    chance = evidence.misfit("decreasing")
    assert chance == pytest.approx((misfit[1:] >= misfit[0]).mean(), abs=0.03)
    found = limits(rs.AP, sampled, n, assumption="decreasing")
    assert np.isnan(found.low) == (chance < 0.01) == (seed == 85)


def test_items_of_a_user_may_go_together_and_users_do_not():
    """The chance of a sum with the moments of a gamma law: of two orders, and of one."""
    each = np.random.default_rng(0).chisquare(3, (200, 2))
    alike = each[:, [0, 0]]
    variances = {(1, 2): alike.sum(axis=1).var(ddof=1), (1, 1): each.var(axis=0, ddof=1).sum()}
    for orders, simulated in {(1, 2): alike, (1, 1): each}.items():
        mean, variance = simulated.sum(axis=1).mean(), variances[orders]
        wanted = stats.gamma.sf(15, mean**2 / variance, scale=variance / mean)
        assert _tail(15.0, simulated, orders) == pytest.approx(wanted)


@pytest.mark.parametrize("runs", [12, thorough(80)])
def test_the_test_of_an_assumption_keeps_its_level_for_any_number_of_strata(runs):
    """A random recommender with twelve pool sizes: nothing is more frequent than a better rank."""
    rng, contradicted = np.random.default_rng(0), 0
    sizes = np.repeat(np.round(300 * 1.5 ** np.arange(12)).astype(int), 60)
    for _ in range(runs):
        sampled = rs.UniformSampling(20).draw(rs.Ranks(rng.integers(1, sizes + 1), sizes), rng)
        run = SampledRun(sampled, sizes, False, [rs.AP])
        contradicted += run.misfit("decreasing") < SURPRISE
    # So many in one of a thousand cases.
    assert contradicted <= stats.binom.ppf(0.999, runs, SURPRISE)


@pytest.mark.parametrize("m", [5, 15])
@pytest.mark.parametrize("metric", [rs.Recall @ 3, rs.AP, rs.NDCG], ids=str)
def test_limits_are_means_that_the_metric_can_have(metric, m):
    """Two users tell so little that scores lead beyond them."""
    worst, best = metric.of_rank([20, 1], 20)
    for ranks in ([2, 3], [1, 1], [1, 20]):
        sampled = rs.UniformSampling(m).draw(rs.Ranks(ranks, 20), rng=1)
        found = limits(metric, sampled, 20)
        assert worst <= found.low < found.high <= best and worst <= found.value <= best
        if ranks == [2, 3] and metric == rs.Recall @ 3 and m == 5:
            assert (found.low, found.high) == (0, 1)
