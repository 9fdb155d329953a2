"""Which of two recommenders is ahead: exactly, and with what probability."""

from __future__ import annotations

from math import fsum

import numpy as np
from scipy import special

from recsample._instances import check_as_many, check_pairable, check_same_instances, rows_of
from recsample._statistics import mean_of
from recsample._validation import finite_numbers, shown
from recsample.corrections import Correction
from recsample.metrics._checks import check_metric
from recsample.ranks import Ranks
from recsample.sampling.base import Observed


def exact_order(metric, ranks_a, ranks_b):
    """1 where A is exactly above B, -1 where it is below."""
    exact = metric.metric if isinstance(metric, Correction) else metric
    named = {"ranks_a": ranks_a, "ranks_b": ranks_b}
    counted = [rows_of(ranks, name)[1] is not None for name, ranks in named.items()]  # checks both
    if any(counted):
        check_as_many(ranks_a, ranks_b)  # counts do not say which instances they are
    else:
        check_same_instances(ranks_a, ranks_b)
    # Summed without rounding, so that equal means are found equal in whatever order.
    gap = fsum([*_parts_of_sum(exact, ranks_a), *(-x for x in _parts_of_sum(exact, ranks_b))])
    if gap == 0:
        raise ValueError(f"ranks_a and ranks_b must differ in their mean {exact}, got the same")
    return 1 if gap > 0 else -1


def difference_moments(metric, ranks_a, ranks_b, sampler):
    """Mean and variance of the difference of two means, on negatives of their own."""
    (rows_a, counts_a), (rows_b, counts_b) = rows_of(ranks_a), rows_of(ranks_b)
    (mean_a, variance_a), (mean_b, variance_b) = (
        sampler.moments(metric, rows) for rows in (rows_a, rows_b)
    )
    size = len(ranks_a)
    if counts_a is None and counts_b is None:
        return (mean_a - mean_b).sum() / size, (variance_a + variance_b).sum() / size**2
    mean = mean_of(mean_a, counts_a) - mean_of(mean_b, counts_b)
    variance = mean_of(variance_a, counts_a) + mean_of(variance_b, counts_b)
    return mean, variance / size


def _parts_of_sum(metric, ranks):
    """Numbers whose sum is that of the metric over the instances, without any rounding."""
    rows, counts = rows_of(ranks)
    values = defined_values(metric, rows)
    if counts is None:
        return values
    # A count times a value is the sum of two floats: the rounded product, and by how much it is
    # off, from halves of the digits of both factors (Dekker, 1971).
    counts = counts.astype(float)
    product = counts * values
    (high, low), (upper, lower) = map(_halves, (counts, values))
    off = low * lower - (((product - high * upper) - low * upper) - high * lower)
    return np.concatenate([product, off])


def _halves(numbers):
    """Two floats of half as many digits, with the numbers as their sum (Veltkamp)."""
    scaled = (2.0**27 + 1) * numbers
    high = scaled - (scaled - numbers)
    return high, numbers - high


def normal_probability(mean, error):
    """P(Normal(mean, error) > 0); 1/2 where there is neither difference nor noise."""
    if error == 0:
        return float(0.5 + 0.5 * np.sign(mean))
    return float(special.ndtr(mean / error))


def defined_values(metric, ranks):
    """The metric of every instance; one that is undefined is refused."""
    check_metric(metric)
    values = metric(ranks)
    if np.isnan(values).any():
        raise ValueError(
            f"{metric} must be defined for every instance, got nan in instance "
            f"{int(np.argmax(np.isnan(values)))}"
        )
    return values


def differences_of(metric, a, b, names=("a", "b")):
    """The metric of A minus that of B, instance by instance; of ranks, observations or values."""
    values = [_values_of(name, metric, one) for name, one in zip(names, (a, b))]
    if len(values[0]) != len(values[1]):
        raise ValueError(
            "both recommenders must have the same instances, "
            f"got {len(values[0])} and {len(values[1])}"
        )
    if isinstance(a, Ranks) and isinstance(b, Ranks):
        check_same_instances(a, b, names)
    return values[0] - values[1]


def _values_of(name, metric, evaluated):
    check_pairable(evaluated, name)
    if isinstance(evaluated, Observed):
        return evaluated.design.of(metric, evaluated)
    if isinstance(evaluated, Ranks):
        return defined_values(metric, evaluated)
    if metric is not None:
        raise ValueError(
            f"{name} must be Ranks or Observed for a metric, and metric None for values of its "
            f"own, got {shown(evaluated)} for {metric}"
        )
    values = finite_numbers(name, evaluated)
    if values.ndim != 1:
        raise ValueError(f"{name} must hold one value per instance, got shape {values.shape}")
    return values
