"""The tables and figures of the paper, computed: each function returns the data of one of them.

Tables are tidy pandas DataFrames, indexed by (metric, recommender, estimator). `as_printed` lays
them out as the paper does, `recsample.plotting` draws the figures.

Reference: W. Krichene, S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020,
https://doi.org/10.1145/3394486.3403226.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import resources
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.arrays import counted
from recsample._support.checks import (
    fits_in_memory,
    generator,
    positive_float,
    positive_int,
    shown,
    whole_numbers,
)
from recsample._support.extras import extra
from recsample._support.frames import table_of
from recsample._support.typing import Floats, Rng
from recsample.corrections.base import average_errors, normalised_prior
from recsample.corrections.bias_variance import BiasVariance
from recsample.corrections.constrained import ConstrainedLeastSquares
from recsample.corrections.rank_estimate import RankEstimate
from recsample.experiments import runs
from recsample.metrics.averages import compare
from recsample.metrics.base import Metric
from recsample.metrics.names import exact_metric, the_metric
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Geometric, Logarithmic, Reciprocal
from recsample.ranks.base import Ranks
from recsample.ranks.checks import check_ranks, check_recommenders, mean_pool_size
from recsample.sampling import large_pools
from recsample.sampling.base import HasLaw, check_law
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd


TOY_METRICS: tuple[Metric, ...] = (AUC, AP, NDCG, Recall @ 10)
MOVIELENS_METRICS: tuple[Metric, ...] = (Recall @ 10, NDCG @ 10, AP, AUC)
_INDEX = ["metric", "recommender", "estimator"]


def toy_ranks() -> dict[str, Ranks]:
    """The recommenders A, B and C of section 3.2: five instances, 10,000 items.

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
    """What the paper prints in one of its tables, 3 and 4 in percent. Nothing is computed from it.

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
    whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    if not whole or number not in (1, 2, 3, 4):
        raise ValueError(
            f"number must be one of the paper's tables 1, 2, 3, 4, got {shown(number)}"
        )
    with resources.files("recsample").joinpath("data/printed_tables.csv").open("rb") as file:
        rows = pd.read_csv(file)
    return rows[rows.pop("table") == number].set_index(_INDEX)


def beside_printed(table: pd.DataFrame, number: int) -> pd.DataFrame:
    """A computed table with what the paper prints beside it.

    Parameters
    ----------
    table : pandas.DataFrame, as `table2`, `table3` or `table4` returns
    number : {2, 3, 4}

    Returns
    -------
    pandas.DataFrame
        The rows that the paper prints too, with the columns "printed mean" and "printed std".

    Examples
    --------
    >>> from recsample import experiments
    >>> both = experiments.beside_printed(experiments.table2(repetitions=2), 2)
    >>> both.loc[("AP", "C", "Sampled"), ["mean", "printed mean"]].round(3).tolist()
    [0.326, 0.325]
    """
    _check_levels(table, _INDEX)
    printed = printed_table(number).rename(columns=lambda name: f"printed {name}")
    return table.join(printed, how="inner")


def _check_levels(table, levels):
    """Refuse what is no table of the estimators, as the functions here return it."""
    names = list(getattr(getattr(table, "index", None), "names", []))
    if not hasattr(table, "columns") or not set(levels) <= set(names):
        raise ValueError(f"table must be a dataframe indexed by {levels}, got {shown(table)}")


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
        Draw with replacement.
    repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        "mean" and "std" from the law of the sampled rank, "repeated mean" and "repeated std" over
        the repetitions, by metric, recommender and estimator ("Exact", "Sampled").

    Examples
    --------
    >>> from recsample import experiments
    >>> table = experiments.table2(repetitions=10)
    >>> round(float(table.loc[("AP", "A", "Sampled"), "mean"]), 3)
    0.636
    """
    sampler = UniformSampling(m, replace=replace)
    targets = {metric: {"Sampled": metric} for metric in TOY_METRICS}
    law = _law_table(toy_ranks(), targets, sampler)
    return _with_repetitions(law, _repeated_means(toy_ranks(), targets, sampler, repetitions, rng))


