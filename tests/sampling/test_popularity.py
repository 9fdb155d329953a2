"""Popularity sampling against enumeration, simulation that draws items, and uniform sampling."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest
from scipy import sparse, stats

import recsample as rs
from recsample import AP, AUC, NDCG, PopularitySampling, RankedItems, Recall, UniformSampling

# Where each item of a small pool stands: 1 above, 0 below, None tied.
POOLS = [
    ([1, 0, 1, 0, 0], [3, 1, 4, 1, 5]),
    ([1, 1, 1, 0], [1, 100, 2, 7]),
    ([0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 2]),
    ([1, None, 0, None, 0], [2, 3, 1, 5, 4]),
    ([None, None, None, 0], [1, 2, 3, 4]),
    ([1, 0, None, 0, 1], [2, 0, 3, 5, 0]),
    ([0, 0, 0, 0], [1, 2, 3, 4]),
    ([1, 1, 1, 1], [1, 2, 3, 4]),
]


def ranked(*sides):
    """One instance per list of sides; the relevant item is the last."""
    one = [[side == 1 for side in sides_] + [False] for sides_ in sides]
    tied = [[side is None for side in sides_] + [False] for sides_ in sides]
    relevant = [len(sides_) for sides_ in sides]
    return RankedItems(sparse.csr_matrix(one), relevant, tied=sparse.csr_matrix(tied))


def sequences(weights, m, replace):
    """Every sequence of m draws with its probability, as a fraction."""
    items = [j for j, w in enumerate(weights) if w]
    total = sum(weights)
    for drawn in product(items, repeat=m) if replace else permutations(items, m):
        chance, left = Fraction(1), Fraction(total)
        for j in drawn:
            chance *= Fraction(weights[j]) / left
            left -= 0 if replace else weights[j]
        yield drawn, chance


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


SIZES = [
    (50, 20, 0, 10),
    (200, 30, 15, 100),
    (400, 100, 100, 30),
    (100, 99, 0, 100),
    (40, 0, 5, 7),
]


@pytest.mark.parametrize(("pool", "above", "ties", "m"), SIZES)
@pytest.mark.parametrize("replace", [False, True])
def test_equal_weights_are_uniform_sampling(pool, above, ties, m, replace):
    sides = [1] * above + [None] * ties + [0] * (pool - above - ties)
    np.random.default_rng(1).shuffle(sides)
    items = ranked(sides)
    popular = PopularitySampling(m, np.full(pool + 1, 0.3), replace)
    uniform = UniformSampling(m, replace)
    np.testing.assert_allclose(popular.pmf(items), uniform.pmf(items.ranks), rtol=0, atol=1e-12)
    for metric in (AUC, AP, Recall @ 2):
        for what in ("expect", "variance"):
            of_popular = getattr(popular, what)(metric, items)
            of_uniform = getattr(uniform, what)(metric, items.ranks)
            np.testing.assert_allclose(of_popular, of_uniform, rtol=1e-10, atol=1e-12)


def test_with_replacement_it_is_uniform_in_a_catalogue_of_events():
    # The recorded ranks of events rest on this.
    sides, weights = [1, 0, 0, 1, 0, 0], np.array([3, 1, 4, 1, 5, 9])
    popular = PopularitySampling(4, [*weights, 2], replace=True).pmf(ranked(sides))
    events = rs.Ranks([1 + 3 + 1], n_items=1 + weights.sum())
    np.testing.assert_allclose(popular, UniformSampling(4, True).pmf(events), rtol=1e-13)


@pytest.fixture(scope="module")
def study():
    """The scores of 12 users, their relevant items, what is excluded, and the weights of items."""
    rng = np.random.default_rng(5)
    n_users, n_items = 12, 200
    weights = np.round(1 + 300 * rng.random(n_items) ** 6)
    scores = rng.random((n_users, n_items)) + weights / 300
    scores[:, ::4] = 0.7
    relevant = rng.integers(50, size=n_users) * 4 + np.arange(n_users) % 2  # half of them tied
    scores[1::2][np.arange(6), relevant[1::2]] = 0.9
    exclude = rng.random((n_users, n_items)) < 0.2
    exclude[np.arange(n_users), relevant] = False
    return scores, relevant, exclude, weights


def repeated(study, users, n):
    scores, relevant, exclude, _ = study
    users = np.repeat(users, n)
    return rs.ranked_items(scores[users], relevant[users], sparse.csr_matrix(exclude[users]))


def fits(counts, law):
    """Whether counts may come from a law, by chi-square, with rare values pooled."""
    expected = law * counts.sum()
    common = expected > 5
    seen = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], max(expected[~common].sum(), 1))
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), common.sum()) > 1e-4


def agree(values, mean, variance):
    """Whether the mean and variance of each row of values are within 4 standard errors."""
    n, off = values.shape[1], values - values.mean(axis=1, keepdims=True)
    fourth = (off**4).mean(axis=1)
    z_mean = (values.mean(axis=1) - mean) / np.sqrt(variance / n)
    z_variance = ((off**2).mean(axis=1) - variance) / np.sqrt((fourth - variance**2) / n)
    return np.abs(z_mean).max() < 4 and np.abs(z_variance).max() < 4


@pytest.mark.parametrize("m", [5, 40])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("user", [0, 1])
def test_law_is_that_of_items_drawn_with_numpy(study, m, replace, user):
    scores, relevant, exclude, weights = (array[user] for array in (*study[:3], [study[3]] * 12))
    candidates = np.flatnonzero(~exclude & (np.arange(len(weights)) != relevant))
    rng = np.random.default_rng(m)
    chance = weights[candidates] / weights[candidates].sum()
    counts = np.zeros(m + 1)
    ties = (scores[candidates] == scores[relevant]).sum()
    for _ in range(4000):
        drawn = scores[rng.choice(candidates, m, replace=replace, p=chance)]
        tied = (drawn == scores[relevant]).sum()
        ahead = rng.integers(0, tied, endpoint=True)
        if replace:
            ahead = rng.binomial(tied, rng.integers(0, ties, endpoint=True) / max(ties, 1))
        counts[(drawn > scores[relevant]).sum() + ahead] += 1
    law = PopularitySampling(m, weights, replace).pmf(repeated(study, [user], 1))[0]
    assert fits(counts, law)
    assert not fits(counts, np.roll(law, 1))


@pytest.mark.parametrize("m", [5, 40])
@pytest.mark.parametrize("replace", [False, True])
def test_draws_have_the_law_and_its_moments(study, m, replace):
    n = 4000
    items = repeated(study, [0, 1], n)
    sampler = PopularitySampling(m, study[3], replace)
    sampled = sampler.draw(items, rng=2)
    assert sampled.n_items == m + 1 and sampled.ties == 0
    few = repeated(study, [0, 1], 1)
    for values, law in zip(sampled.values.reshape(2, n), sampler.pmf(few)):
        assert fits(np.bincount(values - 1, minlength=m + 1), law)
    for metric in (AUC, AP):
        values = metric(sampled).reshape(2, n)
        variance = sampler.variance(metric, few)
        assert agree(values, sampler.expect(metric, few), variance)
    std = np.sqrt(variance.sum()) / 2
    np.testing.assert_allclose(sampler.std_of_mean(metric, few), std, rtol=1e-12)


@pytest.mark.parametrize("replace", [False, True])
def test_drawn_items_are_candidates_in_the_order_of_drawing(study, replace):
    n, m = 6000, 3
    items = repeated(study, [0], n)
    weights = study[3]
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


def test_scale_of_the_weights_does_not_matter(study):
    items = repeated(study, [0, 1], 1)
    for replace in (False, True):
        one, huge = (
            PopularitySampling(7, c * study[3], replace).pmf(items) for c in (1.0, 2.0**1000)
        )
        np.testing.assert_array_equal(one, huge)


def weights_of(drawn, sides, weights, replace):
    """Hansen-Hurwitz or Des Raj weights of a sequence of draws; a tied item counts as `sides`."""
    total, pool, found = sum(weights), len(weights), []
    before, gone = Fraction(0), 0
    for j in drawn:
        q = Fraction(weights[j], total)
        if replace:
            found.append(Fraction(sides[j]) / q / pool)
        else:
            found.append((before + Fraction(sides[j]) * (1 - Fraction(gone, total)) / q) / pool)
            before, gone = before + sides[j], gone + weights[j]
    return found


def subsets_mean(x, w):
    """The mean of x over all subsets of the draws, each in with "probability" w."""
    total = Fraction(0)
    for size in range(len(w) + 1):
        for inside in combinations(range(len(w)), size):
            part = Fraction(1)
            for i, wi in enumerate(w):
                part *= wi if i in inside else 1 - wi
            total += part * x[size]
    return total


ESTIMATED = [p for p in POOLS if all(w for w in p[1])]


@pytest.mark.parametrize(("sides", "weights"), ESTIMATED)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("x", [[1, Fraction(1, 2), 0], [5, -2, Fraction(1, 3), 4]])
def test_estimates_are_unbiased_and_their_variance_is_right(sides, weights, replace, x):
    m, pool, t = len(x) - 1, len(sides), sides.count(None)
    mean = square = uniform = Fraction(0)
    for place in range(t + 1):
        counted = [Fraction(place, t) if s is None else s for s in sides]
        p = Fraction(sum(s == 1 for s in sides) + place, pool)
        uniform += sum(
            comb(m, s) * p**s * (1 - p) ** (m - s) * x[s] / (t + 1) for s in range(m + 1)
        )
        for drawn, chance in sequences(weights, m, replace):
            value = subsets_mean(x, weights_of(drawn, counted, weights, replace))
            mean += chance * value / (t + 1)
            square += chance * value**2 / (t + 1)
    assert mean == uniform
    if replace:
        sampler = PopularitySampling(m, [*weights, 9], True)
        found = sampler.variance_of_estimate(OnSampled([float(v) for v in x]), ranked(sides))
        np.testing.assert_allclose(found, float(square - mean**2), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("sides", "weights"), ESTIMATED)
@pytest.mark.parametrize("replace", [False, True])
def test_ties_count_half_in_the_estimate_of_auc(sides, weights, replace):
    counted = [Fraction(1, 2) if s is None else Fraction(s) for s in sides]
    mean = square = Fraction(0)
    value = {}
    for drawn, chance in sequences(weights, 2, replace):
        value[drawn] = 1 - sum(weights_of(drawn, counted, weights, replace)) / 2
        mean, square = mean + chance * value[drawn], square + chance * value[drawn] ** 2
    items = ranked(*[sides] * 20)
    assert np.isclose(float(mean), AUC(items.ranks)[0], rtol=1e-15)
    sampler = PopularitySampling(2, [*weights, 9], replace)
    drawn = sampler.draw_items(items, rng=8).tolist()
    expected = [float(value[tuple(row)]) for row in drawn]
    np.testing.assert_allclose(sampler.estimate(AUC, items, rng=8), expected, atol=1e-13)
    if replace:
        variance = sampler.variance_of_estimate(AUC, items)[0]
        np.testing.assert_allclose(variance, float(square - mean**2), rtol=1e-12, atol=1e-15)


class OnSampled(rs.metrics.Metric):
    """A metric of given values at the sampled ranks."""

    name = "OnSampled"

    def __init__(self, values):
        self.values = np.asarray(values)

    def term(self, rank, order, n_relevant, n_items):
        return self.values[rank - 1]


@pytest.mark.parametrize(("sides", "weights"), [p for p in ESTIMATED if None not in p[0]])
@pytest.mark.parametrize("replace", [False, True])
def test_estimate_of_given_draws(sides, weights, replace):
    x = [5, -2, Fraction(1, 3), 4]
    items = ranked(*[sides] * 20)
    sampler = PopularitySampling(3, [*weights, 9], replace)
    drawn = sampler.draw_items(items, rng=4)
    found = sampler.estimate(OnSampled([float(v) for v in x]), items, rng=4)
    expected = [
        float(subsets_mean(x, weights_of(row, sides, weights, replace))) for row in drawn.tolist()
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("replace", [False, True])
def test_estimate_of_auc_is_unbiased_at_large(study, replace):
    n = 3000
    items, few = repeated(study, [0, 1], n), repeated(study, [0, 1], 1)
    sampler = PopularitySampling(20, study[3], replace)
    values = sampler.estimate(AUC, items, rng=6).reshape(2, n)
    error = values.std(axis=1) / np.sqrt(n)
    assert np.abs((values.mean(axis=1) - AUC(few.ranks)) / error).max() < 4
    # What a sampled study reports is not: it is off by far more.
    assert np.abs((sampler.expect(AUC, few) - AUC(few.ranks)) / error).min() > 10
    if replace:
        assert agree(values, AUC(few.ranks), sampler.variance_of_estimate(AUC, few))


def test_corrections_carry_over(study):
    few = repeated(study, [0, 1], 1)
    weights = study[3] + study[3].mean()
    sampler = PopularitySampling(6, weights, replace=True)
    uniform = UniformSampling(6, replace=True)
    corrected = rs.BiasVariance(AP, uniform, n_items=160, gamma=0.1)
    n = 4000
    values = sampler.estimate(corrected, repeated(study, [0, 1], n), rng=7).reshape(2, n)
    variance = sampler.variance_of_estimate(corrected, few)
    assert agree(values, uniform.expect(corrected, few.ranks), variance)


@pytest.mark.parametrize("m", [1, 10, 100])
@pytest.mark.parametrize("above", [0, 1, 30, 200, 389, 390])
def test_variance_of_the_estimate_for_equal_weights_is_that_of_the_metric(m, above):
    items = ranked([1] * above + [0] * (390 - above))
    sampler = PopularitySampling(m, np.ones(391), replace=True)
    for metric in (AUC, AP, NDCG @ 5 if m > 5 else NDCG):
        np.testing.assert_allclose(
            sampler.variance_of_estimate(metric, items),
            UniformSampling(m, replace=True).variance(metric, items.ranks),
            rtol=1e-9,
            atol=1e-12,
        )


def test_ranked_items_are_those_of_the_scores(study):
    scores, relevant, exclude, _ = study
    items = rs.ranked_items(scores, relevant, sparse.csr_matrix(exclude))
    assert len(items) == 12 and repr(items) == "<RankedItems: 12 instances, 200 items>"
    for u in range(12):
        mine = scores[u, relevant[u]]
        candidates = ~exclude[u] & (np.arange(200) != relevant[u])
        np.testing.assert_array_equal(items.above[u].toarray()[0], candidates & (scores[u] > mine))
        np.testing.assert_array_equal(items.tied[u].toarray()[0], candidates & (scores[u] == mine))
        np.testing.assert_array_equal(items.excluded[u].toarray()[0], ~candidates)
    expected = rs.predicted_ranks(scores, relevant, sparse.csr_matrix(exclude))
    np.testing.assert_array_equal(items.ranks.values, expected.values)
    np.testing.assert_array_equal(items.ranks.ties, expected.ties)
    np.testing.assert_array_equal(items.ranks.n_items, expected.n_items)


def test_ranked_items_of_factors_and_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    users, factors = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    relevant = rng.integers(40, size=30)
    whole = rs.ranked_items(users @ factors.T, relevant)
    for module in ("_counts", "_scores", "_rings"):
        monkeypatch.setattr(f"recsample.{module}.BLOCK", 100)
    parts = rs.ranked_items((users, factors), relevant)
    assert (whole.above != parts.above).nnz == 0
    weights = rng.random(40)
    for replace in (False, True):
        sampler = PopularitySampling(4, weights, replace)
        blocks = sampler.pmf(whole)
        drawn = sampler.draw_items(whole, 1)
        with monkeypatch.context() as in_one:
            for module in ("_counts", "_rings"):
                in_one.setattr(f"recsample.{module}.BLOCK", 2**22)
            np.testing.assert_allclose(sampler.pmf(whole), blocks, atol=1e-13)
            np.testing.assert_array_equal(sampler.draw_items(whole, 1), drawn)


def above(*rows):
    return sparse.csr_matrix(np.array(rows))


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
        (
            lambda: PopularitySampling(3, [1, 2, 0, 1, 5]).pmf(ranked([1, 0, 0, 0])),
            None,
        ),
        (
            lambda: PopularitySampling(4, [1, 2, 0, 1, 5]).draw(ranked([1, 0, 0, 0]), 0),
            "at least 4 candidates with a weight above 0 .* without replacement, got 3 in inst.* 0",
        ),
        (
            lambda: PopularitySampling(1, [0, 0, 1], True).draw_items(ranked([1, 0]), 0),
            "at least 1 candidates .* with replacement, got 0 in instance 0",
        ),
        (
            lambda: PopularitySampling(1, [1, 0, 1]).estimate(AUC, ranked([0, 0], [0, 1]), 0),
            "got 0 for item 1 in instance 1",
        ),
        (
            lambda: PopularitySampling(1, [1, 0, 1], True).variance_of_estimate(
                AUC, ranked([0, None])
            ),
            "got 0 for item 1 in instance 0",
        ),
        (
            lambda: PopularitySampling(1, [1, 1, 1]).variance_of_estimate(AUC, ranked([0, 1])),
            "replace must be True for the variance of an estimate, got False",
        ),
        (
            lambda: PopularitySampling(1, [1, 1, 1]).expect("AUC", ranked([0, 1])),
            "metric must be a Metric",
        ),
        (
            lambda: PopularitySampling(1, [1, 1]).pmf(rs.Ranks([1], 2)),
            "ranked must be RankedItems, got Ranks",
        ),
        (
            lambda: PopularitySampling(1, [1, 1, 1]).draw(ranked([0, 1]), "x"),
            "rng must be a whole number",
        ),
        (lambda: RankedItems([[1, 0]], [1]), "above must be a sparse matrix .* got list"),
        (
            lambda: RankedItems(above([1, 0]), [1, 0]),
            "relevant must hold one item for each of the 1",
        ),
        (lambda: RankedItems(above([1, 0]), [2]), "items from 0 to 1, got item 2 for user 0"),
        (
            lambda: RankedItems(above([1, 0], [1, 0]), [1, 0]),
            "must not share an item, got item 0 twice in instance 1",
        ),
        (
            lambda: RankedItems(above([1, 0, 0]), [1], above([1, 0, 0])),
            "must not share an item, got item 0 twice in instance 0",
        ),
        (
            lambda: RankedItems(above([1, 0, 0]), [2], tied=above([1, 1, 0])),
            "must not share an item, got item 0 twice in instance 0",
        ),
        (
            lambda: RankedItems(above([0, 0, 0]), [2], above([0, 0, 1])),
            "must not share an item, got item 2 twice in instance 0",
        ),
        (
            lambda: RankedItems(above([1, 0]), [1], above([1, 0, 1])),
            r"exclude must be a sparse matrix of shape \(1, 2\)",
        ),
        (
            lambda: rs.ranked_items(np.eye(2), sparse.eye(2, format="csr")),
            "one item for each user, got a sparse matrix: .* a row of its own, .* in exclude",
        ),
        (
            lambda: RankedItems(above([1, 0]), above([0, 1])),
            "one item for each user, got a sparse matrix: .* a row of its own, .* in exclude",
        ),
        (
            lambda: PopularitySampling(1, [1, 0, 3e-308, 1e-310], True),
            r"0 or at least 1e-300 of the largest, 1.0, got 3e-308 \(at position 2\)",
        ),
        (
            lambda: PopularitySampling(1, [1e300, 1e-20]),
            r"of the largest, 1e\+300, got 1e-20 \(at position 1\)",
        ),
        (lambda: rs.ranked_items([[1.0, np.nan]], [0]), "scores must not be NaN"),
        (
            lambda: rs.BiasVariance(AP, PopularitySampling(1, [1, 2]), 3),
            "such as UniformSampling.* got PopularitySampling.* to PopularitySampling.estimate",
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
