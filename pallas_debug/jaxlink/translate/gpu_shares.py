"""How the blocks of a cluster divide a collective copy among themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.jaxlink.lowering import Lowering
from pallas_debug.jaxlink.translate.agents import Agent
from pallas_debug.jaxlink.translate.gpu_operands import Viewed


class Shares:
    """The part of a copy that one block makes.

    Attributes:
      axes: Cluster axes of the copy; empty for a copy of one block.
      leader: Whether only the first block counts what has come in.
      amount: Bytes that reach a barrier for each block that takes part.
      is_partitioned: Each block keeps its part instead of sending it to all.
    """

    def __init__(
        self, lw: Lowering, axes: tuple[str, ...], tracked: Any, target: Viewed
    ) -> None:
        sizes = dict(zip(lw.grid.cluster_names, lw.grid.cluster, strict=True))
        self.shape = target.shape
        self.blocks = math.prod(sizes[axis] for axis in axes)
        self.axes = axes if self.blocks > 1 else ()
        self.leader = tracked is not None
        size = math.prod(target.shape) * np.dtype(target.aval.dtype).itemsize
        axis: Any = getattr(tracked, "axis", None)
        self.is_partitioned = axis is not None
        if self.is_partitioned:
            self.cuts = [(axis, target.shape[axis], self.blocks, 1)]
            self.amount = size
        else:
            self.cuts = _cuts(target.shape, self.blocks)
            self.amount = size if self.leader else size // self.blocks

    def of(
        self, lw: Lowering, agent: Agent, source: ir.Access, target: ir.Access
    ) -> tuple[ir.Access, ir.Access]:
        """What this block reads and writes."""
        if not self.axes:
            return source, target
        rank = agent.local()
        lw.emit("gpu.cluster_rank", outs=[rank], params={"axes": self.axes})
        part: dict[int, ir.Slice] = {}
        for dim, size, pieces, stride in self.cuts:
            start = agent.local()
            expr = f"np.int32(({{0}} // {stride}) % {pieces} * {size})"
            lw.emit("ir.compute", [rank], outs=[start], pure=ir.Pure(expr=expr))
            part[dim] = ir.Slice(start=start, size=size)
        cut = ir.Index(
            dims=tuple(
                part.get(d, ir.Slice(start=ir.Const(np.int32(0)), size=size))
                for d, size in enumerate(self.shape)
            )
        )
        source = ir.Access(ref=source.ref, steps=(*source.steps, cut))
        if not self.is_partitioned:
            target = ir.Access(ref=target.ref, steps=(*target.steps, cut))
        return source, target


def _cuts(shape: tuple[int, ...], blocks: int) -> list[tuple[int, int, int, int]]:
    """`(dimension, size of a piece, pieces, stride of the rank)`, leading ones first."""
    cuts, stride = [], 1
    for dim, size in enumerate(shape):
        if blocks == 1:
            break
        if size % blocks == 0:
            cuts.append((dim, size // blocks, blocks, stride))
            blocks = 1
        elif blocks % size == 0:
            if size > 1:
                cuts.append((dim, 1, size, stride))
                stride, blocks = stride * size, blocks // size
        else:
            break
    if blocks > 1:
        raise UnsupportedForm(
            op="",
            form=f"a copy of shape {shape}, which {blocks} blocks cannot share evenly",
            way="copy a shape whose leading dimensions the blocks divide",
        )
    return cuts
