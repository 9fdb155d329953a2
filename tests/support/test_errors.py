"""What the package refuses, and how it says so: as data, and in words for Python and for others."""

import ast
import copy
import doctest
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import recsample as rs
from recsample._support.checks import refuse_first
from recsample._support.errors import InputError, Naming
from recsample.evaluation.files import read_file

ranks = rs.Ranks([1, 2, 3], n_items=30)
sampler = rs.UniformSampling(5)
HELD_OUT = pd.DataFrame({"user": [1, 2], "item": [7, 8], "label": [0, 1]})
SCORES = pd.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8] * 2, "score": [0.4, 0.3, 0.2, 0.1]})
REFUSED = {
    "ranks": (
        lambda: rs.Ranks([1, 2.5], 9),
        ("values", "must be whole numbers", "rank 2.5 in instance 1", "where items are tied, "),
    ),
    "choice": (lambda: ranks[5:], ("users", "must choose at least one instance", "none", "")),
    "counts": (
        lambda: rs.RankCounts.of([1, 2]),
        ("n_items", "must be given with a column of ranks", "", "the sizes of the pools"),
    ),
    "scores": (
        lambda: rs.predicted_ranks([1.0, 2.0], [0]),
        ("scores", "must have shape (users, items), neither of them 0", "(2,)", ""),
    ),
    "metric": (
        lambda: rs.metric("ndgc"),
        ("name", "must be that of a metric", "'ndgc'", "nearest: NDCG"),
    ),
    "cut-off": (lambda: rs.Recall @ 0, ("cutoff", "must be a whole number of at least 1", "0", "")),
    "sampler": (
        lambda: rs.UniformSampling(99).draw(ranks, 0),
        ("n_items", "must leave at least 99 irrelevant items to draw m=99 without replacement")
        + ("29 in instance 0", ""),
    ),
    "design": (
        lambda: rs.Observed("no", {}, 9),
        ("design", "must be a Design such as InverseSampling()", "'no'", ""),
    ),
    "correction": (
        lambda: rs.BiasVariance(rs.AP, sampler, 30, gamma=1e-11),
        ("gamma", "must be at least 1e-10 (for less, use MinimalBias)", "1e-11", ""),
    ),
    "data set": (
        lambda: rs.datasets.load_movielens(split="first"),
        ("split", "must be 'paper' or 'last'", "'first'", ""),
    ),
    "experiment": (
        lambda: rs.experiments.printed_table(5),
        ("number", "must be one of the paper's tables, 1 to 4", "5", ""),
    ),
    "inference": (
        lambda: rs.inference.rank_distribution(ranks, "none", 30),
        ("sampler", "must be UniformSampling, such as UniformSampling(100)", "'none'", ""),
    ),
    "report": (
        lambda: rs.report([1, 2], m=5, n_items=30, drawn="uniform", chosen=[0.5, 0.5]),
        ("exact", "must be given with chosen=", "None", ""),
    ),
    "evaluation": (
        lambda: rs.evaluate(SCORES, HELD_OUT),
        ("relevance", "must say what the column 'label' of held_out means: relevance='label' if ")
        + ("neither", ""),
    ),
    "printed numbers": (
        lambda: rs.from_published({"HR@10": 67.1}, m=9, n_items=99, n_users=9, drawn="uniform"),
        ("values", "must be from 0 to 1 for 'HR@10'", "67.1", "of percentages write 67.0%, or "),
    ),
    "figure": (
        lambda: rs.plotting.metric_by_samples(3),
        ("data", "must be one table with one index, such as ", "a int", ""),
    ),
}


