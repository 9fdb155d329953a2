"""The first phase of an evaluation: tables, arrays and objects become numbered users and items."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from recsample._support import frames
from recsample._support.arrays import split
from recsample._support.checks import array_of, shown, whole_numbers
from recsample._support.extras import extra
from recsample._support.typing import Floats, Integers
from recsample.ranks.checks import check_names
from recsample.ranks.predicted import Listed, Source, Study, WholeRows, is_rows
from recsample.ranks.scores import item_sets, sets_of, without


@dataclass(frozen=True)
class Matched:
    """Recommenders, users and items that fit each other: what the second phase is given.

    `sources` are by the names of the recommenders, "" for one that is not `named`; `lists` are the
    items of each user to rank among, None for all items; `counts` says what did not match.
    """

    study: Study
    sources: Mapping[str, Source]
    named: bool
    lists: Any  # sets of items, or None
    counts: Mapping[tuple[str, str], int]

    @property
    def lengths(self) -> Integers:
        """Of the lists."""
        return np.diff(self.lists.indptr).astype(np.int64)

    @property
    def listed(self) -> list[Integers]:
        """The items in the list of each user."""
        return split(self.lists.indices.astype(np.int64), self.lengths)


class _Table(NamedTuple):
    """What a dataframe or a sparse matrix holds."""

    user: frames.Coded
    item: frames.Coded
    score: Floats | None = None
    shape: tuple[int, int] | None = None  # of a matrix


def match_ids(
    scores: Any, held_out: Any, train: Any, negatives: Any, items: Any, columns: Mapping[str, str]
) -> Matched:
    """Match users and items by their ids; what does not match is counted.

    `columns` are the names of those of user, item, score and model in all dataframes.
    """
    given, named = _recommenders(scores, columns["model"])
    pair = {use: columns[use] for use in ("user", "item")}
    scored = pair | {"score": columns["score"]}
    tables = {"held_out": _pairs("held_out", held_out, pair)}
    if train is not None:
        tables["train"] = _pairs("train", train, pair)
    read = {name: _read(_called(name), one, scored) for name, one in given.items()}
    rows = {name: one for name, one in read.items() if isinstance(one, WholeRows)}
    listed = {name: one for name, one in read.items() if isinstance(one, _Table)}
    _check_shapes(tables, rows)
    # Without an entry a table has no kind of ids, and knows of nobody.
    tables = {name: table for name, table in tables.items() if len(table.user.which)}
    found = tables | {_called(name): table for name, table in listed.items()}
    _check_kinds(found, bool(rows))
    catalogue = _numbered_items(found, rows, items) if rows else _named_items(found, items)
    counts: dict[tuple[str, str], int] = {}
    study = _study(tables, catalogue, counts)
    sources = rows | {name: _listed(name, one, study, counts) for name, one in listed.items()}
    lists = None
    if negatives is not None:
        lists = _lists(_pairs("negatives", negatives, pair), study, counts)
    return Matched(study, {name: sources[name] for name in given}, named, lists, counts)


def _recommenders(scores, model):
    """The sources by the names of the recommenders, and whether these were named."""
    if isinstance(scores, Mapping):
        if not scores:
            raise ValueError("scores must hold at least one recommender, got none")
        check_names("scores", scores)
        return {str(name): one for name, one in scores.items()}, True
    if not isinstance(model, Hashable):
        raise ValueError(f"model must be the name of a column, got {shown(model)}")
    if not (frames.is_frame(scores) and model in frames.column_names(scores, "scores")):
        return {"": scores}, False
    nw = extra("narwhals.stable.v2")
    frame = nw.from_native(scores)
    kind = frame.collect_schema()[model]
    if kind.is_nested():
        raise ValueError(f"scores must name recommenders by text, got {kind} in column {model!r}")
    column = frame.lazy().select(model).unique().collect()[model]
    if column.is_null().any():
        raise ValueError(f"scores must not have missing values, got one in column {model!r}")
    names = column.to_list()
    if not all(isinstance(name, Hashable) for name in names):
        raise ValueError(f"scores must name recommenders by text, got lists in column {model!r}")
    check_names("scores", names)
    parts = {str(name): frame.filter(nw.col(model) == name).to_native() for name in names}
    return dict(sorted(parts.items())), True


def _called(name):
    """The scores of a recommender, in a message."""
    return f"scores of {name!r}" if name else "scores"


def _read(called, given, columns):
    """The scores of one recommender, whatever they are."""
    if frames.is_frame(given):
        return _from_frame(called, given, columns)
    if is_rows(given):
        return WholeRows(given)
    raise ValueError(
        f"{called} must be a dataframe, an array, a pair of factors or an object with "
        f"scores(users), got {shown(given)}"
    )


def _from_frame(name, frame, columns, may_be_empty=False):
    """Users and items of a dataframe, and the scores where there is a column of them."""
    read = dict(zip(columns, frames.read_columns(name, frame, columns, may_be_empty)))
    user, item = (frames.coded(frames.as_ids(name, read[use])) for use in ("user", "item"))
    return _Table(user, item, frames.as_scores(name, read["score"]) if "score" in read else None)


def _pairs(name, given, columns):
    """Pairs of a user and an item."""
    if frames.is_frame(given):
        return _from_frame(name, given, columns, may_be_empty=name == "train")
    shape = None
    if sparse.issparse(given) and given.ndim == 2:
        shape = given.shape
        user, item = (one.astype(np.int64) for one in item_sets(name, given, *shape).nonzero())
    elif name == "held_out" and hasattr(given, "__len__"):
        item = whole_numbers(name, given, lowest=0)
        if item.ndim != 1:
            raise ValueError(f"held_out must hold one item per user, got shape {item.shape}")
        user = np.arange(len(item))
    else:
        or_array = ", or an array of the item of each user" if name == "held_out" else ""
        raise ValueError(
            f"{name} must be a dataframe or a sparse matrix{or_array}, got {shown(given)}"
        )
    if not len(user) and name != "train":
        raise ValueError(f"{name} must hold at least one item, got none")
    return _Table(frames.coded(user), frames.coded(item), shape=shape)


def _check_shapes(tables, rows):
    """Refuse arrays and matrices of different users or items; None is a number nobody knows."""
    shapes = {_called(name): (one.n_users, one.n_items) for name, one in rows.items()}
    shapes |= {name: one.shape for name, one in tables.items() if one.shape is not None}
    for first, wanted in shapes.items():
        for name, shape in shapes.items():
            if any(None not in ends and ends[0] != ends[1] for ends in zip(wanted, shape)):
                raise ValueError(
                    f"{name} must have the same users and items as {first}, got shapes "
                    f"{shape} and {wanted}"
                )


def _check_kinds(found, by_number):
    """Refuse ids of different kinds, which cannot match."""
    for place, what in enumerate(("users", "items")):
        kinds = {name: frames.kind_of(table[place].ids) for name, table in found.items()}
        wanted = "whole numbers" if by_number else kinds["held_out"]
        for name, kind in kinds.items():
            if kind != wanted:
                other = "scores as an array have" if by_number else "held_out has"
                raise ValueError(
                    f"{name} must name {what} as the other tables do: {other} {wanted}, got "
                    f"{kind}, such as {shown(found[name][place].ids[0])}; convert the column"
                )


def _named_items(found, items):
    """All items that can be recommended, where tables name them."""
    if items is None:
        return frames.joined(*(table.item.ids for table in found.values()))
    named = array_of("items", items, None if hasattr(items, "dtype") else object)
    if named.ndim != 1 or not len(named):
        raise ValueError(f"items must be a list of at least one id, got {shown(items)}")
    named = frames.same_kind_ids("items", named)
    if frames.kind_of(named) != (kind := frames.kind_of(found["held_out"].item.ids)):
        raise ValueError(f"items must be {kind} as in held_out, got {frames.kind_of(named)}")
    return frames.joined(named)


def _numbered_items(found, rows, items):
    """All items that can be recommended, where arrays number them; and so they do the users."""
    if items is not None:
        raise ValueError("items must be None where scores are arrays: these have all items")
    n_items = next(one.n_items for one in rows.values())
    n_users = next((one.n_users for one in rows.values() if one.n_users is not None), None)
    for name, table in found.items():
        for what, (ids, _), end in (("users", table.user, n_users), ("items", table.item, n_items)):
            # None where an object alone knows how many users there are.
            outside = [] if end is None else ids[(ids < 0) | (ids >= end)]
            if len(outside):
                raise ValueError(
                    f"{name} must number {what} from 0 to {end - 1}, as the scores do, "
                    f"got {outside[0]}"
                )
    return extra("pandas").RangeIndex(n_items)


def _places(table, users, items):
    """The numbers of the users and items of a table, -1 for others, and where both are known."""
    user, item = frames.numbered(users, table.user), frames.numbered(items, table.item)
    return user, item, (user >= 0) & (item >= 0)


def _refuse_strangers(name, row, table, users):
    """Refuse a table of other users only."""
    if not (row >= 0).any():
        raise ValueError(
            f"{name} must hold users of held_out, got none of them: "
            f"{shown(table.user.ids[0])} here, {shown(users[0])} there"
        )


def _study(tables, catalogue, counts):
    """Who is evaluated on what."""
    held_out = tables["held_out"]
    users = frames.joined(held_out.user.ids)
    shape = len(users), len(catalogue)
    row, column, known = _places(held_out, users, catalogue)
    if not known.all():
        ids, which = held_out.item
        raise ValueError(
            "items must hold all held-out items, "
            f"got none that is {shown(ids[which[np.argmin(known)]])}"
        )
    relevant = sets_of(row, column, shape)
    counts["", "held-out rows that repeat another one, counted once"] = len(row) - relevant.nnz
    exclude = sparse.csr_matrix(shape, dtype=bool)
    if "train" in tables:
        row, column, known = _places(tables["train"], users, catalogue)
        _refuse_strangers("train", row, tables["train"], users)
        counts["", "training rows of items that are not in items, left out"] = (column < 0).sum()
        exclude = sets_of(row[known], column[known], shape)
    new = without(relevant, exclude)
    counts["", "held-out items that the user has in train, left out"] = relevant.nnz - new.nnz
    left = np.flatnonzero(np.diff(new.indptr))
    counts["", "users without any other held-out item, left out"] = len(users) - len(left)
    if not len(left):
        raise ValueError("held_out must hold items that are not in train, got none")
    return Study(np.asarray(users)[left], np.asarray(catalogue), new[left], exclude[left].tocsr())


def _known_to(study, table, counts, name, whose, what):
    """Which row of a table has which user and item of the study; others are counted."""
    index = extra("pandas").Index
    row, column, known = _places(table, index(study.users), index(study.items))
    counts[name, f"{whose} of users who are not evaluated, left out"] = (row < 0).sum()
    counts[name, f"{whose} {what}, left out"] = ((row >= 0) & (column < 0)).sum()
    return row, column, known


def _listed(name, table, study, counts):
    """The scores of a dataframe, as far as they are of users and items of the study."""
    what = "of items that are not in items"
    row, column, known = _known_to(study, table, counts, name, "scores", what)
    _refuse_strangers(_called(name), row, table, study.users)
    key = row[known] * len(study.items) + column[known]
    order = np.argsort(key)
    key, score = key[order], table.score[known][order]
    twice = key[1:][key[1:] == key[:-1]]
    if len(twice):
        user, item = divmod(int(twice[0]), len(study.items))
        raise ValueError(
            f"{_called(name)} must hold each pair of user and item once, "
            f"got user {shown(study.users[user])} with item {shown(study.items[item])} twice"
        )
    found = Listed(key, score, study)
    counts[name, "scores of items in train, which are not ranked"] = found.in_train
    return found


def _lists(table, study, counts):
    """The listed negatives of each user, as sets."""
    what = "that no other table knows"
    row, column, known = _known_to(study, table, counts, "", "negatives", what)
    lists = sets_of(row[known], column[known], study.relevant.shape)
    counts["", "negatives that repeat another one, left out"] = known.sum() - lists.nnz
    for what, sets in (("held-out", study.relevant), ("training", study.exclude)):
        right = without(lists, sets)
        left_out = f"negatives that are {what} items of the user, left out"
        counts["", left_out], lists = lists.nnz - right.nnz, right
    empty = np.diff(lists.indptr) == 0
    if empty.any():
        raise ValueError(
            "negatives must hold an item for every user who is evaluated, "
            f"got none for {shown(study.users[np.argmax(empty)])}"
        )
    return lists
