"""A neighbor's slot that is filled again while it is still being passed on.

Each device of a ring passes on what it got last, through two slots. All devices wait
for their own copies, so the slots seem to take turns. But a device that is a step ahead
writes into the very slot that its slower neighbor still sends from, and that one then
passes on the wrong part. A wait for one's own copy says nothing about the neighbor's.
The way out is to wait, before a slot is filled again, until the neighbor signals that it
has passed it on.
"""

from __future__ import annotations

from pallas_debug.gallery import gathering
from pallas_debug.gallery.entry import Case, Entry


def build(fixed: bool) -> Case:
    """Gathers a part from each of four devices on all of them."""
    return gathering.case(meets=True, asks=fixed)


ENTRY = Entry(
    name="ring_gather",
    title="A device fills a slot that its neighbor still sends from",
    level=3,
    backend="tpu",
    codes=("PD201",),
    build=build,
    reference=gathering.reference,
)
