"""What a mean among drawn items says: exact Recall@K over known cut-offs, or an upper limit."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

import recsample as rs

RECORDED = rs.datasets.recorded_ranks()
METRICS = [rs.Recall @ 2, rs.NDCG @ 3, rs.NDCG, rs.AP, rs.AUC]


def all_draws(rank, n, m, replace=False):
    """The sampled rank for each possible draw of m of the n - 1 irrelevant items."""
    pool = range(n - 1)
    draws = product(pool, repeat=m) if replace else combinations(pool, m)
    return [1 + sum(item < rank - 1 for item in drawn) for drawn in draws]


@pytest.mark.parametrize("replace", [False, True])
def test_over_all_draws_it_is_the_mean_of_exact_recall(replace):
    n, m, exact = 6, 2, np.array([1, 3, 3, 5, 6])
    ranks = np.ravel([all_draws(rank, n, m, replace) for rank in exact])
    found = rs.report(ranks, m, n, drawn="uniform", replace=replace, metrics=METRICS).reading
    assert len(found) == len(METRICS)
    for metric, row in zip(METRICS, found.itertuples()):
        means = [metric.of_rank(all_draws(r, n, m, replace), m + 1).mean() for r in range(1, n + 1)]
        weights = -np.diff(means)
        recall = [(exact <= k).mean() for k in range(1, n)]
        assert row.value == pytest.approx(weights @ recall / weights.sum(), abs=1e-12)
        upto = np.cumsum(weights) / weights.sum()
        wanted = [1 + np.flatnonzero(upto >= share - 1e-12)[0] for share in (0.05, 0.5, 0.95)]
        assert [row.cutoff_low, row.cutoff, row.cutoff_high] == wanted


def test_limits_of_hits_are_those_of_a_share():
    sampled = rs.UniformSampling(m=100).draw(rs.Ranks(RECORDED["X"].values[:400], 4_000), rng=0)
    found = rs.report(sampled, metrics=["Recall@10"]).reading.loc["Recall@10"]
    hits = int((sampled.values <= 10).sum())
    wanted = stats.binomtest(hits, 400).proportion_ci(0.95, method="exact")
    assert found["value"] == hits / 400
    assert found[["low", "high"]].tolist() == pytest.approx([wanted.low, wanted.high], abs=1e-6)


def test_where_pools_differ_no_cut_off_is_the_one():
    sampled = rs.UniformSampling(m=20).draw(rs.Ranks([3, 9, 90], [100, 400, 200]), rng=0)
    found = rs.report(sampled, metrics=["Recall@5"]).reading.loc["Recall@5"]
    ends = [rs.UniformSampling(m=20).effective_cutoffs("Recall@5", n) for n in (100, 400)]
    assert np.isnan(found["cutoff"])
    assert found["cutoff_low"] == ends[0].low and found["cutoff_high"] == ends[1].high


def test_the_pair_of_the_paper_is_decided_in_the_order_that_is_not_the_exact_one():
    sampled = {
        name: rs.UniformSampling(m=100).draw(rs.Ranks(RECORDED[name].values, 4_000), rng=i)
        for i, name in enumerate("XY")
    }
    found = rs.report(sampled, metrics=["Recall@10", "AUC"])
    assert found.pairs.loc[("X", "Y", "Recall@10"), "ahead"] == "undecided"
    assert found.reading_pairs.loc[("X", "Y", "Recall@10"), "ahead"] == "X"
    exact = {name: (RECORDED[name].values <= 10).mean() for name in "XY"}
    assert exact["Y"] > exact["X"]
    assert "undecided, at most" in found.sentences[0] and "over those K, X is ahead" in str(
        found.sentences
    )
    assert (
        "By that X is ahead of Y (Recall@10); here the order may be the reverse." in found.footnote
    )
    difference = [found.reading.loc[(name, "Recall@10"), "value"] for name in "XY"]
    assert found.reading_pairs["difference"].iloc[0] == pytest.approx(np.subtract(*difference))


def test_means_over_other_cut_offs_are_not_compared():
    exact = rs.Ranks([1, 9, 30], 100)
    drawn = {m: rs.UniformSampling(m).draw(exact, rng=0) for m in (5, 6)}
    found = rs.report({"A": drawn[5], "B": drawn[6]}, metrics=["Recall@2"])
    assert len(found.reading) == 2 and len(found.reading_pairs) == 0


def test_there_is_none_for_several_items_nor_for_a_metric_that_rises():
    several = rs.UniformSampling(m=5).draw(rs.Ranks([[1, 4], [2]], 30), rng=0)
    assert len(rs.report(several, metrics=["AUC"]).reading) == 0
    one = rs.UniformSampling(m=5).draw(rs.Ranks([1, 4], 30), rng=0)
    found = rs.report(one, metrics=["PercentileRank", "AUC", "Recall@6"]).reading
    assert found.index.tolist() == ["AUC"]


def test_of_counts_and_groups_limits_are_theirs():
    ranks = rs.UniformSampling(m=20).draw(rs.Ranks([1, 5, 30, 80] * 30, 100), rng=0)
    about = {"n_items": 100, "metrics": ["Recall@5"]}
    counted = rs.report(rs.RankCounts.of(ranks), **about)
    alone = rs.report(ranks, **about)
    assert counted.reading.to_numpy() == pytest.approx(alone.reading.to_numpy(), abs=1e-9)
    grouped = rs.report(ranks, groups=np.arange(120) // 4, **about).reading
    assert np.ptp(grouped[["low", "high"]].to_numpy()) != np.ptp(
        alone.reading[["low", "high"]].to_numpy()
    )


def test_where_it_is_another_number_than_the_mean_the_sentence_says_so():
    sampled = rs.UniformSampling(m=5).draw(rs.Ranks([1, 4, 9] * 20, 30), rng=0)
    hits, scaled = rs.report(sampled, metrics=["Recall@2", "AP"]).sentences
    assert "Sampled Recall@2 measures exact Recall@K averaged over K from" in hits
    assert "Sampled AP, scaled from 0 at the last rank to 1 at the first, measures" in scaled
    other = rs.UniformSampling(m=5).draw(rs.Ranks([1, 4, 9] * 20, [30, 30, 40] * 20), rng=0)
    (said,) = rs.report(other, metrics=["Recall@2"]).sentences
    assert "averaged over K that depend on pool and m, from" in said
    # Nothing is left to say where all items were drawn.
    every = rs.UniformSampling(m=29).draw(rs.Ranks([1, 4, 9] * 20, 30), rng=0)
    assert len(rs.report(every, metrics=["AP"]).reading) == 0


# Other draws.

OF_RANK_ALONE = [rs.Recall @ 2, rs.NDCG @ 3, rs.NDCG, rs.AP, rs.RR]


@pytest.mark.parametrize("metric", OF_RANK_ALONE, ids=str)
def test_no_draw_of_different_items_has_a_worse_value_than_all(metric):
    n = 8
    for relevant in [*combinations(range(1, n + 1), 1), *combinations(range(1, n + 1), 2)]:
        others = [rank for rank in range(1, n + 1) if rank not in relevant]
        exact = metric(rs.Ranks([relevant], n)).item()
        for drawn in combinations(others, 3):
            places = np.searchsorted(sorted([*relevant, *drawn]), relevant) + 1
            assert metric(rs.Ranks([places], len(relevant) + 3)).item() >= exact - 1e-12


def test_where_it_would_not_hold_nothing_is_said():
    # Repeated items: the first of two, drawn twice, makes rank 2 rank 3.
    drawn_twice = rs.Ranks([3], 3)
    assert rs.AP(drawn_twice) < rs.AP(rs.Ranks([2], 50))
    with pytest.raises(ValueError, match=r"^replace must be False where items were drawn 'unkn"):
        rs.report([1, 2, 3], m=4, drawn="unknown", replace=True)
    # The number of items: rank 40 of 101 popular ones may be rank 50 of 1,000.
    assert rs.AUC.of_rank(40, 101) < rs.AUC.of_rank(50, 1_000)
    found = rs.report([1, 2, 3] * 9, m=4, drawn="popular", replace=np.False_)
    assert np.isnan(found.table.loc["AUC", "high"]) and found.table["low"].tolist()[:3] == [0] * 3
    assert found.sentences[-1].startswith("Nothing is known of AUC among all items, because it de")
    assert len(found.reading) == 0
    # A hit that falls out of the list leaves the mean over the others, which may be larger.
    several = {"metrics": ["AP(hits)@5", "AP@5"], "drawn": "popular", "replace": False}
    high = rs.report(rs.Ranks([[1, 5]] * 9, 102), **several).table["high"]
    assert np.isnan(high.iloc[0]) and rs.metric("AP(hits)@5")(rs.Ranks([[1, 50]], 1000)) == 1
    assert high.iloc[1] < 1


@pytest.mark.parametrize("metric", [rs.AUC, rs.PercentileRank, rs.NDCG, rs.Recall @ 5], ids=str)
def test_in_a_known_pool_there_are_limits_on_both_sides(metric):
    """The mean over as many users as one likes is that of one, whose rank may be any of these."""
    n, m, sampled = 30, 20, 4
    about = {"m": m, "n_items": n, "drawn": "unknown", "replace": False, "metrics": [metric]}
    found = rs.report([sampled] * 100_000, **about).table.iloc[0]
    values = [metric.of_rank(rank, n) for rank in range(sampled, sampled + n - 1 - m + 1)]
    assert found["low"] == pytest.approx(min(values), abs=1e-3)
    assert found["high"] == pytest.approx(max(values), abs=1e-3)
    assert found["low"] <= min(values) and max(values) <= found["high"]
    tied = rs.report(rs.Ranks([2] * 999, m + 1, ties=2), **about | {"m": None}).table.iloc[0]
    assert tied["low"] <= metric.of_rank(2 + 2 + n - 1 - m, n) and tied["high"] < max(
        1.01, metric.of_rank(n, n)
    )


def test_counts_have_the_limits_of_their_ranks():
    ranks = rs.Ranks([1, 2, 2, 9] * 9, 21)
    about = {"drawn": "popular", "replace": False, "metrics": ["Recall@2"]}
    counted = rs.report(rs.RankCounts.of(ranks), **about)
    assert counted.table.equals(rs.report(ranks, **about).table)
    assert counted.head == "36 users, each ranked among 20 drawn items."


@pytest.mark.parametrize(
    ("sampled", "n_items", "said"),
    [
        ([1, 2, 3], 50, "^n_items must be at least 101, .* got 50"),
        (rs.Ranks([[], [1]], 101), 500, "^sampled must hold relevant and drawn irrelevant items"),
        (rs.Ranks([1, 1], 1), None, "^sampled must hold relevant and drawn irrelevant items"),
    ],
)
def test_ranks_of_other_draws_are_checked_like_uniform_ones(sampled, n_items, said):
    m = 100 if isinstance(sampled, list) else None
    with pytest.raises(rs.InputError, match=said):
        rs.report(sampled, m, n_items, drawn="popular", replace=False)


def test_a_plan_does_not_ask_how_items_were_drawn():
    about = {"m": 20, "n_items": 500, "metrics": ["Recall@5"]}
    column = 1 + np.arange(300) % 21
    uniform = rs.report(column, drawn="uniform", **about).plan("Recall@5", 0.2)
    popular = rs.report(column, drawn="popular", replace=False, **about).plan("Recall@5", 0.2)
    assert np.array_equal(uniform.users, popular.users)


def test_any_draw_gives_an_upper_limit_that_holds_for_the_exact_mean():
    exact = rs.Ranks(RECORDED["Y"].values, 4_000)
    # The best half of the pool only, so that ranks among them are far from uniform.
    rng, m = np.random.default_rng(0), 100
    above = np.minimum(exact.values - 1, 2_000)
    sampled = 1 + rng.hypergeometric(above, 2_000 - above, m)
    metrics = ["Recall@10", "NDCG@10", "AP"]
    found = rs.report(sampled, m=m, drawn="popular", replace=False, metrics=metrics)
    for metric, row in zip((rs.Recall @ 10, rs.NDCG @ 10, rs.AP), found.table.itertuples()):
        assert metric(exact).mean() < row.sampled < row.high and np.isnan(row.value)
    hits = int((sampled <= 10).sum())
    wanted = stats.binomtest(hits, len(sampled)).proportion_ci(0.95, method="exact").high
    assert found.table.loc["Recall@10", "high"] == pytest.approx(wanted, abs=1e-6)
    parts = found.by(np.arange(len(sampled)) % 2)
    assert (parts["high"] >= found.table.loc["Recall@10", "sampled"] - 0.05).iloc[0]


def test_shared_draws_have_readings_without_limits_and_upper_ones_of_recall_only():
    drawn = rs.UniformSampling(m=20).draw(rs.Ranks([[1, 4], [2], [9, 30]] * 9, 200), rng=0)
    alone = drawn.each_alone()
    assert alone.drawn.how == "shared"
    found = rs.report(alone, metrics=["Recall@2", "AP"])
    assert found.table.loc["Recall@2", "high"] < 1 and np.isnan(found.table.loc["AP", "high"])
    assert found.reading["value"].notna().all() and found.reading["low"].isna().all()
    assert "exact Recall@K of items ranked alone averaged over K" in found.sentences[0]


# Printed tables.


def test_printed_numbers_have_readings_and_decided_pairs():
    given = {"X": {"HR@10": "0.663", "NDCG@10": "0.393"}, "Y": {"HR@10": "0.564"}}
    about = {"m": 100, "n_users": 6_040, "drawn": "uniform", "metrics": ["HR@10", "NDCG@10", "AP"]}
    found = rs.from_published(given, n_items=3_700, **about)
    row = found.reading.loc[("X", "HitRate@10")]
    share = stats.binomtest(round(0.6635 * 6_040), 6_040)
    high = share.proportion_ci(1 - 0.05 / 3, method="exact").high
    assert row["value"] == 0.663 and row["high"] == pytest.approx(high, abs=1e-3)
    cutoffs = rs.UniformSampling(m=100).effective_cutoffs("Recall@10", 3_700)
    assert row[["cutoff_low", "cutoff", "cutoff_high"]].tolist() == [*cutoffs[2:]]
    assert found.reading_pairs["ahead"].tolist() == ["X"] and len(found.reading) == 3
    either = rs.from_published(given, n_items=3_700, **(about | {"m": [99, 100]}))
    assert either.reading_pairs["ahead"].tolist() == ["X"]
    assert either.reading.loc[("X", "HitRate@10"), "low"] <= row["low"] + 1e-9


@pytest.mark.parametrize("drawn", ["popular", "unknown"])
def test_printed_numbers_among_other_draws_have_upper_limits(drawn):
    given = {"HR@10": "0.670", "NDCG@10": "0.396"}
    about = {"m": 100, "n_items": 3_700, "n_users": 6_040, "drawn": drawn}
    found = rs.from_published(given, replace=False, **about)
    high = stats.binomtest(round(0.6705 * 6_040), 6_040).proportion_ci(0.975, method="exact").high
    assert found.table.loc["HitRate@10", "high"] == pytest.approx(high, abs=1e-3)
    assert (found.table["low"] == 0).all() and len(found.reading) == 0
    assert f"'{drawn}'" in str(found) and "nan" not in " ".join(found.sentences)
    with pytest.raises(ValueError, match=r"^replace must be False where .* got None"):
        rs.from_published(given, **about)
    with pytest.raises(rs.InputError, match="possible together for the same users"):
        clash = {"HR@1": "0.9", "HR@5": "0.5"}
        rs.from_published(clash, replace=False, **about | {"m": 5})


@pytest.mark.parametrize(
    ("name", "sampled", "k", "full"),
    [("HR@10", "0.7164", 337, 0.7192), ("HR@20", "0.8531", 712, 0.8608)],
)
def test_what_a_paper_printed_agrees_with_full_values_within_its_cut_offs(name, sampled, k, full):
    """Li et al. (KDD 2020): a sampled hit rate of a model, and a full one of the same model."""
    about = {"m": 99, "n_items": 3_706, "n_users": 6_040, "drawn": "uniform"}
    row = rs.from_published({name: sampled}, **about).reading.iloc[0]
    assert row["cutoff_low"] < k < row["cutoff_high"] and row["low"] < full < row["high"]
