import numpy as np
import pytest
from helpers import TraceBuilder, codes, only

from pallas_debug import ir
from pallas_debug.checks import Severity, run_checks


def access(box, shape=(8, 4), op="state.get", kind="core", verb="read", **place):
    """The report on one access to `x`."""
    b = TraceBuilder(grid=(4,))
    x = b.buffer("x", shape, initial=np.zeros(shape, np.float32))
    t = b.thread(kind, block=2)
    getattr(t, verb)(x, box, op=op, line=7, **place)
    return run_checks(b.close(), select="PD101")


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ([(6, 4), (0, 4)], "dimension 0 of size 8 is accessed up to 9"),
        ([(8, 1), (0, 4)], "dimension 0 of size 8 is accessed from 8"),
        ([(0, 8), (-1, 2)], "dimension 1 of size 4 begins at -1"),
        ([(0, 3, 4), (0, 4)], "dimension 0 of size 8 is accessed up to 8"),
    ],
)
@pytest.mark.parametrize("verb", ["read", "write", "update"])
def test_outside_is_found_in_each_dimension(box, words, verb):
    finding = only(access(box, verb=verb), "PD101")
    assert words in finding.message
    assert finding.message.startswith(f"{verb}s `x`[")
    assert finding.severity is Severity.ERROR
    assert (finding.buffer, finding.block, finding.loc.line) == ("x", (2,), 7)
    assert finding.events == (0,)


@pytest.mark.parametrize(
    "box", [None, [(4, 4), (0, 4)], [(0, 2, 7), (3, 1)], [(99, 0), (0, 4)]]
)
def test_inside_is_not_found(box):
    assert not access(box).findings


def test_masked_access_counts_only_true_elements():
    box, mask = [(6, 4), (0, 4)], np.zeros((4, 4), bool)
    mask[:2] = True
    assert not access(box, mask=mask).findings
    mask[2, 0] = True
    assert codes(access(box, mask=mask)) == ["PD101"]


def test_element_numbers_outside_are_named_by_place():
    finding = only(access(None, elements=[0, 31, 32, -1]), "PD101")
    assert finding.message.startswith(
        "reads `x` at 4 indices, 2 of them outside its shape"
    )
    assert "shape (8, 4): [8, 0], …" in finding.message
    assert finding.details["elements"] == (32, -1)
    assert finding.details["places"] == ((8, 0),)
    plain = only(access(None, elements=[0, 31, 34]), "PD101")
    assert "at 3 indices, 1 of them outside its shape (8, 4): [8, 2];" in plain.message
    rows = only(access(None, elements=[32, 36, 40]), "PD101")
    assert "3 indices, all of them outside its shape (8, 4): [8:11, 0];" in rows.message
    early = only(access(None, elements=[-3]), "PD101")
    assert "at 1 index, which is outside its shape (8, 4): [-1, 1];" in early.message
    assert not access(None, elements=[0, 31]).findings


def test_element_numbers_that_are_not_kept_are_not_named():
    finding = only(access(None, elements=[0, -1, -1]), "PD101")
    assert "at 3 indices, 2 of them outside its shape (8, 4);" in finding.message
    assert "-1" not in finding.message


def gathered(rows, columns):
    """A gather along both dimensions, of which no number was kept."""
    index = ir.Index(dims=(ir.Gather(index=rows), ir.Gather(index=columns)))
    steps = ir.Access(ref=ir.Reg(0), steps=(index,))
    return access(None, elements=[-1, -1], accesses=(steps,))


def test_the_dimension_of_a_gather_is_named_if_the_others_are_right():
    finding = only(gathered(ir.Reg(5), ir.Const(3)), "PD101")
    assert "2 indices, all of them outside dimension 0 of size 8;" in finding.message
    for other in (ir.Const(4), ir.Reg(6)):
        finding = only(gathered(ir.Reg(5), other), "PD101")
        assert "all of them outside its shape (8, 4);" in finding.message


