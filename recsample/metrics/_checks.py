"""Checks of the metric that a function is given."""

from __future__ import annotations

from typing import Any

from recsample.metrics.base import Metric


def check_metric(metric: Any) -> Metric:
    """``metric``; what is no metric, or lacks a cut-off that it needs, is refused."""
    if not isinstance(metric, Metric):
        raise ValueError(f"metric must be a Metric such as AP or Recall @ 10, got {metric!r}")
    metric.check_cutoff()
    return metric


def check_exact(metric: Any) -> Metric:
    """``metric``; a correction, which reads what was sampled, is refused."""
    made_for = check_metric(metric).sampler
    if made_for is not None:
        raise ValueError(
            f"metric must be a metric of exact ranks such as AP, got {metric}, "
            f"which reads what {made_for} gives"
        )
    return metric
