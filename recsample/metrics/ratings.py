"""Errors of predicted ratings: MAE, MSE and RMSE.

A recommender with smaller errors need not recommend better items, since errors ignore the ranking.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import finite_numbers
from recsample._support.errors import InputError


def mae(predicted: ArrayLike, actual: ArrayLike) -> float:
    r"""Mean absolute error.

    .. math:: \frac 1 n \sum_{i=1}^n |\hat r_i - r_i|

    Perfect 0, no upper bound. The best constant prediction is the median of the ratings.

    Parameters
    ----------
    predicted, actual : array_like of float
        Predicted ratings and those that were given, of one shape.

    Returns
    -------
    float

    Examples
    --------
    >>> from recsample.metrics.ratings import mae
    >>> mae(predicted=[4, 3, 5, 1], actual=[5, 3, 3, 2])     # (1 + 0 + 2 + 1) / 4
    1.0
    """
    return float(np.mean(np.abs(_errors(predicted, actual))))


def mse(predicted: ArrayLike, actual: ArrayLike) -> float:
    r"""Mean squared error.

    .. math:: \frac 1 n \sum_{i=1}^n (\hat r_i - r_i)^2

    Perfect 0, no upper bound. The best constant prediction is the mean of the ratings.

    Parameters
    ----------
    predicted, actual : array_like of float
        As of `mae`.

    Returns
    -------
    float

    Examples
    --------
    >>> from recsample.metrics.ratings import mse
    >>> mse(predicted=[4, 3, 5, 1], actual=[5, 3, 3, 2])     # (1 + 0 + 4 + 1) / 4
    1.5
    """
    return float(np.mean(_errors(predicted, actual) ** 2))


def rmse(predicted: ArrayLike, actual: ArrayLike) -> float:
    r"""Root mean squared error: the root of `mse`, in the unit of the ratings.

    .. math:: \sqrt{\frac 1 n \sum_{i=1}^n (\hat r_i - r_i)^2}

    Perfect 0, no upper bound, never below `mae`.

    Parameters
    ----------
    predicted, actual : array_like of float
        As of `mae`.

    Returns
    -------
    float

    Examples
    --------
    >>> from recsample.metrics.ratings import rmse
    >>> rmse(predicted=[4, 3, 5, 1], actual=[5, 3, 1, 1])    # the root of (1 + 0 + 16 + 0) / 4
    2.0615528128088303
    """
    return float(np.sqrt(np.mean(_errors(predicted, actual) ** 2)))


def _errors(predicted, actual):
    predicted, actual = finite_numbers("predicted", predicted), finite_numbers("actual", actual)
    if predicted.shape != actual.shape:
        got = f"{predicted.shape} and {actual.shape}"
        raise InputError("predicted and actual", "must have the same shape").got(got)
    if not actual.size:
        allowed = "must hold at least one rating"
        raise InputError("actual", allowed).got(f"none in shape {actual.shape}")
    return predicted - actual
