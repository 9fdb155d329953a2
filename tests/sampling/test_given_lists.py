"""Ranks among given lists, against counting; and the lists that are drawn, against their laws."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import recsample as rs
from recsample.datasets.movielens import load_negatives
from recsample.ranks.predicted import predicted_ranks
from recsample.sampling import given_lists


def nothing(n_users, n_items):
    return sparse.csr_matrix((n_users, n_items), dtype=bool)


def same(ranks, other):
    """Whether two Ranks with one relevant item per instance say the same."""
    pairs = ((x, y) for x, y in zip(parts(ranks), parts(other)))
    return len(ranks) == len(other) and all(np.array_equal(x, y) for x, y in pairs)


def parts(ranks):
    return [np.broadcast_to(x, len(ranks)) for x in (ranks.values, ranks.ties, ranks.n_items)]


# Given ranks


def counted(scores, relevant, lists):
    """Ranks, ties and pool sizes by counting, relevant items in the order of their ranks."""
    values, ties, sizes = [], [], []
    for row, mine, listed in zip(scores, relevant, lists):
        ranked = sorted(mine, key=lambda i: -row[i])
        values.append([])
        ties.append([])
        for place, item in enumerate(ranked):
            values[-1].append(1 + place + sum(row[j] > row[item] for j in listed))
            ties[-1].append(sum(row[j] == row[item] for j in listed))
        sizes.append(len(mine) + len(listed))
    return values, ties, sizes


def random_case(seed, most_relevant):
    rng = np.random.default_rng(seed)
    n_users, n_items = 7, 15
    scores = rng.integers(6, size=(n_users, n_items)).astype(float)
    mixed = [rng.permutation(n_items) for _ in range(n_users)]
    n_relevant = rng.integers(1, most_relevant + 1, size=n_users)
    relevant = [items[:n].tolist() for items, n in zip(mixed, n_relevant)]
    lists = [items[n : n + rng.integers(1, 9)].tolist() for items, n in zip(mixed, n_relevant)]
    return scores, relevant, lists


@pytest.mark.parametrize("seed", range(20))
def test_one_relevant_item_as_counted(seed):
    scores, relevant, lists = random_case(seed, 1)
    ranks = rs.given_ranks(scores, [mine[0] for mine in relevant], lists)
    values, ties, sizes = counted(scores, relevant, lists)
    assert ranks.values.tolist() == [v for (v,) in values]
    assert ranks.ties.tolist() == [t for (t,) in ties]
    assert ranks.n_items.tolist() == sizes


@pytest.mark.parametrize("seed", range(20))
def test_several_relevant_items_as_counted(seed):
    scores, relevant, lists = random_case(seed, 4)
    matrix = np.zeros(scores.shape, bool)
    for user, mine in enumerate(relevant):
        matrix[user, mine] = True
    ranks = rs.given_ranks(scores, sparse.csr_matrix(matrix), lists)
    values, ties, sizes = counted(scores, relevant, lists)
    assert [v.tolist() for v in ranks.values] == values
    assert [t.tolist() for t in ranks.ties] == ties
    assert ranks.n_items.tolist() == sizes


def test_array_and_factors_agree_and_equal_items_tie():
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(40, 7)), rng.normal(size=(30, 7))
    items[20:] = items[:10]  # every item below 10 has a twin
    relevant = np.arange(40) % 10
    lists = [[20 + r, *rng.choice(np.arange(10, 20), 5, replace=False)] for r in relevant]
    of_factors = rs.given_ranks((users, items), relevant, lists)
    assert (of_factors.ties == 1).all()
    scores = np.array([[sum(a * b for a, b in zip(u, i)) for i in items] for u in users])
    assert same(of_factors, rs.given_ranks(scores, relevant, lists))


def test_a_pair_is_scored_in_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    pair = rng.integers(3, size=(9, 2)), rng.integers(3, size=(8, 2))
    lists = np.tile(np.arange(1, 8), (9, 1))
    whole = rs.given_ranks(pair, np.zeros(9, int), lists)
    monkeypatch.setattr("recsample._support.arrays.BLOCK", 40)
    assert same(whole, rs.given_ranks(pair, np.zeros(9, int), lists))


def test_a_list_of_all_items_gives_the_exact_rank():
    rng = np.random.default_rng(2)
    scores = rng.integers(5, size=(6, 12))
    train = sparse.csr_matrix(rng.random((6, 12)) < 0.3)
    relevant = [np.flatnonzero(~row)[0] for row in train.toarray()]
    lists = [
        [i for i in range(12) if not row[i] and i != mine]
        for row, mine in zip(train.toarray(), relevant)
    ]
    found = rs.given_ranks(scores, relevant, lists, train)
    assert same(found, predicted_ranks(scores, relevant, train))


def test_the_order_of_a_list_does_not_matter_nor_do_other_scores():
    scores, relevant, lists = random_case(3, 1)
    relevant = [mine[0] for mine in relevant]
    expected = rs.given_ranks(scores, relevant, lists)
    assert same(expected, rs.given_ranks(scores, relevant, [items[::-1] for items in lists]))
    unused = np.ones(scores.shape, bool)
    for user, items in enumerate(lists):
        unused[user, [relevant[user], *items]] = False
    scores[unused] = np.nan
    assert same(expected, rs.given_ranks(scores, relevant, lists))


def test_scores_of_candidates_alone_as_the_docstring_says():
    scores, relevant, _ = random_case(4, 1)
    relevant = [mine[0] for mine in relevant]
    lists = [[i for i in range(15) if i != mine][:6] for mine in relevant]
    rows = np.arange(7)[:, None]
    alone = scores[rows, np.column_stack([relevant, lists])]
    expected = rs.given_ranks(scores, relevant, np.array(lists))
    assert same(expected, predicted_ranks(alone, relevant=np.zeros(7, int)))


SCORES = [[0.5, 0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4, 0.5]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"negatives": [[1, 2], [2, 2]]}, "must not hold an item twice, got item 2 for user 1"),
        ({"negatives": [[1, 2], [0, 3]]}, "a relevant item of the user .* item 3 for user 1"),
        ({"negatives": [[1, 4], [0, 1]]}, "must not hold an excluded item, got item 4 for user 0"),
        ({"negatives": [[1, 2], [0, 5]]}, "items that do not exist, got item 5 for user 1"),
        ({"negatives": [[1, -1], [0, 1]]}, "items that do not exist, got item -1 for user 0"),
        ({"negatives": [[1], []]}, "must hold an item for every user, got none for user 1"),
        ({"negatives": [[1]]}, "a list of items for each of the 2 users, got 1 lists"),
        ({"negatives": [1, 2]}, "a list of items for each of the 2 users, got 2 numbers"),
        ({"negatives": [[1, 2.5], [0, 1]]}, "negatives must be whole numbers, got 2.5"),
        ({"relevant": [0]}, r"one item for each of the 2 users, got an array of shape \(1,\)"),
        ({"relevant": [0, 5]}, "items from 0 to 4, got item 5 for user 1"),
        ({"relevant": [4, 3]}, "must not share an item, got item 4 for user 0"),
        (
            {"scores": [[np.nan, 0, 0, 0, 0]] * 2},
            "scores must be finite, .* NaN for user 0, item 0",
        ),
        ({"scores": [1.0, 2.0]}, r"scores must have shape \(users, items\)"),
        ({"scores": (np.ones((2, 3)), np.ones((5, 2)))}, r"got \(2, 3\) and \(5, 2\)"),
        ({"scores": (np.ones((2, 3)),)}, "one array or the pair .* got 1 arrays"),
        ({"drop": "relevant"}, "drop must hold kinds of .* got 'relevant'"),
        ({"drop": ["unknown"]}, r"drop must hold kinds of .* got \['unknown'\]"),
        ({"drop": None}, "drop must hold kinds of .* got None"),
        ({"drop": True}, "drop must hold kinds of .* got True"),
    ],
)
def test_given_ranks_refuses(changed, message):
    arguments = {
        "scores": SCORES,
        "relevant": [0, 3],
        "negatives": [[1, 2], [0, 1]],
        "exclude": sparse.csr_matrix(([True], ([0], [4])), shape=(2, 5)),
    }
    rs.given_ranks(**arguments)
    with pytest.raises(ValueError, match=message):
        rs.given_ranks(**(arguments | changed))


def test_wrong_entries_are_left_out_on_request_only():
    exclude = sparse.csr_matrix(([True], ([0], [4])), shape=(2, 5))
    lists = [[1, 4, 2, 1], [0, 3, 1]]
    kinds = ["duplicates", "excluded", "relevant"]
    found = rs.given_ranks(SCORES, [0, 3], lists, exclude, drop=kinds)
    assert same(found, rs.given_ranks(SCORES, [0, 3], [[1, 2], [0, 1]], exclude))
    for missing in kinds:
        with pytest.raises(ValueError, match="negatives must not hold"):
            rs.given_ranks(SCORES, [0, 3], lists, exclude, drop=set(kinds) - {missing})


def test_a_table_is_an_array():
    scores, relevant, _ = random_case(4, 1)
    relevant = [mine[0] for mine in relevant]
    lists = np.array([[i for i in range(15) if i != mine][:6] for mine in relevant])
    expected = rs.given_ranks(scores, relevant, lists)
    for columns in (None, list("abcdef")):
        assert same(
            expected, rs.given_ranks(scores, relevant, pd.DataFrame(lists, columns=columns))
        )


def test_nothing_left_is_an_error():
    with pytest.raises(ValueError, match="an item for every user, got none for user 0"):
        rs.given_ranks(SCORES, [0, 3], [[0], [1]], drop=["relevant"])


# Uniform lists


def test_uniform_lists_follow_the_law():
    exclude = sparse.csr_matrix(np.tile([0, 1, 0, 0, 0, 1], (6000, 1)))
    lists = given_lists.uniform_lists(2, exclude, rng=0)
    pairs, counts = np.unique(np.sort(lists), axis=0, return_counts=True)
    assert pairs.tolist() == [[0, 2], [0, 3], [0, 4], [2, 3], [2, 4], [3, 4]]
    assert stats.chisquare(counts).pvalue > 0.01


def test_uniform_lists_refuse():
    with pytest.raises(ValueError, match="must leave at least m=3 items, got 2 for user 1"):
        given_lists.uniform_lists(3, sparse.csr_matrix([[1, 0, 0, 0], [1, 1, 0, 0]]), rng=0)
    with pytest.raises(ValueError, match="rng must be"):
        given_lists.uniform_lists(3, nothing(2, 5), rng="seed")


# Lowest ids


# Published lists


def test_published_lists_of_a_constant_scorer(ml_1m, movielens):
    lists = load_negatives(ml_1m)
    ranks = rs.given_ranks(
        (np.ones((6040, 1)), np.ones((3706, 1))), movielens.held_out, lists, drop=["relevant"]
    )
    assert (ranks.values == 1).all() and (ranks.ties == ranks.n_items - 1).all()
    assert np.bincount(ranks.n_items)[99:].tolist() == [156, 5884]
    assert rs.AUC(ranks) == pytest.approx(0.5)
