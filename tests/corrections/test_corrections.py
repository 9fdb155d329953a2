"""The corrections against exact and 200-digit solutions, and their optimality conditions."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import prod

import numpy as np
import pytest
import reference

import recsample as rs
from recsample import (
    AP,
    AUC,
    NDCG,
    BiasVariance,
    ConstrainedLeastSquares,
    MinimalBias,
    PercentileRank,
    RankEstimate,
    Ranks,
    Recall,
    UniformSampling,
    metric,
)
from recsample.metrics import Metric
from recsample.sampling import large_pools
from recsample.sampling.base import SumsOverLaw


def bias_variance(metric, sampler, n_items, **options):
    return BiasVariance(metric, sampler, n_items, **{"gamma": 0.1} | options)


CORRECTIONS = [RankEstimate, MinimalBias, ConstrainedLeastSquares, bias_variance]
WITH_PRIOR = CORRECTIONS[1:]

both_ways = pytest.mark.parametrize("replace", [False, True])
# Names, because the targets of the references come from the reference metrics.
some_metrics = pytest.mark.parametrize("name", ["AP", "NDCG@3", "Recall@2", "AUC"])


def exact_problem(name, n_items, m, replace, prior=None):
    """The law, the metric and the prior in exact fractions."""
    law = [reference.exact_law(r, n_items, m, replace) for r in range(1, n_items + 1)]
    target = [Fraction(reference.of_rank(name, r, n_items)) for r in range(1, n_items + 1)]
    prior = [Fraction(1)] * n_items if prior is None else [Fraction(float(p)) for p in prior]
    return law, target, [p / sum(prior) for p in prior]


def floats(numbers):
    return [float(x) for x in numbers]


def priors(n_items):
    """Weights that are uneven, partly zero, steep, or not normalised."""
    r = np.arange(1, n_items + 1)
    return {
        "uniform": None,
        "harmonic": 1 / r,
        "zeros": np.where(r % 3 == 0, 0.0, r),
        "steep": 0.5**r,
        "huge": np.full(n_items, 1e308),
    }


class Other(SumsOverLaw):
    """A sampler with a law that is not that of a count among uniform draws."""

    m = 4

    def law(self, n_items):
        return np.full((n_items, 5), 0.2)

    def draw(self, ranks, rng):
        raise NotImplementedError

    def __repr__(self):
        return "Other()"


class TestRankEstimate:
    def test_floor_by_hand(self):
        # n = 10, m = 4: 1 + 9 s / 4 = 1, 3.25, 5.5, 7.75, 10.
        values = RankEstimate(AP, UniformSampling(4), 10).values
        assert values == pytest.approx([1, 1 / 3, 1 / 5, 1 / 7, 1 / 10], abs=1e-15)

    def test_linear_by_hand(self):
        values = RankEstimate(AP, UniformSampling(4), 10, rounding="linear").values
        expected = [1, 0.75 / 3 + 0.25 / 4, 0.5 / 5 + 0.5 / 6, 0.25 / 7 + 0.75 / 8, 1 / 10]
        assert values == pytest.approx(expected, abs=1e-15)

    def test_plus_one_by_hand(self):
        # 1 + 9 s / 5 = 1, 2.8, 4.6, 6.4, 8.2.
        sampler = UniformSampling(4)
        floor = RankEstimate(AP, sampler, 10, plus_one=True).values
        assert floor == pytest.approx([1, 1 / 2, 1 / 4, 1 / 6, 1 / 8], abs=1e-15)
        linear = RankEstimate(AP, sampler, 10, plus_one=True, rounding="linear").values
        expected = [1, 0.2 / 2 + 0.8 / 3, 0.4 / 4 + 0.6 / 5, 0.6 / 6 + 0.4 / 7, 0.8 / 8 + 0.2 / 9]
        assert linear == pytest.approx(expected, abs=1e-15)

    @pytest.mark.parametrize("plus_one", [False, True])
    @pytest.mark.parametrize("n_items, m", [(3541, 100), (62, 7), (10**9, 1000), (8, 7)])
    def test_whole_estimates_are_not_rounded_down(self, n_items, m, plus_one):
        values = RankEstimate(AP, UniformSampling(m), n_items, plus_one=plus_one).values
        estimates = [1 + (n_items - 1) * s // (m + plus_one) for s in range(m + 1)]
        assert values == pytest.approx([1 / r for r in estimates], rel=1e-15, abs=0)

    @both_ways
    @pytest.mark.parametrize("n_items, m", [(10, 4), (3541, 100), (101, 100)])
    def test_linear_keeps_auc_unbiased(self, n_items, m, replace):
        sampler, ranks = UniformSampling(m, replace), Ranks(range(1, n_items + 1), n_items)
        linear = RankEstimate(AUC, sampler, n_items, rounding="linear")
        assert sampler.expect(linear, ranks) == pytest.approx(AUC(ranks), abs=1e-13)
        assert linear.values == pytest.approx(AUC.of_rank(np.arange(1, m + 2), m + 1), abs=1e-14)
        floor = RankEstimate(AUC, sampler, n_items)
        assert (sampler.expect(floor, ranks) >= AUC(ranks) - 1e-13).all()

    def test_refusals(self):
        with pytest.raises(ValueError, match="rounding must be 'floor' or 'linear', got 'up'"):
            RankEstimate(AP, UniformSampling(4), 10, rounding="up")
        with pytest.raises(ValueError, match="sampler must be UniformSampling .* got Other"):
            RankEstimate(AP, Other(), 10)


class TestMinimalBias:
    @both_ways
    @some_metrics
    @pytest.mark.parametrize("n_items, m", [(5, 1), (9, 2), (20, 4), (12, 6)])
    def test_small_samples_are_equation_22(self, name, n_items, m, replace):
        for key, prior in priors(n_items).items():
            law, target, exact_prior = exact_problem(name, n_items, m, replace, prior)
            solution = reference.minimal_bias(law, target, exact_prior)
            best = MinimalBias(metric(name), UniformSampling(m, replace), n_items, prior=prior)
            assert best.directions == m + 1
            scale = max(1, np.abs(best.values).max())
            # Least squares may lose the square of the condition number, 1 / singular_value[-1].
            error = 1e-14 / best.path.singular_value[-1] ** 2
            assert best.values == pytest.approx(floats(solution), abs=scale * error), key
            minimum = float(reference.squared_bias(law, target, exact_prior, solution))
            assert best.optimal_squared_bias == pytest.approx(minimum, abs=1e-15)
            assert best.squared_bias == pytest.approx(minimum, abs=1e-14)
            spread = float(reference.mean_variance(law, exact_prior, solution))
            assert best.mean_variance == pytest.approx(spread, rel=1e-6, abs=1e-12)

    def test_the_minimum_for_ten_thousand_items_and_a_hundred_samples(self):
        # Every dense method misses it by a third or more.
        best = MinimalBias(Recall @ 10, UniformSampling(100, replace=True), 10_000)
        assert best.optimal_squared_bias == pytest.approx(9.0753e-5, rel=1e-5, abs=0)
        assert best.optimal_squared_bias < best.squared_bias < 2e-3

    def test_the_minimum_against_many_digits(self):
        n_items, m, digits = 150, 60, 150
        with localcontext(Context(prec=digits)):
            law = [reference.decimal_law(r, n_items, m, True, digits) for r in range(1, 151)]
            prior = [Decimal(1) / n_items] * n_items
            target = [Decimal(1) / r for r in range(1, n_items + 1)]
            solution = reference.minimal_bias(law, target, prior)
            minimum = float(reference.squared_bias(law, target, prior, solution))
        best = MinimalBias(AP, UniformSampling(m, replace=True), n_items)
        assert minimum < 1e-9 and float(max(map(abs, solution))) > 1e9
        assert best.optimal_squared_bias == pytest.approx(minimum, rel=1e-5, abs=0)
        assert best.directions < m + 1 and np.abs(best.values).max() < 1e7

    @pytest.mark.parametrize("n_items, m", [(30, 5), (3541, 100), (101, 100), (500, 300)])
    def test_singular_values_in_closed_form(self, n_items, m):
        # Uniform prior, without replacement: the squares are mu_k(m) / mu_k(n - 1) with
        # mu_k(m) = m! (m + 1)! / ((m - k)! (m + k + 1)!), the spectrum of a binomial with a
        # uniform probability (drawing n - 1 and then m of them is drawing m).
        def mu(k, size):
            return prod(Fraction(size - i, size + 2 + i) for i in range(k))

        best = MinimalBias(AP, UniformSampling(m), n_items)
        expected = [float(mu(k, m) / mu(k, n_items - 1)) ** 0.5 for k in range(best.directions)]
        assert best.path.singular_value == pytest.approx(expected, abs=1e-13)
        if best.directions < m + 1:
            following = mu(best.directions, m) / mu(best.directions, n_items - 1)
            assert float(following) < 2.3e-16

    @both_ways
    def test_every_point_of_the_path(self, replace):
        n_items, m, r = 60, 12, np.arange(1, 61)
        sampler, prior = UniformSampling(m, replace), 1 / r / (1 / r).sum()
        law, target = sampler.law(n_items), AP.of_rank(r, n_items)
        reach = prior @ law
        white = np.sqrt(prior)[:, None] * law / np.sqrt(reach)
        u, sigma, v = np.linalg.svd(white, full_matrices=False)
        path = MinimalBias(AP, sampler, n_items, prior=prior).path
        for k in range(1, len(path.squared_bias) + 1):
            y = v[:k].T @ ((u[:, :k].T @ (np.sqrt(prior) * target)) / sigma[:k])
            x = y / np.sqrt(reach)
            bias = prior @ (law @ x - target) ** 2
            variance = prior @ (law @ x**2 - (law @ x) ** 2)
            assert path.squared_bias[k - 1] == pytest.approx(bias, abs=1e-14)
            assert path.mean_variance[k - 1] == pytest.approx(variance, rel=1e-6, abs=1e-12)
            assert path.largest_value[k - 1] == pytest.approx(np.abs(x).max(), rel=1e-6)

    @both_ways
    def test_polynomials_of_low_degree_have_no_bias(self, replace):
        best = MinimalBias(AUC, UniformSampling(20, replace), 100)
        assert best.squared_bias < 1e-14 and best.optimal_squared_bias < 1e-28

    def test_all_items_have_no_bias(self):
        best = MinimalBias(NDCG @ 3, UniformSampling(11), 12)
        assert best.values == pytest.approx((NDCG @ 3).of_rank(np.arange(1, 13), 12), abs=1e-12)


class TestBiasVariance:
    @both_ways
    @some_metrics
    @pytest.mark.parametrize("gamma", [1e-10, 0.1, 3.0])
    def test_exact_fractions(self, name, gamma, replace):
        n_items, m = 14, 5
        for key, prior in priors(n_items).items():
            problem = exact_problem(name, n_items, m, replace, prior)
            solution = reference.bias_variance(*problem, Fraction(gamma))
            sampler = UniformSampling(m, replace)
            found = BiasVariance(metric(name), sampler, n_items, gamma=gamma, prior=prior)
            scale = np.abs(floats(solution)).max()
            assert found.values == pytest.approx(floats(solution), abs=max(scale, 1) * 1e-12), key
            law, target, exact_prior = problem
            bias = float(reference.squared_bias(law, target, exact_prior, solution))
            assert found.squared_bias == pytest.approx(bias, abs=1e-10)
            spread = float(reference.mean_variance(law, exact_prior, solution))
            assert found.mean_variance == pytest.approx(spread, rel=1e-4, abs=1e-10)

    @pytest.mark.parametrize("gamma, accuracy", [(0.1, 1e-13), (1e-3, 1e-11), (1e-8, 1e-6)])
    @pytest.mark.parametrize("n_items, m", [(80, 50), (30, 60)])  # fewer ranks than unknowns, too
    def test_many_samples_against_many_digits(self, n_items, m, gamma, accuracy):
        digits, ranks = 100, range(1, n_items + 1)
        with localcontext(Context(prec=digits)):
            law = [reference.decimal_law(r, n_items, m, True, digits) for r in ranks]
            prior = [Decimal(1) / n_items] * n_items
            target = [Decimal(int(r <= 10)) for r in ranks]
            solution = reference.bias_variance(law, target, prior, Decimal(gamma))
        found = BiasVariance(Recall @ 10, UniformSampling(m, True), n_items, gamma=gamma).values
        scale = np.abs(floats(solution)).max()
        assert found == pytest.approx(floats(solution), abs=scale * accuracy)

    @both_ways
    @pytest.mark.parametrize("n_items, m", [(20, 5), (3541, 100), (10, 60)])
    def test_gamma_1_is_equation_26(self, n_items, m, replace):
        m = m if replace else min(m, n_items - 3)
        r, sampler = np.arange(1, n_items + 1), UniformSampling(m, replace)
        law = sampler.law(n_items)
        for prior in (np.ones(n_items), 1 / r, np.where(r % 2, r, 0.0)):
            for M in (AP, Recall @ 10):
                weights = law * prior[:, None]
                expected = (weights * M.of_rank(r, n_items)[:, None]).sum(0) / weights.sum(0)
                found = BiasVariance(M, sampler, n_items, gamma=1, prior=prior)
                assert np.abs(found.values - expected).max() < 1e-10

    @pytest.mark.parametrize("gamma", [0, -1, np.nan, np.inf, "a", None])
    def test_refusals(self, gamma):
        with pytest.raises(ValueError, match="gamma must be a finite number above 0, got"):
            BiasVariance(AP, UniformSampling(4), 10, gamma=gamma)

    def test_too_small_a_gamma(self):
        with pytest.raises(
            ValueError, match="gamma must be at least 1e-10 .*MinimalBias.* 9.9e-11"
        ):
            BiasVariance(AP, UniformSampling(4), 10, gamma=9.9e-11)


def optimality(found, replace, tolerance=1e-13):
    """The Karush-Kuhn-Tucker conditions of constrained least squares, in its decrements.

    With x_s = d_s + ... + d_(m+1) the objective's slope in each d must be 0 where d is free or
    above its bound 0, and not negative where it is at the bound.
    """
    n, m = found.n_items, found.sampler.m
    law = UniformSampling(m, replace).law(n)
    target = found.metric.of_rank(np.arange(1, n + 1), n)
    x, slope = found.values, law.T @ (found.prior * (law @ found.values - target))
    if not found.higher_is_better:
        x, slope = x[::-1], slope[::-1]
    decrements, slopes = np.append(-np.diff(x), x[-1]), np.cumsum(slope)
    bound = slice(None) if found.nonnegative else slice(-1)
    assert (decrements[bound] >= -tolerance).all()
    assert (slopes[bound] >= -tolerance).all()
    assert np.abs(slopes[bound] * decrements[bound]).max() < tolerance
    if not found.nonnegative:
        assert abs(slopes[-1]) < tolerance
    above = decrements[bound] > 1e-9
    assert np.abs(slopes[bound][above]).max(initial=0) < tolerance


class TestConstrainedLeastSquares:
    @both_ways
    @pytest.mark.parametrize("nonnegative", [True, False])
    @pytest.mark.parametrize("M", [AP, NDCG, NDCG @ 10, Recall @ 10, AUC, PercentileRank], ids=str)
    def test_optimality_at_the_size_of_movielens(self, M, nonnegative, replace):
        sampler = UniformSampling(100, replace)
        optimality(ConstrainedLeastSquares(M, sampler, 3706, nonnegative=nonnegative), replace)

    @both_ways
    @pytest.mark.parametrize("n_items, m", [(9, 4), (50, 15)])
    @pytest.mark.parametrize("M", [NDCG @ 3, PercentileRank], ids=str)
    def test_optimality_at_other_sizes_and_priors(self, M, n_items, m, replace):
        sampler = UniformSampling(m, replace)
        for nonnegative in (True, False):
            for prior in [*priors(n_items).values()][:3]:
                optimality(
                    ConstrainedLeastSquares(
                        M, sampler, n_items, nonnegative=nonnegative, prior=prior
                    ),
                    replace,
                )

    @both_ways
    def test_where_the_optimum_is_flat_the_expectation_is_settled(self, replace):
        sampler = UniformSampling(100, replace)
        found = ConstrainedLeastSquares(AUC, sampler, 1000)
        ranks = Ranks(range(1, 1001), 1000)
        assert sampler.expect(found, ranks) == pytest.approx(AUC(ranks), abs=1e-12)
        assert found.values == pytest.approx(np.linspace(1, 0, 101), abs=0.1)

    def test_not_below_0_is_a_choice(self):
        usual, free = (
            ConstrainedLeastSquares(Recall @ 10, UniformSampling(100), 3541, nonnegative=choice)
            for choice in (True, False)
        )
        assert usual.values.min() == 0 > free.values.min()
        assert free.squared_bias < usual.squared_bias
        default = ConstrainedLeastSquares(Recall @ 10, UniformSampling(100), 3541)
        assert default.values.tolist() == usual.values.tolist()

    def test_refusals(self):
        with pytest.raises(ValueError, match="nonnegative must be True or False, got 1"):
            ConstrainedLeastSquares(AP, UniformSampling(4), 10, nonnegative=1)


class TestPriors:
    @pytest.mark.parametrize("correction", WITH_PRIOR)
    def test_only_the_proportions_matter(self, correction):
        weights = np.random.default_rng(1).random(20)
        found = [
            correction(AP, UniformSampling(4), 20, prior=scale * weights)
            for scale in (1, 1e-200, 1e307)
        ]
        for f in found:
            assert f.values == pytest.approx(found[0].values, abs=1e-9)
            assert f.prior == pytest.approx(weights / weights.sum(), rel=1e-14, abs=0)
        assert correction(AP, UniformSampling(4), 20).prior == pytest.approx(np.full(20, 1 / 20))

    @pytest.mark.parametrize("correction", WITH_PRIOR)
    def test_a_prior_on_one_rank_is_met_exactly(self, correction):
        prior = np.zeros(20)
        prior[6] = 2.0
        for replace in (False, True):
            found = correction(AP, UniformSampling(4, replace), 20, prior=prior)
            assert found.squared_bias == pytest.approx(0, abs=1e-14)
            assert found.sampler.expect(found, Ranks([7], 20))[0] == pytest.approx(1 / 7, abs=1e-7)
            if correction is MinimalBias:
                assert found.directions == 1
                assert found.optimal_squared_bias == pytest.approx(0, abs=1e-28)

    def test_a_second_rank_that_hardly_weighs_counts_still(self):
        prior = np.zeros(20)
        prior[[6, 12]] = 1, 1e-12
        best = MinimalBias(AP, UniformSampling(4), 20, prior=prior)
        assert best.optimal_squared_bias < 1e-28
        assert best.directions == 2 and best.squared_bias < 1e-22

    @pytest.mark.parametrize("correction", WITH_PRIOR)
    @pytest.mark.parametrize("replace, m, rank", [(False, 3, 1), (True, 3, 20), (False, 5, 3)])
    def test_a_sampled_rank_that_cannot_happen(self, correction, replace, m, rank):
        # Its value would be arbitrary.
        prior = np.zeros(20)
        prior[rank - 1] = 1
        unseen = {1: 2, 20: 1, 3: 4}[rank]
        message = (
            "prior must give every sampled rank a positive probability, "
            f"got none for sampled rank {unseen}$"
        )
        with pytest.raises(ValueError, match=message):
            correction(AP, UniformSampling(m, replace), 20, prior=prior)

    def test_a_sampled_rank_that_hardly_can_happen(self):
        """Where its chance has all digits of a float it is as good as any other."""
        sampler = UniformSampling(1)
        values = BiasVariance(AP, sampler, 2, gamma=0.1, prior=[1, 1e-289]).values
        assert values == pytest.approx([1, 0.5])
        with pytest.raises(ValueError, match="got none for sampled rank 2"):
            BiasVariance(AP, sampler, 2, gamma=0.1, prior=[1, 0.9e-290])

    @pytest.mark.parametrize(
        "prior, message",
        [
            (np.ones(9), r"prior must have shape \(10,\), one weight a rank, got \(9,\)"),
            (np.ones((10, 1)), r"prior must have shape \(10,\), one weight a rank, got \(10, 1\)"),
            (3, r"prior must have shape \(10,\), one weight a rank, got \(\)"),
            (
                [1] * 4 + [-0.5] + [1] * 5,
                r"prior must be finite numbers of at least 0, got -0.5 \(at position 4\)",
            ),
            ([1] * 9 + [np.nan], "prior must be finite numbers of at least 0, got nan"),
            ([np.inf] + [1] * 9, "prior must be finite numbers of at least 0, got inf"),
            (np.zeros(10), "prior must hold a weight above 0, got only zeros"),
            ("uniform", "prior must be an array of numbers, got 'uniform'"),
            ([[1], [2, 3]], r"prior must be an array of numbers, got \[\[1\], \[2, 3\]\]"),
        ],
    )
    def test_refusals(self, prior, message):
        with pytest.raises(ValueError, match=message):
            bias_variance(AP, UniformSampling(4), 10, prior=prior)


class TestEveryCorrection:
    @pytest.mark.parametrize("correction", CORRECTIONS)
    def test_reads_its_values_at_the_sampled_rank(self, correction):
        corrected = correction(AP, UniformSampling(4), 30)
        assert corrected.values.shape == (5,) and np.isfinite(corrected.values).all()
        sampled = Ranks([5, 1, 3, 3], n_items=5)
        assert corrected(sampled).tolist() == corrected.values[[4, 0, 2, 2]].tolist()
        assert corrected.of_rank(np.arange(1, 6), 5).tolist() == corrected.values.tolist()
        tied = corrected(Ranks([2], 5, ties=[2]))[0]
        assert tied == pytest.approx(corrected.values[1:4].mean(), rel=1e-12, abs=0)

    @pytest.mark.parametrize("correction", CORRECTIONS)
    @both_ways
    def test_its_expectation_is_the_law_times_its_values(self, correction, replace):
        sampler = UniformSampling(4, replace)
        corrected = correction(NDCG, sampler, 30)
        ranks = Ranks(range(1, 31), 30)
        law = [floats(reference.exact_law(r, 30, 4, replace)) for r in range(1, 31)]
        expected = np.array(law) @ corrected.values
        assert sampler.expect(corrected, ranks) == pytest.approx(expected, abs=1e-13)
        miss = ((expected - NDCG(ranks)) ** 2).mean()
        assert corrected.squared_bias == pytest.approx(miss, abs=1e-14)
        variance = sampler.variance(corrected, ranks).mean()
        assert corrected.mean_variance == pytest.approx(variance, rel=1e-9, abs=0)

    @pytest.mark.parametrize("correction", CORRECTIONS)
    def test_sampled_ranks_of_another_m(self, correction):
        sampler = UniformSampling(4)
        corrected = correction(AP, sampler, 30)
        message = "ranks must be sampled ranks with n_items = m [+] 1 = 5 for .*, got n_items = 30"
        for call in (
            lambda: corrected(Ranks([3, 17], n_items=30)),
            lambda: corrected(Ranks([3, 3], n_items=[5, 30])),
            lambda: corrected.of_rank(3, 30),
        ):
            with pytest.raises(ValueError, match=message):
                call()
        message = r"metric must read what UniformSampling\(m=7.* made for UniformSampling\(m=4"
        for replace in (False, True):
            with pytest.raises(ValueError, match=message):
                UniformSampling(7, replace).expect(corrected, Ranks([3], 30))

    @pytest.mark.parametrize("correction", CORRECTIONS)
    def test_other_refusals(self, correction):
        sampler = UniformSampling(4)
        corrected = correction(AP, sampler, 30)
        with pytest.raises(ValueError, match="n_items = m [+] 2 = 6 for .*, got n_items = 5"):
            corrected(Ranks([[1, 2]], n_items=5))
        with pytest.raises(ValueError, match=r"\(AP.* takes no cut-off, got @ 3"):
            corrected @ 3
        with pytest.raises(ValueError, match="metric must be a Metric such as AP .* got 'AQ'"):
            correction("AQ", sampler, 30)
        with pytest.raises(ValueError, match="sampler must be a sampler such as .* got 100"):
            correction(AP, 100, 30)
        with pytest.raises(ValueError, match="n_items must be a whole number of at least 1, got 0"):
            correction(AP, sampler, 0)
        with pytest.raises(ValueError, match="n_items must leave at least 4 irrelevant .* got 3"):
            correction(AP, sampler, 4)
        with pytest.raises(ValueError, match="Recall needs a cut-off: write Recall @ 10"):
            correction(Recall, sampler, 30)

    @pytest.mark.parametrize("correction", WITH_PRIOR)
    def test_more_than_the_memory_holds(self, correction):
        with pytest.raises(ValueError, match="m=1000000 takes .* choose a smaller m"):
            correction(AP, UniformSampling(10**6), 10**9)
        corrected = correction(AP, UniformSampling(10), 10**13)
        with pytest.raises(ValueError, match="a prior of n_items=10000000000000 ranks takes"):
            corrected.prior  # noqa: B018
        prior = np.ones(30_000)
        best = MinimalBias(AP, UniformSampling(10), len(prior), prior=prior)
        assert best.optimal_squared_bias == pytest.approx(
            MinimalBias(AP, UniformSampling(10), len(prior)).optimal_squared_bias, rel=1e-9
        )

    def test_names(self):
        sampler = UniformSampling(4)
        assert str(RankEstimate(AP, sampler, 9)) == "RankEstimate(AP)"
        assert (
            str(BiasVariance(NDCG @ 10, sampler, 9, gamma=0.1))
            == "BiasVariance(NDCG@10, gamma=0.1)"
        )
        table = rs.compare({"a": Ranks([1, 2], 5)}, [AP, MinimalBias(AP, sampler, 9)])
        assert table.columns.tolist() == ["AP", "MinimalBias(AP)"]

    @pytest.mark.parametrize("correction", CORRECTIONS)
    def test_an_instance_without_relevant_item(self, correction):
        corrected = correction(AP, UniformSampling(4), 30)
        with pytest.warns(UserWarning, match="is undefined for 1 of 2 instances") as log:
            values = corrected(Ranks([[], [2]], n_items=5))
        assert np.isnan(values).tolist() == [True, False] and len(log) == 1


class TestRefusedOptions:
    def test_plus_one_is_true_or_false(self):
        with pytest.raises(ValueError, match="plus_one must be True or False, got 'no'"):
            rs.RankEstimate(rs.AP, rs.UniformSampling(20), 200, plus_one="no")

    def test_a_product_beyond_whole_numbers(self):
        with pytest.raises(ValueError, match=r"n_items times m must be below 2\*\*63"):
            rs.RankEstimate(rs.AP, rs.UniformSampling(10**5, replace=True), 4 * 10**15)

    def test_options_show_in_the_name_and_values_cannot_be_changed(self):
        sampler = rs.UniformSampling(20)
        other = rs.RankEstimate(rs.AP, sampler, 200, rounding="linear", plus_one=True)
        assert str(other) == "RankEstimate(AP, rounding=linear, plus_one)"
        free = rs.ConstrainedLeastSquares(rs.AP, sampler, 200, nonnegative=False)
        assert str(free) == "ConstrainedLeastSquares(AP, nonnegative=False)"
        for corrected in (other, free):
            with pytest.raises(ValueError, match="read-only"):
                corrected.values[0] = 99


class TestFewRanksStandForAll:
    """Corrections from few ranks of a pool against those from all; see `sampling.large_pools`."""

    @staticmethod
    def both(monkeypatch, make, *arguments, **options):
        """Made from all ranks, and made from few."""
        made = []
        for small in (2**40, 0):
            monkeypatch.setattr(large_pools, "_SMALL", small)
            made.append(make(*arguments, **options))
            assert made[-1].squared_bias >= 0
        return made

    @both_ways
    @pytest.mark.parametrize("name", ["AP", "NDCG", "AUC", "Recall@10", "NDCG@10", "AP@100"])
    def test_bias_and_variance(self, name, replace, monkeypatch):
        n_items, exact = 500, metric(name)
        sampler = UniformSampling(30, replace)
        random = np.random.default_rng(0).random(n_items)
        for gamma, prior in ((1.0, None), (0.1, random), (1e-3, None)):
            dense, few = self.both(
                monkeypatch, BiasVariance, exact, sampler, n_items, gamma=gamma, prior=prior
            )
            largest = np.abs(dense.values).max()
            assert few.values == pytest.approx(dense.values, abs=1e-10 * largest)
            assert few.squared_bias == pytest.approx(dense.squared_bias, rel=1e-10, abs=1e-15)
            assert few.mean_variance == pytest.approx(dense.mean_variance, rel=1e-10)
            np.testing.assert_allclose(few.prior, dense.prior, rtol=1e-12, equal_nan=False)

    @both_ways
    @pytest.mark.parametrize("name", ["AP", "NDCG", "AUC", "Recall@10", "NDCG@10", "AP@100"])
    @pytest.mark.parametrize("options", [{}, {"nonnegative": False}])
    def test_constrained_least_squares(self, options, name, replace, monkeypatch):
        n_items, sampler = 800, UniformSampling(40, replace)
        for prior in (None, np.random.default_rng(0).random(n_items)):
            dense, few = self.both(
                monkeypatch,
                ConstrainedLeastSquares,
                metric(name),
                sampler,
                n_items,
                prior=prior,
                **options,
            )
            # The expectations: for AUC alone more than one correction has them, but for rounding.
            law = sampler.law(n_items)
            np.testing.assert_allclose(
                law @ few.values, law @ dense.values, rtol=0, atol=1e-10, equal_nan=False
            )
            assert few.squared_bias == pytest.approx(dense.squared_bias, abs=1e-12)
            if name != "AUC":
                assert few.values == pytest.approx(dense.values, abs=1e-10)
                assert few.mean_variance == pytest.approx(dense.mean_variance, rel=1e-10)

    @both_ways
    @pytest.mark.parametrize("name", ["AP", "NDCG", "AUC", "Recall@10", "AP@100"])
    def test_minimal_bias(self, name, replace, monkeypatch):
        n_items, sampler = 800, UniformSampling(40, replace)
        for prior in (None, np.random.default_rng(0).random(n_items)):
            dense, few = self.both(
                monkeypatch, MinimalBias, metric(name), sampler, n_items, prior=prior
            )
            assert few.squared_bias == pytest.approx(dense.squared_bias, rel=1e-10, abs=1e-11)
            assert few.directions == dense.directions
            singular = few.path.singular_value
            assert singular == pytest.approx(dense.path.singular_value, abs=1e-14)
            # No solution is known better than that, dense or not.
            condition = 1 / singular[-1]
            largest = np.abs(dense.values).max()
            assert few.values == pytest.approx(dense.values, abs=1e-14 * condition * largest)

    @both_ways
    @pytest.mark.parametrize("name", ["AP", "NDCG", "Recall@10"])
    def test_minimal_bias_that_polynomials_reach(self, name, replace, monkeypatch):
        sampler = UniformSampling(120, replace)
        dense, few = self.both(monkeypatch, MinimalBias, metric(name), sampler, 2_000)
        least = few.optimal_squared_bias
        monkeypatch.setattr(large_pools, "_SMALL", 2**40)
        assert least == pytest.approx(dense.optimal_squared_bias, rel=1e-10, abs=1e-15)

    @both_ways
    def test_several_relevant_items(self, replace, monkeypatch):
        for exact, n_relevant in ((AP, 2), (NDCG @ 20, 5), (AP, 12)):
            tables = []
            for small in (2**40, 0):
                monkeypatch.setattr(large_pools, "_SMALL", small)
                made = bias_variance(exact, UniformSampling(20, replace), 500)
                tables.append(
                    [made.values_of(i, n_relevant) for i in (1, (n_relevant + 1) // 2, n_relevant)]
                )
            assert tables[1] == pytest.approx(np.array(tables[0]), abs=1e-10)

    def test_a_hundred_million_items_by_a_closed_form(self):
        """AUC is linear, so its least-squares problem has one unknown besides the mean.

        E[x | r] - mean is a share f of AUC - mean: f = v / ((1 - gamma) v + gamma), where v is the
        share of the variance of s / m, over random ranks, that is not due to sampling.
        """
        n_items, m, gamma = 10**8, 1000, 0.1
        corrected = BiasVariance(AUC, UniformSampling(m), n_items, gamma=gamma)
        pool = n_items - 1
        v = m * (pool + 2) / ((m + 2) * pool)
        share = v / ((1 - gamma) * v + gamma)
        spread = (pool + 2) / (12 * pool)  # of AUC over the ranks
        assert corrected.squared_bias == pytest.approx((1 - share) ** 2 * spread, rel=1e-8)
        assert corrected.mean_variance == pytest.approx(share**2 * spread * (1 / v - 1), rel=1e-10)
        line = 0.5 + share * (0.5 - np.arange(m + 1) / m)
        assert corrected.values == pytest.approx(line, abs=1e-11)
        assert "prior" not in vars(corrected)  # 800 MB that nobody has asked for

    def test_a_metric_of_which_nothing_is_known(self, monkeypatch):
        class Even(Metric):
            """1 on every second rank."""

            name = "Even"

            def term(self, rank, order, n_relevant, n_items):
                return (rank % 2 == 0) / (1 + rank)

        dense, few = self.both(monkeypatch, bias_variance, Even(), UniformSampling(30), 2_000)
        assert few.values == pytest.approx(dense.values, abs=1e-12)
        assert few.squared_bias == pytest.approx(dense.squared_bias, rel=1e-10)
        path = [MinimalBias(Even(), UniformSampling(8), 2_000).path for _ in range(1)]
        monkeypatch.setattr(large_pools, "_SMALL", 2**40)
        path.append(MinimalBias(Even(), UniformSampling(8), 2_000).path)
        assert path[0].squared_bias == pytest.approx(path[1].squared_bias, rel=1e-10)

    def test_with_and_without_a_prior_are_different_values(self):
        n_items, sampler = 60, UniformSampling(4)
        one, other = (
            bias_variance(AP, sampler, n_items, prior=p) for p in (None, np.ones(n_items))
        )
        assert one != other and one == bias_variance(AP, sampler, n_items)
        assert hash(one) == hash(bias_variance(AP, sampler, n_items))
