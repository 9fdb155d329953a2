"""Checks of samplers, designs, and of what designs have observed."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from recsample._validation import shown
from recsample.sampling.base import Design, HasLaw, Observed, Sampler


def check_sampler(sampler: Any) -> Sampler:
    """``sampler``; a design, and what is neither, is refused."""
    if isinstance(sampler, Design):
        raise ValueError(
            f"sampler must be a sampler, which gives ranks again, got the design {shown(sampler)}: "
            "what it observes is no ranking"
        )
    if not isinstance(sampler, Sampler):
        raise ValueError(
            f"sampler must be a sampler such as UniformSampling(100), got {shown(sampler)}"
        )
    return sampler


def check_law(sampler: Any) -> HasLaw:
    """``sampler``, or design; one whose observation has no law given the rank alone is refused."""
    if not isinstance(sampler, (Sampler, Design)):
        raise ValueError(
            f"sampler must be a sampler such as UniformSampling(100), got {shown(sampler)}"
        )
    if not isinstance(sampler, HasLaw):
        raise ValueError(
            "sampler must have a law that depends on the rank alone, as UniformSampling(100) has, "
            f"got {shown(sampler)}"
        )
    return sampler


def check_observed(observed: Any, design: Design) -> Observed:
    """``observed``; what is no observation of the design is refused."""
    if not isinstance(observed, Observed):
        raise ValueError(f"observed must be what {design} observes, got {shown(observed)}")
    if not design.same_kind(observed.design):
        raise ValueError(f"observed must be of {design}, got one of {observed.design}")
    return observed


def column_of(observed: Observed, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """What was observed under a name; refused where it is missing or has another shape."""
    if name not in observed.columns:
        raise ValueError(
            f"observed must hold {name!r} for {observed.design}, got {', '.join(observed.columns)}"
        )
    column = observed[name]
    if column.shape != shape:
        raise ValueError(
            f"{name} must have shape {shape} for {observed.design}, got {column.shape}"
        )
    return column
