"""Immutable objects that compare by content, and caches of what they compute."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recsample._support.checks import is_sparse


class Value:
    """An immutable object; a subclass lists in `_content` what decides equality.

    A constructor sets its attributes by ``vars(self).update(...)``.
    """

    def _content(self) -> tuple[Any, ...]:
        """What decides whether two objects of one class are equal."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self._content(), other._content()
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))

    def __hash__(self) -> int:
        return hash((type(self), *map(_hashable, self._content())))

    def __setattr__(self, name: str, *value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: make a new one")

    __delattr__ = __setattr__


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written to."""
    return read_only(array.copy())


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make ``array`` itself read-only; only for an array that nothing else refers to."""
    array.flags.writeable = False
    return array


def _same(one: Any, other: Any) -> bool:
    if is_sparse(one) and is_sparse(other):
        return one.shape == other.shape and (one != other).nnz == 0
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


def _hashable(part: Any) -> object:
    if is_sparse(part):
        return part.shape, part.nnz
    if isinstance(part, np.ndarray):
        return part.shape, part.tolist()[0] if part.size and part.ndim == 1 else part.size
    return part


# The last results of one function are stored, up to so many bytes.
_MOST = 2**26
Arrays = TypeVar("Arrays", bound="tuple[NDArray, ...]")
Found = TypeVar("Found")


def cached(method: Callable[..., Found]) -> Callable[..., Found]:
    """Cache the result of a method, by its arguments, in the dict `known` of its object."""

    @wraps(method)
    def found(self, *given):
        key = method.__name__, *given
        if key not in self.known:
            self.known[key] = method(self, *given)
        return self.known[key]

    return found


def cached_arrays(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """Cache the arrays that a function returns, by its arguments, and make them read-only.

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
            read_only(array)
        with lock:
            known[given] = arrays
            while sum(array.nbytes for result in known.values() for array in result) > _MOST:
                known.popitem(last=False)
        return arrays

    return remembered
