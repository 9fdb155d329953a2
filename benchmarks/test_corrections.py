"""Corrections, bounds, distributions and reports of large pools."""

import numpy as np
import pytest

import recsample as rs
from recsample import AP, NDCG
from recsample.sampling import _compressed

SAMPLES = 1_000
CORRECTIONS = {
    "bias and variance": lambda metric, n: rs.BiasVariance(
        metric, rs.UniformSampling(SAMPLES), n, gamma=0.1
    ),
    "constrained least squares": lambda metric, n: rs.ConstrainedLeastSquares(
        metric, rs.UniformSampling(SAMPLES), n
    ),
    "minimal bias": lambda metric, n: rs.MinimalBias(metric, rs.UniformSampling(SAMPLES), n),
}


@pytest.mark.parametrize("n_items", [10**5, 10**8])
@pytest.mark.parametrize("metric", [AP, NDCG @ 10], ids=str)
@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction(benchmark, name, metric, n_items):
    benchmark.group = f"{name}, m = {SAMPLES}"
    found = benchmark(CORRECTIONS[name], metric, n_items)
    assert 0 <= found.squared_bias < 1e-3


@pytest.mark.parametrize("name", CORRECTIONS)
@pytest.mark.parametrize("all_ranks", [False, True])
def test_correction_from_all_ranks(benchmark, name, all_ranks, monkeypatch):
    """What it takes without Gauss rules, where the memory suffices."""
    benchmark.group = f"{name}, n = 20,000, m = {SAMPLES}"
    monkeypatch.setattr(_compressed, "_SMALL", 2**40 if all_ranks else 0)
    benchmark.pedantic(CORRECTIONS[name], (AP, 20_000), rounds=1)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction_with_a_given_prior(benchmark, name):
    n_items, sampler = 10**6, rs.UniformSampling(SAMPLES)
    prior = rs.inference.plausible_prior(n_items)
    make = {
        "bias and variance": lambda: rs.BiasVariance(AP, sampler, n_items, gamma=0.1, prior=prior),
        "constrained least squares": lambda: rs.ConstrainedLeastSquares(
            AP, sampler, n_items, prior=prior
        ),
        "minimal bias": lambda: rs.MinimalBias(AP, sampler, n_items, prior=prior),
    }
    benchmark.group = f"with a prior of 1,000,000 ranks, m = {SAMPLES}"
    benchmark(make[name])


def run(n_items, m, users=100_000):
    places = np.random.default_rng(0).random(users) ** 4
    ranks = rs.Ranks(1 + (n_items * places).astype(np.int64), n_items)
    sampler = rs.UniformSampling(m)
    return sampler.draw(ranks, rng=0), sampler


@pytest.mark.parametrize("n_items", [10**6, 10**8])
def test_report(benchmark, n_items):
    sampled, _ = run(n_items, 100)
    benchmark.group = "report of 100,000 users, m = 100"
    found = benchmark.pedantic(rs.report, (sampled,), {"n_items": n_items}, rounds=3)
    assert found.table.notna().all(axis=None)


@pytest.mark.parametrize("n_items", [10**6, 10**8])
def test_certified_interval(benchmark, n_items):
    sampled, sampler = run(n_items, 100)
    benchmark.group = "certified interval, m = 100"
    low, high = benchmark.pedantic(
        rs.inference.certified_interval, (AP, sampled, sampler, n_items), rounds=3
    )
    assert low < high


@pytest.mark.parametrize("method", ["em", "mes", "spline"])
def test_rank_distribution(benchmark, method):
    n_items = 10**6
    sampled, sampler = run(n_items, 100)
    benchmark.group = "distribution over 1,000,000 ranks, m = 100"
    p = benchmark.pedantic(
        rs.inference.rank_distribution, (sampled, sampler, n_items, method), rounds=3
    )
    assert p.shape == (n_items,)
