"""Writes what a run of the benchmarks measured into the book, one small file for each topic.

A benchmark is a test in a file bench_<topic>.py that says in `benchmark.extra_info` what was
measured: any columns, of which `case` and `contender` are looked for by the book. The least of its
rounds is kept, with the machine, the versions and the date, in book/data/benchmarks/<topic>.json,
or in <topic>_<n>_threads.json where these are several.
"""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

KEPT = Path(__file__).parents[1] / "book/data/benchmarks"
LIBRARIES = "numpy scipy numba threadpoolctl duckdb implicit recometrics pytest-benchmark".split()


def pytest_benchmark_update_json(config, benchmarks, output_json):
    """Called by pytest-benchmark when everything has been measured."""
    topics = {}
    for one in output_json["benchmarks"]:
        topic = Path(one["fullname"].partition("::")[0]).stem.removeprefix("bench_")
        row = one["extra_info"] | {"seconds": float(f"{one['stats']['min']:.4g}")}
        topics.setdefault(topic, []).append(row)
    about = {
        "date": output_json["datetime"][:10],
        "processor": output_json["machine_info"]["cpu"].get("brand_raw", platform.machine()),
        "threads": int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())),
        "python": platform.python_version(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    several = "" if about["threads"] == 1 else f"_{about['threads']}_threads"
    for topic, rows in topics.items():
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        head = json.dumps(about, indent=1).removesuffix("\n}")
        (KEPT / f"{topic}{several}.json").write_text(
            f'{head},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8"
        )


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
