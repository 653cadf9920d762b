"""The Perfetto export is well formed: every entry as the format has it."""

import itertools
import json

import pytest

import pallas_debug as pldb
from pallas_debug import gallery, views

NEEDS = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "i": {"name", "s", "ts", "pid", "tid"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
    "C": {"name", "ts", "pid", "args"},
}


@pytest.fixture(scope="module")
def recorded():
    fn, args = gallery.ENTRIES["ring_deadlock"].faulty()
    trace = pldb.trace(fn, *args)
    return trace, pldb.check(trace)


@pytest.fixture(scope="module")
def entries(recorded):
    return json.loads(views.perfetto(*recorded))["traceEvents"]


def test_every_entry_has_what_its_phase_needs(entries):
    assert {entry["ph"] for entry in entries} == set(NEEDS)
    for entry in entries:
        assert NEEDS[entry["ph"]] <= set(entry)
        assert entry.get("ts", 0) >= 0
        assert entry.get("dur", 0) >= 0


def test_tracks_are_named_and_used(entries):
    named = {(e["pid"], e["tid"]) for e in entries if e["name"] == "thread_name"}
    used = {(e["pid"], e["tid"]) for e in entries if e["ph"] in "Xi"}
    assert used <= named


def test_spans_of_a_track_do_not_overlap(entries):
    by_track = {}
    for entry in entries:
        if entry["ph"] == "X":
            spans = by_track.setdefault((entry["pid"], entry["tid"]), [])
            spans.append((entry["ts"], entry["ts"] + entry["dur"]))
    for spans in by_track.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def test_arrows_come_in_pairs_and_go_forward(entries):
    starts = {e["id"]: e for e in entries if e["ph"] == "s"}
    ends = {e["id"]: e for e in entries if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert all(starts[n]["ts"] <= ends[n]["ts"] for n in starts)


def test_reads_writes_waits_and_findings_are_there(entries):
    names = [entry["name"] for entry in entries]
    assert any(name.startswith("read tiles") for name in names)
    assert "waits for free" in names
    assert "PD210 deadlock" in names


def test_live_memory_never_falls_below_zero(entries):
    counters = [e["args"]["bytes"] for e in entries if e["ph"] == "C"]
    assert counters
    assert min(counters) >= 0


# The rules of the Trace Event Format, field by field: types, and values where it lists
# them. https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
def _is(kind):
    return lambda value: isinstance(value, kind) and not isinstance(value, bool)


RULES = {
    "ph": set("BEXiICbnePNODMsftRcv").__contains__,
    "name": _is(str),
    "cat": _is(str),
    "ts": _is((int, float)),
    "dur": _is((int, float)),
    "pid": _is(int),
    "tid": _is(int),
    "args": _is(dict),
    "id": _is((int, str)),
    "s": {"g", "p", "t"}.__contains__,
    "bp": {"e"}.__contains__,
}
METADATA = {"process_name", "process_labels", "process_sort_index", "thread_name"}


@pytest.mark.parametrize("name", gallery.ENTRIES)
def test_every_field_is_one_of_the_format_with_its_type(name):
    fn, args = gallery.ENTRIES[name].faulty()
    trace = pldb.trace(fn, *args)
    whole = json.loads(views.perfetto(trace, pldb.check(trace)))
    assert set(whole) <= {"traceEvents", "displayTimeUnit", "otherData"}
    assert whole["displayTimeUnit"] in ("ms", "ns")
    for entry in whole["traceEvents"]:
        for field, value in entry.items():
            assert RULES[field](value), entry
        if entry["ph"] == "M":
            assert entry["name"] in METADATA
        if entry["ph"] == "C":
            assert all(_is((int, float))(v) for v in entry["args"].values())


def test_arrows_bind_to_a_span_of_their_track(entries):
    """`s` and `f` with `bp: e` bind to the span around them: there must be one."""
    spans = {}
    for entry in entries:
        if entry["ph"] == "X":
            track = spans.setdefault((entry["pid"], entry["tid"]), [])
            track.append((entry["ts"], entry["ts"] + entry["dur"]))
    ends = [e for e in entries if e["ph"] in "sf"]
    bound = [
        any(a <= e["ts"] <= b for a, b in spans.get((e["pid"], e["tid"]), ()))
        for e in ends
    ]
    assert ends
    assert all(bound)


def test_trace_processor_of_perfetto_loads_it(recorded, tmp_path):
    """The package fetches its program when it first runs; CI may not."""
    processor = pytest.importorskip(
        "perfetto.trace_processor", reason="the package perfetto is not installed"
    )
    path = tmp_path / "run.perfetto.json"
    text = views.perfetto(*recorded)
    path.write_text(text)
    try:
        loaded = processor.TraceProcessor(trace=str(path))
    except Exception as error:  # no program for this machine, or no way to fetch it
        why = type(error).__name__
        pytest.skip(f"perfetto cannot fetch its trace processor here ({why})")
    with loaded as tp:
        (row,) = tp.query("select count(*) as n from slice where dur > 0")
        (bad,) = tp.query(
            "select coalesce(sum(value), 0) as n from stats"
            " where severity in ('error', 'data_loss')"
        )
    spans = [e for e in json.loads(text)["traceEvents"] if e["ph"] == "X" and e["dur"]]
    assert (row.n, bad.n) == (len(spans), 0)
