"""Lists of candidates are told from lists of the best, by users and recommenders made up here."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from thorough import thorough

import recsample as rs
from recsample.evaluation.candidates import _Hits, few_misses

RNG = np.random.default_rng
REFUSED = r"must list the best items of each user, or all, .*negatives='listed' .* or complete=True"


@cache
def shop(n_users=300, n_items=500):
    """Scores of recommenders, held-out items and what users have."""
    rng = RNG(0)
    popularity = rng.normal(size=n_items)
    tastes, kinds = rng.normal(size=(n_users, 6)), rng.normal(size=(n_items, 6))
    utility = popularity + tastes @ kinds.T
    own = np.argsort(-(utility + rng.gumbel(size=utility.shape)), axis=1)[:, :12]
    own = rng.permuted(own, axis=1)
    models = {
        "good": utility + 2 * rng.normal(size=utility.shape),
        "popular": popularity + 1e-6 * rng.normal(size=utility.shape),
        "random": rng.random(utility.shape),
    }
    return models, own[:, :2], own[:, 2:]


def pairs(rows):
    user = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return pd.DataFrame({"user": user, "item": np.concatenate(rows).astype(int)})


def scored(table, scores):
    return table.assign(score=scores[table["user"], table["item"]])


def drawn(m, popular=False, ragged=False, n_relevant=1):
    """The held-out items and m others of each user."""
    models, relevant, train = shop()
    rng, rows = RNG(1), []
    weight = np.exp(models["popular"][0]) if popular else np.ones(len(models["popular"][0]))
    for own, known in zip(relevant[:, :n_relevant], train):
        chance = weight.copy()
        chance[own], chance[known] = 0, 0
        few = rng.choice(len(chance), m, replace=False, p=chance / chance.sum())
        few = few[rng.random(m) < 0.9] if ragged else few
        rows.append([*own, *few])
    return pairs(rows)


def best(k, scores, train):
    new = scores.copy()
    np.put_along_axis(new, train, -np.inf, axis=1)
    return scored(pairs(np.argsort(-new, axis=1, kind="stable")[:, :k]), scores)


def evaluated(scores, n_relevant=1, **options):
    _, relevant, train = shop()
    held_out = pairs(relevant[:, :n_relevant])
    asked = {"train": pairs(train), "metrics": ["Recall@10", "AUC"]}
    return rs.evaluate(scores, held_out, **asked | options)


@pytest.mark.parametrize("name", ["random", *map(thorough, ("good", "popular"))])
@pytest.mark.parametrize(
    "how",
    [
        {"m": 19},
        {"m": 99},
        {"m": 100},
        {"m": 200},
        {"m": 50, "popular": True},
        {"m": 100, "ragged": True},
        {"m": 100, "n_relevant": 2},
    ],
    ids=str,
)
def test_lists_of_candidates_are_refused(name, how):
    scores = shop()[0][name]
    table = scored(drawn(**how), scores)
    for given in (table, {"one": table, "all": scores}):
        for train in ({}, {"train": None}):
            with pytest.raises(ValueError, match=REFUSED):
                evaluated(given, how.get("n_relevant", 1), **train)


@pytest.mark.parametrize("k", [5, 20, *map(thorough, (10, 50, 100, 200, 400))])
@pytest.mark.parametrize("constant", [False, True])
def test_lists_of_the_best_pass_without_a_word(k, constant):
    models, _, train = shop()
    for name, scores in models.items():
        table = best(k, scores, train)
        if constant:
            table["score"] = 1.0
        other = best(k, models["good"] + models["random"], train)
        for given in ({name: table}, {name: table, "other": other}):
            assert not any("candidates" in note for note in evaluated(given).notes)


def test_long_lists_of_few_items_pass_without_a_word():
    """All held-out items stand in them, and yet lists of users who are alike are alike."""
    rng = RNG(7)
    for n_users, n_items in ((25, 80), (60, 50), (400, 40)):
        utility = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items))
        held_out = np.argmax(utility + 0.2 * rng.gumbel(size=utility.shape), axis=1)[:, None]
        top = scored(pairs(np.argsort(-utility, axis=1)[:, : n_items // 2]), utility)
        assert not rs.evaluate(top, pairs(held_out), items=range(n_items)).notes


@pytest.mark.thorough
def test_among_those_that_are_listed():
    models, relevant, train = shop()
    table = drawn(100)
    negatives = table[table["item"] != relevant[table["user"], 0]]
    given = {name: scored(table, scores) for name, scores in models.items()}
    expected = evaluated(models, negatives=negatives, drawn="uniform", rng=1)
    found = evaluated(given, negatives="listed", drawn="uniform")
    pd.testing.assert_frame_equal(found.table, expected.table)
    beside = given | {"popular": models["popular"]}
    pd.testing.assert_frame_equal(
        evaluated(beside, negatives="listed", drawn="uniform").table, expected.table
    )


def test_what_is_not_listed_may_be_known_to_be_below():
    models, relevant, train = shop()
    table = drawn(100)
    rest = np.full_like(models["good"], -np.inf)
    rest[table["user"], table["item"]] = models["good"][table["user"], table["item"]]
    found = evaluated(scored(table, models["good"]), complete=True)
    pd.testing.assert_frame_equal(found.table, evaluated(rest, complete=True).table)


def test_candidates_that_differ_are_refused():
    models, _, _ = shop()
    table = drawn(20)
    user, item = table.iloc[5]
    given = {"a": scored(table, models["good"]), "b": scored(table, models["random"]).drop(index=5)}
    with pytest.raises(ValueError, match=f"got {item} for user {user} in only one of 'a' and 'b'"):
        evaluated(given, negatives="listed", drawn="uniform")
    with pytest.raises(ValueError, match="^negatives must be None where scores hold all items"):
        evaluated(models["good"], negatives="listed", drawn="uniform")
    with pytest.raises(ValueError, match="^negatives must be a dataframe, 'listed' or None, got"):
        evaluated(models["good"], negatives="lists.csv", drawn="uniform")
    with pytest.raises(ValueError, match="^complete must be False where negatives='listed'"):
        evaluated(given["a"], negatives="listed", complete=True, drawn="uniform")
    with pytest.raises(ValueError, match="^complete must be True or False, got 1"):
        evaluated(given["a"], complete=1)


def test_different_recommenders_list_the_same_items():
    """Few users, who alone would leave it open."""
    models, relevant, _ = shop()
    table = drawn(99)
    table = table[table["user"] < 25]
    held_out = pairs(relevant[:25, :1])
    a, b = (scored(table, models[name]) for name in ("good", "popular"))
    with pytest.raises(ValueError, match="all recommenders list the same items"):
        rs.evaluate({"a": a, "b": b}, held_out)
    (said,) = [one for one in rs.evaluate(a, held_out).notes if "candidates" in one]
    assert "negatives='listed'" in said and "complete=True" in said


def test_a_list_beside_all_relevant_items():
    """Each user has m others and as many held-out items as there are."""
    models, relevant, train = shop()
    rng = RNG(3)
    lists = drawn(30, popular=True, n_relevant=2)
    gone = pairs(relevant[rng.random(300) < 0.5, 1:])
    users = np.flatnonzero(RNG(3).random(300) < 0.5)
    gone["user"] = users
    left = lists.merge(gone, how="left", indicator=True).query("_merge == 'left_only'")
    held = pairs(relevant).merge(gone, how="left", indicator=True).query("_merge == 'left_only'")
    some = left[left["user"] < 30].drop(columns="_merge")
    held = held[held["user"] < 30].drop(columns="_merge")
    with pytest.raises(ValueError, match="hold every held-out item and a fixed number of others"):
        rs.evaluate(scored(some, models["good"]), held, metrics=["AUC"])


def hits(rank, k, n):
    """Of lists of k of n items, for users whose held-out items have these ranks."""
    length = np.full(len(rank), k)
    one = np.ones(len(rank), np.int64)
    return _Hits(one, length, np.full(len(rank), n), rank, 0 * one)


@pytest.mark.parametrize("law", ["random", "geometric", "power", "binormal", "mixture"])
def test_the_p_value_of_lists_of_the_best_is_seldom_small(law):
    rng, n, small = RNG(4), 1000, []
    for _ in range(100):
        u = {
            "random": rng.random(400),
            "geometric": np.minimum(rng.geometric(1 / 60, 400) / n, 1),
            "power": np.minimum((rng.pareto(0.7, 400) + 1) / n, rng.random(400)),
            "binormal": stats.norm.sf(rng.normal(1.2, 1, 400)),
            "mixture": np.where(rng.random(400) < 0.3, rng.random(400), rng.random(400) ** 6),
        }[law]
        rank = 1 + np.floor(u * (n - 1)).astype(np.int64)
        small += [few_misses(hits(rank, k, n)) < 0.02 for k in (20, 100, 500)]
    assert np.mean(small) < 0.04  # as often as stated where ranks are random, else less


def test_the_p_value_of_random_candidates_is_small():
    assert few_misses(hits(RNG(5).integers(1, 102, 100), 101, 10_000)) < 1e-6
