"""Small kernels on hand-written tapes, each the skeleton of a real family.

Each gives a launch; `EXPECTED` has the function that its outputs must equal. No JAX.
"""

import numpy as np
import tapes
from tapes import Tape, ds

from pallas_debug import ir

F32 = np.float32


def elementwise(grid=(2, 3), tile=4):
    """A core with fetched and flushed windows: y = 2 x + 1, the last block partial."""
    shape = (grid[0] * tile - 1, grid[1] * tile - 2)
    t = Tape(backend="generic", grid=grid)
    x, y = t.input("x", shape), t.output("y", shape)
    dims = (("blocked", tile), ("blocked", tile))
    decl = tapes.buffer("w", (tile, tile), space="block", scope="launch", kept=(0, 1))
    top = t.here
    i, j = t.emit("grid.next", outs=[t.reg(), t.reg()], targets=(-1,), sync=True)
    windows = []
    for slot, array in enumerate((x, y)):
        params = {"slot": slot, "decl": decl, "dims": dims}
        name = "window.fetch"
        if array is y:
            name, params = (
                "window.output",
                {**params, "refetch": True, "preload": False},
            )
        windows.append(t.emit(name, array, i, j, results=1, params=params, sync=True))
    value = t.get(windows[0])
    t.set(windows[1], (), t.pure(lambda a: F32(2) * a + F32(1), value))
    t.emit("ir.jump", targets=(top,))
    t.patch(top, t.here)
    slots = {"slots": (1,), "inputs": (0,), "stored": ()}
    t.emit("window.flush", params=slots, sync=True)
    return t.launch(np.arange(np.prod(shape), dtype=F32).reshape(shape))


def matmul(blocks=2, tile=4, depth=3):
    """A loop over K with an accumulator; slices at traced starts."""
    size, inner = blocks * tile, depth * tile
    t = Tape(backend="triton", grid=(blocks, blocks))
    a, b = t.input("a", (size, inner)), t.input("b", (inner, size))
    c = t.output("c", (size, size))
    rows, columns = (
        t.pure(lambda i: i * np.int32(tile), t.grid_id(axis)) for axis in range(2)
    )
    total = t.reg()
    t.move(np.zeros((tile, tile), F32), total)
    with t.loop(np.int32(depth)) as k:
        at = t.pure(lambda i: i * np.int32(tile), k)
        left = t.get(a, [ds(rows, tile), ds(at, tile)])
        right = t.get(b, [ds(at, tile), ds(columns, tile)])
        t.pure(lambda s, x, y: s + x @ y, total, left, right, outs=[total])
    t.set(c, [ds(rows, tile), ds(columns, tile)], total)
    rng = np.random.default_rng(0)
    ints = [rng.integers(-3, 3, s).astype(F32) for s in ((size, inner), (inner, size))]
    return t.launch(*ints)


def copy_compute_copy(blocks=3, tile=4):
    """GPU: an asynchronous copy in with a barrier, arithmetic, a copy out with groups."""

    def load(t, x, s, b, i):
        t.set(s, (), t.get(x, [i, ds(0, tile)]))
        t.op("test.arrive", b)

    def store(t, s, y, i):
        value = t.get(s)
        t.op("test.reads_done")
        t.set(y, [i, ds(0, tile)], value)

    t = Tape(grid=(blocks,))
    x, y = t.input("x", (blocks, tile)), t.output("y", (blocks, tile))
    i = t.grid_id(0)
    decls = [tapes.buffer("in", (tile,)), tapes.buffer("out", (tile,))]
    with t.alloc(*decls, tapes.barrier("b")) as (s, o, b):
        t.start(load, x, s, b, i, kind="tma")
        t.op("test.wait", b)
        t.set(o, (), t.pure(lambda a: a + F32(1), t.get(s)))
        t.op("test.fence")
        t.start(store, o, y, i, kind="tma", family="store")
        t.op("test.commit", family="store")
        t.op("test.join", family="store", reads=True)
        t.op("test.join", family="store")
    return t.launch(np.arange(blocks * tile, dtype=F32).reshape(blocks, tile))


