"""Corrected metrics for several relevant items, against the best function of all sampled ranks.

Everything is listed: every relevant set, every sample. The best function of the vector of sampled
ranks is then a dense least-squares problem with one unknown per vector.
"""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import reference
from scipy import special, stats

import recsample as rs
from recsample import AP, AUC, NDCG, BiasVariance, MinimalBias, RankEstimate, Ranks, UniformSampling
from recsample.ranks.ties import ties_ahead

METRICS = [
    rs.metric(name)
    for name in (
        *("AUC", "PercentileRank", "Accuracy", "RPrecision", "RR", "AP", "AP(relevant)@10"),
        *("AP(k)@10", "DCG", "NDCG", "RBP(0.8)", "RankScore(5)", "HitRate@2", "Recall@2"),
        *("Precision@2", "F1@2", "AR@2", "RR@2", "AP@2", "NDCG@2"),
    )
]
SIZES = [(2, 9, 1), (2, 9, 4), (3, 8, 3), (3, 8, 5), (4, 8, 2), (4, 9, 3)]  # L, n, m
GAMMAS = [1.0, 0.1, 1e-3, 1e-8]


@lru_cache
def experiment(n_relevant, n_items, m, replace=False):
    """Every set of true ranks, every vector of sampled ranks, and the probability of it given each.

    Sets are equally likely. Shapes (sets, L), (vectors, L), (sets, vectors).
    """
    sets = list(combinations(range(1, n_items + 1), n_relevant))
    laws = []
    for ranks in sets:
        others = [place for place in range(1, n_items + 1) if place not in ranks]
        samples = list(product(others, repeat=m) if replace else combinations(others, m))
        law = Counter(
            tuple(i + 1 + sum(x < r for x in sample) for i, r in enumerate(ranks))
            for sample in samples
        )
        laws.append({vector: Fraction(times, len(samples)) for vector, times in law.items()})
    vectors = sorted(set().union(*laws))
    law = [[mine.get(vector, Fraction(0)) for vector in vectors] for mine in laws]
    return sets, vectors, law


def as_floats(n_relevant, n_items, m, replace=False):
    sets, vectors, law = experiment(n_relevant, n_items, m, replace)
    return Ranks(sets, n_items), Ranks(vectors, m + n_relevant), np.array(law, dtype=float)


def stacked(law, gamma):
    """Rows whose squares sum to the objective: the biases, then the deviations from the means."""
    n_sets, n_vectors = law.shape
    weight = np.sqrt(gamma * law / n_sets)[:, :, None]
    deviations = weight * (np.eye(n_vectors)[None] - law[:, None])
    return np.vstack([law / np.sqrt(n_sets), deviations.reshape(-1, n_vectors)])


class Problem:
    """The squares of a number of rows, less a right-hand side, summed: minimum and value."""

    def __init__(self, law, gamma):
        self.rows, self.n_sets = stacked(law, gamma), len(law)
        self.inverse = np.linalg.pinv(self.rows)[:, : self.n_sets]

    def best(self, target):
        return self.inverse @ target / np.sqrt(self.n_sets)

    def objective(self, x, target):
        missed = self.rows @ x
        missed[: self.n_sets] -= target / np.sqrt(self.n_sets)
        return float(missed @ missed)


class TestSeparability:
    """Without replacement nothing is better than the sum of the corrections of single ranks."""

    @pytest.mark.parametrize("L,n,m", SIZES)
    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_no_function_of_all_sampled_ranks_is_better(self, L, n, m, gamma):
        ranks, sampled, law = as_floats(L, n, m)
        problem = Problem(law, gamma)
        for M in METRICS:
            target = M(ranks)
            best = problem.best(target)
            corrected = BiasVariance(M, UniformSampling(m), n, gamma=gamma)(sampled)
            assert corrected == pytest.approx(best, abs=1e-10), M
            least = problem.objective(best, target)
            assert problem.objective(corrected, target) == pytest.approx(least, abs=1e-12), M

    @pytest.mark.parametrize("L,n,m", SIZES)
    def test_least_bias(self, L, n, m):
        ranks, sampled, law = as_floats(L, n, m)
        for M in METRICS:
            best = np.linalg.lstsq(law, M(ranks), rcond=None)[0]
            corrected = MinimalBias(M, UniformSampling(m), n)(sampled)
            assert corrected == pytest.approx(best, abs=1e-10), M

    def test_all_items_drawn(self):
        """With m = N the sampled ranks are the true ones, and at any gamma nothing is changed."""
        ranks = as_floats(3, 8, 5)[0]
        for M in METRICS:
            if M not in (rs.metric("PercentileRank"), AUC):
                corrected = BiasVariance(M, UniformSampling(5), 8, gamma=0.3)
                assert corrected(ranks) == pytest.approx(M(ranks), abs=1e-13)


