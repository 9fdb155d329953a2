"""The contract of samplers and designs: what each of them draws, expects, and refuses."""

import inspect
from functools import cache

import numpy as np
import public
import pytest
from scipy import sparse

import recsample as rs
from recsample import AP, AUC, NDCG, Design, Observed, RankedItems, Ranks, Recall, Sampler
from recsample.sampling import GivenLists

N_ITEMS, M = 30, 5
WEIGHTS = np.arange(1.0, N_ITEMS + 1)

# Four instances. The first two have popular items above, the last has ties.
ABOVE = [[25, 26, 27], [20, 21, 22, 23, 28], [], [1, 2]]
TIED = [[], [], [], [3, 29]]
RELEVANT = [0, 4, 5, 6]


@cache
def items(times=1):
    """The instances as `RankedItems`, so that every sampler and design can draw from them."""

    def matrix(sets):
        one = np.zeros((4, N_ITEMS), bool)
        for row, items in zip(one, sets):
            row[items] = True
        return sparse.csr_matrix(np.tile(one, (times, 1)))

    return RankedItems(matrix(ABOVE), RELEVANT * times, tied=matrix(TIED))


LISTS = [[25, 7, 8, 20], [20, 21, 9], [10, 11, 12], [1, 3, 29, 13, 14]]

SAMPLERS = {
    "uniform": lambda _: rs.UniformSampling(M),
    "uniform, replace": lambda _: rs.UniformSampling(M, replace=True),
    "pooled": lambda _: rs.PooledSampling(M),
    "popularity": lambda _: rs.PopularitySampling(M, WEIGHTS),
    "popularity, replace": lambda _: rs.PopularitySampling(M, WEIGHTS, replace=True),
    "given lists": lambda times: GivenLists(LISTS * times),
}
DESIGNS = {
    "inverse": lambda _: rs.InverseSampling(),
    "inverse, capped": lambda _: rs.InverseSampling(cap=6),
    "early stopping": lambda _: rs.EarlyStopping(k=4),
    "two phases": lambda _: rs.TwoPhase(m0=5, k=4, probability=[0.9, 0.5, 0.4, 0.3]),
    "doubling": lambda _: rs.DoublingSampling(m0=2, m=9),
    "importance": lambda _: rs.ImportanceSampling(M, WEIGHTS),
    "importance, replace": lambda _: rs.ImportanceSampling(M, WEIGHTS, replace=True),
}
WAYS = SAMPLERS | DESIGNS
each_sampler = pytest.mark.parametrize("name", SAMPLERS)
each_design = pytest.mark.parametrize("name", DESIGNS)
each_way = pytest.mark.parametrize("name", WAYS)


def metrics_of(name):
    """What a sampler or design can be asked for."""
    match name:
        case "early stopping" | "two phases":
            return [Recall @ 4, NDCG @ 3, AP @ 4]
        case "doubling":
            design = WAYS[name](1)
            return [rs.BiasVariance(one, design, N_ITEMS, gamma=0.1) for one in (AP, Recall @ 4)]
        case "uniform" | "uniform, replace":
            corrected = rs.BiasVariance(AP, rs.UniformSampling(M), N_ITEMS, gamma=0.1)
            return [AP, NDCG, AUC, Recall @ 2, corrected]
        case "inverse" | "inverse, capped":
            return [AP, NDCG, AUC, rs.RBP(0.8)]
    return [AP, NDCG, AUC, Recall @ 2]


# One or the other


def test_every_way_to_draw_is_a_sampler_or_a_design():
    ways = {type(make(1)) for make in WAYS.values()}
    public_ones = {
        cls
        for cls in filter(inspect.isclass, public.names().values())
        if issubclass(cls, (Sampler, Design)) and not inspect.isabstract(cls)
    }
    assert ways == public_ones and len(ways) == 9
    for cls in ways:
        assert issubclass(cls, Sampler) != issubclass(cls, Design)
        assert not inspect.isabstract(cls)


@pytest.mark.parametrize(
    ("cls", "needed"),
    [(Sampler, {"draw", "moments"}), (Design, {"draw", "of", "expect", "variance", "cost"})],
)
def test_what_a_further_one_must_say(cls, needed):
    assert cls.__abstractmethods__ == needed
    with pytest.raises(TypeError, match="abstract"):
        cls()


