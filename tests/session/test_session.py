"""The commands of a session: where they lead, what they say, what they refuse."""

import dataclasses

import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from session import jax_kernels
from session.jax_kernels import rows
from session.wanderings import wanderings

import pallas_debug as pldb
from pallas_debug.errors import BadOption
from pallas_debug.session import Session
from pallas_debug.session.navigation import COMMANDS, focus_of
from pallas_debug.trace import fold


@settings(max_examples=60, deadline=None)
@given(
    trace=wanderings(), moves=st.lists(st.sampled_from(sorted(COMMANDS)), max_size=12)
)
def test_methods_do_what_navigation_says(trace, moves):
    session = Session(trace)
    for name in moves:
        cursor, focus = session.cursor, session.looking_at
        found = COMMANDS[name](trace, cursor, focus)
        stop = getattr(session, name)()
        assert session.cursor == stop.cursor == (cursor if found is None else found)
        assert stop.moved == (found not in (None, cursor))
        assert ("nothing further" in str(stop)) == (found is None)
        if stop.moved and session.cursor:
            assert session.looking_at == focus_of(trace, session.cursor - 1, focus)
        assert str(session)


def made():
    b = TraceBuilder(grid=(2, 2))
    x = b.buffer("x", (4, 4), initial=np.zeros((4, 4), np.float32))
    threads = [b.thread("warpgroup", block=i, index=0) for i in range(3)]
    own = [b.buffer("s", (2,), space="smem", scope="block", block=i) for i in range(3)]
    bar = b.barrier("bar", block=2)
    for i, t in enumerate(threads):
        t.alloc(own[i], line=1)
        t.write(x, [(i, 1), (0, 2)], np.full((1, 2), i, np.float32), line=2)
        t.write(own[i], [(0, 1)], np.full(1, i, np.float32), line=3)
    threads[2].blocked(bar, line=4)
    threads[1].end(line=5)
    return b.close()


def test_steps_are_counted_and_clamped():
    session = Session(made())
    assert session.step(4).cursor == 4
    assert session.back(2).cursor == 2
    assert session.step(100).cursor == len(session.trace)
    assert not session.step().moved
    assert session.back(100).cursor == 0
    assert not session.back().moved


def test_no_steps_stay_and_negative_ones_are_refused():
    session = Session(made())
    for cursor in (0, 3, len(session.trace)):
        session.follow(cursor)
        for stop in (session.step(0), session.back(0)):
            assert not stop.moved
            assert stop.cursor == session.cursor == cursor
            assert str(stop).startswith("nothing to do: 0 events\n")
        with pytest.raises(BadOption, match=r"`count` got -2; .*: back\(2\) goes back"):
            session.step(-2)
        with pytest.raises(BadOption, match=r"`count` got -1; .*: step\(1\) goes on"):
            session.back(-1)
        assert session.cursor == cursor


def test_jump_goes_behind_an_event():
    session = Session(made())
    assert session.jump(3).event.seq == 3
    assert session.run_to(-1).event.seq == len(session.trace) - 1
    for event in (len(session.trace), -len(session.trace) - 1):
        with pytest.raises(BadOption, match="event"):
            session.jump(event)


def test_last_write_of_an_element():
    session = Session(made())
    session.last()
    stop = session.last_write("x", (1, 0))
    assert stop.event.what == "write x[1, 0:2]"
    assert "the last write to x[1, 0]" in str(stop)
    again = session.last_write("x", (1, 0))
    assert not again.moved
    assert "nothing further" not in str(again)
    assert "nobody has written x[3, 3]" in str(session.last_write("x", [-1, -1]))
    for element in ((9, 0), (1,), 3, (0, 0, 0)):
        with pytest.raises(BadOption, match="element"):
            session.last_write("x", element)


def test_focus_of_a_block_a_thread_and_a_buffer():
    session = Session(made())
    session.focus(block=(1, 0))
    assert session.looking_at.block == 2
    assert session.looking_at.thread == 3
    assert session.next_thread().event.what == "alloc s"
    session.focus(thread=1)
    assert session.looking_at.block == 0
    session.focus(buffer="x")
    session.first()
    assert session.next_buffer().event.what == "write x[0, 0:2]"
    session.step(3)
    assert session.looking_at.buffer == 0
    session.focus(buffer=False)
    session.step()
    assert session.trace.buffer_rows[session.looking_at.buffer].name == "s"
    for wrong in ({"block": (5, 5)}, {"thread": 99}, {"buffer": "y"}, {"device": 3}):
        with pytest.raises(BadOption):
            session.focus(**wrong)


