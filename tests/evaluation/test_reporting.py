"""The report: its numbers are those of the limits, its words those of its numbers."""

import json
import pickle
import re
from hashlib import sha256
from importlib.metadata import version
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import recsample as rs
from recsample.evaluation import findings
from recsample.inference import limits
from recsample.inference.likelihood import sampled_run
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.ranks.checks import rows_of

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
    monkeypatch.setattr(sampled_run, "different_ranks", rows_of)
    monkeypatch.setattr(findings, "different_ranks", rows_of)
    alone = rs.report(runs, **stated)
    for one, other in ((counted.table, alone.table), (counted.pairs, alone.pairs)):
        same = [name for name in one if not name.endswith(("low", "high"))]
        pd.testing.assert_frame_equal(one[same], other[same], check_exact=False, rtol=1e-4)
        for prefix in ("", "if_"):
            (low, high), (less, more) = (
                each[[f"{prefix}low", f"{prefix}high"]].to_numpy(float).T for each in (one, other)
            )
            # More than 128 values are grouped, for which limits are wider by at most 0.35 %.
            known = ~np.isnan(low)
            for wider in ((low - less)[known], (more - high)[known]):
                assert (wider > -1e-7).all() and (wider < 0.0035 * (high - low)[known]).all()


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


def test_the_table_holds_limits_without_an_assumption_and_those_that_rest_on_the_usual_one(found):
    for metric in METRICS:
        row = found.table.loc[str(metric)]
        one = limits(metric, RUN, N_ITEMS, assumption="decreasing")
        free = limits(metric, RUN, N_ITEMS, assumption="none")
        assert (row["low"], row["high"]) == (free.low, free.high)
        if metric == rs.AUC:
            assert row[["if_low", "if_high"]].isna().all()
        else:
            assert (row["if_low"], row["if_high"]) == (one.low, one.high)
        assert row["value"] == one.value
        assert row["sampled"] == pytest.approx(metric(RUN).mean(), rel=1e-14)
    assert found.table["assumption"].tolist() == ["decreasing", "decreasing", "none"]


def test_the_ladder_holds_the_limits_under_each_assumption(found):
    assert found.ladder.index.names == ["metric", "assumption"]
    assert len(found.ladder) == 2 * len(METRICS)
    for metric in METRICS:
        for assumption in ("none", "decreasing"):
            one = limits(metric, RUN, N_ITEMS, assumption=assumption)
            row = found.ladder.loc[(str(metric), assumption)]
            assert (row["low"], row["high"]) == (one.low, one.high)


def numbers(sentence):
    return re.findall(r"\d\.\d{3}", sentence)


def test_a_sentence_holds_the_numbers_of_the_table_and_names_what_it_rests_on(found):
    for metric, sentence in zip(METRICS, found.sentences):
        row = found.table.loc[str(metric)]
        said = [f"{row[c]:.3f}" for c in ("value", "low", "high")]
        assert sentence.startswith(f"The estimated {metric} is ")
        assert numbers(sentence)[:3] == said
        assert f"{SIZE} instances, m = 29 of 299 irrelevant items" in sentence
    first, second, auc = found.sentences
    assert found.blind.ranks >= 10  # so that nobody sees whether it is true within the cut-off
    assert all("without assumptions about the ranks" in one for one in (first, auc))
    row = found.table.loc["AP"]
    assert "if rank frequencies decrease in the best fifth" in second
    assert numbers(second)[3:5] == [f"{row['if_low']:.3f}", f"{row['if_high']:.3f}"]
    read = found.reading.loc["AP"]
    assert numbers(second)[5:] == [f"{read[c]:.3f}" for c in ("value", "low", "high")]
    between = f"from {read['cutoff_low']:.0f} to {read['cutoff_high']:.0f}: "
    assert between in second and " Sampled AUC" not in auc  # which is the estimate itself
    assert "items were drawn uniformly, anew for each instance, by recsample" in (
        found.footnote.lower()
    )
    assert "within the best fifth of the list, no rank is more frequent" in found.footnote


def test_where_the_data_contradict_the_assumption_the_sentence_says_so(hump):
    row = hump.table.loc["Recall@10"]
    assert row["assumption"] == "contradicted"
    assert row[["if_low", "if_high"]].isna().all()
    assert row["low"] == 0 < row["value"] < row["high"]
    sentence = hump.sentences[0]
    limits_said = f"(95 % limits 0.000 to {row['high']:.3f}, without assumptions about the ranks;"
    assert sentence.startswith(f"The estimated Recall@10 is {row['value']:.3f} {limits_said}")
    assert "the data contradict that rank frequencies decrease in the best fifth" in sentence
    assert np.isnan(hump.ladder.loc[("Recall@10", "decreasing"), "low"])


