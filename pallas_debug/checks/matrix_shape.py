"""PD604 matrix-shape: a product that the matrix unit does not have.

## What it does

Looks at shapes and dtypes of `wgmma` (Hopper) and `tcgen05_mma` (Blackwell), and at
whether the chosen chip has the unit:

- wgmma: compute capability 9.0; M a multiple of 64, N a multiple of 8 up to 256;
  float32 accumulators for bfloat16 and float32, float32 or float16 for float16 and
  float8, int32 for int8.
- tcgen05: compute capability 10.0; M 64 or 128 for one block (256 for two), N a multiple
  of 8 up to 512; the same accumulators.

## Why is this bad?

JAX's interpreter multiplies any shapes, and the lowering stops before the assembler, so
that a tcgen05 kernel lowers for an H100 without complaint. The device has no such
instruction.

## Example

```python
acc = plgpu.ACC((32, 128), jnp.float32)  # wgmma works on 64 rows at once
```

## Use instead

```python
acc = plgpu.ACC((64, 128), jnp.float32)
```

Source: PTX ISA, "wgmma.mma_async" and "tcgen05.mma", shapes and data types; JAX's
`mosaic/gpu/wgmma.py` and `tcgen05.py` check the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses, target
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.ir.chips import Chip
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

WGMMA, TCGEN05 = "gpu.wgmma_multiply", "gpu.tcgen05_multiply"
CAPABILITY = {WGMMA: "9.0", TCGEN05: "10.0"}
RIGHT = {WGMMA: -1, TCGEN05: 2}  # which access is the second factor
NAMES = {WGMMA: "wgmma", TCGEN05: "tcgen05.mma"}
MOST_N = {WGMMA: 256, TCGEN05: 512}
ACCUMULATORS = {
    "bfloat16": ("float32",),
    "float32": ("float32",),
    "float16": ("float32", "float16"),
    "float8_e5m2": ("float32", "float16"),
    "float8_e4m3fn": ("float32", "float16"),
    "float4_e2m1fn": ("float32",),
    "int8": ("int32",),
    "uint8": ("int32",),
}


class Product(NamedTuple):
    """One product as it was executed: the write of the accumulator, sizes, dtypes."""

    op: str
    write: int
    m: int
    n: int
    accumulator: str
    operand: str
    blocks: int


@check("PD604", "matrix-shape")
def matrix_shape(trace: Trace) -> Iterator[Finding]:
    """Products with wrong shapes, dtypes or chips, one finding for each line."""
    for launch in trace.launches:
        tape = launch.kernel.tape
        for position, instr in enumerate(tape):
            if instr.op not in CAPABILITY:
                continue
            product = _product(trace, launch, position)
            if product is None:
                continue
            chips = target.chips_of(trace, launch)
            words = _words(product) or _missing(trace, chips, product)
            if words:
                yield accesses.finding_at(
                    trace,
                    np.array([product.write], np.int64),
                    f"`{NAMES[product.op]}` {words}",
                    hint="use a shape, dtype and chip of the table of this check",
                    details={"m": product.m, "n": product.n, "dtype": product.operand},
                )


def _product(trace: Trace, launch: RecordedLaunch, position: int) -> Product | None:
    """The first execution of an instruction, as far as its events tell."""
    columns = trace.columns
    part = slice(launch.first_event, launch.last_event)
    mine = launch.first_event + np.flatnonzero(columns.instr[part] == position)
    writes = mine[columns.kind[mine] == Kind.WRITE]
    if not len(writes):
        return None
    write = int(writes[0])
    same = mine[(columns.step[mine] == columns.step[write]) & (mine < write)]
    reads = same[columns.kind[same] == Kind.READ]
    row = trace.buffer_rows[int(columns.object[write])]
    operands = [trace.buffer_rows[int(columns.object[seq])] for seq in reads.tolist()]
    spaces = [one for one in operands if one.space == "smem"]
    region = trace.region(int(columns.region[write]))
    sizes = [size for size in region.size if size > 1] or [1, 1]
    if region.elements is not None or len(sizes) != 2 or not spaces:
        return None
    instr = launch.kernel.tape[position]
    total, right = instr.accesses[0], instr.accesses[RIGHT[instr.op]]
    return Product(
        op=instr.op,
        write=write,
        m=sizes[0],
        n=sizes[1],
        accumulator=_viewed(total, row.dtype),
        operand=_viewed(right, spaces[-1].dtype),
        blocks=2 if instr.params.get("axes") else 1,
    )


def _viewed(access: ir.Access, dtype: str) -> str:
    """The dtype that a view gives to bytes, as a member of a `RefUnion` does."""
    for step in access.steps:
        if isinstance(step, (ir.Alias, ir.Bitcast)):
            dtype = step.dtype
    return dtype


def _words(product: Product) -> str:
    """What is wrong with shapes or dtypes, or nothing."""
    m, n = product.m, product.n
    most = MOST_N[product.op]
    if product.op == WGMMA and m % 64:
        return f"works on 64 rows at once, the accumulator has {m}"
    if product.op == TCGEN05 and m not in (64, 128):
        return f"works on 64 or 128 rows of a block, the accumulator has {m}"
    if n % 8 or n > most:
        return f"takes a multiple of 8 columns up to {most}, the accumulator has {n}"
    allowed = ACCUMULATORS.get(product.operand)
    if allowed is None:
        return f"does not multiply {product.operand}"
    if product.accumulator not in allowed:
        given = " or ".join(allowed)
        return f"adds up {product.operand} in {given}, not in {product.accumulator}"
    return ""


def _missing(trace: Trace, chips: tuple[Chip, ...], product: Product) -> str:
    """That the chosen chip lacks the unit, or nothing."""
    if not target.is_chosen(trace) or not chips:
        return ""
    needed, has = CAPABILITY[product.op], chips[0].compute_capability
    if has == needed:
        return ""
    return f"exists at compute capability {needed} only; {chips[0].name} has {has}"
