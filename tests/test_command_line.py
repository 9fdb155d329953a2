"""The command `recsample`, run as a user runs it: files in, text out, an exit status."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import recsample as rs
from recsample.command_line import main


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Sampled ranks of X and Y, one row per user and recommender, in mixed order."""
    tmp_path = tmp_path_factory.mktemp("study")
    recorded = rs.datasets.recorded_ranks()
    tables = []
    for name in "XY":
        sampled = rs.UniformSampling(m=100).draw(recorded[name][:2000], rng=0)
        table = pd.DataFrame({"who": np.arange(2000), "sampled_rank": sampled.values})
        tables.append(table.assign(model=name, pool=recorded[name].sizes[:2000], drawn=100))
    mixed = pd.concat(tables).sample(frac=1, random_state=0)
    mixed.to_csv(tmp_path / "both.csv", index=False)
    mixed[mixed["model"] == "X"].to_csv(tmp_path / "x.csv", index=False)
    return tmp_path, mixed


def test_a_report_is_that_of_the_package(run, study):
    folder, mixed = study
    asked = "--rank sampled_rank --m 100 --items 3541 --metrics recall@10 auc".split()
    status, out, _ = run("report", folder / "x.csv", *asked, "--format", "json")
    column = mixed.loc[mixed["model"] == "X", "sampled_rank"].to_numpy()
    expected = rs.report(column, m=100, n_items=3541, metrics=["recall@10", "auc"])
    assert status == 0
    assert json.loads(out) == json.loads(expected.to_json())
    status, out, _ = run("report", folder / "x.csv", *asked)
    assert expected.sentences[0].split()[:6] == out[out.index("- Recall") + 2 :].split()[:6]


def test_several_recommenders_with_columns_for_m_and_the_pool(run, study):
    folder, mixed = study
    asked = "--rank sampled_rank --m drawn --items pool --user who --model model".split()
    status, out, _ = run(
        "report", folder / "both.csv", *asked, "--metrics", "auc", "--format", "json"
    )
    wide = mixed.pivot(index="who", columns="model", values="sampled_rank")
    auc = 1 - (wide - 1) / 100
    rows = {row["recommender"]: row["value"] for row in json.loads(out)["table"]}
    assert rows == pytest.approx(auc.mean().to_dict())
    (pair,) = json.loads(out)["pairs"]
    differences = auc["X"] - auc["Y"]
    assert pair["difference"] == pytest.approx(differences.mean())
    reach = 1.96 * differences.std() / np.sqrt(2000)
    assert pair["high"] - pair["low"] == pytest.approx(2 * reach, rel=0.002)


def refused(run, folder, table, *more):
    table.to_csv(folder / "wrong.csv", index=False)
    asked = "--rank sampled_rank --m 100 --items pool --model model --metrics auc".split()
    status, _, err = run("report", folder / "wrong.csv", *asked, *more)
    assert status == 2
    return err


def test_recommenders_are_compared_user_by_user_or_not_at_all(run, study):
    folder, mixed = study
    said = refused(run, folder, mixed)
    assert "--user must name the column of users where there are several recommenders" in said
    one_less = mixed[(mixed["who"] != 7) | (mixed["model"] == "X")]
    said = refused(run, folder, one_less, "--user", "who")
    assert "--user must name the same users for each recommender, got 7 for only one" in said
    larger = mixed.assign(pool=mixed["pool"] + ((mixed["who"] == 7) & (mixed["model"] == "X")))
    said = refused(run, folder, larger, "--user", "who")
    assert "--items must be the same for all recommenders of a user" in said
    nameless = mixed.assign(model=mixed["model"].where(mixed["who"] != 7))
    assert "without gaps" in refused(run, folder, nameless, "--user", "who")
    twice = pd.concat([mixed, mixed[:1].assign(sampled_rank=101, pool=9999)])
    assert "one number for each user" in refused(run, folder, twice, "--user", "who")


