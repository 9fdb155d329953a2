"""The types that several signatures of this package name."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Sparse = sparse.spmatrix | sparse.sparray

# A seed, a generator that is advanced, or None for a seed from the operating system.
Rng = int | np.random.Generator | None


class Sampler(Protocol):
    """What a correction needs to know of a sampler."""

    @property
    def m(self) -> int:
        """One less than the number of different observations."""

    def law(self, n_items: int) -> Floats:
        """The law of the observation for every rank, shape (n_items, m + 1)."""
