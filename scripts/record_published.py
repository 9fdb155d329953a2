"""Measure how often limits from printed numbers hold: book/data/published.csv.

python scripts/record_published.py
"""

from __future__ import annotations

import csv
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

import recsample as rs
from recsample.inference.published import Printed, PrintedStudy, Reading

RUNS = 100
TABLES = {
    "two numbers": ("HR@10", "NDCG@10"),
    "six numbers": ("HR@1", "HR@5", "HR@10", "NDCG@5", "NDCG@10", "MRR"),
    "two over all ranks": ("MRR", "AUC"),
}
TARGETS = [rs.metric(name) for name in ("Recall@10", "NDCG@10", "RR", "AUC")]
SIZES = [(1_000, 100), (20_000, 50)]
USERS = [100, 2_000]


def populations(n):
    """Chances of the exact ranks by name, and whether they fall within the best fifth."""
    r = np.arange(1.0, n + 1)
    yield "power law, 0.5", True, r**-0.5
    yield "power law, 1", True, 1 / r
    yield "power law, 2", True, r**-2
    yield "top five", True, (r <= 5) + 0.01 / n
    yield "second half", True, np.where(r > n / 2, 1.0, 0.01)
    yield "log-normal", False, np.exp(-0.5 * np.log(r / (n / 50)) ** 2) / r
    yield "ranks 21 to 40", False, ((r > 20) & (r <= 40)) + 0.05 / n


def measured(cell):
    """Of one population, size and table: how often all limits hold, and how wide they are."""
    (n, m), users, table, (name, falls, weights) = cell
    weights = weights / weights.sum()
    truth = [weights @ np.asarray(one.of_rank(np.arange(1, n + 1), n), float) for one in TARGETS]
    names, study = TABLES[table], PrintedStudy(m, (n, n), users, False)
    metrics = [rs.metric(one) for one in names]
    rng, rows = np.random.default_rng([n, users, len(names)]), []
    found = {"none": [], "decreasing": []}
    for _ in range(RUNS):
        ranks = rng.choice(n, users, p=weights) + 1
        sampled = rng.hypergeometric(ranks - 1, n - ranks, m) + 1
        values = [np.mean(one.of_rank(sampled, m + 1)).round(3) for one in metrics]
        printed = [Printed(*pair, 0.0005) for pair in zip(metrics, values)]
        reading = Reading(study, {"": printed}, TARGETS, 0.05 / len(names))
        for assumption, ends in found.items():
            ends.append([reading.limits("", one, assumption) or (np.nan,) * 2 for one in TARGETS])
    for assumption, ends in found.items():
        low, high = np.moveaxis(np.array(ends), -1, 0)
        held = ((low <= truth) & (truth <= high)).all(axis=1)
        row = {"population": name, "falls": falls, "n_items": n, "m": m, "users": users}
        row |= {"table": table, "assumption": assumption, "runs": RUNS, "held": held.mean()}
        row["contradicted"] = np.isnan(low).any(axis=1).mean()
        widths = np.nanmedian(high - low, axis=0) if not np.isnan(low).all() else [np.nan] * 4
        rows.append(row | {str(one): round(w, 4) for one, w in zip(TARGETS, widths)})
    return rows


def main():
    """Measure every cell and write the record."""
    cells = [
        (size, users, table, population)
        for size, users, table in product(SIZES, USERS, TABLES)
        for population in populations(size[0])
    ]
    with ProcessPoolExecutor() as pool:
        rows = [row for some in pool.map(measured, cells) for row in some]
    place = Path(__file__).parents[1] / "book/data/published.csv"
    with place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
