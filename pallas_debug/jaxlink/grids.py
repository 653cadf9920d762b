"""While a function is traced, JAX's refusal of a grid says what it is about.

`plgpu.kernel` wants Python's integers and stops at a bare `assert`: without a text, and
without a line of the user's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pallas_debug import errors, ir
from pallas_debug.jaxlink import locations, privates


@contextlib.contextmanager
def named_refusals() -> Iterator[None]:
    """A grid that JAX refuses raises `RefusedGrid`; all else of JAX is as it was."""
    original = privates.pallas_core.tracing_grid_env

    @contextlib.contextmanager
    def tracing_grid_env(grid: Any, *rest: Any, **named: Any) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(original(grid, *rest, **named))
            except AssertionError as error:
                sizes = ", ".join(map(_shown, grid))
                raise errors.RefusedGrid(sizes=sizes, loc=_grid_line()) from error
            yield

    privates.pallas_core.tracing_grid_env = tracing_grid_env
    try:
        yield
    finally:
        privates.pallas_core.tracing_grid_env = original


def _shown(size: Any) -> str:
    if isinstance(size, privates.core.Tracer):
        return "a traced value"
    return str(size) if isinstance(size, int) else type(size).__name__


def _grid_line() -> ir.Loc | None:
    """The line of the running statement that gives the grid, else its first."""
    loc = locations.current_loc()
    for below, text in enumerate(loc.text.splitlines() if loc else ()):
        if loc is not None and "grid=" in text.replace(" ", ""):
            return replace(loc, line=loc.line + below, text=text)
    return loc
