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
      alone: The same work in NumPy with nothing recorded: inputs and results cross to
        JAX's side, and each value that the kernel makes has a place of its own.
    """

    run: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    rtol: float = 1e-5
    atol: float = 1e-6
    alone: Callable[..., Any] | None = None

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


def scaled(x: np.ndarray, factor: float, offset: float) -> np.ndarray:
    """`factor x + offset` in NumPy: inputs are kept, and so is what was stored."""
    kept = x.copy()
    value = kept * np.float32(factor)
    value += np.float32(offset)
    return value.copy()


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`x @ y` in NumPy, tile by tile; each partial sum is kept."""
    x, y, kept = x.copy(), y.copy(), list[np.ndarray]()
    out = np.empty((len(x), y.shape[1]), np.float32)
    for i in range(0, len(x), TILE):
        for j in range(0, y.shape[1], TILE):
            total = np.zeros((TILE, TILE), np.float32)
            for k in range(0, len(y), TILE):
                kept.append(total)
                part = x[i : i + TILE, k : k + TILE] @ y[k : k + TILE, j : j + TILE]
                total = total + part
            out[i : i + TILE, j : j + TILE] = total
    return out


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
