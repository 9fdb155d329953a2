"""Which of two recommenders is ahead: exactly, and with what probability."""

from __future__ import annotations

from math import fsum

import numpy as np
from scipy import special

from recsample._instances import check_same_instances
from recsample._validation import finite_numbers, shown
from recsample.corrections import Correction
from recsample.metrics._checks import check_metric
from recsample.ranks import Ranks
from recsample.sampling.base import Observed


def exact_order(metric, ranks_a, ranks_b):
    """1 where A is exactly above B, -1 where it is below."""
    exact = metric.metric if isinstance(metric, Correction) else metric
    check_same_instances(ranks_a, ranks_b)
    # Summed without rounding, so that equal means are found equal in whatever order.
    gap = fsum([*defined_values(exact, ranks_a), *-defined_values(exact, ranks_b)])
    if gap == 0:
        raise ValueError(f"ranks_a and ranks_b must differ in their mean {exact}, got the same")
    return 1 if gap > 0 else -1


def difference_moments(metric, ranks_a, ranks_b, sampler):
    """Mean and variance of the difference of two means, on negatives of their own."""
    (mean_a, variance_a), (mean_b, variance_b) = (
        sampler.moments(metric, ranks) for ranks in (ranks_a, ranks_b)
    )
    size = len(ranks_a)
    return (mean_a - mean_b).sum() / size, (variance_a + variance_b).sum() / size**2


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


def differences_of(metric, a, b):
    """The metric of A minus that of B, instance by instance; of ranks, observations or values."""
    values = [_values_of(name, metric, one) for name, one in (("a", a), ("b", b))]
    if len(values[0]) != len(values[1]):
        raise ValueError(
            "both recommenders must have the same instances, "
            f"got {len(values[0])} and {len(values[1])}"
        )
    if isinstance(a, Ranks) and isinstance(b, Ranks):
        check_same_instances(a, b)
    return values[0] - values[1]


def _values_of(name, metric, evaluated):
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
