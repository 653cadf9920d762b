"""A part of a bundle, with what the page has, is the whole bundle; and it is smaller."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import ring
from trace_strategies import memory_traces, thread_traces

from pallas_debug.checks import run_checks
from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer, close
from pallas_debug.trace.container import Unpacker
from pallas_debug.views.bundle import bundle
from pallas_debug.views.parts import KEPT, Part, Sender


class Reader:
    """A page's side of it: what it has after each message."""

    def __init__(self):
        self.arrays, self.header, self.data = {}, {}, b""

    def take(self, message):
        file = Unpacker(message, "<test>")
        new = file.header
        for name, spec in new["arrays"].items():
            rows = file.integers(name)
            if "keep" in spec:
                rows = np.concatenate([self.arrays[name][: spec["keep"]], rows])
                if f"{name}.at" in new["arrays"]:
                    rows = rows.copy()
                    rows[file.integers(f"{name}.at")] = file.integers(f"{name}.to")
            self.arrays[name] = rows
        view = {**self.header.get("view", {}), **new.get("view", {})}
        self.header = {**self.header, **new, "view": view}
        self.data += message[len(message) - new["data_bytes"] :]

    def value(self, number):
        table = self.header["payloads"]
        code = self.arrays["payloads.dtype"][number]
        if code < 0:
            return None
        dtype = np.dtype(table["dtypes"][code])
        shape = table["shapes"][self.arrays["payloads.shape"][number]]
        count = int(np.prod(shape, dtype=np.int64))
        offset = int(self.arrays["payloads.offset"][number])
        return np.frombuffer(self.data, dtype, count, offset).tolist()


def same(reader, whole):
    """Whether a page that got parts has what one that got the whole has."""
    other = Reader()
    other.take(whole)
    for name, rows in other.arrays.items():
        if name != "payloads.offset":
            np.testing.assert_array_equal(reader.arrays[name], rows, name)
    hidden = ("arrays", "data_bytes", "data_crc32")
    for key in other.header.keys() - set(hidden):
        assert reader.header[key] == other.header[key], key
    for number in range(len(other.arrays["payloads.dtype"])):
        assert reader.value(number) == other.value(number), number


@settings(deadline=None, max_examples=40)
@given(memory_traces() | thread_traces(), st.data())
def test_parts_of_a_growing_trace_make_the_whole(trace, data):
    ends = data.draw(st.lists(st.integers(0, len(trace)), max_size=3).map(sorted))
    sender, reader, have = Sender(), Reader(), 0
    for end in (*ends, len(trace)):
        begun = trace[:end]
        facts, message = sender.bundle(begun, run_checks(begun), have=have)
        assert facts.get("base", 0) == have
        have = facts["bundle"]
        reader.take(message)
    same(reader, bundle(trace, run_checks(trace)))


@pytest.fixture(scope="module")
def trace():
    writer = Writer()
    run(ring(turns=2000), writer, Options())
    return close(writer)


def test_what_the_page_has_is_not_sent_again(trace):
    sender = Sender()
    near = trace[: len(trace) - 50]
    facts, first = sender.bundle(near, None)
    _, second = sender.bundle(trace, None, have=facts["bundle"])
    assert len(second) < len(first) / 5
    specs = Unpacker(second, "<test>").header["arrays"]
    assert specs["events.kind"]["count"] == 50
    assert specs["events.kind"]["keep"] == len(near)


def test_other_run_is_what_differs_from_the_recording(trace):
    columns = trace.columns
    aux = columns.aux.copy()
    aux[-3:] += 1
    other = replace(trace, columns=replace(columns, aux=aux))
    sender, reader = Sender(), Reader()
    facts, first = sender.bundle(trace, None)
    _, second = sender.bundle(other, None, run=1, title="what if", have=facts["bundle"])
    assert len(second) < len(first) / 10
    for message in (first, second):
        reader.take(message)
    same(reader, bundle(other, title="what if"))


def test_values_that_were_sent_stay_whatever_fits(trace):
    sender = Sender(values_bytes=64)
    facts, first = sender.bundle(trace[:200], None)
    reader = Reader()
    reader.take(first)
    there = {n for n in range(40) if reader.value(n) is not None}
    assert there
    _, second = sender.bundle(trace, None, have=facts["bundle"])
    reader.take(second)
    assert {n for n in range(40) if reader.value(n) is not None} >= there


def test_unknown_bundle_is_answered_with_the_whole(trace):
    sender = Sender()
    facts, first = sender.bundle(trace, None)
    for run_number in range(1, KEPT + 1):
        sender.bundle(trace[:50], None, run=run_number)
    again, whole = sender.bundle(trace, None, have=facts["bundle"])
    assert "base" not in again
    assert whole == first


def test_large_part_is_compressed(trace):
    sender = Sender()
    facts, _ = sender.bundle(trace[:1], None)
    big = np.arange(1 << 18, dtype=np.float32)
    grown = replace(trace, payloads=(*trace.payloads, big))
    _, part = sender.bundle(grown, None, have=facts["bundle"])
    assert part[:2] == b"\x1f\x8b"
    assert big.tobytes() in gzip.decompress(part)


def test_packer_forgets_the_bytes_that_it_has_given(trace):
    packer = Part()
    data = bundle(trace, packer=packer)
    assert not packer._chunks
    assert packer.size == Unpacker(data, "<test>").header["data_bytes"]
