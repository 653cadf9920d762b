"""Names of a block's coordinates, which no instruction sets."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

import pallas_debug as pldb
from pallas_debug.ir.coordinates import coordinates


def kernel(x_ref, o_ref):
    i, k = pl.program_id(0), pl.program_id(axis=1)
    n = pl.num_programs(1)

    @pl.when(k < n)
    def _():
        o_ref[...] = x_ref[...] * (i + 1)


def hidden(x_ref, o_ref):
    k = pl.program_id(1)

    def body(k, total):
        return total + k

    o_ref[...] = x_ref[...] + jax.lax.fori_loop(0, 2, body, k)


def launched(body):
    spec = pl.BlockSpec((4,), lambda i, k: (3 * i + k,))

    def fn(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(
            body, grid=(2, 3), in_specs=[spec], out_specs=spec, out_shape=shape
        )(x)

    return fn


def test_a_coordinate_is_a_variable_and_a_condition():
    session = pldb.debug(launched(kernel), jnp.arange(24))
    session.break_at(op="state.set", when="k == 2 and n == 3 and i == 1")
    assert session.continue_().event.block == (1, 2)
    found = {name: session.locals[name] for name in ("i", "k", "n")}
    assert found == {"i": 1, "k": 2, "n": 3}
    assert session.evaluate("10 * i + k") == 12
    assert "nothing further" in str(session.continue_())


def test_axes_are_counted_without_those_of_vmap():
    fn = jax.vmap(launched(kernel))
    session = pldb.debug(fn, jnp.zeros((5, 24), jnp.int32))
    session.break_at(op="state.set", when="i == 1 and k == 2")
    assert session.continue_().event.block == (0, 1, 2)
    assert session.evaluate("n") == 3


def test_a_name_that_means_something_else_inside_is_not_taken():
    session = pldb.debug(launched(hidden), jnp.arange(24))
    assert not any(coordinates(session.trace.launches[0].kernel).values())
