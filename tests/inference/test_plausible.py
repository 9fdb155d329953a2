"""The estimate from what is plausible, against a direct sum, and its error on other populations."""

import csv
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

import recsample as rs
from recsample.inference import limits
from recsample.inference.likelihood.plausible import plausible_weights
from recsample.inference.likelihood.sampled_run import SampledRun


def parts_by_hand(n):
    """The distributions that are mixed, of ranks 1 to n, and how often each is chosen."""
    r = np.arange(1, n + 1)
    exponents = [0.2 * k for k in range(1, 16)]
    offsets = [0.3 * (n / 20 / 0.3) ** (k / 13) for k in range(14)]
    found = [(0.2 / 15, r**-b) for b in exponents]
    found += [(0.4 / 210, (r + c) ** -b) for c in offsets for b in exponents]
    found.append((0.2, np.ones(n)))
    upto = sorted({round((n / 5) ** (k / 19)) for k in range(20)})
    found += [(0.1 / len(upto), (r <= k) * 1.0) for k in upto]
    edges = [n / 5 * k for k in (1, 1.25, 1.5, 2, 2.5, 3.5, 5)]
    found += [(0.1 / 6, ((r > a) & (r <= b)) * 1.0) for a, b in zip(edges, edges[1:])]
    return [chance for chance, _ in found], np.array([p / p.sum() for _, p in found])


def posterior_mean(counts, n, m):
    """Of 10,000 mixtures of two parts, one by one; fifteen of them share the weight."""
    chance, parts = parts_by_hand(n)
    ends = np.cumsum(chance)
    law = stats.hypergeom.pmf(np.arange(m + 1), n - 1, np.arange(n)[:, None], m)
    root = optimize.brentq(lambda x: x**4 - x - 1, 1, 2)
    mixtures = []
    for i in range(1, 10_001):
        one, other, place = ((0.5 + i * root**-k) % 1 for k in (1, 2, 3))
        share = np.sin(np.pi / 2 * place) ** 2
        one, other = (parts[min(np.searchsorted(ends, x), len(ends) - 1)] for x in (one, other))
        mixtures.append(share * one + (1 - share) * other)
    log_likelihood = np.log(np.maximum(np.array(mixtures) @ law, 1e-300)) @ counts
    off = log_likelihood - log_likelihood.max()

    def sharing(power):
        return np.exp(power * off).sum() ** 2 / np.exp(2 * power * off).sum()

    power = 1.0 if sharing(1) >= 15 else optimize.brentq(lambda x: sharing(x) - 15, 1e-4, 1)
    weights = np.exp(power * off)
    return weights / weights.sum() @ np.array(mixtures)


@pytest.mark.parametrize("counts", [[300, 90, 40, 30, 40], [5, 2, 0, 0, 0], [0, 0, 0, 0, 9000]])
def test_the_mean_over_what_is_plausible_is_the_sum_over_all_of_it(counts):
    n, m = 40, 4
    sampled = rs.Ranks(np.repeat(np.arange(1, m + 2), counts), m + 1)
    run = SampledRun(sampled, n, False, [])
    (column,) = run.columns("decreasing")
    assert column.steps.tolist() == list(range(n))
    (weights,) = plausible_weights(run.strata, False, ())
    found = weights[: len(column.head)] @ column.head
    found[column.tail] += weights[len(column.head) :]
    assert found == pytest.approx(posterior_mean(counts, n, m), abs=1e-5)


@pytest.mark.parametrize("order", [1, 3])
def test_plausible_ranks_of_several_items_are_those_of_independent_ones(order):
    """All three items of each user among the first hundred ranks of 1,000, and at random there."""
    rng = np.random.default_rng(0)
    ranks = rs.Ranks([rng.choice(100, 3, replace=False) + 1 for _ in range(2000)], 1000)
    run = SampledRun(rs.UniformSampling(300).draw(ranks, rng), 1000, False, [])
    one, column = next(
        (s, c) for s, c in zip(run.strata, run.columns("decreasing")) if s.order == order
    )
    (weights,) = plausible_weights([one], False, ())
    head = weights[: len(column.head)] @ column.head
    # The chance that the best of three is among the first fifty is 1 - 1/8, and of the worst 1/8.
    expected = {1: 1 - 0.5**3, 3: 0.5**3}[order]
    assert head[column.steps < 50 - order].sum() == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("column", [[1] * 50, [1, 11], [1] * 99 + [11]])
def test_an_estimate_is_within_its_limits(column):
    """Of limits that are seldom right, where it is outside of them by itself."""
    sampled, outside = rs.Ranks(column, 11), 0
    for metric in (rs.Recall @ 1, rs.AP):
        estimate = SampledRun(sampled, 15, False, [metric]).estimate(metric)
        found = limits(metric, sampled, 15, level=0.1)
        outside += not found.low <= estimate <= found.high
        assert 0 <= found.low <= found.value <= found.high <= 1
    assert outside


