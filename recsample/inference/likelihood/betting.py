"""A limit of a mean that is proved to hold, by betting against every larger mean.

Whoever bets that a mean is t or more loses, on average, to the capital

    K = product over i of 1 + rate_i * (t - x_i),

for any rates that are chosen before x_i is seen and leave K no less than 0: under a mean of t or
more its expectation never grows, so that it ever exceeds 1 / a with a chance of at most a (Ville's
inequality). The limit is the least t at which it does. (I. Waudby-Smith, A. Ramdas, "Estimating
means of bounded random variables by betting", Journal of the Royal Statistical Society B 86, 2024.)
"""

from __future__ import annotations

import numpy as np

from recsample._support.typing import Floats

# The share of what can be lost at once that is bet at most.
_MOST = 0.5
_HALVINGS = 50


def betting_limit(values: Floats, end: float, chance: float) -> float:
    """The upper limit of the mean of independent values up to `end`, missed with this chance."""
    n = np.arange(len(values))
    # The mean and the variance of the values before each, with one value more to begin with: that
    # of a variance which is as large as the values before allow.
    before = np.append(0.0, np.cumsum(values)[:-1])
    mean = (before + end / 2) / (n + 1)
    spread = np.append(0.0, np.cumsum((values - mean) ** 2)[:-1])
    variance = (spread + (end / 2) ** 2) / (n + 1)
    rate = np.sqrt(2 * np.log(1 / chance) / np.maximum(variance * len(values), 1e-300))

    def is_refuted(t):
        bets = np.minimum(rate, _MOST / max(end - t, 1e-300)) * (t - values)
        return np.cumsum(np.log1p(bets)).max() >= np.log(1 / chance)

    low, high = float(values.mean()), end
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_refuted(middle) else (middle, high)
    return high
