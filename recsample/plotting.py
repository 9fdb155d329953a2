"""How the figures are drawn.

Every function takes the data that `recsample.experiments` returns, draws on an axes `ax` (a new
one where none is given) and returns the axes. Colours are those of Okabe and Ito, told apart under
every common form of colour blindness; each recommender keeps its colour, marker and line in every
figure. Only matplotlib is imported, and only when something is drawn.
"""

import numpy as np

__all__ = [
    "corrected_expectation",
    "corrected_values",
    "metric_by_rank",
    "metric_by_samples",
    "rank_distribution",
    "rank_histogram",
    "regularisation_path",
    "sampled_weight",
    "trade_off",
    "use_style",
]

BLUE, ORANGE, GREEN, PINK, SKY, RED = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
)
GREY = "#6b6b6b"

# One look per recommender: colour, marker, line.
RECOMMENDER = {
    "A": (BLUE, "o", "-"),
    "B": (ORANGE, "s", "--"),
    "C": (GREEN, "^", "-."),
    "X": (BLUE, "o", "-"),
    "Y": (ORANGE, "s", "--"),
    "Z": (GREEN, "^", "-."),
}
METRIC = {
    "AUC": (GREY, "-"),
    "AP": (BLUE, "--"),
    "NDCG": (ORANGE, "-."),
    "Recall@10": (GREEN, ":"),
}
ESTIMATOR = {
    "Exact": ("black", "-"),
    "Sampled": (GREY, "--"),
    "Rank Estimate": (SKY, "-."),
    "CLS": (GREEN, "-"),
    "BV 1": (PINK, "--"),
    "BV 0.1": (BLUE, "-"),
    "BV 0.01": (ORANGE, "-."),
    "BV 0.001": (RED, ":"),
}


def use_style():
    """Set matplotlib to the style of the book, for the current session.

    Examples
    --------
    >>> from recsample import plotting
    >>> plotting.use_style()
    """
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "figure.figsize": (6.4, 3.8),
            "figure.dpi": 120,
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "lines.linewidth": 1.8,
            "lines.markersize": 5,
            "legend.frameon": False,
        }
    )


def metric_by_rank(data, ax=None):
    """Figure 1: metrics as functions of the predicted rank.

    Parameters
    ----------
    data : pandas.DataFrame
        As `experiments.figure1` returns, or rows of it.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from recsample import experiments, plotting
    >>> ax = plotting.metric_by_rank(experiments.figure1(100))
    >>> ax.get_xlabel()
    'predicted rank'
    """
    _check_table(data)
    ax = _axes(ax)
    for name in data:
        colour, line = METRIC[name]
        ax.plot(data.index, data[name], line, color=colour, label=name)
    ax.set(xlabel="predicted rank", ylabel="metric", ylim=(-0.02, 1.05))
    ax.legend()
    return ax


