"""What ranks say where instances share the drawn items."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample.inference.comparison import compared
from recsample.inference.likelihood.evidence import Evidence, supported

METRICS = [rs.Recall @ 1, rs.Recall @ 2, rs.NDCG @ 3, rs.AP, rs.AUC]


def above(n_users, n_items, common, seed):
    """Which of the others are above each user's own item, shape (others, users)."""
    rng = np.random.default_rng(seed)
    scores = common * rng.normal(size=n_items) + rng.normal(size=(n_users, n_items))
    return (scores[:, 1:] > scores[:, :1] + 1).T


def drawn(pool, n_lists, m, rng):
    """Ranks, each user's among the list of a batch."""
    n_others, n_users = pool.shape
    batches = np.arange(n_users) * n_lists // n_users
    lists = np.array([rng.choice(n_others, m, replace=False) for _ in range(n_lists)])
    rank = 1 + np.array([pool[lists[b], u].sum() for u, b in enumerate(batches)])
    return rs.Ranks(rank, m + 1), batches


def limits(metric, sampled, n_items, batches, level=0.95, items=None):
    evidence = Evidence(sampled, n_items, False, [metric], batches=batches, items=items)
    return evidence.limits(metric, supported(metric, evidence), level)


@pytest.mark.parametrize("common", [0, 100])
@pytest.mark.parametrize("level", [0.5, 0.8])
def test_of_one_list_they_hold_over_all_lists_that_there_are(common, level):
    pool, m = above(30, 8, common, seed=3), 3
    exact = rs.Ranks(pool.sum(axis=0) + 1, 8)
    true, held = [one(exact).mean() for one in METRICS], []
    for chosen in combinations(range(7), m):
        sampled = rs.Ranks(pool[list(chosen)].sum(axis=0) + 1, m + 1)
        found = [limits(one, sampled, 8, np.zeros(30, int), level) for one in METRICS]
        held.append([low <= t <= high for (low, high), t in zip(found, true)])
    assert (np.mean(held, axis=0) >= level).all()


def test_of_one_list_no_metric_is_limited_as_if_it_were_many():
    ranks = np.repeat([1, 3], 2000)  # which one list of ten may give by chance
    low, high = limits(rs.Recall @ 5, rs.Ranks(ranks, 11), 1000, np.zeros(4000, int))
    assert low == 0
    # First of ten is what ranks up to 5 are by P = .96; so half, or little more, may be.
    assert 0.5 < high < 1
    own = Evidence(rs.Ranks(ranks, 11), 1000, False, [rs.Recall @ 5])
    assert own.limits(rs.Recall @ 5, "none", 0.95)[1] < high


@pytest.mark.parametrize("n_lists", [1, 4])
def test_auc_has_limits_for_as_many_values_as_there_are_items(n_lists):
    sampled, batches = drawn(above(600, 200, 1, 0), n_lists, 40, np.random.default_rng(0))
    low, high = limits(rs.AUC, sampled, 200, batches)
    mean = rs.AUC(sampled).mean()
    assert 0.1 < high - low < 2 * np.sqrt(np.log(40) / 80)
    assert low < mean < high
    turned = limits(rs.PercentileRank, sampled, 200, batches)
    assert np.allclose(turned, (1 - high, 1 - low))


def test_by_batches_auc_has_students_limits_or_slightly_wider_ones():
    pool = above(1000, 400, 1, 1)
    sampled, batches = drawn(pool, 20, 50, np.random.default_rng(1))
    means = [rs.AUC(sampled)[batches == b].mean() for b in range(20)]
    low, high = limits(rs.AUC, sampled, 400, batches)
    usual = stats.t.interval(0.95, 19, np.mean(means), stats.sem(means))
    assert low < usual[0] < usual[1] < high
    assert high - low < 1.25 * (usual[1] - usual[0])


def test_batches_of_different_sizes_are_weighted_by_their_users():
    """The variance of a ratio of sums, as of clusters: that of the sums of residuals."""
    sampled, _ = drawn(above(3000, 400, 1, 1), 1, 400 - 1, np.random.default_rng(1))
    sizes = np.array([100, 200, 300] * 5)
    batches = np.repeat(np.arange(15), sizes)
    values = rs.AUC(sampled) + np.repeat(np.random.default_rng(0).normal(0, 0.05, 15), sizes)
    evidence = Evidence(sampled, 400, False, [rs.AUC], batches=batches)
    low, high = evidence.limits_of(values, 0.95, (values.min(), values.max()))
    sums = [(values[batches == b] - values.mean()).sum() for b in range(15)]
    n = sizes.sum() ** 2 / (sizes**2).sum()
    error = np.sqrt(n / (n - 1) * np.square(sums).sum()) / sizes.sum()
    reach = stats.t(n - 1).ppf(0.975) * error
    # One more item among 399 changes little.
    assert np.allclose([low, high], values.mean() + np.array([-reach, reach]), atol=0.1 * reach)


