"""Findings whose two places are in different files say which line is in which."""

import importlib.util
import textwrap

import jax
import jax.numpy as jnp
import pytest
from helpers import only
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug import ir
from pallas_debug.checks import places

SOURCE = textwrap.dedent("""\
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as plgpu
    from jax.experimental.pallas import tpu as pltpu

    def store(src, dst):
        plgpu.copy_smem_to_gmem(src, dst)  # line 6
        plgpu.wait_smem_to_gmem(0)

    def fetch(src, dst, sem):
        pltpu.make_async_copy(src, dst, sem).start()  # line 10

    def arrive(bar):
        plgpu.barrier_arrive(bar)  # line 13

    def signal(sem, to):
        pl.semaphore_signal(sem, 1)  # line 16
""")
ROW = jax.ShapeDtypeStruct((128,), jnp.float32)


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A module of helper functions in a file of its own."""
    path = tmp_path_factory.mktemp("tools") / "tools.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("tools", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gpu(kernel, *scratch, threads=1):
    return plgpu.kernel(
        kernel,
        out_type=ROW,
        num_threads=threads,
        thread_name="wg",
        scratch_types=scratch,
    )


def test_line_is_said_with_its_file_where_that_is_another_one():
    here, there = (
        ir.Loc(file=f"/a/{name}.py", line=3, function="f") for name in ("k", "tools")
    )
    assert places.line(here, here) == places.line(here, None) == "line 3"
    assert places.line(there, here) == places.place(there) == "tools.py:3"


def test_store_and_copy_in_two_files(tools):
    def kernel(x_ref, o_ref, a):
        a[...] = x_ref[...] * 2.0
        tools.store(a, o_ref)

    call = gpu(kernel, plgpu.SMEM((128,), jnp.float32))
    race = only(pldb.check(call, jnp.ones(128)), "PD203")
    stored = f"test_places.py:{race.other.line}"
    assert race.place == "tools.py:6"
    assert "at line 6, " in race.message
    assert f"writes it at {stored}: " in race.message
    assert race.hint == f"call `plgpu.commit_smem()` after {stored} and before line 6"


def test_copy_that_a_helper_starts(tools):
    def kernel(x_ref, o_ref, buf, sem):
        tools.fetch(x_ref, buf, sem)
        o_ref[...] = buf[...]

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )
    report = pldb.check(call, jnp.ones((8, 128)))
    race = only(report, "PD201")
    assert "writes it at tools.py:10: nothing" in race.message
    assert race.hint == (
        f"wait for the copy started at tools.py:10 before line {race.loc.line}"
    )
    assert "the copy of tools.py:10 before this line" in only(report, "PD102").hint


def test_arrival_of_a_helper_that_comes_too_early(tools):
    def kernel(x_ref, o_ref, bar):
        who = lax.axis_index("wg")

        @pl.when(who == 0)
        def _():
            tools.arrive(bar)
            tools.arrive(bar)

        @pl.when(who == 1)
        def _():
            plgpu.barrier_wait(bar)
            o_ref[...] = x_ref[...]

    report = pldb.check(gpu(kernel, plgpu.Barrier(), threads=2), jnp.ones(128))
    assert "the arrival at tools.py:13 come" in only(report, "PD211").message


def test_deadlock_names_the_file_that_would_signal(tools):
    def kernel(x_ref, o_ref, sem):
        pl.semaphore_wait(sem, 2)
        tools.signal(sem, 0)
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
    )
    found = only(pldb.check(call, jnp.ones((8, 128))), "PD210")
    assert "; signalled by tools.py:16 (never executed)" in found.message
    assert "tools.py:16" in found.hint
