"""Kernels that hang in GPU interpret mode: JAX is asked in a process that can be ended.

The process first runs the twin, which comes back, and then the kernel, which does not.
All are asked at the same time, as each is waited for in vain.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

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


@contextlib.contextmanager
def asked(name):
    """A process of JAX's own that runs the pair; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, name],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", sorted(HANGING))
def test_hang_is_foreseen_and_none_of_its_twin(name):
    hangs, comes_back = map(recorded, PAIRS[name])
    assert "PD320" in {one.code for one in pldb.check(hangs, select="PD3").findings}
    assert not pldb.check(comes_back, select="PD3").findings


@pytest.mark.slow
def test_jax_hangs_as_foreseen_and_its_twin_comes_back():
    with contextlib.ExitStack() as stack:
        pairs = {name: stack.enter_context(asked(name)) for name in sorted(HANGING)}
        twins = {name: process.stdout.readline() for name, process in pairs.items()}
        assert twins == dict.fromkeys(pairs, "came back\n")
        time.sleep(PATIENCE)
        ended = {name for name, process in pairs.items() if process.poll() is not None}
        assert not ended, {name: pairs[name].stdout.read() for name in ended}


@pytest.mark.parametrize("name", sorted(HANGING & WAITING))
def test_table_says_what_stops_it_and_who_waits(name):
    fn, args = PAIRS[name][0](interpret=None)
    options = pldb.Options(unsupported="stub")
    row = pldb.portability(fn, *args, options=options)["GPU interpret mode"]
    assert (row.status, row.code) == ("hangs", "PD320")
    assert "stops warpgroup 1 of block (0,) before it does what warpgroup 0" in row.why
    assert "refusal" in row.hint
    assert "barrier_wait" in row.loc.text
