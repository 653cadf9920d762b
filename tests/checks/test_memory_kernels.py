"""Memory checks on real kernels: each fault, and the twin that differs in one thing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import only
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton

import pallas_debug as pldb
from pallas_debug.checks import Severity, run_checks
from pallas_debug.trace import dumps, loads

F32 = jnp.float32
TPU = pldb.Options(chip="v5e")


def like(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def numbers(*shape, dtype=F32):
    return jnp.arange(np.prod(shape), dtype=dtype).reshape(shape)


def blocks(rows, written, grid=(4,)):
    """Writes the first `written` rows of each of its blocks."""

    def kernel(x_ref, o_ref):
        o_ref[:written] = x_ref[:written]

    spec = pl.BlockSpec((rows, 8), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=grid, in_specs=[spec], out_specs=spec, out_shape=like(4 * rows, 8)
    )


@pytest.mark.parametrize("options", [None, TPU])
def test_block_that_is_not_filled_is_never_written(options):
    x = numbers(32, 8)
    finding = only(pldb.check(blocks(8, 6), x, options=options), "PD103")
    assert finding.details["elements"][0] == ((6, 8), (14, 16), (22, 24), (30, 32))
    assert (finding.details["missing"], finding.block) == (64, (0,))
    assert finding.loc.text.strip() == "o_ref[:written] = x_ref[:written]"
    assert not pldb.check(blocks(8, 8), x, options=options).findings


def test_block_that_no_grid_point_visits_is_never_written():
    x = numbers(32, 8)
    finding = only(pldb.check(blocks(8, 8, grid=(3,)), x), "PD103")
    assert finding.details["elements"] == (((24, 32),), ((0, 8),))


def test_part_of_the_grid_is_not_judged_for_what_the_rest_writes():
    options = pldb.Options(blocks=[0, 2])
    report = pldb.check(blocks(8, 8), numbers(32, 8), options=options)
    assert [one.code for one in report.findings] == ["PD907"]


def test_overhanging_block_writes_all_that_exists():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    spec = pl.BlockSpec((8, 8), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=like(12, 8)
    )
    assert not pldb.check(call, numbers(12, 8)).findings


def accumulate(semantics, whole=False):
    """A sum over the outer axis; `whole` writes the block anew at each visit."""

    def kernel(x_ref, o_ref):
        if whole:
            o_ref[...] = x_ref[...]
        else:
            first = jnp.where(pl.program_id(0) == 0, 0.0, o_ref[...])
            o_ref[...] = first + x_ref[...]

    return pl.pallas_call(
        kernel,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((None, 8, 128), lambda g, r: (g, r, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda g, r: (r, 0)),
        out_shape=like(16, 128),
        compiler_params=pltpu.CompilerParams(dimension_semantics=semantics),
    )


def test_block_that_is_come_back_to_and_written_whole_is_a_warning():
    both = ("arbitrary", "arbitrary")
    x = numbers(2, 16, 128)
    again = pldb.check(accumulate(both, whole=True), x)
    assert only(again, "PD104").severity is Severity.WARNING
    lost = pldb.check(accumulate(both), x)
    assert only(lost, "PD104").severity is Severity.ERROR


def shared(semantics):
    """All points of the last axis add to one block."""

    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    return pl.pallas_call(
        kernel,
        grid=(2, 3),
        in_specs=[pl.BlockSpec((None, 8, 128), lambda r, g: (g, r, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda r, g: (r, 0)),
        out_shape=like(16, 128),
        compiler_params=pltpu.CompilerParams(dimension_semantics=semantics),
    )


def test_parallel_axis_whose_points_share_a_block_is_a_warning():
    x = numbers(3, 16, 128)
    finding = only(pldb.check(shared(("parallel", "parallel")), x), "PD104")
    assert finding.severity is Severity.WARNING
    assert "belongs to grid points that differ along a parallel axis" in finding.message
    trace = pldb.trace(shared(("parallel", "arbitrary")), x)
    assert not run_checks(trace).findings
    np.testing.assert_allclose(trace.outputs, np.asarray(x).sum(0))


def in_place(before):
    def kernel(x_ref, o_ref):
        if before:
            total = jnp.sum(x_ref[...])
            o_ref[0:4] = x_ref[0:4] + 1.0
        else:
            o_ref[0:4] = x_ref[0:4] + 1.0
            total = jnp.sum(x_ref[...])
        o_ref[4:8] = jnp.full((4,), total)

    return pl.pallas_call(kernel, out_shape=like(8), input_output_aliases={0: 0})


def test_aliased_input_read_after_the_write_of_its_output():
    x = numbers(8)
    finding = only(pldb.check(in_place(before=False), x), "PD105")
    assert finding.severity is Severity.WARNING
    assert (finding.buffer, finding.details["output"]) == ("x_ref", "o_ref")
    assert "total = jnp.sum(x_ref[...])" in finding.loc.text
    assert not pldb.check(in_place(before=True), x).findings


def scoped(wait):
    """Two scratch buffers one after the other: the second may get the first's bytes."""

    def body(x, o):
        def first(one):
            one[...] = x[...]
            plgpu.commit_smem()
            plgpu.copy_smem_to_gmem(one, o.at[0])
            if wait:
                plgpu.wait_smem_to_gmem(0)

        def second(two):
            two[...] = x[...] * 2.0
            plgpu.commit_smem()
            plgpu.copy_smem_to_gmem(two, o.at[1])
            plgpu.wait_smem_to_gmem(0)

        pl.run_scoped(first, plgpu.SMEM((128,), F32))
        pl.run_scoped(second, plgpu.SMEM((128,), F32))

    return plgpu.kernel(body, out_type=like(2, 128))


