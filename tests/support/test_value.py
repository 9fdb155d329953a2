"""Ranks, interactions, samplers, metrics and others are values: equal by content, unchangeable."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import sparse

import recsample as rs
from recsample import AP, NDCG, Ranks, UniformSampling
from recsample._support.values import Value, frozen
from recsample.datasets.interactions import Interactions


def above(*rows):
    return sparse.csr_matrix(np.array(rows))


def observed(design, **columns):
    return rs.Observed(design, 9, **columns)


# Each is made twice from the same content, and then with each part of the content changed.
VALUES = {
    "Ranks": [
        lambda: Ranks([3, 1], 9, ties=[2, 0], ids=["a", "b"]),
        lambda: Ranks([4, 1], 9, ties=[2, 0], ids=["a", "b"]),
        lambda: Ranks([3, 1], 8, ties=[2, 0], ids=["a", "b"]),
        lambda: Ranks([3, 1], [9, 8], ties=[2, 0], ids=["a", "b"]),
        lambda: Ranks([3, 1], 9, ties=[1, 0], ids=["a", "b"]),
        lambda: Ranks([3, 1], 9, ties=[2, 0]),
    ],
    "RankCounts": [
        lambda: rs.RankCounts([3, 1], [5, 6], 9, ties=[2, 0]),
        lambda: rs.RankCounts([4, 1], [5, 6], 9, ties=[2, 0]),
        lambda: rs.RankCounts([3, 1], [5, 6], [9, 8], ties=[2, 0]),
        lambda: rs.RankCounts([3, 1], [5, 6], 9, ties=[1, 0]),
        lambda: Ranks([3, 1], 9, ties=[2, 0]),
    ],
    "Interactions": [
        lambda: Interactions.from_pairs([0, 0, 1], [0, 1, 2], [2, 1]),
        lambda: Interactions.from_pairs([0, 1, 1], [0, 1, 2], [2, 0]),
        lambda: Interactions.from_pairs([0, 0, 1], [0, 1, 2], [2, 0]),
        lambda: Interactions.from_pairs([0, 0, 1], [0, 1, 3], [3, 1]),
    ],
    "UniformSampling": [
        lambda: UniformSampling(9),
        lambda: UniformSampling(8),
        lambda: UniformSampling(9, replace=True),
        lambda: rs.PooledSampling(9),
    ],
    "InverseSampling": [lambda: rs.InverseSampling(), lambda: rs.InverseSampling(cap=3)],
    "EarlyStopping": [lambda: rs.EarlyStopping(3), lambda: rs.EarlyStopping(4)],
    "Observed": [
        lambda: observed(rs.InverseSampling(), position=[1, 2]),
        lambda: observed(rs.InverseSampling(), position=[1, 3]),
        lambda: observed(rs.InverseSampling(cap=3), position=[1, 2]),
        lambda: observed(rs.InverseSampling(), rank=[1, 2]),
        lambda: observed(rs.InverseSampling(), position=[1, 2], rank=[1, 2]),
        lambda: rs.Observed(rs.InverseSampling(), 8, position=[1, 2]),
        lambda: rs.Observed(rs.InverseSampling(), 9, [2], position=[1, 2]),
    ],
    "AP": [
        lambda: rs.metric("AP@10"),
        lambda: AP,
        lambda: AP(over="relevant") @ 10,
        lambda: rs.RR @ 10,
    ],
    "RankScore": [lambda: rs.RankScore(5), lambda: rs.RankScore(4), lambda: rs.RankScore(5) @ 3],
    "RankEstimate": [
        lambda: rs.RankEstimate(AP, UniformSampling(4), 9),
        lambda: rs.RankEstimate(NDCG, UniformSampling(4), 9),
        lambda: rs.RankEstimate(AP, UniformSampling(4), 8),
        lambda: rs.RankEstimate(AP, UniformSampling(4), 9, rounding="linear"),
        lambda: rs.RankEstimate(AP, UniformSampling(4), 9, plus_one=True),
        lambda: rs.MinimalBias(AP, UniformSampling(4), 9),
    ],
    "ConstrainedLeastSquares": [
        lambda: rs.ConstrainedLeastSquares(AP, UniformSampling(4), 9),
        lambda: rs.ConstrainedLeastSquares(AP, UniformSampling(4), 9, nonnegative=False),
        # A uniform prior that is given is another for several relevant items.
        lambda: rs.ConstrainedLeastSquares(AP, UniformSampling(4), 9, prior=np.ones(9)),
    ],
    "BiasVariance": [
        lambda: rs.BiasVariance(AP, UniformSampling(4), 9, gamma=0.1),
        lambda: rs.BiasVariance(AP, UniformSampling(4), 9, gamma=0.2),
        lambda: rs.MinimalBias(AP, UniformSampling(4), 9, prior=1 / np.arange(1.0, 10)),
    ],
}
every_value = pytest.mark.parametrize("name", VALUES)


@every_value
def test_equal_where_they_hold_the_same_and_nowhere_else(name):
    make, *others = VALUES[name]
    one, again = make(), make()
    assert one is not again or isinstance(one, rs.metrics.Metric)
    assert one == again and not one != again and hash(one) == hash(again)
    assert len({one, again}) == 1
    different = [other() for other in others]
    for other in different:
        assert one != other and not one == other
    assert len({one, *different}) == 1 + len(different)
    assert one != name and one is not None and one != 3


@every_value
def test_copies_and_pickles_are_equal(name):
    one = VALUES[name][0]()
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert type(other) is type(one) and other == one and hash(other) == hash(one)


def arrays_of(value):
    """All arrays that a value holds, also in its rows and columns."""
    for part in vars(value).values():
        if isinstance(part, np.ndarray):
            yield part
        elif sparse.issparse(part):
            yield from (part.data, part.indices, part.indptr)
        elif isinstance(part, dict):
            yield from part.values()
        elif isinstance(part, (tuple, list)):
            yield from (column for column in part if isinstance(column, np.ndarray))


@every_value
def test_nothing_of_them_can_be_changed(name):
    one = VALUES[name][0]()
    for attribute in [*vars(one), "anything"]:
        with pytest.raises((AttributeError, FrozenInstanceError)):
            setattr(one, attribute, None)
        with pytest.raises((AttributeError, FrozenInstanceError)):
            delattr(one, attribute)
    for array in arrays_of(one):
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[0]


def test_what_is_given_is_copied():
    values, sizes, ties = np.array([3, 1]), np.array([9, 8]), np.array([1, 0])
    position, prior = np.array([1, 2]), np.arange(1.0, 10)
    made = [
        Ranks(values, sizes, ties=ties),
        observed(rs.InverseSampling(), position=position),
        rs.BiasVariance(AP, UniformSampling(4), 9, gamma=0.1, prior=prior),
    ]
    before = pickle.dumps(made)
    for array in (values, sizes, ties, position, prior):
        array[:] = 5
    assert pickle.loads(before) == made


def test_ranks_are_equal_however_their_sizes_and_ties_were_given():
    one = Ranks([3, 1], 9)
    for other in (
        Ranks([3, 1], [9, 9]),
        Ranks([3, 1], 9, ties=0),
        Ranks([3, 1], 9, ties=[0, 0]),
        Ranks(np.array([3.0, 1.0]), 9),
        Ranks([[3], [1]], 9),
    ):
        assert other == one and hash(other) == hash(one)


class Pair(Value):
    """Two parts, of which the first may be an array."""

    def __init__(self, first, second):
        vars(self).update(first=first, second=second)

    def _content(self):
        return self.first, self.second


class OtherPair(Pair):
    pass


def test_values_of_another_class_are_never_equal():
    assert Pair(1, 2) == Pair(1, 2) != OtherPair(1, 2)
    assert Pair(1, 2).__eq__(OtherPair(1, 2)) is NotImplemented
    assert hash(Pair(1, 2)) != hash(OtherPair(1, 2))


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (np.arange(3), np.arange(3.0), np.arange(4)),
        (np.eye(2), np.eye(2), np.zeros((2, 2))),
        (above([0, 1]), above([0, 1]), above([1, 0])),
        (above([0, 1]), above([0, 1]), above([0, 1, 0])),
        ("a", "a", np.array(["a", "b"])),
    ],
)
def test_parts_may_be_arrays(one, same, other):
    assert Pair(one, 1) == Pair(same, 1) and hash(Pair(one, 1)) == hash(Pair(same, 1))
    assert Pair(one, 1) != Pair(other, 1) and Pair(one, 1) != Pair(one, 2)


def test_a_frozen_array_is_a_copy():
    given = np.arange(3)
    kept = frozen(given)
    given[0] = 7
    assert kept.tolist() == [0, 1, 2] and given.flags.writeable and not kept.flags.writeable
