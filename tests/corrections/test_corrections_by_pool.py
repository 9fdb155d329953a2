"""Corrections where every instance has a pool of its own size, against one solved for each size."""

from functools import cache

import numpy as np
import pytest

import recsample as rs
from recsample import AP, AUC, NDCG, Ranks, Recall, UniformSampling
from recsample._support import checks
from recsample.corrections.by_pool import corrected_by_pool

M = 30
MAKERS = {
    "bias and variance": lambda metric, sampler: (
        lambda n: rs.BiasVariance(metric, sampler, n, gamma=0.1)
    ),
    "little gamma": lambda metric, sampler: (
        lambda n: rs.BiasVariance(metric, sampler, n, gamma=1e-5)
    ),
    "constrained": lambda metric, sampler: lambda n: rs.ConstrainedLeastSquares(metric, sampler, n),
    "minimal bias": lambda metric, sampler: lambda n: rs.MinimalBias(metric, sampler, n),
    "rank estimate": lambda metric, sampler: lambda n: rs.RankEstimate(metric, sampler, n),
    "a prior": lambda metric, sampler: (
        lambda n: rs.BiasVariance(metric, sampler, n, gamma=0.1, prior=1 / np.arange(1, n + 1))
    ),
}


def counting(make):
    """The same, and a list of the sizes that it was asked for."""
    seen = []

    def watched(n):
        seen.append(n)
        return make(n)

    return watched, seen


def one_by_one(make, sampled, sizes):
    make = cache(make)
    return np.concatenate([make(int(n))(sampled[[i]]) for i, n in enumerate(sizes)])


def run(n_instances, low, high, seed=0, n_relevant=1):
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(np.log(low), np.log(high), n_instances)).astype(int)
    rows = [rng.choice(M + n_relevant, n_relevant, replace=False) + 1 for _ in sizes]
    return Ranks([sorted(row) for row in rows], M + n_relevant), sizes


