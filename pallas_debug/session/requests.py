"""What a viewer may ask of a live session, and the answers.

The host of `views.host`: plain data, with bytes where an answer is large. Requests come
on whatever thread; one is answered at a time. Only errors with a message for the user
are raised, and `answer` raises none at all.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import whole
from pallas_debug.session.breakpoints import Breakpoint
from pallas_debug.session.continuing import Continuing
from pallas_debug.session.diversion import Diversion
from pallas_debug.session.held import held
from pallas_debug.session.session import Session
from pallas_debug.session.variables import Variables, text_of
from pallas_debug.trace import fold
from pallas_debug.views.bundle import LIVE_VALUES
from pallas_debug.views.parts import Sender

Answer = Mapping[str, Any] | tuple[Mapping[str, Any], list[bytes]]
Arguments = Mapping[str, Any]


class Requests:
    """Answers requests over a session.

    Attributes:
      session: Of the recording; those of other runs are opened when they are asked for.
      announce: Told of a new run, its number and its label.
      tell: Told what else a page should hear without having asked.
      follow: The session's listener that moves this page.
      recording: Records on where the recording was cut.
    """

    def __init__(
        self,
        session: Session,
        announce: Callable[[int, str], None] | None = None,
        *,
        title: str = "",
        values_bytes: int = LIVE_VALUES,
    ) -> None:
        self.session = session
        self.announce = announce
        self.tell: Callable[[Arguments], None] = lambda message: None
        self.follow: Callable[[], None] | None = None
        self._title = title
        self._sender = Sender(values_bytes=values_bytes)
        self._lock = threading.RLock()
        self.recording = Continuing(session, self._lock, lambda said: self.tell(said))
        self._opened: dict[int, Session] = {}
        self._asked: dict[int, tuple[int, int]] = {}  # cursors: before, and now
        self._kinds: dict[str, Callable[[Arguments], Answer]] = {
            "bundle": self._bundle,
            "memory": self._memory,
            "payload": self._payload,
            "variables": self._variables,
            "evaluate": self._evaluate,
            "continue": self._continue,
            "origin": self._origin,
            "divert": self._divert,
            "interleave": self._interleave,
            "replay": self._replay,
            "more": self._more,
            "state": self._state,
        }

    def request(self, kind: str, arguments: Arguments) -> Answer:
        """The answer to one request.

        Raises:
          PallasDebugError: The request cannot be answered; its message says why.
        """
        if kind not in self._kinds:
            raise errors.BadOption(
                option="type", value=kind, accepted=tuple(self._kinds)
            )
        with self._lock:
            try:
                return self._kinds[kind](arguments)
            except errors.PallasDebugError:
                raise
            except KeyboardInterrupt:
                raise errors.RequestFailed(kind=kind, error="interrupted") from None
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                raise errors.RequestFailed(kind=kind, error=said) from error

    def answer(self, message: Arguments) -> tuple[dict[str, Any], list[bytes]]:
        """The whole answer to a message `{id, type, …}`; never raises."""
        arguments = dict(message)
        number, kind = arguments.pop("id", None), str(arguments.pop("type", ""))
        try:
            found = self.request(kind, arguments)
        except errors.PallasDebugError as error:
            said = f"{error.message}\n{error.next_step}".strip()
            return {"id": number, "ok": False, "error": said, "code": error.code}, []
        data, parts = found if isinstance(found, tuple) else (found, [])
        return {**data, "id": number, "ok": True}, parts

    def _of(self, arguments: Arguments) -> Session:
        """The session of the run that a request is about."""
        run = int(arguments.get("run", 0))
        if run == 0:
            return self.session
        if run not in self._opened:
            self._opened[run] = self.session.open(run)
        return self._opened[run]

    def _bundle(self, arguments: Arguments) -> Answer:
        session, run = self._of(arguments), int(arguments.get("run", 0))
        label = self.session.runs[run - 1].label if run else ""
        facts, data = self._sender.bundle(
            session.trace,
            session.judged(),
            run=run,
            title=label or self._title,
            have=int(arguments.get("have", 0)),
        )
        return {**facts, "run": run, "label": label, "live": True}, [data]

    def _more(self, arguments: Arguments) -> Answer:
        """Records on, or stops doing so; the page hears of it when it has ended."""
        if arguments.get("stop"):
            self.recording.stop()
        else:
            self.recording.start(arguments.get("events"))
        return {"recording": self.recording.is_running}

    def _memory(self, arguments: Arguments) -> Answer:
        session = self._of(arguments)
        trace = session.trace
        buffer = fold.buffer_number(trace, arguments["buffer"])
        at = _cursor(arguments, trace)
        memory = held(trace, session.replaying, buffer, at)
        data = {
            "buffer": buffer,
            "at": at,
            "shape": list(memory.values.shape),
            "dtype": trace.buffer_rows[buffer].dtype,
            "parts": ["values", "initialized", "recorded"],
        }
        return data, [_bytes(part) for part in memory]

    def _payload(self, arguments: Arguments) -> Answer:
        trace, number = self._of(arguments).trace, int(arguments["number"])
        if not 0 <= number < len(trace.payloads):
            accepted = f"0 … {len(trace.payloads) - 1}"
            raise errors.BadOption(option="number", value=number, accepted=accepted)
        value = trace.payload(number)
        data = {"shape": list(value.shape), "dtype": value.dtype.name}
        return data, [_bytes(value)]

    def _variables(self, arguments: Arguments) -> Answer:
        session = self._of(arguments)
        at = _cursor(arguments, session.trace)
        thread = int(arguments.get("thread", session.looking_at.thread))
        run = int(arguments.get("run", 0))
        before, here = self._asked.get(run, (0, 0))
        if here != at:
            before = self._asked.setdefault(run, (0, 0))[1]
            self._asked[run] = (before, at)
        found = session.variables(thread, at) if thread >= 0 else Variables({})
        if before:
            found = found.marked(session.variables(thread, before))
        return {"variables": _listed(found)}

    def _evaluate(self, arguments: Arguments) -> Answer:
        session = self._of(arguments)
        thread = arguments.get("thread")
        value = session.evaluate(
            str(arguments["expression"]),
            thread=None if thread is None else int(thread),
            at=_cursor(arguments, session.trace),
        )
        array = value if isinstance(value, np.ndarray | np.generic) else None
        return {
            "text": text_of(value) if array is not None else repr(value),
            "shape": list(np.shape(array)) if array is not None else [],
            "dtype": "" if array is None else array.dtype.name,
        }

    def _continue(self, arguments: Arguments) -> Answer:
        session = self._of(arguments)
        given = [Breakpoint.from_json(one) for one in arguments.get("breakpoints", ())]
        backwards = arguments.get("direction", "forward") in ("back", "backward", -1)
        cursor = _cursor(arguments, session.trace)
        hit = session.hit(cursor, given, backwards=backwards)
        if hit is None:
            edge = 0 if backwards else len(session.trace)
            return {"cursor": edge, "breakpoint": None}
        return {"cursor": hit.event + 1, "breakpoint": hit.breakpoint.id}

    def _origin(self, arguments: Arguments) -> Answer:
        session = self._of(arguments)
        found = session.origin(arguments.get("name", arguments.get("event")))
        return {**found.to_json(), "text": str(found)}

    def _divert(self, arguments: Arguments) -> Answer:
        if int(arguments.get("run", 0)):
            accepted = "0: what-if runs begin at the recording"
            raise errors.BadOption(
                option="run", value=arguments["run"], accepted=accepted
            )
        name = arguments.get("name", arguments.get("buffer"))
        element = arguments.get("element")
        thread = arguments.get("thread")
        return self._announced(
            self.session.divert(
                name,
                _number(arguments["value"]),
                at=arguments.get("at"),
                part=None if element is None else [int(i) for i in element],
                thread=None if thread is None else int(thread),
            )
        )

    def _interleave(self, arguments: Arguments) -> Answer:
        return self._announced(self.session.interleave(int(arguments["seed"])))

    def _replay(self, arguments: Arguments) -> Answer:
        return self._announced(self.session.replay(int(arguments["finding"])))

    def _announced(self, made: Diversion) -> Answer:
        if self.announce is not None:
            self.announce(made.number, made.label)
        return {
            "run": made.number,
            "label": made.label,
            "cursor": made.cursor,
            "outcome": made.outcome,
        }

    def _state(self, arguments: Arguments) -> Answer:
        """The page has moved; the session follows."""
        state = arguments.get("view_state", {})
        session = self._of(state)
        if "breakpoints" in state:
            session.breakpoints[:] = [
                Breakpoint.from_json(one) for one in state["breakpoints"]
            ]
        if "cursor" in state:
            session.follow(_cursor({"at": state["cursor"]}, session.trace), self.follow)
        names = {"thread", "block", "buffer", "launch"} & set(state)
        known = {name: int(state[name]) for name in names if state[name] is not None}
        session.looking_at = replace(session.looking_at, **known)
        return {"cursor": session.cursor}


def _cursor(arguments: Arguments, trace: Any) -> int:
    """The cursor that a request is about."""
    at = arguments.get("at", arguments.get("cursor", len(trace)))
    return whole("at", at, f"a cursor: 0 … {len(trace)}", low=0, high=len(trace))


def _number(value: Any) -> Any:
    """A value as a page sends it: a number, a list, or the text of one."""
    if not isinstance(value, str):
        return np.asarray(value)
    try:
        return np.asarray(ast.literal_eval(value.strip()))
    except (SyntaxError, ValueError):
        pass
    try:
        return np.asarray(float(value))  # nan, inf
    except ValueError:
        raise errors.BadOption(
            option="value", value=value, accepted="a number, or a list of numbers"
        ) from None


def _listed(found: Variables) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "text": one.text,
            "shape": list(one.shape),
            "dtype": one.dtype,
            "changed": one.changed,
            "buffer": one.buffer,
        }
        for one in found.variables.values()
    ]


def _bytes(array: np.ndarray) -> bytes:
    """Little-endian, row-major."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
