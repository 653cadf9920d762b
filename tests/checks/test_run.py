"""Running checks: selection, crashes, joining, and the law that checks are pure."""

import importlib
import pathlib
import sys
from dataclasses import replace

import numpy as np
import pytest
from helpers import TraceBuilder, codes
from hypothesis import given, settings
from trace_strategies import memory_traces, thread_traces

from pallas_debug import checks, errors
from pallas_debug.checks import CHECKS, Finding, Severity, check, run_checks
from pallas_debug.trace import dumps, loads

SECTIONS = ("What it does", "Why is this bad?", "Example", "Use instead")
FOLDER = pathlib.Path(checks.__file__).parent
PLUMBING = {"__init__", "accesses", "check", "finding", "refusal", "run", "versions"}
PLUMBING |= {
    "deadlock_graph",
    "deadlock_sources",
    "races",
    "races_cells",
    "races_pairs",
    "races_words",
}
PLUMBING |= {"races_copies", "causes", "causes_of_order", "remedies"}
PLUMBING |= {"semaphores", "decided", "places"}
PLUMBING |= {"births", "odd", "origins", "paths", "stored", "tapeflow", "target"}
PLUMBING |= {"suppression", "foreseen", "cut_short", "harmless"}
PLUMBING |= {"causes_of_indices", "outside", "races_slots", "sums_of_reads"}
PLUMBING |= {"outside_barriers", "outside_elements", "races_barriers", "races_turns"}


def faulty():
    b = TraceBuilder(grid=(1,))
    x = b.buffer("x", (4,), initial=np.zeros(4, np.float32))
    s = b.buffer("s", (4,))
    t = b.thread(block=0)
    t.read(x, [(2, 4)], line=3)
    t.read(s, line=4)
    return b.close()


@pytest.fixture
def extra():
    """Registers checks for one test."""
    added = []

    def add(code, function, **options):
        check(code, "extra", **options)(function)
        added.append(code)

    yield add
    for code in added:
        del CHECKS._entries[code]


def test_every_check_has_a_page_with_four_sections():
    for code, one in CHECKS.items():
        assert one.doc.startswith(f"{code} {one.name}: "), code
        titles = [line[3:] for line in one.doc.splitlines() if line.startswith("## ")]
        assert tuple(titles) == SECTIONS, code


def test_folder_and_list_agree():
    files = {path.stem for path in FOLDER.rglob("*.py")} - PLUMBING
    homes = {one.function.__module__.rpartition(".")[2] for _, one in CHECKS.items()}
    assert homes == files
    assert {one.name for _, one in CHECKS.items()} == {
        f.replace("_", "-") for f in files
    }


def test_codes_and_names_are_unique():
    names = [one.name for _, one in CHECKS.items()]
    assert len(set(names)) == len(names)
    assert all(code.startswith("PD") and len(code) == 5 for code in CHECKS)


@pytest.mark.parametrize(
    ("select", "ran"),
    [
        ("PD101", ("PD101",)),
        ("PD1", tuple(code for code in CHECKS if code.startswith("PD1"))),
        ("out-of-bounds, deadlock", ("PD101", "PD210")),
        (["PD102", "uninitialized-read"], ("PD102",)),
    ],
)
def test_select_by_code_name_or_family(select, ran):
    assert run_checks(faulty(), select=select).checks == ran


def test_unknown_selection_is_refused_with_the_nearest():
    with pytest.raises(errors.BadOption, match="`select` got 'PD199'") as caught:
        run_checks(faulty(), select="PD199")
    assert "PD102" in str(caught.value)
    with pytest.raises(errors.BadOption, match="`ignore`"):
        run_checks(faulty(), ignore=["deadlok"])


def test_ignored_findings_are_kept_aside():
    report = run_checks(faulty(), ignore="PD102")
    assert codes(report) == ["PD101"]
    assert [one.code for one in report.suppressed] == ["PD102"]
    assert repr(report) == f"<Report: 1 error, 1 suppressed, {len(CHECKS)} checks>"


