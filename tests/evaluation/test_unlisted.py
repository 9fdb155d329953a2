"""What scores do not list, and what is ranked among: by enumeration, and what is refused."""

import itertools
import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from libraries import needed

import recsample as rs

METRICS = ["Recall@2", "Recall@4", "NDCG", "AP", "RR", "RBP(0.8)", "AP(hits)@4", "AUC"]
N_ITEMS = 7
# The best of seven items for three users, and what turned out to be relevant.
LISTS = {"u": [0, 1, 2], "v": [3, 4], "w": [5, 6, 0, 1]}
HELD_OUT = {"u": [1, 5, 6], "v": [4], "w": [2]}
# Items to rank among beside the held-out ones: those of u and w are not all listed.
AMONG = {"u": [0, 3], "v": [3], "w": [5, 3, 4]}
WHOLE = {user: [*items, *sorted({*range(N_ITEMS)} - {*items})] for user, items in LISTS.items()}


def table(lists):
    rows = [(user, i, -place) for user, items in lists.items() for place, i in enumerate(items)]
    return pd.DataFrame(rows, columns=["user", "item", "score"])


def pairs(sets):
    rows = [(user, i) for user, items in sets.items() for i in items]
    return pd.DataFrame(rows, columns=["user", "item"])


def evaluated(lists=LISTS, held_out=HELD_OUT, metrics=METRICS, **options):
    return rs.evaluate(table(lists), pairs(held_out), metrics=metrics, **options)


def orders(user, pool):
    """Every order of a pool that begins with what is listed of it, as it is listed."""
    listed = [i for i in LISTS[user] if i in pool]
    for rest in itertools.permutations([i for i in pool if i not in listed]):
        yield [*listed, *rest]


def of_orders(metric, pools):
    """The values of each user over all orders of what is not listed."""
    found = []
    for user, relevant in HELD_OUT.items():
        ranks = [[1 + o.index(i) for i in relevant] for o in orders(user, pools[user])]
        found.append(rs.metric(metric)(rs.Ranks(ranks, len(pools[user]))))
    return found


def found_only(metric):
    """The value of each user where nothing else is ever found, by the definition of each metric."""
    values = []
    for user, relevant in HELD_OUT.items():
        places = [1 + p for p, i in enumerate(LISTS[user]) if i in relevant]
        name, _, k = metric.partition("@")
        within = [p for p in places if p <= int(k or 99)]
        n = len(relevant)
        ideal = sum(1 / np.log2(i + 2) for i in range(n))
        hits = sum((j + 1) / p for j, p in enumerate(within))
        values.append(
            {
                "Recall": len(within) / n,
                "NDCG": sum(1 / np.log2(p + 1) for p in within) / ideal,
                "AP": hits / n,
                "AP(hits)": hits / max(1, len(within)),
                "RR": 1 / min(within, default=np.inf),
                "RBP(0.8)": sum(0.2 * 0.8 ** (p - 1) for p in within),
            }[name]
        )
    return values


CATALOGUE = dict.fromkeys(HELD_OUT, [*range(N_ITEMS)])
OF_EACH = {user: [*items, *HELD_OUT[user]] for user, items in AMONG.items()}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("pools", "stated"),
    [
        (CATALOGUE, {"items": range(N_ITEMS)}),
        (CATALOGUE, {"items": N_ITEMS}),
        (OF_EACH, {"items": N_ITEMS, "among": pairs(AMONG), "drawn": "all"}),
    ],
    ids=["catalogue", "number", "candidates"],
)
def test_open_and_below_are_the_ends_and_the_mean_over_all_orders(metric, pools, stated):
    values = of_orders(metric, pools)
    found = evaluated(metrics=[metric], unlisted="open", **stated)
    row = found.table.loc[metric]
    known = [one[0] if np.ptp(one) < 1e-12 else np.nan for one in values]
    assert found.per_instance["value"].tolist() == pytest.approx(known, nan_ok=True)
    low, high = (np.mean([end(one) for one in values]) for end in (np.min, np.max))
    if low == high:
        assert row["assumption"] == "" and row["value"] == pytest.approx(low)
        assert row["low"] < row["value"] < row["high"]  # limits of confidence
    else:
        assert row["assumption"] == "bound" and np.isnan(row["value"])
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-12)
    below = evaluated(metrics=[metric], unlisted="below", **stated).table
    assert list(below.columns) == ["value", "low", "high"]
    assert below.loc[metric, "value"] == pytest.approx(np.mean([np.mean(one) for one in values]))


