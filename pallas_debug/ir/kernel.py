"""What the code says (`Kernel`) and everything needed to run it (`Launch`).

Plain frozen data without JAX and without a result of any run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from pallas_debug.ir.loc import Loc
from pallas_debug.ir.tape import Const, Scope, Tape

EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """A declared piece of memory.

    Attributes:
      name: The parameter's name in the user's kernel.
      space: `gmem smem tmem regs barrier` (Mosaic GPU), `hbm any vmem smem semaphore`
        (TPU), `any` for a generic kernel.
      shape: Logical shape (without tiling and swizzle).
      dtype: NumPy or ml_dtypes name; `barrier`, `cluster_barrier`, `semaphore`,
        `dma_semaphore`, `barrier_semaphore` for synchronization objects.
      scope: Who owns an instance: `launch`, `block` or `thread`.
      params: E.g. `num_arrivals`, `orders_tensor_core`, `transforms` (physical layout).
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str
    scope: str = "launch"
    params: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    loc: int = -1

    @property
    def is_sync(self) -> bool:
        """Whether this is a barrier or a semaphore."""
        return self.dtype.endswith(("barrier", "semaphore"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The launch grid.

    Attributes:
      shape: Sizes; None where the size is a traced value.
      names: Axis names, or empty.
      cluster: Cluster sizes; `cluster_names` names them.
      threads: Threads (warpgroups) of a block; `thread_name` names their axis.
      semantics: `parallel | arbitrary | …` for each axis, where the kernel says so.
    """

    shape: tuple[int | None, ...] = ()
    names: tuple[str, ...] = ()
    cluster: tuple[int, ...] = ()
    cluster_names: tuple[str, ...] = ()
    threads: int = 1
    thread_name: str = ""
    semantics: tuple[str, ...] = ()


# Scopes that no line of the kernel opens.
WITHOUT_SITE = ("kernel", "grid", "agent")
CALLS = ("function", "call")


@dataclass(frozen=True, kw_only=True, eq=False)
class Kernel:
    """A lowered kernel.

    Attributes:
      name: Name of the user's function.
      backend: `mosaic_gpu | tpu | triton | generic`.
      tape: The instructions; a thread starts at `entry`.
      registers: How many registers a thread has.
      arguments: Registers that hold the argument references at the start, in the order
        of `buffers`.
      buffers: One declaration for each argument of the launch: scalar-prefetch
        operands, inputs, outputs.
      num_scalars, num_inputs, num_outputs: How `buffers` splits.
      aliases: Pairs `(index in buffers of an input, number of an output)`.
      facts: What static checks need and the tape does not show, e.g. `interpret`,
        `dynamic_grid`, `scalar_prefetch`, `mpmd_scratch`, `jax_version`.
    """

    name: str
    backend: str
    tape: Tape
    entry: int = 0
    registers: int = 0
    arguments: tuple[int, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    num_scalars: int = 0
    num_inputs: int = 0
    num_outputs: int = 0
    grid: Grid = Grid()
    aliases: tuple[tuple[int, int], ...] = ()
    locs: tuple[Loc, ...] = ()
    scopes: tuple[Scope, ...] = (Scope(kind="kernel", name="", parent=-1),)
    loc: int = -1
    facts: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __repr__(self) -> str:
        return f"<Kernel {self.name} ({self.backend}): {len(self.tape)} instructions>"

    def __str__(self) -> str:
        from pallas_debug.ir.listing import listing

        return listing(self)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of what is executed: equal for kernels that do the same."""
        from pallas_debug.ir.listing import line

        digest = hashlib.sha256()
        digest.update(repr((self.name, self.backend, self.buffers, self.grid)).encode())
        for instr in self.tape:
            expression = instr.pure.expr if instr.pure else ""
            digest.update(f"{line(instr)} {expression}\n".encode())
            for operand in instr.operands():
                if isinstance(operand, Const) and isinstance(operand.value, np.ndarray):
                    digest.update(np.ascontiguousarray(operand.value).tobytes())
        return digest.hexdigest()[:16]

    def loc_of(self, instr: int) -> Loc | None:
        """The user's source line of an instruction, None if unknown."""
        if not 0 <= instr < len(self.tape) or self.tape[instr].loc < 0:
            return self.locs[self.loc] if self.loc >= 0 else None
        return self.locs[self.tape[instr].loc]

    def at_lines(self) -> dict[tuple[str, int], list[int]]:
        """The instructions of each of the user's source lines, by file and number."""
        found: dict[tuple[str, int], list[int]] = {}
        for number in range(len(self.tape)):
            if loc := self.loc_of(number):
                found.setdefault((loc.file, loc.line), []).append(number)
        return found

    def scopes_around(self, scope: int) -> tuple[int, ...]:
        """A scope and those around it, innermost first; none for -1."""
        found: list[int] = []
        while scope >= 0:
            found.append(scope)
            scope = self.scopes[scope].parent
        return tuple(found)

    def callers_of(self, instr: int) -> tuple[Loc, ...]:
        """Where the calls, loops and branches around an instruction stand.

        Innermost first; without the line of the instruction itself and that of the
        launch.
        """
        if not 0 <= instr < len(self.tape):
            return ()
        loc, sites = self.loc_of(instr), self.sites[self.tape[instr].scope]
        skip = bool(sites) and loc is not None and sites[0].is_at(loc)
        return sites[skip:]

    def calls_of(self, instr: int) -> tuple[Loc, ...]:
        """Where the functions around an instruction were called, innermost first.

        Loops and branches aside, though these call functions, too.
        """
        found: list[Loc] = []
        known = [self.loc_of(instr), self.loc_of(-1)]
        scope = self.tape[instr].scope if 0 <= instr < len(self.tape) else -1
        for entry in (self.scopes[number] for number in self.scopes_around(scope)):
            if entry.kind in CALLS and entry.loc >= 0:
                site = self.locs[entry.loc]
                if not any(one and one.is_at(site) for one in known):
                    found.append(site)
                    known[0] = site
        return tuple(found)

    @cached_property
    def sites(self) -> tuple[tuple[Loc, ...], ...]:
        """For each scope the places of those around it and of its own."""
        found: list[tuple[Loc, ...]] = []
        own = self.locs[self.loc] if self.loc >= 0 else None
        for scope in self.scopes:
            sites = found[scope.parent] if scope.parent >= 0 else ()
            loc = self.locs[scope.loc] if scope.loc >= 0 else None
            if loc is not None and scope.kind not in WITHOUT_SITE:
                near = sites[0] if sites else own
                sites = sites if near and near.is_at(loc) else (loc, *sites)
            found.append(sites)
        return tuple(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Launch:
    """A kernel with its arguments: everything needed to run, and nothing else.

    Attributes:
      arguments: Scalar-prefetch operands and inputs, in the order of `kernel.buffers`;
        of a launch on all devices of a mesh those of each device, one after the other.
      grid: Concrete grid sizes, of one device.
      axes: Sizes of the enclosing device mesh axes; `device` is this device's place,
        empty where the launch is one of all devices together.
      chip: Name of the chip that is pretended, e.g. `h100`.
    """

    kernel: Kernel
    arguments: tuple[np.ndarray, ...]
    grid: tuple[int, ...]
    axes: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    device: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    chip: str = ""

    @cached_property
    def mesh(self) -> tuple[int, ...]:
        """Sizes of the device axes that it runs on together; empty for one device."""
        return mesh_of(self.axes, self.device)


def mesh_of(axes: Mapping[str, int], device: Mapping[str, int]) -> tuple[int, ...]:
    """The devices that a launch runs on together, as sizes; empty for one device."""
    return () if device else tuple(axes.values())