def test_copy_out_of_memory_that_the_next_scope_may_take():
    x = numbers(128)
    finding = only(run_checks(pldb.trace(scoped(wait=False), x), "PD107"), "PD107")
    assert finding.severity is Severity.ERROR
    assert finding.buffer == "one"
    assert "before `two` gets its memory" in finding.message
    trace = pldb.trace(scoped(wait=True), x)
    assert not run_checks(trace, "PD1").findings
    np.testing.assert_array_equal(trace.outputs, [np.arange(128), 2.0 * np.arange(128)])


def shared_scopes(wait):
    """One warpgroup copies out of the first scope, the other writes in the second."""

    def body(x, o):
        who = lax.axis_index("wg")

        def first(one):
            @pl.when(who == 0)
            def _():
                one[...] = x[...]
                plgpu.commit_smem()
                plgpu.copy_smem_to_gmem(one, o.at[0])

        def second(two):
            @pl.when(who == 1)
            def _():
                two[...] = x[...] * 2.0
                plgpu.commit_smem()
                plgpu.copy_smem_to_gmem(two, o.at[1])
                plgpu.wait_smem_to_gmem(0)

        pl.run_scoped(first, plgpu.SMEM((128,), F32), collective_axes="wg")
        if wait:
            plgpu.wait_smem_to_gmem(0)
        pl.run_scoped(second, plgpu.SMEM((128,), F32), collective_axes="wg")

    mesh = {"num_threads": 2, "thread_name": "wg"}
    return plgpu.kernel(body, out_type=like(2, 128), **mesh)


def test_warpgroups_meet_before_a_scope_may_take_memory_again():
    x = numbers(128)
    finding = only(
        run_checks(pldb.trace(shared_scopes(wait=False), x), "PD107"), "PD107"
    )
    assert finding.severity is Severity.ERROR
    trace = pldb.trace(shared_scopes(wait=True), x)
    found = run_checks(trace, ("PD1", "PD2")).findings
    assert {(one.code, one.severity) for one in found} == {("PD107", Severity.INFO)}
    np.testing.assert_array_equal(trace.outputs, [np.arange(128), 2.0 * np.arange(128)])


def padded_rows(reduce_rows):
    """Sums along the padded dimension, or along the other one."""

    def kernel(x_ref, o_ref):
        if reduce_rows:
            o_ref[...] = jnp.broadcast_to(jnp.sum(x_ref[...], 0, keepdims=True), (8, 8))
        else:
            o_ref[...] = jnp.broadcast_to(jnp.sum(x_ref[...], 1, keepdims=True), (8, 8))

    spec = pl.BlockSpec((8, 8), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=like(12, 8)
    )


def test_padding_counts_only_where_it_reaches_an_element_that_exists():
    x = numbers(12, 8)
    finding = only(pldb.check(padded_rows(True), x), "PD106")
    assert finding.details["elements"] == ((4, 8), (0, 8))
    assert finding.details["output_elements"] == ((8, 12), (0, 8))
    assert finding.block == (1,)
    assert not pldb.check(padded_rows(False), x).findings


