"""The joint law of several relevant items, and ties: against enumeration and simulation."""

from collections import Counter
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy import stats
from thorough import thorough
from tied import many_ranks, orders, ranks_of, tied_scores

import recsample as rs
from recsample import AP, AR, AUC, F1, NDCG, RR, Ranks, Recall, RPrecision, UniformSampling
from recsample.sampling.consistency import CATALOGUE
from recsample.sampling.joint import moments_of

METRICS = [*CATALOGUE, AP @ 3, RR @ 2, AR @ 2, F1 @ 3, RPrecision, rs.metric("AP(hits)@3")]

both_ways = pytest.mark.parametrize("replace", [False, True])


def sampled_ranks_counted(scores, relevant, m, replace):
    """Every sampled evaluation: every order of the ties, and every sample in that order."""
    found = Counter()
    for places in orders(np.asarray(scores), relevant):
        others = [p for p in range(len(scores)) if p not in places]
        for sample in product(others, repeat=m) if replace else combinations(others, m):
            found[tuple(i + 1 + sum(x < p for x in sample) for i, p in enumerate(places))] += 1
    ranks, times = zip(*found.items())
    return Ranks([list(r) for r in ranks], m + len(relevant)), np.array(times) / sum(times)


def cases(replace, n_cases=50):
    rng = np.random.default_rng(5)
    while n_cases:
        scores, relevant = tied_scores(rng)
        m = int(rng.integers(1, 4))
        if replace or m <= len(scores) - len(relevant):
            n_cases -= 1
            yield scores, relevant, m


class TestAgainstEnumeration:
    """50 random rankings with ties for each law, every metric, to 1e-12."""

    @both_ways
    @pytest.mark.parametrize("m", [thorough(1), 3])
    def test_mean_and_variance_of_every_metric(self, m, replace):
        of_m = [case[:2] for case in cases(replace) if case[2] == m]
        assert len(of_m) > 9
        ranks = Ranks.concatenate(ranks_of(*case) for case in of_m)
        sampler = UniformSampling(m, replace)
        every, chances = zip(*(sampled_ranks_counted(*case, m, replace) for case in of_m))
        sampled, ends = Ranks.concatenate(every), np.cumsum([*map(len, chances)])[:-1]
        for M in METRICS:
            moments = []
            for values, chance in zip(np.split(M(sampled), ends), chances):
                mean = chance @ values
                moments.append([mean, chance @ (values - mean) ** 2])
            both = np.transpose(moments)
            assert sampler.expect(M, ranks) == pytest.approx(both[0], abs=1e-12), M
            # Of which `variance` is one
            assert np.array(sampler.moments(M, ranks)) == pytest.approx(both, abs=1e-12), M

    @both_ways
    def test_instances_with_the_same_ranks_in_pools_that_differ(self, replace):
        pools, relevant, sampler = (
            [np.arange(n, 0, -1) for n in (5, 8)],
            [1, 3],
            UniformSampling(2, replace),
        )
        ranks = Ranks.concatenate([ranks_of(scores, relevant) for scores in pools])
        for M in (AP, NDCG, AP @ 3):
            found = np.transpose(sampler.moments(M, ranks))
            for scores, moments in zip(pools, found):
                sampled, chance = sampled_ranks_counted(scores, relevant, 2, replace)
                values = M(sampled)
                mean = chance @ values
                expected = [mean, chance @ (values - mean) ** 2]
                assert moments == pytest.approx(expected, abs=1e-12), M

    @both_ways
    def test_the_law_of_each_item_and_of_the_hits(self, replace):
        for scores, relevant, m in cases(replace):
            ranks, sampler = ranks_of(scores, relevant), UniformSampling(m, replace)
            sampled, chance = sampled_ranks_counted(scores, relevant, m, replace)
            values = np.stack(sampled.values)
            for i, law in enumerate(sampler.pmf(ranks)):
                counted = np.bincount(values[:, i] - i - 1, chance, minlength=m + 1)
                assert law == pytest.approx(counted, abs=1e-12)
            for k in range(1, m + len(relevant) + 1):
                hits = (values <= k).sum(axis=1)
                counted = np.bincount(hits, chance, minlength=len(relevant) + 1)
                assert sampler.pmf_of_hits(ranks, k)[0] == pytest.approx(counted, abs=1e-12)

    @both_ways
    def test_a_corrected_metric(self, replace):
        """Any vector per item, so a corrected metric too: mean and variance by enumeration."""
        for scores, relevant, m in cases(replace, 10):
            sampler = UniformSampling(m, replace)
            ranks = ranks_of(scores, relevant)
            corrected = rs.BiasVariance(AP, sampler, len(scores), gamma=0.01)
            sampled, chance = sampled_ranks_counted(scores, relevant, m, replace)
            values = corrected(sampled)
            mean = chance @ values
            assert sampler.expect(corrected, ranks)[0] == pytest.approx(mean, abs=1e-11)
            variance = chance @ (values - mean) ** 2
            assert sampler.variance(corrected, ranks)[0] == pytest.approx(variance, abs=1e-11)


