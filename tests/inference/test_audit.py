"""An audit: all audits of a tiny population, limits against exact ones, coverage by simulation."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from recsample import AP, AUC, Ranks, Recall, UniformSampling, datasets, inference
from recsample._support.numerics import gaffke_reach
from recsample.inference.audit import Audit, _with_more_spread, audited_mean, exact_ranks
from recsample.metrics.base import ends_of

UNIT = np.zeros(7), np.ones(7), (0, 1)


def tiny():
    """Seven users: what is exact, and two numbers that predict it more or less."""
    rng = np.random.default_rng(0)
    exact = rng.random(7)
    return exact, np.column_stack([exact + rng.normal(0, 0.3, 7), rng.random(7) > 0.5])


def seen(values, users):
    known = np.full(len(values), np.nan)
    known[list(users)] = values[list(users)]
    return known


# The estimate has no bias


@pytest.mark.parametrize("audited", [2, 3, 6])
def test_over_all_random_audits_the_estimate_is_the_mean(audited):
    exact, features = tiny()
    audits = [
        audited_mean(seen(exact, users), features, *UNIT)
        for users in combinations(range(7), audited)
    ]
    assert np.mean([one.value for one in audits]) == pytest.approx(exact.mean(), abs=1e-12)


def test_over_all_audits_with_stated_chances_the_estimate_is_the_mean():
    exact, features = tiny()
    chances, mean = np.linspace(0.3, 0.9, 7), 0.0
    for chosen in product([False, True], repeat=7):
        probability = np.where(chosen, chances, 1 - chances).prod()
        if any(chosen):  # nobody: nothing is known, and the estimate 0
            users = np.flatnonzero(chosen)
            mean += probability * audited_mean(seen(exact, users), features, *UNIT, chances).value
    assert mean == pytest.approx(exact.mean(), abs=1e-12)


def test_an_audit_of_everybody_is_exact():
    exact, features = tiny()
    found = audited_mean(exact, features, *UNIT)
    assert found[:3] == pytest.approx([exact.mean()] * 3)
    assert found.low_for_others < exact.mean() < found.high_for_others


# Limits


@pytest.mark.parametrize(("users", "hits"), [(100, 0), (100, 1), (100, 7), (300, 299), (30, 15)])
def test_limits_of_hits_are_those_of_clopper_and_pearson(users, hits):
    down, up = gaffke_reach(1.0 * (np.arange(users) < hits), 0.0, 1.0)
    exact = stats.binomtest(hits, users).proportion_ci(0.95, "exact")
    assert (hits / users - down, hits / users + up) == pytest.approx(
        tuple(exact), rel=5e-3, abs=2e-5
    )


def test_limits_are_quantiles_of_a_mean_with_random_weights():
    rng = np.random.default_rng(1)
    values = rng.beta(0.3, 2, 60)
    weights = rng.dirichlet(np.ones(61), 100_000)
    low = np.quantile(weights @ np.append(values, 0), 0.025)
    high = np.quantile(weights @ np.append(values, 1), 0.975)
    down, up = gaffke_reach(values, 0.0, 1.0)
    assert down == pytest.approx(values.mean() - low, rel=0.04)
    assert up == pytest.approx(high - values.mean(), rel=0.04)


def test_limits_have_a_width_where_no_audited_user_is_a_hit():
    for users in (2, 100, 999):
        nothing = seen(np.zeros(1000), range(users))
        found = audited_mean(nothing, np.zeros((1000, 1)), np.zeros(1000), np.ones(1000), (0, 1))
        assert found.value == found.low == 0 < found.high <= found.high_for_others


def rank_is_1_for_one_in_a_hundred(rng):
    return Ranks(np.where(rng.random(1000) < 0.01, 1, 500), 1000)


def flat(rng):
    return Ranks(rng.integers(1, 61, 1000), 1000)


def falling(rng, n=500):
    chances = 1 / np.arange(1, 1001) ** 0.9
    return Ranks(1 + rng.choice(1000, n, p=chances / chances.sum()), 1000)


@pytest.mark.parametrize("metric", [Recall @ 10, AP, AUC], ids=str)
@pytest.mark.parametrize("number", [5, 10, 20])
def test_limits_of_few_users_are_hardly_wider_than_those_of_these_users_alone(metric, number):
    rng, widths = np.random.default_rng(9), []
    for _ in range(25):
        ranks = falling(rng)
        users = rng.choice(len(ranks), number, replace=False)
        sampled = UniformSampling(100).draw(ranks, rng)
        found = Audit(sampled, ranks[users], users, ranks.sizes, replace=False).mean(metric)
        alone = sum(gaffke_reach(metric(ranks[users]), *ends_of(metric, ranks)))
        widths.append((found.high - found.low, alone * np.sqrt(1 - number / len(ranks))))
    ours, alone = np.mean(widths, axis=0)
    assert ours < 1.05 * alone


def test_users_of_whom_nothing_is_predicted_have_the_limits_of_a_mean():
    """Features that are the same for all say nothing."""
    rng = np.random.default_rng(10)
    values, ends = rng.random(400) < 0.3, (np.zeros(400), np.ones(400), (0, 1))
    users = rng.choice(400, 12, replace=False)
    found = audited_mean(seen(1.0 * values, users), np.ones((400, 2)), *ends)
    mean, reach = values[users].mean(), np.array(gaffke_reach(1.0 * values[users], 0, 1))
    wanted = mean + np.sqrt(1 - 12 / 400) * np.array([-1, 1]) * reach
    assert found[:3] == pytest.approx((mean, *wanted))


@pytest.mark.thorough
@pytest.mark.parametrize("metric", [Recall @ 10, AP, AUC], ids=str)
@pytest.mark.parametrize("number", [5, 10, 20])
@pytest.mark.parametrize("exponent", [1, 0.5])
def test_limits_of_few_users_hold_whatever_the_draws_were(exponent, number, metric):
    rng, held, runs = np.random.default_rng(11), 0, 150
    for _ in range(runs):
        ranks = falling(rng, 300)
        above = ranks.values - 1
        count = np.minimum(rng.binomial(50, (above / 999) ** exponent), above)
        users = rng.choice(300, number, replace=False)
        sampled = Ranks(1 + count, 51)
        found = Audit(sampled, ranks[users], users, ranks.sizes, replace=False).mean(metric)
        held += found.low <= metric(ranks).mean() <= found.high
    assert held / runs > 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.thorough
@pytest.mark.parametrize("metric", [Recall @ 1, Recall @ 10, AP], ids=str)
@pytest.mark.parametrize("population", [rank_is_1_for_one_in_a_hundred, flat])
def test_limits_hold_with_a_hundred_users_whatever_the_draws_were(population, metric):
    rng, held, runs = np.random.default_rng(2), 0, 150
    for _ in range(runs):
        ranks = population(rng)
        # Popular items are drawn, so that the sampled ranks are far too bad.
        worst = 1 + np.minimum(
            rng.binomial(20, ((ranks.values - 1) / 999) ** 0.4), ranks.values - 1
        )
        users = rng.choice(1000, 100, replace=False)
        audit = Audit(Ranks(worst, 21), ranks[users], users, ranks.sizes, replace=False)
        found = audit.mean(metric)
        held += found.low <= metric(ranks).mean() <= found.high
    assert held / runs > 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)


def test_others_are_users_of_the_same_population():
    rng, held, runs = np.random.default_rng(3), 0, 50
    for _ in range(runs):
        ranks = flat(rng)[:200]
        sampled = UniformSampling(20).draw(ranks, rng)
        users = rng.choice(200, 150, replace=False)
        audit = Audit(sampled, ranks[users], users, ranks.sizes, replace=False)
        found = audit.mean(Recall @ 10)
        held += found.low_for_others <= 1 / 6 <= found.high_for_others
    assert held / runs > 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)


def test_others_differ_as_all_users_do_however_unequal_the_chances_were():
    """Of hits that are known beforehand, and audited far more often: a binomial share of others."""
    rng, n_users = np.random.default_rng(0), 6_000
    hit = rng.random(n_users) < 0.1
    chances = np.where(hit, 0.5, 0.1)
    audited = np.flatnonzero(rng.random(n_users) < chances)
    features, ends = hit[:, None] * 1.0, (np.zeros(n_users), np.ones(n_users), (0, 1))
    found = audited_mean(seen(hit * 1.0, audited), features, *ends, chances)
    of_binomial = 2 * 1.96 * stats.binom.std(n_users, 0.1) / n_users
    own = found.high - found.low
    for_others = np.sqrt((found.high_for_others - found.low_for_others) ** 2 - own**2)
    assert for_others == pytest.approx(of_binomial, rel=0.1) and own < of_binomial / 2


def test_others_can_be_hits_where_nobody_of_the_column_can():
    sampled, exact = Ranks([2] * 300, 11), Ranks([200] * 300, 1000)
    found = Audit(sampled, exact, np.arange(300), exact.sizes, False).mean(Recall @ 1)
    assert found[:3] == (0, 0, 0) and found.low_for_others == 0
    of_hits = stats.binomtest(0, 300).proportion_ci(0.95, "exact").high
    assert found.high_for_others == pytest.approx(of_hits, rel=0.01)


def test_a_choice_by_sampled_rank_needs_its_chances():
    rng, x = np.random.default_rng(4), datasets.recorded_ranks()["X"].break_ties("random", 0)
    exact = (Recall @ 10)(x).mean()
    found = {"stated": [], "kept": []}
    for _ in range(15):
        sampled = UniformSampling(100).draw(x, rng)
        # Not only by the sampled rank, which the regression would set right by itself.
        chances = np.where((sampled.values == 1) & (x.values > 10), 0.3, 0.06)
        users = np.flatnonzero(rng.random(len(x)) < chances)
        for known, stated in (("stated", chances), ("kept", None)):
            audit = Audit(sampled, x[users], users, x.sizes, False, stated)
            found[known].append(audit.mean(Recall @ 10).value)
    error = np.std(found["stated"]) / np.sqrt(15)
    assert abs(np.mean(found["stated"]) - exact) < 4 * error
    assert abs(np.mean(found["kept"]) - exact) > 20 * error


def test_a_difference_of_two_recommenders_is_known_better_than_each():
    rng, recorded = np.random.default_rng(5), datasets.recorded_ranks()
    x, z = (recorded[name].break_ties("random", 0) for name in "XZ")
    z = Ranks(np.minimum(np.where(rng.random(len(x)) < 0.9, x.values, z.values), x.sizes), x.sizes)
    exact, held, narrower = (Recall @ 10)(x).mean() - (Recall @ 10)(z).mean(), 0, 0
    for _ in range(15):
        users = rng.choice(len(x), 300, replace=False)
        of_x, of_z = (
            Audit(UniformSampling(100).draw(one, rng), one[users], users, x.sizes, False)
            for one in (x, z)
        )
        found, alone = of_x.difference(of_z, Recall @ 10, 0.95), of_x.mean(Recall @ 10)
        held += found.low <= exact <= found.high
        narrower += found.high - found.low < alone.high - alone.low
    assert held >= 12
    assert narrower >= 14


def test_several_relevant_items():
    several = datasets.recorded_several()["X"][:800]
    rng, held = np.random.default_rng(6), 0
    for _ in range(15):
        sampled = UniformSampling(100).draw(several, rng)
        users = rng.choice(800, 100, replace=False)
        found = Audit(sampled, several[users], users, several.sizes, False).mean(AP)
        held += found.low <= AP(several).mean() <= found.high
    assert held >= 12


# What is given


SAMPLED = Ranks([1, 3, 2, 6], 6, ids=["a", "b", "c", "d"])  # m = 5 of 49
SIZES = np.full(4, 50)


def test_exact_ranks_come_as_an_array_by_name_or_with_places():
    pd = pytest.importorskip("pandas")
    wanted = [1, 3], Ranks([20, 9], 50)
    for given, sampled in (
        ([np.nan, 20, np.nan, 9], [1, 3, 2, 6]),
        (([3, 1], Ranks([9, 20], 50)), [1, 3, 2, 6]),
        (pd.Series({"d": 9, "b": 20, "a": np.nan}), None),
    ):
        sampled = SAMPLED if sampled is None else Ranks(sampled, 6)
        users, ranks = exact_ranks(given, sampled, SIZES, False)
        assert users.tolist() == wanted[0]
        assert ranks == wanted[1]


@pytest.mark.parametrize(
    ("given", "replace", "what"),
    [
        ([9, 2, np.nan, np.nan], False, "allows 3 to 47 among all, got 2 in instance 1"),
        ([46, 20, np.nan, np.nan], False, "allows 1 to 45 among all, got 46 in instance 0"),
        ([9, 1, np.nan, np.nan], True, "allows 2 to 49 among all, got 1 in instance 1"),
        ([9, 51, np.nan, np.nan], False, "values must not exceed n_items, got rank 51"),
        ([9, np.nan, np.nan, np.nan], False, "at least two instances, each named once, got .0."),
        ([9, 9], False, "a rank or NaN for each of the 4 instances"),
        (([0, 4], Ranks([9, 9], 50)), False, "of instances below 4, got 4"),
        (([1, 1], Ranks([9, 9], 50)), False, "each named once, got .1, 1."),
        (([0, 1], Ranks([9, 9], 40)), False, "the n_items of sampled, 50 in instance 0, got 40"),
        (([0, 1], Ranks([[8, 9], [9]], 50)), False, "the relevant items of sampled, 1 in insta"),
    ],
)
def test_what_cannot_be_is_refused(given, replace, what):
    with pytest.raises(ValueError, match=what):
        exact_ranks(given, SAMPLED, SIZES, replace)


def test_with_replacement_all_draws_may_have_been_one_item():
    """So the ranks that are possible are 1 if none is above, n if all are, 2 to n - 1 otherwise."""
    sampled, sizes = Ranks([1, 11, 10, 2], 11), np.full(4, 100)
    for possible in ([1, 100, 99, 99], [99, 2, 2, 2]):
        assert exact_ranks(possible, sampled, sizes, True)[1].values.tolist() == possible
    for impossible in ([100, 50, 50, 50], [50, 1, 50, 50], [50, 50, 100, 50], [50, 50, 50, 1]):
        with pytest.raises(ValueError, match="ranks that are possible beside sampled"):
            exact_ranks(impossible, sampled, sizes, True)


def test_a_name_that_is_not_in_the_column_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="exact must name instances of sampled, got 'e'"):
        exact_ranks(pd.Series({"a": 9, "e": 20}), SAMPLED, SIZES, False)


# Plans


@pytest.mark.thorough
def test_a_plan_is_enough():
    rng, x = np.random.default_rng(7), datasets.recorded_ranks()["X"]
    enough = []
    for _ in range(20):
        sampled = UniformSampling(100).draw(x, rng)
        first = rng.choice(len(x), 100, replace=False)
        plan = inference.plan_audit(
            Recall @ 10, 0.06, sampled, x.n_items, rng, exact=(first, x[first])
        )
        assert set(first) <= set(plan.users)
        assert plan.chances == pytest.approx(len(plan.users) / len(x))
        found = Audit(sampled, x[plan.users], plan.users, x.sizes, False).mean(Recall @ 10)
        enough.append(found.high - found.low <= 0.06)
    assert sum(enough) >= 17


def test_a_plan_without_exact_ranks_is_enough_for_the_worst_of_ranks():
    sampled = Ranks([1] * 1000, 11)
    users = inference.plan_audit(Recall @ 1, 0.1, sampled, 1000, rng=0).users
    half = Ranks(np.where(np.arange(1000) % 2, 1, 500), 1000)
    found = Audit(sampled, half[users], users, half.sizes, False).mean(Recall @ 1)
    # As many hits as misses but for chance, which can make it narrower only.
    assert 0.09 < found.high - found.low < 0.102


@pytest.mark.parametrize("width", [0.02, 0.3, 0.9])
def test_the_first_users_are_the_fewest_that_could_be_enough(width):
    """Nobody is a hit: then limits are as close as they can be."""
    plan = inference.plan_audit(Recall @ 1, width, Ranks([1] * 20_000, 11), 1000, rng=0)

    def wide(users):
        return stats.binomtest(0, users).proportion_ci(0.95, "exact").high

    assert wide(plan.first) <= width < wide(plan.first - 1)


def test_the_first_users_are_a_random_choice():
    sampled, often = Ranks([1] * 12, 11), np.zeros(12)
    for seed in range(80):
        plan = inference.plan_audit(Recall @ 1, 0.5, sampled, 1000, rng=seed)
        often[plan.users[: plan.first]] += 1
    assert plan.first < len(plan.users) < 12
    assert stats.chisquare(often).pvalue > 0.001


@pytest.mark.parametrize(("first", "width"), [(20, 0.1), (100, 0.03)])
def test_after_the_first_users_as_many_hits_are_planned_for_as_can_have_been_missed(first, width):
    """Of those first nobody is a hit, as in eight of a hundred studies with so many hits."""
    n_users, ranks = 20_000, Ranks([500] * first, 1000)
    plan = inference.plan_audit(
        Recall @ 1, width, Ranks([1] * n_users, 11), 1000, rng=0, exact=(range(first), ranks)
    )
    missed = 1 - 0.08 ** (1 / first)

    def wide(users):
        hits = missed * (users - first)
        misses = users - hits
        ends = stats.beta.ppf([0.025, 0.975], [hits, hits + 1], [misses + 1, misses])
        return (ends[1] - ends[0]) * np.sqrt(1 - users / n_users)

    assert plan.first == first and plan.users[:first].tolist() == list(range(first))
    assert wide(len(plan.users)) == pytest.approx(width, rel=0.005)


def test_a_plan_adds_nobody_where_the_first_users_are_enough():
    goal = Recall @ 1, 0.2, Ranks([1] * 20_000, 11), 1000
    plan = inference.plan_audit(*goal, rng=0, exact=(range(20), Ranks([500] * 20, 1000)))
    assert stats.binomtest(0, 20).proportion_ci(0.95, "exact").high < 0.2
    assert len(plan.users) == 20


def test_a_plan_of_who_is_all_audited():
    sampled, exact = Ranks([1, 2, 1], 5), Ranks([3, 20, 1], 50)
    plan = inference.plan_audit(AP, 0.1, sampled, 50, rng=0, exact=([0, 1, 2], exact))
    assert plan.users.tolist() == [0, 1, 2]
    assert plan.chances.tolist() == [1, 1, 1]
    plan = inference.plan_audit(AP, 1e-6, sampled, 50, rng=0)
    assert sorted(plan.users.tolist()) == [0, 1, 2]


@pytest.mark.thorough
def test_a_plan_after_few_users_is_enough():
    """Few known values may pass the ends that are possible for the others."""
    rng, n, enough = np.random.default_rng(0), 3541, []
    chances = np.arange(1, n + 1) ** -1.2
    for _ in range(40):
        x = Ranks(1 + rng.choice(n, 1000, p=chances / chances.sum()), n)
        sampled = UniformSampling(20).draw(x, rng)
        plan = inference.plan_audit(AP, 0.37, sampled, n, rng)
        assert plan.first == 8  # 1 - 0.025^(1 / 8) = 0.369
        first = plan.users[: plan.first]
        plan = inference.plan_audit(AP, 0.37, sampled, n, rng, exact=(first, x[first]))
        found = Audit(sampled, x[plan.users], plan.users, x.sizes, False).mean(AP)
        enough.append(found.high - found.low <= 0.37)
    assert np.mean(enough) > 0.85


@pytest.mark.parametrize("hits", [3, 4, 5])
def test_a_plan_allows_for_half_of_all_to_be_hits_but_for_no_more(hits):
    """Of eight known users; hits vary most if half of all are hits."""
    values = np.where(np.arange(8) < hits, 1 - hits / 8, -hits / 8)
    planned, shares = _with_more_spread(values, (-hits / 8, 1 - hits / 8))
    assert shares.sum() == pytest.approx(1)
    assert shares[planned > 0].sum() == pytest.approx(0.5)


def test_a_plan_refuses_what_are_no_ranks_and_no_width():
    with pytest.raises(ValueError, match="sampled must be"):
        inference.plan_audit(AP, 0.1, [1, 2, 1], 50, rng=0)
    with pytest.raises(ValueError, match="width must be a finite number above 0, got 0"):
        inference.plan_audit(AP, 0, SAMPLED, 50, rng=0)
