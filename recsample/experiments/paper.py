"""The tables and figures of the paper: each function computes the data of one of them.

Tables are pandas DataFrames indexed by metric, recommender and estimator. `as_printed` lays them
out as the paper does, `recsample.plotting` draws the figures.

Reference: W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020,
https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import resources
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support import checks
from recsample._support.arrays import counted
from recsample._support.errors import InputError
from recsample._support.extras import extra
from recsample._support.frames import table_of
from recsample._support.typing import Rng
from recsample.corrections.base import average_errors, normalised_prior
from recsample.corrections.bias_variance import BiasVariance
from recsample.corrections.constrained import ConstrainedLeastSquares
from recsample.corrections.rank_estimate import RankEstimate
from recsample.datasets.recorded import recorded_ranks
from recsample.metrics.averages import compare
from recsample.metrics.base import Metric
from recsample.metrics.names import exact_metric, the_metric
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Geometric, Logarithmic, Reciprocal
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_recommenders, mean_pool_size
from recsample.sampling import large_pools
from recsample.sampling.base import HasLaw, check_law, check_readable, check_sampler
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd


TOY_METRICS: tuple[Metric, ...] = (AUC, AP, NDCG, Recall @ 10)
MOVIELENS_METRICS: tuple[Metric, ...] = (Recall @ 10, NDCG @ 10, AP, AUC)
_INDEX = ["metric", "recommender", "estimator"]


def toy_ranks() -> dict[str, Ranks]:
    """The ranks of the recommenders A, B and C of section 3.2: five instances, 10,000 items.

    Returns
    -------
    dict of str to Ranks

    Examples
    --------
    >>> from recsample import experiments
    >>> experiments.toy_ranks()["B"].values
    array([  40,   40, 8437, 9266, 4482])
    """
    ranks = {
        "A": [100, 100, 100, 100, 100],
        "B": [40, 40, 8437, 9266, 4482],
        "C": [212, 2, 743, 5342, 1548],
    }
    return {name: Ranks(values, n_items=10_000) for name, values in ranks.items()}


def printed_table(number: int) -> pd.DataFrame:
    """The numbers that the paper prints in one of its tables, 3 and 4 in percent.

    Parameters
    ----------
    number : {1, 2, 3, 4}

    Returns
    -------
    pandas.DataFrame
        "mean" and "std" (NaN where none), by metric, recommender (in Table 4 a pair), estimator.

    Examples
    --------
    >>> from recsample import experiments
    >>> float(experiments.printed_table(3).loc[("AP", "Y", "Sampled"), "mean"])
    30.01
    """
    pd = extra("pandas")
    if isinstance(number, bool) or number not in (1, 2, 3, 4):
        allowed = "must be one of the paper's tables, 1 to 4"
        raise InputError("number", allowed).got(checks.shown(number))
    with resources.files("recsample").joinpath("data/printed_tables.csv").open("rb") as file:
        rows = pd.read_csv(file)
    return rows[rows.pop("table") == number].set_index(_INDEX)


def table1() -> pd.DataFrame:
    """Table 1: the toy recommenders under the exact metrics.

    Returns
    -------
    pandas.DataFrame
        Recommenders A, B, C by AUC, AP, NDCG, Recall@10.

    Examples
    --------
    >>> from recsample import experiments
    >>> print(experiments.table1().round(3))
         AUC     AP   NDCG  Recall@10
    A  0.990  0.010  0.150        0.0
    B  0.555  0.010  0.122        0.0
    C  0.843  0.101  0.208        0.2
    """
    return compare(toy_ranks(), TOY_METRICS)


def table2(
    *, m: int = 99, replace: bool = False, repetitions: int = 1000, rng: Rng = 0
) -> pd.DataFrame:
    """Table 2: the toy recommenders under sampled metrics.

    Parameters
    ----------
    m : int, optional
        Number of sampled items.
    replace : bool, optional
    repetitions : int, optional
        How often they are drawn.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        "mean" and "std" from the law of the sampled rank, "repeated mean" and "repeated std" over
        the repetitions, of the estimators "Exact" and "Sampled".

    Examples
    --------
    >>> from recsample import experiments
    >>> table = experiments.table2(repetitions=10)
    >>> round(float(table.loc[("AP", "A", "Sampled"), "mean"]), 3)
    0.636
    """
    sampler = UniformSampling(m, replace=replace)
    targets = {metric: {"Sampled": metric} for metric in TOY_METRICS}
    found = _law_and_repetitions(toy_ranks(), targets, sampler, repetitions, rng)
    return _with_repetitions(*found)


def estimators(metric: Metric | str, m: int, n_items: int) -> dict[str, Metric]:
    """The estimators of Table 3, with the settings of the published numbers.

    The corrections use the binomial law and one pool size for all users, the rank estimate divides
    by m + 1, and constrained least squares has values of at least 0. The paper does not mention
    these settings; the book's chapter on the reproduction shows how they were found.

    Parameters
    ----------
    metric : Metric or str
    m, n_items : int
        Number of sampled items, and the pool size that the corrections assume.

    Returns
    -------
    dict of str to Metric
        "Sampled" (the metric itself), "Rank Estimate", "CLS", "BV 1" to "BV 0.001".

    Examples
    --------
    >>> import recsample as rs
    >>> list(rs.experiments.estimators(rs.AP, m=10, n_items=50))[:4]
    ['Sampled', 'Rank Estimate', 'CLS', 'BV 1']
    """
    metric, sampler = exact_metric(metric), UniformSampling(m, replace=True)
    found = {
        "Sampled": metric,
        "Rank Estimate": RankEstimate(metric, sampler, n_items, plus_one=True),
        "CLS": ConstrainedLeastSquares(metric, sampler, n_items),
    }
    for gamma in (1, 0.1, 0.01, 0.001):
        found[f"BV {gamma:g}"] = BiasVariance(metric, sampler, n_items, gamma=gamma)
    return found


def table3(
    ranks: Mapping[str, Ranks] | None = None, *, m: int = 100, repetitions: int = 100, rng: Rng = 0
) -> pd.DataFrame:
    """Table 3: recommenders on MovieLens, exact, sampled and corrected, in percent.

    Negatives are drawn without replacement from each user's own pool.

    Parameters
    ----------
    ranks : dict of str to Ranks, default the recorded ranks of X, Y and Z
    m, repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        As `table2`, with "Exact" and all `estimators`.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"Y": rs.Ranks([1, 4, 40], n_items=50), "Z": rs.Ranks([2, 2, 50], n_items=50)}
    >>> table = rs.experiments.table3(ranks, m=10, repetitions=2)
    >>> table.loc[[("AUC", "Y", "Exact"), ("AUC", "Y", "Sampled")], "mean"].round(2).tolist()
    [71.43, 71.43]
    """
    ranks = _given_or_recorded(ranks)
    return 100 * _with_repetitions(*_movielens_runs(ranks, m, repetitions, rng))


def table4(
    ranks: Mapping[str, Ranks] | None = None, *, m: int = 100, repetitions: int = 100, rng: Rng = 0
) -> pd.DataFrame:
    """Table 4: how often a sampled evaluation has two recommenders in the right order, in percent.

    From the law: the difference of two means over thousands of users is nearly normal, so the
    chance of the right order is Phi(difference / its standard deviation), where the recommenders
    are sampled independently.

    Parameters
    ----------
    ranks : dict of str to Ranks, default the recorded ranks of X, Y and Z
    m, repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        "mean", the chance from the law, and "repeated mean", the share of the repetitions; the
        recommender is a pair, "X vs Y".

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"Y": rs.Ranks([1, 4, 40], n_items=50), "Z": rs.Ranks([2, 2, 50], n_items=50)}
    >>> table = rs.experiments.table4(ranks, m=10, repetitions=2)
    >>> float(table.loc[("AUC", "Y vs Z", "Sampled"), "mean"].round(1))
    89.7
    """

    from scipy import special

    ranks = _given_or_recorded(ranks)
    law, repeated = _movielens_runs(ranks, m, repetitions, rng)
    sampled = law.drop("Exact", level="estimator").index
    cells = dict.fromkeys((metric, estimator) for metric, _, estimator in sampled)
    rows = {}
    for first, second in combinations(ranks, 2):
        for metric, estimator in cells:
            exact = [law.loc[(metric, other, "Exact"), "mean"] for other in (first, second)]
            sign = np.sign(exact[1] - exact[0])
            one, two = ((metric, other, estimator) for other in (first, second))
            difference = sign * (law.loc[two, "mean"] - law.loc[one, "mean"])
            spread = np.hypot(law.loc[one, "std"], law.loc[two, "std"])
            right = sign * (repeated[two] - repeated[one]) > 0
            rows[(metric, f"{first} vs {second}", estimator)] = {
                "mean": 100 * special.ndtr(difference / spread),
                "repeated mean": 100 * right.mean(),
            }
    return table_of(rows, _INDEX)


def as_printed(table: pd.DataFrame, decimals: int) -> pd.DataFrame:
    """A table in the paper's layout: rows by metric and recommender, columns by estimator.

    Parameters
    ----------
    table : pandas.DataFrame, as `table2` to `table4` and `printed_table` return
    decimals : int

    Returns
    -------
    pandas.DataFrame of str
        "mean ± std", or only the mean.

    Examples
    --------
    >>> from recsample import experiments
    >>> experiments.as_printed(experiments.printed_table(3), 2).loc[("AP", "X"), "CLS"]
    '3.58 ± 0.06'
    """
    names = getattr(getattr(table, "index", None), "names", [])
    if "estimator" not in names or "mean" not in table.columns:
        allowed = f"must be a dataframe with a column 'mean' and indexed by {_INDEX}"
        raise InputError("table", allowed).got(checks.shown(table))
    decimals = int(checks.whole_numbers("decimals", decimals, lowest=0))

    def cell(row):
        text = f"{row['mean']:.{decimals}f}"
        spread = row.get("std", np.nan)
        return text if np.isnan(spread) else f"{text} ± {spread:.{decimals}f}"

    cells = table.apply(cell, axis=1).unstack("estimator")
    # unstack sorts; the rows and columns go back to the order in which they came
    rows = table.index.droplevel("estimator").unique()
    return cells.loc[rows, table.index.get_level_values("estimator").unique()]


def figure1(n_items: int = 10_000) -> pd.DataFrame:
    """Figure 1: the metrics as functions of the predicted rank.

    Parameters
    ----------
    n_items : int, optional

    Returns
    -------
    pandas.DataFrame
        A row per rank 1, ..., `n_items`, a column per metric.

    Examples
    --------
    >>> from recsample import experiments
    >>> experiments.figure1(100).loc[10].round(3).to_dict()
    {'AUC': 0.909, 'AP': 0.1, 'NDCG': 0.289, 'Recall@10': 1.0}
    """
    pd = extra("pandas")
    n_items = checks.positive_int("n_items", n_items)
    r = np.arange(1, n_items + 1)
    columns = {str(metric): metric.of_rank(r, n_items) for metric in TOY_METRICS}
    return pd.DataFrame(columns, pd.Index(r, name="rank"))


def figure2(samples: Sequence[int] | None = None, *, replace: bool = False) -> pd.DataFrame:
    """Figure 2: expected sampled metrics of A, B and C as the number of samples grows.

    Parameters
    ----------
    samples : sequence of int, optional
        Numbers m of sampled items; by default 40, from 1 to all 9,999, evenly spaced in logarithm.
    replace : bool, optional

    Returns
    -------
    pandas.DataFrame
        Columns A, B, C, indexed by metric and m.

    Examples
    --------
    >>> from recsample import experiments
    >>> experiments.figure2([99]).loc["AP"].round(3).values.tolist()
    [[0.636, 0.341, 0.326]]
    """

    samples = _checked_samples(_log_spaced(9_999, 40) if samples is None else samples)
    ranks = toy_ranks()
    expected = _expected_of_all(ranks)
    rows = {
        (str(metric), m): expected(metric, UniformSampling(m, replace=replace))
        for metric in TOY_METRICS
        for m in samples
    }
    return table_of(rows, ["metric", "m"])


def _expected_of_all(ranks):
    """A function that expects a metric of all recommenders in one call, which takes less time."""
    each = [Ranks(r.values, r.n_items, ties=r.ties) for r in ranks.values()]
    joined = Ranks.concatenate(each)
    ends = np.cumsum([len(r) for r in ranks.values()])[:-1]

    def expected(metric, sampler):
        values = sampler.expect(metric, joined)
        return {name: part.mean() for name, part in zip(ranks, np.split(values, ends))}

    return expected


def order_changes(
    metric: Metric | str,
    ranks: Mapping[str, Ranks] | None = None,
    samples: Sequence[int] | None = None,
    *,
    replace: bool = False,
) -> list[tuple[int, str]]:
    """How the order of recommenders under a sampled metric changes with the number of samples.

    The expected metric never rises with m, and where the metric is convex in the rank it is convex
    in m. So from m = h down to a smaller m = l, x is at least on the line that rises from h as
    steeply as right after it, and y at most on the line between its own values at l and h. Where
    the first line is above the second at both ends, x is ahead at every m between; else the
    interval is halved.

    Parameters
    ----------
    metric : Metric or str
        More is better; it never rises with the rank, and at a rank does not depend on m. Or AUC,
        whose expectation does not.
    ranks : dict of str to Ranks, default A, B and C
    samples : sequence of int, optional
        Numbers m of sampled items, ascending; by default all up to the smallest pool.
    replace : bool, optional

    Returns
    -------
    list of (int, str)
        The m at which an order begins, and the names from best to worst; "=" is between those whose
        values agree to twelve digits.

    Examples
    --------
    >>> from recsample import AP, experiments
    >>> experiments.order_changes(AP)[:3]
    [(1, 'A > C > B'), (73, 'A > B > C'), (277, 'A > C > B')]
    """
    ranks = toy_ranks() if ranks is None else check_recommenders(ranks)
    metric, largest = the_metric(metric), _largest_sample(ranks)
    if not metric.higher_is_better:
        raise InputError("metric", "must be one of which more is better").got(metric)
    every = range(1, largest + 1)
    samples = _checked_samples(every if samples is None else samples)
    expected = _expected_of_all(ranks)
    # Why convex in m: let x and y, 0 or 1, say whether each of two more items outranks the relevant
    # one, as s others do. They come in a random order, so f(s) - 2 f(s + x) + f(s + x + y) has the
    # mean of x y (f(s) - 2 f(s + 1) + f(s + 2)), which is not negative where f is convex.
    is_convex = isinstance(metric.shape, (Geometric, Logarithmic, Reciprocal))

    @cache
    def means(m):
        return expected(metric, UniformSampling(m, replace=replace))

    def stay(pairs, low, high):
        """Whether the first of each pair is ahead of the second all the way."""
        next_one = high + 1 if is_convex and high < largest else high
        at_low, at_high, after = means(low), means(high), means(next_one)
        risen = {x: (high - low) * max(0.0, _lead(at_high[x], after[x])) for x in ranks}
        return all(
            _lead(at_high[x] + risen[x], at_low[y]) > 0 and _lead(at_high[x], at_high[y]) > 0
            for x, y in pairs
        )

    def changes(first, last):
        low, high = samples[first], samples[last]
        best_first = sorted(ranks, key=means(low).get, reverse=True)
        if stay(zip(best_first, best_first[1:]), low, high):
            return []
        if last - first > 1:
            middle = (first + last) // 2
            return changes(first, middle) + changes(middle, last)
        order = _order(means(high))
        return [] if order == _order(means(low)) else [(high, order)]

    return [(samples[0], _order(means(samples[0]))), *changes(0, len(samples) - 1)]


def figure3(
    samples: Sequence[int] = (10, 100, 1000),
    *,
    n_items: int = 10_000,
    largest_rank: int = 1_000,
    replace: bool = True,
) -> pd.DataFrame:
    """Figure 3: the weight that a sampled metric gives to each rank.

    Parameters
    ----------
    samples : sequence of int, optional
        Numbers m of sampled items.
    n_items, largest_rank : int, optional
        For the ranks 1, ..., `largest_rank`.
    replace : bool, optional

    Returns
    -------
    pandas.DataFrame
        Columns "exact" and one per m, indexed by metric and rank.

    Examples
    --------
    >>> from recsample import experiments
    >>> experiments.figure3(largest_rank=2).loc[("Recall@10", 2)].round(9).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    pd = extra("pandas")
    samples = _checked_samples(samples)
    r = np.arange(1, checks.positive_int("largest_rank", largest_rank) + 1)
    ranks = Ranks(r, n_items)
    parts = {}
    for metric in TOY_METRICS:
        sampled = {m: UniformSampling(m, replace=replace).expect(metric, ranks) for m in samples}
        columns = {"exact": metric.of_rank(r, n_items)} | sampled
        parts[str(metric)] = pd.DataFrame(columns, pd.Index(r, name="rank"))
    return pd.concat(parts, names=["metric"])


