"""Kernels that copy and signal between the devices of a mesh, against JAX's own modes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractMesh, AxisType, PartitionSpec
from jaxlink import differential
from jaxlink.differential import floats, out, same, traced
from laws.machine_laws import LAWS

import pallas_debug as pldb
from pallas_debug.gallery import gathering
from pallas_debug.jaxlink import privates
from pallas_debug.views import text

ANY = pl.BlockSpec(memory_space=pl.ANY)
DMA, REGULAR = pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR

agree = functools.partial(differential.agree, interpret=pltpu.InterpretParams())


def spread(fn, sizes=(2,), names=("x",), abstract=False):
    """A function on each device of a mesh; its first dimension is divided."""
    kinds = (AxisType.Auto,) * len(sizes)
    make = AbstractMesh if abstract else jax.make_mesh
    mesh = make(sizes, names, axis_types=kinds)
    spec = PartitionSpec(names)
    return jax.shard_map(fn, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)


def tpu(body, interpret=False, scratch=(DMA, DMA), shape=(8, 128), **params):
    params = {"in_specs": [ANY], "out_specs": ANY, "out_shape": out(*shape), **params}
    return pl.pallas_call(
        body,
        scratch_shapes=list(scratch),
        compiler_params=pltpu.CompilerParams(collective_id=0),
        interpret=interpret,
        **params,
    )


def neighbors(count, axis="x"):
    me = lax.axis_index(axis)
    return lax.rem(me + count - 1, count), lax.rem(me + 1, count)


def meet(count, axis="x", units=2):
    ready = pltpu.get_barrier_semaphore()
    for neighbor in neighbors(count, axis):
        pl.semaphore_signal(ready, 1, device_id={axis: neighbor})  # come
    pl.semaphore_wait(ready, units)


def passed_on(count, device_id):
    """To the right neighbor, named as `device_id` does."""

    def body(x_ref, o_ref, send, received):
        meet(count)
        right = neighbors(count)[1]
        copy = pltpu.make_async_remote_copy(
            x_ref, o_ref, send, received, **device_id(right)
        )
        copy.start()
        copy.wait()

    return body


IDS = {
    "logical": lambda right: {
        "device_id": right,
        "device_id_type": pl.DeviceIdType.LOGICAL,
    },
    "tuple": lambda right: {"device_id": (right,)},
    "named": lambda right: {"device_id": {"x": right}},
}


@pytest.mark.filterwarnings("ignore:.*(device_id_type|DeviceIdType) is deprecated")
@pytest.mark.parametrize("form", IDS)
def test_a_copy_to_the_neighbor_agrees(form):
    body = passed_on(2, IDS[form])
    trace = agree(lambda interpret: spread(tpu(body, interpret)), floats(16, 128))
    assert pldb.check(trace).findings == ()
    (launch,) = trace.launches
    assert launch.mesh == (2,)
    assert {row.device for row in trace.thread_rows if row.kind == "core"} == {0, 1}


def test_devices_of_an_abstract_mesh_need_no_hardware():
    fn = spread(tpu(passed_on(4, IDS["named"])), (4,), abstract=True)
    trace = traced(fn, floats(32, 128))
    same(trace.outputs, jnp.roll(floats(32, 128), 8, axis=0))
    assert "4 devices (x=4) together" in text.summary(trace, pldb.check(trace))


def test_what_is_around_a_kernel_is_computed_for_an_abstract_mesh():
    def fn(x):
        y = tpu(passed_on(2, IDS["named"]))(x)
        total = lax.psum(y, ("x", "y")) + lax.axis_index("y").astype(jnp.float32)
        return lax.ppermute(total, "y", [(0, 1), (1, 0)])

    got = traced(spread(fn, (2, 2), ("x", "y"), abstract=True), floats(32, 128))
    parts = floats(32, 128).reshape(4, 8, 128).sum(0)
    want = np.concatenate([parts + 1, parts, parts + 1, parts])
    same(got.outputs, want)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_copy_along_one_of_two_axes(axis):
    def body(x_ref, o_ref, send, received):
        meet(2, axis)
        there = {axis: neighbors(2, axis)[1]}
        copy = pltpu.make_async_remote_copy(
            x_ref, o_ref, send, received, device_id=there
        )
        copy.start()
        copy.wait()

    fn = spread(tpu(body), (2, 2), ("x", "y"), abstract=True)
    x = floats(32, 128)
    parts = np.asarray(x).reshape(2, 2, 8, 128)
    want = np.roll(parts, 1, axis="xy".index(axis)).reshape(32, 128)
    same(traced(fn, x).outputs, want)


def test_each_device_walks_its_own_grid():
    """Windows of a grid, and a remote copy between scratch buffers at each point."""

    def body(x_ref, o_ref, here, there, send, received):
        meet(2)
        here[...] = x_ref[...] + pl.program_id(0).astype(jnp.float32)
        copy = pltpu.make_async_remote_copy(
            here, there, send, received, device_id={"x": neighbors(2)[1]}
        )
        copy.start()
        copy.wait()
        o_ref[...] = there[...] * 2.0
        meet(2)

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    vmem = pltpu.VMEM((8, 128), jnp.float32)
    build = functools.partial(
        tpu,
        body,
        scratch=[vmem, vmem, DMA, DMA],
        grid=(3,),
        in_specs=[block],
        out_specs=block,
        shape=(24, 128),
    )
    trace = agree(lambda i: spread(build(interpret=i)), floats(48, 128))
    assert pldb.check(trace).findings == ()
    assert trace.launches[0].block_shape == (2, 3)
    points = trace.events.where(kind="grid")
    assert sorted(trace[int(e)].block for e in points) == sorted(np.ndindex(2, 3))
    local = [row for row in trace.threads if row.kind == "core"]
    assert [one.name for one in local] == ["core 0 on device 0", "core 0 on device 1"]
    assert len(trace.events.where(block=(1, 2), kind="grid")) == 1


def looked_at(early):
    """A device looks at what the neighbor sends: once it is there, or before."""

    def body(x_ref, o_ref, slot, send, received):
        meet(2)
        copy = pltpu.make_async_remote_copy(
            x_ref, slot, send, received, device_id={"x": neighbors(2)[1]}
        )
        copy.start()
        if not early:
            copy.wait()
        o_ref[...] = slot[...]
        if early:
            copy.wait()

    params = {"out_specs": pl.BlockSpec(memory_space=pltpu.VMEM)}
    scratch = [pltpu.VMEM((8, 128), jnp.float32), DMA, DMA]
    return functools.partial(tpu, body, scratch=scratch, **params)


def jax_finds_races(build, x):
    """What JAX's race detection says of a kernel on two devices."""
    from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter

    params = pltpu.InterpretParams(detect_races=True)
    try:
        jax.block_until_ready(jax.jit(spread(build(interpret=params)))(x))
        return bool(interpreter.races.races_found)
    except jax.errors.JaxRuntimeError as error:  # raised where it happens, since 0.12
        return "RACE DETECTED" in str(error)
    finally:
        privates.runtime_tokens.clear()  # the error is not the next test's
        pltpu.reset_tpu_interpret_mode_state()