def test_focus_of_a_core_at_a_block():
    x = np.arange(12, dtype=np.float32)
    session = pldb.debug(jax_kernels.blocks, x)
    session.focus(block=1)
    session.next_block()
    assert session.trace[session.cursor - 1].block == (1,)


def test_a_name_means_the_buffer_nearest_to_the_focus():
    session = Session(made())
    session.last()
    for block in range(3):
        session.focus(block=block)
        assert session.memory("s").values[0] == block
    session.focus(thread=1)
    with pytest.raises(BadOption, match="buffer"):
        session.memory("nonsense")


def ring():
    """Each of three devices writes into its own output and into its neighbor's."""
    b = TraceBuilder()
    cores = [b.thread("core", block=i, device=i) for i in range(3)]
    outs = [b.buffer("o", (2,), role="output", device=i) for i in range(3)]
    sems = [b.semaphore("sem", device=i, block=0, thread=1) for i in range(3)]
    for i, core in enumerate(cores):
        core.write(outs[i], [(0, 1)], np.full(1, i + 1, np.float32))
        core.signal(sems[(i + 1) % 3])
        core.write(outs[(i + 1) % 3], [(1, 1)], np.full(1, 10 * i + 10, np.float32))
        core.signal(sems[(i + 1) % 3])
        core.print("sent")
    trace = b.close()
    together = dataclasses.replace(trace.launches[0], axes={"d": 3})
    return Session(dataclasses.replace(trace, launches=(together,)))


def test_a_name_means_the_same_buffer_whichever_way_one_came():
    session = ring()
    seen = lambda: [*map(session._buffer, ("o", "sem")), session.contents("o")]
    count = len(session.trace)
    forth = [session.step() and seen() for _ in range(count)]
    back = [seen()] + [session.back() and seen() for _ in range(count - 1)]
    jumps = [session.jump(event) and seen() for event in range(count)]
    assert forth == back[::-1] == jumps


def test_a_name_means_the_buffer_of_the_focused_device():
    session = ring()
    session.jump(-1)
    for device in range(3):
        session.focus(device=device)
        for name in ("o", "sem"):
            row = session.trace.buffer_rows[session._buffer(name)]
            assert (row.name, row.device) == (name, device)
    session.jump(
        7
    )  # device 1 writes into device 2: what has just been written is meant
    assert session.memory("o").values.tolist() == [0, 20]
    session.focus(device=0)
    assert session.memory("o").values.tolist() == [1, 0]
    assert "o: float32[2] in gmem on device 0, 1 of 2" in session.contents("o")
    session.focus(buffer="o")
    session.jump(-1)
    assert session.memory("o").values.tolist() == [1, 30]


@settings(max_examples=30, deadline=None)
@given(cursor=st.integers(0, 11))
def test_memory_is_the_fold(cursor):
    session = Session(made())
    session.step(cursor)
    found, there = session.memory("x"), fold.memory(session.trace, 0, at=session.cursor)
    np.testing.assert_array_equal(found.values, there.values)
    later = session.memory("x", at=9)
    np.testing.assert_array_equal(later.values, fold.memory(session.trace, 0, at=9)[0])


def test_contents_in_words():
    session = Session(made())
    session.last()
    session.focus(block=2)
    text = session.contents("s")
    assert "s: float32[2] in smem, 1 of 2 elements set" in text
    assert "[2 --]" in text
    assert "x[2, 0:3]" in session.contents("x", "[2, 0:3]")
    assert "x[2:9]: float32[4, 4] in gmem, 8 of 8 elements set" in session.contents(
        "x", "[2:9]"
    )
    for part in ("9, 9", "[4]", "[-5]", "[1:1]", "[0, 0, 0]", np.s_[7:9]):
        with pytest.raises(
            BadOption, match=r"`region` got .* inside the shape `\(4, 4\)`"
        ):
            session.contents("x", part)


def test_contents_of_an_empty_buffer():
    b = TraceBuilder()
    b.buffer("x", (0, 4), initial=np.zeros((0, 4), np.float32))
    b.thread().print("x")
    session = Session(b.close())
    assert "0 of 0 elements set" in session.contents("x")
    with pytest.raises(BadOption, match="inside the shape"):
        session.contents("x", "[0]")


