"""What one run of a sampled evaluation says about the exact metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import checks
from recsample._support.errors import InputError, Naming
from recsample.evaluation.audited import Audited
from recsample.evaluation.options import REPORTED, check_word
from recsample.evaluation.results import Result, recorded
from recsample.evaluation.rows import matching_of
from recsample.evaluation.sampled import Sampled, Uncorrected
from recsample.inference.audit import chances_of, exact_ranks
from recsample.inference.likelihood.sampled_run import checked_sizes
from recsample.metrics.base import Metric
from recsample.metrics.names import chosen_metrics
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.ranks.base import NOT_RANKED, OTHER_RANKS, Ranks
from recsample.ranks.checks import check_names, check_same_ids, rows_of
from recsample.ranks.counts import RankCounts
from recsample.sampling.base import Observed

__all__ = ["report"]


# The metrics where no others are asked for.
USUAL = (Recall @ 10, NDCG @ 10, AP, AUC)
# From this share of the pool on, draws with replacement and without it say different things.
MANY = 1 / 10


@recorded
def report(
    sampled: Any,
    m: ArrayLike | None = None,
    n_items: ArrayLike | None = None,
    *,
    drawn: str | None = None,
    replace: bool | None = None,
    groups: Any = None,
    exact: Any = None,
    chosen: ArrayLike = "random",
    metrics: Sequence[Metric | str] | None = None,
) -> Result:
    """What one run of a sampled evaluation says about the exact metrics.

    Each metric gets limits of 95 % confidence that assume nothing of the exact ranks: limits of the
    mean of scores, each of which bounds the metric of its instance on average over the draws (see
    `recsample.inference.likelihood.limits`). Narrower limits stand beside them, which rest on an
    assumption: within the best fifth of the list, no rank is more frequent than a better one. Where
    the data contradict that, there are none. But of the best ranks the data hardly show it
    (``Result.blind``), and the book's appendix on limits measures how often such limits hold. Where
    there are no limits at all, the ranks cannot have come about as it is said.

    What is certain is another mean: a sampled metric is on average exact Recall@K over known
    cut-offs K (`UniformSampling.effective_cutoffs`). ``Result.reading`` has it with limits of a
    mean. Ranks among different items that were drawn in another way are no worse than those among
    all, and give upper limits.

    The value is an estimate by the EM algorithm, stopped early, and may be outside of the limits.
    Metrics that are linear in the rank, AUC and percentile rank, need neither estimate nor scores:
    their mean among the drawn items has no bias.

    Parameters
    ----------
    sampled : Ranks, RankCounts, array_like of int, or mapping of str to these
        Ranks among the drawn items, one per instance; several relevant items or ties as `Ranks`.
        Several recommenders by name, over the same instances in the same order; of `RankCounts`,
        which do not say which ranks belong to the same instance, no pairs are compared. A pandas
        Series is matched by its index, of `Ranks` by their ``ids``; arrays by position.
    m : int or array_like of int, shape (instances,), optional
        How many irrelevant items were drawn for each instance. `Ranks` know it. A pandas Series is
        matched by its index here too.
    n_items : int or array_like of int, shape (instances,), optional
        Sizes of the pools that were drawn from, the relevant items included; of `RankCounts`, one
        for each of their rows. What a sampler of this package has drawn knows it.
    drawn : {"uniform", "popular", "unknown"}, optional
        How the items were drawn, which ranks do not tell: "uniform" is at random with equal
        chances, anew for each instance; other draws give upper limits only, without `exact`. Needed
        unless a sampler of this package has drawn, whose ranks remember it; what they remember
        cannot be overruled, by `m`, `n_items` and `replace` neither.
    replace : bool, optional
        Whether an item could be drawn twice for an instance. Needed where it is not known and a
        tenth of a pool or more was drawn; of less it is taken for False. Of other draws than
        uniform ones it has to be False.
    groups : mapping, dataframe, pandas.Series or array_like, shape (instances,), optional
        Whose each instance is, where one person has several: relevant items, sessions or seeds with
        draws of their own, repeated draws. Estimates are those of the rows. Limits count groups, at
        least two, whatever rows of one have in common; none is taken to be larger than the largest.
    exact : array_like, tuple of int and Ranks, or mapping of str to these, optional
        Ranks among all items of some instances that were chosen by chance. A pandas Series by the
        index of `sampled`, an array with NaN for all others, or the numbers of the instances and
        their `Ranks`; of several recommenders by name, for the same instances. With such an audit
        nothing is assumed about ranks or draws, and `drawn` may be anything.
        `recsample.inference.plan_audit` says how many.
    chosen : "random" or array_like of float, shape (instances,), optional
        How these were chosen: so many of all at random; or each by itself with the chance that
        stands here, above 0.
    metrics : sequence of Metric or str, optional
        By default Recall@10, NDCG@10, AP and AUC.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        For ranks that are none, beyond m + 1 or of too few instances, recommenders of different
        instances or in different orders, pools smaller than what was drawn, what a design has
        observed, which needs no correction, draws of which nothing is stated, repeated items in
        other draws than uniform ones, and what contradicts the ranks' own memory. For several rows
        of a user without `groups`: a list of several relevant items is `Ranks`. For exact ranks
        that are not possible beside the sampled ones, and a choice that cannot be as stated.

    Examples
    --------
    >>> import numpy as np
    >>> import recsample as rs
    >>> x = rs.Ranks(np.geomspace(1, 3_000, 500).astype(int), 3_000)
    >>> sampled = rs.UniformSampling(m=100).draw(x, rng=0)
    >>> found = rs.report(sampled, metrics=["Recall@10"])
    >>> row, exact = found.table.loc["Recall@10"], (rs.Recall @ 10)(x).mean()
    >>> bool(row["low"] <= row["if_low"] < exact < row["if_high"] <= row["high"])
    True

    A bare column does not know how it came about:

    >>> column = sampled.values
    >>> stated = rs.report(column, m=100, n_items=3_000, drawn="uniform", metrics=["Recall@10"])
    >>> stated.table.equals(found.table)
    True

    Two draws for the same users are no more users:

    >>> twice = np.append(column, rs.UniformSampling(m=100).draw(x, rng=1).values)
    >>> users, pools = np.tile(np.arange(500), 2), 3_000
    >>> again = rs.report(twice, 100, pools, drawn="uniform", groups=users, metrics=["AUC"])
    >>> print(again.head.partition(". ")[2].partition(";")[0])
    They belong to 500 groups, the largest of 2

    Exact ranks of 200 users that were chosen at random need no assumption about ranks or draws:

    >>> few = np.random.default_rng(0).choice(len(x), 200, replace=False)
    >>> audited = rs.report(sampled, exact=(few, x[few]), metrics=["Recall@10"])
    >>> low, high = audited.table.loc["Recall@10", ["low", "high"]]
    >>> bool(low < (rs.Recall @ 10)(x).mean() < high)
    True
    """
    if exact is None and not checks.is_one_of(chosen, ("random",)):
        raise InputError("exact", Naming("must be given with {chosen:=}")).got("None")
    asked = chosen_metrics(USUAL if metrics is None else metrics)
    refuse_corrections(asked)
    given = sampled if isinstance(sampled, Mapping) else {"": sampled}
    if not given:
        raise InputError("sampled", "must hold at least one recommender").got("none")
    check_names("sampled", given)
    matching = matching_of(given, groups)
    m, n_items = matching.aligned("m", m), matching.aligned("n_items", n_items)
    runs = {name: _ranks_of(one, m, matching) for name, one in given.items()}
    _check_same(runs)
    draws = draws_of(runs, n_items, drawn, replace, audited=exact is not None)
    about: dict[str, Any] = {
        "ranks": runs,
        "metrics": tuple(asked),
        "named": given is sampled,
        "groups": matching.groups,
    }
    if exact is None and draws.how != "uniform":
        for ranks, _ in map(rows_of, runs.values()):
            sizes = np.maximum(ranks.sizes, 2) if draws.n_items is None else draws.n_items
            checked_sizes(ranks, sizes, replace=False)
        alone = Uncorrected(how=draws.how, n_items=draws.n_items, **about)
        return Result(alone, alone.findings(), {})
    one = Sampled(**about, **draws._asdict())
    study = one if exact is None else _audited(one, exact, chosen)
    return Result(study, study.findings(), {})


def _audited(sampled: Sampled, exact: Any, chosen: Any) -> Audited:
    """The same with exact ranks of some instances, by which all else is said."""
    if sampled.groups is not None:
        allowed = "must come without groups or several rows of a user"
        raise InputError("exact", allowed, remedy="audited are users, who are independent")
    if not sampled.pairable:
        allowed = "must come with Ranks"
        raise InputError("exact", allowed, remedy="RankCounts do not say who was audited")
    given = exact if isinstance(exact, Mapping) else {"": exact}
    wanted = list(sampled.ranks) if sampled.named else "one recommender"
    if list(given) != list(sampled.ranks) and set(given) != set(sampled.ranks):
        got = list(given) if given is exact else checks.shown(exact)
        raise InputError("exact", f"must hold ranks of {wanted}, by the names of sampled").got(got)
    n_items, replace = sampled.n_items, sampled.replace
    found = {
        name: exact_ranks(given[name], ranks, checked_sizes(ranks, n_items, replace), replace)
        for name, ranks in sampled.ranks.items()
    }
    users, _ = next(iter(found.values()))
    other = [name for name, (audited, _) in found.items() if not np.array_equal(users, audited)]
    if other:
        got = f"other ones for {other[0]!r} than for {next(iter(found))!r}"
        raise InputError("exact", "must hold the same instances of each recommender").got(got)
    chances = [chances_of(chosen, ranks, users) for ranks in sampled.ranks.values()]
    by_name = {name: ranks for name, (_, ranks) in found.items()}
    return Audited(sampled=sampled, exact=by_name, audited=users, chances=chances[0])


class Draws(NamedTuple):
    """How items were drawn, from which pools, and by whose word."""

    how: str
    n_items: Any  # None where nobody asks
    replace: bool
    stated: bool


def draws_of(
    runs: Mapping[str, Ranks | RankCounts],
    n_items: ArrayLike | None,
    drawn: str | None,
    replace: bool | None,
    *,
    audited: bool = False,
) -> Draws:
    """What the runs remember of their draws, or else what is stated; contradictions are refused.

    Where users were `audited`, it does not matter how items were drawn.
    """
    known = [run.drawn for run in runs.values() if run.drawn is not None]
    stated = len(known) < len(runs)
    if drawn is not None or (stated and not audited):
        check_word("drawn", drawn, REPORTED)
    for one in known:
        _check_stated("drawn", drawn, one.how)
        _check_stated("replace", replace, one.replace)
        n_items = _pools(n_items, one.n_items)
    for what, ways in (
        ("in one way", {one.how for one in known}),
        ("all with replacement, or all without", {one.replace for one in known}),
    ):
        if len(ways) > 1:
            allowed = f"must hold recommenders whose items were drawn {what}"
            raise InputError("sampled", allowed).got(sorted(map(str, ways)), "report them alone")
    how = known[0].how if known else drawn or "unknown"
    if known and replace is None:
        replace = known[0].replace
    if how != "uniform" and not audited:
        check_different(how, replace)
        replace = False
        if n_items is None:
            return Draws(how, None, replace, stated)
    if n_items is None:
        allowed = "must be given"
        raise InputError("n_items", allowed, remedy="the sizes of the pools that were drawn from")
    sizes = checks.whole_numbers("n_items", n_items, lowest=2)
    if replace is None:
        replace = _check_few(runs, sizes)
    return Draws(how, sizes, checks.true_or_false("replace", replace), stated)


def check_different(how: str, replace: bool | None) -> None:
    """Refuse what tells nothing: among repeated items a rank may be worse than among all."""
    if replace is None or checks.true_or_false("replace", replace):
        remedy = "among repeated items a rank may be worse than among all, which limits nothing"
        if replace is None:
            remedy = "state {replace:=False} if no item was drawn twice for a user"
        allowed = f"must be False where items were drawn {how!r}"
        raise InputError("replace", allowed).got(replace, Naming(remedy))


def _check_stated(name, stated, known):
    """Refuse a statement that contradicts what ranks remember."""
    if None not in (stated, known) and stated != known:
        allowed = f"must be {known!r}, as sampled remembers of its draws"
        raise InputError(name, allowed).got(checks.shown(stated), "leave it out")


def _pools(stated, known):
    """The sizes of the pools that ranks remember; other ones are refused."""
    if known is None or stated is None:
        return stated if known is None else known if np.ptp(known) else int(known[0])
    sizes = checks.one_or_each("n_items", stated, len(known), lowest=2)
    allowed = (
        "must be the same for all, and {0} in instance {at}, as sampled remembers of its draws"
    )
    checks.refuse_first(sizes != known, "n_items", allowed, "{1}", known, sizes)
    return stated


def _check_few(runs, sizes):
    """False, as draws without replacement: of so few items from each pool that it is all one."""
    for rows, _ in map(rows_of, runs.values()):
        pools = checks.one_or_each("n_items", sizes, len(rows))
        m = rows.n_irrelevant
        # More than there is is refused later, whatever is said of replacement.
        checks.refuse_first(
            (m >= MANY * sizes) & (rows.sizes <= pools),
            "replace",
            "must be stated where a tenth of a pool or more was drawn",
            "nothing for {m} = {} of {n_items} = {} in instance {at}",
            m,
            pools,
            remedy="whether an item could be drawn twice",
        )
    return False


def refuse_corrections(metrics: Sequence[Metric]) -> None:
    """Refuse corrections among metrics: what is drawn is corrected here."""
    for one in metrics:
        if one.sampler is not None:
            allowed = (
                "must hold no corrections: each metric must be a metric of exact ranks such as AP"
            )
            raise InputError("metrics", allowed).got(f"{one}, which reads what {one.sampler} gives")


def _ranks_of(sampled, m, matching):
    """Sampled ranks, checked here so that a message speaks of m and not of a pool."""
    if isinstance(sampled, Observed):
        got = f"what the design {checks.shown(sampled.design)} observes, see Design.of"
        raise InputError("sampled", "must be ranks among uniformly drawn items").got(got)
    checks.refuse_frame("sampled", sampled, "choose the column of ranks, or see Ranks.from_frame")
    if isinstance(sampled, (Ranks, RankCounts)):
        rows, _ = rows_of(sampled)
        if m is not None:
            drawn, known = checks.one_or_each("m", m, len(rows), lowest=1), rows.n_irrelevant
            allowed = "must be the number of drawn items, {0} in instance {at} of sampled"
            checks.refuse_first(drawn != known, "m", allowed, "{1}", known, drawn)
        return sampled
    if m is None:
        allowed = "must be given with a column of ranks"
        raise InputError("m", allowed, remedy="how many items were drawn")
    sampled = matching.aligned("sampled", sampled)
    values = checks.whole_numbers("sampled", sampled, cure=OTHER_RANKS, missing=NOT_RANKED)
    if values.ndim != 1:
        allowed = "must be one-dimensional, one rank per instance"
        raise InputError("sampled", allowed).got(f"shape {values.shape}")
    if len(values) < 2:
        raise InputError("sampled", "must hold at least two instances").got(len(values))
    drawn, below = checks.one_or_each("m", m, len(values), lowest=1), values < 1
    # Counted from 0, the best rank is about as frequent as the next one, and none is above m.
    is_from_zero = values.min() == 0 and (values <= drawn).all()
    line = "numpy.add(sampled, 1) counts from 1"
    line *= bool(is_from_zero and 2 * below.sum() >= (values == 1).sum())
    got = f"{below.sum():,} of {below.size:,} below, such as {{}}"
    checks.refuse_first(below, "sampled", "must be ranks from 1 on", got, values, remedy=line)
    among = drawn + 1 if np.ndim(m) else int(drawn[0]) + 1
    allowed, got = "must hold ranks up to m + 1 = {0}", "{1} in instance {at}"
    checks.refuse_first(values > among, "sampled", allowed, got, among, values)
    del values  # which Ranks keep in memory
    labels = matching.labels
    return Ranks(sampled, among, ids=None if labels is None else np.asarray(labels))


def _check_same(runs):
    """Refuse recommenders that were not evaluated on the same instances."""
    listed = {repr(name): run for name, run in runs.items() if isinstance(run, Ranks)}
    each = len(listed) == len(runs)
    if listed and not each:
        counted = next(name for name, run in runs.items() if isinstance(run, RankCounts))
        allowed = "must hold the same kind for each recommender"
        got = f"RankCounts of {counted!r} beside Ranks of {next(iter(listed))}"
        raise InputError("sampled", allowed).got(got, "RankCounts.of counts Ranks")
    numbers = {name: run.n_relevant if each else len(run) for name, run in runs.items()}
    first = next(iter(runs))
    for name, one in numbers.items():
        if not np.array_equal(one, numbers[first]):
            got = f"other instances or numbers of relevant items for {name!r} than for {first!r}"
            raise InputError("sampled", "must hold recommenders of the same instances").got(got)
    check_same_ids("sampled", listed)
