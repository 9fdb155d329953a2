"""Missing entries are refused in one sentence, whatever marks them; odd types are read."""

import decimal
import unicodedata

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import recsample as rs

HELD_OUT = {"user": [1, 2], "item": [7, 8]}
SCORES = {"user": [1, 1, 2, 2], "item": [7, 8, 7, 8], "score": [4, 3, 2, 1]}
SAID = "must not have missing values, got 1 of {}, the first "


def evaluate(table, **columns):
    return rs.evaluate(table(SCORES | columns), table(HELD_OUT), metrics=["AUC"])


SCORE_COLUMNS = {
    "floats": lambda: [4, np.nan, 2, 1],
    "objects": lambda: pd.Series([4, None, 2, 1], dtype=object),
    "decimals": lambda: [decimal.Decimal(4), None, decimal.Decimal(2), decimal.Decimal(1)],
    "Int64": lambda: pd.array([4, None, 2, 1], "Int64"),
    "Float64": lambda: pd.array([4, None, 2, 1], "Float64"),
    "sparse": lambda: pd.arrays.SparseArray([4, np.nan, 2, 1]),
    "big-endian": lambda: np.array([4, np.nan, 2, 1], ">f8"),
}


@pytest.mark.parametrize("column", SCORE_COLUMNS)
def test_scores(column):
    with pytest.raises(rs.InputError) as caught:
        evaluate(pd.DataFrame, score=SCORE_COLUMNS[column]())
    said = f"scores {SAID.format(4)}in column 'score', row 1: .dropna(subset=['score'])"
    assert str(caught.value).startswith(said)


USER_COLUMNS = {
    "objects": [1, None, 2, 2],
    "floats": [1, np.nan, 2, 2],
    "text": ["a", None, "b", "b"],
    "dates": pd.to_datetime(["2020-01-01", None, "2020-01-02", "2020-01-02"]),
    "Int64": pd.array([1, None, 2, 2], "Int64"),
    "strings": pd.array(["a", None, "b", "b"], "string"),
    "categories": pd.Categorical(["a", None, "b", "b"]),
}


@pytest.mark.parametrize("column", USER_COLUMNS)
def test_users(column):
    with pytest.raises(rs.InputError) as caught:
        evaluate(pd.DataFrame, user=USER_COLUMNS[column])
    said = f"scores {SAID.format(4)}in column 'user', row 1: .dropna(subset=['user'])"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_polars(missing):
    polars = pytest.importorskip("polars")
    with pytest.raises(rs.InputError) as caught:
        evaluate(polars.DataFrame, score=[4.0, missing, 2.0, 1.0])
    said = str(caught.value)
    assert said.startswith(f"scores {SAID.format(4)}in column 'score', row 1: .fill_nan")
    line = said.rpartition(": ")[2].removesuffix(" leaves such rows out")
    table = polars.DataFrame(SCORES | {"score": [4.0, missing, 2.0, 1.0]})
    left = eval(f"table{line}", {"table": table})
    found = rs.evaluate(left, polars.DataFrame(HELD_OUT), metrics=["AUC"], unlisted="below")
    assert found.table["value"].tolist() == [(1 + 0) / 2]


def test_arrow():
    arrow = pytest.importorskip("pyarrow")
    with pytest.raises(rs.InputError, match="first in column 'score', row 1$"):
        evaluate(arrow.table, score=[4, None, 2, 1])
    for column in (arrow.array([3, None, 5]), arrow.chunked_array([[3], [None, 5]])):
        with pytest.raises(rs.InputError, match="first at position 1"):
            rs.report(column, m=99, n_items=999, drawn="uniform")


RANKS = {
    "a list": [3, None, 5],
    "NA": [3, pd.NA, 5],
    "floats": np.array([3, np.nan, 5]),
    "objects": np.array([3, None, 5], object),
    "Int64": pd.array([3, None, 5], "Int64"),
    "masked": np.ma.masked_array([3, 4, 5], [0, 1, 0]),
}


