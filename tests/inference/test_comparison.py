"""Uncertainty and comparison, against enumeration, drawn items, and simulation."""

import numpy as np
import pytest
from scipy import stats
from thorough import thorough

import recsample as rs
from recsample import (
    AP,
    AUC,
    BiasVariance,
    InverseSampling,
    PercentileRank,
    Ranks,
    Recall,
    UniformSampling,
    inference,
)

N_ITEMS, M = 200, 30
SAMPLER = UniformSampling(M)


def population(exponent, size, seed=0, n_items=N_ITEMS):
    weights = np.arange(1.0, n_items + 1) ** -exponent
    rng = np.random.default_rng(seed)
    return rng.choice(np.arange(1, n_items + 1), size, p=weights / weights.sum())


# Two recommenders, instance by instance


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_a_comparison_of_values_is_the_textbook_one(level):
    a, b = (AP(Ranks(population(e, 400, seed=s), N_ITEMS)) for e, s in ((1, 0), (0.9, 1)))
    book, found = (
        stats.ttest_rel(a, b),
        inference.paired_comparison(None, a, b.tolist(), level=level),
    )
    assert found.difference == pytest.approx(a.mean() - b.mean(), rel=1e-12)
    limits = book.confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((limits.low, limits.high), rel=1e-12)
    ahead = stats.ttest_rel(a, b, alternative="less").pvalue
    assert found.probability == pytest.approx(ahead, rel=1e-9)


def test_a_comparison_of_ranks_is_by_one_more_user_at_the_worst():
    """Whose weight is that of any other: one of 401 random weights that add up to 1."""
    a, b = (Ranks(population(e, 400, seed=s), N_ITEMS) for e, s in ((1, 0), (0.9, 1)))
    found, d = inference.paired_comparison(AP, a, b), AP(a) - AP(b)
    weights = np.random.default_rng(0).dirichlet(np.ones(401), 20_000)
    furthest = 1 - 1 / N_ITEMS
    low, high = (
        np.quantile(weights @ np.append(d, x), q)
        for x, q in ((-furthest, 0.025), (furthest, 0.975))
    )
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02 * (high - low))
    ahead = np.mean(weights @ np.append(d, -furthest) > 0)
    assert found.probability == pytest.approx(ahead, abs=0.01)


@pytest.mark.parametrize("m", [None, 100])
def test_ranks_among_other_numbers_of_items_are_refused(m):
    exact = Ranks(population(1, 200, seed=0), N_ITEMS)
    drawn = rs.UniformSampling(50).draw(exact, 0)
    other = exact if m is None else rs.UniformSampling(m).draw(exact, 1)
    with pytest.raises(
        ValueError, match="as many items, all or about as many drawn ones, got .* 51 of"
    ):
        inference.paired_comparison(AP, other, drawn)


@pytest.mark.parametrize("design", [rs.InverseSampling(), rs.InverseSampling(40)], ids=str)
def test_what_designs_have_observed_is_compared_by_its_estimates(design):
    """Limits hold the expected difference as often as said; a cap moves it from the exact one."""
    held, of_rank = 0, design.expect(AP, Ranks(range(1, N_ITEMS + 1), N_ITEMS))
    for seed in range(30):
        a, b = (
            Ranks(population(e, 500, seed=seed + 100 * i), N_ITEMS) for i, e in ((0, 1), (1, 0))
        )
        observed = [design.draw(ranks, seed + 7 * i) for i, ranks in enumerate((a, b))]
        found = inference.paired_comparison(AP, *observed)
        values = [design.of(AP, one) for one in observed]
        assert found.difference == pytest.approx(values[0].mean() - values[1].mean())
        truth = of_rank[a.values - 1].mean() - of_rank[b.values - 1].mean()
        held += found.low <= truth <= found.high
    assert held >= stats.binom.ppf(0.001, 30, 0.95)


@pytest.mark.thorough
@pytest.mark.parametrize("rare", [3, 8])
def test_a_design_that_sees_few_hits_has_limits_that_hold(rare):
    """Early stopping has exact hits, of which 3 or 8 are expected among 300 users."""
    design, n_users, runs, held = rs.EarlyStopping(5), 300, 200, 0
    rng, b = np.random.default_rng(rare), Ranks([100] * n_users, N_ITEMS)
    for _ in range(runs):
        a = Ranks(np.where(rng.random(n_users) < rare / n_users, 1, 50), N_ITEMS)
        observed = [design.draw(ranks, rng) for ranks in (a, b)]
        found = inference.paired_comparison(Recall @ 5, *observed)
        held += found.low <= rare / n_users <= found.high
    assert held >= stats.binom.ppf(0.001, runs, 0.95)


