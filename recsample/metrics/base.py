"""The base class of metrics: a metric is a sum over the relevant items of an instance.

Every metric here is

    M(R) = sum over i of f_i(r_i),        r_1 < r_2 < ... < r_L,

over the relevant items, best ranked first, where the `term` ``f_i`` depends only on the rank
``r_i``, the order ``i``, the number of relevant items ``L`` and the size of the pool ``n``. (Only
``AP(hits)`` with a cut-off is no such sum.)

Equation numbers refer to W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation",
KDD 2020, https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recsample._support.arrays import summed
from recsample._support.checks import positive_int, refuse_first, whole_numbers
from recsample._support.errors import InputError
from recsample._support.typing import Floats, Integers
from recsample.metrics.shapes import Linear, Shape, Step, has_shape, mean_over_ties
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks
from recsample.ranks.ties import mean_rank

__all__ = ["Metric"]


def warned_of_nan(metric: Metric, values: Floats) -> Floats:
    """Return the values; warn of the number of instances for which they are undefined."""
    undefined = int(np.isnan(values).sum())
    if undefined:
        warnings.warn(
            f"{metric} is undefined for {undefined} of {values.size} instances (no relevant item"
            + (", or no irrelevant one): nan" if not metric.takes_cutoff else "): nan"),
            stacklevel=3,
        )
    return values


# The classes of all metrics that have a name, by their names and aliases, `normalized`.
REGISTERED: dict[str, type[Metric]] = {}
# F2 is F(2): a number may follow this one name directly.
NUMBERED = re.compile(r"f(\d.*|\.\d+)")


def normalized(name: str) -> str:
    """A name for lookup, without case, spaces, hyphens, underscores, and the 2 of F2."""
    lower = lowered(name)
    return "f" if NUMBERED.fullmatch(lower) else re.sub(r"[\s_-]", "", lower)


def lowered(name: str) -> str:
    """A name in lower case, F-1 as f1; in F1e-7 the hyphen belongs to the number."""
    return re.sub(r"^f[\s_-]+(?=[\d.])", "f", name.lower())


def _register(cls):
    """Register a class by its names; refuse names of another class."""
    aliases = vars(cls).get("aliases", ())
    if isinstance(aliases, str):  # each letter would be one
        raise InputError("aliases", "must be a tuple of names").got(f"{aliases!r}")
    names = [vars(cls)["name"], *aliases]
    for name in names:
        known = REGISTERED.get(normalized(name))
        if not normalized(name) or re.search("[()@]", name):
            raise InputError("name", "must be one without brackets and @").got(f"{name!r}")
        # A class may be made again, as by a cell of a notebook that is run twice.
        if known is not None and _origin(known) != _origin(cls):
            got = f"{name!r}, which is {known.__module__}.{known.__qualname__}"
            raise InputError("name", "must be one that no other metric has").got(got)
    REGISTERED.update({normalized(name): cls for name in names})


def _origin(cls):
    """The file and name of a class, the same for a module that is both run and imported."""
    module = sys.modules.get(cls.__module__)
    return getattr(module, "__file__", None) or cls.__module__, cls.__qualname__


_Self = TypeVar("_Self", bound="Metric")
# A rank beyond all pools.
_NONE = 2**62


class SamplerLike(Protocol):
    """What a correction needs of its sampler."""

    def same_kind(self, other: object) -> bool: ...


class Metric(ABC):
    """A function of `Ranks`: one value per instance.

    Use the ready-made metrics `AUC`, `AP`, `NDCG`, ... and cut them off with ``@``: only ranks up
    to the cut-off count. Called with ranks, a metric gives its values; called with options, the
    same metric with these, ``AP(over="relevant")``. Metrics compare equal by definition, and print
    the name that `metric` parses.

    To add one, derive a frozen data class with a `name` and a `term`, and a `cutoff` if it takes
    one. A name that another metric has is refused where the class is made, a `form` that `term` has
    not where the metric is first used.

    Attributes
    ----------
    name : str
        The name without cut-off and options.
    aliases : tuple of str
        Other names that `metric` reads.
    examples : tuple
        Values of its first option, beside the default, with which lists of metrics show it.
    cutoff : int or None
        The last rank that counts.
    takes_cutoff, needs_cutoff : bool
        Whether it may have a cut-off, and whether it must.
    higher_is_better : bool
        False where less is better.
    additive : bool
        Whether it is a sum of its terms over the relevant items.
    sampler : Sampler or None
        Whose sampled ranks a `Correction` reads; None for a metric of any ranks.

    Examples
    --------
    >>> from recsample import AP, NDCG, Ranks
    >>> (NDCG @ 10)(Ranks([1, 3, 11], n_items=100))
    array([1. , 0.5, 0. ])
    >>> NDCG @ 10
    NDCG@10
    >>> AP(over="relevant") @ 5
    AP(relevant)@5
    """

    cutoff: int | None = None
    name: str
    aliases: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[tuple[Any, ...]] = ()
    takes_cutoff: bool = True
    needs_cutoff: bool = False
    higher_is_better: bool = True
    additive: bool = True
    sampler: SamplerLike | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(vars(cls).get("name"), str):
            _register(cls)

    @abstractmethod
    def term(self, rank: Any, order: Any, n_relevant: Any, n_items: Any) -> Any:
        """The contribution f_i(r_i) of one relevant item.

        Parameters
        ----------
        rank, order, n_relevant, n_items : ndarray of int
            Of the i-th best ranked of L relevant items, at rank r_i among n items: r_i, i, L and
            n, which broadcast.

        Returns
        -------
        ndarray of float

        Examples
        --------
        >>> import numpy as np
        >>> import recsample as rs
        >>> rs.AP.term(np.array([1, 4]), np.array([1, 2]), 2, 10)
        array([0.5 , 0.25])
        """

    @property
    def form(self) -> Shape:
        """What `term` is as a function of the rank, up to the cut-off.

        One of `recsample.metrics.shapes`; of a plain `Shape` nothing is known. For any other the
        formula of `term` holds between whole ranks too.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.AP.form, (rs.AP @ 10).form
        (Reciprocal(), Reciprocal())
        """
        return Shape()

    @property
    def shape(self) -> Shape:
        """The form on all ranks, by which closed forms are chosen: a cut-off changes it.

        Examples
        --------
        >>> import recsample as rs
        >>> rs.AP.shape, (rs.AP @ 10).shape, (rs.Recall @ 10).shape
        (Reciprocal(), Shape(), Step(last_place=10))
        """
        if self.cutoff is None:
            return self.form
        return Step(self.cutoff) if isinstance(self.form, Step) else Shape()

    @overload
    def __call__(self, ranks: Ranks, /) -> Floats: ...
    @overload
    def __call__(self: _Self, /, **options: Any) -> _Self: ...

    def __call__(self, ranks: Any = None, /, **options: Any) -> Any:
        """The metric of every instance, in expectation over a random order of tied items.

        Parameters
        ----------
        ranks : Ranks
        **options
            In place of ranks: the options of the metric to return that differ from this one's.

        Returns
        -------
        ndarray of float, shape (instances,)
            NaN, with a warning, where the metric is undefined: without a relevant item, and for AUC
            and percentile rank without an irrelevant one.
        """
        if ranks is None and options:
            return self._with(options)
        if options:
            raise InputError("", f"{self} takes either ranks or options").got("both")
        check_usable(self)
        check_ranks(ranks)
        values = self._mean_over_ties(ranks)
        values[ranks.n_relevant == 0] = np.nan
        return warned_of_nan(self, values)

    def _with(self, options):
        known = [f.name for f in dataclasses.fields(self)] if dataclasses.is_dataclass(self) else []
        for name in options:
            if name not in known:
                raise InputError("", f"{self} must be given options of {known}").got(f"{name!r}")
        return dataclasses.replace(self, **options)

    def _mean_over_ties(self, ranks):
        rows = ranks.rows

        def gain(instance, order, rank):
            of_instance = ranks.n_relevant[instance], ranks.sizes[instance]
            with np.errstate(divide="ignore", invalid="ignore"):
                return self.term(rank, order, *of_instance) + np.zeros(np.shape(rank))

        if isinstance(self.shape, Linear):  # whose mean is the value at the mean
            each = gain(rows.instance, rows.order, mean_rank(rows))
            return summed(rows.instance, each, len(ranks))
        each = gain(rows.instance, rows.order, rows.rank)
        last = self._last_rank(ranks.n_relevant)[rows.instance]
        tied = np.flatnonzero((rows.ties > 0) & (rows.rank - rows.place < last))
        if len(tied):
            each[tied] = mean_over_ties(self.form, gain, rows.of(tied), last[tied])
        return summed(rows.instance, each, len(ranks))

    def _last_rank(self, n_relevant):
        """The last rank that counts, or one that no item has."""
        if isinstance(self.shape, Step):
            return self.shape.last_places(n_relevant)
        return np.full_like(n_relevant, self.cutoff or _NONE)

    @overload
    def of_rank(self, r: int | np.integer, n_items: ArrayLike) -> float: ...
    @overload
    def of_rank(self, r: Sequence[int] | NDArray[Any], n_items: ArrayLike) -> Floats: ...

    def of_rank(self, r: ArrayLike, n_items: ArrayLike) -> float | Floats:
        """The metric as a function of a single rank, for one relevant item (eqs. 7 to 13).

        Parameters
        ----------
        r, n_items : int or array_like of int
            Rank of the only relevant item, from 1 to `n_items`, the size of the ranked pool.

        Returns
        -------
        float or ndarray of float, shape of `r`

        Examples
        --------
        >>> import recsample as rs
        >>> rs.AP.of_rank([1, 2, 4], n_items=100)
        array([1.  , 0.5 , 0.25])
        """
        check_usable(self)
        r = whole_numbers("r", r, lowest=1)
        n_items = whole_numbers("n_items", n_items, lowest=1)
        if n_items.ndim and n_items.shape != r.shape:
            allowed = f"must be one number or have the shape of r, {r.shape}"
            raise InputError("n_items", allowed).got(n_items.shape)
        refuse_first(r > n_items, "r", "must not exceed n_items = {0}", "{1}", n_items, r)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.term(r, np.int64(1), np.int64(1), n_items) + np.zeros(r.shape)
        values = warned_of_nan(self, values)
        return values if values.ndim else float(values)

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            vars(self).update(cutoff=positive_int("cutoff", self.cutoff))
        for option in dataclasses.fields(self):  # type: ignore[arg-type]  # of the metric's class
            value = getattr(self, option.name)
            if option.type in ("float", float) and isinstance(value, str):  # read off a name
                vars(self)[option.name] = _number(option.name, value)

    def __matmul__(self: _Self, cutoff: int) -> _Self:
        """``M @ k``: the metric cut off at rank `k`."""
        if not (self.takes_cutoff and dataclasses.is_dataclass(self)):
            raise InputError("", f"{self} takes no cut-off").got(f"@ {cutoff!r}")
        cutoff = positive_int("cutoff", cutoff)
        return dataclasses.replace(self, cutoff=cutoff)

    def label(self) -> str:
        """The name with its options, without the cut-off.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> (rs.AP(over="relevant") @ 5).label()
        'AP(relevant)'
        """
        return self.name

    def __str__(self) -> str:
        return self.label() if self.cutoff is None else f"{self.label()}@{self.cutoff}"

    __repr__ = __str__

    def within(self, rank: Any) -> Any:
        """Whether a rank is within the cut-off; True without one.

        Parameters
        ----------
        rank : ndarray of int

        Returns
        -------
        ndarray of bool, or True

        Examples
        --------
        >>> import numpy as np
        >>> import recsample as rs
        >>> (rs.AP @ 2).within(np.array([1, 3]))
        array([ True, False])
        """
        return True if self.cutoff is None else rank <= self.cutoff

    def best_places(self, n_relevant: Any) -> Any:
        """The number of relevant items in a perfect ranking up to k: min(L, k), eqs. (5) and (6).

        Parameters
        ----------
        n_relevant : ndarray of int

        Returns
        -------
        ndarray of int

        Examples
        --------
        >>> import numpy as np
        >>> import recsample as rs
        >>> (rs.NDCG @ 2).best_places(np.array([1, 3]))
        array([1, 2])
        """
        return n_relevant if self.cutoff is None else np.minimum(n_relevant, self.cutoff)


def ends_of(metric: Metric, ranks: Ranks) -> tuple[float, float]:
    """The lowest and the highest value of a metric in the pools of these ranks."""
    return ends_in(metric, ranks.n_relevant, ranks.sizes)


def ends_in(metric: Metric, n_relevant: Integers, sizes: Integers) -> tuple[float, float]:
    """The lowest and the highest value of a metric in pools of these sizes.

    These are the values at the worst and the best ranks, in the smallest and the largest pool for
    each number of relevant items. A metric that is better at a worse rank is refused, because its
    extremes are elsewhere.
    """
    most = np.zeros(int(n_relevant.max()) + 1, np.int64)
    np.maximum.at(most, n_relevant, sizes)
    least = most.copy()
    np.minimum.at(least, n_relevant, sizes)
    numbers = np.flatnonzero(most)
    for n in {int(numbers[0]), int(numbers[-1])} - {0} if metric.sampler is None else ():
        _check_falls(metric, n, int(most[n]))
    sizes = np.concatenate([least[numbers], most[numbers]])
    first = [np.arange(1, n + 1) for n in numbers] * 2
    last = [places + size - len(places) for places, size in zip(first, sizes)]
    extremes = Ranks([*first, *last], n_items=np.tile(sizes, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of values without which the others stand
        values = metric(extremes)
    return float(np.nanmin(values)), float(np.nanmax(values))


def _number(name, text):
    try:
        return float(text)
    except ValueError:
        raise InputError(name, "must be a number").got(f"{text!r}") from None


# Before a metric is used.


def check_usable(metric: Metric) -> None:
    """Refuse a metric without a cut-off that it needs, or with another form than it declares."""
    if metric.needs_cutoff and metric.cutoff is None:
        line = f"write {metric.name} @ 10"
        raise InputError("", f"{metric.name} needs a cut-off", remedy=line)
    if type(metric.form) is not Shape:
        try:
            hash(metric)
        except TypeError:  # not frozen, or with a list among its options: checked each time
            _check_form.__wrapped__(metric)
        else:
            _check_form(metric)


_STEPS = np.array([0, 1, 2, 4, 8, 99, 999, 9999])


@lru_cache
def _check_form(metric: Metric) -> None:
    """Check the form on a few ranks of a small and a large pool, for several orders."""
    for order, n_relevant in ((1, 1), (1, 3), (2, 3), (3, 3)):
        last = int(metric._last_rank(np.array(n_relevant, np.int64)))
        least = last if last < _NONE else n_relevant
        name = type(metric).__name__
        declares = f"must have the form that it declares, {metric.form}"
        nothing = f"as relevant item {order} of {n_relevant}; Shape() declares nothing"
        for n_items in (least + 9, least + 10_000):
            places = np.array([*(order + _STEPS), least, least + 1])
            rank = np.unique(places[(places >= order) & (places <= n_items - n_relevant + order)])
            term = partial(_terms, metric, order=order, n_relevant=n_relevant, n_items=n_items)
            if not has_shape(metric.form, term, rank, last):
                found = f"{term(rank[:4]).tolist()} on the ranks {rank[:4].tolist()}"
                raise InputError(name, declares).got(f"{found} of {n_items} {nothing}")
        if isinstance(metric.shape, Linear):
            short, long = (_at_both_ends(metric, order, n_relevant, n) for n in (9, 9_999))
            if not np.allclose(short, long, rtol=1e-9, equal_nan=True):
                alike = "the same values at the top and at the bottom of a list of any length"
                got = f"{short.tolist()} for 9 items and {long.tolist()} for 9,999 {nothing}"
                raise InputError(name, f"{declares}, and with it {alike}").got(got)


def _check_falls(metric, n_relevant, n_items):
    """Refuse a metric that is better at a worse rank.

    It is evaluated at the first ranks, around the cut-off, and at geometrically spaced ranks.
    """
    sign, way = (1, "rise") if metric.higher_is_better else (-1, "fall")
    pool = int(n_items - n_relevant)
    places = np.append(np.arange(60), np.geomspace(1, pool + 1, 60).astype(np.int64) - 1)
    for order in {1, int(n_relevant)}:
        near = (metric.cutoff or 1) + np.array([-order, 1 - order])
        every = np.union1d(places, near)
        rank = order + every[(every >= 0) & (every <= pool)]
        values = _terms(metric, rank, order, n_relevant, n_items)
        rank, values = rank[np.isfinite(values)], values[np.isfinite(values)]
        wrong = np.flatnonzero(sign * np.diff(values) > 1e-9 * np.abs(values).max(initial=0.0))
        if len(wrong):
            at = slice(wrong[0], wrong[0] + 2)
            allowed = f"must not {way} with the rank to have limits, as {metric} does"
            remedy = f"it is {values[at].tolist()} on the ranks {rank[at].tolist()} of {n_items}"
            raise InputError("metric", allowed, remedy=remedy)


def _at_both_ends(metric, order, n_relevant, n_items):
    ends = np.array([order, n_items - n_relevant + order])
    return _terms(metric, ends, order, n_relevant, n_items)


def _terms(metric, rank, order, n_relevant, n_items):
    with np.errstate(all="ignore"):
        given = np.int64(order), np.int64(n_relevant), np.int64(n_items)
        return metric.term(rank, *given) + np.zeros(len(rank))
