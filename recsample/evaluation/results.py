"""What a report or an evaluation gives back, and how it is shown: a table, pairs, sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from hashlib import sha256
from html import escape
from importlib.metadata import version
from inspect import signature
from textwrap import fill
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from recsample._support import frames
from recsample._support.checks import is_sparse, one_of, shown
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.numerics import LEVEL, PERCENT
from recsample._support.typing import Rng
from recsample._support.values import Value
from recsample.evaluation import say
from recsample.evaluation.findings import COLUMNS_OF_PAIRS, Findings, Study
from recsample.evaluation.groups import names_of
from recsample.evaluation.readings import COLUMNS as READ
from recsample.evaluation.readings import COLUMNS_OF_PAIRS as READ_PAIRS
from recsample.inference.audit import AuditPlan
from recsample.inference.blind import BlindSpot
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.sampling.base import Sampler

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Result"]


_WIDTH = 88
# So many recommenders are shown.
_MOST = 20
_LEVELS = ["recommender", "metric"]
_LIMITS, _IF, _PLACE = f"{PERCENT} limits", "if decreasing", "vs best"
_LISTS = (list, tuple, dict)
_BY_NAME = ("scores", "sampled", "exact")  # arguments that name recommenders
_IDLE = ("not needed", "")  # what makes no column
_FOR_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: f"{{{sign}}}" for sign in "[*"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Value):
    """What `evaluate`, `report` and `from_published` say: text, or HTML in a notebook.

    Of more than 20 recommenders text, `wide`, LaTeX, Markdown and plots show the best 20 by the
    first metric. The other tables below, CSV and JSON hold all.

    Parameters
    ----------
    study : Study
        What was given, of which `by` takes parts, and by which `plan` plans.
    findings : Findings
        All that was found, as data.
    made : mapping
        The version of ``recsample``, the ``function``, and its ``arguments`` as they were stated,
        the seed included, without what is as it is by default; of the command also the ``command``,
        without folders. It holds no row of anybody's data: of tables, arrays and ranks there are
        kind, columns, shape, and 16 digits of a SHA-256 hash. That is the same for the same data in
        every session and on every machine, so that whoever has the data can tell whether a table is
        of them. Of arrays with more than 65,536 entries, and tables with more rows, as many at
        equal distances are hashed.

    Attributes
    ----------
    head : str
        What was ranked among what.
    table : pandas.DataFrame
        One row per metric, or per recommender and metric: ``value``, the mean or an estimate of it,
        and its 95 % limits ``low`` and ``high``, which assume nothing of the ranks. An estimate may
        be outside of its limits; the notes say so then. Of sampled ranks there are three more.
        ``sampled`` is the metric of the ranks as given. ``if_low`` and ``if_high`` are narrower
        limits that rest on ``assumption``, "decreasing". They are NaN where this is "none", because
        no assumption is needed, or "contradicted" by the data; where it is "", there are no limits
        and no estimate at all. Of an audit ``assumption`` is "audit", and ``low_for_others`` and
        ``high_for_others`` are limits for other users like these. Where `evaluate` was told that
        unlisted items are "open", ``assumption`` is "bound" for what they leave open: ``low`` and
        ``high`` are bounds.
    wide : pandas.DataFrame
        The same as text: recommenders by metrics, each with its "value", "95 % limits", those "if
        decreasing", and "vs best": "best", "behind" by `pairs`, or "undecided".
    ladder : pandas.DataFrame
        ``low`` and ``high`` under "none" and under "decreasing", NaN where the data contradict it.
    fit : pandas.DataFrame
        By "recommender": ``p_value``, the chance of ranks that fit the stated draws as badly as
        these, and ``p_corrected``, times the number of recommenders. Below 0.01 the notes say so,
        below 0.0001 nothing is said of the recommender at all. Empty where none were drawn.
    pairs : pandas.DataFrame
        By recommenders "a" and "b", and "metric": ``difference`` of a from b, and what assumes
        nothing of the ranks. ``low`` and ``high`` are limits of the difference, so that the two are
        at most so far apart. ``probability`` is one less the p-value of "a's mean is not above
        b's". ``ahead`` is the better recommender, whose mean is the lower one where less is better,
        or "undecided" where the limits hold 0 or the numbers differ in sign. Of samples the same as
        ``if_low``, ``if_high``, ``if_probability`` and ``if_ahead`` where the ``assumption`` is
        "decreasing", NaN and None where it is not. The limits of all pairs of a metric hold at once
        (Bonferroni's correction, and after Holm's step-down test no limit is on the other side of
        0).
    reading : pandas.DataFrame
        What sampled values measure, by recommender and metric: if items were drawn uniformly, a
        metric that falls with the rank is on average exact Recall@K over cut-offs K that
        `UniformSampling.effective_cutoffs` has, K of each user's own pool. ``value`` is that mean
        of Recall@K: of a metric that is above 0 at the last rank, its own mean scaled to 0 there
        and to 1 at the first. ``low`` and ``high`` are limits of a mean. Nine tenths of the weights
        are from ``cutoff_low`` to ``cutoff_high``, of all pools; half are up to ``cutoff``, NaN
        where users differ in pool or m. There is none for users with several relevant items, for
        other metrics, where all items were drawn, and where there is no estimate either.
    reading_pairs : pandas.DataFrame
        The same of `pairs`, by these means: ``difference``, ``low``, ``high``, ``probability`` and
        ``ahead``, ``probability`` NaN of printed numbers. They do not decide who is ahead in
        `pairs`: there the order may be the reverse.
    sentences : tuple of str
        One text for each row of `table`, for a paper: value, limits, and what they rest on; what
        the sampled metric reads. Beside the best recommender: whether this one is undecided, and
        how far apart the two are at most.
    footnote : str
        What all sentences share: how items were drawn and by whose word, what "decreasing" means,
        what its limits cannot see, and which grades limits allow for.
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
    (1, 7)
    """

    study: Study
    findings: Findings
    made: Mapping[str, Any]
    _kept: dict[str, Any] = field(default_factory=dict, init=False)
    if TYPE_CHECKING:  # what `__getattr__` makes
        head: str = field(init=False)
        footnote: str = field(init=False)
        table: pd.DataFrame = field(init=False)
        wide: pd.DataFrame = field(init=False)
        ladder: pd.DataFrame = field(init=False)
        fit: pd.DataFrame = field(init=False)
        pairs: pd.DataFrame = field(init=False)
        reading: pd.DataFrame = field(init=False)
        reading_pairs: pd.DataFrame = field(init=False)
        sentences: tuple[str, ...] = field(init=False)
        notes: tuple[str, ...] = field(init=False)
        blind: BlindSpot | None = field(init=False)
        counts: pd.DataFrame | None = field(init=False)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_MADE})

    def __getattr__(self, name: str) -> Any:
        if name not in _MADE:
            raise AttributeError(f"a result has no attribute {name!r}")
        # Made when it is asked for, and kept: text is printed without pandas.
        if name not in self._kept:
            self._kept[name] = _MADE[name](self.findings)
        return self._kept[name]

    def _content(self):
        return (self.study,)  # all else follows from it

    def __str__(self) -> str:
        first, *others = (fill(line, _WIDTH) for line in self._lines())
        return "\n".join(
            [first, "", *_grid(_shown(self.findings), self.findings.named), "", *others]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *others = (f"<p>{escape(line)}</p>" for line in self._lines())
        # Where a table is wider than a phone it is moved there, not the page: by keys too.
        table = extra("pandas").DataFrame.from_dict(_shown(self.findings), "index")
        table = table if self.findings.named else table.droplevel(0)
        moved = f'<div style="overflow-x: auto" tabindex="0">{table.to_html(border=0)}</div>'
        return "".join([first, moved, *others])

    def _lines(self):
        """What was ranked among what, what limits are, and how much more is said where."""
        n, notes = len(self.findings.recommenders), len(self.notes)
        left_out = f" Best {_MOST} of {n} shown; .table has all." * (n > _MOST)
        some = f"{notes or 'No'} note{'s' * (notes != 1)}{' in .notes' * bool(notes)}. "
        last = f"{some}See {say.page(self.findings)}"
        said = *(say_of(self.findings) for say_of in _SAID), last
        return self.head + left_out, *filter(None, said)

    def _printed(self, as_text, bold, mark):
        """`wide` for a paper, a column for each metric and limits below the values.

        The best is in bold, and what is not told apart from it is marked.
        """
        wide, metrics = self.wide.map(as_text), [str(one) for one in self.findings.metrics]
        for metric in metrics:
            if (metric, _PLACE) in wide:
                place, value = wide.pop((metric, _PLACE)), wide[metric, "value"]
                value = value.where(place != "best", bold[0] + value + bold[1])
                wide[metric, "value"] = value.where(place != "undecided", value + mark)
        first, *below = dict.fromkeys(as_text(part) for _, part in wide)
        wide.columns = [(metric, as_text(part)) for metric, part in wide.columns]
        lines = []
        for name, cells in wide.iterrows():
            labels = [first, *below]
            if self.findings.named:
                called = as_text(_on_one_line(name))
                labels[0] = called if first == "value" else f"{called}, {first}"
            for label, part in zip(labels, [first, *below]):
                lines.append([label, *(cells.get((metric, part), "") for metric in metrics)])
        head = "recommender" if self.findings.named else ""
        return extra("pandas").DataFrame(lines, columns=[head, *map(as_text, metrics)])

    @property
    def _caption(self):
        """What was ranked among what, what limits are, and what the marks mean."""
        has_best = any(part == _PLACE for _, part in self.wide)
        marks = " Best in bold; =: not told apart from it." * has_best
        return " ".join(self._lines()[:2]) + marks

    @property
    def _made_by(self):
        """The version, the function and its arguments, on one line."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.made["arguments"].items())
        called = f"{self.made['function']}({given})"
        command = f", by {self.made['command']}" if "command" in self.made else ""
        return f"recsample {self.made['recsample']}: {called}{command}"

    @property
    def _users(self):
        if self.findings.users is None:
            raise ValueError("this result does not know the values of single users")
        return self.findings.users

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
        pd, users = extra("pandas"), self._users
        parts = [
            pd.DataFrame({"user": users, "recommender": name, "metric": str(m), "value": values})
            for (name, m), values in self.findings.values.items()
        ]
        table = pd.concat(parts, ignore_index=True)
        return table if self.findings.named else table.drop(columns="recommender")

    def by(self, segments: Any, of: str = "table") -> pd.DataFrame:
        """The table, or the pairs, of each segment of the users.

        Parameters
        ----------
        segments : dataframe, mapping, pandas.Series, or array_like, shape (users,)
            Two columns, users and their segments; the second by the first; a Series with the users
            as its index; or a segment for each user, in the order of `per_instance`.
        of : {"table", "pairs"}, optional

        Returns
        -------
        pandas.DataFrame
            `table` or `pairs`, with the segment in front of the index and how many ``users`` there
            are. The limits of pairs hold at once within a segment.

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
        one_of("of", of, ("table", "pairs"))
        members: dict[Any, list[int]] = {}
        users, all_groups = self._users, self.findings.groups
        for i, name in enumerate(names_of("segments", segments, users)):
            members.setdefault(name, []).append(i)
        found = {}
        for name, which in members.items():
            groups = which if all_groups is None else all_groups[which]
            if len(np.unique(groups)) < 2:
                what = "users" if groups is which else "groups"
                allowed = f"must hold at least two {what} each"
                raise InputError("segments", allowed).got(f"1 in {name!r}")
            part = self.study.part(np.array(which)).findings()
            found[name] = _MADE[of](part).assign(users=len({*users[which].tolist()}))
        return extra("pandas").concat(found, names=["segment"])

    def plot(self, exact: Result | None = None) -> Figure:
        """The table as a picture: a panel for each metric, the best recommender on top.

        Where items were sampled, the sampled values stand beside the estimates, and the limits that
        rest on an assumption over those that rest on none.

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

        table = self.table
        if self.findings.named:
            table = table.loc[_best(self.findings)]
        if exact is not None:
            if not isinstance(exact, Result):
                raise InputError("exact", "must be a Result or None").got(shown(exact))
            missing = table.index.difference(exact.table.index)
            if len(missing):
                raise InputError("exact", "must hold the same recommenders and metrics").got(
                    f"none for {shown(missing[0])}", "evaluate them among all items"
                )
            table = table.assign(exact=exact.table["value"])
        title = " ".join(self._lines()[:2])
        lower = [str(one) for one in self.findings.metrics if not one.higher_is_better]
        return plotting.values_with_limits(table, title, lower)

    def to_latex(self) -> str:
        """`wide` for LaTeX, with the condition of its limits in the caption. Needs ``booktabs``.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> exact = rs.Ranks(range(1, 501), n_items=500)
        >>> found = rs.report(rs.UniformSampling(m=49).draw(exact, rng=0), metrics=["AUC"])
        >>> print(found.to_latex())  # doctest: +ELLIPSIS
        % recsample ...: report(...)
        \\begin{table}
        \\caption{500 instances: m = 49 of 499 irrelevant items, ... 95 \\% limits assume nothing.}
        \\begin{tabular}{ll}
        \\toprule
         & AUC \\\\
        \\midrule
        value & 0.5031 \\\\
        95 \\% limits & 0.4763 to 0.5298 \\\\
        \\bottomrule
        \\end{tabular}
        \\end{table}
        <BLANKLINE>
        """
        extra("jinja2")
        wide = self._printed(_as_latex, (r"\textbf{", "}"), "$^{=}$")
        table = wide.to_latex(escape=False, index=False)
        caption = f"\\caption{{{_as_latex(self._caption)}}}"
        return f"% {self._made_by}\n\\begin{{table}}\n{caption}\n{table}\\end{{table}}\n"

    def to_markdown(self) -> str:
        """`wide` for Markdown, and below it the condition of its limits.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> exact = rs.Ranks(range(1, 501), n_items=500)
        >>> found = rs.report(rs.UniformSampling(m=49).draw(exact, rng=0), metrics=["AUC"])
        >>> print(found.to_markdown())  # doctest: +ELLIPSIS
        |             | AUC              |
        |:------------|:-----------------|
        | value       | 0.5031           |
        | 95 % limits | 0.4763 to 0.5298 |
        <BLANKLINE>
        500 instances: m = 49 of 499 irrelevant items, drawn without replacement. 95 % limits ...
        <BLANKLINE>
        <!-- recsample ...: report(...) -->
        """
        extra("tabulate")
        wide = self._printed(_as_markdown, ("**", "**"), " =")
        # A name may look like a number.
        table = wide.to_markdown(index=False, disable_numparse=True)
        made = self._made_by.replace("--", "- -")  # which would end a comment
        return f"{table}\n\n{_as_markdown(self._caption)}\n\n<!-- {made} -->"

    def to_csv(self) -> str:
        """The table as CSV; each row says at which level its limits are, and how it was made.

        Names that a spreadsheet would run as a formula, such as =1+1, begin with an apostrophe.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> found = rs.report([1, 2, 1, 3], m=4, n_items=50, drawn="uniform", metrics=["AUC"])
        >>> print(found.to_csv())  # doctest: +ELLIPSIS
        metric,value,low,high,if_low,if_high,assumption,sampled (uncorrected),level,made by
        AUC,0.8125,...,not needed,0.8125,0.95,"recsample ..."
        <BLANKLINE>
        """
        table = self._exported().assign(**{"made by": self._made_by}).reset_index()
        for name in {"recommender", "metric"} & {*table}:
            table[name] = table[name].str.replace(r"^(?=[=+\-@\t\r\n])", "'", regex=True)
        return table.to_csv(index=False, lineterminator="\n")

    def to_json(self) -> str:
        """All that is said and how it was made, as JSON; limits that there are none of are null.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> found = rs.report([1, 2, 1, 3], m=4, n_items=50, drawn="uniform", metrics=["AUC"])
        >>> found.to_json()[:25]
        '{\\n  "head": "4 instances:'
        """
        said: dict[str, Any] = {"head": self.head, "footnote": self.footnote, "made": self.made}
        said["level"] = LEVEL
        for name in ("table", "ladder", "pairs", "fit", "reading", "reading_pairs", "counts"):
            table = self._exported() if name == "table" else getattr(self, name)
            rows = [] if table is None else table.reset_index().to_dict("records")
            said[name] = None if table is None else list(map(_without_nan, rows))
        said["blind"] = self.blind and _without_nan(self.blind._asdict())
        said |= {"sentences": list(self.sentences), "notes": list(self.notes)}
        return json.dumps(said, indent=2, ensure_ascii=False)

    def _exported(self):
        """The table as it leaves: numbers, and in each row what they are."""
        table = self.table.assign(level=LEVEL)
        if "if_low" in table:
            table["assumption"] = table.apply(say.rests_on, axis=1)
        return table.rename(columns={"sampled": "sampled (uncorrected)"})

    def plan(self, metric: Metric | str, width: float, rng: Rng = 0) -> AuditPlan | pd.DataFrame:
        """How many users it takes for limits of a metric that are so close.

        Of sampled ranks, whom to rank among all items, as `recsample.inference.plan_audit` says;
        with exact ranks of the first of them in the report it mostly takes far fewer. Of exact
        values, how many users like these the difference of each pair of recommenders takes.

        Parameters
        ----------
        metric : Metric or str
        width : float
            The upper limit minus the lower one.
        rng : int or numpy.random.Generator, optional
            For the choice of users to rank.

        Returns
        -------
        AuditPlan or pandas.DataFrame
            Of exact values ``users``, about enough where others vary as these do, and how many
            ``you have``: one row for each pair, whose limits hold at once, or for the mean of one
            recommender.

        Raises
        ------
        ValueError
            For sampled ranks of several recommenders, groups, runs and bounds, a metric that is not
            in the table, a width not above 0.

        Examples
        --------
        >>> import recsample as rs
        >>> x = rs.datasets.recorded_ranks()["X"]
        >>> sampled, asked = rs.UniformSampling(m=100).draw(x, rng=0), ["Recall@10"]
        >>> plan = rs.report(sampled, metrics=asked).plan("Recall@10", width=0.05)
        >>> print(plan)
        Rank all items of 1,252 users (`users`): you have 6,040.
        Plan again when the first 72 of them are ranked (`exact`).
        >>> first = plan.users[: plan.first]
        >>> audited = rs.report(sampled, exact=(first, x[first]), metrics=asked)
        >>> len(audited.plan("Recall@10", width=0.05).users) < 600
        True
        """
        if (asked := the_metric(metric)) not in self.findings.metrics:
            metrics = [*map(str, self.findings.metrics)]
            raise InputError("metric", f"must be one of {metrics}").got(f"{metric!r}")
        return self.study.plan(asked, width, rng)


