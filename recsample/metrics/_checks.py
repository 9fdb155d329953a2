"""A check of the metric that a function is given."""

from __future__ import annotations

from typing import Any

from recsample.metrics.base import Metric


def check_metric(metric: Any) -> Metric:
    """``metric``; what is no metric, or lacks a cut-off that it needs, is refused."""
    if not isinstance(metric, Metric):
        raise ValueError(f"metric must be a Metric such as AP or Recall @ 10, got {metric!r}")
    metric.check_cutoff()
    return metric
