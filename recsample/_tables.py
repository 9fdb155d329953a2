"""Tidy tables from rows with several keys."""

from __future__ import annotations

from recsample._extras import extra


def table_of(rows, names):
    """A table from its rows, dictionaries by column, indexed by the tuples that they come with."""
    pd = extra("pandas")
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(table.index, names=names)
    return table