@pytest.mark.parametrize("metric", METRICS[:-1])
def test_missed_adds_nothing(metric):
    for stated in ({}, {"items": range(N_ITEMS)}, {"items": 10**6}):
        found = evaluated(metrics=[metric], unlisted="missed", **stated)
        each = found.per_instance.set_index("user")["value"]
        assert each.tolist() == pytest.approx(found_only(metric), abs=1e-15)
        assert found.table.loc[metric, "low"] >= 0


@pytest.mark.parametrize("metric", ["AUC", "PercentileRank"])
def test_missed_is_refused_for_metrics_that_need_a_rank(metric):
    with pytest.raises(ValueError, match=f"^metrics must be 0 for an item .* got {metric}, .*"):
        evaluated(metrics=[metric], unlisted="missed")
    if metric == "AUC":  # which is left out where nobody asks for it
        usual = evaluated(metrics=None, unlisted="missed").table
        assert usual.index.tolist() == ["Recall@10", "NDCG@10", "AP"]
    # Where nothing is missed there is no question.
    exact = evaluated(WHOLE, metrics=[metric])
    assert evaluated(WHOLE, metrics=[metric], unlisted="missed").table.equals(exact.table)


@pytest.mark.parametrize("metric", ["NDCG", "AP", "AUC", "RR", "RBP(0.8)"])
def test_a_catalogue_that_nobody_states_may_be_of_any_size(metric):
    row = evaluated(metrics=[metric], unlisted="open").table.loc[metric]
    for n_items in (N_ITEMS, 10**5):
        stated = evaluated(metrics=[metric], unlisted="open", items=n_items).table.loc[metric]
        assert row["low"] <= stated["low"] and row["high"] >= stated["high"]
    if metric == "AUC":
        assert row["high"] == 1
    else:
        assert row["low"] == pytest.approx(np.mean(found_only(metric)))


CANDIDATES = {"u": [0, 1, 2, 5, 6], "v": [3, 4], "w": [5, 6, 2, 1]}


def test_out_ranks_what_is_listed():
    exact = [rs.metric("AP")(rs.Ranks([[1 + items.index(i) for i in HELD_OUT[user]]], len(items)))
             for user, items in CANDIDATES.items()]  # fmt: skip
    found = evaluated(CANDIDATES, unlisted="out", drawn="all")
    assert found.table.loc["AP", "value"] == pytest.approx(np.mean(exact))
    assert found.head.startswith("3 users with 5 held-out items, each ranked among 1 to 3 irrel")
    assert (
        "Scores are lists of 2 to 5 of 7 items, which hold 5 of 5 held-out ones" in found.footnote
    )
    assert "what is not listed is not ranked" in found.footnote
    # The same candidates beside full scores, in which held-out items may stand or not.
    for among in (CANDIDATES, {u: {*c} - {*HELD_OUT[u]} for u, c in CANDIDATES.items()}):
        same = evaluated(
            {u: [*c, *({*range(N_ITEMS)} - {*c})] for u, c in CANDIDATES.items()},
            among=pairs(among),
            drawn="all",
        )
        assert same.table.equals(found.table)
    # And as an array with -inf for all others.
    dense = np.full((3, N_ITEMS), -np.inf)
    for row, items in enumerate(CANDIDATES.values()):
        dense[row, items] = -np.arange(len(items))
    held_out = pairs(dict(enumerate(HELD_OUT.values())))
    masked = rs.evaluate(dense, held_out, metrics=METRICS, unlisted="out", drawn="all")
    assert masked.table.equals(found.table)


