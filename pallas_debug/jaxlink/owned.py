"""Arrays across the border to JAX, copied once or not at all.

JAX takes over an aligned NumPy buffer without a copy. So whoever may still write to an
array must not see it taken: writable arrays are copied first, into aligned memory.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from pallas_debug.ir import pieces


def copied(values: np.ndarray) -> Any:
    """A JAX array of the values as they are now."""
    twin = pieces.unset(values.shape, values.dtype)
    twin[...] = values
    return jax.device_put(twin)


def given(values: np.ndarray) -> Any:
    """The same; one that is read-only is given away, and nobody writes to it again."""
    return copied(values) if values.flags.writeable else jax.device_put(values)
