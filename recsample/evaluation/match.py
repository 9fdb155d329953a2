"""The first phase of an evaluation: tables, arrays and objects become numbered users and items."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from recsample._support import frames
from recsample._support.arrays import counted, places_in
from recsample._support.checks import array_of, positive_int, shown, whole_numbers
from recsample._support.conversions import RANKS, conversion
from recsample._support.errors import InputError, Naming
from recsample._support.extras import extra
from recsample._support.typing import Floats
from recsample.evaluation.options import EXPECTED
from recsample.ranks.checks import check_names
from recsample.ranks.scores import item_sets, pairs_of, refuse_masked_scores, sets_of, without
from recsample.ranks.sources import Listed, Source, Study, WholeRows, is_rows

_SCORES_IN_TRAIN, _OF_OTHERS = EXPECTED
_THEMSELVES = (
    "users who are ranked among their own items; if a query is no answer to itself, give the pairs "
    "of a user and the same item as train="
)
# What a column of two words may mean, one with 0 or less, and one of grades.
_WORDS = "keep the rows that are relevant, and say {relevance:=None}"
_SIGNS = "{relevance:={0!r}} if rows with 0 or less are not relevant, else {relevance:=None}"
_STARS = "{relevance:={0!r}} or {relevance:=None} if every row counts; if only some do, keep these"
_SPELLING = "case, white space, the form of letters or .0"
# Where tables name so many of the columns, up to a few before and behind them may be padding.
_NEARLY_ALL, _PADDING = 0.98, 3
# So many different items are not all unknown by accident, nor so many lists numbered.
_MANY = 20


@dataclass(frozen=True)
class Matched:
    """Recommenders, users and items that fit each other: what the second phase is given.

    `sources` are by the names of the recommenders, "" for one that is not `named`; `lists` are the
    items of each user to rank among, None for the catalogue; `counts` says what did not match. The
    size of the catalogue `is_known` where it was stated, or some scores are of all that occurs.
    """

    study: Study
    sources: Mapping[str, Source]
    named: bool
    lists: Any  # sets of items, or None
    counts: Mapping[tuple[str, str], int]
    is_known: bool


class _Table(NamedTuple):
    """What a dataframe or a sparse matrix holds."""

    user: frames.Coded
    item: frames.Coded
    score: Floats | None = None
    shape: tuple[int, int] | None = None  # of a matrix


def match_ids(
    scores: Any,
    held_out: Any,
    train: Any,
    items: Any,
    among: Any,
    relevance: Any,
    columns: Mapping[str, str],
) -> Matched:
    """Match users and items by their ids; what does not match is counted.

    `columns` are the names of those of user, item, score and model in all dataframes, and of groups
    in `held_out` where it has them; `relevance`
    is the one that says which held-out rows are relevant, None for none and ... if not said.
    """
    counts: dict[tuple[str, str], int] = {}
    given, named = recommenders(scores, columns["model"])
    pair = {use: columns[use] for use in ("user", "item")}
    scored = pair | {"score": columns["score"]}
    both = {"held_out": held_out} | ({} if train is None else {"train": train})
    both = {name: _framed(name, one, pair) for name, one in both.items()}
    known = pair | {use: columns[use] for use in ("groups",) if use in columns}
    relevance = _asked_relevance(both, known, relevance)
    tables = {name: _relevant(name, one, pair, relevance, counts) for name, one in both.items()}
    if among is not None:
        tables["among"] = _pairs("among", among, pair, counts)
    stated, n_items = _stated_items(items)
    read = {name: _read(name, one, train, scored) for name, one in given.items()}
    rows = {name: one for name, one in read.items() if isinstance(one, WholeRows)}
    listed = {name: one for name, one in read.items() if isinstance(one, _Table)}
    _check_shapes(tables, rows, columns["user"])
    # Without an entry a table has no kind of ids, and knows of nobody.
    tables = {name: table for name, table in tables.items() if len(table.user.which)}
    found = tables | {_called(name): table for name, table in listed.items()}
    _check_kinds(found, bool(rows))
    _check_spelling(found, counts)
    if rows:
        _check_numbers(found, rows)
    elif stated is None:
        _refuse_unknown(found)
    catalogue = _catalogue(found, rows, stated, n_items)
    for one in rows.values():
        one.columns = None if stated is None else np.asarray(catalogue)
    study = _study(tables, catalogue, n_items or len(catalogue), counts)
    _count_others(found, read, counts)
    _count_themselves(study, counts)
    if stated is None:
        _count_padding(found, rows, counts)
    sources: dict[str, Source] = {
        name: rows[name]
        if name in rows
        else _listed(name, listed[name], study, catalogue, counts, one, columns)
        for name, one in given.items()
    }
    lists = None if among is None else _lists(tables["among"], study, catalogue, counts)
    lengths = [one.lengths for one in sources.values() if isinstance(one, Listed)]
    whole = any(np.array_equal(one, study.sizes) for one in lengths)
    is_known = bool(rows) or items is not None or whole
    return Matched(study, sources, named, lists, counts, is_known)


def recommenders(scores: Any, model: str) -> tuple[Mapping[str, Any], bool]:
    """The sources by the names of the recommenders, and whether these were named.

    Examples
    --------
    >>> recommenders({"popular": [[2.0, 1.0]]}, "model")
    ({'popular': [[2.0, 1.0]]}, True)
    """
    if isinstance(scores, Mapping):
        if not scores:
            raise InputError("scores", "must hold at least one recommender").got("none")
        check_names("scores", scores)
        return {str(name): one for name, one in scores.items()}, True
    if not (frames.is_frame(scores) and model in frames.column_names(scores, "scores")):
        return {"": scores}, False
    return parts_by(scores, model, "model", "recommenders"), True


def parts_by(scores: Any, column: str, use: str, what: str) -> dict[str, Any]:
    """The parts of a dataframe of scores that one of its columns names."""
    (found,) = frames.read_columns("scores", scores, {use: column})
    try:
        names = set(found.to_list())
    except TypeError:
        allowed = f"must name {what} by text"
        raise InputError("scores", allowed).got(f"lists in column {column!r}") from None
    check_names("scores", names)
    nw = extra("narwhals.stable.v2")
    frame = nw.from_native(scores)
    parts = {str(name): frame.filter(nw.col(column) == name).to_native() for name in names}
    return dict(sorted(parts.items()))


def _called(name):
    """The scores of a recommender, in a message."""
    return f"scores of {name!r}" if name else "scores"


def _read(name, given, train, columns):
    """The scores of one recommender, whatever they are."""
    called, path = _called(name), f"scores[{name!r}]" if name else "scores"
    if frames.is_frame(given):
        return _from_frame(called, given, columns)
    if is_rows(given) and not frames.is_series(given):
        refuse_masked_scores(given, "train", train, called, path)
        return WholeRows(given, called)
    allowed = "must be a dataframe, an array, a pair of factors or an object with scores(users)"
    is_row = isinstance(given, Mapping) and not any(isinstance(x, Mapping) for x in given.values())
    # A mapping of scores stands by the name of a recommender, which then is a user.
    line = conversion(*(("scores", {0: given}) if is_row else (path, given)))
    raise InputError(called, allowed).got(shown(given), line)


def _from_frame(name, frame, columns, may_be_empty=False):
    """Users and items of a dataframe, and the scores where there is a column of them."""
    read = dict(zip(columns, frames.read_columns(name, frame, columns, may_be_empty)))
    user, item = (frames.coded(frames.as_ids(name, read[use])) for use in ("user", "item"))
    if "score" not in read:
        return _Table(user, item)
    score = frames.as_scores(name, read["score"])
    _refuse_places(name, columns["score"], user.which, score)
    return _Table(user, item, score)


def _refuse_places(name, column, user, score):
    """Refuse ranks in place of scores."""
    if str(column).lower() in RANKS:
        allowed = "must name a column in which higher is better"
        remedy = f"of ranks add a column of -{column}; rename one in which higher is better"
        raise InputError("score", allowed).got(repr(column), remedy)
    lengths = counted(user, user.max() + 1)
    if len(lengths) < _MANY or lengths.max() < 2:
        return
    of_user = score[np.argsort(user, kind="stable")] - places_in(lengths)
    if (of_user == of_user[0]).all() and of_user[0] in (0, 1):
        first = ", ".join(f"{of_user[0] + k:g}" for k in range(2))
        raise InputError(name, "must hold scores, of which the highest is best").got(
            f"{first}, ... in the rows of each user, as ranks are",
            Naming("give -{0} in place of {0}; if higher is better, reverse the rows", column),
        )


def _framed(name, given, columns):
    """A Series of items by their users as a dataframe; without users in its index, an array."""
    if not frames.is_series(given):
        return given
    pd = extra("pandas")
    if isinstance(given.index, pd.RangeIndex) and given.index.name != columns["user"]:
        return given.to_numpy()
    if given.index.nlevels > 1:
        allowed = "must have the users as its index and items as its values"
        got = f"a Series with the index {shown([*given.index.names])}"
        raise InputError(name, allowed).got(got, conversion(name, given))
    return pd.DataFrame({columns["user"]: given.index, columns["item"]: given.to_numpy()})


def _asked_relevance(tables, columns, relevance):
    """The column that says which rows are relevant, or None; refuse to guess it."""
    known = {name: frames.column_names(one) for name, one in tables.items() if frames.is_frame(one)}
    if relevance is ...:
        for name in known:
            unclear = frames.unclear_columns(tables[name], columns.values(), name == "held_out")
            if unclear:
                column, low = unclear[0]
                means = _WORDS if low is None else _SIGNS if low <= 0 else _STARS
                allowed = f"must say what the column {{0!r}} of {{{name}}} means: {means}"
                raise InputError("relevance", Naming(allowed, column)).got("neither")
        return None
    if relevance is not None and not any(relevance in names for names in known.values()):
        if "held_out" not in known:
            raise InputError(
                "relevance", Naming("must be {None:left out} where {held_out} is no dataframe")
            ).got(shown(relevance))
        allowed = (
            "must be a column of {held_out} or of {train}, or None where every row is relevant"
        )
        got = f"{shown(relevance)} where the columns are {shown(known)}"
        raise InputError("relevance", Naming(allowed)).got(got)
    return relevance


def _relevant(name, given, columns, relevance, counts):
    """The pairs of a user and an item of which something is known: those that are relevant."""
    table = _pairs(name, given, columns, counts)
    is_graded = relevance is not None and frames.is_frame(given)
    if not (is_graded and relevance in frames.column_names(given)):
        return table
    (grades,) = frames.read_columns(name, given, {"relevance": relevance}, name == "train")
    relevant = frames.as_grades(name, grades)
    keep = relevant > 0
    if name == "held_out" and not keep.any():
        allowed = "must name a column with a grade above 0"
        raise InputError("relevance", allowed).got(f"{relevance!r}")
    whose = "held-out" if name == "held_out" else "training"
    counts["", f"{whose} rows that are not relevant by {relevance!r}, left out"] = (~keep).sum()
    parts = (frames.Coded(one.ids, one.which[keep]) for one in (table.user, table.item))
    return _Table(*parts, score=relevant[keep])


def _pairs(name, given, columns, counts):
    """Pairs of a user and an item."""
    if frames.is_frame(given):
        return _from_frame(name, given, columns, may_be_empty=name == "train")
    shape = None
    if sparse.issparse(given) and given.ndim == 2:
        shape, entries = given.shape, given.tocoo(copy=True)
        if name == "held_out":
            below = entries.data < 0
            entries.data[below] = 0
            counts["", "held-out entries below 0, which are not relevant, left out"] = below.sum()
            above = entries.data[entries.data > 0]
            told = "held-out entries of different values, relevant alike; a dataframe has grades"
            counts["", told] = len(above) * bool((above != above[:1]).any())
        user, item = pairs_of(item_sets(name, entries, *shape))
    elif name == "held_out" and isinstance(given, Sized) and not isinstance(given, (str, Mapping)):
        items = np.atleast_1d(array_of(name, given))
        if items.ndim != 1 or len(items) and isinstance(items[0], (list, set, tuple, type(None))):
            remedy = conversion(name, items if items.ndim == 2 else [*given])
            raise InputError("held_out", "must hold one item per user").got(shown(given), remedy)
        cure = "users without an item are left out by a Series with the others as its index"
        line = "pandas.Series(held_out).dropna() leaves users without an item out"
        item = whole_numbers(name, items, lowest=0, cure=cure, missing=line)
        user, shape = np.arange(len(item)), (len(item), None)
    else:
        or_array = ", or an array of the item of each user" if name == "held_out" else ""
        allowed = f"must be a dataframe, a Series by users or a sparse matrix{or_array}"
        raise InputError(name, allowed).got(shown(given), conversion(name, given))
    if not len(user) and name != "train":
        raise InputError(name, "must hold at least one item").got("none")
    return _Table(frames.coded(user), frames.coded(item), shape=shape)


def _check_shapes(tables, rows, user):
    """Refuse arrays and matrices of different users or items; None is a number nobody knows."""
    shapes = {_called(name): (one.n_users, one.n_items) for name, one in rows.items()}
    shapes |= {name: one.shape for name, one in tables.items() if one.shape is not None}
    n_given, n_items = shapes.get("held_out", (None, 0))
    if n_items is None:
        known = [n for n, k in shapes.values() if k is not None and n is not None]
        if n_given not in known[:1]:
            of = f"{known[0]} users" if known else "users, whose number scores do not tell"
            remedy = "a dataframe of users and items, or a Series by users, says whose they are"
            if not rows:
                remedy = f"pandas.Series(held_out).rename_axis({user!r}) numbers users from 0"
            allowed = f"must hold an item for each of the {of}"
            raise InputError("held_out", allowed).got(f"{n_given} items", remedy)
    for first, wanted in shapes.items():
        for name, shape in shapes.items():
            if any(None not in ends and ends[0] != ends[1] for ends in zip(wanted, shape)):
                allowed = f"must have the same users and items as {first}"
                remedy = "a dataframe of users and items says whose its rows are"
                raise InputError(name, allowed).got(f"shapes {shape} and {wanted}", remedy)


def _check_kinds(found, by_number):
    """Refuse ids of different kinds, which cannot match."""
    for place, what in enumerate(("users", "items")):
        kinds = {name: frames.kind_of(table[place].ids) for name, table in found.items()}
        wanted = "whole numbers" if by_number else kinds["held_out"]
        for name, kind in kinds.items():
            if kind != wanted:
                other = "scores as an array have" if by_number else "held_out has"
                allowed = f"must name {what} as the other tables do: {other} {wanted}"
                got = f"{kind}, such as {shown(found[name][place].ids[0])}"
                raise InputError(name, allowed).got(got)


def _check_spelling(found, counts):
    """Count ids that other tables spell otherwise; refuse where these are more than the others."""
    for place, what in enumerate(("users", "items")):
        if frames.kind_of(found["held_out"][place].ids) != "text":
            continue
        ids = {name: set(table[place].ids) for name, table in found.items()}
        for name, mine in ids.items():
            others = set().union(*(one for other, one in ids.items() if other != name))
            spelt = {frames.normalised(one): one for one in others - mine}
            twins = [one for one in mine - others if frames.normalised(one) in spelt]
            if not twins:
                continue
            here = min(twins)
            there = spelt[frames.normalised(here)]
            said = f"{ascii(here):.80} here and {ascii(there):.80} there"  # so are forms of letters
            if len(twins) > len(mine & others):
                allowed = f"must spell ids of {what} as the other tables do"
                got = f"{len(twins):,} of {len(mine):,} that differ by {_SPELLING} only, such as "
                raise InputError(name, allowed).got(got + said)
            told = f"ids of {what} in {name} that only {_SPELLING} tells from others"
            counts["", told] = len(twins)


def _refuse_unknown(found):
    """Refuse a table of many items of which no other table knows a single one."""
    for name, table in found.items():
        ids = table.item.ids
        others = [other.item.ids for key, other in found.items() if key != name]
        if others and len(ids) >= _MANY and (frames.union(*others).get_indexer(ids) < 0).all():
            raise InputError(name, "must hold items that another table knows").got(
                f"{len(ids):,} of which none does: {shown(ids[0])} here, {shown(others[0][0])} "
                "there"
            )


def _stated_items(items):
    """The ids of the catalogue, or how many there are; None for what is not stated."""
    if items is None:
        return None, None
    if np.isscalar(items) and not isinstance(items, str):
        return None, positive_int("items", items)
    ids = array_of("items", items, None if hasattr(items, "dtype") else object)
    if ids.ndim != 1 or not len(ids):
        allowed = "must be a number, or a list of at least one id"
        raise InputError("items", allowed).got(shown(items))
    return frames.check_ids("items", ids), None


def _catalogue(found, rows, stated, n_items):
    """The items that can be recommended: those that are stated, or all that occur."""
    known = (
        extra("pandas").RangeIndex(next(iter(rows.values())).n_items)
        if rows
        else frames.union(*(table.item.ids for table in found.values()))
    )
    if n_items is not None and (n_items < len(known) or (rows and n_items > len(known))):
        least = "as many as scores have columns" if rows else "at least as many as the tables name"
        each = "{name: rs.predicted_ranks(one, held_out) for name, one in scores.items()}"
        ranks = "rs.predicted_ranks(scores, held_out)" if "" in rows else each
        line = f"rs.report({ranks}, n_items={n_items}) reads scores of drawn items alone"
        line *= n_items > len(known) and found["held_out"].shape is not None
        raise InputError(
            "items",
            f"must be their number, {least}, {len(known):,}, or the ids of those that are ranked",
        ).got(f"{n_items:,}", line)
    if stated is None:
        return known
    if frames.kind_of(stated) != (kind := frames.kind_of(found["held_out"].item.ids)):
        allowed = Naming("must be {} as in {held_out}", kind)
        raise InputError("items", allowed).got(frames.kind_of(stated))
    catalogue = frames.union(stated)
    if rows and (unknown := catalogue.difference(known)).size:
        allowed = f"must be numbers of columns of scores, from 0 to {len(known) - 1}"
        raise InputError("items", allowed).got(unknown[0])
    return catalogue


def _check_numbers(found, rows):
    """Refuse tables with users or items that arrays, which number them, do not have."""
    n_items = next(one.n_items for one in rows.values())
    n_users = next((one.n_users for one in rows.values() if one.n_users is not None), None)
    for name, table in found.items():
        for what, (ids, _), end in (("users", table.user, n_users), ("items", table.item, n_items)):
            # None where an object alone knows how many users there are.
            outside = [] if end is None else ids[(ids < 0) | (ids >= end)]
            if len(outside):
                allowed = f"must number {what} from 0 to {end - 1}, as the scores do"
                remedy = "other ids are matched where scores are a dataframe"
                raise InputError(name, allowed).got(outside[0], remedy)


def _places(name, table, users, items):
    """The numbers of user and item of each row, -1 for others, and where both are known.

    A table of other users only is refused.
    """
    user, item = frames.codes_in(users, table.user), frames.codes_in(items, table.item)
    if not (user >= 0).any():
        got = f"none of them: {shown(table.user.ids[0])} here, {shown(users[0])} there"
        raise InputError(name, Naming("must hold users of {held_out}")).got(got)
    return user, item, (user >= 0) & (item >= 0)


def _study(tables, catalogue, n_items, counts):
    """Who is evaluated on what."""
    held_out = tables["held_out"]
    users = frames.union(held_out.user.ids)
    shape = len(users), len(catalogue)
    row, column, known = _places("held_out", held_out, users, catalogue)
    if not known.all():
        ids, which = held_out.item
        n_others, other = (~known).sum(), shown(ids[which[np.argmin(known)]])
        got = "{:,} of {:,} rows of {held_out} with others, such as {}", n_others, len(known), other
        raise InputError("items", "must hold all held-out items").got(Naming(*got))
    relevant, given = sets_of(row, column, shape), (row, column)
    counts["", "held-out rows that repeat another one, counted once"] = len(row) - relevant.nnz
    exclude = sparse.csr_matrix(shape, dtype=bool)
    if "train" in tables:
        row, column, known = _places("train", tables["train"], users, catalogue)
        counts["", "training rows of items that are not in items, left out"] = (column < 0).sum()
        exclude = sets_of(row[known], column[known], shape)
        n_without = len(users) - len(np.unique(row[row >= 0]))
        counts["", "users without any row of train, ranked among all items"] = n_without
    new = without(relevant, exclude)
    counts["", "held-out items that the user has in train, left out"] = relevant.nnz - new.nnz
    left = np.flatnonzero(np.diff(new.indptr))
    counts["", "users without any other held-out item, left out"] = len(users) - len(left)
    if not len(left):
        raise InputError("held_out", "must hold items that are not in train").got("none")
    study = Study(
        np.asarray(users)[left], np.asarray(catalogue), new[left], exclude[left].tocsr(), n_items
    )
    if held_out.score is None or (held_out.score == 1).all():  # which is no grade
        return study
    return _with_grades(study, *given, held_out.score, left)


def _with_grades(study, row, column, grade, left):
    """The study with the grade of each relevant item, of which each pair has one."""
    n_items = len(study.items)
    keys, first, which = np.unique(row * n_items + column, return_index=True, return_inverse=True)
    different = grade != grade[first][which]
    if different.any():
        at = int(np.argmax(different))
        got = f"{grade[first][which][at]:g} and {grade[at]:g} for item "
        got += f"{shown(study.items[column[at]])} of one user"
        allowed = "must give each pair of user and item one grade above 0"
        raise InputError("relevance", allowed).got(got)
    user, item = study.held_out
    found = grade[first][np.searchsorted(keys, left[user] * n_items + item)]
    return study._replace(grades=found)


def _known_to(study, catalogue, called, table, name, whose, counts):
    """Which row of a table has which user and item of the study; others are counted."""
    users = extra("pandas").Index(study.users)
    row, column, known = _places(called, table, users, catalogue)
    counts[name, f"{whose} {_OF_OTHERS}"] = (row < 0).sum()
    unknown = (row >= 0) & (column < 0)
    counts[name, f"{whose} of items that are not in items, left out"] = unknown.sum()
    return row[known], column[known], known


def _listed(name, table, study, catalogue, counts, given, columns):
    """The scores of a dataframe, as far as they are of users and items of the study."""
    called = _called(name)
    row, column, known = _known_to(study, catalogue, called, table, name, "scores", counts)
    key = row * len(study.items) + column
    order = np.argsort(key)
    key, score = key[order], table.score[known][order]
    again = np.append(False, key[1:] == key[:-1])
    twice = again & np.append(False, score[1:] != score[:-1])
    if twice.any():
        user, item = divmod(int(key[twice][0]), len(study.items))
        got = f"two for user {shown(study.users[user])} with item {shown(study.items[item])}"
        allowed = "must hold one score for each pair of user and item"
        raise InputError(called, allowed).got(got, frames.told_apart(given, columns))
    counts[name, "rows of scores that repeat another one, left out"] = again.sum()
    found = Listed(key[~again], score[~again], study)
    counts[name, _SCORES_IN_TRAIN] = found.in_train
    return found


def _lists(table, study, catalogue, counts):
    """The items to rank among of each user, as sets without the relevant ones."""
    whose = "rows of among"
    row, column, _ = _known_to(study, catalogue, "among", table, "", whose, counts)
    lists = sets_of(row, column, study.relevant.shape)
    counts["", f"{whose} that repeat another one, left out"] = len(row) - lists.nnz
    lists = without(lists, study.relevant)
    new = without(lists, study.exclude)
    counts["", f"{whose} that are training items of the user, left out"] = lists.nnz - new.nnz
    return new


def _count_others(found, read, counts):
    """Count the users who have scores and no held-out item, of each recommender."""
    users = found["held_out"].user.ids
    for name, one in read.items():
        if isinstance(one, _Table):
            n_others = len(frames.union(one.user.ids, users)) - len(users)
        else:
            n_others = 0 if one.n_users is None else one.n_users - len(users)
        counts[name, "users with scores and without a held-out item"] = n_others


def _count_themselves(study, counts):
    """Count the users who are items too, as queries are that are documents, and are ranked."""
    if frames.kind_of(study.users) != "text":
        return
    own = extra("pandas").Index(study.items).get_indexer(study.users)
    rows = np.flatnonzero(own >= 0)
    if all(str(one).isdecimal() for one in np.asarray(study.users, object)[rows]):
        return  # numbers, as text from a file: user 7 is not item 7
    known = (study.exclude + study.relevant)[rows, own[rows]]
    counts["", _THEMSELVES] = len(rows) - int(known.sum()) if len(rows) > len(own) / 2 else 0


def _count_padding(found, rows, counts):
    """Count what is ranked as an item, and may be padding of lists or of the catalogue."""
    ids = {name: table.item.ids for name, table in found.items()}
    numbered = frames.kind_of(ids["held_out"]) == "whole numbers"
    if not numbered or (ids["held_out"] < 0).sum() > 1:  # such as hashes
        return
    for name, table in found.items():
        below = table.item.ids[table.item.which] < 0
        told = "rows of items below 0, ranked as such; if they are padding, items= leaves them out"
        counts["", f"{name}: {told}"] = below.sum()
    for one in list(rows.values())[:1]:
        occur = np.unique(np.concatenate([*ids.values()]))
        first, end = int(occur[0]), int(occur[-1]) + 1
        told = "columns of scores at the ends are ranked, and no table names them; if they are"
        n_out = one.n_items - (end - first)
        if len(occur) > _NEARLY_ALL * (end - first) and n_out <= _PADDING:
            counts["", f"{told} padding, items=range({first}, {end}) leaves them out"] = n_out
