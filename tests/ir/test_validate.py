"""A tape that cannot be run is refused with the instruction and the reason."""

import dataclasses

import kernels
import numpy as np
import pytest
import tapes
from tapes import Tape, ds, index

from pallas_debug import ir

F32 = np.float32


@pytest.mark.parametrize("make", kernels.KERNELS, ids=lambda make: make.__name__)
def test_good_kernels_pass(make):
    kernel = make().kernel
    assert ir.validate(kernel) is kernel


def refused(t, match, **changes):
    kernel = dataclasses.replace(t.made(), **changes)
    with pytest.raises(AssertionError, match=match):
        ir.validate(kernel)


def test_empty_tape():
    refused(Tape(), "the tape is empty")


def test_tape_that_has_no_end():
    t = Tape()
    t.op("test.fence")
    refused(t, "0: test.fence falls off the end")


def test_entry_outside():
    t = Tape()
    t.emit("ir.return")
    refused(t, "entry", entry=1)


@pytest.mark.parametrize(
    ("op", "targets", "match"),
    [
        ("ir.jump", (9,), "0: ir.jump leaves the tape"),
        ("ir.jump", (-1,), "leaves the tape"),
        ("ir.jump", (), "has 0 targets"),
        ("ir.jump", (1, 1), "has 2 targets"),
        ("ir.return", (1,), "has 1 targets"),
        ("ir.branch", (1,), "needs one operand"),
        ("test.spawn", (7,), "leaves the tape"),
    ],
)
def test_wrong_targets(op, targets, match):
    t = Tape()
    t.emit(op, targets=targets)
    t.emit("ir.return")
    refused(t, match)


def test_register_that_is_never_set():
    t = Tape()
    t.pure(lambda a: a, ir.Reg(7))
    t.emit("ir.return")
    refused(t, "0: lax.f reads register 7, which is not set on every path")


def test_register_that_one_branch_leaves_unset():
    t = Tape()
    value = t.reg()
    with t.when(np.bool_(True)):
        t.move(F32(1), value)
    t.pure(lambda a: a, value)
    t.emit("ir.return")
    refused(t, f"reads register {value.number}")


def test_register_that_a_loop_may_not_set():
    t = Tape()
    value = t.reg()
    with t.loop(np.int32(3)):
        t.move(F32(1), value)
    t.pure(lambda a: a, value)
    t.emit("ir.return")
    refused(t, f"reads register {value.number}")


def test_register_set_by_every_branch_passes():
    t = Tape()
    value = t.reg()
    t.emit("ir.branch", np.bool_(True), targets=(1, 3))
    t.move(F32(1), value)
    t.emit("ir.jump", targets=(4,))
    t.move(F32(2), value)
    t.pure(lambda a: a, value)
    t.kernel()


def test_coordinates_past_the_last_grid_point():
    t = Tape(backend="generic", grid=(2,))
    i = t.reg()
    t.emit("grid.next", outs=[i], targets=(2,), sync=True)
    t.emit("ir.jump", targets=(0,))
    t.pure(lambda a: a, i)
    t.emit("ir.return")
    refused(t, f"2: lax.f reads register {i.number}")


def test_agent_knows_only_what_it_is_given():
    def agent(t, x):
        t.get(ir.Reg(1), [0])

    t = Tape()
    x = t.input("x", (1,))
    t.pure(lambda: 1)
    t.start(agent, x)
    with pytest.raises(AssertionError, match="reads register 1"):
        t.kernel()


@pytest.mark.parametrize(
    ("params", "known"),
    [
        ({}, 1),
        ({"extra": 2}, 3),
        ({"slots": (2,), "number": 1}, 3),
        ({"slots": (1,), "number": 0}, 2),
    ],
)
def test_agent_begins_with_what_its_rule_sets(params, known):
    t = Tape()
    t.emit("test.start", np.int32(7), params=params, targets=(2,))
    t.emit("ir.return")
    t.pure(lambda a: a, ir.Reg(known - 1))
    t.emit("ir.return")
    ir.validate(t.made())
    t.code[2:2] = [dataclasses.replace(t.code[2], ins=(ir.Reg(known),))]
    refused(t, f"reads register {known}")


@pytest.mark.parametrize(
    ("steps", "match"),
    [
        ([index(0)], "1 indices of"),
        ([index(0, 0, 0)], "3 indices of"),
        ([index(ds(0, 2), 0), index(0, 0)], "2 indices of"),
        ([ir.Transpose(permutation=(0, 0))], "transpose"),
        ([ir.Transpose(permutation=(0,))], "transposed"),
        ([ir.Reshape(shape=(7,))], r"\(4, 2\) as \(7,\)"),
        ([index(ds(0, 2, 0), 0)], "stride 0"),
        ([index(ds(0, -1), 0)], "a slice without a size"),
    ],
)
def test_access_that_does_not_fit(steps, match):
    t = Tape()
    x = t.input("x", (4, 2))
    t.get(x, steps)
    t.emit("ir.return")
    refused(t, match)


def test_access_of_a_scoped_buffer_that_does_not_fit():
    t = Tape()
    with t.alloc(tapes.buffer("s", (4, 2))) as s:
        t.get(s, [0])
    t.emit("ir.return")
    refused(t, "1 indices of")


def test_access_with_gathers_passes():
    t = Tape()
    x = t.input("x", (4, 2))
    t.get(x, [index(np.array([1, 2]), ds(0, 2)), index(0, 1)])
    gather = ir.Gather(index=t.pure(lambda: np.array([1])))
    t.get(x, [index(gather, ds(0, 2)), ir.Reshape(shape=(2,))])
    t.kernel()


@pytest.mark.parametrize(
    ("pure", "match"),
    [
        (ir.Pure(expr="{1}"), "has no operand 1"),
        (ir.Pure(expr="{x}"), "is no number"),
        (ir.Pure(expr="{0}", results=2), "2 results"),
        (ir.Pure(expr="{0}", env={"not a name": 1}), "odd names"),
    ],
)
def test_expression_that_does_not_fit(pure, match):
    t = Tape()
    t.emit("lax.f", F32(1), results=1, pure=pure)
    t.emit("ir.return")
    refused(t, match)


def test_numbers_of_buffers_and_places():
    t = Tape()
    t.input("x", (1,))
    t.emit("ir.return")
    refused(t, "1 buffers, 2 named", num_outputs=1)
    refused(t, "not every buffer has a register", arguments=())
    refused(t, "no such source line", locs=())
    refused(t, "lies in no scope", scopes=())
    loop = (ir.Scope(kind="kernel", name="", parent=0),)
    refused(t, "comes before its parent", scopes=loop)
