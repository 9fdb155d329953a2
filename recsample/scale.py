"""Exact ranks of more users than one machine holds, on the engine that holds their table.

The ranks of a user depend on nothing but this user's own rows, so they are found block by block, or
by joining and grouping, wherever these rows lie. What comes back is a table of the same engine with
a row for each held-out item, not computed yet: `recsample.RankCounts.from_frame` counts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._extras import extra
from recsample._frames import chosen_columns
from recsample._indexing import owners
from recsample._validation import finite_numbers, shown
from recsample.ranks import predicted_ranks

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ranks_of_block", "ranks_of_factors", "ranks_of_scores"]

# What the columns of the result hold, in the order of `Ranks.to_frame`.
_TYPES = {"rank": "int64", "n_items": "int64", "ties": "int64"}


def ranks_of_block(
    block: pd.DataFrame,
    item_factors: ArrayLike,
    *,
    user: str = "user",
    factors: str = "factors",
    item: str = "item",
    exclude: str | None = None,
) -> pd.DataFrame:
    """The exact rank of the held-out item of each user of a block.

    Parameters
    ----------
    block : pandas.DataFrame
        One row per user. The columns, by name: the user's id; its factors, a list of d numbers;
        the held-out item, its row in `item_factors`; and, if named, a list of the items that are
        not ranked for this user, such as the training set.
    item_factors : array_like of float, shape (items, d)
        A score is the inner product of a user's factors and an item's.
    user, factors, item : str, optional
        The names of the columns.
    exclude : str or None, optional
        The name of the column of lists, if there is one.

    Returns
    -------
    pandas.DataFrame
        Columns "user", "rank", "n_items" and "ties", one row per user, as of `Ranks.to_frame`.

    Raises
    ------
    ValueError
        As `predicted_ranks`.

    Examples
    --------
    >>> import pandas as pd
    >>> from recsample.scale import ranks_of_block
    >>> block = pd.DataFrame({"user": ["ann"], "factors": [[1.0, 0.5]], "item": [2]})
    >>> ranks_of_block(block, [[2, 1], [0, 1], [1, 1]])
      user  rank  n_items  ties
    0  ann     2        3     0
    """
    items = np.asarray(item_factors)
    users = block[user].to_numpy()
    pd = extra("pandas")
    if not len(users):  # the blocks of an engine may be empty
        return pd.DataFrame({"user": users, **dict.fromkeys(_TYPES, [])}).astype(_TYPES)
    scores = np.stack([np.asarray(one) for one in block[factors]]), items
    known = None
    if exclude is not None:
        lists = [np.asarray(one, np.int64) for one in block[exclude]]
        lengths = np.array([len(one) for one in lists], np.int64)
        where = owners(lengths), np.concatenate(lists)
        ones = np.ones(len(where[0]), bool)
        known = sparse.csr_matrix((ones, where), shape=(len(users), len(items)))
    found = predicted_ranks(scores, block[item].to_numpy(), known)
    columns = {"rank": found.values, "n_items": found.sizes, "ties": found.ties}
    return pd.DataFrame({"user": users, **columns})


def ranks_of_factors(
    users: Any,
    item_factors: ArrayLike,
    *,
    user: str = "user",
    factors: str = "factors",
    item: str = "item",
    exclude: str | None = None,
) -> Any:
    """The exact ranks of a table of users, block by block, with the item factors sent to each.

    Parameters
    ----------
    users : dataframe of pandas, Dask or PySpark
        One row per user, as of `ranks_of_block`, such as a folder of Parquet files read by Dask or
        Spark.
    item_factors : array_like of float, shape (items, d)
        They have to fit into the memory of each worker, beside a block of users.
    user, factors, item : str, optional
        The names of the columns.
    exclude : str or None, optional
        The name of the column of lists, if there is one.

    Returns
    -------
    dataframe
        Of the same library, as of `ranks_of_block`; of Dask and PySpark not computed yet.

    Raises
    ------
    ValueError
        For item factors that are no finite numbers, a column that is not there and a frame of
        another library; and, when it is computed, as `ranks_of_block`.

    Examples
    --------
    >>> import pandas as pd
    >>> import recsample as rs
    >>> users = pd.DataFrame({"user": [7, 8], "factors": [[1.0, 0.5], [0.0, 1.0]], "item": [2, 0]})
    >>> found = rs.scale.ranks_of_factors(users, [[2, 1], [0, 1], [1, 1]])
    >>> rs.RankCounts.from_frame(found) == rs.RankCounts([2, 1], [1, 1], 3, ties=[0, 2])
    True
    """
    items = finite_numbers("item_factors", item_factors)
    if items.ndim != 2:
        raise ValueError(f"item_factors must have shape (items, d), got {items.shape}")
    items = np.asarray(item_factors)  # as it came: float32 stays float32
    names = {"user": user, "factors": factors, "item": item}
    wanted = names if exclude is None else names | {"exclude": exclude}
    table = chosen_columns("users", users, wanted)
    block: Any = partial(ranks_of_block, **names, exclude=exclude)
    implementation = table.implementation
    if implementation.is_pandas():
        return block(users, items)
    if implementation.is_dask():
        meta = block(users._meta, items)
        return users.map_partitions(block, extra("dask").delayed(items), meta=meta)
    if implementation.is_pyspark():
        kind = users.schema[user].dataType.simpleString()
        schema = f"`user` {kind}, rank long, n_items long, ties long"
        everywhere = users.sparkSession.sparkContext.broadcast(items)
        return users.mapInPandas(partial(_each_block, block=block, items=everywhere), schema)
    raise ValueError(f"users must be a dataframe of pandas, Dask or PySpark, got {shown(users)}")


def _each_block(blocks: Iterator[pd.DataFrame], block: Any, items: Any) -> Iterator[pd.DataFrame]:
    """What Spark calls for a stream of blocks, with a broadcast array."""
    for one in blocks:
        yield block(one, items.value)


def ranks_of_scores(
    scores: Any,
    held_out: Any,
    *,
    user: str = "user",
    item: str = "item",
    score: str = "score",
) -> Any:
    """The exact ranks of held-out items in a long table of scores, by joining and grouping.

    Each held-out item is ranked alone, among the items of its user that are not held out: as of
    `Ranks.each_alone`, where a user has several.

    Parameters
    ----------
    scores : dataframe
        Of any library that Narwhals knows. One row for each user and each item that is ranked for
        this user, the held-out ones included, with a score, higher is better.
    held_out : dataframe
        Of the same library: one row for each held-out item of a user.
    user, item, score : str, optional
        The names of the columns.

    Returns
    -------
    dataframe
        Of the same library: columns "user", "rank", "n_items" and "ties", one row for each held-out
        item; not computed yet where the library is lazy. Where the held-out item has no score, or
        a score of the user is missing or NaN, the rank is missing, which `RankCounts.from_frame`
        refuses.

    Raises
    ------
    ValueError
        For a column that is not there.

    Examples
    --------
    >>> import pandas as pd
    >>> import recsample as rs
    >>> scores = pd.DataFrame({"user": [7, 7, 7], "item": [1, 2, 3], "score": [0.5, 0.9, 0.5]})
    >>> held_out = pd.DataFrame({"user": [7], "item": [1]})
    >>> rs.scale.ranks_of_scores(scores, held_out)
       user  rank  n_items  ties
    0     7     2        3     1
    """
    nw = extra("narwhals.stable.v2")
    names = {"user": user, "item": item}
    scored = chosen_columns("scores", scores, names | {"score": score}).select(
        nw.col(user).alias("user"),
        nw.col(item).alias("item"),
        nw.col(score).cast(nw.Float64).alias("score"),
    )
    held = chosen_columns("held_out", held_out, names).select(
        nw.col(user).alias("user"), nw.col(item).alias("item")
    )
    own = held.join(scored, on=["user", "item"], how="left").rename({"score": "own"})
    others = scored.join(held, on=["user", "item"], how="anti").select(
        "user", "score", nw.lit(1).alias("other")
    )
    # One row for each pair of a held-out and another item of a user; without any, one with nothing.
    pairs = own.join(others, on="user", how="left")
    other = nw.col("other").fill_null(0)
    no_own, no_score = (nw.col(one).is_null() | nw.col(one).is_nan() for one in ("own", "score"))
    columns = {
        "above": nw.col("score") > nw.col("own"),
        "same": nw.col("score") == nw.col("own"),
        "others": other == 1,
        "unknown": no_own | ((other == 1) & no_score),
    }
    marked = pairs.select(
        "user",
        "item",
        *(flag.fill_null(False).cast(nw.Int64).alias(name) for name, flag in columns.items()),
    )
    summed = marked.group_by(["user", "item"]).agg(*(nw.col(name).sum() for name in columns))
    rank = nw.when(nw.col("unknown") == 0).then(nw.col("above").cast(nw.Int64) + 1)
    return summed.select(
        "user",
        rank.alias("rank"),
        (nw.col("others") + 1).cast(nw.Int64).alias("n_items"),
        nw.col("same").cast(nw.Int64).alias("ties"),
    ).to_native()
