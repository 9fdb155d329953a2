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


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("n_items", POOLS)
def test_in_memory(benchmark, n_items, contender):
    if contender.endswith("each") and n_items <= 101:
        pytest.skip("these are ranks among 101 items")
    benchmark.extra_info |= {"case": f"{n_items:,}", "contender": contender}
    given = some_ranks(ROWS, n_items), n_items
    benchmark.pedantic(CONTENDERS[contender], given, rounds=1 if n_items > 10_000 else 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sampled ranks in several files."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("ranks")
    for part in range(FILES):
        table = pa.table({"rank": some_ranks(ROWS // FILES, 101, seed=part)})
        parquet.write_table(table, folder / f"part-{part}.parquet")
    return folder


def test_in_files(benchmark, folder):
    pytest.importorskip("duckdb")
    benchmark.extra_info |= {"case": "101, in Parquet files", "contender": "counted by DuckDB"}
    counts = benchmark.pedantic(RankCounts.from_frame, (folder, 101), rounds=3)
    assert len(counts) == ROWS


def test_metrics_are_those_of_the_ranks():
    column = some_ranks(10**6, 10_000)
    exact = [metric(rs.Ranks(column, 10_000)).mean() for metric in PAPER]
    assert every_metric_of_the_paper(column, 10_000) == pytest.approx(exact, rel=1e-12)