# What is drawn


@each_sampler
def test_a_sampler_gives_real_ranks(name):
    ranks = items(50)
    sampled = SAMPLERS[name](50).draw(ranks, rng=0)
    assert type(sampled) is Ranks and len(sampled) == len(ranks)
    assert (sampled.values >= 1).all() and (sampled.values <= sampled.sizes).all()
    assert (sampled.n_relevant == 1).all() and not sampled.rows.ties.any()
    # As many items outrank the relevant one as before at most, if none is drawn twice.
    worst = ranks.values + ranks.ties
    if "replace" not in name:
        assert (sampled.values <= worst).all()
    assert (sampled.values[2::4] == 1).all()  # nothing outranks the third
    # A metric of them is what `expect` speaks of: AUC of ranks among so many items.
    assert AUC(sampled) == pytest.approx(1 - (sampled.values - 1) / (sampled.sizes - 1))


@each_design
def test_a_design_gives_an_observation_and_no_ranks(name):
    design = DESIGNS[name](1)
    observed = design.draw(items(), rng=0)
    assert type(observed) is Observed and not isinstance(observed, Ranks)
    assert observed.design == design and len(observed) == 4
    assert observed.n_items.tolist() == [N_ITEMS] * 4
    for metric in metrics_of(name):
        estimate = design.of(metric, observed)
        assert estimate.shape == (4,)
        assert estimate.tolist() == design.estimate(metric, items(), rng=0).tolist()


@each_way
def test_draws_follow_the_seed(name):
    way, ranks = WAYS[name](50), items(50)
    draws = [way.draw(ranks, rng) for rng in (3, np.random.default_rng(3), 3, 4)]
    assert draws[0] == draws[1] == draws[2]
    assert draws[0] != draws[3]
    assert type(way.draw(ranks, None)) is type(draws[0])
    with pytest.raises(ValueError, match="rng must be a whole number of at least 0 or a numpy"):
        way.draw(ranks, "seed")


# What is expected


@each_way
def test_expect_is_the_mean_of_what_it_speaks_of(name):
    """Of a sampler the metric of the sampled ranks, of a design the estimate."""
    times = 1_500
    few, many = items(), items(times)
    way = WAYS[name](times)
    drawn, one = way.draw(many, rng=1), WAYS[name](1)
    for metric in metrics_of(name):
        found = metric(drawn) if isinstance(way, Sampler) else way.of(metric, drawn)
        found = found.reshape(times, 4)
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(times)
        assert (np.abs(mean - one.expect(metric, few)) <= 4 * error + 1e-12).all(), metric
        if name == "importance":
            continue  # its variance is not known
        variance = one.variance(metric, few)
        fourth = ((found - mean) ** 4).mean(axis=0)
        error = np.sqrt((fourth - found.var(axis=0) ** 2) / times)
        assert (np.abs(found.var(axis=0) - variance) <= 4.5 * error + 1e-12).all(), metric
        assert one.std_of_mean(metric, few) == pytest.approx(np.sqrt(variance.sum()) / 4)
        if isinstance(one, Sampler):
            for both in zip(one.moments(metric, few), (one.expect(metric, few), variance)):
                assert both[0] == pytest.approx(both[1], abs=1e-13)


@each_design
def test_cost_is_the_mean_number_of_items_looked_at(name):
    """By scans of scores in which the sets above stand above; popular items cannot be scanned."""
    design, times = DESIGNS[name](1), 1_500
    ranks = Ranks(1 + np.array(list(map(len, ABOVE))), N_ITEMS)
    if "importance" in name:
        assert design.cost(items()).tolist() == [M] * 4
        return
    table = np.zeros((4, N_ITEMS))
    for row, above, own in zip(table, ABOVE, RELEVANT):
        row[above], row[own] = 2.0, 1.0
    scan = rs.sampling.Scan(lambda u, i: table[u % 4, i], RELEVANT * times, N_ITEMS, block=29)
    observed = design.scan(scan, rng=2)
    assert type(observed) is Observed and observed.design == design
    scored = scan.scored.reshape(times, 4)
    error = scored.std(axis=0) / np.sqrt(times)
    assert (np.abs(scored.mean(axis=0) - design.cost(ranks)) <= 4 * error).all()
    for metric in metrics_of(name):
        found = design.of(metric, observed).reshape(times, 4)
        error = found.std(axis=0) / np.sqrt(times)
        gap = np.abs(found.mean(axis=0) - design.expect(metric, ranks))
        assert (gap <= 4 * error + 1e-12).all(), metric


