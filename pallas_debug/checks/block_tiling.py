"""PD605 block-tiling: a block that does not match the tiles of a TPU.

## What it does

The last two dimensions of a block must be multiples of 8 and 128, or those of the array;
a block of rank 1 a multiple of 1024, the whole array, or a power of two of at least one
tile.

## Why is this bad?

The interpreters accept any block. Mosaic refuses it when the kernel is lowered.

## Example

```python
pl.BlockSpec((8, 100), lambda i: (0, i))  # of an array with 400 columns
```

## Use instead

```python
pl.BlockSpec((8, 128), lambda i: (0, i))  # the last block may overhang
```

Source: JAX documentation, "Grids and BlockSpecs", notes on TPU; the lowering checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pallas_debug import ir
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace import dtypes
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

LANES, SUBLANES = 128, 8  # JAX, TpuInfo.num_lanes and num_sublanes, v4 to v7x


@check("PD605", "block-tiling")
def block_tiling(trace: Trace) -> Iterator[Finding]:
    """Blocks of each kernel, one finding for each operand."""
    for launch in trace.launches:
        if launch.backend == "tpu":
            yield from _blocks(launch)


def _blocks(launch: RecordedLaunch) -> Iterator[Finding]:
    kernel = launch.kernel
    arrays = dict(zip(kernel.arguments, kernel.buffers, strict=False))
    for position, instr in enumerate(kernel.tape):
        dims = instr.params.get("dims", ())
        decl = instr.params.get("decl")
        if instr.op not in ("window.fetch", "window.output") or decl is None:
            continue
        array = instr.ins[0]
        declared = arrays.get(array.number) if isinstance(array, ir.Reg) else None
        if declared is None or decl.space != "vmem":
            continue
        block = tuple(1 if dim[0] == "squeezed" else int(dim[1]) for dim in dims)
        words = _misfit(block, declared.shape, dims, declared.dtype)
        if words:
            yield Finding(
                message=f"the block {block} of `{decl.name}` {declared.shape} {words}",
                hint=f"make the last two dimensions multiples of {SUBLANES} and {LANES},"
                " or those of the array; the last block may overhang",
                loc=kernel.loc_of(position),
                launch=launch.number,
                buffer=decl.name,
                details={"block": block, "shape": declared.shape},
            )


def _misfit(
    block: tuple[int, ...], shape: tuple[int, ...], dims: Any, dtype: str
) -> str:
    """What is wrong with a block, or nothing."""
    if any(dim[0] not in ("blocked", "squeezed") for dim in dims) or not block:
        return ""
    if len(block) == 1:
        tile = LANES * 32 // max(dtypes.size_bytes(dtype, (8,)), 1)
        size = block[0]
        power = size >= tile and size & (size - 1) == 0
        if size == shape[0] or size % (SUBLANES * LANES) == 0 or power:
            return ""
        return f"is no multiple of {SUBLANES * LANES}"
    for at, unit in ((-1, LANES), (-2, SUBLANES)):
        if block[at] != shape[at] and block[at] % unit:
            which = "last" if at == -1 else "last but one"
            return f"has {block[at]} in the {which} dimension, no multiple of {unit}"
    return ""
