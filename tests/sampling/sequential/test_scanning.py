"""Designs in a scan of real scores, against the explicit order of the items; and that order."""

from math import factorial

import numpy as np
import pytest
from enumeration import in_scan, order_of, position
from scipy import sparse
from thorough import thorough

import recsample as rs
from recsample import AP, NDCG, EarlyStopping, InverseSampling, Ranks, Recall
from recsample.sampling.sequential.scanning import Scan, item_at


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(6)
    n_users, n_items = 60, 83
    table = rng.normal(size=(n_users, n_items))
    relevant = rng.integers(n_items, size=n_users)
    table[np.arange(n_users), relevant] += rng.choice([0, 2, 9], n_users)
    exclude = rng.random((n_users, n_items)) < 0.2
    exclude[np.arange(n_users), relevant] = False
    exclude[7] = np.arange(n_items) != relevant[7]  # nothing to compare with
    excluded = [set(np.flatnonzero(row).tolist()) for row in exclude]
    return table, relevant, sparse.csr_matrix(exclude), excluded


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_scan_is_the_same_as_ranking_in_the_explicit_order(study, block):
    table, relevant, exclude, excluded = study

    def scan():
        return Scan(lambda u, i: table[u, i], relevant, 83, exclude=exclude, seed=8, block=block)

    above = [in_scan(table[u], u, i, excluded[u] | {i}, 8) for u, i in enumerate(relevant)]
    pool = np.array([len(order) for order in above])
    assert scan().n_irrelevant.tolist() == pool.tolist()
    found = InverseSampling().scan(scan())
    assert found["position"].tolist() == [position(order) for order in above]
    assert found.n_items.tolist() == (pool + 1).tolist()
    capped = InverseSampling(5).scan(scan())
    assert capped["position"].tolist() == [min(position(order), 6) for order in above]
    stopped, design = scan(), EarlyStopping(4)
    known = design.scan(stopped)
    assert known["rank"].tolist() == [min(sum(order), 4) + 1 for order in above]
    ends = [min(position(order, 4), len(order)) for order in above]
    assert stopped.scored.tolist() == ends
    exact = rs.predicted_ranks(table, relevant, exclude)
    for metric in (Recall @ 4, NDCG @ 4):
        assert design.of(metric, known).tolist() == metric(exact).tolist()
    assert design.draw(exact, 0) == known


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_scan_with_several_relevant_items(study, block):
    table, relevant, exclude, excluded = study
    n_users, n = table.shape
    kept = (np.random.default_rng(11).random(table.shape) < 0.04) & (exclude.toarray() == 0)
    kept[np.arange(n_users), relevant] = True
    matrix = sparse.csr_matrix(kept)

    def scan():
        return Scan(lambda u, i: table[u, i], matrix, n, exclude=exclude, seed=8, block=block)

    above, pool = [], scan().n_irrelevant
    for u in range(n_users):
        items = sorted(np.flatnonzero(kept[u]).tolist(), key=lambda i: -table[u, i])
        skipped = excluded[u] | set(items)
        above.append([in_scan(table[u], u, i, skipped, 8) for i in items])
        assert pool[u] == len(above[u][0])
    assert max(map(len, above)) > 4
    exact = rs.predicted_ranks(table, matrix, exclude)
    for cap in (None, 6):
        used = scan()
        found = InverseSampling(cap).scan(used)
        last = [len(each[0]) if cap is None else min(len(each[0]), cap) for each in above]
        expected = [[min(position(o), end + 1) for o in each] for each, end in zip(above, last)]
        assert found["position"].tolist() == sum(expected, [])
        assert found.n_relevant.tolist() == list(map(len, expected))
        assert used.scored.tolist() == [min(each[0], end) for each, end in zip(expected, last)]
    design = EarlyStopping(4)
    ranks = design.scan(used)  # goes on where the other has stopped
    full = [[min(sum(o), 4) + i for i, o in enumerate(each, 1)] for each in above]
    assert used.scored.tolist() == [min(position(each[0], 4), len(each[0])) for each in above]
    for known in (ranks, design.draw(exact, 0)):
        assert known["rank"].tolist() == sum(full, [])
        for metric in (Recall @ 4, NDCG @ 4, AP @ 4):
            assert design.of(metric, known) == pytest.approx(metric(exact))


def test_scan_that_has_been_advanced(study):
    table, relevant, *_ = study

    def scan():
        return Scan(lambda u, i: table[u, i], relevant, 83)

    used = scan()
    EarlyStopping(10).scan(used)
    for sampler in (InverseSampling(), InverseSampling(5)):
        assert sampler.scan(used) == sampler.scan(scan())


