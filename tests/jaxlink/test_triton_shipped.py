"""The Triton-style kernels that JAX ships, unmodified, against its references."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jaxlink.shipped import assert_close, assert_differentiable, module, normal
from jaxlink.shipped import recorded as recorded_on

recorded = functools.partial(recorded_on, "triton")
attention = module("gpu.attention")
decode_attention = module("gpu.decode_attention")
layer_norm = module("gpu.layer_norm")
paged_attention = module("gpu.paged_attention")
rms_norm = module("gpu.rms_norm")
softmax = module("gpu.softmax")


pytestmark = pytest.mark.usefixtures("loose_promotion")


@pytest.mark.parametrize("shape", [(3, 50), (2, 3, 64)])
def test_softmax_equals_the_reference(shape):
    x = normal(0, *shape)
    assert_close(recorded(softmax.softmax, x), jax.nn.softmax(x))


@pytest.mark.parametrize(
    ("norm", "reference"),
    [
        (layer_norm.layer_norm, layer_norm.layer_norm_reference),
        (rms_norm.rms_norm, rms_norm.rms_norm_reference),
    ],
)
def test_norm_equals_the_reference_forward_and_backward(norm, reference):
    args = normal(0, 2, 3, 96), normal(1, 96), normal(2, 96)
    assert_close(recorded(norm, *args), reference(*args))
    weights = normal(3, 2, 3, 96)
    assert_differentiable(recorded, norm, reference, args, weights, 1e-4)


BLOCKS = attention.BlockSizes(
    block_q=16,
    block_k=16,
    block_q_dkv=16,
    block_kv_dkv=16,
    block_q_dq=16,
    block_kv_dq=16,
)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("segmented", [False, True])
def test_attention_equals_the_reference_forward_and_backward(causal, segmented):
    *args, weights = (normal(i, 1, 32, 2, 16) for i in range(4))
    segments = jnp.asarray([[0] * 12 + [1] * 20], jnp.int32) if segmented else None
    kinds = {"segment_ids": segments, "causal": causal}
    kernel = functools.partial(attention.mha, block_sizes=BLOCKS, **kinds)
    reference = functools.partial(attention.mha_reference, **kinds)
    assert_differentiable(recorded, kernel, reference, args, weights, 1e-4)


def test_attention_of_a_head_that_is_no_power_of_two():
    q, k, v = (normal(i, 1, 32, 1, 24) for i in range(3))
    mha = functools.partial(attention.mha, segment_ids=None, block_sizes=BLOCKS)
    expected = attention.mha_reference(q, k, v, None)
    assert_close(recorded(mha, q, k, v), expected)


@pytest.mark.parametrize("bounded", [False, True])
def test_decode_attention_equals_the_reference(bounded):
    q, k, v = normal(0, 2, 8, 16), normal(1, 2, 64, 16), normal(2, 2, 64, 16)
    limits = {}
    if bounded:
        limits = {"start_idx": jnp.array([3, 0]), "kv_seq_len": jnp.array([40, 64])}
    mqa = functools.partial(decode_attention.mqa, block_k=16, k_splits=2, **limits)
    expected = decode_attention.mqa_reference(q, k, v, **limits)
    assert_close(recorded(mqa, q, k, v), expected, 1e-4)


def test_grouped_decode_attention_equals_the_reference():
    q, k, v = normal(0, 2, 8, 16), normal(1, 2, 32, 2, 16), normal(2, 2, 32, 2, 16)
    gqa = functools.partial(decode_attention.gqa, block_k=16, k_splits=2)
    expected = decode_attention.gqa_reference(q, k, v)
    assert_close(recorded(gqa, q, k, v), expected, 1e-4)


def test_paged_attention_equals_the_reference():
    q = normal(0, 2, 4, 16)
    k_pages, v_pages = normal(1, 2, 8, 8, 16), normal(2, 2, 8, 8, 16)
    tables = jnp.asarray([[3, 1, 4, 0], [5, 2, 6, 7]], jnp.int32)
    lengths = jnp.asarray([19, 32], jnp.int32)

    def gathered(pages):
        taken = pages[:, tables]  # heads, batch, pages, page, dim
        return taken.transpose(1, 2, 3, 0, 4).reshape(2, 32, 2, 16)

    kernel = functools.partial(
        paged_attention.paged_attention, pages_per_compute_block=2, k_splits=2
    )
    expected = paged_attention.paged_attention_reference(
        q, gathered(k_pages), gathered(v_pages), lengths
    )
    assert_close(recorded(kernel, q, k_pages, v_pages, tables, lengths), expected, 1e-4)
