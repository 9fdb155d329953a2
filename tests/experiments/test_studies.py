"""Studies of what the methods cost and how far they are off, against the pieces one by one."""

import numpy as np
import pytest

import recsample as rs
from recsample import (
    AP,
    AUC,
    NDCG,
    BiasVariance,
    EarlyStopping,
    InverseSampling,
    Ranks,
    Recall,
    TwoPhase,
    UniformSampling,
    inference,
)
from recsample.experiments.studies import (
    comparison_of_estimators,
    error_against_cost,
    under_sampling,
)
from recsample.sampling.consistency import CATALOGUE

both_ways = pytest.mark.parametrize("replace", [False, True])


# Exact, sampled and corrected


@both_ways
def test_exact_sampled_and_corrected(replace):
    sampler = UniformSampling(8, replace)
    ranks = {"a": Ranks([1, 4, 20], 30), "b": Ranks([2, 9, 30], 30, ties=[0, 3, 0])}
    table = under_sampling(ranks, sampler, gamma=0.01)
    for M in CATALOGUE:
        corrected = rs.BiasVariance(M, sampler, 30, gamma=0.01)
        for name, r in ranks.items():
            row = table.loc[str(M), name]
            assert row["exact"] == pytest.approx(M(r).mean(), abs=1e-14)
            assert row["sampled"] == pytest.approx(sampler.expect(M, r).mean(), abs=1e-13)
            assert row["corrected"] == pytest.approx(sampler.expect(corrected, r).mean(), abs=1e-12)


@both_ways
def test_several_relevant_items(replace):
    """Against the mean over many draws, for what is sampled and what is corrected."""
    sampler, runs = UniformSampling(8, replace), 10_000
    values, ties = [[1, 4], [3, 5, 20], [7]], [[0, 0], [0, 0, 0], [0]]
    if not replace:
        ties = [[0, 2], [0, 0, 3], [1]]
    metrics = [AP, NDCG @ 3, "AP(hits)@3", AUC, "F1@2"]
    ranks = Ranks(values, 30, ties=ties)
    table = under_sampling({"a": ranks}, sampler, metrics, gamma=0.1)["a"]
    drawn = sampler.draw(Ranks(values * runs, 30, ties=ties * runs), rng=5)
    for name, row in table.iterrows():
        M = rs.metric(name)
        assert row["exact"] == pytest.approx(M(ranks).mean(), abs=1e-14)
        estimators = {"sampled": M}
        if M.additive:
            estimators["corrected"] = rs.BiasVariance(M, sampler, 30, gamma=0.1)
        else:
            assert np.isnan(row["corrected"])
        for kind, estimator in estimators.items():
            means = estimator(drawn).reshape(runs, 3).mean(axis=1)
            error = means.std(ddof=1) / np.sqrt(runs)
            assert abs(row[kind] - means.mean()) < 4 * error + 1e-12, (name, kind)


def test_names_of_metrics_do():
    sampler, ranks = UniformSampling(4), {"a": Ranks([1, 4], 9)}
    named = under_sampling(ranks, sampler, ["ndcg@3"])
    assert named.equals(under_sampling(ranks, sampler, [NDCG @ 3]))


@pytest.mark.parametrize(
    "metrics, message",
    [
        (AP, "metrics must be a list of metrics, got AP"),
        ("AP", "metrics must be a list of metrics, got 'AP'"),
        (3, "metrics must be a list of metrics, got 3"),
        ([], "metrics must hold at least one metric, got none"),
        (["ncdg"], "metrics must hold metrics .*, or their names, got 'ncdg'"),
    ],
)
def test_under_sampling_refuses_what_is_no_list_of_metrics(metrics, message):
    with pytest.raises(ValueError, match=message):
        under_sampling({"a": Ranks([1], 9)}, UniformSampling(5), metrics)


@pytest.mark.parametrize("wrong", [10, UniformSampling, None])
def test_under_sampling_refuses_what_is_no_sampler(wrong):
    with pytest.raises(ValueError, match="sampler must be a sampler such as Uniform"):
        under_sampling({"a": Ranks([1], 9)}, wrong, [AP])


# The figure of error against cost


