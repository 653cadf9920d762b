"""A failed `pl.debug_check`: JAX's interpret modes are silent, we are not."""

import functools

import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jaxlink.differential import floats, out, traced

import pallas_debug as pldb
from pallas_debug.jaxlink import privates

SILENT = {
    "generic": True,
    "tpu": privates.InterpretParams(),
    "gpu": privates.InterpretGPUParams(),
}


def kernel(x_ref, o_ref, *, limit):
    x = x_ref[...]
    pl.debug_check(jnp.all(x < limit), "x is too large")  # line of the check
    o_ref[...] = x


def build(limit, interpret=False):
    body = functools.partial(kernel, limit=limit)
    return pl.pallas_call(body, out_shape=out(8, 128), interpret=interpret)


@pytest.mark.parametrize("mode", SILENT)
def test_jax_passes_over_a_failed_check_in_silence(mode):
    x = floats(8, 128)
    with pl.enable_debug_checks():
        assert jnp.array_equal(build(2.0, SILENT[mode])(x), x)


def test_failed_check_is_a_finding_with_its_message_and_line():
    with pl.enable_debug_checks():
        trace = traced(build(2.0), floats(8, 128))
    (finding,) = pldb.check(trace).findings
    assert (finding.code, finding.count) == ("PD501", 1)
    assert finding.message.startswith('`pl.debug_check` failed: "x is too large"')
    assert "line of the check" in finding.loc.text


def test_check_is_made_although_jax_has_not_enabled_it():
    trace = traced(build(2.0), floats(8, 128))
    assert [one.code for one in pldb.check(trace).findings] == ["PD501"]


def test_fixed_twin_has_no_finding():
    trace = traced(build(2000.0), floats(8, 128))
    assert not pldb.check(trace).findings
    (seq,) = trace.events.where(kind="assert")
    assert trace.events[seq].what == "assert held"
