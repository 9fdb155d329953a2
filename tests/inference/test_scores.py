"""Scores that bound a metric: the inequality by enumeration, the mixture by fitting it again."""

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from reference import exact_law
from scipy import stats
from thorough import thorough

import recsample as rs
from recsample.inference.likelihood import scores as module
from recsample.inference.likelihood.sampled_run import SampledRun
from recsample.inference.likelihood.scores import Reference, Scores, cells_of, mixed, scores_of
from recsample.metrics.base import Metric


@dataclass(frozen=True, repr=False)
class Surprise(Metric):
    """A metric whose term depends on the number of items at each rank behind the first."""

    name = "Surprise"
    takes_cutoff = False

    def term(self, rank, order, n_relevant, n_items):
        return (1 - np.log(rank) / np.log(n_items)) / n_relevant


@dataclass(frozen=True, repr=False)
class TopTenth(Metric):
    """A metric whose term depends on the number of items at few ranks, or at none."""

    name = "TopTenth"
    takes_cutoff = False

    def term(self, rank, order, n_relevant, n_items):
        return 1.0 * (rank <= n_items / 10) / n_relevant


METRICS = [rs.AP, rs.NDCG @ 3, rs.Recall @ 2, rs.RR, rs.Precision @ 3]
METRICS += [rs.PercentileRank, Surprise(), TopTenth()]
OF_THE_POOL = rs.PercentileRank, Surprise(), TopTenth()
SIGNS = pytest.mark.parametrize("sign", [1, -1], ids=["upper", "lower"])
REPLACE = pytest.mark.parametrize("replace", [False, True], ids=["without", "with"])


def all_scores(metric, kinds, replace, assumption, sign):
    """The scores of all that can be observed, by pool, draws and sampled ranks, and the largest.

    Of the metric, or with a negative sign of its negative. `kinds` are numbers of items, of
    relevant ones and of draws.
    """
    seen = [
        (n, m, tuple(i + s for i, s in enumerate(above, 1)))
        for n, relevant, m in kinds
        for above in combinations_with_replacement(range(m + 1), relevant)
    ]
    sampled = rs.Ranks([list(s) for *_, s in seen], [m + len(s) for _, m, s in seen])
    sizes = np.array([n for n, *_ in seen])
    cells = cells_of(sampled, sizes, metric)
    found = scores_of(metric, cells, sampled, replace, assumption, sign, 100)
    return dict(zip(seen, found.value)), found.most


def means_over_draws(scores, n, relevant, m, replace):
    """Of each set of exact ranks, the mean score over all samples of irrelevant items."""
    pool = range(n - relevant)
    samples = list(product(pool, repeat=m) if replace else combinations(pool, m))
    for above in combinations_with_replacement(range(n - relevant + 1), relevant):
        ranks = [i + a for i, a in enumerate(above, 1)]
        total = 0.0
        for sample in samples:
            sampled = tuple(i + sum(x < a for x in sample) for i, a in enumerate(above, 1))
            total = total + scores[n, m, sampled]
        yield ranks, total / len(samples)


@SIGNS
@REPLACE
@pytest.mark.parametrize("relevant", [2, thorough(3)])
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_the_mean_over_draws_is_no_less_than_the_metric_of_any_user(
    metric, relevant, replace, sign
):
    """Of several relevant items, in two pools that have the scores of one."""
    sizes = [4 + relevant] if replace else [7 + relevant, 8 + relevant]
    kinds = [(n, relevant, 3) for n in sizes]
    scores, most = all_scores(metric, kinds, replace, "none", sign)
    for n, *_ in kinds:
        for ranks, mean in means_over_draws(scores, n, relevant, 3, replace):
            exact = metric(rs.Ranks([ranks], n))[0]
            assert (mean >= sign * exact - 1e-12).all()
    assert (np.array([*scores.values()]) <= most + 1e-12).all()


