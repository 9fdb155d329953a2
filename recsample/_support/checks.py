"""Checks of arguments: each error names the argument, the value received and what is allowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.errors import InputError, Naming
from recsample._support.typing import Floats, Integers, Rng


def whole_numbers(
    name: str, values: object, *, lowest: int | None = None, cure: str = "", missing: str = ""
) -> Integers:
    """Convert ``values`` to an int64 array of the same shape; refuse numbers that are not whole.

    The message ends with the cure, which is another one for those that are `missing`.
    """
    array = array_of(name, values, cure=missing)
    labels = getattr(values, "index", None) if hasattr(values, "reindex") else None
    where = "at position" if labels is None else "of"
    refuse_missing(name, missing_in(array), where, labels, missing)
    if array.dtype == object and array.ndim:  # that of a table may be of numbers
        array = array_of(name, array.tolist())
    if array.dtype.kind not in "iuf":
        raise InputError(name, "must be whole numbers").got(shown(values))
    allowed = "whole numbers" if array.ndim else "a whole number"
    allowed += "" if lowest is None else f" of at least {lowest}"
    end = np.float64(2**53)  # beyond it a float no longer holds every whole number
    _refuse_entry(name, f"{allowed} below 2**53", array, (array <= -end) | (array >= end))
    bad = array != np.floor(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    bad = bad if lowest is None else bad | (array < lowest)
    _refuse_entry(name, allowed, array, bad, cure)
    return array.astype(np.int64)


def _refuse_entry(name, allowed, array, bad, cure=""):
    """Refuse the first bad entry of an array, and name its position."""
    if bad.any():
        where = np.unravel_index(np.argmax(bad), array.shape)
        index = ", ".join(map(str, where))
        place = f" (at position {index if array.ndim == 1 else f'({index})'})" if array.ndim else ""
        raise InputError(name, f"must be {allowed}").got(f"{array[where]}{place}", cure)


def one_or_each(
    name: str, values: object, n: int, each: str = "", *, lowest: int | None = None
) -> Integers:
    """Whole numbers, one for each of `n` instances; a single number is used for all.

    `each` says of what there are `n` where it is something else.
    """
    given = whole_numbers(name, values, lowest=lowest)
    if given.shape not in ((), (n,)):
        allowed = f"must be one number or one for each {each or f'of {n} instances'}"
        raise InputError(name, allowed).got(f"an array of shape {given.shape}")
    return np.broadcast_to(given, n)


def numbers(name: str, values: object) -> NDArray[Any]:
    """Convert ``values`` to an array; refuse anything but real numbers, of which NaN is one."""
    array = array_of(name, values)
    if array.dtype == object:
        refuse_missing(name, missing_in(array))
    if array.dtype.kind not in "biuf":
        raise InputError(name, "must be an array of numbers").got(shown(values))
    return array


def finite_numbers(name: str, values: object, *, lowest: float = -np.inf) -> Floats:
    """Convert ``values`` to a float array; refuse NaN, infinite and too low numbers."""
    array = numbers(name, values).astype(np.float64)
    allowed = "finite numbers" if array.ndim else "a finite number"
    allowed += "" if lowest == -np.inf else f" of at least {lowest}"
    _refuse_entry(name, allowed, array, ~(np.isfinite(array) & (array >= lowest)))
    return array


def positive_int(name: str, value: object) -> int:
    """``value`` as an int of at least 1."""
    array = array_of(name, value)
    if array.ndim or array.dtype.kind not in "iuf":
        raise InputError(name, "must be a whole number of at least 1").got(shown(value))
    return int(whole_numbers(name, value, lowest=1))


def positive_float(name: str, value: Any) -> float:
    """``value`` as a finite float above 0."""
    return _one_number(name, value, "a finite number above 0", lambda x: 0 < x < np.inf)


def nonnegative_float(name: str, value: Any) -> float:
    """``value`` as a finite float of at least 0."""
    return _one_number(name, value, "a finite number of at least 0", lambda x: 0 <= x < np.inf)


def fraction(name: str, value: Any) -> float:
    """``value`` as a float between 0 and 1, both excluded."""
    return _one_number(name, value, "between 0 and 1, both excluded", lambda x: 0 < x < 1)


def _one_number(name, value, allowed, holds):
    """``value`` as a float; True and arrays of one number are refused."""
    no_number = isinstance(value, (bool, np.bool_)) or getattr(value, "ndim", 0) > 0
    number = float("nan") if no_number else as_float(value)
    if not holds(number):
        raise InputError(name, f"must be {allowed}").got(shown(value))
    return number


def true_or_false(name: str, value: object) -> bool:
    """``value`` as a bool; anything else is refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(name, "must be True or False").got(shown(value))
    return bool(value)


def refuse_first(
    bad: NDArray, argument: str, allowed: str, value: str, *columns: ArrayLike, remedy: str = ""
) -> None:
    """Raise an InputError for the first bad entry.

    In what is allowed and in the value {0} stands for its number in the first of the columns, {}
    for that in the next one, {at} for its place, and {name} for an argument.
    """
    if bad.any():
        at = int(np.argmax(bad))
        found = [np.broadcast_to(column, bad.shape).flat[at] for column in columns]
        allowed, value = (Naming(text, *found, at=at) for text in (allowed, value))
        raise InputError(argument, allowed, value, remedy)


