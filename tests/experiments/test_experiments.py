"""The tables and figures of the paper against the values that it prints.

The recorded ranks of X come from one random start of ours, so X is compared where the paper makes
a statement, not digit by digit. AUC of Z is set apart: see the book's chapter on the reproduction.
"""

import statistics
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest
import reference

from recsample import (
    AP,
    AUC,
    NDCG,
    RBP,
    BiasVariance,
    Ranks,
    Recall,
    UniformSampling,
    datasets,
    experiments,
)
from recsample.metrics.base import Metric
from recsample.ranks.checks import mean_pool_size
from recsample.sampling import large_pools

ROUNDING = 0.005 / np.sqrt(3)  # standard deviation of a printed value rounded to two decimals


def beside_printed(table, number):
    """The rows of a table that the paper prints, with its values in further columns."""
    return table.join(experiments.printed_table(number).add_prefix("printed "), how="inner")


@pytest.fixture(scope="module")
def ranks():
    return datasets.recorded_ranks()


@pytest.fixture(scope="module")
def table3():
    return experiments.table3()


def test_table_1_to_three_decimals():
    printed = experiments.printed_table(1)["mean"].droplevel("estimator").unstack("metric")
    computed = experiments.table1()
    assert (computed.round(3) == printed[computed.columns]).all(axis=None)


def sampled_expectation(f, r, n, m):
    """E[f(sampled rank)] without replacement, by counting, in whole numbers."""
    ways = (comb(r - 1, s) * comb(n - r, m - s) * f(s + 1) for s in range(m + 1))
    return sum(ways) / Fraction(comb(n - 1, m))


def test_table_2_law_to_three_decimals():
    # The law's own values as they were worked out before this package existed. For C's Recall@10
    # exact counting gives .56946, where .570 was noted.
    known = {
        "AP": [0.636, 0.341, 0.326],
        "NDCG": [0.728, 0.447, 0.460],
        "AUC": [0.990, 0.555, 0.843],
    }
    table = experiments.table2(repetitions=2)["mean"].xs("Sampled", level="estimator")
    for metric, values in known.items():
        assert table[metric].round(3).tolist() == values
    assert table["Recall@10"].round(5).tolist() == [1.0, 0.4, 0.56946]


@pytest.mark.thorough
def test_table_2_printed_means_within_three_standard_errors():
    both = beside_printed(experiments.table2(), 2)
    rounding = 0.0005 / np.sqrt(3)
    error = np.hypot(both["std"] / np.sqrt(1000), rounding)
    assert ((both["printed mean"] - both["mean"]).abs() <= 3 * error).all()
    error = np.hypot(both["repeated std"] / np.sqrt(1000), both["std"] / np.sqrt(1000))
    assert ((both["repeated mean"] - both["mean"]).abs() <= 4 * error + 1e-12).all()
    # a standard deviation of 1000 values has a relative standard error of about 1 / sqrt(2000)
    assert ((both["printed std"] - both["std"]).abs() <= 4 * both["std"] / 44 + 0.0005).all()


@pytest.mark.parametrize(
    "m, order",
    [(1, "ACB"), (72, "ACB"), (73, "ABC"), (276, "ABC"), (277, "ACB"), (433, "ACB"), (434, "CAB")],
)
def test_order_of_the_toy_recommenders_on_ap(m, order):
    def closed_form(r):  # E[1 / (s + 1)] in whole numbers, see UniformSampling.expect
        n, a = 9_999, r - 1
        missed = Fraction(comb(n - a, m + 1), comb(n + 1, m + 1))
        return Fraction(n + 1, (a + 1) * (m + 1)) * (1 - missed)

    exact = {
        name: sum(closed_form(int(r)) for r in ranks.values)
        for name, ranks in experiments.toy_ranks().items()
    }
    assert "".join(sorted(exact, key=exact.get, reverse=True)) == order
    assert experiments.order_changes(AP, samples=[m]) == [(m, " > ".join(order))]


def test_table_3_exact_y_and_z(table3):
    both = beside_printed(table3, 3).xs("Exact", level="estimator")
    y = both.xs("Y", level="recommender")
    assert (y["mean"].round(2) == y["printed mean"]).all()
    z = both.xs("Z", level="recommender")
    assert (z["mean"].round(2) == z["printed mean"])[["Recall@10", "NDCG@10", "AP"]].all()


