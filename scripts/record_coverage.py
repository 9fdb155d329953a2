"""How often what the package says of sampled ranks is true: coverage.csv.

Takes hours. Coverage and pairs yield for each run, metric and method whether the interval holds the
exact mean over the users drawn ("held") and the mean over the population ("held for all"), and the
width and the error of the estimate.
"""

from bisect import bisect_left
from functools import partial

import numpy as np
import pandas as pd
from record_populations import COVERAGE, RECORDED, chances, drawn, holds, kind_of, mean_over_all
from record_studies import KEPT, Study, grid, over_runs
from scipy import stats

import recsample as rs
from recsample._support.numerics import LEVEL, limits_of_mean
from recsample.inference import best_gamma, paired_comparison, plausible_prior
from recsample.inference.comparison import compared
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.inference.planning import users_to_rank
from recsample.metrics.base import ends_of
from recsample.metrics.names import chosen_metrics
from recsample.metrics.shapes import Linear
from recsample.ranks.checks import mean_pool_size


def population_of(name, n_items):
    """The chances of ranks by name, or the ranks from which users are drawn."""
    if n_items:
        return chances(name, n_items)
    sizes = np.repeat([100, 1900], 3000)
    if name == "related pools":  # uniform on the ranks 1 to 20, and 1 to 200
        return rs.Ranks(1 + np.arange(6000) % np.where(sizes == 100, 20, 200), sizes)
    if name == "unrelated pools":
        share = (np.arange(6000) % 3000 + 0.5) / 3000
        return rs.Ranks((1 + (sizes - 1) * share**3).astype(int), sizes)
    recorded = rs.datasets.recorded_ranks()
    if name[0] in RECORDED:
        return (rs.datasets.recorded_several() if "ten" in name else recorded)[name[0]]
    # Made-up ranks for the users of MovieLens: as many on each rank as the population says.
    sizes = recorded["X"].n_items
    shares = (np.random.default_rng(0).permutation(len(sizes)) + 0.5) / len(sizes)
    ranks = 1 + np.searchsorted(chances(name, 3541).cumsum(), shares)
    return rs.Ranks(np.minimum(ranks, sizes), sizes)


# Pools and numbers of relevant items of users who are not alike.
UNLIKE = {
    "pools 60 or 3,000": lambda n, rng: (rng.choice([60, 3000], n), np.ones(n, int)),
    "pools 100 or 3,000": lambda n, rng: (rng.choice([100, 3000], n), np.ones(n, int)),
    "18 % in pools of 60": lambda n, rng: (
        rng.choice([60, 3000], n, p=[0.18, 0.82]),
        np.ones(n, int),
    ),
    "1 or 5 relevant items": lambda n, rng: (np.full(n, 500), rng.choice([1, 5], n)),
    "pools 40 to 10^6": lambda n, rng: (
        np.exp(rng.uniform(*np.log([40, 10**6]), n)).astype(int),
        np.ones(n, int),
    ),
}


def unlike(rng, population, metrics, m, n_instances, repetitions):
    """The limits that a report prints, and those without assumption, for users who are not alike.

    Items are ranked independently, in proportion to a power of the place that is decreasing.
    """
    for _ in range(repetitions):
        pools, n_relevant = UNLIKE[population](n_instances, rng)
        ranks = rs.Ranks(
            [
                np.sort(((pool + 1) * rng.random(n) ** 3).astype(int)) + np.arange(1, n + 1)
                for pool, n in zip(pools, n_relevant)
            ],
            pools + n_relevant,
        )
        evidence = SampledRun(rs.UniformSampling(m).draw(ranks, rng), ranks.sizes, False, metrics)
        for metric in metrics:
            exact = float(metric(ranks).mean())
            ends = {"none": evidence.limits(metric, "none", LEVEL)}
            *ends["report"], used = limits_of(metric, evidence)
            for method, (low, high) in ends.items():
                more = {
                    "error": evidence.estimate(metric) - exact,
                    "ratio": evidence.estimate(metric) / exact,
                }
                more["contradicted"] = used != "decreasing" if method == "report" else np.nan
                yield outcome(method, metric, low, high, exact, **more)


def normal_limits(mean, error):
    """1.96 standard errors on both sides of a mean."""
    reach = stats.norm.isf((1 - LEVEL) / 2) * error
    return mean - reach, mean + reach


