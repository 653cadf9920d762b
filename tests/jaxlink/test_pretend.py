import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.extend import backend
from jax.sharding import Mesh, PartitionSpec

import pallas_debug as pldb
from pallas_debug.errors import BadOption
from pallas_debug.ir import chips
from pallas_debug.jaxlink import privates, versions
from pallas_debug.jaxlink.capture import run_captured
from pallas_debug.jaxlink.pretend import may_ask, pretend

HALF = jnp.float16
Shape = jax.ShapeDtypeStruct


def test_device_answers_for_the_chip():
    device = jax.devices()[0]
    with pretend("h100"):
        assert device.core_count == 132
        assert jax.local_devices()[0].core_count == 132
        assert backend.get_default_device().core_count == 132
        assert device.device_kind == "NVIDIA H100 80GB HBM3"
        assert device.compute_capability == "9.0"
    with pretend("b200", cores=4):
        assert jax.devices()[0].core_count == 4
        assert jax.devices()[0].compute_capability == "10.0"


def test_device_is_itself_again():
    device = jax.devices()[0]
    before = dict(vars(type(device)))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), pretend("h100"):
            raise ZeroDivisionError
        assert device.device_kind == "cpu"
        assert not hasattr(device, "core_count")
        assert dict(vars(type(device))) == before


def test_classes_are_left_alone_until_somebody_may_ask():
    kind = type(jax.devices()[0])
    before = dict(vars(kind))
    with pretend("h100", waits=True):
        assert dict(vars(kind)) == before
        with pretend("b200", waits=True):
            assert dict(vars(kind)) == before
            may_ask()
            assert jax.devices()[0].core_count == 148
        assert dict(vars(kind)) == before
        may_ask()
        may_ask()
        assert jax.devices()[0].core_count == 132
        with pretend("v5p"):
            assert jax.devices()[0].device_kind == "TPU v5"
    assert dict(vars(kind)) == before
    may_ask()
    assert dict(vars(kind)) == before


def test_recording_again_leaves_the_classes_alone():
    kind, seen = type(jax.devices()[0]), []

    class Watched(np.ndarray):
        """Tells how the class looked when its values were taken."""

        def __array_finalize__(self, other):
            seen.append("core_count" in vars(kind))

    x = np.ones((8, 128), np.float32)
    call = pl.pallas_call(lambda x, o: None, out_shape=Shape(x.shape, x.dtype))
    fn = jax.jit(call)
    pldb.trace(fn, x)
    seen.clear()
    pldb.trace(fn, x.view(Watched))
    assert seen
    assert not any(seen)


def test_chips_nest():
    device = jax.devices()[0]
    with pretend("h100"), pretend("v5p"):
        assert device.num_cores == 2
        with pretend("b200", cores=3):
            assert device.core_count == 3
        assert device.device_kind == "TPU v5"
    assert device.device_kind == "cpu"


@pytest.mark.parametrize(("chip", "platform"), [("h100", "gpu"), ("v5e", "tpu")])
def test_platform_is_that_of_the_chosen_chip_outside_jax(chip, platform):
    real = jax.default_backend
    with pretend(chip):
        assert jax.devices()[0].platform == platform
        assert jax.default_backend() == platform
        assert backend.get_default_device().platform == platform
        assert float(jax.jit(jnp.sum)(jnp.ones(3))) == 3  # JAX itself asks on
    with pretend(None):
        assert jax.devices()[0].platform == jax.default_backend() == "cpu"
    assert jax.devices()[0].platform == "cpu"
    assert jax.default_backend is real


def test_other_threads_see_the_real_device():
    seen = []
    with pretend("h100"):
        asking = threading.Thread(
            target=lambda: seen.append(jax.devices()[0].device_kind)
        )
        asking.start()
        asking.join()
    assert seen == ["cpu"]


def test_machinery_of_jax_sees_the_real_device():
    with pretend("h100", cores=4):
        device = jax.devices()[0]
        x = jax.device_put(np.arange(8.0, dtype=np.float32), device)
        assert x.devices() == {device}
        mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
        y = jax.shard_map(
            jnp.sin,
            mesh=mesh,
            in_specs=PartitionSpec("i"),
            out_specs=PartitionSpec("i"),
        )(x)
        assert jax.jit(jnp.sum)(y).device == device
        kind = mesh.abstract_mesh.abstract_device
    assert kind is None or kind.device_kind == "cpu"


def test_trace_for_one_chip_is_not_reused_for_another():
    @jax.jit
    def fn(x):
        return x * jax.devices()[0].core_count

    found = []
    for chip, cores in [("h100", 4), ("h100", 5), ("b200", None), ("h100", 4)]:
        with pretend(chip, cores):
            found.append(float(fn(1.0)))
    assert found == [4.0, 5.0, 148.0, 4.0]
    with pytest.raises(AttributeError):
        fn(1.0)


