"""What is kept is what was computed, is not computed again, and does not grow without bound."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import recsample as rs
from recsample._support import values
from recsample.inference.likelihood.strata import columns_of, strata_of


@pytest.fixture
def counting():
    """A function that is kept, with the list of the calls that it had to answer itself."""
    calls = []

    @values.cached_arrays
    def zeros(n, name="") -> tuple[np.ndarray]:
        calls.append((n, name))
        return (np.zeros(n),)

    return zeros, calls


def test_the_same_arguments_are_answered_once(counting):
    zeros, calls = counting
    first = zeros(3, "a")
    assert zeros(3, "a") is first
    assert zeros(3, "b") is not first
    assert calls == [(3, "a"), (3, "b")]


def test_what_is_kept_cannot_be_spoilt(counting):
    with pytest.raises(ValueError, match="read-only"):
        counting[0](3)[0][0] = 1


def test_the_longest_unused_is_forgotten_first(counting, monkeypatch):
    monkeypatch.setattr(values, "_MOST", 8 * 10)
    zeros, calls = counting
    for n in (4, 5, 4, 2, 4, 5):  # 4, 5 and 2 are more than 10 numbers: 5 goes
        zeros(n)
    assert [n for n, _ in calls] == [4, 5, 2, 5]
    zeros(11), zeros(11)  # too large
    assert [n for n, _ in calls[4:]] == [11, 11]


def test_threads_share_it(counting):
    zeros, _ = counting
    with ThreadPoolExecutor(4) as pool:
        sizes = [len(found) for (found,) in pool.map(zeros, [1, 2, 3] * 50)]
    assert sizes == [1, 2, 3] * 50


def test_the_law_of_a_study_is_formed_once_whatever_was_drawn():
    sampler, ranks = rs.UniformSampling(20), rs.Ranks(range(1, 301), 300)
    draws = [sampler.draw(ranks, rng=seed) for seed in range(2)]
    sizes = np.full(len(ranks), ranks.n_items)
    runs = [strata_of(drawn, sizes, False)[0] for drawn in draws]
    one, other = (columns_of(run, "decreasing", False, (5, 10)) for run in runs)
    assert one is other
    assert columns_of(runs[0], "decreasing", False, (10, 5)) is one
    for changed in (
        ("none", False, (5, 10)),
        ("decreasing", True, (5, 10)),
        ("decreasing", False, (5,)),
    ):
        assert columns_of(runs[0], *changed) is not one
    assert columns_of(runs[0]._replace(pool=298), "decreasing", False, (5, 10)) is not one
