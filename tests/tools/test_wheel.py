"""The wheel is the whole package and the source archive the whole project, imported elsewhere.

An editable install reads the source tree, so whatever they lack shows nowhere else.
"""

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata

import chapters
from markdown_it import MarkdownIt

# Where each module was imported from.
IMPORT_ALL = """\
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import recsample
names = [found.name for found in pkgutil.walk_packages(recsample.__path__, "recsample.")]
modules = [recsample, *map(importlib.import_module, names)]
print(json.dumps([module.__file__ for module in modules]))
"""


def test_every_module_is_imported_from_where_the_wheel_was_installed(sources, site, tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, site], cwd=tmp_path, check=True, stdout=subprocess.PIPE
    )
    expected = [str(site / file) for file in sources if file.endswith(".py")]
    assert len(expected) > 20 and sorted(json.loads(found.stdout)) == sorted(expected)


def test_the_wheel_is_the_package_with_its_data_and_types(sources, wheel):
    packed = zipfile.ZipFile(wheel)
    files = [file for file in packed.namelist() if ".dist-info/" not in file]
    assert sorted(files) == sorted(sources)
    for file in files:
        assert packed.read(file) == (chapters.ROOT / file).read_bytes(), file


def test_the_archive_is_what_is_committed(committed, archive):
    with tarfile.open(archive) as packed:
        files = {one.name.split("/", 1)[1] for one in packed.getmembers() if one.isfile()}
    assert files == {"PKG-INFO", *committed}


def test_archive_and_wheel_are_the_same_each_time(build, archive, wheel):
    again = build("again")
    for one in (archive, wheel):
        assert (again / one.name).read_bytes() == one.read_bytes(), one.name


def test_no_link_or_picture_that_a_registry_shows_needs_the_files_beside_it(site):
    (found,) = metadata.distributions(path=[str(site)])
    assert found.metadata["Description-Content-Type"] == "text/markdown"
    html = MarkdownIt().render(found.metadata.get_payload())
    addresses = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert addresses
    assert [address for address in addresses if not address.startswith("https://")] == []