def test_error_against_cost_is_that_of_each_method():
    sizes = np.arange(201, 301, 5)
    ranks = {
        "Y": Ranks([1, 4, 40, 7, 90] * 4, sizes),
        "Z": Ranks([2, 30, 5, 9, 60] * 4, sizes, ties=[0, 3, 0, 8, 2] * 4),
    }
    table = error_against_cost(ranks, samples=[20, 150], most=160, repetitions=1)
    metrics = ["AP", "NDCG@10", "Recall@10"]
    assert list(table.index.unique("metric")) == metrics
    assert list(table) == ["cost", "bias", "std", "error"]
    assert table["error"].to_numpy() == pytest.approx(np.hypot(table["bias"], table["std"]))
    n = round(np.mean(sizes))
    designs = {
        ("inverse sampling", 0): InverseSampling(),
        ("early stopping", 0): EarlyStopping(10),
        ("two phases", 0.5): TwoPhase(100, 10, 0.5 * 0.7 ** np.arange(10)),
    }
    for name, r in ranks.items():
        for metric in map(rs.metric, metrics):
            sampler = UniformSampling(150)
            corrected = BiasVariance(metric, sampler, n, gamma=0.01)
            row = table.loc[(str(metric), "BV 0.01", name, 150)]
            bias = sampler.expect(corrected, r).mean() - metric(r).mean()
            expected = [150, 100 * bias, 100 * sampler.std_of_mean(corrected, r)]
            assert row[:3].tolist() == pytest.approx(expected, abs=1e-7)
            design = rs.DoublingSampling(50, 160)
            corrected = BiasVariance(metric, design, n, gamma=0.1)
            row = table.loc[(str(metric), "BV 0.1, doubling", name, 160)]
            bias = design.expect(corrected, r).mean() - metric(r).mean()
            expected = [design.cost(r).mean(), 100 * bias]
            assert row[:2].tolist() == pytest.approx(expected, abs=1e-7)
            for (method, setting), design in designs.items():
                if (metric.cutoff is None) != (method == "inverse sampling"):
                    continue
                row = table.loc[(str(metric), method, name, setting)]
                expected = [design.cost(r).mean(), 0, 100 * design.std_of_mean(metric, r)]
                assert row[:3].tolist() == pytest.approx(expected)
        row = table.loc[("AP", "rank everything", name, 0)]
        assert row.tolist() == pytest.approx([r.n_irrelevant.mean(), 0, 0, 0])
        capped = InverseSampling(100)
        bias = capped.expect(AP, r).mean() - AP(r).mean()
        expected = [capped.cost(r).mean(), 100 * bias, 100 * capped.std_of_mean(AP, r)]
        row = table.loc[("AP", "inverse sampling, cap", name, 100)]
        assert row[:3].tolist() == pytest.approx(expected)
    for few in ("CLS", "MES", "BV, learned prior"):
        assert list(table.xs(few, level="method").index.unique("setting")) == [20]


def test_error_against_cost_of_methods_that_learn_from_a_run():
    """The same runs, drawn again."""
    ranks = {"Y": Ranks([1, 4, 40, 7, 90] * 20, 201), "Z": Ranks([2, 30, 5, 9, 60] * 20, 201)}
    table = error_against_cost(ranks, samples=[20, 60], most=160, repetitions=2, rng=4)
    rng = np.random.default_rng(4)
    for m in (20, 60):
        sampler = UniformSampling(m)
        for name, r in ranks.items():
            runs = [sampler.draw(r, rng) for _ in range(2)]
            priors = [inference.expectation_maximisation(run, sampler, 201) for run in runs]
            splines = [inference.log_spline(run, sampler, 201) for run in runs]
            for metric in (AP, Recall @ 10):
                corrections = [
                    BiasVariance(metric, sampler, 201, gamma=0.1, prior=p) for p in priors
                ]
                found = {
                    "EM": [p @ metric.of_rank(range(1, 202), 201) for p in priors],
                    "spline": [fit.mean(metric)[0] for fit in splines],
                    "BV, learned prior": [c(run).mean() for c, run in zip(corrections, runs)],
                }
                for method, means in found.items():
                    row = table.loc[(str(metric), method, name, m)]
                    bias = np.mean(means) - metric(r).mean()
                    expected = [m, 100 * bias, 100 * np.std(means)]
                    assert row[:3].tolist() == pytest.approx(expected)
                plausible = inference.plausible_prior(201)
                corrected = BiasVariance(metric, sampler, 201, gamma=0.1, prior=plausible)
                bias = sampler.expect(corrected, r).mean() - metric(r).mean()
                row = table.loc[(str(metric), "BV, plausible prior", name, m)]
                expected = [m, 100 * bias, 100 * sampler.std_of_mean(corrected, r)]
                assert row[:3].tolist() == pytest.approx(expected)


# Corrections and estimates on the same runs


def test_comparison_of_estimators_on_its_own_draws():
    ranks = {"A": Ranks([1, 4, 30, 100] * 30, 120), "B": Ranks([1, 2, 9] * 40, 120)}
    table = comparison_of_estimators(ranks, m=10, repetitions=3, rng=7)
    sampler, rng = UniformSampling(10), np.random.default_rng(7)
    for name, r in ranks.items():
        runs = [sampler.draw(r, rng) for _ in range(3)]
        learned = [inference.rank_distribution(run, sampler, 120) for run in runs]
        for metric in (AP, Recall @ 10):
            exact = metric(r).mean()
            prior = {
                "BV, learned prior": learned,
                "BV, averaged prior": [sum(learned) / 3] * 3,
                "BV, uniform prior": [None] * 3,
                "BV, plausible prior": [inference.plausible_prior(120)] * 3,
            }
            errors = {
                key: [
                    BiasVariance(metric, sampler, 120, gamma=0.1, prior=p)(run).mean() - exact
                    for p, run in zip(given, runs)
                ]
                for key, given in prior.items()
            }
            errors["EM"] = [inference.plug_in(metric, p) - exact for p in learned]
            errors["Sampled"] = [metric(run).mean() - exact for run in runs]
            for key, error in errors.items():
                row = table.loc[str(metric), name, key] / 100
                assert row["exact"] == pytest.approx(exact)
                assert row["bias"] == pytest.approx(np.mean(error), abs=1e-12)
                assert row["std"] == pytest.approx(np.std(error), abs=1e-9)
                assert row["error"] == pytest.approx(np.hypot(row["bias"], row["std"]), abs=1e-9)
