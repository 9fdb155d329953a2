"""Measure how often what the package says is true: book/data/coverage.csv.

python scripts/record_coverage.py [PART ...]    all parts, or those named: base, instances, ...

Takes hours, on as many cores as there are; a part is made anew as a whole.
"""

import csv
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from coverage_of_limits import coverage, errors_of_corrections, populations
from coverage_studies import (
    coverage_of_designs,
    coverage_of_others,
    coverage_of_pairs,
    coverage_of_plans,
)

import recsample as rs

FILE = Path(__file__).parents[1] / "book" / "data" / "coverage.csv"
STUDIES = [coverage, errors_of_corrections, coverage_of_designs, coverage_of_others]
STUDIES = {one.__name__: one for one in [*STUDIES, coverage_of_pairs, coverage_of_plans]}
FEW = ["r^-0.9", "uniform", "30 % r^-1.5, flat", "40 % up to 50, flat", "P(x) = (x/n)^0.25"]
FEW += ["24 % at 11, far"]
RECORDED = ["X", "Y", "Z"]
MAIN = ["Recall@10", "NDCG@10", "AP", "AUC"]
TWO = ["Recall@10", "AP"]
SOME, FEWER = 200, 100  # repetitions where there are many cells, and where these are slow, too


def cells(part):
    """What is measured in a part: function, name of the population, and options."""
    if part == "base":
        for name in populations(3541):
            yield "coverage", name, 3541, dict(metrics=MAIN)
    if part == "others":
        for name in [*RECORDED, "r^-0.9", "30 % r^-1.5, flat", "uniform"]:
            yield "coverage_of_others", name, 3541, dict(metrics=MAIN[:3], repetitions=100)
    if part == "instances":
        for n_instances in (300, 1000, 20_000, 100):
            for name in FEW:
                options = dict(metrics=TWO, n_instances=n_instances, repetitions=SOME)
                yield "coverage", name, 3541, options
    if part == "samples":
        for m, repetitions in ((10, FEWER), (30, FEWER), (300, FEWER), (1000, 50)):
            for name in FEW[:: 1 if m < 1000 else 3]:
                options = dict(metrics=TWO, m=m, n_instances=2000, repetitions=repetitions)
                yield "coverage", name, 3541, options
    if part == "items":
        for n_items in (30_000, 1000, 1_000_000):
            for name in FEW:
                yield "coverage", name, n_items, dict(metrics=TWO, repetitions=FEWER)
    if part == "pools":
        for name in ("related pools", "unrelated pools", "X, own pools", "Z, own pools, ties"):
            options = dict(metrics=TWO, m=30 if "related" in name else 100, repetitions=SOME)
            yield "coverage", name, 0, options
    if part == "several":
        for name in ("X, ten items", "Y, ten items", "Z, ten items"):
            options = dict(metrics=MAIN, n_instances=1000, repetitions=50)
            yield "coverage", name, 0, options
    if part == "pairs":
        for n_instances in (6000, 1000):
            for name in ("X - Y", "X - Z", "Y - Z"):
                options = dict(n_instances=n_instances, repetitions=FEWER)
                yield "coverage_of_pairs", name, 0, options
        hump, late, early = "24 % at 11, far", "30 % in 11 to 30, flat", "3 % at 3, far"
        for pair in (("X", hump), ("X", late), (early, hump)):
            yield "coverage_of_pairs", " - ".join(pair), 0, dict(repetitions=FEWER)
    if part == "corrections":
        for name in populations(3541):
            for n_instances in (300, 6000):
                yield "errors_of_corrections", name, 3541, dict(n_instances=n_instances)
    if part == "plans":
        shapes = ["r^-0.9", "30 % r^-1.5, flat", "P(x) = (x/n)^0.25", "two steps"]
        shapes += ["10 % up to 10, flat", "half r^-1.8, r^-0.3", "(r + 100)^-1.5"]
        for name in [*RECORDED, *shapes, "24 % at 11, far", "30 % in 11 to 30, flat"]:
            yield "coverage_of_plans", name, 3541, dict(n_instances=2000, repetitions=30)
    if part == "designs":
        for name in [*RECORDED, "uniform", "r^-0.3", "r^-0.6", "r^-0.9", "40 % up to 50, flat"]:
            for n_instances in (100, 300, 1000, 6000):
                options = dict(n_instances=n_instances, repetitions=1000)
                yield "coverage_of_designs", name, 3541, options