class CorrectedMetric(NamedTuple):
    """The two sides of Figure 4, a column for each estimator.

    Parameters
    ----------
    values, expected : pandas.DataFrame
        The value at each sampled rank, and the mean at each rank, there beside "Exact".

    Examples
    --------
    >>> from recsample import experiments
    >>> experiments.figure4(n_items=50, m=5).values.shape
    (6, 7)
    """

    values: pd.DataFrame
    expected: pd.DataFrame


def figure4(metric: Metric | str = AP, *, n_items: int = 10_000, m: int = 100) -> CorrectedMetric:
    """Figure 4: a corrected metric on the sample, and its expectation over all items.

    Parameters
    ----------
    metric : Metric or str, optional
    n_items, m : int, optional

    Returns
    -------
    CorrectedMetric

    Examples
    --------
    >>> from recsample import experiments
    >>> data = experiments.figure4(n_items=50, m=5)
    >>> data.expected.columns[:2].tolist()
    ['Exact', 'Sampled']
    """
    pd = extra("pandas")
    law = UniformSampling(m, replace=True).law(n_items)
    sampled_rank, rank = np.arange(1, m + 2), np.arange(1, n_items + 1)
    metric = exact_metric(metric)
    found = estimators(metric, m, n_items)
    values = pd.DataFrame(
        {name: e.of_rank(sampled_rank, m + 1) for name, e in found.items()},
        index=pd.Index(sampled_rank, name="sampled rank"),
    )
    expected = pd.DataFrame(law @ values.to_numpy(), columns=values.columns)
    expected.index = pd.Index(rank, name="rank")
    expected.insert(0, "Exact", metric.of_rank(rank, n_items))
    return CorrectedMetric(values, expected)


