"""What follows from what: one root for one fault, and no link where mending is in doubt."""

import importlib
import json

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug import gallery
from pallas_debug.checks import suppression
from pallas_debug.views import facts, findings, html_findings
from pallas_debug.views.sarif import sarif

F32 = jnp.float32


def like(*shape):
    return jax.ShapeDtypeStruct(shape, F32)


def faulty(name):
    fn, args = gallery.ENTRIES[name].faulty()
    trace = pldb.trace(fn, *args)
    return trace, pldb.check(trace)


def told(report):
    """For each root its code and the sorted codes of what follows."""
    return [
        (root.code, sorted(one.code for one in report.following(root)))
        for root in report.roots
    ]


def revisited():
    fn, args = importlib.import_module("cases.h03_reduce_over_outer_axis").build()
    return pldb.check(fn, *args, options=pldb.Options(chip="v5e"))


def test_one_missing_wait_is_one_fault():
    _, report = faulty("unwaited_copy")
    assert told(report) == [("PD201", ["PD102", "PD107", "PD221", "PD401"])]
    assert report.tally == "1 error, and 4 that follow"
    assert [one.code for one in report.errors] == ["PD102", "PD201", "PD221"]
    assert report.opens_at == report.roots[0].events[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unset_accumulator", [("PD102", ["PD401"])]),
        ("ring_deadlock", [("PD210", ["PD210"])]),
        ("ring_gather", [("PD201", ["PD201", "PD202", "PD202"])]),
        ("ring_race", [("PD201", [])]),
    ],
)
def test_gallery_kernel_has_one_fault(name, expected):
    _, report = faulty(name)
    assert told(report) == expected


def test_the_deadlock_to_begin_with_is_the_one_that_waits_for_nobody():
    _, report = faulty("ring_deadlock")
    (root,) = report.roots
    assert "nothing in the kernel signals it" in root.message


def test_block_that_is_come_back_to_explains_what_is_unset_there():
    with jax.numpy_dtype_promotion("standard"):
        assert told(revisited()) == [("PD104", ["PD102", "PD401"])]


def copies(waits, *, reads=2):
    """Two tiles, each copied in for itself; `waits` says for which one it waits."""

    def body(x, o, tiles, barriers):
        for slot in range(2):
            plgpu.copy_gmem_to_smem(x.at[slot], tiles.at[slot], barriers.at[slot])
        for slot in range(2):
            if waits[slot]:
                plgpu.barrier_wait(barriers.at[slot])
            if slot < reads:
                o[slot] = tiles[slot] * 2.0

    scratch = [plgpu.SMEM((2, 128), F32), plgpu.Barrier(num_barriers=2)]
    return plgpu.kernel(body, out_type=like(2, 128), scratch_types=scratch)


def judged(kernel, *shape):
    return pldb.check(kernel, jnp.ones(shape, F32))


def test_each_missing_wait_is_a_fault_of_its_own():
    report = judged(copies((False, True)), 2, 128)
    assert [code for code, _ in told(report)] == ["PD201"]
    assert not judged(copies((True, True)), 2, 128).errors


def test_copy_that_no_race_tells_of_stays_a_fault_of_its_own():
    report = judged(copies((False, False), reads=1), 2, 128)
    roots = dict(told(report))
    assert "PD102" in roots["PD201"]
    # The wait that the race asks for is for the first copy only.
    assert "PD221" in roots


def sent(copies_awaited, *, same_semaphore):
    """Two DMAs whose data are read; they may count on one semaphore."""

    def kernel(x, o, tiles, sems):
        made = [
            pltpu.make_async_copy(
                x.at[n], tiles.at[n], sems.at[0 if same_semaphore else n]
            )
            for n in range(2)
        ]
        for copy in made:
            copy.start()
        for n in range(2):
            if copies_awaited[n]:
                made[n].wait()
            o[n] = tiles[n] * 2.0

    whole = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        in_specs=[whole],
        out_shape=like(2, 8, 128),
        scratch_shapes=[pltpu.VMEM((2, 8, 128), F32), pltpu.SemaphoreType.DMA((2,))],
    )


