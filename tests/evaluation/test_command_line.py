"""The command `recsample`, run as a user runs it: files in, text out, an exit status."""

import gzip
import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import recsample as rs
from recsample._support.numerics import limits_of_mean
from recsample.evaluation.command_line import main
from recsample.evaluation.files import read_file

N_USERS = 800


def said_in(text):
    """What JSON says, without how it was made: files are read into other tables."""
    return {name: one for name, one in json.loads(text).items() if name != "made"}


def without_its_making(text):
    return [line.strip() for line in text.split("\n") if line and "recsample 0" not in line]


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
        sampled = rs.UniformSampling(m=100).draw(recorded[name][:N_USERS], rng=0)
        table = pd.DataFrame({"who": np.arange(N_USERS), "sampled_rank": sampled.values})
        tables.append(table.assign(model=name, pool=recorded[name].sizes[:N_USERS], drawn=100))
    mixed = pd.concat(tables).sample(frac=1, random_state=0)
    mixed.to_csv(tmp_path / "both.csv", index=False)
    mixed[mixed["model"] == "X"].to_csv(tmp_path / "x.csv", index=False)
    return tmp_path, mixed


def test_a_report_is_that_of_the_package(run, study):
    folder, mixed = study
    asked = (
        "--rank sampled_rank --m 100 --items 3541 --drawn uniform --metrics recall@10 auc".split()
    )
    status, out, _ = run("report", folder / "x.csv", *asked, "--format", "json")
    column = mixed.loc[mixed["model"] == "X", "sampled_rank"].to_numpy()
    expected = rs.report(column, m=100, n_items=3541, drawn="uniform", metrics=["recall@10", "auc"])
    assert status == 0
    assert said_in(out) == said_in(expected.to_json())
    status, out, _ = run("report", folder / "x.csv", *asked)
    assert out.split() == str(expected).split()
    status, out, _ = run("report", folder / "x.csv", *asked, "--format", "sentences")
    assert out.split("\n\n") == [*expected.sentences, expected.footnote + "\n"]
    status, out, _ = run("report", folder / "x.csv", *asked, "--format", "csv")
    rows = pd.read_csv(io.StringIO(out), index_col="metric", keep_default_na=False)
    assert rows["value"].tolist() == pytest.approx(expected.table["value"].tolist())
    assert rows["sampled (uncorrected)"].tolist() == pytest.approx(
        [(column <= 10).mean(), 1 - (column - 1).mean() / 100]
    )
    assert rows["assumption"].tolist() == ["decreasing", "not needed"]
    assert (rows["level"] == 0.95).all()


def test_several_recommenders_with_columns_for_m_and_the_pool(run, study):
    folder, mixed = study
    asked = "--rank sampled_rank --m drawn --items pool --drawn uniform".split()
    asked += "--user who --model model".split()
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
    low, high = limits_of_mean(differences.to_numpy(), 0.95, ends=(-1.0, 1.0))
    assert (pair["low"], pair["high"]) == pytest.approx((low, high), abs=1e-5)


def test_several_columns_of_ranks_are_several_recommenders(run, study):
    folder, mixed = study
    wide = mixed.pivot(index="who", columns="model", values="sampled_rank")
    wide.sort_index(key=lambda who: who.astype(str)).to_csv(folder / "wide.csv")
    stated = "--m 100 --items 3541 --drawn uniform --user who --format json".split()
    status, out, _ = run("report", folder / "wide.csv", "--rank", "X", "Y", *stated)
    _, long, _ = run(
        "report", folder / "both.csv", "--rank", "sampled_rank", "--model", "model", *stated
    )
    assert status == 0 and said_in(out) == said_in(long)
    for option in ("--model", "--exact"):
        status, _, err = run(
            "report", folder / "wide.csv", "--rank", "X", "Y", *stated, option, "who"
        )
        assert status == 2 and "must name different columns" in err
    status, _, err = run("report", folder / "wide.csv", "--rank", "X", "Y", "X", *stated)
    assert status == 2 and "wide.csv, got ['who', 'X', 'Y', 'X']" in err
    wide.assign(ties=0).to_csv(folder / "wide.csv")
    status, _, err = run("report", folder / "wide.csv", "--rank", "X", "Y", *stated)
    assert status == 2
    assert "--rank must be one column beside one of ties, got ['X', 'Y']" in err


def refused(run, folder, table, *more):
    table.to_csv(folder / "wrong.csv", index=False)
    asked = "--rank sampled_rank --m 100 --items pool --drawn uniform".split()
    asked += "--model model --metrics auc".split()
    status, _, err = run("report", folder / "wrong.csv", *asked, *more)
    assert status == 2
    return err


