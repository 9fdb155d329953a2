"""What only a process of its own can show: its streams, its status, its warnings."""

import os
import subprocess
import sys

import pytest

REPORT = "report x.csv --rank rank --m 5 --items 99 --drawn uniform".split()


@pytest.fixture
def ranks(tmp_path, monkeypatch):
    """A file of ranks in the folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("rank\n1\n2\n", encoding="utf-8")


def in_shell(*arguments, stdout, **environment):
    """The command in a process of its own: status and errors."""
    command = [sys.executable, "-m", "recsample", *map(str, arguments)]
    found = subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, env=os.environ | environment, timeout=60
    )
    return found.returncode, found.stderr.decode()


@pytest.mark.parametrize(
    ("asked", "unbuffered"), [([*REPORT, "--format", "json"], ""), (["--version"], "1")]
)
def test_a_closed_pipe_ends_quietly(ranks, asked, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        found = in_shell(*asked, stdout=writer, PYTHONUNBUFFERED=unbuffered)
        assert found == (0, "")
    finally:
        os.close(writer)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_an_output_that_takes_nothing_is_said(ranks):
    with open("/dev/full", "w", encoding="utf-8") as full:
        status, err = in_shell(*REPORT, stdout=full, PYTHONUNBUFFERED="")
    assert status == 2 and err.count("\n") == 1
    assert err.startswith("recsample: error: the output must go where it can be written: ")


def test_a_name_that_the_output_cannot_show_is_said(tmp_path):
    (tmp_path / "x.csv").write_text("user,model,rank\n1,é,1\n2,é,2\n", encoding="utf-8")
    asked = "--m 5 --items 99 --drawn uniform --user user --model model --metrics auc".split()
    status, err = in_shell(
        "report", tmp_path / "x.csv", *asked, stdout=subprocess.PIPE, PYTHONIOENCODING="ascii"
    )
    assert status == 2 and err.count("\n") == 1 and "'ascii' codec can't encode" in err


def test_fit_does_not_warn_in_a_fresh_interpreter():
    # implicit warns of BLAS threads once per process, so only a fresh one can tell.
    code = (
        "from recsample.datasets import make_interactions\n"
        "from recsample.recommenders import MatrixFactorization\n"
        "MatrixFactorization(2, n_iterations=2).fit(make_interactions(10, 40, 200).train)\n"
    )
    filters = ["-W", "error::RuntimeWarning", "-W", "ignore::EncodingWarning"]
    done = subprocess.run(
        [sys.executable, *filters, "-c", code],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
