"""The same rankings through the libraries that people use.

Where a library means the same as this package its numbers are the same to 1e-9; where it means
something else, both numbers are computed by hand. Those who want the comparisons that are skipped
for want of a library find the commands in the reason, and all of them in requirements-peers.txt.
"""

from math import log2

import numpy as np
import pytest
from libraries import LIBRARIES, evaluate, evaluate_scores

import recsample as rs
from recsample import Ranks
from recsample.metrics import peers

CUTOFFS = (1, 5, 10, 100)


def random_lists(seed=0, instances=50):
    """Lists of 0s and 1s, 11 to 60 long with 1 to 20 relevant items, but never only relevant ones.

    So that the cut-offs above lie below and above the number of relevant items and of all items.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(11, 60, size=instances, endpoint=True)
    relevant = rng.integers(1, np.minimum(sizes - 1, 20), endpoint=True)
    return [rng.permutation([1] * r + [0] * (n - r)) for n, r in zip(sizes, relevant)]


def ranks_of(lists):
    return Ranks([1 + np.flatnonzero(rel) for rel in lists], [len(rel) for rel in lists])


LISTS = random_lists()
RANKS = ranks_of(LISTS)

# --- Where no metric of this package is the same: by hand, from the 0s and 1s down the ranking ---


def dcg(rel):
    return sum(x / log2(i + 2) for i, x in enumerate(rel))


def share_of_best_hits(rel, k):
    """RecTools calls it R-precision and implicit precision; for k = L it is the former."""
    return sum(rel[:k]) / min(k, sum(rel))


def ndcg_of_all_places(rel, k):
    """As if every item were relevant, so that the list of a single one cannot reach 1."""
    return dcg(rel[:k]) / dcg([1] * k)


def auc_from_the_top(rel, k):
    """Below k the order is unknown: of the pairs of items there, half count as right."""
    hits, misses = sum(rel[:k]), k - sum(rel[:k])
    irrelevant = len(rel) - sum(rel)
    in_order = sum(sum(rel[:i]) for i in range(k) if not rel[i]) + hits * (irrelevant - misses)
    unknown = (sum(rel) - hits) * (irrelevant - misses)
    return (in_order + unknown / 2) / (sum(rel) * irrelevant)


BY_HAND = {
    "hits@{k}": lambda rel, k: sum(rel[:k]),
    "Precision(k={k}, r_precision=True)": share_of_best_hits,
    "precision@{k}": share_of_best_hits,
    "NDCG(k={k})": ndcg_of_all_places,
    "auc@{k}": auc_from_the_top,
}


def by_hand(counterpart, k, lists):
    definition = {name.format(k=k): f for name, f in BY_HAND.items()}[counterpart.metric]
    return [definition(rel, k) for rel in lists]


# --- Every metric of the catalogue, over fifty rankings ---

# implicit fills up lists that are longer than the catalogue.
CASES = {
    c: pytest.param(c, k, id=f"{c.library}-{c.metric}")
    for k in CUTOFFS
    for c in peers.counterparts(k)
    if c.library != "implicit" or k <= min(map(len, LISTS))
}


@pytest.mark.parametrize(("counterpart", "k"), CASES.values())
def test_library_has_the_values_that_the_catalogue_says(counterpart, k):
    found = evaluate(counterpart.library, counterpart.metric, RANKS)
    if counterpart.same_as:
        expected = rs.metric(counterpart.same_as)(RANKS)
    else:
        expected = by_hand(counterpart, k, LISTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_the_rankings_reach_every_case():
    """Cut-offs above and below the number of relevant items, and of all items."""
    for k in CUTOFFS[1:3]:
        assert {np.sign(k - sum(rel)) for rel in LISTS} == {-1, 0, 1}
    assert CUTOFFS[-1] > max(map(len, LISTS))
    assert len({len(rel) for rel in LISTS}) > 10 and len(LISTS) >= 50


def differing(ranks, lists, k):
    """The metrics that have other values than their name suggests."""
    return {
        c.metric
        for c in peers.counterparts(k)
        for same in [rs.metric(c.same_as)(ranks) if c.same_as else by_hand(c, k, lists)]
        if not np.allclose(rs.metric(c.namesake)(ranks), same, rtol=0, atol=1e-9)
    }


def test_the_catalogue_warns_of_what_differs_and_of_nothing_else():
    assert differing(RANKS, LISTS, 5) == {c.metric for c in peers.counterparts(5) if not c.agrees}


def test_what_still_differs_with_one_relevant_item():
    lists = [[int(place == rank) for place in range(20)] for rank in range(20)]
    assert differing(ranks_of(lists), lists, 5) == {
        "MAP(k=5, divide_by_k=True)",
        "NDCG(k=5)",
        "Precision(k=5, r_precision=True)",
        "precision@5",
        "Accuracy",
        "auc@5",
    }


# --- Ties: 101 items with the same score, and each of them in turn the relevant one ---

N = 101
EXPECTED = sum(1 / r for r in range(1, N + 1)) / N


def of_every_item(library, name):
    """The value for each of the items, if that is the relevant one."""
    return evaluate_scores(library, name, [np.full(N, 0.5)] * N, [[item] for item in range(N)])


@pytest.mark.parametrize(
    ("library", "name"),
    [
        ("ranx", "mrr"),
        ("pytrec_eval", "recip_rank"),
        ("ir_measures", "RR"),
        ("ir_measures", "RR@101"),
        ("RecTools", "MRR(k=101)"),
        ("implicit", "map@101"),
    ],
)
def test_a_constant_scorer_gets_anything_between_the_extremes(library, name):
    found = of_every_item(library, name)
    np.testing.assert_allclose(np.sort(found), 1 / np.arange(N, 0, -1.0), rtol=1e-12)
    assert found.min() == pytest.approx(0.0099, abs=5e-5) and found.max() == 1
    assert found.mean() == pytest.approx(EXPECTED, rel=1e-12)


# --- The table ---


def test_the_table_knows_these_libraries():
    assert {c.library for c in peers.counterparts(5)} == {*LIBRARIES}


def test_a_bad_cut_off_is_refused():
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, got 0"):
        peers.counterparts(0)
