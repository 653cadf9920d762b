"""The TPU kernels that JAX ships, unmodified, against plain jnp and its references."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import tpu as pltpu
from jaxlink.shipped import assert_close, assert_differentiable, module, normal
from jaxlink.shipped import recorded as recorded_on

from pallas_debug.jaxlink.versions import JAX

recorded = functools.partial(recorded_on, "tpu")
flash = module("tpu.flash_attention")
matmul = module("tpu.matmul")
example = module("tpu.example_kernel")
gmm = module("tpu.megablox.gmm")


pytestmark = pytest.mark.usefixtures("loose_promotion")


def test_example_kernel_doubles():
    x = normal(0, 8, 128)
    assert_close(recorded_on("generic", example.double, x), 2 * x, 0)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_matmul_equals_jnp(dtype):
    x, y = normal(0, 256, 256, dtype=dtype), normal(1, 256, 128, dtype=dtype)
    kernel = functools.partial(matmul.matmul, block_shape=(128, 128), block_k=128)
    expected = jnp.dot(x, y, preferred_element_type=jnp.float32).astype(dtype)
    assert_close(recorded(kernel, x, y), expected, 1e-4 if x.itemsize == 4 else 0.05)


BLOCKS = flash.BlockSizes(
    **dict.fromkeys(flash.BlockSizes.__dataclass_fields__, 128) | {"block_b": 1}
)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("extra", ["", "segments", "bias"])
def test_flash_attention_equals_the_reference_forward_and_backward(causal, extra):
    q, k, v, weights = (normal(i, 1, 1, 256, 128) for i in range(4))
    bias = normal(5, 1, 1, 256, 256) if extra == "bias" else None
    ids = jnp.asarray([[0] * 100 + [1] * 156], jnp.int32)
    segments = flash.SegmentIds(ids, ids) if extra == "segments" else None
    kinds = {"ab": bias, "segment_ids": segments, "causal": causal}
    kernel = functools.partial(flash.flash_attention, block_sizes=BLOCKS, **kinds)
    reference = functools.partial(flash.mha_reference, **kinds)
    args = q * 0.1, k, v
    assert_differentiable(recorded, kernel, reference, args, weights, 1e-3)


@pytest.mark.parametrize("transposed", [False, True])
def test_grouped_matmul_equals_one_matmul_each_group(transposed):
    lhs, rhs = normal(0, 384, 128), normal(1, 3, 128, 256)
    sizes = jnp.asarray([100, 0, 284], jnp.int32)
    rhs_given = rhs.swapaxes(1, 2) if transposed else rhs
    kernel = functools.partial(gmm.gmm, transpose_rhs=transposed)
    expected = jnp.concatenate([lhs[:100] @ rhs[0], lhs[100:] @ rhs[2]])
    assert_close(recorded(kernel, lhs, rhs_given, sizes), expected, 1e-4)


def test_transposed_grouped_matmul_equals_one_matmul_each_group():
    lhs, rhs = normal(0, 128, 256), normal(1, 256, 128)
    sizes = jnp.asarray([70, 186], jnp.int32)
    expected = [lhs[:, :70] @ rhs[:70], lhs[:, 70:] @ rhs[70:]]
    actual = recorded(gmm.tgmm, lhs, rhs, sizes)
    assert_close(actual, jnp.stack(expected), 1e-4)


@pytest.mark.parametrize("heads", ["mha", "mqa"])
def test_splash_attention_equals_the_reference_forward_and_backward(heads):
    splash = module("tpu.splash_attention")
    kernel = module("tpu.splash_attention.splash_attention_kernel")
    names = [n for n in splash.BlockSizes.__dataclass_fields__ if n.startswith("block")]
    blocks = splash.BlockSizes(**dict.fromkeys(names, 128))
    mask = splash.MultiHeadMask([splash.CausalMask((256, 256))] * 2)
    make = getattr(splash, f"make_splash_{heads}_single_device")
    q, weights = normal(0, 2, 256, 128), normal(3, 2, 256, 128)
    shape = (2, 256, 128) if heads == "mha" else (256, 128)
    k, v = normal(1, *shape), normal(2, *shape)
    reference = kernel.make_attention_reference(
        mask=np.stack([np.tri(256, dtype=bool)] * 2), is_mqa=heads == "mqa"
    )
    attention = make(mask, block_sizes=blocks)
    args = q * 0.1, k, v
    # Before JAX 0.11 all heads, called parallel, share scratch that is an output.
    faults = ("PD104", "PD202") if JAX < (0, 11) else ()
    judged = functools.partial(recorded, faults=faults)
    assert_differentiable(judged, attention, reference, args, weights, 2e-3)


@pytest.mark.parametrize("inline", [False, True])
def test_paged_attention_equals_dense_attention(inline):
    paged = module("tpu.paged_attention.paged_attention_kernel")
    q = normal(0, 2, 8, 128) * 0.1
    # The kernel computes on bfloat16 pages.
    stored = normal(1, 2, 1, 8, 16, 128, dtype=jnp.bfloat16)
    pages = stored.astype(jnp.float32)
    tables = jnp.asarray([[3, 1, 4, 0], [5, 2, 6, 7]], jnp.int32)
    lengths = jnp.asarray([19, 64], jnp.int32)
    kernel = functools.partial(
        paged.paged_attention, pages_per_compute_block=2, inline_seq_dim=inline
    )
    actual = recorded(kernel, q, *pages, lengths, tables)
    for i, length in enumerate(lengths):
        k, v = (p[0, tables[i]].reshape(64, 128)[:length] for p in pages)
        expected = jax.nn.softmax(q[i] @ k.T) @ v
        assert_close(actual[i], expected, 1e-4)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_ragged_paged_attention_equals_the_reference(dtype):
    ragged = module("tpu.ragged_paged_attention.kernel")
    q = normal(0, 24, 4, 128, dtype=dtype) * 0.1
    pages = normal(1, 16, 16, 4, 128, dtype=dtype)
    lengths = jnp.asarray([40, 18, 64], jnp.int32)
    tables = jnp.asarray(np.arange(12).reshape(3, 4), jnp.int32)
    starts = jnp.asarray([0, 10, 11, 24], jnp.int32)
    args = (q, pages, lengths, tables, starts, jnp.asarray([3], jnp.int32))
    kernel = functools.partial(
        ragged.ragged_paged_attention,
        num_kv_pages_per_block=2,
        num_queries_per_block=8,
        vmem_limit_bytes=1 << 25,
    )
    expected = ragged.ref_ragged_paged_attention(*args)
    tolerance = 1e-4 if dtype == jnp.float32 else 0.02
    assert_close(recorded(kernel, *args), expected, tolerance)


def test_threefry_equals_the_bits_of_jax():
    threefry = module("tpu.random.threefry")
    words = jnp.asarray([3, 4], jnp.uint32)
    bits = functools.partial(
        threefry.plthreefry_random_bits, bit_width=32, shape=(200, 256)
    )
    with jax.threefry_partitionable(True):
        key = jax.random.wrap_key_data(words, impl="threefry2x32")
        expected = jax.random.bits(key, (200, 256))
    np.testing.assert_array_equal(recorded(bits, words), expected)


def test_philox_equals_the_bits_of_the_tpu_interpreter():
    philox = module("tpu.random.philox")
    words = jnp.asarray([3, 4], jnp.uint32)
    bits = functools.partial(philox.philox_random_bits, bit_width=32, shape=(128, 256))
    with pltpu.force_tpu_interpret_mode():
        expected = bits(words)
    np.testing.assert_array_equal(recorded(bits, words), expected)