def test_a_design_with_unequal_chances_cannot_read_a_scan():
    scan = rs.sampling.Scan(lambda users, items: items, [0], n_items=N_ITEMS)
    with pytest.raises(ValueError, match=r"ImportanceSampling\(m=5, .* cannot read them off a sca"):
        DESIGNS["importance"](1).scan(scan)


# Observations


def test_observations_are_frozen_values():
    design = rs.InverseSampling()
    observed = design.draw(items(), rng=0)
    given = observed["position"].copy()
    again = Observed(design, N_ITEMS, position=given)
    given[:] = 1
    assert again == observed and hash(again) == hash(observed)
    for change in (
        lambda: setattr(observed, "design", rs.InverseSampling(cap=3)),
        lambda: setattr(observed, "other", 3),
        lambda: delattr(observed, "n_items"),
    ):
        with pytest.raises(AttributeError, match="Observed cannot be changed: make a new one"):
            change()
    with pytest.raises(TypeError, match="does not support item assignment"):
        observed.columns["position"] = given
    for array in (observed["position"], observed.n_items, observed.n_relevant):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2
    different = [
        Observed(rs.InverseSampling(cap=20), N_ITEMS, position=observed["position"]),
        Observed(design, N_ITEMS + 1, position=observed["position"]),
        Observed(design, N_ITEMS, position=observed["position"][::-1]),
        Observed(design, N_ITEMS, rank=observed["position"]),
        Observed(design, N_ITEMS, [4], position=observed["position"]),
    ]
    assert observed not in different and observed != "observed"
    with pytest.raises(KeyError):
        observed["weight"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Observed(rs.UniformSampling(5), 9, position=[1]),
            r"design must be a Design such as InverseSampling\(\), got UniformSampling\(m=5",
        ),
        (lambda: Observed(rs.InverseSampling(), 9), "columns must hold what was seen, got none"),
        (
            lambda: Observed(rs.InverseSampling(), 9, [1, 2], position=[1, 2, 3, 4]),
            "position must hold an entry for each of 2 instances, .* 3 relevant items, got 4",
        ),
        (
            lambda: Observed(rs.InverseSampling(), 0, position=[1]),
            "n_items must be a whole number of at least 1, got 0",
        ),
        (
            lambda: Observed(rs.InverseSampling(), [9, 9], position=[1]),
            r"n_items must be one number or one for each of 1 instances, got .* shape \(2,\)",
        ),
        (
            lambda: Observed(rs.InverseSampling(), [9, 2], [1, 3], position=[1] * 4),
            "n_items must be at least n_relevant = 3, got 2 in instance 1",
        ),
        (
            lambda: Observed(rs.InverseSampling(), 9, -1, position=[1]),
            "n_relevant must be a whole number of at least 0, got -1",
        ),
    ],
)
def test_observations_made_by_hand_are_checked(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("inverse", {"rank": [1]}, r"observed must hold 'position' for Inverse.*, got rank"),
        (
            "early stopping",
            {"position": [1]},
            "observed must hold 'rank' for Early.*, got position",
        ),
        ("two phases", {"rank": [1]}, "observed must hold 'weight' for TwoPhase.*, got rank"),
        ("doubling", {"drawn": [9]}, "observed must hold 'above' for Doubling.*, got drawn"),
        ("importance", {"above": np.ones((1, M))}, "must hold 'tied' for Importance.*, got above"),
        (
            "importance",
            {"above": np.ones((1, 2)), "tied": np.ones((1, 2)), "place": [0]},
            r"above must have shape \(1, 5\) for ImportanceSampling\(m=5.*, got \(1, 2\)",
        ),
        (
            "two phases",
            {"rank": [1], "weight": [[1.0]]},
            r"weight must have shape \(1,\) for TwoPhase.*, got \(1, 1\)",
        ),
    ],
)
def test_what_a_design_needs_is_asked_for(name, columns, message):
    design = DESIGNS[name](1)
    with pytest.raises(ValueError, match=message):
        design.of(metrics_of(name)[0], Observed(design, N_ITEMS, **columns))


