"""Numbers against thresholds: by comparing, by sorting and compiled, all as counting by hand."""

import os
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recsample.ranks import thresholds

KINDS = [np.float32, np.float64]
INF = np.inf


def by_hand(rows, thresholds):
    """Counts above and near in plain Python, and the pairs to be noted."""
    above, near, pairs = [], [], set()
    for row, bounds in zip(rows.tolist(), thresholds):
        for low, high in bounds:
            inside = [column for column, x in enumerate(row) if low <= x <= high]
            if low < high:
                pairs |= {(len(above), column) for column in inside}
            above.append(sum(x > high for x in row))
            near.append(len(inside))
    return above, near, pairs


def found(compare, rows, thresholds):
    dtype, pairs = rows.dtype, []
    low, high = (
        np.array([pair[side] for bounds in thresholds for pair in bounds], dtype) for side in (0, 1)
    )
    before = rows.copy()
    n_thresholds = np.array([len(bounds) for bounds in thresholds])
    counts = np.zeros((2, len(low)), np.int64)
    for which, column in compare(rows, n_thresholds, low, high, counts):
        pairs.extend(zip(which.tolist(), column.tolist()))
    assert np.array_equal(rows, before)
    assert len(set(pairs)) == len(pairs)
    return *counts.tolist(), set(pairs)


def with_bounds(values, gap, dtype):
    """Thresholds as `compared` wants them, best first, with the same gap on both sides."""
    values = np.sort(np.asarray(values, dtype))[::-1]
    return list(zip((values - dtype(gap)).tolist(), (values + dtype(gap)).tolist()))


def some_rows(rng, kind, shape, dtype):
    rows = rng.normal(size=shape)
    if kind == "whole":
        rows = rng.integers(-3, 4, size=shape)
    elif kind == "outliers":
        rows[rng.random(shape) < 0.05] *= 1e30
    elif kind == "infinite":
        rows[rng.random(shape) < 0.1] = INF
        rows[rng.random(shape) < 0.1] = -INF
    elif kind == "alike":
        rows = 1e4 * (1 + np.finfo(dtype).eps * rng.integers(-9, 9, size=shape))
    elif kind == "constant":
        rows = np.full(shape, rng.normal())
    elif kind == "huge":
        rows = np.sign(rows) * np.finfo(dtype).max * rng.choice([1, 0.5, 1e-30], shape)
    elif kind == "tiny":
        rows = rng.integers(-3, 4, size=shape) * float(np.finfo(dtype).smallest_subnormal)
    return rows.astype(dtype)


def compiled():
    """`compared` by compiled code."""
    pytest.importorskip("numba")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("Numba may not compile here; in tests/tools/test_compiled.py it does")
    return partial(thresholds.compared, kernel=thresholds.compiled_counts())


@st.composite
def cases(draw):
    """Rows of every kind and up to 40 thresholds each, most of them among the numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(KINDS))
    kinds = ["normal", "whole", "outliers", "infinite", "alike", "constant", "huge", "tiny"]
    kind = draw(st.sampled_from(kinds))
    n_rows, width = draw(st.integers(1, 5)), draw(st.integers(1, 200))
    rows = some_rows(rng, kind, (n_rows, width), dtype)
    gap = draw(st.sampled_from([0, 1e-6, 0.01, 1]))
    thresholds = []
    for n in sorted(rng.integers(0, draw(st.sampled_from([3, 12, 41])), n_rows).tolist())[::-1]:
        values = rng.choice(rows.ravel(), n)
        values[rng.random(n) < 0.2] += dtype(0.5)
        thresholds.append(with_bounds(values, gap, dtype))
    rows[rng.random(rows.shape) < draw(st.sampled_from([0, 0.3]))] = -INF  # what is left out
    return rows, thresholds


def check(rows, thresholds, compare=thresholds.compared):
    assert found(compare, rows, thresholds) == by_hand(rows, thresholds)


@settings(max_examples=80, deadline=None)
@given(cases(), st.sampled_from([1, 8, 99]), st.sampled_from([1, 2**17]))
def test_counts_are_those_by_hand(case, many, together):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "_MANY", many)
        patch.setattr(thresholds, "_TOGETHER", together)
        check(*case)


@settings(max_examples=50, deadline=None)
@given(cases(), st.sampled_from([20, 160]))
def test_compiled_counts_are_those_by_hand(case, many):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "_MANY_COMPILED", many)
        check(*case, compiled())


@pytest.fixture
def compared_rows(monkeypatch):
    """How many rows are compared with how many thresholds, one after the other."""
    rows, by_comparing = [], thresholds._by_comparing

    def spied(numbers, *more):
        rows.append(len(numbers))
        return by_comparing(numbers, *more)

    monkeypatch.setattr(thresholds, "_by_comparing", spied)
    return rows


@pytest.mark.parametrize("dtype", KINDS)
def test_sorted_rows_are_compared_only_where_numbers_are_near(compared_rows, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 2000)).astype(dtype)
    rows[1] *= dtype(1e-20)
    rows[2] *= dtype(1e20)
    rows[3, 3] = INF
    rows[:, ::7] = -INF
    numbers = (40, 30, 25, 20, 15, 1)
    values = [rng.choice(row[abs(row) < INF], n) for row, n in zip(rows, numbers)]
    check(rows, [with_bounds(v, 0, dtype) for v in values])
    assert sum(compared_rows) == 1  # the row with one threshold
    compared_rows.clear()
    # Between two of the numbers, which are further apart than bounds and single precision are.
    ordered = np.sort(rows[0].astype(np.float32))
    between = ((ordered[1:] + ordered[:-1]) / 2)[ordered[:-1] > -INF]
    apart = np.argsort(-abs(np.diff(ordered[ordered > -INF])))[:40]
    check(rows[:1], [with_bounds(between[apart], 1e-6, dtype)])
    assert sum(compared_rows) == 0


def test_doubles_that_are_equal_in_single_precision_are_told_apart():
    rows = 1 + np.arange(-50, 50)[None] * 1e-12
    check(rows, [with_bounds(rows[0, ::9], 2.5e-12, np.float64)])


def few_and_all_near():
    rows = np.zeros((3, 1000), np.float32)
    rows[0, 1:-1] = 5
    rows[1, 997:] = 5
    return rows, [with_bounds([5, 0], 0.5, np.float32)] * 3


def test_few_and_all_are_near():
    check(*few_and_all_near())


def test_compiled_code_finds_few_and_all_that_are_near():
    check(*few_and_all_near(), compiled())


def test_numba_is_loaded_where_it_pays(monkeypatch):
    def chosen(n_comparisons):
        return thresholds.kernel_for(n_comparisons) is not None

    monkeypatch.setattr(thresholds, "compiled_counts", lambda: "compiled")
    monkeypatch.setattr(thresholds, "find_spec", lambda name: name == "numba")
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert not chosen(2**31 - 1) and chosen(2**31)
    assert thresholds.kernel_for(2**31) == "compiled"
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not chosen(2**24 - 1) and chosen(2**24)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not chosen(2**31)
    monkeypatch.setattr(thresholds, "find_spec", lambda name: None)
    assert not chosen(2**40)
