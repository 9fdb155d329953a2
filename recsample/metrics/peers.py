"""Metrics of other libraries, and the metrics of this package with the same values.

The tests of this package hold the table against ranx, pytrec_eval, ir-measures, RecTools and
implicit, to 1e-9.
"""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple

from recsample._support.checks import positive_int


class Counterpart(NamedTuple):
    """A metric of another library, with its counterpart in this package.

    Parameters
    ----------
    library, metric : str
        The library, and what it calls the metric.
    namesake, same_as : str
        The metric of this package that has the same name, and the one that has the same values;
        empty if none has.
    note : str
        What it computes, if no metric of this package is the same.

    Examples
    --------
    >>> from recsample.metrics import peers
    >>> peers.Counterpart("ranx", "map@5", "AP@5", "AP(relevant)@5").agrees
    False
    """

    library: str
    metric: str
    namesake: str
    same_as: str
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the metric of the same name has the same values.

        Examples
        --------
        >>> from recsample.metrics import peers
        >>> peers.Counterpart("ranx", "mrr@5", "RR@5", "RR@5").agrees
        True
        """
        return self.namesake == self.same_as


def counterparts(k: int) -> list[Counterpart]:
    """Metrics of other libraries and their counterparts in this package, at a cut-off.

    Parameters
    ----------
    k : int
        The cut-off of those metrics that have one.

    Returns
    -------
    list of Counterpart

    Examples
    --------
    >>> import recsample as rs
    >>> table = rs.metrics.peers.counterparts(5)
    >>> [c.metric for c in table if c.library == "implicit" and c.agrees]
    ['map@5', 'ndcg@5']
    """
    table = resources.files("recsample").joinpath("data/counterparts.csv")
    text = table.read_text(encoding="utf-8").format(k=positive_int("k", k))
    found = [Counterpart(**row) for row in csv.DictReader(text.splitlines())]
    # Empty where it is the same as its namesake, a dash where no metric here is.
    same = [{"": one.namesake, "-": ""}.get(one.same_as, one.same_as) for one in found]
    return [one._replace(same_as=metric) for one, metric in zip(found, same)]
