"""How much memory is taken for granted: the machine's, or what a container leaves of it."""

import os
import tracemalloc

import numpy as np
import pandas as pd  # noqa: F401  (what is imported on the way is no memory of the work)
import pytest
from scipy import optimize, sparse, stats  # noqa: F401

import recsample as rs
from recsample import AP, NDCG, Ranks, UniformSampling, experiments, inference
from recsample._support import checks
from recsample.evaluation import reporting  # noqa: F401
from recsample.recommenders import ItemKNN

GIB = 2**30


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Sets how much memory there seems to be, and what containers say about their limits."""
    files = tmp_path / "v2", tmp_path / "v1"
    monkeypatch.setattr(checks, "_LIMITS", tuple(map(str, files)))
    monkeypatch.delenv("MEM_LIMIT", raising=False)

    def set_up(pages, *limits, variable=None):
        sizes = {"SC_PHYS_PAGES": pages, "SC_PAGE_SIZE": 4096}
        monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
        for file, limit in zip(files, limits):
            file.write_text(limit, encoding="utf-8")
        if variable is not None:
            monkeypatch.setenv("MEM_LIMIT", variable)
        checks.available_memory.cache_clear()
        return checks.available_memory()

    yield set_up
    checks.available_memory.cache_clear()


def test_memory_of_the_machine(machine):
    assert machine(1000) == 1000 * 4096


@pytest.mark.parametrize(
    ("limits", "variable", "expected"),
    [
        (["9223372036854771712\n"], None, 1000 * 4096),
        (["123456\n"], None, 123456),
        (["max\n", "77777\n"], None, 77777),
        ([], "54321", 54321),
        (["123456\n"], "54321", 54321),
        ([], "1G", 1000 * 4096),
    ],
)
def test_the_least_of_all_limits_holds(machine, limits, variable, expected):
    assert machine(1000, *limits, variable=variable) == expected


def test_where_the_machine_does_not_say_it_is_8_gib_and_asked_for_once(machine, monkeypatch):
    machine(1000)
    monkeypatch.delattr(os, "sysconf")
    assert checks.available_memory() == 1000 * 4096
    checks.available_memory.cache_clear()
    assert checks.available_memory() == 8 * GIB


def test_half_of_the_memory_is_used_and_no_byte_more(machine):
    machine(GIB // 4096 * 4)
    checks.check_memory(2 * GIB, "the law", "ask for less")
    with pytest.raises(
        ValueError, match=r"^the law takes 2\.0 GiB, and at most half of the memory \(2\.0 GiB\) is"
    ):
        checks.check_memory(2 * GIB + 1, "the law", "ask for less")
    with pytest.raises(ValueError, match=r"the law takes 1,536\.0 GiB, .* is used: ask for less$"):
        checks.check_memory(1536 * GIB, "the law", "ask for less")


U, N, M = 2_000, 4_000, 500  # users, items and samples: of a product of two there are millions
RNG = np.random.default_rng(0)
RANKS = Ranks(RNG.integers(1, N + 1, U), N)
SEVERAL = Ranks([range(1, 1_001)] + [[1]] * U, N)
SAMPLER = UniformSampling(M)
SAMPLED = SAMPLER.draw(RANKS, 0)
FACTORS = RNG.normal(size=(U, 4)), RNG.normal(size=(N, 4))
EVENTS = sparse.random(U, N, 0.001, format="csr", rng=0, dtype=bool)
RECOMMENDER = ItemKNN(n_neighbors=1).fit(EVENTS)
SMALL = {"A": Ranks([1, 3, 20], 40), "B": Ranks([2, 5, 11], 40)}


# What is called, what it says it cannot hold, and what it says should be changed.
ASKED = {
    "law": (lambda: SAMPLER.law(N), "the law for n_items=4000, m=500", "pmf"),
    "pmf": (lambda: SAMPLER.pmf(RANKS), "the law of .* instances", "some of the ranks"),
    "hits": (lambda: SAMPLER.pmf_of_hits(SEVERAL, 3), "the law of the hits", "some of the ranks"),
    "many orders": (
        lambda: UniformSampling(M).expect(NDCG, SEVERAL),
        "the table of NDCG with m=500",
        "smaller m",
    ),
    "ranks": (
        lambda: rs.predicted_ranks(FACTORS, EVENTS),
        "ranking .* relevant items",
        "fewer users",
    ),
    "scores": (lambda: RECOMMENDER.scores(range(U)), "the scores of 2000 users", "fewer users"),
    "correction": (
        lambda: rs.BiasVariance(AP, SAMPLER, N, gamma=0.1),
        "the least-squares problem for n_items=4000, m=500",
        "smaller m",
    ),
    "several relevant items": (
        lambda: rs.RankEstimate(AP, SAMPLER, N).values_of(1, 1_000),
        "the values for n_relevant=1000 items with m=500",
        "smaller m",
    ),
    "distribution": (
        lambda: inference.rank_distribution(SAMPLED, SAMPLER, 10**6),
        "a distribution over n_items=1000000 ranks",
        "smaller n_items",
    ),
    "prior": (
        lambda: inference.plausible_prior(10**6),
        "a plausible prior over n_items=1000000 ranks",
        "smaller n_items",
    ),
    "report": (
        lambda: rs.report(SAMPLED, n_items=N),
        "the law of what .* n_items=4000, m=500",
        "m",
    ),
    "repetitions": (
        lambda: experiments.table3(SMALL, m=10, repetitions=10**6),
        "the results of repetitions=1000000 with m=10",
        "fewer repetitions",
    ),
}
FEW = 2**22


@pytest.mark.parametrize("name", ASKED)
def test_memory_is_asked_for_before_the_work(name, monkeypatch):
    call, what, change = ASKED[name]
    monkeypatch.setattr(checks, "available_memory", lambda: float(FEW))
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=rf"{what}.* takes [\d,.]+ GiB, and at most half .* used: .*{change}"
        ):
            call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < FEW / 2
