"""Messages say what happened, where in the user's kernel, and what to do next."""

import pickle
import re
import sys
import traceback
import types

import pytest

from pallas_debug import errors, tracebacks
from pallas_debug.checks import CHECKS

LOC = types.SimpleNamespace(
    file="kernels.py", line=41, function="matmul_kernel", text="  pltpu.prng_seed(s)"
)

EXAMPLES = [
    errors.UnsupportedOp(op="tpu.prng_seed", loc=LOC),
    errors.UnsupportedForm(op="state.get", form="a view", way="index it", loc=LOC),
    errors.OpFailed(op="lax.add", error="TypeError: no", loc=LOC),
    errors.Truncated(limit="max_events", value=100, loc=LOC),
    errors.CheckCrashed(name="PD101", error="KeyError: 3"),
    errors.BadOption(option="chip", value="h10", accepted=("h100", "b200", "v5e")),
    errors.NoSuchEvent(event=99, count=26),
    errors.BadChoice(policy="mine", choice=9, enabled=(1, 2)),
    errors.UnknownEntry(noun="check", key="PD10", known=("PD101", "PD102")),
    errors.DuplicateEntry(noun="rule", key="lax.add", first="a.f", second="b.f"),
    errors.BadTraceFile(path="x.pldb", reason="the header is no JSON"),
    errors.NotATrace(path="x.png", reason="it begins with PNG"),
    errors.TraceCutShort(path="x.pldb", size=10, expected=90),
    errors.NewerFormat(path="x.pldb", format=9, known=1),
    errors.ChangedBytes(path="x.pldb"),
    errors.BadBaseline(path="known.json", reason="it is another file"),
    errors.CaptureError(what="a grid of rank 9"),
    errors.KernelInside(primitive="custom_linear_solve", loc=LOC),
    errors.NoLaunch(function="step"),
    errors.ReentrantRecording(),
    errors.KernelRaised(name="body", error="TypeError: no", loc=LOC),
    errors.RefusedGrid(sizes="a traced value, 4", loc=LOC),
    errors.WorkerFailed(name="step", reason="PicklingError: no"),
    errors.NotInstalled(package="anywidget", purpose="the viewer", extra="notebook"),
    errors.ViewerNotBuilt(file="widget.js"),
    errors.NoHost(request="evaluate"),
    errors.NoSource(name="matmul", loc=LOC),
    errors.OtherKernel(name="fn", reason="it launches 1, not 2 kernels"),
    errors.ExpressionFailed(expression="acc.f", error="AttributeError: f", event=3),
    errors.OtherReplay(name="matmul", loc=LOC),
    errors.RequestFailed(kind="memory", error="KeyError: 'buffer'"),
]


def leaves(kind=errors.PallasDebugError):
    for child in kind.__subclasses__():
        yield child
        yield from leaves(child)


def test_message_has_the_three_answers_in_order():
    assert EXAMPLES[0].render() == (
        "UnsupportedOp [PD901]: no rule for `tpu.prng_seed`\n"
        "  in matmul_kernel, kernels.py:41:   pltpu.prng_seed(s)\n"
        '  try: add one with @pallas_debug.extend.rule("tpu.prng_seed"), '
        'or trace with unsupported="stub"'
    )


def test_python_shows_the_class_name_once():
    shown = "".join(traceback.format_exception_only(EXAMPLES[0]))
    assert shown.startswith("pallas_debug.errors.UnsupportedOp: [PD901] no rule for")


def test_every_class_has_an_example():
    assert {type(e) for e in EXAMPLES} == set(leaves())


def test_codes_are_unique_and_stable():
    codes = [kind.code for kind in leaves()]
    assert len(codes) == len(set(codes))
    said_by_a_check = {errors.RefusedGrid.code}
    assert all(re.fullmatch(r"PD9\d\d", c) or c in said_by_a_check for c in codes)
    assert said_by_a_check <= set(CHECKS)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_templates_are_filled_and_survive_pickling(error):
    assert "{" not in error.render()
    assert "None" not in error.render()
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert again.render() == error.render()


def test_bad_option_offers_the_nearest_accepted_value():
    text = errors.BadOption(
        option="chip", value="h10", accepted=("h100", "b200")
    ).render()
    assert "`chip` got 'h10'; accepted: `h100` or `b200`" in text
    assert text.endswith("try: `h100`")


def test_bad_option_without_a_near_value_offers_nothing():
    assert (
        "try:"
        not in errors.BadOption(
            option="cores", value=-1, accepted="a positive integer"
        ).render()
    )


def test_bad_option_does_not_list_more_than_one_reads():
    words = [f"word{n}" for n in range(99)]
    text = errors.BadOption(option="select", value="?", accepted=words).render()
    assert "one of 99, such as `word0`, `word1` or `word2`" in text
    text = errors.BadOption(option="select", value="word98", accepted=words).render()
    assert "try: `word98`" in text


def test_errors_are_also_the_builtin_kind_that_fits():
    assert issubclass(errors.BadOption, ValueError)
    assert issubclass(errors.NoSuchEvent, IndexError)
    assert issubclass(errors.UnknownEntry, KeyError)
    assert issubclass(errors.NotInstalled, ImportError)


def _error_through_our_frames():
    """An error raised in the user's function below a frame of ours."""
    code = compile("def ours(f):\n    f()\n", "<pallas_debug tape of f>", "exec")
    space = {}
    exec(code, space)

    def users():
        raise ValueError("theirs")

    try:
        space["ours"](users)
    except ValueError as error:
        return error
    raise AssertionError


def _functions(error):
    return [f.f_code.co_name for f, _ in traceback.walk_tb(error.__traceback__)]


def test_trim_removes_our_frames_and_keeps_the_users(monkeypatch):
    monkeypatch.delenv(tracebacks.FULL_TRACEBACK, raising=False)
    error = _error_through_our_frames()
    assert "ours" in _functions(error)
    assert _functions(tracebacks.trim(error)) == ["_error_through_our_frames", "users"]


def test_trim_reaches_the_cause(monkeypatch):
    monkeypatch.delenv(tracebacks.FULL_TRACEBACK, raising=False)
    inner = _error_through_our_frames()
    try:
        raise RuntimeError("outer") from inner
    except RuntimeError as outer:
        tracebacks.trim(outer)
    assert "ours" not in _functions(inner)


def test_full_traceback_variable_keeps_all_frames(monkeypatch):
    monkeypatch.setenv(tracebacks.FULL_TRACEBACK, "1")
    assert "ours" in _functions(tracebacks.trim(_error_through_our_frames()))


def test_trim_survives_a_cycle_of_causes():
    a, b = ValueError("a"), ValueError("b")
    a.__context__, b.__context__ = b, a
    assert tracebacks.trim(a) is a
    assert sys.exc_info() == (None, None, None)


class _Array:
    shape, dtype = (3, 4), "float32"


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "None"), ("h10", "'h10'"), (_Array(), "an array float32[3, 4]")],
)
def test_wrong_value_is_shown_in_brief(value, said):
    assert errors.brief(value) == said
    assert errors.brief("x" * 999) == "an object of type str"


def test_frames_of_a_context_manager_of_ours_are_taken_out():
    import pallas_debug

    with pytest.raises(errors.BadOption) as caught, pallas_debug.recording(options=3):
        pass
    tracebacks.trim(caught.value)
    files = [f.filename for f in traceback.extract_tb(caught.value.__traceback__)]
    assert files == [__file__]
