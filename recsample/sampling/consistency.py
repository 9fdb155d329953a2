"""What sampling does to each of the field's metrics: which of them survive, and by how much not.

Definition 1 of the paper, consistency, is decided for any metric, with a counterexample where it
fails; a table goes through the metrics of `CATALOGUE`.

W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020,
https://doi.org/10.1145/3394486.3403226, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recsample._support.checks import every_rank
from recsample._support.extras import extra
from recsample._support.typing import Floats
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics, exact_metric, metric
from recsample.ranks.base import Ranks
from recsample.sampling.base import Sampler, check_sampler
from recsample.sampling.laws import name_of_closed_form

if TYPE_CHECKING:
    import pandas as pd


#: The metrics of the field that are functions of ranks, cut off at 10 where they have a cut-off.
CATALOGUE = tuple(
    metric(name)
    for name in (
        *("AUC", "PercentileRank", "Accuracy", "RPrecision", "HitRate@10", "Recall@10"),
        *("Precision@10", "F1@10", "AR@10", "RR", "RR@10", "AP", "AP@10", "AP(relevant)@10"),
        *("AP(hits)@10", "AP(k)@10", "DCG", "DCG@10", "NDCG", "NDCG@10", "RBP(0.8)"),
        "RankScore(5)",
    )
)
# Up to this, two functions scaled to the values 0 and 1 are the same.
_ROUNDING = 1e-9


def counterexample(metric: Metric | str, sampler: Sampler, n_items: int) -> dict[str, Ranks] | None:
    """Two recommenders that sampling puts in the wrong order in expectation, if there are any.

    With one relevant item per instance a metric is the mean of a function M(r), its expectation
    under sampling that of another, E(r). All pairs are in the same order exactly if E = u + v M
    with v > 0. Where some rank r breaks that, scale both functions to 1 at rank 1 and 0 at rank n:
    a recommender that always gives rank r is worth M(r), and one that gives rank 1 to a share q of
    the instances and rank n to the rest is worth q. Any q between M(r) and E(r) exchanges the two.

    Parameters
    ----------
    metric : Metric or str
        As a function of one rank, falling or rising, and not constant.
    sampler : Sampler
    n_items : int
        Size of the pool.

    Returns
    -------
    dict of str to Ranks, or None
        ``"steady"``, with one rank r throughout, and ``"mixed"``, with ranks 1 and n, in as few
        instances as two such recommenders can have; of the ranks that do, r is the one with the
        largest gap between M(r) and E(r). None if the metric is consistent: if no gap exceeds 1e-9.
        Where the sampled metric is the same for ranks 1 and n, these two.

    Examples
    --------
    >>> import recsample as rs
    >>> from recsample.sampling.consistency import counterexample
    >>> sampler = rs.UniformSampling(m=10)
    >>> counterexample(rs.AUC, sampler, n_items=100) is None
    True
    >>> pair = counterexample(rs.AP, sampler, n_items=100)
    >>> {name: ranks.values.tolist() for name, ranks in pair.items()}
    {'steady': [5, 5], 'mixed': [1, 100]}
    >>> rs.compare(pair, [rs.AP]).AP.to_dict()
    {'steady': 0.2, 'mixed': 0.505}
    >>> {name: round(float(sampler.expect(rs.AP, r).mean()), 2) for name, r in pair.items()}
    {'steady': 0.82, 'mixed': 0.55}
    """
    values = scaled(metric, sampler, n_items)
    if np.isnan(values.sampled).any():
        return {"steady": Ranks([1], n_items), "mixed": Ranks([n_items], n_items)}
    if _same(values):
        return None
    low, high = np.minimum(*values), np.maximum(*values)
    open_ranks = np.flatnonzero(high - low > _ROUNDING)
    low, high = low[open_ranks], high[open_ranks]
    for size in count(2):
        # The least number of instances on rank 1 that is worth more than the lower of the two.
        first = np.floor(size * (low + _ROUNDING / 4)) + 1
        fits = first < size * (high - _ROUNDING / 4)
        if fits.any():
            break
    widest = int(np.argmax(np.where(fits, high - low, 0)))
    rank, on_first = int(open_ranks[widest]) + 1, int(first[widest])
    return {
        "steady": Ranks([rank] * size, n_items),
        "mixed": Ranks([1] * on_first + [n_items] * (size - on_first), n_items),
    }


class Scaled(NamedTuple):
    """A metric at each rank, scaled to 1 at the first and 0 at the last; what `scaled` returns.

    Parameters
    ----------
    exact : ndarray of float, shape (n_items,)
        The metric itself.
    sampled : ndarray of float, shape (n_items,)
        Its expectation under sampling.

    Examples
    --------
    >>> import recsample as rs
    >>> rs.sampling.consistency.scaled(rs.AUC, rs.UniformSampling(m=1), n_items=3)
    Scaled(exact=array([1. , 0.5, 0. ]), sampled=array([1. , 0.5, 0. ]))
    """

    exact: Floats
    sampled: Floats


def scaled(metric: Metric | str, sampler: Sampler, n_items: int) -> Scaled:
    """A metric and its expectation under sampling, each scaled to 1 at rank 1 and 0 at rank n.

    Where the two are the same function, the metric is consistent; see `counterexample`.

    Parameters
    ----------
    metric : Metric or str
    sampler : Sampler
    n_items : int
        Size of the pool.

    Returns
    -------
    Scaled
        Where ``sampled`` is NaN, the sampled metric is the same at both ends: it tells nothing.

    Raises
    ------
    ValueError
        For a metric that is the same for ranks 1 and n, and a pool that is too small or above 10^7.

    Examples
    --------
    >>> import recsample as rs
    >>> values = rs.sampling.consistency.scaled(rs.AP, rs.UniformSampling(m=1), n_items=3)
    >>> values.exact, values.sampled
    (array([1.  , 0.25, 0.  ]), array([1. , 0.5, 0. ]))
    """
    metric = exact_metric(metric)
    check_sampler(sampler)
    ranks = _every_rank(n_items)
    exact = metric.of_rank(ranks, n_items)
    if exact[0] == exact[-1]:
        raise ValueError(
            f"metric must differ between ranks 1 and n_items = {n_items}, got {metric}"
        )
    sampled = sampler.expect(metric, Ranks(ranks, n_items))
    if abs(sampled[0] - sampled[-1]) < 1e-9 * abs(exact[0] - exact[-1]):
        return Scaled(_between_ends(exact), np.full(n_items, np.nan))
    return Scaled(_between_ends(exact), _between_ends(sampled))


def _every_rank(n_items):
    return np.arange(1, every_rank(n_items, 300, "a metric and its expectation") + 1)


def _between_ends(values):
    return (values - values[-1]) / (values[0] - values[-1])


def _same(values):
    """Whether the two functions are one, but for rounding."""
    return bool((np.abs(values.exact - values.sampled) <= _ROUNDING).all())


def properties(
    sampler: Sampler, n_items: int, metrics: Sequence[Metric | str] = CATALOGUE
) -> pd.DataFrame:
    """What each metric is worth to extreme recommenders, and what becomes of it under sampling.

    Parameters
    ----------
    sampler : Sampler
    n_items : int
        Size of the pool; one relevant item per instance.
    metrics : sequence of Metric or str, optional

    Returns
    -------
    pandas.DataFrame
        One row per metric. Columns "perfect", "random" and "worst": its value for a recommender
        that ranks every relevant item first, at random, and last. "consistent": whether
        `counterexample` finds none. "closed form": that of its expectation under sampling, by the
        paper's equation; "E[z^s]" is the generating function of the sampled rank (closed with
        replacement), and "" stands for a sum over the law.

    Examples
    --------
    >>> import recsample as rs
    >>> table = rs.sampling.consistency.properties(rs.UniformSampling(m=10), 100, [rs.AUC, rs.AP])
    >>> table.round(3)
         perfect  random  worst  consistent closed form
    AUC      1.0   0.500   0.00        True        (17)
    AP       1.0   0.052   0.01       False        (19)
    """
    pd = extra("pandas")
    ranks = _every_rank(n_items)
    rows = {}
    for one in chosen_metrics(metrics):
        consistent = _same(scaled(one, sampler, n_items))
        values = one.of_rank(ranks, n_items)
        rows[str(one)] = {
            "perfect": values[0],
            "random": values.mean(),
            "worst": values[-1],
            "consistent": consistent,
            "closed form": name_of_closed_form(one),
        }
    return pd.DataFrame(rows.values(), index=list(rows))
