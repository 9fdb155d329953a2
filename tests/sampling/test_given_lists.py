from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import recsample as rs
from recsample.sampling import given_lists, list_checks
from recsample.datasets import load_negatives, recorded_lists
from recsample.ranks import predicted_ranks


def nothing(n_users, n_items):
    return sparse.csr_matrix((n_users, n_items), dtype=bool)


def same(ranks, other):
    """Whether two Ranks with one relevant item per instance say the same."""
    pairs = ((x, y) for x, y in zip(parts(ranks), parts(other)))
    return len(ranks) == len(other) and all(np.array_equal(x, y) for x, y in pairs)


def parts(ranks):
    return [np.broadcast_to(x, len(ranks)) for x in (ranks.values, ranks.ties, ranks.n_items)]


# ---------------------------------------------------------------------------- given_ranks


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
    monkeypatch.setattr("recsample.sampling._counts.BLOCK", 40)
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
        ({"scores": [[np.nan, 0, 0, 0, 0]] * 2}, "scores must not be NaN, .* user 0, item 0"),
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


# ---------------------------------------------------------------------------- faults


@pytest.mark.parametrize("seed", range(10))
def test_faults_as_counted(seed):
    rng = np.random.default_rng(seed)
    n_users, n_items = 12, 9
    relevant = rng.integers(n_items, size=n_users)
    excluded = rng.random((n_users, n_items)) < 0.3
    excluded[np.arange(n_users), relevant] = False
    lists = [rng.integers(-1, n_items + 2, size=rng.integers(1, 8)).tolist() for _ in relevant]
    found = list_checks.faults(lists, relevant, n_items, sparse.csr_matrix(excluded))
    longest = max(map(len, lists))
    for user, items in enumerate(lists):
        known = [i for i in items if 0 <= i < n_items]
        assert found.loc[user].to_dict() == {
            "duplicates": len(items) - len(set(items)),
            "relevant": items.count(relevant[user]),
            "excluded": sum(excluded[user, i] for i in known),
            "unknown": len(items) - len(known),
            "missing": longest - len(items),
        }


def test_faults_of_several_relevant_items():
    relevant = sparse.csr_matrix([[1, 1, 0, 0], [0, 0, 1, 0]])
    found = list_checks.faults([[0, 1], [0, 1]], relevant, n_items=4)
    assert found["relevant"].tolist() == [2, 0]


# ---------------------------------------------------------------------------- uniformity


def enumerated(exclude, sizes):
    """All equally likely sets of lists."""
    out = exclude.toarray().astype(bool)
    each = [combinations(np.flatnonzero(~row), m) for row, m in zip(out, sizes)]
    return [list(map(list, lists)) for lists in product(*each)]


EXCLUDE = sparse.csr_matrix(
    np.array([[1, 0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0, 1], [0, 0, 0, 1, 0, 0, 1]], bool)
)
SIZES = (2, 3, 1)


def test_item_counts_have_the_mean_and_spread_of_all_lists():
    every = enumerated(EXCLUDE, SIZES)
    counts = np.array([np.bincount(np.concatenate(lists), minlength=7) for lists in every])
    found = list_checks.item_counts(every[5], EXCLUDE)
    assert (found["observed"] == counts[5]).all()
    assert found["expected"].to_numpy() == pytest.approx(counts.mean(axis=0), abs=1e-14)
    assert found["std"].to_numpy() == pytest.approx(counts.std(axis=0), abs=1e-14)
    assert found["std"][6] == 0  # nobody's candidate


def test_both_statistics_have_the_mean_and_spread_of_all_lists():
    every = enumerated(EXCLUDE, SIZES)
    value = np.array([0.3, -1.0, 2.0, 5.0, 0.0, 7.5, 100.0])
    counts = np.array([np.bincount(np.concatenate(lists), minlength=7) for lists in every])
    active = counts.std(axis=0) > 0
    scaled = (counts - counts.mean(axis=0))[:, active] / counts.std(axis=0)[active]
    by_hand = {
        "item counts": (scaled**2).sum(axis=1),
        "mean item": (counts @ value) / sum(SIZES),
    }
    for where in (0, 17, 101):
        found = list_checks.uniformity(every[where], EXCLUDE, along=value)
        for name, each in by_hand.items():
            row = found.loc[name]
            assert row["observed"] == pytest.approx(each[where], rel=1e-12)
            assert row["expected"] == pytest.approx(each.mean(), rel=1e-12)
            assert row["std"] == pytest.approx(each.std(), rel=1e-12)
            assert row["z"] == pytest.approx((each[where] - each.mean()) / each.std(), rel=1e-9)


def test_covariances_are_summed_in_blocks(monkeypatch):
    lists = enumerated(EXCLUDE, SIZES)[9]
    whole = list_checks.uniformity(lists, EXCLUDE)
    monkeypatch.setattr("recsample.sampling._counts.BLOCK", 15)
    assert np.allclose(whole, list_checks.uniformity(lists, EXCLUDE), rtol=1e-13)


def unequal_candidates(rng, n_users, n_items):
    """Active and less active users, popular and less popular items."""
    chance = 0.8 * rng.random((n_users, 1)) * rng.beta(0.5, 1.5, size=n_items)
    return sparse.csr_matrix(rng.random((n_users, n_items)) < chance)


@pytest.mark.parametrize(("n_users", "n_items", "m"), [(60, 50, 8), (15, 120, 10)])
def test_p_values_of_uniform_lists_are_uniform(n_users, n_items, m):
    rng = np.random.default_rng(5)
    exclude = unequal_candidates(rng, n_users, n_items)
    found = [
        list_checks.uniformity(given_lists.uniform_lists(m, exclude, rng), exclude)["p-value"]
        for _ in range(500)
    ]
    for p in np.array(found).T:
        assert stats.kstest(p, "uniform").pvalue > 0.01
        assert stats.binomtest(int((p < 0.05).sum()), 500, 0.05).pvalue > 0.01


