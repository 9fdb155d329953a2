"""Parts of some work at the same time, on as many threads as linear algebra would use.

Linear algebra gains little from a second thread where its results are looked at once they are
there, and its waiting threads are in the way of others. Each part on a thread of its own is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TypeVar

from recsample._extras import extra

T = TypeVar("T")


def number_of_threads() -> int:
    """What is set for linear algebra, such as by OMP_NUM_THREADS; 1 where that cannot be known."""
    if not find_spec("threadpoolctl"):
        return 1
    libraries = extra("threadpoolctl").threadpool_info()
    return max((one["num_threads"] for one in libraries if one["user_api"] == "blas"), default=1)


def on_threads(number: int, function: Callable[[T], None], parts: Iterable[T]) -> None:
    """Call a function with each part, on so many threads; linear algebra has one in each."""
    if number == 1:
        for part in parts:
            function(part)
        return
    limits = extra("threadpoolctl").threadpool_limits
    with limits(1, "blas"), ThreadPoolExecutor(number) as threads:
        for _ in threads.map(function, parts):
            pass
