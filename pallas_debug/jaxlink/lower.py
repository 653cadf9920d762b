"""A captured launch to a `Kernel`: arguments, grid, body.

Two front doors (`pallas_call`, `mpmd_map`), two shapes of kernel: a core that loops
over the grid with windows, or a grid of blocks that each run the body once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink import (
    blocks,
    control,
    facts,
    locations,
    names,
    privates,
    refs,
    translate,
    versions,
)
from pallas_debug.jaxlink.backends import backend_of
from pallas_debug.jaxlink.capture import LaunchCall
from pallas_debug.jaxlink.lowering import Lowering
from pallas_debug.jaxlink.pretend import may_ask
from pallas_debug.jaxlink.translate.pallas import allocated, debug_names

__all__ = ["control", "lower", "translate"]


def lower(
    call: LaunchCall, *, exact: bool = False, target: str | None = None
) -> ir.Kernel:
    """Lowers a launch to a kernel; the grid may still have unknown sizes.

    Args:
      call: The captured launch.
      exact: Evaluate pure ops as op-by-op JAX does.
      target: `gpu` or `tpu`, of the chip that the user asked for; decides what a
        generic kernel is meant for.
    """
    may_ask()
    backend = backend_of(call, target)
    lw = Lowering(call, backend, exact)
    if call.primitive == "pallas_call":
        kernel = _pallas_call(lw, call)
    else:
        kernel = _mesh_call(lw, call)
    return ir.validate(kernel)


def _pallas_call(lw: Lowering, call: LaunchCall) -> ir.Kernel:
    p = call.params
    gm = p["grid_mapping"]
    body, _ = versions.open_jaxpr(p["jaxpr"])
    lw.fall_back(locations.defined_at(body))
    lw.grid = _grid(gm, p.get("compiler_params"))
    lw.vmapped = tuple(gm.vmapped_dims)
    n_scalars, n_in, n_out = gm.num_index_operands, gm.num_inputs, gm.num_outputs
    names = _names(body, n_scalars, n_in, n_out)
    arrays = _arrays(lw, gm, body, names)
    arguments = [lw.register() for _ in arrays]
    scalars = arguments[:n_scalars]
    aliases = tuple(p["input_output_aliases"])
    shares = {i - n_scalars: n_in + o for i, o in aliases}
    shares |= {output: source for source, output in shares.items()}
    written = _written(body)
    operands = [
        blocks.Operand(
            array=arguments[n_scalars + k],
            mapping=m,
            name=names[n_scalars + k],
            is_output=k >= n_in,
            slot=k,
            shares=shares.get(k),
            is_written=n_scalars + k in written,
        )
        for k, m in enumerate(gm.block_mappings)
    ]
    scratch, free = _scratch(lw, body, n_scalars + n_in + n_out, gm.scratch_avals)
    if lw.backend == "triton":
        _blocks_body(lw, body, operands, scalars, scratch)
    else:
        _core_body(lw, body, operands, scalars, scratch)
    free()
    _finish(lw)
    return _kernel(
        lw, arguments, arrays, (n_scalars, n_in, n_out), aliases,
        facts.facts(lw, call, dynamic_grid=gm.num_dynamic_grid_bounds > 0,
                    scalar_prefetch=n_scalars, real_blocks=_real_blocks(gm)),
    )  # fmt: skip


def _core_body(
    lw: Lowering,
    body: Any,
    operands: Sequence[blocks.Operand],
    scalars: Sequence[ir.Operand],
    scratch: Sequence[ir.Operand],
) -> None:
    """One core walks the grid in order; blocks are copied in and out."""
    before = lw.enter("grid", "grid")
    top = lw.here
    ids = lw.emit("grid.next", results=len(lw.grid.shape), targets=[-1], sync=True)
    lw.grid_ids = ids
    windows = [blocks.window(lw, op, ids, scalars) for op in operands]
    lw.jaxpr(body, [*scalars, *windows, *scratch])
    lw.jump(top)
    lw.patch(top, lw.here)
    lw.scope = before
    blocks.flush(lw, operands)


def _blocks_body(
    lw: Lowering,
    body: Any,
    operands: Sequence[blocks.Operand],
    scalars: Sequence[ir.Operand],
    scratch: Sequence[ir.Operand],
) -> None:
    """Every grid point is a program of its own; blocks are parts of the arrays."""
    ids = [
        lw.emit("grid.id", results=1, params={"axis": f"#{axis}"})[0]
        for axis in range(len(lw.grid.shape))
    ]
    lw.grid_ids = tuple(ids)
    windows = [blocks.window(lw, op, ids, scalars) for op in operands]
    lw.jaxpr(body, [*scalars, *windows, *scratch])


def _scratch(
    lw: Lowering, body: Any, first: int, asked: Sequence[Any] = ()
) -> tuple[list[ir.Operand], Callable[[], None]]:
    """References to the scratch operands, and how to end them.

    `asked` are their types as the user asked for them, with the layouts to be undone.
    """
    names = debug_names(body)
    layouts = [getattr(a, "transforms", ()) for a in asked]
    layouts += [()] * (len(body.invars) - first - len(layouts))
    decls = tuple(
        refs.declare(lw, names[first + i] or f"scratch{i}", v.aval, layout, "launch")
        for i, (v, layout) in enumerate(zip(body.invars[first:], layouts, strict=True))
    )
    return allocated(lw, decls, 1)


def _mesh_call(lw: Lowering, call: LaunchCall) -> ir.Kernel:
    """`mpmd_map` and `core_map`: a mesh of blocks (GPU) or cores (TPU)."""
    p = call.params
    mesh = p["meshes"][0] if "meshes" in p else p["mesh"]
    jaxpr = p["jaxprs"][0] if "jaxprs" in p else p["jaxpr"]
    body, _ = versions.open_jaxpr(jaxpr)
    lw.fall_back(locations.defined_at(body))
    lw.grid = _mesh_grid(mesh)
    n_in, n_out = len(call.in_avals), len(call.out_avals)
    found, lw.scratch = names.of_wrapped(body, n_in + n_out)
    found = found or _names(body, 0, n_in, n_out)
    arrays = tuple(
        refs.declare(lw, found[i], v.aval, (), "launch")
        for i, v in enumerate(body.invars[: n_in + n_out])
    )
    arguments = [lw.register() for _ in arrays]
    scratch, free = _scratch(lw, body, n_in + n_out)
    lw.jaxpr(body, [*arguments, *scratch])
    free()
    _finish(lw)
    aliases = tuple(dict(p.get("input_output_aliases") or {}).items())
    known = facts.facts(
        lw, call, mpmd_scratch=len(scratch), mesh=type(mesh).__name__, cores=True
    )
    return _kernel(lw, arguments, arrays, (0, n_in, n_out), aliases, known)


def _finish(lw: Lowering) -> None:
    """The body's end, then the routines of asynchronous operations."""
    lw.emit("ir.return")
    while lw.agents:
        lw.agents.pop(0)()


