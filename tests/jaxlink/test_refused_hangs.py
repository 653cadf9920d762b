"""Kernels that hang in GPU interpret mode: JAX is asked in a process that can be ended.

The process first runs the twin, which comes back, and then the kernel, which does not.
"""

import os
import pathlib
import subprocess
import sys

import jax
import pytest
from jaxlink.refusals import HANGING, WAITING
from refused import PAIRS

import pallas_debug as pldb
from pallas_debug.jaxlink import targets

TESTS = pathlib.Path(__file__).resolve().parent.parent
PATHS = os.pathsep.join(map(str, (TESTS.parent, TESTS)))
MODE = targets.interpreters()[0]
PATIENCE = 8.0
SCRIPT = """
import sys

import jax

jax.config.update("jax_numpy_dtype_promotion", "standard")
from refused import PAIRS

from pallas_debug.jaxlink import targets

mode = targets.interpreters()[0].interpret
for build in reversed(PAIRS[sys.argv[1]]):
    fn, args = build(interpret=mode)
    try:
        jax.block_until_ready(fn(*args))
        print("came back", flush=True)
    except Exception as error:
        print("raised", type(error).__name__, flush=True)
"""


@pytest.fixture(autouse=True)
def promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def recorded(build):
    fn, args = build(interpret=MODE.interpret)
    return pldb.trace(fn, *args, options=pldb.Options(unsupported="stub"))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HANGING))
def test_jax_hangs_as_foreseen_and_its_twin_comes_back(name):
    hangs, comes_back = map(recorded, PAIRS[name])
    assert "PD320" in {one.code for one in pldb.check(hangs, select="PD3").findings}
    assert not pldb.check(comes_back, select="PD3").findings
    command = [sys.executable, "-c", SCRIPT, name]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS},
    )
    assert process.stdout.readline() == "came back\n"
    try:
        process.wait(PATIENCE)
        raise AssertionError(process.stdout.read())
    except subprocess.TimeoutExpired:
        pass  # that is what was foreseen
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", sorted(HANGING & WAITING))
def test_table_says_what_stops_it_and_who_waits(name):
    fn, args = PAIRS[name][0](interpret=None)
    options = pldb.Options(unsupported="stub")
    row = pldb.portability(fn, *args, options=options)["GPU interpret mode"]
    assert (row.status, row.code) == ("hangs", "PD320")
    assert "stops warpgroup 1 of block (0,) before it does what warpgroup 0" in row.why
    assert "refusal" in row.hint
    assert "barrier_wait" in row.loc.text
