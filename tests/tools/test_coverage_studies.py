"""The studies behind the recorded coverage, against the same draws and public functions."""

import coverage_studies
import numpy as np
import pytest
from coverage_of_limits import populations
from scipy import stats

import recsample as rs
from recsample.inference.comparison import Comparison, compared
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.planning import users_to_rank

FLAT = populations(1000)["r^-0.6"]


def drawn_from(population, n, rng):
    cumulated = np.cumsum(population.chances)
    values = 1 + np.searchsorted(cumulated, rng.random(n) * cumulated[-1])
    return rs.Ranks(values, len(cumulated))


def test_corrections_have_intervals_of_a_normal_distribution():
    study = coverage_studies.coverage_of_others(
        FLAT, m=10, n_instances=100, metrics=["AP"], repetitions=1, rng=5
    )
    rng, sampler = np.random.default_rng(5), rs.UniformSampling(10)
    ranks = drawn_from(FLAT, 100, rng)
    values = rs.BiasVariance(rs.AP, sampler, 1000, gamma=0.1)(sampler.draw(ranks, rng))
    low, high = stats.norm.interval(0.95, values.mean(), stats.sem(values))
    over_all = FLAT.chances @ (1 / np.arange(1, 1001))
    held, for_all = (float(low <= exact <= high) for exact in (rs.AP(ranks).mean(), over_all))
    row = study.loc[("BV 0.1", "AP")]
    assert row[:3].tolist() == pytest.approx([held, for_all, high - low])


def test_intervals_of_a_design_are_for_these_users_and_for_all():
    """Those of one run are far too narrow for other users."""
    study = coverage_studies.coverage_of_designs(FLAT, n_instances=60, repetitions=30, rng=2)
    rng, design = np.random.default_rng(2), rs.InverseSampling()
    truth = FLAT.chances @ (1 / np.arange(1, 1001))
    found = {"one run": [], "Student": []}
    for _ in range(30):
        ranks = drawn_from(FLAT, 60, rng)
        observed, exact = design.draw(ranks, rng), rs.AP(ranks).mean()
        values = design.of(rs.AP, observed)
        noise = np.sqrt(design.estimated_variance(rs.AP, observed).sum()) / 60
        intervals = {
            "one run": stats.norm.interval(0.95, values.mean(), noise),
            "Student": stats.t.interval(0.95, 59, values.mean(), stats.sem(values)),
        }
        for method, (low, high) in intervals.items():
            found[method].append([low <= exact <= high, low <= truth <= high, high - low])
    for method, rows in found.items():
        held, for_all, width = np.transpose(rows)
        expected = held.mean(), for_all.mean(), np.median(width)
        assert study.loc[method].tolist() == pytest.approx(expected), method
    assert study.loc["one run", "held for all"] < study.loc["one run", "held"]


def test_pairs_are_of_the_instances_that_were_drawn():
    """Some runs of the design decide, and none of the correction."""
    a, b = rs.Ranks([1, 4, 9, 30, 90] * 9, 100), rs.Ranks([2, 3, 14, 50, 40] * 9, 100)
    study = coverage_studies.coverage_of_pairs(
        a, b, m=8, n_instances=40, metrics=["AP"], repetitions=6
    )
    rng, sampler, design = np.random.default_rng(0), rs.UniformSampling(8), rs.InverseSampling()
    correction = rs.BiasVariance(rs.AP, sampler, 100, gamma=0.1)
    found = {"BV 0.1, paired": [], "design": []}
    for _ in range(6):
        which = rng.integers(0, 45, 40)
        exact = (rs.AP(a[which]) - rs.AP(b[which])).mean()
        runs = [sampler.draw(r[which], rng) for r in (a, b)]
        off = correction(runs[0]) - correction(runs[1])
        observed = [design.draw(r[which], rng) for r in (a, b)]
        one = rs.inference.paired_comparison(rs.AP, *observed, level=0.95)
        intervals = stats.norm.interval(0.95, off.mean(), stats.sem(off)), (one.low, one.high)
        for rows, (low, high) in zip(found.values(), intervals):
            sign = int(low > 0) - int(high < 0)
            rows.append([low <= exact <= high, high - low, sign != 0, sign * exact > 0])
    for method, rows in found.items():
        held, width, decided, right = np.transpose(rows)
        among = right.sum() / decided.sum() if decided.any() else np.nan
        expected = held.mean(), np.median(width), decided.mean(), among
        assert study.loc[method, "AP"].tolist() == pytest.approx(expected, nan_ok=True), method


def test_recommenders_of_a_pair_have_pools_of_their_own():
    a, b = rs.Ranks(np.arange(1, 21), 60), rs.Ranks(np.arange(1, 80, 4), 400)
    study = coverage_studies.coverage_of_pairs(
        a, b, m=20, n_instances=30, metrics=["AP"], repetitions=1, rng=3
    )
    rng, sampler = np.random.default_rng(3), rs.UniformSampling(20)
    which = rng.integers(0, 20, 30)
    runs = [sampler.draw(ranks[which], rng) for ranks in (a, b)]
    of_each = [SampledRun(r, size, False, [rs.AP]) for r, size in zip(runs, (60, 400))]
    one = compared(rs.AP, *of_each, supported(rs.AP, *of_each), 0.95)
    assert study.loc[("report", "AP"), "width"] == pytest.approx(one.high - one.low)


@pytest.mark.parametrize(
    ("low", "high", "decided"),
    [(-0.1, 0.0, 0), (0.0, 0.1, 0), (-0.1, 0.1, 0), (-0.2, -0.1, 1), (0.1, 0.2, 1)],
)
def test_a_run_decides_where_0_is_not_in_the_interval(monkeypatch, low, high, decided):
    said = Comparison((low + high) / 2, low, high, 0.5)
    monkeypatch.setattr(coverage_studies, "compared", lambda *_: said)
    a, b = rs.Ranks([1, 2, 3], 9), rs.Ranks([2, 3, 4], 9)
    study = coverage_studies.coverage_of_pairs(
        a, b, m=4, n_instances=5, metrics=["AUC"], repetitions=1
    ).loc[("report", "AUC")]
    assert study["decided"] == decided
    if decided:
        assert study["right"] == (low > 0)


def test_a_plan_costs_the_more_the_fewer_users_would_do():
    """For limits of a share of hits, a fifth as wide as those of a report."""
    how = dict(m=20, n_instances=500, metrics=["Recall@10"], share=0.2, rng=3)
    plans = coverage_studies.coverage_of_plans(FLAT, repetitions=1, **how)
    rng = np.random.default_rng(3)
    sampled = rs.UniformSampling(20).draw(drawn_from(FLAT, 500, rng), rng)
    metric, evidence = rs.Recall @ 10, SampledRun(sampled, 1000, False, [rs.Recall @ 10])
    low, high, share = *evidence.limits(metric, "decreasing", 0.95), FLAT.chances[:10].sum()
    width = 0.2 * (high - low)
    planned = users_to_rank(metric, width, evidence).others
    needed = 4 * 1.96**2 * share * (1 - share) / width**2
    cost = plans.loc["Recall@10", "cost"]
    assert cost == pytest.approx(planned / needed, rel=0.03)
