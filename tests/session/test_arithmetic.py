"""What pure instructions computed: where it is noted, and when nothing is."""

import os
import signal
import threading
import time

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb
from pallas_debug.session import arithmetic as observers
from pallas_debug.trace import dumps, loads
from pallas_debug.trace.arithmetic import arithmetic


def like(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def root(grid):
    """The root of the block's number less two: NaN in the first two blocks."""

    def kernel(x_ref, o_ref):
        i = pl.program_id(0).astype(jnp.float32)
        o_ref[...] = x_ref[...] + jnp.sqrt(i - 2.0)

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(grid,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=like(8 * grid, 128),
    )


def noted(trace, options=None):
    observers.observe(trace, options)
    return arithmetic(trace)


def test_numbers_of_events_threads_and_blocks_are_those_of_the_recording():
    def twice(x):
        return root(4)(root(4)(x) * 0.0)

    trace = pldb.trace(twice, jnp.ones((32, 128)))
    found = noted(trace)
    assert found.launches == {0, 1}
    roots = [one for one in found.oddities if one.op == "lax.sqrt"]
    assert [(one.launch, one.block, one.count) for one in roots] == [
        (0, 0, 2),
        (1, 0, 2),
    ]
    for one in roots:
        assert one.operands == (-2.0,)
        launch = trace.launches[one.launch]
        assert one.event in launch.events
        assert trace.threads[one.thread].launch.number == one.launch
        assert trace.threads[one.thread].kind == "core"
        following = trace[one.event]
        assert following.block == (0,)
        assert following.column("instr") > one.instr


def test_threads_of_a_block_are_told_apart():
    def body(x, o):
        wg = jax.lax.axis_index("wg")
        o[wg] = jnp.sqrt(x[wg])  # negative for the second one

    call = plgpu.kernel(body, out_type=like(2, 128), num_threads=2, thread_name="wg")
    trace = pldb.trace(call, jnp.stack([jnp.ones(128), -jnp.ones(128)]))
    (one,) = noted(trace).oddities
    assert trace.threads[one.thread].name.startswith("warpgroup 1")
    assert (one.elements, one.box) == (128, ((0, 128),))


def test_nothing_runs_again_before_somebody_asks(monkeypatch):
    trace = pldb.trace(root(4), jnp.ones((32, 128)))
    runs = []
    again = observers._again
    monkeypatch.setattr(observers, "_again", lambda *a: runs.append(1) or again(*a))
    observers.observe(trace)
    assert not runs
    arithmetic(trace)
    arithmetic(trace)
    assert len(runs) == 1


@pytest.mark.parametrize("policy", ["round-robin", "random", "last-first"])
def test_every_policy_comes_out_as_recorded(policy):
    options = pldb.Options(policy=policy, seed=5)
    trace = pldb.trace(root(4), jnp.ones((32, 128)), options=options)
    assert noted(trace).launches == {0}


def test_launch_that_comes_out_otherwise_is_not_noted():
    options = pldb.Options(blocks=[1, 3])
    x = jnp.ones((32, 128))
    trace = pldb.trace(root(4), x, options=options)
    assert not noted(trace).launches  # which blocks ran is not in the trace
    trace = pldb.trace(root(4), x, options=options)
    (one,) = noted(trace, options).oddities
    assert (one.block, one.count) == (1, 1)


def test_large_launches_and_files_are_not_executed_again(monkeypatch):
    trace = pldb.trace(root(4), jnp.ones((32, 128)))
    assert not noted(loads(dumps(trace))).launches
    monkeypatch.setattr(observers, "MOST_EVENTS", 8)
    assert not noted(trace).launches


def endless(x_ref, o_ref):
    o_ref[0] = jax.lax.while_loop(lambda c: c > 0, lambda c: c * 0 + 1, x_ref[0])


def record_endless(options, made):
    with pldb.recording(options=options) as recording:
        made.append(recording)
        pl.pallas_call(endless, out_shape=like(8))(jnp.ones(8))


def test_a_loop_without_events_that_was_stopped_is_stopped_there_again():
    press = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def progress(done, total):
        if press.ident is None:
            press.start()

    made = []
    with pytest.raises(KeyboardInterrupt):
        record_endless(pldb.Options(progress=progress), made)
    trace = made[0].trace
    assert trace.launches[0].outcome.kind == "interrupted"
    assert_ends(trace, "PD903")


def test_a_loop_without_events_ends_with_the_clock():
    call = pl.pallas_call(endless, out_shape=like(8))
    options = pldb.Options(max_seconds=0.2)
    trace = pldb.trace(call, jnp.ones(8), options=options)
    assert trace.launches[0].outcome.message == "max_seconds=0.2 reached"
    assert_ends(trace, "PD902")


def assert_ends(trace, code):
    """The checks end, and name the loop."""
    start = time.monotonic()
    (finding,) = [one for one in pldb.check(trace).findings if one.code == code]
    assert time.monotonic() - start < 30
    assert "while_loop" in finding.loc.text
    assert "made no event; they went round this loop" in finding.message


@pytest.mark.parametrize("most", [9, 30])
def test_a_cut_launch_is_noted_up_to_where_it_was_cut(most):
    options = pldb.Options(max_events=most)
    trace = pldb.trace(root(16), jnp.ones((128, 128)), options=options)
    assert trace.launches[0].outcome.kind == "truncated"
    found = noted(trace, options)
    assert found.launches == {0}
    assert [one.op for one in found.oddities] == ["lax.sqrt"]