@SIGNS
@REPLACE
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_the_inequality_at_every_rank_by_exact_laws(metric, replace, sign):
    """Two pools and two numbers of draws that share a reference, from which both are thinned."""
    kinds = [(n, 1, m) for n in (19, 21) for m in (7, 8)]
    scores, most = all_scores(metric, kinds, replace, "none", sign)
    closest = []
    for n, _, m in kinds:
        values = np.array([scores[n, m, (s,)] for s in range(1, m + 2)])
        law = np.array([exact_law(rank, n, m, replace) for rank in range(1, n + 1)], float)
        exact = metric.of_rank(np.arange(1, n + 1), n)
        room = law @ values - sign * exact[:, None]
        assert (room >= -1e-12).all()
        closest.append(room.min(axis=0))
    # Where they are the closest, scores are equal to the metric in the mean, or one less would do.
    if metric not in OF_THE_POOL and metric != rs.Precision @ 3:
        assert np.min(closest, axis=0) == pytest.approx(0, abs=1e-12)
    assert most == pytest.approx(np.max([*scores.values()], axis=0), rel=1e-12)


def law_of(pool, m, replace):
    if pool > 1_000:  # SciPy's takes seconds
        return rs.UniformSampling(m, replace).law(pool + 1)
    above, s = np.arange(pool + 1)[:, None], np.arange(m + 1)
    if replace:
        return stats.binom.pmf(s, m, above / pool)
    return stats.hypergeom.pmf(s, pool, above, m)


def missed(metric, values, pool, m, order, relevant, replace, sign):
    """By how much the mean score exceeds the term of the metric, at each place."""
    rank = order + np.arange(pool + 1)
    term = metric.term(rank, np.int64(order), np.int64(relevant), np.int64(pool + relevant))
    return sign * (law_of(pool, m, replace) @ values - (term + np.zeros(pool + 1))[:, None])


def over_the_class(room, pool, order, relevant):
    """The same for each extreme population of "decreasing": those of the head, then the tail."""
    random = stats.betabinom.pmf(np.arange(pool + 1), pool, order, relevant + 1 - order)
    behind = int(np.ceil(0.2 * (pool + 1)))
    heads = [random[:b] @ room[:b] / random[:b].sum() for b in range(1, behind + 1)]
    return np.array(heads), room[behind:]


@SIGNS
@REPLACE
@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("kind", [thorough((1, 1)), thorough((1, 2)), thorough((2, 2)), (2, 3)])
def test_under_decreasing_the_inequality_holds_for_every_extreme_population(
    metric, kind, replace, sign
):
    order, relevant = kind
    pools, m = np.array([50, 54, 57]), 6
    own = 57 if metric in OF_THE_POOL else 0
    reference = Reference(57, m, 50, ((order, relevant, own),))
    about = reference, metric, "decreasing", sign, replace, 64
    (values,) = module._candidates.__wrapped__(*about)
    thin = module._thinned(values, reference, pools, m, replace)
    below = []
    for pool, scores in zip(pools, thin):
        if own:  # a metric of the pool has scores for each of these
            pool_of_term = ((order, relevant, int(pool)),)
            about = reference._replace(kinds=pool_of_term), *about[1:]
            values = module._candidates.__wrapped__(*about)[0]
            scores = module._thinned(values, reference, np.array([pool]), m, replace)[0]
        room = missed(metric, scores, int(pool), m, order, relevant, replace, sign)
        heads, tail = over_the_class(room, int(pool), order, relevant)
        assert heads.min() >= -1e-12 and tail.min() >= -1e-12
        below.append(room.min())
    # For single places it need not hold: that is what the assumption is for.
    if sign == 1 and metric == rs.AP and kind != (2, 2):
        assert min(below) < -1e-3


