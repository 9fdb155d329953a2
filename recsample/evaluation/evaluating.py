"""From scores and held-out items, in dataframes of any library, to a table that can be defended."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import owners
from recsample._support.checks import generator, shown, true_or_false
from recsample._support.extras import extra
from recsample._support.typing import Rng
from recsample.evaluation.matching import Matched, match_ids
from recsample.evaluation.reporting import refuse_corrections
from recsample.evaluation.results import Result
from recsample.evaluation.saying import Estimated, Exact, Ranked, Sampled, Uncorrected
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.ranks.predicted import Listed, ranks_among
from recsample.sampling.base import Design, Sampler
from recsample.sampling.importance import ImportanceSampling
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
          which gives such an array for some users. Users and items are then numbered from 0, in
          all tables too.

        Several recommenders may stand in one dataframe, told apart by the column `model`.
    held_out : dataframe, array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant items: columns `user` and `item`; the item of each user; or a matrix with the
        relevant items as its non-zeros. These users are evaluated.
    train : dataframe or sparse matrix, shape (users, items), optional
        What each user knows already, which is not ranked.
    metrics : sequence of Metric or str, optional
    sampler : UniformSampling, PooledSampling or Design, optional
        Rank among sampled items instead: what `report` says of them, or a design's estimates
        without bias, with their cost. Not `ImportanceSampling`, which has to know the items.
    negatives : dataframe, optional
        Rank among these items of each user instead, columns `user` and `item`, such as a published
        list. If the lists look like uniform draws, the result is that of `report`; if not, nothing
        is said of exact metrics.
    items : array_like, optional
        The ids of all items that can be recommended; by default all in the other tables.
    user, item, score, model : str, optional
        Names of the columns in all dataframes.
    simultaneous : bool, optional
        Whether the limits of the differences hold for all pairs of recommenders at once, by
        Bonferroni's correction.
    rng : int or numpy.random.Generator, optional
        For what is drawn. Each recommender with a name has random numbers of its own, the same
        whichever others stand beside it.

    Returns
    -------
    Result
        Its table has the mean of each metric and its 95 % limits, for other users like these.
        Whatever was left out, or does not match, is counted in ``counts`` and said in ``notes``.

    Raises
    ------
    ValueError
        For dataframes without these columns, with missing values, or with a pair that has two
        scores; names that are the same as text; ids that have nothing in common; arrays of other
        shapes; no user left to evaluate; and a sampler that asks for more than there is.

    Examples
    --------
    >>> import pandas as pd
    >>> import recsample as rs
    >>> held_out = pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "oil"]})
    >>> scores = pd.DataFrame(
    ...     [("ann", "tea", 0.9), ("ann", "oil", 0.1), ("bob", "tea", 0.8), ("bob", "oil", 0.7)],
    ...     columns=["user", "item", "score"],
    ... )
    >>> rs.evaluate({"mine": scores}, held_out, metrics=["MRR", "AUC"]).table["value"]
    recommender  metric
    mine         RR        0.75
                 AUC       0.50
    Name: value, dtype: float64
    """
    extra("pandas")
    chosen, rng = tuple(chosen_metrics(metrics)), generator(rng)
    simultaneous = true_or_false("simultaneous", simultaneous)
    if negatives is not None and sampler is not None:
        raise ValueError("sampler must be None where negatives are given")
    _check_sampler(sampler)
    if not isinstance(sampler, Design):
        refuse_corrections(chosen)
    columns = {"user": user, "item": item, "score": score, "model": model}
    matched = match_ids(scores, held_out, train, negatives, items, columns)
    ranked = _ranked(matched, chosen, simultaneous)
    if matched.lists is not None:
        ranked = _as_lists_allow(ranked, matched)
    elif sampler is not None:
        ranked = _drawn(ranked, sampler, rng)
    return Result(ranked)


def _check_sampler(sampler):
    if isinstance(sampler, ImportanceSampling):
        raise ValueError(
            "sampler must be a design that reads ranks alone, got ImportanceSampling, which has to "
            "know which items outrank the relevant one: draw by it from rs.ranked_items"
        )
    if not isinstance(sampler, (UniformSampling, PooledSampling, Design, type(None))):
        raise ValueError(
            "sampler must be UniformSampling, PooledSampling, a Design or None, got "
            f"{shown(sampler)}: what other draws say of the exact metrics is not told by report"
        )


# The second phase: what is matched is ranked.


def _ranked(matched: Matched, metrics: tuple[Metric, ...], simultaneous: bool) -> Ranked:
    """The ranks, and what else there is to tell of the scores."""
    runs, counts = {}, dict(matched.counts)
    among = _among_all if matched.lists is None else _among_lists
    for name, source in matched.sources.items():
        runs[name], missing = among(source, matched)
        counts |= {(name, what): n for what, n in missing.items()}
    notes = [f"{_of(name)}{what}: {n:,}" for (name, what), n in counts.items() if n]
    short = _short_lists(matched, metrics) if matched.lists is None else []
    return Exact(
        runs=runs,
        metrics=metrics,
        named=matched.named,
        simultaneous=simultaneous,
        notes=(*notes, *short),
        counts={key: int(n) for key, n in counts.items()},
    )


