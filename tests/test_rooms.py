"""The house: which rooms there are, what each promises, and that imports lead one way."""

import ast
import re
from pathlib import Path

import pytest

import recsample

HOUSE = Path(recsample.__file__).parent
BOOK = Path(__file__).parents[1] / "book"
# Each room with those that it may import. `_support` is open to all.
BELOW = {
    "_support": "",
    "ranks": "",
    "metrics": "ranks",
    "sampling": "ranks metrics",
    "corrections": "ranks metrics sampling",
    "datasets": "ranks",
    "inference": "ranks metrics sampling corrections datasets",
    "evaluation": "ranks metrics sampling corrections inference",
    "experiments": "ranks metrics sampling corrections inference datasets",
    "recommenders": "ranks",
    "plotting": "",
}
MODULES = [
    path for path in sorted(HOUSE.rglob("*.py")) if path.parent != HOUSE or "_" not in path.name
]
ROOMS = [path for path in HOUSE.rglob("__init__.py") if path.parent != HOUSE]


def imported(path):
    """What a module imports from this package when it is loaded: pairs of module and name."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("recsample."):
            yield from ((node.module, alias.name) for alias in node.names)


def test_the_rooms_are_these_and_no_more():
    beside = {"__init__.py", "__init__.pyi", "__main__.py", "__pycache__", "py.typed", "data"}
    found = {path.name for path in HOUSE.iterdir()} - beside
    assert {name.removesuffix(".py") for name in found} == set(BELOW)
    inside = [path for path in MODULES if path.name.startswith("_") and path.name != "__init__.py"]
    assert inside == []


def test_imports_lead_one_way():
    wrong = []
    for path in MODULES:
        room = path.relative_to(HOUSE).with_suffix("").parts[0]
        for module, name in imported(path):
            other = module.split(".")[1]
            if other not in {room, "_support", *BELOW[room].split()} or name.startswith("_"):
                wrong.append((path, module, name))
    assert wrong == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: path.parent.name)
def test_a_room_says_what_it_promises_and_in_which_chapters(room):
    said = ast.get_docstring(ast.parse(room.read_text(encoding="utf-8")))
    assert said.splitlines()[0].endswith(".")
    if room.parent.name != "_support":  # no reader asks for it
        chapters = re.search(r"^Chapters: ([\w,\s]+)\.$", said, re.M)[1]
        assert all((BOOK / f"{name}.md").exists() for name in re.split(r",\s+", chapters))
