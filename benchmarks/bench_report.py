"""A report of a column of sampled ranks, beside the same as counts and `numpy.bincount`."""

import numpy as np
import pytest
from bench_counts import some_ranks

import recsample as rs


@pytest.mark.parametrize("n", [10**4, 10**5, 10**6, 10**7])
@pytest.mark.parametrize("contender", ["numpy.bincount", "report", "report of counts"])
def test_report_of_a_column(benchmark, n, contender):
    benchmark.extra_info |= {"case": f"a column of {n:,}", "contender": contender}
    column, drawn = some_ranks(n, 101), {"n_items": 10_000, "drawn": "uniform"}
    work = {
        "numpy.bincount": lambda: np.bincount(column),
        "report": lambda: rs.report(column, m=100, **drawn).table,
        "report of counts": lambda: rs.report(rs.RankCounts.of(column, 101), **drawn).table,
    }
    benchmark.pedantic(work[contender], rounds=3)