def test_candidates_as_the_task_have_limits_pairs_segments_and_grades():
    rng = np.random.default_rng(0)
    lists = {k: rng.choice(60, rng.integers(3, 20), replace=False).tolist() for k in range(90)}
    held_out = pairs({k: items[1:3] for k, items in lists.items()})
    held_out["stars"] = rng.integers(1, 4, len(held_out))
    models = {
        name: table({k: rng.permutation(items) for k, items in lists.items()}) for name in "ab"
    }
    options = {"unlisted": "out", "drawn": "all", "relevance": "stars", "metrics": ["NDCG", "AUC"]}
    found = rs.evaluate(models, held_out, **options)
    row, pair = found.table.loc[("a", "NDCG")], found.pairs.loc[("a", "b", "NDCG")]
    each = found.per_instance.pivot(index=["user", "metric"], columns="recommender", values="value")
    each = each.xs("NDCG", level="metric")
    error = each["a"].std() / np.sqrt(90)
    assert row["value"] == pytest.approx(each["a"].mean())
    assert 1.99 * error < row["high"] - row["value"] < 2.5 * error
    assert pair["difference"] == pytest.approx((each["a"] - each["b"]).mean())
    assert len(found.by(np.arange(90) % 2)) == 8
    one = lists[0]
    gain = dict(zip(held_out["item"][:2], held_out["stars"][:2]))
    order = models["a"].query("user == 0").sort_values("score", ascending=False)["item"]
    dcg, ideal = (
        sum(g / np.log2(p + 2) for p, g in enumerate(gains))
        for gains in ([gain.get(i, 0) for i in order], sorted(gain.values(), reverse=True))
    )
    assert len(one) == len(order) and each.loc[0, "a"] == pytest.approx(dcg / ideal)


@pytest.mark.parametrize("metric", ["DCG", "RBP(0.8)", "AUC"])
def test_beyond_the_candidates_of_a_task_there_is_nothing(metric):
    among = {"among": pairs(AMONG), "drawn": "all", "unlisted": "open"}
    stated = evaluated(metrics=[metric], items=N_ITEMS, **among)
    assert evaluated(metrics=[metric], **among).table.equals(stated.table)


def test_lists_of_nobody_who_is_evaluated_are_refused_and_missing_ones_noted():
    stated = {"metrics": ["RR", "AUC"], "drawn": "all"}
    with pytest.raises(ValueError, match="^among must hold users of held_out, got none of them"):
        evaluated(WHOLE, among=pairs({"x": [1]}), **stated)
    held_out = {"u": [1], "v": [4]}
    found = evaluated(WHOLE, held_out, among=pairs({"u": [0, 3]}), **stated)
    assert found.table["value"].tolist() == [0.75, 0.5]
    assert any(one.startswith("users with nothing to rank beside held-out") for one in found.notes)
    alone = evaluated(WHOLE, {"u": [0], "v": [3]}, among=pairs({"u": [0], "v": [3]}), **stated)
    assert alone.table["value"].fillna(-1).tolist() == [1, -1]
    for name, more in (("among", {"among": pairs({"u": [0, 3]}), "items": 9}), ("scores", {})):
        more = more or {"unlisted": "out", "items": 9, "lists": {"u": [0, 1], "v": [4]}}
        with pytest.raises(ValueError, match=f"^{name} must hold drawn items .* for user 'v'"):
            evaluated(
                **{"lists": WHOLE, "held_out": {"u": [1], "v": [4]}, "drawn": "uniform"} | more
            )


