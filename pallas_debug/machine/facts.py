"""What every verb needs: the run that it belongs to, and how an event is appended."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import BadOption, UnsupportedForm, UnsupportedOp
from pallas_debug.machine import state as states
from pallas_debug.machine.memory import Memory, dtype_of, poison
from pallas_debug.machine.places import Plan
from pallas_debug.trace.schema import ROW, Kind
from pallas_debug.trace.writer import Writer

PACK = ROW.pack


class Facts:
    """The run as one instruction of one thread sees it.

    Attributes:
      pc: Tape position of the instruction; `base + pc` is its step number.
      thread, block: Who executes; `tid`, `bid` are their numbers in the trace.
    """

    # Slots: attributes are most of what a verb does.
    __slots__ = (
        "_elements",
        "_unset",
        "_wholes",
        "arguments",
        "base",
        "bid",
        "chosen",
        "current",
        "device",
        "full",
        "keep_reads",
        "keep_writes",
        "kernel",
        "launch",
        "launch_number",
        "options",
        "pc",
        "point",
        "room",
        "root",
        "rows",
        "slots",
        "state",
        "tid",
        "writer",
    )

    def __init__(
        self, state: states.State, launch: ir.Launch, writer: Writer, options: Any
    ) -> None:
        self.state = state
        self.launch = launch
        self.kernel = launch.kernel
        self.writer = writer
        self.rows: bytearray = writer.log
        self.options = options
        self.pc = 0
        self.base = 0
        self.tid = -1
        self.bid = -1
        self.launch_number = len(writer.launches) - 1
        self.device = -1 if launch.mesh else _linear(launch.axes, launch.device)
        self.keep_reads = options.values == "all"
        self.keep_writes = options.values in ("all", "writes")
        self.full = False
        self._wholes: dict[tuple[int, ...], Plan] = {}
        self._unset: dict[int, np.ndarray] = {}
        self.slots: dict[Any, Any] = {}
        self._elements: dict[int, int] = {}
        self.root = -1
        self.arguments: tuple[int, ...] = ()
        self.current: states.Thread | None = None
        self.chosen = start_chosen(launch, options)
        self.point = 0
        self.room = -1

    def emit(
        self,
        kind: int,
        obj: int = -1,
        region: int = -1,
        aux: int = 0,
        payload: int = -1,
    ) -> None:
        """Appends one event of the current thread."""
        pc = self.pc
        self.rows += PACK(
            kind, self.tid, self.bid, self.base + pc, pc, obj, region, aux, payload
        )

    def _kept(self, value: Any) -> Any:
        """The value where it will stay if it is recorded."""
        if type(value) is not np.ndarray or self.full:
            return value
        return self.writer.keep(value)

    def _payload(self, value: Any) -> int:
        writer = self.writer
        if writer.payload_bytes > self.options.max_value_bytes:
            self.full = True
            return -1
        return writer.payload(value)

    @property
    def thread(self) -> states.Thread:
        """The thread that executes."""
        assert self.current is not None
        return self.current

    def cluster(self, block: states.Block) -> tuple[states.Block, ...]:
        """The blocks of a block's cluster, by rank; the block alone if it has none."""
        blocks = self.kin(block)
        if self.launch.mesh:
            blocks = tuple(b for b in blocks if b.device == block.device)
        return blocks

    def kin(self, block: states.Block) -> tuple[states.Block, ...]:
        """The blocks that may reach a block's memory, on any device."""
        return self.state.clusters.get(block.cluster) or (block,)

    def memory(self, ref: Any) -> Memory:
        """The live buffer behind a reference."""
        return self.state.memory[ref if type(ref) is int else ref.buffer]

    def fill(self, dtype: np.dtype) -> Any:
        """What unset memory of this dtype reads as."""
        return poison(dtype, self.options.uninitialized)

    def data(self, ref: Any) -> np.ndarray:
        """Contents of a buffer, for rules that must look without touching."""
        return self.memory(ref).data

    def unsupported(self, position: int) -> list[Any]:
        """An op without a rule: ends the launch, or is skipped with unset results."""
        instr = self.kernel.tape[position]
        avals = instr.params.get("avals", ())
        if self.options.unsupported != "stub" or avals is None:
            loc, op = self.kernel.loc_of(position), instr.op
            if "form" not in instr.params:
                raise UnsupportedOp(op=op, loc=loc)
            form, way = instr.params["form"]
            op = op.removeprefix(ir.UNSUPPORTED)
            raise UnsupportedForm(op=op, form=form, way=way, loc=loc)
        self.stub()
        types = [(shape, dtype_of(name)) for shape, name in avals]
        values = [np.full(shape, self.fill(dtype), dtype) for shape, dtype in types]
        values = [value if value.ndim else value[()] for value in values]
        return values + [None] * (len(instr.outs) - len(values))

    def log(self, text: str) -> None:
        """Records a printed text."""
        self.emit(Kind.PRINT, aux=self.writer.text(text))

    def asserted(self, held: bool, text: str) -> None:
        """Records the outcome of a `debug_check`; `text` is what a failed one says."""
        said = -1 - self.writer.text(text) if text else 0
        self.emit(Kind.ASSERT, aux=1 if held else said)

    def stub(self) -> None:
        """Records that an unsupported op was skipped."""
        self.emit(Kind.STUB)


def start_chosen(launch: ir.Launch, options: Any) -> frozenset[int] | None:
    """Linear grid indices that were asked for, None for all."""
    if options.blocks is None:
        return None
    shape = (*launch.mesh, *launch.grid, *launch.kernel.grid.cluster)
    return frozenset(_linear_index(block, shape) for block in options.blocks)


def _linear_index(block: Any, shape: tuple[int, ...]) -> int:
    """Linear index of a block.

    Raises:
      BadOption: The grid has no such block.
    """
    at = (int(block),) if np.ndim(block) == 0 else tuple(map(int, block))
    sizes = (math.prod(shape),) if np.ndim(block) == 0 else shape
    inside = len(at) == len(sizes) and all(
        0 <= i < size for i, size in zip(at, sizes, strict=True)
    )
    if not inside:
        count = math.prod(shape)
        blocks = f"{count:,} block{'s' * (count != 1)}"
        accepted = f"blocks of this grid of {shape}: it has {blocks}, numbered from 0"
        raise BadOption(option="blocks", value=block, accepted=accepted)
    number = 0
    for i, size in zip(at, sizes, strict=True):
        number = number * size + i
    return number


def _linear(axes: Any, device: Any) -> int:
    number = 0
    for name, size in axes.items():
        number = number * size + device.get(name, 0)
    return number
