"""What `evaluate` knows, and the comparison with op-by-op JAX that its tests share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental.pallas import tpu as pltpu

from pallas_debug.jaxlink import evaluate as ev
from pallas_debug.jaxlink.evaluate import kinds

CENSUS = kinds.names("""
add mul convert_element_type and broadcast_in_dim select_n sub rem lt div eq
shift_right_logical ne iota dot_general layout_cast tile xor reduce_sum exp ge max exp2
gt reduce_max shift_left reshape slice sign min transpose le broadcast_to or bitcast
optimization_barrier sqrt clamp log log2 multiple_of neg threefry2x32
""")  # the pure ones of the kernels that JAX ships

IMPURE = kinds.names("""
cond scan while jit pjit get swap addupdate custom_jvp_call custom_vjp_call run_scoped
run_state masked_load masked_swap program_id num_programs axis_index dma_start dma_wait
barrier_wait semaphore_signal debug_print pallas_call mpmd_map shard_map
""")

_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
}


def raw(value):
    """The value as `Pure` passes it: a NumPy scalar or array, keys as their words."""
    if kinds.is_key(value.dtype):
        value = jax.random.key_data(value)
    return np.array(value)[()]


def name_of(equation):
    return equation.primitive.name.removesuffix("_p")


def pure_of(equation, exact=False):
    """`evaluate` of a jaxpr's equation."""
    return ev.evaluate(
        name_of(equation),
        equation.params,
        [v.aval for v in equation.invars],
        [v.aval for v in equation.outvars],
        exact=exact,
        primitive=equation.primitive,
    )


def equations(fn, *args):
    """Yields each pure equation of `fn` with JAX's own operands and results."""
    closed = jax.make_jaxpr(fn)(*args)
    consts = [jnp.asarray(c) for c in closed.consts]
    flat = [x if isinstance(x, jax.Array) else jnp.asarray(x) for x in args]
    yield from _walk(getattr(closed, "jaxpr", closed), consts, flat)


def _walk(jaxpr, consts, args):
    env = dict(zip(jaxpr.constvars, consts, strict=True))
    env |= dict(zip(jaxpr.invars, args, strict=True))

    def read(atom):
        literal = isinstance(atom, jax.extend.core.Literal)
        return jnp.asarray(atom.val, atom.aval.dtype) if literal else env[atom]

    for equation in jaxpr.eqns:
        operands = [read(v) for v in equation.invars]
        if equation.primitive.name in _CALLS:
            inner = equation.params[_CALLS[equation.primitive.name]]
            body = getattr(inner, "jaxpr", inner)
            results = yield from _walk(body, inner.consts, operands)
        else:
            results = equation.primitive.bind(*operands, **equation.params)
            results = results if equation.primitive.multiple_results else [results]
            yield equation, operands, results
        env |= dict(zip(equation.outvars, results, strict=True))
    return [read(v) for v in jaxpr.outvars]


def call(pure, operands):
    with np.errstate(all="ignore"), ev.flushing_denormals():
        out = pure.call(*operands)
    return out if pure.results != 1 else (out,)


def assert_typed(got, want):
    """Exact dtype and shape, and a NumPy scalar where the rank is 0."""
    assert isinstance(got, np.generic if want.shape == () else np.ndarray)
    assert got.dtype == want.dtype
    assert got.shape == want.shape


def assert_same(got, want, *, rtol=0.0):
    """Equal bits, or close values for `rtol` > 0; any NaN equals any other."""
    assert_typed(got, want)
    got, want = np.atleast_1d(got), np.atleast_1d(want)
    if not kinds.is_inexact(want.dtype):
        np.testing.assert_array_equal(got.astype(np.int64), want.astype(np.int64))
        return
    nan = want != want
    np.testing.assert_array_equal(got != got, nan)
    if not rtol:
        word = np.dtype(f"u{min(want.dtype.itemsize, 8)}")
        words = (np.ascontiguousarray(x[~nan]).view(word) for x in (got, want))
        np.testing.assert_array_equal(*words)
        return
    got, want = (np.where(nan, 0, x.astype(np.float64)) for x in (got, want))
    largest = np.abs(want[np.isfinite(want)]).max(initial=0)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * min(1, largest))


def _tolerance(equation, dtype, loose):
    if name_of(equation) not in ev.INEXACT or not kinds.is_float(dtype):
        return 0.0
    return loose * float(jnp.finfo(dtype).eps)


def agree(fn, *args, loose=4):
    """Compares each equation of `fn` with op-by-op JAX, fast and exact.

    `loose` is how many units in the last place an inexact primitive may differ by.
    """
    count = 0
    for equation, operands, results in equations(fn, *args):
        count += 1
        want = [raw(r) for r in results]
        given = [raw(x) for x in operands]
        for exact in (False, True):
            if exact and name_of(equation) not in ev.INEXACT:
                continue
            pure = pure_of(equation, exact)
            assert pure is not None, equation.primitive
            got = call(pure, given)
            assert len(got) == len(want)
            for g, w in zip(got, want, strict=True):
                rtol = 0.0 if exact else _tolerance(equation, w.dtype, loose)
                assert_same(g, w, rtol=rtol)
    return count