def test_users_for_whom_a_metric_is_undefined_are_left_out_and_counted():
    lists = {"u": [0, 1, 2], "v": [3], "w": [4, 5]}
    held_out = {"u": [1], "v": [3], "w": [4]}
    options = {"unlisted": "out", "drawn": "all", "metrics": ["AUC", "RR"]}
    models = {"a": table(lists), "b": table({u: i[::-1] for u, i in lists.items()})}
    found = rs.evaluate(models, pairs(held_out), **options)
    assert found.table["value"].tolist() == pytest.approx([0.75, 2.5 / 3, 0.25, 2 / 3])
    assert found.pairs.loc[("a", "b", "AUC"), "difference"] == pytest.approx(0.5)
    assert (
        "AUC is undefined for 1 users, without an irrelevant item: they are left out" in found.notes
    )
    # An array, factors and an object, with the same candidates, give the same.
    dense = np.full((3, 6), 9.0)
    numbered = {
        name: pairs(dict(enumerate(sets.values()))) for name, sets in
        (("held_out", held_out), ("among", lists))
    }  # fmt: skip
    for row, items in enumerate(lists.values()):
        dense[row, items] = -np.arange(len(items))
    doors = {"a": dense, "b": (dense, np.eye(6)), "c": lambda users: dense[users]}
    doors["c"] = type("Model", (), {"scores": staticmethod(doors["c"])})()
    asked = {"drawn": "all", "metrics": ["AUC", "RR"]}
    for one in (rs.evaluate(doors, **numbered, **asked), *(
        rs.evaluate(door, **numbered, **asked) for door in doors.values()
    )):  # fmt: skip
        assert one.table["value"].to_numpy().reshape(-1, 2) == pytest.approx(
            np.tile([0.75, 2.5 / 3], (len(one.table) // 2, 1))
        )
        assert "AUC is undefined for 1 users" in " ".join(one.notes)
    only = rs.evaluate(models, pairs({"v": [3]}), **options).table
    assert only["value"].isna().tolist() == [True, False, True, False]
    assert found.per_instance["value"].isna().sum() == 2


@pytest.mark.parametrize("unlisted", ["missed", "below", "open"])
def test_users_without_any_score_are_counted_and_named(unlisted):
    held_out = pd.DataFrame({"user": range(9), "item": 0})
    rows = [(user, item, -item) for user in range(9) for item in range(3)]
    table = pd.DataFrame(rows, columns=["user", "item", "score"])
    scores = {"A": table, "B": table[table["user"] < 6]}
    asked = {"items": 9, "unlisted": unlisted, "metrics": ["Recall@2"]}
    found = rs.evaluate(scores, held_out, **asked)
    said = "users without any score, as if none of their items was listed"
    assert found.counts["count"].loc[[("A", said), ("B", said)]].tolist() == [0, 3]
    assert [note for note in found.notes if "without any score" in note] == [f"B: {said}: 3"]


def test_uniform_candidates_are_reported_from_the_stated_catalogue():
    rng, n_items, n_users = np.random.default_rng(1), 400, 300
    dense, target = rng.normal(size=(n_users, n_items)), rng.integers(0, n_items, n_users)
    dense[np.arange(n_users), target] += 1.5
    drawn = [rng.choice(np.delete(range(n_items), t), 40, replace=False) for t in target]
    lists = pd.DataFrame({"user": np.repeat(range(n_users), 40), "item": np.ravel(drawn)})
    held_out = pd.DataFrame({"user": range(n_users), "item": target})
    both = pd.concat([lists, held_out])
    scores = both.assign(score=dense[both["user"], both["item"]])
    asked = {"metrics": ["Recall@10", "AUC"], "drawn": "uniform"}
    expected = rs.evaluate(dense, held_out, among=lists, **asked)
    column = 1 + (dense[lists["user"], lists["item"]].reshape(n_users, 40)
                  > dense[np.arange(n_users), target][:, None]).sum(axis=1)  # fmt: skip
    by_hand = rs.report(column, m=40, n_items=n_items, replace=False, **asked)
    for items in (n_items, range(n_items)):
        found = rs.evaluate(scores, held_out, unlisted="out", items=items, **asked)
        assert found.table.equals(expected.table) and found.table.equals(by_hand.table)
        assert "Scores are lists of 41 of 400 items, which hold 300 of 300" in found.footnote
    with pytest.raises(ValueError, match=r"^items must say from how many items lists were drawn"):
        rs.evaluate(scores, held_out, unlisted="out", **asked)
    # Lists that lean to one end do not look like it, and train may be why.
    leaning = scores[(scores["item"] < 300) | scores["item"].isin(target)]
    said = rs.evaluate(leaning, held_out, unlisted="out", items=n_items, **asked)
    assert said.table["value"].isna().all()
    exact = rs.evaluate(dense, held_out, metrics=asked["metrics"]).table["value"]
    assert said.table["high"].dropna().gt(exact[:1]).tolist() == [True]
    assert "do not look like uniform draws" in str(said).replace("\n", " ")
    assert "give them as train=" in said.footnote


def test_arrays_with_minus_infinity_are_asked_about_and_factors_are_not():
    rng = np.random.default_rng(2)
    dense = rng.normal(size=(30, 12))
    target, masked = rng.integers(0, 12, 30), dense.copy()
    masked[:, 3] = -np.inf
    with pytest.raises(ValueError, match="^unlisted must say .* got None for lists of 11 of 12 i"):
        rs.evaluate(masked, target, metrics=["RR"])
    rank = 1 + (masked > masked[np.arange(30), target][:, None]).sum(axis=1)
    values = {word: rs.evaluate(masked, target, metrics=["RR"], unlisted=word).table.loc["RR"]
              for word in ("missed", "below", "open")}  # fmt: skip
    assert values["below"]["value"] == pytest.approx(np.mean(1 / rank))
    assert values["missed"]["value"] == pytest.approx(np.mean((target != 3) / rank))
    assert values["open"]["value"] == values["below"]["value"]  # it is one item: nothing is open
    # What is masked is in train: there is no question.
    known = pd.DataFrame({"user": range(30), "item": 3})
    rows = pd.DataFrame({"user": range(30), "item": target})
    exact = rs.evaluate(masked, rows, train=known, metrics=["RR"]).table
    assert exact.equals(rs.evaluate(dense, rows, train=known, metrics=["RR"]).table)


def test_a_padding_column_is_left_out_by_items():
    rng = np.random.default_rng(3)
    users, others, target = (
        rng.normal(size=(50, 4)),
        rng.normal(size=(20, 4)),
        rng.integers(0, 20, 50),
    )
    padded = np.concatenate([np.full((1, 4), 9.0), others])

    class Model:
        def scores(self, which):
            return users[which] @ padded.T

    rank = 1 + (users @ others.T > (users @ others.T)[np.arange(50), target][:, None]).sum(axis=1)
    for given in ((users, padded), users @ padded.T, Model()):
        held_out = pd.DataFrame({"user": range(50), "item": target + 1})
        found = rs.evaluate(given, held_out, items=range(1, 21), metrics=["RR", "AUC"]).table
        assert found["value"].tolist() == pytest.approx(
            [np.mean(1 / rank), 1 - np.mean(rank - 1) / 19]
        )
    with pytest.raises(ValueError, match=r"^items must be numbers of columns of scores, .* got 21"):
        rs.evaluate(users @ padded.T, target + 1, items=range(1, 22))
    with pytest.raises(
        ValueError, match=r"^items must hold all held-out items, got \d+ of 50 rows"
    ):
        rs.evaluate(users @ padded.T, target + 1, items=range(2, 21))


def test_a_dense_and_a_list_model():
    dense, best = table(WHOLE), table(LISTS)
    with pytest.raises(ValueError, match="scores of 'list' do not list, .* for lists of 2 to 4 of"):
        rs.evaluate({"dense": dense, "list": best}, pairs(HELD_OUT))
    for word in ("missed", "below", "open"):
        found = rs.evaluate(
            {"dense": dense, "list": best}, pairs(HELD_OUT), metrics=["AP"], unlisted=word
        )
        alone = rs.evaluate({"list": best}, pairs(HELD_OUT), metrics=["AP"], unlisted=word,
                            items=N_ITEMS)  # fmt: skip
        pd.testing.assert_frame_equal(found.table.loc[["list"]], alone.table)
        exact = evaluated(WHOLE, metrics=["AP"]).table
        assert found.table.loc[("dense", "AP"), "value"] == exact.loc["AP", "value"]
    with pytest.raises(ValueError, match=r"^unlisted must not be 'out' where recommenders list di"):
        rs.evaluate({"a": dense, "b": best}, pairs(HELD_OUT), unlisted="out", drawn="all")
    with pytest.raises(ValueError, match=r"held-out items are not listed, got 3 of 5 such as"):
        rs.evaluate(best, pairs(HELD_OUT), unlisted="out", drawn="all")


def test_pairs_segments_and_what_is_written_down():
    models = {"short": table(LISTS), "whole": table(WHOLE)}
    found = rs.evaluate(models, pairs(HELD_OUT), metrics=METRICS, items=range(N_ITEMS),
                        unlisted="open")  # fmt: skip
    pair = found.pairs.loc[("short", "whole", "AP")]
    values = of_orders("AP", CATALOGUE)
    low, high = (np.mean([end(one) for one in values]) for end in (np.min, np.max))
    whole = found.table.loc[("whole", "AP"), "value"]
    assert (pair["low"], pair["high"]) == pytest.approx((low - whole, high - whole))
    assert np.isnan(pair["difference"]) and np.isnan(pair["probability"])
    assert pair["assumption"] == "bound"
    assert found.pairs.loc[("short", "whole", "Recall@2"), "assumption"] == ""
    said = dict(zip(found.table.index, found.sentences))["short", "AP"]
    assert "bounds for these 3 users" in said and "3 of 5 held-out items stand somewhere" in said
    assert "is what trec_eval, ranx, RecTools and LensKit print" in found.footnote
    missed = rs.evaluate(models, pairs(HELD_OUT), metrics=["Recall@4"], unlisted="missed").table
    assert found.table.loc[("short", "Recall@4"), "low"] == missed["value"].iloc[0]
    assert "between" in str(found) and "between" in found.to_markdown()
    assert '"value": null' in found.to_json()
    part = found.by(dict.fromkeys("uvw", 0))
    assert part.loc[(0, "short", "AP"), "low"] == pytest.approx(low)
    assert pickle.loads(pickle.dumps(found)) == found
    found.plot()


# What may stand together, as a table of its own: all that is not here is refused.
ALLOWED = {
    (None, None, None),
    *((None, word, way) for word in ("missed", "below", "open") for way in (None, "all")),
    (None, None, "all"),
    *((None, "out", way) for way in ("all", "uniform", "popular", "unknown")),
    *(("frame", word, "all") for word in (None, "missed", "below", "open")),
    *(
        ("frame", word, way)
        for word in (None, "below")
        for way in ("uniform", "popular", "unknown")
    ),
    *(("sampler", word, None) for word in (None, "below")),
}


@pytest.mark.parametrize("among", [None, "frame", "sampler"])
@pytest.mark.parametrize("unlisted", [None, "missed", "below", "open", "out"])
@pytest.mark.parametrize("drawn", [None, "all", "uniform", "popular", "unknown"])
def test_each_combination_has_a_meaning_or_is_refused(among, unlisted, drawn):
    given = {
        "frame": pairs({u: [*range(N_ITEMS)] for u in LISTS}),
        "sampler": rs.UniformSampling(2),
    }
    stated = {"among": given.get(among), "unlisted": unlisted, "drawn": drawn}
    if (among, unlisted, drawn) in ALLOWED:
        found = evaluated(WHOLE, metrics=["RR"], **stated)
        exact = evaluated(WHOLE, metrics=["RR"]).table.loc["RR", "value"]
        if drawn in ("popular", "unknown"):
            assert found.table.loc["RR", "sampled"] == pytest.approx(exact)
            assert f"items were drawn {drawn!r} (" in found.sentences[0]
        elif drawn == "uniform" or among == "sampler":
            assert "sampled" in found.table and len(found.ladder)
            assert ("by recsample." in found.footnote) == (among == "sampler")
        else:
            assert found.table.loc["RR", "value"] == pytest.approx(exact)
        return
    with pytest.raises(ValueError, match=r"^(unlisted|drawn) must be .* where among is"):
        evaluated(WHOLE, metrics=["RR"], **stated)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"unlisted": "behind"}, r"^unlisted must be 'missed' \(.*'below' \(.*'open' .*or 'out' "),
        ({"unlisted": np.array(["out", "open"])}, r"^unlisted must be 'missed' .* got array"),
        (
            {"drawn": "unknown"},
            r"^drawn must be None .* got 'unknown': unlisted='out' says that lists ",
        ),
        ({"items": {1, 2}}, r"^items must be a number, or a list of at least one id, got {1, 2}"),
        ({"items": "9"}, r"^items must be a number, or a list of at least one id, got '9'"),
        ({"drawn": "random"}, r"^drawn must be 'uniform' \(.*'all' \(.* got 'random'"),
        ({"drawn": "shared"}, r"got 'shared': .* users chosen at random, .* report as exact="),
        ({"among": "listed"}, r"^among must be a dataframe .*, a sampler .* got 'listed'"),
        ({"among": rs.InverseSampling()}, r"^among must be a dataframe .* got InverseSampling"),
        (
            {"items": 3},
            r"^items must be their number, at least as many as the tables name, 7, .* 3",
        ),
        ({"items": []}, r"^items must be a number, or a list of at least one id, got \[\]"),
        ({}, r"^unlisted must say .* lists of 2 to 4 of 7 items, which hold 2 of 5 held-out ones"),
    ],
)
def test_what_is_refused_names_all_ways_out(options, said):
    with pytest.raises(ValueError, match=said):
        evaluated(**options)