def bias_and_variance(
    estimators: Mapping[Any, Metric | str],
    metric: Metric | str,
    sampler: HasLaw,
    n_items: int,
    *,
    prior: ArrayLike | None = None,
) -> pd.DataFrame:
    """Bias and standard deviation of estimators of a metric, averaged over the ranks.

    For an estimator x of the metric M and weights p(r) of the ranks, the mean bias is the sum of
    p(r) b(r) with b(r) = E[x | r] - M(r). The squares of the rms bias and of the standard deviation
    are the sums of p(r) b(r)^2 and p(r) Var[x | r], the two parts of eq. (24).

    Parameters
    ----------
    estimators : dict of str or float to Metric or str
        Metrics for sampled ranks: corrections, or the metric itself.
    metric : Metric or str
        What they estimate.
    sampler : Sampler, with a law (`recsample.sampling.HasLaw`)
    n_items : int
    prior : array_like of float, shape (n_items,), optional
        Weights of the ranks 1, ..., n; by default uniform.

    Returns
    -------
    pandas.DataFrame
        Columns "mean bias", "rms bias", "std", one row per estimator.

    Examples
    --------
    With n = 3 and m = 1 the sampled AP is 0, 1/4 and 1/6 above the exact one at the ranks 1, 2, 3:

    >>> import recsample as rs
    >>> sampler = rs.UniformSampling(m=1)
    >>> table = rs.experiments.bias_and_variance({"Sampled": rs.AP}, rs.AP, sampler, 3)
    >>> table.round(4).values.tolist()
    [[0.1389, 0.1735, 0.1443]]
    """
    pd = extra("pandas")
    metric = exact_metric(metric)
    pool = checks.positive_int("n_items", n_items) - 1
    if prior is None:
        belief = large_pools.uniform_belief(pool)
    else:
        belief = large_pools.given_belief(normalised_prior(prior, n_items))
    exact = partial(large_pools.term_at, metric, pool=pool)
    jumps = large_pools.jumps_of(metric, 1, 1)
    law, rows = large_pools.compressed(check_law(sampler), pool, exact, jumps, belief)
    if not isinstance(estimators, Mapping) or not len(estimators):
        raise InputError("estimators", "must map names to metrics").got(checks.shown(estimators))
    values = np.stack([_values_at(one, sampler) for one in estimators.values()], axis=1)
    bias, squared_bias, variance = average_errors(values, law, rows.target[:, None], rows.weight)
    columns = {
        "mean bias": bias,
        "rms bias": np.sqrt(squared_bias + rows.missed),
        "std": np.sqrt(np.maximum(variance, 0.0)),
    }
    return pd.DataFrame(columns, index=list(estimators))


