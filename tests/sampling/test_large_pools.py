"""Few ranks that stand for all, against sums over all ranks and closed forms for large pools."""

import numpy as np
import pytest
from scipy import linalg, special
from thorough import thorough

import recsample as rs
from recsample.metrics.base import Metric
from recsample.ranks.ties import ties_ahead
from recsample.sampling import large_pools
from recsample.sampling.large_pools import (
    Places,
    _fewer,
    compressed,
    compressible,
    given_belief,
    jumps_of,
    random_belief,
    sums_in_steps,
    uniform_belief,
)

METRICS = ["AUC", "AP", "NDCG", "RBP(0.8)", "PercentileRank", "Recall@10", "Recall@700", "AP@300"]
SIZES = [(400, 20), (3_000, 100), (20_000, 30), (1_300, 300)]

both_ways = pytest.mark.parametrize("replace", [False, True])


class Rough(Metric):
    """A metric of which nothing is known, and that is no smooth function of the rank."""

    name = "Rough"

    def term(self, rank, order, n_relevant, n_items):
        return np.sin(0.37 * np.asarray(rank, float) ** 2) + 1 / rank


@pytest.fixture(autouse=True)
def no_pool_is_small(monkeypatch):
    monkeypatch.setattr(large_pools, "_SMALL", 0)


def rows_and_all(metric, sampler, n, belief, order=1, n_relevant=1):
    pool = n - n_relevant

    def target(above):
        ones = np.int64(order), np.int64(n_relevant), np.int64(n)
        return metric.term(order + above, *ones) + np.zeros(len(above))

    rows = compressed(sampler, pool, target, jumps_of(metric, order, n_relevant), belief)
    return rows, target(np.arange(pool + 1))


def assert_same_sums(rows, law, target, weight):
    """In the scaling of the least-squares problems, where the matrix has norm 1."""
    few_laws, rows = rows
    assert rows.weight.min() > 0 and rows.weight.sum() == pytest.approx(1, abs=1e-14)
    scale = 1 / np.sqrt(weight @ law)
    matrix, few = ((p[:, None] * x).T @ x for p, x in ((weight, law), (rows.weight, few_laws)))
    assert linalg.norm(scale[:, None] * (few - matrix) * scale) < 5e-14
    size = np.sqrt(weight @ target**2)
    right = few_laws.T @ (rows.weight * rows.target) - law.T @ (weight * target)
    assert linalg.norm(scale * right) <= 2e-14 * size
    square = rows.weight @ rows.target**2 + rows.missed
    assert square == pytest.approx(size**2, rel=1e-13)


@both_ways
@pytest.mark.parametrize(("n", "m"), [*SIZES[:-1], thorough(*SIZES[-1])])
def test_sums_over_all_ranks(n, m, replace):
    sampler = rs.UniformSampling(m, replace)
    law, weight = sampler.law(n), np.full(n, 1 / n)
    for name in METRICS:
        rows, target = rows_and_all(rs.metric(name), sampler, n, uniform_belief(n - 1))
        assert_same_sums(rows, law, target, weight)
        assert len(rows[0]) < 900 and rows[1].missed == 0


@both_ways
@pytest.mark.parametrize("metric", [rs.AP, rs.Recall @ 700, Rough()], ids=str)
def test_with_any_weights(metric, replace):
    n, sampler = 3_000, rs.UniformSampling(100, replace)
    rng = np.random.default_rng(0)
    rank = np.arange(1, n + 1)
    priors = {
        "plausible": rs.inference.plausible_prior(n),
        "random": rng.random(n),
        "spiky": rng.random(n) ** 30,
        "few": rng.random(n) < 0.01,
        "every third": rank % 3 == 0,
        "narrow": np.exp(-(((rank - 1500) / 60) ** 2)),
    }
    law = sampler.law(n)
    for prior in priors.values():
        weight = prior / prior.sum()
        rows, target = rows_and_all(metric, sampler, n, given_belief(weight))
        assert_same_sums(rows, law, target, weight)


