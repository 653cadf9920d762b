"""A grid that JAX refuses at a bare assertion is named, however it was come to."""

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb
from pallas_debug.errors import RefusedGrid
from pallas_debug.jaxlink import privates

X = jnp.zeros(8)


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def on_grid(n, x, body=double):
    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((8,), jnp.float32),
        grid=(n, 2),
        grid_names=("i", "j"),
    )(x)


launch = jax.jit(on_grid)


def recorded(fn, *args):
    with pldb.recording():
        fn(*args)


WAYS = [pldb.trace, pldb.check, recorded]


@pytest.mark.parametrize("filtering", ["off", "quiet_remove_frames", "tracebackhide"])
@pytest.mark.parametrize("way", WAYS)
def test_traced_grid_is_named_with_its_line_and_a_way_out(way, filtering):
    jax.clear_caches()
    with (
        privates.traceback_filtering(filtering),
        pytest.raises(RefusedGrid) as caught,
    ):
        way(launch, jnp.int32(4), X)
    error = caught.value
    assert error.code == "PD302"
    assert "(a traced value, 2)" in error.message
    assert error.loc.file == __file__
    assert error.loc.function == "on_grid"
    assert error.loc.text.strip() == "grid=(n, 2),"
    assert "static_argnums" in error.next_step
    assert type(error.__cause__) is AssertionError
    assert not error.__cause__.args


def test_size_that_is_no_integer_of_python_is_named_by_its_type():
    with pytest.raises(RefusedGrid, match=r"\(float, 2\)"):
        pldb.trace(on_grid, 4.0, X)


def test_other_assertions_stay_as_they_are():
    def asserting(x_ref, o_ref):
        assert x_ref.shape == (9,)

    for way in WAYS:
        with pytest.raises(AssertionError) as caught:
            way(on_grid, 4, X, asserting)
        assert type(caught.value) is AssertionError


def test_who_expects_jaxs_assertion_gets_it():
    def either(n, x):
        try:
            return launch(n, x)
        except AssertionError:
            return pl.pallas_call(double, out_shape=x)(x)

    assert len(pldb.trace(either, jnp.int32(4), X).launches) == 1


def test_jax_is_left_as_it_was():
    before = privates.pallas_core.tracing_grid_env
    with pldb.recording():
        assert privates.pallas_core.tracing_grid_env is not before
    assert privates.pallas_core.tracing_grid_env is before
    with pytest.raises(AssertionError) as caught:
        launch(jnp.int32(5), X)
    assert type(caught.value) is AssertionError
