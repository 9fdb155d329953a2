"""Measure how often the limits of an audit hold, and its plans are enough: book/data/audit*.csv.

python scripts/record_audits.py [PART ...]    all parts, or those named: limits, chances, plans

The first and the last take half an hour each on two cores, the other some minutes. The methods were
chosen on the populations of which the tables say so, before those were tried by which they are
judged.
"""

import csv
import re
import sys
from bisect import bisect_left
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from coverage_of_limits import Population, instances_of, populations
from coverage_studies import limits_of
from scipy import stats

import recsample as rs
from recsample._support.numerics import gaffke_reach
from recsample.inference.audit import Audit
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.inference.planning import users_to_rank
from recsample.metrics.names import chosen_metrics

FOLDER = Path(__file__).parents[1] / "book" / "data"
LIMITS = {
    "choosing": ["r^-0.6", "r^-1.2", "30 % r^-1.5, flat", "(r + 100)^-1.5", "40 % up to 50, flat"],
    "judging": ["X", "Y", "Z", "r^-0.9", "half r^-1.8, r^-0.3", "P(x) = (x/n)^0.25", "two steps"],
}
LIMITS["choosing"] += ["3 % at 3, far"]
LIMITS["judging"] += ["10 % up to 10, flat", "24 % at 11, far", "all at rank 100", "1 % at 1, far"]
DRAWS = ["uniform", "popular", "shared"]
METRICS = ["Recall@1", "Recall@10", "NDCG@10", "AP", "AUC"]
N_ITEMS, M, USERS, REPETITIONS = 3541, 100, 6000, 100


def chances_of(name):
    """The chances of the ranks."""
    r = np.arange(1.0, N_ITEMS + 1)
    if name.startswith("hump at "):
        weights = np.exp(-2 * np.log(r / float(name.removeprefix("hump at "))) ** 2) / r
    elif power := re.fullmatch(r"\(r \+ (\d+)\)\^-(.*)", name):
        weights = (r + float(power[1])) ** -float(power[2])
    elif name in [*PLANS["judging"], "1 % at 1, far"]:
        percent, kind, rank, rest = re.fullmatch(r"(\d+) % (at|up to) (\d+), (.*)", name).groups()
        some = r == int(rank) if kind == "at" else r <= int(rank)
        others = r == 1000 if rest == "far" else r > int(rank)
        share = int(percent) / 100
        weights = share * some / some.sum() + (1 - share) * others / others.sum()
    else:
        weights = populations(N_ITEMS)[name].chances
    return weights / weights.sum()


def drawn(rank, draws, rng):
    """Ranks among M items, whose draws favour what is ranked high, or are the same for all."""
    above = rank - 1
    if draws == "uniform":
        count = rng.hypergeometric(above, N_ITEMS - rank, M)
    elif draws == "popular":
        count = rng.binomial(M, (above / (N_ITEMS - 1)) ** 0.6)
    else:
        places = np.sort(rng.choice(np.arange(1, N_ITEMS), M, replace=False))
        count = np.searchsorted(places, above, side="right")
    return 1 + np.clip(count, M - (N_ITEMS - rank), above)


def betting(values, n_users):
    """Hedged bets on a mean of numbers from 0 to 1, without replacement (2010.09686, section 5)."""
    k, grid = len(values), np.linspace(0, 1, 401)
    seen = np.arange(1, k + 1)
    running = (0.5 + np.cumsum(values)) / (seen + 1)
    spread = (0.25 + np.cumsum((values - running) ** 2)) / (seen + 1)
    bets = np.sqrt(2 * np.log(2 / 0.05) / (k * np.append(0.25, spread[:-1])))
    known = np.append(0, np.cumsum(values)[:-1])
    rest = (n_users * grid - known[:, None]) / (n_users - seen + 1)[:, None]
    possible = ((rest >= 0) & (rest <= 1)).all(axis=0)
    inside = np.clip(rest, 1e-9, 1 - 1e-9)
    off = values[:, None] - inside
    up = np.log1p(np.minimum(bets[:, None], 0.5 / inside) * off).sum(axis=0)
    down = np.log1p(-np.minimum(bets[:, None], 0.5 / (1 - inside)) * off).sum(axis=0)
    held = grid[possible & (np.logaddexp(up, down) - np.log(2) < np.log(1 / 0.05))]
    return held.min(), held.max()


