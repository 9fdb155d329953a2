"""The recorded studies: made again where that is fast, and against public functions."""

import subprocess
import sys

import numpy as np
import pytest
import record
import record_populations
import record_studies
from record_coverage import corrections, coverage, pairs
from record_populations import FALLING, HUMPED, RECORDED, chances, kind_of
from scipy import stats

import recsample as rs
from recsample.inference import limits

pd = pytest.importorskip("pandas")

FAST = {
    "coverage": {"part": "corrections", "population": "two steps", "n_instances": 300},
    "estimates": {"population": "ties, r^-1", "n_items": 1000, "m": 100},
    "blind": {"part": "ranks", "m": 10, "n_instances": 100},
}


@pytest.mark.parametrize(("name", "known"), FAST.items())
def test_a_record_can_be_made_again(name, known, tmp_path):
    """One cell of it, as if its rows were deleted, and nothing else."""
    study, file = record.STUDIES[name], tmp_path / "record.csv"
    (cell,) = (one for one in study.cells if one.items() >= known.items())
    rows = record_studies.read(study.file)
    text = {key: str(value) for key, value in cell.items()}
    of_cell = [row for row in rows if row.items() >= text.items()]
    assert of_cell and len(of_cell) < len(rows)
    record_studies.write(file, [row for row in rows if row not in of_cell])
    record_studies.run(study._replace(file=file))
    again, kept = (pd.read_csv(path) for path in (file, study.file))
    order = [*cell, *(column for column in again if again[column].dtype == object)]
    again, kept = (table.sort_values(order, ignore_index=True) for table in (again, kept))
    # Other processors sum in another order, and records have four digits at least.
    pd.testing.assert_frame_equal(again[kept.columns], kept, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", record.STUDIES)
def test_a_record_has_all_cells_and_no_other(name):
    study = record.STUDIES[name]
    names = dict.fromkeys(key for cell in study.cells for key in cell)
    asked = {tuple(str(cell.get(key, "")) for key in names) for cell in study.cells}
    found = {tuple(row[key] for key in names) for row in record_studies.read(study.file)}
    assert found == asked and len(asked) == len(study.cells)


def test_the_command_lists_what_there_is():
    out = subprocess.check_output([sys.executable, record.__file__], encoding="utf-8")
    assert [line.split()[0] for line in out.splitlines()] == [*record.STUDIES, *record.OF_MOVIELENS]


@pytest.mark.parametrize("n", [1000, 3541, 20_000])
def test_populations_are_distributions_of_the_kind_that_is_said(n):
    head = np.arange(n) < np.ceil(0.2 * n)
    for name in [*record_populations.SHAPES, *(RECORDED if n == 3541 else [])]:
        p = chances(name, n)
        assert p.shape == (n,) and p.min() >= 0 and p.sum() == pytest.approx(1)
        if name in record_populations.COVERAGE and name not in RECORDED:
            falls = bool((np.diff(p[head]) <= 1e-12).all())
            assert kind_of(name)["decreasing"] == falls == (name not in HUMPED), name
            # A completely monotone sequence has differences of alternating sign, all of them.
            signs = [(-1) ** k * np.diff(p[:300], k) for k in range(1, 5)]
            if kind_of(name)["smooth"]:
                assert all((s >= -1e-12).all() for s in signs), name
            else:
                assert name in [*FALLING, *HUMPED]


FLAT = chances("r^-0.6", 1000)


def drawn_from(users, rng):
    return rs.Ranks(1 + np.searchsorted(np.cumsum(FLAT), rng.random(users)), 1000)


def test_coverage_is_that_of_a_loop():
    """The same draws, judged by the public function one by one."""
    metric, m = rs.Recall @ 10, rs.UniformSampling(20)
    runs = list(coverage(np.random.default_rng(1), FLAT, [metric], 20, 300, 6))
    rng, found = np.random.default_rng(1), []
    for _ in range(6):
        ranks = drawn_from(300, rng)
        one = limits(metric, m.draw(ranks, rng), 1000)
        exact, over_all = metric(ranks).mean(), FLAT[:10].sum()
        held, for_all = (one.low - 1e-4 <= true <= one.high + 1e-4 for true in (exact, over_all))
        found.append([held, for_all, one.high - one.low, (one.value - exact) ** 2])
    held, for_all, width, square = np.transpose(found)
    row = record_studies.over_runs(runs).set_index("method").loc["report"]
    names = ["held", "held for all", "width", "error", "contradicted"]
    expected = held.mean(), for_all.mean(), np.median(width), np.sqrt(square.mean()), 0
    assert row[names].tolist() == pytest.approx(expected)


def test_pairs_are_of_the_users_that_were_drawn():
    a, b = rs.Ranks([1, 4, 9, 30, 90] * 9, 100), rs.Ranks([2, 3, 14, 50, 40] * 9, 100)
    sampler, design = rs.UniformSampling(8), rs.InverseSampling()
    runs = list(pairs(np.random.default_rng(0), (a, b), [rs.AP], 8, 40, 6))
    rng, correction = np.random.default_rng(0), rs.BiasVariance(rs.AP, sampler, 100, gamma=0.1)
    for at in range(6):
        found = {one["method"]: one for one in runs[4 * at : 4 * at + 4]}
        which = rng.integers(0, 45, 40)
        exact = (rs.AP(a[which]) - rs.AP(b[which])).mean()
        sampled = [sampler.draw(ranks[which], rng) for ranks in (a, b)]
        off = correction(sampled[0]) - correction(sampled[1])
        observed = [design.draw(ranks[which], rng) for ranks in (a, b)]
        one = rs.inference.paired_comparison(rs.AP, *observed, level=0.95)
        normal = stats.norm.interval(0.95, off.mean(), stats.sem(off))
        for method, (low, high) in {"BV 0.1, paired": normal, "design": one[1:3]}.items():
            sign = int(low > 0) - int(high < 0)
            assert found[method]["held"] == (low <= exact <= high)
            assert found[method]["width"] == pytest.approx(high - low)
            assert found[method]["decided"] == (sign != 0)
            if sign:
                assert found[method]["right"] == (sign * exact > 0)


def test_errors_of_corrections_are_those_of_many_runs():
    rows = corrections(None, FLAT, [rs.AP], 200, 20)
    (row,) = (row for row in rows if row["method"] == "BV 0.01")
    rng, sampler = np.random.default_rng(1), rs.UniformSampling(20)
    correction = rs.BiasVariance(rs.AP, sampler, 1000, gamma=0.01)
    means = [correction(sampler.draw(drawn_from(200, rng), rng)).mean() for _ in range(200)]
    error, exact = np.std(means, ddof=1), FLAT @ (1 / np.arange(1, 1001))
    assert row["bias"] == pytest.approx(np.mean(means) - exact, abs=4 * error / np.sqrt(200))
    assert row["std"] == pytest.approx(error, rel=4 / np.sqrt(400))


def test_limits_held_wherever_their_assumption_does():
    """At least 93 % of the runs, but for the luck of a study with that many runs and cells."""
    table = pd.read_csv(record.STUDIES["coverage"].file)
    table = table[(table["repetitions"] >= 100) & (table["metric"] != "AUC")]
    unnamed = table["population"].str.contains("pools|items")  # decreasing, all of them
    of_class = (table["method"] == "none") | (unnamed & (table["method"] == "decreasing"))
    for assumption in ("decreasing", "smooth"):
        of_class |= (table["method"] == assumption) & (table[assumption] == True)  # noqa: E712
    luck = 3 * np.sqrt(0.93 * 0.07 / table["repetitions"])
    assert of_class.sum() > 150
    assert not (of_class & (table["held"] < 0.93 - luck)).any()
