"""Scores that are none, that run backwards, or that some users lack: refused, or said in a note."""

import numpy as np
import pandas as pd
import pytest

import recsample as rs

N_USERS, N_ITEMS = 300, 120
rng = np.random.default_rng(0)
TASTE = rng.normal(size=(N_USERS, N_ITEMS))
ITEM = rng.integers(0, N_ITEMS, N_USERS)
TASTE[np.arange(N_USERS), ITEM] += 1.5
ORDER = np.argsort(-TASTE, axis=1)
PLACES = ORDER.argsort(axis=1) + 1  # from 1 on
HELD_OUT = pd.DataFrame({"user": range(N_USERS), "item": ITEM})
WORSE, ORDERS = "rank worse than by chance", "are different whole numbers for each user"


def notes(scores, held_out=ITEM, **options):
    return " ".join(rs.evaluate(scores, held_out, metrics=["Recall@10"], **options).notes)


def lists(length, users=range(N_USERS), score=TASTE):
    best = ORDER[users, :length]
    user = np.repeat(users, length)
    return pd.DataFrame({"user": user, "item": best.ravel(), "score": score[user, best.ravel()]})


def as_numbered(scores):
    return pd.DataFrame(np.argwhere(scores == scores), columns=["user", "item"]).assign(
        score=scores.ravel()
    )


@pytest.mark.parametrize("form", [np.asarray, as_numbered, lambda s: {"a": s}])
def test_scores_of_which_the_lowest_is_best(form):
    held_out = HELD_OUT if form is as_numbered else ITEM
    better = [(row > row[i]).sum() / (N_ITEMS - 1) for row, i in zip(-TASTE, ITEM)]
    said = notes(form(-TASTE), held_out)
    assert WORSE in said and f" {np.mean(better):.0%} of the others are better" in said
    assert notes(form(TASTE), held_out) == ""


def test_ranks_and_orders_in_place_of_scores():
    assert WORSE in notes(PLACES)
    assert ORDERS in notes(ORDER) and ORDERS in notes(ORDER.astype(float))
    # Borda counts are whole numbers that differ too, and are scores.
    assert notes(-PLACES) == notes(N_ITEMS - PLACES) == ""
    assert notes(TASTE.astype("float16")) == "" and ORDERS not in notes((TASTE * 40).astype("int8"))
    assert notes(rng.normal(size=TASTE.shape)) == ""  # no better than by chance, and scores
    best = lists(10, score=-PLACES)  # of few hits lists tell nothing about chance
    assert notes(best, HELD_OUT, unlisted="missed", items=range(N_ITEMS)) == ""


def test_few_users_say_nothing_of_chance():
    some = slice(19)
    assert notes(-TASTE[some], ITEM[some]) == notes(ORDER[some], ITEM[some]) == ""


def test_lists_are_judged_by_what_they_hold():
    """The held-out items that a list leaves out say nothing of its direction."""
    best = lists(20)
    assert notes(best, HELD_OUT, unlisted="missed", items=range(N_ITEMS)) == ""
    turned = notes(best.assign(score=-best["score"]), HELD_OUT, unlisted="missed")
    held = [(u, i, best["item"][20 * u : 20 * u + 20].tolist()) for u, i in enumerate(ITEM)]
    behind = [(19 - ids.index(i)) / 19 for _, i, ids in held if i in ids]
    assert WORSE in turned and f" {np.mean(behind):.0%} of the others" in turned


@pytest.mark.parametrize("give", [np.asarray, lambda r: rs.RankCounts.of(r, 101)])
def test_ranks_that_count_from_the_other_end(give):
    ranks = rs.UniformSampling(100).draw(rs.Ranks(rng.geometric(0.01, 2000), 3000), 0).values
    about = {"m": 100, "n_items": 3000, "drawn": "uniform", "metrics": ["Recall@10"]}
    assert WORSE in " ".join(rs.report(give(102 - ranks), **about).notes)
    assert rs.report(give(ranks), **about).notes == ()
    popular = about | {"drawn": "popular", "replace": False}  # of which chance says nothing
    assert WORSE not in " ".join(rs.report(give(102 - ranks), **popular).notes)


