"""Tidy tables from rows with several keys."""

from __future__ import annotations

from recsample._extras import extra


def table_of(rows, names, several=True):
    """A table from its rows, dictionaries by column, indexed by the tuples that they come with.

    Where there are not several recommenders, the first level, their names, is left out.
    """
    pd = extra("pandas")
    table = pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows, names=names))
    return table if several else table.droplevel(0)
