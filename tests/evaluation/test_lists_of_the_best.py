"""Metrics that look beyond a list of the best are bounds."""

import itertools
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

import recsample as rs

METRICS = ["Recall@2", "Recall@4", "NDCG", "AP", "AUC", "RR", "RBP(0.8)", "AP(hits)@4"]
N_ITEMS = 7
# The best of seven items for three users, and what turned out to be relevant.
LISTS = {"u": [0, 1, 2], "v": [3, 4], "w": [5, 6, 0, 1]}
HELD_OUT = {"u": [1, 5, 6], "v": [4], "w": [2]}


def table(lists):
    rows = [(user, i, -place) for user, items in lists.items() for place, i in enumerate(items)]
    return pd.DataFrame(rows, columns=["user", "item", "score"])


def pairs(sets):
    rows = [(user, i) for user, items in sets.items() for i in items]
    return pd.DataFrame(rows, columns=["user", "item"])


def completions(user, n_items):
    """Every order of all items that begins as the list does."""
    others = [i for i in range(n_items) if i not in LISTS[user]]
    for rest in itertools.permutations(others):
        yield [*LISTS[user], *rest]


def ends(metric, n_items):
    """The smallest and the largest value of each user, over all orders of what is not listed."""
    found = {}
    for user, relevant in HELD_OUT.items():
        ranks = {
            tuple(1 + order.index(i) for i in relevant) for order in completions(user, n_items)
        }
        values = [rs.metric(metric)(rs.Ranks([list(one)], n_items)).item() for one in ranks]
        found[user] = min(values), max(values)
    return np.transpose(list(found.values()))


@cache
def in_catalogue_of(n_items):
    return evaluated(items=range(n_items))


def evaluated(**options):
    return rs.evaluate(table(LISTS), pairs(HELD_OUT), metrics=METRICS, **options)


@pytest.mark.parametrize("metric", METRICS)
def test_bounds_are_the_ends_over_all_orders_of_what_is_not_listed(metric):
    row = in_catalogue_of(N_ITEMS).table.loc[metric]
    low, high = ends(metric, N_ITEMS)
    if (low == high).all():
        assert row["assumption"] == "" and row["value"] == pytest.approx(low.mean())
        assert row["low"] < row["value"] < row["high"]  # limits of confidence
    else:
        assert row["assumption"] == "bound" and np.isnan(row["value"])
        assert (row["low"], row["high"]) == pytest.approx((low.mean(), high.mean()), abs=1e-12)


def test_within_the_lists_nothing_changes():
    whole = table({user: next(completions(user, N_ITEMS)) for user in LISTS})
    exact = rs.evaluate(whole, pairs(HELD_OUT), metrics=["Recall@2"], items=range(N_ITEMS))
    found = evaluated(items=range(N_ITEMS))
    assert found.table.loc["Recall@2", ["value", "low", "high"]].tolist() == pytest.approx(
        exact.table.loc["Recall@2"].tolist()
    )
    each = found.per_instance.pivot(index="user", columns="metric", values="value")
    assert each.loc["v"].notna().all() and np.isnan(each.loc["u", "AP"])


@pytest.mark.parametrize("metric", ["NDCG", "AP", "AUC", "RR", "RBP(0.8)"])
def test_a_catalogue_that_nobody_states_may_be_of_any_size(metric):
    row = evaluated().table.loc[metric]
    known = in_catalogue_of(N_ITEMS).table.loc[metric]
    larger = in_catalogue_of(10**5).table.loc[metric]
    assert row["low"] <= min(known["low"], larger["low"])
    assert row["high"] >= max(known["high"], larger["high"])
    if metric == "AP":  # as trec_eval has it: what is not retrieved adds nothing
        assert row["low"] == pytest.approx(np.mean([(1 / 2) / 3, 1 / 2, 0]))
    if metric == "AUC":
        assert row["high"] == 1


def test_what_is_not_listed_may_be_known_to_be_below():
    found = evaluated(items=range(N_ITEMS), complete=True).table
    assert list(found.columns) == ["value", "low", "high"] and found["value"].notna().all()
    # The mean over all orders of what is not listed.
    means = []
    for user, relevant in HELD_OUT.items():
        ranks = [[1 + o.index(i) for i in relevant] for o in completions(user, N_ITEMS)]
        means.append(rs.AP(rs.Ranks(ranks, N_ITEMS)).mean())
    assert found.loc["AP", "value"] == pytest.approx(np.mean(means))


def test_nothing_is_drawn_from_what_has_no_order():
    plain = evaluated(items=range(N_ITEMS))
    for sampler in (rs.UniformSampling(2), rs.InverseSampling()):
        found = evaluated(items=range(N_ITEMS), sampler=sampler)
        pd.testing.assert_frame_equal(found.table, plain.table)
        assert any("nothing was drawn" in note for note in found.notes)


def test_negatives_that_lists_leave_out():
    scored = pairs({"u": [0, 2], "v": [3], "w": [5, 6]})
    stated = {"items": range(N_ITEMS), "drawn": "unknown"}
    within = rs.evaluate(
        table(LISTS), pairs({"u": [1], "v": [4], "w": [0]}), negatives=scored, **stated
    )
    assert within.table["sampled"].notna().all()
    others = pairs({"u": [0, 3], "v": [3, 1], "w": [5, 3]})
    found = evaluated(negatives=others, **stated)
    pd.testing.assert_frame_equal(found.table, evaluated(items=range(N_ITEMS)).table)
    assert any("negatives were left aside" in note for note in found.notes)


def test_pairs_segments_and_what_is_written_down():
    models = {"short": table(LISTS), "whole": table({u: [*range(N_ITEMS)] for u in LISTS})}
    found = rs.evaluate(models, pairs(HELD_OUT), metrics=METRICS, items=range(N_ITEMS))
    pair = found.pairs.loc[("short", "whole", "AP")]
    low, high = ends("AP", N_ITEMS)
    whole = found.table.loc[("whole", "AP"), "value"]
    assert (pair["low"], pair["high"]) == pytest.approx((low.mean() - whole, high.mean() - whole))
    assert np.isnan(pair["difference"]) and np.isnan(pair["probability"])
    assert pair["assumption"] == "bound"
    assert found.pairs.loc[("short", "whole", "Recall@2"), "assumption"] == ""
    said = dict(zip(found.table.index, found.sentences))["short", "AP"]
    assert "AP is between" in said and "3 of 5 held-out items are not in the lists" in said
    assert "between" in str(found) and "between" in found.to_markdown()
    assert '"value": null' in found.to_json()
    part = found.by(dict.fromkeys("uvw", 0))
    assert part.loc[(0, "short", "AP"), "low"] == pytest.approx(low.mean())
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    found.plot()
