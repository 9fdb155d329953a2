"""Graded gains, against sums written out place by place and against the metrics of ranks."""

import warnings
from math import fsum, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recsample as rs
from recsample.metrics.graded import cg, dcg, ndcg

GAINS = ["linear", "exponential"]
every_gain = pytest.mark.parametrize("gain", GAINS)

some_grades = st.lists(st.integers(0, 5), min_size=1, max_size=8)
halves = st.lists(st.integers(0, 8).map(lambda i: i / 2), min_size=1, max_size=8)
cutoffs = st.none() | st.integers(1, 12)


def slow_dcg(grades, k, gain, lowest=0):
    """The definition, place by place, with the filled up places spelt out."""
    grades = list(grades)
    if k is not None:
        grades = (grades + [lowest] * k)[:k]
    gains = [grade if gain == "linear" else 2**grade - 1 for grade in grades]
    return fsum(gain / log2(place + 1) for place, gain in enumerate(gains, start=1))


def slow_ndcg(grades, k, gain, judged=None, lowest=0):
    judged = sorted(grades if judged is None else judged, reverse=True)
    k = max(len(grades), len(judged)) if k is None else k
    return slow_dcg(grades, k, gain, lowest) / slow_dcg(judged, k, gain, lowest)


class TestByHand:
    grades = [2, 3, 3, 1, 2]

    def test_cumulative_gain(self):
        assert cg(self.grades) == 11
        assert [cg(self.grades, k) for k in (1, 2, 5, 9)] == [2, 5, 11, 11]

    def test_the_ideal_list_is_cut_off_too(self):
        # 2 + 3/log2(3) over 3 + 3/log2(3): the ideal takes the best two of the whole list.
        expected = (2 + 3 / log2(3)) / (3 + 3 / log2(3))
        assert ndcg(self.grades, 2) == pytest.approx(expected, rel=1e-15)
        expected = (2 + 3 / log2(3)) / (5 + 4 / log2(3))
        assert ndcg(self.grades, 2, judged=[*self.grades, 4, 5]) == pytest.approx(expected)

    def test_a_list_that_is_too_short_is_filled_up_with_the_lowest_grade(self):
        # On a scale from 1 to 5: [5, 3] at 4 places is [5, 3, 1, 1].
        assert cg([5, 3], 4, lowest=1) == 10
        expected = 5 + 3 / log2(3) + 1 / 2 + 1 / log2(5)
        assert dcg([5, 3], 4, lowest=1) == pytest.approx(expected, rel=1e-15)
        ideal = 5 + 4 / log2(3) + 3 / 2 + 1 / log2(5)
        assert ndcg([5, 3], 4, judged=[3, 4, 5], lowest=1) == pytest.approx(expected / ideal)
        assert ndcg([5, 3], judged=[3, 4, 5, 1], lowest=1) == pytest.approx(expected / ideal)
        # With the lowest grade 0 it does not matter.
        assert dcg([5, 3], 4) == dcg([5, 3]) == dcg([5, 3, 0, 0])
        # A scale from 1 has no undefined ideal: nothing could have been better.
        assert ndcg([1, 1], 3, lowest=1) == 1