def one_of(name: str, value: Any, words: Collection[str]) -> Any:
    """Return ``value`` if it is one of the allowed words, else raise an InputError."""
    if value is None or not is_one_of(value, words):
        *others, last = map(repr, words)
        raise InputError(name, f"must be {', '.join(others)} or {last}").got(shown(value))
    return value


def is_sparse(value: object) -> bool:
    """Whether it is a sparse matrix of SciPy; does not import SciPy if it is not loaded."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def is_one_of(value: object, words: Collection[str | None]) -> bool:
    """Whether it is one of these words; False for arrays, which NumPy would compare by entry."""
    return (value is None or isinstance(value, str)) and value in words


def generator(rng: Rng) -> np.random.Generator:
    """``rng`` as a numpy Generator: a seed, a Generator that is advanced, or None."""
    if isinstance(rng, np.random.RandomState):
        rng = rng._bit_generator  # what NumPy 2.2 and newer take from it by themselves
    whole = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool)  # NumPy: True is 1
    if not (rng is None or isinstance(rng, _GENERATORS) or (whole and rng >= 0)):
        allowed = "a whole number of at least 0 or a numpy Generator"
        raise InputError("rng", f"must be {allowed}").got(shown(rng))
    return np.random.default_rng(rng)


_GENERATORS = np.random.Generator, np.random.BitGenerator, np.random.SeedSequence


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, NA."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value, nor have arrays
        return not hasattr(value, "__len__")


def as_float(value: Any) -> float:
    """``value`` as a float, or NaN if it cannot be converted."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are missing, whatever marks them: NaN, None, NaT, NA, or a mask."""
    if isinstance(values, np.ma.MaskedArray):  # under whose mask NumPy would read values
        return np.ma.getmaskarray(values)
    if values.dtype == object:
        return np.reshape([is_missing(one) for one in values.flat], values.shape).astype(bool)
    return values != values if values.dtype.kind in "fmM" else np.zeros(1, bool)


def refuse_missing(
    name: str, missing: NDArray[Any], first: str = "at position", places: Any = None, cure: str = ""
) -> None:
    """Refuse missing entries; the message says which of the `places` is the first, or where."""
    if missing.ndim and missing.any():
        at = np.unravel_index(np.argmax(missing), missing.shape)
        place = ", ".join(map(str, at)) if places is None else shown(places[at[0]])
        got = f"{missing.sum():,} of {missing.size:,}, the first {first} {place}"
        raise InputError(name, "must not have missing values").got(got, cure)


def refuse_masked(name: str, values: Any, cure: str = "") -> None:
    """Refuse an array with masked entries."""
    if isinstance(values, np.ma.MaskedArray):
        refuse_missing(name, missing_in(values), cure=cure)


def refuse_frame(name: str, values: Any, cure: str) -> None:
    """Refuse a dataframe with named columns, whose meaning an array would lose."""
    if any(isinstance(column, str) for column in getattr(values, "columns", ())):
        got = f"a dataframe with the columns {shown(list(values.columns))}"
        raise InputError(name, "must be an array").got(got, cure)


def array_of(name: str, values: Any, dtype: Any = None, cure: str = "") -> NDArray[Any]:
    """``values`` as an array; an array of None if NumPy cannot make one.

    The cure is for a mask.
    """
    refuse_masked(name, values, cure)
    try:
        return np.asarray(values, dtype)
    except ValueError:  # lists of different lengths make no array, nor do Ranks
        return np.asarray(None)
    except (TypeError, RuntimeError) as error:  # a tensor on a device, or with a gradient
        kind = type(values).__name__
        raise InputError(name, "must be an array").got(f"{kind}: {error}") from None


def shown(value: object) -> str:
    """``value`` as text for an error message, on one line of at most 80 characters."""
    try:
        text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    except Exception:  # of a number with thousands of digits, say
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


# Files with the memory limit of a container on Linux: control groups, version 2 and version 1.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def check_memory(n_bytes: float, what: str, change: str) -> None:
    """Refuse an array that does not fit into the memory, before the machine starts to swap.

    `change` says which argument to change, and how.
    """
    memory = available_memory()
    if n_bytes > memory / 2:
        half = f"at most half of the memory ({memory / 2**31:,.1f} GiB) is used"
        takes = Naming("{} takes {:,.1f} GiB, and {}", what, n_bytes / 2**30, half)
        raise InputError("", takes, remedy=change)


# A number for each of so many ranks takes some seconds.
_RANKS = 10**7


def check_n_items(n_items: object, bytes_each: int, what: str) -> int:
    """``n_items`` as an int; refuse a pool too large to compute a number for every rank."""
    size = positive_int("n_items", n_items)
    if size > _RANKS:
        raise InputError(
            "n_items", f"must be at most {_RANKS:,} for {what}, which looks at every rank"
        ).got(size, "report, limits, and corrections without a prior take any number")
    over = Naming("{} over {n_items:={}} ranks", what, size)
    check_memory(bytes_each * size, over, Naming("choose a smaller {n_items}"))
    return size


@cache  # called before every large array, and reading files takes longer than making most of them
def available_memory() -> float:
    """Bytes of memory of the machine, or of the container that the process runs in."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # no sysconf on Windows
        machine = 8 * 2**30
    given = [os.environ.get("MEM_LIMIT", "")]  # set by Binder's hubs, and others
    for file in _LIMITS:
        with suppress(OSError):
            given.append(Path(file).read_text(encoding="utf-8").strip())
    # Without a limit it is a word, "max".
    return min([machine, *(float(limit) for limit in given if limit.isdecimal())])
