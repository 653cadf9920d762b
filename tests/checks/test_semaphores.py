import pytest
from helpers import TraceBuilder, only

from pallas_debug.checks import Severity, run_checks

SEMAPHORES = ("PD220", "PD221")


def report(b, **outcome):
    return run_checks(b.close(**outcome), select=SEMAPHORES)


def units(signalled, waited, *, role="sync", backend="tpu", **outcome):
    b = TraceBuilder(backend=backend)
    sem = b.semaphore("sem", 2, role=role)
    core = b.thread("core")
    core.signal(sem, 1, aux=signalled, line=4)
    if waited:
        core.wait(sem, 1, aux=waited, line=5)
    return report(b, **outcome)


def test_units_left_at_the_end():
    finding = only(units(3, 2), "PD220")
    assert (finding.loc.line, finding.severity) == (4, Severity.ERROR)
    assert (
        "`sem`[1] ends with 1 unit left: 3 signalled, 2 waited for" in finding.message
    )
    assert not units(2, 2).findings
    # The caller's semaphores may carry units, and an unfinished launch says nothing.
    assert not units(3, 2, role="input").findings
    assert not units(3, 2, outcome="deadlock").findings
    on_gpu = only(units(3, 2, backend="mosaic_gpu"), "PD220")
    assert on_gpu.severity is Severity.WARNING


def test_a_part_of_the_grid_does_not_have_to_be_balanced():
    b = TraceBuilder(backend="tpu", grid=(4,))
    sem = b.semaphore("sem")
    core = b.thread("core")
    core.grid(0)
    core.signal(sem, aux=1)
    assert not report(b).findings


@pytest.mark.parametrize("awaited", [0, 1, 2])
def test_dma_that_nobody_waits_for(awaited):
    b = TraceBuilder(backend="tpu")
    sem, x = b.semaphore("sem"), b.buffer("x", (8,), space="vmem")
    core = b.thread("core")
    for _ in range(2):
        copy = core.spawn("dma", line=4)
        copy.read(x, line=4)
        copy.signal(sem, aux=32, line=4)
    for _ in range(awaited):
        core.wait(sem, aux=32, line=6)
    found = report(b)
    if awaited == 2:
        assert not found.findings
        return
    finding = only(found, "PD221")
    left = {"left": 64 - 32 * awaited, "given": 64, "taken": 32 * awaited}
    assert (finding.loc.line, dict(finding.details)) == (4, left)


def store(*, joined, reads=True):
    """A copy out of shared memory at the end of a block."""
    b = TraceBuilder(grid=(1,))
    s, o = b.buffer("s", (8,), space="smem", block=0), b.buffer("o", (8,))
    t = b.thread(block=0)
    copy = t.spawn("tma", op="gpu.copy_smem_to_gmem", line=4)
    row = b.writer.threads[copy.number]
    instr = b.instr(op="gpu.copy_smem_to_gmem", line=4)
    b.writer.threads[copy.number] = row._replace(instr=instr)
    copy.read(s, line=4)
    if joined:
        t.join(copy, reads=reads, line=5)
    copy.write(o, line=4)
    copy.end()
    return report(b)


def test_copy_out_that_nobody_waits_for():
    finding = only(store(joined=False), "PD221")
    assert (finding.loc.line, finding.buffer) == (4, "s")
    assert finding.message.startswith("nobody waits for this copy, which reads `s`")
    assert "wait_smem_to_gmem(0)" in finding.hint
    # Global memory outlives the block: that the copy has read is enough.
    assert not store(joined=True, reads=True).findings


def products(*, tracked):
    """Two products of two threads, of which the second is waited for."""
    b = TraceBuilder(grid=(1,))
    acc = b.buffer("acc", (8,), space="tmem", block=0)
    go, done = b.barrier("go"), b.barrier("done")
    groups = [b.thread(block=0, index=i) for i in range(2)]
    instr = b.instr(op="gpu.tcgen05_mma")
    for number, group in enumerate(groups):
        if number and tracked:
            groups[0].arrive(go)
            groups[0].phase(go)
            group.wait(go)
        agent = group.spawn("tcgen05", op="gpu.tcgen05_mma")
        row = b.writer.threads[agent.number]
        b.writer.threads[agent.number] = row._replace(instr=instr)
        agent.write(acc, line=4 + number)
    agent.arrive(done)
    agent.phase(done)
    groups[1].wait(done)
    return report(b)


def test_product_before_one_that_is_waited_for_is_over_too():
    assert not products(tracked=True).findings
    assert only(products(tracked=False), "PD221").loc.line == 4
