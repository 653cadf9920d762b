"""Bounds of a run: each is announced, keeps what was recorded, and harms no later run."""

import os
import signal
import threading

import numpy as np
import pytest
import tapes
from tapes import Tape

from pallas_debug.errors import BadOption
from pallas_debug.machine import Options
from pallas_debug.trace import close

F32 = np.float32


def endless():
    t = Tape()
    y = t.output("y", ())
    t.set(y, (), F32(0))
    t.emit("ir.jump", targets=(0,))
    return t


def silent():
    """A loop that records nothing."""
    t = Tape()
    t.pure(lambda: (), results=0)
    t.emit("ir.jump", targets=(0,))
    return t


def many_blocks(body, count=2000):
    """Blocks of one segment each: no thread is ever long enough to be asked inside."""
    t = Tape(grid=(count,))
    t.pure(body, results=0)
    return t


def test_max_events_ends_an_endless_loop():
    run = endless().run(max_events=500)
    assert run.record.outcome.kind == "truncated"
    assert run.record.outcome.message == "max_events=500 reached"
    assert 500 <= run.writer.events <= 502
    assert len(close(run.writer)) == run.writer.events


def test_max_events_ends_a_long_grid():
    run = many_blocks(lambda: (), 2000).run(max_events=100)
    assert run.record.outcome.kind == "truncated"
    assert 100 <= run.writer.events <= 104


def test_max_events_that_is_just_enough_does_not_cut():
    run = many_blocks(lambda: (), 10).run()
    enough = run.writer.events
    again = many_blocks(lambda: (), 10).run(max_events=enough)
    assert again.record.outcome.kind == "finished"


def test_max_events_counts_each_launch():
    writer = tapes.Writer()
    for _ in range(3):
        run = tapes.run(endless().launch(), writer=writer, max_events=50)
        assert run.record.outcome.kind == "truncated"
    lengths = [
        launch.last_event - launch.first_event for launch in close(writer).launches
    ]
    assert all(50 <= length <= 52 for length in lengths)


@pytest.mark.parametrize(
    "make", [endless, silent, lambda: many_blocks(lambda: (), 10**9)]
)
def test_max_seconds_ends_any_kernel(make):
    run = make().run(max_seconds=0.05)
    assert run.record.outcome.kind == "truncated"
    assert run.record.outcome.message == "max_seconds=0.05 reached"


def test_values_beyond_the_budget_are_dropped():
    t = Tape(grid=(10,))
    y = t.output("y", (10, 100))
    i = t.grid_id(0)
    value = t.pure(lambda a: np.full(100, a, F32), i)
    t.set(y, [i, tapes.ds(0, 100)], value)
    run = t.run(max_value_bytes=1000)
    assert run.record.outcome.kind == "finished"
    assert run.results()[0][:, 0].tolist() == list(range(10))
    assert run.m.full
    trace = close(run.writer)
    kept = trace.columns.payload[trace.events.where(kind="write")] >= 0
    assert kept.tolist() == [True] * 3 + [False] * 7


@pytest.mark.parametrize(
    ("values", "reads", "writes"),
    [("all", True, True), ("writes", False, True), ("none", False, False)],
)
def test_values_are_kept_as_asked(values, reads, writes):
    t = Tape()
    x, y = t.input("x", (2,)), t.output("y", (2,))
    t.set(y, (), t.get(x))
    trace = t.trace(np.ones(2, F32), values=values)
    (read,), (write,) = (
        trace.events.where(kind="read"),
        trace.events.where(kind="write"),
    )
    assert (trace.values(read) is not None) == reads
    assert (trace.values(write) is not None) == writes


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("values", "some"),
        ("policy", "robin"),
        ("unsupported", "skip"),
        ("uninitialized", "one"),
        ("max_events", 0),
        ("resident", 2.5),
        ("max_value_bytes", -1),
    ],
)
def test_wrong_option_is_refused_by_name(option, value):
    with pytest.raises(BadOption, match=option):
        Options(**{option: value})


def interrupting(at):
    """Presses Ctrl-C at the n-th call."""
    calls = []

    def body():
        calls.append(None)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGINT)
        return ()

    return body


def test_interrupt_keeps_the_trace_and_the_next_run_works():
    before = signal.getsignal(signal.SIGINT)
    launch = many_blocks(interrupting(10)).launch()
    run = tapes.run(launch)
    assert run.record.outcome.kind == "interrupted"
    trace = close(run.writer)
    assert len(trace) > 20
    assert trace.launches[0].outcome.kind == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
    again = tapes.run(launch)
    assert again.record.outcome.kind == "finished"


def test_interrupt_in_the_middle_of_a_thread():
    t = Tape()
    y = t.output("y", ())
    with t.loop(np.int32(1000)) as i:
        t.pure(interrupting(10), results=0)
        t.set(y, (), t.pure(F32, i))
    run = t.run()
    assert run.record.outcome.kind == "interrupted"
    # The segment in which it came is whole.
    assert run.results()[0] == 9
    assert len(close(run.writer).events.where(kind="write")) == 10


def test_interrupt_in_a_loop_without_events():
    press = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))

    def progress(done, total):
        if press.ident is None:
            press.start()

    # The limit is for a machine that does not see the signal.
    run = silent().run(progress=progress, max_seconds=60)
    assert run.record.outcome.kind == "interrupted"
    assert run.record.steps > 1000
    assert run.writer.events < 10


def test_interrupt_in_the_last_segment_reaches_the_caller():
    t = Tape()
    t.pure(interrupting(1), results=0)
    writer = tapes.Writer()
    with pytest.raises(KeyboardInterrupt):
        tapes.run(t.launch(), writer=writer)
    assert close(writer).launches[0].outcome.kind == "finished"


def test_second_interrupt_does_not_wait():
    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("the second one is not deferred")

    t = Tape()
    t.pure(twice, results=0)
    run = t.run()
    assert run.record.outcome.kind == "interrupted"


def test_run_in_another_thread_leaves_signals_alone():
    before = signal.getsignal(signal.SIGINT)
    runs = []
    worker = threading.Thread(target=lambda: runs.append(endless().run(max_events=10)))
    worker.start()
    worker.join()
    assert runs[0].record.outcome.kind == "truncated"
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_is_told_and_may_stop_the_run():
    seen = []

    def progress(done, total):
        seen.append((done, total))
        if done > 1000:
            raise KeyboardInterrupt

    run = many_blocks(lambda: (), 2000).run(progress=progress)
    assert run.record.outcome.kind == "interrupted"
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {2000}
