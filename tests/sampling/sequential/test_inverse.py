"""Inverse sampling against enumeration in exact fractions, other formulas and simulation."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from enumeration import mean, orders, position

import recsample as rs
from recsample import AP, AUC, DCG, NDCG, RBP, RR, PercentileRank, Ranks, RankScore, Recall
from recsample.sampling import InverseSampling

WHOLE = [AP, RR, NDCG, DCG, RBP(0.8), RBP(0.01), RankScore(5), RankScore(500), AUC, PercentileRank]


def observed(design, positions, n_items):
    """What the design sees of one relevant item per instance, from the positions."""
    return rs.Observed(design, n_items, position=positions)


def of_positions(design, metric, positions, n_items):
    return design.of(metric, observed(design, positions, n_items))


@cache
def survival(n_irrelevant):
    """P(T > t) as exact fractions, a row for each number of items above."""
    N = n_irrelevant
    return [[Fraction(comb(N - a, t), comb(N, t)) for t in range(N + 1)] for a in range(N + 1)]


@pytest.fixture(scope="module", params=[2, 30, 2500])
def chance(request):
    """P(T > t) among so many items, a column for each number of items above."""
    n = request.param
    return np.cumprod(
        [np.ones(n)]
        + [np.maximum(n - 1 - np.arange(n) - t, 0) / (n - 1 - t) for t in range(n - 1)],
        axis=0,
    )


@pytest.mark.parametrize("metric", WHOLE, ids=str)
def test_position_estimates_without_bias_at_every_rank(metric, chance):
    n = len(chance)
    value = of_positions(InverseSampling(), metric, range(1, n + 1), n)
    found = np.diff(value, prepend=0) @ chance
    assert np.abs(found - metric.of_rank(range(1, n + 1), n)).max() < 1e-10


def test_ap_is_the_share_of_the_pool():
    found = of_positions(InverseSampling(), AP, [1, 5, 10**6], n_items=10**6)
    assert found.tolist() == [1e-6, 5e-6, 1.0]


@pytest.mark.parametrize(("n", "last"), [(60, 60), (3000, 6)])
def test_logarithm_agrees_with_differences_in_decimals(n, last):
    """g(t + 1) - g(t) is C(N, t) times the t-th difference of the metric at its last rank."""
    with localcontext() as context:
        context.prec = 80
        value, total, gain = [], Decimal(0), []
        for t in range(last):
            gain.append(Decimal(2).ln() / Decimal(n - t + 1).ln())
            signed = [(-1) ** (t - j) * comb(t, j) * gain[j] for j in range(t + 1)]
            total += comb(n - 1, t) * sum(signed)
            value.append(float(total))
    found = of_positions(InverseSampling(), NDCG, range(1, last + 1), n)
    assert found == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("metric", [AP, RR, NDCG, DCG, RBP(0.8), RankScore(5), AUC, PercentileRank])
@pytest.mark.parametrize("n", [2, 6, 100])
def test_variance_is_estimated_without_bias(metric, n):
    law = np.array(survival(n - 1), float)
    pmf = law - np.append(law[:, 1:], np.zeros((n, 1)), axis=1)
    sampler, positions = InverseSampling(), range(1, n + 1)
    value = of_positions(sampler, metric, positions, n)
    variance = pmf @ value**2 - (pmf @ value) ** 2
    found = sampler.estimated_variance(metric, observed(sampler, positions, n))
    assert pmf @ found == pytest.approx(variance, abs=1e-13)
    ranks = Ranks(range(1, n + 1), n)
    assert sampler.variance(metric, ranks) == pytest.approx(variance, abs=1e-13)
    mean_variance = sampler.std_of_mean(metric, ranks) ** 2
    assert mean_variance == pytest.approx(variance.sum() / n**2, abs=1e-14)


@pytest.mark.parametrize("metric", [AP, NDCG, RBP(0.8), AUC], ids=str)
@pytest.mark.parametrize("cap", [1, 3, 6, 99])
def test_cap_by_enumeration(metric, cap):
    n, sampler = 7, InverseSampling(cap)
    ranks = Ranks(range(1, n + 1), n)
    value = of_positions(sampler, metric, range(1, n + 1), n)
    seen = [[min(position(o), cap + 1) for o in orders(n - 1, a)] for a in range(n)]
    estimates = [value[np.array(each) - 1] for each in seen]
    assert sampler.expect(metric, ranks) == pytest.approx([e.mean() for e in estimates], abs=1e-14)
    assert sampler.variance(metric, ranks) == pytest.approx([e.var() for e in estimates], abs=1e-14)
    cost = [mean([min(position(o), cap, n - 1) for o in orders(n - 1, a)]) for a in range(n)]
    assert sampler.cost(ranks) == pytest.approx(cost)
    if cap >= n - 1:
        assert sampler.expect(metric, ranks) == pytest.approx(metric(ranks), abs=1e-14)
    elif metric is not AUC:
        assert (sampler.expect(metric, ranks) <= metric(ranks) + 1e-14).all()


def test_several_relevant_items_by_enumeration():
    """All orders of the irrelevant items; each relevant item is outranked at its own position."""
    ranks, n = [2, 4, 7], 8
    above = [r - i for i, r in enumerate(ranks, 1)]
    items = list(permutations(range(n - len(ranks))))  # item j outranks those with above > j
    positions = [[position([item < a for item in order]) for a in above] for order in items]
    given, design = Ranks([ranks] * len(items), n), InverseSampling()
    each = [len(ranks)] * len(items)
    for metric in (AP, RR, NDCG, DCG, RBP(0.8), RankScore(2), AUC):
        found = design.of(metric, rs.Observed(design, n, each, position=sum(positions, [])))
        assert found.mean() == pytest.approx(metric(given)[0], abs=1e-14)
        # The order in which the positions of an instance are given does not matter.
        flat = [t for p in positions for t in p[::-1]]
        turned = design.of(metric, rs.Observed(design, n, each, position=flat))
        assert turned == pytest.approx(found)
    cost = mean([min(p[0], n - len(ranks)) for p in positions])
    assert InverseSampling().cost(Ranks([ranks], n)) == pytest.approx([cost])


def test_positions_of_several_relevant_items_are_drawn_from_their_joint_law():
    ranks, n, repetitions = [2, 4, 7], 8, 20_000
    above = [r - i for i, r in enumerate(ranks, 1)]
    items = list(permutations(range(n - len(ranks))))
    law: dict = {}
    for order in items:
        key = tuple(position([item < a for item in order]) for a in above)
        law[key] = law.get(key, 0) + 1 / len(items)
    drawn = InverseSampling().draw(Ranks([ranks] * repetitions, n), rng=1)
    counts: dict = {}
    for one in drawn["position"].reshape(-1, 3).tolist():
        counts[tuple(one)] = counts.get(tuple(one), 0) + 1
    assert set(counts) <= set(law)
    chi2 = sum(
        (counts.get(k, 0) - repetitions * p) ** 2 / (repetitions * p) for k, p in law.items()
    )
    assert chi2 < len(law) + 5 * np.sqrt(2 * len(law))


@pytest.mark.parametrize("metric", [AP, NDCG, RBP(0.8), AUC], ids=str)
def test_ties_are_averaged_over(metric):
    tied, n = Ranks([2], 9, ties=[5]), 9
    untied = Ranks(range(2, 8), n)
    for sampler in (InverseSampling(), InverseSampling(3)):
        expected = sampler.expect(metric, untied)
        square = sampler.variance(metric, untied) + expected**2
        assert sampler.expect(metric, tied) == pytest.approx([expected.mean()])
        variance = square.mean() - expected.mean() ** 2
        assert sampler.variance(metric, tied) == pytest.approx([variance])
        assert sampler.cost(tied) == pytest.approx([sampler.cost(untied).mean()])


HUGE = [10**6, 10**9, 2**53 - 1]


@pytest.mark.parametrize(
    ("metric", "n"),
    # The others need an incomplete beta function, of which SciPy 1.15 keeps 11 digits at 2^53.
    [*product([AP, NDCG], HUGE), *product([RBP(0.9), RankScore(500)], HUGE[:2])],
    ids=str,
)
def test_in_a_huge_pool_the_sum_over_the_positions_is_the_metric(metric, n):
    ranks = Ranks([1, 2, 3, 10, 70, 1000, n // 90, n // 2, n - 3, n], n)
    # A cap that is never reached, so that the expectation is summed, and the metric is not used.
    found = InverseSampling(cap=n).expect(metric, ranks)
    assert found == pytest.approx(metric(ranks), abs=1e-13)


@pytest.mark.parametrize("n", HUGE)
def test_variance_in_a_huge_pool(n):
    """Of T / n, from E[T (T + 1)], in exact fractions; ties are the mean over all of them."""
    N, ranks = n - 1, [1, 2, 3, 70, 1000, n // 2, n]

    def moments(a):
        mean = Fraction(N + 1, a + 1)
        return mean, Fraction(2 * (N + 1) * (N + 2), (a + 1) * (a + 2)) - mean

    def variance(each):
        mean, square = (sum(part) / len(each) / n**k for k, part in enumerate(zip(*each), 1))
        return float(square - mean**2)

    sampler = InverseSampling(cap=n)
    expected = [variance([moments(r - 1)]) for r in ranks]
    assert sampler.variance(AP, Ranks(ranks, n)) == pytest.approx(expected, abs=1e-15)
    expected = [variance([moments(r - 1 + x) for x in range(501)]) for r in (2, 100)]
    tied = Ranks([2, 100], n, ties=[500, 500])
    assert sampler.variance(AP, tied) == pytest.approx(expected, rel=1e-10, abs=1e-15)
    assert InverseSampling().variance(AP, tied) == pytest.approx(expected, rel=1e-10, abs=1e-15)
    assert sampler.cost(Ranks(ranks[1:], n)) == pytest.approx(
        [float(moments(r - 1)[0]) for r in ranks[1:]], rel=1e-14
    )


@cache
def chances_in_a_large_pool(pool, last):
    """P(T > t) for all a and t <= `last`, draw by draw."""
    above, t = np.arange(pool + 1)[:, None], np.arange(last)
    draws = np.cumprod(np.maximum(pool - above - t, 0) / (pool - t), axis=1)
    return np.concatenate([np.ones((pool + 1, 1)), draws], axis=1)


@pytest.mark.parametrize("cap", [None, 700])
@pytest.mark.parametrize("metric", [NDCG, DCG, AP, RBP(0.95), AUC], ids=str)
def test_moments_in_a_large_pool(metric, cap):
    """Against the whole law of T and the estimate at every position."""
    n_items, sampler = 2_500, InverseSampling(cap)
    last = min(cap or n_items, n_items - 1)
    every = np.arange(1, last + 2)
    estimate = of_positions(sampler, metric, every, n_items)
    values, ties = [1, 2, 3, 60, 800, 2_499, 2_500, 1, 5, 2, 2_000], [0] * 7 + [1, 900, 2_498, 7]
    chance = chances_in_a_large_pool(n_items - 1, last)
    chance = np.array([chance[r - 1 : r + t].mean(axis=0) for r, t in zip(values, ties)])
    law = -np.diff(chance, append=0.0)
    mean = law @ estimate
    variance = (law * (estimate - mean[:, None]) ** 2).sum(axis=1)
    ranks = Ranks([*values, *values], n_items, ties=[*ties, *ties])  # each of them twice
    assert sampler.expect(metric, ranks) == pytest.approx([*mean, *mean], abs=1e-11)
    assert sampler.variance(metric, ranks) == pytest.approx([*variance, *variance], abs=1e-12)


@pytest.mark.parametrize("n", [67, 71, 141])
@pytest.mark.parametrize("metric", [NDCG, AUC, RBP(0.5)])
def test_few_positions_stand_for_all_under_ties(metric, n):
    design = InverseSampling()
    for rank, ties in ((1, n - 1), (n // 2, n // 3), (10, 20)):
        alone = Ranks(np.arange(rank, rank + ties + 1), n)
        mean, variance = design.expect(metric, alone), design.variance(metric, alone)
        found = design.variance(metric, Ranks([rank], n, ties=[ties]))
        expected = (variance + mean**2).mean() - mean.mean() ** 2
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("pool", [1, 5])
def test_relevant_items_may_be_more_than_the_others(pool):
    ranks = Ranks([np.arange(1, 201) + 1], 200 + pool)
    found = InverseSampling(cap=pool).expect(NDCG, ranks)
    np.testing.assert_allclose(found, NDCG(ranks), rtol=1e-13)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    "metric, cap", [(NDCG, None), (RBP(0.99), None), (AP, 2_000), (NDCG, 49)], ids=str
)
def test_many_ranks_are_interpolated(metric, cap, tied):
    """In parts, which are computed rank by rank, they have the same means and variances."""
    n, sampler, rng = 20_000, InverseSampling(cap), np.random.default_rng(0)
    first = np.r_[1:400, 400:19_000:9] if tied else np.r_[1:400, 400:19_000:7, 19_000 : n + 1]
    ties = rng.integers(40, 600, len(first)) * (rng.random(len(first)) < 0.1) * tied
    ranks = Ranks(first, n, ties=ties)
    assert len(first) > 2_000
    for of in (sampler.variance, sampler.expect):
        parts = [of(metric, ranks[some]) for some in np.array_split(np.arange(len(first)), 30)]
        together = np.concatenate(parts)
        assert abs(of(metric, ranks) - together).max() <= 1e-11 * together.max()


def test_drawn_positions_have_their_law():
    n, repetitions = 12, 40_000
    law = np.array(survival(n - 1), float)
    for rank in (1, 2, 5, n):
        drawn = InverseSampling().draw(Ranks([rank] * repetitions, n), rng=rank)
        pmf = -np.diff(np.append(law[rank - 1], 0))
        counts = np.bincount(drawn["position"], minlength=n + 1)[1:]
        expected = repetitions * pmf
        assert (counts[expected == 0] == 0).all()
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9).all()


def test_pool_without_irrelevant_items():
    ranks = Ranks([1], 1)
    assert InverseSampling().draw(ranks, 0)["position"].tolist() == [1]
    assert InverseSampling().estimate(NDCG, ranks, 0).tolist() == pytest.approx([1.0])
    assert InverseSampling().cost(ranks).tolist() == [0.0]
    assert InverseSampling().variance(RBP(0.5), ranks).tolist() == [0.0]


def test_auc_without_irrelevant_items_is_undefined():
    """One warning that says so, and none of the arithmetic behind it."""
    sampler = InverseSampling()
    for call in (
        lambda: sampler.estimate(AUC, Ranks([1, 2], [1, 5]), 0),
        lambda: sampler.estimated_variance(AUC, observed(sampler, [1, 2], [1, 5])),
    ):
        with pytest.warns(UserWarning, match="AUC is undefined for 1 of 2 instances") as seen:
            assert np.isnan(call()).tolist() == [True, False]
        assert len(seen) == 1
    assert np.isnan(sampler.variance(AUC, Ranks([1, 2], [1, 5]))).tolist() == [True, False]


def test_instance_without_relevant_item_is_undefined():
    ranks = Ranks([[], [2]], 5)
    for sampler in (InverseSampling(), InverseSampling(cap=2)):
        with pytest.warns(UserWarning, match="AP is undefined for 1 of 2 instances"):
            assert np.isnan(sampler.estimate(AP, ranks, 0)).tolist() == [True, False]
        with pytest.warns(UserWarning, match="AP is undefined for 1 of 2 instances"):
            assert np.isnan(sampler.expect(AP, ranks)).tolist() == [True, False]


def test_instances_without_relevant_or_without_irrelevant_items():
    none = Ranks([[], []], 9)
    with pytest.warns(UserWarning, match="AP is undefined for 2 of 2 instances"):
        assert np.isnan(InverseSampling(4).expect(AP, none)).all()
    for sampler in (InverseSampling(), InverseSampling(4)):
        cost = sampler.cost(none)
        assert cost.tolist() == [0.0, 0.0] and cost.dtype == float
    only_relevant = Ranks([[1, 2], [1]], [2, 9])
    assert InverseSampling(4).cost(only_relevant).tolist() == [0.0, 4.0]
    assert InverseSampling().cost(only_relevant).tolist() == [0.0, 8.0]


RANKS = Ranks([1, 2], 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: InverseSampling(0), "cap must be a whole number of at least 1, got 0"),
        (lambda: InverseSampling().draw([1, 2], 0), "ranks must be Ranks, got list"),
        (lambda: InverseSampling().draw(RANKS, "x"), "rng must be a whole number"),
        (lambda: InverseSampling().expect(Recall @ 3, RANKS), "without a cut-off .* got Recall@3"),
        (lambda: InverseSampling().expect(AP @ 3, RANKS), "without a cut-off .* got AP@3"),
        (lambda: of_positions(InverseSampling(), "AQ", [1], 5), "metric must be a Metric"),
        (
            lambda: of_positions(InverseSampling(), AP, [6, 1], 5),
            "position must be at most 5, .* got 6 in instance 0",
        ),
        (
            lambda: of_positions(InverseSampling(), AP, [0], 5),
            "position must be whole numbers of at least 1, got 0",
        ),
        (
            lambda: of_positions(InverseSampling(), AP, [1], 0),
            "n_items must be a whole number of at least 1, got 0",
        ),
        (
            lambda: of_positions(InverseSampling(), AP, [[1, 2]], 5),
            r"position must have shape \(1,\) for InverseSampling\(cap=None\), got \(1, 2\)",
        ),
        (
            lambda: InverseSampling().estimated_variance(
                AP, rs.Observed(InverseSampling(), 5, [2], position=[1, 2])
            ),
            "observed must be of one relevant item per instance, got several",
        ),
        (
            lambda: InverseSampling().variance(AP, Ranks([[1, 2]], 5)),
            "one relevant item per instance, got 2 in instance 0",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
