"""The four refusals: what we predict is what the installed JAX does, and we carry on."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug.jaxlink import versions
from pallas_debug.jaxlink.privates import InterpretGPUParams

GPU = InterpretGPUParams()


def add_scalar(s_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] + s_ref[0]


def scalar_arguments(count):
    """A `pallas_call` with a scalar-prefetch operand, or with a plain one."""
    space = pl.BlockSpec(memory_space=plgpu.GMEM)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=count,
        grid=(1,),
        in_specs=[space] * (2 - count),
        out_specs=space,
    )
    fn = pl.pallas_call(
        add_scalar,
        grid_spec=spec,
        out_shape=jax.ShapeDtypeStruct((8,), jnp.int32),
        interpret=GPU,
    )
    args = jnp.array([3], jnp.int32), jnp.arange(8, dtype=jnp.int32)
    return fn, args, np.arange(8) + 3


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def grid(dynamic):
    """A grid bound that is an argument of the jitted function, or a constant."""

    def fn(n, x):
        size = n if dynamic else 2
        shape = jax.ShapeDtypeStruct((8,), jnp.int32)
        return pl.pallas_call(double, grid=(size,), out_shape=shape, interpret=GPU)(x)

    args = jnp.int32(2), jnp.arange(8, dtype=jnp.int32)
    return jax.jit(fn), args, np.arange(8) * 2


def slice_kernel(start, x_ref, o_ref):
    at = start(lax.axis_index("g"), x_ref)
    o_ref[pl.ds(0, 4)] = x_ref[pl.ds(at, 4)]  # the slice in question


def slices(start):
    fn = plgpu.kernel(
        partial(slice_kernel, start),
        out_type=jax.ShapeDtypeStruct((4,), jnp.int32),
        grid=(1,),
        grid_names=("g",),
        interpret=GPU,
    )
    return fn, (jnp.arange(8, dtype=jnp.int32),), None


STARTS = {
    "bool": (lambda i, x: i > 0, np.arange(4)),
    "one-element vector": (lambda i, x: x[pl.ds(2, 1)], np.arange(2, 6)),
    "float": (lambda i, x: (i + 1).astype(jnp.float32), np.arange(1, 5)),
}
ACCEPTED = {
    "int32 axis index": (lambda i, x: i + 1, np.arange(1, 5)),
    "loaded int32": (lambda i, x: x[2], np.arange(2, 6)),
    "constant": (lambda i, x: 3, np.arange(3, 7)),
}


def codes(trace):
    return [f.code for f in pldb.check(trace).findings if f.code.startswith("PD3")]


def jax_refuses(fn, args, text):
    with pytest.raises(Exception, match=text):
        jax.block_until_ready(fn(*args))


@pytest.mark.parametrize(
    ("code", "refused", "accepted", "text"),
    [
        (
            "PD301",
            lambda: scalar_arguments(1),
            lambda: scalar_arguments(0),
            r"Scalar arguments not \(yet\) supported on GPU",
        ),
        (
            "PD302",
            lambda: grid(True),
            lambda: grid(False),
            r"Dynamic grid bounds not \(yet\) supported in GPU interpret mode",
        ),
    ],
)
def test_refusal_of_a_launch(code, refused, accepted, text):
    fn, args, want = refused()
    trace = pldb.trace(fn, *args)
    assert codes(trace) == [code]
    finding = next(f for f in pldb.check(trace).findings if f.code == code)
    assert finding.loc is not None
    assert finding.loc.file == __file__
    assert finding.hint
    np.testing.assert_array_equal(trace.outputs, want)
    jax_refuses(fn, args, text)

    fn, args, want = accepted()
    trace = pldb.trace(fn, *args)
    assert codes(trace) == []
    np.testing.assert_array_equal(trace.outputs, want)
    np.testing.assert_array_equal(fn(*args), want)


@pytest.mark.parametrize("name", STARTS)
def test_refused_slice_start(name):
    start, want = STARTS[name]
    fn, args, _ = slices(start)
    trace = pldb.trace(fn, *args)
    assert codes(trace) == ["PD303"]
    finding = next(f for f in pldb.check(trace).findings if f.code == "PD303")
    assert "the slice in question" in finding.loc.text
    np.testing.assert_array_equal(trace.outputs, want)
    jax_refuses(fn, args, "Dynamic indexing not supported in GPU interpret mode")


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_slice_start(name):
    start, want = ACCEPTED[name]
    fn, args, _ = slices(start)
    trace = pldb.trace(fn, *args)
    assert codes(trace) == []
    np.testing.assert_array_equal(trace.outputs, want)
    np.testing.assert_array_equal(fn(*args), want)


def through_scratch(x_ref, o_ref, tmp):
    tmp[...] = x_ref[...] * 2
    o_ref[...] = tmp[...]


def lowered_for_cuda(fn, *args):
    return jax.jit(fn).trace(*args).lower(lowering_platforms=("cuda",))


def test_scratch_operands_of_a_mesh_kernel():
    mesh = plgpu.Mesh(grid=(1,), grid_names=("g",))
    shape = jax.ShapeDtypeStruct((128,), jnp.float32)
    scratch = [plgpu.SMEM((128,), jnp.float32)]
    x = jnp.ones(128, jnp.float32)
    fn = pl.kernel(through_scratch, out_type=shape, mesh=mesh, scratch_types=scratch)
    trace = pldb.trace(fn, x)
    np.testing.assert_array_equal(trace.outputs, np.full(128, 2.0, np.float32))
    if versions.MPMD_MAP_HAS_SCRATCH_REFUSAL:
        assert codes(trace) == ["PD304"]
        with pytest.raises(NotImplementedError, match="Scratch operands are not"):
            lowered_for_cuda(fn, x)
    else:
        assert codes(trace) == []
        lowered_for_cuda(fn, x)


def test_scratch_of_plgpu_kernel_is_accepted():
    shape = jax.ShapeDtypeStruct((128,), jnp.float32)
    scratch = [plgpu.SMEM((128,), jnp.float32)]
    x = jnp.ones(128, jnp.float32)
    fn = plgpu.kernel(through_scratch, out_type=shape, scratch_types=scratch)
    assert codes(pldb.trace(fn, x)) == []
    lowered_for_cuda(fn, x)


def test_lowering_alone_is_noted():
    mesh = plgpu.Mesh(grid=(1,), grid_names=("g",))
    shape = jax.ShapeDtypeStruct((128,), jnp.float32)
    fn = pl.kernel(
        through_scratch,
        out_type=shape,
        mesh=mesh,
        scratch_types=[plgpu.SMEM((128,), jnp.float32)],
    )
    with pldb.recording() as rec:
        try:
            lowered_for_cuda(fn, jnp.ones(128, jnp.float32))
        except NotImplementedError:
            assert versions.MPMD_MAP_HAS_SCRATCH_REFUSAL
    assert rec.trace.launches[0].outcome.kind == "skipped"
    assert codes(rec.trace) == (
        ["PD304"] if versions.MPMD_MAP_HAS_SCRATCH_REFUSAL else []
    )
