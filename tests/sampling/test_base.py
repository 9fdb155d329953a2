"""The contract of samplers and designs: what each of them draws, expects, and refuses."""

import inspect

import numpy as np
import pytest

import recsample as rs
from recsample import AP, AUC, NDCG, Design, Observed, Ranks, Recall, Sampler

N_ITEMS, M = 30, 5

# Four instances, of which the last has ties.
ABOVE, TIES = [3, 5, 0, 2], [0, 0, 0, 2]


def items(times=1):
    """The instances, several times."""
    return Ranks((np.array(ABOVE) + 1).tolist() * times, N_ITEMS, ties=TIES * times)


SAMPLERS = {
    "uniform": rs.UniformSampling(M),
    "uniform, replace": rs.UniformSampling(M, replace=True),
    "pooled": rs.PooledSampling(M),
}
DESIGNS = {
    "inverse": rs.InverseSampling(),
    "inverse, capped": rs.InverseSampling(cap=6),
    "early stopping": rs.EarlyStopping(k=4),
}
WAYS = SAMPLERS | DESIGNS
each_sampler = pytest.mark.parametrize("name", SAMPLERS)
each_design = pytest.mark.parametrize("name", DESIGNS)
each_way = pytest.mark.parametrize("name", WAYS)


def metrics_of(name):
    """What a sampler or design can be asked for."""
    match name:
        case "early stopping":
            return [Recall @ 4, NDCG @ 3, AP @ 4]
        case "uniform" | "uniform, replace":
            corrected = rs.BiasVariance(AP, rs.UniformSampling(M), N_ITEMS, gamma=0.1)
            return [AP, NDCG, AUC, Recall @ 2, corrected]
        case "inverse" | "inverse, capped":
            return [AP, NDCG, AUC, rs.RBP(0.8)]
    return [AP, NDCG, AUC, Recall @ 2]


# One or the other


def test_every_way_to_draw_is_a_sampler_or_a_design():
    import public

    ways = {type(way) for way in WAYS.values()}
    public_ones = {
        cls
        for cls in filter(inspect.isclass, public.names().values())
        if issubclass(cls, (Sampler, Design)) and not inspect.isabstract(cls)
    }
    assert ways == public_ones and len(ways) >= 4
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
    sampled = SAMPLERS[name].draw(ranks, rng=0)
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
    design = DESIGNS[name]
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
    way, ranks = WAYS[name], items(50)
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
    way = WAYS[name]
    drawn = way.draw(many, rng=1)
    for metric in metrics_of(name):
        found = metric(drawn) if isinstance(way, Sampler) else way.of(metric, drawn)
        found = found.reshape(times, 4)
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(times)
        assert (np.abs(mean - way.expect(metric, few)) <= 4 * error + 1e-12).all(), metric
        variance = way.variance(metric, few)
        fourth = ((found - mean) ** 4).mean(axis=0)
        error = np.sqrt((fourth - found.var(axis=0) ** 2) / times)
        assert (np.abs(found.var(axis=0) - variance) <= 4.5 * error + 1e-12).all(), metric
        assert way.std_of_mean(metric, few) == pytest.approx(np.sqrt(variance.sum()) / 4)
        if isinstance(way, Sampler):
            for both in zip(way.moments(metric, few), (way.expect(metric, few), variance)):
                assert both[0] == pytest.approx(both[1], abs=1e-13)


@each_way
def test_the_variance_of_several_relevant_items_is_refused(name):
    way, metric = WAYS[name], metrics_of(name)[0]
    several = Ranks([[3], [1, 9]], N_ITEMS)
    assert np.isfinite(way.expect(metric, several)).all()
    for method in (way.variance, way.std_of_mean, getattr(way, "moments", way.variance)):
        with pytest.raises(ValueError, match="ranks must .* one relevant item .*, got 2 in inst"):
            method(metric, several)


@each_design
def test_cost_is_the_mean_number_of_items_looked_at(name):
    """By scans of scores in which the first items are above the last."""
    design, times = DESIGNS[name], 1_500
    ranks = Ranks(np.array(ABOVE) + 1, N_ITEMS)
    table = (np.arange(N_ITEMS) < np.array(ABOVE)[:, None]) * 2.0
    table[:, -1] = 1.0
    scan = rs.sampling.Scan(lambda u, i: table[u % 4, i], [N_ITEMS - 1] * 4 * times, N_ITEMS)
    observed = design.scan(scan)
    assert type(observed) is Observed and observed.design == design
    scored = scan.scored.reshape(times, 4)
    error = scored.std(axis=0) / np.sqrt(times)
    assert (np.abs(scored.mean(axis=0) - design.cost(ranks)) <= 4 * error).all()
    for metric in metrics_of(name):
        found = design.of(metric, observed).reshape(times, 4)
        error = found.std(axis=0) / np.sqrt(times)
        gap = np.abs(found.mean(axis=0) - design.expect(metric, ranks))
        assert (gap <= 4 * error + 1e-12).all(), metric


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
        (
            "early stopping",
            {"rank": [[1]]},
            r"rank must have shape \(1,\) for EarlyStopping.*, got \(1, 1\)",
        ),
    ],
)
def test_what_a_design_needs_is_asked_for(name, columns, message):
    design = DESIGNS[name]
    with pytest.raises(ValueError, match=message):
        design.of(metrics_of(name)[0], Observed(design, N_ITEMS, **columns))


# What is of another kind