def test_where_nearly_all_items_were_drawn_nothing_is_assumed_and_nothing_is_blind():
    exact = exact_ranks(n_items=100)
    found = rs.report(rs.UniformSampling(95).draw(exact, 0), metrics=["Recall@10", "AP"])
    assert (found.table["assumption"] == "none").all() and found.table["value"].notna().all()
    assert found.blind is None and "if decreasing" not in str(found)
    for said in (*found.sentences, found.footnote, found.to_latex()):
        assert "decreas" not in said and "At this size" not in said
    low, high = found.table.loc["AP", ["low", "high"]]
    assert low <= rs.AP(exact).mean() <= high


def test_ranks_that_cannot_have_come_about_as_is_said_get_no_limits(impossible):
    row = impossible.table.loc["Recall@10"]
    assert row["assumption"] == ""
    assert row[["value", "low", "high", "if_low", "if_high"]].isna().all()
    assert impossible.sentences[0].startswith("Recall@10 has no estimate (")
    assert "in fewer than 1 of 10,000 studies" in impossible.sentences[0]
    assert "what was stated of m, pools and draws is not so" in impossible.footnote


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
    assert "with replacement" in said.head
    one = limits(rs.Recall @ 10, run, N_ITEMS, assumption="decreasing", replace=True)
    assert said.table["if_high"].item() == one.high


def test_several_numbers_of_draws_and_pools_are_said_as_spans():
    ranks = rs.Ranks(np.arange(1, 601) % 40 + 1, np.where(np.arange(600) < 300, 200, 900))
    few, many = (
        rs.UniformSampling(m).draw(ranks[part], 0)
        for m, part in ((10, slice(0, 300)), (40, slice(300, 600)))
    )
    run = rs.Ranks.concatenate([few, many])
    said = rs.report(run, n_items=ranks.n_items, metrics=["Recall@10"])
    assert "m = 10 to 40 of 199 to 899 irrelevant items" in said.head
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
    assert f"400 instances with {sum(map(len, rows)):,} relevant items" in said.head
    assert "compared with a random ranking, no rank" in said.footnote
    low, high = said.table.loc["Recall@10", ["if_low", "if_high"]]
    assert low <= (rs.Recall @ 10)(ranks).mean() <= high


