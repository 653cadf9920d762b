"""What-if runs: they differ by what was edited, and touch nothing else."""

import numpy as np
import pytest
from session import jax_kernels
from session.jax_kernels import rows

import pallas_debug as pldb
from pallas_debug import errors
from pallas_debug.checks import Finding
from pallas_debug.session import Session
from pallas_debug.trace import close, dumps, fold


@pytest.fixture
def session():
    return pldb.debug(jax_kernels.running_sum, rows())


def to_write(session, number, buffer="o_ref"):
    events = session.find(kind="write", buffer=buffer, op="state.set")
    return session.jump(int(events[number]))


def test_a_register_goes_on_with_its_new_value(session):
    before = dumps(session.trace)
    to_write(session, 0)
    run = session.divert("acc", 100)
    expected = 100 + rows()[1:].cumsum(0)
    np.testing.assert_array_equal(run.outputs[0][1:], expected)
    np.testing.assert_array_equal(run.outputs[0][0], 2 * expected[-1])
    assert run.label == f"what if acc=100 at #{session.cursor - 1}"
    assert run.outcome == "finished"
    assert dumps(session.trace) == before
    np.testing.assert_array_equal(
        fold.memory(session.trace, 1).values[1:], rows().cumsum(0)[1:]
    )


def test_a_part_of_a_register(session):
    to_write(session, 1)
    run = session.divert("acc[2:4]", [-1, -2])
    last = np.array([4, 6, -1, -2]) + rows()[2]
    np.testing.assert_array_equal(run.outputs[0][2], last)
    assert "acc[2:4]" in run.label


def test_memory_through_a_reference_and_by_name(session):
    to_write(session, 0)
    for run in (
        session.divert("x_ref[2, 0:2]", 0),
        session.divert("x_ref", np.array([0, 0]), part="[2, 0:2]"),
        session.divert(session.trace.buffers[0], 0, part=[2, slice(0, 2)]),
    ):
        last = rows()[:2].sum(0) + np.array([0, 0, 10, 11])
        np.testing.assert_array_equal(run.outputs[0][2], last)
        edit = run.trace[run.cursor - 1]
        assert edit.what == "write x_ref[2, 0:2]"
        assert run.cursor == session.cursor + 1
    assert [one.number for one in session.runs] == [1, 2, 3]


def test_setting_what_is_there_changes_nothing_else(session):
    to_write(session, 1)
    run = session.divert("o_ref[0]", rows()[0])
    kinds = list(run.trace.columns.kind)
    del kinds[run.cursor - 1]
    assert kinds == list(session.trace.columns.kind)
    assert run.outputs[0].tobytes() == fold.memory(session.trace, 1).values.tobytes()


def test_a_diversion_can_be_stepped_through(session):
    to_write(session, 0)
    session.divert("acc", 100)
    other = session.open(1)
    assert other.trace is session.runs[0].trace
    assert other.cursor == session.runs[0].cursor
    np.testing.assert_array_equal(other.locals["acc"], [100] * 4)
    other.jump(int(other.find(kind="read", buffer="x_ref")[0]))
    np.testing.assert_array_equal(other.locals["row"], rows()[0])
    to_write(other, 1)
    np.testing.assert_array_equal(other.locals["acc"], 100 + rows()[1])
    to_write(other, 2)
    again = other.divert("acc", 0)
    np.testing.assert_array_equal(again.outputs[0][2], 100 + rows()[1:].sum(0))
    np.testing.assert_array_equal(again.outputs[0][0], 0 * rows()[0])
    with pytest.raises(errors.BadOption, match="over the recording"):
        other.interleave(1)


def test_a_diversion_of_a_later_launch_has_numbers_of_its_own():
    def twice(x):
        return jax_kernels.running_sum(jax_kernels.running_sum(x))

    session = pldb.debug(twice, rows())
    events = session.find(kind="write", op="state.set", launch=1)
    session.jump(int(events[0]))
    run = session.divert("acc", 7)
    assert len(run.trace.launches) == 1
    assert run.launch == 1
    assert run.trace.thread_rows[0].launch == 0
    first = fold.memory(session.trace, 1).values
    np.testing.assert_allclose(run.outputs[0][1], 7 + first[1])
    other = session.open(run)
    to_write(other, 1)
    np.testing.assert_allclose(other.locals["acc"], 7 + first[1])


