"""What would bring limits closer; where a plan leads is tested with the report that makes it."""

import numpy as np
import pytest

import recsample as rs


@pytest.mark.parametrize(("pool", "offered"), [(159, False), (160, True)])
def test_more_samples_are_at_most_a_quarter_of_the_pool(pool, offered):
    ranks = rs.Ranks(1 + np.arange(2000) % (pool + 1), pool + 1)
    found = rs.report(rs.UniformSampling(20).draw(ranks, rng=0), n_items=pool + 1, metrics=["AUC"])
    low, high = found.table.loc["AUC", ["low", "high"]]
    plan = found.plan("AUC", 0.995 * (high - low))
    assert plan["setting"].get("more samples") == ("m = 40" if offered else None)