def test_among_any_number_of_items_a_share_of_the_list_is_known_as_well():
    # What m items say of the best hundredth of a list has a limit as the list grows.
    rng = np.random.default_rng(0)
    sampled = 1 + rng.binomial(50, rng.random(1000) ** 4)
    small, large = (
        rs.report(
            sampled, m=50, n_items=n, drawn="uniform", metrics=[rs.Recall @ (n // 100)]
        ).ladder.to_numpy()
        for n in (10**5, 2**53 - 1)
    )
    # The populations that scores are close for depend on the pool a little.
    assert (abs(large - small) <= 0.1 * (small[:, 1:] - small[:, :1])).all()


def test_several_recommenders_have_rows_pairs_and_sentences_of_their_own(pair, found):
    assert pair.table.index.names == ["recommender", "metric"]
    pd.testing.assert_frame_equal(pair.table.loc["A"], found.table)
    assert pair.ladder.index.names == ["recommender", "metric", "assumption"]
    assert pair.pairs.index.tolist() == [("A", "B", str(metric)) for metric in METRICS]
    assert pair.sentences[0].startswith(f"A: {found.sentences[0]}")
    one = rs.inference.paired_comparison(rs.AUC, RUN, SAMPLER.draw(exact_ranks(0.4, seed=1), 2))
    found_pair = pair.pairs.loc[("A", "B", "AUC")].iloc[:4].astype(float)
    assert tuple(found_pair) == pytest.approx(tuple(one), abs=1e-12)
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
    of_auc = pair.pairs.loc[[("A", "B", "AUC")]].drop(columns="if_ahead")  # of another type
    mixed = b[np.random.default_rng(1).permutation(SIZE)]
    with pytest.raises(ValueError, match="same instances in the same order, got ids that differ"):
        rs.report({"A": a, "B": mixed}, n_items=N_ITEMS, drawn="uniform", metrics=METRICS)
    runs = {name: one[np.argsort(one.ids)] for name, one in (("A", a), ("B", mixed))}
    cured = rs.report(runs, n_items=N_ITEMS, drawn="uniform", metrics=[rs.AUC])
    pd.testing.assert_frame_equal(cured.pairs.drop(columns="if_ahead"), of_auc)
    alone = rs.report({"A": a, "B": other}, n_items=N_ITEMS, drawn="uniform", metrics=[rs.AUC])
    pd.testing.assert_frame_equal(alone.pairs.drop(columns="if_ahead"), of_auc)


def test_a_pair_rests_on_the_weaker_of_the_two_assumptions():
    runs = {"A": SAMPLER.draw(exact_ranks(size=3000), 1), "B": SAMPLER.draw(humped_ranks(), 2)}
    said = rs.report(runs, n_items=N_ITEMS, metrics=["Recall@10"])
    row = said.pairs.loc[("A", "B", "Recall@10")]
    assert row["assumption"] == "none"
    values = said.table["value"].xs("Recall@10", level="metric")
    assert row["difference"] == pytest.approx(values["A"] - values["B"])
    assert row["low"] < row["high"]
    assert row[["if_low", "if_high", "if_probability", "if_ahead"]].isna().all()


def test_a_difference_is_surer_where_users_are_easy_for_both_than_where_for_one_or_the_other():
    ranks = RUN[:300].values
    order, mixed = np.argsort(ranks), np.random.default_rng(0).permutation(300)
    widths = []
    for one, other in ((order, order), (order, mixed), (order, order[::-1])):
        runs = {"A": ranks[one], "B": ranks[other]}
        row = rs.report(runs, m=M, n_items=N_ITEMS, drawn="uniform", metrics=["AP"]).pairs.iloc[0]
        widths.append(row["if_high"] - row["if_low"])
        assert row["low"] < row["if_low"] and row["if_high"] < row["high"]
    alike, independent, opposed = widths
    assert alike < independent < opposed


def test_names_of_metrics_do_and_each_is_reported_once():
    said = rs.report(RUN, n_items=N_ITEMS, metrics=["Recall@10", rs.Recall @ 10, "R@10"])
    assert said.table.index.tolist() == ["Recall@10"]


def as_numbers(text):
    return [float(one) for one in re.findall(r"-?\d+\.\d+", text)]


def test_what_a_result_makes_is_listed(found):
    made = {"table", "pairs", "reading", "sentences", "footnote", "to_latex", "study"}
    assert made <= set(dir(found))


def test_text_and_html_are_a_table_with_every_row_and_three_lines(found, pair):
    for said in (found, pair):
        text, html = str(said), said._repr_html_()
        root = ElementTree.fromstring(f"<div>{html}</div>")
        lines = text.splitlines()
        assert lines[0] == said.head and len(lines) <= len(said.table) + 11
        paragraphs = ["".join(one.itertext()) for one in root.iter("p")]
        assert " ".join(paragraphs) == " ".join([lines[0], *lines[len(said.table) + 4 :]])
        assert max(map(len, lines)) <= 88
        assert lines[-1].startswith("No notes. See ") and lines[-1].endswith("report.html")
        assert not any(sentence in " ".join(text.split()) for sentence in said.sentences)
        (table,) = root.iter("table")
        names = [cell.text for cell in next(table.iter("tr")).iter("th") if cell.text]
        place = ["vs best"] * (said is pair)
        assert names == ["value", "95 % limits", "if decreasing", *place, "sampled"]
        cells = [[" ".join(cell.itertext()) for cell in row.iter("td")]
                 for row in table.iter("tr")][1:]  # fmt: skip
        for row, of_row in zip(said.table.to_dict("records"), cells):
            known = row["assumption"] == "decreasing"
            columns = ["value", "low", "high", *["if_low", "if_high"] * known, "sampled"]
            expected = [row[column] for column in columns]
            assert as_numbers(" ".join(of_row)) == pytest.approx(expected, abs=6e-5)
            assert (of_row[2] == "not needed") != known
            assert all(cell in text for cell in of_row)


@pytest.fixture(scope="module")
def four():
    runs = {
        name: rs.UniformSampling(9).draw(exact_ranks(size=60, seed=i, n_items=30), i)
        for i, name in enumerate(NAMED)
    }
    return rs.report(runs, n_items=30, metrics=["Recall@10", "NDCG@10", "AP", "AUC"])


NAMED = ("neighbours", "popular", "als", "implicit-bpr")


def test_four_recommenders_by_four_metrics_fit_on_a_screen(four):
    lines = str(four).splitlines()
    assert len(lines) <= 16 + 10 and max(map(len, lines)) <= 90
    for metric in ("Recall@10", "NDCG@10", "AP", "AUC"):
        assert sum(metric in line.split() for line in lines) == 4


def test_the_best_is_bold_and_what_is_not_told_apart_from_it_marked():
    rng, draw = np.random.default_rng(3), rs.UniformSampling(99).draw
    ranks = {"first": 9, "close": 10, "far": 300}
    exact = {
        a: rs.Ranks(np.minimum(1 + rng.integers(0, r, 500), 1000), 1000) for a, r in ranks.items()
    }
    said = rs.report(
        {a: draw(one, rng) for a, one in exact.items()}, metrics=["AUC", "PercentileRank"]
    )
    wide = said.wide.xs("vs best", axis=1, level=1)
    for metric in ("AUC", "PercentileRank"):
        values = said.table["value"].xs(metric, level="metric")
        best = values.idxmax() if metric == "AUC" else values.idxmin()
        ahead = said.pairs["ahead"].xs(metric, level="metric")
        for name, place in wide[metric].items():
            one = [who for pair, who in ahead.items() if {*pair} == {best, name}]
            expected = "best" if name == best else "behind" if one == [best] else "undecided"
            assert place == expected
        assert wide.loc["far", metric] == "behind"
        text = f"{values[best]:.4f}"
        assert rf"\textbf{{{text}}}" in said.to_latex() and f"**{text}**" in said.to_markdown()
    n_even = wide.eq("undecided").to_numpy().sum()
    assert (
        said.to_latex().count("$^{=}$")
        == said.to_markdown().split("<!--")[0].count(" =  ")
        == n_even
    )
    counted = {a: rs.RankCounts.of(one) for a, one in said.study.ranks.items()}
    alone = rs.report(counted, n_items=1000, drawn="uniform", metrics=["AUC"])
    assert {*alone.wide["AUC", "vs best"]} == {"best", "undecided"}  # no pair is known


def test_exports_say_how_they_were_made(found):
    stated = {"m": M, "n_items": N_ITEMS, "drawn": "uniform", "metrics": ["AP", rs.AUC]}
    said = rs.report(RUN.values, **stated)
    made = json.loads(said.to_json())["made"]
    assert made["recsample"] == version("recsample") and made["function"] == "report"
    assert {name: made["arguments"][name] for name in stated} == stated | {"metrics": "['AP', AUC]"}
    for form in (said.to_latex(), said.to_markdown(), said.to_csv()):
        assert f"recsample {version('recsample')}: report(" in form and "n_items=300" in form
    scores = np.random.default_rng(0).normal(size=(9, 30))
    drawn = rs.evaluate(scores, np.arange(9), among=rs.UniformSampling(9), rng=7, metrics=["AUC"])
    assert json.loads(drawn.to_json())["made"]["arguments"]["rng"] == 7
    assert "rng=7" in drawn.to_latex() and "scores='ndarray (9, 30), sha256 " in drawn.to_markdown()
    named = rs.evaluate({"a": scores}, np.arange(9), metrics=["AUC"])
    one = f"ndarray (9, 30), sha256 {sha256(b'<f8 (9, 30) ' + scores.tobytes()).hexdigest()[:16]}"
    assert named.made["arguments"]["scores"] == f"{{'a': {one}}}"


def tables():
    """Users, items and scores in what people bring, with words that no export may hold."""
    pl, sparse = pytest.importorskip("polars"), pytest.importorskip("scipy.sparse")
    users = [f"secret{k}" for k in range(30)]
    held_out = pd.DataFrame({"user": users, "item": [f"hidden{k}" for k in range(30)]})
    pairs = held_out[["user"]].merge(held_out[["item"]], how="cross")
    pairs["score"] = np.random.default_rng(0).normal(size=900) + 987654
    groups = {user: f"secret_group{k % 7}" for k, user in enumerate(users)}
    yield {"scores": pairs, "held_out": held_out, "groups": groups}
    yield {"scores": pl.from_pandas(pairs).lazy(), "held_out": held_out.set_index("user")["item"]}
    yield {
        "scores": {"a": pairs, "b": pairs.assign(score=-pairs["score"])},
        "held_out": held_out,
        "items": held_out["item"].tolist(),
        "train": pairs[::31].assign(user=users[::-1]),
    }
    numbers = np.random.default_rng(0).normal(size=(30, 9)) + 987654
    yield {"scores": (numbers, numbers), "held_out": [*range(30)]}
    yield {"scores": numbers, "held_out": sparse.csr_matrix(np.eye(30, 9) + np.eye(30, 9, -9))}


def test_exports_hold_no_row_of_the_data():
    for given in tables():
        found = rs.evaluate(**given, metrics=["NDCG@5"])
        exports = found.to_latex(), found.to_markdown(), found.to_csv(), found.to_json()
        assert not re.findall("secret|hidden|9876|, 27, 28", "".join(exports))
        told = found.made["arguments"]
        assert all("sha256" in told[name] or "LazyFrame" in told[name] for name in given)
        assert found.made == rs.evaluate(**given, metrics=["NDCG@5"]).made
    column = [97, 2, 1, 3] * 5
    reported = rs.report(column, m=98, n_items=[7771] * 20, drawn="uniform", metrics=["AUC"])
    assert reported.made["arguments"]["m"] == 98
    assert not re.findall("97, 2|7771, 7771", reported.to_json())


def test_the_hash_is_of_the_values_whatever_holds_them():
    scores = np.random.default_rng(0).integers(0, 9, (9, 30)).astype(float)

    def told(given):
        return rs.evaluate(given, np.arange(9), metrics=["AUC"]).made["arguments"]["scores"]

    same = [scores, np.asfortranarray(scores), scores.astype(">f8"), scores[::-1][::-1]]
    assert len({told(one) for one in same}) == 1
    other = scores.copy()
    other[4, 7] += 1
    assert len({told(one) for one in (scores, other, scores.astype("f4"), scores[:, ::-1])}) == 4
    table = pd.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "score": [1.0, 2.0]})
    text = b"".join(
        f"<U{len(cells[0])} ({len(cells)},) ".encode() + np.array(cells).tobytes()
        for cells in (["user"], ["a", "b"], ["item"], ["x", "y"], ["score"])
    )
    digest = sha256(text + b"<f8 (2,) " + np.array([1.0, 2.0]).tobytes()).hexdigest()[:16]
    found = rs.evaluate(table, table[["user", "item"]], unlisted="below", metrics=["RR"])
    wanted = f"DataFrame of ['user', 'item', 'score'] (2, 3), sha256 {digest}"
    assert found.made["arguments"]["scores"] == wanted


