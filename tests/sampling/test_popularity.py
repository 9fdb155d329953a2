"""Popularity sampling against enumeration, simulation that draws items, and uniform sampling."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import sparse, stats
from thorough import thorough
from weighted import POOLS, STUDY, agree, ranked, repeated, sequences

import recsample as rs
from recsample import AP, AUC, PopularitySampling, RankedItems, Recall, UniformSampling


def law_without(sides, weights, m):
    law = [Fraction(0)] * (m + 1)
    for drawn, chance in sequences(weights, m, False):
        above = sum(sides[j] == 1 for j in drawn)
        tied = sum(sides[j] is None for j in drawn)
        for ahead in range(tied + 1):
            law[above + ahead] += chance / (tied + 1)
    return law


def law_with(sides, weights, m):
    law = [Fraction(0)] * (m + 1)
    t = sides.count(None)
    for place in range(t + 1):
        share = Fraction(place, max(t, 1))
        for drawn, chance in sequences(weights, m, True):
            above = sum(sides[j] == 1 for j in drawn)
            tied = sum(sides[j] is None for j in drawn)
            for ahead in range(tied + 1):
                ways = share**ahead * (1 - share) ** (tied - ahead)
                law[above + ahead] += chance * comb(tied, ahead) * ways / (t + 1)
    return law


@pytest.mark.parametrize(("sides", "weights"), POOLS)
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("replace", [False, True])
def test_law_is_that_of_the_enumeration(sides, weights, m, replace):
    law = (law_with if replace else law_without)(sides, weights, m)
    assert sum(law) == 1
    found = PopularitySampling(m, [*weights, 9], replace).pmf(ranked(sides))
    assert found.shape == (1, m + 1)
    np.testing.assert_allclose(found[0], [float(p) for p in law], rtol=0, atol=1e-12)


def test_law_without_replacement_of_the_whole_pool():
    sides, weights = [1, 0, 0, 1, 0, 1], [0.001, 2, 30, 400, 5, 6]
    found = PopularitySampling(6, [*weights, 1]).pmf(ranked(sides))
    np.testing.assert_allclose(found, [[0, 0, 0, 1, 0, 0, 0]], atol=1e-12)


def test_law_of_extreme_weights():
    # The first draw is all but sure, and nothing is known of the second but the ratio 1 : 2.
    found = PopularitySampling(2, [1e12, 1, 2, 1]).pmf(ranked([0, 1, 0]))
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3, 0]], atol=1e-11)


def test_law_of_one_user_is_that_of_the_enumeration_beside_users_with_far_heavier_items():
    weights, heavy = [10**6] * 3 + [1, 2, 3, 4], np.arange(8) < 3
    above = np.isin(np.arange(8), [0, 3, 5])
    for without_heavy in ([False, True], [True, False]):
        exclude = [heavy & one for one in without_heavy]
        rows = sparse.csr_matrix([above & ~out for out in exclude])
        items = RankedItems(rows, [7, 7], sparse.csr_matrix(exclude))
        found = PopularitySampling(2, [*weights, 1]).pmf(items)
        for one, law in zip(without_heavy, found):
            kept = slice(3 if one else 0, 7)
            expected = law_without(above.astype(int).tolist()[kept], weights[kept], 2)
            np.testing.assert_allclose(law, [float(p) for p in expected], rtol=0, atol=1e-12)


SIZES = [
    (50, 20, 0, 10),
    (200, 30, 15, 100),
    (400, 100, 100, 30),
    (100, 99, 0, 100),
    (40, 0, 5, 7),
    (3_000, 2_990, 0, 60),  # many more have rung at the last of the steps taken at once
]


@pytest.mark.parametrize(("pool", "above", "ties", "m"), SIZES)
@pytest.mark.parametrize("replace", [False, True])
def test_equal_weights_are_uniform_sampling(pool, above, ties, m, replace):
    sides = [1] * above + [None] * ties + [0] * (pool - above - ties)
    np.random.default_rng(1).shuffle(sides)
    items = ranked(sides)
    popular = PopularitySampling(m, np.full(pool + 1, 0.3), replace)
    uniform = UniformSampling(m, replace)
    np.testing.assert_allclose(popular.pmf(items), uniform.pmf(items), rtol=0, atol=1e-12)
    for metric in (AUC, AP, Recall @ 2):
        for what in ("expect", "variance"):
            of_popular = getattr(popular, what)(metric, items)
            of_uniform = getattr(uniform, what)(metric, items)
            np.testing.assert_allclose(of_popular, of_uniform, rtol=1e-10, atol=1e-12)


def test_with_replacement_it_is_uniform_in_a_catalogue_of_events():
    # The recorded ranks of events rest on this.
    sides, weights = [1, 0, 0, 1, 0, 0], np.array([3, 1, 4, 1, 5, 9])
    popular = PopularitySampling(4, [*weights, 2], replace=True).pmf(ranked(sides))
    events = rs.Ranks([1 + 3 + 1], n_items=1 + weights.sum())
    np.testing.assert_allclose(popular, UniformSampling(4, True).pmf(events), rtol=1e-13)


def fits(counts, law):
    """Whether counts may come from a law, by chi-square, with rare values pooled."""
    expected = law * counts.sum()
    common = expected > 5
    seen = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], max(expected[~common].sum(), 1))
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), common.sum()) > 1e-4


@pytest.mark.parametrize("m", [5, 40])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("user", [0, thorough(1)])
def test_law_is_that_of_items_drawn_with_numpy(m, replace, user):
    scores, relevant, exclude, weights = (array[user] for array in (*STUDY[:3], [STUDY[3]] * 12))
    candidates = np.flatnonzero(~exclude & (np.arange(len(weights)) != relevant))
    rng = np.random.default_rng(m)
    chance = weights[candidates] / weights[candidates].sum()
    counts = np.zeros(m + 1)
    ties = (scores[candidates] == scores[relevant]).sum()
    for _ in range(1000):
        drawn = scores[rng.choice(candidates, m, replace=replace, p=chance)]
        tied = (drawn == scores[relevant]).sum()
        ahead = rng.integers(0, tied, endpoint=True)
        if replace:
            ahead = rng.binomial(tied, rng.integers(0, ties, endpoint=True) / max(ties, 1))
        counts[(drawn > scores[relevant]).sum() + ahead] += 1
    law = PopularitySampling(m, weights, replace).pmf(repeated([user], 1))[0]
    assert fits(counts, law)
    assert not fits(counts, np.roll(law, 1))


@pytest.mark.parametrize("m", [5, thorough(40)])
@pytest.mark.parametrize("replace", [False, True])
def test_draws_have_the_law_and_its_moments(m, replace):
    n = 1000
    items = repeated([0, 1], n)
    sampler = PopularitySampling(m, STUDY[3], replace)
    sampled = sampler.draw(items, rng=2)
    assert sampled.n_items == m + 1 and sampled.ties == 0
    few = repeated([0, 1], 1)
    for values, law in zip(sampled.values.reshape(2, n), sampler.pmf(few)):
        assert fits(np.bincount(values - 1, minlength=m + 1), law)
    for metric in (AUC, AP):
        values = metric(sampled).reshape(2, n)
        mean, variance = sampler.moments(metric, few)
        assert agree(values, mean, variance)
    std = np.sqrt(variance.sum()) / 2
    np.testing.assert_allclose(sampler.std_of_mean(metric, few), std, rtol=1e-12)


@pytest.mark.parametrize("replace", [False, True])
def test_drawn_items_are_candidates_in_the_order_of_drawing(replace):
    n, m = 6000, 3
    items = repeated([0], n)
    weights = STUDY[3]
    drawn = PopularitySampling(m, weights, replace).draw_items(items, rng=3)
    assert drawn.shape == (n, m)
    outside = items.excluded[0].toarray()[0]
    assert not outside[drawn].any()
    law = np.where(outside, 0, weights)
    assert fits(np.bincount(drawn[:, 0], minlength=len(law)), law / law.sum())
    repeats = np.mean([len(set(row)) < m for row in drawn.tolist()])
    assert (repeats > 0) == replace
    if replace:
        assert fits(np.bincount(drawn[:, 2], minlength=len(law)), law / law.sum())


def test_items_of_weight_0_are_never_drawn():
    items = ranked([1, 0, 0, 0])
    for replace in (False, True):
        sampler = PopularitySampling(2, [0, 1, 0, 2, 5], replace)
        drawn = np.concatenate([sampler.draw_items(items, rng=seed) for seed in range(50)])
        assert set(drawn.ravel().tolist()) == {1, 3}
        np.testing.assert_allclose(sampler.pmf(items), [[1, 0, 0]], atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_weights_may_be_far_apart():
    # The two heavy items first, then each of the others with the same chance.
    sampler = PopularitySampling(3, [1, 1e-299, 1e-299, 2, 1])
    np.testing.assert_allclose(sampler.pmf(ranked([1, 0, 1, 0]))[0], [0, 0.5, 0.5, 0], atol=1e-12)


def test_a_heavy_excluded_item_costs_no_digits():
    one = sparse.csr_matrix([[1, 0, 0, 0]])
    items = RankedItems(one, [2], sparse.csr_matrix([[0, 0, 0, 1]]))
    for replace in (False, True):
        found = PopularitySampling(1, [3e-30, 1e-30, 1, 1], replace).pmf(items)
        np.testing.assert_allclose(found, [[0.25, 0.75]], rtol=1e-12)


def test_scale_of_the_weights_does_not_matter():
    items = repeated([0, 1], 1)
    for replace in (False, True):
        one, huge = (
            PopularitySampling(7, c * STUDY[3], replace).pmf(items) for c in (1.0, 2.0**1000)
        )
        np.testing.assert_array_equal(one, huge)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PopularitySampling(0, [1]), "m must be a whole number of at least 1"),
        (lambda: PopularitySampling(1, [1], "no"), "replace must be True or False, got 'no'"),
        (
            lambda: PopularitySampling(1, [1, -2]),
            r"weights must be finite numbers of at least 0, got -2.0 \(at position 1\)",
        ),
        (lambda: PopularitySampling(1, [1, np.nan]), "weights must be finite numbers.* got nan"),
        (lambda: PopularitySampling(1, [0, 0]), "weights must hold a weight above 0"),
        (lambda: PopularitySampling(1, []), "weights must hold one number per item"),
        (lambda: PopularitySampling(1, [[1, 2]]), r"weights must hold .* got shape \(1, 2\)"),
        (
            lambda: PopularitySampling(1, [1, 2]).pmf(ranked([1, 0])),
            "weights must hold one number for each of the 3 items, got 2",
        ),
        (lambda: PopularitySampling(3, [1, 2, 0, 1, 5]).pmf(ranked([1, 0, 0, 0])), None),
        (
            lambda: PopularitySampling(4, [1, 2, 0, 1, 5]).draw(ranked([1, 0, 0, 0]), 0),
            "at least 4 candidates with a weight above 0 .* without replacement, got 3 in inst.* 0",
        ),
        (
            lambda: PopularitySampling(1, [0, 0, 1], True).draw_items(ranked([1, 0]), 0),
            "at least 1 candidates .* with replacement, got 0 in instance 0",
        ),
        (
            lambda: PopularitySampling(1, [1, 1, 1]).expect("AUK", ranked([0, 1])),
            "metric must be a Metric",
        ),
        (
            lambda: PopularitySampling(1, [1, 1]).pmf(rs.Ranks([1], 2)),
            "ranks must be RankedItems, which know .* got Ranks",
        ),
        (
            lambda: PopularitySampling(1, [1, 1, 1]).draw(ranked([0, 1]), "x"),
            "rng must be a whole number",
        ),
        (
            lambda: PopularitySampling(1, [1, 0, 3e-308, 1e-310], True),
            r"0 or at least 1e-300 of the largest, 1.0, got 3e-308 \(at position 2\)",
        ),
        (
            lambda: PopularitySampling(1, [1e300, 1e-20]),
            r"of the largest, 1e\+300, got 1e-20 \(at position 1\)",
        ),
        (
            lambda: rs.BiasVariance(AP, PopularitySampling(1, [1, 2]), 3, gamma=0.1),
            r"sampler must have a law that depends on the rank alone.* got PopularitySampling\(m=1",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    if message is None:
        assert np.isclose(call().sum(), 1)
        return
    with pytest.raises(ValueError, match=message):
        call()


def test_a_law_that_the_memory_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="the law of 1 instances"):
        PopularitySampling(10**12, [1, 1, 1], replace=True).pmf(ranked([0, 1]))


def test_weights_cannot_be_changed():
    weights = np.array([1.0, 2.0])
    sampler = PopularitySampling(1, weights)
    weights[0] = 5
    assert sampler.weights.tolist() == [1, 2]
    assert repr(sampler) == "PopularitySampling(m=1, weights of 2 items, replace=False)"
    with pytest.raises(ValueError, match="read-only"):
        sampler.weights[0] = 3


def test_recorded_popularity_belongs_to_the_recorded_ranks():
    recorded, ranks = rs.datasets.recorded_popularity(), rs.datasets.recorded_ranks()
    assert list(recorded) == ["X", "Y", "Z"]
    for name, (events, popular, mixed) in recorded.items():
        # Each movie above adds at least one event, and as many as the most popular at most.
        assert (events.values - 1 >= ranks[name].values - 1).all()
        assert (events.values - 1 <= 3429 * (ranks[name].values - 1)).all()
        np.testing.assert_array_equal(events.ties > 0, ranks[name].ties > 0)
        a, t, pool = ranks[name].values - 1, ranks[name].ties, ranks[name].n_irrelevant
        place = a + t * np.arange(5)[:, None] / 4
        # By the Cauchy-Schwarz inequality, and mixed weights are below about 2.
        for square in (popular, mixed):
            assert (square >= (a / pool) ** 2 * (1 - 1e-6)).all()
        assert (mixed <= 2.3 * place.max(axis=0) / pool + 1e-9).all()


def test_recorded_popularity_is_that_of_the_data(movielens):
    popularity = 1 + np.bincount(movielens.train.indices, minlength=movielens.n_items)
    events = rs.datasets.recorded_popularity()["Z"].events
    of_user = np.add.reduceat(popularity[movielens.train.indices], movielens.train.indptr[:-1])
    candidates = popularity.sum() - of_user - popularity[movielens.held_out]
    np.testing.assert_array_equal(events.n_items, 1 + candidates)
    users = np.arange(0, 6040, 97)
    z = rs.recommenders.ItemKNN(exponent=1, n_neighbors=10).fit(movielens.train)
    items = rs.ranked_items(z.scores(users), movielens.held_out[users], movielens.train[users])
    np.testing.assert_array_equal(events.values[users], 1 + items.above @ popularity)
    np.testing.assert_array_equal(events.ties[users], items.tied @ popularity)
