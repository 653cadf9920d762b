"""Refusals that stand on the tape, version by version, over hand-built kernels."""

import pytest
from helpers import TraceBuilder, codes, only

from pallas_debug import ir
from pallas_debug.checks import Severity, run_checks

VERSIONS = ("0.10.2", "0.11.0", "0.11.1", "0.11.2", "0.12.0.1")
RUN_SCOPED = (
    ir.Scope(kind="kernel", name="k", parent=-1),
    ir.Scope(kind="scoped", name="run_scoped", parent=0),
)
TURNED = ir.Transpose(permutation=(1, 0))
FLAT = ir.Reshape(shape=(8,))


def report(*instrs, interpret="gpu", version=VERSIONS[-1], grid=None, **facts):
    """The report on a kernel; nothing of it was run."""
    facts = {"interpret": interpret, "jax_version": version} | facts
    b = TraceBuilder(facts=facts, scopes=RUN_SCOPED, kernel_grid=grid)
    for op, fields in instrs:
        b.instr(op, 7, **fields)
    return run_checks(b.close(), select="PD3")


def alloc(*decls):
    params = {"decls": decls, "users": 1}
    outs = tuple(range(len(decls)))
    return "scope.alloc", {"params": params, "outs": outs, "scope": 1}


def buffer(space, dtype="int32", **params):
    return ir.Buffer(name="s", space=space, shape=(8,), dtype=dtype, params=params)


def read(*steps):
    return "state.get", {"accesses": (ir.Access(ref=ir.Reg(0), steps=steps),)}


@pytest.mark.parametrize(
    ("instr", "code", "refusing"),
    [
        (alloc(buffer("tmem")), "PD306", VERSIONS[:1]),
        (alloc(buffer("any")), "PD306", VERSIONS),
        (alloc(buffer("barrier", "cluster_barrier")), "PD309", VERSIONS[:1]),
        (
            alloc(buffer("barrier", "cluster_barrier", orders_tensor_core=True)),
            "PD309",
            VERSIONS[:2],
        ),
        (
            alloc(buffer("barrier", "cluster_barrier", leader_tracked="all")),
            "PD309",
            VERSIONS,
        ),
        (alloc(buffer("semaphore", "semaphore")), "PD309", VERSIONS),
        (("gpu.warp_map", {}), "PD311", VERSIONS[:2]),
        (("gpu.async_prefetch", {}), "PD311", VERSIONS[:3]),
        (("gpu.barrier_test", {}), "PD311", VERSIONS),
        (("gpu.inline_mgpu", {}), "PD311", VERSIONS),
        (read(TURNED), "PD314", VERSIONS[:3]),
        (read(FLAT), "PD314", VERSIONS),
        (read(ir.Index(dims=())), "PD314", ()),
    ],
)
def test_versions_that_refuse(instr, code, refusing):
    found = [v for v in VERSIONS if codes(report(instr, version=v)) == [code]]
    silent = [v for v in VERSIONS if not report(instr, version=v).findings]
    assert found == list(refusing)
    assert sorted(found + silent) == list(VERSIONS)


@pytest.mark.parametrize(
    ("version", "wording"),
    [
        ("0.10.2", "primitive 'inline_mgpu_p' not found for platform cpu"),
        ("0.11.1", "primitive 'inline_mgpu_p' not found for platform cpu"),
        ("0.11.2", "GPU interpret mode does not support `inline_mgpu`."),
    ],
)
def test_wording_changes_with_the_version(version, wording):
    finding = only(report(("gpu.inline_mgpu", {}), version=version), "PD311")
    assert wording in finding.details["wording"]
    assert finding.loc.line == 7


def test_operations_without_an_instruction():
    unseen = {"unseen": (("gpu.layout_cast", -1), ("pallas.delay", -1))}
    old = report(version="0.11.1", **unseen).findings
    new = report(version="0.11.2", **unseen).findings
    assert [f.details["wording"].split("'")[1] for f in old] == ["layout_cast", "delay"]
    assert [f.details["wording"].split("'")[1] for f in new] == ["delay"]


def test_severity_is_that_of_the_mode_that_was_asked_for():
    instr = read(FLAT)
    for mode, severity in (("gpu", Severity.ERROR), ("none", Severity.INFO)):
        assert only(report(instr, interpret=mode), "PD314").severity is severity
    for mode in ("tpu", "generic"):
        assert not report(instr, interpret=mode).findings


@pytest.mark.parametrize(
    ("axes", "thread", "wording"),
    [
        ((), "t", "Scoped allocation must have the thread axis"),
        (("c", "t"), "t", "Collective allocations along cluster axes"),
        (("g",), "t", "Collective axis `g` not found among axes `['c', 't']`"),
        (("c",), "", "Requesting collective allocations, but no explicit thread"),
        (("t",), "t", ""),
        ((), "", ""),
    ],
)
def test_collective_axes(axes, thread, wording):
    params = {"collective": axes} if axes else {}
    grid = ir.Grid(
        cluster=(2,),
        cluster_names=("c",),
        threads=2 if thread else 1,
        thread_name=thread,
    )
    found = report(alloc(buffer("smem", **params)), grid=grid)
    if wording:
        assert only(found, "PD307").details["wording"].startswith(wording)
    else:
        assert not found.findings
