"""What the source panel says of each line: how often it was executed, not its parts."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

import pallas_debug as pldb
from pallas_debug.views.bundle_tables import lines
from pallas_debug.views.sources import Sources


def kernel(x_ref, o_ref):
    def body(i, total):
        o_ref[i] = x_ref[i] + total  # one read and one write each time
        return total + 1

    jax.lax.fori_loop(0, 4, body, jnp.float32(0))


def test_line_that_reads_and_writes_is_executed_once_each_time():
    x = jnp.zeros((4, 8), jnp.float32)
    trace = pldb.trace(pl.pallas_call(kernel, out_shape=x), x)
    kernels = [launch.kernel for launch in trace.launches]
    counts = {row[2]: row[3:] for row in lines(trace, kernels, Sources(kernels))}
    locs = [event.loc for event in trace.events]
    (line,) = {loc.line for loc in locs if loc is not None and loc.function == "body"}
    assert counts[line] == [4, 4 * 32, 4 * 32, 0]