@both_ways
def test_more_places_than_are_looked_at_together(replace, monkeypatch):
    monkeypatch.setattr(large_pools, "_AT_ONCE", 256)
    n, sampler = 6_000, rs.UniformSampling(50, replace)
    weight = np.random.default_rng(0).random(n)
    weight /= weight.sum()
    for metric in (rs.NDCG, Rough()):
        rows, target = rows_and_all(metric, sampler, n, given_belief(weight))
        assert_same_sums(rows, sampler.law(n), target, weight)
        assert len(rows[0]) < 700


@both_ways
@pytest.mark.parametrize(("order", "n_relevant"), [(1, 2), (2, 2), (3, 7), (1, 60), (60, 60)])
def test_several_relevant_items(order, n_relevant, replace):
    n, sampler = 3_000, rs.UniformSampling(100, replace)
    pool = n - n_relevant
    law, weight = sampler.law(pool + 1), ties_ahead(pool, n_relevant, order)
    for metric in (rs.AP, rs.NDCG @ 50, rs.RPrecision, rs.AUC):
        belief = random_belief(pool, n_relevant, order)
        rows, target = rows_and_all(metric, sampler, n, belief, order, n_relevant)
        assert_same_sums(rows, law, target, weight)


def test_which_metrics_are_smooth():
    def jumps(metric, order=1, n_relevant=1):
        return jumps_of(metric, order, n_relevant)

    assert jumps(rs.AP) == jumps(rs.NDCG) == jumps(rs.AUC) == jumps(rs.RBP(0.8)) == []
    assert set(jumps(rs.Recall @ 10)) == {9} and jumps(rs.NDCG @ 10, order=3) == [7]
    assert jumps(rs.RPrecision, 2, 5) == [3]
    assert jumps(Rough()) is None


def test_which_laws_can_be_compressed(monkeypatch):
    uniform = rs.UniformSampling
    assert compressible(uniform(100), 1_000) and not compressible(uniform(100), 300)
    assert compressible(uniform(100, replace=True), 300)
    assert not compressible(rs.PooledSampling(16), 10**6)
    monkeypatch.setattr(large_pools, "_SMALL", 2**22)
    assert not compressible(uniform(99), 40_000) and compressible(uniform(99), 50_000)


def test_sums_over_a_hundred_million_ranks():
    """Of 1 / r and its square: the harmonic number and that of order 2, over n."""
    n = 10**8
    law, rows = few_rows(rs.AP, rs.UniformSampling(100), n)
    first = (special.digamma(n + 1.0) + np.euler_gamma) / n
    second = (special.zeta(2) - special.zeta(2, n + 1.0)) / n
    assert rows.weight @ rows.target == pytest.approx(first, rel=1e-12)
    assert rows.weight @ rows.target**2 == pytest.approx(second, rel=1e-12)
    # Without replacement each sampled rank is as likely as any other.
    assert rows.weight @ law == pytest.approx(np.full(101, 1 / 101), rel=1e-12)


def few_rows(metric, sampler, n):
    def target(above):
        return metric.term(1 + above, np.int64(1), np.int64(1), np.int64(n)) + 0.0 * above

    jumps = jumps_of(metric, 1, 1)
    return compressed(sampler, n - 1, target, jumps, uniform_belief(n - 1))


