"""The bundle: a trace file with what a viewer needs beside it.

`bundle(trace)` is the file that `trace.save` writes, with one more entry `view` in the
header and more arrays, all named `view.*`. `pallas_debug.load` reads it and ignores
those. The page draws what stands here; it computes no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.accepted import of_type
from pallas_debug.ir import chips
from pallas_debug.ir.listing import rows as listing_rows
from pallas_debug.ir.names import names
from pallas_debug.trace import Trace, file
from pallas_debug.trace.container import Packer
from pallas_debug.views import bundle_tables as tables
from pallas_debug.views import overview, text
from pallas_debug.views.bundle_schema import (
    VIEW_FORMAT,
    FindingView,
    KernelView,
    LaunchView,
    ValuesView,
    View,
)
from pallas_debug.views.bundle_values import decode_tables, left_out
from pallas_debug.views.facts import plain, plain_loc
from pallas_debug.views.sources import Sources
from pallas_debug.views.verdicts import worst

PAGE_VALUES = 1 << 20
LIVE_VALUES = 64 << 20
MOST_NAMED_THREADS = 20_000


def bundle(
    trace: Trace,
    report: Any = None,
    *,
    values_bytes: int = LIVE_VALUES,
    title: str = "",
    packer: Packer | None = None,
) -> bytes:
    """The bytes that a viewer opens.

    Args:
      trace: What was recorded.
      report: What the checks say, if they were asked.
      values_bytes: How many bytes of recorded values to carry. What does not fit is
        left out, and the viewer says so.
      title: What the viewer is headed with; the kernels' names where it is empty.
      packer: Packs it, by default as a whole.
    """
    packer, title = packer or Packer(), of_type("title", title, str, "a text")
    dropped = left_out(trace, report, values_bytes) - packer.known
    header = file.pack(replace(trace, left_out=dropped), packer)
    kernels = list({id(la.kernel): la.kernel for la in trace.launches}.values())
    sources = Sources(kernels)
    found = _findings(trace, report, sources)
    launches = _launches(trace, kernels, sources)
    for arrays in (
        tables.instructions(kernels, sources),
        tables.entries(trace),
        tables.clocks(trace),
        tables.spans(trace),
        tables.blocks(trace, worst(trace, report) if report else {}),
        tables.buffers(trace),
    ):
        for name, values in arrays:
            packer.add_integers(name, values)
    view: View = {
        "format": VIEW_FORMAT,
        "title": title or ", ".join(dict.fromkeys(la.name for la in trace.launches)),
        "package": plain(trace.meta.get("package", "")),
        "values": _values(trace, dropped),
        "sources": [source.to_json() for source in sources.entries],
        "kernels": [_kernel(kernel, sources) for kernel in kernels],
        "launches": launches,
        "threads": _thread_names(trace),
        "findings": found,
        "has_report": report is not None,
        "lines": tables.lines(trace, kernels, sources),
        "dtypes": decode_tables(_dtypes(trace)),
    }
    return packer.finish({**header, "view": view})


def _thread_names(trace: Trace) -> list[str]:
    if len(trace.thread_rows) > MOST_NAMED_THREADS:
        return []
    return [thread.name for thread in trace.threads]


def _values(trace: Trace, dropped: frozenset[int]) -> ValuesView:
    sizes = [value.nbytes for value in trace.payloads]
    missing = sum(sizes[number] for number in dropped)
    return {
        "included_bytes": sum(sizes) - missing,
        "left_out": len(dropped),
        "left_out_bytes": missing,
    }


def _dtypes(trace: Trace) -> set[str]:
    kinds = {value.dtype for value in trace.payloads}
    return {row.dtype for row in trace.buffer_rows} | {kind.name for kind in kinds}


def _kernel(kernel: ir.Kernel, sources: Sources) -> KernelView:
    return {
        "name": kernel.name,
        "listing": [
            [row.depth, row.instr, row.text, *_place(kernel, row.instr, sources)]
            for row in listing_rows(kernel)
        ],
        "ops": [instr.op for instr in kernel.tape],
        "names": names(kernel),
    }


def _place(kernel: ir.Kernel, instr: int, sources: Sources) -> list[int]:
    return sources.place(kernel.loc_of(instr) if instr >= 0 else None)


def _launches(
    trace: Trace, kernels: Sequence[ir.Kernel], sources: Sources
) -> list[LaunchView]:
    numbers = {id(kernel): number for number, kernel in enumerate(kernels)}
    rows: list[LaunchView] = []
    first_block = 0
    for view in overview.overviews(trace):
        launch = view.launch
        rows.append(
            {
                "name": launch.name,
                "backend": launch.backend,
                "kernel": numbers[id(launch.kernel)],
                "block_shape": list(launch.block_shape),
                "grid": list(launch.grid),
                "cluster": list(launch.cluster),
                "axis_names": overview.axis_names(launch),
                "chip": launch.chip,
                "axes": dict(launch.axes),
                "device": dict(launch.device),
                "loc": sources.place(launch.loc),
                "limits": chips.limits(launch.chip),
                "peaks": {space.name: space.peak_bytes for space in view.spaces},
                "per_block": [space.name for space in view.spaces if space.per_block],
                "first_event": launch.first_event,
                "last_event": launch.last_event,
                "first_block_row": first_block,
                "outcome": {
                    "kind": launch.outcome.kind,
                    "message": launch.outcome.message,
                },
                "scalars": finite(plain(launch.scalars)),
            }
        )
        first_block += view.blocks_run
    return rows


def _findings(trace: Trace, report: Any, sources: Sources) -> list[FindingView]:
    findings = report.findings if report else ()
    number = {id(one): row for row, one in enumerate(findings)}
    return [
        _finding(one, number.get(id(one.cause), -1), trace, sources) for one in findings
    ]


def _finding(one: Any, cause: int, trace: Trace, sources: Sources) -> FindingView:
    launch = one.launch if 0 <= one.launch < len(trace.launches) else -1
    block = -1
    if one.block is not None and launch >= 0:
        block = trace.launches[launch].linear(one.block)
    source, line = sources.place(one.loc)
    return {
        "code": one.code,
        "name": one.name,
        "severity": str(one.severity),
        "refusal": text.is_refusal(one),
        "message": one.message,
        "hint": _way_out(one),
        "source": source,
        "line": line,
        "loc": plain_loc(one.loc),
        "other": plain_loc(one.other),
        "calls": [place for site in one.calls if (place := plain_loc(site))],
        "launch": launch,
        "buffer": one.buffer,
        "buffer_row": _buffer_row(one, trace, launch),
        "block": list(one.block) if one.block is not None else None,
        "block_linear": block,
        "threads": [int(thread) for thread in one.threads],
        "events": [int(event) for event in one.events],
        "count": int(one.count),
        "details": finite(plain(one.details)),
        "cause": cause,
        "doc": _short(one.doc),
    }


def _way_out(one: Any) -> str:
    """The hint; of what follows from another finding, that one."""
    if one.cause is not None:
        return f"mend {one.cause.named} first: this follows from it"
    return one.hint


def _buffer_row(one: Any, trace: Trace, launch: int) -> int:
    """The buffer that the evidence is about, else the first one of its name."""
    rows = trace.buffer_rows
    for event in one.events:
        buffer = trace.events[event].buffer
        if buffer is not None and buffer.name == one.buffer:
            return buffer.number
    named = (
        number
        for number, row in enumerate(rows)
        if row.name == one.buffer and row.launch == launch
    )
    return next(named, -1)


def _short(page: str) -> str:
    """What a check's page says before its example."""
    return re.split(r"^## Example", page, maxsplit=1, flags=re.MULTILINE)[0].strip()


def finite(value: Any) -> Any:
    """Plain data whose NaN and infinities are words: JSON has neither."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value
