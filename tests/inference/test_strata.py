"""The strata of a run and the laws of the columns, written out."""

import numpy as np
import pytest
from scipy import stats

import recsample as rs
from recsample.inference.likelihood.strata import HEAD, columns_of, moments_of, strata_of


def test_counts_of_a_plain_run():
    sampled = rs.Ranks([1, 1, 3, 2], n_items=4)
    (stratum,) = strata_of(sampled, np.full(4, 100), False)
    assert stratum.pool == 99
    assert (stratum.n_relevant, stratum.order, stratum.n_draws) == (1, 1, (3,))
    assert stratum.counts[0].tolist() == [2, 1, 1, 0]


def test_a_tie_counts_in_equal_parts_for_all_places_that_it_may_have():
    (stratum,) = strata_of(rs.Ranks([1, 2], n_items=4, ties=[2, 0]), np.full(2, 50), False)
    assert stratum.counts[0] == pytest.approx([1 / 3, 1 / 3 + 1, 1 / 3, 0])


def test_different_numbers_of_draws_keep_counts_of_their_own():
    (stratum,) = strata_of(rs.Ranks([1, 2, 3], n_items=[3, 3, 5]), np.full(3, 50), False)
    assert stratum.n_draws == (2, 4)
    assert [c.tolist() for c in stratum.counts] == [[1, 1, 0], [0, 0, 1, 0, 0]]


def test_pools_that_are_close_are_one_stratum_and_others_are_not():
    sampled = rs.Ranks([1] * 900, n_items=11)
    sizes = np.repeat([100, 105, 150], 300)
    found = strata_of(sampled, sizes, False)
    assert [s.counts[0].tolist()[0] for s in found] == [600, 300]
    assert found[0].pool == round((99 + 104) / 2)
    assert found[1].pool == 149


@pytest.mark.parametrize(
    ("often", "fewest", "number"),
    [((10, 10, 10), 1, 3), ((10, 10, 10), 15, 2), ((10, 10, 10), 30, 1), ((20, 5, 20), 10, 2)],
)
def test_few_instances_share_a_stratum_with_unlike_ones_only_if_asked(often, fewest, number):
    sizes = np.repeat([100, 200, 400], often)
    sampled = rs.Ranks(np.ones(len(sizes), int), n_items=11)
    assert len(strata_of(sampled, sizes, False, fewest=fewest)) == number