@pytest.mark.parametrize("early", [False, True])
def test_a_slot_that_is_read_too_early_is_a_race_as_in_jax(early):
    x = floats(16, 128)
    trace = traced(spread(looked_at(early)()), x)
    report = pldb.check(trace)
    assert ("PD201" in {one.code for one in report.findings}) == early
    assert jax_finds_races(looked_at(early), x) == early
    if early:
        race = next(one for one in report.findings if one.code == "PD201")
        assert "on device 0 reads" in race.message
        assert "on device 1 writes it" in race.message
        assert "wait for the copy started at line" in race.hint
    else:
        same(trace.outputs, jnp.roll(x, 8, axis=0))


def test_some_interleaving_of_the_devices_shows_the_race():
    outputs = {}
    for asks in (False, True):
        fn, (x,) = gathering.case(meets=True, asks=asks)
        right = gathering.reference(x)
        outputs[asks] = [
            np.array_equal(traced(fn, x, policy="random", seed=s).outputs, right)
            for s in range(8)
        ]
    assert all(outputs[True])
    assert not all(outputs[False])


def test_devices_that_wait_for_each_other_are_named():
    def body(x_ref, o_ref, send, received):
        meet(2, units=3)
        pltpu.sync_copy(x_ref, o_ref)

    trace = traced(spread(tpu(body)), floats(16, 128), outcome="deadlock")
    report = pldb.check(trace)
    (finding,) = [one for one in report.findings if one.code == "PD210"]
    assert "core 0 on device 0 waits for 3 units" in finding.message
    assert "2 threads wait here" in finding.message
    names = {node["name"] for node in finding.details["graph"]["nodes"]}
    assert names == {"core 0 on device 0", "core 0 on device 1"}
    edges = {(e["from"], e["to"]) for e in finding.details["graph"]["edges"]}
    cores = [t.number for t in trace.threads if t.kind == "core"]
    assert edges >= {tuple(cores), tuple(reversed(cores))}


