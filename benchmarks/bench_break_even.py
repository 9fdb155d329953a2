"""From how many samples on sampling takes longer than ranking everything, by factors."""

from functools import partial

import numpy as np

import recsample as rs

USERS, ITEMS, DIMENSIONS = 500, 3_706, 16
SAMPLES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def test_samples_beside_all_items(in_turns):
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(size, DIMENSIONS)) for size in (USERS, ITEMS))
    relevant = rng.integers(0, ITEMS, USERS)

    def sample(m):
        # The relevant item's index is skipped, so that only irrelevant ones are drawn.
        drawn = rng.integers(0, ITEMS - 1, (USERS, m))
        drawn += drawn >= relevant[:, None]
        own = np.einsum("ud,ud->u", users, items[relevant])
        return (np.einsum("ud,umd->um", users, items[drawn]) > own[:, None]).sum(axis=1)

    contenders = {"all items": lambda: rs.predicted_ranks((users, items), relevant)}
    contenders |= {f"m = {m}": partial(sample, m) for m in SAMPLES}
    more = {f"m = {m}": {"contender": "sampled", "m": m} for m in SAMPLES}
    case = f"{USERS} users, {ITEMS:,} items, {DIMENSIONS} dimensions"
    found = in_turns(contenders, case=case, m=ITEMS - 1, more=more)
    assert len(found["all items"]) == USERS and found["m = 512"].max() <= 512