@cache
def laws_within(inner, outer, m, replace):
    """How many of 0, ..., m items drawn from `outer` are among `inner` of these: a row each."""
    if inner == outer:
        return np.eye(m + 1)
    if replace:
        return stats.binom.pmf(np.arange(m + 1), np.arange(m + 1)[:, None], inner / outer)
    laws = np.zeros((m + 1, m + 1))
    for drawn in range(min(m, outer) + 1):
        laws[drawn, : drawn + 1] = law_without(inner, outer, drawn, m)
    return laws


def law_without(inner, outer, drawn, m):
    """One of these rows, from whole numbers of subsets."""
    among, others = subsets(inner, m)[: drawn + 1], subsets(outer - inner, m)[drawn::-1]
    ways = subsets(outer, m)[drawn]
    return [x * y / ways for x, y in zip(among, others)]


@cache
def subsets(n, largest):
    """How many subsets of n items have 0, ..., `largest` items."""
    return [comb(n, size) for size in range(largest + 1)]


def by_pairs(values, above, pool, m, replace):
    """Mean and variance of the sum over untied items, from the joint law of every two of them."""
    above = above.tolist()
    mean, square = 0.0, 0.0
    for j, outer in enumerate(above):
        if replace:
            chance = stats.binom.pmf(np.arange(m + 1), m, outer / pool)
        else:
            chance = np.array(law_without(outer, pool, m, m))
        mean += chance @ values[j]
        square += chance @ values[j] ** 2
        for i, inner in enumerate(above[:j]):
            given = laws_within(inner, outer, m, replace) @ values[i]
            square += 2 * chance @ (values[j] * given)
    return mean, square - mean**2


class TestAgainstPairs:
    """Instances of many kinds that walk together, each against the covariances of its items."""

    @both_ways
    def test_mean_and_variance(self, replace):
        rng, m = np.random.default_rng(8), 30
        sizes = rng.integers(60, 3_000, 40)
        # Neighbours, items at both ends, and all in the first places, beside random ones
        lists = [[1, 2, 3], [1, 2_000], [1_999, 2_000], [1], list(range(1, 13))]
        lists += [rng.choice(n, rng.integers(2, 9), replace=False) + 1 for n in sizes]
        sizes = np.append([2_000] * 5, sizes + 10)
        again = np.append(np.arange(45), [3, 1, 30, 30])
        ranks = Ranks([lists[i] for i in again], sizes[again])
        sampler, s = UniformSampling(m, replace), np.arange(m + 1)
        for M in (AP, NDCG, NDCG @ 5, RR, Recall @ 10):
            found = np.transpose(sampler.moments(M, ranks))
            for moments, rank, n_items in zip(found, ranks.values, ranks.n_items):
                n, order = len(rank), np.arange(1, len(rank) + 1)
                values = M.term(order[:, None] + s, order[:, None], n, m + n) + np.zeros((n, m + 1))
                expected = by_pairs(values, np.sort(rank) - order, int(n_items) - n, m, replace)
                assert moments == pytest.approx(expected, abs=1e-13), M

    def test_many_sampled_items(self):
        """Where most counts have no chance worth a column: against exact laws."""
        ranks, m = Ranks([[4, 30, 900], [700, 701, 4_000]], 5_000), 250
        order, s = np.arange(1, 4)[:, None], np.arange(m + 1)
        values = NDCG.term(order + s, order, 3, m + 3)
        found = np.transpose(UniformSampling(m).moments(NDCG, ranks))
        for moments, rank in zip(found, ranks.values):
            expected = by_pairs(values, np.array(rank) - [1, 2, 3], 4_997, m, False)
            assert moments == pytest.approx(expected, rel=1e-9, abs=1e-14)


