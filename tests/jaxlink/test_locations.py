import functools
import linecache
import pathlib
import sys
import time
import types

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jaxlink import launches

from pallas_debug import ir
from pallas_debug.jaxlink import locations, privates, versions
from pallas_debug.jaxlink.capture import run_captured
from pallas_debug.jaxlink.pretend import pretend

LINES = pathlib.Path(__file__).read_text().splitlines()


def line_of(marker):
    """The line of this file that ends with the comment `# @marker`."""
    (line,) = [i for i, text in enumerate(LINES, 1) if text.endswith(f"# @{marker}")]
    return line


def launch(fn, *args):
    calls = []

    def on_launch(call, arrays):
        calls.append(call)
        return [arrays[0]]

    run_captured(fn, args, {}, on_launch)
    return calls[0]


def kernel_locs(call):
    """Primitive → its places in the kernel; the launch is the fallback of all."""
    jaxpr = call.params["jaxpr"] if "jaxpr" in call.params else call.params["jaxprs"][0]
    found = {}

    def walk(jaxpr, outside):
        for eqn in jaxpr.eqns:
            loc = locations.user_loc(eqn.source_info, outside)
            found.setdefault(eqn.primitive.name, []).append(loc)
            for param in eqn.params.values():
                for inner in param if isinstance(param, tuple) else (param,):
                    opened, _ = versions.open_jaxpr(inner)
                    if hasattr(opened, "eqns"):
                        walk(opened, loc)

    walk(jaxpr, call.loc)
    return found


def helper(x):
    return jnp.exp(x)  # @helper


def traced(wrapped):
    @functools.wraps(wrapped)
    def wrapper(*refs):
        return wrapped(*refs)  # @wrapper

    return wrapper


@traced
def kernel(x_ref, o_ref):
    x = jnp.sin(x_ref[...])  # @sin
    y = helper(x)

    def nested(z):
        return jnp.tanh(z)  # @nested

    square = lambda z: jnp.cos(z)  # @lambda
    o_ref[...] = jax.lax.cond(x[0, 0] > 0, nested, square, y)  # @cond


def call_kernel(x):
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, out_shape=out)(x)  # @call


@pytest.mark.parametrize("transform", [lambda fn: fn, jax.jit, jax.vmap])
def test_equations_point_at_their_lines(transform):
    x = jnp.ones((2, 4, 8)) if transform is jax.vmap else jnp.ones((4, 8))
    call = launch(transform(call_kernel), x)
    assert (call.loc.line, call.loc.function) == (line_of("call"), "call_kernel")
    found = kernel_locs(call)
    wanted = {"sin": "sin", "exp": "helper", "tanh": "nested", "cos": "lambda"}
    for primitive, marker in wanted.items():
        assert [loc.line for loc in found[primitive]] == [line_of(marker)]
    assert line_of("cond") in [loc.line for loc in found["cond"]]


def test_names_columns_and_text():
    found = kernel_locs(launch(call_kernel, jnp.ones((4, 8))))
    (sin,) = found["sin"]
    assert sin.file == __file__
    assert sin.function == "kernel"
    assert LINES[sin.line - 1][sin.column :].startswith("jnp.sin(")
    assert sin.text == "x = jnp.sin(x_ref[...])  # @sin"
    assert found["cos"][0].function == "<lambda>"
    assert found["tanh"][0].function == "nested"
    assert str(sin) == f"kernel, test_locations.py:{line_of('sin')}"


def test_call_over_several_lines_is_shown_whole():
    def fn(x):
        return pl.pallas_call(
            launches.double,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x)

    loc = launch(fn, jnp.ones((4, 8))).loc
    assert loc.end_line == loc.line + 3
    assert loc.text.startswith("return pl.pallas_call(\n    launches.double,\n")


CELL = """
def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sin(x_ref[...])

def fn(x):
    return pl.pallas_call(kernel, out_shape=x)(x)
"""


@pytest.mark.parametrize("name", ["<ipython-input-1>", "/tmp/ipykernel_7/123.py"])
def test_notebook_cell(name):
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    scope = {"jnp": jnp, "pl": pl}
    exec(compile(CELL, name, "exec"), scope)
    call = launch(scope["fn"], jnp.ones((4, 8)))
    (sin,) = kernel_locs(call)["sin"]
    assert (sin.file, sin.line, sin.function) == (name, 3, "kernel")
    assert sin.text == "o_ref[...] = jnp.sin(x_ref[...])"
    assert call.loc.line == 6
    del linecache.cache[name]
    assert sin.excerpt == sin.text


def test_two_cells_with_the_same_text_stay_apart():
    names = ["<cell-a>", "<cell-b>"]
    found = []
    for name in names:
        scope = {"jnp": jnp, "pl": pl}
        exec(compile(CELL, name, "exec"), scope)
        found.append(kernel_locs(launch(scope["fn"], jnp.ones((4, 8))))["sin"][0].file)
    assert found == names


