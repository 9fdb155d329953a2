"""The built package, for the tests that install it elsewhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import chapters
import pytest

UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="session")
def committed():
    """The files that are committed, or would be, as paths within the project."""
    if not (chapters.ROOT / ".git").exists():
        pytest.skip("not a Git checkout, which tells what belongs to the project")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.check_output(command, cwd=chapters.ROOT, encoding="utf-8").splitlines()
    return [name for name in listed if (chapters.ROOT / name).is_file()]


@pytest.fixture(scope="session")
def sources(committed):
    """Those of the package."""
    return [name for name in committed if name.startswith("recsample/")]


@pytest.fixture(scope="session")
def build(committed, tmp_path_factory):
    """Build a source archive, and a wheel from it, of a copy of the project."""

    def build(name):
        project, folder = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp(name)
        for name in committed:
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(chapters.ROOT / name, project / name)  # as of now
        subprocess.run([UV, "build", "--quiet", "--out-dir", folder, project], check=True)
        return folder

    return build


@pytest.fixture(scope="session")
def built(build):
    return build("built")


@pytest.fixture(scope="session")
def archive(built):
    return next(built.glob("*.tar.gz"))


@pytest.fixture(scope="session")
def wheel(built):
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def site(wheel, tmp_path_factory):
    """A folder with the wheel installed and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel]
    subprocess.run(install, check=True)
    return folder
