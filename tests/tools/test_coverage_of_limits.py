"""The study of coverage: its populations are what they are said to be, its shares are counts."""

from pathlib import Path

import coverage_of_limits
import numpy as np
import pytest
from coverage_of_limits import populations

import recsample as rs
from recsample.inference import limits


@pytest.mark.parametrize("n", [1000, 3541, 20_000])
def test_populations_are_distributions_of_the_kind_that_is_said(n):
    found = populations(n)
    head = np.arange(n) < np.ceil(0.2 * n)
    for name, population in found.items():
        p = population.chances
        assert p.shape == (n,)
        assert p.min() >= 0
        assert p.sum() == pytest.approx(1)
        if name in "XYZ":
            continue  # drawn from a law, so that it falls but for chance
        falls = bool((np.diff(p[head]) <= 1e-12).all())
        assert population.decreasing == falls, name
        assert falls or not population.smooth


def test_smooth_populations_are_mixtures_of_decays():
    """A completely monotone sequence has differences of alternating sign, all of them."""
    for name, population in populations(3541).items():
        head = population.chances[:300]
        signs = [(-1) ** k * np.diff(head, k) for k in range(1, 5)]
        falls = all((s >= -1e-12).all() for s in signs)
        if population.smooth:
            assert falls, name
        elif name in ("steps", "40 % up to 50, flat"):
            assert not falls, name


FLAT = populations(1000)["r^-0.6"]


def test_shares_are_those_of_a_loop():
    """The same draws, judged by the public function one by one."""
    study = coverage_of_limits.coverage(
        FLAT, m=20, n_instances=300, metrics=["Recall@10"], repetitions=6, rng=1
    )
    rng, sampler, metric = np.random.default_rng(1), rs.UniformSampling(20), rs.Recall @ 10
    held, for_all, widths, errors = [], [], [], []
    truth = FLAT.chances[:10].sum()
    cumulated = np.cumsum(FLAT.chances)
    for _ in range(6):
        ranks = rs.Ranks(1 + np.searchsorted(cumulated, rng.random(300) * cumulated[-1]), 1000)
        one = limits(metric, sampler.draw(ranks, rng), 1000)
        exact = metric(ranks).mean()
        held.append(one.low - 1e-4 <= exact <= one.high + 1e-4)
        for_all.append(one.low - 1e-4 <= truth <= one.high + 1e-4)
        widths.append(one.high - one.low)
        errors.append(one.value - exact)
    row = study.loc[("decreasing", "Recall@10")]
    assert row["held"] == np.mean(held)
    assert row["held for all"] == np.mean(for_all)
    assert row["width"] == pytest.approx(np.median(widths))
    assert row["error"] == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert study.loc[("report", "Recall@10"), "contradicted"] == 0


def test_errors_of_corrections_are_those_of_many_runs():
    table = coverage_of_limits.errors_of_corrections(FLAT, m=20, n_instances=200, metrics=["AP"])
    rng, sampler = np.random.default_rng(1), rs.UniformSampling(20)
    correction = rs.BiasVariance(rs.AP, sampler, 1000, gamma=0.01)
    chances = FLAT.chances / FLAT.chances.sum()
    exact = chances @ (1 / np.arange(1, 1001))
    means = []
    for _ in range(200):
        ranks = rs.Ranks(rng.choice(np.arange(1, 1001), 200, p=chances), 1000)
        means.append(correction(sampler.draw(ranks, rng)).mean() - exact)
    row = table.loc[("BV 0.01", "AP")]
    error = np.std(means, ddof=1)
    assert row["bias"] == pytest.approx(np.mean(means), abs=4 * error / np.sqrt(200))
    assert row["std"] == pytest.approx(error, rel=4 / np.sqrt(400))
    assert row["error"] == pytest.approx(np.hypot(row["bias"], row["std"]))


# What was recorded: every claim that the book makes of the limits is one of these.


@pytest.fixture(scope="module")
def recorded():
    pd = pytest.importorskip("pandas")
    return pd.read_csv(Path(__file__).parents[2] / "book" / "data" / "coverage.csv")


def test_limits_held_wherever_their_assumption_does(recorded):
    """At least 93 % of the runs, but for the luck of a study with that many runs and cells."""
    table = recorded[recorded["method"].isin(["none", "decreasing", "smooth"])]
    table = table[(table["repetitions"] >= 100) & (table["metric"] != "AUC")]
    unnamed = table["population"].str.contains("pools|items")  # decreasing, all of them
    of_class = (table["method"] == "none") | (unnamed & (table["method"] == "decreasing"))
    for assumption in ("decreasing", "smooth"):
        of_class |= (table["method"] == assumption) & (table[assumption] == True)  # noqa: E712
    luck = 3 * np.sqrt(0.93 * 0.07 / table["repetitions"])
    failed = table[of_class & (table["held"] < 0.93 - luck)]
    assert failed.empty, failed[["population", "method", "metric", "held"]]


# The same draws again, and everything that is said of them by public functions.


def test_instances_are_drawn_from_all_of_the_given_ones():
    """Three instances, so that each is drawn at once, with pools of their own."""
    three = rs.Ranks([1, 2, 30], [40, 50, 60])
    study = coverage_of_limits.coverage(
        three, m=9, n_instances=50, metrics=["AUC"], repetitions=8, rng=3
    )
    rng, found = np.random.default_rng(3), []
    for _ in range(8):
        ranks = three[rng.integers(0, 3, 50)]
        one = limits(rs.AUC, rs.UniformSampling(9).draw(ranks, rng), ranks.sizes)
        exact, over_all = rs.AUC(ranks).mean(), np.mean([1, 48 / 49, 30 / 59])
        held = [one.low <= x <= one.high for x in (exact, over_all)]
        found.append([*held, one.high - one.low, (one.value - exact) ** 2])
    held, for_all, width, square = np.transpose(found)
    expected = held.mean(), for_all.mean(), np.median(width), np.sqrt(square.mean())
    assert study.loc[("report", "AUC")][:4].tolist() == pytest.approx(expected)
