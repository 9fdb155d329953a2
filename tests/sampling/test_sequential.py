"""Sequential samplers against enumeration in exact fractions, other formulas and simulation."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations
from math import comb, factorial, log2

import numpy as np
import pytest
from enumeration import in_scan, mean, order_of, orders, position
from scipy import sparse

import recsample as rs
from recsample import AP, AUC, DCG, NDCG, RBP, RR, PercentileRank, Ranks, RankScore, Recall
from recsample.sampling.scanning import Scan, item_at
from recsample.sampling import EarlyStopping, InverseSampling, TwoPhase

WHOLE = [AP, RR, NDCG, DCG, RBP(0.8), RBP(0.01), RankScore(5), RankScore(500), AUC, PercentileRank]
CUT = [Recall @ 3, NDCG @ 3, AP @ 3, RR @ 2, rs.HitRate @ 1, rs.Precision @ 3]


def survival(n_irrelevant):
    """P(T > t) as exact fractions, a row for each number of items above."""
    N = n_irrelevant
    return [[Fraction(comb(N - a, t), comb(N, t)) for t in range(N + 1)] for a in range(N + 1)]


# Inverse sampling


@pytest.mark.parametrize("metric", WHOLE, ids=str)
def test_position_estimates_without_bias_by_enumeration(metric):
    n, sampler = 7, InverseSampling()
    value = sampler.of_position(metric, range(1, n + 1), n)
    for rank in range(1, n + 1):
        found = [value[position(order) - 1] for order in orders(n - 1, rank - 1)]
        assert mean(found) == pytest.approx(metric.of_rank(rank, n), abs=1e-14)


@pytest.mark.parametrize("n", [2, 30, 2500])
@pytest.mark.parametrize("metric", WHOLE, ids=str)
def test_position_estimates_without_bias_at_every_rank(metric, n):
    chance = np.cumprod(  # P(T > t), a column for each number of items above
        [np.ones(n)]
        + [np.maximum(n - 1 - np.arange(n) - t, 0) / (n - 1 - t) for t in range(n - 1)],
        axis=0,
    )
    value = InverseSampling().of_position(metric, range(1, n + 1), n)
    found = np.diff(value, prepend=0) @ chance
    assert np.abs(found - metric.of_rank(range(1, n + 1), n)).max() < 1e-10


def test_estimate_is_the_only_one_without_bias():
    """The triangular system, solved in fractions: at T = N - a + 1 each rank adds one unknown."""
    n = 9
    law = survival(n - 1)
    for metric, exact in [(AP, lambda r: Fraction(1, r)), (RBP(0.5), lambda r: Fraction(1, 2**r))]:
        value = []
        for t in range(n):  # the position t + 1 is the last one that a = n - 1 - t items allow
            a = n - 1 - t
            pmf = [law[a][j] - (law[a][j + 1] if j + 1 < n else 0) for j in range(n)]
            known = sum(pmf[j] * value[j] for j in range(t))
            value.append((exact(a + 1) - known) / pmf[t])
        found = InverseSampling().of_position(metric, range(1, n + 1), n)
        assert found == pytest.approx([float(x) for x in value], abs=1e-14)


def test_ap_is_the_share_of_the_pool():
    found = InverseSampling().of_position(AP, [1, 5, 10**6], n_items=10**6)
    assert found.tolist() == [1e-6, 5e-6, 1.0]


@pytest.mark.parametrize(("n", "last"), [(60, 60), (3000, 6)])
def test_logarithm_agrees_with_differences_in_decimals(n, last):
    """g(t + 1) - g(t) is C(N, t) times the t-th difference of the metric at its last rank."""
    with localcontext() as context:
        context.prec = 80
        value, total, gain = [], Decimal(0), []
        for t in range(last):
            gain.append(Decimal(2).ln() / Decimal(n - t + 1).ln())
            signed = [(-1) ** (t - j) * comb(t, j) * gain[j] for j in range(t + 1)]
            total += comb(n - 1, t) * sum(signed)
            value.append(float(total))
    found = InverseSampling().of_position(NDCG, range(1, last + 1), n)
    assert found == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("metric", [AP, RR, NDCG, DCG, RBP(0.8), RankScore(5), AUC, PercentileRank])
@pytest.mark.parametrize("n", [2, 6, 300])
def test_variance_is_estimated_without_bias(metric, n):
    law = np.array(survival(n - 1), float)
    pmf = law - np.append(law[:, 1:], np.zeros((n, 1)), axis=1)
    sampler, positions = InverseSampling(), range(1, n + 1)
    value = sampler.of_position(metric, positions, n)
    variance = pmf @ value**2 - (pmf @ value) ** 2
    found = sampler.estimated_variance(metric, positions, n)
    assert pmf @ found == pytest.approx(variance, abs=1e-13)
    ranks = Ranks(range(1, n + 1), n)
    assert sampler.variance(metric, ranks) == pytest.approx(variance, abs=1e-13)
    mean_variance = sampler.std_of_mean(metric, ranks) ** 2
    assert mean_variance == pytest.approx(variance.sum() / n**2, abs=1e-14)


def test_pools_of_different_sizes_keep_to_themselves():
    values, pools = [3, 40, 1, 7, 3], np.array([50, 45, 300, 12, 7])
    for metric in (NDCG, AP, RBP(0.7)):
        together = InverseSampling().variance(metric, Ranks(values, pools))
        alone = [
            InverseSampling().variance(metric, Ranks([r], n))[0] for r, n in zip(values, pools)
        ]
        assert together == pytest.approx(alone, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("metric", [AP, NDCG, RBP(0.8), AUC], ids=str)
@pytest.mark.parametrize("cap", [1, 3, 6, 99])
def test_cap_by_enumeration(metric, cap):
    n, sampler = 7, InverseSampling(cap)
    ranks = Ranks(range(1, n + 1), n)
    value = sampler.of_position(metric, range(1, n + 1), n)
    seen = [[min(position(o), cap + 1) for o in orders(n - 1, a)] for a in range(n)]
    estimates = [value[np.array(each) - 1] for each in seen]
    assert sampler.expect(metric, ranks) == pytest.approx([e.mean() for e in estimates], abs=1e-14)
    assert sampler.variance(metric, ranks) == pytest.approx([e.var() for e in estimates], abs=1e-14)
    cost = [mean([min(position(o), cap, n - 1) for o in orders(n - 1, a)]) for a in range(n)]
    assert sampler.cost(ranks) == pytest.approx(cost)
    if cap >= n - 1:
        assert sampler.expect(metric, ranks) == pytest.approx(metric(ranks), abs=1e-14)
    elif metric is not AUC:
        assert (sampler.expect(metric, ranks) <= metric(ranks) + 1e-14).all()


def test_several_relevant_items_by_enumeration():
    """All orders of the irrelevant items; each relevant item is outranked at its own position."""
    ranks, n = [2, 4, 7], 8
    above = [r - i for i, r in enumerate(ranks, 1)]
    items = list(permutations(range(n - len(ranks))))  # item j outranks those with above > j
    positions = [[position([item < a for item in order]) for a in above] for order in items]
    given = Ranks([ranks] * len(items), n)
    for metric in (AP, RR, NDCG, DCG, RBP(0.8), RankScore(2), AUC):
        found = InverseSampling().of_position(metric, positions, n)
        assert found.mean() == pytest.approx(metric(given)[0], abs=1e-14)
        # The order in which the positions of an instance are given does not matter.
        turned = InverseSampling().of_position(metric, [p[::-1] for p in positions], n)
        assert turned == pytest.approx(found)
    cost = mean([min(p[0], n - len(ranks)) for p in positions])
    assert InverseSampling().cost(Ranks([ranks], n)) == pytest.approx([cost])


def test_positions_of_several_relevant_items_are_drawn_from_their_joint_law():
    ranks, n, repetitions = [2, 4, 7], 8, 20_000
    above = [r - i for i, r in enumerate(ranks, 1)]
    items = list(permutations(range(n - len(ranks))))
    law: dict = {}
    for order in items:
        key = tuple(position([item < a for item in order]) for a in above)
        law[key] = law.get(key, 0) + 1 / len(items)
    drawn = InverseSampling().draw(Ranks([ranks] * repetitions, n), rng=1)
    counts: dict = {}
    for one in drawn:
        counts[tuple(one.tolist())] = counts.get(tuple(one.tolist()), 0) + 1
    assert set(counts) <= set(law)
    chi2 = sum(
        (counts.get(k, 0) - repetitions * p) ** 2 / (repetitions * p) for k, p in law.items()
    )
    assert chi2 < len(law) + 5 * np.sqrt(2 * len(law))


def test_capped_expectation_of_several_relevant_items_by_simulation():
    ranks = Ranks([[1, 3, 20], [5, 6]] * 10_000, n_items=40, ties=[[0, 0, 3], [4, 4]] * 10_000)
    sampler = InverseSampling(cap=6)
    for metric in (AP, NDCG):
        found = sampler.estimate(metric, ranks, rng=2)
        for i in (0, 1):
            error = found[i::2].std() / np.sqrt(10_000)
            expected = sampler.expect(metric, ranks)[i]
            assert abs(found[i::2].mean() - expected) < 4 * error
    assert sampler.cost(ranks)[:2].tolist() == pytest.approx([6, sampler.cost(ranks)[3]])


@pytest.mark.parametrize("metric", [AP, NDCG, RBP(0.8), AUC], ids=str)
def test_ties_are_averaged_over(metric):
    tied, n = Ranks([2], 9, ties=[5]), 9
    untied = Ranks(range(2, 8), n)
    for sampler in (InverseSampling(), InverseSampling(3)):
        expected = sampler.expect(metric, untied)
        square = sampler.variance(metric, untied) + expected**2
        assert sampler.expect(metric, tied) == pytest.approx([expected.mean()])
        variance = square.mean() - expected.mean() ** 2
        assert sampler.variance(metric, tied) == pytest.approx([variance])
        assert sampler.cost(tied) == pytest.approx([sampler.cost(untied).mean()])


def test_drawn_positions_have_their_law():
    n, repetitions = 12, 40_000
    law = np.array(survival(n - 1), float)
    for rank in (1, 2, 5, n):
        drawn = InverseSampling().draw(Ranks([rank] * repetitions, n), rng=rank)
        pmf = -np.diff(np.append(law[rank - 1], 0))
        counts = np.bincount(drawn, minlength=n + 1)[1:]
        expected = repetitions * pmf
        assert (counts[expected == 0] == 0).all()
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9).all()


def test_cap_is_reached_in_drawn_positions():
    drawn = InverseSampling(4).draw(Ranks([1, 1], [50, 4]), rng=0)
    assert drawn.tolist() == [5, 4]


def test_interval_of_one_run_covers():
    """1,000 runs over 500 users of X, each with its own 95 % interval."""
    recorded = rs.datasets.recorded_ranks()["X"]
    ranks = Ranks(recorded.values[::12], recorded.n_irrelevant[::12] + 1)
    n, rng, covered = len(ranks), np.random.default_rng(3), 0
    sampler = InverseSampling()
    for _ in range(1000):
        positions = sampler.draw(ranks, rng)
        estimate = sampler.of_position(AP, positions, ranks.n_items)
        variance = sampler.estimated_variance(AP, positions, ranks.n_items)
        half = 1.96 * np.sqrt(variance.sum()) / n
        covered += abs(estimate.mean() - AP(ranks).mean()) < half
    assert 930 <= covered <= 970


# Early stopping


@pytest.mark.parametrize("k", [1, 3, 6, 7])
def test_cost_of_early_stopping_by_enumeration(k):
    n = 7
    cost = [mean([min(position(o, k), n - 1) for o in orders(n - 1, a)]) for a in range(n)]
    assert EarlyStopping(k).cost(Ranks(range(1, n + 1), n)) == pytest.approx(cost)
    tied = EarlyStopping(k).cost(Ranks([2], n, ties=[3]))
    assert tied == pytest.approx([mean(cost[1:5])])


def test_what_early_stopping_draws():
    drawn = EarlyStopping(4).draw(Ranks([2] * 60_000, 9, ties=5), rng=1)
    counts = np.bincount(drawn.values, minlength=6)  # ranks 2 to 7, of which 5 to 7 look the same
    assert counts[:2].tolist() == [0, 0] and counts.sum() == 60_000
    assert (np.abs(counts[2:] - [10_000, 10_000, 10_000, 30_000]) < 600).all()
    several = EarlyStopping(2).draw(Ranks([[7, 1], [3], [5, 9], []], n_items=9), rng=0)
    assert [each.tolist() for each in several.values] == [[1, 4], [3], [3, 4], []]
    assert several.n_items == 9 and not several.rows.ties.any()


@pytest.mark.parametrize("metric", CUT, ids=str)
def test_early_stopping_is_exact(metric):
    ranks = Ranks([[1, 4], [2, 3, 9], [10]], n_items=12)
    sampler = EarlyStopping(3)
    assert sampler.estimate(metric, ranks, 0).tolist() == metric(ranks).tolist()
    assert sampler.expect(metric, ranks).tolist() == metric(ranks).tolist()
    one = Ranks([1, 3, 4], 12, ties=[0, 1, 0])
    values = metric.of_rank([3, 4], 12)
    assert sampler.variance(metric, one) == pytest.approx([0, values.var(), 0])
    assert not EarlyStopping(3).variance(metric, Ranks(range(1, 13), 12)).any()


def test_early_stopping_takes_a_fifth_of_the_catalogue():
    for ranks in rs.datasets.recorded_ranks().values():
        share = EarlyStopping(10).cost(ranks).mean() / ranks.n_irrelevant.mean()
        assert 0.19 < share < 0.203


# Two phases


@pytest.mark.parametrize("chances", [0.3, [1.0, 0.5, 0.2], [0.2, 0.7, 1.0]], ids=str)
@pytest.mark.parametrize("m0", [1, 2, 4, 6])
def test_two_phases_by_enumeration(chances, m0):
    n, k = 7, 3
    sampler, ranks = TwoPhase(m0, k, chances), Ranks(range(1, n + 1), n)
    chance = np.append(np.broadcast_to(chances, k), 1.0)
    for metric in CUT:
        exact = metric.of_rank(range(1, n + 1), n)
        variance, cost = np.zeros(n), np.zeros(n)
        for a in range(n):
            every = orders(n - 1, a)
            for order in every:
                s = min(sum(order[:m0]), k)
                end = min(position(order, k), n - 1)
                cost[a] += (chance[s] * end + (1 - chance[s]) * min(end, m0)) / len(every)
                variance[a] += exact[a] ** 2 * (1 / chance[s] - 1) / len(every)
        assert sampler.cost(ranks) == pytest.approx(cost)
        assert sampler.variance(metric, ranks) == pytest.approx(variance)
        assert sampler.expect(metric, ranks).tolist() == exact.tolist()


def test_two_phases_under_ties():
    n, k = 30, 3
    sampler, untied = TwoPhase(4, k, [0.9, 0.5, 0.2]), Ranks(range(2, 13), n)
    tied = Ranks([2], n, ties=[10])
    assert sampler.cost(tied) == pytest.approx([sampler.cost(untied).mean()])
    metric = AP @ 3
    square = sampler.variance(metric, untied) + metric(untied) ** 2
    variance = square.mean() - metric(untied).mean() ** 2
    assert sampler.variance(metric, tied) == pytest.approx([variance])


def test_two_phases_by_simulation():
    ranks = Ranks([[2, 3, 9], [1, 8, 9], [4, 5, 6]] * 20_000, n_items=30)
    sampler = TwoPhase(10, 3, [0.5, 0.3, 0.2])
    for metric in (NDCG @ 3, Recall @ 3):
        found = sampler.estimate(metric, ranks, rng=4)
        for i in range(3):
            error = found[i::3].std() / np.sqrt(20_000)
            assert abs(found[i::3].mean() - metric(ranks)[i]) <= 4 * error


def test_full_second_phase_is_early_stopping():
    for ranks in rs.datasets.recorded_ranks().values():
        sampler = TwoPhase(100, 10, 1.0)
        assert sampler.cost(ranks) == pytest.approx(EarlyStopping(10).cost(ranks))
    assert sampler.std_of_mean(Recall @ 10, ranks) < 1e-3


def test_figures_of_two_phases_on_movielens():
    sampler = TwoPhase(100, 10, 0.7 ** np.arange(10))
    for ranks in rs.datasets.recorded_ranks().values():
        assert 590 < sampler.cost(ranks).mean() < 640
        assert 0.0007 < sampler.std_of_mean(Recall @ 10, ranks) < 0.0009


# Real scores


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(6)
    n_users, n_items = 60, 83
    table = rng.normal(size=(n_users, n_items))
    relevant = rng.integers(n_items, size=n_users)
    table[np.arange(n_users), relevant] += rng.choice([0, 2, 9], n_users)
    exclude = rng.random((n_users, n_items)) < 0.2
    exclude[np.arange(n_users), relevant] = False
    exclude[7] = np.arange(n_items) != relevant[7]  # nothing to compare with
    excluded = [set(np.flatnonzero(row).tolist()) for row in exclude]
    return table, relevant, sparse.csr_matrix(exclude), excluded


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_scan_is_the_same_as_ranking_in_the_explicit_order(study, block):
    table, relevant, exclude, excluded = study

    def scan():
        return Scan(lambda u, i: table[u, i], relevant, 83, exclude=exclude, seed=8, block=block)

    above = [in_scan(table[u], u, i, excluded[u] | {i}, 8) for u, i in enumerate(relevant)]
    pool = np.array([len(order) for order in above])
    assert scan().n_irrelevant.tolist() == pool.tolist()
    found = InverseSampling().scan(scan())
    assert found.tolist() == [position(order) for order in above]
    capped = InverseSampling(5).scan(scan())
    assert capped.tolist() == [min(position(order), 6) for order in above]
    stopped = scan()
    ranks = EarlyStopping(4).scan(stopped)
    assert ranks.values.tolist() == [min(sum(order), 4) + 1 for order in above]
    ends = [min(position(order, 4), len(order)) for order in above]
    assert stopped.scored.tolist() == ends
    exact = rs.predicted_ranks(table, relevant, exclude)
    for metric in (Recall @ 4, NDCG @ 4):
        assert metric(ranks).tolist() == metric(exact).tolist()
    assert EarlyStopping(4).draw(exact, 0).values.tolist() == ranks.values.tolist()


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_scan_with_several_relevant_items(study, block):
    table, relevant, exclude, excluded = study
    n_users, n = table.shape
    kept = (np.random.default_rng(11).random(table.shape) < 0.04) & (exclude.toarray() == 0)
    kept[np.arange(n_users), relevant] = True
    matrix = sparse.csr_matrix(kept)

    def scan():
        return Scan(lambda u, i: table[u, i], matrix, n, exclude=exclude, seed=8, block=block)

    above, pool = [], scan().n_irrelevant
    for u in range(n_users):
        items = sorted(np.flatnonzero(kept[u]).tolist(), key=lambda i: -table[u, i])
        skipped = excluded[u] | set(items)
        above.append([in_scan(table[u], u, i, skipped, 8) for i in items])
        assert pool[u] == len(above[u][0])
    assert max(map(len, above)) > 4
    exact = rs.predicted_ranks(table, matrix, exclude)
    for cap in (None, 6):
        used = scan()
        found = InverseSampling(cap).scan(used)
        last = [len(each[0]) if cap is None else min(len(each[0]), cap) for each in above]
        expected = [[min(position(o), end + 1) for o in each] for each, end in zip(above, last)]
        assert [each.tolist() for each in found] == expected
        assert used.scored.tolist() == [min(each[0], end) for each, end in zip(expected, last)]
    ranks = EarlyStopping(4).scan(used)  # goes on where the other has stopped
    full = [[min(sum(o), 4) + i for i, o in enumerate(each, 1)] for each in above]
    assert [each.tolist() for each in ranks.values] == full
    assert used.scored.tolist() == [min(position(each[0], 4), len(each[0])) for each in above]
    for known in (ranks, EarlyStopping(4).draw(exact, 0)):
        assert [each.tolist() for each in known.values] == full
        for metric in (Recall @ 4, NDCG @ 4, AP @ 4):
            assert metric(known) == pytest.approx(metric(exact))


def test_two_phases_in_a_scan(study):
    table, relevant, *_ = study
    above = [in_scan(table[u], u, i, {i}, 0) for u, i in enumerate(relevant)]
    scan = Scan(lambda u, i: table[u, i], relevant, 83, block=5)
    design = TwoPhase(20, 3, [0.8, 0.4, 0.2])
    sample = design.scan(scan, rng=9)
    chance = np.append(design.probability, 1.0)
    uniform = np.random.default_rng(9).random(len(relevant))
    for i, order in enumerate(above):
        s = min(sum(order[:20]), 3)
        kept = uniform[i] < chance[s]
        assert sample.weight[i] == (1 / chance[s] if kept else 0)
        end = min(position(order, 3), 82)
        assert scan.scored[i] == (end if kept else min(end, 20))
        if kept:
            assert sample.ranks.values[i] == min(sum(order), 3) + 1
    estimate = design.of_sample(Recall @ 3, sample)
    assert (estimate[sample.weight == 0] == 0).all()


def test_two_phases_of_several_relevant_items_in_a_scan(study):
    """The best one decides when a phase ends, and by its count whether there is a second one."""
    table, relevant, *_ = study
    kept = table > 1.2
    kept[np.arange(len(table)), relevant] = True
    matrix = sparse.csr_matrix(kept)
    scan = Scan(lambda u, i: table[u, i], matrix, 83)
    design = TwoPhase(20, 3, [0.8, 0.4, 0.2])
    sample = design.scan(scan, rng=9)
    chance, uniform = np.append(design.probability, 1.0), np.random.default_rng(9).random(len(kept))
    exact = rs.predicted_ranks(table, matrix)
    for user, row in enumerate(kept):
        best = max(np.flatnonzero(row).tolist(), key=lambda i: table[user, i])
        order = in_scan(table[user], user, best, set(np.flatnonzero(row).tolist()), 0)
        s = min(sum(order[:20]), 3)
        assert sample.weight[user] == (1 / chance[s] if uniform[user] < chance[s] else 0)
    finished = sample.weight > 0
    assert 10 < finished.sum() < 50
    for metric in (NDCG @ 3, Recall @ 3):
        estimate = design.of_sample(metric, sample)
        assert estimate == pytest.approx(sample.weight * metric(exact))


def test_scan_that_has_been_advanced(study):
    """Where the first item above stands is known afterwards; how many were above is not."""
    table, relevant, *_ = study

    def scan():
        return Scan(lambda u, i: table[u, i], relevant, 83)

    used = scan()
    EarlyStopping(10).scan(used)
    for sampler in (InverseSampling(), InverseSampling(5)):
        assert sampler.scan(used).tolist() == sampler.scan(scan()).tolist()
    message = r"scan must be a new Scan, .* got \d+ items looked at for user 0"
    with pytest.raises(ValueError, match=message):
        TwoPhase(20, 3, 0.5).scan(used, 0)


def test_ties_in_a_scan_are_broken_at_random():
    """All scores equal: the rank is uniform, and independent of the order of the items."""
    n_users, n = 20_000, 6
    scan = Scan(lambda u, i: np.zeros(np.broadcast_shapes(u.shape, i.shape)), [2] * n_users, n)
    positions = InverseSampling().scan(scan)
    expected = AP(Ranks([1], n, ties=[5]))[0]
    found = InverseSampling().of_position(AP, positions, n)
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(n_users)
    ranks = EarlyStopping(n - 1).scan(scan).values
    counts = np.bincount(ranks, minlength=n + 1)[1:]
    assert (np.abs(counts - n_users / n) < 5 * np.sqrt(n_users / n)).all()


def test_several_relevant_items_tied_in_a_scan():
    """Two relevant among six items, all with one score."""
    n_users, n = 20_000, 6
    relevant = sparse.csr_matrix(np.tile([True, False, True, False, False, False], (n_users, 1)))
    scan = Scan(lambda u, i: np.ones(np.broadcast_shapes(u.shape, i.shape)), relevant, n)
    found = InverseSampling().of_position(AP, InverseSampling().scan(scan), n)
    expected = AP(Ranks([[1, 2]], n, ties=[[4, 4]]))[0]
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(n_users)
    exact = AP(Ranks(EarlyStopping(n).scan(scan).values, n))
    assert abs(exact.mean() - expected) < 4 * exact.std() / np.sqrt(n_users)


def test_scan_of_factors_estimates_ap():
    rng = np.random.default_rng(10)
    users, items = rng.normal(size=(3000, 4)), rng.normal(size=(200, 4))
    relevant = np.argsort(users @ items.T, axis=1)[:, -3]  # everyone's item is on rank 3

    def score(u, i):
        return np.einsum("uwf,uwf->uw", np.broadcast_to(users[u], (*i.shape, 4)), items[i])

    positions = InverseSampling().scan(Scan(score, relevant, 200, seed=1))
    found = InverseSampling().of_position(AP, positions, 200)
    deviation = InverseSampling().std_of_mean(AP, Ranks([3] * 3000, 200))
    assert abs(found.mean() - 1 / 3) < 4 * deviation


@pytest.mark.parametrize("n", [1, 2, 3, 10, 97, 1000])
def test_every_item_has_one_place(n):
    users = np.arange(20)[:, None]
    order = item_at(np.arange(n), users, n, seed=4)
    assert (np.sort(order, axis=1) == np.arange(n)).all()


@pytest.mark.parametrize(("n", "each"), [(2, 600), (3, 600), (4, 600), (5, 600), (7, 40)])
def test_all_orders_are_as_likely(n, each):
    """At n = 7 the network alone would favour one parity: its tables have 9 places."""
    order = item_at(np.arange(n), np.arange(each * factorial(n))[:, None], n, seed=5)
    _, counts = np.unique(order @ (n ** np.arange(n)), return_counts=True)
    assert len(counts) == factorial(n)
    chi2 = ((counts - each) ** 2 / each).sum()
    assert abs(chi2 - len(counts)) < 5 * np.sqrt(2 * len(counts))


def test_items_are_spread_evenly_over_the_places():
    n, users = 300, 30_000
    for place in (0, 1, 299):
        counts = np.bincount(item_at(place, np.arange(users), n, seed=6), minlength=n)
        chi2 = ((counts - users / n) ** 2 / (users / n)).sum()
        assert abs(chi2 - n) < 5 * np.sqrt(2 * n)
    # Neighbours in the order are not neighbours in the catalogue.
    pair = item_at(np.arange(2), np.arange(users)[:, None], n, seed=6)
    gap = (pair[:, 1] - pair[:, 0]) % n
    counts = np.bincount(gap, minlength=n)[1:]
    chi2 = ((counts - users / (n - 1)) ** 2 / (users / (n - 1))).sum()
    assert abs(chi2 - n) < 5 * np.sqrt(2 * n)
    assert order_of(0, n, seed=6) != order_of(0, n, seed=7)


# The figure of error against cost


def test_error_against_cost_is_that_of_each_method():
    ranks = {
        "Y": Ranks([1, 4, 40, 7, 90] * 20, np.arange(201, 301)),
        "Z": Ranks([2, 30, 5, 9, 60] * 20, np.arange(201, 301), ties=[0, 3, 0, 8, 2] * 20),
    }
    table = rs.inference.studies.error_against_cost(ranks, samples=[20, 150], most=160, repetitions=1)
    metrics = ["AP", "NDCG@10", "Recall@10"]
    assert list(table.index.unique("metric")) == metrics
    assert list(table) == ["cost", "bias", "std", "error"]
    assert table["error"].to_numpy() == pytest.approx(np.hypot(table["bias"], table["std"]))
    n = round(np.mean(np.arange(201, 301)))
    designs = {
        ("inverse sampling", 0): InverseSampling(),
        ("early stopping", 0): EarlyStopping(10),
        ("two phases", 0.5): TwoPhase(100, 10, 0.5 * 0.7 ** np.arange(10)),
    }
    for name, r in ranks.items():
        for metric in map(rs.metric, metrics):
            sampler = rs.UniformSampling(150)
            corrected = rs.BiasVariance(metric, sampler, n, gamma=0.01)
            row = table.loc[(str(metric), "BV 0.01", name, 150)]
            bias = sampler.expect(corrected, r).mean() - metric(r).mean()
            expected = [150, 100 * bias, 100 * sampler.std_of_mean(corrected, r)]
            assert row[:3].tolist() == pytest.approx(expected, abs=1e-7)
            design = rs.DoublingSampling(50, 160)
            corrected = rs.BiasVariance(metric, design, n)
            row = table.loc[(str(metric), "BV 0.1, doubling", name, 160)]
            bias = design.expect(corrected, r).mean() - metric(r).mean()
            expected = [design.cost(r).mean(), 100 * bias]
            assert row[:2].tolist() == pytest.approx(expected, abs=1e-7)
            for (method, setting), design in designs.items():
                if (metric.cutoff is None) != (method == "inverse sampling"):
                    continue
                row = table.loc[(str(metric), method, name, setting)]
                expected = [design.cost(r).mean(), 0, 100 * design.std_of_mean(metric, r)]
                assert row[:3].tolist() == pytest.approx(expected)
        row = table.loc[("AP", "rank everything", name, 0)]
        assert row.tolist() == pytest.approx([r.n_irrelevant.mean(), 0, 0, 0])
        capped = InverseSampling(100)
        bias = capped.expect(AP, r).mean() - AP(r).mean()
        expected = [capped.cost(r).mean(), 100 * bias, 100 * capped.std_of_mean(AP, r)]
        row = table.loc[("AP", "inverse sampling, cap", name, 100)]
        assert row[:3].tolist() == pytest.approx(expected)
    for few in ("CLS", "MES", "BV, learned prior"):
        assert list(table.xs(few, level="method").index.unique("setting")) == [20]


def test_error_against_cost_of_methods_that_learn_from_a_run():
    """The same runs, drawn again."""
    ranks = {"Y": Ranks([1, 4, 40, 7, 90] * 20, 201), "Z": Ranks([2, 30, 5, 9, 60] * 20, 201)}
    table = rs.inference.studies.error_against_cost(ranks, samples=[20, 60], most=160, repetitions=3, rng=4)
    rng = np.random.default_rng(4)
    for m in (20, 60):
        sampler = rs.UniformSampling(m)
        for name, r in ranks.items():
            runs = [sampler.draw(r, rng) for _ in range(3)]
            priors = [rs.inference.expectation_maximisation(run, sampler, 201) for run in runs]
            splines = [rs.inference.log_spline(run, sampler, 201) for run in runs]
            for metric in (AP, Recall @ 10):
                corrections = [rs.BiasVariance(metric, sampler, 201, prior=p) for p in priors]
                found = {
                    "EM": [p @ metric.of_rank(range(1, 202), 201) for p in priors],
                    "spline": [fit.mean(metric)[0] for fit in splines],
                    "BV, learned prior": [c(run).mean() for c, run in zip(corrections, runs)],
                }
                for method, means in found.items():
                    row = table.loc[(str(metric), method, name, m)]
                    bias = np.mean(means) - metric(r).mean()
                    expected = [m, 100 * bias, 100 * np.std(means)]
                    assert row[:3].tolist() == pytest.approx(expected)
                plausible = rs.inference.plausible_prior(201)
                corrected = rs.BiasVariance(metric, sampler, 201, prior=plausible)
                bias = sampler.expect(corrected, r).mean() - metric(r).mean()
                row = table.loc[(str(metric), "BV, plausible prior", name, m)]
                expected = [m, 100 * bias, 100 * sampler.std_of_mean(corrected, r)]
                assert row[:3].tolist() == pytest.approx(expected)


# Edges and refusals


def test_pool_without_irrelevant_items():
    ranks = Ranks([1], 1)
    assert InverseSampling().draw(ranks, 0).tolist() == [1]
    assert InverseSampling().estimate(NDCG, ranks, 0).tolist() == pytest.approx([1.0])
    assert InverseSampling().cost(ranks).tolist() == [0.0]
    assert InverseSampling().variance(RBP(0.5), ranks).tolist() == [0.0]
    assert EarlyStopping(3).cost(ranks).tolist() == [0.0]


def test_auc_without_irrelevant_items_is_undefined():
    """One warning that says so, and none of the arithmetic behind it."""
    sampler = InverseSampling()
    for call in (
        lambda: sampler.estimate(AUC, Ranks([1, 2], [1, 5]), 0),
        lambda: sampler.estimated_variance(AUC, [1, 2], [1, 5]),
    ):
        with pytest.warns(UserWarning, match="AUC is undefined for 1 of 2 instances") as seen:
            assert np.isnan(call()).tolist() == [True, False]
        assert len(seen) == 1
    assert np.isnan(sampler.variance(AUC, Ranks([1, 2], [1, 5]))).tolist() == [True, False]


def test_instance_without_relevant_item_is_undefined():
    ranks = Ranks([[], [2]], 5)
    for sampler in (InverseSampling(), InverseSampling(cap=2)):
        with pytest.warns(UserWarning, match="AP is undefined for 1 of 2 instances"):
            assert np.isnan(sampler.estimate(AP, ranks, 0)).tolist() == [True, False]
        with pytest.warns(UserWarning, match="AP is undefined for 1 of 2 instances"):
            assert np.isnan(sampler.expect(AP, ranks)).tolist() == [True, False]


RANKS = Ranks([1, 2], 5)
ITEMS = [0, 1]


def scores(users, items):
    return np.zeros(items.shape)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: InverseSampling(0), "cap must be a whole number of at least 1, got 0"),
        (lambda: InverseSampling().draw([1, 2], 0), "ranks must be Ranks, got list"),
        (lambda: InverseSampling().draw(RANKS, "x"), "rng must be a whole number"),
        (lambda: InverseSampling().expect(Recall @ 3, RANKS), "without a cut-off .* got Recall@3"),
        (lambda: InverseSampling().expect(AP @ 3, RANKS), "without a cut-off .* got AP@3"),
        (lambda: InverseSampling().of_position("AP", [1], 5), "metric must be a Metric"),
        (lambda: InverseSampling().of_position(AP, [6, 1], 5), "at most 5, .* got 6 in instance 0"),
        (lambda: InverseSampling().of_position(AP, [0], 5), "positions must be whole numbers of"),
        (lambda: InverseSampling().of_position(AP, [1], 0), "n_items must be a whole number of"),
        (
            lambda: InverseSampling().estimated_variance(AP, [[1]], 5),
            "positions must be one number per instance, got lists",
        ),
        (
            lambda: InverseSampling().variance(AP, Ranks([[1, 2]], 5)),
            "one relevant item per instance, got 2 in instance 0",
        ),
        (lambda: EarlyStopping(0), "k must be a whole number of at least 1, got 0"),
        (lambda: EarlyStopping(3).expect(AP, RANKS), "cut-off of at most k=3, got AP"),
        (lambda: EarlyStopping(3).expect(AP @ 4, RANKS), "cut-off of at most k=3, got AP@4"),
        (lambda: EarlyStopping(3).cost(5), "ranks must be Ranks, got int"),
        (lambda: EarlyStopping(3).draw(5, 0), "ranks must be Ranks, got int"),
        (lambda: TwoPhase(0, 3, 0.5), "m0 must be a whole number of at least 1, got 0"),
        (lambda: TwoPhase(5, 3, 0.0), "probability must be above 0 and at most 1, got 0.0"),
        (lambda: TwoPhase(5, 3, 1.5), "probability must be above 0 and at most 1, got 1.5"),
        (lambda: TwoPhase(5, 3, [1, 0.5]), r"shape \(3,\), got shape \(2,\)"),
        (lambda: TwoPhase(5, 3, 0.5).cost(RANKS), "at least 5 irrelevant .* got 4 in instance 0"),
        (lambda: TwoPhase(2, 3, 0.5).expect(NDCG, RANKS), "cut-off of at most k=3, got NDCG"),
        (lambda: Scan(None, ITEMS, 5), "score must be a function of users and items, got None"),
        (lambda: Scan(scores, [0, 5], 5), "items from 0 to 4, got item 5 for user 1"),
        (lambda: Scan(scores, [[0]], 5), r"one item for each of the 1 users, .* shape \(1, 1\)"),
        (lambda: Scan(scores, [], 5), "at least one item for each user, got no user"),
        (lambda: Scan(scores, 3, 5), r"one item for each of the 0 users, .* shape \(\)"),
        (
            lambda: Scan(scores, sparse.csr_matrix([[0, 1], [0, 0]]), 2),
            "relevant must hold at least one item for each user, got none for user 1",
        ),
        (
            lambda: Scan(scores, ITEMS, 5, exclude=sparse.csr_matrix(np.eye(2, 5))),
            "relevant and exclude must not share an item, got item 0 for user 0",
        ),
        (
            lambda: Scan(lambda u, i: [1.0], ITEMS, 5),
            r"scores must have the shape of items, \(2, 1",
        ),
        (lambda: Scan(lambda u, i: scores(u, i) * np.nan, ITEMS, 5), "NaN for user 0, item 0"),
        (lambda: item_at(5, 0, 5), "place must be below n_items=5, got 5"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_samplers_are_values():
    assert InverseSampling() == InverseSampling(None) != InverseSampling(3)
    assert hash(EarlyStopping(3)) == hash(EarlyStopping(3))
    assert TwoPhase(5, 2, [0.5, 0.1]) == TwoPhase(5, 2, np.array([0.5, 0.1]))
    assert hash(TwoPhase(5, 2, [0.5, 0.1])) == hash(TwoPhase(5, 2, (0.5, 0.1)))


def test_log2_of_the_second_rank():
    """T is 1 or 2 at n = 2: the value is 1 / log2(3) where the only other item is above."""
    found = InverseSampling().of_position(NDCG, [1, 2], 2)
    assert found == pytest.approx([1 / log2(3), 1], abs=1e-15)


def test_instances_without_relevant_or_without_irrelevant_items():
    none = Ranks([[], []], 9)
    with pytest.warns(UserWarning, match="AP is undefined for 2 of 2 instances"):
        assert np.isnan(InverseSampling(4).expect(AP, none)).all()
    for sampler in (InverseSampling(), InverseSampling(4), EarlyStopping(2)):
        cost = sampler.cost(none)
        assert cost.tolist() == [0.0, 0.0] and cost.dtype == float
    only_relevant = Ranks([[1, 2], [1]], [2, 9])
    assert InverseSampling(4).cost(only_relevant).tolist() == [0.0, 4.0]
    assert InverseSampling().cost(only_relevant).tolist() == [0.0, 8.0]


def test_pools_too_large_to_draw_from():
    with pytest.raises(ValueError, match=r"n_items must be at most 1,000,000,000 .* in instance 1"):
        TwoPhase(10, k=3, probability=0.5).draw(Ranks([1, 1], [50, 2 * 10**9]), 0)
