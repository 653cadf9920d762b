"""Laws of the file: write ∘ read is identity, every fault of a file has its error."""

import gzip
import json
import pathlib

import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_strategies import memory_traces, thread_traces

from pallas_debug import errors, ir
from pallas_debug.trace import dumps, load, loads, schema
from pallas_debug.trace.container import LENGTH_BYTES

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "trace_v1.pldb"
COLUMNS = [c.name for c in (*schema.COLUMNS, *schema.DERIVED)]


def assert_same(one, two):
    for name in COLUMNS:
        here, there = getattr(one.columns, name), getattr(two.columns, name)
        np.testing.assert_array_equal(here, there)
        assert here.dtype == there.dtype
        assert not there.flags.writeable
    assert list(one.regions) == list(two.regions)
    assert one.thread_rows == two.thread_rows
    assert one.buffer_rows == two.buffer_rows
    assert one.texts == two.texts
    assert one.choices == two.choices
    assert dict(one.meta) == dict(two.meta)
    assert len(one.payloads) == len(two.payloads)
    for here, there in zip(one.payloads, two.payloads, strict=True):
        assert here.dtype == there.dtype
        np.testing.assert_array_equal(here, there)
    for here, there in zip(one.launches, two.launches, strict=True):
        assert (here.events, here.outcome) == (there.events, there.outcome)
        assert (here.grid, here.name) == (there.grid, there.name)
        assert here.kernel.locs == there.kernel.locs
        assert dict(here.scalars) == dict(there.scalars)
    assert [repr(e) for e in one.events] == [repr(e) for e in two.events]


def example():
    """A small trace that has a bit of everything; the golden file is made of it."""
    b = TraceBuilder(grid=(2, 2), name="golden")
    x = b.buffer("x", (4, 8), initial=np.arange(32, dtype=np.int32).reshape(4, 8))
    s = b.buffer("s", (4, 8), "int32", space="smem", scope="block", block=3, line=2)
    bar, sem = b.barrier("bar", block=3), b.semaphore("sem")
    t = b.thread(block=3)
    t.alloc(s, line=2, op="scope.alloc")
    agent = t.spawn(line=3, op="gpu.copy_gmem_to_smem")
    agent.read(x, [(2, 4), (0, 8)], line=3)
    agent.write(s, None, np.full((4, 8), 7, np.int32), line=3)
    agent.arrive(bar, line=3)
    agent.phase(bar, line=3)
    agent.end(line=3)
    t.wait(bar, line=4)
    t.update(
        s, [(0, 2), (1, 3, 2)], mask=[[1, 0, 1]] * 2, value=np.ones((2, 3), np.int32)
    )
    t.read(s, elements=[0, 5, 31], line=5)
    t.signal(sem, line=6)
    t.print("x = 3", line=7)
    t.free(s, line=8)
    b.writer.choices.append((0, 3, 2))
    return b.close(
        meta={"jax": "0.12.0.1", "package": "0.1.0", "arithmetic": "fast"},
        outcome="deadlock",
        message="1 thread waits",
        waiting=[(1, 4, bar, 0, 2)],
    )


@settings(deadline=None, max_examples=40)
@given(memory_traces() | thread_traces(), st.booleans())
def test_write_then_read_is_identity(trace, compress):
    again = loads(dumps(trace, compress=compress))
    assert_same(trace, again)
    assert dumps(again) == dumps(trace)
    for here, there in zip(trace.launches, again.launches, strict=True):
        assert here.kernel.fingerprint == there.kernel.fingerprint


def test_save_and_load(tmp_path):
    trace = example()
    for compress in (False, True):
        trace.save(tmp_path / "a.pldb", compress=compress)
        assert_same(trace, load(tmp_path / "a.pldb"))
        assert_same(trace, load(str(tmp_path / "a.pldb")))


def test_golden_file_of_format_1_is_still_read():
    trace = load(GOLDEN)
    assert trace.meta["jax"] == "0.12.0.1"
    assert_same(example(), trace)


def test_header_is_plain_json_and_buffers_are_aligned():
    data = dumps(example())
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    header = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length])
    assert header["format"] == 1
    assert (LENGTH_BYTES + length) % 8 == 0
    assert all(spec["offset"] % 8 == 0 for spec in header["arrays"].values())
    assert header["arrays"]["events.thread"]["dtype"] == "u1"


def test_increasing_columns_are_stored_as_differences():
    b = TraceBuilder()
    t = b.thread()
    s = b.buffer("s", (8,))
    for _ in range(2000):
        t.write(s)
    data = dumps(b.close())
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    spec = json.loads(data[8 : 8 + length])["arrays"]["events.step"]
    assert (spec["encoding"], spec["dtype"]) == ("delta", "u1")


def edited(**changes):
    """The example's file with another header."""
    data = dumps(example())
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    header = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length])
    for path, value in changes.items():
        place = header
        *parents, last = path.split("__")
        for key in parents:
            place = place[int(key) if isinstance(place, list) else key]
        place[last] = value
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[LENGTH_BYTES + length :]


def test_newer_format_is_refused_by_name():
    with pytest.raises(errors.NewerFormat, match="has format 99") as caught:
        loads(edited(format=99), path="a.pldb")
    assert "upgrade" in str(caught.value)


@pytest.mark.parametrize("size", [0, 4, 8, 100, 1000, -1, -9])
def test_cut_short_is_said(size):
    with pytest.raises(errors.BadTraceFile):
        loads(dumps(example())[:size])
    with pytest.raises(errors.BadTraceFile):
        loads(dumps(example(), compress=True)[:size])
    with pytest.raises(errors.TraceCutShort):
        loads(dumps(example())[:-9])


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\3\4 zip", b"\x89PNG\r\n\x1a\n" + bytes(99), b'{"a": 1}', bytes(64)],
)
def test_other_files_are_no_traces(data):
    with pytest.raises(errors.NotATrace):
        loads(data)
    with pytest.raises(errors.BadTraceFile):
        loads(gzip.compress(data))


