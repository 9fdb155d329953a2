"""Several relevant items per instance, and ties: against enumeration, and against simulation."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

import recsample as rs
from recsample import AP, AR, AUC, F1, NDCG, RR, Ranks, Recall, RPrecision, UniformSampling
from recsample.consistency import CATALOGUE

METRICS = [*CATALOGUE, AP @ 3, RR @ 2, AR @ 2, F1 @ 3, RPrecision, rs.metric("AP(hits)@3")]

both_ways = pytest.mark.parametrize("replace", [False, True])


def tied_scores(rng, most_items=8):
    """A few scores with ties, and some relevant items."""
    n_items = int(rng.integers(5, most_items + 1))
    n_relevant = int(rng.integers(1, 4))
    scores = rng.integers(0, rng.integers(2, 9), n_items)
    return scores, rng.choice(n_items, n_relevant, replace=False)


def ranks_of(scores, relevant):
    matrix = sparse.csr_matrix(
        (np.ones(len(relevant)), (np.zeros(len(relevant), int), relevant)), (1, len(scores))
    )
    return rs.predicted_ranks(np.array([scores], float), matrix)


def orders(scores, relevant):
    """The places that the relevant items have in every order in which no score rises, counted."""
    blocks, place = [], 0
    for score in sorted(set(scores), reverse=True):
        items = np.flatnonzero(scores == score)
        hits = int(np.isin(items, relevant).sum())
        blocks.append([tuple(place + p for p in c) for c in combinations(range(len(items)), hits)])
        place += len(items)
    return [sorted(sum(choice, ())) for choice in product(*blocks)]


def sampled_ranks_counted(scores, relevant, m, replace):
    """Every sampled evaluation: every order of the ties, and every sample in that order."""
    found = Counter()
    for places in orders(np.asarray(scores), relevant):
        others = [p for p in range(len(scores)) if p not in places]
        for sample in product(others, repeat=m) if replace else combinations(others, m):
            found[tuple(i + 1 + sum(x < p for x in sample) for i, p in enumerate(places))] += 1
    ranks, times = zip(*found.items())
    return Ranks([list(r) for r in ranks], m + len(relevant)), np.array(times) / sum(times)


def cases(replace, n_cases=30):
    rng = np.random.default_rng(5)
    while n_cases:
        scores, relevant = tied_scores(rng)
        m = int(rng.integers(1, 4))
        if replace or m <= len(scores) - len(relevant):
            n_cases -= 1
            yield scores, relevant, m


class TestAgainstEnumeration:
    """30 random rankings with ties for each law, every metric, to 1e-12."""

    @both_ways
    def test_mean_and_variance_of_every_metric(self, replace):
        for scores, relevant, m in cases(replace):
            ranks, sampler = ranks_of(scores, relevant), UniformSampling(m, replace)
            sampled, chance = sampled_ranks_counted(scores, relevant, m, replace)
            for M in METRICS:
                if replace and not M.additive and len(relevant) > 1 and np.any(ranks.ties[0]):
                    continue  # refused, see below
                values = M(sampled)
                mean = chance @ values
                assert sampler.expect(M, ranks)[0] == pytest.approx(mean, abs=1e-12), M
                variance = chance @ (values - mean) ** 2
                assert sampler.variance(M, ranks)[0] == pytest.approx(variance, abs=1e-12), M

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


def many_ranks(rng, n_instances=40, n_items=500, ties=False):
    """Ranks of 1 to 8 relevant items, half of them good, with ties between some of them."""
    scores = rng.standard_normal((n_instances, n_items))
    if ties:
        scores = np.round(scores, 1)
    relevant = sparse.lil_matrix((n_instances, n_items))
    for user in range(n_instances):
        items = rng.choice(n_items, rng.integers(1, 9), replace=False)
        relevant[user, items] = 1
        scores[user, items[::2]] += 1.5
    return rs.predicted_ranks(scores, relevant.tocsr())


class TestAgainstSimulation:
    N_DRAWS = 2_500  # times 40 instances

    @both_ways
    @pytest.mark.parametrize("ties", [False, True])
    def test_draws_have_the_mean_and_the_spread(self, replace, ties):
        rng = np.random.default_rng(11)
        ranks = many_ranks(rng, ties=ties)
        sampler = UniformSampling(30, replace)
        metrics = [AUC, AP, AP @ 5, NDCG, NDCG @ 5, Recall @ 5, RR, rs.RBP(0.8), F1 @ 5]
        if replace and ties:  # 10,000 orders of the tied items are the limit for the variance
            ranks = ranks.break_ties("random", 0)
        sums = {M: np.zeros((2, len(ranks))) for M in metrics}
        for _ in range(self.N_DRAWS):
            drawn = sampler.draw(ranks, rng)
            for M in metrics:
                values = M(drawn)
                sums[M] += values, values**2
        for M, (total, squares) in sums.items():
            mean, variance = sampler.expect(M, ranks), sampler.variance(M, ranks)
            error = np.sqrt(variance.sum() / self.N_DRAWS)
            # The mean over all instances, within 4 standard errors
            assert abs((total / self.N_DRAWS - mean).sum()) < 4 * error, M
            seen = (squares / self.N_DRAWS - (total / self.N_DRAWS) ** 2).sum()
            assert seen == pytest.approx(variance.sum(), rel=0.04), M

    @both_ways
    def test_drawing_real_items(self, replace):
        """Items are drawn one by one and everything is ranked: the same joint law."""
        rng = np.random.default_rng(3)
        places, n_items, m = np.array([2, 3, 9, 30]), 60, 12
        others = np.delete(np.arange(n_items), places - 1)
        draws = np.array([rng.choice(others, m, replace=replace) for _ in range(20_000)])
        above = (draws[:, :, None] < places - 1).sum(axis=1)
        drawn = UniformSampling(m, replace).draw(Ranks([places] * 20_000, n_items), rng)
        counted = np.stack(drawn.values) - [1, 2, 3, 4]
        error = np.sqrt((above.var(axis=0) + counted.var(axis=0)) / 20_000)
        assert (abs(above.mean(axis=0) - counted.mean(axis=0)) < 4 * error).all()
        # A correlation of 20,000 pairs has a standard error of at most 1 / sqrt(20,000).
        difference = np.corrcoef(above.T) - np.corrcoef(counted.T)
        assert abs(difference).max() < 4 * np.sqrt(2 / 20_000)


class TestIndependence:
    def test_ranks_taken_for_independent_understate_the_spread(self):
        ranks = many_ranks(np.random.default_rng(2), n_items=3_000)
        sampler = UniformSampling(100)
        several = ranks.n_relevant > 3
        # The variances of the terms added up, as if they were independent
        recall = Recall @ 10
        targets, of_term = sampler._targets(ranks)
        alone = sampler._moments(recall, targets)[1][of_term]
        alone = np.bincount(ranks._terms.instance, alone)
        ratio = np.sqrt(sampler.variance(recall, ranks)[several].sum() / alone[several].sum())
        assert ratio > 1.2


class TestEachAlone:
    def test_each_item_among_the_irrelevant_ones(self):
        ranks = Ranks([[7, 3], [1], []], n_items=[9, 5, 4])
        alone = ranks.each_alone()
        assert alone.values.tolist() == [3, 6, 1]
        assert alone.n_items.tolist() == [8, 8, 5]

    def test_ties_stay(self):
        scores, relevant = np.array([3, 2, 2, 2, 1, 2]), [1, 5, 4]
        alone = ranks_of(scores, relevant).each_alone()
        assert alone.values.tolist() == [2, 2, 4] and alone.ties.tolist() == [2, 2, 0]

    def test_against_scores(self):
        rng = np.random.default_rng(1)
        for _ in range(50):
            scores, relevant = tied_scores(rng)
            alone = ranks_of(scores, relevant).each_alone()
            others = np.delete(scores, relevant)
            mine = np.sort(scores[relevant])[::-1]
            assert alone.values.tolist() == [1 + int((others > x).sum()) for x in mine]
            assert alone.ties.tolist() == [int((others == x).sum()) for x in mine]

    def test_nothing_relevant(self):
        with pytest.raises(ValueError, match="at least one relevant item, got none"):
            Ranks([[], []], n_items=4).each_alone()


class TestBreakTies:
    def test_best_and_worst(self):
        rng = np.random.default_rng(8)
        for _ in range(50):
            scores, relevant = tied_scores(rng)
            places = 1 + np.array(orders(scores, relevant))
            ranks = ranks_of(scores, relevant)
            best, worst = ranks.break_ties("optimistic"), ranks.break_ties("pessimistic")
            assert best.values[0].tolist() == places.min(axis=0).tolist()
            assert worst.values[0].tolist() == places.max(axis=0).tolist()

    def test_random_orders_are_equally_likely(self):
        scores, relevant = np.array([5, 4, 4, 4, 4, 1]), [1, 3]
        possible = sorted(orders(scores, relevant))
        rng, seen = np.random.default_rng(4), Counter()
        ranks = ranks_of(scores, relevant)
        for _ in range(6_000):
            seen[tuple(ranks.break_ties("random", rng).values[0])] += 1
        assert sorted(seen) == [tuple(np.add(p, 1)) for p in possible]
        from scipy.stats import chisquare

        assert chisquare(list(seen.values())).pvalue > 1e-4

    def test_metrics_lie_between(self):
        ranks = many_ranks(np.random.default_rng(6), ties=True)
        for M in (AP, AUC, NDCG @ 5):
            best, worst = (M(ranks.break_ties(how)) for how in ("optimistic", "pessimistic"))
            assert (worst <= M(ranks) + 1e-12).all() and (M(ranks) <= best + 1e-12).all()

    def test_refusals(self):
        with pytest.raises(ValueError, match="how must be 'random', .* got 'mean'"):
            Ranks([1], 5).break_ties("mean")
        with pytest.raises(ValueError, match="rng must be"):
            Ranks([1], 5).break_ties("random", "seed")


class TestMeanRank:
    def test_auc_agrees_and_others_do_not(self):
        ranks = many_ranks(np.random.default_rng(6), ties=True)
        at_mean_rank = rs.metrics.at_mean_rank
        assert at_mean_rank(AUC, ranks) == pytest.approx(AUC(ranks), abs=1e-14)
        assert abs(at_mean_rank(AP, ranks) - AP(ranks)).max() > 1e-4

    def test_mean_places(self):
        for seed in range(30):
            scores, relevant = tied_scores(np.random.default_rng(seed))
            places = 1 + np.mean(orders(scores, relevant), axis=0)
            exact = sum(1 / np.log2(1 + places))
            found = rs.metrics.at_mean_rank(rs.DCG, ranks_of(scores, relevant))
            assert found[0] == pytest.approx(exact, abs=1e-12)

    def test_refusals(self):
        with pytest.raises(ValueError, match="a sum over the relevant items, got AP"):
            rs.metrics.at_mean_rank(rs.metric("AP(hits)@3"), Ranks([1], 5))
        with pytest.raises(ValueError, match="ranks must be Ranks, got list"):
            rs.metrics.at_mean_rank(AP, [1])


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

    def test_what_has_no_law_with_replacement(self):
        ranks, sampler = Ranks([[1, 2]], n_items=9, ties=[[3, 3]]), UniformSampling(4, replace=True)
        with pytest.raises(ValueError, match="a metric divides by its hits"):
            sampler.expect(rs.metric("AP(hits)@3"), ranks)
        ranks = Ranks([[1, 2]], n_items=300, ties=[[200, 200]])
        with pytest.raises(ValueError, match="tie 2 relevant with 200 .* 20301 orders"):
            sampler.variance(AP, ranks)
        assert 0 < sampler.expect(AP, ranks)[0] < 1

    @pytest.mark.parametrize("k", [0, -2, 1.5, "3"])
    def test_k(self, k):
        with pytest.raises(ValueError, match="k must be a whole number of at least 1, got"):
            UniformSampling(2).pmf_of_hits(Ranks([[1, 2]], 9), k)
