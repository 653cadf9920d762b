"""What JAX computes during a call to the host it computes on a CPU of our own."""

import os
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest

from pallas_debug.jaxlink import apart

SETTING = """
    import faulthandler, sys
    faulthandler.dump_traceback_later(100, exit=True)
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import pallas as pl
    from jax.sharding import AxisType, PartitionSpec as P
    import pallas_debug as pldb

    def body(x_ref, o_ref):
        x = x_ref[...]
        # Large enough that XLA does not compute them in the thread that asks.
        o_ref[...] = jax.lax.erf(jnp.tanh(x)) @ x + jnp.sum(x)

    def launch(x):
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(body, out_shape=out)(x)

    mesh = jax.make_mesh((2,), ("d",), axis_types=(AxisType.Auto,))
    kinds = dict(mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False)
"""

SCRIPT = (
    SETTING
    + """
    @jax.jit
    @jax.shard_map(**{**kinds, "out_specs": P()})
    def fn(x):
        return jax.lax.psum(launch(launch(x)) * 0.01, "d")

    x = jnp.arange(1024 * 512, dtype=jnp.float32).reshape(1024, 512) % 3 * 0.01
    wanted = pldb.trace(fn, x, options=pldb.Options(exact=True)).outputs
    for _ in range(2):
        with pldb.recording(pldb.Options(exact=sys.argv[1] == "exact")) as rec:
            found = fn(x)
        assert len(rec.trace.launches) == 4
        assert {one.outcome.kind for one in rec.trace.launches} == {"finished"}
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    print("done")
"""
)


def run_on_two_devices(script, *words):
    """Runs a script that says `done`; gives what else it said."""
    flags = "--xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *words],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.stdout.strip() == "done", done.stderr[-2000:]
    return done.stderr


@pytest.mark.parametrize("arithmetic", ["exact", "fast"])
def test_two_devices_do_not_wait_for_each_other(arithmetic):
    run_on_two_devices(SCRIPT, arithmetic)


DISCARDED = (
    SETTING
    + """
    def small(x):
        return launch(jnp.sin(x.T @ x @ x.T @ x)[:8, :8])

    fn = jax.jit(jax.shard_map(small, **kinds))
    x = jnp.ones((800, 400))
    for _ in range(2):
        with pldb.recording() as rec:
            fn(x)
        assert len(rec.trace.launches) == 2, rec.trace.launches
        assert {one.outcome.kind for one in rec.trace.launches} == {"finished"}
    print("done")
"""
)


def test_launches_whose_results_are_discarded_are_waited_for():
    assert not run_on_two_devices(DISCARDED)


STOPPED = (
    SETTING
    + """
    from pallas_debug.jaxlink.recording import recording

    def on_launch(call, arrays):
        raise KeyError("mine")

    fn = jax.jit(jax.shard_map(lambda x: launch((x.T @ x)[:8, :8]), **kinds))
    try:
        with recording(on_launch):
            fn(jnp.ones((800, 400)))
    except KeyError:
        print("done")
"""
)


def test_stopped_launch_is_not_told_once_more_when_python_exits():
    assert not run_on_two_devices(STOPPED)


def test_operands_are_computed_apart_only_within():
    double = jax.jit(lambda x: x * 2)
    x = np.ones(3, np.float32)
    with apart.computing():
        inside = double(x)
        assert apart.cpu().client is not jax.devices("cpu")[0].client
    assert {d.client for d in inside.devices()} != {jax.devices("cpu")[0].client}
    assert double(x).devices() == {jax.devices("cpu")[0]}
    assert apart.cpu() == jax.devices("cpu")[0]
    np.testing.assert_array_equal(inside, x * 2)
