"""How many users to rank for a width, against a general optimiser and simulated studies."""

import numpy as np
import pytest
from scipy import optimize, stats

import recsample as rs
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.inference.planning import users_to_rank


@pytest.mark.parametrize("metric", [rs.Recall @ 3, rs.AP, rs.NDCG @ 5], ids=str)
@pytest.mark.parametrize("exponent", [0, 1, 2])
def test_users_to_rank_are_those_of_the_largest_variance_that_the_limits_allow(metric, exponent):
    """A linear programme over all distributions of the ranks with a mean within the limits.

    The bound knows the two ends of the metric only, not its values between them.
    """
    n = 12
    chances = np.arange(1.0, n + 1) ** -exponent
    ranks = rs.Ranks(np.random.default_rng(0).choice(n, 250, p=chances / chances.sum()) + 1, n)
    evidence, width = SampledRun(rs.UniformSampling(4).draw(ranks, 1), n, False, [metric]), 1e-3
    planned = users_to_rank(metric, width, evidence).others * width**2 / (4 * 1.96**2)
    low, high = evidence.limits(metric, "decreasing", 0.8)
    assert low <= metric(ranks).mean() <= high
    values, largest = metric.of_rank(np.arange(1, n + 1), n), 0.0
    for mean in np.linspace(low, high, 21):
        found = optimize.linprog(
            -(values**2), A_eq=[np.ones(n), values], b_eq=[1, mean], bounds=(0, 1)
        )
        largest = max(largest, -found.fun - mean**2)
    assert planned > 0.999 * largest > metric(ranks).var()
    if values.min() == 0:  # of AP at the last rank 1 / 12
        assert planned == pytest.approx(largest, rel=0.01)


@pytest.fixture(scope="module")
def of_hits():
    """So large a study that it knows the share of hits, 0.1: who is ranked exactly is left."""
    ranks = rs.Ranks(np.repeat([1, 2, 10], [6000, 4000, 90_000]), 12)
    return SampledRun(rs.UniformSampling(10).draw(ranks, 1), 12, False, [rs.Recall @ 2])


def test_users_to_rank_are_enough_in_nine_studies_of_ten(of_hits):
    users = users_to_rank(rs.Recall @ 2, 0.05, of_hits).others
    hits = np.random.default_rng(0).binomial(users, 0.1, 4000) / users
    # The limits of Clopper and Pearson.
    high = stats.beta.isf(0.025, users * hits + 1, users * (1 - hits))
    low = stats.beta.ppf(0.025, users * hits, users * (1 - hits) + 1)
    assert 0.88 < (high - low <= 0.05).mean() < 0.97


def test_users_to_rank_are_never_fewer_than_limits_of_that_width_have():
    """Where nearly all values are 0, one more at the other end is what makes limits wide."""
    n, width = 3000, 0.05
    ranks = rs.Ranks(np.random.default_rng(0).integers(1, n + 1, 300), n)
    evidence = SampledRun(rs.UniformSampling(300).draw(ranks, 1), n, False, [rs.AP])
    found = users_to_rank(rs.AP, width, evidence)
    assert 1 - 0.025 ** (1 / found.others) <= width


@pytest.mark.parametrize("n_users", [300, 3000])
def test_of_these_users_fewer_are_enough_for_their_own_mean(n_users):
    """By the variance of a mean of some of them, drawn without replacement."""
    ranks, width = rs.Ranks(np.random.default_rng(1).integers(1, 101, n_users), 101), 0.06
    metric = rs.Recall @ 10
    evidence = SampledRun(rs.UniformSampling(90).draw(ranks, 2), 101, False, [metric])
    found = users_to_rank(metric, width, evidence)
    share = stats.hypergeom(n_users, metric(ranks).sum(), found.these).std() / found.these
    assert 0.7 * width < 2 * 1.96 * share < width
    assert found.these < found.others
    # All of them have the mean itself, and no more of them are there.
    assert users_to_rank(metric, 1e-7, evidence).these == n_users


def test_a_metric_that_is_linear_in_the_rank_is_planned_for_by_what_is_seen():
    """Which has the variance of the draws too."""
    n, m, n_users = 400, 3, 20_000
    ranks = rs.Ranks(np.random.default_rng(3).integers(1, n + 1, n_users), n)
    sampled = rs.UniformSampling(m).draw(ranks, 4)
    assert rs.AUC(sampled).var() > 1.5 * rs.AUC(ranks).var()
    evidence, width = SampledRun(sampled, n, False, [rs.AUC]), 0.01
    planned = users_to_rank(rs.AUC, width, evidence).others
    exact, seen = (4 * 1.96**2 * rs.AUC(one).var() / width**2 for one in (ranks, sampled))
    # The luck of 20,000 users, and limits that count one more value at an end.
    assert exact < seen < planned < 1.03 * seen


def test_a_plan_is_in_the_units_of_its_metric():
    """Of one relevant item precision at 10 is a tenth of recall, and percentile ranks 1 - AUC."""
    metrics = [rs.Recall @ 10, rs.Precision @ 10, rs.AUC, rs.PercentileRank]
    ranks = rs.Ranks(np.random.default_rng(0).integers(1, 100, 300), 500)
    evidence = SampledRun(rs.UniformSampling(20).draw(ranks, 0), 500, False, metrics)
    of_recall, of_precision, of_auc, of_percentile = (
        users_to_rank(metric, width, evidence)
        for metric, width in zip(metrics, (0.04, 0.004, 0.02, 0.02))
    )
    assert of_recall == of_precision and of_auc == of_percentile


@pytest.mark.parametrize(
    ("width", "message"),
    [(0, "width must be a finite number above 0"), (1e-12, "fewer than 2..53 users reach")],
)
def test_a_plan_refuses(width, message, of_hits):
    with pytest.raises(ValueError, match=message):
        users_to_rank(rs.Recall @ 2, width, of_hits)