@pytest.mark.parametrize("refused, parts", REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_argument_value_and_remedy(refused, parts):
    with pytest.raises(InputError) as caught:
        refused()
    error = caught.value
    assert (error.argument, error.value) == (parts[0], parts[2])
    assert error.allowed.startswith(parts[1]) and error.remedy.startswith(parts[3])
    assert bool(error.remedy) == bool(parts[3])
    message = f"{error.argument} {error.allowed}" + f", got {error.value}" * bool(error.value)
    assert str(error).startswith(message) and str(error).endswith(error.remedy)
    assert str(error)[len(message) :].removesuffix(error.remedy) in ("", ": ", "; ")


def test_it_is_a_value_error_of_the_package_and_its_examples_run():
    assert rs.InputError is InputError and issubclass(InputError, ValueError)
    assert InputError.__module__ == "recsample"
    # Which pytest does not find: the module that it reads is not the one that the error names.
    for documented in (InputError, InputError.got, InputError.told):
        (test,) = doctest.DocTestFinder().find(documented)
        assert test.examples and doctest.DocTestRunner().run(test).failed == 0


def test_parts_that_are_missing_leave_no_trace():
    assert str(InputError("m", "must be given")) == "m must be given"
    assert str(InputError("m", "must be given", remedy="so many")) == "m must be given: so many"
    assert str(InputError("m", "must be given").got(0, "; so many")).endswith("got 0; so many")
    assert str(InputError("", "this is no study").got("")) == "this is no study"


def words(argument, behind):
    return f"<{behind}>" if argument == "None" else f"--{argument}{behind.replace('=', ' ')}"


@pytest.fixture
def named():
    allowed = Naming(
        "must be {None:left out} where {among: is a sampler} and {0} is {1!r}", "{b}", "{"
    )
    remedy = Naming("take {unlisted:='below'}, {run:={name!r}} or {x}", name="{r}", x=Naming("{m}"))
    return InputError("drawn", allowed).got("{drawn}", remedy)


def test_other_arguments_are_named_in_the_words_of_those_who_ask(named):
    """What stands for values is not looked into, whatever braces there are."""
    assert str(named) == (
        "drawn must be None where among is a sampler and {b} is '{', got {drawn}: take "
        "unlisted='below', run='{r}' or m"
    )
    assert named.told(words) == (
        "--drawn must be <left out> where --among is a sampler and {b} is '{', got {drawn}: take "
        "--unlisted 'below', --run '{r}' or --m"
    )
    assert InputError("drawn", "must be {m}").got(None).told(words) == (
        "--drawn must be {m}, got <nothing>"
    )


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
def test_copies_say_the_same(named, copied):
    again = copied(named)
    assert type(again) is InputError and again.args == named.args
    assert (str(again), again.told(words)) == (str(named), named.told(words))
    assert vars(again) == vars(named)


def test_the_first_bad_entry_is_named():
    bad = np.array([[False, True], [True, True]])
    with pytest.raises(InputError) as caught:
        allowed, got = "must be below {n_items} = {1}", "{0} at {at}"
        refuse_first(bad, "a {b}", allowed, got, [[1, 2], [3, 4]], 9, remedy="{c}")
    assert str(caught.value) == "a {b} must be below n_items = 9, got 2 at 1: {c}"
    assert caught.value.told(words).startswith("--a {b} must be below --n_items = 9")


def test_a_line_of_a_file_is_refused_as_an_argument_is(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("user,rank\nann,1\n,2\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_file(str(path), {"user": "user", "rank": "rank"})
    assert str(caught.value).startswith(f"{path}, column 'user', line 3, must be an id")
    assert (caught.value.argument, caught.value.value) == ("", "''")


class Flat:
    def scores(self, users):
        return [1.0]


@pytest.mark.parametrize(
    "refused, argument",
    [
        (lambda: rs.evaluate({"a": [1.0, 2.0]}, [0, 1]), "scores"),
        (lambda: rs.predicted_ranks(np.eye(2), [0, 1], sparse.eye(2)), "relevant"),
        (lambda: rs.evaluate(Flat(), [0]), "scores"),
        (lambda: rs.Recall(ranks), ""),
    ],
)
def test_the_argument_is_the_name_of_one_or_nothing(refused, argument):
    with pytest.raises(InputError) as caught:
        refused()
    assert caught.value.argument == argument
    said = str(caught.value).partition(", got")[0].partition(":")[0]
    assert str(caught.value.got(0)) == f"{said}, got 0"


# What is no refusal of something that was handed over.
NO_INPUT = {
    "ranks/base.py": "NumPy asks for an array, and takes a ValueError for an answer",
    "sampling/base.py": "a design cannot read a scan, whichever it is",
    "evaluation/findings.py": "a result has nothing to say, whatever is asked of it",
    "evaluation/results.py": "a result does not know what it is asked for",
}


def test_whatever_is_refused_is_an_input_error():
    package = Path(rs.__path__[0])
    places = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ValueError"
    ]
    assert sorted(places) == sorted(NO_INPUT)
