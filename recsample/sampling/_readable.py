"""A check of what is to read the observations of a sampler or design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recsample.metrics._checks import check_metric
from recsample.metrics.base import Metric

if TYPE_CHECKING:
    from recsample.sampling.base import Design, Sampler


def check_readable(metric: Any, drawn: Sampler | Design) -> Metric:
    """``metric``; a correction for another kind of observation than those drawn is refused."""
    made_for = check_metric(metric).sampler
    if made_for is not None and not made_for.same_kind(drawn):
        raise ValueError(
            f"metric must read what {drawn} gives, got {metric}, which is made for {made_for}"
        )
    return metric
