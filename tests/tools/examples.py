"""The examples in docstrings, run without pytest: in Pyodide, where there is none.

`outcomes` is run there by in_pyodide.mjs, and here by test_pyodide.py on a package with faults.
"""

import doctest
import importlib
import json
import pkgutil
import traceback

# What is no part of Pyodide: an example that needs one of them is left out.
ABSENT = ("implicit", "jinja2", "narwhals", "pooch", "pyarrow", "tabulate")


class Checker(doctest.OutputChecker):
    """Where integers have 32 bits by default, NumPy says so of those that have 64."""

    def check_output(self, want, got, optionflags):
        return super().check_output(want, got.replace(", dtype=int64", ""), optionflags)


def outcomes(package, *others):
    """As JSON, for every module how many docstrings passed, which failed and which were left out.

    A module that cannot be imported has failed as a whole. Other modules may follow the package.
    """
    root = importlib.import_module(package)
    names = [found.name for found in pkgutil.walk_packages(root.__path__, f"{package}.")]
    return json.dumps({name: of_module(name) for name in [package, *names, *others]})


def of_module(name):
    found = {"passed": 0, "failed": [], "left out": []}
    try:
        tests = doctest.DocTestFinder().find(importlib.import_module(name))
    except Exception as error:
        found["failed"].append(f"import {name}: {where(error)}")
        return found
    for test in filter(lambda test: test.examples, tests):
        try:
            doctest.DebugRunner(Checker(), verbose=False).run(test)
        except doctest.DocTestFailure as failure:
            line, got = failure.example.source.strip(), failure.got.strip()
            found[kind(got)].append(f"{test.name}: {line} gave {got}")
        except doctest.UnexpectedException as unexpected:
            _, error, _ = unexpected.exc_info
            found[kind(str(error))].append(f"{test.name}: {where(error)}")
        else:
            found["passed"] += 1
    return found


def kind(said):
    """Whether an example that says this has failed, or lacks what it needs."""
    lacks = any(
        f"No module named '{name}" in said or f"{name} is needed here and is not installed" in said
        for name in ABSENT
    )
    return "left out" if lacks else "failed"


def where(error):
    """An exception, and the last line of the package on its way."""
    steps = traceback.extract_tb(error.__traceback__)
    places = [f"{step.filename}:{step.lineno}" for step in steps if "recsample/" in step.filename]
    return f"{type(error).__name__}: {error} ({', '.join(places[-1:])})"