def test_most_ranks_are_1():
    column = np.where(np.arange(1000) < 700, 1, 1 + rng.integers(1, 100, 1000))
    about = {"n_items": 3000, "drawn": "uniform", "metrics": ["AUC"]}
    told = "ranks of 1: 700 of 1,000. If scores are saturated"
    assert any(note.startswith(told) for note in rs.report(column, 100, **about).notes)
    few = np.minimum(column, 11)  # among ten others it is no wonder
    assert not any("ranks of 1" in note for note in rs.report(few, 10, **about).notes)
    tied = rs.Ranks(column, 101, ties=(column == 1) * 1)
    assert not any("ranks of 1" in note for note in rs.report(tied, **about).notes)


@pytest.mark.parametrize("first", [True, False])
def test_the_items_of_a_search_are_no_factors(first):
    ids = ORDER[:, :10]
    pair = (ids, -TASTE[:, :10]) if first else (-TASTE[:, :10], ids)
    which = "first" if first else "second"
    with pytest.raises(
        rs.InputError, match=f"whole numbers, .* in the {which} array: .* dataframe"
    ):
        rs.evaluate(pair, np.arange(N_USERS), metrics=["RR"])
    meant = tuple(one.astype(float) for one in pair)
    found = rs.evaluate(meant, np.arange(N_USERS), metrics=["AUC"])
    wanted = rs.evaluate(meant[0] @ meant[1].T, np.arange(N_USERS), metrics=["AUC"])
    assert found.table["value"].iloc[0] == pytest.approx(wanted.table["value"].iloc[0])


def candidates():
    """An array of the held-out item and 20 drawn ones."""
    drawn = np.array([rng.permutation(np.delete(range(N_ITEMS), i))[:20] for i in ITEM])
    return np.take_along_axis(TASTE, np.c_[ITEM, drawn], axis=1)


def test_a_column_of_held_out_items_is_no_item():
    array, first = candidates(), np.zeros(N_USERS, int)
    with pytest.raises(rs.InputError, match="got 0 for each of 300 users: .* rs.report takes the"):
        rs.evaluate(array, first, metrics=["RR"])
    among = rs.evaluate(array, first, drawn="all", metrics=["RR"])
    ranks = (array > array[:, :1]).sum(axis=1) + 1
    assert among.table["value"].iloc[0] == pytest.approx((1 / ranks).mean())
    assert "candidates of their own" in among.head
    few = slice(19)
    assert len(rs.evaluate(array[few], first[few], metrics=["RR"]).table) == 1
    assert len(rs.evaluate(array, first, among=rs.UniformSampling(5), metrics=["RR"]).table) == 1
    by_id = as_numbered(array), HELD_OUT.assign(item=0)
    assert len(rs.evaluate(*by_id, metrics=["RR"]).table) == 1
    with pytest.raises(rs.InputError, match=r"rs.report takes"):
        rs.evaluate(array, first, unlisted="out", drawn="uniform", metrics=["RR"])


@pytest.mark.parametrize("name", ["rank", "Rank", "position", "place"])
def test_a_column_of_ranks_is_no_column_of_scores(name):
    ranked = lists(10).rename(columns={"score": name})
    told = {"items": range(N_ITEMS), "unlisted": "missed", "metrics": ["RR"]}
    with pytest.raises(rs.InputError, match=f"got '{name}': of ranks add a column of -{name}; re"):
        rs.evaluate(ranked, HELD_OUT, score=name, **told)
    usual = rs.evaluate(lists(10), HELD_OUT, **told).table
    other = rs.evaluate(ranked.rename(columns={name: "s"}), HELD_OUT, score="s", **told)
    pd.testing.assert_frame_equal(other.table, usual)


@pytest.mark.parametrize("first", [0, 1])
def test_rows_that_are_numbered_are_ranks(first):
    numbered = lists(10)
    numbered["score"] = np.tile(np.arange(first, first + 10), N_USERS)
    told = {"items": range(N_ITEMS), "unlisted": "missed", "metrics": ["RR"]}
    with pytest.raises(rs.InputError, match=f"got {first}, {first + 1}, ... in the rows .* -score"):
        rs.evaluate(numbered, HELD_OUT, **told)
    usual = rs.evaluate(lists(10), HELD_OUT, **told).table
    right = rs.evaluate(numbered.assign(score=-numbered["score"]), HELD_OUT, **told).table
    pd.testing.assert_frame_equal(right, usual)
    meant = numbered[::-1].assign(score=numbered["score"].to_numpy())  # the best is the highest
    if first:
        meant["score"] = np.tile(np.arange(10, 0, -1), N_USERS)
        borda = rs.evaluate(numbered.assign(score=meant["score"].to_numpy()), HELD_OUT, **told)
        pd.testing.assert_frame_equal(borda.table, usual)