def test_what_is_drawn_from_a_smaller_pool_is_a_random_part_of_a_draw_from_a_larger_one():
    """The mean over all subsets: of the larger pool, and of what was drawn from the smaller."""
    pool, m, smaller, more = 7, 3, np.array([4, 6]), 4
    values = np.random.default_rng(0).normal(size=(2, m + 1, 3))
    reference = Reference(pool, m, 4, ((1, 1, 0), (2, 2, 0)))
    for replace in (False, True):
        found = module._thinned(values, reference, smaller, more, replace)
        for i, old in enumerate(smaller):
            items = range(pool)
            drawn = list(product(items, repeat=m) if replace else combinations(items, m))
            for s in range(more + 1):
                total = 0.0
                for one in drawn:
                    size = sum(item < old for item in one)
                    parts = list(combinations(range(more), size))
                    above = [sum(item < s for item in part) for part in parts]
                    total = total + values[:, above].mean(axis=1)
                wanted = (total / len(drawn)).ravel()
                assert found[i, s] == pytest.approx(wanted, abs=1e-12)


@SIGNS
def test_a_tied_row_has_the_mean_of_the_scores_at_its_places(sign):
    scores, _ = all_scores(rs.AP, [(40, 1, 6), (40, 2, 6)], False, "decreasing", sign)
    tied = rs.Ranks([[1], [3], [7], [2, 5]], [7, 7, 7, 8], ties=[[6], [2], [0], [0, 3]])
    cells = cells_of(tied, np.full(4, 40), rs.AP)
    found = scores_of(rs.AP, cells, tied, False, "decreasing", sign, 100).value
    places = [
        [(s,) for s in range(1, 8)], [(3,), (4,), (5,)], [(7,)], [(2, s) for s in range(5, 9)]
    ]  # fmt: skip
    for row, some in zip(found, places):
        wanted = np.mean([scores[40, 6, place] for place in some], axis=0)
        assert row == pytest.approx(wanted, rel=1e-12)


# Large pools, of which some places are evaluated.


@SIGNS
@REPLACE
@pytest.mark.parametrize("assumption", ["none", "decreasing"])
@pytest.mark.parametrize("metric", [rs.AP, rs.NDCG @ 700, rs.Recall @ 10], ids=str)
def test_what_is_between_the_places_of_a_large_pool_is_bounded(
    metric, assumption, replace, sign, monkeypatch
):
    pool, m = 6_000, 12
    about = Reference(pool, m, pool, ((1, 1, 0),)), metric, assumption, sign, replace, 256
    (full,) = module._candidates.__wrapped__(*about)
    monkeypatch.setattr(module, "_EVERY", 100)
    monkeypatch.setattr(module, "_FIRST", 200)
    monkeypatch.setattr(module, "_ARCS", 800)
    places = module._places(pool, metric)
    assert len(places) < 0.25 * pool
    (found,) = module._candidates.__wrapped__(*about)
    room = missed(metric, found[0], pool, m, 1, 1, replace, sign)
    heads, tail = over_the_class(room, pool, 1, 1)
    least = room.min(axis=0) if assumption == "none" else np.minimum(heads.min(0), tail.min(0))
    assert (least >= -1e-12).all()
    # Nor is much added to what all places need.
    assert (least <= 0.01).all()
    assert np.ptp(sign * (found - full)) < 0.05


@SIGNS
@pytest.mark.parametrize("m", [1, 2, 9])
def test_gaps_between_places_are_no_smaller_than_those_of_each_place(m, sign):
    """For scores as rough as can be."""
    pool, places = 400, np.unique(np.append(np.arange(0, 401, 25), [1, 2, 400]))
    values = np.random.default_rng(m).normal(size=(m + 1, 5))
    reference = Reference(pool, m, pool, ((1, 1, 0),))
    term = module._term(rs.AP, reference, (1, 1, 0))
    for replace in (False, True):
        at_all = law_of(pool, m, replace) @ values
        found = module._gaps(values, at_all[places], term, reference, places, sign)
        each = sign * (term(np.arange(pool + 1))[:, None] - at_all)
        for i, (first, last) in enumerate(zip(np.append(0, places[:-1] + 1), places)):
            assert (found[i] >= each[first : last + 1].max(axis=0) - 1e-12).all()


