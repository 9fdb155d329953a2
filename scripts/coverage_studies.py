"""How often pairs, designs and plans are right, for record_coverage.py."""

from bisect import bisect_left

import numpy as np
import pandas as pd
from coverage_of_limits import (
    Interval,
    corrections_for,
    coverage,
    holds,
    instances_of,
    intervals_of_limits,
    mean_over_all,
)
from scipy import stats

from recsample import (
    AP,
    BiasVariance,
    EarlyStopping,
    InverseSampling,
    Ranks,
    UniformSampling,
    inference,
)
from recsample._support.frames import table_of
from recsample._support.numerics import LEVEL, limits_of_mean
from recsample.inference.comparison import compared
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.planning import users_to_rank
from recsample.metrics.base import ends_of
from recsample.metrics.names import chosen_metrics
from recsample.metrics.shapes import Linear
from recsample.ranks.checks import mean_pool_size

METRICS = ["Recall@10", "AP", "AUC"]


def normal_limits(mean, error):
    """1.96 standard errors on both sides of a mean."""
    reach = stats.norm.isf((1 - LEVEL) / 2) * error
    return mean - reach, mean + reach


def coverage_of_others(population, *, m=100, n_instances=6000, metrics, repetitions=400, rng=0):
    """`coverage`, and the same of methods that the package does not recommend.

    They are corrected means with 1.96 standard errors: of `BiasVariance` with gamma = 0.1
    ("BV 0.1") or 0.01, or with a plausible prior and `best_gamma` ("BV, rule").
    """
    chosen, sampler, n = chosen_metrics(metrics), UniformSampling(m), len(population.chances)
    corrections = {one: corrections_for(one, sampler, n, n_instances) for one in chosen}

    def intervals(sampled, sizes, metrics):
        yield from intervals_of_limits(sampled, sizes, metrics)
        for metric in metrics:
            for name, correction in corrections[metric].items():
                values = correction(sampled)
                limits = normal_limits(values.mean(), stats.sem(values))
                yield Interval(metric, name, values.mean(), *limits)

    how = dict(m=m, n_instances=n_instances, repetitions=repetitions, rng=rng)
    return coverage(population, metrics=chosen, intervals=intervals, **how)


def coverage_of_pairs(a, b, *, m=100, n_instances=6000, metrics=METRICS, repetitions=400, rng=0):
    """How often what is said of the difference of two recommenders is true.

    Each repetition draws instances with replacement, the same for both, and samples for each
    recommender by itself. Returned is a frame indexed by method and metric. The methods: "report",
    the pairs of a report; "design", `paired_comparison` of what `InverseSampling` observes, or
    `EarlyStopping` for a metric with a cut-off; and, not recommended, the paired interval of a
    corrected metric, with 1.96 standard errors, for gamma = 0.1 and 0.01. Columns: "held", the
    share of intervals with the exact difference in them; "width", the median; "decided", the share
    of runs in which 0 is not in the interval; "right", in which its sign is right, of those
    decided.
    """
    rng, chosen, sampler = np.random.default_rng(rng), chosen_metrics(metrics), UniformSampling(m)
    n = mean_pool_size({"a": a, "b": b})
    biased = {
        (one, gamma): BiasVariance(one, sampler, n, gamma=gamma)
        for one in chosen
        if not isinstance(one.shape, Linear)
        for gamma in (0.1, 0.01)
    }
    found = {}
    for _ in range(repetitions):
        drawn = rng.integers(0, len(a), n_instances)
        exact = {one: (one(a[drawn]) - one(b[drawn])).mean() for one in chosen}
        runs = [sampler.draw(ranks[drawn], rng) for ranks in (a, b)]
        of_a, of_b = (
            SampledRun(run, r.sizes[drawn], False, chosen) for run, r in zip(runs, (a, b))
        )
        said = []
        for one in chosen:
            pair = compared(one, of_a, of_b, supported(one, of_a, of_b) or "none", LEVEL)
            said.append((one, "report", pair.low, pair.high))
            if not isinstance(one.shape, Linear):
                design = _design_for(one)
                observed = [design.draw(ranks[drawn], rng) for ranks in (a, b)]
                unbiased = inference.paired_comparison(one, *observed, level=LEVEL)
                said.append((one, "design", unbiased.low, unbiased.high))
        for (one, gamma), correction in biased.items():
            off = correction(runs[0]) - correction(runs[1])
            limits = normal_limits(off.mean(), stats.sem(off))
            said.append((one, f"BV {gamma:g}, paired", *limits))
        for one, method, low, high in said:
            sign = np.sign(low) if low * high > 0 else 0.0
            row = holds(low, high, exact[one]), high - low, sign, sign * exact[one] > 0
            found.setdefault((method, str(one)), []).append(row)
    rows = {}
    for key, values in found.items():
        held, width, sign, right = np.array(values, float).T
        decided = sign != 0
        rows[key] = {
            "held": held.mean(),
            "width": np.median(width),
            "decided": decided.mean(),
            "right": right[decided].mean() if decided.any() else np.nan,
        }
    return table_of(rows, ["method", "metric"])


