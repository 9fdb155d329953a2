"""Base classes of two kinds of experiments: samplers return ranks, designs return estimates.

A `Sampler` draws a number of items and ranks the relevant ones among them: the result is a shorter
ranking, `Ranks` like any other. A `Design` draws until enough is known: its observation,
`Observed`, is not a ranking, and estimates of metrics are computed from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.arrays import different_rows
from recsample._support.checks import numbers, one_or_each, refuse_first, shown, whole_numbers
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Integers, Rng
from recsample._support.values import Value, frozen
from recsample.metrics.base import Metric
from recsample.metrics.names import the_metric
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_one_relevant, rows_of
from recsample.ranks.counts import RankCounts

if TYPE_CHECKING:
    from recsample.sampling.sequential.scanning import Scan

__all__ = ["Design", "HasLaw", "Observed", "Sampler", "SumsOverLaw"]


# Draws return the type of the input: ranks, or for some samplers counts of ranks.
Drawable = TypeVar("Drawable", Ranks, RankCounts)


class _Drawing(ABC):
    """What samplers and designs have in common."""

    @abstractmethod
    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        """The expectation, for each instance, of a metric on sampled ranks, or of an estimate.

        Parameters
        ----------
        metric : Metric or str
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Examples
        --------
        Recommender C of the paper's Table 2 has an average precision of .101, and reports .326:

        >>> import recsample as rs
        >>> c = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)
        >>> round(float(rs.UniformSampling(99).expect(rs.AP, c).mean()), 3)
        0.326
        >>> round(float(rs.InverseSampling().expect(rs.AP, c).mean()), 3)
        0.101
        """

    @abstractmethod
    def variance(self, metric: Metric | str, ranks: Ranks) -> Floats:
        """The variance, for each instance, of a metric on sampled ranks, or of an estimate.

        Parameters
        ----------
        metric : Metric or str
        ranks : Ranks
            One relevant item per instance.

        Returns
        -------
        ndarray of float, shape (instances,)

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(99).variance(rs.Recall @ 10, rs.Ranks([1, 90, 900], 1000)).round(3)
        array([0.   , 0.237, 0.   ])
        >>> rs.InverseSampling().variance(rs.AP, rs.Ranks([1, 40, 900], n_items=1_000)).round(6)
        array([0.      , 0.000571, 0.      ])
        """

    def std_of_mean(self, metric: Metric | str, ranks: Ranks | RankCounts) -> float:
        """Standard deviation, over repeated drawing, of the mean over the instances.

        Instances are drawn for independently of each other.

        Parameters
        ----------
        metric : Metric or str
        ranks : Ranks or RankCounts
            One relevant item per instance.

        Returns
        -------
        float

        Examples
        --------
        >>> import recsample as rs
        >>> round(rs.UniformSampling(99).std_of_mean(rs.AUC, rs.Ranks([100, 500], 1000)), 4)
        0.0278
        """
        rows, counts = rows_of(ranks)
        variance = self.variance(metric, rows)
        return float(np.sqrt(variance.sum() if counts is None else counts @ variance) / len(ranks))

    def same_kind(self, other: object) -> bool:
        """Whether corrections made for another sampler or design can read draws of this one.

        Parameters
        ----------
        other : object
            By default it has to be equal.

        Returns
        -------
        bool

        Examples
        --------
        The paper's tables apply corrections for draws with replacement to draws without it:

        >>> import recsample as rs
        >>> rs.UniformSampling(99).same_kind(rs.UniformSampling(99, replace=True))
        True
        >>> rs.InverseSampling().same_kind(rs.InverseSampling(cap=100))
        False
        """
        return bool(self == other)


class Sampler(_Drawing):
    """A way to draw some of the irrelevant items, among which the relevant ones are ranked.

    To write one, derive a frozen data class with `draw` and `moments`; the rest follows. If the
    sampled rank depends on the rank only, add a `HasLaw.law`, and the least-squares corrections
    work for it. All methods raise a `ValueError` for ranks that they cannot draw from, and for
    metrics that they cannot read.

    Examples
    --------
    >>> import recsample as rs
    >>> isinstance(rs.UniformSampling(99), rs.Sampler)
    True
    """

    @abstractmethod
    def draw(self, ranks: Ranks, rng: Rng) -> Ranks:
        """Sampled ranks: one sampled evaluation, drawn from the law without drawing any items.

        Parameters
        ----------
        ranks : Ranks
            Tied items are put in a random order.
        rng : int, numpy.random.Generator or None
            A seed, a generator that is advanced, or None for fresh entropy.

        Returns
        -------
        Ranks
            The ranks among the drawn items, of the same instances in the same order.

        Examples
        --------
        >>> import recsample as rs
        >>> ranks = rs.Ranks([212, 2, 743, 5342, 1548], n_items=10_000)
        >>> rs.UniformSampling(m=99).draw(ranks, rng=0).values
        array([ 2,  1,  7, 52, 15])
        """

    @abstractmethod
    def moments(self, metric: Metric | str, ranks: Ranks) -> tuple[Floats, Floats]:
        """Expectation and variance of a metric on the sampled ranks, for each instance.

        Parameters
        ----------
        metric : Metric or str
            A `Correction` must be made for sampling of this kind.
        ranks : Ranks
            One relevant item per instance. Averaged over a random order of tied items.

        Returns
        -------
        mean : ndarray of float, shape (instances,)
            NaN for an instance without relevant item, with a warning; some samplers refuse it.
        variance : ndarray of float, shape (instances,)

        Examples
        --------
        >>> import recsample as rs
        >>> mean, variance = rs.UniformSampling(99).moments(rs.AUC, rs.Ranks([100, 500], 1000))
        >>> mean.round(3), variance.round(4)
        (array([0.901, 0.501]), array([0.0008, 0.0023]))
        """

    # Metrics are checked here, since a `moments` of one's own may not do so.

    def expect(self, metric: Metric | str, ranks: Ranks) -> Floats:
        return self.moments(check_readable(metric, self), ranks)[0]

    def variance(self, metric: Metric | str, ranks: Ranks) -> Floats:
        return self.moments(check_readable(metric, self), ranks)[1]


class Design(_Drawing):
    """A way to draw items until enough is known, and to estimate metrics from the observation.

    `expect`, `variance` and `std_of_mean` are those of the estimate. Designs are frozen data
    classes, as samplers are, and raise the same errors.

    Examples
    --------
    >>> import recsample as rs
    >>> isinstance(rs.InverseSampling(), rs.Design)
    True
    """

    @abstractmethod
    def draw(self, ranks: Ranks, rng: Rng) -> Observed:
        """The observation of one run, drawn from its law without drawing any items.

        Parameters
        ----------
        ranks : Ranks
            Tied items are put in a random order.
        rng : int, numpy.random.Generator or None

        Examples
        --------
        >>> import recsample as rs
        >>> observed = rs.InverseSampling().draw(rs.Ranks([1, 40, 900], n_items=1_000), rng=0)
        >>> observed["position"]
        array([1000,    3,    1])
        """

    def scan(self, scan: Scan) -> Observed:
        """The observation of one run on real scores, block by block.

        Parameters
        ----------
        scan : Scan
            Advanced as far as the design needs.

        Raises
        ------
        ValueError
            For a design that does not draw items in a uniformly random order.

        Examples
        --------
        Item i has the score i, so nothing outranks item 9:

        >>> import recsample as rs
        >>> scan = rs.sampling.Scan(lambda users, items: items, relevant=[9], n_items=10)
        >>> rs.EarlyStopping(3).scan(scan)["rank"]
        array([1])
        """
        raise ValueError(f"{self} must draw its items itself, and cannot read them off a scan")

    @abstractmethod
    def of(self, metric: Metric | str, observed: Observed) -> Floats:
        """The estimate of a metric, for each instance.

        Parameters
        ----------
        metric : Metric or str
            One that the design can estimate.
        observed : Observed
            Of this design.

        Returns
        -------
        ndarray of float, shape (instances,)

        Examples
        --------
        >>> import recsample as rs
        >>> design = rs.InverseSampling()
        >>> design.of(rs.AP, design.draw(rs.Ranks([1, 40, 900], n_items=1_000), rng=0))
        array([1.   , 0.003, 0.001])
        """

    @abstractmethod
    def cost(self, ranks: Ranks) -> Floats:
        """The expected number of irrelevant items that are drawn, for each instance.

        Parameters
        ----------
        ranks : Ranks

        Returns
        -------
        ndarray of float, shape (instances,)

        Examples
        --------
        >>> import recsample as rs
        >>> rs.InverseSampling().cost(rs.Ranks([1, 40, 900], n_items=1_000)).round(1)
        array([999. ,  25. ,   1.1])
        """

    def estimate(self, metric: Metric | str, ranks: Ranks, rng: Rng) -> Floats:
        """One estimate per instance: `draw`, then `of`.

        Parameters
        ----------
        metric : Metric or str
        ranks : Ranks
        rng : int, numpy.random.Generator or None

        Returns
        -------
        ndarray of float, shape (instances,)

        Examples
        --------
        >>> import recsample as rs
        >>> rs.InverseSampling().estimate(rs.AP, rs.Ranks([1, 40, 900], n_items=1_000), rng=0)
        array([1.   , 0.003, 0.001])
        """
        return self.of(metric, self.draw(ranks, rng))


class Observed(Value):
    """The observation of one run of a `Design`, which only that design can read.

    Parameters
    ----------
    design : Design
        The design that it comes from.
    n_items : int or array_like of int
        The sizes of the pools, the relevant items included: one number, or one per instance. As an
        attribute an array, shape (instances,).
    n_relevant : int or array_like of int, optional
        How many relevant items each instance has; an array as well.
    **columns : array_like
        The observed quantities, by name: one entry per instance, or per relevant item, instance by
        instance and best item first. The design defines the names.

    Examples
    --------
    >>> import recsample as rs
    >>> observed = rs.Observed(rs.InverseSampling(), n_items=1_000, position=[37, 1])
    >>> observed
    <Observed: 2 instances of InverseSampling(cap=None), position>
    >>> observed.design.of(rs.AP, observed)
    array([0.037, 0.001])
    """

    design: Design
    n_items: Integers
    n_relevant: Integers
    _columns: dict[str, NDArray[Any]]

    def __init__(
        self, design: Design, n_items: ArrayLike, n_relevant: ArrayLike = 1, **columns: ArrayLike
    ) -> None:
        if not isinstance(design, Design):
            raise InputError("design", "must be a Design such as InverseSampling()").got(
                shown(design)
            )
        if not columns:
            raise InputError("columns", "must hold what was seen").got("none")
        arrays = {
            name: frozen(np.atleast_1d(numbers(name, column))) for name, column in columns.items()
        }
        relevant = whole_numbers("n_relevant", n_relevant, lowest=0)
        n_instances = len(relevant) if relevant.ndim else len(next(iter(arrays.values())))
        relevant = one_or_each("n_relevant", relevant, n_instances, "instance")
        for name, column in arrays.items():
            if len(column) not in (n_instances, relevant.sum()):
                raise InputError(
                    name,
                    f"must hold an entry for each of {n_instances} instances, or of their "
                    f"{relevant.sum()} relevant items",
                ).got(len(column))
        sizes = one_or_each("n_items", n_items, n_instances, lowest=1)
        allowed, got = "must be at least n_relevant = {0}", "{1} in instance {at}"
        refuse_first(sizes < relevant, "n_items", allowed, got, relevant, sizes)
        vars(self).update(
            design=design, n_items=frozen(sizes), n_relevant=frozen(relevant), _columns=arrays
        )

    def _content(self) -> tuple[Any, ...]:
        columns = (part for item in self.columns.items() for part in item)
        return self.design, self.n_items, self.n_relevant, *columns

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """The observed arrays, by name.

        Examples
        --------
        >>> import recsample as rs
        >>> list(rs.Observed(rs.InverseSampling(), n_items=1_000, position=[37, 1]).columns)
        ['position']
        """
        return MappingProxyType(self._columns)  # made here, because it cannot be pickled

    def __len__(self) -> int:
        return len(self.n_items)

    def __repr__(self) -> str:
        return f"<Observed: {len(self)} instances of {self.design}, {', '.join(self.columns)}>"

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The observed array with this name."""
        return self.columns[name]


