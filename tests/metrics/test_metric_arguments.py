"""Wherever a metric is asked for, its name will do: every public function and method is tried."""

import inspect
import re
from functools import partial

import numpy as np
import pandas as pd
import public
import pytest

import recsample as rs
from recsample import AP, Ranks, Recall

N_ITEMS, M = 40, 5
UNIFORM, EXACT = rs.UniformSampling(M), Ranks([3, 9, 1, 20], N_ITEMS)
OTHER = Ranks([8, 30, 4, 25], N_ITEMS)
RUN = UNIFORM.draw(Ranks([3, 9, 1, 20, 7, 7], N_ITEMS), 0)
PAIR = EXACT, OTHER
TOY = {"a": EXACT, "b": OTHER}
FLAT = np.full(N_ITEMS, 1 / N_ITEMS)
inference, paper = rs.inference, rs.experiments


def ways_of(way, ranks=EXACT):
    """A call of every method of a sampler or design that takes a metric."""
    calls = {name: getattr(way, name) for name in ("expect", "variance", "std_of_mean")}
    found = {name: lambda metric, call=call: call(metric, ranks) for name, call in calls.items()}
    if isinstance(way, rs.Sampler):
        return found | {"moments": lambda metric: way.moments(metric, ranks)}
    return found | {
        "of": lambda metric: way.of(metric, way.draw(ranks, 0)),
        "estimate": lambda metric: way.estimate(metric, ranks, 0),
    }


WAYS = {
    "UniformSampling": ways_of(UNIFORM)
    | {"effective_cutoffs": lambda metric: UNIFORM.effective_cutoffs(metric, N_ITEMS)},
    "PooledSampling": ways_of(rs.PooledSampling(M)),
    "InverseSampling": ways_of(rs.InverseSampling())
    | {
        "estimated_variance": lambda metric: rs.InverseSampling().estimated_variance(
            metric, rs.InverseSampling().draw(EXACT, 0)
        )
    },
    "EarlyStopping": ways_of(rs.EarlyStopping(10)),
}
CORRECTIONS = {
    "BiasVariance": partial(rs.BiasVariance, gamma=0.1),
    "ConstrainedLeastSquares": rs.ConstrainedLeastSquares,
    "MinimalBias": rs.MinimalBias,
    "RankEstimate": rs.RankEstimate,
}
CALLS = {
    **{f"{way}.{name}": call for way, calls in WAYS.items() for name, call in calls.items()},
    **{
        f"{name}.__init__": lambda metric, make=make: make(metric, UNIFORM, N_ITEMS)
        for name, make in CORRECTIONS.items()
    },
    "ConstrainedLeastSquares, free": lambda metric: rs.ConstrainedLeastSquares(
        metric, UNIFORM, N_ITEMS, nonnegative=False
    ),
    "at_mean_rank": lambda metric: rs.metrics.at_mean_rank(metric, EXACT),
    "compare": lambda metric: rs.compare(TOY, [metric]),
    "limits": lambda metric: inference.limits(metric, RUN, N_ITEMS),
    "plug_in": lambda metric: inference.plug_in(metric, FLAT),
    "paired_comparison": lambda metric: inference.paired_comparison(metric, *PAIR),
    "order_probability": lambda metric: inference.order_probability(metric, *PAIR, UNIFORM),
    "estimators": lambda metric: paper.estimators(metric, M, N_ITEMS),
    "figure4": lambda metric: paper.figure4(metric, n_items=N_ITEMS, m=M),
    "figure6": lambda metric: paper.figure6([M], TOY, metric=metric),
    "order_changes": lambda metric: paper.order_changes(metric, TOY),
    "bias_and_variance": lambda metric: paper.bias_and_variance(
        {"it": metric}, metric, UNIFORM, N_ITEMS
    ),
    "report": lambda metric: rs.report(RUN, m=M, n_items=N_ITEMS, metrics=[metric]).table,
    "plan_audit": lambda metric: rs.inference.plan_audit(metric, 0.5, RUN, N_ITEMS, 0),
    "Result.plan": lambda metric: rs.report(RUN, m=M, n_items=N_ITEMS, metrics=["recall@5"]).plan(
        metric, 0.5
    ),
    "from_published": lambda metric: (
        rs.from_published(
            {"HR@1": "0.2"}, m=M, n_items=N_ITEMS, n_users=99, drawn="uniform", metrics=[metric]
        ).table
    ),
    "evaluate": lambda metric: (
        rs.evaluate({"a": np.eye(4), "b": -np.eye(4)}, [0, 1, 2, 2], metrics=[metric]).table
    ),
}
# Abstract ones, which every sampler and design above stands for; what reads a correction alone, the
# name of which nobody can ask for.
ELSEWHERE = {
    *("expect", "variance", "Sampler.expect", "Sampler.variance", "Sampler.moments"),
    *(f"Design.{name}" for name in ("of", "estimate")),
    *("Correction.__init__", "LeastSquaresCorrection.__init__"),
    *("std_of_mean", "SumsOverLaw.moments"),
}


def functions_of_metrics():
    """Every public callable that takes a metric or several, and how that is annotated."""
    for name, function in {**public.names(), **public.members(special=True)}.items():
        if not inspect.isfunction(function):
            continue
        where = re.sub(r"^.*?\.(?=[A-Z]|\w+$)", "", name)
        for parameter in inspect.signature(function).parameters.values():
            if re.search(r"\bMetric\b", str(parameter.annotation)):
                yield where, str(parameter.annotation)


def test_every_function_is_tried():
    assert {name for name, _ in functions_of_metrics()} <= {*CALLS, *ELSEWHERE}
    assert not [(name, kind) for name, kind in functions_of_metrics() if "Metric | str" not in kind]


def same(one, other):
    if isinstance(one, pd.DataFrame):
        return one.equals(other) and one.index.equals(other.index)
    if isinstance(one, dict):
        return [*one] == [*other] and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (float, np.ndarray)):
        return np.array_equal(one, other, equal_nan=True)
    return one == other and str(one) == str(other)


@pytest.mark.parametrize("name", CALLS)
def test_a_name_will_do(name):
    call = CALLS[name]
    metric = AP if name.startswith("InverseSampling") else Recall @ 5
    assert same(call(metric), call(str(metric).lower()))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", ["recal@5", 10])
def test_what_is_no_metric_is_refused(name, wrong):
    with pytest.raises(ValueError, match="(metrics?|function|name) must"):
        CALLS[name](wrong)
