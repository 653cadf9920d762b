"""A strict environment: CPU only, two devices, no implicit promotion."""

import os

# Before anything imports jax.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.pop("PALLAS_DEBUG_FULL_TRACEBACK", None)

import pytest


@pytest.fixture(scope="module")
def browser():
    """A running headless Chromium; without one, or without a viewer, a skip."""
    from browser import chromium, launch

    from pallas_debug.views import scripts

    api = pytest.importorskip(
        "playwright.sync_api", reason="no playwright: pip install playwright"
    )
    if chromium() is None:
        pytest.skip("no Chromium: set CHROMIUM")
    if not scripts.is_built():
        pytest.skip("the viewer is not built")
    with api.sync_playwright() as playwright:
        running = launch(playwright)
        yield running
        running.close()


def pytest_collection_modifyitems(config, items):
    """Skips device tests unless they are asked for with `-m device`."""
    if "device" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="needs an accelerator: run with -m device")
    for item in items:
        if "device" in item.keywords:
            item.add_marker(skip)