def figure5(ranks: Mapping[str, Ranks] | None = None, *, width: int = 100) -> pd.DataFrame:
    """Figure 5: the distribution of the predicted ranks.

    Parameters
    ----------
    ranks : dict of str to Ranks, default the recorded ranks of X, Y and Z
    width : int, optional
        Ranks per bucket.

    Returns
    -------
    pandas.DataFrame
        Expected numbers of instances, ties spread evenly, by the last rank of each bucket.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"A": rs.Ranks([1, 150], n_items=200, ties=[0, 49])}
    >>> rs.experiments.figure5(ranks)["A"].round(2).tolist()
    [1.0, 1.0]
    """
    pd = extra("pandas")
    ranks = _given_or_recorded(ranks)
    width = checks.positive_int("width", width)
    largest = max(int(np.max(r.n_items)) for r in ranks.values())
    ends = np.arange(width, largest + width, width)
    counts = {name: np.diff(_number_up_to(ends, r), prepend=0.0) for name, r in ranks.items()}
    return pd.DataFrame(counts, index=pd.Index(ends, name="last rank"))


def figure6(
    samples: Sequence[int] | None = None,
    ranks: Mapping[str, Ranks] | None = None,
    *,
    metric: Metric | str = Recall @ 10,
    gamma: float = 0.1,
) -> pd.DataFrame:
    """Figure 6: an expected sampled metric, uncorrected and corrected, as the sample grows.

    Parameters
    ----------
    samples : sequence of int, optional
        Numbers m of sampled items; by default 20 of them, from 10 to the smallest pool.
    ranks : dict of str to Ranks, default the recorded ranks of X, Y and Z
    metric : Metric or str, optional
    gamma : float, optional
        Of the bias-variance correction.

    Returns
    -------
    pandas.DataFrame
        A column per recommender, in percent, by estimator ("Sampled", "BV 0.1") and m.

    Examples
    --------
    >>> from recsample import experiments
    >>> float(experiments.figure6([100]).loc[("Sampled", 100), "Y"].round(2))
    56.51
    """

    ranks = _given_or_recorded(ranks)
    gamma = checks.positive_float("gamma", gamma)
    samples = _checked_samples(
        _log_spaced(_largest_sample(ranks), 20, first=10) if samples is None else samples
    )
    rows, expected = {}, _expected_of_all(ranks)
    for name, corrects in {"Sampled": False, f"BV {gamma:g}": True}.items():
        for m in samples:
            read = metric
            if corrects:  # for the law with replacement, and one pool size for all
                assumed = UniformSampling(m, replace=True)
                read = BiasVariance(metric, assumed, mean_pool_size(ranks), gamma=gamma)
            means = expected(read, UniformSampling(m))
            rows[(name, m)] = {label: 100 * mean for label, mean in means.items()}
    return table_of(rows, ["estimator", "m"])


