"""Limits by betting, and the grades of limits from sampled ranks."""

from math import comb

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample.inference.likelihood.betting import betting_limit


def by_capital(values, end, chance):
    """The same by the definition: the capital of each mean of a fine grid, one value at a time."""
    grid = np.linspace(np.mean(values), end, 20_001)
    capital, most = np.ones(len(grid)), np.ones(len(grid))
    for i, x in enumerate(values):
        seen = [end / 2, *values[:i]]
        centres = [np.mean(seen[: j + 1]) for j in range(i)]
        squares = sum((y - c) ** 2 for y, c in zip(values[:i], centres))
        variance = (squares + (end / 2) ** 2) / (i + 1)
        rate = np.sqrt(2 * np.log(1 / chance) / (variance * len(values)))
        bet = np.minimum(rate, 0.5 / np.maximum(end - grid, 1e-300))
        capital = capital * (1 + bet * (grid - x))
        most = np.maximum(most, capital)
    refuted = np.flatnonzero(most >= 1 / chance)
    return grid[refuted[0]] if len(refuted) else end


@pytest.mark.parametrize("end", [1.0, 1.7])
def test_a_limit_is_where_the_capital_first_grows_so_far(end):
    values = np.random.default_rng(0).normal(0.2, 0.3, 60).clip(-1, end)
    assert betting_limit(values, end, 0.025) == pytest.approx(
        by_capital(values, end, 0.025), abs=2e-4
    )


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9])
def test_a_limit_of_hits_holds_as_often_as_it_says(share):
    """Enumerated over the number of hits among ten, in a dozen orders of each."""
    missed, n = 0.0, 10
    for hits in range(n + 1):
        rng = np.random.default_rng(hits)
        orders = [rng.permutation(np.arange(n) < hits) * 1.0 for _ in range(12)]
        below = np.mean([betting_limit(x, 1.0, 0.1) < share for x in orders])
        missed += comb(n, hits) * share**hits * (1 - share) ** (n - hits) * below
    assert missed <= 0.1


def test_a_limit_holds_for_values_without_a_lower_end():
    rng, held = np.random.default_rng(1), 0
    for _ in range(300):
        values = 1 - rng.exponential(1.0, 100)  # of mean 0, and up to 1
        held += betting_limit(values, 1.0, 0.1) >= 0
    assert held / 300 >= stats.binom.ppf(0.001, 300, 0.9) / 300


@pytest.fixture(scope="module")
def sampled():
    rng = np.random.default_rng(0)
    ranks = rs.Ranks(np.floor(np.exp(rng.random(1500) * np.log(500))).astype(int), 500)
    return ranks, rs.UniformSampling(30).draw(ranks, rng)


def test_grades_hold_the_exact_value_and_cost_width(sampled):
    ranks, drawn = sampled
    exact = (rs.Recall @ 10)(ranks).mean()
    found = {
        grade: rs.inference.limits(rs.Recall @ 10, drawn, 500, grade=grade)
        for grade in ("measured", "conjectured", "proved")
    }
    assert all(one.low < exact < one.high for one in found.values())
    width = {grade: one.high - one.low for grade, one in found.items()}
    assert width["proved"] > width["measured"] and width["proved"] < 1.5 * width["measured"]


def test_those_who_choose_are_not_scored(sampled):
    """Whatever the first fifth saw, limits of a linear metric are those of the others."""
    _, drawn = sampled
    others = drawn.values[300:]
    changed = rs.Ranks(np.append(np.full(300, 31), others), 31)
    found = rs.inference.limits(rs.AUC, changed, 500, grade="conjectured")
    alone = rs.inference.limits(rs.AUC, rs.Ranks(others, 31), 500)
    # A column is counted, and many different values share the numbers of a grid.
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), abs=1e-5)


@pytest.mark.parametrize("grade", ["conjectured", "proved"])
def test_counts_have_no_order(grade, sampled):
    counts = rs.RankCounts.of(sampled[1].values, 31)
    with pytest.raises(ValueError, match="sampled must be Ranks, which have an order"):
        rs.inference.limits(rs.AP, counts, 500, grade=grade)
    with pytest.raises(ValueError, match="grade must be 'measured', 'conjectured' or 'proved'"):
        rs.inference.limits(rs.AP, counts, 500, grade="sure")
