"""Sums over all ranks of a large pool, computed from few of them.

Given that a of N irrelevant items are above the relevant one, the law p(s | a) of uniform sampling
is a polynomial of degree m in a. Corrections and estimates need it in sums only,

    sum over a of w(a) p(s | a) p(t | a)   and   sum over a of w(a) p(s | a) M(a),

with the weights w of the ranks and a metric M. Gauss rules give such sums exactly from a few places
a, which need not be whole, with weights that are positive. What comes out is a pool of hundreds of
ranks with unequal weights, which every least-squares problem takes in place of the ranks 1 to n.

**Blocks.** One rule with m + 1 nodes would do for the laws, but not for a metric such as 1 / r, or
one with a cut-off. So the places are cut into blocks: the first and the last 64 one by one, then at
cut-offs, at powers of two, between which 1 / r and 1 / log(1 + r) are smooth, and at equal steps of
the arcsine of sqrt(a / N), in which the law has the same width everywhere.

**Nodes.** How many a block needs follows from Bernstein's ellipses. With K nodes the error is about
the largest value on the ellipse with parameter u around the block, times exp(-2 K u). For complex x
the absolute values of the probabilities of B(m, x) have the sum

    (|x| + |1 - x|)^m = cosh(2 Im theta)^m,  x = sin(theta)^2,

which bounds them all; its square bounds all products of two. K is the smallest number that brings
the error below exp(-56) = 5e-25 for some u that stays clear of the pole of 1 / r. It is that small
because `MinimalBias` looks at singular values down to 1.5e-8, whose squares are in the sums.
Hypergeometric laws are narrower, and grow like binomial ones of m N / (N - m) draws, which have the
same variance. That holds for pools of at least four times m; from smaller ones all ranks are taken.

**Other weights.** Any weights have a Gauss rule, from Lanczos' recurrence over the places of a
block: with K nodes it is exact for these weights up to degree 2 K - 1. A metric of which nothing is
known is replaced in each block by its best approximation of degree K - 1, with so many nodes that
the laws are polynomials of that degree as well, but for rounding. To these the rest is orthogonal,
so no correction meets any of it; its mean square, `Places.missed`, is added to the squared bias.
Both ways look at every rank once, some thousands at a time.

**Accuracy.** The matrix of the first sums, scaled as in the least-squares problems to norm 1, is
met to about 1e-14; what a problem makes of that error is its condition, whichever rows it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Union

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from recsample._support.arrays import row_blocks
from recsample._support.checks import check_memory
from recsample._support.typing import Floats
from recsample.metrics.base import Metric
from recsample.metrics.shapes import Geometric, Linear, Logarithmic, Reciprocal, Step
from recsample.ranks.ties import ties_ahead
from recsample.sampling.base import HasLaw
from recsample.sampling.laws import count_pmf, gauss_on_points
from recsample.sampling.uniform import UniformSampling

# Laws of up to so many numbers (32 MiB) are taken as they are.
_SMALL = 2**22
# Ranks at both ends that are taken one by one, and the width of other blocks in the standard
# deviations of what is observed: wider ones need fewer nodes in all, up to about this.
_ENDS, _DEVIATIONS = 64, 12
# The same for polynomials: of which degree a block may be a part.
_DEGREES = 16
# Errors of exp(-56) are left; the ellipses that are tried, of which none comes near a pole, and
# the upper half of each, from one end to the other.
_EXPONENT, _ELLIPSES, _APART = 56.0, np.linspace(0.05, 4.0, 80), 0.9
_CURVED = np.cosh(_ELLIPSES[:, None] + 1j * np.linspace(0, np.pi, 33))
# The errors that are left in values at all places.
_EXPONENT_OF_VALUES = 36.0
# So many places are taken at once where each has a weight of its own.
_AT_ONCE = 2**14


# A term of the metric at places, and the last places before a jump; None if nothing is known.
Target = Callable[[NDArray], Floats]
Jumps = Union[list[int], None]  # noqa: UP007 (Python 3.10 evaluates it)


class Places(NamedTuple):
    """Places that represent a pool: above[i] irrelevant items are above the relevant one."""

    above: Floats  # they need not be whole
    weight: Floats  # with sum 1
    target: Floats  # the metric
    missed: float  # the mean square of what the metric has besides `target`


class Belief(NamedTuple):
    """The weights of a = 0, ..., N irrelevant items above."""

    of: Callable[[NDArray], Floats]  # at some of these places, up to a factor
    degree: int | None  # as a polynomial in a; None where they are any numbers
    everywhere: Callable[[], Floats]  # with sum 1


class Curves(NamedTuple):
    """Properties of functions of a place that determine the number of nodes."""

    n_arcs: int  # into so many equal steps of the arcsine the places are cut
    growth: Callable[[Floats], Floats]  # the log of their largest value where |x| + |1 - x| = c


# For sums of the metric only.
_CONSTANT = Curves(1, np.zeros_like)


def uniform_belief(pool: int) -> Belief:
    """Equal weights for all ranks."""
    return random_belief(pool, 1, 1)


def given_belief(prior: Floats) -> Belief:
    """Given weights, one per rank, with sum 1."""
    return Belief(lambda above: prior[above], None, lambda: prior)


def random_belief(pool: int, n_relevant: int, order: int) -> Belief:
    """The weights for the `order`-th best relevant item in a random order: a beta-binomial law.

    In proportion to (a + 1) ... (a + i - 1) times (N - a + 1) ... (N - a + L - i).
    """
    better, worse = np.arange(1.0, order), np.arange(1.0, n_relevant - order + 1)

    def log(above):
        ahead, behind = np.asarray(above)[:, None], pool - np.asarray(above)[:, None]
        parts = (ahead + better) / (pool + better), (behind + worse) / (pool + worse)
        return sum(np.log(part).sum(axis=1) for part in parts)

    highest = log([pool * (order - 1) / max(n_relevant - 1, 1)])
    return Belief(
        lambda above: np.exp(log(above) - highest),
        n_relevant - 1,
        lambda: ties_ahead(pool, n_relevant, order),
    )


def term_at(
    metric: Metric, above: NDArray, pool: int, order: int = 1, n_relevant: int = 1
) -> Floats:
    """The term of a metric where `above` of N irrelevant items are above, not always whole."""
    of_instance = np.int64(order), np.int64(n_relevant), np.int64(pool + n_relevant)
    return metric.term(order + above, *of_instance) + np.zeros(len(above))


def compressed(
    sampler: HasLaw, pool: int, target: Target, jumps: Jumps, belief: Belief
) -> tuple[Floats, Places]:
    """Places that replace the ranks 1, ..., N + 1, and the law at each of them."""
    if not compressible(sampler, pool):
        law = sampler.law(pool + 1)  # the largest array first, so that it is refused first
        values = target(np.arange(pool + 1))
        return law, Places(np.arange(pool + 1.0), belief.everywhere(), values, 0.0)
    assert isinstance(sampler, UniformSampling)
    places = places_of(pool, _curves_of(sampler, pool), target, jumps, belief)
    return law_at(sampler, places.above, pool), places


def compressible(sampler: HasLaw, pool: int) -> bool:
    """Whether few ranks represent all: for uniform draws of few among many items."""
    if type(sampler) is not UniformSampling:
        return False
    return pool + 1 > max(_SMALL // (sampler.m + 1), 0 if sampler.replace else 4 * sampler.m)


def law_at(sampler: UniformSampling, above: Floats, pool: int) -> Floats:
    """The law at places that need not be whole, shape (places, m + 1)."""
    what = f"the law at {len(above)} places with m={sampler.m}"  # and what is made of it
    check_memory((32 * len(above) + 64 * 256) * (sampler.m + 1), what, "choose a smaller m")
    law = np.empty((len(above), sampler.m + 1))
    for part in row_blocks(len(above), 1, 256):
        every = np.full(len(above[part]), float(pool))
        law[part] = count_pmf(above[part], every, sampler.m, sampler.replace)
    return law


class Pool(NamedTuple):
    """Ranks that represent all in sums of products of many laws."""

    law: Floats  # shape (rows, m + 1)
    weight: Floats  # shape (rows,), with sum 1
    at_all: Callable[..., Floats]  # given a function of rows of the law, and one of its values


def pool_of(sampler: UniformSampling, n_items: int, factors: int) -> Pool:
    """For sums over the ranks of `factors` laws, or sums of laws, times each other.

    `Pool.at_all` gives, for all ranks, a function of what is linear in the rows of the law: of
    polynomials, found from their values at some points of blocks one standard deviation wide.
    """
    pool, belief = n_items - 1, uniform_belief(n_items - 1)
    if not compressible(sampler, pool):
        law, places = compressed(sampler, pool, np.zeros_like, [], belief)
        return Pool(law, places.weight, lambda f, g: g(f(law)))
    one = _curves_of(sampler, pool, 2 * _DEVIATIONS / np.sqrt(factors))
    # The rules are made for products of two, which are as large as the square of one.
    curves = one._replace(growth=lambda c: factors / 2 * one.growth(c))
    places = places_of(pool, curves, np.zeros_like, [], belief)

    def at_all(of_law, of_value):
        near = _curves_of(sampler, pool, 1)
        values = _at_all(pool, near, lambda above: of_law(law_at(sampler, above, pool)))
        return np.concatenate([of_value(part) for part in values])

    return Pool(law_at(sampler, places.above, pool), places.weight, at_all)


def _at_all(pool, curves, function):
    """The values of polynomials at all places, from those at Chebyshev points of each block."""
    edges = _blocks(pool, curves, [])
    for first, end in zip(edges[:-1], edges[1:]):
        n_points = _n_nodes(first, end, pool, curves, True, _EXPONENT_OF_VALUES)
        if end - first <= 2 * n_points:
            yield function(np.arange(float(first), end))
            continue
        middle, half = (first + end - 1) / 2, (end - 1 - first) / 2
        share = chebyshev.chebinterpolate(
            lambda x, middle, half: function(middle + half * x), n_points - 1, (middle, half)
        )
        for start in range(first, end, _AT_ONCE):
            place = (np.arange(start, min(start + _AT_ONCE, end)) - middle) / half
            yield chebyshev.chebvander(place, n_points - 1) @ share


def jumps_of(metric: Metric, order: int, n_relevant: int) -> Jumps:
    """The numbers of items above after which the term of a metric jumps; None if unknown."""
    if not isinstance(metric.form, (Linear, Step, Reciprocal, Geometric, Logarithmic)):
        return None
    places = [] if metric.cutoff is None else [metric.cutoff]
    if isinstance(metric.shape, Step):
        places = metric.shape.last_places(np.array([n_relevant])).tolist()
    return [place - order for place in places]


def _curves_of(sampler, pool, deviations=_DEVIATIONS):
    """The laws p(s | a)."""
    # Of so many draws with replacement the law is as wide.
    draws = sampler.m * (1.0 if sampler.replace else pool / (pool - sampler.m))
    n_arcs = int(np.ceil(np.pi * np.sqrt(draws) / deviations))
    return Curves(n_arcs, lambda c: draws * np.log(c))


def polynomials(degree: int) -> Curves:
    """All polynomials up to a degree that are at most 1 at all places."""
    return Curves(degree // _DEGREES + 1, lambda c: degree * np.arccosh(c))


def _blocks(pool, curves, jumps):
    """The first place of each block, and one behind the last."""
    powers = 2 ** np.arange(int(np.log2(_ENDS)), int(np.log2(pool)) + 1, dtype=np.int64) - 1
    arcs = np.round(pool * np.sin(np.linspace(0, np.pi / 2, curves.n_arcs + 1)) ** 2)
    first = np.arange(_ENDS + 1, dtype=np.int64)  # also where an index has 32 bits
    ends = np.append(first[:-1], pool + 1 - first)
    jumped = np.array(jumps or [], np.int64) + 1
    edges = np.unique(np.concatenate([ends, powers, arcs.astype(np.int64), jumped]))
    return edges[(edges >= 0) & (edges <= pool + 1)].tolist()


def _n_nodes(first, end, pool, curves, rough, exponent=_EXPONENT):
    """The number of nodes of a block; if `rough`, such that the curves are of lower degree."""
    if end - first == 1:
        return 1
    middle, half = (first + end - 1) / 2, (end - 1 - first) / 2
    u = _ELLIPSES[_ELLIPSES <= max(_APART * np.arccosh((middle + 1) / half), _ELLIPSES[0])]
    if curves is _CONSTANT:  # the largest ellipse it is
        return int(np.ceil(exponent / (1 if rough else 2) / u[-1]))
    x = (middle + half * _CURVED[: len(u)]) / pool
    growth = curves.growth((np.abs(x) + np.abs(1 - x)).max(axis=1))
    if rough:
        return int(np.ceil(((exponent + growth) / u).min()))
    return int(np.ceil(((exponent + 2 * growth) / (2 * u)).min()))


def places_of(pool: int, curves: Curves, target: Target, jumps: Jumps, belief: Belief) -> Places:
    """The nodes of all blocks."""
    whole = _joined(_in_blocks(_blocks(pool, curves, jumps), pool, curves, target, jumps, belief))
    total, some = whole.weight.sum(), whole.weight > 0
    above, weight, value = (column[some] for column in whole[:3])
    return Places(above, weight / total, value, whole.missed / total)


def sums_in_steps(
    steps: NDArray, pool: int, target: Target, jumps: Jumps, belief: Belief
) -> Floats:
    """The weight of each step of places, and the sums of the weighted metric and of its square.

    Shape (3, steps), given the last place of each step, the last of which is N.
    """
    start = np.append(0, steps[:-1] + 1)
    if pool < _SMALL // 4:
        weight, value = belief.everywhere(), target(np.arange(pool + 1))
        weighted = weight * value
        of_places = weight, weighted, weighted * value
        index = start.astype(np.intp)  # of 32 bits in a browser
        return np.stack([np.add.reduceat(one, index) for one in of_places])
    edges = np.union1d(_blocks(pool, _CONSTANT, jumps), np.append(0, steps + 1))
    blocks = _in_blocks(edges.tolist(), pool, _CONSTANT, target, jumps, belief)
    sums = [
        (b.weight.sum(), b.weight @ b.target, b.weight @ b.target**2 + b.missed) for b in blocks
    ]
    found = np.add.reduceat(np.array(sums), np.searchsorted(edges, start))
    return (found / found[:, 0].sum()).T


def _in_blocks(edges, pool, curves, target, jumps, belief):
    """The nodes of each block."""
    rough, found = jumps is None, []
    for first, end in zip(edges[:-1], edges[1:]):
        if rough or belief.degree is None:
            one = _of_any(first, end, pool, curves, target if rough else None, belief)
        else:
            n_nodes = _n_nodes(first, end, pool, curves, False) + (belief.degree + 1) // 2
            above, weight = _points(first, end, n_nodes)
            one = Places(above, weight * belief.of(above), above, 0.0)
        found.append(one if rough else one._replace(target=target(one.above)))
    return found


def _points(first, end, n_nodes):
    """The Gauss rule of a block where all places have the same weight, 1."""
    size = end - first
    if n_nodes > size // 2:
        return np.arange(first, end), np.ones(size)
    nodes, weight = gauss_on_points(size, n_nodes)
    return first + nodes, weight * size


def _of_any(first, end, pool, curves, target, belief):
    """The Gauss rule of a block where the weights may be any numbers; with a target, that too."""
    rough, parts = target is not None, []
    n_nodes = _n_nodes(first, end, pool, curves, rough)
    for start in range(first, end, _AT_ONCE):
        stop = min(start + _AT_ONCE, end)
        above = np.arange(start, stop)
        part = Places(above, belief.of(above), target(above) if rough else 0.0 * above, 0.0)
        if end - first > _AT_ONCE:
            part = _fewer(part, min(_n_nodes(start, stop, pool, curves, rough), n_nodes))
        parts.append(part)
    return _fewer(_joined(parts), n_nodes)


def _joined(parts):
    above, weight, target, missed = zip(*parts)
    return Places(*map(np.concatenate, (above, weight, target)), sum(missed))


def _fewer(places, n_nodes):
    """The Gauss rule for weights at given places, by Lanczos' recurrence and Golub and Welsch.

    The target becomes its best approximation by a polynomial of degree below `n_nodes`.

    A polynomial is steepest at the ends, so the nodes near an end with nearly all the weight are
    needed to an accuracy relative to their distance from it. Places are counted from one place
    outside that end: all are positive then, and so is the Jacobi matrix, whose eigenvalues LAPACK
    finds with a small relative error by a Cholesky factor, where other methods leave one relative
    to the largest of them.
    """

    from scipy import linalg
    from scipy.linalg import lapack

    some = places.weight > 0
    above, weight, target = (column[some] for column in places[:3])
    if len(above) <= n_nodes:
        return Places(above, weight, target, places.missed)
    first, last = above[0], above[-1]
    from_first = 2 * (weight @ (above > (first + last) / 2)) <= weight.sum()
    origin, length = (first - 1, last - first + 1) if from_first else (last + 1, first - last - 1)
    root = np.sqrt(weight)
    scaled = (above - origin) / length
    basis, diagonal, off_diagonal = orthogonal_polynomials(scaled, root, n_nodes)
    unit = np.eye(len(basis), order="F")
    nodes, _, vectors, failed = lapack.dpteqr(diagonal, off_diagonal, unit, 2)
    if failed:
        raise linalg.LinAlgError(f"no Gauss rule was found for {len(above)} places ({failed})")
    chance, part = vectors[0], basis @ (root * target)
    rest = root * target - part @ basis
    seen = np.flatnonzero(np.abs(chance) > 1e-150)  # others have no weight
    if from_first:  # the largest came first
        seen = seen[::-1]
    value = (vectors.T @ part)[seen] / (linalg.norm(root) * chance[seen])
    new = np.clip(origin + length * nodes[seen], first, last)
    missed = places.missed + float(rest @ rest)
    return Places(new, weight.sum() * chance[seen] ** 2, value, missed)


def orthogonal_polynomials(place: Floats, root: Floats, number: int) -> tuple[Floats, ...]:
    """Polynomials of degree 0, 1, ... times `root`, each of length 1, and their recurrence.

    By Lanczos: the next one is the place times the last, less what it has of those before. They are
    fewer than `number` where all but rounding of the weight is at so few places. The recurrence is
    the diagonal of the Jacobi matrix, and its off-diagonal.
    """

    from scipy import linalg

    basis = np.empty((number, len(place)))
    diagonal, off_diagonal = np.empty((2, number))
    column, size = root, linalg.norm(root)
    for k in range(number):
        basis[k] = column / size
        column = place * basis[k]
        before = linalg.norm(column)
        diagonal[k] = basis[k] @ column
        for _ in range(2):  # once more, against rounding
            column = column - basis[: k + 1].T @ (basis[: k + 1] @ column)
        size = off_diagonal[k] = linalg.norm(column)
        if size < 1e-14 * before:
            break
    return basis[: k + 1], diagonal[: k + 1], off_diagonal[:k]
