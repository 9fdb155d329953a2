"""The best fit of a mixture, against the EM algorithm and an exchange of weights."""

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample.inference.comparison import compared
from recsample.inference.likelihood.mixtures import fitted
from recsample.inference.likelihood.sampled_run import SampledRun


def some_counts(rng, observations=5, columns=7, size=200):
    """A law of some columns, and what was observed of a mixture of these."""
    law = rng.dirichlet(np.ones(observations), columns).T
    counts = rng.multinomial(size, law @ rng.dirichlet(np.ones(columns))).astype(float)
    seen = counts > 0
    return law[seen], counts[seen]


def log_likelihood(law, counts, weights):
    return counts @ np.log(law @ weights)


def by_em(law, counts, steps=5000):
    """Weights of the highest likelihood, by a loop that is slow and cannot go wrong."""
    weights = np.full(law.shape[1], 1 / law.shape[1])
    for _ in range(steps):
        weights *= law.T @ (counts / (law @ weights)) / counts.sum()
    return weights


@pytest.mark.parametrize("seed", range(8))
def test_the_best_fit_is_that_of_the_em_algorithm(seed):
    law, counts = some_counts(np.random.default_rng(seed))
    found = fitted(law, counts)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert log_likelihood(law, counts, found) == pytest.approx(
        log_likelihood(law, counts, by_em(law, counts)), abs=5e-3
    )


def test_a_fit_without_any_mixture_is_the_only_column_that_gives_what_was_seen():
    law = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert fitted(law[:1], np.array([9.0])) == pytest.approx([1, 0], abs=1e-3)


def by_exchange(law, counts, tilt, steps=150):
    """Weights of the maximum, moved from one column to the best by bisection, again and again."""
    weights = np.full(law.shape[1], 1 / law.shape[1])
    for _ in range(steps):
        slope = law.T @ (counts / (law @ weights)) + tilt
        best, used = slope.argmax(), np.flatnonzero(weights)
        for worst in (
            used[slope[used].argmin()],
            used[(weights * (slope.max() - slope))[used].argmax()],
        ):
            expected, change = law @ weights, law[:, best] - law[:, worst]
            low, high = 0.0, weights[worst]
            for _ in range(40):
                middle = (low + high) / 2
                rise = counts @ (change / (expected + middle * change))
                rise += tilt[best] - tilt[worst]
                low, high = (middle, high) if rise > 0 else (low, middle)
            weights[[best, worst]] += low, -low
    return weights


@pytest.mark.parametrize("seed", range(12))
def test_a_few_users_and_a_steep_tilt_have_their_maximum(seed):
    """Where some column has next to no chance of what was seen, and is all but the best."""
    rng = np.random.default_rng(seed)
    m, pool = int(rng.integers(1, 15)), int(10 ** rng.uniform(1.2, 2.4))
    m = min(m, pool)
    places = np.unique(np.geomspace(1, pool + 1, 40).astype(int)) - 1
    seen = np.unique(rng.integers(0, m + 1, 2 + seed % 3), return_counts=True)
    law = np.maximum(stats.hypergeom.pmf(seen[0][:, None], pool, places, m), 1e-300)
    counts, start = seen[1].astype(float), None
    if seed % 2:  # as for one tilt after another
        start = fitted(law, counts)
    tilt = rng.choice([-1, 1]) * 10 ** rng.uniform(0, 5) / (1 + places)
    tilt -= tilt.min()
    found, wanted = (
        log_likelihood(law, counts, w) + tilt @ w
        for w in (fitted(law, counts, tilt, start), by_exchange(law, counts, tilt))
    )
    assert found > wanted - 1e-3 - 1e-6 * tilt.max()


def test_two_users_have_limits():
    """Fits with a steep tilt, which ended without an answer."""
    both = {"a": rs.Ranks([1, 1], 11), "b": rs.Ranks([4, 7], 11)}
    table = rs.report(both, n_items=100, drawn="uniform", replace=False).table
    assert (table["low"] <= table["high"]).all()
    rng, metric = np.random.default_rng(0), rs.Recall @ 1
    for _ in range(4):
        m = int(rng.integers(2, 30))
        pool = m + int(10 ** rng.uniform(0, 5))
        a, b = (
            SampledRun(rs.Ranks(rng.integers(1, m + 2, 2), m + 1), pool + 1, False, [metric])
            for _ in "ab"
        )
        (found,) = compared(metric, [(a, b)], "decreasing", 0.95)
        assert -1 <= found.low <= found.high <= 1