@pytest.mark.thorough
def test_a_corrected_metric_has_limits_for_the_exact_difference():
    """Its bias does not cancel: the limits do not rest on it, so that gamma plays no part."""
    held, runs, textbook = 0, 10, {0.1: 0, 0.01: 0}
    corrected = {gamma: BiasVariance(AP, SAMPLER, N_ITEMS, gamma=gamma) for gamma in textbook}
    for seed in range(runs):
        a, b = (
            Ranks(population(e, 2000, seed=seed + 50 * i), N_ITEMS) for i, e in ((0, 1.6), (1, 0.2))
        )
        sampled = [SAMPLER.draw(ranks, seed + 9 * i) for i, ranks in enumerate((a, b))]
        found = inference.paired_comparison(corrected[0.1], *sampled)
        truth = AP(a).mean() - AP(b).mean()
        held += found.low <= truth <= found.high
        if seed == 0:
            other = inference.paired_comparison(corrected[0.01], *sampled)
            assert other[1:] == found[1:]
            assert other.difference == pytest.approx(difference(corrected[0.01], *sampled).mean())
        assert found.difference == pytest.approx(difference(corrected[0.1], *sampled).mean())
        for gamma, metric in corrected.items():
            limits = stats.ttest_1samp(difference(metric, *sampled), 0).confidence_interval()
            textbook[gamma] += limits.low <= truth <= limits.high
    assert held >= stats.binom.ppf(0.001, runs, 0.95)
    assert max(textbook.values()) < held  # what the limits are for


def difference(metric, a, b):
    return metric(a) - metric(b)


def test_a_corrected_comparison_knows_an_order_that_is_sure():
    a, b = (Ranks(population(e, 2000, seed=i), N_ITEMS) for i, e in ((0, 1.6), (1, 0.2)))
    corrected = BiasVariance(AP, SAMPLER, N_ITEMS, gamma=0.1)
    ahead = inference.paired_comparison(corrected, SAMPLER.draw(a, 0), SAMPLER.draw(b, 1))
    behind = inference.paired_comparison(corrected, SAMPLER.draw(b, 1), SAMPLER.draw(a, 0))
    assert ahead.probability > 0.999
    assert behind.probability == pytest.approx(1 - ahead.probability, abs=1e-3)
    assert (behind.low, behind.high) == pytest.approx((-ahead.high, -ahead.low), rel=0.02)


@pytest.mark.parametrize("metric", [AP, thorough(AUC)], ids=str)
def test_paired_interval_covers_the_expected_difference(metric):
    size, n_runs = 200, 200
    a = population(0.7, size * n_runs, seed=5)
    b = np.clip(a + np.random.default_rng(6).integers(-15, 20, a.shape), 1, N_ITEMS)
    p = np.arange(1.0, N_ITEMS + 1) ** -0.7
    p /= p.sum()
    moved = np.clip(np.arange(1, N_ITEMS + 1)[:, None] + np.arange(-15, 20), 1, N_ITEMS)
    by_rank = SAMPLER.expect(metric, Ranks(np.arange(1, N_ITEMS + 1), N_ITEMS))
    truth = p @ (by_rank - by_rank[moved - 1].mean(axis=1))
    runs = [
        SAMPLER.draw(Ranks(x, N_ITEMS), seed).values.reshape(n_runs, size)
        for seed, x in enumerate((a, b))
    ]
    covered = 0
    for row_a, row_b in zip(*runs):
        found = inference.paired_comparison(metric, Ranks(row_a, M + 1), Ranks(row_b, M + 1))
        covered += found.low <= truth <= found.high
    assert abs(covered / n_runs - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / n_runs)


def test_pairing_uses_what_two_recommenders_share():
    a = population(0.7, 300)
    near = Ranks(np.minimum(a + 1, N_ITEMS), N_ITEMS)
    found = inference.paired_comparison(AP, Ranks(a, N_ITEMS), near)
    apart = np.hypot(stats.sem(AP(Ranks(a, N_ITEMS))), stats.sem(AP(near)))
    assert found.high - found.low < 0.7 * 2 * 1.96 * apart


def test_no_difference_at_all_has_probability_one_half():
    a = Ranks([1, 5, 9], N_ITEMS)
    same = inference.paired_comparison(AP, a, a)
    assert same.difference == 0 and same.probability == 0.5 and same.low == -same.high < 0
    for times, least, most in ((1, 0.5, 0.5), (100, 0.999, 1)):  # three users tell nothing
        one, better = (Ranks(rows * times, N_ITEMS) for rows in ([1, 5, 9], [20, 60, 70]))
        found = inference.paired_comparison(AUC, one, better)
        assert least <= found.probability <= most


