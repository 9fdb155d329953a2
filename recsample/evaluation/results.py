"""What a report or an evaluation gives back, and how it is shown: a table, pairs, sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from recsample._support.checks import array_of, shown
from recsample._support.extras import extra
from recsample._support.frames import as_ids, column_names, is_frame, read_columns, table_of
from recsample._support.numerics import PERCENT
from recsample._support.values import Value
from recsample.evaluation.saying import Ranked
from recsample.metrics.base import Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Result"]


_WIDTH = 88
_LEVELS = ["recommender", "metric"]


class Result(Value):
    """What `evaluate` and `report` say. Prints as text, and as HTML in a notebook.

    Parameters
    ----------
    ranked : Ranked
        The ranks that all is said of, which `per_instance`, `by` and `plan` ask too.

    Attributes
    ----------
    head : str
        How the numbers came about, in one line.
    table : pandas.DataFrame
        One row per metric, or per recommender and metric: ``value``, the estimate (or the limit
        next to it, where the data speak against it), ``low`` and ``high``. Where items were
        sampled ``sampled``, the metric of the ranks as given, and ``assumption``, what the limits
        rest on ("none", "decreasing", or "" without any). Of a design ``scored``, items per user.
    ladder : pandas.DataFrame
        ``low`` and ``high`` under each assumption, NaN where the data contradict it.
    pairs : pandas.DataFrame
        By recommenders "a" and "b", and "metric": ``difference`` of a from b, ``low``, ``high``,
        ``probability`` that a is ahead and, of samples, ``assumption``.
    sentences : tuple of str
        One for each row of `table`, for a paper. Each names the assumption that it rests on.
    notes : tuple of str
        What did not match or was left out, and which metrics look further than the lists reach.
    counts : pandas.DataFrame or None
        How often each of the former, also if it is 0: ``count`` by "recommender" (empty for what
        concerns all) and "what". None for a `report`.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.report(rs.Ranks([1, 2, 1, 3], n_items=5), n_items=50, metrics=["AUC"]).table.shape
    (1, 5)
    """

    ranked: Ranked
    head: str
    table: pd.DataFrame
    ladder: pd.DataFrame
    pairs: pd.DataFrame
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    counts: pd.DataFrame | None

    def __init__(self, ranked: Ranked) -> None:
        counts = {key: {"count": n} for key, n in (ranked.counts or {}).items()}
        named, rungs = ranked.named, ("low", "high")
        tables = {
            "table": (ranked.rows, _LEVELS, named, ()),
            "ladder": (ranked.ladder, [*_LEVELS, "assumption"], named, rungs),
            "pairs": (ranked.pairs, ["a", "b", "metric"], True, ranked.columns_of_pairs),
            "counts": (counts, ["recommender", "what"], True, None),
        }
        vars(self).update(
            {name: _table(*one) for name, one in tables.items()},
            ranked=ranked,
            head=ranked.head(),
            sentences=tuple(
                f"{name}: " * named + ranked.sentence(name, m) for name, m in ranked.rows
            ),
            notes=ranked.notes,
        )

    def _content(self):
        return (self.ranked,)  # all else follows from it

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
            Columns "user", "recommender" (of several), "metric" and "value": where items were
            sampled, that among the sampled ones, uncorrected.

        Examples
        --------
        >>> import recsample as rs
        >>> sampled = rs.Ranks([1, 2], n_items=5, ids=["ann", "bob"])
        >>> rs.report(sampled, n_items=50, metrics=["AUC"]).per_instance
          user metric  value
        0  ann    AUC   1.00
        1  bob    AUC   0.75
        """
        pd, ids = extra("pandas"), self.ranked.ids
        parts = [
            pd.DataFrame({"user": ids, "recommender": name, "metric": str(m), "value": one})
            for (name, m), one in self.ranked.values.items()
        ]
        table = pd.concat(parts, ignore_index=True)
        return table if self.ranked.named else table.drop(columns="recommender")

    def by(self, segments: Any) -> pd.DataFrame:
        """The table of each segment of the users.

        Parameters
        ----------
        segments : dataframe, mapping, or array_like, shape (users,)
            Two columns, users and their segments; the second by the first; or a segment for each
            user, in the order of `per_instance`.

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
        >>> found = rs.report(rs.Ranks([1, 2, 1, 3], n_items=5), n_items=50, metrics=["AUC"])
        >>> found.by(["new", "new", "old", "old"])["value"].round(3).tolist()
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
            rows = self.ranked.part(np.array(which)).rows
            found[name] = _table(rows, _LEVELS, self.ranked.named).assign(users=len(which))
        return extra("pandas").concat(found, names=["segment"])

    def plot(self) -> Figure:
        """The table as a picture: values with their limits, a panel for each metric.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> import matplotlib, recsample as rs
        >>> matplotlib.use("agg")
        >>> len(rs.report(rs.Ranks([1, 2], 5), n_items=50, metrics=["AUC"]).plot().axes)
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
        >>> print(rs.report(rs.Ranks([1, 2, 1, 3], 5), n_items=50, metrics=["AUC"]).to_latex())
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
        >>> print(rs.report(rs.Ranks([1, 2, 1, 3], 5), n_items=50, metrics=["AUC"]).to_markdown())
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
        >>> import recsample as rs
        >>> rs.report(rs.Ranks([1, 2, 1, 3], 5), n_items=50, metrics=["AUC"]).to_json()[:25]
        '{\\n  "head": "4 instances,'
        """
        said: dict[str, Any] = {"head": self.head}
        for name in ("table", "ladder", "pairs"):
            table = getattr(self, name)
            rows = table.reset_index().to_dict("records") if len(table) else []
            said[name] = [{k: None if v != v else v for k, v in row.items()} for row in rows]
        said |= {"sentences": list(self.sentences), "notes": list(self.notes)}
        return json.dumps(said, indent=2, ensure_ascii=False)

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        """What would bring the limits of a metric so close, if the ranks are as estimated here.

        Parameters
        ----------
        metric : Metric or str
        width : float
            The upper limit minus the lower one.

        Returns
        -------
        pandas.DataFrame
            One row per way: "rank all items" of some users, "more samples" for all of them, "draw
            until enough is known", a design without bias. Columns: ``setting``; ``users``;
            ``scored``, items per user on average; ``width``, as predicted.

        Raises
        ------
        ValueError
            For several recommenders, a metric that is not in the table, a width not above 0.

        Examples
        --------
        >>> import recsample as rs
        >>> sampler, x = rs.UniformSampling(m=20), rs.Ranks(range(1, 301), n_items=300)
        >>> found = rs.report(sampler.draw(x, rng=0), m=20, n_items=300, metrics=["Recall@10"])
        >>> "rank all items" in found.plan("Recall@10", width=0.1).index
        True
        """
        return self.ranked.plan(metric, width)


def _table(rows, levels, several=True, empty=None):
    """A table of rows by recommender, metric and what else; without any, these columns, or None."""
    if not rows:
        return None if empty is None else extra("pandas").DataFrame(columns=empty)
    named = {tuple(str(k) if isinstance(k, Metric) else k for k in key): rows[key] for key in rows}
    return table_of(named, levels, several)


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
    if is_frame(segments):
        columns = column_names(segments, "segments")
        if len(columns) != 2:
            raise ValueError(f"segments must have two columns, users and segments, got {columns}")
        users, names = read_columns("segments", segments, {"user": columns[0], "": columns[1]})
        segments = dict(zip(as_ids("segments", users).tolist(), names.to_list()))
    if isinstance(segments, Mapping):
        missing = [one for one in ids.tolist() if one not in segments]
        if missing:
            raise ValueError(f"segments must hold every user, got none for {missing[0]!r}")
        return [segments[one] for one in ids.tolist()]
    # As objects, or the numbers of a list with text in it would become text.
    names = array_of("segments", segments, None if hasattr(segments, "dtype") else object)
    if names.shape != (len(ids),):
        raise ValueError(
            f"segments must hold one for each of the {len(ids)} users, got {shown(segments)}"
        )
    return names.tolist()
