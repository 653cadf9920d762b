"""Views of references, indices, and accesses out of bounds."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

from pallas_debug.jaxlink.versions import JAX
from refused.build import BARRIER, CLUSTER, GRID, SMEM, N, X, kernel

MATRIX = jnp.arange(2 * N, dtype=jnp.int32).reshape(2, N)
TURNED = jax.ShapeDtypeStruct((N, 2), jnp.int32)
FLAT = jax.ShapeDtypeStruct((2 * N,), jnp.int32)
BITS = jax.ShapeDtypeStruct((2, N), jnp.float32)


def reshaped(x_ref, o_ref):
    o_ref[...] = x_ref.reshape(2 * N)[...]


def value_reshaped(x_ref, o_ref):
    o_ref[...] = x_ref[...].reshape(2 * N)


def _transpose(ref, permutation):
    return ref.transpose(permutation)


def transposed(x_ref, o_ref):
    turn = plgpu.transpose_ref if JAX < (0, 11, 2) else _transpose
    o_ref[...] = turn(x_ref, (1, 0))[...]


def value_transposed(x_ref, o_ref):
    o_ref[...] = x_ref[...].T


def bitcast(x_ref, o_ref):
    o_ref[...] = x_ref.bitcast(jnp.float32)[...]


def value_bitcast(x_ref, o_ref):
    o_ref[...] = lax.bitcast_convert_type(x_ref[...], jnp.float32)


def remote(x_ref, o_ref, smem):
    smem[...] = x_ref[...]
    peer = plgpu.remote_ref(smem, 1 - lax.axis_index("c"))
    o_ref[...] = peer[...]


def local(x_ref, o_ref, smem):
    smem[...] = x_ref[...]
    o_ref[...] = smem[...]


def read_at(index):
    def body(x_ref, o_ref):
        i = lax.axis_index("g")
        o_ref[pl.ds(0, 4)] = x_ref[index(i)]

    return body


def one_read_at(shift):
    def body(x_ref, o_ref):
        o_ref[0] = x_ref[lax.axis_index("g") + shift]

    return body


def one_written_at(shift):
    def body(x_ref, o_ref):
        o_ref[lax.axis_index("g") + shift] = x_ref[0]

    return body


def written_at(start):
    def body(x_ref, o_ref):
        o_ref[pl.ds(lax.axis_index("g") + start, 4)] = x_ref[0:4]

    return body


def copied_from(start):
    def body(x_ref, o_ref, smem, barrier):
        window = x_ref.at[pl.ds(lax.axis_index("g") + start, 64)]
        plgpu.copy_gmem_to_smem(window, smem, barrier)
        plgpu.barrier_wait(barrier)
        o_ref[0:64] = smem[...]

    return body


def copied_to(start):
    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[0:64]
        plgpu.commit_smem()
        window = o_ref.at[pl.ds(lax.axis_index("g") + start, 64)]
        plgpu.copy_smem_to_gmem(smem, window)
        plgpu.wait_smem_to_gmem(0)

    return body


def one_element(x_ref, o_ref):
    start = x_ref[pl.ds(2, 1)]
    o_ref[0:4] = x_ref[pl.ds(start, 4)]


def loaded_scalar(x_ref, o_ref):
    start = x_ref[2]
    o_ref[0:4] = x_ref[pl.ds(start, 4)]


def copied_at_one_element(x_ref, o_ref, smem, barrier):
    start = x_ref[pl.ds(2, 1)]
    plgpu.copy_gmem_to_smem(x_ref.at[pl.ds(start, 64)], smem, barrier)
    plgpu.barrier_wait(barrier)
    o_ref[0:64] = smem[...]


def copied_at_bool(x_ref, o_ref, smem, barrier):
    start = lax.axis_index("g") > 0
    plgpu.copy_gmem_to_smem(x_ref.at[pl.ds(start, 64)], smem, barrier)
    plgpu.barrier_wait(barrier)
    o_ref[0:64] = smem[...]


def only_in_block(number):
    """Reads from a bool in one block of the grid, if there is such a block."""

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        i = lax.axis_index("g")

        @pl.when(i == number)
        def _():
            o_ref[0:4] = x_ref[pl.ds(i > 0, 4)]

    return body


def in_loop(x_ref, o_ref, smem, barrier):
    i = lax.axis_index("g")
    plgpu.copy_gmem_to_smem(x_ref.at[pl.ds(i * 64, 64)], smem, barrier)
    plgpu.barrier_wait(barrier)

    def step(j, carry):
        o_ref[pl.ds(i * 64 + j * 32, 32)] = smem[pl.ds(j * 32, 32)] + 10
        return carry

    lax.fori_loop(0, 2, step, None)


HALF = plgpu.SMEM((64,), jnp.int32)
TWICE = {**GRID, "grid": (2,)}
PAIRS = {
    "reshaped": (
        kernel(reshaped, out=FLAT, args=(MATRIX,)),
        kernel(value_reshaped, out=FLAT, args=(MATRIX,)),
    ),
    "transposed": (
        kernel(transposed, out=TURNED, args=(MATRIX,)),
        kernel(value_transposed, out=TURNED, args=(MATRIX,)),
    ),
    "bitcast": (
        kernel(bitcast, out=BITS, args=(MATRIX,)),
        kernel(value_bitcast, out=BITS, args=(MATRIX,)),
    ),
    "remote": (kernel(remote, SMEM, **CLUSTER), kernel(local, SMEM, **CLUSTER)),
    "bool_start": (
        kernel(read_at(lambda i: pl.ds(i > 0, 4)), **TWICE),
        kernel(read_at(lambda i: pl.ds((i > 0).astype(jnp.int32), 4)), **TWICE),
    ),
    "vector_start": (kernel(one_element), kernel(loaded_scalar)),
    "bool_start_reached": (
        kernel(only_in_block(1), **TWICE),
        kernel(only_in_block(2), **TWICE),
    ),
    "copy_vector_start": (
        kernel(copied_at_one_element, HALF, BARRIER),
        kernel(copied_at_bool, HALF, BARRIER),
    ),
    "index_array": (
        kernel(read_at(lambda i: jnp.arange(4) + i)),
        kernel(read_at(lambda i: pl.ds(i, 4))),
    ),
    "read_outside": (kernel(one_read_at(N)), kernel(one_read_at(N - 1))),
    "write_outside": (kernel(one_written_at(N)), kernel(one_written_at(N - 1))),
    "slice_outside": (
        kernel(read_at(lambda i: pl.ds(i + N - 2, 4))),
        kernel(read_at(lambda i: pl.ds(i + N - 4, 4))),
    ),
    "slice_written_outside": (kernel(written_at(N - 2)), kernel(written_at(N - 4))),
    "negative": (kernel(one_read_at(-1)), kernel(one_read_at(0))),
    "negative_write": (kernel(one_written_at(-1)), kernel(one_written_at(0))),
    "negative_slice": (
        kernel(read_at(lambda i: pl.ds(i - 2, 4))),
        kernel(read_at(lambda i: pl.ds(i, 4))),
    ),
    "copied_from_outside": (
        kernel(copied_from(N - 32), HALF, BARRIER),
        kernel(copied_from(N - 64), HALF, BARRIER),
    ),
    "copied_to_outside": (
        kernel(copied_to(N - 32), HALF),
        kernel(copied_to(N - 64), HALF),
    ),
    "loop": (
        kernel(in_loop, HALF, BARRIER, **TWICE),
        kernel(one_read_at(1), args=(X,)),
    ),
}
