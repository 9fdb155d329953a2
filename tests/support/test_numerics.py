"""Limits of a mean of which nothing is known but its ends."""

from itertools import combinations_with_replacement
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from recsample._support.numerics import limits_of_bounded_mean


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.5, 1.0), (0.2, 0.9), (0.0, 0.1, 1.0)])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_they_hold_as_often_as_they_say_whatever_the_law(values, level):
    n, several = 5, len(values)
    drawn = np.array(list(combinations_with_replacement(range(several), n)))
    low, high = np.transpose(
        [limits_of_bounded_mean(np.mean(np.take(values, one)), n, level) for one in drawn]
    )
    often = np.array([np.bincount(one, minlength=several) for one in drawn])
    for weights in np.random.default_rng(0).dirichlet(np.full(several, 0.4), 100):
        holds = (low <= weights @ values + 1e-9) & (weights @ values - 1e-9 <= high)
        assert stats.multinomial(n, weights).pmf(often)[holds].sum() >= level - 1e-9


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [1, 20, 100])
def test_they_are_narrower_than_those_of_hoeffding(share, n):
    low, high = limits_of_bounded_mean(share, n, 0.95)
    reach = sqrt(np.log(2 / 0.05) / (2 * n))
    assert max(0.0, share - reach) <= low <= share <= high <= min(1.0, share + reach)
    other = limits_of_bounded_mean(2 * share - 1, n, 0.95, (-1.0, 1.0))
    assert np.allclose(other, (2 * low - 1, 2 * high - 1))
    if share == 1:  # then P(all are 1) is p^n at most, as for zeros and ones
        assert low == pytest.approx(0.025 ** (1 / n))