def corrections_for(metric, m, n_items, n_instances):
    """By name; a linear metric needs none."""
    if isinstance(metric.shape, Linear):
        return {}
    of = partial(rs.BiasVariance, metric, rs.UniformSampling(m), n_items)
    by_rule = {"gamma": best_gamma(n_instances), "prior": plausible_prior(n_items)}
    return {"BV 0.1": of(gamma=0.1), "BV 0.01": of(gamma=0.01), "BV, rule": of(**by_rule)}


def limits_of(metric, evidence):
    """The limits that a report prints, and their assumption."""
    assumption = supported(metric, evidence)
    return *evidence.limits(metric, assumption or "none", LEVEL), assumption


def outcome(method, metric, low, high, exact, **more):
    """Of an interval in one run."""
    known = {"method": method, "metric": str(metric), "held": holds(low, high, exact)}
    return known | {"width": high - low} | more


def coverage(rng, population, metrics, m, n_instances, repetitions, corrects=False):
    """Limits that a report prints, and those under each assumption, be it contradicted or not.

    With `corrects` also corrected means with 1.96 standard errors, which are not recommended.
    """
    over_all = {metric: mean_over_all(population, metric) for metric in metrics}
    corrections = dict.fromkeys(metrics, {})
    if corrects:
        size = m, len(population), n_instances
        corrections = {metric: corrections_for(metric, *size) for metric in metrics}
    for _ in range(repetitions):
        ranks = drawn(population, n_instances, rng)
        sampled = rs.UniformSampling(m).draw(ranks, rng)
        evidence = SampledRun(sampled, ranks.sizes, False, metrics)
        for metric in metrics:
            exact = float(metric(ranks).mean())
            corrected = {name: one(sampled) for name, one in corrections[metric].items()}
            for method, value, low, high, contradicted in intervals(metric, evidence, corrected):
                more = {"held for all": holds(low, high, over_all[metric])}
                more |= {"error": value - exact, "contradicted": contradicted}
                yield outcome(method, metric, low, high, exact, **more)


def intervals(metric, evidence, corrected):
    """Method, estimate, limits, and whether the data contradict "decreasing"."""
    value = evidence.estimate(metric)
    if isinstance(metric.shape, Linear):
        yield "report", value, *evidence.limits(metric, "none", LEVEL), np.nan
        return
    limits = {assumption: evidence.limits(metric, assumption, LEVEL) for assumption in ASSUMPTIONS}
    for assumption, (low, high) in limits.items():
        yield assumption, value, low, high, np.nan
    used = supported(metric, evidence)
    low, high = limits.get(used, (np.nan, np.nan))
    yield "report", np.clip(value, low, high), low, high, used != "decreasing"
    for method, values in corrected.items():
        yield method, values.mean(), *normal_limits(values.mean(), stats.sem(values)), np.nan


def pairs(rng, population, metrics, m, n_instances, repetitions):
    """Intervals of the difference of two recommenders, with the same users, sampled for each.

    "report": those of a report; "design": `paired_comparison` of what `InverseSampling` observes,
    or `EarlyStopping` for a metric with a cut-off; and, not recommended, the paired interval of a
    corrected metric. "decided": 0 is not in the interval; "right": of those decided, its sign is.
    """
    a, b = population
    n, sampler = mean_pool_size({"a": a, "b": b}), rs.UniformSampling(m)
    curved = [metric for metric in metrics if not isinstance(metric.shape, Linear)]
    corrections = {
        (metric, gamma): rs.BiasVariance(metric, sampler, n, gamma=gamma)
        for metric in curved
        for gamma in (0.1, 0.01)
    }
    for _ in range(repetitions):
        which = rng.integers(0, len(a), n_instances)
        users = a[which], b[which]
        runs = [sampler.draw(ranks, rng) for ranks in users]
        evidence = [SampledRun(run, r.sizes, False, metrics) for run, r in zip(runs, users)]
        said = {}
        for metric in metrics:
            pair = compared(metric, *evidence, supported(metric, *evidence) or "none", LEVEL)
            said[metric, "report"] = pair.low, pair.high
            if metric in curved:
                cutoff = metric.cutoff
                design = rs.InverseSampling() if cutoff is None else rs.EarlyStopping(cutoff)
                observed = [design.draw(ranks, rng) for ranks in users]
                pair = paired_comparison(metric, *observed, level=LEVEL)
                said[metric, "design"] = pair.low, pair.high
        for (metric, gamma), correction in corrections.items():
            off = correction(runs[0]) - correction(runs[1])
            said[metric, f"BV {gamma:g}, paired"] = normal_limits(off.mean(), stats.sem(off))
        for (metric, method), (low, high) in said.items():
            exact = (metric(users[0]) - metric(users[1])).mean()
            decided = low * high > 0
            right = np.sign(low) * exact > 0 if decided else np.nan
            yield outcome(method, metric, low, high, exact, decided=decided, right=right)


