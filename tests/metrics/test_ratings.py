"""The errors of predicted ratings, against sums of fractions."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recsample.metrics.ratings import mae, mse, rmse

ERRORS = [mae, mse, rmse]

# Multiples of 1/4: their sums and squares are exact in floating point.
quarters = st.integers(-40, 40).map(lambda i: i / 4)
pairs = st.lists(st.tuples(quarters, quarters), min_size=1, max_size=20)


class TestDefinitions:
    @settings(max_examples=50, deadline=None)
    @given(pairs)
    def test_against_fractions(self, pairs):
        predicted, actual = zip(*pairs)
        n = len(pairs)
        absolute = sum(abs(Fraction(p) - Fraction(a)) for p, a in pairs) / n
        squared = sum((Fraction(p) - Fraction(a)) ** 2 for p, a in pairs) / n
        assert mae(predicted, actual) == pytest.approx(float(absolute), rel=1e-15)
        assert mse(predicted, actual) == pytest.approx(float(squared), rel=1e-15)
        assert rmse(predicted, actual) == pytest.approx(sqrt(squared), rel=1e-15)

    def test_the_result_is_a_float_for_every_shape(self):
        for error in ERRORS:
            flat = error([4, 3, 5, 1], [5, 3, 3, 2])
            assert type(flat) is float
            assert error([[4, 3], [5, 1]], [[5, 3], [3, 2]]) == flat
            assert error(4, 2.5) == pytest.approx({mae: 1.5, mse: 2.25, rmse: 1.5}[error])

    def test_small_whole_number_types_do_not_wrap_around(self):
        low, high = np.array([0, 255], np.uint8), np.array([255, 0], np.uint8)
        assert (mae(low, high), mse(low, high), rmse(low, high)) == (255, 255**2, 255)
        assert mae(np.array([True]), np.array([False])) == 1


class TestRefusals:
    @pytest.mark.parametrize("error", ERRORS)
    @pytest.mark.parametrize(
        "predicted, actual, message",
        [
            ([1, np.nan], [1, 2], r"predicted must be finite numbers, got nan \(at position 1\)$"),
            ([1, 2], [-np.inf, 2], r"actual must be finite numbers, got -inf \(at position 0\)$"),
            ([[1, 2], [3, 4]], [[1, 2], [3, np.nan]], r"got nan \(at position \(1, 1\)\)$"),
            (np.nan, 1, "predicted must be a finite number, got nan$"),
            ([1, 2, 3], [1, 2], r"must have the same shape, got \(3,\) and \(2,\)$"),
            ([1, 2], [[1, 2]], r"must have the same shape, got \(2,\) and \(1, 2\)$"),
            (3, [3, 3], r"must have the same shape, got \(\) and \(2,\)$"),
            ([], [], r"actual must hold at least one rating, got none in shape \(0,\)$"),
            (["a"], [1], r"predicted must be an array of numbers, got \['a'\]$"),
            ([1], None, "actual must be an array of numbers, got None$"),
            ([[1], [1, 2]], [1], r"predicted must be an array of numbers, got \[\[1\], \[1, 2\]\]"),
        ],
    )
    def test_arguments(self, error, predicted, actual, message):
        with pytest.raises(ValueError, match=message):
            error(predicted, actual)

    def test_an_error_too_large_for_a_float_is_not_silent(self):
        for predicted, actual in [([1e200], [0]), ([1e308], [-1e308])]:
            with pytest.warns(RuntimeWarning, match="overflow"):
                assert mse(predicted, actual) == np.inf
