"""Exact ranks of more users than one machine holds, on the engine that holds their table.

The ranks of a user depend on this user's own rows alone, so they are found block by block, or by
joining and grouping, wherever these lie. What comes back is a table of the same engine with a row
for each held-out item, not computed yet: `recsample.RankCounts.from_frame` counts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._support.arrays import owners
from recsample._support.checks import finite_numbers, shown, whole_numbers
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.frames import chosen_columns
from recsample.ranks import order
from recsample.ranks.predicted import predicted_ranks
from recsample.ranks.scores import refuse_unknown

if TYPE_CHECKING:
    import pandas as pd


# What the columns of the result hold, in the order of `Ranks.to_frame`.
_TYPES = {"rank": "int64", "n_items": "int64", "ties": "int64"}


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
        One row per user, such as a folder of Parquet files read by Dask or Spark.
    item_factors : array_like of float, shape (items, d)
        A score is the inner product of a user's factors and an item's. They have to fit into the
        memory of each worker, beside a block of users.
    user, factors, item, exclude : str, optional
        The columns of the user's id; of its factors, a list of d numbers; of the held-out item, its
        row in `item_factors`; and, if named, of a list of items not ranked, as the training set.

    Returns
    -------
    dataframe
        Of the same library, columns "user", "rank", "n_items" and "ties" as of `Ranks.to_frame`,
        one row per user; of Dask and PySpark not computed yet.

    Examples
    --------
    >>> import pandas as pd
    >>> import recsample as rs
    >>> users = pd.DataFrame({"user": [7, 8], "factors": [[1.0, 0.5], [0.0, 1.0]], "item": [2, 0]})
    >>> rs.engines.ranks_of_factors(users, [[2, 1], [0, 1], [1, 1]])["rank"].tolist()
    [2, 1]
    """
    items = finite_numbers("item_factors", item_factors)
    if items.ndim != 2:
        raise InputError("item_factors", "must have shape (items, d)").got(items.shape)
    items = np.asarray(item_factors)  # float32 stays float32
    names = {"user": user, "factors": factors, "item": item}
    wanted = names if exclude is None else names | {"exclude": exclude}
    implementation = chosen_columns("users", users, wanted).implementation
    block: Any = partial(_ranks_of_block, **names, exclude=exclude)
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
    raise InputError("users", "must be a dataframe of pandas, Dask or PySpark").got(shown(users))


def _each_block(blocks: Iterator[pd.DataFrame], block: Any, items: Any) -> Iterator[pd.DataFrame]:
    """What Spark calls for a stream of blocks, with a broadcast array."""
    for one in blocks:
        yield block(one, items.value)


def _ranks_of_block(block, items, user, factors, item, exclude):
    """The table of ranks of a block of users, a dataframe of pandas."""
    pd, users = extra("pandas"), block[user].to_numpy()
    if not len(users):  # the blocks of an engine may be empty
        return pd.DataFrame({"user": users, **dict.fromkeys(_TYPES, [])}).astype(_TYPES)
    rows = _lists_in(block, factors, users, items.shape[1])
    known = None
    if exclude is not None:
        lists = _lists_in(block, exclude, users)
        owner = owners(np.array([len(one) for one in lists], np.int64))
        where = owner, _items_in(exclude, np.concatenate(lists), users[owner], len(items))
        entries = np.ones(len(owner), bool)
        known = sparse.csr_matrix((entries, where), shape=(len(users), len(items)))
    held_out = _items_in(item, block[item].to_numpy(), users, len(items))
    found = predicted_ranks((np.stack(rows), items), held_out, known)
    columns = {"rank": found.values, "n_items": found.sizes, "ties": found.ties}
    return pd.DataFrame({"user": users, **columns})


def _lists_in(block, column, users, length=None):
    """The lists of numbers of a column, as arrays; of one length, if it is given."""
    rows = []
    for user, one in zip(users, block[column]):
        row = np.asarray(one) if np.iterable(one) else np.asarray(None)
        if row.shape == (0,):
            row = row.astype(np.int64)  # a list of nothing may have any type
        if row.ndim != 1 or row.dtype.kind not in "iuf" or length not in (None, len(row)):
            a_list = "a list of numbers" if length is None else f"{length} numbers"
            raise InputError(
                "",
                f"column {column!r} must hold {a_list} for each "
                f"user{', as item_factors for each item' * (length is not None)}",
            ).got(f"{shown(one)} for user {shown(user)}")
        rows.append(row)
    return rows


def _items_in(column, values, users, n_items):
    """The numbers of items in a column, where each belongs to one of the users."""
    name, rows = f"column {column!r}", ", the rows of item_factors"
    items = whole_numbers(name, values)
    refuse_unknown(name, items, n_items, users, rows, called="")
    return items