class TestDefinitions:
    @settings(max_examples=80, deadline=None)
    @given(halves, cutoffs, st.lists(st.integers(0, 8).map(lambda i: i / 2), max_size=5))
    def test_against_the_slow_reference(self, grades, k, others):
        assert cg(grades, k) == sum(grades[: len(grades) if k is None else k])
        for gain in GAINS:
            assert dcg(grades, k, gain=gain) == pytest.approx(slow_dcg(grades, k, gain), rel=1e-14)
            for judged in (None, others + grades):
                if any(grades if judged is None else judged):
                    expected = slow_ndcg(grades, k, gain, judged)
                    value = ndcg(grades, k, gain=gain, judged=judged)
                    assert value == pytest.approx(expected, rel=1e-14, abs=0)

    @settings(max_examples=40, deadline=None)
    @given(st.lists(some_grades, min_size=1, max_size=5), cutoffs, st.sampled_from([0, 1]))
    def test_many_lists_are_each_list_on_its_own(self, lists, k, lowest):
        lists = [[max(grade, lowest) for grade in grades] for grades in lists]
        judged = [grades + [5] for grades in lists]
        assert cg(lists, k, lowest=lowest).tolist() == [cg(g, k, lowest=lowest) for g in lists]
        for gain in GAINS:
            options = {"gain": gain, "lowest": lowest}
            assert dcg(lists, k, **options).tolist() == [dcg(g, k, **options) for g in lists]
            alone = [ndcg(g, k, judged=j, **options) for g, j in zip(lists, judged)]
            assert ndcg(lists, k, judged=judged, **options).tolist() == alone

    @pytest.mark.parametrize("kind", [list, tuple, np.array, lambda x: np.array(x, np.uint8)])
    def test_every_kind_of_list(self, kind):
        assert dcg(kind([3, 0, 2])) == 4
        assert type(cg(kind([3, 0, 2]))) is type(ndcg(kind([1, 2]))) is float
        assert dcg([kind([3, 0, 2]), kind([1])]).tolist() == [4, 1]
        assert ndcg(kind([3, 0, 2]), judged=kind([0, 2, 3])) == ndcg([3, 0, 2])

    def test_arrays_and_binary_grades(self):
        assert dcg(np.array([[3, 0, 2], [1, 0, 0]])).tolist() == [4, 1]
        assert dcg(np.isin([7, 8, 9], [7, 9])) == dcg([True, False, True]) == 1.5


class TestProperties:
    @settings(max_examples=40, deadline=None)
    @given(st.sets(st.integers(1, 12), min_size=1, max_size=6), st.integers(1, 15))
    def test_binary_grades_give_the_metric_of_ranks(self, relevant, k):
        ranks = rs.Ranks([sorted(relevant)], n_items=10**6)
        grades = [int(place in relevant) for place in range(1, 13)]
        everything = [1] * len(relevant)
        assert cg(grades, k) == pytest.approx(k * (rs.Precision @ k)(ranks)[0])
        for gain in GAINS:
            options = {"gain": gain, "judged": everything}
            assert ndcg(grades, k, **options) == pytest.approx((rs.NDCG @ k)(ranks)[0], rel=1e-14)
            assert ndcg(grades, **options) == pytest.approx(rs.NDCG(ranks)[0], rel=1e-14)
            best = dcg(everything, k, gain=gain)
            assert dcg(grades, k, gain=gain) == pytest.approx((rs.NDCG @ k)(ranks)[0] * best)
            # Cut off before the last relevant item, the list alone no longer knows of it.
            shown = grades[:k]
            assert ndcg(shown, k, **options) == ndcg(grades, k, **options)


