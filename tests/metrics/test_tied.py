"""Metrics of tied ranks, against the mean over all orders of the ties."""

import warnings
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import fsum

import numpy as np
import pytest
from all_metrics import ALL, CUT_OFF

import recsample as rs
from recsample.metrics.shapes import Geometric, Logarithmic, Reciprocal, Shape
from recsample.ranks import ties

MORE = [rs.AP(over="hits") @ 9, rs.AP(over="k") @ 2, rs.RBP(0.999), rs.RankScore(1e-7), rs.F1 @ 6]


def random_groups(rng, most=7):
    """Groups of items with one score, from the top: how many are relevant, and irrelevant."""
    while True:
        groups = rng.integers(0, [4, 5], (rng.integers(1, 5), 2)).tolist()
        if any(g for g, _ in groups) and any(t for _, t in groups) and sum(map(sum, groups)) > 1:
            return groups


def ranks_of(groups):
    """The ranks of the relevant items of one instance, with their ties."""
    rank, tied, place = [], [], 1
    for g, t in groups:
        rank += range(place, place + g)
        tied += [t] * g
        place += g + t
    return rank, tied, place - 1


def orders(groups):
    """The ranks of the relevant items in all orders of the ties, each as likely."""
    each, place = [], 1
    for g, t in groups:
        each.append(list(combinations(range(place, place + g + t), g)))
        place += g + t
    return [sum(ranks, ()) for ranks in product(*each)]


@pytest.mark.parametrize("seed", range(30))
def test_every_metric_is_the_mean_over_all_orders(seed):
    groups = random_groups(np.random.default_rng(seed))
    rank, tied, n_items = ranks_of(groups)
    ranks, every = rs.Ranks([rank], n_items, ties=[tied]), rs.Ranks(orders(groups), n_items)
    for metric in ALL + MORE + [M @ k for M in CUT_OFF for k in (1, 2, 7)]:
        wanted = fsum(metric(every)) / len(every)
        assert metric(ranks)[0] == pytest.approx(wanted, rel=2e-14, abs=0), metric


def chances(first, group, tied):
    """The chance of each rank of the best of a group, as fractions."""
    chance = [Fraction(group, group + tied)]
    for x in range(1, tied + 1):
        chance.append(chance[-1] * (tied - x + 1) / (tied + group - x))
    return list(enumerate(chance, first))


# Lists of some items with all others tied behind them, all items tied, and few at a late place.
GROUPS = [(101, 3, 900), (101, 20, 400), (101, 300, 200), (1, 2, 999), (1, 60, 600), (2, 1, 1200)]
GROUPS += [(900, 30, 300), (5000, 5, 40), (10**7, 2, 3), (10**7, 40, 1), (80, 3, 5)]


@pytest.mark.parametrize(("first", "group", "tied"), GROUPS)
def test_large_groups_keep_their_digits(first, group, tied):
    n_items = first + group + tied + 5
    ranks = rs.Ranks([range(first, first + group)], n_items, ties=tied)
    places, n = range(first, first + group + tied), group + tied
    best, p = chances(first, group, tied), 1 - 0.5 / first
    wanted = {
        "RR": sum(chance / r for r, chance in best),
        "AP": sum((1 + Fraction((r - first) * (group - 1), n - 1)) / r for r in places) / n,
        "DCG": Fraction(fsum(1 / np.log2(r + 1) for r in places)) * group / n,
        f"Recall@{first + 2}": Fraction(min(3, n), n),
        f"HitRate@{first + 2}": sum(chance for _, chance in best[:3]),
        f"RR@{first + 50}": sum(chance / r for r, chance in best[:51]),
        f"RBP({p})": Fraction(fsum(p ** (r - 1) for r in places)) * (1 - Fraction(p)) * group / n,
    }
    for name, value in wanted.items():
        assert rs.metric(name)(ranks)[0] == pytest.approx(float(value), rel=1e-12, abs=0), name


@pytest.mark.parametrize("metric", [one for one in ALL if type(one.form) is not Shape], ids=str)
def test_a_trillion_ties_cost_no_more_than_a_few(metric):
    """All metrics but those of all places are proportional to the few places that count."""
    n = 10**12
    values = [metric(rs.Ranks([[1, 2, 3]], size, ties=size - 3))[0] for size in (n, 2 * n)]
    if metric in (rs.AUC, rs.PercentileRank):
        assert values == pytest.approx([0.5, 0.5], rel=1e-12)
    elif metric.cutoff or metric.needs_cutoff or metric == rs.RPrecision:
        assert values[0] == pytest.approx(2 * values[1], rel=1e-11)
    else:
        assert 1 < values[0] / values[1] < 2.0001