@pytest.mark.parametrize("name", [c.name for c in chips.CHIPS.values() if c.vmem_bytes])
def test_tpu_info_is_that_of_the_chip(name):
    with pretend(name):
        info = pltpu.get_tpu_info()
    assert info.vmem_capacity_bytes == chips.chip(name).vmem_bytes
    assert info.num_cores == chips.chip(name).core_count


@pytest.mark.parametrize("jitted", [False, True])
def test_tpu_info_of_a_gpu_is_a_wrong_choice(jitted):
    def lanes(x):
        return x * pltpu.get_tpu_info().num_lanes

    fn = jax.jit(lanes) if jitted else lanes
    with pytest.raises(BadOption, match="`v5e`") as caught:
        pldb.trace(fn, jnp.ones(8), options=pldb.Options(chip="h100"))
    assert caught.value.message.startswith("`chip` got 'h100'; accepted: a TPU")
    assert "get_tpu_info().num_lanes" in caught.value.loc.text
    with pytest.raises(BadOption), pldb.recording(pldb.Options(chip="b200")):
        fn(jnp.ones(8))


def test_whether_a_gpu_is_a_tpu_may_be_asked():
    with pretend("h100"):
        assert not pltpu.is_tpu_device()


@pytest.mark.parametrize("name", ["a100", "h100", "h200", "b200"])
def test_triton_info_is_that_of_the_chip(name):
    if versions.JAX < (0, 11):
        pytest.skip("JAX 0.10.2 asks nothing")
    from jax._src.pallas.triton import gpu_info

    with pretend(name):
        info = gpu_info.get_gpu_info()
    assert str(info.compute_capability) == chips.chip(name).compute_capability.replace(
        ".", ""
    )


def test_without_a_choice_each_asker_hears_the_chip_it_expects():
    device = jax.devices()[0]
    with pretend(None):
        assert device.core_count == chips.chip(chips.DEFAULT["gpu"]).core_count
        assert pltpu.get_tpu_info().vmem_capacity_bytes == 128 * 2**20
        assert device.device_kind == "cpu"
    with pretend(None, cores=4):
        assert device.core_count == 4


@pytest.mark.parametrize("name", [None, "a100", "h100", "b200"])
def test_shared_memory_is_that_of_the_chip(name):
    device = jax.local_devices()[0]
    with pretend(name):
        chip = chips.chip(name or chips.DEFAULT["gpu"])
        assert device.shared_memory_per_block_optin == chip.smem_bytes
    with pretend("tpu-v5e"):
        assert getattr(device, "shared_memory_per_block_optin", None) is None
    assert not hasattr(device, "shared_memory_per_block_optin")


def test_cuda_version_is_there_only_meanwhile():
    from jax._src import lib
    from jax.experimental.pallas.ops.gpu import attention_mgpu

    if lib.cuda_versions is not None:
        pytest.skip("this JAX has CUDA")
    with pretend("h100"):
        assert lib.cuda_versions.cuda_runtime_get_version() >= 12091
        assert attention_mgpu.cuda_versions is lib.cuda_versions
    assert lib.cuda_versions is None
    assert attention_mgpu.cuda_versions is None


def test_unknown_chip_is_answered_with_the_nearest():
    with pytest.raises(BadOption, match="h100"), pretend("h1000"):
        pytest.fail("not reached")


@pytest.mark.parametrize("name", ["v5e", "V5E", "tpu-v5e", "tpu_v5e", "TPU v5e"])
def test_chip_names_are_read_kindly(name):
    assert chips.chip(name) is chips.CHIPS["v5e"]


def hopper_matmul():
    from jax.experimental.pallas.ops.gpu import hopper_matmul_mgpu as ops

    config = ops.TuningConfig(tile_m=64, tile_n=64, tile_k=64, max_concurrent_steps=2)
    operand = Shape((128, 128), HALF)
    return lambda a, b: ops.matmul(a, b, None, config), [operand, operand]


def attention(causal=False):
    from jax.experimental.pallas.ops.gpu import attention_mgpu as ops

    config = ops.TuningConfig(
        block_q=64, block_kv=64, max_concurrent_steps=2, causal=causal
    )
    operand = Shape((1, 128, 2, 64), HALF)
    return lambda q, k, v: ops.attention(q, k, v, config), [operand] * 3


def causal_attention():
    return attention(causal=True)


def blackwell_matmul():
    from jax.experimental.pallas.ops.gpu import blackwell_matmul_mgpu as ops

    config = ops.TuningConfig(
        tile_m=128, tile_n=64, tile_k=64, max_concurrent_steps=2, collective=False
    )
    operands = [Shape((256, 128), HALF), Shape((128, 128), HALF)]
    return lambda a, b: ops.matmul_kernel(a, b, config), operands


def ragged_dot():
    from jax.experimental.pallas.ops.gpu import ragged_dot_mgpu as ops

    blocks = {"block_m": 64, "block_n": 64, "block_k": 64}
    options = {**blocks, "max_concurrent_steps": 2, "grid_block_n": 2}
    operands = [
        Shape((128, 128), HALF),
        Shape((2, 128, 128), HALF),
        Shape((2,), jnp.int32),
    ]
    return lambda a, b, g: ops.ragged_dot(a, b, group_sizes=g, **options), operands