def every_kind():
    """Results of every kind, of few users."""
    rng = np.random.default_rng(0)
    ranks = rs.Ranks([np.unique(rng.integers(1, 300, 2)).tolist() for _ in range(60)], 300)
    run, few = rs.UniformSampling(20).draw(ranks, 0), rng.choice(60, 20, replace=False)
    sampled = {"A1": run, "B2": run}
    yield rs.report(sampled)
    yield rs.report(run, exact=(few, ranks[few]), chosen=np.full(60, 0.3))
    yield rs.report(sampled, exact={name: (few, ranks[few]) for name in sampled})
    yield rs.report(rs.UniformSampling(M).draw(humped_ranks(), 1), metrics=["Recall@10", "AP"])
    far = rs.UniformSampling(9).draw(exact_ranks(), 1).values
    yield rs.report({"A": far, "B": far}, m=M, n_items=N_ITEMS, drawn="uniform")
    yield rs.report(rs.UniformSampling(95).draw(exact_ranks(n_items=100), 0))
    scores, held_out = rng.normal(size=(60, 40)), rng.integers(0, 40, 60)
    asked = {"metrics": ["Recall@10", "AUC"]}
    yield rs.evaluate({"A": scores, "B": -scores}, held_out, **asked)
    yield rs.evaluate(scores[:1], held_out[:1], **asked)
    runs = {"A": {"1": scores, "2": -scores}}
    yield rs.evaluate(runs, held_out, run="seed", groups=np.arange(60) // 2, **asked)
    users, items = np.nonzero(scores > 0)
    listed = pd.DataFrame({"user": users, "item": items, "score": scores[users, items]})
    wanted = pd.DataFrame({"user": np.arange(60), "item": held_out})
    for unlisted in ("missed", "below", "open"):
        how = {"items": 40, "unlisted": unlisted, "metrics": ["Recall@10", "AP@10"]}
        yield rs.evaluate(listed, wanted, **how)
    among = pd.DataFrame({"user": np.repeat(np.arange(60), 9), "item": np.tile(np.arange(9), 60)})
    for drawn in ("popular", "unknown", "uniform"):
        yield rs.evaluate({"A": scores}, held_out, among=among, drawn=drawn, **asked)
    printed = {f"model {i}": {"HR@10": "0.670", "NDCG@10": "0.396"} for i in range(3)}
    how = {"n_items": (1_390, 3_690), "n_users": 6_040, "drawn": "uniform"}
    yield rs.from_published(printed, m=[99, 100], **how)


def test_every_kind_says_no_more_than_there_is():
    kinds = list(every_kind())
    assert len({type(found.study) for found in kinds}) == 6
    for found in kinds:
        assert len(found.sentences) == len(found.table)
        for (_, row), sentence in zip(found.table.iterrows(), found.sentences):
            assert all(len(part.split()) <= 40 for part in sentence.split(". ")), sentence
            assert sentence.endswith(".") and "nan" not in sentence
            if row.get("assumption") != "decreasing":
                assert "if rank" not in sentence
            # What is among the drawn items only is never the first number that is read.
            if abs(row["value"] - row.get("sampled", row["value"])) > 0.001:
                assert numbers(sentence)[0] == f"{row['value']:.3f}"
        said = f"{found} {found.footnote} {found.to_latex()} {found.to_markdown()}"
        assert "nan" not in said and "without bias" not in said
        if found.blind is None:
            assert "At this size" not in said


@pytest.mark.parametrize("form", ["to_latex", "to_markdown", "to_json", "to_csv", "__str__"])
def test_what_leaves_says_what_it_assumes(found, hump, impossible, form):
    for said, word in [(found, "decreasing"), (hump, "contradicted"), (impossible, "refuted")]:
        text = " ".join(getattr(said, form)().replace("\\%", "%").split())
        assert "95 %" in text or "0.95" in text
        assert word in text
        if form in ("to_json", "to_csv"):
            assert "sampled (uncorrected)" in text
        elif form != "__str__":
            assert "sampled" not in text.split("report(")[0]
        if form == "to_json" and word != "refuted":
            assert "within the best fifth of the list, no rank is more frequent than" in text


def test_latex_is_a_whole_float(found, pair):
    for said in (found, pair):
        comment, *lines = said.to_latex().splitlines()
        assert comment.startswith("% recsample ") and comment.count("%") == 1
        assert lines[0] == r"\begin{table}" and lines[-1] == r"\end{table}"
        assert lines[1].startswith(rf"\caption{{{SIZE} instances") and lines[1].endswith("}")
        assert "%" not in lines[1].replace(r"\%", "")
        text = "\n".join(lines)
        assert text.count("{") == text.count("}") and text.count("$") % 2 == 0
        assert re.findall(r"\\begin{(\w+)}", text) == re.findall(r"\\end{(\w+)}", text)[::-1]
        columns = len(re.search(r"{tabular}{(l+)}", text)[1])
        rows = [line for line in lines if line.endswith(r"\\")]
        assert len(rows) == 1 + 3 * (2 if said is pair else 1)  # values and limits of two kinds
        assert all(line.count("&") == columns - 1 for line in rows)


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
        ({"chosen": np.full(SIZE, 0.5)}, "^exact must be given with chosen=, got None"),
    ],
)
def test_refuses(changes, message):
    arguments = {"sampled": RUN.values, "m": M, "n_items": N_ITEMS, "drawn": "uniform"} | changes
    with pytest.raises(ValueError, match=message):
        rs.report(arguments.pop("sampled"), **arguments)


