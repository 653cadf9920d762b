"""Variables at events: the values that the user's Python has there."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from session import jax_kernels
from session.jax_kernels import rows

import pallas_debug as pldb
from pallas_debug import errors
from pallas_debug.session import Session, variables
from pallas_debug.trace import dumps, fold, loads


@pytest.fixture(scope="module")
def summed():
    return pldb.trace(jax_kernels.running_sum, rows())


def at_write(session, number):
    session.jump(int(session.find(kind="write", buffer="o_ref")[number]))
    return session.locals


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_variables_of_a_loop_have_the_turns_values(summed, order):
    session = Session(summed)
    for turn in order:
        found = at_write(session, turn)
        np.testing.assert_array_equal(found["row"], rows()[turn])
        np.testing.assert_array_equal(found["acc"], rows()[: turn + 1].sum(0))
        np.testing.assert_array_equal(found["o_ref"][turn], found["acc"])
        np.testing.assert_array_equal(found["x_ref"], rows())


def test_unset_memory_is_what_a_kernel_reads(summed):
    session = Session(summed)
    assert np.isnan(at_write(session, 0)["o_ref"][1]).all()


def test_behind_the_loop_its_result_has_the_name_it_is_given_to(summed):
    found = at_write(Session(summed), 3)
    np.testing.assert_array_equal(found["total"], rows().sum(0))
    np.testing.assert_array_equal(found["scaled"], rows().sum(0) * 2)


def test_changed_ones_are_marked(summed):
    session = Session(summed)
    at_write(session, 0)
    session.jump(int(session.find(kind="write", buffer="o_ref")[1]))
    marks = {n: v.changed for n, v in session.locals.variables.items()}
    assert marks["acc"]
    assert marks["row"]
    assert marks["o_ref"]
    assert not marks["x_ref"]
    assert "* acc: float32[4] = [ 4., 6., 8., 10.]" in repr(session.locals)


def test_variables_of_another_thread_and_of_none(summed):
    session = Session(summed)
    assert dict(session.locals) == {}
    assert "no variables" in repr(session.locals)
    at_write(session, 1)
    assert dict(session.variables(thread=0)) == {} or session.variables(thread=0)


def test_each_block_has_its_own_values():
    x = np.arange(12, dtype=np.float32)
    session = pldb.debug(jax_kernels.blocks, x)
    for event in session.find(kind="write", buffer="o_ref"):
        if session.trace[event].op != "state.set":
            continue
        session.jump(int(event))
        block = session.looking_at.block
        part = x[4 * block : 4 * block + 4] * 2
        np.testing.assert_array_equal(session.locals["value"], part)
        np.testing.assert_array_equal(session.locals["o_ref"], part + block)


@pytest.mark.parametrize("seed", [1, 2])
def test_variables_under_a_random_schedule(seed):
    x = rows(2, 4)
    options = pldb.Options(policy="random", seed=seed)
    session = pldb.debug(jax_kernels.copies, x, options=options)
    session.last()
    session.break_at(op="state.set")
    session.reverse_continue()
    np.testing.assert_array_equal(session.locals["high"], x[1] + 2)
    session.reverse_continue()
    np.testing.assert_array_equal(session.locals["low"], x[0] + 1)


def test_later_launches_have_their_own_values():
    def twice(x):
        return jax_kernels.running_sum(jax_kernels.running_sum(x))

    session = pldb.debug(twice, rows())
    events = session.find(kind="write", buffer="o_ref", launch=1)
    first = np.cumsum(rows(), 0)
    first[0] = 2 * rows().sum(0)
    session.jump(int(events[2]))
    np.testing.assert_allclose(session.locals["acc"], first.sum(0))


def test_a_loaded_trace_says_what_it_needs_and_takes_it(summed):
    session = Session(loads(dumps(summed)))
    session.last()
    session.step()
    session.break_at(op="state.set")
    session.reverse_continue()
    with pytest.raises(errors.NoSource, match="came from a file") as caught:
        session.locals
    assert "session.attach" in caught.value.next_step
    with pytest.raises(errors.OtherKernel, match="fingerprint"):
        session.attach(jax_kernels.not_a_number, rows())
    with pytest.raises(errors.OtherKernel, match="argument `x_ref`"):
        session.attach(jax_kernels.running_sum, rows() + 1)
    session.attach(jax_kernels.running_sum, rows())
    np.testing.assert_array_equal(session.locals["total"], rows().sum(0))


def test_a_replay_that_differs_is_refused(summed):
    options = pldb.Options(max_events=8)
    session = Session(summed, options=options)
    session.last()
    with pytest.raises(errors.OtherReplay):
        session.locals


def test_some_blocks_only_are_executed_again():
    x = np.arange(16, dtype=np.float32)
    trace = pldb.trace(jax_kernels.blocks, x, options=pldb.Options(blocks=[2]))
    session = Session(trace)
    session.last()
    session.break_at(op="state.set")
    session.reverse_continue()
    np.testing.assert_array_equal(session.locals["value"], x[8:12] * 2)


def test_large_memory_is_read_when_it_is_asked_for(summed, monkeypatch):
    monkeypatch.setattr(variables, "LARGE", 4)
    folds = []
    real = variables.read
    monkeypatch.setattr(
        variables, "read", lambda *args: folds.append(args[2]) or real(*args)
    )
    session = Session(summed)
    at_write(session, 0)
    assert "o_ref: ref float32[3, 4] = large; ask for it by name" in repr(
        session.locals
    )
    session.jump(int(session.find(kind="write", buffer="o_ref")[1]))
    found = session.locals
    assert {n: v.changed for n, v in found.variables.items()}.items() >= {
        ("x_ref", False),
        ("o_ref", True),
    }
    assert not folds
    np.testing.assert_array_equal(found["o_ref"][1], rows()[:2].sum(0))
    assert folds == [1]


def test_a_window_is_the_part_that_the_block_sees():
    x = rows(4, 16) + 1
    session = pldb.debug(jax_kernels.normalized, x)
    for block in range(4):
        session.jump(int(session.find(kind="read", buffer="x_ref", block=block)[0]))
        np.testing.assert_array_equal(session.locals["x_ref"], x[block])
        assert session.locals["o_ref"].shape == (16,)
        session.next_thread()
        np.testing.assert_allclose(session.locals["total"], x[block].sum())
    session.jump(int(session.find(kind="read", buffer="x_ref", block=2)[0]))
    run = session.divert("o_ref[3:5]", 7)
    assert run.trace[run.cursor - 1].what == "write o_ref[2, 3:5]"


@pytest.mark.parametrize("limit", [{"values": "none"}, {"max_value_bytes": 20}])
def test_values_that_were_not_recorded_are_executed_again(summed, limit):
    trace = pldb.trace(jax_kernels.running_sum, rows(), options=pldb.Options(**limit))
    full, session = Session(summed), Session(trace)
    assert not fold.recorded(trace, "o_ref").all()
    assert len(full.trace) == len(session.trace)
    for cursor in range(1, len(trace) + 1, 3):
        full.jump(cursor - 1)
        session.jump(cursor - 1)
        assert session.contents("o_ref") == full.contents("o_ref")
        assert repr(session.locals) == repr(full.locals)
        if "o_ref" in session.locals:
            np.testing.assert_array_equal(
                session.evaluate("o_ref[...]"), full.evaluate("o_ref[...]")
            )


def test_what_cannot_be_executed_again_is_said_not_to_be_known():
    options = pldb.Options(values="none")
    trace = loads(dumps(pldb.trace(jax_kernels.running_sum, rows(), options=options)))
    session = Session(trace)
    session.last()
    said = session.contents("o_ref")
    assert "not recorded" in said
    assert "?" in said
    assert "0" not in said.partition("\n")[2]


def test_a_watched_change_is_seen_without_recorded_values():
    options = pldb.Options(values="none")
    session = pldb.debug(jax_kernels.running_sum, rows(), options=options)
    session.watch("o_ref", [1, 0], on="change")
    stop = session.continue_()
    assert "write o_ref" in str(stop)
    assert session.evaluate("o_ref[1, 0]") == rows()[:2, 0].sum()


@pytest.fixture(scope="module")
def copied():
    return pldb.trace(jax_kernels.copies, rows(2, 4))


def test_an_asynchronous_copy_shows_the_references_it_was_started_with(copied):
    session = Session(copied)
    events = session.find(kind=("read", "write"), thread="dma")
    assert len(events)
    for event in events:
        session.jump(int(event))
        row = copied[int(event)]
        refs = {n: v for n, v in session.locals.variables.items() if v.buffer >= 0}
        known = {n: copied.buffer_rows[v.buffer].name for n, v in refs.items()}
        assert set(known) <= {"x_ref", "scratch", "sems"}
        assert all(name == owner for name, owner in known.items())
        assert set(session.locals) == set(refs)
        assert copied.buffer_rows[row.column("object")].name in {*known, "x_ref"}


@pytest.mark.parametrize("kernel", ["copies", "running_sum"])
def test_an_unknown_name_is_answered_with_those_that_have_a_value_here(kernel):
    session = pldb.debug(getattr(jax_kernels, kernel), rows(2, 4))
    refusals: set[frozenset[str]] = set()
    for event in range(len(session.trace)):
        session.jump(event)
        with pytest.raises(errors.BadOption, match="nonsense") as caught:
            session.evaluate("nonsense + 1")
        offered = caught.value.data["choices"]
        here = frozenset(session.locals) or {"block", "event", "thread", "value"}
        assert set(re.findall(r"`(\w+)`", offered)) == here
        assert ("no variable has" in offered) == (not session.locals)
        refusals.add(frozenset(here))
    assert len(refusals) > 1


def staged_by_a_warp(x):
    """One warp starts the copy that its warpgroup waits for."""

    def body(x, o, staged, full):
        @plgpu.warp_map
        def _(warp):
            @pl.when(warp == 0)
            def _():
                plgpu.copy_gmem_to_smem(x, staged, full)

        plgpu.barrier_wait(full)
        o[...] = staged[...] + 1

    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct(x.shape, jnp.float32),
        scratch_types=[plgpu.SMEM(x.shape, jnp.float32), plgpu.Barrier()],
    )(x)


def test_warps_and_their_copies_have_the_names_of_what_they_were_given():
    session = pldb.debug(staged_by_a_warp, np.arange(128, dtype=np.float32))
    seen: dict[str, set[str]] = {"warp": set(), "tma": set()}
    for event in range(len(session.trace)):
        session.jump(event)
        found = session.locals.variables
        for name, one in found.items():
            if one.buffer >= 0:
                assert session.trace.buffer_rows[one.buffer].name == name
        seen.setdefault(session.trace[event].thread.kind, set()).update(found)
    assert seen["tma"] == {"x", "staged", "full"}
    assert seen["warp"] == {"x", "staged", "full"}
    assert seen["warpgroup"] > seen["warp"]


def test_window_keeps_its_name_when_nobody_reads_it_again():
    def kernel(x_ref, y_ref, o_ref):
        half = x_ref[...]
        o_ref[...] = half + y_ref[...]

    spec = pl.BlockSpec((2, 4), lambda i: (i, 0))
    x = jnp.arange(32.0, dtype=jnp.float32).reshape(8, 4)
    call = pl.pallas_call(kernel, grid=(4,), in_specs=[spec, spec], out_specs=spec,
                          out_shape=x)  # fmt: skip
    session = pldb.debug(call, x, -x)
    for block in (0, 2, 3):
        session.jump(int(session.find(kind="write", block=block, buffer="o_ref")[0]))
        for name, sign in (("x_ref", 1), ("y_ref", -1)):
            np.testing.assert_array_equal(
                session.locals[name], sign * x[2 * block : 2 * block + 2]
            )
    line = session.trace[session.cursor - 1].loc.line
    session.break_at(line=line, when="y_ref[0, 0] == -8")
    session.jump(0)
    session.continue_()
    assert session.trace[session.cursor - 1].block == (1,)
