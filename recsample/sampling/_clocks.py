"""The law of a sample without replacement and with weights, through clocks.

Draw m items one after the other, each in proportion to the weights of those that are left. How many
of them are above the relevant item? Each draw depends on all the draws before it. But give each
candidate a clock that rings once, after an exponential time with its weight as the rate: then the
first m clocks to ring are such a sample, and *at a fixed time* the clocks are independent. So the
law is that of independent indicators at time t, integrated over the time t of the m-th ring.

`first_rings` takes that integral; the functions below it supply its parts.
"""

from __future__ import annotations

import numpy as np
from scipy import fft, special

# Instances are taken together that have about this many numbers (32 MiB of float64), since each
# takes the same steps through time.
BLOCK = 2**22

# At most so many steps through time are taken at once, and only as long as they have so few numbers
# together: a step that comes later needs a larger transform.
_STEPS, _AT_ONCE = 16, 2**15

# Chances below exp(-36) = 2e-16 are left out.
_NEGLIGIBLE = 36.0


def first_rings(above, tied, below, weights, m):
    """The law of how many above the relevant item are among the first m clocks to ring.

    The arrays count, for each instance, the candidates of each weight: shape (instances, weights).

    At time t each clock of weight w has rung with probability p = 1 - exp(-w t), independently. So
    the numbers of rung clocks above, tied and below are independent, with generating functions
    G(z) = product of (1 - p + p z). The m-th ring takes (i, k, m - i - k) from one below it in one
    coordinate, at a rate that has a generating function too, z G(z) times the sum of
    w exp(-w t) / (1 - p + p z). The coefficients come from values on the unit circle, the integral
    over t from the trapezoidal rule in log t, which for such smooth integrands with both ends at 0
    is exact up to an error that falls like exp(-constant / step).
    """
    total = above + tied + below
    step = min(0.15, 0.3 / np.sqrt(1 + m / 4))
    # Sooner than the first time no m clocks have rung, later than the last no m are left to ring.
    first = np.log(m * np.exp(-1 - _NEGLIGIBLE / m) / (total @ weights).max())
    last = np.log((_NEGLIGIBLE + np.log(total.sum(axis=1).max())) / weights.min())
    times = np.exp(np.arange(first, last + step, step))
    rung, active = _when_active(total, weights, times, m)
    most = min(m, int(tied.sum(axis=1).max()))
    # More rings than this have a negligible chance, by Bernstein's inequality.
    reach = np.where(active, rung, 0.0).max(axis=0)
    reach = reach + np.sqrt(2 * _NEGLIGIBLE * reach) + _NEGLIGIBLE
    reach = np.minimum(reach, total.sum(axis=1).max()).astype(np.int64)
    sizes = 2 * (np.maximum(reach, m) // 2) + 3  # odd: no point at -1, where a factor may be 0
    change = np.zeros((len(above), m + 2))
    for part in _together(np.flatnonzero(active.any(axis=0)), sizes * max(above.shape)):
        size, on = sizes[part].max(), active[:, part].any(axis=1)
        both, point = _on_the_circle(weights, times[part], size)
        (p_above, f_above), (p_tied, f_tied), (p_below, f_below) = (
            _laws_and_rates(group[on], both, point, size, m) for group in (above, tied, below)
        )
        width = np.where(active[on][:, part].T, step * times[part, None], 0.0)
        for k in range(most + 1):
            # The m-th clock rings now, after which i above, k tied and m - k - i below have rung.
            # It is one of the first, the second or the third kind.
            up, rest = slice(0, m - k + 1), slice(m - k, None, -1)
            p_t, f_t = p_tied[..., [k]], f_tied[..., [k]]
            now_above = f_above[..., up] * p_t * p_below[..., rest]
            now_tied = p_above[..., up] * f_t * p_below[..., rest]
            now_below = p_above[..., up] * p_t * f_below[..., rest]
            density = now_above + now_tied + now_below
            # In a random order 0, 1, ..., k of the k tied ones are above, each as likely: counts of
            # i, ..., i + k get a share each, as an increase at i and a decrease at i + k + 1.
            share = np.einsum("tis,ti->is", density, width) / (k + 1)
            change[on, : m - k + 1] += share
            change[on, k + 1 :] -= share
    law = np.maximum(np.cumsum(change[:, :-1], axis=1), 0.0)
    return law / law.sum(axis=1, keepdims=True)


def _together(which, numbers):
    """Parts of the steps through time that are taken at once, of about `_AT_ONCE` numbers each."""
    while len(which):
        few = max(1, min(_AT_ONCE // int(numbers[which[0]]), _STEPS))
        yield which[:few]
        which = which[few:]


def _on_the_circle(weights, times, size):
    """Each weight at half of the points z: log(1 - p + p z) and w exp(-w t) / (1 - p + p z)."""
    point = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    passed = times[:, None] * weights
    factor = 1 - np.expm1(-passed)[..., None] * (point - 1)
    rate = (weights * np.exp(-passed))[..., None] / factor
    return np.concatenate([np.log(factor), rate], axis=-1), point


def _laws_and_rates(counts, both, point, size, m):
    """P(i clocks of a group have rung), and the rate at which the i-th rings, for i = 0, ..., m.

    Shape (times, instances, m + 1), as that of the clocks at the points is (times, weights, ...).
    """
    if not counts.any():
        law = np.zeros((len(both), len(counts), m + 1))
        law[..., 0] = 1
        return law, np.zeros_like(law)
    # A product of real and complex numbers would make the real ones complex first.
    sums = (counts @ both.view(float)).view(complex)
    log, rate = np.split(sums, 2, axis=-1)
    law = np.exp(log)
    return tuple(fft.irfft(x, size)[..., : m + 1] for x in (law, law * rate * point))


def _when_active(total, weights, times, m):
    """The mean number of rung clocks, and whether the m-th may ring about then: not negligibly.

    By Chernoff's bounds: P(X >= c) <= exp(-(x - c + c log(c / x))) for X with mean x < c, a sum of
    independent indicators, and the same for P(X <= c) with x > c.
    """
    left = total @ np.exp(-np.outer(weights, times))
    rung = total @ -np.expm1(-np.outer(weights, times))
    number = total.sum(axis=1)[:, None]

    def exponent(mean, c):
        return mean - c + special.xlogy(c, c) - special.xlogy(c, mean)

    too_early = (rung < m) & (exponent(rung, m) > _NEGLIGIBLE)
    too_late = (rung > m - 1) & (exponent(rung, m - 1) > _NEGLIGIBLE)
    more = number - m + 1  # so many have not rung while fewer than m have
    too_late |= (left < more) & (exponent(left, more) > _NEGLIGIBLE)
    return rung, ~(too_early | too_late)
