"""Early stopping: draw until k items outrank the relevant one; cut-offs up to k are exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recsample._support.arrays import split
from recsample._support.checks import generator, positive_int
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_relevant, check_ranks
from recsample.sampling.base import Design, Observed, check_observed, column_of
from recsample.sampling.sequential.positions import cases_of, cost_until, per_instance, untied
from recsample.sampling.sequential.scanning import Scan, check_scan

__all__ = ["EarlyStopping"]


@dataclass(frozen=True)
class EarlyStopping(Design):
    """Draw irrelevant items until `k` of them outrank the best relevant item, or none is left.

    In the first case no relevant item is among the first k; in the second all ranks are known. So
    every metric with a cut-off of at most k is exact, whatever the order of the items: `expect` is
    the metric itself, `variance` is due to the order of tied items, for one relevant item per
    instance. `cost` is the mean position of the k-th of a items in a random order of N,
    k (N + 1) / (a + 1), or all N where fewer than k outrank the best relevant item.

    Items are drawn in a uniformly random order. The observation is "rank" for each relevant item,
    as far as it is known: k + 1 represents all ranks beyond k, with several relevant items k + i
    for the i-th best of them. A `Scan` is advanced as far as needed.

    Parameters
    ----------
    k : int
        At least the cut-off of the metrics.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> design = rs.EarlyStopping(10)
    >>> design.draw(ranks, rng=0)["rank"]
    array([11,  2, 11, 11, 11])
    >>> design.estimate(rs.Recall @ 10, ranks, rng=0)
    array([0., 1., 0., 0., 0.])
    >>> design.cost(ranks).round(1)
    array([ 471.7, 9999. ,  134.6,   18.7,   64.6])
    """

    k: int

    def __post_init__(self) -> None:
        vars(self).update(k=positive_int("k", self.k))

    def draw(self, ranks: Ranks, rng: Rng) -> Observed:
        rng = generator(rng)
        return self._known(check_ranks(ranks).break_ties("random", rng))

    def scan(self, scan: Scan) -> Observed:
        check_scan(scan).advance(scan.n_irrelevant, self.k)
        return self._known(scan.ranks)

    def of(self, metric: Metric | str, observed: Observed) -> Floats:
        metric, n_relevant = self._within(metric), check_observed(observed, self).n_relevant
        rank = column_of(observed, "rank", (int(n_relevant.sum()),))
        one_each = (n_relevant == 1).all()
        return metric(Ranks(rank if one_each else split(rank, n_relevant), observed.n_items))

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        return self._within(metric)(check_ranks(ranks))

    def variance(self, metric: Metric | str, ranks: Ranks) -> Floats:
        metric = self._within(metric)
        cases = untied(cases_of(check_one_relevant(ranks)), self.k)
        square = metric.of_rank(cases.above + 1, cases.pool + 1) ** 2
        return np.maximum(per_instance(cases, square, len(ranks)) - metric(ranks) ** 2, 0.0)

    def cost(self, ranks: Ranks) -> Floats:
        cases = cases_of(check_ranks(ranks), best_only=True)
        each = cost_until(self.k, cases.above, cases.ties, cases.pool)
        return per_instance(cases, each, len(ranks))

    def _within(self, metric: Metric | str) -> Metric:
        """Return the metric (or that with this name); refuse a cut-off above k."""
        metric = the_metric(metric)
        if metric.cutoff is None or metric.cutoff > self.k:
            raise InputError("metric", f"must have a cut-off of at most k={self.k}").got(metric)
        return metric

    def _known(self, ranks):
        """The observation: ranks without ties, with at most k items above."""
        rank = np.minimum(ranks.rows.above, self.k) + ranks.rows.order
        return Observed(self, ranks.sizes, ranks.n_relevant, rank=rank)
