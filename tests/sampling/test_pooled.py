"""Pooled sampling against every evaluation there is, and uniform sampling given its size."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample.ranks.base import Ranks
from recsample.sampling import PooledSampling
from recsample.sampling.laws import different_pmf

METRICS = [
    rs.AUC,
    rs.AP,
    rs.AP @ 2,
    rs.NDCG @ 3,
    rs.NDCG,
    rs.Recall @ 2,
    rs.Precision @ 2,
    rs.RR,
    rs.HitRate @ 1,
    rs.PercentileRank,
    rs.RBP(0.8),
]


def different(n_items, n_draws):
    """P(D = d) for d = 0, ..., n_draws, by inclusion and exclusion."""
    law = [
        Fraction(
            comb(n_items, d) * sum((-1) ** j * comb(d, j) * (d - j) ** n_draws for j in range(d)),
            n_items**n_draws,
        )
        for d in range(n_draws + 1)
    ]
    return law


@pytest.mark.parametrize(
    ("n_items", "m", "n_relevant"), [(1, 3, 1), (3, 2, 1), (7, 5, 1), (9, 6, 3), (200, 99, 1)]
)
def test_sizes_follow_the_occupancy_law(n_items, m, n_relevant):
    expected = [float(p) for p in different(n_items, m * n_relevant)]
    found = PooledSampling(m).sizes(n_items, n_relevant)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-300)
    assert found.sum() == pytest.approx(1, rel=1e-13)


def test_sizes_have_the_mean_that_each_item_gives():
    law = PooledSampling(100).sizes(3540, 30)
    assert law @ np.arange(len(law)) == pytest.approx(
        3540 * (1 - (1 - 1 / 3540) ** 3000), rel=1e-11
    )


def every_evaluation(ranks, n_items, ties, m):
    """All equally likely sampled ranks of one instance: pairs of a list of ranks and a size.

    The order of the pool is that of the ranks; irrelevant items that are tied with the relevant
    ones take any order with them.
    """
    n_irrelevant = n_items - len(ranks)
    taken = set(ranks)
    order = ["relevant" if place in taken else "other" for place in range(1, n_items + 1)]
    if ties:
        start = ranks[0] - 1
        end = start + ties + len(ranks)
        orders = [
            order[:start] + list(middle) + order[end:] for middle in permutations(order[start:end])
        ]
    else:
        orders = [order]
    for order in orders:
        irrelevant = [place for place, kind in enumerate(order) if kind == "other"]
        for drawn in product(irrelevant, repeat=m * len(ranks)):
            pool = sorted({*drawn, *(p for p, kind in enumerate(order) if kind == "relevant")})
            found = [1 + pool.index(p) for p, kind in enumerate(order) if kind == "relevant"]
            assert len(irrelevant) == n_irrelevant
            yield tuple(found), len(pool)


@cache
def law_of(ranks, n_items, ties, m):
    """How often each of them comes about."""
    return Counter(every_evaluation(ranks, n_items, ties, m))


CASES = [
    ((1,), 5, 0, 3),
    ((3,), 6, 0, 4),
    ((5,), 5, 0, 4),
    ((2,), 2, 0, 3),
    ((2,), 5, 2, 3),
    ((2, 5), 6, 0, 2),
    ((1, 2, 4), 6, 0, 1),
    ((2, 3), 5, 0, 3),
    ((2, 3), 6, 2, 2),
    ((1, 2), 4, 2, 3),
]


@pytest.mark.parametrize(("ranks", "n_items", "ties", "m"), CASES)
def test_moments_by_enumeration(ranks, n_items, ties, m):
    law = law_of(ranks, n_items, ties, m)
    chance = np.array(list(law.values())) / sum(law.values())
    sampled = Ranks([list(values) for values, _ in law], [size for _, size in law])
    given = Ranks([ranks], n_items, ties=[[ties] * len(ranks)])
    sampler = PooledSampling(m)
    for metric in METRICS:
        values = metric(sampled)
        mean = chance @ values
        assert sampler.expect(metric, given)[0] == pytest.approx(mean, abs=1e-12), str(metric)
        if len(ranks) == 1:
            variance = chance @ (values - mean) ** 2
            assert sampler.variance(metric, given)[0] == pytest.approx(variance, abs=1e-12)


@pytest.mark.parametrize(("ranks", "n_items", "ties", "m"), CASES)
def test_draws_by_enumeration(ranks, n_items, ties, m):
    law = law_of(ranks, n_items, ties, m)
    n = 4000
    given = Ranks([ranks] * n, n_items, ties=[[ties] * len(ranks)] * n)
    drawn = PooledSampling(m).draw(given, rng=3)
    found = Counter(zip((tuple(v.tolist()) for v in drawn.values), drawn.n_items.tolist()))
    assert set(found) <= set(law)
    expected = np.array([n * count / sum(law.values()) for count in law.values()])
    observed = np.array([found[outcome] for outcome in law])
    # Outcomes that are too rare for chi-square count as one.
    rare = expected < 5
    if rare.any() and not rare.all():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if len(expected) > 1:
        assert stats.chisquare(observed, expected).pvalue > 0.001


def test_instances_of_all_kinds_at_once():
    kinds = [
        ([3], 6, 0, 2),
        ([1, 4], 9, 0, 2),
        ([2], 5, 2, 2),
        ([2], 7, 2, 2),
        ([2, 3, 7], 7, 0, 2),
    ]
    together = Ranks(
        [r for r, *_ in kinds],
        [n for _, n, *_ in kinds],
        ties=[[t] * len(r) for r, _, t, _ in kinds],
    )
    sampler = PooledSampling(2)
    for metric in (rs.AP, rs.AUC, rs.NDCG @ 2):
        alone = [Ranks([r], n, ties=[[t] * len(r)]) for r, n, t, _ in kinds]
        expected = [sampler.expect(metric, ranks)[0] for ranks in alone]
        assert sampler.expect(metric, together) == pytest.approx(expected, abs=1e-14)
    drawn = sampler.draw(together, rng=0)
    assert drawn.n_relevant.tolist() == [1, 2, 1, 1, 3]
    assert (drawn.n_irrelevant <= sampler.m * drawn.n_relevant).all()


def test_different_items_above():
    """The occupancy law of the items above, against a sum over how many draws are above."""
    for above, n_items, n_draws in [(1, 3, 4), (4, 9, 6), (9, 9, 6), (30, 200, 60), (199, 200, 60)]:
        drawn = [
            Fraction(comb(n_draws, k) * above**k * (n_items - above) ** (n_draws - k))
            / n_items**n_draws
            for k in range(n_draws + 1)
        ]
        laws = [[Fraction(1)], *(different(above, k) for k in range(1, n_draws + 1))]
        exact = [
            float(sum(p * law[s] for p, law in zip(drawn[s:], laws[s:])))
            for s in range(n_draws + 1)
        ]
        found = different_pmf(np.array([above]), np.array([n_items]), n_draws)[0]
        assert found == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_corrections_are_refused_where_the_size_is_random():
    ranks = Ranks([[3], [5]], 9)
    corrected = rs.BiasVariance(rs.AP, rs.UniformSampling(2), 9, gamma=0.1)
    for method in (PooledSampling(2).expect, PooledSampling(2).variance):
        with pytest.raises(
            ValueError, match=r"metric must read what PooledSampling\(m=2\) gives, got BiasVar"
        ):
            method(corrected, ranks)


def test_many_draws_leave_nothing_to_chance():
    ranks = Ranks([[2, 5], [1, 8]], 8)
    sampler = PooledSampling(400)
    assert sampler.expect(rs.AP, ranks) == pytest.approx(rs.AP(ranks), abs=1e-12)
    assert sampler.variance(rs.AP, Ranks([2, 5], 8)) == pytest.approx([0, 0], abs=1e-12)
    drawn = sampler.draw(ranks, rng=0)
    assert [v.tolist() for v in drawn.values] == [[2, 5], [1, 8]]


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (Ranks([[1], []], 3), "relevant items in every instance, got none in instance 1"),
        (Ranks([[1], [1, 2]], 2), "irrelevant items in every instance, got none in instance 1"),
        ([1, 2], "ranks must be Ranks, got list"),
    ],
)
def test_pooled_sampling_refuses(ranks, message):
    sampler = PooledSampling(3)
    for use in (
        lambda: sampler.draw(ranks, 0),
        lambda: sampler.expect(rs.AP, ranks),
        lambda: sampler.variance(rs.AP, ranks),
    ):
        with pytest.raises(ValueError, match=message):
            use()


def test_pooled_sampling_refuses_numbers():
    for m in (0, 1.5, "many"):
        with pytest.raises(ValueError, match="m must be a whole number of at least 1"):
            PooledSampling(m)
    with pytest.raises(ValueError, match="n_irrelevant must be"):
        PooledSampling(2).sizes(0)