def _among_all(source, matched):
    ranks, lowest = source.ranks(matched.study)
    missing = {"scores of -inf, ranked last and tied": lowest}
    if isinstance(source, Listed):
        none = source.of(matched.study, *matched.study.held_out) == -np.inf
        missing["held-out items without a score, tied with all others"] = none.sum()
        missing["users without any score, whose items are all tied"] = (source.lengths == 0).sum()
    return ranks, missing


def _among_lists(source, matched):
    study, lengths = matched.study, matched.lengths
    user, item = owners(lengths), matched.lists.indices.astype(np.int64)
    scores, own = source.of(study, user, item), source.of(study, *study.held_out)
    scored = scores > -np.inf
    ranks = ranks_among(user[scored], scores[scored], study, own, lengths + study.n_relevant)
    n_missing = (~scored).sum() + (own == -np.inf).sum()
    return ranks, {"negatives and held-out items without a score, ranked last and tied": n_missing}


def _as_lists_allow(ranked, matched):
    """What ranks among listed items say: more, if the lists look like uniform draws."""
    study = matched.study
    tests = uniformity(matched.listed, study.exclude + study.relevant)
    of_whom = "uniform draws from the items that are new to the user"
    if float(tests["p-value"].min()) * len(tests) < _SURPRISE:
        why = f"the lists of negatives do not look like {of_whom} (p < {_SURPRISE:g})"
        return ranked.turned(Uncorrected, why=why)
    note = (
        f"the lists of negatives are taken for {of_whom}, which they look like (p > {_SURPRISE:g})"
    )
    _check_users(ranked, "negatives are given")
    notes = (*ranked.notes, note)
    return ranked.turned(Sampled, notes=notes, n_items=study.sizes, replace=False)


def _drawn(ranked: Ranked, sampler: Sampler | Design, rng: np.random.Generator) -> Ranked:
    """What a sampler, or a design, sees of the ranks among all items."""
    pool, needed = ranked.first.n_irrelevant, _needed(sampler)
    if pool.min() < needed:
        raise ValueError(
            f"sampler must draw at most {pool.min()} items, which is all that there are for user "
            f"{shown(ranked.ids[np.argmin(pool)])} beside the relevant ones, got {needed}"
        )
    if not isinstance(sampler, Design):
        _check_users(ranked, "items are sampled")
    rngs = generators(ranked.runs, rng) if ranked.named else {"": rng}
    runs = ranked.runs.items()
    try:
        seen: Any = {name: sampler.draw(one, rngs[name]) for name, one in runs}
        if isinstance(sampler, Design):
            of = {
                (name, m): sampler.of(m, one) for name, one in seen.items() for m in ranked.metrics
            }
            costs = {name: sampler.cost(one) for name, one in runs}
            return ranked.turned(Estimated, design=sampler, estimates=of, costs=costs)
    except ValueError as error:
        raise ValueError(f"sampler must fit held_out and metrics: {error}") from error
    # Whatever the number of different items, pooled draws are a set without replacement.
    replace = isinstance(sampler, UniformSampling) and sampler.replace
    return ranked.turned(Sampled, runs=seen, n_items=ranked.first.sizes, replace=replace)


def _needed(sampler):
    """How many irrelevant items of a user it has to find."""
    if isinstance(sampler, PooledSampling) or getattr(sampler, "replace", False):
        return 1
    return getattr(sampler, "m", getattr(sampler, "m0", 0))


def _check_users(ranked, where):
    if len(ranked.first) < 2:
        raise ValueError(f"held_out must leave at least two users to evaluate where {where}, got 1")


def generators(names, rng):
    """Random numbers for each name, which depend on no other name and are the same everywhere."""
    base = int(rng.integers(2**63))
    hashed = {name: hashlib.sha256(name.encode("utf-8", "surrogatepass")) for name in names}
    return {name: np.random.default_rng([base, *one.digest()]) for name, one in hashed.items()}


def _short_lists(matched, metrics):
    """Which metrics look further than the lists of the best items reach."""
    notes, study = [], matched.study
    lists = {name: one for name, one in matched.sources.items() if isinstance(one, Listed)}
    for name, source in lists.items():
        short = np.where(source.lengths < study.sizes, source.lengths, np.iinfo(np.int64).max)
        where = int(np.argmin(short))
        further = [str(m) for m in metrics if (m.cutoff or np.inf) > short[where]]
        if further and source.lengths[where] < study.sizes[where]:
            notes.append(
                f"{_of(name)}{', '.join(further)} look{'s' * (len(further) == 1)} further than the "
                f"shortest list, {short[where]} items for user {shown(study.users[where])}: "
                "items that are not listed count as if in random order behind those that are"
            )
    return notes


def _of(name):
    """Of whom a note is, where recommenders have names."""
    return f"{name}: " if name else ""
