"""Preference, confidence and the objective of ALS, against sums pair by pair and equations."""

from math import e, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

import recsample as rs
from recsample.datasets.interactions import make_interactions
from recsample.metrics.feedback import als_objective, confidence, preference
from recsample.recommenders import MatrixFactorization

KINDS = [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_matrix, sparse.lil_array]

counts = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=5).map(
    np.array
)


class TestPreference:
    def test_by_hand(self):
        plays = [[0, 1, 5], [2, 0, 0]]
        assert preference(plays).tolist() == [[0, 1, 1], [1, 0, 0]]
        assert preference(plays, threshold=1).tolist() == [[0, 0, 1], [1, 0, 0]]
        assert preference(plays, 2).tolist() == [[0, 0, 1], [0, 0, 0]]
        assert preference([True, False]).dtype == float
        assert (preference(3), preference(3, 3)) == (1, 0) and type(preference(3)) is float

    @pytest.mark.parametrize("kind", KINDS)
    @settings(max_examples=25, deadline=None)
    @given(plays=counts, threshold=st.sampled_from([0, 1, 2.5]))
    def test_a_sparse_matrix_gives_the_same_preferences(self, kind, plays, threshold):
        before = kind(plays)
        sparse_one = preference(before, threshold)
        assert sparse_one.format == "csr" and (sparse_one.data == 1).all()
        assert isinstance(sparse_one, sparse.sparray) == isinstance(before, sparse.sparray)
        assert (sparse_one.toarray() == preference(plays, threshold)).all()
        assert (before.toarray() == plays).all()

    def test_entries_of_the_same_pair_add_up(self):
        twice = sparse.coo_array(([True, True], ([0, 0], [1, 1])), shape=(1, 3))
        assert preference(twice, threshold=1).toarray().tolist() == [[0, 1, 0]]

    def test_it_names_the_relevant_items(self):
        plays = sparse.csr_array([[0, 1, 5, 0], [2, 0, 0, 9]])
        ranks = rs.predicted_ranks([[4, 3, 2, 1], [1, 2, 3, 4]], preference(plays, 1))
        assert [r.tolist() for r in ranks.values] == [[3], [1, 4]]


class TestConfidence:
    def test_by_hand(self):
        # 1 + 2 log(1 + r / 0.5) at r = 0, 1/2, 1 and (e - 1) / 2.
        expected = [1, 1 + 2 * log(2), 1 + 2 * log(3), 3]
        assert confidence([0, 0.5, 1, (e - 1) / 2], 2, 0.5) == pytest.approx(expected, rel=1e-15)
        assert confidence([[3], [0]], alpha=40, epsilon=1).shape == (2, 1)
        assert type(confidence(3, alpha=1, epsilon=1)) is float
        assert confidence(0, alpha=1, epsilon=1) == 1

    @settings(max_examples=50, deadline=None)
    @given(
        st.lists(st.floats(0, 1e6), min_size=1, max_size=10),
        st.floats(1e-3, 1e3),
        st.floats(1e-8, 1e3),
    )
    def test_against_the_formula_and_growing_ever_more_slowly(self, consumption, alpha, epsilon):
        consumption = np.unique(consumption)
        values = confidence(consumption, alpha, epsilon)
        expected = [1 + alpha * log(1 + r / epsilon) for r in consumption]
        assert values == pytest.approx(expected, rel=1e-12)
        assert (values >= 1).all() and (np.diff(values) >= 0).all()
        once, twice, thrice = (confidence(consumption + i, alpha, epsilon) for i in (0, 1, 2))
        assert (thrice - twice <= twice - once + 1e-9).all()

    def test_small_consumptions_keep_their_digits(self):
        values = confidence([1e-12, 1e-9], alpha=1e12, epsilon=1)
        assert values == pytest.approx([1 + 1, 1 + 1e3 - 5e-7], rel=1e-13)

    @pytest.mark.parametrize("kind", KINDS)
    @settings(max_examples=25, deadline=None)
    @given(plays=counts)
    def test_in_a_sparse_matrix_what_is_not_stored_means_1(self, kind, plays):
        before = kind(plays)
        stored = confidence(before, alpha=2, epsilon=0.5)
        assert stored.format == "csr" and stored.nnz == np.count_nonzero(plays)
        assert isinstance(stored, sparse.sparray) == isinstance(before, sparse.sparray)
        shown = stored.toarray()
        assert (np.where(shown == 0, 1, shown) == confidence(plays, alpha=2, epsilon=0.5)).all()
        assert (before.toarray() == plays).all()

    def test_a_stored_0_is_stored_as_1(self):
        stored = sparse.csr_array(([3.0, 0.0], ([0, 0], [0, 1])), shape=(1, 3))
        assert confidence(stored, 1, 1).data.tolist() == [1 + np.log1p(3), 1]


