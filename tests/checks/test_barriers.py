from helpers import TraceBuilder, codes, only

from pallas_debug.checks import Severity, run_checks

BARRIERS = ("PD211", "PD212", "PD213")


class Turns:
    """A barrier, a thread that arrives at it and one that waits."""

    def __init__(self, arrivals=1):
        self.b = TraceBuilder(grid=(1,))
        self.bar = self.b.barrier("bar", count=2, arrivals=arrivals)
        self.free = self.b.barrier("free")
        self.a, self.w = (self.b.thread(block=0, index=i) for i in range(2))

    def complete(self, done, thread=None, **instr):
        thread = thread or self.a
        thread.arrive(self.bar, 1, before=done - 1, **instr)
        thread.phase(self.bar, 1, done=done, **instr)

    def give_back(self, done):
        self.w.arrive(self.free, before=done - 1)
        self.w.phase(self.free, done=done)
        self.a.wait(self.free, aux=done)

    def report(self, **outcome):
        return run_checks(self.b.close(**outcome), select=BARRIERS)


def overrun(*, late, guarded):
    """Two phases; the second may come before the first was seen, or does."""
    t = Turns()
    t.complete(1, line=3)
    if not late:
        t.w.wait(t.bar, 1, aux=1, line=7)
    if guarded:
        t.give_back(1)
    t.complete(2, line=4)
    if late:
        t.w.wait(t.bar, 1, aux=1, line=7)
    t.w.wait(t.bar, 1, aux=2, line=8)
    return t.report()


def test_phase_that_nothing_holds_back_is_missed_now_or_under_another_schedule():
    seen = only(overrun(late=True, guarded=False), "PD211")
    assert seen.severity is Severity.ERROR
    assert (seen.loc.line, seen.details["line"]) == (7, "line 4")
    assert "phase 2 of barrier `bar`[1] was complete before" in seen.message
    possible = only(overrun(late=False, guarded=False), "PD211")
    assert (
        "may complete before warpgroup 1 of block (0,) has waited" in possible.message
    )
    assert not overrun(late=False, guarded=True).findings


def test_own_arrival_after_the_wait_holds_the_phase_back():
    """Two threads meet: each waits for a phase before it arrives at the next."""
    b = TraceBuilder(grid=(1,))
    bar = b.barrier("bar", arrivals=2)
    both = [b.thread(block=0, index=i) for i in range(2)]
    for done in range(1, 4):
        for thread in both:
            thread.arrive(bar, before=done - 1)
        both[1].phase(bar, done=done)
        for thread in both:
            thread.wait(bar, aux=done)
    assert not run_checks(b.close(), select=BARRIERS).findings


def test_last_phase_that_nobody_looks_at_is_fine():
    t = Turns()
    t.complete(1)
    t.w.wait(t.bar, 1, aux=1)
    t.give_back(1)
    t.complete(2)
    assert not t.report().findings


def pending(arrivals, **outcome):
    t = Turns(arrivals)
    t.a.arrive(t.bar, 1, line=3)
    if arrivals == 1:
        t.a.phase(t.bar, 1, line=3)
        t.w.wait(t.bar, 1)
    return t.report(**outcome)


def test_arrivals_pending_at_the_end():
    finding = only(pending(2), "PD212")
    assert finding.severity is Severity.WARNING
    assert (finding.loc.line, finding.buffer) == (3, "bar")
    assert finding.details["arrivals"] == {"seen": 1, "needed": 2}
    assert (
        "`bar`[1] ends with 1 of the 2 arrivals that phase 1 needs" in finding.message
    )
    assert not pending(1).findings
    # In a launch that did not finish, the others may still have come.
    assert not pending(2, outcome="truncated").findings


def test_phases_that_nobody_waits_for():
    t = Turns()
    t.complete(1, line=3)
    t.complete(2, line=4)
    finding = only(t.report(), "PD213")
    assert (finding.loc.line, finding.severity) == (4, Severity.WARNING)
    t = Turns()
    t.complete(1, line=3)
    assert not t.report().findings


def test_blocks_are_joined_by_line():
    b = TraceBuilder(grid=(3,))
    for block in range(3):
        bar, t = b.barrier("bar", arrivals=2, block=block), b.thread(block=block)
        t.arrive(bar, line=3)
    finding = only(run_checks(b.close(), select=BARRIERS), "PD212")
    assert (finding.count, codes(run_checks(b.close()))) == (3, ["PD212"])


def test_element_of_an_array_is_named_as_it_is_indexed():
    t = Turns()
    sync = {"space": "barrier", "role": "sync", "block": 0, "arrivals": 1}
    t.bar = t.b.buffer("bars", (2, 3), "barrier", **sync)
    t.a.arrive(t.bar, 5, line=3)
    t.a.phase(t.bar, 5, done=1, line=3)
    t.a.arrive(t.bar, 5, before=1, line=4)
    t.a.phase(t.bar, 5, done=2, line=4)
    t.w.wait(t.bar, 5, aux=1, line=7)
    late = t.b.buffer("late", (2, 3), "barrier", **sync | {"arrivals": 2})
    t.a.arrive(late, 4, line=9)
    found = t.report()
    assert "barrier `bars`[1, 2] was complete" in only(found, "PD211").message
    assert "barrier `late`[1, 1] ends with 1" in only(found, "PD212").message
