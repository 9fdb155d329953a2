"""How often limits from printed numbers hold: published.csv. Takes some minutes."""

from itertools import product

import numpy as np
from record_populations import PUBLISHED, PUBLISHED_HUMPED, chances, drawn, mean_over_all
from record_studies import KEPT, Study, over_runs

import recsample as rs
from recsample.inference.published import Explanation, Printed, PrintedStudy

TABLES = {
    "two numbers": ("HR@10", "NDCG@10"),
    "six numbers": ("HR@1", "HR@5", "HR@10", "NDCG@5", "NDCG@10", "MRR"),
    "two over all ranks": ("MRR", "AUC"),
}
TARGETS = [rs.metric(name) for name in ("Recall@10", "NDCG@10", "RR", "AUC")]


def cells():
    names = [*PUBLISHED, *PUBLISHED_HUMPED]
    for (n, m), users, table, name in product(
        [(1_000, 100), (20_000, 50)], (100, 2_000), TABLES, names
    ):
        # They fall, within the best fifth, or not.
        cell = {"population": name, "falls": name in PUBLISHED, "n_items": n, "m": m}
        cell |= {"users": users, "table": table, "runs": 100}
        yield cell | {"seed": [n, users, len(TABLES[table])]}


def measure(rng, population, falls, n_items, m, users, table, runs):
    """By assumption: whether all limits hold, are contradicted, and how wide each is."""
    law, found = chances(population, n_items), []
    truth = [mean_over_all(law, one) for one in TARGETS]
    study = PrintedStudy(m, (n_items, n_items), users, False)
    metrics = [rs.metric(name) for name in TABLES[table]]
    for _ in range(runs):
        ranks = drawn(law, users, rng).values
        sampled = rng.hypergeometric(ranks - 1, n_items - ranks, m) + 1
        values = [np.mean(one.of_rank(sampled, m + 1)).round(3) for one in metrics]
        printed = [Printed(*pair, 0.0005) for pair in zip(metrics, values)]
        explanation = Explanation(study, {"": printed}, TARGETS, 0.05 / len(metrics))
        for assumption in ("none", "decreasing"):
            ends = [explanation.limits("", one, assumption) or (np.nan,) * 2 for one in TARGETS]
            low, high = np.transpose(ends)
            held = ((low <= truth) & (truth <= high)).all()
            row = {"assumption": assumption, "held": held, "contradicted": np.isnan(low).any()}
            found.append(row | dict(zip(map(str, TARGETS), high - low)))
    return over_runs(found, ["assumption"], **dict.fromkeys(map(str, TARGETS), "median"))


STUDY = Study(KEPT / "published.csv", list(cells()), measure, 4)
