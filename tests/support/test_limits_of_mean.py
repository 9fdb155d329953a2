"""Limits of a mean of values that lie in a range."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample._support import numerics
from recsample._support.numerics import limits_of_mean, limits_of_means, upper_limits

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


def chance_above(values, at):
    """Of a mean of different values with random weights, as a divided difference."""
    k, chance = len(values) - 1, Fraction(0)
    for i, x in enumerate(values):
        others = [x - y for j, y in enumerate(values) if j != i]
        chance += max(x - at, Fraction(0)) ** k / math.prod(others)
    return chance


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    "values", [[3], [97], [0, 50], [1, 2, 3], [10, 20, 30, 95], [0, 1, 2, 3, 4, 40, 60]]
)
def test_limits_of_few_values_are_quantiles_of_their_random_mean(values, level):
    """Whose law is known; by the approximation limits hold more often, if anything."""
    exact = [Fraction(value, 100) for value in values]
    low, high = limits_of_mean(np.array(values) / 100, level, ends=(-0.01, 1.01))
    above = chance_above([*exact, Fraction(101, 100)], Fraction(high))
    below = 1 - chance_above([Fraction(-1, 100), *exact], Fraction(low))
    tail = np.array([float(above), float(below)]) / ((1 - level) / 2)
    assert (0.9 < tail).all() and (tail < 1.005).all()


@pytest.mark.parametrize("ends", [None, (0.0, 0.9)], ids=["not known", "passed"])
def test_where_no_range_is_known_or_values_pass_it_they_are_students(ends):
    values = np.random.default_rng(0).random(200)
    student = stats.t.interval(0.95, 199, values.mean(), stats.sem(values))
    assert limits_of_mean(values, 0.95, ends=ends) == pytest.approx(student, rel=1e-12)
    test = stats.ttest_1samp(values, 0, alternative="less")
    chance = limits_of_means(values[None] - 0.5, 0.95, None)[2]
    assert chance == pytest.approx(stats.ttest_1samp(values, 0.5, alternative="less").pvalue)
    assert limits_of_means(values[None], 0.95, None)[2] == pytest.approx(test.pvalue)


@pytest.mark.parametrize("n", [200, 5_000])
@pytest.mark.parametrize("kind", ["even", "one", "rare", "hits", "AP"])
def test_many_values_are_grouped_with_hardly_any_difference(kind, n, monkeypatch):
    """Their limits become wider, if anything, by less than a thousandth."""
    rng = np.random.default_rng(0)
    values = {
        "even": rng.random(n),
        "one": np.append(1.0, 1e-3 * rng.random(n - 1)),
        "rare": np.where(rng.random(n) < 0.01, rng.random(n), 1e-4 * rng.random(n)),
        "hits": (rng.random(n) < 0.02) * 1.0,
        "AP": 1 / np.ceil(3_000 * rng.random(n) ** 2),
    }[kind]
    low, high = limits_of_mean(values, 0.95, ends=RANGE)
    monkeypatch.setattr(numerics, "_GROUPS", n)
    least, most = limits_of_mean(values, 0.95, ends=RANGE)
    room = 1e-3 * (most - least)
    assert least - room <= low <= least + 1e-9 * room
    assert most - 1e-9 * room <= high <= most + room


def test_of_many_users_they_are_hardly_wider_than_students():
    for values in rs.AP(rs.datasets.recorded_ranks()["X"]), np.random.default_rng(0).random(1_000):
        (student,) = np.diff(limits_of_mean(values, 0.95))
        assert student < np.diff(limits_of_mean(values, 0.95, ends=RANGE))[0] < 1.05 * student


@pytest.mark.parametrize("values", [[0.0] * 8, [1.0] * 50, [0.3, 0.3], [0.0, 1.0], [0.99] * 300])
def test_they_are_inside_the_range_and_never_of_width_0(values):
    low, high = limits_of_mean(np.array(values), 0.95, ends=RANGE)
    assert 0 <= low <= np.mean(values) <= high <= 1 and high - low > 1 / (2 * len(values))


def test_values_that_are_alike_tell_nothing_where_no_range_is_known():
    assert limits_of_mean(np.full(8, 0.25), 0.95) == (-np.inf, np.inf)
    assert limits_of_means(np.full((1, 8), 0.25), 0.95, None) == ([-np.inf], [np.inf], [0.5])


def test_counts_stand_for_as_many_values():
    values, counts = np.array([0.0, 0.5, 1.0]), np.array([40, 3, 2])
    each = np.repeat(values, counts)
    for ends in (RANGE, None):
        found = limits_of_mean(values, 0.95, counts, ends)
        assert found == pytest.approx(limits_of_mean(each, 0.95, ends=ends), rel=1e-9)


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-1.0, 0.9), None])
def test_many_rows_at_once_have_the_limits_of_each_row(ends, n):
    """Rows that vary, few values that vary, all alike, and values beyond the range."""
    rng = np.random.default_rng(0)
    few, alike = (rng.random((4, n)) < 0.05) * 1.0, np.outer([0.0, 0.25, -1.0, 1.0], np.ones(n))
    rows = np.vstack([rng.uniform(-1, 1, (4, n)), few, -few, alike])
    found = np.transpose(limits_of_means(rows, 0.99, ends))
    each = [np.ravel(limits_of_means(row[None], 0.99, ends)) for row in rows]
    assert found == pytest.approx(np.array(each), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_one_size_have_the_limits_of_their_means(seed):
    rng = np.random.default_rng(seed)
    values, groups = rng.random((40, 5)) ** 3, np.repeat(np.arange(40), 5)
    found = limits_of_mean(values.ravel(), 0.95, ends=RANGE, groups=groups)
    wanted = limits_of_mean(values.mean(axis=1), 0.95, ends=RANGE)
    assert found == pytest.approx(wanted, abs=1e-5)


def test_a_limit_by_groups_is_where_a_random_mean_of_their_sums_is_0():
    """With random weights, and one more group, as large as the largest, with all at the end."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, 30)
    groups, end = np.repeat(np.arange(30), sizes), 1.5
    values = 0.2 * sizes[groups] * rng.random(len(groups))
    (limit,), (chance,) = upper_limits(values[None], end, 0.9, np.ones(len(groups)), groups)
    weights = rng.dirichlet(np.ones(31), 100_000)

    def above(t):
        sums = np.bincount(groups, values - t)
        return np.mean(weights @ np.append(sums, sizes.max() * (end - t)) > 0)

    # Within four standard errors, and some more, as the chance is approximated.
    assert above(limit) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 100_000) + 0.001)
    assert values.mean() < limit < end and chance == 0.5


