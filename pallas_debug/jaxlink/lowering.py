"""Builds a tape: registers, source locations, scopes, labels, and the equation loop.

One translator a primitive (`@translate`) says how its equation becomes instructions;
pure primitives need none, `evaluate` knows them. Nothing here runs a kernel.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.ir.kernel import EMPTY
from pallas_debug.jaxlink import locations, ops, privates, versions
from pallas_debug.jaxlink.calls import Calls
from pallas_debug.jaxlink.evaluate import evaluate

Translator = Callable[["Lowering", Any, list[ir.Operand]], Sequence[ir.Operand] | None]
TRANSLATORS: dict[str, Translator] = {}


def translate(*names: str) -> Callable[[Translator], Translator]:
    """Registers how equations of these ops become instructions."""

    def register(function: Translator) -> Translator:
        for name in names:
            if name in TRANSLATORS:
                raise ValueError(f"two translators for `{name}`")
            TRANSLATORS[name] = function
        return function

    return register


class Lowering:
    """A tape under construction.

    Attributes:
      call: The launch as captured.
      backend: `mosaic_gpu | tpu | triton | generic`.
      exact: Pure ops are evaluated as op-by-op JAX.
      axes: Coordinates on axes of a part of the kernel: the warps of a warpgroup.
      grid_ids: Registers of the grid coordinates where a loop over the grid keeps them.
      scratch: Names of the scratch of the kernel as a whole, where JAX lost them.
      used: Variables that some equation reads, of the jaxprs entered so far.
      agents: Routines of asynchronous ops, appended when the body is done.
      calls: The user's functions that are open in the jaxpr that is being lowered.
    """

    def __init__(self, call: Any, backend: str, exact: bool) -> None:
        self.call = call
        self.backend = backend
        self.exact = exact
        self.tape: list[ir.Instr] = []
        self.locs: list[ir.Loc] = []
        self._loc_ids: dict[ir.Loc, int] = {}
        self.scopes = [ir.Scope(kind="kernel", name=call.name, parent=-1)]
        self.scope = 0
        self.registers = 0
        self.grid_ids: tuple[ir.Operand, ...] | None = None
        self.vmapped: tuple[int, ...] = ()
        self.axes: dict[Any, ir.Operand] = {}
        self.grid: ir.Grid = ir.Grid()
        self.agents: list[Callable[[], None]] = []
        self.loc = self.start_loc = self.add_loc(call.loc)
        self.last_loc = call.loc
        self.scratch: list[str] = []
        self.used: set[Any] = set()
        self.calls = Calls(self.scope)

    # -- pieces --------------------------------------------------------------

    def add_loc(self, loc: ir.Loc | None) -> int:
        if loc is None:
            return -1
        number = self._loc_ids.get(loc)
        if number is None:
            number = self._loc_ids[loc] = len(self.locs)
            self.locs.append(locations.as_shown(loc))
        return number

    def fall_back(self, loc: ir.Loc | None) -> None:
        """Uses a place for the kernel as a whole if its call has none."""
        if self.last_loc is None and loc is not None:
            self.last_loc = loc
            self.loc = self.start_loc = self.add_loc(loc)

    def register(self) -> ir.Reg:
        """A fresh register."""
        self.registers += 1
        return ir.Reg(self.registers - 1)

    def emit(
        self,
        op: str,
        ins: Sequence[ir.Operand] = (),
        *,
        results: int = 0,
        outs: Sequence[ir.Reg] | None = None,
        accesses: Sequence[ir.Access] = (),
        pure: ir.Pure | None = None,
        params: dict[str, Any] | None = None,
        targets: Sequence[int] = (),
        sync: bool = False,
    ) -> tuple[ir.Reg, ...]:
        """Appends an instruction; gives its result registers."""
        regs = tuple(outs or (self.register() for _ in range(results)))
        self.tape.append(
            ir.Instr(
                op=op,
                ins=tuple(ins),
                outs=tuple(r.number for r in regs),
                accesses=tuple(accesses),
                pure=pure,
                params=params or EMPTY,
                targets=tuple(targets),
                loc=self.loc,
                scope=self.scope,
                sync=sync,
            )
        )
        return regs

    @property
    def here(self) -> int:
        """Position of the next instruction: a label."""
        return len(self.tape)

    def patch(self, position: int, *targets: int) -> None:
        """Sets the targets of an earlier instruction."""
        self.tape[position] = dataclasses.replace(
            self.tape[position], targets=tuple(targets)
        )

    def jump(self, target: int = -1) -> int:
        """Appends a jump; gives its position, to be patched."""
        self.emit("ir.jump", targets=(target,))
        return self.here - 1

    def move(self, sources: Sequence[ir.Operand], targets: Sequence[ir.Reg]) -> None:
        """Copies values to registers, all at once."""
        pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s != t]
        if not pairs:
            return
        names = ", ".join(f"{{{i}}}" for i in range(len(pairs)))
        pure = ir.Pure(expr=names if len(pairs) > 1 else "{0}", results=len(pairs))
        self.emit(
            "ir.move", [s for s, _ in pairs], outs=[t for _, t in pairs], pure=pure
        )

    def compute(self, expr: str, *ins: ir.Operand, **env: Any) -> ir.Reg:
        """A pure instruction of our own."""
        return self.emit(
            "ir.compute", ins, results=1, pure=ir.Pure(expr=expr, env=env)
        )[0]

    def enter(self, kind: str, name: str) -> int:
        """Opens a scope; gives the one to restore."""
        before = self.scope
        self.scope = self.open(kind, name, before, self.loc)
        return before

    def open(self, kind: str, name: str, parent: int, loc: int) -> int:
        """A new scope."""
        self.scopes.append(ir.Scope(kind=kind, name=name, parent=parent, loc=loc))
        return len(self.scopes) - 1

    # -- equations -----------------------------------------------------------

    def jaxpr(
        self, jaxpr: Any, args: Sequence[ir.Operand], consts: Sequence[ir.Operand] = ()
    ) -> list[ir.Operand]:
        """Lowers a jaxpr's equations inline; gives its results."""
        inner, values = versions.open_jaxpr(jaxpr)
        env: dict[Any, ir.Operand] = {}
        # Given operands win: a scoped jaxpr's own constants can be leaked tracers.
        bound = list(consts) or [constant(v) for v in values]
        env.update(zip(inner.constvars, bound, strict=True))
        env.update(zip(inner.invars, args, strict=True))
        self.used.update(
            v for v in inner.outvars if not isinstance(v, privates.Literal)
        )
        for eqn in inner.eqns:
            self.used.update(
                v for v in eqn.invars if not isinstance(v, privates.Literal)
            )
        around, self.calls = self.calls, Calls(self.scope)
        for eqn in inner.eqns:
            self.equation(eqn, env)
        self.calls = around
        return [self.operand(v, env) for v in inner.outvars]

    def operand(self, atom: Any, env: dict[Any, ir.Operand]) -> ir.Operand:
        if isinstance(atom, privates.Literal):
            return constant(np.asarray(atom.val, dtype=_dtype(atom.aval)))
        return env[atom]

    def equation(self, eqn: Any, env: dict[Any, ir.Operand]) -> None:
        """Lowers one equation at its own source line."""
        kept = self.loc, self.last_loc, self.scope
        frames = locations.user_frames(eqn.source_info)
        self.scope = self.calls.scope_of(frames, self)
        self.last_loc = frames[0].loc if frames else self.last_loc
        self.loc = self.add_loc(self.last_loc)
        ins = [self.operand(v, env) for v in eqn.invars]
        name = ops.op_name(eqn.primitive)
        translator = TRANSLATORS.get(name)
        if translator is None:
            outs = self.pure(name, eqn, ins)
        else:
            outs = self._translated(translator, name, eqn, ins)
        for var, out in zip(eqn.outvars, outs, strict=True):
            env[var] = out
        self.loc, self.last_loc, self.scope = kept

    def _translated(
        self, translator: Translator, name: str, eqn: Any, ins: list[ir.Operand]
    ) -> list[ir.Operand]:
        """What the translator gives, or an op that is an error when it is reached."""
        emitted, agents = len(self.tape), len(self.agents)
        scope, calls = self.scope, self.calls
        try:
            return list(translator(self, eqn, ins) or ())
        except UnsupportedForm as error:
            del self.tape[emitted:], self.agents[agents:]
            self.scope, self.calls = scope, calls
            avals = [v.aval for v in eqn.outvars]
            form = error.data["form"], error.data["way"]
            return list(self.unknown(error.data["op"] or name, avals, ins, form))

    def pure(self, name: str, eqn: Any, ins: list[ir.Operand]) -> list[ir.Operand]:
        """A pure primitive, or an op that nobody here knows."""
        out_avals = [v.aval for v in eqn.outvars]
        pure = None
        if not eqn.effects and not any(is_ref(v.aval) for v in eqn.invars):
            pure = evaluate(
                versions.primitive_name(eqn.primitive),
                eqn.params,
                [v.aval for v in eqn.invars],
                out_avals,
                exact=self.exact,
                primitive=eqn.primitive,
            )
        if pure is None:
            return list(self.unknown(name, out_avals, ins))
        return list(self.emit(name, ins, results=pure.results, pure=pure))

    def unknown(
        self,
        name: str,
        out_avals: Sequence[Any],
        ins: Sequence[ir.Operand] = (),
        form: tuple[str, str] | None = None,
    ) -> tuple[ir.Reg, ...]:
        """An op without a rule: an error when it is reached, or a stub.

        `form` says what use of a known op has none, and the way out. Results that are
        references cannot be stubbed.
        """
        avals = tuple((tuple(a.shape), str(a.dtype)) for a in out_avals)
        params: dict[str, Any] = {"avals": avals}
        if any(map(is_ref, out_avals)):
            params["avals"] = None
        if form is not None:
            name, params["form"] = f"{ir.UNSUPPORTED}{name}", form
        return self.emit(name, ins, results=len(out_avals), params=params, sync=True)


def constant(value: Any) -> ir.Const:
    """A constant operand: rank 0 as a NumPy scalar."""
    array = np.asarray(value)
    return ir.Const(array[()] if array.ndim == 0 else array)


def is_ref(aval: Any) -> bool:
    """Whether a value of this type is a reference."""
    return isinstance(aval, privates.AbstractRef)


def _dtype(aval: Any) -> np.dtype | None:
    dtype = getattr(aval, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else None
