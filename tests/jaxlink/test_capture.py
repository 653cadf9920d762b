import functools
import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jax.extend.core import Primitive
from jax.sharding import Mesh, PartitionSpec
from jaxlink import launches

from pallas_debug.errors import CaptureError
from pallas_debug.jaxlink import privates, versions
from pallas_debug.jaxlink.capture import run_captured

KERNELS = {
    "generic": launches.generic,
    "gpu": launches.on_gpu,
    "interpreted": functools.partial(launches.generic, interpret=True),
}


def captured(fn, *args, **kwargs):
    seen = launches.ByNumPy()
    return run_captured(fn, args, kwargs, seen), seen.calls


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("program", launches.PROGRAMS)
def test_captured_program_equals_plain_jnp(program, kernel):
    fn = launches.PROGRAMS[program]
    wanted = fn(launches.plain, launches.array())
    got, calls = captured(functools.partial(fn, KERNELS[kernel]), launches.array())
    launches.assert_equal(got, wanted)
    assert bool(calls) == (program not in ("other-branch", "scan-of-nothing"))


@pytest.mark.parametrize(
    "kernel", [launches.generic, launches.on_gpu, launches.blocked]
)
@pytest.mark.parametrize("program", ["alone", "vmap", "grad", "scan", "two"])
def test_what_is_captured_is_what_jax_would_interpret(program, kernel):
    fn = launches.PROGRAMS[program]
    oracle = launches.ByJax()
    x = jnp.arange(24.0, dtype=jnp.float32).reshape(2, 3, 4)
    got = run_captured(functools.partial(fn, kernel), (x,), {}, oracle)
    launches.assert_equal(got, fn(launches.plain, x))
    assert oracle.calls


def test_launch_batched_along_another_axis():
    fn = jax.vmap(launches.blocked, in_axes=1, out_axes=1)
    x = jnp.arange(24.0, dtype=jnp.float32).reshape(2, 3, 4)
    launches.assert_equal(
        run_captured(fn, (x,), {}, launches.ByJax()), launches.plain(x)
    )


def test_launches_come_in_order_in_the_callers_thread():
    threads, starts = [], []

    def on_launch(call, arrays):
        threads.append(threading.current_thread())
        starts.append(float(arrays[0][0, 0]))
        return [arrays[0] * 2 + 1]

    def fn(x):
        return sum(launches.on_gpu(x + i) for i in range(5))

    run_captured(jax.jit(fn), (launches.array(),), {}, on_launch)
    assert starts == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert set(threads) == {threading.current_thread()}


def test_call_describes_the_launch():
    _, (call,) = captured(jax.jit(launches.blocked), launches.array())
    assert call.primitive == "pallas_call"
    assert call.name == "double"
    assert call.params["grid_mapping"].grid == (4,)
    assert [a.shape for a in (*call.in_avals, *call.out_avals)] == [(4, 8), (4, 8)]
    assert (call.axis_env, call.device, call.interpret) == ({}, {}, "none")
    assert call.loc.function == "blocked"


def test_kernel_keeps_its_name_under_vmap():
    _, (call,) = captured(jax.vmap(launches.on_gpu), launches.array())
    assert call.name == "double"


def test_params_of_one_equation_are_one_object_in_every_iteration():
    fn = functools.partial(launches.PROGRAMS["while"], launches.generic)
    _, calls = captured(fn, launches.array())
    assert len(calls) > 2
    assert len({id(call.params) for call in calls}) == 1


def test_interpreter_asked_for_is_named():
    def asked(interpret):
        fn = functools.partial(launches.generic, interpret=interpret)
        return captured(fn, launches.array())[1][0].interpret

    assert asked(False) == "none"
    assert asked(True) == "generic"
    assert asked(pltpu.InterpretParams()) == "tpu"
    assert asked(privates.InterpretGPUParams()) == "gpu"
    with pltpu.force_tpu_interpret_mode():
        assert asked(False) == "tpu"


def test_arguments_that_are_no_arrays_reach_the_function_as_they_are():
    seen = []

    def fn(x, scale, mode, *, run, causal=False, table=None):
        seen.append((scale, mode, causal, table))
        return (run(x) * scale if causal else x), mode

    got, _ = captured(
        fn,
        {"x": launches.array()}["x"],
        3,
        "mode",
        run=launches.generic,
        causal=True,
        table=np.array(["a", "b"]),
    )
    assert got[1] == "mode"
    launches.assert_equal(got[0], launches.plain(launches.array()) * 3)
    assert seen[0][:3] == (3, "mode", True)