@pytest.mark.parametrize("column", RANKS)
def test_ranks(column):
    for call, where in (
        (lambda: rs.report(RANKS[column], m=99, n_items=999, drawn="uniform"), "at position 1"),
        (lambda: rs.Ranks(RANKS[column], 99), "(in instance|at position) 1"),
        (lambda: rs.RankCounts.of(RANKS[column], 99), "at position 1"),
        (lambda: rs.Ranks([1, 2, 3], 99, ties=RANKS[column]), "(in instance|at position) 1"),
        (lambda: rs.report([1, 2, 3], RANKS[column], 999, drawn="uniform"), "at position 1"),
    ):
        with pytest.raises(rs.InputError, match=SAID.format(3) + where):
            call()


@pytest.mark.parametrize("kind", ["Int64", "Float64", float, object])
def test_a_column_by_user_names_the_user(kind):
    column = pd.Series([3, None, 5], list("abc"), dtype=kind)
    with pytest.raises(rs.InputError, match=SAID.format(3) + "of 'b'"):
        rs.report(column, m=99, n_items=999, drawn="uniform")


def test_places_of_lists_and_of_arrays():
    with pytest.raises(rs.InputError, match="got 1 of 4, the first in instance 1"):
        rs.Ranks([[1, 2], [3, None]], 9)
    with pytest.raises(rs.InputError, match="got 1 of 4, the first at position 1, 0"):
        rs.predicted_ranks(np.array([[1, 2], [None, 3]], object), [0, 1])


# What is read in a type that is none of NumPy's own.
READ = {
    "big-endian": np.array([4, 3, 2, 1], ">f8"),
    "sparse": pd.arrays.SparseArray([4, 3, 2, 1]),
    "objects": pd.Series([4, 3.0, np.int8(2), 1], dtype=object),
}


@pytest.mark.parametrize("column", READ)
def test_scores_that_are_read(column):
    assert evaluate(pd.DataFrame, score=READ[column]).table["value"].tolist() == [(1 + 0) / 2]


@pytest.mark.parametrize("ids", [[2**63 + 1, 9], [2**64 - 1, 2**63], [2**70, -(2**70)]])
def test_hashes_are_ids(ids):
    big, small = ids
    users = np.array([big, big, small, small], "uint64" if small >= 0 and big < 2**64 else object)
    held_out = pd.DataFrame(HELD_OUT | {"user": users[[0, 2]]})
    found = rs.evaluate(pd.DataFrame(SCORES | {"user": users}), held_out, metrics=["AUC"])
    values = found.per_instance.set_index("user")["value"]
    assert values.to_dict() == {big: 1, small: 0}


def test_two_forms_of_a_letter_are_shown_apart():
    names = [f"caf\N{LATIN SMALL LETTER E WITH ACUTE} {i}" for i in range(4)]
    scores = pd.DataFrame({"user": [1] * 4, "item": names, "score": range(4)})
    other = [unicodedata.normalize("NFD", one) for one in names]
    with pytest.raises(rs.InputError, match="must spell ids of items") as caught:
        rs.evaluate(scores, pd.DataFrame({"user": [1, 1], "item": other[:2]}), metrics=["AUC"])
    said = str(caught.value)
    assert ascii(names[0])[1:-1] in said and ascii(other[0])[1:-1] in said
    assert "the form of letters" in said


def test_what_is_masked_beside_training_items_names_no_line():
    """That line would replace them."""
    scores, known = np.ma.masked_array(np.eye(3), np.eye(3)[::-1]), sparse.eye(3, format="csr")
    for call in (
        lambda: rs.evaluate(scores, [1, 2, 0], train=known),
        lambda: rs.predicted_ranks(scores, [1, 2, 0], known),
    ):
        with pytest.raises(rs.InputError, match="^scores .* got 3 of 9, the first at .* 0, 2$"):
            call()


def test_masked_arrays_without_a_masked_entry_are_read():
    given = np.ma.masked_array([3, 4, 5])
    found = rs.report(given, m=99, n_items=999, drawn="uniform", metrics=["RR"])
    assert found.table["sampled"].tolist() == pytest.approx([(1 / 3 + 1 / 4 + 1 / 5) / 3])
