"""Which item outranks which is one function: with another rule in it, every ranking follows.

A rule that compares something else of the scores is as good as other scores. So each function that
ranks, with the rule changed, has to find of some scores what it found before of those that the rule
makes of them.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from frames import FRAMES, pytestmark  # noqa: F401
from scipy import sparse
from test_standings import compiled  # noqa: F401

import recsample as rs
from recsample.ranks import engines, order, thresholds

N_USERS, N_ITEMS = 6, 60
RNG = np.random.default_rng(0)
# Near to one decimal, so that they are rounded to the same one everywhere.
SCORES = RNG.integers(1, 10, (N_USERS, N_ITEMS)) / 10
SCORES += RNG.integers(-2, 3, SCORES.shape) / 100
PLACES = RNG.permuted(np.tile(np.arange(N_ITEMS), (N_USERS, 1)), axis=1)
ONE, SEVERAL, MANY = PLACES.argmin(axis=1), PLACES < 4, PLACES < 30
LISTED = (PLACES < 2) | (PLACES >= 20)  # not two of the relevant ones, nor others
TRAIN = sparse.csr_matrix(PLACES > 55)
LISTS = [np.flatnonzero((row >= 30) & (row < 50)) for row in PLACES]
HELD_OUT = pd.DataFrame({"user": np.arange(N_USERS), "item": ONE})


def factors(scores):
    return np.eye(N_USERS), np.ascontiguousarray(scores.T)


def long(scores, which=PLACES >= 0):
    user, item = np.nonzero(which)
    return pd.DataFrame({"user": user, "item": item, "score": scores[user, item]})


def short(scores):
    return long(scores, LISTED)


def ranked(form, relevant):
    relevant = sparse.csr_matrix(relevant) if relevant.ndim == 2 else relevant
    return lambda scores: rs.predicted_ranks(form(scores), relevant, TRAIN)


def evaluated(form, relevant, **more):
    held_out = long(SCORES, relevant)[["user", "item"]]

    def found(scores):
        metrics = ["AUC", "RR"]
        return rs.evaluate(form(scores), held_out, metrics=metrics, **more).table["value"].tolist()

    return found


class Model:
    def __init__(self, scores):
        self.scores = lambda users: scores[users]


def scanned(relevant):
    def found(scores):
        scan = rs.sampling.Scan(lambda u, i: scores[u, i], relevant, N_ITEMS, block=7)
        scan.advance(50)
        return scan.above.tolist(), scan.first.tolist()

    return found


def by_engine(library):
    make = FRAMES[library]
    return lambda scores: rs.RankCounts.from_frame(
        engines.ranks_of_scores(make(long(scores)), make(HELD_OUT))
    )


def by_blocks(scores):
    users, items = factors(scores)
    table = HELD_OUT.assign(factors=users.tolist())
    return engines.ranks_of_factors(table, items).to_numpy().tolist()


def as_they_are(scores):
    return scores


RANKINGS = {
    f"{name}, {how}": ranked(form, relevant)
    for name, form in {"an array": as_they_are, "factors": factors}.items()
    for how, relevant in {"one": ONE, "several": SEVERAL, "many": MANY}.items()
}
RANKINGS |= {
    "a table": evaluated(long, PLACES == 0),
    "a table, several": evaluated(long, SEVERAL),
    "a short table": evaluated(short, PLACES == 0, unlisted="below"),
    "a short table, several": evaluated(short, SEVERAL, unlisted="below"),
    "an array that is evaluated": evaluated(as_they_are, SEVERAL),
    "factors that are evaluated": evaluated(factors, SEVERAL),
    "a model that is evaluated": evaluated(Model, SEVERAL),
    "listed items that are evaluated": evaluated(
        long, PLACES == 0, among=long(SCORES, (PLACES >= 30) & (PLACES < 50)), drawn="uniform"
    ),
    "given lists": lambda scores: rs.given_ranks(scores, ONE, LISTS),
    "given lists, several": lambda scores: rs.given_ranks(
        scores, sparse.csr_matrix(SEVERAL), LISTS
    ),
    "given lists under factors": lambda scores: rs.given_ranks(factors(scores), ONE, LISTS),
    "a scan": scanned(ONE),
    "a scan, several": scanned(sparse.csr_matrix(SEVERAL)),
    "factors by blocks": by_blocks,
}
RULES = {
    "equal to one decimal": lambda scores: scores.round(1),
    "lower is better": lambda scores: -scores,
}


@cache
def usual(name):
    return RANKINGS[name](SCORES)


def follows(monkeypatch, name, rule):
    wanted = RANKINGS[name](RULES[rule](SCORES))
    assert usual(name) != wanted
    with monkeypatch.context() as patch:
        patch.setattr(order, "strength", RULES[rule])
        assert RANKINGS[name](SCORES) == wanted


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", RANKINGS)
def test_every_ranking_follows_the_rule(monkeypatch, name, rule):
    follows(monkeypatch, name, rule)


@pytest.mark.parametrize(
    "library",
    [pytest.param(one, marks=[pytest.mark.thorough] if one == "dask" else []) for one in FRAMES],
)
def test_every_engine_follows_the_rule(monkeypatch, library):
    monkeypatch.setitem(RANKINGS, library, by_engine(library))
    follows(monkeypatch, library, "equal to one decimal")


@pytest.mark.parametrize("rule", RULES)
def test_compiled_code_follows_the_rule(monkeypatch, compiled, rule):  # noqa: F811
    follows(monkeypatch, "an array, several", rule)


@pytest.mark.parametrize("rule", RULES)
def test_rows_that_are_sorted_follow_the_rule(monkeypatch, rule):
    monkeypatch.setattr(thresholds, "_MANY", 1)
    follows(monkeypatch, "an array, many", rule)


def test_the_expression_of_an_engine_is_that_of_arrays():
    nw = pytest.importorskip("narwhals.stable.v2")
    values = np.array([0.3, -1.25, 0.0, -np.inf, np.inf, 1e300, 5e-324])
    frame = nw.from_native(pd.DataFrame({"score": values}))
    found = frame.select(order.strength(nw.col("score")))["score"].to_numpy()
    np.testing.assert_array_equal(found, order.strength(values))


def test_a_rule_that_rounds_is_not_misled_by_a_rounded_product(monkeypatch):
    # In single precision the second score is .55, in truth a little less, and both are .5.
    scores = np.ones((1, 2), np.float32), np.array([[0.52, 0], [0.55, -2e-8]], np.float32)
    assert rs.predicted_ranks(scores, [0]).values.tolist() == [2]
    monkeypatch.setattr(order, "strength", RULES["equal to one decimal"])
    ranks = rs.predicted_ranks(scores, [0])
    assert ranks.values.tolist() == [1] and ranks.ties.tolist() == [1]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.uint64, np.int8, float])
def test_a_scan_puts_the_best_first_whatever_kind_of_numbers_scores_are(kind):
    scores, relevant = np.array([[0, 1, 0, 0, 1]], kind), sparse.csr_matrix([[1, 1, 0, 0, 0]])
    scan = rs.sampling.Scan(lambda u, i: scores[u, i], relevant, 5)
    scan.advance(5)
    above, tied = rs.predicted_ranks(scores, relevant).rows.above, [1, 2]
    assert (above <= scan.above).all() and (scan.above <= above + tied).all()