class TestUndefined:
    @every_gain
    def test_no_item_has_a_gain(self, gain):
        lists = [[0, 0], [1], [0]]
        for k, name in ((None, "NDCG"), (5, "NDCG@5")):
            message = rf"^{name} is undefined for 2 of 3 instances \(no relevant item\): nan$"
            with pytest.warns(UserWarning, match=message) as log:
                values = ndcg(lists, k, gain=gain)
            assert np.isnan(values).tolist() == [True, False, True] and values[1] == 1
            assert len(log) == 1 and log[0].filename == __file__
        with pytest.warns(UserWarning, match="for 1 of 1 instances") as log:
            assert np.isnan(ndcg([0, 0], gain=gain, judged=[0, 0, 0]))
        assert len(log) == 1 and log[0].filename == __file__

    def test_no_gain_in_the_list_but_among_the_judged_is_0(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert ndcg([0, 0], judged=[0, 0, 1]) == cg([0]) == dcg([0, 0]) == 0


class TestRefusals:
    @pytest.mark.parametrize("score", [cg, dcg, ndcg])
    @pytest.mark.parametrize(
        "grades, message",
        [
            ([], "grades must hold at least one grade, got none$"),
            ([[]], "grades must hold at least one grade, got none in instance 0$"),
            ([[1], []], "grades must hold at least one grade, got none in instance 1$"),
            ([1, -2], r"grades must be finite numbers of at least 0, got -2.0 \(at position 1\)$"),
            ([[1, 2], [3, np.nan]], r"at least 0, got nan \(at position 1\) in instance 1$"),
            (np.array([[1, np.inf]]), r"at least 0, got inf \(at position 1\) in instance 0$"),
            (["a"], "grades must be an array of numbers, got 'a'$"),
            ([1, [2]], r"grades must be an array of numbers, got \[1, \[2\]\]$"),
            (
                [[[1]]],
                r"grades must be a list of grades or a list of such lists, got \[\[\[1\]\]\]",
            ),
            (np.ones((2, 2, 2)), "grades must be a list of grades or a list of such lists, got "),
            (5, "grades must be a list of grades, got 5$"),
            (np.array(5), r"grades must be a list of grades or .* got array\(5\)$"),
            (None, "grades must be a list of grades, got None$"),
            ({3, 1}, r"grades must be a list of grades, got \{1, 3\}$"),
        ],
    )
    def test_grades(self, score, grades, message):
        with pytest.raises(ValueError, match=message):
            score(grades)

    @pytest.mark.parametrize("score", [cg, dcg, ndcg])
    @pytest.mark.parametrize("k", [0, -3, 2.5, True, "5", [5], np.nan])
    def test_cut_offs(self, score, k):
        with pytest.raises(ValueError, match="k must be a whole number of at least 1, got "):
            score([1], k)

    @pytest.mark.parametrize("score", [cg, dcg, ndcg])
    def test_lowest_grades(self, score):
        for wrong in (-1, np.nan, np.inf, "a", [1]):
            with pytest.raises(
                ValueError, match="lowest must be a finite number of at least 0, got"
            ):
                score([1], lowest=wrong)
        with pytest.raises(ValueError, match=r"at least 1, got 0.0 \(at position 1\)$"):
            score([1, 0], lowest=1)
        with pytest.raises(ValueError, match=r"at least 0.5, got 0.25 \(at position 0\)$"):
            score([0.25, 0], lowest=0.5)

    @pytest.mark.parametrize("score", [dcg, ndcg])
    @pytest.mark.parametrize("gain", ["burges", None, ["linear"]])
    def test_gains(self, score, gain):
        with pytest.raises(ValueError, match="gain must be 'linear' or 'exponential', got "):
            score([1], gain=gain)

    @pytest.mark.parametrize("score", [dcg, ndcg])
    def test_an_exponential_gain_that_overflows(self, score):
        message = r"at least 0 and below 1024, where 2\^grade overflows, got 2000.0 \(at position 1"
        with pytest.raises(ValueError, match=message):
            score([1, 2000], gain="exponential")
        assert np.isfinite(score([1, 1023], gain="exponential"))
        assert np.isfinite(score([1, 2000]))

    def test_a_sum_that_overflows(self):
        for score in (cg, dcg, ndcg):
            with pytest.raises(
                ValueError, match="grades must have a finite sum of gains, got inf$"
            ):
                score([1.7e308] * 9)
        with pytest.raises(ValueError, match="finite sum of gains, got inf in instance 1$"):
            dcg([[3], [1023.9] * 9], gain="exponential")
        with pytest.raises(ValueError, match="judged must have a finite sum of gains, got inf$"):
            ndcg([1], judged=[1] + [1.7e308] * 9)
        with pytest.raises(ValueError, match="filling up to 1000000000000 places takes .* GiB"):
            dcg([[5], [1]], k=10**12, lowest=1)

    @pytest.mark.parametrize(
        "grades, judged, message",
        [
            ([1], [[1]], "judged must hold one list for each list of grades, got 1 lists for one"),
            ([[1]], [1], "judged must hold one list for .* got one list for 1 lists$"),
            ([[1], [2]], [[1]], "judged must hold one list for .* got 1 lists for 2 lists$"),
            ([1], [], "judged must hold at least one grade, got none$"),
            (
                [1],
                [-1, 1],
                r"judged must be finite numbers of at least 0, got -1.0 \(at position 0",
            ),
            ([[1]], [["a"]], r"judged must be an array of numbers, got \['a'\]$"),
            (
                [3, 3, 0],
                [3, 2],
                "judged must hold all grades of the list above the lowest, got grade 3.0 2 times "
                "in grades and 1 times in judged$",
            ),
            ([[1], [2]], [[1], [1, 3]], "got grade 2.0 1 times in grades and 0 .* in instance 1$"),
        ],
    )
    def test_judged(self, grades, judged, message):
        with pytest.raises(ValueError, match=message):
            ndcg(grades, judged=judged)
