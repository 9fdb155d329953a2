"""The shape that a metric names is the shape that its values have."""

from dataclasses import dataclass

import numpy as np
import pytest
from all_metrics import ALL, CUT_OFF, UNCUT

import recsample as rs
from recsample import AP, AUC, DCG, RBP, RankScore, RPrecision
from recsample.metrics import Metric
from recsample.metrics.base import check_usable
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


@pytest.mark.parametrize("metric", CUT_OFF, ids=str)
def test_a_cut_off_changes_the_shape(metric):
    cut = (metric @ 4).shape
    assert cut == (Shape() if sloping(metric) else Step(4))
    assert cut == (metric @ 7 @ 4).shape


def sloping(metric):
    """Whether its terms differ within a cut-off of 4 places."""
    return np.ptp(terms(metric @ 4, 1, 1)[:4]) > 1e-9


def test_no_metric_loses_its_shape():
    """A new one need not have any: it is then averaged over ties place by place."""
    assert len([one for one in UNCUT if type(one.shape) is not Shape]) >= 12


def test_last_places():
    assert Step(3).last_places(np.array([1, 5])).tolist() == [3, 3]
    assert Step(None).last_places(np.array([1, 5])).tolist() == [1, 5]
    assert Step(3) != Step(None) != Step(1)


# A shape that the term has not is refused before the metric is used.


def declared(shape, value):
    """A metric that is worth ``value(r)`` on rank r, and says that this has a shape."""

    @dataclass(frozen=True, repr=False)
    class Declared(Metric):
        cutoff: int | None = None

        @property
        def name(self):
            return "Declared"

        @property
        def form(self):
            return shape

        def term(self, rank, order, n_relevant, n_items):
            return self.within(rank) * value(rank + 0.0, n_relevant, n_items) / n_relevant

    return Declared()


