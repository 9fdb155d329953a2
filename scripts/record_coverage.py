"""How often what the package says of sampled ranks is true: coverage.csv.

Takes hours. Coverage and pairs yield for each run, metric and method whether the interval holds the
exact mean over the users drawn ("held") and the mean over the population ("held for all", of which
"low held" and "high held" are the two sides), and the width and the error of the estimate.
"""

from functools import partial

import numpy as np
import pandas as pd
from record_populations import (
    COVERAGE,
    FLAT_HEADS,
    PILED,
    RECORDED,
    SHAPES,
    chances,
    drawn,
    holds,
    kind_of,
    mean_over_all,
)
from record_studies import KEPT, Study, grid, over_runs
from scipy import stats

import recsample as rs
from recsample._support.numerics import LEVEL, limits_of_mean
from recsample.evaluation.readings import readings_of
from recsample.evaluation.sampled import Sampled
from recsample.inference import best_gamma, limits, paired_comparison, plausible_prior
from recsample.inference.comparison import compared
from recsample.inference.likelihood.sampled_run import SampledRun, supported
from recsample.inference.likelihood.strata import ASSUMPTIONS
from recsample.metrics.names import chosen_metrics
from recsample.metrics.shapes import Linear
from recsample.ranks.checks import mean_pool_size

POOLS = ", pools: "  # of 1,000 items, 1,500, 2,250 and so on, by their number
HALVES = "uniform in pools of 10,000, r^-0.9 in 13,900"
SEVERAL = ["1 to 10 items like X", "1 to 10 items behind rank 10"]


def population_of(name, n_items):
    """The chances of ranks by name, those in several pools, or ranks from which users are drawn."""
    shape, _, pools = name.partition(POOLS)
    if pools:
        return [chances(shape, int(1000 * 1.5**j)) for j in range(int(pools))]
    if name == HALVES:
        return [chances("uniform", 10_000), chances("r^-0.9", 13_900)]
    if n_items:
        return chances(name, n_items)
    if name in SEVERAL:
        return several_relevant(name == SEVERAL[0], 2000, 5000)
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


def several_relevant(like_x, n, users):
    """Users with 1 to 10 relevant items, whose ranks are like X's, or at rank 11 and behind it."""
    rank, rng = np.arange(1.0, n + 1), np.random.default_rng(0)
    density = chances("X", n) if like_x else np.where(rank > 10, 1 / (rank + 20), 0)
    found = np.flatnonzero(density)
    # The first of exponential times, at these rates, are a draw without replacement.
    times = rng.exponential(size=(users, len(found))) / density[found]
    first = 1 + found[np.argsort(times, axis=1)[:, :10]]
    many = rng.integers(1, 11, users)
    return rs.Ranks([np.sort(one[:k]) for one, k in zip(first, many)], n)


GRADES = "measured", "conjectured", "proved"
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


def outcome(method, metric, low, high, exact, /, **more):
    """Of an interval in one run."""
    known = {"method": method, "metric": str(metric), "held": holds(low, high, exact)}
    return known | {"width": high - low} | more


METHODS = (*ASSUMPTIONS, "report")


def coverage(
    rng, population, metrics, m, n_instances, repetitions, methods=METHODS, corrects=False
):
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
            found = intervals(metric, evidence, methods, corrected)
            for method, value, low, high, contradicted in found:
                more = for_all(low, high, over_all[metric])
                more |= {"error": value - exact, "contradicted": contradicted}
                yield outcome(method, metric, low, high, exact, **more)


def intervals(metric, evidence, methods, corrected):
    """Method, estimate, limits, and whether the data contradict "decreasing"."""
    value = evidence.estimate(metric) if "report" in methods else np.nan
    if isinstance(metric.shape, Linear):
        yield "report", value, *evidence.limits(metric, "none", LEVEL), np.nan
        return
    assumed = [method for method in methods if method != "report"]
    ends = {assumption: evidence.limits(metric, assumption, LEVEL) for assumption in assumed}
    for assumption, (low, high) in ends.items():
        yield assumption, value, low, high, np.nan
    if "report" in methods:
        used = supported(metric, evidence)
        yield "report", value, *ends.get(used, (np.nan, np.nan)), used != "decreasing"
    for method, values in corrected.items():
        yield method, values.mean(), *normal_limits(values.mean(), stats.sem(values)), np.nan


