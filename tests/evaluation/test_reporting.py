"""The report: its numbers are those of the limits, its words those of its numbers."""

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from thorough import thorough

import recsample as rs
from recsample.inference import limits
from recsample.inference.likelihood import sampled_run
from recsample.inference.likelihood.sampled_run import SampledRun

N_ITEMS, M, SIZE = 300, 29, 400
SAMPLER = rs.UniformSampling(M)
METRICS = [rs.Recall @ 10, rs.AP, rs.AUC]


def exact_ranks(exponent=0.8, size=SIZE, seed=0, n_items=N_ITEMS):
    rng = np.random.default_rng(seed)
    weights = np.arange(1.0, n_items + 1) ** -exponent
    return rs.Ranks(rng.choice(np.arange(1, n_items + 1), size, p=weights / weights.sum()), n_items)


@pytest.mark.parametrize("kind", [np.int16, np.int64, np.float32, float, object])
def test_a_column_is_counted_first(kind):
    column = RUN.values.astype(kind)
    found = rs.report(column, m=M, n_items=N_ITEMS, drawn="uniform", metrics=METRICS)
    counts = rs.RankCounts.of(RUN.values, M + 1)
    counted = rs.report(counts, n_items=N_ITEMS, drawn="uniform", metrics=METRICS)
    pd.testing.assert_frame_equal(found.table, counted.table, check_exact=True)
    assert str(found) == str(counted)
    one_for_each = np.full(SIZE, M), np.full(SIZE, N_ITEMS)
    same = rs.report(column, *one_for_each, drawn="uniform", metrics=METRICS)
    pd.testing.assert_frame_equal(found.table, same.table, check_exact=True)


def test_pairs_of_counted_columns_are_those_of_single_instances(monkeypatch):
    runs = {"a": RUN.values, "b": SAMPLER.draw(exact_ranks(0.6, seed=4), 5).values}
    stated = {"m": M, "n_items": N_ITEMS, "drawn": "uniform", "metrics": METRICS}
    counted = rs.report(runs, **stated)
    monkeypatch.setattr(sampled_run, "_is_column", lambda ranks: False)
    alone = rs.report(runs, **stated)
    pd.testing.assert_frame_equal(counted.pairs, alone.pairs, check_exact=False, rtol=1e-4)
    pd.testing.assert_frame_equal(counted.table, alone.table, check_exact=False, rtol=1e-5)
    assert str(counted) == str(alone)


def humped_ranks(size=3000):
    return rs.Ranks(np.random.default_rng(0).integers(40, 44, size), N_ITEMS)


RUN = SAMPLER.draw(exact_ranks(), 1)


@pytest.fixture(scope="module")
def found():
    return rs.report(RUN, n_items=N_ITEMS, metrics=METRICS)


@pytest.fixture(scope="module")
def hump():
    run = SAMPLER.draw(humped_ranks(), 1)
    return rs.report(run, n_items=N_ITEMS, metrics=METRICS)


@pytest.fixture(scope="module")
def impossible():
    """Ranks among 29 that were drawn from 9."""
    run = rs.UniformSampling(9).draw(exact_ranks(), 1)
    return rs.report(run.values, m=M, n_items=N_ITEMS, drawn="uniform", metrics=METRICS)


@pytest.fixture(scope="module")
def pair():
    runs = {"A": RUN, "B": SAMPLER.draw(exact_ranks(0.4, seed=1), 2)}
    return rs.report(runs, n_items=N_ITEMS, metrics=METRICS)


def test_the_table_holds_the_limits_that_rest_on_the_usual_assumption(found):
    for metric in METRICS:
        row, one = found.table.loc[str(metric)], limits(metric, RUN, N_ITEMS)
        assert (row["low"], row["high"]) == (one.low, one.high)
        assert row["value"] == np.clip(one.value, one.low, one.high)
        assert row["sampled"] == pytest.approx(metric(RUN).mean(), rel=1e-14)
    assert found.table["assumption"].tolist() == ["decreasing", "decreasing", "none"]


def test_the_ladder_holds_the_limits_under_each_assumption_and_those_before(found):
    assert found.ladder.index.names == ["metric", "assumption"]
    for metric in METRICS:
        low, high = -np.inf, np.inf
        for assumption in ("none", "decreasing", "smooth"):
            one = limits(metric, RUN, N_ITEMS, assumption=assumption)
            low, high = max(low, one.low), min(high, one.high)
            row = found.ladder.loc[(str(metric), assumption)]
            assert (row["low"], row["high"]) == (low, high)


