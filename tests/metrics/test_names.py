"""The names of metrics: what prints parses back, what others write is understood."""

import pytest
import reference
from all_metrics import ALL, CUT_OFF

from recsample import NDCG, Precision, RankScore, Recall, metric
from recsample.metrics import FScore


@pytest.mark.parametrize("M", ALL + [M @ 10 for M in CUT_OFF], ids=str)
def test_a_printed_name_parses_back(M):
    assert metric(str(M)) == metric(str(M).lower()) == metric(f" {M} ".upper()) == M
    assert repr(M) == str(M)
    assert hash(metric(str(M))) == hash(M)


@pytest.mark.parametrize(
    "other, name",
    [
        *(("mrr", "RR"), ("MRR@10", "RR@10"), ("MAP@5", "AP@5"), ("map(relevant)@5", None)),
        *(("Hits@3", "HitRate@3"), ("hit@3", "HitRate@3"), ("HR@10", "HitRate@10")),
        *(("P@5", "Precision@5"), ("R-Precision", "RPrecision"), ("rprec", "RPrecision")),
        *(("MAR@5", "AR@5"), ("MPR", "PercentileRank"), ("success@1", "HitRate@1")),
        *(("F(2)@5", "F2@5"), ("F(1)@5", "F1@5"), ("AP(best)@5", "AP@5"), ("f.5@3", "F0.5@3")),
        *(("hit_rate@10", "HitRate@10"), ("hit ratio@10", "HitRate@10"), ("R@5", "Recall@5")),
        *(("rank-score (5) @ 3", "RankScore(5)@3"), ("percentile rank", "PercentileRank")),
    ],
)
def test_names_that_others_use(other, name):
    assert str(metric(other)) == (name or "AP(relevant)@5")


@pytest.mark.parametrize("name", reference.METRICS)
def test_every_name_of_the_reference_prints_back(name):
    assert str(metric(name)) == name


@pytest.mark.parametrize("half_life", [5, 0.1, 1 / 3, 2.5e-7, 1e22])
def test_every_half_life_parses_back(half_life):
    assert metric(str(RankScore(half_life) @ 3)) == RankScore(half_life) @ 3


@pytest.mark.parametrize("beta", [1e-200, 2.5e-7, 0.5, 1, 3, 1e16, 1e22, 1e160])
def test_every_beta_parses_back(beta):
    assert metric(str(FScore(beta) @ 5)) == FScore(beta) @ 5


def test_spelling():
    assert str(NDCG @ 10) == "NDCG@10"
    assert str(RankScore(5) @ 10) == "RankScore(5)@10"
    assert metric("ndcg @ 10") == NDCG @ 10
    assert (NDCG @ 10) @ 5 == NDCG @ 5
    assert NDCG @ 10 != NDCG @ 5 and Recall @ 10 != Precision @ 10
    assert {NDCG @ 10, NDCG @ 10, NDCG} == {NDCG, NDCG @ 10}


@pytest.mark.parametrize(
    "name, message",
    [
        ("NCDG@10", "name must be that of a metric, got 'NCDG@10'; nearest: .*NDCG"),
        ("mmr", "got 'mmr'; nearest: RR"),
        ("hot", "got 'hot'; nearest: HitRate"),
        ("rankscore", r"got 'rankscore'; nearest: RankScore\(5\)"),
        ("rbp", r"got 'rbp'; nearest: RBP\(0.8\)"),
        ("f", "got 'f'; nearest: F1"),
        ("", "got ''; nearest: AUC, Precision, Recall, F1, .*Accuracy, PercentileRank, RankSc"),
        (3, "got 3; nearest: AUC"),
        ("AP(5)", "over must be 'best', 'relevant', 'hits' or 'k', got '5'"),
        ("NDCG(5)", r"got 'NDCG\(5\)'; nearest: NDCG"),
        ("F0@10", "beta must be a finite number above 0, got '0'"),
        ("F1x@10", "beta must be a finite number above 0, got '1x'"),
        ("RBP(1)", "persistence must be between 0 and 1, both excluded, got '1'"),
        ("RBP(-1)", "persistence must be between 0 and 1, both excluded, got '-1'"),
        ("rprecision@3", "RPrecision takes no cut-off, got @ 3"),
        ("ndcg@-1", "cutoff must be a whole number of at least 1, got '-1'"),
        ("ndcg@2.5", "cutoff must be a whole number of at least 1, got '2.5'"),
        ("ndcg@1e1", "cutoff must be a whole number of at least 1, got '1e1'"),
        ("ndcg@", "got 'ndcg@'; nearest: NDCG"),
        ("ndcg@5@3", "got 'ndcg@5@3'; nearest: NDCG"),
        ("hit_rat@5", "got 'hit_rat@5'; nearest: HitRate"),
        ("ndcg@0", "cutoff must be a whole number of at least 1, got 0"),
        ("ndcg@ten", "cutoff must be a whole number of at least 1, got 'ten'"),
        ("auc@10", "AUC takes no cut-off, got @ 10"),
        ("RankScore(x)", "half_life must be a finite number above 0, got 'x'"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=message):
        metric(name)
