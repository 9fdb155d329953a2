"""What printed numbers allow, against programmes over every single rank, solved otherwise."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog, minimize

import recsample as rs
from recsample.inference.published import (
    Explanation,
    Printed,
    PrintedStudy,
    Programme,
    _share_limits,
    laws_of,
)

N, M, USERS = 12, 4, 1_000
STUDY = PrintedStudy(M, (N, N), USERS, False)


def as_printed(names, values):
    return [Printed(rs.metric(a), v, 0.0005, a) for a, v in zip(names, values)]


def every_law():
    """P(s of M draws above) for each rank, by SciPy's hypergeometric law: shape (M + 1, N)."""
    above = np.arange(N)
    return stats.hypergeom(N - 1, above, M).pmf(np.arange(M + 1)[:, None])


@pytest.mark.parametrize("error", [0.05, 1e-3, 1e-12, 1e-50])
@pytest.mark.parametrize("n", [1, 7, 6_040, 10**9])
def test_limits_of_a_share_are_quantiles_of_beta_laws_by_scipy(n, error):
    """Clopper and Pearson's, at the ends and in the tails too."""
    for hits in {0, 1, n // 3, n - 1, n}:
        lower = stats.beta.ppf(error / 2, hits, n - hits + 1) if hits else 0.0
        upper = stats.beta.isf(error / 2, hits + 1, n - hits) if hits < n else 1.0
        found = _share_limits(hits / n, hits / n, n, error)
        assert found == pytest.approx((lower, upper), rel=1e-9)


def a_mean(name, weights, n):
    return float(np.asarray(rs.metric(name).of_rank(np.arange(1, n + 1), n), float) @ weights)


@pytest.mark.parametrize("assumption", ["none", "decreasing"])
def test_hit_rates_give_the_programme_over_every_rank(assumption):
    law = every_law()
    if assumption == "decreasing":  # N is so small that the best fifth are three places
        flat = np.tril(np.ones((3, N)))[:3] / np.arange(1, 4)[:, None]
        shapes = np.vstack([flat, np.eye(N)[3:]])
    else:
        shapes = np.eye(N)
    weights = np.r_[0.3, 0.25, 0.15, np.full(9, 0.3 / 9)]
    names = ["HR@1", "HR@2"]
    values = [round(a_mean(a, law @ weights, M + 1), 3) for a in names]
    rows, limits = [], []
    for name, value in zip(names, values):
        mean = shapes @ law.T @ np.asarray(rs.metric(name).of_rank(np.arange(1, M + 2), M + 1))
        hits = round(value * USERS)
        assert hits / USERS == pytest.approx(value, abs=5e-4)
        ends = stats.binomtest(hits, USERS).proportion_ci(1 - 0.01, "exact")
        rows += [mean, -mean]
        limits += [ends.high, -ends.low]
    goal = shapes @ (np.arange(N) < 3)
    laws = laws_of(STUDY, assumption, [rs.Recall @ 3])
    found = Programme(as_printed(names, values), laws, STUDY, 0.01)
    for sign in (1, -1):
        best = linprog(sign * goal, rows, limits, np.ones((1, len(goal))), [1], method="highs")
        assert found.least(sign * laws.exact[rs.Recall @ 3]) == pytest.approx(best.fun, abs=1e-7)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_a_mean_without_its_variance_allows_is_a_convex_programme(sign):
    law, names, error = every_law(), ["NDCG@5", "MRR"], 0.01
    weights = np.arange(N, 0, -1) ** 2 / np.sum(np.arange(N, 0, -1) ** 2)
    values = [round(a_mean(a, law @ weights, M + 1), 3) for a in names]
    goal = (np.arange(N) < 3).astype(float)
    quantile = stats.norm.ppf(1 - error / 2) / USERS**0.5
    held = []
    for name, value in zip(names, values):
        term = np.asarray(rs.metric(name).of_rank(np.arange(1, M + 2), M + 1))

        def room(w, side, value=value, mean=term @ law, square=(term - value) ** 2 @ law):
            return 0.0005 + quantile * np.sqrt(square @ w) - side * (mean @ w - value)

        held += [{"type": "ineq", "fun": room, "args": (side,)} for side in (1, -1)]
    held.append({"type": "eq", "fun": lambda w: w.sum() - 1})
    best = minimize(
        lambda w: sign * goal @ w,
        weights,
        jac=lambda w: sign * goal,
        bounds=[(0, 1)] * N,
        constraints=held,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert best.success
    laws = laws_of(STUDY, "none", [rs.Recall @ 3])
    found = Programme(as_printed(names, values), laws, STUDY, error)
    least = found.least(sign * laws.exact[rs.Recall @ 3])
    assert least <= best.fun + 1e-8  # never too narrow
    assert least == pytest.approx(best.fun, abs=2e-3)


def test_hit_rates_and_gains_of_the_same_users_are_refused_beyond_rounding():
    """A user's gain is 1 / log2(rank + 1): from 1 / log2(11) to 1 for each hit among ten."""
    study = Explanation(PrintedStudy(50, (99, 99), USERS, False), {}, [], 0.01)
    half, lowest = 0.0005, 1 / np.log2(11)
    said = []
    for hits, gain in np.random.default_rng(0).random((200, 2)).round(3):
        found = study.of_same_users(as_printed(["HR@10", "NDCG@10"], [hits, gain]))
        least, most = (hits - half) * lowest, hits + half
        if min(abs(gain + half - least), abs(gain - half - most)) > 1e-6:  # the solver's accuracy
            assert found == (gain + half >= least and gain - half <= most)
            said.append(found)
    assert 50 < sum(said) < 150


def test_means_over_users_and_over_runs_are_never_refused():
    rng, names = np.random.default_rng(0), ["HR@1", "HR@5", "HR@20", "NDCG@10", "MRR", "AUC", "P@5"]
    study = Explanation(PrintedStudy(30, (99, 99), USERS, False), {}, [], 0.01)
    for _ in range(30):
        runs = [rng.geometric(rng.random(), 40).clip(1, 31) for _ in range(3)]
        each = [[np.mean(rs.metric(a).of_rank(run, 31)) for a in names] for run in runs]
        means = np.mean(each, 0)
        assert study.of_same_users(as_printed(names, means.round(3)))
        exact = [Printed(rs.metric(a), x, 5e-17, a) for a, x in zip(names, means)]
        assert study.of_same_users(exact)


def test_numbers_that_clash_are_found_among_others():
    printed = as_printed(["HR@3", "HR@1", "HR@4", "HR@2"], [0.52, 0.5, 0.55, 0.25])
    explanation = Explanation(STUDY, {"": printed}, [rs.RR], 0.01)
    assert {one.name for one in explanation.clash("")} == {"HR@1", "HR@2"}
    assert Explanation(STUDY, {"": printed[:3]}, [rs.RR], 0.01).clash("") == []


@pytest.mark.thorough
def test_limits_hold_for_recorded_and_made_up_recommenders():
    rng, missed, n, m, users = np.random.default_rng(0), 0, 1_000, 50, 400
    names, asked = ["HR@1", "HR@5", "HR@10", "NDCG@10", "MRR"], [rs.Recall @ 10, rs.NDCG @ 10]
    populations = [1 / np.arange(1, n + 1), 1 / np.arange(1, n + 1) ** 2, np.arange(n) < 5]
    study = PrintedStudy(m, (n, n), users, False)
    for weights in populations:
        weights = weights / weights.sum()
        truth = [a_mean(str(one), weights, n) for one in asked]
        for _ in range(20):
            ranks = rng.choice(n, users, p=weights) + 1
            sampled = rng.hypergeometric(ranks - 1, n - ranks, m) + 1
            values = [np.mean(rs.metric(a).of_rank(sampled, m + 1)).round(3) for a in names]
            found = Explanation(study, {"": as_printed(names, values)}, asked, 0.05 / len(names))
            for assumption in ("none", "decreasing"):
                ends = [found.limits("", one, assumption) for one in asked]
                missed += any(not a <= t <= b for t, (a, b) in zip(truth, ends))
    assert missed <= 6  # of 120, each with a chance of 5 % at most
