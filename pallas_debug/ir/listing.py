"""The text form of a tape: one line for each instruction, as a disassembly shows it.

For `repr`, docs and snapshots; also what a fingerprint is made of. Nobody parses it.

     3    r7 = state.get smem[r3:r3+64, :]              kernels.py:41
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from pallas_debug.ir.flow import reachable
from pallas_debug.ir.kernel import Buffer, Kernel
from pallas_debug.ir.tape import (
    Access,
    Alias,
    At,
    Bitcast,
    Const,
    Gather,
    Index,
    Instr,
    Multicast,
    Operand,
    Peer,
    Reg,
    Reshape,
    Slice,
    Transpose,
    ViewStep,
)

TEXT_COLUMNS = 64
PARAM_LIMIT = 40
HIDDEN = ("avals", "decls")


class Row(NamedTuple):
    """A line of a listing: an instruction, or (-1) the heading of a scope."""

    depth: int
    instr: int
    text: str


def rows(kernel: Kernel) -> Iterator[Row]:
    """The lines of a kernel's listing, without their places."""
    names, shapes = result_names(kernel)
    main = reachable(kernel.tape, kernel.entry)
    opened = {-1, 0}
    for position, instr in enumerate(kernel.tape):
        path = _path(kernel, instr.scope)
        for depth, scope in enumerate(path):
            if scope not in opened:
                opened.add(scope)
                yield Row(depth, -1, _heading(kernel, scope))
        # An agent's registers are numbered anew.
        known = (names, shapes) if position in main else ({}, {})
        yield Row(len(path) - 1, position, line(instr, *known))


def listing(kernel: Kernel) -> str:
    """All instructions of a kernel, with scopes as indentation and source lines."""
    width = len(str(len(kernel.tape)))
    lines = [f"{kernel.name} ({kernel.backend})"]
    for depth, position, text in rows(kernel):
        if position < 0:
            lines.append(f"{' ' * width}{'  ' * depth}{text}")
            continue
        text = f"{position:>{width}}  {'  ' * depth}{text}"
        place = _place(kernel, kernel.tape[position])
        lines.append(f"{text:<{TEXT_COLUMNS}}  {place}".rstrip())
    return "\n".join(lines) + "\n"


def line(
    instr: Instr,
    names: Mapping[int, str] | None = None,
    shapes: Mapping[int, tuple[int, ...]] | None = None,
) -> str:
    """One instruction without its place; references by name where it is known."""
    names, shapes = names or {}, shapes or {}
    outs = ", ".join(names.get(n, f"r{n}") for n in instr.outs)
    refs = [access(a, names, shapes) for a in instr.accesses]
    values = [_value(o, names) for o in instr.ins]
    params = [f"{k}={_param(v)}" for k, v in instr.params.items() if k not in HIDDEN]
    targets = [f"→{t}" for t in instr.targets]
    words = ", ".join([*refs, *values, *params, *targets])
    text = f"{instr.op} {words}".rstrip()
    return f"{outs} = {text}" if outs else text


def access(
    access: Access,
    names: Mapping[int, str] | None = None,
    shapes: Mapping[int, tuple[int, ...]] | None = None,
) -> str:
    """A reference with its views: `smem[r3:r3+64, :].T(1, 0)`."""
    names, shapes = names or {}, shapes or {}
    ref = access.ref
    number = ref.number if isinstance(ref, Reg) else -1
    text, shape = _value(ref, names), shapes.get(number)
    for step in access.steps:
        text += _view(step, shape)
        shape = None
    return text


def _view(step: ViewStep, shape: tuple[int, ...] | None) -> str:
    if isinstance(step, Index):
        rank = len(step.dims)
        sizes = shape if shape and len(shape) == rank else (-1,) * rank
        dims = ", ".join(_dim(d, s) for d, s in zip(step.dims, sizes, strict=True))
        return f"[{dims}]"
    if isinstance(step, Transpose):
        return f".T{step.permutation}"
    if isinstance(step, Reshape):
        return f".reshape{step.shape}"
    if isinstance(step, Bitcast):
        return f".bitcast({step.dtype}{list(step.shape)})"
    if isinstance(step, Alias):
        return f".alias({step.dtype}{list(step.shape)} at {step.offset})"
    if isinstance(step, Peer):
        ids = [f"{a}={operand(i)}" for a, i in zip(step.axes, step.ids, strict=True)]
        return f".peer({', '.join(ids)})"
    assert isinstance(step, Multicast)
    return f".multicast({', '.join(step.axes)})"


def _dim(dim: Slice | At | Gather, limit: int) -> str:
    if isinstance(dim, At):
        return operand(dim.index)
    if isinstance(dim, Gather):
        return f"@{operand(dim.index)}"
    step = f":{dim.stride}" if dim.stride != 1 else ""
    if isinstance(dim.start, Const):
        start = int(np.asarray(dim.start.value).reshape(-1)[0])
        if dim.size_operand is None:
            if start == 0 and dim.size == limit and not step:
                return ":"
            return f"{start}:{start + dim.size * dim.stride}{step}"
    first = operand(dim.start)
    if dim.size_operand is not None:
        return f"{first}:{first}+{operand(dim.size_operand)}{step}"
    return f"{first}:{first}+{dim.size * dim.stride}{step}"


def operand(value: Operand) -> str:
    """A register as `r3`, a small constant as its value, an array as its type."""
    if isinstance(value, Reg):
        return f"r{value.number}"
    constant = value.value
    if isinstance(constant, np.ndarray) and constant.ndim:
        return f"{constant.dtype}{list(constant.shape)}"
    return _param(constant)


def _value(value: Operand, names: Mapping[int, str]) -> str:
    if isinstance(value, Reg) and value.number in names:
        return names[value.number]
    return operand(value)


def _param(value: Any) -> str:
    if isinstance(value, (np.generic, np.ndarray)):
        return str(value)
    if isinstance(value, tuple):
        text = f"({', '.join(map(_param, value))})"
        return text if len(text) <= PARAM_LIMIT else f"{text[:PARAM_LIMIT]}…"
    if hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "name"):
        return f"{value.name}:{value.dtype}{list(value.shape)}"
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return str(value)[:PARAM_LIMIT]


def result_names(kernel: Kernel) -> tuple[dict[int, str], dict[int, tuple[int, ...]]]:
    """Names and shapes of the references that the tape declares, by register."""
    names: dict[int, str] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    pairs: list[tuple[int, Buffer | None]] = []
    pairs += zip(kernel.arguments, kernel.buffers, strict=True)
    for instr in kernel.tape:
        decls = instr.params.get("decls") or (instr.params.get("decl"),)
        if len(decls) == len(instr.outs):
            pairs += zip(instr.outs, decls, strict=True)
    for register, decl in pairs:
        if decl is not None:
            names[register], shapes[register] = decl.name, decl.shape
    return names, shapes


def _path(kernel: Kernel, scope: int) -> list[int]:
    """The scopes around a scope, outermost first, itself last."""
    return [*reversed(kernel.scopes_around(scope))]


def _heading(kernel: Kernel, scope: int) -> str:
    entry = kernel.scopes[scope]
    name = f" {entry.name}" if entry.name not in ("", entry.kind) else ""
    return f"{entry.kind}{name}:"


def _place(kernel: Kernel, instr: Instr) -> str:
    if instr.loc < 0:
        return ""
    loc = kernel.locs[instr.loc]
    return f"{PurePath(loc.file).name}:{loc.line}"