def test_static_argument_of_a_jitted_function_stays_static():
    @functools.partial(jax.jit, static_argnames="n")
    def fn(x, n):
        for _ in range(n):
            x = launches.generic(x)
        return x

    got, calls = captured(fn, launches.array(), n=2)
    assert len(calls) == 2
    launches.assert_equal(got, launches.plain(launches.plain(launches.array())))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_, "key"])
def test_operands_arrive_as_numpy_and_leave_as_jax(dtype):
    x = jax.random.key(0) if dtype == "key" else np.ones((2, 3), dtype)

    def fn(x):
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(lambda a, b: None, out_shape=out)(x)

    got = run_captured(fn, (x,), {}, lambda call, arrays: arrays)
    assert isinstance(got, jax.Array)
    assert got.dtype == (x.dtype if dtype == "key" else jnp.asarray(x).dtype)
    same = jax.random.key_data if dtype == "key" else np.asarray
    np.testing.assert_array_equal(same(got), same(x))


def test_result_is_a_copy():
    kept = []

    def on_launch(call, arrays):
        kept.append(np.zeros((64, 64), np.float32))
        return kept

    got = run_captured(launches.generic, (launches.array(64, 64),), {}, on_launch)
    kept[0][:] = 7
    assert float(got.max()) == 0


@pytest.mark.parametrize(
    "error", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)]
)
def test_error_of_on_launch_comes_out_as_itself(error):
    def on_launch(call, arrays):
        raise error

    fn = functools.partial(launches.PROGRAMS["scan"], launches.generic)
    with pytest.raises(type(error)) as caught:
        run_captured(jax.jit(fn), (launches.array(),), {}, on_launch)
    assert caught.value is error


def test_error_while_tracing_comes_out_untouched():
    def fn(x, w):
        return jnp.dot(x, w) if x.sum() > 0 else x

    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"argument x\b"):
        captured(fn, launches.array(), w=launches.array())
    mine = ZeroDivisionError("mine")

    def raising(x_ref, o_ref):
        raise mine

    def broken(x):
        return pl.pallas_call(raising, out_shape=x)(x)

    with pytest.raises(ZeroDivisionError) as caught:
        captured(jax.jit(broken), launches.array())
    assert caught.value is mine


def test_wrong_result_of_on_launch_is_refused():
    with pytest.raises(TypeError, match=r"double returned .*float64"):
        run_captured(
            launches.generic,
            (launches.array(),),
            {},
            lambda call, arrays: [arrays[0].astype(np.float64)],
        )


def test_kernel_inside_an_unknown_primitive_is_refused_by_name():
    mystery = Primitive("mystery")
    mystery.multiple_results = True
    mystery.def_abstract_eval(lambda x, jaxpr: [x])

    def fn(x):
        return mystery.bind(x, jaxpr=jax.make_jaxpr(launches.generic)(x))[0]

    with pytest.raises(CaptureError, match="a kernel inside `mystery`"):
        captured(fn, launches.array())


def add_into(x_ref, total_ref):
    total_ref[...] = x_ref[...] * 2.0 + 1.0


def test_mutable_array_made_inside():
    def fn(x):
        ref = jax.new_ref(launches.generic(x))
        ref[0] = ref[1]
        return launches.generic(jax.freeze(ref))

    x = launches.array()
    inner = launches.plain(x)
    got, _ = captured(fn, x)
    launches.assert_equal(got, launches.plain(inner.at[0].set(inner[1])))


@pytest.mark.skipif(
    versions.JAX < (0, 11),
    reason="JAX 0.10.2 refuses to trace a Ref into a custom_vmap",
)
@pytest.mark.parametrize("closed_over", [False, True])
@pytest.mark.parametrize("transform", [lambda fn: fn, jax.jit])
def test_mutable_array_written_by_a_kernel(transform, closed_over):
    def fn(x, ref):
        plgpu.kernel(add_into, out_type=())(x, ref)
        return ref[...] + 1.0

    x, ref = launches.array(), jax.new_ref(jnp.zeros((4, 8)))
    fn = transform(fn)
    if closed_over:
        got, (call,) = captured(lambda x: fn(x, ref), x)
    else:
        got, (call,) = captured(fn, x, ref)
    launches.assert_equal(got, launches.plain(x) + 1.0)
    launches.assert_equal(ref[...], launches.plain(x))
    assert dict(call.params["input_output_aliases"]) == {1: 0}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_core_map_over_mutable_arrays():
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    def fn(x):
        def stateful(refs):
            x_ref, o_ref = refs

            @pl.core_map(mesh)
            def _():
                pltpu.sync_copy(x_ref, o_ref)

        return pl.run_state(stateful)((x, jnp.zeros_like(x)))[1]

    def on_launch(call, arrays):
        aliases = dict(call.params["input_output_aliases"])
        outs = [None] * len(call.out_avals)
        for operand, out in aliases.items():
            outs[out] = arrays[operand]
        outs[-1] = arrays[0]
        return outs

    got = run_captured(fn, (launches.array(),), {}, on_launch)
    launches.assert_equal(got, launches.array())