def test_table_3_exact_auc_of_z_is_one_random_order_of_its_ties(ranks, table3):
    z = ranks["Z"]
    # The AUC of a random order is uniform over t + 1 equally spaced values for each user.
    spread = (((z.ties + 1.0) ** 2 - 1) / 12 / (z.n_items - 1.0) ** 2).sum() ** 0.5 / len(z)
    assert 100 * spread == pytest.approx(0.22, abs=0.01)
    computed = table3.loc[("AUC", "Z", "Exact"), "mean"]
    assert computed == pytest.approx(74.80, abs=0.005)
    assert abs(computed - 74.73) < 100 * spread
    # in the recommender's favour and against it
    best, worst = Ranks(z.values, z.n_items), Ranks(z.values + z.ties, z.n_items)
    assert 100 * AUC(best).mean() == pytest.approx(94.4, abs=0.05)
    assert 100 * AUC(worst).mean() == pytest.approx(55.2, abs=0.05)


def test_table_3_sampled_without_replacement(table3, ranks):
    y = table3.xs(("Y", "Sampled"), level=("recommender", "estimator"))["mean"]
    assert y[["Recall@10", "NDCG@10", "AP"]].round(2).tolist() == [56.51, 34.82, 30.03]
    with_replacement = UniformSampling(100, replace=True)
    assert 100 * with_replacement.expect(NDCG @ 10, ranks["Y"]).mean() == pytest.approx(
        34.88, abs=0.005
    )


def test_table_3_corrected_cells_within_three_standard_errors(table3):
    both = beside_printed(table3, 3).drop("X", level="recommender").drop("Exact", level="estimator")
    both = both.drop([key for key in both.index if key[:2] == ("AUC", "Z")])
    assert len(both) == 7 * 7
    error = np.hypot(both["std"] / np.sqrt(100), ROUNDING)
    assert ((both["printed mean"] - both["mean"]).abs() <= 3 * error).all()
    # a standard deviation of 100 values has a relative standard error of about 1 / sqrt(198)
    allowed = 3.5 * both["std"] / np.sqrt(198) + 0.005
    assert ((both["printed std"] - both["std"]).abs() <= allowed).all()


def test_table_3_repetitions_agree_with_the_law(table3):
    sampled = table3.drop("Exact", level="estimator")
    distance = (sampled["repeated mean"] - sampled["mean"]).abs() / (sampled["std"] / 10)
    assert distance.max() < 4
    ratio = sampled["repeated std"] / sampled["std"]
    assert ratio.between(1 - 4 / np.sqrt(198), 1 + 4 / np.sqrt(198)).all()


@pytest.mark.parametrize(
    "settings, misses",
    [({"replace": True, "n_items": 3541}, False), ({"replace": True, "n_items": 3706}, True)]
    + [({"replace": False, "n_items": 3541}, True)],
)
def test_settings_of_the_published_corrections(ranks, settings, misses):

    assumed = UniformSampling(100, replace=settings["replace"])
    printed = experiments.printed_table(3)
    far = []
    for gamma in (0.1, 0.01):
        corrected = BiasVariance(Recall @ 10, assumed, settings["n_items"], gamma=gamma)
        sampler = UniformSampling(100)
        mean = 100 * sampler.expect(corrected, ranks["Y"]).mean()
        error = 10 * sampler.std_of_mean(corrected, ranks["Y"])
        far.append(abs(printed.loc[("Recall@10", "Y", f"BV {gamma:g}"), "mean"] - mean) / error)
    assert (max(far) > 4) == misses


@pytest.mark.thorough
def test_table_4_law_against_repetitions_and_print():
    table = beside_printed(experiments.table4(), 4)
    chance = table["mean"] / 100
    assert chance.between(0, 1).all()
    noise = 100 * np.sqrt(chance * (1 - chance) / 100)
    assert ((table["repeated mean"] - table["mean"]).abs() <= 4 * noise + 1).all()
    # Printed counts are 100 repetitions too. With X from another start, its pairs are left out.
    own = table.xs("Y vs Z", level="recommender")
    noise = 100 * np.sqrt((own["mean"] / 100) * (1 - own["mean"] / 100) / 100)
    assert ((own["printed mean"] - own["mean"]).abs() <= 3 * noise + 0.5).all()