def test_recommenders_are_compared_user_by_user_or_not_at_all(run, study):
    folder, mixed = study
    said = refused(run, folder, mixed)
    assert "--user must name the column of users where there are several recommenders" in said
    one_less = mixed[(mixed["who"] != 7) | (mixed["model"] == "X")]
    said = refused(run, folder, one_less, "--user", "who")
    assert "--rank must hold recommenders of the same instances, got other instances" in said
    moved = mixed.assign(who=mixed["who"] + 999 * ((mixed["who"] == 7) & (mixed["model"] == "X")))
    said = refused(run, folder, moved, "--user", "who")
    assert "--rank must have the same instances in the same order, got ids that differ" in said
    larger = mixed.assign(pool=mixed["pool"] + ((mixed["who"] == 7) & (mixed["model"] == "X")))
    said = refused(run, folder, larger, "--user", "who")
    assert "--items must hold each user once, got two for '7'" in said
    nameless = mixed.assign(model=mixed["model"].where(mixed["who"] != 7))
    line = 2 + int(np.argmax(mixed["who"] == 7))
    said = refused(run, folder, nameless, "--user", "who")
    assert f"column 'model', line {line}, must be an id, which is not empty, got ''" in said


@pytest.mark.parametrize("name", ["x.parquet", "x.csv.gz", "x.TSV", "x.tsv.gz", "-"])
def test_a_report_of_files_of_all_kinds(run, study, tmp_path, monkeypatch, name):
    pytest.importorskip("pyarrow")
    folder, mixed = study
    table = mixed[mixed["model"] == "X"]
    text = table.to_csv(index=False, sep="\t" if "tsv" in name.lower() else ",")
    data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    if name == "x.parquet":
        table.to_parquet(tmp_path / name)
    elif name == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
    else:
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    asked = "--rank sampled_rank --m 100 --items 3541 --drawn uniform --metrics auc".split()
    assert run("report", name, *asked) == run("report", folder / "x.csv", *asked)


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
    # The command takes ids for text.
    return tmp_path, *(one.astype({"user": str, "item": str}) for one in (scores, held_out, train))


def test_an_evaluation_is_that_of_the_package(run, tables):
    folder, scores, held_out, train = tables
    named = [f"a={folder / 'a.csv'}", f"b={folder / 'b.tsv'}"]
    rest = ["--held-out", folder / "held_out.csv", "--train", folder / "train.csv"]
    models = {"a": scores, "b": scores.assign(score=-scores["score"])}
    sampled = ["--sample", 5, "--with-replacement", "--seed", 3, "--metrics", "auc", "recall@3"]
    sampler = {"among": rs.UniformSampling(5, replace=True), "rng": 3}
    for more, options in (([], {}), (sampled, sampler | {"metrics": ["auc", "recall@3"]})):
        expected = rs.evaluate(models, held_out, train=train, **options)
        status, out, _ = run("evaluate", "--scores", *named, *rest, *more, "--format", "json")
        assert status == 0 and said_in(out) == said_in(expected.to_json())
    status, _, said = run("evaluate", "--scores", *named, *rest, "--sample", 50)
    assert status == 2 and "error: --sample must " in said and "draw at most 18 items" in said
    expected = rs.evaluate(scores, held_out, train=train, metrics=["mrr"])
    one = ["evaluate", "--scores", folder / "a.csv", *rest, "--metrics", "mrr"]
    assert run(*one)[1].split() == str(expected).split()
    assert without_its_making(run(*one, "--format", "latex")[1]) == without_its_making(
        expected.to_latex()
    )
    assert without_its_making(run(*one, "--format", "markdown")[1]) == without_its_making(
        expected.to_markdown()
    )


def test_given_lists(run, tables):
    folder, scores, held_out, train = tables
    rows = [
        (user, str((int(item) + step) % 20))
        for user, item in held_out.itertuples(index=False)
        for step in np.random.default_rng(int(user)).permutation(np.arange(2, 20))[:6]
    ]
    lists = pd.DataFrame(rows, columns=["user", "item"])
    lists.to_csv(folder / "lists.csv", index=False)
    asked = ["--held-out", folder / "held_out.csv", "--train", folder / "train.csv"]
    asked += ["--among", folder / "lists.csv", "--format", "json"]
    for drawn in ("uniform", "all"):
        expected = rs.evaluate(scores, held_out, train=train, among=lists, drawn=drawn)
        _, out, _ = run("evaluate", "--scores", folder / "a.csv", *asked, "--drawn", drawn)
        assert said_in(out) == said_in(expected.to_json())


