"""Run parts of some work in parallel, on as many threads as linear algebra would use.

Where each product is followed by comparisons, several threads in linear algebra gain little. One
thread for each part of the whole work is faster.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TypeVar

from recsample._support.extras import extra

Part = TypeVar("Part")
# The number of threads of linear algebra is set for the whole process, so by one call at a time.
_BUSY = threading.Lock()


def number_of_threads() -> int:
    """The threads of linear algebra, as set by OMP_NUM_THREADS and others; 1 if unknown."""
    if not find_spec("threadpoolctl"):
        return 1
    libraries = extra("threadpoolctl").threadpool_info()
    return max((one["num_threads"] for one in libraries if one["user_api"] == "blas"), default=1)


def on_threads(number: int, function: Callable[[Part], None], parts: Iterable[Part]) -> None:
    """Call a function with each part, on `number` threads.

    With several, linear algebra has one thread in each. While another call is running, this thread
    does all parts.
    """
    if number == 1 or not _BUSY.acquire(blocking=False):
        for part in parts:
            function(part)
        return
    limits = extra("threadpoolctl").threadpool_limits
    try:
        with limits(1, "blas"), ThreadPoolExecutor(number) as threads:
            for _ in threads.map(function, parts):
                pass
    finally:
        _BUSY.release()