@pytest.mark.parametrize(("estimate", "next_to_it"), [(0.9, "high"), (0.0, "low")])
def test_an_estimate_that_the_data_speak_against_is_moved_to_the_limit_next_to_it(
    monkeypatch, estimate, next_to_it
):
    monkeypatch.setattr(SampledRun, "estimate", lambda self, metric: estimate)
    row = rs.report(RUN, n_items=N_ITEMS, metrics=["Recall@10"]).table.loc["Recall@10"]
    found = limits(rs.Recall @ 10, RUN, N_ITEMS)
    assert 0 < row["low"] < row["high"] < 0.9
    assert row["value"] == found.value == row[next_to_it]


def numbers(sentence):
    return re.findall(r"\d\.\d{3}", sentence)


def test_a_sentence_holds_the_numbers_of_the_table_and_names_what_it_rests_on(found):
    for metric, sentence in zip(METRICS, found.sentences):
        row = found.table.loc[str(metric)]
        said = [f"{row[c]:.3f}" for c in ("value", "low", "high")]
        assert sentence.startswith(str(metric))
        assert numbers(sentence)[:3] == said
        assert f"{SIZE} instances, each ranked among m = 29 of 299 irrelevant items" in sentence
        assert "items, drawn uniformly without replacement by recsample" in sentence
    first, _, auc = found.sentences
    assert "assume that within the best fifth of the list, no rank is more frequent" in first
    free = found.ladder.loc[("Recall@10", "none")]
    assert numbers(first)[3:5] == [f"{free['low']:.3f}", f"{free['high']:.3f}"]
    assert numbers(first)[5] == f"{found.table.loc['Recall@10', 'sampled']:.3f}"
    assert "rest on no assumption" in auc


def test_where_the_data_contradict_the_assumption_the_sentence_steps_down(hump):
    row = hump.table.loc["Recall@10"]
    assert row["assumption"] == "none"
    assert np.isnan(row["value"])
    assert row["low"] == 0 < row["high"]
    sentence = hump.sentences[0]
    assert sentence.startswith(f"Recall@10 is between 0.000 and {row['high']:.3f}")
    assert "rest on no assumption" in sentence
    assert "the data contradict the usual one" in sentence
    assert "there is no estimate" in sentence
    assert np.isnan(hump.ladder.loc[("Recall@10", "decreasing"), "low"])


def test_ranks_that_cannot_have_come_about_as_is_said_get_no_limits(impossible):
    row = impossible.table.loc["Recall@10"]
    assert row["assumption"] == ""
    assert row[["value", "low", "high"]].isna().all()
    assert impossible.sentences[0].startswith("No estimate of Recall@10 from")
    assert "m, the pool sizes, a cut-off or the draws differ" in impossible.sentences[0]


def test_a_column_of_a_table_and_ranks_give_the_same(found):
    columns = [RUN.values, RUN.values.tolist(), pd.Series(RUN.values.astype(int))]
    columns += [pd.Series(RUN.values.astype(int).tolist(), dtype=object)]
    for column in columns:
        sizes = np.full(SIZE, N_ITEMS)
        said = rs.report(column, m=M, n_items=sizes, drawn="uniform", metrics=["Recall@10"])
        pd.testing.assert_frame_equal(said.table, found.table.loc[["Recall@10"]])


def test_replacement_is_said_and_used(found):
    run = rs.UniformSampling(M, replace=True).draw(exact_ranks(), 1)
    said = rs.report(run, n_items=N_ITEMS, metrics=["Recall@10"], replace=True)
    assert "with replacement" in said.sentences[0]
    one = limits(rs.Recall @ 10, run, N_ITEMS, replace=True)
    assert said.table["high"].item() == one.high


def test_several_numbers_of_draws_and_pools_are_said_as_spans():
    ranks = rs.Ranks(np.arange(1, 601) % 40 + 1, np.where(np.arange(600) < 300, 200, 900))
    few, many = (
        rs.UniformSampling(m).draw(ranks[part], 0)
        for m, part in ((10, slice(0, 300)), (40, slice(300, 600)))
    )
    run = rs.Ranks.concatenate([few, many])
    said = rs.report(run, n_items=ranks.n_items, metrics=["Recall@10"])
    assert "among m = 10 to 40 of 199 to 899 irrelevant items" in said.head
    again = rs.report(
        run.values,
        m=run.n_irrelevant,
        n_items=ranks.n_items,
        drawn="uniform",
        metrics=["Recall@10"],
    )
    pd.testing.assert_frame_equal(said.table, again.table)


