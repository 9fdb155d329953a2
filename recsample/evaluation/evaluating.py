"""From scores and held-out items, in dataframes of any library, to a table that can be defended."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import split
from recsample._support.checks import generator, shown, true_or_false
from recsample._support.extras import extra
from recsample._support.typing import Rng
from recsample.evaluation.causes import is_upside_down
from recsample.evaluation.grades import uses_grades
from recsample.evaluation.matching import USUAL, Matched, match_ids
from recsample.evaluation.reporting import draws_of, refuse_corrections
from recsample.evaluation.results import Result
from recsample.evaluation.saying import (
    Bounded,
    Estimated,
    Exact,
    Ranked,
    Sampled,
    Shared,
    Uncorrected,
)
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.ranks.predicted import Standing, by_item
from recsample.ranks.provenance import WAYS, one_of_the_ways
from recsample.sampling.base import Design, Sampler
from recsample.sampling.list_checks import uniformity
from recsample.sampling.pooled import PooledSampling
from recsample.sampling.uniform import UniformSampling

__all__ = ["evaluate"]


# Lists of negatives that uniform draws would give this seldom are not taken for such.
_SURPRISE = 1e-4
# How that ends what is counted without a note: nobody has to act on it.
_NOT_LISTED = "held-out items without a score"
_UPSIDE_DOWN = (
    "held-out items stand lower than in 9,999 of 10,000 random orders: if lower scores are better, "
    "as distances and places are, negate them"
)
# Where lists leave items out, which are neither drawn nor ranked among others.
_NOTHING = (
    "items that lists leave out stand in no order that is known, so {what}: the numbers are of all "
    "items, as far as the lists say; give scores of all items, or complete=True"
)


def evaluate(
    scores: Any,
    held_out: Any,
    *,
    train: Any = None,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP, AUC),
    sampler: Sampler | Design | None = None,
    negatives: Any = None,
    drawn: str | None = None,
    complete: bool = False,
    relevance: Any = ...,
    items: ArrayLike | None = None,
    user: str = "user",
    item: str = "item",
    score: str = "score",
    model: str = "model",
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
          items of each user. Items that are not listed stand anywhere behind those that are, and
          a metric that they could change is between two numbers. Items with the score -inf are
          tied at the end.
        - an array, shape (users, items); a pair of factors; or an object with ``scores(users)``,
          which gives such an array for some users. Users and items are then numbered from 0, in
          all tables too.

        Several recommenders may stand in one dataframe, told apart by the column `model`.
    held_out : dataframe, array_like of int, shape (users,), or sparse matrix, shape (users, items)
        The relevant items: columns `user` and `item`; a pandas.Series of items with the users as
        its index; the item of each user; or a matrix with the relevant items as its non-zeros.
        These users are evaluated.
    train : dataframe or sparse matrix, shape (users, items), optional
        What each user knows already, which is not ranked.
    metrics : sequence of Metric or str, optional
    sampler : UniformSampling, PooledSampling or Design, optional
        Rank among sampled items instead: what `report` says of them, or a design's estimates
        without bias, with their cost.
    negatives : dataframe or "listed", optional
        Rank among these items of each user instead, columns `user` and `item`, such as a published
        list; or "listed": among those that tables of scores list, where these hold a sampled
        study's candidates and nothing else. If the lists were drawn uniformly, and look like it,
        the result is that of `report`; if not, nothing is said of exact metrics.
    drawn : {"uniform", "shared", "popular", "unknown"}, optional
        How `negatives` were drawn, as of `report`; needed with these, and only with these. Of
        "shared" ones, users who have most of a list in common are of one batch.
    complete : bool, optional
        Whether items that a table of scores does not list are known to be below those that it
        lists, tied, as they are where a recommender gives no score to what it would never show.
        Metrics that look beyond a list are then values, not bounds, and lists that hold nearly all
        held-out items are not taken for lists of candidates.
    relevance : str or None, optional
        The column of `held_out` that says which rows are relevant: those above 0. NDCG and DCG take
        these grades as gains, as `recsample.metrics.graded.ndcg` does by default (for another gain
        give a column of it, such as 2 ** grade - 1), unless items are sampled, where they are
        refused; for all other metrics every grade above 0 is relevant alike. None if every row
        is. Must be said where there is a column such as `label` or `rating`.
    items : array_like, optional
        The ids of all items that can be recommended; by default all in the other tables.
    user, item, score, model : str, optional
        Names of the columns in all dataframes.
    rng : int or numpy.random.Generator, optional
        For what is drawn. Each recommender with a name has random numbers of its own, the same
        whichever others stand beside it.

    Returns
    -------
    Result
        Its table has the mean of each metric and its 95 % limits, for other users like these, by
        Student's t, or by Gaffke's bound within the metric's range where few values vary.
        Where lists of the best leave a mean open, ``low`` and ``high`` are its bounds for these
        users, there is no value, and ``assumption`` says "bound".
        Whatever was left out, or does not match, is counted in ``counts``, and said in ``notes``
        where it is more than the usual.

    Raises
    ------
    ValueError
        For tables that list what look like candidates, neither the best items nor all; for
        dataframes without these columns, with missing values, or with a pair that has two
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
    complete = true_or_false("complete", complete)
    if negatives is not None and sampler is not None:
        raise ValueError("sampler must be None where negatives are given")
    if isinstance(negatives, str):
        _check_word(negatives, complete)
    if negatives is not None:
        one_of_the_ways("drawn", drawn)
    elif drawn is not None:
        raise ValueError(
            f"drawn must be None without negatives, got {shown(drawn)}: a sampler knows how it "
            "draws, and where all items are ranked none are drawn"
        )
    _check_sampler(sampler)
    if not isinstance(sampler, Design):
        refuse_corrections(chosen)
    columns = {"user": user, "item": item, "score": score, "model": model}
    matched = match_ids(scores, held_out, train, negatives, complete, items, columns, relevance)
    if negatives is not None or sampler is not None:
        _refuse_grades(matched.study.grades, chosen)
    standings, nothing = _standings(matched), ""
    if matched.lists is not None and _undecided(standings, chosen):
        matched, nothing = replace(matched, lists=None), "negatives were left aside"
        standings = _standings(matched)
    ranked = _ranked(matched, standings, chosen)
    if sampler is not None and isinstance(ranked, Bounded):
        nothing = "nothing was drawn"
    if nothing:
        ranked = ranked.noted(_NOTHING.format(what=nothing))
    elif matched.lists is not None:
        ranked = _as_lists_allow(ranked, matched, drawn)
    elif sampler is not None:
        ranked = _drawn(ranked, sampler, rng)
    return Result(ranked)


def _check_word(negatives, complete):
    if negatives != "listed":
        raise ValueError(
            f"negatives must be a dataframe, 'listed' or None, got {negatives!r}: a file is read "
            "first, as by pandas.read_csv"
        )
    if complete:
        raise ValueError(
            "complete must be False where negatives='listed', got True: items that are not listed "
            "are either below or no candidates"
        )


def _check_sampler(sampler):
    if not isinstance(sampler, (UniformSampling, PooledSampling, Design, type(None))):
        raise ValueError(
            "sampler must be UniformSampling, PooledSampling, a Design or None, got "
            f"{shown(sampler)}: what other draws say of the exact metrics is not told by report"
        )


def _refuse_grades(grades, metrics):
    """Refuse what ranks among some items do not tell."""
    used = [m for m in metrics if grades is not None and uses_grades(m, grades)]
    if used:
        raise ValueError(
            f"relevance must leave out grades where {used[0]} is asked of sampled items, got "
            f"{shown(np.unique(grades)[:3].tolist())}: rank all items, which gives it exactly, ask "
            "for metrics of binary relevance, or keep the rows that are relevant and give "
            "relevance=None"
        )


# The second phase: what is matched is ranked.


def _standings(matched: Matched) -> dict[str, Standing]:
    """Where the held-out items stand by each recommender."""
    sources = matched.sources.items()
    return {name: source.standing(matched.study, matched.lists) for name, source in sources}


def _undecided(standings, metrics):
    """Whether metrics among the listed negatives hang on items that have no score."""
    ends = [one.ends for one in standings.values() if one.ends]
    return not all(np.array_equal(m(last), m(first)) for last, first in ends for m in metrics)


def _ranked(matched: Matched, found: dict[str, Standing], metrics: tuple[Metric, ...]) -> Ranked:
    """The ranks, and what else there is to tell of the scores."""
    counts = dict(matched.counts)
    for name, one in found.items():
        counts |= {(name, what): n for what, n in _missing(one, matched).items()}
    notes = [
        f"{_of(name)}{what}: {n:,}"
        for (name, what), n in counts.items()
        if n and not what.endswith((*USUAL, _NOT_LISTED))
    ]
    upside_down = [name for name, one in found.items() if is_upside_down(one.ranks, one.reach)]
    notes += [f"{_of(name)}{_UPSIDE_DOWN}" for name in upside_down]
    ranked = Exact(
        runs={name: one.ranks for name, one in found.items()},
        metrics=metrics,
        named=matched.named,
        notes=(*notes, *matched.notes),
        counts={key: int(n) for key, n in counts.items()},
        grades=() if matched.study.grades is None else tuple(np.unique(matched.study.grades)),
    )
    short = {name: one for name, one in found.items() if one.ends}
    if matched.lists is not None or not short:
        return ranked
    return ranked.turned(
        Bounded,
        ends={name: one.ends for name, one in short.items()},
        left_out={name: one.left_out for name, one in short.items()},
        stated=matched.stated,
    )


def _missing(standing, matched):
    ranks, lowest, reach = standing[:3]
    if matched.lists is not None:
        return {"negatives and held-out items without a score, ranked last and tied": lowest}
    n_ranked = ranks.sizes.sum()
    if 2 * lowest > n_ranked and not matched.complete:
        raise ValueError(
            f"scores must say more than -inf of most items, got it for {lowest:,} of {n_ranked:,}: "
            "give complete=True if these items are known to be below the others, or, if only "
            "candidates have scores, a dataframe of these and negatives='listed' (and drawn=)"
        )
    missing = {"scores of -inf, ranked last and tied": lowest}
    if reach is not None:
        missing[_NOT_LISTED] = (ranks.rows.rank > reach[ranks.rows.instance]).sum()
        missing["users without any score"] = (reach == 0).sum()
    return missing


def _as_lists_allow(ranked, matched, drawn):
    """What ranks among listed items say: more, if the lists are, and look like, uniform draws."""
    if drawn not in ("uniform", "shared"):
        why = f"lists of negatives that are {drawn!r}, {WAYS[drawn]}, cannot be corrected"
        return ranked.turned(Uncorrected, why=why)
    study = matched.study
    own, lists = study.exclude + study.relevant, matched.lists
    batches = _batches(lists) if drawn == "shared" else None
    if batches is not None:
        one_of_each = np.unique(batches, return_index=True)[1]
        own, lists = own[one_of_each], lists[one_of_each]
    tests = uniformity(split(lists.indices.astype(np.int64), np.diff(lists.indptr)), own)
    of_whom = "uniform draws from the items that are new to the user"
    if float(tests["p-value"].min()) * len(tests) < _SURPRISE:
        why = f"the lists of negatives do not look like {of_whom} (p < {_SURPRISE:g})"
        return ranked.turned(Uncorrected, why=why)
    _check_users(ranked, "negatives are given")
    known = {"n_items": study.sizes, "replace": False, "stated": True}
    if batches is None:
        return ranked.turned(Sampled, **known)
    items = {name: by_item(one, study, matched.lists) for name, one in matched.sources.items()}
    return ranked.turned(Shared, **known, batches=batches, items=items)


def _batches(lists):
    """A number for each user, the same for those who share three quarters of a list or more.

    Not all of it, since what users know already is missing from their lists.
    """
    lists = lists.astype(np.int64)
    columns, lengths = lists.tocsc(), np.diff(lists.indptr)
    found = np.full(len(lengths), -1)
    while (found < 0).any():
        first = int(np.argmax(np.where(found < 0, lengths, -1)))
        common = np.asarray(columns[:, lists[first].indices].sum(axis=1)).ravel()
        alike = 4 * common >= 3 * np.minimum(lengths, lengths[first])
        found[alike & (found < 0)] = found.max() + 1
    return found


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
    return ranked.turned(Sampled, runs=seen, **draws_of(seen, None, None, None)._asdict())


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


def _of(name):
    """Of whom a note is, where recommenders have names."""
    return f"{name}: " if name else ""