def test_the_mean_over_a_trillion_places():
    n, gamma = 10**12, 0.5772156649015329
    constant = rs.Ranks([1], n, ties=n - 1)
    assert rs.RR(constant)[0] == pytest.approx((np.log(n) + gamma) / n, rel=1e-13, abs=0)
    three = rs.Ranks([[1, 2, 3]], n, ties=n - 3)
    # The best of three uniform places has the density 3 (1 - u)^2.
    assert rs.RR(three)[0] == pytest.approx(3 * (np.log(n) + gamma - 1.5) / n, rel=1e-10, abs=0)


@dataclass(frozen=True, repr=False)
class Own(rs.metrics.Metric):
    """A number for each order times a number for each rank."""

    of_order: tuple
    form: object = Reciprocal()
    cutoff: int | None = None

    @property
    def name(self):
        return "Own"

    def term(self, rank, order, n_relevant, n_items):
        factor = np.array(self.of_order, float)[np.minimum(order, len(self.of_order)) - 1]
        weight = {Reciprocal: 1 / rank, Geometric: 0.5**rank, Logarithmic: 1 / np.log(rank + 1)}
        return self.within(rank) * factor * weight.get(type(self.form), 1 / rank**2)


OF_ORDER = [(3, 1, 1, 1), (1, 2, 3, 4), (5, 1, 2, 3), (1, 1, 5, 1), (1, -1, 1, -1), (0, 0, 0, 1)]


@pytest.mark.parametrize("cutoff", [None, 1, 4, 9])
@pytest.mark.parametrize("form", [Reciprocal(), Geometric(0.5), Logarithmic(), Shape()])
@pytest.mark.parametrize("of_order", OF_ORDER)
def test_own_metrics_may_depend_on_the_order_in_any_way(of_order, form, cutoff):
    metric = Own(of_order, form, cutoff)
    for groups in ([[1, 2], [4, 3]], [[3, 1]], [[0, 2], [1, 3], [2, 2]], [[4, 4], [0, 3]]):
        rank, tied, n_items = ranks_of(groups)
        wanted = fsum(metric(rs.Ranks(orders(groups), n_items))) / len(orders(groups))
        found = metric(rs.Ranks([rank], n_items, ties=[tied]))[0]
        assert found == pytest.approx(wanted, rel=1e-13)


def test_instances_do_not_depend_on_each_other():
    rng = np.random.default_rng(5)
    rows = [ranks_of(random_groups(rng)) for _ in range(30)]
    rows += [([1, 2, 3], [5000] * 3, 5003), ([7], [90_000], 90_007), ([9], [0], 40)]
    rank, tied, n_items = zip(*rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for metric in [*ALL, Own((1, 1, 5, 1)), Own((1, 2), Shape(), 4)]:
            alone = [metric(rs.Ranks([r], n, ties=[t]))[0] for r, t, n in rows]
            found = metric(rs.Ranks(rank, n_items, ties=tied))
            assert found == pytest.approx(alone, rel=1e-13, nan_ok=True), metric


@pytest.mark.parametrize("weight", [lambda r: 1 / r, lambda r: 1 / np.log2(r + 1)])
def test_sums_over_places_lose_no_digit(weight):
    rng = np.random.default_rng(0)
    first, number = (10 ** rng.uniform(0, end, 200) for end in (7, 4))
    first, number = first.astype(np.int64), number.astype(np.int64)
    sums, of_places = ties.sums_over(weight, first, number)
    for f, n, s, p in zip(first, number, sums, of_places):
        values = weight(np.arange(float(f), f + n))
        assert s == pytest.approx(fsum(values), rel=1e-13, abs=0)
        assert p == pytest.approx(fsum(np.arange(n) * values), rel=2e-11, abs=0)


def test_more_ties_than_the_memory_holds():
    with pytest.raises(ValueError, match="the average over 1000000000000 places .* GiB"):
        Own((1, 2), Shape())(rs.Ranks([1], 10**12, ties=10**12 - 1))
