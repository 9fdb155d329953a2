"""What limits under "decreasing" cannot see in a study of given size, by recorded simulations.

The counts of a study hardly distinguish ranks closer than the pool size over the number of draws.
Two things are recorded (``python scripts/record.py blind``). If nobody has the ranks 1 to b, and
ranks beyond them are log-uniform, up to which b do half of the runs not contradict the assumption?
This is interpolated in the logarithms of the sizes. And how often are the limits of a report wrong,
for the worst of ten populations that break the assumption? Different ones are worst at different
sizes, so interpolation would be too low: the highest share at the neighbouring sizes is used.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from recsample._support.checks import positive_int
from recsample.inference.likelihood.strata import HEAD

__all__ = ["BlindSpot", "blind_spot"]


class BlindSpot(NamedTuple):
    """What limits under "decreasing" cannot see; what `blind_spot` returns.

    Parameters
    ----------
    ranks : int
        Within so many ranks hardly anything can be seen; 0 if there is no such limitation.
    fails : float
        How often limits under "decreasing" are printed and wrong, at most, at the recorded sizes
        around this one: the share of the runs for the worst of ten populations and of Recall@10,
        NDCG@10 and AP. NaN for less than 10 items in the pool for each drawn one, which is not
        recorded.

    Examples
    --------
    >>> import recsample as rs
    >>> print(rs.inference.BlindSpot(90, 1.0))  # doctest: +NORMALIZE_WHITESPACE
    At this size hardly anything within the first 90 ranks can be seen, and for the worst of 10
    populations tried such limits failed in up to 100 % of runs.
    """

    ranks: int
    fails: float

    def __str__(self) -> str:
        parts = []
        if self.ranks > 0:
            first = f"{self.ranks:,} ranks" if self.ranks > 1 else "rank"
            parts.append(f"hardly anything within the first {first} can be seen")
        if not np.isnan(self.fails):
            failed = f"such limits failed in up to {100 * self.fails:.0f} % of runs"
            parts.append(f"for the worst of 10 populations tried {failed}")
        return f"At this size {', and '.join(parts)}." if parts else ""


def blind_spot(n_items: int, m: int, n_instances: int) -> BlindSpot:
    """What limits under the assumption "decreasing" cannot see in a study of this size.

    Beyond the recorded sizes (m from 10 to 1,000 and 100 to 100,000 instances) the nearest recorded
    one is used. The ranks grow with the number of items for each drawn one. How often limits fail
    is recorded for 10 to 1,000 of these: 1,000 is used for more, and for less than 10 it is not
    known (NaN).

    Parameters
    ----------
    n_items, m, n_instances : int
        Size of the pool, number of drawn items per instance, and number of instances.

    Returns
    -------
    BlindSpot

    Examples
    --------
    >>> import recsample as rs
    >>> rs.inference.blind_spot(23_716, m=100, n_instances=6_000).ranks > 50
    True
    """
    n, m = positive_int("n_items", n_items), positive_int("m", m)
    users, per_draw = positive_int("n_instances", n_instances), n / m
    b = int(min(per_draw * np.exp(_log_of_ranks(m, users)), HEAD * n))
    unit = 10 ** max(0, len(str(b)) - 2)  # the record has no more than two digits
    fails = np.nan if per_draw < 10 else _highest_share(per_draw, m, users)
    return BlindSpot(b // unit * unit, fails)


def _log_of_ranks(*size):
    """The logarithm of the ranks per item and draw, interpolated between the nearest sizes."""
    (rows, columns), values = _record()["ranks"]
    row, column = np.log(size)
    return np.interp(row, rows, [np.interp(column, columns, one) for one in np.log(values)])


def _highest_share(*size):
    """The highest share of limits that failed at the nearest sizes."""
    (axes, values), near = _record()["fails"], []
    for axis, x in zip(axes, np.log(size)):
        x = np.clip(x, axis[0], axis[-1])
        near.append(slice(np.searchsorted(axis, x, "right") - 1, np.searchsorted(axis, x) + 1))
    return float(values[tuple(near)].max())


@cache
def _record():
    """For each part, the logarithms of the sizes and the values at each combination of them."""
    place = resources.files("recsample").joinpath("data/recorded_blind.csv")
    found: dict[str, dict[tuple[float, ...], float]] = {"ranks": {}, "fails": {}}
    for row in csv.DictReader(place.read_text(encoding="utf-8").splitlines()):
        n, m, users = (float(row[name]) for name in ("n_items", "m", "n_instances"))
        size = (m, users) if row["part"] == "ranks" else (n / m, m, users)
        found[row["part"]][size] = float(row["value"])
    grids = {}
    for part, values in found.items():
        axes = [np.unique(axis) for axis in zip(*values)]
        in_order = [values[size] for size in sorted(values)]
        grids[part] = list(map(np.log, axes)), np.reshape(in_order, [*map(len, axes)])
    return grids
