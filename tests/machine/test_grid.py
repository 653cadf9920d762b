"""Coordinates, sizes and the order in which a grid is walked."""

import numpy as np
import pytest
from tapes import Tape


@pytest.mark.parametrize("backend", ["mosaic_gpu", "triton"])
def test_blocks_know_their_coordinates_and_the_grids_sizes(backend):
    t = Tape(backend=backend, grid=(2, 3))
    y, z = t.output("y", (2, 3), "int32"), t.output("z", (2,), "int32")
    i, j = t.grid_id(0), t.grid_id(1)
    t.set(y, [i, j], t.pure(lambda a, b: np.int32(10 * a + b), i, j))
    size = t.emit("grid.size", results=1, params={"axis": 1})
    t.set(z, [i], size)
    first, second = t.run().results()
    assert first.tolist() == [[0, 1, 2], [10, 11, 12]]
    assert second.tolist() == [3, 3]


def test_a_core_enters_the_points_in_order_the_last_axis_fastest():
    t = Tape(backend="tpu", grid=(2, 2))
    y = t.output("y", (2, 2), "int32")
    top = t.here
    i, j = t.emit("grid.next", outs=[t.reg(), t.reg()], targets=(-1,), sync=True)
    t.set(y, [i, j], t.pure(lambda a, b: np.int32(2 * a + b), i, j))
    t.emit("ir.jump", targets=(top,))
    t.patch(top, t.here)
    trace = t.trace()
    entered = trace.events.where(kind="grid")
    assert trace.columns.aux[entered].tolist() == [0, 1, 2, 3]
    written = trace.events.where(kind="write")
    assert trace.columns.block[written].tolist() == [0, 1, 2, 3]
    assert {t.kind for t in trace.threads} == {"launch", "core"}
