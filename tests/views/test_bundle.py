"""A bundle is the trace's file, and its tables say what the columns say."""

import bisect
import json
import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from trace_strategies import memory_traces, thread_traces

from pallas_debug.checks import Finding, Report, Severity, run_checks
from pallas_debug.trace import Kind, dumps, fold, loads
from pallas_debug.trace.container import LENGTH_BYTES, Unpacker
from pallas_debug.views import bundle_schema, typescript
from pallas_debug.views.bundle import bundle
from pallas_debug.views.bundle_values import decode_tables

traces = memory_traces() | thread_traces()


def opened(trace, report=None, **options):
    """The header's view and the arrays of a bundle."""
    file = Unpacker(bundle(trace, report, **options), "<test>")
    names = [name for name in file.header["arrays"] if name.startswith("view.")]
    return file.header["view"], {name: file.integers(name).tolist() for name in names}


def rows(arrays, table):
    found = {n: v for n, v in arrays.items() if n.startswith(f"view.{table}.")}
    names = [name.rpartition(".")[2] for name in found]
    return [
        dict(zip(names, row, strict=True)) for row in zip(*found.values(), strict=True)
    ]


@settings(deadline=None, max_examples=60)
@given(traces)
def test_bundle_is_the_file_and_the_same_twice(trace):
    data = bundle(trace)
    assert dumps(loads(data)) == dumps(trace)
    assert bundle(trace) == data
    _, arrays = opened(trace)
    assert set(arrays) == set(bundle_schema.VIEW_ARRAYS)


def test_header_is_declared_and_strict_json():
    trace, report = judged()
    data = bundle(trace, report)
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    text = data[LENGTH_BYTES : LENGTH_BYTES + length]
    view = json.loads(text, parse_constant=lambda name: pytest.fail(name))["view"]
    for kind, given_ in (
        (bundle_schema.View, view),
        (bundle_schema.LaunchView, view["launches"][0]),
        (bundle_schema.KernelView, view["kernels"][0]),
        (bundle_schema.FindingView, view["findings"][0]),
        (bundle_schema.SourceView, view["sources"][0]),
        (bundle_schema.ValuesView, view["values"]),
    ):
        assert set(given_) == set(kind.__annotations__), kind


def judged():
    """A trace of two blocks, and a report about it."""
    b = TraceBuilder(grid=(2, 2), name="judged")
    x = b.buffer("x", (4,), initial=np.zeros(4, np.float32))
    first = b.thread(block=1)
    event = first.write(x, value=np.full(4, np.nan, np.float32), line=3)
    b.thread(block=2).read(x, line=4)
    trace = b.close()
    findings = (
        Finding(code="PD101", severity=Severity.ERROR, message="m", launch=0,
                buffer="x", block=(0, 1), events=(event,),
                details={"value": math.nan, "most": [np.float32(math.inf)]}),
        Finding(code="PD402", severity=Severity.INFO, message="n", events=(1,)),
        Finding(code="PD303", severity=Severity.ERROR, message="o", launch=0),
    )  # fmt: skip
    return trace, Report(findings=findings)


def test_findings_say_where_and_which_buffer_and_block():
    trace, report = judged()
    view, arrays = opened(trace, report)
    first, second, _ = view["findings"]
    assert (first["buffer_row"], first["block_linear"]) == (0, 1)
    assert first["details"] == {"value": "NaN", "most": ["Infinity"]}
    assert "outside its buffer" in first["doc"]
    assert "## Example" not in first["doc"]
    assert (second["buffer_row"], second["block"]) == (-1, None)
    assert [one["refusal"] for one in view["findings"]] == [False, False, True]
    assert arrays["view.blocks.block"] == [1, 2]
    assert arrays["view.blocks.worst"] == [4, 4]
    only = Report(findings=report.findings[:2])
    assert opened(trace, only)[1]["view.blocks.worst"] == [3, 1]
    assert opened(trace)[1]["view.blocks.worst"] == [0, 0]
    assert not opened(trace)[0]["has_report"]


def test_finding_in_the_only_block_of_an_empty_grid_is_in_it():
    b = TraceBuilder(grid=())
    b.thread(block=0).read(b.buffer("x", (4,)))
    found = Finding(code="PD1", severity=Severity.ERROR, message="", launch=0, block=())
    view, arrays = opened(b.close(), Report(findings=(found,)))
    assert view["findings"][0]["block_linear"] == 0
    assert arrays["view.blocks.worst"] == [3]


