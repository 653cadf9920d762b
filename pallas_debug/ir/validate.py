"""What must hold in a tape before anything runs it: asserts with reasons.

A tape that breaks one of these is a fault of the lowering, not of the user's kernel, so
these are assertions. They cost one pass over the tape and a data flow over bit sets.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Mapping

import numpy as np

from pallas_debug.ir.flow import CONTROL, agent_entries, reachable, successors
from pallas_debug.ir.kernel import Kernel
from pallas_debug.ir.tape import (
    Access,
    Alias,
    Bitcast,
    Const,
    Gather,
    Index,
    Instr,
    Reg,
    Reshape,
    Slice,
    Transpose,
)

TARGETS = {"ir.jump": (1, 1), "ir.branch": (1, None), "ir.return": (0, 0),
           "grid.next": (1, 1)}  # fmt: skip
Shape = tuple[int, ...]
UNKNOWN = -1


def validate(kernel: Kernel) -> Kernel:
    """Asserts that a kernel can be run; gives it back."""
    _declarations(kernel)
    shapes = _shapes(kernel)
    main = reachable(kernel.tape, kernel.entry)
    for position, instr in enumerate(kernel.tape):
        where = f"{position}: {instr.op}"
        _targets(kernel, position, where)
        _pure(instr, where)
        assert -1 <= instr.loc < len(kernel.locs), f"{where} has no such source line"
        assert 0 <= instr.scope < len(kernel.scopes), f"{where} lies in no scope"
        for access in instr.accesses:
            _access(access, shapes if position in main else {}, where)
    _defined_before_use(kernel)
    return kernel


def _declarations(kernel: Kernel) -> None:
    assert kernel.tape, "the tape is empty"
    assert 0 <= kernel.entry < len(kernel.tape), "the entry lies outside the tape"
    count = kernel.num_scalars + kernel.num_inputs + kernel.num_outputs
    assert len(kernel.buffers) == count, f"{len(kernel.buffers)} buffers, {count} named"
    assert len(kernel.arguments) == count, "not every buffer has a register"
    assert all(0 <= r < kernel.registers for r in kernel.arguments), "arguments"
    for number, scope in enumerate(kernel.scopes):
        assert -1 <= scope.parent < number, f"scope {number} comes before its parent"


def _targets(kernel: Kernel, position: int, where: str) -> None:
    instr = kernel.tape[position]
    size = len(kernel.tape)
    assert all(0 <= t < size for t in instr.targets), f"{where} leaves the tape"
    if instr.op in CONTROL:
        low, high = TARGETS[instr.op]
        count = len(instr.targets)
        most = count if high is None else high
        assert low <= count <= most, f"{where} has {count} targets"
    assert max(successors(kernel.tape, position), default=0) < size, (
        f"{where} falls off the end of the tape"
    )
    if instr.op == "ir.branch":
        assert len(instr.ins) == 1, f"{where} needs one operand"


def _pure(instr: Instr, where: str) -> None:
    pure = instr.pure
    if pure is None:
        return
    assert not instr.accesses, f"{where} is pure but touches memory"
    if instr.outs:  # else nobody takes the result
        assert pure.results == len(instr.outs), f"{where}: {pure.results} results"
    assert all(name.isidentifier() for name in pure.env), f"{where} has odd names"
    for _, field, _, _ in string.Formatter().parse(pure.expr):
        if field is not None:
            assert field.isdigit(), f"{where}: operand {field!r} is no number"
            assert int(field) < len(instr.ins), f"{where} has no operand {field}"


def _shapes(kernel: Kernel) -> dict[int, Shape]:
    """Shapes of the references whose declaration the tape shows, by register."""
    shapes = {
        register: decl.shape
        for register, decl in zip(kernel.arguments, kernel.buffers, strict=True)
    }
    for position in reachable(kernel.tape, kernel.entry):
        instr = kernel.tape[position]
        decls = instr.params.get("decls", ())
        if len(decls) == len(instr.outs):
            pairs = zip(instr.outs, decls, strict=True)
            shapes |= {out: decl.shape for out, decl in pairs}
    return shapes


def _access(access: Access, shapes: Mapping[int, Shape], where: str) -> None:
    """Follows the views of a reference, with its shape as far as it is known."""
    shape = None
    if isinstance(access.ref, Reg):
        shape = shapes.get(access.ref.number)
    for step in access.steps:
        if isinstance(step, Index):
            shape = _index(step, shape, where)
        elif isinstance(step, Transpose):
            rank = len(step.permutation)
            assert sorted(step.permutation) == list(range(rank)), f"{where}: transpose"
            assert shape is None or len(shape) == rank, f"{where}: {shape} transposed"
            if shape is not None:
                shape = tuple(shape[p] for p in step.permutation)
        elif isinstance(step, Reshape):
            known = shape is not None and UNKNOWN not in shape
            if known and shape is not None:
                same = math.prod(shape) == math.prod(step.shape)
                assert same, f"{where}: {shape} as {step.shape}"
            shape = step.shape
        elif isinstance(step, (Bitcast, Alias)):
            shape = step.shape


def _index(step: Index, shape: Shape | None, where: str) -> Shape | None:
    for dim in step.dims:
        if isinstance(dim, Slice):
            known = dim.size >= 0 or dim.size_operand is not None
            assert known, f"{where}: a slice without a size"
            assert dim.stride >= 1, f"{where}: a slice with stride {dim.stride}"
    assert shape is None or len(shape) == len(step.dims), (
        f"{where}: {len(step.dims)} indices of {shape}"
    )
    kept = [dim.size for dim in step.dims if isinstance(dim, Slice)]
    gathers = [dim.index for dim in step.dims if isinstance(dim, Gather)]
    values = [np.shape(g.value) for g in gathers if isinstance(g, Const)]
    if len(values) < len(gathers):
        return None
    at = step.gathered_at
    return (*kept[:at], *np.broadcast_shapes(*values), *kept[at:])


def _defined_before_use(kernel: Kernel) -> None:
    """Forwards data flow, registers as the bits of an int."""
    entries = {kernel.entry: _bits(kernel.arguments)}
    for entry, instr in agent_entries(kernel.tape).items():
        entries[entry] = _bits(_given(instr))
    known: dict[int, int] = {}
    todo = list(entries.items())
    while todo:
        position, defined = todo.pop()
        before = known.get(position)
        defined = defined if before is None else defined & before
        if defined == before:
            continue
        known[position] = defined
        instr = kernel.tape[position]
        after = defined | _bits(instr.outs)
        for target in successors(kernel.tape, position):
            # Past the last grid point no coordinates are set.
            ended = instr.op == "grid.next" and target in instr.targets
            todo.append((target, defined if ended else after))
    for position, defined in known.items():
        instr = kernel.tape[position]
        missing = _bits(instr.reads()) & ~defined
        assert not missing, (
            f"{position}: {instr.op} reads register {missing.bit_length() - 1}, "
            "which is not set on every path"
        )


def _given(instr: Instr) -> Iterable[int]:
    """The registers that an agent begins with.

    Its rule may fill `extra` ones beyond the operands; a warp keeps the register file of
    its warpgroup (`slots`) and has a `number`.
    """
    slots = instr.params.get("slots")
    if slots is not None:
        return (*slots, instr.params["number"])
    return range(len(instr.ins) + instr.params.get("extra", 0))


def _bits(registers: Iterable[int]) -> int:
    bits = 0
    for register in registers:
        bits |= 1 << register
    return bits
