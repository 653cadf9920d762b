"""Helper functions of a kernel: their calls in stacks, breakpoints, steps and findings."""

import pathlib

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from session import calling

import pallas_debug as pldb
from pallas_debug import views

HERE = pathlib.Path(__file__)
SHAPE = jax.ShapeDtypeStruct((4, 8), jnp.float32)


def line_of(marker, file=HERE):
    """The line of a file that ends with the comment `# @marker`."""
    lines = file.read_text().splitlines()
    (line,) = [i for i, text in enumerate(lines, 1) if text.endswith(f"# @{marker}")]
    return line


def copied(x_ref, o_ref, row):
    def step(column, count):
        o_ref[row, column] = x_ref[row, column]  # @copy
        return count

    lax.fori_loop(0, 3, step, 0)  # @columns


def kernel(x_ref, o_ref):
    def each(row, count):
        copied(x_ref, o_ref, row)  # @kept
        return count

    lax.fori_loop(0, 2, each, 0)  # @rows
    for row in range(2):
        calling.both(x_ref, o_ref, row)  # @unrolled
    o_ref[2, :] = calling.scaled(x_ref, 2, 1.0) + calling.scaled(x_ref, 3, 1.0)  # @sum


def launch(x):
    return pl.pallas_call(kernel, out_shape=SHAPE)(x)  # @launch


@pytest.fixture(scope="module")
def trace():
    return pldb.trace(launch, jnp.ones((4, 8)))


@pytest.fixture
def session(trace):
    return pldb.Session(trace)


def events(trace, **where):
    return trace.events.where(**where).tolist()


def stops(session, **where):
    """Where a breakpoint stops on the way through, and on the way back."""
    one = session.break_at(**where)
    session.first()
    found = []
    while (stop := session.continue_()).breakpoint:
        found.append(stop.event.seq)
    back = []
    session.last()
    while (stop := session.reverse_continue()).breakpoint:
        back.append(stop.event.seq)
    session.delete(one)
    assert back[::-1] == found
    return found


def test_event_knows_the_lines_that_called_its_functions(trace):
    there = pathlib.Path(calling.__file__)
    event = trace[events(trace, line=f"calling.py:{line_of('read', there)}")[0]]
    assert event.loc.function == "scaled"
    assert [(one.function, one.line, one.file) for one in event.calls] == [
        ("both", line_of("nested", there), str(there)),
        ("kernel", line_of("unrolled"), str(HERE)),
    ]
    assert event.calls[-1].text == "calling.both(x_ref, o_ref, row)  # @unrolled"


def test_loops_stand_among_the_callers_but_call_nothing(trace):
    event = trace[events(trace, line=line_of("copy"))[0]]
    assert [one.line for one in event.callers] == [
        line_of("columns"),
        line_of("kept"),
        line_of("rows"),
    ]
    assert [one.line for one in event.calls] == [line_of("kept")]


def test_line_of_the_launch_calls_nothing(trace):
    assert all(
        line_of("launch") not in [s.line for s in e.callers] for e in trace.events
    )
    assert trace[0].callers == ()


def test_within_a_line_is_all_that_it_calls(trace):
    copies = events(trace, line=line_of("copy"))
    for marker in ("columns", "kept", "rows"):
        assert events(trace, within=line_of(marker)) == copies
        assert events(trace, line=line_of(marker)) == []
    assert events(trace, within=f"{HERE.name}:{line_of('kept')}") == copies
    assert events(trace, within=f"calling.py:{line_of('kept')}") == []


def test_breakpoint_on_a_call_stops_once_for_each(session):
    copies = events(session.trace, line=line_of("copy"))
    assert stops(session, line=line_of("kept")) == [copies[0], copies[6]]
    assert stops(session, line=line_of("columns")) == [copies[0], copies[6]]
    assert stops(session, line=line_of("rows")) == copies[:1]


def test_breakpoint_on_a_call_that_python_repeats_stops_at_each(session):
    reads = events(session.trace, within=line_of("unrolled"), kind="read")
    assert stops(session, line=line_of("unrolled")) == reads
    assert len(reads) == 2


