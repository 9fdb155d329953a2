"""A room opens what is in it when it is asked for, as its stub says."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import lazy_loader


def opened(room: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the room whose ``__init__.py`` is `file`.

    What the stub beside it imports, ``from .module import name``, is there. What it assigns,
    ``name = recsample.room.module.name``, has moved there: the old name goes on working.
    """
    load, names_of, public = lazy_loader.attach_stub(room, file)
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    moved = {
        target.id: ast.unparse(line.value)
        for line in stub.body
        if isinstance(line, ast.Assign)
        for target in line.targets
        if isinstance(target, ast.Name)
    }

    def found(name: str) -> Any:
        if name not in moved:
            return load(name)
        module, _, attribute = moved[name].rpartition(".")
        return getattr(import_module(module), attribute)

    return found, lambda: sorted([*names_of(), *moved]), [*public, *moved]
