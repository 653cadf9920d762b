"""Copies and semaphores of TPU kernels, against JAX's TPU interpreter."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jaxlink import differential
from jaxlink.differential import call, floats, out, same, traced

import pallas_debug as pldb

DMA = pltpu.SemaphoreType.DMA
REGULAR = pltpu.SemaphoreType.REGULAR
HBM = pl.BlockSpec(memory_space=pl.ANY)

agree = functools.partial(differential.agree, interpret=pltpu.InterpretParams())


def doubled_through_vmem(x_ref, o_ref, x_vmem, o_vmem, sem):
    pltpu.async_copy(x_ref, x_vmem, sem).wait()
    o_vmem[...] = x_vmem[...] * 2.0
    pltpu.sync_copy(o_vmem, o_ref)


def through_vmem(body=doubled_through_vmem, shape=(8, 128), sem=DMA):
    vmem = pltpu.VMEM(shape, jnp.float32)
    return call(
        body,
        in_specs=[HBM],
        out_specs=HBM,
        out_shape=out(*shape),
        scratch_shapes=[vmem, vmem, sem],
    )


def test_a_copy_in_and_a_copy_out_agree():
    trace = agree(through_vmem(), floats(8, 128))
    copies = [t for t in trace.thread_rows if t.kind == "dma"]
    lines = [trace.launches[0].kernel.loc_of(t.instr) for t in copies]
    assert [loc.text.split("(")[0].strip() for loc in lines] == [
        "pltpu.async_copy",
        "pltpu.sync_copy",
    ]


def test_what_a_copy_reads_and_writes_carries_the_users_line():
    trace = agree(through_vmem(), floats(8, 128))
    first = next(t.number for t in trace.threads if t.kind == "dma")
    rows = [trace[i] for i in np.flatnonzero(trace.columns.thread == first)]
    assert [row.kind.name for row in rows] == ["READ", "WRITE", "SIGNAL", "END"]
    assert {row.loc.line for row in rows} == {rows[0].loc.line}


@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_double_buffering_agrees_in_any_order(policy):
    def body(x_ref, o_ref, bufs, outs, sem):
        def fetch(i):
            return pltpu.make_async_copy(
                x_ref.at[pl.ds(i * 8, 8)], bufs.at[pl.ds(i % 2 * 8, 8)], sem.at[i % 2]
            )

        fetch(0).start()

        @pl.loop(0, 4)
        def _(i):
            @pl.when(i + 1 < 4)
            def _():
                fetch(i + 1).start()

            fetch(i).wait()
            outs[pl.ds(i % 2 * 8, 8)] = bufs[pl.ds(i % 2 * 8, 8)] + 1.0
            pltpu.sync_copy(outs.at[pl.ds(i % 2 * 8, 8)], o_ref.at[pl.ds(i * 8, 8)])

    build = call(
        body,
        in_specs=[HBM],
        out_specs=HBM,
        out_shape=out(32, 128),
        scratch_shapes=[pltpu.VMEM((16, 128), jnp.float32)] * 2 + [DMA((2,))],
    )
    agree(build, floats(32, 128), policy=policy, seed=3)


def test_one_semaphore_counts_the_bytes_of_several_copies():
    def body(x_ref, o_ref, vmem, other, sem):
        del other
        for i in range(4):
            pltpu.async_copy(x_ref.at[pl.ds(i * 2, 2)], vmem.at[pl.ds(i * 2, 2)], sem)
        pltpu.make_async_copy(x_ref, vmem, sem).wait()  # all four at once
        pltpu.sync_copy(vmem, o_ref)

    agree(through_vmem(body), floats(8, 128))


def test_a_copy_that_nobody_waits_for_still_happens():
    def body(x_ref, o_ref, vmem, other, sem):
        del other
        pltpu.sync_copy(x_ref, vmem)
        pltpu.async_copy(vmem, o_ref, sem)

    trace = traced(through_vmem(body)(False), floats(8, 128))
    same(trace.outputs, floats(8, 128))


def test_waiting_for_more_than_was_copied_is_a_deadlock():
    def body(x_ref, o_ref, vmem, other, sem):
        del o_ref, other
        pltpu.async_copy(x_ref.at[pl.ds(0, 2)], vmem.at[pl.ds(0, 2)], sem)
        pltpu.make_async_copy(x_ref, vmem, sem).wait()

    trace = traced(through_vmem(body)(False), floats(8, 128), outcome="deadlock")
    ((_, instr, number, _, needed),) = trace.launches[0].outcome.waiting
    assert trace.buffers[number].name == "sem"
    assert needed == 8 * 128 * 4
    assert ".wait()" in trace.launches[0].kernel.loc_of(instr).text


@pytest.mark.parametrize("size", [3, 5])
def test_copies_of_a_traced_size_agree(size):
    def body(n_ref, x_ref, o_ref, vmem, sem):
        n = n_ref[0]
        vmem[...] = jnp.zeros_like(vmem)
        rows = pl.ds(0, n)
        copy = pltpu.make_async_copy(x_ref.at[rows], vmem.at[rows], sem)
        copy.start()
        copy.wait()
        pltpu.sync_copy(vmem, o_ref)

    kernel = pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), HBM],
        out_specs=HBM,
        out_shape=out(8, 128),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), DMA],
    )
    x = floats(8, 128)
    trace = traced(kernel, jnp.asarray([size], jnp.int32), x)
    same(trace.outputs, x.at[size:].set(0.0))


def test_a_copy_that_adds_accumulates_into_its_target():
    def body(x_ref, o_ref, vmem, other, sem):
        del other
        pltpu.sync_copy(x_ref, vmem)
        for _ in range(3):
            copy = pltpu.make_async_copy(x_ref, vmem, sem)
            copy.start(add=True)
            copy.wait()
        pltpu.sync_copy(vmem, o_ref)

    trace = traced(through_vmem(body)(False), floats(8, 128))
    same(trace.outputs, floats(8, 128) * 4)
    assert len(trace.events.where(kind="update")) == 3


def test_a_remote_copy_to_this_very_device_is_a_copy():
    def body(x_ref, o_ref, send, received):
        copy = pltpu.make_async_remote_copy(
            x_ref, o_ref, send, received, device_id={"x": jax.lax.axis_index("x")}
        )
        copy.start()
        copy.wait()

    kernel = pl.pallas_call(
        body,
        in_specs=[HBM],
        out_specs=HBM,
        out_shape=out(8, 128),
        scratch_shapes=[DMA, DMA],
    )
    mesh = jax.sharding.Mesh(jax.devices()[:1], "x")
    spec = jax.sharding.PartitionSpec("x")
    mapped = jax.shard_map(
        kernel, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    same(traced(mapped, floats(8, 128)).outputs, floats(8, 128))


def test_a_copy_to_another_device_ends_the_launch_with_one_clear_message():
    def body(x_ref, o_ref, send, received):
        copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, received, device_id=1)
        copy.start()  # the neighbor
        copy.wait()

    kernel = pl.pallas_call(
        body,
        in_specs=[HBM],
        out_specs=HBM,
        out_shape=out(8, 128),
        scratch_shapes=[DMA, DMA],
    )
    trace = traced(kernel, floats(8, 128), outcome="unsupported")
    message = trace.launches[0].outcome.message
    assert "`tpu.dma_start` is not supported with device 1 from device 0" in message
    assert "the neighbor" in message
    (finding,) = pldb.check(trace, select="PD901").findings
    assert "the neighbor" in finding.loc.text
    assert "pltpu.InterpretParams()" in finding.hint


def test_semaphores_signal_wait_and_read_agree():
    def body(x_ref, o_ref, seen_ref, sem):
        pl.semaphore_signal(sem.at[1], 3)
        seen_ref[0] = pl.semaphore_read(sem.at[1])
        pl.semaphore_wait(sem.at[1], 2)
        seen_ref[1] = pl.semaphore_read(sem.at[1])
        pl.semaphore_wait(sem.at[1], 1)
        o_ref[...] = x_ref[...] + 1.0

    build = call(
        body,
        out_shape=[out(8, 128), out(2, dtype=np.int32)],
        out_specs=[pl.BlockSpec(), pl.BlockSpec(memory_space=pltpu.SMEM)],
        scratch_shapes=[REGULAR((2,))],
    )
    trace = traced(build(False), floats(8, 128))
    same(trace.outputs, [floats(8, 128) + 1.0, np.array([3, 1], np.int32)])


def test_a_barrier_semaphore_counts_for_its_own_device():
    def body(x_ref, o_ref):
        sem = pltpu.get_barrier_semaphore()
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 2)
        o_ref[...] = x_ref[...]

    build = call(
        body,
        out_shape=out(8, 128),
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )
    agree(build, floats(8, 128))


def test_scoped_semaphores_and_buffers_agree():
    def body(x_ref, o_ref):
        def inner(vmem, sem):
            pltpu.async_copy(x_ref, vmem, sem).wait()
            o_ref[...] = vmem[...] + 1.0

        for _ in range(2):
            pl.run_scoped(inner, pltpu.VMEM((8, 128), jnp.float32), DMA)

    build = call(body, in_specs=[HBM], out_shape=out(8, 128))
    trace = agree(build, floats(8, 128))
    assert len([b for b in trace.buffers if b.name == "vmem"]) == 2


def test_a_source_that_is_overwritten_too_early_shows_in_the_values():
    def body(x_ref, o_ref, vmem, other, sem):
        del other
        vmem[...] = x_ref[...]
        copy = pltpu.async_copy(vmem, o_ref, sem)
        vmem[...] = jnp.zeros_like(vmem)  # too early
        copy.wait()

    kernel = pl.pallas_call(
        body,
        out_specs=HBM,
        out_shape=out(8, 128),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)] * 2 + [DMA],
    )
    assert (np.asarray(pldb.trace(kernel, floats(8, 128)).outputs) == 0).all()


def test_a_copy_between_parts_of_two_sizes_is_told_with_both():
    def body(x_ref, o_ref, vmem, sem):
        pltpu.async_copy(x_ref.at[pl.ds(0, 4)], vmem, sem).wait()  # four rows of eight
        o_ref[...] = vmem[...]

    scratch = [pltpu.VMEM((8, 128), jnp.float32), DMA]
    fn = pl.pallas_call(
        body, in_specs=[HBM], out_shape=out(8, 128), scratch_shapes=scratch
    )
    trace = pldb.trace(fn, floats(8, 128))
    (found,) = pldb.check(trace, select="PD901").findings
    assert "source of shape (4, 128) and a target of shape (8, 128)" in found.message
    assert "narrow the larger one" in found.hint
    assert found.loc.text.endswith("# four rows of eight")
    assert trace.launches[0].outcome.kind == "unsupported"
