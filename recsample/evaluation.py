"""From scores and held-out items, in dataframes of any library, to a table that can be defended."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from recsample._extras import extra
from recsample._frames import (
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
from recsample._indexing import owners
from recsample._instances import check_names
from recsample._lists import split
from recsample._scores import item_sets, sets_of, without
from recsample._sources import Listed, Rows, Source, Study, is_rows, ranks_among, rows_of
from recsample._statistics import LEVEL, PERCENT, limits_of_mean
from recsample._tables import table_of
from recsample._typing import Rng
from recsample._validation import array_of, generator, shown, true_or_false, whole_numbers
from recsample.inference.comparison import Comparison, paired_comparison
from recsample.inference.reporting import report
from recsample.inference.results import Instances, Result, level_of_pairs
from recsample.metrics._chosen import chosen_metrics
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.sampling.base import Design, Sampler
from recsample.sampling.list_checks import uniformity
from recsample.sampling.pooled import PooledSampling
from recsample.sampling.uniform import UniformSampling

__all__ = ["evaluate"]

# Lists of negatives that uniform draws would give this seldom are not taken for such.
_SURPRISE = 1e-4


def evaluate(
    scores: Any,
    held_out: Any,
    *,
    train: Any = None,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP, AUC),
    sampler: Sampler | Design | None = None,
    negatives: Any = None,
    items: ArrayLike | None = None,
    user: str = "user",
    item: str = "item",
    score: str = "score",
    model: str = "model",
    simultaneous: bool = False,
    rng: Rng = 0,
) -> Result:
    """Evaluate recommenders: from scores and held-out items to a table with limits.

    Users and items are matched by their ids, in any order. For each user the held-out items are
    ranked among all items, without those that the user has in `train`. Items with the same score
    share their places, and metrics are averaged over the orders of these.

    Parameters
    ----------
    scores : mapping of str to scores, or scores
        Of each recommender, higher is better. One of:

        - a dataframe with the columns `user`, `item` and `score`: of all pairs, or of the best
          items of each user. Items that are not listed, and those with the score -inf, are tied
          behind those that are.
        - an array, shape (users, items); a pair of factors; or an object with ``scores(users)``,
          which gives such an array for some users. Users and items are then numbered from 0.

        Several recommenders may stand in one dataframe, told apart by the column `model`.
    held_out : dataframe, array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant items: columns `user` and `item`; the number of the item of each user; or a
        matrix with the relevant items as its non-zeros. These users are evaluated.
    train : dataframe or sparse matrix, shape (users, items), optional
        What each user knows already, which is not ranked.
    metrics : sequence of Metric or str, optional
    sampler : UniformSampling, PooledSampling or Design, optional
        Rank among sampled items instead: what a sampled evaluation would have said, as `report`
        has it, or estimates without bias from a design, with their cost.
    negatives : dataframe, optional
        Rank among these items of each user instead, columns `user` and `item`, such as a published
        list. Entries that should not be there are left out and counted, and it is tested whether
        the lists look like uniform draws. If they do, the result is that of `report`; if not,
        nothing is said of the exact metrics.
    items : array_like, optional
        The ids of all items that can be recommended. By default all that occur in `scores`, in
        `train` or in `held_out`.
    user, item, score, model : str, optional
        Names of the columns in all dataframes.
    simultaneous : bool, optional
        Whether the limits of the differences hold for all pairs of recommenders at once, by
        Bonferroni's correction. They are wider the more recommenders there are.
    rng : int or numpy.random.Generator, optional
        For what is drawn. Each recommender that has a name has random numbers of its own, which
        depend on `rng` and on that name: they are the same whichever others stand beside it, and
        in whatever order.

    Returns
    -------
    Result
        Its table has the mean of each metric and its 95 % limits, for other users like these.
        Whatever was left out, or does not match, is counted in ``counts`` and said in ``notes``.

    Raises
    ------
    ValueError
        For dataframes without these columns, with missing values, or with a pair that has two
        scores; names of recommenders that are the same as text; ids that have nothing in common; no
        user left to evaluate; and a sampler that is neither uniform nor a design.

    Examples
    --------
    >>> import pandas as pd
    >>> import recsample as rs
    >>> held_out = pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "oil"]})
    >>> scores = pd.DataFrame(
    ...     {
    ...         "user": ["ann", "ann", "ann", "bob", "bob", "bob"],
    ...         "item": ["tea", "oil", "rye", "tea", "oil", "rye"],
    ...         "score": [0.9, 0.1, 0.5, 0.8, 0.7, 0.2],
    ...     }
    ... )
    >>> train = pd.DataFrame({"user": ["bob"], "item": ["rye"]})
    >>> found = rs.evaluate({"mine": scores}, held_out, train=train, metrics=["MRR", "AUC"])
    >>> found.table["value"]
    recommender  metric
    mine         RR        0.75
                 AUC       0.50
    Name: value, dtype: float64
    >>> found.notes
    ('mine: scores of items in train, which are not ranked: 1',)
    """
    extra("pandas")
    chosen, rng = chosen_metrics(metrics), generator(rng)
    simultaneous = true_or_false("simultaneous", simultaneous)
    given, several = _recommenders(scores, model)
    counts: dict[tuple[str, str], int] = {}
    study, sources = _matched(given, held_out, train, items, (user, item, score), counts)
    options = dict(several=several, metrics=chosen, simultaneous=simultaneous)
    if negatives is not None:
        if sampler is not None:
            raise ValueError("sampler must be None where negatives are given")
        runs, wrong = _among_given(negatives, study, sources, (user, item), counts)
        notes = _notes(counts)
        if wrong:
            return _uncorrected(runs, wrong, notes, counts, **options)
        notes += (
            "the lists of negatives are taken for uniform draws from the items that are new to the "
            f"user, which they look like (p > {_SURPRISE:g})",
        )
        return _reported(runs, study.sizes, False, notes, counts, **options)
    ranks = {name: source.ranks(study) for name, source in sources.items()}
    _count_unlisted(sources, study, counts)
    notes = _notes(counts) + _short_lists(sources, study, chosen)
    if sampler is None:
        return _exact(ranks, notes, counts, **options)
    rngs = _generators(ranks, rng) if several else {"": rng}
    if isinstance(sampler, Design):
        return _designed(ranks, sampler, rngs, notes, counts, **options)
    if not isinstance(sampler, (UniformSampling, PooledSampling)):
        raise ValueError(
            "sampler must be UniformSampling, PooledSampling, a Design or None, got "
            f"{shown(sampler)}: what other draws say of the exact metrics is not told by report"
        )
    runs = {name: sampler.draw(one, rngs[name]) for name, one in ranks.items()}
    # Whatever the number of different items, pooled draws are a set without replacement.
    with_replacement = isinstance(sampler, UniformSampling) and sampler.replace
    return _reported(runs, study.sizes, with_replacement, notes, counts, **options)


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


def _notes(counts):
    """What does not match, in words."""
    return tuple(
        f"{name}: {what}: {n:,}" if name else f"{what}: {n:,}"
        for (name, what), n in counts.items()
        if n
    )


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


def _exact(ranks, notes, counts, several, metrics, simultaneous):
    """All items are ranked."""
    values = {(name, m): _defined(m, one) for name, one in ranks.items() for m in metrics}
    first = next(iter(ranks.values()))
    head = f"{_instances(first)}, each ranked among {_span(first.n_irrelevant)} irrelevant items."

    def part(which):
        some = {name: one[which] for name, one in ranks.items()}
        return _exact(some, (), {}, several, metrics, simultaneous)

    return _of_values(values, first.ids, head, notes, counts, part, several, simultaneous)


def _designed(ranks, design, rngs, notes, counts, several, metrics, simultaneous):
    """Estimates without bias, with what they cost."""
    observed = {name: design.draw(one, rngs[name]) for name, one in ranks.items()}
    values = {(name, m): design.of(m, one) for name, one in observed.items() for m in metrics}
    cost = {name: design.cost(one) for name, one in ranks.items()}
    first = next(iter(ranks.values()))
    head = (
        f"{_instances(first)}, estimated without bias by {design}, which on average scores "
        f"{np.mean(list(cost.values())):.0f} of {_span(first.n_irrelevant)} irrelevant items."
    )
    scored = {(name, m): cost[name] for name, m in values}

    def part(which):
        some = {key: one[which] for key, one in values.items()}
        costs = {key: one[which] for key, one in scored.items()}
        ids = first.ids[which]
        return _of_values(some, ids, head, (), {}, None, several, simultaneous, costs)

    return _of_values(values, first.ids, head, notes, counts, part, several, simultaneous, scored)


def _of_values(values, ids, head, notes, counts, part, several, simultaneous, scored=None):
    """The result where each user has a value without bias: means with Student's limits."""
    rows, sentences = {}, []
    for (name, metric), one in values.items():
        low, high = limits_of_mean(one, LEVEL) if len(one) > 1 else (np.nan, np.nan)
        row = {"value": float(one.mean()), "low": low, "high": high}
        rows[name, str(metric)] = row | (
            {} if scored is None else {"scored": float(scored[name, metric].mean())}
        )
        by = f"{name}: " if several else ""
        sentences.append(
            f"{by}{metric} is {one.mean():.3f} ({PERCENT} limits {low:.3f} to {high:.3f}, for "
            f"other users like these), over {head[0].lower() + head[1:]}"
        )
    names = list(dict.fromkeys(name for name, _ in values))
    metrics = list(dict.fromkeys(metric for _, metric in values))
    level = level_of_pairs(LEVEL, len(names), simultaneous)
    pairs = {}
    for a, b in combinations(names, 2):
        for metric in metrics:
            both = values[a, metric], values[b, metric]
            one = Comparison(float(np.mean(both[0] - both[1])), np.nan, np.nan, np.nan)
            if len(ids) > 1:
                one = paired_comparison(None, *both, level=level)
            pairs[a, b, str(metric)] = one._asdict()
    pd = extra("pandas")
    return Result(
        head,
        table_of(rows, ["recommender", "metric"], several),
        pd.DataFrame(columns=["low", "high"]),
        table_of(pairs, ["a", "b", "metric"])
        if pairs
        else pd.DataFrame(columns=Comparison._fields),
        tuple(sentences),
        notes=notes,
        counts=_table_of_counts(counts),
        instances=Instances(ids, {(name, str(m)): one for (name, m), one in values.items()}, part),
    )