def test_what_is_not_listed_is_stated(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(f"{u}", f"{i}", s) for u in range(30) for i, s in enumerate(rng.random(40))
            if i == u or rng.random() < 0.3]  # fmt: skip
    scores = pd.DataFrame(rows, columns=["UserId", "sku", "score"])
    held_out = pd.DataFrame({"UserId": range(30), "sku": range(30)}).astype(str)
    catalogue = [str(i) for i in range(45)]
    pd.DataFrame({"sku": catalogue}).to_csv(tmp_path / "items.csv", index=False)
    for name, table in (("scores", scores), ("held_out", held_out)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    asked = ["evaluate", "--scores", tmp_path / "scores.csv", "--user", "UserId", "--item", "sku"]
    asked += ["--held-out", tmp_path / "held_out.csv", "--metrics", "recall@3", "mrr"]
    status, _, said = run(*asked)
    assert status == 2 and "error: --unlisted must say what items are" in said
    columns = {"user": "UserId", "item": "sku", "metrics": ["recall@3", "mrr"]}
    for options in (
        {"unlisted": "missed"},
        {"unlisted": "below", "items": 45},
        {"unlisted": "open", "items": catalogue},
        {"unlisted": "out", "drawn": "uniform", "items": 45},
        {"unlisted": "out", "drawn": "all"},
    ):
        expected = rs.evaluate(scores, held_out, **options, **columns)
        given = options | ({"items": tmp_path / "items.csv"} if "open" in options.values() else {})
        more = [word for name, value in given.items() for word in (f"--{name}", value)]
        status, out, _ = run(*asked, *more, "--format", "json")
        assert status == 0 and said_in(out) == said_in(expected.to_json()), options


# Files as they are published: RecBole's, NCF's, TREC's. Each has the users 1 and 2, the held-out
# items 11 and 12, and the scores .9, .5, .7 and .1, .8, .4 of items 11, 12 and 13.
SCORES = [(1, 11, 0.9), (1, 12, 0.5), (1, 13, 0.7), (2, 11, 0.1), (2, 12, 0.8), (2, 13, 0.4)]
PUBLISHED = {
    "test.inter": "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    "1\t11\t5\t978300760\n2\t12\t3\t978302109\n",
    "ml-1m.train.rating": "1\t14\t5\t978824330\n2\t14\t4\t978824330\n",
    "ml-1m.test.rating": "1\t11\t5\t978824351\n2\t12\t3\t978300174\n",
    "ml-1m.test.negative": "(1,11)\t12\t13\n(2,12)\t11\t13\n",
    "negatives.tsv": "(1,)\t12\t13\n(2,)\t11\t13\n",
    "bm25.run": "".join(f"{u} Q0 {i} 1 {s} bm25\n" for u, i, s in SCORES),
    "input.trec8": "".join(f"{u}\tQ0\t{i}\t1\t{s}\tx y\n" for u, i, s in SCORES),
    "qrels.robust2004.txt": "1 0 11 1\n1 0 12 0\n2 0 12 2\n2 0 13 0\n",
    "qrels.tsv": "query-id\tcorpus-id\tscore\n1\t11\t1\n1\t12\t0\n2\t12\t1\n",
    "scores.csv": "uid,iid,score\n" + "".join(f"{u},{i},{s}\n" for u, i, s in SCORES),
}
OWN = ["--scores", "scores.csv", "--user", "scores=uid", "--item", "scores=iid"]
NCF_TEST = ["--held-out", "ml-1m.test.rating", "--all-relevant", "--columns"]
TREC = "user,q0,item,rank,score,run"
QRELS = "held-out=user,0,item,grade"


@pytest.fixture
def published(tmp_path, monkeypatch):
    for name, text in PUBLISHED.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize(
    "asked",
    [
        [*OWN, "--held-out", "test.inter", "--user", "held-out=user_id", "--item"]
        + ["held-out=item_id", "--all-relevant"],
        [*OWN, *NCF_TEST, "held-out=user,item,rating,time"],
        [*OWN, *NCF_TEST, "held-out=user,item,rating,time", "--among", "ml-1m.test.negative"]
        + ["--drawn", "all"],
        [*OWN, *NCF_TEST, "held-out=user,item,rating,time", "train=user,item,rating,time"]
        + ["--train", "ml-1m.train.rating"],
        [*OWN, *NCF_TEST, "held-out=user,item,rating,time", "--among", "negatives.tsv"]
        + ["--drawn", "all"],
        ["--scores", "bm25.run", "--held-out", "qrels.robust2004.txt", "--columns"]
        + [f"scores={TREC}", QRELS, "--relevance", "grade"],
        ["--scores", "bm25.run", "--held-out", "qrels.tsv", "--columns", f"scores={TREC}"]
        + ["--user", "held-out=query-id", "--item", "held-out=corpus-id", "--relevance", "score"],
    ],
)
def test_files_as_they_are_published(run, published, asked, gz):
    files = [one + gz if one in PUBLISHED else one for one in asked]
    asked = ["evaluate", *files, "--metrics", "mrr", "map", "auc", "--format", "csv"]
    status, out, err = run(*asked)
    left_out = r"held-out rows that are not relevant by '(score|grade)', left out: \d"
    assert status == 0 and re.fullmatch(rf"(recsample: note: {left_out}\n)?", err), err
    # the held-out item is the best of three for either user
    assert pd.read_csv(io.StringIO(out))["value"].tolist() == [1, 1, 1]


def test_scores_from_the_standard_input(run, published, monkeypatch):
    data = io.BytesIO(PUBLISHED["scores.csv"].encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data, "utf-8"))
    asked = ["evaluate", "--scores", "-", *OWN[2:], "--held-out", "qrels.tsv.gz", "--user"]
    asked += ["held-out=query-id", "--item", "held-out=corpus-id", "--relevance", "score"]
    status, out, _ = run(*asked, "--metrics", "mrr", "--format", "csv")
    assert status == 0 and pd.read_csv(io.StringIO(out))["value"].tolist() == [1]


def test_ranks_without_a_line_of_names(run, tmp_path):
    (tmp_path / "ranks.txt").write_text("a 1\nb 3\nc 2\n", encoding="utf-8")
    asked = "--m 5 --items 99 --drawn uniform --metrics auc --format csv".split()
    status, out, _ = run("report", tmp_path / "ranks.txt", "--columns", "who,rank", *asked)
    assert status == 0 and pd.read_csv(io.StringIO(out))["value"].tolist() == pytest.approx([0.8])


