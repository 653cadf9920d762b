"""A launch in pieces: each recorded by a worker of an executor, then joined.

A worker runs the user's function itself, up to the launch in question: what earlier
launches gave it gets from the parent, so nothing is run twice. What cannot be cut, or
turns out not to be independent, is run whole by the parent, as ever.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import PallasDebugError, WorkerFailed
from pallas_debug.machine.options import Options
from pallas_debug.session.progress import progress
from pallas_debug.session.recorder import Recorder
from pallas_debug.trace import file, fold
from pallas_debug.trace.join import WRITES, dependence, join, touched
from pallas_debug.trace.schema import Outcome
from pallas_debug.trace.trace import Trace

APART = ("mosaic_gpu", "triton")  # elsewhere a core takes one grid point after another
SHARED = "gpu.cluster_cancel"  # blocks that take work off a common queue
FEWEST_CLUSTERS = 2  # of a piece

Arrays = list[np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a worker is sent.

    Attributes:
      fn, args, kwargs: The user's call.
      options: Of the recording; `blocks` are the piece's.
      earlier: Results of the launches before the one that is cut.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: Options
    earlier: list[Arrays]


class _Done(Exception):
    """Ends the user's function once the piece is there."""


_one_at_a_time = threading.Lock()  # a compiled kernel writes to one recording


def record(task: Task) -> tuple[bytes, Arrays]:
    """The trace file of a piece and its results; what a worker runs."""
    from pallas_debug.jaxlink.capture import run_captured
    from pallas_debug.jaxlink.pretend import pretend

    recorder = Recorder(task.options)
    earlier = iter(task.earlier)
    results: Arrays = []

    def launch(call: Any, arguments: Arrays) -> Arrays:
        known = next(earlier, None)
        if known is not None:
            return known
        results.extend(recorder.launch(call, arguments))
        raise _Done

    with _one_at_a_time, pretend(task.options.chip, task.options.cores):
        with suppress(_Done):
            run_captured(task.fn, task.args, task.kwargs, launch)
        return file.dumps(recorder.close()), results


@dataclass(kw_only=True, eq=False)
class Cutter:
    """Records the launches of a call, each in pieces where it can be cut.

    Attributes:
      recorder: Where the facts go, and what runs a launch whole.
      executor: Whose workers record the pieces.
      pieces: How many a launch is cut into.
      fn, args, kwargs: The user's call.
      results: Of the launches so far.
    """

    recorder: Recorder
    executor: Executor
    pieces: int
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: list[Arrays] = field(default_factory=list)

    def launch(self, call: Any, arguments: Arrays) -> Arrays:
        """Executes a launch; `on_launch` of the capture."""
        launch = self.recorder.prepared(call, arguments)
        parts = _parts(launch, self.recorder.options, self.pieces)
        results = self._joined(launch, parts) if len(parts) > 1 else None
        if results is None:
            results = self.recorder.launch(call, arguments)
        self.results.append(results)
        return results

    def _joined(self, launch: ir.Launch, parts: list[list[int]]) -> Arrays | None:
        """The results of the pieces, joined in the writer; None if they are no run."""
        hidden = True if self.recorder.options.progress is False else None
        options = replace(self.recorder.options, progress=False)
        tasks = [
            Task(
                fn=self.fn,
                args=self.args,
                kwargs=self.kwargs,
                options=replace(options, blocks=part),
                earlier=self.results,
            )
            for part in parts
        ]
        futures = list[Future[Any]]()
        try:
            futures += (self.executor.submit(record, task) for task in tasks)
            with progress(len(futures), "pieces", hidden=hidden) as bar:
                for future in futures:
                    self._raise_failure(future)
                    bar.update()
        except BaseException as error:
            for future in futures:
                future.cancel()
            if isinstance(error, KeyboardInterrupt):
                self._interrupted(launch, futures)
            raise
        done = [future.result() for future in futures]
        traces = [file.loads(data) for data, _ in done]
        if not self._is_one_run(traces) or dependence(traces):
            return None
        join(self.recorder.writer, launch, traces)
        return _merged(traces, [results for _, results in done])

    def _raise_failure(self, future: Future[Any]) -> None:
        """Waits for a piece; what is wrong with the user's call is said as ever."""
        error = future.exception()
        if isinstance(error, PallasDebugError | KeyboardInterrupt):
            raise error
        if error is not None:
            name = getattr(self.fn, "__name__", repr(self.fn))
            reason = f"{type(error).__name__}: {error!s:.200}"
            raise WorkerFailed(name=name, reason=reason) from error

    def _interrupted(self, launch: ir.Launch, futures: list[Future[Any]]) -> None:
        """Keeps the pieces that are there, from the first on."""
        traces: list[Trace] = []
        for future in futures:
            if not future.done() or future.cancelled() or future.exception():
                break
            traces.append(file.loads(future.result()[0]))
        if traces:
            kept = join(self.recorder.writer, launch, traces)
            kept.outcome = Outcome(kind="interrupted", message="stopped by the user")

    def _is_one_run(self, traces: Sequence[Trace]) -> bool:
        """Whether one run would have finished, too, within its limits."""
        options = self.recorder.options
        held = sum(array.nbytes for trace in traces for array in trace.payloads)
        return (
            all(trace.launches[0].outcome.kind == "finished" for trace in traces)
            and sum(map(len, traces)) < options.max_events
            and held < options.max_value_bytes
        )


def _parts(launch: ir.Launch, options: Options, pieces: int) -> list[list[int]]:
    """The blocks of each piece: whole clusters; one part if it cannot be cut."""
    kernel = launch.kernel
    size = math.prod(kernel.grid.cluster)
    clusters = math.prod(launch.grid)
    apart = (
        kernel.backend in APART
        and options.resident == 1
        and options.blocks is None
        and not any(instr.op.startswith(SHARED) for instr in kernel.tape)
        and not launch.axes
    )
    count = min(pieces, clusters // FEWEST_CLUSTERS) if apart else 1
    bounds = np.linspace(0, clusters, max(count, 1) + 1).astype(int) * size
    return [list(range(a, b)) for a, b in pairwise(bounds)]


def _merged(traces: Sequence[Trace], results: Sequence[Arrays]) -> Arrays:
    """The first piece's results, with what the others wrote."""
    merged = [array.copy() for array in results[0]]
    for trace, arrays in zip(traces[1:], results[1:], strict=True):
        for array, new, number in zip(
            merged, arrays, trace.launches[0].outputs, strict=True
        ):
            root = int(fold.roots(trace)[number])
            written = touched(trace, root, WRITES).reshape(array.shape)
            array[written] = new[written]
    for array in merged:
        array.flags.writeable = False
    return merged
