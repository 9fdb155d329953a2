"""The kernels of the chapters' tests, forked or not, fail where an ordinary kernel fails.

But for pictures, which the forked ones do not draw.
"""

import os
import re
import subprocess
import sys

import chapters
import nbformat
import pytest

KERNEL = chapters.ROOT / "tests/kernels/forked/kernel.py"
DRAW = "import matplotlib.pyplot as plt; "
CHAPTERS = {
    "good": [
        "import os, numpy as np; x = np.arange(3)",
        f"{DRAW}plt.plot(x);",
        "assert 'x' in dir()",
    ],
    "names": ["assert not {'plt', 'pd', 'np', 'rs'} & set(dir())", "plt.plot([1, 2])"],
    "picture": ["1", DRAW + r"plt.plot([1, 2]); plt.xlabel(r'$\bad{$');"],
    "warns": ["1", "import warnings; warnings.warn('as an error')"],
    "dies": ["1", "import os; os._exit(3)"],
    "slow": ["1", "import time; time.sleep(60)"],
}


@pytest.mark.parametrize("forked", [True, False])
def test_a_kernel_fails_where_an_ordinary_one_does(forked, tmp_path):
    for name, cells in CHAPTERS.items():
        cells = [nbformat.v4.new_code_cell(code) for code in cells]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    pytest_alone = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull]
    options = ["--nbval-lax", "--nbval-kernel-name=forked", "--nbval-cell-timeout=15"]
    run = subprocess.run(
        [sys.executable, KERNEL] * forked + [*pytest_alone, *options, tmp_path],
        env={**os.environ, "JUPYTER_PATH": str(chapters.ROOT / "tests"), "PYTHONWARNINGS": "error"},
        capture_output=True,
        encoding="utf-8",
    )
    assert run.returncode == 1, run.stderr
    failed = re.findall(r"FAILED .*?(\w+)\.ipynb::Cell (\d)", run.stdout)
    good = {"good", "picture"} if forked else {"good"}
    assert failed == [(name, "1") for name in sorted({*CHAPTERS} - good)], run.stdout
    assert (
        f"{len(failed)} failed, {sum(map(len, CHAPTERS.values())) - len(failed)} passed"
        in run.stdout
    )