def _number_up_to(ends, ranks):
    """The expected number of instances whose rank is at most each of `ends`."""
    places = np.broadcast_to(ranks.ties, ranks.values.shape) + 1
    return [np.clip(end + 1 - ranks.values, 0, places) @ (1 / places) for end in ends]


def _movielens_runs(ranks, m, repetitions, rng):
    """The data of Tables 3 and 4: every estimator by its law and in each repetition."""
    targets = {metric: estimators(metric, m, mean_pool_size(ranks)) for metric in MOVIELENS_METRICS}
    return _law_and_repetitions(ranks, targets, UniformSampling(m), repetitions, rng)


def _law_and_repetitions(ranks, targets, sampler, repetitions, rng):
    """Mean and std of every estimator by the law, and its mean in each repetition.

    `targets` has the estimators of each metric by name. All read the same draws.
    """
    repetitions, rng = checks.positive_int("repetitions", repetitions), checks.generator(rng)
    keys = [(metric, estimator) for metric, found in targets.items() for estimator in found]
    read = [_values_at(targets[metric][estimator], sampler) for metric, estimator in keys]
    values = np.stack(read, axis=1)
    what = f"the results of repetitions={repetitions} with m={sampler.m}"
    bytes_of_all = 8 * len(ranks) * repetitions * sum(values.shape)
    checks.check_memory(bytes_of_all, what, "choose fewer repetitions")
    of_law = {name: _mean_and_std(values, sampler.pmf(r)) for name, r in ranks.items()}
    shares = {name: np.empty((repetitions, len(values))) for name in ranks}
    for i in range(repetitions):
        for name, r in ranks.items():
            drawn = sampler.draw(r, rng).values
            shares[name][i] = counted(drawn - 1, len(values)) / len(r)
    means = {name: share @ values for name, share in shares.items()}
    rows, repeated = {}, {}
    for metric, found in targets.items():
        for name, r in ranks.items():
            rows[str(metric), name, "Exact"] = {"mean": metric(r).mean(), "std": np.nan}
            for estimator in found:
                key, k = (str(metric), name, estimator), keys.index((metric, estimator))
                rows[key] = {kind: array[k] for kind, array in of_law[name].items()}
                repeated[key] = means[name][:, k]
    return table_of(rows, _INDEX), repeated