# What is of another kind


@each_design
def test_an_observation_of_another_design_is_refused(name):
    design, metric = DESIGNS[name](1), metrics_of(name)[0]
    for other, make in DESIGNS.items():
        if other != name:
            observed = make(1).draw(items(), rng=0)
            with pytest.raises(ValueError, match=r"observed must be of \w+\(.*, got one of \w+\("):
                design.of(metric, observed)
    for wrong in (items(), rs.UniformSampling(M).draw(items(), 0), [1, 2], None):
        with pytest.raises(ValueError, match=r"observed must be what \w+\(.* observes, got"):
            design.of(metric, wrong)


UNIFORM = rs.UniformSampling(M)
CORRECTIONS = {
    "uniform": rs.BiasVariance(AP, UNIFORM, N_ITEMS, gamma=0.1),
    "uniform, replace": rs.BiasVariance(
        AP, rs.UniformSampling(M, replace=True), N_ITEMS, gamma=0.1
    ),
    "rank estimate": rs.RankEstimate(AP, UNIFORM, N_ITEMS),
    "another m": rs.BiasVariance(AP, rs.UniformSampling(M + 1), N_ITEMS, gamma=0.1),
    "doubling": rs.BiasVariance(AP, rs.DoublingSampling(2, M), N_ITEMS, gamma=0.1),
}
# A correction reads as many uniform draws, with replacement or without; weighted draws estimate
# what these give on average.
READ_BY = {
    "uniform": {"uniform", "uniform, replace", "rank estimate"},
    "uniform, replace": {"uniform", "uniform, replace", "rank estimate"},
    "importance": {"uniform", "uniform, replace", "rank estimate"},
    "importance, replace": {"uniform", "uniform, replace", "rank estimate"},
}


@each_way
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_correction_for_another_kind_is_refused_everywhere(name, correction):
    way, metric = WAYS[name](1), CORRECTIONS[correction]
    calls = [way.expect, way.variance, way.std_of_mean]
    if isinstance(way, Sampler):
        calls.append(way.moments)
    else:
        calls.append(lambda metric, ranks: way.of(metric, way.draw(ranks, 0)))
        calls.append(lambda metric, ranks: way.estimate(metric, ranks, 0))
    if correction in READ_BY.get(name, ()):
        for call in calls:
            if name == "importance" and call in (way.variance, way.std_of_mean):
                continue
            assert np.isfinite(call(metric, items())).all()
        return
    for call in calls:
        with pytest.raises(ValueError, match=r"metric must .*got \w+\(AP"):
            call(metric, items())


def test_the_correction_of_a_design_is_that_designs_own():
    other = rs.BiasVariance(AP, rs.DoublingSampling(2, 8), N_ITEMS, gamma=0.1)
    design = DESIGNS["doubling"](1)
    for call in (
        lambda: design.expect(other, items()),
        lambda: design.variance(other, items()),
        lambda: design.of(other, design.draw(items(), 0)),
    ):
        with pytest.raises(
            ValueError, match=r"a correction for DoublingSampling\(m0=2, m=9\), got BiasVariance"
        ):
            call()
    # Ranks are no observations of it, even where they could be taken for their numbers.
    for sampled in (Ranks([1, 2], 10), Ranks([1, 2], N_ITEMS)):
        for corrected in (other, metrics_of("doubling")[0]):
            with pytest.raises(ValueError, match=r"observes, which is no ranking: the estimate is"):
                corrected(sampled)


RUN = UNIFORM.draw(Ranks([3, 9, 1, 20, 7, 7], N_ITEMS), 0)
EXACT = Ranks([3, 9, 1, 20], N_ITEMS), Ranks([2, 9, 4, 25], N_ITEMS)
inference, consistency = rs.inference, rs.sampling.consistency