def ranks_of_scores(
    scores: Any, held_out: Any, *, user: str = "user", item: str = "item", score: str = "score"
) -> Any:
    """The exact ranks of held-out items in a long table of scores, by joining and grouping.

    Where a user has several held-out items, each is ranked without the others, as by
    `Ranks.each_alone`.

    Parameters
    ----------
    scores : dataframe
        Of any library that Narwhals knows: a row with a score, higher is better, for each item that
        is ranked for a user, the held-out ones included.
    held_out : dataframe
        Of the same library: one row for each held-out item of a user.
    user, item, score : str, optional
        The names of the columns.

    Returns
    -------
    dataframe
        Of the same library, as of `ranks_of_factors`, with one row for each row of `held_out`. Of a
        lazy library it is not computed yet, and a rank that cannot be known, as said below, is
        missing: `RankCounts.from_frame` refuses it.

    Raises
    ------
    ValueError
        For no dataframe, a missing column, scores that are no numbers, and ids that are numbers in
        one table only. Of a library that computes at once, also for a held-out item without a
        score, and missing, NaN or two scores of an item of its user.

    Examples
    --------
    >>> import pandas as pd
    >>> import recsample as rs
    >>> scores = pd.DataFrame({"user": [7, 7, 7], "item": [1, 2, 3], "score": [0.5, 0.9, 0.5]})
    >>> held_out = pd.DataFrame({"user": [7], "item": [1]})
    >>> rs.engines.ranks_of_scores(scores, held_out)
       user  rank  n_items  ties
    0     7     2        3     1
    """
    nw = extra("narwhals.stable.v2")
    names = {"user": user, "item": item}
    scored = chosen_columns("scores", scores, names | {"score": score})
    held = chosen_columns("held_out", held_out, names)
    _check_types(scored.collect_schema(), held.collect_schema(), names | {"score": score})
    if scored.collect_schema()["score"].is_integer():  # different ones beyond would be tied
        held_by_floats = nw.col("score").is_between(-(2**53), 2**53)
        scored = scored.with_columns(nw.when(held_by_floats).then(nw.col("score")).alias("score"))
    scored = scored.with_columns(order.strength(nw.col("score").cast(nw.Float64)).alias("score"))
    held = held.group_by(["user", "item"]).agg(nw.len().alias("times")).drop("times")  # once each
    try:
        own = held.join(scored, on=["user", "item"], how="left").rename({"score": "own"})
    except (TypeError, ValueError) as error:  # of libraries that match one type only
        allowed = "must have ids of the types that they have in scores, which cannot be joined"
        raise InputError("held_out", f"{allowed}: {shown(error)}") from None
    others = scored.join(held, on=["user", "item"], how="anti").select(
        "user", "score", nw.col("item").alias("beside"), nw.lit(1).alias("other")
    )
    # One row for each pair of a held-out and another item of a user; without any, one with nothing.
    pairs = own.join(others, on="user", how="left")
    other = nw.col("other").fill_null(0)
    no_own, no_score = (nw.col(one).is_null() | nw.col(one).is_nan() for one in ("own", "score"))
    columns = {
        "above": nw.col("score") > nw.col("own"),
        "same": nw.col("score") == nw.col("own"),
        "others": other == 1,
        "unknown": no_own | ((other == 1) & (no_score | nw.col("beside").is_null())),
    }
    marked = pairs.select(
        "user",
        "item",
        "beside",
        *(flag.fill_null(False).cast(nw.Int64).alias(name) for name, flag in columns.items()),
    )
    # A pair with two scores, of the held-out item or of another one, gives more rows than items.
    summed = marked.group_by(["user", "item"]).agg(
        *(nw.col(name).sum() for name in columns),
        nw.len().alias("rows"),
        nw.col("beside").n_unique().alias("items"),
    )
    known = (nw.col("unknown") == 0) & (nw.col("rows") == nw.col("items"))
    if isinstance(summed, nw.DataFrame) and len(wrong := summed.filter(~known)):
        _refuse(scored, wrong["user"].to_list()[0], wrong["item"].to_list()[0])
    rank = nw.when(known).then(nw.col("above").cast(nw.Int64) + 1)
    return summed.select(
        "user",
        rank.alias("rank"),
        (nw.col("others") + 1).cast(nw.Int64).alias("n_items"),
        nw.col("same").cast(nw.Int64).alias("ties"),
    ).to_native()


def _check_types(scored: Any, held: Any, names: dict[str, str]) -> None:
    """Refuse scores that are no numbers, and ids of different kinds, which cannot match."""
    if not scored["score"].is_numeric():
        allowed = "must have scores that are numbers"
        raise InputError("scores", allowed).got(f"{scored['score']} in column {names['score']!r}")
    for use in ("user", "item"):
        if scored[use].is_numeric() != held[use].is_numeric():
            allowed = f"must name {use}s as scores does: {scored[use]} there"
            raise InputError("held_out", allowed).got(f"{held[use]} in column {names[use]!r}")


def _refuse(scored: Any, user: Any, item: Any) -> None:
    """Say what is wrong with the scores of a user, for whom the rank of an item is not known."""
    nw = extra("narwhals.stable.v2")
    mine = scored.filter(nw.col("user") == user)
    twice = mine.filter(mine.select("item").is_duplicated())["item"].to_list()
    if twice:
        got = f"user {shown(user)} with item {shown(twice[0])} twice"
        raise InputError("scores", "must hold each pair of user and item once").got(got)
    if not len(mine.filter(nw.col("item") == item)):
        allowed = "must hold a score for each held-out item"
        raise InputError("scores", allowed).got(f"none for user {shown(user)}, item {shown(item)}")
    got = f"one for user {shown(user)}, or a whole number beyond 2**53, which floats do not hold"
    raise InputError("scores", "must not have missing values or NaN").got(got)
