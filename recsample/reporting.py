"""What an evaluation with sampled metrics should have printed.

`report` takes the sampled ranks of one run and says, for each metric, the sampled value and how far
off it is expected to be, a corrected value with an interval, what can be certified without any
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

from recsample._typing import Floats
from recsample._validation import positive_int, whole_numbers
from recsample.bounds import certified_interval
from recsample.corrections import BiasVariance
from recsample.estimation import best_gamma, expectation_maximisation, plausible_prior, plug_in
from recsample.metrics import AP, AUC, NDCG, LinearMetric, Metric, Recall, standard_error
from recsample.metrics import metric as parse_metric
from recsample.ranks import Ranks
from recsample.sampling import UniformSampling

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Report", "report"]

# The belief behind gamma, see `estimation.best_gamma`: that of 50 instances.
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

        table = self.table.to_string(float_format="{:.4f}".format)
        parts = [fill(self.head, 88), "", table, "", *listed(self.sentences)]
        if self.warnings:
            parts += ["", "Warnings", *listed(self.warnings)]
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def listed(title, lines):
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            return f"<p><strong>{title}</strong></p><ul>{items}</ul>" if lines else ""

        table = self.table.to_html(float_format="{:.4f}".format, border=0)
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
    of the study, see `estimation.plausible_prior` and `estimation.best_gamma`. Its limits are the
    outermost of three 95 % intervals, each under another prior: the plausible one, the uniform one,
    and the EM estimate from these ranks. They cover the sampling, the choice of the instances and,
    as far as three priors can, the bias that remains. That is an assumption: where the ranks are
    unlike all three, such as when no relevant item is among the first ones but many are close
    behind, the limits can miss. `bounds.certified_interval` covers the sampling and all bias, with
    a probability of at least 95 %, for these instances and without any prior. All of it takes the
    items to be drawn uniformly, from a pool of the same size for every instance.

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
    import pandas as pd

    m, n_items = positive_int("m", m), positive_int("n_items", n_items)
    sampler = UniformSampling(m, replace)
    ranks = sampled if isinstance(sampled, Ranks) else _ranks_of(sampled, m)
    if isinstance(metrics, (str, Metric)):
        raise ValueError(f"metrics must be a list of metrics, got {metrics!r}")
    chosen = [one if isinstance(one, Metric) else parse_metric(one) for one in metrics]
    if not chosen:
        raise ValueError("metrics must hold at least one metric, got none")
    study = _Study(ranks, sampler, n_items, expectation_maximisation(ranks, sampler, n_items))
    rows, warnings = {}, _of_the_study(study)
    for one in chosen:
        intervals = _intervals(one, study)
        rows[one] = _row(one, intervals, study)
        warnings += _of_the_metric(one, rows[one], intervals, study)
    return Report(
        pd.DataFrame.from_dict({str(one): row for one, row in rows.items()}, orient="index"),
        tuple(_sentence(one, row, study) for one, row in rows.items()),
        tuple(warnings),
        study.head,
    )


def _ranks_of(sampled, m):
    """A column of sampled ranks, checked here so that a message speaks of m and not of a pool."""
    values = whole_numbers("sampled", sampled, lowest=1)
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
    """A corrected value and the ends of its interval."""

    value: float
    low: float
    high: float


def _intervals(metric, study):
    """Under the plausible, the uniform and the learned prior, within what the metric can be."""
    found, exact = [], metric.of_rank(np.arange(1, study.n_items + 1), study.n_items)
    # The learned prior is kept above 0, so that every sampled rank has a probability.
    for prior in (plausible_prior(study.n_items), None, np.maximum(study.distribution, 1e-12)):
        sampler, n_items = study.sampler, study.n_items
        corrected = BiasVariance(metric, sampler, n_items, gamma=study.gamma, prior=prior)
        values = corrected(study.sampled)
        mean, reach = float(values.mean()), _REACH * standard_error(values)
        ends = np.clip([mean - reach, mean + reach], exact.min(), exact.max())
        found.append(_Corrected(mean, *ends.tolist()))
    return found


def _row(metric, intervals, study):
    sampled, sampler, n_items, distribution = study
    every = Ranks(np.arange(1, n_items + 1), n_items)
    certified = certified_interval(metric, sampled, sampler, n_items, level=_LEVEL)
    return {
        "sampled": metric(sampled).mean(),
        "off by": distribution @ sampler.expect(metric, every) - plug_in(metric, distribution),
        "corrected": intervals[0].value,
        "low": min(interval.low for interval in intervals),
        "high": max(interval.high for interval in intervals),
        "certified low": certified.low,
        "certified high": certified.high,
    }


def _sentence(metric, row, study):
    if isinstance(metric, LinearMetric):
        uncorrected = "which a linear metric does not need; without correction it is"
    else:
        uncorrected = "without which the metric of the ranks among m + 1 items is"
    return (
        f"{metric} is estimated at {row['corrected']:.3f} ({row['low']:.3f} to {row['high']:.3f}) "
        f"from the sampled ranks of {study.head}. It is corrected by the bias-variance estimator "
        f"of Krichene and Rendle with gamma = {study.gamma:.2g}, {uncorrected} "
        f"{row['sampled']:.3f}. "
        "The limits are the outermost of three 95 % intervals, each under another prior of the "
        "rank; without any prior, with 95 % confidence, these data say "
        f"{row['certified low']:.3f} to {row['certified high']:.3f}."
    )


def _of_the_study(study):
    if study.n_instances >= 1000:
        return []
    return [
        f"{study.n_instances} instances are few: with gamma = {study.gamma:.2g} the corrected "
        "values lean on the prior."
    ]


def _of_the_metric(metric, row, intervals, study):
    found, (plausible, uniform, learned) = [], intervals
    ranks_per_item = study.n_items / (study.m + 1)
    if metric.cutoff is not None and metric.cutoff > study.m:
        found.append(
            f"{metric}: every sampled rank lies within the cut-off, so the uncorrected value is "
            "that of a metric without one."
        )
    if metric.cutoff is not None and metric.cutoff < ranks_per_item:
        found.append(
            f"{metric}: one sampled item stands for about {ranks_per_item:.0f} ranks, so what "
            f"happens within the first {metric.cutoff} is seen through the prior only. So is a "
            "difference of two recommenders there."
        )
    low, high = min(plausible.low, uniform.low), max(plausible.high, uniform.high)
    if not low <= learned.value <= high:
        found.append(
            f"{metric}: with a prior learned from these ranks the value is {learned.value:.3f}, "
            f"outside the {low:.3f} to {high:.3f} of the other two priors. The ranks are unlike "
            "either, and may be unlike the learned one too: rely on the certified limits."
        )
    if row["high"] - row["low"] > abs(row["corrected"]):
        found.append(f"{metric}: the limits are further apart than the value itself.")
    if abs(row["off by"]) > abs(row["corrected"]):
        found.append(
            f"{metric}: the uncorrected value is expected to be off by more than the value."
        )
    return found