def test_a_device_that_the_mesh_does_not_have_is_named():
    def body(x_ref, o_ref, send, received):
        pl.semaphore_signal(received, 1, device_id={"x": 2})  # nobody
        pltpu.sync_copy(x_ref, o_ref)

    fn = spread(tpu(body, scratch=(REGULAR, REGULAR)))
    trace = traced(fn, floats(16, 128), outcome="unsupported")
    (finding,) = pldb.check(trace, select="PD901").findings
    assert "device 2 along `x`, of 2" in finding.message
    assert "nobody" in finding.loc.text


def test_a_launch_that_some_devices_skip_reaches_nobody():
    def fn(x):
        run = tpu(passed_on(2, IDS["named"]))
        return lax.cond(lax.axis_index("x") == 0, run, lambda x: x, x)

    trace = traced(spread(fn), floats(16, 128), outcome="unsupported")
    assert "the launch is on one device" in trace.launches[0].outcome.message


def test_a_recording_gathers_the_devices():
    fn, x = jax.jit(spread(tpu(passed_on(2, IDS["named"])))), floats(16, 128)
    with pldb.recording() as rec:
        got = [fn(x), fn(x)]
        inner = pldb.trace(fn, x)
    for result in (*got, inner.outputs):
        same(result, jnp.roll(x, 8, axis=0))
    assert [one.mesh for one in rec.trace.launches] == [(2,)] * 3


def gpu(body, *shape, scratch=(), **params):
    return plgpu.kernel(
        body, out_type=out(*shape), scratch_types=list(scratch), **params
    )


def by_reference():
    def body(x_ref, o_ref, ready, done):
        other = 1 - lax.axis_index("x")
        pl.semaphore_signal(ready, device_id=other)
        pl.semaphore_wait(ready)
        plgpu.remote_ref(o_ref, other)[...] = x_ref[...] * 2.0
        pl.semaphore_signal(done, device_id=other)
        pl.semaphore_wait(done)

    semaphore = plgpu.SemaphoreType.REGULAR
    return gpu(body, 64, scratch=[semaphore, semaphore])


def test_gpus_store_to_each_other_by_reference():
    trace = traced(spread(by_reference()), floats(128))
    same(trace.outputs, jnp.roll(floats(128), 64) * 2)
    assert pldb.check(trace).errors == ()
    remote = [e for e in trace if e.what.endswith("of device 1")]
    assert "write o_ref[0:64] of device 1 by warpgroup 0 on device 0" in repr(
        remote[-1]
    )


def test_gpus_reduce_and_store_over_a_multicast_address():
    def body(x_ref, o_ref, done):
        total = plgpu.multimem_load_reduce(
            x_ref, collective_axes="x", reduction_op="add"
        )
        plgpu.multimem_store(total, o_ref, "x")
        plgpu.semaphore_signal_multicast(done, collective_axes="x")
        pl.semaphore_wait(done, 2)

    fn = spread(gpu(body, 64, scratch=[plgpu.SemaphoreType.REGULAR]))
    trace = traced(fn, floats(128))
    total = floats(128).reshape(2, 64).sum(0)
    same(trace.outputs, jnp.concatenate([total, total]))


LAUNCHES = {
    "tpu": lambda: spread(looked_at(True)()),
    "gpu": lambda: spread(by_reference()),
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kind", LAUNCHES)
def test_law_of_a_launch_on_two_devices(kind, law, seed):
    x = floats(16, 128) if kind == "tpu" else floats(128)
    launch = traced(LAUNCHES[kind](), x).launches[0].source
    options = {} if seed is None else {"policy": "random", "seed": seed}
    law(launch, {"policy": "round-robin", **options})
