"""Each kernel that something refuses, and its twin: the checks say what JAX does.

In GPU interpret mode and on the installed version; kernels that hang there are in
`test_refused_hangs.py`, the other targets are measured by `benchmarks/refusals.py`.
"""

import jax
import pytest
from jaxlink.refusals import HANGING, is_said
from refused import PAIRS, operations

import pallas_debug as pldb
from pallas_debug.jaxlink import targets
from pallas_debug.jaxlink.versions import JAX

MODE = targets.interpreters()[0]
FOR_GPU = [
    name
    for name in PAIRS
    if not name.startswith(("tpu_", "triton_")) and name not in HANGING
]


@pytest.fixture(autouse=True)
def promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def asked(build):
    def call():
        fn, args = build(interpret=MODE.interpret)
        jax.block_until_ready(fn(*args))

    return targets.attempted(MODE, "runs", call, 60)


@pytest.mark.parametrize("which", [0, 1], ids=["refused", "taken"])
@pytest.mark.parametrize("name", FOR_GPU)
def test_jax_does_what_is_foreseen(name, which):
    build = PAIRS[name][which]
    fn, args = build(interpret=MODE.interpret)
    try:
        trace = pldb.trace(fn, *args, options=pldb.Options(unsupported="stub"))
    except (ValueError, TypeError, AttributeError) as raised:
        error = type(raised).__name__, str(raised)
    else:
        error = None
    if error:
        attempt = asked(build)
        assert (attempt.exception, attempt.message) == error
        return
    found = [
        one
        for one in pldb.check(trace, select="PD3").findings
        if one.details.get("exception") and one.details["where"] == MODE.name
    ]
    attempt = asked(build)
    if attempt.status == "runs":
        assert not found
    else:
        assert any(is_said(one, attempt) for one in found), (attempt, found)


@pytest.mark.skipif(JAX < (0, 12, 0), reason="there are no such views")
def test_copy_of_windows_of_an_image_is_confirmed():
    attempt = asked(operations.PAIRS["image"][0])
    assert attempt.message == "Interpret mode does not support im2col copies."


@pytest.mark.skipif(JAX < (0, 12, 0), reason="there is no such copy, or no such memory")
def test_copy_of_a_pair_of_blocks_to_tensor_memory_is_confirmed():
    attempt = asked(operations.PAIRS["copy_to_tensor_memory"][0])
    assert attempt.message == "Collective axis not supported for copy yet"
