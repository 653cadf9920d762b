"""`trace`, `check`, `recording`, `load`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pallas_debug.errors import BadOption, NoLaunch
from pallas_debug.machine.options import Options
from pallas_debug.session.recorder import Recorder
from pallas_debug.trace import file
from pallas_debug.trace.trace import Trace

if TYPE_CHECKING:
    from pallas_debug.checks import Report

OnLaunch = Callable[[Any, list[np.ndarray]], list[np.ndarray]]


def trace(
    fn: Callable[..., Any], *args: Any, options: Options | None = None, **kwargs: Any
) -> Trace:
    """Runs `fn(*args, **kwargs)` and records every kernel launch inside.

    Args:
      fn: Any JAX function, jitted or not.
      *args: Its arguments.
      options: What to pretend, to bound and to record.
      **kwargs: Its keyword arguments.

    Returns:
      The trace; `trace.outputs` is what `fn` returned, or None if the run was stopped
      before its end (`trace.launches[-1].outcome` says why).

    Raises:
      NoLaunch: `fn` launched no kernel.
    """
    return recorded(fn, args, kwargs, options)


def recorded(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Options | None = None,
    launches: Callable[[Recorder], OnLaunch] | None = None,
) -> Trace:
    """The trace of a call; `launches` says how a recorder takes launches, if not itself."""
    if not callable(fn):
        raise BadOption(
            option="fn",
            value=fn,
            accepted="a function, with its arguments after it: trace(f, x)",
        )
    options = _options(options)
    from pallas_debug.jaxlink.capture import run_captured
    from pallas_debug.jaxlink.pretend import pretend
    from pallas_debug.jaxlink.recording import announced

    recorder = Recorder(options)
    on_launch = launches(recorder) if launches else recorder.launch
    on_mesh_launch = None if launches else recorder.launches
    outputs = None
    with pretend(options.chip, options.cores):
        try:
            outputs = run_captured(
                fn, args, kwargs, announced(on_launch), on_mesh_launch
            )
        except KeyboardInterrupt:
            if not recorder.writer.launches:
                raise
    if not recorder.writer.launches:
        raise NoLaunch(function=getattr(fn, "__name__", repr(fn)))
    return recorder.close(outputs)


def check(
    subject: Trace | Callable[..., Any],
    *args: Any,
    options: Options | None = None,
    select: Any = None,
    ignore: Any = None,
    **kwargs: Any,
) -> Report:
    """Judges a trace, or a function that is recorded first.

    Args:
      subject: A trace, or a function with `args` and `kwargs` as `trace` takes them.
      *args: The function's arguments.
      options: As for `trace`.
      select: Codes to run only, e.g. `["PD101"]`.
      ignore: Codes to leave out.
      **kwargs: The function's keyword arguments.

    Returns:
      A report; its `findings` are sorted by severity.
    """
    from pallas_debug.checks import run_checks
    from pallas_debug.session.arithmetic import observe

    if not isinstance(subject, Trace):
        if not callable(subject):
            raise BadOption(
                option="subject",
                value=subject,
                accepted="a trace (from a file: load(path)), or a function, with its "
                "arguments after it: check(f, x)",
            )
        subject = trace(subject, *args, options=options, **kwargs)
    observe(subject, options)
    return run_checks(subject, select=select, ignore=ignore)


def _options(given: Any) -> Options:
    """The options that were given, or the defaults."""
    if given is None:
        return Options()
    if not isinstance(given, Options):
        raise BadOption(
            option="options",
            value=given,
            accepted='an Options object: Options(chip="h100")',
        )
    return given


class Recording:
    """What `recording()` gives: `trace` is there when the block has ended.

    Attributes:
      outputs: Becomes the trace's, if it is set before the block ends.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._trace: Trace | None = None
        self.outputs: Any = None

    @property
    def trace(self) -> Trace:
        """The trace of what has been recorded so far."""
        return self._trace or self._recorder.close()

    def stopped(self, error: BaseException) -> bool:
        """Whether JAX raised `error` only because this recording had stopped.

        Why it stopped is raised when the block ends.
        """
        from pallas_debug.jaxlink.recording import stopped

        return stopped(error)

    def close(self) -> None:
        """Ends the recording."""
        self._trace = self._recorder.close(self.outputs)


@contextmanager
def recording(options: Options | None = None) -> Iterator[Recording]:
    """Records every kernel launched inside the block, jitted ones included.

    Recordings nest, and what `trace` or `check` run inside is recorded here, too.

    Example:
      >>> with pldb.recording() as rec:
      ...     y = my_jitted_function(x)
      >>> rec.trace.launches
    """
    options = _options(options)
    recorder = Recorder(options)
    from pallas_debug.jaxlink.pretend import pretend
    from pallas_debug.jaxlink.recording import recording as lowering_recording

    this = Recording(recorder)
    try:
        with (
            pretend(options.chip, options.cores),
            lowering_recording(recorder.launch, recorder.lowered, recorder.prepare),
        ):
            yield this
    finally:
        this.close()


def load(path: str | os.PathLike[str]) -> Trace:
    """Reads a trace file; nothing in it is executed."""
    return file.load(path)
