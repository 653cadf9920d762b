"""Sizes of accesses, computed at once, equal those of the regions one by one."""

import numpy as np
from helpers import TraceBuilder
from hypothesis import given, settings
from trace_strategies import memory_traces

from pallas_debug.trace import Kind, extent


@settings(deadline=None, max_examples=100)
@given(memory_traces())
def test_touched_equals_the_number_of_elements_of_each_region(trace):
    events = trace.events.where(kind=("read", "write", "update", "pad"))
    expected = [
        trace[seq].region.flat(trace[seq].buffer.shape).size for seq in events.tolist()
    ]
    assert extent.touched(trace, events).tolist() == expected
    assert extent.bytes_touched(trace, events).tolist() == [4 * n for n in expected]


def test_bytes_of_small_types_are_packed_and_of_a_scalar_counted():
    b = TraceBuilder()
    t = b.thread()
    small, scalar = b.buffer("s", (3, 5), "int4"), b.buffer("c", (), "bfloat16")
    events = np.array([t.read(small), t.read(small, [(0, 1), (0, 1)]), t.write(scalar)])
    trace = b.close()
    assert set(extent.ACCESSES) == {Kind.READ, Kind.WRITE, Kind.UPDATE}
    assert extent.bytes_touched(trace, events).tolist() == [8, 1, 2]
    assert not len(extent.bytes_touched(trace, events[:0]))
