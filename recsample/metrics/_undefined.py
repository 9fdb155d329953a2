"""What a metric says where it is undefined."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from recsample._typing import Floats

if TYPE_CHECKING:
    from recsample.metrics.base import Metric


def warned_of_nan(metric: Metric, values: Floats) -> Floats:
    """The values; a warning says for how many instances they are undefined."""
    undefined = int(np.isnan(values).sum())
    if undefined:
        warnings.warn(
            f"{metric} is undefined for {undefined} of {values.size} instances (no relevant item"
            + (", or no irrelevant one): nan" if not metric.takes_cutoff else "): nan"),
            stacklevel=3,
        )
    return values
