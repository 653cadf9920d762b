"""The laws of the machine as functions of a launch and its options.

`test_machine_generated.py` asks them of generated tapes, `test_machine_kernels.py` of
kernels that mean something.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from pallas_debug.checks import run_checks
from pallas_debug.machine import (
    Options,
    advance,
    begin,
    checkpoint,
    compile_kernel,
    resume,
    run,
    with_steps,
)
from pallas_debug.session.timeline import Timeline
from pallas_debug.trace import Fork, Writer, close, dumps, fold, loads
from pallas_debug.trace.join import dependence, join
from pallas_debug.trace.schema import COLUMNS

MARKS = 12


def recorded(launch, options):
    return run(launch, Writer(), Options(**options))


def same(fork, writer):
    """Both writers hold the same facts."""
    joined = fork.joined() if isinstance(fork, Fork) else fork
    assert bytes(joined.log) == bytes(writer.log)
    for table in ("regions", "threads", "buffers", "choices", "texts"):
        assert getattr(joined, table) == getattr(writer, table), table
    assert len(joined.payloads) == len(writer.payloads)
    for one, other in zip(joined.payloads, writer.payloads, strict=True):
        assert one.tobytes() == other.tobytes()
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert joined.launches[0].outcome == writer.launches[0].outcome
    assert joined.launches[0].steps == writer.launches[0].steps


def deterministic(launch, options):
    """1: the same launch and options give the same bytes; so do the choices alone."""
    first = recorded(launch, options)
    same(recorded(launch, options).writer, first.writer)
    assert dumps(close(first.writer)) == dumps(close(recorded(launch, options).writer))


def marks(steps):
    return sorted({round(steps * n / MARKS) for n in range(MARKS + 1)})


def folds(launch, options):
    """2: memory folded from the trace is the machine's memory, at every mark."""
    options = {**options, "values": "writes"}
    whole = recorded(launch, options)
    trace = close(whole.writer)
    program = with_steps(compile_kernel(launch.kernel))
    this = begin(launch, Writer(), Options(**options), program=program)
    for step in marks(whole.record.steps):
        advance(this, until=step)
        for number, memory in this.m.state.memory.items():
            if memory.decl.is_sync:
                continue
            found = fold.memory(trace, number, at=this.writer.events)
            assert fold.recorded(trace, number, at=this.writer.events)[
                found.initialized
            ].all()
            np.testing.assert_array_equal(
                found.values[found.initialized],
                memory.data[found.initialized],
                err_msg=f"{memory.decl.name} at step {step}",
            )


def replays(launch, options):
    """3: a state copied at any mark, then replayed, gives the original suffix."""
    options = {**options, "values": "all"}
    whole = recorded(launch, options)
    choices = whole.writer.choices
    program = with_steps(compile_kernel(launch.kernel))
    this = begin(launch, Writer(), Options(**options), program=program)
    kept = []
    for step in marks(whole.record.steps):
        advance(this, until=step)
        kept.append(checkpoint(this))
    advance(this)
    same(this.writer, whole.writer)
    for mark in kept:
        again = resume(mark, choices=choices)
        advance(again)
        same(again.writer, whole.writer)


def travels(launch, options):
    """3, by the timeline: any order of visits, with and without checkpoints."""
    options = {**options, "values": "all"}
    whole = recorded(launch, options)
    timeline = Timeline(launch, Options(**options), whole.writer.choices)
    for step in reversed(marks(whole.record.steps)):
        this = timeline.resume(step)
        assert this.m.state.step == step
        prefix = bytes(whole.writer.log[: this.writer.events * 36])
        assert bytes(this.writer.joined().log) == prefix
        advance(this)
        same(this.writer, whole.writer)
    timeline.forget()
    middle = whole.record.steps // 2
    assert memory_of(timeline.at(middle)) == memory_of(timeline.at(middle))


def memory_of(state):
    return {number: memory.data.tobytes() for number, memory in state.memory.items()}