def test_several_relevant_items_are_said():
    rng = np.random.default_rng(0)
    rows = [np.unique(rng.integers(1, 100, 4)).tolist() for _ in range(400)]
    ranks = rs.Ranks(rows, 200)
    run = rs.UniformSampling(20).draw(ranks, 0)
    said = rs.report(run, n_items=200, metrics=["Recall@10"])
    assert f"400 instances with {sum(map(len, rows))} relevant items" in said.head
    assert said.table["low"].item() <= (rs.Recall @ 10)(ranks).mean() <= said.table["high"].item()


def test_among_any_number_of_items_a_share_of_the_list_is_known_as_well():
    # What m items say of the best hundredth of a list has a limit as the list grows.
    rng = np.random.default_rng(0)
    sampled = 1 + rng.binomial(50, rng.random(1000) ** 4)
    small, *large = (
        rs.report(
            sampled, m=50, n_items=n, drawn="uniform", metrics=[rs.Recall @ (n // 100)]
        ).ladder.to_numpy()
        for n in (10**5, 10**10, 2**53 - 1)
    )
    for here in large:
        assert here == pytest.approx(small, abs=5e-4)


def test_several_recommenders_have_rows_pairs_and_sentences_of_their_own(pair, found):
    assert pair.table.index.names == ["recommender", "metric"]
    pd.testing.assert_frame_equal(pair.table.loc["A"], found.table)
    assert pair.ladder.index.names == ["recommender", "metric", "assumption"]
    assert pair.pairs.index.tolist() == [("A", "B", str(metric)) for metric in METRICS]
    assert pair.sentences[0] == f"A: {found.sentences[0]}"
    one = rs.inference.paired_comparison(rs.AUC, RUN, SAMPLER.draw(exact_ranks(0.4, seed=1), 2))
    assert tuple(pair.pairs.loc[("A", "B", "AUC")])[:4] == tuple(one)
    with pytest.raises(ValueError, match="a plan is made from the sampled ranks of one"):
        pair.plan("AP", 0.1)


def test_recommenders_of_named_instances_are_compared_in_one_order(pair):
    """Ranks without names are taken as they come; with names, a wrong order is noticed."""
    names = np.random.default_rng(0).permutation(SIZE)
    other = SAMPLER.draw(exact_ranks(0.4, seed=1), 2)
    a = rs.Ranks(RUN.values, RUN.n_items, ids=names)
    b = rs.Ranks(other.values, other.n_items, ids=names)
    said = rs.report({"A": a, "B": b}, n_items=N_ITEMS, drawn="uniform", metrics=METRICS)
    pd.testing.assert_frame_equal(said.pairs, pair.pairs)
    of_auc = pair.pairs.loc[[("A", "B", "AUC")]]
    mixed = b[np.random.default_rng(1).permutation(SIZE)]
    with pytest.raises(ValueError, match="same instances in the same order, got ids that differ"):
        rs.report({"A": a, "B": mixed}, n_items=N_ITEMS, drawn="uniform", metrics=METRICS)
    runs = {name: one[np.argsort(one.ids)] for name, one in (("A", a), ("B", mixed))}
    cured = rs.report(runs, n_items=N_ITEMS, drawn="uniform", metrics=[rs.AUC])
    pd.testing.assert_frame_equal(cured.pairs, of_auc)
    alone = rs.report({"A": a, "B": other}, n_items=N_ITEMS, drawn="uniform", metrics=[rs.AUC])
    pd.testing.assert_frame_equal(alone.pairs, of_auc)


def test_a_pair_rests_on_the_weaker_of_the_two_assumptions():
    runs = {"A": SAMPLER.draw(exact_ranks(size=3000), 1), "B": SAMPLER.draw(humped_ranks(), 2)}
    said = rs.report(runs, n_items=N_ITEMS, metrics=["Recall@10"])
    row = said.pairs.loc[("A", "B", "Recall@10")]
    assert row["assumption"] == "none"
    assert np.isnan(row["difference"])
    assert row["low"] < row["high"]


def test_a_difference_is_surer_where_users_are_easy_for_both_than_where_for_one_or_the_other():
    ranks = RUN[:300].values
    order, mixed = np.argsort(ranks), np.random.default_rng(0).permutation(300)
    widths = []
    for one, other in ((order, order), (order, mixed), (order, order[::-1])):
        runs = {"A": ranks[one], "B": ranks[other]}
        row = rs.report(runs, m=M, n_items=N_ITEMS, drawn="uniform", metrics=["AP"]).pairs.iloc[0]
        widths.append(row["high"] - row["low"])
    alike, independent, opposed = widths
    assert alike <= independent < opposed / 1.2


def test_names_of_metrics_do_and_each_is_reported_once():
    said = rs.report(RUN, n_items=N_ITEMS, metrics=["Recall@10", rs.Recall @ 10, "R@10"])
    assert said.table.index.tolist() == ["Recall@10"]


def as_numbers(text):
    return [float(one) for one in re.findall(r"-?\d+\.\d+", text)]


def test_text_and_html_say_shared_facts_once_and_every_row(found, pair):
    for said in (found, pair):
        text, html = str(said), said._repr_html_()
        root = ElementTree.fromstring(f"<div>{html}</div>")
        assert " ".join(text.split()).count(said.head) == 1
        assert "".join(root.find("p").itertext()) == said.head
        assert text.count("no rank is more frequent") == html.count("no rank is more frequent") == 1
        assert not any(sentence in " ".join(text.split()) for sentence in said.sentences)
        assert len(list(root.iter("table"))) == (2 if len(said.pairs) else 1)
        cells = [
            [" ".join(cell.itertext()) for cell in row.iter("td")]
            for row in next(root.iter("table")).iter("tr")
        ][1:]
        for key, row, of_row in zip(said.table.index, said.table.to_dict("records"), cells):
            free = said.ladder.loc[(*key, "none") if isinstance(key, tuple) else (key, "none")]
            expected = [row["sampled"], row["value"], row["low"], row["high"], *free]
            assumed = row["assumption"] == "decreasing"
            expected = expected if assumed else expected[:4]
            assert as_numbers(" ".join(of_row)) == pytest.approx(expected, abs=6e-5)
            assert (of_row[-1] == "not needed") != assumed
            assert all(cell in text for cell in of_row)


@pytest.fixture(scope="module")
def four():
    runs = {
        name: rs.UniformSampling(9).draw(exact_ranks(size=60, seed=i, n_items=30), i)
        for i, name in enumerate(NAMED)
    }
    return rs.report(runs, n_items=30, metrics=["Recall@10", "NDCG@10", "AP", "AUC"])


LIMITS = ["low", "high"]
NAMED = ("neighbours", "popular", "als", "implicit-bpr")


@pytest.mark.parametrize("length", [1, thorough(12), 60])
def test_four_recommenders_by_four_metrics_fit_on_a_screen(four, length):
    runs = {
        f"{i} {name} "[:length].ljust(length, "x"): run
        for i, (name, run) in enumerate(four.inferred.runs.items())
    }
    said = rs.report(runs, n_items=30, metrics=four.inferred.metrics)
    text = str(said)
    lines = text.splitlines()
    assert len(said.pairs) == 24 and len(lines) <= 40
    assert max(map(len, lines)) <= 88
    assert all(text.count(name) >= 1 for name in runs)
    for metric in ("Recall@10", "NDCG@10", "AP", "AUC"):
        assert sum(metric in line.split() for line in lines) == 5  # four rows and a column


def test_pairs_are_printed_with_their_limits(four):
    lines = str(four).splitlines()
    start = lines.index("Differences (95 % limits, for all 6 pairs of a metric at once):")
    order = lines[start + 1].split()
    rows = {line[:5]: as_numbers(line[5:]) for line in lines[start + 2 : start + 8]}
    numbers = dict(enumerate(NAMED, 1))
    for (i, a), (j, b) in combinations(numbers.items(), 2):
        of_pair = [four.pairs.loc[(a, b, metric), side] for metric in order for side in LIMITS]
        assert rows[f"{i} - {j}"] == pytest.approx(of_pair, abs=6e-4)


@pytest.mark.parametrize("form", ["to_latex", "to_markdown", "to_json", "to_csv", "__str__"])
def test_what_leaves_says_that_it_is_corrected_and_what_it_assumes(found, hump, impossible, form):
    for said, word in [(found, "decreasing"), (hump, "contradicted"), (impossible, "refuted")]:
        text = " ".join(getattr(said, form)().replace("\\%", "%").split())
        assert "corrected" in text and ("95 %" in text or "0.95" in text or word == "refuted")
        if form != "__str__":
            assert "sampled (uncorrected)" in text
        if form == "to_csv" or word != "decreasing":
            assert word in text
        elif form != "to_csv":
            assert "within the best fifth of the list, no rank is more frequent than" in text


def test_latex_is_a_whole_float(found):
    lines = found.to_latex().splitlines()
    assert lines[0] == r"\begin{table}" and lines[-1] == r"\end{table}"
    assert lines[1].startswith(rf"\caption{{{SIZE} instances") and lines[1].count("{") == 1
    assert "%" not in lines[1].replace(r"\%", "")


def test_average_precision_says_its_divisor_where_libraries_differ():
    rows = [[1, 4, 10], [2, 30], [7]] * 30
    several = rs.Ranks(rows, n_items=30)
    *_, note = rs.report(
        several, n_items=300, drawn="uniform", metrics=["AP@2", "AP(relevant)@2", "AP"]
    ).notes
    value = np.mean([(1 + 0) / 2, (1 / 2) / 2, 0])  # by hand: two places, so two at the best
    assert (rs.AP @ 2)(several).mean() == pytest.approx(value)
    assert note.startswith("AP@2 is divided by min(L, 2)")
    assert rs.report([1, 2], m=29, n_items=300, drawn="uniform", metrics=["AP@2"]).notes == ()


def test_a_plot_beside_something_else_is_refused(found):
    with pytest.raises(ValueError, match="^exact must be a Result or None, got 3"):
        found.plot(exact=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width must be"),
        ({"width": np.nan}, "width must be"),
        ({"metric": "Recall@7"}, "metric must be one of"),
    ],
)
def test_a_plan_refuses(found, arguments, message):
    with pytest.raises(ValueError, match=message):
        found.plan(**({"metric": "AP", "width": 0.1} | arguments))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"m": None}, "m must be given with a column of ranks"),
        ({"n_items": None}, "n_items must be given"),
        ({"n_items": 29}, "n_items must be at least 30"),
        ({"m": 20}, r"sampled must hold ranks up to m \+ 1 = 21, got"),
        ({"m": [20, 20]}, f"m must be one number or one for each of {SIZE}"),
        ({"sampled": [0, 1]}, "sampled must"),
        ({"sampled": [1.5, 2]}, "sampled must"),
        ({"sampled": [[1, 2]]}, "one-dimensional"),
        ({"sampled": [3]}, "at least two instances"),
        ({"sampled": {}}, "at least one recommender"),
        ({"sampled": {"A": [1, 2, 3], "B": [1, 2]}}, "the same instances"),
        (
            {
                "sampled": {"A": rs.Ranks([[1, 2], [3]], 9), "B": rs.Ranks([[1], [2, 3]], 9)},
                "m": None,
            },
            "numbers of relevant items for 'B' than for 'A'",
        ),
        ({"sampled": RUN, "m": 30}, "m must be the number of drawn items, 29 in instance 0"),
        ({"metrics": []}, "metrics must"),
        ({"replace": "yes"}, "replace must be"),
        ({"chosen": np.full(SIZE, 0.5)}, r"^exact must be given with chosen, got None and array"),
    ],
)
def test_refuses(changes, message):
    arguments = {"sampled": RUN.values, "m": M, "n_items": N_ITEMS, "drawn": "uniform"} | changes
    with pytest.raises(ValueError, match=message):
        rs.report(arguments.pop("sampled"), **arguments)


