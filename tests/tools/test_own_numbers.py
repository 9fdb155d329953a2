"""What the page "Your own numbers" computes: own.py, which the page runs in the browser."""

import io
import shlex
import sys

import chapters
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

import recsample as rs
from recsample.evaluation.command_line import main

sys.path.append(str(chapters.ROOT / "book/_static/running"))

import own  # noqa: E402

SETTINGS = {
    "kind": "ranks",
    "m": "20",
    "items": "500",
    "users": "",
    "drawn": "uniform",
    "replace": "",
    "metrics": "Recall@1, AUC",
}
SAMPLED = rs.UniformSampling(20).draw(rs.Ranks(np.arange(1, 301), 500), rng=0).values


def text_of(columns, mark=","):
    rows = zip(*columns.values())
    return "\n".join(mark.join(map(str, row)) for row in [columns, *rows])


def asked(text, **settings):
    return BeautifulSoup(own.answer(text, SETTINGS | settings).html, "html.parser")


def rows(page):
    """The first table: the metric, the value or the first of other cells, low and high."""
    names = [cell.text for cell in page.table.thead.tr("th")]
    limits = names.index("95 % limits") - len(names)
    return [
        [row("th")[-1].text, row("td")[0].text, *row("td")[limits].text.split(" to ")]
        for row in page.table.tbody("tr")
    ]