def slow_objective(x, y, p, c, regularization):
    """Pair by pair."""
    total = 0.0
    for u in range(len(x)):
        for i in range(len(y)):
            score = sum(a * b for a, b in zip(x[u], y[i]))
            total += c[u][i] * (p[u][i] - score) ** 2
    return total + regularization * sum(v * v for row in [*x, *y] for v in row)


class TestObjective:
    def test_by_hand(self):
        # 3 (1 - 1/2)^2 + 1 (0 - 1)^2 + 0.1 (1 + 1/4 + 1)
        value = als_objective([[1]], [[0.5], [1]], [[1, 0]], [[3, 1]], 0.1)
        assert value == pytest.approx(0.75 + 1 + 0.225, rel=1e-15) and type(value) is float

    @pytest.mark.parametrize("kind", KINDS)
    @settings(max_examples=25, deadline=None)
    @given(
        plays=counts,
        threshold=st.sampled_from([0, 2]),
        regularization=st.sampled_from([0, 0.3, 10]),
        seed=st.integers(0, 9),
    )
    def test_against_the_slow_reference(self, kind, plays, threshold, regularization, seed):
        # With a threshold, some pairs have preference 0 and yet a confidence above 1.
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(len(plays), 2)), rng.normal(size=(3, 2))
        p, c = preference(plays, threshold), confidence(plays, 2, 0.5)
        expected = slow_objective(x.tolist(), y.tolist(), p.tolist(), c.tolist(), regularization)
        assert als_objective(x, y, p, c, regularization) == pytest.approx(expected, rel=1e-12)
        matrix = kind(plays)
        sparse_ones = preference(matrix, threshold), confidence(matrix, 2, 0.5)
        value = als_objective(x, y, *sparse_ones, regularization)
        assert value == pytest.approx(expected, rel=1e-12)

    def test_a_preference_whose_confidence_is_not_stored(self):
        p, c = sparse.csr_array([[1.0, 0.0]]), sparse.csr_array([[0.0, 5.0]])
        value = als_objective([[2.0]], [[1.0], [3.0]], p, c, 0)
        assert value == (1 - 2) ** 2 + 5 * (0 - 6) ** 2

    def test_nothing_is_lost_where_the_fit_is_perfect(self):
        x, y = np.eye(3), np.eye(3)
        assert als_objective(x, y, np.eye(3), 7 * np.eye(3) + 1, 0) == 0
        matrix = sparse.csr_array(np.eye(3))
        assert als_objective(x, y, matrix, 7 * matrix, 0) == 0
        assert als_objective(0 * x, 0 * y, matrix, 7 * matrix, 2) == 3 * 7


@pytest.fixture(scope="module")
def made():
    return make_interactions(60, 50, 1400, rng=0)


def library_terms(train, alpha, regularization):
    """Confidences and regularisation in the terms of Hu, Koren and Volinsky."""
    scale = (1 + alpha) / alpha
    # log(1 + 1 / epsilon) = 1 for epsilon = 1 / (e - 1): then c = 1 + 1 / alpha for an event.
    return confidence(train, 1 / alpha, 1 / (e - 1)), regularization * scale