class TestPrior:
    """How many irrelevant items are ahead of the i-th of L, by listing the sets."""

    @pytest.mark.parametrize("L,n", [(1, 6), (2, 9), (3, 8), (4, 9)])
    def test_beta_binomial(self, L, n):
        sets, N = np.array(list(combinations(range(1, n + 1), L))), n - L
        for i in range(1, L + 1):
            counted = np.bincount(sets[:, i - 1] - i, minlength=N + 1) / comb(n, L)
            assert ties_ahead(N, L, i) == pytest.approx(counted, abs=1e-15)
            assert stats.betabinom(N, i, L + 1 - i).pmf(np.arange(N + 1)) == pytest.approx(counted)
            formula = [
                comb(a + i - 1, a) * comb(N - a + L - i, N - a) / comb(n, L) for a in range(N + 1)
            ]
            assert formula == pytest.approx(counted, abs=1e-15)

    @pytest.mark.parametrize("replace", [False, True])
    def test_at_gamma_1_the_mean_given_the_count(self, replace):
        """Eq. (26), of one item alone, so it holds with replacement too."""
        L, n, m = 3, 8, 2
        sets, vectors, law = experiment(L, n, m, replace)
        joint = np.array(law, dtype=float)
        for M in METRICS:
            corrected = BiasVariance(M, UniformSampling(m, replace), n, gamma=1)
            for i in range(1, L + 1):
                term = np.array([M.term(np.int64(r[i - 1]), i, L, n) for r in sets], dtype=float)
                count = np.array(vectors)[:, i - 1] - i
                mass = np.bincount(count, joint.sum(axis=0), minlength=m + 1)
                mean = np.bincount(count, term @ joint, minlength=m + 1) / mass
                assert corrected.values_of(i, L) == pytest.approx(mean, abs=1e-12), M


