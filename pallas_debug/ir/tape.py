"""The tape: a kernel as one flat tuple of instructions.

Flat, so that a thread's whole continuation is `(pc, registers)` and can be copied by
assignment. Nothing here executes; `machine.compile` turns a tape into Python functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pallas_debug.ir.pure import Pure


@dataclass(frozen=True, slots=True)
class Reg:
    """A register of the thread that executes the instruction."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A value known while lowering: a NumPy scalar or array."""

    value: Any


Operand = Reg | Const


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """`pl.ds(start, size, stride)` on one dimension; `start` counts elements.

    `start_dtype` and `start_ndim` describe a traced start (checks look at them) and
    are `""` and 0 for a constant.
    """

    start: Operand
    size: int
    stride: int = 1
    start_dtype: str = ""
    start_ndim: int = 0
    size_operand: Operand | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """One integer index on one dimension; the dimension disappears."""

    index: Operand
    dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """An integer array as index; all gathers of an indexer broadcast together."""

    index: Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """One NDIndexer: an entry for each dimension of the view it applies to.

    Result dims: the slices in order, and among them the gathers' broadcast shape: as in
    NumPy in place of the integer-indexed dims if these are adjacent, else in front.
    """

    dims: tuple[Slice | At | Gather, ...]

    @property
    def gathered_at(self) -> int:
        """Position of the gathers' broadcast shape among the result dims."""
        integers = [d for d, dim in enumerate(self.dims) if not isinstance(dim, Slice)]
        if not integers or integers[-1] - integers[0] >= len(integers):
            return 0
        return integers[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose:
    """The view with its dimensions permuted, as `numpy.transpose`."""

    permutation: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape:
    """The view with another shape, row-major."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitcast:
    """The same bytes as another dtype; `shape` is the shape of the result."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A member of a `RefUnion`: bytes from `offset` on, as `dtype[shape]`.

    `group` is the union's argument that it belongs to, -1 where nobody knows.
    """

    dtype: str
    shape: tuple[int, ...]
    offset: int
    group: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The same buffer as owned by another device or block of the cluster.

    `axes` names what `ids` count: device axes, cluster axes, or `("logical",)` for a
    linear device number.
    """

    ids: tuple[Operand, ...]
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Multicast:
    """The same buffer in every block along these cluster axes."""

    axes: tuple[str, ...]


ViewStep = Index | Transpose | Reshape | Bitcast | Alias | Peer | Multicast


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Access:
    """A reference together with the views applied to it, outermost last."""

    ref: Operand
    steps: tuple[ViewStep, ...] = ()

    def operands(self) -> Iterator[Operand]:
        """The reference and every traced index."""
        yield self.ref
        for step in self.steps:
            if isinstance(step, Index):
                for dim in step.dims:
                    yield dim.start if isinstance(dim, Slice) else dim.index
                    if isinstance(dim, Slice) and dim.size_operand is not None:
                        yield dim.size_operand
            elif isinstance(step, Peer):
                yield from step.ids


# Before the name of an op in a use that nobody knows: `unsupported.state.get`.
UNSUPPORTED = "unsupported."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instr:
    """One instruction.

    Attributes:
      op: Namespaced name: `lax.add`, `state.get`, `gpu.barrier_wait`, `ir.jump`.
      ins: Value operands.
      outs: Registers written, in the order of the results.
      accesses: Reference operands with their views, in the rule's order.
      pure: The expression of a pure op; None for an op with a rule.
      params: Static parameters of the rule: plain data with the same names on every
        JAX version.
      targets: Tape positions that `ir.jump` and `ir.branch` go to, and that an
        asynchronous op's agent starts at.
      loc: Index into `Kernel.locs`, -1 if unknown.
      scope: Index into `Kernel.scopes`.
      sync: Whether the op can wait, signal or spawn: a scheduler may switch threads
        before it.
      text: The jaxpr line that this came from, for listings.
    """

    op: str
    ins: tuple[Operand, ...] = ()
    outs: tuple[int, ...] = ()
    accesses: tuple[Access, ...] = ()
    pure: Pure | None = None
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    targets: tuple[int, ...] = ()
    loc: int = -1
    scope: int = 0
    sync: bool = False
    text: str = ""

    def operands(self) -> Iterator[Operand]:
        """Every operand: values, references and traced indices."""
        yield from self.ins
        for access in self.accesses:
            yield from access.operands()

    def reads(self) -> Iterator[int]:
        """Numbers of the registers that the instruction reads."""
        for operand in self.operands():
            if isinstance(operand, Reg):
                yield operand.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A node of the scope tree: a loop, a branch, a call, a scoped allocation.

    `kind` is `kernel | call | function | scan | while | cond | scoped | agent | grid`: a
    `call` is one that JAX keeps, as of a jitted function, a `function` one of the user's
    that JAX traced inline. `loc` is where the loop, branch or call stands.
    """

    kind: str
    name: str
    parent: int
    loc: int = -1


Tape = tuple[Instr, ...]
