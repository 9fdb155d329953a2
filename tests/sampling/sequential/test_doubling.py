"""The doubling design against enumeration, its least-squares problem and an explicit scan."""

import numpy as np
import pytest
from enumeration import in_scan, mean, orders
from scipy import sparse

import recsample as rs
from recsample import AP, DoublingSampling, EarlyStopping, Ranks, Recall
from recsample.sampling.sequential.scanning import Scan


def totals(m0, m):
    """How many items have been drawn after each stage."""
    found = [m0]
    while found[-1] < m:
        found.append(min(2 * found[-1], m))
    return found


def numbers(m0, m):
    """All observations, items drawn and items above, by their numbers s = 0, ..., m."""
    ends = totals(m0, m)
    found = [(m, 0)]
    for before, after in zip([0, *ends][-2::-1], ends[::-1]):
        found += [(after, count) for count in range(1, after - before + 1)]
    assert len(found) == m + 1
    return found


def observations(m0, m, n, above):
    """Numbers of observations over all orders, straight from the description of the design."""
    numbered, seen = numbers(m0, m), []
    for order in orders(n - 1, above):
        end = next(end for end in totals(m0, m) if end == m or any(order[:end]))
        seen.append((numbered.index((end, sum(order[:end]))), end))
    return seen


@pytest.mark.parametrize(("m0", "m"), [(1, 6), (2, 5), (1, 4), (3, 3)])
def test_law_of_doubling_by_enumeration(m0, m):
    n, design = 8, DoublingSampling(m0, m)
    law = design.law(n)
    cost = design.cost(Ranks(range(1, n + 1), n))
    for a in range(n):
        seen = observations(m0, m, n, a)
        counts = np.bincount([number for number, _ in seen], minlength=m + 1)
        assert law[a] == pytest.approx(counts / len(seen), abs=1e-14)
        assert cost[a] == pytest.approx(mean([end for _, end in seen]))
    tied = Ranks([2], n, ties=[3])
    assert design.pmf(tied)[0] == pytest.approx(law[1:5].mean(axis=0))
    assert design.cost(tied) == pytest.approx([cost[1:5].mean()])


def test_the_law_of_all_ranks_is_kept():
    law = DoublingSampling(2, 6).law(9)
    assert DoublingSampling(2, 6).law(9) is law and not law.flags.writeable
    assert law.tolist() == DoublingSampling(2, 6).pmf(Ranks(np.arange(1, 10), 9)).tolist()
    assert DoublingSampling(3, 6).law(9).tolist() != law.tolist()


def test_moments_of_many_instances_follow_from_their_laws():
    rng, design = np.random.default_rng(4), DoublingSampling(5, 160)
    corrected = rs.BiasVariance(rs.NDCG @ 10, design, 1_000, gamma=0.1)
    sizes = rng.choice([1_000, 1_010, 1_040], 5_000)
    values = rng.integers(1, 900, len(sizes))
    ranks = Ranks(values, sizes, ties=rng.choice([0, 3], len(sizes)))
    law = design.pmf(ranks)
    mean = law @ corrected.values
    variance = (law * (corrected.values - mean[:, None]) ** 2).sum(axis=1)
    np.testing.assert_allclose(
        design.expect(corrected, ranks), mean, rtol=0, atol=1e-12, equal_nan=False
    )
    np.testing.assert_allclose(
        design.variance(corrected, ranks), variance, rtol=0, atol=1e-11, equal_nan=False
    )


def test_drawn_observations_have_their_law():
    design, repetitions = DoublingSampling(2, 9), 40_000
    for rank in (1, 2, 6, 30):
        ranks = Ranks([rank] * repetitions, 30)
        drawn = design.draw(ranks, rng=rank)
        assert (drawn.n_items == 30).all()
        expected = repetitions * design.pmf(Ranks([rank], 30))[0]
        number = {(end, count): s for s, (end, count) in enumerate(numbers(2, 9))}
        seen = zip(drawn["drawn"].tolist(), drawn["above"].tolist())
        counts = np.bincount([number[each] for each in seen], minlength=10)
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9).all()


def test_correction_of_doubling_solves_its_least_squares_problem():
    design, n, gamma = DoublingSampling(3, 12), 40, 0.1
    corrected = rs.BiasVariance(Recall @ 4, design, n, gamma=gamma)
    law, target = design.law(n), (Recall @ 4).of_rank(range(1, n + 1), n)
    # Rows for the bias, and for the standard deviation as a factor of the covariance.
    covariance = np.diag(law.sum(0)) - law.T @ law
    normal = law.T @ law + gamma * covariance
    assert normal @ corrected.values == pytest.approx(law.T @ target, abs=1e-9)
    ranks = Ranks(range(1, n + 1), n)
    mean_, square = law @ corrected.values, law @ corrected.values**2
    assert design.expect(corrected, ranks) == pytest.approx(mean_)
    assert design.variance(corrected, ranks) == pytest.approx(square - mean_**2)
    drawn = design.estimate(corrected, Ranks([3] * 20_000, n), rng=5)
    error = np.sqrt((square - mean_**2)[2] / 20_000)
    assert abs(drawn.mean() - mean_[2]) < 4 * error


