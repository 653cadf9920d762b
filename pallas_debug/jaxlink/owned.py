"""Arrays across the border to JAX, copied once or not at all.

JAX takes over an aligned NumPy buffer without a copy. So whoever may still write to an
array must not see it taken: writable arrays are copied first, into aligned memory.
"""

from __future__ import annotations

import numpy as np

from pallas_debug.ir import pieces


def copied(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The values as they are now, read-only: JAX need not copy them again."""
    twin = pieces.unset(values.shape, dtype)
    twin[...] = values
    twin.flags.writeable = False
    return twin


def given(values: np.ndarray) -> np.ndarray:
    """The same; one that is read-only is given away, and nobody writes to it again."""
    return copied(values, values.dtype) if values.flags.writeable else values
