"""Checks of numbers on real kernels: each fault, and the twin that differs in one thing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import codes, only
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plt

import pallas_debug as pldb
from pallas_debug.checks import Severity, run_checks
from pallas_debug.trace import dumps, loads

F32, F16, BF16 = jnp.float32, jnp.float16, jnp.bfloat16


def like(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def apply(fn, *shape, dtype=F32):
    """A kernel that stores `fn` of its first input, whole."""

    def kernel(*refs):
        refs[-1][...] = fn(*(ref[...] for ref in refs[:-1]))

    return pl.pallas_call(kernel, out_shape=like(*shape, dtype=dtype))


def divide(x, y):
    return x / y  # the division


def guarded(x, y):
    return x / jnp.where(y == 0, 1.0, y)


def test_zero_over_zero_is_named_with_its_operands():
    x, y = jnp.zeros(8), jnp.asarray([1.0] * 5 + [0.0] * 3)
    finding = only(pldb.check(apply(divide, 8), x, y), "PD401")
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("`div` of 0 and 0 is NaN at element (5,)")
    assert "the division" in finding.loc.text
    assert finding.details["elements"] == ((5, 8),)
    assert finding.details["output_elements"] == ((5, 8),)
    assert not pldb.check(apply(guarded, 8), x, y).findings


def test_nan_that_a_mask_removes_is_none():
    def masked(x, y):
        return jnp.where(y == 0, 0.0, x / y)

    x, y = jnp.zeros(8), jnp.asarray([1.0] * 5 + [0.0] * 3)
    assert not pldb.check(apply(masked, 8), x, y).findings


@pytest.mark.parametrize("other", [None, 0.0])
def test_lanes_that_a_masked_load_leaves_unset_are_named(other, tmp_path):
    def kernel(x, o):
        at = jnp.arange(128)
        row = plt.load(x.at[at], mask=at < 100, other=other)
        plt.store(o.at[at], row / row.sum(), mask=at < 100)

    params = plt.CompilerParams(num_warps=4)
    call = pl.pallas_call(kernel, out_shape=like(100), compiler_params=params)
    trace = pldb.trace(call, jnp.ones(100))
    report = pldb.check(trace, select="PD401")
    if other is not None:
        assert not report.findings
        return
    finding = only(report, "PD401")
    assert "has no `other=`: lanes outside its mask are NaN here" in finding.message
    assert "an `other=` that does not change the result" in finding.hint
    assert "not a file" not in finding.hint
    trace.save(tmp_path / "lanes.pldb")
    (finding,) = pldb.check(pldb.load(tmp_path / "lanes.pldb"), select="PD401").findings
    assert "check the function itself, not a file" in finding.hint


def test_nan_of_an_argument_is_information():
    x = jnp.asarray([1.0, jnp.nan, 2.0])
    finding = only(pldb.check(apply(lambda x: x * 2.0, 3), x), "PD401")
    assert finding.severity is Severity.INFO
    assert "NaN was in" in finding.message
    assert finding.details["output_elements"] == ((1, 2),)


def test_infinity_from_finite_numbers_is_named_and_a_given_one_is_not():
    x, y = jnp.ones(4), jnp.asarray([1.0, 0.0, 2.0, 4.0])
    finding = only(pldb.check(apply(divide, 4), x, y), "PD401")
    assert finding.message.startswith("`div` of 1 and 0 is infinite at element (1,)")
    assert not pldb.check(apply(lambda x: jnp.full((4,), -jnp.inf), 4), x).findings


def test_infinity_that_does_not_reach_an_output_is_none():
    def sigmoid(x):
        return 1.0 / (1.0 + jnp.exp(-x))  # exp(200) is infinite, the result is 0

    assert not pldb.check(apply(sigmoid, 2), jnp.asarray([-200.0, 1.0])).findings


def test_nan_is_followed_over_grid_points_and_scratch_memory():
    def kernel(x_ref, o_ref, best_ref):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            best_ref[...] = jnp.full_like(best_ref, -jnp.inf)

        best_ref[...] = best_ref[...] - x_ref[...]  # -inf - -inf in the second block

        @pl.when(i == 2)
        def _():
            o_ref[...] = best_ref[...]

    call = pl.pallas_call(
        kernel,
        grid=(3,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        out_shape=like(8, 128),
        scratch_shapes=[pltpu.VMEM((8, 128), F32)],
    )
    x = jnp.zeros((24, 128)).at[8, 5].set(-jnp.inf)
    finding = only(pldb.check(call, x), "PD401")
    assert finding.message.startswith("`sub` of -inf and -inf is NaN at element (0, 5)")
    assert (finding.block, finding.count) == ((1,), 1)
    lines = [step["text"].partition("[")[0] for step in finding.details["path"]]
    assert lines[:2] == ["sub", "write best_ref"]
    assert lines[-1] == "write o_ref"
    assert not pldb.check(call, jnp.zeros((24, 128))).errors


def test_file_names_the_write_and_what_it_had_read():
    x, y = jnp.zeros(8), jnp.zeros(8)
    trace = loads(dumps(pldb.trace(apply(divide, 8), x, y)))
    finding = only(run_checks(trace, "PD4"), "PD401")
    assert finding.message.startswith("writes the first NaN that reaches")
    assert len(finding.details["reads"]) == 2


def scaled(factor, dtype):
    return lambda x: (x * factor).astype(dtype)


def test_overflow_of_a_cast_to_half_precision():
    x = jnp.asarray([1.0, 100.0])
    finding = only(pldb.check(apply(scaled(1e3, F16), 2, dtype=F16), x), "PD402")
    assert "of 100000 gives inf in float16, whose largest number is 65504" in (
        finding.message
    )
    assert finding.details["elements"] == ((1, 2),)
    assert not pldb.check(apply(scaled(1e2, F16), 2, dtype=F16), x).findings
    assert not pldb.check(apply(scaled(1e3, BF16), 2, dtype=BF16), x).findings


def test_overflow_of_a_float8_without_infinity_is_no_nan_from_nowhere():
    f8 = jnp.float8_e4m3fn
    x = jnp.asarray([1.0, 1000.0])
    report = pldb.check(apply(scaled(1.0, f8), 2, dtype=f8), x)
    assert "float8_e4m3fn, whose largest number is 448" in only(report, "PD402").message
    assert not pldb.check(apply(scaled(0.25, f8), 2, dtype=f8), x).findings


def test_overflow_of_a_product_in_half_precision():
    x = jnp.asarray([2.0, 300.0], F16)
    finding = only(pldb.check(apply(lambda x: x * x, 2, dtype=F16), x), "PD402")
    assert finding.details["op"] in ("lax.mul", "lax.square", "lax.integer_pow")
    assert not pldb.check(apply(lambda x: x * 2, 2, dtype=F16), x).findings


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        (300.0, jnp.int8, "`convert_element_type` of 300 to int8 gives 127"),
        (float("nan"), jnp.int32, "of nan to int32 gives 0"),
        (-1.0, jnp.uint8, "of -1 to uint8 gives 0"),
        (70000, jnp.int16, "of 70000 to int16 gives 4464"),
    ],
)
def test_cast_of_a_number_that_does_not_fit(value, dtype, words):
    x = jnp.asarray([1, value])
    cast = apply(lambda x: x.astype(dtype), 2, dtype=dtype)
    assert words in only(pldb.check(cast, x), "PD403").message
    assert not pldb.check(cast, jnp.asarray([1, 100], x.dtype)).findings


def running(dtype):
    """Adds rows to a reference, one grid point each."""

    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...].astype(dtype)  # the sum

    return pl.pallas_call(
        kernel,
        grid=(400,),
        in_specs=[pl.BlockSpec((1, 8), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 8), lambda i: (0, 0)),
        out_shape=like(1, 8, dtype=dtype),
    )


def carried(dtype):
    """The same with a loop's carry."""

    def kernel(x_ref, o_ref):
        def add(i, total):
            return total + x_ref[i].astype(dtype)  # the sum

        o_ref[...] = jax.lax.fori_loop(0, 400, add, jnp.zeros(8, dtype))

    return pl.pallas_call(kernel, out_shape=like(8, dtype=dtype))


