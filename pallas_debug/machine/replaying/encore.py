"""A batch that an earlier run had at the same place: its rows are known, values are not.

What steady paths note follows from coordinates alone. So where a launch has come to
the same place in the same way as in another recording, the next blocks add the same
rows to every table, and only what they do to values is done again. Values are numbered
by what they are: if one turns out to have another number, the batch is stale, and the
launch is begun again without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug.machine.memory import BOX
from pallas_debug.machine.replaying.path import Functions, Path
from pallas_debug.machine.replaying.points import Point
from pallas_debug.machine.replaying.quiet import Quiet
from pallas_debug.machine.step import Step
from pallas_debug.trace.schema import ROW_BYTES, BufferRow, ThreadRow
from pallas_debug.trace.writer import TABLES

MOST_BEFORE = 1 << 16  # bytes of rows, and regions, that are compared
MOST_BYTES = 32 << 20  # that a program keeps, by estimate
A_CUE = 48  # bytes of one, and of each thing in it

# A path, whether its blocks are done together, and what each of them needs to know.
Part = tuple[Path, bool, Sequence[tuple[Any, ...]]]


class Failed(Exception):
    """A block was not as expected: what was written is worth nothing."""


class Stale(Failed):
    """Values have other numbers than they had: one is another one this time."""

    def __init__(self, encore: Encore) -> None:
        super().__init__()
        self.encore = encore


class Kept:
    """The batches of a program's runs.

    Attributes:
      batches: Those that may be repeated.
      unsteady: Paths of those that could not be.
    """

    def __init__(self) -> None:
        self.batches: list[Encore] = []
        self.unsteady: set[Path] = set()

    def add(self, encore: Encore) -> bool:
        """Keeps a batch; False if there is no room for it."""
        if sum(one.size for one in (*self.batches, encore)) > MOST_BYTES:
            if encore.place.after is not None:
                return False
            self.batches.clear()
        self.batches.append(encore)
        return True

    def refuse(self, encore: Encore) -> None:
        """Never repeats a batch of these paths again."""
        self.batches.clear()
        self.unsteady.update(path for path, _, _ in encore.parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """Where a launch is between two blocks, as far as rows can tell.

    Attributes:
      launch: Options, grid, chip and devices.
      after: The batch before.
      sizes: Of the writer's tables, and how far the machine is.
      rows, regions: What has come since that batch, or since the launch began.
    """

    launch: tuple[Any, ...]
    after: Encore | None
    sizes: tuple[Any, ...]
    rows: bytes
    regions: Sequence[tuple[int, ...]]

    def is_like(self, other: Place) -> bool:
        """Whether the same comes next, if paths are steady."""
        return (
            self.sizes == other.sizes
            and self.after is other.after
            and self.rows == other.rows
            and self.regions == other.regions
            and self.launch == other.launch
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encore:
    """A batch.

    Attributes:
      place: Where it began.
      registers: Those of the entry thread that its paths look at.
      parts: What computes its values.
      told: Numbers of the values, in their order.
      rows: What it added to the log.
      tables: What it added to regions, threads, buffers and choices.
      payloads: How many there are after it.
      step: How far the machine is then.
      last: The last block's point.
      going: Whether there may be more blocks.
    """

    place: Place
    registers: Mapping[int, Any]
    parts: Sequence[Part]
    told: Sequence[int]
    rows: bytes
    tables: tuple[list[Any], list[Any], list[Any], list[Any]]
    payloads: int
    step: int
    last: Point
    going: bool

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        cues = sum(len(cues) * (len(cues[0]) + 1) for _, _, cues in self.parts)
        return len(self.rows) * 2 + (cues + len(self.told)) * A_CUE

    def perform(self, m: Quiet, functions: Mapping[Path, Functions]) -> None:
        """Does the same, with the values of this run."""
        writer = m.writer
        regions, threads, buffers, choices = self.tables
        writer.log += self.rows
        writer.add_regions(regions)
        writer.threads += threads
        writer.buffers += buffers
        writer.choices += choices
        m.state.step = self.step
        owed, told = list[Any](), list[int]()

        def settle() -> None:
            told.extend(m.pays(owed))
            owed.clear()

        for path, together, cues in self.parts:
            its = functions[path]
            again = its.all_again if together else its.again
            try:
                done = again is not None and again(cues, owed, settle)
            except Exception as error:
                raise Failed from error
            if done != len(cues):
                raise Stale(self)
        settle()
        if told != self.told or len(writer.payloads) != self.payloads:
            raise Stale(self)


class Encores:
    """The batches of one run, and those of earlier ones that it may repeat.

    Attributes:
      kept: Those of the program.
      last: The batch before.
    """

    def __init__(self, m: Step, kept: Kept) -> None:
        self.m = m
        self.kept = kept
        self.last: Encore | None = None
        launch = m.launch
        devices = tuple(launch.axes.items()), tuple(launch.device.items())
        self._launch = (m.options, launch.grid, launch.chip, *devices)
        # Where the last batch ended: rows and regions.
        self._ended = (len(m.writer.log), 0)

    def place(self) -> Place | None:
        """Where the launch is; None if that is too much to compare, or says too little."""
        writer, state = self.m.writer, self.m.state
        rows, first = self._ended
        if max(len(writer.log) - rows, len(writer.regions) - first) > MOST_BEFORE:
            return None
        regions = writer.regions[first:]
        if any(row[0] != BOX for row in regions):  # a mask is no more than a number
            return None
        begun = self.m.point, state.step, state.next_cluster, state.dequeued
        return Place(
            launch=self._launch,
            after=self.last,
            sizes=(*writer.mark(), *begun),
            rows=bytes(writer.log[rows:]),
            regions=regions,
        )

    def find(
        self,
        place: Place,
        registers: Sequence[Any],
        paths: Mapping[Path, Any],
        room: int,
    ) -> Encore | None:
        """A batch of these paths that began in such a place."""
        for encore in self.kept.batches:
            if (
                place.is_like(encore.place)
                and len(encore.rows) < room * ROW_BYTES
                and all(path in paths for path, _, _ in encore.parts)
                and all(registers[n] == held for n, held in encore.registers.items())
            ):
                return encore
        return None

    def keep(
        self,
        place: Place,
        registers: Sequence[Any],
        parts: Sequence[Part],
        last: Point,
        going: bool,
    ) -> None:
        """Keeps a batch that began there, for other runs."""
        given = {n for path, _, _ in parts for n in path.given}
        if not all(type(registers[n]) is int for n in given):
            return  # more than buffers
        if any(path in self.kept.unsteady for path, _, _ in parts):
            return
        if any(
            isinstance(held, np.ndarray) for _, _, cues in parts for held in cues[0]
        ):
            return  # too much to keep
        parts, told = _told(parts)
        writer = self.m.writer
        sizes = dict(zip(TABLES, place.sizes, strict=False))
        encore = Encore(
            place=place,
            registers={n: registers[n] for n in given},
            parts=parts,
            told=told,
            rows=bytes(writer.log[sizes["log"] :]),
            tables=(
                writer.regions[sizes["regions"] :],
                [*map(ThreadRow._make, writer.threads[sizes["threads"] :])],
                [*map(BufferRow._make, writer.buffers[sizes["buffers"] :])],
                writer.choices[sizes["choices"] :],
            ),
            payloads=len(writer.payloads),
            step=self.m.state.step,
            last=last,
            going=going,
        )
        if self.kept.add(encore):
            self.ended(encore)

    def ended(self, encore: Encore) -> None:
        """A batch that is kept has ended here."""
        writer = self.m.writer
        self.last = encore
        self._ended = len(writer.log), len(writer.regions)


def _told(parts: Sequence[Part]) -> tuple[list[Part], list[int]]:
    """The same without the numbers of values, and those."""
    needed, told = list[Part](), list[int]()
    for path, together, cues in parts:
        needed.append((path, together, [cue[: path.known] for cue in cues]))
        told += [number for cue in cues for number in cue[path.known :]]
    return needed, told
