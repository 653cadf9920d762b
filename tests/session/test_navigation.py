"""Every command against a naive reading of its rule, over random traces."""

import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from session.wanderings import wanderings
from trace_strategies import memory_traces, thread_traces

from pallas_debug.errors import BadOption
from pallas_debug.session import Session, navigation, search
from pallas_debug.session.navigation import COMMANDS, Focus
from pallas_debug.trace import Kind, fold


def traces():
    return st.one_of(wanderings(), thread_traces(), memory_traces())


# -- the rules, read word by word ----------------------------------------------


def ahead(trace, cursor, keep):
    found = [e for e in range(len(trace)) if e >= cursor and keep(trace[e])]
    return found[0] + 1 if found else None


def behind(trace, cursor, keep):
    found = [e for e in range(len(trace)) if e < cursor - 1 and keep(trace[e])]
    return found[-1] + 1 if found else None


def rule_thread(trace, cursor, focus):
    return lambda e: e.thread.number == focus.thread


def rule_block(trace, cursor, focus):
    return lambda e: (
        e.column("block") == focus.block and e.launch.number == focus.launch
    )


def root(trace, number):
    while trace.buffer_rows[number].alias >= 0:
        number = trace.buffer_rows[number].alias
    return number


def rule_buffer(trace, cursor, focus):
    if focus.buffer < 0:
        return lambda e: False
    mine = root(trace, focus.buffer)
    return lambda e: e.buffer is not None and root(trace, e.buffer.number) == mine


def last_of(trace, cursor, focus):
    mine = [e for e in trace.events if e.thread.number == focus.thread]
    mine = [e for e in mine if e.seq < cursor]
    return mine[-1] if mine else None


def rule_line(trace, cursor, focus):
    last = last_of(trace, cursor, focus)
    here = last and last.loc and (last.loc.file, last.loc.line)

    def keep(e):
        if e.thread.number != focus.thread or e.loc is None:
            return False
        return (e.loc.file, e.loc.line) != here

    return keep


def path(event):
    """The scopes around an event, its own first."""
    scopes = event.launch.kernel.scopes
    number, found = event.instr.scope if event.instr else 0, []
    while number >= 0:
        found.append(number)
        number = scopes[number].parent
    return found


def rule_over(trace, cursor, focus):
    last = last_of(trace, cursor, focus)
    scope = path(last)[0] if last else None
    return lambda e: e.thread.number == focus.thread and scope not in path(e)[1:]


def rule_out(trace, cursor, focus):
    last = last_of(trace, cursor, focus)
    scope = path(last)[0] if last else None
    return lambda e: e.thread.number == focus.thread and scope not in path(e)


def out(trace, cursor, focus, look):
    keep = rule_out(trace, cursor, focus)
    found = look(trace, cursor, keep)
    mine = [e for e in trace.events if e.thread.number == focus.thread]
    if found is not None or any(map(keep, mine)) or not mine:
        return found
    edge = mine[-1] if look is ahead else mine[0]
    return look(trace, cursor, lambda e: e.seq == edge.seq)


RULES = {"thread": rule_thread, "block": rule_block, "buffer": rule_buffer}
RULES["line"] = rule_line


def naive(name, trace, cursor, focus):
    count = len(trace)
    if name in ("first", "last"):
        return 0 if name == "first" else count
    if name in ("step", "back"):
        moved = cursor + (1 if name == "step" else -1)
        return moved if 0 <= moved <= count else None
    look = behind if "back" in name or name.startswith("prev") else ahead
    if name.startswith("out"):
        return out(trace, cursor, focus, look)
    rule = rule_over if "over" in name else RULES[name.partition("_")[2]]
    return look(trace, cursor, rule(trace, cursor, focus))


