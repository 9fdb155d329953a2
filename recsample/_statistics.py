"""Statistics of a mean over instances."""

from __future__ import annotations

import numpy as np

from recsample._typing import Floats


def standard_error(values: Floats) -> float:
    """The standard error of the mean of the values of at least two instances."""
    if len(values) < 2:
        raise ValueError(
            f"ranks must hold at least two instances for a standard error, got {len(values)}"
        )
    return float(values.std(ddof=1) / np.sqrt(len(values)))