@pytest.mark.parametrize(("m0", "m"), [(1, 6), (2, 5), (3, 12), (3, 3)])
def test_a_correction_reads_the_observations_in_the_order_of_the_law(m0, m):
    design = DoublingSampling(m0, m)
    corrected = rs.BiasVariance(AP, design, 30, gamma=0.1)
    drawn, above = zip(*numbers(m0, m))
    observed = rs.Observed(design, 30, drawn=drawn, above=above)
    assert design.of(corrected, observed).tolist() == corrected.values.tolist()
    assert len(set(corrected.values.tolist())) == m + 1


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(6).normal(size=(60, 83))


def test_doubling_in_a_scan(table):
    relevant = np.argsort(-table, axis=1)[np.arange(60), np.arange(60)]  # on ranks 1 to 60
    scan = Scan(lambda u, i: table[u, i], relevant, 83, block=5)
    design = DoublingSampling(4, 30)
    observed = design.scan(scan)
    for user, item in enumerate(relevant):
        order = in_scan(table[user], user, item, {item}, seed=0)
        end = next(total for total in (4, 8, 16, 30) if total == 30 or any(order[:total]))
        count = sum(order[:end])
        assert (observed["drawn"][user], observed["above"][user]) == (end, count)
        assert scan.scored[user] == end
    assert len(set(scan.scored.tolist())) == 4


def test_scan_that_has_been_advanced_is_refused(table):
    scan = Scan(lambda u, i: table[u, i], np.zeros(60, int), 83)
    EarlyStopping(10).scan(scan)
    with pytest.raises(ValueError, match="scan must be a new Scan, .* items looked at for user 0"):
        DoublingSampling(4, 30).scan(scan)


def test_scan_of_several_relevant_items_is_refused(table):
    scan = Scan(lambda u, i: table[u, i], sparse.csr_matrix(table >= np.sort(table)[:, [-2]]), 83)
    with pytest.raises(
        ValueError, match="scan must hold one relevant item per instance, got 2 in instance 0"
    ):
        DoublingSampling(4, 30).scan(scan)


RANKS = Ranks([1, 2], 5)


def read(**columns):
    design = DoublingSampling(3, 12)
    return design.of(rs.BiasVariance(AP, design, 30, gamma=0.1), rs.Observed(design, 30, **columns))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DoublingSampling(10, 5), "m must be at least m0=10, got 5"),
        (lambda: DoublingSampling(2, 8).pmf(RANKS), "at least 8 irrelevant items .* got 4"),
        (
            lambda: DoublingSampling(1, 2).expect(AP, RANKS),
            r"metric must be a correction for DoublingSampling\(m0=1, m=2\), got AP",
        ),
        (lambda: read(drawn=[12, 6], above=[0, 0]), "got 0 of 6 above in instance 1"),
        (lambda: read(drawn=[12, 7], above=[0, 1]), "got 1 of 7 above in instance 1"),
        (lambda: read(drawn=[6, 12], above=[1, -1]), "got -1 of 12 above in instance 1"),
        (lambda: read(drawn=[3], above=[4]), "got 4 of 3 above in instance 0"),
        # Nothing was above among the first 3, so at most 3 of 6 are.
        (lambda: read(drawn=[6, 6], above=[3, 4]), "got 4 of 6 above in instance 1"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_pools_too_large_to_draw_from():
    with pytest.raises(ValueError, match=r"n_items must be at most 1,000,000,000 .* in instance 0"):
        DoublingSampling(2, 8).draw(Ranks([1], 2 * 10**9), 0)


@pytest.mark.parametrize("n", [10**4, 10**9, 2**53 - 1])
def test_cost_under_ties_is_the_mean_over_all_of_them(n):
    design, tied = DoublingSampling(3, 200), Ranks([2, 400], n, ties=[500, 700])
    each = [design.cost(Ranks(r + np.arange(t + 1), n)).mean() for r, t in ((2, 500), (400, 700))]
    assert design.cost(tied) == pytest.approx(each, rel=1e-13)


def test_cost_in_a_huge_pool():
    # So few are drawn that they are as good as drawn with replacement.
    n, stages = 10**12, [(0, 3), (3, 6), (6, 12), (12, 20)]
    for share in (0.5, 0.1):
        expected = sum((after - before) * (1 - share) ** before for before, after in stages)
        found = DoublingSampling(3, 20).cost(Ranks([int(share * n) + 1], n))
        assert found == pytest.approx([expected], rel=1e-10)
