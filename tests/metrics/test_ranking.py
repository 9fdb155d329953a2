"""The metrics against the paper's definitions, spelt out in `reference.py`, and their algebra."""

import warnings
from fractions import Fraction
from math import comb, fsum, log2

import numpy as np
import pytest
import reference
from all_metrics import ALL
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from tied import many_ranks, orders, ranks_of, tied_scores

import recsample as rs
from recsample import (
    AP,
    AUC,
    NDCG,
    RBP,
    RR,
    Accuracy,
    HitRate,
    PercentileRank,
    Precision,
    Ranks,
    RankScore,
    Recall,
    compare,
    metric,
    predicted_ranks,
)
from recsample.metrics.ranking import AveragePrecision, FScore, expected_percentile_rank

every_metric = pytest.mark.parametrize("name", reference.METRICS)
several_blocks = pytest.mark.parametrize("block", [1, 3, 2**22])


@st.composite
def rank_sets(draw, max_items=30):
    """The ranks of some relevant items, and the size of a pool that holds an irrelevant one too."""
    n_items = draw(st.integers(2, max_items))
    ranks = draw(st.sets(st.integers(1, n_items), min_size=1, max_size=n_items - 1))
    return sorted(ranks), n_items


class TestDefinitions:
    @settings(max_examples=40, deadline=None)
    @given(rank_sets())
    def test_several_relevant_items(self, case):
        ranks, n_items = case
        relevance, given_ranks = reference.relevance(ranks, n_items), Ranks([ranks], n_items)
        for name, by_definition in reference.METRICS.items():
            found = metric(name)(given_ranks)[0]
            assert found == pytest.approx(by_definition(relevance), abs=1e-13), name

    @every_metric
    def test_one_relevant_item(self, name):
        for n_items in (2, 3, 12):
            r = np.arange(1, n_items + 1)
            expected = [reference.of_rank(name, rank, n_items) for rank in r]
            assert metric(name).of_rank(r, n_items) == pytest.approx(expected, abs=1e-14)
            assert metric(name)(Ranks(r, n_items)) == pytest.approx(expected, abs=1e-14)

    def test_equations_7_to_13(self):
        r, n, k = np.arange(1, 101), 100, 10
        within = (r <= k).astype(float)
        for M, value in [
            (AUC, (n - r) / (n - 1)),
            (Precision @ k, within / k),
            (Recall @ k, within),
            (AP @ k, within / r),
            (NDCG @ k, within / np.log2(r + 1)),
            (AP, 1 / r),
            (NDCG, 1 / np.log2(r + 1)),
        ]:
            assert M.of_rank(r, n) == pytest.approx(value, abs=1e-14)

    @pytest.mark.parametrize("beta", [1e-200, 1e-9, 1e9, 1e154, 1e160, 1e300])
    def test_an_extreme_beta_leaves_precision_or_recall(self, beta):
        ranks = Ranks([[1, 4, 9]], n_items=20)
        alone = Precision if beta < 1 else Recall
        assert (FScore(beta) @ 5)(ranks) == pytest.approx((alone @ 5)(ranks), rel=1e-15)

    # What the field's texts work out by hand, over all instances.
    @pytest.mark.parametrize(
        "name, ranks, expected",
        [
            ("Hits@3", Ranks([2, 1], n_items=5), Fraction(2, 2)),
            ("Hits@1", Ranks([2, 1], n_items=5), Fraction(1, 2)),
            ("MRR", Ranks([[2, 5]], n_items=20), Fraction(1, 2)),
            ("P@5", Ranks([[2, 5]], n_items=20), Fraction(2, 5)),
            ("Recall@10", Ranks([[1, 3, 5, 7, 9, *range(81, 96)]], n_items=100), Fraction(5, 20)),
            (
                "AP@10",
                Ranks([[1, 3, 5, 7, 9, *range(81, 96)]], n_items=100),
                (1 + Fraction(2, 3) + Fraction(3, 5) + Fraction(4, 7) + Fraction(5, 9)) / 10,
            ),
        ],
    )
    def test_worked_examples(self, name, ranks, expected):
        assert metric(name)(ranks).mean() == pytest.approx(float(expected), rel=1e-15)

    def test_table_1(self):
        ranks = {
            "A": Ranks([100] * 5, n_items=10_000),
            "B": Ranks([40, 40, 8437, 9266, 4482], n_items=10_000),
            "C": Ranks([212, 2, 743, 5342, 1548], n_items=10_000),
        }
        table = compare(ranks, [AUC, AP, NDCG, Recall @ 10])
        printed = [[0.990, 0.010, 0.150, 0], [0.555, 0.010, 0.122, 0], [0.843, 0.101, 0.208, 0.2]]
        assert table.to_numpy() == pytest.approx(np.array(printed), abs=5e-4)

    def test_a_pool_per_instance(self):
        assert AUC(Ranks([2, 2], n_items=[3, 5])).tolist() == [0.5, 0.75]
        assert AUC.of_rank([2, 2], n_items=[3, 5]).tolist() == [0.5, 0.75]

    def test_large_pools(self):
        n = 10**9
        assert AUC(Ranks([n // 2], n))[0] == pytest.approx((n - n // 2) / (n - 1), rel=1e-15, abs=0)
        assert NDCG(Ranks([n], n))[0] == pytest.approx(1 / log2(n + 1), rel=1e-15, abs=0)

    def test_of_rank_returns_a_float_for_a_number_and_the_shape_of_an_array(self):
        assert type(AP.of_rank(4, 9)) is float
        assert AP.of_rank([[1, 2], [4, 5]], 9).tolist() == [[1, 0.5], [0.25, 0.2]]
        assert AP.of_rank([], 9).shape == (0,)


class TestProperties:
    @settings(max_examples=40, deadline=None)
    @given(rank_sets(), st.data())
    def test_a_better_rank_is_never_worth_less(self, case, data):
        ranks, n_items = case
        free = [r for r in range(1, n_items + 1) if r not in ranks]
        old, new = data.draw(st.sampled_from(ranks)), data.draw(st.sampled_from(free))
        assume(new < old)
        both = Ranks([ranks, [r for r in ranks if r != old] + [new]], n_items)
        for M in ALL:
            if M == AveragePrecision("hits") @ 4:
                continue
            before, after = M(both)
            assert (after >= before - 1e-15) if M.higher_is_better else (after <= before + 1e-15)

    def test_divided_by_the_hits_a_better_ranking_can_be_worth_less(self):
        over_hits = AveragePrecision("hits") @ 5
        assert over_hits(Ranks([[1, 20], [1, 5]], n_items=20)) == pytest.approx([1.0, 0.7])

    @settings(max_examples=30, deadline=None)
    @given(st.lists(rank_sets(), min_size=1, max_size=6), st.randoms())
    def test_the_order_of_instances_and_of_their_items_does_not_matter(self, cases, random):
        order = list(range(len(cases)))
        random.shuffle(order)
        sizes = [n for _, n in cases]
        usual = Ranks([r for r, _ in cases], sizes)
        moved = Ranks([cases[i][0][::-1] for i in order], [sizes[i] for i in order])
        for M in ALL:
            assert M(moved).tolist() == M(usual)[order].tolist()


class TestTies:
    @every_metric
    @pytest.mark.parametrize(
        "scores, relevant",
        [
            ([1, 1, 1, 1, 1], {2}),
            ([3, 1, 1, 1, 0], {1}),
            ([1, 1, 1, 1, 1, 1], {0, 1, 2, 3, 4}),
            ([2, 1, 1, 1, 1, 0, 0], {1, 2, 3}),
            ([5, 5, 5, 2, 2, 2, 2], {0, 1, 4, 6}),
        ],
    )
    def test_the_mean_over_every_order_of_the_tied_items(self, name, scores, relevant):
        row = np.zeros((1, len(scores)))
        row[0, list(relevant)] = 1
        ranks = predicted_ranks([scores], sparse.csr_matrix(row))
        expected = reference.over_orders(reference.METRICS[name], scores, relevant)
        assert metric(name)(ranks)[0] == pytest.approx(expected, abs=1e-13)

    @several_blocks
    def test_the_block_size_does_not_matter(self, monkeypatch, block):
        values, ties = [[2, 3, 9], [1], [], [4, 8]], [[3, 3, 0], [11], [], [2, 1]]
        ranks = Ranks(values, n_items=12, ties=ties)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            usual = [M(ranks) for M in ALL]
            monkeypatch.setattr("recsample.ranks.ties.BLOCK", block)
            for M, expected in zip(ALL, usual):
                assert M(ranks) == pytest.approx(expected, nan_ok=True, abs=1e-15)

    def test_a_constant_scorer_over_101_items(self):
        ranks = Ranks([1], n_items=101, ties=[100])
        assert RR(ranks)[0] == pytest.approx(sum(1 / r for r in range(1, 102)) / 101)
        assert RR(ranks)[0] == pytest.approx(0.0515, abs=5e-5)
        assert AUC(ranks)[0] == pytest.approx(0.5)

    @pytest.mark.parametrize("group, ties", [(1, 10**5), (2, 10**4), (40, 3000)])
    def test_many_ties_keep_their_digits(self, group, ties):
        # The first of g relevant items has x of t irrelevant ones ahead with probability
        # proportional to C(t - x + g - 1, g - 1).
        weights = [comb(ties - x + group - 1, group - 1) for x in range(ties + 1)]
        expected = fsum(w / (1 + x) for x, w in enumerate(weights)) / sum(weights)
        ranks = Ranks([range(1, group + 1)], ties + group + 3, ties=ties)
        assert RR(ranks)[0] == pytest.approx(expected, rel=2e-13, abs=0)


class TestUndefined:
    def test_no_relevant_item(self):
        ranks = Ranks([[1], [], [2, 3], []], n_items=4)
        for M in ALL:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                values = M(ranks)
            assert np.isnan(values).tolist() == [False, True, False, True]
            (warning,) = caught
            assert f"{M} is undefined for 2 of 4 instances (no relevant item" in str(
                warning.message
            )
            assert warning.filename == __file__

    @pytest.mark.parametrize("M", [AUC, PercentileRank])
    def test_no_irrelevant_item(self, M):
        with pytest.warns(UserWarning, match="for 1 of 2 instances .* or no irrelevant one") as log:
            values = M(Ranks([[1, 2], [1]], n_items=[2, 2]))
        assert np.isnan(values).tolist() == [True, False] and len(log) == 1
        with pytest.warns(UserWarning, match="is undefined for 1 of 1 instances") as log:
            assert np.isnan(M.of_rank(1, 1)) and len(log) == 1

    def test_no_irrelevant_item_leaves_the_others_defined(self):
        assert [M(Ranks([[1, 2]], 2))[0] for M in (AP, NDCG, RR, Recall @ 2)] == [1, 1, 1, 1]


class TestRefusals:
    @pytest.mark.parametrize("M", [Precision, Recall, HitRate])
    def test_some_need_a_cut_off(self, M):
        for call in (lambda: M(Ranks([1], 5)), lambda: M.of_rank(1, 5)):
            with pytest.raises(ValueError, match=f"{M.name} needs a cut-off: write {M.name} @ 10"):
                call()

    @pytest.mark.parametrize("M", [AUC, Accuracy, PercentileRank])
    def test_some_take_none(self, M):
        with pytest.raises(ValueError, match=f"{M} takes no cut-off, got @ 5"):
            M @ 5

    @pytest.mark.parametrize("k", [0, -3, 2.5, True, None, "5", [5], np.nan])
    def test_cut_offs(self, k):
        for cut in (lambda: AP @ k, lambda: RankScore(5, cutoff=k) if k is not None else AP @ k):
            with pytest.raises(ValueError, match="cutoff must be a whole number of at least 1, go"):
                cut()

    @pytest.mark.parametrize("half_life", [0, -1, np.inf, np.nan, "a", None, 10**400])
    def test_half_lives(self, half_life):
        with pytest.raises(ValueError, match="half_life must be a finite number above 0, got"):
            RankScore(half_life)

    @pytest.mark.parametrize("persistence", [0, -1, 1, 1.5, np.nan, "a", None])
    def test_persistence(self, persistence):
        with pytest.raises(ValueError, match="persistence must be between 0 and 1"):
            RBP(persistence)

    def test_unknown_divisor_of_ap(self):
        with pytest.raises(ValueError, match="over must be 'best', .* or 'k', got 'trec'"):
            AveragePrecision("trec")
        with pytest.raises(ValueError, match="AP needs a cut-off"):
            AveragePrecision("k")(Ranks([1], 5))

    @pytest.mark.parametrize(
        "r, n_items, message",
        [
            (0, 5, "r must be a whole number of at least 1, got 0"),
            ([1, 2.5], 5, r"r must be whole numbers of at least 1, got 2.5 \(at position 1\)"),
            ([1, 7, 9], 5, "r must not exceed n_items = 5, got 7"),
            ([3, 3], [5, 2], "r must not exceed n_items = 2, got 3"),
            (1, 0, "n_items must be a whole number of at least 1, got 0"),
            ([1, 2], [5, 5, 5], r"n_items must .* the shape of r, \(2,\), got \(3,\)"),
        ],
    )
    def test_of_rank(self, r, n_items, message):
        with pytest.raises(ValueError, match=message):
            AP.of_rank(r, n_items)

    def test_metrics_do_not_change(self):
        with pytest.raises(AttributeError):
            (NDCG @ 10).cutoff = 5


class TestExpectedPercentileRank:
    def test_equation_8_of_hu_koren_and_volinsky(self):
        values, weights = [[1, 4, 9], [20], [2, 3]], [[3, 0.5, 1], [2], [0, 4]]
        n_items = [10, 20, 5]
        total = sum(
            w * (r - 1) / (n - 1)
            for rs_, ws, n in zip(values, weights, n_items)
            for r, w in zip(rs_, ws)
        )
        found = expected_percentile_rank(Ranks(values, n_items), weights)
        assert found == pytest.approx(total / 10.5)

    def test_weights_stay_with_their_items(self):
        found = expected_percentile_rank(Ranks([[9, 1]], 9), [[3, 1]])
        assert found == pytest.approx(0.75)

    def test_tied_items_have_the_middle_of_their_places(self):
        scores, relevant = [3, 1, 1, 1, 1, 0], [1, 3, 5]
        row = np.zeros((1, 6))
        row[0, relevant] = 1
        ranks = predicted_ranks([scores], sparse.csr_matrix(row))
        # Places 2 to 5 are shared: their middle is 3.5, of percentile 2.5 / 5.
        assert expected_percentile_rank(ranks, [[1, 1, 1]]) == pytest.approx((0.5 + 0.5 + 1) / 3)
        assert expected_percentile_rank(ranks, [[7, 0, 1]]) == pytest.approx((7 * 0.5 + 1) / 8)

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.integers(1, 50), min_size=1, max_size=8))
    def test_one_relevant_item_each(self, ranks):
        ranks = Ranks(ranks, 50)
        assert expected_percentile_rank(ranks) == pytest.approx(PercentileRank(ranks).mean())

    @pytest.mark.parametrize(
        "consumption, message",
        [
            ([1], "one number per relevant item, in the shape of ranks.values, got"),
            ([[1], [2]], "one number per relevant item, in the shape of ranks.values, got"),
            ([1, -2], r"finite numbers of at least 0, got -2.0 \(at position 1\)"),
            ([0, 0], "consumption must not be 0 throughout"),
            ([True, False], "consumption must be numbers, got an array of type bool"),
        ],
    )
    def test_refusals(self, consumption, message):
        with pytest.raises(ValueError, match=message):
            expected_percentile_rank(Ranks([1, 2], 5), consumption)

    def test_other_refusals(self):
        with pytest.raises(ValueError, match="ranks must be Ranks, got list"):
            expected_percentile_rank([1, 2])
        with pytest.raises(ValueError, match="n_items must be at least 2 for a percentile rank"):
            expected_percentile_rank(Ranks([1], 1))
        for consumption in (None, [[], []]):
            with pytest.raises(ValueError, match="hold at least one relevant item, got none"):
                expected_percentile_rank(Ranks([[], []], 5), consumption)


class TestMeanRank:
    def test_auc_agrees_and_others_do_not(self):
        ranks = many_ranks(np.random.default_rng(6), tied=40)
        at_mean_rank = rs.metrics.at_mean_rank
        assert at_mean_rank(AUC, ranks) == pytest.approx(AUC(ranks), abs=1e-14)
        assert abs(at_mean_rank(AP, ranks) - AP(ranks)).max() > 1e-4

    def test_mean_places(self):
        for seed in range(30):
            scores, relevant = tied_scores(np.random.default_rng(seed))
            places = 1 + np.mean(orders(scores, relevant), axis=0)
            exact = sum(1 / np.log2(1 + places))
            found = rs.metrics.at_mean_rank(rs.DCG, ranks_of(scores, relevant))
            assert found[0] == pytest.approx(exact, abs=1e-12)

    def test_it_is_undefined_without_a_relevant_item(self):
        with pytest.warns(UserWarning, match="AP is undefined for 1 of 2 instances"):
            found = rs.metrics.at_mean_rank(AP, Ranks([[], [2]], 5))
        assert found.tolist() == pytest.approx([np.nan, 0.5], nan_ok=True)

    def test_refusals(self):
        with pytest.raises(ValueError, match="a sum over the relevant items, got AP"):
            rs.metrics.at_mean_rank(rs.metric("AP(hits)@3"), Ranks([1], 5))
        with pytest.raises(ValueError, match="ranks must be Ranks, got list"):
            rs.metrics.at_mean_rank(AP, [1])
