"""The types of the public API are complete.

That they are of use to those who check their own code, tests/tools/test_typed_study.py shows.
"""

import inspect
from pathlib import Path

import public
import pytest

ROOT = Path(__file__).parents[1]

FUNCTIONS = {
    **{name: o for name, o in public.names().items() if inspect.isfunction(o)},
    **public.members(special=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_and_result_has_a_type(name):
    function = FUNCTIONS[name]
    needed = {*inspect.signature(function).parameters, "return"} - {"self", "cls"}
    assert needed <= set(function.__annotations__)


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "recsample/py.typed").is_file()
    assert '"py.typed"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
