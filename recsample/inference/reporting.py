"""What an evaluation with sampled metrics should have printed.

`report` takes the sampled ranks of one run and says, for each metric, the sampled value and how far
off it is expected to be, a corrected value with limits, what can be certified without any
assumption on the ranks, and a sentence that says all this in a paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from recsample._extras import extra
from recsample._statistics import standard_error
from recsample._typing import Floats
from recsample._validation import positive_int, shown, whole_numbers
from recsample.corrections import BiasVariance
from recsample.inference.bounds import Interval, certified_interval
from recsample.inference.distribution import (
    best_gamma,
    expectation_maximisation,
    plausible_prior,
    plug_in,
)
from recsample.metrics._chosen import chosen_metrics
from recsample.metrics.base import Metric
from recsample.metrics.ranking import AP, AUC, NDCG, Recall
from recsample.metrics.shapes import Linear
from recsample.ranks import Ranks
from recsample.sampling.base import Observed
from recsample.sampling.uniform import UniformSampling

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Report", "report"]

# The belief behind gamma, see `distribution.best_gamma`: that of 50 instances.
_CONCENTRATION = 50
_LEVEL = 0.95
_REACH = special.ndtri(0.5 + _LEVEL / 2)


@dataclass(frozen=True, eq=False)
class Report:
    """The result of `report`: prints as text, and as HTML in a notebook.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per metric. ``sampled``: the mean of the metric on the sampled ranks. ``off by``:
        how far above the exact value that is expected to be, under the EM estimate of the
        distribution of the ranks. ``corrected``, ``low``, ``high``: the corrected value and its
        limits under three priors. ``certified low``, ``certified high``: the limits that need none.
        Limits that there are none of are NaN, and shown as "none".
    sentences : tuple of str
        One per metric, to be put into a paper.
    warnings : tuple of str
        What the data cannot carry.
    head : str
        How the ranks came about.

    Examples
    --------
    >>> import recsample as rs
    >>> sampled = rs.UniformSampling(m=20).draw(rs.Ranks(range(1, 301), n_items=300), rng=0)
    >>> rs.report(sampled, m=20, n_items=300, metrics=["AUC"]).table.columns[0]
    'sampled'
    """

    table: pd.DataFrame
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    head: str

    def __str__(self) -> str:
        def listed(lines):
            return [fill(line, 88, initial_indent="- ", subsequent_indent="  ") for line in lines]

        table = self.table.to_string(float_format="{:.4f}".format, na_rep="none")
        parts = [fill(self.head, 88), "", table, "", *listed(self.sentences)]
        if self.warnings:
            parts += ["", "Warnings", *listed(self.warnings)]
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def listed(title, lines):
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            return f"<p><strong>{title}</strong></p><ul>{items}</ul>" if lines else ""

        # A column for each metric, so that the table is narrow enough for a phone.
        table = self.table.T.to_html(float_format="{:.4f}".format, na_rep="none", border=0)
        return (
            f"<p>{escape(self.head)}</p>{table}"
            + listed("For the paper", self.sentences)
            + listed("Warnings", self.warnings)
        )


def report(
    sampled: Ranks | ArrayLike,
    m: int,
    n_items: int,
    *,
    metrics: Sequence[Metric | str] = (Recall @ 10, NDCG @ 10, AP, AUC),
    replace: bool = False,
) -> Report:
    """What one run of a sampled evaluation says about the exact metrics.

    The corrected value is that of `BiasVariance` with the plausible prior and a gamma for the size
    of the study, see `plausible_prior` and `best_gamma`. Its limits are the outermost of three 95 %
    intervals, each under another prior: the plausible one, the uniform one, and the EM estimate
    from these ranks. They cover the sampling, the choice of the instances and,
    as far as three priors can, the bias that remains. That is an assumption: where the ranks are
    unlike all three, such as when no relevant item is among the first ones but many are close
    behind, the limits can miss. `bounds.certified_interval` covers the sampling and all bias, with
    a probability of at least 95 %, for these instances and without any prior. All of it takes the
    items to be drawn uniformly, from a pool of the same size for every instance.

    Corrected values and limits are kept within what the metric can be, and a warning says where a
    corrected value was not. There are no limits where all three intervals have no width, as for
    ranks that are all the same: such ranks do not show their error. There are no certified limits
    where no distribution of the ranks fits.

    Parameters
    ----------
    sampled : Ranks or array_like of int, shape (instances,)
        The sampled ranks of one relevant item per instance, 1 is best, such as a column of a table.
    m : int
        Number of sampled irrelevant items.
    n_items : int
        Size of the pool that they were drawn from, the relevant item included.
    metrics : sequence of Metric or str, optional
        Functions of the rank; with a cut-off, as studies report it for all items.
    replace : bool, optional
        Whether the items were drawn with replacement.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        For an m below 1, ranks outside 1, ..., m + 1, ties, several relevant items, fewer than two
        instances, a pool that is too small, no metrics, and metrics that lack a cut-off.

    Examples
    --------
    >>> import recsample as rs
    >>> sampled = rs.UniformSampling(m=20).draw(rs.Ranks(range(1, 301), n_items=300), rng=0)
    >>> print(rs.report(sampled.values, m=20, n_items=300, metrics=["AUC"]).sentences[0][:53])
    AUC is estimated at 0.495 (0.460 to 0.529) from the s
    """
    pd = extra("pandas")
    m, n_items = positive_int("m", m), positive_int("n_items", n_items)
    sampler = UniformSampling(m, replace)
    if isinstance(sampled, Observed):
        raise ValueError(
            "sampled must be ranks among uniformly drawn items, got what the design "
            f"{shown(sampled.design)} observes: its estimates need no report, see Design.of"
        )
    ranks = sampled if isinstance(sampled, Ranks) else _ranks_of(sampled, m)
    if len(ranks) < 2:
        raise ValueError(f"sampled must hold at least two instances, got {len(ranks)}")
    chosen = chosen_metrics(metrics)
    study = _Study(ranks, sampler, n_items, expectation_maximisation(ranks, sampler, n_items))
    intervals = [_intervals(one, study) for one in chosen]
    certified = _certified(chosen, study)
    rows, warnings = {}, _of_the_study(certified, study)
    for one, found, limits in zip(chosen, intervals, certified):
        rows[one] = _row(one, found, limits, study)
        warnings += _of_the_metric(one, rows[one], found, study)
    return Report(
        pd.DataFrame.from_dict({str(one): row for one, row in rows.items()}, orient="index"),
        tuple(_sentence(one, row, study) for one, row in rows.items()),
        tuple(warnings),
        study.head,
    )


def _ranks_of(sampled, m):
    """A column of sampled ranks, checked here so that a message speaks of m and not of a pool."""
    if hasattr(sampled, "tolist"):  # whole numbers that a table holds as objects are welcome too
        sampled = sampled.tolist()
    values = whole_numbers("sampled", sampled, lowest=1)
    if not values.size:
        raise ValueError("sampled must hold at least two instances, got none")
    if values.ndim != 1:
        raise ValueError(
            f"sampled must be one-dimensional, one rank per instance, got shape {values.shape}"
        )
    if (values > m + 1).any():
        where = int(np.argmax(values > m + 1))
        raise ValueError(
            f"sampled must hold ranks up to m + 1 = {m + 1}, "
            f"got {values[where]} in instance {where}"
        )
    return Ranks(values, m + 1)


class _Study(NamedTuple):
    """What all metrics of a report have in common."""

    sampled: Ranks
    sampler: UniformSampling
    n_items: int
    distribution: Floats

    @property
    def m(self):
        return self.sampler.m

    @property
    def n_instances(self):
        return len(self.sampled)

    @property
    def gamma(self):
        return best_gamma(self.n_instances, _CONCENTRATION)

    @property
    def head(self):
        how = "with" if self.sampler.replace else "without"
        return (
            f"{self.n_instances} instances, each relevant item ranked among m = {self.m} of "
            f"{self.n_items - 1} irrelevant items drawn uniformly {how} replacement"
        )


class _Corrected(NamedTuple):
    """A corrected value and the ends of its interval, within what the metric can be."""

    value: float
    low: float
    high: float
    mean: float  # the value before it was kept within
    reach: float  # half the width of the interval before that


def _intervals(metric, study):
    """Under the plausible, the uniform and the learned prior."""
    found, exact = [], metric.of_rank(np.arange(1, study.n_items + 1), study.n_items)
    # The learned prior is kept above 0, so that every sampled rank has a probability.
    for prior in (plausible_prior(study.n_items), None, np.maximum(study.distribution, 1e-12)):
        sampler, n_items = study.sampler, study.n_items
        corrected = BiasVariance(metric, sampler, n_items, gamma=study.gamma, prior=prior)
        values = corrected(study.sampled)
        mean, reach = float(values.mean()), _REACH * standard_error(values)
        kept = np.clip([mean, mean - reach, mean + reach], exact.min(), exact.max())
        found.append(_Corrected(*kept.tolist(), mean, reach))
    return found


def _certified(metrics, study):
    """The certified limits; NaN for all metrics where no distribution of the ranks fits."""
    run = study.sampled, study.sampler, study.n_items
    try:
        return [certified_interval(metric, *run, level=_LEVEL) for metric in metrics]
    except ValueError:  # everything else was refused before
        return [Interval(np.nan, np.nan)] * len(metrics)


def _row(metric, intervals, certified, study):
    sampled, sampler, n_items, distribution = study
    every = Ranks(np.arange(1, n_items + 1), n_items)
    low = min(interval.low for interval in intervals)
    high = max(interval.high for interval in intervals)
    if max(interval.reach for interval in intervals) < 1e-9:
        low = high = np.nan
    return {
        "sampled": metric(sampled).mean(),
        "off by": distribution @ sampler.expect(metric, every) - plug_in(metric, distribution),
        "corrected": intervals[0].value,
        "low": low,
        "high": high,
        "certified low": certified.low,
        "certified high": certified.high,
    }


def _sentence(metric, row, study):
    if isinstance(metric.shape, Linear):
        uncorrected = "which a linear metric does not need; without correction it is"
    else:
        uncorrected = "without which the metric of the ranks among m + 1 items is"
    if np.isnan(row["low"]):
        limits, origin = "no limits", "No error can be told from these ranks"
    else:
        limits = f"{row['low']:.3f} to {row['high']:.3f}"
        origin = (
            "The limits are the outermost of three 95 % intervals, with that prior, a uniform one "
            "and one learned by EM"
        )
    if np.isnan(row["certified low"]):
        certified = "no distribution of the ranks fits these data"
    else:
        certified = f"these data say {row['certified low']:.3f} to {row['certified high']:.3f}"
    return (
        f"{metric} is estimated at {row['corrected']:.3f} ({limits}) from the sampled ranks of "
        f"{study.head}. It is corrected by the bias-variance estimator of Krichene and Rendle with "
        f"gamma = {study.gamma:.2g} and a mean of power laws as prior, {uncorrected} "
        f"{row['sampled']:.3f}. {origin}; without any prior, with 95 % confidence, {certified}."
    )


def _of_the_study(certified, study):
    found = []
    if np.isnan(certified).any():
        found.append(
            f"These ranks can hardly come from m = {study.m} uniform draws among the "
            f"{study.n_items - 1} irrelevant items: no distribution of the exact ranks fits them. "
            "Check m, n_items, whether a list was cut off, and whether the negatives were drawn "
            "in another way."
        )
    if study.n_instances < 1000:
        found.append(
            f"{study.n_instances} instances are few: with gamma = {study.gamma:.2g} the corrected "
            "values lean on the prior."
        )
    return found


def _of_the_metric(metric, row, intervals, study):
    found, (plausible, uniform, learned) = [], intervals
    ranks_per_item = study.n_items / (study.m + 1)
    advice = "rely on the certified limits"
    if np.isnan(row["certified low"]):
        advice = "there is nothing to rely on"
    if abs(plausible.mean - plausible.value) > 1e-9:
        found.append(
            f"{metric}: the corrected mean is {plausible.mean:.4g}; the nearest value that the "
            f"metric can have, {plausible.value:.4g}, is given in its place."
        )
    if np.isnan(row["low"]):
        found.append(
            f"{metric}: no error can be told from these ranks, as the three intervals have no "
            f"width: {advice}."
        )
    elif row["low"] == row["high"]:
        found.append(
            f"{metric}: all three intervals lie beyond what the metric can be, and the limits are "
            f"the nearest value: {advice}."
        )
    if metric.cutoff is not None and metric.cutoff > study.m:
        found.append(
            f"{metric}: every sampled rank lies within the cut-off, so the uncorrected value is "
            "that of a metric without one."
        )
    if row["certified high"] - row["certified low"] > abs(row["corrected"]):
        found.append(
            f"{metric}: one sampled item stands for about {ranks_per_item:.0f} ranks, and the "
            "certified limits are further apart than the value itself: the prior decides much of "
            "it, and of any difference of two recommenders."
        )
    if row["corrected"] < row["certified low"] or row["corrected"] > row["certified high"]:
        found.append(f"{metric}: the corrected value is outside the certified limits: {advice}.")
    low, high = min(plausible.low, uniform.low), max(plausible.high, uniform.high)
    if not low <= learned.value <= high:
        found.append(
            f"{metric}: with a prior learned from these ranks the value is {learned.value:.3f}, "
            f"outside the {low:.3f} to {high:.3f} of the other two priors. The ranks are unlike "
            f"either, and may be unlike the learned one too: {advice}."
        )
    if row["high"] - row["low"] > abs(row["corrected"]):
        found.append(f"{metric}: the limits are further apart than the value itself.")
    if abs(row["off by"]) > abs(row["corrected"]):
        found.append(
            f"{metric}: the uncorrected value is expected to be off by more than the value."
        )
    return found