def _values_at(estimator, sampler):
    """The value of a metric or a correction at each of the m + 1 observations of a sampler."""
    estimator = check_readable(estimator, sampler)
    if estimator.sampler is not None:  # a correction for these observations
        return estimator.values
    m = check_sampler(sampler).m
    return estimator.of_rank(np.arange(1, m + 2), m + 1)


def _mean_and_std(values, law):
    """Mean and std of each estimator's mean over the instances, from the laws of these."""
    each = law @ values
    variance = np.maximum(law @ values**2 - each**2, 0).sum(axis=0)
    return {"mean": each.mean(axis=0), "std": np.sqrt(variance) / len(law)}


def _with_repetitions(table, repeated):
    """The table with the mean and standard deviation over the repetitions beside the law's."""
    pd = extra("pandas")
    found = {
        "repeated mean": {key: means.mean() for key, means in repeated.items()},
        "repeated std": {key: means.std(ddof=1) for key, means in repeated.items()},
    }
    return table.join(pd.DataFrame(found).rename_axis(_INDEX))


def _given_or_recorded(ranks):
    """The given ranks, checked, or the recorded ones of X, Y and Z."""
    return recorded_ranks() if ranks is None else check_recommenders(ranks)


def _checked_samples(samples):
    """Several numbers of samples, as a list."""
    checked = checks.whole_numbers("samples", samples, lowest=1)
    if checked.ndim != 1 or not len(checked):
        allowed = "must be a list of at least one number"
        raise InputError("samples", allowed).got(checks.shown(samples))
    return checked.tolist()


def _largest_sample(ranks):
    """How many items can be drawn without replacement for every instance."""
    return min(int(r.n_irrelevant.min()) for r in ranks.values())


def _order(values):
    """The names from best to worst; those that differ only by rounding in the order given."""
    best_first = sorted(values, key=values.get, reverse=True)
    level = [best_first[:1]]
    for x, y in zip(best_first, best_first[1:]):
        if _lead(values[x], values[y]) > 0:
            level.append([])
        level[-1].append(y)
    return " > ".join(" = ".join(sorted(names, key=list(values).index)) for names in level)


def _lead(x, y):
    """How far x is above y, less the possible rounding error; 0 or less if it may be below."""
    return x - y - 1e-12 * abs(x)


def _log_spaced(last, number, *, first=1):
    return np.unique(np.geomspace(first, last, number).round().astype(int))
