"""The types that several signatures of this package name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Sparse = sparse.spmatrix | sparse.sparray
# A seed, a generator that is advanced, or None for a seed from the operating system.
Rng = int | np.random.Generator | None