@pytest.mark.parametrize("gone", ["negatives", "complete", "sampler", "batches", "rows"])
def test_there_are_no_other_arguments(gone):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{gone}'"):
        evaluated(**{gone: None})


# "missed" is how other libraries count.


def a_run(rng, n_tied=1):
    """Lists of some users, of levels with up to `n_tied` items of one score, and held-out items."""
    levels, held_out = {}, {}
    for user in map(str, range(int(rng.integers(2, 9)))):
        items = list(map(str, rng.permutation(15)[: rng.integers(0, 9)]))
        levels[user] = []
        while items:
            n = rng.integers(1, n_tied + 1)
            levels[user].append(items[:n])
            items = items[n:]
        held_out[user] = list(map(str, rng.choice(15, rng.integers(1, 6), replace=False)))
    return levels, held_out


def of_levels(levels):
    rows = [(u, i, -k) for u, mine in levels.items() for k, one in enumerate(mine) for i in one]
    return pd.DataFrame(rows, columns=["user", "item", "score"])


@cache
def many_runs():
    """200 runs: for each user our values, and all orders of the ties with what is held out."""
    rng, lists, held_out = np.random.default_rng(0), {}, {}
    for number in range(200):
        for mine, found in zip((lists, held_out), a_run(rng, n_tied=1 + number % 3)):
            mine |= {f"{number}/{user}": one for user, one in found.items()}
    metrics, orders = [*AS_OTHERS], []
    found = rs.evaluate(of_levels(lists), pairs(held_out), metrics=metrics, unlisted="missed")
    for user, relevant in held_out.items():
        mixed = itertools.product(*(itertools.permutations(one) for one in lists[user]))
        orders.append([([*itertools.chain(*one)], relevant) for one in mixed])
    each = found.per_instance.pivot(index="user", columns="metric", values="value")
    return each.loc[[*held_out]], orders


