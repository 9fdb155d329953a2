"""Differences of three recommenders or more: limits that hold at once, and a step-down test."""

from itertools import chain, combinations

import numpy as np
import pytest
from scipy import stats

import recsample as rs
import recsample.evaluation.exact
from recsample._support.numerics import limits_of_means
from recsample.evaluation.findings import _decide
from recsample.inference.comparison import compared, step_down
from recsample.inference.likelihood.sampled_run import SampledRun

SIZE = 0.05
N_USERS, N_ITEMS = 200, 40


def closed_test(p_values):
    """Whatever is rejected in every intersection that it is part of, each by Bonferroni's test."""
    every = range(len(p_values))
    sets = [*chain.from_iterable(combinations(every, k + 1) for k in every)]
    passes = {s: min(p_values[i] for i in s) * len(s) <= SIZE for s in sets}
    return [all(passes[s] for s in sets if i in s) for i in every]


@pytest.mark.parametrize("seed", range(20))
def test_step_down_is_the_closed_test_of_bonferroni(seed):
    p_values = np.random.default_rng(seed).beta(0.4, 6, size=5)
    assert step_down(p_values, SIZE).tolist() == closed_test(p_values)


def test_what_is_not_known_is_not_rejected():
    p_values = np.array([0.001, np.nan, 0.02])
    assert step_down(p_values, SIZE).tolist() == [True, False, True]
    assert step_down(np.array([]), SIZE).tolist() == []


def table(rng, shifts):
    """Ranks of equal users under several recommenders, better by some shift."""
    base = rng.integers(1, N_ITEMS, N_USERS)
    runs = {}
    for name, shift in zip("abcdef", shifts):
        rank = np.where(rng.random(N_USERS) < 0.5, rng.integers(1, N_ITEMS, N_USERS), base)
        runs[name] = np.maximum(1, rank - shift)
    return runs


def evaluated(runs):
    scores = {name: np.tile(-np.arange(N_ITEMS), (N_USERS, 1)) / 10 for name in runs}
    for name, ranks in runs.items():
        scores[name][:, 0] = (0.5 - ranks) / 10  # so many of the items 1, 2, ... are above less one
    return rs.evaluate(scores, np.zeros(N_USERS, int), drawn="all", metrics=["AUC"])


@pytest.mark.parametrize("drawn", [False, True])
def test_where_less_is_better_the_lower_mean_is_ahead(drawn):
    rng = np.random.default_rng(0)
    runs = {"good": rs.Ranks(rng.integers(1, 50, 300), 400)}
    runs |= {"bad": rs.Ranks(rng.integers(100, 401, 300), 400)}
    metrics = ["AUC", "PercentileRank"]
    if drawn:
        sampled = {name: rs.UniformSampling(20).draw(one, rng) for name, one in runs.items()}
        found = rs.report(sampled, metrics=metrics)
    else:
        scores = {name: -np.ones((300, 400)) for name in runs}
        for name, one in runs.items():
            scores[name] *= np.arange(400)
            scores[name][:, 0] = 0.5 - one.values
        found = rs.evaluate(scores, np.zeros(300, int), drawn="all", metrics=metrics)
    auc, percentile = (found.pairs.loc[("good", "bad", one)] for one in metrics)
    assert auc["ahead"] == percentile["ahead"] == "good"
    assert auc["difference"] == pytest.approx(-percentile["difference"])
    assert auc["probability"] == pytest.approx(1 - percentile["probability"])
    assert all(best_on_top(ax) == "good" for ax in found.plot().axes)


def best_on_top(ax):
    names = ax.get_yticklabels()
    return max(names, key=lambda name: ax.transData.transform(name.get_position())[1]).get_text()


@pytest.mark.thorough
@pytest.mark.parametrize("shifts", [[0] * 5, [6, 6, 0, 0, 0]])
def test_a_false_difference_is_rare_in_the_whole_family(shifts):
    true, n_runs = dict(zip("abcde", shifts)), 80
    false = missed = 0
    for seed in range(n_runs):
        pairs = evaluated(table(np.random.default_rng(seed), shifts)).pairs
        told = pairs.reset_index()
        signs = np.sign([true[a] - true[b] for a, b in zip(told["a"], told["b"])])
        said = np.where(told["ahead"] == told["a"], 1, -1) * (told["ahead"] != "undecided")
        false += bool(((said != 0) & (said != signs)).any())
        missed += bool(((said == 0) & (signs != 0)).any())
    assert stats.binomtest(false, n_runs, SIZE, "greater").pvalue > 0.001
    assert missed < n_runs / 10


def test_of_many_recommenders_the_best_are_shown_and_the_tables_have_all():
    rng, n = np.random.default_rng(0), 100
    scores = {f"model {i}": rng.normal(size=(N_USERS, N_ITEMS)) for i in range(n)}
    for i, one in enumerate(scores.values()):
        one[:, 0] += 2 * (i * 7 % n) / n
    found = rs.evaluate(
        scores, np.zeros(N_USERS, int), drawn="all", metrics=["AUC", "PercentileRank"]
    )
    auc = found.table.xs("AUC", level="metric")["value"].sort_values(ascending=False)
    best = {*auc.index[:20]}
    texts = (str(found), found._repr_html_(), found.to_latex(), found.to_markdown())
    for text in texts:
        assert "Best 20 of 100 shown; .table has all." in " ".join(text.split())
        assert {name for name in scores if f"{name} " in text or f">{name}<" in text} == best
        assert len(text) < 20_000
    assert len(found.table) == 2 * n and len(found.pairs) == n * (n - 1)
    assert found.to_csv().count("\nmodel") == 2 * n
    figure = found.plot()
    assert "Best 20 of 100" in " ".join(figure.get_suptitle().split())
    assert all(len(ax.get_yticks()) == 20 and best_on_top(ax) == auc.index[0] for ax in figure.axes)


