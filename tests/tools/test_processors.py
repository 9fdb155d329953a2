"""`make kernels`: what it runs here, and what it leaves out where a machine lacks it."""

import os
import subprocess
import sys

import kernels
import pytest


def test_numpy_and_openblas_take_every_run_that_is_made_here():
    """With warnings as errors, as a NumPy that does not know a name refuses to load then."""
    for setting in kernels.runs().values():
        if not isinstance(setting, str):
            command = [sys.executable, "-W", "error", "-c", "import numpy, scipy.linalg"]
            subprocess.run(command, env=os.environ | setting, check=True)


def test_what_a_machine_lacks_is_named(monkeypatch):
    def said(code, setting=()):
        if code == kernels.FEATURES:
            return "X86_V3\n"
        core = dict(setting).get("OPENBLAS_CORETYPE")
        return {"Prescott": "Katmai\n", "Nehalem": "Nehalem\n"}.get(core, "Haswell\n")

    monkeypatch.setattr(kernels, "said", said)
    found = kernels.runs()
    assert {name for name, setting in found.items() if isinstance(setting, str)} == {
        "avx2",
        "sandybridge",
        "zen",
        "skylakex",
    }
    assert found["avx2"] == "this machine has no AVX-512"
    assert found["zen"] == "OpenBLAS takes Haswell in its place"
    assert found["baseline"] == {"NPY_DISABLE_CPU_FEATURES": "X86_V3"}
    assert found["prescott"] == {"OPENBLAS_CORETYPE": "Prescott"}


def test_a_run_that_there_is_not():
    with pytest.raises(SystemExit, match="there are the runs threads, baseline.*got pentium"):
        kernels.main(["pentium"])


def test_what_compares_up_to_rounding_is_run():
    files = kernels.computing()
    assert "tests/sampling/test_large_pools.py" in files
    assert "tests/test_typing.py" not in files and "tests/reference.py" not in files
