"""An index past the end of an array of barriers or semaphores is told as that."""

import jax
import jax.numpy as jnp
import pytest
from helpers import TraceBuilder, codes, only
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug.checks import run_checks

F32 = jnp.float32
X = jnp.ones((128, 128), F32)
ANY = pl.BlockSpec(memory_space=pl.ANY)
DMAS = pltpu.SemaphoreType.DMA
UNITS = pltpu.SemaphoreType.REGULAR


def barriers(count):
    """Each of four blocks brings its rows in, at a barrier of its own number."""

    def body(x, o, tile, bar):
        i = lax.axis_index("i")
        rows = pl.ds(i * 32, 32)
        plgpu.copy_gmem_to_smem(x.at[rows], tile, bar.at[i])
        plgpu.barrier_wait(bar.at[i])
        o[rows] = tile[...]

    scratch = [plgpu.SMEM((32, 128), F32), plgpu.Barrier(num_barriers=count)]
    mesh = {"grid": (4,), "grid_names": ("i",), "scratch_types": scratch}
    return plgpu.kernel(body, out_type=jax.ShapeDtypeStruct(X.shape, F32), **mesh)


def tpu(kernel, *scratch, **given):
    shape = jax.ShapeDtypeStruct(X.shape, F32)
    return pl.pallas_call(kernel, out_shape=shape, scratch_shapes=scratch, **given)


def copies(count):
    """Four copies, each with a semaphore of its own."""

    def kernel(x, o, tile, sem):
        def copy(i):
            rows = x.at[pl.ds(i * 32, 32)]
            return pltpu.make_async_copy(rows, tile.at[i], sem.at[i])

        lax.fori_loop(0, 4, lambda i, _: copy(i).start(), None)
        lax.fori_loop(0, 4, lambda i, _: copy(i).wait(), None)
        o[...] = tile[...].reshape(128, 128)

    return tpu(kernel, pltpu.VMEM((4, 32, 128), F32), DMAS((count,)), in_specs=[ANY])


def plane(count):
    """Signals and waits in an array of two dimensions."""

    def kernel(x, o, sem):
        last = 2 + pl.program_id(0) * 0
        pl.semaphore_signal(sem.at[0, last], 1)
        pl.semaphore_wait(sem.at[0, last], 1)
        o[...] = x[...]

    return tpu(kernel, UNITS((2, count)), grid=(1,))


def before(shift):
    """A wait at an index that begins before the array."""

    def kernel(x, o, sem):
        pl.semaphore_signal(sem.at[0], 1)
        pl.semaphore_wait(sem.at[pl.program_id(0) - shift], 1)
        o[...] = x[...]

    return tpu(kernel, UNITS((3,)), grid=(1,))


def signalled(shift):
    """The signal goes past the end, the wait is right."""

    def kernel(x, o, sem):
        pl.semaphore_signal(sem.at[2 + shift + pl.program_id(0) * 0], 1)
        pl.semaphore_wait(sem.at[2], 1)
        o[...] = x[...]

    return tpu(kernel, UNITS((3,)), grid=(1,))


def unheard(shift):
    """Arrivals, one of them past the end, and no wait."""

    def body(x, o, bar):
        plgpu.barrier_arrive(bar.at[lax.axis_index("i") + shift])
        o[pl.ds(lax.axis_index("i") * 32, 32)] = x[pl.ds(lax.axis_index("i") * 32, 32)]

    mesh = {"grid": (4,), "grid_names": ("i",)}
    scratch = [plgpu.Barrier(num_barriers=4)]
    out = jax.ShapeDtypeStruct(X.shape, F32)
    return plgpu.kernel(body, out_type=out, scratch_types=scratch, **mesh)


FAULTS = [
    (barriers, 4, 3, "index 3 of `bar`, which has 3 elements", ("copy_gmem", "wait")),
    (copies, 4, 3, "index 3 of `sem`, which has 3 elements", ("start", "wait")),
    (plane, 3, 2, "an index outside `sem`, whose shape is (2, 2)", ("signal", "wait")),
    (before, 0, 1, "index -1 of `sem`, which has 3 elements", ("wait",)),
    (signalled, 0, 1, "index 3 of `sem`, which has 3 elements", ("signal",)),
    (unheard, 0, 1, "index 4 of `bar`, which has 4 elements", ("arrive",)),
]


@pytest.mark.parametrize(("build", "right", "wrong", "words", "lines"), FAULTS)
def test_an_index_outside_is_found_and_all_else_follows(
    build, right, wrong, words, lines
):
    report = pldb.check(build(wrong), X)
    found = report.by_code["PD101"]
    assert all(words in one.message for one in found)
    assert [any(line in one.loc.text for one in found) for line in lines] == [
        True for _ in lines
    ]
    assert {one.code for one in report.roots} == {"PD101"}
    assert not pldb.check(build(right), X).findings


@pytest.mark.parametrize(("build", "wrong"), [(barriers, 3), (copies, 3), (before, 1)])
def test_the_deadlock_says_that_there_is_no_such_element(build, wrong):
    for one in pldb.check(build(wrong), X).by_code["PD210"]:
        assert "which does not exist" in one.message
        assert "arrivals came" not in one.message
        assert "which has" not in one.message
        assert one.hint.startswith("keep the index of `")
        assert ("larger" in one.hint) is (build is not before)


def test_a_deadlock_elsewhere_does_not_follow():
    b = TraceBuilder(backend="tpu")
    sem, other = b.semaphore("sem", 3), b.semaphore("other")
    t = b.thread("core")
    t.signal(sem, 3, line=4)
    t.blocked(other, aux=2, line=6)
    waiting = [(t.number, b.instr(line=6), other, 0, 2)]
    report = run_checks(b.close(outcome="deadlock", waiting=waiting))
    assert sorted(codes(report)) == ["PD101", "PD210"]
    assert only(report, "PD210").cause is None