def test_what_a_design_observes_is_refused_with_what_to_do():
    observed = rs.InverseSampling().draw(exact_ranks(size=10), 0)
    with pytest.raises(ValueError, match=r"its estimates need no correction, see Design.of"):
        rs.report(observed, n_items=N_ITEMS)


def test_a_refuted_column_says_nothing_of_any_metric_and_others_are_not_touched():
    exact = np.minimum(1 + np.random.default_rng(1).geometric(0.01, 943), 1000)
    honest = rs.UniformSampling(m=100).draw(rs.Ranks(exact, n_items=1000), rng=2)
    clipped = rs.Ranks(np.minimum(honest.rows.rank, 11), n_items=101)
    runs = {"honest": honest, "clipped": clipped}
    for metrics in (["AUC"], ["recall@10", "AUC"]):
        found = rs.report(runs, n_items=1000, drawn="uniform", metrics=metrics)
        said = found.table.xs("clipped", level="recommender")
        assert said[["value", "low", "high"]].isna().all(axis=None)
        assert (said["assumption"] == "").all()
        assert found.ladder.xs("clipped", level="recommender").isna().all(axis=None)
        assert found.pairs[["difference", "low", "high", "probability"]].isna().all(axis=None)
        for one in found.sentences:
            assert ("No estimate of" in one) == one.startswith("clipped")
        assert found.table.xs("honest", level="recommender")["value"].notna().all()
        assert found.fit.loc["clipped", "p_corrected"] < 1e-4
        assert list(found.fit.index) == ["honest", "clipped"]
        assert np.allclose(found.fit["p_corrected"], np.minimum(1, 2 * found.fit["p_value"]))


