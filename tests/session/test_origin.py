"""Where values came from: exact, over random tapes and on JAX's kernels."""

import kernels
import numpy as np
import pytest
import tapes
from session import jax_kernels
from session.jax_kernels import rows

import pallas_debug as pldb
from pallas_debug import errors
from pallas_debug.machine import Options
from pallas_debug.session import Session
from pallas_debug.trace import Kind, close, dumps, loads


def on_path(origin):
    return [origin.links[number] for number in origin.path]


def behind(origin):
    """All links that the first one depends on."""
    todo, seen = [0], set()
    while todo:
        number = todo.pop()
        if number not in seen:
            seen.add(number)
            todo += origin.links[number].inputs
    return [origin.links[number] for number in sorted(seen)]


@pytest.fixture(scope="module")
def summed():
    return pldb.debug(jax_kernels.running_sum, rows())


def test_a_sum_comes_from_every_row_of_the_argument(summed):
    summed.jump(int(summed.find(op="state.set")[2]))
    origin = summed.origin()
    assert origin.complete
    reads = {link.text for link in behind(origin) if link.kind == "read"}
    assert reads == {"read x_ref[0, 0:4]", "read x_ref[1, 0:4]", "read x_ref[2, 0:4]"}
    assert on_path(origin)[-1].kind in ("argument", "constant")
    values = [
        link.value
        for link in behind(origin)
        if link.name == "acc" and link.text == "lax.add"
    ]
    assert values == ["[12., 15., 18., 21.]", "[ 4., 6., 8., 10.]", "[0., 1., 2., 3.]"]


def test_an_earlier_value_does_not_come_from_later_rows(summed):
    summed.jump(int(summed.find(op="state.set")[0]))
    origin = summed.origin("acc")
    reads = {link.text for link in behind(origin) if link.kind == "read"}
    assert reads == {"read x_ref[0, 0:4]"}


def test_a_copy_leads_through_its_agent_to_the_argument():
    session = pldb.debug(jax_kernels.copies, rows(2, 4))
    session.jump(int(session.find(op="state.set")[1]))
    origin = session.origin("high")
    links = behind(origin)
    assert {"dma"} <= {
        session.trace.threads[one.thread].kind for one in links if one.thread >= 0
    }
    ends = [link for link in links if not link.inputs]
    assert {"the argument x_ref"} <= {link.text for link in ends}
    assert not [link for link in links if "scratch[0" in link.text]


def test_a_reference_comes_from_its_last_writers(summed):
    summed.last()
    summed.break_at(op="state.set")
    summed.reverse_continue()
    origin = summed.origin("o_ref")
    writers = [origin.links[number].event for number in origin.links[0].inputs]
    assert writers == summed.find(op="state.set").tolist()[::-1][:3]
    summed.delete()


def test_a_nan_is_followed_to_where_it_is_born():
    session = pldb.debug(jax_kernels.not_a_number, np.arange(4, dtype=np.float32))
    session.break_at(nan=True)
    session.continue_()
    origin = session.origin()
    born = origin.links[origin.born]
    assert born.name == "root"
    assert born.text == "lax.sqrt"
    assert born.nans == 1
    assert "the NaN is born here" in str(origin)
    assert "root = jnp.sqrt(value - 1)" in str(origin)
    json = origin.to_json()
    assert json["links"][json["born"]]["name"] == "root"


def test_unset_memory_is_an_end():
    def half(x):
        def kernel(x_ref, o_ref, scratch):
            scratch[0] = x_ref[0]
            o_ref[...] = scratch[...]

        shape = jax_kernels.jax.ShapeDtypeStruct(x.shape, x.dtype)
        vmem = jax_kernels.pltpu.VMEM(x.shape, x.dtype)
        return jax_kernels.pl.pallas_call(
            kernel, out_shape=shape, scratch_shapes=[vmem]
        )(x)

    session = pldb.debug(half, rows(2, 4))
    session.jump(int(session.find(kind="write", buffer="o_ref")[0]))
    texts = {link.text for link in behind(session.origin())}
    assert {"unset memory of scratch", "the argument x_ref"} <= texts


def test_a_trace_from_a_file_knows_memory_and_says_what_it_does_not_know(summed):
    session = Session(loads(dumps(summed.trace)))
    event = int(session.find(kind="read", buffer="x_ref")[0])
    assert "the argument x_ref" in str(session.origin(event))
    origin = session.origin(int(session.find(op="state.set")[0]))
    assert "attach the kernel" in str(origin)
    session.jump(event)
    with pytest.raises(errors.NoSource):
        session.origin("acc")


def test_wrong_questions_are_refused(summed):
    with pytest.raises(errors.BadOption, match="event"):
        summed.origin(10**6)
    summed.jump(int(summed.find(op="state.set")[0]))
    with pytest.raises(errors.BadOption, match="`acc`"):
        summed.origin("ac")
    summed.first()
    with pytest.raises(errors.BadOption):
        summed.origin()


def taint(trace, launch):
    """For each write the argument elements that it depends on, found by changing them.

    Every element of every input is set to something else, one after the other, and the
    launch is run again: what comes out differently depended on it.
    """
    found = {}
    base = outputs(launch)
    for which, argument in enumerate(launch.arguments):
        for flat in range(argument.size):
            changed = [np.array(a) for a in launch.arguments]
            changed[which].flat[flat] += 1000
            other = outputs(tapes_replaced(launch, changed))
            for place in np.flatnonzero(base != other):
                found.setdefault(int(place), set()).add((which, flat))
    return found


def tapes_replaced(launch, arguments):
    import dataclasses

    return dataclasses.replace(launch, arguments=tuple(arguments))


def outputs(launch):
    return tapes.run(launch).results()[0].ravel().copy()


@pytest.mark.parametrize(
    "make",
    [kernels.ring, kernels.copy_compute_copy, kernels.dma, kernels.masked_sum],
    ids=lambda make: make.__name__,
)
@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_origin_finds_every_read_that_an_output_depends_on(make, policy):
    launch = make()
    trace = close(tapes.run(launch, policy=policy, seed=3).writer)
    session = Session(trace, options=Options(policy=policy, seed=3))
    depends = taint(trace, launch)
    out = trace.launches[0].outputs[0]
    shape = trace.buffer_rows[out].shape
    inputs = set(trace.launches[0].arguments)
    for event in session.find(kind=("write", "update"), buffer=out):
        written = trace.region(int(trace.columns.region[event])).flat(shape)
        origin = session.origin(int(event))
        assert origin.complete
        touched = set()
        for link in behind(origin):
            row = trace[link.event] if link.event >= 0 else None
            if row is not None and row.kind in (Kind.READ, Kind.UPDATE):
                number = row.buffer.number
                if number in inputs:
                    flat = row.region.flat(row.buffer.shape)
                    touched |= {(number, int(one)) for one in flat}
        for place in written:
            assert depends.get(int(place), set()) <= touched
