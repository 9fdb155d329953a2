"""From how many samples on sampling takes longer than ranking everything, by factors."""

import numpy as np
import pytest

import recsample as rs

USERS, ITEMS, DIMENSIONS = 500, 3_706, 16


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(size, DIMENSIONS)) for size in (USERS, ITEMS))
    return users, items, rng.integers(0, ITEMS, USERS), rng


def about(benchmark, contender, m):
    case = f"{USERS} users, {ITEMS:,} items, {DIMENSIONS} dimensions"
    benchmark.extra_info |= {"case": case, "m": m, "contender": contender}


def test_all_items(benchmark, run):
    users, items, relevant, _ = run
    about(benchmark, "all items", ITEMS - 1)
    ranks = benchmark.pedantic(rs.predicted_ranks, ((users, items), relevant), rounds=10)
    assert len(ranks) == USERS


@pytest.mark.parametrize("m", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
def test_sampled_items(benchmark, run, m):
    users, items, relevant, rng = run
    about(benchmark, "sampled", m)

    def sample():
        # The relevant item's index is skipped, so that only irrelevant ones are drawn.
        drawn = rng.integers(0, ITEMS - 1, (USERS, m))
        drawn += drawn >= relevant[:, None]
        own = np.einsum("ud,ud->u", users, items[relevant])
        return (np.einsum("ud,umd->um", users, items[drawn]) > own[:, None]).sum(axis=1)

    above = benchmark.pedantic(sample, rounds=10)
    assert above.max() <= m