@pytest.mark.parametrize("several", [False, True], ids=["users", "groups"])
@pytest.mark.parametrize("seed", range(3))
def test_the_probability_is_the_level_at_which_a_limit_is_0(seed, several):
    """Also of groups of unlike sizes."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(60), rng.integers(1, 6, 60)) if several else None
    n = 60 if groups is None else len(groups)
    values = (rng.random(n) < 0.2) * 1.0 - (rng.random(n) < 0.05)
    chance = limits_of_means(values[None], 0.95, (-1.0, 1.0), groups=groups)[2][0]
    assert 0.5 < chance < 1
    low, _ = limits_of_mean(values, 2 * chance - 1, ends=(-1.0, 1.0), groups=groups)
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


def rare_first(first, eighth, others):
    """AP where few users are on rank 1, many on ranks around 8, and the rest far behind."""
    ranks, shares = np.arange(1, 2_001), np.zeros(2_000)
    shares[0] = first
    shares[others[0] - 1 : others[1]] = eighth / (others[1] - others[0] + 1)
    shares[199:] = (1 - first - eighth) / 1_801
    return ranks, shares


CELLS = {"rank 8": rare_first(0.012, 0.3, (8, 8)), "ranks 6 to 12": rare_first(0.01, 0.4, (6, 12))}


def held(draw, mean, ends, n_runs):
    """In how many runs."""
    rng = np.random.default_rng(0)
    low, high, _ = limits_of_means(np.array([draw(rng) for _ in range(n_runs)]), 0.95, ends)
    return np.count_nonzero((low <= mean) & (mean <= high))


@pytest.mark.thorough
@pytest.mark.parametrize("n_users", [100, 200])
@pytest.mark.parametrize("cell", CELLS)
def test_they_hold_where_few_users_make_up_the_mean(cell, n_users):
    """Also of a difference from a recommender that has all of them far behind."""
    ranks, shares = CELLS[cell]
    exact, n_runs = float(shares @ (1 / ranks)), 1_000

    def draw(rng):
        return 1 / rng.choice(ranks, n_users, p=shares)

    def difference(rng):
        return draw(rng) - 1 / rng.integers(200, 2_001, n_users)

    off = float(np.mean(1 / np.arange(200, 2_001)))
    least = stats.binom.ppf(0.001, n_runs, 0.95)
    assert held(draw, exact, RANGE, n_runs) >= least
    assert held(difference, exact - off, (-1.0, 1.0), n_runs) >= least
    assert held(draw, exact, None, n_runs) < least  # Student's


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
    assert held(draw, mean, RANGE, 1_000) >= stats.binom.ppf(0.001, 1_000, 0.95)


def test_a_single_user_has_limits():
    """An AP from 1/3 to 1 with the mean c is below x with the chance (1 - c) / (1 - x) at most."""
    found = rs.evaluate([[0.1, 0.5, 0.3]], [2], metrics=["AP"]).table.loc["AP"]
    low, value, high = found[["low", "value", "high"]]
    assert value == 0.5 and 1 - high == pytest.approx(0.025 * (1 - value), rel=0.06)
    assert low - 1 / 3 == pytest.approx(0.025 * (value - 1 / 3), rel=0.06)


def test_what_is_printed_is_inside_the_range_and_of_some_width():
    few = rs.evaluate(np.tile(-np.arange(9.0), (8, 1)), np.full(8, 8), metrics=["Recall@1", "AUC"])
    low, high = few.table.loc["Recall@1", ["low", "high"]]
    assert low == 0 < 0.3 < high < 0.4  # .369: 1 - .025^(1/8)
    assert (few.table["high"] > few.table["low"]).all() and (few.table["low"] >= 0).all()
    two = rs.report([1, 1], m=9, n_items=100, drawn="uniform", replace=False, metrics=["AUC"])
    low, high = two.table.loc["AUC", ["low", "high"]]
    assert 0 <= low < 0.5 and high == 1