# Users that some recommenders have no list of.

COVERED = np.arange(100)


def hits(frame, users):
    """Recall@10 by a plain loop."""
    by_user = {u: set(part["item"]) for u, part in frame.groupby("user")}
    return np.mean([ITEM[u] in by_user.get(u, ()) for u in users])


def test_who_is_ahead_is_so_of_the_users_that_both_have_too():
    whole, part = lists(10), lists(10, COVERED)
    told = {"items": range(N_ITEMS), "unlisted": "missed", "metrics": ["Recall@10"]}
    found = rs.evaluate({"a": whole, "b": part, "c": whole}, HELD_OUT, **told)
    pairs, users = found.pairs, range(N_USERS)
    assert found.table["value"].tolist() == pytest.approx(
        [hits(whole, users), hits(part, users), hits(whole, users)]
    )
    # Of all users a is ahead by far, of those that b has lists of they are the same.
    assert pairs.loc[("a", "b", "Recall@10"), "low"] > 0
    assert pairs["ahead"].tolist() == ["undecided"] * 3
    without, shared, undone = found.notes
    assert without.startswith("b: users without any score") and without.endswith(": 200")
    one = f"{hits(whole, COVERED):.3f}"
    assert shared == (
        "of the 100 users for whom all recommenders have a list, Recall@10 is "
        f"{one} (a), {one} (b) and {one} (c)"
    )
    assert undone.endswith("or neither: a - b (Recall@10) and b - c (Recall@10)")
    bad = part.assign(item=(part["item"] + 1) % N_ITEMS)  # worse of its own users too
    behind = rs.evaluate({"a": whole, "b": bad}, HELD_OUT, **told)
    assert behind.pairs["ahead"].tolist() == ["a"] and len(behind.notes) == 2


def test_of_users_that_only_one_has_nothing_is_decided():
    told = {"items": range(N_ITEMS), "unlisted": "missed", "metrics": ["Recall@10"]}
    apart = {"a": lists(10, np.arange(100, N_USERS)), "b": lists(10, COVERED)}
    found = rs.evaluate(apart, HELD_OUT, **told)
    assert found.pairs["low"].iloc[0] > 0 and found.pairs["ahead"].tolist() == ["undecided"]
    assert found.notes[-1].startswith("undecided, since among the users for whom both")


def test_runs_agree_of_the_users_that_all_runs_have():
    runs = {"a": {1: lists(10), 2: lists(10)}, "b": {1: lists(10), 2: lists(10, COVERED)}}
    runs["b"][1] = runs["b"][1].assign(item=(runs["b"][1]["item"] + (ITEM[0] == -1)) % N_ITEMS)
    told = {"items": range(N_ITEMS), "unlisted": "missed", "metrics": ["Recall@10"]}
    found = rs.evaluate(runs, HELD_OUT, run="seed", **told)
    one = f"{hits(lists(10), COVERED):.3f}"
    assert (
        f"of the 100 users for whom all recommenders have a list, Recall@10 is {one} (a) and "
        in (" ".join(found.notes))
    )


def test_a_cut_off_beyond_every_list():
    told = {"items": range(N_ITEMS), "unlisted": "missed"}
    given = {"a": lists(10), "b": lists(20)}
    found = rs.evaluate(given, HELD_OUT, metrics=["Recall@20", "NDCG@11", "RR"], **told)
    assert found.notes == ("a: Recall@20 and NDCG@11: no list is longer than 10 items",)


def test_a_hash_reads_all_rows_and_ids_of_users_are_not_told():
    wide = rng.normal(size=(20, 20_000))
    other = wide.copy()
    other[1:] = rng.normal(size=(19, 20_000))
    items = np.arange(20)
    told = [rs.evaluate(one, items, metrics=["RR"]).made["arguments"]["scores"] for one in
            (wide, wide.copy(), other)]  # fmt: skip
    assert told[0] == told[1] != told[2]
    groups = {f"user{i}": pd.Timestamp(i % 2, unit="D") for i in range(20)}
    frame = as_numbered(wide[:, :30]).astype({"user": str})
    frame["user"] = "user" + frame["user"]
    held_out = pd.DataFrame({"user": list(groups), "item": items})
    made = rs.evaluate({"mine": frame}, held_out, groups=groups, metrics=["RR"]).made["arguments"]
    assert "user1" not in made["groups"] and "'mine': " in made["scores"]
