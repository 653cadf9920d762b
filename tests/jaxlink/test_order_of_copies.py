"""Copies and stores of global memory, and copies that share a semaphore or barrier."""

import numpy as np
import pytest
from jaxlink import order_kernels

import pallas_debug as pldb

FAULTS = {
    "copy_of_a_fresh_store": ("PD205", "plgpu.copy_gmem_to_smem(o_ref", "two launches"),
    "read_back_too_early": ("PD201", "smem[...] = o_ref[...] + 1", "not read-only"),
    "copies_on_one_barrier": ("PD201", "first = a_smem[...]", "which of them is over"),
    "copies_on_one_semaphore": ("PD201", "o_ref[0] = a_vmem[...]", "which of them"),
}


def judged(name, fixed):
    fn, args = getattr(order_kernels, name)(fixed)
    trace = pldb.trace(fn, *args)
    assert trace.launches[0].outcome.kind == "finished"
    return trace, pldb.check(trace)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_at_its_line_with_a_way_out(name):
    code, line, hint = FAULTS[name]
    _, report = judged(name, False)
    assert code in report.by_code, report
    first = report.by_code[code][0]
    assert line in first.loc.text
    assert hint in first.hint
    assert first.other is not None


@pytest.mark.parametrize("name", [*FAULTS, "all_copies_of_one_semaphore"])
def test_fixed_twin_is_silent_and_right(name):
    trace, report = judged(name, True)
    assert not report.errors, report
    assert not report.warnings, report
    x = np.asarray(order_kernels.X)
    expected = {
        "copy_of_a_fresh_store": 2 * x + 1,
        "read_back_too_early": 2 * x + 1,
        "copies_on_one_barrier": 2 * x,
    }.get(name, np.asarray(order_kernels.TILES))
    np.testing.assert_array_equal(trace.outputs, expected)
