import io
import json

import numpy as np
import pandas as pd
import pytest

import recsample as rs
from recsample.evaluation.command_line import main

STUDY = {"m": 100, "n_items": 1_000, "n_users": 5_000, "drawn": "uniform"}
TABLE = {"HR@1": "0.174", "HR@5": "0.491", "HR@10": "0.670", "NDCG@10": "0.396"}


def table_of(ranks, names, n_items, m, rng):
    sampled = rng.hypergeometric(ranks - 1, n_items - ranks, m) + 1
    return {a: f"{np.mean(rs.metric(a).of_rank(sampled, m + 1)):.3f}" for a in names}


def read(values=TABLE, **changes):
    return rs.from_published(values, **STUDY | changes)


def ends(found, metric="HitRate@10"):
    return found.table.loc[metric, ["if_low", "if_high"]].astype(float).tolist()


def test_recorded_recommenders_lie_within_the_limits_of_their_table():
    recorded, names = rs.datasets.recorded_ranks(), ["HR@1", "HR@5", "HR@10", "NDCG@5", "NDCG@10"]
    ranks = {a: np.floor(np.ravel(one.values)).astype(int) for a, one in recorded.items()}
    n_items, rng = int(np.max(recorded["X"].n_items)), np.random.default_rng(0)
    tables = {a: table_of(one, names, n_items, 100, rng) for a, one in ranks.items()}
    found = read(tables, n_items=n_items, n_users=6_040, metrics=["Recall@10"])
    for name, one in ranks.items():
        for assumption in ("none", "decreasing"):
            low, high = found.ladder.loc[name, "Recall@10", assumption]
            assert low <= np.mean(one <= 10) <= high
    assert found.pairs["ahead"].tolist() == ["undecided"] * 3
    assert (found.pairs["low"] < 0).all() and (found.pairs["high"] > 0).all()
    assert found.table["sampled"].tolist() == [float(t["HR@10"]) for t in tables.values()]


@pytest.mark.thorough
def test_what_a_paper_leaves_open_is_the_union():
    def of(**changes):
        return ends(read(metrics=["HR@10"], **changes))

    both = of(m=(99, 100))
    each = np.array([of(m=m) for m in (99, 100)])
    assert both == [each[:, 0].min(), each[:, 1].max()]
    low, high = of(n_items=(500, 2_000))
    for n_items in (500, 1_000, 2_000):  # and any mixture of these
        one = of(n_items=n_items, replace=False)
        assert low <= one[0] + 1e-6 and high >= one[1] - 1e-6
    either = of(n_items=500)  # a fifth is drawn: with replacement or without it
    each = np.array([of(n_items=500, replace=way) for way in (False, True)])
    assert either == [each[:, 0].min(), each[:, 1].max()]


def test_what_cannot_be_seen_is_that_of_the_largest_pool():
    found = read({"HR@10": "0.670"}, n_items=(2_000, 20_000))
    spots = [rs.inference.blind_spot(n, 100, 5_000).ranks for n in (2_000, 20_000)]
    assert found.blind.ranks == spots[1] > spots[0]


def test_average_precision_may_be_divided_by_the_cutoff():
    # Of one relevant item AP@10 is RR@10; some libraries divide it by 10.
    usual = read({"HR@10": "0.670", "MAP@10": "0.314"})
    divided = read({"HR@10": "0.670", "MAP@10": "0.0314"})
    assert ends(usual, "HitRate@10")[1] < 1 and ends(divided, "HitRate@10")[1] < 1
    low, high = ends(divided, "AP@10")
    assert high > 0.1  # asked is the usual one, whatever was printed


def test_rounder_numbers_say_less_and_zeros_at_the_end_count():
    rough, fine = (ends(read({"HR@10": one}, n_users=10**7)) for one in (0.67, "0.6700"))
    assert rough[0] < fine[0] and fine[1] < rough[1]
    assert ends(read({"HR@10": np.float32(0.67)}, n_users=10**7)) == rough