@pytest.mark.parametrize("make", [running, carried])
def test_sum_in_bfloat16_swallows_its_terms(make):
    x = jnp.ones((400, 8))
    finding = only(pldb.check(make(BF16), x), "PD404")
    assert "the sum in bfloat16 swallows its terms: 256 + 1 is 256" in finding.message
    assert "the sum" in finding.loc.text
    assert finding.message.endswith(", 8 elements, 144 times")
    assert not pldb.check(make(F32), x).findings


def kept_short(dtype):
    """Adds in float32 and casts after each addition."""

    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] = (o_ref[...].astype(F32) + x_ref[...]).astype(dtype)  # the sum

    return pl.pallas_call(
        kernel,
        grid=(400,),
        in_specs=[pl.BlockSpec((1, 8), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 8), lambda i: (0, 0)),
        out_shape=like(1, 8, dtype=dtype),
    )


@pytest.mark.parametrize("make", [running, carried, kept_short])
def test_sum_in_float16_loses_a_part_of_each_term(make):
    x = jnp.full((400, 8), 1.4)
    finding = only(pldb.check(make(F16), x), "PD404")
    assert "the sum in float16 loses 3% of its terms to rounding" in finding.message
    assert "after 400 additions it is 578, in float64 560" in finding.message
    assert "the sum" in finding.loc.text
    assert not pldb.check(make(F32), x).findings
    assert not pldb.check(make(F16), jnp.ones((400, 8))).findings


