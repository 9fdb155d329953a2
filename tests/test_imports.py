"""Which packages there are, and that imports lead one way: the core never needs the second tier."""

import ast
import re
from pathlib import Path

import recsample

PACKAGE = Path(recsample.__file__).parent
BOOK = Path(__file__).parents[1] / "book"
# Each package or module with those that it may import. `_support` is open to all.
CORE = {
    "_support": "",
    "ranks": "",
    "metrics": "ranks",
    "sampling": "ranks metrics",
    "corrections": "ranks metrics sampling",
    "datasets": "ranks",
    "recommenders": "ranks",
    "experiments": "ranks metrics sampling corrections datasets",
    "plotting": "",
}
SECOND_TIER = {
    "inference": "ranks metrics sampling corrections",
    "evaluation": "ranks metrics sampling corrections inference",
}
MAY_IMPORT = CORE | SECOND_TIER
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if not path.match("recsample/__*__.py")]


def imported(path, anywhere=False):
    """What a module imports from this package when it is loaded, or anywhere in its code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if anywhere else tree.body:
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("recsample."):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_the_packages_are_these_and_no_more():
    beside = {"__init__.py", "__init__.pyi", "__main__.py", "__pycache__", "py.typed", "data"}
    found = {path.name for path in PACKAGE.iterdir()} - beside
    assert {name.removesuffix(".py") for name in found} == set(MAY_IMPORT)


def test_imports_lead_one_way():
    wrong = []
    for path in MODULES:
        allowed = {package_of(path), "_support", *MAY_IMPORT[package_of(path)].split()}
        for name in imported(path):
            if name.split(".")[1] not in allowed or name.split(".")[-1].startswith("_"):
                wrong.append((path, name))
    assert wrong == []


def test_the_core_never_imports_the_second_tier():
    assert not set(" ".join(CORE.values()).split()) & set(SECOND_TIER)
    wrong = [
        (path, name)
        for path in MODULES
        if package_of(path) in CORE
        for name in imported(path, anywhere=True)
        if name.split(".")[1] in SECOND_TIER
    ]
    assert wrong == []


def test_packages_name_chapters_that_exist():
    for path in PACKAGE.rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        for listed in re.findall(r"^Chapters: ([\w,\s]+)\.$", text, re.M):
            assert all((BOOK / f"{name}.md").exists() for name in re.split(r",\s+", listed)), path
