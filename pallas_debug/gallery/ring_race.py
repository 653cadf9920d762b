"""A slot of a ring that is filled again while it is still being read.

The output is right here and wrong on a busy device. The consumer says `free` as soon as
the copy has arrived, before it has read the slot; the producer takes it at its word and
lets the next copy run over the data. Nothing orders the read before that copy. The way
out is to arrive after the last read.
"""

from __future__ import annotations

from pallas_debug.gallery import doubling, ring
from pallas_debug.gallery.entry import Case, Entry


def build(fixed: bool) -> Case:
    """Doubles four tiles; one warpgroup loads, the other computes and stores."""
    return ring.case("after" if fixed else "before")


ENTRY = Entry(
    name="ring_race",
    title="A slot of a ring is given back before it is read",
    level=3,
    backend="mosaic_gpu",
    codes=("PD201",),
    build=build,
    reference=doubling.reference,
)