@settings(deadline=None, max_examples=100)
@given(thread_traces())
def test_clocks_can_be_looked_up(trace):
    _, a = opened(trace)
    for seq in range(len(trace)):
        thread = int(trace.columns.thread[seq])
        tick = a["view.clock"][seq]
        known = defaultdict(lambda: -1, {thread: tick})
        while thread >= 0:
            begin, end = a["view.clocks.first"][thread : thread + 2]
            stop = bisect.bisect_right(a["view.clocks.at"], tick, begin, end)
            for i in range(begin, stop):
                other = a["view.clocks.other"][i]
                known[other] = max(known[other], a["view.clocks.tick"][i])
            parent = a["view.clocks.parent"][thread]
            thread, tick = parent, a["view.clocks.parent_tick"][thread]
            if thread >= 0:
                known[thread] = max(known[thread], tick)
        assert dict(known) == trace.order.clock(seq)


def waits(trace):
    """Spans of waiting, one thread and event at a time."""
    for thread in range(len(trace.thread_rows)):
        events = trace.columns.of_thread(thread).tolist()
        for seq, after in pairwise([*events, len(trace)]):
            if trace.columns.kind[seq] == Kind.BLOCK:
                yield thread, seq, after


@settings(deadline=None, max_examples=60)
@given(thread_traces())
def test_spans_partition_what_a_thread_did(trace):
    _, arrays = opened(trace)
    spans = rows(arrays, "spans")
    assert [s["start"] for s in spans] == sorted(s["start"] for s in spans)
    found = {(s["thread"], s["start"], s["end"]) for s in spans if s["kind"] == 1}
    assert found == set(waits(trace))
    for thread in trace.threads:
        events = trace.columns.of_thread(thread.number).tolist()
        mine = [s for s in spans if s["thread"] == thread.number]
        if thread.is_agent:
            flights = [s for s in mine if s["kind"] == 2]
            assert all(s["start"] < seq < s["end"] for s in flights for seq in events)
            assert len(flights) == 1
        else:
            covered = [seq for s in mine for seq in range(s["start"], s["end"])]
            assert set(events) <= set(covered)
            assert len(covered) == len(set(covered))


def test_spans_around_a_wait_and_of_a_copy_that_never_ends():
    b = TraceBuilder(grid=(1,))
    bar = b.barrier("bar")
    t = b.thread(block=0)
    copy = t.spawn()
    blocked = t.blocked(bar)
    copy.arrive(bar)
    woken = t.wait(bar)
    joins = t.emit(Kind.BLOCK, aux=copy.number)
    trace = b.close()
    _, arrays = opened(trace)
    spans = [
        (s["kind"], s["start"], s["end"], s["object"])
        for s in rows(arrays, "spans")
        if s["thread"] in (t.number, copy.number)
    ]
    assert spans == [
        (0, 0, blocked, -1),
        (2, 0, len(trace), -1),
        (1, blocked, woken, bar),
        (0, woken, joins, -1),
        (1, joins, len(trace), -1 - copy.number),
    ]


def test_span_of_a_launch_ends_with_what_it_started():
    b = TraceBuilder(grid=(1,))
    launch = b.thread("launch")
    block = launch.spawn(kind="core")
    x = b.buffer("x", (1,))
    block.write(x)
    block.end()
    trace = b.close()
    _, arrays = opened(trace)
    spans = {s["thread"]: s["end"] for s in rows(arrays, "spans")}
    assert spans == {launch.number: len(trace), block.number: len(trace)}


