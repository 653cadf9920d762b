"""From the writer's packed rows to an immutable Trace. The writer may go on growing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from pallas_debug.trace.columns import decode
from pallas_debug.trace.regions import Regions
from pallas_debug.trace.schema import BufferRow, ThreadRow
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace
from pallas_debug.trace.writer import LaunchRecord, Writer


def close(
    writer: Writer, *, outputs: Any = None, meta: Mapping[str, Any] | None = None
) -> Trace:
    """The trace of everything written so far."""
    launches = tuple(
        _launch(number, record, writer) for number, record in enumerate(writer.launches)
    )
    return Trace(
        columns=decode(writer.log, [launch.first_event for launch in launches]),
        regions=Regions(writer.regions),
        payloads=tuple(writer.payloads),
        thread_rows=tuple(_made(ThreadRow, writer.threads)),
        buffer_rows=tuple(_made(BufferRow, writer.buffers)),
        launches=launches,
        texts=tuple(writer.texts),
        choices=tuple(writer.choices),
        outputs=outputs,
        meta=MappingProxyType(dict(meta or {})),
    )


def _made(kind: Any, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Rows of a side table as what they are, those that are not yet."""
    make = kind._make
    return [row if type(row) is kind else make(row) for row in rows]


def _launch(number: int, record: LaunchRecord, writer: Writer) -> RecordedLaunch:
    """One entry of the launches table; the last may still be running."""
    launch = record.launch
    kernel = launch.kernel
    last = number == len(writer.launches) - 1
    names = [buffer.name for buffer in kernel.buffers[: kernel.num_scalars]]
    values = launch.arguments[: kernel.num_scalars]
    return RecordedLaunch(
        number=number,
        kernel=kernel,
        grid=tuple(launch.grid),
        outcome=record.outcome,
        first_event=record.first_event,
        last_event=writer.events if last else writer.launches[number + 1].first_event,
        chip=launch.chip,
        axes=MappingProxyType(dict(launch.axes)),
        device=MappingProxyType(dict(launch.device)),
        scalars=MappingProxyType(
            {name: np.asarray(v) for name, v in zip(names, values, strict=False)}
        ),
        steps=record.steps,
        arguments=tuple(record.arguments),
        outputs=tuple(record.outputs),
        source=launch,
    )
