"""A smooth function of whole numbers, at many of them from its values at few.

What is solved for a pool of n items is analytic in log n, so a polynomial through some tens of
solutions meets all others. The solutions that it goes through are chosen among the numbers that are
asked for, one by one, where the polynomial so far is least known: these are Leja points [1]_, which
serve any set of numbers, also one with gaps. Each is first a check of the polynomial and then a
part of it, so no solution is in vain. Where the function has kinks or jumps the checks fail, and
the numbers are cut in half, down to where they are solved one by one.

References
----------
.. [1] L. Reichel, "Newton interpolation at Leja points", BIT 30, 1990.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recsample._support.arrays import row_blocks
from recsample._support.typing import Floats, Integers

# A polynomial goes through at most so many values, and holds when so many in a row were met within
# this part of the largest value there is.
_MOST, _CHECKS, _TOLERANCE = 40, 3, 1e-10


def at_all(function: Callable[[int], Floats], numbers: Integers) -> Floats:
    """The values of a function, arrays of one shape, at different positive numbers in order."""
    place = np.log(numbers)
    first = function(int(numbers[0]))
    values = np.empty((len(numbers), first.size))
    solved = np.zeros(len(numbers), bool)

    def solve(i):
        if not solved[i]:
            values[i] = function(int(numbers[i])).ravel() if i else first.ravel()
            solved[i] = True

    parts = [np.arange(len(numbers))]
    while parts:
        rows = parts.pop()
        known = _enough(solve, values, place, rows)
        if known is not None:
            _fill(values, place, known, rows[~solved[rows]])
        else:
            parts += np.array_split(rows, 2)
    return values.reshape(len(numbers), *first.shape)


def _enough(solve, values, place, rows):
    """Rows through whose values a polynomial meets those of all `rows`; None if there are none."""
    known: list[int] = []
    spread = max(place[rows[-1]] - place[rows[0]], 1e-300)
    closeness = np.zeros(len(rows))  # the log of the product of the distances to those known
    met, largest, new = 0, 0.0, 0
    while len(known) < min(_MOST, len(rows)):
        i = rows[new]
        solve(i)
        largest = max(largest, np.abs(values[i]).max())
        if known:
            guess = _weights(place, known, np.array([i])) @ values[known]
            met = met + 1 if np.abs(guess - values[i]).max() <= _TOLERANCE * largest else 0
        known.append(i)
        if met == _CHECKS:
            return known
        # Huge numbers may differ and their logs not: those are taken last.
        closeness += np.log(np.maximum(np.abs(place[rows] - place[i]) / spread, 1e-300))
        closeness[new] = -np.inf
        new = int(np.argmax(closeness))
    return known if len(known) == len(rows) else None


def _fill(values, place, known, rows):
    """The values at other rows, from those known."""
    at_known = values[known]
    for part in row_blocks(len(rows), values.shape[1] + len(known)):
        values[rows[part]] = _weights(place, known, rows[part]) @ at_known


def _weights(place, known, rows):
    """What each known value counts in the polynomial at other places, by barycentric weights."""
    nodes = place[known]
    apart = (nodes[:, None] - nodes) * (4 / max(np.ptp(nodes), 1e-300))  # products are moderate
    np.fill_diagonal(apart, 1.0)
    away = place[rows, None] - nodes
    at_node = (away == 0).any(axis=1)  # of another number with the same log
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN, and not met, where nodes are equal
        share = 1 / apart.prod(axis=1) / away
        share[at_node] = away[at_node] == 0
        return share / share.sum(axis=1, keepdims=True)
