"""The numbers of libraries that the project does without, beside this package's.

Most are too large for its environment, so each test runs where its library is installed. `make
peers` installs them from requirements-others.txt, and continuous integration runs it every week.

They passed with RecBole 1.2.1, LensKit 2025.8.1, Cornac 3.0.1, PyKEEN 1.11.1 and scikit-learn
1.9.1. The page "Coming from another library" says what is found here.
"""

import numpy as np
import pytest
from libraries import modules
from scipy import sparse

import recsample as rs

N_USERS, N_ITEMS, K = 60, 50, 10
RNG = np.random.default_rng(0)
SCORES = RNG.permuted(np.tile(np.arange(N_ITEMS, dtype=float), (N_USERS, 1)), axis=1)
# One to twenty relevant items, so that there are more and fewer of them than places.
RELEVANT = RNG.random((N_USERS, N_ITEMS)) < RNG.uniform(0.02, 0.4, (N_USERS, 1))
RELEVANT[np.arange(N_USERS), RNG.integers(0, N_ITEMS, N_USERS)] = True
RANKS = rs.predicted_ranks(SCORES, sparse.csr_matrix(RELEVANT))
ORDER = np.argsort(-SCORES, axis=1)
HITS = np.take_along_axis(RELEVANT, ORDER, axis=1)
N_RELEVANT = RELEVANT.sum(axis=1)


def library(name):
    (module,) = modules(name)
    return module


def ours(metric):
    return rs.metric(metric)(RANKS)


@pytest.mark.parametrize(
    ("name", "same_as"),
    [
        ("Recall", "Recall@10"),
        ("NDCG", "NDCG@10"),
        ("Hit", "HitRate@10"),
        ("Precision", "Precision@10"),
        ("MAP", "AP@10"),
        ("MRR", "RR@10"),
    ],
)
def test_recbole(name, same_as, monkeypatch):
    # RecBole 1.2.1 has not noticed yet that NumPy 1.24 dropped this alias.
    monkeypatch.setattr(np, "float", float, raising=False)
    metrics, torch = library("recbole.evaluator.metrics"), library("torch")
    seen = np.column_stack([HITS[:, :K], N_RELEVANT])
    metric = getattr(metrics, name)({"topk": [K], "metric_decimal_place": 14})
    found = metric.calculate_metric({"rec.topk": torch.from_numpy(seen.astype(np.int64))})
    assert found[f"{name.lower()}@{K}"] == pytest.approx(ours(same_as).mean(), abs=1e-12)


def test_gauc_of_recbole_is_auc_weighted_by_the_relevant_items():
    metrics, torch = library("recbole.evaluator.metrics"), library("torch")
    sums = [values.sum() for values in RANKS.values]
    table = torch.from_numpy(np.stack([sums, RANKS.sizes, N_RELEVANT], axis=1).astype(float))
    found = metrics.GAUC({"metric_decimal_place": 14}).calculate_metric({"rec.meanrank": table})
    assert found["gauc"] == pytest.approx(np.average(ours("AUC"), weights=N_RELEVANT), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "same_as"),
    [
        ("Hit", {"n": K}, "HitRate@10"),
        ("RecipRank", {"n": K}, "RR@10"),
        ("Precision", {"n": K}, "Precision@10"),
        ("AveragePrecision", {"n": K}, "AP@10"),
        ("RBP", {}, "RBP(0.85)"),
    ],
)
def test_lenskit(name, options, same_as):
    metric = getattr(library("lenskit.metrics.ranking"), name)(**options)
    assert of_lenskit(metric) == pytest.approx(ours(same_as), rel=1e-9)


def test_ndcg_of_lenskit_weighs_the_first_two_places_alike():
    """Unless it is told to count from 1: then it is that of everybody else."""
    metrics = library("lenskit.metrics")
    found = of_lenskit(metrics.NDCG(n=K, weight=metrics.LogRankWeight(offset=1)))
    assert found == pytest.approx(ours("NDCG@10"), rel=1e-9)
    weights = 1 / np.log2(np.maximum(np.arange(1, K + 1), 2))
    best = np.cumsum(weights)[np.minimum(K, N_RELEVANT) - 1]
    assert of_lenskit(metrics.NDCG(n=K)) == pytest.approx(HITS[:, :K] @ weights / best, rel=1e-9)


