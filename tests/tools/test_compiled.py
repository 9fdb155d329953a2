"""Compiled code, in a Python of its own: elsewhere the tests keep Numba from compiling."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [f"tests/ranks/test_{name}.py" for name in ("standings", "thresholds", "order")]


@pytest.mark.skipif(not find_spec("numba"), reason="Numba is not installed")
def test_compiled_code_ranks_as_numpy_does():
    command = [sys.executable, "-m", "pytest", "-q", "-k", "compiled", *FILES]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert run.returncode == 0 and "skipped" not in run.stdout, run.stdout
