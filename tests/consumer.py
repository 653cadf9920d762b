"""What a strictly typed program does with the public API; `test_consumer.py` checks it.

Never run: each line states the type that a reader's editor shows.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import pallas_debug as pldb
from pallas_debug.extend import check, rule, schedule, view


def verbs(fn: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
    options = pldb.Options(chip="h100", cores=4, blocks=[0, (1, 2)], max_seconds=2.5)
    pldb.Options(blocks=range(4))
    pldb.Options(blocks=np.arange(4))
    pldb.Options(blocks=(i for i in {1, 2}))
    pldb.Options(blocks=np.int64(3))
    trace = pldb.trace(fn, x, options=options)
    assert_type(trace, pldb.Trace)
    assert_type(pldb.check(trace), pldb.Report)
    assert_type(pldb.check(fn, x, select=["PD1"], options=options), pldb.Report)
    assert_type(pldb.debug(fn, x), pldb.Session)
    assert_type(pldb.debug(trace), pldb.Session)
    assert_type(pldb.load("run.pldb"), pldb.Trace)
    assert_type(pldb.load(Path("run.pldb")), pldb.Trace)
    with pldb.recording(options) as made:
        fn(x)
    assert_type(made.trace, pldb.Trace)
    found = pldb.compare(fn, np.negative, x, tolerance=1e-3)
    assert_type(bool(found), bool)
    assert_type(found.differences[0].index, tuple[int, ...])
    assert_type(found.trace, pldb.Trace)
    table = pldb.portability(fn, x, timeout=10.0)
    assert_type(table.rows[0].target, str)
    assert_type(table["pallas_debug"].status, str)
    assert_type(pldb.__version__, str)


def traces(trace: pldb.Trace) -> None:
    numbers = trace.events.where(kind="write", buffer="acc", block=(0,))
    event = trace[int(numbers[0])]
    assert_type(event.op, str)
    assert_type(event.block, tuple[int, ...] | None)
    assert_type(event.place, str)
    if event.loc:
        assert_type(event.loc.line, int)
    if event.buffer:
        assert_type(event.buffer.shape, tuple[int, ...])
    assert_type(trace[:10], pldb.Trace)
    assert_type(len(trace), int)
    launch = trace.launches[0]
    assert_type(launch.outcome.kind, str)
    assert_type(launch.grid, tuple[int, ...])
    assert_type(launch.events, range)
    trace.save("run.pldb", compress=True)


def reports(report: pldb.Report) -> None:
    for one in report.errors:
        assert_type(one, pldb.Finding)
        assert_type(one.message, str)
        assert_type(one.events, tuple[int, ...])
        if one.loc:
            assert_type(one.loc.file, str)
    assert_type(report.tally, str)
    assert_type(report.findings[0].code, str)


def sessions(session: pldb.Session) -> None:
    session.break_at(line=41, when="step == 2")
    session.watch("acc", [0, 1], on="change")
    assert_type(session.continue_().why, str)
    assert_type(session.step(3).cursor, int)
    assert_type(session.cursor, int)
    assert_type(session.trace, pldb.Trace)
    assert_type(session.memory("acc").initialized.any(), np.bool)
    run = session.divert("acc", 1.0)
    assert_type(session.open(run), pldb.Session)


@check("XX901", "mine")
def mine(trace: pldb.Trace) -> list[pldb.Finding]:
    return [pldb.Finding(message=f"{len(trace)} events", hint="none")]


@rule("my.op")
def my_op(m: Any, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return value


@schedule("always-first")
def always_first(enabled: Any, current: int) -> int:
    return min(enabled)


@view("mine", suffix=".mine")
def drawn(trace: pldb.Trace, report: pldb.Report) -> str:
    return f"{len(trace)} {report.tally}"
