"""Corrections, bounds, distributions and reports of large pools."""

import numpy as np
import pytest

import recsample as rs
from recsample import AP, NDCG
from recsample.sampling import large_pools

SAMPLER = rs.UniformSampling(1_000)
CORRECTIONS = {
    "BiasVariance": lambda metric, n, prior=None: rs.BiasVariance(
        metric, SAMPLER, n, gamma=0.1, prior=prior
    ),
    "ConstrainedLeastSquares": lambda metric, n, prior=None: rs.ConstrainedLeastSquares(
        metric, SAMPLER, n, prior=prior
    ),
    "MinimalBias": lambda metric, n, prior=None: rs.MinimalBias(metric, SAMPLER, n, prior=prior),
}
USERS = 100_000


def about(benchmark, case, n_items, m, contender="few ranks with weights"):
    benchmark.extra_info |= {"case": case, "n_items": n_items, "m": m, "contender": contender}


@pytest.mark.parametrize("n_items", [10**5, 10**8])
@pytest.mark.parametrize("metric", [AP, NDCG @ 10], ids=str)
@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction(benchmark, name, metric, n_items):
    about(benchmark, f"{name} of {metric}", n_items, SAMPLER.m)
    found = benchmark.pedantic(CORRECTIONS[name], (metric, n_items), rounds=2)
    assert 0 <= found.squared_bias < 1e-3


@pytest.mark.parametrize("name", CORRECTIONS)
@pytest.mark.parametrize("contender", ["few ranks with weights", "all ranks"])
def test_correction_from_all_ranks(benchmark, name, contender, monkeypatch):
    """What it takes without Gauss rules, where the memory suffices."""
    about(benchmark, f"{name} of AP", 20_000, SAMPLER.m, contender)
    monkeypatch.setattr(large_pools, "_SMALL", 2**40 if contender == "all ranks" else 0)
    benchmark.pedantic(CORRECTIONS[name], (AP, 20_000), rounds=1)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction_with_a_given_prior(benchmark, name):
    n_items = 10**6
    prior = rs.inference.plausible_prior(n_items)
    about(benchmark, f"{name} of AP, prior given", n_items, SAMPLER.m)
    benchmark.pedantic(CORRECTIONS[name], (AP, n_items, prior), rounds=1)


def run(n_items, m):
    places = np.random.default_rng(0).random(USERS) ** 4
    ranks = rs.Ranks(1 + (n_items * places).astype(np.int64), n_items)
    sampler = rs.UniformSampling(m)
    return sampler.draw(ranks, rng=0), sampler


@pytest.mark.parametrize("n_items", [10**6, 10**8])
def test_report(benchmark, n_items):
    sampled, _ = run(n_items, 100)
    about(benchmark, f"report of {USERS:,} users", n_items, 100)
    found = benchmark.pedantic(rs.report, (sampled,), {"n_items": n_items}, rounds=1)
    assert found.table.notna().all(axis=None)


@pytest.mark.parametrize("method", ["em", "mes"])
def test_rank_distribution(benchmark, method):
    n_items = 10**6
    sampled, sampler = run(n_items, 100)
    about(benchmark, f'rank_distribution, method "{method}"', n_items, 100)
    given = sampled, sampler, n_items, method
    p = benchmark.pedantic(rs.inference.rank_distribution, given, rounds=1)
    assert p.shape == (n_items,)
