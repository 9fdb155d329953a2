"""`RankCounts`: everything that takes them says what it says of the ranks written out."""

from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from all_metrics import ALL
from scipy.stats import chi2

import recsample as rs
from recsample import AP, AUC, NDCG, RankCounts, Ranks, Recall, UniformSampling
from recsample.ranks import counts
from recsample.sampling.pooled import PooledSampling

RNG = np.random.default_rng
METRICS = [AUC, AP, NDCG @ 10, Recall @ 10]


def many(n=4000, *, n_items=300, ties=False, seed=0, power=2.0):
    """Ranks of n instances, more of them near the top, in pools of one or several sizes."""
    rng = RNG(seed)
    sizes = rng.choice(n_items, n) if np.ndim(n_items) else n_items
    values = 1 + np.floor(rng.random(n) ** power * sizes).astype(int)
    tied = rng.integers(0, np.minimum(sizes - values, 3), endpoint=True) if ties else 0
    return Ranks(values, sizes, ties=tied)


def written_out(counted):
    """The ranks of all instances, a row repeated as often as it counts."""
    return counted.ranks[np.repeat(np.arange(len(counted.counts)), counted.counts)]


KINDS = {
    "plain": many(),
    "tied": many(ties=True),
    "several pools": many(n_items=[200, 300, 450]),
    "tied, several pools": many(n_items=[200, 300, 450], ties=True),
}
FEW_KINDS = ["plain", "tied, several pools"]


class TestCounting:
    @pytest.mark.parametrize("ranks", KINDS.values(), ids=KINDS)
    def test_counts_what_a_counter_counts(self, ranks):
        rows = ranks.rows
        expected = Counter(zip(ranks.sizes.tolist(), rows.rank.tolist(), rows.ties.tolist()))
        counted = RankCounts.of(ranks)
        found = counted.ranks
        keys = zip(found.sizes.tolist(), found.rows.rank.tolist(), found.rows.ties.tolist())
        assert list(zip(keys, counted.counts.tolist())) == sorted(expected.items())
        assert len(counted) == len(ranks)
        assert counted.counts.dtype == np.int64

    def test_blocks_make_no_difference(self, monkeypatch):
        ranks = KINDS["tied, several pools"][:1200]
        whole = RankCounts.of(ranks)
        monkeypatch.setattr(counts, "_BLOCK", 7)
        assert RankCounts.of(ranks) == whole

    @pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint16", "uint64", "float64"])
    def test_a_column_of_any_kind_of_number(self, kind):
        values = RNG(0).integers(1, 100, 500)
        assert RankCounts.of(values.astype(kind), n_items=120) == RankCounts.of(
            Ranks(values, n_items=120)
        )

    def test_a_pool_larger_than_the_column(self):
        assert RankCounts.of([10**9, 3, 3], n_items=10**12) == RankCounts(
            [3, 10**9], [2, 1], n_items=10**12
        )

    def test_a_number_for_each_instance(self):
        ranks = KINDS["tied, several pools"]
        column, ties = ranks.rows.rank, ranks.rows.ties
        assert RankCounts.of(column, ranks.sizes, ties=ties) == RankCounts.of(ranks)

    def test_rows_are_added_up_and_empty_ones_left_out(self):
        found = RankCounts([5, 2, 5, 9], [1, 2, 3, 0], n_items=10)
        assert found.ranks.values.tolist() == [2, 5]
        assert found.counts.tolist() == [2, 4]
        assert found.ranks.n_items == 10

    def test_counts_beyond_32_bits(self):
        found = RankCounts([1, 2], [3 * 10**9, 10**9], n_items=2)
        assert len(found) == 4 * 10**9
        assert found.mean(Recall @ 1) == 0.75

    def test_joined(self):
        ranks = KINDS["tied, several pools"]
        parts = [RankCounts.of(ranks[part::3]) for part in range(3)]
        assert parts[0] + parts[1] + parts[2] == RankCounts.of(ranks)
        assert RankCounts.concatenate(parts) == RankCounts.of(ranks)

    def test_written_out_again(self):
        ranks = KINDS["tied, several pools"]
        order = np.lexsort((ranks.rows.ties, ranks.rows.rank, ranks.sizes))
        assert written_out(RankCounts.of(ranks)) == ranks[order]

    def test_what_it_prints(self):
        counted = RankCounts([1, 5], [2, 1], [10, 12], ties=[0, 3])
        said = "3 instances, 2 different ranks, 10 to 12 items, 1 tied"
        assert repr(counted) == f"<RankCounts: {said}>"