@pytest.mark.parametrize("make", [running, carried, kept_short])
def test_sum_whose_roundings_cancel_is_no_finding(make):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(400, 8)), F32)
    assert not pldb.check(make(BF16), x).findings


def test_sum_that_is_scaled_in_between_begins_anew():
    def kernel(x_ref, o_ref):
        def add(i, total):
            return total * jnp.asarray(0.5, F16) + x_ref[i].astype(F16)

        o_ref[...] = jax.lax.fori_loop(0, 400, add, jnp.zeros(8, F16))

    call = pl.pallas_call(kernel, out_shape=like(8, dtype=F16))
    assert not pldb.check(call, jnp.full((400, 8), 1.4)).findings


def test_small_term_of_a_single_addition_is_no_lost_sum():
    x = jnp.ones((8,), BF16)
    assert not pldb.check(apply(lambda x: x + 1e-6, 8, dtype=BF16), x).findings


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (lambda x: x * x, "gives 1410065408 in int32"),
        (lambda x: x + 2_147_400_000, "gives -2147467296 in int32"),
        (lambda x: -2_147_400_000 - x, "gives 2147467296 in int32"),
    ],
)
def test_signed_overflow(fn, words):
    x = jnp.asarray([1, 100_000], jnp.int32)
    finding = only(pldb.check(apply(fn, 2, dtype=jnp.int32), x), "PD405")
    assert words in finding.message
    assert not pldb.check(apply(fn, 2, dtype=jnp.int32), x[:1].repeat(2)).findings


def contracted(out, batch=False):
    """Products of int8, summed in another dtype."""
    dims = (((2,), (1,)), ((0,), (0,))) if batch else (((1,), (0,)), ((), ()))

    def kernel(a, b, o):
        o[...] = jax.lax.dot_general(a[...], b[...], dims, preferred_element_type=out)

    shape = (2, 32, 128) if batch else (32, 128)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(shape, out))


@pytest.mark.parametrize("batch", [False, True])
def test_sum_of_products_that_wraps_in_a_short_integer(batch):
    lead = (2,) if batch else ()
    a, b = jnp.ones((*lead, 32, 64), jnp.int8), jnp.ones((*lead, 64, 128), jnp.int8)
    large = a.at[..., 3, :].set(2)
    finding = only(pldb.check(contracted(jnp.int8, batch), large, b), "PD405")
    at = (*[0] * batch, 3, 0)
    said = (
        f"a sum of products is 128; `dot_general` gives -128 in int8, at element {at}"
    )
    assert said in finding.message
    assert "preferred_element_type" in finding.hint
    # It is the sum that counts, not what it might have been; and longer ones may wrap.
    assert not pldb.check(contracted(jnp.int8, batch), a, b).findings
    for wider in (jnp.int16, jnp.int32, jnp.uint8):
        assert not pldb.check(contracted(wider, batch), large, b).findings


def test_unsigned_integers_may_wrap():
    x = jnp.asarray([1, 100_000], jnp.uint32)
    square = apply(lambda x: x * x, 2, dtype=jnp.uint32)
    assert not pldb.check(square, x).findings


def test_checks_of_numbers_hold_for_a_random_schedule():
    x, y = jnp.zeros(8), jnp.zeros(8)
    options = pldb.Options(policy="random", seed=3)
    report = pldb.check(apply(divide, 8), x, y, options=options)
    assert codes(report) == ["PD401"]
    assert report.findings[0].details["op"] == "lax.div"


def test_nan_is_followed_through_shared_memory_and_copies():
    def body(x, o, inward, outward, barrier):
        plgpu.copy_gmem_to_smem(x, inward, barrier)
        plgpu.barrier_wait(barrier)
        value = inward[...]
        outward[...] = value / (value - value)  # zero over zero at element 0
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(outward, o)
        plgpu.wait_smem_to_gmem(0)

    smem = plgpu.SMEM((128,), F32)
    scratch = [smem, smem, plgpu.Barrier()]
    call = plgpu.kernel(body, out_type=like(128), scratch_types=scratch)
    nan = only(pldb.check(call, jnp.arange(128.0), select="PD4"), "PD401")
    assert nan.message.startswith("`div` of 0 and 0 is NaN at element (0,)")
    assert "zero over zero" in nan.loc.text
    assert nan.count == 2  # the infinities of the same line, too
    steps = [step["text"].partition("[")[0] for step in nan.details["path"]]
    assert steps == [
        "div",
        "write outward",
        "read outward",
        "write o",
    ]