RIGHT = {
    "the same everywhere": (Linear(), lambda r, L, n: 0.5 + 0 * r),
    "nothing at all": (Geometric(0.5), lambda r, L, n: 0 * r),
    "a step": (Step(10), lambda r, L, n: 0.1 * (r <= 10)),
    "a step far away": (Step(10**9), lambda r, L, n: 1.0 * (r <= 10**9)),
    "a step at L": (Step(None), lambda r, L, n: 1.0 * (r <= L)),
    "a reciprocal": (Reciprocal(), lambda r, L, n: 7 / r),
    "a power": (Geometric(0.9), lambda r, L, n: 3 * 0.9**r),
    "a logarithm": (Logarithmic(), lambda r, L, n: 1 / np.log10(r + 1)),
    "undefined": (Reciprocal(), lambda r, L, n: np.nan / r),
    "anything": (Shape(), lambda r, L, n: np.sin(r)),
}
WRONG = {
    "1/r^2 is no reciprocal": (Reciprocal(), lambda r, L, n: r**-2),
    "1/(r + 1) is no reciprocal": (Reciprocal(), lambda r, L, n: 1 / (r + 1)),
    "a reciprocal that ends": (Reciprocal(), lambda r, L, n: (r < 1000) / r),
    "a reciprocal for one item only": (Reciprocal(), lambda r, L, n: r ** -(1.0 + (L > 1))),
    "a logarithm of r": (Logarithmic(), lambda r, L, n: 1 / (1 + np.log(r))),
    "a reciprocal is no logarithm": (Logarithmic(), lambda r, L, n: 1 / r),
    "a curve is no line": (Linear(), lambda r, L, n: 1 - (r / n) ** 1.01),
    "a line that is longer in a longer list": (Linear(), lambda r, L, n: 1 - 3 * r),
    "a line from the end of the list": (Linear(), lambda r, L, n: 1e9 * (n - r)),
    "a line that ends": (Linear(), lambda r, L, n: np.maximum(0, 1 - r / 100)),
    "the wrong ratio": (Geometric(0.9), lambda r, L, n: 0.91**r),
    "a reciprocal is no power": (Geometric(0.5), lambda r, L, n: 1 / r),
    "a step too far": (Step(10), lambda r, L, n: 1.0 * (r <= 11)),
    "a step too near": (Step(10), lambda r, L, n: 1.0 * (r <= 9)),
    "no step": (Step(10), lambda r, L, n: (r <= 10) / r),
    "a step at 1, not at L": (Step(None), lambda r, L, n: 1.0 * (r <= 1)),
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_shape_that_is_true_is_accepted(case):
    check_usable(declared(*RIGHT[case]))


@pytest.mark.parametrize(
    "metric",
    [
        RankScore(1e-7),
        RankScore(1e22),
        RankScore(0.1),
        RBP(1e-200),
        RBP(0.999999),
        rs.Recall @ 10**9,
    ],
    ids=str,
)
def test_extreme_ones_have_theirs(metric):
    check_usable(metric)


@pytest.mark.parametrize(("first", "last"), [(1, -2), (1e9, 0), (0, 1e-9)])
def test_a_line_between_two_values_is_accepted(first, last):
    @dataclass(frozen=True)
    class Line(Metric):
        form = Linear()

        def term(self, rank, order, n_relevant, n_items):
            share = (rank - order) / (n_items - n_relevant)
            return (first + (last - first) * share) / n_relevant

    assert Line()(rs.Ranks([[1, 9], [8, 9]], 9)).tolist() == [(first + last) / 2, last]


@pytest.mark.parametrize("case", WRONG)
def test_a_shape_that_is_not_true_is_refused_wherever_the_metric_is_used(case):
    metric, ranks = declared(*WRONG[case]), rs.Ranks([3], 40)
    sampler = rs.UniformSampling(5)
    for use in (
        lambda: metric(ranks),
        lambda: metric.of_rank(3, 40),
        lambda: sampler.expect(metric, ranks),
        lambda: rs.InverseSampling().expect(metric, ranks),
        lambda: rs.BiasVariance(metric, sampler, 40, gamma=0.1),
        lambda: rs.compare({"a": ranks}, [metric]),
    ):
        for _ in range(2):  # what is refused once is refused again
            with pytest.raises(ValueError, match="Declared must have the form that"):
                use()


def test_the_message_says_what_is_wrong():
    with pytest.raises(ValueError) as caught:
        declared(*WRONG["1/r^2 is no reciprocal"])(rs.Ranks([3], 40))
    assert str(caught.value) == (
        "Declared must have the form that it declares, Reciprocal(), got [1.0, 0.25, "
        "0.1111111111111111, 0.04] on the ranks [1, 2, 3, 5] of 10 as relevant item 1 of 1; "
        "Shape() declares nothing"
    )


def test_a_shape_is_looked_at_once():
    looked = []

    def value(r, L, n):
        looked.append(len(r))
        return 1 / r

    metric, ranks = declared(Reciprocal(), value), rs.Ranks([3], 40)
    metric(ranks)
    before = len(looked)
    for _ in range(5):
        metric(ranks)
    assert len(looked) == before + 5 and before < 20


def test_a_data_class_that_is_not_frozen_is_looked_at_too():
    @dataclass
    class Loose(Metric):
        form = Linear()

        def term(self, rank, order, n_relevant, n_items):
            return 1 - 3.0 * (rank - order) / (n_items - n_relevant)

    assert Loose.__hash__ is None
    assert Loose().of_rank([1, 2], 4).tolist() == [1, 0]
    with pytest.raises(ValueError, match="metrics must hold metrics that are frozen .*'Loose'"):
        rs.compare({"it": rs.Ranks([1], 9)}, [Loose()])


@pytest.mark.parametrize("at_one", [np.nan, np.inf])
def test_a_value_that_is_undefined_does_not_hide_the_others(at_one):
    @dataclass(frozen=True)
    class Hidden(Metric):
        power: float
        form = Reciprocal()

        def term(self, rank, order, n_relevant, n_items):
            return np.where(rank == 1, at_one, (order == 1) / rank**self.power)

    assert Hidden(1.0).of_rank([2, 4], 9).tolist() == [1 / 2, 1 / 4]
    with pytest.raises(ValueError, match="must have the form that it declares"):
        Hidden(2.0).of_rank([2, 4], 9)
