"""The figures draw what the data says, on the axes given, with one look per recommender."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import recsample as rs
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


def test_metric_by_samples_names_each_line_at_its_end(ax):
    data = pd.DataFrame({"A": [0.1, 0.5], "B": [0.2, 0.5], "C": [0.3, 0.9]}, index=[1, 10])
    plotting.metric_by_samples(data, ax)
    assert [line.get_ydata().tolist() for line in ax.lines] == data.T.to_numpy().tolist()
    places = {text.get_text(): text.xy[1] for text in ax.texts}
    assert set(places) == {"A", "B", "C"}
    assert abs(places["A"] - places["B"]) > 0.02  # they end in one point, and stay legible


def test_recommenders_look_the_same_in_every_figure(ax):
    data = pd.DataFrame({"X": [0.1, 0.5], "Z": [0.2, 0.5]}, index=[1, 10])
    plotting.metric_by_samples(data, ax)
    plotting.rank_histogram(data, ax)
    for line, stairs in zip(ax.lines, ax.patches):
        assert matplotlib.colors.same_color(line.get_color(), stairs.get_edgecolor())


def test_looks_differ_in_more_than_colour():
    for looks in (plotting.RECOMMENDER, plotting.METRIC):
        some = list(looks.values())[:3] if looks is plotting.RECOMMENDER else list(looks.values())
        assert len({look[1:] for look in some}) == len(some)


def test_sampled_weight_and_corrections_draw_every_column(ax):
    plotting.sampled_weight(experiments.figure3((5,), n_items=40, largest_rank=40).loc["AP"], ax)
    assert list(by_label(ax)) == ["exact", "m = 5"]
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


def test_regularisation_path_shows_bias_and_spread_of_every_direction(ax):
    correction = rs.MinimalBias(rs.AP, rs.UniformSampling(4), n_items=30)
    plotting.regularisation_path(correction.path, optimum=correction.optimal_squared_bias, ax=ax)
    drawn = [line.get_ydata() for line in ax.lines]
    assert any(np.allclose(y, np.sqrt(correction.path.squared_bias)) for y in drawn if len(y) == 5)


def test_trade_off_draws_bias_against_spread(ax):
    curve = pd.DataFrame({"rms bias": [0.1, 0.2], "std": [0.4, 0.3]}, index=[0.01, 0.1])
    plotting.trade_off(curve, ax=ax)
    line = ax.lines[0].get_xydata()
    assert sorted(map(sorted, line.tolist())) == [[0.1, 0.4], [0.2, 0.3]]


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
