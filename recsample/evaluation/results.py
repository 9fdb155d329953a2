"""What a report or an evaluation gives back, and how it is shown: a table, pairs, sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from recsample._support.checks import array_of, shown
from recsample._support.extras import extra
from recsample._support.frames import as_ids, column_names, is_frame, read_columns, table_of
from recsample._support.numerics import PERCENT
from recsample.evaluation.saying import Ranked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from recsample.metrics.base import Metric

__all__ = ["Result"]


_WIDTH = 88


def said(ranked: Ranked) -> Result:
    """All that is to be said of recommenders that are ranked."""
    sentences = {key: ranked.sentence(*key) for key in ranked.rows}
    ladder, pairs = ranked.ladder, ranked.pairs
    counts = {key: {"count": n} for key, n in (ranked.counts or {}).items()}
    pd = extra("pandas")
    return Result(
        ranked.head(),
        _table(ranked),
        table_of(ladder, ["recommender", "metric", "assumption"], ranked.named)
        if ladder
        else pd.DataFrame(columns=["low", "high"]),
        table_of(pairs, ["a", "b", "metric"])
        if pairs
        else pd.DataFrame(columns=ranked.pair_columns),
        tuple(f"{key[0]}: {one}" if ranked.named else one for key, one in sentences.items()),
        ranked.notes,
        table_of(counts, ["recommender", "what"]) if counts else None,
        ranked,
    )


def _table(ranked):
    rows = {(name, str(metric)): row for (name, metric), row in ranked.rows.items()}
    return table_of(rows, ["recommender", "metric"], ranked.named)


@dataclass(frozen=True, eq=False)
class Result:
    """What `evaluate` and `report` say. Prints as text, and as HTML in a notebook.

    Parameters
    ----------
    head : str
        How the numbers came about, in one line.
    table : pandas.DataFrame
        One row per metric, or per recommender and metric. Columns: ``value``, the estimate (or the
        limit next to it, where the data speak against it), ``low`` and ``high``. Where items were
        sampled: ``sampled``, the metric of the ranks as given; ``assumption``, what the limits rest
        on ("none", "decreasing", or "" without any). Of a design: ``scored``, items per user.
    ladder : pandas.DataFrame
        ``low`` and ``high`` under each assumption, NaN where the data contradict it.
    pairs : pandas.DataFrame
        One row per pair of recommenders, "a" and "b", and "metric". Columns: ``difference`` of a
        from b, ``low``, ``high``, ``probability`` that a is ahead, and, of samples, ``assumption``.
    sentences : tuple of str
        One for each row of `table`, for a paper. Each names the assumption that it rests on.
    notes : tuple of str
        What did not match or was left out, and which metrics look further than the lists reach.
    counts : pandas.DataFrame or None
        How often each of the former, also if it is 0: ``count`` by "recommender" (empty for what
        concerns all) and "what". None for a `report`.
    ranked : Ranked
        The ranks that all this was said of, which `per_instance`, `by` and `plan` ask.

    Examples
    --------
    >>> import recsample as rs
    >>> found = rs.report(rs.Ranks([1, 2, 1, 3], n_items=5), n_items=50, metrics=["AUC"])
    >>> type(found).__name__, found.table.index.tolist()
    ('Result', ['AUC'])
    """

    head: str
    table: pd.DataFrame
    ladder: pd.DataFrame
    pairs: pd.DataFrame
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    counts: pd.DataFrame | None
    ranked: Ranked

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return all(
            type(a) is type(b) and (a.equals(b) if hasattr(a, "equals") else a == b)
            for a, b in pairs
        )

    def __hash__(self) -> int:
        return hash((self.head, self.sentences))

    def __str__(self) -> str:
        parts = [fill(self.head, _WIDTH), "", _text(self.table)]
        if len(self.pairs):
            parts += ["", _text(self.pairs)]
        return "\n".join([*parts, *_listed(self._said()), *_listed(self.notes)])

    def _said(self):
        """The sentences; where all is in the table already, they are for a paper only."""
        return self.sentences if "assumption" in self.table else ()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # A column for each metric, so that the table of one recommender fits on a phone.
        table = self.table.T if self.table.index.nlevels == 1 else self.table
        tables = [table, self.pairs] if len(self.pairs) else [table]
        shown = "".join(
            one.to_html(float_format="{:.4f}".format, na_rep="none", border=0) for one in tables
        )
        lists = "".join(
            "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
            for lines in (self._said(), self.notes)
            if lines
        )
        return f"<p>{escape(self.head)}</p>{shown}{lists}"

    @property
    def per_instance(self) -> pd.DataFrame:
        """The value of each metric for each user: what the means are taken of.

        Returns
        -------
        pandas.DataFrame
            Columns "user", "recommender" (not for a single one), "metric" and "value". Where items
            were sampled, the value is that among the sampled items, uncorrected.

        Examples
        --------
        >>> import recsample as rs
        >>> sampled = rs.Ranks([1, 2, 1, 3], n_items=5, ids=["ann", "bob", "cat", "dan"])
        >>> rs.report(sampled, n_items=50, metrics=["AUC"]).per_instance.head(2)
          user metric  value
        0  ann    AUC   1.00
        1  bob    AUC   0.75
        """
        pd = extra("pandas")
        ids = self.ranked.ids
        frames = [
            pd.DataFrame({"user": ids, "recommender": name, "metric": str(m), "value": one})
            for (name, m), one in self.ranked.values.items()
        ]
        table = pd.concat(frames, ignore_index=True)
        return table if self.table.index.nlevels > 1 else table.drop(columns="recommender")

    def by(self, segments: Any) -> pd.DataFrame:
        """The table of each segment of the users.

        Parameters
        ----------
        segments : dataframe, mapping, or array_like, shape (users,)
            A dataframe of two columns, ids of users and their segments; a mapping from the first to
            the second; or a segment for each user, in the order of `per_instance`.

        Returns
        -------
        pandas.DataFrame
            `table`, with the segment in front of its index and how many ``users`` there are.

        Raises
        ------
        ValueError
            For a user without a segment, and a segment of a single user.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 1, 3], n_items=5)
        >>> found = rs.report(ranks, n_items=50, metrics=["AUC"]).by(["new", "new", "old", "old"])
        >>> found["value"].round(3).tolist()
        [0.875, 0.75]
        """
        members: dict[Any, list[int]] = {}
        for i, name in enumerate(_segments(segments, self.ranked.ids)):
            if not isinstance(name, Hashable):
                raise ValueError(f"segments must be hashable, such as text, got {shown(name)}")
            members.setdefault(name, []).append(i)
        found = {}
        for name, which in members.items():
            if len(which) < 2:
                raise ValueError(f"segments must hold at least two users each, got 1 in {name!r}")
            found[name] = _table(self.ranked.part(np.array(which))).assign(users=len(which))
        return extra("pandas").concat(found, names=["segment"])

    def plot(self) -> Figure:
        """The table as a picture: values with their limits, a panel for each metric.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 1, 3], n_items=5)
        >>> len(rs.report(ranks, n_items=50, metrics=["AUC"]).plot().axes)
        1
        """
        from recsample import plotting

        return plotting.values_with_limits(self.table)

    def _cells(self):
        """Recommenders by metrics: values with their limits, as text."""
        rows: dict[str, dict[str, str]] = {}
        for key, row in self.table.iterrows():
            name, metric = key if isinstance(key, tuple) else (f"value ({PERCENT} limits)", key)
            value = "none" if np.isnan(row["value"]) else f"{row['value']:.4f}"
            limits = "" if np.isnan(row["low"]) else f" ({row['low']:.4f} to {row['high']:.4f})"
            rows.setdefault(name, {})[metric] = value + limits
        found = extra("pandas").DataFrame.from_dict(rows, orient="index")
        return found.rename(index=_on_one_line, columns=_on_one_line)

    def to_latex(self) -> str:
        """The table for LaTeX: recommenders by metrics, values with limits. Needs ``booktabs``.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 1, 3], n_items=5)
        >>> print(rs.report(ranks, n_items=50, metrics=["AUC"]).to_latex())
        \\begin{tabular}{ll}
        \\toprule
         & AUC \\\\
        \\midrule
        value (95 \\% limits) & 0.8125 (0.4316 to 1.1934) \\\\
        \\bottomrule
        \\end{tabular}
        <BLANKLINE>
        """
        extra("jinja2")
        # What pandas leaves: other signs in LaTeX's usual fonts, and options of a new line.
        others = {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
        others |= {sign: f"{{{sign}}}" for sign in "[*"}
        return self._cells().to_latex(escape=True).translate(str.maketrans(others))

    def to_markdown(self) -> str:
        """The table for Markdown: recommenders by metrics, values with limits.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 1, 3], n_items=5)
        >>> print(rs.report(ranks, n_items=50, metrics=["AUC"]).to_markdown())
        |                     | AUC                       |
        |:--------------------|:--------------------------|
        | value (95 % limits) | 0.8125 (0.4316 to 1.1934) |
        """
        extra("tabulate")
        cells = self._cells().rename(index=_as_markdown, columns=_as_markdown)
        return cells.to_markdown(disable_numparse=True)  # a name may look like a number

    def to_json(self) -> str:
        """All that is said, as JSON; limits that there are none of are null.

        Returns
        -------
        str

        Examples
        --------
        >>> import json
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 2, 1, 3], n_items=5)
        >>> json.loads(rs.report(ranks, n_items=50, metrics=["AUC"]).to_json())["table"][0]["value"]
        0.8125
        """
        said: dict[str, Any] = {"head": self.head}
        for name in ("table", "ladder", "pairs"):
            table = getattr(self, name)
            rows = table.reset_index().to_dict("records") if len(table) else []
            said[name] = [{k: None if v != v else v for k, v in row.items()} for row in rows]
        said |= {"sentences": list(self.sentences), "notes": list(self.notes)}
        return json.dumps(said, indent=2, ensure_ascii=False)

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
            One row per way that leads there: "rank all items" of some of the users, "more samples"
            for all of them, "draw until enough is known", a design without bias. Columns:
            ``setting``; ``users``; ``scored``, items per user on average; ``width``, as predicted.

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
        return self.ranked.plan(metric, width)


def _text(table):
    return table.to_string(float_format="{:.4f}".format, na_rep="none")


def _listed(lines):
    """Lines of a list, after an empty one."""
    filled = [fill(line, _WIDTH, initial_indent="- ", subsequent_indent="  ") for line in lines]
    return ["", *filled] if filled else []


def _on_one_line(name):
    return " ".join(str(name).split())


def _as_markdown(name):
    """Text that means something in Markdown or HTML, as it is; an underscore within a word is."""
    return re.sub(r"[\\`*~$&<>|\[\]]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", name)


def _segments(segments, ids):
    """The segment of each user."""
    if not (is_frame(segments) or isinstance(segments, Mapping)):
        # As objects, or the numbers of a list with text in it would become text.
        names = array_of("segments", segments, None if hasattr(segments, "dtype") else object)
        if names.shape != (len(ids),):
            raise ValueError(
                f"segments must hold one for each of the {len(ids)} users, got {shown(segments)}"
            )
        return names.tolist()
    if is_frame(segments):
        columns = column_names(segments, "segments")
        if len(columns) != 2:
            raise ValueError(f"segments must have two columns, users and segments, got {columns}")
        users, names = read_columns("segments", segments, {"user": columns[0], "": columns[1]})
        segments = dict(zip(as_ids("segments", users).tolist(), names.to_list()))
    missing = [one for one in ids.tolist() if one not in segments]
    if missing:
        raise ValueError(f"segments must hold every user, got none for {missing[0]!r}")
    return [segments[one] for one in ids.tolist()]