def test_a_surprise_that_refutes_nothing_keeps_its_limits_and_is_marked(monkeypatch):
    sampled = rs.UniformSampling(m=100).draw(rs.datasets.recorded_ranks()["X"][:500], rng=0)
    of_class = SampledRun.misfit
    monkeypatch.setattr(
        SampledRun, "misfit", lambda self, one: 0.002 if one == "none" else of_class(self, one)
    )
    found = rs.report({"A": sampled, "B": sampled}, metrics=["AUC", "recall@10"])
    assert found.table[["low", "high"]].notna().all(axis=None)
    assert all("fewer than 1 of 250 studies (p = 0.004)" in one for one in found.sentences)
    assert found.fit["p_corrected"].tolist() == [0.004, 0.004]
    assert [note[:3] for note in found.notes] == ["A: ", "B: "]
    assert "ranks were changed" in found.notes[0] and '"p_corrected": 0.004' in found.to_json()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: np.minimum(x, 21),  # clipped
        lambda x: np.where(x > 10, 101, x),  # misses of a list
        lambda x: np.minimum(x + 1, 101),  # counted from 2
    ],
)
def test_a_column_that_such_draws_do_not_give_is_refuted(wrong):
    rng = np.random.default_rng(0)
    exact = rs.Ranks(np.ceil(2000 * rng.random(2000) ** 2), 2000)
    column = rs.UniformSampling(100).draw(exact, rng).values
    asked = {"m": 100, "n_items": 2000, "drawn": "uniform", "metrics": ["Recall@10", "AUC"]}
    found = rs.report(wrong(column), **asked)
    assert found.table["value"].isna().all() and found.fit["p_corrected"].max() < 1e-4
    assert "m, the pool sizes, a cut-off or the draws differ" in found.notes[0]
    assert not rs.report(column, **asked).notes
    with pytest.raises(ValueError, match="^sampled must be ranks from 1 on, got 0: .*add 1"):
        rs.report(column - 1, **asked)


def test_who_is_ahead_is_said_only_where_limits_and_signs_agree():
    draw, rng = rs.UniformSampling(m=100).draw, np.random.default_rng(5)
    exact = np.minimum(rng.geometric(0.01, (3, 400)), 1000)
    exact[2] = np.minimum(exact[2] * 3, 1000)
    runs = {
        name: draw(rs.Ranks(one, n_items=1000), rng=i)
        for i, (name, one) in enumerate(zip("ABC", exact))
    }
    pairs = rs.report(runs, n_items=1000, metrics=["AUC", "recall@10", "AP"]).pairs
    assert pairs["ahead"].loc["A", "C", "AUC"] == "A"
    assert (pairs["ahead"] == "undecided").any()
    for (a, b, _), row in pairs.iterrows():
        if row["ahead"] == "undecided":
            continue
        sign = 1 if row["ahead"] == a else -1
        assert row["ahead"] in (a, b)
        assert min(sign * row["low"], sign * row["high"], sign * (row["probability"] - 0.5)) > 0
        assert not sign * row["difference"] < 0
    known = pairs["difference"].notna()
    assert (pairs["low"] <= pairs["difference"])[known].all()
    assert (pairs["difference"] <= pairs["high"])[known].all()
