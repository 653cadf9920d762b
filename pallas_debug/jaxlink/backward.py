"""While a function is traced, what a backward pass traces has its own lines.

JAX gives all of it the line of the forward call, also what the backward rule of a
`custom_vjp` does: a kernel in there would consist of that one line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from pallas_debug.jaxlink import privates


@contextlib.contextmanager
def own_lines() -> Iterator[None]:
    """Equations take the line that is running; those without one, their call's."""
    forward_line = privates.ad._name_stack_ctx
    privates.ad._name_stack_ctx = _running
    try:
        yield
    finally:
        privates.ad._name_stack_ctx = forward_line


def _running(forward: Any) -> Any:
    info = privates.source_info
    names = info.current_name_stack() + forward.name_stack
    return info.user_context(None, name_stack=names)
