"""Where two arrays agree: the one rule by which results are held against each other."""

from __future__ import annotations

import ml_dtypes
import numpy as np


def disagreement(
    got: np.ndarray, want: np.ndarray, *, relative: float, absolute: float
) -> tuple[np.ndarray, np.ndarray]:
    """Elements that differ by more than is allowed, and by how much.

    NaN equals NaN, and a complex number is NaN if a part of it is; an infinity equals
    itself alone. Integers are compared exactly where nothing is allowed.

    Args:
      got: What came out.
      want: What is expected, of the same shape.
      relative: Allowed difference, as a part of the expected magnitude.
      absolute: Allowed beside that, in the unit of the numbers.

    Returns:
      Two arrays of that shape: which elements are wrong, and the differences.
    """
    exact = got.dtype.kind in "biu" and want.dtype.kind in "biu"
    if exact and not (relative or absolute):
        wrong = got != want
        return wrong, np.abs(got.astype(np.float64) - want.astype(np.float64))
    a, b = got.astype(_wide(got, want)), want.astype(_wide(got, want))
    with np.errstate(all="ignore"):
        error = np.abs(a - b)
        close = (error <= absolute + relative * np.abs(b)) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return ~(close | same), np.where(same, 0.0, error)


def largest(array: np.ndarray, least: float = 0.0) -> float:
    """The largest finite magnitude, or `least` if that is more."""
    wide = np.abs(array.astype(_wide(array)))
    return float(np.max(wide, initial=least, where=np.isfinite(wide)))


def rounding(array: np.ndarray) -> float:
    """What sums in another order may change, as a part of them; 0 for whole numbers."""
    try:
        return float(ml_dtypes.finfo(array.dtype).eps) ** 0.5
    except ValueError:
        return 0.0


def _wide(*arrays: np.ndarray) -> type[np.complex128] | type[np.float64]:
    kinds = {array.dtype.kind for array in arrays}
    return np.complex128 if "c" in kinds else np.float64
