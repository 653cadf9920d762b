"""The loop: who runs when, stops and goes on, deadlock, clusters, several launches."""

import numpy as np
import pytest
import tapes
from kernels import EXPECTED, KERNELS, ring
from tapes import Tape

from pallas_debug import errors
from pallas_debug.machine import Options, advance, begin, compile_kernel, with_steps
from pallas_debug.trace import Writer, close

F32 = np.float32


def doubling(grid=(4,), **options):
    t = Tape(grid=grid, **options)
    x, y = t.input("x", grid), t.output("y", grid)
    ids = [t.grid_id(axis) for axis in range(len(grid))]
    t.set(y, ids, t.pure(lambda a: a * F32(2), t.get(x, ids)))
    return t


def test_blocks_run_in_grid_order():
    trace = doubling((2, 3)).trace(np.zeros((2, 3), F32))
    writes = trace.events.where(kind="write")
    assert [trace.events[w].block for w in writes] == [
        (a, b) for a in range(2) for b in range(3)
    ]


def test_steps_count_instructions():
    t = doubling()
    run = t.run(np.zeros(4, F32))
    assert run.record.steps == 4 * 5
    trace = close(run.writer)
    assert trace.columns.step.max() == 19
    writes = trace.events.where(kind="write")
    assert trace.columns.step[writes].tolist() == [3, 8, 13, 18]
    assert trace.columns.instr[writes].tolist() == [3, 3, 3, 3]


def test_several_clusters_run_at_once_if_asked():
    def order(resident):
        t = Tape(grid=(3,))
        y = t.output("y", (3,))
        i = t.grid_id(0)
        with t.alloc(tapes.barrier("b")) as b:
            t.set(y, [i], F32(1))
            t.start(lambda t, b: t.op("test.arrive", b), b)
            t.op("test.wait", b)
        trace = t.trace(resident=resident)
        writes = trace.events.where(kind="write")
        ends = trace.events.where(kind="end")
        return [int((ends < w).sum()) for w in writes]

    assert order(1) == [0, 2, 4]
    assert order(3) == [0, 0, 0]


