"""The doubling design against enumeration, its least-squares problem and an explicit scan."""

import numpy as np
import pytest
from enumeration import in_scan, mean, orders
from scipy import sparse

import recsample as rs
from recsample import AP, DoublingSampling, EarlyStopping, Ranks, Recall
from recsample.sampling.scanning import Scan


def observations(m0, m, n, above):
    """Numbers of observations over all orders, straight from the description of the design."""
    totals = [m0]
    while totals[-1] < m:
        totals.append(min(2 * totals[-1], m))
    numbered = {(totals[-1], 0): 1}
    for before, after in zip([0, *totals][-2::-1], totals[::-1]):
        for count in range(1, after - before + 1):
            numbered[after, count] = len(numbered) + 1
    assert len(numbered) == m + 1
    seen = []
    for order in orders(n - 1, above):
        ends = (total for total in totals if total == m or any(order[:total]))
        end = next(ends)
        seen.append((numbered[end, sum(order[:end])], end))
    return seen


@pytest.mark.parametrize(("m0", "m"), [(1, 6), (2, 5), (1, 4), (3, 3)])
def test_law_of_doubling_by_enumeration(m0, m):
    n, design = 8, DoublingSampling(m0, m)
    law = design.law(n)
    cost = design.cost(Ranks(range(1, n + 1), n))
    for a in range(n):
        seen = observations(m0, m, n, a)
        counts = np.bincount([number for number, _ in seen], minlength=m + 2)[1:]
        assert law[a] == pytest.approx(counts / len(seen), abs=1e-14)
        assert cost[a] == pytest.approx(mean([end for _, end in seen]))
    tied = Ranks([2], n, ties=[3])
    assert design.pmf(tied)[0] == pytest.approx(law[1:5].mean(axis=0))
    assert design.cost(tied) == pytest.approx([cost[1:5].mean()])


def test_drawn_observations_have_their_law():
    design, repetitions = DoublingSampling(2, 9), 40_000
    for rank in (1, 2, 6, 30):
        ranks = Ranks([rank] * repetitions, 30)
        drawn = design.draw(ranks, rng=rank)
        assert drawn.n_items == 10
        expected = repetitions * design.pmf(Ranks([rank], 30))[0]
        counts = np.bincount(drawn.values, minlength=11)[1:]
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


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(6).normal(size=(60, 83))


def test_doubling_in_a_scan(table):
    relevant = np.argsort(-table, axis=1)[np.arange(60), np.arange(60)]  # on ranks 1 to 60
    scan = Scan(lambda u, i: table[u, i], relevant, 83, block=5)
    observed = DoublingSampling(4, 30).scan(scan).values
    for user, item in enumerate(relevant):
        order = in_scan(table[user], user, item, {item}, seed=0)
        end = next(total for total in (4, 8, 16, 30) if total == 30 or any(order[:total]))
        count = sum(order[:end])
        assert observed[user] == (1 if count == 0 else 30 - end + count + 1)
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DoublingSampling(10, 5), "m must be at least m0=10, got 5"),
        (lambda: DoublingSampling(2, 8).pmf(RANKS), "at least 8 irrelevant items .* got 4"),
        (
            lambda: DoublingSampling(1, 2).expect(AP, RANKS),
            r"metric must be a correction for DoublingSampling\(m0=1, m=2\), got AP",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_pools_too_large_to_draw_from():
    with pytest.raises(ValueError, match=r"n_items must be at most 1,000,000,000 .* in instance 0"):
        DoublingSampling(2, 8).draw(Ranks([1], 2 * 10**9), 0)