def test_breakpoint_on_a_line_with_two_calls_and_an_event_stops_once(session):
    inside = events(session.trace, within=line_of("sum"))
    assert len(inside) == 3
    assert stops(session, line=line_of("sum")) == inside[:1]


def test_breakpoint_on_a_call_with_conditions_stops_at_the_first_that_meets_them(
    session,
):
    writes = events(session.trace, line=line_of("copy"), kind="write")
    assert stops(session, line=line_of("kept"), kind="write") == [writes[0], writes[3]]
    assert stops(session, line=line_of("kept"), when="row == 1") == [
        events(session.trace, line=line_of("copy"))[6]
    ]


def added(o_ref, row, value):
    o_ref[row, :] = o_ref[row, :] + value  # @added


def reading(x_ref, o_ref):
    def each(row, count):
        added(o_ref, row, x_ref[row, :])  # @looped
        return count

    lax.fori_loop(0, 3, each, 0)
    for row in range(2):
        o_ref[row, :] = calling.scaled(x_ref, row, x_ref[row, 0])  # @around


@pytest.fixture(scope="module")
def operands():
    return pldb.trace(pl.pallas_call(reading, out_shape=SHAPE), jnp.ones((4, 8)))


@pytest.mark.parametrize(("marker", "times"), [("looped", 3), ("around", 2)])
def test_breakpoint_on_a_call_stops_at_an_operand_and_not_again_inside(
    operands, marker, times
):
    inside = events(operands, within=line_of(marker))
    assert len(inside) == 3 * times
    assert inside[0] in events(operands, line=line_of(marker))
    assert stops(pldb.Session(operands), line=line_of(marker)) == inside[::3]


def test_over_skips_what_a_line_calls_and_out_leaves_it(session):
    inside = events(session.trace, within=line_of("unrolled"))
    session.jump(inside[0])
    assert session.out().event.seq == inside[1]  # from `scaled` to the line in `both`
    assert session.over().event.seq == inside[2]
    session.jump(inside[1])
    assert session.out().event.seq == inside[2]
    session.jump(inside[-1])
    after = events(session.trace, within=line_of("sum"))
    assert session.out().event.seq == after[0]
    session.jump(after[-1])
    assert session.over_back().event.seq < inside[0]


def test_stack_stop_and_session_show_the_calls(session):
    there = pathlib.Path(calling.__file__)
    event = events(session.trace, within=line_of("unrolled"))[0]
    stop = session.jump(event)
    said = (
        f"called from line {line_of('nested', there)} in both, "
        f"from line {line_of('unrolled')} in kernel of {HERE.name}"
    )
    assert said in str(stop)
    assert said in str(session)
    frames = [(one.kind, one.name, one.place) for one in session.where().frames]
    assert frames[-3:] == [
        ("function", "both", f"{HERE.name}:{line_of('unrolled')}"),
        ("function", "scaled", f"calling.py:{line_of('nested', there)}"),
        ("instruction", "state.get", f"calling.py:{line_of('read', there)}"),
    ]


def unset(x_ref, o_ref, s_ref):
    o_ref[0, :] = calling.scaled(x_ref, 0, 2.0)
    o_ref[1, :] = calling.scaled(s_ref, 1, 2.0)  # @unset


def test_finding_names_the_call_that_is_at_fault():
    scratch = [pltpu.VMEM(SHAPE.shape, SHAPE.dtype)]
    call = pl.pallas_call(unset, out_shape=SHAPE, scratch_shapes=scratch)
    trace = pldb.trace(call, jnp.ones((4, 8)))
    report = pldb.check(trace, select="PD102")
    (one,) = report.findings
    said = f"called from line {line_of('unset')} in unset of {HERE.name}"
    assert one.called == said
    for text in (str(one), views.findings(report), views.html_summary(trace, report)):
        assert said in text


def test_file_keeps_the_calls(trace, tmp_path):
    trace.save(tmp_path / "t.pldb")
    loaded = pldb.load(tmp_path / "t.pldb")
    assert [e.callers for e in loaded.events] == [e.callers for e in trace.events]
    again = pldb.Session(loaded)
    assert len(stops(again, line=line_of("kept"))) == 2