def designs(rng, population, metrics, n_instances, repetitions):
    """Intervals of `InverseSampling`: from its estimate of the variance, and Student's."""
    design, (metric,) = rs.InverseSampling(), metrics
    over_all = mean_over_all(population, metric)
    for _ in range(repetitions):
        ranks = drawn(population, n_instances, rng)
        exact, observed = float(metric(ranks).mean()), design.draw(ranks, rng)
        values = design.of(metric, observed)
        variance = max(0.0, design.estimated_variance(metric, observed).sum())
        one_run = normal_limits(values.mean(), np.sqrt(variance) / n_instances)
        for method, limits in [("one run", one_run), ("Student", limits_of_mean(values, LEVEL))]:
            for_all = {"held for all": holds(*limits, over_all)}
            yield outcome(method, metric, *limits, exact, **for_all)


def plans(rng, population, metrics, m, n_instances, repetitions):
    """`Result.plan` for limits 0.7 times as wide as those of a report, carried out with others.

    "width": what is reached, over what was asked for; "reached": it is at most 1; "held": limits
    hold the mean over the population; "cost": users, over the smallest number that would do.
    """
    over_all = {metric: mean_over_all(population, metric) for metric in metrics}
    for _ in range(repetitions):
        ranks = drawn(population, n_instances, rng)
        sampled = rs.UniformSampling(m).draw(ranks, rng)
        for metric in metrics:
            evidence = SampledRun(sampled, ranks.sizes, False, [metric])
            low, high, _ = limits_of(metric, evidence)
            width = 0.7 * (high - low)
            users = users_to_rank(metric, width, evidence).others
            low, high = limits_by_all(metric, drawn(population, users, rng))
            cost = users / smallest(population, metric, width)
            more = {"width": (high - low) / width, "reached": high - low <= width, "cost": cost}
            yield outcome("rank all items", metric, low, high, over_all[metric], **more)


def smallest(population, metric, width):
    """The users whose limits are so close, if their ranks are spread as those of the population."""
    n, cumulated = len(population), np.cumsum(population)

    def is_enough(users):
        shares = cumulated[-1] * (np.arange(users) + 0.5) / users
        low, high = limits_by_all(metric, rs.Ranks(1 + np.searchsorted(cumulated, shares), n))
        return high - low <= width

    most = 2
    while not is_enough(most):
        most *= 2
    return most // 2 + 1 + bisect_left(range(most // 2 + 1, most), True, key=is_enough)


def limits_by_all(metric, ranks):
    return limits_of_mean(metric(ranks), LEVEL, ends=ends_of(metric, ranks))


def corrections(rng, population, metrics, n_instances, m):
    """Bias and standard deviation of corrected means over users and samples, from the law."""
    n, sampler = len(population), rs.UniformSampling(m)
    seen = population @ sampler.law(n)
    for metric in metrics:
        exact = mean_over_all(population, metric)
        methods = {
            "sampled": metric,
            "Rank Estimate": rs.RankEstimate(metric, sampler, n),
            "CLS": rs.ConstrainedLeastSquares(metric, sampler, n),
            **corrections_for(metric, m, n, n_instances),
        }
        for method, correction in methods.items():
            values = correction.of_rank(np.arange(1, m + 2), m + 1)
            mean = seen @ values
            std = np.sqrt(np.maximum(seen @ values**2 - mean**2, 0.0) / n_instances)
            error = np.hypot(mean - exact, std)
            known = {"method": method, "metric": str(metric)}
            yield known | {"bias": mean - exact, "std": std, "error": error}