def test_report_by_code_and_text():
    report = run_checks(faulty())
    assert len(report) == len(report.errors) == 2
    assert not report.warnings
    assert list(report.by_code) == ["PD101", "PD102"]
    assert report.tally == "2 errors"
    lines = str(report).splitlines()
    assert lines[1].startswith("PD101 error, out-of-bounds: reads `x`[2:6]")
    assert lines[2] == "  in body, kernel.py:3:   line 3"
    assert lines[3].startswith("  try: ")
    assert repr(report.findings[0]).startswith("<PD101 error at kernel.py:3: reads")
    assert bool(run_checks(faulty(), select="PD210"))
    assert run_checks(faulty(), select="PD210").tally == "no findings"


def test_a_crash_is_a_finding_and_the_rest_runs(extra):
    def crash(trace):
        yield Finding(message="first")
        raise RuntimeError("boom")

    extra("PD000", crash)
    report = run_checks(faulty())
    assert codes(report) == ["PD101", "PD102", "PD999"]
    assert "RuntimeError: boom" in report.findings[-1].message
    assert report.findings[-1].details == {"check": "PD000"}


def test_worst_roots_come_first_and_then_the_order_of_the_checks(extra):
    def noted(severity):
        return lambda trace: iter([Finding(message="here", severity=severity)])

    extra("PD000", noted(Severity.INFO))
    extra("PD001", noted(Severity.WARNING))
    report = run_checks(faulty())
    assert codes(report) == ["PD101", "PD102", "PD001", "PD000"]


def test_a_verdict_about_a_line_has_its_first_event_as_evidence(extra):
    trace = faulty()
    kernel = trace.launches[0].kernel
    line = next(loc for loc in kernel.locs if loc.line == 4)
    elsewhere = replace(line, line=5)

    def static(trace):
        yield Finding(message="here", loc=line, launch=0)
        yield Finding(message="nothing runs here", loc=elsewhere, launch=0)
        yield Finding(message="nowhere")

    extra("PD998", static)
    there, *others = run_checks(trace, select="PD998").findings
    (event,) = there.events
    assert trace.events[event].loc.line == 4
    assert [one.events for one in others] == [(), ()]
    assert run_checks(trace[:event], select="PD998").findings[0].events == ()


def test_equal_line_and_buffer_are_joined(extra):
    def many(trace):
        for seq in (1, 0, 1):
            yield Finding(
                message=f"at {seq}",
                buffer="x",
                loc=trace.events[0].loc,
                events=(seq,),
                threads=(seq,),
            )
        yield Finding(message="other", buffer="y", loc=trace.events[0].loc)

    extra("PD000", many, severity=Severity.INFO)
    one, other = run_checks(faulty(), select="PD000").findings
    assert (one.message, one.count, one.events, one.threads) == (
        "at 1",
        3,
        (0, 1),
        (1, 0),
    )
    assert (one.severity, one.name, other.count) == (Severity.INFO, "extra", 1)


@settings(deadline=None, max_examples=40)
@given(memory_traces() | thread_traces())
def test_checks_are_pure(trace):
    before = dumps(trace)
    first = run_checks(trace)
    assert run_checks(trace).findings == first.findings
    assert dumps(trace) == before
    again = run_checks(loads(before))
    assert again.findings == first.findings
    assert [one.details for one in again.findings] == [
        one.details for one in first.findings
    ]
    assert not [one for one in first.findings if one.code == "PD999"]


@settings(deadline=None, max_examples=40)
@given(memory_traces())
def test_a_prefix_finds_a_subset(trace):
    def found(part):
        report = run_checks(part, select="PD101,PD102")
        return {(one.code, seq) for one in report.findings for seq in one.events}

    whole = found(trace)
    for count in range(len(trace)):
        assert found(trace[:count]) == {hit for hit in whole if hit[1] < count}


def test_checks_need_no_jax():
    module = importlib.import_module("pallas_debug.checks")
    names = [n for n in sys.modules if n.startswith(module.__name__)]
    for name in names:
        assert not hasattr(sys.modules[name], "jax")
