"""Non-negative least squares, also where the first search for it does not end."""

from itertools import combinations

import numpy as np
import pytest
from scipy import optimize

from recsample._support.numerics import nonnegative_least_squares

RNG = np.random.default_rng(0)
# Columns as different in length as those of steps in a metric.
MATRIX = RNG.normal(size=(9, 5)) * [1e-3, 1.0, 30.0, 1e3, 1.0]
RIGHT = RNG.normal(size=9)


def by_enumeration(matrix, right):
    """The best of the solutions in which some unknowns are 0 and the others are not negative."""
    n = matrix.shape[1]
    found = []
    for k in range(n + 1):
        for some in map(list, combinations(range(n), k)):
            x = np.zeros(n)
            x[some] = np.linalg.lstsq(matrix[:, some], right, rcond=None)[0]
            if x.min() >= 0:
                found.append((np.sum((matrix @ x - right) ** 2), x))
    return min(found, key=lambda pair: pair[0])[1]


@pytest.mark.parametrize("failures", range(6))
def test_a_search_that_does_not_end_is_tried_in_other_ways(failures, monkeypatch):
    calls, search = [], optimize.nnls

    def goes_round_in_circles(*args, **options):
        calls.append(args)
        if len(calls) <= failures:
            raise RuntimeError("Maximum number of iterations reached.")
        return search(*args, **options)

    monkeypatch.setattr(optimize, "nnls", goes_round_in_circles)
    found = nonnegative_least_squares(MATRIX, RIGHT)
    assert len(calls) == failures + 1
    expected = by_enumeration(MATRIX, RIGHT)
    assert 0 < np.count_nonzero(expected) < len(expected)
    assert found == pytest.approx(expected, rel=1e-8, abs=0)


def test_a_search_that_never_ends_is_an_error(monkeypatch):
    def fails(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(optimize, "nnls", fails)
    with pytest.raises(RuntimeError, match="solution of 5 unknowns did not end"):
        nonnegative_least_squares(MATRIX, RIGHT)


def test_a_search_that_ended_too_soon_is_ended(monkeypatch):
    """As that of SciPy 1.15 may, without a word: here at the best of the first unknown alone."""
    rng = np.random.default_rng(0)
    matrix, right = rng.random((6, 4)), rng.random(6)
    wanted = nonnegative_least_squares(matrix, right)

    def too_soon(rows, wanted, maxiter):
        first = rows[:, 0] @ wanted / (rows[:, 0] @ rows[:, 0])
        return np.array([first, 0, 0, 0]), 0.0

    monkeypatch.setattr(optimize, "nnls", too_soon)
    assert nonnegative_least_squares(matrix, right) == pytest.approx(wanted, abs=1e-12)
