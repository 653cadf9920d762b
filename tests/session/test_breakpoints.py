"""The search for breakpoints against a look at every event."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.experimental import pallas as pl
from session import calling, jax_kernels
from session.jax_kernels import rows
from trace_strategies import memory_traces

import pallas_debug as pldb
from pallas_debug.checks import Finding, Report
from pallas_debug.errors import BadOption
from pallas_debug.session import Session, breakpoints
from pallas_debug.session.breakpoints import Breakpoint, Hit
from pallas_debug.trace import fold

WHERE = [
    'kind="write"',
    'buffer="x", kind=("write", "update")',
    'region="[1:3, 2]"',
    "line=2",
    "nan=False, line=3",
    "",
]


def naive(trace, ones, cursor, test, backwards):
    """The nearest event, looking at one after another."""
    way = range(cursor, len(trace))
    if backwards:
        way = range(cursor - 2, -1, -1)
    for event in way:
        for one in ones:
            found = trace.events.where(**breakpoints.conditions_of(one.where))
            if event in found and (one.is_plain or test(event)):
                return event
    return None


@settings(max_examples=150, deadline=None)
@given(trace=memory_traces(), data=st.data())
def test_search_finds_the_nearest_event_that_holds(trace, data):
    ones = [
        Breakpoint(id=i, where=data.draw(st.sampled_from(WHERE)), when="x" * (i % 2))
        for i in range(data.draw(st.integers(0, 3)))
    ]
    true = data.draw(st.sets(st.integers(0, len(trace))))
    cursor = data.draw(st.integers(0, len(trace)))
    backwards = data.draw(st.booleans())
    candidates = [
        (one, trace.events.where(**breakpoints.conditions_of(one.where)))
        for one in ones
    ]
    asked = []

    def holds(one, events):
        assert list(events) == sorted(events)
        asked.extend(events)
        return [event in true for event in events]

    kept, breakpoints.SOME = breakpoints.SOME, data.draw(st.integers(1, 3))
    try:
        hit = breakpoints.search(candidates, cursor, holds, backwards=backwards)
    finally:
        breakpoints.SOME = kept
    expected = naive(trace, ones, cursor, lambda event: event in true, backwards)
    assert (hit and hit.event) == expected
    outside = [e for e in asked if not (e < cursor - 1 if backwards else e >= cursor)]
    assert not outside


@settings(max_examples=100, deadline=None)
@given(trace=memory_traces(), data=st.data())
def test_a_change_is_a_difference_of_the_folds(trace, data):
    where = data.draw(
        st.sampled_from(
            ['kind=("write", "update")', 'kind="write", region="[1:3, 2]", buffer="a"']
        )
    )
    events = trace.events.where(**breakpoints.conditions_of(where)).tolist()
    events = events[data.draw(st.integers(0, 3)) :]
    part = np.s_[1:3, 2] if "region" in where else np.s_[:]
    expected = []
    for event in events:
        number = int(trace.columns.object[event])
        before, after = (fold.memory(trace, number, at=event + i) for i in range(2))
        pairs = zip(before, after, strict=True)
        expected.append(any((a[part] != b[part]).any() for a, b in pairs))
    assert list(breakpoints.changes(trace, where, events)) == expected


def writes(*values):
    """One thread that writes values one after the other, each on a line of its own."""
    b = TraceBuilder(grid=(1,))
    x = b.buffer("x", (4,), initial=np.zeros(4, np.float32))
    t = b.thread("warpgroup", block=0)
    for line, value in enumerate(values, 1):
        t.write(x, [(1, 2)], np.full(2, value, np.float32), line=line)
        t.read(x, [(0, 4)], line=line)
    return b.close()


def test_commands_stop_where_the_breakpoints_say():
    session = Session(writes(1, 1, 2))
    one = session.break_at(line=2, label="here")
    two = session.watch("x", [1], on="change")
    assert (one.id, two.id) == (1, 2)
    assert str(one) == "1: here: line=2"
    stops = [session.continue_() for _ in range(6)]
    assert [stop.cursor for stop in stops] == [1, 3, 4, 5, 6, 6]
    assert [stop.breakpoint and stop.breakpoint.id for stop in stops[:4]] == [
        2,
        1,
        1,
        2,
    ]
    assert "nothing further" in str(stops[-1])
    assert not stops[-1].moved
    back = [session.reverse_continue().cursor for _ in range(6)]
    assert back == [5, 4, 3, 1, 0, 0]


def test_breakpoints_are_disabled_enabled_and_deleted():
    session = Session(writes(1, 2))
    one, two = session.break_at(line=1), session.break_at("line=2")
    session.disable(one)
    assert [b.enabled for b in session.breakpoints] == [False, True]
    assert session.continue_().cursor == 3
    session.enable()
    session.delete(two.id)
    assert [b.id for b in session.breakpoints] == [1]
    assert session.break_at(line=2).id == 3
    session.delete()
    assert not session.breakpoints
    with pytest.raises(BadOption, match="there is no breakpoint"):
        session.delete(7)


def test_watchpoint_of_reads_of_a_part():
    session = Session(writes(1, 2))
    session.watch("x", np.s_[0:1], on="read")
    assert session.continue_().cursor == 2
    session.watch("x", "[3]")
    assert session.continue_().cursor == 4
    with pytest.raises(BadOption, match="`write`, `read` or `change`"):
        session.watch("x", on="writes")


def test_breakpoint_on_findings():
    report = Report(
        findings=(
            Finding(message="a", code="PD101", name="out", events=(1, 3)),
            Finding(message="b", code="PD201", name="race", events=(2,)),
        )
    )
    session = Session(writes(1, 2), report)
    assert session.find(finding=True).tolist() == [1, 2, 3]
    assert session.find('finding="PD101"').tolist() == [1, 3]
    assert session.find(finding="race", kind="write").tolist() == [2]
    session.break_at(finding="PD201")
    assert session.continue_().cursor == 3
    with pytest.raises(BadOption, match="PD101"):
        session.break_at(finding="PD102")
    assert [session.next_finding().cursor for _ in range(2)] == [4, 4]
    assert "PD101 out: a" in str(session.jump(0)) + str(session.next_finding())
    assert session.prev_finding().moved is False


def test_findings_of_one_event_are_said_after_those_that_they_follow_from():
    root = Finding(message="c", code="PD301", name="root", events=(1,))
    middle = Finding(message="b", code="PD201", name="m", events=(1, 2), cause=root)
    last = Finding(message="a", code="PD101", name="l", events=(1,), cause=middle)
    report = Report(findings=(last, middle, root))
    session = Session(writes(1, 2), report)
    assert session.next_finding().why.split("\n") == [
        "PD301 root: c",
        "PD201 m: b",
        "PD101 l: a",
    ]
    assert session.next_finding().why == "PD201 m: b"


def test_wrong_conditions_are_refused_when_they_are_set():
    session = Session(writes(1))
    for text in ("lines=3", 'buffer="z"', 'region="x"', "line=", "import os"):
        with pytest.raises(BadOption):
            session.break_at(text)
    with pytest.raises(BadOption, match="when"):
        session.break_at(line=1, when="x >")
    assert not session.breakpoints


@pytest.mark.parametrize("part", ["[9, 0]", [-9, 0], "[0, 0, 0]", [0, slice(9, None)]])
def test_part_that_no_buffer_has_is_not_watched(part):
    b = TraceBuilder()
    x, t = b.buffer("x", (2, 3)), b.thread()
    t.write(x, value=np.zeros((2, 3), np.float32))
    session = Session(b.close())
    with pytest.raises(BadOption, match=r"`region` got .* inside the shape `\(2, 3\)`"):
        session.watch("x", part)
    assert not session.breakpoints
    with pytest.raises(BadOption, match=r"`region` got .* inside the shape `\(2, 3\)`"):
        session.break_at(buffer="x", region=part)
    assert not session.watch("x", "[-1, 2]").unmet
    assert not session.watch(x, 1).unmet
    assert not session.watch(np.array(x), np.s_[..., -1]).unmet


@pytest.mark.parametrize(
    "region",
    [
        *(np.s_[0:64, 3], np.s_[1, 3:4], np.s_[-1, -1], np.s_[1:, ...], slice(1, None)),
        *((np.int64(1), np.int8(3)), np.array([1, 3]), 1, [1, 3], "[1:, 3]"),
    ],
)
def test_breakpoint_takes_the_part_that_numpy_indexes(region):
    b = TraceBuilder()
    x, t = b.buffer("x", (2, 4)), b.thread()
    t.write(x, [(0, 1), (0, 1)])
    t.write(x, [(1, 1), (3, 1)])
    session = Session(b.close())
    made = session.break_at(kind="write", region=region)
    assert session.continue_().cursor == 2
    again = Breakpoint.from_json(made.to_json())
    assert breakpoints.conditions_of(again.where)["region"][0] == "["
    session.break_at(again.where)


def test_findings_are_asked_for_by_any_true():
    trace = writes(2)
    one = Finding(code="PD201", name="m", message="b", hint="", events=(1,))
    report = Report(findings=(one,))
    for yes in (True, np.True_, np.array(True)):
        assert breakpoints.find(trace, report, {"finding": yes}).tolist() == [1]


def test_breakpoint_is_plain_data():
    one = Breakpoint(id=3, where="line=41", when="acc > 3", label="here")
    data = one.to_json()
    assert data == {
        "id": 3,
        "where": "line=41",
        "when": "acc > 3",
        "enabled": True,
        "label": "here",
    }
    assert Breakpoint.from_json(data) == one
    watch = Breakpoint(id=1, where="", change=True)
    assert Breakpoint.from_json(watch.to_json()) == watch
    assert Breakpoint.from_json({"where": "line=1"}).enabled


def test_hit_of_two_breakpoints_is_the_first_ones():
    ones = [Breakpoint(id=1, where=""), Breakpoint(id=2, where="")]
    candidates = [(one, np.array([4, 9])) for one in ones]
    assert breakpoints.search(candidates, 0, lambda *_: []) == Hit(4, ones[0])


def test_a_breakpoint_without_a_condition_is_refused():
    session = pldb.debug(jax_kernels.running_sum, rows())
    with pytest.raises(BadOption, match="a condition"):
        session.break_at()
    assert not session.breakpoints


def test_one_that_no_event_meets_says_why_and_what_to_try():
    b = TraceBuilder()
    x, y, t = b.buffer("x", (2,)), b.buffer("y", (2,)), b.thread()
    for line in (12, 4, 8, 30):
        t.read(x, line=line)
    t.write(y, line=31)
    session = Session(b.close(), Report())
    said = lambda **where: repr(session.break_at(**where)).partition("; ")[2]
    assert said(line=4) == said(line=31, kind="write") == ""
    near = "no event meets it: nothing was recorded on line {} (JAX drops code "
    near += "whose result nobody uses); nearest lines with events: {}"
    assert said(line=9) == near.format(9, "8 and 12")
    assert said(line="kernel.py:9", kind="read") == near.format(9, "8 and 12")
    assert said(line=1) == near.format(1, "4")
    assert said(line=99) == near.format(99, "31")
    assert said(line="other.py:4") == (
        "no event meets it: nothing was recorded in other.py; files with events: kernel.py"
    )
    assert (
        said(kind="free") == "no event meets it; kinds that were recorded: read, write"
    )
    assert said(nan=True) == "no event meets it"
    assert said(finding=True) == "no event meets it: the checks found nothing"
    alone = (
        'no event meets all of it; events that meet one: kind="write" 1, buffer="x" 4'
    )
    assert said(kind="write", buffer="x") == alone
    alone = "no event meets all of it; events that meet one: line=4 1, nan=True 0"
    assert said(line=4, nan=True) == alone
    empty = Session(TraceBuilder().close())
    assert "no event meets it: nothing was recorded" in repr(
        empty.break_at(kind="read")
    )


def test_a_line_that_only_computes_says_so():
    session = pldb.debug(jax_kernels.running_sum, rows())
    adds = session.find(op="state.set")[0]
    line = session.trace[adds].loc.line - 1
    said = repr(session.break_at(line=line))
    assert f"no event meets it: line {line} only computes, or was not reached; " in said
    assert said.endswith(f"lines with events: {line - 1} and {line + 1}")


def test_at_the_edges_continuing_says_which_way_is_left():
    session = Session(writes(3))
    end = "nothing further: no breakpoint stops before the end"
    assert str(session.continue_()).startswith(f"{end}\n")
    last = "nothing further: this is the end; reverse_continue() goes the other way"
    assert str(session.continue_()).startswith(f"{last}\n")
    session.reverse_continue()
    first = "nothing further: this is the beginning; continue_() goes the other way"
    assert str(session.reverse_continue()).startswith(f"{first}\n")


def test_a_breakpoint_in_words():
    one = Breakpoint(id=2, where="", when="acc > 3", label="big")
    assert str(one) == "2: big: when acc > 3"
    assert str(Breakpoint(id=1, where="line=3", when="x")) == "1: line=3 when x"
    assert (
        str(Breakpoint(id=1, where="", when="x", enabled=False))
        == "1: when x (disabled)"
    )


def test_the_lines_to_try_have_their_files_where_there_are_several():
    def kernel(x_ref, o_ref):
        calling.both(x_ref, o_ref, 0)
        o_ref[1, :] = x_ref[1, :]

    like = jax.ShapeDtypeStruct((3, 4), np.float32)
    session = pldb.debug(pl.pallas_call(kernel, out_shape=like), rows())
    said = repr(session.break_at(line=7))  # of no function there, nor here
    assert re.search(r"nearest lines with events: \w+\.py:\d+ and \w+\.py:\d+$", said)


def test_a_loop_that_jax_drops_is_told_by_the_breakpoint_in_it():
    def kernel(x_ref, o_ref):
        def body(i, acc):
            return acc + x_ref[i]  # the ninth row of eight, if anybody read it

        jax.lax.fori_loop(0, 9, body, jnp.zeros(4, jnp.float32))
        o_ref[...] = x_ref[...]

    def launch(x):
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(kernel, out_shape=like)(x)

    jaxpr = jax.make_jaxpr(launch)(rows(8, 4)).eqns[0].params["jaxpr"]
    assert not {"scan", "while"} & {one.primitive.name for one in jaxpr.eqns}
    session = pldb.debug(launch, rows(8, 4))
    line = kernel.__code__.co_firstlineno + 2
    assert "JAX drops code" in repr(session.break_at(line=line))
    assert "JAX drops code" not in repr(session.break_at(line=line + 3))
