"""Metrics of the field that are not here: what is named in their place, followed word by word."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import recsample as rs
from recsample.metrics import base, names

RNG = np.random.default_rng(0)
N_USERS, N_ITEMS, K = 30, 700, 10
SCORES = RNG.normal(size=(N_USERS, N_ITEMS))
ONE = RNG.integers(0, N_ITEMS, N_USERS)
MANY = [RNG.choice(N_ITEMS, RNG.integers(1, 25), replace=False) for _ in range(N_USERS)]
SCORES[range(N_USERS), ONE] += 2
for row, found in zip(SCORES, MANY):
    row[found] += 1
HELD_OUT = pd.DataFrame([(user, item) for user, found in enumerate(MANY) for item in found])
HELD_OUT.columns = ["user", "item"]
MATRIX = sparse.csr_matrix((np.ones(len(HELD_OUT)), (HELD_OUT["user"], HELD_OUT["item"])))
MATRIX.resize(SCORES.shape)
RECOMMENDED = [np.argsort(-row)[:K].tolist() for row in SCORES]
PREDICTED, ACTUAL = RNG.normal(size=50), RNG.normal(size=50)


def place(user, item):
    return 1 + sum(score > SCORES[user][item] for score in SCORES[user])


PLACES = [place(user, item) for user, item in enumerate(ONE)]
ALL_PLACES = [sorted(place(user, item) for item in found) for user, found in enumerate(MANY)]


def average_precision(places):
    return np.mean([n / r for n, r in enumerate(places, 1)])


def top(places):
    return sum(r <= K for r in places)


def of_lists(metric):
    return np.mean([metric(places) for places in ALL_PLACES])


def better(places):
    """The share of pairs of a relevant and another item in which the other one is ahead."""
    relevant, n = {*places}, N_ITEMS
    pairs = [other < r for r in places for other in range(1, n + 1) if other not in relevant]
    return np.mean(pairs)


# By a name: the words that must be told, and what they have to come to, by a slow loop.
ONE_EACH = {
    "MR": ("1 + (n - 1) * PercentileRank", np.mean(PLACES)),
    "median_rank": ("numpy.median(ranks.values)", sorted(PLACES)[14:16]),
    "AMRI": ("2 * AUC - 1", 1 - (np.mean(PLACES) - 1) / ((N_ITEMS + 1) / 2 - 1)),
    "adjusted_mean_rank": (
        "2 * (1 + (n - 1) * PercentileRank) / (n + 1)",
        np.mean(PLACES) / ((N_ITEMS + 1) / 2),
    ),
    "IHMR": ("RR", np.mean([1 / r for r in PLACES])),
    "harmonic mean rank": ("1 / RR", len(PLACES) / sum(1 / r for r in PLACES)),
    "EPR": (
        "rs.metrics.expected_percentile_rank(ranks)",
        np.mean([(r - 1) / (N_ITEMS - 1) for r in PLACES]),
    ),
    "uAUC": ("AUC", np.mean([1 - (r - 1) / (N_ITEMS - 1) for r in PLACES])),
    "mean percentile rank": ("PercentileRank", np.mean([(r - 1) / (N_ITEMS - 1) for r in PLACES])),
}
SEVERAL_EACH = {
    "ranking_loss": ("PercentileRank", of_lists(better)),
    "AUPRC": ("AP", of_lists(average_precision)),
    "label_ranking_average_precision_score": ("AP", of_lists(average_precision)),
    "gm_map": (
        "numpy.exp(numpy.mean(numpy.log(numpy.maximum(AP, 1e-5))))",
        np.prod([average_precision(places) ** (1 / N_USERS) for places in ALL_PLACES]),
    ),
    "R_cap@10": (
        "Recall * L / numpy.minimum(L, k)",
        of_lists(lambda places: top(places) / min(K, len(places))),
    ),
    "RetrievalFallOut@10": (
        "k / (n - L) * (1 - Precision)",
        of_lists(lambda places: (K - top(places)) / (N_ITEMS - len(places))),
    ),
    "coverage_error": ("numpy.mean([r.max() for r in ranks.values])", of_lists(max)),
    "clicks": (
        "numpy.mean([(r.min() - 1) // 10 if r.min() <= 500 else 51 for r in ranks.values])",
        of_lists(lambda places: next((n // 10 for n in range(500) if n + 1 in places), 51)),
    ),
    "rmse": (
        "rs.metrics.ratings.rmse(predicted, actual)",
        np.mean([(a - b) ** 2 for a, b in zip(PREDICTED, ACTUAL)]) ** 0.5,
    ),
    "MAE": (
        "rs.metrics.ratings.mae(predicted, actual)",
        np.mean([abs(a - b) for a, b in zip(PREDICTED, ACTUAL)]),
    ),
    "mse": (
        "rs.metrics.ratings.mse(predicted, actual)",
        np.mean([(a - b) ** 2 for a, b in zip(PREDICTED, ACTUAL)]),
    ),
    "catalog_coverage@10": (
        "rs.metrics.sets.item_coverage(recommended, n_items)",
        len({item for found in RECOMMENDED for item in found}) / N_ITEMS,
    ),
    "user coverage": ("rs.metrics.sets.user_coverage(recommended)", 1.0),
}
# What the words do not say in code, and tests of their own follow.
BY_ITSELF = ["GAUC", "ARHR@10", "nDCG(dcg='exp-log2')@10", "psnDCG@10"]
NOT_HERE = ["ERR@20", "LAUC", "bpref", "NCRR@10", "PSP@5", "alpha-nDCG@10", "Gini"]


def told(name):
    with pytest.raises(ValueError, match="got") as error:
        rs.metric(name)
    return error.value.remedy


def known(ranks):
    """What the words may use; values of a metric are those of each user."""
    n_relevant = np.array(ranks.n_relevant)
    given = {"n": N_ITEMS, "k": K, "L": n_relevant, "ranks": ranks, "numpy": np, "rs": rs}
    given |= {"AUC": rs.AUC(ranks), "PercentileRank": rs.PercentileRank(ranks)}
    given |= {"AP": rs.AP(ranks), "RR": rs.RR(ranks).mean()}
    given |= {"Recall": (rs.Recall @ K)(ranks), "Precision": (rs.Precision @ K)(ranks)}
    given |= {"predicted": PREDICTED, "actual": ACTUAL}
    return given | {"recommended": RECOMMENDED, "n_items": N_ITEMS}


@pytest.mark.parametrize("name", [*ONE_EACH, *SEVERAL_EACH])
def test_what_is_named_gives_the_number(name):
    expected = {**ONE_EACH, **SEVERAL_EACH}[name]
    words, value = expected
    relevant = ONE if name in ONE_EACH else MATRIX
    remedy = told(name)
    assert re.match(rf"take (the mean of )?{re.escape(words)}(,| of |$)", remedy), remedy
    found = np.mean(eval(words, known(rs.predicted_ranks(SCORES, relevant))))
    assert found == pytest.approx(np.mean(value), rel=1e-9)


def test_every_row_is_tried():
    tried = [*ONE_EACH, *SEVERAL_EACH, *BY_ITSELF, *NOT_HERE]
    assert {told(name) for name in tried} == {*names._others().values()}


@pytest.mark.parametrize("name", NOT_HERE)
def test_what_is_not_here_is_said_to_be_so(name):
    assert re.match(r"not here: \w", told(name)), told(name)


def test_no_name_of_the_table_is_that_of_a_metric():
    assert not {*names._others()} & {*base.REGISTERED}


def test_every_name_of_the_table_is_read():
    for name, text in names._others().items():
        assert told(name) == text, name


def test_weighted_auc():
    clicks = np.arange(1, N_USERS + 1)
    result = rs.evaluate(SCORES, HELD_OUT, metrics=["AUC"])
    values, average = re.search(r"values = (.*?), and (.*)$", told("GAUC")).groups()
    values = eval(values, {"result": result})
    found = eval(average, {"values": values, "clicks": clicks, "numpy": np})
    by_hand = sum(c * (1 - better(places)) for c, places in zip(clicks, ALL_PLACES))
    assert found == pytest.approx(by_hand / clicks.sum())


def test_hits_by_their_reciprocal_ranks():
    assert told("ARHR@10").startswith("take RR with the same cut-off, for one held-out item")
    by_hand = sum(1 / r for r in PLACES if r <= 10) / N_USERS
    ranks = rs.predicted_ranks(SCORES, ONE)
    assert (rs.RR @ 10)(ranks).mean() == pytest.approx(by_hand)


def with_gains(gains):
    """NDCG@10 of the package and of a loop, where held-out items have gains."""
    graded = HELD_OUT.assign(gain=gains)
    result = rs.evaluate(SCORES, graded, relevance="gain", metrics=["NDCG@10"])
    by_hand = []
    for user, rows in graded.groupby("user"):
        gain = dict(zip(rows["item"], rows["gain"]))
        best = sorted(gain.values(), reverse=True)[:10]
        ideal = sum(one / np.log2(r + 2) for r, one in enumerate(best))
        found = [gain.get(item, 0) for item in RECOMMENDED[user]]
        by_hand.append(sum(one / np.log2(r + 2) for r, one in enumerate(found)) / ideal)
    return result.table.loc["NDCG@10", "value"], np.mean(by_hand)


@pytest.mark.parametrize(
    ("name", "column"),
    [("nDCG(dcg='exp-log2')@10", "2 ** grade - 1"), ("psnDCG@10", "1 / propensity")],
)
def test_gains_are_a_column(name, column):
    assert f"take NDCG with relevance= a column of {column}" in told(name)
    rng = np.random.default_rng(1)
    given = {"grade": rng.integers(1, 5, len(HELD_OUT)), "propensity": rng.random(len(HELD_OUT))}
    ours, by_hand = with_gains(eval(column, given) * 1.0)
    assert ours == pytest.approx(by_hand)


def test_a_metric_of_ones_own_is_found_before_the_table(monkeypatch):
    monkeypatch.setattr(base, "REGISTERED", dict(base.REGISTERED))
    monkeypatch.setattr(names, "REGISTERED", base.REGISTERED)
    type("Own", (rs.metrics.Metric,), {"name": "ERR", "term": lambda self, rank, *_: 1 / rank})
    assert str(rs.metric("err")) == "ERR"