def population(name, n_items):
    """A population by its name, or the ranks from which instances are drawn."""
    if n_items:
        return populations(n_items)[name]
    sizes = np.repeat([100, 1900], 3000)
    if name == "related pools":  # uniform on the ranks 1 to 20, and 1 to 200
        return rs.Ranks(1 + np.arange(6000) % np.where(sizes == 100, 20, 200), sizes)
    if name == "unrelated pools":
        share = (np.arange(6000) % 3000 + 0.5) / 3000
        return rs.Ranks((1 + (sizes - 1) * share**3).astype(int), sizes)
    if name[0] in RECORDED:
        several = "ten" in name
        recorded = rs.datasets.recorded_several() if several else rs.datasets.recorded_ranks()
        return recorded[name[0]]
    return in_pools_of_users(populations(3541)[name])


def in_pools_of_users(population):
    """Made-up ranks for the users of MovieLens: as many on each rank as the population says."""
    sizes = rs.datasets.recorded_ranks()["X"].n_items
    shares = (np.random.default_rng(0).permutation(len(sizes)) + 0.5) / len(sizes)
    ranks = 1 + np.searchsorted(population.chances.cumsum(), shares)
    return rs.Ranks(np.minimum(ranks, sizes), sizes)


def measured(part, function, name, n_items, options):
    """The rows of a cell."""
    options = {"m": 100, "n_instances": 6000, "repetitions": 400} | options
    if function == "coverage_of_designs":
        del options["m"]
    if function == "errors_of_corrections":
        del options["repetitions"]
    if " - " in name:
        drawn = [population(one, 0) for one in name.split(" - ")]
        kind = {}
    else:
        drawn = [population(name, n_items)]
        flags = ("held_out", "decreasing", "smooth")
        kind = {flag: getattr(drawn[0], flag) for flag in flags} if n_items else {}
    table = STUDIES[function](*drawn, **options).reset_index()
    if function == "coverage_of_designs":
        table = table.rename(columns={"index": "method"}).assign(metric="AP")
    if function == "coverage_of_plans":
        table = table.assign(method="rank all items")
    options.pop("metrics", None)
    known = {"part": part, "population": name, "n_items": n_items or ""} | options | kind
    return [known | row for row in table.round(5).to_dict("records")]


def record(parts):
    rows = []
    if FILE.exists():
        with FILE.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["part"] not in parts]
    jobs = [(part, *cell) for part in parts for cell in cells(part)]
    done, failed = {}, []
    with ProcessPoolExecutor() as pool:
        waiting = {pool.submit(measured, *job): i for i, job in enumerate(jobs)}
        for n, future in enumerate(as_completed(waiting), start=1):
            job = jobs[waiting[future]][:3]
            if future.exception():
                failed.append(f"{job}: {future.exception()!r}")
                print("failed:", failed[-1], flush=True)
                continue
            done[waiting[future]] = future.result()
            print(n, "of", len(jobs), job, flush=True)
            everything = rows + [row for i in sorted(done) for row in done[i]]
            everything.sort(key=lambda row: PARTS.index(row["part"]))
            columns = dict.fromkeys(column for row in everything for column in row)
            with FILE.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(columns), restval="")
                writer.writeheader()
                writer.writerows(everything)
    if failed:
        sys.exit("These are missing, run their part again:\n" + "\n".join(failed))


PARTS = "base designs pairs corrections pools several items instances samples others plans".split()

if __name__ == "__main__":
    record(sys.argv[1:] or PARTS)
