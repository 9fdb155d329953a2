"""Draws are stated or known, and never assumed."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import recsample as rs

N = 300
X = rs.Ranks(np.arange(1, 201), N)
RUN = rs.UniformSampling(20).draw(X, 0)
ITEMS = rs.ranked_items(np.random.default_rng(0).random((9, 40)), np.zeros(9, int))
POPULAR = rs.PopularitySampling(3, np.arange(1, 41)).draw(ITEMS, 0)
STATED = {"m": 20, "n_items": N, "drawn": "uniform", "metrics": ["AUC"]}
FOUR = r"'uniform' \(.*'shared' \(.*'popular' \(.*'unknown' \("


def test_what_this_package_drew_needs_no_statement():
    found = rs.report(RUN, metrics=["AUC"])
    stated = rs.report(RUN.values, **STATED)
    pd.testing.assert_frame_equal(found.table, stated.table)
    assert "drawn uniformly without replacement by recsample" in found.head
    assert "as stated by whoever made this report" in stated.head
    assert rs.report(RUN, **STATED, replace=False).sentences == found.sentences
    beside = rs.report({"a": RUN, "b": RUN.values}, **STATED)
    assert "as stated by" in beside.head


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(
    ("sampler", "replace"),
    [
        (rs.UniformSampling(20), False),
        (rs.UniformSampling(20, replace=True), True),
        (rs.PooledSampling(20), False),
    ],
)
def test_uniform_draws_are_remembered(sampler, replace, counted):
    drawn = sampler.draw(rs.RankCounts.of(X) if counted else X, 0).drawn
    assert (drawn.how, drawn.replace) == ("uniform", replace)
    assert (drawn.n_items == N).all() and not drawn.n_items.flags.writeable


def test_other_draws_are_remembered_too():
    assert (POPULAR.drawn.how, POPULAR.drawn.replace) == ("popular", False)
    lists = [[1, 2]] * 9
    assert rs.sampling.GivenLists(lists).draw(ITEMS, 0).drawn is None  # whose lists they are
    assert X.drawn is None and rs.RankCounts.of(X).drawn is None


def test_it_survives_what_leaves_it_true():
    sizes = np.where(np.arange(200) < 100, 300, 500)
    run = rs.UniformSampling(20).draw(rs.Ranks(X.values, sizes), 0)
    assert run[[150, 3]].drawn.n_items.tolist() == [500, 300]
    for same in (copy.deepcopy(run), pickle.loads(pickle.dumps(run)), run.break_ties("random", 0)):
        assert same.drawn.how == "uniform" and same.drawn.n_items.tolist() == sizes.tolist()
    both = rs.Ranks.concatenate([run, RUN])
    assert both.drawn.how == "uniform" and both.drawn.n_items.tolist() == [*sizes, *[N] * 200]
    replaced = rs.UniformSampling(20, replace=True).draw(X, 0)
    for other in (POPULAR, replaced, rs.Ranks([1], 9)):
        assert rs.Ranks.concatenate([run, other]).drawn.how == "unknown"
    assert rs.RankCounts.of(RUN).drawn.n_items[0] == N
    assert rs.RankCounts.of(run).drawn.n_items is None  # which row is of which pool is lost
    assert (rs.RankCounts.of(RUN) + rs.RankCounts.of(X)).drawn.how == "unknown"
    assert run.at(run.values, 21).drawn is None


def test_items_that_share_a_draw_are_no_independent_instances():
    run = rs.UniformSampling(20).draw(rs.Ranks([[3, 50], [7, 9]], N), 0)
    assert run.each_alone().drawn.how == "shared"
    assert run.each_alone().drawn.n_items.tolist() == [N - 1] * 4
    assert RUN.each_alone().drawn.how == "uniform"


def test_ranks_are_equal_however_they_were_drawn():
    bare = rs.Ranks(RUN.values, RUN.n_items)
    assert bare == RUN and hash(bare) == hash(RUN)
    assert "drawn" not in RUN.to_frame()


@pytest.mark.parametrize(
    ("sampled", "changes", "said"),
    [
        ([1, 2, 3], {"drawn": None}, f"drawn must say how .*{FOUR}"),
        ([1, 2, 3], {"drawn": "random"}, f"{FOUR}.* got 'random'"),
        (RUN, {"drawn": "random"}, FOUR),
        ([1, 2, 3], {"batches": [1, 2, 3]}, "batches must be None unless drawn is 'shared'"),
        ([1, 2, 3], {"drawn": "shared", "batches": [1, 2]}, "batches must have a label for each"),
        ([1, 2, 3], {"drawn": "shared", "batches": ["a", None, "b"]}, "got none in instance 1"),
        (
            rs.RankCounts.of(rs.Ranks([1, 2, 3], 21)),
            {"drawn": "shared", "batches": [1, 2, 3]},
            "batches must be None for RankCounts",
        ),
        ([1, 2, 3], {"drawn": "popular"}, "rank all items for some instances chosen at random"),
        ([1, 2, 3], {"drawn": "unknown"}, "drawn must be 'uniform' .*InverseSampling"),
        (POPULAR, {"m": None, "drawn": None}, "^sampled must be drawn 'uniform' .* got 'popular'"),
        (POPULAR, {"m": None}, "^sampled must be drawn 'uniform' .* got 'popular'"),
        (RUN, {"drawn": "shared"}, "drawn must be 'uniform', as sampled remembers"),
        (RUN, {"replace": True}, "replace must be False, as sampled remembers"),
        (RUN, {"m": 30}, "m must be the number of drawn items, 20"),
        (RUN, {"n_items": 3000}, "n_items must be .* 300 in instance 0, .* got 3000"),
        ([1, 2, 3], {"m": 30}, "replace must be stated .* m = 30 of n_items = 300"),
        ({"a": RUN, "b": RUN.drawn_as("popular")}, {}, "^sampled must be drawn 'uniform'"),
        (
            {"a": RUN, "b": rs.UniformSampling(20, replace=True).draw(X, 0)},
            {},
            "drawn for alike, got some with replacement",
        ),
    ],
)
def test_what_is_not_known_or_contradicts_is_refused(sampled, changes, said):
    with pytest.raises(ValueError, match=said):
        rs.report(sampled, **STATED | changes)


def test_replacement_matters_from_a_tenth_of_the_pool_on():
    column, few = RUN.values, {"m": 29, "n_items": N, "drawn": "uniform", "metrics": ["AUC"]}
    assert "without replacement" in rs.report(column, **few).head
    for replace, said in ((True, "with "), (False, "without ")):
        found = rs.report(column, **few | {"m": 30}, replace=replace)
        assert f"uniformly {said}replacement" in found.head


class TestShared:
    sampled = {"m": 20, "n_items": N, "drawn": "shared", "metrics": ["Recall@10", "AUC"]}
    labels = np.repeat([f"batch {i}" for i in range(20)], 10)

    def test_one_list_says_little_but_of_auc(self):
        found = rs.report(RUN.values, **self.sampled)
        recall, auc = (found.table.loc[name] for name in ("Recall@10", "AUC"))
        assert np.isnan(recall["value"]) and recall["low"] == 0 < recall["high"] < 1
        assert 0.1 < auc["high"] - auc["low"] < 2 * np.sqrt(np.log(40) / 40)
        assert "one list for all, as stated by whoever made this report" in found.head
        assert "because a list that users share is one draw" in found.sentences[0]
        assert "a mean over 20 items drawn uniformly" in found.sentences[1]
        assert not len(found.ladder)
        counted = rs.report(rs.RankCounts.of(RUN.at(RUN.values, 21)), **self.sampled)
        pd.testing.assert_frame_equal(counted.table, found.table)
        with pytest.raises(ValueError, match="a plan is made from items drawn anew"):
            found.plan("AUC", 0.1)
        assert "none" in str(found) and found.plot()

    def test_batches_are_matched_by_the_index_and_named(self):
        found = rs.report(RUN.values, **self.sampled, batches=self.labels)
        users = np.arange(200)[::-1] + 1000
        column = pd.Series(RUN.values, index=users)
        batches = pd.Series(self.labels, index=users).sample(frac=1, random_state=0)
        other = rs.report(column, **self.sampled, batches=batches)
        pd.testing.assert_frame_equal(found.table, other.table)
        assert "for each of 20 batches, as stated" in found.head
        for sentence in found.sentences:
            assert sentence.endswith("drawn uniformly and independently of each other.")
        assert found.table["value"].notna().all() and len(found.ladder) == 6
        segments = found.by(np.repeat(["a", "b"], 100))
        part = rs.report(RUN.values[:100], **self.sampled, batches=self.labels[:100])
        pd.testing.assert_frame_equal(segments.loc["a"].drop(columns="users"), part.table)

    def test_several_recommenders(self):
        runs = {"a": RUN.values, "b": rs.UniformSampling(20).draw(X, 1).values}
        for batches in (None, self.labels):
            pairs = rs.report(runs, **self.sampled, batches=batches).pairs
            assert (pairs["low"] < 0).all() and (pairs["high"] > 0).all()

    def test_items_that_share_a_draw_are_reported_as_such(self):
        several = rs.UniformSampling(20).draw(rs.Ranks(np.reshape(X.values, (100, 2)), N), 0)
        alone = several.each_alone()
        assert "one list for all by recsample" in rs.report(alone, metrics=["AUC"]).head
        users = np.repeat(np.arange(100), 2)
        found = rs.report(alone, batches=users, metrics=["AUC"]).table.loc["AUC"]
        together = rs.report(several, metrics=["AUC"]).table.loc["AUC"]
        assert found["value"] == pytest.approx(together["value"])
        assert found["low"] == pytest.approx(together["low"], abs=0.005)


class TestIndex:
    users = np.array([f"u{i}" for i in range(200)])
    column = pd.Series(RUN.values, index=users)
    other = pd.Series(rs.UniformSampling(20).draw(X, 1).values, index=users)

    def test_columns_are_matched_by_their_index(self):
        mixed = self.other.sample(frac=1, random_state=0)
        runs = [{"a": self.column, "b": one} for one in (self.other, mixed)]
        runs.append({"a": rs.Ranks(self.column.to_numpy(), 21, ids=self.users), "b": mixed})
        first, *others = (rs.report(one, **STATED).pairs for one in runs)
        for one in others:
            pd.testing.assert_frame_equal(one, first)

    def test_so_are_m_and_the_pools(self):
        sizes = pd.Series(np.arange(300, 500), index=self.users)
        wanted = rs.report(self.column.to_numpy(), **STATED | {"n_items": sizes.to_numpy()})
        found = rs.report(self.column, **STATED | {"n_items": sizes[::-1]})
        pd.testing.assert_frame_equal(found.table, wanted.table)
        assert found.per_instance["user"].tolist() == self.users.tolist()
        m = pd.Series(np.arange(200) % 2 + 19, index=self.users)
        run = np.minimum(self.column, m + 1)
        wanted = rs.report(run.to_numpy(), **STATED | {"m": m.to_numpy()})
        pd.testing.assert_frame_equal(rs.report(run, **STATED | {"m": m[::-1]}).table, wanted.table)

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"sampled": {"a": column, "b": other[:-1]}}, "sampled must .* got 'u199'"),
            ({"sampled": {"a": column, "b": other.to_numpy()}}, "sampled must .* label 'u0'"),
            ({"sampled": pd.concat([column, column])}, "sampled must .* repeated .* 'u0'"),
            ({"n_items": pd.Series(N, index=users[1:])}, "n_items must .* got 'u0'"),
            ({"sampled": column.to_numpy(), "n_items": pd.Series(N, users)}, "n_items must"),
            ({"m": pd.Series(20, index=range(200))}, "m must have the same labels .* got 0"),
        ],
    )
    def test_labels_that_differ_or_repeat_are_refused(self, changes, said):
        with pytest.raises(ValueError, match=said):
            rs.report(**{"sampled": self.column} | STATED | changes)


class TestGivenNegatives:
    scores = np.random.default_rng(1).random((60, 50))
    lists = pd.DataFrame(
        {
            "user": np.repeat(np.arange(60), 8),
            "item": np.concatenate(
                [np.random.default_rng(i).permutation(np.arange(1, 50))[:8] for i in range(60)]
            ),
        }
    )

    def evaluated(self, **options):
        return rs.evaluate(self.scores, np.zeros(60, int), metrics=["AUC"], **options)

    def test_uniform_ones_are_stated_to_be_so(self):
        found = self.evaluated(negatives=self.lists, drawn="uniform")
        assert found.table["value"].notna().all()
        assert "as stated by whoever made this report" in found.head

    @pytest.mark.parametrize("drawn", ["popular", "unknown"])
    def test_of_others_nothing_is_said_but_what_to_do(self, drawn):
        found = self.evaluated(negatives=self.lists, drawn=drawn)
        assert found.table[["value", "low", "high"]].isna().all(axis=None)
        assert found.table["sampled"].notna().all()
        for text in (found.head, *found.sentences):
            assert repr(drawn) in text and "cannot be corrected" in text
            assert "same call without negatives gives the exact metrics" in text

    @pytest.mark.parametrize("n_lists", [1, 2, 12])
    def test_shared_ones_have_limits_by_items_or_by_batches(self, n_lists):
        rng = np.random.default_rng(n_lists)
        lists = [1 + rng.choice(49, 10, replace=False) for _ in range(n_lists)]
        batches = np.arange(60) % n_lists
        table = pd.DataFrame(
            {
                "user": np.repeat(np.arange(60), 10),
                "item": np.concatenate([lists[b] for b in batches]),
            }
        )
        table = table[table["user"] % 7 != table["item"] % 11]  # as if they knew some already
        found = self.evaluated(negatives=table, drawn="shared")
        shares = [
            (self.scores[user, 0] > self.scores[user, part]).mean()
            for user, part in table.groupby("user")["item"]
        ]
        row = found.table.loc["AUC"]
        assert row["value"] == pytest.approx(np.mean(shares))
        assert row["low"] < rs.evaluate(self.scores, np.zeros(60, int)).table["value"]["AUC"]
        pairs = set(zip(found.ranked.batches.tolist(), batches.tolist()))
        assert len(pairs) == n_lists == len({batch for batch, _ in pairs})
        if n_lists < 5:
            assert found.ranked.items[""].mean() == pytest.approx(np.mean(shares))
            n_listed = len(np.unique(np.concatenate(lists)))
            assert f"a mean over the {n_listed} listed items drawn uniformly" in found.sentences[0]
        else:
            assert "All limits are by batches" in found.sentences[0]
            assert "for each of 12 batches" in found.head

    def test_it_is_asked_for_with_lists_and_with_nothing_else(self):
        with pytest.raises(ValueError, match=FOUR):
            self.evaluated(negatives=self.lists)
        for options in ({}, {"sampler": rs.UniformSampling(5)}):
            with pytest.raises(ValueError, match="drawn must be None without negatives"):
                self.evaluated(drawn="uniform", **options)

    def test_a_sampler_knows_how_it_draws(self):
        found = self.evaluated(sampler=rs.UniformSampling(20, replace=True))
        assert "uniformly with replacement by recsample" in found.head
