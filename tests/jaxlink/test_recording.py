import contextlib
import functools
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh
from jaxlink import launches

from pallas_debug.jaxlink import privates, versions
from pallas_debug.jaxlink.recording import recording

ON_CPU = "Only interpret mode is supported on CPU backend"


def recorded(fn, *args):
    seen = launches.ByNumPy()
    with recording(seen):
        return fn(*args), seen.calls


@pytest.mark.parametrize("kernel", [launches.generic, launches.on_gpu])
@pytest.mark.parametrize("program", launches.PROGRAMS)
def test_recorded_program_equals_plain_jnp(program, kernel):
    fn = launches.PROGRAMS[program]
    wanted = fn(launches.plain, launches.array())
    got, calls = recorded(functools.partial(fn, kernel), launches.array())
    launches.assert_equal(got, wanted)
    assert bool(calls) == (program not in ("other-branch", "scan-of-nothing"))


def test_call_describes_the_launch():
    _, (call,) = recorded(jax.jit(launches.blocked), launches.array())
    assert call.primitive == "pallas_call"
    assert call.name == "double"
    assert call.params["grid_mapping"].grid == (4,)
    assert (call.axis_env, call.device, call.interpret) == ({}, {}, "none")
    assert call.loc.function == "blocked"


@pytest.mark.parametrize("transform", [lambda fn: fn, jax.jit, jax.vmap])
def test_place_of_a_gpu_launch(transform):
    _, (call,) = recorded(transform(launches.on_gpu), launches.array())
    assert call.name == "double"
    assert call.loc.function == "on_gpu"
    assert call.loc.text.startswith("return plgpu.kernel(")


def test_function_compiled_before_is_seen_and_stays_as_it_was():
    fn = jax.jit(functools.partial(launches.generic, interpret=True))
    before = fn(launches.array())
    (during, calls) = recorded(fn, launches.array())
    assert len(calls) == 1
    after = fn(launches.array())
    assert len(calls) == 1
    launches.assert_equal(during, before)
    launches.assert_equal(after, before)


def test_function_compiled_inside_does_not_run_outside():
    fn = jax.jit(launches.generic)
    recorded(fn, launches.array())
    with pytest.raises(ValueError, match=ON_CPU):
        fn(launches.array())
    with pytest.raises(ValueError, match=ON_CPU):
        launches.on_gpu(launches.array())


def test_second_recording_reuses_what_the_first_compiled():
    traced = []

    @jax.jit
    def fn(x):
        traced.append(1)
        return launches.generic(x)

    for _ in range(3):
        _, calls = recorded(fn, launches.array())
        assert len(calls) == 1
    assert len(traced) == 1


def test_equal_launches_on_two_lines_are_told_apart():
    @jax.jit
    def fn(x):
        first = launches.on_gpu(x)
        second = launches.on_gpu(x + 1.0)
        return first + second

    _, calls = recorded(fn, launches.array())
    assert len({id(call.params) for call in calls}) == 2


def test_launches_come_in_the_order_of_the_program():
    starts = []

    def on_launch(call, arrays):
        starts.append(float(arrays[0][0, 0]))
        time.sleep(0.01 * ((7 * len(starts)) % 5))
        return arrays

    @jax.jit
    def fn(x):
        return sum(launches.on_gpu(x + i) for i in range(6))

    with recording(on_launch):
        fn(launches.array())
        fn(launches.array() + 10)
    assert starts == [*range(6), *range(10, 16)]


def test_rules_are_as_before_afterwards():
    tables = privates.mlir._platform_specific_lowerings
    before = {platform: dict(rules) for platform, rules in tables.items()}
    uncacheable = set(privates.mlir._uncacheable_primitives)
    with recording(launches.ByNumPy()):
        assert tables["cpu"] != before.get("cpu")
    after = {platform: dict(rules) for platform, rules in tables.items() if rules}
    assert after == {platform: rules for platform, rules in before.items() if rules}
    assert privates.mlir._uncacheable_primitives == uncacheable


@pytest.mark.parametrize(
    "error", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)]
)
@pytest.mark.parametrize("large", [False, True])
def test_error_of_on_launch_leaves_the_block_as_itself(error, large):
    def on_launch(call, arrays):
        raise error

    fn = jax.jit(lambda x: launches.generic(x @ x @ x) @ x)
    x = jnp.ones((512, 512) if large else (4, 4))
    with pytest.raises(type(error)) as caught, recording(on_launch):
        fn(x)
    assert caught.value is error
    assert caught.value.__context__ is None
    with pytest.raises(ValueError, match=ON_CPU):
        fn(x)


def swallow(times, errors):
    for _ in range(times):
        try:
            launches.generic(launches.array()).block_until_ready()
        except Exception as error:
            errors.append(str(error))


def test_error_that_the_block_swallows_is_raised_at_its_end():
    calls, errors = [], []

    def on_launch(call, arrays):
        calls.append(call)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), recording(on_launch):
        swallow(3, errors)
    assert len(calls) == 1  # no further launch is made
    assert len(errors) == 3
    assert all("pallas_debug stopped" in error for error in errors)


def test_error_of_the_block_wins():
    def failing():
        launches.generic(launches.array())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), recording(launches.ByNumPy()):
        failing()
    with pytest.raises(ValueError, match=ON_CPU):
        launches.generic(launches.array())


def test_recordings_nest_and_each_sees_every_launch():
    outer, inner = launches.ByNumPy(), launches.ByNumPy()
    fn = jax.jit(launches.generic)
    with recording(outer):
        fn(launches.array())
        with recording(inner):
            fn(launches.array())
            launches.generic(launches.array())
        fn(launches.array())
    assert (len(outer.calls), len(inner.calls)) == (4, 2)
    with pytest.raises(ValueError, match=ON_CPU):
        fn(launches.array())


