"""An op that nobody here knows: said clearly, skipped on request, taught by the user."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.extend.core import Primitive

import pallas_debug as pldb
from pallas_debug import extend
from pallas_debug.machine.rules import RULES

mystery_p = Primitive("mystery")
mystery_p.def_abstract_eval(lambda x: x)


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
    o_ref[...] = mystery_p.bind(x_ref[...])  # nobody knows this op


@pytest.fixture
def case():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32))
    shape = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    return pl.pallas_call(kernel, out_shape=shape), x


def test_unknown_op_ends_the_launch_with_its_line(case):
    fn, x = case
    trace = pldb.trace(fn, x)
    assert trace.launches[0].outcome.kind == "unsupported"
    (finding,) = pldb.check(trace, select=["PD901"]).findings
    assert "mystery" in finding.message
    assert "nobody knows this op" in finding.loc.text
    assert "extend.rule" in finding.hint
    assert len(trace.events.where(kind="write")) == 1


def test_stubbed_op_leaves_its_result_unset(case):
    fn, x = case
    trace = pldb.trace(fn, x, options=pldb.Options(unsupported="stub"))
    assert trace.launches[0].outcome.kind == "finished"
    assert np.isnan(np.diag(trace.outputs)).all()
    assert "PD901" in [f.code for f in pldb.check(trace).findings]


def test_a_rule_of_the_user_is_used(case):
    fn, x = case

    @extend.rule("lax.mystery")
    def mystery(m, x):
        return x[::-1]

    try:
        trace = pldb.trace(fn, x)
    finally:
        RULES.remove("lax.mystery")
    assert trace.launches[0].outcome.kind == "finished"
    np.testing.assert_array_equal(trace.outputs, x[::-1])