def test_numbers_that_clash_are_named():
    with pytest.raises(ValueError, match=r"of 'Y' .* got HR@1 = 0\.500, HR@5 = 0\.250:"):
        read({"X": TABLE, "Y": {"HR@10": "0.520", "HR@1": "0.500", "HR@5": "0.250"}})


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"HR@10": "0.4000", "HR@20": "0.3990"}, "HR@10 = 0.4000, HR@20 = 0.3990"),
        ({"HR@10": "0.4000", "NDCG@10": "0.4050"}, "HR@10 = 0.4000, NDCG@10 = 0.4050"),
        # Several relevant items, each found in a part of the users.
        ({"HR@10": "0.670", "Recall@10": "0.518"}, "HR@10 = 0.670, Recall@10 = 0.518"),
        ({"Recall@10": "0.518", "P@10": "0.085"}, "Recall@10 = 0.518, P@10 = 0.085"),
        ({"MRR": "0.412", "MAP": "0.388", "HR@1": "0.3"}, "MRR = 0.412, MAP = 0.388"),
    ],
)
@pytest.mark.parametrize("drawn", ["uniform", "popular"])
def test_what_no_ranks_of_the_same_users_give_is_refused_however_small(values, named, drawn):
    with pytest.raises(ValueError) as error:
        read(values, drawn=drawn, replace=False)
    said = str(error.value)
    assert "possible together for the same users with one relevant item each" in said
    assert f"got {named}: look for" in said and "several relevant items of a user" in said


def test_one_relevant_item_is_said_first_and_numbers_of_several_are_refused():
    assert "5,000 users with one relevant item each: m = 100" in read().head
    assert "of several relevant items per user" in read().footnote
    with pytest.raises(ValueError, match=r"from 0 to 0.1 for 'P@10', got 0.3: a user has one"):
        read({"P@10": "0.3"})
    # Equal up to rounding
    assert read({"HR@10": "0.670", "Recall@10": "0.67", "P@10": "0.067"}).table.shape[0] == 3


def test_pairs_are_decided_by_the_limits_of_their_difference():
    rng, n, m, users = np.random.default_rng(0), 200, 100, 5_000
    elsewhere, half = rng.integers(1, n, users), rng.random(users) < 0.5
    first = np.where(half, 1, elsewhere)
    later = np.where(half, rng.integers(2, 8, users), elsewhere)

    def pairs_of(names):
        tables = {a: table_of(r, names, n, m, rng) for a, r in (("A", first), ("B", later))}
        asked = {"m": m, "n_items": n, "replace": False, "metrics": ["Recall@1", "Recall@10"]}
        found = read(tables, **asked)
        return found, found.pairs["if_ahead"].tolist()

    found, ahead = pairs_of(["HR@10", "NDCG@10"])
    assert ahead == ["A", "undecided"]
    assert found.pairs["if_low"].iloc[0] > 0 > found.pairs["low"].iloc[0]
    assert found.pairs["ahead"].tolist() == ["undecided"] * 2


def test_where_less_is_better_the_lower_mean_is_ahead():
    tables = {"A": {"PercentileRank": "0.050"}, "B": {"PercentileRank": "0.400"}}
    assert read(tables, metrics=["PercentileRank", "AUC"]).pairs["ahead"].tolist() == ["A", "A"]


@pytest.mark.thorough
def test_it_is_said_as_other_results_are():
    found = read({"X": TABLE, "Y": TABLE})
    assert len(found.sentences) == 8 and "corrected" not in str(found)
    assert "best of many epochs" in found.footnote and "no rank is more freq" in found.footnote
    assert all(one.count("if rank frequencies decrease") == 1 for one in found.sentences)
    assert "m = 100 of 999 irrelevant items" in found.to_latex()
    assert found.to_csv().count("\n") == 9 and '"sampled (uncorrected)": 0.67' in found.to_json()
    assert len(found.plot().axes) == 4
    assert read(metrics=["HR@10"]) == read(metrics=["HR@10"])
    with pytest.raises(ValueError, match="values of single users"):
        found.per_instance  # noqa: B018
    with pytest.raises(ValueError, match="a plan is made"):
        found.plan("HR@10", 0.1)