@pytest.mark.parametrize(
    "asked, said",
    [
        (
            [*OWN, "--held-out", "qrels.tsv", "--columns", "uid,iid,score"],
            "--columns must be left out of scores.csv, which begins with names, got ['uid', 'iid'",
        ),
        (
            [*OWN, *NCF_TEST, "held-out=user,item"],
            "ml-1m.test.rating, line 1, must have 2 fields, as many as --columns names, got 4",
        ),
        (
            [*OWN, "--held-out", "ml-1m.test.rating"],
            "must end in .csv, .tsv, .inter, .negative or .parquet",
        ),
        (
            ["--scores", "input.trec8", "--held-out", "qrels.tsv", "--columns", f"scores={TREC}"],
            "input.trec8, line 1, must have 6 fields, as many as --columns names, got 7",
        ),
        (
            [*OWN, "--held-out", "qrels.tsv", "--user", "held-out=query", "--item", "corpus-id"],
            "--user must name one column of qrels.tsv, got 'query' where the columns are ['query-",
        ),
        (
            [*OWN, "--held-out", "qrels.tsv", "--user", "scores=iid"],
            "--user must be said once for each file, got ['scores=uid', 'scores=iid']",
        ),
        (
            [*OWN, "--held-out", "test.inter", "--user", "user_id", "--item", "item_id"],
            "--relevance must say what the column 'rating' of --held-out means",
        ),
    ],
)
def test_what_is_wrong_with_published_files_is_said_of_options(run, published, asked, said):
    status, _, err = run("evaluate", *asked)
    assert status == 2 and said in err


@pytest.mark.parametrize("line", ["(1,13)\t12", "2\t11", "(2)\t11", "(2,12)"])
def test_lists_of_each_user_once_or_not_at_all(tmp_path, line):
    path = tmp_path / "x.negative"
    path.write_text(f"(1,11)\t12\t13\n{line}\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"line 2, must begin with \(user,item\) .* of each user on"
    ):
        read_file(str(path), {"user": "user", "item": "item"})


