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
    assert "undecided, at most" in found.sentences[0] and "over those K X is ahead" in str(
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
    found = rs.report([1, 2, 3] * 9, m=4, drawn="popular", replace=False)
    assert np.isnan(found.table.loc["AUC", "high"]) and found.table["low"].tolist()[:3] == [0] * 3
    assert found.sentences[-1].startswith("Nothing can be said of AUC")
    assert len(found.reading) == 0


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
    assert len(either.reading_pairs) == 0
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


@pytest.mark.parametrize(
    ("name", "sampled", "k", "full"),
    [("HR@10", "0.7164", 337, 0.7192), ("HR@20", "0.8531", 712, 0.8608)],
)
def test_what_a_paper_printed_agrees_with_full_values_within_its_cut_offs(name, sampled, k, full):
    """Li et al. (KDD 2020): a sampled hit rate of a model, and a full one of the same model."""
    about = {"m": 99, "n_items": 3_706, "n_users": 6_040, "drawn": "uniform"}
    row = rs.from_published({name: sampled}, **about).reading.iloc[0]
    assert row["cutoff_low"] < k < row["cutoff_high"] and row["low"] < full < row["high"]
