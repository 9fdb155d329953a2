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
POPULAR = rs.Ranks([1, 2, 3], 4).drawn_as("popular", False)
STATED = {"m": 20, "n_items": N, "drawn": "uniform", "metrics": ["AUC"]}
THREE = r"drawn must be 'uniform' \(.*, 'popular' \(.*, or 'unknown' \("


def test_what_this_package_drew_needs_no_statement():
    found = rs.report(RUN, metrics=["AUC"])
    stated = rs.report(RUN.values, **STATED)
    pd.testing.assert_frame_equal(found.table, stated.table)
    assert "drawn uniformly, anew for each instance, by recsample" in found.footnote
    assert "as stated by whoever made this report" in stated.footnote
    assert rs.report(RUN, **STATED, replace=False).sentences == found.sentences
    beside = rs.report({"a": RUN, "b": RUN.values}, **STATED)
    assert "as stated by" in beside.footnote


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
        ([1, 2, 3], {"drawn": None}, f"{THREE}.* got None"),
        ([1, 2, 3], {"drawn": "random"}, f"{THREE}.* got 'random'"),
        (RUN, {"drawn": "random"}, THREE),
        ([1, 2, 3], {"drawn": "all"}, f"{THREE}.* got 'all'"),
        ([1, 2, 3], {"drawn": "shared"}, "got 'shared': .* users chosen at random.*exact="),
        (
            [1, 2, 3],
            {"drawn": "popular"},
            "^replace must be False .* 'popular', got None: state replace=False",
        ),
        (
            POPULAR.drawn_as("popular", True),
            {"m": None, "drawn": None},
            "^replace must .* got True",
        ),
        (POPULAR, {"m": None}, "drawn must be 'popular', as sampled remembers"),
        (RUN, {"drawn": "popular"}, "drawn must be 'uniform', as sampled remembers"),
        (RUN, {"replace": True}, "replace must be False, as sampled remembers"),
        (RUN, {"m": 30}, "m must be the number of drawn items, 20"),
        (RUN, {"n_items": 3000}, "n_items must be .* 300 in instance 0, .* got 3000"),
        ([1, 2, 3], {"m": 30}, "replace must be stated .* m = 30 of n_items = 300"),
        (
            {"a": RUN, "b": RUN.drawn_as("popular", False)},
            {"drawn": None},
            r"one way, got \['popular', 'unif",
        ),
        (
            {"a": RUN, "b": rs.UniformSampling(20, replace=True).draw(X, 0)},
            {},
            r"all without, got \['False', 'True'\]: report them alone",
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
        assert f"drawn {said}replacement" in found.head


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
            ({"sampled": pd.concat([column, column])}, "sampled must .* got 2 for 'u0'"),
            ({"n_items": pd.Series(N, index=users[1:])}, "n_items must .* got 'u0'"),
            ({"sampled": column.to_numpy(), "n_items": pd.Series(N, users)}, "n_items must"),
            ({"m": pd.Series(20, index=range(200))}, "m must have the same labels .* got 0"),
        ],
    )
    def test_labels_that_differ_or_repeat_are_refused(self, changes, said):
        with pytest.raises(ValueError, match=said):
            rs.report(**{"sampled": self.column} | STATED | changes)
