"""How many users it takes for limits of a width: `Result.plan`."""

from itertools import combinations

import numpy as np
import pytest

import recsample as rs

N_USERS, METRICS = 120, ["AUC", "Recall@5"]
rng = np.random.default_rng(0)
SCORES = {name: rng.normal(size=(N_USERS, 30)) + shift * np.eye(1, 30) for name, shift in
          (("a", 1.5), ("b", 1.0), ("c", 0.5))}  # fmt: skip
FIRST = np.zeros(N_USERS, int)
EXACT = rs.predicted_ranks(SCORES["a"], FIRST)
CHANCES = np.where(np.arange(N_USERS) % 2, 0.6, 0.4)
RUN = rs.UniformSampling(9).draw(EXACT, 1)


def tiled(names, times):
    scores = {name: np.tile(SCORES[name], (times, 1)) for name in names}
    return rs.evaluate(scores, np.tile(FIRST, times), drawn="all", metrics=METRICS)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("names", ["a", "ac", "abc"])
def test_exact_values_plan_for_as_many_users_as_have_such_limits(metric, times, names):
    """Users like these, several times over, have the limits that are planned for."""
    many = tiled(names, times)
    limits = many.pairs if len(names) > 1 else many.table.droplevel("recommender")
    apart = limits["high"] - limits["low"]
    width = apart.xs(metric, level="metric").iloc[-1] if len(names) > 1 else apart[metric]
    plan = tiled(names, 1).plan(metric, width * (1 + 1e-9))
    assert plan["users"].iloc[-1] == pytest.approx(times * N_USERS, abs=1)
    assert (plan["you have"] == N_USERS).all()
    assert [*plan.index] == ([*combinations(names, 2)] or ["the mean"])


def test_sampled_ranks_plan_an_audit_and_its_first_exact_ranks_go_on_with_it():
    goal = (rs.Recall @ 5, 0.25, RUN, 30)
    found = rs.report(RUN, metrics=METRICS)
    plan, wanted = found.plan("Recall@5", 0.25, rng=4), rs.inference.plan_audit(*goal, rng=4)
    assert plan.users.tolist() == wanted.users.tolist() and plan.first == wanted.first
    first = plan.users[: plan.first]
    audited = rs.report(RUN, exact=(first, EXACT[first]), metrics=METRICS)
    wanted = rs.inference.plan_audit(*goal, rng=4, exact=(first, EXACT[first]))
    assert set(audited.plan("Recall@5", 0.25, rng=4).users) == set(wanted.users)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: rs.report({"a": RUN, "b": RUN}, metrics=METRICS), "a plan is made from the samp"),
        (lambda: rs.report(RUN, groups=np.arange(120) // 2, metrics=METRICS), "a plan is made"),
        (
            lambda: rs.evaluate(
                SCORES["a"], FIRST, drawn="all", groups=np.arange(120) // 2, metrics=METRICS
            ),
            "a plan is made",
        ),
        (
            lambda: rs.evaluate(
                {"a": {0: SCORES["a"], 1: SCORES["b"]}},
                FIRST,
                drawn="all",
                run="seed",
                metrics=METRICS,
            ),
            "a plan is made",
        ),
        (
            lambda: rs.report(
                RUN,
                exact=(range(60), EXACT[:60]),
                chosen=0.4 + np.arange(120) % 2 / 5,
                metrics=METRICS,
            ),
            "a plan goes on from users chosen at random",
        ),
        (
            lambda: rs.report(RUN, metrics=["AUC"]),
            r"metric must be one of \['AUC'\], got 'Recall@5'",
        ),
    ],
)
def test_what_there_is_no_plan_of(made, said):
    with pytest.raises(ValueError, match=said):
        made().plan("Recall@5", 0.1)


def test_bounds_are_no_values():
    listed = np.where(np.arange(30) < 20, SCORES["a"], -np.inf)
    found = rs.evaluate(listed, FIRST + 25, drawn="all", unlisted="open", metrics=METRICS)
    with pytest.raises(ValueError, match="metric must be one of which users have values, got AUC"):
        found.plan("AUC", 0.1)
