"""How often pairs, designs, pilots and plans are right, for record_coverage.py."""

from bisect import bisect_left

import numpy as np
import pandas as pd
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
from recsample._support.numerics import LEVEL, limits_of_mean, standard_error
from recsample.inference.comparison import compared
from recsample.inference.coverage import (
    Said,
    corrections_for,
    holds,
    instances_of,
    judged,
    mean_over_all,
    said_of_limits,
)
from recsample.inference.likelihood.evidence import Evidence, supported
from recsample.inference.ways import ways_to
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

    They are "certified", `certified_interval`; "spline", `log_spline` with 1.96 standard errors;
    and so a corrected mean, `BiasVariance` with gamma = 0.1 ("BV 0.1") or 0.01, or with a plausible
    prior and `best_gamma` ("BV, rule").
    """
    chosen, sampler, n = chosen_metrics(metrics), UniformSampling(m), len(population.chances)
    corrections = {one: corrections_for(one, sampler, n, n_instances) for one in chosen}

    def said(sampled, sizes, metrics):
        yield from said_of_limits(sampled, sizes, metrics)
        spline = inference.log_spline(sampled, sampler, n)
        for metric in metrics:
            means = {"spline": spline.mean(metric)}
            for name, correction in corrections[metric].items():
                values = correction(sampled)
                means[name] = values.mean(), standard_error(values)
            for name, (mean, error) in means.items():
                yield Said(metric, name, mean, *normal_limits(mean, error))
            low, high = inference.certified_interval(metric, sampled, sampler, n, level=LEVEL)
            yield Said(metric, "certified", (low + high) / 2, low, high)

    return judged(population, m, n_instances, chosen, repetitions, rng, said)


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
        of_a, of_b = (Evidence(run, r.sizes[drawn], False, chosen) for run, r in zip(runs, (a, b)))
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
            limits = normal_limits(off.mean(), standard_error(off))
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


def coverage_of_pilots(a, b, *, m=100, n_instances=1000, metrics=METRICS, repetitions=100, rng=0):
    """How often `required_samples_from_pilot` is right.

    Each repetition draws instances with replacement, the same for both recommenders, and samples
    for each by itself. Returned is a frame indexed by metric, over the runs in which the exact
    means differ: else there is no order to plan for. Columns: "needed", the median over the runs of
    `required_samples`, which knows the exact ranks; "planned", the median of the upper end of what
    the pilot says; "cost", the median of the one over the other; "held", the share of runs in which
    the interval of the pilot, of 90 %, holds what is needed; "enough", in which as many samples as
    planned have the order with the probability asked for, 0.95.
    """
    rng, chosen, sampler = np.random.default_rng(rng), chosen_metrics(metrics), UniformSampling(m)
    n = mean_pool_size({"a": a, "b": b})
    found = {str(one): [] for one in chosen}
    for _ in range(repetitions):
        drawn = rng.integers(0, len(a), n_instances)
        ranks = a[drawn], b[drawn]
        pilots = [sampler.draw(one, rng) for one in ranks]
        most = int(min(one.n_irrelevant.min() for one in ranks))
        for one in chosen:
            if one(ranks[0]).mean() == one(ranks[1]).mean():
                continue
            said = inference.required_samples_from_pilot(
                one, *pilots, sampler, n, rng, repetitions=50
            )
            needed = _required(one, *ranks, most)
            planned = min(said.high, most)
            reached = inference.order_probability(one, *ranks, UniformSampling(planned))
            held = said.low <= needed <= said.high
            found[str(one)].append((needed, planned, held, reached >= LEVEL))
    rows = {}
    for name, values in found.items():
        if not values:
            raise ValueError(f"a and b must differ in their mean {name}, got the same in every run")
        needed, planned, held, enough = np.array(values, float).T
        rows[name] = {
            "needed": np.median(needed),
            "planned": np.median(planned),
            "cost": np.median(planned / needed),
            "held": held.mean(),
            "enough": enough.mean(),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _required(metric, a, b, most):
    """The number of samples that exact ranks ask for; all if none is enough."""
    try:
        return inference.required_samples(metric, a, b, probability=LEVEL)
    except ValueError:
        return most


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
    """Whether `Result.plan` leads where it says: some ways are gone, and the limits are measured.

    The width asked for is a share of that of the limits that a report of the run has. Returned is a
    frame indexed by way and metric. Columns: "offered", the share of runs whose plan has this way;
    "width", the mean over them of the width that is reached, over the width asked for; "reached",
    the share in which it is at most that; "held", in which the limits hold the mean over the
    population; and of users who are ranked among all items "cost", the median of their number over
    the smallest that would do.
    """
    rng, chosen = np.random.default_rng(rng), chosen_metrics(metrics)
    over_all = {one: mean_over_all(population, one) for one in chosen}
    found = {}
    for _ in range(repetitions):
        ranks = instances_of(population, n_instances, rng)
        sampled = UniformSampling(m).draw(ranks, rng)
        for one in chosen:
            evidence = Evidence(sampled, ranks.sizes, False, [one])
            low, high = limits_of(one, evidence)
            width = share * (high - low)
            plan = ways_to(one, width, evidence)
            smallest = _smallest(population, one, width)
            for way, row in plan.drop("ten times the users").iterrows():
                again = instances_of(population, int(row["users"]), rng)
                low, high = _gone(way, row["setting"], one, again, rng)
                ratio = (high - low) / width
                held = holds(low, high, over_all[one])
                cost = row["users"] / smallest if way == "rank all items" else np.nan
                found.setdefault((way, str(one)), []).append((ratio, ratio <= 1, held, cost))
    rows = {}
    for key, values in found.items():
        ratio, reached, held, cost = np.array(values, float).T
        rows[key] = {
            "offered": len(ratio) / repetitions,
            "width": ratio.mean(),
            "reached": reached.mean(),
            "held": held.mean(),
            "cost": np.median(cost),
        }
    return table_of(rows, ["way", "metric"])


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


def _gone(way, setting, metric, ranks, rng):
    """The limits from a study as a plan has it."""
    if way == "rank all items":
        return _limits_of_values(metric, ranks, metric(ranks))
    if way == "more samples":
        sampled = UniformSampling(int(setting.removeprefix("m = "))).draw(ranks, rng)
        return limits_of(metric, Evidence(sampled, ranks.sizes, False, [metric]))
    design = _design_for(metric)
    return _limits_of_values(metric, ranks, design.of(metric, design.draw(ranks, rng)))


def _design_for(metric):
    """The design that draws until enough is known of a metric."""
    return InverseSampling() if metric.cutoff is None else EarlyStopping(metric.cutoff)
