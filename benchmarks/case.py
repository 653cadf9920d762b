"""What a benchmark kernel comes with: its inputs and the right result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import pallas as pl

TILE = 64
K_STEPS = 4  # of the two matmuls


@dataclass(frozen=True)
class Case:
    """A kernel at one grid size.

    Attributes:
      run: The launch, jitted, from inputs to the result.
      inputs: NumPy arrays.
      expected: What NumPy computes from them.
      rtol, atol: How far a result may be off: the order of a sum is the executor's.
    """

    run: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    rtol: float = 1e-5
    atol: float = 1e-6

    def is_right(self, result: Any) -> bool:
        """Whether a result is the one that NumPy computes."""
        result = np.asarray(result)
        return (
            result.shape == self.expected.shape
            and result.dtype == self.expected.dtype
            and np.allclose(
                result.astype(np.float32),
                self.expected.astype(np.float32),
                rtol=self.rtol,
                atol=self.atol,
            )
        )


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """The same random numbers in every process."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def like(array: np.ndarray) -> jax.ShapeDtypeStruct:
    """The type of an array."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def rows(block: Any, size: int = TILE) -> Any:
    """The slice of rows that belongs to a block."""
    return pl.ds(block * size, size)


def matmul_grid(outputs: int) -> tuple[int, int]:
    """The most square grid of so many output tiles."""
    m = next(d for d in range(int(outputs**0.5), 0, -1) if outputs % d == 0)
    return m, outputs // m
