"""Blocks that were left out are announced wherever a trace or a report is shown."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import pallas_debug as pldb
from pallas_debug import views

SAID = "1 of 4 blocks"


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def launch(x):
    spec = pl.BlockSpec((8,), lambda i: (i,))
    kernel = pl.pallas_call(
        double,
        grid=(4,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )
    return kernel(x)


def traced(*chosen):
    options = pldb.Options(blocks=chosen) if chosen else None
    return pldb.trace(launch, jnp.ones(32), options=options)


def shown(trace):
    report = pldb.check(trace)
    return {
        "trace": repr(trace),
        "trace in a notebook": trace._repr_html_(),
        "report": str(report),
        "report in a notebook": report._repr_html_(),
        "summary": views.summary(trace, report),
        "json": json.dumps(views.facts(trace, report)["findings"]),
        "github": views.VIEWS.get("github").function(trace, report),
        "sarif": views.VIEWS.get("sarif").function(trace, report),
    }


@pytest.mark.parametrize("place", shown(traced()))
def test_blocks_left_out_are_announced(place):
    assert SAID in shown(traced(1))[place]
    assert "of 4 blocks" not in shown(traced())[place]


def test_they_count_as_information_and_are_told_by_their_number():
    report = pldb.check(traced(0, 2))
    (finding,) = report.findings
    assert (finding.code, finding.severity, report.errors) == ("PD907", "info", ())
    assert finding.message.startswith("2 of 4 blocks of double were recorded;")
    assert np.isnan(traced(0, 2).outputs[8:16]).all()
    assert not pldb.check(traced(0, 1, 2, 3)).findings


def test_a_grid_without_blocks_and_a_prefix_leave_none_out():
    empty = pl.pallas_call(double, grid=(0,), out_shape=jnp.ones(8))
    assert not pldb.check(empty, jnp.ones(8), select="PD907").findings
    trace = traced()
    assert not pldb.check(trace[: len(trace) - 2], select="PD907").findings
