"""The moments at which nothing is under way, and what must be the same at two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pallas_debug.machine import state as states
from pallas_debug.machine.step import Step

# What a core remembers of its grid points; a path's function keeps it up to date.
WINDOWS = ("window", "seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Such a moment.

    Attributes:
      rows, threads, buffers, choices, texts: Lengths of the writer's tables; `rows` in
        bytes.
      step: Instructions executed so far.
      same: What a block leaves as it found it, and goes its way by.
    """

    rows: int
    threads: int
    buffers: int
    choices: int
    texts: int
    step: int
    same: tuple[Any, ...]

    def follows(self, other: Rest) -> bool:
        """Whether the machine stands as it did there, and no text came."""
        return (self.same, self.texts) == (other.same, other.texts)


def rest(m: Step, core: states.Thread | None) -> Rest | None:
    """This moment, before a core's next grid point or the next block; None if busy."""
    state, writer = m.state, m.writer
    idle = not (state.ready or state.barriers or state.clusters)
    idle = idle and not any(state.joiners.values())
    idle = idle and len(state.threads) == (core is not None)
    if not idle or any(s.waiters for s in state.semaphores.values()):
        return None
    windows, own = set[int](), ()
    if core is not None:
        block, notes = core.block, dict[Any, Any]()
        if core.agents or block.shared or block.zombies or block.live != 1:
            return None
        for key, note in core.notes.items():
            if not (isinstance(key, tuple) and key[0] in WINDOWS):
                notes[key] = note
            elif key[0] == "window":
                windows.add(note.window)
        notes.pop("point", None)
        own = (notes, dict(core.closed), core.groups, dict(core.counters))
    place = m.root, m.device, -1 if core is None else core.number
    counts = {number: tuple(s.count) for number, s in state.semaphores.items()}
    buffers = frozenset(state.memory) - windows
    return Rest(
        rows=len(writer.log),
        threads=len(writer.threads),
        buffers=len(writer.buffers),
        choices=len(writer.choices),
        texts=len(writer.texts),
        step=state.step,
        same=(*place, counts, dict(state.shared), buffers, own),
    )
