"""Windows: what is copied in and out, when, and in whose name."""

import numpy as np
import pytest
import tapes
from hypothesis import given
from hypothesis import strategies as st
from tapes import Tape, ds

from pallas_debug.trace import Kind

F32 = np.float32


class Grid:
    """A core that walks a grid, with one window an operand."""

    def __init__(self, *shape, backend="generic"):
        self.t = Tape(backend=backend, grid=shape)
        self.operands = []

    def operand(self, array, index, dims, *, output=False, **params):
        """`index` maps grid registers to index registers; `dims` as in the machine."""
        kept = tuple(d for d, dim in enumerate(dims) if dim[0] != "squeezed")
        shape = tuple(dims[d][1] for d in kept)
        decl = tapes.buffer("w", shape, space="block", scope="launch", kept=kept)
        if output:
            params = {"refetch": True, "preload": False} | params
        self.operands.append((array, index, output, decl, {"dims": dims, **params}))

    def run(self, body, *arguments, **options):
        """Runs `body(t, *windows)` at every point; gives outputs and trace."""
        t = self.t
        top = t.here
        outs = [t.reg() for _ in t.grid.shape]
        t.emit("grid.next", outs=outs, targets=(-1,), sync=True)
        windows = []
        for slot, (array, index, output, decl, params) in enumerate(self.operands):
            params = {"slot": slot, "decl": decl, **params}
            name = "window.output" if output else "window.fetch"
            values = index(t, *outs)
            windows.append(
                t.emit(name, array, *values, results=1, params=params, sync=True)
            )
        body(t, *windows)
        t.emit("ir.jump", targets=(top,))
        t.patch(top, t.here)
        outputs = [s for s, op in enumerate(self.operands) if op[2]]
        inputs = [s for s, op in enumerate(self.operands) if not op[2]]
        stored = [s for s in inputs if self.operands[s][4].get("stored")]
        slots = {"slots": outputs, "inputs": inputs, "stored": stored}
        t.emit("window.flush", params=slots, sync=True)
        run = t.run(*arguments, **options)
        return run.results(), tapes.close(run.writer)


def copy(t, source, target):
    t.set(target, (), t.get(source))


def same_index(t, *ids):
    return ids


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=F32).reshape(shape)


