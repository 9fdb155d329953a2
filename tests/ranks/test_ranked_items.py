"""Which items outrank the relevant one, against the scores one by one."""

import numpy as np
import pytest
from scipy import sparse
from weighted import STUDY

import recsample as rs
from recsample import PopularitySampling, RankedItems


def test_ranked_items_are_those_of_the_scores():
    scores, relevant, exclude, _ = STUDY
    items = rs.ranked_items(scores, relevant, sparse.csr_matrix(exclude))
    assert len(items) == 12 and repr(items) == "<RankedItems: 12 instances, 200 items>"
    for u in range(12):
        mine = scores[u, relevant[u]]
        candidates = ~exclude[u] & (np.arange(200) != relevant[u])
        np.testing.assert_array_equal(items.above[u].toarray()[0], candidates & (scores[u] > mine))
        np.testing.assert_array_equal(items.tied[u].toarray()[0], candidates & (scores[u] == mine))
        np.testing.assert_array_equal(items.excluded[u].toarray()[0], ~candidates)
    expected = rs.predicted_ranks(scores, relevant, sparse.csr_matrix(exclude))
    np.testing.assert_array_equal(items.values, expected.values)
    np.testing.assert_array_equal(items.ties, expected.ties)
    np.testing.assert_array_equal(items.n_items, expected.n_items)


SMALL_BLOCKS = ["_support.arrays.BLOCK", "sampling.popularity.BLOCK"]


def test_ranked_items_of_factors_and_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    users, factors = rng.normal(size=(12, 3)), rng.normal(size=(40, 3))
    relevant = rng.integers(40, size=12)
    whole = rs.ranked_items(users @ factors.T, relevant)
    for block in (*SMALL_BLOCKS, "ranks.standings.TILE"):
        monkeypatch.setattr(f"recsample.{block}", 100)
    parts = rs.ranked_items((users, factors), relevant)
    assert (whole.above != parts.above).nnz == 0
    weights = rng.random(40)
    for replace in (False, True):
        sampler = PopularitySampling(4, weights, replace)
        blocks = sampler.pmf(whole)
        drawn = sampler.draw_items(whole, 1)
        with monkeypatch.context() as in_one:
            for block in SMALL_BLOCKS:
                in_one.setattr(f"recsample.{block}", 2**22)
            np.testing.assert_allclose(sampler.pmf(whole), blocks, atol=1e-13)
            np.testing.assert_array_equal(sampler.draw_items(whole, 1), drawn)


def test_items_of_many_ties_under_scores_and_factors(monkeypatch):
    """Factors with few different values, whose scores tie exactly, some of them all 0."""
    rng = np.random.default_rng(2)
    users, factors = rng.integers(0, 3, (60, 3)) * 1.0, rng.integers(0, 2, (90, 3)) * 1.0
    users[::7] = 0.0
    left_out = sparse.random(60, 90, 0.1, format="csr", random_state=3) > 0
    allowed = left_out.toarray() + np.zeros((60, 90))
    relevant = np.array([rng.choice(np.flatnonzero(row == 0)) for row in allowed])
    scores = users @ factors.T
    own = scores[np.arange(60), relevant][:, None]
    candidates = (allowed == 0) & (np.arange(90) != relevant[:, None])
    for given in (scores, (users, factors)):
        for tile in (2**19, 100):
            monkeypatch.setattr("recsample.ranks.standings.TILE", tile)
            items = rs.ranked_items(given, relevant, left_out)
            np.testing.assert_array_equal(items.above.toarray(), candidates & (scores > own))
            np.testing.assert_array_equal(items.tied.toarray(), candidates & (scores == own))
            np.testing.assert_array_equal(items.excluded.toarray(), ~candidates)
            part = items[np.arange(5, 50, 3)]
            assert part == rs.ranked_items(scores[5:50:3], relevant[5:50:3], left_out[5:50:3])
    assert items.ties.max() > 60


def test_sets_cannot_be_written_to():
    given = sparse.csr_matrix([[1, 0, 0]])
    items = RankedItems(given, [2])
    with pytest.raises(ValueError, match="read-only"):
        items.above.data[0] = False
    given.data[0] = 0  # what was given stays the caller's
    assert items.above[0, 0]


def test_memory_is_asked_for_before_the_items_are_found(monkeypatch):
    monkeypatch.setattr("recsample._support.checks.available", lambda: 2_000_000)
    scores = np.tile(np.arange(1000.0), (1500, 1))
    assert len(rs.ranked_items(scores[:100], [999] * 100)) == 100
    with pytest.raises(
        ValueError, match="with the 1498500 items that outrank .* some of the users"
    ):
        rs.ranked_items(scores, [0] * 1500)


def above(*rows):
    return sparse.csr_matrix(np.array(rows))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RankedItems([[1, 0]], [1]), "above must be a sparse matrix .* got list"),
        (
            lambda: RankedItems(above([1, 0]), [1, 0]),
            "relevant must hold one item for each of the 1",
        ),
        (lambda: RankedItems(above([1, 0]), [2]), "items from 0 to 1, got item 2 for user 0"),
        (
            lambda: RankedItems(above([1, 0], [1, 0]), [1, 0]),
            "must not share an item, got item 0 twice in instance 1",
        ),
        (
            lambda: RankedItems(above([1, 0, 0]), [1], above([1, 0, 0])),
            "must not share an item, got item 0 twice in instance 0",
        ),
        (
            lambda: RankedItems(above([1, 0, 0]), [2], tied=above([1, 1, 0])),
            "must not share an item, got item 0 twice in instance 0",
        ),
        (
            lambda: RankedItems(above([0, 0, 0]), [2], above([0, 0, 1])),
            "must not share an item, got item 2 twice in instance 0",
        ),
        (
            lambda: RankedItems(above([1, 0]), [1], above([1, 0, 1])),
            r"exclude must be a sparse matrix of shape \(1, 2\)",
        ),
        (
            lambda: RankedItems(above([1, 0]), above([0, 1])),
            "one item for each user, got a sparse matrix: .* a row of its own, .* in exclude",
        ),
        (
            lambda: rs.ranked_items(np.eye(2), sparse.eye(2, format="csr")),
            "one item for each user, got a sparse matrix: .* a row of its own, .* in exclude",
        ),
        (lambda: rs.ranked_items([[1.0, np.nan]], [0]), "scores must not be NaN"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