def for_all(low, high, exact):
    """Whether limits hold the mean over a population, on both sides and on each."""
    sides = {"low held": holds(low, np.inf, exact), "high held": holds(-np.inf, high, exact)}
    return {"held for all": all(sides.values())} | sides | {"low": low, "high": high}


def by_hits(population, metrics, m, n_instances, n_items):
    """Shares over all numbers of users on rank 1, of all of whom so many are expected there.

    The others are last, so that all drawn items are above theirs.
    """
    expected = float(population.split()[0])
    hits = np.arange(min(n_instances, int(expected + 10 * np.sqrt(expected) + 10)) + 1)
    chance = stats.binom.pmf(hits, n_instances, expected / n_instances)
    hits, chance = hits[chance > 1e-9], chance[chance > 1e-9]
    found = []
    for k, share in zip(hits, chance):
        counts = rs.RankCounts([1, m + 1], [k, n_instances - k], m + 1)
        evidence = SampledRun(counts, n_items, False, metrics)
        for metric in metrics:
            first, last = metric.of_rank(np.array([1, n_items]), n_items)
            mean = last + expected / n_instances * (first - last)
            for method in ASSUMPTIONS:
                low, high = evidence.limits(metric, method, LEVEL)
                one = {"method": method, "metric": str(metric), "chance": share}
                found.append(one | for_all(low, high, mean) | {"width": high - low})
    table = pd.DataFrame(found).set_index(["method", "metric"]).astype(float)
    weighted = table.drop(columns="chance").mul(table["chance"], axis=0)
    return weighted.groupby(level=[0, 1], sort=False).sum().reset_index()


def groups(rng, population, metrics, m, n_instances, repetitions):
    """Limits of the mean of rows, where whole groups are independent; see `in_groups`."""
    # Chances as 1 / size: each size has as many rows, so a third of all are in groups of up to 10.
    over_all = {
        metric: np.dot([1 / 3, 2 / 3], [mean_over_all(law, metric) for law in population])
        for metric in metrics
    }
    for _ in range(repetitions):
        ranks, group = in_groups(population, n_instances, rng)
        sampled = rs.UniformSampling(m).draw(ranks, rng)
        evidence = SampledRun(sampled, ranks.sizes, False, metrics, groups=group)
        for metric in metrics:
            for method in ASSUMPTIONS:
                low, high = evidence.limits(metric, method, LEVEL)
                more = for_all(low, high, over_all[metric])
                yield outcome(method, metric, low, high, metric(ranks).mean(), **more)


def in_groups(population, n_groups, rng):
    """Ranks of groups, and their numbers.

    A group has 1 to 30 rows, its size with a chance as 1 / size. In a group of up to 10 all ranks
    are the same, of the first law; in a larger one they are independent, of the second.
    """
    small, large = population
    sizes = np.arange(1, 31)
    each = rng.choice(sizes, n_groups, p=(1 / sizes) / (1 / sizes).sum())
    ranks = np.repeat(rng.choice(len(small), n_groups, p=small) + 1, each)
    is_large = np.repeat(each > 10, each)
    ranks[is_large] = rng.choice(len(large), is_large.sum(), p=large) + 1
    return rs.Ranks(ranks, len(small)), np.repeat(np.arange(n_groups), each)


def equals(rng, population, metrics, m, n_instances, repetitions):
    """Pairs of recommenders that are as good; "decided" is how often one is called ahead."""
    for _ in range(repetitions):
        users = [drawn(population, n_instances, rng) for _ in range(2)]
        runs = [rs.UniformSampling(m).draw(ranks, rng) for ranks in users]
        pair = tuple(SampledRun(run, r.sizes, False, metrics, 2) for run, r in zip(runs, users))
        for metric in metrics:
            exact = (metric(users[0]) - metric(users[1])).mean()
            for method in ASSUMPTIONS:
                (one,) = compared(metric, [pair], method, LEVEL)
                more = for_all(one.low, one.high, 0.0) | {"decided": one.low * one.high > 0}
                yield outcome(method, metric, one.low, one.high, exact, **more)


