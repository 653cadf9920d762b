"""The portability table says what the installed JAX really does."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug import gallery
from pallas_debug.jaxlink.versions import JAX
from pallas_debug.session import foreseen


def table(name, *, fixed=True, **options):
    entry = gallery.ENTRIES[name]
    fn, args = entry.fixed() if fixed else entry.faulty()
    return pldb.portability(fn, *args, **options)


def statuses(found):
    return {row.target: row.status for row in found.rows}


def test_gpu_kernel_runs_in_gpu_mode_and_lowers_for_cuda():
    found = statuses(table("unwaited_copy"))
    assert found["pallas_debug"] == "runs"
    assert found["GPU interpret mode"] == "runs"
    assert found["CUDA lowering"] == "lowers"
    assert found["TPU lowering"] == "foreign"


def test_tpu_kernel_runs_in_tpu_mode_and_lowers_for_tpu():
    found = statuses(table("early_dma"))
    assert found["TPU interpret mode"] == "runs"
    assert found["TPU lowering"] == "lowers"
    assert found["GPU interpret mode"] == "foreign"


def test_refusal_that_a_check_foresaw_has_its_line_and_way_out():
    row = table("refused_slice", fixed=False)["GPU interpret mode"]
    assert row.status == "refused"
    assert row.why.startswith("ValueError: Dynamic indexing not supported")
    assert row.code == "PD303"
    assert "astype" in row.hint
    assert "x_ref[pl.ds(start, TILE)]" in row.loc.excerpt


def test_memory_space_that_a_mode_lacks_is_named_in_a_sentence():
    row = table("missing_commit")["TPU interpret mode"]
    assert row.status == "foreign"
    assert row.raised == "KeyError: <MemorySpace.GMEM: 'gmem'>"
    assert row.why == f"TPU interpret mode has no memory space GMEM ({row.raised})"
    assert row.hint == (
        "it is written for a GPU: see GPU interpret mode and CUDA lowering"
    )
    row = table("early_dma")["GPU interpret mode"]
    assert row.why == "GPU interpret mode has no memory space VMEM (KeyError: VMEM)"
    assert "written for a TPU" in row.hint


def in_blocks():
    spec = pl.BlockSpec((4, 128), lambda i: (i, 0))
    return pl.pallas_call(
        lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]),
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        grid=(2,),
        in_specs=[spec],
        out_specs=spec,
    )


def test_refusal_without_a_message_is_told_by_the_check_that_foresaw_it():
    found = pldb.portability(in_blocks(), jnp.ones((8, 128)))
    row = found["GPU interpret mode"]
    assert (row.status, row.code) == ("refused", "PD305")
    assert row.raised == "AssertionError: without a message"
    assert "block" in row.why
    assert row.why.endswith("raises AssertionError without a message")


def test_no_result_in_time_is_not_called_a_hang(monkeypatch):
    from pallas_debug.jaxlink import targets

    def slow(target, status, call, timeout):
        return targets.Attempt(target=target.name, status="hangs", seconds=timeout)

    monkeypatch.setattr(targets, "attempted", slow)
    row = table("unwaited_copy")["GPU interpret mode"]
    assert row.status == "unfinished"
    assert row.why == "no result after 60 s; raise `timeout`"


def test_refusal_that_no_check_foresaw_has_the_line_of_the_equation():
    row = table("unwaited_copy")["interpret=True"]
    assert row.status == "refused"
    assert "copy_gmem_to_smem" in row.why
    assert "copy_gmem_to_smem" in row.loc.excerpt


def test_silently_different_result_is_named_with_its_first_element():
    row = table("past_the_end", fixed=False)["interpret=True"]
    assert row.status == "differs"
    assert "first at (24, 0)" in row.why


def test_kernel_that_never_ends_is_not_tried():
    found = statuses(table("ring_deadlock", fixed=False))
    assert found["GPU interpret mode"] == "hangs"
    assert found["CUDA lowering"] == "lowers"


def test_run_that_would_take_too_long_is_not_tried():
    row = table("unset_accumulator", timeout=0.01)["interpret=True"]
    assert row.status == "not tried"
    assert "raise `timeout`" in row.why


def test_a_failed_mode_does_not_spoil_the_next_table():
    before = statuses(table("unwaited_copy"))
    table("ring_race", fixed=False)
    assert statuses(table("unwaited_copy")) == before


def test_kernels_inside_loops_and_vmap_are_tried():
    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    launch = pl.pallas_call(
        double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32)
    )

    def twice(x):
        x, _ = jax.lax.scan(lambda c, _: (launch(c), None), x, None, length=2)
        return jax.vmap(launch)(x[None])[0]

    found = pldb.portability(twice, np.ones((8, 128), np.float32))
    assert found["interpret=True"].status == "runs"
    assert found["TPU lowering"].status == "lowers"


def test_table_is_drawn_as_text_and_html():
    found = table("refused_slice", fixed=False)
    text = str(found)
    assert jax.__version__ in text.splitlines()[0]
    assert "⊘ GPU interpret mode  refused" in text
    assert "<script" not in found._repr_html_()
    assert "PD303" in found._repr_html_()


def test_function_without_a_kernel_is_refused():
    with pytest.raises(pldb.trace.__globals__["NoLaunch"]):
        pldb.portability(lambda x: x + 1, jnp.ones(3))


def stuck(x_ref, o_ref, smem, barrier, *, predicate):
    smem[...] = x_ref[...]
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(smem, o_ref, predicate=predicate)
    plgpu.wait_smem_to_gmem(0)
    plgpu.barrier_wait(barrier)


def stuck_kernel(predicate=None, threads=1):
    mesh = {"num_threads": 2, "thread_name": "t"} if threads > 1 else {}
    return plgpu.kernel(
        functools.partial(stuck, predicate=predicate),
        out_type=jax.ShapeDtypeStruct((128,), jnp.int32),
        scratch_types=[plgpu.SMEM((128,), jnp.int32), plgpu.Barrier()],
        **mesh,
    )


def test_refusal_before_a_deadlock_is_not_called_a_hang():
    refused = pldb.portability(stuck_kernel(predicate=True), jnp.arange(128))
    row = refused["GPU interpret mode"]
    assert (row.status, row.code) == ("refused", "PD313")
    assert row.why == "NotImplementedError: predicate not supported"
    assert "predicate=predicate" in row.loc.text
    assert refused["interpret=True"].status == "refused"
    assert refused["TPU interpret mode"].status == "foreign"
    hangs = pldb.portability(stuck_kernel(), jnp.arange(128))
    assert hangs["GPU interpret mode"].status == "hangs"
    assert hangs["interpret=True"].status == "refused"


def test_error_that_leaves_a_waiting_warpgroup_behind_is_a_hang():
    found = pldb.portability(stuck_kernel(True, threads=2), jnp.arange(128))
    expected = "refused" if JAX >= (0, 11, 2) else "hangs"
    assert found["GPU interpret mode"].status == expected


def test_wait_that_does_not_wait_there_is_told():
    def waits(x_ref, o_ref, semaphore):
        pl.semaphore_wait(semaphore, 1)
        o_ref[...] = x_ref[...]

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    semaphore = pltpu.SemaphoreType.REGULAR
    fn = pl.pallas_call(waits, out_shape=shape, scratch_shapes=[semaphore])
    found = pldb.portability(fn, jnp.ones((8, 128)))
    assert found["TPU interpret mode"].status == "hangs"
    assert found["interpret=True"].status == "differs"
    assert "does not wait" in found["interpret=True"].why
    assert found["TPU lowering"].status == "lowers"


@pytest.mark.parametrize("delays", [True, False])
def test_refusal_while_tracing_comes_before_any_hang(delays):
    def body(x_ref, o_ref, barrier):
        if delays:
            pl.delay(10)
        plgpu.barrier_wait(barrier)

    fn = plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((128,), jnp.int32),
        scratch_types=[plgpu.Barrier()],
        num_threads=2,
        thread_name="t",
    )
    recorded = pldb.trace(fn, jnp.arange(128))
    findings = foreseen.refusals(recorded)
    hangs = foreseen.hangs_all_the_same(recorded, findings)
    assert hangs == (not delays and JAX < (0, 11, 2))
