"""Generated tapes: threads that copy, compute, synchronize, loop, and start agents.

Nothing keeps them from racing, waiting for ever or reaching outside their buffers: the
laws hold for bad kernels as well.
"""

import hypothesis.strategies as st
import numpy as np
import tapes
from tapes import Tape, ds, index

from pallas_debug import ir

F32 = np.float32
SIZE = 4
CELLS = st.integers(-1, SIZE)  # the first and the last are outside

COPY = st.tuples(st.just("copy"), st.integers(0, 3), st.integers(0, 3), CELLS, CELLS)
ALONE = st.one_of(
    COPY,
    st.tuples(st.just("update"), st.integers(0, 3), CELLS),
    st.tuples(
        st.just("gather"), st.integers(0, 3), st.lists(CELLS, min_size=1, max_size=3)
    ),
    st.tuples(st.just("masked"), st.integers(0, 3), st.integers(0, 15)),
    st.tuples(st.just("arrive"), st.integers(0, 1)),
    st.tuples(st.just("wait"), st.integers(0, 1)),
    st.tuples(st.just("signal"), st.integers(1, 2)),
    st.tuples(st.just("take"), st.integers(1, 2)),
    st.tuples(st.just("atomic"), st.integers(0, 3), CELLS),
    st.tuples(st.just("cast"), st.integers(0, 3), st.integers(-1, 2 * SIZE)),
    st.tuples(st.just("agent"), COPY, st.booleans(), st.booleans()),
    st.tuples(st.just("agent"), COPY, st.booleans(), st.booleans()),
    st.tuples(st.just("commit")),
    st.tuples(st.just("join"), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("print")),
    st.tuples(st.just("own"), st.integers(0, 3), st.integers(0, 3)),
)


def nested(children):
    some = st.lists(children, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("loop"), st.integers(0, 3), some),
        st.tuples(st.just("when"), st.integers(0, 1), some),
        st.tuples(st.just("scoped"), some),
        st.tuples(st.just("odd"), some),
    )


STATEMENTS = st.recursive(ALONE, nested, max_leaves=4)
PROGRAMS = st.tuples(
    st.integers(1, 2),  # blocks
    st.integers(1, 3),  # threads
    st.lists(STATEMENTS, min_size=1, max_size=6),
)


class Writer:
    """Turns a program into a tape."""

    def __init__(self, blocks, threads):
        self.t = t = Tape(grid=(blocks,), threads=threads)
        x, y = t.input("x", (SIZE,)), t.output("y", (SIZE,))
        z = t.output("z", (SIZE,), alias=x)
        self.block, self.thread = t.grid_id(0), t.thread_id()
        self.refs = [x, y, z]
        self.threads = threads

    def program(self, statements):
        t, users = self.t, self.threads
        decls = [
            tapes.buffer("shared", (SIZE,)),
            tapes.barrier("b", 2, arrivals=users),
            tapes.semaphore("s", 1),
        ]
        with t.alloc(*decls, users=users) as (shared, self.barrier, self.semaphore):
            self.refs.append(shared)
            self.body(statements)
        return t.launch(np.arange(SIZE, dtype=F32))

    def body(self, statements):
        for name, *rest in statements:
            getattr(self, f"_{name}")(*rest)

    def _copy(self, source, target, at, to):
        copy(self.t, self.refs[source], self.refs[target], at, to)

    def _update(self, ref, at):
        t = self.t
        old = t.get(self.refs[ref], [ds(at, 2)])
        new = t.pure(lambda a, k: a + F32(k), old, self.thread)
        t.set(self.refs[ref], [ds(at, 2)], new)

    def _gather(self, ref, cells):
        t, where = self.t, [np.array(cells, np.int32)]
        t.set(
            self.refs[ref],
            where,
            t.pure(lambda a: a * F32(2), t.get(self.refs[ref], where)),
        )

    def _masked(self, ref, bits):
        mask = np.array([bool(bits >> n & 1) for n in range(SIZE)])
        access = [ir.Access(ref=self.refs[ref], steps=(index(ds(1, SIZE)),))]
        t = self.t
        value = t.emit("pallas.masked_load", mask, None, results=1, accesses=access)
        t.emit("pallas.masked_store", value, ~mask, accesses=access)

    def _arrive(self, at):
        self.t.op("test.arrive", self.barrier, at)

    def _wait(self, at):
        self.t.op("test.wait", self.barrier, at)

    def _signal(self, amount):
        self.t.op("test.signal", self.semaphore, 0, amount)

    def _take(self, amount):
        self.t.op("test.take", self.semaphore, 0, amount)

    def _atomic(self, ref, at):
        access = [tapes.view(self.refs[ref], [ds(at, 2)])]
        params = {"operation": "add"}
        one, mask = F32(1), np.array([True, False])
        self.t.emit(
            "triton.atomic_rmw", one, mask, results=1, accesses=access, params=params
        )

    def _cast(self, ref, at):
        """Halves of elements, some of them outside."""
        halves = ir.Bitcast(dtype="int16", shape=(2 * SIZE,))
        steps = [halves, index(ds(at, 3))]
        value = self.t.get(self.refs[ref], steps)
        self.t.set(self.refs[ref], steps, self.t.pure(lambda a: a ^ np.int16(1), value))

    def _agent(self, statement, signals, commits):
        _, source, target, at, to = statement

        def agent(t, source, target, semaphore):
            copy(t, source, target, at, to, t.op)
            if signals:
                t.op("test.signal", semaphore)

        refs = (self.refs[source], self.refs[target], self.semaphore)
        self.t.start(agent, *refs, family="copy")
        if commits:
            self._commit()

    def _commit(self):
        self.t.op("test.commit", family="copy")

    def _join(self, pending, reads):
        self.t.op("test.join", family="copy", pending=pending, reads=reads)

    def _print(self):
        self.t.op("test.log", self.thread)

    def _own(self, source, target):
        """At a cell that is another one in another block."""
        at = self.t.pure(lambda b: b % np.int32(SIZE), self.block)
        copy(self.t, self.refs[source], self.refs[target], at, at)

    def _odd(self, statements):
        with self.t.when(self.t.pure(lambda b: b % 2 == 1, self.block)):
            self.body(statements)

    def _loop(self, count, statements):
        with self.t.loop(np.int32(count)):
            self.body(statements)

    def _when(self, thread, statements):
        with self.t.when(self.t.pure(lambda k: k == thread, self.thread)):
            self.body(statements)

    def _scoped(self, statements):
        kept = list(self.refs)
        with self.t.alloc(tapes.buffer("own", (SIZE,), scope="thread")) as own:
            self.refs[3] = own
            self.body(statements)
        self.refs = kept


def copy(t, source, target, at, to, op=None):
    value = t.get(source, [ds(at, 2)])
    if op is not None:
        op("test.reads_done")
    t.set(target, [ds(to, 2)], value)


LAUNCHES = PROGRAMS.map(lambda p: Writer(p[0], p[1]).program(p[2]))
WIDE_LAUNCHES = PROGRAMS.map(lambda p: Writer(16 + p[0], p[1]).program(p[2]))
POLICIES = st.one_of(
    st.just({"policy": "round-robin"}),
    st.integers(0, 5).map(lambda seed: {"policy": "random", "seed": seed}),
    st.integers(0, 5).map(
        lambda seed: {"policy": "random", "seed": seed, "resident": 2}
    ),
)