@pytest.mark.parametrize(
    "changes",
    [
        {"events": 10**12},
        {"arrays__events.kind__count": 10**15},
        {"arrays__events.kind__offset": -8},
        {"arrays__events.kind__offset": 10**30},
        {"arrays__events.kind__dtype": "O"},
        {"data_bytes": 10**18},
        {"data_bytes": 3},
        {"payloads__shapes": [[1 << 60, 1 << 60]] * 9},
        {"payloads__dtypes": ["object"] * 9},
        {"payloads__dtypes": ["V999999999"] * 9},
        {"payloads__dtypes": ["int3,"] * 9},
        {"buffers__interned__shape": [[-1]] * 9},
        {"launches__0__first_event": 3},
        {"launches__0__last_event": 10**9},
        {"launches__0__kernel": 7},
        {"launches__0__grid": [10**30]},
        {"kernels__0__tape": {"$": "Loc", "file": "a", "line": 1, "function": "f"}},
        {"kernels__0__loc": 10**6},
        {"kernels": "no"},
        {"texts": 3},
        {"meta": {"$": "os.system", "text": "true"}},
    ],
    ids=str,
)
def test_hostile_header_is_refused(changes):
    with pytest.raises(errors.BadTraceFile):
        loads(edited(**changes))


def test_any_byte_that_changes_in_the_arrays_is_noticed():
    data = dumps(example())
    begin = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    for at in range(begin, len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        with pytest.raises(
            errors.ChangedBytes, match=r"`a\.pldb` is damaged"
        ) as caught:
            loads(bytes(changed), path="a.pldb")
    assert "copy the file again" in caught.value.next_step


def test_file_of_a_version_that_wrote_no_checksum_is_read():
    data = GOLDEN.read_bytes()
    assert b"data_crc32" not in data
    assert_same(loads(edited(data_crc32=None)), loads(data))
    with pytest.raises(errors.ChangedBytes):
        loads(edited(data_crc32="0"))


@settings(deadline=None, max_examples=300)
@given(st.data(), st.booleans())
def test_random_damage_raises_nothing_but_bad_trace_file(data, compress):
    # Without a checksum, as a hostile file could have a right one.
    plain = edited(data_crc32=None)
    raw = bytearray(gzip.compress(plain) if compress else plain)
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.none() | st.integers(0, len(raw)))
    try:
        trace = loads(bytes(raw[:end]))
    except errors.BadTraceFile:
        return
    for event in trace.events:  # whatever was accepted can be looked at
        assert repr(event)
    assert repr(trace.buffers)
    assert trace.order.edges() is not None


def test_kernel_comes_back_without_callables():
    index = ir.Index(dims=(ir.Slice(start=ir.Reg(3), size=4, start_dtype="bool"),))
    access = ir.Access(ref=ir.Reg(0), steps=(index,))
    b = TraceBuilder(facts={"interpret": "gpu", "ratio": float("inf")})
    b.instr("state.get", 4, accesses=(access,), params={"k": (1, np.int32(2)), 3: "x"})
    b.instr(
        "lax.add", 4, pure=ir.Pure(expr="{0} + {1}"), ins=(ir.Const(np.float32(2)),)
    )
    b.instr("lax.mul", 4, ins=(ir.Const(np.zeros((300, 300))),))
    kernel = loads(dumps(b.close())).launches[0].kernel
    get, add, mul = kernel.tape
    step = get.accesses[0].steps[0].dims[0]
    assert (step.start, step.size, step.start_dtype) == (ir.Reg(3), 4, "bool")
    assert dict(get.params) == {"k": (1, 2), 3: "x"}
    assert get.params["k"][1].dtype == np.int32
    assert add.pure is None
    assert add.ins[0].value == np.float32(2)
    assert mul.ins[0].value == "float64[300, 300]"
    assert kernel.facts["ratio"] == float("inf")


@pytest.mark.parametrize(
    "scalar",
    [np.bool_(True), np.uint8(3), np.float16(0.1), np.float32("inf"), np.complex64(1j)],
    ids=str,
)
def test_scalars_keep_their_dtype(scalar):
    b = TraceBuilder(facts={"a": scalar})
    back = loads(dumps(b.close())).launches[0].kernel.facts["a"]
    assert (back, back.dtype) == (scalar, scalar.dtype)


def test_small_types_and_odd_values_are_stored():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    b = TraceBuilder(facts={"a": ml_dtypes.bfloat16(1.5), "b": ml_dtypes.int4(-3)})
    for value in (np.ones(3, ml_dtypes.int4), np.ones((), ml_dtypes.float8_e5m2)):
        b.writer.payload(value)
    b.writer.payload(np.array(["text"], object))
    trace = loads(dumps(b.close()))
    facts, (small, eight, odd) = trace.launches[0].kernel.facts, trace.payloads
    assert (facts["a"], facts["a"].dtype) == (1.5, ml_dtypes.bfloat16)
    assert (facts["b"], facts["b"].dtype) == (-3, ml_dtypes.int4)
    assert (small.dtype, eight.dtype) == (ml_dtypes.int4, ml_dtypes.float8_e5m2)
    assert odd.tobytes() == b"['text']"


def record_golden():
    """Writes the golden file anew; only when the format changes."""
    GOLDEN.parent.mkdir(exist_ok=True)
    example().save(GOLDEN)
