"""Every public name is documented: a summary, what goes in and comes out, an example that runs.

The examples themselves run as tests of their own, see `--doctest-modules` in pyproject.toml.
"""

import doctest
import inspect

import public
import pytest
from numpydoc.validate import validate

DOCUMENTED = public.documented()

# Of numpydoc's checks these are left out, the others all hold.
LEFT_OUT = {
    "ES01",  # an extended summary: where the summary says it all, more would be padding
    "SA01",  # a "See Also": the module's page shows the neighbours
    "GL07",  # the order of sections: numpydoc itself puts them in order
    "PR07",  # a description of each parameter: "ranks : Ranks" can be enough
    "RT03",  # the same for what is returned
    "SS05",  # a verb in the infinitive: it takes nouns in the plural for verbs
}

# A protocol is not called: its parameters are those of any class that has its methods.
PROTOCOLS = {"recsample.sampling.base.HasLaw": {"PR01"}}


def lacking(name):
    """What numpydoc finds wrong with the docstring of a name."""
    left_out = LEFT_OUT | PROTOCOLS.get(name, set())
    return [message for code, message in validate(name)["errors"] if code not in left_out]


@pytest.mark.thorough
def test_docstrings_are_complete():
    assert len(DOCUMENTED) > 100
    assert {name: found for name in DOCUMENTED if (found := lacking(name))} == {}


def test_docstrings_have_an_example():
    examples = doctest.DocTestParser().get_examples
    assert [name for name, o in DOCUMENTED.items() if not examples(inspect.getdoc(o))] == []
