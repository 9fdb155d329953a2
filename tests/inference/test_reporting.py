"""The report: its numbers are those of the pieces, its intervals hold, its words fit the data."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import recsample as rs
from recsample import AP, AUC, BiasVariance, Ranks, Recall, UniformSampling
from recsample.inference import reporting
from recsample.inference.reporting import Report, report

N_ITEMS, M = 300, 29
SAMPLER = UniformSampling(M)


def drawn_ranks(exponent, size, rng):
    weights = np.arange(1.0, N_ITEMS + 1) ** -exponent
    return Ranks(rng.choice(np.arange(1, N_ITEMS + 1), size, p=weights / weights.sum()), N_ITEMS)


def some_run(exponent=0.8, size=1200, seed=0):
    rng = np.random.default_rng(seed)
    return SAMPLER.draw(drawn_ranks(exponent, size, rng), rng)


@pytest.fixture(scope="module")
def found():
    return report(some_run().values, M, N_ITEMS, metrics=[Recall @ 20, "AUC"])


def test_numbers_are_those_of_the_pieces(found):
    run = some_run()
    p = rs.inference.expectation_maximisation(run, SAMPLER, N_ITEMS)
    law = SAMPLER.law(N_ITEMS)
    gamma = 51 / (50 + 1200)
    for metric in (Recall @ 20, AUC):
        row = found.table.loc[str(metric)]
        assert row["sampled"] == metric(run).mean()
        values = metric.of_rank(np.arange(1, M + 2), M + 1)
        exact = metric.of_rank(np.arange(1, N_ITEMS + 1), N_ITEMS)
        assert row["off by"] == pytest.approx(p @ law @ values - p @ exact, abs=1e-12)
        ends, means = [], []
        for prior in (rs.inference.plausible_prior(N_ITEMS), None, p):
            corrected = BiasVariance(metric, SAMPLER, N_ITEMS, gamma=gamma, prior=prior)(run)
            means.append(corrected.mean())
            reach = 1.959963984540054 * corrected.std(ddof=1) / np.sqrt(1200)
            ends += [means[-1] - reach, means[-1] + reach]
        assert row["corrected"] == pytest.approx(means[0], rel=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((min(ends), max(ends)), rel=1e-9)
        certified = rs.inference.certified_interval(metric, run, SAMPLER, N_ITEMS)
        assert tuple(row[["certified low", "certified high"]]) == certified


def test_sentences_hold_the_numbers_of_the_table(found):
    for name, sentence in zip(found.table.index, found.sentences):
        row = found.table.loc[name]
        start = f"{name} is estimated at {row['corrected']:.3f} ({row['low']:.3f} to "
        assert sentence.startswith(start + f"{row['high']:.3f}) from the sampled ranks of 1200")
        assert "m = 29 of 299 irrelevant items drawn uniformly without replacement" in sentence
        assert "gamma = 0.041 and a mean of power laws as prior, " in sentence
        assert "intervals, with that prior, a uniform one and one learned by EM; " in sentence
        assert f"{row['sampled']:.3f}" in sentence
        assert sentence.endswith(
            f"data say {row['certified low']:.3f} to {row['certified high']:.3f}."
        )
    assert "a linear metric does not need" in found.sentences[1]
    assert "a linear metric" not in found.sentences[0]


@pytest.mark.parametrize("ranks", [[1] * 880 + [20] * 20, list(range(40, 301)) * 4])
def test_values_and_limits_keep_to_what_the_metric_can_be(quick, ranks):
    run = SAMPLER.draw(Ranks(ranks, N_ITEMS), 0)
    shown = report(run, M, N_ITEMS, metrics=[Recall @ 20, AP, AUC])
    rows = shown.table[["corrected", "low", "high"]].to_numpy()
    assert (rows >= 0).all() and (rows <= 1).all()
    assert (rows[:, 1] <= rows[:, 0]).all() and (rows[:, 0] <= rows[:, 2]).all()
    # A corrected value that is not the mean of the corrected metric is reported.
    gamma, prior = 51 / (50 + len(run)), rs.inference.plausible_prior(N_ITEMS)
    for metric, value in zip((Recall @ 20, AP, AUC), rows[:, 0]):
        mean = BiasVariance(metric, SAMPLER, N_ITEMS, gamma=gamma, prior=prior)(run).mean()
        said = f"{metric}: the corrected mean is {mean:.4g}; the nearest value that the metric can"
        assert any(w.startswith(said) for w in shown.warnings) == (abs(mean - value) > 1e-9)
    assert any("the corrected mean is" in w for w in shown.warnings)


@pytest.mark.parametrize(("rank", "value"), [(1, "1.000"), (M + 1, "0.000")])
def test_ranks_that_are_all_the_same_show_no_error(rank, value):
    shown = report([rank] * 500, M, N_ITEMS, metrics=[Recall @ 10, AUC])
    assert shown.table[["low", "high"]].isna().all(axis=None)
    assert shown.table[["certified low", "certified high"]].notna().all(axis=None)
    assert shown.sentences[0].startswith(f"Recall@10 is estimated at {value} (no limits) from the")
    assert "No error can be told from these ranks; without any prior" in shown.sentences[0]
    assert "intervals" not in shown.sentences[0]
    said = "Recall@10: no error can be told from these ranks, as the three intervals have no width"
    assert f"{said}: rely on the certified limits." in shown.warnings
    assert "none" in str(shown) and "<td>none</td>" in shown._repr_html_()
    assert "nan" not in str(shown) + shown._repr_html_()


def test_intervals_beyond_what_the_metric_can_be_leave_its_nearest_value():
    run = UniformSampling(40).draw(Ranks([40] * 1000, 100), 0)
    assert (np.ptp(run.values)) > 0 and (Recall @ 10)(Ranks([40], 100))[0] == 0
    shown = report(run, 40, 100, metrics=[Recall @ 10])
    assert shown.table.loc["Recall@10", ["low", "high"]].tolist() == [0.0, 0.0]
    said = "Recall@10: all three intervals lie beyond what the metric can be"
    assert any(w.startswith(said) for w in shown.warnings)
    assert not any("no error can be told" in w for w in shown.warnings)


def test_a_metric_under_two_names_is_reported_once():
    run = UniformSampling(M).draw(Ranks(np.arange(1, 301, 3), N_ITEMS), 0)
    once, twice = (report(run, M, N_ITEMS, metrics=given) for given in (["AP"], ["AP", "MAP"]))
    assert str(once) == str(twice)


@pytest.mark.parametrize("values", [[1, 2, 3] * 400, [2] * 1200])
def test_ranks_that_no_distribution_can_give_have_no_certified_limits(values):
    shown = report(values, M, N_ITEMS, metrics=[Recall @ 10, AP])
    assert shown.table[["certified low", "certified high"]].isna().all(axis=None)
    assert all(
        sentence.endswith("with 95 % confidence, no distribution of the ranks fits these data.")
        for sentence in shown.sentences
    )
    assert shown.warnings[0].startswith("These ranks can hardly come from m = 29 uniform draws")
    assert sum("can hardly come" in warning for warning in shown.warnings) == 1
    assert not any("rely on the certified" in warning for warning in shown.warnings)
    assert not any("outside the certified" in warning for warning in shown.warnings)
    assert "none" in str(shown) and "nan" not in str(shown) + shown._repr_html_()


def test_a_list_that_was_cut_off_is_noticed():
    warnings = report(np.minimum(some_run().values, 4), M, N_ITEMS, metrics=[Recall @ 10]).warnings
    assert warnings[0].startswith("These ranks can hardly come from")
    assert not any("can hardly come" in w for w in report(some_run(), M, N_ITEMS).warnings)


def test_linear_metrics_are_off_by_nothing(found):
    row = found.table.loc["AUC"]
    assert abs(row["off by"]) < 1e-12
    assert row["corrected"] == pytest.approx(row["sampled"], abs=0.005)


@pytest.mark.parametrize(
    ("replace", "dtype"), [(False, int), (True, int), (False, float), (False, object)]
)
def test_a_column_of_a_table_and_ranks_give_the_same(replace, dtype):
    column = pd.DataFrame({"rank": some_run().values})["rank"].astype(dtype)
    both = [
        report(run, M, N_ITEMS, metrics=[AUC], replace=replace)
        for run in (column, Ranks(some_run().values, M + 1))
    ]
    assert both[0].table.equals(both[1].table) and both[0].sentences == both[1].sentences
    assert ("uniformly with replacement" in both[0].head) == replace


# How often the interval holds: measured, over the drawing of instances and of negatives


@pytest.fixture
def quick(monkeypatch):
    """Without the linear programs, which have their own tests."""
    nothing = rs.inference.Interval(0.0, 1.0)
    monkeypatch.setattr(reporting, "certified_interval", lambda *_, **__: nothing)


def share_held(draw, truth, metrics, n_runs=100):
    rng = np.random.default_rng(3)
    held = np.zeros(len(metrics))
    for _ in range(n_runs):
        table = report(SAMPLER.draw(draw(rng), rng), M, N_ITEMS, metrics=metrics).table
        held += ((table["low"] <= truth) & (truth <= table["high"])).to_numpy()
    return held / n_runs


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.6])
def test_limits_hold_in_a_family_of_plausible_recommenders(quick, exponent):
    metrics = [Recall @ 20, AP, AUC]
    every = np.arange(1, N_ITEMS + 1)
    weights = every**-exponent / (every**-exponent).sum()
    truth = [weights @ metric.of_rank(every, N_ITEMS) for metric in metrics]
    held = share_held(lambda rng: drawn_ranks(exponent, 1500, rng), truth, metrics)
    assert (held >= 0.9).all()  # 100 runs: .95 less two standard errors


@pytest.mark.parametrize("exponent", [1.1, 1.3])
def test_limits_do_not_hold_for_recommenders_unlike_the_priors(quick, exponent):
    """Steeper than every prior: AP lies above the limits too often, and the report says so."""
    rng = np.random.default_rng(4)
    every = np.arange(1, N_ITEMS + 1)
    truth = AP.of_rank(every, N_ITEMS) @ (every**-exponent / (every**-exponent).sum())
    runs = [SAMPLER.draw(drawn_ranks(exponent, 1500, rng), rng) for _ in range(60)]
    found = [report(run, M, N_ITEMS, metrics=[AP]) for run in runs]
    held = np.mean([r.table["low"].item() <= truth <= r.table["high"].item() for r in found])
    warned = np.mean([any("unlike either" in w for w in r.warnings) for r in found])
    assert 0.4 < held < 0.92
    assert warned > (0.05 if exponent == 1.1 else 0.5)


def test_limits_rest_on_their_priors(quick):
    """All ranks just beyond the cut-off: unlike all priors, and the limits miss."""
    held = share_held(lambda rng: Ranks([12] * 1500, N_ITEMS), [0.0], [Recall @ 10], n_runs=10)
    assert held[0] == 0
    sampled = SAMPLER.draw(Ranks([12] * 1500, N_ITEMS), 0)
    assert rs.inference.certified_interval(Recall @ 10, sampled, SAMPLER, N_ITEMS).low < 0.01


# Warnings


def warnings_of(**changes):
    run = changes.pop("run", some_run())
    return report(run, M, N_ITEMS, **{"metrics": [AUC], **changes}).warnings


def test_sound_data_bring_no_warning():
    assert warnings_of() == ()
    assert warnings_of(metrics=[Recall @ 20], run=some_run(1.1)) == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run": some_run(size=999)}, "999 instances are few"),
        ({"metrics": [Recall @ 30]}, "Recall@30: every sampled rank lies within the cut-off"),
        ({"metrics": [Recall @ 9]}, "Recall@9: one sampled item stands for about 10 ranks"),
        # Without a cut-off, too: what decides is what the data leave open.
        ({"metrics": [AP]}, "AP: one sampled item stands for about 10 ranks, and the certified"),
        ({"metrics": [rs.RBP(0.8)]}, "RBP(0.8): one sampled item stands for about 10 ranks, and"),
        (
            {"metrics": [AP], "run": Ranks([1] * 995 + [2] * 5, M + 1)},
            "AP: the corrected value is outside the certified limits: rely on the certified",
        ),
        (
            {"metrics": [Recall @ 1], "run": some_run(0.1)},
            "Recall@1: the limits are further apart than the value",
        ),
        ({"metrics": [Recall @ 3]}, "Recall@3: the uncorrected value is expected to be off by"),
    ],
)
def test_warns_where_the_data_cannot_carry_the_claim(changes, message):
    assert any(warning.startswith(message) for warning in warnings_of(**changes))


def test_no_warning_just_before_each_limit():
    assert warnings_of(run=some_run(size=1000)) == ()
    assert not any("every sampled rank" in w for w in warnings_of(metrics=[Recall @ 29]))


def test_warns_of_the_prior_where_the_certified_limits_are_further_apart_than_the_value():
    shown = report(some_run(), M, N_ITEMS, metrics=[Recall @ k for k in range(2, 30, 3)])
    width = shown.table["certified high"] - shown.table["certified low"]
    for name, apart in (width > shown.table["corrected"]).items():
        assert any(w.startswith(f"{name}: one sampled") for w in shown.warnings) == apart
    assert 0 < sum("one sampled" in w for w in shown.warnings) < len(width)


# Text and HTML


def test_text_holds_everything(quick):
    shown = report(some_run(size=900), M, N_ITEMS, metrics=[Recall @ 9])
    text = str(shown)
    assert repr(shown) == text
    assert max(map(len, text.splitlines())) <= 100
    unwrapped = " ".join(text.split())
    assert unwrapped.startswith(shown.head)
    assert all(f"- {line}" in unwrapped for line in (*shown.sentences, *shown.warnings))
    assert f"{shown.table.loc['Recall@9', 'corrected']:.4f}" in text and "Warnings" in text


def test_text_without_warnings_has_no_such_heading():
    shown = report(some_run(), M, N_ITEMS, metrics=[AUC])
    assert "Warnings" not in str(shown) and "Warnings" not in shown._repr_html_()


def parsed(shown):
    return ElementTree.fromstring(f"<div>{shown._repr_html_()}</div>")


def test_html_is_well_formed_and_holds_everything(quick):
    shown = report(some_run(size=900), M, N_ITEMS, metrics=[Recall @ 9, AUC])
    page = parsed(shown)
    assert page.find("p").text == shown.head
    assert [cell.text for cell in page.findall(".//thead/tr/th")[1:]] == ["Recall@9", "AUC"]
    rows = page.findall(".//tbody/tr")
    assert [row.find("th").text for row in rows] == list(shown.table)
    assert [float(row.find("td").text) for row in rows] == shown.table.iloc[0].round(4).tolist()
    assert [item.text for item in page.iter("li")] == [*shown.sentences, *shown.warnings]


def test_html_is_escaped():
    table = pd.DataFrame({"a < b": [0.5]}, index=["<script>"])
    hostile = Report(table, ("x < y & z",), ("<b>bold</b>",), "<i>head</i>")
    page = parsed(hostile)
    assert {element.tag for element in page.iter()}.isdisjoint({"script", "b", "i"})
    assert [item.text for item in page.iter("li")] == ["x < y & z", "<b>bold</b>"]
    assert page.find("p").text == "<i>head</i>"


def test_readme_five_lines_print_the_sentence_below_them(tmp_path, monkeypatch, capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    lines = next(c for c in re.findall(r"```python\n(.*?)```", readme, re.S) if "rs.report" in c)
    quoted = " ".join(re.findall(r"^> (.*)$", readme, re.M))
    run = UniformSampling(m=100).draw(rs.datasets.recorded_ranks()["Y"], rng=0)
    pd.DataFrame({"sampled_rank": run.values}).to_csv(tmp_path / "results.csv", index=False)
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    assert capsys.readouterr().out.strip() == quoted
    assert len(lines.replace("\n\n", "\n").splitlines()) == 5


# What is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"m": 0}, "m must be .* at least 1, got 0"),
        ({"m": 2.5}, "m must be .*got 2.5"),
        ({"n_items": 0}, "n_items must be"),
        ({"n_items": 5}, "n_items must leave at least 5 irrelevant items to draw m=5 without"),
        ({"sampled": [1, 7]}, r"ranks up to m \+ 1 = 6, got 7 in instance 1"),
        ({"sampled": [0, 1]}, "sampled must be whole numbers of at least 1, got 0"),
        ({"sampled": [1, np.nan]}, "sampled must be whole numbers of at least 1, got nan"),
        ({"sampled": [1, 1.5]}, "sampled must be whole numbers of at least 1, got 1.5"),
        ({"sampled": ["1", "2"]}, "sampled must be whole numbers"),
        ({"sampled": [[1, 2], [3, 4]]}, r"one-dimensional.*got shape \(2, 2\)"),
        ({"sampled": 3}, r"one-dimensional.*got shape \(\)"),
        ({"sampled": []}, "sampled must hold at least two instances, got none"),
        ({"sampled": [1]}, "sampled must hold at least two instances, got 1"),
        ({"sampled": Ranks([1], 6)}, "sampled must hold at least two instances, got 1"),
        ({"sampled": pd.Series([1, None], dtype="Int64")}, "whole numbers, got \\[1, "),
        ({"sampled": pd.Series([1, "2"] * 50)}, "whole numbers, got [^\\n]*$"),
        ({"sampled": Ranks([1, 2], 6, ties=1)}, "no ties"),
        ({"sampled": Ranks([[1, 2], [3]], 7)}, "one relevant item per instance"),
        ({"sampled": Ranks([1, 2], 9)}, r"n_items = m \+ 1 = 6, got 9"),
        ({"metrics": []}, "at least one metric, got none"),
        ({"metrics": "AUC"}, "metrics must be a list of metrics, got 'AUC'"),
        ({"metrics": AUC}, "metrics must be a list of metrics, got AUC"),
        ({"metrics": [Recall]}, "Recall needs a cut-off"),
        ({"metrics": ["nonsense"]}, "nonsense"),
        ({"replace": 1}, "replace must be True or False"),
    ],
)
def test_refuses(changes, message):
    given = {"sampled": [1, 4, 2], "m": 5, "n_items": 20, "metrics": [AUC]}
    with pytest.raises(ValueError, match=message):
        report(**{**given, **changes})
