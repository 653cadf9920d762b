"""Expressions over variables."""

import jax
import numpy as np
import pytest
from jax.experimental import pallas as pl
from session import jax_kernels
from session.jax_kernels import rows

import pallas_debug as pldb
from pallas_debug import errors
from pallas_debug.session import conditions


@pytest.fixture(scope="module")
def trace():
    return pldb.trace(jax_kernels.running_sum, rows())


@pytest.fixture
def session(trace):
    return pldb.debug(trace)


@pytest.mark.parametrize(
    ("when", "turn"),
    [
        ("acc.max() > 3", 1),
        ("acc[0] == 12", 2),
        ("acc > 14", 2),
        ("np.isfinite(row).all() and row[3] > 8", 2),
        ("[v for v in row if v == 5]", 1),
        ("sum(v * s for v in row for s in [2]) > 50", 2),
        ("o_ref[1, 0] == 4", 1),
        ("value.sum() > 6", 1),
        ("event > 0 and block == ()", 0),
    ],
)
def test_stops_at_the_first_event_where_it_is_true(session, when, turn):
    session.break_at(kind="write", buffer="o_ref", op="state.set", when=when)
    stop = session.continue_()
    writes = session.find(kind="write", buffer="o_ref", op="state.set")
    assert stop.event.seq == writes[turn]
    session.last()
    back = session.reverse_continue()
    true = [e for e in writes if bool(np.any(session_value(session, when, int(e))))]
    assert back.event.seq == true[-1]


def session_value(session, when, event):
    try:
        return session.evaluate(when, at=event + 1)
    except errors.ExpressionFailed:
        return False


def test_name_that_no_kernel_has_is_refused_with_the_nearest(session):
    with pytest.raises(errors.BadOption, match="`when` got 'ac'") as caught:
        session.break_at(line=1, when="ac > 3")
    assert "`acc`" in caught.value.next_step


def test_name_that_is_not_there_yet_is_no_stop(session):
    session.break_at(when="total[0] > 0")
    stop = session.continue_()
    assert stop.event.op == "state.set"
    assert session.locals["total"][0] == 12


def test_error_of_an_expression_is_one_message(session):
    session.break_at(when="acc.nonsense")
    with pytest.raises(errors.ExpressionFailed, match=r"AttributeError.*nonsense"):
        session.continue_()
    assert session.cursor == 0
    session.last()
    with pytest.raises(errors.ExpressionFailed, match="has no value here"):
        session.evaluate("row")


def test_values_of_expressions(session):
    session.jump(int(session.find(kind="write", buffer="o_ref")[1]))
    assert session.evaluate("acc.max() + 1") == 11
    assert session.evaluate("np.e") == np.e
    assert session.evaluate("event") == session.cursor - 1
    with pytest.raises(errors.BadOption, match="Python expression"):
        session.evaluate("acc =")


def test_a_search_evaluates_candidates_only(session, monkeypatch):
    seen = []
    real = conditions.evaluate
    monkeypatch.setattr(
        conditions, "evaluate", lambda *args: seen.append(args[3]) or real(*args)
    )
    session.break_at(kind="write", op="state.set", when="acc[0] == 4")
    session.continue_()
    writes = session.find(kind="write", op="state.set").tolist()
    assert set(seen) <= set(writes)


def test_interrupting_a_search_leaves_the_session_usable(session, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    session.break_at(when="acc[0] == 12")
    session.step(3)
    with monkeypatch.context() as patch:
        patch.setattr(conditions, "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.continue_()
    assert session.cursor == 3
    assert session.continue_().breakpoint.id == 1


def test_a_hand_written_expression_that_only_asks_for_facts_executes_nothing(
    session, monkeypatch
):
    monkeypatch.setattr(session.replaying, "timeline", None)
    session.break_at(kind="write", when="value is not None and value.max() == 42")
    assert session.continue_().event.value.max() == 42


@pytest.fixture
def several():
    """A kernel that takes its references in a dict and in a list."""

    def kernel(ins, outs):
        added = ins["a"][...] + ins["b"][...]
        outs[0][...] = added
        outs[1][...] = outs[0][...]

    like = jax.ShapeDtypeStruct((2, 4), np.float32)
    given = {"a": rows(2), "b": rows(2) + 10}
    return pldb.debug(pl.pallas_call(kernel, out_shape=([like, like],)), given)


def test_variables_that_are_parts_of_a_parameter_have_values(several):
    several.jump(several.find(kind="write", buffer="outs[0]")[0])
    assert {"ins['a']", "ins['b']", "outs[0]", "outs[1]"} <= set(several.locals)
    assert several.evaluate("outs[0]")[0, 1] == 12
    assert several.evaluate("outs[0][0, 1] - ins['a'][0, 1]") == 11
    assert several.evaluate('ins["b"].max() + added.max()') == 41
    assert several.evaluate("[outs[0][i, 0] for i in range(2)]") == [10, 18]
    assert several.evaluate("[ins['a'][0, 2]][0]") == 2
    for wrong in ("outs[2]", "outs", "outs[event]"):
        with pytest.raises(errors.BadOption, match=r"got 'outs'; .*`outs\[0\]`"):
            several.evaluate(wrong)


def test_conditions_on_parts_of_a_parameter(several):
    several.break_at(kind="write", when="outs[0][0, 1] == 12")
    assert several.continue_().event.buffer.name == "outs[0]"
    several.first()
    several.delete()
    several.break_at(kind="write", when="outs[0][0, 1] == 13")
    assert several.continue_().breakpoint is None


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("outs[0]", "[0, 1]"), ("outs[0][0, 1]", None), (" outs[0] [0, 1]", None)),
        *(("outs[0]", [0, 1]), ("outs[0]", (0, 1))),
    ],
)
def test_parts_of_a_parameter_are_diverted(several, name, part):
    several.jump(several.find(kind="write", buffer="outs[0]")[0])
    made = several.divert(name, 100, part=part)
    assert made.label.startswith("what if outs[0][0, 1]=100 at")
    other = several.open(made.number)
    other.last()
    assert other.memory("outs[1]").values[0].tolist() == [10, 100, 14, 16]


def test_a_part_that_no_parameter_has_is_refused(several):
    several.step(9)
    with pytest.raises(errors.BadOption, match=r"'outs'; .*`outs\[0\]`"):
        several.divert("outs[7]", 1)


def test_there_are_no_variables_before_the_first_event(session):
    with pytest.raises(
        errors.BadOption, match=r"`at` got 0; accepted: 1 … \d+: after an"
    ):
        session.evaluate("acc")