P = ParamSpec("P")


def recorded(function: Callable[P, Result]) -> Callable[P, Result]:
    """Say in the results of a function what it was called with: a decorator."""
    form = signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        found, given = function(*args, **kwargs), form.bind(*args, **kwargs)
        given.apply_defaults()
        # What a paper prints is nobody's data; the seed is said, whoever chose it.
        is_printed = function.__name__ == "from_published"
        is_drawn = isinstance(given.arguments.get("among"), Sampler)
        told = {
            name: _told(value, is_printed or name == "metrics", name in _BY_NAME)
            for name, value in given.arguments.items()
            if value is not form.parameters[name].default or (name == "rng" and is_drawn)
        }
        made = {"recsample": version("recsample"), "function": function.__name__}
        return replace(found, made=made | {"arguments": told})

    return call


def _told(value: Any, in_full: bool = False, by_name: bool = False) -> Any:
    """A number or a text as it is; of data their kind, columns, shape and hash.

    Only of what is given by the names of recommenders are the names of parts told.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (Sampler, np.generic)) or (in_full and isinstance(value, _LISTS)):
        return str(value)
    parts = dict(enumerate(value)) if isinstance(value, tuple) else value  # such as factors
    if by_name and isinstance(parts, Mapping):
        told = (f"{name!r}: {_told(one, by_name=True)}" for name, one in parts.items())
        return "{" + ", ".join(told) + "}"
    kind = type(value).__name__
    if hasattr(type(value), "columns") and frames.is_frame(value):
        value = extra("narwhals.stable.v2").from_native(value)
        kind += f" of {shown(value.collect_schema().names())}"
    if not (hasattr(value, "shape") or hasattr(value, "__len__")):  # a query, or a model
        return kind
    shape = value.shape if hasattr(value, "shape") else (len(value),)
    return f"{kind} {tuple(shape)}, sha256 {sha256(_entries(value)).hexdigest()[:16]}"


def _entries(value: Any) -> bytes:
    """Types, shapes and entries of data, the same in every session and on every machine.

    Of more than 2**16 entries of an array or rows of a table, as many are read at equal distances:
    all would take about as long as ranking them.
    """
    parts: Any = ()
    if hasattr(value, "gather_every"):  # a dataframe
        rows = value.gather_every(max(1, len(value) >> 16))
        parts = [part for one in rows.iter_columns() for part in (one.name, one.to_numpy())]
    elif frames.is_series(value):
        parts = value.index, value.to_numpy()
    elif is_sparse(value):
        rows = value.tocsr()
        parts = rows.indptr, rows.indices, rows.data
    elif isinstance(value, Value):
        parts = value._content()
    else:
        array = np.atleast_1d(np.asarray(value, None if hasattr(value, "dtype") else object))
        some = array.reshape(-1)[:: max(1, array.size >> 16)]
        if some.dtype.kind not in "biufcmM":
            some = np.array([*map(str, some.ravel().tolist())])
        some = some.astype(some.dtype.newbyteorder("<"))
        return f"{some.dtype.str} {array.shape} ".encode() + some.tobytes()
    return b"".join(map(_entries, parts))


def _without_nan(row):
    return {name: None if value != value else value for name, value in row.items()}


def _best(findings):
    """The recommenders that are shown, in their order: all, or the best by the first metric."""
    names, metric = findings.recommenders, findings.metrics[0]
    rows = [findings.rows[name, metric] for name in names]
    ends = np.array([(row["low"], row["high"], row["value"]) for row in rows])
    values = np.where(np.isnan(ends[:, 2]), ends[:, :2].mean(1), ends[:, 2])
    sign = -1 if metric.higher_is_better else 1
    best = np.argsort(sign * values, kind="stable")[:_MOST]  # NaN comes last
    return [name for i, name in enumerate(names) if i in best]


def _cells(findings, name, metric):
    """A row of the table as text, by column."""
    row = findings.rows[name, metric]
    cells = {"value": _number(row["value"])} if findings.has_values else {}
    cells[_LIMITS] = say.between(row, digits=4)
    if row.get("assumption") == "bound":
        cells[_LIMITS] = f"between {cells[_LIMITS].replace('to', 'and')}"
    if "if_low" in row:
        word = say.rests_on(row)
        cells[_IF] = say.between(row, "if_", 4) if word == "decreasing" else word
    cells[_PLACE], _ = say.place(findings, name, metric)
    return cells | ({"sampled": _number(row["sampled"])} if "sampled" in row else {})


def _shown(findings):
    """The table as text: texts by column, by recommender and metric."""
    best, rows = {*_best(findings)}, findings.rows
    shown = {(a, str(m)): _cells(findings, a, m) for a, m in rows if a in best}
    said = {c for cells in shown.values() for c, text in cells.items() if text not in _IDLE}
    return {key: {c: cells[c] for c in cells if c in said} for key, cells in shown.items()}


def _wide(findings):
    rows: dict[str, dict[tuple[str, str], str]] = {}
    for (name, metric), cells in _shown(findings).items():
        of_metric = {(metric, c): text for c, text in cells.items() if c != "sampled"}
        rows.setdefault(name, {}).update(of_metric)
    wide = extra("pandas").DataFrame.from_dict(rows, "index").rename_axis("recommender")
    return wide.loc[:, ~wide.isin(_IDLE).all()]


def _table(rows, levels, several=True, empty=None):
    """A table of rows by recommender, metric and what else; without any, these columns, or None."""
    if not rows:
        return None if empty is None else extra("pandas").DataFrame(columns=empty)
    named = {tuple(str(k) if isinstance(k, Metric) else k for k in key): rows[key] for key in rows}
    table = frames.table_of(named, levels, several)
    return table if len(levels) > 1 else table.set_index(table.index.get_level_values(0))


# What a result makes of its findings `f`, by the name of the attribute.
_MADE: Mapping[str, Callable[[Findings], Any]] = {
    "head": lambda f: f.head,
    "blind": lambda f: f.blind,
    "footnote": say.footnote,
    "sentences": say.sentences,
    "notes": say.notes,
    "table": lambda f: _table(f.rows, _LEVELS, f.named, ()),
    "wide": _wide,
    "ladder": lambda f: _table(f.ladder, [*_LEVELS, "assumption"], f.named, ("low", "high")),
    "fit": lambda f: _table(
        {(name,): row for name, row in f.fit.items()},
        ["recommender"],
        empty=("p_value", "p_corrected"),
    ),
    "pairs": lambda f: _table(f.pairs, ["a", "b", "metric"], empty=COLUMNS_OF_PAIRS),
    "reading": lambda f: _table(f.readings, _LEVELS, f.named, READ),
    "reading_pairs": lambda f: _table(f.reading_pairs, ["a", "b", "metric"], empty=READ_PAIRS),
    "counts": lambda f: _table(
        {key: {"count": n} for key, n in (f.counts or {}).items()}, ["recommender", "what"]
    ),
}


# What stands below the table, beside how many notes there are.
_SAID = (lambda f: f.limits), say.undecided, say.averages


def _number(value):
    return "none" if np.isnan(value) else f"{value:.4f}"


def _grid(shown, named):
    """Texts by column, by recommender and metric, as lines; a name is not repeated."""
    columns, begin = [*next(iter(shown.values()))], None
    grid = [["", "", *columns]]
    for (name, metric), cells in shown.items():
        label = "" if name == begin else _on_one_line(name)
        grid.append([label, metric, *(f" {cells[one]}" for one in columns)])
        begin = name
    widths = [max(map(len, column)) for column in zip(*grid)]
    sides = "<<" + ">" * len(columns)
    lines = (" ".join(map("{:{}{}}".format, row, sides, widths)) for row in grid)
    return [line[not named :] for line in lines]  # the first column has no width then


def _on_one_line(name):
    return " ".join(str(name).split())


def _as_markdown(name):
    """Text that means something in Markdown or HTML, as it is; an underscore within a word is."""
    return re.sub(r"[\\`*~$&<>|\[\]]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", name)


def _as_latex(text):
    return text.translate(_FOR_LATEX)