def negative():
    return RankCounts.of(np.array([1, -3]), 2)


COUNTED = RankCounts([1, 5, 9], [4, 2, 1], n_items=60)
SAMPLED = RankCounts([1, 2, 6], [40, 20, 1], n_items=6)

# What is done, and what the message says of argument, value and cure.
REFUSED = {
    "rank 0": (lambda: RankCounts.of([0, 1, 1], 2), "at least 1,.* got rank 0 among 2 items"),
    "rank below 0": (negative, "at least 1,.* got rank -3 among 2 items"),
    "rank beyond the pool": (lambda: RankCounts.of([1, 3, 3], 2), "at most n_items, got rank 3"),
    "the same, counted": (lambda: RankCounts([4], [1], 3), "got rank 4 among 3 items"),
    "ties beyond the pool": (
        lambda: RankCounts.of([2], 3, ties=[2]),
        "got rank 2 among 3 items with 2 ties",
    ),
    "half a rank": (lambda: RankCounts.of([1.5, 1, 1], 2), "whole numbers.*, got 1.5"),
    "half a rank, in pools": (lambda: RankCounts.of([1.5, 1], [2, 3]), "whole numbers.*, got 1.5"),
    "missing rank": (
        lambda: RankCounts.of([np.nan, 1, 1], 2),
        "missing values, got 1 of 3, the first at position 0",
    ),
    "no rank": (lambda: RankCounts.of([], 2), r"at least one rank, got .* \(0,\)"),
    "ranks in a table": (lambda: RankCounts.of([[1, 2]], 2), r"one-dimensional.* got .*\(1, 2\)"),
    "no pool": (lambda: RankCounts.of([1]), "n_items must be given"),
    "a pool twice": (lambda: RankCounts.of(Ranks([1], 2), 2), "Ranks know their n_items"),
    "too few pools": (lambda: RankCounts.of([1, 2], [2]), r"n_items must be .* got .*\(1,\)"),
    "too many ties": (lambda: RankCounts.of([1], 3, ties=[0, 0]), r"ties must be .* got .*\(2,\)"),
    "too few counts": (lambda: RankCounts([1, 2], [2], 9), r"counts must be .* got .*\(1,\)"),
    "counts below 0": (lambda: RankCounts([1, 2], [2, -1], 9), "counts must be .* got -1"),
    "half a count": (lambda: RankCounts([1], [0.5], 9), "counts must be whole numbers.* got 0.5"),
    "counts beyond int64": (
        lambda: RankCounts([1, 2] * 1024, [2**53 - 1] * 2048, 9),
        r"counts must add up to less than 2\*\*53, got 18446744073709",
    ),
    "parts beyond int64": (
        lambda: RankCounts.concatenate([RankCounts([1], [2**52], 9)] * 2),
        r"counts must add up to less than 2\*\*53, got 9007199254740992",
    ),
    "nobody": (lambda: RankCounts([1], [0], 9), "counts must hold at least one instance, got none"),
    "several relevant": (
        lambda: RankCounts.of(Ranks([[1], [2, 3]], 9)),
        "one relevant item per instance, got 2 in instance 1",
    ),
    "a frame": (lambda: RankCounts.of(pd.DataFrame({"rank": [1]}), 9), "RankCounts.from_frame"),
    "no part": (lambda: RankCounts.concatenate([]), r"parts must be .* got \[\]"),
    "ranks among the parts": (lambda: RankCounts.concatenate([Ranks([1], 2)]), "parts must be"),
    "no function": (lambda: COUNTED.mean(3), "function must be a metric .* got 3"),
    "no metric": (lambda: COUNTED.mean("nosuch"), "^function must be a metric .* got 'nosuch'"),
    "the wrong function": (lambda: COUNTED.mean(len), r"a number for each of the 3 .* shape \(\)"),
    # What has a result for each instance says what to call
    "metric": (lambda: AP(COUNTED), r"got RankCounts: counts.mean\(function\)"),
    "correction": (
        lambda: rs.BiasVariance(AP, UniformSampling(5), 60, gamma=0.1)(SAMPLED),
        r"got RankCounts: counts.mean\(function\)",
    ),
    "expectation": (lambda: UniformSampling(5).expect(AP, COUNTED), "got RankCounts: counts.mean"),
    "variance": (lambda: UniformSampling(5).variance(AP, COUNTED), "got RankCounts: counts.mean"),
    "law": (lambda: UniformSampling(5).pmf(COUNTED), "got RankCounts: counts.mean"),
    "pooled": (lambda: PooledSampling(5).expect(AP, COUNTED), "got RankCounts: counts.mean"),
    "design": (lambda: rs.InverseSampling().draw(COUNTED, 0), "got RankCounts: counts.mean"),
    # What compares instance by instance says why not
    "pair": (
        lambda: rs.inference.paired_comparison(AP, COUNTED, COUNTED),
        "a must be Ranks to be compared instance by instance, got RankCounts",
    ),
    "other numbers": (
        lambda: rs.inference.order_probability(
            AP, COUNTED, RankCounts([2], [3], 60), UniformSampling(5)
        ),
        "the same instances, got 7 and 3",
    ),
    "other pools": (
        lambda: rs.inference.rank_distribution(SAMPLED, UniformSampling(9), 60),
        "n_items = m . 1 = 10, got 6",
    ),
    "small pools": (lambda: UniformSampling(70).draw(COUNTED, 0), "at least 70 irrelevant items"),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_memory_is_asked_for_first():
    with pytest.raises(ValueError, match="a count for each of 1,000,000,000,000 ranks takes"):
        counts._histogram(np.array([1]), 10**12)


class TestMeans:
    @pytest.mark.parametrize("metric", ALL, ids=str)
    def test_metrics(self, metric):
        ranks = KINDS["tied, several pools"]
        counted, values = RankCounts.of(ranks), metric(ranks)
        assert counted.mean(metric) == pytest.approx(values.mean(), rel=1e-12, abs=1e-15)

    def test_many_instances_with_one_rank(self):
        counted = RankCounts([4], [7], n_items=5)
        assert counted.mean(AP) == 1 / 4

    @pytest.mark.parametrize("kind", FEW_KINDS)
    def test_expectations_and_designs(self, kind):
        ranks = KINDS[kind][:150]
        counted = RankCounts.of(ranks)
        assert counted.counts.max() > 2
        for drawn in (UniformSampling(20), UniformSampling(20, replace=True), PooledSampling(8)):
            for metric in (AUC, AP, NDCG @ 5):
                for what in (drawn.expect, drawn.variance):
                    expected = what(metric, ranks).mean()
                    assert counted.mean(partial(what, metric)) == pytest.approx(expected)
                std = drawn.std_of_mean(metric, ranks)
                assert drawn.std_of_mean(metric, counted) == pytest.approx(std, rel=1e-12)
        design = rs.InverseSampling()
        expected = design.expect(AP, ranks).mean()
        assert counted.mean(partial(design.expect, AP)) == pytest.approx(expected)
        std = design.std_of_mean(AP, ranks)
        assert design.std_of_mean(AP, counted) == pytest.approx(std, rel=1e-12)

    def test_corrections(self):
        sampler = UniformSampling(20)
        sampled = sampler.draw(KINDS["plain"], rng=0)
        counted = RankCounts.of(sampled)
        for made in (
            rs.RankEstimate(AP, sampler, 300),
            rs.MinimalBias(AP, sampler, 300),
            rs.ConstrainedLeastSquares(AP, sampler, 300),
            rs.BiasVariance(AP, sampler, 300, gamma=0.1),
        ):
            assert counted.mean(made) == pytest.approx(made(sampled).mean(), rel=1e-12)
            # An exact expectation, of draws from exact ranks that are counted too.
            exact = RankCounts.of(KINDS["plain"]).mean(partial(sampler.expect, made))
            assert exact == pytest.approx(sampler.expect(made, KINDS["plain"]).mean(), rel=1e-12)


def surprise(drawn, expected, covariance):
    """The chance of means so far from the expected ones, over repetitions, by their covariance."""
    off = drawn.mean(axis=0) - expected
    inverse = np.linalg.pinv(covariance / len(drawn), rcond=1e-10, hermitian=True)
    rank = np.linalg.matrix_rank(covariance, rtol=1e-10, hermitian=True)
    return chi2.sf(off @ inverse @ off, rank)


def in_places(counted, n):
    """How many instances have each of the ranks 1, ..., n."""
    found = np.zeros(n, int)
    np.add.at(found, counted.ranks.rows.rank - 1, counted.counts)
    return found


class TestDraws:
    @pytest.mark.parametrize("replace", [True, False])
    @pytest.mark.parametrize("number", [1, 50], ids=["one by one", "at once"])
    def test_moments_are_those_of_a_sum_over_the_instances(self, replace, number):
        """Each instance has its own draw: the law's rows add up, and so do their covariances."""
        sampler = UniformSampling(4, replace)
        exact = RankCounts([1, 5, 7], np.array([2, 1, 3]) * number, [12, 10, 12], ties=[0, 3, 2])
        law = sampler.pmf(written_out(exact))
        covariance = sum(np.diag(p) - np.outer(p, p) for p in law)
        rng = RNG(1)
        drawn = np.array([in_places(sampler.draw(exact, rng), 5) for _ in range(250)])
        assert (drawn.sum(axis=1) == len(exact)).all()
        assert surprise(drawn, law.sum(axis=0), covariance) > 1e-3
        # The spread too: the sum of squares in units of what is expected.
        spread = ((drawn - law.sum(axis=0)) ** 2).sum(axis=1)
        error = spread.std(ddof=1) / np.sqrt(len(spread))
        assert abs(spread.mean() - np.trace(covariance)) < 4 * error

    @pytest.mark.parametrize("number", [1, 1000])
    def test_the_whole_pool_is_the_exact_ranking(self, number):
        exact = RankCounts([1, 5, 7], np.array([2, 1, 3]) * number, n_items=10)
        assert UniformSampling(9).draw(exact, rng=0) == exact

    def test_many_instances_take_no_longer(self):
        exact = RankCounts([1, 400], [10**12, 3 * 10**12], n_items=1000)
        sampled = UniformSampling(99).draw(exact, rng=0)
        assert len(sampled) == len(exact) and sampled.ranks.n_items == 100
        spread = sampled.mean(lambda ranks: AUC(ranks) ** 2) - sampled.mean(AUC) ** 2
        error = np.sqrt(spread / len(sampled))
        assert abs(sampled.mean(AUC) - exact.mean(AUC)) < 4 * error < 1e-5

    def test_pooled_draws(self):
        """Two draws with replacement from three items, all nine pairs of them written out."""
        pool, above, ties = 3, 1, 1
        chance = Counter()
        for pair in product(range(pool), repeat=2):
            for ahead in range(ties + 1):  # in a random order of the tied ones, so many are ahead
                different = set(pair)
                rank = 1 + sum(item < above + ahead for item in different)
                chance[len(different) + 1, rank] += 1 / 9 / (ties + 1)
        keys, p = [*chance], np.array([*chance.values()])
        exact, rng = RankCounts([above + 1], [6], pool + 1, ties=ties), RNG(5)
        drawn = []
        for _ in range(150):
            found = PooledSampling(2).draw(exact, rng)
            seen = zip(found.ranks.sizes.tolist(), found.ranks.rows.rank.tolist())
            seen = dict(zip(seen, found.counts.tolist()))
            assert seen.keys() <= chance.keys()
            drawn.append([seen.get(key, 0) for key in keys])
        assert surprise(np.array(drawn), 6 * p, 6 * (np.diag(p) - np.outer(p, p))) > 1e-3


SAMPLER = UniformSampling(30)
RUNS = {
    "plain": SAMPLER.draw(KINDS["plain"], rng=0),
    "other": SAMPLER.draw(many(seed=1, power=1.6), rng=1),
}
COUNTS = {name: RankCounts.of(run) for name, run in RUNS.items()}


def close(found, expected, rtol=1e-9):
    """Whether two tables say the same, words and numbers."""
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=rtol, atol=1e-12)


