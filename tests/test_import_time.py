"""`import pallas_debug` is cheap: it loads no heavy dependency."""

import json
import subprocess
import sys

import pytest

HEAVY = ("jax", "numpy", "IPython", "anywidget", "matplotlib", "tqdm")

SCRIPT = """
import json, sys, time
start = time.perf_counter()
import pallas_debug
seconds = time.perf_counter() - start
dir(pallas_debug)
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def fresh_import():
    """What a fresh interpreter has loaded after `import pallas_debug`."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", HEAVY)
def test_import_loads_no_heavy_dependency(fresh_import, name):
    loaded = [m for m in fresh_import["modules"] if m.partition(".")[0] == name]
    assert loaded == []


def test_import_time_is_reported(fresh_import, record_property):
    # A benchmark beside a target (0.2 s), not an assertion: machines differ.
    record_property("import_seconds", fresh_import["seconds"])
    assert fresh_import["seconds"] > 0
