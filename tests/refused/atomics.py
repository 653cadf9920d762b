"""Atomic updates, of Mosaic GPU and of Triton."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import triton as pltriton

from refused.build import N, call, kernel


def atomic(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    plgpu.atomic_add(o_ref, x_ref[...])


def atomic_part(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    plgpu.atomic_add(o_ref.at[0:64], x_ref[0:64])


def added_in_place(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    o_ref[...] += x_ref[...]


def first_four(function):
    """A body that updates four elements at once."""

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        function(o_ref, (pl.ds(0, 4),), x_ref[0:4])

    return body


def compared(x_ref, o_ref):
    pltriton.atomic_cas(o_ref, x_ref[0], x_ref[1])


def not_compared(x_ref, o_ref):
    o_ref[...] = x_ref[0]


FLOATS = {"out": jax.ShapeDtypeStruct((N,), jnp.float32), "args": (jnp.ones(N),)}
NUMBER = {"out": jax.ShapeDtypeStruct((), jnp.int32)}
PAIRS = {
    "atomic_add": (kernel(atomic), kernel(added_in_place)),
    "atomic_add_to_part": (kernel(atomic_part), kernel(added_in_place)),
    "atomic_add_of_floats": (
        kernel(atomic_part, **FLOATS),
        kernel(added_in_place, **FLOATS),
    ),
    "lanes_max": (call(first_four(pltriton.atomic_max)), call(added_in_place)),
    "lanes_add_of_floats": (
        call(first_four(pltriton.atomic_add), **FLOATS),
        call(added_in_place, **FLOATS),
    ),
    "compare_and_swap": (call(compared, **NUMBER), call(not_compared, **NUMBER)),
}
