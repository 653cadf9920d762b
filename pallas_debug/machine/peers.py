"""Blocks of a cluster: who they are, and the same buffer in another of them.

Blocks run the same tape, so an allocation is known by its instruction and occurrence.
What a peer has not allocated yet is allocated for it when somebody reaches for it: on
hardware a cluster's memory is there before its first instruction. The same buffer on
another device is found in `devices.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.machine.state import Block


def shared(
    m: Any, block: Block, key: tuple, decls: tuple[ir.Buffer, ...], users: int
) -> list:
    """Buffers of a block that others may ask for: the first to ask allocates them."""
    entry = block.shared.get(key)
    if entry is None:
        own = m.bid, m.device
        m.bid, m.device = block.linear, block.device
        entry = block.shared[key] = [[new(m, decl) for decl in decls], users, decls]
        m.bid, m.device = own
    return entry


def new(m: Any, decl: ir.Buffer) -> int:
    """A buffer as declared; an accumulator starts as zeros."""
    number = m.alloc(decl)
    if decl.params.get("zeroed"):
        data = m.data(number)
        m.write(m.whole(number), np.zeros(data.shape, data.dtype))
    return number


def group(m: Any, axes: Sequence[str]) -> tuple[Block, ...]:
    """The blocks of this cluster that differ from this one along `axes` at most."""
    own = m.thread.block
    fixed = [name for name in m.kernel.grid.cluster_names if name not in axes]
    return tuple(
        block
        for block in m.cluster(own)
        if all(block.ids[name] == own.ids[name] for name in fixed)
    )


def rank(m: Any, axes: Sequence[str]) -> int:
    """This block's number in its group."""
    return group(m, axes).index(m.thread.block)


def peer(m: Any, ref: int, block: Block, of: Block | None = None) -> int:
    """The buffer of another block that corresponds to one of this block, or of `of`."""
    own = of or m.thread.block
    if block is own:
        return ref
    for key, (numbers, users, decls) in reversed(own.shared.items()):
        if ref in numbers:
            entry = shared(m, block, key, decls, max(users, 1))
            return entry[0][numbers.index(ref)]
    return ref  # an argument: all blocks have the same


def reach(m: Any, ref: int, axes: tuple[str, ...], ids: Sequence[Any]) -> int:
    """The buffer as owned by the block of the cluster with these coordinates."""
    wanted = dict(zip(axes, (int(i) for i in ids), strict=True))
    own = m.thread.block.ids
    names = m.kernel.grid.cluster_names
    place = [wanted.get(name, own[name]) for name in names]
    for block in m.cluster(m.thread.block):
        if [block.ids[name] for name in names] == place:
            return peer(m, ref, block)
    raise UnsupportedForm(
        op=m.kernel.tape[m.pc].op,
        form=f"a reference to block {wanted}, outside the cluster",
        way="keep the block's id within the cluster",
        loc=m.kernel.loc_of(m.pc),
    )