@pytest.mark.parametrize("name", COMMANDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_command_follows_its_rule(name, data):
    trace = data.draw(traces())
    cursor = data.draw(st.integers(0, len(trace)))
    focus = Focus(
        thread=data.draw(st.integers(-1, len(trace.threads))),
        block=data.draw(st.integers(-1, 3)),
        buffer=data.draw(st.integers(-1, len(trace.buffers) - 1)),
        launch=data.draw(st.integers(-1, len(trace.launches))),
    )
    found = COMMANDS[name](trace, cursor, focus)
    assert found == naive(name, trace, cursor, focus)


@settings(max_examples=100, deadline=None)
@given(trace=st.one_of(wanderings(), memory_traces()), data=st.data())
def test_last_write_is_the_last_event_that_set_the_element(trace, data):
    cursor = data.draw(st.integers(0, len(trace)))
    buffer = data.draw(st.integers(0, 1))
    element = (data.draw(st.integers(0, 3)), data.draw(st.integers(0, 5)))
    flat = element[0] * 6 + element[1]

    def sets(e):
        if e.kind not in (Kind.WRITE, Kind.UPDATE, Kind.PAD) or e.buffer is None:
            return False
        same = root(trace, e.buffer.number) == root(trace, buffer)
        return same and flat in e.region.flat((4, 6))

    found = navigation.last_write(trace, cursor, buffer, element)
    assert found == behind(trace, cursor + 1, sets)


@settings(max_examples=60, deadline=None)
@given(trace=traces(), data=st.data())
def test_focus_is_that_of_the_event(trace, data):
    if not len(trace):
        return
    event = trace[data.draw(st.integers(0, len(trace) - 1))]
    before = Focus(buffer=1, pinned=data.draw(st.booleans()))
    focus = navigation.focus_of(trace, event.seq, before)
    assert focus.thread == event.thread.number
    assert focus.launch == event.launch.number
    assert focus.block == event.column("block")
    kept = before.pinned or event.buffer is None
    assert focus.buffer == (1 if kept else event.buffer.number)


@given(numbers=st.lists(st.integers(0, 30), unique=True), cursor=st.integers(0, 31))
def test_next_and_previous_of_given_events(numbers, cursor):
    numbers.sort()
    after = [n for n in numbers if n >= cursor]
    before = [n for n in numbers if n < cursor - 1]
    assert navigation.next_of(numbers, cursor) == (after[0] + 1 if after else None)
    assert navigation.prev_of(numbers, cursor) == (before[-1] + 1 if before else None)


@settings(deadline=None)
@given(numbers=st.sets(st.integers(0, 300)), data=st.data())
def test_search_in_small_pieces_finds_what_one_piece_finds(numbers, data):
    cursor = data.draw(st.integers(0, 301))
    wanted = np.array(sorted(numbers), int)
    keep = lambda rows: np.isin(rows, wanted)
    kept, search.CHUNK = search.CHUNK, data.draw(st.integers(1, 7))
    try:
        found = search.forward(range(301), keep, cursor)
        back = search.backward(range(301), keep, cursor)
    finally:
        search.CHUNK = kept
    assert found == navigation.next_of(wanted, cursor)
    assert back == navigation.prev_of(wanted, cursor)


def test_memory_after_the_last_write_has_the_written_value():
    b = TraceBuilder()
    x = b.buffer("x", (4,), initial=np.zeros(4, np.float32))
    t = b.thread()
    for i in range(4):
        t.write(x, [(i, 1)], np.full(1, 10 + i, np.float32))
    trace = b.close()
    cursor = navigation.last_write(trace, len(trace), x, (2,))
    assert fold.memory(trace, x, at=cursor).values[2] == 12
    assert fold.memory(trace, x, at=cursor - 1).values[2] == 0


def test_numbers_that_are_none_are_refused_in_words():
    b = TraceBuilder()
    x, t = b.buffer("x", (4,)), b.thread()
    for i in range(4):
        t.write(x, [(i, 1)], np.full(1, i, np.float32))
    session = Session(b.close())
    with pytest.raises(BadOption, match="`event` got 'x'; accepted: an event: 0 … 3"):
        session.jump("x")
    with pytest.raises(BadOption, match="`event` got 1\\.5"):
        session.jump(1.5)
    with pytest.raises(BadOption, match="`count` got None"):
        session.step(None)
    for element in ("zz", None, [0.5], "1"):
        with pytest.raises(BadOption, match="accepted: 1 indices into the shape"):
            session.last_write("x", element)
    assert session.cursor == 0
    assert session.jump(np.int64(2)).cursor == 3
    stop = session.jump(-1)
    assert stop.cursor == 4
    assert "event -1, counted from the end" in str(stop)
    assert session.last_write("x", [np.int32(-3)]).cursor == 2
