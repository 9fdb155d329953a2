"""Doubling: draw a sample that doubles as long as no drawn item outranks the relevant one.

A correction needs the law of an observation for every rank and nothing else, so it need not be the
count in a sample of fixed size. `DoublingSampling` draws few items for most instances, many where
they are needed, and is corrected like uniform sampling. It is biased as those corrections are;
inverse sampling, early stopping and two phases are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recsample._support.arrays import different_rows, row_blocks
from recsample._support.checks import fits_in_memory, generator, positive_int, refuse_first, shown
from recsample._support.typing import Floats, Rng
from recsample._support.values import kept
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_relevant
from recsample.sampling.base import Design, Observed, check_observed, column_of
from recsample.sampling.laws import check_drawable, check_laws, log_missed
from recsample.sampling.sequential import positions
from recsample.sampling.sequential.scanning import Scan, check_new
from recsample.sampling.uniform import UniformSampling

# Laws of about so many numbers are held at a time: 8 MiB.
_AT_ONCE = 2**20


@dataclass(frozen=True)
class DoublingSampling(Design):
    """Draw `m0` irrelevant items, and double their number while none outranks the relevant one.

    The drawing ends after the stage in which an item outranked the relevant one, or with `m` items.
    What is observed for each instance: "drawn", how many items were drawn in all, and "above", how
    many of them outrank the relevant one. There are m + 1 different observations, numbered s = 0
    for none above of m, and then by stage from the last to the first and by count from 1. A
    correction such as ``BiasVariance(metric, design, n_items)`` is solved on their law, and no
    other metric is read by `of`, `expect` and `variance`.

    The assumption: items are drawn uniformly without replacement, and a correction has the bias and
    the variance of its own objective. Instances have one relevant item, pools at least `m`
    irrelevant ones, and a `Scan` is a new one.

    Parameters
    ----------
    m0 : int
        Items in the first stage.
    m : int
        Items drawn at most.

    Examples
    --------
    >>> import recsample as rs
    >>> design = rs.DoublingSampling(m0=10, m=80)
    >>> corrected = rs.BiasVariance(rs.Recall @ 2, design, n_items=100, gamma=0.1)
    >>> ranks = rs.Ranks([1, 2, 3, 30], n_items=100)
    >>> observed = design.draw(ranks, rng=0)
    >>> observed["drawn"], observed["above"]
    (array([80, 80, 80, 10]), array([0, 1, 2, 4]))
    >>> design.of(corrected, observed).round(2)
    array([ 1.02,  1.43, -0.81,  0.  ])
    >>> design.expect(corrected, ranks).round(2)
    array([1.02, 0.8 , 0.16, 0.  ])
    >>> design.cost(ranks).round(1)
    array([80. , 58.8, 44.9, 10.3])
    """

    m0: int
    m: int

    def __post_init__(self) -> None:
        vars(self).update(m0=positive_int("m0", self.m0), m=positive_int("m", self.m))
        if self.m < self.m0:
            raise ValueError(f"m must be at least m0={self.m0}, got {self.m}")

    @property
    def _stages(self):
        """How many items have been drawn before and after each stage."""
        totals = [0, self.m0]
        while totals[-1] < self.m:
            totals.append(min(2 * totals[-1], self.m))
        return list(zip(totals, totals[1:]))

    def law(self, n_items: int) -> Floats:
        """The law of the observation for every rank of a pool.

        Parameters
        ----------
        n_items : int
            Size of the pool, more than m.

        Returns
        -------
        ndarray of float, shape (n_items, m + 1)
            Row r - 1 is the law at rank r. It is kept for the next call, and read-only.

        Raises
        ------
        ValueError
            For a pool that is too small, or a law that the memory cannot hold.

        Examples
        --------
        One item, then another if the first is not above. At rank 1 none is, at rank 3 of 3 the
        first is, and at rank 2 each case has the probability 1/2:

        >>> import recsample as rs
        >>> rs.DoublingSampling(m0=1, m=2).law(n_items=3)
        array([[1. , 0. , 0. ],
               [0. , 0.5, 0.5],
               [0. , 0. , 1. ]])
        """
        n_items = positive_int("n_items", n_items)
        fits_in_memory(
            24 * n_items * (self.m + 1),
            f"the law for n_items={n_items}, m={self.m}",
            "ask for some of the ranks, by pmf",
        )
        return _law(self, n_items)[0]

    def pmf(self, ranks: Ranks) -> Floats:
        """The law of the observation of each instance.

        Parameters
        ----------
        ranks : Ranks
            One relevant item per instance, in pools of at least m irrelevant items.

        Returns
        -------
        ndarray of float, shape (instances, m + 1)

        Examples
        --------
        >>> import recsample as rs
        >>> rs.DoublingSampling(m0=1, m=2).pmf(rs.Ranks([2], n_items=3))
        array([[0. , 0.5, 0.5]])
        """
        positions.check_pool(check_one_relevant(ranks), self.m)
        check_laws(len(ranks), self.m, 24)
        pmf = np.empty((len(ranks), self.m + 1))
        for before, after in self._stages:
            # The s items above among the first `after` must all be among the last ones of these:
            # P(s above of `after`) C(after - before, s) / C(after, s).
            law = UniformSampling(after).pmf(ranks)
            s = np.arange(1.0, after - before + 1)
            late = np.cumprod((after - before - s + 1) / (after - s + 1))
            first = self._number(1, after)
            pmf[:, first : first + len(s)] = law[:, 1 : 1 + len(s)] * late
            pmf[:, 0] = law[:, 0]
        return pmf

    def draw(self, ranks: Ranks, rng: Rng) -> Observed:
        pool = positions.check_pool(check_one_relevant(ranks), self.m)
        rng = generator(rng)
        check_drawable(pool)
        above = ranks.break_ties("random", rng).rows.above
        drawn, found = np.zeros((2, len(ranks)), np.int64)
        for before, after in self._stages:
            at = np.flatnonzero(found == 0)  # until now none is above
            found[at] = rng.hypergeometric(above[at], pool[at] - before - above[at], after - before)
            drawn[at] = after
        return Observed(self, ranks.sizes, drawn=drawn, above=found)

    def scan(self, scan: Scan, rng: Rng = None) -> Observed:
        check_one_relevant(check_new(scan).ranks, "scan")
        drawn = np.zeros(len(positions.check_pool(scan, self.m)), np.int64)
        for _, after in self._stages:
            going_on = scan.above == 0
            drawn[going_on] = after
            scan.advance(np.where(going_on, after, 0))
        return Observed(self, scan.n_irrelevant + 1, drawn=drawn, above=scan.above)

    def of(self, metric: Metric | str, observed: Observed) -> Floats:
        values, observed = self._values(metric), check_observed(observed, self)
        drawn, above = (column_of(observed, name, (len(observed),)) for name in ("drawn", "above"))
        possible = (above == 0) & (drawn == self.m)
        for before, after in self._stages:  # what is above is among the last items drawn
            possible |= (drawn == after) & (above >= 1) & (above <= after - before)
        message = "observed must hold what {} can see, got {} of {} above in instance {at}"
        refuse_first(~possible, message, str(self), above, drawn)
        return values[self._number(above, drawn)]

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        return self._moments(metric, ranks)[0]

    def variance(self, metric: Metric | str, ranks: Ranks) -> Floats:
        mean, square = self._moments(metric, ranks)
        return np.maximum(square - mean**2, 0.0)

    def cost(self, ranks: Ranks) -> Floats:
        positions.check_pool(check_one_relevant(ranks), self.m)
        cases = positions.cases_of(ranks)

        def drawn(above, pool):  # a stage is drawn if nothing was above in those before
            stages = self._stages
            return sum((b - a) * np.exp(log_missed(above, a, pool)) for a, b in stages)

        return positions.per_instance(cases, positions.mean_over_ties(drawn, cases), len(ranks))

    def _moments(self, metric, ranks):
        """Mean and mean square of what is read, from the law of each different rank, in blocks."""
        values = self._values(metric)
        positions.check_pool(check_one_relevant(ranks), self.m)
        columns = ranks.rows.rank, ranks.n_irrelevant, ranks.rows.ties
        (rank, pool, ties), which = different_rows(columns)
        moments = np.empty((2, len(rank)))
        for part in row_blocks(len(rank), self.m + 1, _AT_ONCE):
            law = self.pmf(Ranks(rank[part], pool[part] + 1, ties=ties[part]))
            moments[:, part] = [law @ values, law @ values**2]
        return moments[:, which]

    def _number(self, above, drawn):
        """The number s of an observation: how many items are above after a stage; none is 0."""
        return np.where(above == 0, 0, self.m - drawn + above)

    def _values(self, metric):
        """What a correction for this design reads at each observation."""
        if the_metric(metric).sampler != self:
            raise ValueError(f"metric must be a correction for {self}, got {shown(metric)}")
        return metric.values  # all that are made for a sampler are corrections


@kept
def _law(design: DoublingSampling, n_items: int) -> tuple[Floats]:
    return (design.pmf(Ranks(np.arange(1, n_items + 1), n_items)),)
