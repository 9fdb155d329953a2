"""How many samples a comparison needs, against a search."""

from collections import Counter
from statistics import NormalDist

import numpy as np
import pytest
import reference
from thorough import thorough

import recsample as rs
from recsample import (
    AP,
    AUC,
    NDCG,
    BiasVariance,
    InverseSampling,
    RankEstimate,
    Ranks,
    Recall,
    UniformSampling,
    inference,
)


def population(exponent, size, seed, n_items):
    """Ranks with p(r) proportional to a power of r."""
    weights = np.arange(1.0, n_items + 1) ** -exponent
    rng = np.random.default_rng(seed)
    return rng.choice(np.arange(1, n_items + 1), size, p=weights / weights.sum())


# How many samples


def brute_force(metric, a, b, probability, replace, last):
    short = 0
    for m in range(1, last + 1):
        sampler = UniformSampling(m, replace)
        made = metric if isinstance(metric, rs.metrics.Metric) else metric(sampler)
        if inference.order_probability(made, a, b, sampler) < probability:
            short = m
    return short + 1


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("metric", "probability"),
    [
        (AP, 0.9),
        (Recall @ 3, 0.65),  # with replacement even 59 samples say little
        (AUC, 0.9),
        (lambda sampler: BiasVariance(AP, sampler, 60, gamma=0.02), 0.9),
    ],
    ids=["AP", "Recall@3", "AUC", "BV"],
)
def test_required_samples_is_the_first_from_which_all_are_enough(metric, probability, replace):
    a, b = Ranks([1] * 15 + [30] * 45, 60), Ranks([5] * 60, 60)
    a = a if metric is not AUC else Ranks([1] * 30 + [14] * 30, 60)
    found = inference.required_samples(metric, a, b, probability=probability, replace=replace)
    assert found == brute_force(metric, a, b, probability, replace, 59) > 1
    assert type(found) is int


@pytest.mark.parametrize(
    ("n_items", "exponent", "seed", "probability"),
    # Few instances: the probability falls again just before everything is sampled.
    [
        (61, 0.8, 169, 0.8),
        (61, 0.8, 304, 0.8),
        thorough(301, 0.9, 23, 0.9),
        thorough(301, 0.9, 121, 0.9),
        (220, 0.9, 813, 0.685),  # with all items but one alone
    ],
)
def test_required_samples_sees_a_dip_where_nearly_all_is_sampled(
    n_items, exponent, seed, probability
):
    rng = np.random.default_rng(seed)
    p = np.arange(1.0, n_items + 1) ** -exponent
    p /= p.sum()
    a, b = (Ranks(rng.choice(np.arange(1, n_items + 1), 20, p=p), n_items) for _ in "ab")
    found = inference.required_samples(NDCG @ 5, a, b, probability=probability)
    assert found > 0.9 * n_items - 1
    assert found == brute_force(NDCG @ 5, a, b, probability, False, n_items - 1)


def test_required_samples_looks_no_further_than_it_is_told_to():
    a, b = Ranks([100] * 50, 1000), Ranks([120] * 50, 1000)
    needed = brute_force(AUC, a, b, 0.95, False, 60)
    assert inference.required_samples(AUC, a, b, largest=needed) == needed
    with pytest.raises(ValueError, match=f"reached by {needed - 1} samples"):
        inference.required_samples(AUC, a, b, largest=needed - 1)


def test_a_sampled_metric_needs_more_samples_than_its_correction():
    a, b = Ranks([1] * 15 + [30] * 45, 60), Ranks([5] * 60, 60)
    corrected = inference.required_samples(lambda s: BiasVariance(AP, s, 60, gamma=0.02), a, b)
    assert corrected < inference.required_samples(AP, a, b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b: inference.required_samples(AP, a, b, probability=1), "probability must be"),
        (lambda a, b: inference.required_samples(AP, a, b, largest=60), "at most 59"),
        (lambda a, b: inference.required_samples(AP, a, b, largest=5), "reached by 5 samples, got"),
        (lambda a, b: inference.required_samples(AP, a, a), "differ in their mean"),
        (lambda a, b: inference.required_samples(AP, a, Ranks([1, 5], 9)), "same instances"),
        (lambda a, b: inference.required_samples("AQ", a, b), "metric must be a Metric"),
        (lambda a, b: inference.required_samples(lambda s: "AQ", a, b), "metric must be a Metric"),
        (
            lambda a, b: inference.required_samples(RankEstimate(AP, UniformSampling(5), 60), a, b),
            "function that makes a correction .* for m = 5 only",
        ),
    ],
)
def test_required_samples_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call(Ranks([1] * 15 + [30] * 45, 60), Ranks([5] * 60, 60))


