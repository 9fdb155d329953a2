"""A hundred million ranks: counted in memory, beside `numpy.bincount`, and in Parquet by DuckDB.

The array takes 0.8 GB, the files 0.1 GB.
"""

from functools import lru_cache

import numpy as np
import pytest

import recsample as rs
from recsample import AP, AUC, NDCG, Precision, RankCounts, Recall

ROWS, FILES = 10**8, 10
POOLS = [101, 10_000, 1_000_000]
PAPER = [AUC, Precision @ 10, Recall @ 10, AP, NDCG, NDCG @ 10]


@lru_cache(1)
def some_ranks(rows, n_items, seed=0):
    """Ranks with more of them near the top."""
    return 1 + np.floor(n_items * np.random.default_rng(seed).random(rows) ** 3).astype(np.int64)


def bincount(column, n_items):
    """What everything else here is compared with."""
    return np.bincount(column)


def every_metric_of_the_paper(column, n_items):
    counts = RankCounts.of(column, n_items)
    return [counts.mean(metric) for metric in PAPER]


def draw_for_every_instance(column, n_items):
    return rs.UniformSampling(100).draw(RankCounts.of(column, n_items), rng=0)


CONTENDERS = {
    "numpy.bincount": bincount,
    "counted, all metrics of the paper": every_metric_of_the_paper,
    "counted, 100 items drawn for each": draw_for_every_instance,
}


@pytest.mark.parametrize("n_items", POOLS)
def test_in_memory(in_turns, n_items, scale):
    column = some_ranks(scale(ROWS), n_items)
    contenders = {
        name: of for name, of in CONTENDERS.items() if n_items > 101 or not name.endswith("each")
    }
    in_turns(contenders, column, n_items, case=f"{n_items:,}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, scale):
    """Sampled ranks in several files."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("ranks")
    for part in range(FILES):
        table = pa.table({"rank": some_ranks(scale(ROWS) // FILES, 101, seed=part)})
        parquet.write_table(table, folder / f"part-{part}.parquet")
    return folder


def test_in_files(in_turns, folder):
    duckdb = pytest.importorskip("duckdb")
    query = f"SELECT rank, count(*) FROM read_parquet('{folder}/*.parquet') GROUP BY rank"
    contenders = {
        "GROUP BY by DuckDB": lambda: duckdb.sql(query).fetchall(),
        "counted by DuckDB": lambda: RankCounts.from_frame(folder, 101),
    }
    rows, counts = in_turns(contenders, case="101, in Parquet files").values()
    assert len(counts) == sum(n for _, n in rows)


def test_metrics_are_those_of_the_ranks():
    column = some_ranks(10**6, 10_000)
    exact = [metric(rs.Ranks(column, 10_000)).mean() for metric in PAPER]
    assert every_metric_of_the_paper(column, 10_000) == pytest.approx(exact, rel=1e-12)
