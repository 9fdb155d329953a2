"""Measures contenders in turns, and writes the least time of each into the book.

A benchmark is a test in a file bench_<topic>.py that hands what is to be compared to `in_turns`.
The first contender is the limit that nobody can avoid, by whose time all others are divided; where
there is only one contender, it is the first of the topic. What was measured is kept, with the
machine, the versions and the date, in recsample/data/records/<topic>.json, or
<topic>_<n>_threads.json.

With --check nothing is written: ratios more than 1.5 times those kept fail. With --scale 0.01 sizes
are so much smaller, and nothing is written or compared: to see whether all of it works.
"""

import datetime
import json
import os
import platform
import resource
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

KEPT = Path(__file__).parents[1] / "recsample/data/records"
LIBRARIES = (
    "numpy scipy pandas polars numba threadpoolctl duckdb implicit recometrics rectools ranx "
    "ir-measures"
).split()
# A contender is called again in the next turn until it took so many seconds, and no more than this.
ENOUGH, TURNS = 4.0, 10
SLOWER = 1.5
THREADS = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
measured = {}


def pytest_addoption(parser):
    parser.addoption("--check", action="store_true", help="compare ratios with those kept")
    parser.addoption("--scale", type=float, default=1.0, help="of the sizes, to try the benchmarks")


@pytest.fixture(scope="session")
def scale(request):
    """Makes a size smaller where the benchmarks are only tried."""
    return lambda size: max(20, round(size * request.config.getoption("--scale")))


@pytest.fixture
def in_turns(request):
    """Calls contenders in turns, keeps the least time of each, and returns what they returned."""

    def measure(contenders, *given, more=None, **about):
        rows, found, spent = {}, {}, dict.fromkeys(contenders, 0.0)
        for _ in range(TURNS):
            for name, contender in contenders.items():
                if spent[name] < ENOUGH:
                    before = _clocks()
                    found[name] = contender(*given)
                    seconds, cpu = (b - a for a, b in zip(before, _clocks()))
                    spent[name] += seconds
                    row = rows.setdefault(name, {"seconds": seconds, "cpu": cpu})
                    row |= {"seconds": min(seconds, row["seconds"]), "cpu": min(cpu, row["cpu"])}
        topic = measured.setdefault(request.path.stem.removeprefix("bench_"), [])
        first = rows[next(iter(rows))] if len(rows) > 1 or not topic else topic[0]
        for name, row in rows.items():
            row["times"] = row["cpu"] / first["cpu"]
            row = {what: float(f"{value:.4g}") for what, value in row.items()}
            topic.append(about | {"contender": name} | (more or {}).get(name, {}) | row)
        return found

    return measure


def _clocks():
    """The time, and that of the processor for this process and those it has started."""
    of_others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), time.process_time() + of_others.ru_utime + of_others.ru_stime


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    config = session.config
    if config.getoption("--scale") != 1:
        return
    for topic, rows in measured.items():
        file = KEPT / (f"{topic}.json" if THREADS == 1 else f"{topic}_{THREADS}_threads.json")
        if not config.getoption("--check"):
            _write(file, rows)
        elif slower := _slower(file, rows):
            config.get_terminal_writer().write(f"\nSlower than in {file.name}: {slower}\n")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _write(file, rows):
    about = {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "threads": THREADS,
        "python": platform.python_version(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
    }
    lines = ",\n  ".join(map(json.dumps, rows))
    head = json.dumps(about, indent=1).removesuffix("\n}")
    file.write_text(f'{head},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


def _slower(file, rows):
    """What takes more than 1.5 times as many limits as was kept."""
    kept = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []
    before, now = ({_what(row): row.get("times") for row in of} for of in (kept, rows))
    both = ((what, before.get(what), times) for what, times in now.items())
    return [f"{', '.join(w)}: {t:.2f}, was {b:.2f}" for w, b, t in both if b and t > SLOWER * b]


def _what(row):
    return tuple(str(row[name]) for name in row if name not in ("seconds", "cpu", "times"))


def _processor():
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
