"""Tables, arrays and objects become numbered users and items."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping

import numpy as np
from scipy import sparse

from recsample._support.arrays import owners, split
from recsample._support.checks import array_of, shown, whole_numbers
from recsample._support.extras import extra
from recsample._support.frames import (
    as_ids,
    as_scores,
    coded,
    column_names,
    is_frame,
    joined,
    kind_of,
    numbered,
    read_columns,
    same_kind_ids,
)
from recsample.ranks.checks import check_names
from recsample.ranks.predicted import Listed, Rows, Source, Study, is_rows, ranks_among, rows_of
from recsample.ranks.scores import item_sets, sets_of, without
from recsample.sampling.list_checks import uniformity

# Lists of negatives that uniform draws would give this seldom are not taken for such.
_SURPRISE = 1e-4


def _recommenders(scores, model):
    """The sources by the names of the recommenders, and whether these were named."""
    if isinstance(scores, Mapping):
        if not scores:
            raise ValueError("scores must hold at least one recommender, got none")
        check_names("scores", scores)
        return {str(name): one for name, one in scores.items()}, True
    if not isinstance(model, Hashable):
        raise ValueError(f"model must be the name of a column, got {shown(model)}")
    if not (is_frame(scores) and model in column_names(scores, "scores")):
        return {"": scores}, False
    nw = extra("narwhals.stable.v2")
    frame = nw.from_native(scores)
    kind = frame.collect_schema()[model]
    if kind.is_nested():
        raise ValueError(f"scores must name recommenders by text, got {kind} in column {model!r}")
    names = frame.select(model).unique()
    names = names.collect() if isinstance(names, nw.LazyFrame) else names
    if names[model].is_null().any():
        raise ValueError(f"scores must not have missing values, got one in column {model!r}")
    if not all(isinstance(name, Hashable) for name in names[model].to_list()):
        raise ValueError(f"scores must name recommenders by text, got lists in column {model!r}")
    parts = {name: frame.filter(nw.col(model) == name) for name in names[model].to_list()}
    check_names("scores", parts)
    return {str(name): parts[name].to_native() for name in sorted(parts, key=str)}, True


def _generators(names, rng):
    """Random numbers for each name, which depend on no other name and are the same everywhere."""
    base = int(rng.integers(2**63))
    hashed = {name: hashlib.sha256(name.encode("utf-8", "surrogatepass")) for name in names}
    return {name: np.random.default_rng([base, *one.digest()]) for name, one in hashed.items()}


def _matched(given, held_out, train, items, names, counts):
    """The study, and the scores of its users; what does not match is counted."""
    user, item, _ = names
    pairs = {"held_out": _pairs_of("held_out", held_out, user, item)}
    if train is not None:
        pairs["train"] = _pairs_of("train", train, user, item)
    frames, rows = {}, {}
    for name, one in given.items():
        called = _called(name)
        if is_frame(one):
            columns = read_columns(called, one, dict(zip(("user", "item", "score"), names)))
            ids = (coded(as_ids(called, column)) for column in columns[:2])
            frames[name] = *ids, as_scores(called, columns[2])
        elif is_rows(one):
            rows[name] = rows_of(one)
        else:
            raise ValueError(
                f"{called} must be a dataframe, an array, a pair of factors or an object with "
                f"scores(users), got {shown(one)}"
            )
    found = pairs | {_called(name): one for name, one in frames.items()}
    _check_kinds(found, bool(rows))
    users, catalogue = _indices(found, rows, items)
    study = _study(pairs, users, catalogue, counts)
    sources: dict[str, Source] = {}
    for name in given:
        if name in frames:
            sources[name] = _listed(name, frames[name], study, catalogue, counts)
        else:
            block, _, n_items = rows[name]
            sources[name] = Rows(block, n_items, study.users.astype(np.int64))
    return study, sources


def _called(name):
    """The scores of a recommender, in a message."""
    return f"scores of {name!r}" if name else "scores"


def _pairs_of(name, given, user, item):
    """Columns of ids of users and items."""
    if is_frame(given):
        columns = read_columns(name, given, {"user": user, "item": item})
        return tuple(coded(as_ids(name, column)) for column in columns)
    if sparse.issparse(given) and given.ndim == 2:
        entries = item_sets(name, given, *given.shape).tocoo()
        row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    elif name == "held_out" and hasattr(given, "__len__"):
        column = whole_numbers(name, given, lowest=0)
        if column.ndim != 1:
            raise ValueError(f"held_out must hold one item per user, got shape {column.shape}")
        row = np.arange(len(column))
    else:
        raise ValueError(f"{name} must be a dataframe or a sparse matrix, got {shown(given)}")
    if not len(row):
        raise ValueError(f"{name} must hold at least one item, got none")
    return coded(row), coded(column)


def _check_kinds(found, by_number):
    """Refuse ids of different kinds, which cannot match."""
    for place, what in enumerate(("users", "items")):
        kinds = {name: kind_of(columns[place].ids) for name, columns in found.items()}
        wanted = "whole numbers" if by_number else kinds["held_out"]
        for name, kind in kinds.items():
            if kind != wanted:
                other = "scores as an array have" if by_number else "held_out has"
                raise ValueError(
                    f"{name} must name {what} as the other tables do: {other} {wanted}, got "
                    f"{kind}, such as {shown(found[name][place].ids[0])}; convert the column"
                )


def _indices(found, rows, items):
    """The users that may be evaluated, and all items that can be recommended."""
    pd = extra("pandas")
    users = joined(found["held_out"][0].ids)
    if not rows:
        if items is None:
            return users, joined(*(columns[1].ids for columns in found.values()))
        named = _named_items(items)
        if kind_of(named) != (kind := kind_of(found["held_out"][1].ids)):
            raise ValueError(f"items must be {kind} as in held_out, got {kind_of(named)}")
        return users, joined(named)
    if items is not None:
        raise ValueError("items must be None where scores are arrays: these have all items")
    sizes = {name: (n_users, n_items) for name, (_, n_users, n_items) in rows.items()}
    n_users = {one[0] for one in sizes.values() if one[0] is not None}
    n_items = {one[1] for one in sizes.values()}
    if len(n_users) > 1 or len(n_items) > 1:
        raise ValueError(f"scores must all have the same users and items, got shapes {sizes}")
    most = n_items.pop()
    for name, (of_users, of_items) in found.items():
        for end in n_users:
            _check_numbers(name, "users", of_users.ids, end)
        _check_numbers(name, "items", of_items.ids, most)
    return users, pd.RangeIndex(most)


def _check_numbers(name, what, ids, end):
    outside = ids[(ids < 0) | (ids >= end)]
    if len(outside):
        raise ValueError(
            f"{name} must number {what} from 0 to {end - 1}, as the scores do, got {outside[0]}"
        )


def _named_items(items):
    values = array_of("items", items, None if hasattr(items, "dtype") else object)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"items must be a list of at least one id, got {shown(items)}")
    return same_kind_ids("items", values)


def _study(pairs, users, catalogue, counts):
    """Who is evaluated on what."""
    shape = len(users), len(catalogue)
    row, column = (numbered(i, c) for i, c in zip((users, catalogue), pairs["held_out"]))
    if (column < 0).any():
        ids, which = pairs["held_out"][1]
        raise ValueError(
            "items must hold all held-out items, "
            f"got none that is {shown(ids[which[np.argmax(column < 0)]])}"
        )
    relevant = sets_of(row, column, shape)
    counts["", "held-out rows that repeat another one, counted once"] = len(row) - relevant.nnz
    exclude = sparse.csr_matrix(shape, dtype=bool)
    if "train" in pairs:
        row, column = (numbered(i, c) for i, c in zip((users, catalogue), pairs["train"]))
        if not (row >= 0).any():
            raise ValueError(
                "train must hold users of held_out, got none of them: "
                f"{shown(pairs['train'][0].ids[0])} here, {shown(users[0])} there"
            )
        counts["", "training rows of items that are not in items, left out"] = int(
            (column < 0).sum()
        )
        known = (row >= 0) & (column >= 0)
        exclude = sets_of(row[known], column[known], shape)
    new = without(relevant, exclude)
    counts["", "held-out items that the user has in train, left out"] = relevant.nnz - new.nnz
    relevant = new
    left = np.flatnonzero(np.diff(relevant.indptr))
    counts["", "users without any other held-out item, left out"] = len(users) - len(left)
    if not len(left):
        raise ValueError("held_out must hold items that are not in train, got none")
    return Study(
        np.asarray(users)[left], np.asarray(catalogue), relevant[left], exclude[left].tocsr()
    )


def _listed(name, columns, study, catalogue, counts):
    """The scores of a dataframe, as far as they are of users and items of the study."""
    users, items, score = columns
    index = extra("pandas").Index(study.users)
    row, column = numbered(index, users), numbered(catalogue, items)
    if not (row >= 0).any():
        raise ValueError(
            f"{_called(name)} must hold users of held_out, got none of "
            f"them: {shown(users.ids[0])} here, {shown(study.users[0])} there"
        )
    counts[name, "scores of users who are not evaluated, left out"] = int((row < 0).sum())
    unknown = (row >= 0) & (column < 0)
    counts[name, "scores of items that are not in items, left out"] = int(unknown.sum())
    known = (row >= 0) & (column >= 0)
    row, column, score = row[known], column[known], score[known]
    key = row * len(catalogue) + column
    order = np.argsort(key)
    key, score = key[order], score[order]
    twice = key[1:][key[1:] == key[:-1]]
    if len(twice):
        user, item = divmod(int(twice[0]), len(catalogue))
        raise ValueError(
            f"{_called(name)} must hold each pair of user and item once, "
            f"got user {shown(study.users[user])} with item {shown(study.items[item])} twice"
        )
    found = Listed(key, score, study)
    counts[name, "scores of items in train, which are not ranked"] = found.in_train
    return found


def _count_unlisted(sources, study, counts):
    for name, source in sources.items():
        counts[name, "scores of -inf, ranked last and tied"] = source.lowest
        if isinstance(source, Listed):
            none = source.of(*study.held_out) == -np.inf
            counts[name, "held-out items without a score, tied with all others"] = int(none.sum())
            empty = source.lengths == 0
            counts[name, "users without any score, whose items are all tied"] = int(empty.sum())


def _short_lists(sources, study, metrics):
    """Which metrics look further than the lists of the best items reach."""
    notes = []
    for name, source in sources.items():
        if not isinstance(source, Listed):
            continue
        lengths = source.lengths
        short = lengths < study.sizes
        if not short.any():
            continue
        where = int(np.argmin(np.where(short, lengths, np.iinfo(np.int64).max)))
        further = [str(m) for m in metrics if m.cutoff is None or m.cutoff > lengths[where]]
        if further:
            by = f"{name}: " if name else ""
            notes.append(
                f"{by}{', '.join(further)} look{'s' * (len(further) == 1)} "
                f"further than the shortest list, {lengths[where]} items for user "
                f"{shown(study.users[where])}: items that are not listed count as if in random "
                "order behind those that are"
            )
    return tuple(notes)


def _among_given(negatives, study, sources, names, counts):
    """The ranks among listed items, and why the lists cannot be taken for uniform draws, if so."""
    pd = extra("pandas")
    user, item = _pairs_of("negatives", negatives, *names)
    row, column = numbered(pd.Index(study.users), user), numbered(pd.Index(study.items), item)
    counts["", "negatives of users who are not evaluated, left out"] = int((row < 0).sum())
    counts["", "negatives that no other table knows, left out"] = int(
        ((row >= 0) & (column < 0)).sum()
    )
    known = (row >= 0) & (column >= 0)
    shape = study.relevant.shape
    listed = sets_of(row[known], column[known], shape)
    counts["", "negatives that repeat another one, left out"] = int(known.sum()) - listed.nnz
    for what, sets in (("held-out", study.relevant), ("training", study.exclude)):
        right = without(listed, sets)
        counts["", f"negatives that are {what} items of the user, left out"] = (
            listed.nnz - right.nnz
        )
        listed = right
    lengths = np.diff(listed.indptr).astype(np.int64)
    if not lengths.all():
        raise ValueError(
            "negatives must hold an item for every user who is evaluated, "
            f"got none for {shown(study.users[np.argmin(lengths)])}"
        )
    of, which = owners(lengths), listed.indices.astype(np.int64)
    sizes = lengths + study.n_relevant
    runs = {}
    for name, source in sources.items():
        scores, own = source.of(of, which), source.of(*study.held_out)
        counts[name, "negatives and held-out items without a score, ranked last and tied"] = int(
            (scores == -np.inf).sum() + (own == -np.inf).sum()
        )
        scored = scores > -np.inf
        runs[name] = ranks_among(of[scored], scores[scored], study, own, sizes)
    tests = uniformity(split(which, lengths), study.exclude + study.relevant)
    chance = float(tests["p-value"].min()) * len(tests)
    if chance >= _SURPRISE:
        return runs, ""
    return runs, (
        "the lists of negatives do not look like uniform draws from the items that are new to the "
        f"user (p < {_SURPRISE:g})"
    )