def test_equation_without_a_frame_takes_the_enclosing_one():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1.0  # @step

    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))

    def pipelined(x_ref, o_ref):
        pipeline = pltpu.emit_pipeline(
            body, grid=(2,), in_specs=[rows], out_specs=[rows]
        )
        pipeline(x_ref, o_ref)  # @pipeline

    def fn(x):
        anywhere = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(
            pipelined, out_shape=x, in_specs=[anywhere], out_specs=anywhere
        )(x)

    with pretend("v5e"):
        call = launch(fn, jnp.ones((16, 128)))
    found = [loc for locs in kernel_locs(call).values() for loc in locs]
    assert len(found) > 20
    allowed = {line_of("step"), line_of("pipeline"), call.loc.line}
    lines = {loc.line for loc in found}
    assert {line_of("step"), line_of("pipeline")} <= lines
    assert all(loc.file == __file__ for loc in found)
    assert len(lines - allowed) <= 4  # index maps and the specs' own lines


def test_shipped_kernel_points_at_its_own_lines_and_its_launch_at_the_users():
    from jax.experimental.pallas.ops.tpu import flash_attention

    def fn(q):
        return flash_attention.flash_attention(q, q, q)  # @shipped

    with pretend("v5p"):
        call = launch(fn, jnp.ones((1, 1, 128, 128)))
    assert call.loc.line == line_of("shipped")
    files = {loc.file for locs in kernel_locs(call).values() for loc in locs}
    assert flash_attention.__file__ in files
    products = kernel_locs(call)["dot_general"]
    assert {loc.file for loc in products} == {flash_attention.__file__}
    assert all(loc.text for loc in products)


def test_no_frame_and_no_fallback_is_none():
    class Nothing:
        traceback = None

    assert locations.user_loc(Nothing()) is None
    outside = ir.Loc(file="a.py", line=1, function="f")
    assert locations.user_loc(Nothing(), outside) is outside
    assert locations.call_loc(Nothing(), outside) is outside


def test_places_of_many_equations_are_found_fast():
    def long_kernel(x_ref, o_ref):
        x = x_ref[...]
        for _ in range(500):
            x = x + 1.0
        o_ref[...] = x

    def fn(x):
        return pl.pallas_call(long_kernel, out_shape=x)(x)

    call = launch(fn, jnp.ones((4, 8)))
    start = time.perf_counter()
    kernel_locs(call)
    assert time.perf_counter() - start < 0.5


def test_loc_without_text_reads_the_file():
    loc = ir.Loc(file=__file__, line=line_of("sin"), function="kernel")
    assert loc.excerpt.startswith("x = jnp.sin")
    assert ir.Loc(file="missing.py", line=3, function="f").excerpt == ""


def test_cell_of_a_shell_is_shown_by_its_number(monkeypatch):
    loc = ir.Loc(file="/tmp/ipykernel_7/123.py", line=3, function="f")
    assert locations.as_shown(loc) == loc
    compiler = types.SimpleNamespace(_filename_map={loc.file: 5})
    shell = types.SimpleNamespace(compile=compiler)
    interactive = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", interactive)
    assert locations.as_shown(loc).file == "In[5]"


class Callable:
    def __call__(self, x_ref, o_ref):
        o_ref[...] = x_ref[...]


def offset(x_ref, o_ref, *, by):
    o_ref[...] = x_ref[...] + by


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(functools.partial(offset, by=1.0), "offset"), (Callable(), "Callable")],
)
def test_kernel_without_a_name_has_that_of_its_code(kernel, name):
    x = jnp.ones((8, 128))
    call = launch(
        plgpu.kernel(kernel, out_type=jax.ShapeDtypeStruct(x.shape, x.dtype)), x
    )
    assert call.name == name


def test_bare_kernel_is_placed_at_its_own_definition_not_in_jax():
    x = jnp.ones((8, 128))
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    call = launch(plgpu.kernel(launches.double, out_type=out), x)
    place = locations.defined_at(call.params["jaxprs"][0])
    assert (place.file, place.function) == (launches.__file__, "double")


def scaled(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 3.0  # @backward-kernel


def backward_rule(_, cotangent):
    call = pl.pallas_call(scaled, out_shape=jax.typeof(cotangent))
    return (call(cotangent),)  # @backward-launch


@pytest.mark.parametrize("jitted", [False, True])
def test_kernel_of_a_backward_pass_has_its_own_lines(jitted):
    tripled = jax.custom_vjp(lambda x: x * 3.0)
    tripled.defvjp(lambda x: (x * 3.0, None), backward_rule)
    grad = jax.grad(lambda x: jnp.sum(tripled(x)))
    before = privates.ad._name_stack_ctx
    with pretend():
        call = launch(jax.jit(grad) if jitted else grad, jnp.ones((8, 128)))
    assert call.loc.line == line_of("backward-launch")
    (place,) = kernel_locs(call)["mul"]
    assert (place.line, place.function) == (line_of("backward-kernel"), "scaled")
    assert privates.ad._name_stack_ctx is before
