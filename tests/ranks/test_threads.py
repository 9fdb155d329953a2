"""Each part of some work is done once, on a thread that leaves linear algebra one of its own."""

import threading

import pytest

from recsample.ranks import threads

threadpoolctl = pytest.importorskip("threadpoolctl")


def blas_threads():
    return [
        one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"
    ]


@pytest.mark.parametrize("number", [1, 3])
def test_every_part_is_done_once(number):
    done = []
    threads.on_threads(number, done.append, range(50))
    assert sorted(done) == list(range(50))


def test_parts_are_done_at_the_same_time():
    both_are_there = threading.Barrier(2, timeout=30)
    threads.on_threads(2, lambda _: both_are_there.wait(), range(2))


@pytest.mark.skipif(not blas_threads(), reason="threadpoolctl does not know this linear algebra")
def test_linear_algebra_has_one_thread_in_each_and_what_it_had_afterwards():
    with threadpoolctl.threadpool_limits(2, "blas"):
        before, inside = blas_threads(), []
        assert threads.number_of_threads() == max(before)
        threads.on_threads(2, lambda _: inside.append(set(blas_threads())), range(4))
        assert blas_threads() == before
    assert inside == 4 * [{1}]


def test_a_call_within_a_call_is_done_by_one_thread():
    done = []

    def again(part):
        threads.on_threads(2, lambda inner: done.append((part, threading.get_ident())), range(3))

    before = blas_threads()
    threads.on_threads(2, again, range(4))
    assert blas_threads() == before
    assert sorted(part for part, _ in done) == sorted(list(range(4)) * 3)
    assert all(len({thread for p, thread in done if p == part}) == 1 for part in range(4))


def test_the_first_part_that_fails_is_what_is_said():
    def fail(part):
        raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part 0"):
        threads.on_threads(2, fail, range(4))


def test_one_thread_where_nothing_is_known(monkeypatch):
    monkeypatch.setattr(threads, "find_spec", lambda _: None)
    assert threads.number_of_threads() == 1