def test_figure_1_values():
    data = experiments.figure1(10_000)
    assert data.loc[2, "AP"] == 0.5 and data.loc[1, "NDCG"] / data.loc[2, "NDCG"] == pytest.approx(
        np.log2(3)
    )
    assert data["Recall@10"].sum() == 10
    assert np.allclose(np.diff(data["AUC"]), -1 / 9999)


def test_figure_2_ends_in_the_exact_metrics():
    data, exact = experiments.figure2([99, 9_999]), experiments.table1()
    for metric in exact:
        assert data.loc[(metric, 9_999)].to_numpy() == pytest.approx(exact[metric].to_numpy())
    replaced = experiments.figure2([99], replace=True).loc[("AP", 99)]
    assert (replaced > data.loc[("AP", 99)]).all()


def test_figure_3_against_counting():
    data = experiments.figure3((10,), n_items=50, largest_rank=50, replace=False)
    for r in (1, 2, 17, 50):
        counted = sampled_expectation(lambda s: Fraction(1, s), r, 50, 10)
        assert data.loc[("AP", r), 10] == pytest.approx(float(counted), abs=1e-14)


def test_figure_4_corrections_are_closer_to_the_exact_metric():
    data = experiments.figure4(n_items=2_000, m=100)
    error = ((data.expected.drop(columns="Exact").sub(data.expected["Exact"], axis=0)) ** 2).mean()
    assert (error.drop("Sampled") < error["Sampled"]).all()  # section 5.4
    assert error[["BV 1", "BV 0.1", "BV 0.01", "BV 0.001"]].is_monotonic_decreasing


def test_figure_5_counts_every_user_once(ranks):
    data = experiments.figure5()
    assert data.sum().to_numpy() == pytest.approx([6040] * 3)
    x = ranks["X"]
    assert data["X"].iloc[0] == ((x.values <= 100) & (x.values + x.ties <= 100)).sum()


@pytest.mark.thorough
def test_figure_6_where_x_and_y_change_places(ranks):
    x, y = ranks["X"], ranks["Y"]
    curves = experiments.figure6([20, 60, 900, 1100], {"X": x, "Y": y})
    right = curves["Y"] > curves["X"]
    assert right["Sampled"].tolist() == [False, False, False, True]
    assert right["BV 0.1"].tolist() == [False, True, True, True]


def exact_corrected(values, ranks):
    """The mean over the instances of E[x | r] without replacement, in fractions."""
    m, means = len(values) - 1, []
    for rank, size in zip(ranks.values.tolist(), ranks.sizes.tolist()):
        law = reference.exact_law(rank, size, m, False)
        means.append(sum(p * x for p, x in zip(law, values)))
    return float(sum(means) / len(means))


