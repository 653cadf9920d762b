"""Large grids on several processes: `executors.trace(pool, fn, *args)`.

Blocks of a Mosaic GPU or Triton grid do not see each other, so pieces of the grid can be
recorded at the same time and joined. The trace is that of one run.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from pallas_debug.accepted import whole
from pallas_debug.errors import BadOption
from pallas_debug.session.verbs import recorded

if TYPE_CHECKING:
    from pallas_debug import Options, Trace

PIECES = 8


def processes(count: int | None = None) -> ProcessPoolExecutor:
    """A pool of fresh processes; None: one for each core.

    They are spawned, not forked: JAX has threads of its own. In a script, make it under
    `if __name__ == "__main__":`.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, mp_context=context)


def trace(
    executor: Executor,
    fn: Callable[..., Any],
    *args: Any,
    options: Options | None = None,
    pieces: int = PIECES,
    **kwargs: Any,
) -> Trace:
    """As `pallas_debug.trace`, with the grids of large launches cut into pieces.

    A launch whose blocks are not independent (one reads what another wrote, atomics on
    the same element), that has few of them, or that does not finish, is run whole, in
    this process.

    Args:
      executor: Any `concurrent.futures.Executor`; Dask and Ray have one.
      fn: As for `trace`. A process pool must be able to pickle it and the arguments: a
        function of a module, not a lambda or one of a notebook cell.
      *args: Its arguments.
      options: As for `trace`. With `resident` above 1 or chosen `blocks` nothing is cut.
      pieces: How many pieces a launch is cut into.
      **kwargs: Its keyword arguments.

    Returns:
      The trace: rows, order and numbers as of one run. The joined pieces hold equal
      values twice where one run would hold them once.

    Raises:
      BadOption: The executor or the number of pieces is none.
      NoLaunch: `fn` launched no kernel.
      WorkerFailed: A worker could not be sent the function, or ended.
    """
    if not isinstance(executor, Executor):
        accepted = "a concurrent.futures.Executor: executors.processes(4)"
        raise BadOption(option="executor", value=executor, accepted=accepted)
    pieces = whole("pieces", pieces, "a positive int", low=1)
    from pallas_debug.session.pieces import Cutter

    def launches(recorder: Any) -> Callable[..., Any]:
        return Cutter(
            recorder=recorder,
            executor=executor,
            pieces=pieces,
            fn=fn,
            args=args,
            kwargs=kwargs,
        ).launch

    return recorded(fn, args, kwargs, options, launches)
