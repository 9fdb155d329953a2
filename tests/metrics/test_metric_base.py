"""What all metrics share: they are called with ranks or with options, and say what they read."""

import numpy as np
import pytest
from all_metrics import ALL, CUT_OFF

import recsample as rs
from recsample import AP, AUC, NDCG, RBP, Ranks, RankScore, Recall
from recsample.metrics.ranking import AveragePrecision, FScore


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (lambda: AP(over="relevant"), AveragePrecision("relevant")),
        (lambda: AP(over="hits", cutoff=5), AveragePrecision("hits") @ 5),
        (lambda: (AP @ 5)(over="k"), AveragePrecision("k") @ 5),
        (lambda: AP(cutoff=5), AP @ 5),
        (lambda: (AP @ 5)(cutoff=None), AP),
        (lambda: RankScore(5)(half_life=3), RankScore(3)),
        (lambda: RBP(0.8)(persistence=0.5) @ 2, RBP(0.5) @ 2),
        (lambda: rs.F1(beta=2) @ 3, FScore(2) @ 3),
        (lambda: Recall(cutoff=10), Recall @ 10),
    ],
)
def test_called_with_options_a_metric_gives_another_one(changed, expected):
    assert changed() == expected and str(changed()) == str(expected)
    ranks = Ranks([[1, 4, 9], [2]], 20)
    assert changed()(ranks).tolist() == expected(ranks).tolist()
    assert AP.over == "best" and AP.cutoff is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AP(above=3), r"AP must be given options of \['over', 'cutoff'\], got 'above'"),
        (lambda: AUC(cutoff=3), r"AUC must be given options of \[\], got 'cutoff'"),
        (lambda: AP(Ranks([1], 3), over="k"), "AP takes either ranks or options, got both"),
        (lambda: AP(over="trec"), "over must be 'best', .* got 'trec'"),
        (lambda: AP(cutoff=0), "cutoff must be a whole number of at least 1, got 0"),
        (lambda: AP(), "ranks must be Ranks, got NoneType"),
        (
            lambda: rs.BiasVariance(AP, rs.UniformSampling(4), 9, gamma=0.1)(gamma=1),
            r"BiasVariance\(AP, gamma=0.1\) must be given options of \[\], got 'gamma'",
        ),
    ],
)
def test_other_options_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("metric", ALL, ids=str)
def test_a_metric_is_the_sum_of_its_terms(metric):
    if not metric.additive:
        return
    ranks = [2, 3, 7, 12]
    order = np.arange(1, 5)
    terms = metric.term(np.array(ranks), order, np.int64(4), np.int64(20)) + np.zeros(4)
    assert metric(Ranks([ranks], 20)) == pytest.approx([terms.sum()], abs=1e-15)
    # The four arguments broadcast.
    table = metric.term(np.array(ranks)[:, None], order, np.int64(4), np.int64(20))
    one_by_one = [[metric.term(np.int64(r), np.int64(i), 4, 20) for i in order] for r in ranks]
    assert np.allclose(table + np.zeros((4, 4)), np.array(one_by_one, float), atol=1e-15)


@pytest.mark.parametrize("metric", ALL, ids=str)
def test_metrics_of_exact_ranks_are_made_for_no_sampler(metric):
    assert metric.sampler is None
    assert metric.additive == (not str(metric).startswith("AP(hits)@"))


def test_corrections_say_what_they_read():
    sampler = rs.UniformSampling(4)
    assert rs.BiasVariance(AP, sampler, 9, gamma=0.1).sampler == sampler
    assert not rs.BiasVariance(rs.metric("AP(hits)@3"), sampler, 9, gamma=0.1).additive


@pytest.mark.parametrize("metric", CUT_OFF, ids=str)
def test_ranks_beyond_the_cut_off_do_not_count(metric):
    cut = metric @ 4
    assert cut.within(np.array([1, 4, 5])).tolist() == [True, True, False]
    assert cut.of_rank([5, 6, 20], 20).tolist() == [0, 0, 0]
    assert cut.of_rank(4, 20) > 0
    assert cut.best_places(np.array([1, 4, 9])).tolist() == [1, 4, 4]
    assert metric.within(np.array([10**6])) is True
    assert metric.best_places(9) == 9


def test_labels_leave_the_cut_off_out():
    assert (AP(over="relevant") @ 5).label() == "AP(relevant)"
    assert (NDCG @ 5).label() == NDCG.label() == "NDCG"
