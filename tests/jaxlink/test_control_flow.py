"""Loops, branches and calls inside kernels, against JAX's plain interpreter."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jaxlink.differential import agree, call, floats, out


def kernel(body, n_out=1, shape=(8,), dtype=np.float32):
    """`build` of a kernel from references of 8 floats to such references."""
    shapes = [out(*shape, dtype=dtype)] * n_out
    return call(body, out_shape=shapes)


def test_a_scan_with_carry_inputs_and_stacked_outputs():
    def body(x_ref, total_ref, sums_ref):
        def step(total, x):
            return total + x, total * 2.0

        total, sums = lax.scan(step, jnp.float32(0.0), x_ref[...])
        total_ref[...] = jnp.full((8,), total)
        sums_ref[...] = sums

    agree(kernel(body, 2), floats(8))


def test_a_reversed_scan():
    def body(x_ref, o_ref):
        def step(total, x):
            return total + x, total

        o_ref[...] = lax.scan(step, jnp.float32(1.0), x_ref[...], reverse=True)[1]

    agree(kernel(body), floats(8))


def test_a_scan_without_results_only_stores():
    def body(x_ref, o_ref):
        def step(i, _):
            o_ref[pl.ds(i, 1)] = x_ref[pl.ds(7 - i, 1)]
            return i + 1, None

        lax.scan(step, jnp.int32(0), None, length=8)

    agree(kernel(body), floats(8))


def test_a_scan_in_a_scan_swaps_its_carry():
    def body(x_ref, o_ref):
        def inner(carry, _):
            a, b = carry
            return (b, a + b), a

        def outer(carry, x):
            carry, seen = lax.scan(inner, carry, None, length=3)
            return carry, seen.sum() + x

        _, o_ref[...] = lax.scan(outer, (jnp.float32(0), jnp.float32(1)), x_ref[...])

    agree(kernel(body), floats(8))


@pytest.mark.parametrize("bound", [0, 5])
def test_a_loop_with_a_traced_bound(bound):
    def body(n_ref, x_ref, o_ref):
        def step(i, total):
            return total + x_ref[i]

        total = lax.fori_loop(0, n_ref[0], step, jnp.float32(0.0))
        o_ref[...] = jnp.full((8,), total)

    agree(kernel(body), jnp.asarray([bound], jnp.int32), floats(8))


def test_a_while_loop_over_references_and_values():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]

        def test(carry):
            return (carry[0] < 20) & (o_ref[0] < 100.0)

        def step(carry):
            i, previous = carry
            o_ref[...] = o_ref[...] + x_ref[...] + 1.0
            return i + 1, previous * 2

        i, value = lax.while_loop(test, step, (jnp.int32(0), jnp.int32(1)))
        o_ref[1] = (i + value).astype(jnp.float32)

    agree(kernel(body), floats(8))


@pytest.mark.parametrize("choice", [-3, 0, 1, 2, 9])
def test_a_switch_clamps_its_index(choice):
    def body(i_ref, x_ref, o_ref):
        def store(factor):
            def branch(x):
                o_ref[...] = x * factor
                return x + factor, jnp.int32(factor)

            return branch

        x, n = lax.switch(i_ref[0], [store(1.0), store(2.0), store(3.0)], x_ref[...])
        o_ref[0:2] += x[0:2] + n.astype(jnp.float32)

    agree(kernel(body), jnp.asarray([choice], jnp.int32), floats(8))


def test_branches_that_return_what_they_got_in_another_order():
    def body(x_ref, o_ref):
        a, b = x_ref[0:4], x_ref[4:8]
        swap = x_ref[0] == 0.0
        a, b = lax.cond(swap, lambda a, b: (b, a), lambda a, b: (a, b), a, b)
        o_ref[0:4] = a
        o_ref[4:8] = b

    agree(kernel(body), floats(8))
    agree(kernel(body), floats(8) + 1)


def test_a_loop_that_unrolls_and_one_that_does_not():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]

        @pl.loop(0, 4, unroll=2)
        def _(i):
            o_ref[i] += 1.0

        @pl.loop(0, 8, step=2)
        def _(i):
            o_ref[i] *= 2.0

    agree(kernel(body), floats(8))


def test_calls_are_inlined_with_their_derivative_rules_left_out():
    @jax.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (square(*primals), tangents[0]))

    @jax.custom_vjp
    def cube(x):
        return x * x * x

    cube.defvjp(lambda x: (cube(x), x), lambda x, g: (g,))

    @jax.jit
    def outer(x):
        return jax.jit(lambda y: cube(square(y)))(x) + jax.checkpoint(jnp.sin)(x)

    def body(x_ref, o_ref):
        o_ref[...] = outer(x_ref[...]) + jax.nn.relu(x_ref[...] - 3.0)

    agree(kernel(body), floats(8) / 8, tolerance=1e-6)


def test_a_gradient_taken_inside_a_kernel():
    def body(x_ref, o_ref):
        o_ref[...] = jax.grad(lambda x: jnp.sum(jnp.tanh(x) * x))(x_ref[...])

    agree(kernel(body), floats(8) / 8, tolerance=1e-6)


def test_vmap_inside_a_kernel():
    def body(x_ref, o_ref):
        o_ref[...] = jax.vmap(lambda row: row / (1.0 + row.sum()))(x_ref[...])

    agree(kernel(body, shape=(4, 8)), floats(4, 8), tolerance=1e-6)


def test_references_passed_through_loops_and_branches():
    def body(x_ref, y_ref, o_ref):
        def add(i, carry):
            del carry
            source = functools.partial(lax.cond, i % 2 == 0)
            o_ref[i] = source(lambda: x_ref[i], lambda: y_ref[i])
            return ()

        lax.fori_loop(0, 8, add, ())

    agree(kernel(body), floats(8), floats(8) * 10)


def test_scoped_references_live_through_loops():
    def body(x_ref, o_ref):
        def scoped(acc_ref):
            acc_ref[...] = jnp.zeros_like(acc_ref)

            @pl.loop(0, 3)
            def _(i):
                acc_ref[...] += x_ref[...] * i.astype(jnp.float32)

            return acc_ref[...]

        o_ref[...] = pl.run_scoped(scoped, pl.MemoryRef(
            jax.core.ShapedArray((8,), jnp.float32), pl.ANY))  # fmt: skip

    agree(kernel(body), floats(8))