def test_what_a_design_observes_is_refused_with_what_to_do():
    observed = rs.InverseSampling().draw(exact_ranks(size=10), 0)
    with pytest.raises(ValueError, match="got what the design .* observes, see Design.of"):
        rs.report(observed, n_items=N_ITEMS)


def test_a_refuted_column_says_nothing_of_any_metric_and_others_are_not_touched():
    exact = np.minimum(1 + np.random.default_rng(1).geometric(0.01, 943), 1000)
    honest = rs.UniformSampling(m=100).draw(rs.Ranks(exact, n_items=1000), rng=2)
    clipped = rs.Ranks(np.minimum(honest.rows.rank, 11), n_items=101)
    runs = {"honest": honest, "clipped": clipped}
    for metrics in (["AUC"], ["recall@10", "AUC"]):
        found = rs.report(runs, n_items=1000, drawn="uniform", metrics=metrics)
        said = found.table.xs("clipped", level="recommender")
        assert said[["value", "low", "high", "if_low"]].isna().all(axis=None)
        assert (said["assumption"] == "").all()
        assert found.ladder.xs("clipped", level="recommender").isna().all(axis=None)
        assert found.pairs[["difference", "low", "high", "probability"]].isna().all(axis=None)
        for one in found.sentences:
            assert ("has no estimate" in one) == one.startswith("clipped")
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
    assert found.footnote.count("fewer than 1 of 250 studies (p = 0.004)") == 2
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
    assert "what was stated of m, pools and draws is not so" in found.notes[-1]
    assert not rs.report(column, **asked).notes
    with pytest.raises(
        ValueError, match="^sampled must be ranks from 1 on, .*such as 0: numpy.add"
    ):
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
    for prefix, ((a, b, _), row) in product(("", "if_"), pairs.iterrows()):
        ahead = row[f"{prefix}ahead"]
        if pd.isna(ahead) or ahead == "undecided":
            continue
        sign, low, high = (1 if ahead == a else -1), row[f"{prefix}low"], row[f"{prefix}high"]
        assert ahead in (a, b)
        assert min(sign * low, sign * high, sign * (row[f"{prefix}probability"] - 0.5)) > 0
        assert not sign * row["difference"] < 0
    known = pairs["difference"].notna()
    assert (pairs["low"] <= pairs["difference"])[known].all()
    assert (pairs["difference"] <= pairs["high"])[known].all()
    assert (pairs["if_ahead"].notna() == (pairs["assumption"] == "decreasing")).all()


