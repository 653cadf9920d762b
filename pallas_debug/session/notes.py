"""What probes note while a launch runs: the first odd result of each kind, and counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir, machine
from pallas_debug.trace.arithmetic import DRIFT, Oddity

MOST_NANS = 100_000
ELEMENTWISE = frozenset(
    f"lax.{name}"
    for name in [
        "add",
        "sub",
        "mul",
        "div",
        "max",
        "min",
        "exp",
        "exp2",
        "log",
        "log2",
        "log1p",
        "expm1",
        "sqrt",
        "rsqrt",
        "cbrt",
        "pow",
        "tanh",
        "sin",
        "cos",
        "tan",
        "logistic",
        "neg",
        "abs",
        "square",
        "integer_pow",
        "convert_element_type",
        "rem",
        "atan2",
        "reciprocal",
        "erf",
        "sign",
    ]
)


class Sum(NamedTuple):
    """A running sum as it is kept, and what the same terms give in float64."""

    kept: np.ndarray
    exact: np.ndarray
    terms: np.ndarray  # magnitudes, added up
    turns: int


class Notes:
    """What the probes of one launch have noted."""

    def __init__(self, launch: int, thread: int, event: int) -> None:
        self.launch = launch
        self.first_thread = thread
        self.first_event = event
        self.oddities: dict[tuple[str, int], Oddity] = {}
        self.nans: dict[tuple[int, int, int, int], int] = {}
        self.turns: dict[tuple[int, int, int], int] = {}
        self.sums: dict[tuple[int, int], Sum] = {}
        self.serial = 0
        self._run: machine.Run | None = None

    def follow(self, run: machine.Run) -> None:
        """Says which run the probes belong to."""
        self._run = run

    def where(self) -> tuple[int, int, int]:
        """Thread, block and next event of the recording."""
        run = self._run
        assert run is not None, "probes run inside a run"
        events = self.first_event + run.writer.events
        return self.first_thread + run.m.tid, run.m.bid, events

    def turn(self, position: int) -> int:
        """How often this thread has executed an instruction in this block."""
        thread, block, _ = self.where()
        key = (position, thread, block)
        count = self.turns.get(key, 0)
        self.turns[key] = count + 1
        return count

    def nan(self, position: int) -> None:
        """Notes when an instruction first gave NaN."""
        thread, block, _ = self.where()
        key = (self.launch, position, thread, block)
        if key not in self.nans and len(self.nans) < MOST_NANS:
            self.serial += 1
            self.nans[key] = self.serial

    def odd(
        self,
        kind: str,
        site: tuple[int, ir.Instr],
        which: np.ndarray,
        values: tuple[Any, tuple[Any, ...]],
        turn: int,
    ) -> None:
        """Notes elements of a result; the first of them with its operands."""
        elements = int(np.count_nonzero(which))
        found = self.oddities.get((kind, site[0]))
        if found is not None:
            found.count += 1
            found.elements += elements
            return
        self._note(kind, site, which, values, turn)

    def _note(
        self,
        kind: str,
        site: tuple[int, ir.Instr],
        which: np.ndarray,
        values: tuple[Any, tuple[Any, ...]],
        turn: int,
    ) -> Oddity:
        """The first one of its kind, of its instruction."""
        position, instr = site
        thread, block, event = self.where()
        result, operands = values
        hits = np.argwhere(which) if np.ndim(which) else np.zeros((1, 0), int)
        index = tuple(hits[0].tolist())
        ends = zip(hits.min(axis=0).tolist(), hits.max(axis=0).tolist(), strict=True)
        self.serial += 1
        noted = self.oddities[kind, position] = Oddity(
            kind=kind,
            launch=self.launch,
            instr=position,
            op=instr.op,
            thread=thread,
            block=block,
            event=event,
            serial=self.serial,
            turn=turn,
            index=index,
            operands=tuple(_at(instr, v, result, index) for v in operands),
            result=_plain(np.asarray(result)[index]),
            dtype=np.asarray(result).dtype.name,
            box=tuple((low, high + 1) for low, high in ends),
            elements=int(np.count_nonzero(which)),
        )
        return noted

    def added(
        self,
        site: tuple[int, ir.Instr],
        kept: np.ndarray,
        operands: tuple[Any, ...],
        running: int,
        turn: int,
    ) -> None:
        """Follows a running sum, and notes its greatest drift.

        It goes on if the term that is the sum so far is what was kept last; one that
        was scaled meanwhile begins anew.
        """
        key = site[0], self.where()[0]
        so_far, term, wide = (
            np.broadcast_to(np.asarray(value, np.float64), kept.shape)
            for value in (operands[running], operands[1 - running], kept)
        )
        old = self.sums.pop(key, None)
        if old is None or not np.array_equal(old.kept, so_far):
            old = Sum(so_far, so_far, np.abs(so_far), 0)
        exact, terms = old.exact + term, old.terms + np.abs(term)
        if not (np.isfinite(wide).all() and np.isfinite(exact).all()):
            return
        self.sums[key] = Sum(wide, exact, terms, old.turns + 1)
        lost = np.abs(exact - wide) / np.maximum(terms, np.finfo(np.float64).tiny)
        loss = float(np.sqrt(np.mean(np.square(lost)))) if lost.size else 0.0
        found = self.oddities.get((DRIFT, site[0]))
        if loss > (found.loss if found else 0.0):
            worst = np.asarray(lost == lost.max())
            noted = self._note(DRIFT, site, worst, (kept, (exact, terms)), turn)
            noted.count, noted.loss = old.turns + 1, loss


def _at(instr: ir.Instr, value: Any, result: Any, index: tuple[int, ...]) -> Any:
    """The operand's number behind an element of the result, None if there is no one."""
    if np.ndim(value) == 0:
        return _plain(value)
    if instr.op not in ELEMENTWISE:
        return None
    return _plain(np.broadcast_to(value, np.shape(result))[index])


def _plain(value: Any) -> Any:
    if np.asarray(value).dtype.kind in "iub":
        return int(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)
