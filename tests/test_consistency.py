"""Consistency, decided by the package, against counting with exact laws and a published example."""

from fractions import Fraction

import numpy as np
import pytest
import reference

import recsample as rs
from recsample import AP, AUC, NDCG, PercentileRank, Ranks, Recall, UniformSampling
from recsample.consistency import (
    CATALOGUE,
    _simplest_between,
    counterexample,
    properties,
    under_sampling,
)

both_ways = pytest.mark.parametrize("replace", [False, True])
every_metric = pytest.mark.parametrize("M", CATALOGUE, ids=str)


def exact_mean(M, ranks):
    return sum(M.of_rank(int(r), ranks.n_items) for r in ranks.values) / len(ranks)


def expected_mean(M, ranks, m, replace):
    """By eq. (16) with exact laws and, for each sampled rank, the metric of one rank."""
    values = [M.of_rank(s, m + 1) for s in range(1, m + 2)]
    laws = [reference.exact_law(int(r), ranks.n_items, m, replace) for r in ranks.values]
    return sum(sum(float(p) * v for p, v in zip(law, values)) for law in laws) / len(ranks)


class TestCounterexample:
    @both_ways
    @every_metric
    @pytest.mark.parametrize("n_items, m", [(40, 12), (200, 30)])
    def test_it_changes_places_under_sampling(self, M, n_items, m, replace):
        pair = counterexample(M, UniformSampling(m, replace), n_items)
        if M in (AUC, PercentileRank):
            assert pair is None
            return
        exact = [exact_mean(M, pair[name]) for name in ("steady", "mixed")]
        expected = [expected_mean(M, pair[name], m, replace) for name in ("steady", "mixed")]
        assert np.sign(exact[0] - exact[1]) == -np.sign(expected[0] - expected[1]) != 0

    @every_metric
    def test_the_whole_catalogue_as_sample_is_no_sample(self, M):
        assert counterexample(M, UniformSampling(29), n_items=30) is None

    def test_a_sampled_metric_that_is_always_1_tells_nothing(self):
        sampler = UniformSampling(m=5)
        pair = counterexample(Recall @ 10, sampler, n_items=100)
        values = {name: r.values.tolist() for name, r in pair.items()}
        assert values == {"steady": [1], "mixed": [100]}
        assert {sampler.expect(Recall @ 10, r)[0] for r in pair.values()} == {1.0}

    def test_the_paper_s_a_b_and_c(self):
        # Section 4.2: sampled metrics but AUC put A, B and C in another order than the exact ones.
        ranks = rs.experiments.toy_ranks()
        for M in (AP, NDCG, Recall @ 10):
            assert counterexample(M, UniformSampling(99), 10_000) is not None
            exact = {name: M(r).mean() for name, r in ranks.items()}
            sampled = {n: UniformSampling(99).expect(M, r).mean() for n, r in ranks.items()}
            assert sorted(exact, key=exact.get) != sorted(sampled, key=sampled.get)

    @pytest.mark.parametrize(
        "low, high, between",
        [
            ("0.3", "0.6", "1/2"),
            ("0", "1", "1/2"),
            ("0", "0.4", "1/3"),
            ("1/2", "1", "2/3"),
            ("0.98", "1", "50/51"),
            ("3.1", "3.2", "19/6"),
            ("1.5", "4", "2"),
        ],
    )
    def test_simplest_fraction_by_trying_every_denominator(self, low, high, between):
        low, high = Fraction(low), Fraction(high)
        tried = next(
            Fraction(a, b)
            for b in range(1, 200)
            for a in range(5 * b)
            if low < Fraction(a, b) < high
        )
        assert _simplest_between(low, high).denominator == tried.denominator
        assert low < _simplest_between(low, high) < high
        if between != "50/51":
            assert _simplest_between(low, high) == Fraction(between)

    def test_refusals(self):
        sampler = UniformSampling(m=5)
        with pytest.raises(ValueError, match="metric must be a Metric such as"):
            counterexample("AP", sampler, 100)
        with pytest.raises(ValueError, match="differ between ranks 1 and n_items = 8, got Recall@"):
            counterexample(Recall @ 10, sampler, 8)
        with pytest.raises(ValueError, match="at least 5 irrelevant items"):
            counterexample(AP, sampler, 4)
        with pytest.raises(ValueError, match="n_items must be a whole number of at least 1"):
            counterexample(AP, sampler, 0)


class TestTables:
    def test_names_parse_and_print_the_same(self):
        for M in CATALOGUE:
            assert rs.metric(str(M)) == M and str(rs.metric(str(M))) == str(M)
        assert len(set(map(str, CATALOGUE))) == len(CATALOGUE)

    def test_extreme_recommenders(self):
        table = properties(UniformSampling(6), n_items=15)
        assert table.index.tolist() == [str(M) for M in CATALOGUE]
        for name, row in table.iterrows():
            base, _, k = name.partition("@")  # the reference's own names have other cut-offs
            if k or base in ("RankScore(5)",):
                continue
            values = [reference.of_rank(name, r, 15) for r in range(1, 16)]
            assert row["perfect"] == pytest.approx(values[0])
            assert row["random"] == pytest.approx(sum(values) / 15)
            assert row["worst"] == pytest.approx(values[-1])
        assert table.index[table["consistent"]].tolist() == ["AUC", "PercentileRank"]

    @both_ways
    def test_closed_forms_are_those_that_expect_uses(self, monkeypatch, replace):
        sampler, ranks = UniformSampling(6, replace), Ranks(range(1, 16), 15)
        table = properties(sampler, n_items=15)["closed form"]
        monkeypatch.setattr(UniformSampling, "_moments", lambda *_: (np.full(15, np.inf),) * 2)
        summed = [M for M in CATALOGUE if np.isinf(sampler.expect(M, ranks)).any()]
        without = {str(M) for M in CATALOGUE if table[str(M)] == ""}
        generating = {str(M) for M in CATALOGUE if table[str(M)] == "E[z^s]"}
        assert {str(M) for M in summed} == (without if replace else without | generating)

    @both_ways
    def test_exact_sampled_and_corrected(self, replace):
        sampler = UniformSampling(8, replace)
        ranks = {"a": Ranks([1, 4, 20], 30), "b": Ranks([2, 9, 30], 30, ties=[0, 3, 0])}
        table = under_sampling(ranks, sampler, gamma=0.01)
        for M in CATALOGUE:
            corrected = rs.BiasVariance(M, sampler, 30, gamma=0.01)
            for name, r in ranks.items():
                row = table.loc[str(M), name]
                assert row["exact"] == pytest.approx(M(r).mean(), abs=1e-14)
                assert row["sampled"] == pytest.approx(sampler.expect(M, r).mean(), abs=1e-13)
                assert row["corrected"] == pytest.approx(
                    sampler.expect(corrected, r).mean(), abs=1e-12
                )
