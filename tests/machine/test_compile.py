"""Segments, liveness, control flow: the compiled tape does what the tape says."""

import numpy as np
import pytest
import tapes
from tapes import Tape

from pallas_debug import ir
from pallas_debug.ir.flow import leaders, live_at_leaders
from pallas_debug.machine import Program, compile_kernel, with_steps
from pallas_debug.machine.rules.registry import RULES, rule

F32 = np.float32


def branchy(count):
    """Output i gets 10 * min(i, count - 1): which of `count` branches ran."""
    t = Tape(grid=(4,))
    y = t.output("y", (4,))
    i = t.grid_id(0)
    value = t.reg()
    branch = t.here
    t.emit("ir.branch", i, targets=(-1,) * count)
    labels, ends = [], []
    for number in range(count):
        labels.append(t.here)
        t.move(F32(10 * number), value)
        ends.append(t.here)
        t.emit("ir.jump", targets=(-1,))
    t.patch(branch, *labels)
    for end in ends:
        t.patch(end, t.here)
    t.set(y, [i], value)
    return t


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_branch_is_by_number_and_clamped(count):
    (y,) = branchy(count).run().results()
    assert y.tolist() == [10.0 * min(i, count - 1) for i in range(4)]


@pytest.mark.parametrize("index", [-3, 7])
def test_branch_clamps_numbers_outside(index):
    t = Tape()
    y = t.output("y", ())
    branch = t.here
    t.emit("ir.branch", np.int32(index), targets=(1, 2, 3))
    for number in range(3):
        t.set(y, (), F32(number))
    t.code[branch + 1 : branch + 4] = t.code[branch + 1 : branch + 4]
    (result,) = t.run().results()
    assert result == 2  # every branch falls through to the last store


def test_branch_takes_a_bool():
    t = Tape()
    y = t.output("y", ())
    t.set(y, (), F32(0))
    with t.when(np.bool_(False)):
        t.set(y, (), F32(1))
    assert t.run().results()[0] == 0


def test_loop_carries_registers_through_segments():
    t = Tape()
    y = t.output("y", (2,), "int32")
    a, b = t.reg(), t.reg()
    t.move(np.int32(0), a)
    t.move(np.int32(1), b)
    with t.loop(np.int32(10)):
        both = ir.Pure(expr="{1}, {0} + {1}", results=2)
        t.emit("ir.move", a, b, outs=[a, b], pure=both)
    t.set(y, [0], a)
    t.set(y, [1], b)
    assert t.run().results()[0].tolist() == [55, 89]


def test_loop_of_no_turns_skips_its_body():
    t = Tape()
    y = t.output("y", ())
    t.set(y, (), F32(5))
    with t.loop(np.int32(0)):
        t.set(y, (), F32(6))
    assert t.run().results()[0] == 5


def core(grid, body, shape=(8,)):
    """A core that walks the grid; `body(t, y, ids)`."""
    t = Tape(backend="generic", grid=grid)
    y = t.output("y", shape, "int32")
    t.set(y, [tapes.ds(0, n) for n in shape], np.zeros(shape, np.int32))
    top = t.here
    ids = t.emit("grid.next", outs=[t.reg() for _ in grid], targets=(-1,), sync=True)
    body(t, y, ids if len(grid) != 1 else (ids,))
    t.emit("ir.jump", targets=(top,))
    t.patch(top, t.here)
    return t


def test_grid_next_walks_in_order_last_axis_fastest():
    def body(t, y, ids):
        number = t.pure(lambda a, b: a * np.int32(3) + b, *ids)
        old = t.get(y, [0])
        # Horner in base 6 fixes the order.
        t.set(y, [0], t.pure(lambda o, n: o * np.int32(6) + n, old, number))

    (y,) = core((2, 3), body).run().results()
    expected = 0
    for number in range(6):
        expected = expected * 6 + number
    assert y[0] == expected


def test_grid_next_of_an_empty_grid_ends_at_once():
    def body(t, y, ids):
        t.set(y, [0], np.int32(1))

    assert core((0,), body).run().results()[0][0] == 0
    assert core((2, 0), body).run().results()[0][0] == 0


def test_grid_next_of_no_axes_runs_once():
    def body(t, y, ids):
        old = t.get(y, [0])
        t.set(y, [0], t.pure(lambda a: a + np.int32(1), old))

    assert core((), body).run().results()[0][0] == 1


def test_register_of_the_last_grid_point_survives_the_end():
    t = Tape(backend="generic", grid=(3,))
    y = t.output("y", (), "int32")
    i = t.reg()
    t.move(np.int32(77), i)
    top = t.here
    t.emit("grid.next", outs=[i], targets=(-1,), sync=True)
    t.emit("ir.jump", targets=(top,))
    t.patch(top, t.here)
    t.set(y, (), i)
    assert t.run().results()[0] == 2
    t = Tape(backend="generic", grid=(0,))
    y = t.output("y", (), "int32")
    i = t.reg()
    t.move(np.int32(77), i)
    t.emit("grid.next", outs=[i], targets=(2,), sync=True)
    t.set(y, (), i)
    assert t.run().results()[0] == 77


