"""Dynamic slices, gather and scatter: clamping, modes, batches, repeated places."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jaxlink.test_evaluate import agree

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
OUTSIDE = np.int32([[0, 1], [-1, 2], [1, 5], [-7, 0], [2, 2]])
MODES = ["clip", "fill", "promise_in_bounds"]


@pytest.mark.parametrize("start", [-5, 0, 1, 2, 9])
def test_dynamic_slice_clamps_its_start(start):
    agree(lambda x, i: lax.dynamic_slice(x, (0, i, i), (2, 2, 3)), X, jnp.int32(start))
    agree(lambda x, i: lax.dynamic_slice(x, (i,), (3,)), X[0, 0], jnp.int8(start))
    agree(lambda x, i: x[:, i], X, jnp.int32(start))


@pytest.mark.parametrize("start", [-5, 0, 1, 2, 9])
def test_dynamic_update_slice_clamps_its_start(start):
    def fn(x, y, i):
        return lax.dynamic_update_slice(x, y, (0, i, i))

    agree(fn, X, np.full((2, 2, 3), -1, np.float32), jnp.int32(start))
    agree(lambda x, i: x.at[1, 1, i].set(9), X, jnp.int32(start))


@pytest.mark.parametrize("mode", MODES[:2])
def test_gather_modes(mode):
    for fn in (
        lambda x, k: x.at[:, k[:, 0]].get(mode=mode),
        lambda x, k: x.at[k[:, 0], :, k[:, 1]].get(mode=mode),
        lambda x, k: x.at[k[:, :1], k[:, 1][None], 2].get(mode=mode),
        lambda x, k: jnp.take(x, k, axis=2, mode=mode),
    ):
        agree(fn, X, OUTSIDE)


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.uint8, jnp.bool_, jnp.bfloat16])
def test_gather_fills_by_type(dtype):
    x = (X[0] > 3).astype(dtype)
    agree(lambda x, k: x.at[k].get(mode="fill"), x, np.int32([0, 3, 2]))


def test_gather_with_fill_value():
    agree(lambda x, k: x.at[k].get(mode="fill", fill_value=-3), X, np.int32([0, 7]))


def test_gather_along_batch():
    order = np.argsort(-X, axis=1).astype(np.int32)
    agree(lambda x, k: jnp.take_along_axis(x, k, 1), X, order)
    agree(jax.vmap(lambda x, k: x[k]), X, np.int32([[0, 1], [2, 2]]))


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("op", ["set", "add", "multiply", "min", "max", "subtract"])
def test_scatter_modes(op, mode):
    y = np.arange(20.0, dtype=np.float32).reshape(5, 4) - 7

    def rows(x, k, y):
        return getattr(x.at[k[:, 0], k[:, 1]], op)(y, mode=mode)

    def columns(x, k, y):
        return getattr(x.at[:, k[:, 1], k[:, 0]], op)(y[:, 0], mode=mode)

    agree(rows, X, OUTSIDE, y)
    agree(columns, X, OUTSIDE, y)


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.bfloat16, jnp.uint8])
def test_scatter_of_repeated_places(dtype):
    x, y = np.ones(4, dtype), np.arange(1, 7).astype(dtype)
    k = np.int32([0, 2, 2, 0, 2, 9])
    for op in ("set", "add", "multiply", "max"):
        agree(lambda x, k, y, op=op: getattr(x.at[k], op)(y), x, k, y)


def test_scatter_along_batch():
    k = np.int32([[0, 1], [2, 2]])
    agree(jax.vmap(lambda x, k, y: x.at[k].add(y)), X, k, X[:, :2])
    agree(jax.vmap(lambda x, k: x.at[k, 1].set(5.0)), X, k)


def test_scatter_of_scalar_update():
    agree(lambda x, k: x.at[k].add(1.0), np.zeros(4, np.float32), jnp.int32(2))
    agree(lambda x, k: x.at[k].set(1.0), np.zeros((2, 4), np.float32), jnp.int32(5))


def test_empty_indices():
    k = np.zeros((0,), np.int32)
    agree(lambda x, k: x[k], X, k)
    agree(lambda x, k: x.at[k].add(1.0), X, k)


@st.composite
def windows(draw):
    """An operand shape, window sizes, an index map and indices that may lie outside."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    sizes = tuple(draw(st.integers(1, n)) for n in shape)
    dims = draw(st.permutations(range(len(shape))))
    moved = tuple(dims[: draw(st.integers(1, len(shape)))])
    gone = tuple(sorted(d for d in moved if sizes[d] == 1 and draw(st.booleans())))
    batch = draw(st.integers(0, 3))
    flat = st.lists(
        st.integers(-3, 5), min_size=batch * len(moved), max_size=batch * len(moved)
    )
    indices = np.array(draw(flat), np.int32).reshape(batch, len(moved))
    return shape, sizes, moved, gone, indices


@settings(max_examples=15, deadline=None)
@given(windows(), st.sampled_from(MODES[:2]), st.integers(0, 3))
def test_gather_of_any_window(case, mode, first):
    shape, sizes, moved, gone, indices = case
    kept = len(shape) - len(gone)
    offsets = [i for i in range(kept + 1) if i != min(first, kept)]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(offsets), collapsed_slice_dims=gone, start_index_map=moved
    )
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    agree(lambda x, k: lax.gather(x, k, numbers, sizes, mode=mode), x, indices)


@settings(max_examples=15, deadline=None)
@given(windows(), st.sampled_from(MODES[:2]), st.sampled_from(["", "_add", "_max"]))
def test_scatter_of_any_window(case, mode, op):
    shape, sizes, moved, gone, indices = case
    kept = tuple(n for d, n in enumerate(sizes) if d not in gone)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, 1 + len(kept))),
        inserted_window_dims=gone,
        scatter_dims_to_operand_dims=moved,
    )
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    y = -np.arange(len(indices) * np.prod(kept, dtype=int), dtype=np.int32)
    y = y.reshape(len(indices), *kept)
    scatter = getattr(lax, "scatter" + op)
    agree(lambda x, k, y: scatter(x, k, y, numbers, mode=mode), x, indices, y)
