"""The law of the sampled rank, its draws and its moments, against counting and simulation."""

import tracemalloc
from fractions import Fraction
from itertools import product
from math import comb, exp, prod
from time import thread_time

import numpy as np
import pytest
import reference
from scipy import stats

import recsample as rs
from recsample import (
    AP,
    AUC,
    NDCG,
    RBP,
    RR,
    Accuracy,
    HitRate,
    PercentileRank,
    Precision,
    Ranks,
    RankScore,
    Recall,
    UniformSampling,
)
from recsample.sampling import laws
from recsample.sampling.laws import count_pmf, likely_counts

ALL = [
    AUC,
    AP,
    NDCG,
    RR,
    Accuracy,
    PercentileRank,
    RankScore(5),
    Recall @ 1,
    Recall @ 3,
    Precision @ 2,
    HitRate @ 4,
    AP @ 3,
    NDCG @ 3,
    RR @ 2,
    RankScore(2) @ 3,
    *map(rs.metric, ("F2@3", "RPrecision", "AR@3", "DCG", "DCG@3", "RBP(0.8)", "RBP(0.5)@2")),
    *map(rs.metric, ("AP(relevant)@3", "AP(hits)@3", "AP(k)@3", "AP(hits)")),
]

both_ways = pytest.mark.parametrize("replace", [False, True])
every_metric = pytest.mark.parametrize("M", ALL, ids=str)


def law_of(sampler, rank, n_items, ties=0):
    """The law of one instance by the package."""
    return sampler.pmf(Ranks([rank], n_items, ties=ties))[0]


def sum_over_law(M, sampler, ranks):
    """Eq. (16) and the variance, by the package's own law: what closed forms must agree with."""
    values, pmf = M.of_rank(np.arange(1, sampler.m + 2), sampler.m + 1), sampler.pmf(ranks)
    mean = pmf @ values
    return mean, pmf @ values**2 - mean**2