def test_cluster_blocks_have_coordinates():
    t = Tape(grid=(2,), cluster=(2,), threads=2)
    y = t.output("y", (2, 2, 2), "int32")
    i, k = t.grid_id(0), t.thread_id()
    c = t.emit("grid.id", results=1, params={"axis": "c0"})
    t.set(y, [i, c, k], np.int32(1))
    run = t.run()
    assert (run.results()[0] == 1).all()
    rows = [row for row in close(run.writer).thread_rows if row.kind == "warpgroup"]
    places = [(row.cluster, row.block, row.index) for row in rows]
    assert places == [(b // 2, b, k) for b in range(4) for k in range(2)]


@pytest.mark.parametrize(
    ("blocks", "ran"),
    [
        ([1, 3], [1, 3]),
        ([(0, 2), (1, 0)], [2, 3]),
        ([], []),
    ],
)
@pytest.mark.parametrize("backend", ["mosaic_gpu", "generic"])
def test_only_the_chosen_blocks_run(blocks, ran, backend):
    if backend == "generic":
        t = Tape(backend=backend, grid=(2, 3))
        y = t.output("y", (2, 3))
        ids = t.emit("grid.next", outs=[t.reg(), t.reg()], targets=(3,), sync=True)
        t.set(y, ids, F32(1))
        t.emit("ir.jump", targets=(0,))
    else:
        t = Tape(grid=(2, 3))
        y = t.output("y", (2, 3))
        t.set(y, [t.grid_id(0), t.grid_id(1)], F32(1))
    (result,) = t.run(blocks=blocks, uninitialized="zero").results()
    assert np.flatnonzero(result).tolist() == ran


@pytest.mark.parametrize("block", [99, -1, (0, 7), (1,), (1, 1, 1)])
def test_block_that_the_grid_does_not_have_is_refused(block):
    t = Tape(grid=(2, 3))
    t.set(t.output("y", (2, 3)), [t.grid_id(0), t.grid_id(1)], F32(1))
    with pytest.raises(errors.BadOption, match=r"blocks of this grid of \(2, 3\)"):
        t.run(blocks=[0, block])


def test_device_coordinate_of_a_core():
    t = Tape(backend="tpu")
    y = t.output("y", (), "int32")
    t.set(y, (), t.emit("grid.id", results=1, params={"axis": "d"}))
    launch = t.launch(axes={"d": 4}, device={"d": 3})
    run = tapes.run(launch)
    assert run.results()[0] == 3
    assert {row.device for row in close(run.writer).thread_rows} == {3}


def test_deadlock_names_every_waiting_thread():
    t = Tape(threads=3)
    k = t.thread_id()
    with t.alloc(tapes.barrier("b", 2, arrivals=3), users=3) as b:
        with t.when(t.pure(lambda a: a > 0, k)):
            t.op("test.arrive", b, 1)
        t.op("test.wait", b, 1)
    run = t.run()
    outcome = run.record.outcome
    assert outcome.kind == "deadlock"
    assert outcome.message.startswith("3 threads wait")
    kernel = run.launch.kernel
    found = [(th, kernel.tape[i].op, n, e, p) for th, i, n, e, p in outcome.waiting]
    assert found == [(n, "test.wait", 0, 1, 1) for n in (1, 2, 3)]


def test_deadlock_of_a_join_names_the_agent():
    t = Tape()
    with t.alloc(tapes.semaphore("s")) as s:
        t.start(lambda t, s: t.op("test.take", s), s, family="store")
        t.op("test.commit", family="store")
        t.op("test.join", family="store")
    waiting = t.run().record.outcome.waiting
    assert [(row[0], row[2], row[3]) for row in waiting] == [(1, -1, 2), (2, 0, 0)]


def test_other_blocks_run_although_one_is_stuck():
    t = Tape(grid=(3,))
    y = t.output("y", (3,))
    i = t.grid_id(0)
    with t.alloc(tapes.barrier("b")) as b:
        with t.when(t.pure(lambda a: a == 1, i)):
            t.op("test.wait", b)
        t.set(y, [i], F32(1))
    run = t.run(uninitialized="zero")
    assert run.record.outcome.kind == "deadlock"
    assert run.results()[0].tolist() == [1, 0, 1]
    assert len(run.record.outcome.waiting) == 1


@pytest.mark.parametrize("make", KERNELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_kernel_computes_what_it_says(make, policy):
    launch = make()
    (result,) = tapes.run(launch, policy=policy).results()
    np.testing.assert_array_equal(result, EXPECTED[make](*launch.arguments))


@pytest.mark.parametrize("seed", range(10))
def test_right_synchronization_gives_one_result(seed):
    run = tapes.run(ring(), policy="random", seed=seed)
    assert run.results()[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("policy", ["round-robin", "random"])
@pytest.mark.parametrize("stride", [1, 3, 10])
def test_stopping_and_going_on_changes_nothing(policy, stride):
    launch = ring()
    options = Options(policy=policy, seed=5)
    whole = tapes.run(launch, policy=policy, seed=5)
    run = begin(
        launch, Writer(), options, program=with_steps(compile_kernel(launch.kernel))
    )
    until = 0
    while not advance(run, until=until):
        assert run.m.state.step == until
        until += stride
    assert bytes(run.writer.log) == bytes(whole.writer.log)
    assert run.writer.choices == whole.writer.choices
    assert run.record.outcome == whole.record.outcome
    assert run.record.steps == whole.record.steps


def test_stop_without_single_steps_is_before_the_mark():
    launch = ring()
    run = begin(launch, Writer(), Options())
    assert advance(run, until=7) is False
    assert run.m.state.step <= 7
    assert advance(run)
    assert run.results()[0].tolist() == [0, 1, 2, 3]


def test_launches_of_one_trace_count_on():
    program = compile_kernel(doubling().kernel())
    writer = Writer()
    launch = tapes.ir.Launch(
        kernel=program.kernel, arguments=(np.ones(4, F32),), grid=(4,)
    )
    first = tapes.run(launch, writer=writer, program=program)
    (between,) = first.results()
    launch = tapes.ir.Launch(kernel=program.kernel, arguments=(between,), grid=(4,))
    second = tapes.run(launch, writer=writer, program=program)
    assert second.results()[0].tolist() == [4] * 4
    trace = close(writer)
    assert [launch.outcome.kind for launch in trace.launches] == ["finished"] * 2
    assert len(trace) == 2 * len(first.writer.log) // (2 * 36)
    half = len(trace) // 2
    assert (trace.columns.launch == np.arange(len(trace)) // half).all()
    assert trace.columns.step[half:].tolist() == trace.columns.step[:half].tolist()


def test_program_serves_two_writers_in_turn():
    """Places are numbered by a writer; another one may not see its numbers."""
    program = compile_kernel(doubling().kernel())
    launch = tapes.ir.Launch(
        kernel=program.kernel, arguments=(np.ones(4, F32),), grid=(4,)
    )
    first = begin(launch, Writer(), Options(), program=program)
    advance(first, until=6)
    second = Writer()
    second.region((0, 9, 9, 9))
    tapes.run(launch, writer=second, program=program)
    advance(first)
    alone = tapes.run(launch)
    assert bytes(first.writer.log) == bytes(alone.writer.log)
    assert first.writer.regions == alone.writer.regions
    regions = close(second).columns.region
    assert regions.max() == 4
    assert 0 not in regions
