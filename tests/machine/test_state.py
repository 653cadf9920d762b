"""A copy of a state is a checkpoint: independent, and it runs on as the original."""

import numpy as np
import pytest
import tapes
from kernels import ring

from pallas_debug.machine import (
    Options,
    advance,
    begin,
    checkpoint,
    compile_kernel,
    resume,
    with_steps,
)
from pallas_debug.machine.schedules import last_first
from pallas_debug.trace import Fork, Writer

F32 = np.float32


def stopped(launch, step, **options):
    program = with_steps(compile_kernel(launch.kernel))
    run = begin(launch, Writer(), Options(**options), program=program)
    advance(run, until=step)
    return run


@pytest.mark.parametrize("step", [0, 1, 9, 25, 40, 70])
def test_copy_shares_nothing_that_changes(step):
    run = stopped(ring(), step)
    twin = run.m.state.copy()
    before = picture(twin)
    advance(run)
    assert picture(twin) == before
    assert picture(run.m.state) != before


def picture(state):
    """All that a state says, as a value."""
    return (
        {n: m.data.tobytes() for n, m in state.memory.items()},
        {n: (b.pending[:], b.completed[:], dict(b.observed), b.waiters[:])
         for n, b in state.barriers.items()},
        {n: (s.count[:], s.waiters[:]) for n, s in state.semaphores.items()},
        {n: (t.pc, t.registers[:], t.status, t.waits, t.groups, t.bid,
             [(a.thread, a.done, a.read_done, a.group) for a in t.agents],
             t.block.live, t.block.zombies[:], str(t.block.shared), str(t.notes),
             str(t.counters)) for n, t in state.threads.items()},
        list(state.ready), state.running, state.current, state.step,
        state.next_cluster, str(state.joiners), str(state.shared),
    )  # fmt: skip


def test_copy_keeps_aliases_and_shares_inputs():
    t = tapes.Tape()
    x, z = t.input("x", (2,)), t.input("z", (2,))
    y = t.output("y", (2,), alias=x)
    t.set(y, [0], F32(1))
    t.set(z, [0], F32(1))
    run = stopped(t.launch(np.zeros(2, F32), np.zeros(2, F32)), 0)
    twin = run.m.state.copy()
    assert twin.memory[0].data is twin.memory[2].data
    assert twin.memory[0].data is not run.m.state.memory[0].data
    assert twin.memory[1].data is run.m.state.memory[1].data
    assert not twin.memory[1].data.flags.writeable
    advance(run)
    assert run.m.state.memory[1].data[0] == 1
    assert twin.memory[1].data[0] == 0


def test_threads_of_a_block_share_its_copy():
    run = stopped(ring(), 20)
    twin = run.m.state.copy()
    blocks = {id(thread.block) for thread in twin.threads.values()}
    assert len(blocks) == 1
    assert len(twin.threads) == 2


@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_resumed_run_writes_what_the_first_one_wrote(policy):
    launch = ring()
    run = stopped(launch, 30, policy=policy, values="all")
    mark = checkpoint(run)
    advance(run)
    again = resume(mark, choices=run.writer.choices)
    assert again.m.state.step == mark.step == 30
    advance(again)
    same_writers(again.writer, run.writer)
    assert again.record.outcome == run.record.outcome
    # The checkpoint is still good.
    third = resume(mark, choices=run.writer.choices)
    advance(third)
    same_writers(third.writer, run.writer)


def same_writers(fork, writer):
    joined = fork.joined() if isinstance(fork, Fork) else fork
    assert bytes(joined.log) == bytes(writer.log)
    assert joined.regions == writer.regions
    assert joined.threads == writer.threads
    assert joined.buffers == writer.buffers
    assert joined.choices == writer.choices
    assert joined.texts == writer.texts
    assert joined.payload_bytes == writer.payload_bytes
    values = zip(joined.payloads, writer.payloads, strict=True)
    assert all(a.tobytes() == b.tobytes() for a, b in values)


def test_checkpoint_of_a_resumed_run():
    launch = ring()
    run = stopped(launch, 10, policy="random", values="all")
    first = checkpoint(run)
    advance(run)
    middle = resume(first, choices=run.writer.choices)
    advance(middle, until=40)
    second = checkpoint(middle)
    advance(middle)
    last = resume(second, choices=run.writer.choices)
    advance(last, until=55)
    third = resume(checkpoint(last), choices=run.writer.choices)
    advance(third)
    same_writers(third.writer, run.writer)


def test_diversion_by_another_policy_leaves_the_first_run():
    launch = ring()
    run = stopped(launch, 10, policy="random")
    mark = checkpoint(run)
    advance(run)
    kept = bytes(run.writer.log)
    other = resume(mark, policy=last_first, preempt=True)
    other.m.state.memory[1].data[:] = 0
    advance(other)
    assert other.results()[0].tolist() == run.results()[0].tolist()
    assert bytes(other.writer.joined().log) != kept
    assert bytes(run.writer.log) == kept


def test_size_of_a_checkpoint_leaves_inputs_out():
    t = tapes.Tape()
    t.input("x", (1000,))
    t.output("y", (10,))
    mark = checkpoint(stopped(t.launch(np.zeros(1000, F32)), 0))
    assert 40 <= mark.size_bytes < 4000
