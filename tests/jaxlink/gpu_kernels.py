"""Small Mosaic GPU kernels on our machine and in JAX's own GPU interpreter."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.differential import same, traced

from pallas_debug.jaxlink import privates

F32, F16 = jnp.float32, jnp.float16
TILED = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))


def out(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def numbers(*shape, dtype=F32):
    return jnp.asarray(np.arange(np.prod(shape)).reshape(shape) % 251, dtype)


def random(seed, *shape, dtype=F16):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def kernel(body, out_type, *scratch, interpret=None, **mesh):
    return plgpu.kernel(
        body,
        out_type=out_type,
        scratch_types=list(scratch),
        interpret=interpret,
        **mesh,
    )


def run(body, out_type, *scratch, args=(), outcome="finished", options=None, **mesh):
    """The trace of one kernel on our machine."""
    fn = kernel(body, out_type, *scratch, **mesh)
    return traced(fn, *args, outcome=outcome, **(options or {}))


def agree(body, out_type, *scratch, args=(), tolerance=0.0, **mesh):
    """Runs a kernel on our machine and in JAX's interpreter; gives our trace."""
    trace = run(body, out_type, *scratch, args=args, **mesh)
    params = privates.InterpretGPUParams()
    theirs = kernel(body, out_type, *scratch, interpret=params, **mesh)
    same(trace.outputs, jax.jit(theirs)(*args), tolerance)
    return trace


def kinds(trace, thread=None):
    """Names of the kinds of events, of one kind of thread or of all."""
    return [
        event.kind.name
        for event in map(trace.__getitem__, range(len(trace)))
        if thread is None or event.thread.kind == thread
    ]


def load(a, b, a_smem, b_smem, barrier):
    plgpu.copy_gmem_to_smem(a, a_smem, barrier)
    plgpu.copy_gmem_to_smem(b, b_smem, barrier)
    plgpu.barrier_wait(barrier)


def close(found, wanted, tolerance=1e-2):
    found = np.asarray(found, np.float32)
    np.testing.assert_allclose(found, wanted, atol=tolerance * np.abs(wanted).max())
