"""A sampler, a design and a metric as a reader may write them, against public names only."""

from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np
import pytest
from law_of_draws import check_draws

import recsample as rs
from recsample import AP, AUC, Ranks

N_ITEMS, M = 40, 6


# [sampler] The judge of each drawn item is wrong with a given probability.
@dataclass(frozen=True)
class NoisySampling(rs.sampling.SumsOverLaw):
    m: int
    error: float

    def share(self, above, pool):
        return above / pool + self.error * (1 - 2 * above / pool)

    def law(self, n_items):
        s, p = np.arange(self.m + 1), self.share(np.arange(n_items), n_items - 1)[:, None]
        return np.array([comb(self.m, k) for k in s]) * p**s * (1 - p) ** (self.m - s)

    def draw(self, ranks, rng):
        rng = np.random.default_rng(rng)
        above = ranks.break_ties("random", rng).rows.above
        return ranks.at(1 + rng.binomial(self.m, self.share(above, ranks.n_irrelevant)), self.m + 1)


# [end]


SAMPLER = NoisySampling(M, error=0.1)
EVERY = Ranks(np.arange(1, N_ITEMS + 1), N_ITEMS)
RANKS = {"good": Ranks([1, 2, 3, 9] * 50, N_ITEMS), "poor": Ranks([1, 8, 20, 30] * 50, N_ITEMS)}


def test_without_errors_it_is_uniform_sampling_with_replacement():
    exact = NoisySampling(M, error=0.0)
    assert exact.law(N_ITEMS) == pytest.approx(rs.UniformSampling(M, True).law(N_ITEMS))
    with_name = AP, EVERY
    assert exact.expect(*with_name) == pytest.approx(rs.UniformSampling(M, True).expect(*with_name))


@pytest.mark.parametrize(
    "correction",
    [partial(rs.BiasVariance, gamma=0.1), rs.ConstrainedLeastSquares, rs.MinimalBias],
    ids=["BiasVariance", "ConstrainedLeastSquares", "MinimalBias"],
)
def test_corrections_are_made_for_it(correction):
    corrected = correction(AP, SAMPLER, N_ITEMS)
    law = SAMPLER.law(N_ITEMS)
    mean = law @ corrected.values
    assert SAMPLER.expect(corrected, EVERY) == pytest.approx(mean, abs=1e-12)
    assert corrected.squared_bias == pytest.approx(((mean - AP(EVERY)) ** 2).mean(), abs=1e-13)
    blind = correction(AP, rs.UniformSampling(M, True), N_ITEMS)
    unaware = ((law @ blind.values - AP(EVERY)) ** 2).mean()
    assert corrected.squared_bias < unaware
    drawn = SAMPLER.draw(Ranks([3] * 20_000, N_ITEMS), 0)
    error = np.sqrt(SAMPLER.variance(corrected, Ranks([3], N_ITEMS))[0] / 20_000)
    assert abs(corrected(drawn).mean() - mean[2]) < 4 * error


def test_what_is_made_for_another_sampler_is_refused_without_a_line_for_it():
    ranks = RANKS["good"]
    own = rs.BiasVariance(AP, SAMPLER, N_ITEMS, gamma=0.1)
    for sampler, other in (
        (SAMPLER, rs.BiasVariance(AP, rs.UniformSampling(M), N_ITEMS, gamma=0.1)),
        (SAMPLER, rs.BiasVariance(AP, NoisySampling(M, 0.2), N_ITEMS, gamma=0.1)),
        (rs.UniformSampling(M), own),
        (NoisySampling(M, 0.2), own),
    ):
        for method in (sampler.expect, sampler.variance, sampler.std_of_mean):
            with pytest.raises(ValueError, match="metric must read what .* which is made for"):
                method(other, ranks)
        with pytest.raises(ValueError, match="metric must read what .* which is made for"):
            rs.experiments.bias_and_variance({"it": other}, AP, sampler, N_ITEMS)
    with pytest.raises(ValueError, match="sampler must be UniformSampling for a rank estimate"):
        rs.RankEstimate(AP, SAMPLER, N_ITEMS)
    for method in (SAMPLER.expect, SAMPLER.variance, SAMPLER.std_of_mean):
        with pytest.raises(ValueError, match="metric must be a Metric"):
            method("AQ", ranks)


def test_bias_and_variance_of_its_estimators():
    estimators = {"sampled": AP, "corrected": rs.BiasVariance(AP, SAMPLER, N_ITEMS, gamma=0.1)}
    table = rs.experiments.bias_and_variance(estimators, AP, SAMPLER, N_ITEMS)
    for name, one in estimators.items():
        bias = SAMPLER.expect(one, EVERY) - AP(EVERY)
        assert table.loc[name, "mean bias"] == pytest.approx(bias.mean(), abs=1e-13)
        assert table.loc[name, "rms bias"] == pytest.approx(np.sqrt((bias**2).mean()))
        variance = SAMPLER.variance(one, EVERY).mean()
        assert table.loc[name, "std"] == pytest.approx(np.sqrt(variance))


