"""What would bring limits closer; where a plan leads is tested with the report that makes it."""

import numpy as np
import pytest
from scipy import optimize, stats

import recsample as rs


@pytest.mark.parametrize(("pool", "offered"), [(159, False), (160, True)])
def test_more_samples_are_at_most_a_quarter_of_the_pool(pool, offered):
    ranks = rs.Ranks(1 + np.arange(2000) % (pool + 1), pool + 1)
    found = rs.report(rs.UniformSampling(20).draw(ranks, rng=0), n_items=pool + 1, metrics=["AUC"])
    low, high = found.table.loc["AUC", ["low", "high"]]
    plan = found.plan("AUC", 0.995 * (high - low))
    assert plan["setting"].get("more samples") == ("m = 40" if offered else None)


@pytest.mark.parametrize("metric", ["Recall@3", "RR"])
def test_users_to_rank_are_those_of_the_largest_variance_that_the_data_allow(metric):
    """The same maximum by a general optimiser, over the distributions that fit nearly as well."""
    ranks = rs.Ranks(np.random.default_rng(0).choice(12, 250, p=np.arange(12, 0, -1) / 78) + 1, 12)
    found = rs.report(rs.UniformSampling(4).draw(ranks, 1), metrics=[metric])
    evidence, width = found.ranked.evidence[""], 1e-3
    planned = found.plan(metric, width).loc["rank all items", "users"] * width**2 / (4 * 1.96**2)
    (mixture,) = evidence.mixtures(rs.metric(metric), "decreasing")
    (best,) = evidence.best("decreasing")

    def fit(weights):
        return mixture.counts @ np.log(mixture.law @ weights)

    def variance(weights):
        return mixture.square @ weights - (mixture.mean @ weights) ** 2

    fits = {"type": "ineq", "fun": lambda w: fit(w) - fit(best) + stats.chi2.isf(0.2, 1) / 2}
    one = {"type": "eq", "fun": lambda w: w.sum() - 1}
    largest = optimize.minimize(
        lambda w: -variance(w),
        np.full(len(best), 1 / len(best)),
        bounds=[(1e-12, 1)] * len(best),
        constraints=[fits, one],
        options={"maxiter": 500},
    )
    assert largest.success and variance(best) < -largest.fun
    assert planned == pytest.approx(-largest.fun, rel=0.01)


def test_a_plan_names_the_users_to_rank_first():
    """Exact limits of a share are so close at the earliest, where nobody is a hit."""
    ranks = rs.Ranks(np.random.default_rng(0).integers(1, 501, 2000), 500)
    found = rs.report(rs.UniformSampling(20).draw(ranks, 1), metrics=["Recall@10"])
    setting = found.plan("Recall@10", 0.05).loc["rank all items", "setting"]
    first = int(setting.removeprefix("first "))
    wide = [stats.binomtest(0, k).proportion_ci(0.95, "exact").high for k in (first - 1, first)]
    assert wide[1] <= 0.05 < wide[0]


def test_users_to_rank_are_enough_whatever_the_luck_of_their_study():
    """Of so large a pilot the share of hits is known: what is left is who is ranked exactly."""
    ranks = rs.Ranks(np.repeat([1, 2, 10], [6000, 4000, 90_000]), 12)
    found = rs.report(rs.UniformSampling(10).draw(ranks, 1), metrics=["Recall@2"])
    users, width = int(found.plan("Recall@2", 0.05).loc["rank all items", "users"]), 0.05
    hits = np.random.default_rng(0).binomial(users, 0.1, 4000) / users
    reached = 2 * stats.norm.isf(0.025) * np.sqrt(hits * (1 - hits) / users)
    assert 0.88 < (reached <= width).mean() < 0.97


@pytest.mark.thorough
def test_more_samples_are_enough_where_the_first_ranks_hold_a_step():
    """A step at the cut-off is at stake to the last, and the best fit of a run blurs it."""
    n, sampler, reached = 1000, rs.UniformSampling(20), []
    chances = np.full(n, 0.9 / n) + 0.01 * (np.arange(n) < 10)

    def ranks(rng):
        return rs.Ranks(rng.choice(n, 800, p=chances) + 1, n)

    for seed in range(3):
        rng = np.random.default_rng(seed)
        found = rs.report(sampler.draw(ranks(rng), rng), metrics=["Recall@10"])
        low, high = found.table.loc["Recall@10", ["low", "high"]]
        plan = found.plan("Recall@10", 0.7 * (high - low))
        if "more samples" in plan.index:
            more = rs.UniformSampling(int(plan["setting"]["more samples"].removeprefix("m = ")))
            again = rs.inference.limits(rs.Recall @ 10, more.draw(ranks(rng), rng), n)
            reached.append((again.high - again.low) / (high - low))
    assert len(reached) >= 2 and max(reached) <= 0.7


@pytest.mark.thorough
def test_more_samples_assume_no_more_than_the_limits():
    """Limits that do not rest on "decreasing" come closer more slowly than those that do."""
    n, reached = 1000, []
    chances = np.where(np.arange(n) < 50, 0, 0.76 / (n - 50)) + 0.24 * (np.arange(n) == 10)
    for seed in range(2):
        rng = np.random.default_rng(seed)

        def report(m, rng=rng):
            ranks = rs.Ranks(rng.choice(n, 2000, p=chances) + 1, n)
            return rs.report(rs.UniformSampling(m).draw(ranks, rng), metrics=["Recall@10"])

        found = report(100)
        low, high, assumption = found.table.loc["Recall@10", ["low", "high", "assumption"]]
        assert assumption == "none"
        plan = found.plan("Recall@10", 0.7 * (high - low))
        if "more samples" in plan.index:
            again = report(int(plan["setting"]["more samples"].removeprefix("m = "))).table
            reached.append((again["high"] - again["low"])["Recall@10"] / (high - low))
    assert all(one <= 0.7 for one in reached)
