"""Two warpgroups that wait for each other.

The cell never comes back. A producer fills the two slots of a ring and signals `full`;
the consumer reads a slot and must signal `free`, so that the producer may fill it again.
It forgets to, and after the second tile the producer waits for `free`, the consumer for
`full`, and nobody is left to signal either. The way out is the missing
`plgpu.barrier_arrive(free.at[slot])` after the consumer's last use of the slot.
"""

from __future__ import annotations

from pallas_debug.gallery import doubling, ring
from pallas_debug.gallery.entry import Case, Entry


def build(fixed: bool) -> Case:
    """Doubles four tiles; one warpgroup loads, the other computes and stores."""
    return ring.case("after" if fixed else "never")


ENTRY = Entry(
    name="ring_deadlock",
    title="A producer and a consumer that wait for each other",
    level=3,
    backend="mosaic_gpu",
    codes=("PD210",),
    build=build,
    reference=doubling.reference,
)
