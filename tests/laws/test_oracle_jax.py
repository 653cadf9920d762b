"""Outputs of real kernels under any schedule: the gallery's fixed ones, JAX's own.

Each is captured and compared with its reference once; then its launches run again.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jaxlink import gpu_kernels
from jaxlink.shipped import normal
from laws.oracle import SCHEDULES, equal_under, finished

import pallas_debug as pldb
from pallas_debug import gallery

HALF = jnp.float16


def hopper_matmul(**options):
    ops = pytest.importorskip(
        "jax.experimental.pallas.ops.gpu.hopper_matmul_mgpu", exc_type=ImportError
    )
    if "cluster_dimension" in options:
        options["cluster_dimension"] = ops.MatmulDimension.M
    sizes = {"tile_m": 64, "tile_n": 64, "tile_k": 64, "max_concurrent_steps": 2}
    config = ops.TuningConfig(**sizes, **options)
    a, b = normal(0, 128, 192, dtype=HALF), normal(1, 192, 128, dtype=HALF)
    wanted = np.asarray(a, np.float32) @ np.asarray(b, np.float32)
    return lambda a, b: ops.matmul(a, b, None, config), (a, b), "h100", wanted


def attention():
    ops = pytest.importorskip(
        "jax.experimental.pallas.ops.gpu.attention_mgpu", exc_type=ImportError
    )
    config = ops.TuningConfig(block_q=64, block_kv=64, max_concurrent_steps=2)
    args = [normal(seed, 1, 128, 1, 64, dtype=HALF) for seed in range(3)]
    kernel = functools.partial(ops.attention, config=config)
    return kernel, args, "h100", ops.attention_reference(*args)


def blackwell_matmul():
    ops = pytest.importorskip(
        "jax.experimental.pallas.ops.gpu.blackwell_matmul_mgpu", exc_type=ImportError
    )
    sizes = {"tile_m": 128, "tile_n": 64, "tile_k": 64, "max_concurrent_steps": 2}
    config = ops.TuningConfig(**sizes, collective=False)
    a, b = normal(0, 256, 128, dtype=HALF), normal(1, 128, 128, dtype=HALF)
    wanted = np.asarray(a, np.float32) @ np.asarray(b, np.float32)
    kernel = functools.partial(ops.matmul_kernel, config=config)
    return kernel, (a, b), "b200", wanted


def fixed(name):
    entry = gallery.ENTRIES[name]
    fn, args = entry.fixed()
    return fn, args, None, entry.reference(*args)


CASES = {
    **{name: functools.partial(fixed, name) for name in gallery.ENTRIES},
    "hopper matmul": hopper_matmul,
    "hopper matmul in clusters": functools.partial(hopper_matmul, cluster_dimension=1),
    "hopper attention": attention,
    "blackwell matmul": blackwell_matmul,
}


@functools.cache
def captured(name):
    """The launches of a case, whose outputs are those of the reference."""
    # The shipped kernels mix types as plain JAX lets them.
    with jax.numpy_dtype_promotion("standard"):
        fn, args, chip, wanted = CASES[name]()
        options = pldb.Options(chip=chip, cores=chip and 2, values="none")
        trace = pldb.trace(fn, *args, options=options)
        gpu_kernels.close(trace.outputs, np.asarray(wanted, np.float32))
    return [launch.source for launch in trace.launches]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
@given(schedule=SCHEDULES)
@settings(max_examples=6, deadline=None)
def test_outputs_are_equal_under_any_schedule(name, schedule):
    for launch in captured(name):
        equal_under(launch, schedule)


def test_the_law_does_not_hold_for_a_kernel_that_races():
    """Schedules that differ enough to show it are among those drawn."""
    fn, args = gallery.ENTRIES["early_dma"].faulty()
    (launch,) = pldb.trace(fn, *args).launches
    seeds = range(20)
    found = {tuple(finished(launch.source, policy="random", seed=n)) for n in seeds}
    assert len(found) > 1
