"""Small pools of weighted items with every sequence of draws from them, and larger random ones."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
from scipy import sparse

import recsample as rs
from recsample import RankedItems

# Where each item of a small pool stands: 1 above, 0 below, None tied.
POOLS = [
    ([1, 0, 1, 0, 0], [3, 1, 4, 1, 5]),
    ([1, 1, 1, 0], [1, 100, 2, 7]),
    ([0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 2]),
    ([1, None, 0, None, 0], [2, 3, 1, 5, 4]),
    ([None, None, None, 0], [1, 2, 3, 4]),
    ([1, 0, None, 0, 1], [2, 0, 3, 5, 0]),
    ([0, 0, 0, 0], [1, 2, 3, 4]),
    ([1, 1, 1, 1], [1, 2, 3, 4]),
]


def ranked(*sides):
    """One instance per list of sides; the relevant item is the last."""
    one = [[side == 1 for side in sides_] + [False] for sides_ in sides]
    tied = [[side is None for side in sides_] + [False] for sides_ in sides]
    relevant = [len(sides_) for sides_ in sides]
    return RankedItems(sparse.csr_matrix(one), relevant, tied=sparse.csr_matrix(tied))


def sequences(weights, m, replace):
    """Every sequence of m draws with its probability, as a fraction."""
    items = [j for j, w in enumerate(weights) if w]
    total = sum(weights)
    for drawn in product(items, repeat=m) if replace else permutations(items, m):
        chance, left = Fraction(1), Fraction(total)
        for j in drawn:
            chance *= Fraction(weights[j]) / left
            left -= 0 if replace else weights[j]
        yield drawn, chance


def _study():
    """The scores of 12 users, their relevant items, what is excluded, and the weights of items."""
    rng = np.random.default_rng(5)
    n_users, n_items = 12, 200
    weights = np.round(1 + 300 * rng.random(n_items) ** 6)
    scores = rng.random((n_users, n_items)) + weights / 300
    scores[:, ::4] = 0.7
    relevant = rng.integers(50, size=n_users) * 4 + np.arange(n_users) % 2  # half of them tied
    scores[1::2][np.arange(6), relevant[1::2]] = 0.9
    exclude = rng.random((n_users, n_items)) < 0.2
    exclude[np.arange(n_users), relevant] = False
    return scores, relevant, exclude, weights


STUDY = _study()


def repeated(users, n):
    """The items of some users of the study, n times each."""
    scores, relevant, exclude, _ = STUDY
    users = np.repeat(users, n)
    return rs.ranked_items(scores[users], relevant[users], sparse.csr_matrix(exclude[users]))


def agree(values, mean, variance):
    """Whether the mean and variance of each row of values are within 4 standard errors."""
    n, off = values.shape[1], values - values.mean(axis=1, keepdims=True)
    fourth = (off**4).mean(axis=1)
    z_mean = (values.mean(axis=1) - mean) / np.sqrt(variance / n)
    z_variance = ((off**2).mean(axis=1) - variance) / np.sqrt((fourth - variance**2) / n)
    return np.abs(z_mean).max() < 4 and np.abs(z_variance).max() < 4