def test_replay_says_that_there_are_no_findings():
    session = pldb.debug(jax_kernels.running_sum, rows())
    for stop in (session.next_finding(), session.prev_finding()):
        assert str(stop).startswith("nothing further: the checks found nothing\n")
    for wrong in (0, -1, "PD201", None):
        with pytest.raises(
            BadOption, match="none: the checks found nothing; interleave"
        ):
            session.replay(wrong)


def test_replay_says_which_findings_there_are():
    session = pldb.debug(jax_kernels.not_a_number, np.zeros(4, np.float32))
    last = len(session.judged().findings) - 1
    with pytest.raises(BadOption, match=f"a finding, or its number: 0 … {last}"):
        session.replay(last + 1)


def test_where_says_what_each_thread_does():
    session = Session(made())
    session.last()
    states = {stack.name: stack.state for stack in session.where(all=True)}
    assert states["warpgroup 0 of block (0, 0)"] == "at kernel.py:3"
    assert states["warpgroup 0 of block (0, 1)"] == "finished"
    assert (
        states["warpgroup 0 of block (1, 0)"] == "waits for bar[0] (1) at kernel.py:4"
    )
    session.first()
    assert session.where(thread=1).state == "not started"


def test_stack_shows_loops_and_lines():
    session = pldb.debug(jax_kernels.running_sum, rows())
    session.break_at(op="state.set")
    session.continue_()
    stack = session.where()
    assert [frame.kind for frame in stack.frames] == [
        "kernel",
        "grid",
        "scan",
        "instruction",
    ]
    text = repr(stack)
    assert "total = jax.lax.fori_loop(0, x_ref.shape[0], body, start)" in text
    assert "o_ref[i] = acc" in text
    session.out()
    assert [frame.kind for frame in session.where().frames] == [
        "kernel",
        "grid",
        "instruction",
    ]


def test_print_shows_position_source_and_threads():
    session = pldb.debug(jax_kernels.running_sum, rows())
    session.break_at(op="state.set")
    session.continue_()
    text = str(session)
    assert "kernel (generic), launch 0" in text
    assert "write o_ref[0, 0:4] by core 0 at jax_kernels.py" in text
    arrow = [line for line in text.splitlines() if "→" in line and "|" in line]
    assert len(arrow) == 1
    assert arrow[0].endswith("o_ref[i] = acc")
    assert "→ 1: core 0: at jax_kernels.py" in text
    assert "breakpoint 1" in str(session.jump(0)) or session.source(0)
    assert "event" in repr(session)


def test_many_threads_are_summed_up():
    b = TraceBuilder(grid=(500,))
    for i in range(500):
        t = b.thread("warpgroup", block=i, index=0)
        t.print("x")
        if i % 2:
            t.end()
    session = Session(b.close())
    session.last()
    text = str(session)
    assert len(text.splitlines()) < 20
    assert "250 finished" in text
    assert "243 more" in text


def test_debug_records_or_takes_a_trace():
    trace = pldb.trace(jax_kernels.running_sum, rows())
    assert pldb.debug(trace).trace is trace
    session = pldb.debug(
        jax_kernels.running_sum, rows(), options=pldb.Options(values="all")
    )
    assert session.replaying.options(0).values == "all"
    assert isinstance(session, pldb.Session)


def test_an_empty_trace_has_a_session():
    session = Session(TraceBuilder().close())
    assert not session.step().moved
    assert not session.continue_().moved
    assert dict(session.locals) == {}
    assert "before the first of 0 events" in str(session)


def test_focus_of_a_device_goes_to_its_launch():
    b = TraceBuilder(grid=(2,))
    for launch in range(2):
        t = b.thread("core", block=1)
        t.read(b.buffer("x", (4,)))
        b = b.next_launch(grid=(2,)) if launch == 0 else b
    trace = b.close()
    rows = [row._replace(device=row.launch) for row in trace.thread_rows]
    session = Session(dataclasses.replace(trace, thread_rows=tuple(rows)))
    session.focus(device=1)
    assert session.looking_at.launch == 1
    assert session.looking_at.thread == 3
    assert session.focus(device=0, block=1).thread == 1
    with pytest.raises(BadOption, match="took part"):
        session.focus(device=2)