@each_design
def test_an_observation_of_another_design_is_refused(name):
    design, metric = DESIGNS[name], metrics_of(name)[0]
    for other, another in DESIGNS.items():
        if other != name:
            observed = another.draw(items(), rng=0)
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
}
# A correction reads as many uniform draws, with replacement or without.
READ = {"uniform", "uniform, replace"}


@each_way
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_correction_for_another_kind_is_refused_everywhere(name, correction):
    way, metric = WAYS[name], CORRECTIONS[correction]
    calls = [way.expect, way.variance, way.std_of_mean]
    if isinstance(way, Sampler):
        calls.append(way.moments)
    else:
        calls.append(lambda metric, ranks: way.of(metric, way.draw(ranks, 0)))
        calls.append(lambda metric, ranks: way.estimate(metric, ranks, 0))
    if name in READ and correction != "another m":
        for call in calls:
            assert np.isfinite(call(metric, items())).all()
        return
    for call in calls:
        with pytest.raises(ValueError, match=r"metric must .*got \w+\(AP"):
            call(metric, items())


RUN = UNIFORM.draw(Ranks([3, 9, 1, 20, 7, 7], N_ITEMS), 0)
EXACT = Ranks([3, 9, 1, 20], N_ITEMS), Ranks([2, 9, 4, 25], N_ITEMS)
inference = rs.inference

# Where the run of a sampler is read, or looked ahead to: what is made for m uniform draws is read.
OF_SAMPLED = {
    "order_probability": lambda metric: inference.order_probability(metric, *EXACT, UNIFORM),
    "paired_comparison": lambda metric: inference.paired_comparison(metric, RUN, RUN),
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
    with pytest.raises(ValueError, match=r"(made for|for|reads what) \w+"):
        call(CORRECTIONS["another m"])


# Where a metric of exact ranks is asked for: no correction is one.
OF_EXACT = {
    "report": lambda metric: rs.report(RUN, m=M, n_items=N_ITEMS, metrics=[metric]),
    "plug_in": lambda metric: inference.plug_in(metric, np.full(N_ITEMS, 1 / N_ITEMS)),
    "a correction of it": lambda metric: rs.BiasVariance(metric, UNIFORM, N_ITEMS, gamma=0.1),
    "a correction of it, for all items": lambda metric: rs.MinimalBias(metric, UNIFORM, M + 1),
    "a rank estimate of it": lambda metric: rs.RankEstimate(metric, UNIFORM, N_ITEMS),
    "at_mean_rank": lambda metric: rs.metrics.at_mean_rank(metric, RUN),
    "figure4": lambda metric: rs.experiments.figure4(metric, n_items=N_ITEMS, m=M),
    "bias_and_variance of it": lambda metric: rs.experiments.bias_and_variance(
        {"it": AP}, metric, UNIFORM, N_ITEMS
    ),
}


@pytest.mark.parametrize("place", OF_EXACT)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_correction_is_no_metric_of_exact_ranks(place, correction):
    with pytest.raises(
        ValueError, match=r"metrics? must (be a|hold) metric.* got (Bias|RankE)\w+\(AP"
    ):
        OF_EXACT[place](CORRECTIONS[correction])


# What only ranks can be asked for, or only uniform sampling

OF_RANKS = {
    "metric": lambda seen: AP(seen),
    "report": lambda seen: rs.report(seen, m=M, n_items=N_ITEMS),
    "compare": lambda seen: rs.compare({"a": seen}, [AP]),
    "rank_distribution": lambda seen: inference.rank_distribution(seen, UNIFORM, N_ITEMS),
    "expect": lambda seen: UNIFORM.expect(AP, seen),
    "draw": lambda seen: UNIFORM.draw(seen, 0),
    "pmf": lambda seen: UNIFORM.pmf(seen),
    "Ranks": lambda seen: Ranks(seen, N_ITEMS),
}


@pytest.mark.parametrize("place", OF_RANKS)
@each_design
def test_an_observation_is_refused_where_ranks_are_asked_for(name, place):
    observed = DESIGNS[name].draw(items(), rng=0)
    with pytest.raises(
        ValueError, match=r"(ranks|sampled|sampled_a|values) must .*(Ranks|ranks|numbers)"
    ):
        OF_RANKS[place](observed)


OF_SAMPLER = {
    "bias_and_variance": lambda way: rs.experiments.bias_and_variance(
        {"sampled": AP}, AP, way, N_ITEMS
    ),
    "order_probability": lambda way: inference.order_probability(AP, *EXACT, way),
    "rank_distribution": lambda way: inference.rank_distribution(RUN, way, N_ITEMS),
    "rank estimate": lambda way: rs.RankEstimate(AP, way, N_ITEMS),
}


@pytest.mark.parametrize("place", OF_SAMPLER)
@each_design
def test_what_only_a_sampler_can_answer_says_so_for_a_design(name, place):
    design = DESIGNS[name]
    with pytest.raises(ValueError, match=rf"sampler must .*got .*{type(design).__name__}\("):
        OF_SAMPLER[place](design)


@pytest.mark.parametrize("wrong", [None, 100, "uniform", rs.UniformSampling, AP])
@pytest.mark.parametrize("place", OF_SAMPLER)
def test_what_is_no_sampler_is_refused(place, wrong):
    with pytest.raises(ValueError, match="sampler must be"):
        OF_SAMPLER[place](wrong)


def test_an_observation_may_be_of_a_pool_without_irrelevant_items():
    assert rs.Observed(rs.EarlyStopping(3), 1, rank=[1, 1]).n_items.tolist() == [1, 1]
