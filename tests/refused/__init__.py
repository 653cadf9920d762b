"""Kernels that some mode or backend of JAX stops, each beside one that it takes.

`PAIRS` maps a name to two builders. Each takes `interpret=` and gives a function with
its arguments. What JAX makes of them is not written here: it is asked.
"""

from refused import (
    atomics,
    barriers,
    launches,
    lowerings,
    operations,
    scratch,
    tpu,
    views,
)

PAIRS = {
    **launches.PAIRS,
    **scratch.PAIRS,
    **barriers.PAIRS,
    **views.PAIRS,
    **operations.PAIRS,
    **atomics.PAIRS,
    **lowerings.PAIRS,
    **tpu.PAIRS,
}