@settings(deadline=None, max_examples=60)
@given(traces)
def test_blocks_and_lines_sum_up_their_events(trace):
    view, arrays = opened(trace)
    blocks, lines = {}, {}
    for event in trace.events:
        size = 0
        if event.kind in (Kind.READ, Kind.WRITE, Kind.UPDATE):
            size = 4 * event.region.flat(event.buffer.shape).size
        sums = (
            event.kind is not Kind.WRITE and size,
            event.kind is not Kind.READ and size,
            event.kind in (Kind.WAIT, Kind.JOIN),
        )
        key = (event.launch.number, event.column("block"))
        if key[1] >= 0:
            row = blocks.setdefault(key, [event.seq, event.seq, 0, 0, 0, 0])
            row[1:3] = event.seq, row[2] + 1
            row[3:] = [a + int(b) for a, b in zip(row[3:], sums, strict=True)]
        row = lines.setdefault((0, 0, event.loc.line), [set(), 0, 0, 0])
        row[0].add((event.thread.number, event.column("step")))
        row[1:] = [a + int(b) for a, b in zip(row[1:], sums, strict=True)]
    found = [list(row.values())[:-1] for row in rows(arrays, "blocks")]
    assert found == [[*key, *row] for key, row in sorted(blocks.items())]
    expected = [[*key, len(row[0]), *row[1:]] for key, row in sorted(lines.items())]
    assert view["lines"] == expected


def many_values(count=50):
    b = TraceBuilder(grid=(1,))
    t = b.thread(block=0)
    s = b.buffer("s", (4,), initial=np.ones(4, np.float32))
    big = b.buffer("big", (64,), initial=np.ones(64, np.float32))
    for number in range(count):
        t.write(s, value=np.full(4, number, np.float32))
        t.write(big, value=np.full(64, number, np.float32))
        mask = np.arange(64) % 2 == number % 2
        t.update(big, [(0, 64)], value=np.zeros(64, np.float32), mask=mask)
    return b.close()


def test_values_above_the_budget_are_left_out_and_said_to_be():
    trace = many_values()
    view, _ = opened(trace, values_bytes=5000)
    assert view["values"]["left_out"] > 0
    masks = 50 * 64  # what a region needs is always there
    assert view["values"]["included_bytes"] <= 5000 + masks
    again = loads(bundle(trace, values_bytes=5000))
    assert view["values"]["left_out"] == len(again.left_out)
    smallest = fold.memory(again, "s").values
    np.testing.assert_array_equal(smallest, fold.memory(trace, "s").values)
    assert fold.recorded(again, "s").all()
    for at in (0, 100, len(trace)):
        known = fold.recorded(again, "big", at)
        one, two = fold.memory(again, "big", at), fold.memory(trace, "big", at)
        np.testing.assert_array_equal(one.initialized, two.initialized)
        np.testing.assert_array_equal(one.values[known], two.values[known])
    assert not fold.recorded(again, "big").any()
    assert again.values(int(trace.events.where(buffer="big", kind="write")[-1])) is None
    assert dumps(loads(dumps(again))) == dumps(again)
    crashed = [f for f in run_checks(again).findings if f.code == "PD999"]
    assert not crashed  # what was left out is unknown, not wrong


def test_values_that_a_finding_is_about_come_first():
    trace = many_values()
    about = Finding(code="PD1", severity=Severity.ERROR, message="", launch=0)
    big = Report(findings=(Finding(**{**vars(about), "buffer": "big"}),))
    kept = loads(bundle(trace, big, values_bytes=16_000))
    assert fold.recorded(kept, "big", 5).all()
    assert not fold.recorded(kept, "s").all()
    assert fold.recorded(loads(bundle(trace, values_bytes=16_000)), "s").all()


def test_decode_tables_have_every_pattern():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tables = decode_tables(["float8_e5m2", "int4", "float32", "barrier", "int8"])
    assert set(tables) == {"float8_e5m2", "int4"}
    assert tables["int4"] == [*range(8), *range(-8, 0)]
    table = tables["float8_e5m2"]
    assert len(table) == 256
    values = np.array([1.5, -0.0, np.inf, -np.inf, 448.0], ml_dtypes.float8_e5m2)
    found = [table[byte] for byte in values.view(np.uint8)]
    assert found == [1.5, 0, "Infinity", "-Infinity", 448]
    assert math.copysign(1, found[1]) == -1
    assert table[np.array([np.nan], ml_dtypes.float8_e5m2).view(np.uint8)[0]] is None


def test_typescript_schema_is_up_to_date():
    from golden.viewer import FOLDER

    printed = FOLDER.parent.parent / "src" / "schema.gen.ts"
    assert printed.read_text(encoding="utf-8") == typescript.schema_text(), (
        "print it: python -m pallas_debug.views.typescript > js_widgets/src/schema.gen.ts"
    )
