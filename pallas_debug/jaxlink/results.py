"""What a function returned, as named NumPy arrays."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def leaves(tree: Any) -> list[tuple[str, np.ndarray]]:
    """The arrays of a pytree with their paths, `""` for a tree of one array."""
    found, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), np.asarray(leaf)) for path, leaf in found]
