"""The package where an index has 32 bits: its examples in Pyodide, which is Python in a browser.

Node runs it here. NumPy converts no 64-bit integer to an index of 32 bits, so what a 64-bit machine
takes as an index can be a TypeError there.
"""

import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import examples
import pytest
from packaging.requirements import Requirement

# What the examples use beside what the package requires: a part of Pyodide, or copied from here.
LOADED = {"matplotlib", "pandas", "threadpoolctl"}
COPIED = {"jinja2", "markupsafe", "tqdm"}

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def node():
    found = shutil.which("node")
    if not found:
        pytest.skip("Node, which runs Pyodide, is not installed")
    return found


@pytest.fixture(scope="module")
def outcomes(node, pyodide, site, tmp_path_factory):
    """What became of the examples of each module."""
    folder = tmp_path_factory.mktemp("pyodide")
    shutil.copytree(site, folder, dirs_exist_ok=True)
    for name in ["examples.py", "large.py"]:
        shutil.copy(HERE / name, folder)
    parts = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    for name in sorted((required() | COPIED) - set(parts)):
        source = Path(importlib.util.find_spec(name.replace("-", "_")).origin).parent
        shutil.copytree(source, folder / source.name)
    loaded = sorted((required() | LOADED) & set(parts))
    process = subprocess.run(
        [node, HERE / "in_pyodide.mjs", pyodide, folder, *loaded],
        capture_output=True,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout.splitlines()[-1])


def required():
    """The names of what the package cannot do without."""
    listed = map(Requirement, importlib.metadata.requires("recsample"))
    return {r.name for r in listed if r.marker is None or r.marker.evaluate({"extra": ""})}


def test_the_examples_run_where_an_index_has_32_bits(outcomes):
    failed = [line for found in outcomes.values() for line in found["failed"]]
    assert not failed, "\n".join(failed)


def test_few_examples_are_left_out(outcomes):
    left_out = sum(len(found["left out"]) for found in outcomes.values())
    assert sum(found["passed"] for found in outcomes.values()) > max(100, 15 * left_out)


def test_examples_that_fail_are_found(tmp_path, monkeypatch):
    modules = {
        "__init__": ">>> 1 + 1\n2",
        "wrong": ">>> 1 + 1\n3",
        "raises": ">>> [].index(1)",
        "absent": ">>> import implicit_is_absent",
    }
    for name, example in modules.items():
        path = tmp_path / "faulty" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'"""\n{example}\n"""\n', encoding="utf-8")
    path.with_name("broken.py").write_text("import faulty.nowhere\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = json.loads(examples.outcomes("faulty"))
    assert found["faulty"] == {"passed": 1, "failed": [], "left out": []}
    assert [name for name in found if found[name]["failed"]] == [
        "faulty.broken",
        "faulty.raises",
        "faulty.wrong",
    ]
    assert found["faulty.wrong"]["failed"] == ["faulty.wrong: 1 + 1 gave 2"]
    assert [name for name in found if found[name]["left out"]] == ["faulty.absent"]