def said(metric, exact, sampled, ranks, few, chances, rng):
    """Method, estimate, limits, and limits for other users."""
    values, n_users = metric(ranks), len(ranks)
    audit = Audit(sampled, ranks[few], few, ranks.sizes, replace=False, chances=chances)
    yield "audit", *audit.mean(metric)
    if chances is not None:
        return
    y, nothing = values[few], (np.nan, np.nan)
    shrunk = np.sqrt(1 - len(few) / n_users)
    down, up = shrunk * np.array(gaffke_reach(y, 0, 1))
    yield "audited users alone", y.mean(), y.mean() - down, y.mean() + up, *nothing
    reach = shrunk * stats.t.ppf(0.975, len(few) - 1) * stats.sem(y)
    yield "audited users alone, Student", y.mean(), y.mean() - reach, y.mean() + reach, *nothing
    z = (sampled.values == 1).astype(float)
    slope = np.cov(y, z[few])[0, 1] / max(z.var(), 1e-12)
    off = y - slope * z[few]
    reach, value = shrunk * 1.96 * stats.sem(off), slope * z.mean() + off.mean()
    yield "regression, normal", value, value - reach, value + reach, *nothing
    yield "audited users alone, betting", y.mean(), *betting(rng.permutation(y), n_users), *nothing


def chosen(sampled, audited, by_rank, rng):
    """Who is audited: so many at random, or about so many, five times as likely on ranks 1 to 3."""
    if not by_rank:
        return rng.choice(USERS, audited, replace=False), None
    chances = np.where(sampled.values <= 3, 5.0, 1.0)
    chances = np.minimum(chances * (audited / chances.sum()), 1)
    return np.flatnonzero(rng.random(USERS) < chances), chances


def measured(kind, name, draws, audited, by_rank=False):
    """The rows of a cell."""
    rng = np.random.default_rng([audited, sum(LIMITS.values(), []).index(name), DRAWS.index(draws)])
    chances, found = chances_of(name), {}
    everybody = rs.Ranks(np.arange(1, N_ITEMS + 1), N_ITEMS)
    for _ in range(REPETITIONS * (5 if by_rank else 1)):
        rank = rng.choice(N_ITEMS, USERS, p=chances / chances.sum()) + 1
        ranks, sampled = rs.Ranks(rank, N_ITEMS), rs.Ranks(drawn(rank, draws, rng), M + 1)
        few, stated = chosen(sampled, audited, by_rank, rng)
        for metric in chosen_metrics(METRICS):
            exact, for_all = metric(ranks).mean(), metric(everybody) @ chances
            for method, value, low, high, lower, higher in said(
                metric, exact, sampled, ranks, few, stated, rng
            ):
                held = low - 1e-12 <= exact <= high + 1e-12
                others = lower - 1e-12 <= for_all <= higher + 1e-12
                row = held, others, high - low, (value - exact) ** 2, high <= low
                found.setdefault((method, str(metric)), []).append(row)
    rows = []
    for (method, metric), cells in found.items():
        held, others, width, square, nothing = np.array(cells, float).T
        row = {"kind": kind, "population": name, "draws": draws, "audited": audited}
        row |= {"metric": metric, "method": method, "held": held.mean()}
        row |= {"held for others": others.mean() if method == "audit" else ""}
        row |= {"width": f"{np.median(width):.4f}", "error": f"{np.sqrt(square.mean()):.5f}"}
        rows.append(row | {"width 0": f"{nothing.mean():.4f}"})
    return rows


# The populations by which plans were chosen; those that judged an earlier rule, whose cost there
# led to this one; those that judge, which nobody had looked at before. Then runs of each.
PLANS = {
    "choosing": ["(r + 15)^-1.15", "hump at 30", "r^-0.6", "r^-1.2", "30 % r^-1.5, flat"],
    "seen": ["X", "Y", "Z", "r^-0.9", "(r + 7)^-1.3", "half r^-1.8, r^-0.3", "two steps"],
    "judging": ["hump at 25", "hump at 200", "(r + 3)^-1.2", "(r + 60)^-1.4", "(r + 0)^-0.8"],
}
# "hump at 12" was to judge, and showed a mistake.
PLANS["choosing"] += ["40 % up to 50, flat", "(r + 100)^-1.5", "hump at 12"]
PLANS["seen"] += ["10 % up to 10, flat", "24 % at 11, far", "30 % at rank 1, flat"]
PLANS["seen"] += ["P(x) = (x/n)^0.25", "hump at 8", "hump at 80"]
PLANS["judging"] += ["(r + 0)^-1.05", "15 % at 12, far", "5 % at 2, far", "8 % up to 4, flat"]
PLANS["judging"] += ["35 % up to 25, flat", "12 % at 1, flat", "20 % up to 200, far"]
RUNS = {"choosing": 100, "seen": 100, "judging": 500}
STUDIES = [(1000, 20), (6000, 100)]  # users, and samples for each
SEARCHES = 15  # for the smallest number that would do, in so many runs


