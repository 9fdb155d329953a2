"""A list of metrics that a function is given, by themselves or by their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recsample._validation import shown
from recsample.metrics.base import Metric
from recsample.metrics.names import metric


def chosen_metrics(metrics: Sequence[Metric | str]) -> list[Metric]:
    """The different metrics, with their names read; refuses what is not a list of at least one."""
    if isinstance(metrics, (str, Metric)) or not np.iterable(metrics):
        raise ValueError(f"metrics must be a list of metrics, got {shown(metrics)}")
    found = [one if isinstance(one, Metric) else metric(one) for one in metrics]
    if not found:
        raise ValueError("metrics must hold at least one metric, got none")
    for one in found:
        one.check_cutoff()
    return list(dict.fromkeys(found))