FEW = ["r^-0.9", "uniform", "30 % r^-1.5, flat", "40 % up to 50, flat", "P(x) = (x/n)^0.25"]
FEW += ["24 % at 11, far"]
HUMP, LATE, EARLY = "24 % at 11, far", "30 % in 11 to 30, flat", "3 % at 3, far"
DESIGNS = [*RECORDED, "uniform", "r^-0.3", "r^-0.6", "r^-0.9", "40 % up to 50, flat"]
PLANS = [*RECORDED, "r^-0.9", "30 % r^-1.5, flat", "P(x) = (x/n)^0.25", "two steps"]
PLANS += ["10 % up to 10, flat", "half r^-1.8, r^-0.3", "(r + 100)^-1.5", HUMP, LATE]
TWO, THREE = ["Recall@10", "AP"], ["Recall@10", "NDCG@10", "AP"]
PARTS = {  # what is measured, and of which metrics
    "base": (coverage, [*THREE, "AUC"]),
    "designs": (designs, ["AP"]),
    "pairs": (pairs, [*TWO, "AUC"]),
    "corrections": (corrections, THREE),
    "pools": (coverage, TWO),
    "several": (coverage, [*THREE, "AUC"]),
    "items": (coverage, TWO),
    "instances": (coverage, TWO),
    "samples": (coverage, TWO),
    "others": (partial(coverage, corrects=True), THREE),
    "plans": (plans, THREE),
    "unlike": (unlike, TWO),
}


def cells(part, population, n_items=3541, m=100, n_instances=6000, repetitions=100):
    sizes = {"m": m, "n_instances": n_instances, "repetitions": repetitions}
    known = {name: size for name, size in sizes.items() if size != ""}
    return grid(part=part, n_items=n_items, **known, population=population, seed=0)


def measure(rng, part, population, n_items="", **sizes):
    function, metrics = PARTS[part]
    if part == "unlike":
        return over_runs(
            list(function(rng, population, chosen_metrics(metrics), **sizes)), ratio="mean"
        )
    kind = kind_of(population) if n_items else {}
    drawn_from = [population_of(name, n_items) for name in population.split(" - ")]
    of = drawn_from if part == "pairs" else drawn_from[0]
    found = list(function(rng, of, chosen_metrics(metrics), **sizes))
    # What the corrections yield is no outcome of runs.
    mean = {"width": "mean"} if part == "plans" else {}
    table = pd.DataFrame(found) if part == "corrections" else over_runs(found, **mean)
    return table.assign(**kind)


STUDY = Study(
    file=KEPT / "coverage.csv",
    cells=[
        *cells("base", COVERAGE, repetitions=400),
        *cells("designs", DESIGNS, m="", n_instances=[100, 300, 1000, 6000], repetitions=1000),
        *cells("pairs", ["X - Y", "X - Z", "Y - Z"], n_items="", n_instances=[6000, 1000]),
        *cells("pairs", [f"X - {HUMP}", f"X - {LATE}", f"{EARLY} - {HUMP}"], n_items=""),
        *cells("corrections", COVERAGE, n_instances=[300, 6000], repetitions=""),
        *cells("pools", ["related pools", "unrelated pools"], n_items="", m=30, repetitions=200),
        *cells("pools", ["X, own pools", "Z, own pools, ties"], n_items="", repetitions=200),
        *cells(
            "several",
            [f"{name}, ten items" for name in RECORDED],
            n_items="",
            n_instances=1000,
            repetitions=50,
        ),
        *cells("items", FEW, n_items=[30_000, 1000, 1_000_000]),
        *cells("instances", FEW, n_instances=[300, 1000, 20_000, 100], repetitions=200),
        *cells("samples", FEW, m=[10, 30, 300], n_instances=2000),
        *cells("samples", FEW[::3], m=1000, n_instances=2000, repetitions=50),
        *cells("others", [*RECORDED, "r^-0.9", "30 % r^-1.5, flat", "uniform"]),
        *cells("plans", PLANS, n_instances=2000, repetitions=30),
        *cells("unlike", [*UNLIKE][:4], n_items="", m=30, n_instances=150, repetitions=100),
        *cells("unlike", [*UNLIKE][2:3], n_items="", m=30, n_instances=1000, repetitions=50),
        *cells("unlike", [*UNLIKE][4:], n_items="", m=30, n_instances=[20, 150], repetitions=30),
    ],
    measure=measure,
    digits=5,
)