def test_many_lists_of_which_one_is_for_nearly_all_are_few():
    pool, rng = above(2000, 400, 1, 5), np.random.default_rng(8)
    true, held = rs.AUC(rs.Ranks(pool.sum(axis=0) + 1, 400)).mean(), []
    for share in (0.95, 0.4):
        large = int(2000 * share)
        batches = np.append(np.zeros(large, int), 1 + np.arange(2000 - large) // 10)
        users_of = np.split(np.arange(2000), np.flatnonzero(np.diff(batches)) + 1)
        for _ in range(30):
            rank = np.ones(2000, int)
            for mine in users_of:
                rank[mine] += pool[np.ix_(rng.choice(399, 20, replace=False), mine)].sum(axis=0)
            low, high = limits(rs.AUC, rs.Ranks(rank, 21), 400, batches)
            held.append(low <= true <= high)
        assert np.mean(held) >= 0.93


def test_counts_weigh_as_much_as_lists_vary():
    alone = rs.UniformSampling(20).draw(rs.Ranks(np.arange(1, 201), 300), 0)
    batches = np.repeat(np.arange(200), 30)
    many = Evidence(rs.Ranks(np.repeat(alone.values, 30), 21), 300, False, [rs.AP], batches=batches)
    assert many.effect == pytest.approx(30, rel=0.05)  # thirty times the same user
    found = many.limits(rs.AP, "decreasing", 0.95)
    usual = Evidence(alone, 300, False, [rs.AP]).limits(rs.AP, "decreasing", 0.95)
    assert np.allclose(found, usual, atol=0.03)
    lists = np.arange(200)
    own = Evidence(alone, 300, False, [rs.AP], batches=lists)
    assert own.effect == pytest.approx(1, abs=0.1)
    assert np.allclose(own.limits(rs.AP, "decreasing", 0.95), usual, atol=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize("n_lists", [1, 10])
def test_they_hold_where_those_of_own_lists_do_not(n_lists):
    pool, rng = above(1500, 400, 1, 5), np.random.default_rng(8)
    true, held = rs.AUC(rs.Ranks(pool.sum(axis=0) + 1, 400)).mean(), []
    for _ in range(60):
        sampled, batches = drawn(pool, n_lists, 20, rng)
        found = [limits(rs.AUC, sampled, 400, given) for given in (batches, None)]
        held.append([low <= true <= high for low, high in found])
    shared, own = np.mean(held, axis=0)
    assert shared >= 0.93 and own < 0.8


def test_items_that_are_known_make_auc_closer():
    pool, rng = above(1500, 400, 1, 5), np.random.default_rng(8)
    true, held, widths = rs.AUC(rs.Ranks(pool.sum(axis=0) + 1, 400)).mean(), [], []
    for _ in range(30):
        chosen = rng.choice(399, 60, replace=False)
        sampled = rs.Ranks(pool[chosen].sum(axis=0) + 1, 61)
        items, one = 1 - pool[chosen].mean(axis=1), np.zeros(1500, int)
        low, high = limits(rs.AUC, sampled, 400, one, items=items)
        held.append(low <= true <= high)
        wide = limits(rs.AUC, sampled, 400, one)
        widths.append([high - low, wide[1] - wide[0]])
        turned = limits(rs.PercentileRank, sampled, 400, one, items=items)
        assert np.allclose(turned, (1 - high, 1 - low))
    assert np.mean(held) >= 0.93
    assert np.mean(widths, axis=0)[0] < 0.8 * np.mean(widths, axis=0)[1]


@pytest.mark.thorough
@pytest.mark.parametrize("n_lists", [1, 20])
@pytest.mark.parametrize("metric", [rs.AUC, rs.Recall @ 10])
def test_differences_have_limits_that_allow_for_it_too(n_lists, metric):
    pools = [above(1000, 400, 1, seed) for seed in (5, 6)]
    exact = [metric(rs.Ranks(pool.sum(axis=0) + 1, 400)).mean() for pool in pools]
    rng, held = np.random.default_rng(3), []
    for seed in rng.integers(10**6, size=8):
        runs = [drawn(pool, n_lists, 50, np.random.default_rng(seed)) for pool in pools]
        a, b = (Evidence(run, 400, False, [metric], batches=batches) for run, batches in runs)
        found = compared(metric, a, b, supported(metric, a, b), 0.95)
        held.append(found.low <= exact[0] - exact[1] <= found.high)
        assert np.isnan(found.probability) == (n_lists == 1)
        if n_lists > 1:
            decided = found.low > 0 or found.high < 0
            assert (abs(found.probability - 0.5) > 0.475) == decided
    assert np.mean(held) >= 0.9


def test_in_batch_negatives_are_uniform_draws_from_what_is_held_out():
    """Over all ways to put six users into two batches of three, brute force."""
    rng = np.random.default_rng(0)
    own, scores = rng.integers(0, 4, 6), rng.normal(size=(6, 4))
    seen = [[] for _ in range(6)]
    for order in permutations(range(6)):
        for batch in (order[:3], order[3:]):
            for user in batch:
                mine = scores[user, own[user]]
                others = [scores[user, own[one]] for one in batch if one != user]
                seen[user].append(sum(other > mine for other in others))
    for user, counts in enumerate(seen):
        higher = sum(scores[user, own[v]] > scores[user, own[user]] for v in range(6) if v != user)
        law = stats.hypergeom(5, higher, 2).pmf([0, 1, 2])
        assert np.allclose(np.bincount(counts, minlength=3) / len(counts), law)
