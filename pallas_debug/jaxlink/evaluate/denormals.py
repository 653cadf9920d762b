"""Flushing of subnormal floats to zero, as XLA does on a CPU.

NumPy keeps subnormals unless the processor is told otherwise. Within
`flushing_denormals` the calling thread treats subnormal operands and results as zeros.
"""

import contextlib
import ctypes
import functools
import platform
from collections.abc import Iterator

_FLAGS = {
    ("Linux", "x86_64"): (28, 0x8040),
    ("Linux", "aarch64"): (0, 1 << 24),
}
"""Offset of the control word in C's `fenv_t`, and its bits for flushing."""

_Environment = ctypes.c_char * 64  # no smaller than any `fenv_t`


@functools.cache
def _place() -> tuple[int, int] | None:
    return _FLAGS.get((platform.system(), platform.machine()))


@functools.cache
def _libm() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@contextlib.contextmanager
def flushing_denormals() -> Iterator[None]:
    """Flushes subnormals in this thread; does nothing on platforms not listed."""
    place = _place()
    if place is None:
        yield
        return
    offset, flags = place
    libm = _libm()
    before = _Environment()
    libm.fegetenv(before)
    after = _Environment.from_buffer_copy(before)
    word = ctypes.c_uint32.from_buffer(after, offset)
    word.value |= flags
    libm.fesetenv(after)
    try:
        yield
    finally:
        libm.fesetenv(before)
