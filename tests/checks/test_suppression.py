"""Comments and baselines set findings aside, and say so."""

import json

import pytest

import pallas_debug as pldb
from pallas_debug import errors, gallery, ir
from pallas_debug.checks import Finding, Report, suppression


def finding(text, code="PD101", **more):
    loc = ir.Loc(file="/somewhere/k.py", line=3, function="kernel", text=text)
    return Finding(message="m", code=code, loc=loc, **more)


@pytest.mark.parametrize(
    ("text", "silenced"),
    [
        ("x[0]  # pallas-debug: ignore", True),
        ("x[0]  # pallas-debug: ignore[PD101]", True),
        ("x[0]  # pallas-debug: ignore[PD2, PD1]", True),
        ("x[0]  # pallas-debug:ignore[PD102]", False),
        ("x[0]  # pallas-debug: ignore[]", False),
        ("x[0]  # ignore", False),
        ("x[0]", False),
    ],
)
def test_comment_silences_its_codes(text, silenced):
    assert suppression.is_commented(finding(text)) is silenced


def test_comment_on_the_second_line_silences_too():
    second = finding("y  # pallas-debug: ignore").loc
    assert suppression.is_commented(finding("x", other=second))


def test_comment_in_a_kernel_moves_its_finding_aside(tmp_path, monkeypatch):
    source = (
        "from jax.experimental import pallas as pl\nimport jax, jax.numpy as jnp\n"
        "def kernel(x_ref, o_ref, tile):\n"
        "    o_ref[...] = tile[...]  # pallas-debug: ignore[PD102]\n"
        "from jax.experimental.pallas import tpu as pltpu\n"
        "shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)\n"
        "call = pl.pallas_call(kernel, out_shape=shape,\n"
        "    scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)])\n"
    )
    path = tmp_path / "commented.py"
    path.write_text(source)
    names = {}
    exec(compile(source, str(path), "exec"), names)
    report = pldb.check(names["call"], names["jnp"].ones((8, 128)))
    assert "PD102" not in report.by_code
    assert [one.code for one in report.suppressed if one.code == "PD102"]


def test_baseline_takes_known_findings_aside_until_their_line_changes(tmp_path):
    path = tmp_path / "known.json"
    old, other = finding("x[0]"), finding("y[0]", code="PD102")
    suppression.write_baseline(Report(findings=(old, other)), path)
    known = suppression.read_baseline(path)
    moved = finding("  x[0]")
    changed = finding("x[1]")
    report = suppression.without(Report(findings=(moved, changed)), known)
    assert report.findings == (changed,)
    assert report.suppressed == (moved,)


@pytest.mark.parametrize("text", ["", "{}", "[1]", json.dumps({"what": "other"})])
def test_file_that_is_no_baseline_is_refused(tmp_path, text):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(errors.BadBaseline):
        suppression.read_baseline(path)
    with pytest.raises(errors.BadBaseline):
        suppression.read_baseline(tmp_path / "missing.json")


def test_baseline_of_a_gallery_kernel_silences_it(tmp_path):
    fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
    report = pldb.check(fn, *args)
    path = tmp_path / "known.json"
    suppression.write_baseline(report, path)
    again = pldb.check(fn, *args)
    assert suppression.without(again, suppression.read_baseline(path)).findings == ()