FALLING = {
    f"{decades} decades": lambda a, d=decades: 10 ** (-d * a / a[-1]) for decades in (1, 40, 300)
}
FALLING |= {f"power {p}": lambda a, p=p: (1 + a) ** -p for p in (0.3, 2, 8, 30)}
FALLING |= {
    "soon": lambda a: np.exp(-a / 3),
    "not": np.ones_like,
    "middle": lambda a: np.exp(-((a - 900) ** 2)),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("decay", FALLING.values(), ids=FALLING)
def test_weights_that_fall_by_many_decades(decay, turned):
    """Polynomials are steepest at the ends, where nearly all of the weight may be.

    Most directions are rounding of those before: to take these out once is not enough.
    """
    n, n_nodes = 4_000, 60
    above = np.arange(float(n))
    weight, target = decay(above) / decay(above).sum(), np.sin(above / 100)
    weight = weight[::-1] if turned else weight
    few = _fewer(Places(above, weight, target, 0.0), n_nodes)
    assert len(few.above) <= n_nodes and (np.diff(few.above) > 0).all()

    def sums(places, weight, degree):
        return weight @ np.polynomial.chebyshev.chebvander(2 * places / (n - 1) - 1, degree)

    of_weight = sums(above, weight, 2 * n_nodes - 1)
    assert sums(few.above, few.weight, 2 * n_nodes - 1) == pytest.approx(of_weight, abs=1e-11)
    of_target = sums(above, weight * target, n_nodes - 1)
    found = sums(few.above, few.weight * few.target, n_nodes - 1)
    assert found == pytest.approx(of_target, abs=1e-11)


@pytest.mark.parametrize(("order", "n_relevant"), [(1, 1), (2, 5), (30, 30)])
@pytest.mark.parametrize("metric", [rs.AP, rs.NDCG @ 100, rs.RPrecision, Rough()], ids=str)
def test_sums_in_steps(metric, order, n_relevant):
    pool = 4_000
    steps = np.unique(np.append(np.geomspace(1, pool, 60).astype(int), [0, 99 - order, pool]))

    def target(above):
        ones = np.int64(order), np.int64(n_relevant), np.int64(pool + n_relevant)
        return metric.term(order + above, *ones) + np.zeros(len(above))

    belief = random_belief(pool, n_relevant, order) if n_relevant > 1 else uniform_belief(pool)
    found = sums_in_steps(steps, pool, target, jumps_of(metric, order, n_relevant), belief)
    weight, value = ties_ahead(pool, n_relevant, order), target(np.arange(pool + 1))
    for row, each in zip(found, (weight, weight * value, weight * value**2)):
        expected = np.diff(np.append(0, np.cumsum(each)[steps]))
        assert row == pytest.approx(expected, abs=1e-13 * np.abs(each).sum())


def test_blocks_where_an_index_has_32_bits(monkeypatch):
    """There NumPy makes whole numbers of 32 bits, unless it is told otherwise."""
    pool, curves = 2**33, large_pools.polynomials(100)

    class Numpy32:
        def __getattr__(self, name):
            return getattr(np, name)

        @staticmethod
        def arange(*given, dtype=None):
            made = np.arange(*given, dtype=dtype)
            small = dtype is None and made.dtype == np.int64 and made.max(initial=0) < 2**31
            return made.astype(np.int32) if small else made

    expected = large_pools._blocks(pool, curves, [10])
    monkeypatch.setattr(large_pools, "np", Numpy32())
    assert large_pools._blocks(pool, curves, [10]) == expected


def test_values_at_all_ranks_are_met_to_rounding():
    """Errors of exp(-36) of the largest value are left, where so many nodes stand for a block."""
    sampler, n_items = rs.UniformSampling(40), 60_000
    values = np.random.default_rng(0).normal(size=sampler.m + 1)
    pool = large_pools.pool_of(sampler, n_items, 2)
    found = pool.at_all(lambda law: law @ values, lambda value: value)
    some = np.arange(0, n_items, 17)
    law = large_pools.law_at(sampler, some.astype(float), n_items - 1)
    assert len(found) == n_items
    assert found[some] == pytest.approx(law @ values, rel=0, abs=1e-12)


@pytest.mark.parametrize(("n", "m"), [(80, 20), (240, 60), (100, 10)])
def test_hypergeometric_laws_grow_like_binomial_ones_of_the_same_variance(n, m):
    """At complex places: as products of falling factorials, the smallest pools of all."""
    growth = large_pools._curves_of(rs.UniformSampling(m), n, 12).growth
    for middle, half in ((n / 2, n / 8), (n / 4, n / 16), (0.8 * n, 0.1 * n), (0.1 * n, 0.05 * n)):
        for u in (0.2, 0.5, 1, 1.5):
            above = middle + half * np.cosh(u + 1j * np.linspace(0, np.pi, 65))

            def chosen(number):
                factors = (number[:, None] - np.arange(m)) / np.arange(1, m + 1)
                return np.column_stack([np.ones(len(number)), np.cumprod(factors, axis=1)])

            law = chosen(above) * chosen(n - above)[:, ::-1] / special.comb(n, m)
            assert law.sum(axis=1) == pytest.approx(1)
            x = above / n
            largest = growth((np.abs(x) + np.abs(1 - x)).max())
            assert np.log(np.abs(law).sum(axis=1).max()) < largest + 0.1
