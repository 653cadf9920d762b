"""What feeds what on a tape: the instructions that an instruction's values come from.

Flow-insensitive: a register has all the definitions that its routine gives it, which
is exact but for the moves of loops. Main program and agents have registers of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.ir import flow

SELECT = "lax.select_n"
SHAPING = frozenset(
    f"lax.{name}"
    for name in [
        "convert_element_type",
        "reshape",
        "broadcast_in_dim",
        "transpose",
        "squeeze",
        "slice",
        "expand_dims",
        "bitcast_convert_type",
    ]
)


class TapeFlow:
    """Definitions of the registers of one kernel, by routine."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.tape = kernel.tape
        entries = [kernel.entry, *flow.agent_entries(self.tape)]
        self._routine: dict[int, int] = {}
        self._definers: dict[tuple[int, int], list[int]] = {}
        for entry in entries:
            for position in sorted(flow.reachable(self.tape, entry)):
                self._routine.setdefault(position, entry)
                for register in self.tape[position].outs:
                    self._definers.setdefault((entry, register), []).append(position)
        self._sources: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def definers(self, position: int, register: int) -> tuple[int, ...]:
        """Where the routine of `position` sets a register."""
        routine = self._routine.get(position, -1)
        return tuple(self._definers.get((routine, register), ()))

    def sources(self, position: int) -> tuple[int, ...]:
        """Instructions with references whose results reach the values of `position`."""
        return self._closure(position)[0]

    def arithmetic(self, position: int) -> tuple[int, ...]:
        """Pure instructions whose results reach the values of `position`."""
        return self._closure(position)[1]

    def is_only_selected(self, position: int) -> bool:
        """Whether the results of an instruction are used by nothing but selects.

        As what a select may choose, not as what it decides by; through changes of shape
        and dtype.
        """
        todo = [(position, register) for register in self.tape[position].outs]
        seen = set(todo)
        chosen = False
        while todo:
            at, register = todo.pop()
            for user in self._users(at, register):
                instr = self.tape[user]
                if instr.op == SELECT and _index(instr, register) > 0:
                    chosen = True
                elif instr.op not in SHAPING or len(instr.outs) != 1:
                    return False
                elif (user, instr.outs[0]) not in seen:
                    seen.add((user, instr.outs[0]))
                    todo.append((user, instr.outs[0]))
        return chosen

    def _users(self, position: int, register: int) -> Iterator[int]:
        routine = self._routine.get(position, -1)
        for user, instr in enumerate(self.tape):
            if self._routine.get(user, -1) == routine and register in instr.reads():
                yield user

    def _closure(self, position: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        found = self._sources.get(position)
        if found is None:
            seen: set[int] = set()
            todo = list(self._before(position))
            while todo:
                one = todo.pop()
                if one in seen:
                    continue
                seen.add(one)
                if not self.tape[one].accesses:
                    todo.extend(self._before(one))
            reads = tuple(sorted(p for p in seen if self.tape[p].accesses))
            pure = tuple(sorted(p for p in seen if not self.tape[p].accesses))
            found = self._sources[position] = reads, pure
        return found

    def _before(self, position: int) -> Iterator[int]:
        """Definitions of the value operands of an instruction."""
        for operand in self.tape[position].ins:
            if isinstance(operand, ir.Reg):
                yield from self.definers(position, operand.number)


def _index(instr: ir.Instr, register: int) -> int:
    """The first place of a register among the operands, -1 if it is none of them."""
    for place, operand in enumerate(instr.ins):
        if isinstance(operand, ir.Reg) and operand.number == register:
            return place
    return -1


def tapeflow(caches: dict[str, object], kernel: ir.Kernel) -> TapeFlow:
    """The flow of a kernel, kept with a trace's derived facts."""
    kept = caches.setdefault("tapeflow", {})
    assert isinstance(kept, dict)
    found = kept.get(id(kernel))  # pyright: ignore[reportUnknownMemberType]
    if not isinstance(found, TapeFlow):
        found = TapeFlow(kernel)
        kept[id(kernel)] = found
    return found