def grades(rng, population, metrics, m, n_instances, repetitions):
    """The width of limits without assumption in each grade, from what is measured to proved."""
    for _ in range(repetitions):
        # The first users choose for the others, so their order must not be that of their pools.
        ranks = drawn(population, n_instances, rng)[rng.permutation(n_instances)]
        sampled = rs.UniformSampling(m).draw(ranks, rng)
        for metric in metrics:
            exact = float(metric(ranks).mean())
            for grade in GRADES:
                about = {"assumption": "none", "grade": grade}
                found = limits(metric, sampled, ranks.sizes, **about)
                more = for_all(found.low, found.high, mean_over_all(population, metric))
                yield outcome(grade, metric, found.low, found.high, exact, **more)


def readings(rng, population, metrics, m, n_instances, repetitions):
    """Limits of the mean of exact Recall@K that a sampled metric reads."""
    n, sampler = len(population), rs.UniformSampling(m)
    recall = np.cumsum(population)[:-1]
    for _ in range(repetitions):
        users = drawn(population, n_instances, rng)
        sampled = sampler.draw(users, rng)
        about = {"n_items": n, "replace": False, "stated": False, "named": False}
        rows, _ = readings_of(Sampled(ranks={"": sampled}, metrics=metrics, **about), [""])
        for metric in metrics:
            weights = sampler.effective_cutoffs(metric, n).weights
            mean = recall @ weights / weights.sum()
            of_users = np.append(np.cumsum(weights[::-1])[::-1], 0)[users.values - 1].mean()
            low, high = (rows["", metric][end] for end in ("low", "high"))
            more = for_all(low, high, mean)
            yield outcome("reading", metric, low, high, of_users / weights.sum(), **more)


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
            assumption = supported(metric, *evidence) or "none"
            (pair,) = compared(metric, [tuple(evidence)], assumption, LEVEL)
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
        for method, ends in [("one run", one_run), ("Student", limits_of_mean(values, LEVEL))]:
            more = {"held for all": holds(*ends, over_all)}
            yield outcome(method, metric, *ends, exact, **more)


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
TWO, THREE = ["Recall@10", "AP"], ["Recall@10", "NDCG@10", "AP"]
LIMITS = partial(coverage, methods=ASSUMPTIONS)
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
    "unlike": (unlike, TWO),
    "few hits": (by_hits, THREE),
    "cut-off": (partial(coverage, methods=["none"]), TWO),
    "edges": (LIMITS, TWO),
    "few users": (LIMITS, TWO),
    "several items": (LIMITS, TWO),
    "halves": (LIMITS, ["Recall@100"]),
    "groups": (groups, TWO),
    "equal pairs": (equals, TWO),
    "movielens": (LIMITS, THREE),
    "grades": (grades, THREE),
    "readings": (readings, THREE),
}


def cells(part, population, n_items=3541, m=100, n_instances=6000, repetitions=100):
    sizes = {"m": m, "n_instances": n_instances, "repetitions": repetitions}
    known = {name: size for name, size in sizes.items() if size != ""}
    return grid(part=part, n_items=n_items, **known, population=population, seed=0)


def measure(rng, part, population, n_items="", **sizes):
    function, metrics = PARTS[part]
    metrics = chosen_metrics(metrics)
    if part == "few hits":
        return by_hits(population, metrics, n_items=n_items, **sizes).assign(decreasing=True)
    if part == "unlike":
        return over_runs(list(unlike(rng, population, metrics, **sizes)), ratio="mean")
    drawn_from = [population_of(name, n_items) for name in population.split(" - ")]
    of = drawn_from if part in ("pairs", "groups") else drawn_from[0]
    found = list(function(rng, of, metrics, **sizes))
    # What the corrections yield is no outcome of runs.
    table = pd.DataFrame(found) if part == "corrections" else over_runs(found)
    shape = population.partition(POOLS)[0]
    is_named = shape in SHAPES or shape in RECORDED
    return table.assign(**(kind_of(shape) if is_named else {"decreasing": shape != SEVERAL[1]}))


