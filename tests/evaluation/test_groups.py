"""Whose a row is: limits count groups and runs, and reports say what several rows of a user are."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from thorough import thorough

import recsample as rs
from recsample._support.numerics import limits_of_mean
from recsample.evaluation.command_line import main
from recsample.evaluation.runs import spread_of
from recsample.inference.comparison import of_differences

N_ITEMS, M, N_USERS, K = 300, 29, 60, 5
STATED = {"m": M, "n_items": N_ITEMS, "drawn": "uniform"}
METRICS = ["Recall@10", "AUC"]
rng = np.random.default_rng(0)
EXACT = 1 + np.minimum(rng.exponential(40, N_USERS).astype(int), N_ITEMS - 1)
DRAWN = 1 + rng.hypergeometric(EXACT - 1, N_ITEMS - EXACT, M, (K, N_USERS))
COLUMN, OWNER = DRAWN.ravel(), np.tile(np.arange(N_USERS), K)
NAMED = pd.Series(COLUMN, [f"user {one}" for one in OWNER])


# Several rows of a user


@pytest.mark.parametrize(
    "ask, user",
    [
        (lambda: rs.report(NAMED, **STATED), "'user 0'"),
        (lambda: rs.report({"a": NAMED, "b": NAMED}, **STATED), "'user 0'"),
        (lambda: rs.report(rs.Ranks(COLUMN, M + 1, ids=OWNER), None, 300, drawn="uniform"), "0"),
    ],
)
def test_several_rows_of_a_user_are_refused_with_both_ways_out(ask, user):
    with pytest.raises(ValueError, match="sampled must have one row for each user") as refused:
        ask()
    assert f"got {K} for {user}: give " in str(refused.value)
    assert all(way in str(refused.value) for way in ("one list of rs.Ranks", "with groups=, "))


def test_groups_say_whose_rows_are():
    """By place, by the names of rows, and by those of users that have several."""
    sessions = pd.Series(COLUMN, [f"session {one}" for one in range(len(COLUMN))])
    whose = dict(zip(sessions.index, OWNER))
    found = rs.report(COLUMN, groups=OWNER, metrics=METRICS, **STATED)
    same = {f"user {one}": one for one in range(N_USERS)}
    for rows, groups in (
        (sessions, whose),
        (pd.Series(COLUMN), OWNER),
        (NAMED, OWNER),
        (NAMED, same),
        (NAMED, NAMED.index),
        (rs.Ranks(COLUMN, M + 1, ids=OWNER), OWNER),
    ):
        stated = STATED | {"m": None} if isinstance(rows, rs.Ranks) else STATED
        one = rs.report(rows, groups=groups, metrics=METRICS, **stated)
        pd.testing.assert_frame_equal(one.table, found.table)
    with pytest.raises(ValueError, match="groups must hold each user once, got two for 'user 0'"):
        rs.report(NAMED, groups=np.arange(K * N_USERS), **STATED)


def test_of_repeated_draws_limits_hold_in_place_of_being_too_narrow():
    """All five rows of a user tell of one exact rank."""
    alone = rs.report(COLUMN, metrics=["AUC"], **STATED).table.loc["AUC"]
    found = rs.report(COLUMN, groups=OWNER, metrics=["AUC"], **STATED).table.loc["AUC"]
    assert found["value"] == pytest.approx(alone["value"])
    assert found["high"] - found["low"] > 1.8 * (alone["high"] - alone["low"])


def test_segments_count_users_however_many_rows_they_have():
    found = rs.report(NAMED, groups=OWNER, metrics=["AUC"], **STATED)
    parts = found.by({f"user {one}": one % 3 > 0 for one in range(N_USERS)})
    assert parts["users"].tolist() == [N_USERS / 3, 2 * N_USERS / 3]


def test_estimates_of_groups_are_those_of_the_rows():
    alone = rs.report(COLUMN, metrics=METRICS, **STATED)
    apart = rs.report(COLUMN, groups=OWNER, metrics=METRICS, **STATED)
    assert apart.table["value"].tolist() == pytest.approx(alone.table["value"].tolist())
    assert apart.head.startswith(f"{K * N_USERS} instances")
    assert f"They belong to {N_USERS} groups" in apart.head
    for metric in METRICS:
        one, other = apart.table.loc[metric], alone.table.loc[metric]
        assert one["low"] < other["low"] and one["high"] > other["high"]
    # A linear metric has the limits of the mean of its means by user.
    means = rs.AUC(rs.Ranks(COLUMN, M + 1)).reshape(K, N_USERS).mean(axis=0)
    wanted = limits_of_mean(means, 0.95, ends=(0.0, 1.0))
    assert apart.table.loc["AUC", ["low", "high"]].tolist() == pytest.approx(wanted)


def test_each_group_weighs_as_one_observation():
    """Rows that say the same several times over tell no more than one of them."""
    once = rs.report(DRAWN[0], metrics=METRICS, **STATED)
    same = np.tile(DRAWN[0], K)
    found = rs.report(same, groups=OWNER, metrics=METRICS, **STATED)
    for metric in METRICS:
        wanted = once.table.loc[metric, ["low", "high"]].astype(float)
        got = found.table.loc[metric, ["low", "high"]].astype(float)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4)
    assert found.fit.iloc[0, 0] == pytest.approx(once.fit.iloc[0, 0])
    pair = {"a": same, "b": np.tile(DRAWN[1], K)}
    alone = {"a": DRAWN[0], "b": DRAWN[1]}
    pairs = rs.report(pair, groups=OWNER, metrics=METRICS, **STATED).pairs
    wanted = rs.report(alone, metrics=METRICS, **STATED).pairs
    ends = ["low", "high", "probability"]
    np.testing.assert_allclose(pairs[ends], wanted[ends], rtol=5e-3, atol=2e-3)


def test_ranks_hold_lists_together_and_groups_say_whose_these_are():
    g = np.random.default_rng(2)
    lists = rs.Ranks([np.sort(g.choice(200, 1 + i % 2, replace=False)) + 1 for i in range(80)], 300)
    lists, stated = rs.UniformSampling(M).draw(lists, 0), {"metrics": METRICS}
    alone, groups = rs.report(lists, **stated), np.arange(80) // 4
    found = rs.report(lists, groups=groups, **stated)
    assert found.table["value"].tolist() == pytest.approx(alone.table["value"].tolist())
    assert (found.table["high"] > alone.table["high"]).all()


@pytest.mark.parametrize(
    "given, said",
    [
        ({"groups": OWNER[1:]}, "groups must hold one for each of the 300 users"),
        ({"groups": dict(enumerate(OWNER[1:]))}, "every user, got none for 299"),
        ({"groups": np.zeros(300)}, "groups must tell at least two apart, got 1"),
        ({"groups": OWNER, "exact": COLUMN}, "exact must come without groups"),
    ],
)
def test_what_a_report_refuses(given, said):
    with pytest.raises(ValueError, match=said):
        rs.report(COLUMN, **STATED | given)


def test_recommenders_with_repeated_users_are_in_one_order():
    with pytest.raises(ValueError, match="the same index in the same order for each recommender"):
        rs.report({"a": NAMED, "b": NAMED[::-1]}, groups=OWNER, **STATED)
    counts = rs.RankCounts.of(COLUMN, M + 1)
    with pytest.raises(ValueError, match="groups must come with Ranks: RankCounts do not say"):
        rs.report(counts, groups=OWNER, n_items=N_ITEMS, drawn="uniform")


def test_what_is_stated_of_rows_goes_by_their_users():
    pools = pd.Series(np.arange(300, 300 + N_USERS), [f"user {one}" for one in range(N_USERS)])
    how = {"drawn": "uniform", "groups": OWNER, "metrics": METRICS}
    by_user = rs.report(NAMED, M, pools[::-1], **how)
    by_row = rs.report(NAMED, M, pools[NAMED.index], **how)
    at = rs.report(NAMED, M, 300 + OWNER, **how)
    assert by_user.table.equals(by_row.table) and by_user.table.equals(at.table)


# Groups of users with exact ranks


def scores_of(seed, n_groups=40, size=5, n_items=50):
    g = np.random.default_rng(seed)
    own = np.repeat(g.normal(1, 1, n_groups), size) + g.normal(size=n_groups * size)
    return np.c_[own, g.normal(size=(n_groups * size, n_items - 1))]


SCORES = scores_of(0)
PERSON = np.repeat(np.arange(40), 5)


def test_limits_are_those_of_the_means_of_equal_groups():
    found = rs.evaluate(
        SCORES, np.zeros(200, int), drawn="all", groups=PERSON, metrics=["AUC", "Recall@5"]
    )
    for metric in found.table.index:
        values = found.per_instance.query("metric == @metric")["value"].to_numpy()
        wanted = limits_of_mean(values.reshape(40, 5).mean(axis=1), 0.95, ends=(0.0, 1.0))
        # Limits of groups are searched for, to a millionth of the range.
        limits = found.table.loc[metric, ["low", "high"]].tolist()
        assert limits == pytest.approx(wanted, abs=1e-6)
        assert found.table.loc[metric, "value"] == pytest.approx(values.mean())
    assert "for other groups like these" in str(found).replace("\n", " ")
    parts = found.by(np.arange(200) % 5 < 2)
    assert sorted(parts["users"]) == [80, 80, 120, 120]
    with pytest.raises(ValueError, match="segments must hold at least two groups each"):
        found.by(PERSON)


def test_groups_are_a_column_a_mapping_or_numbers():
    users = [f"session {one}" for one in range(200)]
    table = pd.DataFrame({"user": users, "item": 0, "person": PERSON % 2 + 2 * (PERSON // 2)})
    scores = pd.DataFrame(SCORES, users).rename_axis("user").reset_index()
    scores = scores.melt("user", var_name="item", value_name="score").sample(frac=1, random_state=0)
    scores["item"] = scores["item"].astype(int)
    wanted = rs.evaluate(
        SCORES, np.zeros(200, int), drawn="all", groups=PERSON, metrics=["AUC"]
    ).table
    pairs = table[["user", "item"]]
    mapping = dict(zip(users, PERSON))
    for held_out, groups in (
        (table, "person"),
        (pairs, mapping),
        (pairs, pd.Series(mapping)[::-1]),
        (pairs, table[["user", "person"]]),
    ):
        found = rs.evaluate(scores, held_out, drawn="all", groups=groups, metrics=["AUC"])
        np.testing.assert_allclose(found.table.astype(float), wanted.astype(float))
    two = pd.concat([table, table.head(1).assign(item=1, person=7)])
    with pytest.raises(ValueError, match="must hold each user once, got two for 'session 0'"):
        rs.evaluate(scores, two, groups="person")
    with pytest.raises(ValueError, match="groups must hold every user, got none for 'session 0'"):
        rs.evaluate(scores, pairs, drawn="all", groups={"session 1": 1})


def test_a_group_of_its_own_for_each_changes_nothing():
    runs = {"a": SCORES, "b": scores_of(1)}
    alone = rs.evaluate(runs, np.zeros(200, int), drawn="all", metrics=METRICS)
    found = rs.evaluate(
        runs, np.zeros(200, int), drawn="all", groups=np.arange(200)[::-1], metrics=METRICS
    )
    assert found == alone


def test_differences_of_unequal_groups_are_of_the_rows():
    g = np.random.default_rng(3)
    owner = np.repeat(np.arange(60), g.integers(1, 6, 60))
    rows = g.uniform(-0.9, 1, (3, len(owner)))
    for found, row in zip(of_differences(rows, 0.95, (-1.0, 1.0), owner), rows):
        assert found.difference == pytest.approx(row.mean())
        low, high = limits_of_mean(row, 0.95, ends=(-1.0, 1.0), groups=owner)
        assert (found.low, found.high) == pytest.approx((low, high))
        off = np.bincount(owner, row - row.mean())  # the linearised ratio of survey sampling
        error = np.sqrt((off**2).sum()) / len(owner)
        assert 0.95 * 3.92 * error < high - low < 2 * 3.92 * error


# How often limits hold, of ten rows of each person that depend on each other in different ways


def rows_of(how, n_groups, g, size=10):
    """Values of rows, whose mean is 0.1, and the group of each."""
    sizes = np.full(n_groups, size) if size else g.geometric(0.25, n_groups)
    owner = np.repeat(np.arange(n_groups), sizes)
    own, alone = g.random(n_groups)[owner], g.random(len(owner))
    values = {
        "equal": own < 0.1,
        "independent": alone < 0.1,
        "some": np.where(alone < 0.5, own < 0.1, g.random(len(owner)) < 0.1),
        "graded": 0.2 * (own + alone) / 2,
        "rare": (own < 0.15) & (alone < 2 / 3),
        "one of ten": np.arange(len(owner)) % 10 == 0,
    }
    return values[how].astype(float), owner


@pytest.mark.parametrize("how", ["equal", "independent", "some", "graded", "rare", "one of ten"])
@pytest.mark.parametrize("n_runs, size", [(40, 10), thorough(300, 10), thorough(150, None)])
def test_limits_of_dependent_rows_hold(how, n_runs, size):
    g = np.random.default_rng(4)
    held = 0
    for _ in range(n_runs):
        values, owner = rows_of(how, 100, g, size)
        low, high = limits_of_mean(values, 0.95, ends=(0.0, 1.0), groups=owner)
        held += low <= 0.1 <= high
    assert held >= stats.binom.ppf(0.001, n_runs, 0.94 if n_runs > 100 else 0.95)


@pytest.mark.thorough
@pytest.mark.parametrize("n_groups", [5, 30])
@pytest.mark.parametrize("largest, share", [(10, 0.3), (50, 0.1)])
@pytest.mark.parametrize("of_large", [1, 0])
def test_limits_hold_where_rare_groups_are_far_larger(n_groups, largest, share, of_large):
    """All rows of large groups have one value, all others the other one.

    Limits say that they take no group to be larger than those seen: so a study misses where the
    limits do, and it has seen a large group.
    """
    g, n_runs = np.random.default_rng(8), 150
    # The mean over rows of all groups that there are.
    mean = np.average([of_large, 1 - of_large], weights=[share * largest, 1 - share])
    missed = 0
    for _ in range(n_runs):
        is_large = g.random(n_groups) < share
        owner = np.repeat(np.arange(n_groups), np.where(is_large, largest, 1))
        values = np.where(is_large[owner], of_large, 1.0 - of_large)
        low, high = limits_of_mean(values, 0.95, ends=(0.0, 1.0), groups=owner)
        missed += is_large.any() and not low - 1e-6 <= mean <= high + 1e-6
    assert missed <= stats.binom.ppf(0.999, n_runs, 0.05)


def test_the_largest_group_is_said():
    owner = np.repeat([7, 8, 9], [2, 5, 193])
    found = rs.evaluate(SCORES, np.zeros(200, int), drawn="all", groups=owner, metrics=["AUC"])
    said = "They belong to 3 groups, the largest of 193; limits count groups, and take no larger"
    assert said in found.head and said in found.footnote
    assert "group" not in rs.evaluate(SCORES, np.zeros(200, int), drawn="all", metrics=["AUC"]).head


@pytest.mark.parametrize("how", ["equal", "half", "independent"])
@pytest.mark.parametrize("n_runs", [2, thorough(20)])
def test_limits_of_reports_of_dependent_rows_hold(how, n_runs):
    g, ranks = np.random.default_rng(5), np.arange(1, 501)
    chances = ranks**-0.8 / (ranks**-0.8).sum()
    own = np.repeat(np.arange(60), 10)
    held = 0
    for _ in range(n_runs):
        person, alone = g.choice(ranks, 60, p=chances)[own], g.choice(ranks, 600, p=chances)
        share = {"equal": 1, "half": 0.5, "independent": 0}[how]
        exact = np.where(g.random(600) < share, person, alone)
        column = 1 + g.hypergeometric(exact - 1, 500 - exact, 30)
        found = rs.report(column, 30, 500, drawn="uniform", groups=own, metrics=["Recall@10"])
        row = found.table.loc["Recall@10"]
        held += row["low"] <= chances[:10].sum() <= row["high"]
    assert held >= stats.binom.ppf(0.001, n_runs, 0.95)


# Runs of a recommender


def runs_of(n_users=120, n_items=40, seeds=3):
    g = np.random.default_rng(0)
    base = g.normal(size=(n_users, n_items))
    base[:, 0] += 1.5
    return {
        name: {k: base + g.normal(0, spread, base.shape) for k in range(seeds)}
        for name, spread in (("a", 0.3), ("b", 1.5))
    }


RUNS = runs_of()
FIRST = np.zeros(120, int)


def long(arrays):
    parts = [
        pd.DataFrame(one)
        .rename_axis("user")
        .reset_index()
        .melt("user", var_name="item", value_name="score")
        .assign(model=name, seed=k)
        for name, of in arrays.items()
        for k, one in of.items()
    ]
    return pd.concat(parts)


def test_seeds_of_two_models_are_one_pair():
    found = rs.evaluate(RUNS, FIRST, drawn="all", run="seed", metrics=METRICS)
    assert len(found.pairs) == 2 and [*found.table.index.levels[0]] == ["a", "b"]
    each = {f"{name} {k}": one for name, of in RUNS.items() for k, one in of.items()}
    alone = rs.evaluate(each, FIRST, drawn="all", metrics=METRICS)
    for metric in METRICS:
        values = alone.per_instance.query("metric == @metric")
        table = values.pivot(index="recommender", columns="user", values="value").to_numpy()
        apart = table[:3] - table[3:]
        for rows, one in ((table[:3], found.table.loc["a", metric]), (apart, None)):
            if one is None:
                one = found.pairs.loc["a", "b", metric].rename({"difference": "value"})
            ends = (0.0, 1.0) if rows is not apart else (-1.0, 1.0)
            low, high = limits_of_mean(rows.mean(axis=0), 0.95, ends=ends)
            reach = stats.t.ppf(0.975, 2) * rows.mean(axis=1).std(ddof=1) / np.sqrt(3)
            assert one["value"] == pytest.approx(rows.mean())
            assert one["low"] == pytest.approx(one["value"] - np.hypot(one["value"] - low, reach))
            assert one["high"] == pytest.approx(one["value"] + np.hypot(high - one["value"], reach))
    assert (found.pairs["ahead"] == "a").all() and (found.pairs["probability"] > 0.975).all()
    assert "for other users and runs like these" in str(found).replace("\n", " ")
    shares = found.table[["from_users", "from_runs"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    held_out = pd.DataFrame({"user": range(120), "item": 0})
    by_column = rs.evaluate(long(RUNS), held_out, drawn="all", run="seed")
    again = rs.evaluate(RUNS, FIRST, drawn="all", run="seed")
    pd.testing.assert_frame_equal(by_column.table, again.table)
    pd.testing.assert_frame_equal(by_column.pairs, again.pairs)
    assert by_column.by(np.arange(120) % 2)["users"].eq(60).all()


def test_runs_are_paired_by_their_names():
    """Folds of unlike difficulty: the same shift of both recommenders in each."""
    g, shift = np.random.default_rng(7), {"one": -2.0, "two": 0.0, "three": 2.0}
    runs = {
        name: {fold: own + np.pad([[by]], ((0, 0), (0, 39))) for fold, by in shift.items()}
        for name, own in (("a", g.normal(size=(120, 40))), ("b", g.normal(size=(120, 40))))
    }
    order = ["three", "one", "two"]
    turned = runs | {"b": {fold: runs["b"][fold] for fold in order}}
    renamed = runs | {"b": {f"other {fold}": one for fold, one in runs["b"].items()}}
    usual, other, apart = (
        rs.evaluate(one, FIRST, drawn="all", run="fold", metrics=["AUC"]).pairs.loc["a", "b", "AUC"]
        for one in (runs, turned, renamed)
    )
    ends = ["low", "high", "probability"]
    assert other[ends].tolist() == pytest.approx(usual[ends].tolist(), abs=1e-12)
    each = {f"{name} {fold}": one for name, of in runs.items() for fold, one in of.items()}
    alone = (
        rs.evaluate(each, FIRST, drawn="all", metrics=["AUC"])
        .table["value"]
        .to_numpy()
        .reshape(2, 3)
    )
    # Of paired runs the differences vary, of others the values of both do.
    paired = stats.t.ppf(0.975, 2) * (alone[0] - alone[1]).std(ddof=1) / np.sqrt(3)
    independent = stats.t.ppf(0.975, 2) * np.hypot(*alone.std(ddof=1, axis=1)) / np.sqrt(3)
    of_users = np.sqrt((usual["high"] - usual["difference"]) ** 2 - paired**2)
    wanted = min(1.0, apart["difference"] + np.hypot(of_users, independent))
    assert apart["high"] == pytest.approx(wanted)
    assert independent > 5 * paired


def test_variances_are_those_of_crossed_random_effects():
    """The mean squares of an analysis of variance, by sums of squares of a known table."""
    g = np.random.default_rng(1)
    table = g.normal(size=(4, 1)) + 2 * g.normal(size=30) + 0.5 * g.normal(size=(4, 30))
    found = spread_of(table, None)
    total = ((table - table.mean()) ** 2).sum()
    between_runs = 30 * ((table.mean(axis=1) - table.mean()) ** 2).sum()
    between_users = 4 * ((table.mean(axis=0) - table.mean()) ** 2).sum()
    assert found.runs == pytest.approx(between_runs / 3 / 120)
    assert found.users == pytest.approx(between_users / 29 / 120)
    assert found.both == pytest.approx((total - between_runs - between_users) / 87 / 120)
    # What runs change for all users alike, beside what users change.
    of_runs = (between_runs / 3 - (total - between_runs - between_users) / 87) / 120
    share = of_runs / (of_runs + found.users)
    assert found.shares == pytest.approx({"from_users": 1 - share, "from_runs": share})
    grouped = spread_of(np.repeat(table, 3, axis=1), np.repeat(np.arange(30), 3))
    assert grouped == pytest.approx(found)


def test_variances_of_groups_of_unlike_sizes_are_those_of_leaving_one_out():
    """By the jackknife: of the mean, and of what each run is off it."""
    g, n = np.random.default_rng(9), 200
    owner = np.repeat(np.arange(n), g.integers(1, 8, n))
    table = 3 + g.normal(size=n)[owner] + g.normal(size=(3, 1)) + g.normal(size=(3, len(owner)))
    found = spread_of(table, owner)
    means = np.array([table[:, owner != one].mean(axis=1) for one in range(n)])
    off = means - means.mean(axis=1, keepdims=True)
    assert found.users == pytest.approx((n - 1) * means.mean(axis=1).var(), rel=0.03)
    assert found.both == pytest.approx((n - 1) * off.var(axis=0).sum() / (3 * 2), rel=0.03)
    assert found.runs == pytest.approx(table.mean(axis=1).var(ddof=1) / 3)


def test_a_single_run_has_limits_for_other_users_only():
    runs = {"a": RUNS["a"], "one": {"": RUNS["b"][0]}}
    found = rs.evaluate(runs, FIRST, drawn="all", run="seed", metrics=["AUC"])
    alone = rs.evaluate(RUNS["b"][0], FIRST, drawn="all", metrics=["AUC"]).table.loc["AUC"]
    assert found.table.loc["one", "AUC"].tolist()[:3] == pytest.approx(alone.tolist())
    assert found.table.loc["one", "AUC"].isna().sum() == 2
    assert any("a single run, whose limits count users only: 1" in one for one in found.notes)
    assert "Values are means over 1 to 3 runs." in found.head
    alone = rs.evaluate(
        {"one": {"": RUNS["b"][0]}}, FIRST, drawn="all", run="seed", metrics=["AUC"]
    )
    assert "Values are means over 1 run." in alone.head
    assert "for other users like these" in alone.sentences[0] and "runs" not in str(alone)


def test_two_runs_do_not_say_whose_variance_is_how_large():
    two = {name: {k: of[k] for k in (0, 1)} for name, of in RUNS.items()}
    found = rs.evaluate(two, FIRST, drawn="all", run="seed", metrics=METRICS)
    assert found.table[["from_users", "from_runs"]].isna().all(axis=None)
    assert found.table[["low", "high"]].notna().all(axis=None)


@pytest.mark.parametrize("seed_effect, user_effect", [(0.5, 1.0), (0.1, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("n_seeds, n_runs", [(3, 60), thorough(2, 500), thorough(5, 500)])
def test_limits_count_users_and_runs(seed_effect, user_effect, n_seeds, n_runs):
    """Of means that are normal, about 0."""
    g, held = np.random.default_rng(6), 0
    for _ in range(n_runs):
        table = g.normal(0, user_effect, 50) + g.normal(0, seed_effect, (n_seeds, 1))
        table = table + g.normal(size=(n_seeds, 50))
        down, up = limits_of_mean(table.mean(axis=0), 0.95, ends=(-9.0, 9.0))
        side = up - table.mean() if table.mean() < 0 else table.mean() - down
        held += abs(table.mean()) <= np.hypot(side, spread_of(table, None).reach(0.95))
    assert held >= stats.binom.ppf(0.001, n_runs, 0.95)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"run": "fold"}, "scores must have the column 'fold' (another one: run=...)"),
        ({"unlisted": "open"}, "run must be None where unlisted is 'open', got 'seed'"),
        ({"unlisted": "out", "drawn": "uniform"}, "run must be None where drawn is 'uniform'"),
        ({"among": rs.UniformSampling(3)}, "run must be None where among is a sampler, got 'seed'"),
    ],
)
def test_runs_that_are_refused(given, said):
    held_out = pd.DataFrame({"user": range(120), "item": 0})
    with pytest.raises(ValueError, match=re.escape(said)):
        rs.evaluate(long(RUNS), held_out, **{"run": "seed", **given})


HELD_OUT = pd.DataFrame({"user": [0, 1, 2], "item": [0, 1, 2]})


# The command


def test_the_command_says_what_python_says(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held_out = pd.DataFrame({"user": range(120), "item": 0, "person": np.arange(120) // 2})
    long(RUNS).to_csv("scores.csv", index=False)
    held_out.to_csv("held_out.csv", index=False)
    asked = "--scores scores.csv --held-out held_out.csv --groups person --run seed --metrics auc"
    assert main(["evaluate", *asked.split(), "--drawn", "all", "--format", "csv"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    wanted = rs.evaluate(
        long(RUNS), held_out, drawn="all", groups="person", run="seed", metrics=["AUC"]
    ).table
    for column in ("value", "low", "high", "from_runs"):
        assert found[column].tolist() == pytest.approx(wanted[column].tolist())
    for less, more, said in (
        ("", "--sample 5", "error: --run must be left out where --sample is given, got 'seed'"),
        (
            "",
            "--unlisted open",
            "error: --run must be left out where --unlisted is 'open', got 'seed'",
        ),
        (
            "--run seed",
            "--run fold",
            "error: --run must name one column of scores.csv, got 'fold' where the",
        ),
        (
            "--groups person",
            "--groups room",
            "error: --groups must name one column of held_out.csv, got 'room' where",
        ),
    ):
        assert main(["evaluate", *asked.replace(less, "").split(), *more.split()]) == 2
        assert said in capsys.readouterr().err
    pd.DataFrame({"user": OWNER, "rank": COLUMN}).to_csv("ranks.csv", index=False)
    asked = f"ranks.csv --m {M} --items {N_ITEMS} --drawn uniform --groups user --metrics auc"
    assert main(["report", *asked.split(), "--format", "csv"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    table = rs.report(COLUMN, groups=OWNER, metrics=["AUC"], **STATED).table.loc["AUC"]
    assert found.loc[0, ["low", "high"]].tolist() == pytest.approx([table["low"], table["high"]])


@pytest.mark.parametrize(
    "call, said",
    [
        (
            lambda: rs.evaluate(np.eye(3), [0, 1, 2], groups=[7] * 3),
            "groups must tell at least two",
        ),
        (
            lambda: rs.report([1, 2], groups=[7, 7], **STATED),
            "groups must tell at least two apart, got 1",
        ),
        (
            lambda: rs.evaluate(np.eye(3), [0, 1, 2], groups="person"),
            "groups must be a column of held_out, .* 'person' where held_out is no dataframe",
        ),
        (
            lambda: rs.evaluate(np.eye(3), HELD_OUT, groups="person"),
            r"groups must be a column of held_out, .* where held_out has the columns \['user'",
        ),
        (
            lambda: rs.evaluate(np.eye(3), HELD_OUT.assign(p=[1, 2, None]), groups="p"),
            "groups must not have missing values, got 1 of 3, the first in column 'p', row 2",
        ),
        (
            lambda: rs.evaluate(np.eye(3), HELD_OUT, groups=pd.Series([1, 1], [0, 1])),
            "groups must hold every user, got none for 2$",
        ),
        (
            lambda: rs.evaluate(np.eye(3), HELD_OUT, groups=pd.Series([1, 2, 1], [0, 0, 1])),
            "groups must hold each user once, got two for 0$",
        ),
        (lambda: rs.evaluate(np.eye(3), [0, 1, 2], groups=5), "groups must hold one for each user"),
        (
            lambda: rs.evaluate({"a": {1: np.eye(3), "1": np.eye(3)}}, [0, 1, 2], run="seed"),
            "scores must",
        ),
        (
            lambda: rs.evaluate(
                {"a, s 1": {"2": np.eye(3)}, "a": {"1, s 2": np.eye(3)}}, [0, 1, 2], run="s"
            ),
            "scores must have names that tell runs apart, got two 'a, s 1, s 2'",
        ),
        (
            lambda: rs.evaluate({"a": {1: np.eye(3)}}, [0, 1, 2], run="user"),
            "run must be a column of its own, got 'user'",
        ),
    ],
)
def test_what_cannot_be_told_apart_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
