"""Random traces of threads that move over lines, scopes, blocks and buffers."""

import numpy as np
from helpers import TraceBuilder
from hypothesis import strategies as st

from pallas_debug import ir

SCOPES = [("kernel", -1), ("scan", 0), ("cond", 1), ("scan", 0), ("agent", 1)]


@st.composite
def wanderings(draw):
    """Two launches of a few threads that move over lines, scopes, blocks, buffers."""
    b = TraceBuilder(grid=(3,), scopes=made_scopes())
    parts = []
    for _ in range(2):
        x = b.buffer("x", (4, 6), initial=np.zeros((4, 6), np.float32))
        a, s = b.buffer("a", (4, 6), alias=x), b.barrier("s")
        threads = [b.thread("warpgroup", block=i, index=i) for i in range(2)]
        for _ in range(draw(st.integers(0, 14))):
            t = draw(st.sampled_from(threads))
            place = {
                "line": draw(st.integers(1, 3)),
                "scope": draw(st.integers(0, len(SCOPES) - 1)),
            }
            verb = draw(st.sampled_from(["read", "write", "spawn", "arrive", "grid"]))
            if verb == "spawn":
                t.spawn(**place)
            elif verb == "arrive":
                t.arrive(s, **place)
            elif verb == "grid":
                t.grid(draw(st.integers(-1, 2)), **place)
            else:
                box = [(draw(st.integers(0, 3)), 2), (draw(st.integers(0, 5)), 1)]
                getattr(t, verb)(draw(st.sampled_from([x, a])), box, **place)
        parts.append(b)
        if len(parts) < 2:
            b = b.next_launch(grid=(3,), scopes=made_scopes())
    return b.close()


def made_scopes():
    return tuple(ir.Scope(kind=kind, name=kind, parent=up) for kind, up in SCOPES)