def test_dma_that_is_read_too_early_is_not_awaited_either():
    report = judged(sent((True, False), same_semaphore=False), 2, 8, 128)
    assert told(report) == [("PD201", ["PD221"])]


def test_semaphore_of_two_copies_is_explained_only_if_both_race():
    report = judged(sent((False, False), same_semaphore=True), 2, 8, 128)
    roots = dict(told(report))
    assert "PD221" not in {code for code in roots if code != "PD221"}
    assert set(roots) <= {"PD201", "PD221"}


def stores(fences):
    """Two stores, then a copy of both; `fences` after the first and the second one."""

    def body(x, o, tile):
        tile[0:64] = x[0:64]
        if fences[0]:
            plgpu.commit_smem()
        tile[64:128] = x[64:128]
        if fences[1]:
            plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(tile, o)
        plgpu.wait_smem_to_gmem(0)

    return plgpu.kernel(
        body, out_type=like(128), scratch_types=[plgpu.SMEM((128,), F32)]
    )


@pytest.mark.parametrize(
    ("fences", "expected"),
    [
        ((False, False), [("PD203", ["PD203"])]),
        ((True, False), [("PD203", [])]),
        ((False, True), []),
    ],
)
def test_one_commit_after_the_last_store_is_enough(fences, expected):
    report = judged(stores(fences), 128)
    assert told(report) == expected
    for root in report.roots:
        assert "tile[64:128]" in root.other.text


def added_up(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...]


def test_parallel_points_that_share_a_block_are_one_fault():
    call = pl.pallas_call(
        added_up,
        grid=(3,),
        in_specs=[pl.BlockSpec((None, 8, 128), lambda i: (i, 0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        out_shape=like(8, 128),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )
    ((code, after),) = told(judged(call, 3, 8, 128))
    assert (code, set(after)) == ("PD201", {"PD104", "PD202"})


def blocks_share(x, o):
    i = lax.axis_index("i")
    o[...] = x[i]  # every block, in no order
    o[0:64] = x[i, 0:64] * 2.0


def test_races_that_no_wait_could_end_explain_nothing():
    kernel = plgpu.kernel(
        blocks_share, out_type=like(128), grid=(2,), grid_names=("i",)
    )
    report = judged(kernel, 2, 128)
    assert len(report) > 1
    assert report.roots == report.findings


def test_reports_show_consequences_below_their_cause():
    trace, report = faulty("unwaited_copy")
    lines = findings(report, trace=trace).splitlines()
    assert lines[0] == "findings: 1 error, and 4 that follow"
    assert lines[1].startswith("✗ error PD201")
    marks = [line for line in lines if " PD102 " in line or " PD221 " in line]
    assert all(line.startswith("      ✗ error") for line in marks)
    assert "follows from PD201 at unwaited_copy.py" in str(report)
    assert "from this follows:<ul" in html_findings(report)


def test_data_keep_who_follows_from_whom():
    trace, report = faulty("unwaited_copy")
    told = facts(trace, report)["findings"]
    root = next(n for n, one in enumerate(told) if one["code"] == "PD201")
    assert {one["cause"] for one in told} == {None, root}
    assert told[root]["cause"] is None
    (run,) = json.loads(sarif(trace, report))["runs"]
    follows = [one.get("properties") for one in run["results"]]
    assert follows.count({"followsFrom": root}) == 4
    assert follows[root] is None


def test_what_is_left_of_a_report_stands_for_itself():
    _, report = faulty("unwaited_copy")
    known = [suppression.fingerprint(report.roots[0])]
    rest = suppression.without(report, known)
    assert len(rest) == 4
    assert rest.roots == rest.findings
    assert rest.tally.startswith("2 errors")