def test_recall_of_lenskit_counts_no_more_relevant_items_than_places():
    found = of_lenskit(library("lenskit.metrics").Recall(n=K))
    assert found == pytest.approx(ours("Recall@10") * N_RELEVANT / np.minimum(K, N_RELEVANT))


def of_lenskit(metric):
    lists = library("lenskit.data").ItemList
    return [
        metric.measure_list(
            lists(item_ids=order, scores=SCORES[user, order], ordered=True),
            lists(item_ids=np.flatnonzero(RELEVANT[user])),
        )
        for user, order in enumerate(ORDER)
    ]


@pytest.mark.parametrize(
    ("name", "options", "same_as"),
    [
        ("NDCG", {"k": K}, "NDCG@10"),
        ("Precision", {"k": K}, "Precision@10"),
        ("Recall", {"k": K}, "Recall@10"),
        ("FMeasure", {"k": K}, "F1@10"),
        ("HitRatio", {"k": K}, "HitRate@10"),
        ("MRR", {}, "RR"),
        ("MAP", {}, "AP"),
        ("AUC", {}, "AUC"),
    ],
)
def test_cornac(name, options, same_as):
    metric = getattr(library("cornac.metrics"), name)(**options)
    assert of_cornac(metric, SCORES) == pytest.approx(ours(same_as), rel=1e-9)


def test_cornac_puts_ties_on_the_side_of_the_irrelevant_items():
    constant = np.zeros((N_USERS, N_ITEMS))
    found = of_cornac(library("cornac.metrics").AUC(), constant)
    assert found == pytest.approx([0.0] * N_USERS)


def of_cornac(metric, scores):
    with np.errstate(all="ignore"):
        return [
            metric.compute(
                gt_pos=np.flatnonzero(mine),
                gt_neg=np.flatnonzero(~mine),
                pd_rank=order,
                pd_scores=row,
                item_indices=np.arange(N_ITEMS),
            )
            for mine, order, row in zip(RELEVANT, ORDER, scores)
        ]


def test_pykeen():
    ranks, torch = library("pykeen.evaluation.ranks"), library("torch")
    tied = rs.predicted_ranks(SCORES // 3, sparse.csr_matrix(RELEVANT)).each_alone()
    assert tied.ties.any()
    scores = np.where(RELEVANT, np.nan, SCORES // 3)  # filtered: the other relevant ones are out
    rows, items = np.nonzero(RELEVANT)
    every = scores[rows]
    own = (SCORES // 3)[rows, items]
    every[np.arange(len(rows)), items] = own
    found = ranks.Ranks.from_scores(torch.from_numpy(own)[:, None], torch.from_numpy(every))
    sizes = found.number_of_options.numpy()
    optimistic, pessimistic = found.optimistic.numpy(), found.pessimistic.numpy()
    theirs = rs.Ranks(optimistic, sizes, ties=(pessimistic - optimistic).astype(int))
    # Relevant items of a user come by rank in one, by number in the other.
    for metric in (rs.AP, rs.AUC, rs.HitRate @ 3):
        assert sorted(metric(theirs)) == pytest.approx(sorted(metric(tied)))


@pytest.mark.parametrize(
    ("name", "options", "same_as"),
    [
        ("roc_auc_score", {}, "AUC"),
        ("average_precision_score", {}, "AP"),
        ("ndcg_score", {}, "NDCG"),
        ("ndcg_score", {"k": K}, "NDCG@10"),
    ],
)
def test_scikit_learn(name, options, same_as):
    assert of_scikit_learn(name, SCORES, **options) == pytest.approx(ours(same_as), rel=1e-9)


def test_scikit_learn_averages_over_ties_but_for_average_precision():
    coarse = SCORES // 5
    tied = rs.predicted_ranks(coarse, sparse.csr_matrix(RELEVANT))
    assert of_scikit_learn("roc_auc_score", coarse) == pytest.approx(rs.AUC(tied))
    assert of_scikit_learn("ndcg_score", coarse, k=K) == pytest.approx((rs.NDCG @ K)(tied))
    assert np.mean(of_scikit_learn("average_precision_score", coarse)) < rs.AP(tied).mean() - 0.02


def of_scikit_learn(name, scores, **options):
    metric = getattr(library("sklearn.metrics"), name)
    rows = slice(None) if name != "ndcg_score" else None
    return [metric(mine[rows], row[rows], **options) for mine, row in zip(RELEVANT, scores)]
