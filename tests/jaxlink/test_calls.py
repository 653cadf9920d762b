"""Functions of the user's that JAX traces inline, as scopes of the tape."""

import linecache

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink import launches

import pallas_debug as pldb
from pallas_debug.jaxlink import locations
from pallas_debug.jaxlink.pretend import pretend

OUT = jax.ShapeDtypeStruct((8, 128), jnp.float32)
X = jnp.ones((8, 128))


def kernel_of(body, **options):
    fn = pl.pallas_call(body, out_shape=OUT, **options)
    return pldb.trace(fn, X).launches[0].kernel


def functions(kernel):
    """Scopes of functions: name, calling function, and the name of the scope around."""
    return [
        (one.name, kernel.locs[one.loc].function, kernel.scopes[one.parent].name)
        for one in kernel.scopes
        if one.kind == "function"
    ]


def added(ref, number):
    value = ref[...]
    return value + number


def once(ref):
    return added(ref, 1.0)


def stored(x_ref, o_ref, number):
    value = x_ref[...]
    o_ref[...] = value + number


def test_each_call_is_a_scope_and_calls_nest():
    def body(x_ref, o_ref):
        o_ref[...] = once(x_ref)
        o_ref[...] = added(o_ref, 2.0)

    assert functions(kernel_of(body)) == [
        ("once", "body", "grid"),
        ("added", "once", "once"),
        ("added", "body", "grid"),
    ]


def test_call_that_python_repeats_is_a_scope_each_time():
    def body(x_ref, o_ref):
        for number in range(3):
            o_ref[...] = added(x_ref, number)

    def nothing_between(x_ref, o_ref):
        for number in range(3):
            stored(x_ref, o_ref, number)

    assert len(functions(kernel_of(body))) == 3
    assert len(functions(kernel_of(nothing_between))) == 3


def test_loop_of_a_function_is_one_call():
    def unrolled(x_ref, o_ref):
        for number in range(3):
            o_ref[number, :] = x_ref[number, :]

    assert len(functions(kernel_of(lambda x_ref, o_ref: unrolled(x_ref, o_ref)))) == 1


def test_jitted_functions_loops_and_branches_stay_their_own_scopes():
    twice = jax.jit(lambda x: once_more(x) * 2.0)

    def once_more(x):
        return x + 1.0

    def body(x_ref, o_ref):
        o_ref[...] = twice(x_ref[...])
        lax.fori_loop(0, 2, lambda i, c: stored(x_ref, o_ref, i) or c, 0)

    kernel = kernel_of(body)
    kinds = [one.kind for one in kernel.scopes]
    assert kinds.count("call") == 1
    assert kinds.count("scan") + kinds.count("while") == 1
    assert ("once_more", "<lambda>", "<lambda>") in functions(kernel)


def test_second_use_of_a_jitted_function_has_the_calls_of_that_use():
    double = jax.jit(lambda x: x * 2.0)

    def first(x):
        return double(x)

    def second(x):
        return double(x)

    def body(x_ref, o_ref):
        o_ref[...] = first(x_ref[...])
        o_ref[...] = second(o_ref[...])

    kernel = kernel_of(body)
    products = [n for n, i in enumerate(kernel.tape) if i.op == "lax.mul"]
    callers = [kernel.calls_of(n)[0].function for n in products]
    assert callers == ["first", "second"]


CELL = """
def loaded(ref):
    return ref[...]

def kernel(x_ref, o_ref):
    o_ref[...] = loaded(x_ref)
"""


def test_frames_of_a_cell_carry_its_name_and_those_outside_the_kernel_are_hidden():
    name = "<ipython-input-7>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    scope = {}
    exec(compile(CELL, name, "exec"), scope)
    kernel = kernel_of(scope["kernel"])
    (read,) = [n for n, i in enumerate(kernel.tape) if i.op == "state.get"]
    (site,) = kernel.calls_of(read)
    assert (site.file, site.line, site.function) == (name, 6, "kernel")
    assert {one.file for of in kernel.sites for one in of} == {name}


def test_shipped_kernels_are_nobodys_helpers():
    from jax.experimental.pallas.ops.tpu import flash_attention

    q = jnp.ones((1, 1, 128, 128))
    with pretend("v5p"):
        trace = pldb.trace(lambda q: flash_attention.flash_attention(q, q, q), q)
    files = {one.file for of in trace.launches[0].kernel.sites for one in of}
    assert files <= {flash_attention.__file__}


def test_wrapper_of_a_gpu_kernel_calls_nothing():
    launched = plgpu.kernel(launches.double, out_type=OUT)
    trace = pldb.trace(launched, X, options=pldb.Options(chip="h100"))
    kernel = trace.launches[0].kernel
    assert functions(kernel) == []
    assert all(kernel.calls_of(n) == () for n in range(len(kernel.tape)))


def loop(items):
    for item in items:
        print(item)
    return items


def test_frame_is_earlier_only_where_no_loop_goes_back():
    place = locations.current_loc()
    offsets = range(0, len(loop.__code__.co_code), 2)
    frames = [locations.Frame(place, loop.__code__, offset) for offset in offsets]
    ((target, jump),) = locations._loops(loop.__code__)
    inside = [f for f in frames if target <= f.offset <= jump]
    assert not locations.is_earlier(inside[0], inside[-1])
    assert locations.is_earlier(frames[0], inside[-1])
    assert locations.is_earlier(inside[0], frames[-1])
    assert not locations.is_earlier(frames[-1], frames[0])