def test_segments_begin_where_a_thread_may_stop_or_come_to():
    t = Tape()
    y = t.output("y", ())
    t.set(y, (), F32(0))
    with t.alloc(tapes.barrier("b")) as b, t.loop(np.int32(2)):
        t.op("test.arrive", b)
        t.op("test.wait", b)
    kernel = t.kernel()
    ops = [instr.op for instr in kernel.tape]
    starts = leaders(kernel.tape)
    assert starts == [0, 1, 2, 3, 5, 6, 7, 9, 10]
    assert ops[6] == "test.wait"
    assert ops[3] == "lax.f"
    assert leaders(kernel.tape, single=True) == list(range(len(ops)))
    program = compile_kernel(kernel)
    assert sorted(program.segments) == starts
    assert sum(s.length for s in program.segments.values()) == len(ops)


def test_entry_in_the_middle_is_a_leader():
    t = Tape()
    y = t.output("y", ())
    t.set(y, (), F32(1))
    t.set(y, (), F32(2))
    kernel = t.kernel()
    import dataclasses

    kernel = dataclasses.replace(kernel, entry=1)
    run = tapes.run(t.launch(kernel=kernel))
    assert run.results()[0] == 2
    assert run.record.steps == 2


def test_liveness_keeps_only_what_is_needed():
    t = Tape()
    y = t.output("y", ())
    dead = t.pure(lambda: F32(1))
    kept = t.pure(lambda: F32(2))
    t.emit("ir.jump", targets=(3,))
    t.set(y, (), kept)
    kernel = t.kernel()
    live = live_at_leaders(kernel.tape, leaders(kernel.tape))
    assert live == {0: {y.number}, 3: {y.number, kept.number}}
    assert dead.number not in live[3]


def test_liveness_around_a_loop():
    t = Tape()
    y = t.output("y", ())
    total = t.reg()
    t.move(F32(0), total)
    with t.loop(np.int32(3)):
        t.pure(lambda a: a + F32(1), total, outs=[total])
    t.set(y, (), total)
    kernel = t.kernel()
    live = live_at_leaders(kernel.tape, leaders(kernel.tape))
    assert all(total.number in live[s] for s in live if s > 0)


def test_wait_is_executed_again_and_nothing_before_it():
    counts = {"before": 0, "tries": 0}
    t = Tape()
    t.pure(lambda: counts.update(before=counts["before"] + 1), results=0)
    if "test.count" not in RULES:

        @rule("test.count", waits=True)
        def count(m, semaphore, *, counts):
            counts["tries"] += 1
            return m.take(semaphore, 0, 2)

    with t.alloc(tapes.semaphore("s")) as s:
        t.start(lambda t, s: [t.op("test.signal", s) for _ in range(2)], s)
        t.emit("test.count", s, params={"counts": counts}, sync=True)
    run = t.run(policy=lambda enabled, current: min(enabled))
    assert run.record.outcome.kind == "finished"
    assert counts == {"before": 1, "tries": 2}


def test_waiting_rule_must_begin_a_segment():
    t = Tape()
    with t.alloc(tapes.barrier("b")) as b:
        t.emit("test.wait", b)  # without sync
    with pytest.raises(AssertionError, match=r"test\.wait waits inside a segment"):
        compile_kernel(t.kernel())


def test_names_of_an_expression_do_not_meet_those_of_another():
    t = Tape()
    y = t.output("y", (2,))
    for place, function in enumerate([np.add, np.multiply]):
        pure = ir.Pure(expr="f({0}, {1})", env={"f": function})
        value = t.emit("lax.f", F32(3), F32(4), results=1, pure=pure)
        t.set(y, [place], value)
    assert t.run().results()[0].tolist() == [7, 12]


@pytest.mark.parametrize(
    ("expr", "env"),
    [
        ("np.sum({0}, axis=axis)", {"axis": 0}),
        ("np.sum({0}, axis = axis)", {"axis": 0}),
        ("({0}.sum() if axis == 0 else None)", {"axis": 0}),
        ("np.sum({0}).astype(dtype=dtype)", {"dtype": np.float32}),
        ("sum({0})", {"sum": np.sum}),
        ("m({0}) + R", {"m": np.sum, "R": F32(0)}),
    ],
)
def test_names_of_an_expression_are_not_its_keywords(expr, env):
    t = Tape()
    x, y = t.input("x", (3,)), t.output("y", ())
    value = t.get(x)
    pure = ir.Pure(expr=expr, env=env)
    t.set(y, (), t.emit("lax.f", value, results=1, pure=pure))
    assert pure.call(np.ones(3, F32)) == 3
    assert t.run(np.ones(3, F32)).results()[0] == 3


def test_pure_instruction_may_have_no_result():
    t = Tape()
    t.emit("lax.nothing", pure=ir.Pure(expr="()", results=0))
    assert t.run().record.outcome.kind == "finished"


def test_constants_keep_their_type():
    t = Tape()
    y = t.output("y", (), "bool")
    t.set(y, (), t.pure(lambda a: np.bool_(type(a) is np.float16), np.float16(1)))
    assert t.run().results()[0]


def test_program_with_steps_stops_anywhere():
    program = with_steps(compile_kernel(branchy(2).kernel()))
    assert isinstance(program, Program)
    assert sorted(program.single) == sorted(program.segments)
    assert all(segment.length == 1 for segment in program.single.values())


def test_generated_source_is_there_for_tracebacks():
    import linecache

    program = compile_kernel(branchy(2).kernel())
    (file, number), position = next(iter(program.lines.items()))
    assert file.startswith("<pallas_debug kernel ")
    assert linecache.getline(file, number).strip()
    assert position == 0
