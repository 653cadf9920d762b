"""A canary: what we rely on in JAX's inside, one test per name.

When JAX changes, these fail with a readable name before anything else does.
"""

import inspect
import linecache
import threading

import jax
import jax.numpy as jnp
import pytest

from pallas_debug.ir import chips
from pallas_debug.jaxlink import privates, versions

SIGNATURES = {
    "discharge_state": (
        lambda: privates.discharge_state,
        ["closed_jaxpr", "should_discharge", "lower"],
    ),
    "emit_python_callback": (
        lambda: privates.emit_python_callback,
        ["ctx", "callback", "token", "operands", "operand_avals", "result_avals"],
    ),
    "callback_sharding": (
        lambda: privates.callback_sharding,
        ["axis_context", "sharding", "avals_out"],
    ),
    "register_lowering": (
        lambda: privates.mlir.register_lowering,
        ["prim", "rule", "platform"],
    ),
    "lower_fun": (lambda: privates.mlir.lower_fun, ["fun", "multiple_results"]),
    "_name_stack_ctx": (lambda: privates.ad._name_stack_ctx, ["src_info"]),
    "tracing_grid_env": (lambda: privates.pallas_core.tracing_grid_env, ["grid"]),
    "user_context": (
        lambda: privates.source_info.user_context.__init__,
        ["self", "traceback", "name_stack"],
    ),
    "raw_frame_to_frame": (lambda: privates.raw_frame_to_frame, ["code", "lasti"]),
    "batched_device_put": (
        lambda: privates.batched_device_put,
        ["aval", "sharding", "xs", "devices", "committed"],
    ),
    "get_default_device": (lambda: privates.get_default_device, []),
    "ConfigState": (
        lambda: privates.ConfigState.__init__,
        ["self", "name", "default", "help"],
    ),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_begins_as_we_call_it(name):
    function, expected = SIGNATURES[name]
    parameters = list(inspect.signature(function()).parameters)
    assert parameters[: len(expected)] == expected


def test_every_private_name_is_there():
    public = {name for name in vars(privates) if not name.startswith("_")}
    assert all(getattr(privates, name) is not None for name in public)


def test_version_is_supported():
    assert versions.IS_SUPPORTED


@pytest.mark.parametrize("name", ["core", "mlir", "dtypes", "mesh", "xla_client"])
def test_attributes_of_modules(name):
    needed = {
        "core": ["clean_up_dead_vars", "get_axis_env", "jaxprs_in_params", "last_used"],
        "mlir": [
            "TokenSet",
            "_lowerings",
            "_platform_specific_lowerings",
            "_uncacheable_primitives",
        ],
        "dtypes": ["extended", "issubdtype"],
        "mesh": ["AbstractDevice", "get_concrete_mesh"],
        "xla_client": ["Device", "make_cpu_client"],
    }
    assert [n for n in needed[name] if not hasattr(getattr(privates, name), n)] == []


def test_config_state_is_part_of_the_cache_key_of_jit():
    state = privates.ConfigState(
        "pallas_debug_canary",
        None,
        "",
        include_in_jit_key=True,
        include_in_trace_context=True,
    )
    traced = []

    @jax.jit
    def fn(x):
        traced.append(state.value)
        return x

    for value in (None, "a", None, "a"):
        state.set_global(value)
        fn(1.0)
    state.set_global(None)
    with state("b"):
        fn(1.0)
    fn(1.0)
    assert traced == [None, "a", "b"]


def test_tokens_are_there_while_a_call_to_the_host_runs():
    started, go_on = threading.Event(), threading.Event()

    def host(x):
        started.set()
        go_on.wait(10)
        return x

    def fn(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)

    jax.effects_barrier()
    result = jax.jit(fn)(jnp.ones((700, 700)).sum())
    started.wait(10)
    tokens = privates.runtime_tokens
    assert tokens.output_runtime_tokens
    assert tokens.current_tokens == {}
    go_on.set()
    for token in tokens.output_runtime_tokens.values():
        token.block_until_ready()
    assert result == 490_000.0


def test_class_of_devices_can_be_given_answers():
    device_class = privates.xla_client.Device
    assert type(jax.devices()[0]) is device_class
    device_class.pallas_debug_canary = property(lambda device: 7)
    try:
        assert jax.devices()[0].pallas_debug_canary == 7
    finally:
        del device_class.pallas_debug_canary


def test_traceback_gives_code_and_offsets():
    jaxpr, _ = versions.open_jaxpr(jax.make_jaxpr(lambda x: jnp.sin(x))(1.0))
    codes, offsets = jaxpr.eqns[0].source_info.traceback.raw_frames()
    here = [i for i, c in enumerate(codes) if c.co_filename == __file__]
    frame = privates.raw_frame_to_frame(codes[here[0]], offsets[here[0]])
    line = linecache.getline(__file__, frame.start_line)
    assert "jnp.sin(x)" in line
    assert line[frame.start_column :].startswith("jnp.sin")


def test_jaxprs_of_either_kind_open_and_close():
    def fn(x):
        return jax.jit(jnp.sin)(x) + jnp.arange(3.0)

    jaxpr = jax.make_jaxpr(fn)(jnp.ones(3))
    opened, consts = versions.open_jaxpr(jaxpr)
    again, same = versions.open_jaxpr(versions.close_jaxpr(jaxpr))
    assert again is opened
    assert list(same) == list(consts)


def test_constants_of_a_jaxpr_become_operands():
    jaxpr = jax.make_jaxpr(lambda x: x + jnp.arange(3.0) * jnp.ones(3))(jnp.ones(3))
    opened, consts = versions.open_jaxpr(jaxpr)
    lifted = privates.partial_eval.convert_constvars_jaxpr(opened)
    assert len(lifted.invars) == len(consts) + 1
    assert not lifted.constvars


def test_scan_says_what_is_carried():
    def fn(x, y):
        return jax.lax.scan(lambda c, r: (c + r * y, (c, r)), x[0], x)

    jaxpr, _ = versions.open_jaxpr(jax.make_jaxpr(fn)(jnp.ones((3, 2)), jnp.ones(2)))
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]
    assert versions.scan_split(eqn.params, len(eqn.invars)) == (1, 1, 1)


def test_primitives_are_spelled_as_the_newest_jax_does():
    name = versions.primitive_name(privates.gpu_primitives.set_max_registers_p)
    assert name == "set_max_registers"


@pytest.mark.parametrize("name", [c.name for c in chips.CHIPS.values() if c.vmem_bytes])
def test_chip_says_what_jax_says_about_a_tpu(name):
    from jax._src.pallas.mosaic import tpu_info

    chip = chips.chip(name)
    version = tpu_info.chip_version_from_device_kind(chip.device_kind)
    info = tpu_info.get_tpu_info_for_chip(version, chip.core_count)
    assert chip.vmem_bytes == info.vmem_capacity_bytes
    assert chip.smem_bytes == info.smem_capacity_bytes
    assert chip.hbm_bytes == info.hbm_capacity_bytes * chip.core_count
    assert (chip.lanes, chip.sublanes) == (info.num_lanes, info.num_sublanes)
    assert chip.mxu_columns == info.mxu_column_size