def ring(turns=4, slots=2):
    """Two warpgroups pass values through a ring with full and free barriers."""
    t = Tape(threads=2)
    x, y = t.input("x", (turns,)), t.output("y", (turns,))
    k = t.thread_id()
    full, free = tapes.barrier("full", slots), tapes.barrier("free", slots)
    with t.alloc(tapes.buffer("ring", (slots,)), full, free, users=2) as (
        s,
        full,
        free,
    ):
        with t.when(t.pure(lambda a: a == 0, k)), t.loop(np.int32(turns)) as i:
            slot = t.pure(lambda a: a % np.int32(slots), i)
            with t.when(t.pure(lambda a: a >= slots, i)):
                t.op("test.wait", free, slot)
            t.set(s, [slot], t.get(x, [i]))
            t.op("test.arrive", full, slot)
        with t.when(t.pure(lambda a: a == 1, k)), t.loop(np.int32(turns)) as i:
            slot = t.pure(lambda a: a % np.int32(slots), i)
            t.op("test.wait", full, slot)
            t.set(y, [i], t.get(s, [slot]))
            t.op("test.arrive", free, slot)
    return t.launch(np.arange(turns, dtype=F32))


def dma(count=3, width=4):
    """TPU: copies in flight in two slots, counted by semaphores."""

    def copy(t, source, target, at, slot, s):
        value = t.get(source, [at, ds(0, width)])
        t.set(target, [slot, ds(0, width)], value)
        t.op("test.signal", s, slot, 4 * width)

    t = Tape(backend="tpu")
    x = t.input("x", (count, width), space="hbm")
    y = t.output("y", (count, width), space="hbm")
    slots = tapes.buffer("slots", (2, width), space="vmem", scope="launch")
    with t.alloc(slots, tapes.semaphore("s", 2, scope="launch")) as (v, s):
        t.start(copy, x, v, np.int32(0), np.int32(0), s)
        with t.loop(np.int32(count)) as i:
            following = t.pure(lambda a: a + np.int32(1), i)
            slot = t.pure(lambda a: a % np.int32(2), i)
            other = t.pure(lambda a: a % np.int32(2), following)
            with t.when(t.pure(lambda a: a < count, following)):
                t.start(copy, x, v, following, other, s)
            t.op("test.take", s, slot, 4 * width)
            value = t.get(v, [slot, ds(0, width)])
            t.set(y, [i, ds(0, width)], t.pure(lambda a: -a, value))
    return t.launch(np.arange(count * width, dtype=F32).reshape(count, width))


def masked_sum(blocks=3, tile=4):
    """Triton: masked loads of a partial block, gathers, an in-place output."""
    size = blocks * tile - 2
    t = Tape(backend="triton", grid=(blocks,))
    x = t.input("x", (size,))
    y = t.output("y", (size,), alias=x)
    i = t.grid_id(0)
    at = t.pure(lambda i: i * np.int32(tile) + np.arange(tile, dtype=np.int32), i)
    mask = t.pure(lambda a: a < size, at)
    gather = [tapes.index(ir.Gather(index=at))]
    ref = [tapes.view(x, gather)]
    value = t.emit("pallas.masked_load", mask, F32(0), results=1, accesses=ref)
    value = t.pure(lambda a: a + a.sum(), value)
    t.emit("pallas.masked_store", value, mask, accesses=[tapes.view(y, gather)])
    return t.launch(np.arange(size, dtype=F32))


def _sums(x, tile=4):
    parts = [x[i : i + tile] for i in range(0, len(x), tile)]
    return np.concatenate([part + part.sum() for part in parts])


EXPECTED = {
    elementwise: lambda x: F32(2) * x + F32(1),
    matmul: lambda a, b: a @ b,
    copy_compute_copy: lambda x: x + F32(1),
    ring: lambda x: x,
    dma: lambda x: -x,
    masked_sum: _sums,
}
KERNELS = list(EXPECTED)
