"""Implicit feedback: what was consumed, read as a preference and as the confidence in it.

Hu, Koren and Volinsky read the consumption r of an item by a user in two ways: does the user like
the item (the preference p), and how much is that reading worth (the confidence c)? `als_objective`
is what matrix factorisation makes of the two, and what recommender X minimises.

Reference: Y. Hu, Y. Koren, C. Volinsky, "Collaborative Filtering for Implicit Feedback Datasets",
ICDM 2008, https://doi.org/10.1109/ICDM.2008.22.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recsample._support.checks import (
    finite_numbers,
    is_sparse,
    nonnegative_float,
    positive_float,
    refuse_first,
)
from recsample._support.typing import Floats, Sparse


def preference(consumption: ArrayLike | Sparse, threshold: float = 0) -> float | Floats | Sparse:
    r"""Preference: 1 where an item was consumed more than a threshold, else 0.

    .. math:: p_{ui} = 1[r_{ui} > C]

    Items with preference 1 count as relevant: `recsample.predicted_ranks` takes the sparse result
    as ``relevant``.

    Parameters
    ----------
    consumption : array_like or sparse matrix of float
        What user u had of item i, :math:`r_{ui} \ge 0`, of any shape: plays, minutes, purchases.
    threshold : float, optional
        The threshold :math:`C \ge 0`.

    Returns
    -------
    float, ndarray or sparse CSR matrix of float, same shape as consumption
        Zeros and ones; sparse for a sparse matrix, which then holds the ones only.

    Raises
    ------
    ValueError
        For a consumption or a threshold that is negative or not finite.

    Examples
    --------
    >>> from recsample.metrics.feedback import preference
    >>> preference([[0, 1, 5], [2, 0, 0]], threshold=1)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    threshold = nonnegative_float("threshold", threshold)
    consumption = _checked("consumption", consumption)
    if not is_sparse(consumption):
        return _number_or_array((consumption > threshold).astype(float))
    consumption.data = (consumption.data > threshold).astype(float)
    consumption.eliminate_zeros()
    return consumption


def confidence(
    consumption: ArrayLike | Sparse, alpha: float, epsilon: float
) -> float | Floats | Sparse:
    r"""Confidence: how much weight the preference read from a consumption deserves.

    .. math:: c_{ui} = 1 + \alpha \log(1 + r_{ui} / \epsilon)

    It is 1 for what was not consumed and grows with consumption, ever more slowly.

    Parameters
    ----------
    consumption : array_like or sparse matrix of float
        As of `preference`.
    alpha, epsilon : float
        How fast the confidence grows, and the unit of consumption, both above 0: far below that
        unit the confidence grows in proportion to consumption, far above it with its logarithm.

    Returns
    -------
    float, ndarray or sparse CSR matrix of float, same shape as consumption
        For a sparse matrix, the confidences of its *stored* entries. All others have confidence 1:
        **not stored means 1**. `als_objective` and the library ``implicit`` read it so;
        ``toarray()`` would show 0.

    Raises
    ------
    ValueError
        For a consumption that is negative or not finite, `alpha` and `epsilon` that are not finite
        and above 0, and a confidence that is too large for a float.

    Examples
    --------
    1 plus the logarithms of 1, 2, 4 and 16:

    >>> from recsample.metrics.feedback import confidence
    >>> confidence([0, 1, 3, 15], alpha=1, epsilon=1).round(4)
    array([1.    , 1.6931, 2.3863, 3.7726])
    """
    alpha, epsilon = positive_float("alpha", alpha), positive_float("epsilon", epsilon)
    consumption = _checked("consumption", consumption)
    stored = consumption.data if is_sparse(consumption) else consumption
    with np.errstate(over="ignore"):
        weight = 1 + alpha * np.log1p(stored / epsilon)
    if np.isinf(weight).any():
        largest = stored.flat[np.argmax(weight)]
        raise ValueError(
            "consumption must give a finite confidence, "
            f"got {largest} with alpha={alpha} and epsilon={epsilon}"
        )
    if not is_sparse(consumption):
        return _number_or_array(weight)
    consumption.data = weight
    return consumption


