"""The table of means, by recommender and metric."""

import pytest
from all_metrics import ALL

from recsample import AP, AUC, NDCG, Ranks, Recall, compare

RANKS = {"first": Ranks([1, 4, 9], 20), "second": Ranks([[2, 3], [5], [6]], 20, ties=1)}


def test_means_by_recommender_and_metric():
    table = compare(RANKS, [AUC, "ndcg@3", Recall @ 5])
    assert table.columns.tolist() == ["AUC", "NDCG@3", "Recall@5"]
    assert table.index.tolist() == ["first", "second"]
    for name, ranks in RANKS.items():
        for M in (AUC, NDCG @ 3, Recall @ 5):
            assert table.loc[name, str(M)] == pytest.approx(M(ranks).mean())


def test_a_random_order_of_instances_gives_the_same_table():
    moved = {"first": Ranks([9, 1, 4], 20)}
    assert compare(moved, ALL).to_numpy() == pytest.approx(
        compare({"first": RANKS["first"]}, ALL).to_numpy(), abs=1e-15
    )


@pytest.mark.parametrize(
    "ranks, metrics, message",
    [
        ({}, [AP], "ranks must hold at least one recommender, got none"),
        (RANKS, [], "metrics must hold at least one metric, got none"),
        (RANKS, 3, "metrics must be a list of metrics, got 3"),
        ({"a": Ranks([1], 5), "b": Ranks([1, 2], 5)}, [AP], "same number of .*{'a': 1, 'b': 2}"),
        ([Ranks([1], 5)], [AP], "ranks must map the names of recommenders to Ranks, got"),
        ({"a": [1, 2]}, [AP], "ranks must map the names of recommenders to Ranks, got"),
        (RANKS, "AP", "metrics must be a list of metrics, got 'AP'"),
        (RANKS, AP, "metrics must be a list of metrics, got AP"),
        (RANKS, ["ncdg"], "metrics must hold metrics .*, or their names, got 'ncdg'"),
    ],
)
def test_refusals(ranks, metrics, message):
    with pytest.raises(ValueError, match=message):
        compare(ranks, metrics)


def test_a_metric_that_is_named_twice_has_one_column():
    table = compare({"A": Ranks([1, 2], 5)}, ["AP", "map", AP])
    assert table.columns.tolist() == ["AP"]
