"""Grades of relevance through `evaluate`, against all orders of items, one after the other."""

import pickle
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from thorough import thorough

import recsample as rs
from recsample.evaluation.grades import ends_with_grades
from recsample.ranks.graded import with_grades

N_ITEMS = 5
METRICS = ["NDCG@2", "DCG@3", "NDCG", "DCG", "Recall@2", "AP", "RR"]


def made_up(seed, n_users=12):
    """Scores with many ties, held-out items with grades from -1 to 3, training items."""
    rng = np.random.default_rng(seed)
    scores, held_out, train = [], [], []
    for user in range(n_users):
        items = rng.permutation(N_ITEMS)
        scores += [(user, i, float(rng.integers(0, 3))) for i in range(N_ITEMS)]
        grades = [rng.integers(1, 4), *rng.integers(-1, 4, 2)]
        held_out += [(user, i, g) for i, g in zip(items, grades)]
        train += [(user, items[-1])] * (user % 2)
    columns = ["user", "item"]
    tables = [pd.DataFrame(scores, columns=[*columns, "score"])]
    tables += [pd.DataFrame(held_out, columns=[*columns, "stars"])]
    return (*tables, pd.DataFrame(train, columns=columns))


def of_order(grades, metric):
    """The metric of the grades of all items in an order, as textbooks define it."""
    name, _, k = metric.partition("@")
    k, relevant = int(k or len(grades)), [g > 0 for g in grades]
    first = [i for i, is_one in enumerate(relevant, 1) if is_one]

    def dcg(gains):
        return sum(g / np.log2(i + 1) for i, g in enumerate(gains[:k], 1))

    return {
        "DCG": lambda: dcg(grades),
        "NDCG": lambda: dcg(grades) / dcg(sorted(grades, reverse=True)),
        "Recall": lambda: sum(relevant[:k]) / len(first),
        "AP": lambda: np.mean([j / i for j, i in enumerate(first, 1)]),
        "RR": lambda: 1 / first[0],
    }[name]()


def values_by_hand(tables, metric, user):
    """The values of a user in all orders that the scores allow; unlisted items are tied at last."""
    scores, held_out, train = (table[table["user"] == user] for table in tables)
    score = dict(zip(scores["item"], scores["score"]))
    grade = dict(zip(held_out["item"], held_out["stars"]))
    new = sorted(set(range(N_ITEMS)) - set(train["item"]))
    orders = ([(score.get(i, -np.inf), max(grade.get(i, 0), 0)) for i in p]
              for p in permutations(new))  # fmt: skip
    return [
        of_order([g for _, g in order], metric)
        for order in orders
        if all(a[0] >= b[0] for a, b in zip(order, order[1:]))
    ]


def evaluated(scores, held_out, train, **options):
    asked = {"metrics": METRICS, "relevance": "stars", "items": range(N_ITEMS), "train": train}
    return rs.evaluate(scores, held_out, **asked | options)


def test_complete_scores_with_ties():
    tables = made_up(0)
    dense = tables[0].pivot(index="user", columns="item", values="score").to_numpy()
    as_array = evaluated(dense, *tables[1:], items=None)
    found = evaluated(*tables)
    assert found.table.equals(as_array.table)
    for metric, values in found.per_instance.groupby("metric"):
        by_hand = [np.mean(values_by_hand(tables, metric, user)) for user in values["user"]]
        np.testing.assert_allclose(values["value"], by_hand, rtol=1e-12, err_msg=metric)
    segments = np.arange(12) % 3
    in_one = found.per_instance[found.per_instance["user"] % 3 == 1].groupby("metric")["value"]
    by = found.by(segments).loc[1]["value"]
    np.testing.assert_allclose(by[METRICS], in_one.mean()[METRICS], rtol=1e-12)
    assert pickle.loads(pickle.dumps(found)) == found == evaluated(*tables)
    other = tables[1].assign(stars=tables[1]["stars"] * 2)
    assert evaluated(tables[0], other, tables[2]) != found


