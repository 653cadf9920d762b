"""Law 4: what a race-free kernel computes does not depend on who runs when.

Schedules of every kind, tapes that are race-free by construction, and the comparison.
"""

import hypothesis.strategies as st
import numpy as np
import tapes
from tapes import Tape

from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer

F32 = np.float32
THREADS = 3
BUFFERS = st.integers(0, 2)

SEEDS = st.integers(0, 2**16)
SCHEDULES = st.one_of(
    st.fixed_dictionaries(
        {"policy": st.sampled_from(["last-first", "random"]), "seed": SEEDS},
        optional={"resident": st.integers(2, 3)},
    ),
    st.lists(st.integers(0, 7), max_size=60).map(lambda picks: {"picks": picks}),
)


def picking(picks):
    """Any list of numbers is a schedule: each picks one of those that can run."""
    pending = iter(picks)
    return lambda enabled, current: enabled[next(pending, 0) % len(enabled)]


def finished(launch, *, picks=None, **options):
    """The outputs of a launch that ends by itself, as bytes."""
    policy = None if picks is None else picking(picks)
    options = Options(values="none", **options)
    done = run(launch, Writer(), options, policy=policy)
    assert done.record.outcome.kind == "finished", done.record.outcome
    return [np.asarray(out).tobytes() for out in done.results()]


def equal_under(launch, schedule):
    """The outputs under a schedule are those of the threads in their order."""
    assert finished(launch, **schedule) == finished(launch)


# In a phase each thread, or an agent for it, moves one cell from a buffer that nobody
# writes to a cell of its own in another; then all meet at a barrier.
PHASE = st.tuples(
    st.tuples(BUFFERS, BUFFERS).filter(lambda pair: pair[0] != pair[1]),
    st.permutations(range(THREADS)),
    st.permutations(range(THREADS)),
    st.lists(st.booleans(), min_size=THREADS, max_size=THREADS),
)
PHASES = st.lists(PHASE, min_size=1, max_size=5)


def move(t, source, target, at, to, barrier):
    """Neither commutes with another such step nor leaves a value as it was."""
    value = t.get(source, [at])
    t.set(target, [to], t.pure(lambda a: a * F32(3) + F32(1), value))
    t.op("test.arrive", barrier)


def phased(phases):
    """The launch of a program of phases."""
    t = Tape(threads=THREADS)
    x, y = t.input("x", (THREADS,)), t.output("y", (THREADS,))
    z = t.output("z", (THREADS,), alias=x)
    k = t.thread_id()
    decls = tapes.buffer("s", (THREADS,)), tapes.barrier("b", arrivals=THREADS)
    with t.alloc(*decls, users=THREADS) as (s, barrier):
        buffers = [z, y, s]
        for target in (y, s):
            t.set(target, [k], k)
        t.op("test.arrive", barrier)
        t.op("test.wait", barrier)
        for (source, target), reads, writes, agents in phases:
            for thread in range(THREADS):
                with t.when(t.pure(lambda a, own=thread: a == own, k)):
                    step = (buffers[source], buffers[target])
                    at = (np.int32(reads[thread]), np.int32(writes[thread]), barrier)
                    if agents[thread]:
                        t.start(move, *step, *at)
                    else:
                        move(t, *step, *at)
            t.op("test.wait", barrier)
    return t.launch(np.arange(THREADS, dtype=F32))