def estimators(metric: Metric | str, m: int, n_items: int) -> dict[str, Metric]:
    """The estimators of Table 3, with the settings that the published numbers were computed with.

    The corrections use the binomial law and one pool size for all users, the rank estimate divides
    by m + 1, and constrained least squares keeps its values at 0 or above. The book's chapter on
    the reproduction shows how these were found; the paper does not say.

    Parameters
    ----------
    metric : Metric or str
    m, n_items : int
        Number of sampled items, and the pool size that the corrections assume.

    Returns
    -------
    dict of str to Metric
        "Sampled" (the metric itself), "Rank Estimate", "CLS", "BV 1", "BV 0.1" to "BV 0.001".

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
    ranks = runs.given_or_recorded(ranks)
    return 100 * _with_repetitions(*_movielens_runs(ranks, m, repetitions, rng))


def table4(
    ranks: Mapping[str, Ranks] | None = None, *, m: int = 100, repetitions: int = 100, rng: Rng = 0
) -> pd.DataFrame:
    """Table 4: how often a sampled evaluation puts a pair of recommenders in the right order.

    In percent. From the law: the difference of two means over thousands of users is normal, so the
    chance of the right order is Phi(difference / its standard deviation), the recommenders being
    sampled independently. The repetitions count.

    Parameters
    ----------
    ranks : dict of str to Ranks, default the recorded ranks of X, Y and Z
    m, repetitions : int, optional
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    pandas.DataFrame
        "mean" (the chance from the law) and "repeated mean" (the share of the repetitions), by
        metric, recommender (the pair, "X vs Y") and estimator.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"Y": rs.Ranks([1, 4, 40], n_items=50), "Z": rs.Ranks([2, 2, 50], n_items=50)}
    >>> table = rs.experiments.table4(ranks, m=10, repetitions=2)
    >>> float(table.loc[("AUC", "Y vs Z", "Sampled"), "mean"].round(1))
    89.7
    """

    from scipy import special

    ranks = runs.given_or_recorded(ranks)
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


def as_printed(
    table: pd.DataFrame, decimals: int, *, mean: str = "mean", std: str = "std"
) -> pd.DataFrame:
    """A tidy table in the paper's layout: rows by metric and recommender, columns by estimator.

    Parameters
    ----------
    table : pandas.DataFrame, as `table2` to `table4` and `printed_table` return
    decimals : int
    mean, std : str, optional
        The columns to show, such as "repeated mean" and "repeated std".

    Returns
    -------
    pandas.DataFrame of str
        "mean ± std", or the mean alone.

    Examples
    --------
    >>> from recsample import experiments
    >>> experiments.as_printed(experiments.printed_table(3), 2).loc[("AP", "X"), "CLS"]
    '3.58 ± 0.06'
    """
    _check_levels(table, ["estimator"])
    if mean not in table.columns:
        raise ValueError(f"mean must be a column of table, got {shown(mean)}")
    decimals = int(whole_numbers("decimals", decimals, lowest=0))

    def cell(row):
        text = f"{row[mean]:.{decimals}f}"
        spread = row.get(std, np.nan)
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
    n_items = positive_int("n_items", n_items)
    fits_in_memory(
        80 * n_items, f"the metrics of n_items={n_items} ranks", "choose a smaller n_items"
    )
    r = np.arange(1, n_items + 1)
    return pd.DataFrame(
        {str(metric): metric.of_rank(r, n_items) for metric in TOY_METRICS},
        index=pd.Index(r, name="rank"),
    )


def figure2(samples: Sequence[int] | None = None, *, replace: bool = False) -> pd.DataFrame:
    """Figure 2: expected sampled metrics of A, B and C as the number of samples grows.

    Parameters
    ----------
    samples : sequence of int, optional
        Numbers m of sampled items. By default 40, from 1 to all 9,999, evenly spaced in logarithm.
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

    samples = runs.checked_samples(_log_spaced(9_999, 40) if samples is None else samples)
    ranks = toy_ranks()
    expected = _expected_together(ranks)
    rows = {
        (str(metric), m): expected(metric, UniformSampling(m, replace=replace))
        for metric in TOY_METRICS
        for m in samples
    }
    return table_of(rows, ["metric", "m"])


