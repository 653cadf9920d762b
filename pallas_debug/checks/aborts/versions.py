"""Which JAX versions refuse what: one row for each refusal.

Versions are tuples of integers. `None` means: not fixed in the newest version seen,
0.12.0.1. A kernel that does not say its version is judged by the newest.
"""

from __future__ import annotations

from itertools import takewhile

from pallas_debug import ir

Version = tuple[int, ...]
NEWEST: Version = (0, 12, 0, 1)

# Code of the check → first version that refuses, first one that does not any more.
REFUSED: dict[str, tuple[Version, Version | None]] = {
    "PD301": ((0, 10, 2), None),
    "PD302": ((0, 10, 2), None),
    "PD303": ((0, 10, 2), None),
    "PD304": ((0, 11, 1), None),
    "PD305": ((0, 10, 2), None),
    "PD306": ((0, 10, 2), None),
    "PD307": ((0, 10, 2), None),
    "PD308": ((0, 10, 2), None),
    "PD309": ((0, 10, 2), None),
    "PD310": ((0, 10, 2), None),
    "PD311": ((0, 10, 2), None),
    "PD312": ((0, 10, 2), None),
    "PD313": ((0, 10, 2), None),
    "PD314": ((0, 10, 2), None),
    "PD315": ((0, 10, 2), None),
    "PD316": ((0, 10, 2), None),
    "PD317": ((0, 10, 2), None),
    "PD318": ((0, 10, 2), None),
    "PD319": ((0, 11, 0), None),
    "PD320": ((0, 10, 2), None),
    "PD321": ((0, 10, 2), None),
    "PD322": ((0, 10, 2), None),
    "PD323": ((0, 12, 0), None),
    "PD324": ((0, 11, 0), None),
    "PD331": ((0, 10, 2), None),
    "PD332": ((0, 10, 2), None),
    "PD333": ((0, 11, 2), None),
}


def parse(text: str) -> Version:
    """`"0.12.0.1"` → `(0, 12, 0, 1)`; `"0.13.0.dev20260101"` → `(0, 13, 0)`."""
    parts = takewhile(str.isdigit, text.partition("+")[0].split("."))
    return tuple(int(part) for part in parts)


def version_of(kernel: ir.Kernel) -> Version:
    """The JAX version that a kernel was captured with."""
    return parse(str(kernel.facts.get("jax_version", ""))) or NEWEST


def is_refused(code: str, kernel: ir.Kernel) -> bool:
    """Whether the kernel's JAX version has the refusal of a check."""
    return within(kernel, *REFUSED[code])


def within(kernel: ir.Kernel, first: Version, end: Version | None = None) -> bool:
    """Whether the kernel's JAX is `first` or newer, and older than `end`."""
    version = version_of(kernel)
    return version >= first and (end is None or version < end)
