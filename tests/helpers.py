"""A tiny language for hand-built traces, and a matcher for findings.

b = TraceBuilder(grid=(2,))
x = b.buffer("x", (8,), role="input", initial=np.zeros(8, np.float32))
t = b.thread("warpgroup", block=0)
t.read(x, [(4, 8)], line=7)             # one (start, size[, stride]) per dimension
trace = b.close()
"""

import math
import pathlib

import numpy as np

from pallas_debug import ir
from pallas_debug.trace import (
    BufferRow,
    Kind,
    LaunchRecord,
    Outcome,
    RegionKind,
    ThreadRow,
    Writer,
    close,
)
from pallas_debug.trace.schema import ROW

FILE = "kernel.py"


class TraceBuilder:
    """Writes a trace row by row, as the machine would."""

    def __init__(self, *, writer=None, number=0, grid=(), kernel_grid=None, **kernel):
        self.writer = writer or Writer()
        self.number = number
        self.grid = grid
        self.kernel = {"name": "kernel", "backend": "mosaic_gpu", **kernel}
        if kernel_grid is not None:
            self.kernel["grid"] = kernel_grid
        self.record = LaunchRecord(None, self.writer.events)
        self.writer.launches.append(self.record)
        self.instrs = []
        self.lines = []
        self.step = 0
        self.root = self.thread("launch")

    def line(self, number):
        """Index of a source line among the kernel's locs."""
        if number not in self.lines:
            self.lines.append(number)
        return self.lines.index(number)

    def instr(self, op="state.get", line=1, **fields):
        """Position of an instruction on the tape."""
        key = (op, line, fields)
        if key not in self.instrs:
            self.instrs.append(key)
        return self.instrs.index(key)

    def thread(self, kind="warpgroup", *, block=-1, index=0, **row):
        defaults = {"parent": -1, "device": 0, "cluster": -1, "instr": -1}
        row = ThreadRow(
            kind=kind,
            block=block,
            index=index,
            launch=self.number,
            **(defaults | row),
        )
        return ThreadWriter(self, self.writer.thread(row), block)

    def buffer(self, name, shape, dtype="float32", *, initial=None, line=None, **row):
        """A buffer; `alloc()` it, or give it a role or contents."""
        defaults = {"space": "gmem", "scope": "launch", "role": "scratch"}
        defaults |= {"thread": -1, "block": -1, "device": 0, "launch": self.number}
        if initial is not None:
            initial = self.writer.payload(np.asarray(initial))
        return self.writer.buffer(
            BufferRow(
                name=name,
                shape=tuple(shape),
                dtype=dtype,
                initial=-1 if initial is None else initial,
                loc=-1 if line is None else self.line(line),
                **(defaults | row),
            )
        )

    def barrier(self, name, count=1, arrivals=1, **row):
        row = {"space": "barrier", "role": "sync", "block": 0} | row
        return self.buffer(name, (count,), "barrier", arrivals=arrivals, **row)

    def semaphore(self, name, count=1, **row):
        row = {"space": "semaphore", "role": "sync"} | row
        return self.buffer(name, (count,), "dma_semaphore", **row)

    def made_kernel(self):
        instrs = tuple(
            ir.Instr(op=op, loc=self.line(line), **fields)
            for op, line, fields in self.instrs
        )
        locs = tuple(
            ir.Loc(file=FILE, line=line, function="body", text=f"line {line}")
            for line in self.lines
        )
        return ir.Kernel(tape=instrs, locs=locs, **self.kernel)

    def finish(self, outcome="finished", message="", waiting=()):
        """Ends the launch."""
        self.record.launch = ir.Launch(
            kernel=self.made_kernel(), arguments=(), grid=self.grid
        )
        self.record.last_event = self.writer.events
        self.record.outcome = Outcome(
            kind=outcome, message=message, waiting=tuple(waiting)
        )

    def next_launch(self, **kernel):
        """Ends this launch and begins another in the same trace."""
        self.finish()
        return TraceBuilder(writer=self.writer, number=self.number + 1, **kernel)

    def close(self, *, outputs=None, meta=None, **outcome):
        self.finish(**outcome)
        return close(self.writer, outputs=outputs, meta=meta or {})