# The mixture.


def power(n, exponent):
    chances = np.arange(1.0, n + 1) ** -exponent
    return chances / chances.sum()


def some_run(size, seed=0, n=300, m=15, exponent=0.8):
    rng = np.random.default_rng(seed)
    ranks = rs.Ranks(rng.choice(n, size, p=power(n, exponent)) + 1, n)
    return rs.UniformSampling(m).draw(ranks, rng), n


@SIGNS
@pytest.mark.parametrize("assumption", ["none", "decreasing"])
def test_scores_are_the_same_in_any_order_of_rows_and_for_counts(assumption, sign):
    sampled, n = some_run(400)
    order = np.random.default_rng(1).permutation(400)
    sizes = n + 20 * (np.arange(400) % 8)  # several pools, of which some share a reference
    first, other = (
        SampledRun(sampled[rows], sizes[rows], False, [rs.AP]).bounds(rs.AP, assumption, sign)
        for rows in (np.arange(400), order)
    )
    assert first[0][order] == pytest.approx(other[0], rel=1e-12, abs=1e-12)
    assert first[1] == pytest.approx(other[1], rel=1e-12)
    # Counts; and ranks, which are kept apart where each is in a group of its own.
    counts = SampledRun(rs.RankCounts.of(sampled.values, 16), n, False, [rs.AP])
    ranks = SampledRun(sampled, n, False, [rs.AP], groups=np.arange(400))
    scores, most = counts.bounds(rs.AP, assumption, sign)
    each, end = ranks.bounds(rs.AP, assumption, sign)
    assert len(scores) < 17 and len(each) == 400
    place = np.searchsorted(counts.different.rows.rank, sampled.rows.rank)
    assert each == pytest.approx(scores[place], rel=1e-12, abs=1e-12)
    assert end == pytest.approx(most, rel=1e-12)


def some_scores(size, seed, several=False):
    """Scores by four candidates that are about as good as each other, and groups."""
    rng = np.random.default_rng(seed)
    groups = np.arange(size)
    if several:  # groups of 1 to 3 users; in larger ones scores are higher
        groups = np.repeat(groups, 1 + groups % 3)[:size]
    value = rng.random((size, 4)) ** 2 + 0.2 * (groups % 3)[:, None] * (1, 0.6, 1.4, 1) * several
    return Scores(value - value.mean(axis=0), np.array([2.0, 2.1, 1.9, 2.5])), groups


def weights_by_others(scores, groups, one):
    """The definition: of candidates whose limits are found without a user, or a group."""
    rest, n = groups != one, len(np.unique(groups))
    mean = scores.value[rest].mean(axis=0)
    sums = [(scores.value[groups == g] - mean).sum(axis=0) for g in np.unique(groups[rest])]
    error = np.std(sums, axis=0, mean=0) * len(sums) / rest.sum() / np.sqrt(n)
    limits = mean * (1 - 1 / n) + 1.96 * error + scores.most / n
    weights = np.exp(-module._SHARP * (limits - limits.min()) / error[limits.argmin()])
    return weights / weights.sum()


@pytest.mark.parametrize("several", [False, True], ids=["users", "groups"])
def test_a_user_is_scored_by_the_mixture_that_all_others_choose(several):
    scores, groups = some_scores(60, 0, several)
    found, most = mixed(scores, np.ones(60), groups if several else None)
    each = np.array([weights_by_others(scores, groups, one) for one in np.unique(groups)])
    # Several candidates are in use, and who is left out matters.
    assert (each.mean(axis=0) > 0.1).sum() > 1 and np.ptp(each, axis=0).max() > 0.01
    assert found == pytest.approx((each[groups] * scores.value).sum(axis=1), abs=1e-9)
    assert most == pytest.approx((each @ scores.most).max(), rel=1e-9)