class PilotReference:
    """The planner from its description, for small pools: number by number, law by law."""

    def __init__(self, name, pilots, m, replace, n_items, probability, last):
        self.name, self.m, self.replace, self.n = name, m, replace, n_items
        self.wanted, self.last, self.size = probability, last, len(pilots[0])
        self.pilots, self.whole = pilots, [self.learned(pilot) for pilot in pilots]
        self.exact = [reference.of_rank(name, r, n_items) for r in range(1, n_items + 1)]
        self.moments = {m: self.moments_of(m) for m in range(1, last + 1)}

    def moments_of(self, m):
        """Mean and variance of the sampled metric at every rank, from exact laws."""
        values = [reference.of_rank(self.name, s, m + 1) for s in range(1, m + 2)]
        found = []
        for r in range(1, self.n + 1):
            law = [float(p) for p in reference.exact_law(r, self.n, m, self.replace)]
            mean = sum(p * v for p, v in zip(law, values))
            found.append((mean, sum(p * (v - mean) ** 2 for p, v in zip(law, values))))
        return found

    def learned(self, pilot):
        """EM as the textbook has it: 30 times the mean of the posteriors of the instances."""
        law = [
            [float(p) for p in reference.exact_law(r, self.n, self.m, self.replace)]
            for r in range(1, self.n + 1)
        ]
        p = [1 / self.n] * self.n
        for _ in range(30):
            total = [0.0] * self.n
            for rank, times in Counter(pilot).items():
                joint = [x * row[rank - 1] for x, row in zip(p, law)]
                share = times / sum(joint)
                total = [t + share * j for t, j in zip(total, joint)]
            p = [t / len(pilot) for t in total]
        return p

    def chance(self, m, p_a, p_b):
        """The normal approximation of a study of as many instances, each with its own negatives.

        Of the order that the whole pilot has, whichever a bootstrap sample has.
        """
        gap = [x - y for x, y in zip(p_a, p_b)]
        exact = sum((x - y) * e for x, y, e in zip(*self.whole, self.exact))
        mean = sum(g * mean for g, (mean, _) in zip(gap, self.moments[m]))
        variance = sum((x + y) * v for x, y, (_, v) in zip(p_a, p_b, self.moments[m]))
        lead = mean if exact > 0 else -mean
        if variance == 0:  # all items are sampled, or the metric is the same for all of them
            return 0.5 if abs(lead) < 1e-12 else float(lead > 0)
        return NormalDist().cdf(lead / (variance / self.size) ** 0.5)

    def needed(self, pilots):
        p_a, p_b = map(self.learned, pilots)
        enough = [self.chance(m, p_a, p_b) >= self.wanted for m in range(1, self.last + 1)]
        short = [m for m, good in enumerate(enough, 1) if not good]
        return min(1 + max(short, default=0), self.last)

    def answer(self, seed, repetitions):
        rng, again = np.random.default_rng(seed), []
        for _ in range(repetitions):
            rows = rng.integers(0, self.size, self.size)
            again.append(self.needed([[pilot[i] for i in rows] for pilot in self.pilots]))
        again.sort()
        # The central 90 %: the nearest of the sorted numbers at 5 % and at 95 % of the way.
        ends = [again[round(q * (repetitions - 1))] for q in (0.05, 0.95)]
        return self.needed(self.pilots), *ends