# Where the run of a sampler is read, or looked ahead to: what is made for m uniform draws is read.
OF_SAMPLED = {
    "standard_errors": lambda metric: inference.standard_errors(metric, RUN, UNIFORM, N_ITEMS),
    "order_probability": lambda metric: inference.order_probability(metric, *EXACT, UNIFORM),
    "shared_covariance": lambda metric: inference.shared_covariance(
        metric, *EXACT, UNIFORM, [1, 8, 0, 19]
    ),
    "paired_comparison": lambda metric: inference.paired_comparison(metric, RUN, RUN),
    "compare_pairs": lambda metric: inference.compare_pairs({"a": RUN, "b": RUN}, [metric]),
    "compare": lambda metric: rs.compare({"a": RUN}, [metric]),
    "metric(ranks)": lambda metric: metric(RUN),
    "bias_and_variance": lambda metric: rs.experiments.bias_and_variance(
        {"it": metric}, AP, UNIFORM, N_ITEMS
    ),
}


@pytest.mark.parametrize("place", OF_SAMPLED)
def test_sampled_ranks_are_read_by_what_is_made_for_them(place):
    call = OF_SAMPLED[place]
    for name in ("uniform", "uniform, replace", "rank estimate"):
        call(CORRECTIONS[name])
    for name in ("another m", "doubling"):
        with pytest.raises(ValueError, match=r"(made for|for|reads what) \w+"):
            call(CORRECTIONS[name])


# Where a metric of exact ranks is asked for: no correction is one.
OF_EXACT = {
    "report": lambda metric: rs.report(RUN, m=M, n_items=N_ITEMS, metrics=[metric]),
    "certified_interval": lambda metric: inference.certified_interval(
        metric, RUN, UNIFORM, N_ITEMS
    ),
    "sharp_bounds": lambda metric: inference.sharp_bounds(
        metric, np.full(6, 1 / 6), UNIFORM, N_ITEMS
    ),
    "plug_in": lambda metric: inference.plug_in(metric, np.full(N_ITEMS, 1 / N_ITEMS)),
    "log_spline": lambda metric: inference.log_spline(RUN, UNIFORM, N_ITEMS).mean(metric),
    "counterexample": lambda metric: consistency.counterexample(metric, UNIFORM, N_ITEMS),
    "scaled": lambda metric: consistency.scaled(metric, UNIFORM, N_ITEMS),
    "properties": lambda metric: consistency.properties(UNIFORM, N_ITEMS, [metric]),
    "a correction of it": lambda metric: rs.BiasVariance(metric, UNIFORM, N_ITEMS, gamma=0.1),
    "a correction of it, for all items": lambda metric: rs.MinimalBias(metric, UNIFORM, M + 1),
    "a rank estimate of it": lambda metric: rs.RankEstimate(metric, UNIFORM, N_ITEMS),
    "at_mean_rank": lambda metric: rs.metrics.at_mean_rank(metric, RUN),
    "figure4": lambda metric: rs.experiments.figure4(metric, n_items=N_ITEMS, m=M),
    "bias_and_variance of it": lambda metric: rs.experiments.bias_and_variance(
        {"it": AP}, metric, UNIFORM, N_ITEMS
    ),
    "required_samples": lambda metric: inference.required_samples(metric, *EXACT),
    "required_samples_from_pilot": lambda metric: inference.required_samples_from_pilot(
        metric, RUN, RUN, UNIFORM, N_ITEMS, 0, repetitions=1
    ),
}


@pytest.mark.parametrize("place", OF_EXACT)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_correction_is_no_metric_of_exact_ranks(place, correction):
    with pytest.raises(
        ValueError, match=r"metrics? must (be a|hold) metric.* got (Bias|RankE)\w+\(AP"
    ):
        OF_EXACT[place](CORRECTIONS[correction])


def test_planning_makes_the_correction_for_each_number_of_samples():
    calls = [
        lambda made: inference.required_samples(made, *EXACT, probability=0.6),
        lambda made: inference.required_samples_from_pilot(
            made, RUN, RUN, UNIFORM, N_ITEMS, 0, repetitions=1
        ),
    ]
    for call in calls:
        call(lambda sampler: rs.BiasVariance(AP, sampler, N_ITEMS, gamma=0.01))
        for name in ("uniform", "doubling"):
            with pytest.raises(ValueError, match=r"metric must read what UniformSampling\(m=\d+,"):
                call(lambda sampler, name=name: CORRECTIONS[name])


