"""The portability table says what the installed JAX really does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import pallas_debug as pldb
from pallas_debug import gallery


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
