"""Scores of sampled ranks whose mean bounds that of an exact metric, whatever the ranks are.

What is seen of a relevant item, s of m drawn items above it, is replaced by a score H(s) that on
average over the draws is no less than the term M of the metric:

    sum over s of H(s) p(s | a) >= M(a)   for each number a of irrelevant items above it.

**Theorem.** Let H not depend on what it scores. Then the mean score of a user is at least the
user's metric, for any rank, pool and number of relevant items; so the mean over independent users,
each with scores of the user's own, bounds the mean metric in expectation. For scores from below all
signs are reversed. (These are affine limits: D. L. Donoho, "Statistical estimation and optimal
recovery", Annals of Statistics 22, 1994.) So a sampled evaluation is an exact one of scores: a
user's items add up, a difference of two recommenders is an upper score less a lower one of the same
user, and limits are those of a mean.

An assumption names a smaller class of populations of a, by pool and order. H has to bound M under
each extreme population of the class only: under all that are constant up to some place, say.

**Smaller pools, more draws.** A user with N' < N irrelevant items becomes one with N by adding
N - N' below all others, which leaves a as it is. Of m items drawn from the larger pool some J are
old ones, and J of the m' >= m items that were drawn, chosen at random, are such a draw. So scores
for N and m, averaged over that choice, are scores for N' and m'.

**Which scores.** Any that satisfy the inequality will do, and so do their mixtures. Each of a few
populations, which need not be true, has scores that are close for it: of n users whose counts are
n p(s), the largest likelihood plus ``tilt * mean`` has the weights w, q = B w, and no column
exceeds those in use,

    sum over s of p(s | column) n p(s) / q(s) + tilt * mean <= largest,

so H(s) = (largest - n p(s) / q(s)) / tilt. The fit is made on a grid of places, and the inequality
is then met exactly: by the largest shortfall over all places, which is added. Their mixture is
chosen for the least limit of the mean score by what all *other* users show, see `mixed`. That is a
choice among seventeen however many pools there are, so that there is little to overfit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from recsample._support.arrays import different_rows, row_blocks, starts_of, summed
from recsample._support.typing import Floats, Integers
from recsample._support.values import cached_arrays
from recsample.inference.likelihood.mixtures import fitted, on_few_columns
from recsample.inference.likelihood.strata import HEAD, Assumption, Stratum, columns_of, moments_of
from recsample.metrics.base import Metric
from recsample.ranks.base import Ranks
from recsample.sampling.large_pools import law_at, random_belief, sums_in_steps, term_at
from recsample.sampling.laws import count_pmf
from recsample.sampling.uniform import UniformSampling

# Pools and numbers of draws up to this ratio have the scores of the largest and of the fewest; as
# they are thinned, that costs as much as fewer draws would. Orders and numbers of
# relevant items share the populations for which scores are close, and are bounded each for itself.
_POOLS, _ORDERS, _RELEVANT = 1.15, 1.5, 2.0
# Populations: rank 1 alone, r^-1.5, 1 / (r + c) for three c up to a fifteenth of the pool, all
# ranks alike, only those of the last three tenths, and all alike but for three tenths of the users,
# who are on rank 1 or in the first seventieth. Tilts, in units of that at which the
# log-likelihood of the mean metric falls by 2. Others that were tried (more or higher tilts, one
# population) narrowed limits of AP by at most 2 % in three runs.
_STEEP, _OFFSETS, _LAST, _AT_TOP, _TOP = 1.5, 3, 0.7, 0.3, 1 / 70
_POPULATIONS = _OFFSETS + 5
_TILTS = 0.35, 1.4
# Two-sided limits at 95 %, for which scores are chosen; at other levels they hold as well.
_REACH = 1.96
# A distance from the largest likelihood at which scores are hardly less close.
_CLOSE = 0.1
# How sharply the best of the candidates is preferred. The larger, the more a mixture depends on any
# single user, and the further it is for each of them from what would be the best for all: the best
# alone narrowed limits by 6 % in one of three runs, and widened them by a third in another. With 5
# limits of Recall@10 under "decreasing" held in .9375 of 2,000 runs of ranks that are all alike.
_SHARP = 3.0
# To be divided by, where no score varies.
_TINY = 1e-30
# Counts of less than this have no weight in a fit. Counts s are grouped within half of their
# deviation.
_RARE, _GROUPED = 1e-7, 2
# Numbers of a draw's old items that are rarer than this are left out.
_RAREST = 1e-15
# Up to this pool the inequality is evaluated at all places, then at so many of each kind.
_EVERY, _FIRST, _ARCS = 10**5, 2_000, 20_000


class Scores(NamedTuple):
    """Scores of instances by several candidates, so that their mean is an upper bound.

    For lower bounds they have the opposite sign, like `most`, the largest that can be observed.
    """

    value: Floats  # shape (instances, candidates)
    most: Floats  # shape (candidates,)


class Reference(NamedTuple):
    """The largest pool and the fewest draws that relevant items of a bin can have.

    The bins do not depend on the data, so that what is computed for one study serves the next; but
    where all items of a bin have the same pool, or number of draws, it is that.
    """

    pool: int
    m: int
    least: int  # the smallest pool of the bin
    kinds: tuple[tuple[int, int, int], ...]  # order, number of relevant items, and pool of terms


class Cells(NamedTuple):
    """Rows of sampled ranks that are alike, and their places in what is computed for these."""

    reference: Reference
    rows: Integers
    pools: Integers  # the different ones
    pool: Integers  # of each row, its number among these
    kind: Integers
    m: int
    above: Integers
    ties: Integers


def cells_of(sampled: Ranks, sizes: Integers, metric: Metric) -> list[Cells]:
    """Sort the rows of sampled ranks by pools, draws, orders and numbers of relevant items."""
    rows = sampled.rows
    relevant = sampled.n_relevant[rows.instance]
    pool, m = sizes[rows.instance] - relevant, sampled.n_irrelevant[rows.instance]
    alike = [_alike(pool, _POOLS), _alike(m, _POOLS)]
    alike += [_alike(rows.order, _ORDERS), _alike(relevant, _RELEVANT)]
    # Terms hardly ever depend on the pool.
    own = np.where(_depends_on_pool(metric, pool, relevant, rows.order), pool, 0)
    found = []
    for some in _split(alike):
        kinds, kind = different_rows([rows.order[some], relevant[some], own[some]])
        named = tuple(zip(*(column.tolist() for column in kinds)))
        (least, most), (fewest, _) = _ends(pool[some], _POOLS), _ends(m[some], _POOLS)
        reference = Reference(most, fewest, least, named)
        for which in _split([m[some]]):
            mine = some[which]
            pools, at = np.unique(pool[mine], return_inverse=True)
            seen = int(m[mine[0]]), rows.above[mine], rows.ties[mine]
            found.append(Cells(reference, mine, pools, at, kind[which], *seen))
    return found


def _alike(values, ratio):
    """Number the values by bins, within which they differ by less than a ratio."""
    return np.searchsorted(_edges(values.max(), ratio), values)


def _edges(highest, ratio):
    """The last numbers of bins, the same for all data."""
    return np.unique(np.floor(ratio ** np.arange(2 + np.log(highest) / np.log(ratio))))


def _ends(values, ratio):
    """The first and the last number of the bin of all values; of equal ones, these."""
    low, high = values.min(), values.max()
    if low < high:
        edges = _edges(high, ratio)
        low, high = edges[np.searchsorted(edges, low) - 1] + 1, edges[np.searchsorted(edges, high)]
    return int(low), int(high)


def _split(columns):
    """The rows that are alike in all columns."""
    _, which = different_rows(columns)
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which[order])) + 1)


def _depends_on_pool(metric, pool, relevant, order):
    kind = int(order[0]), int(relevant[0])
    places = _places(int(pool.min()), metric)
    return not np.array_equal(
        *(term_at(metric, places, int(one), *kind) for one in (pool.min(), pool.max()))
    )


def scores_of(
    metric: Metric,
    cells: Sequence[Cells],
    sampled: Ranks,
    replace: bool,
    assumption: Assumption,
    sign: int,
    n_instances: float,
) -> Scores:
    """The scores of all instances, of which `n_instances` are expected to be observed."""
    size = 4 ** round(np.log2(n_instances) / 2)  # so that scores of another study can be used again
    each = most = np.empty(0)
    for one in cells:
        reference = one.reference
        values = _candidates(reference, metric, assumption, sign, replace, size)[0]
        kinds, _, number = values.shape
        if not each.size:
            each, most = np.empty((2, len(sampled.rows.rank), number))
        thin = _thinned(values, reference, one.pools, one.m, replace)
        each[one.rows] = _over_ties(thin, one)
        highest = (sign * thin).max(axis=1).reshape(len(one.pools), kinds, number)
        most[one.rows] = highest[one.pool, one.kind]
    # A user's items add up, however dependent they are.
    start = starts_of(sampled.n_relevant)
    return Scores(sign * np.add.reduceat(each, start), np.add.reduceat(most, start).max(axis=0))


def _over_ties(thin, one):
    """The mean of the scores of each row over its possible places."""
    number = thin.shape[2] // len(one.reference.kinds)
    by_kind = thin.reshape(*thin.shape[:2], -1, number)
    if not one.ties.any():
        return by_kind[one.pool, one.above, one.kind]
    sums = np.cumsum(by_kind, axis=1)
    upto = sums[one.pool, one.above + one.ties, one.kind]
    before = sums[one.pool, np.maximum(one.above - 1, 0), one.kind]
    before[one.above == 0] = 0.0
    return (upto - before) / (one.ties + 1)[:, None]


def _thinned(values, reference, pools, m, replace):
    """Scores in smaller pools of which m items were drawn, shape (pools, m + 1, kinds * number).

    J of the reference's draws are items of such a pool; so are J of the m, chosen at random.
    """
    values = np.moveaxis(values, 1, 0).reshape(reference.m + 1, -1)
    old = np.full(len(pools), float(reference.pool))
    share = count_pmf(pools.astype(float), old, reference.m, replace)
    share[share <= _RAREST] = 0.0
    some = np.flatnonzero(share.any(axis=0))
    share = share[:, some] / share.sum(axis=1, keepdims=True)
    laws = [UniformSampling(int(j)).law(m + 1) if j else np.ones((m + 1, 1)) for j in some]
    return np.tensordot(share, [law @ values[: j + 1] for j, law in zip(some, laws)], axes=1)


@cached_arrays
def _candidates(reference, metric, assumption, sign, replace, n):
    """The scores of a reference, shape (kinds, m + 1, candidates)."""
    terms = [_term(metric, reference, kind) for kind in reference.kinds]
    # The scores of the kind with the outermost term are the closest for all of them.
    first = np.arange(min(reference.least + 1, _FIRST))
    sums = [sign * float(term(first).sum()) for term in terms]
    outermost = int(np.argmax(sums))
    base, most = reference.kinds[outermost][:2], _range(terms[outermost], reference)
    about = assumption, metric, sign, replace, n
    (values,) = _close(reference.pool, reference.m, *base, *about)
    places = _places(reference.pool, metric)
    at_places = _means(values, reference, replace, places)
    found = []
    for (order, relevant, _), term in zip(reference.kinds, terms):
        scale = _range(term, reference) / max(most, 1e-300)
        gap = _gaps(scale * values, scale * at_places, term, reference, places, sign)
        belief = None
        if assumption == "decreasing":
            belief = random_belief(reference.pool, relevant, order)
        found.append(scale * values + sign * _shortfall(gap, places, reference, belief))
    return (np.stack(found),)


def _term(metric, reference, kind):
    order, relevant, own = kind

    def term(above):
        pool = own or reference.pool
        # No item of a smaller pool is further down.
        return term_at(metric, np.minimum(above, pool), pool, order, relevant)

    return term


def _range(term, reference):
    first, last = term(np.array([0, reference.pool]))
    return abs(first - last)


@cached_arrays
def _close(pool, m, order, relevant, assumption, metric, sign, replace, n):
    """Scores that are close for each of the populations, not yet exact.

    Their shape is (m + 1, candidates).
    """
    stratum = Stratum(pool, relevant, order, (m,), ())
    cutoffs = () if metric.cutoff is None else (metric.cutoff,)
    single, columns = (columns_of(stratum, one, replace, cutoffs) for one in ("none", assumption))
    edges = np.unique(np.round((np.arange(2 * _GROUPED * np.sqrt(m) + 2) / (2 * _GROUPED)) ** 2))
    edges = edges[edges <= m].astype(np.intp)
    law = np.maximum(np.add.reduceat(columns.law, edges, axis=0), 1e-300)
    (mean, _), (value, square) = (moments_of(stratum, one, metric) for one in (columns, single))
    range_ = float(np.ptp(mean))
    if range_ == 0:
        return (np.full((m + 1, 1 + len(_TILTS) * _POPULATIONS), mean[0]),)
    # If all are on rank 1, no item is ever above: another place is seen with some probability.
    away = sign * (mean[1:] - mean[0]) / np.maximum(1 - law[0, 1:], _TINY)
    found = [mean[0] + sign * max(away.max(), 0.0) * (edges > 0)]
    for weights in _populations(single.steps, pool, m, order, relevant):
        seen = np.add.reduceat(single.law @ weights, edges)
        spread = max(square @ weights - (value @ weights) ** 2, range_**2 / n)
        counts = n * seen / seen.sum()
        some = counts > _RARE
        start = few = on_few_columns(law[some])
        for factor in _TILTS:
            tilt = factor * sign * _REACH * np.sqrt(n / spread)
            fit = _fit(law[some], counts[some], tilt * mean, start)
            # The time of a step grows with the columns that have weight.
            start = 0.99 * fit + 0.01 * few
            ratio = np.where(some, counts / (law @ fit), 0.0)
            found.append((n - ratio) / tilt)
    group = np.searchsorted(edges, np.arange(m + 1), side="right") - 1
    return (np.transpose(found)[group],)


def _fit(law, counts, tilt, start):
    try:
        return fitted(law, counts, tilt, start, close=_CLOSE)
    except RuntimeError:  # whichever weights, the scores will hold
        return start


def _populations(steps, pool, m, order, relevant) -> Iterator[Floats]:
    """Weights of steps of places, for the order-th best of relevant items from each population."""
    rank = np.arange(1.0, pool + 2) if pool < _EVERY else steps + 1.0
    width = np.diff(rank, prepend=0.0)
    # What is nearer to the top than a part of pool / m looks like rank 1.
    offsets = np.geomspace(max(1, pool / (40 * m)), max(pool / 15, 2), _OFFSETS)
    densities = [rank**-_STEEP, *(1 / (rank + c) for c in offsets), np.ones(len(rank))]
    densities.append(1.0 * (rank > _LAST * pool))
    for last in (1, _TOP * pool):
        top = rank <= max(last, 1)
        densities.append(_AT_TOP * top / width[top].sum() + (1 - _AT_TOP) / width.sum())
    for density in densities:
        upto = np.cumsum(density * width)
        share = np.interp(steps + 1.0, rank, upto / upto[-1])
        yield np.diff(special.betainc(order, relevant + 1 - order, share), prepend=0.0)


# The inequality at every place.


def _places(pool, metric):
    """All places of a pool, or for a large one enough of them to bound what is between."""
    if pool <= _EVERY:
        return np.arange(pool + 1)
    arcs = np.round(pool * np.sin(np.linspace(0, np.pi / 2, _ARCS)) ** 2).astype(np.int64)
    near = (metric.cutoff or 0) + np.arange(-_FIRST // 2, _FIRST // 2)
    found = np.unique(np.concatenate([np.arange(_FIRST), near, arcs]))
    return found[(found >= 0) & (found <= pool)]


def _means(values, reference, replace, places):
    """The mean of scores over the draws, at each place."""
    pool, m = reference.pool, reference.m
    if len(places) > pool and (pool + 1) * (m + 1) <= 2**20:  # and so many are remembered
        return UniformSampling(m, replace).law(pool + 1) @ values
    found = np.empty((len(places), values.shape[1]))
    for some in row_blocks(len(places), m + 1):
        found[some] = law_at(UniformSampling(m, replace), places[some].astype(float), pool) @ values
    return found


def _gaps(values, at_places, term, reference, places, sign):
    """By how much the mean score misses the term, at each place and since the one before."""
    wide = np.diff(places, prepend=-1)
    wanted, mean = sign * term(places)[:, None], sign * at_places
    if (wide == 1).all():
        return wanted - mean
    # Between two places a term that falls is between its ends, and the mean score, which is smooth,
    # near the line between its own: the second difference of a mean over m of N items is m (m - 1)
    # / (N (N - 1)) times the mean of that of the scores, or with replacement less than m^2 / N^2.
    bend = abs(np.diff(values, 2, axis=0)).max(axis=0) if len(values) > 2 else 0.0
    bend = bend * (reference.m / reference.pool) ** 2 / 8
    after = sign * term(np.minimum(np.append(-1, places[:-1]) + 1, places))[:, None]
    lowest = np.minimum(mean, np.vstack([mean[:1], mean[:-1]]))
    between = np.maximum(wanted, after) - lowest + wide[:, None] ** 2 * bend
    return np.where((wide == 1)[:, None], wanted - mean, between)


def _shortfall(gap, places, reference, belief):
    """The largest gap under any population: at a place, or in the head on average up to a place."""
    if belief is None:
        return gap.max(axis=0)
    # The head of the smallest pool: a class that is larger holds those of all pools.
    behind = int(np.ceil(HEAD * (reference.least + 1)))
    head = places < behind
    mass = sums_in_steps(places, reference.pool, np.zeros_like, [], belief)[0][head]
    total = np.cumsum(mass)
    upto = np.cumsum(mass[:, None] * gap[head], axis=0)[total > 0] / total[total > 0, None]
    return np.maximum(upto.max(axis=0, initial=-np.inf), gap[~head].max(axis=0))


# The mixture.


def mixed(
    scores: Scores, often: Floats | Integers, groups: Integers | None = None
) -> tuple[Floats, float]:
    """Scores of instances that all others have chosen, and the largest that there can be.

    Each candidate has the weight exp(-x), where x is by how much its limit is above the least one,
    in thirds of a standard error (exponential weights: V. Vovk, "Aggregating Strategies", COLT
    1990). The limit is mean + reach * deviation / sqrt(n) and one more score at the end, as
    Gaffke's count it. For each instance it is that of all others, or of all other groups.
    """
    value, which = scores.value, np.arange(len(scores.value)) if groups is None else groups
    # Of a group all that counts is its sum, less as many means as it has rows.
    mean = often @ value / often.sum()
    off = np.stack([summed(which, x, int(which.max()) + 1) for x in (value - mean).T], axis=1)
    weight = often if groups is None else np.ones(len(off))
    n, others = weight.sum(), max(weight.sum() - 1, 1)
    if groups is None:
        moved = off / others
        squares = weight @ off**2 - off * moved * n
    else:  # without a group the mean is another, and so are all sums by the number of their rows
        rows = summed(which, np.ones(len(which)), len(off))[:, None]
        left = np.maximum(len(which) - rows, 1)
        moved = off / left
        tied = (rows * off).sum(axis=0) - rows * off
        squares = (off**2).sum(axis=0) - off**2 + 2 * moved * tied
        squares = (squares + moved**2 * ((rows**2).sum() - rows**2)) * (others / left) ** 2
    each = _preferred(mean - moved, np.maximum(squares / others, 0.0), scores.most, n)
    of_each = (each[which] * value).sum(axis=1)
    return of_each, float(max((each @ scores.most).max(), of_each.max()))


def chosen_by(scores: Scores, some: Integers) -> tuple[Floats, float]:
    """The scores of all other instances, whose mixture some of them have chosen, and their end."""
    value = scores.value[some]
    mean, variance = value.mean(axis=0), value.var(axis=0)
    left = np.ones(len(scores.value), bool)
    left[some] = False
    (weights,) = _preferred(mean[None], variance[None], scores.most, left.sum())
    return scores.value[left] @ weights, float(scores.most @ weights)


def _preferred(mean, variance, most, n):
    """The weights of the candidates, for each row of means and variances of what chooses them."""
    error = np.sqrt(variance / n)
    limits = mean * (1 - 1 / n) + _REACH * error + most / n
    best = limits.argmin(axis=1)[:, None]
    least, unit = (np.take_along_axis(x, best, axis=1) for x in (limits, error))
    weights = np.exp(_SHARP * np.maximum((least - limits) / (unit + 1e-12), -1e3))
    return weights / weights.sum(axis=1, keepdims=True)
