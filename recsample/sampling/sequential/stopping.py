"""Early stopping: draw until k items outrank the relevant one, and cut-offs up to k are exact."""

from __future__ import annotations

from dataclasses import dataclass

from recsample._support.checks import generator, positive_int
from recsample._support.typing import Floats, Rng
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.sampling.base import Design, Observed, check_observed
from recsample.sampling.sequential.first_places import (
    check_within,
    known_ranks,
    known_up_to,
    variance_of_weighted,
)
from recsample.sampling.sequential.positions import cases_of, cost_until, per_instance
from recsample.sampling.sequential.scanning import Scan, check_scan

__all__ = [
    "EarlyStopping",
]


@dataclass(frozen=True)
class EarlyStopping(Design):
    """Draw irrelevant items until `k` of them outrank the best relevant item, or none is left.

    In the first case no relevant item is among the first k; in the second all ranks are known. So
    every metric with a cut-off of at most k is exact, whatever the order of the items.

    The items are met in a uniformly random order. What is observed: "rank" for each relevant item,
    as far as it is known: k + 1 stands for all ranks beyond k, with several relevant items k + i
    for the i-th best of them.

    Parameters
    ----------
    k : int
        At least the cut-off of the metrics.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)   # C of the paper's Table 1
    >>> rs.EarlyStopping(10).estimate(rs.Recall @ 10, ranks, rng=0)
    array([0., 1., 0., 0., 0.])
    >>> rs.EarlyStopping(10).cost(ranks).round(1)
    array([ 471.7, 9999. ,  134.6,   18.7,   64.6])
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", positive_int("k", self.k))

    def draw(self, ranks: Ranks, rng: Rng) -> Observed:
        """What is known of the ranks when the drawing ends; random only in the order of ties.

        Parameters
        ----------
        ranks : Ranks
        rng : int or numpy.random.Generator
            A seed, or a generator that is advanced.

        Returns
        -------
        Observed

        Raises
        ------
        ValueError
            For anything but `Ranks`, and an `rng` that is neither a seed nor a generator.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 3, 50], n_items=100, ties=[0, 4, 0])
        >>> rs.EarlyStopping(5).draw(ranks, rng=0)["rank"]
        array([1, 6, 6])
        """
        rng = generator(rng)
        return known_up_to(self, check_ranks(ranks).break_ties("random", rng), self.k)

    def scan(self, scan: Scan, rng: Rng = None) -> Observed:
        """What is known after a scan of real scores, exact as far as cut-offs up to k see it.

        Parameters
        ----------
        scan : Scan
            It is advanced as far as needed, from wherever it is.

        rng : optional
            Not used: nothing but the order of the items is random.

        Returns
        -------
        Observed

        Examples
        --------
        Item i has the score i, so items 8 and 3 are on ranks 2 and 7:

        >>> import recsample as rs
        >>> scan = rs.sampling.Scan(lambda users, items: items, [8, 3], n_items=10)
        >>> rs.EarlyStopping(3).scan(scan)["rank"]
        array([2, 4])
        """
        check_scan(scan).advance(scan.n_irrelevant, self.k)
        return known_up_to(self, scan.ranks, self.k)

    def of(self, metric: Metric, observed: Observed) -> Floats:
        """The metric of what is known, which is its exact value.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        observed : Observed

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For a metric that needs more than the first k places, and no observation of this design.

        Examples
        --------
        >>> import recsample as rs
        >>> design = rs.EarlyStopping(10)
        >>> design.of(rs.NDCG @ 10, design.draw(rs.Ranks([1, 3, 50], n_items=100), rng=0))
        array([1. , 0.5, 0. ])
        """
        check_within(metric, self.k)
        return metric(known_ranks(check_observed(observed, self)))

    def expect(self, metric: Metric, ranks: Ranks) -> Floats:
        """The expectation of the estimate: the metric itself.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            As `of`.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.EarlyStopping(10).expect(rs.NDCG @ 10, rs.Ranks([1, 3, 50], n_items=100))
        array([1. , 0.5, 0. ])
        """
        check_within(metric, self.k)
        return metric(check_ranks(ranks))

    def variance(self, metric: Metric, ranks: Ranks) -> Floats:
        """The variance of the estimate: 0, but for what the order of tied items does.

        Parameters
        ----------
        metric : Metric
            With a cut-off of at most k.
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            If an instance has not exactly one relevant item, and as `of`.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([1, 1], n_items=100, ties=[0, 19])
        >>> rs.EarlyStopping(10).variance(rs.Recall @ 10, ranks)
        array([0.  , 0.25])
        """
        return variance_of_weighted(metric, self.k, ranks, lambda *_: 1.0)

    def cost(self, ranks: Ranks) -> Floats:
        """The expected number of irrelevant items that are drawn.

        The mean position of the k-th of a items in a random order of N, k (N + 1) / (a + 1), or all
        N where fewer than k outrank the best relevant item.

        Parameters
        ----------
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Raises
        ------
        ValueError
            For anything but `Ranks`.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.EarlyStopping(10).cost(rs.Ranks([1, 10, 11, 100], n_items=100)).round(2)
        array([99.  , 99.  , 90.91, 10.  ])
        """
        cases = cases_of(check_ranks(ranks), best_only=True)
        each = cost_until(self.k, cases.above, cases.ties, cases.pool)
        return per_instance(cases, each, len(ranks))
