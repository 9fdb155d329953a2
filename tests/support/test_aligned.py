import numpy as np
import pandas as pd
import pytest

from recsample._support.frames import aligned

COLUMN = pd.Series([3, 1, 2], index=list("cab"))


def test_a_column_is_matched_by_its_labels():
    assert aligned("column", COLUMN, np.array(list("abc"))).tolist() == [1, 2, 3]
    assert aligned("column", COLUMN[::-1], COLUMN.index).tolist() == [3, 1, 2]
    numbered = pd.Series([5, 6, 7])
    assert aligned("column", numbered[::-1], range(3)).tolist() == [5, 6, 7]
    assert aligned("column", numbered, None).tolist() == [5, 6, 7]


def test_labels_of_several_levels_are_labels():
    labels = pd.MultiIndex.from_tuples([("ann", 1), ("bob", 2)])
    column = pd.Series([1, 2], index=labels)
    assert aligned("column", column, labels.to_numpy()[::-1]).tolist() == [2, 1]


@pytest.mark.parametrize("values", [[1, 2], np.array([1, 2]), 7, None])
def test_what_has_no_labels_is_matched_by_position(values):
    assert aligned("column", values, ["ann", "bob"]) is values


@pytest.mark.parametrize(
    "column, labels, said",
    [
        (COLUMN, list("abd"), "got 'c' in only one"),
        (COLUMN[:2], list("abc"), "got 'b' in only one"),
        (pd.Series([1, 2], index=["1", "2"]), [1, 2], "got '1' in only one"),
        (pd.Series([1, 2], index=[4, 4]), None, "repeated labels, got 4"),
        (COLUMN, None, "got the label 'c'"),
        (pd.Series([1, 2, 3], index=[0, 2, 1]), None, "got the label 2"),
        (pd.Series([1, 2], index=[7, 8]), None, "got the label 7"),
    ],
)
def test_labels_that_do_not_match_are_refused(column, labels, said):
    with pytest.raises(ValueError) as error:
        aligned("column", column, labels)
    assert str(error.value).startswith("column must have") and said in str(error.value)