@pytest.mark.parametrize("seed", [0, *map(thorough, (1, 2))])
def test_what_lists_leave_out_is_between_the_worst_and_the_best_order(seed):
    tables = made_up(seed)
    best = tables[0].sort_values("score", kind="stable").groupby("user").tail(3)
    found = evaluated(best, *tables[1:], unlisted="open").table
    unlisted = (best, *tables[1:])
    for metric in METRICS:
        ends = []
        for user in range(12):
            # Ties among what is listed are averaged, in each order of what is not.
            ends.append(ends_by_hand(unlisted, metric, user))
        low, high = np.mean(ends, axis=0)
        row = found.loc[metric]
        if row["assumption"] == "bound":
            assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-12), metric
        else:
            assert row["value"] == pytest.approx(low) == pytest.approx(high), metric
    assert (found["assumption"] == "bound").any()
    # In a catalogue of unknown size what is not listed may add nothing.
    least = evaluated(best, *tables[1:], items=None, unlisted="open").table.loc["DCG"]
    listed = tables[1].merge(best[["user", "item"]])
    without = [np.mean(values_by_hand((best, listed, tables[2]), "DCG", u)) for u in range(12)]
    assert (
        least["low"] == pytest.approx(np.mean(without)) and least["low"] < found.loc["DCG", "low"]
    )
    below = evaluated(best, *tables[1:], unlisted="below").table["value"]
    by_hand = [np.mean(values_by_hand(unlisted, "NDCG", user)) for user in range(12)]
    assert below["NDCG"] == pytest.approx(np.mean(by_hand), rel=1e-12)


def ends_by_hand(tables, metric, user):
    """The smallest and the largest mean over ties, of all orders of what is not listed."""
    scores, held_out, train = (table[table["user"] == user] for table in tables)
    known = {*scores["item"], *train["item"]}
    rest = [i for i in range(N_ITEMS) if i not in known]
    means = []
    for order in permutations(rest):
        behind = [(user, i, -1.0 - place) for place, i in enumerate(order)]
        more = pd.DataFrame(behind, columns=scores.columns)
        means.append(np.mean(values_by_hand((pd.concat([scores, more]), held_out, train),
                                            metric, user)))  # fmt: skip
    return min(means), max(means)


def test_grades_follow_their_items():
    scores, held_out, train = made_up(0)
    known = held_out.iloc[[0, 1, 2]].assign(user=[-1, -1, 20])
    more = pd.concat([known, held_out, held_out.head(7)]).sample(frac=1, random_state=0)
    new = pd.concat([train, known])[["user", "item"]]
    expected = evaluated(scores, held_out, train)
    assert evaluated(scores, more, new).table.equals(expected.table)
    text = [one.assign(user="u" + one["user"].astype(str)) for one in (scores, more, new)]
    found = evaluated(*text).per_instance
    numbers = {name: int(name[1:]) for name in found["user"].unique()}
    found = found.assign(user=found["user"].map(numbers)).sort_values(["metric", "user"])
    expected = expected.per_instance.sort_values(["metric", "user"])
    np.testing.assert_allclose(found["value"], expected["value"], rtol=1e-12)


def test_what_is_said():
    tables = made_up(0)
    found = evaluated(*tables, metrics=["NDCG@2", "AP", "RR"])
    said = "Gains in NDCG@2 are linear, the grades themselves (1 to 3)."
    assert said in found.footnote
    assert "In AP and RR every grade above 0 counts alike." in found.footnote
    both = {"a": tables[0], "b": tables[0].assign(score=-tables[0]["score"])}
    pair = evaluated(both, *tables[1:]).pairs.loc[("a", "b")]
    one = (evaluated(both[name], *tables[1:]).table["value"] for name in "ab")
    np.testing.assert_allclose(pair["difference"], np.subtract(*one), atol=1e-12)
    alike = tables[1].assign(stars=np.sign(tables[1]["stars"]))
    plain = evaluated(tables[0], alike, tables[2])
    rows = alike[alike["stars"] > 0].drop(columns="stars")
    assert plain.table.equals(evaluated(tables[0], rows, tables[2], relevance=None).table)
    assert "Gains" not in plain.footnote and "alike" not in plain.footnote


def test_one_grade_is_a_gain_of_dcg_and_nothing_to_ndcg():
    scores, held_out, train = made_up(0)
    alike = held_out.assign(stars=np.sign(held_out["stars"]))
    one = evaluated(scores, alike, train).table["value"]
    four = evaluated(scores, alike.assign(stars=4 * alike["stars"]), train).table["value"]
    factor = [4.0 if metric.startswith("DCG") else 1.0 for metric in METRICS]
    np.testing.assert_allclose(four[METRICS], one[METRICS] * factor, rtol=1e-12)


