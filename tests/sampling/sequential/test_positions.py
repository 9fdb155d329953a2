"""Where the first item above stands: few places stand for all, by closed forms."""

import numpy as np
import pytest

from recsample.sampling.laws import log_missed
from recsample.sampling.sequential.positions import Cases, mean_over_ties

N = 10**6


def cases(above, ties, pool):
    ones = np.ones(len(above), np.int64)
    which = np.arange(len(above))
    return Cases(which, ones, np.array(above), np.array(ties), pool * ones, ones, 1.0 * ones)


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
