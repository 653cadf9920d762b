"""Control flow of a tape: what follows what, where runs begin, which registers live.

The compiler, the validator and the stepping session ask the same questions; here they
are answered once, from the tape alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pallas_debug.ir.tape import Instr, Tape

CONTROL = ("ir.jump", "ir.branch", "ir.return", "grid.next")
ENDS = ("ir.jump", "ir.branch", "ir.return")


def successors(tape: Tape, position: int) -> tuple[int, ...]:
    """Positions where the thread may go on after an instruction."""
    instr = tape[position]
    follow = instr.targets if instr.op in CONTROL else ()
    return follow if instr.op in ENDS else (*follow, position + 1)


def agent_entries(tape: Tape) -> dict[int, Instr]:
    """Where asynchronous operations begin, and the instruction that starts each."""
    return {
        target: instr
        for instr in tape
        if instr.op not in CONTROL
        for target in instr.targets
    }


def reachable(tape: Tape, entry: int) -> set[int]:
    """Positions that a thread which starts at `entry` may come to."""
    found, todo = {entry}, [entry]
    while todo:
        for position in successors(tape, todo.pop()):
            if position not in found and position < len(tape):
                found.add(position)
                todo.append(position)
    return found


def may_switch(tape: Tape, position: int) -> bool:
    """Whether a scheduler may switch threads before an instruction.

    It may where the thread synchronizes, and where it has just done so: what it signalled
    or started may come first.
    """
    if tape[position].sync:
        return True
    before = tape[position - 1] if position else None
    return before is not None and before.sync and before.op not in CONTROL


def leaders(
    tape: Tape,
    *,
    entry: int = 0,
    single: bool = False,
    begins: Callable[[Tape, int], bool] = may_switch,
) -> list[int]:
    """Tape positions at which a segment begins, sorted.

    Beside jump targets these are the positions of which `begins` says so; by default
    those before which a scheduler may switch threads.
    """
    if single:
        return list(range(len(tape)))
    found = {0, entry}
    for position, instr in enumerate(tape):
        found.update(instr.targets)
        if begins(tape, position):
            found.add(position)
        if instr.op in CONTROL:
            found.add(position + 1)
    return sorted(p for p in found if p < len(tape))


def live_at_leaders(tape: Tape, starts: Sequence[int]) -> dict[int, set[int]]:
    """Registers whose value is needed at each leader (backwards data flow)."""
    ends = dict(zip(starts, [*starts[1:], len(tape)], strict=True))
    use: dict[int, set[int]] = {}
    define: dict[int, set[int]] = {}
    follow: dict[int, list[int]] = {}
    for start in starts:
        use[start], define[start] = used_and_defined(tape[start : ends[start]])
        after = successors(tape, ends[start] - 1)
        follow[start] = [n for n in after if n < len(tape)]
    live = {s: set(use[s]) for s in starts}
    changed = True
    while changed:
        changed = False
        for start in reversed(starts):
            out = set().union(*(live[n] for n in follow[start]))
            new = use[start] | (out - define[start])
            if new != live[start]:
                live[start], changed = new, True
    return live


def used_and_defined(instrs: Sequence[Instr]) -> tuple[set[int], set[int]]:
    """Registers that a straight run needs from before it, and those that it sets."""
    used, defined = set[int](), set[int]()
    for instr in instrs:
        used.update(r for r in instr.reads() if r not in defined)
        # The coordinates are set only where there is a next grid point.
        if instr.op != "grid.next":
            defined.update(instr.outs)
    return used, defined
