"""Runs the tests that compute as another processor would: `make kernels`.

NumPy and OpenBLAS choose among their kernels by the processor, and each kernel rounds in its own
way. What a test finds on this machine, it may miss by a digit on the next one. So the files of
tests in which a tolerance stands run again with each of the kernels below, and once with two
threads of linear algebra. With names as arguments, only those runs. A kernel that this machine
lacks is named and left out.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOLERANCE = re.compile(r"approx\(|allclose|isclose|\de-\d")

# From an Intel of 2006 to one of 2017, and an AMD. Beside them NumPy may use nothing newer than
# AVX2, as on a laptop; in the run "baseline", nothing beyond what every build takes for granted.
CORES = ["Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX"]

FEATURES = """
from numpy._core import _multiarray_umath as numpy
print(*[name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name]])
"""
CHOSEN = """
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
print(*{pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"})
"""


def runs():
    """What each run sets in the environment, by its name, or why it cannot be here."""
    features = said(FEATURES).split()
    modern = [name for name in features if name.startswith("AVX512") or name == "X86_V4"]
    found = {"threads": {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}}
    found["baseline"] = without(features) or "this NumPy has one kernel only here"
    found["avx2"] = without(modern) or "this machine has no AVX-512"
    own, before = said(CHOSEN), set()
    for core in CORES:
        setting = {"OPENBLAS_CORETYPE": core}
        taken = said(CHOSEN, setting)  # OpenBLAS has other names for some: Prescott's is Katmai
        if taken.strip() == core or taken not in {own, *before}:
            found[core.lower()] = setting | without(modern)
        else:
            found[core.lower()] = f"OpenBLAS takes {taken.strip() or 'no kernel'} in its place"
        before.add(taken)
    return found


def without(features):
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(features)} if features else {}


def said(code, setting=()):
    command = [sys.executable, "-c", code]
    environment = os.environ | dict(setting)
    return subprocess.run(
        command, env=environment, capture_output=True, check=True, encoding="utf-8"
    ).stdout


def computing():
    """The files of tests that compare numbers up to rounding."""
    around = {ROOT / "tests/tools", ROOT / "tests/built"}
    return sorted(
        str(f.relative_to(ROOT))
        for f in ROOT.glob("tests/**/test_*.py")
        if f.parent not in around and TOLERANCE.search(f.read_text(encoding="utf-8"))
    )


def main(names):
    found, failed = runs(), []
    unknown = set(names) - set(found)
    if unknown:
        sys.exit(f"there are the runs {', '.join(found)}, got {', '.join(sorted(unknown))}")
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadscope"]
    for name in names or found:
        setting = found[name]
        if isinstance(setting, str):
            print(f"{name}: left out, {setting}", flush=True)
            continue
        print(
            f"{name}: {' '.join(f'{key}={value!r}' for key, value in setting.items())}", flush=True
        )
        if subprocess.run(pytest + computing(), cwd=ROOT, env=os.environ | setting).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed with {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
