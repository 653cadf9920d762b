"""A jitted function is traced again exactly where JAX would."""

import functools
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlink import launches

import pallas_debug as pldb
from pallas_debug.jaxlink import traced as tracing
from pallas_debug.jaxlink.pretend import pretend
from pallas_debug.jaxlink.traced import traced

X = np.ones((8, 128), np.float32)


def jaxpr_of(fn, *args, **kwargs):
    return traced(fn, args, kwargs)[0]


@pytest.fixture
def doubled():
    return jax.jit(lambda x, by=2: jnp.asarray(x, float) * jnp.asarray(by, float))


def test_same_types_have_the_same_jaxpr(doubled):
    first = jaxpr_of(doubled, X)
    assert jaxpr_of(doubled, X + 1) is first
    assert jaxpr_of(doubled, jnp.asarray(X)) is first


@pytest.mark.parametrize(
    "args",
    [
        (X[:4],),
        (X.astype(np.int32),),
        (X, 4),
        (X, 2.0),
        (X, True),
        (X, 0.0),
        (X, -0.0),
        (jnp.asarray(2.0, jnp.float32),),
    ],
)
def test_other_arguments_have_another(doubled, args):
    others = [(X,), (X, 1), (X, 1.0), (X, 3), ({"x": 1}["x"] * X[0],)]
    known = [jaxpr_of(doubled, *other) for other in others]
    found = jaxpr_of(doubled, *args)
    assert all(found is not one for one in known)
    expected = np.asarray(doubled(*args))
    arrays = traced(doubled, args, {})[1]
    (got,) = jax.core.eval_jaxpr(found.jaxpr, found.consts, *arrays)
    assert np.asarray(got).tobytes() == expected.tobytes()


def test_numbers_that_are_equal_are_not_the_same(doubled):
    args = [(X, 1), (X, 1.0), (X, True), (X, 0.0), (X, -0.0)]
    found = [jaxpr_of(doubled, *one) for one in args]
    assert len({id(jaxpr) for jaxpr in found}) == len(args)


def test_plain_function_is_traced_each_time():
    factor = 2

    def fn(x):
        return x * factor

    first = jaxpr_of(fn, X)
    factor = 3
    second = jaxpr_of(fn, X)
    assert str(first) != str(second)


def test_another_chip_or_precision_has_another(doubled):
    first = jaxpr_of(doubled, X)
    with pretend("b200"):
        assert jaxpr_of(doubled, X) is not first
    with jax.default_matmul_precision("float32"):
        assert jaxpr_of(doubled, X) is not first
    assert jaxpr_of(doubled, X) is first


def test_clearing_the_caches_of_jax_clears_this_one(doubled):
    first = jaxpr_of(doubled, X)
    jax.clear_caches()
    assert jaxpr_of(doubled, X) is not first


def test_arguments_are_not_kept(doubled):
    arrays = [np.ones((8, 128), np.float32)]
    kept = jnp.asarray(arrays[0])
    alive = weakref.ref(kept)
    jaxpr_of(doubled, kept)
    del kept
    assert alive() is None


def test_function_is_not_kept():
    fn = jax.jit(lambda x: x + 1)
    alive = weakref.ref(fn)
    jaxpr_of(fn, X)
    del fn
    jax.clear_caches()
    assert alive() is None


def test_static_argument_that_has_no_text_is_traced_each_time(monkeypatch):
    traces = []
    original = tracing._trace
    monkeypatch.setattr(
        tracing, "_trace", lambda *args: traces.append(1) or original(*args)
    )

    @functools.partial(jax.jit, static_argnums=1)
    def fn(x, run):
        return run(x)

    for _ in range(2):
        jaxpr_of(fn, X, jnp.sin)
    assert len(traces) == 2


def test_second_recording_sees_the_values_of_its_own_call():
    fn = jax.jit(launches.generic)
    one, two = launches.array(), launches.array() + 1
    for x in (one, two):
        launches.assert_equal(pldb.trace(fn, x).outputs, launches.plain(x))


