"""The figures draw what the data says, on the axes given, with one look per recommender.

Whether looks can be told apart is computed: as the eye without one kind of cone sees them, in grey,
and in the dark theme, for which book.css exchanges light and dark.
"""

import re
from itertools import combinations
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from scipy import optimize
from traitlets.config import Config

from recsample import experiments, plotting

matplotlib.use("Agg")


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def by_label(ax):
    return {line.get_label(): line for line in ax.lines}


def test_metric_by_rank_draws_every_metric(ax):
    data = experiments.figure1(50)
    assert plotting.metric_by_rank(data, ax) is ax
    lines = by_label(ax)
    assert list(lines) == list(data)
    assert (lines["AP"].get_ydata() == 1 / np.arange(1, 51)).all()


def names_overlap(ax):
    """Whether two of the names written on the axes touch, or one reaches below the axes."""
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    touch = any(one.overlaps(other) for one, other in combinations(boxes, 2))
    return touch or min(box.y0 for box in boxes) < ax.get_window_extent().y0 - 2


@pytest.mark.parametrize("last", [(0.5, 0.5, 0.9), (0.0, 0.0, 0.001), (0.2, 0.21, 0.9)])
def test_metric_by_samples_names_each_line_at_its_end(ax, last):
    data = pd.DataFrame(dict(zip("ABC", zip((0.1, 0.2, 1.0), last))), index=[1, 10])
    plotting.metric_by_samples(data, ax)
    assert [line.get_ydata().tolist() for line in ax.lines] == data.T.to_numpy().tolist()
    assert {text.get_text(): text.xy for text in ax.texts} == {
        name: (10, y) for name, y in zip("ABC", last)
    }
    assert not names_overlap(ax)  # though some lines end in one point


def test_names_have_the_colour_of_their_line_and_stand_at_its_right_end(ax):
    ax.plot([3, 2, 1], [7, 8, 9], color="red", label="falling")
    ax.plot([1, 2, 3], [4, 5, np.nan], color="blue", label="broken off")
    ax.plot([1, 2, 3], [1, 1, 1])
    plotting.label_lines(ax)
    written = {text.get_text(): (*text.xy, text.get_color()) for text in ax.texts}
    assert written == {"falling": (3, 7, "red"), "broken off": (2, 5, "blue")}


def test_names_stand_where_they_are_put_and_else_where_a_line_leaves_the_axes(ax):
    for name, line in {"put": [1, 1, 1], "leaving": [4, 5, 6], "beyond": [np.nan, 2, 2]}.items():
        ax.plot([1, 2, 3], line, label=name)
    ax.set_xlim(0, 1.5)
    plotting.label_lines(ax, {"put": (0.5, 1.2)})
    assert {text.get_text(): text.xy for text in ax.texts} == {"put": (0.5, 1.2), "leaving": (1, 4)}


def test_panels_share_one_legend():
    left, right = plotting.panels(1, 2)
    data = experiments.figure4(n_items=40, m=5)
    plotting.corrected_values(data.values, left)
    plotting.corrected_expectation(data.expected, right)
    (legend,) = left.figure.legends
    assert [text.get_text() for text in legend.texts] == list(data.expected)
    assert left.get_legend() is right.get_legend() is None
    plt.close(left.figure)


def test_recommenders_look_the_same_in_every_figure(ax):
    data = pd.DataFrame({"X": [0.1, 0.5], "Z": [0.2, 0.5]}, index=[1, 10])
    plotting.metric_by_samples(data, ax)
    plotting.rank_histogram(data, ax)
    for line, stairs in zip(ax.lines, ax.patches):
        assert matplotlib.colors.same_color(line.get_color(), stairs.get_edgecolor())
        assert line.get_linestyle() == stairs.get_linestyle()


