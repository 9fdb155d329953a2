"""Estimates from popular negatives: without bias by enumeration, and their exact variance."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from weighted import POOLS, STUDY, agree, ranked, repeated, sequences

import recsample as rs
from recsample import AP, AUC, NDCG, ImportanceSampling, PopularitySampling, UniformSampling


def weights_of(drawn, sides, weights, replace):
    """Hansen-Hurwitz or Des Raj weights of a sequence of draws; a tied item counts as `sides`."""
    total, pool, found = sum(weights), len(weights), []
    before, gone = Fraction(0), 0
    for j in drawn:
        q = Fraction(weights[j], total)
        if replace:
            found.append(Fraction(sides[j]) / q / pool)
        else:
            found.append((before + Fraction(sides[j]) * (1 - Fraction(gone, total)) / q) / pool)
            before, gone = before + sides[j], gone + weights[j]
    return found


def subsets_mean(x, w):
    """The mean of x over all subsets of the draws, each in with "probability" w."""
    total = Fraction(0)
    for size in range(len(w) + 1):
        for inside in combinations(range(len(w)), size):
            part = Fraction(1)
            for i, wi in enumerate(w):
                part *= wi if i in inside else 1 - wi
            total += part * x[size]
    return total


ESTIMATED = [p for p in POOLS if all(w for w in p[1])]


@pytest.mark.parametrize(("sides", "weights"), ESTIMATED)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("x", [[1, Fraction(1, 2), 0], [5, -2, Fraction(1, 3), 4]])
def test_estimates_are_unbiased_and_their_variance_is_right(sides, weights, replace, x):
    m, pool, t = len(x) - 1, len(sides), sides.count(None)
    mean = square = uniform = Fraction(0)
    for place in range(t + 1):
        counted = [Fraction(place, t) if s is None else s for s in sides]
        p = Fraction(sum(s == 1 for s in sides) + place, pool)
        uniform += sum(
            comb(m, s) * p**s * (1 - p) ** (m - s) * x[s] / (t + 1) for s in range(m + 1)
        )
        for drawn, chance in sequences(weights, m, replace):
            value = subsets_mean(x, weights_of(drawn, counted, weights, replace))
            mean += chance * value / (t + 1)
            square += chance * value**2 / (t + 1)
    assert mean == uniform
    if replace:
        design = ImportanceSampling(m, [*weights, 9], True)
        found = design.variance(OnSampled([float(v) for v in x]), ranked(sides))
        np.testing.assert_allclose(found, float(square - mean**2), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("sides", "weights"), ESTIMATED)
@pytest.mark.parametrize("replace", [False, True])
def test_ties_count_half_in_the_estimate_of_auc(sides, weights, replace):
    counted = [Fraction(1, 2) if s is None else Fraction(s) for s in sides]
    mean = square = Fraction(0)
    value = {}
    for drawn, chance in sequences(weights, 2, replace):
        value[drawn] = 1 - sum(weights_of(drawn, counted, weights, replace)) / 2
        mean, square = mean + chance * value[drawn], square + chance * value[drawn] ** 2
    items = ranked(*[sides] * 20)
    assert np.isclose(float(mean), AUC(items)[0], rtol=1e-15)
    design = ImportanceSampling(2, [*weights, 9], replace)
    drawn = design.draw_items(items, rng=8).tolist()
    expected = [float(value[tuple(row)]) for row in drawn]
    np.testing.assert_allclose(design.estimate(AUC, items, rng=8), expected, atol=1e-13)
    if replace:
        variance = design.variance(AUC, items)[0]
        np.testing.assert_allclose(variance, float(square - mean**2), rtol=1e-12, atol=1e-15)


class OnSampled(rs.metrics.Metric):
    """A metric of given values at the sampled ranks."""

    name = "OnSampled"

    def __init__(self, values):
        self.values = np.asarray(values)

    def term(self, rank, order, n_relevant, n_items):
        return self.values[rank - 1]


@pytest.mark.parametrize(("sides", "weights"), [p for p in ESTIMATED if None not in p[0]])
@pytest.mark.parametrize("replace", [False, True])
def test_estimate_of_given_draws(sides, weights, replace):
    x = [5, -2, Fraction(1, 3), 4]
    items = ranked(*[sides] * 20)
    design = ImportanceSampling(3, [*weights, 9], replace)
    drawn = design.draw_items(items, rng=4)
    found = design.estimate(OnSampled([float(v) for v in x]), items, rng=4)
    expected = [
        float(subsets_mean(x, weights_of(row, sides, weights, replace))) for row in drawn.tolist()
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("replace", [False, True])
def test_estimate_of_auc_is_unbiased_at_large(replace):
    n = 3000
    items, few = repeated([0, 1], n), repeated([0, 1], 1)
    design = ImportanceSampling(20, STUDY[3], replace)
    values = design.estimate(AUC, items, rng=6).reshape(2, n)
    error = values.std(axis=1) / np.sqrt(n)
    assert np.abs((values.mean(axis=1) - AUC(few)) / error).max() < 4
    # What a sampled study reports is not: it is off by far more.
    reported = PopularitySampling(20, STUDY[3], replace).expect(AUC, few)
    assert np.abs((reported - AUC(few)) / error).min() > 10
    assert design.expect(AUC, few) == pytest.approx(AUC(few), abs=1e-14)
    if replace:
        assert agree(values, AUC(few), design.variance(AUC, few))


def test_corrections_carry_over():
    few = repeated([0, 1], 1)
    weights = STUDY[3] + STUDY[3].mean()
    design = ImportanceSampling(6, weights, replace=True)
    uniform = UniformSampling(6, replace=True)
    corrected = rs.BiasVariance(AP, uniform, n_items=160, gamma=0.1)
    n = 4000
    values = design.estimate(corrected, repeated([0, 1], n), rng=7).reshape(2, n)
    variance = design.variance(corrected, few)
    assert agree(values, uniform.expect(corrected, few), variance)
    assert design.expect(corrected, few).tolist() == uniform.expect(corrected, few).tolist()


@pytest.mark.parametrize("m", [1, 10, 100])
@pytest.mark.parametrize("above", [0, 1, 30, 200, 389, 390])
def test_variance_of_the_estimate_for_equal_weights_is_that_of_the_metric(m, above):
    items = ranked([1] * above + [0] * (390 - above))
    design = ImportanceSampling(m, np.ones(391), replace=True)
    for metric in (AUC, AP, NDCG @ 5 if m > 5 else NDCG):
        np.testing.assert_allclose(
            design.variance(metric, items),
            UniformSampling(m, replace=True).variance(metric, items),
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ImportanceSampling(1, [1, 0, 1]).estimate(AUC, ranked([0, 0], [0, 1]), 0),
            "got 0 for item 1 in instance 1",
        ),
        (
            lambda: ImportanceSampling(1, [1, 0, 1], True).variance(AUC, ranked([0, None])),
            "got 0 for item 1 in instance 0",
        ),
        (
            lambda: ImportanceSampling(1, [1, 1, 1]).variance(AUC, ranked([0, 1])),
            "replace must be True for the variance of an estimate, got False",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
