"""How a kernel is launched: its grid, blocks, operands and constants."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

from refused.build import PAIR, ROW, WHOLE, N, X, call, copied, kernel

CONSTANT = jnp.arange(N, dtype=jnp.int32)


def plus_scalar(s_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] + s_ref[0]


def scalar_arguments(interpret, prefetched=1):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=prefetched,
        grid=(1,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)] * (2 - prefetched),
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
    )
    fn = pl.pallas_call(plus_scalar, grid_spec=spec, out_shape=ROW, interpret=interpret)
    return fn, (jnp.array([3], jnp.int32), X)


def plain_arguments(interpret):
    return scalar_arguments(interpret, 0)


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def grid_of(traced):
    def build(interpret):
        def fn(n, x):
            size = n if traced else 2
            launch = pl.pallas_call(
                double, grid=(size,), out_shape=ROW, interpret=interpret
            )
            return launch(x)

        return jax.jit(fn), (jnp.int32(2), X)

    return build


def in_blocks(size):
    spec = pl.BlockSpec((size,), lambda i: (i,))
    return call(double, grid=(N // size,), in_specs=[spec], out_specs=spec)


def closed_over_array(x_ref, o_ref):
    o_ref[...] = x_ref[...] + CONSTANT


def closed_over_number(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 3


def through_scratch(x_ref, o_ref, tmp):
    tmp[...] = x_ref[...] * 2
    o_ref[...] = tmp[...]


def mesh_kernel(*scratch):
    """`pl.kernel` over the mesh of a GPU."""

    def build(interpret):
        fn = pl.kernel(
            through_scratch if scratch else double,
            out_type=jax.ShapeDtypeStruct((N,), jnp.float32),
            mesh=plgpu.Mesh(grid=(1,), grid_names=("g",)),
            scratch_types=list(scratch),
            interpret=interpret or False,
        )
        return fn, (jnp.ones(N, jnp.float32),)

    return build


def by_program_id(x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[i] = x_ref[i] + 1


def by_axis_index(x_ref, o_ref):
    i = lax.axis_index("g")
    o_ref[i] = x_ref[i] + 1


def number_of_programs(x_ref, o_ref):
    o_ref[...] = x_ref[...] + pl.num_programs(0)


def both_write(x_ref, o_ref):
    o_ref[...] = x_ref[...] + lax.axis_index("t")


def first_writes(x_ref, o_ref):
    @pl.when(lax.axis_index("t") == 0)
    def _():
        o_ref[...] = x_ref[...]


SMEM = plgpu.SMEM((N,), jnp.float32)
EIGHT = {"grid": (8,), "grid_names": ("g",)}
PAIRS = {
    "scalar_arguments": (scalar_arguments, plain_arguments),
    "dynamic_grid": (grid_of(True), grid_of(False)),
    "blocks": (in_blocks(N // 2), in_blocks(N)),
    "closed_over_array": (kernel(closed_over_array), kernel(closed_over_number)),
    "mesh_scratch": (mesh_kernel(SMEM), mesh_kernel()),
    "program_id": (
        call(by_program_id, grid=(8,), in_specs=[WHOLE], out_specs=WHOLE),
        kernel(by_axis_index, **EIGHT),
    ),
    "number_of_programs": (
        call(number_of_programs, grid=(2,), in_specs=[WHOLE], out_specs=WHOLE),
        call(copied, grid=(2,), in_specs=[WHOLE], out_specs=WHOLE),
    ),
    "both_write": (kernel(both_write, **PAIR), kernel(first_writes, **PAIR)),
}
