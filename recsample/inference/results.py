"""What an evaluation says: a table with limits, the pairs, and sentences for a paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from recsample.metrics.base import Metric

__all__ = ["Result"]

_WIDTH = 88


@dataclass(frozen=True, eq=False)
class Result:
    """What an evaluation says; `report` returns it. Prints as text, and as HTML in a notebook.

    Parameters
    ----------
    head : str
        How the numbers came about, in one line.
    table : pandas.DataFrame
        One row per metric, or per recommender and metric. Columns: ``value``, ``low`` and ``high``,
        the estimate (or the limit next to it, where the data speak against it) and its limits;
        ``sampled``, the metric of the ranks as they were given; ``assumption``, what the limits
        rest on ("none", "decreasing"), empty where there are none.
    ladder : pandas.DataFrame
        The limits under each assumption: one row per metric (and recommender) and assumption,
        columns ``low`` and ``high``, NaN where the data contradict the assumption.
    pairs : pandas.DataFrame
        One row per pair of recommenders and metric, index levels "a", "b" and "metric". Columns:
        ``difference`` of a from b, ``low``, ``high``, ``probability`` that a is ahead of b, and
        ``assumption``. Empty for one recommender.
    sentences : tuple of str
        One for each row of `table`, for a paper. Each names the assumption that it rests on.
    ways : callable or None
        What `plan` asks.

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=20)
    >>> sampled = sampler.draw(rs.Ranks(range(1, 301), n_items=300), rng=0)
    >>> found = rs.report(sampled, m=20, n_items=300, metrics=["AUC"])
    >>> type(found).__name__, found.table.index.tolist()
    ('Result', ['AUC'])
    """

    head: str
    table: pd.DataFrame
    ladder: pd.DataFrame
    pairs: pd.DataFrame
    sentences: tuple[str, ...]
    ways: Callable[[Metric | str, float], pd.DataFrame] | None = None

    def __str__(self) -> str:
        parts = [fill(self.head, _WIDTH), "", _text(self.table)]
        if len(self.pairs):
            parts += ["", _text(self.pairs)]
        lines = [
            fill(line, _WIDTH, initial_indent="- ", subsequent_indent="  ")
            for line in self.sentences
        ]
        return "\n".join([*parts, "", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # A column for each metric, so that the table of one recommender fits on a phone.
        table = self.table.T if self.table.index.nlevels == 1 else self.table
        tables = [table, self.pairs] if len(self.pairs) else [table]
        shown = "".join(
            one.to_html(float_format="{:.4f}".format, na_rep="none", border=0) for one in tables
        )
        items = "".join(f"<li>{escape(line)}</li>" for line in self.sentences)
        return f"<p>{escape(self.head)}</p>{shown}<ul>{items}</ul>"

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        """What would bring the limits of a metric this close to each other, and what it costs.

        Planned as if the exact ranks were distributed as estimated from this run.

        Parameters
        ----------
        metric : Metric or str
        width : float
            The distance of the upper limit from the lower one.

        Returns
        -------
        pandas.DataFrame
            One row per way: "rank all items" of some of the users, "more samples" for all of them,
            and "draw until enough is known", a design without bias. Columns: ``setting``, how far
            each must be taken; ``users``; ``scored``, the irrelevant items to be scored per user,
            on average; ``width``, as predicted. Ways that do not lead there are left out.

        Raises
        ------
        ValueError
            For a metric that is not in the table, a width that is not above 0, and a result of
            several recommenders.

        Examples
        --------
        >>> import recsample as rs
        >>> sampler, x = rs.UniformSampling(m=20), rs.Ranks(range(1, 301), n_items=300)
        >>> found = rs.report(sampler.draw(x, rng=0), m=20, n_items=300, metrics=["Recall@10"])
        >>> "rank all items" in found.plan("Recall@10", width=0.1).index
        True
        """
        if self.ways is None:
            raise ValueError("a plan is made for one recommender: report it alone")
        return self.ways(metric, width)


def _text(table):
    return table.to_string(float_format="{:.4f}".format, na_rep="none")
