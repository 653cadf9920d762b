"""Small graded kernels, each with a fault, its story and a fixed twin.

Used by the notebooks, the docs, the tests and `pallas-debug demo`. They are the user's
side of the fence, so they import JAX, when they are built. `ENTRIES` has them from easy
to hard.

Example:
  >>> from pallas_debug import gallery
  >>> fn, args = gallery.ENTRIES["ring_race"].faulty()
  >>> print(pldb.check(fn, *args))
"""

from collections.abc import Mapping
from types import MappingProxyType

from pallas_debug.gallery import (
    early_dma,
    masked_softmax,
    missing_commit,
    past_the_end,
    refused_slice,
    ring_deadlock,
    ring_gather,
    ring_race,
    unmet_neighbor,
    unset_accumulator,
    unwaited_copy,
)
from pallas_debug.gallery.entry import Entry as Entry

ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        module.ENTRY.name: module.ENTRY
        for module in (
            unwaited_copy,
            unset_accumulator,
            past_the_end,
            masked_softmax,
            refused_slice,
            missing_commit,
            early_dma,
            ring_deadlock,
            ring_race,
            ring_gather,
            unmet_neighbor,
        )
    }
)
