"""Members of a `RefUnion` share bytes: who reads what another one has written."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import only
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb

F32 = jnp.float32
X = jnp.arange(64, dtype=F32)
WHOLE, HALF = plgpu.SMEM((64,), F32), plgpu.SMEM((32,), F32)


def launched(body, *scratch, **mesh):
    like = jax.ShapeDtypeStruct((64,), F32)
    union = plgpu.RefUnion(WHOLE, [HALF, HALF])
    return plgpu.kernel(body, out_type=like, scratch_types=[union, *scratch], **mesh)


def overwritten(*, reads_first):
    def body(x, o, union):
        whole, (low, high) = union
        low[...] = x[pl.ds(0, 32)]
        high[...] = x[pl.ds(32, 32)]
        if reads_first:
            o[pl.ds(32, 32)] = high[...] + low[...]
        whole[...] = x[...]  # over both halves
        if not reads_first:
            o[pl.ds(32, 32)] = high[...] + low[...]
        o[pl.ds(0, 32)] = whole[pl.ds(0, 32)]

    return launched(body)


def copied(*, waits):
    """A copy into one member that is started before, or after, the other is read."""

    def body(x, o, union, barrier):
        whole, (low, _) = union
        low[...] = x[pl.ds(0, 32)]
        plgpu.commit_smem()
        if waits:
            o[pl.ds(0, 32)] = low[...]
            plgpu.commit_smem()
        plgpu.copy_gmem_to_smem(x, whole, barrier)
        plgpu.barrier_wait(barrier)
        if not waits:
            o[pl.ds(0, 32)] = low[...]
        o[pl.ds(32, 32)] = whole[pl.ds(32, 32)]

    return launched(body, plgpu.Barrier())


def test_member_that_another_one_was_written_over_is_told(tmp_path):
    trace = pldb.trace(overwritten(reads_first=False), X)
    report = pldb.check(trace, select="PD1")
    one = only(report, "PD109")
    assert "as float32[32]" in one.message
    assert "written as float32[64]" in one.message
    assert "over both halves" in one.other.text
    trace.save(tmp_path / "made.pldb")
    again = pldb.check(pldb.load(tmp_path / "made.pldb"), select="PD1")
    assert [str(found) for found in again.findings] == [str(one)]


def test_copy_over_a_member_is_told():
    one = only(pldb.check(copied(waits=False), X, select="PD1"), "PD109")
    assert "copy_gmem_to_smem" in one.other.text


def alike(*, reads_first):
    """Two members that look the same and lie at the same place."""

    def body(x, o, union):
        one, other = union
        one[...] = x[...]
        if reads_first:
            o[...] = one[...]
        other[...] = x[...] + 1
        if not reads_first:
            o[...] = one[...]
        o[...] = other[...]

    like = jax.ShapeDtypeStruct((64,), F32)
    union = plgpu.RefUnion(WHOLE, WHOLE)
    return plgpu.kernel(body, out_type=like, scratch_types=[union])


def test_member_that_looks_like_the_written_one_is_told(tmp_path):
    trace = pldb.trace(alike(reads_first=False), X)
    trace.save(tmp_path / "made.pldb")
    for one in (trace, pldb.load(tmp_path / "made.pldb")):
        found = only(pldb.check(one, select="PD1"), "PD109")
        assert "as float32[64] (`union[0]`), but" in found.message
        assert "written as float32[64] (`union[1]`)" in found.message


@pytest.mark.parametrize(
    "kernel",
    [overwritten(reads_first=True), copied(waits=True), alike(reads_first=True)],
    ids=["set", "copy", "alike"],
)
def test_member_that_was_read_before_is_not(kernel):
    assert not pldb.check(kernel, X, select="PD1").findings


def test_members_of_one_kind_and_what_is_written_again_are_not():
    def body(x, o, union):
        whole, (low, high) = union
        for turn in range(3):
            whole[...] = x[...] + turn
            o[...] = whole[...]
            high[...] = x[pl.ds(0, 32)]
            low[...] = high[...] + 1
            o[pl.ds(0, 32)] = low[...] + high[...]

    trace = pldb.trace(launched(body), X)
    assert not pldb.check(trace, select="PD1").findings
    np.testing.assert_array_equal(trace.outputs[:32], 2 * X[:32] + 1)