class TestReports:
    @pytest.mark.parametrize("kind", FEW_KINDS)
    def test_one_recommender(self, kind):
        exact = KINDS[kind]
        sampled = SAMPLER.draw(exact, rng=0)
        if kind != "plain":  # ties among the sampled ranks count in equal parts
            tie = (np.arange(len(sampled)) % 2) * (sampled.values < 31)
            sampled = Ranks(sampled.values, 31, ties=tie)
        sampled = sampled.drawn_as("uniform", False)  # from pools that are said below
        expected = rs.report(sampled, n_items=300, metrics=METRICS)
        found = rs.report(RankCounts.of(sampled), n_items=300, metrics=METRICS)
        close(found.table, expected.table, 1e-6)
        close(found.ladder, expected.ladder, 1e-6)
        assert found.head == expected.head and found.sentences == expected.sentences
        assert {*found.notes} <= {*expected.notes}  # counts have no single users with ties
        with pytest.raises(ValueError, match="sampled must be Ranks .* got RankCounts"):
            found.plan(AUC, 0.05)
        with pytest.raises(ValueError, match="does not know the values of single users"):
            found.per_instance  # noqa: B018

    def test_several_recommenders(self):
        expected = rs.report(RUNS, n_items=300, metrics=[AUC, Recall @ 10])
        found = rs.report(COUNTS, n_items=300, metrics=[AUC, Recall @ 10])
        close(found.table, expected.table, 1e-6)
        close(found.ladder, expected.ladder, 1e-6)
        first, *others = expected.sentences  # those of counts have no pairs
        assert found.sentences == (first, *(one.partition(" Beside ")[0] for one in others))
        assert not len(found.pairs)
        assert "do not say which ranks belong to the same instance" in found.notes[0]
        assert "1 note in .notes" in str(found)

    def test_recommenders_of_other_numbers_of_instances_are_refused(self):
        runs = {"A": COUNTS["plain"], "B": RankCounts([1, 2], [3, 4], 31)}
        with pytest.raises(ValueError, match="of the same instances"):
            rs.report(runs, n_items=300)

    def test_limits(self):
        for metric in METRICS:
            expected = rs.inference.limits(metric, RUNS["plain"], 300)
            found = rs.inference.limits(metric, COUNTS["plain"], 300)
            assert found == pytest.approx(expected, rel=1e-6)

    def test_compare(self):
        close(rs.compare(COUNTS, METRICS), rs.compare(RUNS, METRICS), 1e-12)
        with pytest.raises(ValueError, match="the same number of instances"):
            rs.compare(COUNTS | {"C": COUNTED}, [AP])
        with pytest.raises(ValueError, match="all or about as many drawn ones"):
            rs.compare({"A": COUNTS["plain"], "B": RankCounts([1], [4000], 300)}, [AP])


class TestInference:
    @pytest.mark.parametrize("method", ["em", "mes"])
    def test_rank_distribution(self, method):
        expected, found = (
            rs.inference.rank_distribution(one["plain"], SAMPLER, 300, method)
            for one in (RUNS, COUNTS)
        )
        assert np.array_equal(found, expected)

    @pytest.mark.parametrize("ties", [False, True])
    def test_order_probability(self, ties):
        a, b = many(ties=ties), many(ties=ties, seed=1, power=1.9)
        both = RankCounts.of(a), RankCounts.of(b)
        for metric in METRICS:
            expected = rs.inference.order_probability(metric, a, b, SAMPLER)
            for pair in (both, (a, both[1])):
                found = rs.inference.order_probability(metric, *pair, SAMPLER)
                assert found == pytest.approx(expected, rel=1e-9)
