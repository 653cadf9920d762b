"""References: get, swap, add-update."""

from __future__ import annotations

from typing import Any

from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target


@rule("state.get", verb="read")
def get(m: Step, ref: Target) -> Any:
    return m.read(ref)


@rule("state.set", verb="write")
def store(m: Step, ref: Target, value: Any) -> None:
    """A swap whose old value nobody uses."""
    m.write(ref, value)


@rule("state.swap")
def swap(m: Step, ref: Target, value: Any) -> Any:
    old = m.read(ref)
    m.write(ref, value)
    return old


@rule("state.addupdate")
def addupdate(m: Step, ref: Target, value: Any) -> None:
    m.write(ref, m.read(ref) + value)