@pytest.mark.parametrize("number", [np.float32(3), np.int32(3), np.bool_(True), 3])
def test_static_scalars_of_numpy_stay_static(number):
    @functools.partial(jax.jit, static_argnums=1)
    def fn(x, by):
        assert not isinstance(by, jax.core.Tracer)
        return launches.generic(x) * np.float32(by)

    for _ in range(2):
        got = pldb.trace(fn, launches.array(), number).outputs
        launches.assert_equal(
            got, launches.plain(launches.array()) * np.float32(number)
        )


def test_scalars_of_numpy_are_no_stale_constants(doubled):
    for number in (np.float32(2), np.float32(3), np.float32(-0.0)):
        found, arrays, rebuild = traced(doubled, (X, number), {})
        got = rebuild(jax.core.eval_jaxpr(found.jaxpr, found.consts, *arrays))
        assert np.asarray(got).tobytes() == np.asarray(doubled(X, number)).tobytes()


def test_results_of_a_jitted_function_are_arrays():
    @jax.jit
    def fn(x, s):
        return launches.generic(x), 3, s, 1.5, True

    expected = jax.eval_shape(fn, launches.array(), 3)
    got = pldb.trace(fn, launches.array(), 3).outputs
    for one, other in zip(got, expected, strict=True):
        assert isinstance(one, jax.Array)
        assert (one.dtype, one.weak_type) == (other.dtype, other.weak_type)


@pytest.mark.parametrize("inside", [False, True])
def test_an_array_that_a_jitted_function_closes_over_stays_as_it_was(inside):
    x, factor = launches.array(), np.full((4, 8), 3, np.float32)
    jitted = jax.jit(lambda x: launches.generic(x * factor))
    fn = (lambda x: jitted(x)) if inside else jitted
    expected = launches.plain(x * 3)
    first = pldb.trace(fn, x)
    factor[...] = 7
    launches.assert_equal(pldb.trace(fn, x).outputs, expected)
    launches.assert_equal(first.outputs, expected)


def test_an_array_that_a_function_closes_over_is_what_it_is_now():
    factor = np.full((4, 8), 3, np.float32)
    first = pldb.trace(lambda: launches.generic(factor))
    kept = [value.copy() for value in first.payloads]
    factor[...] = 7
    again = pldb.trace(lambda: launches.generic(factor))
    launches.assert_equal(again.outputs, launches.plain(jnp.asarray(factor)))
    assert all(map(np.array_equal, kept, first.payloads))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6).reshape(2, 3),
        np.ones((4,), jnp.bfloat16),
        np.ones((4,), jnp.int4),
        np.zeros((0, 3), bool),
        np.arange(12, dtype=np.float32)[::2],
    ],
    ids=lambda values: f"{values.dtype.name}{values.shape}",
)
def test_results_are_put_where_jax_puts_them(values):
    expected, got = jax.device_put(values), tracing._on_device(values)
    assert got.aval == expected.aval
    assert (got.sharding, got.committed) == (expected.sharding, expected.committed)
    assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()


def test_result_without_values_is_what_jax_makes_of_it():
    values = np.zeros((2,), jax.dtypes.float0)
    assert type(tracing._on_device(values)) is type(jax.device_put(values))


def test_results_are_put_where_the_user_says():
    device = jax.devices()[-1]
    mesh = jax.make_mesh((1,), ("x",), devices=[device])
    with jax.default_device(device):
        assert tracing._on_device(X).devices() == jax.device_put(X).devices()
    with jax.set_mesh(mesh):
        expected, got = jax.device_put(X), tracing._on_device(X)
        assert (got.aval, got.sharding) == (expected.aval, expected.sharding)
    with jax.enable_x64(True):
        assert tracing._on_device(np.ones(3)).dtype == np.float64