def _expected_together(ranks):
    """What expects a metric of all recommenders at once: of few users in the time of one."""
    unnamed = [Ranks(r.values, r.n_items, ties=r.ties) for r in ranks.values()]
    together = Ranks.concatenate(unnamed)
    ends = np.cumsum([len(r) for r in ranks.values()])[:-1]

    def expected(metric, sampler):
        values = sampler.expect(metric, together)
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

    One more item never makes the sampled rank better, so the expected metric never rises with m;
    and one that falls ever more slowly with the rank does so with m. So from m = h down to a
    smaller m = l, x is at least on the line that rises from h as steeply as right after it, and y
    at most on the line between its own values at l and h. Where the first line is above the second
    at both ends, x is ahead at every m between. Only where this does not settle the order is the
    interval halved.

    Parameters
    ----------
    metric : Metric or str
        One of which more is better, that never rises with the rank, and whose value at a rank does
        not depend on m; or AUC, whose expectation does not.
    ranks : dict of str to Ranks, default A, B and C
    samples : sequence of int, optional
        Numbers m of sampled items, ascending; by default every m up to all items but one.
    replace : bool, optional

    Returns
    -------
    list of (int, str)
        The m at which an order begins, and the names from best to worst. Recommenders whose values
        agree to twelve digits are joined by "=", in the order in which they came.

    Examples
    --------
    >>> from recsample import AP, experiments
    >>> experiments.order_changes(AP)[:3]
    [(1, 'A > C > B'), (73, 'A > B > C'), (277, 'A > C > B')]
    """
    ranks = toy_ranks() if ranks is None else check_recommenders(ranks)
    metric, largest = the_metric(metric), runs.largest_sample(ranks)
    if not metric.higher_is_better:
        raise ValueError(f"metric must be one of which more is better, got {metric}")
    every = range(1, largest + 1)
    samples = runs.checked_samples(every if samples is None else samples)
    expected = _expected_together(ranks)
    # Of two more items let x and y say whether each outranks the relevant one, with s others. They
    # come in a random order, so f(s) - 2 f(s + x) + f(s + x + y) has the mean of what both cause,
    # x y (f(s) - 2 f(s + 1) + f(s + 2)): it is not negative where f is convex.
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
    >>> experiments.figure3(largest_rank=2).loc[("Recall@10", 2)].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    pd = extra("pandas")
    samples = runs.checked_samples(samples)
    r = np.arange(1, positive_int("largest_rank", largest_rank) + 1)
    ranks = Ranks(r, n_items)
    parts = {}
    for metric in TOY_METRICS:
        columns: dict[str | int, Floats] = {"exact": metric.of_rank(r, n_items)}
        for m in samples:
            columns[int(m)] = UniformSampling(m, replace=replace).expect(metric, ranks)
        parts[str(metric)] = pd.DataFrame(columns, index=pd.Index(r, name="rank"))
    return pd.concat(parts, names=["metric"])


class CorrectedMetric(NamedTuple):
    """The two sides of Figure 4.

    Parameters
    ----------
    values, expected : pandas.DataFrame
        What each estimator (a column) reads at each sampled rank, and on average at each rank
        1, ..., n, there with a first column "Exact".

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
    """How far estimators of a metric are off and how much they vary, averaged over the ranks.

    Let b(r) = E[x | r] - M(r) and v(r) = Var[x | r] for an estimator x of the metric M, and p(r)
    the weights of the ranks. The mean bias is the sum of p(r) b(r). The squares of the rms bias and
    of the standard deviation are the sums of p(r) b(r)^2 and p(r) v(r), the two parts of eq. (24).

    Parameters
    ----------
    estimators : dict of str or float to Metric or str
        Metrics for sampled ranks: corrections, or the metric itself.
    metric : Metric or str
        What they estimate.
    sampler : Sampler or Design, with a law (`recsample.sampling.HasLaw`)
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
    pool = positive_int("n_items", n_items) - 1
    if prior is None:
        belief = large_pools.uniform_belief(pool)
    else:
        belief = large_pools.given_belief(normalised_prior(prior, n_items))
    exact = partial(large_pools.term_at, metric, pool=pool)
    jumps = large_pools.jumps_of(metric, 1, 1)
    law, rows = large_pools.compressed(check_law(sampler), pool, exact, jumps, belief)
    if not isinstance(estimators, Mapping) or not len(estimators):
        raise ValueError(f"estimators must map names to metrics, got {shown(estimators)}")
    values = np.stack([runs.values_at(e, sampler) for e in estimators.values()], axis=1)
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
        Expected numbers of instances, ties spread evenly; a row per bucket, by its last rank.

    Examples
    --------
    >>> import recsample as rs
    >>> ranks = {"A": rs.Ranks([1, 150], n_items=200, ties=[0, 49])}
    >>> rs.experiments.figure5(ranks)["A"].round(2).tolist()
    [1.0, 1.0]
    """
    pd = extra("pandas")
    ranks = runs.given_or_recorded(ranks)
    width = positive_int("width", width)
    largest = max(int(np.max(r.n_items)) for r in ranks.values())
    n_buckets = -(-largest // width)
    fits_in_memory(40 * len(ranks) * n_buckets, f"{n_buckets} buckets", "choose a larger width")
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

    ranks = runs.given_or_recorded(ranks)
    gamma = positive_float("gamma", gamma)
    samples = runs.checked_samples(
        _log_spaced(runs.largest_sample(ranks), 20, first=10) if samples is None else samples
    )
    rows, expected = {}, _expected_together(ranks)
    for name, used in {"Sampled": None, f"BV {gamma:g}": gamma}.items():
        for m in samples:
            means = expected(_read_with(metric, used, m, ranks), UniformSampling(m))
            rows[(name, m)] = {label: 100 * mean for label, mean in means.items()}
    return table_of(rows, ["estimator", "m"])


def smallest_sample_in_order(
    worse: Ranks, better: Ranks, *, metric: Metric | str = Recall @ 10, gamma: float | None = None
) -> int:
    """An m at which the expected sampled metric turns to the right order of two recommenders.

    Found by bisection between 1 and the smallest pool: the order is right with m samples, and wrong
    with m - 1, unless m is 1. Of other changes nothing is said.

    Parameters
    ----------
    worse, better : Ranks
        Of which the exact metric says that the second is better.
    metric : Metric or str, optional
    gamma : float, optional
        Of the bias-variance correction; None: uncorrected.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the exact metric does not have `better` ahead of `worse`.

    Examples
    --------
    >>> import recsample as rs
    >>> toy = rs.experiments.toy_ranks()
    >>> rs.experiments.smallest_sample_in_order(toy["A"], toy["C"], metric=rs.AP)
    434
    """
    pair = {"worse": check_ranks(worse, "worse"), "better": check_ranks(better, "better")}
    metric = the_metric(metric)
    sign = 1 if metric.higher_is_better else -1
    if not sign * metric(better).mean() > sign * metric(worse).mean():
        raise ValueError(f"better must have a better mean {metric} than worse, and has not")

    expected = _expected_together(pair)

    def in_order(m):
        means = expected(_read_with(metric, gamma, m, pair), UniformSampling(m))
        return sign * means["better"] > sign * means["worse"]

    largest = runs.largest_sample(pair)
    if not in_order(largest):
        raise ValueError(f"better must be ahead of worse with m = {largest} samples, and is not")
    return 1 + bisect_left(range(1, largest), True, key=in_order)


def _number_up_to(ends, ranks):
    """The expected number of instances whose rank is at most each of `ends`."""
    places = np.broadcast_to(ranks.ties, ranks.values.shape) + 1
    return [np.clip(end + 1 - ranks.values, 0, places) @ (1 / places) for end in ends]


def _read_with(metric, gamma, m, ranks):
    """The metric as it is, or corrected where there is a gamma."""
    if gamma is None:
        return metric
    assumed = UniformSampling(m, replace=True)
    return BiasVariance(metric, assumed, mean_pool_size(ranks), gamma=gamma)


def _movielens_runs(ranks, m, repetitions, rng):
    """What Tables 3 and 4 are made of: the law of every estimator, and its repetitions."""
    targets = {metric: estimators(metric, m, mean_pool_size(ranks)) for metric in MOVIELENS_METRICS}
    sampler = UniformSampling(m)
    law = _law_table(ranks, targets, sampler)
    return law, _repeated_means(ranks, targets, sampler, repetitions, rng)


def _law_table(ranks, targets, sampler):
    """Mean and standard deviation of every estimator for every recommender, from the law."""
    keys, values = runs.values_of_estimators(targets, sampler)
    of_law = {
        name: dict(zip(keys, zip(*runs.mean_and_std(values, sampler.pmf(r)))))
        for name, r in ranks.items()
    }
    rows = {}
    for metric, found in targets.items():
        for name, r in ranks.items():
            rows[str(metric), name, "Exact"] = {"mean": metric(r).mean(), "std": np.nan}
            for estimator in found:
                both = of_law[name][metric, estimator]
                rows[str(metric), name, estimator] = dict(zip(["mean", "std"], both))
    return table_of(rows, _INDEX)


def _with_repetitions(table, repeated):
    """The table with the mean and standard deviation over the repetitions beside the law's."""
    pd = extra("pandas")
    found = {
        "repeated mean": {key: means.mean() for key, means in repeated.items()},
        "repeated std": {key: means.std(ddof=1) for key, means in repeated.items()},
    }
    return table.join(pd.DataFrame(found).rename_axis(_INDEX))


def _repeated_means(ranks, targets, sampler, repetitions, rng):
    """The mean of every estimator in each repetition of the sampling, all on the same draws."""
    rng = generator(rng)
    keys, values = runs.values_of_estimators(targets, sampler)
    repetitions = positive_int("repetitions", repetitions)
    fits_in_memory(
        8 * len(ranks) * repetitions * (len(values) + len(keys)),
        f"the results of repetitions={repetitions} with m={sampler.m}",
        "choose fewer repetitions",
    )
    shares = {name: np.empty((repetitions, len(values))) for name in ranks}
    for i in range(repetitions):
        for name, r in ranks.items():
            drawn = sampler.draw(r, rng).values
            shares[name][i] = counted(drawn - 1, len(values)) / len(r)
    means = {name: share @ values for name, share in shares.items()}
    return {
        (str(metric), name, estimator): means[name][:, k]
        for k, (metric, estimator) in enumerate(keys)
        for name in ranks
    }


def _order(values):
    """The names from best to worst; those that only rounding tells apart as they came."""
    best_first = sorted(values, key=values.get, reverse=True)
    level = [best_first[:1]]
    for x, y in zip(best_first, best_first[1:]):
        if _lead(values[x], values[y]) > 0:
            level.append([])
        level[-1].append(y)
    return " > ".join(" = ".join(sorted(names, key=list(values).index)) for names in level)


def _lead(x, y):
    """How far x is above y beyond what rounding can do; not above 0 if it may be below."""
    return x - y - 1e-12 * abs(x)


def _log_spaced(last, number, *, first=1):
    return np.unique(np.geomspace(first, last, number).round().astype(int))