def _kernel(
    lw: Lowering,
    arguments: Sequence[ir.Reg],
    arrays: tuple[ir.Buffer, ...],
    counts: tuple[int, int, int],
    aliases: tuple[tuple[int, int], ...],
    known: dict[str, Any],
) -> ir.Kernel:
    return ir.Kernel(
        name=lw.call.name,
        backend=lw.backend,
        tape=tuple(lw.tape),
        registers=lw.registers,
        arguments=tuple(r.number for r in arguments),
        buffers=arrays,
        num_scalars=counts[0],
        num_inputs=counts[1],
        num_outputs=counts[2],
        grid=lw.grid,
        aliases=aliases,
        locs=tuple(lw.locs),
        scopes=tuple(lw.scopes),
        loc=lw.start_loc,
        facts=known,
    )


def _written(body: Any) -> set[int]:
    """Positions of the references that the body stores into."""
    types = privates.state_types
    stores = (types.WriteEffect, types.AccumEffect)
    variables = {e.input for e in body.effects if isinstance(e, stores)}
    return {i for i, v in enumerate(body.invars) if v in variables}


def _real_blocks(gm: Any) -> int:
    return sum(not m.has_trivial_window() for m in gm.block_mappings)


def _names(body: Any, n_scalars: int, n_in: int, n_out: int) -> list[str]:
    """The user's parameter names, else `in0`, `out0` and so on."""
    names = debug_names(body)
    for i in range(n_scalars + n_in + n_out):
        k = i - n_scalars
        default = f"scalar{i}" if k < 0 else f"in{k}" if k < n_in else f"out{k - n_in}"
        names[i] = names[i] or default
    return names


def _arrays(
    lw: Lowering, gm: Any, body: Any, names: list[str]
) -> tuple[ir.Buffer, ...]:
    decls = [
        refs.declare(lw, names[i], v.aval, (), "launch")
        for i, v in enumerate(body.invars[: gm.num_index_operands])
    ]
    for mapping in gm.block_mappings:
        array = _array_ref(lw, mapping)
        decls.append(refs.declare(lw, names[len(decls)], array, (), "launch"))
    return tuple(decls)


def _array_ref(lw: Lowering, mapping: Any) -> Any:
    """The whole array as a reference type; its blocks may lie in another space."""
    aval = mapping.array_aval
    home = "hbm" if lw.backend == "tpu" else "any"
    space = home
    if blocks.is_in_place(lw, mapping):
        space = refs.space_of(mapping.transformed_block_aval, home)
    return refs.ArrayRef(shape=tuple(aval.shape), dtype=aval.dtype, space=space)


def _grid(gm: Any, compiler_params: Any) -> ir.Grid:
    names, shape = [], []
    for size in gm.grid:
        if isinstance(size, tuple):
            names.append(str(size[0]))
            size = size[1]
        shape.append(int(size) if isinstance(size, (int, np.integer)) else None)
    if gm.grid_names:
        names = [str(n) for n in gm.grid_names]
    semantics = getattr(compiler_params, "dimension_semantics", None) or ()
    return ir.Grid(
        shape=tuple(shape),
        names=tuple(names),
        semantics=tuple(str(getattr(s, "name", s)).lower() for s in semantics),
    )


def _mesh_grid(mesh: Any) -> ir.Grid:
    if type(mesh).__name__ == "Mesh":
        return ir.Grid(
            shape=tuple(int(s) for s in mesh.grid),
            names=tuple(map(str, mesh.grid_names)),
            cluster=tuple(int(s) for s in mesh.cluster or ()),
            cluster_names=tuple(map(str, mesh.cluster_names or ())),
            threads=int(mesh.num_threads or 1),
            thread_name=str(mesh.thread_name or ""),
        )
    # The cores of a TPU start together and reach each other, as a cluster's blocks.
    shape = dict(mesh.shape)
    return ir.Grid(
        cluster=tuple(int(s) for s in shape.values()),
        cluster_names=tuple(map(str, shape)),
    )