# Machado, Oliveira and Fernandes (2009), "A physiologically-based model for simulation of color
# vision deficiency", for the complete absence of one kind of cone; they act on linear RGB.
SIGHT = {
    "full": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Filter Effects Module: hue-rotate(180deg) turns a colour about the grey of the same brightness.
GREY_OF = np.array([[0.213, 0.715, 0.072]] * 3)
HUE_ROTATE = 2 * GREY_OF - np.eye(3)
GROUND = {"light": "#ffffff", "dark": "#121212"}


def shown(colour, theme):
    """The colour in a theme of the book: RGB, linear in the light emitted."""
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    if theme == "dark" and colour != GROUND["dark"]:
        rgb = np.clip(HUE_ROTATE @ (1 - rgb), 0, 1)
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def luminance(colour, theme="light"):
    return float(np.array([0.2126, 0.7152, 0.0722]) @ shown(colour, theme))


def contrast(colour, theme):
    """The ratio of the Web Content Accessibility Guidelines; they ask for 3 in a drawing."""
    pair = luminance(colour, theme) + 0.05, luminance(GROUND[theme], theme) + 0.05
    return max(pair) / min(pair)


def lab(colour, theme, sight):
    """CIE L*a*b*, in which a distance of about 2 can just be seen. L* alone is the grey."""
    rgb = np.clip(np.array(SIGHT[sight]) @ shown(colour, theme), 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    t = np.array(to_xyz) @ rgb / np.sum(to_xyz, axis=1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def alike(one, other, theme, grey=10):
    """In which ways two colours are too close: the kinds of sight, and grey."""
    eyes = {sight: (lab(one, theme, sight), lab(other, theme, sight)) for sight in SIGHT}
    found = {sight for sight, (a, b) in eyes.items() if np.linalg.norm(a - b) < 20}
    return found | ({"grey"} if abs(eyes["full"][0][0] - eyes["full"][1][0]) < grey else set())


@pytest.mark.parametrize("theme", GROUND)
@pytest.mark.parametrize("names", ["ABC", "XYZ"])
def test_recommenders_differ_in_every_way(names, theme):
    for one, other in combinations(names, 2):
        looks = plotting.RECOMMENDER[one], plotting.RECOMMENDER[other]
        assert all(a != b for a, b in zip(*looks))
        assert alike(looks[0][0], looks[1][0], theme) == set()


def families():
    """What may meet in one figure: lists of pairs of colour and line."""
    yield list(plotting.METRIC.values())
    yield list(plotting.ESTIMATOR.values())
    yield [(colour, line) for colour, _, line in map(plotting.RECOMMENDER.get, "ABC")]
    with matplotlib.rc_context():
        plotting.use_style()
        cycle = list(matplotlib.rcParams["axes.prop_cycle"])
    yield [(look["color"], look["linestyle"]) for look in cycle]


@pytest.mark.parametrize("theme", GROUND)
@pytest.mark.parametrize("looks", list(families()))
def test_lines_of_one_figure_stand_out_and_differ_in_dash_or_in_grey(looks, theme):
    for colour, _ in looks:
        assert contrast(colour, theme) >= 3
    for (one, line), (other, other_line) in combinations(looks, 2):
        assert line != other_line or "grey" not in alike(one, other, theme, grey=15)


def test_green_and_orange_mean_exact_and_sampled():
    meaning = {plotting.GREEN: "Exact", plotting.ORANGE: "Sampled"}
    for table in (plotting.METRIC, plotting.ESTIMATOR, plotting.RECOMMENDER):
        for name, (colour, *_) in table.items():
            assert meaning.get(colour, name) == name


def test_a_notebook_gets_the_same_drawing_on_every_run(monkeypatch):
    # What the kernel of a notebook is, in this process: the shell that displays a figure.
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    try:
        shell.display_formatter.formatters["image/png"].for_type(Figure, lambda _: b"PNG")
        with matplotlib.rc_context():
            plotting.use_style()
            first, second = (shell.display_formatter.format(drawn_line())[0] for _ in range(2))
    finally:
        InteractiveShell.clear_instance()
    assert "image/svg+xml" in first and "image/png" not in first
    assert first["image/svg+xml"] == second["image/svg+xml"]


def drawn_line():
    figure = Figure()
    figure.subplots().plot([1, 2])
    return figure


def test_sampled_weight_and_corrections_draw_every_column(ax):
    plotting.sampled_weight(experiments.figure3((5,), n_items=40, largest_rank=40).loc["AP"], ax)
    assert list(by_label(ax)) == ["exact", "$m$ = 5"]
    data = experiments.figure4(n_items=40, m=5)
    for draw, part in (
        (plotting.corrected_values, data.values),
        (plotting.corrected_expectation, data.expected),
    ):
        ax.clear()
        draw(part, ax)
        assert list(by_label(ax)) == list(part)


def test_rank_histogram_spans_the_buckets(ax):
    data = pd.DataFrame({"X": [3.0, 1.0]}, index=pd.Index([100, 200], name="last rank"))
    plotting.rank_histogram(data, ax)
    steps = ax.patches[0].get_data()
    assert steps.edges.tolist() == [0, 100, 200]
    assert steps.values.tolist() == [3.0, 1.0]


def drawn_foreign(names, ax):
    """Every function with one look per name, on names that have no fixed one."""
    table = pd.DataFrame({name: [0.1, 0.5, 0.9] for name in names}, index=[1, 10, 100])
    for draw in (
        plotting.metric_by_rank,
        plotting.metric_by_samples,
        plotting.corrected_values,
        plotting.rank_histogram,
    ):
        yield draw(table, ax)


@pytest.mark.parametrize(
    ("names", "style"),
    [
        (("BPR", "EASE", "popular"), plotting.use_style),
        (("BPR", "X", "Z"), lambda: None),
        (("F1@10", "AP", "RBP(0.8)", "AUC"), plotting.use_style),
        (("BV 1", "mine", "CLS"), plotting.use_style),
        (("AUC", "one", "two", "three", "four"), plotting.use_style),
        (tuple(range(5)), plotting.use_style),
        (tuple(range(5)), lambda: None),
    ],
)
def test_foreign_names_get_colours_of_the_cycle_that_differ(names, style):
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        style()
        ax = plt.subplots()[1]
        for _ in drawn_foreign(names, ax):
            shapes = ax.lines or ax.patches
            colours = [
                matplotlib.colors.to_hex(s.get_color() if ax.lines else s.get_edgecolor())
                for s in shapes
            ]
            assert len(set(colours)) == len(names)
            ax.clear()
        plt.close(ax.figure)


def test_names_with_the_same_fixed_look_are_told_apart():
    looks = plotting._looks(plotting.RECOMMENDER, ["X", "other", "A"])
    assert looks["X"] == plotting.RECOMMENDER["X"] == plotting.RECOMMENDER["A"]
    assert len({(colour, line) for colour, _, line in looks.values()}) == 3


def curves(names):
    return pd.DataFrame(dict.fromkeys(names, [0.1, 0.5]), index=[1, 10])


def test_known_names_keep_their_look_beside_foreign_ones(ax):
    lines = by_label(plotting.metric_by_samples(curves(["BPR", "X", "EASE", "Y"]), ax))
    for name in "XY":
        colour, marker, line = plotting.RECOMMENDER[name]
        drawn = lines[name].get_color(), lines[name].get_marker(), lines[name].get_linestyle()
        assert drawn == (colour, marker, line)


@pytest.mark.parametrize("known", [(), ("Y",), ("X", "Y", "Z")])
def test_more_names_than_colours_still_differ(ax, known):
    with matplotlib.rc_context():
        plotting.use_style()
        lines = plotting.metric_by_samples(curves([*known, *range(20)]), ax).lines
    assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == 20 + len(known)


@pytest.mark.parametrize(
    "draw, data",
    [
        (plotting.metric_by_samples, experiments.figure2([1, 10])),
        (plotting.sampled_weight, experiments.figure3((5,), n_items=40, largest_rank=4)),
        (plotting.corrected_values, experiments.figure4(n_items=40, m=5)),
    ],
)
def test_several_tables_at_once_are_refused(draw, data):
    with pytest.raises(ValueError, match="data must be one table with one index, such as figure2"):
        draw(data)


def test_the_best_value_of_each_column_is_bold():
    table = pd.DataFrame({"AP": [0.1004, 0.1001, 0.05], "AUC": [0.5, 0.6, 0.7]}, index=list("ABC"))
    html = plotting.best_in_bold(table, decimals=3).to_html()
    assert re.findall(r">([\d.]+)</td>", html) == "0.100 0.500 0.100 0.600 0.050 0.700".split()
    selectors = html.split("{")[0]
    bold = set(re.findall(r"row(\d)_col(\d)", selectors))
    assert bold == {("0", "0"), ("1", "0"), ("2", "1")}  # the first two look the same
    assert html == plotting.best_in_bold(table, decimals=3).to_html()


def test_the_best_is_that_of_the_recommenders_with_all_else_equal():
    index = pd.MultiIndex.from_product(
        [["AP", "AUC"], ["X", "Y"], ["law", "paper"]], names=["metric", "recommender", "source"]
    )
    table = pd.DataFrame({"Exact": [1.0, 4, 2, 3, 5, 6, 7, 8]}, index=index)
    selectors = plotting.best_in_bold(table, decimals=0).to_html().split("{")[0]
    assert re.findall(r"row(\d)_col", selectors) == ["1", "2", "6", "7"]
    with pytest.raises(ValueError, match='a level named "recommender", got .*metric.*None'):
        plotting.best_in_bold(table.rename_axis(["metric", None, "source"]), decimals=0)


def test_the_best_recommender_stands_on_top():
    index = pd.MultiIndex.from_product(
        [["b", "none", "a"], ["AP"]], names=["recommender", "metric"]
    )
    values = {"value": [0.2, np.nan, 0.3], "low": [0.1, np.nan, 0.2], "high": [0.3, np.nan, 0.4]}
    (ax,) = plotting.values_with_limits(pd.DataFrame(values, index)).axes
    assert from_the_top(ax) == ["a", "b", "none"]
    assert ax.lines[0].get_xdata()[:2].tolist() == [0.3, 0.2]
    values |= {"value": [np.nan] * 3, "low": [0.2, np.nan, 0.1], "high": [0.3, np.nan, 0.5]}
    (ax,) = plotting.values_with_limits(pd.DataFrame(values, index)).axes
    assert from_the_top(ax) == ["a", "b", "none"]  # by the middle of the limits


def from_the_top(ax):
    """The names at the ticks, as they are seen."""
    height = {label.get_text(): label.get_position()[1] for label in ax.get_yticklabels()}
    return sorted(height, key=lambda name: -ax.transData.transform((0, height[name]))[1])


def picture_of(n_recommenders, n_metrics):
    """A table with all that there is to draw, and names of 60 characters."""
    rng, n = np.random.default_rng(0), n_recommenders
    names = [f"{i:02}" + ("a word or_two/and-more " * 3 if i % 2 else "x" * 60) for i in range(n)]
    metrics = ["Recall@10", "NDCG@10", "AP", "AUC", "RR", "Precision@100"][:n_metrics]
    index = pd.MultiIndex.from_product(
        [[name[:60] for name in names], metrics], names=["recommender", "metric"]
    )
    value = rng.random(len(index)) / 20
    columns = {"value": 1, "if_low": 0.6, "if_high": 1.4, "low": 0, "high": 2.2}
    columns |= {"sampled": 9, "exact": 1.1}
    table = pd.DataFrame({name: times * value for name, times in columns.items()}, index)
    table = table.assign(assumption="decreasing")
    table.iloc[-1, :5] = np.nan
    return table


def shown_texts(figure):
    """The texts of a figure that are seen, and where: ticks beyond the axes are not."""
    figure.canvas.draw()
    hidden = set()
    for ax in figure.axes:
        low, high = ax.get_xlim()
        places = zip(ax.get_xticks(), ax.get_xticklabels())
        hidden |= {label for place, label in places if not low <= place <= high}
    texts = [one for one in figure.findobj(matplotlib.text.Text) if one not in hidden]
    seen = [one for one in texts if one.get_visible() and one.get_text().strip()]
    return [(one, one.get_window_extent()) for one in seen]


@pytest.mark.parametrize(
    ("style", "n_metrics", "n_recommenders"),
    [
        ("default", 1, 1),
        ("default", 4, 4),
        ("default", 1, 12),
        ("dark_background", 1, 4),
        ({"font.size": 18}, 1, 1),
    ],
)
def test_a_picture_of_a_result_is_whole_in_any_style(style, n_metrics, n_recommenders):
    table = picture_of(n_recommenders, n_metrics)
    plt.close("all")
    with plt.style.context(style, after_reset=True):
        figure = plotting.values_with_limits(table, "Limits assume that " + "this and that " * 20)
        found, page = shown_texts(figure), figure.bbox.padded(1)
        said = [one.get_text() for one, _ in found]
        assert [one.get_text() for one, box in found if not page.contains(*box.p0)] == []
        assert [one.get_text() for one, box in found if not page.contains(*box.p1)] == []
        boxes = [(one.get_text(), box.padded(-1)) for one, box in found]
        pairs = combinations(boxes, 2)
        assert [(a, b) for (a, one), (b, other) in pairs if one.overlaps(other)] == []
        squeezed = ["".join(one.split()) for one in said]
        for name, metric in table.index:
            assert squeezed.count("".join(name.split())) == n_metrics and metric in said
        shortest = min(ax.get_window_extent().height for ax in figure.axes)
        assert shortest * 72 / figure.dpi > 14  # as long as the longest mark
        if len(table) > 1:  # the last row has no corrected value
            assert {"sampled, uncorrected", "corrected", "exact"} <= {*said}
        seen = figure.axes[0].get_facecolor()[:3]
        for line in figure.axes[0].lines:
            assert np.abs(np.subtract(matplotlib.colors.to_rgb(line.get_color()), seen)).max() > 0.3
    plt.close(figure)


NAMES = [r"$\frac{1$", "a$b$c", r"C:\$x\new", "_mine_", "50% & more", r"\$5"]


def limits_of(names):
    index = pd.MultiIndex.from_product([names, ["AUC"]], names=["recommender", "metric"])
    return pd.DataFrame({"value": 0.5, "low": 0.4, "high": 0.6}, index)


@pytest.mark.parametrize(
    "draw",
    [
        lambda names: plotting.metric_by_rank(pd.DataFrame(dict.fromkeys(names, [1, 2]))).figure,
        lambda names: (
            plotting.metric_by_samples(
                pd.DataFrame(dict.fromkeys(names, [0.1, 0.2]), index=[1, 10])
            ).figure
        ),
        lambda names: plotting.corrected_values(pd.DataFrame(dict.fromkeys(names, [1, 2]))).figure,
        lambda names: (
            plotting.rank_histogram(
                pd.DataFrame(dict.fromkeys(names, [3, 4]), index=[5, 10])
            ).figure
        ),
        lambda names: plotting.values_with_limits(limits_of(names)),
    ],
)
def test_names_are_shown_as_they_are(draw, tmp_path):
    """A formula of TeX, or half of one, is no more than a name."""
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure = draw(NAMES)
        figure.savefig(tmp_path / "x.svg")
        plt.close(figure)
    shown = {one.text.strip() for one in ElementTree.parse(tmp_path / "x.svg").iter() if one.text}
    assert {*NAMES} <= shown


def test_bounds_are_no_limits():
    table = picture_of(2, 1)[["value", "low", "high"]].assign(assumption=["decreasing", "bound"])
    table = table.assign(low=[0.15, 0.05], high=[0.2, 0.4])
    (ax,) = plotting.values_with_limits(table).axes
    found = {one.get_label(): one.get_segments()[0][:, 0].tolist() for one in ax.collections}
    assert found == {"95 % limits": [0.15, 0.2], "bounds": [0.05, 0.4]}


def test_what_rests_on_nothing_is_drawn_as_such():
    table = picture_of(3, 1).assign(assumption=["decreasing", "none", ""])
    table = table.assign(low=[0.15, 0.05, np.nan], value=[0.3, 0.2, np.nan])
    table = table.assign(if_low=[0.2, np.nan, np.nan])
    (ax,) = plotting.values_with_limits(table).axes
    assumed, free = (
        {segment[0, 1]: segment[0, 0] for segment in lines.get_segments() if len(segment)}
        for lines in ax.collections
    )
    assert [lines.get_label() for lines in ax.collections] == ["if decreasing", "95 % limits"]
    assert {y: x for y, x in free.items() if np.isfinite(x)} == {0.0: 0.15, 1.0: 0.05}
    assert {y: x for y, x in assumed.items() if np.isfinite(x)} == {0.0: 0.2}


def test_a_name_with_dollar_signs_is_no_formula():
    index = pd.MultiIndex.from_product([["$\\frac{1$"], ["AP"]], names=["recommender", "metric"])
    figure = plotting.values_with_limits(
        pd.DataFrame(dict.fromkeys(["value", "low", "high"], 0.1), index)
    )
    figure.canvas.draw()


def test_markers_of_lines_that_coincide_stand_beside_each_other(ax):
    same = pd.DataFrame(dict.fromkeys("ABC", np.ones(24)), index=np.arange(1, 25))
    plotting.metric_by_samples(same, ax)
    marks = [line.get_markevery() for line in ax.lines]
    marked = [set(range(start, 24, every)) for start, every in marks]
    assert all(len(places) == 8 for places in marked)
    assert not any(one & other for one, other in combinations(marked, 2))


@pytest.mark.parametrize(
    "draw, message",
    [
        (lambda: plotting.metric_by_rank(experiments.figure1(9), 3), "ax must be Axes of Matplot"),
        (lambda: plotting.label_lines("ax"), "ax must be Axes of Matplotlib or None, got 'ax'"),
        (lambda: plotting.label_lines(None, {"A": (1, 2)}), "places must map names of lines to "),
        (lambda: plotting.label_lines(None, 3), "places must map names of lines to points, got 3"),
        (lambda: plotting.panels(0, 1), "rows must be a whole number of at least 1, got 0"),
        (lambda: plotting.best_in_bold(3, 2), "table must be a dataframe of pandas"),
        (lambda: plotting.values_with_limits([1]), "table must be a dataframe of pandas"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@settings(max_examples=30)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12))
def test_names_are_moved_as_little_as_scipy_would(values):
    wanted = optimize.isotonic_regression(values).x
    np.testing.assert_allclose(plotting._nearest_increasing(values), wanted, atol=1e-9)
