"""A copy to a neighbor that may still be in its last kernel.

Every interpreter gives the right output, and one chip in a pod now and then gives another
one. The first line of the kernel copies into scratch memory of the neighbor. But devices
enter a kernel when they come to it: a slow neighbor still runs the kernel before, whose
data lies in that memory. The way out is a barrier at the kernel's start: signal both
neighbors, and wait for both of theirs.
"""

from __future__ import annotations

from pallas_debug.gallery import gathering
from pallas_debug.gallery.entry import Case, Entry


def build(fixed: bool) -> Case:
    """Gathers a part from each of four devices on all of them."""
    return gathering.case(meets=fixed, asks=True)


ENTRY = Entry(
    name="unmet_neighbor",
    title="A copy to a device that may not be there yet",
    level=3,
    backend="tpu",
    codes=("PD222",),
    build=build,
    reference=gathering.reference,
)