def planned(kind, name, n_users, m):
    """How often a plan in two steps is enough, and the smallest number that would do."""
    rng = np.random.default_rng([n_users, sum(PLANS.values(), []).index(name)])
    population = Population(chances_of(name), False, False, False)
    goals, found = [], {}
    for run in range(RUNS[kind]):
        ranks = instances_of(population, n_users, rng)
        sampled = rs.UniformSampling(m).draw(ranks, rng)
        goals = goals or list(goals_of(sampled))
        for metric, width, steps in goals:
            first = rng.choice(n_users, steps["first"], replace=False)
            users = rs.inference.plan_audit(
                metric, width, sampled, N_ITEMS, rng, exact=(first, ranks[first])
            ).users
            needed = np.nan
            if run < SEARCHES:
                needed = smallest_number(metric, width, sampled, ranks, rng)
            row = len(users), needed, width_of(metric, sampled, ranks, users) <= width
            found.setdefault((metric, width), []).append(row)
    rows = []
    for metric, width, steps in goals:
        users, needed, enough = np.array(found[metric, width], float).T
        row = {"kind": kind, "population": name, "n_users": n_users, "m": m}
        row |= {"metric": str(metric), "width": width} | steps
        row |= {"users": int(np.median(users)), "needed": int(np.nanmedian(needed))}
        rows.append(row | {"enough": f"{enough.mean():.3f}", "runs": len(users)})
    return rows


def smallest_number(metric, width, sampled, ranks, rng):
    """Of users in a random order, with whom the limits are so close."""
    order, fewer = rng.permutation(len(ranks)), range(2, len(ranks))

    def is_enough(k):
        return width_of(metric, sampled, ranks, order[:k]) <= width

    return 2 + bisect_left(fewer, True, key=is_enough)


def width_of(metric, sampled, ranks, users):
    """How wide the limits are with these users."""
    found = Audit(sampled, ranks[users], users, ranks.sizes, replace=False).mean(metric)
    return found.high - found.low


def goals_of(sampled):
    """Metrics; widths, seven tenths of those in a report, and .02; and what a first step plans."""
    n_users = len(sampled)
    for metric in chosen_metrics(["Recall@10", "NDCG@10", "AP"]):
        evidence = SampledRun(sampled, np.full(n_users, N_ITEMS), False, [metric])
        low, high = limits_of(metric, evidence)
        for width in (round(0.7 * (high - low), 4), 0.02):
            audit = rs.inference.plan_audit(metric, width, sampled, N_ITEMS, rng=0)
            steps = {"first": audit.first, "largest spread": len(audit.users)}
            by_report = users_to_rank(metric, width, evidence).these
            yield metric, width, steps | {"by a report": by_report}


def write(name, rows):
    with (FOLDER / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def record(parts):
    limits = [(kind, name) for kind, names in LIMITS.items() for name in names]
    plans = [(kind, name) for kind, names in PLANS.items() for name in names]
    with ProcessPoolExecutor() as pool:
        for part, file, by_rank in [
            ("limits", "audits.csv", False),
            ("chances", "audits_by_chances.csv", True),
        ]:
            if part in parts:
                every = product(limits, DRAWS, (100, 300), [by_rank])
                cells = [(*kind, *rest) for kind, *rest in every]
                found = pool.map(measured, *zip(*cells))
                write(file, [row for rows in found for row in rows])
        if "plans" in parts:
            cells = [(*kind, *study) for kind, study in product(plans, STUDIES)]
            found = pool.map(planned, *zip(*cells))
            write("audit_plans.csv", [row for rows in found for row in rows])


if __name__ == "__main__":
    record(sys.argv[1:] or ["limits", "chances", "plans"])
