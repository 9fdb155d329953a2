"""The types of the public API are complete.

That they are of use to those who check their own code, tests/tools/test_typed_study.py shows.
"""

import inspect
from pathlib import Path

import public

ROOT = Path(__file__).parents[1]


def untyped(function):
    """The arguments of a function that have no type, with "return" for what it returns."""
    needed = {*inspect.signature(function).parameters, "return"} - {"self", "cls"}
    return sorted(needed - set(function.__annotations__))


def test_every_argument_and_result_has_a_type():
    functions = {name: o for name, o in public.names().items() if inspect.isfunction(o)}
    functions |= public.members(special=True)
    assert len(functions) > 100
    assert {name: found for name, o in functions.items() if (found := untyped(o))} == {}


def test_what_has_no_type_is_found():
    def f(self, a: int, b, *, c=1): ...

    assert untyped(f) == ["b", "c", "return"]


def test_the_package_says_that_it_is_typed():
    """And the wheel has whatever stands in the package: tests/tools/test_wheel.py."""
    assert (ROOT / "recsample/py.typed").is_file()
    assert '"Typing :: Typed"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
