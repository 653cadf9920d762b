"""Inline Mosaic GPU code: what only orders is executed, all else is said to be unknown."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.mosaic import gpu as mgpu
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.extend.mlir import ir
from jaxlib.mlir.dialects import llvm, nvvm
from jaxlink.differential import floats, out, traced

import pallas_debug as pldb
from pallas_debug.jaxlink import inline

POLICIES = ["round-robin", "random", "last-first"]


def assembly(text, *numbers):
    """Emits an instruction of PTX; `$0` is the number."""

    @plgpu.inline_mgpu(arg_types=(plgpu.Layout.WG_SPLAT,) * len(numbers))
    def code(_, *numbers):
        operands = [n.registers[()] for n in numbers]
        kinds = ",".join("r" for _ in operands)
        void = ir.Type.parse("!llvm.void")
        llvm.inline_asm(void, operands, text, kinds, has_side_effects=True)

    code(*numbers)


def on_two_warpgroups(first, second):
    """Warpgroup 0 fills a tile, 1 reads it; they call `first` and `second` between."""

    def kernel(x, o, tile):
        group = lax.axis_index("wg")

        @pl.when(group == 0)
        def _():
            tile[...] = x[...] * 2
            first(group)

        @pl.when(group == 1)
        def _():
            second(group)
            o[...] = tile[...] + 1

    return plgpu.kernel(
        kernel,
        out_type=out(128),
        scratch_types=[plgpu.SMEM((128,), jnp.float32)],
        num_threads=2,
        thread_name="wg",
    )


ORDERED = {
    "sync-on-both-sides": ("bar.sync 1, 256;", "bar.sync 1, 256;"),
    "arrive-here-wait-there": ("bar.arrive 3, 256;", "bar.sync 3, 256;"),
    "the-newer-spelling": ("barrier.cta.arrive 3, 256;", "barrier.cta.sync 3, 256;"),
    "all-threads-of-the-block": ("bar.sync 0;", "bar.sync 0;"),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ORDERED)
def test_named_barrier_orders_two_warpgroups(kind, policy):
    here, there = ORDERED[kind]
    run = on_two_warpgroups(lambda _: assembly(here), lambda _: assembly(there))
    trace = traced(run, floats(128), policy=policy, chip="h100")
    np.testing.assert_array_equal(trace.outputs, floats(128) * 2 + 1)
    assert not pldb.check(trace).errors


@pytest.mark.parametrize("same", [True, False])
def test_number_of_a_named_barrier_may_be_a_value(same):
    run = on_two_warpgroups(
        lambda group: assembly("bar.sync $0, 256;", group + 2),
        lambda group: assembly("bar.sync $0, 256;", group + (1 if same else 2)),
    )
    outcome = "finished" if same else "deadlock"
    trace = traced(run, floats(128), outcome=outcome, chip="h100")
    found = pldb.check(trace, select="PD210").findings
    assert ["named_barrier" in str(f) for f in found] == ([] if same else [True])


@pytest.mark.parametrize("policy", POLICIES)
def test_single_warp_takes_part_in_a_named_barrier(policy):
    def second(group):
        @plgpu.warp_map
        def per_warp(warp):
            @pl.when(warp == 2)
            def _():
                assembly("bar.sync 1, 160;")
                assembly("bar.arrive 2, 160;")

        assembly("bar.sync 4, 128;")
        assembly("bar.sync 3, 256;")

    def first(group):
        assembly("bar.arrive 1, 160;")
        assembly("bar.sync 2, 160;")
        assembly("bar.arrive 3, 256;")

    run = on_two_warpgroups(first, second)
    trace = traced(run, floats(128), policy=policy)
    np.testing.assert_array_equal(trace.outputs, floats(128) * 2 + 1)
    assert not pldb.check(trace).errors


def test_fence_alone_orders_no_two_warpgroups():
    fence = "fence.proxy.async.shared::cta;"
    run = on_two_warpgroups(lambda _: assembly(fence), lambda _: assembly(fence))
    trace = pldb.trace(run, floats(128))
    assert "PD201" in pldb.check(trace).by_code


def test_sync_waits_for_the_phase_in_which_it_takes_part():
    """Warpgroup 0 has taken part before without waiting; it may not run ahead."""

    def kernel(x, o, tile):
        group = lax.axis_index("wg")

        @pl.when(group == 0)
        def _():
            assembly("bar.arrive 1, 256;")
            assembly("bar.sync 2, 256;")
            assembly("bar.sync 1, 256;")
            o[...] = tile[...]

        @pl.when(group == 1)
        def _():
            assembly("bar.sync 1, 256;")
            assembly("bar.sync 2, 256;")
            tile[...] = x[...] * 2
            assembly("bar.arrive 1, 256;")

    run = plgpu.kernel(
        kernel,
        out_type=out(128),
        scratch_types=[plgpu.SMEM((128,), jnp.float32)],
        num_threads=2,
        thread_name="wg",
    )
    for policy in POLICIES:
        trace = traced(run, floats(128), policy=policy)
        np.testing.assert_array_equal(trace.outputs, floats(128) * 2)
        assert not pldb.check(trace).errors


def commits_by_a_fence(_):
    space = nvvm.SharedSpace.shared_cta
    nvvm.fence_proxy(nvvm.ProxyKind.async_shared, space=space)


COMMITS = {
    "operation": plgpu.inline_mgpu()(commits_by_a_fence),
    "assembly": lambda: assembly("fence.proxy.async.shared::cta;"),
    "with-a-barrier": plgpu.inline_mgpu()(lambda _: mgpu.commit_shared()),
    "nothing": lambda: None,
}


@pytest.mark.parametrize("how", COMMITS)
def test_fence_commits_stores_for_a_copy(how):
    def kernel(x, o, tile):
        tile[...] = x[...] * 2
        COMMITS[how]()
        plgpu.copy_smem_to_gmem(tile, o)
        plgpu.wait_smem_to_gmem(0)

    scratch = [plgpu.SMEM((128,), jnp.float32)]
    run = plgpu.kernel(kernel, out_type=out(128), scratch_types=scratch)
    trace = traced(run, floats(128))
    np.testing.assert_array_equal(trace.outputs, floats(128) * 2)
    missing = pldb.check(trace, select="PD203").findings
    assert bool(missing) == (how == "nothing")


def waits_for_loads(_):
    nvvm.tcgen05_wait(nvvm.Tcgen05WaitKind.LOAD)


def waits_for_stores(_):
    nvvm.tcgen05_wait(nvvm.Tcgen05WaitKind.STORE)


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        (waits_for_loads, ["wait-tmem"]),
        (waits_for_stores, ["commit-tmem"]),
        (commits_by_a_fence, ["commit-smem"]),
        (
            lambda _: nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC),
            ["fence"],
        ),
        (lambda _: mgpu.warpgroup_barrier(), ["fence"]),
        (lambda _: None, []),
    ],
)
def test_instructions_that_order_are_understood(code, kinds):
    found = inline.actions(code, 0)
    assert [action.kind for action in found] == kinds


def test_code_that_does_more_ends_in_one_error_at_its_line():
    def kernel(x, o):
        assembly("nanosleep.u32 20;")
        o[...] = x[...]

    run = plgpu.kernel(kernel, out_type=out(128))
    trace = traced(run, floats(128), outcome="unsupported")
    (finding,) = pldb.check(trace, select="PD901").findings
    assert (finding.loc.function, finding.loc.text) == ("assembly", "code(*numbers)")
    trace = traced(run, floats(128), unsupported="stub")
    np.testing.assert_array_equal(trace.outputs, floats(128))