def by_popularity(rng, exclude, m, power):
    """Draws with chances that grow with the number of users who have the item."""
    out = exclude.toarray().astype(bool)
    weight = (1.0 + out.sum(axis=0)) ** power
    chances = [np.where(row, 0, weight) / weight[~row].sum() for row in out]
    return np.array([rng.choice(len(p), m, replace=False, p=p) for p in chances])


def test_popularity_is_noticed():
    rng = np.random.default_rng(6)
    exclude = unequal_candidates(rng, 200, 100)
    popularity = np.asarray(exclude.sum(axis=0)).ravel()
    lists = by_popularity(rng, exclude, 20, power=0.5)
    found = list_checks.uniformity(lists, exclude, along=popularity)
    assert (found["p-value"] < 1e-20).all() and found.loc["mean item", "z"] > 0


def test_one_list_for_everybody_is_noticed():
    exclude = nothing(50, 100)
    lists = np.tile(given_lists.uniform_lists(10, nothing(1, 100), rng=0), (50, 1))
    assert list_checks.uniformity(lists, exclude).loc["item counts", "p-value"] < 1e-50


def test_a_slight_lean_is_noticed_along_the_axis_only():
    # A chance 10 % above the mean at one end and 10 % below it at the other.
    rng = np.random.default_rng(7)
    chance = np.linspace(1.1, 0.9, 400) / 400
    lists = np.array([rng.choice(400, 20, replace=False, p=chance) for _ in range(300)])
    found = list_checks.uniformity(lists, nothing(300, 400))
    assert found.loc["mean item", "p-value"] < 1e-4 and found.loc["mean item", "z"] < 0
    assert found.loc["item counts", "p-value"] > 1e-3


@pytest.mark.filterwarnings("error")
def test_lists_of_all_candidates_leave_nothing_to_test():
    out = EXCLUDE.toarray()
    lists = [np.flatnonzero(~row).tolist() for row in out]
    found = list_checks.uniformity(lists, EXCLUDE)
    assert (found["p-value"] == 1).all() and (found["z"] == 0).all()
    # One user without candidates, and one whose items are all equally likely: again nothing.
    alone = sparse.csr_matrix(np.array([[1, 1, 1], [0, 0, 0]], bool))
    assert list_checks.uniformity([[], [1, 2]], alone).loc["item counts", "p-value"] == 1


@pytest.mark.parametrize(
    ("lists", "arguments", "message"),
    [
        ([[0, 1, 1], [0], [1]], {}, "must not hold an item twice, got item 1 for user 0"),
        ([[1], [2], [1]], {}, "must not hold an excluded item, got item 2 for user 1"),
        ([[1], [0], [9]], {}, "items that do not exist, got item 9 for user 2"),
        ([[1], [0]], {}, "for each of the 3 users, got 2 lists"),
        ([[1], [0], [1]], {"along": [1, 2]}, r"for each of the 7 items, .* shape \(2,\)"),
        ([[1], [0], [1]], {"along": [np.nan] * 7}, "along must be finite numbers"),
    ],
)
def test_uniformity_refuses(lists, arguments, message):
    with pytest.raises(ValueError, match=message):
        list_checks.uniformity(lists, EXCLUDE, **arguments)


def test_exclude_must_be_given():
    with pytest.raises(ValueError, match="exclude must be a sparse matrix .* got NoneType"):
        list_checks.uniformity([[1]], None)
    with pytest.raises(ValueError, match="exclude must be a sparse matrix .* got ndarray|shape"):
        list_checks.item_counts([[1]], np.zeros((1, 3)))


# ---------------------------------------------------------------------------- uniform_lists


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


# ---------------------------------------------------------------------------- published lists


def test_the_published_lists(ml_1m, movielens):
    lists = load_negatives(ml_1m)
    found = (list_checks.faults(lists, movielens.held_out, 3706, movielens.train) > 0).sum()
    assert found.to_dict() == {
        "duplicates": 0,
        "relevant": 156,
        "excluded": 0,
        "unknown": 0,
        "missing": 0,
    }
    # As many as a uniform draw gives that knows the training events only: 169.5 on average.
    chance = 99 / (3706 - np.diff(movielens.train.indptr))
    assert abs(156 - chance.sum()) < 1.1 * np.sqrt((chance * (1 - chance)).sum())
    # And no other lean, along the popularity or, computed here, along the numbers.
    popularity = np.asarray(movielens.train.sum(axis=0)).ravel()
    assert (list_checks.uniformity(lists, movielens.train, along=popularity)["p-value"] > 0.05).all()
    total, variance = 0.0, 0.0
    for row, listed in zip(movielens.train.toarray(), lists):
        items = np.flatnonzero(~row)
        total += listed.mean() - items.mean()
        variance += items.var(ddof=1) / 99 * (1 - 99 / len(items))
    recorded = recorded_lists()["published"].uniformity
    assert recorded.loc["mean item", "z"] == pytest.approx(total / np.sqrt(variance), rel=1e-9)


def test_published_lists_of_a_constant_scorer(ml_1m, movielens):
    lists = load_negatives(ml_1m)
    ranks = rs.given_ranks(
        (np.ones((6040, 1)), np.ones((3706, 1))), movielens.held_out, lists, drop=["relevant"]
    )
    assert (ranks.values == 1).all() and (ranks.ties == ranks.n_items - 1).all()
    assert np.bincount(ranks.n_items)[99:].tolist() == [156, 5884]
    assert rs.AUC(ranks) == pytest.approx(0.5)
