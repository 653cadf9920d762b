"""What the verbs refuse, and what a recording keeps."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import pallas_debug as pldb
from pallas_debug import errors


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def launch(x):
    return pl.pallas_call(double, out_shape=x)(x)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pldb.trace(None), "`fn` got None"),
        (lambda: pldb.trace(np.ones((3, 4))), "trace(f, x)"),
        (lambda: pldb.check("run.pldb"), "load(path)"),
        (lambda: pldb.trace(launch, options={"chip": "h100"}), "an Options object"),
        (lambda: pldb.recording(3).__enter__(), "an Options object"),
    ],
)
def test_wrong_subject_is_refused_with_what_would_be_right(call, said):
    with pytest.raises(errors.BadOption) as caught:
        call()
    assert said in caught.value.render()


def until_large(x):
    while float(launch(x).max()) < 100:
        x = launch(x)
    return x


DOUBLED = np.arange(8.0, dtype=np.float32) * 2
ASKING = [
    (lambda x: launch(launch(x)) if launch(x)[1] > 1 else x, DOUBLED * 2, 3),
    (lambda x: float(launch(x).sum()), 56.0, 1),
    (lambda x: np.asarray(launch(x)).sum(), 56.0, 1),
    (lambda x: launch(x)[launch(x) > 3], DOUBLED[2:], 2),
    (lambda x: list(range(int(launch(x)[2]))), [0, 1, 2, 3], 1),
    (until_large, DOUBLED * 4, 7),
]


@pytest.mark.parametrize(("fn", "expected", "launches"), ASKING)
def test_a_function_without_jit_may_ask_for_values(fn, expected, launches):
    x = jnp.arange(8.0)
    trace = pldb.trace(fn, x)
    np.testing.assert_array_equal(trace.outputs, expected)
    assert [one.outcome.kind for one in trace.launches] == ["finished"] * launches
    assert len(pldb.debug(fn, x).trace) == len(trace)
    assert not pldb.check(fn, x).findings


def test_one_with_jit_may_not():
    asking = jax.jit(lambda x: float(launch(x).sum()))
    for fn in (asking, lambda x: asking(x) + 1):
        with pytest.raises(jax.errors.ConcretizationTypeError):
            pldb.trace(fn, jnp.arange(8.0))


def solved(x):
    def matvec(v):
        return launch(v) + v

    return jax.scipy.sparse.linalg.cg(matvec, x, maxiter=2)[0]


def test_a_kernel_that_only_jax_can_reach_is_refused_with_the_way_to_record_it():
    x = jnp.arange(8.0)
    with pytest.raises(errors.KernelInside, match="custom_linear_solve") as caught:
        pldb.trace(solved, x)
    assert "recording()" in caught.value.next_step
    with pldb.recording() as rec:
        y = solved(x)
    np.testing.assert_allclose(y, x / 3, rtol=1e-6)
    assert len(rec.trace.launches) > 1


def test_a_function_that_asks_is_refused_as_others_are():
    def nothing(x):
        return float(x.sum())

    def wrong(x):
        raise ValueError(f"mine: {float(launch(x).sum())}")

    x = jnp.arange(8.0)
    with pytest.raises(errors.NoLaunch, match="nothing"):
        pldb.trace(nothing, x)
    with pytest.raises(ValueError, match=r"mine: 56\.0"):
        pldb.trace(wrong, x)


def test_outputs_given_to_a_recording_are_the_traces():
    with pldb.recording() as made:
        made.outputs = jax.jit(launch)(jnp.arange(8.0))
    np.testing.assert_array_equal(made.trace.outputs, np.arange(8.0) * 2)


def test_traced_function_inside_a_recording_is_in_both_traces():
    x = jnp.arange(8.0)
    with pldb.recording() as outer:
        inner = pldb.trace(jax.jit(launch), x)
        with pldb.recording(pldb.Options(values="none")) as middle:
            y = jax.jit(launch)(inner.outputs)
    np.testing.assert_array_equal(y, np.arange(8.0) * 4)
    traces = (outer.trace, inner, middle.trace)
    assert [len(trace.launches) for trace in traces] == [2, 1, 1]
    assert [trace.meta["options"]["values"] for trace in traces] == [
        "writes",
        "writes",
        "none",
    ]
    assert len(outer.trace.events.where(kind="write")) == 2


def test_function_traced_outside_is_in_no_other_trace():
    with pldb.recording() as outer:
        launch(jnp.ones(4))
    pldb.trace(launch, jnp.ones(4))
    assert len(outer.trace.launches) == 1


def test_kernel_is_lowered_before_the_call_to_the_host(monkeypatch):
    from pallas_debug.jaxlink import lower

    lowering, original = [], lower.lower

    def remembering(*args, **kwargs):
        lowering.append(threading.current_thread() is threading.main_thread())
        return original(*args, **kwargs)

    monkeypatch.setattr(lower, "lower", remembering)
    with pldb.recording() as made:
        jax.jit(lambda x: launch(x @ x))(jnp.ones((512, 512))).block_until_ready()
    assert len(made.trace.launches) == 1
    assert lowering == [True]


def test_what_jax_says_of_a_stopped_recording_is_told_from_the_users_error(monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pallas_debug.session.recorder.Recorder.launch", stop)
    said = []

    def stopped():
        with pldb.recording() as made:
            try:
                launch(jnp.ones(4)).block_until_ready()
            except Exception as error:
                said.extend([made.stopped(error), made.stopped(ValueError("mine"))])
                raise

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert said == [True, False]