def outcomes(ranks, sampler, n_draws, rng):
    """The different vectors of sampled ranks of each instance, and how often each was drawn.

    A vector is written as one number, in the base of the largest sampled rank.
    """
    n, base = len(ranks), sampler.m + int(ranks.n_relevant.max()) + 1
    seen = Counter()
    again = 2_000
    sizes = np.tile(ranks.n_items, again)
    many = Ranks([*ranks.values] * again, sizes, ties=[*ranks.ties] * again)
    for _ in range(n_draws // again):
        drawn = sampler.draw(many, rng).rows
        digits = drawn.rank * base ** (drawn.order - 1)
        codes = np.zeros(n * again, np.int64)
        np.add.at(codes, drawn.instance, digits)
        found, times = np.unique(np.arange(n * again) % n + n * codes, return_counts=True)
        seen.update(dict(zip(found.tolist(), times.tolist())))
    instance, values = [], []
    for code in seen:
        code, which = divmod(code, n)
        instance.append(which)
        values.append([])
        while code:
            code, digit = divmod(code, base)
            values[-1].append(digit)
    sizes = sampler.m + ranks.n_relevant[instance]
    return np.array(instance), Ranks(values, sizes), np.array([*seen.values()]) / n_draws


class TestAgainstSimulation:
    """16 random sets of ranks, half with ties, for each law: 32,000 draws, every metric."""

    N_SETS, N_DRAWS = 16, 2_000

    @pytest.mark.thorough
    @both_ways
    def test_draws_have_the_mean_and_the_variance(self, replace):
        rng = np.random.default_rng(11)
        ranks = many_ranks(rng, self.N_SETS, n_items=200, tied=self.N_SETS // 2)
        shared = ranks.rows.ties[ranks.rows.group > 1]
        assert len(shared) > 10 and shared.max() > 5
        sampler = UniformSampling(10, replace)
        instance, sampled, share = outcomes(ranks, sampler, self.N_DRAWS, rng)
        errors = []
        for M in METRICS:
            mean, variance = sampler.moments(M, ranks)
            off = M(sampled) - mean[instance]
            # Fewer than 25 draws off by a standard deviation tell little about a normal error.
            far = np.bincount(instance, share * (off**2 >= variance[instance]))
            often = (far * self.N_DRAWS >= 25) & (variance > 1e-20)
            first, second, fourth = (
                np.bincount(instance, share * off**power) for power in (1, 2, 4)
            )
            # The mean, and the mean square about the exact mean, with their variances
            for missed, noise in ((first, variance), (second - variance, fourth - second**2)):
                missed, noise = missed[often], np.maximum(noise[often], 1e-20)
                error = np.sqrt(noise / self.N_DRAWS)
                assert abs(missed.sum()) <= 4 * np.sqrt((error**2).sum()), M
                errors.extend(abs(missed) / error)
            assert abs(first[~often]).max(initial=0) < 4 * np.sqrt(25) / self.N_DRAWS, M
        # One in a thousand such tests, with all sets and metrics together, would fail by chance.
        assert len(errors) > 2 * self.N_SETS * len(METRICS) * 0.8
        assert max(errors) < stats.norm.isf(1e-3 / 2 / len(errors))

    @both_ways
    def test_drawing_real_items(self, replace):
        """Items are drawn one by one and everything is ranked: the same joint law."""
        rng = np.random.default_rng(3)
        places, n_items, m = np.array([2, 3, 9, 30]), 60, 12
        others = np.delete(np.arange(n_items), places - 1)
        draws = np.array([rng.choice(others, m, replace=replace) for _ in range(8_000)])
        above = (draws[:, :, None] < places - 1).sum(axis=1)
        drawn = UniformSampling(m, replace).draw(Ranks([places] * 8_000, n_items), rng)
        counted = np.stack(drawn.values) - [1, 2, 3, 4]
        error = np.sqrt((above.var(axis=0) + counted.var(axis=0)) / 8_000)
        assert (abs(above.mean(axis=0) - counted.mean(axis=0)) < 4 * error).all()
        # A correlation of 8,000 pairs has a standard error of at most 1 / sqrt(8,000).
        difference = np.corrcoef(above.T) - np.corrcoef(counted.T)
        assert abs(difference).max() < 4 * np.sqrt(2 / 8_000)


def by_every_place(values, above, ties, pool, m, replace):
    """Mean and variance of the sum over tied items, by all tied irrelevant items one by one.

    Of x of these and j relevant items in a random order, the last is relevant with probability
    j / (x + j); otherwise the draws of it are taken away. The values are those of any number of
    metrics, shape (relevant items, metrics, m + 1).
    """
    s = np.arange(m + 1)
    moments = np.zeros((len(values) + 1, 2, *values.shape[1:]))
    for x in range(ties + 1):
        n = above + x
        law = np.zeros((m + 1, m + 1))  # row s: how many of s draws among n are not of the last
        if replace and n:
            law[:] = stats.binom.pmf(s, s[:, None], 1 - 1 / n)
        elif n:
            some = s[: n + 1]
            law[some, some], law[some[1:], some[:-1]] = 1 - some / n, some[1:] / n
        passed = moments @ law.T if x else moments
        moments = np.zeros_like(moments)
        moments[0] = passed[0]
        for j, value in enumerate(values, 1):
            mean, square = moments[j - 1]
            added = np.stack([mean + value, square + 2 * value * mean + value**2])
            moments[j] = (j * added + x * passed[j]) / (x + j)
    law = stats.binom.pmf(s, m, n / pool) if replace else stats.hypergeom.pmf(s, pool, n, m)
    mean, square = moments[-1] @ law
    return mean, square - mean**2


class TestManyTies:
    """Ties as numerous as in real data, where nothing can be enumerated."""

    @both_ways
    @pytest.mark.parametrize(
        "above, ties, group, pool, m",
        [(20, 300, 4, 400, 12), (0, 90, 2, 90, 20), (3, 40, 9, 99, 7)],
    )
    def test_against_a_walk_over_all_of_them(self, above, ties, group, pool, m, replace):
        ranks = Ranks([above + np.arange(1, group + 1)], pool + group, ties=[[ties] * group])
        order, s = np.arange(1, group + 1)[:, None], np.arange(m + 1)
        sampler = UniformSampling(m, replace)
        metrics = AP, NDCG @ 3, Recall @ 2, AUC, rs.PercentileRank, rs.RBP(0.8)
        terms = [
            M.term(order + s, order, group, m + group) + np.zeros((group, m + 1)) for M in metrics
        ]
        moments = by_every_place(np.stack(terms, axis=1), above, ties, pool, m, replace)
        for M, *expected in zip(metrics, *moments):
            found = np.ravel(sampler.moments(M, ranks))
            assert found == pytest.approx(expected, abs=1e-12), M
            assert sampler.expect(M, ranks)[0] == pytest.approx(expected[0], abs=1e-12), M

    @both_ways
    @pytest.mark.thorough
    def test_real_data(self, replace):
        """Users with thousands of items at score 0, several relevant ones among them."""
        recorded = rs.datasets.recorded_several()["Z"]
        ranks = Ranks(recorded.values[:8], recorded.n_items[:8], ties=recorded.ties[:8])
        assert ranks.rows.ties[ranks.rows.group > 1].max() > 3_000
        sampler, n = UniformSampling(100, replace), 1_000
        many = Ranks([*ranks.values] * n, np.tile(ranks.n_items, n), ties=[*ranks.ties] * n)
        drawn = sampler.draw(many, 0)
        for M in (AP, AUC, Recall @ 2, RR, rs.metric("AP(hits)@3")):
            values = M(drawn).reshape(n, -1)
            mean, variance = sampler.moments(M, ranks)
            assert mean == pytest.approx(sampler.expect(M, ranks), abs=1e-12)
            first, second, fourth = (((values - mean) ** k).mean(axis=0) for k in (1, 2, 4))
            error = np.sqrt(variance / n) + 1e-12
            assert (abs(first) < 4.5 * error).all(), M
            if M in (AP, AUC, RR):  # others vary too rarely
                error = np.sqrt((fourth - variance**2) / n) + 1e-12
                assert (abs(second - variance) < 4.5 * error).all(), M

    @pytest.mark.parametrize("replace", [thorough(True), False])
    def test_a_million_ties(self, replace):
        """The walk against the law of each item, which comes from another formula."""
        sampler = UniformSampling(100, replace)
        for ranks in (
            Ranks([[5, 6]], 2 * 10**6, ties=[[10**6] * 2]),
            Ranks([np.arange(3, 63)], 5_000, ties=[[2_000] * 60]),
        ):
            for M in (AP, NDCG @ 10):
                mean = sampler.moments(M, ranks)[0]
                assert mean == pytest.approx(sampler.expect(M, ranks), abs=1e-13)

    def test_alone_among_ties(self):
        """12,000 tied items, each place for itself: mean and mean square over the places."""
        ranks, m = Ranks([[1, 3600]], 20_000, ties=[[3000, 12_000]]), 100
        sampler = UniformSampling(m, replace=True)
        # Two items: E[s_1 s_2] = m (m - 1) p_1 p_2 + m p_1, and so on, averaged over the places
        pool = 19_998
        p_1, p_2 = np.arange(3001) / pool, (3598 + np.arange(12_001)) / pool
        mean_1, mean_2 = p_1.mean(), p_2.mean()
        squares = [(p**2).mean() for p in (p_1, p_2)]
        covariance = m * (mean_1 - mean_1 * mean_2)
        variances = [
            m * (p.mean() - square) + m**2 * (square - p.mean() ** 2)
            for p, square in zip((p_1, p_2), squares)
        ]
        expected = (sum(variances) + 2 * covariance) / (2 * m) ** 2
        assert sampler.variance(AUC, ranks)[0] == pytest.approx(expected, rel=1e-12)
        # The walk knows nothing of this closed form.
        values = np.tile((1 - np.arange(m + 1) / m) / 2, (2, 1))
        law = stats.binom.pmf(np.arange(m + 1), m, 15_598 / pool)[None]
        given = lambda order, _: values[order - 1], lambda *_: law
        walked = moments_of(AP, ranks, [True], *given, m + 1, True)
        assert walked[1, 0] == pytest.approx(expected, rel=1e-11)


class TestIndependence:
    def test_ranks_taken_for_independent_understate_the_spread(self):
        ranks = many_ranks(np.random.default_rng(2), n_items=3_000)
        sampler = UniformSampling(100)
        several = ranks.n_relevant > 3
        # The variances of the terms added up, as if they were independent
        recall, law, order = Recall @ 10, sampler.pmf(ranks), ranks.rows.order[:, None]
        n_relevant = ranks.n_relevant[ranks.rows.instance][:, None]
        rank = order + np.arange(101)
        terms = recall.term(rank, order, n_relevant, 100 + n_relevant)
        each = (law * terms**2).sum(axis=1) - (law * terms).sum(axis=1) ** 2
        alone = np.bincount(ranks.rows.instance, each)
        ratio = np.sqrt(sampler.variance(recall, ranks)[several].sum() / alone[several].sum())
        assert ratio > 1.2


class TestInstancesWithout:
    def test_no_relevant_item_is_undefined_and_said(self):
        ranks, sampler = Ranks([[], [2, 3]], n_items=9), UniformSampling(3)
        assert len(sampler.pmf(ranks)) == 2
        assert sampler.draw(ranks, 0).n_items.tolist() == [3, 5]
        for call in (sampler.expect, sampler.variance):
            with pytest.warns(UserWarning, match="AP is undefined for 1 of 2 instances"):
                assert np.isnan(call(AP, ranks)).tolist() == [True, False]
        assert sampler.pmf_of_hits(ranks, 3)[0].tolist() == [1, 0, 0]


class TestRefusals:
    def test_too_few_items_names_the_instance(self):
        ranks = Ranks([[1], [2, 3, 4]], n_items=[9, 6])
        sampler = UniformSampling(4)
        for call in (sampler.pmf, lambda r: sampler.draw(r, 0), lambda r: sampler.expect(AP, r)):
            with pytest.raises(ValueError, match="to draw m=4 .* got 3 in instance 1"):
                call(ranks)

    @pytest.mark.parametrize("k", [0, -2, 1.5, "3"])
    def test_k(self, k):
        with pytest.raises(ValueError, match="k must be a whole number of at least 1, got"):
            UniformSampling(2).pmf_of_hits(Ranks([[1, 2]], 9), k)