def test_names_are_no_formulas_in_a_spreadsheet():
    names = ['=HYPERLINK("http://x")', "+1", "-1", "@a", "\t=1", "BPR", "a=b", "'=1"]
    found = read({name: {"HR@10": "0.670"} for name in names}, metrics=["HR@10"])
    rows = pd.read_csv(io.StringIO(found.to_csv()))["recommender"].tolist()
    assert rows == [f"'{name}" for name in names[:5]] + names[5:]
    assert [row["recommender"] for row in json.loads(found.to_json())["table"]] == names


@pytest.mark.parametrize(
    ("values", "changes", "message"),
    [
        (TABLE, {"drawn": None}, "drawn must be 'uniform' ("),
        (TABLE, {"drawn": "popular"}, "replace must be False where items were drawn 'popular'"),
        ({"HR@10": 67.0}, {}, "from 0 to 1 for 'HR@10', got 67.0: of percentages"),
        ({"HR@10": "much"}, {}, "0.670±0.003, got 'much' for 'HR@10'"),
        ({"HR@10": "nan"}, {}, "must hold at least one number"),
        ({"HR@10": None}, {}, "must hold at least one number"),
        ({"HR@10": 0.6, "hr@10": 0.6}, {}, "each metric once"),
        ({"F1(hits)@2": 0.6}, {}, "name of one"),
        ({}, {}, "must hold at least one number"),
        (3, {}, "values must be numbers by metric"),
        ({"X": TABLE, "Y": 0.3}, {}, "values of 'Y' must be numbers by metric"),
        (TABLE, {"n_items": (500, 400)}, "the smallest and the largest"),
        (TABLE, {"n_items": 80, "replace": False}, "m must be less than n_items, 80"),
        (TABLE, {"m": 0}, "m must be a whole number"),
        (TABLE, {"m": ()}, "m must hold at least one"),
        (TABLE, {"n_users": 0}, "n_users must be"),
        (TABLE, {"replace": 1}, "replace must be True or False"),
        (TABLE, {"metrics": ["AP(hits)@10"]}, "sum over the relevant items"),
    ],
)
def test_what_cannot_be_read_is_refused(values, changes, message):
    with pytest.raises(ValueError) as error:
        read(values, **changes)
    assert message in str(error.value)


def test_the_command_says_the_same(tmp_path, capsys):
    path = tmp_path / "my folder" / "table.csv"
    path.parent.mkdir()
    path.write_text("model,HR@1,HR@10\nX,0.174,0.670\nY,,0.57\n", encoding="utf-8")
    sizes = "--m 30 --items 300 --users 5000 --drawn uniform --without-replacement".split()
    assert main(["published", str(path), *sizes, "--format", "csv"]) == 0
    values = {"X": {"HR@1": "0.174", "HR@10": "0.670"}, "Y": {"HR@10": "0.57"}}
    found = read(values, m=30, n_items=300, replace=False)
    said, expected = (
        pd.read_csv(io.StringIO(one)).drop(columns="made by")
        for one in (capsys.readouterr().out, found.to_csv())
    )
    pd.testing.assert_frame_equal(said, expected)
    assert main(["published", str(path), *sizes, "--format", "latex"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith(
        "by recsample published table.csv " + " ".join([*sizes, "--format latex"])
    )
    path.write_text("model,HR@1,HR@10\nX,0.5,0.3\n", encoding="utf-8")
    assert main(["published", str(path), *sizes]) == 2
    assert "error: FILE of 'X' must be possible together" in capsys.readouterr().err
    path.write_text("model,HR@1\nX,0.5\nX,0.3\n", encoding="utf-8")
    assert main(["published", str(path), *sizes]) == 2
    assert "each recommender once" in capsys.readouterr().err
    path.write_text("model,HR@1\nX,0.5\nY,0.52\nImprov.,4.0%\n", encoding="utf-8")
    assert main(["published", str(path), *sizes]) == 0
    said = capsys.readouterr()
    assert (
        "Improv." not in said.out and "note: " in said.err and "left out (Improv.): 1" in said.err
    )