def test_ties_in_a_scan_are_broken_at_random():
    """All scores equal: the rank is uniform, and independent of the order of the items."""
    n_users, n = 20_000, 6
    scan = Scan(lambda u, i: np.zeros(np.broadcast_shapes(u.shape, i.shape)), [2] * n_users, n)
    expected = AP(Ranks([1], n, ties=[5]))[0]
    found = InverseSampling().of(AP, InverseSampling().scan(scan))
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(n_users)
    ranks = EarlyStopping(n - 1).scan(scan)["rank"]
    counts = np.bincount(ranks, minlength=n + 1)[1:]
    assert (np.abs(counts - n_users / n) < 5 * np.sqrt(n_users / n)).all()


def test_several_relevant_items_tied_in_a_scan():
    """Two relevant among six items, all with one score."""
    n_users, n = 20_000, 6
    relevant = sparse.csr_matrix(np.tile([True, False, True, False, False, False], (n_users, 1)))
    scan = Scan(lambda u, i: np.ones(np.broadcast_shapes(u.shape, i.shape)), relevant, n)
    found = InverseSampling().of(AP, InverseSampling().scan(scan))
    expected = AP(Ranks([[1, 2]], n, ties=[[4, 4]]))[0]
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(n_users)
    exact = AP(Ranks(EarlyStopping(n).scan(scan)["rank"].reshape(-1, 2), n))
    assert abs(exact.mean() - expected) < 4 * exact.std() / np.sqrt(n_users)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 97, 1000])
def test_every_item_has_one_place(n):
    users = np.arange(20)[:, None]
    order = item_at(np.arange(n), users, n, seed=4)
    assert (np.sort(order, axis=1) == np.arange(n)).all()


@pytest.mark.parametrize(("n", "each"), [(2, 600), (3, 600), (4, 600), (5, 600), thorough(7, 40)])
def test_all_orders_are_as_likely(n, each):
    """At n = 7 the network alone would favour one parity: its tables have 9 places."""
    order = item_at(np.arange(n), np.arange(each * factorial(n))[:, None], n, seed=5)
    _, counts = np.unique(order @ (n ** np.arange(n)), return_counts=True)
    assert len(counts) == factorial(n)
    chi2 = ((counts - each) ** 2 / each).sum()
    assert abs(chi2 - len(counts)) < 5 * np.sqrt(2 * len(counts))


def test_items_are_spread_evenly_over_the_places():
    n, users = 300, 30_000
    for place in (0, 1, 299):
        counts = np.bincount(item_at(place, np.arange(users), n, seed=6), minlength=n)
        chi2 = ((counts - users / n) ** 2 / (users / n)).sum()
        assert abs(chi2 - n) < 5 * np.sqrt(2 * n)
    # Neighbours in the order are not neighbours in the catalogue.
    pair = item_at(np.arange(2), np.arange(users)[:, None], n, seed=6)
    gap = (pair[:, 1] - pair[:, 0]) % n
    counts = np.bincount(gap, minlength=n)[1:]
    chi2 = ((counts - users / (n - 1)) ** 2 / (users / (n - 1))).sum()
    assert abs(chi2 - n) < 5 * np.sqrt(2 * n)
    assert order_of(0, n, seed=6) != order_of(0, n, seed=7)


ITEMS = [0, 1]


def scores(users, items):
    return np.zeros(items.shape)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Scan(None, ITEMS, 5), "score must be a function of users and items, got None"),
        (lambda: Scan(scores, [0, 5], 5), "items from 0 to 4, got item 5 for user 1"),
        (lambda: Scan(scores, [[0]], 5), r"one item for each of the 1 users, .* shape \(1, 1\)"),
        (lambda: Scan(scores, [], 5), "at least one item for each user, got no user"),
        (lambda: Scan(scores, 3, 5), r"one item for each of the 0 users, .* shape \(\)"),
        (
            lambda: Scan(scores, sparse.csr_matrix([[0, 1], [0, 0]]), 2),
            "relevant must hold at least one item for each user, got none for user 1",
        ),
        (
            lambda: Scan(scores, ITEMS, 5, exclude=sparse.csr_matrix(np.eye(2, 5))),
            "relevant and exclude must not share an item, got item 0 for user 0",
        ),
        (
            lambda: Scan(lambda u, i: [1.0], ITEMS, 5),
            r"scores must have the shape of items, \(2, 1",
        ),
        (lambda: Scan(lambda u, i: scores(u, i) * np.nan, ITEMS, 5), "NaN for user 0, item 0"),
        (lambda: item_at(5, 0, 5), "place must be below n_items=5, got 5"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