def test_limits_are_those_of_all_pairs_and_end_at_zero_where_the_test_decides():
    differing = 0
    for seed in range(12):
        runs = table(np.random.default_rng(seed), [8, 2, 0])
        found, auc = evaluated(runs), rs.metric("AUC")
        each = {name: auc(rs.Ranks(r, N_ITEMS)) for name, r in runs.items()}
        pairs = [*combinations(runs, 2)]
        off = np.array([each[a] - each[b] for a, b in pairs])
        limits = np.transpose(limits_of_means(off, 1 - SIZE / 3, (-1.0, 1.0)))
        rejected = closed_test([2 * min(p, 1 - p) for p in limits[:, 2]])
        for pair, (low, high, above), decided in zip(pairs, limits, rejected):
            row = found.pairs.loc[(*pair, "AUC")]
            ends = (max(low, 0), high) if above > 0.5 else (low, min(high, 0))
            wanted = ends if decided else (low, high)
            assert tuple(row[["low", "high"]]) == pytest.approx(wanted, abs=1e-7)
            ahead = pair[int(above < 0.5)] if decided else "undecided"
            assert row["ahead"] == ahead
            differing += decided and low < 0 < high
    assert differing > 0  # the step-down test decides more than the limits alone


def test_a_pair_whose_numbers_contradict_each_other_is_undecided_and_says_so(monkeypatch):
    runs = table(np.random.default_rng(0), [8, 0])
    usual = evaluated(runs)
    assert usual.pairs["ahead"].tolist() == ["a"] and usual.notes == ()
    of = rs.evaluation.exact.of_differences

    def turned(*given):
        return [one._replace(difference=-0.01) for one in of(*given)]

    monkeypatch.setattr("recsample.evaluation.exact.of_differences", turned)
    found = evaluated(runs)
    assert found.pairs["ahead"].tolist() == ["undecided"]
    low, high = usual.pairs.loc[("a", "b", "AUC"), ["low", "high"]]
    assert f", {low:.3f} to {high:.3f}, exclude 0, and the values" in found.notes[0]
    assert found.notes[0].startswith("a - b, AUC: undecided, since the limits of the difference")


@pytest.mark.parametrize("turned", [None, "value", "difference", "probability"])
def test_a_pair_is_decided_where_all_of_its_numbers_are_on_one_side(turned):
    pair = {"difference": 0.2, "low": 0.1, "high": 0.3, "probability": 0.9999}
    values = {"a": 0.7, "b": 0.5}
    if turned == "value":
        values = {"a": 0.5, "b": 0.7}
    elif turned:
        pair[turned] = {"difference": -0.2, "probability": 0.0001}[turned]
    rows = {(name, rs.AUC): {"value": x} for name, x in values.items()}
    _decide(rs.AUC, {("a", "b"): pair}, "", rows)
    assert pair["ahead"] == ("undecided" if turned else "a")


@pytest.mark.parametrize("scale", [16, 25, 60])
@pytest.mark.parametrize("assumption", ["none", "decreasing"])
def test_the_probability_of_an_order_is_the_level_at_which_a_limit_is_0(scale, assumption):
    g, runs, metric = np.random.default_rng(scale), [], rs.Recall @ 10
    for one in (20, scale):
        exact = rs.Ranks(1 + np.minimum(g.exponential(one, 80).astype(int), 99), 100)
        sampled = rs.UniformSampling(40).draw(exact, g)
        runs.append(SampledRun(sampled, 100, False, [metric], 2))
    (found,) = compared(metric, [(runs[0], runs[1])], assumption, 0.95)
    below = found.probability < 0.5
    one_sided = 1 - found.probability if below else found.probability
    if one_sided > 0.5:
        (at_its_level,) = compared(metric, [(runs[0], runs[1])], assumption, 2 * one_sided - 1)
        end = at_its_level.high if below else at_its_level.low
        assert end == pytest.approx(0, abs=1e-4)
    # A limit is a quantile of a mean with random weights, with one more value at the end.
    p_values = {}
    for sign in (-1, 1):
        (a, most_a), (b, most_b) = (
            run.bounds(metric, assumption, s) for run, s in zip(runs, (sign, -sign))
        )
        each = np.append(runs[0].of_each(a) + runs[1].of_each(b), most_a + most_b)
        weighted = g.dirichlet(np.ones(81), 20_000) @ each
        p_values[sign] = min(0.5, (weighted > 0).mean())
    simulated = 1 - p_values[-1] if p_values[-1] < 0.5 else p_values[1]
    error = np.sqrt(simulated * (1 - simulated) / 20_000) + 1e-4
    assert found.probability == pytest.approx(simulated, abs=4 * error + 0.01 * (1 - one_sided))