def test_a_further_column_with_the_name_of_another(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("uid,item,user\nann,tea,1\nbob,oil,0\n", encoding="utf-8")
    found = read_file(str(path), {"user": "uid", "item": "item", "relevance": ...})
    assert found["user"].tolist() == ["ann", "bob"]
    assert found["user of the file"].tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_of_relevance(run, tables, kind):
    pytest.importorskip("pyarrow")
    folder, scores, held_out, _ = tables
    relevant = np.arange(30) % 2 == 0
    path, write = folder / f"rated.{kind}", f"to_{kind}"
    getattr(held_out.assign(Label=relevant), write)(path, index=False)
    asked = ["evaluate", "--scores", folder / "a.csv", "--held-out", path, "--format", "json"]
    status, _, said = run(*asked)
    assert (
        status == 2 and "--relevance must say what the column 'Label' of --held-out means" in said
    )
    assert "--relevance Label if" in said and "else --all-relevant" in said
    for more, rows in ((["--relevance", "Label"], relevant), (["--all-relevant"], slice(None))):
        status, out, _ = run(*asked, *more)
        expected = rs.evaluate(scores, held_out[rows])
        found = [row["value"] for row in json.loads(out)["table"]]
        assert status == 0 and found == pytest.approx(expected.table["value"].tolist())
    graded = held_out.assign(Label=np.arange(30) % 4)
    getattr(graded, write)(path, index=False)
    status, out, _ = run(*asked, "--relevance", "Label")
    expected = rs.evaluate(scores, graded, relevance="Label")
    found = [row["value"] for row in json.loads(out)["table"]]
    assert status == 0 and found == pytest.approx(expected.table["value"].tolist())
    assert json.loads(out)["footnote"] == expected.footnote and "linear" in expected.footnote
    status, _, said = run(*asked, "--relevance", "Label", "--sample", "5")
    assert status == 2 and "--relevance must leave out grades where NDCG@10 is asked" in said
    assert "give --all-relevant" in said
    with pytest.raises(SystemExit):
        run(*asked, "--all-relevant", "--relevance", "Label")


def test_a_plan_for_a_width(run, study):
    folder, mixed = study
    asked = "--rank sampled_rank --m 100 --items 3541 --drawn uniform --user who".split()
    asked += "--metric recall@10 --width .07 --seed 3 --format".split()
    table = mixed[mixed["model"] == "X"]
    stated = {"n_items": 3541, "drawn": "uniform", "metrics": ["recall@10"]}
    ranks = rs.Ranks(table["sampled_rank"], 101, ids=table["who"].astype(str))
    plan = rs.report(ranks, **stated).plan("recall@10", 0.07, 3)
    assert run("plan", folder / "x.csv", *asked, "text") == (0, f"{plan}\n", "")
    rows = pd.read_csv(io.StringIO(run("plan", folder / "x.csv", *asked, "csv")[1]), dtype=str)
    assert rows["user"].tolist() == ranks.ids[plan.users].tolist()
    assert rows["first"].tolist() == ["True"] * plan.first + ["False"] * (len(rows) - plan.first)
    said = json.loads(run("plan", folder / "x.csv", *asked, "json")[1])
    assert said[0] == {"user": rows["user"][0], "first": True}
    # With exact ranks of the first, as if the others among the drawn ones were all.
    table = table.set_index("who").assign(exact=np.nan)
    first = rows["user"][: plan.first].astype(int)
    table.loc[first, "exact"] = 35 * table.loc[first, "sampled_rank"]
    table.to_csv(folder / "audited.csv")
    again = run("plan", folder / "audited.csv", *asked[:-1], "--exact", "exact")
    plan = rs.report(ranks, exact=table["exact"].to_numpy(), **stated).plan("recall@10", 0.07, 3)
    assert again == (0, f"{plan}\n", "") and len(plan.users) < len(rows)


def test_without_m_ranks_are_exact_and_a_plan_is_for_differences(run, study):
    folder, mixed = study
    wide = mixed.pivot(index="who", columns="model", values="sampled_rank")
    wide.to_csv(folder / "exact.csv")
    differences = (wide["Y"] - wide["X"]).to_numpy() / 100
    low, high = limits_of_mean(differences, 0.95, ends=(-1.0, 1.0))
    asked = ["--items", 101, "--metric", "auc", "--width", high - low + 1e-9]
    status, out, _ = run("plan", folder / "exact.csv", "--rank", "X", "Y", *asked)
    assert status == 0 and out.split() == "users you have a b X Y 800 800".split()
    assert "the mean" in run("plan", folder / "exact.csv", "--rank", "X", *asked)[1]
    status, _, err = run("plan", folder / "exact.csv", "--rank", "X", *asked[2:], "--items", 9)
    assert status == 2 and "--rank must be at most items = 9, got" in err


@pytest.fixture(scope="module")
def mistaken(study):
    """The folder of the study, with files beside it that hold no table, or none as is said."""
    folder, _ = study
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "x.xlsx").write_text("", encoding="utf-8")
    (folder / "noise.csv").write_bytes(b"rank\n\xff\xfe")
    (folder / "latin.csv").write_bytes(b"\xef\xbb\xbfuser,rank\nAnn,2\nRen\xe9,3\n")
    (folder / "header.csv").write_text("rank\n", encoding="utf-8")
    (folder / "plain.csv.gz").write_text("rank\n1\n", encoding="utf-8")
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"rank\n1\n" * 99)[:-9])
    (folder / "twice.csv").write_text("rank,user,rank\n1,2,3\n", encoding="utf-8")
    (folder / "folder.csv").mkdir()
    (folder / "held_out.csv").write_text("user,item\n1,1\n", encoding="utf-8")
    (folder / "scores.csv").write_text("user,item,score\n1,1,.2\n1,2,.1\n", encoding="utf-8")
    return folder