def coverage_of_designs(population, *, n_instances=1000, repetitions=400, rng=0):
    """How often the interval of a design without bias, from one run of it, holds the exact AP.

    One row per method: the mean of `InverseSampling` with 1.96 standard errors, from
    `InverseSampling.estimated_variance` ("one run"), or by Student's t from the spread of the
    estimates ("Student"). Columns "held", for the mean over the instances; "held for all", over the
    population; "width".
    """
    rng, design = np.random.default_rng(rng), InverseSampling()
    over_all = mean_over_all(population, AP)
    found = {"one run": [], "Student": []}
    for _ in range(repetitions):
        ranks = instances_of(population, n_instances, rng)
        exact, observed = float(AP(ranks).mean()), design.draw(ranks, rng)
        values = design.of(AP, observed)
        variance = max(0.0, design.estimated_variance(AP, observed).sum())
        one_run = normal_limits(values.mean(), np.sqrt(variance) / n_instances)
        for rows, limits in zip(found.values(), (one_run, limits_of_mean(values, LEVEL))):
            rows.append((holds(*limits, exact), holds(*limits, over_all), limits[1] - limits[0]))
    rows = {}
    for method, values in found.items():
        held, for_all, width = np.transpose(values)
        rows[method] = {
            "held": held.mean(),
            "held for all": for_all.mean(),
            "width": np.median(width),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def coverage_of_plans(
    population,
    *,
    m=100,
    n_instances=2000,
    metrics=("Recall@10", "NDCG@10", "AP"),
    share=0.7,
    repetitions=20,
    rng=0,
):
    """Whether `Result.plan` is enough: other users like these, as many as it says, are ranked.

    The width asked for is a share of that of the limits that a report of the run has. Returned is a
    frame indexed by metric. Columns: "width", the mean of the width that is reached, over the width
    asked for; "reached", the share in which it is at most that; "held", in which the limits hold
    the mean over the population; "cost", the median number of users over the smallest that would
    do.
    """
    rng, chosen = np.random.default_rng(rng), chosen_metrics(metrics)
    over_all = {one: mean_over_all(population, one) for one in chosen}
    found = {}
    for _ in range(repetitions):
        ranks = instances_of(population, n_instances, rng)
        sampled = UniformSampling(m).draw(ranks, rng)
        for one in chosen:
            evidence = SampledRun(sampled, ranks.sizes, False, [one])
            low, high = limits_of(one, evidence)
            width = share * (high - low)
            users = users_to_rank(one, width, evidence).others
            again = instances_of(population, users, rng)
            low, high = _limits_of_values(one, again, one(again))
            ratio = (high - low) / width
            cost = users / _smallest(population, one, width)
            row = ratio, ratio <= 1, holds(low, high, over_all[one]), cost
            found.setdefault(str(one), []).append(row)
    rows = {}
    for name, values in found.items():
        ratio, reached, held, cost = np.array(values, float).T
        rows[name] = {
            "width": ratio.mean(),
            "reached": reached.mean(),
            "held": held.mean(),
            "cost": np.median(cost),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")


def _smallest(population, metric, width):
    """The users whose limits are so close, if their ranks are spread as those of the population."""
    n, cumulated = len(population.chances), np.cumsum(population.chances)

    def is_enough(users):
        places = np.searchsorted(cumulated, cumulated[-1] * (np.arange(users) + 0.5) / users)
        ranks = Ranks(1 + places, n)
        low, high = _limits_of_values(metric, ranks, metric(ranks))
        return high - low <= width

    most = 2
    while not is_enough(most):
        most *= 2
    between = range(most // 2 + 1, most)
    return most // 2 + 1 + bisect_left(between, True, key=is_enough)


def _limits_of_values(metric, ranks, values):
    return limits_of_mean(values, LEVEL, ends=ends_of(metric, ranks))


def limits_of(metric, evidence):
    """The limits that a report has, and without an assumption where it has none."""
    return evidence.limits(metric, supported(metric, evidence) or "none", LEVEL)


def _design_for(metric):
    """The design that draws until enough is known of a metric."""
    return InverseSampling() if metric.cutoff is None else EarlyStopping(metric.cutoff)
