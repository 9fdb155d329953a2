"""Whatever is said of a metric in other units is as many times what is said of the metric."""

from dataclasses import dataclass

import numpy as np
import pytest

import recsample as rs
from recsample.metrics.base import Metric

TIMES = 100


@dataclass(frozen=True, repr=False)
class InPercent(Metric):
    """A metric without a cut-off, in percent."""

    metric: Metric
    takes_cutoff = False

    @property
    def name(self):
        return f"{self.metric} in percent"

    @property
    def higher_is_better(self):
        return self.metric.higher_is_better

    @property
    def form(self):
        return self.metric.form

    def term(self, rank, order, n_relevant, n_items):
        return TIMES * self.metric.term(rank, order, n_relevant, n_items)


def ranks(exponent, size=300, n_items=500):
    chances = np.arange(1.0, n_items + 1) ** -exponent
    rng = np.random.default_rng(int(10 * exponent))
    return rs.Ranks(rng.choice(n_items, size, p=chances / chances.sum()) + 1, n_items)


@pytest.mark.parametrize("metric", [rs.AUC, rs.PercentileRank, rs.AP], ids=str)
def test_a_report_is_in_its_units(metric):
    runs = {name: rs.UniformSampling(20).draw(ranks(e), 0) for name, e in (("a", 0.9), ("b", 0.5))}
    found = rs.report(runs, metrics=[metric, InPercent(metric)])
    for table in (
        found.table[["value", "low", "high"]],
        found.pairs[["difference", "low", "high"]],
    ):
        plain, scaled = (table.xs(str(one), level="metric") for one in found.findings.metrics)
        assert np.allclose(TIMES * plain, scaled, rtol=1e-4)
    assert found.pairs["ahead"].nunique() == 1


@pytest.mark.parametrize("metric", [rs.AP, rs.RR, rs.AUC, rs.NDCG, rs.RBP(0.8)], ids=str)
@pytest.mark.parametrize("design", [rs.InverseSampling(), rs.InverseSampling(9)], ids=str)
def test_the_variance_of_a_design_is_in_its_units(metric, design):
    plain, scaled = (design.variance(one, ranks(0.9)) for one in (metric, InPercent(metric)))
    assert np.allclose(TIMES**2 * plain, scaled)


@dataclass(frozen=True, repr=False)
class Band(Metric):
    """Hits on some ranks only."""

    name = "Band"
    first: int = 2
    last: int = 6

    def term(self, rank, order, n_relevant, n_items):
        return 1.0 * ((rank >= self.first) & (rank <= self.last)) / n_relevant


@pytest.mark.parametrize("band", [Band(), Band(20, 40), Band(90, 100)], ids=["2", "20", "90"])
@pytest.mark.parametrize("n_relevant", [1, 3])
def test_a_metric_with_its_ends_elsewhere_has_no_limits_of_a_mean(band, n_relevant):
    rng = np.random.default_rng(0)
    ends = rs.Ranks([np.sort(rng.choice(99, n_relevant, False)) + 1 for _ in range(30)], 100)
    assert np.isfinite(band(ends)).all() and rs.compare({"a": ends}, [band]).notna().all(axis=None)
    with pytest.raises(ValueError, match="must not rise with the rank to have limits, as Band"):
        rs.inference.paired_comparison(band, ends, ends)
    scores, held_out = rng.normal(size=(30, 100)), rng.integers(0, 100, 30)
    with pytest.raises(ValueError, match="must not rise with the rank to have limits, as Band"):
        rs.evaluate(scores, held_out, metrics=[band]).table  # noqa: B018


@dataclass(frozen=True, repr=False)
class Squared(Metric):
    """The square of the percentile rank."""

    name = "Squared"
    higher_is_better = False

    def term(self, rank, order, n_relevant, n_items):
        return ((rank - order) / (n_items - n_relevant)) ** 2 / n_relevant


def test_pooled_draws_refuse_a_metric_that_knows_the_number_of_items():
    sampler = rs.PooledSampling(20)
    for method in (sampler.expect, sampler.moments):
        with pytest.raises(ValueError, match="the same at a rank whatever the number of items"):
            method(Squared(), ranks(0.9))
    assert np.isfinite(sampler.expect(rs.PercentileRank, ranks(0.9))).all()