def test_as_many_users_as_counts_say_are_left_out_one_by_one():
    scores, _ = some_scores(20, 2)
    often = 1 + np.arange(20) % 4
    each = Scores(np.repeat(scores.value, often, axis=0), scores.most)
    found, most = mixed(scores, often)
    wanted, end = mixed(each, np.ones(often.sum()))
    assert np.repeat(found, often) == pytest.approx(wanted, rel=1e-9)
    assert most == pytest.approx(end, rel=1e-12)


@pytest.mark.parametrize("several", [False, True], ids=["users", "groups"])
def test_what_is_observed_of_a_user_does_not_decide_how_it_is_scored(several):
    """With scores that are shifted for one user the score is the mixture of these, shifted."""
    scores, groups = some_scores(50, 1, several)
    mine, moved = groups == 7, scores.value.copy()
    for shift in (0.3, -2.0, 5.0):
        moved[mine] = scores.value[mine] + shift
        before, after = (
            mixed(Scores(value, scores.most), np.ones(50), groups if several else None)[0]
            for value in (scores.value, moved)
        )
        assert after[mine] == pytest.approx(before[mine] + shift, rel=1e-9)
        assert abs(after - before)[~mine].max() > 1e-4


# Limits of a population.


def held(draw, truth, metric, runs, assumption="none"):
    """The share of runs whose limits hold."""
    found = [draw().limits(metric, assumption, 0.95) for _ in range(runs)]
    return np.mean([low - 1e-12 <= truth <= high + 1e-12 for low, high in found])


def at_least(runs):
    """95 %, less two standard errors of so many runs."""
    return 0.95 - 2 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("assumption", ["none", "decreasing"])
@pytest.mark.parametrize("size", [100, thorough(1_000)])
@pytest.mark.parametrize("expected", [0.5, 1.95, 2.5])
def test_limits_hold_where_two_hits_are_expected(expected, size, assumption):
    """On the first rank, and all others on the last: what is seen is a binomial number of hits."""
    share, m, held = expected / size, 100, 0.0
    for hits in range(20):
        sampled = rs.RankCounts.of(np.repeat([1, m + 1], [hits, size - hits]), m + 1)
        run = SampledRun(sampled, 3_541, False, [rs.Recall @ 10])
        low, high = run.limits(rs.Recall @ 10, assumption, 0.95)
        held += (low <= share <= high) * stats.binom.pmf(hits, size, share)
    assert held >= 0.95


@pytest.mark.parametrize("rank", [10, 11])
@pytest.mark.parametrize("runs", [50, thorough(600)])
def test_limits_hold_where_all_users_are_on_one_side_of_the_cut_off(rank, runs):
    n, m, size, rng = 400, 40, 300, np.random.default_rng(rank)
    law = stats.hypergeom.pmf(np.arange(m + 1), n - 1, rank - 1, m)

    def draw():
        counts = rng.multinomial(size, law / law.sum())
        sampled = rs.RankCounts.of(np.repeat(np.arange(1, m + 2), counts), m + 1)
        return SampledRun(sampled, n, False, [rs.Recall @ 10])

    assert held(draw, float(rank <= 10), rs.Recall @ 10, runs) >= at_least(runs)


@pytest.mark.parametrize(("n_pools", "runs"), [(4, 20), thorough(1, 200), thorough(8, 200)])
def test_limits_hold_for_any_number_of_pools(n_pools, runs):
    """Three of ten users are on rank 11, and the rest behind it."""
    m, rng = 20, np.random.default_rng(n_pools)
    sizes = np.repeat(np.round(500 * 1.5 ** np.arange(n_pools)).astype(int), 60)

    def draw():
        ranks = np.where(rng.random(len(sizes)) < 0.3, 11, rng.integers(12, sizes + 1))
        sampled = rs.UniformSampling(m).draw(rs.Ranks(ranks, sizes), rng)
        return SampledRun(sampled, sizes, False, [rs.Recall @ 10])

    assert held(draw, 0.0, rs.Recall @ 10, runs) >= at_least(runs)