@pytest.mark.parametrize("seed", [0, 3])
def test_diversions_of_random_schedules_repeat(seed):
    x = rows(2, 4)
    options = pldb.Options(policy="random", seed=seed)
    session = pldb.debug(jax_kernels.copies, x, options=options)
    session.jump(int(session.find(op="state.set")[0]))
    runs = [session.divert("o_ref[0, 0]", 5) for _ in range(2)]
    assert dumps(runs[0].trace) == dumps(runs[1].trace)
    assert runs[0].outputs[0][0, 0] == 5
    np.testing.assert_array_equal(runs[0].outputs[0][1], x[1] + 2)


def test_what_cannot_be_diverted_is_refused(session):
    with pytest.raises(errors.BadOption, match="after an event"):
        session.divert("acc", 1)
    to_write(session, 0)
    for name, value, said in (
        ("nonsense", 1, "`buffer` got 'nonsense'"),
        ("acc", [1, 2, 3], r"something that fits float32\[4\]"),
        ("acc[9]", 1, "a part of the shape"),
        ("x_ref[0, 0, 0]", 1, "a part of the shape"),
        ("row", 1, "that the thread still reads"),
    ):
        with pytest.raises(errors.BadOption, match=said):
            session.divert(name, value)
    assert not session.runs
    with pytest.raises(errors.BadOption, match="no other run"):
        session.open(1)


def test_another_interleaving_is_that_of_the_seed():
    x = rows(2, 4)
    session = pldb.debug(jax_kernels.copies, x)
    session.step()
    for seed in (1, 2):
        run = session.interleave(seed)
        options = pldb.Options(policy="random", seed=seed)
        direct = pldb.trace(jax_kernels.copies, x, options=options)
        for name in ("kind", "thread", "step", "instr", "object", "aux"):
            mine = getattr(run.trace.columns, name)
            np.testing.assert_array_equal(mine, getattr(direct.columns, name))
        same = slice(0, run.cursor)
        ours, theirs = session.trace.columns, run.trace.columns
        np.testing.assert_array_equal(ours.thread[same], theirs.thread[same])
        other = session.open(run)
        to_write(other, 0)
        np.testing.assert_array_equal(other.locals["low"], x[0] + 1)
    assert [one.label for one in session.runs] == ["seed 1", "seed 2"]


def test_a_findings_schedule_is_replayed():
    x = rows(2, 4)
    options = pldb.Options(policy="random", seed=5)
    wanted = pldb.trace(jax_kernels.copies, x, options=options)
    session = pldb.debug(jax_kernels.copies, x)
    plain = tuple(thread for _, _, thread in wanted.choices)
    for schedule in (plain, wanted.choices):
        finding = Finding(message="", code="PD201", details={"schedule": schedule})
        run = session.replay(finding)
        np.testing.assert_array_equal(run.trace.columns.thread, wanted.columns.thread)
        np.testing.assert_array_equal(run.trace.columns.instr, wanted.columns.instr)
    with pytest.raises(errors.BadOption, match="one that changes a result: none of"):
        session.replay(Finding(message=""))


def test_a_loaded_trace_is_not_diverted():
    from pallas_debug.trace import loads

    trace = pldb.trace(jax_kernels.running_sum, rows())
    session = Session(loads(dumps(trace)))
    session.last()
    with pytest.raises(errors.NoSource):
        session.divert("x_ref", 0)
    with pytest.raises(errors.NoSource):
        session.interleave(1)


def test_edits_of_hand_written_launches_fold_as_they_ran():
    import kernels
    import tapes

    from pallas_debug.machine import Options

    launch = kernels.ring()
    trace = close(tapes.run(launch, policy="random", seed=2).writer)
    session = Session(trace, options=Options(policy="random", seed=2))
    session.jump(len(trace) // 2)
    x = next(b for b in trace.buffers if b.name == "x")
    run = session.divert(x, 50, part=[3])
    assert fold.memory(run.trace, x.number).values[3] == 50
    y = next(b.number for b in trace.buffers if b.name == "y")
    assert 50 in fold.memory(run.trace, y).values
    assert 50 not in fold.memory(trace, y).values