def test_relevant_items_are_told_apart_by_their_order():
    sampled = rs.Ranks([[1, 4], [2, 3]], n_items=7)
    first, second = strata_of(sampled, np.full(2, 60), False)
    assert (first.order, second.order) == (1, 2)
    # Of drawn irrelevant items: 0 above rank 1, and 1 above rank 2; then 2 and 1.
    assert first.counts[0].tolist() == [1, 1, 0, 0, 0, 0]
    assert second.counts[0].tolist() == [0, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("assumption", ["none", "decreasing"])
def test_laws_of_the_columns_are_those_of_the_distributions(assumption, replace):
    n, m = 40, 6
    (stratum,) = strata_of(rs.Ranks([1, 2, 7], n_items=m + 1), np.full(3, n), False)
    columns = columns_of(stratum, assumption, replace, ())
    above = np.arange(n)
    if replace:
        law = stats.binom.pmf(np.arange(m + 1), m, above[:, None] / (n - 1))
    else:
        law = stats.hypergeom.pmf(np.arange(m + 1), n - 1, above[:, None], m)
    n_head = len(columns.head)
    # Every place is a step of its own in a pool this small.
    assert columns.steps.tolist() == list(range(n))
    assert columns.law[:, :n_head] == pytest.approx((columns.head @ law).T, abs=1e-12)
    assert columns.law[:, n_head:] == pytest.approx(law[columns.tail].T, abs=1e-12)
    behind = int(np.ceil(HEAD * n))
    if assumption == "none":
        assert n_head == 0
        assert columns.tail.tolist() == list(range(n))
        return
    assert columns.tail.tolist() == list(range(behind, n))
    assert columns.head.sum(axis=1) == pytest.approx(1)
    assert (np.diff(columns.head[:, :behind]) <= 1e-15).all()  # none rises in the best fifth


@pytest.mark.parametrize("n_relevant", [1, 3])
def test_steps_are_weighted_as_in_a_random_order(n_relevant):
    """Of a pool so large that a step holds several places."""
    pool, m = 5_000, 3
    sampled = rs.Ranks([list(range(1, n_relevant + 1))] * 2, n_items=m + n_relevant)
    for stratum in strata_of(sampled, np.full(2, pool + n_relevant), False):
        columns = columns_of(stratum, "steps", False, ())
        place = np.arange(pool + 1)
        random = stats.betabinom.pmf(place, pool, stratum.order, n_relevant + 1 - stratum.order)
        starts = np.append(0, columns.steps[:-1] + 1)
        assert (np.diff(columns.steps) > 1).any() and not len(columns.tail)
        assert columns.mass == pytest.approx(np.add.reduceat(random, starts), abs=1e-12)
        assert columns.law.shape == (m + 1, len(columns.steps))
        # Within a step each place counts the same for what is drawn.
        last = slice(starts[-2], columns.steps[-2] + 1)
        wanted = stats.hypergeom.pmf(np.arange(m + 1)[:, None], pool, place[last], m).mean(axis=1)
        assert columns.law[:, -2] == pytest.approx(wanted, abs=1e-12)


def test_uniform_distributions_up_to_each_place_are_the_corners_of_the_decreasing_ones():
    (stratum,) = strata_of(rs.Ranks([1, 2], n_items=3), np.full(2, 20), False)
    head = columns_of(stratum, "decreasing", False, ()).head
    assert head == pytest.approx(np.tril(np.ones((4, 20))) / np.arange(1, 5)[:, None])


def test_a_random_ranking_of_several_items_is_in_the_class():
    """For each order, the class holds BetaBinomial, the law of the places at random."""
    n_relevant, pool = 3, 30
    sampled = rs.Ranks([[1, 2, 3]], n_items=8)
    sampled = rs.Ranks.concatenate([sampled, sampled])
    for stratum in strata_of(sampled, np.full(2, pool + n_relevant), False):
        columns = columns_of(stratum, "decreasing", False, ())
        random = stats.betabinom.pmf(
            np.arange(pool + 1), pool, stratum.order, n_relevant + 1 - stratum.order
        )
        last = columns.head[-1]
        behind = int(np.ceil(HEAD * (pool + 1)))
        assert last[:behind] == pytest.approx(random[:behind] / random[:behind].sum())


@pytest.mark.parametrize("metric", [rs.Recall @ 10, rs.NDCG @ 10, rs.AP, rs.AUC])
def test_means_of_the_metric_under_each_column(metric):
    n = 50
    (stratum,) = strata_of(rs.Ranks([1, 2, 7], n_items=8), np.full(3, n), False)
    mean, square = moments_of(stratum, columns_of(stratum, "decreasing", False, (10,)), metric)
    values = metric.of_rank(np.arange(1, n + 1), n)
    corners = [values[:k].mean() for k in range(1, 11)] + values[10:].tolist()
    squares = [(values[:k] ** 2).mean() for k in range(1, 11)] + (values[10:] ** 2).tolist()
    assert mean == pytest.approx(corners)
    assert square == pytest.approx(squares)


def test_steps_of_large_pools_are_fine_at_cut_offs():
    (stratum,) = strata_of(rs.Ranks([1, 2], n_items=11), np.full(2, 100_000), False)
    columns = columns_of(stratum, "none", False, (500,))
    assert {498, 499, 500} <= set(columns.steps.tolist())
    assert len(columns.steps) < 500
