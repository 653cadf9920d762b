"""The devices of a `shard_map`, stepped together in the caller's thread.

A value of the body is one array with a leading dimension per mesh axis: row `d` is what
device `d` holds. JAX computes what is no launch, over all devices and with its own
collectives; so a launch can be made for all devices at once, in a fixed order and
without a thread. Outside a `shard_map` there is one lane and no leading dimension. The
devices of an abstract mesh are lanes as well, computed on the one device at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pallas_debug import errors
from pallas_debug.jaxlink import privates
from pallas_debug.jaxlink.owned import copied, given


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """What the devices of one `shard_map` hold and do in common.

    Attributes:
      mesh: Their mesh; None for an abstract one, and for the single lane outside a
        `shard_map`.
      axis_env: Names and sizes of the mesh axes.
      compiled: Equations already compiled for all lanes, by identity.
    """

    mesh: Mesh | None = None
    axis_env: Mapping[str, int] = field(default_factory=dict[str, int])
    compiled: dict[int, Any] = field(default_factory=dict, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading dimensions."""
        return tuple(self.axis_env.values())

    @property
    def _rows(self) -> NamedSharding | None:
        if self.mesh is None:
            return None
        return NamedSharding(self.mesh, PartitionSpec(*self.mesh.axis_names))

    def device(self, lane: Sequence[int]) -> dict[str, int]:
        """A lane's coordinates by axis name."""
        return dict(zip(self.axis_env, lane, strict=True))

    def lift(self, value: Any) -> Any:
        """The same value on every lane."""
        if isinstance(value, np.ndarray) and value.flags.writeable:
            value = copied(value, value.dtype)  # its owner may write to it later
        if not self.axis_env:
            return value
        value = jnp.asarray(value)
        wide = jnp.broadcast_to(value, (*self.shape, *value.shape))
        return wide if self.mesh is None else jax.device_put(wide, self._rows)

    def rows(self, value: Any) -> np.ndarray:
        """A value of every lane, to be indexed by lane: read-only."""
        if privates.dtypes.issubdtype(value.dtype, privates.dtypes.extended):
            value = jax.random.key_data(value)
        return np.asarray(value)

    def pile(self, values: np.ndarray, aval: Any) -> Any:
        """The inverse of `rows`."""
        piled: Any = given(values)
        if privates.dtypes.issubdtype(aval.dtype, privates.dtypes.extended):
            piled = jax.random.wrap_key_data(piled, impl=aval.dtype._impl)
        return piled if self.mesh is None else jax.device_put(piled, self._rows)

    def element(self, value: Any, index: int) -> Any:
        """One element along the first dimension that is not a lane's."""
        return value[(*(slice(None),) * len(self.shape), index)]

    def stacked(self, values: Sequence[Any]) -> Any:
        """The inverse of `element`."""
        return jnp.stack(values, axis=len(self.shape))

    def select(self, mask: np.ndarray, new: Any, old: Any) -> Any:
        """`new` on the lanes of the mask, `old` on the others."""
        wide = mask.reshape((*mask.shape, *(1,) * (new.ndim - mask.ndim)))
        return jnp.where(wide, new, old)

    def bind(self, eqn: Any, operands: Sequence[Any]) -> list[Any]:
        """Has JAX compute an equation on every lane.

        `operands` are the values of the equation's variables, its literals left out.
        """
        if not self.axis_env:
            return _bind(eqn, operands)
        if id(eqn) not in self.compiled:
            self.compiled[id(eqn)] = eqn, self.mapped(lambda *xs: _bind(eqn, xs))
        return self.compiled[id(eqn)][1](*operands)

    def mapped(self, fn: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        """A function of one lane's values as one of all lanes' values."""
        if self.mesh is None:
            for name, size in reversed([*self.axis_env.items()]):
                fn = jax.vmap(fn, axis_name=name, axis_size=size)
            return jax.jit(fn)
        lead = len(self.shape)

        def on_blocks(*blocks: Any) -> list[Any]:
            outs = fn(*(block.reshape(block.shape[lead:]) for block in blocks))
            return [jnp.expand_dims(out, range(lead)) for out in outs]

        spec = PartitionSpec(*self.mesh.axis_names)
        return jax.jit(
            jax.shard_map(
                on_blocks,
                mesh=self.mesh,
                in_specs=spec,
                out_specs=spec,
                check_vma=False,
            )
        )


def _all_gather(x: Any, *, all_gather_dimension: int, axis_name: Any, **rest: Any):
    return jax.lax.all_gather(
        x, axis_name, axis=all_gather_dimension, tiled=rest["tiled"]
    )


# Collectives that promise equal results to `check_vma`, which we do without.
_PROMISING: Mapping[str, Callable[..., Any]] = {
    "all_gather_invariant": _all_gather,
    "psum_invariant": lambda x, *, axes: jax.lax.psum(x, axes),
}


def _bind(eqn: Any, variables: Sequence[Any]) -> list[Any]:
    values = iter(variables)
    operands = [
        atom.val if isinstance(atom, privates.Literal) else next(values)
        for atom in eqn.invars
    ]
    params = eqn.primitive.get_bind_params(eqn.params)
    with eqn.ctx.manager:
        if eqn.primitive.name in _PROMISING:
            return [_PROMISING[eqn.primitive.name](*operands, **params)]
        outs = eqn.primitive.bind(*operands, **params)
    return list(outs) if eqn.primitive.multiple_results else [outs]


def run_shard_map(
    eqn: Any, operands: Sequence[Any], run_body: Callable[[Lanes, list[Any]], list[Any]]
) -> list[Any]:
    """Evaluates a `shard_map` equation whose body `run_body` evaluates on lanes."""
    mesh = _devices_of(eqn)
    in_specs, out_specs = eqn.params["in_specs"], eqn.params["out_specs"]
    if not isinstance(mesh, Mesh):
        lanes = Lanes(axis_env=dict(mesh.shape))
        blocks = [
            cut(x, spec, lanes) for x, spec in zip(operands, in_specs, strict=True)
        ]
        outs = run_body(lanes, blocks)
        return [joined(x, spec, lanes) for x, spec in zip(outs, out_specs, strict=True)]
    plain = Mesh(mesh.devices, mesh.axis_names)  # explicit axes would be part of types
    lanes = Lanes(mesh=plain, axis_env=dict(plain.shape))
    rows = PartitionSpec(*mesh.axis_names)
    lead = tuple(range(len(lanes.shape)))

    def split(value: Any, spec: Any) -> Any:
        value = jax.device_put(value, NamedSharding(plain, spec))
        return _reshard(lambda x: jnp.expand_dims(x, lead), plain, spec, rows)(value)

    def join(value: Any, spec: Any) -> Any:
        value = _reshard(lambda x: x.reshape(x.shape[len(lead) :]), plain, rows, spec)(
            value
        )
        return jax.device_put(value, NamedSharding(mesh, spec))

    blocks = [split(x, spec) for x, spec in zip(operands, in_specs, strict=True)]
    outs = run_body(lanes, blocks)
    return [join(out, spec) for out, spec in zip(outs, out_specs, strict=True)]


def _reshard(fn: Any, mesh: Any, in_spec: Any, out_spec: Any) -> Any:
    return jax.jit(
        jax.shard_map(
            fn, mesh=mesh, in_specs=in_spec, out_specs=out_spec, check_vma=False
        )
    )


def cut(value: Any, spec: Any, lanes: Lanes) -> Any:
    """What each lane gets of an array, with the leading dimensions."""
    parts = _parts(spec, value.ndim)
    shape, moved = list[int](), list[str]()
    for names, size in zip(parts, value.shape, strict=True):
        counts = [lanes.axis_env[name] for name in names]
        shape += [*counts, size // math.prod(counts)]
        moved += [*names, ""]
    order = [moved.index(name) for name in lanes.axis_env if name in moved]
    rest = [at for at, name in enumerate(moved) if not name]
    value = jnp.transpose(value.reshape(shape), (*order, *rest))
    lead = [n if name in moved else 1 for name, n in lanes.axis_env.items()]
    block = value.shape[len(order) :]
    return jnp.broadcast_to(value.reshape((*lead, *block)), (*lanes.shape, *block))


def joined(value: Any, spec: Any, lanes: Lanes) -> Any:
    """The inverse of `cut`; what an axis does not divide is taken from its first lane."""
    names, rank = list(lanes.axis_env), value.ndim - len(lanes.shape)
    parts = _parts(spec, rank)
    used = [name for part in parts for name in part]
    value = value[tuple(slice(None) if name in used else 0 for name in names)]
    left = [name for name in names if name in used]
    order, shape = list[int](), list[int]()
    for dim, part in enumerate(parts):
        order += [*(left.index(name) for name in part), len(left) + dim]
        count = math.prod(lanes.axis_env[name] for name in part)
        shape.append(count * value.shape[len(left) + dim])
    return jnp.transpose(value, order).reshape(shape)


def _parts(spec: Any, rank: int) -> list[tuple[str, ...]]:
    """For each dimension the axes that divide it, the outermost first."""
    given = [*spec, *[None] * (rank - len(spec))]
    return [
        () if one is None else (one,) if isinstance(one, str) else tuple(one)
        for one in given
    ]


def _devices_of(eqn: Any) -> Any:
    """The mesh, of devices where there are some."""
    mesh = eqn.params["mesh"]
    if not isinstance(mesh, Mesh):
        concrete = privates.mesh.get_concrete_mesh()
        if isinstance(concrete, Mesh) and not concrete.empty:
            mesh = concrete
    if mesh.empty:
        raise errors.CaptureError(what="a `shard_map` without a mesh")
    if set(eqn.params["newly_manual_axes"]) != set(mesh.axis_names):
        raise errors.CaptureError(what="a `shard_map` over some of its mesh axes")
    return mesh
