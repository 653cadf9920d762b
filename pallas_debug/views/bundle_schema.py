"""What a bundle has beyond a trace file: the contract between `views` and the page.

Each array and each entry of `header["view"]` is declared here once; the TypeScript types
are printed from it, a test compares it with what is written.
"""

from __future__ import annotations

from typing import Any, TypedDict

VIEW_FORMAT = 1

# What a span is: its thread ran, waited for an object, or was in flight (an agent).
SPAN_KINDS = ("runs", "waits", "in flight")

# The worst finding of a block.
WORST = ("none", "info", "warning", "error", "would abort")

VIEW_ARRAYS: dict[str, str] = {
    "view.instrs.first": "kernels + 1: where each kernel's instructions begin",
    "view.instrs.source": "row of the sources, -1 if unknown",
    "view.instrs.line": "source line, 0 if unknown",
    "view.instrs.end": "last source line, 0 if unknown",
    "view.instrs.scope": "scope, a number in its kernel",
    "view.scopes.first": "kernels + 1: where each kernel's scopes begin",
    "view.scopes.parent": "scope around it in its kernel, -1 for the kernel itself",
    "view.entries.event": "event that begins another call, loop or branch like the last",
    "view.entries.kept": "how many of its callers stay, the outermost; the others do not",
    "view.clock": "per event: the thread's own tick",
    "view.edges.src": "event that happens before",
    "view.edges.dst": "the other thread's event",
    "view.edges.kind": "index into EDGE_KINDS",
    "view.clocks.first": "threads + 1: where each thread's log begins",
    "view.clocks.at": "at this tick of its own a thread",
    "view.clocks.other": "knows this thread",
    "view.clocks.tick": "up to this tick",
    "view.clocks.parent": "per thread: whose clock it began with, -1 if none",
    "view.clocks.parent_tick": "per thread: at which tick of the parent",
    "view.spans.thread": "spans are sorted by start",
    "view.spans.start": "event",
    "view.spans.end": "event, exclusive",
    "view.spans.kind": "index into SPAN_KINDS",
    "view.spans.object": "buffer waited for, or -1 - agent; -1 for other kinds",
    "view.blocks.launch": "blocks in which anything happened, by launch and number",
    "view.blocks.block": "linear number",
    "view.blocks.first": "its first event",
    "view.blocks.last": "its last event",
    "view.blocks.events": "how many events",
    "view.blocks.read": "bytes",
    "view.blocks.written": "bytes",
    "view.blocks.waits": "waits and joins that are over",
    "view.blocks.worst": "index into WORST",
    "view.buffers.alloc": "event, -1 if it was there before",
    "view.buffers.free": "event, -1 if it stayed",
    "view.buffers.bytes": "on the device",
    "view.buffers.root": "buffer whose memory it is",
}


class SourceView(TypedDict):
    """A part of a file: per line, words with Pygments' short class or ""."""

    file: str
    name: str
    start: int
    tokens: list[list[list[str]]]


class KernelView(TypedDict):
    """A kernel's listing, `[depth, instr or -1, text, source, line]` a row; per
    instruction its op and the Python variables that its results have.
    """

    name: str
    listing: list[list[Any]]
    ops: list[str]
    names: list[str]


class OutcomeView(TypedDict):
    """How a launch ended."""

    kind: str
    message: str


class LaunchView(TypedDict):
    """A launch. `limits` and `peaks` are bytes by memory space; `per_block` names the
    spaces of which each block has its own; `loc` is `[source, line]`.
    """

    name: str
    backend: str
    kernel: int
    block_shape: list[int]
    grid: list[int]
    cluster: list[int]
    axis_names: list[str]
    chip: str
    axes: dict[str, int]
    device: dict[str, int]
    loc: list[int]
    limits: dict[str, int]
    peaks: dict[str, int]
    per_block: list[str]
    first_event: int
    last_event: int
    first_block_row: int
    outcome: OutcomeView
    scalars: dict[str, Any]


class LocView(TypedDict):
    """A place in the user's source."""

    file: str
    line: int
    function: str
    text: str


class FindingView(TypedDict):
    """A verdict with its evidence. `refusal`: it predicts that JAX stops here; `other`:
    the line of the second access; `calls`: where the functions around its line were
    called, innermost first; `cause`: row of the finding that it follows from, or -1;
    `doc`: what its check's page says.
    """

    code: str
    name: str
    severity: str
    refusal: bool
    message: str
    hint: str
    source: int
    line: int
    loc: LocView | None
    other: LocView | None
    calls: list[LocView]
    launch: int
    buffer: str
    buffer_row: int
    block: list[int] | None
    block_linear: int
    threads: list[int]
    events: list[int]
    count: int
    details: dict[str, Any]
    cause: int
    doc: str


class ValuesView(TypedDict):
    """How much of the recorded values the bundle carries."""

    included_bytes: int
    left_out: int
    left_out_bytes: int


class View(TypedDict):
    """`header["view"]`. `threads` is empty where there are too many to name; `lines` has
    `[launch, source, line, executions, bytes read, bytes written, waits]` a row; `dtypes`
    decodes types of at most eight bits: null is NaN, infinities are words.
    """

    format: int
    title: str
    package: str
    values: ValuesView
    sources: list[SourceView]
    kernels: list[KernelView]
    launches: list[LaunchView]
    threads: list[str]
    findings: list[FindingView]
    has_report: bool
    lines: list[list[int]]
    dtypes: dict[str, list[float | str | None]]


TYPES: tuple[Any, ...] = (
    SourceView,
    KernelView,
    OutcomeView,
    LaunchView,
    LocView,
    FindingView,
    ValuesView,
    View,
)
