"""What may be said to a session, and what it says when it is called wrongly."""

import re

import numpy as np
import pytest
from session import jax_kernels as kernels

import pallas_debug as pldb
from pallas_debug import errors
from pallas_debug.trace import dumps, loads


@pytest.fixture
def session():
    return pldb.debug(kernels.running_sum, np.ones((3, 4), np.float32))


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("step", (1, 2)),
        ("break_at", ("", "", "")),
        ("origin", (1, 2, 3)),
        ("record_more", (1, 2)),
        ("focus", (1,)),
        ("widget", (1,)),
    ],
)
def test_wrong_call_names_the_public_method(session, method, arguments):
    with pytest.raises(TypeError, match=rf"^Session\.{method}\(\)"):
        getattr(session, method)(*arguments)


def test_origin_takes_an_element_as_last_write_does(session):
    session.last()
    found = session.origin("o_ref", (1, 2))
    session.last_write("o_ref", (1, 2))
    assert str(found) == str(session.origin())
    assert str(session.origin("o_ref", (-2, 2))) == str(found)
    assert session.origin("x_ref", (0, 0)).links[0].kind == "argument"
    session.first()
    assert session.origin("o_ref", (0, 0)).links[0].kind == "unset"
    with pytest.raises(errors.BadOption, match="2 indices into the shape"):
        session.origin("o_ref", 1)


def test_origin_of_a_buffer_says_that_it_takes_an_element():
    session = pldb.debug(kernels.copies, np.ones((2, 8), np.float32))
    session.last()
    with pytest.raises(errors.BadOption, match=re.escape('origin("sems", (0, …))')):
        session.origin("sems")


def test_threads_are_found_by_the_names_that_are_shown():
    session = pldb.debug(kernels.copies, np.ones((2, 8), np.float32))
    trace = session.trace
    for thread in trace.threads:
        mine = trace.columns.of_thread(thread.number)
        np.testing.assert_array_equal(trace.events.where(thread=thread.name), mine)
        short = thread.name.split(" of ")[0]
        assert set(mine) <= set(trace.events.where(thread=short))
    core = next(one for one in trace.threads if one.kind == "core")
    assert session.focus(thread=core.name).thread == core.number
    session.break_at(thread="core 0")
    with pytest.raises(errors.BadOption, match="a thread's name or"):
        trace.events.where(thread="warpgroup 9 of block (0,)")


def test_loaded_trace_shows_what_it_holds_and_says_what_it_needs(session):
    loaded = pldb.debug(loads(dumps(session.trace)))
    loaded.last()
    np.testing.assert_array_equal(loaded.memory("o_ref").values, session.trace.outputs)
    assert "12 of 12 elements set" in loaded.contents("o_ref")
    assert loaded.source()
    assert loaded.origin("o_ref", (1, 2)).links[0].kind == "write"
    with pytest.raises(errors.NoSource) as caught:
        loaded.variables()
    assert "session.attach(fn, *args)" in caught.value.next_step


def test_values_that_nobody_recorded_lead_to_the_options():
    options = pldb.Options(values="none")
    trace = pldb.trace(
        kernels.running_sum, np.ones((3, 4), np.float32), options=options
    )
    loaded = pldb.debug(loads(dumps(trace)))
    loaded.last()
    said = loaded.contents("o_ref")
    assert "not recorded" in said
    assert "Options(values=" in said
    assert "session.attach(fn, *args)" in said
