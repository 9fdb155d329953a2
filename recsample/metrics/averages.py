"""Means of metrics over instances, and metrics at the mean rank of tied items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recsample._support.arrays import summed
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.numerics import mean_of
from recsample._support.typing import Floats
from recsample.metrics.base import Metric, warned_of_nan
from recsample.metrics.names import chosen_metrics, exact_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_kind, check_ranks, check_recommenders, rows_of
from recsample.ranks.counts import RankCounts
from recsample.ranks.ties import mean_rank

if TYPE_CHECKING:
    import pandas as pd


def compare(
    ranks: Mapping[str, Ranks | RankCounts], metrics: Sequence[Metric | str]
) -> pd.DataFrame:
    """A table of recommenders by metrics: the mean of each metric over the instances.

    A single instance for which a metric is undefined, such as one without a relevant item, makes
    the mean NaN, with a warning.

    Parameters
    ----------
    ranks : mapping of str to Ranks or RankCounts
        The predicted ranks of each recommender, over the same instances in the same order.
    metrics : sequence of Metric or str

    Returns
    -------
    pandas.DataFrame
        One row per recommender, one column per metric.

    Raises
    ------
    ValueError
        For no recommender, different numbers of instances, and pools that differ by more than a
        factor of two on average, as of exact and sampled ranks.

    Examples
    --------
    >>> import recsample as rs
    >>> a = rs.Ranks([100] * 5, n_items=10_000)
    >>> b = rs.Ranks([40, 40, 8437, 9266, 4482], n_items=10_000)
    >>> rs.compare({"A": a, "B": b}, [rs.AUC, "recall@50"]).round(3)
         AUC  Recall@50
    A  0.990        0.0
    B  0.555        0.4
    """
    pd = extra("pandas")
    check_recommenders(ranks, counted=True)
    check_one_kind(ranks)
    chosen = chosen_metrics(metrics)
    lengths = {name: len(r) for name, r in ranks.items()}
    if len(set(lengths.values())) > 1:
        raise InputError("ranks", "must have the same number of instances").got(lengths)
    names = [str(m) for m in chosen]
    counted = [rows_of(r) for r in ranks.values()]
    means = [[mean_of(m(r), counts) for m in chosen] for r, counts in counted]
    return pd.DataFrame(means, list(ranks), names)


def at_mean_rank(metric: Metric | str, ranks: Ranks) -> Floats:
    """The metric at the mean rank that tied items have in a random order.

    Some libraries report this. Unless the metric is linear in the rank, as AUC is, it differs from
    the mean of the metric over orders of the ties, which ``metric(ranks)`` gives.

    Parameters
    ----------
    metric : Metric or str
    ranks : Ranks
        The j-th of g relevant items that are tied with t irrelevant ones has t j / (g + 1) of them
        ahead on average.

    Returns
    -------
    ndarray of float, shape (instances,)
        NaN, with a warning, where the metric is undefined.

    Examples
    --------
    A constant scorer over 101 items has the mean rank 51:

    >>> import recsample as rs
    >>> constant = rs.Ranks([1], n_items=101, ties=100)
    >>> rs.metrics.at_mean_rank(rs.RR, constant).round(4), rs.RR(constant).round(4)
    (array([0.0196]), array([0.0515]))
    """
    metric = exact_metric(metric)
    check_ranks(ranks)
    if not metric.additive:
        raise InputError("metric", "must be a sum over the relevant items").got(metric)
    instance, order = ranks.rows.instance, ranks.rows.order
    of_instance = ranks.n_relevant[instance], ranks.sizes[instance]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = metric.term(mean_rank(ranks.rows), order, *of_instance)
    values = summed(instance, gain, len(ranks))
    values[ranks.n_relevant == 0] = np.nan
    return warned_of_nan(metric, values)