def padded(low, high, scale=1.0):
    """A block that asks for padding on both sides of its array, copied."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * scale

    rows = 8 + low + high
    shape = pl.Element(rows, (low, high)), pl.Element(128)
    return pl.pallas_call(
        kernel,
        grid=(1,),
        in_specs=[pl.BlockSpec(shape, lambda i: (0, 0))],
        out_specs=pl.BlockSpec((rows, 128), lambda i: (0, 0)),
        out_shape=like(rows, 128),
    )


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (4, 4, "[0:4 and 12:16, 0:128] is padding before the start and past the end"),
        (4, 0, "[0:4, 0:128] is padding before the start"),
        (0, 4, "[8:12, 0:128] is padding past the end"),
    ],
)
def test_padding_is_told_by_its_side_and_by_what_takes_it(low, high, said):
    finding = only(pldb.check(padded(low, high), numbers(8, 128)), "PD106")
    assert f"`x_ref`{said} of the array" in finding.message
    assert finding.hint.startswith("store only what the array has")
    summed = only(pldb.check(padded_rows(True), numbers(12, 8)), "PD106")
    assert summed.hint.startswith("mask the padding of every operand")
    assert not pldb.check(padded(0, 0), numbers(8, 128)).findings


def test_padding_is_followed_through_scratch_memory():
    def kernel(x_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.sum(x_ref[...], 0, keepdims=True)

        @pl.when(pl.program_id(0) == 2)
        def _():
            o_ref[...] = acc_ref[...] * 2.0

    call = pl.pallas_call(
        kernel,
        grid=(3,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 128), lambda i: (0, 0)),
        out_shape=like(1, 128),
        scratch_shapes=[pltpu.VMEM((1, 128), F32)],
    )
    finding = only(pldb.check(call, numbers(20, 128)), "PD106")
    assert finding.buffer == "x_ref"
    steps = [step["text"].partition("[")[0] for step in finding.details["path"]]
    assert steps[:3] == ["write acc_ref", "read acc_ref", "write o_ref"]


def masked_update(rows, scale):
    """Keeps what `o_ref` holds below `rows`; `scale` uses it for more than that."""

    def kernel(x_ref, o_ref):
        row = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 0)
        old = o_ref[...]
        o_ref[...] = jnp.where(row < rows, x_ref[...], old * 2.0 if scale else old)

    return pl.pallas_call(kernel, out_shape=like(8, 128))


def test_masked_update_of_unset_memory_is_information():
    x = numbers(8, 128)
    finding = only(pldb.check(masked_update(8, scale=False), x), "PD102")
    assert finding.severity is Severity.INFO
    finding = only(pldb.check(masked_update(8, scale=True), x), "PD102")
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("; no NaN of it is in the outputs")
    used = only(pldb.check(masked_update(6, scale=True), x), "PD102")
    assert used.severity is Severity.ERROR
    spread = pldb.check(masked_update(6, scale=False), x)
    assert only(spread, "PD102").severity is Severity.INFO
    assert only(spread, "PD401").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("call", "rows"), [(blocks(8, 6), 32), (padded_rows(True), 12), (scoped(False), 0)]
)
def test_a_file_gets_the_same_verdict(call, rows):
    trace = pldb.trace(call, numbers(rows, 8) if rows else numbers(128))
    assert run_checks(loads(dumps(trace))).findings == run_checks(trace).findings


def first_tile(dtype, *, clears):
    """The first of two tiles looks at scratch that the one before it fills."""

    def kernel(x_ref, o_ref, last_ref):
        first = pl.program_id(0) == 0
        last = last_ref[...] * 2
        o_ref[...] = x_ref[...] + (jnp.where(first, 0, last) if clears else last)
        last_ref[...] = x_ref[...]

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[block],
        out_specs=block,
        out_shape=like(16, 128, dtype=dtype),
        scratch_shapes=[pltpu.VMEM((8, 128), dtype)],
    )


@pytest.mark.parametrize(
    ("dtype", "clears", "severity"),
    [
        (F32, True, Severity.WARNING),
        (jnp.bfloat16, True, Severity.WARNING),
        (F32, False, Severity.ERROR),
        (jnp.int32, True, Severity.ERROR),  # no NaN to look for
    ],
)
def test_unset_value_that_is_dropped_is_a_warning(dtype, clears, severity):
    x = jnp.ones((16, 128), dtype)
    finding = only(pldb.check(first_tile(dtype, clears=clears), x), "PD102")
    assert finding.severity is severity


@pytest.mark.parametrize(("masked", "severity"), [(True, "warning"), (False, "error")])
def test_read_that_overhangs_and_is_dropped_is_a_warning(masked, severity):
    """A Triton-style block reads past the end; the store leaves these rows out."""

    def kernel(x_ref, o_ref):
        value = triton.load(x_ref)
        rows = jnp.arange(64) < 40
        kept = jnp.sum(jnp.where(rows, value, 0)) if masked else jnp.sum(value)
        triton.store(o_ref, jnp.broadcast_to(kept, (64,)), mask=rows)

    block = pl.BlockSpec((64,), lambda: (0,))
    call = pl.pallas_call(
        kernel,
        in_specs=[block],
        out_specs=block,
        out_shape=like(40),
        compiler_params=triton.CompilerParams(),
    )
    report = pldb.check(call, jnp.ones(40, F32))
    assert only(report, "PD101").severity == severity
