"""Kernels for a TPU's SparseCore, against plain jnp: JAX has no interpreter for them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import tpu_sc as plsc
from jaxlink import differential
from jaxlink.differential import floats, out

import pallas_debug as pldb

LANES, SUBCORES = 16, 16
traced = functools.partial(differential.traced, chip="v7x")


def on_subcores(body, out_type, *scratch):
    """The mesh asks the chip, so it is made while the function is traced."""

    def run(*args):
        mesh = plsc.VectorSubcoreMesh(
            core_axis_name="core", subcore_axis_name="subcore", num_cores=1
        )
        kernel = pl.kernel(body, out_type=out_type, mesh=mesh, scratch_types=scratch)
        return kernel(*args)

    return jax.jit(run)


def mine(rows=1):
    return pl.ds(lax.axis_index("subcore") * rows, rows)


def numbers(*shape, high, seed=0):
    return jnp.asarray(np.random.default_rng(seed).integers(0, high, shape), jnp.int32)


def on_one_vector(body, dtype=jnp.float32):
    """Each subcore applies `body` to a vector of 16."""

    def kernel(x, o, tile, result):
        pltpu.sync_copy(x.at[mine()], tile)
        body(tile.at[0], result.at[0])
        pltpu.sync_copy(result, o.at[mine()])

    tiles = [pltpu.VMEM((1, LANES), dtype)] * 2
    return on_subcores(kernel, out(SUBCORES, LANES, dtype=dtype), *tiles)


def test_a_copy_takes_its_indices_from_memory():
    def kernel(x, i, o, indices, tile):
        pltpu.sync_copy(i.at[mine(8)], indices)
        pltpu.sync_copy(x.at[indices], tile)
        pltpu.sync_copy(tile, o.at[mine(8)])

    run = on_subcores(
        kernel,
        out(128, 128),
        pltpu.VMEM((8,), jnp.int32),
        pltpu.VMEM((8, 128), jnp.float32),
    )
    x, i = floats(64, 128), numbers(128, high=64)
    trace = traced(run, x, i)
    np.testing.assert_array_equal(trace.outputs, x[i])
    assert {launch.backend for launch in trace.launches} == {"tpu"}
    assert not pldb.check(trace).errors


def test_a_copy_scatters_to_a_part_of_the_indices_in_memory():
    def kernel(x, i, o, indices, tile):
        pltpu.sync_copy(i.at[mine(8)], indices)
        pltpu.sync_copy(x.at[mine(8)], tile)
        pltpu.sync_copy(tile.at[pl.ds(0, 4)], o.at[indices.at[pl.ds(0, 4)]])
        pltpu.sync_copy(tile.at[pl.ds(4, 4)], o.at[indices.at[pl.ds(4, 4)]])

    run = on_subcores(
        kernel,
        out(128, 128),
        pltpu.VMEM((8,), jnp.int32),
        pltpu.VMEM((8, 128), jnp.float32),
    )
    order = jnp.asarray(np.random.default_rng(1).permutation(128), jnp.int32)
    x = floats(128, 128)
    trace = traced(run, x, order)
    np.testing.assert_array_equal(trace.outputs, jnp.zeros_like(x).at[order].set(x))


@pytest.mark.parametrize("masked", [False, True])
def test_gather_of_single_elements(masked):
    picked = np.arange(LANES)[::-1].copy()

    def body(tile, result):
        lanes = lax.iota(jnp.int32, LANES)
        mask = lanes < 5 if masked else None
        result[...] = jnp.zeros((LANES,), jnp.float32)
        found = plsc.load_gather(tile, [LANES - 1 - lanes], mask=mask)
        result[...] = jnp.where(lanes < 5, found, -1.0) if masked else found

    x = floats(SUBCORES, LANES)
    wanted = np.asarray(x)[:, picked]
    if masked:
        wanted = np.where(np.arange(LANES) < 5, wanted, -1.0)
    np.testing.assert_array_equal(traced(on_one_vector(body), x).outputs, wanted)


@pytest.mark.parametrize("add", [False, True])
def test_scatter_of_single_elements(add):
    def body(tile, result):
        lanes = lax.iota(jnp.int32, LANES)
        result[...] = jnp.ones((LANES,), jnp.float32)
        if add:
            plsc.addupdate_scatter(result, [lanes // 4], tile[...])
        else:
            plsc.store_scatter(result, [LANES - 1 - lanes], tile[...], mask=lanes > 2)

    x = np.asarray(floats(SUBCORES, LANES))
    wanted = np.ones_like(x)
    if add:
        wanted[:, :4] += x.reshape(SUBCORES, 4, 4).sum(2)
    else:
        wanted[:, : LANES - 3] = x[:, ::-1][:, : LANES - 3]
    np.testing.assert_array_equal(traced(on_one_vector(body), x).outputs, wanted)


SCANS = {
    "cumsum": (plsc.cumsum, lambda v: np.cumsum(np.where(v % 3 > 0, v, 0))),
    "cummax": (plsc.cummax, None),
    "population-count": (
        lambda v, mask: plsc.all_reduce_population_count(mask) + 0 * v,
        lambda v: np.full(LANES, (v % 3 > 0).sum()),
    ),
    "first-set": (
        lambda v, mask: plsc.all_reduce_ffs(mask) + 0 * v,
        lambda v: np.full(LANES, np.argmax(v % 3 > 0)),
    ),
}


def highest_so_far(v):
    on, best, result = v % 3 > 0, None, []
    for value, counts in zip(v.tolist(), on.tolist(), strict=True):
        if counts:
            best = value if best is None else max(best, value)
        result.append(value if best is None else best)
    return result


@pytest.mark.parametrize("name", SCANS)
def test_operations_along_the_lanes(name):
    ours, plain = SCANS[name]

    def body(tile, result):
        result[...] = ours(tile[...], mask=tile[...] % 3 > 0)

    x = np.asarray(numbers(SUBCORES, LANES, high=50, seed=3))
    wanted = [(plain or highest_so_far)(row) for row in x]
    trace = traced(on_one_vector(body, jnp.int32), x)
    np.testing.assert_array_equal(trace.outputs, wanted)


def test_parallel_loop_carries_values_and_writes():
    def body(tile, result):
        lanes = lax.iota(jnp.int32, LANES)
        result[...] = jnp.zeros((LANES,), jnp.float32)

        @plsc.parallel_loop(2, 10, step=3, carry=jnp.float32(1))
        def total(i, carried):
            result[...] += jnp.where(lanes == i, carried, 0.0)
            return carried * 2

        result[...] += total

    trace = traced(on_one_vector(body), floats(SUBCORES, LANES))
    wanted = np.full(LANES, 8.0)
    wanted[[2, 5, 8]] += [1, 2, 4]
    np.testing.assert_array_equal(trace.outputs, np.tile(wanted, (SUBCORES, 1)))


@pytest.mark.parametrize("policy", ["round-robin", "random", "last-first"])
@pytest.mark.parametrize("ordered", [True, False])
def test_barrier_orders_the_subcores(ordered, policy):
    def kernel(x, o, shared, tile):
        pltpu.sync_copy(x.at[mine()], tile)
        pltpu.sync_copy(tile, shared.at[mine()])
        if ordered:
            plsc.subcore_barrier()
        other = (lax.axis_index("subcore") + 1) % SUBCORES
        pltpu.sync_copy(shared.at[pl.ds(other, 1)], tile)
        pltpu.sync_copy(tile, o.at[mine()])

    row = (SUBCORES, LANES)
    run = on_subcores(
        kernel,
        out(*row),
        pltpu.VMEM_SHARED(row, jnp.float32),
        pltpu.VMEM((1, LANES), jnp.float32),
    )
    trace = traced(run, floats(*row), policy=policy)
    found = pldb.check(trace, select="PD2").by_code
    if ordered:
        wanted = np.roll(np.asarray(floats(*row)), -1, 0)
        np.testing.assert_array_equal(trace.outputs, wanted)
        assert not found
    else:
        assert "PD201" in found


def test_operation_without_a_rule_stops_at_its_line():
    def body(tile, result):
        result[...], _ = plsc.sort_key_val(tile[...], tile[...])

    x = floats(SUBCORES, LANES)
    trace = traced(on_one_vector(body), x, outcome="unsupported")
    (finding,) = pldb.check(trace, select="PD901").findings
    assert "sc.masked_sort" in finding.message
    assert "sort_key_val" in finding.loc.text


def test_reference_as_an_index_of_a_load_is_refused():
    def body(x_ref, i_ref, o_ref):
        o_ref[...] = x_ref.at[i_ref][...]

    call = pl.pallas_call(body, out_shape=out(8, 128))
    try:
        trace = pldb.trace(call, floats(32, 128), numbers(8, high=32))
    except (TypeError, ValueError, NotImplementedError):
        pytest.skip("this JAX refuses it, too")
    assert trace.launches[0].outcome.kind == "unsupported"