def transposed_ragged_dot():
    from jax.experimental.pallas.ops.gpu import transposed_ragged_dot_mgpu as ops

    blocks = {"block_m": 64, "block_n": 64, "block_k": 64}
    options = {**blocks, "max_concurrent_steps": 2, "grid_block_n": 2}
    operands = [Shape((128, 128), HALF)] * 2 + [Shape((2,), jnp.int32)]
    return (
        lambda a, b, g: ops.transposed_ragged_dot(a, b, group_sizes=g, **options),
        operands,
    )


def mixed_type_matmul():
    from jax.experimental.pallas.ops.gpu import hopper_mixed_type_matmul_mgpu as ops

    config = ops.TuningConfig(tile_m=64, tile_n=64, tile_k=64, max_concurrent_steps=2)
    operands = [Shape((128, 128), jnp.int8), Shape((128, 128), HALF)]
    return (
        lambda a, b: ops.mixed_matmul_kernel(a, b, out_dtype=HALF, config=config),
        operands,
    )


def pipeline():
    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1.0

    def kernel(x_ref, o_ref):
        pltpu.emit_pipeline(body, grid=(2,), in_specs=[rows], out_specs=[rows])(
            x_ref, o_ref
        )

    def fn(x):
        anywhere = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(
            kernel, out_shape=x, in_specs=[anywhere], out_specs=anywhere
        )(x)

    return fn, [Shape((16, 128), jnp.float32)]


def grouped_matmul():
    from jax.experimental.pallas.ops.tpu import megablox

    operands = [
        Shape((256, 128), jnp.bfloat16),
        Shape((2, 128, 128), jnp.bfloat16),
        Shape((2,), jnp.int32),
    ]
    return lambda a, b, g: megablox.gmm(a, b, g), operands


def flash_attention():
    from jax.experimental.pallas.ops.tpu import flash_attention as ops

    return ops.flash_attention, [Shape((1, 1, 128, 128), jnp.float32)] * 3


def splash_attention():
    from jax.experimental.pallas.ops.tpu import splash_attention as ops

    mask = ops.MultiHeadMask([ops.CausalMask((128, 128))] * 2)
    blocks = ops.BlockSizes(block_q=128, block_kv=128, block_kv_compute=128)
    fn = ops.make_splash_mha_single_device(mask, block_sizes=blocks)
    return fn, [Shape((2, 128, 128), jnp.float32)] * 3


SHIPPED = {
    hopper_matmul: "h100",
    attention: "h100",
    causal_attention: "h100",
    blackwell_matmul: "b200",
    ragged_dot: "h100",
    transposed_ragged_dot: "h100",
    mixed_type_matmul: "h100",
    pipeline: "v5e",
    grouped_matmul: "v5e",
    flash_attention: "v5p",
    splash_attention: "v6e",
}


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("make", SHIPPED)
def test_shipped_kernel_traces_and_is_captured(make, chosen):
    # They mix dtypes as JAX allows by default.
    with jax.numpy_dtype_promotion("standard"):
        names = []

        def on_launch(call, arrays):
            names.append(call.name)
            return [np.zeros(aval.shape, aval.dtype) for aval in call.out_avals]

        with pretend(SHIPPED[make] if chosen else None, cores=4):
            fn, operands = make()
            arrays = [jnp.ones(shape.shape, shape.dtype) for shape in operands]
            run_captured(fn, arrays, {}, on_launch)
    assert len(names) == 1


def test_traced_kernel_shows_the_pretended_cores():
    grids = []

    def on_launch(call, arrays):
        grids.append(dict(call.params["meshes"][0].shape))
        return [np.zeros(aval.shape, aval.dtype) for aval in call.out_avals]

    for cores in (4, 2):
        with pretend("h100", cores):
            fn, operands = hopper_matmul()
            arrays = [jnp.ones(shape.shape, shape.dtype) for shape in operands]
            run_captured(fn, arrays, {}, on_launch)
    assert [4 in grids[0].values(), 2 in grids[1].values()] == [True, True]


def test_questions_inside_shard_map_are_answered_too():
    if len(jax.devices()) < 2:
        pytest.skip("needs two devices")
    mesh = Mesh(np.array(jax.devices()[:2]), ("i",))
    spec = PartitionSpec("i")
    found = []

    def fn(x):
        found.append(jax.sharding.get_abstract_mesh().abstract_device.num_cores)
        return x

    sharded = jax.shard_map(fn, mesh=mesh, in_specs=spec, out_specs=spec)
    with pretend("h100", cores=4):
        jax.make_jaxpr(sharded)(jnp.ones(4))
    assert found == [4]
    assert privates.mesh.AbstractDevice("cpu", None, "cpu").num_cores is None