def test_parquet(run, study):
    pytest.importorskip("pyarrow")
    folder, mixed = study
    mixed[mixed["model"] == "X"].to_parquet(folder / "x.parquet")
    asked = "--rank sampled_rank --m 100 --items 3541 --metrics auc".split()
    assert run("report", folder / "x.parquet", *asked) == run("report", folder / "x.csv", *asked)


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(0)
    users, items = np.repeat(np.arange(30), 20), np.tile(np.arange(20), 30)
    scores = pd.DataFrame({"user": users, "item": items, "score": rng.integers(0, 9, 600)})
    scores.to_csv(tmp_path / "a.csv", index=False)
    scores.assign(score=-scores["score"]).to_csv(tmp_path / "b.tsv", index=False, sep="\t")
    held_out = pd.DataFrame({"user": np.arange(30), "item": rng.integers(0, 20, 30)})
    held_out.to_csv(tmp_path / "held_out.csv", index=False)
    train = pd.DataFrame({"user": np.arange(30), "item": (held_out["item"] + 1) % 20})
    train.to_csv(tmp_path / "train.csv", index=False)
    return tmp_path, scores, held_out, train


def test_an_evaluation_is_that_of_the_package(run, tables):
    folder, scores, held_out, train = tables
    named = [f"a={folder / 'a.csv'}", f"b={folder / 'b.tsv'}"]
    rest = ["--held-out", folder / "held_out.csv", "--train", folder / "train.csv"]
    models = {"a": scores, "b": scores.assign(score=-scores["score"])}
    for more, sampler in (([], None), (["--sample", 5, "--seed", 3], rs.UniformSampling(5))):
        expected = rs.evaluate(models, held_out, train=train, sampler=sampler, rng=3)
        status, out, _ = run("evaluate", "--scores", *named, *rest, *more, "--format", "json")
        assert status == 0 and json.loads(out) == json.loads(expected.to_json())
    expected = rs.evaluate(scores, held_out, train=train, metrics=["mrr"])
    one = ["evaluate", "--scores", folder / "a.csv", *rest, "--metrics", "mrr"]
    assert run(*one)[1].split() == str(expected).split()
    assert run(*one, "--format", "latex")[1].split() == expected.to_latex().split()
    assert run(*one, "--format", "markdown")[1].split() == expected.to_markdown().split()


def test_given_negatives(run, tables):
    folder, scores, held_out, train = tables
    rows = [
        (user, (item + step) % 20)
        for user, item in held_out.itertuples(index=False)
        for step in np.random.default_rng(user).permutation(np.arange(2, 20))[:6]
    ]
    lists = pd.DataFrame(rows, columns=["user", "item"])
    lists.to_csv(folder / "lists.csv", index=False)
    expected = rs.evaluate(scores, held_out, train=train, negatives=lists)
    asked = ["--held-out", folder / "held_out.csv", "--train", folder / "train.csv"]
    asked += ["--negatives", folder / "lists.csv", "--format", "json"]
    _, out, _ = run("evaluate", "--scores", folder / "a.csv", *asked)
    assert json.loads(out) == json.loads(expected.to_json())


def test_a_plan_for_a_width_with_its_seconds(run, study):
    folder, mixed = study
    asked = "--rank sampled_rank --m 100 --items 3541 --metric recall@10 --width .07".split()
    status, out, _ = run("plan", folder / "x.csv", *asked, "--per-second", 1000, "--format", "json")
    column = mixed.loc[mixed["model"] == "X", "sampled_rank"].to_numpy()
    expected = rs.report(column, m=100, n_items=3541, metrics=["recall@10"])
    expected = expected.plan("recall@10", 0.07)
    rows = json.loads(out)
    assert [row["way"] for row in rows] == list(expected.index)
    for row in rows:
        way = expected.loc[row["way"]]
        assert row["seconds"] == pytest.approx(way["users"] * way["scored"] / 1000)


def test_a_plan_for_an_order(run, study):
    folder, _ = study
    asked = "--rank sampled_rank --m 100 --items 3541 --user who --model model".split()
    status, out, _ = run(
        "plan", folder / "both.csv", *asked, "--metric", "auc", "--order", 0.9, "--format", "json"
    )
    rows = {row["way"]: row["scored"] for row in json.loads(out)}
    assert status == 0 and rows["at least"] <= rows["samples"] <= rows["at most"]


@pytest.mark.parametrize("replace", [False, True])
def test_a_plan_draws_as_the_pilot_did(run, study, monkeypatch, replace):
    folder, _ = study
    asked = []

    def planned(metric, a, b, sampler, n_items, rng, *, probability):
        asked.append((sampler, n_items, probability))
        return rs.inference.RequiredSamples(5, 4, 6)

    monkeypatch.setattr("recsample.command_line.required_samples_from_pilot", planned)
    options = (
        "--rank sampled_rank --m 100 --items 3541 --model model --user who --metric ap".split()
    )
    options += ["--order", ".8"]
    status, _, _ = run("plan", folder / "both.csv", *options, *["--with-replacement"] * replace)
    assert status == 0
    assert asked == [(rs.UniformSampling(100, replace), 3541, 0.8)]