@pytest.mark.parametrize("load", ["pallas.masked_load", "state.get"])
def test_an_access_with_a_mask_is_not_told_to_have_one(load):
    ins = (ir.Reg(7), ir.Const(None)) if "masked" in load else ()
    for given in ({"elements": [32]}, {"box": [(6, 4), (0, 4)]}):
        box = given.pop("box", None)
        finding = only(access(box, op=load, ins=ins, **given), "PD101")
        assert finding.hint.startswith("narrow the mask") is ("masked" in load)
    bare = only(
        access(None, op="pallas.masked_load", ins=(ir.Const(None),) * 2, elements=[32]),
        "PD101",
    )
    assert bare.hint.startswith("mask the access")


@pytest.mark.parametrize("op", ["window.fetch", "window.output"])
def test_last_partial_block_may_overhang_but_not_begin_outside(op):
    assert not access([(6, 4), (0, 4)], op=op).findings
    for start in (8, -4):
        finding = only(access([(start, 4), (0, 4)], op=op), "PD101")
        assert "the index map of `x` gives the block" in finding.message


def test_declared_padding_before_the_array_is_legal():
    dims = (("element", 4, 2), ("blocked", 4))
    for start, bad in ((-2, False), (-3, True)):
        b = TraceBuilder()
        x = b.buffer("x", (8, 4), initial=np.zeros((8, 4), np.float32))
        box = [(start, 4), (0, 4)]
        b.thread().read(x, box, op="window.fetch", params={"dims": dims})
        assert bool(run_checks(b.close(), select="PD101").findings) is bad


def test_write_back_of_a_block_is_found_at_its_index_map():
    class Decl:
        name = "o"

    b = TraceBuilder()
    o = b.buffer("o", (8,), role="output")
    b.instr("window.output", 3, params={"decl": Decl})
    b.thread().write(o, [(8, 4)], op="window.flush", line=1)
    assert only(run_checks(b.close(), select="PD101"), "PD101").loc.line == 3


def copy(box, mode=None, verb="read", kind="tma"):
    b = TraceBuilder(grid=(4,))
    x = b.buffer("x", (10,), initial=np.zeros(10, np.float32))
    t = b.thread(block=1)
    params = {"oob_mode": mode} if mode else {}
    agent = t.spawn(kind, op="gpu.copy_gmem_to_smem", line=5, params=params)
    row = b.writer.threads[agent.number]
    instr = b.instr("gpu.copy_gmem_to_smem", 5, params=params)
    b.writer.threads[agent.number] = row._replace(instr=instr)
    getattr(agent, verb)(x, box, op="agent", line=5)
    return run_checks(b.close(), select="PD101")


def test_tma_window_that_overhangs_is_a_warning_unless_asked_for():
    finding = only(copy([(8, 4)]), "PD101")
    assert finding.severity is Severity.WARNING
    assert "fills with zeros" in finding.message
    assert only(copy([(8, 4)], verb="write"), "PD101").severity is Severity.WARNING
    assert not copy([(8, 4)], "ZEROS").findings
    assert not copy([(6, 4)]).findings


@pytest.mark.parametrize(
    "given", [([(10, 4)],), ([(-1, 4)],), ([(8, 4)], "PROMISE_IN_BOUNDS")]
)
def test_tma_window_that_begins_outside_is_an_error(given):
    assert only(copy(*given), "PD101").severity is Severity.ERROR


def test_dma_has_no_such_grace():
    assert only(copy([(8, 4)], kind="dma"), "PD101").severity is Severity.ERROR


def test_equal_accesses_are_one_finding_with_a_count_and_the_first_block():
    b = TraceBuilder(grid=(2, 4))
    x = b.buffer("x", (8,), initial=np.zeros(8, np.float32))
    for block in range(2, 8):
        b.thread("block", block=block).read(x, [(block, 4)], line=7)
    finding = only(run_checks(b.close()), "PD101")
    assert finding.count == 3
    assert finding.block == (1, 1)
    assert "first in block (1, 1), 3 times in 3 blocks" in finding.message
    assert len(finding.threads) == len(finding.events) == 3
