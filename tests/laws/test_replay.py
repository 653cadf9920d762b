"""Law 11, replay: where it happens, nobody can tell.

Over generated tapes with many blocks, over kernels that are written as real ones are,
and over real ones: of the benchmarks, of the gallery, and that JAX ships.
"""

import importlib.util
import pathlib

import jax
import jax.numpy as jnp
import kernels
import pytest
from hypothesis import HealthCheck, given, settings
from jaxlink import shipped
from laws.generated import WIDE_LAUNCHES
from laws.machine_laws import replays_alike

import pallas_debug as pldb
from pallas_debug import gallery

BENCHMARKS = pathlib.Path(__file__).parents[2] / "benchmarks"


@given(launch=WIDE_LAUNCHES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_replay_of_a_generated_tape_is_the_same(launch):
    replays_alike(launch, {})


@pytest.mark.parametrize("limit", [1, 40, 41, 42, 43, 100])
@given(launch=WIDE_LAUNCHES)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_replay_stops_at_the_same_event(limit, launch):
    replays_alike(launch, {"max_events": limit})


WIDE = [
    lambda: kernels.elementwise((4, 6)),
    lambda: kernels.matmul(4),
    lambda: kernels.copy_compute_copy(20),
    lambda: kernels.masked_sum(18),
]


@pytest.mark.parametrize("make", WIDE)
def test_replay_of_a_kernel_is_the_same(make):
    run = replays_alike(make(), {})
    assert run.replay.ways


@pytest.mark.parametrize("make", WIDE)
def test_replay_of_chosen_blocks_is_the_same(make):
    replays_alike(make(), {"blocks": [0, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15]})


def launches(fn, *args, **options):
    trace = pldb.trace(fn, *args, options=pldb.Options(values="none", **options))
    return [launch.source for launch in trace.launches]


def benchmark(name, blocks):
    """A kernel of the benchmarks, whose module has the name of one of ours."""
    path = BENCHMARKS / "kernels.py"
    spec = importlib.util.spec_from_file_location("benchmark_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build(name, blocks)


@pytest.mark.parametrize("name", "abcdef")
def test_replay_of_a_benchmark_is_the_same(name, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    case = benchmark(name, 16)
    (launch,) = launches(case.run, *case.inputs)
    run = replays_alike(launch, {})
    assert run.replay.ways
    assert run.program.encores.batches
    assert case.is_right(run.results()[0])


@pytest.mark.parametrize("name", list(gallery.ENTRIES))
def test_replay_of_the_gallery_is_the_same(name):
    entry = gallery.ENTRIES[name]
    for make in (entry.faulty, entry.fixed):
        fn, args = make()
        for launch in launches(fn, *args):
            replays_alike(launch, {})


def attention():
    module = shipped.module("tpu.flash_attention")
    q, k, v = (shipped.normal(seed, 1, 2, 512, 128) for seed in range(3))
    sizes = module.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1)
    return lambda q, k, v: module.flash_attention(
        q, k, v, causal=True, block_sizes=sizes
    ), (q, k, v)


def layer_norm():
    module = shipped.module("gpu.layer_norm")
    x, weight, bias = (
        shipped.normal(seed, *shape)
        for seed, shape in enumerate([(4, 16, 64), (64,), (64,)])
    )
    return module.layer_norm, (x, weight, bias)


def softmax():
    module = shipped.module("gpu.softmax")
    return module.softmax, (shipped.normal(0, 16, 100),)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [attention, layer_norm, softmax])
def test_replay_of_a_shipped_kernel_is_the_same(make):
    fn, args = make()
    for launch in launches(jax.jit(fn), *map(jnp.asarray, args)):
        assert replays_alike(launch, {}).replay.ways