def chi_square(counts, expected):
    """The p-value that counts come from the law, rare outcomes pooled."""
    rare = expected < 5
    assert (np.asarray(counts)[np.asarray(expected) == 0] == 0).all()
    counts = np.append(np.asarray(counts)[~rare], np.asarray(counts)[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    counts, expected = counts[expected > 0], expected[expected > 0]
    if len(counts) == 1:
        return 1.0
    return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


class TestLaw:
    @pytest.mark.parametrize(
        "n_items, m, replace",
        [(2, 1, False), (5, 2, False), (7, 3, False), (7, 6, False), (8, 4, False)]
        + [(2, 1, True), (2, 3, True), (4, 3, True), (5, 5, True), (6, 4, True)],
    )
    def test_counting_every_sample(self, n_items, m, replace):
        law = UniformSampling(m, replace).law(n_items)
        assert law.shape == (n_items, m + 1)
        for rank in range(1, n_items + 1):
            expected = reference.law_by_counting(rank, n_items, m, replace)
            assert law[rank - 1] == pytest.approx([float(p) for p in expected], abs=1e-15)

    @pytest.mark.parametrize(
        "n_items, m, replace",
        [(30, 7, False), (101, 100, False), (200, 150, False), (1000, 20, False)]
        + [(30, 7, True), (20, 100, True), (200, 150, True), (1000, 20, True)],
    )
    def test_exact_fractions(self, n_items, m, replace):
        law = UniformSampling(m, replace).law(n_items)
        assert law.sum(axis=1) == pytest.approx(1, abs=1e-14)
        for rank in {1, 2, n_items // 3, n_items // 2, n_items - 1, n_items}:
            expected = [float(p) for p in reference.exact_law(rank, n_items, m, replace)]
            assert law[rank - 1] == pytest.approx(expected, abs=1e-300, rel=1e-12)
            assert law_of(UniformSampling(m, replace), rank, n_items).tolist() == pytest.approx(
                expected, abs=1e-300, rel=1e-12
            )

    @both_ways
    @pytest.mark.parametrize(
        "n_items, m", [(10**9, 3 * 10**4), (10**9, 100), (10**4 + 1, 10**4), (2 * 10**4, 10**4)]
    )
    def test_large_pools_and_samples(self, n_items, m, replace):
        for rank in (2, n_items // 100, n_items // 2, n_items - 5):
            expected = reference.decimal_law(rank, n_items, m, replace)
            expected = np.array([float(p) for p in expected])
            law = law_of(UniformSampling(m, replace), rank, n_items)
            assert np.abs(law - expected).max() < 1e-15
            seen = expected > 1e-100
            assert np.abs(law[seen] / expected[seen] - 1).max() < 1e-11

    @both_ways
    def test_blocks_do_not_matter(self, monkeypatch, replace):
        sampler, ranks = UniformSampling(5, replace), Ranks([3, 9, 3, 1], 20, ties=[0, 4, 11, 2])
        law, pmf, mean = sampler.law(20), sampler.pmf(ranks), sampler.expect(NDCG, ranks)
        monkeypatch.setattr("recsample._support.arrays.BLOCK", 13)
        assert np.array_equal(sampler.law(20), law)
        assert sampler.pmf(ranks) == pytest.approx(pmf, abs=1e-16)
        assert sampler.expect(NDCG, ranks) == pytest.approx(mean, abs=1e-15)

    def test_the_default_is_without_replacement(self):
        assert UniformSampling(5) == UniformSampling(5, replace=False)
        assert UniformSampling(5) != UniformSampling(5, replace=True)

    @both_ways
    @pytest.mark.parametrize(
        "n_items, m", [(400, 10), (400, 399), (3706, 300), (3706, 3000), (10**7, 5000)]
    )
    def test_what_lies_beyond_the_likely_counts(self, n_items, m, replace):
        ranks = np.unique(np.geomspace(1, n_items, 300).round().astype(int))
        above, pool = ranks - 1, np.full(len(ranks), n_items - 1)
        law = UniformSampling(m, replace).pmf(Ranks(ranks, n_items))
        seen = []
        for rows, counts in likely_counts(above, pool, m, replace):
            seen += rows.tolist()
            beyond = law[rows]
            beyond[:, counts] = 0.0
            assert beyond.sum(axis=1).max() < 1e-19
            found = count_pmf(above[rows], pool[rows], m, replace, counts=counts)
            assert np.abs(found - law[rows, counts]).max() < 1e-15
        assert sorted(seen) == list(range(len(ranks)))


class TestTies:
    @both_ways
    @pytest.mark.parametrize(
        "n_items, m, rank, ties",
        [(10, 3, 1, 9), (10, 9, 4, 2), (12, 5, 12, 0), (60, 10, 20, 30), (150, 100, 3, 90)]
        + [(400, 30, 200, 1), (400, 3, 200, 1), (30, 29, 1, 29), (300, 60, 1, 299)],
    )
    def test_the_mean_of_exact_laws(self, n_items, m, rank, ties, replace):
        expected = [float(p) for p in reference.tied_law(rank, ties, n_items, m, replace)]
        pmf = law_of(UniformSampling(m, replace), rank, n_items, [ties])
        assert pmf == pytest.approx(expected, abs=1e-14)
        assert pmf.sum() == pytest.approx(1, abs=1e-14) and (pmf >= 0).all()

    @pytest.mark.parametrize(
        "n_items, m, rank, ties",
        [(1501, 2000, 250, 750), (900, 700, 1, 899), (20_001, 300, 1, 400), (3706, 50, 30, 90)],
    )
    def test_few_nodes_are_enough_with_replacement(self, n_items, m, rank, ties):
        # The quadrature uses far fewer nodes than the m / 2 that a polynomial of degree m may need.
        p = np.arange(rank - 1, rank + ties)[:, None] / (n_items - 1)
        expected = stats.binom.pmf(np.arange(m + 1), m, p).mean(axis=0)
        pmf = law_of(UniformSampling(m, replace=True), rank, n_items, [ties])
        assert np.abs(pmf - expected).max() < 1e-14

    @both_ways
    @pytest.mark.parametrize(
        "n_items, m, rank, ties",
        [
            (10**9, 20, 1, 10**9 - 1),
            (10**9, 20, 3 * 10**8, 10**8),
            (10**9, 20, 10**6, 1000),
            (10**7, 30, 5, 10**6),
            (10**9, 20, 40, 10**5),  # so few that they are taken by a quadrature
            (10**9, 20, 3, 200),
            (10**9, 20, 10**9 - 10**5, 10**5),
            (10**12, 12, 10**11, 7 * 10**8),
            (2**53 - 1, 8, 10**15, 10**13),
        ],
    )
    def test_huge_pools(self, n_items, m, rank, ties, replace):
        # p(s | a) is a polynomial of degree m in a, so its exact mean needs m + 2 values.
        pmf = law_of(UniformSampling(m, replace), rank, n_items, [ties])
        pool = n_items - 1
        for s in {0, 1, m // 2, m - 1, m}:

            def falling(a, k):
                product = Fraction(1)
                for i in range(k):
                    product *= Fraction(a - i, k - i)
                return product

            def p(a, s=s):
                if replace:
                    return comb(m, s) * Fraction(a, pool) ** s * Fraction(pool - a, pool) ** (m - s)
                return falling(a, s) * falling(pool - a, m - s) / falling(pool, m)

            expected = reference.mean_of_polynomial(p, rank - 1, rank - 1 + ties, m)
            assert pmf[s] == pytest.approx(float(expected), abs=1e-14)

    def test_few_ties_in_a_huge_pool_are_not_looked_at_one_by_one(self, monkeypatch):
        looked_at = []

        def counting(above, *others, **options):
            looked_at.append(len(above))
            return count_pmf(above, *others, **options)

        monkeypatch.setattr(laws, "count_pmf", counting)
        law_of(UniformSampling(20), 10, 10**9, [10**5])
        assert 0 < sum(looked_at) < 200

    def test_ties_in_a_sample_of_a_hundred_thousand(self):
        # All items tied: every sampled rank is equally likely.
        for replace in (False, True):
            pmf = law_of(UniformSampling(10**4, replace), 1, 10**6, [10**6 - 1])
            if replace:  # up to the ends of the discrete mean, of order m / n
                assert pmf[100:-100] == pytest.approx(1 / (10**4 + 1), rel=1e-3)
            else:
                assert pmf == pytest.approx(1 / (10**4 + 1), rel=1e-10, abs=0)


class TestDraw:
    @both_ways
    @pytest.mark.parametrize(
        "n_items, m, rank, ties",
        [(2, 1, 2, 0), (10, 9, 3, 0), (100, 20, 30, 0), (50, 20, 10, 15), (1000, 99, 12, 700)],
    )
    def test_draws_follow_the_exact_law(self, n_items, m, rank, ties, replace):
        size = 10_000
        ranks = Ranks(np.full(size, rank), n_items, ties=np.full(size, ties))
        sampled = UniformSampling(m, replace).draw(ranks, rng=n_items + m + rank + ties)
        assert sampled.n_items == m + 1 and sampled.ties == 0 and len(sampled) == size
        law = np.array([float(p) for p in reference.tied_law(rank, ties, n_items, m, replace)])
        counts = np.bincount(sampled.values - 1, minlength=m + 1)
        assert chi_square(counts, size * law) > 1e-3

    @both_ways
    @pytest.mark.parametrize("n_items", [10**6, 10**9])
    def test_large_pools(self, n_items, replace):
        size, m = 2_000, 10**5
        for rank in (n_items // 1000, n_items // 2):
            ranks = Ranks([rank] * size, n_items)
            sampled = UniformSampling(m, replace).draw(ranks, rng=7).values - 1
            p = (rank - 1) / (n_items - 1)
            spread = np.sqrt(
                m * p * (1 - p) * (1 if replace else (n_items - 1 - m) / (n_items - 2))
            )
            assert abs(sampled.mean() - m * p) < 4 * spread / np.sqrt(size)
            assert sampled.std() == pytest.approx(spread, rel=4 / np.sqrt(2 * size))

    def test_instances_stay_in_order_and_are_independent(self):
        ranks = Ranks([1, 10**4] * 500, n_items=10**4)
        sampled = UniformSampling(50).draw(ranks, rng=0).values
        assert sampled.tolist() == [1, 51] * 500
        middle = UniformSampling(50, replace=True).draw(Ranks([500] * 4000, 1000), rng=1).values
        lag = np.corrcoef(middle[:-1], middle[1:])[0, 1]
        assert abs(lag) < 4 / np.sqrt(4000)

    @both_ways
    def test_each_instance_has_its_own_pool(self, replace):
        sizes = np.array([20, 2000])
        ranks = Ranks(np.tile([15, 15], 4000), np.tile(sizes, 4000))
        sampled = UniformSampling(10, replace).draw(ranks, rng=5).values.reshape(-1, 2) - 1
        assert sampled.mean(axis=0) == pytest.approx(10 * 14 / (sizes - 1), abs=0.06)

    def test_seeds_and_generators(self):
        sampler, ranks = UniformSampling(20), Ranks([50] * 30, n_items=100, ties=[7] * 30)
        first = sampler.draw(ranks, 3).values.tolist()
        assert sampler.draw(ranks, 3).values.tolist() == first
        assert sampler.draw(ranks, np.random.default_rng(3)).values.tolist() == first
        rng = np.random.default_rng(3)
        assert sampler.draw(ranks, rng).values.tolist() == first
        assert sampler.draw(ranks, rng).values.tolist() != first

    def test_memory_is_that_of_the_output_and_time_is_short(self):
        """The rank is drawn from its law: 100 of 100,000 items, and no item is touched."""

        def peak(n_instances):
            ranks = Ranks(np.arange(n_instances) % 10**5 + 1, n_items=10**5 + 1)
            tracemalloc.start()
            UniformSampling(100).draw(ranks, rng=0)
            used = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return used / n_instances

        # A sampled rank takes 8 bytes; a list of 100 items would take 800.
        small, large = peak(20_000), peak(200_000)
        assert large < 400 and large < 1.2 * small
        start = thread_time()
        UniformSampling(100).draw(Ranks(np.full(200_000, 500), n_items=10**5 + 1), rng=0)
        assert thread_time() - start < 10

    def test_all_items_give_the_rank_back(self):
        ranks = Ranks([1, 4, 9], n_items=9)
        assert UniformSampling(8).draw(ranks, 0).values.tolist() == [1, 4, 9]


def some_ranks(n_items, ties=False):
    values = np.unique(np.linspace(1, n_items, 9).astype(int))
    tied = np.minimum(n_items - values, np.arange(len(values)) * 3) if ties else 0 * values
    return Ranks(values, n_items, ties=tied)


class TestMoments:
    @both_ways
    @pytest.mark.parametrize("ties", [False, True])
    def test_exact_fractions(self, replace, ties):
        n_items, m = 37, 9
        ranks, sampler = some_ranks(n_items, ties), UniformSampling(m, replace)
        laws = [
            reference.tied_law(rank, tied, n_items, m, replace)
            for rank, tied in zip(ranks.values.tolist(), ranks.ties.tolist())
        ]
        for M in ALL:
            values = [Fraction(float(v)) for v in M.of_rank(np.arange(1, m + 2), m + 1)]
            mean, variance = sampler.expect(M, ranks), sampler.variance(M, ranks)
            for i, law in enumerate(laws):
                exact = sum(p * v for p, v in zip(law, values))
                spread = sum(p * v * v for p, v in zip(law, values)) - exact**2
                assert mean[i] == pytest.approx(float(exact), abs=1e-14), M
                assert variance[i] == pytest.approx(float(spread), abs=1e-14), M
            total = np.sqrt(variance.sum()) / len(ranks)
            assert sampler.std_of_mean(M, ranks) == pytest.approx(total, rel=1e-12, abs=0), M

    @both_ways
    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize("n_items, m", [(12, 3), (1000, 50), (10**4, 1000), (10**9, 100)])
    def test_closed_forms_agree_with_the_sum_over_the_law(self, replace, n_items, m, ties):
        ranks, sampler = some_ranks(n_items, ties), UniformSampling(m, replace)
        pmf = sampler.pmf(ranks)
        for M in ALL:
            values = M.of_rank(np.arange(1, m + 2), m + 1)
            mean = pmf @ values
            variance = pmf @ values**2 - mean**2
            assert np.abs(sampler.expect(M, ranks) - mean).max() < 1e-12, M
            assert np.abs(sampler.variance(M, ranks) - variance).max() < 1e-12, M

    @both_ways
    @pytest.mark.parametrize("n_items", [10**5 + 1, 10**9])
    def test_a_hundred_thousand_samples(self, n_items, replace):
        m = 10**5
        ranks = Ranks([1, 6, n_items // 100, n_items // 2, n_items], n_items)
        sampler = UniformSampling(m, replace)
        for M in (AUC, AP, Recall @ 5, Recall @ 1000, Recall @ 50_000, Precision @ 99_999):
            mean, _ = sum_over_law(M, sampler, ranks)
            assert np.abs(sampler.expect(M, ranks) - mean).max() < 1e-12

    @both_ways
    def test_both_moments_at_once(self, replace):
        ranks, sampler = Ranks([9, 5, 40], 60, ties=[4, 3, 0]), UniformSampling(8, replace)
        for M in ALL:
            mean, variance = sampler.moments(M, ranks)
            assert mean == pytest.approx(sampler.expect(M, ranks), abs=1e-13)
            assert variance.tolist() == sampler.variance(M, ranks).tolist()
        with pytest.warns(UserWarning, match="undefined for 1 of 2 instances") as warned:
            mean, variance = sampler.moments(AP, Ranks([[], [2]], 20))
        assert len(warned) == 1
        assert np.isnan([mean[0], variance[0]]).all() and not np.isnan([mean[1], variance[1]]).any()

    @both_ways
    @pytest.mark.parametrize("n_items, m", [(12, 3), (500, 99)])
    def test_auc_is_unbiased(self, n_items, m, replace):
        for ties in (False, True):
            ranks = some_ranks(n_items, ties)
            assert UniformSampling(m, replace).expect(AUC, ranks) == pytest.approx(
                AUC(ranks), abs=1e-14
            )

    @every_metric
    def test_all_items_give_the_exact_metric_back(self, M):
        for n_items in (2, 3, 31):
            ranks = Ranks(range(1, n_items + 1), n_items)
            sampler = UniformSampling(n_items - 1)
            assert sampler.expect(M, ranks) == pytest.approx(M(ranks), abs=1e-14)
            assert sampler.variance(M, ranks) == pytest.approx(0, abs=1e-28)
            tied = some_ranks(n_items, ties=True)
            assert sampler.expect(M, tied) == pytest.approx(M(tied), abs=1e-14)

    @both_ways
    def test_the_order_of_instances_does_not_matter(self, replace):
        sampler, order = UniformSampling(6, replace), np.random.default_rng(0).permutation(12)
        values, ties, sizes = np.arange(1, 13), np.arange(12) % 4, np.arange(20, 32)
        usual, moved = (Ranks(values[o], sizes[o], ties=ties[o]) for o in (slice(None), order))
        for M, method in product(ALL, (sampler.expect, sampler.variance)):
            assert method(M, moved).tolist() == method(M, usual)[order].tolist(), M
        assert np.array_equal(sampler.pmf(moved), sampler.pmf(usual)[order])


class TestRefusals:
    @pytest.mark.parametrize("m", [0, -1, 2.5, np.nan, "5", None, True, [5]])
    def test_m(self, m):
        with pytest.raises(ValueError, match="m must be a whole number of at least 1, got"):
            UniformSampling(m)

    @pytest.mark.parametrize("replace", [1, None, "no"])
    def test_replace(self, replace):
        with pytest.raises(ValueError, match=f"replace must be True or False, got {replace!r}"):
            UniformSampling(5, replace=replace)

    def test_the_pool_is_too_small(self):
        with pytest.raises(
            ValueError,
            match="n_items must leave at least 5 irrelevant items to draw m=5 without replacement, "
            "got 4$",
        ):
            UniformSampling(5).law(5)
        with pytest.raises(ValueError, match="at least 1 irrelevant .* with replacement, got 0$"):
            UniformSampling(5, replace=True).law(1)
        ranks = Ranks([1, 2, 3], n_items=[9, 5, 4])
        for call in (
            lambda s: s.pmf(ranks),
            lambda s: s.draw(ranks, 0),
            lambda s: s.expect(AUC, ranks),
            lambda s: s.variance(AP, ranks),
            lambda s: s.moments(AUC, ranks),
            lambda s: s.std_of_mean(AP, ranks),
        ):
            with pytest.raises(ValueError, match="without replacement, got 4 in instance 1"):
                call(UniformSampling(5))

    @pytest.mark.parametrize("n_items", [0, 2.5, "9", None, [9]])
    def test_n_items(self, n_items):
        with pytest.raises(ValueError, match="n_items must be a whole number of at least 1, got"):
            UniformSampling(1).law(n_items)

    def test_ranks_and_metrics(self):
        sampler, ranks = UniformSampling(2), Ranks([1], 9)
        for call in (lambda: sampler.pmf([1, 2]), lambda: sampler.expect(AP, [1, 2])):
            with pytest.raises(ValueError, match="ranks must be Ranks, got list"):
                call()
        for method in (sampler.expect, sampler.variance, sampler.moments, sampler.std_of_mean):
            with pytest.raises(ValueError, match="metric must be a Metric such as .* got 'AQ'"):
                method("AQ", ranks)
            with pytest.raises(ValueError, match="Recall needs a cut-off"):
                method(Recall, ranks)

    @pytest.mark.parametrize("rng", [-1, "seed", 2.5])
    def test_rng(self, rng):
        with pytest.raises(ValueError, match="rng must be a whole number of at least 0 or a numpy"):
            UniformSampling(2).draw(Ranks([1], 9), rng)

    def test_more_than_the_memory_holds(self):
        with pytest.raises(
            ValueError, match=r"the law for n_items=1000000000, m=100 takes 752\.5 GiB, and at most"
        ):
            UniformSampling(100).law(10**9)
        many = Ranks(np.arange(1, 10**4 + 1), n_items=10**9)
        with pytest.raises(ValueError, match="the law of 10000 instances with m=10000000 takes"):
            UniformSampling(10**7).pmf(many)
        huge, one = UniformSampling(10**11), Ranks([10], n_items=10**12)
        with pytest.raises(ValueError, match="the table of NDCG with m=100000000000 takes"):
            huge.expect(NDCG, Ranks([10], n_items=10**12, ties=[5]))
        # AP needs no law: eq. (19) without replacement, by 10 factors as of the items above.
        missed = prod(Fraction(9 * 10**11 - 1 - i, 10**12 - i) for i in range(10))
        expected = float((1 - missed) * 10**12 / (10 * (10**11 + 1)))
        assert huge.expect(AP, one) == pytest.approx([expected], rel=1e-14, abs=0)

    def test_counts_that_do_not_matter_need_no_memory(self):
        huge, one = UniformSampling(10**11), Ranks([10], n_items=10**12 + 1)
        # Each of the 9 items above is drawn with probability 1/10, nearly independently.
        assert huge.expect(Recall @ 5, one)[0] == pytest.approx(stats.binom.cdf(4, 9, 0.1), 1e-9)
        gain = 1 / np.log2(np.arange(10) + 2)
        expected = stats.binom.pmf(np.arange(10), 9, 0.1) @ gain
        assert huge.expect(NDCG, one)[0] == pytest.approx(expected, 1e-9)

    def test_the_law_of_a_million_draws(self):
        m = 10**6
        for replace, law in (
            (True, stats.binom(m, 0.3)),
            (False, stats.hypergeom(10**8, 3 * 10**7, m)),
        ):
            pmf = law_of(UniformSampling(m, replace), 3 * 10**7 + 1, 10**8 + 1)
            near = np.arange(298_000, 302_000)
            assert pmf[near] == pytest.approx(
                law.pmf(near), rel=1e-6
            )  # which is as far as SciPy knows
            assert pmf.sum() == pytest.approx(1, abs=1e-14)
            assert pmf @ np.arange(m + 1) == pytest.approx(3e5, rel=1e-14)

    def test_closed_forms_need_no_memory(self):
        huge, one = UniformSampling(10**11, replace=True), Ranks([10**6 + 1], n_items=10**12 + 1)
        assert huge.expect(AUC, one)[0] == pytest.approx(1 - 1e-6)
        assert huge.expect(AP, one)[0] == pytest.approx(1e-5, rel=1e-4)
        assert huge.expect(Recall @ 10**5, one)[0] == pytest.approx(0.5, abs=2e-3)
        # E[z^s] = (1 - (1 - z) p)^m with p = 1e-6 and m = 1e11
        assert huge.expect(RBP(1 - 1e-5), one)[0] == pytest.approx(1e-5 * exp(-1), rel=1e-5)

    def test_pools_too_large_to_draw_from_without_replacement(self):
        ranks = Ranks([5], n_items=10**9 + 1)
        with pytest.raises(
            ValueError, match="n_items must be at most 1,000,000,000 to draw .* got"
        ):
            UniformSampling(5).draw(ranks, 0)
        assert UniformSampling(5, replace=True).draw(ranks, 0).values.tolist() == [1]
