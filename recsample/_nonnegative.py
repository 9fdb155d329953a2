"""Least squares with unknowns that must not be negative."""

from __future__ import annotations

import numpy as np
from scipy import linalg, optimize

from recsample._typing import Floats


def nonnegative_least_squares(matrix: Floats, right: Floats) -> Floats:
    """The solution of ``matrix @ x = right`` over x >= 0 with the smallest squared error.

    Where the right side is met but for rounding, as the terms of many relevant items are, there is
    nothing left to decide which unknowns are 0, and the search may go round in circles. Then it is
    tried with columns of length 1, and after that with a penalty so small that it changes no digit
    that is determined.
    """
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
