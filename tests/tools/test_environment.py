"""What `make` says where Python will not do, and the lock, without installing it."""

import re
import subprocess
import sys

import chapters
import pytest
from packaging.requirements import Requirement

LOCK = (chapters.ROOT / "requirements.lock").read_text(encoding="utf-8")


def make(*words):
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, cwd=chapters.ROOT, capture_output=True, encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("version_info = 3, 9, 18", "recsample needs Python 3.10 to 3.14. {} is: Python 3.9.18"),
        ("version_info = 3, 15, 0", "recsample needs Python 3.10 to 3.14. {} is: Python 3.9.18"),
        ("modules['ensurepip'] = None", "{} cannot make virtual environments, see above."),
    ],
)
def test_refuses_a_python_that_will_not_do(tmp_path, change, said):
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ntest "$1" = --version && echo Python 3.9.18 && exit\n'
        f'exec {sys.executable} -c "import sys; sys.{change}; $2"\n',
        encoding="utf-8",
    )
    python.chmod(0o755)
    done = make("environment", f"PYTHON={python}", f"VENV={tmp_path / 'environment'}")
    assert done.returncode and said.format(python) in done.stderr
    assert not (tmp_path / "environment").exists()


@pytest.mark.parametrize(("words", "pins"), [([], ".lock"), (["LOCK="], ".txt")])
def test_every_version_is_that_of_the_lock_unless_it_is_left_out(tmp_path, words, pins):
    planned = make("-n", "environment", f"VENV={tmp_path / 'environment'}", *words).stdout
    assert planned.count(f"--constraint requirements{pins}") == planned.count("uv pip install") == 2
    assert f"requirements{pins} > {tmp_path}" in planned  # with which pip installs uv


def asked():
    """What the lists ask for; RecTools is pinned there, and contradicts the rest."""
    for name in ["requirements.txt", "requirements-peers.txt"]:
        for line in (chapters.ROOT / name).read_text(encoding="utf-8").splitlines():
            if (bare := line.split("#")[0].strip()) and not bare.startswith("--no-deps"):
                yield Requirement(bare)
    text = (chapters.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.split("\ndependencies = ")[1].split("[project.urls]")[0]
    yield from map(Requirement, re.findall(r'"([\w\[\]]+>=[^"]+)"', listed))


def test_the_lock_has_versions_that_the_lists_allow():
    locked = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", LOCK, re.M):
        locked.setdefault(name, []).append(version)
    assert len(list(asked())) > 35
    for one in asked():
        versions = locked.get(one.name.replace("_", "-").lower(), [])
        allowed = [one.specifier.contains(version, prereleases=True) for version in versions]
        # Where a marker asks for a version on some Pythons, others may have another one.
        assert (any if one.marker else all)(allowed) and allowed, f"{one}: make lock"


def test_the_lock_has_hashes_and_names_no_place():
    pins = re.findall(r"^[\w.-]+==.*\n(.*)", LOCK, re.M)
    assert len(pins) > 150 and all(line.startswith("    --hash=sha256:") for line in pins)
    assert "/" not in LOCK and "@" not in LOCK and "index" not in LOCK
