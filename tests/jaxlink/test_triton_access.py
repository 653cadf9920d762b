"""Masks, gathers and atomics of Triton-style kernels, and what they print."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxlink.differential import agree, call, floats, out, same, traced

import pallas_debug as pldb

TRITON = plgpu.CompilerParams()


def test_masked_loads_take_other_and_touch_nothing_outside():
    def body(x_ref, o_ref):
        index = pl.program_id(0) * 4 + jnp.arange(4, dtype=jnp.int32)
        inside = index < 6
        x = plgpu.load(x_ref.at[index], mask=inside, other=-1.0)
        plgpu.store(o_ref.at[index], x * 2.0, mask=inside)

    kernel = pl.pallas_call(body, grid=(2,), out_shape=out(6), compiler_params=TRITON)
    trace = traced(kernel, floats(6))
    same(trace.outputs, floats(6) * 2)
    touched = [trace.region(int(r)) for r in trace.columns.region if r >= 0]
    for region in touched:
        if region.elements is not None:
            assert ((region.elements >= 0) & (region.elements < 6)).all()


def test_masked_slices_agree():
    def body(x_ref, o_ref):
        mask = x_ref[...] > 3.0
        x = plgpu.load(x_ref.at[pl.ds(0, 8)], mask=mask, other=0.5)
        o_ref[...] = jnp.zeros_like(o_ref)
        plgpu.store(o_ref.at[pl.ds(0, 8)], x, mask=~mask)

    agree(call(body, out_shape=out(8), compiler_params=TRITON), floats(8))


def test_a_gather_beyond_the_end_reads_unset_and_stores_nothing():
    def body(i_ref, x_ref, o_ref, y_ref):
        o_ref[...] = x_ref[i_ref[...]]
        y_ref[...] = x_ref[...]
        y_ref[i_ref[...]] = o_ref[...]

    kernel = pl.pallas_call(body, out_shape=[out(3), out(8)], compiler_params=TRITON)
    index = jnp.asarray([1, 9, 7], jnp.int32)
    first, second = traced(kernel, index, floats(8)).outputs
    same(first, np.array([1, np.nan, 7], np.float32))
    same(second, floats(8))


def test_masked_lanes_of_a_repeated_index_do_not_undo_the_others():
    def body(i_ref, x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        mask = jnp.arange(4, dtype=jnp.int32) < 2
        plgpu.store(o_ref.at[i_ref[...]], x_ref[...], mask=mask)

    kernel = pl.pallas_call(body, out_shape=out(8), compiler_params=TRITON)
    index = jnp.asarray([1, 2, 1, 2], jnp.int32)
    expected = np.zeros(8, np.float32)
    expected[1:3] = [1, 2]
    same(traced(kernel, index, floats(4) + 1).outputs, expected)


OPERATIONS = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("masked", [False, True])
def test_every_lane_of_an_atomic_lands(name, masked):
    index = np.array([3, 1, 3, 3, 0, 1], np.int32)
    value = np.array([5, 2, 12, 9, 6, 4], np.int32)
    mask = np.arange(6) != 2 if masked else np.ones(6, bool)

    def body(i_ref, v_ref, m_ref, y_ref, o_ref, old_ref):
        del y_ref
        atomic = getattr(plgpu, f"atomic_{name}")
        old_ref[...] = atomic(o_ref, i_ref[...], v_ref[...], mask=m_ref[...])

    start = np.array([7, 7, 7, 7], np.int32)
    kernel = pl.pallas_call(
        body,
        out_shape=[out(4, dtype=np.int32), out(6, dtype=np.int32)],
        input_output_aliases={3: 0},
        compiler_params=TRITON,
    )
    expected, seen = start.copy(), np.zeros(6, np.int32)
    for lane in range(6):
        seen[lane] = expected[index[lane]]
        if mask[lane]:
            expected[index[lane]] = OPERATIONS[name](seen[lane], value[lane])
    trace = traced(kernel, *map(jnp.asarray, (index, value, mask, start)))
    actual, old = trace.outputs
    same(actual, expected)
    same(np.asarray(old)[mask], seen[mask])
    assert len(trace.events.where(kind="update")) == 1


def test_exchange_and_compare_and_swap_between_programs():
    def body(lock_ref, count_ref, o_ref, c_ref):
        del lock_ref, count_ref
        old = plgpu.atomic_cas(o_ref, 0, 1)
        plgpu.atomic_add(c_ref, (), jnp.where(old == 0, 1, 10))
        plgpu.atomic_xchg(o_ref, (), 0)

    scalar = jax.ShapeDtypeStruct((), jnp.int32)
    kernel = pl.pallas_call(
        body,
        grid=(3,),
        out_shape=[scalar, scalar],
        input_output_aliases={0: 0, 1: 1},
        compiler_params=TRITON,
    )
    trace = traced(kernel, jnp.int32(0), jnp.int32(0))
    same(trace.outputs, [np.int32(0), np.int32(3)])
    assert len(trace.events.where(kind="update")) == 9


def test_atomics_of_every_program_land_in_any_order():
    def body(y_ref, o_ref):
        del y_ref
        plgpu.atomic_add(o_ref, pl.program_id(0) % 2, pl.program_id(0))
        plgpu.debug_barrier()

    kernel = pl.pallas_call(
        body,
        grid=(6,),
        out_shape=out(2, dtype=np.int32),
        input_output_aliases={0: 0},
        compiler_params=TRITON,
    )
    zeros = jnp.zeros(2, jnp.int32)
    trace = traced(kernel, zeros, policy="random", resident=3)
    same(trace.outputs, np.array([6, 9], np.int32))


@pytest.mark.parametrize(
    ("fmt", "printed"),
    [
        ("x is {}", "x is [0. 1. 2. 3.]"),
        ("{} then {n}", "[0. 1. 2. 3.] then 4"),
        ("values:", "values: [0. 1. 2. 3.]"),
    ],
)
def test_prints_are_formatted_as_jax_does(fmt, printed):
    def body(x_ref, o_ref):
        named = {"n": 4} if "{n}" in fmt else {}
        jax.debug.print(fmt, x_ref[...], skip_format_check=True, **named)
        o_ref[...] = x_ref[...]

    kernel = pl.pallas_call(body, out_shape=out(4))
    trace = traced(kernel, floats(4))
    assert trace.texts == (printed,)
    assert len(trace.events.where(kind="print")) == 1


def test_debug_print_of_pallas_says_it_for_each_program():
    def body(x_ref, o_ref):
        pl.debug_print("program {}", pl.program_id(0))
        o_ref[...] = x_ref[...]

    kernel = pl.pallas_call(body, grid=(2,), out_shape=out(4))
    assert traced(kernel, floats(4)).texts == ("program 0", "program 1")


@pytest.mark.parametrize("limit", [2.0, 9.0])
def test_a_check_is_recorded_with_its_message(limit):
    def body(x_ref, o_ref):
        pl.debug_check(jnp.all(x_ref[...] < limit), "x is too large")
        o_ref[...] = x_ref[...]

    with pl.enable_debug_checks(True):
        trace = traced(pl.pallas_call(body, out_shape=out(4)), floats(4))
    (seq,) = trace.events.where(kind="assert")
    if limit == 9.0:
        assert trace.events[seq].what == "assert held"
        assert not pldb.check(trace).findings
        return
    assert trace.events[seq].what == "assert failed: 'x is too large'"
    (finding,) = pldb.check(trace).findings
    assert (finding.code, str(finding.severity)) == ("PD501", "error")
    assert finding.message == '`pl.debug_check` failed: "x is too large"'
    assert "pl.debug_check" in finding.loc.text