def agree_elementwise(fn, *arrays, loose=4):
    """`agree`, and each element alone, at rank 0, gives what it gives in the array.

    `fn` has one equation. Nothing is compiled for the elements.
    """
    agree(fn, *arrays, loose=loose)
    ((equation, operands, (result,)),) = equations(fn, *arrays)
    operands, want = [raw(x) for x in operands], raw(result)
    alone = jax.make_jaxpr(fn)(*(jnp.asarray(x[0]) for x in arrays)).eqns[0]
    pure = pure_of(alone)
    if "xla" in pure.env:
        return
    for i in range(0, want.size, 1 + want.size // 200):
        (got,) = call(pure, [x[i] for x in operands])
        rtol = _tolerance(equation, want.dtype, loose)
        assert_same(got, want[i], rtol=rtol)


@pytest.mark.parametrize("name", sorted(CENSUS))
def test_knows_each_pure_primitive_of_the_census(name):
    assert name in ev.PURE_NAMES


@pytest.mark.parametrize("name", [*sorted(IMPURE), "no_such_primitive"])
def test_leaves_what_is_not_pure_to_the_caller(name):
    assert name not in ev.PURE_NAMES
    assert ev.evaluate(name, {}, [], []) is None


def test_repeated_rule_is_refused():
    from pallas_debug.jaxlink.evaluate import arithmetic

    with pytest.raises(ValueError, match="repeats rules for"):
        ev._collect(arithmetic, arithmetic)


def test_names_have_one_home():
    assert not frozenset(ev.RULES) & ev.XLA_ONLY
    assert frozenset(ev.RULES) | ev.XLA_ONLY >= ev.INEXACT


def test_reference_operand_is_not_a_value():
    jaxpr = jax.make_jaxpr(lambda: jax.new_ref(jnp.zeros(3))[...])()
    ref = jaxpr.eqns[0].outvars[0].aval
    value = jaxpr.eqns[1].outvars[0].aval
    assert ev.evaluate("broadcast_to", {"shape": (3,)}, [ref], [value]) is None


def test_scalar_integer_add_is_a_bare_operator():
    aval = jax.core.ShapedArray((), jnp.int32)
    pure = ev.evaluate("add", {}, [aval, aval], [aval])
    assert pure.expr == "({0} + {1})"
    assert not pure.env


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: lax.optimization_barrier(x),
        lambda x: lax.optimization_barrier((x, x)),
        lambda x: lax.stop_gradient(x) + 1,
        lambda x: jnp.copy(x),
    ],
)
def test_identities_return_their_operands(fn):
    agree(fn, jnp.arange(6.0).reshape(2, 3))
    agree(fn, jnp.float32(3))


def test_exact_function_is_compiled_once():
    x = jnp.ones(3)
    (first, *_), (second, *_) = (next(equations(jnp.exp, x)) for _ in range(2))
    runs = [pure_of(e, exact=True).env["xla"].__closure__ for e in (first, second)]
    assert [c.cell_contents for c in runs[0]] == [c.cell_contents for c in runs[1]]


def test_subnormals_are_flushed_inside_and_kept_outside():
    tiny = np.full(8, 1e-40, np.float32)
    with ev.flushing_denormals():
        assert not (tiny + tiny).any()
        assert np.exp(np.float32(0)) == 1
        assert not (tiny * np.float32(2)).any()
    assert (tiny + tiny).all()


def test_wide_types_need_no_setting_of_jax():
    aval = jax.core.ShapedArray((2,), np.dtype(np.float64))
    pure = ev.evaluate("exp", {"accuracy": None}, [aval], [aval], exact=True)
    (got,) = call(pure, [np.array([0.1, 1.0])])
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, np.exp([0.1, 1.0]), rtol=1e-15)


@pytest.mark.parametrize("dtype", [jnp.int16, jnp.float32, jnp.bfloat16, jnp.uint8])
def test_sublane_bitcast_packs_rows(dtype):
    def kernel(x):
        return pltpu.bitcast(x, dtype)

    jaxpr = jax.make_jaxpr(kernel)(jnp.zeros((4, 128), jnp.int32))
    x = np.arange(512, dtype=np.int32).reshape(4, 128) * 0x01020304
    (got,) = call(pure_of(jaxpr.eqns[0]), [x])
    want = jax.jit(kernel)(x)
    assert_typed(got, np.asarray(want))
    assert got.tobytes() == np.asarray(want).tobytes()
