"""The built package, for the tests that install it elsewhere."""

import shutil
import subprocess
import sys

import binder
import chapters
import pytest


@pytest.fixture(scope="session")
def sources():
    """The files of the package that are committed, or would be, as paths within the project."""
    if not (chapters.ROOT / ".git").exists():
        pytest.skip("not a Git checkout, which tells what belongs to the package")
    return [name for name in binder.project_files() if name.startswith("recsample/")]


@pytest.fixture(scope="session")
def wheel(sources, tmp_path_factory):
    """The wheel, built in a copy: a folder `build` in the project would leak into it."""
    project, built = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("built")
    for name in [*sources, "pyproject.toml", "README.md", "LICENSE"]:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(chapters.ROOT / name, project / name)
    pip("wheel", "--no-deps", "--wheel-dir", built, project)
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def site(wheel, tmp_path_factory):
    """A folder with the wheel installed and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    pip("install", "--no-deps", "--target", folder, wheel)
    return folder


def pip(*arguments):
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *quiet, *arguments], check=True)