@runtime_checkable
class HasLaw(Protocol):
    """The interface that least-squares corrections need: a law that depends on the rank only.

    Examples
    --------
    >>> import recsample as rs
    >>> from recsample.sampling import HasLaw
    >>> isinstance(rs.UniformSampling(99), HasLaw), isinstance(rs.PooledSampling(99), HasLaw)
    (True, False)
    """

    @property
    def m(self) -> int:
        """The largest number of drawn items that outrank the relevant one.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(99).m
        99
        """

    def law(self, n_items: int) -> Floats:
        """The law of how many drawn items outrank the relevant one, for every rank of a pool.

        Parameters
        ----------
        n_items : int
            Size of the pool, the relevant item included.

        Returns
        -------
        ndarray of float, shape (n_items, m + 1)
            Row r - 1 holds the probabilities of s = 0, ..., m for the rank r.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(1).law(3)
        array([[1. , 0. ],
               [0.5, 0.5],
               [0. , 1. ]])
        """


class SumsOverLaw(Sampler):
    """Base class of samplers whose sampled rank depends on the rank only: all follows from the law.

    To write one, derive a frozen data class with a number `m` of drawn items, `law` and `draw`. One
    relevant item per instance.

    Examples
    --------
    Two items are drawn at random, and only the better one is shown:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import recsample as rs
    >>> @dataclass(frozen=True)
    ... class BetterOfTwo(rs.sampling.SumsOverLaw):
    ...     m: int = 1
    ...
    ...     def law(self, n_items):
    ...         above = np.arange(n_items) / (n_items - 1)
    ...         return np.stack([(1 - above) ** 2, 1 - (1 - above) ** 2], axis=1)
    ...
    ...     def draw(self, ranks, rng):
    ...         rng = np.random.default_rng(rng)
    ...         above = ranks.break_ties("random", rng).rows.above
    ...         drawn = rng.integers(ranks.n_irrelevant, size=(2, len(ranks)))
    ...         return ranks.at(1 + (drawn.min(axis=0) < above), n_items=2)
    >>> BetterOfTwo().expect(rs.AUC, rs.Ranks([1, 6], n_items=11))
    array([1.  , 0.25])
    """

    m: int

    @abstractmethod
    def law(self, n_items: int) -> Floats:
        """The law of how many drawn items outrank the relevant one, in the form of `HasLaw.law`.

        Parameters
        ----------
        n_items : int

        Examples
        --------
        >>> import recsample as rs
        >>> rs.UniformSampling(1).law(3)[1]
        array([0.5, 0.5])
        """

    def pmf(self, ranks: Ranks) -> Floats:
        """The law of how many drawn items outrank the relevant one, for each instance.

        Parameters
        ----------
        ranks : Ranks
            One relevant item per instance. With t ties the law is the mean of t + 1 ranks' laws.

        Returns
        -------
        ndarray of float, shape (instances, m + 1)

        Examples
        --------
        >>> import recsample as rs
        >>> rs.sampling.SumsOverLaw.pmf(rs.UniformSampling(1), rs.Ranks([1, 2], 3, ties=[0, 1]))
        array([[1.  , 0.  ],
               [0.25, 0.75]])
        """
        rows = check_one_relevant(ranks).rows
        kinds, which = different_rows([rows.rank, rows.ties, ranks.sizes])
        laws = {n: self.law(n) for n in set(kinds[2].tolist())}
        cases = np.transpose(kinds).tolist()
        means = [laws[n][rank - 1 : rank + ties].mean(axis=0) for rank, ties, n in cases]
        return np.reshape(means, (-1, self.m + 1))[which]

    def moments(self, metric: Metric | str, ranks: Ranks) -> tuple[Floats, Floats]:
        metric, pmf = check_readable(metric, self), self.pmf(ranks)
        values = metric.of_rank(np.arange(1, self.m + 2), self.m + 1)
        mean = pmf @ values
        return mean, (pmf * (values - mean[:, None]) ** 2).sum(axis=1)


