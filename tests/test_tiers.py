"""The core needs NumPy and SciPy only, and never imports what is built on it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import recsample

PACKAGE = Path(recsample.__file__).parent
CORE = ["ranks", "metrics", "sampling", "corrections", "recommenders", "datasets", "experiments"]
SECOND = {"inference", "evaluation", "engines", "command_line"}
NEEDED_ELSEWHERE = {"pandas", "matplotlib", "implicit", "pooch", "requests", "tqdm"}


def modules_of(name):
    """The names of the modules of a package, or of a module, without that of the engines."""
    paths = sorted((PACKAGE / name).rglob("*.py")) or [PACKAGE / f"{name}.py"]
    names = {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in paths}
    dotted = sorted(name.removesuffix("/__init__").replace("/", ".") for name in names)
    return [name for name in dotted if not SECOND & set(name.split("."))]


def imported(path):
    """Every module or name of this package that a file imports, at its head or in a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_core_loads_without_the_second_tier():
    modules = [f"recsample.{module}" for name in CORE for module in modules_of(name)]
    code = "import sys; from importlib import import_module as load; "
    code += f"[load(name) for name in {modules}]; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    loaded = found.stdout.split()
    assert {*modules} <= {*loaded}
    for module in loaded:
        package, *parts = module.split(".")
        assert package not in NEEDED_ELSEWHERE
        assert package != "recsample" or not SECOND & set(parts)


@pytest.mark.parametrize("name", CORE)
def test_no_function_of_the_core_imports_the_second_tier(name):
    for module in modules_of(name):
        path = PACKAGE / module.replace(".", "/")
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        found = [one.split(".") for one in imported(file)]
        assert found
        wrong = [".".join(one) for one in found if one[0] == "recsample" and SECOND & set(one[1:])]
        assert not wrong, file
