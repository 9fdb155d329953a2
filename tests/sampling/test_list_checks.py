"""Faults of given lists, and whether they are uniform draws, against all lists there are."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse, stats
from thorough import thorough

from recsample.datasets.movielens import load_negatives
from recsample.datasets.recorded import recorded_lists
from recsample.sampling import given_lists, list_checks


def nothing(n_users, n_items):
    return sparse.csr_matrix((n_users, n_items), dtype=bool)


# Faults


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


# Uniformity


def enumerated(exclude, sizes):
    """All equally likely sets of lists."""
    out = exclude.toarray().astype(bool)
    each = [combinations(np.flatnonzero(~row), m) for row, m in zip(out, sizes)]
    return [list(map(list, lists)) for lists in product(*each)]


EXCLUDE = sparse.csr_matrix(
    np.array([[1, 0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0, 1], [0, 0, 0, 1, 0, 0, 1]], bool)
)
SIZES = (2, 3, 1)


def test_both_statistics_have_the_mean_and_spread_of_all_lists():
    every = enumerated(EXCLUDE, SIZES)
    value = np.array([0.3, -1.0, 2.0, 5.0, 0.0, 7.5, 100.0])
    counts = np.array([np.bincount(np.concatenate(lists), minlength=7) for lists in every])
    active = counts.std(axis=0) > 0
    scaled = (counts - counts.mean(axis=0))[:, active] / counts.std(axis=0)[active]
    by_hand = {"item counts": (scaled**2).sum(axis=1), "mean item": (counts @ value) / sum(SIZES)}
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
    monkeypatch.setattr("recsample._support.arrays.BLOCK", 15)
    assert np.allclose(whole, list_checks.uniformity(lists, EXCLUDE), rtol=1e-13)


def unequal_candidates(rng, n_users, n_items):
    """Active and less active users, popular and less popular items."""
    chance = 0.8 * rng.random((n_users, 1)) * rng.beta(0.5, 1.5, size=n_items)
    return sparse.csr_matrix(rng.random((n_users, n_items)) < chance)


@pytest.mark.parametrize(("n_users", "n_items", "m"), [thorough(60, 50, 8), (15, 120, 10)])
def test_p_values_of_uniform_lists_are_uniform(n_users, n_items, m):
    rng = np.random.default_rng(5)
    exclude = unequal_candidates(rng, n_users, n_items)
    found = [
        list_checks.uniformity(given_lists.uniform_lists(m, exclude, rng), exclude)["p-value"]
        for _ in range(120)
    ]
    for p in np.array(found).T:
        assert stats.kstest(p, "uniform").pvalue > 0.01
        assert stats.binomtest(int((p < 0.05).sum()), 120, 0.05).pvalue > 0.01


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
        ([[], [], []], {}, "must list at least one item, got empty lists only"),
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
        list_checks.uniformity([[1]], np.zeros((1, 3)))


def test_the_uniformity_tests_notice_the_lowest_ids():
    """Of 198 draws the 99 lowest, as WarpRec drew its negatives."""
    rng, exclude = np.random.default_rng(0), sparse.csr_matrix((60, 3706), dtype=bool)
    lists = [np.unique(rng.integers(3706, size=198))[:99] for _ in range(60)]
    assert (list_checks.uniformity(lists, exclude)["p-value"] < 1e-100).all()
    # Five users are enough for the mean.
    few = list_checks.uniformity(lists[:5], exclude[:5])
    assert few.loc["mean item", "p-value"] < 1e-20


# Published lists


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
    assert (
        list_checks.uniformity(lists, movielens.train, along=popularity)["p-value"] > 0.05
    ).all()
    total, variance = 0.0, 0.0
    for row, listed in zip(movielens.train.toarray(), lists):
        items = np.flatnonzero(~row)
        total += listed.mean() - items.mean()
        variance += items.var(ddof=1) / 99 * (1 - 99 / len(items))
    recorded = recorded_lists()["published"].uniformity
    assert recorded.loc["mean item", "z"] == pytest.approx(total / np.sqrt(variance), rel=1e-9)