# Checks of samplers, what reads them, and what designs have observed.


def check_one_at_most(ranks: Ranks, what: str) -> Ranks:
    """Return ``ranks``; refuse several relevant items per instance, which are dependent."""
    allowed, got = f"must have one relevant item per instance for {what}", "{} in instance {at}"
    remedy = "draw a few times, and take the mean and the variance of the results"
    refuse_first(ranks.n_relevant > 1, "ranks", allowed, got, ranks.n_relevant, remedy=remedy)
    return ranks


def check_readable(metric: Metric | str, drawn: Sampler | Design) -> Metric:
    """Return the metric (or that with this name); refuse a correction for other observations."""
    metric = the_metric(metric)
    made_for = metric.sampler
    if made_for is not None and not made_for.same_kind(drawn):
        allowed = f"must read what {drawn} gives"
        raise InputError("metric", allowed).got(f"{metric}, which is made for {made_for}")
    return metric


def check_sampler(sampler: Any) -> Sampler:
    """Return ``sampler``; refuse anything but a `Sampler`, such as a design."""
    if not isinstance(sampler, Sampler):
        which = ", a design, which gives no ranks" if isinstance(sampler, Design) else ""
        allowed = "must be a sampler such as UniformSampling(100)"
        raise InputError("sampler", allowed).got(f"{shown(sampler)}{which}")
    return sampler


def check_law(sampler: Any) -> HasLaw:
    """Return ``sampler``; refuse one without a law that depends on the rank only."""
    if not isinstance(check_sampler(sampler), HasLaw):
        allowed = "must have a law that depends on the rank alone, as UniformSampling(100) has"
        raise InputError("sampler", allowed).got(shown(sampler))
    return sampler


def check_observed(observed: Any, design: Design) -> Observed:
    """Return ``observed``; refuse anything but an observation of the design."""
    if not isinstance(observed, Observed):
        raise InputError("observed", f"must be what {design} observes").got(shown(observed))
    if not design.same_kind(observed.design):
        raise InputError("observed", f"must be of {design}").got(f"one of {observed.design}")
    return observed


def column_of(observed: Observed, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The observed array with this name; refuse a missing one, or one of another shape."""
    if name not in observed.columns:
        allowed = f"must hold {name!r} for {observed.design}"
        raise InputError("observed", allowed).got(", ".join(observed.columns))
    column = observed[name]
    if column.shape != shape:
        raise InputError(name, f"must have shape {shape} for {observed.design}").got(column.shape)
    return column
