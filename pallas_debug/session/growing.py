"""A recording that was cut goes on: its last launch again, with a higher limit.

The same launch and options give the same events, so the new trace begins with the old
one, and whoever holds the old one needs only what follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from pallas_debug import errors, machine
from pallas_debug.accepted import whole
from pallas_debug.machine.options import Options
from pallas_debug.session.replay import Replay
from pallas_debug.trace import Trace, close
from pallas_debug.trace.reopen import until

LEAST = 10_000  # events by which a short recording grows

Progress = Callable[[int, int], None]


def is_cut(trace: Trace) -> bool:
    """Whether the recording ended before its last launch did."""
    return bool(trace.launches) and trace.launches[-1].outcome.is_cut


def refuse(trace: Trace) -> NoReturn:
    """Says that nothing is missing at the end of a trace."""
    said = trace.launches[-1].outcome.kind if trace.launches else "empty"
    accepted = "a recording whose last launch was cut (max_events, Ctrl-C)"
    raise errors.BadOption(option="record_more", value=said, accepted=accepted)


def grown(
    trace: Trace,
    replay: Replay,
    events: int | None = None,
    progress: Progress | None = None,
) -> tuple[Trace, Options]:
    """The trace with more events of its last launch, and the options of that launch.

    Args:
      trace: A recording that was cut.
      replay: Of it.
      events: How many more at most; as many again by default.
      progress: Called now and then with the grid points begun and all of them; it may
        raise KeyboardInterrupt to stop.

    Raises:
      BadOption: Nothing is missing at the end of the trace, or it is no recording.
    """
    from pallas_debug.jaxlink.evaluate import flushing_denormals

    if not is_cut(trace):
        refuse(trace)
    if events is not None:
        events = whole("events", events, "a positive int", low=1)
    last = trace.launches[-1]
    if replay.is_diverted(last.number) or "diversion" in trace.meta:
        accepted = (
            "a session over the recording: what-if runs have a limit of their own"
        )
        raise errors.BadOption(option="session", value="a what-if", accepted=accepted)
    count = len(last.events)
    limit = count + (max(count, LEAST) if events is None else events)
    options = replace(replay.options(last.number), max_events=limit, max_seconds=None)
    watched = replace(options, progress=progress) if progress else options
    sources = [replay.source(number) for number in range(last.number + 1)]
    writer = until(trace, sources)
    with flushing_denormals():
        machine.run(sources[-1], writer, watched)
    kept = {**trace.meta.get("options", {}), "max_events": limit, "max_seconds": None}
    return close(writer, meta={**trace.meta, "options": kept}), options
