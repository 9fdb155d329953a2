"""Arrays as indices: what runs where an index has 32 bits, as in a browser."""

import ast
from pathlib import Path

import numpy as np
import pytest

import recsample as rs
from recsample._support import arrays
from recsample._support.arrays import (
    counted,
    different_rows,
    owners,
    places_in,
    repeated,
    row_blocks,
    starts_of,
    summed,
)

PACKAGE = Path(rs.__file__).parent


# The source

# There NumPy refuses to repeat or to count by arrays of 64 bits, which ranks are everywhere. An
# array method `repeat`, and `np.repeat` by a single number, take any.
WRAPPED = {"repeat", "bincount"}


def wrapped(code):
    """The lines that call or import what has one of these names."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in WRAPPED:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy":
            if WRAPPED & {alias.name for alias in node.names}:
                yield node.lineno


def test_rows_are_repeated_and_counted_in_one_place_only():
    found = {
        str(path.relative_to(PACKAGE)): list(wrapped(path.read_text(encoding="utf-8")))
        for path in PACKAGE.rglob("*.py")
    }
    assert len(found.pop("_support/arrays.py")) == 3
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_check_finds_what_it_looks_for():
    code = "from numpy import repeat\nx.repeat(lengths)\nnumpy.bincount(a)\nnp.tile(a, 3)"
    assert list(wrapped(code)) == [1, 2, 3]


@pytest.fixture
def narrow(monkeypatch):
    """NumPy as it is where an index has 32 bits: 64 bits are not cast to it."""
    repeat, bincount = np.repeat, np.bincount

    def refuse_wide(numbers):
        numbers = np.asarray(numbers)
        if numbers.ndim and numbers.dtype != np.int32:
            raise TypeError(f"Cannot cast array data from {numbers.dtype} to int32 by 'safe'")

    def narrow_repeat(values, times, axis=None):
        refuse_wide(times)
        return repeat(values, times, axis)

    def narrow_bincount(which, weights=None, minlength=0):
        refuse_wide(which)
        return bincount(which, weights, minlength).astype(np.int32 if weights is None else float)

    monkeypatch.setattr(np, "repeat", narrow_repeat)
    monkeypatch.setattr(np, "bincount", narrow_bincount)
    monkeypatch.setattr(np, "intp", np.int32)


def test_everything_that_counts_runs_with_narrow_indices(narrow):
    ranks = rs.Ranks([[2, 5, 9], [1], [4, 4 + 1]], 30, ties=[[0, 3, 0], [2], [6, 6]])
    one = rs.Ranks([1, 4, 9, 20], 30, ties=[0, 2, 0, 3])
    for metric in (rs.AP, rs.NDCG @ 3, rs.AUC, rs.metric("AP(hits)@3")):
        assert np.isfinite(metric(ranks)).all()
        for sampler in (rs.UniformSampling(5), rs.UniformSampling(5, True), rs.PooledSampling(2)):
            if metric.additive:
                assert np.isfinite(sampler.expect(metric, ranks)).all()
            assert np.isfinite(sampler.variance(metric, one)).all()
            assert np.isfinite(metric(sampler.draw(ranks, 0))).all()
    for design in (rs.InverseSampling(), rs.InverseSampling(cap=4)):
        assert np.isfinite(design.variance(rs.AP, one)).all()
        assert np.isfinite(design.estimate(rs.NDCG, ranks, 0)).all()
    assert np.isfinite(rs.EarlyStopping(3).cost(one)).all()
    sampled = rs.UniformSampling(9).draw(one, 0)
    assert rs.inference.rank_distribution(sampled, rs.UniformSampling(9), 30).sum() > 0.999
    assert len(rs.Ranks.concatenate([ranks[1:], ranks])) == 5
    with pytest.raises(TypeError, match="Cannot cast"):
        np.repeat([1, 2], np.array([1, 2], np.int64))
    with pytest.raises(TypeError, match="Cannot cast"):
        np.bincount(np.array([1, 2], np.int64))


# The functions


def test_values_are_repeated_counted_and_summed():
    assert repeated([5, 6, 7], np.array([2, 0, 1])).tolist() == [5, 5, 7]
    found, nothing = counted(np.array([0, 2, 2]), 4), np.array([], int)
    assert found.tolist() == [1, 0, 2, 0] and found.dtype == np.int64
    assert counted(nothing, 2).tolist() == [0, 0]
    assert summed(np.array([0, 2, 2]), [1.5, 1.0, -3.0], 4).tolist() == [1.5, 0.0, -2.0, 0.0]
    assert summed(nothing, [], 2).tolist() == [0.0, 0.0] and summed(nothing, [], 2).dtype == float


@pytest.mark.parametrize(("rows", "kinds"), [(0, 2), (50, 2), (50, 1), (400, 9)])
def test_different_rows_are_those_of_numpy(rows, kinds):
    table = np.random.default_rng(rows).integers(-kinds, kinds, (rows, 3))
    found, which = different_rows(list(table.T))
    expected, of_row = np.unique(table, axis=0, return_inverse=True)
    assert np.transpose(found).tolist() == expected.tolist()
    assert which.tolist() == of_row.reshape(-1).tolist()


@pytest.mark.parametrize("lengths", [[2, 0, 3], [0, 0]])
def test_lists_one_after_the_other(lengths):
    lists, n = [], 0
    for length in lengths:
        lists.append(list(range(n, n + length)))
        n += length
    given = np.array(lengths)
    assert starts_of(given).tolist() == [sum(lengths[:i]) for i in range(len(lengths))]
    assert owners(given).tolist() == [i for i, one in enumerate(lists) for _ in one]
    assert places_in(given).tolist() == [place for one in lists for place in range(len(one))]
    for function in (starts_of, owners, places_in):
        assert function(given).dtype == np.int64
        assert function(given.astype(np.int32)).dtype == np.int64


@pytest.mark.parametrize("block", [None, 1, 10, 35])
@pytest.mark.parametrize("n_rows, row_length", [(7, 5), (100, 3), (3, 10**6)])
def test_blocks_of_rows_cover_all_and_hold_no_more_than_asked_for(n_rows, row_length, block):
    parts = row_blocks(n_rows, row_length, block)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(n_rows))
    most = block or arrays.BLOCK
    for part in parts:
        rows = part.stop - part.start
        assert rows * row_length <= most or rows == 1
    # None but the last could take another row.
    for part in parts[:-1]:
        assert (part.stop - part.start + 1) * row_length > most
    assert row_blocks(0, row_length, block) == []
