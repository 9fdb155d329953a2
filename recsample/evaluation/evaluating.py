"""From scores and held-out items, in dataframes of any library, to a table that can be defended."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import generator, shown, true_or_false
from recsample._support.extras import extra
from recsample._support.frames import (
    table_of,
)
from recsample._support.numerics import LEVEL, PERCENT, limits_of_mean
from recsample._support.typing import Rng
from recsample.evaluation.matching import (
    _SURPRISE,
    _among_given,
    _count_unlisted,
    _generators,
    _matched,
    _recommenders,
    _short_lists,
)
from recsample.evaluation.reporting import report
from recsample.evaluation.results import Instances, Result, level_of_pairs
from recsample.inference.comparison import Comparison, paired_comparison
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.sampling.base import Design, Sampler
from recsample.sampling.pooled import PooledSampling
from recsample.sampling.uniform import UniformSampling

__all__ = [
    "evaluate",
]


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


def _notes(counts):
    """What does not match, in words."""
    return tuple(
        f"{name}: {what}: {n:,}" if name else f"{what}: {n:,}"
        for (name, what), n in counts.items()
        if n
    )


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
