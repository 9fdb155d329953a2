"""The shape that a metric names is the shape that its values have."""

import numpy as np
import pytest
from all_metrics import ALL, CUT_OFF, UNCUT

from recsample import AP, AUC, DCG, NDCG, RBP, RR, Accuracy, PercentileRank, RankScore, RPrecision
from recsample.metrics import AveragePrecision
from recsample.metrics.shapes import Geometric, Linear, Logarithmic, Reciprocal, Shape, Step

N = 60
RANK = np.arange(1, N - 3)


def terms(metric, order, n_relevant):
    """The term as a function of the rank, all else held fixed."""
    return metric.term(RANK + order - 1, order, n_relevant, N) + np.zeros(len(RANK))


def has(shape, values, ranks, n_relevant):
    """Whether values at some ranks are as the shape says."""
    match shape:
        case Linear():
            return np.allclose(np.diff(values, 2), 0, atol=1e-14)
        case Step():
            last = shape.last_places(np.array([n_relevant]))[0]
            return not values[ranks > last].any() and len(set(values[ranks <= last])) < 2
        case Reciprocal():
            return np.allclose(values * ranks, values[0] * ranks[0], rtol=1e-12)
        case Geometric():
            return np.allclose(values[1:], shape.ratio * values[:-1], rtol=1e-12)
        case Logarithmic():
            weight = np.log2(ranks + 1)
            return np.allclose(values * weight, values[0] * weight[0], rtol=1e-12)
    return type(shape) is Shape


@pytest.mark.parametrize("metric", ALL, ids=str)
@pytest.mark.parametrize(("order", "n_relevant"), [(1, 1), (1, 3), (2, 3), (3, 3)])
def test_values_have_the_shape(metric, order, n_relevant):
    ranks = RANK + order - 1
    assert has(metric.shape, terms(metric, order, n_relevant), ranks, n_relevant)


def test_the_check_tells_shapes_apart():
    """No metric but RR and the best item's part of AP would pass for another one."""
    named = [AUC, RPrecision, AP, RBP(0.8), DCG]
    assert len({type(metric.shape) for metric in named}) == 5
    for metric in named:
        for other in named:
            if metric is not other:
                assert not has(other.shape, terms(metric, 1, 3), RANK, 3), (metric, other)


@pytest.mark.parametrize(
    ("metric", "shape"),
    [
        (AUC, Linear()),
        (PercentileRank, Linear()),
        (AP, Reciprocal()),
        (RR, Reciprocal()),
        (AveragePrecision("relevant"), Reciprocal()),
        (NDCG, Logarithmic()),
        (DCG, Logarithmic()),
        (RBP(0.8), Geometric(0.8)),
        (RankScore(5), Geometric(0.5 ** (1 / 5))),
        (Accuracy, Step(1)),
        (RPrecision, Step(None)),
    ],
    ids=str,
)
def test_shapes_by_name(metric, shape):
    found = metric.shape
    if isinstance(shape, Geometric):
        assert isinstance(found, Geometric) and found.ratio == pytest.approx(shape.ratio, rel=1e-15)
    else:
        assert found == shape and hash(found) == hash(shape)


@pytest.mark.parametrize("metric", CUT_OFF, ids=str)
def test_a_cut_off_changes_the_shape(metric):
    cut = (metric @ 4).shape
    assert cut == (Shape() if sloping(metric) else Step(4))
    assert cut == (metric @ 7 @ 4).shape


def sloping(metric):
    """Whether its terms differ within a cut-off of 4 places."""
    return np.ptp(terms(metric @ 4, 1, 1)[:4]) > 1e-9


@pytest.mark.parametrize("metric", UNCUT, ids=str)
def test_all_ready_made_metrics_without_a_cut_off_have_a_name(metric):
    assert type(metric.shape) is not Shape


def test_last_places():
    assert Step(3).last_places(np.array([1, 5])).tolist() == [3, 3]
    assert Step(None).last_places(np.array([1, 5])).tolist() == [1, 5]
    assert Step(3) != Step(None) != Step(1)