def same_as_ours(theirs, names):
    """Our values are the means of theirs over the orders of ties, by user."""
    ours, orders = many_runs()
    whose = np.repeat(range(len(orders)), [len(one) for one in orders])
    assert len(whose) > 2 * len(ours) and not all(one[0][0] for one in orders)
    for name, metric in names.items():
        means = np.bincount(whose, theirs[name]) / np.bincount(whose)
        np.testing.assert_allclose(ours[metric], means, atol=1e-12, err_msg=name)


def runs_and_qrels():
    """Each order as a query of its own, whose names sort as they stand."""
    every = {f"{k:06}": one for k, one in enumerate(itertools.chain(*many_runs()[1]))}
    run = {k: {i: -float(p) for p, i in enumerate(items)} for k, (items, _) in every.items()}
    return run, {k: dict.fromkeys(relevant, 1) for k, (_, relevant) in every.items()}


AS_OTHERS = {"NDCG@10": "nDCG@10", "Recall@5": "R@5", "RR": "RR", "AP": "AP", "Precision@5": "P@5"}


def test_trec_eval_counts_as_missed_does():
    ir = needed("ir_measures")
    run, qrels = runs_and_qrels()
    measures = {"nDCG@10": ir.nDCG @ 10, "R@5": ir.R @ 5, "RR": ir.RR, "AP": ir.AP, "P@5": ir.P @ 5}
    names = {str(one): name for name, one in measures.items()}
    theirs = {name: dict.fromkeys(qrels, np.nan) for name in measures}
    for one in ir.iter_calc(measures.values(), qrels, run):
        theirs[names[str(one.measure)]][one.query_id] = one.value
    values = {name: np.array([*each.values()]) for name, each in theirs.items()}
    same_as_ours(values, {name: ours for ours, name in AS_OTHERS.items()})


