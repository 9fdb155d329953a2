"""What does not depend on the data is computed once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import TypeVar

from numpy.typing import NDArray

from recsample._value import locked

# Of one function, what was used last is kept up to this many bytes.
_MOST = 2**26

Arrays = TypeVar("Arrays", bound="tuple[NDArray, ...]")


def kept(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """Keep the arrays that a function returns for its arguments; they cannot be written to.

    All arguments are hashable and given by position.
    """
    known: OrderedDict[tuple, Arrays] = OrderedDict()
    lock = Lock()

    @wraps(function)
    def remembered(*given):
        with lock:
            if given in known:
                known.move_to_end(given)
                return known[given]
        arrays = function(*given)
        for array in arrays:
            locked(array)
        with lock:
            known[given] = arrays
            while sum(array.nbytes for result in known.values() for array in result) > _MOST:
                known.popitem(last=False)
        return arrays

    return remembered
