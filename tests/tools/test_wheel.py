"""The wheel is the whole package and the source archive the whole project, installed elsewhere.

An editable install reads the source tree, so whatever they lack shows nowhere else.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import chapters
import pytest
from markdown_it import MarkdownIt

# Where each module was imported from.
IMPORT_ALL = """\
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import recsample
names = [found.name for found in pkgutil.walk_packages(recsample.__path__, "recsample.")]
modules = [recsample, *map(importlib.import_module, names)]
print(json.dumps({module.__name__: module.__file__ for module in modules}))
"""


def module_name(file):
    """What the source file recsample/a/b.py is imported as."""
    parts = Path(file).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_module_is_imported_from_where_the_wheel_was_installed(sources, site, tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, site], cwd=tmp_path, check=True, stdout=subprocess.PIPE
    )
    expected = {module_name(file): str(site / file) for file in sources if file.endswith(".py")}
    assert len(expected) > 20
    assert json.loads(found.stdout) == expected


def test_data_and_types_come_along(sources, site):
    others = [file for file in sources if not file.endswith(".py")]
    assert {"recsample/py.typed", "recsample/data/recorded_ranks.npz"} <= set(others)
    for file in others:
        assert (site / file).read_bytes() == (chapters.ROOT / file).read_bytes(), file


def test_nothing_else_is_in_the_wheel(sources, wheel):
    files = [file for file in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in file]
    assert sorted(files) == sorted(sources)


# The source archive


def test_the_archive_is_what_is_committed(committed, archive):
    with tarfile.open(archive) as packed:
        files = {one.name.split("/", 1)[1] for one in packed.getmembers() if one.isfile()}
    made = {name for name in files if ".egg-info/" in name} | {"PKG-INFO", "setup.cfg"}
    assert files - made == set(committed)


def test_the_archive_passes_its_own_tests_where_it_is_installed(archive, tmp_path):
    """In an empty environment, then with the other libraries that its tests take from this one."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    project = tmp_path / archive.name.removesuffix(".tar.gz")
    here = {one.name: one.version for one in metadata.distributions() if one.name != "recsample"}
    pins = "\n".join(f"{name}=={version}" for name, version in here.items())
    (tmp_path / "here.txt").write_text(pins, encoding="utf-8")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env/bin/python"

    def run(*arguments):
        ours = ("PYTHONPATH", "PYTEST_")  # of the run that this is part of
        environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        command = [python, *arguments]
        # Not in the project, where Python would import the sources in place of what is installed.
        done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
        output = done.stdout.decode()
        assert done.returncode == 0, output
        return output

    run("-m", "pip", "install", "--quiet", "--constraint", "here.txt", archive)
    assert run("-c", "import recsample as rs; print(rs.AUC(rs.Ranks([1], 9)))") == "[1.]\n"
    packages = run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(packages) / "here.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    program = Path(sys.executable).with_name("pytest")
    options = ["-c", project / "pyproject.toml", "-n", "2", "--dist", "loadscope"]
    run(program, *options, project / "tests", "--pyargs", "recsample")


# What a registry shows


@pytest.fixture(scope="module")
def shown(site):
    (found,) = metadata.distributions(path=[str(site)])
    return found.metadata


def test_no_link_or_picture_of_the_description_needs_the_files_beside_it(shown):
    assert shown["Description-Content-Type"] == "text/markdown"
    html = MarkdownIt().render(shown.get_payload())
    addresses = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert addresses
    assert [address for address in addresses if not address.startswith("https://")] == []
