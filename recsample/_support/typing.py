"""Types for the signatures of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy import sparse

    Sparse = sparse.spmatrix | sparse.sparray
else:  # whoever has such a matrix has loaded SciPy; nothing else here needs it
    Sparse = Any
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# A seed, a generator that is advanced, or None for a seed from the operating system.
Rng = int | np.random.Generator | None