def metric_by_samples(data, ax=None):
    """Figures 2 and 6: an expected metric of each recommender as the number of samples grows.

    Parameters
    ----------
    data : pandas.DataFrame
        One column per recommender, indexed by m: one metric of `experiments.figure2`, or one
        estimator of `experiments.figure6`.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from recsample import experiments, plotting
    >>> ax = plotting.metric_by_samples(experiments.figure2([1, 10, 100]).loc["AP"])
    >>> ax.get_xscale()
    'log'
    """
    _check_table(data)
    ax = _axes(ax)
    for name in data:
        colour, marker, line = RECOMMENDER[name]
        every = max(1, len(data) // 8)
        ax.plot(data.index, data[name], line, color=colour, marker=marker, markevery=every)
    _label_lines(ax, data)
    ax.set(xscale="log", xlabel="number of samples m", ylabel="expected metric")
    return ax


def sampled_weight(data, ax=None):
    """Figure 3: the expected sampled metric as a function of the rank, for several m.

    Parameters
    ----------
    data : pandas.DataFrame
        One metric of `experiments.figure3`: columns "exact" and one per m, indexed by rank.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from recsample import experiments, plotting
    >>> ax = plotting.sampled_weight(experiments.figure3(largest_rank=50).loc["AP"])
    >>> len(ax.lines)
    4
    """
    _check_table(data)
    ax = _axes(ax)
    looks = [("black", "-"), (SKY, ":"), (ORANGE, "-."), (BLUE, "--"), (PINK, "-"), (GREEN, "-")]
    for name, (colour, line) in zip(data, looks):
        label = "exact" if name == "exact" else f"m = {name:,}"
        ax.plot(data.index, data[name], line, color=colour, label=label)
    ax.set(xlabel="predicted rank", ylabel="expected metric", ylim=(-0.02, 1.05))
    ax.legend()
    return ax


def rank_distribution(data, ax=None):
    """The law of the sampled rank for a few true ranks.

    Parameters
    ----------
    data : pandas.DataFrame
        One column per true rank, holding probabilities, indexed by the sampled rank.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> import recsample as rs
    >>> law = rs.UniformSampling(9).law(50)
    >>> ax = rs.plotting.rank_distribution(pd.DataFrame({r: law[r - 1] for r in (1, 25)}))
    >>> ax.get_ylabel()
    'probability'
    """
    _check_table(data)
    ax = _axes(ax)
    looks = [(BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PINK, "D"), (GREY, "v")]
    for r, (colour, marker) in zip(data, looks):
        ax.plot(data.index, data[r], "-", color=colour, marker=marker, label=f"rank {r:,}")
    ax.set(xlabel="sampled rank", ylabel="probability")
    ax.legend()
    return ax


def corrected_values(data, ax=None):
    """Figure 4, left: what each estimator reads at each sampled rank.

    Parameters
    ----------
    data : pandas.DataFrame
        ``values`` of `experiments.figure4`: one column per estimator, indexed by sampled rank.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from recsample import experiments, plotting
    >>> ax = plotting.corrected_values(experiments.figure4(n_items=50, m=5).values)
    >>> ax.get_xlabel()
    'sampled rank'
    """
    _check_table(data)
    ax = _axes(ax)
    _plot_estimators(ax, data)
    ax.set(xlabel="sampled rank", ylabel="corrected metric")
    return ax


def corrected_expectation(data, ax=None):
    """Figure 4, right: the expectation of each estimator as a function of the true rank.

    Parameters
    ----------
    data : pandas.DataFrame
        ``expected`` of `experiments.figure4`: one column per estimator, indexed by rank.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from recsample import experiments, plotting
    >>> ax = plotting.corrected_expectation(experiments.figure4(n_items=50, m=5).expected)
    >>> ax.get_xlabel()
    'predicted rank'
    """
    _check_table(data)
    ax = _axes(ax)
    _plot_estimators(ax, data)
    ax.set(xlabel="predicted rank", ylabel="expected metric")
    return ax


def rank_histogram(data, ax=None):
    """Figure 5: how many instances have a predicted rank in each bucket.

    Parameters
    ----------
    data : pandas.DataFrame
        As `experiments.figure5` returns: one column per recommender, indexed by the last rank of
        each bucket.
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
    _check_table(data)
    ax = _axes(ax)
    edges = np.append(data.index[0] - np.diff(data.index, prepend=0)[0], data.index)
    for name in data:
        colour, _, line = RECOMMENDER[name]
        ax.stairs(data[name], edges, color=colour, linestyle=line, linewidth=1.8, label=name)
    ax.set(xlabel="predicted rank", ylabel="number of users", yscale="log")
    ax.legend()
    return ax


def regularisation_path(path, optimum=None, ax=None):
    """What each further direction of the minimal bias problem buys, and what it costs.

    Parameters
    ----------
    path : recsample.corrections.RegularisationPath
        As `MinimalBias.path`.
    optimum : float, optional
        The smallest possible rms bias, drawn as a level.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> best = rs.MinimalBias(rs.AP, rs.UniformSampling(m=4), n_items=20)
    >>> rs.plotting.regularisation_path(best.path).get_yscale()
    'log'
    """
    ax = _axes(ax)
    directions = np.arange(1, len(path.singular_value) + 1)
    ax.plot(directions, path.largest_value, ":", color=ORANGE, label="largest value")
    # The first direction is a constant: its variance is 0, which a logarithmic axis cannot show.
    ax.plot(
        directions[1:],
        np.sqrt(path.mean_variance[1:]),
        "--",
        color=PINK,
        label="standard deviation",
    )
    ax.plot(directions, np.sqrt(path.squared_bias), "-", color=BLUE, label="rms bias")
    if optimum is not None:
        ax.axhline(optimum, color="black", linewidth=1, linestyle="-.", label="optimal rms bias")
    ax.set(yscale="log", xlabel="number of directions kept", ylabel="value")
    ax.legend()
    return ax


def trade_off(curve, points=None, ax=None):
    """Standard deviation against rms bias: a curve over gamma, and single estimators.

    Parameters
    ----------
    curve : pandas.DataFrame
        Columns "rms bias" and "std" indexed by gamma, as `experiments.bias_and_variance` returns.
        Every whole power of ten is marked.
    points : pandas.DataFrame, optional
        The same for single estimators, indexed by name.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=5)
    >>> found = {g: rs.BiasVariance(rs.AP, sampler, 50, gamma=g) for g in (1, 0.1, 0.01)}
    >>> curve = rs.experiments.bias_and_variance(found, rs.AP, sampler, 50)
    >>> rs.plotting.trade_off(curve).get_xlabel()
    'rms bias'
    """
    from matplotlib import ticker

    ax = _axes(ax)
    ax.plot(curve["rms bias"], curve["std"], "-", color=BLUE, label="bias-variance, over gamma")
    power = np.log10(np.asarray(curve.index, dtype=float))
    marked = curve[np.isclose(power, power.round())]
    ax.plot(marked["rms bias"], marked["std"], "o", color=BLUE)
    labels = [(f"{gamma:g}", row, BLUE) for gamma, row in marked.iterrows()]
    if points is not None:
        ax.plot(points["rms bias"], points["std"], "D", color=RED, label="other estimators")
        labels += [(name, row, RED) for name, row in points.iterrows()]
    for text, row, colour in labels:
        place = (row["rms bias"], row["std"])
        ax.annotate(text, place, xytext=(6, 4), textcoords="offset points", color=colour)
    ax.set(xscale="log", yscale="log", xlabel="rms bias", ylabel="standard deviation")
    # A bias covers a decade or two: label 1, 2 and 5 in each.
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.legend()
    return ax


def _check_table(data):
    """Refuse what holds several metrics or estimators at once."""
    if not hasattr(data, "columns") or data.index.nlevels > 1:
        raise ValueError(
            "data must be one table with one index, such as figure2().loc['AP'] "
            f"or figure4().values, got a {type(data).__name__}"
            + (f" indexed by {list(data.index.names)}" if hasattr(data, "columns") else "")
        )


def _axes(ax):
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def _plot_estimators(ax, data):
    for name in data:
        colour, line = ESTIMATOR[name]
        ax.plot(data.index, data[name], line, color=colour, label=name)
    ax.legend()


def _label_lines(ax, data):
    """The name of each line beside its right end, moved apart where the ends are close."""
    low, high = ax.get_ylim()
    gap = 0.06 * (high - low)
    place = -np.inf
    for name in data.iloc[-1].sort_values().index:
        place = max(data[name].iloc[-1], place + gap)
        ax.annotate(
            name,
            (data.index[-1], place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=RECOMMENDER[name][0],
            fontweight="bold",
        )