def solved(others, p, c, regularization):
    """x_u = (Y^T C^u Y + lambda I)^-1 Y^T C^u p(u) for every user u: a half step of ALS."""
    penalty = regularization * np.eye(others.shape[1])
    return np.array(
        [
            np.linalg.solve(others.T @ np.diag(c_u) @ others + penalty, others.T @ (c_u * p_u))
            for p_u, c_u in zip(p, c)
        ]
    )


class TestRecommenderX:
    settings = [(0.2, 10), (0.2, 0.3), (1.5, 0.5)]

    @pytest.mark.parametrize("alpha, regularization", settings)
    def test_its_loss_is_the_objective(self, made, alpha, regularization):
        rng = np.random.default_rng(0)
        v_users, v_items = rng.normal(size=(60, 3)), rng.normal(size=(50, 3))
        events = made.train.toarray()
        scores = v_users @ v_items.T
        # Section 9 of the paper.
        loss = ((scores - 1) ** 2)[events].sum() + alpha * (scores**2).sum()
        loss += regularization * ((v_users**2).sum() + (v_items**2).sum())
        c, weight = library_terms(made.train, alpha, regularization)
        root = np.sqrt(1 + alpha)
        value = als_objective(root * v_users, root * v_items, preference(made.train), c, weight)
        mapped = alpha / (1 + alpha) ** 2 * value + alpha / (1 + alpha) * events.sum()
        assert mapped == pytest.approx(loss, rel=1e-12)

    @pytest.mark.parametrize("alpha, regularization", settings)
    def test_its_fit_is_where_both_half_steps_stand_still(self, made, alpha, regularization):
        model = MatrixFactorization(3, alpha, regularization, n_iterations=800).fit(made.train)
        root = np.sqrt(1 + alpha)
        x, y = root * model.user_factors, root * model.item_factors
        assert abs(x).max() > 0.1  # not the trivial point 0
        events = made.train.toarray()
        p, c = preference(events), confidence(events, 1 / alpha, 1 / (e - 1))
        weight = regularization * (1 + alpha) / alpha
        np.testing.assert_allclose(x, solved(y, p, c, weight), atol=1e-5)
        np.testing.assert_allclose(y, solved(x, p.T, c.T, weight), atol=1e-5)

        def objective(flat):
            users, items = np.split(flat.reshape(-1, 3), [60])
            return als_objective(users, items, p, c, weight)

        # Central differences in every direction; elsewhere they are far from 0.
        fitted, rng = np.concatenate([x, y]).ravel(), np.random.default_rng(0)
        for point, most, least in ((fitted, 1e-2, 0), (1.1 * fitted, np.inf, 1)):
            slopes = [
                (objective(point + 1e-4 * d) - objective(point - 1e-4 * d)) / 2e-4
                for d in rng.standard_normal((3, len(fitted)))
            ]
            assert least <= max(map(abs, slopes)) <= most

        # Nor does a general-purpose minimiser that starts elsewhere find less.
        def slope(flat):
            users, items = np.split(flat.reshape(-1, 3), [60])
            pull = c * (users @ items.T - p)
            halves = [pull @ items + weight * users, pull.T @ users + weight * items]
            return 2 * np.concatenate(halves).ravel()

        start = rng.standard_normal(len(fitted))
        found = optimize.minimize(objective, start, jac=slope, method="L-BFGS-B")
        assert objective(fitted) <= found.fun * (1 + 1e-9)

    def test_a_half_step_lowers_the_objective_and_only_the_factors_it_solves_for(self, made):
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(60, 3)), rng.normal(size=(50, 3))
        events = made.train.toarray()
        p, c = preference(events), confidence(events, 5, 1)
        values = [als_objective(x, y, p, c, 2)]
        for _ in range(5):
            x = solved(y, p, c, 2)
            values.append(als_objective(x, y, p, c, 2))
            moved = als_objective(x + 1e-3 * rng.normal(size=x.shape), y, p, c, 2)
            assert moved > values[-1]
            y = solved(x, p.T, c.T, 2)
            values.append(als_objective(x, y, p, c, 2))
        assert (np.diff(values) < 0).all()


