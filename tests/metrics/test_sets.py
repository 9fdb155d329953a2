"""Precision, recall, F-score and coverage, against counts in exact fractions."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import recsample as rs
from recsample.metrics.sets import f_score, item_coverage, precision, recall, user_coverage

some_items = st.lists(st.integers(0, 12), unique=True, max_size=12)
items = some_items.filter(len)


def counted(recommended, relevant):
    """Hits, precision and recall, item by item."""
    hits = Fraction(sum(1 for item in recommended if item in relevant))
    return hits, hits / len(recommended), hits / len(relevant)


class TestDefinitions:
    @settings(max_examples=80, deadline=None)
    @given(items, items, st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(7)]))
    def test_against_fractions(self, recommended, relevant, beta):
        hits, p, r = counted(recommended, relevant)
        assert precision(recommended, relevant) == float(p)
        assert recall(recommended, relevant) == float(r)
        f = (1 + beta**2) * p * r / (beta**2 * p + r) if hits else 0
        assert f_score(recommended, relevant, float(beta)) == pytest.approx(float(f), rel=1e-15)

    @settings(max_examples=40, deadline=None)
    @given(st.permutations(range(12)), items, st.integers(1, 12))
    def test_the_first_k_of_a_ranking(self, ranking, relevant, k):
        relevant = [item for item in relevant if item < 12] or [0]
        ranks = rs.Ranks([[1 + ranking.index(item) for item in relevant]], n_items=12)
        assert precision(ranking[:k], relevant) == pytest.approx((rs.Precision @ k)(ranks)[0])
        assert recall(ranking[:k], relevant) == pytest.approx((rs.Recall @ k)(ranks)[0])

    @pytest.mark.parametrize(
        "collection",
        [
            set,
            frozenset,
            tuple,
            iter,
            np.array,
            lambda items: np.array(items, dtype=np.uint8),
            dict.fromkeys,
        ],
    )
    def test_every_collection_of_items(self, collection):
        recommended, relevant = [1, 2, 3, 4], [4, 5, 2]
        assert precision(collection(recommended), collection(relevant)) == 2 / 4
        assert recall(collection(recommended), relevant) == 2 / 3
        assert f_score(recommended, collection(relevant)) == pytest.approx(4 / 7)

    def test_items_of_every_kind(self):
        assert precision(["a", (1, 2), None], {(1, 2), None}) == pytest.approx(2 / 3)

    def test_a_relevant_item_that_is_listed_twice_counts_once(self):
        assert recall([1], [1, 1, 2]) == precision([1, 3], [1, 1, 2]) == 1 / 2


class TestProperties:
    @pytest.mark.parametrize(
        "beta, limit", [(1e-200, precision), (1e-9, precision), (1e200, recall)]
    )
    def test_the_f_score_of_an_extreme_beta(self, beta, limit):
        assert f_score(range(10), range(5, 25), beta) == pytest.approx(
            limit(range(10), range(5, 25))
        )
        assert f_score([], [1], beta) == f_score([1], [], beta) == f_score([1], [2], beta) == 0


class TestUndefined:
    @pytest.mark.parametrize(
        "score, recommended, relevant, message",
        [
            (precision, [], [1], r"^precision is undefined \(no recommended item\): nan$"),
            (recall, [1], [], r"^recall is undefined \(no relevant item\): nan$"),
            (
                f_score,
                [],
                [],
                r"^F-score is undefined \(no recommended and no relevant item\): nan$",
            ),
        ],
    )
    def test_nothing_to_divide_by(self, score, recommended, relevant, message):
        with pytest.warns(UserWarning, match=message) as log:
            assert np.isnan(score(recommended, relevant))
        assert len(log) == 1 and log[0].filename == __file__

    def test_nothing_else_is_undefined(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert precision([1], []) == recall([], [1]) == 0
            assert f_score([1], []) == f_score([], [1]) == f_score([1], [2]) == 0


class TestCoverage:
    users = [["a", "b"], [], ("a",), {"c"}]

    def test_by_hand(self):
        assert user_coverage(self.users) == 3 / 4
        assert item_coverage(self.users, n_items=12) == 3 / 12
        assert type(user_coverage(self.users)) is type(item_coverage(self.users, 12)) is float

    @settings(max_examples=40, deadline=None)
    @given(st.lists(some_items, min_size=1, max_size=6))
    def test_against_counts(self, users):
        assert user_coverage(users) == float(Fraction(sum(1 for u in users if u), len(users)))
        covered = [i for i in range(13) if any(i in u for u in users)]
        assert item_coverage(users, 13) == float(Fraction(len(covered), 13))
        assert user_coverage(users[::-1]) == user_coverage(iter(users)) == user_coverage(users)


class TestRefusals:
    @pytest.mark.parametrize(
        "recommended, relevant, message",
        [
            ([1, 2, 1], [1], "recommended must hold every item once, got 1 2 times$"),
            (["x", "y", "y", "y"], [1], "recommended must hold every item once, got 'y' 3 times$"),
            ("abc", [1], "recommended must be a collection of items, got 'abc'$"),
            ([1], "abc", "relevant must be a collection of items, got 'abc'$"),
            ([1], 5, "relevant must be a collection of items, got 5$"),
            (None, [1], "recommended must be a collection of items, got None$"),
            (sparse.csr_array([[1, 0]]), [0], "recommended must be a collection of items, got <"),
            ([1], sparse.csr_matrix([[1, 0]]), "relevant must be a collection of items, got <"),
            ([[1, 2]], [1], r"recommended must hold hashable items, got \[\[1, 2\]\]$"),
            (np.ones((2, 2)), [1], "recommended must hold hashable items, got "),
            ([1], [{2}], r"relevant must hold hashable items, got \[\{2\}\]$"),
            ([1.0, np.nan], [1], r"recommended must not have missing values, got \[1.0, nan\]$"),
            ([1], np.array([np.nan]), r"relevant must not have missing values, got \[nan\]$"),
            ([np.float32("nan")], [1], "recommended must not have missing values"),
            ([1], [pd.NA], "relevant must not have missing values"),
            ([pd.NaT], [1], "recommended must not have missing values"),
        ],
    )
    def test_sets(self, recommended, relevant, message):
        for score in (precision, recall, f_score):
            with pytest.raises(ValueError, match=message):
                score(recommended, relevant)

    @pytest.mark.parametrize("beta", [0, -1, np.nan, np.inf, None, "a"])
    def test_beta(self, beta):
        with pytest.raises(ValueError, match="beta must be a finite number above 0, got "):
            f_score([1], [1], beta)

    @pytest.mark.parametrize("coverage", [user_coverage, lambda users: item_coverage(users, 9)])
    @pytest.mark.parametrize(
        "users, message",
        [
            ([], "recommended must hold at least one user, got none$"),
            ([[1], [2, 2]], r"recommended\[1\] must hold every item once, got 2 2 times$"),
            ([1, 2], r"recommended\[0\] must be a collection of items, got 1$"),
            ([[1], "ab"], r"recommended\[1\] must be a collection of items, got 'ab'$"),
            ("ab", "recommended must be one collection of items per user, got 'ab'$"),
            ({1: [2]}, r"recommended must be one collection of items per user, got \{1: \[2\]\}$"),
            (7, "recommended must be one collection of items per user, got 7$"),
        ],
    )
    def test_users(self, coverage, users, message):
        with pytest.raises(ValueError, match=message):
            coverage(users)

    @pytest.mark.parametrize(
        "n_items, message",
        [
            (0, "n_items must be a whole number of at least 1, got 0$"),
            (2.5, "n_items must be a whole number of at least 1, got 2.5$"),
            (2, "n_items must be at least the number of different recommended items, 3, got 2$"),
        ],
    )
    def test_size_of_the_catalogue(self, n_items, message):
        with pytest.raises(ValueError, match=message):
            item_coverage([[1, 2], [3]], n_items)
