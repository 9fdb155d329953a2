"""Consistency, decided by the package, against counting with exact laws and a published example."""

from fractions import Fraction
from itertools import count

import numpy as np
import pytest
import reference

import recsample as rs
from recsample import AP, AUC, NDCG, PercentileRank, Ranks, Recall, UniformSampling
from recsample.sampling.consistency import CATALOGUE, counterexample, properties

both_ways = pytest.mark.parametrize("replace", [False, True])
every_metric = pytest.mark.parametrize("M", CATALOGUE, ids=str)


# What is not in `reference.METRICS`, which has other cut-offs.
AT_10 = {
    "HitRate@10": lambda rel: reference.hit_rate(rel, 10),
    "Recall@10": lambda rel: reference.recall(rel, 10),
    "Precision@10": lambda rel: reference.precision(rel, 10),
    "F1@10": lambda rel: reference.f_score(rel, 10),
    "AR@10": lambda rel: reference.average_recall(rel, 10),
    "RR@10": lambda rel: reference.reciprocal_rank(rel, 10),
    "AP@10": lambda rel: reference.average_precision(rel, 10),
    "AP(relevant)@10": lambda rel: sum(reference.precisions_at_hits(rel, 10)) / sum(rel),
    "AP(hits)@10": lambda rel: reference.ap_over_hits(rel, 10),
    "AP(k)@10": lambda rel: sum(reference.precisions_at_hits(rel, 10)) / 10,
    "DCG@10": lambda rel: reference.dcg(rel, 10),
    "NDCG@10": lambda rel: reference.ndcg(rel, 10),
    "RankScore(5)": lambda rel: reference.rank_score(rel, 5),
}


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

    @both_ways
    @pytest.mark.parametrize("name", ["AP", "NDCG@3", "RBP(0.8)", "DCG", "Recall@2"])
    @pytest.mark.parametrize("n_items, m", [(9, 2), (9, 4), (9, 7)])
    def test_no_two_such_recommenders_need_fewer_instances(self, name, n_items, m, replace):
        """In exact fractions, every rank and every share of rank 1, with more and more instances.

        Logarithms and decimal fractions are taken as the floats they are.
        """
        M = rs.metric(name)
        exact = [Fraction(M.of_rank(r, n_items)) for r in range(1, n_items + 1)]
        values = [Fraction(M.of_rank(s, m + 1)) for s in range(1, m + 2)]
        sampled = [
            sum(p * v for p, v in zip(reference.exact_law(r, n_items, m, replace), values))
            for r in range(1, n_items + 1)
        ]

        def lead(means, rank, first, size):
            mixed = first * means[0] + (size - first) * means[-1]
            return mixed - size * means[rank - 1]

        def reversed_by(size):
            return any(
                max(products := (lead(exact, rank, first, size), lead(sampled, rank, first, size)))
                > 1e-9
                and min(products) < -1e-9
                for rank in range(2, n_items)
                for first in range(size + 1)
            )

        pair = counterexample(M, UniformSampling(m, replace), n_items)
        assert len(pair["steady"]) == next(size for size in count(1) if reversed_by(size))

    def test_ndcg_at_10_takes_two_instances_though_not_on_the_rank_of_the_widest_gap(self):
        pair = counterexample(NDCG @ 10, UniformSampling(12), 40)
        assert pair["steady"].values.tolist() == [4, 4] and pair["mixed"].values.tolist() == [1, 40]

    def test_refusals(self):
        sampler = UniformSampling(m=5)
        with pytest.raises(ValueError, match="metric must be a Metric such as"):
            counterexample("ncdg", sampler, 100)
        with pytest.raises(ValueError, match="differ between ranks 1 and n_items = 8, got Recall@"):
            counterexample(Recall @ 10, sampler, 8)
        with pytest.raises(ValueError, match="at least 5 irrelevant items"):
            counterexample(AP, sampler, 4)
        with pytest.raises(ValueError, match="n_items must be a whole number of at least 1"):
            counterexample(AP, sampler, 0)
        for wrong in (10, UniformSampling, None):
            for call in (counterexample, properties):
                with pytest.raises(ValueError, match="sampler must be a sampler such as Uniform"):
                    call(*((AP, wrong, 100) if call is counterexample else (wrong, 100, [AP])))


class TestTables:
    def test_names_parse_and_print_the_same(self):
        for M in CATALOGUE:
            assert rs.metric(str(M)) == M and str(rs.metric(str(M))) == str(M)
        assert len(set(map(str, CATALOGUE))) == len(CATALOGUE)

    def test_extreme_recommenders(self):
        table = properties(UniformSampling(6), n_items=15)
        assert table.index.tolist() == [str(M) for M in CATALOGUE]
        of = {**reference.METRICS, **AT_10}
        for name, row in table.iterrows():
            values = [of[name](reference.relevance([r], 15)) for r in range(1, 16)]
            assert row["perfect"] == pytest.approx(values[0])
            assert row["random"] == pytest.approx(sum(values) / 15)
            assert row["worst"] == pytest.approx(values[-1])
        assert table.index[table["consistent"]].tolist() == ["AUC", "PercentileRank"]

    @both_ways
    def test_closed_forms_are_those_that_expect_uses(self, monkeypatch, replace):
        sampler, ranks = UniformSampling(6, replace), Ranks(range(1, 16), 15)
        table = properties(sampler, n_items=15)["closed form"]

        def infinite(metric, targets, *_):
            return (np.full(len(targets.order), np.inf),) * 2

        monkeypatch.setattr("recsample.sampling.laws.moments_over_law", infinite)
        summed = [M for M in CATALOGUE if np.isinf(sampler.expect(M, ranks)).any()]
        without = {str(M) for M in CATALOGUE if table[str(M)] == ""}
        generating = {str(M) for M in CATALOGUE if table[str(M)] == "E[z^s]"}
        assert {str(M) for M in summed} == (without if replace else without | generating)

    def test_names_of_metrics_do(self):
        sampler = UniformSampling(4)
        assert properties(sampler, 9, ["ndcg@3"]).equals(properties(sampler, 9, [NDCG @ 3]))

    @pytest.mark.parametrize(
        "metrics, message",
        [
            (AP, "metrics must be a list of metrics, got AP"),
            ("AP", "metrics must be a list of metrics, got 'AP'"),
            (3, "metrics must be a list of metrics, got 3"),
            ([], "metrics must hold at least one metric, got none"),
            (["ncdg"], "metrics must hold metrics .*, or their names, got 'ncdg'"),
        ],
    )
    def test_tables_refuse_what_is_no_list_of_metrics(self, metrics, message):
        with pytest.raises(ValueError, match=message):
            properties(UniformSampling(5), 100, metrics)