class TestEachCorrection:
    L, n, m = 3, 40, 7

    @pytest.mark.parametrize("plus_one", [False, True])
    def test_rank_estimate(self, plus_one):
        """f_i at i + N s / m, which is an unbiased estimate of r_i, rounded down."""
        corrected = RankEstimate(AP, UniformSampling(self.m), self.n, plus_one=plus_one)
        for i in range(1, self.L + 1):
            above = [(self.n - self.L) * s // (self.m + plus_one) for s in range(self.m + 1)]
            by_hand = [i / (i + a) / self.L for a in above]
            assert corrected.values_of(i, self.L) == pytest.approx(by_hand, abs=1e-15)

    def test_rank_estimate_interpolated(self):
        corrected = RankEstimate(NDCG, UniformSampling(self.m), self.n, rounding="linear")
        N = self.n - self.L
        ideal = sum(1 / np.log2(j + 1) for j in range(1, self.L + 1))
        for i in range(1, self.L + 1):
            whole = 1 / np.log2(i + np.arange(N + 1) + 1) / ideal
            between = np.interp(N * np.arange(self.m + 1) / self.m, np.arange(N + 1), whole)
            assert corrected.values_of(i, self.L) == pytest.approx(between, abs=1e-14)

    def test_instances_of_several_sizes(self):
        """Each is corrected by the vectors for its own number of relevant items."""
        m = self.m
        corrected = BiasVariance(AP, UniformSampling(m), self.n, gamma=0.1)
        sampled = Ranks([[2], [1, 5], [3, 4, 9]], [m + 1, m + 2, m + 3])
        by_hand = [
            corrected.values[1],
            corrected.values_of(1, 2)[0] + corrected.values_of(2, 2)[3],
            sum(corrected.values_of(i, 3)[s] for i, s in ((1, 2), (2, 2), (3, 6))),
        ]
        assert corrected(sampled) == pytest.approx(by_hand, abs=1e-15)


@lru_cache
def law_by_logarithms(pool, m, replace):
    """The law of the count for 0, 1, ..., N items above, through the beta function."""
    above, s = np.arange(pool + 1)[:, None], np.arange(m + 1)

    def log_ways(n, k):
        with np.errstate(invalid="ignore"):
            ways = -special.betaln(n - k + 1.0, k + 1.0) - np.log(n + 1)
        return np.where((k < 0) | (k > n), -np.inf, ways)

    if replace:
        share = above / pool
        log = log_ways(m, s) + special.xlogy(s, share) + special.xlogy(m - s, 1 - share)
    else:
        log = log_ways(above, s) + log_ways(pool - above, m - s)
    law = np.exp(log - log.max(axis=1, keepdims=True))
    return law / law.sum(axis=1, keepdims=True)


class TestManyRelevantItems:
    """Terms that are met but for rounding left the search for the optimum going round in circles.

    The conditions of Karush, Kuhn and Tucker in the decrements of the values: a slope of the
    objective is 0 where a decrement is free or above 0, and not negative where it is 0.
    """

    TOLERANCE = 2e-11  # of the largest term; the law above has some 12 digits

    def check(self, corrected, n_relevant):
        n, m = corrected.n_items, corrected.sampler.m
        pool = n - n_relevant
        law = law_by_logarithms(pool, m, corrected.sampler.replace)
        above = np.arange(pool + 1)
        for i in range(1, n_relevant + 1):
            log_weight = special.betaln(above + i, pool - above + n_relevant + 1 - i)
            log_weight -= special.betaln(above + 1, pool - above + 1)
            weight = np.exp(log_weight - log_weight.max())
            weight /= weight.sum()
            sizes = np.int64(n_relevant), np.int64(n)
            target = corrected.metric.term(i + above, np.int64(i), *sizes) + np.zeros(pool + 1)
            values = corrected.values_of(i, n_relevant)
            slope = law.T @ (weight * (law @ values - target))
            if not corrected.higher_is_better:
                values, slope = values[::-1], slope[::-1]
            decrement, slope = np.append(-np.diff(values), values[-1]), np.cumsum(slope)
            scale = max(np.abs(target).max(), 1e-3 / n_relevant)
            # Where the lowest value is free it may be large, and rounds what it is multiplied with.
            allowed = self.TOLERANCE * scale + 1e-15 * np.abs(values).max()
            bound = slice(None) if corrected.nonnegative else slice(-1)
            if not corrected.nonnegative:
                assert abs(slope[-1]) < allowed
            decrement, slope = decrement[bound], slope[bound]
            assert decrement.min() >= -allowed and slope.min() > -allowed
            taken = decrement > 1e-7 * scale
            assert np.abs(slope[taken]).max(initial=0) < allowed

    @pytest.mark.parametrize("M", [AP, NDCG, AUC, rs.PercentileRank, rs.Recall @ 10, NDCG @ 10])
    @pytest.mark.parametrize("n_relevant", [2, 50])
    @pytest.mark.parametrize("n_items, m", [(120, 60), (400, 50)])
    def test_the_optimum_is_found(self, M, n_items, m, n_relevant):
        self.check(rs.ConstrainedLeastSquares(M, UniformSampling(m), n_items), n_relevant)

    @pytest.mark.parametrize("M", [AP, NDCG, rs.PercentileRank, AP @ 10], ids=str)
    @pytest.mark.parametrize("replace, nonnegative", [(False, False), (True, True), (True, False)])
    def test_with_replacement_and_below_0(self, M, replace, nonnegative):
        sampler = UniformSampling(40, replace)
        for n_relevant in (5, 30):
            corrected = rs.ConstrainedLeastSquares(M, sampler, 300, nonnegative=nonnegative)
            self.check(corrected, n_relevant)

    def test_a_real_catalogue(self):
        sampler = UniformSampling(100)
        corrected = rs.ConstrainedLeastSquares(NDCG, sampler, 1682)
        sampled = sampler.draw(Ranks([range(1, 1001, 50)], 1682), 0)
        assert np.isfinite(corrected(sampled)).all()
        self.check(corrected, 20)


class TestGivenPriors:
    """Each term alone: the least-squares solution for its target under the given weights."""

    @pytest.mark.parametrize("order, size", [(1, 2), (2, 2), (2, 4)])
    def test_each_term_is_the_minimiser(self, order, size):
        n, gamma, prior = 9, 0.05, 1 / np.arange(1.0, 10)
        pool = n - size
        corrected = BiasVariance(AP, UniformSampling(3), n, gamma=gamma, prior=prior)
        weights = prior[: pool + 1] / prior[: pool + 1].sum()
        law = [reference.exact_law(a + 1, pool + 1, 3, False) for a in range(pool + 1)]
        law = np.array(law).astype(float)
        target = order / (order + np.arange(pool + 1)) / size
        expected = reference.bias_variance(law.tolist(), target.tolist(), weights.tolist(), gamma)
        assert corrected.values_of(order, size) == pytest.approx(expected, abs=1e-11)


class TestRefusals:
    def corrected(self, M=AP, **options):
        return BiasVariance(M, UniformSampling(3), 9, gamma=0.1, **options)

    def test_a_prior_that_leaves_no_rank(self):
        corrected = self.corrected(prior=[0, 0, 0, 0, 1, 0, 0, 0, 0])  # all or none of 4 are above
        with pytest.raises(ValueError, match="prior must give every sampled rank a positive"):
            corrected.values_of(1, 5)

    def test_a_metric_that_is_no_sum(self):
        with pytest.raises(ValueError, match="must be a sum over the relevant items"):
            self.corrected(rs.metric("AP(hits)@3"))(Ranks([[1, 2]], 5))

    def test_order_and_number(self):
        with pytest.raises(ValueError, match="order must be at most n_relevant = 2, got 3"):
            self.corrected().values_of(3, 2)
        with pytest.raises(ValueError, match="n_relevant must be below n_items = 9, got 9"):
            self.corrected().values_of(1, 9)
        with pytest.raises(ValueError, match="order must be"):
            self.corrected().values_of(0, 2)

    def test_too_few_irrelevant_items_left(self):
        with pytest.raises(ValueError, match="must leave at least 3 irrelevant items"):
            self.corrected().values_of(1, 7)
