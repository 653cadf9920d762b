"""A strict environment: CPU only, two devices, no implicit promotion."""

import os

# Before anything imports jax.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.pop("PALLAS_DEBUG_FULL_TRACEBACK", None)

import pytest


def pytest_collection_modifyitems(config, items):
    """Skips device tests unless they are asked for with `-m device`."""
    if "device" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="needs an accelerator: run with -m device")
    for item in items:
        if "device" in item.keywords:
            item.add_marker(skip)
