"""How much memory there is to work in, in a container too."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from recsample._validation import positive_int

# Where Linux says what a container may use: version 2 and version 1 of control groups.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def fits_in_memory(n_bytes: float, what: str, change: str) -> None:
    """Refuse an array that the machine's memory cannot hold, before the machine starts to swap.

    `change` says which argument to change, and how.
    """
    memory = available()
    if n_bytes > memory / 2:
        raise ValueError(
            f"{what} takes {n_bytes / 2**30:,.1f} GiB, "
            f"and at most half of the memory ({memory / 2**31:,.1f} GiB) is used: {change}"
        )


# A number for each of so many ranks takes some seconds.
_RANKS = 10**7


def every_rank(n_items: object, bytes_each: int, what: str) -> int:
    """``n_items`` as an int, for what needs a number for every rank of a pool."""
    size = positive_int("n_items", n_items)
    if size > _RANKS:
        raise ValueError(
            f"n_items must be at most {_RANKS:,} for {what}, which looks at every rank, got {size}:"
            " report, limits, bounds, and corrections without a prior take any number"
        )
    fits_in_memory(
        bytes_each * size, f"{what} over n_items={size} ranks", "choose a smaller n_items"
    )
    return size


@cache  # asked before every large array, and reading files takes longer than most of them
def available() -> float:
    """Bytes of memory: those of the machine, or of the container that the process is in."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # no sysconf on Windows
        machine = 8 * 2**30
    # Binder's hubs, and others, name the limit in a variable as well.
    given = [os.environ.get("MEM_LIMIT", ""), *map(_content, _LIMITS)]
    return min([machine, *(float(limit) for limit in given if limit.isdecimal())])


def _content(file: str) -> str:
    """What a file says; nothing where there is none. Without a limit it is a word, "max"."""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