def _table_of_counts(counts):
    rows = {key: {"count": n} for key, n in counts.items()}
    return table_of(rows, ["recommender", "what"]) if rows else None


def _defined(metric, ranks):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is undefined is refused here
        values = metric(ranks)
    undefined = np.flatnonzero(np.isnan(values))
    if len(undefined):
        raise ValueError(
            f"{metric} is undefined for user {shown(ranks.ids[undefined[0]])}, for whom "
            f"{ranks.n_irrelevant[undefined[0]]} irrelevant items are ranked"
        )
    return values


def _instances(ranks):
    several = int(ranks.n_relevant.sum())
    return f"{len(ranks):,} users" + (
        f" with {several:,} held-out items" if several > len(ranks) else ""
    )


def _span(numbers):
    low, high = numbers.min(), numbers.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


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


def _reported(runs, sizes, with_replacement, notes, counts, several, metrics, simultaneous):
    """What ranks among drawn items say of all items."""
    found = report(
        runs if several else runs[""],
        n_items=sizes,
        metrics=metrics,
        replace=with_replacement,
        simultaneous=simultaneous,
    )
    return replace(found, notes=notes, counts=_table_of_counts(counts))


def _uncorrected(runs, wrong, notes, counts, several, metrics, simultaneous):
    """What is left where the drawn items say nothing of the others."""
    values = {(name, m): _defined(m, one) for name, one in runs.items() for m in metrics}
    first = next(iter(runs.values()))
    head = (
        f"{_instances(first)}, each ranked among {_span(first.n_irrelevant)} listed items. Nothing "
        f"can be said of the metrics among all items: {wrong}."
    )
    rows = {
        (name, str(metric)): {
            "value": np.nan,
            "low": np.nan,
            "high": np.nan,
            "sampled": float(one.mean()),
            "assumption": "",
        }
        for (name, metric), one in values.items()
    }
    pd = extra("pandas")
    return Result(
        head,
        table_of(rows, ["recommender", "metric"], several),
        pd.DataFrame(columns=["low", "high"]),
        pd.DataFrame(columns=Comparison._fields),
        tuple(
            f"{name + ': ' if several else ''}{metric} is {one.mean():.3f} among the listed items. "
            f"Nothing can be said of it among all items: {wrong}."
            for (name, metric), one in values.items()
        ),
        notes=notes,
        counts=_table_of_counts(counts),
        instances=Instances(
            first.ids, {(name, str(m)): one for (name, m), one in values.items()}, None
        ),
    )
