"""The user's functions around an equation, as scopes of the tape.

JAX traces a helper function inline, so a jaxpr has no call. The frames of an equation's
traceback say which functions it stands in; those that several equations in a row share
are one call. Emits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from pallas_debug.ir.loc import Loc
from pallas_debug.jaxlink.locations import Frame, is_earlier

if TYPE_CHECKING:
    from pallas_debug.jaxlink.lowering import Lowering

FUNCTION = "function"  # the kind of these scopes


class Call(NamedTuple):
    """A call that is open.

    Attributes:
      site: The line that made it.
      callee: What was called, at the equation met last.
      scope: Its scope.
    """

    site: Loc
    callee: Frame
    scope: int


class Calls:
    """The calls that are open within one jaxpr, the outermost first."""

    def __init__(self, scope: int) -> None:
        self.scope = scope
        self._open: list[Call] = []

    def scope_of(self, frames: Sequence[Frame], lw: Lowering) -> int:
        """The scope of an equation with these frames; opens and leaves calls.

        An equation without frames is JAX's own: it belongs to no call and ends none.
        """
        if not frames:
            return self.scope
        outermost = frames[::-1]
        for depth, (caller, callee) in enumerate(pairwise(outermost)):
            if depth < len(self._open):
                call = self._open[depth]
                if _goes_on(call, caller, callee):
                    self._open[depth] = call._replace(callee=callee)
                    continue
                del self._open[depth:]
            parent = self._open[-1].scope if self._open else self.scope
            name, site = callee.loc.function, caller.loc
            scope = lw.open(FUNCTION, name, parent, lw.add_loc(site))
            self._open.append(Call(site, callee, scope))
        del self._open[len(frames) - 1 :]
        return self._open[-1].scope if self._open else self.scope


def _goes_on(call: Call, caller: Frame, callee: Frame) -> bool:
    """Whether an equation is of an open call, not of one more on the same line."""
    same = call.site == caller.loc and call.callee.code is callee.code
    return same and not is_earlier(callee, call.callee)
