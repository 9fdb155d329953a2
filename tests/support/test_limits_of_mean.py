"""Limits of a mean of values that lie in a range."""

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample._support.numerics import limits_of_mean, students

RANGE = (0.0, 1.0)


@pytest.mark.parametrize(("n", "hits"), [(8, 0), (8, 8), (30, 2), (100, 0), (100, 1), (1000, 9)])
def test_of_few_hits_they_are_those_of_clopper_and_pearson(n, hits):
    values = np.arange(n) < hits
    exact = stats.binomtest(hits, n).proportion_ci(method="exact")
    found = limits_of_mean(values * 1.0, 0.95, ends=RANGE)
    # The law of the sum is approximated, by a hundredth of the distance at the most.
    assert found == pytest.approx((exact.low, exact.high), abs=0.01 * (exact.high - exact.low))


@pytest.mark.parametrize("level", [0.5, 0.999])
def test_a_million_misses_leave_what_clopper_and_pearson_leave(level):
    n = 10**6
    most = stats.binomtest(0, n).proportion_ci(level, method="exact").high
    found = limits_of_mean(np.zeros(1), level, np.array([n]), RANGE)
    assert found == pytest.approx((0, most), rel=0.01)


def test_where_enough_values_vary_they_are_students_cut_to_the_range():
    values = np.random.default_rng(0).random(200)
    student = stats.t.interval(0.95, 199, values.mean(), stats.sem(values))
    assert limits_of_mean(values, 0.95, ends=RANGE) == pytest.approx(student, rel=1e-12)
    assert limits_of_mean(values, 0.95) == pytest.approx(student, rel=1e-12)
    near = np.random.default_rng(1).beta(0.05, 0.3, 60)
    low, high = limits_of_mean(near, 0.95, ends=RANGE)
    assert 0 <= low < near.mean() < high <= 1


@pytest.mark.parametrize("values", [[0.0] * 8, [1.0] * 50, [0.3, 0.3], [0.0, 1.0], [0.99] * 300])
def test_they_are_inside_the_range_and_never_of_width_0(values):
    low, high = limits_of_mean(np.array(values), 0.95, ends=RANGE)
    assert 0 <= low <= np.mean(values) <= high <= 1 and high - low > 1 / (2 * len(values))


def test_values_that_are_alike_tell_nothing_where_no_range_is_known():
    assert limits_of_mean(np.full(8, 0.25), 0.95) == (-np.inf, np.inf)
    assert students(np.full((1, 8), 0.25), 0.95, None) == ([-np.inf], [np.inf], [0.5])


def test_counts_stand_for_as_many_values():
    values, counts = np.array([0.0, 0.5, 1.0]), np.array([40, 3, 2])
    each = np.repeat(values, counts)
    for ends in (RANGE, None):
        found = limits_of_mean(values, 0.95, counts, ends)
        assert found == pytest.approx(limits_of_mean(each, 0.95, ends=ends), rel=1e-9)


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-1.0, 0.9), None])
def test_many_rows_at_once_have_the_limits_of_each_row(ends):
    """Rows with Student's limits, few that vary, all alike, and values beyond the range."""
    rng = np.random.default_rng(0)
    few, alike = (rng.random((4, 60)) < 0.05) * 1.0, np.outer([0.0, 0.25, -1.0, 1.0], np.ones(60))
    rows = np.vstack([rng.uniform(-1, 1, (4, 60)), few, -few, alike])
    low, high, chance = students(rows, 0.99, ends)
    assert chance[:4] == pytest.approx(
        stats.ttest_1samp(rows[:4], 0, axis=1, alternative="less").pvalue
    )
    for row, *found in zip(rows, low, high, chance):
        limits = limits_of_mean(row, 0.99, ends=ends)
        assert found == pytest.approx([*limits, students(row[None], 0.99, ends)[2][0]], rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_probability_is_the_level_at_which_a_limit_is_0(seed):
    rng = np.random.default_rng(seed)
    values = (rng.random(60) < 0.2) * 1.0 - (rng.random(60) < 0.05)
    chance = students(values[None], 0.95, (-1.0, 1.0))[2][0]
    assert 0.5 < chance < 1
    low, _ = limits_of_mean(values, 2 * chance - 1, ends=(-1.0, 1.0))
    assert low == pytest.approx(0, abs=1e-6)


def good_recommender(rng):
    """Sampled AUC of 300 users, all within rank 5 of ten thousand, among 20 drawn items."""
    rank = rng.integers(1, 6, 300)
    return 1 - rng.hypergeometric(rank - 1, 10_000 - rank, 20) / 20


def nearly_all(rng):
    """99 % of the users on rank 1, and 1 % on the last."""
    rank = np.where(rng.random(300) < 0.99, 1, 10_000)
    return 1 - rng.hypergeometric(rank - 1, 10_000 - rank, 20) / 20


def gains(rng):
    rank = np.ceil(1000 * rng.random(100) ** 4)
    return np.where(rank <= 10, 1 / np.log2(rank + 1), 0)


RANKS = np.arange(1, 11)
SHARES = (RANKS / 1000) ** 0.25 - ((RANKS - 1) / 1000) ** 0.25


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (good_recommender, 1 - 2 / 9_999),
        (nearly_all, 0.99),
        (gains, float(SHARES @ (1 / np.log2(RANKS + 1)))),
    ],
)
def test_they_hold_as_often_as_they_say(draw, mean):
    n_runs, held = 400, 0
    for seed in range(n_runs):
        low, high = limits_of_mean(draw(np.random.default_rng(seed)), 0.95, ends=RANGE)
        held += low <= mean <= high
    assert stats.binomtest(held, n_runs, 0.95, "less").pvalue > 0.001


def test_what_is_printed_is_inside_the_range_and_of_some_width():
    few = rs.evaluate(np.tile(-np.arange(9.0), (8, 1)), np.full(8, 8), metrics=["Recall@1", "AUC"])
    low, high = few.table.loc["Recall@1", ["low", "high"]]
    assert low == 0 < 0.3 < high < 0.4  # .369: 1 - .025^(1/8)
    assert (few.table["high"] > few.table["low"]).all() and (few.table["low"] >= 0).all()
    two = rs.report([1, 1], m=9, n_items=100, drawn="uniform", replace=False, metrics=["AUC"])
    low, high = two.table.loc["AUC", ["low", "high"]]
    assert 0 <= low < 0.5 and high == 1