def test_the_error_on_a_population_that_had_no_part_in_the_choice():
    """Of Recall@1, NDCG@10 and AP together at most 0.8 of that from a flat start."""
    n, rng, metrics = 20_000, np.random.default_rng(5), [rs.Recall @ 1, rs.NDCG @ 10, rs.AP]
    chances = np.exp(-(np.log(np.arange(1, n + 1) / 60) ** 2) / 2 / 1.7**2) / np.arange(1, n + 1)
    errors = []
    for _ in range(8):
        ranks = rs.Ranks(1 + rng.choice(n, 3000, p=chances / chances.sum()), n)
        run = SampledRun(rs.UniformSampling(100).draw(ranks, rng), n, False, metrics)
        for metric in metrics:
            (one,), exact = run.mixtures(metric, "smooth"), metric(ranks).mean()
            errors.append((run.estimate(metric) - exact, one.mean @ run.smoothed[0] - exact))
    square = (np.reshape(errors, (8, 3, 2)) ** 2).mean(axis=0)
    assert np.exp(np.log(square[:, 0] / square[:, 1]).mean() / 2) < 0.8


@dataclass(frozen=True, repr=False)
class _Misses(rs.Metric):
    """How many of the first five ranks pass a user by: 1 - Recall@5, and lower is better."""

    name = "MissesOfAPlausibleTest"
    higher_is_better = False
    takes_cutoff = False
    additive = True

    def term(self, rank, order, n_relevant, n_items):
        return (rank > 5) * 1.0


@pytest.mark.parametrize(("at_top", "last", "clearly"), [(0.0, 30, True), (0.3, 2000, False)])
def test_the_estimate_is_the_harmonic_mean_where_what_is_plausible_is_clearly_lower(
    at_top, last, clearly
):
    """In the mirror it is the same: a metric of which less is better is moved the other way."""
    rng, n, metric = np.random.default_rng(2), 2000, rs.Recall @ 5
    ranks = rs.Ranks(np.where(rng.random(800) < at_top, 1, rng.integers(1, last, 800)), n)
    run = SampledRun(rs.UniformSampling(40).draw(ranks, rng), n, False, [metric])
    flat, likely = (
        float(run.mixtures(metric, kind)[0].mean @ weights[0])
        for kind, weights in (("smooth", run.smoothed), ("decreasing", run.plausible))
    )
    assert (1.1 * likely < flat) == clearly
    expected = 3 / (1 / flat + 2 / (1.1 * likely)) if clearly else flat
    assert run.estimate(metric) == pytest.approx(expected, rel=1e-9)
    assert run.estimate(_Misses()) == pytest.approx(1 - expected, rel=1e-9)


def test_the_record_says_that_no_cut_off_is_much_the_worse_for_it():
    path = Path(__file__).parents[2] / "recsample/data/records/estimates.csv"
    ratios, cells = {}, 0
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        # Errors that three printed digits do not show count as this one.
        flat, error = (max(float(row[k]), 0.0005) for k in ("flat", "error"))
        ratios.setdefault((row["population"], row["metric"]), []).append(error / flat)
    means = {key: stats.gmean(found) for key, found in ratios.items()}
    first = [r for key, found in ratios.items() if "Recall@" not in key[1] for r in found]
    first += [r for key, found in ratios.items() if key[1] == "Recall@1" for r in found]
    assert stats.gmean(first) < 0.8
    for key, found in ratios.items():
        if key[1] in ("Recall@10", "Recall@50"):
            cells += len(found)
            assert means[key] < 1.05 and max(found) < 1.5
    assert cells == 372


@pytest.mark.thorough
def test_ten_items_are_estimated_as_well():
    several = rs.datasets.recorded_several()["X"][:600]
    run = SampledRun(rs.UniformSampling(100).draw(several, rng=0), several.n_items, False, [rs.AP])
    for metric in (rs.Recall @ 10, rs.Recall @ 50):
        assert run.estimate(metric) == pytest.approx(metric(several).mean(), abs=0.012)


def test_the_estimate_of_a_large_study_takes_a_moment():
    rng, n, m = np.random.default_rng(0), 1_000_000, 100
    ranks = np.minimum(np.exp(rng.normal(5, 2.5, 100_000)), n - 1).astype(int)
    sampled = rs.Ranks(rng.hypergeometric(ranks, n - 1 - ranks, m) + 1, m + 1)
    run = SampledRun(sampled, n, False, [rs.Recall @ 10])
    run.columns("decreasing")  # which limits need as well
    start = time.process_time()
    assert len(run.plausible) == 1
    assert time.process_time() - start < 0.4  # a fifth of a second on a machine of its own
