"""`trace`, `check`, `recording`, `load`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pallas_debug.errors import BadOption, NoLaunch
from pallas_debug.machine.options import Options
from pallas_debug.session.known import options_of
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
      fn: Any JAX function, jitted or not. One that is not jitted may ask for values
        on its way (`if`, `float()`, `np.asarray`): then it is run a second time, as it
        is, after what was traced of it.
      *args: Its arguments.
      options: What to pretend, to bound and to record.
      **kwargs: Its keyword arguments.

    Returns:
      The trace; `trace.outputs` is what `fn` returned, None if it was interrupted. A
      launch that a limit or a fault ended early (`launch.outcome` says which) has given
      what its outputs held by then. A fault of the kernel is in the trace, too, and
      raises nothing.

    Raises:
      NoLaunch: `fn` launched no kernel.
      BadOption: An option is not of the accepted values, or `chip` is of another kind
        than a kernel.
      Exception: Whatever `fn` itself raises.

    Example:
      >>> trace = pldb.trace(fn, x, options=pldb.Options(chip="h100", cores=4))
      >>> trace.events.where(kind="write", buffer="acc")
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
        accepted = "a function, with its arguments after it: trace(f, x)"
        raise BadOption(option="fn", value=fn, accepted=accepted)
    options = options_of(options)
    from pallas_debug.jaxlink.capture import run_captured
    from pallas_debug.jaxlink.pretend import pretend
    from pallas_debug.jaxlink.recording import announced
    from pallas_debug.jaxlink.traced import wants_values

    recorder = Recorder(options)
    alone = launches(recorder) if launches else recorder.launch
    on_mesh_launch = announced(partial(recorder.launches, alone=alone))

    def on_launch(call: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
        return on_mesh_launch([call], [arrays])[0]

    outputs, as_it_runs = None, False
    with pretend(options.chip, options.cores, waits=True):
        try:
            outputs = run_captured(fn, args, kwargs, on_launch, on_mesh_launch)
        except KeyboardInterrupt:
            if not recorder.writer.launches:
                raise
        except Exception as error:
            as_it_runs = not recorder.writer.launches and wants_values(fn, error)
            if not as_it_runs or launches is not None:
                raise
    if as_it_runs:
        return _while_it_runs(fn, args, kwargs, options)
    if not recorder.writer.launches:
        raise NoLaunch(function=getattr(fn, "__name__", repr(fn)))
    return recorder.close(outputs)


def _while_it_runs(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: Options,
) -> Trace:
    """The trace of a call that needs values on its way, as a function without jit may."""
    rec: Recording | None = None
    try:
        with recording(options) as rec:
            rec.outputs = fn(*args, **kwargs)
    except KeyboardInterrupt:
        if rec is None or not rec.trace.launches:
            raise
    if not rec.trace.launches:
        raise NoLaunch(function=getattr(fn, "__name__", repr(fn)))
    return rec.trace


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
      A report; its `findings` are sorted by severity, `errors` are those that count.

    Raises:
      NoLaunch: The function launched no kernel.
      BadOption: `select` or `ignore` names no check, or as for `trace`.
      Exception: Whatever the function itself raises.

    Example:
      >>> report = pldb.check(fn, x)
      >>> [(one.code, one.loc, one.message) for one in report.errors]
    """
    from pallas_debug.checks import run_checks
    from pallas_debug.session.arithmetic import observe

    options = options_of(options)
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

    Args:
      options: As for `trace`.

    Yields:
      The recording: its `trace` has all launches so far, inside the block and after it.

    Raises:
      BadOption: An option is not of the accepted values, or `chip` is of another kind
        than a kernel; raised when the block ends.
      Exception: Whatever the block raises.

    Example:
      >>> with pldb.recording() as rec:
      ...     y = my_jitted_function(x)
      >>> rec.trace.launches
    """
    options = options_of(options)
    recorder = Recorder(options)
    from pallas_debug.jaxlink.meetings import OnMesh
    from pallas_debug.jaxlink.pretend import pretend
    from pallas_debug.jaxlink.recording import recording as lowering_recording

    this = Recording(recorder)
    try:
        with (
            pretend(options.chip, options.cores),
            lowering_recording(
                recorder.launch,
                recorder.lowered,
                recorder.prepare,
                OnMesh(recorder.launches, recorder.together),
            ),
        ):
            yield this
    finally:
        this.close()


def load(path: str | os.PathLike[str]) -> Trace:
    """Reads a trace file; nothing in it is executed.

    Args:
      path: A file that `trace.save(path)` wrote, on any machine; JAX is not needed.

    Returns:
      The trace, equal to the saved one except for `outputs`, which are not saved.

    Raises:
      BadTraceFile: It is no trace, is damaged, or comes from a newer version.
      OSError: It cannot be read.
    """
    return file.load(path)