SIZES = ["--m", "1", "--items", "9", "--drawn", "uniform"]
EVALUATE = ["evaluate", "--scores", "scores.csv", "--held-out", "scores.csv"]
REPORT = ["report", "x.csv", "--rank", "sampled_rank", "--m", "100"]
REPORT += ["--drawn", "uniform", "--items", "3541"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["report", "none.csv", *SIZES], "none.csv must be a file that holds a table: No such"),
        (
            ["report", "x.xlsx", *SIZES],
            "must end in .csv, .tsv, .inter, .negative or .parquet, text also",
        ),
        (["report", "s3://bucket/x.parquet", *SIZES], "got none on this machine"),
        (["report", "folder.csv", *SIZES], "folder.csv must be a file that holds a table: Is a d"),
        (["report", "plain.csv.gz", *SIZES], "plain.csv.gz must be a file that holds a table: Not"),
        (["report", "cut.csv.gz", *SIZES], "cut.csv.gz must be a file that holds a table: Compr"),
        (["report", "empty.csv", *SIZES], "empty.csv must begin with the names of its columns"),
        (["report", "header.csv", *SIZES], "header.csv must hold at least one row below the names"),
        (["report", "noise.csv", *SIZES], "noise.csv, line 2, must be text in UTF-8, got the byte"),
        (
            ["report", "latin.csv", *SIZES],
            "latin.csv, line 3, must be text in UTF-8, got the byte 0xe9",
        ),
        (["report", "twice.csv", *SIZES], "--rank must name one column of twice.csv, got 'rank'"),
        (["report", "x.csv", *SIZES], "--rank must name one column of x.csv, got 'rank' where the"),
        (
            ["report", "x.csv", "--rank", "pool", "--m", "pool", *SIZES[2:]],
            "the options must name different columns of x.csv, got ['pool', 'pool']",
        ),
        ([*REPORT[:-1], "many"], "--items must be a whole number from 1 to 2**53 - 1 or name one"),
        ([*REPORT[:5], "-5", *REPORT[6:]], "--m must be a whole number from 1 to 2**53 - 1 or n"),
        ([*REPORT[:-1], "50"], "--items must be at least 101"),
        ([*REPORT[:5], "10", *REPORT[6:]], "--rank must be at most m + 1 = 11, got"),
        (
            [*REPORT[:-1], "500"],
            "--with-replacement must be stated where a tenth of a pool or more was drawn, got "
            "nothing for --m = 100 of --items = 500 in instance 0: whether an item could be drawn",
        ),
        (
            [*REPORT[:6], "--items", "9", "--drawn", "shared"],
            "give their ranks to report as --exact",
        ),
        ([*REPORT, "--metrics", "wrong@3"], "--metrics must hold metrics such as AP or Recall"),
        ([*REPORT, "--metrics", "ndcg@0"], "--metrics must be a whole number of at least 1, got 0"),
        ([*REPORT, "--user", "nobody"], "--user must name one column of x.csv"),
        ([*REPORT, "--chosen", "pool"], "--exact must be given with --chosen, got"),
        (["plan", *REPORT[1:], "--metric", "ap", "--width", "-1"], "--width must be"),
        (["plan", *REPORT[1:], "--metric", "no", "--width", "1"], "--metric must hold metrics"),
        (
            ["evaluate", "--scores", "x.csv", "--held-out", "x.csv"],
            "--user must name one column of x.csv, got 'user' where the columns are ['who', 'samp",
        ),
        ([*EVALUATE, "--model", "what"], "--model must name one column of scores.csv, got 'what'"),
        ([*EVALUATE, "--items", "what"], "must end in .csv"),
        ([*EVALUATE, "--unlisted", "lost"], "--unlisted must be 'missed' (never found"),
        ([*EVALUATE, "--unlisted", "lost"], "and --drawn says how they were drawn), got 'lost'"),
        (
            [*EVALUATE, "--drawn", "unknown"],
            "--drawn must be left out or 'all' where --among is not given and --unl",
        ),
        ([*EVALUATE, "--sample", "0"], "--sample must be a whole number of at least 1, got 0"),
        (
            [*EVALUATE, "--sample", "2", "--unlisted", "out"],
            "--unlisted must be left out or 'below' where --sample is given",
        ),
        ([*EVALUATE, "--with-replacement"], "--with-replacement must stand beside --sample, got"),
        ([*EVALUATE, "--seed", "-1"], "--seed must be a whole number of at least 0"),
        (
            ["evaluate", "--scores", "held_out.csv", "--held-out", "scores.csv"],
            "--score must name one column of held_out.csv, got 'score' where the columns are",
        ),
        (["evaluate", "--scores", "a=x.csv", "x.csv", "--held-out", "x.csv"], "NAME=FILE"),
        (["evaluate", "--scores", "a=x.csv", "a=x.csv", "--held-out", "x.csv"], "different names"),
    ],
)
def test_a_mistake_ends_with_one_line_and_status_2(run, mistaken, monkeypatch, arguments, said):
    monkeypatch.chdir(mistaken)
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
    monkeypatch.setattr("recsample.inference.likelihood.sampled_run.fitted", broken)
    with pytest.raises(error, match="operands"):
        run(*REPORT)


