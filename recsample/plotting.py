"""Plots of the paper's figures and of results, and marks of the best values of a table.

Most functions take data of `recsample.experiments`, draw on an axes `ax` (by default a new one) and
return it. Each recommender, metric and estimator has one colour, marker and line, which differ
under every common form of colour blindness, in grey and in the dark theme.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Mapping
from itertools import count, cycle
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from recsample._support.arrays import repeated
from recsample._support.checks import positive_int, shown, whole_numbers
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.numerics import PERCENT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas.io.formats.style import Styler


# Orange means sampled, green exact; they are used for nothing else.
ORANGE, GREEN = "#ae5500", "#217a59"
# Blue means what is estimated, with its limits, and red what is wrong.
BLUE, RED, GREY = "#00407f", "#9a3324", "#858585"
# From light to dark, so that they differ in grey as well; the lightest stands out on white.
SKY, PLUM, INK = "#2a6fcf", "#8c1f63", "#111111"
# Shades of one colour for what has an order: purple for BV with smaller and smaller gamma.
PURPLES = ["#5e1a68", "#8a3c93", "#a85caf", "#c07cc4"]
# From few samples to many.
ORANGES = ["#c8742a", "#6b3300"]
LINES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]

# One look per recommender: colour, marker, line. Those of the paper, and those of the book's shops.
RECOMMENDER = {
    **dict.fromkeys(["A", "X", "popular", "bestsellers"], (SKY, "o", "-")),
    **dict.fromkeys(["B", "Y", "similar"], (PLUM, "s", "--")),
    **dict.fromkeys(["C", "Z", "neighbours"], (INK, "^", "-.")),
}
METRIC = {"AUC": (GREY, "-"), "AP": (BLUE, "--"), "NDCG": (PLUM, "-."), "Recall@10": (INK, ":")}
ESTIMATOR = {
    "Exact": (GREEN, "-"),
    "Sampled": (ORANGE, ":"),
    "Rank Estimate": (GREY, "--"),
    "CLS": (BLUE, "-."),
    "BV 1": (PURPLES[0], "-"),
    "BV 0.1": (PURPLES[1], "--"),
    "BV 0.01": (PURPLES[2], "-."),
    "BV 0.001": (PURPLES[3], ":"),
}
STYLE = {
    # At this width a phone, which shows it on 343 pixels, has capitals 7 pixels high.
    "figure.figsize": (5.4, 3.4),
    "font.size": 11,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "svg.hashsalt": "recsample",
}
# Blue, orange, grey and green for dark paper.
_ON_DARK = ("#8cc4ff", "#f0a35c", "#5c5c5c", "#63cda6")
# Letters on a line of the figure of a result: of a recommender's name, and of the title.
_NAME, _TITLE = 30, 64
INKED = ["axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color"]


def use_style() -> None:
    """Set matplotlib to the style of the book, for the current session.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.plotting.use_style()
    """
    looks = extra("cycler").cycler(color=[SKY, PLUM, INK, GREY, PURPLES[1]], linestyle=LINES)
    dark = dict.fromkeys(INKED, "#222222")
    extra("matplotlib").rcParams.update(STYLE | dark | {"axes.prop_cycle": looks})
    if "inline" in os.environ.get("MPLBACKEND", ""):
        # A notebook shows drawings, sharp at every size, and the same file on every run.
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None})


def panels(rows: int, columns: int, **sharing: Any) -> np.ndarray:
    """Several axes in one figure of the usual width.

    Parameters
    ----------
    rows, columns : int
    **sharing
        ``sharex`` and ``sharey``, as for `matplotlib.pyplot.subplots`.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        Of shape (rows, columns); for one row or one column, of one dimension; for one of both, a
        single axes.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.plotting.panels(2, 2, sharex=True).shape
    (2, 2)
    """
    rows, columns = positive_int("rows", rows), positive_int("columns", columns)
    plt = extra("matplotlib.pyplot")
    width, height = plt.rcParams["figure.figsize"]
    return plt.subplots(rows, columns, figsize=(width, 0.8 * rows * height), **sharing)[1]


def label_lines(ax: Axes, places: Mapping[str, tuple[float, float]] | None = None) -> None:
    """Write the name of each line beside its right end, in the colour of the line.

    Names of lines that end close to each other are moved apart.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        With its scales and limits set. A line that leaves the axes has its name at its last point
        inside.
    places : mapping of str to tuple of float, optional
        Where names begin instead, as (x, y).

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import recsample as rs
    >>> ax = plt.subplots()[1]
    >>> _ = ax.plot([1, 2, 3], [1, 4, 9], label="squares")
    >>> rs.plotting.label_lines(ax)
    >>> ax.texts[0].get_text()
    'squares'
    """
    ax, ends = _axes(ax), []
    places = {} if places is None else places
    names = [str(line.get_label()) for line in ax.lines]
    if not isinstance(places, Mapping) or not {*places} <= {*names}:
        raise InputError("places", "must map names of lines to points").got(shown(places))
    for name, line in zip(names, ax.lines):
        points = np.asarray(line.get_xydata())
        inside = np.isfinite(points).all(axis=1) & (points[:, 0] <= max(ax.get_xlim()))
        if name in places:
            _write_name(ax, name, places[name], line.get_color(), (0, 0))
        elif not name.startswith("_") and inside.any():
            points = points[inside]
            ends.append((name, points[points[:, 0].argmax()], line.get_color()))
    if ends:
        _write_names(ax, ends)


def best_in_bold(table: pd.DataFrame, decimals: int) -> Styler:
    """Mark the largest value of each column, among the recommenders.

    Parameters
    ----------
    table : pandas.DataFrame of float
        One row per recommender; with several levels of the index, rows are compared that differ in
        only the level "recommender".
    decimals : int
        Digits of each number. Equal rounded values are marked alike.

    Returns
    -------
    pandas.io.formats.style.Styler

    Examples
    --------
    >>> import recsample as rs
    >>> rs.plotting.best_in_bold(rs.experiments.table1(), decimals=3).to_html().count("bold")
    1
    """
    _check_columns(table)
    decimals = int(whole_numbers("decimals", decimals, lowest=0))
    shown = table.round(decimals)
    best = shown == _best_of_recommenders(shown)
    looks = best.replace({True: "font-weight: bold", False: ""})
    # A name that depends on nothing but the content: the same file on every run.
    name = f"{zlib.crc32(table.to_csv().encode()):08x}"
    style = table.style.format(precision=decimals, na_rep="").set_uuid(name)
    return style.set_table_attributes('class="dataframe"').apply(lambda _: looks, axis=None)


def metric_by_rank(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Figure 1: metrics as functions of the predicted rank.

    Parameters
    ----------
    data : pandas.DataFrame, as `experiments.figure1` returns, or rows of it
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> rs.plotting.metric_by_rank(rs.experiments.figure1(100)).get_xlabel()
    'predicted rank'
    """
    labels = {"xlabel": "predicted rank", "ylabel": "metric"}
    return _draw_lines(ax, METRIC, data, **labels, ylim=(-0.02, 1.05))


