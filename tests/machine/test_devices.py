"""A launch on several devices: arguments, grids, places and the buffers of another one."""

import numpy as np
import pytest
import tapes
from tapes import Tape

from pallas_debug import errors
from pallas_debug.trace import close

F32 = np.float32
AXES = {"x": 2, "y": 2}


def spread(backend="mosaic_gpu", axis="y"):
    """Each block adds ten times its place on an axis to its element."""
    t = Tape(backend=backend, grid=(3,))
    x, y = t.input("x", (3,)), t.output("y", (3,))
    if backend == "tpu":
        i = t.emit("grid.next", outs=[t.reg()], targets=(-1,), sync=True)
    else:
        i = t.grid_id(0)
    place = t.emit("grid.id", results=1, params={"axis": axis})
    value = t.get(x, [i])
    t.set(y, [i], t.pure(lambda a, d: a + F32(10 * d), value, place))
    if backend == "tpu":
        t.emit("ir.jump", targets=(0,))
        t.patch(0, t.here)
    return t


def inputs():
    return [np.arange(3, dtype=F32) + 100 * device for device in range(4)]


@pytest.mark.parametrize("backend", ["mosaic_gpu", "tpu"])
@pytest.mark.parametrize("axis", AXES)
def test_each_device_has_its_arguments_its_grid_and_its_place(backend, axis):
    launch = spread(backend, axis).launch(*inputs(), axes=AXES)
    results = tapes.run(launch).results()
    for device, (got, x) in enumerate(zip(results, inputs(), strict=True)):
        place = np.unravel_index(device, (2, 2))["xy".index(axis)]
        np.testing.assert_array_equal(got, x + 10 * place)


@pytest.mark.parametrize("backend", ["mosaic_gpu", "tpu"])
def test_blocks_are_counted_over_all_devices(backend):
    launch = spread(backend).launch(*inputs(), axes=AXES)
    trace = close(tapes.run(launch).writer)
    assert trace.launches[0].block_shape == (2, 2, 3)
    blocks = {trace[int(e)].block for e in trace.events.where(kind="write")}
    assert blocks == set(np.ndindex(2, 2, 3))
    only = tapes.run(launch, blocks=[(1, 0, 2)], uninitialized="zero").results()
    assert [np.flatnonzero(y).tolist() for y in only] == [[], [], [2], []]


def reaching(*ids, axes, sizes=AXES):
    """Each device writes its number to the same buffer of another one."""
    t = Tape(backend="tpu")
    y = t.output("y", (), "int32")
    params = {"axes": axes, "op": "test"}
    there = t.emit("pallas.on_device", y, *map(np.int32, ids), results=1, params=params)
    t.set(there, (), t.emit("grid.id", results=1, params={"axis": "x"}))
    return t.launch(axes=sizes)


@pytest.mark.parametrize(
    ("ids", "axes", "reached"),
    [
        ([3], ("logical",), {3}),
        ([1, 0], ("#0", "#1"), {2}),
        ([1], ("y",), {1, 3}),
        ([2], (("x", "y"),), {2}),
    ],
)
def test_a_device_is_named_in_every_form(ids, axes, reached):
    run = tapes.run(reaching(*ids, axes=axes))
    rows = close(run.writer).buffer_rows
    trace = close(run.writer)
    written = {rows[int(trace.columns.object[e])].device for e in
               trace.events.where(kind="write")}  # fmt: skip
    assert written == reached


def test_a_device_outside_the_mesh_ends_the_launch():
    run = tapes.run(reaching(4, axes=("logical",)))
    assert run.record.outcome.kind == "unsupported"
    assert "device 4, of 4" in run.record.outcome.message


def test_a_block_of_no_device_is_refused():
    launch = spread().launch(*inputs(), axes=AXES)
    with pytest.raises(errors.BadOption, match=r"blocks of this grid of \(2, 2, 3\)"):
        tapes.run(launch, blocks=[(0, 2, 0)])