def test_limits_stay_within_what_grades_can_give():
    scores = np.tile(np.arange(30.0), (4, 1))
    held_out = pd.DataFrame({"user": range(4), "item": 29, "stars": [1, 3, 3, 3]})
    held_out = pd.concat([held_out, held_out.assign(item=0, stars=1)])
    asked = ["NDCG@1", "DCG@1", "NDCG"]
    found = rs.evaluate(scores, held_out, relevance="stars", metrics=asked)
    table = found.table
    assert "Limits of DCG@1 take no grade above 3 to be possible." in found.footnote
    assert "Limits of NDCG take no grade above 3 or below 1 to be possible." in found.footnote
    assert "NDCG@1 take" not in found.footnote  # from 0 to 1 for any grades
    plain = rs.evaluate(scores, held_out, relevance=None, metrics=asked)
    assert "to be possible" not in plain.footnote
    assert (table["low"] >= 0).all() and (table["low"] < table["value"]).all()
    assert (table["high"] <= [1, 3, 1]).all() and table.loc["DCG@1", "high"] > 2.5


@pytest.mark.parametrize("metric", [rs.DCG, rs.DCG @ 1, rs.NDCG, rs.NDCG @ 2], ids=str)
def test_ends_hold_for_any_grades_on_any_ranks(metric):
    """Of two of four items with grades from 2 to 5: those of DCG come about."""
    ranks = with_grades(rs.Ranks([[1, 3]] * 2, 4), np.array([2, 1, 2, 1.0]), np.array([2, 5, 3, 2]))
    low, high = ends_with_grades(metric, ranks)
    orders = {
        order for pair in product((2, 3, 5), repeat=2) for order in permutations([*pair, 0, 0])
    }
    values = [of_order(order, str(metric)) for order in orders]
    assert low <= min(values) and max(values) <= high
    if isinstance(metric, type(rs.DCG)):
        assert (low, high) == (min(values), max(values))
    else:
        assert low >= min(values) * 2 / 5 and high == 1


def test_where_items_are_sampled_grades_are_refused():
    scores, held_out, train = made_up(0)
    negatives = pd.DataFrame([(u, i) for u in range(12) for i in range(N_ITEMS)],
                             columns=["user", "item"])  # fmt: skip
    ways = ({"among": rs.UniformSampling(1)}, {"among": negatives, "drawn": "unknown"})
    for way in ways:
        with pytest.raises(ValueError, match="^relevance must leave out grades where NDCG@2 is"):
            evaluated(scores, held_out, train, **way)
        found = evaluated(scores, held_out, train, metrics=["Recall@2"], **way)
        rows = held_out[held_out["stars"] > 0].drop(columns="stars")
        binary = evaluated(scores, rows, train, metrics=["Recall@2"], relevance=None, **way)
        assert found.table.equals(binary.table)
        assert "In Recall@2 every grade above 0 counts alike." in found.footnote


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_trec_eval(gain):
    """Its gain is linear; the exponential one is a column of gains."""
    ir_measures = pytest.importorskip("ir_measures")
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 20))
    rows = [(u, i, int(rng.integers(0, 5))) for u in range(30) for i in rng.choice(20, 6, False)]
    held_out = pd.DataFrame(rows, columns=["user", "item", "stars"])
    held_out = held_out[held_out.groupby("user")["stars"].transform("max") > 0]
    if gain == "exponential":
        held_out["stars"] = 2 ** held_out["stars"] - 1
    qrels = [ir_measures.Qrel(str(u), str(i), int(g)) for u, i, g in held_out.to_numpy()]
    run = [ir_measures.ScoredDoc(str(u), str(i), scores[u, i]) for u, i in np.ndindex(30, 20)]
    for name in ("nDCG@5", "nDCG", "RR", "R@5", "AP"):
        theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(name)], qrels, run)
        asked = [name.replace("R@", "Recall@")]
        ours = rs.evaluate(scores, held_out, relevance="stars", metrics=asked).table["value"]
        assert ours.iloc[0] == pytest.approx(*theirs.values(), rel=1e-9)
