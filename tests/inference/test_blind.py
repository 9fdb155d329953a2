"""What limits under "decreasing" cannot see: against runs at sizes that are not in the record."""

import csv
import json
from itertools import pairwise

import numpy as np
import pytest
from record_blind import POPULATIONS, STUDY, failures, log_uniform, run_of

import recsample as rs
from recsample.evaluation.sampled import _blind
from recsample.inference import blind_spot
from recsample.inference.likelihood.sampled_run import SURPRISE, SampledRun


@pytest.mark.parametrize(
    ("users", "unseen", "seen"),
    # Refuted in 0 of 6 runs and in 5 of 6; with more users in 3 of 6 at 50.
    [(6_000, 50, 120), (100_000, 25, 100)],
)
def test_the_blind_spot_of_a_review_that_tried_by_hand(users, unseen, seen):
    assert unseen < blind_spot(23_716, 100, users).ranks < seen


@pytest.mark.parametrize(
    ("size", "at_least"),
    # Limits held in 17 % of the runs, in none of 30 and in none of 8.
    [((1_000, 20, 500), 0.75), ((23_716, 100, 6_000), 0.9), ((10**6, 100, 100_000), 0.9)],
)
def test_limits_fail_as_often_as_in_a_review(size, at_least):
    assert blind_spot(*size).fails >= at_least


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(4_000, 40, 2_000), (9_000, 20, 5_000)])
def test_half_of_the_runs_see_what_is_missing_at_the_blind_spot(size):
    n, m, users = size
    b, rng, runs = blind_spot(n, m, users).ranks, np.random.default_rng(0), 20
    seen = {
        factor: sum(
            run_of(log_uniform(n, round(factor * b), users, rng), n, m, rng).misfit("decreasing")
            < SURPRISE
            for _ in range(runs)
        )
        for factor in (0.6, 1.7)
    }
    # Of 20 runs that see it in half of the cases 10, give or take 4.5.
    assert seen[0.6] < 10 + 4.5 and seen[1.7] > 10 - 4.5 and seen[1.7] > seen[0.6] + 4


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "n", "m", "users"),
    [
        ("log-normal, median 148", 9_000, 50, 2_000),
        ("30 % in 11 to 30, flat", 20_000, 50, 300),
        ("nobody on 1 to 5", 1_500, 50, 3_000),
    ],
)
def test_no_population_tried_is_worse_than_the_worst(name, n, m, users):
    share = failures(POPULATIONS[name], n, m, users, 20, np.random.default_rng(0)).max()
    worst = blind_spot(n, m, users).fails
    assert 0.5 < share <= worst + 3 * np.sqrt(worst * (1 - worst) / 20) + 0.01


def test_ten_populations_were_tried():
    assert len(POPULATIONS) == 10 and "worst of 10 populations" in str(rs.inference.BlindSpot(1, 1))


@pytest.mark.parametrize(
    "sizes",
    [
        [(n, 100, 5_000) for n in (1_000, 5_000, 23_716, 10**6, 10**9)],
        [(23_716, m, 5_000) for m in (5, 10, 20, 50, 100, 250, 1_000, 5_000)],
        [(23_716, 100, users) for users in (10, 100, 300, 2_000, 30_000, 10**6)],
    ],
)
def test_the_blind_spot_shrinks_with_samples_and_users_and_grows_with_the_pool(sizes):
    found = [blind_spot(*size).ranks for size in sizes]
    if sizes[0][0] == sizes[1][0]:
        found.reverse()
    assert all(a <= b for a, b in pairwise(found)) and found[0] < found[-1]
    assert all(b <= 0.2 * n for b, (n, _, _) in zip(sorted(found), sorted(sizes)))


def recorded_failures():
    record = csv.DictReader(STUDY.file.read_text(encoding="utf-8").splitlines())
    for row in record:
        if row["part"] == "fails":
            size = (int(row[name]) for name in ("n_items", "m", "n_instances"))
            yield tuple(size), float(row["value"])


def test_limits_fail_as_often_as_at_the_worst_of_the_sizes_around():
    """Between 30 and 100 items for each drawn one, 10 and 100 of these, 1,000 and 10,000 users."""
    around = [
        value
        for (n, m, users), value in recorded_failures()
        if n / m in (30, 100) and m in (10, 100) and users in (1_000, 10_000)
    ]
    assert len(around) == 8 and min(around) < max(around)
    assert blind_spot(50 * 40, 40, 3_000).fails == max(around)


def test_limits_fail_as_often_as_is_recorded_of_a_size():
    """From ten items for each drawn one on; of fewer nothing is recorded."""
    for (n, m, users), value in recorded_failures():
        assert blind_spot(n, m, users).fails == value
        assert np.isnan(blind_spot(10 * m - 1, m, users).fails)


def test_nothing_is_hidden_where_nearly_all_is_drawn():
    assert str(blind_spot(500, 499, 5_000)) == "" and blind_spot(500, 499, 5_000).ranks == 0


@pytest.mark.parametrize("name", ["n_items", "m", "n_instances"])
def test_sizes_are_whole_numbers(name):
    size = {"n_items": 1_000, "m": 100, "n_instances": 1_000} | {name: 0}
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, got 0"):
        blind_spot(**size)


def test_a_report_says_once_what_it_cannot_see():
    x = rs.datasets.recorded_ranks()["X"][:800]
    sampled = rs.UniformSampling(m=100).draw(x, rng=0)
    found = rs.report(sampled, metrics=["Recall@10", "AP", "AUC"])
    expected = blind_spot(round(np.mean(x.n_items)), 100, len(x))
    assert found.blind == expected and expected.ranks >= 10
    assert found.footnote.count(str(expected)) == 1
    # Within these ranks nothing is said that rests on what the data do not show.
    assert ["if rank" in one for one in found.sentences] == [False, True, False]
    assert json.loads(found.to_json())["blind"] == expected._asdict()
    linear = rs.report(sampled, metrics=["AUC"])
    assert linear.blind is None and "At this size" not in linear.footnote
    assert json.loads(linear.to_json())["blind"] is None


def test_counts_have_the_blind_spot_of_the_ranks_that_they_count():
    often, sizes = np.array([900, 100]), np.array([400, 20_000])
    counts, ranks = rs.RankCounts([1, 2], often, 21), rs.Ranks(np.repeat([1, 2], often), 21)
    rows = {"": {"assumption": "decreasing"}}
    for one, n in ((counts, sizes), (ranks, np.repeat(sizes, often))):
        found = _blind(SampledRun(one, n, False, [rs.AP]), rows)
        assert found == blind_spot(2_360, 20, 1_000)


def test_what_is_not_recorded_is_null_in_json():
    flat = rs.Ranks(1 + np.arange(500) % 100, n_items=100)
    found = rs.report(rs.UniformSampling(m=20).draw(flat, rng=0))
    assert np.isnan(found.blind.fails) and json.loads(found.to_json())["blind"]["fails"] is None
    assert "populations tried" not in found.footnote
