"""Rules of the pallas family: masked access, printing, checks, launch-wide buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pallas_debug import ir
from pallas_debug.machine import devices
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target


@rule("pallas.masked_load")
def masked_load(m: Step, ref: Target, mask: Any, other: Any) -> Any:
    """Lanes under a false mask touch nothing: they may lie outside the buffer."""
    return m.read(ref, mask, other)


@rule("pallas.masked_store")
def masked_store(m: Step, ref: Target, value: Any, mask: Any) -> None:
    """A masked swap whose old value nobody uses."""
    m.write(ref, value, mask)


@rule("pallas.masked_swap")
def masked_swap(m: Step, ref: Target, value: Any, mask: Any) -> Any:
    """The old value; where the mask is false, the value that was not stored."""
    old = m.read(ref, mask, value if mask is not None else None)
    m.write(ref, value, mask)
    return old


@rule("pallas.debug_print")
def debug_print(m: Step, *values: Any, text: Callable[..., str]) -> None:
    m.log(text(*values))


@rule("pallas.debug_check")
def debug_check(
    m: Step, *values: Any, verdict: Callable[..., tuple[bool, str]]
) -> None:
    m.asserted(*verdict(*values))


@rule("pallas.shared")
def shared(m: Step, *, decl: ir.Buffer, key: Any) -> int:
    """A buffer that all blocks of a device share; the first to ask allocates."""
    if m.launch.mesh:
        return devices.common(m, decl, key, m.device)
    held = m.state.shared.get(key)
    if held is None:
        held = m.state.shared[key] = m.alloc(decl)
    return held
