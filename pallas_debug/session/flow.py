"""Which instruction made what: the data flow of one launch as it was executed.

A key names a link: `("event", number)`, `("instr", step, result)`, and the ends. All
answers are exact; what cannot be known is `("unknown", why)`.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np

from pallas_debug import errors, ir
from pallas_debug.session.replay import Replay
from pallas_debug.session.search import backward
from pallas_debug.session.variables import named
from pallas_debug.trace import Kind, Trace, fold
from pallas_debug.trace.query import about_a_buffer
from pallas_debug.trace.schema import RegionKind

Key = tuple[Any, ...]
SETTING = (Kind.WRITE, Kind.UPDATE)
MOST_WRITERS = 8  # of one read
ENDS = ("argument", "constant", "unset", "coordinate", "unknown")


class Flow:
    """One launch, executed again with every instruction noted."""

    def __init__(self, trace: Trace, replay: Replay, launch: int) -> None:
        self.trace = trace
        self.replay = replay
        self.launch = trace.launches[launch]
        self.tape = self.launch.kernel.tape
        self._mine: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._events: dict[tuple[int, int], list[int]] | None = None

    @cached_property
    def log(self) -> np.ndarray | None:
        """Rows `(thread, pc)` by step; None for a launch that cannot be executed."""
        from pallas_debug.jaxlink.evaluate import flushing_denormals

        try:
            timeline = self.replay.timeline(self.launch.number)
        except errors.NoSource:
            return None
        with flushing_denormals():
            return np.array(timeline.executed(), np.int64).reshape(-1, 2)

    @cached_property
    def setters(self) -> dict[int, np.ndarray]:
        """For each register the instructions that set it."""
        found: dict[int, list[int]] = {}
        for pc, instr in enumerate(self.tape):
            for register in instr.outs:
                found.setdefault(register, []).append(pc)
        return {register: np.array(pcs) for register, pcs in found.items()}

    @cached_property
    def names(self) -> dict[tuple[int, int], str]:
        """Variables by instruction and register."""
        bound = named(self.launch.kernel)
        return {(b.instr, b.register): b.name for b in bound if not b.is_ref}

    @cached_property
    def carried(self) -> dict[int, str]:
        """Variables that loops carry, by register."""
        bound = named(self.launch.kernel)
        return {b.register: b.name for b in bound if b.within >= 0}

    def _of_thread(self, thread: int) -> tuple[np.ndarray, np.ndarray]:
        """Steps and instructions of a thread, in order."""
        if thread not in self._mine:
            assert self.log is not None
            steps = np.flatnonzero(self.log[:, 0] == thread)
            self._mine[thread] = steps, self.log[steps, 1]
        return self._mine[thread]

    def events_at(self, thread: int, step: int) -> list[int]:
        """Events of one execution of an instruction."""
        if self._events is None:
            self._events = {}
            columns, part = self.trace.columns, self.launch.events
            rows = slice(part.start, part.stop)
            threads, steps = columns.thread[rows].tolist(), columns.step[rows].tolist()
            kinds = columns.kind[rows].tolist()
            for event, key, kind in zip(
                part, zip(threads, steps, strict=True), kinds, strict=True
            ):
                if kind != Kind.BLOCK:
                    self._events.setdefault(key, []).append(event)
        return self._events.get((thread, step), [])

    # -- what leads to what --------------------------------------------------

    def inputs(self, key: Key) -> tuple[Key, ...]:
        """The keys of what a link was made from."""
        if key[0] == "event":
            return self._of_event(key[1])
        if key[0] == "instr":
            return self._of_instr(key[1], key[2])
        if key[0] == "memory":
            return self._writers(key[1], key[2], None)
        return ()

    def _of_event(self, event: int) -> tuple[Key, ...]:
        columns = self.trace.columns
        kind, step = int(columns.kind[event]), int(columns.step[event])
        thread = int(columns.thread[event])
        found: list[Key] = []
        if kind in SETTING:
            near = self.events_at(thread, step)
            found += [
                ("event", one)
                for one in near
                if one < event and columns.kind[one] == Kind.READ
            ]
            found += self._operands(thread, step, int(columns.instr[event]))
        if kind in (Kind.READ, Kind.UPDATE):
            region = int(columns.region[event])
            found += self._writers(event, int(columns.object[event]), region)
        return tuple(dict.fromkeys(found))

    def _of_instr(self, step: int, result: int) -> tuple[Key, ...]:
        assert self.log is not None
        thread, pc = (int(n) for n in self.log[step])
        instr = self.tape[pc]
        if instr.op == "ir.move":
            return (self._operand(thread, step, instr.ins[result]),)
        kinds = self.trace.columns.kind
        reads: list[Key] = [
            ("event", one)
            for one in self.events_at(thread, step)
            if kinds[one] in (Kind.READ, Kind.UPDATE)
        ]
        found = [*reads, *self._operands(thread, step, pc)]
        if not found and instr.op.startswith("grid."):
            found = [("coordinate", pc)]
        return tuple(dict.fromkeys(found))

    def _operands(self, thread: int, step: int, pc: int) -> list[Key]:
        """What the values that an instruction was given came from."""
        if self.log is None:
            loc = self.launch.kernel.loc_of(pc)
            place = f" at {PurePath(loc.file).name}:{loc.line}" if loc else ""
            return [("unknown", f"computed{place}; attach the kernel to see how")]
        return [
            self._operand(thread, step, one)
            for one in self.tape[pc].ins
            if isinstance(one, ir.Reg) or np.asarray(one.value).dtype != object
        ]

    def _operand(self, thread: int, step: int, operand: ir.Operand) -> Key:
        if isinstance(operand, ir.Reg):
            return self.setter(thread, operand.number, step)
        value = np.asarray(operand.value)
        return ("constant", value.dtype.name, value.shape, value.tobytes())

    def setter(self, thread: int, register: int, before: int) -> Key:
        """The last execution before a step that set a thread's register."""
        if self.log is None:
            return ("unknown", "computed; attach the kernel to see how")
        steps, pcs = self._of_thread(thread)
        wanted = self.setters.get(register, np.zeros(0, np.int64))
        keep = lambda rows: np.isin(pcs[rows], wanted)
        count = int(np.searchsorted(steps, before))
        found = backward(range(len(steps)), keep, count + 1)
        if found is not None:
            step, pc = int(steps[found - 1]), int(pcs[found - 1])
            return ("instr", step, self.tape[pc].outs.index(register))
        return self._given(thread, register)

    def _given(self, thread: int, register: int) -> Key:
        """What a thread was started with."""
        row = self.trace.thread_rows[thread]
        kernel = self.launch.kernel
        if row.instr >= 0 and row.parent >= 0:
            spawn = np.flatnonzero(
                (self.trace.columns.kind == Kind.SPAWN)
                & (self.trace.columns.object == thread)
            )
            instr = self.tape[row.instr]
            if len(spawn) and row.kind == "warp":
                step = int(self.trace.columns.step[spawn[0]])
                return self.setter(row.parent, register, step)
            if len(spawn) and register < len(instr.ins):
                step = int(self.trace.columns.step[spawn[0]])
                return self._operand(row.parent, step, instr.ins[register])
        if register in kernel.arguments:
            name = kernel.buffers[kernel.arguments.index(register)].name
            return ("unknown", f"the reference {name}")
        return ("unknown", "given to the thread when it was started")

    def _writers(self, before: int, buffer: int, region: int | None) -> tuple[Key, ...]:
        """The events before one that set what it read, the last ones first."""
        columns, roots = self.trace.columns, fold.roots(self.trace)
        root = int(roots[buffer])
        row = self.trace.buffer_rows[root]
        left = np.zeros(int(np.prod(row.shape, dtype=np.int64)), bool)
        left[self._flat(region, row.shape)] = True
        if not left.any():
            return (("unknown", "nothing: it lies outside the buffer"),)
        found: list[Key] = []

        def keep(numbers: np.ndarray) -> np.ndarray:
            kept = np.isin(columns.kind[numbers], fold.TOUCHING)
            kept &= about_a_buffer(self.trace, numbers)
            objects = np.where(kept, columns.object[numbers], 0)
            born = (columns.kind[numbers] == Kind.ALLOC) & (objects != root)
            return kept & (roots[objects] == root) & ~born

        at: int | None = before + 1
        while left.any() and len(found) < MOST_WRITERS:
            at = backward(range(len(self.trace)), keep, at)
            if at is None:
                break
            event = at - 1
            if columns.kind[event] == Kind.ALLOC:
                break
            numbers = self._flat(int(columns.region[event]), row.shape)
            if left[numbers].any():
                found.append(("event", event))
                left[numbers] = False
        if left.any() and len(found) < MOST_WRITERS:
            known = row.initial >= 0
            found.append(("argument", root) if known else ("unset", root))
        return tuple(found)

    def _flat(self, region: int | None, shape: tuple[int, ...]) -> Any:
        if region is None or region < 0:
            return slice(None)
        found = self.trace.region(region)
        if found.kind is RegionKind.BOX and found.covers(shape):
            return slice(None)
        return found.flat(shape)
