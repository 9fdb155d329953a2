"""Counts of ranks: beside `numpy.bincount` on the same array, and in Parquet files by DuckDB.

    python -m pytest benchmarks/test_counts.py --benchmark-only

RECSAMPLE_ROWS sets the number of ranks, by default 10^8: 1 GB of memory for the array, and 0.1 GB
of files.
"""

import os

import numpy as np
import pytest

import recsample as rs
from recsample import AP, AUC, NDCG, Precision, RankCounts, Recall

ROWS = int(float(os.environ.get("RECSAMPLE_ROWS", 1e8)))
PAPER = [AUC, Precision @ 10, Recall @ 10, AP, NDCG, NDCG @ 10]


def some_ranks(rows, n_items, seed=0):
    """Ranks with more of them near the top."""
    return 1 + np.floor(n_items * np.random.default_rng(seed).random(rows) ** 3).astype(np.int64)


@pytest.fixture(scope="module", params=[101, 10_000, 1_000_000], ids="n={:,}".format)
def ranks(request):
    return some_ranks(ROWS, request.param), request.param


def test_bincount(benchmark, ranks):
    """What everything else here is compared with."""
    benchmark.group = f"n = {ranks[1]:,}"
    benchmark.pedantic(np.bincount, ranks[:1], rounds=5)


def test_every_metric_of_the_paper(benchmark, ranks):
    benchmark.group = f"n = {ranks[1]:,}"

    def means():
        counts = RankCounts.of(*ranks)
        return [counts.mean(metric) for metric in PAPER]

    found = benchmark.pedantic(means, rounds=5)
    assert found[1] == pytest.approx((ranks[0] <= 10).mean() / 10, rel=1e-9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sampled ranks of as many users in ten files."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("ranks")
    for part in range(10):
        table = pa.table({"rank": some_ranks(ROWS // 10, 101, seed=part)})
        parquet.write_table(table, folder / f"part-{part}.parquet")
    return folder


def test_counted_in_parquet_files(benchmark, folder):
    pytest.importorskip("duckdb")
    benchmark.group = "Parquet"
    counts = benchmark.pedantic(RankCounts.from_frame, (folder, 101), rounds=3)
    assert len(counts) == ROWS // 10 * 10


def test_a_draw_for_every_instance(benchmark, ranks):
    values, n_items = ranks
    if n_items < 10_000:
        pytest.skip("these are ranks among 101 items")
    benchmark.group = f"n = {n_items:,}"
    counts = RankCounts.of(values, n_items)
    sampled = benchmark.pedantic(rs.UniformSampling(100).draw, (counts, 0), rounds=1)
    assert len(sampled) == ROWS
