"""Unmodified Mosaic GPU kernels that JAX ships: recorded whole, equal to plain JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlink import gpu_kernels
from jaxlink.shipped import alarms, normal

import pallas_debug as pldb

pytest.importorskip("absl")  # the shipped modules import it

HALF = jnp.float16
pytestmark = [
    pytest.mark.usefixtures("loose_promotion"),
    pytest.mark.filterwarnings("ignore"),
]


random = functools.partial(normal, dtype=HALF)
close = functools.partial(gpu_kernels.close, tolerance=2e-2)


def record(fn, *args, chip, cores=4, faults=()):
    """The trace of a kernel that finishes, without alarms except known faults."""
    trace = pldb.trace(fn, *args, options=pldb.Options(chip=chip, cores=cores))
    for launch in trace.launches:
        assert launch.outcome.kind == "finished", launch.outcome
    assert not alarms(trace, faults)
    assert set(pldb.check(trace, select="PD2").by_code) <= set(faults)
    return trace


def product(a, b):
    return np.asarray(a, np.float32) @ np.asarray(b, np.float32)


def hopper(**options):
    from jax.experimental.pallas.ops.gpu import hopper_matmul_mgpu as ops

    for name in ("wg_dimension", "cluster_dimension"):
        if name in options:
            options[name] = ops.MatmulDimension[options[name]]
    sizes = {"tile_m": 64, "tile_n": 64, "tile_k": 64, "max_concurrent_steps": 2}
    return ops.matmul, ops.TuningConfig(**sizes | options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"wg_dimension": "M", "max_concurrent_steps": 3},
        {"cluster_dimension": "M"},
        {"cluster_dimension": "N", "epi_tile_n": None, "epi_tile_m": None},
    ],
    ids=str,
)
def test_hopper_matmul(options):
    matmul, config = hopper(**options)
    a, b = random(0, 256, 192), random(1, 192, 256)
    trace = record(lambda a, b: matmul(a, b, None, config), a, b, chip="h100")
    close(trace.outputs, product(a, b))


def test_hopper_matmul_adds_to_c():
    matmul, config = hopper(cluster_dimension="M")
    a, b, c = random(0, 256, 128), random(1, 128, 128), random(2, 256, 128)
    trace = record(lambda a, b, c: matmul(a, b, c, config), a, b, c, chip="h100")
    close(trace.outputs, product(a, b) + np.asarray(c, np.float32))


def attention(name="attention", **options):
    from jax.experimental.pallas.ops.gpu import attention_mgpu as ops

    sizes = {"block_q": 64, "block_kv": 64, "max_concurrent_steps": 2}
    config = ops.TuningConfig(**sizes | options)
    return functools.partial(getattr(ops, name), config=config), ops.attention_reference


def heads(seed, length=128):
    return random(seed, 1, length, 2, 64)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    kernel, reference = attention(causal=causal)
    q, k, v = heads(0, 256), heads(1, 256), heads(2, 256)
    trace = record(kernel, q, k, v, chip="h100")
    close(trace.outputs, reference(q, k, v, causal=causal))


def test_attention_residuals():
    kernel, reference = attention()
    q, k, v = heads(0), heads(1), heads(2)
    trace = record(functools.partial(kernel, save_residuals=True), q, k, v, chip="h100")
    out, (lse,) = reference(q, k, v, save_residuals=True)
    close(trace.outputs[0], out)
    close(trace.outputs[1][0], lse)


def test_attention_with_pipeline_emitter():
    kernel, reference = attention("attention_with_pipeline_emitter")
    q, k, v = heads(0), heads(1, 256), heads(2, 256)
    trace = record(kernel, q, k, v, chip="h100")
    close(trace.outputs, reference(q, k, v))


def test_attention_backward():
    blocks = ("block_q_dkv", "block_kv_dkv", "block_q_dq", "block_kv_dq")
    kernel, reference = attention(**dict.fromkeys(blocks, 64))
    args = heads(0), heads(1), heads(2)

    def gradients(fn):
        return jax.grad(
            lambda *args: fn(*args).sum(dtype=jnp.float32), argnums=(0, 1, 2)
        )

    trace = record(gradients(kernel), *args, chip="h100")
    for found, wanted in zip(trace.outputs, gradients(reference)(*args), strict=True):
        close(found, wanted)


GROUPS = jnp.array([60, 0, 100, 96], jnp.int32)
BLOCKS = {"block_m": 64, "block_n": 64, "block_k": 64}


@pytest.mark.parametrize("transpose_rhs", [False, True])
def test_ragged_dot(transpose_rhs):
    from jax.experimental.pallas.ops.gpu import ragged_dot_mgpu as ops

    a, b = random(0, 256, 128), random(1, 4, 128, 128)
    options = {**BLOCKS, "max_concurrent_steps": 2, "grid_block_n": 2}
    kernel = functools.partial(ops.ragged_dot, transpose_rhs=transpose_rhs, **options)
    trace = record(
        lambda a, b, g: kernel(a, b, group_sizes=g), a, b, GROUPS, chip="h100"
    )
    right = b.transpose(0, 2, 1) if transpose_rhs else b
    close(trace.outputs, jax.lax.ragged_dot(a, right, GROUPS))


def test_transposed_ragged_dot():
    from jax.experimental.pallas.ops.gpu import transposed_ragged_dot_mgpu as ops

    a, b = random(0, 256, 128), random(1, 256, 128)
    options = {**BLOCKS, "max_concurrent_steps": 2, "grid_block_n": 2}
    kernel = functools.partial(ops.transposed_ragged_dot, **options)
    trace = record(
        lambda a, b, g: kernel(a, b, group_sizes=g), a, b, GROUPS, chip="h100"
    )
    wanted, first = [], 0
    for size in GROUPS.tolist():
        wanted.append(product(a[first : first + size].T, b[first : first + size]))
        first += size
    close(trace.outputs, np.stack(wanted))


@pytest.mark.parametrize("collective", [False, True])
def test_blackwell_matmul(collective):
    from jax.experimental.pallas.ops.gpu import blackwell_matmul_mgpu as ops

    sizes = {"tile_m": 128, "tile_n": 64, "tile_k": 64, "max_concurrent_steps": 2}
    config = ops.TuningConfig(**sizes, collective=collective)
    a, b = random(0, 512, 192), random(1, 192, 256)
    kernel = functools.partial(ops.matmul_kernel, config=config)
    # From JAX 0.11.2 on, both blocks of a pair take a cluster off the queue for
    # themselves: with fewer cores than clusters, work is lost.
    # And each block writes its answer to both, which is a race. The last copy out is not
    # waited for; JAX's interpreter would refuse that.
    faults = ("PD201", "PD202", "PD221") if collective else ("PD221",)
    cores = None if collective else 4
    trace = record(kernel, a, b, chip="b200", cores=cores, faults=faults)
    close(trace.outputs, product(a, b))


def test_blackwell_ragged_dot():
    from jax.experimental.pallas.ops.gpu import blackwell_matmul_mgpu
    from jax.experimental.pallas.ops.gpu import blackwell_ragged_dot_mgpu as ops

    config = ops.TuningConfig(
        tile_m=128,
        tile_n=64,
        tile_k=64,
        max_concurrent_steps=2,
        collective=True,  # without, the kernel names an axis that is not there
        grid_tile_width=1,
        grid_minor_dim=blackwell_matmul_mgpu.MatmulDimension.N,
    )
    a, b = random(0, 512, 128), random(1, 3, 128, 128)
    groups = jnp.array([100, 28, 384], jnp.int32)
    kernel = functools.partial(ops.ragged_dot_kernel, config=config)
    trace = record(kernel, a, b, groups, chip="b200")
    close(trace.outputs, jax.lax.ragged_dot(a, b, groups))


@pytest.mark.parametrize("cluster", [None, "M"])
def test_hopper_mixed_type_matmul(cluster):
    from jax.experimental.pallas.ops.gpu import hopper_mixed_type_matmul_mgpu as ops

    dimension = None if cluster is None else ops.MatmulDimension[cluster]
    sizes = {"tile_m": 64, "tile_n": 64, "tile_k": 64, "max_concurrent_steps": 2}
    config = ops.TuningConfig(**sizes, cluster_dimension=dimension)
    a = jnp.asarray(np.random.default_rng(0).integers(-9, 9, (256, 128)), jnp.int8)
    b = random(1, 128, 128)
    kernel = functools.partial(ops.mixed_matmul_kernel, out_dtype=HALF, config=config)
    trace = record(kernel, a, b, chip="h100")
    close(trace.outputs, product(a, b))
