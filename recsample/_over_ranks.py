"""Averages over the ranks of a pool, with a weight for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recsample._memory import fits_in_memory
from recsample._typing import Floats
from recsample._validation import numbers


def average_errors(
    values: Floats, law: Floats, target: Floats, prior: Floats
) -> tuple[Floats, Floats, Floats]:
    """Bias, squared bias and variance of an estimator, averaged over the ranks, given its values.

    `values` may have a column for each of several estimators; `target` then needs one column.
    """
    mean = law @ values
    bias = mean - target
    variance = (prior @ law) @ values**2 - prior @ mean**2
    return prior @ bias, prior @ bias**2, variance


def normalised_prior(prior: ArrayLike | None, n_items: int) -> Floats:
    """The weights of the ranks 1, ..., n, with sum 1; uniform for None."""
    if prior is None:
        fits_in_memory(
            16 * n_items, f"a prior of n_items={n_items} ranks", "choose a smaller n_items"
        )
        return np.full(n_items, 1.0 / n_items)
    weights = numbers("prior", prior).astype(float)
    if weights.shape != (n_items,):
        raise ValueError(
            f"prior must have shape ({n_items},), one weight a rank, got {weights.shape}"
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise ValueError(
            "prior must hold finite weights of at least 0, "
            f"got {weights[bad][0]} for rank {np.argmax(bad) + 1}"
        )
    if not weights.any():
        raise ValueError("prior must hold a weight above 0, got only zeros")
    weights = weights / weights.max()  # whose sum cannot overflow
    return weights / weights.sum()