@pytest.mark.parametrize(
    ("metric", "replace"),
    [(AP, False), (AUC, True), (NDCG @ 10, False), (Recall @ 10, True)],
    ids=str,
)
def test_many_sizes_take_few_solutions(metric, replace):
    make, seen = counting(MAKERS["bias and variance"](metric, UniformSampling(M, replace)))
    sampled, sizes = run(400, 300, 5_000)
    found = corrected_by_pool(make, sampled, sizes)
    assert len(set(seen)) < 40 and len(set(sizes.tolist())) > 300
    some = np.arange(0, len(sizes), 10)
    expected = one_by_one(make, sampled[some], sizes[some])
    assert np.abs(found[some] - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_correction(kind):
    make = MAKERS[kind](AP, UniformSampling(M))
    sampled, sizes = run(60, 200, 2_000, seed=1)
    found, expected = corrected_by_pool(make, sampled, sizes), one_by_one(make, sampled, sizes)
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.thorough
def test_where_compressed_laws_begin_values_stay_smooth(monkeypatch):
    """Some of the solutions are from all ranks and some from few: no kink between them."""
    monkeypatch.setattr("recsample.sampling.large_pools._SMALL", 2**16)
    make, seen = counting(MAKERS["bias and variance"](NDCG, UniformSampling(M)))
    sampled, sizes = run(100, 1_000, 5_000)
    found = corrected_by_pool(make, sampled, sizes)
    used = len(set(seen))
    few = [len(make(n)._rows()[0]) < n for n in sorted(set(seen))]
    assert used < 40 and any(few) and not all(few)
    monkeypatch.undo()
    expected = one_by_one(make, sampled, sizes)
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_several_relevant_items_and_ties():
    make = MAKERS["bias and variance"](AP, UniformSampling(M))
    rng, rows, ties = np.random.default_rng(2), [], []
    n_relevant = rng.integers(1, 4, 80)
    for n in n_relevant:
        start = int(rng.integers(1, 20))
        rows.append(list(range(start, start + n)))  # tied with each other and with some others
        ties.append([int(rng.integers(0, 8))] * n)
    sampled = Ranks(rows, M + n_relevant, ties=ties)
    sizes = rng.integers(100, 2_000, len(rows))
    found, expected = corrected_by_pool(make, sampled, sizes), one_by_one(make, sampled, sizes)
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_one_size_for_all_is_the_correction():
    make, seen = counting(MAKERS["constrained"](AP, UniformSampling(M)))
    sampled, _ = run(50, 100, 200)
    assert (corrected_by_pool(make, sampled, 150) == make(150)(sampled)).all()
    assert seen == [150, 150]


def test_counts_have_a_size_for_each_row():
    make = MAKERS["bias and variance"](AP, UniformSampling(M))
    counts = rs.RankCounts([1, 5], [3, 1], M + 1)
    found = counts.mean(lambda ranks: corrected_by_pool(make, ranks, [100, 300]))
    assert found == pytest.approx((3 * make(100).values[0] + make(300).values[4]) / 4, abs=1e-12)


def test_the_mean_over_draws_is_the_expectation_in_each_pool():
    """A user with few items, and one with many."""
    sampler = UniformSampling(M)
    make = MAKERS["little gamma"](AP, sampler)
    ranks = Ranks([3, 40], [60, 5_000])
    rng = np.random.default_rng(3)
    many = ranks[np.repeat([0, 1], 20_000)]
    found = corrected_by_pool(make, sampler.draw(many, rng), many.n_items).reshape(2, -1)
    expected = [float(sampler.expect(make(n), ranks[[i]])[0]) for i, n in enumerate([60, 5_000])]
    error = found.std(axis=1) / np.sqrt(found.shape[1])
    assert (np.abs(found.mean(axis=1) - expected) < 4 * error).all()


def test_nothing_relevant():
    make = MAKERS["bias and variance"](AP, UniformSampling(M))
    sampled = Ranks([[], [1]], [M, M + 1])
    with pytest.warns(UserWarning, match="undefined for 1 of 2"):
        found = corrected_by_pool(make, sampled, [100, 200])
    assert np.isnan(found[0]) and found[1] == make(200).values[0]


GOOD = MAKERS["bias and variance"](AP, UniformSampling(M))
TWO = Ranks([1, 2], M + 1)


def of_a_design(n):
    return rs.BiasVariance(AP, rs.DoublingSampling(5, 20), n, gamma=0.1)


def alternating(n):
    return rs.BiasVariance(AP if n % 2 else AUC, UniformSampling(M), n, gamma=0.1)


@pytest.mark.parametrize(
    ("make", "sampled", "sizes", "said"),
    [
        (GOOD, [1, 2], 100, "sampled must be Ranks, got list"),
        (GOOD, rs.RankCounts([1], [2], M + 1), 100, "sampled must be Ranks .* got RankCounts"),
        (GOOD, TWO, [100] * 3, r"n_items must be one number or one for each of 2 .*\(3,\)"),
        (GOOD, TWO, [100, 2.5], "n_items must be whole numbers of at least 1, got 2.5"),
        (GOOD, TWO, [100, M], "n_items must leave at least 30 irrelevant"),
        (GOOD, Ranks([1, 2], [M + 1, M]), 100, "n_items = m [+] 1 = 31 .* got n_items = 30"),
        (lambda n: AP, TWO, 100, "make must give a correction for a pool of n_items=100, got AP"),
        (lambda n: GOOD(99), TWO, 100, "make must give a correction for a pool of n_items=100"),
        (of_a_design, TWO, 100, "reads what DoublingSampling.* observes, which is no ranking"),
        (alternating, TWO, [100, 101], "make must give corrections of one metric and sampler"),
    ],
)
def test_what_is_refused(make, sampled, sizes, said):
    with pytest.raises(ValueError, match=said):
        corrected_by_pool(make, sampled, sizes)


def test_values_of_more_sizes_than_the_memory_holds_are_refused_before_any_more_are_solved(
    monkeypatch,
):
    make, seen = counting(MAKERS["rank estimate"](AP, UniformSampling(M)))
    sampled, sizes = run(2_000, 1_000, 100_000)
    monkeypatch.setattr(checks, "available", lambda: 1_500_000.0)
    with pytest.raises(ValueError, match="values for .* pools with m=30 .* give fewer instances"):
        corrected_by_pool(make, sampled, sizes)
    assert len(seen) == 1