def test_the_table_is_that_of_a_report():
    columns = {"one": SAMPLED, "other": SAMPLED[::-1] // 2 + 1}
    found = rows(asked(text_of(columns, ";")))
    stated = {"m": 20, "n_items": 500, "drawn": "uniform", "metrics": ["Recall@1", "AUC"]}
    numbers = rs.report(columns, **stated).table[["value", "low", "high"]].to_numpy()
    assert [row[1:] for row in found] == [
        ["–" if np.isnan(one) else f"{one:.4f}" for one in row] for row in numbers
    ]
    assert [row[0] for row in found] == 2 * ["Recall@1", "AUC"]


def test_scores_give_the_ranks_that_they_make():
    rng = np.random.default_rng(0)
    scores = np.c_[rng.normal(1, 1, 200), rng.normal(size=(200, 20))].round(3)
    ranks = 1 + (scores[:, 1:] > scores[:, :1]).sum(axis=1)
    assert not (scores[:, 1:] == scores[:, :1]).any()
    text = "\n".join(",".join(map(str, row)) for row in scores)
    assert rows(asked(text, kind="scores", m="")) == rows(asked("\n".join(map(str, ranks))))


def test_a_printed_table_has_the_limits_of_from_published():
    text = "model\tHR@10\tNDCG@10\nX\t0.670\t0.396"
    how = {"m": "100", "items": "1390 3690", "users": "6,040", "metrics": ""}
    found = rows(asked(text, kind="printed", **how))
    wanted = rs.from_published(
        {"X": {"HR@10": "0.670", "NDCG@10": "0.396"}},
        m=100,
        n_items=(1390, 3690),
        n_users=6040,
        drawn="uniform",
    ).table
    limits = [[f"{one:.4f}" for one in row] for row in wanted[["low", "high"]].to_numpy()]
    assert [row[2:] for row in found] == limits


def verdict_of(text, **settings):
    return asked(text, **settings).select_one(".own-verdict").text


def test_the_first_words_say_what_the_limits_are_and_who_is_better():
    better = rs.UniformSampling(20).draw(rs.Ranks(np.arange(300) % 100 + 1, 500), rng=1).values
    far = {"good": better, "bad": SAMPLED}
    said = verdict_of(text_of(far), metrics="AUC")
    table = rs.report(far, m=20, n_items=500, drawn="uniform", metrics=["AUC"]).table
    low, high = table.loc[("good", "AUC"), ["low", "high"]]
    assert f"AUC of good is between {low:.3f} and {high:.3f}." in said
    assert "good is better than bad." in said
    alike = {"A": SAMPLED, "B": np.random.default_rng(0).permutation(SAMPLED)}
    said = verdict_of(text_of(alike))
    assert "Whether A is better than B these numbers do not say" in said
    pairs = rs.report(alike, m=20, n_items=500, drawn="uniform", metrics=["Recall@1"]).pairs
    apart = f"only that they are at most {pairs[['low', 'high']].abs().max().max():.3f} apart"
    assert apart in said
    three = text_of(alike | {"C": SAMPLED[::-1]})
    assert "for 3 of the 3 pairs, only that they are at most" in verdict_of(three)
    one = verdict_of(text_of({"A": SAMPLED}), metrics="Recall@1")
    assert one.startswith("Recall@1 is between 0.0") and " if good ranks are no rarer" in one


def test_of_other_draws_limits_are_upper_ones():
    text = text_of({"A": SAMPLED})
    said = verdict_of(text, drawn="popular", replace="without")
    assert said.startswith("Recall@1 is between 0.000 and ")


def test_the_second_line_says_what_the_sampled_metric_reads():
    cutoffs = rs.UniformSampling(20).effective_cutoffs("Recall@1", 500)
    said = asked(text_of({"A": SAMPLED})).select_one(".own-verdict").find_next("p").text
    assert f"over K from {cutoffs.low} to {cutoffs.high} (Recall@1)" in said


@pytest.mark.parametrize("ids", [np.arange(300), [f"u{k}" for k in range(300)]])
def test_a_column_of_ids_is_no_recommender(ids):
    alone = rows(asked(text_of({"A": SAMPLED})))
    for name in ("user", "User_ID"):
        assert rows(asked(text_of({name: ids, "A": SAMPLED}))) == alone
    named = [f"u{k},{rank}" for k, rank in enumerate(SAMPLED)]  # without a line of names
    assert rows(asked("\n".join(named))) == alone
    scores = "\n".join(f"u{k} {k % 7} 3 2" for k in range(50))
    unnamed = "\n".join(f"{k % 7} 3 2" for k in range(50))
    assert rows(asked(scores, kind="scores", m="")) == rows(asked(unnamed, kind="scores", m=""))


def test_users_with_several_rows_are_asked_about():
    users = np.arange(300) // 2
    text = text_of({"user": users, "A": SAMPLED})
    with pytest.raises(ValueError, match="got 2 for '0': .* a column that is called group, which"):
        asked(text)
    found = rows(asked(text.replace("user", "person")))
    stated = {"n_items": 500, "drawn": "uniform", "metrics": ["Recall@1", "AUC"], "groups": users}
    table = rs.report(rs.Ranks(SAMPLED, 21), **stated).table
    assert [row[2:] for row in found] == [
        [f"{one:.4f}" for one in row] for row in table[["low", "high"]].to_numpy()
    ]


def test_the_format_of_the_command_is_read_and_the_command_answers_the_same(capsys, tmp_path):
    columns = {"user": np.arange(300), "X": SAMPLED, "Y": SAMPLED[::-1]}
    wide = asked(text_of(columns))
    users, names = [*range(300)] * 2, ["X"] * 300 + ["Y"] * 300
    ranks = np.r_[SAMPLED, SAMPLED[::-1]]
    long = {"fold": [1] * 600, "user_id": users, "model": names, "sampled_rank": ranks}
    page = asked(text_of(long, "\t"))
    assert rows(page) == rows(wide) and len(rows(page)) == 4
    assert "users" not in page.text.split("Read:")[0]
    assert "not read: fold." in page.text
    for text, shown in ((text_of(columns), wide), (text_of(long, "\t"), page)):
        line = shown("pre")[-1].text
        words = shlex.split(line)
        assert words[:2] == ["recsample", "report"]
        path = tmp_path / words[2]
        path.write_text(text, encoding="utf-8")
        assert main([words[1], str(path), *words[3:], "--format", "csv"]) == 0
        table = pd.read_csv(io.StringIO(capsys.readouterr().out))
        assert [f"{one:.4f}" for one in table["low"]] == [row[2] for row in rows(shown)]


def test_the_plan_is_that_of_the_package():
    page = own.plan("\n".join(map(str, SAMPLED)), SETTINGS | {"width": "0.1"}).html
    found = rs.report(SAMPLED, m=20, n_items=500, drawn="uniform", metrics=["Recall@1"])
    plan = found.plan("Recall@1", 0.1)
    assert f"{len(plan.users)} of the 300 users" in page and f"Rank {plan.first} first" in page
    with pytest.raises(ValueError, match="a plan needs one recommender, got 2"):
        own.plan(text_of({"A": SAMPLED, "B": SAMPLED}), SETTINGS | {"width": "0.1"})
    long = {"user": np.arange(300), "model": ["X"] * 300, "rank": SAMPLED}
    assert own.plan(text_of(long), SETTINGS | {"width": "0.1"}).html.split("<p>Read:")[0] in page
    with pytest.raises(ValueError, match="a plan needs limits of Recall@1: such draws hardly give"):
        own.plan("\n".join(["5"] * 600), SETTINGS | {"width": ""})


def test_lines_end_in_every_way_and_scores_have_any_names():
    text = text_of({"A": SAMPLED, "B": SAMPLED[::-1]})
    for end in ("\r\n", "\r"):
        assert rows(asked(text.replace("\n", end))) == rows(asked(text))
    scores = {name: np.random.default_rng(k).normal(size=50) for k, name in enumerate("abc")}
    named = dict(zip(("rank", "model", "ties"), scores.values()))  # whatever these mean elsewhere
    how = {"kind": "scores", "m": ""}
    assert rows(asked(text_of(named), **how)) == rows(asked(text_of(scores), **how))


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, "at least one row of numbers, got nothing"),
        ("1\n2\nx", {}, "pasted.tsv, column 'column 1', line 3, must be a whole number"),
        ("1,4\n2,4\n3,1", {}, "column 1 counts 1, 2, 3, ... as ids do: call it user"),
        ("idx,A\n7,4\n8,4\n9,1", {}, "idx counts 7, 8, 9, ... as ids do: call it user"),
        ("user,id,A\n7,4,1", {}, r"one column may be for user, got \['user', 'id'\]"),
        ("a,b,4\nc,d,1", {}, r"one column may hold text, the ids, got \['a', 'b', '4'\]"),
        ("user,A\n7,4,1", {}, "pasted.csv, line 2, must have 2 fields, .* got 3"),
        ("user\n7\n9", {}, "a column of ranks beside the ids"),
        ("user,model,A\n7,X,4", {}, "a column of ranks must be called rank beside model"),
        ("user,A,ties\n7,2,4\n8,2", {}, "pasted.csv, line 3, must have 3 fields"),
        ("1\n22", {}, "rank must be at most m [+] 1 = 21, got 22 in line 2"),
        ("a,b\n1,x", {"kind": "scores"}, "scores must be numbers, got text"),
        ("1\n2", {"m": ""}, "m must be a whole number from 1, got ''"),
        ("1\n2", {"drawn": "popular"}, "replace must be False where items were"),
        ("HR@10\n", {"kind": "printed", "users": "9"}, "a line of names above lines of numbers"),
        # A first line with a number has no names, even where some are missing.
        ("nan\n1\n7\n9", {}, "column 'column 1', line 1, must be a whole number .* got 'nan'"),
        ("1,2,nan\n3,4,5", {"kind": "scores"}, "scores must be numbers, got text among"),
        ("1,2,\n3,4,5", {"kind": "scores"}, "scores must be finite, .* got NaN"),
        ("1,2,9\n3,4", {"kind": "scores"}, "must have 3 fields, as many as the first line, got 2"),
        (",A\n5,4\n9,4", {}, r"every column must have a name, .* got \['', 'A'\]"),
        ('"' + "1\n" * 100_000, {}, "pasted.tsv must be fields between"),
        ("group,A\n1,2\n1,3", {}, "groups must tell at least two apart, got 1"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(text, settings, message):
    with pytest.raises(rs.InputError, match=message) as caught:
        own.answer(text, SETTINGS | settings)
    page = own.answered_or_refused(own.answer, text, SETTINGS | settings).html
    (refusal,) = BeautifulSoup(page, "html.parser")(class_="own-refusal")
    assert refusal.text == str(caught.value) and "recsample" not in refusal.text


def test_what_can_be_answered_is_answered():
    text = "\n".join(map(str, SAMPLED))
    page = own.answered_or_refused(own.answer, text, SETTINGS).html
    assert "own-verdict" in page and "own-refusal" not in page