@pytest.mark.parametrize("failing", [0, 1], ids=["outer", "inner"])
def test_error_of_a_nested_recording_leaves_its_own_block(failing):
    def on_launch(call, arrays):
        raise KeyError("mine")

    both = [launches.ByNumPy(), launches.ByNumPy()]
    both[failing] = on_launch
    left = []
    with contextlib.suppress(KeyError), recording(both[0]):
        try:
            with recording(both[1]):
                launches.generic(launches.array()).block_until_ready()
        except Exception as error:
            left.append(type(error))
            raise
    assert left != [KeyError] if failing == 0 else left == [KeyError]


def test_recordings_of_two_threads_may_end_in_any_order():
    first, second = launches.ByNumPy(), launches.ByNumPy()
    one, two = contextlib.ExitStack(), contextlib.ExitStack()
    one.enter_context(recording(first))
    two.enter_context(recording(second))
    one.close()
    launches.generic(launches.array())
    two.close()
    assert (len(first.calls), len(second.calls)) == (0, 1)
    with pytest.raises(ValueError, match=ON_CPU):
        launches.generic(launches.array())


def test_launch_is_prepared_before_it_runs_in_the_thread_of_the_caller():
    said = []

    def on_launch(call, arrays):
        said.append(("runs", threading.current_thread() is threading.main_thread()))
        return arrays

    def prepare(call):
        said.append(("prepared", threading.current_thread() is threading.main_thread()))

    with recording(on_launch, prepare=prepare):
        jax.jit(launches.generic)(jnp.ones((512, 512))).block_until_ready()
    assert said[0] == ("prepared", True)
    assert [what for what, _ in said] == ["prepared", "runs"]


def test_what_was_dispatched_is_waited_for():
    done = []

    def on_launch(call, arrays):
        time.sleep(0.1)
        done.append(call)
        return arrays

    with recording(on_launch):
        results = [jax.jit(launches.generic)(launches.array() + i) for i in range(3)]
    assert len(done) == len(results) == 3


def test_launches_of_other_threads_are_recorded_one_at_a_time():
    running, most = [], []

    def on_launch(call, arrays):
        running.append(call)
        most.append(len(running))
        time.sleep(0.02)
        running.pop()
        return arrays

    def work():
        for i in range(3):
            jax.jit(launches.generic)(launches.array() + i).block_until_ready()

    with recording(on_launch):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(most) == 9
    assert max(most) == 1


@pytest.mark.parametrize("interpret", ["generic", "tpu", "gpu"])
def test_interpreted_launches_are_recorded_too(interpret):
    value = {
        "generic": True,
        "tpu": privates.InterpretParams(),
        "gpu": privates.InterpretGPUParams(),
    }[interpret]
    fn = jax.jit(functools.partial(launches.generic, interpret=value))
    got, calls = recorded(jax.jit(lambda x: fn(fn(x) + 1.0)), launches.array())
    wanted = launches.plain(launches.plain(launches.array()) + 1.0)
    launches.assert_equal(got, wanted)
    assert [call.interpret for call in calls] == [interpret, interpret]


def test_random_keys_pass_as_their_words():
    def on_launch(call, arrays):
        assert arrays[0].dtype == np.uint32
        return arrays

    key = jax.random.key(3)
    out = jax.ShapeDtypeStruct(key.shape, key.dtype)
    with recording(on_launch):
        got = jax.jit(pl.pallas_call(lambda a, b: None, out_shape=out))(key)
    assert jnp.all(jax.random.key_data(got) == jax.random.key_data(key))


def test_mutable_array_written_by_a_kernel():
    def write(x_ref, total_ref):
        total_ref[...] = x_ref[...]

    ref = jax.new_ref(jnp.zeros((4, 8)))
    with recording(launches.ByNumPy()):
        plgpu.kernel(write, out_type=())(launches.array(), ref)
    launches.assert_equal(ref[...], launches.plain(launches.array()))


def lower_for(platform, fn, x):
    kind = {"cuda": ("NVIDIA H100", "gpu"), "tpu": ("TPU v5p", "tpu")}[platform]
    device = AbstractDevice(device_kind=kind[0], num_cores=None, platform=kind[1])
    mesh = AbstractMesh((1,), ("_",), abstract_device=device)
    with use_abstract_mesh(mesh):
        return jax.jit(fn).trace(x).lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.parametrize(
    ("platform", "kernel"), [("cuda", launches.on_gpu), ("tpu", launches.generic)]
)
def test_lowering_for_a_device_is_noticed_and_nothing_runs(platform, kernel):
    seen, lowered = launches.ByNumPy(), []
    for _ in range(2):
        with recording(seen, lowered.append):
            text = lower_for(platform, lambda x: kernel(x), jnp.ones((128, 128)))
        assert "custom_call" in text
    assert [call.name for call in lowered] == ["double", "double"]
    assert lowered[0].loc.file == launches.__file__
    assert not seen.calls


def test_refusal_of_the_backend_still_arrives():
    lowered = []

    def scratch(x_ref, o_ref, s_ref):
        s_ref[...] = x_ref[...]

    def fn(x):
        kernel = pl.kernel(
            scratch,
            out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
            mesh=plgpu.Mesh(),
            scratch_types=[plgpu.SMEM(x.shape, x.dtype)],
        )
        return kernel(x)

    def lower():
        with recording(launches.ByNumPy(), lowered.append):
            lower_for("cuda", fn, jnp.ones((8, 128)))

    if versions.MPMD_MAP_HAS_SCRATCH_REFUSAL:
        with pytest.raises(NotImplementedError, match="Scratch operands are not"):
            lower()
    else:
        lower()
    assert [call.primitive for call in lowered] == ["mpmd_map"]
