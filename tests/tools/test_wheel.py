"""The wheel is the whole package: built from what is committed, installed and imported elsewhere.

An editable install reads the source tree, so whatever the wheel lacks shows nowhere else.
"""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import chapters

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
        [sys.executable, "-c", IMPORT_ALL, site],
        cwd=tmp_path,
        check=True,
        stdout=subprocess.PIPE,
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