def test_ranx_counts_as_missed_does():
    ranx = needed("ranx")
    run, qrels = runs_and_qrels()
    run = {k: one or {"none of them": 0.0} for k, one in run.items()}  # which ranx cannot read
    names = {"ndcg@10": "NDCG@10", "recall@5": "Recall@5", "mrr": "RR", "map": "AP"}
    names["precision@5"] = "Precision@5"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), [*names], return_mean=False)
    same_as_ours(values, names)


def test_rectools_counts_as_missed_does():
    metrics = needed("RecTools")
    every = [*itertools.chain(*many_runs()[1])]
    rows = [(k, i, p + 1) for k, (items, _) in enumerate(every) for p, i in enumerate(items)]
    reco = pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])
    rows = [(k, i) for k, (_, relevant) in enumerate(every) for i in relevant]
    interactions = pd.DataFrame(rows, columns=["user_id", "item_id"])
    theirs = {
        "Recall@5": metrics.Recall(k=5),
        "NDCG@10": metrics.NDCG(k=10, divide_by_achievable=True),
        "Precision@5": metrics.Precision(k=5),
        "RR": metrics.MRR(k=15),
    }
    values = {
        name: one.calc_per_user(reco, interactions).reindex(range(len(every))).to_numpy()
        for name, one in theirs.items()
    }
    same_as_ours(values, {name: name for name in theirs})