STUDY = Study(
    file=KEPT / "coverage.csv",
    cells=[
        *cells("base", [name for name in COVERAGE if name != "uniform"]),
        *cells("base", ["uniform"], repetitions=2000),  # the fewest held of 100 runs
        *cells("designs", DESIGNS, m="", n_instances=[100, 300, 1000, 6000], repetitions=1000),
        *cells("pairs", ["X - Y", "X - Z", "Y - Z"], n_items="", n_instances=[6000, 1000]),
        *cells("pairs", [f"X - {HUMP}", f"X - {LATE}", f"{EARLY} - {HUMP}"], n_items=""),
        *cells("corrections", COVERAGE, n_instances=[300, 6000], repetitions=""),
        *cells("pools", ["related pools", "unrelated pools"], n_items="", m=30),
        *cells("pools", ["X, own pools", "Z, own pools, ties"], n_items="", repetitions=50),
        *cells(
            "several",
            [f"{name}, ten items" for name in RECORDED],
            n_items="",
            n_instances=1000,
            repetitions=20,
        ),
        *cells("items", FEW, n_items=[30_000, 1000, 1_000_000], repetitions=50),
        *cells("instances", FEW, n_instances=[300, 1000, 20_000, 100]),
        *cells("instances", ["uniform"], n_instances=4000, repetitions=2000),  # others than base
        *cells("samples", FEW, m=[10, 30, 300], n_instances=2000, repetitions=50),
        *cells("samples", FEW[::3], m=1000, n_instances=2000, repetitions=20),
        *cells("others", [*RECORDED, "r^-0.9", "30 % r^-1.5, flat", "uniform"], repetitions=50),
        *cells("unlike", [*UNLIKE][:4], n_items="", m=30, n_instances=150),
        *cells("unlike", [*UNLIKE][2:3], n_items="", m=30, n_instances=1000, repetitions=50),
        *cells("unlike", [*UNLIKE][4:], n_items="", m=30, n_instances=150, repetitions=10),
        *cells("unlike", [*UNLIKE][4:], n_items="", m=30, n_instances=20, repetitions=30),
        *cells(
            "few hits",
            [f"{hits} hits" for hits in (0.5, 1, 1.5, 1.95, 2.5, 3, 4, 6)],
            n_instances=[100, 1000],
            repetitions="",
        ),
        *[
            cell
            for k in (1, 2, 4, 8, 12)
            for each, m in ((60, 20), (300, 50))
            for part, names in (("cut-off", PILED), ("edges", FLAT_HEADS))
            for cell in cells(part, [f"{name}{POOLS}{k}" for name in names], "", m, k * each)
        ],
        *cells("cut-off", [f"all at rank 11{POOLS}1"], "", 20, 60, 1000),
        *cells("cut-off", [f"all at rank 11{POOLS}1"], "", 50, 300, 1000),
        *cells("edges", [f"r^-0.9{POOLS}8", f"r^-1.5{POOLS}8"], "", 20, 480),
        *cells("few users", ["log-uniform"], n_instances=[3, 10, 30], repetitions=400),
        *cells("several items", SEVERAL, "", n_instances=500),
        *cells("halves", [HALVES], "", n_instances=20_000),
        *cells("groups", ["r^-0.6 - r^-1.2", "r^-1.2 - uniform"], n_instances=100),
        *cells("equal pairs", [f"{[*PILED][2]}{POOLS}8"], "", 20, 480, repetitions=200),
        *cells("equal pairs", ["log-uniform"], n_instances=300, repetitions=200),
        *cells("movielens", RECORDED, m=[100, 300], n_instances=[6040, 1000, 300, 100]),
        *cells("grades", ["X", "log-uniform"], n_instances=[1000, 100], repetitions=20),
        *cells("grades", [f"{[*PILED][2]}{POOLS}8"], "", 20, 480, repetitions=20),
        *cells("readings", FEW, n_instances=[6000, 300, 30], repetitions=400),
    ],
    measure=measure,
    digits=5,
)
