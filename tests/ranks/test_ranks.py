"""`Ranks` and `predicted_ranks`: what they hold, what they count and what they refuse."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chisquare
from tied import orders, ranks_of, tied_scores

from recsample import AP, Ranks, inference, predicted_ranks

RNG = np.random.default_rng


class TestRanks:
    def test_gives_back_what_went_in(self):
        ranks = Ranks([3, 1, 10], n_items=10, ties=[2, 0, 0])
        assert ranks.values.tolist() == [3, 1, 10]
        assert ranks.ties.tolist() == [2, 0, 0]
        assert ranks.n_items == 10 and isinstance(ranks.n_items, int)
        assert len(ranks) == 3
        assert ranks.values.dtype == ranks.ties.dtype == np.int64

    def test_one_number_of_ties_comes_back_as_one_number(self):
        assert Ranks([3, 1], n_items=10, ties=4).ties == 4
        assert Ranks([3, 1], n_items=10).ties == 0
        assert Ranks([[], []], n_items=10).ties == 0

    @pytest.mark.parametrize("kind", [object, str, bool, float])
    def test_lists_without_a_number_are_of_any_kind(self, kind):
        ranks = Ranks([np.array([], kind), np.array([], kind)], n_items=10)
        assert ranks.n_relevant.tolist() == [0, 0]
        assert [v.dtype for v in ranks.values] == [np.int64, np.int64]

    def test_several_relevant_items_come_back_in_their_order(self):
        ranks = Ranks([[7, 2], [], [4]], n_items=[8, 9, 10], ties=[[1, 3], [], [0]])
        assert [v.tolist() for v in ranks.values] == [[7, 2], [], [4]]
        assert [t.tolist() for t in ranks.ties] == [[1, 3], [], [0]]
        assert ranks.n_items.tolist() == [8, 9, 10]
        assert ranks.n_relevant.tolist() == [2, 0, 1]
        assert ranks.n_irrelevant.tolist() == [6, 9, 9]

    @pytest.mark.parametrize(
        "values",
        [[2, 5], (2, 5), [2.0, 5.0], np.array([2, 5], dtype=np.uint8), [np.array(2), np.array(5)]],
    )
    def test_any_sequence_of_whole_numbers_will_do(self, values):
        assert Ranks(values, n_items=9).values.tolist() == [2, 5]

    def test_a_matrix_is_one_row_per_instance(self):
        assert [v.tolist() for v in Ranks(np.array([[2, 5], [1, 3]]), 9).values] == [[2, 5], [1, 3]]

    def test_does_not_share_memory_with_its_input(self):
        values, sizes = np.array([2, 5]), np.array([9, 9])
        ranks = Ranks(values, n_items=sizes)
        values[0] = sizes[0] = 8
        assert ranks.values[0] == 2 and ranks.n_items[0] == 9
        with pytest.raises(ValueError, match="read-only"):
            ranks.values[0] = 1

    def test_relevant_items_may_share_a_score(self):
        # Three relevant and two irrelevant items on the places 2 to 6, another one right after.
        ranks = Ranks([[3, 2, 4, 7]], n_items=7, ties=[[2, 2, 2, 0]])
        assert ranks.rows.group.tolist() == [3, 3, 3, 1]
        assert ranks.rows.place.tolist() == [1, 2, 3, 1]

    def test_ties_may_reach_the_end_of_the_pool(self):
        assert Ranks([[6, 7]], n_items=9, ties=2).n_irrelevant.tolist() == [7]

    def test_neighbours_with_the_same_ties_may_be_two_groups(self):
        ranks = Ranks([[2, 5]], n_items=7, ties=2)
        assert ranks.rows.group.tolist() == [1, 1]

    def test_repr(self):
        assert repr(Ranks([3, 1], n_items=10)) == "<Ranks: 2 instances, 2 ranks, 10 items>"
        assert (
            repr(Ranks([3, 1], n_items=[10, 7], ties=[0, 1]))
            == "<Ranks: 2 instances, 2 ranks, 7 to 10 items, 1 tied>"
        )

    @pytest.mark.parametrize(
        "values, n_items, ties, message",
        [
            ([1, 0], 9, 0, "values must be ranks of at least 1, got rank 0 in instance 1"),
            ([[1], [4, -2]], 9, 0, "values must be ranks of at least 1, got rank -2 in instance 1"),
            ([1, 10], 9, 0, "values must not exceed n_items, got rank 10 in instance 1"),
            ([5, 5], [5, 4], 0, "values must not exceed n_items, got rank 5 in instance 1"),
            ([1, 2**60], 9, 0, f"values must not exceed n_items, got rank {2**60} in instance 1"),
            ([1, 2.5], 9, 0, "values must be whole numbers, got rank 2.5 in instance 1"),
            (
                [np.nan, 2],
                9,
                0,
                "values must not have missing values, got 1 of 2, the first in instance 0",
            ),
            ([2, np.inf], 9, 0, "values must be whole numbers, got rank inf in instance 1"),
            ([[1], [3, 2, 3]], 9, 0, "values must not hold a rank twice, got rank 3 twice in in"),
            (["a"], 9, 0, "values must be numbers, got an array of type <U1"),
            ([True, False], 9, 0, "values must be numbers, got an array of type bool"),
            (
                [1, None],
                9,
                0,
                "values must not have missing values, got 1 of 2, the first in instance 1",
            ),
            ("12", 9, 0, "values must be an array of numbers, got '12'"),
            (3, 9, 0, "values must be an array of numbers, got 3"),
            (np.array(3), 9, 0, r"values must be an array of numbers, got one of shape \(\)"),
            (np.ones((1, 1, 1)), 9, 0, r"must be an array of numbers, got one of shape \(1, 1, 1"),
            ([], 9, 0, "values must hold at least one instance, got none"),
            ([1, [2]], 9, 0, "values must be all numbers or all lists, got a mixture of both"),
            ([(2,), 1.0], 9, 0, "values must be all numbers or all lists, got a mixture of both"),
            ([(1, (2, 3))], 9, 0, "values must hold numbers or lists of numbers, got lists of"),
            ([[[1], [2, 3]]], 9, 0, "values must hold numbers or lists of numbers, got lists of"),
            ([1], 0, 0, "n_items must be a whole number of at least 1, got 0"),
            ([1], 9.5, 0, "n_items must be a whole number of at least 1, got 9.5"),
            ([1], 2**53, 0, r"n_items must be a whole number of .* below 2\*\*53, got 9007"),
            ([1], "9", 0, "n_items must be whole numbers, got '9'"),
            ([1], [[9], [9, 9]], 0, r"n_items must be whole numbers, got \[\[9\], \[9, 9\]\]"),
            ([1, 2], [9, np.nan], 0, "n_items must not have missing values, got 1 of 2"),
            ([1, 2], [9], 0, "n_items must be one number or one for each of the 2 instances"),
            ([1], 9, -1, "ties must be a whole number of at least 0, got -1"),
            ([1, 2], 9, [0, 0.5], "ties must be whole numbers of at least 0, got 0.5"),
            ([1], 9, None, "ties must be an array of numbers, got None"),
            ([1, 2], 9, [0], "ties must be one number or have the shape of values, got 1 numbers"),
            ([1], 9, [[0]], "ties must be one number or have the shape of values, got 1 lists"),
            ([[1], [2]], 9, [[0], []], "ties must have the lengths of values, got length 0 in in"),
            ([1, 7], 9, [0, 3], "values [+] ties must not exceed n_items, got a worst rank of 10"),
            ([[6, 7]], 9, 3, "values [+] ties must not exceed n_items, got a worst rank of 10"),
            ([[1], [3, 5]], 9, [[0], [2, 1]], "ties must .* got rank 5 inside them in instance 1"),
        ],
    )
    def test_refusals(self, values, n_items, ties, message):
        with pytest.raises(ValueError, match=message):
            Ranks(values, n_items, ties=ties)

    def test_they_are_no_array(self):
        ranks = Ranks([1, 2], 3)
        with pytest.raises(ValueError, match="no array of numbers"):
            np.asarray(ranks)
        with pytest.raises(ValueError, match="must be an array of numbers, got <Ranks: 2 inst"):
            inference.plug_in(AP, ranks)


class TestEachAlone:
    def test_each_item_among_the_irrelevant_ones(self):
        ranks = Ranks([[7, 3], [1], []], n_items=[9, 5, 4])
        alone = ranks.each_alone()
        assert alone.values.tolist() == [3, 6, 1]
        assert alone.n_items.tolist() == [8, 8, 5]

    def test_against_scores(self):
        rng = np.random.default_rng(1)
        for _ in range(50):
            scores, relevant = tied_scores(rng)
            alone = ranks_of(scores, relevant).each_alone()
            others = np.delete(scores, relevant)
            mine = np.sort(scores[relevant])[::-1]
            assert alone.values.tolist() == [1 + int((others > x).sum()) for x in mine]
            assert alone.ties.tolist() == [int((others == x).sum()) for x in mine]

    def test_what_is_known_of_draws(self):
        """Several relevant items of an instance are ranked among the same drawn ones."""
        one, several = Ranks([3, 1], 9), Ranks([[3, 1], [2]], 9)
        for ranks, how in ((one, "uniform"), (several, "shared")):
            drawn = ranks.drawn_as("uniform", True, [20, 30]).each_alone().drawn
            assert (drawn.how, drawn.replace) == (how, True)
        assert drawn.n_items.tolist() == [19, 19, 30]
        assert several.each_alone().drawn is None

    def test_nothing_relevant(self):
        with pytest.raises(ValueError, match="at least one relevant item, got none"):
            Ranks([[], []], n_items=4).each_alone()


class TestBreakTies:
    def test_best_and_worst(self):
        rng = np.random.default_rng(8)
        for _ in range(50):
            scores, relevant = tied_scores(rng)
            places = 1 + np.array(orders(scores, relevant))
            ranks = ranks_of(scores, relevant)
            best, worst = ranks.break_ties("optimistic"), ranks.break_ties("pessimistic")
            assert best.values[0].tolist() == places.min(axis=0).tolist()
            assert worst.values[0].tolist() == places.max(axis=0).tolist()

    def test_random_orders_are_equally_likely(self):
        scores, relevant = np.array([5, 4, 4, 4, 4, 1]), [1, 3]
        possible = sorted(orders(scores, relevant))
        one, n = ranks_of(scores, relevant), 6_000
        many = Ranks([*one.values] * n, np.tile(one.sizes, n), ties=[*one.ties] * n)
        seen = Counter(map(tuple, many.break_ties("random", 4).values))
        assert sorted(seen) == [tuple(np.add(p, 1)) for p in possible]
        assert chisquare(list(seen.values())).pvalue > 1e-4

    def test_refusals(self):
        with pytest.raises(ValueError, match="how must be 'random', .* got 'mean'"):
            Ranks([1], 5).break_ties("mean")
        with pytest.raises(ValueError, match="rng must be"):
            Ranks([1], 5).break_ties("random", "seed")


class TestRows:
    """What metrics and samplers read: a row for each relevant item, best ranked first."""

    def test_by_hand(self):
        ranks = Ranks([[9, 3, 4], [], [7]], [12, 5, 9], ties=[[0, 4, 4], [], [2]])
        rows = ranks.rows
        assert rows.instance.tolist() == [0, 0, 0, 2]
        assert rows.order.tolist() == [1, 2, 3, 1]
        assert rows.rank.tolist() == [3, 4, 9, 7]
        assert rows.above.tolist() == [2, 2, 6, 6]
        assert rows.ties.tolist() == [4, 4, 0, 2]
        assert rows.group.tolist() == [2, 2, 1, 1]
        assert rows.place.tolist() == [1, 2, 1, 1]
        assert all(column.dtype == np.int64 for column in rows)

    def test_some_of_the_rows(self):
        rows = Ranks([[9, 3], [7]], 12).rows
        for which in ([True, False, True], [0, 2], slice(None, None, 2)):
            some = rows.of(which)
            assert type(some) is type(rows)
            assert some.rank.tolist() == [3, 7] and some.instance.tolist() == [0, 1]

    @pytest.mark.parametrize("seed", range(30))
    def test_against_scores(self, seed):
        """How many irrelevant items score higher, and as high, counted."""
        scores, relevant = tied_scores(np.random.default_rng(seed))
        rows = ranks_of(scores, relevant).rows
        mine, others = np.sort(scores[relevant])[::-1], np.delete(scores, relevant)
        assert rows.above.tolist() == [(others > x).sum() for x in mine]
        assert rows.ties.tolist() == [(others == x).sum() for x in mine]
        tied = rows.ties > 0  # apart from the others there is nothing to order
        assert rows.group[tied].tolist() == [(mine == x).sum() for x in mine[tied]]
        places = [1 + (mine[:i] == mine[i]).sum() for i in np.flatnonzero(tied)]
        assert rows.place[tied].tolist() == places


NAMED = Ranks([3, 1, 10, 2], [12, 9, 10, 5], ties=[2, 0, 0, 1], ids=["ann", "bob", "cid", "dan"])
LISTS = Ranks([[5, 3], [], [1], [7, 8, 2]], 12, ties=[[0, 1], [], [3], [2, 2, 0]])


class TestPartsOfThem:
    @pytest.mark.parametrize(
        ("users", "chosen"),
        [
            (slice(1, 3), [1, 2]),
            (slice(None, None, -1), [3, 2, 1, 0]),
            ([2, 0, 2], [2, 0, 2]),
            (np.array([True, False, False, True]), [0, 3]),
            (np.array([3]), [3]),
            (2, [2]),
            (-1, [3]),
            (np.int64(1), [1]),
        ],
    )
    def test_the_instances_chosen(self, users, chosen):
        part = NAMED[users]
        assert part.values.tolist() == NAMED.values[chosen].tolist()
        assert part.n_items.tolist() == NAMED.n_items[chosen].tolist()
        assert part.ties.tolist() == NAMED.ties[chosen].tolist()
        assert part.ids.tolist() == NAMED.ids[chosen].tolist()
        lists = LISTS[users]
        assert [v.tolist() for v in lists.values] == [LISTS.values[i].tolist() for i in chosen]
        assert [t.tolist() for t in lists.ties] == [LISTS.ties[i].tolist() for i in chosen]
        assert lists.n_items == 12 and lists.ids is None

    def test_what_is_one_number_stays_one(self):
        part = Ranks([3, 1, 2], 10, ties=1)[1:]
        assert part.n_items == 10 and part.ties == 1
        assert repr(part) == "<Ranks: 2 instances, 2 ranks, 10 items, 2 tied>"

    def test_all_of_them_one_by_one(self):
        assert Ranks.concatenate(list(NAMED)) == NAMED
        assert [one.ids[0] for one in NAMED] == NAMED.ids.tolist()

    def test_none_of_them(self):
        for nobody in ([], slice(4, None), np.zeros(4, bool)):
            with pytest.raises(ValueError, match="users must choose at least one instance, got n"):
                NAMED[nobody]

    def test_users_that_do_not_exist(self):
        for wrong in (4, -5, [0, 4], np.ones(3, bool), "ann", 1.5):
            with pytest.raises(IndexError):
                NAMED[wrong]


class TestJoined:
    def test_all_instances_one_after_the_other(self):
        both = Ranks.concatenate([NAMED, NAMED[2:]])
        assert both.values.tolist() == [3, 1, 10, 2, 10, 2]
        assert both.n_items.tolist() == [12, 9, 10, 5, 10, 5]
        assert both.ties.tolist() == [2, 0, 0, 1, 0, 1]
        assert both.ids.tolist() == ["ann", "bob", "cid", "dan", "cid", "dan"]
        assert both[:4] == NAMED

    def test_lists_and_numbers(self):
        both = Ranks.concatenate([Ranks([4], 9, ties=2), LISTS])
        assert [v.tolist() for v in both.values] == [[4], [5, 3], [], [1], [7, 8, 2]]
        assert both.n_items.tolist() == [9, 12, 12, 12, 12]
        assert both[1:] == LISTS and both[:1] == Ranks([4], 9, ties=2)

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ([], r"parts must be a list of Ranks, got \[\]"),
            ([Ranks([1], 3), [1]], "parts must be a list of Ranks, got"),
            (3, "parts must be a list of Ranks, got 3"),
            (NAMED, "parts must be a list of Ranks, got <Ranks: 4 instances"),
            ([NAMED, LISTS], "parts must all have ids or none, got 1 of 2"),
        ],
    )
    def test_refusals(self, parts, message):
        with pytest.raises(ValueError, match=message):
            Ranks.concatenate(parts)


class TestFrames:
    def test_a_row_for_each_relevant_item(self):
        frame = LISTS.to_frame()
        assert frame.columns.tolist() == ["user", "rank", "n_items", "ties"]
        assert frame.to_numpy().tolist() == [
            [0, 3, 12, 1],
            [0, 5, 12, 0],
            [2, 1, 12, 3],
            [3, 2, 12, 0],
            [3, 7, 12, 2],
            [3, 8, 12, 2],
        ]

    def test_back_again(self):
        frame = NAMED.to_frame()
        again = Ranks(frame["rank"], frame["n_items"], ties=frame["ties"], ids=frame["user"])
        assert again == NAMED


class TestNames:
    def test_they_stay_with_their_instances(self):
        lists = Ranks(LISTS.values, 12, ties=LISTS.ties, ids=np.array([11, 12, 13, 14]))
        assert lists.ids.tolist() == [11, 12, 13, 14]
        assert lists.each_alone().ids.tolist() == [11, 11, 13, 14, 14, 14]
        assert lists.break_ties("optimistic").ids.tolist() == [11, 12, 13, 14]
        assert lists.at([1, 2, 3, 4, 5, 6], 12).ids.tolist() == [11, 12, 13, 14]
        assert Ranks([1], 3).ids is None

    @pytest.mark.parametrize(
        "ids", [[1, "1"], ["1", 1], [2**53 + 1, 0.5], ["a", None], ["a\0", "a"]], ids=str
    )
    def test_names_of_several_kinds_stay_what_they_are(self, ids):
        found = Ranks([1, 2], 9, ids=ids).ids.tolist()
        assert found == ids and [*map(type, found)] == [*map(type, ids)]

    @pytest.mark.parametrize("kinds", [("i8", "U"), ("i8", "u8"), ("U", "O"), ("i8", "f8")])
    def test_joined_names_stay_what_they_are(self, kinds):
        one, other = np.array([2**53 + 1]).astype(kinds[0]), np.array([7]).astype(kinds[1])
        found = Ranks.concatenate([Ranks([1], 9, ids=ids) for ids in (one, other)]).ids
        wanted = one.tolist() + other.tolist()
        assert found.tolist() == wanted and [*map(type, found)] == [*map(type, wanted)]

    @pytest.mark.parametrize("ids", [["a"], [["a"], ["b"]], "ab", 3])
    def test_refusals(self, ids):
        message = r"ids must hold one name for each of the 2 instances, got an array of shape \("
        with pytest.raises(ValueError, match=message):
            Ranks([1, 2], 9, ids=ids)


class TestAt:
    def test_the_same_instances_at_other_ranks(self):
        moved = LISTS.at([1, 2, 3, 4, 5, 6], n_items=[9, 8, 7, 6])
        assert [v.tolist() for v in moved.values] == [[1, 2], [], [3], [4, 5, 6]]
        assert moved.n_items.tolist() == [9, 8, 7, 6] and not moved.rows.ties.any()
        assert NAMED.at([4, 3, 2, 1], 4).values.tolist() == [4, 3, 2, 1]

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"rank must hold one number for each of the 4 .*\(3,"):
            NAMED.at([1, 2, 3], 9)
        with pytest.raises(ValueError, match="values must not exceed n_items, got rank 7 in inst"):
            NAMED.at([1, 7, 2, 3], 5)


def test_ranks_of_ranks_are_refused():
    for values in (NAMED, [NAMED, NAMED]):
        with pytest.raises(ValueError, match="values must"):
            Ranks(values, 10)


def matrix(sets, n_items, kind=sparse.csr_matrix):
    dense = np.zeros((len(sets), n_items))
    for user, items in enumerate(sets):
        dense[user, list(items)] = 1
    return kind(dense)


class TestPredictedRanks:
    @pytest.mark.parametrize("kind", [sparse.coo_matrix, sparse.csc_matrix, sparse.csr_array])
    def test_every_sparse_format(self, kind):
        scores = [[3.0, 2, 1, 0]] * 2
        ranks = predicted_ranks(scores, matrix([{2}, {3}], 4, kind), matrix([{0}, {1}], 4, kind))
        assert np.concatenate(ranks.values).tolist() == [2, 3]

    def test_stored_zeros_and_repeated_entries_mean_what_they_sum_to(self):
        zero = sparse.csr_matrix(([0.0, 1.0], ([0, 0], [0, 1])), shape=(1, 3))
        twice = sparse.coo_matrix(([1, 1], ([0, 0], [1, 1])), shape=(1, 3))
        assert predicted_ranks([[3.0, 2, 1]], [2], zero).values.tolist() == [2]
        assert predicted_ranks([[3.0, 2, 1]], twice).n_relevant.tolist() == [1]
        assert predicted_ranks([[3.0, 2, 1]], [2], twice).n_items.tolist() == [2]

    def test_a_score_that_is_none_is_named_in_whatever_block_it_is(self, monkeypatch):
        monkeypatch.setattr("recsample.ranks.standings.TILE", 4)
        scores = np.zeros((5, 2))
        scores[4, 1] = np.nan
        with pytest.raises(ValueError, match="got NaN for user 4, item 1"):
            predicted_ranks(scores, [0] * 5)

    def test_every_entry_of_a_set_but_0_counts(self):
        exclude = sparse.csr_matrix([[-1.0, 0, 0]])
        ranks = predicted_ranks([[3, 2, 1]], [2], exclude)
        assert (ranks.values.tolist(), ranks.sizes.tolist()) == ([2], [2])

    @pytest.mark.parametrize(
        "scores, relevant, exclude, message",
        [
            ([[1, np.nan], [1, 2]], [0, 0], None, "scores must be finite, or -inf for an item"),
            ([[1, 2], [1, np.nan]], [0, 0], None, "got NaN for user 1, item 1"),
            (([[1.0]], [[2.0], [np.nan]]), [0], None, "got NaN for user 0, item 1"),
            ([1.0, 2.0], [0], None, r"scores must have shape \(users, items\), .* got \(2,\)"),
            (np.ones((0, 3)), [], None, r"scores must have shape .* got \(0, 3\)"),
            (np.ones((3, 0)), [0, 0, 0], None, r"scores must have shape .* got \(3, 0\)"),
            ([[1], [1, 2]], [0, 0], None, r"scores must be an array of numbers, got \[\[1\], \[1"),
            ([["a"]], [0], None, r"scores must be an array of numbers, got \[\['a'\]\]"),
            (([[1.0]],), [0], None, "scores must be one array or the pair .* got 1 arrays"),
            (([[1.0]], [[1.0, 2.0]]), [0], None, r"pair of factors of shapes .* got \(1, 1\) and "),
            ((np.ones((0, 1)), np.ones((2, 1))), [], None, "scores must not be empty, got 0 users"),
            ([[1, 2]], [0, 1], None, r"relevant must hold one item for each of the 1 users, got "),
            ([[1, 2]], [2], None, "relevant must hold items from 0 to 1, got item 2 for user 0"),
            ([[1, 2]], [-1], None, "relevant must hold items from 0 to 1, got item -1 for user 0"),
            ([[1, 2]], [0.5], None, "relevant must be whole numbers, got 0.5"),
            ([[1, 2]], sparse.eye(2), None, r"relevant must be a sparse matrix of shape \(1, 2\)"),
            ([[1, 2]], [0], [[0, 1]], r"exclude must be a sparse matrix .*, got a dense list"),
            ([[1, 2]], [0], sparse.eye(2), r"exclude must .* of shape \(1, 2\), got \(2, 2\)"),
            (
                [[1, 2], [3, 4]],
                [0, 1],
                sparse.csr_matrix([[0, 1], [0, 1]]),
                "relevant and exclude must not share an item, got item 1 for user 1",
            ),
            (
                [[1, 2], [3, 4]],
                sparse.csr_matrix([[0, 1], [0, 0]]),
                sparse.csr_matrix([[0, 0], [1, 1]]),
                "exclude must leave an item to rank, got 0 items left for user 1",
            ),
        ],
    )
    def test_refusals(self, scores, relevant, exclude, message):
        with pytest.raises(ValueError, match=message):
            predicted_ranks(scores, relevant, exclude)
