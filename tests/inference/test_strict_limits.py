"""Limits of a mean: against the program as it is written, and over populations of their own."""

import numpy as np
import pytest
from scipy import optimize, stats
from thorough import thorough

import recsample as rs
from recsample._support.numerics import limits_of_mean
from recsample.inference import limits

METRICS = [rs.Recall @ 3, rs.NDCG @ 5, rs.AP]


def drawn(chances, size, m, seed, replace=False):
    """Exact ranks from a distribution, and ranks among the drawn items."""
    rng = np.random.default_rng(seed)
    n = len(chances)
    ranks = rs.Ranks(rng.choice(np.arange(1, n + 1), size, p=chances), n)
    return ranks, rs.UniformSampling(m, replace).draw(ranks, rng)


def power(n, exponent):
    chances = np.arange(1.0, n + 1) ** -exponent
    return chances / chances.sum()


def by_slsqp(metric, sampled, n, falling):
    """The definition over all distributions of n ranks, for a general solver: both limits."""
    m = int(sampled.n_irrelevant[0])
    law = stats.hypergeom.pmf(np.arange(m + 1)[:, None], n - 1, np.arange(n), m)
    counts = np.bincount(sampled.values.astype(int) - 1, minlength=m + 1)
    seen = counts > 0
    law, counts, size = law[seen], counts[seen], len(sampled)
    values = metric.of_rank(np.arange(1, n + 1), n)
    order = np.zeros((falling - 1, n)) if falling else np.zeros((0, n))
    for i in range(len(order)):
        order[i, [i, i + 1]] = 1, -1
    rules = [
        {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        {"type": "ineq", "fun": lambda p: order @ p, "jac": lambda p: order},
    ]

    def minimised(function, start, *more, slope, args=()):
        return optimize.minimize(
            function,
            start,
            args,
            method="SLSQP",
            jac=slope,
            bounds=[(0, 1)] * n,
            constraints=[*rules, *more],
            options={"maxiter": 300, "ftol": 1e-13},
        )

    def loss(p):  # of one distribution, or of each row
        return -(np.log(np.maximum(p @ law.T, 1e-12)) @ counts)

    def slope_of_loss(p):
        return -(counts / np.maximum(law @ p, 1e-12)) @ law

    starts = np.full(n, 1 / n), power(n, 1), power(n, 2)
    best = min(minimised(loss, start, slope=slope_of_loss).fun for start in starts[:2])
    distance = stats.chi2.ppf(0.95, 1)

    def left(p):
        return distance - 2 * (loss(p) - best)

    def of_a_member(p, sign):
        return -sign * (values @ p)

    def of_its_instances(p, sign):
        given = law * p[..., None, :] / np.maximum(p @ law.T, 1e-12)[..., None]
        mean = given @ values
        noise = np.maximum(given @ values**2 - mean**2, 0.0) @ counts / size**2
        return -(sign * mean @ counts / size + np.sqrt(np.maximum(left(p), 0.0) * noise))

    def slope_of_its_instances(p, sign):
        moved = of_its_instances(p + 1.5e-8 * np.eye(n), sign)
        return (moved - of_its_instances(p, sign)) / 1.5e-8

    near = {"type": "ineq", "fun": left, "jac": lambda p: -2 * slope_of_loss(p)}
    extremes = []
    for sign in (-1, 1):
        found = []
        for function, slope in (
            (of_a_member, lambda p, sign: -sign * values),
            (of_its_instances, slope_of_its_instances),
        ):
            for start in starts:
                one = minimised(function, start, near, slope=slope, args=(sign,))
                if left(one.x) > -1e-5:
                    found.append(-one.fun)
        extremes.append(sign * max(found))
    return extremes


@pytest.mark.parametrize(("assumption", "falling"), [("none", 0), ("decreasing", 3)])
@pytest.mark.parametrize(
    ("metric", "exponent"), [(METRICS[0], 0.5), (METRICS[1], 1.2), thorough(METRICS[2], 0.5)]
)
def test_limits_by_the_program_as_it_is_written(metric, assumption, falling, exponent):
    n = 11
    _, sampled = drawn(power(n, exponent), 400, 3, seed=5)
    found = limits(metric, sampled, n, assumption=assumption)
    wanted = by_slsqp(metric, sampled, n, falling)
    width = found.high - found.low
    assert (found.low, found.high) == pytest.approx(wanted, abs=0.02 * width + 1e-4)


def share_held(chances, m, size, assumption, metric, runs, **options):
    held = 0
    for seed in range(runs):
        ranks, sampled = drawn(chances, size, m, seed, **options)
        found = limits(metric, sampled, len(chances), assumption=assumption, **options)
        held += found.low - 1e-9 <= metric(ranks).mean() <= found.high + 1e-9
    return held / runs


def at_least(share, runs):
    """So few would hold in one of a thousand studies if the share were true."""
    return stats.binom.ppf(0.001, runs, share) / runs


CASES = [
    (power(300, 0.9), "smooth"),
    (power(300, 0.4), "decreasing"),
    (np.full(300, 1 / 300), "decreasing"),
    (np.repeat([10.0, 4, 1], [6, 24, 270]) / (60 + 96 + 270), "decreasing"),
    (np.where(np.arange(300) == 20, 0.25, 0.75 / 299), "none"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("chances", "assumption"), CASES)
def test_limits_hold_as_often_as_they_say(chances, assumption):
    held = share_held(chances, 20, 500, assumption, rs.Recall @ 10, 25)
    assert held >= at_least(0.95, 25)


@pytest.mark.parametrize("n_items", [12, [11, 13] * 200])
def test_limits_hold_where_more_is_drawn_with_replacement_than_there_is(n_items):
    rng = np.random.default_rng(0)
    ranks = rs.Ranks(rng.integers(1, 12, 400), n_items)
    sampled = rs.UniformSampling(40, replace=True).draw(ranks, rng)
    metric = rs.Recall @ 3
    found = limits(metric, sampled, n_items, replace=True)
    assert found.low < metric(ranks).mean() < found.high < found.low + 0.15
    with pytest.raises(ValueError, match="n_items must be at least 41"):
        limits(metric, sampled, n_items)


def test_limits_where_everything_was_ranked_in_pools_of_about_the_same_size():
    rng, sizes = np.random.default_rng(0), np.tile([100, 104], 150)
    ranks, metric = rs.Ranks(rng.integers(1, 60, 300), sizes), rs.Recall @ 10
    found, mean = limits(metric, ranks, sizes), metric(ranks).mean()
    assert found.low < mean < found.high


def several(n_users, n_relevant, rng, pool=200):
    """Users whose items are good or bad together, so that items are no independent units."""
    rows = []
    for taste in rng.random(n_users) ** 2:
        places = 1 + np.floor((pool + n_relevant) * rng.random(4 * n_relevant) ** (1 + 4 * taste))
        rows.append(np.unique(places.astype(int))[:n_relevant])
    return rs.Ranks([row.tolist() for row in rows if len(row)], pool + n_relevant)


@pytest.mark.thorough
def test_limits_take_users_and_not_items_as_the_unit():
    held, runs = 0, 8
    metric = rs.Recall @ 10
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        ranks = several(300, 6, rng)
        sampled = rs.UniformSampling(20).draw(ranks, rng)
        found = limits(metric, sampled, ranks.n_items, assumption="none")
        held += found.low <= metric(ranks).mean() <= found.high
    assert held / runs >= at_least(0.95, runs)


@pytest.mark.thorough
def test_limits_hold_where_pools_differ_and_tell_of_the_rank():
    held, runs = 0, 10
    metric, size = rs.Recall @ 20, 2000
    small = np.arange(size) < size // 2
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        best = np.where(small, rng.integers(1, 21, size), rng.integers(1, 200, size))
        ranks = rs.Ranks(best, np.where(small, 100, 1900))
        sampled = rs.UniformSampling(30).draw(ranks, rng)
        found = limits(metric, sampled, ranks.n_items)
        held += found.low <= metric(ranks).mean() <= found.high
    assert held / runs >= at_least(0.95, runs)


def test_a_stronger_assumption_has_closer_limits():
    _, sampled = drawn(power(400, 0.9), 1000, 20, seed=1)
    none, falling, smooth = (
        limits(rs.AP, sampled, 400, assumption=a) for a in ("none", "decreasing", "smooth")
    )
    assert none.low <= falling.low <= smooth.low < smooth.high <= falling.high <= none.high


def test_more_confidence_has_wider_limits():
    _, sampled = drawn(power(400, 0.9), 1000, 20, seed=1)
    wide, usual, close = (limits(rs.AP, sampled, 400, level=x) for x in (0.99, 0.95, 0.5))
    assert wide.low < usual.low < close.low < close.high < usual.high < wide.high


def test_limits_close_in_with_more_instances_and_with_more_samples():
    widths = []
    for size, m in ((300, 20), (10_000, 20), (10_000, 200)):
        _, sampled = drawn(power(400, 0.9), size, m, seed=2)
        found = limits(rs.Recall @ 10, sampled, 400)
        widths.append(found.high - found.low)
    assert widths[0] > 1.5 * widths[1] > 3 * widths[2]


def test_where_everything_was_ranked_only_the_instances_are_left_to_chance():
    ranks, sampled = drawn(power(50, 0.8), 2000, 49, seed=3)
    metric = rs.Recall @ 5
    found = limits(metric, sampled, 50, assumption="none")
    share = metric(ranks).mean()
    # Of a binomial share, the limits of the likelihood ratio.
    reach = 1.96 * np.sqrt(share * (1 - share) / 2000)
    assert found.low == pytest.approx(share - reach, abs=0.1 * reach)
    assert found.high == pytest.approx(share + reach, abs=0.1 * reach)


def test_a_linear_metric_has_the_limits_of_a_mean():
    _, sampled = drawn(power(400, 0.9), 300, 20, seed=4)
    found = limits(rs.AUC, sampled, 400)
    values = rs.AUC(sampled)
    wanted = values.mean(), *limits_of_mean(values, 0.95, ends=(0.0, 1.0))
    assert found == pytest.approx(wanted, abs=1e-4)


def test_limits_are_nan_where_the_data_contradict_the_assumption():
    hump = np.zeros(400)
    hump[40:44] = 0.25
    _, sampled = drawn(hump, 3000, 40, seed=0)
    metric = rs.Recall @ 10
    assert np.isnan(limits(metric, sampled, 400).low)
    free = limits(metric, sampled, 400, assumption="none")
    assert free.low <= 0 <= free.high


def test_ranks_that_no_uniform_draws_can_give_are_noticed_without_any_assumption():
    """Reported as ranks among 100; drawn were 20."""
    _, sampled = drawn(power(3000, 0.9), 2000, 20, seed=0)
    claimed = rs.Ranks(sampled.values, 101)
    assert np.isnan(limits(rs.Recall @ 10, claimed, 3000, assumption="none").low)


def test_ties_count_as_if_they_were_broken_at_random():
    rng = np.random.default_rng(1)
    best = 1 + 20 * rng.choice(15, 4000, p=power(15, 0.8))  # all of a score that 20 items have
    ranks = rs.Ranks(best, 300, ties=np.full(4000, 19))
    kinds = np.stack([best - 1, np.full(4000, 19), 300 - best - 19], axis=1)
    drawn = [rng.multivariate_hypergeometric(one, 20) for one in kinds]
    above, level, _ = np.transpose(drawn)
    tied = rs.Ranks(above + 1, 21, ties=level)
    metric = rs.Recall @ 10
    found = limits(metric, tied, 300)
    assert found.low < metric(ranks).mean() < found.high
    broken = [limits(metric, tied.break_ties("random", seed), 300) for seed in range(8)]
    for mine, theirs in zip(found, np.transpose(broken)):
        assert mine == pytest.approx(theirs.mean(), abs=4 * theirs.std(ddof=1) / np.sqrt(8))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assumption": "convex"}, "assumption must be 'none', 'decreasing' or"),
        ({"n_items": 10}, "n_items must be at least 21"),
        ({"n_items": [400, 400]}, "n_items must be one number or one for each of 30"),
        ({"metric": rs.Precision @ 3}, None),
        ({"metric": "AQ"}, "metric must be a Metric"),
        ({"sampled": rs.Ranks([3], 21)}, "at least two instances, got 1"),
        ({"sampled": [1, 2, 3]}, "sampled must be Ranks"),
        ({"level": 1.0}, "level must be"),
        ({"replace": "no"}, "replace must be"),
        (
            {"metric": rs.BiasVariance(rs.AP, rs.UniformSampling(20), 400, gamma=0.1)},
            "metric must be a metric of exact ranks",
        ),
    ],
)
def test_limits_refuse(changes, message):
    _, sampled = drawn(power(400, 0.9), 30, 20, seed=0)
    arguments = {"metric": rs.AP, "sampled": sampled, "n_items": 400} | changes
    if message is None:  # Precision is a sum, too
        assert limits(**arguments).low >= 0
        return
    with pytest.raises(ValueError, match=message):
        limits(**arguments)


@pytest.mark.thorough
@pytest.mark.parametrize("m", [499, 490])
def test_where_nearly_all_items_are_drawn_no_shape_is_assumed(m):
    """A hump at rank 30 is no decreasing distribution, and 300 users hardly refute one."""
    rng, n, off = np.random.default_rng(0), 500, []
    chances = np.exp(-2 * np.log(np.arange(1, n + 1) / 30) ** 2)
    for _ in range(2):
        ranks = rs.Ranks(rng.choice(n, 300, p=chances / chances.sum()) + 1, n)
        sampled = rs.UniformSampling(m).draw(ranks, rng)
        for metric in (rs.Recall @ 10, rs.NDCG @ 10, rs.AP):
            exact, found = metric(ranks).mean(), limits(metric, sampled, n)
            assert found.low - 1e-4 <= exact <= found.high + 1e-4
            assert found == limits(metric, sampled, n, assumption="none")
            off.append(abs(found.value - exact))
    assert max(off) < (1e-4 if m == 499 else 0.01)
