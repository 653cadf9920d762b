"""Devices of a mesh that reach a launch one by one, each in a thread of XLA's own.

A launch that reaches from one device to another runs on all of them at once: the first
to come wait, the last one runs it for all. Knows nothing of what a launch does.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import errors

PATIENCE = 60.0  # seconds until a device that does not come is given up

Arrays = list[np.ndarray]
RunAll = Callable[[Sequence[Any], Sequence[Arrays]], Sequence[Arrays]]


class OnMesh(NamedTuple):
    """How launches on several devices are taken.

    `launches` is called once for all devices of those that `together` picks.
    """

    launches: Callable[[Sequence[Any], Sequence[Arrays]], Sequence[Arrays]]
    together: Callable[[Any], bool]


class _Meeting:
    """Those that have come to one launch, and what each is to return."""

    def __init__(self) -> None:
        self.came: dict[tuple[int, ...], tuple[Any, Arrays]] = {}
        self.results: dict[tuple[int, ...], Arrays] = {}
        self.error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return bool(self.results) or self.error is not None


class Meetings:
    """The launches that devices wait at."""

    def __init__(self, on_mesh: OnMesh | None) -> None:
        self._on_mesh = on_mesh
        self._changed = threading.Condition()
        self._open: dict[int, _Meeting] = {}

    def wants(self, call: Any) -> bool:
        """Whether the devices of a launch have to come together."""
        if not call.axis_env or self._on_mesh is None:
            return False
        with self._changed, contextlib.suppress(errors.PallasDebugError):
            return self._on_mesh.together(call)
        return False  # what is wrong with it is said when it runs

    def join(self, call: Any, arrays: Arrays, run_all: RunAll) -> Arrays:
        """This device's results, once all devices have come.

        Raises:
          CaptureError: Not all of them came.
        """
        place, key = tuple(call.device.values()), id(call.params)
        with self._changed:
            meeting = self._open.setdefault(key, _Meeting())
            meeting.came[place] = call, arrays
            if len(meeting.came) == math.prod(call.axis_env.values()):
                del self._open[key]
                self._run(meeting, run_all)
            elif not self._changed.wait_for(lambda: meeting.is_over, PATIENCE):
                self._open.pop(key, None)
                meeting.error = _missing(call, len(meeting.came))
                self._changed.notify_all()
        if meeting.error is not None:
            raise meeting.error
        return meeting.results[place]

    def _run(self, meeting: _Meeting, run_all: RunAll) -> None:
        places = sorted(meeting.came)
        calls, arrays = zip(*(meeting.came[place] for place in places), strict=True)
        try:
            results = run_all(calls, arrays)
            meeting.results = dict(zip(places, results, strict=True))
        except BaseException as error:
            meeting.error = error
        self._changed.notify_all()


def _missing(call: Any, came: int) -> errors.CaptureError:
    count = math.prod(call.axis_env.values())
    what = f"a kernel on {count} devices that only {came} of them launch"
    return errors.CaptureError(what=what, loc=call.loc)
