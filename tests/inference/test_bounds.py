"""Bounds on a metric, against enumeration, other linear programs and simulation."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, stats
from thorough import thorough

import recsample as rs
from recsample import (
    AP,
    AUC,
    NDCG,
    InverseSampling,
    RankCounts,
    Ranks,
    Recall,
    UniformSampling,
    inference,
)
from recsample.sampling import large_pools

METRICS = [AP, NDCG, Recall @ 2, Recall @ 3]
both_ways = pytest.mark.parametrize("replace", [False, True])


def values_of(metric, n):
    return metric.of_rank(np.arange(1, n + 1), n)


def over_vertices(values, law, q):
    """The extremes over the distributions with this law: no vertex has more ranks than columns."""
    found = []
    for ranks in combinations(range(len(law)), law.shape[1]):
        p = np.linalg.lstsq(law[list(ranks)].T, q, rcond=None)[0]
        if p.min() > -1e-9 and np.allclose(p @ law[list(ranks)], q, atol=1e-10):
            found.append(p @ values[list(ranks)])
    return min(found), max(found)


def directly(values, **conditions):
    """The extremes by a linear program over the probabilities of all ranks, as it is written."""
    total = {"A_eq": np.ones((1, len(values))), "b_eq": [1.0]}
    ends = []
    for sign in (1, -1):
        found = optimize.linprog(sign * values, **{**total, **conditions}, method="highs-ds")
        assert found.status == 0
        ends.append(sign * found.fun)
    return tuple(ends)


def rises(n):
    """A @ p <= 0 where p falls."""
    return np.eye(n, k=1)[:-1] - np.eye(n)[:-1]


# Sharp bounds


@both_ways
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_sharp_bounds_by_going_through_all_vertices(metric, replace):
    n, sampler = 8, UniformSampling(2, replace)
    law = sampler.law(n)
    for p in np.random.default_rng(0).dirichlet(np.full(n, 0.5), size=5):
        found = inference.sharp_bounds(metric, p @ law, sampler, n)
        assert found == pytest.approx(over_vertices(values_of(metric, n), law, p @ law), abs=1e-8)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_sharp_bounds_of_a_decreasing_distribution(metric):
    n, sampler = 40, UniformSampling(4)
    law = sampler.law(n)
    p = np.sort(np.random.default_rng(1).dirichlet(np.ones(n)))[::-1]
    found = inference.sharp_bounds(metric, p @ law, sampler, n, falling=True)
    conditions = {
        "A_eq": law.T, "b_eq": p @ law, "A_ub": rises(n), "b_ub": np.zeros(n - 1)
    }  # fmt: skip
    assert found == pytest.approx(directly(values_of(metric, n), **conditions), abs=1e-6)
    wide = inference.sharp_bounds(metric, p @ law, sampler, n)
    assert wide.low - 1e-7 <= found.low <= p @ values_of(metric, n) + 1e-9
    assert p @ values_of(metric, n) - 1e-9 <= found.high <= wide.high + 1e-7


def test_sharp_bounds_use_every_rank():
    # So many ranks that the program begins with a part of them.
    n, sampler = 1500, UniformSampling(8)
    law = sampler.law(n)
    p = 1 / np.arange(1, n + 1) / sum(1 / np.arange(1, n + 1))
    for metric in (AP, Recall @ 350):
        found = inference.sharp_bounds(metric, p @ law, sampler, n)
        whole = directly(values_of(metric, n), A_eq=law.T, b_eq=p @ law)
        assert found == pytest.approx(whole, abs=1e-6)


def test_sharp_bounds_hold_what_is_true_where_the_law_is_hard_to_tell():
    n, sampler = 400, UniformSampling(60)
    rng = np.random.default_rng(2)
    for p in (rng.dirichlet(np.full(n, 0.1)), np.eye(n)[6]):
        truth = p @ values_of(Recall @ 10, n)
        low, high = inference.sharp_bounds(Recall @ 10, p @ sampler.law(n), sampler, n)
        assert 0 <= low <= truth + 1e-9 and truth - 1e-9 <= high <= 1


def test_auc_is_known_from_its_samples():
    n, sampler = 30, UniformSampling(3)
    p = np.random.default_rng(3).dirichlet(np.ones(n))
    found = inference.sharp_bounds(AUC, p @ sampler.law(n), sampler, n)
    assert found == pytest.approx([p @ values_of(AUC, n)] * 2, abs=1e-9)


def test_everything_is_known_where_everything_is_sampled():
    p = np.array([0.1, 0.4, 0.2, 0.3])
    found = inference.sharp_bounds(AP, p, UniformSampling(3), 4)
    assert found == pytest.approx([p @ values_of(AP, 4)] * 2, abs=1e-9)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ([0.5, 0.5], "sampled_law must be 3 probabilities with sum 1, got shape .2,. with sum 1"),
        ([0.5, 0.5, 0.5], "sum 1, got shape .3,. with sum 1.5"),
        ([1.5, -0.5, 0.0], "sampled_law must be finite numbers of at least 0.0, got -0.5"),
        # With two draws, neither above nor below by chance: no mixture of ranks can have this law.
        ([0.0, 1.0, 0.0], "no distribution of the ranks was found"),
    ],
)
def test_sharp_bounds_refuse(law, message):
    with pytest.raises(ValueError, match=message):
        inference.sharp_bounds(AP, law, UniformSampling(2, replace=True), 10)


def test_sharp_bounds_refuse_a_law_of_no_decreasing_distribution():
    sampler = UniformSampling(3)
    law = sampler.law(20)[14]  # every rank is 15
    assert inference.sharp_bounds(AP, law, sampler, 20)
    with pytest.raises(ValueError, match="no falling distribution of the ranks was found"):
        inference.sharp_bounds(AP, law, sampler, 20, falling=True)


def test_refuse_other_metrics_and_options():
    other = InverseSampling()
    with pytest.raises(ValueError, match=r"sampler must be UniformSampling, .* got InverseSam"):
        inference.sharp_bounds(AP, [0.5, 0.5], other, 3)
    with pytest.raises(ValueError, match=r"sampler must be UniformSampling, .* got InverseSam"):
        inference.certified_interval(AP, Ranks([1, 2], 3), other, 9)
    with pytest.raises(ValueError, match="metric must be"):
        inference.sharp_bounds(3, [0.5, 0.5], UniformSampling(1), 3)
    with pytest.raises(ValueError, match="falling must be True or False, got 1"):
        inference.sharp_bounds(AP, [0.5, 0.5], UniformSampling(1), 3, falling=1)
    with pytest.raises(ValueError, match="n_items"):
        inference.sharp_bounds(AP, [0.5, 0.5, 0.0], UniformSampling(2), 2)


# The certified interval


@pytest.mark.parametrize("hits", [0, 1, 30, 99, 100])
def test_certified_interval_of_one_probability_is_that_of_clopper_and_pearson(hits):
    # Two items: the sampled rank is the rank, and Recall@1 the probability of rank 1.
    sampled = Ranks([1] * hits + [2] * (100 - hits), 2)
    found = inference.certified_interval(Recall @ 1, sampled, UniformSampling(1), 2, level=0.9)
    exact = stats.binomtest(hits, 100).proportion_ci(0.9, method="exact")
    assert found == pytest.approx((exact.low, exact.high), abs=1e-9)


def run(n, m, size, replace=False, seed=0):
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, n + 1)
    ranks = Ranks(rng.choice(np.arange(1, n + 1), size=size, p=p / p.sum()), n)
    return ranks, UniformSampling(m, replace).draw(ranks, rng)


@cache
def mean_laws(sampler, n):
    """The means of the laws of the ranks 1, ..., r for each r."""
    return np.cumsum(sampler.law(n), axis=0) / np.arange(1.0, n + 1)[:, None]


@pytest.mark.parametrize(
    ("metric", "replace"),
    [
        thorough(AP, False),
        *((M, False) for M in (AUC, NDCG, Recall @ 10, NDCG @ 300)),
        thorough(NDCG @ 300, True),  # smooth between jumps; the laws are the same for all metrics
    ],
    ids=str,
)
def test_means_over_the_first_ranks_of_a_large_pool(metric, replace):
    """Laws and metrics of the uniform distributions on 1, ..., r: running means over all ranks."""
    n, sampler = 60_000, UniformSampling(80, replace)
    pool, jumps = n - 1, large_pools.jumps_of(metric, 1, 1)
    net = large_pools.net_of(sampler, pool, jumps, whole=True)
    assert len(net.above) < n / 4 and (net.above == net.above.astype(int)).all()
    law, values = large_pools.means_up_to(
        sampler, net.above, pool, lambda a: large_pools.term_at(metric, a, pool), jumps
    )
    size = np.arange(1.0, n + 1)
    last = net.above.astype(int)
    every_law = mean_laws(sampler, n)
    every_value = np.cumsum(values_of(metric, n)) / size
    np.testing.assert_allclose(law, every_law[last], atol=1e-13)
    np.testing.assert_allclose(values, every_value[last], atol=1e-13)
    # No sum of them falls lower between the places than the net says.
    rng = np.random.default_rng(0)
    for scale in (0.0, 1.0, 30.0):
        weight = scale * rng.normal(size=sampler.m + 1)
        at_all = every_value - every_law @ weight
        lowest = net.lowest(values - law @ weight)
        assert lowest <= at_all.min() + 1e-13
        assert lowest > at_all.min() - 0.05 * np.ptp(at_all)


@pytest.mark.parametrize("replace", [thorough(True), False])
def test_decreasing_bounds_of_compressed_laws_are_those_of_all_ranks(replace, monkeypatch):
    n, sampler = 12_000, UniformSampling(20, replace)
    ranks = Ranks(1 + np.floor(n * np.random.default_rng(1).random(2_000) ** 3).astype(int), n)
    sampled = sampler.draw(ranks, 2)
    p = 1 / np.arange(10.0, n + 10)
    p /= p.sum()

    def both():
        metric = NDCG @ 10
        certified = inference.certified_interval(metric, sampled, sampler, n, falling=True)
        sharp = inference.sharp_bounds(metric, p @ sampler.law(n), sampler, n, falling=True)
        return np.array([certified, sharp])

    whole = both()
    monkeypatch.setattr(large_pools, "_SMALL", 2**16)
    assert large_pools.compressible(sampler, n - 1)
    # Wider by the net's slack, never narrower than by the solver's tolerance. Sharp bounds ask for
    # nearly dependent conditions to 1e-6, along directions that depend on which ranks there are.
    wider = (both() - whole) * [-1, 1]
    assert (wider > -1e-6).all() and (wider[0] < 3e-5).all() and (wider[1] < 1e-3).all()


@both_ways
@pytest.mark.parametrize("falling", [False, True])
def test_certified_interval_by_the_program_as_it_is_written(falling, replace):
    n, m, size = 60, 5, 500
    sampler = UniformSampling(m, replace)
    _, sampled = run(n, m, size, replace)
    upto = np.cumsum(sampler.law(n), axis=1)[:, :-1].T
    limits = [
        stats.binomtest(int((sampled.values <= s).sum()), size).proportion_ci(
            1 - 0.05 / m, method="exact"
        )
        for s in range(1, m + 1)
    ]
    rows = [upto, -upto] + [rises(n)] * falling
    right = [[c.high for c in limits], [-c.low for c in limits]] + [[0] * (n - 1)] * falling
    for metric in METRICS:
        found = inference.certified_interval(metric, sampled, sampler, n, falling=falling)
        conditions = {"A_ub": np.concatenate(rows), "b_ub": np.concatenate(right)}
        assert found == pytest.approx(directly(values_of(metric, n), **conditions), abs=1e-6)


@pytest.mark.parametrize("metric", [rs.RBP(0.8), rs.DCG, rs.RankScore(5)], ids=str)
def test_whether_a_distribution_is_found_does_not_depend_on_the_metric(metric):
    rng, n, sampler = np.random.default_rng(0), 120, rs.UniformSampling(20)
    ranks = rs.Ranks(np.minimum(n, 1 + rng.geometric(0.06, 150)), n)
    low, high = inference.sharp_bounds(metric, sampler.pmf(ranks).mean(axis=0), sampler, n)
    assert low - 1e-9 <= metric(ranks).mean() <= high + 1e-9


def test_certified_interval_holds_the_exact_metric_as_often_as_promised():
    n, m, level, repetitions = 30, 2, 0.5, 100
    sampler, metric = UniformSampling(m), AUC
    ranks, _ = run(n, m, 60)
    rng = np.random.default_rng(4)
    exact, held, known = metric(ranks).mean(), 0, {}
    for _ in range(repetitions):
        sampled = sampler.draw(ranks, rng)
        seen = tuple(np.bincount(sampled.values))  # the same counts have the same interval
        if seen not in known:
            known[seen] = inference.certified_interval(metric, sampled, sampler, n, level=level)
        held += known[seen].low <= exact <= known[seen].high
    assert held / repetitions >= level


def test_certified_interval_with_a_decreasing_distribution_is_for_its_mean():
    n, m = 50, 3
    sampler, rng = UniformSampling(m), np.random.default_rng(5)
    p = 1 / np.arange(1, n + 1) / sum(1 / np.arange(1, n + 1))
    truth, held = p @ values_of(Recall @ 10, n), 0
    for _ in range(25):
        ranks = Ranks(rng.choice(np.arange(1, n + 1), size=200, p=p), n)
        low, high = inference.certified_interval(
            Recall @ 10, sampler.draw(ranks, rng), sampler, n, level=0.8, falling=True
        )
        held += low <= truth <= high
    assert held >= 20


@pytest.mark.thorough
def test_certified_interval_of_many_samples_holds_the_sharp_bounds():
    n, m = 200, 110
    ranks, sampled = run(n, m, 2000)
    few = UniformSampling(20).draw(ranks, 0)
    law = UniformSampling(m).pmf(ranks).mean(axis=0)
    for metric in (AP, Recall @ 10):
        wide = inference.certified_interval(metric, few, UniformSampling(20), n)
        sharp = inference.sharp_bounds(metric, law, UniformSampling(m), n)
        found = inference.certified_interval(metric, sampled, UniformSampling(m), n)
        assert found.low <= sharp.low <= metric(ranks).mean() <= sharp.high <= found.high
        assert found.high - found.low < (wide.high - wide.low) / 2


def test_certified_interval_shrinks_with_assumptions_and_confidence():
    _, sampled = run(200, 10, 2000)
    sampler = UniformSampling(10)

    def interval(**options):
        return inference.certified_interval(AP, sampled, sampler, 200, **options)

    inside = [
        (interval(level=0.5), interval(level=0.95)),
        (interval(level=0.95), interval(level=0.999)),
        (interval(falling=True), interval()),
    ]
    for narrow, wide in inside:
        assert wide.low <= narrow.low < narrow.high <= wide.high
        assert wide.high - wide.low > narrow.high - narrow.low + 1e-4


def test_certified_interval_of_more_instances_nears_the_sharp_bounds():
    n, sampler = 100, UniformSampling(4)
    ranks, _ = run(n, 4, 300)
    law = sampler.pmf(ranks).mean(axis=0)
    sharp = inference.sharp_bounds(AP, law, sampler, n)
    width = []
    for times in (1, 100, 10_000):
        counts = np.round(law * 300 * times).astype(int)
        sampled = RankCounts(np.arange(1, 6), counts, 5)
        found = inference.certified_interval(AP, sampled, sampler, n)
        assert found.low <= sharp.low + 1e-4 and sharp.high - 1e-4 <= found.high
        width.append(found.high - found.low)
    assert width[0] > width[1] > width[2]
    assert width[2] == pytest.approx(sharp.high - sharp.low, abs=0.01)


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, np.nan])
def test_certified_interval_refuses_other_levels(level):
    with pytest.raises(ValueError, match="level must be"):
        inference.certified_interval(AP, Ranks([1, 2], 3), UniformSampling(2), 9, level=level)


def test_certified_interval_refuses_what_is_no_run_of_the_sampler():
    with pytest.raises(ValueError, match=r"n_items = m \+ 1 = 3, got 4 in instance 0"):
        inference.certified_interval(AP, Ranks([1, 2], 4), UniformSampling(2), 9)


def test_certified_interval_refuses_sampled_ranks_that_no_distribution_can_give():
    sampled = Ranks([2] * 500, 3)
    with pytest.raises(ValueError, match="^no distribution of the ranks was found that has such"):
        inference.certified_interval(AP, sampled, UniformSampling(2, replace=True), 100)


def test_certified_interval_tells_ranks_of_a_list_that_was_cut_off():
    # A program on which the simplex method gives up.
    ranks, sampled = run(2000, 60, 3000)
    cut = Ranks(np.minimum(sampled.values, 9), 61)
    with pytest.raises(ValueError, match="^no distribution of the ranks was found that has such"):
        inference.certified_interval(AP, cut, UniformSampling(60), 2000)


@pytest.mark.parametrize(
    ("metric", "replace"),
    [(AP, False), (AUC, True), thorough(Recall @ 10, False), thorough(NDCG @ 100, True)],
    ids=str,
)
def test_a_net_of_ranks_gives_hardly_wider_intervals_than_all_of_them(metric, replace, monkeypatch):
    n, sampler = 8_000, UniformSampling(8, replace)
    ranks = Ranks(1 + (n * np.linspace(0, 0.999, 2_000) ** 3).astype(int), n)
    sampled = sampler.draw(ranks, rng=0)
    monkeypatch.setattr(large_pools, "_SMALL", 2**40)
    dense = inference.certified_interval(metric, sampled, sampler, n)
    law = sampler.pmf(ranks).mean(axis=0)
    sharp = inference.sharp_bounds(metric, law, sampler, n)
    monkeypatch.setattr(large_pools, "_SMALL", 0)
    few = inference.certified_interval(metric, sampled, sampler, n)
    assert dense.low - 1e-4 < few.low < dense.low + 1e-7
    assert dense.high - 1e-7 < few.high < dense.high + 1e-4
    found = inference.sharp_bounds(metric, law, sampler, n)
    assert found == pytest.approx(sharp, abs=2e-4)
    assert found.low < metric(ranks).mean() + 1e-6 and found.high > metric(ranks).mean() - 1e-6


@pytest.mark.parametrize("metric", [AP, Recall @ 10], ids=str)
def test_a_coarse_net_never_gives_a_closer_interval_than_all_ranks(metric, monkeypatch):
    """What may happen between the places of a net is made up for, however few these are."""
    n, sampler = 8_000, UniformSampling(8)
    ranks = Ranks(np.minimum(np.random.default_rng(0).geometric(0.002, 300), n), n)
    sampled = sampler.draw(ranks, rng=0)
    monkeypatch.setattr(large_pools, "_SMALL", 2**40)
    dense = inference.certified_interval(metric, sampled, sampler, n)
    monkeypatch.setattr(large_pools, "_SMALL", 0)
    monkeypatch.setattr(large_pools, "_POINTS", 1)
    few = inference.certified_interval(metric, sampled, sampler, n)
    assert metric.of_rank(n, n) <= few.low <= dense.low
    assert dense.high < few.high <= metric.of_rank(1, n)