def outside(row, prefix=""):
    return row["value"] < row[f"{prefix}low"] or row["value"] > row[f"{prefix}high"]


def test_an_estimate_outside_of_its_limits_is_shown_as_it_is_with_a_note():
    """Ranks about 60 of 1,000: few are at the head, of which 50 draws see little."""
    ranks, said = np.arange(1, 1001), 0
    chances = np.exp(-(np.log(ranks / 60) ** 2) / 2) / ranks
    for seed in range(6):
        rng = np.random.default_rng(seed)
        exact = rs.Ranks(rng.choice(ranks, 500, p=chances / chances.sum()), 1000)
        found = rs.report(rs.UniformSampling(50).draw(exact, rng), metrics=["Recall@10"])
        row, truth = found.table.loc["Recall@10"], (rs.Recall @ 10)(exact).mean()
        assert row["low"] <= truth <= row["high"]
        notes = [note for note in found.notes if "outside of its limits if decreasing" in note]
        assert len(notes) == outside(row, "if_")
        for note in notes:  # the assumption is wrong here
            assert note.startswith(f"Recall@10 is estimated at {row['value']:.3f}, outside")
            assert abs(row["value"] - truth) < abs(row["if_low"] - truth)
            said += 1
    assert said >= 2
    decreasing = rs.Ranks(1 + np.arange(1000) ** 2 // 1000, 1000)
    assert not rs.report(rs.UniformSampling(50).draw(decreasing, 0), metrics=["Recall@10"]).notes


@pytest.mark.parametrize("estimate", [-0.01, 0.99])
def test_an_estimate_outside_of_what_assumes_nothing_is_no_limit_either(monkeypatch, estimate):
    monkeypatch.setattr(SampledRun, "estimate", lambda self, metric: estimate)
    column = rs.UniformSampling(50).draw(rs.Ranks(range(20, 320), 1000), rng=0)
    found = rs.report({"a": column}, metrics=["Recall@1"])
    row = found.table.loc["a", "Recall@1"]
    assert row["value"] == estimate and outside(row)
    limits = f"{row['low']:.3f} to {row['high']:.3f}"
    said = f"a: Recall@1 is estimated at {estimate:.3f}, outside of its limits, {limits}: these"
    assert any(note.startswith(said) for note in found.notes)


def test_pairs_that_are_undecided_say_how_far_apart_they_are_at_most():
    rng, exact = np.random.default_rng(0), {}
    for name, scale in (("a", 60), ("b", 62), ("far", 400)):
        exact[name] = rs.Ranks(1 + np.minimum(rng.exponential(scale, 400).astype(int), 999), 1000)
    runs = {name: rs.UniformSampling(50).draw(one, rng=0) for name, one in exact.items()}
    found = rs.report(runs, metrics=["AUC", "Recall@10"])
    most = {}
    for (a, b, metric), row in found.pairs.iterrows():
        if row["ahead"] == "undecided":
            apart = max(-row["low"], row["high"])
            most[metric] = max(most.get(metric, 0), apart)
            best = found.table["value"].xs(metric, level="metric").idxmax()
            if best in (a, b):
                (other,) = {a, b} - {best}
                place = found.table.index.get_loc((other, metric))
                said = f" Beside {best}: undecided, at most {apart:.3f} apart"
                assert said in found.sentences[place]
    assert sum("undecided" in one for one in found.sentences) == 3  # far is behind in AUC
    each = ", ".join(f"{apart:.3f} ({metric})" for metric, apart in most.items())
    assert f"Undecided: at most {each} apart." in " ".join(str(found).split())
    assert "ndecided" not in str(rs.report(runs["a"], metrics=["AUC"]))
    decided = rs.report({name: runs[name] for name in ("a", "far")}, metrics=["AUC"])
    assert "ndecided" not in str(decided) + " ".join(decided.sentences)


def test_ranks_and_counts_of_them_do_not_stand_beside_each_other():
    ranks = rs.Ranks([1, 2, 3], 5)
    given = {"a": ranks, "b": rs.RankCounts.of(ranks)}
    with pytest.raises(ValueError, match="got RankCounts of 'b' beside Ranks of 'a'"):
        rs.report(given, n_items=50, drawn="uniform")


def test_an_export_says_what_was_stated_and_no_default():
    ranks = rs.Ranks([1, 2, 3], 5)
    found = rs.report(ranks, n_items=50, drawn="uniform", metrics=["AUC"])
    hashed = found.made["arguments"]["sampled"]
    assert re.fullmatch(r"Ranks \(3,\), sha256 [0-9a-f]{16}", hashed)
    stated = {"sampled": hashed, "n_items": 50, "drawn": "uniform", "metrics": "['AUC']"}
    assert found.made["function"] == "report" and found.made["arguments"] == stated
    scores = np.random.default_rng(0).normal(size=(4, 9))
    exact = rs.evaluate(scores, [0, 1, 2, 3], metrics=["AUC"])
    assert [*exact.made["arguments"]] == ["scores", "held_out", "metrics"]
    drawn = rs.evaluate(scores, [0, 1, 2, 3], metrics=["AUC"], among=rs.UniformSampling(3))
    assert drawn.made["arguments"]["rng"] == 0  # the seed, whoever chose it


def test_differences_of_an_audit_are_said_to_be_predicted_for_themselves():
    x = rs.datasets.recorded_ranks()
    exact = {name: x[name].break_ties("random", 0)[:400] for name in "XY"}
    sampled = {name: rs.UniformSampling(20).draw(one, rng=0) for name, one in exact.items()}
    few = np.random.default_rng(0).choice(400, 80, replace=False)
    given = {name: (few, one[few]) for name, one in exact.items()}
    found = rs.report(sampled, exact=given, metrics=["NDCG@10"])
    values = found.table["value"].xs("NDCG@10", level="metric")
    apart = found.pairs["difference"].iloc[0] - (values["X"] - values["Y"])
    assert apart != 0 and "A difference is predicted for itself" in found.footnote
    alone = rs.report(sampled["X"], exact=given["X"], metrics=["NDCG@10"])
    assert "predicted for itself" not in alone.footnote


def test_what_is_printed_is_computed_before(monkeypatch):
    run = SAMPLER.draw(exact_ranks(size=60), 0)
    found = rs.report({"A": run, "B": run}, n_items=N_ITEMS, metrics=["Recall@10"])
    expected = [found.table, found.pairs, found.ladder, found.per_instance]

    def refuse(*given):
        raise AssertionError("computed again")

    names = [name for name, value in vars(SampledRun).items() if callable(value)]
    for name in {*names} - {"__init__"}:
        monkeypatch.setattr(SampledRun, name, refuse)
    copied = pickle.loads(pickle.dumps(found))
    for again, table in zip(
        [copied.table, copied.pairs, copied.ladder, copied.per_instance], expected
    ):
        pd.testing.assert_frame_equal(again, table)
    assert str(copied) == str(found) and copied.to_json() == found.to_json()
    assert (copied.sentences, copied.notes) == (found.sentences, found.notes)