def test_figure_6_corrects_for_one_law_and_is_sampled_by_the_other():
    """Draws without replacement; the correction is for those with, and one pool of mean size."""
    ranks = {
        "A": Ranks([1, 3, 9, 2], [10, 11, 11, 11]),
        "B": Ranks([2, 2, 5, 10], [10, 11, 11, 11]),
    }
    n, gamma = 11, Fraction(1, 2)  # the mean size is 10.75
    table = experiments.figure6([2, 4], ranks, metric=AP, gamma=0.5)
    assert table.index.tolist() == [("Sampled", 2), ("Sampled", 4), ("BV 0.5", 2), ("BV 0.5", 4)]
    for m in (2, 4):
        law = [reference.exact_law(r, n, m, True) for r in range(1, n + 1)]
        target = [Fraction(1, r) for r in range(1, n + 1)]
        corrected = reference.bias_variance(law, target, [Fraction(1, n)] * n, gamma)
        sampled = [Fraction(1, s) for s in range(1, m + 2)]
        for name, r in ranks.items():
            for estimator, values in (("Sampled", sampled), ("BV 0.5", corrected)):
                expected = 100 * exact_corrected(values, r)
                assert table.loc[(estimator, m), name] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        {"A": [9, 15, 4, 2], "B": [9, 5, 4, 10], "C": [3, 15, 13, 2]},
        {"A": [5, 4, 5, 9], "B": [9, 2, 14, 10], "C": [13, 2, 10, 8]},
    ],
)
def test_no_change_of_order_is_missed(values):
    """Neighbouring m with another order, too; against every m by counting."""
    ranks, expected = {name: Ranks(each, 16) for name, each in values.items()}, []
    for m in range(1, 16):
        read = [Fraction(1, s) for s in range(1, m + 2)]
        means = {name: exact_corrected(read, r) for name, r in ranks.items()}
        order = " > ".join(sorted(means, key=means.get, reverse=True))
        if not expected or order != expected[-1][1]:
            expected.append((m, order))
    assert min(np.diff([m for m, _ in expected])) == 1
    assert experiments.order_changes(AP, ranks) == expected


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("metric", [AP, NDCG, RBP(0.8), Recall @ 3], ids=str)
def test_changes_of_order_are_those_found_at_every_size(metric, replace):
    """Whether the metric is convex in the rank or not; of recommenders that are close."""
    draw, found = np.random.default_rng(0), []
    for _ in range(2):
        ranks = {name: Ranks(draw.integers(1, 9, 6), 17) for name in "ABC"}
        changes = experiments.order_changes(metric, ranks, replace=replace)
        one_by_one = [
            experiments.order_changes(metric, ranks, [m], replace=replace)[0] for m in range(1, 17)
        ]
        orders = [order for _, order in one_by_one]
        new = [k for k in range(16) if k == 0 or orders[k] != orders[k - 1]]
        assert changes == [one_by_one[k] for k in new]
        found.append(len(changes))
    assert max(found) > 1


def test_what_only_rounding_tells_apart_is_no_order():
    """The same ranks in another order, whose sums differ in their last digits."""
    values = np.random.default_rng(0).integers(1, 16, 50)
    ranks = {"A": Ranks(values, 16), "B": Ranks(values[::-1], 16), "C": Ranks(values + 1, 16)}
    means = [[UniformSampling(m).expect(AP, ranks[n]).mean() for n in "AB"] for m in range(1, 16)]
    assert {np.sign(a - b) for a, b in means} >= {-1, 1}
    assert experiments.order_changes(AP, ranks) == [(1, "A = B > C")]
    moved = {name: ranks[name] for name in "BCA"}
    assert experiments.order_changes(AP, moved) == [(1, "B = A > C")]


@pytest.mark.parametrize("table", [experiments.table3, experiments.table4])
def test_repetitions_are_drawn_again(table):
    """Mean and standard deviation over the repetitions, n - 1 in the denominator, by hand."""
    ranks = {"Y": Ranks([1, 4, 40, 7], 50), "Z": Ranks([2, 2, 50, 9], 50)}
    found = table(ranks, m=10, repetitions=4, rng=3)
    rng, sampler, runs = np.random.default_rng(3), UniformSampling(10), []
    for _ in range(4):
        runs.append({name: sampler.draw(r, rng) for name, r in ranks.items()})
    for metric in experiments.MOVIELENS_METRICS:
        for estimator, one in experiments.estimators(metric, 10, 50).items():
            means = {n: [100 * float(one(run[n]).mean()) for run in runs] for n in ranks}
            if table is experiments.table3:
                for name in ranks:
                    row = found.loc[str(metric), name, estimator]
                    assert row["repeated mean"] == pytest.approx(statistics.mean(means[name]))
                    assert row["repeated std"] == pytest.approx(statistics.stdev(means[name]))
                    law = sampler.expect(one, ranks[name])
                    assert row["mean"] == pytest.approx(100 * law.mean())
                    assert row["std"] == pytest.approx(100 * sampler.std_of_mean(one, ranks[name]))
            else:
                sign = np.sign(metric(ranks["Z"]).mean() - metric(ranks["Y"]).mean())
                right = [sign * (z - y) > 0 for y, z in zip(means["Y"], means["Z"])]
                row = found.loc[str(metric), "Y vs Z", estimator]
                assert row["repeated mean"] == 100 * sum(right) / 4
                gap, variance = 0.0, 0.0
                for name, side in (("Z", sign), ("Y", -sign)):
                    gap += side * sampler.expect(one, ranks[name]).mean()
                    variance += sampler.std_of_mean(one, ranks[name]) ** 2
                chance = statistics.NormalDist().cdf(gap / variance**0.5)
                assert row["mean"] == pytest.approx(100 * chance)