def test_a_library_that_is_not_installed_is_named_with_what_installs_it(run, tmp_path, monkeypatch):
    (tmp_path / "x.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, out, err = run("report", tmp_path / "x.parquet", *SIZES)
    assert status == 2 and out == "" and err.count("\n") == 1
    assert (
        'error: pyarrow is needed here and is not installed: pip install "recsample[files]' in err
    )


IDS = "what,rank,score\n7,1,.5\n007,2,.25\n"


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("7,1,", "7,1,9,", "line 2, must have 3 fields, as many as the first line, got 4"),
        ("\n007", "\n\n007", "line 3, must have 3 fields, as many as the first line, got 0"),
        ("\n007", '\n"007', "line 3, must be fields between"),
        ("007", '"00"7', "line 3, must be fields between"),
        ("007,", ",", "column 'what', line 3, must be an id, which is not empty, got ''"),
        ("007,", "  ,", "column 'what', line 3, must be an id, which is not empty, got ' '"),
        ("7,1,", "7,one,", "column 'rank', line 2, must be a whole number from 1 to 2**53 - 1, g"),
        ("7,2,", "7,2.5,", "column 'rank', line 3, must be a whole number from 1 to 2**53 - 1, g"),
        (".25", "", "column 'score', line 3, must be a number or -inf, got ''"),
        (".25", "nan", "column 'score', line 3, must be a number or -inf, got 'nan'"),
        (".25", "inf", "column 'score', line 3, must be a number or -inf, got 'inf'"),
        (".25", str(2**60), "column 'score', line 3, must be between -2**53 and 2**53 where it"),
        ("007", '"two\nlines",1,1\n8', "line 5, must be a number or -inf, got 'wrong'"),
    ],
)
def test_what_may_not_stand_in_a_row_is_refused_with_its_line(tmp_path, old, new, said):
    text = IDS.replace(old, new, 1).replace(".25", "wrong" if "lines" in new else ".25")
    for suffix, separator in ((".csv", ","), (".tsv", "\t")):
        path = tmp_path / f"ids{suffix}"
        path.write_text(text.replace(",", separator), encoding="utf-8")
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))}, .*{re.escape(said)}"):
            read_file(str(path), {"user": "what", "rank": "rank", "score": "score"})


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_is_read_as_it_stands_there(tmp_path, end):
    ids = ["7", "007", "7.0", "1.1", "1.10", "NA", "null", "None", "nan", "True", "1e5", "é"]
    ids += ['"a"', "a,b", " a", "#a", "'a"]
    table = pd.DataFrame({"user": ids, "score": [-np.inf, *range(len(ids) - 1)]})
    text = table.to_csv(index=False).replace("\n", end) + end
    (tmp_path / "ids.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = read_file(str(tmp_path / "ids.csv"), {"user": "user", "score": "score"})
    assert found["user"].tolist() == ids and found["score"].tolist() == table["score"].tolist()


def test_ids_and_names_are_no_numbers(run, tmp_path):
    """However many rows, and whatever the column begins with."""
    rng = np.random.default_rng(0)
    numbers = [str(i) for i in range(20_000)]
    users = [*numbers, *(f"u{i}" for i in range(1000)), *(f"0{one}" for one in numbers[:1000])]
    ranks = rng.integers(1, 12, (2, len(users)))
    rows = [f"{u},{m},{r}" for m, of in zip(("1.1", "1.10"), ranks) for u, r in zip(users, of)]
    (tmp_path / "ids.csv").write_text("\n".join(["user,model,rank", *rows]), encoding="utf-8")
    asked = "--m 10 --items 500 --drawn uniform --user user --model model".split()
    asked += ["--metrics", "auc", "--format", "json"]
    status, out, _ = run("report", tmp_path / "ids.csv", *asked)
    found = {row["recommender"]: row["value"] for row in json.loads(out)["table"]}
    expected = dict(zip(("1.1", "1.10"), (1 - (ranks - 1) / 10).mean(axis=1)))
    assert status == 0 and found == pytest.approx(expected)


def test_the_same_id_in_files_of_two_kinds(run, tmp_path):
    pytest.importorskip("pyarrow")
    rows = {"user": [7, 7, 8, 8], "item": [1, 2, 1, 2], "score": [0.5, 0.25, 0.125, 1.0]}
    held_out = "user,item\n7,1\n8,1\n007,2\n"
    (tmp_path / "held_out.csv").write_text(held_out, encoding="utf-8")
    asked = ["--held-out", tmp_path / "held_out.csv", "--metrics", "auc", "--unlisted", "open"]
    asked += ["--items", "2", "--format", "csv"]
    said = set()
    for kind in (int, float, str, "category"):
        users = pd.Series([str(one) for one in rows["user"]]).astype(kind)
        pd.DataFrame(rows | {"user": users}).to_parquet(tmp_path / "scores.parquet")
        said.add(run("evaluate", "--scores", tmp_path / "scores.parquet", *asked))
    ((status, out, _),) = said
    assert status == 0
    row = pd.read_csv(io.StringIO(out)).iloc[0]
    # 1 for user 7, 0 for user 8; nobody knows for 007, of whom nothing is listed
    assert [row["low"], row["high"]] == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize(
    "column, values, said",
    [
        ("user", ["a", ""], "column 'user', row 1, must be an id, which is not empty, got ''"),
        ("user", ["a", None], "column 'user', row 1, must be an id, which is not empty, got "),
        ("user", [1.5, 2], "column 'user' must have whole numbers as ids, got 1.5 in row 0"),
        ("user", [True, False], "column 'user' must have ids that tell users and items apart"),
        ("user", pd.to_datetime(["2020", "2021"]), "column 'user' must have text or whole numbers"),
        ("rank", [True, True], "column 'rank', row 0, must be a whole number from 1 to 2**53 - 1"),
        ("rank", [1, 2**60], "column 'rank', row 1, must be a whole number from 1 to 2**53 - 1"),
        ("score", [1, 2**53 + 1], "column 'score', row 1, must be between -2**53 and 2**53 where"),
        ("score", [1, None], "column 'score', row 1, must be a number or -inf, got nan"),
    ],
)
def test_what_may_not_stand_in_a_parquet_file(tmp_path, column, values, said):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"user": [1, 2], "rank": [1, 2], "score": [0.5, 1]})
    table.assign(**{column: values}).to_parquet(path := tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}.*{re.escape(said)}"):
        read_file(str(path), {use: use for use in table})


@pytest.mark.parametrize("damage", ["noise", "cut", "page"])
def test_a_broken_parquet_file_is_a_mistake_of_the_user(run, tmp_path, damage):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    pd.DataFrame({"rank": np.arange(1000) % 9 + 1}).to_parquet(path)
    good = path.read_bytes()
    page = good[:4] + bytes(400) + good[404:]
    path.write_bytes({"noise": b"rank\n1\n", "cut": good[:-9], "page": page}[damage])
    status, _, err = run("report", path, "--m", 9, "--items", 99, "--drawn", "uniform")
    assert status == 2 and "x.parquet must be a file that holds a table" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("report x.csv --m 9 --m 5 --items 99 --drawn uniform", "--m must be given once, got '5'"),
        ("report x.csv --m 9", "required: --items, --drawn (see recsample report --help)"),
        ("repot x.csv", "invalid choice: 'repot'"),
        ("published x.csv --m nine --items 9 --users 9 --drawn uniform", "invalid int value: 'nin"),
    ],
)
def test_a_mistake_in_usage_is_one_line_too(capsys, asked, said):
    with pytest.raises(SystemExit) as end:
        main(asked.split())
    out, err = capsys.readouterr()
    assert end.value.code == 2 and out == "" and err.count("\n") == 1
    assert err.startswith("recsample: error: ") and said in err