@pytest.mark.parametrize(
    ("name", "replace", "m", "size", "probability", "largest", "exponents", "seed"),
    [
        ("AP", False, 4, 30, 0.9, None, (1.0, 0.5), 4),
        ("AP", False, 4, 30, 0.9, None, (0.9, 0.6), 1),
        ("NDCG", False, 3, 24, 0.9, None, (0.9, 0.6), 4),
        ("AUC", False, 4, 25, 0.95, None, (1.0, 0.5), 1),
        ("Recall@2", True, 5, 40, 0.8, 15, (0.9, 0.6), 0),
        ("AP", True, 6, 50, 0.95, 12, (1.0, 0.8), 1),
    ],
)
def test_planning_from_a_pilot_is_what_its_description_says(
    name, replace, m, size, probability, largest, exponents, seed
):
    n, repetitions, pilot = 18, 21, UniformSampling(m, replace)
    ranks = [Ranks(population(e, size, seed + 10 * i, n), n) for i, e in enumerate(exponents)]
    runs = [pilot.draw(x, seed + i) for i, x in enumerate(ranks)]
    found = inference.required_samples_from_pilot(
        rs.metric(name),
        *runs,
        pilot,
        n,
        rng=seed,
        probability=probability,
        largest=largest,
        repetitions=repetitions,
    )
    pilots = [run.values.tolist() for run in runs]
    slow = PilotReference(name, pilots, m, replace, n, probability, largest or n - 1)
    assert found == slow.answer(seed, repetitions)
    assert found.low < found.high  # the quantiles matter
    assert 1 < found.samples < (largest or n - 1)


def test_a_pilot_finds_about_the_number_that_known_ranks_give():
    n, size = 120, 3000
    a, b = (Ranks(population(e, size, seed=s, n_items=n), n) for e, s in ((0.9, 0), (0.7, 1)))
    known = inference.required_samples(Recall @ 30, a, b, probability=0.95)
    pilot = UniformSampling(20)
    runs = [pilot.draw(x, seed) for seed, x in enumerate((a, b))]
    found = inference.required_samples_from_pilot(
        Recall @ 30, *runs, pilot, n, rng=0, repetitions=30
    )
    assert known > 30 and found.low <= found.samples <= found.high
    assert found.low <= known <= found.high


def test_samples_that_are_no_more_than_the_cut_off_plan_nothing():
    # Of up to 9 sampled items every relevant one is among the first 10, whatever its rank.
    pilot, rng = UniformSampling(20), np.random.default_rng(0)
    a, b = (Ranks(rng.integers(low, low + 20, 150), 120) for low in (1, 100))
    runs = [pilot.draw(x, seed) for seed, x in enumerate((a, b))]
    found = inference.required_samples_from_pilot(
        Recall @ 10, *runs, pilot, 120, rng=0, repetitions=20
    )
    assert found == (10, 10, 10)


def test_a_pilot_that_sees_no_difference_says_so():
    pilot = UniformSampling(20)
    ranks = Ranks(population(0.8, 200, seed=0, n_items=120), 120)
    runs = [pilot.draw(ranks, seed) for seed in (1, 2)]
    found = inference.required_samples_from_pilot(
        AUC, *runs, pilot, 120, rng=0, repetitions=20, largest=40
    )
    assert found.high == 40 and found.low < 40


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_items": 5}, "n_items"),
        ({"sampler": UniformSampling(9)}, r"n_items = m \+ 1 = 10"),
        ({"sampled_b": Ranks([1], 6)}, "same instances, got 2 and 1"),
        ({"probability": 0}, "probability must be"),
        ({"largest": 40}, "largest must be at most 19"),
        ({"repetitions": 0}, "repetitions must be"),
        ({"n_items": "20"}, "n_items must be a whole number of at least 1, got '20'"),
        ({"sampler": InverseSampling()}, "sampler must be UniformSampling, .* got InverseSampling"),
    ],
)
def test_planning_from_a_pilot_refuses(changes, message):
    given = {
        "metric": AP,
        "sampled_a": Ranks([1, 3], 6),
        "sampled_b": Ranks([2, 6], 6),
        "sampler": UniformSampling(5),
        "n_items": 20,
        "rng": 0,
    }
    with pytest.raises(ValueError, match=message):
        inference.required_samples_from_pilot(**{**given, **changes})


def test_any_number_of_items_can_be_planned_for():
    # With replacement only the share of the items above matters, and it is the same here and there.
    def needed(pool):
        a, b = (rs.Ranks([int(share * pool) + 1] * 30, pool + 1) for share in (0.1, 0.13))
        return inference.required_samples(NDCG, a, b, replace=True)

    assert needed(10**9) == needed(10**5) > 10


def test_all_numbers_are_tried_in_pools_of_up_to_two_hundred():
    assert list(rs.inference.planning._tried(150, 200)) == list(range(150, 0, -1))
    assert len(rs.inference.planning._tried(201, 201)) < 100
