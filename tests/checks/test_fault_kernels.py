"""Real kernels for faults that other modules show on hand-written traces only.

`FAULTS` maps a fault to the code of its finding and a builder: faulty, or fixed.
"""

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug.checks import Severity

F32 = jnp.float32
X = jnp.ones((16, 256), F32)
PAIR = {"num_threads": 2, "thread_name": "wg"}


def gpu(body, *scratch, out=(16, 256), **mesh):
    out = jax.ShapeDtypeStruct(out, F32)
    return plgpu.kernel(body, out_type=out, scratch_types=scratch, **mesh)


def blocks(index):
    """Doubles blocks; `index` is the map of the input."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0

    return pl.pallas_call(
        kernel,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((8, 128), index)],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((16, 256), F32),
    )


def index_map(rows, columns):
    return lambda fixed: blocks(
        (lambda i, j: (i, j)) if fixed else lambda i, j: (i + rows, j + columns)
    )


def window(dim, shift, verb):
    """Each block handles its half along one dimension; the faulty one is off."""

    def build(fixed):
        def body(x, o, tile):
            sizes, places = [16, 256], [slice(None), slice(None)]
            sizes[dim] //= 2
            start = lax.axis_index("g") * sizes[dim] + (0 if fixed else shift)
            places[dim] = pl.ds(start, sizes[dim])
            part = tuple(places)
            right = [slice(None), slice(None)]
            right[dim] = pl.ds(lax.axis_index("g") * sizes[dim], sizes[dim])
            right = tuple(right)
            if verb == "read":
                o[right] = x[part]
            elif verb == "write":
                o[part] = x[right]
            else:
                tile[...] = x[right]
                plgpu.commit_smem()
                plgpu.copy_smem_to_gmem(tile, o.at[part])
                plgpu.wait_smem_to_gmem(0)

        shape = (8, 256) if dim == 0 else (16, 128)
        return gpu(body, plgpu.SMEM(shape, F32), grid=(2,), grid_names=("g",))

    return build


def tensor_memory(fixed):
    """Loads that are not waited for before their memory is stored to again."""

    def body(x, o, tile):
        plgpu.async_store_tmem(tile, x[...])
        plgpu.commit_tmem()
        value = plgpu.async_load_tmem(tile)
        if fixed:
            plgpu.wait_load_tmem()
        plgpu.async_store_tmem(tile, x[...] * 2.0)
        plgpu.commit_tmem()
        o[...] = value

    return gpu(body, plgpu.TMEM((128, 64), F32), out=(128, 64))


def own_arrival(fixed):
    """Waits for what the same thread signals afterwards."""

    def body(x, o, barrier):
        if fixed:
            plgpu.barrier_arrive(barrier)
        plgpu.barrier_wait(barrier)
        if not fixed:
            plgpu.barrier_arrive(barrier)
        o[...] = x[...]

    return gpu(body, plgpu.Barrier())


def arrivals(needed):
    """A barrier with more arrivals to come when the kernel ends."""

    def body(x, o, barrier):
        plgpu.barrier_arrive(barrier)
        plgpu.barrier_arrive(barrier)
        if needed == 2:
            plgpu.barrier_wait(barrier)
        o[...] = x[...]

    return gpu(body, plgpu.Barrier(num_arrivals=needed))


def observed(fixed):
    """Two phases; the fixed one waits for each."""

    def body(x, o, barrier):
        for _ in range(2):
            plgpu.barrier_arrive(barrier)
            if fixed:
                plgpu.barrier_wait(barrier)
        o[...] = x[...]

    return gpu(body, plgpu.Barrier())


def twice(fixed):
    """A thread completes a phase again before the other one has waited for it."""

    def body(x, o, full, free):
        who = lax.axis_index("wg")

        @pl.when(who == 0)
        def _():
            plgpu.barrier_arrive(full)
            if fixed:
                plgpu.barrier_wait(free)
            plgpu.barrier_arrive(full)

        @pl.when(who == 1)
        def _():
            plgpu.barrier_wait(full)
            plgpu.barrier_arrive(free)
            plgpu.barrier_wait(full)
            o[...] = x[...]

    return gpu(body, plgpu.Barrier(), plgpu.Barrier(), **PAIR)


def semaphores(fixed):
    """Gives two units and takes one."""

    def kernel(x_ref, o_ref, sem):
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 2 if fixed else 1)
        o_ref[...] = x_ref[...]

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(X.shape, F32),
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
    )


def copy_in_flight(fixed):
    """A DMA out of memory that is stored to again."""

    def kernel(x_ref, o_ref, tile, sem):
        tile[...] = x_ref[...]
        copy = pltpu.make_async_copy(tile, o_ref, sem)
        copy.start()
        if fixed:
            copy.wait()
        tile[...] = x_ref[...] * 2.0
        if not fixed:
            copy.wait()

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(X.shape, F32),
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[pltpu.VMEM(X.shape, F32), pltpu.SemaphoreType.DMA],
    )


FAULTS = {
    "index_map_rows": ("PD101", index_map(2, 0)),
    "index_map_columns": ("PD101", index_map(0, 2)),
    "index_map_negative": ("PD101", index_map(-1, 0)),
    **{
        f"{verb}_{'past' if shift > 0 else 'before'}_dimension_{dim}": (
            "PD101",
            window(dim, shift, verb),
        )
        for verb in ("read", "write", "copy")
        for dim in (0, 1)
        for shift in (8, -8)
    },
    "tensor_memory": ("PD201", tensor_memory),
    "own_arrival": ("PD210", own_arrival),
    "twice": ("PD211", twice),
    "pending": ("PD212", lambda fixed: arrivals(2 if fixed else 3)),
    "observed": ("PD213", observed),
    "semaphores": ("PD220", semaphores),
    "copy_in_flight": ("PD201", copy_in_flight),
}


def judged(name, fixed):
    kernel = FAULTS[name][1](fixed)
    x = jnp.ones((128, 64), F32) if name == "tensor_memory" else X
    return pldb.check(kernel, x, ignore="PD3")


@pytest.mark.parametrize("name", FAULTS)
def test_faulty_kernel_gets_its_finding_with_a_way_out(name):
    code, _ = FAULTS[name]
    report = judged(name, fixed=False)
    assert code in report.by_code, report
    assert all(one.hint and one.loc for one in report.by_code[code])
    assert any(root.code == code for root in report.roots)


@pytest.mark.parametrize("name", FAULTS)
def test_fixed_kernel_raises_no_alarm(name):
    report = judged(name, fixed=True)
    bad = [one for one in report.findings if one.severity is not Severity.INFO]
    assert not bad, report


def both_store(x, o):
    o[...] = x[...]


def test_threads_that_all_store_are_told_to_let_one_do_it():
    report = pldb.check(gpu(both_store, **PAIR), X, select="PD202")
    (finding,) = report.findings
    assert '`@pl.when(lax.axis_index("wg") == 0)`' in finding.hint


def test_read_that_comes_too_early_is_told_to_wait():
    """The neighbor in the cluster writes its half after it has been read."""

    def body(x, o, shared):
        me = lax.axis_index("c")
        shared[me] = x[me]
        o[me] = shared[1 - me]  # the read

    fn = plgpu.kernel(
        body,
        out_type=(jax.ShapeDtypeStruct((2, 128), F32),) * 2,
        cluster=(2,),
        cluster_names=("c",),
    )
    report = pldb.check(fn, jnp.ones((2, 128)), select="PD201")
    (finding,) = report.findings
    lines = {one["kind"]: one["line"] for one in finding.details["accesses"]}
    read, write = lines["read"], lines["write"]
    wanted = (
        f"before line {read} for a `plgpu.ClusterBarrier` arrived at after line {write}"
    )
    assert wanted in finding.hint
