"""What is brought and says two things is refused with the way out; what is left out is counted."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import recsample as rs

rng = np.random.default_rng(0)
SCORES = rng.normal(size=(40, 60))
ITEM = rng.integers(0, 60, 40)
HIT = np.mean([(row > row[i]).sum() < 10 for row, i in zip(SCORES, ITEM)])
HELD_OUT = pd.DataFrame({"user": range(40), "item": ITEM})


def recall(*given, **options):
    result = rs.evaluate(*given, metrics=["Recall@10"], **options)
    return float(result.table.loc["Recall@10", "value"]), result


class TestEntriesBelowZero:
    matrix = sparse.csr_matrix(
        (np.r_[np.ones(40), -np.ones(40)], (np.tile(range(40), 2), np.r_[ITEM, (ITEM + 7) % 60])),
        shape=SCORES.shape,
    )

    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
    def test_they_are_not_relevant_and_counted(self, form):
        value, result = recall(SCORES, self.matrix.asformat(form))
        assert value == HIT and result.notes == (
            "held-out entries below 0, which are not relevant, left out: 40",
        )

    def test_predicted_ranks_refuses_them(self):
        with pytest.raises(ValueError, match="below 0, got -1: keep those"):
            rs.predicted_ranks(SCORES, self.matrix)

    def test_entries_of_different_values_are_counted(self):
        graded = sparse.csr_matrix((range(1, 41), (range(40), ITEM)), shape=SCORES.shape)
        value, result = recall(SCORES, graded)
        said = "held-out entries of different values, relevant alike; a dataframe has grades: 40"
        assert value == HIT and result.notes == (said,)


def test_users_whose_training_items_are_none_to_rank_have_rows_of_train():
    scores = pd.DataFrame(np.argwhere(SCORES < 99), columns=["user", "item"]).assign(score=0.5)
    train = pd.DataFrame({"user": [0, 1], "item": [(ITEM[0] + 1) % 60, 99]})
    _, result = recall(scores, HELD_OUT, train=train, items=range(60))
    counts = result.counts.loc[""]["count"]
    assert counts["users without any row of train, ranked among all items"] == 38
    assert counts["training rows of items that are not in items, left out"] == 1


class TestWhoseTheRowsAre:
    doors = {
        "array": SCORES,
        "factors": (SCORES, np.eye(60)),
        "object": type("Model", (), {"scores": staticmethod(lambda users: SCORES[users])})(),
    }

    @pytest.mark.parametrize("door", doors)
    @pytest.mark.parametrize("n", [30, 41])
    def test_an_array_of_another_length_is_refused(self, door, n):
        some = np.resize(ITEM, n)
        for given in (some, some.tolist(), pd.Series(some)):
            with pytest.raises(ValueError, match=rf"got {n} items: .* Series by users, says"):
                recall({"a": self.doors[door]}, given)

    @pytest.mark.parametrize("door", doors)
    def test_a_series_by_user_says_whose_they_are(self, door):
        some = pd.Series(ITEM, index=range(40)).sample(15, random_state=0)
        value, result = recall(self.doors[door], some)
        users = some.index.to_numpy()
        assert value == np.mean([(SCORES[u] > SCORES[u, ITEM[u]]).sum() < 10 for u in users])
        said = ("users with scores and without a held-out item: 25",)
        assert result.notes == (() if door == "object" else said)

    def test_what_is_transposed_is_refused(self):
        with pytest.raises(ValueError, match="each of the 60 users, got 40 items"):
            recall(SCORES.T, ITEM % 40)
        with pytest.raises(ValueError, match=r"got shapes \(60, 40\) and \(40, 60\): a dataframe"):
            recall(SCORES, HELD_OUT, train=sparse.csr_matrix((60, 40)))

    def test_ids_of_all_users_beside_scores_of_some(self):
        with pytest.raises(ValueError, match="got 10: other ids are matched where scores are a da"):
            recall(SCORES[:10], HELD_OUT)
        with pytest.raises(ValueError, match=r"\(10,\): of some users only, give their rows of sc"):
            rs.predicted_ranks(SCORES, ITEM[:10])

    @pytest.mark.parametrize("none", [np.nan, -1])
    def test_users_without_an_answer(self, none):
        wanted = "at position 2.* (a Series with|leaves users without an item out)"
        with pytest.raises(ValueError, match=wanted):
            recall(SCORES, np.where(np.arange(40) == 2, none, ITEM))
        some = pd.Series(np.where(np.arange(40) == 2, np.nan, ITEM)).dropna()
        assert recall(SCORES, some)[1].notes[0].endswith("without a held-out item: 1")

    def test_train_tells_how_many_users_an_object_has(self):
        known = sparse.csr_matrix(SCORES.shape)
        assert recall(self.doors["object"], ITEM, train=known)[0] == HIT


class TestScores:
    @pytest.mark.parametrize("value", [np.inf, np.nan])
    @pytest.mark.parametrize("door", ["array", "object", "frame", "predicted_ranks"])
    def test_numbers_beyond_all_others_are_refused(self, door, value):
        scores = SCORES.copy()
        scores[3, 5] = value
        long = pd.DataFrame(np.argwhere(scores < 99), columns=["user", "item"])
        wrong = pd.DataFrame({"user": [3], "item": [5]})
        long = pd.concat([long, wrong], ignore_index=True)
        long["score"] = scores[long["user"], long["item"]]
        model = type("Model", (), {"scores": staticmethod(lambda users: scores[users])})()
        with pytest.raises(ValueError, match="or -inf|missing values"):
            if door == "predicted_ranks":
                rs.predicted_ranks(scores, ITEM)
            else:
                recall({"array": scores, "object": model, "frame": long}[door], HELD_OUT)

    def test_identical_rows_are_counted_and_others_refused(self):
        long = HELD_OUT.merge(pd.DataFrame({"item": range(60)}), how="cross", suffixes=("_", ""))
        long["score"] = SCORES[long["user"], long["item"]]
        twice = pd.concat([long, long.head(7)])
        value, result = recall(twice, HELD_OUT)
        assert value == HIT
        assert result.notes == ("rows of scores that repeat another one, left out: 7",)
        other = twice.assign(score=np.r_[long["score"], long["score"].head(7) + 1])
        with pytest.raises(ValueError, match="one score for each pair .* user 0 with item 0$"):
            recall(other, HELD_OUT)


class TestFurtherColumns:
    answers = {
        "signs": np.where(np.arange(40) % 3, 1, -1),
        "zero and one": (np.arange(40) % 3 > 0).astype(int),
        "truth": np.arange(40) % 3 > 0,
        "grades": np.arange(40) % 5 + 1.0,
        "halves": (np.arange(40) % 10 + 1) / 2,
        "amounts": np.maximum(np.arange(40) - 20.5, 0) * 10,
        "two words": np.where(np.arange(40) % 3, "yes", "no"),
        "none": np.zeros(40),
    }

    @pytest.mark.parametrize("what", answers)
    def test_what_may_say_relevance_is_asked_about(self, what):
        with pytest.raises(ValueError, match="^relevance must say what the column 'x y' of held_o"):
            recall(SCORES, HELD_OUT.assign(**{"x y": self.answers[what]}))
        assert recall(SCORES, HELD_OUT.assign(x=self.answers[what]), relevance=None)[0] == HIT

    def test_what_cannot_is_not(self):
        times = np.arange(40) * 86_400 + 10**9
        words = np.array(["a", "b", "c"])[np.arange(40) % 3]
        more = {"time": times, "index": range(40), "label": 1, "kind": words, "fold": "test"}
        assert recall(SCORES, HELD_OUT.assign(**more))[0] == HIT
        dated = HELD_OUT.assign(day=pd.Timestamp("2020") + pd.to_timedelta(times, "s"))
        assert recall(SCORES, dated)[0] == HIT

    def test_rows_of_train_that_are_not_relevant_stay_candidates(self):
        known = HELD_OUT.assign(item=(ITEM + 1) % 60, click=np.arange(40) % 2)
        with pytest.raises(ValueError, match="^relevance must say what the column 'click' of trai"):
            recall(SCORES, HELD_OUT, train=known)
        value, result = recall(SCORES, HELD_OUT, train=known, relevance="click")
        wanted = recall(SCORES, HELD_OUT, train=known[known["click"] > 0])[0]
        said = "training rows that are not relevant by 'click', left out: 20"
        assert value == wanted and said in result.notes
        every = recall(SCORES, HELD_OUT, train=known, relevance=None)[0]
        assert every == recall(SCORES, HELD_OUT, train=known[["user", "item"]])[0]
        assert recall(SCORES, HELD_OUT, train=known.assign(click=np.arange(40) % 5 + 1))[0] == every


class TestOtherForms:
    """What is no table of pairs is refused, as what it is."""

    long = pd.DataFrame(np.argwhere(SCORES < 99), columns=["user", "item"]).assign(
        score=SCORES.ravel()
    )

    @pytest.mark.parametrize(
        ("scores", "message"),
        [
            (SCORES.ravel(), r"^scores must have shape \(users, items\).*, got \(2400,\)$"),
            ({"a": SCORES, "b": [1.0, 2.0]}, r"^scores of 'b' must have shape \(users, items\)"),
            ((row for row in SCORES), r"^scores must be .*, got <generator .*>$"),
            (lambda users: SCORES[users], r"^scores must be .* an object with scores\(users\)"),
            ("scores.parquet", "got 'scores.parquet'$"),
            (pd.DataFrame(SCORES, columns=[f"i{i}" for i in range(60)]), r"and 50 more$"),
            (long.rename(columns={"score": "a"}).assign(b=1, c=2), r"'item', 'a', 'b', 'c'\]$"),
            (
                pd.DataFrame({"user": [1, 1, 2, 2], "a": 1, "b": 2, "c": 3}),
                r"got the columns \['user', 'a', 'b', 'c'\]$",
            ),
        ],
    )
    def test_facts_that_leave_several_causes_name_no_line(self, scores, message):
        with pytest.raises(ValueError, match=message):
            recall(scores, HELD_OUT)

    @pytest.mark.parametrize(
        "items",
        [
            [*enumerate(ITEM)],  # pairs, or lists of two items
            np.c_[range(40), ITEM],
            [[1, 1, 30], [2, 3, 4]],  # an item twice, or counts that are no ids
            [[(3, 0.5), (4, 0.1)]],  # items and their scores
        ],
    )
    def test_nor_do_such_lists(self, items):
        for given in ({"held_out": items}, {"held_out": HELD_OUT, "train": items}):
            with pytest.raises(ValueError, match=rf"^{[*given][-1]} must .*, got [^:]*$"):
                rs.evaluate(SCORES, **given)

    def test_a_tensor_elsewhere_says_where_it_is(self):
        class Tensor:
            def __array__(self, *_):
                raise TypeError("can't convert cuda:0 device type tensor: use Tensor.cpu()")

        with pytest.raises(ValueError, match=r"^scores must be an array, got Tensor: .*\.cpu\(\)"):
            recall(Tensor(), HELD_OUT)


class TestWhatIsRankedAndMayBeNoItem:
    def test_padding_of_lists(self):
        best = pd.DataFrame({"user": np.repeat(range(40), 5)})
        best["item"] = np.argsort(-SCORES, axis=1)[:, :5].ravel()
        best["score"] = SCORES[best["user"], best["item"]]
        best.loc[best.index % 5 == 4, ["item", "score"]] = -1, -1e38
        _, result = recall(best, HELD_OUT, unlisted="missed")
        assert result.notes[0].endswith("items= leaves them out: 40")
        _, result = recall(best, HELD_OUT, unlisted="missed", items=range(60))
        left_out, beyond = result.notes
        assert left_out == "scores of items that are not in items, left out: 40"
        assert beyond == "Recall@10: no list is longer than 4 items"

    def test_a_column_that_no_table_names(self):
        padded = np.c_[np.full(40, 9.0), SCORES]
        known = pd.DataFrame(np.argwhere(np.eye(40, 60) > 0) + [0, 1], columns=["user", "item"])
        known = pd.concat([known, known.assign(item=known["item"] + 20)])
        held_out = HELD_OUT.assign(item=(np.arange(40) + 2) % 60 + 1)
        _, result = recall(padded, held_out, train=known)
        assert "items=range(1, 61) leaves them out: 1" in " ".join(result.notes)
        assert not recall(padded, held_out, train=known, items=range(1, 61))[1].notes
        behind = np.c_[padded, padded[:, :2]]
        _, result = recall(behind, held_out, train=known)
        assert "items=range(1, 61) leaves them out: 3" in " ".join(result.notes)

    def test_queries_that_are_documents(self):
        names = np.array([f"d{i}" for i in range(40)])
        long = pd.DataFrame({"user": np.repeat(names, 40), "item": np.tile(names, 40)})
        long["score"] = SCORES[:, :40].ravel()
        held_out = pd.DataFrame({"user": names, "item": np.roll(names, 3)})
        _, result = recall(long, held_out)
        assert result.notes[0].startswith("users who are ranked among their own items")
        own = pd.DataFrame({"user": names, "item": names})
        assert not recall(long, held_out, train=own)[1].notes


def test_ties_that_matter_are_counted():
    rough = np.round(SCORES)
    result = rs.evaluate({"a": rough, "b": SCORES}, HELD_OUT, metrics=["Recall@10"])
    above = np.array([(row > row[i]).sum() for row, i in zip(rough, ITEM)])
    ties = np.array([(row == row[i]).sum() - 1 for row, i in zip(rough, ITEM)])
    ends = np.mean(above + ties < 10), np.mean(above < 10)
    assert result.notes == (
        f"a: held-out items that are tied with others: {(ties > 0).sum()} of 40, whose order moves "
        f"Recall@10 from {ends[0]:.4f} to {ends[1]:.4f}; each value is the mean over all orders",
    )


class TestTheLowestScore:
    """What stands for no score is seen where many items have it, and it matters what they are."""

    chances = 1 / (1 + np.exp(-SCORES))
    shown = rng.random(SCORES.shape) < 0.5
    shown[range(40), ITEM] = True

    @staticmethod
    def notes(scores, door, metrics=("AUC", "Recall@10"), **options):
        long = pd.DataFrame(np.argwhere(SCORES < 99), columns=["user", "item"])
        given = {
            "array": scores,
            "object": type("Model", (), {"scores": staticmethod(lambda users: scores[users])})(),
            "frame": long.assign(score=scores[long["user"], long["item"]]),
        }[door]
        return " ".join(rs.evaluate(given, HELD_OUT, metrics=metrics, **options).notes)

    @pytest.mark.parametrize("door", ["array", "object", "frame"])
    @pytest.mark.parametrize("filler", [0, -1, -1e9, -3.4e38, np.finfo(float).min])
    def test_items_that_are_not_to_be_ranked(self, door, filler):
        """The lower end of what they move is the value among the others, by hand."""
        said = self.notes(np.where(self.shown, self.chances, filler), door)
        rows = zip(self.chances, self.shown, ITEM)
        among = np.mean([(row[some] < row[i]).sum() / (some.sum() - 1) for row, some, i in rows])
        others = (~self.shown).sum()
        assert said.startswith(
            f"items with the lowest score, {filler:g}, ranked as tied: 0 of 40 held-out ones and "
            f"{others:,} of 2,360 others. If that score stands for none, give -inf or no row in "
            "its place: unlisted= says what such items are. Their place moves AUC from "
            f"{among:.4f}"
        )
        masked = np.where(self.shown, self.chances, -np.inf)
        stated = {"unlisted": "out", "drawn": "all"}
        assert not self.notes(masked, door, **stated)
        # The other ways out: what is masked is known, or left out of the rows.
        known = pd.DataFrame(np.argwhere(~self.shown), columns=["user", "item"])
        assert not self.notes(np.where(self.shown, self.chances, filler), door, train=known)

    @pytest.mark.parametrize("door", ["array", "object", "frame"])
    def test_what_lies_apart_is_said_whatever_it_moves(self, door):
        few = SCORES.copy()
        few[:, :2] = -3.4e38
        few[range(40), ITEM] = SCORES[range(40), ITEM]
        assert self.notes(few, door, ["Recall@10"]).startswith("items with the lowest score, -3.4")
        few[:, :2] = SCORES.min(where=SCORES > -9, initial=9)
        few[range(40), ITEM] = SCORES[range(40), ITEM]
        assert not self.notes(few, door, ["Recall@10"])

    @pytest.mark.parametrize("door", ["array", "object", "frame"])
    def test_lists_that_are_filled_up(self, door):
        order = np.argsort(np.argsort(-SCORES, axis=1), axis=1)
        held = np.count_nonzero(order[range(40), ITEM] >= 5)
        said = self.notes(np.where(order < 5, self.chances, 0), door, ["Recall@10"])
        assert f"ranked as tied: {held} of 40 held-out ones and" in said
        assert f"moves Recall@10 from {1 - held / 40:.4f} to 1.0000" in said
        # Behind ten places nothing moves what is within them.
        assert not self.notes(np.where(order < 20, self.chances, 0), door, ["Recall@10"])
        assert "moves AUC" in self.notes(np.where(order < 20, self.chances, 0), door)

    def test_it_is_the_lowest_of_all_where_some_users_have_another_one(self, monkeypatch):
        lowest = np.where(np.arange(40) < 20, 0, -1)[:, None]
        scores = np.where(self.shown, self.chances, lowest)
        monkeypatch.setattr("recsample.ranks.sources.BLOCK", 7 * 60)  # the scores of seven users
        n = (~self.shown[20:]).sum()
        for door in ("array", "frame"):
            said = self.notes(scores, door)
            assert f"lowest score, -1, ranked as tied: 0 of 40 held-out ones and {n} of 2," in said

    def test_it_is_said_of_what_is_drawn_too(self):
        scores = np.where(self.shown, self.chances, -9)
        said = self.notes(scores, "array", among=rs.UniformSampling(20))
        assert said.startswith("items with the lowest score, -9, ranked as tied: 0 of 40 held-out")
        # As many as 20 of 59 have on average.
        n = ((~self.shown).sum(axis=1) * 20 // 59).sum()
        assert f"{n} of 800 others. If that score" in said
        lists = pd.DataFrame({"user": np.repeat(range(40), 20), "item": [*range(20)] * 40})
        said = self.notes(scores, "array", among=lists, drawn="all")
        n = (~self.shown[:, :20]).sum()
        assert f"{n} of {(ITEM >= 20).sum() + 19 * 40} others. If that score" in said
        parts = rs.evaluate(scores, HELD_OUT, metrics=["AUC"]).by(np.arange(40) % 2)
        assert len(parts) == 2

    def test_scores_that_are_counts_are_not_suspected(self):
        counts = np.random.default_rng(1).poisson(2, 60)
        counts = np.broadcast_to(counts, SCORES.shape)
        assert (counts == 0).any()
        said = self.notes(counts, "array", ["Recall@5"])
        assert "lowest" not in said and "whose order moves Recall@5" in said
        assert "lowest" not in self.notes(np.clip(np.round(SCORES + 3), 1, 5), "array", ["RR@5"])
        assert not self.notes(SCORES, "array")


@pytest.mark.parametrize(
    ("rank", "said"),
    [
        (1.5, r"rs\.Ranks takes .*, and ties= how many"),
        (np.nan, "a user who was not ranked has no"),
    ],
)
def test_ranks_that_are_no_whole_numbers_have_a_reading(rank, said):
    for call in (
        lambda: rs.Ranks([1, rank], 101),
        lambda: rs.report([1, rank], m=100, n_items=3_000, drawn="uniform"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    found = rs.report(np.ones(50, int), m=100, n_items=3_000, drawn="uniform", metrics=["AUC"])
    assert found.notes[0].startswith(
        "ranks of 1: 50 of 50. If scores are saturated, or ties counted"
    )