@pytest.mark.parametrize(
    ("sizes", "expected"), [([[10, 11, 11]], 11), ([[10, 10, 11]], 10), ([[10], [12, 13]], 11)]
)
def test_the_mean_size_of_the_pools_is_rounded(sizes, expected):
    """A mean of the recommenders' means, each over its instances."""
    ranks = {str(i): Ranks([1] * len(each), each) for i, each in enumerate(sizes)}
    assert mean_pool_size(ranks) == expected


def test_the_layout_of_the_paper_keeps_the_order_of_the_table():
    rows = [("Recall", "Y", "Exact"), ("Recall", "Y", "BV"), ("Recall", "X", "Exact")]
    rows += [("Recall", "X", "BV"), ("AP", "Y", "Exact"), ("AP", "Y", "BV")]
    index = pd.MultiIndex.from_tuples(rows, names=["metric", "recommender", "estimator"])
    values = {"mean": [1.0, 2, 3, 4, 5.25, 6], "std": [np.nan, 0.1, np.nan, 0.25, np.nan, 0.75]}
    printed = experiments.as_printed(pd.DataFrame(values, index), 1)
    assert printed.index.tolist() == [("Recall", "Y"), ("Recall", "X"), ("AP", "Y")]
    assert printed.to_dict("list") == {
        "Exact": ["1.0", "3.0", "5.2"],
        "BV": ["2.0 ± 0.1", "4.0 ± 0.2", "6.0 ± 0.8"],
    }


@pytest.mark.parametrize("number", [0, 5, "1"])
def test_printed_table_refuses_other_numbers(number):
    with pytest.raises(ValueError, match="number must be one of the paper's tables, 1 to 4"):
        experiments.printed_table(number)


def test_order_changes_refuses_a_metric_of_which_less_is_better():
    with pytest.raises(ValueError, match="metric must be one of which more is better, got Perc"):
        experiments.order_changes("PercentileRank")


def test_bias_and_variance_are_the_parts_of_the_objective():
    n_items, prior = 60, 1.0 / np.arange(1, 61)
    sampler = UniformSampling(9)
    corrected = BiasVariance(AP, sampler, n_items, gamma=0.2, prior=prior)
    table = experiments.bias_and_variance({"BV": corrected}, AP, sampler, n_items, prior=prior)
    weights = prior / prior.sum()
    ranks = Ranks(np.arange(1, n_items + 1), n_items)
    bias = sampler.expect(corrected, ranks) - 1 / np.arange(1, n_items + 1)
    assert table.loc["BV", "mean bias"] == pytest.approx(weights @ bias, abs=1e-14)
    assert table.loc["BV", "rms bias"] ** 2 == pytest.approx(weights @ bias**2, rel=1e-12)
    variance = weights @ sampler.variance(corrected, ranks)
    assert table.loc["BV", "std"] ** 2 == pytest.approx(variance, rel=1e-12)


class Wavy(Metric):
    """No smooth function of the rank: few ranks cannot stand for all of its values."""

    name = "Wavy"

    def term(self, rank, order, n_relevant, n_items):
        return np.sin(0.37 * np.asarray(rank, float) ** 2)


def test_bias_of_a_metric_that_is_not_smooth_where_few_ranks_stand_for_all(monkeypatch):
    monkeypatch.setattr(large_pools, "_SMALL", 0)
    n_items, sampler = 3_000, UniformSampling(30)
    table = experiments.bias_and_variance({"Sampled": Wavy()}, Wavy(), sampler, n_items)
    read, exact = (np.sin(0.37 * np.arange(1.0, n + 1) ** 2) for n in (31, n_items))
    bias = sampler.law(n_items) @ read - exact
    assert table.loc["Sampled", "mean bias"] == pytest.approx(bias.mean(), rel=1e-9)
    assert table.loc["Sampled", "rms bias"] ** 2 == pytest.approx(np.mean(bias**2), rel=1e-12)


@pytest.mark.parametrize("ranks", [[1, 2], 3, {}])
def test_tables_refuse_what_is_no_mapping_of_ranks(ranks):
    with pytest.raises(ValueError, match="ranks must (map the names|hold at least one)"):
        experiments.table3(ranks)
