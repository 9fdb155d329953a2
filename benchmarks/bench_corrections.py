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
USERS, OURS = 100_000, "few ranks with weights"


@pytest.mark.parametrize("n_items", [10**5, 10**8])
@pytest.mark.parametrize("metric", [AP, NDCG @ 10], ids=str)
@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction(in_turns, name, metric, n_items):
    about = {"case": f"{name} of {metric}", "n_items": n_items, "m": SAMPLER.m}
    (found,) = in_turns({OURS: CORRECTIONS[name]}, metric, n_items, **about).values()
    assert 0 <= found.squared_bias < 1e-3


@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction_from_all_ranks(in_turns, name, monkeypatch, scale):
    """What it takes without Gauss rules, where the memory suffices."""

    def found(small):
        monkeypatch.setattr(large_pools, "_SMALL", small)
        return CORRECTIONS[name](AP, n_items)

    n_items = max(scale(20_000), 2 * SAMPLER.m)
    contenders = {"all ranks": lambda: found(2**40), OURS: lambda: found(0)}
    in_turns(contenders, case=f"{name} of AP", n_items=n_items, m=SAMPLER.m)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction_with_a_given_prior(in_turns, name, scale):
    n_items = scale(10**6) + SAMPLER.m
    prior = rs.inference.plausible_prior(n_items)
    about = {"case": f"{name} of AP, prior given", "n_items": n_items, "m": SAMPLER.m}
    in_turns({OURS: CORRECTIONS[name]}, AP, n_items, prior, **about)


def run(n_items, m, users):
    places = np.random.default_rng(0).random(users) ** 4
    ranks = rs.Ranks(1 + (n_items * places).astype(np.int64), n_items)
    sampler = rs.UniformSampling(m)
    return sampler.draw(ranks, rng=0), sampler


@pytest.mark.parametrize("n_items", [10**6, 10**8])
def test_report(in_turns, n_items, scale):
    sampled, _ = run(n_items, 100, scale(USERS))
    about = {"case": f"report of {USERS:,} users", "n_items": n_items, "m": 100}
    in_turns({OURS: lambda: rs.report(sampled, n_items=n_items)}, **about)


@pytest.mark.parametrize("method", ["em", "mes"])
def test_rank_distribution(in_turns, method, scale):
    n_items = 10**6
    sampled, sampler = run(n_items, 100, scale(USERS))
    about = {"case": f'rank_distribution, method "{method}"', "n_items": n_items, "m": 100}
    given = sampled, sampler, n_items, method
    (p,) = in_turns({OURS: rs.inference.rank_distribution}, *given, **about).values()
    assert p.shape == (n_items,)
