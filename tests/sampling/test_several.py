"""Several relevant items and ties: expectations and laws against enumeration."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from tied import orders, ranks_of, tied_scores

import recsample as rs
from recsample import AP, AR, AUC, F1, NDCG, RR, Ranks, Recall, RPrecision, UniformSampling

METRICS = [AUC, AP, NDCG, RR, AP @ 3, NDCG @ 3, Recall @ 2, RR @ 2, AR @ 2, F1 @ 3, RPrecision]
METRICS += map(rs.metric, ("PercentileRank", "HitRate@2", "RBP(0.8)", "DCG@3"))

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


@both_ways
@pytest.mark.parametrize("m", [1, 3])
def test_expectations_of_every_metric(m, replace):
    of_m = [case[:2] for case in cases(replace) if case[2] == m]
    assert len(of_m) > 9
    ranks = Ranks.concatenate(ranks_of(*case) for case in of_m)
    every, chances = zip(*(sampled_ranks_counted(*case, m, replace) for case in of_m))
    sampled, ends = Ranks.concatenate(every), np.cumsum([*map(len, chances)])[:-1]
    for M in METRICS:
        mean = [p @ values for values, p in zip(np.split(M(sampled), ends), chances)]
        assert UniformSampling(m, replace).expect(M, ranks) == pytest.approx(mean, abs=1e-12), M


@both_ways
def test_the_law_of_each_item_and_of_the_hits(replace):
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
def test_a_corrected_metric(replace):
    """Any vector per item, so a corrected metric too."""
    for scores, relevant, m in cases(replace, 10):
        sampler, ranks = UniformSampling(m, replace), ranks_of(scores, relevant)
        corrected = rs.BiasVariance(AP, sampler, len(scores), gamma=0.01)
        sampled, chance = sampled_ranks_counted(scores, relevant, m, replace)
        mean = chance @ corrected(sampled)
        assert sampler.expect(corrected, ranks)[0] == pytest.approx(mean, abs=1e-11)


@both_ways
def test_draws_have_the_joint_law(replace):
    """The vectors of sampled ranks of one instance, against every sample and order of ties."""
    for scores, relevant, m in [([5, 3, 3, 2, 2, 2, 1], [0, 3, 4], 2), ([1] * 5, [0, 1], 3)]:
        ranks, n = ranks_of(np.array(scores), relevant), 8_000
        sampled, chance = sampled_ranks_counted(np.array(scores), relevant, m, replace)
        drawn = UniformSampling(m, replace).draw(ranks[np.zeros(n, int)], rng=2)
        found = Counter(tuple(v.tolist()) for v in drawn.values)
        known = [tuple(v.tolist()) for v in sampled.values]
        assert set(found) <= set(known)
        expected = n * chance
        observed = np.array([found[one] for one in known])
        common = expected >= 5
        both = [np.append(x[common], x[~common].sum() + 5) for x in (observed, expected)]
        assert stats.chisquare(*both).pvalue > 1e-3


def test_what_is_no_sum_over_the_items_is_refused():
    metric, several = rs.metric("AP(hits)@3"), Ranks([[1], [2, 5]], 9)
    for sampler in (UniformSampling(3), rs.PooledSampling(3)):
        assert sampler.expect(metric, several[:1]) == pytest.approx([1.0])
        with pytest.raises(ValueError, match=r"for the expectation of AP\(hits\)@3, got 2 in inst"):
            sampler.expect(metric, several)
