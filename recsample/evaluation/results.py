"""What a report or an evaluation gives back, and how it is shown: a table, pairs, sentences."""

from __future__ import annotations

import json
import re
from html import escape
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from recsample._support import frames
from recsample._support.checks import shown
from recsample._support.extras import extra
from recsample._support.numerics import LEVEL, PERCENT
from recsample._support.values import Value
from recsample.evaluation import say
from recsample.evaluation.groups import names_of
from recsample.evaluation.infer import Inferred, Reread, Sampled
from recsample.inference.blind import BlindSpot
from recsample.inference.planning import users_to_rank
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Result"]


_WIDTH, _UNBROKEN = 88, "\u00a0"
_SAMPLED = "sampled (uncorrected)"
# So many recommenders are shown, so many in pairs, and so many notes: what one reads.
_MOST, _MOST_IN_PAIRS, _NOTES = 20, 10, 10
_LAST = "Sentences for a paper: .sentences, and on the command line --format sentences."
_LEVELS = ["recommender", "metric"]
_TABLES = ("table", "ladder", "pairs", "fit", "counts")


class Result(Value):
    """What `evaluate`, `report` and `from_published` say: text, or HTML in a notebook.

    Of more than 20 recommenders text, LaTeX, Markdown and plots show the best 20 by the first
    metric, and of more than 10 the differences between the best 10. The tables below, CSV and JSON
    hold all.

    Parameters
    ----------
    inferred : Inferred
        All numbers, which `per_instance`, `by` and `plan` ask too.

    Attributes
    ----------
    head : str
        How the numbers came about, and what the limits assume: what all rows share.
    table : pandas.DataFrame
        One row per metric, or per recommender and metric: ``value``, the estimate (or the limit
        next to it, where the data speak against it), ``low`` and ``high``. Where items were
        sampled ``sampled``, the metric of the ranks as given, and ``assumption``, what the limits
        rest on ("none", "decreasing", "audit", or "" without any). Where `evaluate` was told that
        unlisted items are "open", ``assumption`` is "bound" for what they leave open. Of an audit
        ``low_for_others`` and ``high_for_others``, limits for other users like these.
    ladder : pandas.DataFrame
        ``low`` and ``high`` under each assumption, NaN where the data contradict it.
    fit : pandas.DataFrame
        By "recommender": ``p_value``, the chance of ranks that fit the stated draws as badly as
        these, and ``p_corrected``, times the number of recommenders. Below 0.01 the sentences say
        so, below 0.0001 nothing is said of the recommender at all. Empty where none were drawn.
    pairs : pandas.DataFrame
        By recommenders "a" and "b", and "metric": ``difference`` of a from b, ``low``, ``high``,
        ``probability`` that a has the higher mean, of samples ``assumption``, and ``ahead``: the
        better recommender, whose mean is the lower one where less is better, or "undecided" where
        the limits hold 0 or the numbers differ in sign. The limits of all pairs of a metric hold
        at once (Bonferroni's correction, and after Holm's step-down test no limit is on the other
        side of 0).
    sentences : tuple of str
        One for each row of `table`, for a paper. Each names the assumption that it rests on.
    notes : tuple of str
        What did not match or was left out, is undefined, or contradicts itself.
    blind : BlindSpot or None
        How many ranks the limits under "decreasing" can hardly see within, and how often they fail
        for the worst population tried; see `blind_spot`. None where no limits rest on it.
    counts : pandas.DataFrame or None
        How often something did not match or was left out, also if it is 0: ``count`` by
        "recommender" (empty for what concerns all) and "what". Of `evaluate` only, otherwise None.

    Examples
    --------
    >>> import recsample as rs
    >>> column = [1, 2, 1, 3]
    >>> rs.report(column, m=4, n_items=50, drawn="uniform", metrics=["AUC"]).table.shape
    (1, 5)
    """

    inferred: Inferred
    head: str
    table: pd.DataFrame
    ladder: pd.DataFrame
    fit: pd.DataFrame
    pairs: pd.DataFrame
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    blind: BlindSpot | None
    counts: pd.DataFrame | None

    def __init__(self, inferred: Inferred) -> None:
        vars(self).update(
            inferred=inferred,
            blind=inferred.blind,
            head=say.headline(inferred),
            sentences=say.sentences(inferred),
            notes=say.notes(inferred),
        )

    def __getattr__(self, name: str) -> Any:
        if name not in _TABLES:
            raise AttributeError(f"a result has no attribute {name!r}")
        found, rungs = self.inferred, ("low", "high")
        counts = {key: {"count": n} for key, n in (found.counts or {}).items()}
        fit = {(name,): row for name, row in found.fit.items()}
        tables: dict[str, tuple[Any, ...]] = {
            "table": (found.rows, _LEVELS, found.named, ()),
            "ladder": (found.ladder, [*_LEVELS, "assumption"], found.named, rungs),
            "pairs": (found.pairs, ["a", "b", "metric"], True, found.columns_of_pairs),
            "fit": (fit, ["recommender"], True, ("p_value", "p_corrected")),
            "counts": (counts, ["recommender", "what"], True, None),
        }
        # Made when it is asked for, and kept: text is printed without pandas.
        return vars(self).setdefault(name, _table(*tables[name]))

    def _content(self):
        return (self.inferred,)  # all else follows from it

    def __str__(self) -> str:
        rows, pairs, legend = self._shown(), self._differences(), []
        if self.inferred.named and max(map(len, _lines(rows) + _lines(pairs))) > _WIDTH:
            numbers = {name: str(i) for i, name in enumerate(dict.fromkeys(n for n, _ in rows), 1)}
            each = [f"{i} = {_on_one_line(name)}" for name, i in numbers.items()]
            said = "; ".join(one.replace(" ", _UNBROKEN) for one in each)
            legend = [fill(said, _WIDTH, break_on_hyphens=False).replace(_UNBROKEN, " "), ""]
            rows, pairs = self._shown(numbers), self._differences(numbers)
        parts = [fill(self._said, _WIDTH), "", *legend, *_lines(rows)]
        if pairs:
            parts += ["", fill(self._said_of_pairs, _WIDTH), *_in_width(pairs)]
        notes = list(self.notes[:_NOTES])
        if len(self.notes) > _NOTES:
            notes.append(f"{len(self.notes) - _NOTES} more notes: .notes")
        notes = [fill(one, _WIDTH, initial_indent="- ", subsequent_indent="  ") for one in notes]
        return "\n".join([*parts, "", *notes, _LAST])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = [_framed(one) for one in (self._shown(), self._differences()) if one]
        # Where a table is wider than a phone it is moved there, not the page: by keys too.
        moved = '<div style="overflow-x: auto" tabindex="0">{}</div>'
        shown = "".join(moved.format(one.to_html(border=0)) for one in tables)
        notes = "".join(f"<li>{escape(line)}</li>" for line in self.notes[:_NOTES])
        return f"<p>{escape(self._said)}</p>{shown}" + f"<ul>{notes}</ul>" * bool(notes)

    def _best(self, most):
        """So many recommenders, in their order: all, or the best by the first metric."""
        found, metric = self.inferred, self.inferred.metrics[0]
        ends = ("value", "low", "high")
        rows = [[found.rows[name, metric][one] for one in ends] for name in found.runs]
        values = [(low + high) / 2 if np.isnan(x) else x for x, low, high in rows]
        sign = -1 if metric.higher_is_better else 1
        best = np.argsort(sign * np.array(values), kind="stable")[:most]  # NaN comes last
        return [name for i, name in enumerate(found.runs) if i in best]

    @property
    def _said(self):
        """The head, and which recommenders are left out."""
        n = len(self.inferred.runs)
        if n <= _MOST:
            return self.head
        best = f"the {_MOST} of {n} recommenders with the best {self.inferred.metrics[0]}"
        return f"{self.head} Shown are {best}; .table has all."

    @property
    def _said_of_pairs(self):
        """What differences are, and which are left out."""
        n, runs = len(self.inferred.pairs) // len(self.inferred.metrics), len(self.inferred.runs)
        said = f"{PERCENT} limits" + f", for all {n:,} pairs of a metric at once" * (n > 1)
        if any(row.get("assumption") == "bound" for row in self.inferred.pairs.values()):
            said += "; bounds in brackets"
        left_out = f" between the best {_MOST_IN_PAIRS}; .pairs has all" * (runs > _MOST_IN_PAIRS)
        return f"Differences{left_out} ({said}):"

    def _shown(self, called=None):
        """The table as text: texts by column, by recommender, if it is named, and metric."""
        found, shown, best = self.inferred, {}, {*self._best(_MOST)}
        for (name, metric), row in found.rows.items():
            value, limits = _number(row["value"]), _limits(row["low"], row["high"])
            if row.get("assumption") == "bound":
                value, limits = "", f"between {limits.replace('to', 'and')}"
            is_sampled = "sampled" in row
            cells = {"sampled": _number(row["sampled"])} if is_sampled else {}
            if not isinstance(found, Reread):
                cells["corrected" if is_sampled else "value"] = value
            cells["limits"] = limits
            if free := found.ladder.get((name, metric, "none")):
                word = say.rests_on(row)
                known = word == "decreasing"
                cells["without"] = _limits(free["low"], free["high"]) if known else word
            if name in best:
                shown[(called or {}).get(name, name), str(metric)] = cells
        return shown if found.named else {(metric,): row for (_, metric), row in shown.items()}

    def _differences(self, called=None):
        """Limits of the differences as text: by pair, for each metric."""
        called, shown, best = called or {}, {}, {*self._best(_MOST_IN_PAIRS)}
        for (a, b, metric), row in self.inferred.pairs.items():
            if {a, b} <= best:
                one, other = (_on_one_line(called.get(name, name)) for name in (a, b))
                limits = _limits(row["low"], row["high"], 3)
                in_brackets = row.get("assumption") == "bound"
                cells = shown.setdefault((f"{one} - {other}",), {})
                cells[str(metric)] = f"({limits})" if in_brackets else limits
        return shown

    def _with_free_limits(self):
        """The table, with columns for the limits that rest on no assumption."""
        if not len(self.ladder):
            return self.table
        free = self.ladder.xs("none", level="assumption")[["low", "high"]]
        return self.table.join(free.add_suffix(" without"))

    def _exported(self):
        """The table as it leaves: numbers, and in each row what they are."""
        table = self._with_free_limits().assign(level=LEVEL).reset_index()
        if "low without" in table:
            table["assumption"] = table.apply(say.rests_on, axis=1)
        if "sampled" in table:
            table = table.rename(columns={"value": "corrected", "sampled": _SAMPLED})
        return table

    def _pasted(self):
        """The table as text, for a paper."""
        table = _framed(self._shown(), _LEVELS[-1 - self.inferred.named :])
        return table.rename(columns={"sampled": _SAMPLED}).reset_index()

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
        >>> rs.report(sampled, n_items=50, drawn="uniform", metrics=["AUC"]).per_instance
          user metric  value
        0  ann    AUC   1.00
        1  bob    AUC   0.75
        """
        pd, ids = extra("pandas"), self.inferred.ids
        parts = [
            pd.DataFrame({"user": ids, "recommender": name, "metric": str(m), "value": one})
            for (name, m), one in self.inferred.values.items()
        ]
        table = pd.concat(parts, ignore_index=True)
        return table if self.inferred.named else table.drop(columns="recommender")

    def by(self, segments: Any) -> pd.DataFrame:
        """The table of each segment of the users.

        Parameters
        ----------
        segments : dataframe, mapping, pandas.Series, or array_like, shape (users,)
            Two columns, users and their segments; the second by the first; a Series with the users
            as its index; or a segment for each user, in the order of `per_instance`.

        Returns
        -------
        pandas.DataFrame
            `table`, with the segment in front of its index and how many ``users`` there are.

        Raises
        ------
        ValueError
            For a user without a segment or with two, and a segment of a single user.

        Examples
        --------
        >>> import recsample as rs
        >>> found = rs.report([1, 2, 1, 3], m=4, n_items=50, drawn="uniform", metrics=["AUC"])
        >>> found.by(["new", "new", "old", "old"])["value"].round(3).tolist()
        [0.875, 0.75]
        """
        members: dict[Any, list[int]] = {}
        for i, name in enumerate(names_of("segments", segments, self.inferred.ids)):
            members.setdefault(name, []).append(i)
        found = {}
        for name, which in members.items():
            groups = which if self.inferred.groups is None else self.inferred.groups[which]
            if len(np.unique(groups)) < 2:
                what = "users" if groups is which else "groups"
                raise ValueError(f"segments must hold at least two {what} each, got 1 in {name!r}")
            rows = self.inferred.part(np.array(which)).rows
            found[name] = _table(rows, _LEVELS, self.inferred.named).assign(users=len(which))
        return extra("pandas").concat(found, names=["segment"])

    def plot(self, exact: Result | None = None) -> Figure:
        """The table as a picture: a panel for each metric, the best recommender on top.

        Where items were sampled, the sampled values stand beside the corrected ones, and the limits
        without the assumption around those with it.

        Parameters
        ----------
        exact : Result, optional
            Of the same recommenders, with all items ranked: its values are marked too.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError
            Where `exact` lacks a recommender or metric.

        Examples
        --------
        >>> import matplotlib, recsample as rs
        >>> matplotlib.use("agg")
        >>> found = rs.report([1, 2], m=4, n_items=50, drawn="uniform", metrics=["AUC"])
        >>> len(found.plot().axes)
        1
        """
        from recsample import plotting

        table = self._with_free_limits()
        if self.inferred.named:
            table = table.loc[self._best(_MOST)]
        if exact is not None:
            if not isinstance(exact, Result):
                raise ValueError(f"exact must be a Result or None, got {shown(exact)}")
            missing = table.index.difference(exact.table.index)
            if len(missing):
                raise ValueError(
                    "exact must hold the same recommenders and metrics, got none for "
                    f"{shown(missing[0])}: evaluate them among all items"
                )
            table = table.assign(exact=exact.table["value"])
        title = say.limits_said(self.inferred) + self._said[len(self.head) :]
        lower = [str(one) for one in self.inferred.metrics if not one.higher_is_better]
        return plotting.values_with_limits(table, title, lower)

    def to_latex(self) -> str:
        """The table for LaTeX, with what it says of itself as its caption. Needs ``booktabs``.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> exact = rs.Ranks(range(1, 501), n_items=500)
        >>> found = rs.report(rs.UniformSampling(m=49).draw(exact, rng=0), metrics=["AUC"])
        >>> print(found.to_latex())  # doctest: +ELLIPSIS
        \\begin{table}
        \\caption{500 instances, each ranked among m = 49 of 499 irrelevant items, ...}
        \\begin{tabular}{lllll}
        \\toprule
        metric & sampled (uncorrected) & corrected & limits & without \\\\
        \\midrule
        AUC & 0.5031 & 0.5031 & 0.4772 to 0.5289 & not needed \\\\
        \\bottomrule
        \\end{tabular}
        \\end{table}
        <BLANKLINE>
        """
        extra("jinja2")
        # What pandas leaves: other signs in LaTeX's usual fonts, and options of a new line.
        others = {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
        others |= {sign: f"{{{sign}}}" for sign in "[*"}
        caption = re.sub(r"[%&_#$]", r"\\\g<0>", self._said)
        table = self._pasted().to_latex(escape=True, index=False)
        said = f"\\caption{{{caption}}}\n{table}".translate({ord(a): b for a, b in others.items()})
        return f"\\begin{{table}}\n{said}\\end{{table}}\n"

    def to_markdown(self) -> str:
        """The table for Markdown, and below it what it says of itself.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> exact = rs.Ranks(range(1, 501), n_items=500)
        >>> found = rs.report(rs.UniformSampling(m=49).draw(exact, rng=0), metrics=["AUC"])
        >>> print(found.to_markdown())  # doctest: +ELLIPSIS
        | metric   | sampled (uncorrected)   | corrected   | limits           | without    |
        |:---------|:------------------------|:------------|:-----------------|:-----------|
        | AUC      | 0.5031                  | 0.5031      | 0.4772 to 0.5289 | not needed |
        <BLANKLINE>
        500 instances, each ranked among m = 49 of 499 irrelevant items, ...
        """
        extra("tabulate")
        # A name may look like a number.
        table = self._pasted().map(_as_markdown).to_markdown(index=False, disable_numparse=True)
        return f"{table}\n\n{_as_markdown(self._said)}"

    def to_csv(self) -> str:
        """The table as CSV; each row says at which level its limits are, and what they assume.

        Names that a spreadsheet would run as a formula, such as =1+1, begin with an apostrophe.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> found = rs.report([1, 2, 1, 3], m=4, n_items=50, drawn="uniform", metrics=["AUC"])
        >>> print(found.to_csv())  # doctest: +ELLIPSIS
        metric,corrected,low,high,sampled (uncorrected),assumption,low without,high without,level
        AUC,0.8125,...,0.8125,not needed,...,0.95
        <BLANKLINE>
        """
        table = self._exported()
        for name in {"recommender", "metric"} & {*table}:
            table[name] = table[name].str.replace(r"^(?=[=+\-@\t\r\n])", "'", regex=True)
        return table.to_csv(index=False, lineterminator="\n")

    def to_json(self) -> str:
        """All that is said, as JSON; limits that there are none of are null.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> found = rs.report([1, 2, 1, 3], m=4, n_items=50, drawn="uniform", metrics=["AUC"])
        >>> found.to_json()[:25]
        '{\\n  "head": "4 instances,'
        """
        said: dict[str, Any] = {"head": self.head, "level": LEVEL, "table": self._exported()}
        said |= {name: getattr(self, name).reset_index() for name in ("ladder", "pairs", "fit")}
        for name in ("table", "ladder", "pairs", "fit"):
            said[name] = list(map(_without_nan, said[name].to_dict("records")))
        said["blind"] = self.blind and _without_nan(self.blind._asdict())
        said |= {"sentences": list(self.sentences), "notes": list(self.notes)}
        return json.dumps(said, indent=2, ensure_ascii=False)

    def plan(self, metric: Metric | str, width: float) -> pd.DataFrame:
        """How many users to rank among all items for limits of a metric so close.

        Parameters
        ----------
        metric : Metric or str
        width : float
            The upper limit minus the lower one.

        Returns
        -------
        pandas.DataFrame
            ``users``, enough in nine studies of ten where the assumption of the limits is true: of
            "these users", chosen at random, for the mean over them, and for "others like these".
            `recsample.inference.plan_audit` mostly asks for fewer, and assumes nothing.

        Raises
        ------
        ValueError
            For several recommenders, a metric that is not in the table, a width not above 0.

        Examples
        --------
        >>> import recsample as rs
        >>> sampler, x = rs.UniformSampling(m=20), rs.Ranks(range(1, 301), n_items=300)
        >>> found = rs.report(sampler.draw(x, rng=0), metrics=["Recall@10"])
        >>> users = found.plan("Recall@10", width=0.1)["users"]
        >>> bool(users["these users"] < users["others like these"])
        True
        """
        found = self.inferred
        if type(found) is not Sampled or len(found.runs) > 1 or found.groups is not None:
            raise ValueError(
                "a plan is made from the sampled ranks of one recommender, without groups: report "
                "it alone"
            )
        if (asked := the_metric(metric)) not in found.metrics:
            raise ValueError(f"metric must be one of {[*map(str, found.metrics)]}, got {metric!r}")
        (run,) = found.evidence.values()
        users = users_to_rank(asked, width, run)
        rows = {"these users": users.these, "others like these": users.others}
        return extra("pandas").DataFrame({"users": rows})


def _without_nan(row):
    return {name: None if value != value else value for name, value in row.items()}


def _table(rows, levels, several=True, empty=None):
    """A table of rows by recommender, metric and what else; without any, these columns, or None."""
    if not rows:
        return None if empty is None else extra("pandas").DataFrame(columns=empty)
    named = {tuple(str(k) if isinstance(k, Metric) else k for k in key): rows[key] for key in rows}
    table = frames.table_of(named, levels, several)
    return table if len(levels) > 1 else table.set_index(table.index.get_level_values(0))


def _framed(shown, names=None):
    """Texts by column, by their keys, as a table of pandas."""
    pd, keys = extra("pandas"), [tuple(map(_on_one_line, key)) for key in shown]
    index = pd.MultiIndex.from_tuples(keys, names=names)
    index = index if len(keys[0]) > 1 else index.get_level_values(0)
    return pd.DataFrame([*shown.values()], index)


def _number(value):
    return "none" if np.isnan(value) else f"{value:.4f}"


def _limits(low, high, digits=4):
    return "none" if np.isnan(low) else f"{low:.{digits}f} to {high:.{digits}f}"


def _lines(shown, columns=None):
    """Texts by column, by their keys, as lines; what begins a key is not repeated."""
    if not shown:
        return []
    columns, begin = columns or [*next(iter(shown.values()))], None
    grid = [[*[""] * len(next(iter(shown))), *columns]]
    for (*before, last), cells in shown.items():
        label = ["" for _ in before] if before == begin else map(_on_one_line, before)
        grid.append([*label, _on_one_line(last), *(f" {cells[one]}" for one in columns)])
        begin = before
    widths = [max(map(len, column)) for column in zip(*grid)]
    sides = "<" * (len(widths) - len(columns)) + ">" * len(columns)
    return [" ".join(map("{:{}{}}".format, row, sides, widths)) for row in grid]


def _in_width(shown):
    """The lines of a wide table in parts, of as many columns each as fit on a line."""
    columns = [*next(iter(shown.values()))]
    cell = 2 + max(len(text) for cells in shown.values() for text in chain(columns, cells.values()))
    n = max(1, (_WIDTH - max(len(pair) for (pair,) in shown)) // cell)
    parts = (_lines(shown, columns[i : i + n]) for i in range(0, len(columns), n))
    return chain.from_iterable(parts)


def _on_one_line(name):
    return " ".join(str(name).split())


def _as_markdown(name):
    """Text that means something in Markdown or HTML, as it is; an underscore within a word is."""
    return re.sub(r"[\\`*~$&<>|\[\]]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", name)