@given(size=st.integers(1, 9), block=st.integers(1, 5))
def test_blocks_that_overhang_are_padded_and_cut(size, block):
    g = Grid(-(-size // block))
    x, y = g.t.input("x", (size,)), g.t.output("y", (size,))
    g.operand(x, same_index, (("blocked", block),))
    g.operand(y, same_index, (("blocked", block),), output=True)
    (result,), trace = g.run(copy, numbers(size))
    np.testing.assert_array_equal(result, numbers(size))
    pads = [trace[int(i)] for i in trace.events.where(kind=Kind.PAD)]
    left = -size % block
    assert [trace.region(trace.columns.region[e.seq]).size for e in pads] == (
        [(left,)] if left else []
    )


def test_a_block_that_stays_is_copied_once():
    g = Grid(3, 2)
    x, y = g.t.input("x", (4,)), g.t.output("y", (6, 4))
    g.operand(x, lambda t, i, j: (np.int32(0),), (("blocked", 4),))
    dims = (("squeezed",), ("blocked", 4))
    row = lambda t, i, j: (t.pure(lambda a, b: 2 * a + b, i, j), np.int32(0))
    g.operand(y, row, dims, output=True)
    (result,), trace = g.run(copy, numbers(4))
    np.testing.assert_array_equal(result, np.tile(numbers(4), (6, 1)))
    assert len(trace.events.where(kind="read", buffer=0)) == 1
    assert len(trace.events.where(kind="write", buffer=1)) == 6


@pytest.mark.parametrize("refetch", [True, False])
def test_an_output_that_is_come_back_to(refetch):
    """Plain interpretation goes on with the block; a TPU's window starts unset."""
    g = Grid(4)
    y = g.t.output("y", (2,))
    turn = lambda t, i: (t.pure(lambda a: a % 2, i),)
    g.operand(y, turn, (("blocked", 1),), output=True, refetch=refetch)

    def count(t, window):
        old = t.get(window)
        t.set(window, (), t.pure(lambda a: np.nan_to_num(a) + F32(1), old))

    (result,), _ = g.run(count)
    assert result.tolist() == ([2, 2] if refetch else [1, 1])


def test_overlapping_outputs_see_each_other():
    g = Grid(3)
    y = g.t.output("y", (4,))
    g.operand(y, same_index, (("element", 2, 0),), output=True)

    def count(t, window):
        old = t.get(window)
        t.set(window, (), t.pure(lambda a: np.nan_to_num(a) + F32(1), old))

    (result,), _ = g.run(count)
    assert result.tolist() == [1, 2, 2, 1]


def test_padding_before_the_first_element():
    g = Grid(2)
    x, y = g.t.input("x", (4,)), g.t.output("y", (6,))
    at = lambda t, i: (t.pure(lambda a: a * 3, i),)
    g.operand(x, at, (("element", 3, 1),))
    g.operand(y, same_index, (("blocked", 3),), output=True)
    (result,), _ = g.run(copy, numbers(4))
    np.testing.assert_array_equal(result, [np.nan, 0, 1, 2, 3, np.nan])


def test_bounded_blocks_move_only_their_size():
    sizes, starts = np.array([3, 0, 2]), np.array([0, 3, 3])
    g = Grid(3)
    x, y = g.t.input("x", (6,)), g.t.output("y", (6,))
    span = lambda t, i: (t.pure(lambda a: starts[a], i), t.pure(lambda a: sizes[a], i))
    g.operand(x, span, (("bounded", 4),))
    g.operand(y, span, (("bounded", 4),), output=True)
    (result,), trace = g.run(copy, numbers(6))
    np.testing.assert_array_equal(result, [0, 1, 2, 3, 4, np.nan])
    written = trace.events.where(kind="write", buffer=1)
    regions = [trace.region(int(trace.columns.region[i])) for i in written]
    assert [r.size for r in regions] == [(3,), (0,), (2,)]


def test_an_aliased_pair_is_exchanged_at_every_point():
    g = Grid(3)
    x = g.t.input("x", (2,))
    y = g.t.output("y", (2,), alias=x)
    block = lambda t, i: (np.int32(0),)
    g.operand(x, block, (("blocked", 2),), again=1)
    g.operand(y, block, (("blocked", 2),), output=True, preload=True)

    def add(t, source, target):
        t.set(target, (), t.pure(lambda a: a + F32(1), t.get(source)))

    (result,), _ = g.run(add, numbers(2))
    np.testing.assert_array_equal(result, numbers(2) + 3)


def test_an_input_that_the_kernel_stores_to_goes_back():
    g = Grid(2)
    x, y = g.t.input("x", (2,)), g.t.output("y", (4,))
    g.operand(x, lambda t, i: (np.int32(0),), (("blocked", 2),), stored=True)
    g.operand(y, same_index, (("blocked", 2),), output=True)

    def add(t, source, target):
        t.set(
            source, [ds(0, 1)], t.pure(lambda a: a + F32(5), t.get(source, [ds(0, 1)]))
        )
        copy(t, source, target)

    given_array = numbers(2)
    (result,), trace = g.run(add, given_array)
    np.testing.assert_array_equal(result, [5, 1, 10, 1])
    np.testing.assert_array_equal(given_array, numbers(2))
    assert len(trace.events.where(kind="write", buffer=0)) == 1


def test_write_backs_are_in_the_name_of_the_point_that_had_the_block():
    g = Grid(3)
    x, y = g.t.input("x", (3,)), g.t.output("y", (3,))
    g.operand(x, same_index, (("blocked", 1),))
    g.operand(y, same_index, (("blocked", 1),), output=True)
    _, trace = g.run(copy, numbers(3))
    written = trace.events.where(kind="write", buffer=1)
    assert trace.columns.block[written].tolist() == [0, 1, 2]


def test_an_empty_grid_copies_nothing():
    g = Grid(0)
    x, y = g.t.input("x", (3,)), g.t.output("y", (3,))
    g.operand(x, same_index, (("blocked", 1),))
    g.operand(y, same_index, (("blocked", 1),), output=True)
    (result,), trace = g.run(copy, numbers(3))
    assert np.isnan(result).all()
    assert not len(trace.events.where(kind="read"))


def test_chosen_grid_points_only():
    g = Grid(4)
    x, y = g.t.input("x", (4,)), g.t.output("y", (4,))
    g.operand(x, same_index, (("blocked", 1),))
    g.operand(y, same_index, (("blocked", 1),), output=True)
    (result,), _ = g.run(copy, numbers(4), blocks=[1, (3,)])
    np.testing.assert_array_equal(result, [np.nan, 1, np.nan, 3])