def metric_by_samples(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Figures 2 and 6: an expected metric of each recommender as the number of samples grows.

    Parameters
    ----------
    data : pandas.DataFrame, one metric of `experiments.figure2` or one estimator of `figure6`
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> rs.plotting.metric_by_samples(rs.experiments.figure2([1, 10, 100]).loc["AP"]).get_xscale()
    'log'
    """
    ax = _axes(ax, data)
    every = max(1, len(data) // 8)
    for k, (name, (colour, marker, line)) in enumerate(_looks(RECOMMENDER, data).items()):
        # Where two lines coincide, the markers of one stand between those of the other.
        start = k * every // len(data.columns)
        look = {"color": colour, "marker": marker, "linestyle": line, "label": _as_it_is(name)}
        ax.plot(data.index, data[name], markevery=(start, every), **look)
    ax.set(xscale="log", xlabel="number of samples $m$", ylabel="expected metric")
    label_lines(ax)
    return ax


def sampled_weight(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Figure 3: the expected sampled metric as a function of the rank, for several m.

    Parameters
    ----------
    data : pandas.DataFrame, one metric of `experiments.figure3`
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> len(rs.plotting.sampled_weight(rs.experiments.figure3(largest_rank=50).loc["AP"]).lines)
    4
    """
    ax = _axes(ax, data)
    sizes = [name for name in data if name != "exact"]
    if "exact" in data:
        ax.plot(data.index, data["exact"], "-", color=ESTIMATOR["Exact"][0], label="exact")
    for m, colour, line in zip(sizes, _shades(len(sizes)), cycle([":", "-.", "--"])):
        ax.plot(data.index, data[m], line, color=colour, label=f"$m$ = {m:,}")
    ax.set(xlabel="predicted rank", ylabel="expected metric", ylim=(-0.02, 1.05))
    _legend_below(ax)
    return ax


def corrected_values(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Figure 4, left: the value of each estimator at each sampled rank.

    Parameters
    ----------
    data : pandas.DataFrame, the ``values`` of `experiments.figure4`
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> rs.plotting.corrected_values(rs.experiments.figure4(n_items=50, m=5).values).get_xlabel()
    'sampled rank'
    """
    return _draw_lines(ax, ESTIMATOR, data, xlabel="sampled rank", ylabel="corrected metric")


def corrected_expectation(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Figure 4, right: the expectation of each estimator as a function of the true rank.

    Parameters
    ----------
    data : pandas.DataFrame, the ``expected`` of `experiments.figure4`
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> data = rs.experiments.figure4(n_items=50, m=5).expected
    >>> rs.plotting.corrected_expectation(data).get_xlabel()
    'predicted rank'
    """
    return _draw_lines(ax, ESTIMATOR, data, xlabel="predicted rank", ylabel="expected metric")


def rank_histogram(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Figure 5: how many instances have a predicted rank in each bucket.

    Parameters
    ----------
    data : pandas.DataFrame, as `experiments.figure5` returns
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> data = rs.experiments.figure5({"X": rs.Ranks([1, 150], n_items=200)})
    >>> rs.plotting.rank_histogram(data).get_xlabel()
    'predicted rank'
    """
    ax = _axes(ax, data)
    edges = np.append(0, data.index)
    looks = _looks(RECOMMENDER, data)
    for name, (colour, _, line) in looks.items():
        ax.stairs(data[name], edges, baseline=None, color=colour, linestyle=line, linewidth=1.8)
    ax.set(xlabel="predicted rank", ylabel="number of users", yscale="log")
    ends = data.iloc[-1]
    _write_names(ax, [(_as_it_is(name), (edges[-1], ends[name]), looks[name][0]) for name in data])
    return ax


def values_with_limits(table: pd.DataFrame, title: str = "", lower: Collection[str] = ()) -> Figure:
    """Values with their limits, a panel for each metric, the best recommender on top.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of a `recsample.evaluation.Result`; NaN is left out. Columns that it may have:
        ``sampled``; ``exact``; ``if_low`` and ``if_high``, limits that rest on an assumption.
    title : str, optional
        Such as what the limits assume.
    lower : collection of str, optional
        Metrics where lower is better.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"X": rs.Ranks([1, 2, 1, 3], n_items=5), "Y": rs.Ranks([2, 2, 1, 4], n_items=5)}
    >>> found = rs.report(ranks, n_items=50, drawn="uniform", metrics=["AUC"])
    >>> figure = rs.plotting.values_with_limits(found.table)
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['X', 'Y']
    """
    _check_columns(table, ["value", "low", "high"], ["metric"])
    plt = extra("matplotlib.pyplot")
    metric_of = table.index.get_level_values("metric")
    names = table.index.droplevel("metric") if table.index.nlevels > 1 else [""] * len(table)
    rows = table.assign(name=[fill(" ".join(str(one).split()), _NAME) for one in names])
    parts = {metric: rows[metric_of == metric] for metric in dict.fromkeys(metric_of)}
    # In lines of text: each recommender has the height of the longest name, and of a mark at least.
    deep = 1.5 + rows["name"].str.count("\n").max()
    heights = [max(2.5, deep * len(part)) for part in parts.values()]
    title, line = fill(title, _TITLE), 1.1 * plt.rcParams["font.size"] / 72
    n_lines = sum(heights) + 3.5 * len(parts) + title.count("\n") + 6
    figure, axes = plt.subplots(
        len(parts),
        figsize=(36 * line, n_lines * line),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for ax, (metric, part) in zip(axes[:, 0], parts.items()):
        _draw_limits(ax, part, metric in lower)
        ax.set_xlabel(_as_it_is(metric))
    figure.suptitle(title, fontsize="small", x=0.02, ha="left")
    _legend_below(figure.axes[0], columns=2)
    return figure


def _draw_limits(ax, part, less_is_better):
    """Values of one metric and their limits, from the best to the worst."""
    middle = (1 if less_is_better else -1) * part["value"].fillna((part["low"] + part["high"]) / 2)
    part = part.iloc[np.argsort(middle.to_numpy(), kind="stable")]  # NaN comes last
    place, (blue, orange, grey, green) = np.arange(len(part)), _inks(ax)
    if "if_low" in part and part["if_low"].notna().any():
        narrow = {"color": grey, "linewidth": 5, "label": "if decreasing"}
        ax.hlines(place, part["if_low"], part["if_high"], **narrow)
    bound = part.get("assumption", part["value"]) == "bound"
    for label, line, ends in ((f"{PERCENT} limits", "-", ~bound), ("bounds", ":", bound)):
        if part["low"][ends].notna().any():
            look = {"color": blue, "linewidth": 2, "linestyle": line, "label": label}
            ax.hlines(place[ends], part["low"][ends], part["high"][ends], **look)
    marks = {
        "sampled": ("s", orange, "sampled, uncorrected"),
        "exact": ("|", green, "exact"),
        "value": ("o", blue, "corrected" if "sampled" in part else "value"),
    }
    for column, (marker, colour, label) in marks.items():
        if column in part and part[column].notna().any():
            size = {"markersize": 14 if marker == "|" else 5, "markeredgewidth": 1.5}
            ax.plot(part[column], place, marker, color=colour, label=label, **size)
    ax.set_yticks(place, part["name"].map(_as_it_is), fontsize="small")
    ax.set_ylim(len(part) - 0.5, -0.5)
    ax.locator_params("x", nbins=6)
    ax.grid(False, axis="y")


def _inks(ax):
    """Colours for limits, sampled values, limits with an assumption, and exact values."""
    paper = extra("matplotlib.colors").to_rgb(ax.get_facecolor())
    return (BLUE, ORANGE, GREY, GREEN) if np.mean(paper) > 0.5 else _ON_DARK


def _check_table(data):
    """Refuse a table with several metrics or estimators."""
    is_table = hasattr(data, "columns")
    if not is_table or data.index.nlevels > 1:
        levels = f" indexed by {list(data.index.names)}" if is_table else ""
        allowed = (
            "must be one table with one index, such as figure2().loc['AP'] or figure4().values"
        )
        raise InputError("data", allowed).got(f"a {type(data).__name__}{levels}")


def _check_columns(table, columns=(), levels=()):
    """Refuse anything but a table with these columns and levels of the index."""
    is_table = isinstance(table, extra("pandas").DataFrame)
    if not (is_table and {*columns} <= {*table.columns} and {*levels} <= {*table.index.names}):
        allowed = f"must be a dataframe of pandas with the columns {[*columns]} and the levels "
        raise InputError("table", f"{allowed}{[*levels]}").got(shown(table))


def _best_of_recommenders(table):
    if table.index.nlevels == 1:
        return table.max()
    if "recommender" not in table.index.names:
        allowed = 'must have an index with a level named "recommender"'
        raise InputError("table", allowed).got(list(table.index.names))
    others = [*table.index.names.difference(["recommender"])]
    return table.groupby(level=others, sort=False).transform("max")


def _axes(ax, *tables):
    """The axes to draw on, by default new ones; each table must have one index."""
    for table in tables:
        _check_table(table)
    if ax is None:
        return extra("matplotlib.pyplot").subplots()[1]
    if not isinstance(ax, extra("matplotlib.axes").Axes):
        raise InputError("ax", "must be Axes of Matplotlib or None").got(shown(ax))
    return ax


def _draw_lines(ax, fixed, data, **labels):
    """A line for each column, by its fixed look."""
    ax = _axes(ax, data)
    for name, (colour, *_, line) in _looks(fixed, data).items():
        ax.plot(data.index, data[name], linestyle=line, color=colour, label=_as_it_is(name))
    ax.set(**labels)
    _legend_below(ax)
    return ax


def _looks(fixed, names):
    """The look of each name: the fixed one, or else a colour and a line of its own.

    The colours are those of the style's cycle, first those that no fixed look has. Where they are
    used up, only the dash differs; after five colours in five dashes looks repeat.
    """
    looks = {}
    for name in names:
        if name in fixed and fixed[name] not in looks.values():
            looks[name] = fixed[name]
    colours = extra("matplotlib").rcParams["axes.prop_cycle"].by_key()["color"]
    taken = {look[0] for look in looks.values()}
    used = {(look[0], look[-1]) for look in looks.values()}
    colours = sorted(colours, key=lambda colour: colour in taken)
    every = (
        (colour, "DvPX"[i % 4], LINES[(i + turn) % len(LINES)])
        for turn in count()  # each turn gives every colour the next line
        for i, colour in enumerate(colours)
    )
    spare = (look for look in every if (look[0], look[-1]) not in used)
    return {name: looks.get(name) or next(spare) for name in names}


def _shades(n):
    """Orange, from light to dark, in n steps."""
    colours = extra("matplotlib.colors").LinearSegmentedColormap
    return colours.from_list("orange", ORANGES)(np.linspace(0, 1, n))


def _legend_below(ax, columns=4):
    """One legend for all axes of the figure, below them."""
    for old in list(ax.figure.legends):
        old.remove()
    # The last axes may have lines that the first has not, such as the exact metric.
    all_axes = [axes.get_legend_handles_labels() for axes in ax.figure.axes[::-1]]
    looks = {label: look for found in all_axes for look, label in zip(*found)}
    ax.figure.legend(looks.values(), looks.keys(), loc="outside lower center", ncols=columns)


def _as_it_is(name):
    """A name for Matplotlib: a $ begins no formula, and an underscore in front hides no line."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _write_names(ax, ends):
    """Names to the right of the ends of lines, moved apart where they would overlap.

    Each of `ends` is a name, a point and a colour.
    """
    low, high = sorted(ax.get_ylim())
    ends = [(name, (x, np.clip(y, low, high)), colour) for name, (x, y), colour in ends]
    ends = sorted(ends, key=lambda end: end[1][1])
    points = [point for _, point, _ in ends] + [(ends[0][1][0], low)]
    *height, bottom = ax.transData.transform(points)[:, 1] * 72 / ax.figure.dpi
    # The smallest moves that leave a line between neighbours, and put none below the axes.
    size = extra("matplotlib").rcParams["font.size"]
    lines = 1.2 * size * np.arange(len(ends))
    place = _nearest_increasing(height - lines) + lines
    place = np.maximum(place, bottom + size / 2 + lines)
    for (name, point, colour), dy in zip(ends, place - height):
        _write_name(ax, name, point, colour, (6, dy))


def _nearest_increasing(values):
    """The non-decreasing sequence nearest to these numbers, in squared distance.

    Neighbours that are out of order share their mean: isotonic regression without SciPy.
    """
    means, sizes = [], []
    for value in values:
        mean, size = value, 1
        while means and means[-1] > mean:
            mean = (mean * size + means[-1] * sizes[-1]) / (size + sizes[-1])
            size += sizes.pop()
            means.pop()
        means.append(mean)
        sizes.append(size)
    return repeated(means, np.array(sizes))


def _write_name(ax, name, point, colour, offset):
    """Write the name of a line in its colour, or a darker grey that can be read."""
    if extra("matplotlib.colors").same_color(colour, GREY):
        colour = "#5c5c5c"
    style = {"color": colour, "va": "center", "fontweight": "bold"}
    ax.annotate(name, point, xytext=offset, textcoords="offset points", **style)
