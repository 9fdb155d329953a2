"""How much memory is taken for granted: the machine's, or what a container leaves of it."""

import os

import pytest

from recsample import _memory

GIB = 2**30


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Sets how much memory there seems to be, and what containers say about their limits."""
    files = tmp_path / "v2", tmp_path / "v1"
    monkeypatch.setattr(_memory, "_LIMITS", tuple(map(str, files)))
    monkeypatch.delenv("MEM_LIMIT", raising=False)

    def set_up(pages, *limits, variable=None):
        sizes = {"SC_PHYS_PAGES": pages, "SC_PAGE_SIZE": 4096}
        monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
        for file, limit in zip(files, limits):
            file.write_text(limit)
        if variable is not None:
            monkeypatch.setenv("MEM_LIMIT", variable)
        _memory.available.cache_clear()
        return _memory.available()

    yield set_up
    _memory.available.cache_clear()


def test_memory_of_the_machine(machine):
    assert machine(1000) == 1000 * 4096


@pytest.mark.parametrize(
    ("limits", "variable", "expected"),
    [
        (["max\n"], None, 1000 * 4096),
        (["9223372036854771712\n"], None, 1000 * 4096),
        (["123456\n"], None, 123456),
        (["max\n", "77777\n"], None, 77777),
        (["123456\n", "77777\n"], None, 77777),
        ([], "54321", 54321),
        (["123456\n"], "54321", 54321),
        (["12345\n"], "54321", 12345),
        ([], "1G", 1000 * 4096),
    ],
)
def test_the_least_of_all_limits_holds(machine, limits, variable, expected):
    assert machine(1000, *limits, variable=variable) == expected


def test_where_the_machine_does_not_say(machine, monkeypatch):
    machine(1000)
    monkeypatch.delattr(os, "sysconf")
    _memory.available.cache_clear()
    assert _memory.available() == 8 * GIB


def test_it_is_asked_for_once(machine, monkeypatch):
    machine(1000)
    monkeypatch.delattr(os, "sysconf")
    assert _memory.available() == 1000 * 4096


def test_half_of_the_memory_is_used_and_no_byte_more(machine):
    machine(GIB // 4096 * 4)
    _memory.fits_in_memory(2 * GIB, "the law")
    with pytest.raises(
        ValueError, match=r"^the law takes 2\.0 GiB, and at most half of the memory \(2\.0 GiB\) is"
    ):
        _memory.fits_in_memory(2 * GIB + 1, "the law")
    with pytest.raises(ValueError, match=r"the law takes 1,536\.0 GiB, and at most"):
        _memory.fits_in_memory(1536 * GIB, "the law")
