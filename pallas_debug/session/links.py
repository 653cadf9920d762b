"""What the links of a value's way say, and the values that they had."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from pallas_debug.session.flow import Flow, Key
from pallas_debug.session.held import read
from pallas_debug.trace import Kind, dtypes

KINDS = {Kind.READ: "read", Kind.PAD: "unset"}


def describe(flow: Flow, key: Key) -> dict[str, Any]:
    """The facts of a link, as `origin.Link` has them."""
    if key[0] == "event":
        return _event_facts(flow, key[1])
    if key[0] == "instr":
        return _instr_facts(flow, key[1], key[2])
    if key[0] in ("argument", "unset"):
        row = flow.trace.buffer_rows[key[1]]
        said = "the argument" if key[0] == "argument" else "unset memory of"
        return {"kind": key[0], "text": f"{said} {row.name}"}
    if key[0] == "memory":
        name = flow.trace.buffer_rows[key[2]].name
        return {"kind": "read", "text": f"the contents of {name}"}
    if key[0] == "coordinate":
        return {"kind": "coordinate", "text": flow.tape[key[1]].op}
    if key[0] == "constant":
        return {"kind": "constant", "text": "constant"}
    return {"kind": "unknown", "text": key[1]}


def _event_facts(flow: Flow, event: int) -> dict[str, Any]:
    row = flow.trace[event]
    facts = _place(flow, row.column("instr"))
    kind = KINDS.get(row.kind, "write")
    return facts | {
        "kind": kind,
        "text": row.what,
        "event": event,
        "thread": row.thread.number,
        "step": row.column("step"),
    }


def _instr_facts(flow: Flow, step: int, result: int) -> dict[str, Any]:
    assert flow.log is not None
    thread, pc = (int(n) for n in flow.log[step])
    instr = flow.tape[pc]
    text = "carried" if instr.op == "ir.move" else instr.op
    name = flow.names.get((pc, instr.outs[result]), "")
    if instr.op == "ir.move":
        name = name or flow.carried.get(instr.outs[result], "")
    facts = {"kind": "compute", "text": text, "name": name}
    return _place(flow, pc) | facts | {"thread": thread, "step": step}


def _place(flow: Flow, pc: int) -> dict[str, Any]:
    loc = flow.launch.kernel.loc_of(pc)
    if loc is None:
        return {"instr": pc}
    return {
        "instr": pc,
        "place": f"{PurePath(loc.file).name}:{loc.line}",
        "source": loc.text.strip().partition("\n")[0],
    }


def values(flow: Flow, keys: Sequence[Key]) -> dict[Key, Any]:
    """The values of links, where they can be known."""
    found: dict[Key, Any] = {}
    for key in keys:
        if key[0] == "event":
            found[key] = _event_value(flow, key[1])
        elif key[0] == "argument":
            row = flow.trace.buffer_rows[key[1]]
            found[key] = flow.trace.payload(row.initial)
        elif key[0] == "memory":
            found[key] = read(flow.trace, flow.replay, key[2], key[1])
        elif key[0] == "constant":
            dtype = dtypes.numpy_dtype(key[1])
            found[key] = np.frombuffer(key[3], dtype).reshape(key[2])
    found.update(_results(flow, [key for key in keys if key[0] == "instr"]))
    return found


def _event_value(flow: Flow, event: int) -> np.ndarray | None:
    value = flow.trace.values(event)
    row = flow.trace[event]
    if value is not None or row.kind is not Kind.READ or row.buffer is None:
        return value
    region = row.region
    if region is None:
        return None
    contents = read(flow.trace, flow.replay, row.buffer.number, event)
    return contents.ravel()[region.flat(contents.shape)]


def _results(flow: Flow, keys: Sequence[Key]) -> dict[Key, Any]:
    """Registers right after the instructions that set them."""
    from pallas_debug.jaxlink.evaluate import flushing_denormals

    if not keys or flow.log is None:
        return {}
    order = sorted(keys, key=lambda key: key[1])
    timeline = flow.replay.timeline(flow.launch.number)
    found: dict[Key, Any] = {}
    with flushing_denormals():
        runs = timeline.walk(key[1] + 1 for key in order)
        for key, run in zip(order, runs, strict=True):
            thread, pc = (int(n) for n in flow.log[key[1]])
            register = flow.tape[pc].outs[key[2]]
            value = timeline.needed(run.m.state, thread).get(register)
            if isinstance(value, np.ndarray | np.generic):
                found[key] = value
    return found
