"""The estimated distribution of the ranks, against slow references, optimality and simulation."""

from itertools import combinations_with_replacement
from math import lgamma

import numpy as np
import pytest
from scipy import optimize, special

import recsample as rs
from recsample import AP, AUC, NDCG, BiasVariance, Ranks, Recall, UniformSampling, inference
from recsample.inference.distribution import (
    expectation_maximisation,
    maximum_entropy,
    sampled_counts,
)
from recsample.sampling import large_pools

METHODS = ["em", "mes"]


def some_run(n, m, size=400, replace=False, seed=0):
    """Ranks with p(r) proportional to 1 / r, sampled."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, n + 1)
    ranks = Ranks(rng.choice(np.arange(1, n + 1), size=size, p=weights / weights.sum()), n)
    sampler = UniformSampling(m, replace)
    return sampler.draw(ranks, rng), sampler


def em_by_instance(sampled, law, iterations):
    """EM as the textbook has it: a posterior for every instance, and their mean."""
    p = [1 / len(law)] * len(law)
    for _ in range(iterations):
        total = [0.0] * len(law)
        for rank in sampled.values:
            joint = [p[r] * law[r][rank - 1] for r in range(len(law))]
            total = [t + j / sum(joint) for t, j in zip(total, joint)]
        p = [t / len(sampled) for t in total]
    return np.array(p)


def log_likelihood(sampled, law, p):
    return np.log((p @ law)[sampled.values - 1]).sum()


# Counts


def test_counts_of_a_run():
    sampled, sampler = some_run(30, 6)
    counts = sampled_counts(sampled, sampler)
    assert counts.tolist() == [sampled.values.tolist().count(s) for s in range(1, 8)]


@pytest.mark.parametrize(
    ("sampled", "message"),
    [
        ([1, 2], "sampled must be Ranks, got list"),
        (Ranks([[1, 2], [3]], 7), "one relevant item per instance, got 2 in instance 0"),
        (Ranks([1, 2], 5, ties=[0, 1]), "no ties, got 1 in instance 1"),
        (Ranks([1, 2], [5, 6]), r"n_items = m \+ 1 = 5, got 6 in instance 1"),
    ],
)
def test_refuses_what_is_no_run_of_the_sampler(sampled, message):
    sampler = UniformSampling(4)
    with pytest.raises(ValueError, match=message):
        sampled_counts(sampled, sampler)
    for method in METHODS:
        with pytest.raises(ValueError, match=message):
            inference.rank_distribution(sampled, sampler, 20, method)


def test_refuses_an_unknown_method_and_a_small_pool():
    sampled, sampler = some_run(30, 6)
    with pytest.raises(ValueError, match="method must be 'em' or 'mes', got 'EM'"):
        inference.rank_distribution(sampled, sampler, 30, "EM")
    for method in METHODS:
        with pytest.raises(ValueError, match="n_items"):
            inference.rank_distribution(sampled, sampler, 6, method)


# All methods


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_is_a_distribution_and_what_the_method_gives(method, replace):
    sampled, sampler = some_run(80, 9, replace=replace)
    p = inference.rank_distribution(sampled, sampler, 80, method)
    assert p.shape == (80,) and p.min() >= 0 and p.sum() == pytest.approx(1, abs=1e-12)
    alone = {"em": expectation_maximisation, "mes": maximum_entropy}[method](sampled, sampler, 80)
    assert np.array_equal(p, alone)


@pytest.mark.parametrize("method", METHODS)
def test_finds_a_distribution_from_many_instances(method):
    n, size = 200, 200_000
    sampled, sampler = some_run(n, 30, size)
    truth = 1 / np.arange(1, n + 1) / sum(1 / np.arange(1, n + 1))
    p = inference.rank_distribution(sampled, sampler, n, method)
    for metric in (AP, NDCG @ 20, Recall @ 20):
        exact = metric.of_rank(np.arange(1, n + 1), n) @ truth
        naive = metric(sampled).mean()
        assert abs(inference.plug_in(metric, p) - exact) < abs(naive - exact) / 5, metric
    assert inference.plug_in(AUC, p) == pytest.approx(AUC(sampled).mean(), abs=0.002)


@pytest.mark.parametrize("method", METHODS)
def test_does_not_depend_on_the_order_of_the_instances(method):
    sampled, sampler = some_run(80, 9)
    reverse = Ranks(sampled.values[::-1], sampled.n_items)
    same = [inference.rank_distribution(run, sampler, 80, method) for run in (sampled, reverse)]
    assert np.array_equal(*same)


# EM


@pytest.mark.parametrize("replace", [False, True])
def test_em_is_the_loop_over_the_instances(replace):
    sampled, sampler = some_run(25, 6, size=60, replace=replace)
    for iterations in (1, 2, 7):
        p = expectation_maximisation(sampled, sampler, 25, iterations=iterations)
        slow = em_by_instance(sampled, sampler.law(25).tolist(), iterations)
        assert p == pytest.approx(slow, rel=1e-11)


def test_em_raises_the_likelihood():
    sampled, sampler = some_run(60, 12)
    law = sampler.law(60)
    steps = [*range(1, 30), 100, 1000]
    likelihood = [
        log_likelihood(sampled, law, expectation_maximisation(sampled, sampler, 60, iterations=i))
        for i in steps
    ]
    assert (np.diff(likelihood) > 0).all()


def test_em_of_everything_sampled_is_the_histogram():
    ranks = Ranks([1, 1, 4, 5, 5, 5], 6)
    p = expectation_maximisation(ranks, UniformSampling(5), 6, iterations=1)
    assert p == pytest.approx(np.array([2, 0, 0, 1, 3, 0]) / 6)


# Maximum entropy


@pytest.mark.parametrize("weight", [0.5, 10.0])
def test_maximum_entropy_solves_the_primal_problem(weight):
    n, size = 12, 50
    sampled, sampler = some_run(n, 4, size=size)
    law = sampler.law(n)
    share = np.bincount(sampled.values, minlength=6)[1:] / size
    variance = em_by_instance(sampled, law.tolist(), 30) @ law

    def loss(p):
        misfit = size * ((share - p @ law) ** 2 / variance).sum() / 2
        return misfit + weight * special.xlogy(p, p).sum()

    found = optimize.minimize(
        loss,
        np.full(n, 1 / n),
        method="SLSQP",
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    p = maximum_entropy(sampled, sampler, n, weight=weight)
    assert loss(p) <= found.fun + 1e-9
    assert p == pytest.approx(found.x, abs=2e-5)


def test_maximum_entropy_between_fit_and_uniform():
    sampled, sampler = some_run(60, 12)
    flat = maximum_entropy(sampled, sampler, 60, weight=1e9)
    assert flat == pytest.approx(np.full(60, 1 / 60), rel=1e-4)
    entropy = [
        special.entr(maximum_entropy(sampled, sampler, 60, weight=w)).sum()
        for w in (0.01, 0.1, 1, 10, 100)
    ]
    assert (np.diff(entropy) > 0).all()


def test_maximum_entropy_where_no_instance_has_most_sampled_ranks():
    sampler = UniformSampling(50)
    p = maximum_entropy(Ranks([1] * 1000, 51), sampler, 500)
    assert p[0] == p.max() and p[200:].sum() < 1e-3


# Plug-in estimates and priors


@pytest.mark.parametrize("metric", [AP, AUC, NDCG, Recall @ 3], ids=str)
def test_plug_in_of_the_ranks_themselves(metric):
    ranks = Ranks([1, 3, 3, 8, 20], 20)
    p = np.bincount(ranks.values - 1, minlength=20) / 5
    assert inference.plug_in(metric, p) == pytest.approx(metric(ranks).mean(), rel=1e-14)


@pytest.mark.parametrize(
    ("metric", "p", "message"),
    [
        (AP, [0.5, 0.4], "sum 1, got shape .2,. with sum 0.9"),
        (AP, [1.5, -0.5], "distribution must be finite numbers of at least 0.0, got -0.5"),
        (AP, [[0.5, 0.5]], "sum 1, got shape .1, 2."),
        (3, [0.5, 0.5], "metric must be"),
        (Recall, [0.5, 0.5], "Recall"),
    ],
)
def test_plug_in_refuses(metric, p, message):
    with pytest.raises(ValueError, match=message):
        inference.plug_in(metric, p)


def test_plausible_prior_is_the_mean_of_power_laws_that_level_off():
    laws = [[(a + h) ** (-b / 10) for a in range(7)] for b in range(11) for h in (1, 10, 100)]
    mean = [sum(law[a] / sum(law) for law in laws) / 33 for a in range(7)]
    assert inference.plausible_prior(7) == pytest.approx(mean, rel=1e-13)
    with pytest.raises(ValueError, match="n_items must be a whole number of at least 1"):
        inference.plausible_prior(0)


@pytest.mark.parametrize("metric", [AP, Recall @ 2], ids=str)
@pytest.mark.parametrize(("size", "c"), [(1, 3.0), (4, 0.5), (5, 2.0), (3, 40.0)])
def test_best_gamma_minimises_the_expected_squared_error(metric, size, c):
    """Over all values x, by going through all histograms of the ranks of `size` instances."""
    n, sampler = 4, UniformSampling(2)
    law, target = sampler.law(n), metric.of_rank(np.arange(1, n + 1), n)
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    second = np.zeros((n, n))
    for ranks in combinations_with_replacement(range(n), size):
        counts = np.bincount(ranks, minlength=n)
        alpha = c * prior
        chance = np.exp(
            sum(map(lgamma, counts + alpha)) - sum(map(lgamma, alpha))
            + lgamma(c) - lgamma(c + size)
            + lgamma(size + 1) - sum(map(lgamma, counts + 1.0))
        )  # fmt: skip
        second += chance * np.outer(counts, counts) / size**2
    # Error of the mean: E (counts @ (law x - target) / size)^2 + E counts @ v / size^2, with
    # v = law x^2 - (law x)^2. Its gradient is linear in x.
    noise = np.diag(prior @ law) - law.T @ (prior[:, None] * law)
    matrix = law.T @ second @ law + noise / size
    best = np.linalg.solve(matrix, law.T @ second @ target)
    gamma = inference.best_gamma(size, c)
    found = BiasVariance(metric, sampler, n, gamma=gamma, prior=prior).values
    assert found == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize(
    ("size", "c", "message"),
    [
        (0, 1.0, "n_instances must be a whole number of at least 1, got 0"),
        (10, -1.0, "concentration must be a finite number of at least 0, got -1.0"),
        (10, np.nan, "concentration must be a finite number of at least 0, got nan"),
    ],
)
def test_best_gamma_refuses(size, c, message):
    with pytest.raises(ValueError, match=message):
        inference.best_gamma(size, c)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sampler", [rs.InverseSampling(), rs.UniformSampling, 100])
def test_refuses_other_samplers(method, sampler):
    with pytest.raises(ValueError, match="sampler must be UniformSampling, such as .*, got "):
        inference.rank_distribution(Ranks([1, 2], 3), sampler, 9, method)


def test_learned_prior_corrects_better_than_the_uniform_one():
    sampled, sampler = some_run(300, 30, size=20_000)
    weights = 1 / np.arange(1, 301)
    exact = Recall @ 10
    truth = (weights / weights.sum())[:10].sum()
    learned = inference.rank_distribution(sampled, sampler, 300)
    error = [
        abs(BiasVariance(exact, sampler, 300, gamma=0.1, prior=prior)(sampled).mean() - truth)
        for prior in (learned, None)
    ]
    assert error[0] < error[1] / 2


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "m"), [(800, 8), (2_000, 60)])
def test_few_ranks_give_the_same_as_all_of_them(n, m, method, replace, monkeypatch):
    sampler = UniformSampling(m, replace)
    ranks = Ranks(1 + (n * np.linspace(0, 0.999, 500) ** 4).astype(int), n)
    sampled, found = sampler.draw(ranks, rng=0), []
    for small in (2**40, 0):
        monkeypatch.setattr(large_pools, "_SMALL", small)
        found.append(inference.rank_distribution(sampled, sampler, n, method))
    assert found[1].shape == (n,) and found[1].sum() == pytest.approx(1, abs=1e-12)
    assert found[1] == pytest.approx(found[0], rel=1e-10, abs=1e-12 / n)
