"""What a viewer asks of a session, and what it is answered."""

import json
import threading

import numpy as np
import pytest
from session import jax_kernels
from session.jax_kernels import rows

import pallas_debug as pldb
from pallas_debug import errors
from pallas_debug.session.breakpoints import Breakpoint
from pallas_debug.session.live import view_state
from pallas_debug.session.requests import Requests
from pallas_debug.trace import fold, loads


@pytest.fixture
def host():
    session = pldb.debug(jax_kernels.running_sum, rows())
    told = []
    host = Requests(session, lambda number, label: told.append((number, label)))
    host.told = told
    return host


def ask(host, kind, **arguments):
    """A request as the widget sends it: everything passes through JSON."""
    message = json.loads(json.dumps({"id": 7, "type": kind, **arguments}))
    data, parts = host.answer(message)
    assert json.loads(json.dumps(data)) == data
    assert data["id"] == 7
    return data, parts


def write(host, number=1):
    return int(host.session.find(op="state.set")[number]) + 1


def test_memory_is_sent_as_bytes_with_its_masks(host):
    at = write(host)
    data, parts = ask(host, "memory", buffer=1, at=at)
    assert (data["ok"], data["shape"], data["dtype"]) == (True, [3, 4], "float32")
    values, known, recorded = (
        np.frombuffer(p, d) for p, d in zip(parts, ["<f4", bool, bool], strict=True)
    )
    there = fold.memory(host.session.trace, 1, at=at)
    np.testing.assert_array_equal(values.reshape(3, 4), there.values)
    np.testing.assert_array_equal(known.reshape(3, 4), there.initialized)
    assert recorded.all()


def test_memory_without_recorded_values_is_executed_again():
    options = pldb.Options(values="none")
    session = pldb.debug(jax_kernels.running_sum, rows(), options=options)
    host, whole = Requests(session), pldb.debug(jax_kernels.running_sum, rows())
    for at in (write(host, 0), len(session.trace)):
        _, parts = ask(host, "memory", buffer=1, at=at)
        assert np.frombuffer(parts[2], bool).all()
        there = whole.memory(1, at=at).values
        np.testing.assert_array_equal(np.frombuffer(parts[0], "<f4"), there.ravel())


def test_payloads_are_sent(host):
    trace = host.session.trace
    number = int(trace.columns.payload[write(host) - 1])
    data, parts = ask(host, "payload", number=number)
    value = np.frombuffer(parts[0], data["dtype"]).reshape(data["shape"])
    np.testing.assert_array_equal(value, trace.payload(number))
    assert not ask(host, "payload", number=10**6)[0]["ok"]


def test_variables_are_marked_against_the_last_ones_asked_for(host):
    data, _ = ask(host, "variables", thread=1, at=write(host, 0))
    found = {one["name"]: one for one in data["variables"]}
    assert found["acc"]["text"] == "[0., 1., 2., 3.]"
    assert (found["acc"]["shape"], found["acc"]["dtype"]) == ([4], "float32")
    for _ in range(2):
        data, _ = ask(host, "variables", thread=1, at=write(host, 1))
        found = {one["name"]: one for one in data["variables"]}
        assert found["acc"]["changed"]
        assert not found["x_ref"]["changed"]


def test_expressions_are_evaluated_for_the_asked_thread(host):
    data, _ = ask(
        host, "evaluate", expression="acc.max() + 1", thread=1, at=write(host)
    )
    assert (data["text"], data["dtype"], data["shape"]) == ("11.0", "float32", [])
    data, _ = ask(host, "evaluate", expression="acc.shape", thread=1, at=write(host))
    assert data["text"] == "(4,)"
    data, _ = ask(host, "evaluate", expression="acc +", thread=1, at=write(host))
    assert not data["ok"]
    assert "Python expression" in data["error"]


def test_continue_answers_for_the_pages_breakpoints(host):
    one = Breakpoint(id=9, where='op="state.set"', when="acc[0] == 4").to_json()
    data, _ = ask(host, "continue", cursor=0, direction=1, breakpoints=[one])
    assert (data["cursor"], data["breakpoint"]) == (write(host), 9)
    data, _ = ask(host, "continue", cursor=12, direction=-1, breakpoints=[one])
    assert data["cursor"] == write(host)
    data, _ = ask(host, "continue", cursor=write(host), direction=1, breakpoints=[one])
    assert (data["cursor"], data["breakpoint"]) == (12, None)
    off = {**one, "enabled": False}
    data, _ = ask(host, "continue", cursor=5, direction=-1, breakpoints=[off])
    assert (data["cursor"], data["breakpoint"]) == (0, None)
    watch = {"id": 2, "where": 'buffer="o_ref", kind="write"', "change": True}
    data, _ = ask(host, "continue", cursor=0, direction=1, breakpoints=[watch])
    assert (data["cursor"], data["breakpoint"]) == (write(host, 0), 2)
    assert host.session.cursor == 0


