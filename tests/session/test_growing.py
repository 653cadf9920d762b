"""A recording that was cut goes on as if it had not been."""

from dataclasses import replace

import numpy as np
import pytest
from session import jax_kernels as kernels

import pallas_debug as pldb
from pallas_debug import errors
from pallas_debug.session.requests import Requests
from pallas_debug.trace import dumps, loads


def row(count=400):
    return np.arange(count, dtype=np.float32)


def two(x):
    sums = kernels.running_sum(x.reshape(-1, 4))
    return kernels.blocks(sums.reshape(-1))


def cut(fn, at, **options):
    return pldb.debug(fn, row(), options=pldb.Options(max_events=at, **options))


def facts(trace):
    """The bytes of a trace but for its options."""
    return dumps(replace(trace, meta={}))


@pytest.mark.parametrize("at", [1, 57, 1000])
def test_grown_recording_is_the_whole_one(at):
    whole = pldb.trace(kernels.blocks, row())
    session = cut(kernels.blocks, at)
    before = session.trace
    session.record_more(20)
    for name, rows in vars(before.columns).items():
        np.testing.assert_array_equal(
            getattr(session.trace.columns, name)[: len(rows)], rows
        )
    assert before.launches[0].outcome.kind == "truncated"
    session.record_more()
    assert facts(session.trace) == facts(whole)


@pytest.mark.parametrize("policy", ["random", "last-first"])
def test_threads_take_turns_as_they_would_have(policy):
    x = row(16).reshape(2, 8)
    options = pldb.Options(policy=policy, seed=3)
    whole = pldb.trace(kernels.copies, x, options=options)
    short = replace(options, max_events=20)
    session = pldb.debug(kernels.copies, x, options=short)
    session.record_more()
    assert facts(session.trace) == facts(whole)


def test_earlier_launches_stay_as_they_were():
    whole = pldb.trace(two, row())
    session = cut(two, len(whole.launches[0].events))
    assert [la.outcome.kind for la in session.trace.launches] == [
        "finished",
        "truncated",
    ]
    session.record_more()
    assert facts(session.trace) == facts(whole)


def test_continue_stops_at_the_cut_then_records_more():
    session = cut(kernels.blocks, 60)
    session.break_at('buffer="o_ref", kind="write", block=90')
    stop = session.continue_()
    assert stop.cursor == len(session.trace) < 100
    assert "max_events=60 reached" in str(stop)
    assert "continue_() records more" in str(stop)
    stop = session.continue_()
    assert stop.event.block == (90,)
    assert session.locals["i"] == 90
    assert not session.is_cut


def test_looking_goes_on_where_it_was():
    session = cut(kernels.blocks, 60)
    session.jump(50)
    before = session.locals
    session.record_more()
    assert session.cursor == 51
    assert str(session.locals) == str(before)
    session.last()
    np.testing.assert_array_equal(
        session.memory("o_ref").values, pldb.trace(kernels.blocks, row()).outputs
    )


def test_recording_that_is_whole_has_nothing_more():
    session = pldb.debug(kernels.blocks, row())
    with pytest.raises(errors.BadOption, match="record_more"):
        session.record_more()
    session.last()
    assert "records more" not in session.continue_().why
    with pytest.raises(errors.BadOption, match="positive int"):
        cut(kernels.blocks, 10).record_more(0)


def test_loaded_recording_needs_its_kernel():
    trace = loads(dumps(cut(kernels.blocks, 60).trace))
    session = pldb.debug(trace)
    with pytest.raises(errors.NoSource):
        session.record_more()
    session.attach(kernels.blocks, row())
    session.record_more()
    whole = pldb.trace(kernels.blocks, row())
    assert len(session.trace) == len(whole)


def test_page_is_sent_the_rest_when_it_is_there():
    session = cut(kernels.blocks, 900)
    host, told = Requests(session), []
    host.tell = told.append
    session.listeners.append(lambda: told.append(len(session.trace)))
    first, (data,) = host.request("bundle", {"run": 0})
    assert host.request("more", {})["recording"]
    host.recording.join()
    assert told[-1] == len(session.trace) == len(pldb.trace(kernels.blocks, row()))
    rest, (part,) = host.request("bundle", {"run": 0, "have": first["bundle"]})
    assert rest["base"] == first["bundle"]
    assert len(part) < len(data) / 2
    with pytest.raises(errors.BadOption, match="record_more"):
        host.request("more", {})


def test_page_can_stop_it_and_what_was_recorded_stays():
    options = pldb.Options(max_events=60)
    session = pldb.debug(kernels.blocks, row(40_000), options=options)
    host, told = Requests(session), []

    def tell(message):
        told.append(message)
        host.request("more", {"stop": True})

    host.tell = tell
    host.recording.start(10**6)
    host.recording.join()
    assert [one["type"] for one in told] == ["recording"]
    assert told[0]["of"] == 10_000
    assert session.trace.launches[0].outcome.kind == "interrupted"
    assert 60 < len(session.trace) < 100_000
    assert session.is_cut


def test_page_hears_why_it_could_not():
    session = pldb.debug(loads(dumps(cut(kernels.blocks, 60).trace)))
    host, told = Requests(session), []
    host.tell = told.append
    host.request("more", {})
    host.recording.join()
    assert told[0]["type"] == "recording"
    assert "file" in told[0]["error"]


def test_what_if_of_a_recording_is_sent_as_what_differs():
    session = pldb.debug(kernels.blocks, row())
    host = Requests(session)
    first, (data,) = host.request("bundle", {"run": 0})
    at = int(session.find(kind="write", buffer="o_ref")[90]) + 1
    session.divert("o_ref", 5.0, at=at, part=[0])
    facts_, (part,) = host.request("bundle", {"run": 1, "have": first["bundle"]})
    assert facts_["base"] == first["bundle"]
    assert len(part) < len(data) / 2
