"""The verbs a rule may use. Each acts on the state and emits its own event.

The set is closed; rules are open. A rule sees values, targets and these verbs, never
the trace, a clock or a check. A rule waits before it acts: then "blocked" means that
nothing has happened.
"""

from __future__ import annotations

from pallas_debug.machine.accesses import NO_DATA as NO_DATA
from pallas_debug.machine.agents import Agents
from pallas_debug.machine.places import Target as Target
from pallas_debug.machine.windows import Windows


class Step(Windows, Agents):
    """The machine as one instruction of one thread sees it: all verbs together."""

    __slots__ = ()