def test_recommenders_are_compared_under_it():
    corrected = rs.BiasVariance(AP, SAMPLER, N_ITEMS, gamma=0.1)
    sampled = {name: SAMPLER.draw(ranks, i) for i, (name, ranks) in enumerate(RANKS.items())}
    found = rs.compare(sampled, [AP, corrected])
    assert found.loc["good", str(corrected)] > found.loc["poor", str(corrected)]
    compared = rs.inference.paired_comparison(AP, sampled["good"], sampled["poor"])
    gap = found.loc["good", "AP"] - found.loc["poor", "AP"]
    assert compared.difference == pytest.approx(gap) and compared.probability > 0.99
    # What the exact means may be is bounded by the likelihood, which is that of uniform sampling.
    with pytest.raises(ValueError, match="sampler must be UniformSampling, .* got NoisySampling"):
        rs.inference.paired_comparison(corrected, sampled["good"], sampled["poor"])


@pytest.mark.parametrize(
    "sampler", [SAMPLER, rs.UniformSampling(M), rs.UniformSampling(M, replace=True)], ids=str
)
def test_draws_and_moments_follow_the_law(sampler):
    check_draws(sampler, N_ITEMS, rng=0)
    check_draws(sampler, 2 * M, rng=1)


@dataclass(frozen=True)
class FirstAbove(rs.Design):
    """Whether the first drawn item outranks the relevant one: an estimate of AUC."""

    def share(self, ranks):
        return ranks.rows.above / ranks.n_irrelevant

    def draw(self, ranks, rng):
        lost = np.random.default_rng(rng).random(len(ranks)) < self.share(ranks)
        return rs.Observed(self, ranks.sizes, lost=lost)

    def of(self, metric, observed):
        return 1.0 - observed["lost"]

    def expect(self, metric, ranks):
        return 1 - self.share(ranks)

    def variance(self, metric, ranks):
        return self.share(ranks) * (1 - self.share(ranks))

    def cost(self, ranks):
        return np.ones(len(ranks))


def test_a_design_of_ones_own():
    design, ranks = FirstAbove(), RANKS["poor"]
    assert design.expect(AUC, ranks) == pytest.approx(AUC(ranks))
    many = Ranks(np.tile(ranks.values, 200), N_ITEMS)
    found = design.estimate(AUC, many, 0).reshape(200, -1).mean(axis=1)
    std = design.std_of_mean(AUC, ranks)
    assert abs(found.mean() - AUC(ranks).mean()) < 4 * std / np.sqrt(200)
    assert found.std() == pytest.approx(std, rel=4 / np.sqrt(400))
    with pytest.raises(ValueError, match=r"FirstAbove\(\) must draw its items itself"):
        design.scan(rs.sampling.Scan(lambda users, items: items, [0], n_items=9))
    with pytest.raises(ValueError, match=r"observed must be .* got one of FirstAbove\(\)"):
        rs.InverseSampling().of(AP, design.draw(ranks, 0))
    with pytest.raises(ValueError, match=r"design FirstAbove\(\) observes"):
        rs.report(design.draw(ranks, 0), m=1, n_items=N_ITEMS)


@dataclass(frozen=True, repr=False)
class Top(rs.metrics.Metric):
    """What a shop earns: less from place to place, nothing beyond the cut-off."""

    loss: float = 0.1
    cutoff: int | None = None
    name = "Top"

    def term(self, rank, order, n_relevant, n_items):
        return self.within(rank) * np.maximum(1 - self.loss * (rank - 1), 0) / n_relevant


def test_a_metric_of_ones_own():
    metric = Top(loss=0.2) @ 4
    assert str(metric) == "Top@4" and metric == Top(0.2, 4) and metric(loss=0.3).loss == 0.3
    values = np.where(np.arange(1, 41) <= 4, 1 - 0.2 * np.arange(40), 0)
    assert metric.of_rank(range(1, 41), 40) == pytest.approx(values)
    tied = metric(Ranks([2], 40, ties=[3]))
    assert tied == pytest.approx([values[1:5].mean()])
    assert metric(Ranks([[1, 3, 9]], 40)) == pytest.approx([(1 + 0.6) / 3])
    # No closed form is known of it, so everything is summed over the law.
    assert metric.shape == rs.metrics.shapes.Shape()
    for replace in (False, True):
        sampler = rs.UniformSampling(M, replace)
        at = metric.of_rank(np.arange(1, M + 2), M + 1)
        law = sampler.law(40)
        assert sampler.expect(metric, EVERY) == pytest.approx(law @ at)
        assert sampler.variance(metric, EVERY) == pytest.approx(law @ at**2 - (law @ at) ** 2)
    corrected = rs.BiasVariance(metric, rs.UniformSampling(M), 40, gamma=0.01)
    law = rs.UniformSampling(M).law(40)
    naive = ((law @ metric.of_rank(np.arange(1, M + 2), M + 1) - values) ** 2).mean()
    assert corrected.squared_bias < naive / 2
    assert rs.EarlyStopping(4).estimate(metric, EVERY, 0) == pytest.approx(values)
    with pytest.raises(ValueError, match="metric must be AP, .* got Top@4"):
        rs.InverseSampling().expect(metric, EVERY)