def over_devices(axes, check_vma=False):
    shape = (2,) * len(axes)
    mesh = Mesh(np.array(jax.devices()[: 2 ** len(axes)]).reshape(shape), axes)
    spec = PartitionSpec(*axes)
    return functools.partial(
        jax.shard_map, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check_vma
    )


def typed(x):
    """As `generic`, and tells `check_vma` over which axes its result varies."""
    kind = jax.typeof(x)
    if hasattr(kind, "manual_axis_type"):
        options = {"manual_axis_type": kind.manual_axis_type}
    else:
        options = {"vma": kind.vma}
    out = jax.ShapeDtypeStruct(x.shape, x.dtype, **options)
    return pl.pallas_call(launches.double, out_shape=out)(x)


def sharded_programs(run, shard, axis):
    def number():
        return jax.lax.axis_index(axis).astype(jnp.float32)

    return {
        "alone": shard(run),
        "jit": jax.jit(shard(jax.jit(lambda x: run(x) * 3.0))),
        "sum": shard(lambda x: run(x) + jax.lax.psum(run(x * number()), axis)),
        "pass-on": shard(lambda x: run(jax.lax.ppermute(x, axis, [(0, 1), (1, 0)]))),
        "scan": shard(
            lambda x: jax.lax.scan(lambda c, r: (c, run(r) + number()), x[0], x)[1]
        ),
        "branches-part": shard(
            lambda x: jax.lax.cond(number() > 0, lambda y: run(run(y)), jnp.sin, x)
        ),
        "loops-part": shard(
            lambda x: jax.lax.while_loop(lambda c: c.sum() < 400, run, x)
        ),
        "before-and-after": lambda x: run(shard(lambda y: run(y) * 3.0)(x) + 1.0),
        "in-scan": lambda x: jax.lax.scan(
            lambda c, _: (shard(run)(c), None), x, None, length=2
        )[0],
    }


SHARDED = list(sharded_programs(launches.plain, lambda fn: fn, "i"))


@pytest.mark.parametrize("check_vma", [False, True])
@pytest.mark.parametrize("program", SHARDED)
def test_shard_map_over_two_devices(program, check_vma):
    if len(jax.devices()) < 2:
        pytest.skip("needs two devices")
    x = launches.array()
    run = typed if check_vma else launches.generic
    wanted = sharded_programs(launches.plain, over_devices("i"), "i")[program](x)
    fn = sharded_programs(run, over_devices("i", check_vma), "i")[program]
    got, calls = captured(fn, x)
    launches.assert_equal(got, wanted)
    devices = [call.device for call in calls if call.axis_env]
    assert {"i": 1} in devices
    assert all(call.axis_env in ({}, {"i": 2}) for call in calls)


def test_launch_of_all_devices_at_once():
    together = []

    def on_mesh_launch(calls, inputs):
        together.append([call.device for call in calls])
        return [[inputs[1 - i][0] + 1] for i in range(2)]  # each gets the other's

    fn = over_devices("i")(launches.generic)
    x = launches.array()
    got = run_captured(fn, (x,), {}, launches.ByNumPy(), on_mesh_launch)
    assert together == [[{"i": 0}, {"i": 1}]]
    launches.assert_equal(got, jnp.roll(x, 2, axis=0) + 1)


FOUR_DEVICES = """
import jax, numpy as np
from jaxlink import launches, test_capture
from pallas_debug.jaxlink.capture import run_captured
from pallas_debug.jaxlink.recording import recording
assert len(jax.devices()) == 4
shard = test_capture.over_devices(("i", "j"))
x = launches.array(8, 4)
wanted = test_capture.sharded_programs(launches.plain, shard, "i")
for name, fn in test_capture.sharded_programs(launches.on_gpu, shard, "i").items():
    seen = launches.ByNumPy()
    launches.assert_equal(run_captured(fn, (x,), {}, seen), wanted[name](x))
    devices = [tuple(c.device.values()) for c in seen.calls if c.axis_env]
    recorded = launches.ByNumPy()
    with recording(recorded):
        got = fn(x)
    launches.assert_equal(got, wanted[name](x))
    again = [tuple(c.device.values()) for c in recorded.calls if c.axis_env]
    assert sorted(devices) == sorted(again), name
    if name == "alone":
        assert devices == [(0, 0), (0, 1), (1, 0), (1, 1)]
"""


def test_shard_map_over_four_devices_captured_and_recorded():
    env = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "PYTHONPATH": os.pathsep.join(["tests", ".", *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-c", FOUR_DEVICES],
        env=env,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr[-3000:]