# What only ranks can be asked for, or only uniform sampling

OF_RANKS = {
    "metric": lambda seen: AP(seen),
    "report": lambda seen: rs.report(seen, m=M, n_items=N_ITEMS),
    "compare": lambda seen: rs.compare({"a": seen}, [AP]),
    "standard_errors": lambda seen: inference.standard_errors(AP, seen, UNIFORM, N_ITEMS),
    "rank_distribution": lambda seen: inference.rank_distribution(seen, UNIFORM, N_ITEMS),
    "certified_interval": lambda seen: inference.certified_interval(AP, seen, UNIFORM, N_ITEMS),
    "required_samples_from_pilot": lambda seen: inference.required_samples_from_pilot(
        AP, seen, seen, UNIFORM, N_ITEMS, 0
    ),
    "expect": lambda seen: UNIFORM.expect(AP, seen),
    "draw": lambda seen: UNIFORM.draw(seen, 0),
    "pmf": lambda seen: UNIFORM.pmf(seen),
    "Ranks": lambda seen: Ranks(seen, N_ITEMS),
}


@pytest.mark.parametrize("place", OF_RANKS)
@each_design
def test_an_observation_is_refused_where_ranks_are_asked_for(name, place):
    observed = DESIGNS[name](1).draw(items(), rng=0)
    with pytest.raises(
        ValueError, match=r"(ranks|sampled|sampled_a|values) must .*(Ranks|ranks|numbers)"
    ):
        OF_RANKS[place](observed)


OF_SAMPLER = {
    "counterexample": lambda way: consistency.counterexample(AP, way, N_ITEMS),
    "scaled": lambda way: consistency.scaled(AP, way, N_ITEMS),
    "properties": lambda way: consistency.properties(way, N_ITEMS, [AP]),
    "bias_and_variance": lambda way: rs.experiments.bias_and_variance(
        {"sampled": AP}, AP, way, N_ITEMS
    ),
    "order_probability": lambda way: inference.order_probability(AP, *EXACT, way),
    "shared_covariance": lambda way: inference.shared_covariance(AP, *EXACT, way, [0] * 4),
    "standard_errors": lambda way: inference.standard_errors(AP, RUN, way, N_ITEMS),
    "rank_distribution": lambda way: inference.rank_distribution(RUN, way, N_ITEMS),
    "certified_interval": lambda way: inference.certified_interval(AP, RUN, way, N_ITEMS),
    "sharp_bounds": lambda way: inference.sharp_bounds(AP, np.full(6, 1 / 6), way, N_ITEMS),
    "rank estimate": lambda way: rs.RankEstimate(AP, way, N_ITEMS),
}


@pytest.mark.parametrize("place", OF_SAMPLER)
@each_design
def test_what_only_a_sampler_can_answer_says_so_for_a_design(name, place):
    design = DESIGNS[name](1)
    with pytest.raises(ValueError, match=rf"sampler must .*got .*{type(design).__name__}\("):
        OF_SAMPLER[place](design)


def test_the_bias_of_a_designs_correction_is_known():
    """A design with a law of its own can be asked what a correction for it does."""
    design = DESIGNS["doubling"](1)
    corrected = rs.BiasVariance(AP, design, N_ITEMS, gamma=0.1)
    table = rs.experiments.bias_and_variance({"it": corrected}, AP, design, N_ITEMS)
    every = Ranks(range(1, N_ITEMS + 1), N_ITEMS)
    bias = design.expect(corrected, every) - AP(every)
    assert table.loc["it", "rms bias"] == pytest.approx(np.sqrt((bias**2).mean()))
    assert table.loc["it", "std"] ** 2 == pytest.approx(design.variance(corrected, every).mean())


@pytest.mark.parametrize("wrong", [None, 100, "uniform", rs.UniformSampling, AP])
@pytest.mark.parametrize("place", OF_SAMPLER)
def test_what_is_no_sampler_is_refused(place, wrong):
    with pytest.raises(ValueError, match="sampler must be"):
        OF_SAMPLER[place](wrong)


def test_an_observation_may_be_of_a_pool_without_irrelevant_items():
    assert rs.Observed(rs.EarlyStopping(3), 1, rank=[1, 1]).n_items.tolist() == [1, 1]