def survives_a_file(launch, options):
    """6: write ∘ read is the identity."""
    trace = close(recorded(launch, {**options, "values": "all"}).writer)
    data = dumps(trace)
    again = loads(data)
    assert dumps(again) == data
    for name in ("kind", "thread", "block", "step", "instr", "object", "region", "aux",
                 "payload", "clock", "launch"):  # fmt: skip
        one, other = getattr(trace.columns, name), getattr(again.columns, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
    assert again.thread_rows == trace.thread_rows
    assert again.buffer_rows == trace.buffer_rows
    assert again.choices == trace.choices
    assert again.launches[0].outcome == trace.launches[0].outcome


def has_prefixes(launch, options):
    """9: a prefix of a trace is a trace that says the same of its past."""
    trace = close(recorded(launch, options).writer)
    for count in {0, len(trace) // 3, len(trace) // 2, len(trace)}:
        prefix = trace[:count]
        assert len(prefix) == count
        assert dumps(loads(dumps(prefix))) == dumps(prefix)
        for number, row in enumerate(prefix.buffer_rows):
            if row.role == "sync":
                continue
            one, other = (
                fold.memory(prefix, number),
                fold.memory(trace, number, at=count),
            )
            np.testing.assert_array_equal(one.initialized, other.initialized)
            np.testing.assert_array_equal(one.values, other.values)


def judged(trace):
    """Findings as plain data."""
    return [
        (
            f.code,
            f.message,
            f.hint,
            f.severity,
            str(f.loc),
            f.threads,
            f.events,
            f.count,
        )
        for f in run_checks(trace).findings
    ]


def checks_are_pure(launch, options):
    """5: the same findings twice and on a reloaded file; the trace is unchanged."""
    trace = close(recorded(launch, options).writer)
    before = dumps(trace)
    findings = judged(trace)
    assert not [f for f in findings if f[0] == "PD999"]
    assert judged(trace) == findings
    assert dumps(trace) == before
    assert judged(loads(before)) == findings


def checks_look_back(launch, options):
    """9: what a check says of a prefix it says of the whole, where it only looks back."""
    trace = close(recorded(launch, options).writer)
    whole = {(f[0], event) for f in judged(trace) for event in f[6]}
    for count in {len(trace) // 3, len(trace) // 2}:
        part = {(f[0], event) for f in judged(trace[:count]) for event in f[6]}
        part = {one for one in part if one[0].startswith("PD1")}
        assert part <= whole


def is_granular(launch, options):
    """10: one-instruction and maximal segments give the byte-identical trace."""
    options = {**options, "values": "all"}
    whole = recorded(launch, options)
    single = compile_kernel(launch.kernel, single=True)
    steps = run(launch, Writer(), Options(**options), program=single)
    same(steps.writer, whole.writer)


def replays_alike(launch, options):
    """11: grid points replayed from a template give the byte-identical trace."""
    for values in ("writes", "all", "none"):
        options = {**options, "values": values}
        program = compile_kernel(launch.kernel, coarse=True)
        plain = run(launch, Writer(), Options(**options), program=program, replay=False)
        for _ in range(2):  # the second time, paths are known from the first
            again = run(launch, Writer(), Options(**options), program=program)
            same(again.writer, plain.writer)
            assert dumps(close(again.writer)) == dumps(close(plain.writer))
            for one, other in zip(again.results(), plain.results(), strict=True):
                assert one.tobytes() == other.tobytes()
        if values == "writes":
            twice, plainly = Writer(), Writer()
            for _ in range(2):  # paths are known, and numbers are others than they were
                run(launch, plainly, Options(**options), program=program, replay=False)
                run(launch, twice, Options(**options), program=program)
            same(twice, plainly)
        for one in (
            with_other_values(launch),
            launch,
        ):  # batches are known, and values are others
            plain = run(
                one, Writer(), Options(**options), program=program, replay=False
            )
            anew = run(one, Writer(), Options(**options), program=program)
            same(anew.writer, plain.writer)
            for mine, theirs in zip(anew.results(), plain.results(), strict=True):
                assert mine.tobytes() == theirs.tobytes()
    return again


def with_other_values(launch):
    """The same launch with its arrays' elements in other places."""
    return replace(launch, arguments=tuple(np.roll(a, 1) for a in launch.arguments))


def joins_alike(launch, bounds, **options):
    """11: a grid recorded in pieces joins to the trace of one run; None: they depend.

    One run holds a value that its blocks share once, pieces each hold theirs: the
    numbers of values may differ, what they name may not.
    """
    whole = run(launch, Writer(), Options(**options))
    pieces = [
        loads(
            dumps(close(run(launch, Writer(), Options(**options, blocks=part)).writer))
        )
        for part in (list(range(a, b)) for a, b in pairwise(bounds))
    ]
    kinds = {piece.launches[0].outcome.kind for piece in pieces}
    if kinds != {"finished"} or dependence(pieces) is not None:
        return None
    writer = Writer()
    join(writer, launch, pieces)
    one, other = close(writer), close(whole.writer)
    for column in COLUMNS:
        if column.name not in ("payload", "region"):
            mine, theirs = (getattr(t.columns, column.name) for t in (one, other))
            assert np.array_equal(mine, theirs), column.name
    for seq in range(len(one)):
        assert value_at(one, seq) == value_at(other, seq)
        assert region_at(one, seq) == region_at(other, seq)
    for table in ("thread_rows", "choices", "texts"):
        assert getattr(one, table) == getattr(other, table), table
    for mine, theirs in zip(one.buffer_rows, other.buffer_rows, strict=True):
        assert mine._replace(initial=-1) == theirs._replace(initial=-1)
        assert (mine.initial < 0) == (theirs.initial < 0)
    mine, theirs = (t.launches[0] for t in (one, other))
    assert (mine.steps, mine.outcome) == (theirs.steps, theirs.outcome)
    assert (mine.arguments, mine.outputs) == (theirs.arguments, theirs.outputs)
    return one


def value_at(trace, seq):
    value = trace.values(seq)
    return None if value is None else (value.dtype, value.shape, value.tobytes())


def region_at(trace, seq):
    number = int(trace.columns.region[seq])
    if number < 0:
        return None
    region = trace.region(number)
    parts = [p.tobytes() for p in (region.mask, region.elements) if p is not None]
    return region.kind, region.spans, parts


LAWS = [
    deterministic,
    folds,
    replays,
    travels,
    survives_a_file,
    has_prefixes,
    checks_are_pure,
    checks_look_back,
    is_granular,
]