REPORT = ["report", "x.csv", "--rank", "sampled_rank", "--m", "100", "--items", "3541"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["report", "none.csv", "--m", "1", "--items", "9"], "none.csv"),
        (["report", "x.xlsx", "--m", "1", "--items", "9"], ".csv, .tsv or .parquet"),
        (
            ["report", "empty.csv", "--m", "1", "--items", "9"],
            "empty.csv must be a file that holds",
        ),
        (
            ["report", "noise.csv", "--m", "1", "--items", "9"],
            "noise.csv must be a file that holds",
        ),
        (
            ["report", "ragged.csv", "--m", "1", "--items", "9"],
            "Expected 2 fields in line 3, saw 3",
        ),
        (["report", "x.csv", "--m", "100", "--items", "3541"], "--rank must name a column"),
        ([*REPORT[:-1], "many"], "--items must be a whole number or a column of the file"),
        ([*REPORT[:-1], "50"], "n_items must be at least 101"),
        ([*REPORT[:5], "10", *REPORT[6:]], "values must not exceed n_items"),
        ([*REPORT, "--metrics", "wrong@3"], "wrong@3"),
        ([*REPORT, "--user", "nobody"], "--user must name a column"),
        ([*REPORT, "--model", "what"], "--model must name a column"),
        (["plan", *REPORT[1:], "--metric", "ap", "--width", "-1"], "width must be"),
        (["plan", *REPORT[1:], "--metric", "ap", "--order", ".9"], "two recommenders"),
        (["plan", *REPORT[1:], "--metric", "ap", "--width", ".1", "--per-second", "0"], "above 0"),
        (["evaluate", "--scores", "x.csv", "--held-out", "x.csv"], "must have the column"),
        (["evaluate", "--scores", "a=x.csv", "x.csv", "--held-out", "x.csv"], "NAME=FILE"),
        (["evaluate", "--scores", "a=x.csv", "a=x.csv", "--held-out", "x.csv"], "different names"),
    ],
)
def test_a_mistake_ends_with_one_line_and_status_2(run, study, monkeypatch, arguments, said):
    folder, _ = study
    monkeypatch.chdir(folder)
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "x.xlsx").write_text("", encoding="utf-8")
    (folder / "noise.csv").write_bytes(b"rank\n\xff\xfe")
    (folder / "ragged.csv").write_text("rank\n1,2\n3,4,5\n", encoding="utf-8")
    status, out, err = run(*arguments)
    assert status == 2 and out == ""
    assert err.startswith("recsample: error: ") and err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize("error", [ValueError, np.linalg.LinAlgError, MemoryError, KeyError])
def test_a_mistake_of_this_package_is_not_taken_for_one_of_the_user(run, study, monkeypatch, error):
    """What NumPy, say, raises deep below a command is no refusal of what the user gave."""

    def broken(*_):
        raise error("operands could not be broadcast together")

    folder, _ = study
    monkeypatch.chdir(folder)
    monkeypatch.setattr("recsample.inference._evidence.fitted", broken)
    with pytest.raises(error, match="operands"):
        run(*REPORT)


def test_a_broken_parquet_file_is_a_mistake_of_the_user(run, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "x.parquet").write_text("rank\n1\n", encoding="utf-8")
    status, _, err = run("report", tmp_path / "x.parquet", "--m", 1, "--items", 9)
    assert status == 2 and "x.parquet must be a file that holds a table" in err


def test_runs_as_a_module_and_explains_itself():
    asked = [sys.executable, "-m", "recsample", "report", "--help"]
    found = subprocess.run(asked, capture_output=True, encoding="utf-8", check=True)
    assert "--with-replacement" in found.stdout


def test_a_million_rows(run, tmp_path):
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 102, 10**6).tolist()
    (tmp_path / "many.csv").write_text("\n".join(["rank", *map(str, ranks)]), encoding="utf-8")
    status, out, _ = run("report", tmp_path / "many.csv", "--m", 100, "--items", 5000)
    assert status == 0 and "1000000 instances" in out
