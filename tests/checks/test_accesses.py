"""What the checks of memory share: who in the program an event goes back to."""

from helpers import TraceBuilder

from pallas_debug.checks.accesses import starter


def test_operation_of_an_operation_goes_back_to_the_program():
    b = TraceBuilder(backend="tpu")
    x = b.buffer("x", (8,), space="vmem")
    core = b.thread("core")
    core.read(x, line=3)
    outer = core.spawn("agent", line=4)
    inner = outer.spawn("dma", line=5)
    inner.read(x, line=6)
    trace = b.close()
    own, far = (seq for seq in trace.events.where(kind="read"))
    assert starter(trace, own)[::2] == (core.number, own)
    found = starter(trace, far)
    assert found.thread == core.number
    assert trace.events[found.event].what.startswith("spawn")
    assert trace.events[found.event].loc.line == 4
