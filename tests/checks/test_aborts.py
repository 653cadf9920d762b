"""Predicted refusals over hand-built kernels; JAX itself is asked in tests/jaxlink."""

import pytest
from helpers import TraceBuilder, codes, only

from pallas_debug import ir
from pallas_debug.checks import run_checks
from pallas_debug.checks.aborts import versions

OLD, NEW = "0.10.2", "0.12.0.1"


def report(backend="generic", instrs=(), **facts):
    """The report on a kernel with facts; static checks need no event."""
    facts = {"interpret": "gpu", "jax_version": NEW} | facts
    loc = {"locs": (ir.Loc(file="k.py", line=3, function="f"),), "loc": 0}
    if instrs:
        loc = {}
    b = TraceBuilder(backend=backend, facts=facts)
    for line, op, step in instrs:
        steps = (ir.Index(dims=(step,)),)
        b.instr(op, line, accesses=(ir.Access(ref=ir.Reg(0), steps=steps),))
    if loc:
        b.kernel |= {"loc": 0}
        b.line(3)
    return run_checks(b.close(), select="PD3")


@pytest.mark.parametrize(
    ("code", "fact", "wording"),
    [
        (
            "PD301",
            {"scalar_prefetch": 1},
            "Scalar arguments not (yet) supported on GPU",
        ),
        (
            "PD302",
            {"dynamic_grid": True},
            "Dynamic grid bounds not (yet) supported in GPU interpret mode.",
        ),
    ],
)
def test_refusals_of_the_whole_launch(code, fact, wording):
    for version in (OLD, "0.11.0", "0.11.2", NEW, "0.13.0.dev1", ""):
        finding = only(report(**fact, jax_version=version), code)
        assert finding.loc.line == 3
        assert f'raises NotImplementedError: "{wording}"' in finding.message
        assert finding.details["wording"] == wording
        assert finding.hint
    assert codes(report(**fact, interpret="none", backend="mosaic_gpu")) == [code]
    for mode in ("none", "generic", "tpu"):
        assert not report(**fact, interpret=mode).findings
    assert not report(**fact, interpret="none", backend="tpu").findings
    assert not report().findings
    assert not report(scalar_prefetch=0, dynamic_grid=False).findings


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"real_blocks": 2}, ["PD305"]),
        ({"real_blocks": 2, "dynamic_grid": True}, ["PD305", "PD302"]),
        ({"dynamic_grid": True, "scalar_prefetch": 1}, ["PD302", "PD301"]),
        (
            {"real_blocks": 2, "dynamic_grid": True, "scalar_prefetch": 1},
            ["PD305", "PD302", "PD301"],
        ),
    ],
)
def test_only_the_first_refusal_of_a_launch_is_what_jax_raises(facts, said):
    found = {one.code: one for one in report(**facts).findings}
    assert sorted(found) == sorted(said)
    first = found.pop(said[0])
    assert first.details["exception"]
    assert "is mended" not in first.message
    for one in found.values():
        assert not one.details["exception"]
        assert one.message.endswith(f", once {said[0]} is mended")


def traced(dtype, ndim=0):
    return ir.Slice(start=ir.Reg(1), size=4, start_dtype=dtype, start_ndim=ndim)


@pytest.mark.parametrize("op", ["state.get", "state.set", "state.swap"])
@pytest.mark.parametrize(
    ("start", "refused"),
    [
        (traced("int32"), False),
        (traced("uint8"), False),
        (ir.Slice(start=ir.Const(2), size=4), False),
        (ir.At(index=ir.Reg(1), dtype="int32"), False),
        (traced("bool"), True),
        (traced("float32"), True),
        (traced("int32", 1), True),
    ],
    ids=["int32", "uint8", "constant", "index", "bool", "float32", "vector"],
)
def test_slice_starts_of_reads_and_writes(op, start, refused):
    found = report(instrs=[(7, op, start)])
    assert codes(found) == (["PD303"] if refused else [])
    if refused:
        finding = found.findings[0]
        assert finding.loc.line == 7
        assert finding.details["exception"] == "ValueError"
        assert "Dynamic indexing not supported in GPU interpret mode" in finding.message


def test_slice_starts_do_not_matter_to_other_modes():
    for mode in ("generic", "tpu"):
        instrs = [(7, "state.get", traced("bool"))]
        assert not report(instrs=instrs, interpret=mode).findings


def test_scratch_of_a_mesh_kernel_that_is_lowered():
    given = {"backend": "mosaic_gpu", "interpret": "none", "mpmd_scratch": 2}
    for version in ("0.11.1", "0.11.2", NEW):
        finding = only(report(**given, jax_version=version), "PD304")
        assert "lowering for CUDA raises NotImplementedError" in finding.message
        assert "Scratch operands are not supported by the Mosaic GPU" in finding.message
    for version in (OLD, "0.11.0"):
        assert not report(**given, jax_version=version).findings
    for other in ({"mpmd_scratch": 0}, {"interpret": "gpu"}, {"backend": "tpu"}):
        assert not report(**(given | other)).findings


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.12.0.1", (0, 12, 0, 1)),
        ("0.13.0.dev20260101+abc", (0, 13, 0)),
        ("0.10.2", (0, 10, 2)),
        ("", ()),
    ],
)
def test_versions_are_parsed(text, version):
    assert versions.parse(text) == version


def test_one_kernel_launched_twice_is_refused_once():
    b = TraceBuilder(facts={"interpret": "gpu", "dynamic_grid": True})
    b.line(1)
    b.kernel["loc"] = 0
    c = b.next_launch(facts={"interpret": "gpu", "dynamic_grid": True})
    c.line(1)
    c.kernel["loc"] = 0
    finding = only(run_checks(c.close()), "PD302")
    assert finding.count == 2  # two kernels at one line