A, B = Ranks([1, 5], 9), Ranks([2, 3], 9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: inference.paired_comparison(AP, A, [1, 2]), "b must be Ranks or Observed"),
        (lambda: inference.paired_comparison(None, [1, 2], [1, np.nan]), "b must"),
        (lambda: inference.paired_comparison(None, [[1, 2]], [[1, 2]]), "one value per instance"),
        (lambda: inference.paired_comparison(AP, A, B, level=1), "level must be between 0 and 1"),
        (lambda: inference.paired_comparison(AP, A, Ranks([1, 2], 3)), "among as many items"),
        (lambda: inference.paired_comparison(AP, A, Ranks([1], 9)), "same instances, got 2 and 1"),
        (lambda: inference.paired_comparison("AQ", A, B), "metric must be a Metric"),
        (lambda: inference.paired_comparison(Recall, A, B), "Recall needs a cut-off"),
        (lambda: inference.paired_comparison(AP, Ranks([1], 9), Ranks([2], 9)), "two instances"),
    ],
)
def test_comparisons_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.filterwarnings("ignore:AUC is undefined")
def test_undefined_values_are_refused_and_named():
    undefined = Ranks([[1], [1, 2]], [9, 2])
    for call in (
        lambda: inference.paired_comparison(AUC, undefined, undefined),
        lambda: inference.order_probability(AUC, undefined, undefined, UniformSampling(1)),
    ):
        with pytest.raises(
            ValueError, match="metric must be defined .* got AUC, nan in instance 1"
        ):
            call()


# The probability of the order


def simulated_order(metric, a, b, sampler, n_runs=4000):
    """How often studies with drawn negatives have A above B; equal means count half."""
    rng = np.random.default_rng(7)
    both = [ranks[np.tile(np.arange(len(ranks)), 1000)] for ranks in (a, b)]
    gaps = []
    for _ in range(n_runs // 1000):
        means = [metric(sampler.draw(many, rng)).reshape(1000, -1).mean(axis=1) for many in both]
        gaps.append(means[0] - means[1])
    gaps = np.concatenate(gaps)
    return ((gaps > 0) + 0.5 * (gaps == 0)).mean()


STEADY = Ranks([11] * 60, N_ITEMS)
MIXED = Ranks([1] * 9 + [60] * 51, N_ITEMS)


@pytest.mark.parametrize("replace", [False, thorough(True)])
@pytest.mark.parametrize("corrected", [False, True])
def test_order_probability_is_that_of_simulated_studies(replace, corrected):
    sampler = UniformSampling(M, replace)
    metric = BiasVariance(AP, sampler, N_ITEMS, gamma=0.01) if corrected else AP
    assert AP(MIXED).mean() > AP(STEADY).mean()
    found = inference.order_probability(metric, MIXED, STEADY, sampler)
    assert found == inference.order_probability(metric, STEADY, MIXED, sampler)
    assert found < 0.01 if not corrected else 0.55 < found < 0.95
    assert found == pytest.approx(simulated_order(metric, MIXED, STEADY, sampler), abs=0.025)


def test_order_probability_with_ties():
    a, b = Ranks([5] * 40, 100, ties=20), Ranks([11] * 40, 100, ties=12)
    found = inference.order_probability(AUC, a, b, UniformSampling(12))
    better, worse = (a, b) if AUC(a).mean() > AUC(b).mean() else (b, a)
    simulated = simulated_order(AUC, better, worse, UniformSampling(12))
    assert 0.55 < found < 0.995 and found == pytest.approx(simulated, abs=0.025)


def test_pools_of_an_instance_may_differ():
    """Each recommender leaves out other items: with one sample the two AUC are 0 or 1."""
    a, b = Ranks([3, 2], [5, 9]), Ranks([2, 3], [4, 6])
    chances = 1 - np.array([2 / 4, 1 / 8]), 1 - np.array([1 / 3, 2 / 5])
    mean = (chances[0] - chances[1]).mean()
    variance = sum((p * (1 - p)).sum() for p in chances) / 4
    found = inference.order_probability(AUC, a, b, UniformSampling(1))
    assert found == pytest.approx(stats.norm.cdf(abs(mean) / np.sqrt(variance)), rel=1e-12)
    assert inference.paired_comparison(AUC, a, b).difference == pytest.approx(mean, rel=1e-12)


def test_equal_sampled_means_count_half():
    """Of both studies, each with 50 coins, the law of the difference is known."""
    a, b = Ranks([100] * 50, n_items=1000), Ranks([200] * 50, n_items=1000)
    heads = [stats.binom.pmf(np.arange(51), 50, 1 - x / 999) for x in (99, 199)]
    both = np.outer(*heads)
    above, equal = np.tril(both, -1).sum(), np.trace(both)
    found = inference.order_probability(AUC, a, b, UniformSampling(1))
    assert found == pytest.approx(above + equal / 2, abs=0.002)
    assert equal > 0.04


def test_order_of_a_metric_where_lower_is_better():
    sampler = UniformSampling(5)
    same = [inference.order_probability(m, MIXED, STEADY, sampler) for m in (AUC, PercentileRank)]
    assert same[0] == pytest.approx(same[1], rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: inference.order_probability(AP, A, Ranks([5, 1], 9), s), "differ in their mean"),
        (lambda s: inference.order_probability(AP, A, Ranks([5], 9), s), "same instances"),
        (lambda s: inference.order_probability(AP, A, B, UniformSampling(9)), "m=9 without"),
        (lambda s: inference.order_probability("AQ", A, B, s), "metric must be a Metric"),
        (
            lambda _: inference.order_probability(AP, A, B, InverseSampling()),
            "sampler must be UniformSampling, such as .*, got InverseSampling",
        ),
    ],
)
def test_order_probability_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call(UniformSampling(3))