class ThreadWriter:
    """One thread of a builder; each verb appends one event and gives its number."""

    def __init__(self, builder, number, block):
        self.builder = builder
        self.number = number
        self.block = block

    def emit(self, kind, obj=-1, region=-1, aux=0, payload=-1, **instr):
        builder, writer = self.builder, self.builder.writer
        seq = writer.events
        writer.log += ROW.pack(
            kind,
            self.number,
            self.block,
            builder.step,
            builder.instr(**instr),
            obj,
            region,
            aux,
            payload,
        )
        builder.step += 1
        return seq

    def _shape(self, buffer):
        return self.builder.writer.buffers[buffer].shape

    def region(self, buffer, box=None, *, mask=None, elements=None):
        """A region row from spans `(start, size[, stride])`; None is the whole."""
        writer = self.builder.writer
        if elements is not None:
            numbers = np.asarray(elements, np.int64)
            return writer.region((int(RegionKind.ELEMENTS), writer.payload(numbers)))
        if box is None:
            box = [(0, size) for size in self._shape(buffer)]
        row = [number for span in box for number in (*span, 1)[:3]]
        if mask is None:
            return writer.region((int(RegionKind.BOX), *row))
        mask = writer.payload(np.asarray(mask, bool))
        return writer.region((int(RegionKind.MASKED), *row, mask))

    def _access(self, kind, buffer, box, value, mask, elements, instr):
        region = self.region(buffer, box, mask=mask, elements=elements)
        payload = -1 if value is None else self.builder.writer.payload(value)
        return self.emit(kind, buffer, region, payload=payload, **instr)

    def read(self, buffer, box=None, value=None, *, mask=None, elements=None, **instr):
        return self._access(Kind.READ, buffer, box, value, mask, elements, instr)

    def write(self, buffer, box=None, value=None, *, mask=None, elements=None, **instr):
        return self._access(Kind.WRITE, buffer, box, value, mask, elements, instr)

    def update(
        self, buffer, box=None, value=None, *, mask=None, elements=None, **instr
    ):
        return self._access(Kind.UPDATE, buffer, box, value, mask, elements, instr)

    def pad(self, buffer, box, **instr):
        return self._access(Kind.PAD, buffer, box, None, None, None, instr)

    def alloc(self, buffer, **instr):
        nbytes = 4 * math.prod(self._shape(buffer))
        return self.emit(Kind.ALLOC, buffer, aux=nbytes, **instr)

    def free(self, buffer, **instr):
        return self.emit(Kind.FREE, buffer, **instr)

    def spawn(self, kind="tma", **instr):
        """Starts an agent (or, with `index=`, another kind of thread)."""
        agent = self.builder.thread(
            kind, block=self.block, index=-1, parent=self.number
        )
        self.emit(Kind.SPAWN, agent.number, **instr)
        return agent

    def end(self, **instr):
        return self.emit(Kind.END, **instr)

    def _element(self, index):
        return self.builder.writer.region((int(RegionKind.BOX), index, 1, 1))

    def arrive(self, barrier, index=0, *, before=0, **instr):
        return self.emit(Kind.ARRIVE, barrier, self._element(index), before, **instr)

    def phase(self, barrier, index=0, *, done=1, **instr):
        return self.emit(Kind.PHASE, barrier, self._element(index), done, **instr)

    def wait(self, sync, index=0, aux=1, **instr):
        return self.emit(Kind.WAIT, sync, self._element(index), aux, **instr)

    def blocked(self, sync, index=0, aux=1, **instr):
        return self.emit(Kind.BLOCK, sync, self._element(index), aux, **instr)

    def signal(self, semaphore, index=0, aux=1, **instr):
        return self.emit(Kind.SIGNAL, semaphore, self._element(index), aux, **instr)

    def fence(self, scope=0, **instr):
        return self.emit(Kind.FENCE, aux=scope, **instr)

    def join(self, agent, *, reads=False, **instr):
        return self.emit(Kind.JOIN, agent.number, aux=int(reads), **instr)

    def grid(self, index, **instr):
        self.block = index
        return self.emit(Kind.GRID, aux=index, **instr)

    def print(self, text, **instr):
        return self.emit(Kind.PRINT, aux=self.builder.writer.text(text), **instr)

    def asserted(self, text, **instr):
        """A `debug_check` that failed."""
        aux = -1 - self.builder.writer.text(text)
        return self.emit(Kind.ASSERT, aux=aux, **instr)

    def stub(self, **instr):
        return self.emit(Kind.STUB, **instr)


def codes(report):
    """The codes of a report's findings, in order."""
    return [finding.code for finding in report.findings]


def only(report, code):
    """The single finding with a code; fails if there is none or are several."""
    found = [finding for finding in report.findings if finding.code == code]
    assert len(found) == 1, f"{len(found)} findings {code} among {codes(report)}"
    return found[0]


def line_of(file, mark):
    """The number of the line of a test's file that ends with a comment."""
    lines = pathlib.Path(file).read_text(encoding="utf-8").splitlines()
    (number,) = (n for n, one in enumerate(lines, 1) if one.endswith(f"  # {mark}"))
    return number