class TestRefusals:
    @pytest.mark.parametrize("f", [preference, lambda r: confidence(r, 1, 1)])
    @pytest.mark.parametrize(
        "consumption, message",
        [
            ([1, -2], r"must be finite numbers of at least 0, got -2.0 \(at position 1\)$"),
            ([[1, 2], [np.nan, 1]], r"of at least 0, got nan \(at position \(1, 0\)\)$"),
            (np.inf, "consumption must be a finite number of at least 0, got inf$"),
            (
                sparse.csr_array([[0, 1], [0, -3]]),
                r"at least 0, got -3.0 \(at position \(1, 1\)\)$",
            ),
            (sparse.coo_matrix([[0, np.inf]]), r"at least 0, got inf \(at position \(0, 1\)\)$"),
            (sparse.csr_array([[1j]]), "must hold numbers, got entries of type complex128$"),
            (["a"], r"consumption must be an array of numbers, got \['a'\]$"),
        ],
    )
    def test_consumption(self, f, consumption, message):
        with pytest.raises(ValueError, match=message):
            f(consumption)

    @pytest.mark.parametrize("wrong", [-1, np.nan, np.inf, None, "a"])
    def test_settings(self, wrong):
        with pytest.raises(ValueError, match="threshold must be a finite number of at least 0, go"):
            preference([1], wrong)
        with pytest.raises(ValueError, match="regularization must be a finite number of at least"):
            als_objective([[1]], [[1]], [[1]], [[1]], wrong)
        for wrong_or_0 in (wrong, 0):
            with pytest.raises(ValueError, match="alpha must be a finite number above 0, got"):
                confidence([1], wrong_or_0, 1)
            with pytest.raises(ValueError, match="epsilon must be a finite number above 0, got"):
                confidence([1], 1, wrong_or_0)

    @pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
    def test_a_confidence_that_overflows(self, kind):
        for alpha, epsilon in ((1, 1e-308), (1.7e308, 1)):
            message = f"consumption must give a finite confidence, got 9.0 with alpha={alpha}"
            with pytest.raises(ValueError, match=message.replace("+", r"\+")):
                confidence(kind([[1e-9, 9]]), alpha, epsilon)

    @pytest.mark.parametrize(
        "x, y, p, c, message",
        [
            ([1], [[1]], [[1]], [[1]], r"\(users, d\) and \(items, d\), got \(1,\) and \(1, 1\)$"),
            ([[1, 2]], [[1]], [[1]], [[1]], r"and \(items, d\), got \(1, 2\) and \(1, 1\)$"),
            ([[np.nan]], [[1]], [[1]], [[1]], "user_factors must be finite numbers, got nan"),
            ([[1]], [[np.inf]], [[1]], [[1]], "item_factors must be finite numbers, got inf"),
            ([[1]], [[1]], [[1, 1]], [[1]], r"preference must have .* = \(1, 1\), got \(1, 2\)$"),
            ([[1]], [[1]], [[1]], [1], r"confidence must have .* = \(1, 1\), got \(1,\)$"),
            (
                [[1]],
                [[1]],
                [[-1]],
                [[1]],
                "preference must be finite numbers of at least 0, got -1",
            ),
            (
                [[1]],
                [[1]],
                [[1]],
                [[-1]],
                "confidence must be finite numbers of at least 0, got -1",
            ),
            (
                [[1]],
                [[1]],
                sparse.csr_array([[1]]),
                [[1]],
                "must be both arrays or both sparse, got csr_array and list$",
            ),
        ],
    )
    def test_objective(self, x, y, p, c, message):
        with pytest.raises(ValueError, match=message):
            als_objective(x, y, p, c, 1)
