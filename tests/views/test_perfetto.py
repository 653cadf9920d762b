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
