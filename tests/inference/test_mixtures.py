"""The extremes of a mean among mixtures, against the EM algorithm and an exchange of weights."""

import numpy as np
import pytest

import recsample as rs
from recsample.inference.comparison import compared
from recsample.inference.likelihood.mixtures import Mixture, extremes, fitted, limit
from recsample.inference.likelihood.sampled_run import SampledRun


def some_group(rng, observations=5, columns=7, size=200, share=1.0):
    law = rng.dirichlet(np.ones(observations), columns).T
    counts = rng.multinomial(size, law @ rng.dirichlet(np.ones(columns))).astype(float)
    mean = np.sort(rng.random(columns))
    seen = counts > 0
    return Mixture(law[seen], counts[seen], mean, mean**2 + 0.1, share)


def log_likelihood(group, weights):
    return group.counts @ np.log(group.law @ weights)


def by_em(group, steps=5000):
    """Weights of the highest likelihood, by a loop that is slow and cannot go wrong."""
    weights = np.full(group.law.shape[1], 1 / group.law.shape[1])
    for _ in range(steps):
        weights *= group.law.T @ (group.counts / (group.law @ weights)) / group.counts.sum()
    return weights


@pytest.mark.parametrize("seed", range(8))
def test_the_best_fit_is_that_of_the_em_algorithm(seed):
    group = some_group(np.random.default_rng(seed))
    found = fitted(group.law, group.counts)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert log_likelihood(group, found) == pytest.approx(
        log_likelihood(group, by_em(group)), abs=5e-3
    )


def test_a_fit_without_any_mixture_is_the_only_column_that_gives_what_was_seen():
    law = np.array([[1.0, 0.0], [0.0, 1.0]])
    group = Mixture(law[:1], np.array([9.0]), np.zeros(2), np.zeros(2), 1.0)
    assert fitted(group.law, group.counts) == pytest.approx([1, 0], abs=1e-3)


def test_a_group_in_two_parts_has_the_limits_of_the_whole():
    whole = some_group(np.random.default_rng(0), size=500)
    parts = [whole._replace(counts=x * whole.counts, share=x) for x in (0.1, 0.9)]
    for sign in (-1, 1):
        found = []
        for groups in ([whole], parts):
            path = extremes(groups, [fitted(g.law, g.counts) for g in groups], sign, 3.84)
            found.append(limit(path, sign, 3.84))
        assert found[1] == pytest.approx(found[0], abs=0.02 * abs(found[0] - path[0].mean))


def test_the_path_moves_away_from_the_best_fit_one_way():
    group = some_group(np.random.default_rng(1))
    path = extremes([group], [fitted(group.law, group.counts)], 1, 10.0)
    assert path[0].distance == pytest.approx(0, abs=1e-2)
    means = [p.mean for p in path]
    assert means == sorted(means)
    assert 10 <= path[-1].distance < 20
    roots = np.sqrt([p.distance for p in path])
    assert (np.diff(roots) <= np.sqrt(10) / 2 + 1e-6).all()


def test_where_every_column_fits_the_extreme_one_is_reached():
    law = np.full((2, 3), 0.5)
    group = Mixture(law, np.array([50.0, 50.0]), np.array([0.0, 0.4, 1.0]), np.zeros(3), 1.0)
    path = extremes([group], [fitted(group.law, group.counts)], 1, 3.84)
    assert path[-1].mean == pytest.approx(1.0, abs=1e-3)


def test_of_a_mean_that_cannot_vary_the_luck_of_the_instances_is_left():
    """Of 100 instances, each a hit or not by the toss of a coin."""
    group = Mixture(np.ones((1, 1)), np.array([100.0]), np.array([0.5]), np.array([0.5]), 1.0)
    path = extremes([group], [np.ones(1)], 1, 3.84)
    assert len(path) == 1
    for sign in (-1, 1):
        assert limit(path, sign, 3.84) == pytest.approx(0.5 + sign * (3.84 * 0.25 / 100) ** 0.5)


def by_exchange(group, tilt, steps=150):
    """Weights of the maximum, moved from one column to the best by bisection, again and again."""
    weights = np.full(group.law.shape[1], 1 / group.law.shape[1])
    for _ in range(steps):
        slope = group.law.T @ (group.counts / (group.law @ weights)) + tilt
        best, used = slope.argmax(), np.flatnonzero(weights)
        for worst in (
            used[slope[used].argmin()],
            used[(weights * (slope.max() - slope))[used].argmax()],
        ):
            expected, change = group.law @ weights, group.law[:, best] - group.law[:, worst]
            low, high = 0.0, weights[worst]
            for _ in range(40):
                middle = (low + high) / 2
                rise = group.counts @ (change / (expected + middle * change))
                rise += tilt[best] - tilt[worst]
                low, high = (middle, high) if rise > 0 else (low, middle)
            weights[[best, worst]] += low, -low
    return weights


@pytest.mark.parametrize("seed", range(12))
def test_a_few_users_and_a_steep_tilt_have_their_maximum(seed):
    """Where some column has next to no chance of what was seen, and is all but the best."""
    rng = np.random.default_rng(seed)
    m, pool = int(rng.integers(1, 15)), int(10 ** rng.uniform(1.2, 4))
    sampled = rs.Ranks(rng.integers(1, m + 2, 2 + seed % 3), m + 1)
    evidence = SampledRun(sampled, pool + 1, False, [rs.AP])
    assumption = ("none", "decreasing")[seed % 2]
    (group,), (start,) = evidence.mixtures(rs.AP, assumption), evidence.best(assumption)
    tilt = rng.choice([-1, 1]) * 10 ** rng.uniform(0, 5) * group.mean
    tilt -= tilt.min()
    found, wanted = (
        log_likelihood(group, w) + tilt @ w
        for w in (fitted(group.law, group.counts, tilt, start), by_exchange(group, tilt))
    )
    assert found > wanted - 1e-3 - 1e-6 * tilt.max()


def test_two_users_have_limits():
    """Fits with a steep tilt, which ended without an answer."""
    both = {"a": rs.Ranks([1, 1], 11), "b": rs.Ranks([4, 7], 11)}
    table = rs.report(both, n_items=100, drawn="uniform", replace=False).table
    assert (table["low"] <= table["high"]).all()
    rng, metric = np.random.default_rng(0), rs.Recall @ 1
    for _ in range(8):
        m = int(rng.integers(2, 30))
        pool = m + int(10 ** rng.uniform(0, 5))
        a, b = (
            SampledRun(rs.Ranks(rng.integers(1, m + 2, 2), m + 1), pool + 1, False, [metric])
            for _ in "ab"
        )
        found = compared(metric, a, b, "decreasing", 0.95)
        assert -1 <= found.low <= found.high <= 1