def als_objective(
    user_factors: ArrayLike,
    item_factors: ArrayLike,
    preference: ArrayLike | Sparse,
    confidence: ArrayLike | Sparse,
    regularization: float,
) -> float:
    r"""What matrix factorisation from implicit feedback minimises: squared errors and penalty.

    .. math:: \sum_{u,i} c_{ui} \, (p_{ui} - x_u^\top y_i)^2
              + \lambda \Big( \sum_u \|x_u\|^2 + \sum_i \|y_i\|^2 \Big)

    The sum runs over *all* pairs of a user and an item. With the item factors :math:`y_i`
    fixed it is a quadratic function of the user factors :math:`x_u`, and the other way round:
    alternating least squares solves for one side after the other.

    Parameters
    ----------
    user_factors, item_factors : array_like of float, shapes (users, d) and (items, d)
        The vectors :math:`x_u` and :math:`y_i`.
    preference, confidence : array_like or sparse matrix of float, shape (users, items)
        The targets :math:`p_{ui} \ge 0` and weights :math:`c_{ui} \ge 0`, both dense or both
        sparse; not stored means preference 0 and confidence 1.
    regularization : float
        The weight :math:`\lambda \ge 0`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For shapes that do not fit, a number that is not finite or, but for factors, negative, and
        if only one of `preference` and `confidence` is sparse.

    Notes
    -----
    Recommender X, `MatrixFactorization`, knows only whether an item was consumed. Its loss
    :math:`L` has a weight :math:`\alpha` of its own, which stands for less confidence, not for
    more. With :math:`J` for the objective above,

    .. math:: L(x, y) = \frac{\alpha}{(1 + \alpha)^2} \,
              J \big( \sqrt{1 + \alpha} \, x, \sqrt{1 + \alpha} \, y \big)
              + \frac{\alpha}{1 + \alpha} |H|

    where :math:`J` has the confidence :math:`(1 + \alpha) / \alpha` for the training events
    :math:`H` and 1 for all other pairs, and the regularisation
    :math:`\lambda (1 + \alpha) / \alpha`.

    Examples
    --------
    One user and two items, of which the first was played. Its score is 1/2, that of the other 0:
    3 (1 - 1/2)^2 + 1 (0 - 0)^2, and a penalty of 0.1 (1 + 1/4).

    >>> from recsample.metrics.feedback import als_objective
    >>> als_objective([[1]], [[0.5], [0]], [[1, 0]], [[3, 1]], regularization=0.1)
    0.875
    """
    users = finite_numbers("user_factors", user_factors)
    items = finite_numbers("item_factors", item_factors)
    if users.ndim != 2 or items.ndim != 2 or users.shape[1] != items.shape[1]:
        raise ValueError(
            "user_factors and item_factors must have the shapes (users, d) and (items, d), "
            f"got {users.shape} and {items.shape}"
        )
    targets = _checked("preference", preference)
    weights = _checked("confidence", confidence)
    for name, matrix in (("preference", targets), ("confidence", weights)):
        if matrix.shape != (len(users), len(items)):
            raise ValueError(
                f"{name} must have the shape (users, items) = {(len(users), len(items))}, "
                f"got {matrix.shape}"
            )
    if is_sparse(targets) != is_sparse(weights):
        raise ValueError(
            "preference and confidence must be both arrays or both sparse, "
            f"got {type(preference).__name__} and {type(confidence).__name__}"
        )
    regularization = nonnegative_float("regularization", regularization)
    penalty = regularization * ((users**2).sum() + (items**2).sum())
    if not is_sparse(targets):
        return float((weights * (targets - users @ items.T) ** 2).sum() + penalty)

    def scores(pairs):
        return np.einsum("ij,ij->i", users[pairs.row], items[pairs.col])

    # With confidence 1 for all pairs: (x.y)^2 for all, and p^2 - 2 p (x.y) where p is not 0.
    objective = ((users.T @ users) * (items.T @ items)).sum()
    pairs = targets.tocoo()
    objective += (pairs.data * (pairs.data - 2 * scores(pairs))).sum()
    # And what another confidence than 1 adds.
    pairs = weights.tocoo()
    errors = np.asarray(targets[pairs.row, pairs.col]).ravel() - scores(pairs)
    objective += ((pairs.data - 1) * errors**2).sum()
    return float(objective + penalty)


def _number_or_array(values):
    return values if values.ndim else float(values)


def _checked(name, values):
    """Finite numbers of at least 0, as a new array or canonical CSR matrix of floats."""
    if not is_sparse(values):
        return finite_numbers(name, values, lowest=0)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers, got entries of type {values.dtype}")
    matrix = values.astype(float).tocsr()
    matrix.sum_duplicates()
    pairs, bad = matrix.tocoo(), ~((matrix.data >= 0) & (matrix.data < np.inf))
    message = f"{name} must be finite numbers of at least 0, got {{}} (at position ({{}}, {{}}))"
    refuse_first(bad, message, pairs.data, pairs.row, pairs.col)
    return matrix
