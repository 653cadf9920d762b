"""A CPU of our own, for what JAX computes while it waits for a call to the host.

JAX's own CPU devices may be busy until that call returns: one that is asked to compute
meanwhile never answers (seen in 0.10.2 with two devices). This one has a client, queues
and threads of its own.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import jax

from pallas_debug.jaxlink import privates


def computing() -> contextlib.AbstractContextManager[Any]:
    """Within it, NumPy operands of this thread are computed on the CPU apart."""
    return jax.default_device(_device())


def cpu() -> Any:
    """The CPU that this thread computes on."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if getattr(device, "platform", "") == "cpu":
        return device
    return jax.local_devices(backend="cpu")[0]


@functools.cache
def _device() -> Any:
    client = privates.xla_client.make_cpu_client(asynchronous=False, num_devices=1)
    return client.local_devices()[0]