def test_origin_is_plain_data(host):
    data, _ = ask(host, "origin", event=write(host) - 1)
    assert data["links"][data["path"][0]]["event"] == write(host) - 1
    assert "acc" in data["text"]


def test_new_runs_are_announced_and_can_be_asked_about(host):
    at = write(host, 0)
    data, _ = ask(host, "divert", at=at, thread=1, name="acc", value="100")
    assert data["run"] == 1
    assert host.told == [(1, data["label"])]
    found, _ = ask(host, "variables", run=1, thread=1, at=data["cursor"])
    texts = {one["name"]: one["text"] for one in found["variables"]}
    assert texts["acc"] == "[100., 100., 100., 100.]"
    _, parts = ask(host, "bundle", run=1)
    trace = loads(parts[0])
    assert len(trace) == len(host.session.runs[0].trace)
    data, _ = ask(host, "divert", at=at, buffer=1, element=[0, 2], value=-5)
    _, parts = ask(host, "memory", run=2, buffer=1, at=data["cursor"])
    assert np.frombuffer(parts[0], "<f4")[2] == -5
    data, _ = ask(host, "interleave", seed=3)
    assert (data["run"], data["outcome"]) == (3, "finished")
    assert [number for number, _ in host.told] == [1, 2, 3]
    assert not ask(host, "divert", run=1, at=3, name="acc", value=1)[0]["ok"]
    assert not ask(host, "variables", run=9, thread=1, at=3)[0]["ok"]


def test_bundle_of_the_recording(host):
    data, parts = ask(host, "bundle")
    assert (data["run"], len(loads(parts[0]))) == (0, len(host.session.trace))


def test_session_follows_the_page(host):
    session = host.session
    heard = []
    session.listeners.append(lambda: heard.append(session.cursor))
    at = write(host)
    state = {"cursor": at, "thread": 1, "block": -1, "buffer": 0, "launch": 0}
    state["breakpoints"] = [{"id": 4, "where": "line=3"}]
    assert ask(host, "state", view_state=state)[0]["ok"]
    assert session.cursor == at
    assert session.breakpoints == [Breakpoint(id=4, where="line=3")]
    assert view_state(session)["buffer"] == 0
    assert not heard
    session.step()
    assert heard == [at + 1]
    assert session.break_at(line=1).id == 5


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("nonsense", {}),
        ("memory", {"buffer": 99}),
        ("memory", {}),
        ("memory", {"buffer": 1, "at": -1}),
        ("memory", {"buffer": 1, "at": "x"}),
        ("payload", {"number": "x"}),
        ("variables", {"thread": [], "at": 3}),
        ("evaluate", {}),
        ("evaluate", {"expression": "1 / 0", "at": 3}),
        ("continue", {"cursor": 0, "breakpoints": [{"where": "x y"}]}),
        ("continue", {"cursor": 0, "breakpoints": [3]}),
        ("origin", {"event": 10**9}),
        ("divert", {"name": "acc", "value": "x", "at": 6}),
        ("divert", {"value": 1, "at": 6}),
        ("interleave", {}),
        ("replay", {"finding": 99}),
        ("state", {"view_state": {"cursor": 10**9}}),
        ("bundle", {"run": "x"}),
    ],
)
def test_wrong_requests_are_answered_and_change_nothing(host, kind, arguments):
    data, parts = ask(host, kind, **arguments)
    assert data["ok"] is False
    assert data["error"]
    assert not parts
    assert host.session.cursor == 0
    with pytest.raises(errors.PallasDebugError):
        host.request(kind, arguments)


def test_requests_come_from_several_threads(host):
    at = write(host)
    found, failed = [], []

    def work(number):
        for turn in range(6):
            where = write(host, (number + turn) % 3)
            data, _ = host.answer(
                {
                    "id": 1,
                    "type": "evaluate",
                    "expression": "acc[0]",
                    "thread": 1,
                    "at": where,
                }
            )
            (found if data["ok"] else failed).append((where, data.get("text")))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed
    assert set(found) == {
        (write(host, 0), "0.0"),
        (at, "4.0"),
        (write(host, 2), "12.0"),
    }


def test_widget_and_session_follow_each_other():
    pytest.importorskip("anywidget")
    from pallas_debug import views

    if not views.has_widgets():
        pytest.skip("the viewer's script is not built")
    session = pldb.debug(jax_kernels.running_sum, rows())
    viewer = session.widget()
    session.step(3)
    assert viewer.view_state["cursor"] == 3
    viewer.view_state = {**viewer.view_state, "cursor": 5}
    assert session.cursor == 5
    other = session.widget()
    viewer.view_state = {**viewer.view_state, "cursor": 2}
    assert other.view_state["cursor"] == 2
    other.view_state = {**other.view_state, "cursor": 4}
    assert (viewer.view_state["cursor"], session.cursor) == (4, 4)
    shown = session._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    assert "application/vnd.jupyter.widget-view+json" in data
