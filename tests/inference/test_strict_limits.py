"""Limits of a mean: against the closest that scores allow, and over populations of their own."""

import numpy as np
import pytest
from scipy import optimize, stats
from thorough import thorough

import recsample as rs
from recsample._support.numerics import limits_of_mean
from recsample.inference import limits
from recsample.inference.likelihood.scores import _preferred, cells_of, scores_of

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


def closest_scores(law, wanted, chances, size, start):
    """The scores H with the least limit for a population, by a general solver.

    `law` are those of what is seen under each extreme population of a class, and `wanted` the mean
    of the metric under these: law @ H must not be less. `chances` are those of what is seen.
    """

    def limit(x):
        mean = chances @ x[:-1]
        error = np.sqrt(chances @ (x[:-1] - mean) ** 2 / size + 1e-14)
        return mean + 1.96 * error + (x[-1] - mean) / size

    rules = [
        {"type": "ineq", "fun": lambda x: law @ x[:-1] - wanted},
        {"type": "ineq", "fun": lambda x: x[-1] - x[:-1]},  # the last one is the largest score
    ]
    options = {"maxiter": 1000, "ftol": 1e-12}
    found = [
        optimize.minimize(
            limit, [*one, one.max()], method="SLSQP", constraints=rules, options=options
        )
        for one in start
    ]
    return min(one.fun for one in found if (law @ one.x[:-1] - wanted).min() > -1e-8)


@pytest.mark.parametrize("sign", [1, -1], ids=["upper", "lower"])
@pytest.mark.parametrize(("assumption", "head"), [("none", 1), ("decreasing", 3)])
@pytest.mark.parametrize("size", [30, thorough(100), 400, thorough(10_000)])
@pytest.mark.parametrize(
    ("metric", "exponent"), [(METRICS[0], 0.5), (METRICS[1], 1.2), (METRICS[2], 1)]
)
def test_limits_are_about_the_closest_that_scores_allow(
    metric, exponent, size, assumption, head, sign
):
    """The distance of the expected limit from the truth is at most 1.05 times the least one."""
    n, m = 11, 3
    chances = power(n, exponent)
    places = stats.hypergeom.pmf(np.arange(m + 1), n - 1, np.arange(n)[:, None], m)
    seen = chances @ places
    # The extreme populations: constant up to a rank of the head, or on one rank of the tail.
    corners = np.vstack([np.tril(np.ones((head, n))), np.eye(n)[head:]])
    corners /= corners.sum(axis=1, keepdims=True)
    values = sign * metric.of_rank(np.arange(1, n + 1), n)
    sampled = rs.Ranks(np.arange(1, m + 2), m + 1)  # all that can be seen
    cells = cells_of(sampled, np.full(m + 1, n), metric)
    value, most = scores_of(metric, cells, sampled, False, assumption, sign, size)
    mean = seen @ value
    (weights,) = _preferred(mean[None], (seen @ (value - mean) ** 2)[None], most, size)
    mixture = value @ weights
    assert (corners @ (places @ mixture - values) > -1e-12).all()
    start = [mixture, value[:, 0], value.mean(axis=1)]
    least = closest_scores(corners @ places, corners @ values, seen, size, start)
    mean = seen @ mixture
    error = np.sqrt(seen @ (mixture - mean) ** 2 / size)
    ours, truth = mean + 1.96 * error + (mixture.max() - mean) / size, values @ chances
    assert 0.999 * (least - truth) <= ours - truth <= 1.05 * (least - truth)


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
    (power(300, 0.9), "decreasing"),
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
    metric, found = rs.Recall @ 3, {}
    for m in (10, 40):
        sampled = rs.UniformSampling(m, replace=True).draw(ranks, rng)
        found[m] = limits(metric, sampled, n_items, replace=True)
        assert found[m].low < metric(ranks).mean() < found[m].high
    assert found[40].high - found[40].low < 0.7 * (found[10].high - found[10].low)
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
        found = limits(metric, sampled, ranks.n_items, assumption="decreasing")
        held += found.low <= metric(ranks).mean() <= found.high
    assert held / runs >= at_least(0.95, runs)


def test_limits_with_an_assumption_are_closer():
    _, sampled = drawn(power(400, 0.9), 1000, 20, seed=1)
    none, falling = (limits(rs.AP, sampled, 400, assumption=a) for a in ("none", "decreasing"))
    assert falling.high - falling.low < 0.9 * (none.high - none.low)
    assert none.value == falling.value


def test_more_confidence_has_wider_limits():
    _, sampled = drawn(power(400, 0.9), 1000, 20, seed=1)
    wide, usual, close = (limits(rs.AP, sampled, 400, level=x) for x in (0.99, 0.95, 0.5))
    assert wide.low < usual.low < close.low < close.high < usual.high < wide.high


def test_limits_close_in_with_more_instances_and_with_more_samples():
    widths = []
    for size, m in ((300, 20), (10_000, 20), (10_000, 200)):
        _, sampled = drawn(power(400, 0.9), size, m, seed=2)
        found = limits(rs.Recall @ 10, sampled, 400, assumption="decreasing")
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
    assert np.isnan(limits(metric, sampled, 400, assumption="decreasing").low)
    free = limits(metric, sampled, 400, assumption="none")
    assert free.low <= 0 <= free.high


def test_ranks_that_no_uniform_draws_can_give_are_noticed_without_any_assumption():
    """Reported as ranks among 100; drawn were 20."""
    _, sampled = drawn(power(3000, 0.9), 2000, 20, seed=0)
    claimed = rs.Ranks(sampled.values, 101)
    assert np.isnan(limits(rs.Recall @ 10, claimed, 3000, assumption="none").low)


def test_ties_have_limits_that_are_no_wider_than_if_they_were_broken_at_random():
    """What a random order adds is left out: a score is the mean over the places."""
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
    widths = np.array([one.high - one.low for one in broken])
    assert found.high - found.low < widths.mean() + 4 * widths.std(ddof=1) / np.sqrt(8)
    values = np.array([one.value for one in broken])
    assert found.value == pytest.approx(values.mean(), abs=4 * values.std(ddof=1) / np.sqrt(8))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assumption": "convex"}, "assumption must be 'none' or 'decreasing'"),
        ({"n_items": 10}, "n_items must be at least 21"),
        ({"n_items": [400, 400]}, "n_items must be one number or one for each of 30"),
        ({"metric": rs.Precision @ 3}, None),
        ({"metric": "AQ"}, "metric must be a Metric"),
        ({"sampled": rs.Ranks([3], 21)}, "at least two instances, got 1"),
        ({"sampled": [1, 2, 3]}, "sampled must be Ranks"),
        ({"level": 1.0}, "level must be"),
        ({"grade": "sure"}, "grade must be 'measured', 'conjectured' or 'proved'"),
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
            exact = metric(ranks).mean()
            found = limits(metric, sampled, n, assumption="decreasing")
            assert found.low - 1e-4 <= exact <= found.high + 1e-4
            assert found == limits(metric, sampled, n, assumption="none")
            off.append(abs(found.value - exact))
    assert max(off) < (1e-4 if m == 499 else 0.01)
