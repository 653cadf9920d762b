"""Every check over every correct kernel that is here: no error, and no warning.

The kernels that JAX ships are asked in `jaxlink/test_*_shipped.py`. A kernel of `refused/`
is there for what JAX says of it, and some do store a part of their output only, or the
same row from each thread: that is said, and looked up here in another way.
"""

import importlib
import importlib.util
import pathlib

import jax
import pytest
from refused import PAIRS

import pallas_debug as pldb
from pallas_debug import gallery
from pallas_debug.checks import Severity
from pallas_debug.trace import fold

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"
CASES = sorted(path.stem for path in BENCHMARKS.with_name("tests").glob("cases/h*.py"))
# Tensor memory is read as it is; the exponential of 89 is infinite in float32.
TRUE = {"load_reduce": "PD102", "tpu_cumsum": "PD401"}


@pytest.fixture(autouse=True)
def promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def alarms(trace):
    """Errors and warnings; what JAX itself would refuse is another matter."""
    found = pldb.check(trace).findings
    bad = [one for one in found if one.severity is not Severity.INFO]
    return [one for one in bad if not one.code.startswith("PD3")]


@pytest.mark.parametrize("name", gallery.ENTRIES)
def test_fixed_kernel_of_the_gallery_raises_none(name):
    fn, args = gallery.ENTRIES[name].fixed()
    assert not alarms(pldb.trace(fn, *args))


@pytest.mark.parametrize("case", CASES)
def test_fixed_case_raises_none(case):
    options = pldb.Options(chip="v5e" if case.startswith("h03") else None)
    fn, args = importlib.import_module(f"cases.{case}").fixed()
    assert not alarms(pldb.trace(fn, *args, options=options))


@pytest.mark.parametrize("name", PAIRS)
def test_kernel_that_jax_takes_raises_only_what_is_true(name):
    fn, args = PAIRS[name][1](interpret=False)
    trace = pldb.trace(fn, *args, options=pldb.Options(unsupported="stub"))
    for one in alarms(trace):
        assert one.code == TRUE.get(name) or is_meant(trace, one), one


def is_meant(trace, one):
    """Whether an output has unset elements, or all threads store by one line."""
    if one.code == "PD103":
        return not fold.memory(trace, one.details["array"]).initialized.all()
    return one.code == "PD202" and one.loc == one.other and len(one.threads) == 2


@pytest.fixture
def benchmarks(monkeypatch):
    """The kernels of the benchmarks, whose module has the name of one of ours."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    place = BENCHMARKS / "kernels.py"
    spec = importlib.util.spec_from_file_location("benchmark_kernels", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", "abcdef")
def test_kernel_of_the_benchmarks_raises_none(benchmarks, name):
    case = benchmarks.build(name, 8)
    assert not alarms(pldb.trace(case.run, *case.inputs))
