"""Statistics of a mean over instances."""

from __future__ import annotations

import numpy as np

from recsample._support.typing import Floats, Integers

# Of the limits that come without a level of the user's own choice, and as sentences say it.
LEVEL = 0.95
PERCENT = f"{100 * LEVEL:g} %"


def standard_error(values: Floats, counts: Integers | None = None) -> float:
    """The standard error of the mean of the values of at least two instances.

    With `counts` each value is that of so many instances.
    """
    n = len(values) if counts is None else int(counts.sum())
    if n < 2:
        raise ValueError(f"ranks must hold at least two instances for a standard error, got {n}")
    return float(np.sqrt(variance_of(values, counts) / n))


def mean_of(values: Floats | Integers, counts: Integers | None = None) -> float:
    """The mean of the values, each of as many instances as `counts` says."""
    return float(values.mean() if counts is None else counts @ values / counts.sum())


def variance_of(values: Floats, counts: Integers | None = None) -> float:
    """Their variance, with one less than the number of instances in the denominator."""
    if counts is None:
        return float(values.var(ddof=1))
    off = values - mean_of(values, counts)
    return float(counts @ off**2 / (counts.sum() - 1))


def limits_of_mean(
    values: Floats, level: float, counts: Integers | None = None
) -> tuple[float, float]:
    """The usual limits of a mean over instances, by Student's t distribution.

    With `counts` each value is that of so many instances.
    """
    from scipy import special  # means and variances are asked for without it

    n = len(values) if counts is None else int(counts.sum())
    mean, std = mean_of(values, counts), np.sqrt(variance_of(values, counts))
    reach = special.stdtrit(n - 1, (1 + level) / 2) * std / np.sqrt(n)
    return float(mean - reach), float(mean + reach)


def probability_above_0(values: Floats) -> float:
    """How sure it is, by Student's t distribution, that the mean over more values is above 0."""
    from scipy import special

    error = values.std(ddof=1) / np.sqrt(len(values))
    if error == 0:
        return float(0.5 + 0.5 * np.sign(values.mean()))
    return float(special.stdtr(len(values) - 1, values.mean() / error))


# Least squares with unknowns that must not be negative.


def nonnegative_least_squares(matrix: Floats, right: Floats) -> Floats:
    """The solution of ``matrix @ x = right`` over x >= 0 with the smallest squared error.

    Where the right side is met but for rounding, as the terms of many relevant items are, there is
    nothing left to decide which unknowns are 0, and the search may go round in circles. Then it is
    tried with columns of length 1, and after that with a penalty so small that it changes no digit
    that is determined.
    """
    from scipy import linalg, optimize

    n = matrix.shape[1]
    for penalty in (None, 0.0, 1e-8, 1e-7, 1e-6, 1e-5):
        rows, wanted, scale = matrix, right, 1.0
        if penalty is not None:
            scale = np.maximum(linalg.norm(matrix, axis=0), np.finfo(float).tiny)
            rows = matrix / scale
        if penalty:
            rows = np.vstack([rows, penalty * np.eye(n)])
            wanted = np.append(right, np.zeros(n))
        try:
            return optimize.nnls(rows, wanted, maxiter=30 * n)[0] / scale
        except RuntimeError:  # too many iterations
            continue
    raise RuntimeError(f"the search for a non-negative solution of {n} unknowns did not end")