def test_lenskit_counts_as_missed_does():
    """Its own rule by hand: a user without a list counts 0, and what is not listed adds nothing."""
    lenskit = pytest.importorskip("lenskit.metrics")
    data = pytest.importorskip("lenskit.data")
    levels, held_out = a_run(np.random.default_rng(0))
    lists = {user: [*itertools.chain(*mine)] for user, mine in levels.items()}
    found = evaluated(lists, held_out, ["Recall@10", "RR"], unlisted="missed").table["value"]
    for name, theirs in (("Recall@10", lenskit.Recall(10)), ("RR", lenskit.RecipRank())):
        values = [
            theirs.measure_list(data.ItemList(lists[u], ordered=True), data.ItemList(held_out[u]))
            for u in lists
        ]
        assert found[name] == pytest.approx(np.mean(values))


def test_open_bounds_of_grades_are_those_of_all_orders():
    """Three of five items that are not listed are relevant, each with a grade of its own."""
    grade, listed = {0: 2.0, 3: 1.0, 4: 5.0, 6: 3.0}, [0, 1]
    held_out = pd.DataFrame(
        [(user, item, g) for user in "uv" for item, g in grade.items()],
        columns=["user", "item", "rating"],
    )
    about = {"items": range(N_ITEMS), "unlisted": "open", "relevance": "rating"}
    found = rs.evaluate(
        table(dict.fromkeys("uv", listed)), held_out, metrics=["DCG@4", "NDCG@4"], **about
    ).table
    gains = [
        sum(grade.get(item, 0.0) / np.log2(place + 2) for place, item in enumerate(order[:4]))
        for rest in itertools.permutations({*range(N_ITEMS)} - {*listed})
        for order in [[*listed, *rest]]
    ]
    ideal = sum(g / np.log2(place + 2) for place, g in enumerate([5.0, 3.0, 2.0, 1.0]))
    for metric, unit in {"DCG@4": 1.0, "NDCG@4": ideal}.items():
        row = found.loc[metric]
        assert row["assumption"] == "bound"
        assert [row["low"], row["high"]] == pytest.approx([min(gains) / unit, max(gains) / unit])


def test_limits_reach_from_0_where_nothing_is_found():
    """Gaffke's upper limit of 40 zeros, of at most 1 each, is that of Clopper and Pearson."""
    users = [f"u{i}" for i in range(40)]
    row = rs.evaluate(
        table(dict.fromkeys(users, [0, 1])),
        pairs(dict.fromkeys(users, [5])),
        items=range(N_ITEMS),
        unlisted="missed",
        drawn="all",
        metrics=["AP"],
    ).table.loc["AP"]
    assert row["value"] == row["low"] == 0
    assert row["high"] == pytest.approx(1 - 0.025 ** (1 / 40), rel=0.01)