def test_other_draws_give_upper_limits_if_no_item_is_drawn_twice(run, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("rank\n1\n2\n1\n", encoding="utf-8")
    asked = ["report", path, *"--m 9 --items 99 --drawn popular".split()]
    status, _, err = run(*asked)
    assert status == 2 and "got nothing: state --without-replacement if no item" in err
    asked += ["--without-replacement", "--metrics", "recall@3,auc", "ndcg@2"]
    status, out, _ = run(*asked, "--format", "json")
    table = json.loads(out)["table"]
    assert status == 0 and [row["metric"] for row in table] == ["Recall@3", "AUC", "NDCG@2"]
    assert [row["low"] > 0 for row in table] == [False, True, False]


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert not end.value.code
    assert capsys.readouterr().out == f"recsample {rs.__version__}\n"


REPORTING = "report - --m 1 --items 99 --drawn uniform"


@pytest.mark.parametrize(
    "asked, said, scipy",
    [("report --help", "--with-replacement", set()), (REPORTING, "Recall@10", {"scipy.optimize"})],
)
def test_runs_as_a_module_and_imports_no_more_than_it_needs(asked, said, scipy):
    """Most of the time of a small report is imports, and scripts ask for the version."""
    code = (
        "import atexit, runpy, sys; atexit.register(lambda: print(*sys.modules)); "
        f"sys.argv[1:] = {asked.split()}; runpy.run_module('recsample', run_name='__main__')"
    )
    options = {"capture_output": True, "encoding": "utf-8", "check": True}
    found = subprocess.run([sys.executable, "-c", code], input="rank\n1\n2\n1\n", **options)
    assert said in found.stdout
    modules = {*found.stdout.splitlines()[-1].split()}
    assert not modules & {"pandas", "pyarrow", "narwhals", "scipy.stats", "scipy.interpolate"}
    assert {"numpy", *scipy} <= modules and bool(scipy) == any("scipy" in one for one in modules)


def test_several_rows_of_a_user_are_asked_about(run, tmp_path):
    path = tmp_path / "ranks.csv"
    asked = "--m 5 --items 99 --drawn uniform --metrics auc --format csv".split()
    path.write_text("user,rank\nann,1\nbob,6\nann,5\n", encoding="utf-8")
    status, _, err = run("report", path, *asked, "--user", "user")
    assert status == 2 and "--rank must have one row for each user, got 2 for 'ann': give" in err
    assert "as one list of rs.Ranks" in err and "of their own with --groups, which says" in err
    status, out, _ = run("report", path, *asked, "--groups", "user")
    found = pd.read_csv(io.StringIO(out)).iloc[0]
    wanted = rs.report([1, 6, 5], 5, 99, drawn="uniform", groups=["a", "b", "a"], metrics=["AUC"])
    assert status == 0 and found["low"] == pytest.approx(wanted.table.loc["AUC", "low"])


# An audit


def test_exact_ranks_of_some_users_make_an_audit(run, tmp_path):
    x = rs.datasets.recorded_ranks()["X"].break_ties("random", 0)[:1000]
    sampled = rs.UniformSampling(m=100).draw(x, rng=0)
    few = np.random.default_rng(0).choice(1000, 150, replace=False)
    exact = pd.Series(x.values[few], few)
    users = [f"u{i}" for i in range(1000)]
    table = pd.DataFrame({"who": users, "rank": sampled.values, "pool": x.sizes, "chance": 0.15})
    table["all"] = exact.reindex(range(1000)).astype("Int64")
    table.to_csv(tmp_path / "audit.csv", index=False)
    table.to_parquet(tmp_path / "audit.parquet")
    stated = {"m": 100, "n_items": x.sizes, "drawn": "unknown", "metrics": ["recall@10"]}
    expected = rs.report(sampled.values, exact=exact, **stated)
    asked = "--m 100 --items pool --drawn unknown --metrics recall@10 --exact all".split()
    for name in ("audit.csv", "audit.parquet"):
        for options in ([], ["--user", "who"], ["--chosen", "chance"]):
            status, out, err = run("report", tmp_path / name, *asked, *options)
            assert (status, err) == (0, "")
            assert out.split() == str(expected).split()
    status, _, err = run("report", tmp_path / "audit.csv", *asked[:-2], "--chosen", "chance")
    assert status == 2
    assert "--exact must be given with --chosen" in err
    (tmp_path / "bad.csv").write_text("rank,all\n1,5\n2,\n3,n/a\n", encoding="utf-8")
    status, _, err = run("report", tmp_path / "bad.csv", *asked[:3], "500", *asked[4:])
    assert status == 2
    assert "column 'all', line 4, must be a whole number from 1 to 2**53 - 1, or blank" in err
