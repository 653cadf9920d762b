"""What a kernel's inline Mosaic GPU code does, as far as it only orders things.

The code is a Python function that emits instructions for the compiler. It is called
once, aside, and what it emitted is read. Barriers, fences and waits are understood;
whatever touches memory or makes values is not, and stays the compiler's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jax.experimental.mosaic import gpu as mgpu
from jax.extend.mlir import ir as mlir_ir
from jax.extend.mlir.dialects import func

from pallas_debug.jaxlink import privates

WARP, WARPGROUP = 32, 128  # threads
ARCH = {"mosaic_gpu.arch_major": 9, "mosaic_gpu.arch_minor": 0}

# Who runs here, and arithmetic on it.
PURE = ("arith.", "gpu.thread_id", "gpu.block_dim", "nvvm.read.ptx.sreg", "nvvm.shfl")
BARRIER = re.compile(
    r"(?:bar|barrier(?:\.cta)?)\.(sync|arrive)\s+(\$?\d+)(?:\s*,\s*(\d+))?\s*;?\s*"
)
# Makes stores to shared memory visible to asynchronous copies.
COMMITS = re.compile(r"fence\.proxy\.async(\.shared::cta)?;?")


class Action(NamedTuple):
    """One ordering instruction.

    Attributes:
      kind: `fence`, `commit-smem`, `commit-tmem`, `wait-tmem`, `sync` or `arrive`.
      text: The instruction as it was written, as far as that is known.
      number: Of a named barrier: itself, or the argument that says it, as `$0`.
      threads: Of a named barrier: how many take part; None for the whole block.
    """

    kind: str
    text: str
    number: str = ""
    threads: int | None = None


def actions(fn: Callable[..., Any], scalars: int) -> tuple[Action, ...] | None:
    """What `fn` does, or None if it does something else than order.

    Args:
      fn: The function given to `plgpu.inline_mgpu`.
      scalars: How many integers it takes; it takes nothing else.
    """
    try:
        return tuple(_emitted(fn, scalars))
    except Exception:  # the user's code, called without the kernel around it
        return None


class _Unknown(Exception):
    """An instruction that does more than order."""


def _emitted(fn: Callable[..., Any], scalars: int) -> Iterator[Action]:
    with privates.mlir.make_ir_context() as context, mlir_ir.Location.unknown(context):
        mgpu.dialect.register_dialect(context)
        i32 = mlir_ir.IntegerType.get_signless(32)
        module = mlir_ir.Module.create()
        for name, value in ARCH.items():
            module.operation.attributes[name] = mlir_ir.IntegerAttr.get(i32, value)
        with mlir_ir.InsertionPoint(module.body):
            function = func.FuncOp("inline", ([i32] * scalars, []))
        block = function.add_entry_block()
        with mlir_ir.InsertionPoint(block):
            arguments = [
                mgpu.FragmentedArray.splat(value, (), is_signed=True)
                for value in block.arguments
            ]
            fn(None, *arguments)
        for operation in block.operations:
            yield from _read(operation.operation, list(block.arguments))


def _read(operation: Any, arguments: list[Any]) -> Iterator[Action]:
    name, attributes = operation.name, operation.attributes
    if name.startswith(PURE):
        return
    if name == "llvm.inline_asm":
        text = mlir_ir.StringAttr(attributes["asm_string"]).value.strip()
        yield _assembly(text, list(operation.operands), arguments)
    elif name == "nvvm.tcgen05.wait":
        kind = "wait-tmem" if "load" in str(attributes["kind"]) else "commit-tmem"
        yield Action(kind, name)
    elif name == "nvvm.fence.proxy" and "async.shared" in str(attributes["kind"]):
        yield Action("commit-smem", name)
    elif name.startswith(("nvvm.fence", "nvvm.tcgen05.fence")):
        yield Action("fence", name)
    elif name in ("gpu.barrier", "nvvm.barrier0"):
        yield Action("sync", name, "0")
    else:
        raise _Unknown(name)


def _assembly(text: str, operands: list[Any], arguments: list[Any]) -> Action:
    if COMMITS.fullmatch(text):
        return Action("commit-smem", text)
    if text.startswith("fence."):
        return Action("fence", text)
    found = BARRIER.fullmatch(text)
    if found is None:
        raise _Unknown(text)
    what, number, count = found.groups()
    threads = None if count is None else int(count)
    if threads == WARPGROUP:
        return Action("fence", text)  # the threads of a warpgroup act as one here
    if number.startswith("$"):
        number = f"${arguments.index(operands[int(number[1:])])}"
    return Action(what, text, number, threads)
