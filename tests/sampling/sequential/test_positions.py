"""Where the first item above stands: sums over its law that leave places out, by closed forms."""

import numpy as np
import pytest

from recsample.sampling.laws import log_missed
from recsample.sampling.sequential.positions import Cases, mean_over_ties, sums_of_steps

N = 10**6


def cases(above, ties, pool):
    ones = np.ones(len(above), np.int64)
    which = np.arange(len(above))
    return Cases(which, ones, np.array(above), np.array(ties), pool * ones, ones, 1.0 * ones)


def test_what_is_left_out_of_a_sum_of_steps_is_below_rounding():
    """The chances that the drawing goes on have the sum (N + 1) / (a + 1), the mean position."""
    above, pool = [0, 1, 7, 100, 3000, 20_000], 20_000
    found = sums_of_steps(np.ones(pool + 1), cases(above, [0] * 6, pool), pool)
    np.testing.assert_allclose(found, (pool + 1) / (np.array(above) + 1), rtol=1e-13)


@pytest.mark.parametrize("drawn", [1, 30, 3000, N // 10, N // 2])
def test_few_places_stand_for_all_ties(drawn):
    """Against the difference that a sum of C(N - a, t) over a is."""
    some = cases([0, 0, 5, 1000], [N, 1000, N // 4, N // 2], N)
    found = mean_over_ties(lambda above, pool: np.exp(log_missed(above, drawn, pool)), some)

    def first(above):
        return np.exp(log_missed(above.astype(float), drawn + 1, N + 1.0))

    behind = some.above + some.ties + 1
    each = (N + 1) / (drawn + 1) * (first(some.above) - first(behind)) / (some.ties + 1)
    np.testing.assert_allclose(found, each, rtol=1e-11, atol=1e-16)
