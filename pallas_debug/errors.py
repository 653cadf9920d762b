"""Every exception and message template of pallas_debug, in one place.

A message answers three questions in this order: what happened, where in the user's
kernel (never in our interpreter), and what to do next. A bug in the user's kernel is
not an exception: it is an outcome and a finding, which may take its words from here.
This module imports nothing of ours, so that every layer may raise from it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol


class Location(Protocol):
    """A place in the user's source; `ir.Loc` is one."""

    @property
    def file(self) -> str:
        """Path of the file, or the name of a notebook cell."""
        ...

    @property
    def line(self) -> int:
        """Line number, from 1."""
        ...

    @property
    def function(self) -> str:
        """Name of the innermost function."""
        ...

    @property
    def text(self) -> str:
        """The source line itself; may be empty."""
        ...


def nearest(word: object, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The known words that `word` was most likely meant to be."""
    said, words = str(word).lower(), list(known)
    begun = [one for one in words if said and one.lower().startswith(said)]
    close = difflib.get_close_matches(str(word), words, count, 0.5)
    return tuple(dict.fromkeys([*begun, *close]))[:count]


def or_list(words: Iterable[object]) -> str:
    """Words in backticks, joined by commas and a last `or`."""
    quoted = [f"`{word}`" for word in words]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)


def brief(value: object) -> str:
    """A value in a message: its repr, or its kind where that would fill the screen."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"an array {dtype}{list(shape)}"
    text = repr(value)
    return text if len(text) <= 200 else f"an object of type {type(value).__name__}"


MOST_LISTED = 40  # accepted words that a message has room for


class PallasDebugError(Exception):
    """Base of all errors of pallas_debug.

    A subclass sets the stable `code` and the templates `what` and `hint`, which are
    filled from keyword data.

    Attributes:
      code: Stable code; never reused.
      message: The filled template: what happened.
      next_step: The filled hint: what to do next; may be empty.
      loc: Where in the user's kernel, if known.
      data: The keywords that filled the templates.
    """

    code: ClassVar[str] = "PD900"
    what: ClassVar[str] = "{what}"
    hint: ClassVar[str] = ""

    def __init__(self, *, loc: Location | None = None, **data: Any) -> None:
        self.loc = loc
        self.data = data
        self.message = self.what.format(**data)
        self.next_step = self.hint.format(**data)
        super().__init__(self.message)

    def __str__(self) -> str:
        # Python and IPython print the class name themselves.
        return f"[{self.code}] {self._body()}"

    def render(self) -> str:
        """The whole message as the terminal shows it, without a traceback."""
        return f"{type(self).__name__} [{self.code}]: {self._body()}"

    def _body(self) -> str:
        lines = [self.message]
        if self.loc is not None and self.loc.file:
            place = f"{self.loc.function}, " if self.loc.function else ""
            where = f"  in {place}{self.loc.file}:{self.loc.line}"
            text = self.loc.text.strip().splitlines()
            lines.append(f"{where}:   {text[0]}" if text else where)
        if self.next_step:
            lines.append(f"  try: {self.next_step}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default form would call the class with the message as positional argument.
        return _rebuilt, (type(self), self.loc, self.data)


def _rebuilt(
    kind: type[PallasDebugError], loc: Location | None, data: dict[str, Any]
) -> PallasDebugError:
    """Restores a pickled error without running a leaf's own constructor."""
    error = kind.__new__(kind)
    PallasDebugError.__init__(error, loc=loc, **data)
    return error


class UnsupportedOp(PallasDebugError):
    """The machine has no meaning for an op of the kernel. Data: `op`."""

    code = "PD901"
    what = "no rule for `{op}`"
    hint = (
        'add one with @pallas_debug.extend.rule("{op}"), '
        'or trace with unsupported="stub"'
    )


class UnsupportedForm(UnsupportedOp):
    """The machine knows an op, but not this use of it. Data: `op`, `form`, `way`."""

    code = "PD906"
    what = "`{op}` is not supported with {form}"
    hint = "{way}"


class OpFailed(PallasDebugError):
    """The machine's meaning of an op raised. Data: `op`, `error`."""

    code = "PD905"
    what = "`{op}` raised {error}"
    hint = "report it with the kernel: this is a fault of pallas_debug"


class Truncated(PallasDebugError):
    """A recording reached a limit. Data: `limit`, `value`; also a finding's template."""

    code = "PD902"
    what = (
        "the recording stopped at the limit `{limit}={value}`; what follows is unknown"
    )
    hint = "raise `{limit}`, or record fewer grid points with `blocks=`"


class CheckCrashed(PallasDebugError):
    """A check or view raised. Data: `name`, `error`; mostly a finding's template."""

    code = "PD999"
    what = "`{name}` raised {error}; the other checks ran"
    hint = "report it with the saved trace: trace.save(path)"


class BadOption(PallasDebugError, ValueError):
    """A wrong argument.

    Data: `option`, `value`, `accepted` (a tuple of values, or a phrase).
    """

    code = "PD910"
    what = "`{option}` got {value}; accepted: {choices}"
    hint = "{suggestion}"

    def __init__(
        self,
        *,
        option: str,
        value: object,
        accepted: Iterable[object] | str,
        loc: Location | None = None,
    ) -> None:
        words = () if isinstance(accepted, str) else tuple(map(str, accepted))
        close = nearest(value, words)
        named = f"one of {len(words)}, such as {or_list(words[:3])}"
        super().__init__(
            loc=loc,
            option=option,
            value=brief(value),
            choices=accepted
            if isinstance(accepted, str)
            else (or_list(words) if len(words) <= MOST_LISTED else named),
            suggestion=or_list(close) if close else "",
        )


class NoSuchEvent(PallasDebugError, IndexError):
    """A trace has no such event. Data: `event`, `count`."""

    code = "PD914"
    what = "there is no event {event}: the trace has {count}"
    hint = "a number from 0 (or from the end, -1), and for a prefix `trace[:n]`"


class BadChoice(PallasDebugError, ValueError):
    """A policy chose a thread that cannot run. Data: `policy`, `choice`, `enabled`."""

    code = "PD911"
    what = "the policy `{policy}` chose {choice}; the threads that can run: {enabled}"
    hint = "a policy returns one of the numbers in its first argument"


class UnknownEntry(PallasDebugError, KeyError):
    """A registry has no such key. Data: `noun`, `key`, `known`."""

    code = "PD912"
    what = "there is no {noun} `{key}`"
    hint = "{suggestion}"

    def __init__(
        self,
        *,
        noun: str,
        key: str,
        known: Iterable[str],
        loc: Location | None = None,
    ) -> None:
        words = tuple(known)
        close = nearest(key, words) or words[:3]
        super().__init__(
            loc=loc, noun=noun, key=key, suggestion=or_list(close) if close else ""
        )

    __str__ = PallasDebugError.__str__  # KeyError would show the repr of the message


class DuplicateEntry(PallasDebugError, ValueError):
    """Two registrants want one key. Data: `noun`, `key`, `first`, `second`."""

    code = "PD913"
    what = "{noun} `{key}` is registered twice: by {first} and by {second}"
    hint = "choose another key, or remove one of the two"


class BadTraceFile(PallasDebugError, ValueError):
    """A file that cannot be read as a trace. Data: `path`, `reason`."""

    code = "PD920"
    what = "cannot read `{path}`: {reason}"
    hint = "record again and save with trace.save(path)"


class NotATrace(BadTraceFile):
    """The file is of another kind. Data: `path`, `reason`."""

    code = "PD921"
    what = "`{path}` is not a trace of pallas_debug: {reason}"
    hint = "pass a file written by trace.save(path)"


class TraceCutShort(BadTraceFile):
    """The file ends early. Data: `path`, `size`, `expected` (both in bytes)."""

    code = "PD922"
    what = "`{path}` is cut short: {size} of {expected} bytes"
    hint = "copy the file again, or record again and save with trace.save(path)"


class NewerFormat(BadTraceFile):
    """The file is of a later format. Data: `path`, `format`, `known`."""

    code = "PD923"
    what = "`{path}` has format {format}; this version reads up to {known}"
    hint = "pip install --upgrade pallas-debug"


class ChangedBytes(BadTraceFile):
    """Bytes of the file differ from those that were written. Data: `path`."""

    code = "PD925"
    what = "`{path}` is damaged: its arrays do not match the file's checksum"
    hint = "copy the file again, or record again and save with trace.save(path)"


class BadBaseline(PallasDebugError, ValueError):
    """A file that cannot be read as a baseline. Data: `path`, `reason`."""

    code = "PD924"
    what = "cannot read the baseline `{path}`: {reason}"
    hint = "write one with `pallas-debug check --write-baseline PATH …`"


class CaptureError(PallasDebugError):
    """A function or kernel could not be turned into a launch. Data: `what`."""

    code = "PD930"
    what = "cannot capture: {what}"
    hint = "run the function under plain JAX first to see whether it traces there"


class KernelInside(CaptureError):
    """A kernel in a primitive that only JAX can evaluate. Data: `primitive`."""

    code = "PD935"
    what = "cannot capture: a kernel inside `{primitive}`"
    hint = (
        "record it while JAX runs it: `with pallas_debug.recording() as rec: f(x)`, and "
        "look at `rec.trace`; in a notebook `%%pallas_debug` does that"
    )


class NoLaunch(PallasDebugError):
    """The function or the recording ran no kernel. Data: `function`."""

    code = "PD931"
    what = "`{function}` ran no Pallas kernel"
    hint = (
        "call the function that launches `pl.pallas_call`, `plgpu.kernel` or "
        "`pl.kernel` inside; a result cached by jit launches nothing"
    )


class ReentrantRecording(PallasDebugError):
    """A cell asked to be recorded while another one is."""

    code = "PD932"
    what = (
        "a cell is already being recorded, and its trace will have this one's launches"
    )
    hint = "leave `%%pallas_debug` out here, or use `pldb.recording()`, which nests"


class KernelRaised(PallasDebugError):
    """The user's Python raised while the kernel was traced. Data: `name`, `error`."""

    code = "PD933"
    what = "`{name}` raised while JAX traced it: {error}"
    hint = "the error is the kernel's own; the traceback above shows the line"


class RefusedGrid(PallasDebugError, AssertionError):
    """JAX stopped at a grid while it traced a launch. Data: `sizes`.

    It has the code of the check that says it of launches that can be recorded.
    """

    code = "PD302"
    what = (
        "JAX refuses the grid ({sizes}): each size must be a Python integer; it stops "
        "there with an AssertionError without a message"
    )
    hint = (
        "make the size static (`static_argnums` of jit, or `int(n)` outside of it), or "
        "launch the largest grid and guard the body with `pl.when`"
    )


class WorkerFailed(PallasDebugError):
    """A worker of an executor gave no piece. Data: `name`, `reason`."""

    code = "PD934"
    what = "a worker recorded no piece of `{name}`: {reason}"
    hint = (
        "a process pool pickles the function and its arguments: give a function that a "
        "module defines (not a lambda, nor one of a notebook cell), and make the pool "
        'under `if __name__ == "__main__":`; or record in this process: '
        "`pallas_debug.trace(f, x)`"
    )


class NotInstalled(PallasDebugError, ImportError):
    """An optional dependency is missing. Data: `package`, `purpose`, `extra`."""

    code = "PD940"
    what = "{purpose} needs `{package}`, which is not installed"
    hint = "pip install 'pallas-debug[{extra}]'"


class ViewerNotBuilt(PallasDebugError):
    """A script of the viewer is missing. Data: `file`."""

    code = "PD941"
    what = "the viewer's script `{file}` is missing from this installation"
    hint = "in a checkout: cd js_widgets && npm ci && npm run build"


class NoHost(PallasDebugError):
    """A viewer without a kernel was asked for what only a kernel knows. Data: `request`."""

    code = "PD942"
    what = "`{request}` needs a live session, and this viewer shows a recording only"
    hint = "open it with pallas_debug.debug(fn, *args)"


class NoSource(PallasDebugError):
    """A launch that came from a file cannot be executed. Data: `name`."""

    code = "PD950"
    what = "`{name}` came from a file, so its variables cannot be computed again"
    hint = "session.attach(fn, *args) with the function that was recorded"


class OtherKernel(PallasDebugError, ValueError):
    """What is to be attached does something else. Data: `name`, `reason`."""

    code = "PD951"
    what = "`{name}` cannot be attached: {reason}"
    hint = "attach the function, and the arguments, that the trace was recorded with"


class ExpressionFailed(PallasDebugError):
    """A condition of a breakpoint raised. Data: `expression`, `error`, `event`."""

    code = "PD952"
    what = "`{expression}` raised {error} at event {event}"
    hint = "an expression over the variables of the thread, and `np`: `acc.max() > 3`"


class OtherReplay(PallasDebugError):
    """A launch that is executed again differs from its record. Data: `name`."""

    code = "PD953"
    what = "`{name}` does not come out as it was recorded when it is executed again"
    hint = (
        "open the session with the options of the recording: Session(trace, options=…)"
    )


class RequestFailed(PallasDebugError):
    """A viewer's request met a fault. Data: `kind`, `error`."""

    code = "PD954"
    what = "the request `{kind}` failed: {error}"
    hint = "report it with the saved trace: trace.save(path)"
